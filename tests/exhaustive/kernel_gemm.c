/* The integer reference of products against a model in MPFR, bit for bit, counts too.
 *   kernel_gemm [--short]
 * Full: 10^4 random and adversarial dot products per mode and semantics and format, lengths
 * log-uniform in 1..4096; --short: 100 of up to 512 terms. Prints one line per format and
 * "N passed, M failed"; exit code 1 if M > 0. */
#include <mpfr.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "gemm_data.h"
#include "gemm_model.h"

enum { LONGEST = 4096, SHORT_LONGEST = 512, SHOWN_FAILURES = 10, SEED = 3 };

static const char *const formats[] = {"e5m10", "e6m9",  "e5m2",         "e4m3",      "e8m7",
                                      "e7m12", "e8m21", "e8m23",        "fp(4,3,4)", "e4m3fnuz",
                                      "e2m1",  "e2m0",  "e5m0:bias=140"};
static const char *const options[] = {"", ":sub=n", ":ovf=sat", ":sub=n:ovf=sat", ":sub=nearest"};
static const char *const modes[] = {"fmacs", "macs",  "fmac",  "mac",      "fmac1",
                                    "fmac8", "fmac3", "kahan", "kahan-cpd"};

static uint64_t passed, failed;

static hu_accumulator accumulator_of(const char *mode, const char *format, const char *option) {
    char text[96];
    hu_accumulator accumulator;
    if (strcmp(mode, "fmacs") == 0)
        snprintf(text, sizeof text, "fmacs");
    else
        snprintf(text, sizeof text, "%s:%s%s", mode, format, option);
    if (hu_accumulator_parse(text, &accumulator) != HU_OK) printf("%s\n", hu_last_error());
    return accumulator;
}

static int same(float a, float b, const hu_gemm_counts *c, const hu_gemm_counts *d) {
    if (isnan(b)) b = hu_f32_of_bits(HU_F32_NAN);
    return hu_f32_bits(a) == hu_f32_bits(b) && c->values == d->values &&
           c->subnormal == d->subnormal && c->overflow == d->overflow && c->stalled == d->stalled &&
           c->terms == d->terms;
}

static void show(const hu_accumulator *accumulator, int64_t index, int64_t k, float found,
                 float expected, const hu_gemm_counts *c, const hu_gemm_counts *d) {
    char name[96];
    hu_accumulator_print(accumulator, name, sizeof name);
    printf("%s semantics %d, product %lld of %lld terms: found %a (%llu subnormal, %llu over, %llu "
           "stalled), expected %a (%llu, %llu, %llu)\n",
           name, (int)accumulator->semantics, (long long)index, (long long)k, (double)found,
           (unsigned long long)c->subnormal, (unsigned long long)c->overflow,
           (unsigned long long)c->stalled, (double)expected, (unsigned long long)d->subnormal,
           (unsigned long long)d->overflow, (unsigned long long)d->stalled);
}

/* One dot product in one accumulator. */
static void check(const hu_accumulator *accumulator, int64_t index, int64_t k, const float *x,
                  const float *y) {
    model o;
    float found = -1.0f;
    hu_gemm_counts counts = {0};
    hu_gemm_task task = {.m = 1,
                         .n = 1,
                         .k = k,
                         .a = {.data = x, .k_stride = 1},
                         .b = {.data = y, .k_stride = 1},
                         .accumulator = *accumulator,
                         .c = &found,
                         .threads = 1,
                         .counts = &counts};
    hu_status st = hu_gemm_reference(&task);
    model_open(&o, accumulator);
    float expected = model_dot(&o, k, x, y);
    if (accumulator->mac == HU_MAC_FMACS || accumulator->mac == HU_MAC_MACS)
        o.counts = (hu_gemm_counts){.values = o.counts.values};
    int is_failed = st != HU_OK || !same(found, expected, &counts, &o.counts);
#pragma omp critical
    if (is_failed && failed++ < SHOWN_FAILURES)
        show(accumulator, index, k, found, expected, &counts, &o.counts);
    model_close(&o);
}

/* All modes and semantics of one dot product; gives the number of checks. */
static uint64_t check_product(const char *format, const char *option, int64_t index,
                              int64_t longest) {
    float x[LONGEST], y[LONGEST];
    uint64_t checks = 0;
    words w = words_of(SEED, (uint64_t)index);
    int64_t k = log_uniform(&w, longest);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        hu_accumulator accumulator = accumulator_of(modes[i], format, option);
        if (i == 0) {
            hu_accumulator other = accumulator_of("fmac", format, option);
            make_terms(&w, &other.format, k, x, y);
        }
        for (int semantics = 0; semantics < HU_SEMANTICS_COUNT; semantics++, checks++) {
            accumulator.semantics = (hu_semantics)semantics;
            check(&accumulator, index, k, x, y);
        }
    }
    return checks;
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    int64_t products = is_short ? 100 : 10000, longest = is_short ? SHORT_LONGEST : LONGEST;
    int threads = mpfr_buildopt_tls_p() ? omp_get_max_threads() : 1;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        for (size_t o = 0; o < sizeof options / sizeof options[0]; o++) {
            uint64_t checks = 0, before = failed;
#pragma omp parallel for reduction(+ : checks) schedule(dynamic, 4) num_threads(threads)
            for (int64_t i = 0; i < products; i++)
                checks += check_product(formats[f], options[o], i, longest);
            passed += checks - (failed - before);
            printf("%s%s: %llu dot products\n", formats[f], options[o], (unsigned long long)checks);
            fflush(stdout);
        }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    mpfr_free_cache();
    return failed != 0;
}
