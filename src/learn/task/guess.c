#include "task/guess.h"

#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "media/ctc.h"

/* One field in both halves. */
typedef struct target {
    const hu_dataset *dataset;
    const hu_field *field;
    int number; /* of the field */
} target;

static hu_status unknown(const hu_task *task, const hu_dataset *dataset) {
    return hu_fail(HU_ERR_ARGUMENT,
                   "data %s: found no rule for what guessing is worth in the task %s, expected "
                   "classes, pictures, sequences or boxes in memory",
                   dataset->name, task->name);
}

/* The task's target, whose rows must be in memory. */
static hu_status find_target(const hu_task *task, const hu_dataset *dataset, target *t) {
    int at = hu_task_target(task);
    int number = at < 0 ? -1 : hu_dataset_find(dataset, task->field[at].field);
    if (number < 0 || !dataset->train.rows[number] || !dataset->test.rows[number])
        return unknown(task, dataset);
    *t = (target){dataset, &dataset->field[number], number};
    return HU_OK;
}

/* ---- rows of classes ---- */

/* Adds the labelled numbers of a half to count [classes]; returns how many there are. */
static double count_classes(const target *t, const hu_split *half, double *count) {
    const int32_t *label = half->rows[t->number];
    int64_t numbers = half->count * hu_field_elements(t->field);
    double sum = 0.0;
    for (int64_t i = 0; i < numbers; i++) {
        if (label[i] < 0) continue;
        count[label[i]] += 1.0;
        sum += 1.0;
    }
    return sum;
}

/* Mean of -log of the shares over the test half; share [classes]. */
static double mean_surprise(const target *t, const double *share) {
    const int32_t *label = t->dataset->test.rows[t->number];
    int64_t numbers = t->dataset->test.count * hu_field_elements(t->field);
    double sum = 0.0, counted = 0.0;
    for (int64_t i = 0; i < numbers; i++) {
        if (label[i] < 0) continue;
        sum -= hu_log(share[label[i]]);
        counted += 1.0;
    }
    return sum / counted;
}

static hu_status guess_classes(const hu_task *task, const target *t, double *value) {
    double *share = NULL;
    hu_status st;
    if (t->field->type != HU_FIELD_I32 || t->field->classes < 2) return unknown(task, t->dataset);
    HU_TRY(HU_NEW_ARRAY(&share, (size_t)t->field->classes));
    double counted = count_classes(t, &t->dataset->train, share);
    for (int64_t c = 0; c < t->field->classes; c++)
        share[c] = (share[c] + 1.0) / (counted + (double)t->field->classes);
    *value = mean_surprise(t, share);
done:
    hu_free(share);
    return st;
}

/* ---- pictures ---- */

/* mean [numbers] of the training half, in 0..1. */
static void mean_picture(const target *t, int64_t numbers, double *mean) {
    const uint8_t *bytes = t->dataset->train.rows[t->number];
    for (int64_t s = 0; s < t->dataset->train.count; s++)
        for (int64_t i = 0; i < numbers; i++) mean[i] += (double)bytes[s * numbers + i];
    for (int64_t i = 0; i < numbers; i++) mean[i] /= 255.0 * (double)t->dataset->train.count;
}

static hu_status guess_picture(const hu_task *task, const target *t, double *value) {
    double *mean = NULL, sum = 0.0;
    int64_t numbers = hu_field_elements(t->field), count = t->dataset->test.count;
    const uint8_t *bytes = t->dataset->test.rows[t->number];
    hu_status st;
    if (t->field->type != HU_FIELD_U8 || t->field->margin > 0) return unknown(task, t->dataset);
    HU_TRY(HU_NEW_ARRAY(&mean, (size_t)numbers));
    mean_picture(t, numbers, mean);
    for (int64_t i = 0; i < count * numbers; i++) {
        double error = (double)bytes[i] / 255.0 - mean[i % numbers];
        sum += error * error;
    }
    *value = sum / (double)(count * numbers);
done:
    hu_free(mean);
    return st;
}

/* ---- sequences ---- */

/* What every row of a sound says, and room for the paths of one sample. */
typedef struct speaker {
    const target *target;
    const double *share; /* [classes] of the labels, which add up to 1; the blank has none */
    int64_t classes, most, rows, stride;
    float *logs;  /* [rows, classes] */
    float *label; /* [most] */
    double *alpha;
} speaker;

static void say(const speaker *s, double blank) {
    for (int64_t t = 0; t < s->rows; t++)
        for (int64_t c = 0; c < s->classes; c++)
            s->logs[t * s->classes + c] =
                (float)hu_log(c == HU_CTC_BLANK ? blank : (1.0 - blank) * s->share[c]);
}

/* Minus the log-probability of sample i of a half. */
static double loss_of(const speaker *s, const hu_split *half, int64_t i) {
    const int32_t *label = (const int32_t *)half->rows[s->target->number] + i * s->most;
    int64_t count = half->length[s->target->number][i];
    for (int64_t k = 0; k < count; k++) s->label[k] = (float)label[k];
    const hu_ctc path = {.x = s->logs,
                         .target = s->label,
                         .rows = (half->length[0][i] + s->stride - 1) / s->stride,
                         .classes = s->classes,
                         .labels = count,
                         .states = 2 * count + 1,
                         .takes_logs = true,
                         .alpha = s->alpha};
    return -hu_ctc_log_probability(&path);
}

static double mean_loss(const speaker *s, const hu_split *half, double blank) {
    double sum = 0.0;
    say(s, blank);
    for (int64_t i = 0; i < half->count; i++) sum += loss_of(s, half, i);
    return sum / (double)half->count;
}

