/* train/optimizer_state.h - one array of an optimizer's state: a number for each trained element,
 * in float32, or packed in 8 or 16 bits tensor by tensor.
 *
 * A tensor that is packed is unpacked into scratch before its update, and rounded, counted and
 * packed again behind it. Random words of stochastic rounding are those of (seed, tensor, update,
 * element), so that neither threads nor a resume change a bit. */
#ifndef HU_TRAIN_OPTIMIZER_STATE_H
#define HU_TRAIN_OPTIMIZER_STATE_H
#include "graph/edge.h"
#include "kernel/histogram/histogram.h"
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

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

/* Zeros. plan NULL: all float32. Owner frees with hu_moment_free, after a failure too.
 * HU_ERR_MEMORY. */
hu_status hu_moment_create(const hu_state_plan *plan, hu_state_sort sort, int64_t elements,
                           hu_moment *moment);
void hu_moment_free(hu_moment *moment);

/* Elements offset .. offset+n-1 of one tensor, n <= HU_MOMENT_CHUNK: where they lie (float32), or
 * unpacked into scratch [n]. */
float *hu_moment_open(const hu_moment *moment, int64_t offset, int64_t n, float *scratch);

/* Puts back what hu_moment_open gave and the caller has changed: rounds, counts and packs it. t:
 * number of the update. records: its exponents too. From several threads at once on disjoint
 * ranges; the counts do not depend on their order. */
void hu_moment_close(hu_moment *moment, int64_t offset, int64_t n, const float *x, int64_t t,
                     bool records);

/* Before an update: nothing is counted; nothing is recorded, if the update is recorded. */
void hu_moment_clear(hu_moment *moment, bool records);

/* HU_ERR_ARGUMENT if a packed tensor rounds x, finite and above 0, to zero or to an infinity in
 * any direction; what: where x comes from. */
hu_status hu_moment_check_initial(const hu_moment *moment, const hu_state_plan *plan, float x,
                                  const char *what);
void hu_moment_fill(hu_moment *moment, float x);

/* Takes over bytes that another moment of the same plan had as data, aligned as float32 is.
 * HU_ERR_CORRUPT, and nothing changed, where one is a sum of squares that is negative or NaN. */
hu_status hu_moment_restore(hu_moment *moment, const void *data);

#endif
