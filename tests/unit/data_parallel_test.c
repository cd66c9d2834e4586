/* Sentences in two languages: words of a line, vocabularies, rows, and what is left out. */
#include "data/tokenizer.h"
#include "data_refused.h"

enum { SOURCE, SOURCE_LENGTH, TOKENS, TARGETS, TARGET_LENGTH };

static const hu_text_choice usual = {.source = "en", .target = "fr", .length = 5};

static const char *spec(void) {
    static char text[128];
    snprintf(text, sizeof text, "parallel:%s", folder);
    return text;
}

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

static void put_packed(const char *name, const char *text) {
    uint8_t packed[512];
    put(name, packed, gzip(text, strlen(text), packed, sizeof packed));
}

/* Three pairs of training, of which the last is too long for five places; one of testing. */
static int make_pairs(void **state) {
    if (make_folder(state) != 0) return 1;
    put_text("train.en", "A dog.\nA cat!\nA dog, a cat.\n");
    put_packed("train.fr.gz", "Un CHIEN.\nUn \xc3\x89T\xc3\x89\nun chien .");
    put_text("val.en", "a bird\n");
    put_packed("val.fr.gz", "un chien\n");
    return 0;
}

static hu_dataset *open_with(hu_text_choice text, const hu_data_limits *limits) {
    const hu_image_choice choice = {.text = text};
    hu_dataset *d;
    if (hu_dataset_open_images(spec(), limits, &choice, &d) != HU_OK)
        fail_msg("%s", hu_last_error());
    return d;
}

static void refuse(hu_text_choice text, hu_status expected, const char *part) {
    const hu_image_choice choice = {.text = text};
    refuse_data(spec(), &choice, expected, part);
}

static void expect_row(const hu_split *split, int field, int64_t sample, int n,
                       const int32_t *expected) {
    const int32_t *row = (const int32_t *)split->rows[field] + sample * n;
    for (int i = 0; i < n; i++)
        if (row[i] != expected[i])
            fail_msg("field %d, place %d: found %d, expected %d", field, i, row[i], expected[i]);
}

/* ---- words ---- */

static void expect_words(const char *text, const char *expected) {
    char *words;
    size_t bytes;
    assert_int_equal(hu_sentence_words(text, strlen(text), &words, &bytes), HU_OK);
    assert_string_equal(words, expected);
    assert_int_equal(bytes, strlen(expected));
    hu_free(words);
}

static void words_are_small_and_signs_stand_alone(void **state) {
    (void)state;
    expect_words("", "");
    expect_words("A man's 2nd_hat, it's red...\n", "a man ' s 2nd_hat , it ' s red . . . \n");
    expect_words("\xef\xbb\xbfone\r\n\n two", "one \n\ntwo \n");
    /* Eszett and umlauts; no-break and narrow blanks; low and high quotes; a point of the Greek. */
    expect_words("GR\xc3\x9c\xc3\x9f"
                 "e\xc2\xa0\xe2\x80\x9eja\xe2\x80\x9c\xe2\x80\xaf\xce\x91\n",
                 "gr\xc3\xbc\xc3\x9f"
                 "e \xe2\x80\x9e ja \xe2\x80\x9c \xce\xb1 \n");
    /* An accent of its own is no letter, a Roman numeral and a Chinese one are; a bell is a sign.
     */
    expect_words("e\xcc\x81 \xe2\x85\xa3x\xe4\xb8\x89\a",
                 "e \xcc\x81 \xe2\x85\xb3x\xe4\xb8\x89 \a \n");
    expect_words("a\x1c"
                 "b\xc2\x85"
                 "c\xf0\x9f\x98\x80 \n",
                 "a b c \xf0\x9f\x98\x80 \n");
}

/* ---- rows ---- */

