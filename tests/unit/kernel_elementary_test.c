/* Loops around elementary functions against those of base/elementary.h number by number, on every
 * instruction set: the same bits, also of NaN, infinities, subnormals and the edges of ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/elementary.h"
#include "base/rng.h"
#include "kernel/elementary/elementary.h"

enum { COUNT = 20011 };

static double x[COUNT], t[COUNT], found[COUNT], expected[COUNT];
static float x32[COUNT], dy32[COUNT], found32[COUNT], expected32[COUNT];

static void expect_equal(const char *what, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0)
            fail_msg("%s on %s of %a: found %a, expected %a", what, hu_isa_name(hu_cpu_isa()), x[i],
                     found[i], expected[i]);
}

static void expect_equal_32(const char *what, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&found32[i], &expected32[i], sizeof *found32) != 0)
            fail_msg("%s on %s, number %lld, of %a: found %a, expected %a", what,
                     hu_isa_name(hu_cpu_isa()), (long long)i, (double)x32[i], (double)found32[i],
                     (double)expected32[i]);
}

static const double edges[] = {0.0,   -0.0,     5e-324,   -5e-324, 2.2e-308, -2.2e-308, 709.78,
                               709.8, 709.81,   -745.13,  -745.2,  -745.21,  -708.4,    -744.44,
                               1e300, -1e300,   20.0,     -20.0,   20.00001, 0.5,       -0.5,
                               26.6,  27.3,     28.0,     0x1p-30, -0x1p-54, 0.3465736, -0.34658,
                               40.0,  INFINITY, -INFINITY};
enum { EDGES = sizeof edges / sizeof *edges };

static uint64_t random_bits(uint64_t i) {
    hu_random_key key = {.seed = 3, .stream = 5, .step = 7};
    return (uint64_t)hu_random_word(&key, 2 * i) << 32 | hu_random_word(&key, 2 * i + 1);
}

/* -1 .. 1 */
static double unit(uint64_t i) {
    return (double)(int64_t)random_bits(i) * 0x1p-63;
}

/* Edges and NaNs, any bits, and numbers of three sizes. */
static void fill(void) {
    for (int64_t i = 0; i < COUNT; i++) {
        static const double reach[] = {750, 25, 1};
        uint64_t n = (uint64_t)i;
        x[i] = i < EDGES    ? edges[i]
               : i == EDGES ? hu_f64_of_bits(UINT64_C(0x7ff8000000001234))
               : i % 5 == 0 ? hu_f64_of_bits(random_bits(n))
               : i % 5 == 1 ? ldexp(unit(n), -(int)(n % 1070))
                            : unit(n) * reach[i % 5 - 2];
        t[i] = i % 7 == 0 ? (double)(i % 2) : fabs(unit(n + COUNT));
        uint32_t word = (uint32_t)random_bits(n);
        x32[i] = i % 5 == 0 ? hu_f32_of_bits(word) : (float)x[i];
        dy32[i] = (float)unit(n + 2 * COUNT);
        /* A signalling NaN is no number that arithmetic gives. */
        if (x[i] != x[i]) x[i] = hu_f64_of_bits(hu_f64_bits(x[i]) | UINT64_C(1) << 51);
        if (x32[i] != x32[i]) x32[i] = hu_f32_of_bits(hu_f32_bits(x32[i]) | 1u << 22);
    }
}

/* Any length: vectors and what is left of them. */
static int64_t length(int turn) {
    static const int64_t lengths[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 33, COUNT};
    return turn < (int)(sizeof lengths / sizeof *lengths) ? lengths[turn] : -1;
}

static void on_every_isa(void (*check)(const hu_elementary_kernels *k)) {
    hu_isa best = hu_cpu_isa();
    fill();
    for (int isa = HU_ISA_SCALAR; isa <= (int)best; isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        check(hu_elementary());
    }
    hu_cpu_set_isa(best);
}

static double share_of(double v) {
    return 1 / (1 + hu_exp(-v));
}

/* NaN is NaN whatever its other bits: which of two that meet is kept is not defined. */
static double plain(double v) {
    return v != v ? (double)NAN : v;
}

