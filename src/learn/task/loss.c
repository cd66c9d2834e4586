#include "task/loss.h"

#include <stdio.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/text.h"
#include "media/boxes.h"
#include "op/attributes.h"

/* The list of loss.h, in its order. */
static const hu_loss_form *const table[] = {
#define HU_LOSS_ROW(identifier) &hu_loss_##identifier,
    HU_LOSS_LIST(HU_LOSS_ROW)
#undef HU_LOSS_ROW
};
enum { LOSSES = sizeof table / sizeof *table };

const hu_loss_form *hu_loss_at(size_t i) {
    return i < LOSSES ? table[i] : NULL;
}

hu_status hu_loss_find(const char *name, const hu_loss_form **loss) {
    const char *names[LOSSES];
    char nearest[256];
    for (size_t i = 0; i < LOSSES; i++) {
        *loss = table[i];
        if (strcmp((*loss)->name, name) == 0) return HU_OK;
        names[i] = (*loss)->name;
    }
    *loss = NULL;
    hu_nearest(name, names, LOSSES, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "loss: found '%s', expected one like %s", name, nearest);
}

hu_softmax_row hu_loss_row(const hu_loss_form *loss, int64_t classes, const float *row) {
    return loss->before ? (hu_softmax_row){0.0, 0.0} : hu_softmax_row_of(classes, row);
}

/* After its op before the first loss, after both before others. */
static hu_status name_before(const hu_op *op, const char *loss, char name[HU_NAME_BYTES]) {
    bool is_first = strcmp(loss, "loss") == 0;
    int written = is_first ? snprintf(name, HU_NAME_BYTES, "%s", op->name)
                           : snprintf(name, HU_NAME_BYTES, "%s.%s", loss, op->name);
    if (written >= 0 && written < HU_NAME_BYTES) return HU_OK;
    return hu_fail(HU_ERR_LIMIT, "loss '%.40s...': the name is too long", loss);
}

hu_status hu_loss_add(const hu_loss_form *loss, hu_graph *graph, const char *name, hu_value_id head,
                      hu_value_id target, const hu_loss_facts *facts, float weight,
                      hu_normaliser normaliser) {
    hu_status st;
    hu_box_loss_attrs of_boxes = {.takes_logs = loss->before != NULL};
    hu_row_loss_attrs of_rows = hu_unlabelled_rows;
    const void *attrs = loss->attrs;
    hu_value_id in[] = {head, target, loss->takes_mix ? facts->mix : facts->lengths},
                out[HU_MAX_OUTPUTS];
    int inputs = loss->kind == HU_LOSS_SEQUENCE || loss->takes_mix ? 3 : 2;
    char before[HU_NAME_BYTES];
    if (loss->takes_mix && facts->mix == HU_NONE)
        return hu_fail(HU_ERR_ARGUMENT,
                       "loss '%s': found samples that are not mixed, expected data.mixup or "
                       "data.cutmix beside it",
                       loss->name);
    if (facts->anchors) of_boxes.anchors = *facts->anchors;
    of_rows.smoothing = (float)facts->smoothing;
    if (loss->kind == HU_LOSS_BOXES) attrs = &of_boxes;
    if (loss->kind == HU_LOSS_ROWS) attrs = &of_rows;
    if (loss->before) {
        HU_TRY(name_before(loss->before, name, before));
        HU_TRY(
            hu_graph_apply(graph, loss->before, before, NULL, loss->before_attrs, 1, &head, out));
        in[0] = out[0];
    }
    HU_TRY(hu_graph_apply(graph, loss->op, name, NULL, attrs, inputs, in, out));
    st = hu_graph_loss_when(graph, out[0], weight, normaliser, facts->when);
done:
    return st;
}

/* ---- loss adversarial ---- */

/* Binary cross entropy of what one network says of pictures, as logits: real ones are 1 to it and
 * made ones 0; the other network wants its own to be 1 (the form of the paper that does not
 * saturate). Source: Goodfellow et al. 2014, section 3. */

const hu_loss_form hu_loss_adversarial = {
    .name = "adversarial",
    .help = "binary cross entropy of real and made pictures, in turns",
    .kind = HU_LOSS_ADVERSARIES,
    .op = &hu_op_bce_toward};

/* ---- loss bce ---- */

/* Binary cross entropy on logits, mean or sum over the numbers of a sample: the prediction of a
 * number in 0..1 is the logit's sigmoid. The sum is minus the log-likelihood of a picture whose
 * numbers are each the share of ones of a coin. */

/* hu_exp instead of libm's exp: the same bits on every machine. */
static double predicted(double logit) {
    return 1.0 / (1.0 + hu_exp(-logit));
}

