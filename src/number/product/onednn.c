#include "product/onednn.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "product/geometry.h"
#include "product/onednn_library.h"

/* A description of an array (its "memory descriptor") that we own: a struct in version 2, a pointer
 * to an object in version 3. All zero: none. A view is what oneDNN's functions read; it is valid as
 * long as its layout, or the primitive that it was asked of. */
typedef dnnl_memory_desc_t hu_dnn_layout;

#if DNNL_VERSION_MAJOR == 2
typedef const dnnl_memory_desc_t *hu_dnn_view;
#else
typedef const_dnnl_memory_desc_t hu_dnn_view;
#endif

/* A product and the layouts of its arrays or of their gradients, as the role asks. */
typedef struct hu_dnn_request {
    const hu_product *product;
    hu_dnn_view input, weights, bias, output; /* bias NULL: none; unused by data gradients */
    dnnl_engine_t engine;
    const_dnnl_primitive_attr_t attr;
    const_dnnl_primitive_desc_t forward; /* a gradient's forward product, NULL for the latter */
} hu_dnn_request;

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

#if DNNL_VERSION_MAJOR == 2

/* oneDNN 2: memory descriptors are structs, and a primitive is described in two steps, by an "op
 * descriptor" and by the implementation found for it. */

static hu_dnn_view hu_dnn_view_of(const hu_dnn_layout *layout) {
    return layout;
}

/* A float32 array with these strides in elements; one whose layout the primitive may choose; a copy
 * of another description. *layout must hold none before. */
static dnnl_status_t hu_dnn_layout_strided(int ndims, const dnnl_dims_t dims,
                                           const dnnl_dims_t strides, hu_dnn_layout *layout) {
    return hu_dnn_lib.memory_desc_init_by_strides(layout, ndims, dims, dnnl_f32, strides);
}

static dnnl_status_t hu_dnn_layout_any(int ndims, const dnnl_dims_t dims, hu_dnn_layout *layout) {
    return hu_dnn_lib.memory_desc_init_by_tag(layout, ndims, dims, dnnl_f32, dnnl_format_tag_any);
}

static dnnl_status_t hu_dnn_layout_copy(hu_dnn_view other, hu_dnn_layout *layout) {
    *layout = *other;
    return dnnl_success;
}

static void hu_dnn_layout_release(hu_dnn_layout *layout) {
    *layout = (hu_dnn_layout){0};
}

typedef union op_description {
    dnnl_convolution_desc_t convolution;
    dnnl_inner_product_desc_t inner_product;
} op_description;

static dnnl_status_t describe_linear(const hu_dnn_request *r, hu_product_role role,
                                     dnnl_inner_product_desc_t *d) {
    if (role == HU_PRODUCT_FORWARD)
        return hu_dnn_lib.inner_product_forward_desc_init(d, dnnl_forward_training, r->input,
                                                          r->weights, r->bias, r->output);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return hu_dnn_lib.inner_product_backward_data_desc_init(d, r->input, r->weights, r->output);
    return hu_dnn_lib.inner_product_backward_weights_desc_init(d, r->input, r->weights, r->bias,
                                                               r->output);
}

static dnnl_status_t describe_conv(const hu_dnn_request *r, hu_product_role role,
                                   dnnl_convolution_desc_t *d) {
    const dnnl_alg_kind_t alg = dnnl_convolution_direct;
    hu_dnn_window w = hu_dnn_window_of(r->product);
    if (role == HU_PRODUCT_FORWARD)
        return hu_dnn_lib.dilated_convolution_forward_desc_init(
            d, dnnl_forward_training, alg, r->input, r->weights, r->bias, r->output, w.stride,
            w.dilation, w.pad, w.pad_behind);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return hu_dnn_lib.dilated_convolution_backward_data_desc_init(
            d, alg, r->input, r->weights, r->output, w.stride, w.dilation, w.pad, w.pad_behind);
    return hu_dnn_lib.dilated_convolution_backward_weights_desc_init(
        d, alg, r->input, r->weights, r->bias, r->output, w.stride, w.dilation, w.pad,
        w.pad_behind);
}

/* Describes the primitive; owner destroys it. */
static dnnl_status_t hu_dnn_describe(const hu_dnn_request *request, hu_product_role role,
                                     dnnl_primitive_desc_t *pd) {
    op_description d;
    dnnl_status_t status = request->product->is_linear
                               ? describe_linear(request, role, &d.inner_product)
                               : describe_conv(request, role, &d.convolution);
    if (status != dnnl_success) return status;
    return hu_dnn_lib.primitive_desc_create(pd, &d, request->attr, request->engine,
                                            request->forward);
}

