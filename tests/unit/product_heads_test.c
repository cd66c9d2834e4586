/* Products head by head against their definition, number by number: bit for bit in float32 and in
 * chosen accumulators, on every instruction set, with rows that see all, some or no keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/memory.h"
#include "base/rng.h"
#include "product/batched_matmul.h"

enum { GUARD = 64, BYTE = 0x5a };

typedef struct heads_case {
    hu_heads heads;
    hu_heads_valid valid;
} heads_case;

static const heads_case cases[] = {
    {{2, 65, 65, 32, false}, {65, 65}},  {{3, 64, 64, 16, true}, {64, 64}},
    {{1, 1, 1, 1, false}, {1, 1}},       {{2, 5, 17, 6, false}, {5, 17}},
    {{2, 19, 7, 20, true}, {19, 7}},     {{2, 7, 19, 9, true}, {7, 19}},
    {{2, 20, 20, 33, false}, {20, 11}},  {{2, 20, 20, 8, false}, {11, 11}},
    {{2, 20, 23, 8, true}, {13, 11}},    {{2, 9, 9, 4, true}, {9, 0}},
    {{2, 9, 9, 4, false}, {0, 0}},       {{1, 3, 900, 5, false}, {3, 900}},
    {{1, 800, 3, 5, true}, {800, 3}},    {{1, 2, 2, 1000, false}, {2, 2}},
    {{1, 500, 500, 3, true}, {500, 450}}};
enum { CASES = sizeof cases / sizeof *cases };

/* The numbers of a case; the result of a form is a copy with a guard after it. */
typedef struct arrays {
    float *pairs, *rows, *keys;
    int64_t pairs_count, rows_count, keys_count;
} arrays;

static float *floats(int64_t count, uint64_t stream) {
    void *block;
    hu_random_key key = {.seed = 7, .stream = stream};
    assert_int_equal(hu_alloc_array((size_t)count + GUARD, sizeof(float), &block), HU_OK);
    float *x = block;
    for (int64_t i = 0; i < count; i++) x[i] = hu_random_normal(&key, (uint64_t)i);
    return x;
}

static arrays arrays_of(const hu_heads *h) {
    int64_t width = h->heads * h->depth;
    arrays a = {.pairs_count = h->heads * h->rows * h->keys,
                .rows_count = h->rows * width,
                .keys_count = h->keys * width};
    a.pairs = floats(a.pairs_count, 1);
    a.rows = floats(a.rows_count, 2);
    a.keys = floats(a.keys_count, 3);
    return a;
}

static void arrays_free(arrays *a) {
    hu_free(a->pairs);
    hu_free(a->rows);
    hu_free(a->keys);
}

static bool sees(const heads_case *c, int64_t t, int64_t s) {
    return t < c->valid.rows && s < c->valid.keys && (!c->heads.is_causal || s <= t);
}

/* The factors of one sum in the order of its terms; gives how many these are. */
static int64_t terms_of(const heads_case *c, const arrays *a, hu_heads_form form, int64_t head,
                        int64_t i, int64_t j, float *left, float *right) {
    const hu_heads *h = &c->heads;
    int64_t width = h->heads * h->depth, n = 0;
    const float *rows = a->rows + head * h->depth, *keys = a->keys + head * h->depth;
    const float *pairs = a->pairs + head * h->rows * h->keys;
    if (form == HU_HEADS_PAIRS && !sees(c, i, j)) return 0;
    for (int64_t k = 0; form == HU_HEADS_PAIRS && k < h->depth; k++, n++)
        left[n] = rows[i * width + k], right[n] = keys[j * width + k];
    for (int64_t s = 0; form == HU_HEADS_ROWS && s < h->keys; s++)
        if (sees(c, i, s)) left[n] = pairs[i * h->keys + s], right[n++] = keys[s * width + j];
    for (int64_t t = 0; form == HU_HEADS_KEYS && t < h->rows; t++)
        if (sees(c, t, i)) left[n] = pairs[t * h->keys + i], right[n++] = rows[t * width + j];
    return n;
}

