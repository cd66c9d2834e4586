/* grammar - a text of a written probabilistic grammar: sentences whose verbs agree with subjects
 * that stand far before them, and whose entropy is known. */
#include "data/grammar.h"

#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/kinds.h"
#include "data/text.h"

/* ---- The grammar ---- */

/* Symbols are single letters: small ones are parts of a sentence, capitals are kinds of words. */
typedef struct rule {
    char symbol;
    int weight; /* the rule's share among those of its symbol */
    const char *made;
} rule;

/* s: a sentence; a b: one animal, many; t u: one thing, many; v w x y: what these do; o: an object;
 * p: a place. */
enum { SENTENCE = 's' };

static const rule rules[] = {
    {'s', 7, "av"},
    {'s', 5, "bw"},
    {'s', 4, "tx"},
    {'s', 3, "uy"},
    {'s', 2, "Lav"},
    {'s', 1, "Luy"},

    /* A determiner, a noun, and what is said of it; "that" begins a part whose verb agrees with
     * this noun, or with one of its own. */
    {'a', 8, "DA"},
    {'a', 4, "DPA"},
    {'a', 3, "DARv"},
    {'a', 1, "DARbZ"},
    {'b', 8, "EB"},
    {'b', 4, "EPB"},
    {'b', 3, "EBRw"},
    {'b', 1, "EBRaY"},
    {'t', 8, "DT"},
    {'t', 4, "DQT"},
    {'t', 3, "DTRx"},
    {'t', 1, "DTRaY"},
    {'u', 8, "EU"},
    {'u', 4, "EQU"},
    {'u', 3, "EURy"},
    {'u', 1, "EURbZ"},

    /* Animals run, see things, or say that something is so. */
    {'v', 5, "I"},
    {'v', 3, "IH"},
    {'v', 6, "Yo"},
    {'v', 2, "CRs"},
    {'w', 5, "J"},
    {'w', 3, "JH"},
    {'w', 6, "Zo"},
    {'w', 2, "KRs"},
    /* Things fall, or lie in places of other things. */
    {'x', 6, "F"},
    {'x', 4, "Mp"},
    {'y', 6, "G"},
    {'y', 4, "Np"},
    {'o', 4, "a"},
    {'o', 2, "b"},
    {'o', 3, "t"},
    {'o', 2, "u"},
    {'p', 3, "OT"},
    {'p', 2, "OU"},
};

/* Words of a capital, the likeliest first: word number k of them has the weight 60 / (k + 2), cut
 * to a whole number, near enough to Zipf's law. */
typedef struct word_kind {
    char symbol;
    const char *words;
} word_kind;

static const word_kind kinds_of_words[] = {
    {'D', "the a this every"},
    {'E', "the some these many"},
    {'L', "today often here"},
    {'R', "that"},
    {'O', "under beside behind"},
    {'A', "dog cat horse bird fox mouse bear wolf goat frog crow seal"},
    {'B', "dogs cats horses birds foxes mice bears wolves goats frogs crows seals"},
    {'T', "stone house cup boat tree wheel lamp door chair bell rope coin"},
    {'U', "stones houses cups boats trees wheels lamps doors chairs bells ropes coins"},
    {'P', "old hungry quiet small brave lazy wild shy"},
    {'Q', "red heavy broken round wooden empty bright cold"},
    {'I', "runs sleeps waits eats sings hides jumps dreams"},
    {'J', "run sleep wait eat sing hide jump dream"},
    {'H', "slowly again alone quickly nearby"},
    {'Y', "sees finds likes follows hears guards moves forgets"},
    {'Z', "see find like follow hear guard move forget"},
    {'C', "says thinks knows hopes"},
    {'K', "say think know hope"},
    {'F', "falls stands breaks shines rolls rests"},
    {'G', "fall stand break shine roll rest"},
    {'M', "lies stays stood"},
    {'N', "lie stay stood"},
};

enum {
    RULES = sizeof rules / sizeof *rules,
    KINDS = sizeof kinds_of_words / sizeof *kinds_of_words,
    SYMBOLS = 128
};

static bool is_kind(char symbol) {
    return symbol >= 'A' && symbol <= 'Z';
}

