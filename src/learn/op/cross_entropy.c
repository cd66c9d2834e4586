#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/elementary.h"
#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "op/internal.h"

/* ---- What all losses share ---- */

size_t hu_loss_stats_count(const hu_node_info *info) {
    (void)info;
    return HU_LOSS_STATS;
}

size_t hu_loss_partial_count(const hu_node_info *info, hu_pass pass) {
    (void)info;
    return pass == HU_FORWARD ? HU_LOSS_STATS : 0;
}

/* The merged sums of the chunks are the sums of the batch. */
void hu_loss_finish(const hu_op_call *call, hu_pass pass) {
    if (pass == HU_FORWARD) memcpy(call->stats, call->partial, HU_LOSS_STATS * sizeof(double));
}

/* ---- Attributes of log_softmax ---- */

static const hu_attribute log_softmax_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "kept", offsetof(hu_log_softmax_attrs, kept), 0, 0, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static int64_t kept_of(const void *attrs) {
    return attrs ? ((const hu_log_softmax_attrs *)attrs)->kept : 0;
}

static hu_status log_softmax_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                   hu_shape *out) {
    (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    hu_status st = hu_expect_rank_least("log_softmax", in, 1);
    if (st == HU_OK && (kept_of(attrs) < 0 || kept_of(attrs) >= hu_channels(in)))
        return hu_fail(HU_ERR_SHAPE,
                       "log_softmax: %" PRId64 " of %" PRId64
                       " numbers of a row are kept, expected 0 or more and at least one logit",
                       kept_of(attrs), hu_channels(in));
    return st;
}

static int64_t softmax_rows_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

/* Both may be one array. */
static void keep(int64_t count, const float *from, float *to) {
    if (count > 0) memmove(to, from, (size_t)count * sizeof *to);
}

/* x [count, .., classes + kept] -> y, the same shape */
static void log_softmax_forward(const hu_op_call *call) {
    int64_t width = hu_channels(&call->info->in[0]), kept = kept_of(call->info->attrs);
    int64_t classes = width - kept;
    for (int64_t r = 0; r < softmax_rows_of(call); r++) {
        const float *x = call->in[0] + r * width;
        float *y = call->out[0] + r * width;
        hu_softmax_row row = hu_softmax_row_of(classes, x);
        for (int64_t c = 0; c < classes; c++) y[c] = (float)hu_log_softmax(row, x[c]);
        keep(kept, x + classes, y + classes);
    }
}

/* dx = dy - exp(y) * sum(dy), y the rounded output (Lee et al.), dy where numbers are kept; all
 * [count, .., classes + kept] */
static void log_softmax_backward(const hu_op_call *call) {
    int64_t width = hu_channels(&call->info->in[0]), kept = kept_of(call->info->attrs);
    int64_t classes = width - kept;
    if (!call->din[0]) return;
    for (int64_t r = 0; r < softmax_rows_of(call); r++) {
        const float *y = call->out[0] + r * width, *dy = call->dout[0] + r * width;
        float *dx = call->din[0] + r * width;
        double sum = 0;
        for (int64_t c = 0; c < classes; c++) sum += (double)dy[c];
        for (int64_t c = 0; c < classes; c++)
            dx[c] = (float)((double)dy[c] - hu_exp((double)y[c]) * sum);
        keep(kept, dy + classes, dx + classes);
    }
}

const hu_op hu_op_log_softmax = {.name = "log_softmax",
                                 .keeps_rows = true,
                                 .attrs_bytes = sizeof(hu_log_softmax_attrs),
                                 .attributes = log_softmax_attributes,
                                 .min_in = 1,
                                 .max_in = 1,
                                 .is_cheap = true,
                                 .in_place = true,
                                 .shape = log_softmax_shape,
                                 .saves = HU_SAVE_OUTPUT_0,
                                 .forward = log_softmax_forward,
                                 .backward = log_softmax_backward};

/* ---- loss rows ---- */

/* Losses of rows with a class each: nll on log-probabilities, softmax_cross_entropy on logits,
 * adaptive_cross_entropy on logits of a head and of bands. */

enum { NO_CLASS = -1 /* as hu_whole_below has it */, IGNORED = -2, TARGETS = 1, BANDS = 2 };

/* Rows that are looked at together. */
enum { ROWS = 64 };

static const hu_attribute row_loss_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "ignores", offsetof(hu_row_loss_attrs, ignores), 0, 0, 0},
    {HU_ATTRIBUTE_REAL, "ignored", offsetof(hu_row_loss_attrs, ignored), 0, 0, 0},
    {HU_ATTRIBUTE_REAL, "smoothing", offsetof(hu_row_loss_attrs, smoothing), 0, 0, 1},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* ---- targets ---- */

