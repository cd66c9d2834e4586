/* op/op.h - what an operation is: one const record per kind, in one table.
 *
 * Ops compute in float32 on ranges of the batch and never hear of a number format. Every array is
 * batch-major: count samples of the sample shape, one after the other ([count, H, W, C] for
 * images). Life of a node: shape and params (declare) -> create and prepare (plan) -> per step:
 * begin, reduce, finish, forward ... (run) -> release.
 */
#ifndef HU_OP_OP_H
#define HU_OP_OP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/gemm.h>
#include <halfulp/random.h>
#include <halfulp/round.h>
#include <halfulp/status.h>
#include <halfulp/tensor.h>

#include "product/geometry.h"

/* ---- attribute ---- */

/* Attributes of operations as texts: "out=64 kernel=3x3 pad=1 bias=off". */

typedef enum hu_attribute_kind {
    HU_ATTRIBUTE_END,   /* ends a list */
    HU_ATTRIBUTE_WHOLE, /* int64_t */
    HU_ATTRIBUTE_PAIR,  /* two int64_t, one after the other: "3x5" is height 3, width 5; "3" both */
    HU_ATTRIBUTE_REAL,  /* float */
    HU_ATTRIBUTE_DOUBLE,
    HU_ATTRIBUTE_FLAG,   /* bool: on, off */
    HU_ATTRIBUTE_SHAPE,  /* hu_shape: "7x7x16"; not given: no extents */
    HU_ATTRIBUTE_AXES,   /* hu_axes: "0,1"; not given: none */
    HU_ATTRIBUTE_INIT,   /* hu_init: "normal:0.02" */
    HU_ATTRIBUTE_ANCHORS /* hu_anchors without its limits: maps */
} hu_attribute_kind;

/* Axes of a sample's shape, 0 the first, negative ones counted from the end; or one whole number
 * for each of them. */
typedef struct hu_axes {
    int32_t count;
    int64_t at[HU_MAX_RANK];
} hu_axes;

typedef struct hu_attribute {
    hu_attribute_kind kind;
    const char *name;
    size_t offset;      /* in the op's attribute struct */
    double preset;      /* NaN: must be given. Of texts that are no number 0: it may be left out */
    double least, most; /* of numbers, both included; equal: any. What shapes allow is less */
} hu_attribute;

/* What a value of a kind looks like, for messages and help: "a whole number, or two as 3x5".
 * Borrowed: valid forever. */
const char *hu_attribute_form(hu_attribute_kind kind);

/* Reads a text into an attribute struct that is all zero: presets first, then what the text says,
 * words separated by blanks. list NULL: there are none. HU_ERR_UNKNOWN names the nearest
 * attributes, HU_ERR_ARGUMENT the one that is missing, HU_ERR_PARSE the value and what was
 * expected. Proof: tests/unit/op_attribute_test.c. */
hu_status hu_attributes_read(const hu_attribute *list, const char *text, void *attrs);

typedef struct hu_op hu_op;

/* The same for an operation, and then what it finds usual (hu_op.usual) for the shape of its first
 * input; in NULL: it has none. attrs: hu_op.attrs_bytes zero bytes. */
hu_status hu_op_read_attributes(const hu_op *op, const char *text, const hu_shape *in, void *attrs);

/* The text that hu_op_read_attributes reads as these attributes, what is usual left out, with the
 * same shape of the first input. attrs NULL: all zero. Owner frees *text with hu_free. Proof:
 * tests/unit/op_attribute_test.c. */
hu_status hu_op_write_attributes(const hu_op *op, const void *attrs, const hu_shape *in,
                                 char **text);

enum { HU_MAX_PARAMS = 8, HU_MAX_OUTPUTS = 8, HU_MAX_HELD = 4 };

typedef enum hu_pass { HU_FORWARD, HU_BACKWARD } hu_pass;

/* What of the forward pass must still be there in the backward pass. Aux bytes always survive. */
enum {
    HU_SAVE_NOTHING = 0,
    HU_SAVE_INPUT_0 = 1u << 0,
    HU_SAVE_INPUT_1 = 1u << 1,
    HU_SAVE_ALL_INPUTS = 0xffffu,
    HU_SAVE_OUTPUT_0 = 1u << 16,
    HU_SAVE_ALL_OUTPUTS = 0xff0000u
};

