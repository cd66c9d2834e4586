/* kernel/elementary/elementary.h - loops around exp, tanh, erfc, log, powers and roots in double,
 * one body per ISA. The functions are those of base/elementary.h, bit for bit, also of infinities
 * and NaN; sums go in the order of the elements. */
#ifndef HU_KERNEL_ELEMENTARY_ELEMENTARY_H
#define HU_KERNEL_ELEMENTARY_ELEMENTARY_H
#include <halfulp/random.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* s_c = k + share * sum of x_i^2 over the channels i from c - reach to c + reach that there are. */
typedef struct hu_local_window {
    int64_t channels, reach;
    double k, share; /* k > 0, share >= 0 */
    double power;    /* of s is -power; 0.75 is made by roots */
} hu_local_window;

/* y_c = weight_c xhat_c + bias_c, xhat = (x - mean) / sqrt(variance + epsilon) over rows of width
 * numbers; the variance is the mean of (x - mean)^2. */
typedef struct hu_layer_norm {
    int64_t width;
    double epsilon;
    const float *weight, *bias; /* [width] */
} hu_layer_norm;

typedef struct hu_elementary_kernels {
    /* y = e^x, log x (of normal x > 0, infinity and NaN), tanh x and erfc x, in double. */
    void (*exp)(int64_t count, const double *x, double *y);
    void (*log)(int64_t count, const double *x, double *y);
    void (*tanh)(int64_t count, const double *x, double *y);
    void (*erfc)(int64_t count, const double *x, double *y);
    /* y = 1 / (1 + e^-x) and tanh x, in double, rounded once; y may be x. */
    void (*sigmoid)(int64_t count, const float *x, float *y);
    void (*tangent)(int64_t count, const float *x, float *y);
    /* dx = dy (1 - y^2), in double, rounded once; dx may be dy or y. */
    void (*tangent_backward)(int64_t count, const float *y, const float *dy, float *dx);
    /* y = x s and dx = dy (s + x ds/dx), in double, rounded once; s = (1 + erf(x / sqrt 2)) / 2 or,
     * _tanh, (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2. y may be x, dx may be dy or x. */
    void (*gelu)(int64_t count, const float *x, float *y);
    void (*gelu_backward)(int64_t count, const float *x, const float *dy, float *dx);
    void (*gelu_tanh)(int64_t count, const float *x, float *y);
    void (*gelu_tanh_backward)(int64_t count, const float *x, const float *dy, float *dx);
    /* y = x / (1 + e^-x) and dx = dy (s (1 + x (1 - s))) with s = 1 / (1 + e^-x), in double,
     * rounded once. y may be x, dx may be dy or x. */
    void (*silu)(int64_t count, const float *x, float *y);
    void (*silu_backward)(int64_t count, const float *x, const float *dy, float *dx);
    /* y = x c / 6 and c / 6 with c = x + 3 between 0 and 6; backward dx = dy (2 x + 3) / 6 and
     * dy / 6 for -3 < x < 3, below 0, above dy and 0. In double, rounded once; y may be x, dx may
     * be dy or x. */
    void (*hard_swish)(int64_t count, const float *x, float *y);
    void (*hard_swish_backward)(int64_t count, const float *x, const float *dy, float *dx);
    void (*hard_sigmoid)(int64_t count, const float *x, float *y);
    void (*hard_sigmoid_backward)(int64_t count, const float *x, const float *dy, float *dx);
    /* y = e^x, log x and x^p (hu_pow), in double, rounded once; y may be x. */
    void (*exponential)(int64_t count, const float *x, float *y);
    void (*logarithm)(int64_t count, const float *x, float *y);
    void (*power)(int64_t count, double p, const float *x, float *y);
    /* dx = dy (p x^(p-1)), likewise; dx may be dy or x. */
    void (*power_backward)(int64_t count, double p, const float *x, const float *dy, float *dx);
    /* y = max(x, 0) - x t + log(1 + e^-|x|), the cross entropy of a logit and a share; y = 1 / (1 +
     * e^-x) */
    void (*cross_entropy)(int64_t count, const double *x, const double *t, double *y);
    void (*share)(int64_t count, const double *x, double *y);
    /* Of rows x [rows, classes]: the largest number, NaN where there is one, and log of the sum of
     * e^(x - most). log softmax(x)_c = x_c - most - log_sum. */
    void (*row_logs)(int64_t rows, int64_t classes, const float *x, double *most, double *log_sum);
    /* dx = dy (softmax(x) - onehot(class)); dy, most, log_sum and class are [rows]. Any class that
     * is none leaves out the 1. */
    void (*row_slopes)(int64_t rows, int64_t classes, const float *x, const double *most,
                       const double *log_sum, const int64_t *class, const double *dy, float *dx);
    /* Softmax over the first seen[r] numbers of each row of x [rows, width]: y = e^(x - most) /
     * sum, 0 after them. scratch: hu_softmax_numbers. y may be x. Backward dx = y (dy - sum of y
     * dy), 0 after them; dx may be dy or y. */
    void (*softmax)(int64_t rows, int64_t width, const int64_t *seen, const float *x,
                    double *scratch, float *y);
    void (*softmax_backward)(int64_t rows, int64_t width, const int64_t *seen, const float *y,
                             const float *dy, float *dx);
    /* y of x [rows, width], in double, rounded once; scratch: hu_layer_norm_numbers. y may be x. */
    void (*layer_norm)(int64_t rows, const hu_layer_norm *layer, const float *x, double *scratch,
                       float *y);
    /* dx = (g - mean(g) - xhat mean(g xhat)) / sqrt(variance + epsilon), g = dy weight; NULL: not
     * wanted, may be dy. dy xhat and dy are added to dweight and dbias [width], row by row. */
    void (*layer_norm_backward)(int64_t rows, const hu_layer_norm *layer, const float *x,
                                const float *dy, double *scratch, double *dweight, double *dbias,
                                float *dx);
    /* y = x s^-power of places [places, channels]; scratch: hu_local_numbers. y may be x. */
    void (*local_norm)(int64_t places, const hu_local_window *window, const float *x,
                       double *scratch, float *y);
    /* dx_c = dy_c s_c^-power - factor x_c (sum over the window of dy x s^-power / s); dx may be dy
     * or x. */
    void (*local_norm_backward)(int64_t places, const hu_local_window *window, double factor,
                                const float *x, const float *dy, double *scratch, float *dx);
} hu_elementary_kernels;

