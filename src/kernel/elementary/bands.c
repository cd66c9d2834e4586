#include "kernel/elementary/bands.h"

#include "kernel/elementary/elementary.h"

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
