/* comm/cost_model.h - how long reductions take on a network: links, rates of the processor,
 * traffic; and whether few bits pay. */
#ifndef HU_COMM_COST_MODEL_H
#define HU_COMM_COST_MODEL_H
#include <halfulp/status.h>

#include "comm/plan.h"
#include "kernel/wire/wire.h"
#include "tensor/exponent_histogram.h"

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
 * gradients whose exponents need not be clamped (comm/plan.h). 0: the scaling leaves no such
 * room, or no number of workers takes all of the range. */
double hu_comm_flush_workers(const hu_comm_options *options);

/* ---- Advice ---- */

/* How long the gradients of a model take on a network, by schedule, format and size
 * of what travels together; and whether few bits pay.
 */

/* What travels together. */
typedef enum hu_comm_fusion {
    HU_COMM_BY_LAYER,
    HU_COMM_BY_BUCKET,
    HU_COMM_WHOLE, /* all layers */
    HU_COMM_FUSIONS
} hu_comm_fusion;

/* "layer", "bucket", "whole". Borrowed: valid forever. */
const char *hu_comm_fusion_name(hu_comm_fusion fusion);

/* A format that is tried, and what numbers in it cost a processor. */
typedef struct hu_comm_choice {
    hu_format format;
    hu_comm_rates rates;
} hu_comm_choice;

typedef struct hu_comm_question {
    int32_t nodes;
    hu_comm_link link;
    const hu_comm_layer *layer; /* [layers]. Borrowed, as the choices */
    int32_t layers;
    int64_t bucket_bytes;           /* of HU_COMM_BY_BUCKET */
    const hu_comm_scaling *scaling; /* of formats of fewer than 16 bits; others have none */
    const hu_comm_choice *choice;   /* [choices] */
    int32_t choices;
} hu_comm_question;

typedef struct hu_comm_answer {
    hu_comm_options options;
    hu_comm_fusion fusion;
    hu_comm_time time;     /* on the network */
    double work_seconds;   /* of the busiest worker, one core, nothing of it hidden */
    uint64_t memory_bytes; /* that the busiest worker holds beside its gradient */
    bool is_narrow;        /* fewer than 16 bits */
    bool is_missing;       /* the scaling cannot have the schedule: nothing else of it is filled */
    bool all_zero;         /* every number is lost: hu_comm_flush_workers */
    bool pays; /* narrow, and faster, with its work, than every other format on the same way */
} hu_comm_answer;

static inline double hu_comm_answer_seconds(const hu_comm_answer *answer) {
    return answer->time.seconds + answer->work_seconds;
}

typedef struct hu_comm_advice {
    hu_comm_answer *answer; /* [count], owned: by schedule, fusion, choice, from the outside */
    int32_t count, choices;
    const hu_comm_answer *narrow, *wide; /* the fastest of these that keeps numbers, work included;
                                            NULL: there is none, as where nothing is sent */
} hu_comm_advice;

/* Asks for every schedule of the list; those with groups take the usual size, and are left out
 * where there is none. Formats of 16 bits and more, which have no scaling, go every way: what few
 * bits must beat is the fastest of all. HU_ERR_FORMAT, HU_ERR_MEMORY. Owner frees. */
hu_status hu_comm_advise(const hu_comm_question *question, hu_comm_advice *advice);
void hu_comm_advice_free(hu_comm_advice *advice);

/* Size of groups that schedules with groups get: the divisor for which groups and their number are
 * most alike, the smaller one of two; 0: the number has no divisor but 1 and itself. */
int32_t hu_comm_usual_group(int32_t nodes);

/* ---- expected ---- */

/* What a way of sending would lose of gradients that are known by their exponents
 * alone.
 *
 * A scale follows the largest number; within its binade that is taken to lie in the middle, so that
 * a scale may be off by one binade. Scales of pieces (aps2) are taken as one of the whole tensor,
 * which loses more.
 */

typedef struct hu_comm_expected {
    int32_t k;     /* numbers travel as x 2^-k */
    hu_lost lost;  /* of the roundings of gradients, not of their sums */
    bool sums_fit; /* the sum of all workers' largest numbers does not leave the range */
} hu_comm_expected;

/* Of options: workers, scaling, constant and format. exponents: those of all workers' gradients. */
hu_comm_expected hu_comm_expect(const hu_comm_options *options, const hu_exponents *exponents);

#endif
