#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/fields.h"
#include "data/kinds.h"
#include "data/text.h"
#include "data/tokenizer.h"

/* ---- segments ---- */

/* segments:FILE - pairs of segments of a text: hidden words of them are to be told, and whether
 * the second segment stands after the first. What BERT is trained with first (Devlin et al. 2019,
 * "BERT: pre-training of deep bidirectional transformers", section 3.1 and appendix A.1 and A.2).
 *
 * Lines whose first and last word are "=" and that have more than two are headings, and end a
 * document; other lines of a document are joined. Documents are cut into segments of (length - 3) /
 * 2 words; what is left at the end is one more where it is a quarter as long. Sample i of epoch e
 * is segment i, k = e segments + i, word(name, j) that of base/rng.h:
 *
 *   second segment  segment i + 1 (label 0), where it is of the same document and the top bit of
 *                   word("bert.pair", 2k) is 0; else word("bert.pair", 2k + 1) mod segments (1)
 *   tokens          [CLS] first [SEP] second [SEP], then [PAD]
 *   hidden words    places t in ascending order until 15 of 100 of the length are taken: with r_j =
 *                   word("bert.mask", 3 length k + 3t + j), where r_0 is below 3/20 of 2^32. There
 *                   stands [MASK] where r_1 is below 8/10, else where it is below 9/10 word r_2 mod
 *                   words, else the word itself
 *
 * With data.unit=piece words are small and cut into the pieces of a vocabulary (data/tokenizer.h),
 * which stand for words above.
 *
 * Samples of the test text are those of epoch 1000 in every epoch. */

enum { TOKENS, SEGMENTS, TARGETS, PLACES, LABEL, LENGTH, FIELDS };
enum { PAD, CLS, SEP, MASK, SPECIALS };
enum { USUAL_LENGTH = 64, LEAST_LENGTH = 5, TEST_EPOCH = 1000, OWNED = 3 };
static const char *const specials[SPECIALS] = {"[PAD]", "[CLS]", "[SEP]", "[MASK]"};

/* So many words from a place on; the next segment is of the same document, or begins another. */
typedef struct segment {
    int64_t first;
    int64_t words;
    bool goes_on;
} segment;

/* One text. Read only once it is made: several threads fill samples of it. */
typedef struct half {
    int32_t *word; /* numbers of the words of all documents */
    segment *segment;
    int64_t count;
    int64_t length, hidden;    /* places of a sample, and hidden words at most */
    int32_t special[SPECIALS]; /* their numbers */
    uint32_t words;            /* a hidden word may be shown as any number below */
    bool is_test;
    uint32_t pair_hash, mask_hash;
} half;

/* ---- segments ---- */

/* Where a text is while it is cut. */
typedef struct cutter {
    const hu_texts *texts;
    half *half;
    bool has_pieces;               /* words are cut into those of the vocabulary */
    int64_t words, line, document; /* kept so far; where the line, and the document, begin */
    bool begins_equal, ends_equal; /* the line's first and last word are "=" */
    size_t capacity;               /* of half->segment */
} cutter;

static hu_status add_segment(cutter *c, int64_t first, int64_t words) {
    half *h = c->half;
    hu_status st = hu_grow(&h->segment, (size_t)h->count, &c->capacity, sizeof *h->segment);
    if (st == HU_OK) h->segment[h->count++] = (segment){first, words, true};
    return st;
}

/* Cuts what has been read since the last heading. */
static hu_status end_document(cutter *c) {
    hu_status st = HU_OK;
    int64_t most = (c->half->length - 3) / 2, least = (most + 3) / 4, before = c->half->count;
    while (c->words - c->document >= least) {
        int64_t words = hu_limited(c->words - c->document, most);
        HU_TRY(add_segment(c, c->document, words));
        c->document += words;
    }
    if (c->half->count > before) c->half->segment[c->half->count - 1].goes_on = false;
    c->document = c->words;
done:
    return st;
}

/* The words of a heading are not kept. */
static hu_status end_line(cutter *c) {
    hu_status st = HU_OK;
    bool is_heading = c->begins_equal && c->ends_equal && c->words - c->line > 2;
    if (is_heading) {
        c->words = c->line;
        st = end_document(c);
    }
    c->line = c->words;
    return st;
}

static hu_status add_word(cutter *c, const hu_tokens *tokens, const char *token, size_t length) {
    bool is_equal = length == 1 && *token == '=';
    if (c->words == c->line) c->begins_equal = is_equal;
    c->ends_equal = is_equal;
    int32_t *word = c->half->word + c->words;
    int64_t count = 1;
    hu_status st = HU_OK;
    if (c->has_pieces)
        hu_subwords_of(&c->texts->vocabulary, token, length, word, &count);
    else
        st = hu_texts_number(c->texts, tokens, token, length, word);
    c->words += count;
    return st;
}

