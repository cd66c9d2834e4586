#include "comm/plan.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "comm/message.h"

/* Options that exclude each other. */
static hu_status check(const hu_comm_options *options, const hu_comm_shape *shape) {
    hu_status st = hu_comm_schedule_check(options->schedule, shape);
    if (st != HU_OK) return st;
    if (options->kahan && options->schedule->adds_on_way)
        return hu_fail(HU_ERR_ARGUMENT,
                       "kahan with schedule %s: its partial sums travel, and their compensation "
                       "would have to; expected seq, pairwise, hier:K or hier2d:K",
                       options->schedule->name);
    if (options->kahan && options->scaling->wide)
        return hu_fail(HU_ERR_ARGUMENT,
                       "kahan with scaling %s: its sums are made in float32; expected none, "
                       "constant:K, aps or aps-tight",
                       options->scaling->name);
    return HU_OK;
}

/* The formats that cannot tell of what is not finite: they have no code for it, or an infinity is
 * rounded to a number. */
static bool loses_nonfinite(const hu_wire *wire) {
    return wire->rounds && (wire->packer.is_infinity_lost || wire->packer.is_nan_lost ||
                            wire->format.overflow == HU_OVERFLOW_SAT);
}

/* Layers in order, until a bucket is full. */
static hu_status make_buckets(hu_comm_plan *plan) {
    int64_t bytes = 0;
    hu_status st = HU_NEW_ARRAY(&plan->bucket, (size_t)plan->layers);
    if (st != HU_OK) return st;
    for (int32_t l = 0; l < plan->layers; l++) {
        if (l == 0 || bytes >= plan->options.bucket_bytes) {
            plan->bucket[plan->buckets++] = (hu_comm_bucket){.first = l};
            bytes = 0;
        }
        plan->bucket[plan->buckets - 1].count++;
        bytes += plan->layer[l].elements * (int64_t)sizeof(float);
    }
    return HU_OK;
}

static hu_status copy_layers(hu_comm_plan *plan, const hu_comm_layer *layer, int32_t layers) {
    hu_status st = HU_NEW_ARRAY(&plan->layer, (size_t)layers);
    if (st != HU_OK) return st;
    plan->layers = layers;
    for (int32_t l = 0; l < layers; l++) {
        int64_t end = layer[l].offset + layer[l].elements;
        plan->layer[l] = layer[l];
        if (end > plan->elements) plan->elements = end;
    }
    return make_buckets(plan);
}

hu_status hu_comm_plan_create(const hu_comm_options *options, const hu_comm_layer *layer,
                              int32_t layers, hu_comm_plan **result) {
    hu_status st = HU_OK;
    hu_comm_plan *plan = NULL;
    *result = NULL;
    hu_comm_shape shape = {options->workers, options->group, options->scaling->wide};
    HU_TRY(check(options, &shape));
    HU_TRY(HU_NEW(&plan));
    plan->options = *options;
    plan->shape = shape;
    plan->pieces = options->schedule->pieces(&shape);
    HU_TRY(hu_wire_init(&plan->narrow, &options->format, options->rounding));
    HU_TRY(hu_wire_init(&plan->exact, NULL, HU_ROUND_NEAREST_EVEN));
    plan->loses_nonfinite = loses_nonfinite(&plan->narrow);
    plan->agrees = plan->narrow.rounds && !options->scaling->fresh &&
                   (options->scaling->exponent || plan->loses_nonfinite);
    HU_TRY(copy_layers(plan, layer, layers));
    /* Float32 as the format of the wire: nothing to scale, and the same order of additions. */
    for (int32_t l = 0; l < layers; l++)
        plan->layer[l].exact = plan->layer[l].exact || !plan->narrow.rounds;
    *result = plan;
    plan = NULL;
done:
    hu_comm_plan_free(plan);
    return st;
}

void hu_comm_plan_free(hu_comm_plan *plan) {
    if (!plan) return;
    hu_free(plan->layer);
    hu_free(plan->bucket);
    hu_free(plan);
}

hu_comm_range hu_comm_range_of(const hu_comm_plan *plan, int32_t layer, int32_t piece,
                               int32_t pieces) {
    int64_t n = plan->layer[layer].elements;
    int64_t first = hu_comm_edge(n, piece, plan->pieces);
    return (hu_comm_range){first, hu_comm_edge(n, piece + pieces, plan->pieces) - first};
}

size_t hu_comm_message_bytes(const hu_comm_plan *plan, int32_t bucket, int32_t first,
                             int32_t count) {
    const hu_comm_bucket *b = &plan->bucket[bucket];
    size_t bytes = sizeof(hu_comm_header);
    for (int32_t l = b->first; l < b->first + b->count; l++) {
        hu_comm_range range = hu_comm_range_of(plan, l, first, count);
        if (hu_comm_is_fresh(plan, l)) bytes += (size_t)count;
        bytes += hu_wire_bytes(hu_comm_wire(plan, l), (size_t)range.count);
    }
    return bytes;
}

/* Magnitudes of binary32 are ordered as their bits. */
uint32_t hu_comm_top(int64_t n, const float *x, bool *has_nonfinite) {
    uint32_t top = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= ~HU_F32_SIGN;
        if (bits > top) top = bits;
    }
    *has_nonfinite = top >= HU_F32_INFINITY;
    return *has_nonfinite ? 0 : top;
}
