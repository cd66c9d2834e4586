#include "data/words.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"
#include "data/tokens.h"

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

/* text: with a zero behind it, and perhaps others in it. */
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