static void check_doubles(const hu_elementary_kernels *k) {
    for (int turn = 0; length(turn) >= 0; turn++) {
        int64_t n = length(turn);
        for (int64_t i = 0; i < n; i++) expected[i] = hu_exp(x[i]);
        k->exp(n, x, found);
        expect_equal("exp", n);
        for (int64_t i = 0; i < n; i++) expected[i] = hu_tanh(x[i]);
        k->tanh(n, x, found);
        expect_equal("tanh", n);
        for (int64_t i = 0; i < n; i++) expected[i] = hu_erfc(x[i]);
        k->erfc(n, x, found);
        expect_equal("erfc", n);
        for (int64_t i = 0; i < n; i++) expected[i] = share_of(x[i]);
        k->share(n, x, found);
        expect_equal("share", n);
        for (int64_t i = 0; i < n; i++) {
            double size = x[i] < 0 ? -x[i] : x[i], largest = x[i] < 0 ? 0 : x[i];
            expected[i] = largest - x[i] * t[i] + hu_log1p(hu_exp(-size));
        }
        k->cross_entropy(n, x, t, found);
        for (int64_t i = 0; i < n; i++)
            found[i] = plain(found[i]), expected[i] = plain(expected[i]);
        expect_equal("cross_entropy", n);
    }
}

static void check_log(const hu_elementary_kernels *k) {
    for (int64_t i = 0; i < COUNT; i++) {
        double size = fabs(x[i]);
        x[i] = size < 0x1p-1022 ? 1.0 + size : size;
        expected[i] = hu_log(x[i]);
    }
    k->log(COUNT, x, found);
    expect_equal("log", COUNT);
}

static void check_floats(const hu_elementary_kernels *k) {
    for (int turn = 0; length(turn) >= 0; turn++) {
        int64_t n = length(turn);
        for (int64_t i = 0; i < n; i++) expected32[i] = (float)share_of((double)x32[i]);
        k->sigmoid(n, x32, found32);
        expect_equal_32("sigmoid", n);
        for (int64_t i = 0; i < n; i++) expected32[i] = (float)hu_tanh((double)x32[i]);
        k->tangent(n, x32, found32);
        expect_equal_32("tangent", n);
        for (int64_t i = 0; i < n; i++) {
            double y = (double)x32[i];
            expected32[i] = (float)((double)dy32[i] * (1.0 - y * y));
        }
        k->tangent_backward(n, x32, dy32, found32);
        expect_equal_32("tangent_backward", n);
    }
}

/* Both forms of GELU: the share, and its product with x or its slope. */
static float gelu_of(bool by_tanh, double v, double dy, bool backward) {
    const double slope = 2 * sqrt(2 / 3.14159265358979323846), cube = 0.044715;
    double share =
        by_tanh ? share_of(slope * (v + cube * (v * v * v))) : 0.5 * hu_erfc(-v * sqrt(0.5));
    double inner = slope * (1 + 3 * cube * (v * v));
    double along = by_tanh ? share * (1 - share) * inner : slope / 4 * hu_exp(-0.5 * (v * v));
    return (float)plain(backward ? dy * (share + v * along) : v * share);
}

static void expect_gelu(const char *what, int64_t n, bool by_tanh, bool backward) {
    for (int64_t i = 0; i < n; i++) {
        found32[i] = (float)plain((double)found32[i]);
        expected32[i] = gelu_of(by_tanh, (double)x32[i], (double)dy32[i], backward);
    }
    expect_equal_32(what, n);
}

static void check_gelu(const hu_elementary_kernels *k) {
    for (int turn = 0; length(turn) >= 0; turn++) {
        int64_t n = length(turn);
        k->gelu(n, x32, found32);
        expect_gelu("gelu", n, false, false);
        k->gelu_backward(n, x32, dy32, found32);
        expect_gelu("gelu_backward", n, false, true);
        k->gelu_tanh(n, x32, found32);
        expect_gelu("gelu_tanh", n, true, false);
        memcpy(found32, dy32, sizeof found32);
        k->gelu_tanh_backward(n, x32, found32, found32);
        expect_gelu("gelu_tanh_backward", n, true, true);
    }
}

