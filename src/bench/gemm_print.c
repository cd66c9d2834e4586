/* bench kernel=gemm: its rows as tables and as JSON. */
#include <math.h>

#include "base/cpu.h"
#include "base/error.h"
#include "bench/gemm.h"
#include "show/table.h"

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
