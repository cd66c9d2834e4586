#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/rng.h"
#include "kernel/elementary/elementary.h"
#include "op/internal.h"
#include "product/gathered.h"

enum { ROWS, TARGETS, DRAWN };

static hu_status check_attrs(const hu_sampled_attrs *a) {
    enum { MOST = 1 << 24 }; /* class numbers are float32 */
    if (a->classes > 1 && a->classes <= MOST && a->numbers > 0 && a->numbers < MOST) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "sampled softmax: found %lld numbers of %lld classes, expected at least 1 of 2 "
                   "to %d",
                   (long long)a->numbers, (long long)a->classes, MOST);
}

static const hu_attribute attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "classes", offsetof(hu_sampled_attrs, classes), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_WHOLE, "numbers", offsetof(hu_sampled_attrs, numbers), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_FLAG, "ignores", offsetof(hu_sampled_attrs, ignores), 0, 0, 0},
    {HU_ATTRIBUTE_REAL, "ignored", offsetof(hu_sampled_attrs, ignored), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_sampled_attrs, weight_init), 0, 0, 0},
    {HU_ATTRIBUTE_INIT, "bias_init", offsetof(hu_sampled_attrs, bias_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* ---- log_uniform ---- */

static hu_status drawn_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_sampled_attrs *a = attrs;
    (void)n_in, (void)in;
    *n_out = 1;
    out[0] = (hu_shape){1, {a->numbers}};
    return check_attrs(a);
}

/* U_i */
static double share(const hu_op_call *call, int64_t i) {
    const hu_sampled_attrs *a = call->info->attrs;
    if (!call->by_formula) return hu_word_share(hu_random_word(&call->key, (uint64_t)i));
    uint32_t hash = hu_formula_hash(HU_FORMULA_HASH_START, call->info->name);
    uint32_t at = (uint32_t)(call->key.step * (uint64_t)a->numbers + (uint64_t)i);
    return ((double)hu_formula_number(hash, at) + 1.0) / 2.0;
}

static void drawn_forward(const hu_op_call *call) {
    const hu_sampled_attrs *a = call->info->attrs;
    for (int64_t i = 0; i < a->numbers; i++) {
        double u = ((double)i + share(call, i)) / (double)a->numbers;
        float id = (float)hu_log_uniform_id(u, a->classes);
        for (int64_t s = 0; s < call->count; s++) call->out[0][s * a->numbers + i] = id;
    }
}

const hu_op hu_op_log_uniform = {.name = "log_uniform",
                                 .attrs_bytes = sizeof(hu_sampled_attrs),
                                 .attributes = attributes,
                                 .makes_facts = true,
                                 .shape = drawn_shape,
                                 .saves = HU_SAVE_NOTHING,
                                 .forward = drawn_forward};

/* ---- sampled_scores ---- */

/* Rows [T, last], targets [T] and drawn numbers [k]. */
static hu_status check_inputs(const char *op, const hu_sampled_attrs *a, const hu_shape *in) {
    hu_status st;
    HU_TRY(check_attrs(a));
    HU_TRY(hu_expect_rank(op, &in[ROWS], 2));
    if (hu_shape_elements(&in[TARGETS]) != in[ROWS].extent[0] ||
        hu_shape_elements(&in[DRAWN]) != a->numbers)
        st = hu_fail(HU_ERR_SHAPE,
                     "%s: found %lld targets and %lld drawn classes, expected %lld and %lld", op,
                     (long long)hu_shape_elements(&in[TARGETS]),
                     (long long)hu_shape_elements(&in[DRAWN]), (long long)in[ROWS].extent[0],
                     (long long)a->numbers);
done:
    return st;
}

static hu_status scores_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_sampled_attrs *a = attrs;
    (void)n_in;
    *n_out = 1;
    out[0] = (hu_shape){2, {in[ROWS].extent[0], 1 + a->numbers}};
    return check_inputs("sampled_scores", a, in);
}

static hu_status scores_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                               int *count) {
    const hu_sampled_attrs *a = attrs;
    list[0] = (hu_param_decl){"weight", {2, {a->classes, hu_channels(in)}}, a->weight_init, true};
    list[1] = (hu_param_decl){"bias", {1, {a->classes}}, a->bias_init, true};
    *count = 2;
    return HU_OK;
}

/* As linear layers begin. */
static void scores_usual(void *attrs, const hu_shape *in) {
    hu_sampled_attrs *a = attrs;
    a->weight_init = a->bias_init =
        (hu_init){HU_INIT_UNIFORM, 1.0f / sqrtf((float)hu_channels(in))};
}