static hu_status check_smoothing(const char *op, const hu_row_loss_attrs *attrs) {
    if (!attrs || (attrs->smoothing >= 0.0f && attrs->smoothing <= 1.0f)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: smoothing: found %g, expected 0 to 1", op,
                   (double)attrs->smoothing);
}

/* Predictions [.., classes] and targets [..]; a target of one element fits one row of any rank. */
static hu_status row_loss_shape(const char *op, const void *attrs, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    enum { SHAPE_TEXT = 176 };
    char prediction[SHAPE_TEXT], target[SHAPE_TEXT];
    hu_status st = hu_expect_rank_least(op, &in[0], 1);
    if (st == HU_OK) st = check_smoothing(op, attrs);
    if (st != HU_OK) return st;
    hu_shape rows = in[0];
    rows.rank--;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
    if (hu_shape_equal(&rows, &in[1])) return HU_OK;
    if (hu_shape_elements(&rows) == 1 && hu_shape_elements(&in[1]) == 1) return HU_OK;
    hu_shape_print(&in[0], prediction, sizeof prediction);
    hu_shape_print(&in[1], target, sizeof target);
    return hu_fail(HU_ERR_SHAPE,
                   "%s: the targets have the shape %s per sample, expected one target for each row "
                   "of %s",
                   op, target, prediction);
}

/* HU_ERR_SHAPE unless the bands fit the head. */
static hu_status expect_bands(const char *op, const hu_shape *head, int n, const hu_shape *bands) {
    for (int b = 0; b < n; b++) {
        hu_shape rows = bands[b];
        if (rows.rank > 0) rows.extent[rows.rank - 1] = hu_channels(head);
        if (!hu_shape_equal(&rows, head) || hu_channels(head) <= n)
            return hu_fail(HU_ERR_SHAPE,
                           "%s: band %d of %d has not the rows of the head, or there are no words "
                           "in front of the bands' scores",
                           op, b + 1, n);
    }
    return HU_OK;
}

/* Words of a head and its n bands. */
static int64_t band_words(const hu_shape *head, int n, const hu_shape *bands) {
    int64_t words = hu_channels(head) - n;
    for (int b = 0; b < n; b++) words += hu_channels(&bands[b]);
    return words;
}

/* Bands after the head; most losses have none. */
static int bands_of(const hu_node_info *info) {
    return info->n_in - BANDS;
}

/* The class that a target names, NO_CLASS for what is not one of 0..classes-1, or IGNORED. */
static int64_t class_of(const hu_node_info *info, float target) {
    const hu_row_loss_attrs *attrs = info->attrs;
    int64_t classes = band_words(&info->in[0], bands_of(info), &info->in[BANDS]);
    if (attrs && attrs->ignores && target == attrs->ignored) return IGNORED;
    return hu_whole_below(target, classes);
}

static int64_t rows_of(const hu_node_info *info) {
    return hu_shape_elements(&info->in[1]);
}

/* Units are the rows that are not ignored; one without a class counts, and its loss is NaN. */
static int64_t check_target(const hu_node_info *info, int64_t count, const float *target,
                            hu_round_counts *counts) {
    int64_t counted = 0, n = count * rows_of(info);
    for (int64_t r = 0; r < n; r++) {
        int64_t c = class_of(info, target[r]);
        counted += c != IGNORED;
        counts->nan += c == NO_CLASS;
    }
    counts->elements += (uint64_t)n;
    return counted;
}

/* Where a class is: an entry of the head, and after one that stands for a band an entry of it. */
typedef struct place {
    int64_t head, entry;
    int band; /* -1: none */
} place;

static place place_of(const hu_node_info *info, int64_t class) {
    int64_t bands = bands_of(info), first = hu_channels(&info->in[0]) - bands;
    for (int b = 0; class >= first && b < bands; b++) {
        int64_t size = hu_channels(&info->in[BANDS + b]), head = hu_channels(&info->in[0]);
        if (class < first + size) return (place){head - bands + b, class - first, b};
        first += size;
    }
    return (place){class, 0, -1};
}

