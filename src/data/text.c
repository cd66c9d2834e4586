/* A text whose tokens are to be told from those before them. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/kind.h"
#include "data/row_fields.h"
#include "data/texts.h"

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

hu_status hu_text_open(const char *path, const hu_data_limits *limits,
                       const hu_image_choice *choice, hu_dataset *dataset) {
    hu_status st;
    hu_texts texts;
    hu_text_choice text = choice->text;
    if (text.unit == HU_TEXT_PIECES)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.unit: found piece, expected byte, char or word: pieces "
                       "of words are for segments:FILE");
    hu_split *split[HU_TEXT_HALVES] = {&dataset->train, &dataset->test};
    if (text.length == 0) text.length = USUAL_LENGTH;
    if (choice->known.prompts) return open_prompt(&text, dataset);
    HU_TRY(hu_texts_read(path, &text, &texts));
    for (int h = 0; h < HU_TEXT_HALVES; h++)
        HU_TRY(cut_half(&texts, h, &text, dataset->owned + FIELDS * h, split[h]));
    describe(&texts, &text, dataset);
    HU_TRY(limit_half("data.limit", limits->train, text.streams, split[0]));
    HU_TRY(limit_half("data.test_limit", limits->test, text.streams, split[1]));
    hu_texts_give_names(&texts, dataset);
done:
    hu_texts_free(&texts);
    return st;
}
