#include "op/operand.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "kernel/block/block.h"
#include "kernel/hadamard/hadamard.h"
#include "kernel/reduce/channel.h"
#include "kernel/round/round.h"

enum { ALIGNMENT = 64 };

static const char *const names[HU_OPERANDS] = {"forward.x",    "forward.w",      "input_grad.dy",
                                               "input_grad.w", "weight_grad.dy", "weight_grad.x"};

const char *hu_operand_name(hu_operand_place operand) {
    return names[operand];
}

bool hu_operands_round(const hu_operand_formats *formats) {
    bool any = false;
    for (int o = 0; formats && o < HU_OPERANDS; o++)
        any = any || hu_quantizer_rounds(&formats->quantizer[o]);
    return any;
}

bool hu_operands_same(const hu_operand_formats *a, const hu_operand_formats *b) {
    bool same = true;
    for (int o = 0; o < HU_OPERANDS && same; o++) {
        const hu_quantizer *p = &a->quantizer[o], *q = &b->quantizer[o];
        same = hu_quantizer_same_numbers(p, q) &&
               (!hu_quantizer_rounds(p) || p->rounding == q->rounding);
    }
    return same;
}

hu_status hu_operand_check(const hu_quantizer *quantizer) {
    if (quantizer->kind == HU_QUANTIZER_UNIFORM)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "found uniform%u, whose range is a tensor's, expected a number format or one "
            "in blocks",
            quantizer->bits);
    if (quantizer->scale == HU_SCALE_DELAYED)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found a scale of the steps before, which tensors have, expected "
                       ":scale=current, :scale=2^K or blocks");
    return HU_OK;
}

/* ---- life ---- */

/* One operand: count x rows x cols numbers in a call, or [rows, taps, cols] weights. */
typedef struct prepared {
    hu_quantizer quantizer;
    hu_rounder rounder;  /* of number formats without a scale */
    hu_blocker *blocker; /* of block formats, copied and fitted to each matrix */
    hu_random_key key;   /* its stream; seed and step are those of a call */
    int64_t rows, cols;
    bool is_down;  /* the product sums over rows: blocks run down the columns */
    bool is_panel; /* down, by lines that are made of the columns: MS-EDEN corrects along them */
    bool stays_rotated;
} prepared;

struct hu_operand_set {
    prepared of[HU_OPERANDS];
    hu_product product;
    int64_t chunk;
    bool needs_dx, in_loop;
    hu_random_key signs[HU_PRODUCT_ROLES]; /* stream of random rotations */
};

static bool is_weights(hu_operand_place o) {
    return o == HU_OPERAND_FORWARD_W || o == HU_OPERAND_INPUT_GRAD_W;
}

static bool is_input(hu_operand_place o) {
    return o == HU_OPERAND_FORWARD_X || o == HU_OPERAND_WEIGHT_GRAD_X;
}

static int64_t taps(const hu_product *p) {
    return p->kernel_h * p->kernel_w;
}

/* A transposed layer reads what the geometry calls its output, and sums over its channels. */
static void set_shape(const hu_product *p, bool transposed, hu_operand_place o, prepared *to) {
    bool is_in = is_input(o) != transposed;
    if (is_weights(o)) {
        to->rows = p->out_c;
        to->cols = p->in_c / p->groups;
        to->is_down = (o == HU_OPERAND_FORWARD_W) == transposed;
        return;
    }
    to->rows = is_in ? p->in_h * p->in_w : p->out_h * p->out_w;
    to->cols = is_in ? p->in_c : p->out_c;
    to->is_down = hu_operand_role(o) == HU_PRODUCT_WEIGHT_GRAD;
}

/* Columns are rotated before the blocker sees them, and their blocks lie across its lines. */
static hu_status create_blocker(prepared *p) {
    const hu_block_format *format = &p->quantizer.block;
    hu_block_format seen = p->is_down ? hu_block_format_across(format) : *format;
    p->is_panel = p->is_down && format->way == HU_BLOCK_WAY_EDEN;
    if (p->is_panel) seen = *format;
    if (p->is_down && !p->is_panel) seen.hadamard = 0;
    hu_status st = HU_NEW(&p->blocker);
    if (st != HU_OK) return st;
    return hu_blocker_init(p->blocker, &seen, p->quantizer.rounding, p->cols, p->cols);
}

