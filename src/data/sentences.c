#include "data/sentences.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"

static const char *const special[] = {HU_TOKEN_PADDING, HU_TOKEN_BEGIN, HU_TOKEN_END,
                                      HU_TOKEN_UNKNOWN};
enum { SPECIAL = sizeof special / sizeof *special, CHARACTER_BYTES = 4 };

/* ---- words ---- */

typedef enum kind { BLANK, LETTER, SIGN } kind;

static kind kind_of(utf8proc_int32_t point) {
    utf8proc_category_t category = utf8proc_category(point);
    bool is_control = (point >= 0x09 && point <= 0x0d) || (point >= 0x1c && point <= 0x1f);
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) return BLANK;
    if (is_control || point == 0x85) return BLANK;
    bool is_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
    bool is_number = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
    return is_letter || is_number || point == '_' ? LETTER : SIGN;
}

/* One character in its small form, behind a blank where a word before it has ended. */
static hu_status put_character(hu_byte_writer *out, utf8proc_int32_t point, kind *before) {
    utf8proc_uint8_t bytes[CHARACTER_BYTES];
    hu_status st = HU_OK;
    utf8proc_int32_t small = utf8proc_tolower(point);
    kind now = kind_of(small);
    bool ends_word = *before != BLANK && (now != LETTER || *before != LETTER);
    if (ends_word) HU_TRY(hu_write_u8(out, ' '));
    if (now != BLANK)
        HU_TRY(hu_write_bytes(out, bytes, (size_t)utf8proc_encode_char(small, bytes)));
    else if (point == '\n')
        HU_TRY(hu_write_u8(out, '\n'));
    *before = now;
done:
    return st;
}

hu_status hu_sentence_words(const char *text, size_t bytes, char **words, size_t *word_bytes) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    kind before = BLANK;
    utf8proc_int32_t point = '\n';
    for (size_t at = hu_text_mark_bytes(text, bytes); at < bytes;) {
        utf8proc_ssize_t left = (utf8proc_ssize_t)(bytes - at);
        at += (size_t)utf8proc_iterate((const utf8proc_uint8_t *)text + at, left, &point);
        HU_TRY(put_character(&out, point, &before));
    }
    if (point != '\n') HU_TRY(put_character(&out, '\n', &before)); /* a last line without its end */
    *word_bytes = out.size;
    HU_TRY(hu_write_u8(&out, 0));
    *words = (char *)out.data;
    out = (hu_byte_writer){0};
done:
    hu_writer_free(&out);
    return st;
}

/* ---- files ---- */

/* Owner frees *path. Plain, or with ".gz" behind. */
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

/* The packed file where it alone is there, else the plain one. */
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

/* data [bytes], which may have no zero behind it. */
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
