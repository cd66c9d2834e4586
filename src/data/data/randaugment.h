/* data/randaugment.h - RandAugment and random erasing. */
#ifndef HU_DATA_RANDAUGMENT_H
#define HU_DATA_RANDAUGMENT_H
#include <stdint.h>

#include <halfulp/random.h>

/* ---- erase ---- */

/* Random erasing (Zhong et al. 2017) as timm and DeiT do it: a rectangle of a
 * picture becomes normal noise.
 *
 * Words of key {seed, "erase", epoch}, block 16 index + t: a picture loses a rectangle where u_0 of
 * block 15 < probability. Ten tries t, u_i = word i / 2^32: share = 0.02 + (1/3 - 0.02) u_0, ratio
 * = exp(log 0.3 + (log 10/3 - log 0.3) u_1), h = rint(sqrt(share H W ratio)), w = rint(sqrt(share H
 * W / ratio)); accepted if h < H and w < W; top = floor((H - h + 1) u_2), left likewise by u_3.
 * Element i of the picture becomes normal number index H W C + i of key {seed, "erase noise",
 * epoch}.
 */

/* sample [height, width, channels] */
void hu_erase(double probability, uint64_t seed, int64_t epoch, int64_t index, int64_t height,
              int64_t width, int64_t channels, float *sample);

enum { HU_RANDAUGMENT_CHANNELS = 3, HU_RANDAUGMENT_OPERATIONS = 15 };

typedef struct hu_randaugment {
    double magnitude, std;
    uint8_t fill[HU_RANDAUGMENT_CHANNELS];
} hu_randaugment;

/* image [height, width, 3], replaced; scratch: as long. */
void hu_randaugment_run(const hu_randaugment *settings, uint64_t seed, int64_t epoch, int64_t index,
                        int64_t height, int64_t width, uint8_t *image, uint8_t *scratch);

/* One operation at a strength of 0..10; sign 1 or -1. */
void hu_randaugment_apply(int operation, double strength, double sign, const uint8_t *fill,
                          int64_t height, int64_t width, uint8_t *image, uint8_t *scratch);

#endif
