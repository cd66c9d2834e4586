/* Spectrograms against a plain transform with libm, and the sizes of windows. */
#include "data_files.h"
#include "media/audio.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

enum { MOST_BINS = 400, MOST_FRAMES = 64 };

/* x [frames, bins] by the definition. */
static void plain_rows(const hu_spectrum *s, const double *sample, int64_t count, int64_t frames,
                       double *x) {
    double n = (double)(frames * s->bins), mean = 0, squares = 0;
    for (int64_t f = 0; f < frames; f++)
        for (int64_t k = 0; k < s->bins; k++) {
            double re = 0, im = 0;
            for (int64_t i = 0; i < s->window && f * s->hop + i < count; i++) {
                double turn = 2 * pi * (double)(i * k % s->window) / (double)s->window;
                double w = 0.5 - 0.5 * cos(2 * pi * (double)i / (double)s->window);
                re += w * sample[f * s->hop + i] * cos(turn);
                im -= w * sample[f * s->hop + i] * sin(turn);
            }
            x[f * s->bins + k] = log(re * re + im * im + 1e-6);
        }
    for (int64_t i = 0; i < frames * s->bins; i++) mean += x[i] / n;
    for (int64_t i = 0; i < frames * s->bins; i++) squares += (x[i] - mean) * (x[i] - mean) / n;
    for (int64_t i = 0; i < frames * s->bins; i++) x[i] = (x[i] - mean) / (sqrt(squares) + 1e-3);
}

static void sizes_are_those_of_the_rate(void **state) {
    (void)state;
    static const int64_t table[][4] = {{8000, 160, 80, 81},    {16000, 320, 160, 161},
                                       {44100, 882, 441, 442}, {11025, 220, 110, 111},
                                       {22050, 441, 220, 221}, {200, 4, 2, 3}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        hu_spectrum s;
        assert_int_equal(hu_spectrum_create(table[i][0], &s), HU_OK);
        assert_true(s.window == table[i][1] && s.hop == table[i][2] && s.bins == table[i][3]);
        assert_true(hu_spectrum_frames(&s, 1) == 1 && hu_spectrum_frames(&s, s.window) == 1);
        assert_true(hu_spectrum_frames(&s, s.window + s.hop - 1) == 1);
        assert_true(hu_spectrum_frames(&s, s.window + s.hop) == 2);
        hu_spectrum_free(&s);
    }
    hu_spectrum s;
    assert_int_equal(hu_spectrum_create(199, &s), HU_ERR_ARGUMENT);
    assert_non_null(strstr(hu_last_error(), "found sound of 199 samples a second, expected 200"));
    hu_spectrum_free(&s);
}

/* Within a rounding of the definition: even and odd windows, sounds that end in one. */
static void rows_follow_the_definition(void **state) {
    (void)state;
    static const int64_t table[][2] = {{8000, 3001}, {8000, 100}, {8000, 160}, {22050, 2000}};
    static double sample[4096];
    static double plain[MOST_FRAMES * MOST_BINS];
    static float rows[MOST_FRAMES * MOST_BINS];
    for (int64_t i = 0; i < 4096; i++)
        sample[i] =
            floor(9000 * sin(0.31 * (double)i) + (double)(i * i * 37 % 2001 - 1000)) / 32768;
    for (size_t c = 0; c < sizeof table / sizeof *table; c++) {
        hu_spectrum s;
        assert_int_equal(hu_spectrum_create(table[c][0], &s), HU_OK);
        int64_t frames = hu_spectrum_frames(&s, table[c][1]);
        assert_true(frames <= MOST_FRAMES);
        plain_rows(&s, sample, table[c][1], frames, plain);
        assert_int_equal(hu_spectrum_rows(&s, sample, table[c][1], frames, rows), HU_OK);
        for (int64_t i = 0; i < frames * s.bins; i++)
            if (!(fabs((double)rows[i] - plain[i]) <= 1e-9 + 0x1p-24 * fabs(plain[i])))
                fail_msg("%lld: found %.9g, expected %.12g", (long long)i, (double)rows[i],
                         plain[i]);
        hu_spectrum_free(&s);
    }
}

/* Numbers are those of the whole sound, of which the first frames are written; silence is finite.
 */
static void frames_are_cut_behind_the_norm(void **state) {
    (void)state;
    static double sample[2000];
    static float all[MOST_FRAMES * MOST_BINS], some[MOST_FRAMES * MOST_BINS];
    hu_spectrum s;
    assert_int_equal(hu_spectrum_create(8000, &s), HU_OK);
    assert_int_equal(hu_spectrum_rows(&s, sample, 2000, 1, some), HU_OK);
    for (int64_t k = 0; k < s.bins; k++) assert_true(fabsf(some[k]) < 1e-9f);
    for (int i = 0; i < 2000; i++) sample[i] = (i * i % 777) / 32768.0;
    assert_int_equal(hu_spectrum_rows(&s, sample, 2000, 24, all), HU_OK);
    some[3 * s.bins] = 77.0f;
    assert_int_equal(hu_spectrum_rows(&s, sample, 2000, 3, some), HU_OK);
    assert_memory_equal(all, some, 3 * (size_t)s.bins * sizeof *all);
    assert_true(some[3 * s.bins] == 77.0f);
    hu_spectrum_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_those_of_the_rate),
                                       cmocka_unit_test(rows_follow_the_definition),
                                       cmocka_unit_test(frames_are_cut_behind_the_norm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
