/* product/geometry.h - what a product multiplies: one description for convolutions and linear
 * layers, read by our kernels, by oneDNN, by the products with a chosen accumulator and by the
 * plain reference.
 */
#ifndef HU_PRODUCT_GEOMETRY_H
#define HU_PRODUCT_GEOMETRY_H
#include <stdbool.h>
#include <stdint.h>

#include <halfulp/gemm.h>

/* Input [in_h, in_w, in_c], output [out_h, out_w, out_c], weights [out_c, kernel_h, kernel_w,
 * in_c / groups]; output pixel (y, x) reads input rows y * stride_h - pad_h + k * dilation_h. A
 * linear layer is the case of 1x1 images and kernels. */
typedef struct hu_product {
    int64_t in_h, in_w, in_c, out_h, out_w, out_c;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int64_t groups;
    bool has_bias, is_linear;
} hu_product;

/* A layer from in to out numbers of each of so many rows, all by the same weights. */
static inline hu_product hu_product_rows(int64_t rows, int64_t in, int64_t out) {
    return (hu_product){.in_h = rows,
                        .in_w = 1,
                        .in_c = in,
                        .out_h = rows,
                        .out_w = 1,
                        .out_c = out,
                        .kernel_h = 1,
                        .kernel_w = 1,
                        .stride_h = 1,
                        .stride_w = 1,
                        .dilation_h = 1,
                        .dilation_w = 1,
                        .groups = 1};
}

/* The three products of a layer y = x w: y itself, dx = dy w', dw = x' dy. */
typedef enum hu_product_role {
    HU_PRODUCT_FORWARD,
    HU_PRODUCT_INPUT_GRAD,
    HU_PRODUCT_WEIGHT_GRAD,
    HU_PRODUCT_ROLES
} hu_product_role;

/* Who computes products without a chosen accumulator. */
typedef enum hu_product_engine {
    HU_ENGINE_OWN,      /* kernel/conv, group by group */
    HU_ENGINE_WINOGRAD, /* the same, by Winograd's algorithm where it fits */
    HU_ENGINE_FASTEST,  /* the same, where it is faster too (hu_winograd_pays) */
    HU_ENGINE_ONEDNN    /* oneDNN, in its order */
} hu_product_engine;

/* What the products of a layer accumulate in. */
typedef struct hu_accumulation {
    bool chosen[HU_PRODUCT_ROLES]; /* false: float32 in the order of kernel/conv/conv.h */
    hu_accumulator accumulator[HU_PRODUCT_ROLES];
} hu_accumulation;

/* Elements of one input sample, one output sample and the weights; multiply-accumulates of one
 * sample. */
static inline int64_t hu_product_in(const hu_product *p) {
    return p->in_h * p->in_w * p->in_c;
}
static inline int64_t hu_product_out(const hu_product *p) {
    return p->out_h * p->out_w * p->out_c;
}
static inline int64_t hu_product_weights(const hu_product *p) {
    return p->out_c * p->kernel_h * p->kernel_w * (p->in_c / p->groups);
}
static inline int64_t hu_product_macs(const hu_product *p) {
    return p->out_h * p->out_w * hu_product_weights(p);
}

#endif
