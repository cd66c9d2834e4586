/* diagnose/closest.h - how near a run came to a death: for those in which nothing died. */
#ifndef HU_EXPLAIN_CLOSEST_H
#define HU_EXPLAIN_CLOSEST_H
#include "diagnose/facts.h"
#include "render/json.h"

/* A tensor with the share that it lost in the steps of a row, the worst of all. */
typedef struct hu_closest_loss {
    const char *tensor, *format; /* NULL: none. Borrowed: from the history, as all texts */
    double share;
    int64_t step, steps; /* the last of these, and how many they are */
    uint32_t number;     /* of the tensor in the history */
    double all;          /* share in all rows that counted it, without skipped steps */
    int64_t all_steps;   /* steps of these */
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
hu_closest hu_closest_find(const hu_diagnosis *x);

/* The event by which a tensor is in trouble (runlog/events.h) with the next smaller share after
 * `last`, of equal ones the one that was told later; last NULL: the largest. NULL: there is no
 * more. Borrowed: from the history. */
const hu_event_record *hu_closest_troubled(const hu_diagnosis *x, const hu_event_record *last);

/* What a run rounds beside the network's own tensors, as a part of a sentence: "the sums of
 * products (accumulator=)". "": nothing. Advice on formats tries none of it. Gives text. */
enum { HU_BESIDE_BYTES = 256 };
const char *hu_closest_beside(const hu_diagnosis *x, const hu_closest *closest,
                              char text[HU_BESIDE_BYTES]);

#endif
