/* What groups would lose in the low formats, and what would be promoted, as the exponent histograms
 * of the float32 run tell it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "journal/history.h"
#include "sweep/assign.h"
#include "tensor/exponent_histogram.h"

/* A tensor of a histogram: its value, and whether it is the gradient. HU_NONE: none of the graph.
 */
static hu_value_id find_tensor(const hu_graph *graph, const char *name, bool *is_gradient) {
    static const char suffix[] = ".grad";
    char plain[HU_NAME_BYTES];
    size_t length = strlen(name), end = sizeof suffix - 1;
    *is_gradient = length > end && strcmp(name + length - end, suffix) == 0;
    if (*is_gradient) length -= end;
    if (length >= sizeof plain) return HU_NONE;
    memcpy(plain, name, length);
    plain[length] = '\0';
    return hu_graph_find(graph, plain);
}

static hu_role role_of(const hu_assign *assign, hu_value_id v, bool is_gradient) {
    if (assign->graph->value[v].role == HU_VALUE_PARAMETER)
        return is_gradient ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_WEIGHT;
    return is_gradient ? HU_ROLE_ACT_GRAD : HU_ROLE_ACT;
}

/* The low format of a tensor; NULL: it is never low. */
static const hu_quantizer *low_of(const hu_assign *assign, hu_value_id v, bool is_gradient) {
    const hu_quantizer *low = &assign->precision.low[role_of(assign, v, is_gradient)];
    return hu_quantizer_rounds(low) ? low : NULL;
}

/* The format that a tensor of a low group has in the end. */
static const hu_quantizer *ends_in(const hu_assign *assign, hu_value_id v, bool is_gradient) {
    if (!is_gradient && assign->groups.is_promoted[v])
        return &assign->precision.high[role_of(assign, v, false)];
    return low_of(assign, v, is_gradient);
}

/* The histogram of a tensor that may be low, in some step. */
typedef struct seen {
    const hu_exponents *exponents;
    hu_value_id v;
    bool is_gradient;
    const hu_quantizer *low;
} seen;

/* Calls visit for all of them, step by step. */
static void each_seen(hu_assign *assign, const hu_history *history,
                      void (*visit)(hu_assign *assign, const seen *tensor, void *context),
                      void *context) {
    for (size_t h = 0; h < history->histogram_count; h++)
        for (uint32_t t = 0; t < history->histograms[h].count; t++) {
            const hu_tensor_exponents *x = &history->histograms[h].tensor[t];
            seen tensor = {.exponents = &x->exponents};
            tensor.v =
                find_tensor(assign->graph, history->tensors.name[x->tensor], &tensor.is_gradient);
            if (tensor.v == HU_NONE) continue;
            tensor.low = low_of(assign, tensor.v, tensor.is_gradient);
            if (tensor.low) visit(assign, &tensor, context);
        }
}

/* Forward tensors of which so much lay beyond their low format in some step are expected to be
 * promoted. A scale that follows the tensor leaves nothing beyond. */
static void expect_promotion(hu_assign *assign, const seen *tensor, void *unused) {
    const hu_quantizer *low = tensor->low;
    (void)unused;
    if (tensor->is_gradient || low->kind != HU_QUANTIZER_FLOAT || low->history > 0 ||
        hu_quantizer_needs_maximum(low))
        return;
    double share = hu_exponents_lost(tensor->exponents, &low->format, 0).overflow.share;
    if (share > 0.0 && share >= assign->precision.promote_at)
        hu_search_promote(&assign->groups, tensor->v);
}

/* shift: the largest power of two under which no gradient seen so far overflows its low format. */
static void lower_shift(hu_assign *assign, const seen *tensor, void *shift) {
    int32_t top = hu_exponents_top(tensor->exponents), *least = shift;
    (void)assign;
    if (!tensor->is_gradient || tensor->low->kind != HU_QUANTIZER_FLOAT || top == HU_NO_EXPONENT)
        return;
    int32_t here = hu_exponents_scale(top, &tensor->low->format) - 1;
    if (here < *least) *least = here;
}

/* The largest error of each tensor over the steps. */
typedef struct errors {
    int32_t shift; /* of gradients */
    double *worst; /* [2 * value_count]: forward, gradient */
} errors;

static void take_error(hu_assign *assign, const seen *tensor, void *context) {
    const errors *e = context;
    double *here = &e->worst[2 * tensor->v + tensor->is_gradient];
    double error =
        hu_rounding_error(tensor->exponents, ends_in(assign, tensor->v, tensor->is_gradient),
                          tensor->is_gradient ? e->shift : 0);
    *here = fmax(*here, error);
}

/* Weighted by the elements of each tensor. */
static void add_errors(hu_assign *assign, const double *worst) {
    const hu_graph *graph = assign->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        uint32_t g = assign->groups.tensors.of_value[v];
        if (g == HU_NONE) continue;
        double elements = (double)hu_tensor_elements(&graph->value[v], assign->batch);
        assign->groups.rounding[g] += (worst[2 * v] + worst[2 * v + 1]) * elements /
                                      (double)assign->groups.tensors.elements[g];
    }
}

hu_status hu_assign_measure_rounding(hu_assign *assign) {
    hu_status st = HU_OK;
    char folder[1024];
    hu_history *history = NULL;
    errors e = {.shift = INT32_MAX};
    size_t values = 2 * (size_t)assign->graph->value_count;
    hu_assign_folder(assign, "fp32", assign->rungs - 1, 0, folder, sizeof folder);
    HU_TRY(hu_history_read_some(folder, &history));
    HU_TRY(HU_NEW_ARRAY(&e.worst, values));
    each_seen(assign, history, expect_promotion, NULL);
    each_seen(assign, history, lower_shift, &e.shift);
    if (e.shift == INT32_MAX) e.shift = 0;
    each_seen(assign, history, take_error, &e);
    add_errors(assign, e.worst);
done:
    hu_history_free(history);
    hu_free(e.worst);
    return st;
}
