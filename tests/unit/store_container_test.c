#include "store/container.h"

#include <fcntl.h>

#include <xxhash.h>

#include "base/file.h"
#include "base/memory.h"
#include "store_checkpoint_fixture.h"

enum { HEADER_BYTES = 32 + 3 * 88 + 8 }; /* of a file with three sections */

/* One valid file in memory and on disk, to be damaged. */
typedef struct victim {
    char directory[256], path[400];
    uint8_t *data;
    size_t bytes;
} victim;

static void make_victim(victim *v) {
    make_directory(v->directory);
    path_of(v->path, v->directory, 77);
    assert_int_equal(save(v->directory, 77, 2), HU_OK);
    assert_int_equal(hu_file_read(v->path, 1 << 20, &v->data, &v->bytes), HU_OK);
    assert_int_equal(v->bytes, 384 + BODY_BYTES); /* 304, config at 320, empty and weights at 384 */
}

static void free_victim(victim *v) {
    hu_free(v->data);
    remove_directory(v->directory);
}

static void write_file(const char *path, const uint8_t *data, size_t bytes) {
    int file = open(path, O_WRONLY | O_TRUNC);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, bytes), bytes);
    close(file);
}

/* The damaged file must be refused with one line that names file, offset and field, and stay as it
 * is. Returns the status. */
static hu_status expect_refused(const victim *v, const uint8_t *data, size_t bytes) {
    uint8_t *after;
    size_t after_bytes;
    hu_checkpoint *checkpoint;
    write_file(v->path, data, bytes);
    uint64_t live = hu_memory_count().live_blocks;
    hu_status st = hu_checkpoint_open(v->path, &checkpoint);
    assert_null(checkpoint);
    assert_int_equal(hu_memory_count().live_blocks, live);
    if (st != HU_ERR_CORRUPT && st != HU_ERR_VERSION) fail_msg("status %d", (int)st);
    assert_int_equal(hu_status_exit_code(st), 3);
    size_t length = strlen(v->path);
    const char *text = hu_last_error();
    assert_memory_equal(text, v->path, length);
    if (strncmp(text + length, ": offset ", 9) != 0 || !strstr(text, "expected") ||
        strchr(text, '\n'))
        fail_msg("%s", text);
    if (bytes < 4 || data[0] != 0x1f) {
        assert_int_equal(hu_file_read(v->path, 1 << 20, &after, &after_bytes), HU_OK);
        assert_int_equal(after_bytes, bytes);
        if (bytes > 0) assert_memory_equal(after, data, bytes);
        hu_free(after);
    }
    return st;
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    victim v;
    make_victim(&v);
    for (size_t bytes = 0; bytes < v.bytes; bytes++) expect_refused(&v, v.data, bytes);
    free_victim(&v);
}

