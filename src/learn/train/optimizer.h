/* train/optimizer.h - optimizers: their options, kinds and state. */
#ifndef HU_TRAIN_OPTIMIZER_H
#define HU_TRAIN_OPTIMIZER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/histogram.h>
#include <halfulp/status.h>

#include "base/text.h"
#include "graph/edge.h"
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

/* ---- optimizer_state.c ---- */

/* one array of an optimizer's state: a number for each trained element,
 * in float32, or packed in 8 or 16 bits tensor by tensor.
 *
 * A tensor that is packed is unpacked into scratch before its update, and rounded, counted and
 * packed again after it. Random words of stochastic rounding are those of (seed, tensor, update,
 * element), so that neither threads nor a resume change a bit.
 */

/* Elements that are unpacked at a time. */
enum { HU_MOMENT_CHUNK = 4096 };

/* One tensor in the vector of an optimizer's elements, and how its state is kept. */
typedef struct hu_state_tensor {
    int64_t first, count;
    const char *name;
    hu_quantizer quantizer[HU_STATE_SORTS]; /* NONE: float32; else one that hu_state_check takes */
} hu_state_tensor;

/* All of them, ascending and without gaps. Borrowed: needed while an optimizer is made. */
typedef struct hu_state_plan {
    const hu_state_tensor *tensor; /* [count] */
    uint32_t count;
    uint64_t seed;
    bool records; /* there is room to record exponents of packed tensors */
} hu_state_plan;

/* One tensor of an array. */
typedef struct hu_moment_part {
    int64_t first, count;
    size_t at; /* byte of the array where its numbers begin */
    bool is_packed;
    hu_rounder rounder; /* this and what follows: of packed ones */
    hu_packer packer;
    uint64_t stream;
    hu_round_counts counts;  /* of the latest update */
    hu_histogram *exponents; /* of the latest recorded update, before rounding; NULL: none is */
} hu_moment_part;

typedef struct hu_moment {
    hu_state_sort sort;
    int64_t elements;
    unsigned char *data; /* [bytes] */
    size_t bytes;
    hu_moment_part *part; /* [parts] ascending; NULL: all of it is float32 */
    uint32_t parts;
    hu_histogram *histogram; /* [parts] or NULL */
    uint64_t seed;
} hu_moment;

/* HU_ERR_ARGUMENT, which says what was found and expected, for quantizers that no state can have:
 * scales from a tensor's numbers, blocks, uniform integers, formats of more than 16 bits. */
hu_status hu_state_check(const hu_quantizer *quantizer);

/* ---- optimizer.c ---- */

/* weight updates: SGD, LARS, Adam, AdamW, RMSprop and Adagrad, element by
 * element on the masters.
 *
 * All trained parameters form one flat vector of P elements; offset is a place in it. Every element
 * is updated from its own weight, gradient and state, and from what its tensor has in common, with
 * every float32 operation rounded on its own (no fused multiply-add), so the bits do not depend on
 * how the vector is split.
 */

typedef enum hu_optimizer_kind {
    HU_OPTIMIZER_SGD,
    HU_OPTIMIZER_ADAM,
    HU_OPTIMIZER_ADAMW,
    HU_OPTIMIZER_LARS,
    HU_OPTIMIZER_RMSPROP,
    HU_OPTIMIZER_ADAGRAD,
    HU_OPTIMIZER_COUNT
} hu_optimizer_kind;

/* Fields that a kind does not use are ignored. */
typedef struct hu_optimizer_options {
    hu_optimizer_kind kind;
    double weight_decay; /* L2, added to the gradient; adamw: decoupled */
    double momentum;     /* sgd, lars: mu, 0 <= mu < 1; sgd: 0 keeps no state */
    bool nesterov;       /* sgd: step along g + mu v; needs mu > 0 */
    double beta1, beta2; /* adam, adamw: 0 <= beta < 1 */
    double alpha;        /* rmsprop: 0 <= alpha < 1 */
    double eps;      /* adam, adamw, rmsprop: > 0, added to the root; adagrad: 0 with initial > 0 */
    double initial;  /* adagrad: >= 0, what the sums of squares begin with */
    double trust;    /* lars: coefficient of lambda, > 0 */
    bool zeros_stay; /* lars: lambda of a tensor of zeros is 0, as in CPD's code; else 1 */
} hu_optimizer_options;

/* What all elements of a tensor have in common in one update. */
typedef struct hu_tensor_update {
    bool decay;   /* whether weight decay applies */
    float trust;  /* lars: lambda, of hu_optimizer_trust; the other kinds do not read it */
    float clip;   /* factor of the gradient, after that of hu_optimizer_unscale_gradients: what it
                     is held times (unit scaling) is taken back here, too */
    double rate;  /* its learning rate over that of the step */
    double start; /* the weights that are updated are this times the masters: unit scaling divides
                     by their standard deviation */
} hu_tensor_update;

/* Decays, at the rate of the step, and nothing is clipped. */
#define HU_TENSOR_UPDATE                                                                           \
    ((hu_tensor_update){.decay = true, .trust = 1, .clip = 1, .rate = 1, .start = 1})

typedef struct hu_optimizer hu_optimizer;

/* The table, indexed by hu_optimizer_kind: [HU_OPTIMIZER_COUNT]. Borrowed: valid forever. */
extern const hu_kind hu_optimizer_kinds[HU_OPTIMIZER_COUNT];

hu_status hu_optimizer_parse(const char *name, hu_optimizer_kind *kind);

