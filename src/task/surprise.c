#include "task/surprise.h"

#include <math.h>

#include "base/elementary.h"

enum { TOKENS, PERPLEXITY, CORRECT };

/* Minus the logarithms of what is said of the true tokens, added up. */
static double surprise(const hu_metric_call *sample, double *counted) {
    double sum = 0.0;
    *counted = 0.0;
    for (int64_t r = 0; r < sample->rows; r++) {
        const float *row = sample->prediction + r * sample->outputs;
        if (sample->target[r] < 0.0f) continue;
        hu_softmax_row shape = hu_loss_row(sample->loss, sample->outputs, row);
        sum -= hu_log_softmax(shape, row[(int64_t)sample->target[r]]);
        *counted += 1.0;
    }
    return sum;
}

void hu_describe_surprise(const hu_metric_call *sample, double *cells) {
    double counted = 0.0, sum = (double)NAN;
    if (sample->prediction) sum = surprise(sample, &counted);
    cells[TOKENS] = counted;
    cells[PERPLEXITY] = hu_exp(sum / counted);
    cells[CORRECT] = hu_metric_of_sample(&hu_metric_accuracy, sample);
}

int64_t hu_spell_surprise(const hu_metric_call *sample, bool is_truth, int32_t *number) {
    int64_t count = 0;
    for (int64_t r = 0; r < sample->rows; r++) {
        const float *row = sample->prediction ? sample->prediction + r * sample->outputs : NULL;
        if (sample->target[r] < 0.0f) continue;
        if (is_truth)
            number[count++] = (int32_t)sample->target[r];
        else if (row)
            number[count++] = (int32_t)hu_metric_class(sample->outputs, row);
    }
    return count;
}
