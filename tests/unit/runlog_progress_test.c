/* progress.jsonl: rows are appended, and become lines for people. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "runlog/progress.h"

static void write_one(const char *folder, const char *event, json_t *facts) {
    hu_progress *progress;
    json_t *row;
    assert_int_equal(hu_progress_open(folder, &progress), HU_OK);
    assert_int_equal(hu_progress_write(progress, event, facts, &row), HU_OK);
    assert_string_equal(hu_progress_event(row), event);
    assert_true(json_number_value(json_object_get(row, "time")) > 1e9);
    json_decref(row);
    hu_progress_close(progress);
}

/* A killed writer leaves half of a row; the next one is a row of its own. */
static void a_torn_row_is_ended(void **state) {
    char folder[] = "/tmp/halfulp-progress-XXXXXX", path[64];
    uint8_t *data;
    size_t bytes;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, HU_PROGRESS_FILE);
    write_one(folder, "start", json_object());
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("{\"event\":\"ep", file);
    fclose(file);
    write_one(folder, "end", json_object());
    assert_int_equal(hu_file_read(path, 4096, &data, &bytes), HU_OK);
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    assert_non_null(strstr(text, "\n{\"event\":\"ep\n{\"event\":\"end\""));
    assert_int_equal(text[bytes - 1], '\n');
    free(text);
    hu_free(data);
    unlink(path);
    rmdir(folder);
}

static void assert_lines(const char *json, const char *expected) {
    char text[HU_PROGRESS_TEXT_BYTES];
    json_t *row = json_loads(json, 0, NULL);
    assert_non_null(row);
    assert_string_equal(hu_progress_text(row, text), expected);
    json_decref(row);
}

static void events_are_lines(void **state) {
    (void)state;
    assert_lines("{\"event\":\"epoch\",\"epoch\":2.0,\"epochs\":5.0,\"loss\":1.5,\"lr\":0.1,"
                 "\"per_second\":1243.4,\"counted\":\"images\",\"left_seconds\":36.5,"
                 "\"tensors_lost\":3,\"skipped\":1,\"metric\":{\"name\":\"accuracy\","
                 "\"part\":\"test\",\"value\":0.562}}",
                 "epoch 2/5  loss 1.5000  test accuracy 56.20 %  lr 0.1  1243 images/s  0:36 left  "
                 "3 tensors in trouble  1 skipped in this epoch");
    assert_lines("{\"event\":\"step\",\"step\":7,\"steps\":9,\"loss\":1.5,\"lr\":0.1,"
                 "\"per_second\":10.0,\"counted\":\"tokens\",\"left_seconds\":4000,"
                 "\"tensors_lost\":0,\"skipped\":0}",
                 "step 7/9  loss 1.5000  lr 0.1  10 tokens/s  1:06:40 left");
    assert_lines(
        "{\"event\":\"step\",\"step\":7,\"steps\":9,\"loss\":1.5,\"lr\":0.1,"
        "\"per_second\":10.0,\"counted\":\"tokens\",\"left_seconds\":4000,"
        "\"tensors_lost\":1,\"tensors_gone\":14,\"sums_failed\":2}",
        "step 7/9  loss 1.5000  lr 0.1  10 tokens/s  1:06:40 left  15 tensors and the sums "
        "of 2 products in trouble");
    assert_lines("{\"event\":\"end\",\"state\":\"diverged\",\"step\":4,\"seconds\":3.0,"
                 "\"reason\":\"no\"}",
                 "diverged after 4 steps, 0:03: no");
    assert_lines("{\"event\":\"step\",\"step\":1,\"steps\":2,\"loss\":2.0,\"lr\":0.1,"
                 "\"per_second\":10.0,\"counted\":\"images\",\"left_seconds\":1,"
                 "\"loss_disc\":1.5,\"loss_gen\":0.5}",
                 "step 1/2  loss 2.0000 (last step: disc 1.5000, gen 0.5000)  lr 0.1  10 images/s  "
                 "0:01 left");
    assert_lines("{\"event\":\"start\",\"verb\":\"compare\",\"folder\":\"a\\u001b[2Jb\","
                 "\"rows\":3}",
                 "compare in a?[2Jb, 3 rows");
    assert_lines("{\"event\":\"row\",\"row\":2,\"rows\":9,\"label\":\"fp16\",\"state\":\"begins\"}",
                 "row 2 of 9: fp16: begins");
}

/* What later versions write, and what nobody is told of. */
static void other_events_are_no_lines(void **state) {
    (void)state;
    assert_lines("{\"event\":\"checkpoint\",\"step\":3}", "");
    assert_lines("{\"event\":\"of another version\"}", "");
    assert_lines("{\"event\":7}", "");
    assert_lines("[]", "");
}

/* Names as long as files may hold them end with the room; what lies after it is nobody's. */
static void long_names_are_cut_off(void **state) {
    char text[HU_PROGRESS_TEXT_BYTES + 4], behind[4] = "\1\1\1";
    char *name = malloc(3 * HU_PROGRESS_TEXT_BYTES);
    (void)state;
    assert_non_null(name);
    memset(name, 'x', 3 * HU_PROGRESS_TEXT_BYTES - 1);
    name[3 * HU_PROGRESS_TEXT_BYTES - 1] = '\0';
    json_t *row = json_pack("{s:s, s:s, s:s}", "event", "start", "model", name, "run", name);
    assert_non_null(row);
    memcpy(text + HU_PROGRESS_TEXT_BYTES, behind, sizeof behind);
    assert_int_equal(strlen(hu_progress_text(row, text)), HU_PROGRESS_TEXT_BYTES - 1);
    assert_memory_equal(text + HU_PROGRESS_TEXT_BYTES, behind, sizeof behind);
    json_decref(row);
    free(name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_row_is_ended),
        cmocka_unit_test(events_are_lines),
        cmocka_unit_test(other_events_are_no_lines),
        cmocka_unit_test(long_names_are_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
