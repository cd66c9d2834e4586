/* kernel/resample/resample.h - bytes as weighted sums of neighbouring bytes, in integers: one body
 * per ISA, the same bits. */
#ifndef HU_KERNEL_RESAMPLE_RESAMPLE_H
#define HU_KERNEL_RESAMPLE_RESAMPLE_H
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

/* Places are made in groups; bytes that a row may write after its last place; words of a place and
 * half in hu_resample_axis.halves. */
enum {
    HU_RESAMPLE_BITS = 22,
    HU_RESAMPLE_CHANNELS = 3,
    HU_RESAMPLE_GROUP = 4,
    HU_RESAMPLE_BEHIND = 16,
    HU_RESAMPLE_WORDS = 8
};

/* 16 numbers of a row of places, of at most four neighbours each that lie within 64 bytes: number j
 * is the sum over k < 4 of the bytes index[4 j + k], from `start` on, times their weights, which
 * are digit[0] + 2^8 digit[1] + 2^16 digit[2]. */
enum { HU_RESAMPLE_DIGITS = 3, HU_RESAMPLE_SPAN = 64, HU_RESAMPLE_NUMBERS = 16 };
typedef struct hu_resample_span {
    uint8_t index[HU_RESAMPLE_SPAN];
    int8_t digit[HU_RESAMPLE_DIGITS][HU_RESAMPLE_SPAN];
    int64_t start;
    uint64_t needed; /* bit b: byte b of the 64 */
} hu_resample_span;

/* Weights of one axis, not negative and together about 2^22: place i is the sum over k < count[i]
 * of weight[i * most + k] times what stands at first[i] + k, divided by 2^22, rounded half up, at
 * most 255. The rest is filled by hu_resample_pair, for rows alone. */
typedef struct hu_resample_axis {
    int64_t places, most;
    int64_t *first, *count; /* [places rounded up to groups]; after places zeros */
    int32_t *weight;        /* [places, most] */
    int64_t pairs;          /* of neighbours that the place with the most of them has */
    int64_t reads;          /* bytes of a row, from its first on, that may be read */
    int16_t *halves;        /* [pairs, 2, places rounded up, 8] the upper bits of the weights, then
                               the lower 11: the two of a pair in turns */
    hu_resample_span *span; /* [spans], after the halves */
    int64_t spans;          /* 0: some place has more neighbours, or lies further from the next */
} hu_resample_axis;

/* Words of halves, and of the spans after them, that an axis of so many places and weights may
 * need. */
size_t hu_resample_words(int64_t places, int64_t most);

/* Fills pairs, reads, halves [hu_resample_words] and spans. */
void hu_resample_pair(hu_resample_axis *axis);

/* Rows of pixels of three bytes -> [count, places, 3]; strides are bytes between rows. Reads
 * axis->reads bytes of each row. The HU_RESAMPLE_BEHIND bytes after the last place of a row
 * become anything: to_stride leaves room for them. */
typedef void hu_resample_rows_fn(const hu_resample_axis *axis, const uint8_t *from,
                                 int64_t from_stride, int64_t count, uint8_t *to,
                                 int64_t to_stride);

/* Place i of all columns: rows [count[i], bytes], stride bytes apart -> to [bytes]. */
typedef void hu_resample_column_fn(const hu_resample_axis *axis, int64_t i, const uint8_t *from,
                                   int64_t stride, int64_t bytes, uint8_t *to);

typedef struct hu_resample {
    hu_resample_rows_fn *rows;
    hu_resample_column_fn *column;
} hu_resample;

extern const hu_resample HU_OF_ISA(hu_resample);
#if defined(__x86_64__)
/* For AVX-512 with VBMI and VNNI: rows by spans. */
extern const hu_resample hu_resample_spans_avx512;
#endif

/* Those of this machine. Borrowed: valid forever. Proof: tests/unit/kernel_resample_test.c. */
const hu_resample *hu_resample_here(void);

/* A weight is 2^11 upper + lower, both of which fit a word, so that a pair of products is one
 * instruction. Sums of either stay far below 2^31, so that the sum of both is exact. */
enum { LOWER_BITS = 11 };

#endif
