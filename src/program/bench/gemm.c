#include "bench/gemm.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cpu.h"
#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/rng.h"
#include "base/text.h"
#include "bench/bench.h"
#include "kernel/gemm/kernel.h"
#include "kernel/peak/peak.h"
#include "kernel/round/round.h"
#include "product/onednn.h"
#include "render/table.h"

/* ---- accumulators ---- */

/* What the verbs that compare accumulators share: their list and their data.
 */

enum { TEXT_MOST = 160 };

/* All modes, in the format of the 1/6/9 study. */
static const char usual[] =
    "fmacs,macs:1/6/9,fmac:1/6/9,mac:1/6/9,fmac8:1/6/9,kahan:1/6/9,kahan-cpd:1/6/9";

/* "fmacs", "fmac", "fmac8", "kahan-cpd", ... without the format. text: at least 96
 * bytes. */
static void accumulator_mode_text(const hu_accumulator *accumulator, char *text, size_t capacity) {
    if (accumulator->mac == HU_MAC_FMAC_K)
        snprintf(text, capacity, "fmac%" PRId64, accumulator->block);
    else if (accumulator->mac == HU_MAC_TC)
        hu_accumulator_print(accumulator, text, (uint32_t)capacity);
    else
        snprintf(text, capacity, "%s", hu_mac_name(accumulator->mac));
}

/* A tensor core's sums are the same in all. */
static bool is_wanted(hu_mac mac, hu_semantics semantics, const bool *wanted) {
    return mac == HU_MAC_TC ? semantics == HU_SEMANTICS_EXACT : wanted[semantics];
}

/* "promote=128": an option and its "=" before anything else. */
static bool is_option(const char *word) {
    size_t letters = strspn(word, "KFabcdefghijklmnopqrstuvwxyz");
    return letters > 0 && word[letters] == '=';
}

/* Options of a tensor core may follow commas. */
static size_t accumulator_word_at(const char **text, const char **end) {
    size_t length = hu_list_word_at(text, end);
    bool is_core = strncasecmp(*text, "tc:", 3) == 0;
    while (is_core && **end == ',') {
        const char *next = *end + 1, *after;
        size_t more = hu_list_word_at(&next, &after);
        if (!is_option(next)) break;
        length = (size_t)(next - *text) + more;
        *end = after;
    }
    return length;
}

/* One accumulator of the list, in each of the semantics that are wanted. */
static hu_status add_word(const char *word, size_t length, const bool *wanted,
                          hu_accumulator_list *list) {
    char text[TEXT_MOST + 1];
    hu_accumulator accumulator;
    if (length > TEXT_MOST)
        return hu_fail(HU_ERR_PARSE, "accumulator '%.32s...' has %zu characters, at most %d", word,
                       length, TEXT_MOST);
    snprintf(text, sizeof text, "%.*s", (int)length, word);
    hu_status st = hu_accumulator_parse(text, &accumulator);
    for (int semantics = 0; st == HU_OK && semantics < HU_SEMANTICS_COUNT; semantics++) {
        if (!is_wanted(accumulator.mac, (hu_semantics)semantics, wanted)) continue;
        if (list->count == HU_ACCUMULATORS_MOST)
            return hu_fail(HU_ERR_LIMIT, "more than %d accumulators", HU_ACCUMULATORS_MOST);
        accumulator.semantics = (hu_semantics)semantics;
        list->items[list->count++] = accumulator;
    }
    return st;
}

hu_status hu_accumulator_list_read(const hu_config *config, hu_accumulator_list *list) {
    hu_status st = HU_OK;
    const char *text = usual, *semantics;
    /* cpd's sums are f32fma's but for infinities: only where it is asked for. */
    bool wanted[HU_SEMANTICS_COUNT] = {[HU_SEMANTICS_EXACT] = true, [HU_SEMANTICS_F32FMA] = true};
    list->count = 0;
    if (hu_config_given(config, "accumulator.name"))
        HU_TRY(hu_config_text(config, "accumulator.name", &text));
    HU_TRY(hu_config_text(config, "accumulator.semantics", &semantics));
    if (hu_config_given(config, "accumulator.semantics"))
        for (int i = 0; i < HU_SEMANTICS_COUNT; i++)
            wanted[i] = strcmp(semantics, hu_semantics_name((hu_semantics)i)) == 0;
    for (;;) {
        const char *end;
        size_t length = accumulator_word_at(&text, &end);
        HU_TRY(add_word(text, length, wanted, list));
        if (*end == '\0') break;
        text = end + 1;
    }
done:
    return st;
}

