#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "format/value.h"
#include "kernel/encode/encode.h"
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"
#include "kernel/uniform/uniform.h"
#include "kernel/wire/wire.h"
#include "render/json.h"
#include "render/table.h"
#include "tensor/quantizer.h"

enum { HU_RATE_ROWS = 64, HU_RATE_FORMAT_BYTES = HU_QUANTIZER_BYTES, HU_RATE_COPIES = 4 };

/* What an array holds: numbers; random bits, which are numbers of all exponents and any codes; the
 * codes of the numbers as the row's packer makes them; or those of its wire, then in both arrays.
 */
typedef enum hu_rate_data {
    HU_RATE_GAUSSIAN,
    HU_RATE_BITS,
    HU_RATE_PACKED,
    HU_RATE_CODES
} hu_rate_data;

typedef struct hu_rate_row hu_rate_row;

/* Elements first .. first+n-1: from x (floats, or codes) to y. */
typedef void hu_rate_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y);

struct hu_rate_row {
    hu_rate_pass *pass;
    char format[HU_RATE_FORMAT_BYTES];
    char mode[24]; /* "rne", "pack8", "range", "sr:bits=8", ... */
    hu_rate_data data;
    bool has_counters;
    hu_rounder rounder;
    hu_packer packer;
    hu_wire wire;
    hu_uniformer uniformer; /* of one element: passes set the length */
    hu_uniform_scale uniform_scale;
    hu_blocker blocker; /* of tiles; a row of the whole array */
    float tensor_scale;
    int32_t scale;       /* k of the wire's codes */
    size_t copied_bytes; /* of an element, by the memcpy that the row stands beside: 1, 2 or 4 */
    hu_bench_times times;
};

/* One size of array and all that is measured with it. */
typedef struct hu_rate_set {
    size_t elements;
    int threads;
    hu_bench_times copies[HU_RATE_COPIES + 1]; /* by bytes of an element; none: not measured */
    int count;
    hu_rate_row rows[HU_RATE_ROWS];
} hu_rate_set;

/* Adds the rows of a format; is_first: of the first one, or of the only one. */
typedef hu_status hu_rate_format(hu_rate_set *set, const char *format, bool is_first);

/* What a kernel measures. */
typedef struct hu_rate_request {
    const char *kernel;
    const char *const *formats; /* NULL at the end */
    size_t memory_elements;     /* of arrays too large for the caches */
    hu_rate_format *add;
} hu_rate_request;
enum { HU_RATE_MEMORY_ELEMENTS = 1 << 26 };

/* ---- Uniform integers as rows of kernel=round and kernel=pack ---- */

/* ---- Passes over arrays that take turns with memcpy of the same elements ---- */

/* The formats of round and pack, and their large arrays: 64 Mi elements. */
extern const char *const hu_rate_formats[];

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
    memset(a->y, 1, set->elements * sizeof *a->y); /* no turn is to wait for the system's pages */
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

static void hold_packed(arrays *a, size_t n, const hu_rate_row *row) {
    hu_encode(&row->rounder, &row->packer, PATTERN, a->pattern[HU_RATE_GAUSSIAN], NULL, a->codes,
              NULL, 0, NULL);
    for (size_t at = 0; at < n; at += PATTERN) {
        size_t count = n - at < PATTERN ? n - at : PATTERN;
        memcpy((char *)a->x + hu_packer_bytes(&row->packer, at), a->codes,
               hu_packer_bytes(&row->packer, count));
    }
    a->held = HU_RATE_PACKED;
}

