/* Histories that a training goes on with: cut back to a checkpoint, rid of parts of lines, and what
 * is missing told. */
#include "runlog/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"

enum { CSV, METRICS, NUMERICS };

static char folder[64], note[2048];

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text, size_t bytes) {
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void expect(const char *name, const char *text) {
    uint8_t *data;
    size_t bytes;
    assert_int_equal(hu_file_read_plain(path_of(name), 1 << 26, &data, &bytes), HU_OK);
    assert_int_equal(bytes, strlen(text));
    assert_memory_equal(data, text, bytes);
    hu_free(data);
}

static void mend(const hu_history_mark *mark, int64_t step) {
    note[0] = '\0';
    if (hu_history_truncate(folder, mark, step, note, sizeof note) != HU_OK)
        fail_msg("%s", hu_last_error());
}

/* A line of numerics.jsonl, whose steps may go back by some. */
static void add(char *text, int step) {
    sprintf(text + strlen(text), "{\"step\": %d, \"steps\": 1}\n", step);
}

static void marks_tell_bytes_and_last_steps(void **state) {
    (void)state;
    hu_history_mark mark[HU_HISTORIES];
    put("metrics.csv", "step,loss\n", 10);
    put("metrics.jsonl", "", 0);
    put("numerics.jsonl", "{\"step\": 7, \"steps\": 1}\n{\"step\":12}\n", 36);
    assert_int_equal(hu_history_marks(folder, mark), HU_OK);
    const hu_history_mark expected[HU_HISTORIES] = {{10, -1}, {0, -1}, {36, 12}, {0, -1}, {0, -1}};
    for (int i = 0; i < HU_HISTORIES; i++) {
        assert_int_equal(mark[i].bytes, expected[i].bytes);
        assert_int_equal(mark[i].step, expected[i].step);
    }
}

/* The lines of a checkpoint stay to the byte, also rows of earlier steps that came after it go. */
static void files_are_cut_back_to_their_marks(void **state) {
    (void)state;
    hu_history_mark mark[HU_HISTORIES];
    char text[400] = "";
    put("metrics.csv", "step,loss\n0,1.5\n4,1.25\n", 23);
    add(text, 0), add(text, 4);
    put("numerics.jsonl", text, strlen(text));
    assert_int_equal(hu_history_marks(folder, mark), HU_OK);
    char kept[400];
    strcpy(kept, text);
    add(text, 5), add(text, 3), add(text, 6);
    put("numerics.jsonl", text, strlen(text));
    put("metrics.csv", "step,loss\n0,1.5\n4,1.25\n5,1.0\n6,0.", 33);
    mend(mark, 5);
    expect("numerics.jsonl", kept);
    expect("metrics.csv", "step,loss\n0,1.5\n4,1.25\n");
    assert_string_equal(note, "");
}

/* A checkpoint of an older version knows no marks: whole lines of earlier steps stay, in order. */
static void without_marks_steps_decide(void **state) {
    (void)state;
    static const int steps[] = {0,  4, 9,  8,
                                10, 7, 12, 9}; /* as events and rows follow each other */
    char text[800] = "", kept[800] = "";
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        add(text, steps[i]);
        if (steps[i] < 10) add(kept, steps[i]);
    }
    put("numerics.jsonl", text, strlen(text));
    put("metrics.csv", "step,loss\n0,1.5\n10,1.25\n", 24);
    mend(NULL, 10);
    expect("numerics.jsonl", kept);
    expect("metrics.csv", "step,loss\n0,1.5\n");
    assert_string_equal(note, "");
    mend(NULL, 0);
    expect("numerics.jsonl", "");
    expect("metrics.csv", "step,loss\n");
    unlink(path_of("metrics.csv"));
    mend(NULL, 0);
}