#else

/* oneDNN 3: memory descriptors are objects of the library, and a primitive is described at once. */

static hu_dnn_view hu_dnn_view_of(const hu_dnn_layout *layout) {
    return *layout;
}

static dnnl_status_t hu_dnn_layout_strided(int ndims, const dnnl_dims_t dims,
                                           const dnnl_dims_t strides, hu_dnn_layout *layout) {
    return hu_dnn_lib.memory_desc_create_with_strides(layout, ndims, dims, dnnl_f32, strides);
}

static dnnl_status_t hu_dnn_layout_any(int ndims, const dnnl_dims_t dims, hu_dnn_layout *layout) {
    return hu_dnn_lib.memory_desc_create_with_tag(layout, ndims, dims, dnnl_f32,
                                                  dnnl_format_tag_any);
}

static dnnl_status_t hu_dnn_layout_copy(hu_dnn_view other, hu_dnn_layout *layout) {
    return hu_dnn_lib.memory_desc_clone(layout, other);
}

static void hu_dnn_layout_release(hu_dnn_layout *layout) {
    if (*layout) hu_dnn_lib.memory_desc_destroy(*layout);
    *layout = NULL;
}

static dnnl_status_t describe_linear(const hu_dnn_request *r, hu_product_role role,
                                     dnnl_primitive_desc_t *pd) {
    if (role == HU_PRODUCT_FORWARD)
        return hu_dnn_lib.inner_product_forward_primitive_desc_create(
            pd, r->engine, dnnl_forward_training, r->input, r->weights, r->bias, r->output,
            r->attr);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return hu_dnn_lib.inner_product_backward_data_primitive_desc_create(
            pd, r->engine, r->input, r->weights, r->output, r->forward, r->attr);
    return hu_dnn_lib.inner_product_backward_weights_primitive_desc_create(
        pd, r->engine, r->input, r->weights, r->bias, r->output, r->forward, r->attr);
}

static dnnl_status_t describe_conv(const hu_dnn_request *r, hu_product_role role,
                                   dnnl_primitive_desc_t *pd) {
    const dnnl_alg_kind_t alg = dnnl_convolution_direct;
    hu_dnn_window w = hu_dnn_window_of(r->product);
    if (role == HU_PRODUCT_FORWARD)
        return hu_dnn_lib.convolution_forward_primitive_desc_create(
            pd, r->engine, dnnl_forward_training, alg, r->input, r->weights, r->bias, r->output,
            w.stride, w.dilation, w.pad, w.pad_behind, r->attr);
    if (role == HU_PRODUCT_INPUT_GRAD)
        return hu_dnn_lib.convolution_backward_data_primitive_desc_create(
            pd, r->engine, alg, r->input, r->weights, r->output, w.stride, w.dilation, w.pad,
            w.pad_behind, r->forward, r->attr);
    return hu_dnn_lib.convolution_backward_weights_primitive_desc_create(
        pd, r->engine, alg, r->input, r->weights, r->bias, r->output, w.stride, w.dilation, w.pad,
        w.pad_behind, r->forward, r->attr);
}

static dnnl_status_t hu_dnn_describe(const hu_dnn_request *request, hu_product_role role,
                                     dnnl_primitive_desc_t *pd) {
    return request->product->is_linear ? describe_linear(request, role, pd)
                                       : describe_conv(request, role, pd);
}

#endif

/* ---- the cap of its instruction set ---- */

static pthread_once_t cap_once = PTHREAD_ONCE_INIT;
static bool cap_failed;

/* oneDNN takes the cap only before its first primitive. */
static void cap_isa(void) {
    hu_isa isa = hu_cpu_isa();
    if (isa == hu_cpu_isa_native()) return;
    dnnl_cpu_isa_t cap = isa == HU_ISA_AVX2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41;
    hu_dnn_lib.set_max_cpu_isa(cap);
    cap_failed = ((unsigned)hu_dnn_lib.get_effective_cpu_isa() & ~(unsigned)cap) != 0;
}

/* Opens oneDNN and caps its instruction set as HALFULP_MAX_ISA says, once and before its first
 * use; HU_ERR_UNSUPPORTED without its library, HU_ERR_INTERNAL if the cap came too late. */
