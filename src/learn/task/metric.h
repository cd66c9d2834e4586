/* task/metric.h - how good a model is: sums over the test samples, in their order, and one number.
 * A metric is one line here; metrics of one collection lie in one file metric_<name>.c.
 */
#ifndef HU_TASK_METRIC_H
#define HU_TASK_METRIC_H
#include <stdbool.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "task/loss.h"

/* A part of the test samples: what the model said and what is true. */
typedef struct hu_metric_call {
    int64_t samples;
    int64_t rows;              /* of one sample: pixels; 1 where a sample is one row */
    int64_t outputs;           /* numbers of a row: classes, or channels */
    const float *prediction;   /* [samples, rows, outputs]; NULL where a format stopped the pass */
    const float *target;       /* [samples, rows] class numbers, [samples, rows, outputs], or
                                  [samples, most, 5] boxes */
    const hu_loss_form *loss;  /* what the prediction was trained for */
    const hu_anchors *anchors; /* of rows that say boxes beside anchors, else NULL */
    double loss_sum, units; /* of the first loss: its sum over the units that it counts, before any
                               rounding, and these; NaN and 0 where a format stopped the pass, and
                               for one sample of several */
    int64_t targets;        /* numbers of a sample's target */
    int64_t whole;          /* samples of all parts together, or more */
    int64_t width;          /* of pictures: rows = height x width; else 1 */
    int64_t border;         /* pixels at the edges of enlarged pictures that do not count */
    /* Of tasks with a code: means and log-variances, [samples, code] each; NULL where a format
     * stopped the pass. */
    int64_t code;
    const float *mean, *spread;
    /* Of tasks with pairs: scores [samples, 2], NULL where a format stopped the pass, and what is
     * true [samples]; else both NULL. */
    const float *pair_scores, *pair_label;
    /* Of rows that say boxes beside regions: [samples, rows, 4] in pixels of the picture; NULL
     * where a format stopped the pass. */
    const float *regions;
    hu_picture picture;
    /* Of rows that a sequence is compared with: [samples] how many of them count, else NULL. */
    const float *lengths;
    /* Of translations: [samples, targets] class numbers that greedy decoding says, the class that
     * ends a sentence or an unlabelled place behind the last; NULL where nothing is said. */
    const float *said;
    void *scratch; /* the task's scratch_bytes, for whoever looks at a sample */
} hu_metric_call;

/* What is summed over the samples. Metrics that name one collection share its sums: it walks once.
 */
typedef struct hu_collection {
    /* Doubles that the sums of a call's shape, and of the whole, need. */
    int64_t (*sum_count)(const hu_metric_call *shape);

    /* Sums of no sample. NULL: all are zeros. */
    void (*clear)(const hu_metric_call *shape, double *sums);

    /* Adds a part; parts come in the order of the samples, so that sums have one order. */
    void (*add)(const hu_metric_call *part, double *sums);

    /* Once behind the last part, before any value is asked: may change the order. NULL: nothing. */
    void (*finish)(const hu_metric_call *shape, double *sums);

    /* Classes that sums are kept for. NULL: they are of all samples together. */
    int64_t (*classes)(const hu_metric_call *shape);
} hu_collection;

typedef struct hu_metric {
    const char *name; /* "accuracy": key, column and word in sentences */
    const char *help;
    const char *heading; /* "PSNR": in headings; NULL: the name's words with a capital letter */
    const char *unit;    /* behind a printed number: " %", " dB", "" */
    double factor;       /* printed number = value x factor: 100 for shares */
    int decimals;        /* of a printed number */
    bool higher_is_better;
    const hu_collection *collection;

    /* The metric of the finished sums; NaN without samples. NULL: the mean over the classes that
     * the samples have. */
    double (*value)(const hu_metric_call *shape, const double *sums);

    /* Of such a mean: what one class gives, NaN where no sample has it; its key and its heading. */
    double (*of_class)(const hu_metric_call *shape, const double *sums, int64_t class_number);
    const char *class_name, *class_heading;

    /* What a guess among so many outputs is worth, of a metric that is a share of samples; NULL: of
     * another kind. */
    double (*chance)(int64_t outputs);

    /* The metric over a training batch from the sums that the first loss leaves (op/op.h) and its
     * units: samples or counted rows. NULL: not known without predictions. */
    double (*of_batch)(const double *stats, double units);
} hu_metric;

/* X(identifier). The one list of metrics: const hu_metric hu_metric_<identifier>. */
// clang-format off
#define HU_METRIC_LIST(X) \
    X(accuracy)           \
    X(psnr)               \
    X(luma_psnr)          \
    X(squared_error)      \
    X(mean_iou)           \
    X(mean_accuracy)      \
    X(pixel_accuracy)     \
    X(negative_elbo)      \
    X(reconstruction)     \
    X(divergence)         \
    X(mean_ap)            \
    X(mean_ap_11)         \
    X(fd64)               \
    X(perplexity)         \
    X(bits_per_token)     \
    X(label_error_rate)   \
    X(ctc_impossible)     \
    X(bleu)               \
    X(mlm_loss)           \
    X(mlm_accuracy)       \
    X(nsp_accuracy)
// clang-format on

#define HU_METRIC_DECLARE(identifier) extern const hu_metric hu_metric_##identifier;
HU_METRIC_LIST(HU_METRIC_DECLARE)
#undef HU_METRIC_DECLARE

/* Metric number i in the order of the list, NULL behind the last; and by name, NULL if unknown.
 * Borrowed: valid for ever. */
const hu_metric *hu_metric_at(size_t i);
const hu_metric *hu_metric_find(const char *name);

/* What guessing is worth, and the number of test samples that a share is of; 0: the metric knows no
 * chance. */
typedef struct hu_chance {
    double value;
    int64_t samples;
} hu_chance;

/* Standard deviation of a share of so many samples, each right with this probability. */
double hu_chance_deviation(const hu_chance *chance, double share);

/* True if a is better than b. A NaN is worse than every number. */
bool hu_metric_is_better(const hu_metric *metric, double a, double b);

/* The sums of a collection's shape before the first part. */
void hu_collection_clear(const hu_collection *collection, const hu_metric_call *shape,
                         double *sums);

/* The metric of the finished sums of its collection. */
double hu_metric_value(const hu_metric *metric, const hu_metric_call *shape, const double *sums);

/* The metric of one sample alone: of collections of at most four sums. */
double hu_metric_of_sample(const hu_metric *metric, const hu_metric_call *sample);

/* Class of the largest output of a row, the first of equal ones; -1 where one is NaN. */
int64_t hu_metric_class(int64_t outputs, const float *row);

#endif
