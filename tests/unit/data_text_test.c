/* Texts as numbers of tokens: words, characters and bytes, windows and streams. */
#include "base/memory.h"
#include "data/class_names.h"
#include "data/vocabulary.h"
#include "data_refused.h"

static const char words[] = "a b  a\n\n\tc a b d\n"; /* 9 tokens and the end of three lines */

static const char *spec(const char *name) {
    static char text[128];
    snprintf(text, sizeof text, "text:%s", at(name));
    return text;
}

static hu_dataset *open_text(const char *name, hu_text_choice text) {
    const hu_image_choice choice = {.text = text};
    hu_dataset *d;
    if (hu_dataset_open_images(spec(name), NULL, &choice, &d) != HU_OK)
        fail_msg("%s", hu_last_error());
    return d;
}

static void refuse(const char *name, hu_text_choice text, hu_status expected, const char *part) {
    const hu_image_choice choice = {.text = text};
    refuse_data(spec(name), &choice, expected, part);
}

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

static void expect_words(const hu_dataset *d, const char *const *word, int count) {
    for (int i = 0; i < count; i++) assert_string_equal(hu_dataset_class_name(d, i), word[i]);
    assert_null(hu_dataset_class_name(d, count));
    assert_int_equal(d->field[0].classes, count);
    assert_int_equal(d->field[1].classes, count);
}

static void expect_row(hu_loader *loader, int field, int64_t position, const float *row, int n) {
    float found[16];
    hu_loader_fill(loader, field, HU_READ_PLAIN, position, 1, found);
    for (int i = 0; i < n; i++) assert_true(found[i] == row[i]);
}

/* a 3, b 2, <eos> 3, c 1, d 1: by count, then by bytes. */
static void words_are_numbered_by_count_and_bytes(void **state) {
    (void)state;
    static const char *const order[] = {"<eos>", "a", "b", "c", "d", "<unk>"};
    static const float first[] = {1, 2, 1}, behind[] = {2, 1, 0}, second[] = {0, 0, 3},
                       unknown[] = {5, 0, 1};
    const hu_loader_settings plain = {.seed = 1};
    hu_loader *loader, *test;
    put_text("words", words);
    put_text("other", "new\na b");
    hu_dataset *d = open_text(
        "words", (hu_text_choice){.unit = HU_TEXT_WORDS, .length = 3, .valid = at("other")});
    expect_words(d, order, 6);
    assert_int_equal(d->train.count, 3); /* 10 tokens: the last one has none after it */
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &plain, &loader), HU_OK);
    expect_row(loader, 0, 0, first, 3);
    expect_row(loader, 1, 0, behind, 3);
    expect_row(loader, 0, 1, second, 3);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TEST, &plain, &test), HU_OK);
    assert_int_equal(d->test.count, 1);
    expect_row(test, 0, 0, unknown, 3);
    hu_loader_close(test);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

static void rare_words_become_unknown(void **state) {
    (void)state;
    static const char *const twice[] = {"<eos>", "a", "b", "<unk>"};
    static const char *const never[] = {"<eos>", "<unk>"};
    hu_text_choice text = {
        .unit = HU_TEXT_WORDS, .length = 1, .least_count = 2, .valid = at("words")};
    put_text("words", words);
    hu_dataset *d = open_text("words", text);
    expect_words(d, twice, 4);
    hu_dataset_close(d);
    text.least_count = 4;
    d = open_text("words", text);
    expect_words(d, never, 2);
    hu_dataset_close(d);
}

/* A word of the text that is called <unk> keeps its place. */
static void the_texts_own_unknown_word_is_used(void **state) {
    (void)state;
    static const char *const order[] = {"<unk>", "<eos>", "a"};
    put_text("own", "<unk> <unk> a\n");
    hu_dataset *d =
        open_text("own", (hu_text_choice){.unit = HU_TEXT_WORDS, .length = 2, .valid = at("own")});
    expect_words(d, order, 3);
    hu_dataset_close(d);
}

static void characters_are_numbered_by_bytes(void **state) {
    (void)state;
    static const char *const order[] = {"\n", "a", "b", "\xc3\xa9"};
    static const float first[] = {2, 3, 1};
    const hu_loader_settings plain = {.seed = 1};
    hu_loader *loader;
    put_text("characters", "\xef\xbb\xbf"
                           "b\xc3\xa9"
                           "ab\n");
    hu_dataset *d = open_text(
        "characters",
        (hu_text_choice){.unit = HU_TEXT_CHARACTERS, .length = 3, .valid = at("characters")});
    expect_words(d, order, 4);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &plain, &loader), HU_OK);
    expect_row(loader, 0, 0, first, 3);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