/* The same place for all kinds of data: where an array lies has its effect too. */
static void hold(arrays *a, size_t n, const hu_rate_row *row) {
    hu_rate_data data = row->data;
    if (data == HU_RATE_CODES || data == HU_RATE_PACKED) {
        if (data == HU_RATE_CODES)
            hold_codes(a, n, row);
        else
            hold_packed(a, n, row);
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

/* One turn of a row or a copy, if it is to have another; *is_open tells that of any. */
static hu_status improve(const hu_rate_set *set, const hu_bench_pace *pace, const hu_rate_row *row,
                         arrays *a, hu_bench_times *times, bool *is_open) {
    if (!hu_bench_takes(pace, times)) return HU_OK;
    *is_open = true;
    return hu_bench_times_add(times, take_turn(set, row, a));
}

static bool is_copied(const hu_rate_set *set, size_t bytes) {
    for (int i = 0; i < set->count; i++)
        if (set->rows[i].copied_bytes == bytes) return true;
    return false;
}

/* The copies that rows stand beside and all rows take turns. */
static hu_status measure(hu_rate_set *set, const hu_bench_pace *pace) {
    arrays a = {.held = -1};
    hu_rate_row copy = {.pass = copy_pass, .data = HU_RATE_GAUSSIAN};
    bool is_open = true;
    hu_status st = HU_OK;
    HU_TRY(make_arrays(set, &a));
    while (is_open) {
        is_open = false;
        for (size_t bytes = 1; bytes <= HU_RATE_COPIES; bytes++) {
            copy.copied_bytes = bytes;
            if (is_copied(set, bytes))
                HU_TRY(improve(set, pace, &copy, &a, &set->copies[bytes], &is_open));
        }
        for (int i = 0; i < set->count; i++)
            HU_TRY(improve(set, pace, &set->rows[i], &a, &set->rows[i].times, &is_open));
    }
done:
    free_arrays(&a);
    return st;
}

/* The copy that the row stands beside. */
static hu_bench_times *copy_of(hu_rate_set *set, const hu_rate_row *row) {
    return &set->copies[row->copied_bytes];
}

/* Time of the copy over that of the row. */
static double ratio_of(hu_rate_set *set, const hu_rate_row *row) {
    return copy_of(set, row)->best / row->times.best;
}

/* 10^9 elements per second. */
static double rate(const hu_rate_set *set, double seconds) {
    return (double)set->elements / seconds * 1e-9;
}

static const char *data_name(hu_rate_data data) {
    static const char *const names[] = {"gaussian", "bits", "packed", "codes"};
    return names[data];
}

static json_t *row_json(hu_rate_set *set, hu_rate_row *row) {
    return json_pack(
        "{s:s, s:s, s:s, s:b, s:I, s:i, s:o, s:s, s:I, s:o, s:o, s:I, s:o, s:o}", "format",
        row->format, "mode", row->mode, "data", data_name(row->data), "counters",
        (int)row->has_counters, "elements", (json_int_t)set->elements, "threads", set->threads,
        "gelements_per_second", hu_json_number(rate(set, row->times.best)), "reference", "memcpy",
        "reference_bytes_per_element", (json_int_t)row->copied_bytes,
        "reference_gelements_per_second", hu_json_number(rate(set, copy_of(set, row)->best)),
        "ratio", hu_json_number(ratio_of(set, row)), "turns", (json_int_t)row->times.count,
        "spread", hu_json_number(hu_bench_times_spread(&row->times)), "reference_spread",
        hu_json_number(hu_bench_times_spread(copy_of(set, row))));
}

static json_t *make_json(const char *kernel, hu_rate_set *sets, int count) {
    json_t *rows = json_array();
    for (int s = 0; s < count; s++)
        for (int i = 0; i < sets[s].count; i++)
            json_array_append_new(rows, row_json(&sets[s], &sets[s].rows[i]));
    return json_pack("{s:s, s:o}", "kernel", kernel, "rows", rows);
}

static hu_status tell_copies(hu_bench_part *part, hu_rate_set *set) {
    hu_status st = HU_OK;
    for (size_t bytes = 1; bytes <= HU_RATE_COPIES; bytes++) {
        hu_bench_times *copy = &set->copies[bytes];
        char spread[40] = "";
        if (copy->count == 0) continue;
        if (copy->count > 1)
            snprintf(spread, sizeof spread, ", spread %.1f %%", 100 * hu_bench_times_spread(copy));
        HU_TRY(hu_bench_tell(part,
                             "memcpy of %zu elements of %zu bytes: %.3f Gelem/s, the bound of what "
                             "goes through them once; best of %zu turns%s, %d threads",
                             set->elements, bytes, rate(set, copy->best), copy->count, spread,
                             set->threads));
    }
done:
    return st;
}

static hu_status put_row(hu_table *table, hu_rate_set *set, hu_rate_row *row) {
    hu_status st = HU_OK;
    HU_TRY(hu_table_cell(table, "%s", row->format));
    HU_TRY(hu_table_cell(table, "%s", row->mode));
    HU_TRY(hu_table_cell(table, "%s", data_name(row->data)));
    HU_TRY(hu_table_cell(table, "%s", row->has_counters ? "all" : "none"));
    HU_TRY(hu_table_cell(table, "%zu", set->elements));
    HU_TRY(hu_table_cell(table, "%.3f", rate(set, row->times.best)));
    HU_TRY(hu_table_cell(table, "%.3f", ratio_of(set, row)));
    HU_TRY(hu_bench_spread_cell(table, hu_bench_times_spread(&row->times)));
done:
    return st;
}

static hu_status tell_rows(hu_bench_part *part, hu_rate_set *sets, int count) {
    static const char *const titles[] = {"format",   "mode",    "data",      "counters",
                                         "elements", "Gelem/s", "to memcpy", "spread %"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int s = 0; s < count; s++)
        for (int i = 0; i < sets[s].count; i++) HU_TRY(put_row(table, &sets[s], &sets[s].rows[i]));
    HU_TRY(hu_bench_tell_table(part, table));
    for (int s = 0; s < count; s++) HU_TRY(tell_copies(part, &sets[s]));
done:
    hu_table_free(table);
    return st;
}

static void note_spreads(hu_bench_part *part, hu_rate_set *set) {
    for (int i = 0; i < set->count; i++)
        hu_bench_note_spread(part, hu_bench_times_spread(&set->rows[i].times),
                             hu_bench_times_spread(copy_of(set, &set->rows[i])));
}

static void free_times(hu_rate_set *set) {
    for (int i = 0; i < set->count; i++) hu_bench_times_free(&set->rows[i].times);
    for (size_t bytes = 1; bytes <= HU_RATE_COPIES; bytes++)
        hu_bench_times_free(&set->copies[bytes]);
}

/* Sets for the sizes that are measured; *format: NULL if the user named none. */
static hu_status read_request(const hu_config *config, size_t memory_elements, hu_rate_set sets[2],
                              int *count, const char **format) {
    hu_status st = HU_OK;
    int64_t elements, threads = 1;
    HU_TRY(hu_config_text(config, "bench.format", format));
    if (!**format) *format = NULL;
    HU_TRY(hu_config_i64(config, "bench.elements", &elements));
    if (!hu_config_is_auto(config, "run.threads"))
        HU_TRY(hu_config_i64(config, "run.threads", &threads));
    *count = elements ? 1 : 2;
    for (int s = 0; s < *count; s++) {
        memset(&sets[s], 0, sizeof sets[s]);
        sets[s].elements = elements ? (size_t)elements : s ? memory_elements : CACHED_ELEMENTS;
        sets[s].threads = (int)threads;
    }
done:
    return st;
}

/* The next row of a set, all zero but for copied_bytes, those of a float32. HU_ERR_INTERNAL if
 * there is no place. */
static hu_status rate_add_row(hu_rate_set *set, hu_rate_row **row) {
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

/* The rows of a set, which may take its share of the time. */
static hu_status run_set(hu_bench *bench, const hu_rate_request *request, const char *only,
                         double share, hu_rate_set *set) {
    int64_t most = set->elements < TURN_ELEMENTS ? CACHED_TURNS : MEMORY_TURNS;
    hu_status st = add_formats(request, only, set);
    if (st != HU_OK) return st;
    const hu_bench_pace pace = hu_bench_pace_of(bench, share, most);
    st = measure(set, &pace);
    note_spreads(&bench->part, set);
    return st;
}

/* Measures the rows of format=, or of the request's formats, and prints them. elements= chooses one
 * size; else arrays of 4,096, which stay in the cache, and of memory_elements, which come from
 * memory: both rates are wanted. */
static hu_status rate_bench(hu_bench *bench, const hu_rate_request *request) {
    static const double small_share = 0.3;
    hu_status st = HU_OK;
    hu_rate_set *sets = NULL;
    const char *only;
    int count = 0;
    HU_TRY(HU_NEW_ARRAY(&sets, 2));
    HU_TRY(read_request(bench->config, request->memory_elements, sets, &count, &only));
    for (int s = 0; s < count; s++)
        HU_TRY(run_set(bench, request, only, s + 1 < count ? small_share : 1.0, &sets[s]));
    if (bench->part.form == HU_BENCH_JSON)
        bench->part.json = make_json(request->kernel, sets, count);
    else
        HU_TRY(tell_rows(&bench->part, sets, count));
done:
    for (int s = 0; s < count; s++) free_times(&sets[s]);
    hu_free(sets);
    return st;
}

/* ---- Uniform integers as rows of kernel=round and kernel=pack ---- */

static const hu_random_key uniform_key = {1, 2, 3};

/* Parts of an array are rows of their own length. */
static hu_uniformer of_part(const hu_rate_row *row, size_t n) {
    hu_uniformer part = row->uniformer;
    part.row_elements = (int64_t)n;
    return part;
}

static size_t uniform_byte_of(const hu_rate_row *row, size_t first) {
    return first / 8 * row->uniformer.bits;
}

static void range_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    float *ends = (float *)y + first, low = INFINITY, high = -INFINITY;
    (void)row;
    hu_uniform_range(n, (const float *)x + first, &low, &high);
    ends[0] = low;
    ends[n - 1] = high;
}

static void uniform_round_pass(const hu_rate_row *row, size_t first, size_t n, const void *x,
                               void *y) {
    hu_uniformer part = of_part(row, n);
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_uniform_round(&part, &row->uniform_scale, 1, (const float *)x + first, (float *)y + first,
                     &uniform_key, first, row->has_counters ? &counts : NULL);
}

static void uniform_pack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x,
                              void *y) {
    hu_uniformer part = of_part(row, n);
    hu_uniform_pack(&part, &row->uniform_scale, 1, (const float *)x + first,
                    (char *)y + uniform_byte_of(row, first), &uniform_key, first, NULL);
}

static void uniform_unpack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x,
                                void *y) {
    hu_uniformer part = of_part(row, n);
    hu_uniform_unpack(&part, &row->uniform_scale, x, (int64_t)first, n, (float *)y + first);
}

