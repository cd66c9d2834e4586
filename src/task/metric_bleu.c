/* BLEU of the translations that greedy decoding says. */
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "task/bleu.h"

enum { SUMS = sizeof(hu_bleu) / sizeof(double) };

/* How often the n words at `run` stand in words [count]. */
static int64_t times(const int32_t *run, int64_t n, const int32_t *words, int64_t count) {
    int64_t found = 0;
    for (int64_t i = 0; i + n <= count; i++)
        found += memcmp(run, words + i, (size_t)n * sizeof *run) == 0;
    return found;
}

/* A run that stands k times in made matches min(k, times in wanted) times: as long as fewer stand
 * before it, it is one of these. */
void hu_bleu_add(const int32_t *made, int64_t m, const int32_t *wanted, int64_t n, hu_bleu *bleu) {
    for (int64_t order = 1; order <= HU_BLEU_ORDERS; order++)
        for (int64_t i = 0; i + order <= m; i++) {
            int64_t before = times(made + i, order, made, i + order - 1);
            bleu->match[order - 1] += before < times(made + i, order, wanted, n);
            bleu->count[order - 1] += 1.0;
        }
    bleu->words += (double)m;
    bleu->true_words += (double)n;
}

double hu_bleu_value(const hu_bleu *bleu) {
    double logs = 0.0, ratio = bleu->true_words / bleu->words;
    if (bleu->true_words == 0.0) return (double)NAN;
    for (int n = 0; n < HU_BLEU_ORDERS; n++) {
        if (bleu->match[n] == 0.0) return 0.0;
        logs += hu_log(bleu->match[n] / bleu->count[n]);
    }
    return hu_exp((ratio > 1.0 ? 1.0 - ratio : 0.0) + logs / HU_BLEU_ORDERS);
}

/* ---- of samples ---- */

static int64_t sum_count(const hu_metric_call *shape) {
    (void)shape;
    return SUMS;
}

/* Words in front of the one that ends a sentence, or of an unlabelled place; number [count]. */
static int64_t words_of(const float *row, int64_t count, float end, int32_t *number) {
    int64_t words = 0;
    for (; words < count && row[words] >= 0.0f && row[words] != end; words++)
        number[words] = (int32_t)row[words];
    return words;
}

/* The last labelled class of a target ends every sentence; -1 where none is labelled. */
static float end_of(const float *target, int64_t count) {
    while (count > 0 && target[count - 1] < 0.0f) count--;
    return count > 0 ? target[count - 1] : -1.0f;
}

size_t hu_bleu_scratch_bytes(const hu_metric_call *shape) {
    return 2 * (size_t)shape->targets * sizeof(int32_t);
}

static void add(const hu_metric_call *part, double *sums) {
    int32_t *made = part->scratch, *wanted = made + part->targets;
    hu_bleu bleu;
    if (!part->said) return; /* nothing is said: there is no BLEU */
    memcpy(&bleu, sums, sizeof bleu);
    for (int64_t s = 0; s < part->samples; s++) {
        const float *target = part->target + s * part->targets;
        float end = end_of(target, part->targets);
        int64_t n = words_of(target, part->targets, end, wanted);
        int64_t m = words_of(part->said + s * part->targets, part->targets, end, made);
        hu_bleu_add(made, m, wanted, n, &bleu);
    }
    memcpy(sums, &bleu, sizeof bleu);
}

static const hu_collection collection = {.sum_count = sum_count, .add = add};

static double value(const hu_metric_call *shape, const double *sums) {
    hu_bleu bleu;
    (void)shape;
    memcpy(&bleu, sums, sizeof bleu);
    return hu_bleu_value(&bleu);
}

const hu_metric hu_metric_bleu = {
    .name = "bleu",
    .help = "runs of one to four words that greedy translations share with the true ones",
    .heading = "BLEU",
    .unit = "",
    .factor = 100.0,
    .decimals = 2,
    .higher_is_better = true,
    .collection = &collection,
    .value = value};