static float sum_of(int64_t n, const float *left, const float *right,
                    const hu_accumulator *accumulator, hu_gemm_counts *counts) {
    float sum = 0;
    if (!accumulator) {
        for (int64_t k = 0; k < n; k++) sum = fmaf(left[k], right[k], sum);
        return sum;
    }
    hu_gemm_task task = {.m = 1,
                         .n = 1,
                         .k = n,
                         .a = {.data = left, .stride = n, .k_stride = 1},
                         .b = {.data = right, .stride = n, .k_stride = 1},
                         .accumulator = *accumulator,
                         .c = &sum,
                         .c_stride = 1,
                         .counts = counts,
                         .threads = 1};
    if (n > 0) assert_int_equal(hu_gemm_reference(&task), HU_OK);
    return sum;
}

/* Sums of a form: [head][i][j], and where each lies in the result. */
typedef struct sums {
    int64_t is, js, count, step, row;
} sums;

static sums sums_of(const hu_heads *h, hu_heads_form form) {
    int64_t width = h->heads * h->depth;
    if (form == HU_HEADS_PAIRS)
        return (sums){h->rows, h->keys, h->heads * h->rows * h->keys, h->rows * h->keys, h->keys};
    int64_t places = form == HU_HEADS_ROWS ? h->rows : h->keys;
    return (sums){places, h->depth, places * width, h->depth, width};
}

static void define(const heads_case *c, const arrays *a, hu_heads_form form,
                   const hu_accumulator *accumulator, float *result, hu_gemm_counts *counts) {
    enum { TERMS = 1024 };
    static float left[TERMS], right[TERMS];
    sums s = sums_of(&c->heads, form);
    for (int64_t head = 0; head < c->heads.heads; head++)
        for (int64_t i = 0; i < s.is; i++)
            for (int64_t j = 0; j < s.js; j++) {
                int64_t n = terms_of(c, a, form, head, i, j, left, right);
                assert_true(n <= TERMS);
                result[head * s.step + i * s.row + j] = sum_of(n, left, right, accumulator, counts);
            }
}

/* By the library, in poisoned scratch and result; what lies after them stays as it is. */
static void compute(const heads_case *c, const arrays *a, hu_heads_form form,
                    const hu_accumulator *accumulator, float *result, hu_gemm_counts *counts) {
    size_t bytes;
    void *scratch;
    const float *const factors[][2] = {
        {a->rows, a->keys}, {a->pairs, a->keys}, {a->pairs, a->rows}};
    assert_int_equal(hu_heads_scratch_bytes(&c->heads, form, accumulator, &bytes), HU_OK);
    assert_int_equal(hu_alloc(bytes + GUARD, &scratch), HU_OK);
    memset(scratch, BYTE, bytes + GUARD);
    hu_heads_call call = {.first = factors[form][0],
                          .second = factors[form][1],
                          .result = result,
                          .valid = c->valid,
                          .accumulator = accumulator,
                          .counts = counts,
                          .scratch = scratch};
    hu_heads_run(&c->heads, form, &call);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(((unsigned char *)scratch)[bytes + i], BYTE);
    hu_free(scratch);
}

/* Products that nobody counts may be computed otherwise. */
static bool uncounted;

static void check_form(const heads_case *c, const arrays *a, hu_heads_form form,
                       const hu_accumulator *accumulator) {
    int64_t count = sums_of(&c->heads, form).count;
    hu_gemm_counts wanted = {0}, counted = {0};
    bool counts = accumulator && !uncounted;
    float *expected = floats(count, 4), *found = floats(count, 5);
    memset(found, 0xff, (size_t)count * sizeof *found);
    memset(found + count, BYTE, GUARD);
    define(c, a, form, accumulator, expected, &wanted);
    compute(c, a, form, accumulator, found, counts ? &counted : NULL);
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0)
            fail_msg("case %d, form %d, number %lld on %s: found %.9g, expected %.9g",
                     (int)(c - cases), (int)form, (long long)i, hu_isa_name(hu_cpu_isa()),
                     (double)found[i], (double)expected[i]);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(((unsigned char *)(found + count))[i], BYTE);
    if (counts) assert_memory_equal(&counted, &wanted, sizeof wanted);
    hu_free(expected);
    hu_free(found);
}

/* What pairs and places are besides drawn numbers: pairs that are not seen are 0, as softmax leaves
 * them; all numbers are so small that sums vanish; one is an infinity. */
