/* kernel/pool/variant.c - the loops of pool.h: eight channels in registers through all taps of a
 * window, then the channels that are left one by one. */
#include "base/bits.h"
#include "kernel/lane.h"
#include "kernel/pool/pool.h"

enum { LANES = 8 };

typedef int32_t i8 __attribute__((vector_size(32)));

/* The first largest tap, or the first NaN, which nothing replaces. */
HU_INLINE void largest_of_eight(const hu_pool_window *w, const float *x, float *y, uint8_t *taps) {
    const i8 zero = {0};
    i8 best = (i8)*load(x), tap = zero + (int32_t)w->first_tap;
    for (int64_t h = 0; h < w->rows; h++)
        for (int64_t v = 0; v < w->columns; v++) {
            v8 here = *load(x + h * w->row_step + v * w->channels), most = (v8)best;
            i8 is_better = (here > most) | ((here != here) & (most == most));
            i8 number = zero + (int32_t)(w->first_tap + h * w->taps_per_row + v);
            best = ((i8)here & is_better) | (best & ~is_better);
            tap = (number & is_better) | (tap & ~is_better);
        }
    *store(y) = (v8)best;
    HU_UNROLL
    for (int l = 0; l < LANES; l++) taps[l] = (uint8_t)tap[l];
}

HU_INLINE void largest_of_one(const hu_pool_window *w, const float *x, float *y, uint8_t *taps) {
    float best = *x;
    int64_t tap = w->first_tap;
    for (int64_t h = 0; h < w->rows; h++)
        for (int64_t v = 0; v < w->columns; v++) {
            float here = x[h * w->row_step + v * w->channels];
            int is_better = (here > best) | ((here != here) & (best == best));
            best = is_better ? here : best;
            tap = is_better ? w->first_tap + h * w->taps_per_row + v : tap;
        }
    *y = best;
    *taps = (uint8_t)tap;
}

static void largest(const hu_pool_window *window, const float *x, float *y, uint8_t *taps) {
    const hu_pool_window w = *window;
    int64_t c = 0;
    for (; c + LANES <= w.channels; c += LANES) largest_of_eight(&w, x + c, y + c, taps + c);
    for (; c < w.channels; c++) largest_of_one(&w, x + c, y + c, taps + c);
}

HU_INLINE void spread_eight(const hu_pool_window *w, const float *dy, const uint8_t *taps,
                            float *dx) {
    i8 tap, grad = (i8)*load(dy);
    HU_UNROLL
    for (int l = 0; l < LANES; l++) tap[l] = taps[l];
    for (int64_t h = 0; h < w->rows; h++)
        for (int64_t v = 0; v < w->columns; v++) {
            float *here = dx + h * w->row_step + v * w->channels;
            i8 is_tap = tap == (int32_t)(w->first_tap + h * w->taps_per_row + v);
            *store(here) = *load(here) + (v8)(grad & is_tap);
        }
}

/* A channel has its tap in the window: no search for it. */
HU_INLINE void spread_one(const hu_pool_window *w, const float *dy, uint8_t tap, float *dx) {
    int64_t at = tap - w->first_tap, h = at / w->taps_per_row, v = at % w->taps_per_row;
    dx[h * w->row_step + v * w->channels] += *dy;
}

static void spread(const hu_pool_window *window, const float *dy, const uint8_t *taps, float *dx) {
    const hu_pool_window w = *window;
    int64_t c = 0;
    for (; c + LANES <= w.channels; c += LANES) spread_eight(&w, dy + c, taps + c, dx + c);
    for (; c < w.channels; c++) spread_one(&w, dy + c, taps[c], dx + c);
}

const hu_pool_kernels HU_VARIANT(hu_pool_kernels) = {.largest = largest, .spread = spread};
