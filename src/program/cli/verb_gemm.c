/* halfulp gemm: what accumulators do to matrix products, beside sums of twice double precision. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "bench/gemm.h"
#include "cli/verb.h"
#include "config/unused_keys.h"
#include "render/json.h"
#include "render/table.h"
#include "tensor/quantizer.h"

enum { NAME_BYTES = 96, FORMAT_BYTES = HU_FORMAT_TEXT_BYTES };

/* One problem and its numbers. a is [m][k], b is [n][k]. */
typedef struct study {
    int64_t m, n, k;
    int threads;
    uint64_t seed;
    const char *data;
    bool has_input; /* gemm.input is given: one format for all */
    hu_format input;
    float *a, *b; /* as drawn */
    float *rounded_a, *rounded_b;
    hu_format rounded_to; /* zero: nothing is rounded yet; float32 leaves all as it is */
    double *exact;        /* [m n] of the rounded factors */
    float *fmacs, *c;     /* [m n] */
    float *previous;      /* [m n] of the exact semantics */
} study;

/* What one accumulator did. */
typedef struct outcome {
    hu_accumulator accumulator;
    hu_format input;
    double max_relative, mean_relative, relative_l2, differs;
    uint64_t compared, nonfinite; /* elements with a nonzero reference; not finite */
    hu_gemm_counts counts;
} outcome;

/* x y numbers, or HU_ERR_SHAPE. */
static hu_status count_of(int64_t x, int64_t y, size_t *count) {
    if (hu_mul_size((size_t)x, (size_t)y, count)) return HU_OK;
    return hu_fail(HU_ERR_SHAPE, "gemm: %lld x %lld numbers are too many", (long long)x,
                   (long long)y);
}

static hu_status allocate(study *s) {
    hu_status st = HU_OK;
    size_t a, b, c;
    HU_TRY(count_of(s->m, s->k, &a));
    HU_TRY(count_of(s->n, s->k, &b));
    HU_TRY(count_of(s->m, s->n, &c));
    HU_TRY(hu_alloc_array(a, sizeof *s->a, (void **)&s->a));
    HU_TRY(hu_alloc_array(b, sizeof *s->b, (void **)&s->b));
    HU_TRY(hu_alloc_array(a, sizeof *s->a, (void **)&s->rounded_a));
    HU_TRY(hu_alloc_array(b, sizeof *s->b, (void **)&s->rounded_b));
    HU_TRY(hu_alloc_array(c, sizeof *s->exact, (void **)&s->exact));
    HU_TRY(hu_alloc_array(c, sizeof *s->c, (void **)&s->fmacs));
    HU_TRY(hu_alloc_array(c, sizeof *s->c, (void **)&s->c));
    HU_TRY(hu_alloc_array(c, sizeof *s->c, (void **)&s->previous));
done:
    return st;
}

static void close_study(study *s) {
    hu_free(s->a);
    hu_free(s->b);
    hu_free(s->rounded_a);
    hu_free(s->rounded_b);
    hu_free(s->exact);
    hu_free(s->fmacs);
    hu_free(s->c);
    hu_free(s->previous);
}

/* An extent, or the usual one where it is left open. */
static hu_status read_extent(const hu_config *config, const char *key, int64_t usual,
                             int64_t *extent) {
    *extent = usual;
    return hu_config_is_auto(config, key) ? HU_OK : hu_config_i64(config, key, extent);
}

/* Reads the problem and draws its factors. */
static hu_status open_study(hu_config *config, study *s) {
    hu_status st = HU_OK;
    const char *input;
    HU_TRY(read_extent(config, "gemm.m", 64, &s->m));
    HU_TRY(read_extent(config, "gemm.n", 64, &s->n));
    HU_TRY(read_extent(config, "gemm.k", 1024, &s->k));
    HU_TRY(hu_config_text(config, "gemm.data", &s->data));
    HU_TRY(hu_config_text(config, "gemm.input", &input));
    HU_TRY(hu_config_u64(config, "run.seed", &s->seed));
    HU_TRY(hu_threads_read(config, &s->threads));
    s->has_input = !hu_config_is_auto(config, "gemm.input");
    if (s->has_input) st = hu_plain_format_parse(input, &s->input);
    if (st != HU_OK) return hu_fail_within(st, "key 'gemm.input': ");
    HU_TRY(allocate(s));
    hu_factor_fill(s->data, s->seed, "a", s->m * s->k, s->a);
    hu_factor_fill(s->data, s->seed, "b", s->n * s->k, s->b);
done:
    return st;
}

