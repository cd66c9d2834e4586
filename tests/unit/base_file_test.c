#include "base/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"
#include "gzip_bytes.h"

static char folder[64];

static const char *at(const char *name) {
    static char path[4][256];
    static unsigned turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void put(const char *path, const void *data, size_t bytes) {
    unlink(path); /* truncating an existing file makes some file systems flush it on closing */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

static void message_names(const char *part) {
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' lacks '%s'", hu_last_error(), part);
}

enum { PLAIN = 500, PACKED = 1024 };
static uint8_t plain[PLAIN], packed[PACKED];

static size_t sample(void) {
    hu_random_key key = {1, hu_stream_id("test", "file"), 0};
    for (uint64_t i = 0; i < PLAIN; i++) plain[i] = (uint8_t)(hu_random_word(&key, i) % 11);
    return gzip(plain, PLAIN, packed, PACKED);
}

static void expect_contents(const char *path, const void *data, size_t bytes) {
    uint8_t *found;
    size_t size;
    assert_int_equal(hu_file_read(path, 1 << 20, &found, &size), HU_OK);
    assert_int_equal(size, bytes);
    assert_memory_equal(found, data, bytes);
    hu_free(found);
}

static void plain_and_gzip_files_read_alike(void **state) {
    (void)state;
    size_t size = sample();
    put(at("a"), plain, PLAIN);
    put(at("b.gz"), packed, size);
    put(at("c"), packed, size);
    expect_contents(at("a"), plain, PLAIN);
    expect_contents(at("b.gz"), plain, PLAIN);
    expect_contents(at("c"), plain, PLAIN);
    put(at("empty"), "", 0);
    uint64_t bytes;
    assert_int_equal(hu_file_size(at("b.gz"), &bytes), HU_OK);
    assert_int_equal(bytes, size);
    assert_int_equal(hu_file_size(at("none"), &bytes), HU_ERR_MISSING);
    expect_contents(at("empty"), "", 0);
}

/* Shorter and longer files one after the other, none of them inflated. */
static void files_are_read_into_the_same_room(void **state) {
    (void)state;
    enum { LONG = 200000 };
    static uint8_t large[LONG];
    size_t size = sample(), found;
    hu_scratch room = {0};
    for (size_t i = 0; i < LONG; i++) large[i] = (uint8_t)(i * i >> 3);
    put(at("a"), plain, PLAIN);
    put(at("b.gz"), packed, size);
    put(at("large"), large, LONG);
    const struct {
        const char *name;
        const uint8_t *data;
        size_t bytes;
    } table[] = {{"a", plain, PLAIN},
                 {"b.gz", packed, size},
                 {"large", large, LONG},
                 {"a", plain, PLAIN},
                 {"large", large, LONG}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(hu_file_read_room(at(table[i].name), LONG, &room, &found), HU_OK);
        assert_int_equal(found, table[i].bytes);
        assert_memory_equal(room.block, table[i].data, found);
    }
    assert_int_equal(hu_file_read_room(at("large"), LONG - 1, &room, &found), HU_ERR_LIMIT);
    assert_int_equal(found, 0);
    assert_int_equal(hu_file_read_room(at("none"), LONG, &room, &found), HU_ERR_MISSING);
    message_names("none");
    hu_scratch_free(&room);
}

static void gzip_members_in_a_row_are_one_file(void **state) {
    (void)state;
    static uint8_t two[2 * PACKED], both[2 * PLAIN];
    size_t size = sample();
    memcpy(two, packed, size);
    memcpy(two + size, packed, size);
    memcpy(both, plain, PLAIN);
    memcpy(both + PLAIN, plain, PLAIN);
    put(at("two.gz"), two, 2 * size);
    expect_contents(at("two.gz"), both, sizeof both);
}

static void the_limit_is_exact(void **state) {
    (void)state;
    uint8_t *data;
    size_t bytes, size = sample();
    put(at("a"), plain, PLAIN);
    put(at("b.gz"), packed, size);
    for (int gz = 0; gz < 2; gz++) {
        const char *path = at(gz ? "b.gz" : "a");
        assert_int_equal(hu_file_read(path, PLAIN, &data, &bytes), HU_OK);
        hu_free(data);
        assert_int_equal(hu_file_read(path, PLAIN - 1, &data, &bytes), HU_ERR_LIMIT);
        assert_null(data);
        assert_int_equal(bytes, 0);
        message_names(path);
        message_names("499");
    }
}

static void what_is_not_a_readable_file_is_told_apart(void **state) {
    (void)state;
    uint8_t *data;
    size_t bytes;
    assert_int_equal(hu_file_read(at("none"), 10, &data, &bytes), HU_ERR_MISSING);
    message_names(at("none"));
    put(at("a"), "x", 1);
    assert_int_equal(hu_file_read(at("a/b"), 10, &data, &bytes), HU_ERR_MISSING);
    assert_int_equal(hu_file_read(folder, 10, &data, &bytes), HU_ERR_ARGUMENT);
    message_names(folder);
}

static void every_truncation_of_a_gzip_file_is_damage(void **state) {
    (void)state;
    uint8_t *data;
    size_t bytes, size = sample();
    const char *path = at("cut.gz");
    for (size_t cut = 0; cut < size; cut++) {
        put(path, packed, cut);
        assert_int_equal(hu_file_read(path, 1 << 20, &data, &bytes), HU_ERR_CORRUPT);
        assert_null(data);
        message_names(path);
        message_names("offset");
    }
}

/* Bits of the header that carry no data (time, system) may change; nothing else may pass. */
static void every_bit_flip_of_a_gzip_file_is_damage_or_harmless(void **state) {
    (void)state;
    uint8_t *data;
    size_t bytes, size = sample(), harmless = 0;
    const char *path = at("flip.gz");
    for (size_t bit = 0; bit < 8 * size; bit++) {
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        put(path, packed, size);
        packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
        hu_status st = hu_file_read(path, 1 << 20, &data, &bytes);
        if (st == HU_OK) {
            assert_int_equal(bytes, PLAIN);
            assert_memory_equal(data, plain, PLAIN);
            harmless++;
        } else {
            assert_int_equal(st, HU_ERR_CORRUPT);
            message_names(path);
        }
        hu_free(data);
    }
    assert_in_range(harmless, 1, 80); /* the 10 bytes of the header */
}

static void bytes_behind_a_gzip_member_are_damage(void **state) {
    (void)state;
    uint8_t *data;
    size_t bytes, size = sample();
    memset(packed + size, 0, 3);
    for (size_t extra = 1; extra <= 3; extra++) {
        put(at("more.gz"), packed, size + extra);
        assert_int_equal(hu_file_read(at("more.gz"), 1 << 20, &data, &bytes), HU_ERR_CORRUPT);
        message_names("1f 8b");
    }
}

static void directories_are_made_with_their_parents(void **state) {
    (void)state;
    assert_int_equal(hu_directory_create(at("p/q//r/")), HU_OK);
    assert_true(hu_file_exists(at("p/q/r")));
    assert_int_equal(hu_directory_create(at("p/q/r")), HU_OK);
    put(at("p/file"), "x", 1);
    assert_int_equal(hu_directory_create(at("p/file")), HU_ERR_IO);
    assert_int_equal(hu_directory_create(at("p/file/s")), HU_ERR_IO);
    message_names("p/file/s");
}

static void paths_are_joined_by_one_slash(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
    assert_string_equal(hu_path_name("a/"), "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path;
        assert_int_equal(hu_path_join(cases[i][0], cases[i][1], &path), HU_OK);
        assert_string_equal(path, cases[i][2]);
        assert_string_equal(hu_path_name(path), "b");
        hu_free(path);
    }
}

static size_t entries_named_tmp(void) {
    char command[128];
    snprintf(command, sizeof command, "ls %s | grep -c tmp", folder);
    FILE *pipe = popen(command, "r");
    size_t count = 99;
    assert_int_equal(fscanf(pipe, "%zu", &count), 1);
    pclose(pipe);
    return count;
}

static void replace_writes_new_contents_and_keeps_permissions(void **state) {
    (void)state;
    struct stat info;
    const char *path = at("r");
    mode_t mask = umask(027);
    assert_int_equal(hu_file_replace(path, "old", 3), HU_OK);
    umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    chmod(path, 0600);
    assert_int_equal(hu_file_replace(path, "newer", 5), HU_OK);
    expect_contents(path, "newer", 5);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(entries_named_tmp(), 0);
}

static void a_failed_replace_leaves_the_old_file_and_no_other(void **state) {
    (void)state;
    static uint8_t big[8192];
    const char *path = at("kept");
    assert_int_equal(hu_file_replace(path, "old", 3), HU_OK);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 1000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    hu_status st = hu_file_replace(path, big, sizeof big);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    assert_int_equal(st, HU_ERR_IO);
    message_names(path);
    expect_contents(path, "old", 3);
    assert_int_equal(entries_named_tmp(), 0);
    assert_int_equal(hu_file_replace(at("none/x"), "y", 1), HU_ERR_MISSING);
    assert_int_equal(hu_directory_create(at("dir/sub")), HU_OK);
    assert_int_equal(hu_file_replace(at("dir"), "y", 1), HU_ERR_ARGUMENT); /* a directory is none */
    assert_int_equal(entries_named_tmp(), 0);
}

/* The target of a link is replaced where it lies; the link stays. */
static void replace_follows_links(void **state) {
    (void)state;
    struct stat info;
    static const char *const links[] = {"to-file", "to-link", "to-nothing", "away"};
    assert_int_equal(hu_directory_create(at("real")), HU_OK);
    put(at("real/file"), "old", 3);
    assert_int_equal(symlink("real/file", at("to-file")), 0);
    assert_int_equal(symlink("to-file", at("to-link")), 0);
    assert_int_equal(symlink("real/new", at("to-nothing")), 0);
    assert_int_equal(symlink(at("real/file"), at("away")), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(hu_file_replace(at(links[i]), links[i], strlen(links[i])), HU_OK);
        assert_int_equal(lstat(at(links[i]), &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        expect_contents(at(links[i]), links[i], strlen(links[i]));
        expect_contents(at(i == 2 ? "real/new" : "real/file"), links[i], strlen(links[i]));
    }
    assert_int_equal(symlink("circle", at("circle")), 0);
    assert_int_equal(hu_file_replace(at("circle"), "x", 1), HU_ERR_IO);
    assert_int_equal(symlink("none/x", at("nowhere")), 0);
    assert_int_equal(hu_file_replace(at("nowhere"), "x", 1), HU_ERR_MISSING);
    assert_int_equal(entries_named_tmp(), 0);
}

/* A pipe gets the bytes and stays a pipe; so does a device, of which only root can make a copy. */
static void replace_writes_to_what_is_no_file(void **state) {
    (void)state;
    struct stat info;
    char found[8] = "";
    const char *pipe = at("pipe"), *device = at("device");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_int_equal(hu_file_replace(pipe, "bytes", 5), HU_OK);
    assert_int_equal(read(reader, found, sizeof found), 5);
    assert_string_equal(found, "bytes");
    close(reader);
    assert_int_equal(stat(pipe, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    if (mknod(device, S_IFCHR | 0600, makedev(1, 7)) != 0) return;
    hu_status st = hu_file_replace(device, "bytes", 5); /* 1:7 is always full */
    assert_int_equal(st, HU_ERR_IO);
    assert_int_equal(stat(device, &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(entries_named_tmp(), 0);
}

/* A name that the system cannot look up is not one that is missing; one that no file can have is.
 */
static void what_cannot_be_looked_up_is_not_missing(void **state) {
    (void)state;
    bool exists = true;
    char name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(hu_file_find(at("none"), &exists), HU_OK);
    assert_false(exists);
    assert_int_equal(hu_file_find(folder, &exists), HU_OK);
    assert_true(exists);
    assert_int_equal(hu_file_find(name, &exists), HU_OK); /* longer than names can be */
    assert_false(exists);
    assert_int_equal(symlink("loop", at("loop")), 0);
    assert_int_equal(hu_file_find(at("loop"), &exists), HU_ERR_IO);
    assert_false(exists);
    assert_int_equal(unlink(at("loop")), 0);
}

static void memory_faults_are_reported_and_leak_nothing(void **state) {
    (void)state;
    uint8_t *data;
    size_t bytes, size = sample();
    put(at("b.gz"), packed, size);
    uint64_t before = hu_memory_count().live_blocks;
    for (uint64_t nth = 1; nth <= 2; nth++) {
        hu_memory_fail_at(nth);
        assert_int_equal(hu_file_read(at("b.gz"), 1 << 20, &data, &bytes), HU_ERR_MEMORY);
        assert_null(data);
        hu_memory_fail_at(nth);
        assert_int_equal(hu_file_replace(at("r"), "abc", 3), HU_ERR_MEMORY);
        assert_int_equal(hu_memory_count().live_blocks, before);
    }
    hu_memory_fail_at(0);
    assert_int_equal(entries_named_tmp(), 0);
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/halfulp-file-XXXXXX");
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
        cmocka_unit_test(plain_and_gzip_files_read_alike),
        cmocka_unit_test(files_are_read_into_the_same_room),
        cmocka_unit_test(gzip_members_in_a_row_are_one_file),
        cmocka_unit_test(the_limit_is_exact),
        cmocka_unit_test(what_is_not_a_readable_file_is_told_apart),
        cmocka_unit_test(every_truncation_of_a_gzip_file_is_damage),
        cmocka_unit_test(every_bit_flip_of_a_gzip_file_is_damage_or_harmless),
        cmocka_unit_test(bytes_behind_a_gzip_member_are_damage),
        cmocka_unit_test(directories_are_made_with_their_parents),
        cmocka_unit_test(paths_are_joined_by_one_slash),
        cmocka_unit_test(replace_writes_new_contents_and_keeps_permissions),
        cmocka_unit_test(a_failed_replace_leaves_the_old_file_and_no_other),
        cmocka_unit_test(replace_follows_links),
        cmocka_unit_test(replace_writes_to_what_is_no_file),
        cmocka_unit_test(what_cannot_be_looked_up_is_not_missing),
        cmocka_unit_test(memory_faults_are_reported_and_leak_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
