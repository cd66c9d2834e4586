#include "task/loss.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "op/loss_boxes.h"
#include "task/unlabelled.h"

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
    bool is_mixed = loss == &hu_loss_mixed_cross_entropy;
    hu_value_id in[] = {head, target, is_mixed ? facts->mix : facts->lengths}, out[HU_MAX_OUTPUTS];
    int inputs = loss->kind == HU_LOSS_SEQUENCE || is_mixed ? 3 : 2;
    char before[HU_NAME_BYTES];
    if (is_mixed && facts->mix == HU_NONE)
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