/* A row of scores of a band. */
static const float *band_row(const hu_op_call *call, int band, int64_t row) {
    return call->in[BANDS + band] + row * hu_channels(&call->info->in[BANDS + band]);
}

/* Entries of n targets in the head. */
static void classes_of(const hu_node_info *info, int64_t n, const float *target, int64_t *class) {
    for (int64_t i = 0; i < n; i++) class[i] = place_of(info, class_of(info, target[i])).head;
}

/* -log of the share that a row's class has of its band; 0 for those of the head. */
static double band_loss(const hu_op_call *call, int64_t row) {
    const hu_node_info *info = call->info;
    place p = place_of(info, class_of(info, call->in[TARGETS][row]));
    if (p.band < 0) return 0.0;
    const float *x = band_row(call, p.band, row);
    hu_softmax_row logs;
    hu_elementary()->row_logs(1, hu_channels(&info->in[BANDS + p.band]), x, &logs.most,
                              &logs.log_sum);
    return -hu_log_softmax(logs, x[p.entry]);
}

static int64_t at_most(int64_t n, int64_t most) {
    return n < most ? n : most;
}

/* ---- smoothing ---- */

/* What of a row's loss is the mean over all classes. */
static double smoothing_of(const hu_op_call *call) {
    const hu_row_loss_attrs *attrs = call->info->attrs;
    return attrs && call->training ? (double)attrs->smoothing : 0.0;
}

/* What a row is worth of which its class alone is worth of_class, and all classes together of_all.
 */
static double smoothed(double smoothing, int64_t classes, double of_class, double of_all) {
    return (1.0 - smoothing) * of_class + smoothing / (double)classes * of_all;
}

/* ---- sums ---- */

/* Up to ROWS rows of the chunk, from row `first` on. is_reduced: forward has seen them already. */
typedef struct row_block {
    int64_t first, n;
    bool is_reduced;
} row_block;

/* Losses of the rows of a block; those without a class get what is NaN, those that are ignored
 * anything. all: where not NULL, the sum of the losses that the classes of a row would give. */
typedef void (*row_losses)(const hu_op_call *call, row_block block, const int64_t *class,
                           double *loss, double *all);

/* The rows of one sample in order. */
static double sample_loss(const hu_op_call *call, row_losses losses, int64_t sample,
                          bool is_reduced) {
    const hu_node_info *info = call->info;
    int64_t classes = hu_channels(&info->in[0]), rows = rows_of(info), counted = 0;
    int64_t end = (sample + 1) * rows, class[ROWS];
    double sum = 0, loss[ROWS], all[ROWS], smoothing = smoothing_of(call);
    for (int64_t first = sample * rows; first < end; first += ROWS) {
        int64_t n = at_most(end - first, ROWS);
        classes_of(info, n, call->in[1] + first, class);
        losses(call, (row_block){first, n, is_reduced}, class, loss, smoothing > 0 ? all : NULL);
        for (int64_t i = 0; i < n && smoothing > 0; i++)
            loss[i] = smoothed(smoothing, classes, loss[i], all[i]);
        for (int64_t i = 0; i < n && bands_of(info) > 0; i++) loss[i] += band_loss(call, first + i);
        for (int64_t i = 0; i < n; i++)
            if (class[i] != IGNORED)
                sum = counted++ ? sum + loss[i] : loss[i]; /* one row is itself, -0 included */
    }
    return sum;
}

/* in[0] [count, rows, classes], in[1] [count, rows] -> out[0] [count] */
static void forward(const hu_op_call *call, row_losses losses) {
    for (int64_t s = 0; s < call->count; s++)
        call->out[0][s] = (float)sample_loss(call, losses, s, false);
}

/* Is the class the first of the largest entries? Not where there is a NaN. */
static bool is_first_largest(int64_t classes, const float *x, int64_t class) {
    enum { PART = 512 }; /* most rows have a larger entry in their first part */
    float own = x[class];
    int others = 0;
    for (int64_t first = 0; first < classes && !others; first += PART) {
        int64_t end = at_most(classes, first + PART), middle = at_most(class, end);
#pragma omp simd reduction(| : others)
        for (int64_t c = first; c < middle; c++) others |= !(x[c] < own);
#pragma omp simd reduction(| : others)
        for (int64_t c = middle > first ? middle : first; c < end; c++) others |= !(x[c] <= own);
    }
    return !others;
}

