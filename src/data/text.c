/* A text whose tokens are to be told from those before them. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/kind.h"
#include "data/vocabulary.h"

enum { TOKENS, TARGETS, FIELDS, BYTE_VALUES = 256, USUAL_LENGTH = 64, HALVES = 2 };

/* The two texts, which may be parts of one file. */
typedef struct texts {
    char *file[HALVES]; /* with a zero behind; the second NULL: both are of the first */
    hu_tokens half[HALVES];
    hu_vocabulary vocabulary;
} texts;

static void free_texts(texts *t) {
    for (int h = 0; h < HALVES; h++) hu_free(t->file[h]);
    hu_vocabulary_free(&t->vocabulary);
}

bool hu_text_available(const hu_data_kind *kind, const char *path) {
    (void)kind;
    return hu_file_exists(path);
}

/* A byte-order mark is no part of words and characters. */
static void skip_mark(hu_tokens *tokens) {
    static const char mark[] = "\xef\xbb\xbf";
    if (tokens->unit != HU_TEXT_BYTES && strncmp(tokens->text, mark, strlen(mark)) == 0)
        tokens->at = strlen(mark);
}

static hu_status read_file(const char *path, hu_text_unit unit, char **file, hu_tokens *tokens) {
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
done:
    hu_free(data);
    return st;
}

/* The first nine tenths of the tokens of a file, and the others. */
static void split_file(const hu_tokens *whole, hu_tokens half[HALVES]) {
    const char *token;
    size_t length;
    int64_t count = hu_tokens_count(whole), train = count / 10 * 9 + count % 10 * 9 / 10;
    half[0] = half[1] = *whole;
    half[0].left = train;
    for (int64_t i = 0; i < train; i++) hu_tokens_next(&half[1], &token, &length);
    half[1].left = count - train;
}

static hu_status read_texts(const char *path, const hu_text_choice *choice, texts *t) {
    hu_status st;
    hu_tokens whole;
    HU_TRY(read_file(path, choice->unit, &t->file[0], &whole));
    if (choice->valid) {
        t->half[0] = whole;
        HU_TRY(read_file(choice->valid, choice->unit, &t->file[1], &t->half[1]));
    } else {
        split_file(&whole, t->half);
    }
done:
    return st;
}

/* Bytes are numbers already. */
static hu_status find_vocabulary(const hu_text_choice *choice, texts *t) {
    int64_t least = choice->least_count > 0 ? choice->least_count : 1;
    if (choice->unit == HU_TEXT_BYTES && choice->vocabulary)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.vocabulary: found '%s', expected none: bytes are numbers from 0 to "
                       "255; choose data.unit=char or word",
                       choice->vocabulary);
    if (choice->unit == HU_TEXT_BYTES) return HU_OK;
    if (choice->vocabulary)
        return hu_vocabulary_read(choice->vocabulary, choice->unit, &t->vocabulary);
    return hu_vocabulary_of_text(&t->half[0], least, &t->vocabulary);
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

static hu_status number_tokens(hu_tokens tokens, const hu_vocabulary *vocabulary, int32_t *id) {
    const char *token;
    size_t length;
    while (hu_tokens_next(&tokens, &token, &length)) {
        bool is_byte = tokens.unit == HU_TEXT_BYTES;
        int64_t number =
            is_byte ? (unsigned char)*token : hu_vocabulary_find(vocabulary, token, length);
        if (number < 0) number = vocabulary->unknown;
        if (number < 0) return unknown_token(&tokens, token, length);
        *id++ = (int32_t)number;
    }
    return HU_OK;
}

/* Windows overlap with their targets, and so do rows: what stands behind a token is its target. */
static hu_status cut_windows(int32_t *id, int64_t count, int64_t length, hu_split *split) {
    *split = (hu_split){.count = (count - 1) / length, .rows = {id, id + 1}};
    return split->count <= UINT32_MAX
               ? HU_OK
               : hu_fail(HU_ERR_LIMIT, "a text of %lld samples", (long long)split->count);
}

/* What stream i reads in update u, which is sample number u streams + i: `there` of length tokens,
 * and none behind them. */
static void read_stream(const int32_t *id, int64_t there, int64_t length, int32_t none,
                        int32_t *row) {
    memcpy(row, id, (size_t)there * sizeof *row);
    for (int64_t t = there; t < length; t++) row[t] = none;
}

/* Updates of the streams: whole ones to train with; what is left of a test text counts too. */
static int64_t count_updates(int64_t piece, int64_t length, bool is_test) {
    return is_test ? (piece + length - 1) / length : piece / length;
}

/* id [count]; rows: owned[0] and [1]. Stream i is tokens i piece .. (i + 1) piece - 1, each with
 * the token behind it as its target; behind the end of a stream no target counts. */
