#include "data/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text_file.h"

/* ---- A text as tokens, one after the other ---- */

static const char blanks[] = " \t\r\v\f";

static bool is_blank(char c) {
    return c != '\0' && strchr(blanks, c) != NULL;
}

/* <eos>, and the next line has no byte yet. */
static bool end_line(hu_tokens *tokens, const char **token, size_t *length) {
    *token = HU_TOKEN_END;
    *length = strlen(HU_TOKEN_END);
    tokens->in_line = false;
    return true;
}

static bool next_word(hu_tokens *tokens, const char **token, size_t *length) {
    const char *text = tokens->text;
    for (; tokens->at < tokens->bytes && is_blank(text[tokens->at]); tokens->at++)
        tokens->in_line = true;
    if (tokens->at == tokens->bytes) return tokens->in_line && end_line(tokens, token, length);
    if (text[tokens->at] == '\n') {
        tokens->at++;
        return end_line(tokens, token, length);
    }
    size_t first = tokens->at;
    while (tokens->at < tokens->bytes && text[tokens->at] != '\n' && !is_blank(text[tokens->at]))
        tokens->at++;
    *token = text + first;
    *length = tokens->at - first;
    tokens->in_line = true;
    return true;
}

/* Bytes of the character that begins with this one, in a text that is UTF-8. */
static size_t character_bytes(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static bool next_character(hu_tokens *tokens, const char **token, size_t *length) {
    if (tokens->at == tokens->bytes) return false;
    bool is_byte = tokens->unit == HU_TEXT_BYTES;
    *token = tokens->text + tokens->at;
    *length = is_byte ? 1 : character_bytes((unsigned char)**token);
    tokens->at += *length;
    return true;
}

bool hu_tokens_next(hu_tokens *tokens, const char **token, size_t *length) {
    if (tokens->left == 0) return false;
    bool is_present = tokens->unit == HU_TEXT_WORDS ? next_word(tokens, token, length)
                                                    : next_character(tokens, token, length);
    tokens->left -= is_present;
    return is_present;
}

int64_t hu_tokens_count(const hu_tokens *tokens) {
    hu_tokens place = *tokens;
    const char *token;
    size_t length;
    int64_t count = 0;
    while (hu_tokens_next(&place, &token, &length)) count++;
    return count;
}

void hu_tokens_place(const hu_tokens *tokens, size_t offset, long long *line, long long *byte) {
    *line = *byte = 1;
    for (size_t i = 0; i < offset; i++, (*byte)++)
        if (tokens->text[i] == '\n') {
            (*line)++;
            *byte = 0;
        }
}

hu_status hu_tokens_check(const hu_tokens *tokens) {
    if (tokens->unit == HU_TEXT_BYTES) return HU_OK;
    long long line, byte;
    size_t sound = hu_text_utf8_bytes(tokens->text);
    if (sound >= tokens->bytes) return HU_OK;
    hu_tokens_place(tokens, sound, &line, &byte);
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: line %lld, byte %lld: found 0x%02x, expected UTF-8 without zeros",
                   tokens->path, line, byte, (unsigned char)tokens->text[sound]);
}

/* ---- Numbers of tokens or letters as text for people ---- */

/* name: [count], each with its final zero; NULL: numbers are bytes. */
static hu_status create(const char *name, int64_t count, hu_text_unit unit, hu_words *words) {
    *words = (hu_words){.count = count, .unit = unit};
    if (!name) return HU_OK;
    hu_status st = HU_NEW_ARRAY(&words->word, (size_t)words->count);
    for (int64_t i = 0; st == HU_OK && i < words->count; i++, name += strlen(name) + 1)
        words->word[i] = name;
    return st;
}

hu_status hu_words_create(const hu_dataset *dataset, hu_words *words) {
    return create(dataset->class_names, dataset->class_name_count, dataset->unit, words);
}

hu_status hu_words_of_source(const hu_dataset *dataset, hu_words *words) {
    return create(dataset->source_names, dataset->source_name_count, dataset->unit, words);
}

void hu_words_free(hu_words *words) {
    hu_free(words->word);
    *words = (hu_words){0};
}

/* ---- what terminals and JSON can show ---- */

/* Bytes of the character that text begins with, 0 where it is none to be shown. */
static size_t shown_bytes(const char *text) {
    unsigned char first = (unsigned char)*text;
    bool is_control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
    char character[5] = {0};
    size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (is_control) return 0;
    memcpy(character, text, strnlen(text, bytes));
    bool is_second_control = first == 0xc2 && (unsigned char)character[1] < 0xa0; /* C1 */
    return hu_text_utf8_bytes(character) == bytes && !is_second_control ? bytes : 0;
}

