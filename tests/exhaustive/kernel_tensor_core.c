/* Accumulators of tensor cores, kernels and integer reference, against a model in MPFR, bit for
 * bit, counts too, on every instruction set of this machine. kernel_tensor_core [--short] Full:
 * 10^7 random dot products, of numbers of the formats that tensor cores multiply, and 10^6
 * adversarial ones: cancellations, alignments at the last bit that stays, products and sums around
 * the smallest and largest numbers, float32 factors of all widths, any K, F and format. --short:
 * 20,000 and 40,000. Prints "N passed, M failed"; exit code 1 if M > 0. */
#include <mpfr.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "core_model.h"
#include "gemm_task.h"

enum { ROWS = 4, COLUMNS = 10, LONGEST = 300, SHOWN = 10, SEED = 11 };

static uint64_t passed, failed;

static const char *const cores[] = {
    "tc:v100-fp16", "tc:v100-fp16:out=fp16", "tc:a100",     "tc:a100-tf32",
    "tc:h100",      "tc:h100-tf32",          "tc:ada-fp8",  "tc:b200",
    "tc:b200-fp8",  "tc:b200-fp8-mma",       "tc:h100-fp8", "tc:K=32:F=13:out=13:round=rne"};
static const char *const inputs[] = {"e4m3fn:ovf=sat", "e5m2:ovf=sat", "fp16:ovf=sat", "bf16",
                                     "tf32"};

/* One product of ROWS x COLUMNS dot products with its terms. */
typedef struct product {
    hu_accumulator core;
    int64_t k;
    float a[ROWS][LONGEST], b[COLUMNS][LONGEST], expected[ROWS * COLUMNS];
    hu_gemm_counts counts;
} product;

static void choose_named(words *w, hu_accumulator *core) {
    hu_accumulator_parse(cores[word(w) % COUNT_OF(cores)], core);
    if (word(w) % 4 == 0) core->promote = core->block * between(w, 1, 4);
    for (int i = 0; i < 2; i++)
        if (word(w) % 3 == 0) core->least_exponent[i] = word(w) % 2 ? -6 : -14;
}

static float input_of(words *w, const hu_format *format, bool is_adversarial, int scale) {
    float x = is_adversarial && word(w) % 4 == 0 ? ldexpf(signed_one(w), between(w, -16, 15))
                                                 : gaussian(w);
    if (is_adversarial) x = ldexpf(x, between(w, -scale, scale));
    if (is_adversarial && word(w) % 16 == 0) x = 0.0f;
    return hu_format_round(format, HU_ROUND_NEAREST_EVEN, x, 0);
}

/* Terms of one pair of formats; in every other adversarial product each second term of a row takes
 * back the one before, but for its last bit or none. */
static void fill_inputs(words *w, product *p, bool is_adversarial) {
    hu_format formats[2];
    int scale = between(w, 0, 20);
    bool cancels = is_adversarial && word(w) % 2;
    for (int i = 0; i < 2; i++) hu_format_parse(inputs[word(w) % COUNT_OF(inputs)], &formats[i]);
    for (int64_t k = 0; k < p->k; k++) {
        for (int i = 0; i < ROWS; i++)
            p->a[i][k] = cancels && k % 2 ? -p->a[i][k - 1]
                                          : input_of(w, &formats[0], is_adversarial, scale);
        for (int j = 0; j < COLUMNS; j++) {
            bool repeats = cancels && k % 2 && word(w) % 4;
            p->b[j][k] = repeats ? p->b[j][k - 1] : input_of(w, &formats[1], is_adversarial, scale);
        }
    }
}

/* Any float32 factors. */
static void fill_any(words *w, product *p) {
    float ignored[LONGEST];
    for (int i = 0; i < ROWS; i++) make_terms(w, &p->core.format, p->k, p->a[i], ignored);
    for (int j = 0; j < COLUMNS; j++) make_terms(w, &p->core.format, p->k, ignored, p->b[j]);
}

