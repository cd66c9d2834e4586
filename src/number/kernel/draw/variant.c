/* kernel/draw/variant.c - Box-Muller as in hu_random_normal, in vectors: every lane goes through
 * the operations of base/elementary.c in their order, choices are selections. */
#include "kernel/draw/draw.h"
#include "kernel/elementary/lanes.h"

/* a where the mask is all ones, b where it is 0; compilers do not pull it out of a division. */
HU_INLINE double choose(uint64_t mask, double a, double b) {
    uint64_t other = hu_f64_bits(b);
    return hu_f64_of_bits(other ^ ((hu_f64_bits(a) ^ other) & mask));
}

/* hu_cos_turns; one loop for both series, that of the cosine begins a term later. */
HU_INLINE double cos_of(uint64_t turns) {
    const uint64_t quarter = UINT64_C(1) << 30;
    const double pi_by_2_31 = 0x1.921fb54442d18p-30;
    /* The turn is folded into its first eighth by the symmetries of the cosine; all steps are
     * exact. */
    double folded = double_of(turns), q = (double)quarter;
    folded = folded > 2 * q ? 4 * q - folded : folded;
    int is_negative = folded > q;
    folded = is_negative ? 2 * q - folded : folded;
    uint64_t is_cos = 0 - (uint64_t)(folded <= 0.5 * q);
    double x = choose(is_cos, folded, q - folded) * pi_by_2_31, z = x * x;
    double p = choose(is_cos, 0.0, -z / 272.0);
    HU_UNROLL
    for (int k = 16; k >= 4; k -= 2)
        p = (p + 1) * -z / choose(is_cos, (double)(k * (k - 1)), (double)((k - 1) * (k - 2)));
    double half = 0.5 * z, y = choose(is_cos, 1.0 - (half + half * p), x + x * p);
    return is_negative ? -y : y;
}

void HU_VARIANT(hu_normals)(size_t count, const uint32_t *words, float *x) {
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        /* u in (0, 1]: the logarithm of 0 cannot come up. */
        double u = (double_of(words[2 * i]) + 1.0) * 0x1p-32;
        x[i] = (float)(sqrt(-2.0 * log_of_normal(u)) * cos_of(words[2 * i + 1]));
    }
}