/* text: with a zero after it, and perhaps others in it. */
static hu_status show(const char *text, size_t bytes, hu_byte_writer *out) {
    static const char replacement[] = "\xef\xbf\xbd";
    hu_status st = HU_OK;
    for (size_t i = 0; st == HU_OK && i < bytes;) {
        size_t shown = shown_bytes(text + i);
        st = shown ? hu_write_bytes(out, text + i, shown)
                   : hu_write_bytes(out, replacement, strlen(replacement));
        i += shown ? shown : 1;
    }
    return st;
}

/* ---- joining ---- */

/* A token; *at_start: nothing stands before it in its line. */
static hu_status put(const hu_words *words, int32_t number, bool breaks_lines, bool *at_start,
                     hu_byte_writer *out) {
    hu_status st = HU_OK;
    if (!words->word) return hu_write_u8(out, (uint8_t)number);
    const char *word = number < words->count ? words->word[number] : HU_TOKEN_UNKNOWN;
    bool is_end = words->unit == HU_TEXT_WORDS && breaks_lines && strcmp(word, HU_TOKEN_END) == 0;
    if (words->unit == HU_TEXT_WORDS && !*at_start && !is_end) HU_TRY(hu_write_u8(out, ' '));
    *at_start = is_end;
    st = is_end ? hu_write_u8(out, '\n') : hu_write_bytes(out, word, strlen(word));
done:
    return st;
}

hu_status hu_words_join(const hu_words *words, const int32_t *number, int64_t count,
                        bool breaks_lines, char **text) {
    hu_byte_writer raw = {0}, out = {0};
    bool at_start = true;
    hu_status st = HU_OK;
    *text = NULL;
    for (int64_t i = 0; i < count; i++)
        if (number[i] >= 0) HU_TRY(put(words, number[i], breaks_lines, &at_start, &raw));
    size_t bytes = raw.size;
    HU_TRY(hu_write_u8(&raw, '\0'));
    HU_TRY(show((const char *)raw.data, bytes, &out));
    st = hu_strndup(out.data ? (const char *)out.data : "", out.size, text);
done:
    hu_writer_free(&raw);
    hu_writer_free(&out);
    return st;
}

/* ---- vocabulary ---- */

void hu_vocabulary_free(hu_vocabulary *vocabulary) {
    hu_free(vocabulary->word);
    hu_free(vocabulary->place);
    hu_free(vocabulary->text);
    *vocabulary = (hu_vocabulary){.unknown = -1};
}

/* ---- words by their bytes ---- */

/* The place of a word, or the free one that it would get. There is a free one. */
static uint32_t *place_of(const hu_vocabulary *v, const char *at, size_t length) {
    size_t i = (size_t)XXH64(at, length, 0);
    for (;; i++) {
        uint32_t *place = &v->place[i & (v->places - 1)];
        const hu_word *word = *place ? &v->word[*place - 1] : NULL;
        if (!word || (word->length == length && memcmp(word->at, at, length) == 0)) return place;
    }
}

int64_t hu_vocabulary_find(const hu_vocabulary *vocabulary, const char *at, size_t length) {
    return vocabulary->places ? (int64_t)*place_of(vocabulary, at, length) - 1 : -1;
}

/* Places for so many words, and all words at theirs. */
static hu_status make_places(hu_vocabulary *v, size_t count) {
    size_t places = 64;
    uint32_t *fresh;
    while (places <= 2 * count) places *= 2;
    hu_status st = HU_NEW_ARRAY(&fresh, places);
    if (st != HU_OK) return st;
    hu_free(v->place);
    v->place = fresh;
    v->places = places;
    for (size_t i = 0; i < v->count; i++)
        *place_of(v, v->word[i].at, v->word[i].length) = (uint32_t)i + 1;
    return HU_OK;
}

/* A new word, after all others. */
static hu_status add(hu_vocabulary *v, const char *at, size_t length, int64_t count) {
    hu_status st = HU_OK;
    if (v->count >= UINT32_MAX / 4)
        return hu_fail(HU_ERR_LIMIT, "a text of more than %u different words", UINT32_MAX / 4);
    if (v->places <= 2 * (v->count + 1)) HU_TRY(make_places(v, 2 * v->count));
    HU_TRY(hu_grow(&v->word, v->count, &v->capacity, sizeof *v->word));
    v->word[v->count++] = (hu_word){at, length, count};
    *place_of(v, at, length) = (uint32_t)v->count;
done:
    return st;
}

static hu_status count_words(hu_tokens tokens, hu_vocabulary *v) {
    hu_status st = HU_OK;
    const char *at;
    size_t length;
    while (hu_tokens_next(&tokens, &at, &length)) {
        int64_t i = hu_vocabulary_find(v, at, length);
        if (i < 0)
            HU_TRY(add(v, at, length, 1));
        else
            v->word[i].count++;
    }
done:
    return st;
}

