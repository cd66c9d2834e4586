/* Numbers in codes of a scaling's own: in memory float32, whole numbers where all codes of a layer
 * have one unit, else the numbers themselves. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "comm/code.h"
#include "comm/worker.h"
#include "comm/worker_state.h"

static const hu_comm_code *code_of(const hu_comm_worker *worker) {
    return worker->plan->options.scaling->code;
}

/* Where the units of a piece's blocks lie. */
static float *units_of(const hu_comm_worker *worker, int32_t layer, int32_t piece) {
    int64_t blocks = hu_comm_blocks(worker->plan, layer);
    return worker->unit + worker->unit_at[layer] + (size_t)(piece * blocks);
}

/* Units that are NaN, or of nothing but zeros, have no codes but 0. */
static void encode(const hu_comm_worker *worker, float unit, int64_t n, const float *x, float *code,
                   const hu_random_key *key, int64_t first) {
    if (unit > 0.0f)
        code_of(worker)->encode(&worker->plan->options, unit, n, x, code, key, (uint64_t)first);
    else
        memset(code, 0, (size_t)n * sizeof *code);
}

static void to_numbers(float unit, int64_t n, float *code) {
    for (int64_t i = 0; i < n; i++)
        code[i] = isnan(unit) ? hu_f32_of_bits(HU_F32_NAN) : code[i] * unit;
}

/* Codes of numbers that are whole multiples of a unit, but for one rounding. */
static void to_whole(float unit, int64_t n, const float *number, float *code) {
    for (int64_t i = 0; i < n; i++)
        code[i] = unit > 0.0f ? (float)rint((double)number[i] / (double)unit) : 0.0f;
}

/* What is done with the blocks of a range of pieces: block(unit, range of its numbers). */
typedef struct block {
    float *unit;
    hu_comm_range range; /* in the layer */
} block;

/* The next block of pieces up to `end`; false: there is none. b->range.count == 0: the first. */
static bool next_block(const hu_comm_worker *worker, int32_t layer, int32_t *piece, int32_t end,
                       block *b) {
    const hu_comm_plan *plan = worker->plan;
    int64_t most = code_of(worker)->block(&plan->options), at = b->range.first + b->range.count;
    hu_comm_range own = {0, 0};
    for (; *piece < end; ++*piece) {
        own = hu_comm_range_of(plan, layer, *piece, 1);
        if (at < own.first + own.count) break;
    }
    if (*piece == end) return false;
    if (at < own.first) at = own.first;
    int64_t left = own.first + own.count - at;
    b->range = (hu_comm_range){at, left < most ? left : most};
    b->unit = units_of(worker, layer, *piece) + (at - own.first) / most;
    return true;
}

static void round_blocks(hu_comm_worker *worker, int32_t layer, const hu_random_key *key) {
    const hu_comm_plan *plan = worker->plan;
    const float *gradient = worker->gradient + plan->layer[layer].offset;
    int32_t piece = 0;
    block b = {0};
    while (next_block(worker, layer, &piece, plan->pieces, &b)) {
        const float *x = gradient + b.range.first;
        float *code = hu_comm_codes(worker, layer, b.range.first);
        *b.unit = code_of(worker)->unit_of(&plan->options, b.range.count, x);
        encode(worker, *b.unit, b.range.count, x, code, key, b.range.first);
        to_numbers(*b.unit, b.range.count, code);
    }
}

void hu_comm_code_round(hu_comm_worker *worker, int32_t layer, const int8_t *agreed,
                        const hu_random_key *key, float *loss) {
    const hu_comm_layer *l = &worker->plan->layer[layer];
    const float *x = worker->gradient + l->offset;
    float *code = hu_comm_codes(worker, layer, 0), unit = 1.0f;
    uint32_t top = 0;
    if (code_of(worker)->block)
        round_blocks(worker, layer, key);
    else {
        if (code_of(worker)->agreed_bytes == sizeof top) memcpy(&top, agreed, sizeof top);
        unit = code_of(worker)->unit(*agreed, top);
        worker->unit[worker->unit_at[layer]] = unit;
        encode(worker, unit, l->elements, x, code, key, 0);
    }
    for (int64_t i = 0; loss && i < l->elements; i++) {
        float lost = x[i] - code[i] * unit;
        loss[i] = isfinite(lost) ? lost : 0.0f;
    }
}