static hu_status prepare(const hu_node_info *info, hu_operand_place o, prepared *p) {
    char stream[64];
    hu_status st = hu_operand_check(&p->quantizer);
    if (st != HU_OK) return hu_fail_within(st, "%s: ", names[o]);
    snprintf(stream, sizeof stream, "operand %s", names[o]);
    p->key.stream = hu_stream_id(stream, info->name);
    if (p->quantizer.kind == HU_QUANTIZER_BLOCK) return create_blocker(p);
    if (hu_quantizer_needs_maximum(&p->quantizer)) return HU_OK;
    return hu_rounder_init(&p->rounder, &p->quantizer.format, p->quantizer.rounding);
}

/* Rotations of both operands cancel where what they rotate meets one to one: channels without
 * groups, pixels of a layer that keeps them. */
static bool is_cancelled(const hu_product *p, const prepared *a, const prepared *b, bool pixels) {
    const hu_quantizer *q = &a->quantizer, *r = &b->quantizer;
    bool are_blocks = q->kind == HU_QUANTIZER_BLOCK && r->kind == HU_QUANTIZER_BLOCK;
    bool keeps = taps(p) == 1 && p->stride_h == 1 && p->stride_w == 1 && p->in_h == p->out_h &&
                 p->in_w == p->out_w && p->pad_h == 0 && p->pad_w == 0;
    if (!are_blocks || q->block.hadamard == 0 || q->block.hadamard != r->block.hadamard ||
        q->block.signs != r->block.signs)
        return false;
    return pixels ? keeps : p->groups == 1;
}

static void set_rotations(const hu_node_info *info, hu_operand_set *set) {
    for (int role = 0; role < HU_PRODUCT_ROLES; role++) {
        prepared *a = &set->of[2 * role], *b = a + 1;
        char stream[64];
        bool stays = is_cancelled(&set->product, a, b, role == HU_PRODUCT_WEIGHT_GRAD);
        a->stays_rotated = b->stays_rotated = stays;
        snprintf(stream, sizeof stream, "rotation %s", names[2 * role]);
        set->signs[role].stream = hu_stream_id(stream, info->name);
    }
}

hu_status hu_operands_create(const hu_node_info *info, const hu_product *product, bool transposed,
                             hu_operand_set **set) {
    hu_status st = HU_OK;
    hu_operand_set *made = NULL;
    *set = NULL;
    if (!hu_operands_round(info->operands)) return HU_OK;
    HU_TRY(HU_NEW(&made));
    *made = (hu_operand_set){.product = *product,
                             .chunk = info->chunk,
                             .needs_dx = info->need_din[0],
                             .in_loop = info->in_loop};
    for (int o = 0; o < HU_OPERANDS; o++) {
        prepared *p = &made->of[o];
        p->quantizer = info->operands->quantizer[o];
        set_shape(product, transposed, (hu_operand_place)o, p);
        if (hu_quantizer_rounds(&p->quantizer)) HU_TRY(prepare(info, (hu_operand_place)o, p));
    }
    set_rotations(info, made);
    *set = made;
    return HU_OK;
done:
    hu_operands_free(made);
    return st;
}

void hu_operands_free(hu_operand_set *set) {
    for (int o = 0; set && o < HU_OPERANDS; o++) hu_free(set->of[o].blocker);
    hu_free(set);
}

/* ---- sizes ---- */

static bool rounds(const hu_operand_set *set, hu_operand_place o) {
    return hu_quantizer_rounds(&set->of[o].quantizer);
}

static size_t floats(int64_t count) {
    return hu_round_up((size_t)count * sizeof(float), ALIGNMENT);
}

/* Of the rounded copy that a call has. */
static size_t copy_bytes(const hu_operand_set *set, hu_operand_place o) {
    const prepared *p = &set->of[o];
    return rounds(set, o) && !is_weights(o) ? floats(set->chunk * p->rows * p->cols) : 0;
}

/* Rows that are rounded together as lines: whole groups that are rotated or corrected. */
static int64_t panel_rows(const prepared *p) {
    return hu_block_step(&p->quantizer.block);
}

