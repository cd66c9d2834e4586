#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/directory.h"
#include "data/fields.h"
#include "data/kinds.h"
#include "data/tokenizer.h"

/* ---- parallel ---- */

/* parallel:DIR - sentences of one language beside what they mean in another: DIR/train.LANG and
 * DIR/test.LANG, the same line of both. */

enum { SOURCE, TARGET, LANGUAGES };
enum { SOURCE_IDS, SOURCE_LENGTH, TOKENS, TARGETS, TARGET_LENGTH, FIELDS };
enum { ROWS_TAKEN = FIELDS, BLOCKS }; /* of the longer one of a pair */
enum { TRAIN, TEST, HALVES, USUAL_LENGTH = 32, USUAL_LEAST = 2 };

/* One half while it is read. */
typedef struct half {
    hu_sentences side[LANGUAGES];
    int64_t kept, too_long, empty; /* pairs */
} half;

typedef struct parallel {
    const hu_text_choice *choice;
    int64_t length; /* places of a row */
    half half[HALVES];
    hu_vocabulary vocabulary[LANGUAGES];
} parallel;

static void free_parallel(parallel *p) {
    for (int l = 0; l < LANGUAGES; l++) {
        for (int h = 0; h < HALVES; h++) hu_sentences_free(&p->half[h].side[l]);
        hu_vocabulary_free(&p->vocabulary[l]);
    }
}

bool hu_parallel_available(const hu_data_kind *kind, const char *directory) {
    (void)kind;
    return hu_is_folder(directory);
}

/* ---- files ---- */

static hu_status check_languages(const hu_text_choice *choice) {
    if (choice->source && choice->target && strcmp(choice->source, choice->target) == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.target: found '%s', which is data.source too, expected another "
                       "language",
                       choice->target);
    if (choice->source && choice->target) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "data.%s: found none, expected a language: data.source=en data.target=fr where "
                   "the folder has train.en and train.fr",
                   choice->source ? "target" : "source");
}

static hu_status read_half(const char *directory, const char *name, const hu_text_choice *choice,
                           half *h) {
    const char *const language[LANGUAGES] = {choice->source, choice->target};
    hu_status st;
    for (int l = 0; l < LANGUAGES; l++)
        HU_TRY(hu_sentences_read(directory, name, language[l], &h->side[l]));
    if (h->side[SOURCE].count != h->side[TARGET].count)
        st = hu_fail(HU_ERR_CORRUPT, "%s: found %lld lines, expected %lld as %s has",
                     h->side[TARGET].path, (long long)h->side[TARGET].count,
                     (long long)h->side[SOURCE].count, h->side[SOURCE].path);
done:
    return st;
}

/* What the user says, else test, else val. */
static hu_status read_test(const char *directory, const hu_text_choice *choice, half *h) {
    bool has_test = true;
    hu_status st = hu_sentences_look(directory, "test", choice->source, &has_test);
    const char *usual = has_test ? "test" : "val";
    return st == HU_OK ? read_half(directory, choice->test ? choice->test : usual, choice, h) : st;
}

static hu_status find_vocabularies(parallel *p) {
    const char *const file[LANGUAGES] = {p->choice->source_vocabulary, p->choice->vocabulary};
    int64_t least = p->choice->least_count > 0 ? p->choice->least_count : USUAL_LEAST;
    hu_status st = HU_OK;
    for (int l = 0; st == HU_OK && l < LANGUAGES; l++)
        st = file[l] ? hu_sentences_vocabulary_read(file[l], &p->vocabulary[l])
                     : hu_sentences_vocabulary(&p->half[TRAIN].side[l], least, &p->vocabulary[l]);
    return st;
}

/* ---- rows ---- */

/* Numbers of the next sentence; id: [most], of which those after the sentence stay. Returns its
 * words, also where they are more. */
static int64_t number_sentence(hu_tokens *tokens, const hu_vocabulary *v, int64_t most,
                               int32_t *id) {
    const char *token;
    size_t length;
    int64_t words = 0;
    while (hu_tokens_next(tokens, &token, &length)) {
        int64_t number = hu_vocabulary_find(v, token, length);
        if (number == HU_SENTENCE_END) break;
        if (words < most) id[words] = (int32_t)(number < 0 ? v->unknown : number);
        words++;
    }
    return words;
}

/* Where the rows of a half go. */
typedef struct rows {
    int32_t *field[BLOCKS]; /* [kept, length] or [kept] */
    int64_t length;
} rows;

/* After words numbered in source and targets: the other fields of pair i. */
static void finish_pair(const rows *r, int64_t i, int64_t source_words, int64_t target_words) {
    int32_t *source = r->field[SOURCE_IDS] + i * r->length;
    int32_t *tokens = r->field[TOKENS] + i * r->length;
    int32_t *targets = r->field[TARGETS] + i * r->length;
    for (int64_t t = source_words; t < r->length; t++) source[t] = HU_SENTENCE_PADDING;
    targets[target_words] = HU_SENTENCE_END;
    for (int64_t t = target_words + 1; t < r->length; t++) targets[t] = HU_UNLABELLED;
    tokens[0] = HU_SENTENCE_BEGIN;
    for (int64_t t = 1; t < r->length; t++)
        tokens[t] = t <= target_words ? targets[t - 1] : HU_SENTENCE_PADDING;
    r->field[SOURCE_LENGTH][i] = (int32_t)source_words;
    r->field[TARGET_LENGTH][i] = (int32_t)target_words + 1;
    r->field[ROWS_TAKEN][i] =
        (int32_t)(source_words > target_words ? source_words : target_words + 1);
}