/* SiLU and its straight relatives; NaN and infinities may meet in any order. */
static float hard_of(double v, double dy, int which) {
    double part = v + 3 < 0 ? 0 : v + 3 > 6 ? 6 : v + 3, s = share_of(v);
    if (which == 0) return (float)(v / (1 + hu_exp(-v)));
    if (which == 1) return (float)(dy * (s * (1 + v * (1 - s))));
    if (which == 2) return (float)(v * part / 6);
    if (which == 3) return v >= 3 ? (float)dy : v <= -3 ? 0.0f : (float)(dy * (2 * v + 3) / 6);
    if (which == 4) return (float)(part / 6);
    return v >= 3 || v <= -3 ? 0.0f : (float)dy / 6;
}

static void expect_hard(const char *what, int64_t n, int which) {
    for (int64_t i = 0; i < n; i++) {
        found32[i] = (float)plain((double)found32[i]);
        expected32[i] = (float)plain((double)hard_of((double)x32[i], (double)dy32[i], which));
    }
    expect_equal_32(what, n);
}

static void check_silu(const hu_elementary_kernels *k) {
    for (int turn = 0; length(turn) >= 0; turn++) {
        int64_t n = length(turn);
        k->silu(n, x32, found32);
        expect_hard("silu", n, 0);
        memcpy(found32, dy32, sizeof found32);
        k->silu_backward(n, x32, found32, found32);
        expect_hard("silu_backward", n, 1);
        k->hard_swish(n, x32, found32);
        expect_hard("hard_swish", n, 2);
        memcpy(found32, x32, sizeof found32);
        k->hard_swish_backward(n, found32, dy32, found32);
        expect_hard("hard_swish_backward", n, 3);
        k->hard_sigmoid(n, x32, found32);
        expect_hard("hard_sigmoid", n, 4);
        k->hard_sigmoid_backward(n, x32, dy32, found32);
        expect_hard("hard_sigmoid_backward", n, 5);
    }
}

static void expect_float(const char *what, int64_t n, double (*of)(double, double), double p,
                         bool backward) {
    for (int64_t i = 0; i < n; i++) {
        double y = of((double)x32[i], backward ? p - 1 : p);
        found32[i] = (float)plain((double)found32[i]);
        expected32[i] = (float)plain(backward ? (double)dy32[i] * (p * y) : y);
    }
    expect_equal_32(what, n);
}

static double exp_alone(double v, double unused) {
    (void)unused;
    return hu_exp(v);
}

static double log_alone(double v, double unused) {
    (void)unused;
    return hu_log(v);
}

/* Powers in steps and by logarithms, of both signs. */
static void check_powers(const hu_elementary_kernels *k) {
    static const double exponents[] = {-3,  -2.5, -2,   -1,  -0.5, -1e-3, 0.3, 0.5,
                                       1.0, 1.5,  1.75, 2.0, 3.0,  4.0,   5.0, 1e9};
    for (int turn = 0; length(turn) >= 0; turn++) {
        int64_t n = length(turn);
        k->exponential(n, x32, found32);
        expect_float("exponential", n, exp_alone, 0, false);
        k->logarithm(n, x32, found32);
        expect_float("logarithm", n, log_alone, 0, false);
        for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
            memcpy(found32, x32, sizeof found32);
            k->power(n, exponents[e], found32, found32);
            expect_float("power", n, hu_pow, exponents[e], false);
            memcpy(found32, dy32, sizeof found32);
            k->power_backward(n, exponents[e], x32, found32, found32);
            expect_float("power_backward", n, hu_pow, exponents[e], true);
        }
    }
}

