/* bench kernel=gemm: its rows as tables and as JSON. */
#include <stdio.h>

#include "base/cpu.h"
#include "base/error.h"
#include "bench/gemm.h"
#include "show/stdout.h"
#include "show/table.h"

static json_t *row_json(const hu_bench_gemm_row *row) {
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:i, s:o, s:s, s:o, s:o, s:o, s:o}", "mode", row->mode,
        "semantics", row->semantics, "format", row->format, "m", (json_int_t)row->m, "n",
        (json_int_t)row->n, "k", (json_int_t)row->k, "threads", row->threads, "gmacs_per_second",
        hu_json_number(row->rate), "reference", row->reference, "reference_gmacs_per_second",
        hu_json_number(row->reference_rate), "ratio",
        hu_json_number(row->rate / row->reference_rate), "peak_gmacs_per_second",
        hu_json_number(row->peak), "share_of_peak", hu_json_number(row->rate / row->peak));
}

static json_t *tile_json(const hu_bench_tile_row *row) {
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "mode", row->mode, "rows", row->rows,
                     "columns", row->columns, "gmacs_per_second", hu_json_number(row->rate),
                     "peak_gmacs_per_second", hu_json_number(row->peak), "bound_instructions",
                     hu_json_number(row->instructions), "share_of_bound",
                     hu_json_number(row->rate * row->instructions / row->peak));
}

hu_status hu_bench_gemm_json(const hu_bench_gemm_row *rows, int row_count,
                             const hu_bench_tile_row *tiles, int tile_count) {
    json_t *row_array = json_array(), *tile_array = json_array();
    bool is_single = row_count > 0 && rows[0].threads == 1;
    int failed = !row_array || !tile_array;
    for (int i = 0; i < row_count && !failed; i++)
        failed = json_array_append_new(row_array, row_json(&rows[i]));
    for (int i = 0; i < tile_count && !failed; i++)
        failed = json_array_append_new(tile_array, tile_json(&tiles[i]));
    if (failed) {
        json_decref(row_array);
        json_decref(tile_array);
        return hu_fail(HU_ERR_MEMORY, "out of memory for %d rows", row_count + tile_count);
    }
    return hu_json_print(json_pack("{s:s, s:s, s:s, s:o, s:o}", "kernel", "gemm", "clock",
                                   is_single ? "thread" : "wall", "isa", hu_isa_name(hu_cpu_isa()),
                                   "rows", row_array, "micro_kernels", tile_array));
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
done:
    return st;
}

static hu_status print_products(const hu_bench_gemm_row *rows, int count) {
    static const char *const titles[] = {"mode", "semantics", "format", "m",     "n",
                                         "k",    "GMAC/s",    "beside", "ratio", "of peak"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < count; i++) HU_TRY(put_row(table, &rows[i]));
    HU_TRY(hu_show_table(table));
    printf("beside dnnl_sgemm, in turns, %d threads; quantise+fmacs beside a rounding pass and "
           "dnnl_sgemm\n",
           count > 0 ? rows[0].threads : 0);
done:
    hu_table_free(table);
    return st;
}

static hu_status print_tiles(const hu_bench_tile_row *rows, int count) {
    static const char *const titles[] = {"tile",   "rows",    "columns",
                                         "GMAC/s", "of peak", "of bound"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int i = 0; i < count; i++) {
        const hu_bench_tile_row *row = &rows[i];
        HU_TRY(hu_table_cell(table, "%s", row->mode));
        HU_TRY(hu_table_cell(table, "%d", row->rows));
        HU_TRY(hu_table_cell(table, "%d", row->columns));
        HU_TRY(hu_table_cell(table, "%.2f", row->rate));
        HU_TRY(hu_table_cell(table, "%.3f", row->rate / row->peak));
        HU_TRY(hu_table_cell(table, "%.3f", row->rate * row->instructions / row->peak));
    }
    putchar('\n');
    HU_TRY(hu_show_table(table));
    printf("kernels alone, one core, f32fma; bound: the peak over the instructions that a "
           "multiply-add needs of the ports that multiply\n");
done:
    hu_table_free(table);
    return st;
}

hu_status hu_bench_gemm_print(const hu_bench_gemm_row *rows, int row_count,
                              const hu_bench_tile_row *tiles, int tile_count) {
    hu_status st = print_products(rows, row_count);
    if (st == HU_OK && tile_count > 0) st = print_tiles(tiles, tile_count);
    return st;
}
