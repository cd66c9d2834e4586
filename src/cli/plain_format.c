#include "cli/plain_format.h"

#include <string.h>

#include "base/error.h"
#include "tensor/quantizer.h"

hu_status hu_plain_format_parse(const char *text, hu_format *format) {
    hu_quantizer quantizer, other;
    hu_status st = hu_format_parse(text, format);
    if (st == HU_OK) return HU_OK;
    st = hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &quantizer);
    if (st == HU_OK) st = hu_quantizer_parse(text, HU_ROUND_STOCHASTIC, &other);
    if (st != HU_OK) return strstr(text, ":scale=") ? st : hu_format_parse(text, format);
    if (quantizer.kind == HU_QUANTIZER_BLOCK)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s': found a block format, expected the format of single numbers",
                       text);
    if (quantizer.rounding == other.rounding)
        return hu_fail(HU_ERR_PARSE, "format '%s': found a rounding mode, expected a format alone",
                       text);
    if (quantizer.scale != HU_SCALE_NONE)
        return hu_fail(HU_ERR_PARSE,
                       "format '%s': found a scale that depends on a tensor, expected a format "
                       "alone or scale=2^K",
                       text);
    *format = quantizer.format;
    return HU_OK;
}
