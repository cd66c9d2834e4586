/* How far two results may differ by chance alone: seeds, and a finite number of samples. */
#include <math.h>

#include "sweep/assign.h"

/* Diverged trainings tell nothing of the noise. */
static void add(const hu_assign_outcome *made, hu_noise *noise) {
    if (made->is_known && !isnan(made->value)) hu_noise_pool(noise, &made->spread);
}

void hu_assign_pool(hu_assign *assign, int rung) {
    hu_noise noise = {0};
    add(&assign->reference[rung], &noise);
    if (rung == assign->rungs - 1) add(&assign->high, &noise);
    for (uint32_t i = 0; i < assign->count; i++) add(&assign->candidate[i].rung[rung], &noise);
    assign->deviation[rung] = noise.freedom > 0.0 ? sqrt(noise.variance) : (double)NAN;
}

/* A share of so many samples, each right or wrong: binomial. Other metrics have no such bound. */
static double sample_variance(const hu_assign *assign, double value) {
    const double percent = 100.0;
    const hu_chance chance = {0.0, assign->dataset->validation.count};
    if (assign->metric->factor != percent || !(value >= 0.0 && value <= 1.0)) return 0.0;
    double deviation = hu_chance_deviation(&chance, value);
    return deviation * deviation;
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
