/* How far two results may differ by chance alone: seeds, and a finite number of samples. */
#include <math.h>

#include "sweep/assign.h"

/* Adds the squared deviations of one precision; of one seed there are none. */
static void add(const hu_assign_outcome *made, double seeds, double *squares, double *freedom) {
    if (!made->is_known || isnan(made->value) || isnan(made->deviation)) return;
    *squares += (seeds - 1.0) * made->deviation * made->deviation;
    *freedom += seeds - 1.0;
}

void hu_assign_pool(hu_assign *assign, int rung) {
    double squares = 0.0, freedom = 0.0, seeds = (double)hu_keys_count(assign->seeds);
    add(&assign->reference[rung], seeds, &squares, &freedom);
    if (rung == assign->rungs - 1) add(&assign->high, seeds, &squares, &freedom);
    for (uint32_t i = 0; i < assign->count; i++)
        add(&assign->candidate[i].rung[rung], seeds, &squares, &freedom);
    assign->deviation[rung] = freedom > 0.0 ? sqrt(squares / freedom) : (double)NAN;
}

/* A share of so many samples, each right or wrong: binomial. Other metrics have no such bound. */
static double sample_variance(const hu_assign *assign, double value) {
    const double percent = 100.0;
    double samples = (double)assign->dataset->validation.count;
    if (assign->metric->factor != percent || !(value >= 0.0 && value <= 1.0)) return 0.0;
    return value * (1.0 - value) / samples;
}

double hu_assign_noise(const hu_assign *assign, int rung, const hu_assign_outcome *made) {
    double deviation = assign->deviation[rung], seeds = (double)hu_keys_count(assign->seeds);
    double variance = sample_variance(assign, made->value);
    if (!isnan(deviation)) variance += deviation * deviation / seeds;
    return assign->metric->factor * sqrt(variance);
}

double hu_assign_noise_of_two(const hu_assign *assign, int rung, const hu_assign_outcome *a,
                              const hu_assign_outcome *b) {
    return hypot(hu_assign_noise(assign, rung, a), hu_assign_noise(assign, rung, b));
}
