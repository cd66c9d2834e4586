/* product/bias.h - a bias beside a product: added to its output, and its gradient. */
#ifndef HU_PRODUCT_BIAS_H
#define HU_PRODUCT_BIAS_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* y [rows, channels] += bias [channels] */
static inline void hu_bias_add(int64_t rows, int64_t channels, const float *bias, float *y) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < channels; c++) y[i * channels + c] += bias[c];
}

/* db [channels] += the rows of dy [rows, channels], in float32 and in order; starts: from +0. */
static inline void hu_bias_add_rows(bool starts, int64_t rows, int64_t channels, const float *dy,
                                    float *db) {
    if (starts) memset(db, 0, (size_t)channels * sizeof *db);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < channels; c++) db[c] += dy[i * channels + c];
}

#endif