static hu_picked_facts facts_of(const hu_node_info *info) {
    const hu_sampled_attrs *a = info->attrs;
    return (hu_picked_facts){.rows = info->in[ROWS].extent[0],
                             .width = info->in[ROWS].extent[1],
                             .ids = a->classes,
                             .picks = a->numbers,
                             .ignores = a->ignores,
                             .ignored = a->ignored,
                             .needs_dx = info->need_din[ROWS],
                             .accumulation = info->accumulation,
                             .engine = info->engine,
                             .chunk = info->chunk,
                             .threads = info->threads};
}

static int64_t scores_absent(const hu_node_info *info, bool training, int64_t count,
                             const float *const *given) {
    (void)training;
    hu_picked_facts facts = facts_of(info);
    return hu_picked_absent(&facts, count, given[TARGETS], given[DRAWN]);
}

static int64_t scores_macs(const hu_node_info *info) {
    return hu_shape_elements(&info->out[0]) * info->in[ROWS].extent[1];
}

static hu_status scores_create(const hu_node_info *info, void **state) {
    hu_picked_facts facts = facts_of(info);
    hu_picked *picked;
    hu_status st = hu_picked_create(&facts, &picked);
    *state = picked;
    return st;
}

static hu_status scores_prepare(const hu_node_info *info, void *state, int64_t count) {
    (void)info;
    return hu_picked_prepare(state, count);
}

static void scores_release(void *state) {
    hu_picked_free(state);
}

static hu_product_role role_of(hu_pass pass) {
    return pass == HU_FORWARD ? HU_PRODUCT_FORWARD : HU_PRODUCT_INPUT_GRAD;
}

static size_t scores_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    return hu_picked_scratch_bytes(state, role_of(pass));
}

static size_t scores_workspace_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)info;
    return hu_picked_workspace_bytes(state, role_of(pass));
}

static hu_picked_call call_of(const hu_op_call *call) {
    return (hu_picked_call){.x = call->in[ROWS],
                            .own = call->in[TARGETS],
                            .picks = call->in[DRAWN],
                            .w = call->param[0],
                            .bias = call->param[1],
                            .y = call->out[0],
                            .dy = call->dout[0],
                            .dx = call->din[ROWS],
                            .dw = call->dparam[0],
                            .db = call->dparam[1],
                            .first = call->first,
                            .count = call->count,
                            .total = call->total,
                            .thread = call->thread,
                            .workspace = call->workspace,
                            .scratch = call->scratch,
                            .counts = call->product_counts};
}

static void scores_begin(const hu_op_call *call, hu_pass pass) {
    hu_picked_call picked = call_of(call);
    hu_picked_begin(call->state, role_of(pass), &picked);
}

static void scores_forward(const hu_op_call *call) {
    hu_picked_call picked = call_of(call);
    hu_picked_forward(call->state, &picked);
}

static void scores_backward(const hu_op_call *call) {
    hu_picked_call picked = call_of(call);
    if (picked.dx) hu_picked_backward(call->state, &picked);
}

static bool scores_in_batch_order(const hu_node_info *info) {
    (void)info;
    return true;
}

static void scores_accumulate(const hu_op_call *call) {
    hu_picked_call picked = call_of(call);
    hu_picked_accumulate(call->state, &picked);
}

const hu_op hu_op_sampled_scores = {.name = "sampled_scores",
                                    .attrs_bytes = sizeof(hu_sampled_attrs),
                                    .attributes = attributes,
                                    .usual = scores_usual,
                                    .min_in = 3,
                                    .max_in = 3,
                                    .is_product = true,
                                    .shape = scores_shape,
                                    .params = scores_params,
                                    .saves = HU_SAVE_ALL_INPUTS,
                                    .absent = scores_absent,
                                    .scratch_bytes = scores_scratch_bytes,
                                    .workspace_bytes = scores_workspace_bytes,
                                    .create = scores_create,
                                    .prepare = scores_prepare,
                                    .release = scores_release,
                                    .begin = scores_begin,
                                    .forward = scores_forward,
                                    .backward = scores_backward,
                                    .in_batch_order = scores_in_batch_order,
                                    .accumulate = scores_accumulate,
                                    .macs = scores_macs};

/* ---- sampled_cross_entropy ---- */

static hu_status loss_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    const hu_sampled_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
    HU_TRY(check_inputs("sampled_cross_entropy", a, in));
    if (in[ROWS].extent[1] != 1 + a->numbers)
        st = hu_fail(HU_ERR_SHAPE, "sampled_cross_entropy: found %lld scores, expected %lld",
                     (long long)in[ROWS].extent[1], (long long)(1 + a->numbers));
done:
    return st;
}

static bool is_ignored(const hu_sampled_attrs *a, float target) {
    return a->ignores && target == a->ignored;
}

