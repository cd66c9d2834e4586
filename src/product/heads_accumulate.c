#include "product/heads_accumulate.h"

#include "base/checked.h"

enum { ALIGNMENT = 64 };

/* Sums that have the same terms: so many places (rows, or keys where these are computed) of so
 * many sums each. */
typedef struct part {
    int64_t first, count;
    int64_t low, terms;
    int64_t sums;
} part;

/* Floats from the beginnings of the call's arrays. */
typedef struct offsets {
    int64_t first, second, result;
} offsets;

/* Sums whose terms are the same are one product: all of them, or where rows see different keys one
 * row after the other. */
static int64_t parts_of(const hu_heads *h, hu_heads_form form, hu_heads_there there) {
    if (!h->is_causal) return 1;
    return form == HU_HEADS_KEYS ? there.keys : there.rows;
}

static part part_at(const hu_heads *h, hu_heads_form form, hu_heads_there there, int64_t i) {
    bool one = h->is_causal;
    int64_t seen = hu_heads_seen(h, there, i);
    part rows = {.first = i, .count = one ? 1 : there.rows};
    switch (form) {
    case HU_HEADS_PAIRS:
        rows.terms = h->depth;
        rows.sums = seen;
        return rows;
    case HU_HEADS_ROWS:
        rows.terms = seen;
        rows.sums = h->depth;
        return rows;
    case HU_HEADS_KEYS:
        break;
    }
    int64_t low = one ? (i < there.rows ? i : there.rows) : 0;
    return (part){.first = i,
                  .count = one ? 1 : there.keys,
                  .low = low,
                  .terms = there.rows - low,
                  .sums = h->depth};
}

/* The task of a part, without its arrays, and where they begin. */
static hu_gemm_task task_of(const hu_heads *h, hu_heads_form form, const part *p, offsets *at) {
    int64_t step = h->heads * h->depth;
    hu_gemm_task task = {
        .m = p->count, .n = p->sums, .k = p->terms, .c_stride = step, .threads = 1};
    task.a = (hu_operand){.stride = h->keys, .k_stride = 1};
    task.b = (hu_operand){.stride = 1, .k_stride = step};
    *at = (offsets){p->first * h->keys, 0, p->first * step};
    if (form == HU_HEADS_PAIRS) {
        task.a = task.b = (hu_operand){.stride = step, .k_stride = 1};
        task.c_stride = h->keys;
        *at = (offsets){p->first * step, 0, p->first * h->keys};
    } else if (form == HU_HEADS_KEYS) {
        task.a = (hu_operand){.stride = 1, .k_stride = h->keys};
        at->first = p->low * h->keys + p->first;
        at->second = p->low * step;
    }
    return task;
}

/* Of all numbers of rows and keys that may be there. */
hu_status hu_heads_accumulate_scratch_bytes(const hu_heads *h, hu_heads_form form,
                                            const hu_accumulator *accumulator, size_t *bytes) {
    hu_status st = HU_OK;
    int64_t most = h->rows > h->keys ? h->rows : h->keys;
    *bytes = 0;
    for (int64_t there = 1; st == HU_OK && there <= most; there++) {
        hu_heads_there here = {there < h->rows ? there : h->rows,
                               there < h->keys ? there : h->keys};
        for (int64_t all = 0; st == HU_OK && all < 3; all++) {
            hu_heads_there some = {all == 1 ? h->rows : here.rows, all == 2 ? h->keys : here.keys};
            part p = part_at(h, form, some, parts_of(h, form, some) - 1);
            offsets at;
            hu_gemm_task task = task_of(h, form, &p, &at);
            size_t needed;
            task.accumulator = *accumulator;
            st = hu_gemm_scratch_bytes(&task, &needed);
            if (needed > *bytes) *bytes = needed;
        }
    }
    *bytes = hu_round_up(*bytes, ALIGNMENT);
    return st;
}

bool hu_heads_accumulate_run(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    bool done = true;
    for (int64_t i = 0; done && i < parts_of(h, form, call->there); i++) {
        part p = part_at(h, form, call->there, i);
        offsets at;
        hu_gemm_task task = task_of(h, form, &p, &at);
        task.a.data = call->first + at.first;
        task.b.data = call->second + at.second;
        task.c = call->result + at.result;
        task.accumulator = *call->accumulator;
        task.counts = call->counts;
        task.scratch = call->scratch;
        done = hu_gemm(&task) == HU_OK;
    }
    return done;
}
