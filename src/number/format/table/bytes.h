/* format/table/bytes.h - the steps of a table of up to 8 bits as tables of bytes, for kernels that
 * look up 64 bytes at a time.
 *
 * The exponent field of x gives a place and this a mask: p ^ (fraction & mask[p]) is the place of a
 * bucket, p = place[field] and fraction the first 7 bits behind the field. A bucket has its first
 * slot and up to two thresholds within it, each of which adds one slot. Exponents have 2^k buckets,
 * as many as keep the thresholds apart. */
#ifndef HU_FORMAT_TABLE_BYTES_H
#define HU_FORMAT_TABLE_BYTES_H
#include <stdbool.h>
#include <stdint.h>

#include "format/table/slots.h"

enum {
    HU_BYTE_WORDS = 256,
    HU_BYTE_NARROW = 128,
    HU_BYTE_FIELD = 256,      /* where field 0 stands: a scale moves the beginning */
    HU_BYTE_FIELDS = 3 * 256, /* below it: of numbers below all others; from 255 on: above */
    HU_BYTE_THRESHOLDS = 2,   /* of a bucket */
    HU_BYTE_DEPTH = 2         /* bytes of a threshold's fraction */
};

/* Of two lists: + and -. Slots are counted from the first of the list. Of field 0 only zero is
 * told, of field 255 nothing. */
struct hu_code_bytes {
    bool is_even;   /* the lists are alike, and there is only the first */
    bool is_narrow; /* places are below 128, and slots before overflow */
    /* Some thresholds lie elsewhere than at 7 bits of fraction or just above. Then `above` holds
     * two times the first 7 bits, and a byte more; the bytes of x that are equal do not tell. Else
     * its first byte is the last that is not beyond, of 7 bits and whether any follows. 255: there
     * is no threshold. */
    bool is_deep;
    bool has_subnormal; /* some numbers count as such */
    bool has_small;     /* some are subnormal in float32 */
    uint8_t place[2][HU_BYTE_FIELDS], zero_place[2], mask[HU_BYTE_WORDS];
    uint8_t slot[HU_BYTE_WORDS];
    uint8_t above[HU_BYTE_THRESHOLDS][HU_BYTE_DEPTH][HU_BYTE_WORDS];
    uint8_t code[2][HU_BYTE_WORDS]; /* of slots */
    uint8_t last[2];                /* overflow */
    uint8_t normal[2];              /* first slots of numbers that are neither 0 nor subnormal */
};

/* Makes the bytes of steps; *bytes NULL: these are too much for them, or have no 0. are_members:
 * only the table's own numbers, infinities and NaNs will be asked for, and what tells them apart
 * serves. Owner frees with hu_free. HU_ERR_MEMORY. Proof: tests/exhaustive/kernel_table.c. */
hu_status hu_code_bytes_make(const hu_code_table *table, const hu_code_steps *steps,
                             bool are_members, hu_code_bytes **bytes);

#endif
