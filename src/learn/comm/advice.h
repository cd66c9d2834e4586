/* comm/advice.h - how long the gradients of a model take on a network, by schedule, format and size
 * of what travels together; and whether few bits pay.
 */
#ifndef HU_COMM_ADVICE_H
#define HU_COMM_ADVICE_H
#include "comm/cost_model.h"
#include "comm/plan.h"
#include "tensor/exponent_histogram.h"

/* What travels together. */
typedef enum hu_comm_fusion {
    HU_COMM_BY_LAYER,
    HU_COMM_BY_BUCKET,
    HU_COMM_WHOLE, /* all layers */
    HU_COMM_FUSIONS
} hu_comm_fusion;

/* "layer", "bucket", "whole". Borrowed: valid for ever. */
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