extern const hu_elementary_kernels HU_OF_ISA(hu_elementary_kernels);

/* The record of hu_cpu_isa(). */
const hu_elementary_kernels *hu_elementary(void);

/* Eight rows. */
static inline int64_t hu_layer_norm_numbers(int64_t width) {
    return 8 * width;
}

/* Places that a local norm takes at once, and the numbers of scratch that it needs for them. */
static inline int64_t hu_local_places(const hu_local_window *window) {
    int64_t places = 512 / (window->channels + 2 * window->reach);
    return places > 1 ? places : 1;
}

static inline int64_t hu_local_numbers(const hu_local_window *window) {
    return 4 * hu_local_places(window) * (window->channels + 2 * window->reach);
}

/* Numbers of scratch of softmax. */
static inline int64_t hu_softmax_numbers(int64_t width) {
    enum { ROWS = 8 };
    return ROWS * width;
}

/* ---- bands ---- */

/* The law of words in bands: a softmax over the words of a head and
 * over one score for each band after it, and a softmax over the words of each band.
 *
 *   log p(v) = log p_head(v), or log p_head(band) + log p_band(v)
 *
 * Source: Grave et al. 2017, "Efficient softmax approximation for GPUs". */

typedef struct hu_band_scores {
    int64_t head; /* its own words, and a score for each band */
    int bands;
    const int64_t *size; /* [bands] words */
} hu_band_scores;

/* scores: x[0] [rows, head], x[b] [rows, size[b - 1]] -> out [rows, all words] of
 * log-probabilities, in double with one rounding; the same bits with every instruction set. */
void hu_band_law(const hu_band_scores *scores, int64_t rows, const float *const *x, float *out);

/* ---- sampled ---- */

/* Rows of a sampled softmax: the score of a row's own class and those
 * of k classes that are drawn from the law of base/rng.h, duplicates included. From each
 * score goes the logarithm of how often its class is expected, z = x - log(k P(v)); drawn classes
 * that are the row's own are left out. Then it is a softmax, in double, in the order of the scores.
 * Source: Bengio and Senecal 2003; Jozefowicz et al. 2016, 3.1. */

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

/* Many random numbers of base/rng.h at once: the same bits, one body per ISA. */

/* x[i] = hu_random_normal(key, first + i) */
void hu_draw_normals(const hu_random_key *key, uint64_t first, size_t count, float *x);

/* x[i] = hu_random_uniform(key, first + i) */
void hu_draw_uniforms(const hu_random_key *key, uint64_t first, size_t count, float *x);

/* x[i] = the normal number that words 2i and 2i+1 make. */
typedef void hu_normals_fn(size_t count, const uint32_t *words, float *x);
hu_normals_fn HU_OF_ISA(hu_normals);

#endif
