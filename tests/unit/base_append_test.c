/* Files that grow by whole pieces, and their lines read forwards and back. */
#include "base/text_file.h"

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

static char path[] = "/tmp/halfulp-append-XXXXXX";

static void expect(const char *contents, size_t bytes) {
    uint8_t *data;
    size_t found;
    assert_int_equal(hu_file_read_plain(path, 1 << 26, &data, &found), HU_OK);
    assert_int_equal(found, bytes);
    assert_memory_equal(data, contents, bytes);
    hu_free(data);
}

static hu_append *open_empty(void) {
    hu_append *append;
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(hu_append_open(path, &append), HU_OK);
    return append;
}

/* No file of this process may grow beyond bytes; 0 lifts the limit. */
static void limit_file_size(rlim_t bytes) {
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes > 0 ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void pieces_are_there_when_they_are_ended(void **state) {
    (void)state;
    hu_append *append = open_empty();
    char text[2000], all[2100];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hu_append_format(append, "%d, %s;", 7, text); /* longer than what a call is tried with */
    expect("", 0);
    hu_append_text(append, "end\n");
    assert_int_equal(hu_append_end(append), HU_OK);
    int bytes = snprintf(all, sizeof all, "7, %s;end\n", text);
    expect(all, (size_t)bytes);
    assert_int_equal(hu_append_size(append), bytes);
    assert_int_equal(hu_append_sync(append), HU_OK);
    hu_append_text(append, "never ended");
    hu_append_close(append);
    expect(all, (size_t)bytes);
    assert_int_equal(hu_append_open(path, &append), HU_OK);
    assert_int_equal(hu_append_size(append), bytes);
    assert_int_equal(hu_append_cut(append, 2), HU_OK);
    hu_append_text(append, "!");
    assert_int_equal(hu_append_end(append), HU_OK);
    hu_append_close(append);
    expect("7,!", 3);
}

/* Whatever part of a piece a disk still takes, none of it stays, and nothing follows. */
static void a_full_disk_leaves_whole_pieces(void **state) {
    (void)state;
    for (rlim_t room = 6; room < 12; room++) {
        hu_append *append = open_empty();
        hu_append_text(append, "first\n");
        assert_int_equal(hu_append_end(append), HU_OK);
        hu_append_text(append, "second\n");
        limit_file_size(room);
        hu_status st = hu_append_end(append);
        limit_file_size(0);
        assert_int_equal(st, HU_ERR_IO);
        assert_non_null(strstr(hu_last_error(), path));
        expect("first\n", 6);
        hu_append_text(append, "third\n");
        assert_int_equal(hu_append_end(append), HU_ERR_IO);
        hu_append_close(append);
        expect("first\n", 6);
    }
}

static void memory_that_is_missing_writes_nothing(void **state) {
    (void)state;
    hu_append *append = open_empty();
    hu_memory_fail_at(1);
    hu_append_format(append, "%d", 12345);
    hu_append_text(append, "more");
    assert_int_equal(hu_append_end(append), HU_ERR_MEMORY);
    hu_memory_fail_at(0);
    hu_append_close(append);
    expect("", 0);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        hu_memory_fail_at(nth);
        assert_int_equal(hu_append_open(path, &append), HU_ERR_MEMORY);
        assert_null(append);
    }
    hu_memory_fail_at(0);
    assert_int_equal(hu_memory_count().live_blocks, 0);
}

/* Lines of the lengths 0, 1, ..., and one that is longer than what is read at once, read forwards,
 * and backwards by their ends. */
static void lines_are_found_forwards_and_back(void **state) {
    (void)state;
    enum { COUNT = 700, LONG = 200000 };
    static uint64_t start[COUNT + 1];
    static char text[LONG + 1];
    hu_append *append = open_empty();
    for (int i = 0; i < COUNT; i++) {
        int bytes = i == COUNT / 2 ? LONG : i;
        memset(text, 'a' + i % 26, (size_t)bytes);
        hu_append_bytes(append, text, (size_t)bytes);
        hu_append_text(append, i == COUNT - 1 ? "" : "\n");
        assert_int_equal(hu_append_end(append), HU_OK);
        start[i + 1] = hu_append_size(append);
    }
    hu_append_close(append);
    hu_lines *lines;
    hu_line line;
    bool is_present;
    uint64_t found;
    assert_int_equal(hu_lines_open(path, &lines), HU_OK);
    assert_int_equal(hu_lines_size(lines), start[COUNT]);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(hu_lines_next(lines, &line, &is_present), HU_OK);
        assert_true(is_present);
        assert_int_equal(line.offset, start[i]);
        assert_int_equal(line.has_end, i < COUNT - 1);
        assert_int_equal(line.bytes, i == COUNT / 2 ? LONG : i);
        for (size_t b = 0; b < line.bytes; b++) assert_true(line.text[b] == 'a' + i % 26);
    }
    assert_int_equal(hu_lines_next(lines, &line, &is_present), HU_OK);
    assert_false(is_present);
    for (int i = COUNT; i > 0; i--) {
        assert_int_equal(hu_lines_start_of(lines, start[i], &found), HU_OK);
        assert_int_equal(found, start[i - 1]);
    }
    hu_lines_seek(lines, start[9]);
    assert_int_equal(hu_lines_next(lines, &line, &is_present), HU_OK);
    assert_int_equal(line.bytes, 9);
    hu_lines_close(lines);
    assert_int_equal(hu_memory_count().live_blocks, 0);
}

static int make_file(void **state) {
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? 1 : close(descriptor);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_there_when_they_are_ended),
        cmocka_unit_test(a_full_disk_leaves_whole_pieces),
        cmocka_unit_test(memory_that_is_missing_writes_nothing),
        cmocka_unit_test(lines_are_found_forwards_and_back),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
