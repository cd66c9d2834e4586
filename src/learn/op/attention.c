#include <inttypes.h>
#include <math.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/elementary/elementary.h"
#include "op/internal.h"
#include "product/batched_matmul.h"

/* ---- sight ---- */

/* Which keys the rows of a sample see: what the operations of attention share. */

/* hu_attention_mask_attrs in texts. */
extern const hu_attribute hu_attention_mask_attributes[];

/* How many keys and rows of each sample are present: [count], NULL: all. */
typedef struct hu_attention_mask_lengths {
    const float *keys, *rows;
} hu_attention_mask_lengths;

const hu_attribute hu_attention_mask_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "causal", offsetof(hu_attention_mask_attrs, is_causal), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "lengths_too", offsetof(hu_attention_mask_attrs, lengths_too), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* The inputs from number `first` on, of which there may be two, one or none. in: arrays. */
static hu_attention_mask_lengths hu_attention_mask_lengths_of(int n_in, const float *const *in,
                                                              int first) {
    return (hu_attention_mask_lengths){.keys = n_in > first ? in[first] : NULL,
                                       .rows = n_in > first + 1 ? in[first + 1] : NULL};
}

/* HU_ERR_SHAPE unless each of them is one number. */
static hu_status hu_attention_mask_expect_lengths(const char *op, int first, int n_in,
                                                  const hu_shape *in) {
    hu_status st = hu_expect_lengths(op, first, n_in, in);
    return st == HU_OK ? hu_expect_lengths(op, first + 1, n_in, in) : st;
}

/* Rows and keys of sample i that are present. A length beyond the keys means all of them, one that
 * is no number none. */
static hu_heads_valid hu_attention_mask_valid(const hu_attention_mask_attrs *attrs,
                                              const hu_heads *heads,
                                              hu_attention_mask_lengths lengths, int64_t i) {
    hu_heads_valid valid = {heads->rows, heads->keys};
    const float *rows = attrs->lengths_too && !lengths.rows ? lengths.keys : lengths.rows;
    if (lengths.keys) valid.keys = hu_rows_of_length(lengths.keys[i], heads->keys);
    if (rows) valid.rows = hu_rows_of_length(rows[i], heads->rows);
    return valid;
}

/* Numbers of pairs [heads, rows, keys] of count samples that are missing. */
static int64_t hu_attention_mask_absent_pairs(const hu_attention_mask_attrs *attrs,
                                              const hu_heads *heads, int64_t count,
                                              hu_attention_mask_lengths lengths) {
    int64_t seen = 0;
    for (int64_t i = 0; i < count; i++)
        seen += hu_heads_pairs_seen(heads, hu_attention_mask_valid(attrs, heads, lengths, i));
    return heads->heads * (count * heads->rows * heads->keys - seen);
}

/* ---- attention products ---- */

/* attention_scores and attention_context: the two products of attention, whose factors are both
 * activations. Roles of their sums: the output, the gradient of the first factor (INPUT_GRAD), that
 * of the second (WEIGHT_GRAD); no sum leaves its sample. */

enum { LENGTHS = 2, ALIGNMENT = 64, SHAPE_TEXT = 176 };

/* What a node needs to know at every call. */
typedef struct attention {
    hu_heads heads;
    hu_attention_mask_attrs sight;
    float factor;
    hu_heads_form form[HU_PRODUCT_ROLES];
    size_t scratch_bytes[HU_PRODUCT_ROLES];
} attention;

static int64_t rows_count(const hu_heads *h) {
    return h->rows * h->heads * h->depth;
}
static int64_t keys_count(const hu_heads *h) {
    return h->keys * h->heads * h->depth;
}
static int64_t pairs_count(const hu_heads *h) {
    return h->heads * h->rows * h->keys;
}

/* ---- what is multiplied ---- */

static hu_heads scores_heads(const hu_scores_attrs *a, const hu_shape *in) {
    return (hu_heads){.heads = a->heads,
                      .rows = in[0].extent[0],
                      .keys = in[1].extent[0],
                      .depth = in[0].extent[1] / a->heads,
                      .is_causal = a->sight.is_causal};
}

