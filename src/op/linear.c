/* linear: a sample of any shape, read as one vector -> [out_features]; or each of its rows, [.., C]
 * -> [.., out_features]. Weights [out, in]; transposed: [in, out]. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "op/expect.h"
#include "op/geometry.h"
#include "op/product.h"

/* [out, in]; transposed: [in, out] */
static hu_shape weight_shape(const hu_linear_attrs *a, const hu_shape *in) {
    int64_t in_features = hu_linear_inputs(a, in);
    return a->transposed ? (hu_shape){2, {in_features, a->out_features}}
                         : (hu_shape){2, {a->out_features, in_features}};
}

/* x of any shape, read as [in] -> y [out]; rows: x [.., in] -> y [.., out] */
static hu_status linear_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    (void)n_in;
    const hu_linear_attrs *a = attrs;
    hu_status st;
    if (a->out_features < 1)
        return hu_fail(HU_ERR_SHAPE, "linear: %" PRId64 " output features, expected at least 1",
                       a->out_features);
    if (a->rows) HU_TRY(hu_expect_rank_least("linear", in, 1));
    *n_out = 1;
    out[0] = a->rows ? in[0] : (hu_shape){.rank = 1};
    out[0].extent[out[0].rank - 1] = a->out_features;
    HU_TRY(hu_shape_check(&out[0]));
    hu_shape weights = weight_shape(a, in);
    HU_TRY(hu_shape_check(&weights));
done:
    return st;
}

/* weight, and bias [out] where there is one */
static hu_status linear_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                               int *count) {
    const hu_linear_attrs *a = attrs;
    *count = 0;
    list[(*count)++] = (hu_param_decl){"weight", weight_shape(a, in), a->weight_init, true};
    if (a->has_bias)
        list[(*count)++] =
            (hu_param_decl){"bias", (hu_shape){1, {a->out_features}}, a->bias_init, true};
    return HU_OK;
}

static const hu_attribute linear_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "out", offsetof(hu_linear_attrs, out_features), NAN},
    {HU_ATTRIBUTE_FLAG, "bias", offsetof(hu_linear_attrs, has_bias), 1},
    {HU_ATTRIBUTE_FLAG, "transposed", offsetof(hu_linear_attrs, transposed), 0},
    {HU_ATTRIBUTE_FLAG, "rows", offsetof(hu_linear_attrs, rows), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

/* Weights and biases uniform within 1 / sqrt(inputs), as torch has them. */
static void linear_usual(void *attrs, const hu_shape *in) {
    hu_linear_attrs *a = attrs;
    hu_init init = {HU_INIT_UNIFORM, 1.0f / sqrtf((float)hu_linear_inputs(a, in))};
    a->weight_init = a->bias_init = init;
}

const hu_op hu_op_linear = {
    .name = "linear",
    .keeps_rows = true,
    .attrs_bytes = sizeof(hu_linear_attrs),
    .attributes = linear_attributes,
    .usual = linear_usual,
    .shape = linear_shape,
    .params = linear_params,
    HU_PRODUCT_RECORD,
};
