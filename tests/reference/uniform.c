/* One element by the definition in uniform.h. */
#include "reference/uniform.h"

#include <math.h>

#include "base/bits.h"

/* NaN is neither below nor above. */
static float clamp(float t, float levels) {
    if (t < 0.0f) return 0.0f;
    if (t > levels) return levels;
    return t;
}

static float without_payload(float y) {
    return isnan(y) ? hu_f32_of_bits(HU_F32_NAN) : y;
}

uint32_t hu_uniform_reference(hu_uniform_scale scale, uint32_t bits, hu_rounding rounding, float x,
                              uint32_t word, float *value, float *residual) {
    const float levels = (float)((1u << bits) - 1);
    float above = x - scale.zero, t = above / scale.step, v = clamp(t, levels);
    if (residual) *residual = without_payload(rintf(v) - v);
    if (rounding == HU_ROUND_STOCHASTIC) t += (float)(word >> 8) * 0x1p-24f - 0.5f;
    float code = rintf(clamp(t, levels)), product = scale.step * code;
    if (value) *value = without_payload(product + scale.zero);
    return isnan(code) ? 0 : (uint32_t)code;
}
