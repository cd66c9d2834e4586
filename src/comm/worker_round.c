/* From float32 to codes: scales, roundings and what they lose. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "comm/code.h"
#include "comm/worker.h"
#include "comm/worker_state.h"
#include "kernel/block/block.h"

int32_t hu_comm_layer_scale(const hu_comm_worker *worker, int32_t layer) {
    const hu_comm_plan *plan = worker->plan;
    if (plan->layer[layer].exact) return 0;
    if (plan->options.scaling->takes_constant) return -plan->options.constant;
    return hu_comm_scale_of(&plan->options.format, worker->exponent[layer]);
}

/* Every rounding has a sequence of its own: by tensor, worker and place in the worker's list. */
hu_random_key hu_comm_key(const hu_comm_worker *worker, int32_t layer, int32_t place) {
    const hu_comm_plan *plan = worker->plan;
    uint64_t where = ((uint64_t)worker->rank << 32 | (uint32_t)place) + 1;
    uint64_t odd = 0x9E3779B97F4A7C15u; /* spreads small numbers over 64 bits */
    return (hu_random_key){plan->options.seed,
                           hu_stream_id("wire", plan->layer[layer].name) ^ where * odd,
                           worker->step};
}

/* loss[i] = x[i] - what became of it, where both are finite. */
static void note_loss(const hu_comm_worker *worker, int32_t layer, hu_comm_range range,
                      const float *x, int32_t k, float *loss) {
    const hu_wire *wire = hu_comm_wire(worker->plan, layer);
    float made[HU_COMM_BLOCK];
    for (int64_t at = 0; at < range.count; at += HU_COMM_BLOCK) {
        int64_t n = range.count - at < HU_COMM_BLOCK ? range.count - at : HU_COMM_BLOCK;
        hu_wire_decode(wire, (size_t)n, hu_comm_codes(worker, layer, range.first + at), k, made);
        for (int64_t i = 0; i < n; i++) {
            float lost = x[at + i] - made[i];
            loss[at + i] = isfinite(lost) ? lost : 0.0f;
        }
    }
}

/* Counts of numbers x, added with the exponents of x 2^-k: the numbers that are rounded are those
 * that travel, and the range of the format holds them, not x. */
static void add_as_sent(const hu_wire *wire, hu_round_counts counts, int32_t k,
                        hu_round_counts *total) {
    k = hu_wire_clamp(wire, k);
    if (counts.max_exponent != HU_NO_EXPONENT) counts.max_exponent -= k;
    if (counts.min_exponent != HU_NO_EXPONENT) counts.min_exponent -= k;
    hu_round_counts_add(total, &counts);
}

void hu_comm_round_range(hu_comm_worker *worker, int32_t layer, hu_comm_range range, float *x,
                         int32_t k, const hu_random_key *key, hu_round_counts *counts,
                         float *loss) {
    const hu_wire *wire = hu_comm_wire(worker->plan, layer);
    hu_round_counts of_numbers;
    hu_round_counts_clear(&of_numbers);
    hu_wire_quantise(wire, (size_t)range.count, x, k, hu_comm_codes(worker, layer, range.first),
                     key, (uint64_t)range.first, counts ? &of_numbers : NULL);
    if (counts) add_as_sent(wire, of_numbers, k, counts);
    if (loss) note_loss(worker, layer, range, x, k, loss);
}

void hu_comm_round_pieces(hu_comm_worker *worker, int32_t layer, int32_t first, int32_t count,
                          const hu_random_key *key, hu_round_counts *counts, float *loss) {
    const hu_comm_plan *plan = worker->plan;
    const hu_format *format = &plan->options.format;
    float *gradient = worker->gradient + plan->layer[layer].offset;
    for (int32_t p = first; p < first + count; p++) {
        hu_comm_range range = hu_comm_range_of(plan, layer, p, 1);
        float *x = gradient + range.first;
        bool has_nonfinite;
        uint32_t top = hu_comm_top(range.count, x, &has_nonfinite);
        int32_t k = hu_comm_clamp(hu_scale_exponent(format, HU_SCALE_CURRENT, top));
        *hu_comm_scales(worker, layer, p) = (int8_t)(has_nonfinite ? HU_COMM_NONFINITE : k);
        hu_comm_round_range(worker, layer, range, x, has_nonfinite ? 0 : k, key, counts,
                            loss ? loss + range.first : NULL);
    }
}