static hu_status hu_dnn_check_isa(void) {
    if (!hu_dnn_is_there())
        return hu_fail(HU_ERR_UNSUPPORTED, "products by oneDNN: it is %s", hu_dnn_absence());
    pthread_once(&cap_once, cap_isa);
    if (!cap_failed) return HU_OK;
    return hu_fail(HU_ERR_INTERNAL,
                   "oneDNN was in use before HALFULP_MAX_ISA=%s could cap its instruction set",
                   hu_isa_name(hu_cpu_isa()));
}

/* ---- products ---- */

/* Activations are plain [count, H, W, C]; weights are packed once per pass into the layout that the
 * primitives like. A primitive splits its work over the OpenMP threads it was made under, and its
 * scratchpad fits that number: every function that makes or runs one must be called under
 * omp_set_num_threads(1). Primitives are shared by all threads; a result depends on its chunk
 * alone.
 */

enum { ALIGNMENT = 64 };

/* Both gradients share what they need. */
enum side { ON_FORWARD, ON_BACKWARD, SIDES };

static enum side side_of(hu_product_role role) {
    return role == HU_PRODUCT_FORWARD ? ON_FORWARD : ON_BACKWARD;
}

/* The primitives for one chunk length. UNPACK: weight gradient from its own layout to the plain
 * one. */
enum {
    FORWARD = HU_PRODUCT_FORWARD,
    BACKWARD_DATA = HU_PRODUCT_INPUT_GRAD,
    BACKWARD_WEIGHTS = HU_PRODUCT_WEIGHT_GRAD,
    UNPACK,
    KINDS
};

/* Memory objects of one thread: shells that every call points at its arrays. SCRATCHPAD + kind. */
enum { INPUT, OUTPUT, BIAS_GRADIENT, PACKED_GRADIENT, GRADIENT, SCRATCHPAD };
enum { SHELLS = SCRATCHPAD + KINDS };
typedef struct thread_memory {
    dnnl_memory_t shell[SHELLS];
} thread_memory;

typedef struct length_plan {
    struct length_plan *next;
    int64_t count; /* samples */
    hu_dnn_layout input, output, packed_gradient;
    dnnl_primitive_desc_t pd[KINDS];
    dnnl_primitive_t primitive[KINDS]; /* NULL: not needed */
    size_t scratchpad_bytes[SIDES], packed_gradient_bytes, scratch_bytes[SIDES];
    void *spare; /* [threads][spare_bytes] scratch of a length that needs more than the chunk's */
    size_t spare_bytes;
    int threads;
    thread_memory *thread; /* [threads] */
} length_plan;

/* Plain weights -> the layout that FORWARD or BACKWARD_DATA reads, the same for all lengths. */
typedef struct weight_packing {
    hu_dnn_layout layout; /* "any" until the first length has chosen */
    size_t bytes, scratchpad_bytes;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t reorder; /* NULL: pass not needed */
    dnnl_memory_t plain, packed, scratchpad;
    void *scratch;
} weight_packing;

struct hu_dnn {
    hu_product product;
    bool need_data, need_weights; /* gradients by oneDNN */
    int threads;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr;       /* user-managed scratchpad */
    dnnl_stream_t *stream;            /* [threads] */
    hu_dnn_layout weights, any, bias; /* plain weights; weights of free layout */
    dnnl_memory_t bias_memory;
    weight_packing packing[SIDES];
    length_plan *plans;          /* the last one is that of facts->chunk */
    size_t scratch_bytes[SIDES]; /* of facts->chunk */
};

static hu_status check(dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return HU_OK;
    return hu_fail(status == dnnl_out_of_memory ? HU_ERR_MEMORY : HU_ERR_INTERNAL,
                   "oneDNN cannot make %s: status %d", what, (int)status);
}

/* ---- descriptions ---- */

static hu_status describe_data(const hu_product *p, int64_t count, int64_t h, int64_t w, int64_t c,
                               hu_dnn_layout *layout) {
    dnnl_dims_t dims = {count, c, h, w}, strides = {h * w * c, 1, w * c, c};
    return check(hu_dnn_layout_strided(p->is_linear ? 2 : 4, dims, strides, layout),
                 "a layout of activations");
}

/* [out_c, kernel_h, kernel_w, in_c / groups] in oneDNN's order of extents ([groups,] out, in, h,
 * w); twice "any" for the packed ones. */