/* 41 bytes: 36 to train with, 5 to be tested on, and 256 numbers whatever they are. */
static void bytes_are_numbers_and_the_last_tenth_is_held_out(void **state) {
    (void)state;
    uint8_t bytes[41];
    static const float first[] = {0, 255}, last[] = {255 - 36, 255 - 37};
    const hu_loader_settings plain = {.seed = 1};
    hu_loader *loader, *test;
    for (int i = 0; i < 41; i++) bytes[i] = (uint8_t)-i;
    put("bytes", bytes, sizeof bytes);
    hu_dataset *d = open_text("bytes", (hu_text_choice){.length = 2});
    assert_int_equal(d->field[0].classes, 256);
    assert_null(hu_dataset_class_name(d, 0));
    assert_int_equal(d->train.count, 17);
    assert_int_equal(d->test.count, 2);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &plain, &loader), HU_OK);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TEST, &plain, &test), HU_OK);
    expect_row(loader, 0, 0, (const float[]){0, 255}, 2);
    expect_row(loader, 1, 0, (const float[]){first[1], 254}, 2);
    expect_row(test, 0, 0, (const float[]){256 - 36, last[0]}, 2);
    hu_loader_close(test);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

/* 100 numbers in 3 streams: pieces of 33, of which 8 updates read 4 each; a test has one more, of
 * what is left. */
static void streams_go_on_from_sample_to_sample(void **state) {
    (void)state;
    enum { BYTES = 100, STREAMS = 3, LENGTH = 4, PIECE = 33, UPDATES = 8 };
    uint8_t bytes[BYTES];
    const hu_loader_settings shuffled = {.seed = 1, .shuffle = true};
    hu_loader *loader, *test;
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
    put("stream", bytes, sizeof bytes);
    hu_dataset *d = open_text(
        "stream", (hu_text_choice){.length = LENGTH, .streams = STREAMS, .valid = at("stream")});
    assert_int_equal(d->train.count, STREAMS * UPDATES);
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TRAIN, &shuffled, &loader), HU_OK);
    assert_int_equal(hu_loader_begin_epoch(loader, 1), HU_OK);
    for (int k = 0; k < STREAMS * UPDATES; k++)
        for (int f = 0; f < 2; f++) {
            float row[LENGTH];
            for (int t = 0; t < LENGTH; t++)
                row[t] = (float)(k % STREAMS * PIECE + k / STREAMS * LENGTH + t + f);
            expect_row(loader, f, k, row, LENGTH);
        }
    assert_int_equal(d->test.count, STREAMS * (UPDATES + 1));
    assert_int_equal(hu_loader_create(d, HU_SPLIT_TEST, &shuffled, &test), HU_OK);
    expect_row(test, 0, STREAMS * UPDATES - 1, (const float[]){94, 95, 96, 97}, LENGTH);
    expect_row(test, 0, STREAMS * UPDATES + 2, (const float[]){98, 0, 0, 0}, LENGTH);
    expect_row(test, 1, STREAMS * UPDATES + 2, (const float[]){99, -1, -1, -1}, LENGTH);
    assert_int_equal(hu_dataset_hold_out(d, 0.5, 1), HU_ERR_ARGUMENT);
    hu_loader_close(test);
    hu_loader_close(loader);
    hu_dataset_close(d);
}

static void limits_of_streams_are_whole_updates(void **state) {
    (void)state;
    const hu_image_choice choice = {.text = {.length = 2, .streams = 3, .valid = at("words")}};
    const hu_data_limits limits = {4, 100};
    hu_dataset *d;
    put_text("words", words);
    assert_int_equal(hu_dataset_open_images(spec("words"), &limits, &choice, &d), HU_OK);
    assert_int_equal(d->train.count, 3);
    assert_int_equal(d->test.count, 9);
    hu_dataset_close(d);
    const hu_data_limits few[] = {{2, 100}, {4, 2}};
    static const char *const said[] = {"data.limit: found 2 samples, expected at least 3",
                                       "data.test_limit: found 2 samples, expected at least 3"};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        assert_int_equal(hu_dataset_open_images(spec("words"), &few[i], &choice, &d),
                         HU_ERR_ARGUMENT);
        assert_non_null(strstr(hu_last_error(), said[i]));
    }
}

static void a_vocabulary_is_written_and_read_back(void **state) {
    (void)state;
    static const char *const order[] = {"\n", "\r", "\\", "a", "n"};
    hu_text_choice text = {.unit = HU_TEXT_CHARACTERS, .length = 1, .valid = at("odd")};
    put_text("odd", "a\n\\n\rn");
    hu_dataset *d = open_text("odd", text);
    assert_int_equal(d->class_name_count, 5);
    assert_int_equal(hu_vocabulary_write(at("list"), d->class_names, d->class_name_count), HU_OK);
    hu_dataset_close(d);
    text.vocabulary = at("list");
    put_text("few", "nan");
    d = open_text("few", text);
    expect_words(d, order, 5);
    hu_dataset_close(d);
    put_text("list", "\\n\r\n\\r\r\n\\\\\r\na\r\nn\r\n");
    d = open_text("few", text);
    expect_words(d, order, 5);
    hu_dataset_close(d);
}

