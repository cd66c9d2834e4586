/* attention_weights: softmax over the keys that each row sees, in double, one rounding per weight.
 */
#include "kernel/elementary/elementary.h"
#include "op/expect.h"
#include "op/row_count.h"
#include "op/sight.h"

enum { LENGTHS = 1 };

static hu_heads heads_of(const hu_node_info *info) {
    const hu_sight_attrs *a = info->attrs;
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
    return hu_sight_expect_lengths("attention_weights", LENGTHS, n_in, in);
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
    return hu_sight_absent_pairs(info->attrs, &h, count,
                                 hu_sight_lengths_of(info->n_in, given, LENGTHS));
}

/* Keys that the rows of sample i see, into scratch. */
static const int64_t *find_seen(const hu_op_call *call, const hu_heads *h, int64_t i) {
    const hu_sight_lengths lengths = hu_sight_lengths_of(call->info->n_in, call->in, LENGTHS);
    hu_heads_there there = hu_sight_there(call->info->attrs, h, lengths, i);
    int64_t *seen = call->scratch;
    for (int64_t t = 0; t < h->rows; t++) seen[t] = hu_heads_seen(h, there, t);
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
                                       .attrs_bytes = sizeof(hu_sight_attrs),
                                       .attributes = hu_sight_attributes,
                                       .min_in = 1,
                                       .max_in = 3,
                                       .held = 3u << LENGTHS,
                                       .in_place = true,
                                       .shape = weights_shape,
                                       .saves = HU_SAVE_OUTPUT_0 | HU_SAVE_INPUT_1 |
                                                HU_SAVE_INPUT_1 << 1,
                                       .scratch_bytes = weights_scratch_bytes,
                                       .absent = weights_absent,
                                       .forward = weights_forward,
                                       .backward = weights_backward};