typedef enum numbers { DRAWN, MASKED, SMALL, INFINITE, NUMBERS } numbers;

static void change_numbers(const heads_case *c, numbers kind, const arrays *a) {
    const hu_heads *h = &c->heads;
    for (int64_t i = 0; kind >= MASKED && i < a->pairs_count; i++)
        if (!sees(c, i / h->keys % h->rows, i % h->keys)) a->pairs[i] = 0.0f;
    for (int64_t i = 0; kind == SMALL && i < a->pairs_count; i++)
        a->pairs[i] = i % 3 ? 0.0f : 0x1p-100f * a->pairs[i];
    for (int64_t i = 0; kind == SMALL && i < a->rows_count; i++) a->rows[i] *= 0x1p-51f;
    for (int64_t i = 0; kind == SMALL && i < a->keys_count; i++) a->keys[i] *= 0x1p-51f;
    if (kind == INFINITE) a->rows[a->rows_count / 2] = a->keys[a->keys_count / 2] = INFINITY;
}

static void check_all(const hu_accumulator *accumulator, int64_t most_pairs, numbers kind) {
    hu_isa best = hu_cpu_isa();
    for (int k = 0; k < CASES; k++) {
        arrays a = arrays_of(&cases[k].heads);
        change_numbers(&cases[k], kind, &a);
        for (int isa = HU_ISA_SCALAR; isa <= (int)best && a.pairs_count <= most_pairs; isa++) {
            hu_cpu_set_isa((hu_isa)isa);
            for (int form = 0; form <= HU_HEADS_KEYS; form++)
                check_form(&cases[k], &a, (hu_heads_form)form, accumulator);
        }
        hu_cpu_set_isa(best);
        arrays_free(&a);
    }
}

static void float32_is_its_definition(void **unused) {
    (void)unused;
    check_all(NULL, INT64_MAX, DRAWN);
}

static void accumulators_are_the_reference(void **unused) {
    (void)unused;
    static const char *const names[] = {
        "fmac8:1/6/9/d", "kahan:e4m3", "fmac:e5m2",   "fmac3:e5m2",
        "fmacs",         "macs:1/6/9", "tc:h100-fp8", "tc:K=3:F=9:out=12:promote=6"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hu_accumulator accumulator;
        assert_int_equal(hu_accumulator_parse(names[i], &accumulator), HU_OK);
        for (int kind = DRAWN; kind < NUMBERS; kind++)
            for (int k = 0; k < 2; k++) {
                uncounted = k > 0;
                check_all(&accumulator, kind == DRAWN && k == 0 ? 3000 : 1000, (numbers)kind);
            }
    }
    uncounted = false;
}

/* An infinity or a NaN that a row does not see does not reach it. */
static void what_is_not_seen_is_no_term(void **unused) {
    (void)unused;
    const heads_case c = {{2, 12, 12, 5, true}, {10, 9}};
    arrays a = arrays_of(&c.heads);
    float *result = floats(a.rows_count, 6);
    for (int64_t s = 9; s < 12; s++)
        for (int64_t j = 0; j < 10; j++) a.keys[s * 10 + j] = NAN;
    for (int64_t j = 0; j < 10; j++) a.keys[4 * 10 + j] = INFINITY;
    compute(&c, &a, HU_HEADS_ROWS, NULL, result, NULL);
    for (int64_t t = 0; t < 12; t++)
        for (int64_t j = 0; j < 10; j++)
            assert_int_equal(isfinite(result[t * 10 + j]), t < 4 || t >= 10);
    hu_free(result);
    arrays_free(&a);
}

static void pairs_are_counted(void **unused) {
    (void)unused;
    for (int k = 0; k < CASES; k++) {
        int64_t seen = 0;
        for (int64_t t = 0; t < cases[k].heads.rows; t++)
            for (int64_t s = 0; s < cases[k].heads.keys; s++) seen += sees(&cases[k], t, s);
        assert_int_equal(hu_heads_pairs_seen(&cases[k].heads, cases[k].valid), seen);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32_is_its_definition),
        cmocka_unit_test(accumulators_are_the_reference),
        cmocka_unit_test(what_is_not_seen_is_no_term),
        cmocka_unit_test(pairs_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
