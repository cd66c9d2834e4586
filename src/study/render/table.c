#define _GNU_SOURCE 1 /* fopencookie */
#include "render/table.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

enum { MAX_COLUMNS = 32, CELL_BYTES = 512 };

/* A cell, and how it looks where colours are wanted. */
typedef struct table_cell {
    char *text;
    bool has_look;
    hu_colour look;
} table_cell;

struct hu_table {
    int columns;
    size_t count, capacity; /* cells, titles included */
    table_cell *cell;
};

/* Cells lie row after row; the titles are row 0. */
static hu_status add_cell(hu_table *table, const char *text) {
    hu_status st = hu_grow(&table->cell, table->count, &table->capacity, sizeof *table->cell);
    if (st != HU_OK) return st;
    table->cell[table->count] = (table_cell){0};
    st = hu_strdup(text, &table->cell[table->count].text);
    if (st == HU_OK) table->count++;
    return st;
}

hu_status hu_table_create(const char *const *titles, int columns, hu_table **table) {
    hu_status st;
    char harmless[CELL_BYTES];
    *table = NULL;
    if (columns < 1 || columns > MAX_COLUMNS)
        return hu_fail(HU_ERR_ARGUMENT, "table of %d columns, expected 1 to %d", columns,
                       MAX_COLUMNS);
    st = HU_NEW(table);
    if (st != HU_OK) return st;
    (*table)->columns = columns;
    for (int i = 0; i < columns; i++) {
        hu_escape(titles[i], harmless, sizeof harmless);
        HU_TRY(add_cell(*table, harmless));
    }
    return HU_OK;
done:
    hu_table_free(*table);
    *table = NULL;
    return st;
}

void hu_table_free(hu_table *table) {
    if (!table) return;
    for (size_t i = 0; i < table->count; i++) hu_free(table->cell[i].text);
    hu_free(table->cell);
    hu_free(table);
}

hu_status hu_table_cell(hu_table *table, const char *format, ...) {
    char text[CELL_BYTES], harmless[CELL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hu_escape(text, harmless, sizeof harmless);
    return add_cell(table, harmless);
}

void hu_table_look(hu_table *table, hu_colour look) {
    table_cell *last = &table->cell[table->count - 1];
    last->has_look = true;
    last->look = look;
}

/* "0", "0.00", "-". */
static bool tells_nothing(const char *text) {
    return strcmp(text, "-") == 0 || (*text && text[strspn(text, "0.")] == '\0');
}

static bool has_news(const hu_table *table, size_t column) {
    size_t columns = (size_t)table->columns;
    for (size_t i = columns + column; i < table->count; i += columns)
        if (!tells_nothing(table->cell[i].text)) return true;
    return table->count <= columns;
}

void hu_table_leave_out(hu_table *table, int first) {
    bool stays[MAX_COLUMNS];
    size_t kept = 0, columns = (size_t)table->columns;
    for (size_t c = 0; c < columns; c++) stays[c] = (int)c < first || has_news(table, c);
    table->columns = 0;
    for (size_t c = 0; c < columns; c++) table->columns += stays[c];
    for (size_t i = 0; i < table->count; i++) {
        if (stays[i % columns])
            table->cell[kept++] = table->cell[i];
        else
            hu_free(table->cell[i].text);
    }
    table->count = kept;
}

/* Characters on the screen: UTF-8 sequences count as one. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Digits after a sign or a point; nan and inf stand in columns of numbers, too. */
static bool looks_numeric(const char *text) {
    if (*text == '+' || *text == '-') text++;
    if (*text == '.') text++;
    return isdigit((unsigned char)*text) || strncmp(text, "nan", 3) == 0 ||
           strncmp(text, "inf", 3) == 0;
}

/* Numbers stand on the right, texts on the left. */
typedef struct column_layout {
    size_t width;
    bool is_right;
} column_layout;

/* Width of a column, and whether its cells are numbers; titles and "-" do not decide that. */
static column_layout layout_of(const hu_table *table, int column) {
    column_layout layout = {0, false};
    bool is_numeric = true;
    size_t columns = (size_t)table->columns;
    for (size_t i = (size_t)column; i < table->count; i += columns) {
        const char *text = table->cell[i].text;
        size_t width = width_of(text);
        if (width > layout.width) layout.width = width;
        if (i < columns || !*text || strcmp(text, "-") == 0) continue;
        layout.is_right = true;
        is_numeric = is_numeric && looks_numeric(text);
    }
    layout.is_right = layout.is_right && is_numeric;
    return layout;
}

static hu_status write_repeated(hu_byte_writer *out, char letter, size_t count) {
    hu_status st = HU_OK;
    while (count-- > 0 && st == HU_OK) st = hu_write_u8(out, (uint8_t)letter);
    return st;
}

/* The text of a cell; codes of colours have no width. */
static hu_status write_cell(const table_cell *cell, bool is_coloured, hu_byte_writer *out) {
    hu_status st = HU_OK;
    bool has_look = cell->has_look && is_coloured;
    const char *parts[] = {has_look ? hu_colour_begin(cell->look, true) : "", cell->text,
                           hu_colour_end(has_look)};
    for (size_t p = 0; p < sizeof parts / sizeof *parts && st == HU_OK; p++)
        st = hu_write_bytes(out, parts[p], strlen(parts[p]));
    return st;
}

/* One line. A cell on the left owes blanks, which are written only if another cell follows. */
static hu_status write_row(const hu_table *table, const column_layout *layout, size_t first,
                           bool is_coloured, hu_byte_writer *out) {
    hu_status st = HU_OK;
    size_t owed = 0; /* blanks not yet written, so that none end the line */
    for (int c = 0; c < table->columns && first + (size_t)c < table->count; c++) {
        const table_cell *cell = &table->cell[first + (size_t)c];
        const char *text = cell->text;
        size_t gap = layout[c].width - width_of(text);
        if (c > 0) owed += 2;
        if (layout[c].is_right) owed += gap;
        if (*text) {
            HU_TRY(write_repeated(out, ' ', owed));
            HU_TRY(write_cell(cell, is_coloured, out));
            owed = 0;
        }
        if (!layout[c].is_right) owed += gap;
    }
    HU_TRY(hu_write_u8(out, '\n'));
done:
    return st;
}

hu_status hu_table_print(const hu_table *table, char **text) {
    return hu_table_print_for(table, false, text);
}

hu_status hu_table_print_for(const hu_table *table, bool is_coloured, char **text) {
    hu_status st;
    hu_byte_writer out = {0};
    column_layout layout[MAX_COLUMNS] = {0};
    size_t columns = (size_t)table->columns;
    *text = NULL;
    /* Widths need all cells, so they come first; then titles, a rule, and the rows. */
    for (int c = 0; c < table->columns; c++) layout[c] = layout_of(table, c);
    HU_TRY(write_row(table, layout, 0, is_coloured, &out));
    for (size_t c = 0; c < columns; c++) {
        if (c > 0) HU_TRY(write_repeated(&out, ' ', 2));
        HU_TRY(write_repeated(&out, '-', layout[c].width));
    }
    HU_TRY(hu_write_u8(&out, '\n'));
    for (size_t first = columns; first < table->count; first += columns)
        HU_TRY(write_row(table, layout, first, is_coloured, &out));
    HU_TRY(hu_write_u8(&out, 0));
    HU_TRY(hu_strdup((const char *)out.data, text));
done:
    hu_writer_free(&out);
    return st;
}

static hu_status write_text(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, strlen(text));
}