static hu_heads context_heads(const hu_attention_mask_attrs *a, const hu_shape *in) {
    return (hu_heads){.heads = in[0].extent[0],
                      .rows = in[0].extent[1],
                      .keys = in[0].extent[2],
                      .depth = in[1].extent[1] / in[0].extent[0],
                      .is_causal = a->is_causal};
}

static attention scores_of(const hu_node_info *info) {
    const hu_scores_attrs *a = info->attrs;
    return (attention){.heads = scores_heads(a, info->in),
                       .sight = a->sight,
                       .factor = a->factor,
                       .form = {HU_HEADS_PAIRS, HU_HEADS_ROWS, HU_HEADS_KEYS}};
}

static attention context_of(const hu_node_info *info) {
    const hu_attention_mask_attrs *a = info->attrs;
    return (attention){.heads = context_heads(a, info->in),
                       .sight = *a,
                       .factor = 1.0f,
                       .form = {HU_HEADS_ROWS, HU_HEADS_PAIRS, HU_HEADS_KEYS}};
}

static hu_status check_factor(float factor) {
    int exponent;
    bool is_power = isfinite(factor) && factor > 0 && !(frexpf(factor, &exponent) > 0.5f);
    if (is_power) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "attention_scores: factor %g, expected a power of two (another factor is a scale "
        "of its own before the product)",
        (double)factor);
}

static hu_status wrong_pair(const char *op, const hu_shape *in, const char *expected) {
    char first[SHAPE_TEXT], second[SHAPE_TEXT];
    hu_shape_print(&in[0], first, sizeof first);
    hu_shape_print(&in[1], second, sizeof second);
    return hu_fail(HU_ERR_SHAPE, "%s: found %s and %s, expected %s", op, first, second, expected);
}

/* q [T, d], k [S, d] -> [heads, T, S] */
static hu_status scores_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_scores_attrs *a = attrs;
    hu_status st = check_factor(a->factor);
    if (st != HU_OK) return st;
    if (in[0].rank != 2 || in[1].rank != 2 || in[0].extent[1] != in[1].extent[1])
        return wrong_pair("attention_scores", in, "rows [T, d] and keys [S, d]");
    if (a->heads < 1 || in[0].extent[1] % a->heads != 0)
        return hu_fail(HU_ERR_SHAPE,
                       "attention_scores: found %" PRId64 " heads for rows of %" PRId64
                       " numbers, expected a divisor of them",
                       a->heads, in[0].extent[1]);
    *n_out = 1;
    out[0] = (hu_shape){3, {a->heads, in[0].extent[0], in[1].extent[0]}};
    return hu_attention_mask_expect_lengths("attention_scores", LENGTHS, n_in, in);
}

/* weights [heads, T, S], v [S, d] -> [T, d] */
static hu_status context_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)attrs;
    if (in[0].rank != 3 || in[1].rank != 2 || in[0].extent[2] != in[1].extent[0] ||
        in[1].extent[1] % in[0].extent[0] != 0)
        return wrong_pair("attention_context", in,
                          "weights [heads, T, S] and values [S, d], d a multiple of heads");
    *n_out = 1;
    out[0] = (hu_shape){2, {in[0].extent[1], in[1].extent[1]}};
    return hu_attention_mask_expect_lengths("attention_context", LENGTHS, n_in, in);
}

/* ---- planning ---- */

static const hu_accumulator *accumulator_of(const hu_node_info *info, hu_product_role role) {
    return hu_accumulates(info, role) ? &info->accumulation->accumulator[role] : NULL;
}

static hu_status create(const hu_node_info *info, const attention *a, void **state) {
    hu_status st = HU_OK;
    attention *made = NULL;
    *state = NULL;
    HU_TRY(HU_NEW(&made));
    *made = *a;
    for (int r = 0; r < HU_PRODUCT_ROLES; r++)
        HU_TRY(hu_heads_scratch_bytes(&made->heads, made->form[r],
                                      accumulator_of(info, (hu_product_role)r),
                                      &made->scratch_bytes[r]));
    *state = made;
done:
    if (st != HU_OK) hu_free(made);
    return st;
}

