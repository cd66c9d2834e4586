/* Text tables, and the CSV file that grows row by row. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "render/csv.h"
#include "render/table.h"

static void numbers_align_right_and_texts_left(void **state) {
    (void)state;
    static const char *const titles[] = {"precision", "accuracy", "note"};
    static const char *const cells[][3] = {
        {"fp32", "91.25", ""}, {"1/6/9/d", "9.5", "\xc3\xa9t\xc3\xa9"}, {"e4m3", "-", "x"}};
    hu_table *table;
    char *text;
    assert_int_equal(hu_table_create(titles, 3, &table), HU_OK);
    for (int i = 0; i < 9; i++)
        assert_int_equal(hu_table_cell(table, "%s", cells[i / 3][i % 3]), HU_OK);
    assert_int_equal(hu_table_print(table, &text), HU_OK);
    assert_string_equal(text, "precision  accuracy  note\n"
                              "---------  --------  ----\n"
                              "fp32          91.25\n"
                              "1/6/9/d         9.5  \xc3\xa9t\xc3\xa9\n"
                              "e4m3              -  x\n");
    hu_free(text);
    hu_table_free(table);
}

static void markdown_aligns_numbers_and_keeps_bars(void **state) {
    (void)state;
    static const char *const titles[] = {"a|b", "share"};
    static const char *const cells[] = {"x|y", "0.5", "", "-"};
    hu_table *table;
    char *text;
    assert_int_equal(hu_table_create(titles, 2, &table), HU_OK);
    for (int i = 0; i < 4; i++) assert_int_equal(hu_table_cell(table, "%s", cells[i]), HU_OK);
    assert_int_equal(hu_table_markdown(table, &text), HU_OK);
    assert_string_equal(text, "| a\\|b | share |\n"
                              "|---|---:|\n"
                              "| x\\|y | 0.5 |\n"
                              "|  | - |\n");
    hu_free(text);
    hu_table_free(table);
}

static void a_table_without_rows_is_its_titles(void **state) {
    (void)state;
    static const char *const titles[] = {"a", "bc"};
    hu_table *table;
    char *text;
    assert_int_equal(hu_table_create(titles, 2, &table), HU_OK);
    assert_int_equal(hu_table_print(table, &text), HU_OK);
    assert_string_equal(text, "a  bc\n-  --\n");
    hu_free(text);
    hu_table_free(table);
    assert_int_equal(hu_table_create(titles, 0, &table), HU_ERR_ARGUMENT);
    assert_null(table);
}

static void assert_file_is(const char *path, const char *expected) {
    uint8_t *data;
    size_t bytes;
    assert_int_equal(hu_file_read(path, 4096, &data, &bytes), HU_OK);
    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(data, expected, bytes);
    hu_free(data);
}

static void csv_rows_are_on_disk_at_once_and_continue(void **state) {
    (void)state;
    static const char *const titles[] = {"step", "loss"};
    static const char *const others[] = {"step", "rate"};
    char path[] = "report_csv_test_XXXXXX";
    int handle = mkstemp(path);
    assert_true(handle >= 0);
    close(handle);
    hu_csv *csv;
    assert_int_equal(hu_csv_open(path, titles, 2, &csv), HU_OK);
    assert_int_equal(hu_csv_cell(csv, "%d", 1), HU_OK);
    assert_file_is(path, "step,loss\n");
    assert_int_equal(hu_csv_cell(csv, "%.2f", 0.5), HU_OK);
    assert_file_is(path, "step,loss\n1,0.50\n");
    hu_csv_close(csv);
    assert_int_equal(hu_csv_open(path, others, 2, &csv), HU_ERR_CORRUPT);
    assert_null(csv);
    assert_int_equal(hu_csv_open(path, titles, 2, &csv), HU_OK);
    assert_int_equal(hu_csv_cell(csv, "%s", "a,\"b\""), HU_OK);
    assert_int_equal(hu_csv_cell(csv, "%s", ""), HU_OK);
    hu_csv_close(csv);
    assert_file_is(path, "step,loss\n1,0.50\n\"a,\"\"b\"\"\",\n");
    unlink(path);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_torn_csv_row_is_removed(void **state) {
    (void)state;
    static const char *const titles[] = {"step", "loss"};
    static const struct {
        const char *before, *after;
    } cases[] = {{"step,loss\n1,0.5\n2,0.", "step,loss\n1,0.5\n7,8\n"},
                 {"step,loss\n1", "step,loss\n7,8\n"},
                 {"step,loss\n", "step,loss\n7,8\n"},
                 {"step,lo", "step,loss\n7,8\n"},
                 {"", "step,loss\n7,8\n"}};
    char path[] = "report_csv_test_XXXXXX";
    int handle = mkstemp(path);
    assert_true(handle >= 0);
    close(handle);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hu_csv *csv;
        write_file(path, cases[i].before);
        assert_int_equal(hu_csv_open(path, titles, 2, &csv), HU_OK);
        assert_int_equal(hu_csv_cell(csv, "%d", 7), HU_OK);
        assert_int_equal(hu_csv_cell(csv, "%d", 8), HU_OK);
        hu_csv_close(csv);
        assert_file_is(path, cases[i].after);
    }
    unlink(path);
}

static void csv_that_cannot_be_written_says_so(void **state) {
    (void)state;
    static const char *const titles[] = {"step", "loss"};
    char path[] = "report_csv_test_XXXXXX";
    int handle = mkstemp(path);
    assert_true(handle >= 0);
    close(handle);
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 12;
    signal(SIGXFSZ, SIG_IGN);
    hu_csv *csv;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(hu_csv_open(path, titles, 2, &csv), HU_OK);
    assert_int_equal(hu_csv_cell(csv, "%d", 1), HU_OK);
    assert_int_equal(hu_csv_cell(csv, "%s", "0.25"), HU_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    /* Nothing of the row that failed, nor of one after it. */
    assert_file_is(path, "step,loss\n");
    assert_int_equal(hu_csv_cell(csv, "%d", 1), HU_OK);
    assert_int_equal(hu_csv_cell(csv, "%d", 2), HU_ERR_IO);
    hu_csv_close(csv);
    assert_file_is(path, "step,loss\n");
    unlink(path);
    assert_int_equal(hu_csv_open("missing-folder/metrics.csv", titles, 2, &csv), HU_ERR_MISSING);
    assert_null(csv);
    assert_int_equal(hu_memory_count().live_blocks, 0);
}