/* The range is that of the numbers of HU_RATE_GAUSSIAN, but for the farthest. */
static hu_status add_uniform_row(hu_rate_set *set, const char *name, hu_rounding rounding,
                                 const char *mode, hu_rate_pass *pass, bool has_counters) {
    const float end = 0.25f;
    hu_status st = HU_OK;
    hu_quantizer quantizer;
    hu_rate_row *row = NULL;
    HU_TRY(rate_add_row(set, &row));
    HU_TRY(hu_quantizer_parse(name, rounding, &quantizer));
    HU_TRY(hu_uniformer_init(&row->uniformer, quantizer.bits, rounding, 1, 0));
    row->uniform_scale = hu_uniform_scale_of(-end, end, quantizer.bits);
    hu_quantizer_print(&quantizer, row->format, sizeof row->format);
    snprintf(row->mode, sizeof row->mode, "%s", mode);
    row->pass = pass;
    row->data = pass == uniform_unpack_pass ? HU_RATE_BITS : HU_RATE_GAUSSIAN;
    row->has_counters = has_counters;
done:
    return st;
}

/* True if the text names uniform integers, or a block format. */
static bool bench_is(hu_quantizer_kind kind, const char *name) {
    hu_quantizer quantizer;
    return hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer) == HU_OK &&
           quantizer.kind == kind;
}

