/* format/table/file.c - tables of files: a line for each code, in order.
 *
 *   line = number | "inf" | "-inf" | "nan" [ boundary to the next larger number ] [ "#" comment ]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "format/table/draft.h"
#include "format/table/keep.h"
#include "format/value.h"

enum { FILE_MOST = 16 << 20, PATH_MOST = 120 };

/* The path: up to an option of formats at the end. */
static size_t path_length(const hu_code_recipe *r) {
    const char *path = r->text + r->used;
    const char *bias = strstr(path, ":bias="), *overflow = strstr(path, ":ovf=");
    const char *end = path + strlen(path);
    if (bias) end = bias;
    if (overflow && overflow < end) end = overflow;
    return (size_t)(end - path);
}

hu_status hu_code_file_open(const char *path, char **text, size_t *bytes) {
    hu_status st = hu_code_tables_recalled(path, text, bytes);
    if (st != HU_OK || *text) return st;
    st = hu_file_check_regular(path, "a table is read wherever its name is");
    return st == HU_OK ? hu_text_read(path, FILE_MOST, text, bytes) : st;
}

/* What lists, plans and records part texts by, or have to write in another way, is in no path. */
static hu_status check_path(hu_code_recipe *r, size_t length) {
    for (size_t end = r->used + length; r->used < end; r->used++) {
        unsigned char c = (unsigned char)r->text[r->used];
        if (c <= ' ' || c == 0x7F || strchr(",;+\"\\", c))
            return hu_code_fail_expected(
                r, "a path without blanks, ',', ';', '+', '\"', '\\' and control characters");
    }
    return HU_OK;
}

hu_status hu_table_file_read(hu_code_recipe *r) {
    char path[PATH_MOST + 1];
    if (!hu_code_accept(r, ":")) return hu_code_fail_expected(r, "':' and the path of a file");
    size_t length = path_length(r);
    if (length == 0) return hu_code_fail_expected(r, "the path of a file");
    if (length > PATH_MOST)
        return hu_fail(HU_ERR_PARSE,
                       "format '%.40s...': found a path of %zu bytes, expected at most %d (say it "
                       "from a nearer folder)",
                       r->original, length, PATH_MOST);
    memcpy(path, r->original + r->used, length);
    path[length] = '\0';
    hu_status st = check_path(r, length);
    if (st != HU_OK) return st;
    snprintf(r->name, sizeof r->name, "table:%s", path);
    st = hu_code_file_open(path, &r->file, &r->file_bytes);
    bool has_option = strchr(path, ':') && strchr(strchr(path, ':'), '=');
    return st == HU_ERR_MISSING && has_option
               ? hu_fail(st,
                         "format '%s': found no file '%s'; of options behind a file, expected "
                         "':bias=', ':ovf=', ':scale=' or ':tile='",
                         r->original, path)
               : st;
}

/* A line of a file that is read. */
typedef struct source {
    const char *path;
    unsigned line;
} source;

static hu_status fail_at(const source *s, const char *found, const char *expected) {
    return hu_fail(HU_ERR_PARSE, "%s, line %u: found '%.40s', expected %s", s->path, s->line, found,
                   expected);
}

static const hu_format float32 = {
    .exp_bits = 8, .man_bits = 23, .bias = 127, .subnormals = 1, .specials = HU_SPECIALS_IEEE};

/* The nearest float32 of a number, an infinity or NaN. */
static hu_status read_value(const source *s, const char *word, double *value) {
    float nearest;
    hu_wide wide;
    bool is_finite = hu_wide_read(word, &wide);
    if (hu_format_round_text(&float32, HU_ROUND_NEAREST_EVEN, word, 0, &nearest) != HU_OK)
        return fail_at(s, word, "a number, inf, -inf or nan");
    if (is_finite && isinf(nearest))
        return fail_at(s, word, "a number of float32, at most 3.40282347e38");
    if (is_finite && nearest == 0 && wide.significand != 0)
        return fail_at(s, word, "0 or a number of float32, at least 1.40129846e-45");
    *value = nearest;
    return HU_OK;
}

/* A finite double. */
static hu_status read_boundary(const source *s, const char *word, double *boundary) {
    hu_wide wide;
    if (!hu_wide_read(word, &wide))
        return fail_at(s, word, "the boundary to the next larger number");
    double magnitude = ldexp((double)wide.significand, wide.exponent - 63);
    *boundary = wide.is_negative ? -magnitude : magnitude;
    return HU_OK;
}

/* Cuts the next word off a line; NULL at its end. */
static char *next_word(char **at) {
    char *word = *at + strspn(*at, " \t\r");
    size_t length = strcspn(word, " \t\r");
    if (length == 0) return NULL;
    *at = word + length;
    if (**at) *(*at)++ = '\0';
    return word;
}

/* One line; *codes grows where it has a code. */
static hu_status read_line(const source *s, char *text, hu_code_draft *draft, uint32_t *codes) {
    hu_status st = HU_OK;
    text[strcspn(text, "#")] = '\0';
    char *word = next_word(&text), *boundary = word ? next_word(&text) : NULL;
    if (!word) return HU_OK;
    if (*codes == HU_CODES_MOST)
        return hu_fail(HU_ERR_LIMIT,
                       "%s, line %u: found more than %d codes, expected at most as many", s->path,
                       s->line, HU_CODES_MOST);
    HU_TRY(read_value(s, word, &draft->value[*codes]));
    if (boundary) HU_TRY(read_boundary(s, boundary, &draft->boundary[*codes]));
    word = boundary ? next_word(&text) : NULL;
    if (word) return fail_at(s, word, "a number and at most one boundary");
    if (boundary && !isfinite(draft->value[*codes]))
        return fail_at(s, boundary, "no boundary: inf and nan have none");
    draft->line[(*codes)++] = s->line;
done:
    return st;
}

/* Every line of the file's text. */
static hu_status read_lines(source *s, char *text, hu_code_draft *draft) {
    uint32_t codes = 0;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        s->line++;
        hu_status st = read_line(s, line, draft, &codes);
        if (st != HU_OK) return st;
    }
    draft->count = codes;
    if (codes < HU_CODES_LEAST)
        return hu_fail(HU_ERR_FORMAT, "%s: found %u codes, expected %d..%d lines of one each",
                       s->path, (unsigned)codes, HU_CODES_LEAST, HU_CODES_MOST);
    return HU_OK;
}

/* Overflows become infinities where the file has them. */
static void choose_overflow(hu_code_draft *draft) {
    for (uint32_t i = 0; i < draft->count; i++)
        if (isinf(draft->value[i])) draft->overflow = HU_OVERFLOW_INF;
}

hu_status hu_table_file_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    hu_status st = HU_OK;
    source s = {.path = r->name + strlen("table:")};
    char *text = NULL;
    HU_TRY(hu_code_draft_open(draft, HU_CODES_MOST));
    HU_TRY(HU_NEW_ARRAY(&draft->line, HU_CODES_MOST));
    HU_TRY(hu_new_array(r->file_bytes + 1, 1, &text));
    memcpy(text, r->file, r->file_bytes);
    HU_TRY(read_lines(&s, text, draft));
    choose_overflow(draft);
done:
    hu_free(text);
    return st;
}