static hu_status scores_create(const hu_node_info *info, void **state) {
    attention a = scores_of(info);
    return create(info, &a, state);
}

static hu_status context_create(const hu_node_info *info, void **state) {
    attention a = context_of(info);
    return create(info, &a, state);
}

static void attention_release(void *state) {
    hu_free(state);
}

/* Rows of a sample, multiplied with the factor, stand in front of the products' scratch. */
static size_t scaled_bytes(const attention *a) {
    bool is_one = !(a->factor < 1.0f) && !(a->factor > 1.0f);
    return is_one ? 0 : hu_round_up((size_t)rows_count(&a->heads) * sizeof(float), ALIGNMENT);
}

static size_t attention_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    const attention *a = state;
    (void)info;
    size_t most = a->scratch_bytes[HU_PRODUCT_FORWARD];
    if (pass == HU_BACKWARD) {
        size_t first = a->scratch_bytes[HU_PRODUCT_INPUT_GRAD];
        most = a->scratch_bytes[HU_PRODUCT_WEIGHT_GRAD];
        most = first > most ? first : most;
    }
    return scaled_bytes(a) + most;
}

static int64_t macs_of(const attention *a) {
    return pairs_count(&a->heads) * a->heads.depth;
}

static int64_t scores_macs(const hu_node_info *info) {
    attention a = scores_of(info);
    return macs_of(&a);
}

static int64_t context_macs(const hu_node_info *info) {
    attention a = context_of(info);
    return macs_of(&a);
}

static int64_t scores_absent(const hu_node_info *info, bool training, int64_t count,
                             const float *const *given) {
    (void)training;
    attention a = scores_of(info);
    return hu_attention_mask_absent_pairs(&a.sight, &a.heads, count,
                                          hu_attention_mask_lengths_of(info->n_in, given, LENGTHS));
}

/* Rows after the lengths. */
static int64_t context_absent(const hu_node_info *info, bool training, int64_t count,
                              const float *const *given) {
    (void)training;
    attention a = context_of(info);
    const hu_attention_mask_lengths lengths =
        hu_attention_mask_lengths_of(info->n_in, given, LENGTHS);
    int64_t rows = 0;
    for (int64_t i = 0; i < count; i++)
        rows += a.heads.rows - hu_attention_mask_valid(&a.sight, &a.heads, lengths, i).rows;
    return rows * a.heads.heads * a.heads.depth;
}

/* ---- run ---- */

/* One sum of sample i of the call; first, second and result begin with that sample. */
static void run(const hu_op_call *call, hu_product_role role, int64_t i, const float *first,
                const float *second, float *result) {
    const attention *a = call->state;
    const hu_attention_mask_lengths lengths =
        hu_attention_mask_lengths_of(call->info->n_in, call->in, LENGTHS);
    hu_heads_call product = {.first = first,
                             .second = second,
                             .result = result,
                             .valid = hu_attention_mask_valid(&a->sight, &a->heads, lengths, i),
                             .accumulator = accumulator_of(call->info, role),
                             .counts = call->product_counts ? &call->product_counts[role] : NULL,
                             .scratch = (char *)call->scratch + scaled_bytes(a)};
    hu_heads_run(&a->heads, a->form[role], &product);
}

static void multiply(int64_t n, float factor, const float *from, float *to) {
    for (int64_t k = 0; k < n; k++) to[k] = from[k] * factor;
}

/* Rows as they are multiplied. */
static const float *scaled(const hu_op_call *call, const float *rows) {
    const attention *a = call->state;
    if (scaled_bytes(a) == 0) return rows;
    multiply(rows_count(&a->heads), a->factor, rows, call->scratch);
    return call->scratch;
}

/* q [count, T, d], k [count, S, d] -> [count, heads, T, S] */
static void scores_forward(const hu_op_call *call) {
    const hu_heads *h = &((const attention *)call->state)->heads;
    for (int64_t i = 0; i < call->count; i++)
        run(call, HU_PRODUCT_FORWARD, i, scaled(call, call->in[0] + i * rows_count(h)),
            call->in[1] + i * keys_count(h), call->out[0] + i * pairs_count(h));
}