typedef enum hu_init_kind {
    HU_INIT_CONSTANT,
    HU_INIT_NORMAL,
    HU_INIT_UNIFORM,
    HU_INIT_SHARE
} hu_init_kind;

/* How a parameter starts: constant scale; normal with standard deviation scale; uniform on [-scale,
 * scale), or a share on [0, scale). */
typedef struct hu_init {
    hu_init_kind kind;
    float scale;
} hu_init;

typedef struct hu_param_decl {
    const char *suffix; /* "weight", "bias", "running_mean": the full name is NODE.suffix, or, where
                           it is empty, NODE */
    hu_shape shape;
    hu_init init;
    bool trained; /* false: a buffer, changed only by commit, kept in float32, never rounded */
} hu_param_decl;

/* The fixed facts of one node. Borrowed arrays: valid as long as the graph. */
typedef struct hu_node_info {
    const void *attrs; /* the op's own attribute struct */
    const char *name;
    int n_in, n_out, n_params;
    const hu_shape *in;    /* [n_in] sample shapes, without the batch */
    const hu_shape *out;   /* [n_out] */
    const hu_shape *param; /* [n_params] */
    const bool *need_din;  /* [n_in] is the gradient of this input wanted */
    int64_t chunk;         /* samples per chunk, the largest count of a call */
    int threads;           /* calls that may run at the same time */

    const hu_accumulation *accumulation; /* of products; NULL: nothing chosen */
    const struct hu_operand_formats
        *operands;            /* of products (op/operand.h); NULL: none is rounded */
    hu_product_engine engine; /* of products without a chosen accumulator */
    bool in_loop;             /* calls are of a step */
} hu_node_info;

/* One call on samples first .. first+count-1 of the batch. All sample pointers point at sample
 * `first`. Pointers that a pass does not use are NULL: in/out hold what the op saves (backward) or
 * all (forward). */
typedef struct hu_op_call {
    const hu_node_info *info;
    void *state;   /* what create made */
    bool training; /* false: evaluation (running statistics, no dropout) */
    int thread;    /* 0 .. info->threads-1 */
    int64_t first, count;
    int64_t total;     /* samples of the pass */
    int64_t before;    /* samples of the batch in earlier passes: random words count from there */
    hu_random_key key; /* (seed, stream of this node, step); outside of training always step 0 of
                          another stream, so that noise belongs to the sample */
    bool by_formula;   /* noise is a formula on the node's name (base/rng.h) */
    uint64_t drawn;    /* step x batch, short batches too: from there the formula counts */
    const float *lengths; /* of products: rows of in[0] of each sample of the pass that are present,
                             the others being padding; NULL: all are */
    const float **in;     /* [n_in] [count, in[i]] */
    float **out;          /* [n_out] [count, out[i]] */
    const float **param;  /* [n_params] working copies (already rounded); buffers included */
    const float **dout;   /* [n_out] [count, out[i]] gradient of the outputs */
    float **din;          /* [n_in] [count, in[i]] overwritten; NULL where not needed */
    float **dparam;       /* [n_params] this chunk's partial gradient; NULL for buffers, and of
                             products where this call is for din alone */
    bool adds_dparam; /* false: dparam is overwritten; true: it holds the sum over the chunks before
                         this one, and this chunk's part is added */
    uint8_t *mask;    /* [count, mask_bytes] bytes written forward, read after it */
    double *stats; /* [stats_count] node-wide numbers of finish, alive until the end of backward */
    double *partial; /* reduce: this chunk's partial result; finish: the merged one */
    void *workspace; /* workspace_bytes, shared by all threads, filled by begin, read by
                        forward/backward */
    void *scratch;   /* scratch_bytes, this thread's own; 64-byte aligned */
    hu_gemm_counts *product_counts; /* [HU_PRODUCT_ROLES] this thread's, added to by products with a
                                       chosen accumulator; NULL: not counted */
    hu_round_counts *operand_counts; /* [HU_OPERANDS] this thread's, added to by products that round
                                        what they multiply; NULL: not counted */
} hu_op_call;

