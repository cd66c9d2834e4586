#include "data/piece_words.h"

#include <utf8proc.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/text_file.h"

/* Canonical decompositions have at most 4 characters. */
enum { CHARACTER_BYTES = 4, PARTS_MOST = 16 };

typedef enum kind { DROPPED, BLANK, LETTER, APART } kind;

/* CJK ideographs of Unicode's blocks; syllables of Japanese and Korean are letters. */
static bool is_chinese(utf8proc_int32_t p) {
    return (p >= 0x4e00 && p <= 0x9fff) || (p >= 0x3400 && p <= 0x4dbf) ||
           (p >= 0x20000 && p <= 0x2a6df) || (p >= 0x2a700 && p <= 0x2ceaf) ||
           (p >= 0xf900 && p <= 0xfaff) || (p >= 0x2f800 && p <= 0x2fa1f);
}

/* ASCII's signs count as such where Unicode has other categories for them ("$", "^"). */
static bool is_sign(utf8proc_int32_t p, utf8proc_category_t category) {
    if ((p >= 33 && p <= 47) || (p >= 58 && p <= 64) || (p >= 91 && p <= 96)) return true;
    if (p >= 123 && p <= 126) return true;
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

static kind kind_of(utf8proc_int32_t p, bool is_cased) {
    utf8proc_category_t category = utf8proc_category(p);
    if (p == '\n' || p == '\t' || p == '\r') return BLANK;
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) return BLANK;
    if (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || p == 0xfffd)
        return DROPPED;
    if (!is_cased && category == UTF8PROC_CATEGORY_MN) return DROPPED;
    return is_sign(p, category) || is_chinese(p) ? APART : LETTER;
}

/* Behind a blank where a word before it has ended. */
static hu_status put(hu_byte_writer *out, utf8proc_int32_t point, bool is_cased, kind *before) {
    utf8proc_uint8_t bytes[CHARACTER_BYTES];
    hu_status st = HU_OK;
    kind now = kind_of(point, is_cased);
    if (now == DROPPED) return HU_OK;
    bool goes_on = now == LETTER && *before == LETTER;
    if (*before != BLANK && !goes_on) HU_TRY(hu_write_u8(out, ' '));
    if (now != BLANK)
        HU_TRY(hu_write_bytes(out, bytes, (size_t)utf8proc_encode_char(point, bytes)));
    else if (point == '\n')
        HU_TRY(hu_write_u8(out, '\n'));
    *before = now;
done:
    return st;
}

/* A character of the text: small and in its parts, or as it is. */
static hu_status put_character(hu_byte_writer *out, utf8proc_int32_t point, bool is_cased,
                               kind *before) {
    utf8proc_int32_t part[PARTS_MOST] = {point};
    utf8proc_ssize_t count = 1;
    hu_status st = HU_OK;
    if (!is_cased) {
        int last = 0;
        count = utf8proc_decompose_char(utf8proc_tolower(point), part, PARTS_MOST,
                                        UTF8PROC_DECOMPOSE, &last);
        if (count < 1 || count > PARTS_MOST) part[0] = utf8proc_tolower(point), count = 1;
    }
    for (utf8proc_ssize_t i = 0; st == HU_OK && i < count; i++)
        st = put(out, part[i], is_cased, before);
    return st;
}

hu_status hu_piece_words(const char *text, size_t bytes, bool is_cased, char **words,
                         size_t *word_bytes) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    kind before = BLANK;
    utf8proc_int32_t point = '\n';
    for (size_t at = hu_text_mark_bytes(text, bytes); at < bytes;) {
        utf8proc_ssize_t left = (utf8proc_ssize_t)(bytes - at);
        at += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, left, &point);
        HU_TRY(put_character(&out, point, is_cased, &before));
    }
    if (point != '\n') HU_TRY(put(&out, '\n', is_cased, &before)); /* a last line without its end */
    *word_bytes = out.size;
    HU_TRY(hu_write_u8(&out, 0));
    *words = (char *)out.data;
    out = (hu_byte_writer){0};
done:
    hu_writer_free(&out);
    return st;
}

/* word: of UTF-8. */
static bool has_capital(const hu_word *word) {
    for (size_t at = 0; at < word->length;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)word->at + at,
                                                  (utf8proc_ssize_t)(word->length - at), &point);
        if (bytes < 1) return false;
        if (utf8proc_category(point) == UTF8PROC_CATEGORY_LU) return true;
        at += (size_t)bytes;
    }
    return false;
}

bool hu_pieces_are_cased(const hu_vocabulary *vocabulary) {
    for (size_t i = 0; i < vocabulary->count; i++) {
        const hu_word *word = &vocabulary->word[i];
        bool is_special =
            word->length > 2 && word->at[0] == '[' && word->at[word->length - 1] == ']';
        if (!is_special && has_capital(word)) return true;
    }
    return false;
}
