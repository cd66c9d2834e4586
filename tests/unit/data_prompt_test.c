/* Texts to be gone on with: their tokens, what the vocabulary lacks, and what a network sees. */
#include "data/text.h"
#include "data_refused.h"

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

/* The text of the spec is never read. */
static hu_dataset *open_prompts(hu_text_unit unit, const char *vocabulary) {
    const hu_image_choice choice = {.text = {.unit = unit, .length = 4, .vocabulary = vocabulary},
                                    .known = {.only_test = true, .prompts = true}};
    hu_dataset *d;
    if (hu_dataset_open_images("text:/none", NULL, &choice, &d) != HU_OK)
        fail_msg("%s", hu_last_error());
    return d;
}

static hu_prompt prompt_of(const hu_dataset *d, const char *text) {
    hu_prompt prompt;
    if (hu_prompt_read(d, "here", text, strlen(text), &prompt) != HU_OK)
        fail_msg("%s", hu_last_error());
    return prompt;
}

static void refuse(const hu_dataset *d, const char *text, hu_status expected, const char *part) {
    hu_prompt prompt;
    assert_int_equal(hu_prompt_read(d, "here", text, strlen(text), &prompt), expected);
    if (!strstr(hu_last_error(), part)) fail_msg("%s", hu_last_error());
    hu_prompt_free(&prompt);
}

static void expect(const hu_prompt *prompt, const int32_t *number, size_t count) {
    assert_int_equal(prompt->count, count);
    assert_memory_equal(prompt->number, number, count * sizeof *number);
}

/* A line that has not ended goes on; unknown words are told once. */
static void words_are_read_to_the_end_of_the_text(void **state) {
    (void)state;
    static const int32_t open[] = {2, 1, 3, 2, 1, 1}, ended[] = {2, 3};
    put_text("words", "<unk>\na\nthe\n<eos>\n");
    hu_dataset *d = open_prompts(HU_TEXT_WORDS, at("words"));
    hu_prompt prompt = prompt_of(d, "the a\n the a  a ");
    expect(&prompt, open, 6);
    assert_int_equal(prompt.unknowns, 0);
    hu_prompt_free(&prompt);
    prompt = prompt_of(d, "the\n");
    expect(&prompt, ended, 2);
    hu_prompt_free(&prompt);
    prompt = prompt_of(d, "dog <unk> cat dog");
    assert_true(prompt.count == 4 && prompt.number[0] == 0 && prompt.number[3] == 0);
    assert_int_equal(prompt.unknowns, 2);
    assert_int_equal(prompt.unknown_token, 0);
    assert_string_equal(prompt.unknown[0], "dog");
    assert_string_equal(prompt.unknown[1], "cat");
    hu_prompt_free(&prompt);
    refuse(d, "", HU_ERR_ARGUMENT, "here: found no token");
    refuse(d, "  ", HU_ERR_ARGUMENT, "here: found no token");
    refuse(d, "a\na \xff", HU_ERR_CORRUPT, "here: line 2, byte 3: found 0xff, expected UTF-8");
    hu_dataset_close(d);
}

static void characters_and_bytes_are_what_they_are(void **state) {
    (void)state;
    static const int32_t characters[] = {2, 0, 1}, bytes[] = {0xc3, 0xa9, '\n'};
    put_text("letters", "\\n\na\n\xc3\xa9\n");
    hu_dataset *d = open_prompts(HU_TEXT_CHARACTERS, at("letters"));
    hu_prompt prompt = prompt_of(d, "\xc3\xa9\na");
    expect(&prompt, characters, 3);
    hu_prompt_free(&prompt);
    refuse(d, "a\nab", HU_ERR_CORRUPT, "here: line 2, byte 2: found 'b', expected one of the");
    hu_dataset_close(d);
    d = open_prompts(HU_TEXT_BYTES, NULL);
    prompt = prompt_of(d, "\xc3\xa9\n");
    expect(&prompt, bytes, 3);
    hu_prompt_free(&prompt);
    hu_dataset_close(d);
}

/* The last four tokens, from the first place on; after fewer ones stand zeros. */
static void a_sample_holds_the_last_tokens(void **state) {
    (void)state;
    hu_dataset *d = open_prompts(HU_TEXT_BYTES, NULL);
    const int32_t *row = d->test.rows[0], *target = d->test.rows[1];
    hu_prompt prompt = prompt_of(d, "abcde");
    assert_int_equal(hu_prompt_show(&prompt, d), 3);
    assert_true(row[0] == 'b' && row[3] == 'e');
    assert_true(target[0] == HU_UNLABELLED && target[3] == HU_UNLABELLED);
    assert_int_equal(hu_prompt_add(&prompt, 'f'), HU_OK);
    assert_int_equal(hu_prompt_show(&prompt, d), 3);
    assert_true(row[0] == 'c' && row[3] == 'f');
    hu_prompt_free(&prompt);
    prompt = prompt_of(d, "xy");
    assert_int_equal(hu_prompt_show(&prompt, d), 1);
    assert_true(row[0] == 'x' && row[1] == 'y' && row[2] == 0 && row[3] == 0);
    hu_prompt_free(&prompt);
    hu_dataset_close(d);
}

static void a_run_without_its_words_is_refused(void **state) {
    (void)state;
    const hu_image_choice choice = {.text = {.unit = HU_TEXT_WORDS, .length = 4},
                                    .known = {.only_test = true, .prompts = true}};
    refuse_data("text:/none", &choice, HU_ERR_MISSING, "found no vocabulary.txt beside the run");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_are_read_to_the_end_of_the_text, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(characters_and_bytes_are_what_they_are, make_folder,
                                        remove_folder),
        cmocka_unit_test(a_sample_holds_the_last_tokens),
        cmocka_unit_test(a_run_without_its_words_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
