/* comm/predict.h - how long a reduction takes on a network, from the lists of its schedule.
 *
 * The network: every worker has a link of its own to a switch, which sends and receives at once. A
 * message crosses two links. A step of a bucket ends when the slowest of its messages has arrived;
 * schedules are made so that no link carries two messages of a step in one direction. Buckets that
 * are on their way at once (HU_COMM_FLIGHTS) share the links evenly; while one waits for a message
 * to arrive, the other has them alone.
 * Proof: docs/results.md compares it with SimGrid's SMPI, schedule by schedule.
 */
#ifndef HU_COMM_PREDICT_H
#define HU_COMM_PREDICT_H
#include "comm/link.h"
#include "comm/traffic.h"

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