/* Rows of finding a range and of rounding in it. Errors as hu_quantizer_parse. */
static hu_status bench_round_uniform(hu_rate_set *set, const char *name) {
    static const hu_rounding modes[] = {HU_ROUND_NEAREST_EVEN, HU_ROUND_STOCHASTIC};
    hu_status st = HU_OK;
    HU_TRY(add_uniform_row(set, name, HU_ROUND_NEAREST_EVEN, "range", range_pass, false));
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (int counted = 0; counted < 2; counted++)
            HU_TRY(add_uniform_row(set, name, modes[m], hu_rounding_name(modes[m]),
                                   uniform_round_pass, counted != 0));
done:
    return st;
}

/* Rows of rounding into codes, and of the way back. */
static hu_status bench_pack_uniform(hu_rate_set *set, const char *name) {
    hu_status st = HU_OK;
    HU_TRY(
        add_uniform_row(set, name, HU_ROUND_NEAREST_EVEN, "round+pack", uniform_pack_pass, false));
    HU_TRY(add_uniform_row(set, name, HU_ROUND_NEAREST_EVEN, "unpack", uniform_unpack_pass, false));
done:
    return st;
}

/* ---- Tiles and blocks as rows of kernel=round and kernel=pack ---- */

enum { TILE_LINE = SHARE_UNIT };

/* A part of an array as a matrix of lines of 1,024, or as one line. */
static const hu_blocker *tiles_of_part(const hu_rate_row *row, size_t n, hu_blocker *room) {
    if (row->blocker.row_elements == (int64_t)n) return &row->blocker;
    *room = row->blocker;
    (void)hu_blocker_set_row(room, (int64_t)n, n % TILE_LINE ? (int64_t)n : TILE_LINE);
    return room;
}