const hu_loss_form hu_loss_bce = {.name = "bce",
                                  .help = "binary cross entropy on logits",
                                  .kind = HU_LOSS_NUMBERS,
                                  .predicted = predicted,
                                  .op = &hu_op_bce};

static const hu_element_loss_attrs summed = {.sums = true};

const hu_loss_form hu_loss_bce_sum = {.name = "bce_sum",
                                      .help =
                                          "binary cross entropy on logits, summed over a sample",
                                      .kind = HU_LOSS_LIKELIHOOD,
                                      .predicted = predicted,
                                      .token_loss = hu_cross_entropy,
                                      .op = &hu_op_bce,
                                      .attrs = &summed};

/* ---- loss ctc ---- */

/* Connectionist temporal classification: on logits in one node, or with the log-probabilities as a
 * tensor between. */

static const hu_ctc_attrs of_logs = {.takes_logs = true};

const hu_loss_form hu_loss_ctc = {.name = "ctc",
                                  .help = "all ways to spell a text in rows of scores, one node",
                                  .kind = HU_LOSS_SEQUENCE,
                                  .op = &hu_op_ctc_loss};

const hu_loss_form hu_loss_ctc_nll = {.name = "ctc_nll",
                                      .help = "the same behind a node of log-probabilities",
                                      .kind = HU_LOSS_SEQUENCE,
                                      .before = &hu_op_log_softmax,
                                      .op = &hu_op_ctc_loss,
                                      .attrs = &of_logs};

/* ---- loss faster rcnn ---- */

/* Faster-RCNN's loss of what is said of regions; the task adds that of the anchors. */

/* A row begins with the logits of the classes, the background first. */
const hu_loss_form hu_loss_faster_rcnn = {.name = "faster_rcnn",
                                          .help = "softmax and offsets, of regions and of anchors",
                                          .kind = HU_LOSS_REGIONS,
                                          .op = &hu_op_roi_loss};

/* ---- loss l1 ---- */

/* Mean absolute error: mean over the numbers of a sample, and over the samples. */

const hu_loss_form hu_loss_l1 = {
    .name = "l1", .help = "mean absolute error", .kind = HU_LOSS_NUMBERS, .op = &hu_op_l1};

/* ---- loss mixed cross entropy ---- */

/* Cross entropy of samples mixed of two (data.mixup, data.cutmix): what other losses of rows become
 * where the data are mixed. */

/* The head is a row of logits. */
const hu_loss_form hu_loss_mixed_cross_entropy = {
    .name = "mixed_cross_entropy",
    .help = "softmax and cross entropy of mixed samples (data.mixup, data.cutmix)",
    .kind = HU_LOSS_ROWS,
    .takes_mix = true,
    .op = &hu_op_mixed_cross_entropy};

/* ---- loss mse ---- */

/* Mean squared error: mean over the numbers of a sample, and over the samples. */

const hu_loss_form hu_loss_mse = {
    .name = "mse", .help = "mean squared error", .kind = HU_LOSS_NUMBERS, .op = &hu_op_mse};

/* ---- loss nll ---- */

/* Log-softmax and negative log-likelihood as two nodes, with a tensor between that a precision can
 * be given to (Lee et al.). */

/* The head of the loss is a row of log-probabilities. */
const hu_loss_form hu_loss_nll = {.name = "nll",
                                  .help = "log_softmax and negative log-likelihood, two nodes",
                                  .kind = HU_LOSS_ROWS,
                                  .before = &hu_op_log_softmax,
                                  .op = &hu_op_nll};

/* ---- loss softmax cross entropy ---- */

/* Softmax and cross entropy in one node: no tensor between, one buffer less. */

/* The head is a row of logits. */
const hu_loss_form hu_loss_softmax_cross_entropy = {.name = "softmax_cross_entropy",
                                                    .help = "softmax and cross entropy, one node",
                                                    .kind = HU_LOSS_ROWS,
                                                    .op = &hu_op_softmax_cross_entropy};

/* ---- loss ssd ---- */

/* SSD's loss of boxes: on logits in one node, or with the log-probabilities as a tensor between. */

static const hu_log_softmax_attrs keeps_offsets = {.kept = HU_OFFSETS};

/* A row is the logits of the classes, the background first. */
const hu_loss_form hu_loss_ssd = {.name = "ssd",
                                  .help = "softmax and offsets of boxes, one node",
                                  .kind = HU_LOSS_BOXES,
                                  .op = &hu_op_ssd_loss};

const hu_loss_form hu_loss_ssd_nll = {.name = "ssd_nll",
                                      .help = "the same behind a node of log-probabilities",
                                      .kind = HU_LOSS_BOXES,
                                      .before = &hu_op_log_softmax,
                                      .before_attrs = &keeps_offsets,
                                      .op = &hu_op_ssd_loss};