static int64_t check_target(const hu_node_info *info, int64_t count, const float *target,
                            hu_round_counts *counts) {
    const hu_sampled_attrs *a = info->attrs;
    int64_t units = 0, n = count * hu_shape_elements(&info->in[TARGETS]);
    for (int64_t r = 0; r < n; r++) {
        bool is_present = !is_ignored(a, target[r]);
        units += is_present;
        counts->nan += is_present && hu_whole_below(target[r], a->classes) < 0;
    }
    counts->elements += (uint64_t)n;
    return units;
}

static size_t loss_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    const hu_sampled_attrs *a = info->attrs;
    (void)state, (void)pass;
    return (size_t)hu_sampled_numbers(a->numbers) * sizeof(double);
}

/* What the rows of a call share. */
static hu_sampled begin_rows(const hu_op_call *call) {
    const hu_sampled_attrs *a = call->info->attrs;
    hu_sampled made = {a->classes, a->numbers, call->in[DRAWN], call->scratch};
    hu_sampled_begin(&made);
    return made;
}

/* A target that is no class gives NaN. */
static double row_loss(const hu_sampled *rows, float target, const float *x, double *best) {
    bool is_class = hu_whole_below(target, rows->classes) >= 0;
    return is_class ? hu_sampled_loss(rows, target, x, best) : (double)NAN;
}

/* What forward keeps of each row for the sums after it. */
enum { KEPT_LOSS, KEPT_BEST, KEPT };

static size_t loss_mask_bytes(const hu_node_info *info) {
    return (size_t)hu_shape_elements(&info->in[TARGETS]) * KEPT * sizeof(double);
}

static double *kept_of(const hu_op_call *call, int64_t r) {
    return (double *)(void *)call->mask + KEPT * r;
}

/* The sums of the rows of a sample, in order. */
static void add_rows(const hu_op_call *call, int64_t s, double *sum, double *best) {
    int64_t rows = hu_shape_elements(&call->info->in[TARGETS]);
    double of_sample = 0.0;
    for (int64_t r = s * rows; r < (s + 1) * rows; r++) {
        if (is_ignored(call->info->attrs, call->in[TARGETS][r])) continue;
        of_sample += kept_of(call, r)[KEPT_LOSS];
        *best += kept_of(call, r)[KEPT_BEST];
    }
    *sum += of_sample;
}

static void loss_forward(const hu_op_call *call) {
    int64_t rows = hu_shape_elements(&call->info->in[TARGETS]);
    const hu_sampled with = begin_rows(call);
    for (int64_t s = 0; s < call->count; s++) {
        double sum = 0.0, best = 0.0;
        for (int64_t r = s * rows; r < (s + 1) * rows; r++) {
            double *kept = kept_of(call, r);
            if (is_ignored(call->info->attrs, call->in[TARGETS][r])) continue;
            kept[KEPT_BEST] = 0.0;
            kept[KEPT_LOSS] = row_loss(&with, call->in[TARGETS][r],
                                       call->in[ROWS] + r * (1 + with.k), &kept[KEPT_BEST]);
        }
        add_rows(call, s, &sum, &best);
        call->out[0][s] = (float)sum;
    }
}

static void loss_reduce(const hu_op_call *call, hu_pass pass) {
    double sum = 0.0, best = 0.0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) add_rows(call, s, &sum, &best);
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = best;
}

static void loss_backward(const hu_op_call *call) {
    int64_t rows = hu_shape_elements(&call->info->in[TARGETS]);
    if (!call->din[ROWS]) return;
    const hu_sampled with = begin_rows(call);
    for (int64_t r = 0; r < call->count * rows; r++) {
        float target = call->in[TARGETS][r], *dx = call->din[ROWS] + r * (1 + with.k);
        double dy = (double)call->dout[0][r / rows];
        if (hu_whole_below(target, with.classes) < 0) dy = NAN;
        if (is_ignored(call->info->attrs, target))
            memset(dx, 0, (size_t)(1 + with.k) * sizeof *dx);
        else
            hu_sampled_slopes(&with, target, call->in[ROWS] + r * (1 + with.k), dy, dx);
    }
}

const hu_op hu_op_sampled_cross_entropy = {.name = "sampled_cross_entropy",
                                           .attrs_bytes = sizeof(hu_sampled_attrs),
                                           .attributes = attributes,
                                           HU_LOSS_RECORD_OF(3),
                                           .shape = loss_shape,
                                           .check_target = check_target,
                                           .saves = HU_SAVE_ALL_INPUTS,
                                           .mask_bytes = loss_mask_bytes,
                                           .scratch_bytes = loss_scratch_bytes,
                                           .reduce = loss_reduce,
                                           .forward = loss_forward,
                                           .backward = loss_backward};
