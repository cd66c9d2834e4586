/* halfulp/round.h - rounding, counting and packing of float32 arrays by run-time formats.
 * Layer 2. Thread-safe: pure functions of their arguments. Results do not depend on the instruction
 * set, on the number of threads or on how an array is split into calls (first_index is the global
 * index of element 0).
 */
#ifndef HALFULP_ROUND_H
#define HALFULP_ROUND_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>
#include <halfulp/random.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happened to the elements of one or more calls: counters are added to, exponents combined.
 * Zero-initialise with hu_round_counts_clear. */
typedef struct hu_round_counts {
    uint64_t elements;
    uint64_t overflow;  /* finite or infinite inputs that rounded beyond the largest finite value */
    uint64_t underflow; /* nonzero inputs that became zero */
    uint64_t subnormal; /* results r with 0 < |r| < min_normal; for formats without subnormals:
                           results flushed, with HU_UNDERFLOW_NEAREST none */
    uint64_t zero;      /* results equal to zero (exact zeros included) */
    uint64_t nan;       /* NaN inputs, also those that overflow (HU_NAN_OVERFLOWS), which are no
                           `overflow` */
    int32_t max_exponent; /* largest floor(log2 |x|) of the finite nonzero inputs; HU_NO_EXPONENT if
                             none */
    int32_t min_exponent; /* smallest of them; HU_NO_EXPONENT if none */
} hu_round_counts;

enum { HU_NO_EXPONENT = -1000 };

/* Counters of no elements. */
HU_API void hu_round_counts_clear(hu_round_counts *counts);

/* total becomes the counters of both together. */
HU_API void hu_round_counts_add(hu_round_counts *total, const hu_round_counts *more);

/* Rounds n values of x to the format; results stay in binary32.
 *
 *   x, y     [n] float, the same array or not overlapping
 *   random   sequence whose word first_index + i serves element i; may be NULL unless rounding is
 *            HU_ROUND_STOCHASTIC
 *   counts   [1], added to; NULL: not counted
 *
 * HU_ERR_FORMAT if the format is invalid, HU_ERR_ARGUMENT if there is no such rounding or random is
 * missing; y is then untouched. Never allocates.
 * Proof: tests/exhaustive/kernel_round.c. */
HU_API hu_status hu_round_f32(size_t n, const float *x, float *y, const hu_format *format,
                              hu_rounding rounding, const hu_random_key *random,
                              uint64_t first_index, hu_round_counts *counts);

/* Packs n values that are members of the format into codes of 8, 16 or (dense) exactly 1+e+m bits.
 *
 *   code_bits    8 or 16 (>= hu_format_bits), or 0 = dense bit stream, least significant bit first
 *   codes        hu_packed_bytes(n, format, code_bits) bytes, not overlapping x; 16-bit codes are
 *                2-byte aligned
 *   unencodable  [1], added to; NULL: not counted
 *
 * Values that the format cannot encode (NaN or infinity without such a code) are stored as the
 * largest finite value (infinities, sign kept) or as zero (NaN) and counted. Members are not
 * checked: other values give unspecified codes. HU_ERR_FORMAT if the format is invalid,
 * HU_ERR_ARGUMENT for other code_bits. Never allocates.
 * Proof: tests/unit/kernel_pack_test.c. */
HU_API hu_status hu_pack(size_t n, const float *x, void *codes, const hu_format *format,
                         int code_bits, uint64_t *unencodable);

/* The inverse: y[i] = value of code i, for i < n; the same errors. */
HU_API hu_status hu_unpack(size_t n, const void *codes, float *y, const hu_format *format,
                           int code_bits);

/* Bytes that hu_pack writes; format and code_bits as it accepts them. SIZE_MAX: more than can be
 * addressed. */
HU_API size_t hu_packed_bytes(size_t n, const hu_format *format, int code_bits);

#ifdef __cplusplus
}
#endif

#endif