/* Rows of the chunk whose largest entry is the target. */
static int64_t correct_rows(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int64_t classes = hu_channels(&info->in[0]), correct = 0;
    for (int64_t r = 0; r < call->count * rows_of(info); r++) {
        place p = place_of(info, class_of(info, call->in[TARGETS][r]));
        if (p.head < 0 || !is_first_largest(classes, call->in[0] + r * classes, p.head)) continue;
        correct += p.band < 0 || is_first_largest(hu_channels(&info->in[BANDS + p.band]),
                                                  band_row(call, p.band, r), p.entry);
    }
    return correct;
}

static void reduce(const hu_op_call *call, hu_pass pass, row_losses losses) {
    double sum = 0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) sum += sample_loss(call, losses, s, true);
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = (double)correct_rows(call);
}

/* A class does not move: the gradient of the targets [count, rows], where somebody wants it, is 0.
 */
static void clear_target_gradient(const hu_op_call *call) {
    size_t n = (size_t)(call->count * rows_of(call->info));
    if (call->din[1]) memset(call->din[1], 0, n * sizeof *call->din[1]);
}

/* ---- nll ---- */

static hu_status nll_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    (void)n_in;
    return row_loss_shape("nll", attrs, in, n_out, out);
}

static void nll_rows(const hu_op_call *call, row_block block, const int64_t *class, double *loss,
                     double *all) {
    int64_t classes = hu_channels(&call->info->in[0]);
    const float *x = call->in[0] + block.first * classes;
    for (int64_t i = 0; i < block.n; i++)
        loss[i] = class[i] < 0 ? (double)NAN : -(double)x[i * classes + class[i]];
    for (int64_t i = 0; all && i < block.n; i++) {
        all[i] = 0;
        for (int64_t c = 0; c < classes; c++) all[i] -= (double)x[i * classes + c];
    }
}

static void nll_forward(const hu_op_call *call) {
    forward(call, nll_rows);
}

static void nll_reduce(const hu_op_call *call, hu_pass pass) {
    reduce(call, pass, nll_rows);
}

/* dx [classes] of a row that is smoothed, dy the gradient of its loss. */
static void nll_smoothed_slopes(double smoothing, int64_t classes, int64_t class, double dy,
                                float *dx) {
    for (int64_t c = 0; c < classes; c++)
        dx[c] = (float)(-dy * smoothed(smoothing, classes, (double)(c == class), 1.0));
}

/* dx [count, rows, classes] is -dout of the sample at each row's class, 0 elsewhere; unless it is
 * smoothed. */
static void nll_backward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int64_t classes = hu_channels(&info->in[0]), rows = rows_of(info);
    double smoothing = smoothing_of(call);
    clear_target_gradient(call);
    if (!call->din[0]) return;
    memset(call->din[0], 0, (size_t)(call->count * rows * classes) * sizeof(float));
    for (int64_t r = 0; r < call->count * rows; r++) {
        int64_t class = class_of(info, call->in[1][r]);
        float dy = call->dout[0][r / rows], *dx = call->din[0] + r * classes;
        if (class >= 0) dx[class] = -dy;
        if (class >= 0 && smoothing > 0)
            nll_smoothed_slopes(smoothing, classes, class, (double)dy, dx);
    }
}

const hu_op hu_op_nll = {.name = "nll",
                         .attrs_bytes = sizeof(hu_row_loss_attrs),
                         .attributes = row_loss_attributes,
                         HU_LOSS_RECORD,
                         .shape = nll_shape,
                         .check_target = check_target,
                         .saves = HU_SAVE_INPUT_1,
                         .reduce = nll_reduce,
                         .forward = nll_forward,
                         .backward = nll_backward};

/* ---- softmax_cross_entropy: log_softmax and nll in one, without a tensor between them ---- */

/* Rows of so many classes and more keep two numbers each for what comes after the forward pass;
 * of others they are made again. */
enum { KEEPING_CLASSES = 256, KEPT = 2 };

static bool keeps_logs(const hu_node_info *info) {
    return hu_channels(&info->in[0]) >= KEEPING_CLASSES;
}