struct hu_op {
    const char *name;
    size_t attrs_bytes;
    int min_in, max_in; /* max_in -1: any number */
    bool is_view; /* output holds the input's numbers in another shape (flatten): no rounding point
                   */
    bool is_product; /* matrix product with an accumulator: conv2d, linear (a "GEMM operator") */
    bool rounds_operands; /* a product that rounds what it multiplies, as node_info.operands says */
    bool is_cheap; /* doing it again on a chunk costs less than reading its result from memory; no
                      state, begin, workspace, and one output */
    bool in_place; /* out[0] may be the array of in[0], and din[0] that of dout[0] */
    bool is_relu;
    bool selects_input; /* each output element equals an element of in[0], or zero: so rounding it
                           to the format of in[0] changes nothing (max pooling, relu) */
    bool selects_gradient; /* likewise each element of every din is one of dout[0], or zero */
    bool copies_gradient; /* the gradients of all inputs are that of output 0; backward may be asked
                             for any of them */
    bool keeps_absent;    /* what is not there in in[0] (absent) is not there in out[0] either */
    bool keeps_rows; /* row t of the outputs comes of row t of those inputs that have as many, and
                        of  no other: what is padding there is padding here (graph/graph.h) */
    /* Whether this is so with these attributes and an input of this rank; NULL: always. */
    bool (*keeps_rows_of)(const void *attrs, int rank);

    /* Inputs are stretched to the shape of the output, right-aligned: in_place holds where in[0]
     * has that shape, selects_gradient and copies_gradient where all inputs have it, keeps_rows for
     * inputs of as many extents. */
    bool broadcasts;
    int ends_by; /* input that says how many rows of the outputs are present, where the node has it:
                    the others are padding. 0: none does */
    bool makes_facts; /* the outputs are places or choices: no format rounds them, and no gradient
                         goes through the node, which has no backward */

    bool is_previous; /* in a loop: the row of in[0] that the step before has made, in the first
                         step in[1]; in[2], if there is one, has the lengths (graph/graph.h). The
                         executor does it: there is neither forward nor backward */

    bool is_carried; /* the outputs are what a state of a loop was when the pass before ended. The
                        executor does it (engine/recurrent_state.c): there is no forward */

    /* Bit i: in a loop (graph/graph.h) every step reads input i as a whole, a value from outside;
     * of the other inputs it reads its row. At most HU_MAX_HELD bits. */
    unsigned held;

    bool reduce_after_forward; /* reduce runs after forward: forward needs no batch statistics (the
                                  loss) */

    /* A loss: in[0] is the prediction, in[1] the target (some have none), out[0] one number per
     * sample: the sum over the sample's units (the rows of a row loss, matched anchors, or the one
     * unit that a sample is). The stats of the forward pass begin with HU_LOSS_STATS sums over the
     * batch. dout[0] is the weight of one unit: loss scale x weight of the loss / units (or
     * samples) of the whole batch. */
    bool is_loss;
    /* Looks at the targets of count samples: adds the elements to counts, those that the loss
     * cannot use as NaN, and gives the number of units that take part in the loss. Only losses have
     * it. */
    int64_t (*check_target)(const hu_node_info *info, int64_t count, const float *target,
                            hu_round_counts *counts);

    /* What the attributes are called in texts (op/op.h); NULL: there are none. */
    const hu_attribute *attributes;
    /* What a text leaves open and the shapes of the inputs decide: how parameters start. NULL:
     * nothing. */
    void (*usual)(void *attrs, const hu_shape *in);

    /* What the outputs are called after the node's name; NULL: "out", or "out0", "out1", ... */
    const char *const *output_names;
    /* Number and shapes of the outputs from the inputs; HU_ERR_SHAPE naming found and expected. */
    hu_status (*shape)(const void *attrs, int n_in, const hu_shape *in, int *n_out, hu_shape *out);
    /* Declares parameters and buffers; NULL: none. list holds HU_MAX_PARAMS. */
    hu_status (*params)(const void *attrs, const hu_shape *in, hu_param_decl *list, int *count);
    unsigned saves;
    unsigned saves_alone; /* of an op that broadcasts, where a node has one input and no parameter
                             that learns: a constant is beside it */
    /* Numbers of out[0] of count samples that are missing: exact zeros that no reader looks at,
     * as pairs that a mask takes out. Neither they nor those of the gradient are counted. given
     * [n_in]: the inputs that no format rounds, NULL for the others. NULL: all are present. */
    int64_t (*absent)(const hu_node_info *info, bool training, int64_t count,
                      const float *const *given);