/* The best share of the blank: the loss has one minimum, which a golden section halves in on. */
static double best_blank(const speaker *s, const hu_split *half) {
    const double golden = 0.6180339887498949;
    double low = 0.01, high = 0.99;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double of_a = mean_loss(s, half, a), of_b = mean_loss(s, half, b);
    while (high - low > 1e-4) {
        if (of_a < of_b) {
            high = b, b = a, of_b = of_a;
            of_a = mean_loss(s, half, a = high - golden * (high - low));
        } else {
            low = a, a = b, of_a = of_b;
            of_b = mean_loss(s, half, b = low + golden * (high - low));
        }
    }
    return 0.5 * (low + high);
}

/* share [classes], of which class 0 has none. */
static void share_labels(const target *t, double *share) {
    double counted = count_classes(t, &t->dataset->train, share);
    int64_t labels = t->field->classes - 1;
    for (int64_t c = 1; c <= labels; c++) share[c] = (share[c] + 1.0) / (counted + (double)labels);
}

static hu_status guess_sequence(const hu_task *task, const target *t, int64_t stride,
                                double *value) {
    enum { FITTED = 256 }; /* samples are enough for one share */
    const hu_dataset *dataset = t->dataset;
    double *share = NULL;
    speaker s = {.target = t,
                 .classes = t->field->classes,
                 .most = t->field->extent[0],
                 .rows = dataset->field[0].extent[0],
                 .stride = stride};
    hu_status st;
    if (!dataset->train.length[t->number] || !dataset->train.length[0] || stride < 1)
        return unknown(task, dataset);
    HU_TRY(HU_NEW_ARRAY(&share, (size_t)s.classes));
    HU_TRY(HU_NEW_ARRAY(&s.logs, (size_t)(s.rows * s.classes)));
    HU_TRY(HU_NEW_ARRAY(&s.label, (size_t)s.most));
    HU_TRY(HU_NEW_ARRAY(&s.alpha, (size_t)(2 * (2 * s.most + 1))));
    share_labels(t, share);
    s.share = share;
    hu_split fitted = dataset->train;
    if (fitted.count > FITTED) fitted.count = FITTED;
    *value = mean_loss(&s, &dataset->test, best_blank(&s, &fitted));
done:
    hu_free(s.alpha);
    hu_free(s.label);
    hu_free(s.logs);
    hu_free(share);
    return st;
}

/* ---- boxes ---- */

/* The mean box of a class in the training half. */
static hu_box mean_box(const target *t, int64_t class_number) {
    const hu_split *half = &t->dataset->train;
    const float *rows = half->rows[t->number];
    hu_box mean = {0};
    double count = 0.0;
    for (int64_t s = 0; s < half->count; s++)
        for (int64_t b = 0; b < half->length[t->number][s]; b++) {
            const float *row = rows + (s * t->field->extent[0] + b) * HU_BOX_NUMBERS;
            if ((int64_t)row[HU_BOX_CLASS] != class_number) continue;
            hu_box box = hu_box_of_row(row);
            mean.x1 += box.x1, mean.y1 += box.y1, mean.x2 += box.x2, mean.y2 += box.y2;
            count += 1.0;
        }
    return (hu_box){mean.x1 / count, mean.y1 / count, mean.x2 / count, mean.y2 / count};
}

/* Of the mean box said in every test picture: all are equally sure, so precision is the same at
 * every recall, hits over pictures, up to the recall of hits over boxes. NaN: there is no box. */
static double precision_of(const target *t, int64_t class_number) {
    const hu_split *half = &t->dataset->test;
    const hu_box said = mean_box(t, class_number);
    const float *rows = half->rows[t->number];
    double hits = 0.0, boxes = 0.0;
    for (int64_t s = 0; s < half->count; s++) {
        bool is_hit = false;
        for (int64_t b = 0; b < half->length[t->number][s]; b++) {
            const float *row = rows + (s * t->field->extent[0] + b) * HU_BOX_NUMBERS;
            hu_box box = hu_box_of_row(row);
            if ((int64_t)row[HU_BOX_CLASS] != class_number) continue;
            boxes += 1.0;
            is_hit = is_hit || hu_box_iou(&said, &box) >= 0.5;
        }
        hits += is_hit;
    }
    return hits / (double)half->count * (hits / boxes);
}

static hu_status guess_boxes(const hu_task *task, const target *t, double *value) {
    double sum = 0.0, present = 0.0;
    if (!t->dataset->train.length[t->number]) return unknown(task, t->dataset);
    for (int64_t c = 0; c < t->field->classes; c++) {
        double precision = precision_of(t, c);
        if (isnan(precision)) continue;
        sum += precision;
        present += 1.0;
    }
    *value = sum / present;
    return HU_OK;
}

hu_status hu_task_guess(const hu_task *task, const hu_dataset *dataset, int64_t stride,
                        double *value) {
    target t;
    *value = (double)NAN;
    hu_status st = find_target(task, dataset, &t);
    if (st != HU_OK) return st;
    switch (task->kind) {
    case HU_LOSS_ROWS:
        return guess_classes(task, &t, value);
    case HU_LOSS_NUMBERS:
        return guess_picture(task, &t, value);
    case HU_LOSS_SEQUENCE:
        return guess_sequence(task, &t, stride, value);
    case HU_LOSS_BOXES:
        return guess_boxes(task, &t, value);
    default:
        return unknown(task, dataset);
    }
}
