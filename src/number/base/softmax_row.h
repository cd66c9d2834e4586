/* base/softmax_row.h - one row of logits in double: what everyone shares who takes a softmax.
 */
#ifndef HU_BASE_SOFTMAX_ROW_H
#define HU_BASE_SOFTMAX_ROW_H
#include <stdint.h>

#include "base/elementary.h"

/* log softmax(x)_c = x_c - most - log_sum. Subtracting the largest logit keeps exp from
 * overflowing. */
typedef struct hu_softmax_row {
    double most, log_sum;
} hu_softmax_row;

/* x [classes]; a NaN makes both numbers NaN. */
static inline hu_softmax_row hu_softmax_row_of(int64_t classes, const float *x) {
    double most = (double)x[0], sum = 0;
    for (int64_t c = 1; c < classes; c++)
        if ((double)x[c] > most || x[c] != x[c]) most = (double)x[c];
    for (int64_t c = 0; c < classes; c++) sum += hu_exp((double)x[c] - most);
    return (hu_softmax_row){most, hu_log(sum)};
}

static inline double hu_log_softmax(hu_softmax_row row, float x) {
    return (double)x - row.most - row.log_sum;
}

/* softmax(x)_c of a row's logit x_c */
static inline double hu_softmax(hu_softmax_row row, float x) {
    return hu_exp(hu_log_softmax(row, x));
}

#endif