/* Pairs that fit one after the other; those that do not are counted. */
static void fill_rows(const parallel *p, half *h, const rows *r) {
    hu_tokens source = hu_sentences_tokens(&h->side[SOURCE]);
    hu_tokens target = hu_sentences_tokens(&h->side[TARGET]);
    int64_t most = r->length - 1;
    for (int64_t i = 0; i < h->side[SOURCE].count; i++) {
        int64_t at = h->kept * r->length;
        int64_t of_source =
            number_sentence(&source, &p->vocabulary[SOURCE], most, r->field[SOURCE_IDS] + at);
        int64_t of_target =
            number_sentence(&target, &p->vocabulary[TARGET], most, r->field[TARGETS] + at);
        bool is_empty = of_source == 0 || of_target == 0;
        bool is_long = of_source > most || of_target > most;
        h->empty += is_empty;
        h->too_long += is_long && !is_empty;
        if (!is_empty && !is_long) finish_pair(r, h->kept++, of_source, of_target);
    }
}

static hu_status check_kept(const half *h, int64_t length) {
    if (h->kept > 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "%s: found no pair of 1 to %lld words (of %lld; %lld are longer, %lld have an "
                   "empty line), expected at least one; set data.length to 1 + the most words",
                   h->side[SOURCE].path, (long long)length - 1, (long long)h->side[SOURCE].count,
                   (long long)h->too_long, (long long)h->empty);
}

static bool is_row(int block) {
    return block == SOURCE_IDS || block == TOKENS || block == TARGETS;
}

/* owned: room for BLOCKS of them. */
static hu_status cut_half(const parallel *p, half *h, int64_t limit, void **owned,
                          hu_split *split) {
    hu_status st;
    rows r = {.length = p->length};
    size_t pairs = (size_t)h->side[SOURCE].count;
    for (int f = 0; f < BLOCKS; f++) {
        size_t extent = is_row(f) ? (size_t)p->length : 1;
        HU_TRY(hu_alloc_array(pairs, extent * sizeof(int32_t), &owned[f]));
        r.field[f] = owned[f];
    }
    fill_rows(p, h, &r);
    HU_TRY(check_kept(h, p->length));
    *split = (hu_split){.count = hu_limited(h->kept, limit), .rows_taken = owned[ROWS_TAKEN]};
    for (int f = 0; f < FIELDS; f++) split->rows[f] = owned[f];
done:
    return st;
}

/* ---- what it is ---- */

static void describe(parallel *p, hu_dataset *dataset) {
    hu_sentence_fields(p->length, (int64_t)p->vocabulary[SOURCE].count,
                       (int64_t)p->vocabulary[TARGET].count, dataset);
    dataset->unit = HU_TEXT_WORDS;
    for (int h = 0; h < HALVES; h++) dataset->left_out[h] = p->half[h].too_long + p->half[h].empty;
}

/* Gives the words away. */
static void name_classes(parallel *p, hu_dataset *dataset) {
    hu_vocabulary *source = &p->vocabulary[SOURCE], *target = &p->vocabulary[TARGET];
    dataset->class_names = target->text;
    dataset->class_name_count = (int64_t)target->count;
    dataset->source_names = source->text;
    dataset->source_name_count = (int64_t)source->count;
    source->text = target->text = NULL;
}

/* The training half; where a model that knows its words looks at others, that of testing stands for
 * it. */
static hu_status read_train(const char *directory, bool only_test, parallel *p) {
    return only_test ? HU_OK : read_half(directory, "train", p->choice, &p->half[TRAIN]);
}

static hu_status cut_halves(parallel *p, bool only_test, const hu_data_limits *limits,
                            hu_dataset *dataset) {
    hu_status st = HU_OK;
    if (!only_test)
        HU_TRY(cut_half(p, &p->half[TRAIN], limits->train, dataset->owned, &dataset->train));
    HU_TRY(cut_half(p, &p->half[TEST], limits->test, dataset->owned + BLOCKS, &dataset->test));
    if (only_test) dataset->train = dataset->test;
done:
    return st;
}

hu_status hu_parallel_open(const hu_data_kind *kind, const char *directory,
                           const hu_data_limits *limits, const hu_image_choice *choice,
                           hu_dataset *dataset) {
    (void)kind;
    hu_status st;
    bool knows_words = choice->text.vocabulary && choice->text.source_vocabulary;
    bool only_test = choice->known.only_test && knows_words;
    parallel p = {.choice = &choice->text, .length = choice->text.length};
    if (p.length == 0) p.length = USUAL_LENGTH;
    HU_TRY(check_languages(p.choice));
    HU_TRY(read_train(directory, only_test, &p));
    HU_TRY(read_test(directory, p.choice, &p.half[TEST]));
    HU_TRY(find_vocabularies(&p));
    HU_TRY(cut_halves(&p, only_test, limits, dataset));
    describe(&p, dataset);
    name_classes(&p, dataset);
done:
    free_parallel(&p);
    return st;
}
