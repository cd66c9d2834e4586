#include "data/prompt.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/texts.h"

hu_status hu_prompt_add(hu_prompt *prompt, int32_t number) {
    hu_status st = hu_grow(&prompt->number, prompt->count, &prompt->capacity, sizeof number);
    if (st == HU_OK) prompt->number[prompt->count++] = number;
    return st;
}

void hu_prompt_free(hu_prompt *prompt) {
    hu_free(prompt->number);
    hu_free(prompt->unknown);
    hu_free(prompt->words);
    *prompt = (hu_prompt){0};
}

/* The word stands in words [words + *used], of room for the whole text, unless it did before. */
static hu_status note_unknown(hu_prompt *prompt, const char *token, size_t length, size_t *used) {
    for (size_t i = 0; i < prompt->unknowns; i++)
        if (strlen(prompt->unknown[i]) == length && memcmp(prompt->unknown[i], token, length) == 0)
            return HU_OK;
    hu_status st = hu_grow(&prompt->unknown, prompt->unknowns, &prompt->unknown_capacity,
                           sizeof *prompt->unknown);
    if (st != HU_OK) return st;
    char *word = prompt->words + *used;
    memcpy(word, token, length);
    word[length] = '\0';
    *used += length + 1;
    prompt->unknown[prompt->unknowns++] = word;
    return HU_OK;
}

static bool is_word(const char *token, size_t length, const char *word) {
    return strlen(word) == length && memcmp(token, word, length) == 0;
}

/* tokens: at the beginning of the text. */
static hu_status take_tokens(const hu_texts *texts, hu_tokens tokens, hu_prompt *prompt) {
    hu_status st = HU_OK;
    const char *token;
    size_t length, used = 0;
    int32_t number;
    bool has_open_line = tokens.bytes > 0 && tokens.text[tokens.bytes - 1] != '\n';
    while (hu_tokens_next(&tokens, &token, &length)) {
        bool is_end = tokens.unit == HU_TEXT_WORDS && tokens.at == tokens.bytes && !tokens.in_line;
        if (is_end && has_open_line) break;
        HU_TRY(hu_texts_number(texts, &tokens, token, length, &number));
        if (number == texts->vocabulary.unknown && !is_word(token, length, HU_TOKEN_UNKNOWN))
            HU_TRY(note_unknown(prompt, token, length, &used));
        HU_TRY(hu_prompt_add(prompt, number));
    }
done:
    return st;
}

hu_status hu_prompt_read(const hu_dataset *dataset, const char *where, const char *text,
                         size_t bytes, hu_prompt *prompt) {
    hu_status st;
    hu_texts texts = {.vocabulary = {.unknown = -1}};
    const hu_tokens tokens = {
        .path = where, .text = text, .bytes = bytes, .unit = dataset->unit, .left = INT64_MAX};
    *prompt = (hu_prompt){0};
    HU_TRY(hu_tokens_check(&tokens));
    HU_TRY(
        hu_vocabulary_of_names(dataset->class_names, dataset->class_name_count, &texts.vocabulary));
    prompt->unknown_token = (int32_t)texts.vocabulary.unknown;
    HU_TRY(HU_NEW_ARRAY(&prompt->words, 2 * bytes + 1)); /* each word with a zero */
    HU_TRY(take_tokens(&texts, tokens, prompt));
    if (prompt->count == 0)
        st = hu_fail(HU_ERR_ARGUMENT, "%s: found no token, expected a text to go on with", where);
done:
    hu_texts_free(&texts);
    return st;
}

int64_t hu_prompt_show(const hu_prompt *prompt, hu_dataset *dataset) {
    int64_t length = dataset->field[0].extent[0], count = (int64_t)prompt->count;
    int64_t shown = count < length ? count : length;
    int32_t *row = dataset->owned[0];
    memcpy(row, prompt->number + count - shown, (size_t)shown * sizeof *row);
    memset(row + shown, 0, (size_t)(length - shown) * sizeof *row);
    return shown - 1;
}