static hu_status describe_weights(hu_dnn *dnn) {
    const hu_product *p = &dnn->product;
    int64_t depth = p->in_c / p->groups, out = p->out_c / p->groups;
    int64_t row = p->kernel_w * depth, filter = p->kernel_h * row;
    const int64_t dims[] = {p->groups, out, depth, p->kernel_h, p->kernel_w};
    const int64_t strides[] = {out * filter, filter, 1, row, depth};
    int skip = p->groups == 1, ndims = p->is_linear ? 2 : 5 - skip;
    dnnl_dims_t extent = {0}, stride = {0};
    memcpy(extent, dims + skip, (size_t)ndims * sizeof *dims);
    memcpy(stride, strides + skip, (size_t)ndims * sizeof *strides);
    dnnl_status_t status = hu_dnn_layout_strided(ndims, extent, stride, &dnn->weights);
    hu_dnn_layout *free_ones[] = {&dnn->any, &dnn->packing[0].layout, &dnn->packing[1].layout};
    for (size_t i = 0; status == dnnl_success && i < sizeof free_ones / sizeof *free_ones; i++)
        status = hu_dnn_layout_any(ndims, extent, free_ones[i]);
    return check(status, "a layout of weights");
}

/* ---- shells and primitives ---- */

static hu_status make_memory(const hu_dnn *dnn, hu_dnn_view view, dnnl_memory_t *memory) {
    return check(hu_dnn_lib.memory_create(memory, view, dnn->engine, DNNL_MEMORY_NONE),
                 "a memory object");
}

static hu_dnn_view scratchpad_of(const_dnnl_primitive_desc_t pd) {
    return hu_dnn_lib.primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
}

/* Primitive FORWARD, BACKWARD_DATA or BACKWARD_WEIGHTS of a length. */
static hu_status make_product(const hu_dnn *dnn, length_plan *plan, int kind,
                              const hu_dnn_layout *weights) {
    static const char *const what[] = {"a forward product", "a data gradient", "a weight gradient"};
    const hu_dnn_request request = {
        .product = &dnn->product,
        .input = hu_dnn_view_of(&plan->input),
        .weights = hu_dnn_view_of(weights),
        .bias = dnn->product.has_bias ? hu_dnn_view_of(&dnn->bias) : NULL,
        .output = hu_dnn_view_of(&plan->output),
        .engine = dnn->engine,
        .attr = dnn->attr,
        .forward = kind == FORWARD ? NULL : plan->pd[FORWARD],
    };
    dnnl_status_t status = hu_dnn_describe(&request, (hu_product_role)kind, &plan->pd[kind]);
    if (status == dnnl_success)
        status = hu_dnn_lib.primitive_create(&plan->primitive[kind], plan->pd[kind]);
    return check(status, what[kind]);
}

static hu_status make_reorder(const hu_dnn *dnn, const hu_dnn_layout *from, const hu_dnn_layout *to,
                              dnnl_primitive_desc_t *pd, dnnl_primitive_t *primitive) {
    dnnl_status_t status = hu_dnn_lib.reorder_primitive_desc_create(
        pd, hu_dnn_view_of(from), dnn->engine, hu_dnn_view_of(to), dnn->engine, dnn->attr);
    if (status == dnnl_success) status = hu_dnn_lib.primitive_create(primitive, *pd);
    return check(status, "a change of layout");
}

/* ---- weights ---- */

static void release_packing(weight_packing *packing) {
    hu_dnn_lib.memory_destroy(packing->plain);
    hu_dnn_lib.memory_destroy(packing->packed);
    hu_dnn_lib.memory_destroy(packing->scratchpad);
    hu_dnn_lib.primitive_destroy(packing->reorder);
    hu_dnn_lib.primitive_desc_destroy(packing->pd);
    hu_dnn_layout_release(&packing->layout);
    hu_free(packing->scratch);
}

static size_t layout_bytes(const hu_dnn_layout *layout) {
    return hu_dnn_lib.memory_desc_get_size(hu_dnn_view_of(layout));
}

/* Takes the layout that a primitive chose. */
static hu_status replace_layout(const_dnnl_primitive_desc_t chosen_by, dnnl_query_t what,
                                hu_dnn_layout *layout) {
    hu_dnn_layout_release(layout);
    return check(hu_dnn_layout_copy(hu_dnn_lib.primitive_desc_query_md(chosen_by, what, 0), layout),
                 "a copy of a layout");
}