hu_status hu_threads_read(hu_config *config, int *threads) {
    hu_status st = HU_OK;
    int64_t value;
    char text[24];
    snprintf(text, sizeof text, "%d", omp_get_num_procs());
    HU_TRY(hu_config_set(config, "run.threads", text, "machine"));
    HU_TRY(hu_config_i64(config, "run.threads", &value));
    *threads = (int)value;
done:
    return st;
}

void hu_factor_fill(const char *kind, uint64_t seed, const char *name, int64_t n, float *x) {
    /* Random numbers by element: threads do not change them. */
    const hu_random_key key = {.seed = seed, .stream = hu_stream_id("gemm", name)};
    bool is_uniform = strcmp(kind, "uniform") == 0, is_lognormal = strcmp(kind, "lognormal") == 0;
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        if (is_uniform)
            x[i] = 2.0f * hu_random_uniform(&key, (uint64_t)i) - 1.0f;
        else
            x[i] = hu_random_normal(&key, (uint64_t)i);
        if (is_lognormal) x[i] = (float)hu_exp((double)x[i]);
    }
}

/* ---- What was measured ---- */

enum { MODE_BYTES = 96, FORMAT_BYTES = HU_FORMAT_TEXT_BYTES };

/* One product measured beside a reference in the same run. Rates in 10^9 multiply-adds a second;
 * peak: of that many threads. */
typedef struct product_row {
    char mode[MODE_BYTES], format[FORMAT_BYTES];
    const char *semantics, *reference;
    int64_t m, n, k;
    int threads;
    double rate, reference_rate, peak;
    double instructions;             /* as below; NaN: not counted */
    double spread, reference_spread; /* as hu_bench_times_spread */
    int64_t turns;
} product_row;

/* The bare kernel of one tile in the first-level cache, on one core. */
typedef struct tile_row {
    char mode[MODE_BYTES];
    int rows, columns;
    double instructions; /* instructions_of: peak over these is the bound */
    double rate, peak, spread;
} tile_row;

/* All that was measured. */
typedef struct gemm_rows {
    const product_row *rows;
    const tile_row *tiles;
    int count, tile_count;
    int left_out; /* rows for which there was no time */
} gemm_rows;

/* ---- gemm tile ---- */

/* Bench kernel=gemm: the micro-kernels alone, beside the peak of one core. */

/* Panels of TERMS terms and the state of a tile fit the first-level cache. */
enum { TERMS = 256, MOST_FLOATS = 4096, TURNS = 40, RUNS = 40, PEAK_MACS = 5000000 };

/* Vector instructions for 1 multiply-add in each lane, loads apart, and those of them that
 * multiply, of the mean of a pair (kernel/gemm/step.inc): R of any number is and, max, fma, fnma,
 * or with AVX-512 range, then fms, fms for one and add, sub, sub for the other (MAC: fms twice); R
 * of sums is mul, fms for one and add, sub, sub for the other. Source: counted in the kernels. */
typedef struct instruction_count {
    double all, multiplying;
} instruction_count;

static const instruction_count instructions[HU_MAC_COUNT] = {
    [HU_MAC_FMACS] = {1, 1},      [HU_MAC_MACS] = {6, 3},   [HU_MAC_FMAC] = {5, 3},
    [HU_MAC_MAC] = {8.5, 4},      [HU_MAC_FMAC_K] = {5, 3}, [HU_MAC_KAHAN] = {15.5, 6},
    [HU_MAC_KAHAN_CPD] = {19, 7}, [HU_MAC_TC] = {6, 3},
};

static const instruction_count instructions_avx512[HU_MAC_COUNT] = {
    [HU_MAC_FMACS] = {1, 1},        [HU_MAC_MACS] = {5.5, 2},   [HU_MAC_FMAC] = {4.5, 2},
    [HU_MAC_MAC] = {7.5, 4},        [HU_MAC_FMAC_K] = {4.5, 2}, [HU_MAC_KAHAN] = {15, 5},
    [HU_MAC_KAHAN_CPD] = {18.5, 6}, [HU_MAC_TC] = {6, 3},
};

/* As many multiply-adds of the bare peak as one of the accumulator in f32fma takes at least: its
 * instructions that multiply, or all of them where the machine's units for others are the fewer
 * (peak over mixed). NaN in other semantics, whose kernels have not been counted. */