/* As base/elementary.h gives them: softmax and its logarithm, row by row. */
static void rows_by_definition(int64_t rows, int64_t classes, const double *dy,
                               const int64_t *class, double *most, double *log_sum) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x32 + r * classes;
        double sum = 0;
        most[r] = (double)row[0];
        for (int64_t c = 1; c < classes; c++)
            if ((double)row[c] > most[r] || row[c] != row[c]) most[r] = (double)row[c];
        for (int64_t c = 0; c < classes; c++) sum += hu_exp((double)row[c] - most[r]);
        log_sum[r] = hu_log(sum);
        for (int64_t c = 0; c < classes; c++) {
            double softmax = hu_exp((double)row[c] - most[r] - log_sum[r]);
            expected32[r * classes + c] = (float)(dy[r] * (softmax - (double)(c == class[r])));
        }
    }
}

static void check_rows(const hu_elementary_kernels *k) {
    enum { MOST_ROWS = 300 };
    static double dy[MOST_ROWS], most[MOST_ROWS], log_sum[MOST_ROWS];
    static int64_t class[MOST_ROWS];
    static const int64_t widths[] = {1, 2, 4, 11, 63, 64, 66},
                         counts[] = {1, 7, 8, 9, 64, MOST_ROWS};
    for (int64_t r = 0; r < MOST_ROWS; r++) dy[r] = unit((uint64_t)r), class[r] = r % 13 - 2;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int n = 0; n < 6; n++) {
            int64_t rows = counts[n], classes = widths[w];
            rows_by_definition(rows, classes, dy, class, most, log_sum);
            k->row_logs(rows, classes, x32, x, found);
            for (int64_t r = 0; r < rows; r++) expected[r] = plain(log_sum[r]);
            for (int64_t r = 0; r < rows; r++) found[r] = plain(found[r]);
            expect_equal("row_logs", rows);
            for (int64_t r = 0; r < rows; r++) expected[r] = plain(most[r]);
            for (int64_t r = 0; r < rows; r++) found[r] = plain(x[r]);
            expect_equal("the largest of row_logs", rows);
            k->row_slopes(rows, classes, x32, most, log_sum, class, dy, found32);
            for (int64_t i = 0; i < rows * classes; i++) {
                found32[i] = (float)plain((double)found32[i]);
                expected32[i] = (float)plain((double)expected32[i]);
            }
            expect_equal_32("row_slopes", rows * classes);
        }
}

/* Softmax over the first numbers of each row, sums in their order; and its gradient. */
static void softmax_by_definition(int64_t rows, int64_t width, const int64_t *seen, float *slope) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x32 + r * width, *dy = dy32 + r * width;
        double most = (double)row[0], sum = 0, along = 0;
        for (int64_t c = 1; c < seen[r]; c++)
            if ((double)row[c] > most || row[c] != row[c]) most = (double)row[c];
        for (int64_t c = 0; c < seen[r]; c++) sum += hu_exp((double)row[c] - most);
        for (int64_t c = 0; c < width; c++) {
            bool is_present = c < seen[r];
            float y = is_present ? (float)(hu_exp((double)row[c] - most) / sum) : 0.0f;
            expected32[r * width + c] = y;
            along += is_present ? (double)y * (double)dy[c] : 0.0;
        }
        for (int64_t c = 0; c < width; c++) {
            double y = (double)expected32[r * width + c];
            slope[r * width + c] = c < seen[r] ? (float)(y * ((double)dy[c] - along)) : 0.0f;
        }
    }
}

static void expect_plain(const char *what, int64_t n, const float *wanted) {
    for (int64_t i = 0; i < n; i++) {
        found32[i] = (float)plain((double)found32[i]);
        expected32[i] = (float)plain((double)wanted[i]);
    }
    expect_equal_32(what, n);
}

static void check_softmax(const hu_elementary_kernels *k) {
    enum { MOST_ROWS = 70, MOST_WIDTH = 65 };
    static double scratch[8 * MOST_WIDTH];
    static float slope[COUNT], y[COUNT];
    static const int64_t widths[] = {1, 5, 16, MOST_WIDTH}, counts[] = {1, 7, 8, 17, MOST_ROWS};
    int64_t seen[MOST_ROWS];
    for (int w = 0; w < 4; w++)
        for (int n = 0; n < 5; n++)
            for (int64_t slant = 0; slant < 3; slant++) {
                int64_t rows = counts[n], width = widths[w];
                for (int64_t r = 0; r < rows; r++)
                    seen[r] = slant == 0 ? width : (r * slant + 5 * slant - 5) % (width + 1);
                assert_true(hu_softmax_numbers(width) <= 8 * MOST_WIDTH);
                softmax_by_definition(rows, width, seen, slope);
                memcpy(y, expected32, sizeof y);
                k->softmax(rows, width, seen, x32, scratch, found32);
                expect_plain("softmax", rows * width, y);
                k->softmax_backward(rows, width, seen, y, dy32, found32);
                expect_plain("softmax_backward", rows * width, slope);
            }
}

