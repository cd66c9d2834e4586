/* kernel/lookup/lookup.c - the table of a normalisation. Two products give its floats only where
 * they do so for every byte of every channel. */
#include "kernel/lookup/lookup.h"

#include <math.h>
#include <string.h>

const hu_lookup_kernel *hu_lookup_here(void) {
    static const hu_lookup_kernel *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_lookup_kernel)};
    return of_isa[hu_cpu_isa()];
}

/* 1 / x as the sum of two floats. */
static void split_reciprocal(float x, float *high, float *low) {
    double exact = 1.0 / (double)x;
    *high = (float)exact;
    *low = (float)(exact - (double)*high);
}

static float by_products(const hu_lookup *l, int byte, int c) {
    float x = (float)byte, u = fmaf(x, l->unit[0], x * l->unit[1]), d = u - l->mean[c];
    return fmaf(d, l->scale[0][c], d * l->scale[1][c]);
}

void hu_lookup_normalise(float divisor, const float mean[HU_LOOKUP_CHANNELS],
                         const float std[HU_LOOKUP_CHANNELS], hu_lookup *lookup) {
    lookup->is_product = true;
    split_reciprocal(divisor, &lookup->unit[0], &lookup->unit[1]);
    for (int i = 0; i < HU_LOOKUP_LANES; i++) {
        lookup->mean[i] = mean[i % HU_LOOKUP_CHANNELS];
        split_reciprocal(std[i % HU_LOOKUP_CHANNELS], &lookup->scale[0][i], &lookup->scale[1][i]);
    }
    for (int c = 0; c < HU_LOOKUP_CHANNELS; c++)
        for (int byte = 0; byte < HU_LOOKUP_BYTES; byte++) {
            float value = ((float)byte / divisor - mean[c]) / std[c];
            float product = by_products(lookup, byte, c);
            lookup->value[byte][c] = value;
            if (memcmp(&value, &product, sizeof value) != 0) lookup->is_product = false;
        }
}
