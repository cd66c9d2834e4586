#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "comm/internal.h"

/* ---- Sums: of what travels and of what waits at an owner ---- */

/* A sum as hu_wire_add has it: processors and compilers differ in the sign and payload of NaNs. */
static float one_nan(float sum) {
    return isnan(sum) ? hu_f32_of_bits(HU_F32_NAN) : sum;
}

/* A piece whose scale says that something was not finite, in a format that cannot say so. */
static bool is_poisoned(const hu_comm_plan *plan, int32_t k) {
    return k == HU_COMM_NONFINITE && plan->loses_nonfinite;
}

/* Numbers of codes whose pieces have scales of their own, or one scale for all. */
static void decode(const hu_comm_plan *plan, int32_t layer, int64_t n, const void *codes, int32_t k,
                   float *y) {
    hu_wire_decode(hu_comm_wire(plan, layer), (size_t)n, codes, k == HU_COMM_NONFINITE ? 0 : k, y);
    if (!is_poisoned(plan, k)) return;
    for (int64_t i = 0; i < n; i++) y[i] = NAN;
}

/* Where is noted what partial sums of a range lose; NULL: nowhere. */
static float *loss_of(const hu_comm_worker *worker, int32_t layer, hu_comm_range range) {
    const hu_comm_layer *l = &worker->plan->layer[layer];
    return worker->loss[0] && !l->exact ? worker->loss[0] + l->offset + range.first : NULL;
}

/* own codes[n] += codes[n]; what the rounding loses is added to loss, in units of numbers. */
static void add_and_note(const hu_wire *wire, size_t n, const void *codes, void *own, int32_t k,
                         const hu_random_key *key, uint64_t first, hu_round_counts *counts,
                         float *loss) {
    float a[HU_COMM_BLOCK], b[HU_COMM_BLOCK];
    hu_wire_decode(wire, n, codes, k, a);
    hu_wire_decode(wire, n, own, k, b);
    for (size_t i = 0; i < n; i++) a[i] += b[i];
    hu_wire_add(wire, n, codes, own, key, first, counts);
    hu_wire_decode(wire, n, own, k, b);
    for (size_t i = 0; i < n; i++) {
        float lost = a[i] - b[i];
        if (isfinite(lost)) loss[i] += lost;
    }
}

void hu_comm_add_range(hu_comm_worker *worker, int32_t layer, hu_comm_range range,
                       const uint8_t *bits, const hu_random_key *key) {
    const hu_comm_plan *plan = worker->plan;
    const hu_wire *wire = hu_comm_wire(plan, layer);
    bool is_exact = plan->layer[layer].exact;
    float *loss = loss_of(worker, layer, range);
    _Alignas(64) uint8_t codes[HU_COMM_BLOCK * sizeof(float)];
    hu_round_counts *counts = is_exact ? NULL : &worker->counts[layer].added;
    for (int64_t at = 0; at < range.count; at += HU_COMM_BLOCK) {
        int64_t left = range.count - at;
        size_t n = (size_t)(left < HU_COMM_BLOCK ? left : HU_COMM_BLOCK);
        void *own = hu_comm_codes(worker, layer, range.first + at);
        uint64_t first = (uint64_t)(range.first + at);
        hu_wire_unpack_bits(wire, n, bits + hu_wire_bytes(wire, (size_t)at), codes);
        if (loss)
            add_and_note(wire, n, codes, own, hu_comm_layer_scale(worker, layer), key, first,
                         counts, loss + at);
        else
            hu_wire_add(wire, n, codes, own, key, first, counts);
    }
}

/* The codes of summand number i: own ones, or those of its slot. */
static const void *summand(const hu_comm_worker *worker, int32_t layer,
                           const hu_comm_action *action, hu_comm_range range, int32_t i) {
    return i == action->slot ? hu_comm_codes(worker, layer, range.first)
                             : hu_comm_slot(worker, layer, i, range.count);
}

/* k of piece p of summand number i. */
static int32_t scale_of_summand(const hu_comm_worker *worker, int32_t layer,
                                const hu_comm_action *action, int32_t i, int32_t p) {
    if (!hu_comm_is_fresh(worker->plan, layer)) return hu_comm_layer_scale(worker, layer);
    return i == action->slot ? *hu_comm_scales(worker, layer, action->first + p)
                             : hu_comm_slot_scales(worker, layer, i, action->count)[p];
}

/* One block of Kahan's sum in the format: y = Q(h - c); t = Q(r + y); c = Q(Q(t - r) - y); r = t.
 * After an overflow there is nothing to compensate: a c that is not finite is 0.
 */
typedef struct kahan_block {
    float sum[HU_COMM_BLOCK], c[HU_COMM_BLOCK];
} kahan_block;

