/* data/randaugment.h - RandAugment (Cubuk et al. 2019) as timm and DeiT have it,
 * "rand-m9-mstd0.5-inc1": two operations of fifteen for every picture, drawn with replacement, each
 * done with probability 1/2 at a strength of its own. The arithmetic of the operations is Pillow's.
 *
 * Words of key {seed, "randaugment", epoch}, block 4 index + n of operation n: number floor(15 u_0)
 * in the order below; done where u_1 < 1/2; its sign is minus where u_2 < 1/2. Strength m =
 * magnitude + std N, within 0..10, N normal number 4 index + n of key {seed, "randaugment
 * strength", epoch}.
 *
 *   0 autocontrast   each channel stretched to 0..255
 *   1 equalize       each channel's histogram made level
 *   2 invert         255 - x
 *   3 rotate         by +-3 m degrees
 *   4 posterize      to 4 - floor(0.4 m) bits
 *   5 solarize       255 - x from 256 - floor(25.6 m) on
 *   6 solarize add   x + floor(11 m), at most 255, below 128
 *   7..10            colour, contrast, brightness, sharpness: by 1 +- 0.09 m, at least 0.1
 *   11, 12 shear     rows, columns by +-0.03 m
 *   13, 14 move      right and left, up and down by +-0.045 m of the side
 *
 * What comes in from outside is the fill colour; pixels between others are bilinear. Pillow chooses
 * between that and bicubic at random, which is not done here.
 */
#ifndef HU_DATA_RANDAUGMENT_H
#define HU_DATA_RANDAUGMENT_H
#include <stdint.h>

#include <halfulp/random.h>

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
