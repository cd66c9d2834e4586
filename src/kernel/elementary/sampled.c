#include "kernel/elementary/sampled.h"

#include <math.h>

#include "base/elementary.h"
#include "base/log_uniform.h"
#include "kernel/elementary/elementary.h"

/* log(k P(id)) */
static double log_expected(const hu_sampled *s, float id) {
    return hu_log((double)s->k * hu_log_uniform_share((int64_t)id, s->classes));
}

/* Scratch: log q of the drawn classes behind one number, z and e^(z - most) of a row, each 1 + k.
 */
void hu_sampled_begin(const hu_sampled *s) {
    for (int64_t i = 0; i < s->k; i++) s->scratch[1 + i] = log_expected(s, s->drawn[i]);
}

/* A softmax that is not divided yet. */
typedef struct row {
    const double *e; /* [1 + k] e^(z - most) */
    double sum, own; /* of e; z of the row's own class, less most */
} row;

/* z of the drawn classes; gives their largest, or NaN where there is one. */
static double place(const hu_sampled *s, float own, const float *x, double *z) {
    const double *q = s->scratch;
    double most = -INFINITY;
    int is_none = 0;
#pragma omp simd reduction(max : most) reduction(| : is_none)
    for (int64_t i = 1; i <= s->k; i++) {
        double v = s->drawn[i - 1] == own ? -INFINITY : (double)x[i] - q[i];
        is_none |= v != v;
        most = v > most ? v : most;
        z[i] = v;
    }
    return is_none ? (double)NAN : most;
}

static row row_of(const hu_sampled *s, float own, const float *x) {
    int64_t n = 1 + s->k;
    double *z = s->scratch + n, *e = z + n, sum = 0.0;
    double first = (double)x[0] - log_expected(s, own), most = place(s, own, x, z);
    z[0] = first;
    most = most <= first || first != first ? first : most;
    for (int64_t i = 0; i < n; i++) z[i] -= most;
    hu_elementary()->exp(n, z, e);
    for (int64_t i = 0; i < n; i++) sum += e[i];
    return (row){e, sum, z[0]};
}

double hu_sampled_loss(const hu_sampled *s, float own, const float *x, double *best) {
    row r = row_of(s, own, x);
    *best += r.own >= 0.0;
    return hu_log(r.sum) - r.own;
}

void hu_sampled_slopes(const hu_sampled *s, float own, const float *x, double dy, float *dx) {
    row r = row_of(s, own, x);
    dx[0] = (float)(dy * (r.e[0] / r.sum - 1.0));
    for (int64_t i = 1; i <= s->k; i++)
        dx[i] = s->drawn[i - 1] == own ? 0.0f : (float)(dy * (r.e[i] / r.sum));
}
