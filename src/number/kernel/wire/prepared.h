/* kernel/wire/prepared.h - what hu_wire_init prepares, for wire.h and the kernels behind it. */
#ifndef HU_KERNEL_WIRE_PREPARED_H
#define HU_KERNEL_WIRE_PREPARED_H
#include <stdbool.h>

#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

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

#endif