/* What a full disk left: the first part of a line is lost, the last part came later. */
static void parts_of_lines_are_dropped_and_told(void **state) {
    (void)state;
    char text[800] = "", kept[800] = "";
    add(text, 0), add(kept, 0);
    strcat(text, "1, 2], [\"conv\", 3]]}\n");
    add(text, 3), add(kept, 3);
    strcat(text, "{\"step\": 4, \"ten");
    put("numerics.jsonl", text, strlen(text));
    mend(NULL, 10);
    expect("numerics.jsonl", kept);
    assert_string_equal(note, "numerics.jsonl: parts of lines that a crash left are dropped: 2");
    /* Zeros, as a file system leaves where a length came to the disk and contents did not. */
    size_t bytes = strlen(kept);
    memset(kept + bytes, 0, 100);
    put("numerics.jsonl", kept, bytes + 100);
    mend(NULL, 10);
    expect("numerics.jsonl", kept);
    assert_string_equal(note, "numerics.jsonl: parts of lines that a crash left are dropped: 1");
}

static void lines_that_a_checkpoint_knows_and_are_gone_are_told(void **state) {
    (void)state;
    hu_history_mark mark[HU_HISTORIES];
    char text[800] = "", kept[800] = "";
    for (int s = 0; s < 6; s++) {
        add(text, s);
        if (s < 3) strcpy(kept, text);
    }
    unlink(path_of("metrics.csv"));
    put("numerics.jsonl", text, strlen(text));
    assert_int_equal(hu_history_marks(folder, mark), HU_OK);
    put("numerics.jsonl", kept, strlen(kept) - 2);
    mend(mark, 6);
    assert_string_equal(note, "numerics.jsonl: parts of lines that a crash left are dropped: 1\n"
                              "numerics.jsonl: lines of steps 2 to 5 are missing (lost in a "
                              "crash?)");
    unlink(path_of("numerics.jsonl"));
    mend(mark, 6);
    assert_string_equal(note, "numerics.jsonl: lines of steps 0 to 5 are missing (lost in a "
                              "crash?)");
    /* A hole before the last line. */
    size_t bytes = strlen(text);
    memset(text + 30, 0, 20);
    put("numerics.jsonl", text, bytes);
    mend(mark, 6); /* found by nobody who looks at the end alone; readers leave it out */
    assert_string_equal(note, "");
    put("numerics.jsonl", text, bytes - 3);
    mend(mark, 6);
    assert_string_equal(note, "numerics.jsonl: parts of lines that a crash left are dropped: 2\n"
                              "numerics.jsonl: lines of steps 5 to 5 are missing (lost in a "
                              "crash?)");
}

/* Only the end of a long file is read: the first lines of this one would all be dropped. */
static void a_long_file_is_looked_at_from_its_end(void **state) {
    (void)state;
    enum { LINES = 20000 };
    static char text[LINES * 40];
    size_t used = (size_t)sprintf(text, "no line at all\n"), kept = 0;
    for (int s = 0; s < LINES; s++) {
        if (s == LINES - 5) kept = used;
        used += (size_t)sprintf(text + used, "{\"step\": %d, \"steps\": 1}\n", s);
    }
    put("numerics.jsonl", text, used);
    mend(NULL, LINES - 5);
    text[kept] = '\0';
    expect("numerics.jsonl", text);
    assert_string_equal(note, "");
}

static void missing_memory_is_told_and_leaks_nothing(void **state) {
    (void)state;
    char text[400] = "";
    add(text, 0), add(text, 9), add(text, 3);
    uint64_t live = hu_memory_count().live_blocks, nth = 1;
    hu_status st = HU_ERR_MEMORY;
    for (; st == HU_ERR_MEMORY; nth++) {
        put("numerics.jsonl", text, strlen(text));
        hu_memory_fail_at(nth);
        st = hu_history_truncate(folder, NULL, 5, note, sizeof note);
        hu_memory_fail_at(0);
        assert_int_equal(hu_memory_count().live_blocks, live);
        if (st == HU_ERR_MEMORY) continue;
        assert_int_equal(st, HU_OK);
    }
    assert_true(nth > 8);
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/halfulp-mend-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_tell_bytes_and_last_steps),
        cmocka_unit_test(files_are_cut_back_to_their_marks),
        cmocka_unit_test(without_marks_steps_decide),
        cmocka_unit_test(parts_of_lines_are_dropped_and_told),
        cmocka_unit_test(lines_that_a_checkpoint_knows_and_are_gone_are_told),
        cmocka_unit_test(a_long_file_is_looked_at_from_its_end),
        cmocka_unit_test(missing_memory_is_told_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