/* dq = factor (sum over s of dy k), dk = sum over t of dy (factor q) */
static void scores_backward(const hu_op_call *call) {
    const attention *a = call->state;
    const hu_heads *h = &a->heads;
    for (int64_t i = 0; i < call->count; i++) {
        const float *dy = call->dout[0] + i * pairs_count(h);
        float *dq = call->din[0] ? call->din[0] + i * rows_count(h) : NULL;
        if (dq) run(call, HU_PRODUCT_INPUT_GRAD, i, dy, call->in[1] + i * keys_count(h), dq);
        if (dq && scaled_bytes(a) > 0) multiply(rows_count(h), a->factor, dq, dq);
        if (call->din[1])
            run(call, HU_PRODUCT_WEIGHT_GRAD, i, dy, scaled(call, call->in[0] + i * rows_count(h)),
                call->din[1] + i * keys_count(h));
    }
}

/* weights [count, heads, T, S], v [count, S, d] -> [count, T, d] */
static void context_forward(const hu_op_call *call) {
    const hu_heads *h = &((const attention *)call->state)->heads;
    for (int64_t i = 0; i < call->count; i++)
        run(call, HU_PRODUCT_FORWARD, i, call->in[0] + i * pairs_count(h),
            call->in[1] + i * keys_count(h), call->out[0] + i * rows_count(h));
}

/* dw = dy v, dv = sum over t of w dy */
static void context_backward(const hu_op_call *call) {
    const hu_heads *h = &((const attention *)call->state)->heads;
    for (int64_t i = 0; i < call->count; i++) {
        const float *dy = call->dout[0] + i * rows_count(h);
        if (call->din[0])
            run(call, HU_PRODUCT_INPUT_GRAD, i, dy, call->in[1] + i * keys_count(h),
                call->din[0] + i * pairs_count(h));
        if (call->din[1])
            run(call, HU_PRODUCT_WEIGHT_GRAD, i, call->in[0] + i * pairs_count(h), dy,
                call->din[1] + i * keys_count(h));
    }
}

/* ---- the records ---- */

static const hu_attribute scores_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "heads", offsetof(hu_scores_attrs, heads), 1, 1, INFINITY},
    {HU_ATTRIBUTE_REAL, "factor", offsetof(hu_scores_attrs, factor), 1, 0, 0},
    {HU_ATTRIBUTE_FLAG, "causal", offsetof(hu_scores_attrs, sight.is_causal), 0, 0, 0},
    {HU_ATTRIBUTE_FLAG, "lengths_too", offsetof(hu_scores_attrs, sight.lengths_too), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

#define ATTENTION_RECORD                                                                           \
    .min_in = 2, .max_in = 4, .held = 1u << 1 | 3u << LENGTHS, .is_product = true,                 \
    .saves = HU_SAVE_ALL_INPUTS, .scratch_bytes = attention_scratch_bytes,                         \
    .release = attention_release

const hu_op hu_op_attention_scores = {.name = "attention_scores",
                                      .attrs_bytes = sizeof(hu_scores_attrs),
                                      .attributes = scores_attributes,
                                      ATTENTION_RECORD,
                                      .shape = scores_shape,
                                      .create = scores_create,
                                      .absent = scores_absent,
                                      .forward = scores_forward,
                                      .backward = scores_backward,
                                      .macs = scores_macs};

const hu_op hu_op_attention_context = {.name = "attention_context",
                                       .attrs_bytes = sizeof(hu_attention_mask_attrs),
                                       .attributes = hu_attention_mask_attributes,
                                       ATTENTION_RECORD,
                                       .ends_by = LENGTHS + 1,
                                       .shape = context_shape,
                                       .create = context_create,
                                       .absent = context_absent,
                                       .forward = context_forward,
                                       .backward = context_backward,
                                       .macs = context_macs};

/* ---- attention weights ---- */

/* attention_weights: softmax over the keys that each row sees, in double, one rounding per weight.
 */

enum { ATTENTION_WEIGHTS_LENGTHS = 1 };

static hu_heads heads_of(const hu_node_info *info) {
    const hu_attention_mask_attrs *a = info->attrs;
    return (hu_heads){.heads = info->in[0].extent[0],
                      .rows = info->in[0].extent[1],
                      .keys = info->in[0].extent[2],
                      .is_causal = a->is_causal};
}

/* scores [heads, T, S] -> the same shape */
static hu_status weights_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)attrs;
    hu_status st = hu_expect_rank("attention_weights", &in[0], 3);
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    return hu_attention_mask_expect_lengths("attention_weights", ATTENTION_WEIGHTS_LENGTHS, n_in,
                                            in);
}