/* loss[i] += r + h - t, times unit: what a step's four roundings lose is what the sum misses after
 * it, and what the compensation of earlier steps brought back. */
static void note_step(const kahan_block *block, size_t n, const float *h, const float *t,
                      double unit, float *loss) {
    for (size_t i = 0; i < n; i++) {
        float lost = block->sum[i] + h[i] - t[i];
        if (isfinite(lost)) loss[i] += (float)((double)lost * unit);
    }
}

/* loss: NULL, or [n] in units of numbers, of which `unit` is that of the codes. */
static void add_compensated(const hu_wire *wire, kahan_block *block, size_t n, const float *h,
                            const hu_random_key *key, uint64_t first, hu_round_counts *counts,
                            double unit, float *loss) {
    enum { ROUNDINGS = 4 };
    float y[HU_COMM_BLOCK], t[HU_COMM_BLOCK], *c = block->c;
    const hu_rounder *rounder = &wire->rounder;
    hu_random_key keys[ROUNDINGS];
    for (int32_t i = 0; i < ROUNDINGS; i++) keys[i] = hu_comm_nth_key(*key, i);
    for (size_t i = 0; i < n; i++) y[i] = h[i] - c[i];
    hu_rounder_run(rounder, n, y, y, &keys[0], first, NULL);
    for (size_t i = 0; i < n; i++) t[i] = one_nan(block->sum[i] + y[i]);
    hu_rounder_run(rounder, n, t, t, &keys[1], first, counts);
    for (size_t i = 0; i < n; i++) c[i] = t[i] - block->sum[i];
    hu_rounder_run(rounder, n, c, c, &keys[2], first, NULL);
    for (size_t i = 0; i < n; i++) c[i] -= y[i];
    hu_rounder_run(rounder, n, c, c, &keys[3], first, NULL);
    for (size_t i = 0; i < n; i++) c[i] = isfinite(c[i]) ? c[i] : 0.0f;
    if (loss) note_step(block, n, h, t, unit, loss);
    memcpy(block->sum, t, n * sizeof *t);
}

/* The range of a layer as Kahan's sum; codes do not depend on the scale, so that k is 0. */
static void combine_kahan(hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                          hu_comm_range range, const hu_random_key *key) {
    const hu_wire *wire = hu_comm_wire(worker->plan, layer);
    size_t bytes = hu_wire_code_bytes(wire);
    double unit = ldexp(1.0, hu_wire_clamp(wire, hu_comm_layer_scale(worker, layer)));
    float *loss = loss_of(worker, layer, range);
    kahan_block block;
    float h[HU_COMM_BLOCK];
    for (int64_t at = 0; at < range.count; at += HU_COMM_BLOCK) {
        size_t n = (size_t)(range.count - at < HU_COMM_BLOCK ? range.count - at : HU_COMM_BLOCK);
        memset(&block, 0, sizeof block);
        for (int32_t i = 0; i < action->slots; i++) {
            const uint8_t *codes = summand(worker, layer, action, range, i);
            hu_random_key own = hu_comm_nth_key(*key, 4 * i);
            hu_wire_decode(wire, n, codes + (size_t)at * bytes, 0, h);
            add_compensated(wire, &block, n, h, &own, (uint64_t)(range.first + at),
                            &worker->counts[layer].added, unit, loss ? loss + at : NULL);
        }
        hu_wire_quantise(wire, n, block.sum, 0, hu_comm_codes(worker, layer, range.first + at), key,
                         0, NULL);
    }
}

/* The range of a layer as a sum in its format, from zero. */
static void combine_narrow(hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                           hu_comm_range range, const hu_random_key *key) {
    const hu_comm_plan *plan = worker->plan;
    const hu_wire *wire = hu_comm_wire(plan, layer);
    bool is_exact = plan->layer[layer].exact || hu_comm_has_code(plan, layer);
    size_t bytes = hu_wire_code_bytes(wire);
    hu_round_counts *counts = is_exact ? NULL : &worker->counts[layer].added;
    float *loss = loss_of(worker, layer, range);
    _Alignas(64) uint8_t sum[HU_COMM_BLOCK * sizeof(float)];
    for (int64_t at = 0; at < range.count; at += HU_COMM_BLOCK) {
        size_t n = (size_t)(range.count - at < HU_COMM_BLOCK ? range.count - at : HU_COMM_BLOCK);
        uint64_t first = (uint64_t)(range.first + at);
        memset(sum, 0, n * bytes);
        for (int32_t i = 0; i < action->slots; i++) {
            const uint8_t *codes = summand(worker, layer, action, range, i);
            hu_random_key own = hu_comm_nth_key(*key, i);
            if (loss)
                add_and_note(wire, n, codes + (size_t)at * bytes, sum,
                             hu_comm_layer_scale(worker, layer), &own, first, counts, loss + at);
            else
                hu_wire_add(wire, n, codes + (size_t)at * bytes, sum, &own, first, counts);
        }
        memcpy(hu_comm_codes(worker, layer, range.first + at), sum, n * bytes);
    }
}

