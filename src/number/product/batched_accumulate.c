#include "product/batched_accumulate.h"

#include <float.h>
#include <math.h>

#include "base/checked.h"

/* Rows or keys that a causal product takes together: where they are neighbours a few tiles, so that
 * what a call costs and what is computed in vain are alike; else one tile. */
enum { ALIGNMENT = 64, GROUP = 32, APART_GROUP = 8 };

/* Places (rows, or keys where these are computed), `apart` from each other, and so many sums of
 * each, from sum `skip` on, that run over terms low .. low + terms - 1. */
typedef struct part {
    int64_t first, count, apart;
    int64_t low, terms;
    int64_t skip, sums;
} part;

/* Floats from the beginnings of the call's arrays. */
typedef struct offsets {
    int64_t first, second, result;
} offsets;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* All places, where each row sees all keys. */
static part all_of(const hu_heads *h, hu_heads_form form, hu_heads_valid valid) {
    part all = {.count = valid.rows, .apart = 1};
    all.terms = form == HU_HEADS_PAIRS ? h->depth : valid.keys;
    all.sums = form == HU_HEADS_PAIRS ? valid.keys : h->depth;
    if (form != HU_HEADS_KEYS) return all;
    all.count = valid.keys;
    all.terms = valid.rows;
    return all;
}

/* The task of a part, without its arrays, and where they begin. */
static hu_gemm_task task_of(const hu_heads *h, hu_heads_form form, const part *p, offsets *at) {
    int64_t step = h->heads * h->depth;
    hu_gemm_task task = {
        .m = p->count, .n = p->sums, .k = p->terms, .c_stride = step * p->apart, .threads = 1};
    task.a = (hu_operand){.stride = h->keys, .k_stride = 1};
    task.b = (hu_operand){.stride = 1, .k_stride = step};
    *at = (offsets){p->first * h->keys, 0, p->first * step};
    if (form == HU_HEADS_PAIRS) {
        task.a = task.b = (hu_operand){.stride = step, .k_stride = 1};
        task.c_stride = h->keys;
        *at = (offsets){p->first * step, p->skip * step, p->first * h->keys + p->skip};
    } else if (form == HU_HEADS_KEYS) {
        task.a = (hu_operand){.stride = p->apart, .k_stride = h->keys};
        at->first = p->low * h->keys + p->first;
        at->second = p->low * step;
    }
    return task;
}

/* Widens *bytes to what a part needs. */
static hu_status add_scratch(const hu_heads *h, hu_heads_form form, const part *p,
                             const hu_accumulator *accumulator, size_t *bytes) {
    offsets at;
    size_t needed;
    hu_gemm_task task = task_of(h, form, p, &at);
    task.accumulator = *accumulator;
    hu_status st = hu_gemm_scratch_bytes(&task, &needed);
    if (st == HU_OK && needed > *bytes) *bytes = needed;
    return st;
}

/* Of groups of all sizes that see so many keys, or are seen by so many rows. */
static hu_status add_groups(const hu_heads *h, hu_heads_form form, int64_t seen,
                            const hu_accumulator *accumulator, size_t *bytes) {
    hu_status st = HU_OK;
    for (int64_t count = 1; st == HU_OK && count <= GROUP; count++) {
        part p = {.count = count, .apart = 1, .terms = seen, .sums = h->depth};
        if (form == HU_HEADS_PAIRS) p.terms = h->depth, p.sums = seen;
        st = add_scratch(h, form, &p, accumulator, bytes);
    }
    return st;
}

/* Of all numbers of rows and keys that may be there. */
hu_status hu_heads_accumulate_scratch_bytes(const hu_heads *h, hu_heads_form form,
                                            const hu_accumulator *accumulator, size_t *bytes) {
    hu_status st = HU_OK;
    int64_t most = h->rows > h->keys ? h->rows : h->keys;
    *bytes = 0;
    for (int64_t valid = 1; st == HU_OK && valid <= most; valid++) {
        hu_heads_valid here = {least(valid, h->rows), least(valid, h->keys)};
        if (h->is_causal) st = add_groups(h, form, valid, accumulator, bytes);
        for (int64_t all = 0; st == HU_OK && !h->is_causal && all < 3; all++) {
            hu_heads_valid some = {all == 1 ? h->rows : here.rows, all == 2 ? h->keys : here.keys};
            part p = all_of(h, form, some);
            st = add_scratch(h, form, &p, accumulator, bytes);
        }
    }
    *bytes = hu_round_up(*bytes, ALIGNMENT);
    return st;
}

static bool run_part(const hu_heads *h, hu_heads_form form, const hu_heads_call *call, part p) {
    offsets at;
    hu_gemm_task task = task_of(h, form, &p, &at);
    task.a.data = call->first + at.first;
    task.b.data = call->second + at.second;
    task.c = call->result + at.result;
    task.accumulator = *call->accumulator;
    task.counts = call->counts;
    task.scratch = call->scratch;
    return hu_gemm(&task) == HU_OK;
}

/* ---- causal: a row alone would fill an eighth of a tile of kernel/gemm ---- */

/* Rows first .. end-1. What only some of them see is computed for all and cleared, unless somebody
 * counts: then row by row. */
