// clang-format off
/* data/mix.h - samples mixed in pairs: mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019).
 *
 * Positions 2k and 2k + 1 of an epoch are each other's partners, whatever the batches; the last of
 * an odd number stays as it is. Both see the other as it is after its own changes, and each draws
 * for itself. Words are those of key {seed, "mix", epoch}, of block 4,096 index + t (index: of the
 * sample in the data), u_i = word i / 2^32:
 *
 *   which     cutmix where u_0 of block 0 < switch and both are on
 *   share     of itself, Beta(A, A): the first try t = 1, 2, ... with p + q <= 1, p = u^(1/A),
 *             q = v^(1/A), u and v (words 0 and 1, + 1/2) / 2^32; share = p / (p + q), where both
 *             are 0 in float64 by their logarithms. Johnk 1964
 *   mixup     x = (1 - w) x + w y, w = 1 - share
 *   cutmix    a rectangle of height floor(H sqrt(1 - share)) and likewise width about the pixel
 *             floor(H u_1), floor(W u_2) of block 0, as much of it as lies inside, becomes y's;
 *             w is its share of all pixels
 */
// clang-format on
#ifndef HU_DATA_MIX_H
#define HU_DATA_MIX_H
#include <halfulp/data.h>
#include <halfulp/random.h>

typedef struct hu_mix {
    float weight; /* of the other sample */
    bool is_cut;  /* rows top .. bottom - 1 of columns left .. right - 1 are the other's; else all
                     pixels are mixed */
    int64_t top, bottom, left, right;
} hu_mix;

static inline bool hu_mixes(const hu_augment *augment) {
    return augment->mixup > 0.0 || augment->cutmix > 0.0;
}

/* key: {seed, "mix", epoch}. */
hu_mix hu_mix_draw(const hu_augment *augment, const hu_random_key *key, int64_t index,
                   int64_t height, int64_t width);

/* sample[height, width, channels] becomes the mixture with the other one. */
void hu_mix_apply(const hu_mix *mix, int64_t height, int64_t width, int64_t channels,
                  const float *other, float *sample);

#endif