/* The sum of exact products with what every addition lost added at the end: as if in twice double
 * precision, rounded once. Source: Ogita, Rump, Oishi, "Accurate sum and dot product", 2005. */
static double dot_of(int64_t k, const float *x, const float *y) {
    double sum = 0.0, lost = 0.0;
    for (int64_t i = 0; i < k; i++) {
        double product = (double)x[i] * (double)y[i], next = sum + product;
        double taken = next - sum;
        lost += (sum - (next - taken)) + (product - taken);
        sum = next;
    }
    return isfinite(sum) ? sum + lost : sum;
}

/* c = a b^T with one accumulator. */
static hu_status multiply(study *s, const hu_accumulator *accumulator, float *c,
                          hu_gemm_counts *counts) {
    const hu_gemm_task task = {.m = s->m,
                               .n = s->n,
                               .k = s->k,
                               .a = {.data = s->rounded_a, .stride = s->k, .k_stride = 1},
                               .b = {.data = s->rounded_b, .stride = s->k, .k_stride = 1},
                               .accumulator = *accumulator,
                               .c = c,
                               .c_stride = s->n,
                               .counts = counts,
                               .threads = s->threads};
    return hu_gemm(&task);
}

/* Factors, exact products and fmacs of an input format. */
static hu_status round_factors(study *s, const hu_format *input) {
    hu_status st = HU_OK;
    const hu_accumulator fmacs = {.mac = HU_MAC_FMACS};
    if (hu_format_equal(input, &s->rounded_to)) return HU_OK;
    HU_TRY(hu_round_f32((size_t)(s->m * s->k), s->a, s->rounded_a, input, HU_ROUND_NEAREST_EVEN,
                        NULL, 0, NULL));
    HU_TRY(hu_round_f32((size_t)(s->n * s->k), s->b, s->rounded_b, input, HU_ROUND_NEAREST_EVEN,
                        NULL, 0, NULL));
#pragma omp parallel for num_threads(s->threads)
    for (int64_t i = 0; i < s->m * s->n; i++)
        s->exact[i] = dot_of(s->k, &s->rounded_a[i / s->n * s->k], &s->rounded_b[i % s->n * s->k]);
    HU_TRY(multiply(s, &fmacs, s->fmacs, NULL));
    s->rounded_to = *input;
done:
    return st;
}

/* Errors of every element over its own exact sum, and over all. Elements that are not finite are
 * only counted; zero sums have no relative error. */
static void compare(const study *s, outcome *o) {
    double errors = 0.0, squares = 0.0, norm = 0.0;
    uint64_t different = 0;
    for (int64_t i = 0; i < s->m * s->n; i++) {
        double error = fabs((double)s->c[i] - s->exact[i]), size = fabs(s->exact[i]);
        if (hu_f32_bits(s->c[i]) != hu_f32_bits(s->fmacs[i])) different++;
        if (!isfinite(error)) {
            o->nonfinite++;
            continue;
        }
        squares += error * error;
        norm += size * size;
        if (size == 0.0) continue;
        o->compared++;
        errors += error / size;
        if (error / size > o->max_relative) o->max_relative = error / size;
    }
    o->mean_relative = o->compared ? errors / (double)o->compared : 0.0;
    o->relative_l2 = norm > 0.0 ? sqrt(squares / norm) : 0.0;
    o->differs = (double)different / (double)(s->m * s->n);
}

/* The format of the factors: gemm.input, else the accumulator's; for fmacs that of the first
 * accumulator with one, else float32. */
