#include "model/split.h"

#include <stdio.h>

#include "base/error.h"
#include "op/attributes.h"

bool hu_adds_bias(const hu_op *op, const void *attrs) {
    if (op == &hu_op_conv2d) return ((const hu_conv_attrs *)attrs)->has_bias;
    return op == &hu_op_linear && ((const hu_linear_attrs *)attrs)->has_bias;
}

/* The product alone. */
static hu_status apply_product(hu_graph *graph, const hu_op *op, const char *name,
                               const char *prefix, const void *attrs, const hu_value_id *in,
                               hu_bias_attrs *bias, hu_value_id *out) {
    char product[HU_NAME_BYTES];
    int written = snprintf(product, sizeof product, "%s.product", name);
    if (written < 0 || (size_t)written >= sizeof product)
        return hu_fail(HU_ERR_LIMIT, "layer '%.40s...': the name is too long", name);
    if (op == &hu_op_conv2d) {
        hu_conv_attrs conv = *(const hu_conv_attrs *)attrs;
        bias->bias_init = conv.bias_init;
        conv.has_bias = false;
        return hu_graph_apply(graph, op, product, prefix, &conv, 1, in, out);
    }
    hu_linear_attrs linear = *(const hu_linear_attrs *)attrs;
    bias->bias_init = linear.bias_init;
    linear.has_bias = false;
    return hu_graph_apply(graph, op, product, prefix, &linear, 1, in, out);
}

hu_status hu_apply_split(hu_graph *graph, const hu_op *op, const char *name, const char *prefix,
                         const void *attrs, const hu_value_id *in, hu_value_id *out) {
    hu_status st = HU_OK;
    hu_value_id inner[HU_MAX_OUTPUTS];
    hu_bias_attrs bias = {0};
    if (!prefix) prefix = name;
    HU_TRY(apply_product(graph, op, name, prefix, attrs, in, &bias, inner));
    HU_TRY(hu_graph_apply(graph, &hu_op_bias, name, prefix, &bias, 1, inner, out));
done:
    return st;
}