/* The end of a line is a token, after which the line has no byte yet. */
static hu_status cut(const hu_texts *texts, hu_tokens tokens, bool has_pieces, half *h) {
    hu_status st;
    const char *token;
    size_t length;
    cutter c = {.texts = texts, .half = h, .has_pieces = has_pieces};
    size_t most = has_pieces ? tokens.bytes : (size_t)hu_tokens_count(&tokens);
    HU_TRY(HU_NEW_ARRAY(&h->word, most));
    while (hu_tokens_next(&tokens, &token, &length))
        HU_TRY(tokens.in_line ? add_word(&c, &tokens, token, length) : end_line(&c));
    HU_TRY(end_line(&c));
    st = end_document(&c);
done:
    return st;
}

/* ---- samples ---- */

/* Sample number k of all epochs. */
typedef struct pair {
    const half *half;
    const segment *first, *second;
    bool is_random;
    uint32_t k;
} pair;

static pair pair_of(const half *h, int64_t epoch, int64_t index) {
    uint64_t e = h->is_test ? TEST_EPOCH : (uint64_t)epoch;
    pair p = {.half = h, .first = h->segment + index, .second = h->segment + index + 1};
    p.k = (uint32_t)(e * (uint64_t)h->count + (uint64_t)index);
    p.is_random = !p.first->goes_on || hu_formula_word(h->pair_hash, 2 * p.k) >> 31;
    if (p.is_random)
        p.second = h->segment + hu_formula_word(h->pair_hash, 2 * p.k + 1) % (uint64_t)h->count;
    return p;
}

/* Tokens that are present. */
static int64_t length_of(const pair *p) {
    return p->first->words + p->second->words + 3;
}

/* The number of the word at a place, -1 where there is none. */
static int32_t word_at(const pair *p, int64_t t) {
    int64_t in_first = t - 1, in_second = t - 2 - p->first->words;
    if (in_first >= 0 && in_first < p->first->words)
        return p->half->word[p->first->first + in_first];
    if (in_second >= 0 && in_second < p->second->words)
        return p->half->word[p->second->first + in_second];
    return -1;
}

/* What stands at a place without a word. */
static int32_t special_at(const pair *p, int64_t t) {
    const int32_t *special = p->half->special;
    return t == 0 ? special[CLS] : t < length_of(p) ? special[SEP] : special[PAD];
}

/* Word j of a place, of which one in `of` parts of 2^32 are below `parts` parts. */
static bool is_below(const pair *p, int64_t t, uint32_t j, uint64_t parts, uint64_t of) {
    uint32_t at = 3 * (uint32_t)p->half->length * p->k + 3 * (uint32_t)t + j;
    return of * hu_formula_word(p->half->mask_hash, at) < parts << 32;
}

/* What is shown of a word that is to be told. */
static int32_t shown(const pair *p, int64_t t, int32_t word) {
    uint32_t at = 3 * (uint32_t)p->half->length * p->k + 3 * (uint32_t)t + 2;
    if (is_below(p, t, 1, 8, 10)) return p->half->special[MASK];
    if (!is_below(p, t, 1, 9, 10)) return word;
    return (int32_t)(hu_formula_word(p->half->mask_hash, at) % p->half->words);
}

/* Fields of a sample: tokens [length], targets and places [hidden], those that are wanted. */
static void hide_words(const pair *p, float *tokens, float *targets, float *places) {
    int64_t hidden = 0;
    for (int64_t t = 0; t < p->half->length; t++) {
        int32_t word = word_at(p, t);
        bool hides = word >= 0 && hidden < p->half->hidden && is_below(p, t, 0, 3, 20);
        if (tokens)
            tokens[t] = (float)(word < 0 ? special_at(p, t) : hides ? shown(p, t, word) : word);
        if (targets && hides) targets[hidden] = (float)word;
        if (places && hides) places[hidden] = (float)t;
        hidden += hides;
    }
    for (; hidden < p->half->hidden; hidden++) {
        if (targets) targets[hidden] = (float)HU_UNLABELLED;
        if (places) places[hidden] = -1.0f;
    }
}

/* 0 up to the first [SEP], then 1 up to the second one, and 0 for padding. */
static void number_segments(const pair *p, float *segments) {
    for (int64_t t = 0; t < p->half->length; t++)
        segments[t] = (float)(t > p->first->words + 1 && t < length_of(p));
}

