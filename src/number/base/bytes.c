#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

/* Bytes of a writer's first block. */
enum { SMALLEST_CAPACITY = 256 };

/* Every message names the byte at which the file stops making sense: a dump of it shows why. */
hu_status hu_reader_fail(const hu_byte_reader *reader, size_t offset, const char *field,
                         const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hu_fail(HU_ERR_CORRUPT, "%s: offset %zu: %s: %s", reader->file, offset, field, text);
}

hu_status hu_read_span(hu_byte_reader *reader, const char *field, size_t bytes,
                       const uint8_t **span) {
    /* The comparison is with what is left: offset + bytes could overflow for a length read from the
     * file. */
    *span = NULL;
    if (bytes > hu_reader_left(reader))
        return hu_reader_fail(reader, reader->offset, field,
                              "found %zu bytes to the end, expected %zu", hu_reader_left(reader),
                              bytes);
    *span = reader->data + reader->offset;
    reader->offset += bytes;
    return HU_OK;
}

hu_status hu_read_end(const hu_byte_reader *reader) {
    if (hu_reader_left(reader) == 0) return HU_OK;
    return hu_reader_fail(reader, reader->offset, "end of file",
                          "found %zu trailing bytes, expected none", hu_reader_left(reader));
}

/* The machine's own byte order does not matter. */
static uint64_t gather_le(const uint8_t *p, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | p[i];
    return value;
}

/* bytes: 1..8; value stays untouched on failure. */
static hu_status read_le(hu_byte_reader *reader, const char *field, size_t bytes, uint64_t *value) {
    const uint8_t *p = NULL;
    hu_status st = hu_read_span(reader, field, bytes, &p);
    if (st == HU_OK) *value = gather_le(p, bytes);
    return st;
}

hu_status hu_read_u8(hu_byte_reader *reader, const char *field, uint8_t *value) {
    uint64_t word;
    hu_status st = read_le(reader, field, 1, &word);
    if (st == HU_OK) *value = (uint8_t)word;
    return st;
}

hu_status hu_read_u16_le(hu_byte_reader *reader, const char *field, uint16_t *value) {
    uint64_t word;
    hu_status st = read_le(reader, field, 2, &word);
    if (st == HU_OK) *value = (uint16_t)word;
    return st;
}

hu_status hu_read_u32_le(hu_byte_reader *reader, const char *field, uint32_t *value) {
    uint64_t word;
    hu_status st = read_le(reader, field, 4, &word);
    if (st == HU_OK) *value = (uint32_t)word;
    return st;
}

hu_status hu_read_u64_le(hu_byte_reader *reader, const char *field, uint64_t *value) {
    return read_le(reader, field, 8, value);
}

hu_status hu_read_f32_le(hu_byte_reader *reader, const char *field, float *value) {
    uint64_t word;
    hu_status st = read_le(reader, field, 4, &word);
    if (st == HU_OK) *value = hu_f32_of_bits((uint32_t)word);
    return st;
}

hu_status hu_read_f64_le(hu_byte_reader *reader, const char *field, double *value) {
    uint64_t word;
    hu_status st = read_le(reader, field, 8, &word);
    if (st == HU_OK) *value = hu_f64_of_bits(word);
    return st;
}

hu_status hu_read_u32_be(hu_byte_reader *reader, const char *field, uint32_t *value) {
    /* Only IDX files are big endian, so one swap serves better than a second set of readers. */
    uint32_t word;
    hu_status st = hu_read_u32_le(reader, field, &word);
    if (st == HU_OK) *value = __builtin_bswap32(word);
    return st;
}

hu_status hu_read_f32s_le(hu_byte_reader *reader, const char *field, size_t count, float *values) {
    size_t bytes;
    const uint8_t *p = NULL;
    if (!hu_mul_size(count, 4, &bytes))
        return hu_reader_fail(reader, reader->offset, field, "found a count of %zu, expected less",
                              count);
    hu_status st = hu_read_span(reader, field, bytes, &p);
    for (size_t i = 0; st == HU_OK && i < count; i++)
        values[i] = hu_f32_of_bits((uint32_t)gather_le(p + 4 * i, 4));
    return st;
}

