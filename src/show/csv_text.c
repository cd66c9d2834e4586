/* show/csv_text.c - cells in quotes have these doubled (RFC 4180, section 2). */
#include "show/csv_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

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
