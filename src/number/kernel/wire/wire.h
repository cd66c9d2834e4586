/* kernel/wire/wire.h - numbers as they travel between workers, prepared once per format and mode.
 *
 * A number has two forms: a code in memory, on which sums are made, and dense bits on the wire.
 *
 *   format        code in memory                                 bits on the wire
 *   <= 8 bits     uint8_t, the format's code, right-aligned      1 + e + m
 *   <= 16 bits    uint16_t, likewise                             1 + e + m
 *   wider         float32, the number of a code, 4 bytes         1 + e + m
 *   float32       the number itself; nothing is rounded          32
 *
 * Codes are those of the format itself; a scale 2^k belongs to the array and is named where float32
 * becomes codes and back, so that a sum of codes of one scale has that scale.
 *
 * Numbers without a code: infinities are stored as the largest finite number; NaNs as infinity
 * where the format has that (m = 0: what is not finite must not become a number), else as 0.
 * hu_round_counts tells of the NaNs (nan). So codes of all widths come back from the wire as they
 * were, but for the payloads of NaNs in codes of 4 bytes, which no sum has.
 *
 * Thread-safe: a prepared hu_wire is read only and owns nothing. Results do not depend on the
 * instruction set or on how an array is split into calls.
 * Source: Wang et al., APS: every addition of the all-reduce is a float32 addition and a rounding.
 * Proof: tests/unit/kernel_wire_test.c.
 */
#ifndef HU_KERNEL_WIRE_WIRE_H
#define HU_KERNEL_WIRE_WIRE_H
#include <stdbool.h>

#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

/* What hu_wire_init prepares, for wire.h and the kernels after it. */

/* Constants of one format of at most 16 bits. "Place": a number whose exponent field stands at
 * binary32's place as it is, as if the bias were 127. Numbers at that place are binary32 numbers,
 * subnormals included, and their sums are the format's but for one power of two: what a sum of
 * codes is does not depend on the bias. */
typedef struct hu_wire_places {
    uint32_t drop;         /* 23 - m */
    uint32_t top_shift;    /* 32 - bits: a code there has its sign at bit 31 */
    uint32_t down_shift;   /* 8 - e: from there to binary32's place */
    uint32_t number_mask;  /* sign, exponent and fraction at binary32's place */
    uint32_t max_place;    /* largest finite magnitude */
    uint32_t flush_place;  /* magnitudes below are zeros: 2^23 or 0 */
    uint32_t parity_cap;   /* as hu_rounder's */
    uint32_t code_max;     /* magnitude codes: largest finite; */
    uint32_t over_code;    /* overflow: code_max or the next; */
    uint32_t hidden;       /* smallest normal; */
    uint32_t flush_code;   /* those below become 0: hidden or 0 */
    uint32_t nan_code;     /* magnitude code of NaN, 0 where there is none */
    uint32_t nan_sign;     /* sign bit of a code where NaN has one, else 0 */
    uint32_t sign_bit;     /* of a code */
    int32_t exponent_down; /* exponents of numbers less those of their places */
} hu_wire_places;

/* A format of at most 16 bits under a scale 2^k: how float32 numbers get to its grid. */
typedef struct hu_wire_grid {
    bool is_aligned;    /* e = 8, bias 127: times 2^-k numbers are at their places; else by
                           addition, as HU_ROUTE_MAGIC */
    float power;        /* 2^-k, aligned only; at least 1, so that products are exact */
    uint32_t emin_bits; /* of 2^emin of the scaled format */
    uint32_t cap_bits;  /* of 2^(emax+1): magnitudes are cut there */
} hu_wire_grid;

typedef struct hu_wire hu_wire;

/* Kernels of nearest-even for codes of one width, n a multiple of HU_WIRE_GROUP. As hu_wire_add and
 * hu_wire_quantise. */
enum { HU_WIRE_GROUP = 64 };
typedef void hu_wire_add_fn(const hu_wire_places *places, size_t n, const void *a, void *sum,
                            hu_round_counts *counts);
typedef void hu_wire_quantise_fn(const hu_wire_places *places, const hu_wire_grid *grid, size_t n,
                                 const float *x, void *codes, hu_round_counts *counts);

