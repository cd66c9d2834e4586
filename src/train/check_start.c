#include "train/check_start.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "op/geometry.h"

/* Is the last word of a name, behind a dot or alone, this one? */
static bool ends_in(const char *name, const char *word) {
    const char *dot = strrchr(name, '.');
    return strcmp(dot ? dot + 1 : name, word) == 0;
}

static bool is_norm_weight(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    const hu_op *op = graph->node[graph->use[value->uses[0]].node].op;
    bool is_norm = op == &hu_op_batch_norm || op == &hu_op_range_norm || op == &hu_op_layer_norm;
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
