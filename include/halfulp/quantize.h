/* halfulp/quantize.h - rounding arrays as a tensor of a training is rounded: by formats with a
 * scale of the whole array, by block formats, and to uniform integers.
 *
 * Texts are those of precision.rules: a number format, which :scale=current, :scale=bias or
 * :scale=2^K may follow; a block format (mxfp8, nvfp4, ...); a number format with tiles that have
 * scales of their own (e4m3fn:tile=1x128:scale=f32, nvfp4:tile=16x16); or uniformB, the 2^B evenly
 * spaced numbers between the ends of the array, B = 2..16; after it a rounding mode. fp32 is no
 * rounding. Arrays are [rows, line]: blocks run along a line, a shorter one at its end; tiles RxC
 * take R lines and C elements of each, Rx1 runs down the columns: a matrix that is rounded for a
 * product which sums over its rows is rounded without being transposed.
 */
#ifndef HALFULP_QUANTIZE_H
#define HALFULP_QUANTIZE_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/round.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hu_quantization hu_quantization;

/* What an array was divided by before it was rounded. */
typedef struct hu_array_scale {
    int32_t exponent; /* formats with a scale: the power of two; else 0 */
    float factor; /* block formats with a scale of the whole array (nvfp4; with :as=te what it was
                     multiplied by); uniform integers: their step; else 1 */
    float zero;   /* uniform integers: the number of code 0; else 0 */
} hu_array_scale;

/* Reads a text.
 *
 *   usual         the rounding mode where the text names none
 *   line          elements of a line, at least 1
 *   quantization  owner frees with hu_quantization_close; NULL on failure. Read only: may be shared
 *                 by threads
 *
 * HU_ERR_UNKNOWN with the nearest names, HU_ERR_PARSE with the column, HU_ERR_FORMAT;
 * HU_ERR_UNSUPPORTED: a delayed scale or a running range, which need the history of a training, or
 * ranges of channels; HU_ERR_ARGUMENT, HU_ERR_MEMORY. Proof: tests/unit/tensor_quantize_test.c. */
HU_API hu_status hu_quantization_open(const char *text, hu_rounding usual, int64_t line,
                                      hu_quantization **quantization);
HU_API void hu_quantization_close(hu_quantization *quantization);

/* What shares a scale, or is rotated together: lines x elements of a line, 1 x 1 where every number
 * stands alone. Arrays may be rounded in parts that begin with whole tiles. needs_array: not so,
 * for a scale or a range is that of the whole array. quantization NULL: 0 x 0. Proof:
 * tests/unit/tensor_quantize_test.c. */
typedef struct hu_quantization_tile {
    int64_t lines, elements;
    int needs_array;
} hu_quantization_tile;

HU_API hu_quantization_tile hu_quantization_tile_of(const hu_quantization *quantization);

/* Bytes that hold every text. */
enum { HU_QUANTIZATION_TEXT_BYTES = 176 };

/* Writes the text in its short form, without the rounding mode. */
HU_API void hu_quantization_print(const hu_quantization *quantization, char *text,
                                  uint32_t capacity);

/* Rounds x [rows, line] to y, the same array or not overlapping.
 *
 *   random       key of stochastic rounding, of MS-EDEN's scales and of :random signs, otherwise
 *                may be NULL; element i of the array takes word first_index + i
 *   scale        NULL or the scale that was taken
 *   counts       NULL or added to
 *
 * HU_ERR_ARGUMENT: random words are needed and there is no key; more numbers than can be addressed.
 * Never allocates. The bits do not depend on threads or instruction set. Sources:
 * docs/reference/numerics/formats.md, "Scales" and "Uniform quantiser". */
HU_API hu_status hu_quantize(const hu_quantization *quantization, int64_t rows, const float *x,
                             float *y, const hu_random_key *random, uint64_t first_index,
                             hu_array_scale *scale, hu_round_counts *counts);

/* Bytes of a packed array; codes of 8 or 16 bits, else dense; of uniform integers dense in each
 * line. SIZE_MAX: more than can be addressed. */
HU_API size_t hu_quantized_bytes(const hu_quantization *quantization, int64_t rows);

/* Rounds and packs: data [hu_quantized_bytes], aligned to 4 bytes. scale: what unpacking needs.
 * Infinities and NaNs that a number format has no code for are packed as hu_pack does.
 * HU_ERR_UNSUPPORTED: signs of a rotation that are drawn, which codes cannot tell. */
HU_API hu_status hu_quantize_pack(const hu_quantization *quantization, int64_t rows, const float *x,
                                  void *data, const hu_random_key *random, uint64_t first_index,
                                  hu_array_scale *scale, hu_round_counts *counts);

/* The numbers that hu_quantize gives, bit for bit: y [rows, line]. Of a scale with which the format
 * has no numbers in float32 y is untouched. */
HU_API void hu_quantize_unpack(const hu_quantization *quantization, int64_t rows, const void *data,
                               hu_array_scale scale, float *y);

#ifdef __cplusplus
}
#endif

#endif