/* Codes stand around texts, not around blanks, and take no room; without colours there are none. */
static void looks_change_no_widths(void **state) {
    (void)state;
    static const char *const titles[] = {"run", "state", "best"};
    hu_table *table;
    char *plain, *coloured;
    assert_int_equal(hu_table_create(titles, 3, &table), HU_OK);
    assert_int_equal(hu_table_cell(table, "a"), HU_OK);
    assert_int_equal(hu_table_cell(table, "failed"), HU_OK);
    hu_table_look(table, HU_COLOUR_BAD);
    assert_int_equal(hu_table_cell(table, "1"), HU_OK);
    assert_int_equal(hu_table_cell(table, "b"), HU_OK);
    assert_int_equal(hu_table_cell(table, "ok"), HU_OK);
    assert_int_equal(hu_table_cell(table, "22"), HU_OK);
    hu_table_look(table, HU_COLOUR_BEST);
    assert_int_equal(hu_table_print(table, &plain), HU_OK);
    assert_int_equal(hu_table_print_for(table, true, &coloured), HU_OK);
    assert_string_equal(plain, "run  state   best\n---  ------  ----\na    failed     1\n"
                               "b    ok        22\n");
    assert_string_equal(coloured,
                        "run  state   best\n---  ------  ----\n"
                        "a    \033[31mfailed\033[0m     1\nb    ok        \033[1m22\033[0m\n");
    hu_free(plain);
    hu_free(coloured);
    hu_table_free(table);
}

/* Zeros and "-" alone are left out from the column that is named on; one other cell keeps all. */
static void columns_of_zeros_are_left_out(void **state) {
    (void)state;
    static const char *const titles[] = {"run", "lost", "loss", "skipped", "share", "ended"};
    static const char *const cells[] = {"0", "0", "0.00", "0.0", "-",  "1",
                                        "0", "0", "-",    "0",   "0%", "0"};
    hu_table *table;
    char *text;
    assert_int_equal(hu_table_create(titles, 6, &table), HU_OK);
    hu_table_leave_out(table, 0);
    assert_int_equal(hu_table_print(table, &text), HU_OK);
    assert_string_equal(text, "run  lost  loss  skipped  share  ended\n"
                              "---  ----  ----  -------  -----  -----\n");
    hu_free(text);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        assert_int_equal(hu_table_cell(table, "%s", cells[i]), HU_OK);
    hu_table_leave_out(table, 2);
    assert_int_equal(hu_table_print(table, &text), HU_OK);
    assert_string_equal(text, "run  lost  share  ended\n---  ----  -----  -----\n"
                              "  0     0      -      1\n  0     0     0%      0\n");
    hu_free(text);
    hu_table_free(table);
    assert_int_equal(hu_memory_count().live_blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_align_right_and_texts_left),
        cmocka_unit_test(markdown_aligns_numbers_and_keeps_bars),
        cmocka_unit_test(a_table_without_rows_is_its_titles),
        cmocka_unit_test(looks_change_no_widths),
        cmocka_unit_test(columns_of_zeros_are_left_out),
        cmocka_unit_test(csv_rows_are_on_disk_at_once_and_continue),
        cmocka_unit_test(a_torn_csv_row_is_removed),
        cmocka_unit_test(csv_that_cannot_be_written_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
