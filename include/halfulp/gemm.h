/* halfulp/gemm.h - matrix products with a chosen accumulator.
 * Layer 2. Thread-safe: pure functions of their arguments. Results do not depend on the instruction
 * set or on the number of threads: the sum over k runs in ascending order, threads split rows and
 * columns only.
 */
#ifndef HALFULP_GEMM_H
#define HALFULP_GEMM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>
#include <halfulp/round.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a product x y is added to the accumulator. R rounds to the accumulator's format (to nearest,
 * ties to even), fp32 to binary32. Source: 1/6/9 study (Popescu et al.), section III and
 * algorithm 1; APS (CPD), section on Kahan summation. */
typedef enum hu_mac {
    HU_MAC_FMACS,  /* a <- fp32(a + x y); the format is not used */
    HU_MAC_MACS,   /* a <- fp32(a + R(x y)) */
    HU_MAC_FMAC,   /* a <- R(a + x y) */
    HU_MAC_MAC,    /* a <- R(a + R(x y)) */
    HU_MAC_FMAC_K, /* FMAC over blocks of `block` terms, the block sums added in float32: FMAC-8 */
    HU_MAC_KAHAN,  /* y = R(x y - c); t = R(a + y); c = R(R(t - a) - y); a = t */
    HU_MAC_KAHAN_CPD, /* the same with y = R(R(x y) - c), as CPD */
    HU_MAC_TC, /* steps of a tensor core: `block` terms at once, aligned and cut, see below */
    HU_MAC_COUNT
} hu_mac;

typedef enum hu_semantics {
    HU_SEMANTICS_EXACT,  /* every R and fp32 is one rounding of the exact value */
    HU_SEMANTICS_F32FMA, /* what R rounds was computed in float32 (one fma, product, sum or
                            difference) */
    HU_SEMANTICS_CPD,    /* F32FMA, and Kahan's c stays as it comes where t is infinite */
    HU_SEMANTICS_COUNT
} hu_semantics;

/* An accumulator. Zero results of R are +0. Overflow follows format.overflow: infinity, the largest
 * finite number (saturate); HU_OVERFLOW_NAN gives a NaN. Kahan: where t is infinite, c becomes +0,
 * but under HU_SEMANTICS_CPD: there c is infinite or NaN then, and the sum is NaN from the next
 * term on. Formats without subnormals flush after rounding. Sums in float32 (FMACS, MACS, the block
 * sums of FMAC-K, bias) have IEEE's zeros. An infinite result is an overflow. Every NaN is
 * 0x7FC00000: sign and payload of NaN operands are not kept. */
typedef struct hu_accumulator {
    hu_mac mac;
    hu_semantics semantics;
    int64_t block;      /* terms of a block of FMAC-K, at least 1; of a step of TC, 1..256;
                           ignored otherwise */
    hu_format format;   /* of TC: of a step's result; has subnormals */
    int64_t promote;    /* what follows is TC's. 0, or terms, a multiple of `block`, after which
                           a float32 sum takes a and a begins at 0 again */
    int32_t align_bits; /* F, 1..52 */
    int32_t least_exponent[2]; /* of factors of A and B, -149..127; -126: float32's own */
    hu_rounding rounding;      /* R: HU_ROUND_TOWARD_ZERO or HU_ROUND_NEAREST_EVEN */
    bool is_late;              /* a takes no part in the step and is added after it */
} hu_accumulator;

/* TC, one step of a tensor core: the next K = `block` terms of the sum, fewer at its end, all at
 * once. The exponent of a factor x is floor(log2|x|), at least least_exponent (a subnormal number
 * of a narrow format has that of its smallest normal one); that of a term x y is the sum of both,
 * though its significand may reach 4; that of a is floor(log2|a|), at least that of the smallest
 * normal number of `format`. e = the largest of them, zeros left out. Every term, and a, is cut
 * toward zero to multiples of 2^(e-F); these are added exactly, and a = R(sum). is_late: a is left
 * out of e and of the sum, and a = fp32(a + R(sum)). With `promote` a float32 sum S takes the place
 * of a: after every `promote` terms and at the end S = fp32(S + a), and a = +0. Factors are any
 * numbers: products are exact. Where a factor is not finite, or a, sums have IEEE's outcome.
 * semantics is ignored. Source: Fasi, Higham, Mikaitis and Pranesh, PeerJ Computer Science 7:e330
 * (2021); Khattak and Mikaitis, arXiv 2512.07004; the named ones are those that hardware was
 * measured to be: docs/reference/numerics/sums.md, "Tensor cores". */

/* "fmacs", "macs:F", "fmac:F", "mac:F", "fmacK:F" (fmac8:1/6/9), "kahan:F", "kahan-cpd:F" with any
 * format F; "tc:NAME" (tc:h100-fp8) and "tc:K=32:F=13:out=13", with the options out=BITS|FORMAT,
 * round=rz|rne, c=late, promote=N, emin=E or emin=EA/EB; commas may stand for those colons.
 * semantics becomes exact. Errors as hu_format_parse, HU_ERR_UNKNOWN with the nearest modes, names
 * or options, HU_ERR_ARGUMENT for numbers out of range. *accumulator is zero on failure. */
HU_API hu_status hu_accumulator_parse(const char *text, hu_accumulator *accumulator);

/* The text that parses back; capacity at least 96 bytes. */
HU_API hu_status hu_accumulator_print(const hu_accumulator *accumulator, char *text,
                                      uint32_t capacity);

/* HU_OK or why it is none: HU_ERR_ARGUMENT (mode, semantics, block, TC's numbers), HU_ERR_FORMAT.
 */
HU_API hu_status hu_accumulator_check(const hu_accumulator *accumulator);

