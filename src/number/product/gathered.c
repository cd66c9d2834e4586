#include "product/gathered.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "product/batched_matmul.h"

/* ---- some rows ---- */

/* Products of some rows of an array: those whose ids lie in a band. They are
 * gathered in ascending order, multiplied as if they were all there is, and put back in their
 * places; the other rows take no part in any sum and are exact zeros in what is made.
 *
 * Terms stand in the order of the rows that are present. In float32 a weight gradient has a strip
 * of its own for each HU_SOME_ROWS of them; a chosen accumulator goes on from one to the next.
 * Proof: tests/unit/product_some_rows_test.c.
 */

enum { ALIGNMENT = 64 };

struct hu_some_rows {
    hu_products *products;
    size_t in, out, weights; /* numbers of a row, and of all weights */
};

hu_status hu_some_rows_create(const hu_product_facts *facts, hu_some_rows **rows) {
    hu_product_facts one = *facts;
    hu_some_rows *made = NULL;
    hu_status st;
    *rows = NULL;
    one.engine = HU_ENGINE_OWN; /* takes calls of any count */
    one.chunk = HU_SOME_ROWS;
    int64_t in = hu_product_in(&one.geometry), out = hu_product_out(&one.geometry);
    HU_TRY(HU_NEW(&made));
    made->in = (size_t)(one.transposed ? out : in);
    made->out = (size_t)(one.transposed ? in : out);
    made->weights = (size_t)hu_product_weights(&one.geometry);
    HU_TRY(hu_products_create(&one, &made->products));
    *rows = made;
    made = NULL;
done:
    hu_some_rows_free(made);
    return st;
}

void hu_some_rows_free(hu_some_rows *rows) {
    if (!rows) return;
    hu_products_free(rows->products);
    hu_free(rows);
}

/* Gathered rows [HU_SOME_ROWS, in] and [HU_SOME_ROWS, out] stand in front of the products' scratch.
 */
static size_t block_bytes(size_t numbers) {
    return hu_round_up(HU_SOME_ROWS * numbers * sizeof(float), ALIGNMENT);
}

static size_t role_bytes(const hu_some_rows *rows, hu_product_role role) {
    return block_bytes(rows->in) + block_bytes(rows->out) +
           hu_products_scratch_bytes(rows->products, role);
}

size_t hu_some_rows_scratch_bytes(const hu_some_rows *rows, hu_product_role role) {
    size_t bytes = role_bytes(rows, role), weights = role_bytes(rows, HU_PRODUCT_WEIGHT_GRAD);
    return role != HU_PRODUCT_FORWARD && weights > bytes ? weights : bytes;
}

/* After packed weights: the rows that were present, room to gather, and sums. */
typedef struct room {
    int64_t *before;
    char *scratch, *carry;
    size_t bytes;
} room;

static room room_of(const hu_some_rows *rows, char *packed) {
    size_t bytes = hu_products_packed_bytes(rows->products, HU_PRODUCT_INPUT_GRAD);
    size_t at = hu_round_up(bytes, ALIGNMENT), carry = hu_products_carry_bytes(rows->products);
    size_t scratch = hu_round_up(role_bytes(rows, HU_PRODUCT_WEIGHT_GRAD), ALIGNMENT);
    if (!packed) return (room){.bytes = carry ? at + ALIGNMENT + scratch + carry : bytes};
    void *before = packed + at;
    return (room){before, packed + at + ALIGNMENT, packed + at + ALIGNMENT + scratch, 0};
}

size_t hu_some_rows_packed_bytes(const hu_some_rows *rows, hu_product_role role) {
    return role == HU_PRODUCT_FORWARD ? hu_products_packed_bytes(rows->products, role)
                                      : room_of(rows, NULL).bytes;
}

void hu_some_rows_pack(const hu_some_rows *rows, hu_product_role role, const float *w,
                       void *packed) {
    hu_products_pack(rows->products, role, w, NULL, packed);
}

/* The next rows from *next on; how many. */
static int64_t pick(const hu_row_choice *choice, int64_t count, int64_t *next, int64_t *index) {
    int64_t n = 0;
    for (; *next < count && n < HU_SOME_ROWS; (*next)++)
        if (hu_row_is_chosen(choice, *next)) index[n++] = *next;
    return n;
}