/* A bar within a cell would end it. */
static hu_status write_marked(hu_byte_writer *out, const char *text) {
    hu_status st = write_text(out, "| ");
    for (; *text && st == HU_OK; text++) {
        if (*text == '|') st = hu_write_u8(out, '\\');
        if (st == HU_OK) st = hu_write_u8(out, (uint8_t)*text);
    }
    return st == HU_OK ? hu_write_u8(out, ' ') : st;
}

static hu_status write_markdown_row(const hu_table *table, size_t first, hu_byte_writer *out) {
    hu_status st = HU_OK;
    for (int c = 0; c < table->columns && first + (size_t)c < table->count; c++)
        HU_TRY(write_marked(out, table->cell[first + (size_t)c].text));
    HU_TRY(write_text(out, "|\n"));
done:
    return st;
}

hu_status hu_table_markdown(const hu_table *table, char **text) {
    hu_status st;
    hu_byte_writer out = {0};
    size_t columns = (size_t)table->columns;
    *text = NULL;
    HU_TRY(write_markdown_row(table, 0, &out));
    for (int c = 0; c < table->columns; c++)
        HU_TRY(write_text(&out, layout_of(table, c).is_right ? "|---:" : "|---"));
    HU_TRY(write_text(&out, "|\n"));
    for (size_t first = columns; first < table->count; first += columns)
        HU_TRY(write_markdown_row(table, first, &out));
    HU_TRY(hu_write_u8(&out, 0));
    HU_TRY(hu_strdup((const char *)out.data, text));
done:
    hu_writer_free(&out);
    return st;
}

const char *hu_grouped(int64_t number, char *text) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, number), used = 0;
    for (int i = 0; i < length; i++) {
        bool begins_group = i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-';
        if (begins_group) text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

/* ---- Results on stdout: the only file below the program that prints ---- */

/* The first failed write; 0: none. */
static int failed;

#ifdef __GLIBC__

/* All the bytes, or 0 and failed. */
static ssize_t write_all(void *unused, const char *data, size_t bytes) {
    (void)unused;
    for (size_t done = 0; done < bytes && !failed;) {
        ssize_t put = write(STDOUT_FILENO, data + done, bytes - done);
        struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
        if (put > 0)
            done += (size_t)put;
        else if (put < 0 && errno == EAGAIN)
            poll(&room, 1, -1);
        else if (put == 0 || errno != EINTR)
            failed = put == 0 ? EIO : errno;
    }
    return failed ? 0 : (ssize_t)bytes;
}

void hu_stdout_open(void) {
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_all});
    if (!stream) return;
    if (isatty(STDOUT_FILENO)) setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    stdout = stream;
}
#else
void hu_stdout_open(void) {
}
#endif

hu_status hu_stdout_end(void) {
    bool is_whole = fflush(stdout) == 0 && !ferror(stdout);
    if (!is_whole && !failed) failed = errno ? errno : EIO;
    if (!failed) return HU_OK;
    return hu_fail(HU_ERR_IO, "cannot write the result: %s", strerror(failed));
}

hu_status hu_show_table(const hu_table *table) {
    char *text;
    hu_status st = hu_table_print_for(table, hu_colour_wanted(STDOUT_FILENO), &text);
    if (st != HU_OK) return st;
    fputs(text, stdout);
    hu_free(text);
    return HU_OK;
}

hu_status hu_json_print(json_t *object) {
    char *text;
    hu_status st = hu_json_pretty(object, &text);
    if (st == HU_OK && fputs(text, stdout) == EOF)
        st = hu_fail(HU_ERR_IO, "cannot write JSON: %s", strerror(errno));
    hu_free(text);
    return st;
}

hu_status hu_show_text(hu_status made, char *text) {
    if (made == HU_OK && text) fputs(text, stdout);
    hu_free(text);
    return made;
}