static size_t cross_entropy_mask_bytes(const hu_node_info *info) {
    return keeps_logs(info) ? (size_t)rows_of(info) * KEPT * sizeof(double) : 0;
}

/* most, log_sum [ROWS] of log softmax(x)_c = x_c - most - log_sum, for the rows of a block. */
static void block_logs(const hu_op_call *call, row_block block, double *most, double *log_sum) {
    int64_t classes = hu_channels(&call->info->in[0]);
    double *all = keeps_logs(call->info) ? (double *)(void *)call->mask : NULL;
    double *kept = all ? all + KEPT * block.first : NULL;
    if (!kept || !block.is_reduced)
        hu_elementary()->row_logs(block.n, classes, call->in[0] + block.first * classes, most,
                                  log_sum);
    for (int64_t i = 0; kept && i < block.n; i++) {
        double *of_row = kept + KEPT * i;
        if (block.is_reduced)
            most[i] = of_row[0], log_sum[i] = of_row[1];
        else
            of_row[0] = most[i], of_row[1] = log_sum[i];
    }
}

static hu_status cross_entropy_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                     hu_shape *out) {
    (void)n_in;
    return row_loss_shape("softmax_cross_entropy", attrs, in, n_out, out);
}

/* -log softmax(x)_class */
static void cross_entropy_rows(const hu_op_call *call, row_block block, const int64_t *class,
                               double *loss, double *all) {
    int64_t classes = hu_channels(&call->info->in[0]);
    const float *x = call->in[0] + block.first * classes;
    double most[ROWS], log_sum[ROWS];
    block_logs(call, block, most, log_sum);
    for (int64_t i = 0; i < block.n; i++) {
        hu_softmax_row row = {most[i], log_sum[i]};
        loss[i] = class[i] < 0 ? (double)NAN : -hu_log_softmax(row, x[i * classes + class[i]]);
        if (!all) continue;
        all[i] = 0;
        for (int64_t c = 0; c < classes; c++) all[i] -= hu_log_softmax(row, x[i * classes + c]);
    }
}

static void cross_entropy_forward(const hu_op_call *call) {
    forward(call, cross_entropy_rows);
}

static void cross_entropy_reduce(const hu_op_call *call, hu_pass pass) {
    reduce(call, pass, cross_entropy_rows);
}

/* dx [classes] = dy (softmax(x) - t) of a row that is smoothed: t is the class for one share, all
 * classes alike for the other. */
static void smoothed_slopes(double smoothing, int64_t classes, const float *x, hu_softmax_row row,
                            int64_t class, double dy, float *dx) {
    for (int64_t c = 0; c < classes; c++) {
        double target = smoothed(smoothing, classes, (double)(c == class), 1.0);
        dx[c] = (float)(dy * (hu_softmax(row, x[c]) - target));
    }
}

/* dx = dy (softmax(x) - onehot(class)) of up to ROWS rows, dy [count] the gradients of the samples'
 * losses. A row without a class gives NaN as its loss does. */
static void cross_entropy_slopes(const hu_op_call *call, int64_t first, int64_t n) {
    const hu_node_info *info = call->info;
    int64_t classes = hu_channels(&info->in[0]), rows = rows_of(info), class[ROWS];
    const float *x = call->in[0] + first * classes;
    float *dx = call->din[0] + first * classes;
    double most[ROWS], log_sum[ROWS], dy[ROWS], smoothing = smoothing_of(call);
    classes_of(info, n, call->in[1] + first, class);
    for (int64_t i = 0; i < n; i++)
        dy[i] = class[i] == NO_CLASS ? (double)NAN : (double)call->dout[0][(first + i) / rows];
    block_logs(call, (row_block){first, n, true}, most, log_sum);
    if (smoothing == 0) hu_elementary()->row_slopes(n, classes, x, most, log_sum, class, dy, dx);
    for (int64_t i = 0; i < n && smoothing > 0; i++)
        smoothed_slopes(smoothing, classes, x + i * classes, (hu_softmax_row){most[i], log_sum[i]},
                        class[i], dy[i], dx + i * classes);
    for (int64_t i = 0; i < n; i++)
        if (class[i] == IGNORED) memset(dx + i * classes, 0, (size_t)classes * sizeof *dx);
}