/* Fixes the layout to the one that the primitive of facts->chunk chose. */
static hu_status make_packing(const hu_dnn *dnn, const_dnnl_primitive_desc_t chosen_by,
                              weight_packing *packing) {
    hu_status st;
    HU_TRY(replace_layout(chosen_by, dnnl_query_weights_md, &packing->layout));
    packing->bytes = layout_bytes(&packing->layout);
    HU_TRY(make_reorder(dnn, &dnn->weights, &packing->layout, &packing->pd, &packing->reorder));
    hu_dnn_view scratchpad = scratchpad_of(packing->pd);
    HU_TRY(hu_alloc(hu_dnn_lib.memory_desc_get_size(scratchpad), &packing->scratch));
    HU_TRY(make_memory(dnn, hu_dnn_view_of(&dnn->weights), &packing->plain));
    HU_TRY(make_memory(dnn, hu_dnn_view_of(&packing->layout), &packing->packed));
    HU_TRY(check(
        hu_dnn_lib.memory_create(&packing->scratchpad, scratchpad, dnn->engine, packing->scratch),
        "a scratchpad"));
done:
    return st;
}

/* ---- lengths ---- */

static void release_plan(length_plan *plan) {
    if (!plan) return;
    for (int t = 0; plan->thread && t < plan->threads; t++)
        for (int i = 0; i < SHELLS; i++) hu_dnn_lib.memory_destroy(plan->thread[t].shell[i]);
    for (int k = 0; k < KINDS; k++) {
        hu_dnn_lib.primitive_destroy(plan->primitive[k]);
        hu_dnn_lib.primitive_desc_destroy(plan->pd[k]);
    }
    hu_dnn_layout_release(&plan->input);
    hu_dnn_layout_release(&plan->output);
    hu_dnn_layout_release(&plan->packed_gradient);
    hu_free(plan->thread);
    hu_free(plan->spare);
    hu_free(plan);
}

static hu_status make_thread(const hu_dnn *dnn, const length_plan *plan, thread_memory *m) {
    hu_dnn_view view[SHELLS] = {hu_dnn_view_of(&plan->input), hu_dnn_view_of(&plan->output),
                                hu_dnn_view_of(&dnn->bias), NULL, hu_dnn_view_of(&dnn->weights)};
    hu_status st = HU_OK;
    for (int k = 0; k < KINDS; k++)
        if (plan->pd[k]) view[SCRATCHPAD + k] = scratchpad_of(plan->pd[k]);
    if (dnn->need_weights) view[PACKED_GRADIENT] = hu_dnn_view_of(&plan->packed_gradient);
    for (int i = 0; i < SHELLS; i++)
        if (view[i]) HU_TRY(make_memory(dnn, view[i], &m->shell[i]));
done:
    return st;
}

/* "any" in dnn->packing is replaced by what the primitives of the first length choose. */
static hu_status make_primitives(hu_dnn *dnn, length_plan *plan) {
    weight_packing *forward = &dnn->packing[ON_FORWARD], *backward = &dnn->packing[ON_BACKWARD];
    hu_status st;
    HU_TRY(make_product(dnn, plan, FORWARD, &forward->layout));
    if (!forward->reorder) HU_TRY(make_packing(dnn, plan->pd[FORWARD], forward));
    if (dnn->need_data) {
        HU_TRY(make_product(dnn, plan, BACKWARD_DATA, &backward->layout));
        if (!backward->reorder) HU_TRY(make_packing(dnn, plan->pd[BACKWARD_DATA], backward));
    }
    if (!dnn->need_weights) return HU_OK;
    HU_TRY(make_product(dnn, plan, BACKWARD_WEIGHTS, &dnn->any));
    HU_TRY(replace_layout(plan->pd[BACKWARD_WEIGHTS], dnnl_query_diff_weights_md,
                          &plan->packed_gradient));
    if (!hu_dnn_lib.memory_desc_equal(hu_dnn_view_of(&plan->packed_gradient),
                                      hu_dnn_view_of(&dnn->weights)))
        HU_TRY(make_reorder(dnn, &plan->packed_gradient, &dnn->weights, &plan->pd[UNPACK],
                            &plan->primitive[UNPACK]));
done:
    return st;
}

/* Scratch of a backward call: scratchpad, packed weight gradient, bias gradient nobody asked for.
 */