/* x[range] of a layer = the float32 sum of its summands, piece by piece: pieces have own scales. */
static void sum_wide(hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                     hu_comm_range range, float *x) {
    const hu_comm_plan *plan = worker->plan;
    size_t bytes = hu_wire_code_bytes(hu_comm_wire(plan, layer));
    float h[HU_COMM_BLOCK];
    for (int32_t p = 0; p < action->count; p++) {
        hu_comm_range piece = hu_comm_range_of(plan, layer, action->first + p, 1);
        int64_t begin = piece.first - range.first;
        for (int64_t at = begin; at < begin + piece.count; at += HU_COMM_BLOCK) {
            int64_t left = begin + piece.count - at;
            int64_t n = left < HU_COMM_BLOCK ? left : HU_COMM_BLOCK;
            for (int32_t i = 0; i < action->slots; i++) {
                const uint8_t *codes = summand(worker, layer, action, range, i);
                decode(plan, layer, n, codes + (size_t)at * bytes,
                       scale_of_summand(worker, layer, action, i, p), i == 0 ? x + at : h);
                if (i == 0) continue;
                for (int64_t e = 0; e < n; e++) x[at + e] += h[e];
            }
            for (int64_t e = 0; e < n; e++) x[at + e] = one_nan(x[at + e]);
        }
    }
}

/* Sums in float32 take the place of the gradient, which is in codes already. */
static void combine_wide(hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                         hu_comm_range range, const hu_random_key *key) {
    const hu_comm_plan *plan = worker->plan;
    int64_t offset = plan->layer[layer].offset;
    float *x = worker->gradient + offset + range.first;
    float *loss = worker->loss[0] ? worker->loss[1 + action->level] + offset : NULL;
    hu_round_counts *counts = &worker->counts[layer].added;
    sum_wide(worker, layer, action, range, x);
    for (int64_t i = 0; loss && i < range.count; i++) x[i] += loss[range.first + i];
    if (hu_comm_is_fresh(plan, layer))
        hu_comm_round_pieces(worker, layer, action->first, action->count, key, counts, loss);
    else
        hu_comm_round_range(worker, layer, range, x, hu_comm_layer_scale(worker, layer), key,
                            counts, loss ? loss + range.first : NULL);
}

void hu_comm_worker_combine(hu_comm_worker *worker, int32_t bucket, const hu_comm_action *action) {
    const hu_comm_plan *plan = worker->plan;
    const hu_comm_bucket *b = &plan->bucket[bucket];
    int32_t place = 1 + (int32_t)(action - worker->list.action);
    for (int32_t l = b->first; l < b->first + b->count; l++) {
        hu_comm_range range = hu_comm_range_of(plan, l, action->first, action->count);
        hu_random_key key = hu_comm_key(worker, l, place);
        if (hu_comm_has_code(plan, l)) {
            combine_narrow(worker, l, action, range, &key);
            hu_comm_code_limit(worker, l, range);
        } else if (plan->shape.wide && !plan->layer[l].exact)
            combine_wide(worker, l, action, range, &key);
        else if (plan->options.kahan && !plan->layer[l].exact)
            combine_kahan(worker, l, action, range, &key);
        else
            combine_narrow(worker, l, action, range, &key);
    }
}

void hu_comm_worker_finish(hu_comm_worker *worker, int32_t bucket) {
    const hu_comm_plan *plan = worker->plan;
    const hu_comm_bucket *b = &plan->bucket[bucket];
    for (int32_t l = b->first; l < b->first + b->count; l++) {
        float *x = worker->gradient + plan->layer[l].offset;
        bool is_fresh = hu_comm_is_fresh(plan, l);
        int32_t step = is_fresh ? 1 : plan->pieces;
        for (int32_t p = 0; p < plan->pieces; p += step) {
            hu_comm_range range = hu_comm_range_of(plan, l, p, step);
            int32_t k = is_fresh ? *hu_comm_scales(worker, l, p) : hu_comm_layer_scale(worker, l);
            if (!is_fresh && worker->exponent[l] == HU_COMM_NONFINITE && plan->loses_nonfinite)
                k = HU_COMM_NONFINITE;
            decode(plan, l, range.count, hu_comm_codes(worker, l, range.first), k, x + range.first);
        }
        if (hu_comm_has_code(plan, l)) hu_comm_code_finish(worker, l, x);
    }
}
