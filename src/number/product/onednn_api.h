/* product/onednn_api.h - where the C APIs of oneDNN 2 and 3 differ, under one set of names;
 * onednn.c is written on top of it. onednn_api.c implements it for the oneDNN that is compiled
 * with; what is called alike in both versions is used as it is.
 */
#ifndef HU_PRODUCT_ONEDNN_API_H
#define HU_PRODUCT_ONEDNN_API_H
#include <oneapi/dnnl/dnnl.h>

#include "product/geometry.h"

#if DNNL_VERSION_MAJOR != 2 && DNNL_VERSION_MAJOR != 3
#error "halfulp speaks the C API of oneDNN 2 and 3"
#endif

/* A description of an array (its "memory descriptor") that we own: a struct in version 2, a pointer
 * to an object in version 3. All zero: none. A view is what oneDNN's functions read; it is valid as
 * long as its layout, or the primitive that it was asked of. */
typedef dnnl_memory_desc_t hu_dnn_layout;
#if DNNL_VERSION_MAJOR == 2
typedef const dnnl_memory_desc_t *hu_dnn_view;
#else
typedef const_dnnl_memory_desc_t hu_dnn_view;
#endif

hu_dnn_view hu_dnn_view_of(const hu_dnn_layout *layout);

/* A float32 array with these strides in elements; one whose layout the primitive may choose; a copy
 * of another description. *layout must hold none before. */
dnnl_status_t hu_dnn_layout_strided(int ndims, const dnnl_dims_t dims, const dnnl_dims_t strides,
                                    hu_dnn_layout *layout);
dnnl_status_t hu_dnn_layout_any(int ndims, const dnnl_dims_t dims, hu_dnn_layout *layout);
dnnl_status_t hu_dnn_layout_copy(hu_dnn_view other, hu_dnn_layout *layout);
void hu_dnn_layout_release(hu_dnn_layout *layout);

/* A product and the layouts of its arrays or of their gradients, as the role asks. */
typedef struct hu_dnn_request {
    const hu_product *product;
    hu_dnn_view input, weights, bias, output; /* bias NULL: none; unused by data gradients */
    dnnl_engine_t engine;
    const_dnnl_primitive_attr_t attr;
    const_dnnl_primitive_desc_t forward; /* a gradient's forward product, NULL for the latter */
} hu_dnn_request;

/* Describes the primitive; owner destroys it. */
dnnl_status_t hu_dnn_describe(const hu_dnn_request *request, hu_product_role role,
                              dnnl_primitive_desc_t *pd);

/* Strides, dilations (0: dense) and padding, above and left, and below and right, of a convolution
 * in oneDNN's terms. */
typedef struct hu_dnn_window {
    dnnl_dims_t stride, dilation, pad, pad_behind;
} hu_dnn_window;

/* The padding in front wherever that leaves the same windows, else what the last window reads. */
static inline dnnl_dim_t hu_dnn_pad_behind(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                                           int64_t pad, int64_t dilation) {
    int64_t read = (out - 1) * stride + (kernel - 1) * dilation + 1 - pad - in;
    return read <= pad && pad < read + stride ? pad : read;
}

static inline hu_dnn_window hu_dnn_window_of(const hu_product *p) {
    return (hu_dnn_window){.stride = {p->stride_h, p->stride_w},
                           .dilation = {p->dilation_h - 1, p->dilation_w - 1},
                           .pad = {p->pad_h, p->pad_w},
                           .pad_behind = {hu_dnn_pad_behind(p->in_h, p->out_h, p->kernel_h,
                                                            p->stride_h, p->pad_h, p->dilation_h),
                                          hu_dnn_pad_behind(p->in_w, p->out_w, p->kernel_w,
                                                            p->stride_w, p->pad_w, p->dilation_w)}};
}

#endif