/* Scratch: how many keys each row sees, then the rows' powers. */
static size_t seen_bytes(const hu_heads *h) {
    return (size_t)h->rows * sizeof(int64_t);
}

static size_t weights_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    hu_heads h = heads_of(info);
    size_t powers = (size_t)hu_softmax_numbers(h.keys) * sizeof(double);
    return seen_bytes(&h) + (pass == HU_FORWARD ? powers : 0);
}

static int64_t weights_absent(const hu_node_info *info, bool training, int64_t count,
                              const float *const *given) {
    (void)training;
    hu_heads h = heads_of(info);
    return hu_attention_mask_absent_pairs(
        info->attrs, &h, count,
        hu_attention_mask_lengths_of(info->n_in, given, ATTENTION_WEIGHTS_LENGTHS));
}

/* Keys that the rows of sample i see, into scratch. */
static const int64_t *find_seen(const hu_op_call *call, const hu_heads *h, int64_t i) {
    const hu_attention_mask_lengths lengths =
        hu_attention_mask_lengths_of(call->info->n_in, call->in, ATTENTION_WEIGHTS_LENGTHS);
    hu_heads_valid valid = hu_attention_mask_valid(call->info->attrs, h, lengths, i);
    int64_t *seen = call->scratch;
    for (int64_t t = 0; t < h->rows; t++) seen[t] = hu_heads_seen(h, valid, t);
    return seen;
}

/* scores [count, heads, T, S] -> weights, 0 where a row sees nothing */
static void weights_forward(const hu_op_call *call) {
    hu_heads h = heads_of(call->info);
    double *powers = (double *)((char *)call->scratch + seen_bytes(&h));
    for (int64_t i = 0; i < call->count; i++) {
        const int64_t *seen = find_seen(call, &h, i);
        for (int64_t head = 0; head < h.heads; head++) {
            int64_t at = (i * h.heads + head) * h.rows * h.keys;
            hu_elementary()->softmax(h.rows, h.keys, seen, call->in[0] + at, powers,
                                     call->out[0] + at);
        }
    }
}

/* dx = y (dy - sum over the row of y dy), y the rounded weights */
static void weights_backward(const hu_op_call *call) {
    hu_heads h = heads_of(call->info);
    for (int64_t i = 0; call->din[0] && i < call->count; i++) {
        const int64_t *seen = find_seen(call, &h, i);
        for (int64_t head = 0; head < h.heads; head++) {
            int64_t at = (i * h.heads + head) * h.rows * h.keys;
            hu_elementary()->softmax_backward(h.rows, h.keys, seen, call->out[0] + at,
                                              call->dout[0] + at, call->din[0] + at);
        }
    }
}

const hu_op hu_op_attention_weights = {.name = "attention_weights",
                                       .attrs_bytes = sizeof(hu_attention_mask_attrs),
                                       .attributes = hu_attention_mask_attributes,
                                       .min_in = 1,
                                       .max_in = 3,
                                       .held = 3u << ATTENTION_WEIGHTS_LENGTHS,
                                       .in_place = true,
                                       .shape = weights_shape,
                                       .saves = HU_SAVE_OUTPUT_0 | HU_SAVE_INPUT_1 |
                                                HU_SAVE_INPUT_1 << 1,
                                       .scratch_bytes = weights_scratch_bytes,
                                       .absent = weights_absent,
                                       .forward = weights_forward,
                                       .backward = weights_backward};
