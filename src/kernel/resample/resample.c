#include "kernel/resample/resample.h"

#include "kernel/resample/halves.h"

const hu_resample *hu_resample_here(void) {
    static const hu_resample *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_resample)};
    return of_isa[hu_cpu_isa()];
}

static int64_t grouped(int64_t places) {
    return (places + HU_RESAMPLE_GROUP - 1) / HU_RESAMPLE_GROUP * HU_RESAMPLE_GROUP;
}

size_t hu_resample_words(int64_t places, int64_t most) {
    return (size_t)((most + 1) / 2 * 2 * grouped(places) * HU_RESAMPLE_WORDS);
}

static int32_t weight_of(const hu_resample_axis *axis, int64_t i, int64_t k) {
    return i < axis->places && k < axis->count[i] ? axis->weight[i * axis->most + k] : 0;
}

/* Every place of a group reads all pairs, whatever it has of them. */
void hu_resample_pair(hu_resample_axis *axis) {
    int64_t padded = grouped(axis->places), most = 0, last = 0;
    for (int64_t i = 0; i < axis->places; i++) {
        if (axis->count[i] > most) most = axis->count[i];
        if (axis->first[i] > last) last = axis->first[i];
    }
    axis->pairs = (most + 1) / 2;
    axis->reads = HU_RESAMPLE_CHANNELS * (last + 2 * (axis->pairs - 1)) + HU_RESAMPLE_WORDS;
    for (int64_t p = 0; p < axis->pairs; p++)
        for (int64_t i = 0; i < padded; i++)
            for (int64_t w = 0; w < HU_RESAMPLE_WORDS; w++) {
                int32_t weight = weight_of(axis, i, 2 * p + w % 2);
                int16_t *to = axis->halves + (2 * p * padded + i) * HU_RESAMPLE_WORDS + w;
                to[0] = (int16_t)(weight >> LOWER_BITS);
                to[padded * HU_RESAMPLE_WORDS] = (int16_t)(weight & ((1 << LOWER_BITS) - 1));
            }
}
