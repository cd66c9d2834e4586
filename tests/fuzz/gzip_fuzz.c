/* Whole files, plain and gzip. The first byte says how the others become a file, the second how
 * large the contents may be. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"

enum { MADE_MAX = 1 << 23, MODES = 4 };

static uint8_t made[MADE_MAX], plain[MADE_MAX];
static const uint8_t gzip_head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

/* A file, and what it must hold when it is read; contents NULL: whatever it holds. */
typedef struct expectation {
    const char *name;
    size_t file_bytes;
    const uint8_t *contents;
    size_t size;
} expectation;

/* What else is asked of a name. */
static void check_name(const expectation *file, const char *path) {
    char *joined, missing[600];
    bool exists = false;
    uint64_t bytes = 0;
    FUZZ_CHECK(hu_file_exists(path) && strcmp(hu_path_name(path), file->name) == 0);
    FUZZ_CHECK(hu_file_find(path, &exists) == HU_OK && exists);
    FUZZ_CHECK(hu_file_size(path, &bytes) == HU_OK && bytes == file->file_bytes);
    snprintf(missing, sizeof missing, "%s/none", path);
    FUZZ_CHECK(hu_file_find(missing, &exists) == HU_OK && !exists);
    FUZZ_CHECK(hu_file_size(missing, &bytes) != HU_OK && bytes == 0);
    (void)FUZZ_DONE(hu_directory_create(fuzz_folder()));
    FUZZ_CHECK(hu_directory_create(path) != HU_OK);
    if (!FUZZ_DONE(hu_path_join(fuzz_folder(), file->name, &joined))) return;
    FUZZ_CHECK(strcmp(joined, path) == 0);
    hu_free(joined);
}

/* The bytes as they are, into a block and into a room. */
static void check_plain(const expectation *file, const char *path, size_t limit) {
    uint8_t *data;
    size_t bytes, again;
    hu_scratch room = {0};
    hu_status st = hu_file_read_plain(path, limit, &data, &bytes);
    hu_status st_room = hu_file_read_room(path, limit, &room, &again);
    FUZZ_CHECK(st == st_room || fuzz_was_fault(st) || fuzz_was_fault(st_room));
    FUZZ_CHECK((st == HU_OK) == (file->file_bytes <= limit) || fuzz_was_fault(st));
    if (st == HU_OK) FUZZ_CHECK(bytes == file->file_bytes);
    if (st == HU_OK && st_room == HU_OK)
        FUZZ_CHECK(again == bytes && memcmp(data, room.block, bytes) == 0);
    if (st == HU_OK) hu_free(data);
    hu_scratch_free(&room);
}

static void check_file(const expectation *file, size_t limit) {
    char path[512];
    uint8_t *data = made;
    size_t bytes = 1;
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), file->name);
    hu_status st = hu_file_read(path, limit, &data, &bytes);
    if (file->file_bytes % 8 == 0) check_name(file, path); /* of some: they take longer */
    if (file->file_bytes % 4 == 1) check_plain(file, path, limit);
    if (st != HU_OK) {
        FUZZ_CHECK(!data && !bytes && hu_last_error()[0] != '\0');
        FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_LIMIT || fuzz_was_fault(st));
        bool fits = file->contents && file->size <= limit && file->file_bytes <= limit;
        if (fits) FUZZ_CHECK(fuzz_was_fault(st));
        return;
    }
    FUZZ_CHECK(data && bytes <= limit);
    if (file->contents) FUZZ_CHECK(bytes == file->size && memcmp(data, file->contents, bytes) == 0);
    hu_free(data);
}

static size_t gzip_of(const uint8_t *body, size_t size) {
    z_stream stream = {0};
    FUZZ_CHECK(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)body;
    stream.avail_in = (uInt)size;
    stream.next_out = made;
    stream.avail_out = sizeof made;
    FUZZ_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    size_t packed = stream.total_out;
    deflateEnd(&stream);
    return packed;
}

static void store_u32(uint8_t *at, size_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* A deflate stream between a header and the checksum and length that are right for it. Gives the
 * inflated size; whole says whether the stream has an end. */
static size_t wrap_deflate(const uint8_t *body, size_t size, size_t *packed, bool *whole) {
    z_stream stream = {0};
    FUZZ_CHECK(inflateInit2(&stream, -15) == Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)body;
    stream.avail_in = (uInt)size;
    stream.next_out = plain;
    stream.avail_out = sizeof plain;
    *whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
    size_t inflated = stream.total_out, used = *whole ? stream.total_in : size;
    inflateEnd(&stream);
    memcpy(made, gzip_head, sizeof gzip_head);
    if (used) memcpy(made + sizeof gzip_head, body, used);
    uint8_t *tail = made + sizeof gzip_head + used;
    store_u32(tail, crc32(0, plain, (uInt)inflated));
    store_u32(tail + 4, inflated);
    *packed = sizeof gzip_head + used + 8;
    return inflated;
}

void fuzz_one(const uint8_t *data, size_t size) {
    fuzz_cursor cursor = {data, size, 0};
    int mode = fuzz_u8(&cursor) % MODES;
    size_t limit = (size_t)1 << fuzz_u8(&cursor) % 24, left = SIZE_MAX, packed = 0;
    const uint8_t *body = fuzz_take(&cursor, &left);
    bool is_gzip = left >= 2 && body[0] == 0x1f && body[1] == 0x8b, whole = true;
    if (left > MADE_MAX / 4) return;
    expectation file = {mode % 3 ? "a" : "a.gz", left, NULL, left};
    const void *bytes = made;
    if (mode < 2) {
        bytes = body;
        file.contents = mode == 1 && !is_gzip ? body : NULL;
    } else if (mode == 2) { /* two members */
        packed = gzip_of(body, left);
        memcpy(made + packed, made, packed);
        if (left) memcpy(plain, body, left);
        if (left) memcpy(plain + left, body, left);
        file = (expectation){"a", 2 * packed, plain, 2 * left};
    } else {
        file.size = wrap_deflate(body, left, &file.file_bytes, &whole);
        file.contents = whole ? plain : NULL;
    }
    fuzz_put(file.name, bytes, file.file_bytes);
    check_file(&file, limit);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char text[] = "some text, some text, some text and other text\n";
    if (index >= 6) return false;
    uint8_t head[2] = {(uint8_t)(index % MODES), index < MODES ? 20 : 5};
    size_t packed = gzip_of((const uint8_t *)text, sizeof text), skip = 0;
    const uint8_t *body = made;
    if (head[0] == 2) body = (const uint8_t *)text;
    if (head[0] == 2) packed = sizeof text;
    if (head[0] == 3) skip = sizeof gzip_head;
    FUZZ_CHECK(hu_write_bytes(seed, head, sizeof head) == HU_OK);
    FUZZ_CHECK(hu_write_bytes(seed, body + skip, packed - skip) == HU_OK);
    return true;
}