/* English: a 4, . 2, cat 2, dog 2; "!", "," once. French: un 3, . 2, chien 2. */
static void pairs_become_rows_of_numbers(void **state) {
    (void)state;
    static const char *const english[] = {"<pad>", "<bos>", "<eos>", "<unk>",
                                          "a",     ".",     "cat",   "dog"};
    static const char *const french[] = {"<pad>", "<bos>", "<eos>", "<unk>", "un", ".", "chien"};
    hu_dataset *d = open_with(usual, NULL);
    for (int i = 0; i < 8; i++) assert_string_equal(hu_dataset_source_name(d, i), english[i]);
    for (int i = 0; i < 7; i++) assert_string_equal(hu_dataset_class_name(d, i), french[i]);
    assert_null(hu_dataset_source_name(d, 8));
    assert_null(hu_dataset_class_name(d, 7));
    assert_int_equal(d->field[SOURCE].classes, 8);
    assert_int_equal(d->field[TOKENS].classes, 7);
    assert_int_equal(d->field[TARGETS].classes, 7);
    assert_int_equal(d->train.count, 2);
    assert_int_equal(d->test.count, 1);
    assert_int_equal(d->left_out[0], 1);
    assert_int_equal(d->left_out[1], 0);
    expect_row(&d->train, SOURCE, 0, 5, (const int32_t[]){4, 7, 5, 0, 0});
    expect_row(&d->train, TOKENS, 0, 5, (const int32_t[]){1, 4, 6, 5, 0});
    expect_row(&d->train, TARGETS, 0, 5, (const int32_t[]){4, 6, 5, 2, -1});
    expect_row(&d->train, SOURCE, 1, 5, (const int32_t[]){4, 6, 3, 0, 0});
    expect_row(&d->train, TARGETS, 1, 5, (const int32_t[]){4, 3, 2, -1, -1});
    expect_row(&d->train, SOURCE_LENGTH, 0, 2, (const int32_t[]){3, 3});
    expect_row(&d->train, TARGET_LENGTH, 0, 2, (const int32_t[]){4, 3});
    assert_memory_equal(d->train.rows_taken, ((const int32_t[]){4, 3}), 2 * sizeof(int32_t));
    expect_row(&d->test, SOURCE, 0, 5, (const int32_t[]){4, 3, 0, 0, 0});
    hu_dataset_close(d);
}

/* Six places hold no five words and their end; seven do. */
static void the_longest_pair_fills_its_row(void **state) {
    (void)state;
    const hu_data_limits one = {2, 0};
    hu_text_choice text = usual;
    text.length = 7;
    hu_dataset *d = open_with(text, NULL);
    assert_int_equal(d->train.count, 3);
    assert_int_equal(d->left_out[0], 0);
    expect_row(&d->train, SOURCE, 2, 7, (const int32_t[]){4, 7, 3, 4, 6, 5, 0});
    hu_dataset_close(d);
    text.length = 6;
    d = open_with(text, &one);
    assert_int_equal(d->train.count, 2);
    assert_int_equal(d->left_out[0], 1);
    hu_dataset_close(d);
}

static void the_other_direction_and_another_test_are_chosen(void **state) {
    (void)state;
    hu_text_choice back = {.source = "fr", .target = "en", .length = 5, .least_count = 1};
    put_text("late.en", "\na dog\n");
    put_text("late.fr", "un\nun chien\n");
    back.test = "late";
    hu_dataset *d = open_with(back, NULL);
    assert_string_equal(hu_dataset_class_name(d, 4), "a");
    assert_string_equal(hu_dataset_source_name(d, 4), "un");
    assert_int_equal(d->field[SOURCE].classes, 4 + 4);
    assert_int_equal(d->test.count, 1);
    assert_int_equal(d->left_out[1], 1); /* an empty line */
    hu_dataset_close(d);
    put_text("test.fr", "chien\n");
    put_text("test.en", "dog\n");
    back.test = NULL;
    d = open_with(back, NULL);
    expect_row(&d->test, SOURCE_LENGTH, 0, 1, (const int32_t[]){1}); /* not val's two */
    hu_dataset_close(d);
    unlink(at("test.fr"));
    unlink(at("test.en"));
}

static void vocabularies_are_written_and_read_back(void **state) {
    (void)state;
    char source[256], target[256];
    hu_text_choice text = usual;
    snprintf(source, sizeof source, "%s", at("source.txt"));
    snprintf(target, sizeof target, "%s", at("target.txt"));
    hu_dataset *d = open_with(usual, NULL);
    assert_int_equal(hu_vocabulary_write(source, d->source_names, d->source_name_count), HU_OK);
    assert_int_equal(hu_vocabulary_write(target, d->class_names, d->class_name_count), HU_OK);
    hu_dataset_close(d);
    text.source_vocabulary = source;
    text.vocabulary = target;
    text.least_count = 9; /* nothing is counted any more */
    d = open_with(text, NULL);
    expect_row(&d->train, SOURCE, 0, 5, (const int32_t[]){4, 7, 5, 0, 0});
    expect_row(&d->train, TARGETS, 0, 5, (const int32_t[]){4, 6, 5, 2, -1});
    hu_dataset_close(d);
    put_text("source.txt", "<bos>\n<pad>\n<eos>\n<unk>\n");
    refuse(text, HU_ERR_CORRUPT, "source.txt: line 1: found '<bos>', expected <pad>");
    put_text("source.txt", "<unk>\n<eos>\n");
    refuse(text, HU_ERR_CORRUPT, "source.txt: line 1: found '<unk>', expected <pad>");
}

/* ---- what is refused ---- */

