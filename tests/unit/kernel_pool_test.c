/* The largest numbers of windows and the way back against a plain definition, on every instruction
 * set: the same bits, with ties, NaN, infinities and any number of channels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "kernel/pool/pool.h"

enum { MOST_CHANNELS = 40, SIDE = 5, NUMBERS = SIDE * SIDE * MOST_CHANNELS };

/* Few values, so that many are equal; now and then one that is no usual number. */
static float number(uint64_t i) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1e-40f};
    hu_random_key key = {.seed = 11, .stream = 3, .step = 1};
    uint32_t word = hu_random_word(&key, i);
    return word % 16 < 6 ? odd[word % 16] : (float)(int)(word >> 8 & 7) - 3.0f;
}

static const float *tap_at(const hu_pool_window *w, const float *x, int64_t k, int64_t c) {
    return x + k / w->columns * w->row_step + k % w->columns * w->channels + c;
}

static void largest_by_definition(const hu_pool_window *w, const float *x, float *y,
                                  uint8_t *taps) {
    for (int64_t c = 0; c < w->channels; c++) {
        int64_t best = 0;
        for (int64_t k = 1; k < w->rows * w->columns; k++) {
            float most = *tap_at(w, x, best, c), here = *tap_at(w, x, k, c);
            if (!isnan(most) && (here > most || isnan(here))) best = k;
        }
        y[c] = *tap_at(w, x, best, c);
        taps[c] = (uint8_t)(w->first_tap + best / w->columns * w->taps_per_row + best % w->columns);
    }
}

static void spread_by_definition(const hu_pool_window *w, const float *dy, const uint8_t *taps,
                                 float *dx) {
    for (int64_t c = 0; c < w->channels; c++) {
        int64_t at = taps[c] - w->first_tap;
        dx[at / w->taps_per_row * w->row_step + at % w->taps_per_row * w->channels + c] += dy[c];
    }
}

static void check_window(const hu_pool_window *w, uint64_t seed) {
    float x[NUMBERS], y[2][MOST_CHANNELS], dy[MOST_CHANNELS], dx[2][NUMBERS];
    uint8_t taps[2][MOST_CHANNELS];
    for (int i = 0; i < NUMBERS; i++) x[i] = number(seed + (uint64_t)i);
    for (int c = 0; c < MOST_CHANNELS; c++) dy[c] = (float)c - 7.25f;
    for (int i = 0; i < NUMBERS; i++) dx[0][i] = dx[1][i] = (float)(i % 5);
    hu_pool()->largest(w, x, y[0], taps[0]);
    largest_by_definition(w, x, y[1], taps[1]);
    assert_memory_equal(y[0], y[1], (size_t)w->channels * sizeof(float));
    assert_memory_equal(taps[0], taps[1], (size_t)w->channels);
    hu_pool()->spread(w, dy, taps[1], dx[0]);
    spread_by_definition(w, dy, taps[1], dx[1]);
    assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
}

static void windows_are_those_of_the_definition(void **unused) {
    (void)unused;
    hu_isa best = hu_cpu_isa();
    for (int isa = HU_ISA_SCALAR; isa <= (int)best; isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        for (int64_t channels = 1; channels <= MOST_CHANNELS; channels++)
            for (int64_t cut = 0; cut < 12; cut++) {
                hu_pool_window w = {.channels = channels,
                                    .row_step = SIDE * channels,
                                    .rows = 1 + cut % 4,
                                    .columns = 1 + cut % 3,
                                    .first_tap = cut / 4 * 5 + cut % 2,
                                    .taps_per_row = 4};
                check_window(&w, (uint64_t)(channels * 12 + cut) * NUMBERS);
            }
    }
    hu_cpu_set_isa(best);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