/* Readers drop a mark in front, which the first word may begin with. */
static void marks_of_words_are_kept(void **state) {
    (void)state;
    static const char names[] = "\xef\xbb\xbf\xef\xbb\xbf"
                                "a\0\xef\xbb\xbf\0c";
    hu_vocabulary read;
    assert_int_equal(hu_vocabulary_write(at("list"), names, 3), HU_OK);
    assert_int_equal(hu_vocabulary_read(at("list"), HU_TEXT_CHARACTERS, &read), HU_OK);
    assert_int_equal(read.count, 3);
    assert_memory_equal(read.text, names, sizeof names);
    hu_vocabulary_free(&read);
    char *recalled;
    int64_t count;
    assert_int_equal(hu_class_names_write(at("list"), names, 3), HU_OK);
    assert_int_equal(hu_class_names_recall(at("list"), &recalled, &count), HU_OK);
    assert_int_equal(count, 3);
    assert_memory_equal(recalled, names, sizeof names);
    hu_free(recalled);
}

static void bad_texts_are_refused_with_their_place(void **state) {
    (void)state;
    const hu_text_choice word = {.unit = HU_TEXT_WORDS, .length = 2};
    const hu_text_choice character = {.unit = HU_TEXT_CHARACTERS, .length = 2};
    hu_text_choice small = character, streams = {.length = 4, .streams = 9};
    put("empty", "", 0);
    refuse("empty", word, HU_ERR_CORRUPT, "found no text");
    put("latin", "ab\nc\xe9 d", 7);
    refuse("latin", word, HU_ERR_CORRUPT, "latin: line 2, byte 2: found 0xe9, expected UTF-8");
    put("zero", "ab\0c", 4);
    refuse("zero", character, HU_ERR_CORRUPT, "line 1, byte 3: found 0x00");
    put_text("short", "one two");
    refuse("short", word, HU_ERR_ARGUMENT, "found 2 tokens, expected at least 3");
    refuse("short", streams, HU_ERR_ARGUMENT, "found 6 tokens, expected at least 37 for 9 streams");
    put_text("strange", "two\nx");
    small.valid = at("strange");
    refuse("short", small, HU_ERR_CORRUPT,
           "strange: line 1, byte 4: found '\\x0a', expected one of");
    refuse("nothing", word, HU_ERR_MISSING, "nothing");
}

static void bad_vocabularies_are_refused_with_their_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {{"a\n\nb\n", "line 2: found an empty line"},
               {"a\nb\na\n", "line 3: found a word that stands above it already"},
               {"a\\t\n", "line 1: found an escape"},
               {"a\\", "line 1: found an escape"},
               {"a\n\xff\n", "line 2, byte 1: found 0xff"},
               {"<unk>\na\n", "found no <eos>"},
               {"<eos>\na\n", "found no <unk>"},
               {"", "found no word"}};
    char list[256];
    hu_text_choice text = {.unit = HU_TEXT_WORDS, .length = 1, .vocabulary = list};
    snprintf(list, sizeof list, "%s", at("list"));
    put_text("words", words);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_text("list", bad[i].text);
        refuse("words", text, HU_ERR_CORRUPT, bad[i].part);
    }
    text.unit = HU_TEXT_BYTES;
    refuse("words", text, HU_ERR_ARGUMENT, "bytes are numbers from 0 to 255");
}

static void keys_of_texts_are_theirs_alone(void **state) {
    (void)state;
    const hu_image_choice word = {.text = {.unit = HU_TEXT_WORDS}},
                          length = {.text = {.length = 2}};
    const hu_image_choice size = {.size = 8};
    refuse_data("glyphs", &word, HU_ERR_ARGUMENT, "data.unit=word");
    refuse_data("glyphs", &length, HU_ERR_ARGUMENT, "data.length=2");
    put_text("words", words);
    refuse_data(spec("words"), &size, HU_ERR_ARGUMENT, "data.size=8");
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    char valid[256];
    snprintf(valid, sizeof valid, "%s", at("words"));
    hu_image_choice choice = {
        .text = {.unit = HU_TEXT_WORDS, .length = 1, .streams = 2, .valid = valid}};
    put_text("words", words);
    assert_true(fail_every_allocation(spec("words"), NULL, &choice) > 8);
    put_text("list", "<eos>\na\n<unk>\n");
    choice.text.vocabulary = at("list");
    choice.text.streams = 0;
    assert_true(fail_every_allocation(spec("words"), NULL, &choice) > 8);
}

