#include "kernel/elementary/elementary.h"

#include <math.h>

#include "base/cpu.h"
#include "base/elementary.h"
#include "base/rng.h"
#include "kernel/round/round.h"

const hu_elementary_kernels *hu_elementary(void) {
    static const hu_elementary_kernels *const of_isa[HU_ISA_COUNT] = {
        HU_AT_ISA(hu_elementary_kernels)};
    return of_isa[hu_cpu_isa()];
}

/* ---- bands ---- */

/* The law of words in bands: a softmax over the words of a head and
 * over one score for each band after it, and a softmax over the words of each band.
 *
 *   log p(v) = log p_head(v), or log p_head(band) + log p_band(v)
 *
 * Source: Grave et al. 2017, "Efficient softmax approximation for GPUs". */

/* Rows that are looked at together. */
enum { TOGETHER = 64 };

/* What n rows have of all, as logarithms, and what their softmaxes need. */
typedef struct shares {
    double log_share[TOGETHER], most[TOGETHER], log_sum[TOGETHER];
} shares;

/* The first `taken` of x [n, scores] -> out [n, words]. */
static void write(const shares *s, int64_t n, int64_t scores, int64_t taken, const float *x,
                  int64_t words, float *out) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < taken; c++)
            out[i * words + c] =
                (float)(((double)x[i * scores + c] - s->most[i] - s->log_sum[i]) + s->log_share[i]);
}

static void law_of(const hu_band_scores *scores, int64_t n, const float *const *x, int64_t first,
                   int64_t words, float *out) {
    shares head = {.log_share = {0}}, band;
    const float *h = x[0] + first * scores->head;
    int64_t place = scores->head - scores->bands;
    hu_elementary()->row_logs(n, scores->head, h, head.most, head.log_sum);
    write(&head, n, scores->head, place, h, words, out);
    for (int b = 0; b < scores->bands; b++) {
        int64_t size = scores->size[b], at = scores->head - scores->bands + b;
        const float *scored = x[b + 1] + first * size;
        for (int64_t i = 0; i < n; i++)
            band.log_share[i] = (double)h[i * scores->head + at] - head.most[i] - head.log_sum[i];
        hu_elementary()->row_logs(n, size, scored, band.most, band.log_sum);
        write(&band, n, size, size, scored, words, out + place);
        place += size;
    }
}

void hu_band_law(const hu_band_scores *scores, int64_t rows, const float *const *x, float *out) {
    int64_t words = scores->head - scores->bands;
    for (int b = 0; b < scores->bands; b++) words += scores->size[b];
    for (int64_t first = 0; first < rows; first += TOGETHER) {
        int64_t n = rows - first < TOGETHER ? rows - first : TOGETHER;
        law_of(scores, n, x, first, words, out + first * words);
    }
}

/* ---- sampled ---- */

/* Rows of a sampled softmax: the score of a row's own class and those
 * of k classes that are drawn from the law of base/rng.h, duplicates included. From each
 * score goes the logarithm of how often its class is expected, z = x - log(k P(v)); drawn classes
 * that are the row's own are left out. Then it is a softmax, in double, in the order of the scores.
 * Source: Bengio and Senecal 2003; Jozefowicz et al. 2016, 3.1. */

/* log(k P(id)) */
static double log_expected(const hu_sampled *s, float id) {
    return hu_log((double)s->k * hu_log_uniform_share((int64_t)id, s->classes));
}

/* Scratch: log q of the drawn classes after one number, z and e^(z - most) of a row, each 1 + k.
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

enum { TURN = 512 };

static hu_normals_fn *normals(void) {
    static hu_normals_fn *const of_isa[HU_ISA_COUNT] = {HU_OF_ISA(hu_normals)};
    return of_isa[hu_cpu_isa()];
}

void hu_draw_normals(const hu_random_key *key, uint64_t first, size_t count, float *x) {
    /* Number i is made of words 2 i and 2 i + 1, so any stretch of the sequence can be drawn by
     * itself. */
    uint32_t words[2 * TURN];
    hu_normals_fn *make = normals();
    for (size_t done = 0; done < count; done += TURN) {
        size_t n = count - done < TURN ? count - done : TURN;
        hu_random_words_fast(key, 2 * (first + done), 2 * n, words);
        make(n, words, x + done);
    }
}

void hu_draw_uniforms(const hu_random_key *key, uint64_t first, size_t count, float *x) {
    uint32_t words[TURN];
    for (size_t done = 0; done < count; done += TURN) {
        size_t n = count - done < TURN ? count - done : TURN;
        hu_random_words_fast(key, first + done, n, words);
        /* 24 bits: every multiple of 2^-24 in [0, 1) is a float32. */
        for (size_t i = 0; i < n; i++) x[done + i] = (float)(words[i] >> 8) * 0x1p-24f;
    }
}
