/* Passes over arrays beside memcpy. */
#include "bench/rate.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "show/json.h"
#include "show/stdout.h"
#include "show/table.h"

enum {
    CACHED_ELEMENTS = 4096,
    CACHED_TURNS = 200,
    MEMORY_TURNS = 8,
    TURN_ELEMENTS = 1 << 20, /* a turn makes several passes over small arrays */
    PATTERN = 1 << 16,       /* different numbers; longer arrays repeat them */
    SHARE_UNIT = 1024
};

typedef struct arrays {
    float *pattern[2]; /* by hu_rate_data */
    float *codes;      /* of the first pattern */
    float *x, *y;
    int held; /* what x holds: a hu_rate_data, or -1 */
} arrays;

/* Gaussian numbers of standard deviation 0.06, as in activations and weights; random bits. */
static hu_status make_arrays(const hu_rate_set *set, arrays *a) {
    hu_status st = HU_OK;
    const hu_random_key key = {1, hu_stream_id("bench", "rate"), 0};
    for (int i = 0; i < 2; i++) HU_TRY(HU_NEW_ARRAY(&a->pattern[i], PATTERN));
    HU_TRY(HU_NEW_ARRAY(&a->codes, PATTERN));
    HU_TRY(HU_NEW_ARRAY(&a->x, set->elements));
    HU_TRY(HU_NEW_ARRAY(&a->y, set->elements));
    for (size_t i = 0; i < PATTERN; i++) {
        a->pattern[HU_RATE_GAUSSIAN][i] = 0.06f * hu_random_normal(&key, i);
        a->pattern[HU_RATE_BITS][i] = hu_f32_of_bits(hu_random_word(&key, i));
    }
done:
    return st;
}

static void free_arrays(arrays *a) {
    for (int i = 0; i < 2; i++) hu_free(a->pattern[i]);
    hu_free(a->codes);
    hu_free(a->x);
    hu_free(a->y);
}

/* n elements of some bytes from a pattern of PATTERN. */
static void repeat(const void *pattern, size_t bytes, size_t n, void *to) {
    for (size_t at = 0; at < n; at += PATTERN)
        memcpy((char *)to + at * bytes, pattern, (n - at < PATTERN ? n - at : PATTERN) * bytes);
}

/* Codes in both arrays, anew for every turn: sums grow. */
static void hold_codes(arrays *a, size_t n, const hu_rate_row *row) {
    hu_wire_quantise(&row->wire, PATTERN, a->pattern[HU_RATE_GAUSSIAN], row->scale, a->codes, NULL,
                     0, NULL);
    repeat(a->codes, row->wire.code_bytes, n, a->x);
    repeat(a->codes, row->wire.code_bytes, n, a->y);
    a->held = HU_RATE_CODES;
}

/* The same place for all kinds of data: where an array lies has its effect too. */
static void hold(arrays *a, size_t n, const hu_rate_row *row) {
    hu_rate_data data = row->data;
    if (data == HU_RATE_CODES) {
        hold_codes(a, n, row);
        return;
    }
    if (a->held != (int)data) repeat(a->pattern[data], sizeof *a->x, n, a->x);
    a->held = (int)data;
}

/* The pass of the reference. */
static void copy_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    size_t bytes = row->copied_bytes;
    memcpy((char *)y + first * bytes, (const char *)x + first * bytes, n * bytes);
}

/* The share of thread number t, so many times over. */
static void run_share(const hu_rate_set *set, const hu_rate_row *row, const arrays *a, int t,
                      size_t passes) {
    size_t n = set->elements, threads = (size_t)set->threads;
    size_t share = (n / threads + SHARE_UNIT - 1) / SHARE_UNIT * SHARE_UNIT;
    size_t first = (size_t)t * share, end = t + 1 == set->threads ? n : first + share;
    if (end > n) end = n;
    for (size_t i = 0; i < passes && first < end; i++) {
        row->pass(row, first, end - first, a->x, a->y);
        __asm__ volatile("" ::"r"(a->y) : "memory"); /* every pass counts */
    }
}