static void measure(const hu_dnn *dnn, length_plan *plan) {
    for (int k = 0; k < KINDS; k++) {
        if (!plan->pd[k]) continue;
        enum side side = side_of((hu_product_role)k);
        size_t bytes =
            hu_round_up(hu_dnn_lib.memory_desc_get_size(scratchpad_of(plan->pd[k])), ALIGNMENT);
        if (bytes > plan->scratchpad_bytes[side]) plan->scratchpad_bytes[side] = bytes;
    }
    if (dnn->need_weights)
        plan->packed_gradient_bytes = hu_round_up(layout_bytes(&plan->packed_gradient), ALIGNMENT);
    size_t bias_bytes = hu_round_up(layout_bytes(&dnn->bias), ALIGNMENT);
    plan->scratch_bytes[ON_FORWARD] = plan->scratchpad_bytes[ON_FORWARD];
    plan->scratch_bytes[ON_BACKWARD] =
        plan->scratchpad_bytes[ON_BACKWARD] + plan->packed_gradient_bytes + bias_bytes;
}

/* The caller's scratch was measured for facts->chunk; a length that needs more gets its own. */
static hu_status make_spare(const hu_dnn *dnn, length_plan *plan) {
    const size_t *need = plan->scratch_bytes, *have = dnn->scratch_bytes;
    if (!dnn->plans || (need[0] <= have[0] && need[1] <= have[1])) return HU_OK;
    plan->spare_bytes = need[0] > need[1] ? need[0] : need[1];
    return hu_alloc_array((size_t)plan->threads, plan->spare_bytes, &plan->spare);
}

static hu_status fill_plan(hu_dnn *dnn, length_plan *plan) {
    const hu_product *p = &dnn->product;
    hu_status st;
    HU_TRY(describe_data(p, plan->count, p->in_h, p->in_w, p->in_c, &plan->input));
    HU_TRY(describe_data(p, plan->count, p->out_h, p->out_w, p->out_c, &plan->output));
    HU_TRY(make_primitives(dnn, plan));
    measure(dnn, plan);
    HU_TRY(make_spare(dnn, plan));
    HU_TRY(HU_NEW_ARRAY(&plan->thread, (size_t)plan->threads));
    for (int t = 0; t < plan->threads; t++) HU_TRY(make_thread(dnn, plan, &plan->thread[t]));
done:
    return st;
}

static hu_status add_plan(hu_dnn *dnn, int64_t count) {
    length_plan *plan;
    hu_status st = HU_NEW(&plan);
    if (st != HU_OK) return st;
    plan->count = count;
    plan->threads = dnn->threads;
    st = fill_plan(dnn, plan);
    if (st != HU_OK) {
        release_plan(plan);
        return st;
    }
    if (!dnn->plans) memcpy(dnn->scratch_bytes, plan->scratch_bytes, sizeof dnn->scratch_bytes);
    plan->next = dnn->plans;
    dnn->plans = plan;
    return HU_OK;
}

static length_plan *find_plan(const hu_dnn *dnn, int64_t count) {
    length_plan *plan = dnn->plans;
    while (plan && plan->count != count) plan = plan->next;
    return plan;
}

/* ---- life ---- */

void hu_dnn_release(hu_dnn *dnn) {
    if (!dnn) return; /* else the library is open */
    while (dnn->plans) {
        length_plan *next = dnn->plans->next;
        release_plan(dnn->plans);
        dnn->plans = next;
    }
    for (int side = 0; side < SIDES; side++) release_packing(&dnn->packing[side]);
    hu_dnn_lib.memory_destroy(dnn->bias_memory);
    hu_dnn_layout_release(&dnn->weights);
    hu_dnn_layout_release(&dnn->any);
    hu_dnn_layout_release(&dnn->bias);
    for (int t = 0; dnn->stream && t < dnn->threads; t++) hu_dnn_lib.stream_destroy(dnn->stream[t]);
    hu_free(dnn->stream);
    hu_dnn_lib.primitive_attr_destroy(dnn->attr);
    hu_dnn_lib.engine_destroy(dnn->engine);
    hu_free(dnn);
}

static hu_status make_engine(hu_dnn *dnn) {
    hu_status st;
    HU_TRY(check(hu_dnn_lib.engine_create(&dnn->engine, dnnl_cpu, 0), "an engine"));
    HU_TRY(check(hu_dnn_lib.primitive_attr_create(&dnn->attr), "attributes"));
    HU_TRY(
        check(hu_dnn_lib.primitive_attr_set_scratchpad_mode(dnn->attr, dnnl_scratchpad_mode_user),
              "a scratchpad of the user"));
    HU_TRY(HU_NEW_ARRAY(&dnn->stream, (size_t)dnn->threads));
    for (int t = 0; t < dnn->threads; t++)
        HU_TRY(check(hu_dnn_lib.stream_create(&dnn->stream[t], dnn->engine,
                                              (unsigned)dnnl_stream_default_flags),
                     "a stream"));
done:
    return st;
}