static void tile_round_pass(const hu_rate_row *row, size_t first, size_t n, const void *x,
                            void *y) {
    hu_blocker room;
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_blocker_round(tiles_of_part(row, n, &room), row->tensor_scale, 1, (const float *)x + first,
                     (float *)y + first, &uniform_key, first, row->has_counters ? &counts : NULL);
}

/* Codes and scales of a part, from the place of its numbers on: they take less room than these. */
static void tile_pack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_blocker room;
    hu_blocker_pack(tiles_of_part(row, n, &room), row->tensor_scale, 1, (const float *)x + first,
                    (float *)y + first, &uniform_key, first, NULL);
}

static void tile_unpack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x,
                             void *y) {
    hu_blocker room;
    hu_blocker_unpack(tiles_of_part(row, n, &room), row->tensor_scale, (const float *)x + first, 0,
                      n, (float *)y + first);
}

/* The largest magnitude is nearly that of the numbers of HU_RATE_GAUSSIAN. */
static hu_status add_tile_row(hu_rate_set *set, const char *name, const char *mode,
                              hu_rate_pass *pass, bool has_counters) {
    const float top = 0.25f;
    hu_status st = HU_OK;
    hu_quantizer quantizer;
    hu_rate_row *row = NULL;
    int64_t n = (int64_t)set->elements;
    HU_TRY(rate_add_row(set, &row));
    HU_TRY(hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer));
    HU_TRY(hu_blocker_init(&row->blocker, &quantizer.block, quantizer.rounding, n,
                           n % TILE_LINE ? n : TILE_LINE));
    row->tensor_scale = hu_block_tensor_scale(&quantizer.block, hu_f32_bits(top));
    hu_quantizer_print(&quantizer, row->format, sizeof row->format);
    snprintf(row->mode, sizeof row->mode, "%s", mode ? mode : hu_rounding_name(quantizer.rounding));
    row->pass = pass;
    row->data = pass == tile_unpack_pass ? HU_RATE_BITS : HU_RATE_GAUSSIAN;
    row->has_counters = has_counters;
done:
    return st;
}

static hu_status bench_round_tiles(hu_rate_set *set, const char *name) {
    hu_status st = add_tile_row(set, name, NULL, tile_round_pass, false);
    return st != HU_OK ? st : add_tile_row(set, name, NULL, tile_round_pass, true);
}

static hu_status bench_pack_tiles(hu_rate_set *set, const char *name) {
    hu_status st = add_tile_row(set, name, "round+pack", tile_pack_pass, false);
    return st != HU_OK ? st : add_tile_row(set, name, "unpack", tile_unpack_pass, false);
}

/* ---- Halfulp bench kernel=round: rounding beside memcpy ---- */

/* The sequence of stochastic rounding is addressed by element, as in a training. */
static void round_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    static const hu_random_key round_key = {1, 2, 3};
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_rounder_run(&row->rounder, n, (const float *)x + first, (float *)y + first, &round_key,
                   first, row->has_counters ? &counts : NULL);
}

/* One format, mode and kind of numbers, with or without counters. */
static hu_status add_round_row(hu_rate_set *set, const char *name, hu_rounding rounding,
                               hu_rate_data data, bool has_counters) {
    hu_status st = HU_OK;
    hu_format format;
    hu_rate_row *row = NULL;
    HU_TRY(rate_add_row(set, &row));
    HU_TRY(hu_plain_format_parse(name, &format));
    HU_TRY(hu_format_print(&format, row->format, sizeof row->format));
    HU_TRY(hu_rounder_init(&row->rounder, &format, rounding));
    snprintf(row->mode, sizeof row->mode, "%s", hu_rounding_name(rounding));
    row->pass = round_pass;
    row->data = data;
    row->has_counters = has_counters;
done:
    return st;
}

/* Bare, and with the counters that a training keeps. */
static hu_status add_both(hu_rate_set *set, const char *name, hu_rounding rounding,
                          hu_rate_data data) {
    hu_status st = add_round_row(set, name, rounding, data, false);
    if (st == HU_OK) st = add_round_row(set, name, rounding, data, true);
    return st;
}

/* Of the first format every mode, bare and counted, nearest-even and stochastic also with numbers
 * of all exponents; of the others nearest-even. */