static void every_flipped_bit_is_refused(void **state) {
    (void)state;
    victim v;
    make_victim(&v);
    for (size_t bit = 0; bit < 8 * v.bytes; bit += bit < 8 * 400 ? 1 : 7) {
        v.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        hu_status st = expect_refused(&v, v.data, v.bytes);
        assert_int_equal(st == HU_ERR_VERSION, bit / 8 >= 8 && bit / 8 < 12);
        v.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free_victim(&v);
}

static void trailing_bytes_are_refused(void **state) {
    (void)state;
    victim v;
    uint8_t longer[4096] = {0};
    make_victim(&v);
    memcpy(longer, v.data, v.bytes);
    for (size_t more = 1; more < 200; more += 13) {
        expect_refused(&v, longer, v.bytes + more);
        assert_non_null(strstr(hu_last_error(), "file size"));
    }
    free_victim(&v);
}

static void put_number(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_number(const uint8_t *at) {
    uint64_t value = 0;
    for (int i = 8; i-- > 0;) value = value << 8 | at[i];
    return value;
}

/* What a careful forger would do: the header checksum fits whatever the header says. */
static void reseal(uint8_t *data) {
    put_number(data + HEADER_BYTES - 8, XXH64(data, HEADER_BYTES - 8, 0), 8);
}

static void every_wrong_length_is_refused_even_with_the_right_checksum(void **state) {
    (void)state;
    victim v;
    make_victim(&v);
    const uint64_t values[] = {
        0,          1,          2,          UINT64_MAX,     UINT64_MAX - 1, 1ull << 31,
        1ull << 32, 1ull << 63, BODY_BYTES, BODY_BYTES - 1, BODY_BYTES + 1, 64,
        INT64_MAX,  384,        0xffffffffu};
    uint8_t copy[384 + BODY_BYTES];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        for (int field = 0; field < 8; field++) {
            /* count, file size, and offset and bytes of the three entries */
            size_t at = field == 0 ? 12 : field == 1 ? 16 : 96 + 88 * (size_t)((field - 2) / 2);
            if (field >= 2 && field % 2 == 1) at += 8;
            memcpy(copy, v.data, v.bytes);
            put_number(copy + at, values[i], field == 0 ? 4 : 8);
            if (memcmp(copy, v.data, v.bytes) == 0) continue;
            reseal(copy);
            if (field == 0 && (uint32_t)values[i] == 3) continue;
            expect_refused(&v, copy, v.bytes);
        }
    free_victim(&v);
}

static void expect_field(const victim *v, uint8_t *copy, const char *field) {
    reseal(copy);
    expect_refused(v, copy, v->bytes);
    if (!strstr(hu_last_error(), field)) fail_msg("%s lacks %s", hu_last_error(), field);
    memcpy(copy, v->data, v->bytes);
}

static void tables_that_cannot_be_are_refused_by_field(void **state) {
    (void)state;
    victim v;
    uint8_t copy[384 + BODY_BYTES], *entry[3];
    make_victim(&v);
    memcpy(copy, v.data, v.bytes);
    for (size_t i = 0; i < 3; i++) entry[i] = copy + 32 + 88 * i;
    put_number(entry[0] + 64, get_number(entry[2] + 64), 8); /* swapped */
    put_number(entry[2] + 64, 320, 8);
    expect_field(&v, copy, "section offset");
    put_number(entry[2] + 64, 320, 8); /* overlapping */
    expect_field(&v, copy, "section offset");
    put_number(entry[2] + 64, 448, 8); /* a gap */
    expect_field(&v, copy, "section offset");
    memcpy(entry[1], entry[0], 64);
    expect_field(&v, copy, "section name");
    memset(entry[1], 0, 64);
    expect_field(&v, copy, "section name");
    memset(entry[1], 'x', 64);
    expect_field(&v, copy, "section name");
    entry[1][0] = ' ';
    expect_field(&v, copy, "section name");
    entry[1][63] = 'x';
    expect_field(&v, copy, "section name");
    put_number(entry[2] + 80, 1, 8);
    expect_field(&v, copy, "section checksum");
    put_number(entry[2] + 72, BODY_BYTES - 1, 8);
    put_number(entry[2] + 80, XXH64(copy + 384, BODY_BYTES - 1, 0), 8);
    expect_field(&v, copy, "end of file");
    put_number(entry[2] + 72, BODY_BYTES + 1, 8);
    expect_field(&v, copy, "section bytes");
    put_number(entry[2] + 72, UINT64_MAX - 383, 8); /* offset + bytes is 0 */
    expect_field(&v, copy, "section bytes");
    copy[305] = 1;
    expect_field(&v, copy, "padding");
    put_number(copy + 24, 1ull << 63, 8);
    expect_field(&v, copy, "step");
    write_file(v.path, v.data, v.bytes); /* undamaged it still loads */
    hu_checkpoint *checkpoint;
    assert_int_equal(hu_checkpoint_open(v.path, &checkpoint), HU_OK);
    hu_checkpoint_free(checkpoint);
    free_victim(&v);
}

static void a_version_of_tomorrow_is_called_so(void **state) {
    (void)state;
    victim v;
    make_victim(&v);
    put_number(v.data + 8, 2, 4);
    reseal(v.data);
    assert_int_equal(expect_refused(&v, v.data, v.bytes), HU_ERR_VERSION);
    assert_non_null(strstr(hu_last_error(), "version: found 2, expected 1"));
    free_victim(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(trailing_bytes_are_refused),
        cmocka_unit_test(every_wrong_length_is_refused_even_with_the_right_checksum),
        cmocka_unit_test(tables_that_cannot_be_are_refused_by_field),
        cmocka_unit_test(a_version_of_tomorrow_is_called_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
