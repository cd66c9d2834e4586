#include "data/tokenizer.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"

/* ---- Words cut into the pieces of a vocabulary ---- */

/* No vocabulary is known to have a longer piece. */
enum { MOST_BYTES = 254, MARK_BYTES = 2 };

/* Number of the longest piece that the rest of a word begins with, -1 if there is none; *bytes of
 * it. */
static int64_t longest(const hu_vocabulary *vocabulary, const char *rest, size_t left,
                       bool is_first, size_t *bytes) {
    char text[MARK_BYTES + MOST_BYTES] = "##";
    size_t mark = is_first ? 0 : MARK_BYTES;
    *bytes = left < MOST_BYTES ? left : MOST_BYTES;
    memcpy(text + mark, rest, *bytes);
    for (; *bytes > 0; (*bytes)--) {
        int64_t number = hu_vocabulary_find(vocabulary, text, mark + *bytes);
        if (number >= 0) return number;
    }
    return -1;
}

void hu_subwords_of(const hu_vocabulary *vocabulary, const char *word, size_t length,
                    int32_t *number, int64_t *count) {
    *count = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        int64_t piece = longest(vocabulary, word + at, length - at, at == 0, &bytes);
        if (piece < 0) {
            number[0] = (int32_t)vocabulary->unknown;
            *count = 1;
            return;
        }
        number[(*count)++] = (int32_t)piece;
    }
}

/* ---- Texts as the words that pieces are made of ---- */

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

/* A character of a kind, after a blank where a word before it has ended. */
static hu_status put(hu_byte_writer *out, utf8proc_int32_t point, kind now, kind *before) {
    utf8proc_uint8_t bytes[CHARACTER_BYTES];
    hu_status st = HU_OK;
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
        st = put(out, part[i], kind_of(part[i], is_cased), before);
    return st;
}

typedef hu_status character_fn(hu_byte_writer *out, utf8proc_int32_t point, bool is_cased,
                               kind *before);

/* All characters of a text, and the end of a last line without one. *words: owner frees. */
static hu_status walk(const char *text, size_t bytes, character_fn *character, bool is_cased,
                      char **words, size_t *word_bytes) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    kind before = BLANK;
    utf8proc_int32_t point = '\n';
    for (size_t at = hu_text_mark_bytes(text, bytes); at < bytes;) {
        utf8proc_ssize_t left = (utf8proc_ssize_t)(bytes - at);
        at += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, left, &point);
        HU_TRY(character(&out, point, is_cased, &before));
    }
    if (point != '\n') HU_TRY(character(&out, '\n', is_cased, &before));
    *word_bytes = out.size;
    HU_TRY(hu_write_u8(&out, 0));
    *words = (char *)out.data;
    out = (hu_byte_writer){0};
done:
    hu_writer_free(&out);
    return st;
}

hu_status hu_subword_words(const char *text, size_t bytes, bool is_cased, char **words,
                           size_t *word_bytes) {
    return walk(text, bytes, put_character, is_cased, words, word_bytes);
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

bool hu_subwords_are_cased(const hu_vocabulary *vocabulary) {
    for (size_t i = 0; i < vocabulary->count; i++) {
        const hu_word *word = &vocabulary->word[i];
        bool is_special =
            word->length > 2 && word->at[0] == '[' && word->at[word->length - 1] == ']';
        if (!is_special && has_capital(word)) return true;
    }
    return false;
}

/* ---- sentences ---- */

/* A file of sentences, one a line, as small words with single blanks between. */

static const char *const special[] = {HU_TOKEN_PADDING, HU_TOKEN_BEGIN, HU_TOKEN_END,
                                      HU_TOKEN_UNKNOWN};
enum { SPECIAL = sizeof special / sizeof *special };

/* ---- words ---- */

/* Nothing is dropped, and signs stand apart. */
static kind kind_in_sentence(utf8proc_int32_t point) {
    utf8proc_category_t category = utf8proc_category(point);
    bool is_control = (point >= 0x09 && point <= 0x0d) || (point >= 0x1c && point <= 0x1f);
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) return BLANK;
    if (is_control || point == 0x85) return BLANK;
    bool is_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
    bool is_number = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
    return is_letter || is_number || point == '_' ? LETTER : APART;
}

/* One character in its small form. */
static hu_status put_small(hu_byte_writer *out, utf8proc_int32_t point, bool is_cased,
                           kind *before) {
    utf8proc_int32_t small = utf8proc_tolower(point);
    (void)is_cased;
    return put(out, small, kind_in_sentence(small), before);
}