static hu_status make_layouts(hu_dnn *dnn) {
    dnnl_dims_t channels = {dnn->product.out_c}, stride = {1};
    hu_status st;
    HU_TRY(check(hu_dnn_layout_strided(1, channels, stride, &dnn->bias), "a layout of biases"));
    HU_TRY(make_memory(dnn, hu_dnn_view_of(&dnn->bias), &dnn->bias_memory));
    HU_TRY(describe_weights(dnn));
done:
    return st;
}

hu_status hu_dnn_create(const hu_product_facts *facts, hu_dnn **made) {
    hu_dnn *dnn = NULL;
    hu_status st;
    *made = NULL;
    HU_TRY(hu_dnn_check_isa());
    HU_TRY(HU_NEW(&dnn));
    dnn->product = facts->geometry;
    dnn->need_data = facts->needs[HU_PRODUCT_INPUT_GRAD] &&
                     !hu_product_is_accumulated(facts, HU_PRODUCT_INPUT_GRAD);
    dnn->need_weights = !hu_product_is_accumulated(facts, HU_PRODUCT_WEIGHT_GRAD);
    dnn->threads = facts->threads;
    HU_TRY(make_engine(dnn));
    HU_TRY(make_layouts(dnn));
    HU_TRY(add_plan(dnn, facts->chunk));
    *made = dnn;
done:
    if (st != HU_OK) hu_dnn_release(dnn);
    return st;
}

hu_status hu_dnn_prepare(hu_dnn *dnn, int64_t count) {
    return find_plan(dnn, count) ? HU_OK : add_plan(dnn, count);
}

size_t hu_dnn_scratch_bytes(const hu_dnn *dnn, hu_product_role role) {
    return dnn->scratch_bytes[side_of(role)];
}

size_t hu_dnn_packed_bytes(const hu_dnn *dnn, hu_product_role role) {
    return role == HU_PRODUCT_WEIGHT_GRAD ? 0 : dnn->packing[side_of(role)].bytes;
}

const char *hu_dnn_impl(const hu_dnn *dnn, hu_product_role role) {
    const length_plan *plan = dnn->plans;
    const char *name = "";
    while (plan->next) plan = plan->next;
    if (plan->pd[role])
        hu_dnn_lib.primitive_desc_query(plan->pd[role], dnnl_query_impl_info_str, 0, (void *)&name);
    return name;
}

/* ---- run ---- */

/* oneDNN's arrays are not const, also where it only reads. */
static bool point(dnnl_memory_t memory, const void *data) {
    return hu_dnn_lib.memory_set_data_handle(memory, (void *)data) == dnnl_success;
}

bool hu_dnn_pack(hu_dnn *dnn, hu_product_role role, const float *weights, const float *bias,
                 void *packed) {
    weight_packing *packing = &dnn->packing[side_of(role)];
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, packing->plain},
                              {DNNL_ARG_TO, packing->packed},
                              {DNNL_ARG_SCRATCHPAD, packing->scratchpad}};
    return (!bias || point(dnn->bias_memory, bias)) && point(packing->plain, weights) &&
           point(packing->packed, packed) &&
           hu_dnn_lib.primitive_execute(packing->reorder, dnn->stream[0], 3, args) == dnnl_success;
}

/* What the calls of one chunk's primitives share. */
typedef struct execution {
    const hu_dnn *dnn;
    const length_plan *plan;
    const dnnl_memory_t *shell; /* of this thread */
    dnnl_stream_t stream;
    char *scratch;
} execution;

static execution start(const hu_dnn *dnn, const hu_product_call *call) {
    const length_plan *plan = find_plan(dnn, call->count);
    size_t thread = (size_t)call->thread;
    char *spare = plan->spare;
    return (execution){.dnn = dnn,
                       .plan = plan,
                       .shell = plan->thread[thread].shell,
                       .stream = dnn->stream[thread],
                       .scratch = spare ? spare + thread * plan->spare_bytes : call->scratch};
}

/* args: the scratchpad comes first and is filled in here. */
static bool execute(const execution *e, int kind, int n, dnnl_exec_arg_t *args) {
    args[0] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, e->shell[SCRATCHPAD + kind]};
    return point(args[0].memory, e->scratch) &&
           hu_dnn_lib.primitive_execute(e->plan->primitive[kind], e->stream, n, args) ==
               dnnl_success;
}

