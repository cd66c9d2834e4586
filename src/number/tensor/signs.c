#include "tensor/signs.h"

#include <halfulp/round.h>

bool hu_quantizer_is_unsigned(const hu_quantizer *quantizer) {
    if (quantizer->kind != HU_QUANTIZER_FLOAT || !hu_quantizer_rounds(quantizer)) return false;
    float most = (float)hu_format_limits_of(&quantizer->format).max_finite;
    return !(hu_format_round(&quantizer->format, HU_ROUND_NEAREST_EVEN, -most, 0) < 0);
}
