#include "train/trainer.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "op/attributes.h"
#include "precision/adaptation.h"
#include "train/internal.h"

/* ---- begin ---- */

/* A training that begins where another one stands: for measurements on fixed
 * batches, which see the same step with several precisions. */

/* Arrays of the one are arrays of the other. */
static hu_status check_same_parameters(const hu_trainer *a, const hu_trainer *b) {
    bool same = a->parameter_count == b->parameter_count &&
                a->weights.elements == b->weights.elements &&
                a->weights.trained == b->weights.trained;
    for (uint32_t p = 0; same && p < a->parameter_count; p++) {
        hu_value_id v = a->name_order[p], w = b->name_order[p];
        same = strcmp(a->graph->value[v].name, b->graph->value[w].name) == 0 &&
               a->weights.offset[v] == b->weights.offset[w];
    }
    if (same) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "found %u parameters with %lld numbers to begin with, expected the %u with %lld "
                   "of this training, in their order",
                   b->parameter_count, (long long)b->weights.elements, a->parameter_count,
                   (long long)a->weights.elements);
}

static hu_status take_optimizer(hu_trainer *trainer, const hu_trainer *other) {
    hu_status st = HU_OK;
    const char *name;
    const void *data;
    size_t bytes;
    if (trainer->options.optimizer.kind != other->options.optimizer.kind)
        return hu_fail(HU_ERR_ARGUMENT, "found the state of optimizer %s, expected that of %s",
                       hu_optimizer_kinds[other->options.optimizer.kind].name,
                       hu_optimizer_kinds[trainer->options.optimizer.kind].name);
    if (strcmp(trainer->state_formats, other->state_formats) != 0)
        return hu_fail(HU_ERR_ARGUMENT, "found an optimizer whose state has other formats, "
                                        "expected those of this training (optimizer.state)");
    for (int t = 0; t < trainer->phases; t++)
        for (size_t i = 0; hu_optimizer_state(other->phase[t].optimizer, i, &name, &data, &bytes);
             i++)
            HU_TRY(hu_optimizer_restore(trainer->phase[t].optimizer, i, data, bytes));
done:
    return st;
}

hu_status hu_trainer_begin_at(hu_trainer *trainer, const hu_trainer *other) {
    hu_status st = HU_OK;
    HU_TRY(check_same_parameters(trainer, other));
    HU_TRY(take_optimizer(trainer, other));
    for (int t = 0; t < trainer->phases; t++)
        HU_TRY(hu_loss_scale_init(&trainer->options.scaler, &trainer->phase[t].scaler));
    memcpy(trainer->weights.block, other->weights.block,
           (size_t)other->weights.elements * sizeof *other->weights.block);
    if (!trainer->options.keep_masters) hu_round_masters(trainer);
    hu_weight_average_take(trainer, other);
    trainer->progress = (hu_train_progress){.last_metric_step = -1, .last_epoch_loss = (double)NAN};
    hu_plateau_begin(trainer);
    hu_early_stopping_begin(trainer);
done:
    return st;
}

hu_status hu_trainer_promote(hu_trainer *trainer, const hu_value_id *value, uint32_t count) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++) {
        if (hu_adaptation_table[a] != &hu_adaptation_promote || !trainer->adaptations.state[a])
            continue;
        hu_adaptation_promote.restore(trainer->adaptations.state[a], value, count * sizeof *value);
        return hu_adapt_between(trainer);
    }
    return hu_fail(HU_ERR_ARGUMENT, "found tensors to promote, expected a precision that promotes");
}

const float *hu_trainer_gradient(const hu_trainer *trainer) {
    return trainer->workers.gradient ? trainer->workers.gradient[0] : NULL;
}

/* ---- check start ---- */

/* A start without random numbers: every element of every parameter is a
 * function of the parameter's name and of the element's index, so that any other program can begin
 * with the same bits.
 *
 * With t = number i of the name (base/rng.h), element i, row-major in torch's shape, is
 *   1 + t/16      weights of norms,
 *   t/8           tables: names that are or end in pos, cls,
 *   t/16          other parameters of one extent,
 *   t 2^-floor((bits(fan) - 1) / 2)   all others; bits: length in binary
 *
 * where fan are the elements of a row, of a transposed convolution those of first extent x kernel /
 * stride^2. All are exact in float32 but the first, which is rounded once.
 */

/* Is the last word of a name, after a dot or alone, this one? */
static bool ends_in(const char *name, const char *word) {
    const char *dot = strrchr(name, '.');
    return strcmp(dot ? dot + 1 : name, word) == 0;
}

static bool is_norm_weight(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    const hu_op *op = graph->node[graph->use[value->uses[0]].node].op;
    bool is_norm = op == &hu_op_batch_norm || op == &hu_op_range_norm || op == &hu_op_layer_norm ||
                   op == &hu_op_group_norm || op == &hu_op_instance_norm || op == &hu_op_rms_norm;
    return is_norm && ends_in(value->name, "weight");
}

static bool is_table(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    const hu_op *op = graph->node[graph->use[value->uses[0]].node].op;
    bool is_looked_up = op == &hu_op_embedding || op == &hu_op_position;
    return is_looked_up || ends_in(value->name, "pos") || ends_in(value->name, "cls");
}

/* Elements of a row; of a transposed convolution, whose rows are inputs, those of the inputs that
 * reach one place of the output. */
static int64_t fan_of(const hu_graph *graph, hu_value_id v, const hu_shape *shape) {
    const hu_node *node = &graph->node[graph->use[graph->value[v].uses[0]].node];
    const hu_conv_attrs *conv = node->op == &hu_op_conv2d ? node->attrs : NULL;
    const hu_conv1d_attrs *rows = node->op == &hu_op_conv1d ? node->attrs : NULL;
    if (rows && rows->transposed) return shape->extent[0] * rows->kernel / rows->stride;
    if (!conv || !conv->transposed) return hu_shape_elements(shape) / shape->extent[0];
    return shape->extent[0] * conv->kernel_h * conv->kernel_w / (conv->stride_h * conv->stride_w);
}

/* floor((bits(fan) - 1) / 2) */
static int row_exponent(int64_t fan) {
    int bits = 0;
    for (; fan; fan >>= 1) bits++;
    return bits > 0 ? (bits - 1) / 2 : 0;
}

void hu_check_start_fill(const hu_graph *graph, hu_value_id v, const hu_shape *shape,
                         const char *salt, float *x) {
    const char *name = graph->value[v].name;
    int64_t elements = graph->value[v].elements;
    bool is_norm = is_norm_weight(graph, v);
    int exponent = is_table(graph, v) ? 3
                   : shape->rank <= 1 ? 4
                                      : row_exponent(fan_of(graph, v, shape));
    uint32_t hash = hu_formula_hash(hu_formula_hash(HU_FORMULA_HASH_START, salt), name);
    for (int64_t i = 0; i < elements; i++) {
        float t = hu_formula_number(hash, (uint32_t)i);
        x[i] = is_norm ? 1.0f + t / 16.0f : ldexpf(t, -exponent);
    }
}

const char *hu_check_salt(const char *init) {
    size_t length = strlen("check");
    if (strncmp(init, "check", length) != 0) return NULL;
    if (init[length] == ':') return init + length + 1;
    return init[length] == '\0' ? init + length : NULL;
}