static hu_status cut_streams(const int32_t *id, int64_t count, const hu_text_choice *choice,
                             bool is_test, void **owned, hu_split *split) {
    hu_status st = HU_OK;
    static const int32_t none[FIELDS] = {[TOKENS] = 0, [TARGETS] = HU_UNLABELLED};
    int64_t n = choice->streams, length = choice->length, piece = (count - 1) / n;
    int64_t steps = count_updates(piece, length, is_test), row = 0;
    int32_t *rows[FIELDS];
    for (int f = 0; f < FIELDS; f++) {
        HU_TRY(hu_alloc_array((size_t)(steps * n * length), sizeof **rows, &owned[f]));
        rows[f] = owned[f];
    }
    for (int64_t u = 0; u < steps; u++)
        for (int64_t i = 0; i < n; i++, row += length)
            for (int f = 0; f < FIELDS; f++)
                read_stream(id + i * piece + u * length + f, hu_limited(length, piece - u * length),
                            length, none[f], rows[f] + row);
    *split = (hu_split){.count = steps * n, .rows = {rows[0], rows[1]}};
done:
    return st;
}

static hu_status check_length(const hu_tokens *tokens, int64_t count,
                              const hu_text_choice *choice) {
    int64_t streams = choice->streams > 0 ? choice->streams : 1;
    if (count == 0) return hu_fail(HU_ERR_CORRUPT, "%s: found no text", tokens->path);
    if ((count - 1) / streams >= choice->length) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "%s: found %lld tokens, expected at least %lld for %lld stream%s of "
                   "data.length=%lld and the token behind each",
                   tokens->path, (long long)count, (long long)(streams * choice->length + 1),
                   (long long)streams, streams == 1 ? "" : "s", (long long)choice->length);
}

/* Half number h: its numbers, and samples of them. owned: room for two blocks. */
static hu_status cut_half(const texts *t, int h, const hu_text_choice *choice, void **owned,
                          hu_split *split) {
    hu_status st;
    int32_t *id = NULL;
    const hu_tokens *tokens = &t->half[h];
    int64_t count = hu_tokens_count(tokens);
    HU_TRY(check_length(tokens, count, choice));
    HU_TRY(HU_NEW_ARRAY(&id, (size_t)count));
    HU_TRY(number_tokens(*tokens, &t->vocabulary, id));
    if (choice->streams > 0) {
        st = cut_streams(id, count, choice, h > 0, owned, split);
    } else {
        st = cut_windows(id, count, choice->length, split);
        owned[0] = id;
        id = NULL;
    }
done:
    hu_free(id);
    return st;
}

/* Whole rounds of the streams. */
static int64_t limited(int64_t count, int64_t limit, int64_t streams) {
    int64_t kept = hu_limited(count, limit);
    return streams > 0 ? kept / streams * streams : kept;
}

static void describe(const texts *t, const hu_text_choice *choice, hu_dataset *dataset) {
    static const char *const names[FIELDS] = {"tokens", "targets"};
    int64_t classes = choice->unit == HU_TEXT_BYTES ? BYTE_VALUES : (int64_t)t->vocabulary.count;
    for (int f = 0; f < FIELDS; f++) {
        hu_field *field = &dataset->field[f];
        *field = (hu_field){
            .type = HU_FIELD_I32, .rank = 1, .extent = {choice->length}, .classes = classes};
        strcpy(field->name, names[f]);
    }
    dataset->field_count = FIELDS;
    dataset->unit = choice->unit;
    dataset->streams = choice->streams;
}

hu_status hu_text_open(const char *path, const hu_data_limits *limits,
                       const hu_image_choice *choice, hu_dataset *dataset) {
    hu_status st;
    texts t = {.vocabulary = {.unknown = -1}};
    hu_text_choice text = choice->text;
    hu_split *split[HALVES] = {&dataset->train, &dataset->test};
    if (text.length == 0) text.length = USUAL_LENGTH;
    HU_TRY(read_texts(path, &text, &t));
    HU_TRY(find_vocabulary(&text, &t));
    for (int h = 0; h < HALVES; h++)
        HU_TRY(cut_half(&t, h, &text, dataset->owned + FIELDS * h, split[h]));
    describe(&t, &text, dataset);
    split[0]->count = limited(split[0]->count, limits->train, text.streams);
    split[1]->count = limited(split[1]->count, limits->test, text.streams);
    dataset->class_names = t.vocabulary.text;
    dataset->class_name_count = (int64_t)t.vocabulary.count;
    t.vocabulary.text = NULL;
done:
    free_texts(&t);
    return st;
}
