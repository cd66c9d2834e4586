#include "comm/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "comm/transport.h"

/* ---- code ---- */

/* Gradients that travel as small integers times a unit, in place of a number format:
 * what a scaling with codes of its own (comm/plan.h) does with numbers.
 *
 * A code is a whole number c, kept in memory as float32 and sent as two's complement in `bits`
 * bits; its number is c times a unit. Units are of two kinds:
 *
 *   agreed     one per layer, from what all workers agree upon: codes of all workers have it, and
 *              the code of a sum is the sum of the codes
 *   of blocks  every block of numbers of a piece has its own, sent before the codes as float32;
 *              owners add numbers in float32, and sums travel in float32
 *
 * A unit that is NaN makes numbers of NaN: so infinities and NaNs come through, whatever the code.
 * Blocks begin anew with every piece of a layer (comm/plan.h), the last of a piece is shorter.
 */

void hu_comm_pack_whole(uint32_t bits, int64_t n, const float *code, uint8_t *to) {
    uint64_t held = 0;
    uint32_t count = 0, mask = (1u << bits) - 1u;
    for (int64_t i = 0; i < n; i++) {
        held |= (uint64_t)((uint32_t)(int32_t)code[i] & mask) << count;
        for (count += bits; count >= 8; count -= 8, held >>= 8) *to++ = (uint8_t)held;
    }
    if (count > 0) *to = (uint8_t)held;
}

void hu_comm_unpack_whole(uint32_t bits, int64_t n, const uint8_t *from, float *code) {
    uint64_t held = 0;
    uint32_t count = 0, mask = (1u << bits) - 1u, sign = 1u << (bits - 1);
    for (int64_t i = 0; i < n; i++) {
        for (; count < bits; count += 8) held |= (uint64_t)*from++ << count;
        uint32_t field = (uint32_t)held & mask;
        code[i] = (float)((int32_t)(field ^ sign) - (int32_t)sign);
        held >>= bits;
        count -= bits;
    }
}

float hu_comm_draw_whole(double x, uint32_t word) {
    double below = floor(x);
    return (float)(below + (hu_word_share(word) < x - below));
}

/* ---- plan ---- */

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
    if (options->scaling->code && (options->kahan || options->rounding != HU_ROUND_NEAREST_EVEN))
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s with scaling %s: its codes are made as their paper says, and added "
                       "without rounding; expected none, constant:K, aps or aps-tight",
                       options->kahan ? "kahan" : hu_rounding_name(options->rounding),
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
    const hu_comm_code *code = options->scaling->code;
    HU_TRY(hu_wire_init(&plan->narrow, code ? NULL : &options->format, options->rounding));
    HU_TRY(hu_wire_init(&plan->exact, NULL, HU_ROUND_NEAREST_EVEN));
    plan->loses_nonfinite = loses_nonfinite(&plan->narrow);
    plan->agrees = plan->narrow.rounds && !options->scaling->fresh &&
                   (options->scaling->exponent || plan->loses_nonfinite);
    if (code) plan->agrees = code->agreed_bytes > 0;
    HU_TRY(copy_layers(plan, layer, layers));
    /* Float32 as the format of the wire: nothing to scale, and the same order of additions. */
    for (int32_t l = 0; l < layers; l++)
        plan->layer[l].exact = plan->layer[l].exact || (!plan->narrow.rounds && !code);
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

int64_t hu_comm_blocks(const hu_comm_plan *plan, int32_t layer) {
    const hu_comm_code *code = plan->options.scaling->code;
    if (!code->block) return 0;
    int64_t block = code->block(&plan->options);
    int64_t most = plan->layer[layer].elements / plan->pieces + 1; /* of a piece */
    return (most + block - 1) / block;
}

int64_t hu_comm_blocks_of(const hu_comm_plan *plan, int32_t layer, int32_t first, int32_t count) {
    const hu_comm_code *code = plan->options.scaling->code;
    int64_t blocks = 0;
    if (!code->block) return 0;
    int64_t block = code->block(&plan->options);
    for (int32_t p = first; p < first + count; p++)
        blocks += (hu_comm_range_of(plan, layer, p, 1).count + block - 1) / block;
    return blocks;
}

size_t hu_comm_code_bytes(const hu_comm_plan *plan, int32_t layer, int32_t first, int32_t count,
                          bool is_sum) {
    const hu_comm_code *code = plan->options.scaling->code;
    size_t n = (size_t)hu_comm_range_of(plan, layer, first, count).count;
    uint32_t bits = code->bits(&plan->options, is_sum);
    size_t units = is_sum ? 0 : (size_t)hu_comm_blocks_of(plan, layer, first, count);
    return units * sizeof(float) + (n * bits + 7) / 8;
}

void hu_comm_code_print(const hu_comm_options *options, char *text, size_t capacity) {
    snprintf(text, capacity, "%u bits", options->scaling->code->bits(options, false));
}

size_t hu_comm_message_bytes(const hu_comm_plan *plan, int32_t bucket,
                             const hu_comm_action *action) {
    const hu_comm_bucket *b = &plan->bucket[bucket];
    size_t bytes = sizeof(hu_comm_header);
    for (int32_t l = b->first; l < b->first + b->count; l++) {
        hu_comm_range range = hu_comm_range_of(plan, l, action->first, action->count);
        if (hu_comm_is_fresh(plan, l)) bytes += (size_t)action->count;
        bytes += hu_comm_has_code(plan, l)
                     ? hu_comm_code_bytes(plan, l, action->first, action->count, action->is_sum)
                     : hu_wire_bytes(hu_comm_wire(plan, l), (size_t)range.count);
    }
    return bytes;
}

size_t hu_comm_agreed_bytes(const hu_comm_plan *plan) {
    const hu_comm_code *code = plan->options.scaling->code;
    if (!plan->agrees) return 0;
    return code ? (size_t)code->agreed_bytes : 1;
}

/* Exponents of one byte, or magnitudes of binary32, which are ordered as their bits. */
void hu_comm_agree(const hu_comm_plan *plan, int32_t layers, const int8_t *heard, int8_t *known) {
    if (hu_comm_agreed_bytes(plan) == sizeof(uint32_t)) {
        for (int32_t l = 0; l < layers; l++) {
            uint32_t a, b;
            memcpy(&a, heard + (size_t)l * sizeof a, sizeof a);
            memcpy(&b, known + (size_t)l * sizeof b, sizeof b);
            if (a > b) memcpy(known + (size_t)l * sizeof a, &a, sizeof a);
        }
        return;
    }
    for (int32_t l = 0; l < layers; l++)
        if (heard[l] > known[l]) known[l] = heard[l];
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

/* Only owners of sums lose anything beyond their own gradients, and nothing where sums are sent as
 * they are. */
int32_t hu_comm_loss_kinds(const hu_comm_plan *plan) {
    if (!plan->options.error_feedback) return 0;
    return plan->shape.wide && !plan->options.scaling->code ? HU_COMM_LOSSES : 1;
}