static void product_open(product *p, uint64_t index, bool is_adversarial) {
    words w = words_of(SEED + is_adversarial, index);
    p->k = log_uniform(&w, LONGEST);
    p->core = (hu_accumulator){.mac = HU_MAC_TC};
    if (is_adversarial && word(&w) % 2) {
        p->core.format = random_format(&w);
        choose_core(&w, &p->core);
    } else {
        choose_named(&w, &p->core);
    }
    if (is_adversarial && word(&w) % 2)
        fill_any(&w, p);
    else
        fill_inputs(&w, p, is_adversarial);
}

static void expect(product *p) {
    core_model o;
    core_model_open(&o, &p->core);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float value = core_model_dot(&o, p->k, p->a[i], p->b[j]);
            p->expected[i * COLUMNS + j] = isnan(value) ? hu_f32_of_bits(HU_F32_NAN) : value;
        }
    p->counts = o.counts;
    core_model_close(&o);
}

static void show(const product *p, const char *who, const float *c, const hu_gemm_counts *counts) {
    char name[96];
    int at = 0;
    while (at < ROWS * COLUMNS - 1 && hu_f32_bits(c[at]) == hu_f32_bits(p->expected[at])) at++;
    hu_accumulator_print(&p->core, name, sizeof name);
    printf("%s, %s, %lld terms: number %d is %a, expected %a; subnormal %lld (%lld), over %lld "
           "(%lld), terms %lld (%lld), stalled %lld (%lld)\n",
           who, name, (long long)p->k, at, (double)c[at], (double)p->expected[at],
           (long long)counts->subnormal, (long long)p->counts.subnormal,
           (long long)counts->overflow, (long long)p->counts.overflow, (long long)counts->terms,
           (long long)p->counts.terms, (long long)counts->stalled, (long long)p->counts.stalled);
}

/* is_counting: otherwise other kernels run. */
static void check(const product *p, const char *who, bool is_counting, bool is_reference) {
    float c[ROWS * COLUMNS];
    hu_gemm_counts counts = {0};
    const hu_gemm_task task = {.m = ROWS,
                               .n = COLUMNS,
                               .k = p->k,
                               .a = {.data = p->a[0], .stride = LONGEST, .k_stride = 1},
                               .b = {.data = p->b[0], .stride = LONGEST, .k_stride = 1},
                               .accumulator = p->core,
                               .c = c,
                               .c_stride = COLUMNS,
                               .counts = is_counting ? &counts : NULL,
                               .threads = 1};
    hu_status st = is_reference ? hu_gemm_reference(&task) : hu_gemm(&task);
    bool is_same = st == HU_OK && memcmp(c, p->expected, sizeof c) == 0 &&
                   (!is_counting || memcmp(&counts, &p->counts, sizeof counts) == 0);
#pragma omp critical
    {
        passed += is_same ? ROWS * COLUMNS : 0;
        if (!is_same && failed < SHOWN) show(p, who, c, &counts);
        failed += !is_same;
    }
}

/* Products first .. end - 1, with the instruction set at hand. */
static void check_all(uint64_t products, bool is_adversarial, int threads) {
    const int native = (int)hu_cpu_isa_native();
    for (uint64_t first = 0; first < products; first += 4096) {
        uint64_t end = first + 4096 < products ? first + 4096 : products;
        static product all[4096];
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (uint64_t i = first; i < end; i++) {
            product_open(&all[i - first], i, is_adversarial);
            expect(&all[i - first]);
            check(&all[i - first], "reference", true, true);
        }
        for (int isa = 0; isa <= native; isa++) {
            hu_cpu_set_isa((hu_isa)isa);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
            for (uint64_t i = first; i < end; i++) {
                check(&all[i - first], hu_isa_name((hu_isa)isa), false, false);
                if (i % 4 == 0) check(&all[i - first], hu_isa_name((hu_isa)isa), true, false);
            }
        }
    }
    printf("%s: %llu dot products\n", is_adversarial ? "adversarial" : "random",
           (unsigned long long)(products * ROWS * COLUMNS));
    fflush(stdout);
}

int main(int argc, char **argv) {
    bool is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    int threads = mpfr_buildopt_tls_p() ? omp_get_max_threads() : 1;
    check_all(is_short ? 500 : 250000, false, threads);
    check_all(is_short ? 1000 : 25000, true, threads);
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    mpfr_free_cache();
    return failed != 0;
}
