/* explain/closest.h - how near a run came to a death: for those in which nothing died. */
#ifndef HU_EXPLAIN_CLOSEST_H
#define HU_EXPLAIN_CLOSEST_H
#include "explain/facts.h"
#include "show/json.h"

/* A tensor with the share that it lost in the steps of a row. */
typedef struct hu_closest_loss {
    const char *tensor, *format; /* NULL: none. Borrowed: from the history, as all texts */
    double share;
    int64_t step, steps; /* the last of these, and how many they are */
} hu_closest_loss;

/* The rounded tensors nearest to a death in the whole run: the one whose largest number came
 * nearest to the fixed end of its format, and those that lost the largest shares. */
typedef struct hu_closest {
    bool rounds;              /* some tensor is rounded; of these: */
    bool rounds_own;          /* one of the network's own, */
    bool rounds_wire;         /* a gradient between workers, */
    bool rounds_state;        /* state of the optimizer */
    bool is_counted;          /* one of a step that was not skipped; below there is nothing else */
    bool all_current;         /* all that are have a scale from their own numbers (scale=current) */
    const char *wire_scaling; /* "aps": moves what is sent to the end of its format; NULL */
    const char *number_scales; /* a block format whose scales are numbers of few bits; NULL */
    const char *overflow_tensor, *overflow_format; /* NULL: none */
    int32_t headroom;                              /* binades below the format's largest */
    int64_t overflow_step;
    hu_closest_loss underflow;  /* of the numbers that were not zero before */
    hu_closest_loss saturation; /* of all */
    hu_closest_loss updates;    /* of a weight without a master, of those that were not zero */
} hu_closest;
hu_closest hu_closest_find(const hu_explaining *x);

/* New reference; NULL if out of memory. */
json_t *hu_closest_json(const hu_explaining *x);

/* What a run rounds beside the network's own tensors, as a part of a sentence: "the sums of
 * products (accumulator=)". "": nothing. Advice on formats tries none of it. Gives text. */
enum { HU_BESIDE_BYTES = 256 };
const char *hu_closest_beside(const hu_explaining *x, const hu_closest *closest,
                              char text[HU_BESIDE_BYTES]);

#endif
