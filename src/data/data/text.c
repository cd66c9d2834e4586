#include "data/text.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "data/fields.h"
#include "data/kinds.h"
#include "data/tokenizer.h"

/* ---- texts ---- */

/* The two texts of a data set, to be trained with and to be tested on, and the
 * numbers of their tokens. */

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
    hu_status st = hu_subword_words(tokens->text, tokens->bytes, is_cased, &words, &tokens->bytes);
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
    bool is_cased = choice->unit == HU_TEXT_PIECES && hu_subwords_are_cased(&t->vocabulary);
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

/* A token that has no number, in a vocabulary without <unk>. at: of the byte after it. */
static hu_status unknown_token(const hu_tokens *tokens, const char *token, size_t length) {
    long long line, byte;
    hu_tokens_place(tokens, tokens->at - length, &line, &byte);
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: line %lld, byte %lld: found '%.*s', expected one of the vocabulary, which "
                   "has no %s",
                   tokens->path, line, byte, (int)length, token, HU_TOKEN_UNKNOWN);
}

/* Those of the training text, where nobody gives others. */
static hu_status count_words(const hu_text_choice *choice, hu_texts *texts) {
    int64_t least = choice->least_count > 0 ? choice->least_count : 1;
    if (choice->vocabulary || choice->unit == HU_TEXT_BYTES) return HU_OK;
    return hu_vocabulary_of_text(&texts->half[0], least, &texts->vocabulary);
}

hu_status hu_texts_find_words(const hu_text_choice *choice, hu_texts *texts) {
    hu_status st = read_vocabulary(choice, texts);
    return st == HU_OK ? count_words(choice, texts) : st;
}