static double instructions_of(const hu_accumulator *accumulator, const hu_bench_machine *machine) {
    bool has_blocks = accumulator->mac == HU_MAC_FMAC_K; /* one more for each block */
    const instruction_count *table =
        hu_cpu_isa() >= HU_ISA_AVX512 ? instructions_avx512 : instructions;
    double all =
        table[accumulator->mac].all + (has_blocks ? 1.0 / (double)accumulator->block : 0.0);
    if (accumulator->semantics != HU_SEMANTICS_F32FMA || accumulator->mac == HU_MAC_TC)
        return (double)NAN;
    return fmax(table[accumulator->mac].multiplying, all * machine->peak / machine->mixed);
}

typedef struct tile_memory {
    _Alignas(64) float a[MOST_FLOATS * 2], b[MOST_FLOATS * 2], sum[MOST_FLOATS], extra[MOST_FLOATS];
} tile_memory;

/* Small numbers with few bits: nothing overflows, nothing is subnormal. */
static void fill(float *x, int count, int step) {
    for (int i = 0; i < count; i++) x[i] = (float)(i * step % 17 - 8) / 8.0f;
}

/* The kernel and the loop of the peak in turns: 10^9 multiply-adds per second, of the best turn of
 * the one and the first quartile of the other. */
static hu_status measure(const hu_gemm_kernel *kernel, const hu_gemm_tile *tile, tile_row *row) {
    hu_status st = HU_OK;
    hu_bench_times times = {0}, peaks = {0};
    uint64_t done = 0;
    float sink;
    for (int turn = 0; turn < TURNS; turn++) {
        double start = hu_bench_seconds(1);
        for (int run = 0; run < RUNS; run++) kernel->run(tile);
        double end = hu_bench_seconds(1);
        done = hu_peak_run(PEAK_MACS, &sink);
        HU_TRY(hu_bench_times_add(&peaks, hu_bench_seconds(1) - end));
        HU_TRY(hu_bench_times_add(&times, end - start));
    }
    double macs = (double)(kernel->rows * kernel->columns * TERMS) * RUNS;
    row->rate = 1e-9 * macs / times.best;
    row->peak = 1e-9 * (double)done / hu_bench_times_quartile(&peaks);
    row->spread = hu_bench_times_spread(&times);
done:
    hu_bench_times_free(&times);
    hu_bench_times_free(&peaks);
    return st;
}

/* The shape that products of f32fma get where none has padding. */
static hu_gemm_kernel best_kernel(hu_mac mac) {
    const bool is_rounded = mac != HU_MAC_FMACS && mac != HU_MAC_TC;
    const hu_gemm_class class = is_rounded ? HU_GEMM_SHORT_FAST : HU_GEMM_FAST;
    hu_gemm_kernel best = {0};
    for (int shape = 0; shape < HU_GEMM_SHAPE_COUNT; shape++) {
        hu_gemm_kernel kernel =
            hu_gemm_kernel_of(hu_cpu_isa(), mac, HU_GEMM_F32, class, (hu_gemm_shape)shape);
        if (kernel.run && (!best.run || kernel.cost < best.cost)) best = kernel;
    }
    return best;
}

/* Whether this machine has a float32 kernel of `accumulator` that keeps subnormals and proves
 * overflow away. Measures it then. HU_ERR_MEMORY. */
static hu_status measure_tile(const hu_accumulator *accumulator, const hu_bench_machine *machine,
                              bool *is_present, tile_row *row) {
    tile_memory memory;
    hu_gemm_constants constants;
    hu_gemm_kernel kernel = best_kernel(accumulator->mac);
    *is_present = kernel.run && kernel.rows * TERMS <= 2 * MOST_FLOATS &&
                  kernel.columns * TERMS <= 2 * MOST_FLOATS &&
                  kernel.rows * kernel.columns <= MOST_FLOATS;
    if (!*is_present) return HU_OK;
    fill(memory.a, kernel.rows * TERMS, 5);
    fill(memory.b, kernel.columns * TERMS, 3);
    memset(memory.sum, 0, sizeof memory.sum);
    memset(memory.extra, 0, sizeof memory.extra);
    hu_gemm_constants_init(accumulator, &constants);
    const hu_gemm_tile tile = {.k = TERMS,
                               .a = memory.a,
                               .b = memory.b,
                               .sum = memory.sum,
                               .extra = memory.extra,
                               .ld = kernel.columns,
                               .constants = &constants};
    *row = (tile_row){.rows = kernel.rows,
                      .columns = kernel.columns,
                      .instructions = instructions_of(accumulator, machine)};
    accumulator_mode_text(accumulator, row->mode, sizeof row->mode);
    return measure(&kernel, &tile, row);
}

