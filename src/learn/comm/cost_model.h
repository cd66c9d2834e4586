/* comm/cost_model.h - how long reductions take on a network: links, rates of the processor,
 * traffic. */
#ifndef HU_COMM_COST_MODEL_H
#define HU_COMM_COST_MODEL_H
#include <halfulp/status.h>

#include "comm/plan.h"
#include "kernel/wire/wire.h"

/* ---- The link of a node to its network, as users write it ---- */

typedef struct hu_comm_link {
    double bits_per_second;
    double latency_seconds; /* of one link */
} hu_comm_link;

/* "10G" (bits a second; K, M, G, T are powers of 1000, small letters too; bit, bit/s, bps may
 * follow) and "10us" (s, ms, us, ns). HU_ERR_PARSE with what was found and expected, for bytes too;
 * a rate is positive, a latency not negative. Proof: tests/unit/comm_link_test.c. */
hu_status hu_comm_link_parse(const char *rate, const char *latency, hu_comm_link *link);

/* "100 Mbit/s and 10 us a link"; room for HU_COMM_LINK_BYTES. */
enum { HU_COMM_LINK_BYTES = 64 };
void hu_comm_link_print(const hu_comm_link *link, char *text);

/* ---- rates ---- */

/* What one processor core takes for numbers that travel, measured here and now. */

/* Seconds per number. */
typedef struct hu_comm_rates {
    double quantise, decode;
    double move; /* into a message and out of another one */
    double add;
} hu_comm_rates;

/* Measures on an array that no cache of one core holds; takes some 20 ms. HU_ERR_MEMORY. */
hu_status hu_comm_rates_measure(const hu_wire *wire, hu_comm_rates *rates);

/* ---- What a reduction sends, counted on the lists of its schedule ---- */

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

/* ---- predict ---- */

/* How long a reduction takes on a network, from the lists of its schedule.
 *
 * The network: every worker has a link of its own to a switch, which sends and receives at once. A
 * message crosses two links. A step of a bucket ends when the slowest of its messages has arrived;
 * schedules are made so that no link carries two messages of a step in one direction. Buckets that
 * are on their way at once (HU_COMM_FLIGHTS) share the links evenly; while one waits for a message
 * to arrive, the other has them alone.
 * Proof: docs/results/workers.md compares it with SimGrid's SMPI, schedule by schedule.
 */

typedef struct hu_comm_time {
    double seconds;           /* of all buckets */
    double agreement_seconds; /* of these, for agreeing upon exponents */
    hu_comm_traffic traffic;  /* what takes that time */
} hu_comm_time;

/* Of one reduction of all buckets; what processors do meanwhile is not in it. HU_ERR_MEMORY. */
hu_status hu_comm_predict(const hu_comm_plan *plan, const hu_comm_link *link, hu_comm_time *time);

/* Workers from which on every number becomes zero under a scaling that leaves room for their sum:
 * even the largest gradient is then so small that the format and the rounding lose it. Exact, for
 * gradients whose exponents need not be clamped (comm/scaling.h). 0: the scaling leaves no such
 * room, or no number of workers takes all of the range. */
double hu_comm_flush_workers(const hu_comm_options *options);

#endif
