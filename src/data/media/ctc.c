#include "media/ctc.h"

#include <math.h>
#include <stddef.h>

#include "base/checked.h"
#include "base/elementary.h"

/* log 0: a state that no path is in. */
static const double never = -(double)INFINITY;

/* ---- labels ---- */

static bool is_label(float number, int64_t classes) {
    return hu_whole_below(number, classes) > HU_CTC_BLANK;
}

bool hu_ctc_labels(const float *target, int64_t most, int64_t classes, int64_t *count) {
    int64_t n = 0;
    while (n < most && is_label(target[n], classes)) n++;
    *count = n;
    while (n < most && target[n] < 0.0f) n++;
    return n == most;
}

int64_t hu_ctc_least_rows(const float *target, int64_t count) {
    int64_t rows = count;
    for (int64_t i = 1; i < count; i++) rows += target[i] == target[i - 1];
    return rows;
}

/* ---- paths ---- */

/* Class of a state. */
static int64_t class_of(const hu_ctc *p, int64_t state) {
    return state % 2 ? (int64_t)p->target[state / 2] : HU_CTC_BLANK;
}

/* A path may go from the state two before to this one, past a blank. */
static bool skips_to(const hu_ctc *p, int64_t state) {
    return state % 2 && state > 1 && p->target[state / 2] != p->target[state / 2 - 1];
}

/* Log-probability of class k in row t. */
static double log_of(const hu_ctc *p, int64_t t, int64_t k) {
    float x = p->x[t * p->classes + k];
    if (p->takes_logs) return (double)x;
    return hu_log_softmax((hu_softmax_row){p->most[t], p->log_sum[t]}, x);
}

/* log(e^a + e^b + e^c); a NaN is not lost. */
static double log_sum_of(double a, double b, double c) {
    double most = a;
    if (b > most || b != b) most = b;
    if (c > most || c != c) most = c;
    if (most <= never) return never;
    return most + hu_log(hu_exp(a - most) + hu_exp(b - most) + hu_exp(c - most));
}

/* The next row of alpha from that before it (NULL: the first). */
static void alpha_row(const hu_ctc *p, int64_t t, const double *before, double *now) {
    for (int64_t s = 0; s < p->states; s++) {
        double reached = s < 2 ? 0.0 : never;
        if (before)
            reached = log_sum_of(before[s], s > 0 ? before[s - 1] : never,
                                 skips_to(p, s) ? before[s - 2] : never);
        now[s] = log_of(p, t, class_of(p, s)) + reached;
    }
}

/* The row of beta before the one after it (NULL: the last). */
static void beta_row(const hu_ctc *p, int64_t t, const double *behind, double *now) {
    for (int64_t s = 0; s < p->states; s++) {
        bool skips = s + 2 < p->states && skips_to(p, s + 2);
        double left = s + 2 < p->states ? never : 0.0;
        if (behind)
            left = log_sum_of(behind[s], s + 1 < p->states ? behind[s + 1] : never,
                              skips ? behind[s + 2] : never);
        now[s] = log_of(p, t, class_of(p, s)) + left;
    }
}

/* log of the probability of all paths; keeps: alpha holds all rows, not only the last two. */
static double log_probability(const hu_ctc *p, bool keeps) {
    double *before = NULL;
    if (p->rows == 0) return 0.0;
    for (int64_t t = 0; t < p->rows; t++) {
        double *now = p->alpha + (keeps ? t : t % 2) * p->states;
        alpha_row(p, t, before, now);
        before = now;
    }
    int64_t last = p->states - 1;
    return log_sum_of(before[last], last > 0 ? before[last - 1] : never, never);
}

double hu_ctc_log_probability(const hu_ctc *p) {
    return log_probability(p, false);
}

/* ---- derivatives ---- */

/* For each class: the log of what all its states together have of the paths at row t, as a largest
 * term and a sum of the others beside it. */
static void gather(const hu_ctc *p, const double *alpha, const double *beta) {
    for (int64_t k = 0; k < p->classes; k++) {
        p->largest[k] = never;
        p->shares[k] = 0.0;
    }
    for (int64_t s = 0; s < p->states; s++) {
        double both = alpha[s] + beta[s], *largest = &p->largest[class_of(p, s)];
        if (both > *largest || both != both) *largest = both;
    }
    for (int64_t s = 0; s < p->states; s++) {
        int64_t k = class_of(p, s);
        if (p->largest[k] <= never) continue;
        p->shares[k] += hu_exp(alpha[s] + beta[s] - p->largest[k]);
    }
}

/* Probability that a path is at class k in row t, of those that spell the labels. */
static double occupied(const hu_ctc *p, int64_t t, int64_t k, double log_p) {
    if (p->largest[k] <= never) return 0.0;
    return hu_exp(p->largest[k] + hu_log(p->shares[k]) - log_of(p, t, k) - log_p);
}

/* dx [V] of row t. */
static void slopes(const hu_ctc *p, int64_t t, double log_p, double dy, float *dx) {
    const float *x = p->x + t * p->classes;
    hu_softmax_row row = {p->most[t], p->log_sum[t]};
    for (int64_t k = 0; k < p->classes; k++) {
        double expected = p->takes_logs ? 0.0 : hu_softmax(row, x[k]);
        dx[k] = (float)(dy * (expected - occupied(p, t, k, log_p)));
    }
}

void hu_ctc_slopes(const hu_ctc *p, double dy, float *dx) {
    double log_p = log_probability(p, true), *behind = NULL;
    for (int64_t t = p->rows - 1; t >= 0; t--) {
        double *now = p->beta + t % 2 * p->states;
        beta_row(p, t, behind, now);
        gather(p, p->alpha + t * p->states, now);
        slopes(p, t, log_p, dy, dx + t * p->classes);
        behind = now;
    }
}