static hu_status add_modes(hu_rate_set *set, const char *name, bool is_first) {
    hu_status st = HU_OK;
    if (bench_is(HU_QUANTIZER_UNIFORM, name)) return bench_round_uniform(set, name);
    if (bench_is(HU_QUANTIZER_BLOCK, name)) return bench_round_tiles(set, name);
    if (!is_first) return add_both(set, name, HU_ROUND_NEAREST_EVEN, HU_RATE_GAUSSIAN);
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
        HU_TRY(add_both(set, name, (hu_rounding)mode, HU_RATE_GAUSSIAN));
    HU_TRY(add_both(set, name, HU_ROUND_STATED_BITS, HU_RATE_GAUSSIAN));
    HU_TRY(add_both(set, name, HU_ROUND_NEAREST_EVEN, HU_RATE_BITS));
    HU_TRY(add_both(set, name, HU_ROUND_STOCHASTIC, HU_RATE_BITS));
done:
    return st;
}

hu_status hu_bench_round(hu_bench *bench) {
    const hu_rate_request request = {"round", hu_rate_formats, HU_RATE_MEMORY_ELEMENTS, add_modes};
    return rate_bench(bench, &request);
}

/* ---- pack ---- */

/* Halfulp bench kernel=pack: packing, unpacking, and rounding with packing in one pass (encode)
 * beside memcpy of the float32 numbers. */

/* Byte at which code number first starts; first is a multiple of 8. */
static size_t byte_of(const hu_rate_row *row, size_t first) {
    return hu_packer_bytes(&row->packer, first);
}

/* The rate of packing does not depend on whether the numbers are members of the format. */
static void pack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_packer_pack(&row->packer, n, (const float *)x + first, (char *)y + byte_of(row, first),
                   NULL);
}

static void unpack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_packer_unpack(&row->packer, n, (const char *)x + byte_of(row, first), (float *)y + first);
}

/* What a training does with the rows that it stores: nearest-even, with all counters. */
static void encode_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    hu_encode(&row->rounder, &row->packer, n, (const float *)x + first, NULL,
              (char *)y + byte_of(row, first), NULL, first, &counts);
}

/* One pass of one format. */
static hu_status add_pack_row(hu_rate_set *set, const hu_format *format, int code_bits,
                              hu_rate_pass *pass, hu_rate_data data) {
    hu_status st = HU_OK;
    hu_rate_row *row = NULL;
    HU_TRY(rate_add_row(set, &row));
    HU_TRY(hu_format_print(format, row->format, sizeof row->format));
    HU_TRY(hu_packer_init(&row->packer, format, code_bits));
    HU_TRY(hu_rounder_init(&row->rounder, format, HU_ROUND_NEAREST_EVEN));
    row->has_counters = pass == encode_pass;
    const char *verb = pass == pack_pass ? "pack" : row->has_counters ? "encode" : "unpack";
    if (code_bits)
        snprintf(row->mode, sizeof row->mode, "%s%d", verb, code_bits);
    else
        snprintf(row->mode, sizeof row->mode, "%s dense", verb);
    row->pass = pass;
    row->data = data;
done:
    return st;
}

/* Both directions, and rounding with packing, in the unit that a tensor of this format is stored
 * in. Codes are read as a tensor has them, and every code as often. */
static hu_status add_format(hu_rate_set *set, const char *name, bool is_first) {
    hu_status st = HU_OK;
    hu_format format;
    (void)is_first;
    if (bench_is(HU_QUANTIZER_UNIFORM, name)) return bench_pack_uniform(set, name);
    if (bench_is(HU_QUANTIZER_BLOCK, name)) return bench_pack_tiles(set, name);
    HU_TRY(hu_plain_format_parse(name, &format));
    int bits = (int)hu_format_bits(&format), unit = bits <= 8 ? 8 : bits <= 16 ? 16 : 0;
    HU_TRY(add_pack_row(set, &format, unit, pack_pass, HU_RATE_GAUSSIAN));
    HU_TRY(add_pack_row(set, &format, unit, unpack_pass, HU_RATE_PACKED));
    HU_TRY(add_pack_row(set, &format, unit, unpack_pass, HU_RATE_BITS));
    HU_TRY(add_pack_row(set, &format, unit, encode_pass, HU_RATE_GAUSSIAN));
done:
    return st;
}

