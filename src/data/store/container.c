/* store/container.c - the layout of a checkpoint file: prologue, table, checksum, sections. The
 * order of checks when reading is the order of trust: no field is used before the size that it
 * implies is known to lie within the file, no entry before the header's checksum holds. */
#include "store/container.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

static const char magic[8] = {'H', 'U', 'L', 'P', 'C', 'K', 'P', 'T'};

enum {
    PROLOGUE_BYTES = HU_CONTAINER_HEAD_BYTES, /* magic, version, count, file bytes, step */
    /* Name, then offset, bytes and checksum of the data, 8 bytes each. */
    ENTRY_BYTES = HU_CONTAINER_NAME_BYTES + 24,
    CHECKSUM_BYTES = 8
};

size_t hu_container_padding(size_t offset) {
    return (HU_CONTAINER_ALIGNMENT - offset % HU_CONTAINER_ALIGNMENT) % HU_CONTAINER_ALIGNMENT;
}

/* Length of a proper name, 0 for any other. */
static size_t name_length(const char *name) {
    size_t length = 0;
    for (; length < HU_CONTAINER_NAME_BYTES && name[length]; length++)
        if (name[length] <= ' ' || name[length] > '~') return 0;
    return length < HU_CONTAINER_NAME_BYTES ? length : 0;
}

/* Index of the first section of that name before end; end if there is none. */
static size_t find(const hu_section *sections, size_t end, const char *name) {
    size_t i = 0;
    while (i < end && strcmp(sections[i].name, name) != 0) i++;
    return i;
}

/* What the writer refuses is what the reader refuses: a file that was written can be read. */
static hu_status check_sections(int64_t step, const hu_section *sections, size_t count) {
    if (step < 0)
        return hu_fail(HU_ERR_ARGUMENT, "checkpoint step: found %lld, expected >= 0",
                       (long long)step);
    if (count < 1 || count > HU_CONTAINER_MAX_SECTIONS)
        return hu_fail(HU_ERR_ARGUMENT, "checkpoint: found %zu sections, expected 1..%d", count,
                       HU_CONTAINER_MAX_SECTIONS);
    for (size_t i = 0; i < count; i++) {
        const char *name = sections[i].name;
        if (name_length(name) == 0)
            return hu_fail(HU_ERR_ARGUMENT,
                           "checkpoint section %zu: found the name '%.80s', expected 1..63 "
                           "printable ASCII characters without a space",
                           i, name);
        if (find(sections, i, name) < i)
            return hu_fail(HU_ERR_ARGUMENT,
                           "checkpoint section %zu: found the name '%s' again, expected a new one",
                           i, name);
    }
    return HU_OK;
}

/* The same number for bytes in one piece and in rows. */
static uint64_t hash_of(const hu_section *section) {
    XXH64_state_t state;
    if (!section->row) return XXH64(section->data, section->bytes, 0);
    XXH64_reset(&state, 0);
    for (size_t i = 0; i < section->row_count; i++)
        XXH64_update(&state, section->row[i], section->row_bytes);
    return XXH64_digest(&state);
}

/* One entry of the table. *end moves after the section's data. */
static hu_status write_entry(const hu_section *section, size_t *end, hu_byte_writer *header) {
    hu_status st = HU_OK;
    char name[HU_CONTAINER_NAME_BYTES] = {0};
    size_t offset;
    if (!hu_add_size(*end, hu_container_padding(*end), &offset) ||
        !hu_add_size(offset, section->bytes, end))
        return hu_fail(HU_ERR_LIMIT, "checkpoint section '%s': found %zu bytes, expected less",
                       section->name, section->bytes);
    memcpy(name, section->name, strlen(section->name));
    HU_TRY(hu_write_bytes(header, name, sizeof name));
    HU_TRY(hu_write_u64(header, offset));
    HU_TRY(hu_write_u64(header, section->bytes));
    HU_TRY(hu_write_u64(header, hash_of(section)));
done:
    return st;
}

