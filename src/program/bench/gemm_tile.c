#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "bench/gemm.h"
#include "kernel/gemm/table.h"
#include "kernel/peak/peak.h"
#include "render/table.h"

/* ---- gemm tile ---- */

/* Bench kernel=gemm: the micro-kernels alone, beside the peak of one core. */

/* Panels of TERMS terms and the state of a tile fit the first-level cache. */
enum { TERMS = 256, MOST_FLOATS = 4096, TURNS = 40, RUNS = 40, PEAK_MACS = 5000000 };

/* Vector instructions for 1 multiply-add in each lane, loads apart, and those of them that
 * multiply: rounding is and, max, fma, fnma. Source: counted in the kernels. */
static const struct {
    double all, multiplying;
} instructions[HU_MAC_COUNT] = {
    [HU_MAC_FMACS] = {1, 1},       [HU_MAC_MACS] = {6, 3},   [HU_MAC_FMAC] = {5, 3},
    [HU_MAC_MAC] = {10, 5},        [HU_MAC_FMAC_K] = {5, 3}, [HU_MAC_KAHAN] = {20, 9},
    [HU_MAC_KAHAN_CPD] = {25, 11},
};

double hu_bench_instructions(const hu_accumulator *accumulator, const hu_bench_machine *machine) {
    bool has_blocks = accumulator->mac == HU_MAC_FMAC_K; /* one more for each block */
    double all =
        instructions[accumulator->mac].all + (has_blocks ? 1.0 / (double)accumulator->block : 0.0);
    if (accumulator->semantics != HU_SEMANTICS_F32FMA) return (double)NAN;
    return fmax(instructions[accumulator->mac].multiplying, all * machine->peak / machine->mixed);
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
static hu_status measure(const hu_gemm_kernel *kernel, const hu_gemm_tile *tile,
                         hu_bench_tile_row *row) {
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
    hu_gemm_kernel best = {0};
    for (int shape = 0; shape < HU_GEMM_SHAPE_COUNT; shape++) {
        hu_gemm_kernel kernel =
            hu_gemm_kernel_of(hu_cpu_isa(), mac, HU_GEMM_F32, HU_GEMM_FAST, (hu_gemm_shape)shape);
        if (kernel.run && (!best.run || kernel.cost < best.cost)) best = kernel;
    }
    return best;
}

hu_status hu_bench_tile(const hu_accumulator *accumulator, const hu_bench_machine *machine,
                        bool *is_present, hu_bench_tile_row *row) {
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
    *row = (hu_bench_tile_row){.rows = kernel.rows,
                               .columns = kernel.columns,
                               .instructions = hu_bench_instructions(accumulator, machine)};
    hu_accumulator_mode_text(accumulator, row->mode, sizeof row->mode);
    return measure(&kernel, &tile, row);
}

/* ---- Bench kernel=gemm: its rows as tables and as JSON ---- */

static json_t *row_json(const hu_bench_gemm_row *row) {
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

static json_t *tile_json(const hu_bench_tile_row *row) {
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "mode", row->mode, "rows",
                     row->rows, "columns", row->columns, "gmacs_per_second",
                     hu_json_number(row->rate), "peak_gmacs_per_second", hu_json_number(row->peak),
                     "bound_instructions", hu_json_number(row->instructions), "share_of_bound",
                     hu_json_number(row->rate * row->instructions / row->peak), "spread",
                     hu_json_number(row->spread));
}

json_t *hu_bench_gemm_json(const hu_bench_gemm_rows *all) {
    json_t *rows = json_array(), *tiles = json_array();
    bool is_single = all->count > 0 && all->rows[0].threads == 1;
    for (int i = 0; i < all->count; i++) json_array_append_new(rows, row_json(&all->rows[i]));
    for (int i = 0; i < all->tile_count; i++)
        json_array_append_new(tiles, tile_json(&all->tiles[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:i}", "kernel", "gemm", "clock",
                     is_single ? "thread" : "wall", "isa", hu_isa_name(hu_cpu_isa()), "rows", rows,
                     "micro_kernels", tiles, "left_out", all->left_out);
}

static hu_status put_row(hu_table *table, const hu_bench_gemm_row *row) {
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

static hu_status tell_products(const hu_bench_gemm_rows *all, hu_bench_part *part) {
    static const char *const titles[] = {"mode",  "semantics", "format",   "m",
                                         "n",     "k",         "GMAC/s",   "beside",
                                         "ratio", "of peak",   "of bound", "spread %"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < all->count; i++) HU_TRY(put_row(table, &all->rows[i]));
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

static hu_status tell_tiles(const hu_bench_gemm_rows *all, hu_bench_part *part) {
    static const char *const titles[] = {"tile",    "rows",     "columns", "GMAC/s",
                                         "of peak", "of bound", "spread %"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < all->tile_count; i++) {
        const hu_bench_tile_row *row = &all->tiles[i];
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

hu_status hu_bench_gemm_tell(const hu_bench_gemm_rows *all, hu_bench_part *part) {
    hu_status st = tell_products(all, part);
    if (st == HU_OK && all->tile_count > 0) st = tell_tiles(all, part);
    return st;
}
