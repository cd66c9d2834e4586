#include "render/csv.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_file.h"

/* ---- A CSV that is made in memory, cell by cell ---- */

hu_status hu_csv_put_text(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, strlen(text));
}

/* A spreadsheet takes what begins so for a formula. */
static bool is_formula(const char *cell) {
    return *cell && strchr("=+-@\t\r", *cell) != NULL;
}

/* One character, or what stands for it: a quote twice, control characters but those of lines and
 * tabs as "\xHH". Gives the bytes of the cell that it took. */
static hu_status put_character(hu_byte_writer *out, const char *cell, size_t *taken) {
    char escape[4 * 3 + 1];
    size_t controls = strchr("\t\n\r", *cell) ? 0 : hu_control_bytes(cell);
    *taken = controls > 0 ? controls : 1;
    if (controls == 0)
        return hu_write_bytes(out, *cell == '"' ? "\"\"" : cell, *cell == '"' ? 2 : 1);
    for (size_t i = 0; i < controls; i++)
        snprintf(escape + 4 * i, sizeof escape - 4 * i, "\\x%02x", (unsigned char)cell[i]);
    return hu_csv_put_text(out, escape);
}

hu_status hu_csv_put_cell(hu_byte_writer *out, const char *cell) {
    hu_status st = HU_OK;
    bool is_quoted = strpbrk(cell, ",\"\r\n") != NULL;
    size_t taken;
    if (is_quoted) HU_TRY(hu_csv_put_text(out, "\""));
    if (is_formula(cell)) HU_TRY(hu_csv_put_text(out, "'"));
    for (; *cell; cell += taken) HU_TRY(put_character(out, cell, &taken));
    if (is_quoted) HU_TRY(hu_csv_put_text(out, "\""));
done:
    return st;
}

hu_status hu_csv_put_word(hu_byte_writer *out, const char *word) {
    hu_status st = hu_csv_put_text(out, ",");
    return st == HU_OK && word ? hu_csv_put_cell(out, word) : st;
}

hu_status hu_csv_put_real(hu_byte_writer *out, double number) {
    char cell[HU_DECIMAL_BYTES];
    hu_status st = hu_csv_put_text(out, ",");
    return st == HU_OK && isfinite(number) ? hu_csv_put_text(out, hu_decimal_text(number, cell))
                                           : st;
}

hu_status hu_csv_put_number(hu_byte_writer *out, const char *before, double number) {
    char cell[64];
    snprintf(cell, sizeof cell, "%s%.9g", before, number);
    return hu_csv_put_text(out, cell);
}

/* ---- csv ---- */

enum { CELL_BYTES = 512 };

struct hu_csv {
    hu_append *file;
    int columns, filled; /* filled: cells of the row being made */
    hu_byte_writer row;
};

/* A cell of the row being made; after the last one the line end. */
static hu_status put_text(hu_csv *csv, const char *text) {
    hu_status st = HU_OK;
    if (csv->filled > 0) HU_TRY(hu_write_u8(&csv->row, ','));
    HU_TRY(hu_csv_put_cell(&csv->row, text));
    if (++csv->filled < csv->columns) return HU_OK;
    HU_TRY(hu_write_u8(&csv->row, '\n'));
    csv->filled = 0;
done:
    return st;
}

static hu_status write_row(hu_csv *csv) {
    hu_append_bytes(csv->file, csv->row.data, csv->row.size);
    csv->row.size = 0;
    return hu_append_end(csv->file);
}

/* csv->row holds the title line; *kept: how much of the file is whole rows after it, 0 if it is
 * empty or (torn) a part of that line. HU_ERR_CORRUPT: a file of another kind. */
static hu_status check_titles(hu_csv *csv, hu_lines *lines, uint64_t *kept) {
    hu_status st = HU_OK;
    hu_line first;
    bool is_present;
    size_t titles = csv->row.size - 1;
    uint64_t end = hu_lines_size(lines), start = 0;
    char last = '\n';
    size_t got;
    *kept = 0;
    HU_TRY(hu_lines_next(lines, &first, &is_present));
    if (!is_present) return HU_OK;
    size_t same = first.bytes < titles ? first.bytes : titles;
    bool is_torn = !first.has_end && first.bytes <= titles;
    if ((!is_torn && first.bytes != titles) || memcmp(first.text, csv->row.data, same) != 0)
        return hu_fail(HU_ERR_CORRUPT, "%s: the first line is not '%.*s'",
                       hu_append_path(csv->file), (int)titles, (const char *)csv->row.data);
    if (is_torn) return HU_OK;
    HU_TRY(hu_lines_peek(lines, end - 1, &last, 1, &got));
    if (last != '\n') HU_TRY(hu_lines_start_of(lines, end, &start));
    *kept = last == '\n' ? end : start;
done:
    return st;
}

/* Goes on after the last whole row; a new file gets its titles. */
static hu_status begin(hu_csv *csv, const char *path) {
    hu_status st = HU_OK;
    hu_lines *lines = NULL;
    uint64_t kept;
    HU_TRY(hu_lines_open(path, &lines));
    HU_TRY(check_titles(csv, lines, &kept));
    if (kept < hu_append_size(csv->file)) HU_TRY(hu_append_cut(csv->file, kept));
    if (kept == 0) HU_TRY(write_row(csv));
    csv->row.size = 0;
done:
    hu_lines_close(lines);
    return st;
}

hu_status hu_csv_open(const char *path, const char *const *titles, int columns, hu_csv **csv) {
    hu_status st;
    hu_csv *made;
    *csv = NULL;
    if (columns < 1) return hu_fail(HU_ERR_ARGUMENT, "%s: %d columns", path, columns);
    if ((st = HU_NEW(&made)) != HU_OK) return st;
    made->columns = columns;
    HU_TRY(hu_append_open(path, &made->file));
    for (int i = 0; i < columns; i++) HU_TRY(put_text(made, titles[i]));
    HU_TRY(begin(made, path));
    *csv = made;
    return HU_OK;
done:
    hu_csv_close(made);
    return st;
}

hu_status hu_csv_cell(hu_csv *csv, const char *format, ...) {
    char text[CELL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hu_status st = put_text(csv, text);
    return st == HU_OK && csv->filled == 0 ? write_row(csv) : st;
}

hu_status hu_csv_sync(hu_csv *csv) {
    return hu_append_sync(csv->file);
}

void hu_csv_close(hu_csv *csv) {
    if (!csv) return;
    hu_append_close(csv->file);
    hu_writer_free(&csv->row);
    hu_free(csv);
}