void hu_comm_code_write(const hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                        uint8_t *to) {
    const hu_comm_plan *plan = worker->plan;
    hu_comm_range range = hu_comm_range_of(plan, layer, action->first, action->count);
    const float *code = hu_comm_codes(worker, layer, range.first);
    uint32_t bits = code_of(worker)->bits(&plan->options, action->is_sum);
    if (code_of(worker)->block && !action->is_sum) {
        int32_t piece = action->first, end = action->first + action->count;
        float *whole = worker->whole;
        block b = {0};
        while (next_block(worker, layer, &piece, end, &b)) {
            memcpy(to, b.unit, sizeof *b.unit);
            to += sizeof *b.unit;
            to_whole(*b.unit, b.range.count, code + (b.range.first - range.first),
                     whole + (b.range.first - range.first));
        }
        code = whole;
    }
    if (bits == 32)
        hu_wire_pack_bits(&plan->exact, (size_t)range.count, code, to);
    else
        hu_comm_pack_whole(bits, range.count, code, to);
}

/* Own codes take in what has come: codes of one unit. */
static void add(hu_comm_worker *worker, int32_t layer, hu_comm_range range, uint32_t bits,
                const uint8_t *from) {
    float heard[HU_COMM_BLOCK], *own = hu_comm_codes(worker, layer, range.first);
    for (int64_t at = 0; at < range.count; at += HU_COMM_BLOCK) {
        int64_t n = range.count - at < HU_COMM_BLOCK ? range.count - at : HU_COMM_BLOCK;
        hu_comm_unpack_whole(bits, n, from + at / 8 * bits, heard);
        for (int64_t i = 0; i < n; i++) own[at + i] += heard[i];
    }
    hu_comm_code_limit(worker, layer, range);
}

void hu_comm_code_read(hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                       const uint8_t *from) {
    const hu_comm_plan *plan = worker->plan;
    hu_comm_range range = hu_comm_range_of(plan, layer, action->first, action->count);
    uint32_t bits = code_of(worker)->bits(&plan->options, action->is_sum);
    float *code = action->act == HU_COMM_KEEP
                      ? hu_comm_slot(worker, layer, action->slot, range.count)
                      : hu_comm_codes(worker, layer, range.first);
    bool has_units = code_of(worker)->block && !action->is_sum;
    const uint8_t *unit = from;
    if (has_units)
        from +=
            (size_t)hu_comm_blocks_of(plan, layer, action->first, action->count) * sizeof(float);
    if (action->act == HU_COMM_ADD) {
        add(worker, layer, range, bits, from);
        return;
    }
    if (bits == 32)
        hu_wire_unpack_bits(&plan->exact, (size_t)range.count, from, code);
    else
        hu_comm_unpack_whole(bits, range.count, from, code);
    if (!has_units) return;
    int32_t piece = action->first, end = action->first + action->count;
    block b = {0};
    for (; next_block(worker, layer, &piece, end, &b); unit += sizeof(float)) {
        float heard;
        memcpy(&heard, unit, sizeof heard);
        to_numbers(heard, b.range.count, code + (b.range.first - range.first));
    }
}

void hu_comm_code_limit(hu_comm_worker *worker, int32_t layer, hu_comm_range range) {
    float *code = hu_comm_codes(worker, layer, range.first);
    if (!code_of(worker)->adds_on_way) return;
    for (int64_t i = 0; i < range.count; i++)
        code[i] = fminf(fmaxf(code[i], HU_COMM_WHOLE_LEAST), HU_COMM_WHOLE_MOST);
}

void hu_comm_code_finish(const hu_comm_worker *worker, int32_t layer, float *x) {
    if (code_of(worker)->block) return;
    float unit = worker->unit[worker->unit_at[layer]];
    for (int64_t i = 0; i < worker->plan->layer[layer].elements; i++)
        x[i] = isnan(unit) ? hu_f32_of_bits(HU_F32_NAN) : x[i] * unit;
}