/* ---- Bench kernel=gemm: its rows as tables and as JSON ---- */

static json_t *product_json(const product_row *row) {
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}",
        "mode", row->mode, "semantics", row->semantics, "format", row->format, "m",
        (json_int_t)row->m, "n", (json_int_t)row->n, "k", (json_int_t)row->k, "threads",
        row->threads, "gmacs_per_second", hu_json_number(row->rate), "reference", row->reference,
        "reference_gmacs_per_second", hu_json_number(row->reference_rate), "ratio",
        hu_json_number(row->rate / row->reference_rate), "peak_gmacs_per_second",
        hu_json_number(row->peak), "share_of_peak", hu_json_number(row->rate / row->peak),
        "share_of_bound", hu_json_number(row->rate * row->instructions / row->peak), "turns",
        (json_int_t)row->turns, "spread", hu_json_number(row->spread), "reference_spread",
        hu_json_number(row->reference_spread));
}

static json_t *tile_json(const tile_row *row) {
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "mode", row->mode, "rows",
                     row->rows, "columns", row->columns, "gmacs_per_second",
                     hu_json_number(row->rate), "peak_gmacs_per_second", hu_json_number(row->peak),
                     "bound_instructions", hu_json_number(row->instructions), "share_of_bound",
                     hu_json_number(row->rate * row->instructions / row->peak), "spread",
                     hu_json_number(row->spread));
}

