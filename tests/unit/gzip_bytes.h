/* tests/unit/gzip_bytes.h - gzip for tests of what reads it. After cmocka.h. */
#ifndef HU_TESTS_GZIP_BYTES_H
#define HU_TESTS_GZIP_BYTES_H
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* Returns the packed size. */
static inline size_t gzip(const void *data, size_t bytes, uint8_t *out, size_t capacity) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)data;
    stream.avail_in = (uInt)bytes;
    stream.next_out = out;
    stream.avail_out = (uInt)capacity;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t size = stream.total_out;
    deflateEnd(&stream);
    return size;
}

#endif
