/* data/mixing.h - samples mixed in pairs (mixup, CutMix), and the thread that changes samples. */
#ifndef HU_DATA_MIXING_H
#define HU_DATA_MIXING_H
#include <halfulp/data.h>
#include <halfulp/random.h>

#include "data/augment.h"

/* ---- mix ---- */

/* Samples mixed in pairs: mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019).
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

/* ---- changer ---- */

/* Pictures that a network sees changed beyond crops and mirrors: RandAugment,
 * random erasing, mixtures of two (data/randaugment.h, mixing.h), in this order. What becomes
 * of a sample is a function of (settings, epoch, its index and that of its partner) alone.
 */

/* Room for so many threads. */
typedef struct hu_augmenter hu_augmenter;

/* Whether any of the settings asks for one. */
bool hu_changes(const hu_augment *augment);

/* field: of the pictures, borrowed; fillers: threads that fill at once, at least 1; more wait.
 * HU_ERR_ARGUMENT: RandAugment of pictures without three channels; HU_ERR_MEMORY. Owner frees with
 * hu_augmenter_free; NULL is allowed. */
hu_status hu_augmenter_create(const hu_field *field, const hu_augment *augment, uint64_t seed,
                              int fillers, hu_augmenter **augmenter);
void hu_augmenter_free(hu_augmenter *augmenter);

/* A sample as it is stored, and the changes of data/augment.h. Borrowed. */
typedef struct hu_stored {
    const uint8_t *bytes;
    hu_change change;
    int64_t index; /* in the data */
} hu_stored;

/* How a sample is mixed with its partner; weight 0 where nothing is. */
hu_mix hu_augmenter_mix(const hu_augmenter *augmenter, int64_t epoch, int64_t index);

/* sample [height, width, channels]; partner: NULL where there is none. By several threads at once.
 */
void hu_augmenter_fill(hu_augmenter *augmenter, const hu_byte_table *table, int64_t epoch,
                       const hu_stored *own, const hu_stored *partner, float *sample);

#endif
