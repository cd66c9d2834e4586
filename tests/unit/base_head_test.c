/* The beginning of files: plain, compressed, short, absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/file.h"

static char path[] = "/tmp/halfulp-head-XXXXXX";

static void write_plain(const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void a_head_and_the_size_of_the_whole(void **state) {
    (void)state;
    char head[8] = "";
    size_t got;
    uint64_t bytes;
    write_plain("0123456789");
    assert_int_equal(hu_file_head(path, head, 4, &got, &bytes), HU_OK);
    assert_int_equal(got, 4);
    assert_int_equal(bytes, 10);
    assert_memory_equal(head, "0123\0", 5);
    write_plain("01");
    assert_int_equal(hu_file_head(path, head, 4, &got, &bytes), HU_OK);
    assert_int_equal(got, 2);
    assert_int_equal(bytes, 2);
    assert_int_equal(truncate(path, (off_t)5 << 30), 0);
    assert_int_equal(hu_file_head(path, head, 4, &got, &bytes), HU_OK);
    assert_int_equal(bytes, (uint64_t)5 << 30);
}

static void compressed_files_show_their_contents(void **state) {
    (void)state;
    char head[8] = "";
    size_t got;
    gzFile file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, "0123456789", 10), 10);
    assert_int_equal(gzclose(file), Z_OK);
    assert_int_equal(hu_file_head_inflated(path, head, 6, &got), HU_OK);
    assert_int_equal(got, 6);
    assert_memory_equal(head, "012345", 6);
    assert_int_equal(truncate(path, 12), 0); /* damaged: what could be had, if anything */
    assert_int_equal(hu_file_head_inflated(path, head, 6, &got), HU_OK);
    assert_true(got <= 6);
    write_plain("01");
    assert_int_equal(hu_file_head_inflated(path, head, 6, &got), HU_OK);
    assert_int_equal(got, 2);
}

static void what_is_no_file_has_no_head(void **state) {
    (void)state;
    char head[8];
    size_t got;
    uint64_t bytes;
    assert_int_equal(hu_file_head("/nowhere/at/all", head, 4, &got, &bytes), HU_ERR_MISSING);
    assert_int_equal(hu_file_head_inflated("/nowhere/at/all", head, 4, &got), HU_ERR_MISSING);
    assert_int_equal(hu_file_head("/dev/zero", head, 4, &got, &bytes), HU_OK);
    assert_int_equal(got, 0);
    assert_int_equal(bytes, 0);
}

static int make(void **state) {
    (void)state;
    return close(mkstemp(path));
}

static int clean(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_and_the_size_of_the_whole),
        cmocka_unit_test(compressed_files_show_their_contents),
        cmocka_unit_test(what_is_no_file_has_no_head),
    };
    return cmocka_run_group_tests(tests, make, clean);
}