static hu_status fill(void *context, int field, int64_t epoch, int64_t index, float *row) {
    const pair p = pair_of(context, epoch, index);
    if (field == SEGMENTS)
        number_segments(&p, row);
    else if (field == LABEL)
        *row = (float)p.is_random;
    else if (field == LENGTH)
        *row = (float)length_of(&p);
    else
        hide_words(&p, field == TOKENS ? row : NULL, field == TARGETS ? row : NULL,
                   field == PLACES ? row : NULL);
    return HU_OK;
}

/* ---- opening ---- */

static hu_status check_choice(const hu_text_choice *c) {
    if (c->unit == HU_TEXT_CHARACTERS)
        return hu_fail(HU_ERR_ARGUMENT, "data.unit: found char, expected word: segments are cut "
                                        "into words");
    if (c->streams > 0)
        return hu_fail(HU_ERR_ARGUMENT, "data.streams: found on, expected off: pairs of segments "
                                        "have no order");
    if (c->length >= LEAST_LENGTH) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "data.length: found %lld, expected at least %d: two words and three tokens "
                   "around them",
                   (long long)c->length, LEAST_LENGTH);
}

/* Numbers of the special tokens; those that end the vocabulary are never shown for a word. */
static void number_specials(const hu_vocabulary *v, half *h) {
    h->words = (uint32_t)v->count;
    for (int i = 0; i < SPECIALS; i++)
        h->special[i] = (int32_t)hu_vocabulary_find(v, specials[i], strlen(specials[i]));
    for (int i = 0; i < SPECIALS; i++)
        for (int j = 0; j < SPECIALS; j++) h->words -= h->special[j] + 1 == (int64_t)h->words;
}

static hu_status check_segments(const hu_tokens *tokens, const half *h) {
    int64_t most = (h->length - 3) / 2;
    if (h->count >= 2)
        return h->count <= UINT32_MAX ? HU_OK
                                      : hu_fail(HU_ERR_LIMIT, "%s: a text of %lld segments",
                                                tokens->path, (long long)h->count);
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: found %lld segment%s of %lld to %lld words, expected at least 2: a text of "
                   "lines of words, of which those that begin and end with = are headings",
                   tokens->path, (long long)h->count, h->count == 1 ? "" : "s",
                   (long long)((most + 3) / 4), (long long)most);
}

/* owned: room for OWNED blocks. */
static hu_status make_half(const hu_texts *texts, int number, const hu_text_choice *choice,
                           void **owned, hu_split *split) {
    hu_status st;
    half *h = NULL;
    int64_t length = choice->length;
    HU_TRY(HU_NEW(&h));
    *h = (half){.length = length,
                .hidden = hu_segments_hidden(length),
                .is_test = number > 0,
                .pair_hash = hu_formula_hash(HU_FORMULA_HASH_START, "bert.pair"),
                .mask_hash = hu_formula_hash(HU_FORMULA_HASH_START, "bert.mask")};
    number_specials(&texts->vocabulary, h);
    st = cut(texts, texts->half[number], choice->unit == HU_TEXT_PIECES, h);
    owned[0] = h;
    owned[1] = h->word;
    owned[2] = h->segment;
    HU_TRY(st);
    HU_TRY(check_segments(&texts->half[number], h));
    *split = (hu_split){.count = h->count, .source = {sizeof(hu_sample_source), h->count, h, fill}};
done:
    return st;
}

hu_status hu_segments_open(const hu_data_kind *kind, const char *path, const hu_data_limits *limits,
                           const hu_image_choice *choice, hu_dataset *dataset) {
    (void)kind;
    hu_status st;
    hu_texts texts = {.vocabulary = {.unknown = -1}};
    hu_text_choice text = choice->text;
    hu_split *split[HU_TEXT_HALVES] = {&dataset->train, &dataset->test};
    if (text.length == 0) text.length = USUAL_LENGTH;
    HU_TRY(check_choice(&text));
    if (text.unit == HU_TEXT_BYTES) text.unit = HU_TEXT_WORDS;
    HU_TRY(hu_texts_read(path, &text, &texts));
    HU_TRY(hu_vocabulary_add(&texts.vocabulary, specials, SPECIALS));
    for (int h = 0; h < HU_TEXT_HALVES; h++)
        HU_TRY(make_half(&texts, h, &text, dataset->owned + OWNED * h, split[h]));
    hu_segment_fields(text.length, hu_texts_classes(&texts), dataset);
    dataset->unit = HU_TEXT_WORDS;
    split[0]->count = hu_limited(split[0]->count, limits->train);
    split[1]->count = hu_limited(split[1]->count, limits->test);
    hu_texts_give_names(&texts, dataset);
done:
    hu_texts_free(&texts);
    return st;
}