/* x -> y */
static bool forward(const execution *e, const hu_product_call *call) {
    dnnl_exec_arg_t args[] = {{0},
                              {DNNL_ARG_SRC, e->shell[INPUT]},
                              {DNNL_ARG_WEIGHTS, e->dnn->packing[ON_FORWARD].packed},
                              {DNNL_ARG_DST, e->shell[OUTPUT]},
                              {DNNL_ARG_BIAS, e->dnn->bias_memory}};
    return point(e->shell[INPUT], call->x) && point(e->shell[OUTPUT], call->y) &&
           execute(e, FORWARD, e->dnn->product.has_bias ? 5 : 4, args);
}

/* dy -> dx */
static bool data_gradient(const execution *e, const hu_product_call *call) {
    dnnl_exec_arg_t args[] = {{0},
                              {DNNL_ARG_DIFF_DST, e->shell[OUTPUT]},
                              {DNNL_ARG_WEIGHTS, e->dnn->packing[ON_BACKWARD].packed},
                              {DNNL_ARG_DIFF_SRC, e->shell[INPUT]}};
    return point(e->shell[OUTPUT], call->dy) && point(e->shell[INPUT], call->dx) &&
           execute(e, BACKWARD_DATA, 4, args);
}

static bool unpack_gradient(const execution *e, float *gradient) {
    dnnl_exec_arg_t args[] = {
        {0}, {DNNL_ARG_FROM, e->shell[PACKED_GRADIENT]}, {DNNL_ARG_TO, e->shell[GRADIENT]}};
    return point(e->shell[GRADIENT], gradient) && execute(e, UNPACK, 3, args);
}

/* x, dy -> dw, db. After the scratchpad: room for dw in oneDNN's layout and for a db that nobody
 * asked for. */
static bool weight_gradient(const execution *e, const hu_product_call *call) {
    bool has_bias = e->dnn->product.has_bias, unpack = e->plan->primitive[UNPACK] != NULL;
    char *packed = e->scratch + e->plan->scratchpad_bytes[ON_BACKWARD];
    void *bias = has_bias ? call->db : NULL;
    if (!bias) bias = packed + e->plan->packed_gradient_bytes;
    dnnl_exec_arg_t args[] = {{0},
                              {DNNL_ARG_SRC, e->shell[INPUT]},
                              {DNNL_ARG_DIFF_DST, e->shell[OUTPUT]},
                              {DNNL_ARG_DIFF_WEIGHTS, e->shell[PACKED_GRADIENT]},
                              {DNNL_ARG_DIFF_BIAS, e->shell[BIAS_GRADIENT]}};
    return point(e->shell[INPUT], call->x) && point(e->shell[OUTPUT], call->dy) &&
           point(e->shell[PACKED_GRADIENT], unpack ? (void *)packed : call->dw) &&
           point(e->shell[BIAS_GRADIENT], bias) &&
           execute(e, BACKWARD_WEIGHTS, has_bias ? 5 : 4, args) &&
           (!unpack || unpack_gradient(e, call->dw));
}

bool hu_dnn_run(const hu_dnn *dnn, hu_product_role role, const hu_product_call *call) {
    execution e = start(dnn, call);
    if (role == HU_PRODUCT_FORWARD) return forward(&e, call);
    return role == HU_PRODUCT_INPUT_GRAD ? data_gradient(&e, call) : weight_gradient(&e, call);
}

/* ---- oneDNN as a library ---- */

bool hu_dnn_is_there(void) {
    return hu_dnn_open();
}

const char *hu_dnn_absence(void) {
    return "not on this machine: found no " HU_DNN_FILE;
}

void hu_dnn_version(char *text, uint32_t capacity) {
    const dnnl_version_t *v = hu_dnn_is_there() ? hu_dnn_lib.version() : NULL;
    if (!v)
        snprintf(text, capacity, "none");
    else
        snprintf(text, capacity, "%d.%d.%d", v->major, v->minor, v->patch);
}

/* oneDNN's float32 matrix product: the reference of benchmarks, no part of a training. */
hu_status hu_dnn_sgemm(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
                       int threads) {
    hu_status st = hu_dnn_check_isa();
    if (st != HU_OK) return st;
    int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    dnnl_status_t status = hu_dnn_lib.sgemm('N', 'N', m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
    omp_set_num_threads(before);
    if (status == dnnl_success) return HU_OK;
    return hu_fail(HU_ERR_INTERNAL, "dnnl_sgemm of %lld x %lld x %lld: status %d", (long long)m,
                   (long long)n, (long long)k, (int)status);
}