/* A row at a time: forward, x -> expected32; backward, dx -> expected32 and the sums. */
static void layer_by_definition(const hu_layer_norm *layer, int64_t rows, bool backward,
                                double *dweight, double *dbias) {
    int64_t n = layer->width;
    for (int64_t at = 0; at < rows * n; at += n) {
        double mean = 0, square = 0, along = 0, across = 0;
        for (int64_t c = 0; c < n; c++) mean += (double)x32[at + c];
        mean /= (double)n;
        for (int64_t c = 0; c < n; c++)
            square += ((double)x32[at + c] - mean) * ((double)x32[at + c] - mean);
        double inverse = 1 / sqrt(square / (double)n + layer->epsilon);
        for (int64_t c = 0; c < n; c++) {
            double g = (double)dy32[at + c] * (double)layer->weight[c];
            along += g;
            across += g * (((double)x32[at + c] - mean) * inverse);
        }
        for (int64_t c = 0; c < n; c++) {
            double xhat = ((double)x32[at + c] - mean) * inverse, dy = (double)dy32[at + c];
            double g = dy * (double)layer->weight[c];
            double y = (double)layer->weight[c] * xhat + (double)layer->bias[c];
            double dx = inverse * (g - along / (double)n - xhat * (across / (double)n));
            expected32[at + c] = (float)plain(backward ? dx : y);
            dweight[c] += dy * xhat;
            dbias[c] += dy;
        }
    }
}

/* The sums begin with other numbers than 0: they are added to. */
static void check_layer_sums(const hu_layer_norm *layer, const hu_elementary_kernels *k,
                             int64_t rows, float *dx) {
    static double sums[2 * COUNT], sums_expected[2 * COUNT], scratch[8 * COUNT];
    int64_t n = layer->width;
    for (int64_t i = 0; i < 2 * n; i++) sums[i] = sums_expected[i] = unit((uint64_t)i);
    layer_by_definition(layer, rows, true, sums_expected, sums_expected + n);
    k->layer_norm_backward(rows, layer, x32, dx == found32 ? found32 : dy32, scratch, sums,
                           sums + n, dx);
    for (int64_t i = 0; i < 2 * n; i++) {
        found[i % n] = plain(sums[i]);
        expected[i % n] = plain(sums_expected[i]);
        if (i % n == n - 1) expect_equal("sums of layer_norm_backward", n);
    }
    for (int64_t i = 0; dx && i < rows * n; i++) dx[i] = (float)plain((double)dx[i]);
}

static void check_layers(const hu_elementary_kernels *k) {
    static const int64_t widths[] = {1, 2, 7, 16, 65, 128}, counts[] = {1, 7, 8, 9, 64, 153};
    static float weight[128], bias[128];
    static double scratch[8 * 128], unused[2 * 128];
    for (int64_t c = 0; c < 128; c++) weight[c] = (float)unit((uint64_t)c), bias[c] = 0.5f;
    for (int w = 0; w < 6; w++)
        for (int r = 0; r < 6; r++) {
            hu_layer_norm layer = {widths[w], r % 2 ? 1e-12 : 1e-5, weight, bias};
            int64_t n = counts[r] * layer.width;
            assert_true(hu_layer_norm_numbers(layer.width) <= 8 * 128 && n <= COUNT);
            layer_by_definition(&layer, counts[r], false, unused, unused + 128);
            k->layer_norm(counts[r], &layer, x32, scratch, found32);
            for (int64_t i = 0; i < n; i++) found32[i] = (float)plain((double)found32[i]);
            expect_equal_32("layer_norm", n);
            check_layer_sums(&layer, k, counts[r], NULL);
            memcpy(found32, dy32, sizeof found32);
            check_layer_sums(&layer, k, counts[r], found32);
            expect_equal_32("layer_norm_backward", n);
        }
}

