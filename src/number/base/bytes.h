/* base/bytes.h - bounded reading of bytes from a file image, and a growing byte string to write. */
#ifndef HU_BASE_BYTES_H
#define HU_BASE_BYTES_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* A place in bytes that somebody else owns. Every read moves offset after what was read; a read
 * that does not fit leaves the reader and the output alone and gives HU_ERR_CORRUPT with the
 * message "file: offset N: field: found X, expected Y". Not shared between threads. */
typedef struct hu_byte_reader {
    const char *file; /* name for messages. Borrowed: valid while the reader is used */
    const uint8_t *data;
    size_t size;
    size_t offset;
} hu_byte_reader;

static inline size_t hu_reader_left(const hu_byte_reader *reader) {
    return reader->size - reader->offset;
}

hu_status hu_read_u8(hu_byte_reader *reader, const char *field, uint8_t *value);

/* Little endian. */
hu_status hu_read_u16_le(hu_byte_reader *reader, const char *field, uint16_t *value);
hu_status hu_read_u32_le(hu_byte_reader *reader, const char *field, uint32_t *value);
hu_status hu_read_u64_le(hu_byte_reader *reader, const char *field, uint64_t *value);
hu_status hu_read_f32_le(hu_byte_reader *reader, const char *field, float *value);
hu_status hu_read_f64_le(hu_byte_reader *reader, const char *field, double *value);

/* Big endian, as in IDX files. */
hu_status hu_read_u32_be(hu_byte_reader *reader, const char *field, uint32_t *value);

/* The next bytes in place, NULL on failure. Borrowed: valid while reader->data is. */
hu_status hu_read_span(hu_byte_reader *reader, const char *field, size_t bytes,
                       const uint8_t **span);

/* values[count] from little-endian floats; bits are kept. */
hu_status hu_read_f32s_le(hu_byte_reader *reader, const char *field, size_t count, float *values);

/* HU_OK if nothing is left, otherwise HU_ERR_CORRUPT ("trailing bytes"). */
hu_status hu_read_end(const hu_byte_reader *reader);

/* HU_ERR_CORRUPT with "file: offset N: field: " and the text (printf form) that says what was found
 * and what was expected. */
hu_status hu_reader_fail(const hu_byte_reader *reader, size_t offset, const char *field,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A growing byte string; start with {0}. Numbers are written little endian. HU_ERR_MEMORY leaves
 * what was written before. */
typedef struct hu_byte_writer {
    uint8_t *data;
    size_t size;
    size_t capacity;
} hu_byte_writer;

hu_status hu_write_bytes(hu_byte_writer *writer, const void *data, size_t bytes);

/* Text in printf's form, of any length, without a final zero. */
hu_status hu_write_format(hu_byte_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
hu_status hu_write_args(hu_byte_writer *writer, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
hu_status hu_write_u8(hu_byte_writer *writer, uint8_t value);
hu_status hu_write_u16(hu_byte_writer *writer, uint16_t value);
hu_status hu_write_u32(hu_byte_writer *writer, uint32_t value);
hu_status hu_write_u64(hu_byte_writer *writer, uint64_t value);
hu_status hu_write_f32(hu_byte_writer *writer, float value);
hu_status hu_write_f64(hu_byte_writer *writer, double value);
hu_status hu_write_f32s(hu_byte_writer *writer, const float *values, size_t count);

/* Makes room for bytes more, so that the next writes of that many bytes cannot fail. */
hu_status hu_writer_reserve(hu_byte_writer *writer, size_t bytes);

/* Overwrites the 8 bytes at offset (offset + 8 <= size): a length or checksum known only later. */
void hu_writer_patch_u64(hu_byte_writer *writer, size_t offset, uint64_t value);

/* Frees the bytes and makes *writer {0}. */
void hu_writer_free(hu_byte_writer *writer);

#endif