    /* Sizes; NULL means 0. */
    size_t (*mask_bytes)(const hu_node_info *info);                  /* per sample */
    size_t (*stats_count)(const hu_node_info *info);                 /* doubles per node */
    size_t (*partial_count)(const hu_node_info *info, hu_pass pass); /* doubles per chunk */
    size_t (*scratch_bytes)(const hu_node_info *info, void *state, hu_pass pass);   /* per thread */
    size_t (*workspace_bytes)(const hu_node_info *info, void *state, hu_pass pass); /* shared */

    /* Makes the node's private state (primitives for chunks of info->chunk samples); NULL: no
     * state. */
    hu_status (*create)(const hu_node_info *info, void **state);
    /* Makes what chunks of another length need (the short last chunk); called outside parallel
     * regions. */
    hu_status (*prepare)(const hu_node_info *info, void *state, int64_t count);
    void (*release)(void *state);

    /* Once per pass before the chunks, on one thread: unpacked params -> workspace (reordered
     * weights). in: as absent's given. NULL: nothing. */
    void (*begin)(const hu_op_call *call, hu_pass pass);
    /* True: of the parameters, what runs after begin in the pass reads that workspace alone. NULL:
     * it reads param. */
    bool (*packs_params)(const hu_node_info *info, void *state, hu_pass pass);
    /* Batch-wide reductions. forward: reduce sees in, (training only); backward: reduce sees dout
     * and what is saved. Partial results of the chunks are merged in a fixed tree (left <- left +
     * right unless merge is given), then finish turns the whole into stats and, in the backward
     * pass, may write param gradients into dparam. */
    void (*reduce)(const hu_op_call *call, hu_pass pass);
    void (*merge)(const hu_node_info *info, hu_pass pass, double *left, const double *right);
    void (*finish)(const hu_op_call *call, hu_pass pass);

    void (*forward)(const hu_op_call *call);
    /* forward and a relu after it, in one pass: out[0] is the relu's output, bits its mask bytes
     * for samples whose elements are a multiple of 8. NULL: there is none. */
    void (*forward_relu)(const hu_op_call *call, uint8_t *bits);
    void (*backward)(const hu_op_call *call);
    /* True: backward writes a partial dparam per chunk, or adds to that of the chunks before it
     * (adds_dparam). False: finish writes dparam. */
    bool dparam_per_chunk;
    /* Parameter gradients whose order of summation runs through the whole batch. Where
     * in_batch_order(info) says so (NULL: nowhere), backward leaves dparam alone and accumulate is
     * called for all chunks in ascending order, outside parallel regions (it may use info->threads
     * threads): in, dout and first as in backward, dparam the one gradient of the batch, complete
     * after the last chunk, workspace that of backward, kept from chunk to chunk. */
    bool (*in_batch_order)(const hu_node_info *info);
    void (*accumulate)(const hu_op_call *call);
    /* After a forward pass in training whose numbers are finite: updates the buffers from stats.
     * buffers[i] is NULL for trained parameters. */
    void (*commit)(const hu_op_call *call, float **buffers);

    /* Multiply-accumulates of one sample, forward. NULL: 0. */
    int64_t (*macs)(const hu_node_info *info);
    /* The library's name of what computes a pass ("jit:avx2"); one that begins with "ref" is slow.
     * "" where our own kernels do, NULL: always. Borrowed: valid until release. */
    const char *(*impl)(const hu_node_info *info, void *state, hu_pass pass);
};

static inline bool hu_keeps_rows(const hu_op *op, const void *attrs, int rank) {
    return op->keeps_rows && (!op->keeps_rows_of || op->keeps_rows_of(attrs, rank));
}

/* Must input i still be there in the backward pass? */
static inline bool hu_saves_input(const hu_op *op, int i) {
    enum { INPUT_BITS = 16 };
    return i < INPUT_BITS && (op->saves >> i & 1u);
}

/* Must output i? */
static inline bool hu_saves_output(const hu_op *op, int i) {
    return op->saves / HU_SAVE_OUTPUT_0 >> i & 1u;
}

static inline bool hu_accumulates(const hu_node_info *info, hu_product_role role) {
    return info->accumulation && info->accumulation->chosen[role];
}