/* Of the columns of these rows, of which a call has no more than `rows`. */
static size_t panel_bytes(const prepared *p, int64_t rows) {
    const int64_t most = panel_rows(p);
    return p->is_panel ? floats((most < rows ? most : rows) * p->cols) : 0;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t role_scratch_bytes(const hu_operand_set *set, hu_product_role role) {
    size_t copies = 0, panel = 0;
    for (int o = 2 * (int)role; o < 2 * (int)role + 2; o++) {
        copies += copy_bytes(set, (hu_operand_place)o);
        const prepared *p = &set->of[o];
        if (!is_weights((hu_operand_place)o))
            panel = larger(panel, panel_bytes(p, set->chunk * p->rows));
    }
    return copies + panel;
}

/* A bias learns from the gradient as it was: its sums take turns with the copies. */
static size_t bias_bytes(const hu_operand_set *set) {
    bool sums = set->product.has_bias && rounds(set, HU_OPERAND_WEIGHT_GRAD_DY);
    return sums ? hu_channel_total_scratch_bytes(set->of[HU_OPERAND_WEIGHT_GRAD_DY].cols) : 0;
}

size_t hu_operands_scratch_bytes(const hu_operand_set *set, hu_pass pass) {
    if (!set) return 0;
    if (pass == HU_FORWARD) /* it also looks at x as the weights' gradient rotates it */
        return larger(role_scratch_bytes(set, HU_PRODUCT_FORWARD),
                      copy_bytes(set, HU_OPERAND_WEIGHT_GRAD_X));
    size_t weights = larger(role_scratch_bytes(set, HU_PRODUCT_WEIGHT_GRAD), bias_bytes(set));
    return larger(role_scratch_bytes(set, HU_PRODUCT_INPUT_GRAD), weights);
}

static hu_operand_place weights_of(hu_pass pass) {
    return pass == HU_FORWARD ? HU_OPERAND_FORWARD_W : HU_OPERAND_INPUT_GRAD_W;
}

static bool rounds_weights(const hu_operand_set *set, hu_pass pass) {
    return set && rounds(set, weights_of(pass)) && (pass == HU_FORWARD || set->needs_dx);
}

/* Weights of one tap and one group, as the matrix of a linear layer. */
static int64_t tap_elements(const hu_operand_set *set) {
    const hu_product *p = &set->product;
    return p->out_c / p->groups * (p->in_c / p->groups);
}

size_t hu_operands_workspace_bytes(const hu_operand_set *set, hu_pass pass) {
    if (!rounds_weights(set, pass)) return 0;
    const prepared *p = &set->of[weights_of(pass)];
    return floats(hu_product_weights(&set->product)) + 2 * floats(tap_elements(set)) +
           panel_bytes(p, p->rows * taps(&set->product));
}

/* ---- rounding of a matrix ---- */

/* Numbers of an operand: x [rows, cols] -> y, which does not overlap it. */
typedef struct matrix {
    int64_t rows, cols;
    const float *x;
    float *y;
    float *panel;
    uint32_t top; /* of the whole tensor, where its scale needs it */
    hu_random_key key;
    uint64_t first;        /* word of the first number */
    const uint32_t *signs; /* of a rotation */
    hu_round_counts *counts;
} matrix;

/* The blocker of a matrix, or of a panel of lines. */
static hu_blocker fit(const prepared *p, const matrix *m, int64_t lines, int64_t line) {
    hu_blocker fitted = *p->blocker;
    fitted.signs = m->signs;
    fitted.stays_rotated = p->stays_rotated;
    (void)hu_blocker_set_row(&fitted, lines * line, line); /* no larger than what is in memory */
    return fitted;
}

/* Groups of rows become groups of lines. */
static void round_panels(const prepared *p, const matrix *m, float scale) {
    const int64_t most = panel_rows(p), cols = m->cols;
    for (int64_t r = 0; r < m->rows; r += most) {
        const int64_t n = m->rows - r < most ? m->rows - r : most;
        const float *x = m->x + r * cols;
        float *y = m->y + r * cols, *panel = m->panel;
        const hu_blocker fitted = fit(p, m, cols, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < cols; c++) panel[c * n + i] = x[i * cols + c];
        hu_blocker_round(&fitted, scale, 1, panel, panel, &m->key, m->first + (uint64_t)(r * cols),
                         m->counts);
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < cols; c++) y[i * cols + c] = panel[c * n + i];
    }
}