hu_status hu_bench_pack(hu_bench *bench) {
    const hu_rate_request request = {"pack", hu_rate_formats, HU_RATE_MEMORY_ELEMENTS, add_format};
    return rate_bench(bench, &request);
}

/* ---- Kernel=allreduce: the codes of a wire ---- */

/* The gradient of a ResNet-18: too large for the caches of one core. */
enum { MODEL_ELEMENTS = 11173962 };

/* From the first code of a share on. */
static char *codes_at(const hu_rate_row *row, void *codes, size_t first) {
    return (char *)codes + first * row->wire.code_bytes;
}

static const char *const_codes_at(const hu_rate_row *row, const void *codes, size_t first) {
    return (const char *)codes + first * row->wire.code_bytes;
}

static hu_round_counts *counts_of(const hu_rate_row *row, hu_round_counts *room) {
    hu_round_counts_clear(room);
    return row->has_counters ? room : NULL;
}

static void quantise_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_round_counts room;
    hu_wire_quantise(&row->wire, n, (const float *)x + first, row->scale, codes_at(row, y, first),
                     NULL, first, counts_of(row, &room));
}

static void add_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_round_counts room;
    hu_wire_add(&row->wire, n, const_codes_at(row, x, first), codes_at(row, y, first), NULL, first,
                counts_of(row, &room));
}

static void decode_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_wire_decode(&row->wire, n, const_codes_at(row, x, first), row->scale, (float *)y + first);
}

/* Shares begin at multiples of 8 elements, and so at whole bytes of the stream. */
static void wire_pack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y) {
    hu_wire_pack_bits(&row->wire, n, const_codes_at(row, x, first),
                      (char *)y + hu_wire_bytes(&row->wire, first));
}

static void wire_unpack_pass(const hu_rate_row *row, size_t first, size_t n, const void *x,
                             void *y) {
    hu_wire_unpack_bits(&row->wire, n, (const char *)x + hu_wire_bytes(&row->wire, first),
                        codes_at(row, y, first));
}

/* What is measured of every format. */
static const struct {
    const char *mode;
    hu_rate_pass *pass;
    hu_rate_data data;
    bool has_counters, has_floats;
} cases[] = {
    {"quantise", quantise_pass, HU_RATE_GAUSSIAN, false, true},
    {"quantise", quantise_pass, HU_RATE_GAUSSIAN, true, true},
    {"add", add_pass, HU_RATE_CODES, false, false},
    {"add", add_pass, HU_RATE_CODES, true, false},
    {"decode", decode_pass, HU_RATE_CODES, false, true},
    {"pack", wire_pack_pass, HU_RATE_CODES, false, false},
    {"unpack", wire_unpack_pass, HU_RATE_CODES, false, false},
};

/* A scale under which the largest of the numbers, below 2^-1, is at most 2^(emax-m-4): the same
 * number added again and again stops to count before its sum overflows, from 2^(m+2) times itself
 * on, so that every turn adds numbers. */
static int32_t scale_of(const hu_wire *wire) {
    hu_format_limits limits = hu_format_limits_of(&wire->format);
    return hu_wire_clamp(wire, -1 - (limits.emax - hu_format_precision(&wire->format) - 4));
}

static hu_status add_wire_format(hu_rate_set *set, const char *name, bool is_first) {
    hu_status st = HU_OK;
    hu_format format;
    hu_rate_row *row = NULL;
    (void)is_first;
    HU_TRY(hu_plain_format_parse(name, &format));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        HU_TRY(rate_add_row(set, &row));
        HU_TRY(hu_format_print(&format, row->format, sizeof row->format));
        HU_TRY(hu_wire_init(&row->wire, &format, HU_ROUND_NEAREST_EVEN));
        snprintf(row->mode, sizeof row->mode, "%s", cases[c].mode);
        row->pass = cases[c].pass;
        row->data = cases[c].data;
        row->has_counters = cases[c].has_counters;
        row->scale = scale_of(&row->wire);
        row->copied_bytes = cases[c].has_floats ? sizeof(float) : row->wire.code_bytes;
    }
done:
    return st;
}

hu_status hu_bench_allreduce(hu_bench *bench) {
    static const char *const formats[] = {"e5m2", "e4m3", "e3m0", "1/6/9/d", "bf16", "fp32", NULL};
    const hu_rate_request request = {"allreduce", formats, MODEL_ELEMENTS, add_wire_format};
    return rate_bench(bench, &request);
}