static const char *words_of(char symbol) {
    int k = 0;
    while (kinds_of_words[k].symbol != symbol) k++;
    return kinds_of_words[k].words;
}

/* Word number k in front of its blank or end; its length. */
static const char *word_at(const char *words, int64_t k, size_t *length) {
    while (k-- > 0) words += strcspn(words, " ") + 1;
    *length = strcspn(words, " ");
    return words;
}

static int64_t count_words(const char *words) {
    int64_t count = 1;
    for (; *words; words++) count += *words == ' ';
    return count;
}

static int64_t weight_of_word(int64_t k) {
    return 60 / (k + 2);
}

/* ---- What a sentence is in the mean ---- */

/* Nats of a choice with these weights, the sum of which is total. */
static double choice_term(int64_t weight, int64_t total) {
    double share = (double)weight / (double)total;
    return -share * hu_log(share);
}

static double entropy_of_word(char symbol) {
    int64_t count = count_words(words_of(symbol)), total = 0;
    double entropy = 0.0;
    for (int64_t k = 0; k < count; k++) total += weight_of_word(k);
    for (int64_t k = 0; k < count; k++) entropy += choice_term(weight_of_word(k), total);
    return entropy;
}

static int64_t weight_of_rules(char symbol) {
    int64_t total = 0;
    for (int r = 0; r < RULES; r++) total += rules[r].symbol == symbol ? rules[r].weight : 0;
    return total;
}

/* One step of the iteration: a symbol is its choice and what each of its rules makes, as that is
 * known so far. */
static hu_grammar_facts improve(char symbol, const hu_grammar_facts *known) {
    hu_grammar_facts made = {0.0, 0.0};
    int64_t total = weight_of_rules(symbol);
    for (int r = 0; r < RULES; r++) {
        if (rules[r].symbol != symbol) continue;
        double share = (double)rules[r].weight / (double)total;
        made.entropy += choice_term(rules[r].weight, total);
        for (const char *c = rules[r].made; *c; c++) {
            made.words += share * known[(int)*c].words;
            made.entropy += share * known[(int)*c].entropy;
        }
    }
    return made;
}

hu_grammar_facts hu_grammar_tell(void) {
    hu_grammar_facts known[SYMBOLS] = {{0.0, 0.0}}, before;
    for (int k = 0; k < KINDS; k++) {
        char symbol = kinds_of_words[k].symbol;
        known[(int)symbol] = (hu_grammar_facts){1.0, entropy_of_word(symbol)};
    }
    /* Rises from below, so that it ends where the last bit stands. */
    do {
        before = known[SENTENCE];
        for (int r = 0; r < RULES; r++)
            known[(int)rules[r].symbol] = improve(rules[r].symbol, known);
    } while (known[SENTENCE].words > before.words || known[SENTENCE].entropy > before.entropy);
    return (hu_grammar_facts){known[SENTENCE].words + 1.0, known[SENTENCE].entropy};
}

/* ---- A text ---- */

enum { DEPTH = 512 };

typedef struct writer {
    hu_random_key key;
    uint64_t next; /* random number */
    char *text;    /* [bytes of capacity] */
    size_t bytes, capacity;
    double surprise;
    char pending[DEPTH]; /* symbols that are still to be written, the next one last */
    int depth;
} writer;

static hu_status write_text(writer *w, const char *text, size_t length) {
    hu_status st = HU_OK;
    if (w->bytes + length + 2 > w->capacity) {
        size_t more = 2 * w->capacity + length + 4096;
        st = hu_realloc((void **)&w->text, more);
        if (st == HU_OK) w->capacity = more;
    }
    if (st != HU_OK) return st;
    memcpy(w->text + w->bytes, text, length);
    w->bytes += length;
    return HU_OK;
}

/* One of choices with these weights in turn; how surprising it is counts. */
static int64_t choose(writer *w, int64_t total, int64_t (*weight)(int64_t, char), char symbol) {
    int64_t at = (int64_t)hu_random_below(&w->key, w->next++, (uint64_t)total), k = 0;
    while (at >= weight(k, symbol)) at -= weight(k++, symbol);
    w->surprise -= hu_log((double)weight(k, symbol) / (double)total);
    return k;
}