hu_status hu_sentence_words(const char *text, size_t bytes, char **words, size_t *word_bytes) {
    return walk(text, bytes, put_small, false, words, word_bytes);
}

/* ---- files ---- */

/* Owner frees *path. Plain, or with ".gz" after. */
static hu_status path_of(const char *directory, const char *name, const char *language,
                         const char *ending, char **path) {
    char *file = NULL;
    size_t bytes = strlen(name) + strlen(language) + strlen(ending) + 2;
    hu_status st;
    *path = NULL;
    HU_TRY(HU_NEW_ARRAY(&file, bytes));
    snprintf(file, bytes, "%s.%s%s", name, language, ending);
    st = hu_path_join(directory, file, path);
done:
    hu_free(file);
    return st;
}

/* The packed file where it alone is present, else the plain one. */
static hu_status find(const char *directory, const char *name, const char *language, char **path) {
    char *packed = NULL;
    bool is_plain, is_packed;
    hu_status st;
    HU_TRY(path_of(directory, name, language, "", path));
    HU_TRY(path_of(directory, name, language, ".gz", &packed));
    HU_TRY(hu_file_find(*path, &is_plain));
    HU_TRY(hu_file_find(packed, &is_packed));
    if (!is_plain && is_packed) {
        hu_free(*path);
        *path = packed;
        packed = NULL;
    }
done:
    hu_free(packed);
    return st;
}

hu_status hu_sentences_look(const char *directory, const char *name, const char *language,
                            bool *exist) {
    char *path = NULL;
    hu_status st = find(directory, name, language, &path);
    *exist = false;
    if (st == HU_OK) st = hu_file_find(path, exist);
    hu_free(path);
    return st;
}

/* data [bytes], which may have no zero after it. */
static hu_status take_text(const char *data, size_t bytes, hu_sentences *sentences) {
    hu_status st;
    char *text = NULL;
    HU_TRY(HU_NEW_ARRAY(&text, bytes + 1));
    if (bytes > 0) memcpy(text, data, bytes);
    const hu_tokens whole = {
        .path = sentences->path, .text = text, .bytes = bytes, .unit = HU_TEXT_WORDS};
    HU_TRY(hu_tokens_check(&whole));
    HU_TRY(hu_sentence_words(text, bytes, &sentences->text, &sentences->bytes));
    for (size_t i = 0; i < sentences->bytes; i++) sentences->count += sentences->text[i] == '\n';
    if (sentences->count == 0)
        st = hu_fail(HU_ERR_CORRUPT, "%s: found no sentence", sentences->path);
done:
    hu_free(text);
    return st;
}

hu_status hu_sentences_read(const char *directory, const char *name, const char *language,
                            hu_sentences *sentences) {
    hu_status st;
    uint8_t *data = NULL;
    size_t bytes;
    *sentences = (hu_sentences){0};
    HU_TRY(find(directory, name, language, &sentences->path));
    HU_TRY(hu_file_read(sentences->path, SIZE_MAX / 8, &data, &bytes));
    st = take_text((const char *)data, bytes, sentences);
done:
    hu_free(data);
    return st;
}

void hu_sentences_free(hu_sentences *sentences) {
    hu_free(sentences->path);
    hu_free(sentences->text);
    *sentences = (hu_sentences){0};
}

hu_tokens hu_sentences_tokens(const hu_sentences *sentences) {
    return (hu_tokens){.path = sentences->path,
                       .text = sentences->text,
                       .bytes = sentences->bytes,
                       .unit = HU_TEXT_WORDS,
                       .left = INT64_MAX};
}

/* ---- vocabularies ---- */

hu_status hu_sentences_vocabulary(const hu_sentences *sentences, int64_t least,
                                  hu_vocabulary *vocabulary) {
    const hu_tokens tokens = hu_sentences_tokens(sentences);
    return hu_vocabulary_behind(&tokens, least, special, SPECIAL, vocabulary);
}

hu_status hu_sentences_vocabulary_read(const char *path, hu_vocabulary *vocabulary) {
    hu_status st = hu_vocabulary_read(path, HU_TEXT_WORDS, vocabulary);
    for (size_t i = 0; st == HU_OK && i < SPECIAL; i++) {
        const char *found = i < vocabulary->count ? vocabulary->word[i].at : "";
        if (strcmp(found, special[i]) != 0)
            st = hu_fail(HU_ERR_CORRUPT, "%s: line %zu: found '%s', expected %s", path, i + 1,
                         found, special[i]);
    }
    return st;
}