hu_status hu_container_write_header(int64_t step, const hu_section *sections, size_t count,
                                    hu_byte_writer *header) {
    hu_status st = HU_OK;
    size_t start = header->size;
    HU_TRY(check_sections(step, sections, count));
    HU_TRY(hu_write_bytes(header, magic, sizeof magic));
    HU_TRY(hu_write_u32(header, HU_CONTAINER_VERSION));
    HU_TRY(hu_write_u32(header, (uint32_t)count));
    /* The file's size is known when all entries are: the field is filled in after them. */
    size_t size_offset = header->size;
    HU_TRY(hu_write_u64(header, 0));
    HU_TRY(hu_write_u64(header, (uint64_t)step));
    size_t end = PROLOGUE_BYTES + count * ENTRY_BYTES + CHECKSUM_BYTES;
    for (size_t i = 0; i < count; i++) HU_TRY(write_entry(&sections[i], &end, header));
    hu_writer_patch_u64(header, size_offset, end);
    HU_TRY(hu_write_u64(header, XXH64(header->data + start, header->size - start, 0)));
done:
    return st;
}

/* Both checksums are XXH64 with seed 0. */
static hu_status check_checksum(const hu_byte_reader *reader, size_t offset, const char *field,
                                uint64_t found, uint64_t expected) {
    if (found == expected) return HU_OK;
    return hu_reader_fail(reader, offset, field, "found %016llx, expected %016llx",
                          (unsigned long long)found, (unsigned long long)expected);
}

/* Everything before the table; count is then known to fit the file. */
static hu_status read_prologue(hu_byte_reader *reader, int64_t *step, size_t *count) {
    hu_status st = HU_OK;
    const uint8_t *found;
    uint32_t version, sections;
    uint64_t size, number;
    HU_TRY(hu_read_span(reader, "magic", sizeof magic, &found));
    if (memcmp(found, magic, sizeof magic) != 0)
        HU_TRY(hu_reader_fail(reader, 0, "magic", "found other bytes, expected 'HULPCKPT'"));
    HU_TRY(hu_read_u32_le(reader, "version", &version));
    if (version != HU_CONTAINER_VERSION)
        return hu_fail(HU_ERR_VERSION, "%s: offset 8: version: found %lu, expected %d",
                       reader->file, (unsigned long)version, HU_CONTAINER_VERSION);
    HU_TRY(hu_read_u32_le(reader, "section count", &sections));
    if (sections < 1 || sections > HU_CONTAINER_MAX_SECTIONS)
        HU_TRY(hu_reader_fail(reader, 12, "section count", "found %lu, expected 1..%d",
                              (unsigned long)sections, HU_CONTAINER_MAX_SECTIONS));
    HU_TRY(hu_read_u64_le(reader, "file size", &size));
    if (size != reader->size)
        HU_TRY(hu_reader_fail(reader, 16, "file size",
                              "found %zu, expected %llu, as the header says", reader->size,
                              (unsigned long long)size));
    HU_TRY(hu_read_u64_le(reader, "step", &number));
    if (number > INT64_MAX)
        HU_TRY(hu_reader_fail(reader, 24, "step", "found %llu, expected a number below 2^63",
                              (unsigned long long)number));
    *step = (int64_t)number;
    *count = sections;
done:
    return st;
}

/* The header checksum, before any entry of the table is believed. */
static hu_status check_header_checksum(const hu_byte_reader *reader, size_t count) {
    hu_byte_reader end = *reader;
    size_t table = count * ENTRY_BYTES; /* count <= HU_CONTAINER_MAX_SECTIONS */
    const uint8_t *skipped;
    uint64_t found;
    hu_status st = HU_OK;
    HU_TRY(hu_read_span(&end, "section table", table, &skipped));
    size_t covered = end.offset;
    HU_TRY(hu_read_u64_le(&end, "header checksum", &found));
    HU_TRY(check_checksum(&end, covered, "header checksum", found, XXH64(end.data, covered, 0)));
done:
    return st;
}

/* The name of an entry, padded with zeros to its full field: one file has one spelling. */
static hu_status read_name(hu_byte_reader *reader, const hu_container *container, size_t index,
                           const char **name) {
    const uint8_t *bytes;
    hu_status st = hu_read_span(reader, "section name", HU_CONTAINER_NAME_BYTES, &bytes);
    if (st != HU_OK) return st;
    size_t offset = reader->offset - HU_CONTAINER_NAME_BYTES;
    *name = (const char *)bytes;
    size_t length = name_length(*name);
    if (length == 0)
        return hu_reader_fail(
            reader, offset, "section name",
            "found a name in section %zu that is empty, too long or not printable, "
            "expected 1..63 printable ASCII characters",
            index);
    for (size_t i = length; i < HU_CONTAINER_NAME_BYTES; i++)
        if (bytes[i])
            return hu_reader_fail(reader, offset + i, "section name",
                                  "found a byte after the end of '%s', expected zeros", *name);
    if (find(container->sections, index, *name) < index)
        return hu_reader_fail(reader, offset, "section name",
                              "found '%s' a second time, expected every name once", *name);
    return HU_OK;
}

