#include "task/task.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The list of metric.h, in its order. */
static const hu_metric *const table[] = {
#define HU_METRIC_ROW(identifier) &hu_metric_##identifier,
    HU_METRIC_LIST(HU_METRIC_ROW)
#undef HU_METRIC_ROW
};
enum { METRICS = sizeof table / sizeof *table };

const hu_metric *hu_metric_at(size_t i) {
    return i < METRICS ? table[i] : NULL;
}

const hu_metric *hu_metric_find(const char *name) {
    for (size_t i = 0; i < METRICS; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}

bool hu_metric_is_better(const hu_metric *metric, double a, double b) {
    /* x != x is true of NaN alone (IEEE 754-2019, 5.11: NaN is unordered, also with itself). */
    if (a != a) return false;
    if (b != b) return true;
    return metric->higher_is_better ? a > b : a < b;
}

double hu_chance_deviation(const hu_chance *chance, double share) {
    return chance->samples ? sqrt(share * (1.0 - share) / (double)chance->samples) : 0.0;
}

void hu_collection_clear(const hu_collection *collection, const hu_metric_call *shape,
                         double *sums) {
    if (collection->clear) {
        collection->clear(shape, sums);
        return;
    }
    for (int64_t i = 0; i < collection->sum_count(shape); i++) sums[i] = 0.0;
}

/* NaN (0/0) where the samples have no class. */
static double mean_over_classes(const hu_metric *metric, const hu_metric_call *shape,
                                const double *sums) {
    double total = 0.0, present = 0.0;
    for (int64_t c = 0; c < metric->collection->classes(shape); c++) {
        double value = metric->of_class(shape, sums, c);
        if (isnan(value)) continue;
        total += value;
        present += 1.0;
    }
    return total / present;
}

double hu_metric_value(const hu_metric *metric, const hu_metric_call *shape, const double *sums) {
    return metric->value ? metric->value(shape, sums) : mean_over_classes(metric, shape, sums);
}

double hu_metric_of_sample(const hu_metric *metric, const hu_metric_call *sample) {
    double sums[4];
    assert(metric->collection->sum_count(sample) <= (int64_t)(sizeof sums / sizeof *sums));
    hu_collection_clear(metric->collection, sample, sums);
    metric->collection->add(sample, sums);
    return hu_metric_value(metric, sample, sums);
}

int64_t hu_metric_class(int64_t outputs, const float *row) {
    int64_t best = 0;
    for (int64_t c = 0; c < outputs; c++) {
        /* A NaN has no place in an order, so the row has no largest number. */
        if (row[c] != row[c]) return -1;
        if (row[c] > row[best]) best = c;
    }
    return best;
}