/* ---- order ---- */

static int by_bytes(const void *left, const void *right) {
    const hu_word *a = left, *b = right;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->at, b->at, shorter);
    if (order != 0) return order;
    return (a->length > b->length) - (a->length < b->length);
}

static int by_count(const void *left, const void *right) {
    const hu_word *a = left, *b = right;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return by_bytes(left, right);
}

/* Leaves out words that are too few; whether there were some. */
static bool drop_rare(hu_vocabulary *v, int64_t least) {
    size_t kept = 0, before = v->count;
    for (size_t i = 0; i < before; i++)
        if (v->word[i].count >= least) v->word[kept++] = v->word[i];
    v->count = kept;
    return kept < before;
}

/* Words get their numbers. */
static hu_status sort(hu_vocabulary *v, int (*order)(const void *, const void *)) {
    if (v->count > 0) qsort(v->word, v->count, sizeof *v->word, order);
    return make_places(v, v->count);
}

static hu_status add_missing(hu_vocabulary *v, const char *word) {
    bool is_present = hu_vocabulary_find(v, word, strlen(word)) >= 0;
    return is_present ? HU_OK : add(v, word, strlen(word), 0);
}

static hu_status finish(hu_vocabulary *v) {
    v->unknown = hu_vocabulary_find(v, HU_TOKEN_UNKNOWN, strlen(HU_TOKEN_UNKNOWN));
    if (v->unknown < 0)
        v->unknown = hu_vocabulary_find(v, HU_PIECE_UNKNOWN, strlen(HU_PIECE_UNKNOWN));
    if (v->count <= HU_VOCABULARY_MOST) return HU_OK;
    return hu_fail(HU_ERR_LIMIT,
                   "found a vocabulary of %zu words, expected at most %d: numbers up to there are "
                   "exact in float32; set data.min_count",
                   v->count, HU_VOCABULARY_MOST);
}

/* The words one after the other: what they were found in need not outlive them. */
static hu_status copy_words(hu_vocabulary *v) {
    size_t bytes = 0;
    for (size_t i = 0; i < v->count; i++) bytes += v->word[i].length + 1;
    hu_status st = HU_NEW_ARRAY(&v->text, bytes);
    char *to = v->text;
    if (st != HU_OK) return st;
    for (size_t i = 0; i < v->count; i++) {
        memcpy(to, v->word[i].at, v->word[i].length);
        v->word[i].at = to;
        to += v->word[i].length + 1;
    }
    return HU_OK;
}

hu_status hu_vocabulary_of_text(const hu_tokens *tokens, int64_t least, hu_vocabulary *vocabulary) {
    hu_status st = HU_OK;
    bool has_words = tokens->unit == HU_TEXT_WORDS;
    *vocabulary = (hu_vocabulary){.unknown = -1};
    HU_TRY(count_words(*tokens, vocabulary));
    bool is_short = drop_rare(vocabulary, least);
    HU_TRY(sort(vocabulary, has_words ? by_count : by_bytes));
    if (has_words) HU_TRY(add_missing(vocabulary, HU_TOKEN_END));
    if (has_words || is_short) HU_TRY(add_missing(vocabulary, HU_TOKEN_UNKNOWN));
    HU_TRY(copy_words(vocabulary));
    HU_TRY(finish(vocabulary));
done:
    return st;
}

/* Words that others may not come before. */
static hu_status put_in_front(const char *const *front, size_t count, hu_vocabulary *v) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < count; i++) {
        HU_TRY(add_missing(v, front[i]));
        v->word[hu_vocabulary_find(v, front[i], strlen(front[i]))].count = INT64_MAX - (int64_t)i;
    }
done:
    return st;
}

hu_status hu_vocabulary_behind(const hu_tokens *tokens, int64_t least, const char *const *front,
                               size_t count, hu_vocabulary *vocabulary) {
    hu_status st = HU_OK;
    *vocabulary = (hu_vocabulary){.unknown = -1};
    HU_TRY(count_words(*tokens, vocabulary));
    HU_TRY(put_in_front(front, count, vocabulary));
    drop_rare(vocabulary, least);
    HU_TRY(sort(vocabulary, by_count));
    HU_TRY(copy_words(vocabulary));
    HU_TRY(finish(vocabulary));
done:
    return st;
}

hu_status hu_vocabulary_of_names(const char *names, int64_t count, hu_vocabulary *vocabulary) {
    hu_status st = HU_OK;
    *vocabulary = (hu_vocabulary){.unknown = -1};
    for (int64_t i = 0; i < count; i++, names += strlen(names) + 1)
        HU_TRY(add(vocabulary, names, strlen(names), 0));
    HU_TRY(finish(vocabulary));
done:
    return st;
}