/* Down the columns; rows of x are rotated into y. */
static void round_down(const prepared *p, const matrix *m, float scale) {
    const int32_t size = p->quantizer.block.hadamard;
    const hu_blocker fitted = fit(p, m, m->rows, m->cols);
    if (size) hu_hadamard_across(size, m->signs, m->rows, m->cols, m->x, m->y, false);
    hu_blocker_round(&fitted, scale, 1, size ? m->y : m->x, m->y, &m->key, m->first, m->counts);
    if (size && !p->stays_rotated)
        hu_hadamard_across(size, m->signs, m->rows, m->cols, m->y, m->y, true);
}

static void round_numbers(const prepared *p, const matrix *m) {
    const hu_quantizer *q = &p->quantizer;
    size_t n = (size_t)(m->rows * m->cols);
    hu_rounder scaled;
    const hu_rounder *rounder = &p->rounder;
    if (hu_quantizer_needs_maximum(q)) {
        hu_format format =
            hu_format_scaled(&q->format, hu_scale_exponent(&q->format, q->scale, m->top));
        if (hu_rounder_init(&scaled, &format, q->rounding) != HU_OK) return; /* checked before */
        rounder = &scaled;
    }
    hu_rounder_run(rounder, n, m->x, m->y, &m->key, m->first, m->counts);
}

static void round_matrix(const prepared *p, const matrix *m) {
    if (p->quantizer.kind != HU_QUANTIZER_BLOCK) {
        round_numbers(p, m);
        return;
    }
    float scale = hu_block_tensor_scale(&p->quantizer.block, m->top);
    if (p->is_panel) {
        round_panels(p, m, scale);
    } else if (p->is_down) {
        round_down(p, m, scale);
    } else {
        const hu_blocker fitted = fit(p, m, m->rows, m->cols);
        hu_blocker_round(&fitted, scale, 1, m->x, m->y, &m->key, m->first, m->counts);
    }
}

/* Bits of the largest magnitude of a matrix, rotated if that is what is rounded. */
static uint32_t matrix_top(const prepared *p, const matrix *m) {
    const size_t n = (size_t)(m->rows * m->cols);
    const int32_t size = p->quantizer.kind == HU_QUANTIZER_BLOCK ? p->quantizer.block.hadamard : 0;
    if (size == 0) return hu_top_f32(n, m->x);
    if (p->is_down) {
        hu_hadamard_across(size, m->signs, m->rows, m->cols, m->x, m->y, false);
        return hu_top_f32(n, m->y);
    }
    const hu_blocker fitted = fit(p, m, m->rows, m->cols);
    return hu_blocker_top(&fitted, m->rows * m->cols, m->x);
}

/* The signs by which a product rotates; room [HU_HADAMARD_MOST] for those that are drawn. */
static const uint32_t *signs_of(const hu_operand_set *set, hu_operand_place o,
                                const hu_op_call *call, uint32_t *room) {
    const hu_quantizer *q = &set->of[o].quantizer;
    hu_random_key key = set->signs[hu_operand_role(o)];
    if (q->kind != HU_QUANTIZER_BLOCK || q->block.hadamard == 0) return NULL;
    if (!hu_quantizer_needs_signs(q)) return hu_hadamard_fixed(q->block.signs);
    key.seed = call->key.seed;
    key.step = call->key.step;
    hu_hadamard_draw(&key, q->block.hadamard, room);
    return room;
}

/* ---- weights ---- */

static void copy_tap(const hu_operand_set *set, int64_t group, int64_t tap, bool is_back,
                     const float *from, float *to) {
    const hu_product *p = &set->product;
    const int64_t rows = p->out_c / p->groups, cols = p->in_c / p->groups, step = taps(p) * cols;
    const int64_t at = group * rows * step + tap * cols;
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + (is_back ? at + r * step : r * cols),
               from + (is_back ? r * cols : at + r * step), (size_t)cols * sizeof *to);
}

/* What is done with the weights of a tap. */
typedef void tap_fn(const prepared *p, const matrix *tap, uint32_t *top);

static void round_tap(const prepared *p, const matrix *tap, uint32_t *top) {
    (void)top;
    round_matrix(p, tap);
}