static void bad_files_are_refused_with_their_place(void **state) {
    (void)state;
    hu_text_choice bad = {.source = "en", .target = "xx", .length = 5, .test = "val"};
    refuse(bad, HU_ERR_MISSING, "train.xx");
    put("train.xx", "", 0);
    refuse(bad, HU_ERR_CORRUPT, "train.xx: found no sentence");
    put_text("train.xx", "one\ntwo\n");
    refuse(bad, HU_ERR_CORRUPT, "train.xx: found 2 lines, expected 3 as ");
    put("train.xx", "one\nt\xe9o\nthree", 13);
    refuse(bad, HU_ERR_CORRUPT, "train.xx: line 2, byte 2: found 0xe9, expected UTF-8");
    put("train.xx", "one\nt\0o\nthree", 13);
    refuse(bad, HU_ERR_CORRUPT, "train.xx: line 2, byte 2: found 0x00");
    put_text("train.xx", "\n\nthree words are here\n");
    refuse(bad, HU_ERR_MISSING, "val.xx");
    put_text("val.xx", "one");
    refuse(bad, HU_ERR_ARGUMENT, "of 3; 1 are longer, 2 have an empty line");
    bad.target = NULL;
    refuse(bad, HU_ERR_ARGUMENT, "data.target: found none");
    bad.source = NULL;
    refuse(bad, HU_ERR_ARGUMENT, "data.source: found none");
}

static void keys_of_languages_are_theirs_alone(void **state) {
    (void)state;
    const hu_image_choice source = {.text = {.source = "en"}}, frames = {.frames = 3};
    hu_text_choice unit = usual;
    unit.unit = HU_TEXT_WORDS;
    refuse_data("glyphs", &source, HU_ERR_ARGUMENT, "data.source=en");
    refuse_data(spec(), &frames, HU_ERR_ARGUMENT, "data.frames=3");
    refuse(unit, HU_ERR_ARGUMENT, "data.unit=word");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const hu_image_choice choice = {.text = usual};
    assert_true(fail_every_allocation(spec(), NULL, &choice) > 40);
}

/* ---- Multi30k, where its files are ---- */

static int64_t sum_of(const int32_t *row, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += row[i] > HU_SENTENCE_END ? row[i] : 0;
    return sum;
}

/* HALFULP_MULTI30K names the folder of train.en.gz and the others. Sums: of a tokeniser in Python
 * that splits lower-case lines by the expression \w+|[^\w\s]. */
static void multi30k_is_numbered_as_known(void **state) {
    (void)state;
    enum { PAIRS = 28755, LENGTH = 32, TESTS = 987 };
    static const int32_t en[] = {16, 24, 15, 25, 780, 17, 57, 80, 204, 1312, 5, 0};
    static const int32_t fr[] = {22, 82, 34, 217, 29, 90, 72, 8, 1180, 5, 2, -1};
    char name[512];
    const char *root = getenv("HALFULP_MULTI30K");
    if (!root) skip();
    snprintf(name, sizeof name, "parallel:%s", root);
    hu_image_choice choice = {.text = {.source = "en", .target = "fr", .test = "test_2016_flickr"}};
    hu_dataset *d;
    if (hu_dataset_open_images(name, NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    assert_int_equal(d->train.count, PAIRS);
    assert_int_equal(d->left_out[0], 29000 - PAIRS);
    assert_int_equal(d->test.count, TESTS);
    assert_int_equal(d->field[SOURCE].classes, 5898);
    assert_int_equal(d->field[TARGETS].classes, 6434);
    assert_string_equal(hu_dataset_source_name(d, 5897), "zune");
    assert_string_equal(hu_dataset_class_name(d, 6433), "\xc3\xa9ventuellement");
    expect_row(&d->train, SOURCE, 0, sizeof en / sizeof *en, en);
    expect_row(&d->train, TARGETS, 0, sizeof fr / sizeof *fr, fr);
    assert_int_equal(sum_of(d->train.rows[SOURCE], (int64_t)PAIRS * LENGTH), 112418764);
    assert_int_equal(sum_of(d->train.rows[TARGETS], (int64_t)PAIRS * LENGTH), 126869690);
    assert_int_equal(sum_of(d->train.rows[TOKENS], (int64_t)PAIRS * LENGTH), 126869690);
    hu_dataset_close(d);
    choice.text.target = "de";
    assert_int_equal(hu_dataset_open_images(name, NULL, &choice, &d), HU_OK);
    assert_int_equal(d->field[TARGETS].classes, 7878 + 4);
    hu_dataset_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_small_and_signs_stand_alone),
        cmocka_unit_test(pairs_become_rows_of_numbers),
        cmocka_unit_test(the_longest_pair_fills_its_row),
        cmocka_unit_test(the_other_direction_and_another_test_are_chosen),
        cmocka_unit_test(vocabularies_are_written_and_read_back),
        cmocka_unit_test(bad_files_are_refused_with_their_place),
        cmocka_unit_test(keys_of_languages_are_theirs_alone),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(multi30k_is_numbered_as_known),
    };
    return cmocka_run_group_tests(tests, make_pairs, remove_folder);
}