struct hu_wire {
    hu_format format;
    hu_rounding rounding;
    bool rounds;                   /* false: float32 */
    uint32_t bits;                 /* of a number on the wire */
    uint32_t code_bytes;           /* of a code in memory: 1, 2 or 4 */
    hu_rounder rounder;            /* to the format itself, k = 0 */
    hu_packer packer;              /* between float32 and codes of 1 and 2 bytes, k = 0; of wider
                                      formats between float32 and dense bits */
    hu_wire_places places;         /* where there is a kernel */
    hu_wire_add_fn *add;           /* NULL: none for this format and mode, wire.h serves */
    hu_wire_quantise_fn *quantise; /* likewise; it may yet refuse a scale */
};

/* ---- plain ---- */

/* The arithmetic of wire.h composed of rounder and packer, in blocks that
 * stay in the first-level cache: any format, any mode. What the fast kernels must equal. */

/* As the functions of wire.h; k is clamped already. */
void hu_wire_quantise_plain(const hu_wire *wire, size_t n, const float *x, int32_t k, void *codes,
                            const hu_random_key *key, uint64_t first_index,
                            hu_round_counts *counts);
void hu_wire_add_plain(const hu_wire *wire, size_t n, const void *a, void *sum,
                       const hu_random_key *key, uint64_t first_index, hu_round_counts *counts);

/* Prepares for the instruction set of hu_cpu_isa(). format: NULL is float32, as is the format fp32
 * (which changes no number). HU_ERR_FORMAT: the format is invalid; HU_ERR_ARGUMENT: no such mode.
 */
hu_status hu_wire_init(hu_wire *wire, const hu_format *format, hu_rounding rounding);

/* Bytes of a code in memory: 1, 2 or 4. */
static inline size_t hu_wire_code_bytes(const hu_wire *wire) {
    return wire->code_bytes;
}

/* Bits of a number on the wire. */
static inline uint32_t hu_wire_bits(const hu_wire *wire) {
    return wire->bits;
}

/* Bytes of n numbers on the wire, filled up to a whole byte. */
size_t hu_wire_bytes(const hu_wire *wire, size_t n);

/* k as the functions below take it: clamped as hu_scale_exponent does, so that all numbers 2^k f
 * are binary32's; 0 for float32. */
int32_t hu_wire_clamp(const hu_wire *wire, int32_t k);

/* Rounds x[n] to the numbers 2^k f, f of the format, and gives the codes of these f.
 *
 *   codes        n codes, aligned to their size; not overlapping x, or x itself if they are of 4
 *                bytes
 *   key          of stochastic rounding, whose word first_index + i serves element i; else NULL
 *   counts       [1], added to, as hu_rounder_run; NULL: not counted. Exponents are those of x
 *                itself, not of x 2^-k */
void hu_wire_quantise(const hu_wire *wire, size_t n, const float *x, int32_t k, void *codes,
                      const hu_random_key *key, uint64_t first_index, hu_round_counts *counts);

/* The inverse: y[i] = 2^k f for code i, y not overlapping codes, or codes itself if they are of 4
 * bytes. */
void hu_wire_decode(const hu_wire *wire, size_t n, const void *codes, int32_t k, float *y);

/* sum[i] = code of R(float32(sum[i]) + float32(a[i])): one float32 addition, then one rounding; for
 * float32 the addition alone. A sum that is NaN is the positive quiet NaN without payload, because
 * processors and compilers differ in whose sign and payload it has.
 *
 *   a, sum       n codes, the same array or not overlapping
 *   key, counts  as above; counted are the float32 sums, of numbers with k = 0 */
void hu_wire_add(const hu_wire *wire, size_t n, const void *a, void *sum, const hu_random_key *key,
                 uint64_t first_index, hu_round_counts *counts);

/* Codes -> dense bits, hu_wire_bytes(n) bytes, and back: the least significant bit first, as the
 * dense streams of kernel/pack. Bits of a code above the format's are ignored. Not overlapping. */
void hu_wire_pack_bits(const hu_wire *wire, size_t n, const void *codes, void *bytes);
void hu_wire_unpack_bits(const hu_wire *wire, size_t n, const void *bytes, void *codes);

#endif