hu_status hu_writer_reserve(hu_byte_writer *writer, size_t bytes) {
    size_t needed, doubled;
    if (!hu_add_size(writer->size, bytes, &needed))
        return hu_fail(HU_ERR_MEMORY, "cannot allocate %zu bytes more", bytes);
    if (needed <= writer->capacity) return HU_OK;
    /* Doubling keeps the copies of a growing file linear. */
    if (!hu_mul_size(writer->capacity, 2, &doubled) || doubled < needed) doubled = needed;
    if (doubled < SMALLEST_CAPACITY) doubled = SMALLEST_CAPACITY;
    void *block = writer->data;
    hu_status st = hu_realloc(&block, doubled);
    if (st != HU_OK) return st;
    writer->data = block;
    writer->capacity = doubled;
    return HU_OK;
}

hu_status hu_write_bytes(hu_byte_writer *writer, const void *data, size_t bytes) {
    hu_status st = hu_writer_reserve(writer, bytes);
    if (st != HU_OK || bytes == 0) return st;
    memcpy(writer->data + writer->size, data, bytes);
    writer->size += bytes;
    return HU_OK;
}

/* The way back of gather_le. */
static void scatter_le(uint8_t *p, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) p[i] = (uint8_t)(value >> 8 * i);
}

/* bytes: 1..8, of which the lowest byte is written first. */
static hu_status write_le(hu_byte_writer *writer, uint64_t value, size_t bytes) {
    uint8_t word[8];
    scatter_le(word, value, bytes);
    return hu_write_bytes(writer, word, bytes);
}

/* printf ends what it writes by a zero, which is no part of the string: into the free room first,
 * which a second try makes large enough. */
hu_status hu_write_args(hu_byte_writer *writer, const char *format, va_list args) {
    enum { FIRST_BYTES = 256 };
    size_t wanted = FIRST_BYTES;
    for (int turn = 0; turn < 2; turn++) {
        hu_status st = hu_writer_reserve(writer, wanted);
        if (st != HU_OK) return st;
        va_list copy;
        va_copy(copy, args);
        size_t room = writer->capacity - writer->size;
        int bytes = vsnprintf((char *)writer->data + writer->size, room, format, copy);
        va_end(copy);
        if (bytes < 0) return hu_fail(HU_ERR_MEMORY, "no memory for a text");
        wanted = (size_t)bytes + 1;
        if (wanted > room) continue;
        writer->size += (size_t)bytes;
        return HU_OK;
    }
    return HU_OK;
}

hu_status hu_write_format(hu_byte_writer *writer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    hu_status st = hu_write_args(writer, format, args);
    va_end(args);
    return st;
}

hu_status hu_write_u8(hu_byte_writer *writer, uint8_t value) {
    return write_le(writer, value, 1);
}

hu_status hu_write_u16(hu_byte_writer *writer, uint16_t value) {
    return write_le(writer, value, 2);
}

hu_status hu_write_u32(hu_byte_writer *writer, uint32_t value) {
    return write_le(writer, value, 4);
}

hu_status hu_write_u64(hu_byte_writer *writer, uint64_t value) {
    return write_le(writer, value, 8);
}

hu_status hu_write_f32(hu_byte_writer *writer, float value) {
    return write_le(writer, hu_f32_bits(value), 4);
}

hu_status hu_write_f64(hu_byte_writer *writer, double value) {
    return write_le(writer, hu_f64_bits(value), 8);
}

hu_status hu_write_f32s(hu_byte_writer *writer, const float *values, size_t count) {
    size_t bytes;
    if (!hu_mul_size(count, 4, &bytes))
        return hu_fail(HU_ERR_MEMORY, "cannot allocate %zu floats", count);
    hu_status st = hu_writer_reserve(writer, bytes);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < count; i++)
        scatter_le(writer->data + writer->size + 4 * i, hu_f32_bits(values[i]), 4);
    writer->size += bytes;
    return HU_OK;
}

void hu_writer_patch_u64(hu_byte_writer *writer, size_t offset, uint64_t value) {
    scatter_le(writer->data + offset, value, 8);
}

void hu_writer_free(hu_byte_writer *writer) {
    hu_free(writer->data);
    *writer = (hu_byte_writer){0};
}