/* s^-power and, of every channel of one place, its s. */
static double local_scale(const hu_local_window *w, const float *row, int64_t c, double *power) {
    double sum = 0, s;
    for (int64_t i = c - w->reach; i <= c + w->reach; i++)
        if (i >= 0 && i < w->channels) sum += (double)row[i] * (double)row[i];
    s = w->k + w->share * sum;
    bool by_roots = w->power >= 0.75 && w->power <= 0.75;
    *power = by_roots ? 1.0 / (sqrt(s) * sqrt(sqrt(s))) : hu_exp(-w->power * hu_log(s));
    return s;
}

static void local_by_definition(const hu_local_window *w, int64_t places, double factor,
                                float *forward) {
    for (int64_t p = 0; p < places; p++) {
        const float *row = x32 + p * w->channels, *dy = dy32 + p * w->channels;
        for (int64_t c = 0; c < w->channels; c++) {
            double power, around, sum = 0;
            for (int64_t i = c - w->reach; i <= c + w->reach; i++)
                if (i >= 0 && i < w->channels) {
                    double s = local_scale(w, row, i, &around);
                    sum += (double)dy[i] * ((double)row[i] * around) / s;
                }
            local_scale(w, row, c, &power);
            forward[p * w->channels + c] = (float)((double)row[c] * power);
            expected32[p * w->channels + c] =
                (float)((double)dy[c] * power - factor * (double)row[c] * sum);
        }
    }
}

static void check_local(const hu_elementary_kernels *k) {
    static const hu_local_window windows[] = {{24, 2, 1.0, 1e-4 / 5, 0.75}, {9, 2, 2.0, 3.0, 0.75},
                                              {8, 0, 1.0, 0.5, 1.0},        {70, 3, 0.5, 0.1, 0.3},
                                              {5, 4, 1.0, 1.0, 0.75},       {1, 0, 1.0, 1.0, 0.75}};
    static float forward[COUNT];
    static double scratch[4096];
    for (int w = 0; w < 6; w++)
        for (int64_t places = 1; places < 200; places = 3 * places + 1) {
            const hu_local_window *window = &windows[w];
            int64_t n = places * window->channels;
            assert_true(hu_local_numbers(window) <= 4096 && n <= COUNT);
            local_by_definition(window, places, 0.25, forward);
            k->local_norm_backward(places, window, 0.25, x32, dy32, scratch, found32);
            for (int64_t i = 0; i < n; i++) {
                found32[i] = (float)plain((double)found32[i]);
                expected32[i] = (float)plain((double)expected32[i]);
            }
            expect_equal_32("local_norm_backward", n);
            k->local_norm(places, window, x32, scratch, found32);
            for (int64_t i = 0; i < n; i++) {
                found32[i] = (float)plain((double)found32[i]);
                expected32[i] = (float)plain((double)forward[i]);
            }
            expect_equal_32("local_norm", n);
        }
}

static void numbers_are_those_of_the_definition(void **unused) {
    (void)unused;
    on_every_isa(check_doubles);
    on_every_isa(check_log);
    on_every_isa(check_floats);
    on_every_isa(check_gelu);
    on_every_isa(check_silu);
    on_every_isa(check_powers);
}

static void rows_are_those_of_the_definition(void **unused) {
    (void)unused;
    on_every_isa(check_rows);
    on_every_isa(check_softmax);
}

static void layer_norms_are_those_of_the_definition(void **unused) {
    (void)unused;
    on_every_isa(check_layers);
}

static void local_norms_are_those_of_the_definition(void **unused) {
    (void)unused;
    on_every_isa(check_local);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_definition),
        cmocka_unit_test(rows_are_those_of_the_definition),
        cmocka_unit_test(layer_norms_are_those_of_the_definition),
        cmocka_unit_test(local_norms_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