static int64_t weight_of_kind(int64_t k, char symbol) {
    (void)symbol;
    return weight_of_word(k);
}

static int64_t weight_of_rule(int64_t r, char symbol) {
    return rules[r].symbol == symbol ? rules[r].weight : 0;
}

static hu_status write_word(writer *w, char symbol) {
    const char *words = words_of(symbol);
    int64_t total = 0;
    size_t length;
    for (int64_t k = count_words(words); k-- > 0;) total += weight_of_word(k);
    const char *word = word_at(words, choose(w, total, weight_of_kind, symbol), &length);
    hu_status st = write_text(w, word, length);
    return st == HU_OK ? write_text(w, " ", 1) : st;
}

/* What a rule makes waits in the place of its symbol. The grammar's sentences are short: the depth
 * is reached by none in 10^30. */
static hu_status expand(writer *w, char symbol) {
    const char *made = rules[choose(w, weight_of_rules(symbol), weight_of_rule, symbol)].made;
    size_t length = strlen(made);
    if (w->depth + (int)length > DEPTH)
        return hu_fail(HU_ERR_LIMIT, "grammar: found a sentence that nests more than %d symbols",
                       DEPTH);
    while (length > 0) w->pending[w->depth++] = made[--length];
    return HU_OK;
}

static hu_status write_sentence(writer *w) {
    hu_status st = HU_OK;
    w->pending[0] = SENTENCE;
    w->depth = 1;
    while (st == HU_OK && w->depth > 0) {
        char symbol = w->pending[--w->depth];
        st = is_kind(symbol) ? write_word(w, symbol) : expand(w, symbol);
    }
    if (st == HU_OK) w->text[w->bytes - 1] = '\n'; /* in place of the last blank */
    return st;
}

hu_status hu_grammar_write(const char *half, int64_t sentences, char **text, double *surprise) {
    writer w = {.key = {0, hu_stream_id("grammar", half), 0}};
    hu_status st = write_text(&w, "", 0);
    for (int64_t i = 0; st == HU_OK && i < sentences; i++) st = write_sentence(&w);
    if (st == HU_OK) w.text[w.bytes] = '\0';
    if (st != HU_OK) {
        hu_free(w.text);
        w.text = NULL;
    }
    *text = w.text;
    *surprise = w.surprise;
    return st;
}

/* ---- The data set ---- */

enum { TRAIN_SENTENCES = 40000, TEST_SENTENCES = 2000, USUAL_LENGTH = 32 };

static hu_status check_choice(const hu_text_choice *choice) {
    if (choice->valid)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data grammar: found data.valid=%s, expected none: it has a test text",
                       choice->valid);
    if (choice->unit == HU_TEXT_CHARACTERS || choice->unit == HU_TEXT_PIECES)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data grammar: found another data.unit, expected word: it is written in "
                       "words");
    return HU_OK;
}

static hu_status write_half(const char *name, int64_t sentences, int half, hu_texts *texts) {
    double surprise;
    hu_status st = hu_grammar_write(name, sentences, &texts->file[half], &surprise);
    if (st != HU_OK) return st;
    texts->half[half] = (hu_tokens){.path = "grammar",
                                    .text = texts->file[half],
                                    .bytes = strlen(texts->file[half]),
                                    .unit = HU_TEXT_WORDS,
                                    .left = INT64_MAX};
    return HU_OK;
}

hu_status hu_grammar_open(const hu_data_kind *kind, const char *directory,
                          const hu_data_limits *limits, const hu_image_choice *choice,
                          hu_dataset *dataset) {
    hu_texts texts = {.vocabulary = {.unknown = -1}};
    hu_text_choice text = choice->text;
    hu_status st;
    (void)kind;
    (void)directory;
    HU_TRY(check_choice(&text));
    text.unit = HU_TEXT_WORDS;
    if (text.length == 0) text.length = USUAL_LENGTH;
    HU_TRY(write_half("train", TRAIN_SENTENCES, 0, &texts));
    HU_TRY(write_half("test", TEST_SENTENCES, 1, &texts));
    HU_TRY(hu_texts_find_words(&text, &texts));
    st = hu_texts_open(&texts, &text, limits, dataset);
done:
    hu_texts_free(&texts);
    return st;
}