static json_t *bench_gemm_json(const gemm_rows *all) {
    json_t *rows = json_array(), *tiles = json_array();
    bool is_single = all->count > 0 && all->rows[0].threads == 1;
    for (int i = 0; i < all->count; i++) json_array_append_new(rows, product_json(&all->rows[i]));
    for (int i = 0; i < all->tile_count; i++)
        json_array_append_new(tiles, tile_json(&all->tiles[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:i}", "kernel", "gemm", "clock",
                     is_single ? "thread" : "wall", "isa", hu_isa_name(hu_cpu_isa()), "rows", rows,
                     "micro_kernels", tiles, "left_out", all->left_out);
}

static hu_status add_product_row(hu_table *table, const product_row *row) {
    hu_status st = HU_OK;
    HU_TRY(hu_table_cell(table, "%s", row->mode));
    HU_TRY(hu_table_cell(table, "%s", row->semantics));
    HU_TRY(hu_table_cell(table, "%s", row->format));
    HU_TRY(hu_table_cell(table, "%lld", (long long)row->m));
    HU_TRY(hu_table_cell(table, "%lld", (long long)row->n));
    HU_TRY(hu_table_cell(table, "%lld", (long long)row->k));
    HU_TRY(hu_table_cell(table, "%.2f", row->rate));
    HU_TRY(hu_table_cell(table, "%.2f", row->reference_rate));
    HU_TRY(hu_table_cell(table, "%.3f", row->rate / row->reference_rate));
    HU_TRY(hu_table_cell(table, "%.3f", row->rate / row->peak));
    if (isnan(row->instructions))
        HU_TRY(hu_table_cell(table, "-"));
    else
        HU_TRY(hu_table_cell(table, "%.3f", row->rate * row->instructions / row->peak));
    HU_TRY(hu_bench_spread_cell(table, row->spread));
done:
    return st;
}

static hu_status tell_products(const gemm_rows *all, hu_bench_part *part) {
    static const char *const titles[] = {"mode",  "semantics", "format",   "m",
                                         "n",     "k",         "GMAC/s",   "beside",
                                         "ratio", "of peak",   "of bound", "spread %"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < all->count; i++) HU_TRY(add_product_row(table, &all->rows[i]));
    HU_TRY(hu_bench_tell_table(part, table));
    HU_TRY(hu_bench_tell(part,
                         "beside dnnl_sgemm, in turns, %d threads; quantise+fmacs beside a "
                         "rounding pass and dnnl_sgemm",
                         all->count > 0 ? all->rows[0].threads : 0));
    HU_TRY(hu_bench_tell(part, "bound: the peak over the instructions that a multiply-add of the "
                               "accumulator takes, by those that multiply or by all, with the "
                               "machine's rates of both"));
    if (all->left_out > 0)
        HU_TRY(hu_bench_tell(part, "%d rows are left out for want of time: seconds=N gives more",
                             all->left_out));
done:
    hu_table_free(table);
    return st;
}

static hu_status tell_tiles(const gemm_rows *all, hu_bench_part *part) {
    static const char *const titles[] = {"tile",    "rows",     "columns", "GMAC/s",
                                         "of peak", "of bound", "spread %"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < all->tile_count; i++) {
        const tile_row *row = &all->tiles[i];
        HU_TRY(hu_table_cell(table, "%s", row->mode));
        HU_TRY(hu_table_cell(table, "%d", row->rows));
        HU_TRY(hu_table_cell(table, "%d", row->columns));
        HU_TRY(hu_table_cell(table, "%.2f", row->rate));
        HU_TRY(hu_table_cell(table, "%.3f", row->rate / row->peak));
        HU_TRY(hu_table_cell(table, "%.3f", row->rate * row->instructions / row->peak));
        HU_TRY(hu_bench_spread_cell(table, row->spread));
    }
    HU_TRY(hu_bench_tell_table(part, table));
    HU_TRY(hu_bench_tell(part, "kernels alone, one core, f32fma"));
done:
    hu_table_free(table);
    return st;
}

/* The rows for people, and as the object of --json. */
static hu_status bench_gemm_tell(const gemm_rows *all, hu_bench_part *part) {
    hu_status st = tell_products(all, part);
    if (st == HU_OK && all->tile_count > 0) st = tell_tiles(all, part);
    return st;
}

/* ---- gemm ---- */

enum { MOST_CONTESTANTS = HU_ACCUMULATORS_MOST + 4, MOST_TURNS = 40, ROUND_CHUNK = 16384 };

/* Seconds that a contestant may take for one shape beyond its first turns. */
static const double time_limit = 0.4;

/* What every shape needs beside its multiply-adds, in 10^9 of them: a share of the time for small
 * ones. */
static const double shape_cost = 0.3;

typedef struct shape {
    int64_t m, n, k;
    bool has_quantised; /* the product with rounding of its factors too */
} shape;

/* The products of ResNet-20 and ResNet-18, forward by stages and weight gradients, and squares: the
 * longest ones last, of which the others tell how long they take. */
static const shape usual_shapes[] = {
    {16, 32768, 144, true},    {32, 16384, 288, true},   {64, 8192, 576, true},
    {16, 144, 32768, true},    {64, 576, 8192, true},    {64, 12544, 576, true},
    {512, 392, 4608, true},    {512, 4608, 392, true},   {512, 512, 512, false},
    {1024, 1024, 1024, false}, {2048, 2048, 2048, false}};

typedef struct bench bench;

/* One that takes turns. */
typedef struct contestant {
    hu_status (*run)(bench *b, struct contestant *self);
    const struct contestant *reference; /* NULL: not a row */
    hu_accumulator accumulator;
    bool quantises;
    int index;     /* of the list of accumulators */
    double work;   /* multiply-adds of a turn */
    double waited; /* seconds of the clock in its turns */
    hu_bench_times times;
    void *scratch;
} contestant;

/* The numbers of all shapes: a [m][k], b [k][n]; raw, and members of the format. */
struct bench {
    hu_accumulator_list list;
    hu_format format; /* of the factors: that of the first accumulator with one, else 1/6/9 */
    hu_bench *bench;
    int threads;
    shape shapes[sizeof usual_shapes / sizeof *usual_shapes];
    int shape_count;
    float *a, *b, *raw_a, *raw_b, *rounded_a, *rounded_b, *c;
    shape now;
    contestant contestants[MOST_CONTESTANTS];
    int contestant_count;
    product_row *rows;
    int row_count, left_out;
    double pace[HU_ACCUMULATORS_MOST]; /* seconds of the clock for a multiply-add, as last measured;
                                          0: not yet */
    double planned;                    /* seconds of a turn of all that have been entered */
    float sink;                        /* of the peak */
};

/* Multiply-adds in registers, by as many threads as the products have. */
static hu_status run_peak(bench *b, contestant *self) {
    uint64_t done = 0;
    float sink = 0.0f;
#pragma omp parallel num_threads(b->threads) reduction(+ : done, sink)
    {
        float own;
        done += hu_peak_run(5000000, &own);
        sink += own;
    }
    self->work = (double)done;
    b->sink = sink;
    return HU_OK;
}

static hu_status run_sgemm(bench *b, contestant *self) {
    (void)self;
    return hu_dnn_sgemm(b->now.m, b->now.n, b->now.k, b->a, b->b, b->c, b->threads);
}

/* Rounds n numbers, in pieces that threads share. */
static void round_pass(const bench *b, const hu_rounder *rounder, int64_t n, const float *x,
                       float *y) {
#pragma omp parallel for num_threads(b->threads) schedule(static)
    for (int64_t at = 0; at < n; at += ROUND_CHUNK) {
        int64_t count = n - at < ROUND_CHUNK ? n - at : ROUND_CHUNK;
        hu_rounder_run(rounder, (size_t)count, &x[at], &y[at], NULL, 0, NULL);
    }
}

/* What a program without our products does: round both factors, then multiply. */
static hu_status run_rounded_sgemm(bench *b, contestant *self) {
    hu_rounder rounder;
    hu_status st = hu_rounder_init(&rounder, &b->format, HU_ROUND_NEAREST_EVEN);
    (void)self;
    if (st != HU_OK) return st;
    round_pass(b, &rounder, b->now.m * b->now.k, b->raw_a, b->rounded_a);
    round_pass(b, &rounder, b->now.k * b->now.n, b->raw_b, b->rounded_b);
    return hu_dnn_sgemm(b->now.m, b->now.n, b->now.k, b->rounded_a, b->rounded_b, b->c, b->threads);
}

/* a [m][k] and b [k][n] as they lie, c [m][n]; with rounding the raw factors and the format. */
static hu_gemm_task task_of(const bench *b, const contestant *self) {
    const hu_format *format = self->quantises ? &b->format : NULL;
    return (hu_gemm_task){.m = b->now.m,
                          .n = b->now.n,
                          .k = b->now.k,
                          .a = {.data = self->quantises ? b->raw_a : b->a,
                                .stride = b->now.k,
                                .k_stride = 1,
                                .format = format},
                          .b = {.data = self->quantises ? b->raw_b : b->b,
                                .stride = 1,
                                .k_stride = b->now.n,
                                .format = format},
                          .accumulator = self->accumulator,
                          .c = b->c,
                          .c_stride = b->now.n,
                          .threads = b->threads,
                          .scratch = self->scratch};
}

static hu_status run_product(bench *b, contestant *self) {
    const hu_gemm_task task = task_of(b, self);
    return hu_gemm(&task);
}

/* Adds one that takes turns, of the shape at hand. */
static contestant *enter(bench *b, hu_status (*run)(bench *, contestant *)) {
    contestant *c = &b->contestants[b->contestant_count++];
    *c = (contestant){.run = run, .work = (double)b->now.m * (double)b->now.n * (double)b->now.k};
    return c;
}

/* Whether one turn of it, as long as its others lead to expect, would end in time. */
static bool has_time(bench *b, int index) {
    double work = (double)b->now.m * (double)b->now.n * (double)b->now.k;
    double seconds = b->pace[index] * work;
    bool is_late = hu_seconds_now() + b->planned + seconds > b->bench->until;
    if (seconds > 0 && is_late && b->bench->repeat == 0) return false;
    b->planned += seconds;
    return true;
}

static hu_status enter_product(bench *b, int index, const contestant *reference, bool quantises) {
    if (!has_time(b, index)) {
        b->left_out++;
        return HU_OK;
    }
    contestant *c = enter(b, run_product);
    size_t bytes;
    c->index = index;
    c->accumulator = b->list.items[index];
    c->reference = reference;
    c->quantises = quantises;
    const hu_gemm_task task = task_of(b, c);
    hu_status st = hu_gemm_scratch_bytes(&task, &bytes);
    return st == HU_OK ? hu_alloc(bytes, &c->scratch) : st;
}

/* The peak, the references, then every accumulator. fmacs also with rounding while it packs, beside
 * the reference that rounds before. */
static hu_status enter_all(bench *b) {
    hu_status st = HU_OK;
    const contestant *sgemm, *rounded = NULL;
    b->contestant_count = 0;
    b->planned = 0;
    enter(b, run_peak);
    sgemm = enter(b, run_sgemm);
    if (b->now.has_quantised) rounded = enter(b, run_rounded_sgemm);
    for (int i = 0; i < b->list.count; i++) {
        HU_TRY(enter_product(b, i, sgemm, false));
        if (b->list.items[i].mac != HU_MAC_FMACS || !rounded) continue;
        HU_TRY(enter_product(b, i, rounded, true));
        rounded = NULL;
    }
done:
    return st;
}

static hu_status take_turn(bench *b, contestant *c) {
    double begun = hu_seconds_now(), start = hu_bench_seconds(b->threads);
    hu_status st = c->run(b, c);
    double seconds = hu_bench_seconds(b->threads) - start;
    c->waited += hu_seconds_now() - begun;
    if (st == HU_OK) st = hu_bench_times_add(&c->times, seconds);
    return st;
}

/* Whether any that is no reference takes another turn. */
static bool is_open(const bench *b, const hu_bench_pace *pace) {
    for (int i = 0; i < b->contestant_count; i++)
        if (b->contestants[i].reference && hu_bench_takes(pace, &b->contestants[i].times))
            return true;
    return false;
}

/* References take every turn, others until their time is up. */
static hu_status take_turns(bench *b, const hu_bench_pace *pace) {
    while (is_open(b, pace))
        for (int i = 0; i < b->contestant_count; i++) {
            contestant *c = &b->contestants[i];
            if (c->reference && !hu_bench_takes(pace, &c->times)) continue;
            hu_status st = take_turn(b, c);
            if (st != HU_OK) return st;
        }
    return HU_OK;
}

static double rate_of(const contestant *c) {
    return 1e-9 * c->work / c->times.best;
}

/* This one's share of the time, by multiply-adds. */
static hu_bench_pace pace_of(const bench *b, const shape *now) {
    double all = 0, own = 0;
    for (const shape *s = now; s < b->shapes + b->shape_count; s++) {
        double cost = shape_cost + 1e-9 * (double)s->m * (double)s->n * (double)s->k;
        if (s == now) own = cost;
        all += cost;
    }
    hu_bench_pace pace = hu_bench_pace_of(b->bench, own / all, MOST_TURNS);
    pace.limit = fmin(time_limit, fmax(0, pace.until - hu_seconds_now()) / b->contestant_count);
    return pace;
}

static hu_status put_row(bench *b, contestant *c) {
    contestant *reference = &b->contestants[c->reference - b->contestants];
    product_row *row = &b->rows[b->row_count++];
    const hu_format *format = c->quantises                         ? &b->format
                              : c->accumulator.mac == HU_MAC_FMACS ? NULL
                                                                   : &c->accumulator.format;
    *row = (product_row){.semantics = hu_semantics_name(c->accumulator.semantics),
                         .reference = c->quantises ? "hu_round_f32 + dnnl_sgemm" : "dnnl_sgemm",
                         .m = b->now.m,
                         .n = b->now.n,
                         .k = b->now.k,
                         .threads = b->threads,
                         .rate = rate_of(c),
                         .reference_rate = rate_of(reference),
                         .peak = rate_of(&b->contestants[0]),
                         .instructions = instructions_of(&c->accumulator, b->bench->machine),
                         .turns = (int64_t)c->times.count,
                         .spread = hu_bench_times_spread(&c->times),
                         .reference_spread = hu_bench_times_spread(&reference->times)};
    b->pace[c->index] = c->waited / (double)c->times.count / c->work;
    hu_bench_note_spread(&b->bench->part, row->spread, row->reference_spread);
    accumulator_mode_text(&c->accumulator, row->mode, sizeof row->mode);
    if (c->quantises) snprintf(row->mode, sizeof row->mode, "quantise+fmacs");
    snprintf(row->format, sizeof row->format, "fp32");
    return format ? hu_format_print(format, row->format, sizeof row->format) : HU_OK;
}

/* One shape from entry to rows. */
static hu_status run_shape(bench *b, const shape *now) {
    hu_status st = HU_OK;
    b->now = *now;
    HU_TRY(enter_all(b));
    const hu_bench_pace pace = pace_of(b, now);
    HU_TRY(take_turns(b, &pace));
    for (int i = 0; i < b->contestant_count; i++)
        if (b->contestants[i].reference) HU_TRY(put_row(b, &b->contestants[i]));
done:
    for (int i = 0; i < b->contestant_count; i++) {
        hu_free(b->contestants[i].scratch);
        hu_bench_times_free(&b->contestants[i].times);
    }
    b->contestant_count = 0;
    return st;
}

/* One shape of the keys m, n, k (512 where left open), or the usual ones if all are. */
static hu_status choose_shapes(const hu_config *config, bench *b) {
    static const char *const keys[] = {"gemm.m", "gemm.n", "gemm.k"};
    hu_status st = HU_OK;
    int64_t extents[3] = {512, 512, 512};
    bool is_given = false;
    for (int i = 0; i < 3; i++) {
        if (hu_config_is_auto(config, keys[i])) continue;
        is_given = true;
        HU_TRY(hu_config_i64(config, keys[i], &extents[i]));
    }
    b->shape_count = is_given ? 1 : (int)(sizeof usual_shapes / sizeof *usual_shapes);
    for (int i = 0; i < b->shape_count; i++) b->shapes[i] = usual_shapes[i];
    if (is_given) b->shapes[0] = (shape){extents[0], extents[1], extents[2], true};
done:
    return st;
}

/* The format that factors are members of: that of the first accumulator which has one. */
static hu_status choose_format(bench *b) {
    for (int i = 0; i < b->list.count; i++)
        if (b->list.items[i].mac != HU_MAC_FMACS) {
            b->format = b->list.items[i].format;
            return HU_OK;
        }
    return hu_format_parse("1/6/9", &b->format);
}

/* Room for the largest of all shapes, filled once. */
static hu_status allocate(bench *b) {
    hu_status st = HU_OK;
    size_t a = 0, n = 0, c = 0;
    for (int i = 0; i < b->shape_count; i++) {
        const shape *s = &b->shapes[i];
        if ((size_t)(s->m * s->k) > a) a = (size_t)(s->m * s->k);
        if ((size_t)(s->k * s->n) > n) n = (size_t)(s->k * s->n);
        if ((size_t)(s->m * s->n) > c) c = (size_t)(s->m * s->n);
    }
    float **of_a[] = {&b->a, &b->raw_a, &b->rounded_a},
          **of_b[] = {&b->b, &b->raw_b, &b->rounded_b};
    for (int i = 0; i < 3; i++) {
        HU_TRY(HU_NEW_ARRAY(of_a[i], a));
        HU_TRY(HU_NEW_ARRAY(of_b[i], n));
    }
    HU_TRY(HU_NEW_ARRAY(&b->c, c));
    HU_TRY(HU_NEW_ARRAY(&b->rows, (size_t)b->shape_count * MOST_CONTESTANTS));
    hu_factor_fill("normal", 1, "a", (int64_t)a, b->raw_a);
    hu_factor_fill("normal", 1, "b", (int64_t)n, b->raw_b);
    HU_TRY(hu_round_f32(a, b->raw_a, b->a, &b->format, HU_ROUND_NEAREST_EVEN, NULL, 0, NULL));
    HU_TRY(hu_round_f32(n, b->raw_b, b->b, &b->format, HU_ROUND_NEAREST_EVEN, NULL, 0, NULL));
done:
    return st;
}

static void release(bench *b) {
    float *floats[] = {b->a, b->b, b->raw_a, b->raw_b, b->rounded_a, b->rounded_b, b->c};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) hu_free(floats[i]);
    hu_free(b->rows);
}

