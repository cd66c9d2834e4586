/* precision/bit_schedule.h - schedules of bits: which layer has how many bits in which step.
 *
 * A schedule is one file bits_<name>.c and one line of the list. Most follow from the number of the
 * step alone; some follow the training: they are told of every step (hu_bits_news) and keep a state
 * that a checkpoint holds. All is double arithmetic without libm's cosine or logarithm: the same
 * bits on every machine. docs/how-to/add-a-bit-schedule.md shows how to add one.
 */
#ifndef HU_PRECISION_BIT_SCHEDULE_H
#define HU_PRECISION_BIT_SCHEDULE_H
#include "precision/bit_cost.h"

/* What a schedule knows of a training. All is borrowed and must outlive its state. */
typedef struct hu_bits_task {
    const hu_bits *bits;
    const hu_bits_layers *layers;
    int64_t batch, steps, steps_per_epoch; /* steps: 0 where a model is only evaluated */
    uint64_t seed;
} hu_bits_task;

/* What a step has brought. Borrowed for the call. */
typedef struct hu_bits_news {
    int64_t step;    /* its number, from 0 */
    int64_t samples; /* of its batch */
    double loss;     /* mean over the batch */
    bool is_skipped; /* the step changed no weight: its numbers were not finite */
    /* [layers->count]: over the quantisers of the layer's input and weights, the sum over their
     * elements of dL/dQ (round(u) - u) s, of the unscaled loss L; u = (x - Z) / s, and s the
     * quantiser's step (of the channel, where each has its own). For floats u = x / s with s the
     * spacing at x. Zero for layers that stay float32. Only schedules that want_residuals read it.
     */
    const double *residual;
} hu_bits_news;

/* What costs need to know of the task. */
static inline hu_cost_task hu_bits_cost_task(const hu_bits_task *task) {
    return (hu_cost_task){task->bits->rates, task->batch};
}

/* Bits of the factors of a layer whose input and weights have b, and whose gradient has g. */
static inline hu_cost_bits hu_bits_of_factors(const hu_bits *bits, double b, double g) {
    bool is_apart = bits->gradient_of_weights > 0;
    return (hu_cost_bits){b, b, g, is_apart ? (double)bits->gradient_of_weights : g, is_apart};
}

struct hu_bits_schedule {
    const char *name;     /* "cpt": precision=cpt:4-8 */
    const char *argument; /* "A-B", "B" or "" */
    const char *help;
    const char *keys;       /* the bits.* that it alone reads, separated by spaces */
    bool cycles_gradient;   /* bits.grad may be a range */
    bool wants_residuals;   /* hu_bits_news.residual */
    const char *deploys_at; /* which bits the trained model has, for people */
    const char *hastened; /* what lets the bits rise sooner ("fewer bits.cycles"), NULL: nothing */

    /* Checks what the settings say together, and makes the state. Owner frees with hu_free. */
    hu_status (*create)(const hu_bits_task *task, void **state);
    /* Bits of all layers in a step, HU_BITS_FLOAT32 where they are not quantised, those of the
     * forward pass within the bounds of the layers (hu_bits_bound). A schedule that
     * follows the training gives those of the step that comes next, whatever the number.
     *   forward, gradient  [layers->count] */
    void (*at)(const void *state, int64_t step, uint8_t *forward, uint8_t *gradient);
    /* The first later step that may have other bits. NULL: never. */
    int64_t (*until)(const void *state, int64_t step);
    /* Bits of the trained model. NULL: those of the last step. */
    void (*deploy)(const void *state, uint8_t *forward);
    /* After a step. NULL: all follows from its number. Allocates nothing. */
    void (*after_step)(void *state, const hu_bits_news *news);

    /* [layers->count] the numbers from which the bits follow, where they are learned. Borrowed: as
     * long as the state. NULL: nothing is learned. */
    const double *(*learned)(const void *state);

    /* What can be told before the training, where its bits depend on it: ends with NULL. NULL: the
     * bits are known. suppose gives the bits of a case, and the first step that may have others. */
    const char *const *cases;
    int64_t (*suppose)(const void *state, int which, int64_t step, double *forward,
                       double *gradient);

    /* The state as bytes of a checkpoint. Borrowed: valid until the next step. NULL: there is none.
     * check: HU_ERR_CORRUPT unless the bytes are those of such a state, HU_ERR_ARGUMENT if they are
     * of other settings (another range); it changes nothing. restore takes bytes that passed it. */
    void (*save)(const void *state, const void **data, size_t *bytes);
    hu_status (*check)(const void *state, const void *data, size_t bytes);
    void (*restore)(void *state, const void *data, size_t bytes);
};

/* X(identifier). The one list of schedules. */
#define HU_BITS_LIST(X)                                                                            \
    X(static)                                                                                      \
    X(cyclic)                                                                                      \
    X(progressive)                                                                                 \
    X(random)                                                                                      \
    X(staged)                                                                                      \
    X(learned)

#define HU_BITS_COUNT_ONE(identifier) +1
enum { HU_BITS_SCHEDULES = 0 HU_BITS_LIST(HU_BITS_COUNT_ONE) };
#undef HU_BITS_COUNT_ONE

#define HU_BITS_DECLARE(identifier) extern const hu_bits_schedule hu_bits_##identifier;
HU_BITS_LIST(HU_BITS_DECLARE)
#undef HU_BITS_DECLARE

extern const hu_bits_schedule *const hu_bits_table[HU_BITS_SCHEDULES];

/* Reads "static:8", "cpt:4-8", "random", ... with the usual settings of the keys bits.*. *found =
 * false, and success: no schedule has this name. HU_ERR_PARSE, HU_ERR_ARGUMENT. */
hu_status hu_bits_parse(const char *text, hu_bits *bits, bool *found);

/* Whether floats have room for sign and exponent, all that can occur. HU_ERR_ARGUMENT. */
hu_status hu_bits_check_floats(const hu_bits *bits);

/* One training's schedule with its state. */
typedef struct hu_bits_course {
    const hu_bits_schedule *schedule;
    void *state;
} hu_bits_course;

/* Checks the settings against the training and begins. HU_ERR_ARGUMENT names the key. Owner frees
 * with hu_bits_end. */
hu_status hu_bits_begin(const hu_bits_task *task, hu_bits_course *course);
void hu_bits_end(hu_bits_course *course);

/* Bits of the model as it would be used after so many steps: those of `deploy`; else those of the
 * last of these steps, or, of a schedule that follows the training, as they stand. For evaluation,
 * export and the plan that a run leaves.
 *   forward, gradient  [layers->count] */
void hu_bits_deployed(const hu_bits_course *course, int64_t steps, uint8_t *forward,
                      uint8_t *gradient);

/* ---- for schedules ---- */

/* The same bits for all quantised layers, HU_BITS_FLOAT32 for the others; those of the forward pass
 * within the bounds of the layers. */
void hu_bits_fill(const hu_bits_layers *layers, uint32_t b, uint8_t *bits);
void hu_bits_fill_forward(const hu_bits_layers *layers, uint32_t b, uint8_t *forward);

/* The gradients' bits where they are one number, or those of the forward pass. */
void hu_bits_fill_gradient(const hu_bits_task *task, const uint8_t *forward, uint8_t *gradient);

/* The same with fractions, of which a forward cost can be the target. */
void hu_bits_suppose(const hu_bits_task *task, double b, double *forward, double *gradient);

#endif