static hu_status input_of(const study *s, const hu_accumulator_list *list, int index,
                          hu_format *input) {
    *input = s->input;
    if (s->has_input) return HU_OK;
    for (int i = 0; i <= list->count; i++) {
        const hu_accumulator *one = &list->items[i == 0 ? index : i - 1];
        *input = one->format;
        if (one->mac != HU_MAC_FMACS) return HU_OK;
    }
    return hu_format_parse("fp32", input);
}

/* f32fma after exact, with the same bits everywhere: no row of its own. */
static bool is_repetition(const study *s, const hu_accumulator_list *list, int index) {
    return index > 0 && list->items[index].semantics == HU_SEMANTICS_F32FMA &&
           list->items[index - 1].semantics == HU_SEMANTICS_EXACT &&
           memcmp(s->c, s->previous, (size_t)(s->m * s->n) * sizeof *s->c) == 0;
}

/* One outcome for each accumulator; f32fma has one only where its bits are not those of exact. */
static hu_status measure(study *s, const hu_accumulator_list *list, outcome *outcomes, int *count) {
    hu_status st = HU_OK;
    *count = 0;
    for (int i = 0; i < list->count; i++) {
        outcome *o = &outcomes[*count];
        *o = (outcome){.accumulator = list->items[i]};
        HU_TRY(input_of(s, list, i, &o->input));
        HU_TRY(round_factors(s, &o->input));
        HU_TRY(multiply(s, &o->accumulator, s->c, &o->counts));
        bool is_new = !is_repetition(s, list, i);
        memcpy(s->previous, s->c, (size_t)(s->m * s->n) * sizeof *s->c);
        if (!is_new) continue;
        compare(s, o);
        (*count)++;
    }
done:
    return st;
}

/* Spellings of accumulator and input format. */
static hu_status texts_of(const outcome *o, char *name, char *input) {
    hu_status st = hu_accumulator_print(&o->accumulator, name, NAME_BYTES);
    return st == HU_OK ? hu_format_print(&o->input, input, FORMAT_BYTES) : st;
}

/* One outcome as JSON. */
static json_t *row_json(const outcome *o) {
    char name[NAME_BYTES], input[FORMAT_BYTES];
    if (texts_of(o, name, input) != HU_OK) return NULL;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "accumulator",
                     name, "semantics", hu_semantics_name(o->accumulator.semantics), "input", input,
                     "max_relative_error", hu_json_number(o->max_relative), "mean_relative_error",
                     hu_json_number(o->mean_relative), "relative_l2",
                     hu_json_number(o->relative_l2), "differs_from_fmacs",
                     hu_json_number(o->differs), "accumulators", (json_int_t)o->counts.values,
                     "subnormal_accumulators", (json_int_t)o->counts.subnormal, "overflows",
                     (json_int_t)o->counts.overflow, "stalled_terms", (json_int_t)o->counts.stalled,
                     "nonfinite_elements", (json_int_t)o->nonfinite);
}

static hu_status print_json(const study *s, const outcome *outcomes, int count) {
    json_t *rows = json_array();
    int failed = rows == NULL;
    for (int i = 0; i < count && !failed; i++)
        failed = json_array_append_new(rows, row_json(&outcomes[i]));
    if (failed) {
        json_decref(rows);
        return hu_fail(HU_ERR_MEMORY, "out of memory for %d rows", count);
    }
    return hu_json_print(json_pack("{s:I, s:I, s:I, s:s, s:I, s:i, s:o}", "m", (json_int_t)s->m,
                                   "n", (json_int_t)s->n, "k", (json_int_t)s->k, "data", s->data,
                                   "seed", (json_int_t)s->seed, "threads", s->threads, "rows",
                                   rows));
}

