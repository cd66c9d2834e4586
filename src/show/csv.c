/* show/csv.c - rows are made in memory and written whole, so that a crash costs at most the row
 * that is being made. Quoting: RFC 4180. */
#include "show/csv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

enum { CELL_BYTES = 512 };

struct hu_csv {
    FILE *file;
    char *path;
    int columns, filled; /* filled: cells of the row being made */
    hu_byte_writer row;
};

static hu_status io_error(const hu_csv *csv, const char *what) {
    return hu_fail(HU_ERR_IO, "%s: cannot %s: %s", csv->path, what,
                   errno == ENOSPC ? "no space left" : strerror(errno));
}

/* A cell of the row being made; behind the last one the line end. */
static hu_status put_text(hu_csv *csv, const char *text) {
    hu_status st;
    bool needs_quotes = strpbrk(text, ",\"\r\n") != NULL;
    if (csv->filled > 0) HU_TRY(hu_write_u8(&csv->row, ','));
    if (needs_quotes) HU_TRY(hu_write_u8(&csv->row, '"'));
    for (const char *at = text; *at; at++) {
        if (*at == '"') HU_TRY(hu_write_u8(&csv->row, '"'));
        HU_TRY(hu_write_u8(&csv->row, (uint8_t)*at));
    }
    if (needs_quotes) HU_TRY(hu_write_u8(&csv->row, '"'));
    if (++csv->filled < csv->columns) return HU_OK;
    HU_TRY(hu_write_u8(&csv->row, '\n'));
    csv->filled = 0;
done:
    return st;
}

static hu_status write_row(hu_csv *csv) {
    size_t wrote = fwrite(csv->row.data, 1, csv->row.size, csv->file);
    bool is_written = wrote == csv->row.size && fflush(csv->file) == 0;
    csv->row.size = 0;
    return is_written ? HU_OK : io_error(csv, "write");
}

/* Shortens the file to bytes, keeping the position at its end. */
static hu_status cut(hu_csv *csv, long bytes) {
    bool is_cut = bytes >= 0 && ftruncate(fileno(csv->file), bytes) == 0 &&
                  fseek(csv->file, 0, SEEK_END) == 0;
    return is_cut ? HU_OK : io_error(csv, "cut");
}

/* Goes to the end and removes what stands behind the last line end: a row torn by a crash or a full
 * disk. The title line is whole. */
static hu_status drop_torn_row(hu_csv *csv) {
    if (fseek(csv->file, 0, SEEK_END) != 0) return io_error(csv, "seek");
    long size = ftell(csv->file), kept = size;
    for (; kept > 0; kept--) {
        if (fseek(csv->file, kept - 1, SEEK_SET) != 0) return io_error(csv, "seek");
        if (fgetc(csv->file) == '\n') break;
    }
    return cut(csv, kept);
}

/* csv->row holds the title line; the file is empty, starts with that line or (torn) a part of it,
 * or is of another kind. */
static hu_status check_titles(hu_csv *csv) {
    for (size_t i = 0; i < csv->row.size; i++) {
        int found = fgetc(csv->file);
        if (found == EOF && !ferror(csv->file)) {
            hu_status st = cut(csv, 0);
            return st == HU_OK ? write_row(csv) : st;
        }
        if (found != csv->row.data[i])
            return hu_fail(HU_ERR_CORRUPT, "%s: offset %zu: the first line is not '%.*s'",
                           csv->path, i, (int)(csv->row.size - 1), (const char *)csv->row.data);
    }
    csv->row.size = 0;
    return HU_OK;
}

hu_status hu_csv_open(const char *path, const char *const *titles, int columns, hu_csv **csv) {
    hu_status st;
    hu_csv *made;
    *csv = NULL;
    if (columns < 1) return hu_fail(HU_ERR_ARGUMENT, "%s: %d columns", path, columns);
    if ((st = HU_NEW(&made)) != HU_OK) return st;
    made->columns = columns;
    HU_TRY(hu_strdup(path, &made->path));
    /* Appending: reads may go anywhere, writes go to the end. */
    made->file = fopen(path, "a+");
    if (!made->file) HU_TRY(io_error(made, "open"));
    rewind(made->file);
    for (int i = 0; i < columns; i++) HU_TRY(put_text(made, titles[i]));
    HU_TRY(check_titles(made));
    HU_TRY(drop_torn_row(made));
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

hu_status hu_csv_close(hu_csv *csv) {
    if (!csv) return HU_OK;
    hu_status st = HU_OK;
    if (csv->file && fclose(csv->file) != 0) st = io_error(csv, "close");
    hu_writer_free(&csv->row);
    hu_free(csv->path);
    hu_free(csv);
    return st;
}
