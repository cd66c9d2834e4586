/* show/csv.c - rows are made in memory and written whole (base/text_file.h), so that no row is ever
 * there in part. */
#include "show/csv.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "show/csv_text.h"

enum { CELL_BYTES = 512 };

struct hu_csv {
    hu_append *file;
    int columns, filled; /* filled: cells of the row being made */
    hu_byte_writer row;
};

/* A cell of the row being made; behind the last one the line end. */
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

/* csv->row holds the title line; *kept: how much of the file is whole rows behind it, 0 if it is
 * empty or (torn) a part of that line. HU_ERR_CORRUPT: a file of another kind. */
static hu_status check_titles(hu_csv *csv, hu_lines *lines, uint64_t *kept) {
    hu_status st = HU_OK;
    hu_line first;
    bool is_there;
    size_t titles = csv->row.size - 1;
    uint64_t end = hu_lines_size(lines), start = 0;
    char last = '\n';
    size_t got;
    *kept = 0;
    HU_TRY(hu_lines_next(lines, &first, &is_there));
    if (!is_there) return HU_OK;
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

/* Goes on behind the last whole row; a new file gets its titles. */
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
