#include "product/picked.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/whole.h"
#include "product/heads.h"
#include "product/product.h"

enum { ALIGNMENT = 64 };

struct hu_picked {
    hu_picked_facts facts;
    hu_products *shared; /* of all rows with the picks */
    hu_heads one;        /* of a row with its own */
    size_t one_bytes;
};

/* The workspace of a pass: the picked rows and biases, their gradients, what products pack and
 * carry. */
typedef struct room {
    float *w, *b, *dw, *db;
    void *packed, *carry;
} room;

/* ---- ids ---- */

static int64_t own_id(const hu_picked_facts *f, float id) {
    return f->ignores && id == f->ignored ? -1 : hu_whole_below(id, f->ids);
}

int64_t hu_picked_absent(const hu_picked_facts *f, int64_t count, const float *own,
                         const float *picks) {
    int64_t absent = 0;
    for (int64_t r = 0; r < count * f->rows; r++) {
        bool is_there = own_id(f, own[r]) >= 0;
        if (!is_there) absent += 1 + f->picks;
        for (int64_t i = 0; is_there && i < f->picks; i++) absent += picks[i] == own[r];
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

static size_t lay_out(const hu_picked *p, hu_product_role role, void *workspace, room *made) {
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
    room made = {0};
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
    room r = {0};
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
    room r = {0};
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
                             .there = {1, 1},
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
        bool is_there = own_id(f, call->own[r]) >= 0;
        for (int64_t i = 0; i < f->picks; i++)
            to[i] = is_there && call->picks[i] != call->own[r] ? dy[1 + i] : 0.0f;
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
 * behind each other, as ids that ascend do. */
static void add_picks(const hu_picked *p, const hu_picked_call *call) {
    const hu_picked_facts *f = &p->facts;
    room r = {0};
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
