/* show/csv_text.c - cells in quotes have these doubled (RFC 4180, section 2). */
#include "show/csv_text.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

hu_status hu_csv_put_text(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, strlen(text));
}

hu_status hu_csv_put_cell(hu_byte_writer *out, const char *cell) {
    hu_status st;
    if (!strpbrk(cell, ",\"\r\n")) return hu_csv_put_text(out, cell);
    HU_TRY(hu_csv_put_text(out, "\""));
    for (; *cell; cell++)
        HU_TRY(hu_write_bytes(out, *cell == '"' ? "\"\"" : cell, *cell == '"' ? 2 : 1));
    st = hu_csv_put_text(out, "\"");
done:
    return st;
}

hu_status hu_csv_put_word(hu_byte_writer *out, const char *word) {
    hu_status st = hu_csv_put_text(out, ",");
    return st == HU_OK && word ? hu_csv_put_cell(out, word) : st;
}

hu_status hu_csv_put_number(hu_byte_writer *out, const char *before, double number) {
    char cell[64];
    snprintf(cell, sizeof cell, "%s%.9g", before, number);
    return hu_csv_put_text(out, cell);
}
