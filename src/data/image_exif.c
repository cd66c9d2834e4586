#include "data/image_exif.h"

#include <stdbool.h>
#include <string.h>

enum { UPRIGHT = 1, MOST = 8 };

typedef struct block {
    const uint8_t *data;
    size_t bytes;
    bool is_big_endian;
} block;

/* Of two or four bytes, which are there. */
static uint32_t number_at(const block *b, size_t at, size_t bytes) {
    uint32_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | b->data[at + (b->is_big_endian ? i : bytes - 1 - i)];
    return number;
}

/* The orientation of a directory of 12-byte entries: tag, type, count, value. */
static int find_orientation(const block *b, size_t at) {
    enum { COUNT_BYTES = 2, ENTRY_BYTES = 12, TAG = 0x0112, TYPE_SHORT = 3 };
    if (b->bytes < COUNT_BYTES || at > b->bytes - COUNT_BYTES) return UPRIGHT;
    size_t entries = number_at(b, at, COUNT_BYTES);
    for (at += COUNT_BYTES; entries > 0 && b->bytes - at >= ENTRY_BYTES; entries--) {
        if (number_at(b, at, 2) == TAG && number_at(b, at + 2, 2) == TYPE_SHORT &&
            number_at(b, at + 4, 4) == 1) {
            uint32_t value = number_at(b, at + 8, 2);
            return value >= UPRIGHT && value <= MOST ? (int)value : UPRIGHT;
        }
        at += ENTRY_BYTES;
    }
    return UPRIGHT;
}

int hu_exif_orientation(const uint8_t *data, size_t bytes) {
    static const uint8_t mark[] = {'E', 'x', 'i', 'f', 0, 0};
    enum { HEAD_BYTES = 8, MAGIC = 42 };
    block b = {.data = data, .bytes = bytes};
    if (bytes >= sizeof mark && memcmp(data, mark, sizeof mark) == 0) {
        b.data += sizeof mark;
        b.bytes -= sizeof mark;
    }
    if (b.bytes < HEAD_BYTES) return UPRIGHT;
    b.is_big_endian = memcmp(b.data, "MM", 2) == 0;
    if (!b.is_big_endian && memcmp(b.data, "II", 2) != 0) return UPRIGHT;
    return number_at(&b, 2, 2) == MAGIC ? find_orientation(&b, number_at(&b, 4, 4)) : UPRIGHT;
}
