#include "data/tokens.h"

#include <string.h>

#include "base/error.h"
#include "base/keys.h"

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
    bool is_there = tokens->unit == HU_TEXT_WORDS ? next_word(tokens, token, length)
                                                  : next_character(tokens, token, length);
    tokens->left -= is_there;
    return is_there;
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