static bool pairs_of_group(const hu_heads *h, const hu_heads_call *call, int64_t first,
                           int64_t end) {
    bool counts = call->counts != NULL, done;
    int64_t common = hu_heads_seen(h, call->valid, counts ? first : end - 1);
    part all = {
        .first = first, .count = end - first, .apart = 1, .terms = h->depth, .sums = common};
    done = run_part(h, HU_HEADS_PAIRS, call, all);
    for (int64_t t = first; done && t < end; t++) {
        int64_t seen = hu_heads_seen(h, call->valid, t);
        part rest = {.first = t, .count = 1, .apart = 1, .terms = h->depth, .skip = common};
        rest.sums = seen - common;
        if (counts && rest.sums > 0) done = run_part(h, HU_HEADS_PAIRS, call, rest);
        for (int64_t s = seen; s < common; s++) call->result[t * h->keys + s] = 0.0f;
    }
    return done;
}

/* A row, or a key, that is computed alone. */
static part alone(const hu_heads *h, hu_heads_form form, hu_heads_valid valid, int64_t i) {
    part p = {.first = i, .count = 1, .apart = 1, .sums = h->depth};
    p.low = form == HU_HEADS_KEYS ? least(i, valid.rows) : 0;
    p.terms = form == HU_HEADS_KEYS ? valid.rows - p.low : hu_heads_seen(h, valid, i);
    return p;
}

/* Numbers of the pairs that row t does not see, but others in there. */
static bool are_zero(const hu_heads *h, const hu_heads_call *call, int64_t t) {
    int bits = 0;
    for (int64_t s = hu_heads_seen(h, call->valid, t); s < call->valid.keys; s++)
        bits |= call->first[t * h->keys + s] != 0.0f;
    return !bits;
}

static bool are_finite(const hu_heads *h, const float *places, int64_t count) {
    int others = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < h->depth; j++)
            others |= !(fabsf(places[i * h->heads * h->depth + j]) <= FLT_MAX);
    return !others;
}

/* True if a pair that is not seen adds 0 times a finite number: that leaves each sum as it is, but
 * Kahan's, and a -0 in float32 (keeps_sign). Somebody who counts would see it. */
static bool may_pad(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    hu_mac mac = call->accumulator->mac;
    if (call->counts || mac == HU_MAC_KAHAN || mac == HU_MAC_KAHAN_CPD) return false;
    for (int64_t t = 0; t < call->valid.rows; t++)
        if (!are_zero(h, call, t)) return false;
    int64_t count = form == HU_HEADS_ROWS ? call->valid.keys : call->valid.rows;
    return are_finite(h, call->second, count);
}

/* False: a sum of the place may be -0 alone, and +0 with zeros behind it. */
static bool keeps_sign(const hu_heads *h, const hu_heads_call *call, int64_t place) {
    hu_mac mac = call->accumulator->mac;
    const float *sums = call->result + place * h->heads * h->depth;
    int zeros = 0;
    for (int64_t j = 0; j < h->depth; j++) zeros |= sums[j] == 0.0f;
    return !zeros || (mac != HU_MAC_FMACS && mac != HU_MAC_MACS);
}

/* Rows first .. end-1, with the keys that the last one sees. */
static bool rows_of_group(const hu_heads *h, const hu_heads_call *call, int64_t first,
                          int64_t end) {
    part p = alone(h, HU_HEADS_ROWS, call->valid, end - 1);
    p.first = first;
    p.count = end - first;
    bool done = run_part(h, HU_HEADS_ROWS, call, p);
    for (int64_t t = first; done && t < end - 1; t++)
        if (!keeps_sign(h, call, t))
            done = run_part(h, HU_HEADS_ROWS, call, alone(h, HU_HEADS_ROWS, call->valid, t));
    return done;
}

/* Keys from `first` on, with the rows that see the first one. Blocks of FMAC-K begin where the
 * terms of a key do: there keys are as far apart as a block is long, so that blocks of zeros come
 * before. */
static bool keys_of_group(const hu_heads *h, const hu_heads_call *call, int64_t first,
                          int64_t apart) {
    part p = alone(h, HU_HEADS_KEYS, call->valid, first);
    p.apart = apart;
    p.count =
        least(apart > 1 ? APART_GROUP : GROUP, (call->valid.keys - first + apart - 1) / apart);
    return run_part(h, HU_HEADS_KEYS, call, p);
}

static bool run_keys(const hu_heads *h, const hu_heads_call *call) {
    const hu_accumulator *accumulator = call->accumulator;
    int64_t apart = accumulator->mac == HU_MAC_FMAC_K ? accumulator->block : 1;
    bool done = true;
    apart = least(apart, call->valid.keys);
    int64_t group = (apart > 1 ? APART_GROUP : GROUP) * apart;
    for (int64_t r = 0; r < apart; r++)
        for (int64_t s = r; done && s < call->valid.keys; s += group)
            done = keys_of_group(h, call, s, apart);
    return done;
}

static bool run_causal(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    int64_t places = form == HU_HEADS_KEYS ? call->valid.keys : call->valid.rows;
    bool done = true, is_padded = form != HU_HEADS_PAIRS && may_pad(h, form, call);
    if (is_padded && form == HU_HEADS_KEYS) return run_keys(h, call);
    if (form != HU_HEADS_PAIRS && !is_padded) {
        for (int64_t i = 0; done && i < places; i++)
            done = run_part(h, form, call, alone(h, form, call->valid, i));
        return done;
    }
    for (int64_t t = 0; done && t < places; t += GROUP) {
        int64_t end = least(t + GROUP, places);
        done = is_padded ? rows_of_group(h, call, t, end) : pairs_of_group(h, call, t, end);
    }
    return done;
}

bool hu_heads_accumulate_run(const hu_heads *h, hu_heads_form form, const hu_heads_call *call) {
    if (h->is_causal) return run_causal(h, form, call);
    return run_part(h, form, call, all_of(h, form, call->valid));
}