static void gather(int64_t n, const int64_t *index, size_t numbers, const float *from, float *to) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * numbers, from + (size_t)index[i] * numbers, numbers * sizeof *to);
}

static void scatter(int64_t n, const int64_t *index, size_t numbers, const float *from, float *to) {
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)index[i] * numbers, from + (size_t)i * numbers, numbers * sizeof *to);
}

/* Rows that follow on each other are multiplied where they are. */
static void run_in_place(const hu_some_rows *r, hu_product_role role, int64_t first,
                         hu_product_call *block) {
    size_t in = (size_t)first * r->in, out = (size_t)first * r->out;
    if (block->x) block->x += in;
    if (block->dx) block->dx += in;
    if (block->y) block->y += out;
    if (block->dy) block->dy += out;
    hu_products_run(r->products, role, block);
}

/* Reads what the role reads from gathered rows, and puts what it makes back. */
static void run_gathered(const hu_some_rows *r, hu_product_role role, const int64_t *index,
                         hu_product_call *block) {
    const hu_product_call all = *block;
    int64_t n = block->count;
    char *behind = (char *)all.scratch + block_bytes(r->in);
    void *room_in = all.scratch, *room_out = behind;
    float *in = room_in, *out = room_out;
    block->scratch = behind + block_bytes(r->out);
    if (role != HU_PRODUCT_INPUT_GRAD) gather(n, index, r->in, all.x, in);
    if (role != HU_PRODUCT_FORWARD) gather(n, index, r->out, all.dy, out);
    block->x = block->dx = in;
    block->dy = block->y = out;
    hu_products_run(r->products, role, block);
    if (role == HU_PRODUCT_FORWARD) scatter(n, index, r->out, out, all.y);
    if (role == HU_PRODUCT_INPUT_GRAD) scatter(n, index, r->in, in, all.dx);
}

/* What is made where no row is present. */
static void clear(const hu_some_rows *r, hu_product_role role, const hu_product_call *call) {
    size_t count = (size_t)call->count;
    if (role == HU_PRODUCT_FORWARD) memset(call->y, 0, count * r->out * sizeof(float));
    if (role == HU_PRODUCT_INPUT_GRAD) memset(call->dx, 0, count * r->in * sizeof(float));
    if (role == HU_PRODUCT_WEIGHT_GRAD && !call->adds)
        memset(call->dw, 0, r->weights * sizeof(float));
}

/* Gives the number of rows that were present. */
static int64_t run(const hu_some_rows *rows, hu_product_role role, const hu_row_choice *choice,
                   const hu_product_call *call) {
    int64_t index[HU_SOME_ROWS], n, next = 0, done = 0;
    clear(rows, role, call);
    while ((n = pick(choice, call->count, &next, index)) > 0) {
        hu_product_call block = *call;
        block.first = call->first + done;
        block.count = n;
        block.adds = call->adds || done > 0;
        if (index[n - 1] - index[0] == n - 1)
            run_in_place(rows, role, index[0], &block);
        else
            run_gathered(rows, role, index, &block);
        done += n;
    }
    return done;
}

void hu_some_rows_run(const hu_some_rows *rows, hu_product_role role, const hu_row_choice *choice,
                      const hu_product_call *call) {
    run(rows, role, choice, call);
}

/* Terms are counted by the rows that were present: chunked accumulators end their blocks by them.
 */
void hu_some_rows_accumulate(const hu_some_rows *rows, const hu_row_choice *choice,
                             const hu_product_call *call) {
    const room r = room_of(rows, call->packed);
    hu_product_call terms = *call;
    if (call->first == 0) *r.before = 0;
    terms.first = *r.before;
    terms.adds = *r.before > 0;
    terms.scratch = r.scratch;
    terms.carry = r.carry;
    *r.before += run(rows, HU_PRODUCT_WEIGHT_GRAD, choice, &terms);
}

/* ---- picked ---- */