/* ---- WikiText-2, where its files are ---- */

static int64_t sum_of(const int32_t *id, int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += id[i];
    return sum;
}

/* HALFULP_TEXT names the folder of wikitext2_test.txt, to train with, and wikitext2_valid.txt. */
static void wikitext_is_numbered_as_known(void **state) {
    (void)state;
    enum { TRAIN = 245569, VALID = 217646, WORDS = 7266 };
    static const int32_t first[] = {8, 10, 1340, 0, 10, 8, 8, 1340, 0, 24, 32, 804};
    char train[512], valid[512];
    const char *root = getenv("HALFULP_TEXT");
    if (!root) skip();
    snprintf(train, sizeof train, "text:%s/wikitext2_test.txt", root);
    snprintf(valid, sizeof valid, "%s/wikitext2_valid.txt", root);
    const hu_image_choice choice = {
        .text = {.unit = HU_TEXT_WORDS, .least_count = 3, .length = 1, .valid = valid}};
    hu_dataset *d;
    if (hu_dataset_open_images(train, NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    assert_int_equal(d->train.count, TRAIN - 1);
    assert_int_equal(d->test.count, VALID - 1);
    assert_int_equal(d->field[0].classes, WORDS);
    assert_string_equal(hu_dataset_class_name(d, 0), "<unk>");
    assert_string_equal(hu_dataset_class_name(d, 1), "the");
    assert_string_equal(hu_dataset_class_name(d, 8), "<eos>");
    assert_string_equal(hu_dataset_class_name(d, WORDS - 1), "yearly");
    assert_memory_equal(d->train.rows[0], first, sizeof first);
    assert_int_equal(sum_of(d->train.rows[0], TRAIN), 171741393);
    assert_int_equal(sum_of(d->test.rows[0], VALID), 144966096);
    hu_dataset_close(d);
}

static void wikitext_has_so_many_updates(void **state) {
    (void)state;
    enum { STREAMS = 32 };
    char path[512];
    const char *root = getenv("HALFULP_TEXT");
    if (!root) skip();
    snprintf(path, sizeof path, "text:%s/wikitext2_test.txt", root);
    for (int k = 0; k < 2; k++) {
        const hu_image_choice choice = {.text = {.unit = HU_TEXT_WORDS,
                                                 .length = k == 0 ? 32 : 20,
                                                 .streams = STREAMS,
                                                 .valid = path + strlen("text:")}};
        hu_dataset *d;
        if (hu_dataset_open_images(path, NULL, &choice, &d) != HU_OK)
            fail_msg("%s", hu_last_error());
        assert_int_equal(d->train.count, STREAMS * (k == 0 ? 239 : 383));
        assert_int_equal(d->test.count, STREAMS * (k == 0 ? 240 : 384));
        hu_dataset_close(d);
    }
}

static void shakespeare_has_65_characters(void **state) {
    (void)state;
    char path[512];
    const char *root = getenv("HALFULP_TEXT");
    if (!root) skip();
    snprintf(path, sizeof path, "text:%s/tinyshakespeare.txt", root);
    const hu_image_choice choice = {.text = {.unit = HU_TEXT_CHARACTERS, .length = 1}};
    hu_dataset *d;
    if (hu_dataset_open_images(path, NULL, &choice, &d) != HU_OK) fail_msg("%s", hu_last_error());
    assert_int_equal(d->field[0].classes, 65);
    assert_int_equal(d->train.count, 1003853);
    assert_int_equal(d->test.count, 111539);
    hu_dataset_close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_numbered_by_count_and_bytes),
        cmocka_unit_test(rare_words_become_unknown),
        cmocka_unit_test(the_texts_own_unknown_word_is_used),
        cmocka_unit_test(characters_are_numbered_by_bytes),
        cmocka_unit_test(bytes_are_numbers_and_the_last_tenth_is_held_out),
        cmocka_unit_test(streams_go_on_from_sample_to_sample),
        cmocka_unit_test(limits_of_streams_are_whole_updates),
        cmocka_unit_test(a_vocabulary_is_written_and_read_back),
        cmocka_unit_test(marks_of_words_are_kept),
        cmocka_unit_test(bad_texts_are_refused_with_their_place),
        cmocka_unit_test(bad_vocabularies_are_refused_with_their_line),
        cmocka_unit_test(keys_of_texts_are_theirs_alone),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(wikitext_is_numbered_as_known),
        cmocka_unit_test(wikitext_has_so_many_updates),
        cmocka_unit_test(shakespeare_has_65_characters),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
