/* What short trainings say of groups. */
#include <math.h>

#include "base/statistics.h"
#include "precision/search.h"

/* A training that diverged loses more than any other. */
static const double DIVERGED = 1e9;

/* By how much a group is worse than everything high, over the seeds. Where everything high diverged
 * with a seed, it tells nothing of groups. */
static hu_spread cost_of(const double *loss, size_t seeds, size_t rows, size_t row) {
    hu_spread spread = {0};
    for (size_t s = 0; s < seeds; s++)
        if (!isnan(loss[s * rows])) hu_spread_add(&spread, loss[s * rows + row] - loss[s * rows]);
    return spread;
}

/* Seeds scatter alike in all groups. Of one seed, what is known is that no group trains better low
 * than high but by chance: gains are noise, and losses by chance are as large. NaN: not known. */
static double noise_of(const double *loss, size_t seeds, size_t rows) {
    hu_noise noise = {0};
    double squares = 0.0;
    int64_t gains = 0, counted = 0;
    for (size_t row = 1; row < rows; row++) {
        hu_spread spread = cost_of(loss, seeds, rows, row);
        double cost = hu_spread_mean(&spread);
        if (isnan(cost)) continue;
        hu_noise_pool(&noise, &spread);
        if (spread.count > counted) counted = spread.count;
        if (cost < 0.0) {
            squares += cost * cost;
            gains++;
        }
    }
    if (noise.freedom > 0.0) return sqrt(noise.variance / (double)counted);
    return gains > 0 ? sqrt(squares / (double)gains) : (double)NAN;
}

double hu_search_judge_short(const double *loss, size_t seeds, hu_search_groups *groups,
                             double *cost) {
    const double clearly = 2.0;
    size_t rows = (size_t)groups->tensors.count + 1;
    double noise = noise_of(loss, seeds, rows), least = isnan(noise) ? 0.0 : clearly * noise;
    for (size_t row = 1; row < rows; row++) {
        hu_spread spread = cost_of(loss, seeds, rows, row);
        double lost = hu_spread_mean(&spread);
        cost[row - 1] = lost;
        groups->trained[row - 1] = isnan(lost) ? DIVERGED : lost > least ? lost : 0.0;
        if (spread.count == 0) groups->trained[row - 1] = 0.0;
    }
    return noise;
}