/* x, dx [count, rows, classes], dout[0] [count] */
static void cross_entropy_backward(const hu_op_call *call) {
    int64_t rows = call->count * rows_of(call->info);
    clear_target_gradient(call);
    for (int64_t first = 0; call->din[0] && first < rows; first += ROWS)
        cross_entropy_slopes(call, first, at_most(rows - first, ROWS));
}

const hu_op hu_op_softmax_cross_entropy = {.name = "softmax_cross_entropy",
                                           .attrs_bytes = sizeof(hu_row_loss_attrs),
                                           .attributes = row_loss_attributes,
                                           HU_LOSS_RECORD,
                                           .shape = cross_entropy_shape,
                                           .check_target = check_target,
                                           .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                                           .mask_bytes = cross_entropy_mask_bytes,
                                           .reduce = cross_entropy_reduce,
                                           .forward = cross_entropy_forward,
                                           .backward = cross_entropy_backward};

/* ---- adaptive_cross_entropy: the same of a head, and of the band in which the class is ---- */

static hu_status adaptive_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    const hu_row_loss_attrs *a = attrs;
    hu_status st;
    HU_TRY(row_loss_shape("adaptive_cross_entropy", attrs, in, n_out, out));
    HU_TRY(expect_bands("adaptive_cross_entropy", &in[0], n_in - BANDS, &in[BANDS]));
    if (a && a->smoothing > 0.0f)
        st = hu_fail(HU_ERR_ARGUMENT, "adaptive_cross_entropy: found a smoothing of %g, expected 0",
                     (double)a->smoothing);
done:
    return st;
}

/* +0 but in the rows whose class is in the band: dx = dy (softmax(x) - onehot(class)). */
static void band_slopes(const hu_op_call *call, int band, float *dx) {
    const hu_node_info *info = call->info;
    int64_t rows = rows_of(info), classes = hu_channels(&info->in[BANDS + band]);
    memset(dx, 0, (size_t)(call->count * rows * classes) * sizeof *dx);
    for (int64_t r = 0; r < call->count * rows; r++) {
        place p = place_of(info, class_of(info, call->in[TARGETS][r]));
        if (p.band != band) continue;
        const float *x = band_row(call, band, r);
        double most, log_sum, dy = (double)call->dout[0][r / rows];
        hu_elementary()->row_logs(1, classes, x, &most, &log_sum);
        hu_elementary()->row_slopes(1, classes, x, &most, &log_sum, &p.entry, &dy,
                                    dx + r * classes);
    }
}

static void adaptive_backward(const hu_op_call *call) {
    cross_entropy_backward(call);
    for (int b = 0; b < bands_of(call->info); b++)
        if (call->din[BANDS + b]) band_slopes(call, b, call->din[BANDS + b]);
}

const hu_op hu_op_adaptive_cross_entropy = {.name = "adaptive_cross_entropy",
                                            .attrs_bytes = sizeof(hu_row_loss_attrs),
                                            .attributes = row_loss_attributes,
                                            HU_LOSS_RECORD_FROM(BANDS + 1, BANDS + HU_BANDS_MOST),
                                            .shape = adaptive_shape,
                                            .check_target = check_target,
                                            .saves = HU_SAVE_ALL_INPUTS,
                                            .mask_bytes = cross_entropy_mask_bytes,
                                            .reduce = cross_entropy_reduce,
                                            .forward = cross_entropy_forward,
                                            .backward = adaptive_backward};

/* ---- band_law ---- */

static hu_status law_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    (void)attrs;
    hu_status st = expect_bands("band_law", &in[0], n_in - 1, &in[1]);
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[in[0].rank - 1] = band_words(&in[0], n_in - 1, &in[1]);
    return HU_OK;
}

static void law_forward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int64_t size[HU_BANDS_MOST], head = hu_channels(&info->in[0]);
    if (call->training) return;
    for (int b = 0; b + 1 < info->n_in; b++) size[b] = hu_channels(&info->in[b + 1]);
    const hu_band_scores scores = {head, info->n_in - 1, size};
    hu_band_law(&scores, call->count * hu_shape_elements(&info->in[0]) / head, call->in,
                call->out[0]);
}

const hu_op hu_op_band_law = {.name = "band_law",
                              .min_in = 2,
                              .max_in = 1 + HU_BANDS_MOST,
                              .makes_facts = true,
                              .shape = law_shape,
                              .forward = law_forward};
