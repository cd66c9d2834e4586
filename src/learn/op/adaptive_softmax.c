#include "op/adaptive_softmax.h"

#include <math.h>

#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "op/conv.h"
#include "op/loss.h"
#include "op/op.h"
#include "product/gathered.h"

enum { ROWS, IDS };

static int64_t rows_of(const hu_node_info *info) {
    return hu_shape_elements(&info->in[IDS]);
}

/* ---- band_linear ---- */

static hu_status linear_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_band_linear_attrs *a = attrs;
    hu_shape rows = in[ROWS];
    rows.rank--;
    if (a->linear.has_bias || !a->linear.rows || a->last <= a->first || a->first < 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "band_linear: found ids %lld to %lld, expected a band, and a layer of rows "
                       "without a bias",
                       (long long)a->first, (long long)a->last);
    if (in[ROWS].rank < 1 || !hu_shape_equal(&rows, &in[IDS]))
        return hu_fail(HU_ERR_SHAPE, "band_linear: found %lld ids, expected one for each row",
                       (long long)hu_shape_elements(&in[IDS]));
    return hu_op_linear.shape(&a->linear, n_in, in, n_out, out);
}

static hu_status linear_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                               int *count) {
    return hu_op_linear.params(attrs, in, list, count);
}

static hu_status linear_create(const hu_node_info *info, void **state) {
    hu_product_facts facts = {.geometry = hu_product_of(info),
                              .transposed = hu_product_is_transposed(info),
                              .accumulation = info->accumulation,
                              .needs = {true, info->need_din[ROWS], true},
                              .threads = info->threads};
    facts.geometry.in_h = facts.geometry.out_h = facts.geometry.in_w = facts.geometry.out_w = 1;
    hu_some_rows *rows;
    hu_status st = hu_some_rows_create(&facts, &rows);
    *state = rows;
    return st;
}

static void linear_release(void *state) {
    hu_some_rows_free(state);
}

static hu_product_role role_of(hu_pass pass) {
    return pass == HU_FORWARD ? HU_PRODUCT_FORWARD : HU_PRODUCT_INPUT_GRAD;
}

static size_t linear_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    return hu_some_rows_scratch_bytes(state, role_of(pass));
}

static size_t linear_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    return hu_some_rows_packed_bytes(state, role_of(pass));
}

static hu_row_choice choice_among(const hu_band_linear_attrs *a, bool training, const float *ids) {
    bool takes_all = a->all_in_evaluation && !training;
    return (hu_row_choice){takes_all ? NULL : ids, a->first, a->last};
}

static hu_row_choice choice_of(const hu_op_call *call) {
    return choice_among(call->info->attrs, call->training, call->in[IDS]);
}

static int64_t linear_absent(const hu_node_info *info, bool training, int64_t count,
                             const float *const *given) {
    const hu_band_linear_attrs *a = info->attrs;
    const hu_row_choice choice = choice_among(a, training, given[IDS]);
    int64_t absent = 0;
    for (int64_t r = 0; r < count * rows_of(info); r++) absent += !hu_row_is_chosen(&choice, r);
    return absent * a->linear.out_features;
}

static void linear_begin(const hu_op_call *call, hu_pass pass) {
    hu_some_rows_pack(call->state, role_of(pass), call->param[0], call->workspace);
}

/* The arrays of a pass; rows are what products call samples. */
static hu_product_call arrays_of(const hu_op_call *call) {
    return (hu_product_call){.x = call->in[ROWS],
                             .w = call->param[0],
                             .first = call->first,
                             .count = call->count * rows_of(call->info),
                             .thread = call->thread,
                             .adds = call->adds_dparam,
                             .packed = call->workspace,
                             .scratch = call->scratch,
                             .counts = call->product_counts};
}

static void linear_forward(const hu_op_call *call) {
    const hu_row_choice choice = choice_of(call);
    hu_product_call product = arrays_of(call);
    product.y = call->out[0];
    hu_some_rows_run(call->state, HU_PRODUCT_FORWARD, &choice, &product);
}

static void linear_backward(const hu_op_call *call) {
    const hu_row_choice choice = choice_of(call);
    hu_product_call product = arrays_of(call);
    product.dy = call->dout[0];
    product.dx = call->din[ROWS];
    product.dw = call->dparam[0];
    if (product.dx) hu_some_rows_run(call->state, HU_PRODUCT_INPUT_GRAD, &choice, &product);
    if (hu_op_product_in_batch_order(call->info) || !product.dw) return;
    hu_some_rows_run(call->state, HU_PRODUCT_WEIGHT_GRAD, &choice, &product);
}

static void linear_accumulate(const hu_op_call *call) {
    const hu_row_choice choice = choice_of(call);
    hu_product_call product = arrays_of(call);
    product.dy = call->dout[0];
    product.dw = call->dparam[0];
    hu_some_rows_accumulate(call->state, &choice, &product);
}

static const hu_attribute linear_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "out", offsetof(hu_band_linear_attrs, linear.out_features), NAN},
    {HU_ATTRIBUTE_FLAG, "transposed", offsetof(hu_band_linear_attrs, linear.transposed), 0},
    {HU_ATTRIBUTE_FLAG, "rows", offsetof(hu_band_linear_attrs, linear.rows), 1},
    {HU_ATTRIBUTE_WHOLE, "first", offsetof(hu_band_linear_attrs, first), NAN},
    {HU_ATTRIBUTE_WHOLE, "last", offsetof(hu_band_linear_attrs, last), NAN},
    {HU_ATTRIBUTE_FLAG, "all_in_evaluation", offsetof(hu_band_linear_attrs, all_in_evaluation), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

/* As linear: the attributes begin with its own. */
static void linear_usual(void *attrs, const hu_shape *in) {
    hu_op_linear.usual(attrs, in);
}

const hu_op hu_op_band_linear = {.name = "band_linear",
                                 .attrs_bytes = sizeof(hu_band_linear_attrs),
                                 .attributes = linear_attributes,
                                 .usual = linear_usual,
                                 .min_in = 2,
                                 .max_in = 2,
                                 .is_product = true,
                                 .shape = linear_shape,
                                 .params = linear_params,
                                 .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                                 .absent = linear_absent,
                                 .scratch_bytes = linear_scratch_bytes,
                                 .workspace_bytes = linear_workspace_bytes,
                                 .create = linear_create,
                                 .release = linear_release,
                                 .begin = linear_begin,
                                 .forward = linear_forward,
                                 .backward = linear_backward,
                                 .dparam_per_chunk = true,
                                 .in_batch_order = hu_op_product_in_batch_order,
                                 .accumulate = linear_accumulate,
                                 .macs = hu_op_product_macs};

/* ---- band_law ---- */

static hu_status law_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    (void)attrs;
    hu_status st = hu_expect_bands("band_law", &in[0], n_in - 1, &in[1]);
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[in[0].rank - 1] = hu_band_words(&in[0], n_in - 1, &in[1]);
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
