/* train/weight_codes.h - rounded weights in as many bits as their formats have. */
#ifndef HU_TRAIN_WEIGHT_CODES_H
#define HU_TRAIN_WEIGHT_CODES_H
#include "tensor/quantizer.h"

enum { HU_CODES_TEXT = HU_QUANTIZER_BYTES + 16 };

/* How the numbers of a tensor are written. */
typedef struct hu_weight_coding {
    const char *dtype; /* "F16", "F8_E4M3", ...: the format has this name in safetensors; "U8",
                          "U16": its codes; NULL: float32 */
    hu_format format;
    int32_t exponent;         /* a number is that of its code times 2^exponent */
    char text[HU_CODES_TEXT]; /* "1/4/3:bias=9", "e4m3fn 2^-3"; "": nothing was rounded */
} hu_weight_coding;

/* Of numbers that a quantizer has rounded, with a scale of 2^exponent: formats of at most 16 bits
 * whose codes give all numbers back, bit for bit. Blocks and uniform integers, whose scales are not
 * in their codes, stay float32 with the text. */
void hu_weight_coding_of(const hu_quantizer *quantizer, int32_t exponent, const float *x,
                         size_t count, hu_weight_coding *coding);

/* Bytes of a number. */
size_t hu_weight_coding_bytes(const hu_weight_coding *coding);

/* The codes of x [count], little endian; not of float32. */
void hu_weight_encode(const hu_weight_coding *coding, const float *x, size_t count, uint8_t *bytes);

/* Reads a text as above, of a format. Errors as hu_format_parse. */
hu_status hu_weight_coding_parse(const char *text, hu_format *format, int *exponent);

#endif