/* What earlier steps lost joins the gradient, but for numbers that are not finite. */
static void feed_back(float *x, float *loss, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] += loss[i];
}

/* Of a layer, in the arrays of callers: one even where nothing is agreed upon. */
static size_t agreed_bytes(const hu_comm_plan *plan) {
    return hu_comm_agreed_bytes(plan) > 1 ? hu_comm_agreed_bytes(plan) : 1;
}

/* What a worker tells of a layer before anything is sent. */
static void tell_layer(const hu_comm_plan *plan, const hu_comm_layer *layer, float *x,
                       int8_t *agreed) {
    const hu_comm_options *o = &plan->options;
    bool has_nonfinite, has_code = o->scaling->code && !layer->exact;
    if (has_code && o->scaling->code->prepare) o->scaling->code->prepare(o, layer->elements, x);
    uint32_t top = hu_comm_top(layer->elements, x, &has_nonfinite);
    if (hu_comm_agreed_bytes(plan) == sizeof top) {
        if (has_nonfinite) top = HU_F32_INFINITY;
        memcpy(agreed, &top, sizeof top);
        return;
    }
    int32_t exponent = hu_comm_exponent(o->scaling, &o->format, o->workers, top, has_nonfinite);
    *agreed = (int8_t)(layer->exact ? HU_COMM_NOTHING : exponent);
}

void hu_comm_worker_exponents(hu_comm_worker *worker, int32_t bucket, int8_t *exponent) {
    const hu_comm_plan *plan = worker->plan;
    const hu_comm_bucket *b = &plan->bucket[bucket];
    size_t bytes = agreed_bytes(plan);
    for (int32_t l = b->first; l < b->first + b->count; l++) {
        const hu_comm_layer *layer = &plan->layer[l];
        float *x = worker->gradient + layer->offset;
        if (worker->loss[0] && !layer->exact)
            feed_back(x, worker->loss[0] + layer->offset, layer->elements);
        tell_layer(plan, layer, x, exponent + (size_t)(l - b->first) * bytes);
    }
}

void hu_comm_worker_round(hu_comm_worker *worker, int32_t bucket, const int8_t *exponent) {
    const hu_comm_plan *plan = worker->plan;
    const hu_comm_bucket *b = &plan->bucket[bucket];
    size_t bytes = agreed_bytes(plan);
    for (int32_t l = b->first; l < b->first + b->count; l++) {
        const hu_comm_layer *layer = &plan->layer[l];
        hu_comm_range all = {0, layer->elements};
        hu_random_key key = hu_comm_key(worker, l, 0);
        hu_round_counts *counts = layer->exact ? NULL : &worker->counts[l].rounded;
        float *loss = worker->loss[0] && !layer->exact ? worker->loss[0] + layer->offset : NULL;
        if (hu_comm_has_code(plan, l)) {
            const int8_t *agreed = exponent ? exponent + (size_t)(l - b->first) * bytes : NULL;
            hu_comm_code_round(worker, l, agreed, &key, loss);
            continue;
        }
        worker->exponent[l] = (int8_t)(exponent ? exponent[l - b->first] : HU_COMM_NOTHING);
        if (hu_comm_is_fresh(plan, l))
            hu_comm_round_pieces(worker, l, 0, plan->pieces, &key, counts, loss);
        else
            hu_comm_round_range(worker, l, all, worker->gradient + layer->offset,
                                hu_comm_layer_scale(worker, l), &key, counts, loss);
    }
}
