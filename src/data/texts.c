/* Texts of files: read, parted, and with a vocabulary. */
#include "data/texts.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "data/piece_words.h"

void hu_texts_free(hu_texts *texts) {
    for (int h = 0; h < HU_TEXT_HALVES; h++) hu_free(texts->file[h]);
    hu_vocabulary_free(&texts->vocabulary);
}

/* A byte-order mark is no part of words and characters. */
static void skip_mark(hu_tokens *tokens) {
    if (tokens->unit != HU_TEXT_BYTES) tokens->at = hu_text_mark_bytes(tokens->text, tokens->bytes);
}

/* Words of which pieces are made. */
static hu_status part_words(bool is_cased, char **file, hu_tokens *tokens) {
    char *words = NULL;
    hu_status st = hu_piece_words(tokens->text, tokens->bytes, is_cased, &words, &tokens->bytes);
    if (st != HU_OK) return st;
    hu_free(*file);
    tokens->text = *file = words;
    tokens->unit = HU_TEXT_WORDS;
    tokens->at = 0;
    return HU_OK;
}

/* is_cased: of pieces. */
static hu_status read_file(const char *path, hu_text_unit unit, bool is_cased, char **file,
                           hu_tokens *tokens) {
    uint8_t *data = NULL;
    size_t bytes;
    hu_status st;
    HU_TRY(hu_file_read(path, SIZE_MAX / 2, &data, &bytes));
    HU_TRY(HU_NEW_ARRAY(file, bytes + 1));
    memcpy(*file, data, bytes);
    *tokens =
        (hu_tokens){.path = path, .text = *file, .bytes = bytes, .unit = unit, .left = INT64_MAX};
    skip_mark(tokens);
    HU_TRY(hu_tokens_check(tokens));
    if (unit == HU_TEXT_PIECES) HU_TRY(part_words(is_cased, file, tokens));
done:
    hu_free(data);
    return st;
}

/* The first nine tenths of the tokens of a file, and the others. */
static void split_file(const hu_tokens *whole, hu_tokens half[HU_TEXT_HALVES]) {
    const char *token;
    size_t length;
    int64_t count = hu_tokens_count(whole), train = count / 10 * 9 + count % 10 * 9 / 10;
    half[0] = half[1] = *whole;
    half[0].left = train;
    for (int64_t i = 0; i < train; i++) hu_tokens_next(&half[1], &token, &length);
    half[1].left = count - train;
}

static hu_status read_halves(const char *path, const hu_text_choice *choice, hu_texts *t) {
    hu_status st;
    hu_tokens whole;
    bool is_cased = choice->unit == HU_TEXT_PIECES && hu_pieces_are_cased(&t->vocabulary);
    HU_TRY(read_file(path, choice->unit, is_cased, &t->file[0], &whole));
    if (choice->valid) {
        t->half[0] = whole;
        HU_TRY(read_file(choice->valid, choice->unit, is_cased, &t->file[1], &t->half[1]));
    } else {
        split_file(&whole, t->half);
    }
done:
    return st;
}

/* A file that somebody gives. Bytes are numbers already. */
static hu_status read_vocabulary(const hu_text_choice *choice, hu_texts *t) {
    if (choice->unit == HU_TEXT_BYTES && choice->vocabulary)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.vocabulary: found '%s', expected none: bytes are numbers from 0 to "
                       "255; choose data.unit=char or word",
                       choice->vocabulary);
    if (choice->unit == HU_TEXT_PIECES && !choice->vocabulary)
        return hu_fail(HU_ERR_ARGUMENT, "data.vocabulary: found none, expected a file of pieces of "
                                        "words, like BERT's vocab.txt");
    if (!choice->vocabulary) return HU_OK;
    return hu_vocabulary_read(choice->vocabulary, choice->unit, &t->vocabulary);
}

/* A token that has no number, in a vocabulary without <unk>. at: of the byte behind it. */
static hu_status unknown_token(const hu_tokens *tokens, const char *token, size_t length) {
    long long line, byte;
    hu_tokens_place(tokens, tokens->at - length, &line, &byte);
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: line %lld, byte %lld: found '%.*s', expected one of the vocabulary, which "
                   "has no %s",
                   tokens->path, line, byte, (int)length, token, HU_TOKEN_UNKNOWN);
}

hu_status hu_texts_read(const char *path, const hu_text_choice *choice, hu_texts *texts) {
    *texts = (hu_texts){.vocabulary = {.unknown = -1}};
    int64_t least = choice->least_count > 0 ? choice->least_count : 1;
    hu_status st;
    HU_TRY(read_vocabulary(choice, texts)); /* which says how words are parted into pieces */
    HU_TRY(read_halves(path, choice, texts));
    if (!choice->vocabulary && choice->unit != HU_TEXT_BYTES)
        st = hu_vocabulary_of_text(&texts->half[0], least, &texts->vocabulary);
done:
    return st;
}

int64_t hu_texts_classes(const hu_texts *texts) {
    bool has_bytes = texts->half[0].unit == HU_TEXT_BYTES;
    return has_bytes ? HU_BYTE_VALUES : (int64_t)texts->vocabulary.count;
}

hu_status hu_texts_number(const hu_texts *texts, const hu_tokens *tokens, const char *token,
                          size_t length, int32_t *number) {
    bool is_byte = tokens->unit == HU_TEXT_BYTES;
    int64_t found =
        is_byte ? (unsigned char)*token : hu_vocabulary_find(&texts->vocabulary, token, length);
    if (found < 0) found = texts->vocabulary.unknown;
    *number = (int32_t)found;
    return found < 0 ? unknown_token(tokens, token, length) : HU_OK;
}

void hu_texts_give_names(hu_texts *texts, hu_dataset *dataset) {
    dataset->class_names = texts->vocabulary.text;
    dataset->class_name_count = (int64_t)texts->vocabulary.count;
    texts->vocabulary.text = NULL;
}
