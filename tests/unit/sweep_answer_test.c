/* The answer of `why` for programs: of a training while it is made, and of its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <halfulp/train.h>
#include <halfulp/why.h>

static void what_is_no_run_is_refused(void **state) {
    (void)state;
    char *json = (char *)1;
    assert_int_equal(hu_why_of_run("/no/such/run", NULL, NULL, &json), HU_ERR_MISSING);
    assert_null(json);
    assert_int_equal(hu_why_of_run(NULL, NULL, NULL, &json), HU_ERR_ARGUMENT);
    assert_int_equal(hu_why_of_run("/no/such/run", NULL, NULL, NULL), HU_ERR_ARGUMENT);
    hu_why_text_free(NULL);
}

static json_t *ask(const char *folder, const char *tensor) {
    char *text;
    json_error_t error;
    if (hu_why_of_run(folder, tensor, NULL, &text) != HU_OK) fail_msg("%s", hu_last_error());
    json_t *answer = json_loads(text, 0, &error);
    hu_why_text_free(text);
    assert_non_null(answer);
    return answer;
}

static const char *verdict_of(const json_t *answer) {
    return json_string_value(json_object_get(answer, "verdict"));
}

static void a_training_is_asked_while_it_is_made(void **state) {
    (void)state;
    char place[] = "/tmp/halfulp-answer-XXXXXX", folder[64], command[96];
    assert_non_null(mkdtemp(place));
    snprintf(folder, sizeof folder, "%s/run", place);
    const hu_setting settings[] = {{"model", "cnn-s"},    {"data", "glyphs"},
                                   {"data.limit", "64"},  {"data.test_limit", "16"},
                                   {"precision", "e5m2"}, {"run.batch", "16"},
                                   {"steps", "40"},       {"threads", "1"},
                                   {"lr.base", "1e6"},    {"lr.schedule", "constant"},
                                   {"run.dir", folder}};
    hu_training *training;
    if (hu_training_open(NULL, settings, sizeof settings / sizeof *settings, NULL, &training) !=
        HU_OK)
        fail_msg("%s", hu_last_error());
    hu_step step = {.size = sizeof step};
    assert_int_equal(hu_training_next(training, &step), HU_OK);
    json_t *answer = ask(folder, "conv1.out");
    assert_non_null(verdict_of(answer));
    assert_non_null(json_object_get(answer, "asked"));
    json_decref(answer);
    char *text;
    assert_int_equal(hu_why_of_run(folder, "conv1.outs", NULL, &text), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "conv1.out"));
    assert_int_equal(hu_why_of_run(folder, NULL, "e5m99", &text), HU_ERR_FORMAT);
    hu_status st = HU_OK;
    while (st == HU_OK && hu_training_step(training) < 40) st = hu_training_next(training, &step);
    assert_int_equal(st, HU_ERR_NONFINITE);
    answer = ask(folder, NULL);
    assert_string_equal(verdict_of(answer), "diverged");
    json_decref(answer);
    hu_training_close(training);
    snprintf(command, sizeof command, "rm -r %s", place);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_no_run_is_refused),
                                       cmocka_unit_test(a_training_is_asked_while_it_is_made)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
