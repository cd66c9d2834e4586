/* kernel/pack/pack.h - packing prepared once per (format, code width).
 * Thread-safe: a prepared hu_packer is read only. Same contract as halfulp/round.h: hu_pack,
 * hu_unpack.
 */
#ifndef HU_KERNEL_PACK_H
#define HU_KERNEL_PACK_H
#include <halfulp/round.h>

#include "base/cpu.h"

typedef struct hu_packer hu_packer;
typedef struct hu_code_steps hu_code_steps;
/* Kernels. x[n] are members of the format; codes are units of 8, 16 or 32 bits. */
/* unencodable[0] += infinities, [1] += NaNs; NULL: not counted. */
typedef void hu_pack_fn(const hu_packer *packer, size_t n, const float *x, void *codes,
                        uint64_t unencodable[2]);
typedef void hu_unpack_fn(const hu_packer *packer, size_t n, const void *codes, float *y);

/* Constants of one format; "bits" are those of a binary32 magnitude. */
struct hu_packer {
    hu_pack_fn *pack; /* NULL: the format goes through the integer reference, value by value */
    hu_unpack_fn *unpack;
    hu_format format;
    int code_bits;            /* 8, 16 or 0 = dense */
    uint32_t width;           /* bits of a code in its place: code_bits, dense: 1 + e + m */
    uint32_t drop;            /* 23 - m */
    uint32_t sign_shift;      /* from bit 31 down to bit e + m */
    uint32_t magnitude_mask;  /* 2^(e+m) - 1 */
    uint32_t hidden;          /* 2^m, code of the smallest normal */
    uint32_t min_normal_bits; /* of 2^emin */
    uint32_t rebias;        /* (emin + 126) 2^23: bits of a normal number = code << drop + rebias */
    uint32_t grid_bits;     /* of 2^(emin + 23 - m), whose last place is the subnormal quantum */
    uint32_t code_max;      /* largest finite */
    uint32_t infinity_code; /* magnitude code stored for infinities; of a table for +infinity */
    uint32_t minus_infinity_code; /* of a table */
    uint32_t nan_code;            /* for NaNs: complete code if nan_sign is 0, else magnitude */
    uint32_t nan_sign;            /* 0x80000000 where NaN keeps its sign */
    uint32_t minus_zero;          /* value of code 100..0: -0, or the NaN of FNUZ */
    uint32_t subnormal_mask;      /* all ones, or 0: codes below the smallest normal are zeros */
    uint32_t zero_sign;           /* 0x80000000 where -0 exists */
    uint32_t first_nan; /* magnitudes from here are NaN, between code_max and here infinity */
    uint32_t is_plain;  /* subnormals, -0 and signed NaNs: the short loops serve */
    uint32_t is_infinity_lost; /* 1 if the format cannot encode it */
    uint32_t is_nan_lost;
    uint16_t upper[128];        /* AVX-512, 8 bits: upper halves of the numbers of all magnitudes */
    const hu_code_steps *steps; /* of a format by table, else NULL. Borrowed: valid forever */
    const float *decoded;       /* by code, without the scale; likewise */
};

/* Prepares for the best instruction set of hu_cpu_isa(). code_bits: 8 or 16 (at least
 * hu_format_bits), or 0 = dense. HU_ERR_FORMAT, HU_ERR_ARGUMENT; HU_ERR_MEMORY: the first time
 * that a table is packed. Proof: tests/unit/kernel_pack_test.c. */
hu_status hu_packer_init(hu_packer *packer, const hu_format *format, int code_bits);

/* As hu_packer_init on an instruction set of the caller's choice (which must be there). */
hu_status hu_packer_init_isa(hu_packer *packer, const hu_format *format, int code_bits, hu_isa isa);

/* x[n], members of the format -> codes, hu_packer_bytes(n) bytes, 16-bit codes 2-byte aligned.
 * Values without a code are added to *unencodable if it is not NULL. */
void hu_packer_pack(const hu_packer *packer, size_t n, const float *x, void *codes,
                    uint64_t *unencodable);

/* codes -> y[n]. */
void hu_packer_unpack(const hu_packer *packer, size_t n, const void *codes, float *y);

/* Bytes of n codes: n times 1 or 2, dense codes without gaps and filled up to a whole byte. */
size_t hu_packer_bytes(const hu_packer *packer, size_t n);

#endif