/* The customary values: sgd 0.9, no decay; lars the same and a coefficient of 0.001; adam 0.9,
 * 0.999, 1e-8, no decay; adamw with 0.01; rmsprop 0.9, 1e-8, no decay; adagrad 1e-8 from 0. */
hu_optimizer_options hu_optimizer_defaults(hu_optimizer_kind kind);

/* State of zeros for a vector of parameters elements, whose memory is not written, in the formats
 * of a plan, NULL: float32; owner frees with hu_optimizer_free. HU_ERR_ARGUMENT names the option
 * that is out of range, or a format of a sort of state that the optimizer keeps and that cannot
 * hold it; HU_ERR_MEMORY. */
hu_status hu_optimizer_create(const hu_optimizer_options *options, int64_t parameters,
                              const hu_state_plan *plan, hu_optimizer **optimizer);

/* Whether an optimizer of these options keeps that sort of state. */
bool hu_optimizer_has_state(const hu_optimizer_options *options, hu_state_sort sort);

/* Tensor i of the plan as its state of that sort is kept; NULL: there is no such state, or all of
 * it is float32. Borrowed: valid until the optimizer is freed. */
const hu_moment_part *hu_optimizer_part(const hu_optimizer *optimizer, hu_state_sort sort,
                                        uint32_t i);
/* What a training begins with, after create: the zeros; of adagrad sums of initial. */
void hu_optimizer_begin(hu_optimizer *optimizer);
void hu_optimizer_free(hu_optimizer *optimizer);

/* Starts one step of learning rate lr: advances t by one and fixes the coefficients. A step that is
 * skipped because of an overflow calls neither this nor apply, and leaves everything as it was. */
void hu_optimizer_begin_step(hu_optimizer *optimizer, double lr);

/* After begin_step: exponents of the state that apply rounds in this step are recorded. */
void hu_optimizer_record(hu_optimizer *optimizer);

/* What apply multiplies every gradient of this step with, before a tensor's own factor: the inverse
 * of the loss scale. 1 after begin_step. */
void hu_optimizer_unscale_gradients(hu_optimizer *optimizer, float unscale);

/* Whether updates read hu_tensor_update.trust. */
bool hu_optimizer_trusts(const hu_optimizer *optimizer);

/* lambda of a tensor, what multiplies the rate of lars, from the norms of its weights and of its
 * gradient as apply will see it:
 *   coefficient |w| / (|g| + wd |w|), in double, rounded once
 * where |w| and |g| are rounded to float32 first; wd is 0 without decay. 1 where the denominator is
 * 0. Where |w| is 0: 1, or 0 with zeros_stay.
 * Source: You, Gitman and Ginsburg, "Large batch training of convolutional networks", eq. 6; the
 * released code of CPD, which gives 0/0 where both norms are 0. */
float hu_optimizer_trust(const hu_optimizer *optimizer, double weight_norm, double gradient_norm,
                         bool decay);

/* Updates elements offset .. offset+n-1. From several threads at once on disjoint ranges; every
 * element at most once between two begin_step. Never allocates.
 *
 *   master  [n] weights of the range, updated
 *   grad    [n] gradients by start x master, before the factors above; not overlapping master
 *   tensor  of the tensor that the range lies in
 *
 * State that is packed is unpacked before its update, which is in float32, and rounded after it;
 * the weight moves by the number before it is rounded.
 *
 * sgd:   g += wd w; v = mu v + g (v starts at 0, so v = g first); w -= lr (nesterov ? g + mu v : v)
 * lars:  v = mu v + (lr lambda) (g + wd w); w -= v
 * adam:  g += wd w;          m += (1-b1)(g-m); s = b2 s + (1-b2) g g;
 *        w -= lr/(1-b1^t) m / (sqrt(s)/sqrt(1-b2^t) + eps)
 * adamw: w *= 1 - lr wd, then as adam
 * rmsprop: g += wd w;        s = a s + (1-a) g g; w -= lr g / (sqrt(s) + eps)
 * adagrad: g += wd w;        s += g g; w -= lr g / (sqrt(s) + eps)
 * Source: torch.optim.SGD, Adam, AdamW, RMSprop, Adagrad (from 0 with eps; TensorFlow's starts from
 * 0.1 or 1 without); Duchi, Hazan and Singer, "Adaptive subgradient methods"; Loshchilov and
 * Hutter, "Decoupled weight decay".
 */
void hu_optimizer_apply(hu_optimizer *optimizer, int64_t offset, int64_t n, float *master,
                        const float *grad, hu_tensor_update tensor);

/* Blocks of state for the checkpoint: index 0, 1, ... until the answer is false. "t" is one int64,
 * all others [P] float32, or as they are packed (train/optimizer.h). Borrowed: valid until
 * the optimizer is freed. */
bool hu_optimizer_state(const hu_optimizer *optimizer, size_t index, const char **name,
                        const void **data, size_t *bytes);

/* Whether a kind of optimizer can have a block of that name. */
bool hu_optimizer_keeps(hu_optimizer_kind kind, const char *name);

/* Puts back what hu_optimizer_state gave for index. HU_ERR_CORRUPT, and nothing changed, if the
 * size, t or a sum of squares cannot be right; HU_ERR_ARGUMENT if there is no such block. */
hu_status hu_optimizer_restore(hu_optimizer *optimizer, size_t index, const void *data,
                               size_t bytes);

/* Steps taken so far, skipped ones not counted. */
int64_t hu_optimizer_t(const hu_optimizer *optimizer);

#endif