static void look_at_tap(const prepared *p, const matrix *tap, uint32_t *top) {
    uint32_t bits = matrix_top(p, tap);
    if (bits > *top) *top = bits;
}

/* Tap by tap of every group, where a block has numbers of several rows. */
static uint32_t each_tap(const hu_operand_set *set, const prepared *p, const matrix *all,
                         float *room, tap_fn *each) {
    const int64_t n = tap_elements(set);
    uint32_t top = 0;
    matrix one = *all;
    one.x = room;
    one.y = room + floats(n) / sizeof(float);
    one.rows = set->product.out_c / set->product.groups;
    for (int64_t g = 0; g < set->product.groups; g++)
        for (int64_t t = 0; t < taps(&set->product); t++, one.first += (uint64_t)n) {
            copy_tap(set, g, t, false, all->x, room);
            each(p, &one, &top);
            if (each == round_tap) copy_tap(set, g, t, true, one.y, all->y);
        }
    return top;
}

/* Words and counts of weights are those of the first part of a batch: all round the same ones. */
static matrix weight_matrix(const hu_operand_set *set, hu_operand_place o, const hu_op_call *call,
                            float *y) {
    const prepared *p = &set->of[o];
    matrix made = {.rows = p->rows * taps(&set->product),
                   .cols = p->cols,
                   .x = call->param[0],
                   .y = y,
                   .key = {call->key.seed, p->key.stream, call->key.step}};
    if (call->operand_counts && call->before == 0) made.counts = &call->operand_counts[o];
    return made;
}

/* Whether a block may have numbers of several output channels. */
static bool goes_by_tap(const hu_operand_set *set, const prepared *p) {
    bool has_rows = p->is_down || hu_quantizer_needs_lines(&p->quantizer) > 1;
    return has_rows && (taps(&set->product) > 1 || set->product.groups > 1);
}

const float *hu_operands_round_weights(const hu_operand_set *set, hu_pass pass,
                                       const hu_op_call *call, void *workspace) {
    if (!rounds_weights(set, pass)) return call->param[0];
    const hu_operand_place o = weights_of(pass);
    const prepared *p = &set->of[o];
    uint32_t drawn[HU_HADAMARD_MOST];
    float *copy = workspace,
          *room = copy + floats(hu_product_weights(&set->product)) / sizeof *copy;
    bool by_tap = goes_by_tap(set, p), looks = hu_quantizer_needs_maximum(&p->quantizer);
    matrix m = weight_matrix(set, o, call, copy);
    m.signs = signs_of(set, o, call, drawn);
    m.panel = room + 2 * floats(tap_elements(set)) / sizeof *copy;
    if (looks) m.top = by_tap ? each_tap(set, p, &m, room, look_at_tap) : matrix_top(p, &m);
    if (by_tap)
        each_tap(set, p, &m, room, round_tap);
    else
        round_matrix(p, &m);
    return copy;
}

/* ---- calls ---- */

/* An operand of a call, to be rounded to y. */
static matrix call_matrix(const hu_operand_set *set, hu_operand_place o, const hu_op_call *call,
                          int64_t count, const float *x, float *y) {
    const prepared *p = &set->of[o];
    const int64_t before = (call->before + call->first) * p->rows;
    return (matrix){.rows = count * p->rows,
                    .cols = p->cols,
                    .x = x,
                    .y = y,
                    .key = {call->key.seed, p->key.stream, call->key.step},
                    .first = (uint64_t)(before * p->cols),
                    .counts = call->operand_counts ? &call->operand_counts[o] : NULL};
}

static void round_operand(const hu_operand_set *set, hu_operand_place o, const hu_op_call *call,
                          int64_t count, const float *x, float *y, float *panel) {
    const prepared *p = &set->of[o];
    uint32_t drawn[HU_HADAMARD_MOST];
    matrix m = call_matrix(set, o, call, count, x, y);
    m.signs = signs_of(set, o, call, drawn);
    m.panel = panel;
    /* The largest number of the whole tensor; in a loop of what the call has. */
    if (hu_quantizer_needs_maximum(&p->quantizer))
        m.top = set->in_loop ? matrix_top(p, &m) : hu_f32_bits((float)call->stats[o]);
    round_matrix(p, &m);
}

