/* comm/synthetic.h - gradients of many workers drawn from a model, to study reductions with.
 *
 *   s[i]    = e^(sigma N)              lognormal size of element i, the same for all workers
 *   mean[i] = rho s[i] N               what the workers agree upon
 *   g[w][i] = (mean[i] + s[i] N) / p   gradient of worker w of p, whose sum is the mean gradient
 *
 * all times a magnitude: real gradients are far smaller than 1. N are independent standard normal
 * numbers. rho is what a gradient tells of the mean: small batches have a small one. The bits
 * depend on the model alone, not on machine or thread.
 */
#ifndef HU_COMM_SYNTHETIC_H
#define HU_COMM_SYNTHETIC_H
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_comm_synthetic {
    int64_t elements;
    int32_t workers;
    double rho, sigma;
    double magnitude; /* a power of two changes no digit of a gradient */
    uint64_t seed;
} hu_comm_synthetic;

/* What all workers share: size[elements], mean[elements]. */
void hu_comm_synthetic_shared(const hu_comm_synthetic *model, float *size, float *mean);

/* gradient[elements] of one worker, from what all share. */
void hu_comm_synthetic_worker(const hu_comm_synthetic *model, const float *size, const float *mean,
                              int32_t worker, float *gradient);

#endif
