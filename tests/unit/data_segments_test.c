/* Pairs of segments: documents, what follows what, which words are hidden; and, where HALFULP_TEXT
 * names a folder with WikiText-2, the samples that another program makes of it. */
#include <stdlib.h>

#include "data/tokenizer.h"
#include "data/vocabulary.h"
#include "data_refused.h"

enum { TOKENS, SEGMENTS, TARGETS, PLACES, LABEL, LENGTH, MOST = 128 };
enum { WORDS = 5 }; /* of a segment of samples of 13 tokens */

static const hu_loader_settings plain = {.seed = 1};

static hu_dataset *open_pairs(const char *path, const hu_text_choice *text) {
    static char spec[1024];
    const hu_image_choice choice = {.text = *text};
    hu_dataset *d;
    snprintf(spec, sizeof spec, "segments:%s", path);
    if (hu_dataset_open_images(spec, NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    return d;
}

static hu_loader *loader_of(const hu_dataset *d, hu_split_kind half, int64_t epoch) {
    hu_loader *loader;
    assert_int_equal(hu_loader_create(d, half, &plain, &loader), HU_OK);
    assert_int_equal(hu_loader_begin_epoch(loader, epoch), HU_OK);
    return loader;
}

static const float *row_of(hu_loader *loader, int field, int64_t sample) {
    static float row[6][MOST];
    hu_loader_fill(loader, field, HU_READ_PLAIN, sample, 1, row[field]);
    return row[field];
}

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

/* Words of one letter each: documents of 5 + 5 + 2 and 5 + 1 words, and none. A line of "= =" is no
 * heading. */
static const char story[] = "= the title =\n\na b c d e f\ng h\n = =\ni j\n"
                            "= = another = =\nk l m n o p\n= = empty = =\n";

static hu_dataset *open_story(void) {
    const hu_text_choice choice = {.length = 13, .valid = at("story")};
    put_text("story", story);
    return open_pairs(at("story"), &choice);
}

/* The words of a sample before they were hidden. */
static void words_of(const hu_dataset *d, hu_loader *loader, int64_t sample, char *text) {
    const float *token = row_of(loader, TOKENS, sample), *hidden = row_of(loader, PLACES, sample);
    const float *target = row_of(loader, TARGETS, sample);
    float shown[MOST];
    memcpy(shown, token, (size_t)d->field[TOKENS].extent[0] * sizeof *shown);
    for (int64_t m = 0; m < d->field[PLACES].extent[0]; m++)
        if (hidden[m] >= 0) shown[(int)hidden[m]] = target[m];
    *text = '\0';
    for (int64_t t = 0; t < d->field[TOKENS].extent[0]; t++)
        strcat(strcat(text, t ? " " : ""), hu_dataset_class_name(d, (int64_t)shown[t]));
}

static void documents_are_cut_into_segments(void **state) {
    (void)state;
    char text[512];
    hu_dataset *d = open_story();
    hu_loader *loader = loader_of(d, HU_SPLIT_TRAIN, 0);
    static const char *const first[] = {"[CLS] a b c d e [SEP]", "[CLS] f g h = = [SEP]",
                                        "[CLS] i j [SEP]", "[CLS] k l m n o [SEP]"};
    /* One word, p, is less than a quarter of five, rounded up. */
    assert_int_equal(d->train.count, 4);
    for (int64_t i = 0; i < d->train.count; i++) {
        words_of(d, loader, i, text);
        if (strncmp(text, first[i], strlen(first[i])) != 0) fail_msg("sample %d: %s", (int)i, text);
    }
    hu_loader_close(loader);
    hu_dataset_close(d);
}

/* Over many epochs, half of the segments with another one after them stand in front of that; those
 * at the end of a document never do; lengths, segments and padding are those of the words. */
static void seconds_follow_or_are_drawn(void **state) {
    (void)state;
    enum { EPOCHS = 400 };
    char text[512];
    int follows[4] = {0};
    hu_dataset *d = open_story();
    hu_loader *loader = loader_of(d, HU_SPLIT_TRAIN, 0);
    for (int e = 0; e < EPOCHS; e++) {
        assert_int_equal(hu_loader_begin_epoch(loader, e), HU_OK);
        for (int64_t i = 0; i < 4; i++) {
            float label = *row_of(loader, LABEL, i), length = *row_of(loader, LENGTH, i);
            const float *segment = row_of(loader, SEGMENTS, i);
            int64_t first = i == 2 ? 2 : WORDS;
            words_of(d, loader, i, text);
            assert_true(label == 0.0f || label == 1.0f);
            follows[i] += label == 0.0f;
            if (label == 0.0f && i == 0) assert_non_null(strstr(text, "e [SEP] f g h = = [SEP]"));
            for (int64_t t = 0; t < 13; t++)
                assert_true(segment[t] == (float)(t > first + 1 && (float)t < length));
            const char *padding = strstr(text, "[PAD]");
            assert_true(!padding == (length == 13.0f));
        }
    }
    assert_true(follows[2] == 0 && follows[3] == 0);
    for (int i = 0; i < 2; i++) assert_true(abs(follows[i] - EPOCHS / 2) < 50);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

/* Eight tenths of the hidden words are [MASK], a tenth themselves; the rest are any word but the
 * special ones. Other epochs hide other words; the test text always the same. */
static void words_are_hidden_anew_in_every_epoch(void **state) {
    (void)state;
    enum { EPOCHS = 1500 };
    hu_dataset *d = open_story();
    hu_loader *train = loader_of(d, HU_SPLIT_TRAIN, 0), *test = loader_of(d, HU_SPLIT_TEST, 0);
    int64_t classes = d->field[TOKENS].classes;
    int hidden = 0, masked = 0, kept = 0, words = 0;
    float before[13];
    assert_int_equal(d->field[PLACES].extent[0], 2); /* 15 of 100 of 13, rounded up */
    assert_string_equal(hu_dataset_class_name(d, classes - 4), "[PAD]");
    memcpy(before, row_of(test, TOKENS, 0), sizeof before);
    for (int e = 0; e < EPOCHS; e++) {
        assert_int_equal(hu_loader_begin_epoch(train, e), HU_OK);
        assert_int_equal(hu_loader_begin_epoch(test, e), HU_OK);
        const float *token = row_of(train, TOKENS, 0), *place = row_of(train, PLACES, 0);
        const float *target = row_of(train, TARGETS, 0);
        words += (int)*row_of(train, LENGTH, 0) - 3;
        for (int m = 0; m < 2; m++) {
            assert_true((place[m] < 0) == (target[m] < 0));
            if (place[m] < 0) continue;
            float shown = token[(int)place[m]];
            assert_true(m == 0 || place[1] > place[0]);
            assert_true(shown < (float)(classes - 4) || shown == (float)(classes - 1));
            hidden++;
            masked += shown == (float)(classes - 1);
            kept += shown == target[m];
        }
        assert_memory_equal(row_of(test, TOKENS, 0), before, sizeof before);
    }
    /* At most two of ten: 1.3 hidden of 1.5. */
    assert_true(hidden > 0.09 * words && hidden < 0.15 * words);
    assert_true(abs(masked * 10 - hidden * 8) < hidden && abs(kept * 10 - hidden * 1) < hidden);
    hu_loader_close(test);
    hu_loader_close(train);
    hu_dataset_close(d);
}

/* Special words that a vocabulary has keep their numbers; the run's own file is such a one. */
static void a_vocabulary_keeps_its_special_words(void **state) {
    (void)state;
    const hu_text_choice choice = {
        .length = 13, .valid = at("story"), .vocabulary = at("vocabulary")};
    put_text("story", story);
    put_text("vocabulary", "[PAD]\n<unk>\n[MASK]\n<eos>\na\nb\n[SEP]\n");
    hu_dataset *d = open_pairs(at("story"), &choice);
    hu_loader *loader = loader_of(d, HU_SPLIT_TEST, 0);
    assert_int_equal(d->field[TOKENS].classes, 8);
    assert_string_equal(hu_dataset_class_name(d, 7), "[CLS]");
    assert_true(row_of(loader, TOKENS, 0)[0] == 7.0f);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

static void refuse(const char *name, hu_text_choice text, hu_status expected, const char *part) {
    static char spec[1024];
    const hu_image_choice choice = {.text = text};
    snprintf(spec, sizeof spec, "segments:%s", at(name));
    refuse_data(spec, &choice, expected, part);
}

static void what_gives_no_pairs_is_refused(void **state) {
    (void)state;
    put_text("story", story);
    put_text("short", "= one =\na b c d e f\n");
    put_text("empty", "");
    put_text("latin", "= one =\nab\nc\xe9\n");
    put_text("few", "<eos>\na\n");
    char told[256], other[256]; /* at() gives its room to others again */
    strcpy(told, at("story"));
    strcpy(other, at("short"));
    const hu_text_choice usual = {.length = 13, .valid = told};
    hu_text_choice choice = usual;
    refuse("short", usual, HU_ERR_CORRUPT, "found 1 segment of 2 to 5 words, expected at least 2");
    refuse("empty", usual, HU_ERR_CORRUPT, "found 0 segments");
    refuse("latin", usual, HU_ERR_CORRUPT, "latin: line 3, byte 2: found 0xe9");
    choice.valid = other;
    refuse("story", choice, HU_ERR_CORRUPT, "short: found 1 segment");
    choice = usual;
    choice.length = 4;
    refuse("story", choice, HU_ERR_ARGUMENT, "data.length: found 4, expected at least 5");
    choice = usual;
    choice.unit = HU_TEXT_CHARACTERS;
    refuse("story", choice, HU_ERR_ARGUMENT, "data.unit: found char, expected word");
    choice = usual;
    choice.unit = HU_TEXT_PIECES;
    refuse("story", choice, HU_ERR_ARGUMENT, "data.vocabulary: found none");
    strcpy(other, at("few"));
    choice.vocabulary = other;
    refuse("story", choice, HU_ERR_CORRUPT, "few: found no [UNK]");
    choice = usual;
    choice.streams = 2;
    refuse("story", choice, HU_ERR_ARGUMENT, "data.streams: found on");
}

/* The longest piece first; what cannot be made of pieces is unknown as a whole. Vocabularies of
 * BERT have a line that is a backslash alone. */
static void words_are_cut_into_pieces(void **state) {
    (void)state;
    char text[512], path[256];
    put_text("unable", "= one =\nUnaffable un-affable playing unx\n\\ un able\n");
    put_text("vocabulary",
             "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n\\\nun\n##aff\n##able\nplay\n##ing\n"
             "##a\n##ff\n-\n=\none\n");
    strcpy(path, at("unable"));
    const hu_text_choice choice = {
        .unit = HU_TEXT_PIECES, .length = 9, .valid = path, .vocabulary = at("vocabulary")};
    static const char *const first[] = {"[CLS] un ##aff ##able [SEP]", "[CLS] un - [UNK] [SEP]",
                                        "[CLS] play ##ing [UNK] [SEP]", "[CLS] \\ un [UNK] [SEP]"};
    hu_dataset *d = open_pairs(path, &choice);
    hu_loader *loader = loader_of(d, HU_SPLIT_TRAIN, 0);
    assert_int_equal(d->field[TOKENS].classes, 16);
    assert_int_equal(d->train.count, 4);
    for (int64_t i = 0; i < 4; i++) {
        words_of(d, loader, i, text);
        if (strncmp(text, first[i], strlen(first[i])) != 0) fail_msg("sample %d: %s", (int)i, text);
    }
    hu_loader_close(loader);
    hu_dataset_close(d);
}

/* The words of a text as BERT's basic tokenizer parts them. */
static void expect_words(const char *text, bool is_cased, const char *expected) {
    char *words;
    size_t bytes;
    assert_int_equal(hu_subword_words(text, strlen(text), is_cased, &words, &bytes), HU_OK);
    assert_int_equal(bytes, strlen(words));
    assert_string_equal(words, expected);
    hu_free(words);
}

/* Without capitals: small, decomposed, without marks; signs and Chinese characters apart. */
static void words_are_those_of_bert(void **state) {
    (void)state;
    static const char cafe[] = "Caf\xc3\xa9 r\xc3\xa9sum\xc3\xa9 \xe4\xb8\xad\xe5\x9b\xbd";
    expect_words(cafe, false, "cafe resume \xe4\xb8\xad \xe5\x9b\xbd \n");
    expect_words(cafe, true, "Caf\xc3\xa9 r\xc3\xa9sum\xc3\xa9 \xe4\xb8\xad \xe5\x9b\xbd \n");
    /* A mark after its letter, a dotted capital I, one sharp s. */
    expect_words("E\xcc\x81t\xc3\xa9 \xc4\xb0zmir Stra\xc3\x9f"
                 "e",
                 false,
                 "ete izmir stra\xc3\x9f"
                 "e \n");
    /* ASCII's signs stand alone, "_" and "$" too; of others those that Unicode calls punctuation:
     * not the euro. */
    expect_words("a_b $5,000 5\xe2\x82\xac \xe2\x80\x9cok\xe2\x80\x9d", false,
                 "a _ b $ 5 , 000 5\xe2\x82\xac \xe2\x80\x9c ok \xe2\x80\x9d \n");
    /* Control characters and soft hyphens vanish; blanks of Unicode part; lines keep their ends. */
    expect_words("\xef\xbb\xbf"
                 "a\x01\xc2\xad"
                 "b\xc2\xa0"
                 "c\r\n\n d",
                 false, "ab c \n\nd \n");
    /* Syllables of Korean fall into their letters, as in BERT. */
    expect_words("\xed\x95\x9c", false, "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab \n");
}

/* Whether words keep their capitals, the vocabulary says. */
static void capitals_are_those_of_the_vocabulary(void **state) {
    (void)state;
    static const char *const files[] = {
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncafe\n=\none\n",
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nCaf\xc3\xa9\n=\none\n"};
    static const char *const first[] = {"[CLS] cafe cafe [UNK] [SEP]",
                                        "[CLS] Caf\xc3\xa9 [UNK] [UNK] [SEP]"};
    char text[512], path[256];
    put_text("menu", "= one =\nCaf\xc3\xa9 caf\xc3\xa9 \xe4\xb8\xad cafe cafe cafe\n");
    strcpy(path, at("menu"));
    for (int i = 0; i < 2; i++) {
        put_text("vocabulary", files[i]);
        const hu_text_choice choice = {
            .unit = HU_TEXT_PIECES, .length = 9, .valid = path, .vocabulary = at("vocabulary")};
        hu_dataset *d = open_pairs(path, &choice);
        hu_loader *loader = loader_of(d, HU_SPLIT_TRAIN, 0);
        words_of(d, loader, 0, text);
        if (strncmp(text, first[i], strlen(first[i])) != 0) fail_msg("%s", text);
        hu_loader_close(loader);
        hu_dataset_close(d);
    }
}

/* A text without headings is one document. */
static void a_text_without_headings_is_one_document(void **state) {
    (void)state;
    char text[512];
    const hu_text_choice choice = {.length = 13, .valid = at("flat")};
    put_text("flat", "a b c d e f\ng h i j k l");
    hu_dataset *d = open_pairs(at("flat"), &choice);
    hu_loader *loader = loader_of(d, HU_SPLIT_TRAIN, 0);
    assert_int_equal(d->train.count, 3);
    words_of(d, loader, 1, text);
    assert_true(strncmp(text, "[CLS] f g h i j [SEP]", 21) == 0);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

/* Nothing is lost where memory ends. */
static void every_failure_of_memory_is_told(void **state) {
    (void)state;
    const hu_image_choice choice = {.text = {.length = 13, .valid = at("story")}};
    put_text("story", story);
    static char spec[1024];
    snprintf(spec, sizeof spec, "segments:%s", at("story"));
    fail_every_allocation(spec, NULL, &choice);
}

/* Known answers for WikiText-2's test part as training text. */
static void the_samples_of_another_program(void **state) {
    (void)state;
    static const float labels[] = {0, 0, 1, 0, 1, 0, 0, 0}, places[] = {14, 16, 21, 22, 23, 24};
    static const float targets[] = {30, 2440, 1, 892, 179, 14};
    static const float ids[] = {7267, 1340, 0, 24, 32, 804, 92, 2, 892, 5, 2506, 2824};
    const char *root = getenv("HALFULP_TEXT");
    char path[512], valid[512];
    int hidden = 0;
    if (!root) skip();
    snprintf(path, sizeof path, "%s/wikitext2_test.txt", root);
    snprintf(valid, sizeof valid, "%s/wikitext2_valid.txt", root);
    const hu_text_choice choice = {.least_count = 3, .valid = valid};
    hu_dataset *d = open_pairs(path, &choice);
    hu_loader *loader = loader_of(d, HU_SPLIT_TRAIN, 0);
    assert_int_equal(d->train.count, 8015);
    assert_int_equal(d->test.count, 7119);
    assert_int_equal(d->field[TOKENS].classes, 7270);
    for (int64_t i = 0; i < 8; i++) {
        assert_true(*row_of(loader, LABEL, i) == labels[i]);
        assert_true(*row_of(loader, LENGTH, i) == 63.0f);
        for (int m = 0; m < 10; m++) hidden += row_of(loader, PLACES, i)[m] >= 0;
    }
    assert_int_equal(hidden, 69);
    assert_memory_equal(row_of(loader, PLACES, 0), places, sizeof places);
    assert_memory_equal(row_of(loader, TARGETS, 0), targets, sizeof targets);
    assert_memory_equal(row_of(loader, TOKENS, 0), ids, sizeof ids);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_cut_into_segments),
        cmocka_unit_test(seconds_follow_or_are_drawn),
        cmocka_unit_test(words_are_hidden_anew_in_every_epoch),
        cmocka_unit_test(a_vocabulary_keeps_its_special_words),
        cmocka_unit_test(what_gives_no_pairs_is_refused),
        cmocka_unit_test(words_are_cut_into_pieces),
        cmocka_unit_test(words_are_those_of_bert),
        cmocka_unit_test(capitals_are_those_of_the_vocabulary),
        cmocka_unit_test(a_text_without_headings_is_one_document),
        cmocka_unit_test(every_failure_of_memory_is_told),
        cmocka_unit_test(the_samples_of_another_program),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