/* Products of rows with picked rows of a matrix w [ids, width] with a bias b
 * [ids]: of each row with one of its own, and of all rows with the same others. A sampled softmax
 * reads such scores.
 *
 *   y[r, 0]     = x_r w[own_r] + b[own_r]
 *   y[r, 1 + i] = x_r w[pick_i] + b[pick_i]
 *   dx_r        = sum over i of dy[r, 1 + i] w[pick_i], and dy[r, 0] w[own_r] added to that
 *   dw[v]       = sum over i of the gradients of the picks that are v, and the sum over r of dy[r,
 *                 0] x_r of the rows whose own is v added to that; db alike
 *
 * What all rows share is one product (product/product.h), in its order and with its accumulators;
 * so is each y[r, 0]. The rows of their own are gathered and added in float32 as those of an
 * embedding. A pick that is a row's own does not meet that row: 0 in y, and whatever dy is present.
 * A row without an id has zeros. Rows of w that nobody picks are not read, and have the gradient
 * +0. Proof: tests/unit/op_sampled_test.c.
 */

struct hu_picked {
    hu_picked_facts facts;
    hu_products *shared; /* of all rows with the picks */
    hu_heads one;        /* of a row with its own */
    size_t one_bytes;
};

/* The workspace of a pass: the picked rows and biases, their gradients, what products pack and
 * carry. */
typedef struct picked_room {
    float *w, *b, *dw, *db;
    void *packed, *carry;
} picked_room;

/* ---- ids ---- */

static int64_t own_id(const hu_picked_facts *f, float id) {
    return f->ignores && id == f->ignored ? -1 : hu_whole_below(id, f->ids);
}

int64_t hu_picked_absent(const hu_picked_facts *f, int64_t count, const float *own,
                         const float *picks) {
    int64_t absent = 0;
    for (int64_t r = 0; r < count * f->rows; r++) {
        bool is_present = own_id(f, own[r]) >= 0;
        if (!is_present) absent += 1 + f->picks;
        for (int64_t i = 0; is_present && i < f->picks; i++) absent += picks[i] == own[r];
    }
    return absent;
}

/* ---- planning ---- */

static hu_product geometry_of(const hu_picked_facts *f) {
    hu_product made = hu_product_rows(f->rows, f->width, f->picks);
    made.has_bias = true;
    return made;
}

static const hu_accumulator *forward_accumulator(const hu_picked_facts *f) {
    bool is_chosen = f->accumulation && f->accumulation->chosen[HU_PRODUCT_FORWARD];
    return is_chosen ? &f->accumulation->accumulator[HU_PRODUCT_FORWARD] : NULL;
}

hu_status hu_picked_create(const hu_picked_facts *facts, hu_picked **picked) {
    hu_status st = HU_OK;
    const hu_product_facts shared = {.geometry = geometry_of(facts),
                                     .accumulation = facts->accumulation,
                                     .needs = {true, facts->needs_dx, true},
                                     .engine = facts->engine,
                                     .chunk = facts->chunk,
                                     .threads = facts->threads};
    hu_picked *made = NULL;
    *picked = NULL;
    HU_TRY(HU_NEW(&made));
    made->facts = *facts;
    made->one = (hu_heads){.heads = 1, .rows = 1, .keys = 1, .depth = facts->width};
    HU_TRY(hu_heads_scratch_bytes(&made->one, HU_HEADS_PAIRS, forward_accumulator(facts),
                                  &made->one_bytes));
    HU_TRY(hu_products_create(&shared, &made->shared));
    *picked = made;
    made = NULL;
done:
    hu_picked_free(made);
    return st;
}

hu_status hu_picked_prepare(hu_picked *picked, int64_t count) {
    return hu_products_prepare(picked->shared, count);
}

void hu_picked_free(hu_picked *picked) {
    if (!picked) return;
    hu_products_free(picked->shared);
    hu_free(picked);
}

/* ---- rooms ---- */

/* The next bytes of a block that begins at base; *used grows. base NULL: to count alone. */
static void *take(char *base, size_t *used, size_t bytes) {
    size_t at = *used;
    *used = at + hu_round_up(bytes, ALIGNMENT);
    return base ? base + at : NULL;
}

