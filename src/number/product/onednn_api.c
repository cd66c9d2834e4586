#include "product/onednn_api.h"

#if DNNL_VERSION_MAJOR == 2

/* oneDNN 2: memory descriptors are structs, and a primitive is described in two steps, by an "op
 * descriptor" and by the implementation found for it. */

hu_dnn_view hu_dnn_view_of(const hu_dnn_layout *layout) {
    return layout;
}

dnnl_status_t hu_dnn_layout_strided(int ndims, const dnnl_dims_t dims, const dnnl_dims_t strides,
                                    hu_dnn_layout *layout) {
    return dnnl_memory_desc_init_by_strides(layout, ndims, dims, dnnl_f32, strides);
}

dnnl_status_t hu_dnn_layout_any(int ndims, const dnnl_dims_t dims, hu_dnn_layout *layout) {
    return dnnl_memory_desc_init_by_tag(layout, ndims, dims, dnnl_f32, dnnl_format_tag_any);
}

dnnl_status_t hu_dnn_layout_copy(hu_dnn_view other, hu_dnn_layout *layout) {
    *layout = *other;
    return dnnl_success;
}

void hu_dnn_layout_release(hu_dnn_layout *layout) {
    *layout = (hu_dnn_layout){0};
}

typedef union op_description {
    dnnl_convolution_desc_t convolution;
    dnnl_inner_product_desc_t inner_product;
} op_description;

static dnnl_status_t describe_linear(const hu_dnn_request *r, hu_product_role role,
                                     dnnl_inner_product_desc_t *d) {
    if (role == HU_PRODUCT_FORWARD)
        return dnnl_inner_product_forward_desc_init(d, dnnl_forward_training, r->input, r->weights,
                                                    r->bias, r->output);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return dnnl_inner_product_backward_data_desc_init(d, r->input, r->weights, r->output);
    return dnnl_inner_product_backward_weights_desc_init(d, r->input, r->weights, r->bias,
                                                         r->output);
}

static dnnl_status_t describe_conv(const hu_dnn_request *r, hu_product_role role,
                                   dnnl_convolution_desc_t *d) {
    const dnnl_alg_kind_t alg = dnnl_convolution_direct;
    hu_dnn_window w = hu_dnn_window_of(r->product);
    if (role == HU_PRODUCT_FORWARD)
        return dnnl_dilated_convolution_forward_desc_init(d, dnnl_forward_training, alg, r->input,
                                                          r->weights, r->bias, r->output, w.stride,
                                                          w.dilation, w.pad, w.pad_behind);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return dnnl_dilated_convolution_backward_data_desc_init(
            d, alg, r->input, r->weights, r->output, w.stride, w.dilation, w.pad, w.pad_behind);
    return dnnl_dilated_convolution_backward_weights_desc_init(d, alg, r->input, r->weights,
                                                               r->bias, r->output, w.stride,
                                                               w.dilation, w.pad, w.pad_behind);
}

dnnl_status_t hu_dnn_describe(const hu_dnn_request *request, hu_product_role role,
                              dnnl_primitive_desc_t *pd) {
    op_description d;
    dnnl_status_t status = request->product->is_linear
                               ? describe_linear(request, role, &d.inner_product)
                               : describe_conv(request, role, &d.convolution);
    if (status != dnnl_success) return status;
    return dnnl_primitive_desc_create(pd, &d, request->attr, request->engine, request->forward);
}

#else

/* oneDNN 3: memory descriptors are objects of the library, and a primitive is described at once. */

hu_dnn_view hu_dnn_view_of(const hu_dnn_layout *layout) {
    return *layout;
}

dnnl_status_t hu_dnn_layout_strided(int ndims, const dnnl_dims_t dims, const dnnl_dims_t strides,
                                    hu_dnn_layout *layout) {
    return dnnl_memory_desc_create_with_strides(layout, ndims, dims, dnnl_f32, strides);
}

dnnl_status_t hu_dnn_layout_any(int ndims, const dnnl_dims_t dims, hu_dnn_layout *layout) {
    return dnnl_memory_desc_create_with_tag(layout, ndims, dims, dnnl_f32, dnnl_format_tag_any);
}

dnnl_status_t hu_dnn_layout_copy(hu_dnn_view other, hu_dnn_layout *layout) {
    return dnnl_memory_desc_clone(layout, other);
}

void hu_dnn_layout_release(hu_dnn_layout *layout) {
    if (*layout) dnnl_memory_desc_destroy(*layout);
    *layout = NULL;
}

static dnnl_status_t describe_linear(const hu_dnn_request *r, hu_product_role role,
                                     dnnl_primitive_desc_t *pd) {
    if (role == HU_PRODUCT_FORWARD)
        return dnnl_inner_product_forward_primitive_desc_create(
            pd, r->engine, dnnl_forward_training, r->input, r->weights, r->bias, r->output,
            r->attr);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return dnnl_inner_product_backward_data_primitive_desc_create(
            pd, r->engine, r->input, r->weights, r->output, r->forward, r->attr);
    return dnnl_inner_product_backward_weights_primitive_desc_create(
        pd, r->engine, r->input, r->weights, r->bias, r->output, r->forward, r->attr);
}

static dnnl_status_t describe_conv(const hu_dnn_request *r, hu_product_role role,
                                   dnnl_primitive_desc_t *pd) {
    const dnnl_alg_kind_t alg = dnnl_convolution_direct;
    hu_dnn_window w = hu_dnn_window_of(r->product);
    if (role == HU_PRODUCT_FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(
            pd, r->engine, dnnl_forward_training, alg, r->input, r->weights, r->bias, r->output,
            w.stride, w.dilation, w.pad, w.pad_behind, r->attr);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return dnnl_convolution_backward_data_primitive_desc_create(
            pd, r->engine, alg, r->input, r->weights, r->output, w.stride, w.dilation, w.pad,
            w.pad_behind, r->forward, r->attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        pd, r->engine, alg, r->input, r->weights, r->bias, r->output, w.stride, w.dilation, w.pad,
        w.pad_behind, r->forward, r->attr);
}

dnnl_status_t hu_dnn_describe(const hu_dnn_request *request, hu_product_role role,
                              dnnl_primitive_desc_t *pd) {
    return request->product->is_linear ? describe_linear(request, role, pd)
                                       : describe_conv(request, role, pd);
}

#endif