/* "fmacs", "macs", "fmac", "mac", "fmac-k", "kahan", "kahan-cpd", "tc". Borrowed: valid forever. */
HU_API const char *hu_mac_name(hu_mac mac);

/* "exact", "f32fma", "cpd"; "?" for another value. Borrowed: valid forever. */
HU_API const char *hu_semantics_name(hu_semantics semantics);

/* Patches of images, the rows of an implicit im2col: row (n, y, x) of [count, out_h, out_w], column
 * (kh, kw, c) of [kernel_h, kernel_w, channels]. Its number is that of image n at pixel
 * ((y stride_h - pad_h + kh dilation_h) / up_h, the same for x), channel c, and zero where that is
 * outside the image or does not divide. up is 1 except for the gradient of a convolution's input,
 * which reads the output gradient with stride 1 and up = the convolution's stride. Negative
 * dilations walk the kernel backwards. */
typedef struct hu_patches {
    int64_t count, in_h, in_w, channels;
    int64_t pixel_stride; /* floats between pixels: all channels of the image, >= channels */
    int64_t out_h, out_w, kernel_h, kernel_w;
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, up_h, up_w;
} hu_patches;

/* One factor of the product: a strided matrix, or the patches of images at data.
 * Matrix: element (i, k) lies at data[i * stride + (k / inner) * outer_stride + (k % inner) *
 * k_stride]; i counts rows of A or columns of B, k the terms of the sum; inner 0 means one run.
 * Patches: patches != NULL; i counts patches and k columns of a patch, or, where `transposed`, the
 * other way round. Strides are ignored. */
typedef struct hu_operand {
    const float *data;
    int64_t stride, k_stride, inner, outer_stride;
    const hu_patches *patches;
    bool transposed;

    const hu_format *format; /* NULL: numbers are taken as they are. Else they are rounded to it */
    hu_rounding rounding;    /* (any mode but stochastic) on the way in, and counted: */
    hu_round_counts *counts; /* [1] added to, each number of the source once (matrix: element,
                                patches: number of the images); NULL: not counted */
} hu_operand;

/* Intermediate accumulators of a product, for the study of denormals. */
typedef struct hu_gemm_counts {
    uint64_t values;    /* rounded accumulators: m n k */
    uint64_t subnormal; /* 0 < |a| < smallest normal; without subnormals: those that were flushed,
                           with HU_UNDERFLOW_NEAREST nonzero ones that became 0 */
    uint64_t overflow;  /* |a| beyond the largest finite number */
    uint64_t terms;     /* of two factors, neither zero nor NaN */
    uint64_t stalled; /* such terms that left a as it was; Kahan's: that left what it keeps of lost
                         digits as it was as well. All: a is that of FMAC, MAC, of a block of
                         FMAC-K, and Kahan's t; the float32 accumulators of FMACS and MACS are not
                         looked at. TC: such terms of which alignment left nothing; subnormal and
                         overflow: R's results, once for each term of their step */
} hu_gemm_counts;

/* C[m, n] = sum over k of A[m, k] B[k, n].
 *
 *   c        [m, n] row i at c + i * c_stride, written; its span of memory, first to last element,
 *            overlaps that of no other buffer
 *   bias     [n] added in float32 at the end, NULL: none
 *   carry    NULL, or [hu_gemm_carry_floats()] state that lets the sum over k go on in further
 *            calls of the same m and n: `before` terms came earlier (0: the state starts), c is
 *            written as if the sum ended here. The bits are those of one call.
 *   counts   [1] added to, NULL: not counted (faster). Of a sum in several calls: given in all of
 *            them or in none; together they are those of one call (TC: a step that a call left
 *            unfinished is taken back by the next, modulo 2^64)
 *   threads  OpenMP threads, 1: the calling one alone
 *   scratch  hu_gemm_scratch_bytes() bytes, 64-byte aligned, that overlap no other buffer; NULL:
 *            allocated for the call
 *
 * Row-major A[m][k] and B[k][n]: a = {.data = A, .stride = k, .k_stride = 1},
 * b = {.data = B, .stride = 1, .k_stride = n}, c_stride = n, threads = 1.
 *
 * All pointers to floats are 4-byte aligned. Non-finite numbers give the IEEE outcome, slowly. */
typedef struct hu_gemm_task {
    int64_t m, n, k;
    hu_operand a, b;
    hu_accumulator accumulator;
    float *c;
    int64_t c_stride;
    const float *bias;
    float *carry;
    int64_t before;
    hu_gemm_counts *counts;
    int threads;
    void *scratch;
} hu_gemm_task;

/* HU_ERR_SHAPE (negative or overflowing extents or such beyond 2^48, patches that do not match m, n
 * or k), HU_ERR_FORMAT, HU_ERR_ARGUMENT (misaligned, overlapping or missing buffers, strides),
 * HU_ERR_MEMORY. k = 0 gives zeros (plus bias). */
HU_API hu_status hu_gemm(const hu_gemm_task *task);

/* Floats of carry, and bytes of scratch for a task of these extents, strides, formats and threads,
 * whether it counts or not; of its pointers only patches are read. */
HU_API size_t hu_gemm_carry_floats(const hu_accumulator *accumulator, int64_t m, int64_t n);
HU_API hu_status hu_gemm_scratch_bytes(const hu_gemm_task *task, size_t *bytes);

/* The same product by integer arithmetic alone, one element after the other: the definition of
 * truth for HU_SEMANTICS_EXACT (and float32 operations for the others). threads and scratch are
 * ignored, carry must be NULL. */
HU_API hu_status hu_gemm_reference(const hu_gemm_task *task);

#ifdef __cplusplus
}
#endif

#endif