/* X(identifier): const hu_op hu_op_<identifier>. The one list of operations. */

/* clang-format off */
#define HU_OP_LIST(X) \
    X(conv2d) \
    X(conv1d) \
    X(linear) \
    X(embedding) \
    X(band_linear) \
    X(band_law) \
    X(bias) \
    X(batch_norm) \
    X(range_norm) \
    X(layer_norm) \
    X(group_norm) \
    X(instance_norm) \
    X(rms_norm) \
    X(local_norm) \
    X(l2_norm) \
    X(relu) \
    X(leaky_relu) \
    X(clipped_relu) \
    X(sigmoid) \
    X(tanh) \
    X(gelu) \
    X(silu) \
    X(hard_swish) \
    X(hard_sigmoid) \
    X(exp) \
    X(log) \
    X(sqrt) \
    X(pow) \
    X(square) \
    X(abs) \
    X(neg) \
    X(clip) \
    X(scale) \
    X(add) \
    X(sub) \
    X(mul) \
    X(div) \
    X(minimum) \
    X(maximum) \
    X(where) \
    X(add_row) \
    X(sum_of_products) \
    X(blend) \
    X(lstm_gates) \
    X(gru_gates) \
    X(gru_candidate) \
    X(concat) \
    X(split) \
    X(slice) \
    X(pad) \
    X(interleave) \
    X(position) \
    X(sinusoid) \
    X(rotary) \
    X(class_token) \
    X(pick) \
    X(pick_rows) \
    X(max_pool) \
    X(avg_pool) \
    X(max_pool1d) \
    X(avg_pool1d) \
    X(adaptive_avg_pool) \
    X(reduce_mean) \
    X(reduce_sum) \
    X(reduce_max) \
    X(roi_pool) \
    X(global_avg_pool) \
    X(nearest) \
    X(bilinear) \
    X(pixel_shuffle) \
    X(flatten) \
    X(reshape) \
    X(transpose) \
    X(previous) \
    X(reverse) \
    X(last_row) \
    X(attention_scores) \
    X(attention_weights) \
    X(attention_context) \
    X(dropout) \
    X(drop_path) \
    X(sample_normal) \
    X(normal) \
    X(zeros) \
    X(carried) \
    X(constant) \
    X(ids) \
    X(softmax) \
    X(log_softmax) \
    X(nll) \
    X(softmax_cross_entropy) \
    X(adaptive_cross_entropy) \
    X(mixed_cross_entropy) \
    X(mse) \
    X(l1) \
    X(bce) \
    X(bce_toward) \
    X(kl_normal) \
    X(ssd_loss) \
    X(rpn_loss) \
    X(proposals) \
    X(roi_loss) \
    X(ctc_loss) \
    X(row_conv) \
    X(log_uniform) \
    X(sampled_scores) \
    X(sampled_cross_entropy) \
    X(length) \
    X(mean)

/* clang-format on */

#define HU_OP_DECLARE(identifier) extern const hu_op hu_op_##identifier;
HU_OP_LIST(HU_OP_DECLARE)
#undef HU_OP_DECLARE

/* All records, hu_op_count of them; and the record of a name, NULL if there is none. */
extern const hu_op *const hu_op_table[];
extern const int hu_op_count;
const hu_op *hu_op_find(const char *name);

/* Stats of a loss's forward pass, sums over the batch in double: the losses before any rounding,
 * and what the loss's own metric needs (row losses: rows whose largest entry is the target). */
enum { HU_LOSS_SUM, HU_LOSS_METRIC, HU_LOSS_STATS };

/* ---- expect ---- */

/* Checks of input shapes that several operations share; op is the name for messages.
 */

/* HU_ERR_SHAPE unless every input has the shape of input 0. */
hu_status hu_expect_same(const char *op, int n_in, const hu_shape *in);

/* HU_ERR_SHAPE unless the input has at least / exactly the rank. */
hu_status hu_expect_rank_least(const char *op, const hu_shape *in, int rank);
hu_status hu_expect_rank(const char *op, const hu_shape *in, int rank);

/* Last extent; the shape has rank >= 1. */
static inline int64_t hu_channels(const hu_shape *shape) {
    return shape->extent[shape->rank - 1];
}

#endif