static size_t lay_out(const hu_picked *p, hu_product_role role, void *workspace,
                      picked_room *made) {
    size_t used = 0, biases = (size_t)p->facts.picks * sizeof(float);
    size_t rows = biases * (size_t)p->facts.width;
    made->w = take(workspace, &used, rows);
    made->b = take(workspace, &used, biases);
    made->packed = take(workspace, &used, hu_products_packed_bytes(p->shared, role));
    if (role == HU_PRODUCT_FORWARD) return used;
    made->dw = take(workspace, &used, rows);
    made->db = take(workspace, &used, biases);
    made->carry = take(workspace, &used, hu_products_carry_bytes(p->shared));
    return used;
}

size_t hu_picked_workspace_bytes(const hu_picked *picked, hu_product_role role) {
    picked_room made = {0};
    return lay_out(picked, role, NULL, &made);
}

/* Scores of all rows with the picks, without gaps. */
static size_t scores_bytes(const hu_picked_facts *f) {
    return hu_round_up((size_t)(f->chunk * f->rows * f->picks) * sizeof(float), ALIGNMENT);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

size_t hu_picked_scratch_bytes(const hu_picked *picked, hu_product_role role) {
    size_t bytes = hu_products_scratch_bytes(picked->shared, role);
    if (role == HU_PRODUCT_FORWARD)
        bytes = larger(bytes, picked->one_bytes);
    else
        bytes = larger(bytes, hu_products_scratch_bytes(picked->shared, HU_PRODUCT_WEIGHT_GRAD));
    return scores_bytes(&picked->facts) + bytes;
}

/* ---- run ---- */

static void *behind_scores(const hu_picked *p, const hu_picked_call *call) {
    return (char *)call->scratch + scores_bytes(&p->facts);
}

/* One product with the picks; scores stand in scratch. */
static void run_shared(const hu_picked *p, hu_product_role role, const hu_picked_call *call) {
    picked_room r = {0};
    bool is_forward = role == HU_PRODUCT_FORWARD;
    lay_out(p, is_forward ? HU_PRODUCT_FORWARD : HU_PRODUCT_INPUT_GRAD, call->workspace, &r);
    hu_product_call product = {.x = call->x,
                               .w = r.w,
                               .bias = r.b,
                               .y = is_forward ? call->scratch : NULL,
                               .dy = is_forward ? NULL : call->scratch,
                               .dx = call->dx,
                               .dw = r.dw,
                               .db = r.db,
                               .first = call->first,
                               .count = call->count,
                               .thread = call->thread,
                               .adds = call->first > 0,
                               .packed = r.packed,
                               .carry = r.carry,
                               .scratch = behind_scores(p, call),
                               .counts = call->counts};
    hu_products_run(p->shared, role, &product);
}

void hu_picked_begin(const hu_picked *p, hu_product_role role, const hu_picked_call *call) {
    picked_room r = {0};
    size_t row_bytes = (size_t)p->facts.width * sizeof(float);
    lay_out(p, role, call->workspace, &r);
    for (int64_t i = 0; i < p->facts.picks; i++) {
        int64_t id = hu_whole_below(call->picks[i], p->facts.ids);
        float *to = r.w + i * p->facts.width;
        if (id >= 0) memcpy(to, call->w + id * p->facts.width, row_bytes);
        for (int64_t j = 0; id < 0 && j < p->facts.width; j++) to[j] = NAN;
        r.b[i] = id < 0 ? NAN : call->bias[id];
    }
    hu_products_pack(p->shared, role, r.w, r.b, r.packed);
}

/* x_r w[own] + b[own] */
static float own_score(const hu_picked *p, const hu_picked_call *call, int64_t r, int64_t own) {
    float sum;
    hu_heads_call product = {.first = call->x + r * p->facts.width,
                             .second = call->w + own * p->facts.width,
                             .result = &sum,
                             .valid = {1, 1},
                             .accumulator = forward_accumulator(&p->facts),
                             .counts = call->counts ? &call->counts[HU_PRODUCT_FORWARD] : NULL,
                             .scratch = behind_scores(p, call)};
    hu_heads_run(&p->one, HU_HEADS_PAIRS, &product);
    return sum + call->bias[own];
}

void hu_picked_forward(const hu_picked *p, const hu_picked_call *call) {
    const hu_picked_facts *f = &p->facts;
    const float *score = call->scratch;
    float *y = call->y;
    run_shared(p, HU_PRODUCT_FORWARD, call);
    for (int64_t r = 0; r < call->count * f->rows; r++, y += 1 + f->picks, score += f->picks)
        for (int64_t i = 0; i < f->picks; i++) y[1 + i] = score[i];
    y = call->y;
    for (int64_t r = 0; r < call->count * f->rows; r++, y += 1 + f->picks) {
        int64_t own = own_id(f, call->own[r]);
        if (own < 0) memset(y, 0, (size_t)(1 + f->picks) * sizeof *y);
        if (own < 0) continue;
        y[0] = own_score(p, call, r, own);
        for (int64_t i = 0; i < f->picks; i++)
            if (call->picks[i] == call->own[r]) y[1 + i] = 0.0f;
    }
}

/* dy of the picks to scratch, without gaps: +0 where a row does not meet them. */
static void gather_slopes(const hu_picked *p, const hu_picked_call *call) {
    const hu_picked_facts *f = &p->facts;
    float *to = call->scratch;
    const float *dy = call->dy;
    for (int64_t r = 0; r < call->count * f->rows; r++, dy += 1 + f->picks, to += f->picks) {
        bool is_present = own_id(f, call->own[r]) >= 0;
        for (int64_t i = 0; i < f->picks; i++)
            to[i] = is_present && call->picks[i] != call->own[r] ? dy[1 + i] : 0.0f;
    }
}

/* to [width] += factor x */
static void add_row(int64_t width, float factor, const float *x, float *restrict to) {
    for (int64_t j = 0; j < width; j++) to[j] += factor * x[j];
}

void hu_picked_backward(const hu_picked *p, const hu_picked_call *call) {
    const hu_picked_facts *f = &p->facts;
    gather_slopes(p, call);
    run_shared(p, HU_PRODUCT_INPUT_GRAD, call);
    for (int64_t r = 0; r < call->count * f->rows; r++) {
        int64_t own = own_id(f, call->own[r]);
        if (own >= 0)
            add_row(f->width, call->dy[r * (1 + f->picks)], call->w + own * f->width,
                    call->dx + r * f->width);
    }
}

/* The gradients of the picks, complete now: those of one id are added first, where they stand
 * after each other, as ids that ascend do. */
static void add_picks(const hu_picked *p, const hu_picked_call *call) {
    const hu_picked_facts *f = &p->facts;
    picked_room r = {0};
    lay_out(p, HU_PRODUCT_INPUT_GRAD, call->workspace, &r);
    for (int64_t i = 0; i < f->picks; i++) {
        int64_t id = hu_whole_below(call->picks[i], f->ids);
        bool goes_on = i + 1 < f->picks && call->picks[i + 1] == call->picks[i];
        if (id < 0) continue;
        float *to = goes_on ? r.dw + (i + 1) * f->width : call->dw + id * f->width;
        add_row(f->width, 1.0f, r.dw + i * f->width, to);
        *(goes_on ? &r.db[i + 1] : &call->db[id]) += r.db[i];
    }
}

void hu_picked_accumulate(const hu_picked *p, const hu_picked_call *call) {
    const hu_picked_facts *f = &p->facts;
    if (call->first == 0) memset(call->dw, 0, (size_t)(f->ids * f->width) * sizeof *call->dw);
    if (call->first == 0) memset(call->db, 0, (size_t)f->ids * sizeof *call->db);
    gather_slopes(p, call);
    run_shared(p, HU_PRODUCT_WEIGHT_GRAD, call);
    for (int64_t r = 0; r < call->count * f->rows; r++) {
        int64_t own = own_id(f, call->own[r]);
        float dy = call->dy[r * (1 + f->picks)];
        if (own < 0) continue;
        add_row(f->width, dy, call->x + r * f->width, call->dw + own * f->width);
        call->db[own] += dy;
    }
    if (call->first + call->count == call->total) add_picks(p, call);
}