/* In the order in which the product would add it (product/accumulate.h, product/product.h). */
static void sum_bias(const hu_operand_set *set, const hu_op_call *call, hu_product_call *product) {
    const prepared *p = &set->of[HU_OPERAND_WEIGHT_GRAD_DY];
    const int64_t rows = product->count * p->rows;
    if (!product->db || !rounds(set, HU_OPERAND_WEIGHT_GRAD_DY)) return;
    if (hu_accumulates(call->info, HU_PRODUCT_WEIGHT_GRAD))
        hu_bias_add_rows(product->first == 0, rows, p->cols, product->dy, product->db);
    else
        hu_channel_totals(rows, p->cols, product->dy, product->adds, product->scratch, product->db);
    product->db = NULL;
}

void hu_operands_lend(const hu_operand_set *set, hu_product_role role, const hu_op_call *call,
                      void *workspace, hu_product_call *product) {
    if (!set) return;
    char *room = product->scratch, *panel = room;
    const int first = 2 * (int)role;
    if (role == HU_PRODUCT_WEIGHT_GRAD) sum_bias(set, call, product);
    for (int o = first; o < first + 2; o++) panel += copy_bytes(set, (hu_operand_place)o);
    for (int i = first; i < first + 2; i++) {
        const hu_operand_place o = (hu_operand_place)i;
        if (!rounds(set, o)) continue;
        if (is_weights(o)) {
            product->w = workspace;
            continue;
        }
        float *copy = (void *)room;
        const float **operand = is_input(o) ? &product->x : &product->dy;
        round_operand(set, o, call, product->count, *operand, copy, (void *)panel);
        *operand = copy;
        room += copy_bytes(set, o);
        /* A rotation leaves something of every row in all. */
        if (role == HU_PRODUCT_WEIGHT_GRAD && set->of[o].stays_rotated) product->lengths = NULL;
    }
    product->scratch = room;
}

/* ---- scales of whole tensors ---- */

static bool looks(const hu_operand_formats *formats, hu_operand_place o) {
    return hu_quantizer_needs_maximum(&formats->quantizer[o]) && !is_weights(o);
}

/* x is looked at when it has just been made, for the gradient of the weights, too. */
static bool is_of_pass(hu_operand_place o, hu_pass pass) {
    return is_input(o) == (pass == HU_FORWARD);
}

/* A place for every operand, if there is one to look at. */
size_t hu_operands_partial_count(const hu_node_info *info, hu_pass pass) {
    bool any = false;
    for (int o = 0; info->operands && !info->in_loop && o < HU_OPERANDS; o++)
        any = any ||
              (looks(info->operands, (hu_operand_place)o) && is_of_pass((hu_operand_place)o, pass));
    return any ? HU_OPERANDS : 0;
}

size_t hu_operands_stats_count(const hu_node_info *info) {
    return larger(hu_operands_partial_count(info, HU_FORWARD),
                  hu_operands_partial_count(info, HU_BACKWARD));
}

void hu_operands_reduce(const hu_operand_set *set, const hu_op_call *call, hu_pass pass) {
    uint32_t drawn[HU_HADAMARD_MOST];
    for (int i = 0; i < HU_OPERANDS; i++) {
        const hu_operand_place o = (hu_operand_place)i;
        const float *x = is_input(o) ? call->in[0] : call->dout[0];
        call->partial[o] = 0.0;
        if (!is_of_pass(o, pass) || !looks(call->info->operands, o)) continue;
        if (o == HU_OPERAND_WEIGHT_GRAD_X && !call->training) continue;
        matrix m = call_matrix(set, o, call, call->count, x, call->scratch);
        m.signs = signs_of(set, o, call, drawn);
        call->partial[o] = (double)hu_f32_of_bits(matrix_top(&set->of[o], &m));
    }
}

void hu_operands_merge(const hu_node_info *info, hu_pass pass, double *left, const double *right) {
    (void)info, (void)pass;
    for (int o = 0; o < HU_OPERANDS; o++)
        if (right[o] > left[o]) left[o] = right[o];
}

void hu_operands_finish(const hu_op_call *call, hu_pass pass) {
    for (int o = 0; o < HU_OPERANDS; o++)
        if (is_of_pass((hu_operand_place)o, pass)) call->stats[o] = call->partial[o];
}