/* The micro-kernels of the accumulators, whose rate bounds that of products. */
static hu_status measure_tiles(bench *b, tile_row *tiles, int *count) {
    hu_status st = HU_OK;
    bool is_present;
    *count = 0;
    for (int i = 0; i < b->list.count; i++) {
        if (b->list.items[i].semantics != HU_SEMANTICS_F32FMA) continue;
        HU_TRY(measure_tile(&b->list.items[i], b->bench->machine, &is_present, &tiles[*count]));
        if (!is_present) continue;
        hu_bench_note_spread(&b->bench->part, tiles[(*count)++].spread, 0.0);
    }
done:
    return st;
}

hu_status hu_bench_gemm(hu_bench *request) {
    hu_status st = HU_OK;
    bench b = {.bench = request};
    tile_row tiles[HU_ACCUMULATORS_MOST];
    int tile_count;
    HU_TRY(hu_accumulator_list_read(request->config, &b.list));
    HU_TRY(hu_threads_read(request->config, &b.threads));
    HU_TRY(choose_shapes(request->config, &b));
    HU_TRY(choose_format(&b));
    HU_TRY(allocate(&b));
    for (int i = 0; i < b.shape_count; i++) HU_TRY(run_shape(&b, &b.shapes[i]));
    HU_TRY(measure_tiles(&b, tiles, &tile_count));
    const gemm_rows all = {b.rows, tiles, b.row_count, tile_count, b.left_out};
    if (request->part.form == HU_BENCH_JSON)
        request->part.json = bench_gemm_json(&all);
    else
        HU_TRY(bench_gemm_tell(&all, &request->part));
done:
    release(&b);
    return st;
}
