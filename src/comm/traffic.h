/* comm/traffic.h - what a reduction sends, counted on the lists of its schedule. */
#ifndef HU_COMM_TRAFFIC_H
#define HU_COMM_TRAFFIC_H
#include "comm/plan.h"

/* Of one reduction of all buckets. */
typedef struct hu_comm_traffic {
    int64_t steps;             /* of the schedule, without the agreement upon exponents */
    int64_t agreement_steps;   /* in which workers agree upon exponents */
    uint64_t bytes;            /* of all workers: headers, scales and numbers */
    uint64_t bytes_per_worker; /* the most that one of them sends */
} hu_comm_traffic;

/* largest: NULL, or the bytes of the largest message of every step, [buckets][steps of a bucket],
 * which the owner frees with hu_free. HU_ERR_MEMORY. */
hu_status hu_comm_traffic_of(const hu_comm_plan *plan, hu_comm_traffic *traffic, size_t **largest);

/* Bytes of the largest message that a worker with this list sends, or of the largest that it gets.
 */
size_t hu_comm_largest_message(const hu_comm_plan *plan, const hu_comm_list *list, bool is_sent);

/* Steps in which workers agree upon the exponents of a bucket, hu_comm_agreed_bytes per layer; 0
 * where a plan agrees upon none. */
int64_t hu_comm_agreement_steps(const hu_comm_plan *plan);

#endif
