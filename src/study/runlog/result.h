/* runlog/result.h - the metric of a training as its result has it, and whether the training
 * collapsed. */
#ifndef HU_RUNLOG_RESULT_H
#define HU_RUNLOG_RESULT_H
#include <stdbool.h>
#include <stddef.h>

#include <halfulp/status.h>

#include "base/statistics.h"
#include "render/json.h"
#include "task/task.h"

enum { HU_METRIC_TEXT_BYTES = 64, HU_METRIC_KEY_BYTES = 64 };

/* What the test samples gave; values as they are, not yet multiplied by the metric's factor. */
typedef struct hu_result_metric {
    const hu_metric *metric; /* never NULL: accuracy where the result names none */
    double last, best;       /* of the last and of the best evaluation, NaN: none */
} hu_result_metric;

/* Reads result.json, also of folders that know nothing but accuracy; result may be NULL. */
hu_result_metric hu_result_metric_of(const json_t *result);

/* The same of the samples held out: "validation_NAME" and "best_validation_NAME". */
hu_result_metric hu_result_validation_of(const json_t *result);

/* Adds these two, and "validation_samples". */
void hu_result_validation_put(json_t *result, const hu_result_metric *made, int64_t samples);

/* What the number of test samples alone leaves open of a share, such as an accuracy; variance NaN
 * where the result names no samples. Of other seeds it says nothing. */
hu_noise hu_result_noise(const json_t *result, double share);

/* Adds "task", "metric" {name, value, best, better}, "test_NAME" and "best_NAME". */
void hu_result_metric_put(json_t *result, const char *task, const hu_result_metric *made);

/* "test_accuracy": the key or column that a prefix and a metric make. */
const char *hu_metric_key(const char *prefix, const hu_metric *metric,
                          char key[HU_METRIC_KEY_BYTES]);

/* {"name", "better"}: what a list of runs says of its metric. New reference. */
json_t *hu_metric_json(const hu_metric *metric);

/* "87.31 %", and "87.31" without the unit; "-" for NaN. */
const char *hu_metric_text(const hu_metric *metric, double value, char text[HU_METRIC_TEXT_BYTES]);
const char *hu_metric_number(const hu_metric *metric, double value,
                             char text[HU_METRIC_TEXT_BYTES]);

/* "pixel accuracy": the name in words; "Pixel accuracy" for headings and the beginning of a
 * sentence; "pixel accuracy, %" for axes. */
const char *hu_metric_words(const hu_metric *metric, char text[HU_METRIC_TEXT_BYTES]);
const char *hu_metric_heading(const hu_metric *metric, char text[HU_METRIC_TEXT_BYTES]);
const char *hu_metric_axis(const hu_metric *metric, char text[HU_METRIC_TEXT_BYTES]);

/* ---- Whether a training fell back to chance ---- */

enum { HU_COLLAPSE_BYTES = 256 };

/* Whether a training collapsed: its metric was worse than half of its own best (twice, where lower
 * is better) in the last third of at least three evaluations, or the last one lies within two
 * standard deviations of what a guess gives, of a metric that knows chance.
 *
 *   test    [count] evaluations in their order
 *   reason  what is so, in a sentence; "" if the answer is no
 *
 * Source: Lee et al., section 5: "accuracy decreases significantly and remains low".
 */
bool hu_collapsed(const hu_metric *metric, const hu_chance *chance, const double *test,
                  size_t count, char reason[HU_COLLAPSE_BYTES]);

/* The same of a run folder, whose metrics.jsonl has the evaluations: those of the held-out samples
 * where it has such, else of the test samples. HU_ERR_MISSING,
 * HU_ERR_CORRUPT. */
hu_status hu_collapse_read(const char *folder, const hu_metric *metric, const hu_chance *chance,
                           char reason[HU_COLLAPSE_BYTES]);

#endif