/* Seconds of one pass, from a turn of several. */
static double take_turn(const hu_rate_set *set, const hu_rate_row *row, arrays *a) {
    size_t passes = set->elements < TURN_ELEMENTS ? TURN_ELEMENTS / set->elements : 1;
    hold(a, set->elements, row);
    double start = hu_bench_seconds(set->threads);
    if (set->threads == 1) {
        run_share(set, row, a, 0, passes);
    } else {
#pragma omp parallel for num_threads(set->threads) schedule(static, 1)
        for (int t = 0; t < set->threads; t++) run_share(set, row, a, t, passes);
    }
    return (hu_bench_seconds(set->threads) - start) / (double)passes;
}

/* One turn of a row; the best counts. */
static void improve(const hu_rate_set *set, const hu_rate_row *row, arrays *a, double *best) {
    double seconds = take_turn(set, row, a);
    if (*best == 0 || seconds < *best) *best = seconds;
}

static bool is_copied(const hu_rate_set *set, size_t bytes) {
    for (int i = 0; i < set->count; i++)
        if (set->rows[i].copied_bytes == bytes) return true;
    return false;
}

/* The copies that rows stand beside and all rows take turns. */
static hu_status measure(hu_rate_set *set) {
    arrays a = {.held = -1};
    hu_rate_row copy = {.pass = copy_pass, .data = HU_RATE_GAUSSIAN};
    hu_status st = make_arrays(set, &a);
    for (int64_t turn = 0; st == HU_OK && turn < set->repeat; turn++) {
        for (size_t bytes = 1; bytes <= HU_RATE_COPIES; bytes++) {
            copy.copied_bytes = bytes;
            if (is_copied(set, bytes)) improve(set, &copy, &a, &set->memcpy_seconds[bytes]);
        }
        for (int i = 0; i < set->count; i++)
            improve(set, &set->rows[i], &a, &set->rows[i].best_seconds);
    }
    free_arrays(&a);
    return st;
}

/* Seconds of the copy that the row stands beside. */
static double copy_seconds(const hu_rate_set *set, const hu_rate_row *row) {
    return set->memcpy_seconds[row->copied_bytes];
}

/* 10^9 elements per second. */
static double rate(const hu_rate_set *set, double seconds) {
    return (double)set->elements / seconds * 1e-9;
}

static const char *data_name(hu_rate_data data) {
    static const char *const names[] = {"gaussian", "bits", "codes"};
    return names[data];
}

static json_t *row_json(const hu_rate_set *set, const hu_rate_row *row) {
    return json_pack(
        "{s:s, s:s, s:s, s:b, s:I, s:i, s:o, s:s, s:I, s:o, s:o}", "format", row->format, "mode",
        row->mode, "data", data_name(row->data), "counters", (int)row->has_counters, "elements",
        (json_int_t)set->elements, "threads", set->threads, "gelements_per_second",
        hu_json_number(rate(set, row->best_seconds)), "reference", "memcpy",
        "reference_bytes_per_element", (json_int_t)row->copied_bytes,
        "reference_gelements_per_second", hu_json_number(rate(set, copy_seconds(set, row))),
        "ratio", hu_json_number(copy_seconds(set, row) / row->best_seconds));
}

static hu_status print_json(const char *kernel, const hu_rate_set *sets, int count) {
    json_t *rows = json_array();
    for (int s = 0; s < count; s++)
        for (int i = 0; i < sets[s].count; i++)
            json_array_append_new(rows, row_json(&sets[s], &sets[s].rows[i]));
    return hu_json_print(json_pack("{s:s, s:o}", "kernel", kernel, "rows", rows));
}

static void print_copies(const hu_rate_set *set) {
    for (size_t bytes = 1; bytes <= HU_RATE_COPIES; bytes++)
        if (set->memcpy_seconds[bytes] > 0)
            printf("memcpy of %zu elements of %zu bytes: %.3f Gelem/s; best of %lld turns, %d "
                   "threads\n",
                   set->elements, bytes, rate(set, set->memcpy_seconds[bytes]),
                   (long long)set->repeat, set->threads);
}