/* Zero bytes from *end to offset, which must be the next multiple of the alignment. */
static hu_status check_place(const hu_byte_reader *reader, const char *name, uint64_t offset,
                             uint64_t bytes, size_t *end) {
    size_t field = reader->offset - 24, expected = *end + hu_container_padding(*end);
    if (offset != expected)
        return hu_reader_fail(reader, field, "section offset",
                              "section '%s': found %llu, expected %zu", name,
                              (unsigned long long)offset, expected);
    if (expected > reader->size || bytes > reader->size - expected)
        return hu_reader_fail(
            reader, field + 8, "section bytes", "section '%s': found %llu, expected at most %zu",
            name, (unsigned long long)bytes, expected > reader->size ? 0 : reader->size - expected);
    for (size_t i = *end; i < expected; i++)
        if (reader->data[i])
            return hu_reader_fail(reader, i, "padding",
                                  "before section '%s': found %02x, expected 00", name,
                                  reader->data[i]);
    *end = expected + (size_t)bytes;
    return HU_OK;
}

/* One entry of the table and the section it describes; *end moves after the section. */
static hu_status read_entry(hu_byte_reader *reader, hu_container *container, size_t index,
                            size_t *end) {
    hu_status st = HU_OK;
    hu_section *section = &container->sections[index];
    uint64_t offset, bytes, checksum;
    HU_TRY(read_name(reader, container, index, &section->name));
    HU_TRY(hu_read_u64_le(reader, "section offset", &offset));
    HU_TRY(hu_read_u64_le(reader, "section bytes", &bytes));
    HU_TRY(hu_read_u64_le(reader, "section checksum", &checksum));
    HU_TRY(check_place(reader, section->name, offset, bytes, end));
    section->data = reader->data + offset;
    section->bytes = (size_t)bytes;
    if (XXH64(section->data, section->bytes, 0) != checksum)
        HU_TRY(hu_reader_fail(reader, (size_t)offset, "section checksum",
                              "section '%s': found %016llx, expected %016llx", section->name,
                              (unsigned long long)XXH64(section->data, section->bytes, 0),
                              (unsigned long long)checksum));
done:
    return st;
}

hu_status hu_container_parse(const char *file, const uint8_t *data, size_t bytes,
                             hu_container *container) {
    hu_status st = HU_OK;
    hu_byte_reader reader = {.file = file, .data = data, .size = bytes};
    size_t count = 0;
    *container = (hu_container){0};
    HU_TRY(read_prologue(&reader, &container->step, &count));
    HU_TRY(check_header_checksum(&reader, count));
    HU_TRY(HU_NEW_ARRAY(&container->sections, count));
    container->count = count;
    /* Sections begin after the table and its checksum. The entries say where, and must say the
     * only place that is possible. */
    size_t end = reader.offset + count * ENTRY_BYTES + CHECKSUM_BYTES;
    for (size_t i = 0; i < count; i++) HU_TRY(read_entry(&reader, container, i, &end));
    reader.offset = end;
    HU_TRY(hu_read_end(&reader));
done:
    if (st != HU_OK) hu_container_free(container);
    return st;
}

hu_status hu_container_check_prologue(const char *file, const uint8_t *head, size_t bytes,
                                      uint64_t file_bytes) {
    int64_t step;
    size_t count;
    /* The prologue is compared with the whole size, of which it needs no more than the head. */
    bool is_whole = bytes == HU_CONTAINER_HEAD_BYTES && file_bytes <= SIZE_MAX;
    hu_byte_reader reader = {file, head, is_whole ? (size_t)file_bytes : bytes, 0};
    return read_prologue(&reader, &step, &count);
}

void hu_container_free(hu_container *container) {
    hu_free(container->sections);
    *container = (hu_container){0};
}
