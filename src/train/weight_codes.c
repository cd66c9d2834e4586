#include "train/weight_codes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "store/safetensor.h"

enum { BYTE_BITS = 8, MOST_BITS = 16 };

/* Formats that safetensors knows by name; what is too large was rounded before. */
static const char *dtype_of(const hu_format *format) {
    static const char *const known[] = {"F16",     "BF16",        "F8_E4M3",
                                        "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        hu_format other;
        if (hu_format_parse(hu_safetensor_dtype_find(known[i])->format, &other) != HU_OK) continue;
        other.overflow = format->overflow;
        other.nan = format->nan;
        if (hu_format_equal(format, &other)) return known[i];
    }
    return hu_format_bits(format) <= BYTE_BITS ? "U8" : "U16";
}

static bool encode(const hu_weight_coding *coding, float x, uint32_t *code) {
    return hu_format_encode(&coding->format, ldexpf(x, -coding->exponent), code) == HU_OK;
}

/* Does every number come back? */
static bool is_exact(const hu_weight_coding *coding, const float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t code;
        float back;
        if (!encode(coding, x[i], &code)) return false;
        if (hu_format_decode(&coding->format, code, &back) != HU_OK) return false;
        if (hu_f32_bits(ldexpf(back, coding->exponent)) != hu_f32_bits(x[i])) return false;
    }
    return true;
}

void hu_weight_coding_of(const hu_quantizer *quantizer, int32_t exponent, const float *x,
                         size_t count, hu_weight_coding *coding) {
    *coding = (hu_weight_coding){.dtype = NULL};
    if (!hu_quantizer_rounds(quantizer)) return;
    hu_quantizer_print(quantizer, coding->text, sizeof coding->text);
    if (quantizer->kind != HU_QUANTIZER_FLOAT || hu_format_bits(&quantizer->format) > MOST_BITS)
        return;
    coding->format = quantizer->format;
    coding->exponent = exponent;
    if (!is_exact(coding, x, count)) return;
    char name[HU_QUANTIZER_BYTES];
    if (hu_format_print(&coding->format, name, sizeof name) != HU_OK) return;
    coding->dtype = exponent ? hu_format_bits(&coding->format) <= BYTE_BITS ? "U8" : "U16"
                             : dtype_of(&coding->format);
    if (exponent)
        snprintf(coding->text, sizeof coding->text, "%s 2^%d", name, (int)exponent);
    else
        snprintf(coding->text, sizeof coding->text, "%s", name);
}

size_t hu_weight_coding_bytes(const hu_weight_coding *coding) {
    if (!coding->dtype) return sizeof(float);
    return (size_t)hu_safetensor_dtype_find(coding->dtype)->bits / BYTE_BITS;
}

void hu_weight_encode(const hu_weight_coding *coding, const float *x, size_t count,
                      uint8_t *bytes) {
    size_t each = hu_weight_coding_bytes(coding);
    for (size_t i = 0; i < count; i++) {
        uint32_t code = 0;
        (void)encode(coding, x[i], &code); /* it can: hu_weight_coding_of has tried */
        for (size_t b = 0; b < each; b++) bytes[i * each + b] = (uint8_t)(code >> BYTE_BITS * b);
    }
}

hu_status hu_weight_coding_parse(const char *text, hu_format *format, int *exponent) {
    enum { SMALLEST = -300, LARGEST = 300 };
    char name[HU_CODES_TEXT];
    const char *scale = strstr(text, " 2^");
    char *end = NULL;
    long k = scale ? strtol(scale + strlen(" 2^"), &end, 10) : 0;
    if (strlen(text) >= sizeof name || (scale && (*end || k < SMALLEST || k > LARGEST)))
        return hu_fail(HU_ERR_PARSE, "found '%.100s', expected FORMAT or FORMAT 2^K", text);
    snprintf(name, sizeof name, "%.*s", scale ? (int)(scale - text) : (int)strlen(text), text);
    *exponent = (int)k;
    return hu_format_parse(name, format);
}