static hu_status print_table(const hu_rate_set *sets, int count) {
    static const char *const titles[] = {"format",   "mode",    "data",     "counters",
                                         "elements", "Gelem/s", "to memcpy"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, 7, &table));
    for (int s = 0; s < count; s++)
        for (int i = 0; i < sets[s].count; i++) {
            const hu_rate_row *row = &sets[s].rows[i];
            HU_TRY(hu_table_cell(table, "%s", row->format));
            HU_TRY(hu_table_cell(table, "%s", row->mode));
            HU_TRY(hu_table_cell(table, "%s", data_name(row->data)));
            HU_TRY(hu_table_cell(table, "%s", row->has_counters ? "all" : "none"));
            HU_TRY(hu_table_cell(table, "%zu", sets[s].elements));
            HU_TRY(hu_table_cell(table, "%.3f", rate(&sets[s], row->best_seconds)));
            HU_TRY(hu_table_cell(table, "%.3f", copy_seconds(&sets[s], row) / row->best_seconds));
        }
    HU_TRY(hu_show_table(table));
    for (int s = 0; s < count; s++) print_copies(&sets[s]);
done:
    hu_table_free(table);
    return st;
}

/* Sets for the sizes that are measured; *format: NULL if the user named none. */
static hu_status read_request(const hu_config *config, size_t memory_elements, hu_rate_set sets[2],
                              int *count, const char **format) {
    hu_status st = HU_OK;
    int64_t elements, repeat, threads = 1;
    HU_TRY(hu_config_text(config, "bench.format", format));
    if (!**format) *format = NULL;
    HU_TRY(hu_config_i64(config, "bench.elements", &elements));
    HU_TRY(hu_config_i64(config, "run.repeat", &repeat));
    if (!hu_config_is_auto(config, "run.threads"))
        HU_TRY(hu_config_i64(config, "run.threads", &threads));
    *count = elements ? 1 : 2;
    for (int s = 0; s < *count; s++) {
        memset(&sets[s], 0, sizeof sets[s]);
        sets[s].elements = elements ? (size_t)elements : s ? memory_elements : CACHED_ELEMENTS;
        sets[s].threads = (int)threads;
        sets[s].repeat = sets[s].elements < TURN_ELEMENTS ? CACHED_TURNS : MEMORY_TURNS;
        if (hu_config_given(config, "run.repeat")) sets[s].repeat = repeat;
    }
done:
    return st;
}

hu_status hu_rate_add_row(hu_rate_set *set, hu_rate_row **row) {
    if (set->count == HU_RATE_ROWS) return hu_fail(HU_ERR_INTERNAL, "more rows than places");
    *row = &set->rows[set->count++];
    (*row)->copied_bytes = sizeof(float);
    return HU_OK;
}

const char *const hu_rate_formats[] = {"1/6/9/d", "fp16",      "bf16", "e5m2",
                                       "e4m3fn",  "fp(4,3,4)", NULL};

/* The rows of one set. */
static hu_status add_formats(const hu_rate_request *request, const char *only, hu_rate_set *set) {
    hu_status st = HU_OK;
    if (only) return request->add(set, only, true);
    for (size_t f = 0; request->formats[f]; f++)
        HU_TRY(request->add(set, request->formats[f], f == 0));
done:
    return st;
}

/* Small arrays stay in the cache, large ones come from memory: both rates are wanted. */
hu_status hu_rate_bench(const hu_config *config, const hu_rate_request *request) {
    hu_status st = HU_OK;
    hu_rate_set *sets = NULL;
    const char *only;
    int count = 0;
    HU_TRY(HU_NEW_ARRAY(&sets, 2));
    HU_TRY(read_request(config, request->memory_elements, sets, &count, &only));
    for (int s = 0; s < count; s++) {
        HU_TRY(add_formats(request, only, &sets[s]));
        HU_TRY(measure(&sets[s]));
    }
    st = hu_config_flag(config, "json", NULL) ? print_json(request->kernel, sets, count)
                                              : print_table(sets, count);
done:
    hu_free(sets);
    return st;
}
