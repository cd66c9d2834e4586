/* kernel/elementary/sampled.h - rows of a sampled softmax: the score of a row's own class and those
 * of k classes that are drawn from the law of base/log_uniform.h, duplicates included. From each
 * score goes the logarithm of how often its class is expected, z = x - log(k P(v)); drawn classes
 * that are the row's own are left out. Then it is a softmax, in double, in the order of the scores.
 * Source: Bengio and Senecal 2003; Jozefowicz et al. 2016, 3.1. */
#ifndef HU_KERNEL_ELEMENTARY_SAMPLED_H
#define HU_KERNEL_ELEMENTARY_SAMPLED_H
#include <stdint.h>

/* What all rows share. */
typedef struct hu_sampled {
    int64_t classes, k;
    const float *drawn; /* [k] whole numbers */
    double *scratch;    /* [hu_sampled_numbers] one thread's own */
} hu_sampled;

static inline int64_t hu_sampled_numbers(int64_t k) {
    return 3 * (1 + k);
}

/* Before the first row: makes what the rows share, in scratch. */
void hu_sampled_begin(const hu_sampled *sampled);

/* -log of the share of a row's own class: x [1 + k], x[0] its own. Adds 1 to best if no score is
 * larger. */
double hu_sampled_loss(const hu_sampled *sampled, float own, const float *x, double *best);

/* dx [1 + k] = dy times the slopes of that; +0 for what is left out. */
void hu_sampled_slopes(const hu_sampled *sampled, float own, const float *x, double dy, float *dx);

#endif