hu_status hu_vocabulary_add(hu_vocabulary *vocabulary, const char *const *word, int count) {
    hu_status st = HU_OK;
    char *before = vocabulary->text;
    for (int i = 0; i < count; i++) HU_TRY(add_missing(vocabulary, word[i]));
    HU_TRY(copy_words(vocabulary));
    st = finish(vocabulary);
done:
    if (vocabulary->text != before) hu_free(before);
    return st;
}

/* ---- files ---- */

/* Undoes the escapes of a line, in place; false where one is none. */
static bool unescape(char *line) {
    char *to = line;
    for (; *line; line++) {
        char c = *line;
        if (c == '\\') {
            c = *++line == 'n' ? '\n' : *line == 'r' ? '\r' : *line;
            if (*line != 'n' && *line != 'r' && *line != '\\') return false;
        }
        *to++ = c;
    }
    *to = '\0';
    return true;
}

static hu_status add_line(const char *path, size_t number, char *line, hu_vocabulary *v) {
    const char *wrong = NULL;
    if (!*line)
        wrong = "an empty line";
    else if (strcmp(line, "\\") != 0 && !unescape(line)) /* alone it is itself */
        wrong = "an escape other than \\n, \\r and \\\\";
    else if (hu_vocabulary_find(v, line, strlen(line)) >= 0)
        wrong = "a word that stands above it already";
    if (!wrong) return add(v, line, strlen(line), 0);
    return hu_fail(HU_ERR_CORRUPT, "%s: line %zu: found %s, expected a word in each line", path,
                   number, wrong);
}

static hu_status read_lines(const char *path, char *text, hu_vocabulary *v) {
    hu_status st = HU_OK;
    for (size_t number = 1; *text; number++) {
        char *end = strchr(text, '\n'), *next = end ? end + 1 : text + strlen(text);
        if (end) *end = '\0';
        if (end > text && end[-1] == '\r') end[-1] = '\0'; /* of another system */
        HU_TRY(add_line(path, number, text, v));
        text = next;
    }
done:
    return st;
}

static hu_status check_special(const char *path, hu_text_unit unit, const hu_vocabulary *v) {
    bool has_end = hu_vocabulary_find(v, HU_TOKEN_END, strlen(HU_TOKEN_END)) >= 0;
    if (v->count == 0) return hu_fail(HU_ERR_CORRUPT, "%s: found no word", path);
    if (unit == HU_TEXT_PIECES && v->unknown < 0)
        return hu_fail(HU_ERR_CORRUPT, "%s: found no %s, expected it among the pieces", path,
                       HU_PIECE_UNKNOWN);
    if (unit != HU_TEXT_WORDS || (has_end && v->unknown >= 0)) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT, "%s: found no %s, expected it among the words", path,
                   has_end ? HU_TOKEN_UNKNOWN : HU_TOKEN_END);
}

hu_status hu_vocabulary_read(const char *path, hu_text_unit unit, hu_vocabulary *vocabulary) {
    hu_status st;
    char *lines = NULL;
    size_t bytes;
    *vocabulary = (hu_vocabulary){.unknown = -1};
    HU_TRY(hu_text_read(path, SIZE_MAX / 2, &lines, &bytes));
    const hu_tokens whole = {.path = path, .text = lines, .bytes = bytes, .unit = HU_TEXT_WORDS};
    HU_TRY(hu_tokens_check(&whole));
    HU_TRY(read_lines(path, lines, vocabulary));
    HU_TRY(copy_words(vocabulary));
    HU_TRY(finish(vocabulary));
    HU_TRY(check_special(path, unit, vocabulary));
done:
    hu_free(lines);
    return st;
}

static hu_status write_word(hu_byte_writer *out, const char *word) {
    hu_status st = HU_OK;
    for (; *word; word++) {
        const char *escape = *word == '\n' ? "\\n" : *word == '\r' ? "\\r" : "\\\\";
        bool is_plain = *word != '\n' && *word != '\r' && *word != '\\';
        HU_TRY(hu_write_bytes(out, is_plain ? word : escape, is_plain ? 1 : 2));
    }
    st = hu_write_u8(out, '\n');
done:
    return st;
}

hu_status hu_vocabulary_write(const char *path, const char *names, int64_t count) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    if (count > 0) HU_TRY(hu_text_write_mark(&out, names));
    for (int64_t i = 0; i < count; i++, names += strlen(names) + 1) HU_TRY(write_word(&out, names));
    st = hu_file_replace(path, out.data, out.size);
done:
    hu_writer_free(&out);
    return st;
}
