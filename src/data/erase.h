/* data/erase.h - random erasing (Zhong et al. 2017) as timm and DeiT do it: a rectangle of a
 * picture becomes normal noise.
 *
 * Words of key {seed, "erase", epoch}, block 16 index + t: a picture loses a rectangle where u_0 of
 * block 15 < probability. Ten tries t, u_i = word i / 2^32: share = 0.02 + (1/3 - 0.02) u_0, ratio
 * = exp(log 0.3 + (log 10/3 - log 0.3) u_1), h = rint(sqrt(share H W ratio)), w = rint(sqrt(share H
 * W / ratio)); accepted if h < H and w < W; top = floor((H - h + 1) u_2), left likewise by u_3.
 * Element i of the picture becomes normal number index H W C + i of key {seed, "erase noise",
 * epoch}.
 */
#ifndef HU_DATA_ERASE_H
#define HU_DATA_ERASE_H
#include <stdint.h>

/* sample [height, width, channels] */
void hu_erase(double probability, uint64_t seed, int64_t epoch, int64_t index, int64_t height,
              int64_t width, int64_t channels, float *sample);

#endif
