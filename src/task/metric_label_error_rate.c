/* How much of texts is spelled wrong, and samples that are too short for theirs. */
#include "sound/ctc.h"
#include "task/spelling.h"

/* Changes to all texts, their numbers, and samples that no path spells. */
enum { EDITS, LABELS, IMPOSSIBLE, SUMS };

static int64_t sum_count(const hu_metric_call *shape) {
    (void)shape;
    return SUMS;
}

static void add(const hu_metric_call *part, double *sums) {
    for (int64_t s = 0; s < part->samples; s++) {
        const hu_spelling found = hu_spelling_of(part, s);
        const float *target = part->target + s * part->targets;
        sums[EDITS] += (double)found.edits;
        sums[LABELS] += (double)found.wanted_count;
        sums[IMPOSSIBLE] +=
            (double)part->lengths[s] < (double)hu_ctc_least_rows(target, found.wanted_count);
    }
}

static const hu_collection collection = {.sum_count = sum_count, .add = add};

/* NaN (0/0) where nothing is to be said and nothing is said. */
static double error_rate(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[EDITS] / sums[LABELS];
}

static double impossible(const hu_metric_call *shape, const double *sums) {
    (void)shape;
    return sums[IMPOSSIBLE];
}

const hu_metric hu_metric_label_error_rate = {
    .name = "label_error_rate",
    .help = "changes that make the true texts of the best paths, over their length",
    .unit = " %",
    .factor = 100.0,
    .decimals = 2,
    .collection = &collection,
    .value = error_rate};

const hu_metric hu_metric_ctc_impossible = {
    .name = "ctc_impossible",
    .help = "samples with fewer rows than their text needs, which the loss leaves out",
    .heading = "CTC impossible",
    .unit = "",
    .factor = 1.0,
    .collection = &collection,
    .value = impossible};