hu_status hu_texts_read(const char *path, const hu_text_choice *choice, hu_texts *texts) {
    *texts = (hu_texts){.vocabulary = {.unknown = -1}};
    hu_status st;
    HU_TRY(read_vocabulary(choice, texts)); /* which says how words are parted into pieces */
    HU_TRY(read_halves(path, choice, texts));
    st = count_words(choice, texts);
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

/* ---- prompt ---- */

/* A text that a model of text:FILE goes on with, as numbers of its tokens. */

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

/* ---- A text whose tokens are to be told from those before them ---- */

enum { TOKENS, TARGETS, FIELDS, USUAL_LENGTH = 64 };

bool hu_text_available(const hu_data_kind *kind, const char *path) {
    (void)kind;
    return hu_file_exists(path);
}

static hu_status number_tokens(const hu_texts *texts, hu_tokens tokens, int32_t *id) {
    hu_status st = HU_OK;
    const char *token;
    size_t length;
    while (st == HU_OK && hu_tokens_next(&tokens, &token, &length))
        st = hu_texts_number(texts, &tokens, token, length, id++);
    return st;
}

/* Windows overlap with their targets, and so do rows: what stands after a token is its target. */
static hu_status cut_windows(int32_t *id, int64_t count, int64_t length, hu_split *split) {
    *split = (hu_split){.count = (count - 1) / length, .rows = {id, id + 1}};
    return split->count <= UINT32_MAX
               ? HU_OK
               : hu_fail(HU_ERR_LIMIT, "a text of %lld samples", (long long)split->count);
}

/* What stream i reads in update u, which is sample number u streams + i: `there` of length tokens,
 * and none after them. */
static void read_stream(const int32_t *id, int64_t valid, int64_t length, int32_t none,
                        int32_t *row) {
    memcpy(row, id, (size_t)valid * sizeof *row);
    for (int64_t t = valid; t < length; t++) row[t] = none;
}

/* Updates of the streams: whole ones to train with; what is left of a test text counts too. */
static int64_t count_updates(int64_t piece, int64_t length, bool is_test) {
    return is_test ? (piece + length - 1) / length : piece / length;
}

/* id [count]; rows: owned[0] and [1]. Stream i is tokens i piece .. (i + 1) piece - 1, each with
 * the token after it as its target; after the end of a stream no target counts. */
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
static hu_status cut_half(const hu_texts *texts, int h, const hu_text_choice *choice, void **owned,
                          hu_split *split) {
    hu_status st;
    int32_t *id = NULL;
    const hu_tokens *tokens = &texts->half[h];
    int64_t count = hu_tokens_count(tokens);
    HU_TRY(check_length(tokens, count, choice));
    HU_TRY(HU_NEW_ARRAY(&id, (size_t)count));
    HU_TRY(number_tokens(texts, *tokens, id));
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

/* Of a half as many samples as its limit leaves: whole rounds of the streams. */
static hu_status limit_half(const char *key, int64_t limit, int64_t streams, hu_split *split) {
    int64_t kept = hu_limited(split->count, limit);
    if (kept < streams)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: found %lld samples, expected at least %lld: one of each stream", key,
                       (long long)limit, (long long)streams);
    split->count = streams > 0 ? kept / streams * streams : kept;
    return HU_OK;
}

static void describe(const hu_texts *texts, const hu_text_choice *choice, hu_dataset *dataset) {
    hu_text_fields(choice->length, hu_texts_classes(texts), dataset);
    dataset->unit = choice->unit;
    dataset->streams = choice->streams;
}

/* A sample for others to write in, in the words of a run. */
static hu_status open_prompt(const hu_text_choice *choice, hu_dataset *dataset) {
    hu_status st;
    hu_texts texts = {.half = {{.unit = choice->unit}}, .vocabulary = {.unknown = -1}};
    int32_t *rows[FIELDS];
    if (choice->unit != HU_TEXT_BYTES && !choice->vocabulary)
        HU_TRY(hu_fail(HU_ERR_MISSING, "found no %s beside the run, expected the words of its text",
                       HU_VOCABULARY_FILE));
    if (choice->unit != HU_TEXT_BYTES)
        HU_TRY(hu_vocabulary_read(choice->vocabulary, choice->unit, &texts.vocabulary));
    for (int f = 0; f < FIELDS; f++) {
        HU_TRY(HU_NEW_ARRAY(&rows[f], (size_t)choice->length));
        dataset->owned[f] = rows[f];
    }
    for (int64_t i = 0; i < choice->length; i++) rows[TARGETS][i] = HU_UNLABELLED;
    dataset->train = (hu_split){.count = 1, .rows = {rows[TOKENS], rows[TARGETS]}};
    dataset->test = dataset->train;
    dataset->lacks_truth = true;
    describe(&texts, choice, dataset);
    hu_texts_give_names(&texts, dataset);
done:
    hu_texts_free(&texts);
    return st;
}

hu_status hu_texts_open(hu_texts *texts, const hu_text_choice *choice, const hu_data_limits *limits,
                        hu_dataset *dataset) {
    hu_status st;
    hu_split *split[HU_TEXT_HALVES] = {&dataset->train, &dataset->test};
    for (int h = 0; h < HU_TEXT_HALVES; h++)
        HU_TRY(cut_half(texts, h, choice, dataset->owned + FIELDS * h, split[h]));
    describe(texts, choice, dataset);
    HU_TRY(limit_half("data.limit", limits->train, choice->streams, split[0]));
    HU_TRY(limit_half("data.test_limit", limits->test, choice->streams, split[1]));
    hu_texts_give_names(texts, dataset);
done:
    return st;
}

hu_status hu_text_open(const hu_data_kind *kind, const char *path, const hu_data_limits *limits,
                       const hu_image_choice *choice, hu_dataset *dataset) {
    (void)kind;
    hu_status st;
    hu_texts texts;
    hu_text_choice text = choice->text;
    if (text.unit == HU_TEXT_PIECES)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.unit: found piece, expected byte, char or word: pieces "
                       "of words are for segments:FILE");
    if (text.length == 0) text.length = USUAL_LENGTH;
    if (choice->known.prompts) return open_prompt(&text, dataset);
    HU_TRY(hu_texts_read(path, &text, &texts));
    st = hu_texts_open(&texts, &text, limits, dataset);
done:
    hu_texts_free(&texts);
    return st;
}
