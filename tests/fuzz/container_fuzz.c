/* Checkpoint containers: the bytes as they are, and again with size and checksums put right, so
 * that changed tables and sections are read too. What is accepted writes back to the same bytes. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "store/container.h"

enum { SIZE_AT = 16, TABLE_AT = 32, COUNT_AT = 12, ENTRY_BYTES = HU_CONTAINER_NAME_BYTES + 24 };

static uint64_t load_u64(const uint8_t *at) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static void store_u64(uint8_t *at, uint64_t value) {
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* Puts right what an accidental change cannot: file size, checksums of sections that lie in the
 * file, header checksum. */
static void repair(uint8_t *data, size_t size) {
    if (size < TABLE_AT + 8) return;
    size_t count = (size_t)(load_u64(data + COUNT_AT) & 0xffffffffu);
    if (count > (size - TABLE_AT - 8) / ENTRY_BYTES) return;
    store_u64(data + SIZE_AT, size);
    for (size_t i = 0; i < count; i++) {
        uint8_t *entry = data + TABLE_AT + i * ENTRY_BYTES + HU_CONTAINER_NAME_BYTES;
        uint64_t offset = load_u64(entry), bytes = load_u64(entry + 8);
        if (offset <= size && bytes <= size - offset)
            store_u64(entry + 16, XXH64(data + offset, (size_t)bytes, 0));
    }
    size_t covered = TABLE_AT + count * ENTRY_BYTES;
    store_u64(data + covered, XXH64(data, covered, 0));
}

static void check_sections(const hu_container *container, const uint8_t *data, size_t size) {
    FUZZ_CHECK(container->step >= 0);
    FUZZ_CHECK(container->count >= 1 && container->count <= HU_CONTAINER_MAX_SECTIONS);
    for (size_t i = 0; i < container->count; i++) {
        size_t offset = (size_t)((const uint8_t *)container->sections[i].data - data);
        FUZZ_CHECK(offset % HU_CONTAINER_ALIGNMENT == 0);
        FUZZ_CHECK(offset <= size && container->sections[i].bytes <= size - offset);
        FUZZ_CHECK(strlen(container->sections[i].name) < HU_CONTAINER_NAME_BYTES);
    }
}

/* The whole file of these sections. */
static hu_status write_file(int64_t step, const hu_section *sections, size_t count,
                            hu_byte_writer *file) {
    static const uint8_t zeros[HU_CONTAINER_ALIGNMENT];
    hu_status st = hu_container_write_header(step, sections, count, file);
    for (size_t i = 0; i < count && st == HU_OK; i++) {
        st = hu_write_bytes(file, zeros, hu_container_padding(file->size));
        if (st == HU_OK) st = hu_write_bytes(file, sections[i].data, sections[i].bytes);
    }
    return st;
}

/* What parse refuses is not written either; rows are written like the bytes that they make. */
static void check_refusals(const hu_container *container) {
    hu_section twice[2] = {container->sections[0], container->sections[0]};
    hu_byte_writer header = {0}, other = {0};
    FUZZ_CHECK(hu_container_write_header(-1, twice, 1, &header) == HU_ERR_ARGUMENT);
    FUZZ_CHECK(hu_container_write_header(0, twice, 0, &header) == HU_ERR_ARGUMENT);
    FUZZ_CHECK(hu_container_write_header(0, twice, 2, &header) == HU_ERR_ARGUMENT);
    twice[1].name = "a b";
    FUZZ_CHECK(hu_container_write_header(0, twice + 1, 1, &header) == HU_ERR_ARGUMENT);
    twice[1].name = "c";
    twice[1].bytes = SIZE_MAX - 8;
    twice[1].row_count = 1;
    twice[1].row = &twice[0].data;
    twice[1].row_bytes = twice[0].bytes;
    hu_status st = hu_container_write_header(0, twice + 1, 1, &header);
    FUZZ_CHECK(st == HU_ERR_LIMIT || fuzz_was_fault(st));
    twice[1].bytes = twice[0].bytes;
    twice[0].name = "c";
    hu_writer_free(&header);
    if (FUZZ_DONE(hu_container_write_header(0, twice, 1, &header)) &&
        FUZZ_DONE(hu_container_write_header(0, twice + 1, 1, &other)))
        FUZZ_CHECK(header.size == other.size && memcmp(header.data, other.data, header.size) == 0);
    hu_writer_free(&header);
    hu_writer_free(&other);
}

static void check_bytes(const uint8_t *data, size_t size) {
    hu_container container;
    memset(&container, 0xff, sizeof container);
    hu_status st = hu_container_parse("file", data, size, &container);
    size_t head_bytes = size < HU_CONTAINER_HEAD_BYTES ? size : HU_CONTAINER_HEAD_BYTES;
    hu_status head = hu_container_check_prologue("file", data, head_bytes, size);
    FUZZ_CHECK(head == HU_OK || st == head || fuzz_was_fault(st));
    if (st != HU_OK) {
        FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_VERSION || fuzz_was_fault(st));
        FUZZ_CHECK(!container.sections && !container.count && !container.step);
        FUZZ_CHECK(hu_last_error()[0] != '\0');
        return;
    }
    check_sections(&container, data, size);
    check_refusals(&container);
    hu_byte_writer file = {0};
    if (FUZZ_DONE(write_file(container.step, container.sections, container.count, &file)))
        FUZZ_CHECK(file.size == size && memcmp(file.data, data, size) == 0);
    hu_writer_free(&file);
    hu_container_free(&container);
}

void fuzz_one(const uint8_t *data, size_t size) {
    check_bytes(data, size);
    uint8_t *copy = malloc(size ? size : 1);
    FUZZ_CHECK(copy != NULL);
    if (size) memcpy(copy, data, size);
    repair(copy, size);
    check_bytes(copy, size);
    free(copy);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const hu_section sections[] = {
        {.name = "position", .data = "0123456789abcdef", .bytes = 16},
        {.name = "empty", .data = ""},
        {.name = "optimizer.momentum", .data = "some floats", .bytes = 11}};
    if (index >= 3) return false;
    FUZZ_CHECK(write_file(index == 2 ? INT64_MAX : 12, sections, index + 1, seed) == HU_OK);
    return true;
}