static hu_status print_row(hu_table *table, const outcome *o) {
    hu_status st = HU_OK;
    char name[NAME_BYTES], input[FORMAT_BYTES];
    double values = o->counts.values > 0 ? (double)o->counts.values : 1.0;
    double terms = o->counts.terms > 0 ? (double)o->counts.terms : 1.0;
    HU_TRY(texts_of(o, name, input));
    HU_TRY(hu_table_cell(table, "%s", name));
    HU_TRY(hu_table_cell(table, "%s", hu_semantics_name(o->accumulator.semantics)));
    HU_TRY(hu_table_cell(table, "%s", input));
    HU_TRY(hu_table_cell(table, "%.3g", o->max_relative));
    HU_TRY(hu_table_cell(table, "%.3g", o->mean_relative));
    HU_TRY(hu_table_cell(table, "%.3g", o->relative_l2));
    HU_TRY(hu_table_cell(table, "%.2f %%", 100.0 * o->differs));
    HU_TRY(hu_table_cell(table, "%.3g %%", 100.0 * (double)o->counts.subnormal / values));
    HU_TRY(hu_table_cell(table, "%llu", (unsigned long long)o->counts.overflow));
    HU_TRY(hu_table_cell(table, "%.3g %%", 100.0 * (double)o->counts.stalled / terms));
    HU_TRY(hu_table_cell(table, "%llu", (unsigned long long)o->nonfinite));
done:
    return st;
}

static hu_status print_table(const study *s, const outcome *outcomes, int count) {
    static const char *const titles[] = {"accumulator", "semantics", "input",     "max rel.",
                                         "mean rel.",   "rel. L2",   "not fmacs", "subnormal",
                                         "overflows",   "stalled",   "not finite"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    char *text = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < count; i++) HU_TRY(print_row(table, &outcomes[i]));
    HU_TRY(hu_table_print(table, &text));
    printf(
        "%s%lld x %lld x %lld, %s data\n"
        "errors: of the float32 results beside sums in twice double precision, each over its own "
        "sum\n(max, mean: cancellation makes them large) and all over all (rel. L2); not fmacs: "
        "results with\nother bits than fmacs; subnormal: share of the accumulators after each "
        "term;\nstalled: share of the terms of two nonzero factors that changed nothing. "
        "fmacs, macs and\nfmacK end in float32, the others in their format\n",
        text, (long long)s->m, (long long)s->n, (long long)s->k, s->data);
done:
    hu_free(text);
    hu_table_free(table);
    return st;
}

static const char *const used[] = {"accumulator.name",
                                   "accumulator.semantics",
                                   "gemm.*",
                                   "run.seed",
                                   "run.threads",
                                   "run.quiet",
                                   NULL};

static hu_status run_gemm(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    study s = {0};
    hu_accumulator_list list;
    outcome outcomes[HU_ACCUMULATORS_MOST];
    int count;
    (void)exit_code;
    HU_TRY(hu_keys_used(config, "gemm", used));
    HU_TRY(hu_accumulator_list_read(config, &list));
    HU_TRY(open_study(config, &s));
    HU_TRY(measure(&s, &list, outcomes, &count));
    st = hu_config_flag(config, "json", NULL) ? print_json(&s, outcomes, count)
                                              : print_table(&s, outcomes, count);
done:
    close_study(&s);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_gemm = {
    .name = "gemm",
    .group = HU_VERBS_FORMATS,
    .help = "error of matrix products by accumulator",
    .usage = "[accumulator=LIST] [m=M] [n=N] [k=K] [gemm.data=KIND] [gemm.input=F] [--json]",
    .details =
        "LIST: accumulators separated by commas: fmacs, macs:F, fmac:F, mac:F, fmacK:F, kahan:F,\n"
        "kahan-cpd:F with any format F and blocks of K terms, tc:NAME (a tensor core: `halfulp\n"
        "help accumulators`); all but tc in 1/6/9, K 8, if not given.\n"
        "In exact and f32fma where the results differ, or in accumulator.semantics.\n"
        "Factors are random (gemm.data=normal, uniform or lognormal; seed=N), in the format of\n"
        "gemm.input, or the accumulator's. Relative errors leave out elements whose sum is zero.\n",
    .flags = flags,
    .max_subjects = 0,
    .keys = used,
    .refuses_others = true,
    .examples = {{"gemm accumulator=fmac8:1/6/9 m=8 n=8 k=256", "errors of one accumulator"},
                 {"gemm k=64 m=8 n=8", "all of them, with few terms"}},
    .run = run_gemm,
};
