/* tensor/quantizer.h - how the numbers of one edge are rounded: not at all, to a format, in
 * blocks, or to uniform integers.
 *
 * Text: FORMAT [MODE]. FORMAT is a block format (nvfp4, mxfp8, ..., an MX format also with
 * :scale=floor|ceil|rceil|even, hu_block_power); uniformB, the 2^B evenly
 * spaced numbers between the tensor's ends (B = 2..16, modes rne and sr), which may be followed by
 * one of
 *
 *   :channel         every line of a parameter (an output channel) has ends of its own
 *   :running         evaluation takes ends that training kept: a running mean
 *
 * any number format with tiles that have scales of their own (kernel/block/block.h),
 *
 *   :tile=RxC        R lines and C elements of a line share a scale; at the ends fewer
 *   :scale=S         f32: the largest magnitude over the largest number; ue8m0 (the same as floor),
 *                    ceil, rceil (pow2) or even: a power of two; or a number format that has a code
 *                    for NaN, also ueXmY, without a sign: then the tensor has a factor, too
 *
 * in any order, and of these what is wanted (also behind the name of a block format, whose tile=
 * they may change):
 *
 *   :factor=none     no factor of the tensor
 *   :as=te|ao        the float32 operations of TransformerEngine, of torchao
 *   :least=X         scale=f32: largest magnitudes below X count as X
 *   :4/6 :4/6=square NVFP4: the better of two scales, by sums of |error| or of its squares
 *   :eden=G          NVFP4: MS-EDEN, unbiased by a random scale; G numbers are corrected together
 *   :hadamard=H      lines are rotated in groups of H before, and back after; its signs are those
 * of TransformerEngine, or :random, or :plain (none)
 *
 * or any number format, which may be followed by one of
 *
 *   :scale=current   power of two from the largest magnitude of the tensor itself
 *   :scale=delayedH  from that of the H steps before (16 if left out, at most HU_HISTORY_MOST)
 *   :scale=realH     the same, but no power of two: largest number / largest magnitude, as
 *                    TransformerEngine has it; 1024 steps if H is left out
 *   :scale=bias      Lee et al.'s dynamic bias
 *   :scale=2^K       fixed: the same as a bias lowered by K
 *
 * With a scale from maxima, what is too large saturates unless the format says ovf=. MODE is a
 * rounding mode. fp32 is no rounding.
 */
#ifndef HU_TENSOR_QUANTIZER_H
#define HU_TENSOR_QUANTIZER_H
#include <stdbool.h>

#include "kernel/block/block.h"
#include "kernel/uniform/uniform.h"

typedef enum hu_quantizer_kind {
    HU_QUANTIZER_NONE, /* float32 passes through */
    HU_QUANTIZER_FLOAT,
    HU_QUANTIZER_BLOCK,
    HU_QUANTIZER_UNIFORM
} hu_quantizer_kind;

enum { HU_HISTORY_USUAL = 16, HU_HISTORY_MOST = 1024, HU_QUANTIZER_BYTES = 176 };

typedef struct hu_quantizer {
    hu_quantizer_kind kind;
    hu_rounding rounding;
    hu_format format;      /* FLOAT: of the numbers for k = 0; BLOCK: of the elements */
    hu_scale_rule scale;   /* FLOAT */
    int32_t history;       /* steps looked back; DELAYED only, else 0 */
    bool is_real;          /* DELAYED only: the scale is no power of two */
    hu_block_format block; /* BLOCK */
    uint32_t bits;         /* UNIFORM: of a code */
    bool per_channel;      /* UNIFORM: lines of a parameter have ranges of their own */
    bool keeps_range;      /* UNIFORM: evaluation uses ranges that training kept */
} hu_quantizer;

static inline bool hu_quantizer_rounds(const hu_quantizer *quantizer) {
    return quantizer->kind != HU_QUANTIZER_NONE;
}

/* Bits of one number in the format, without scales of blocks; 32 where nothing is rounded. */
static inline uint32_t hu_quantizer_bits(const hu_quantizer *quantizer) {
    enum { FLOAT32_BITS = 32 };
    if (quantizer->kind == HU_QUANTIZER_UNIFORM) return quantizer->bits;
    return hu_quantizer_rounds(quantizer) ? hu_format_bits(&quantizer->format) : FLOAT32_BITS;
}

/* Bits of one number in the narrowest storage: the same, but where infinities live on that the
 * format has no code for (hu_storage_format); 32 where a scale moves such a format. */
uint32_t hu_quantizer_code_bits(const hu_quantizer *quantizer);

/* True if the whole tensor must be there before its first number can be rounded, because its
 * largest magnitude is needed. */
bool hu_quantizer_needs_maximum(const hu_quantizer *quantizer);

/* Lines of a matrix that share scales and so must be rounded together: 1 where lines are alone. */
static inline int64_t hu_quantizer_needs_lines(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_BLOCK ? quantizer->block.lines : 1;
}

/* Signs of its rotation that a random sequence gives, new ones for every step. */
static inline bool hu_quantizer_needs_signs(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_BLOCK && quantizer->block.hadamard &&
           quantizer->block.signs == HU_SIGNS_RANDOM;
}

/* The same because its least and its largest number are needed. */
static inline bool hu_quantizer_needs_range(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_UNIFORM;
}

/* True if it rounds in that mode: uniform integers know rne and sr. */
bool hu_quantizer_knows_mode(const hu_quantizer *quantizer, hu_rounding rounding);

/* True if what one has rounded stays as it is under the other (modes do not matter). */
bool hu_quantizer_same_numbers(const hu_quantizer *a, const hu_quantizer *b);

/* Reads a text as above; usual: the mode where none is named. HU_ERR_UNKNOWN with the nearest names
 * of formats, HU_ERR_PARSE with the column, HU_ERR_FORMAT. */
hu_status hu_quantizer_parse(const char *text, hu_rounding usual, hu_quantizer *quantizer);

/* Writes FORMAT, at most capacity - 1 characters (HU_QUANTIZER_BYTES are enough); "float32" for
 * none.
 */
void hu_quantizer_print(const hu_quantizer *quantizer, char *text, uint32_t capacity);

/* Reads a number format; a fixed scale (e4m3fn:scale=2^3) is one, with another bias. Errors as
 * hu_format_parse; HU_ERR_PARSE that says so for block formats, other scales and rounding modes. */
hu_status hu_plain_format_parse(const char *text, hu_format *format);

#endif
