#include "engine/internal.h"

#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "kernel/block/block.h"

/* ---- buffer ---- */

/* One buffer of a run's arena: its size, its lifetime and what it holds. */

static const char *const role_names[] = {
#define HU_BUFFER_NAME(name, text) text,
    HU_BUFFER_ROLES(HU_BUFFER_NAME)
#undef HU_BUFFER_NAME
};

const char *hu_buffer_role_name(hu_buffer_role role) {
    return role_names[role];
}

void hu_buffer_forget(hu_buffer *buffer) {
    for (int c = 0; c < HU_COURSES; c++) buffer->life[c] = (hu_life){INT32_MAX, -1};
}

void hu_buffer_use(hu_buffer *buffer, int course, int32_t time) {
    hu_life *life = &buffer->life[course];
    if (time < life->first) life->first = time;
    if (time > life->last) life->last = time;
}

bool hu_buffer_is_used(const hu_buffer *buffer) {
    return hu_buffer_outlives(buffer, -1);
}

bool hu_buffer_is_alive(const hu_buffer *buffer, int course, int32_t time) {
    return buffer->life[course].first <= time && time <= buffer->life[course].last;
}

bool hu_buffer_outlives(const hu_buffer *buffer, int32_t time) {
    for (int c = 0; c < HU_COURSES; c++)
        if (buffer->life[c].last > time) return true;
    return false;
}

bool hu_buffers_meet(const hu_buffer *a, const hu_buffer *b) {
    for (int c = 0; c < HU_COURSES; c++)
        if (a->life[c].first <= b->life[c].last && b->life[c].first <= a->life[c].last) return true;
    return false;
}

/* ---- slot ---- */

/* Rows of a sample have one range, a parameter has one or one for each of its channels. */
static hu_status prepare_uniform(hu_slot *slot, hu_storage_mode mode) {
    hu_status st = HU_OK;
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    int64_t line = quantizer->per_channel ? slot->elements / slot->scales : 0;
    HU_TRY(hu_uniformer_init(slot->uniformer, quantizer->bits, quantizer->rounding,
                             hu_slot_rounded_elements(slot), line));
    hu_storage_choose_uniform(hu_slot_mode(slot, mode), slot->uniformer, &slot->storage);
    if (slot->in_loop)
        HU_TRY(hu_storage_choose(HU_STORAGE_FLOAT32, NULL, slot->elements, &slot->storage));
    slot->storage.scale = slot->scale;
    slot->prepared = *quantizer;
done:
    return st;
}

static hu_status prepare_blocks(hu_slot *slot, hu_storage_mode mode) {
    hu_status st = HU_OK;
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    if (hu_quantizer_needs_signs(quantizer))
        HU_TRY(hu_fail(HU_ERR_UNSUPPORTED,
                       "hadamard=%d:random: signs that every step draws are for operands of "
                       "products; stored numbers take hadamard=%d or hadamard=%d:plain",
                       (int)quantizer->block.hadamard, (int)quantizer->block.hadamard,
                       (int)quantizer->block.hadamard));
    HU_TRY(hu_blocker_init(slot->blocker, &quantizer->block, quantizer->rounding,
                           hu_slot_rounded_elements(slot), slot->line));
    hu_storage_choose_blocks(hu_slot_mode(slot, mode), slot->blocker, &slot->storage);
    if (slot->in_loop)
        HU_TRY(hu_storage_choose(HU_STORAGE_FLOAT32, NULL, slot->elements, &slot->storage));
done:
    return st;
}

enum { WIDEST_CODE_BITS = 16 }; /* what is wider is kept in float32 */

hu_storage_mode hu_slot_mode(const hu_slot *slot, hu_storage_mode mode) {
    enum { BYTE_BITS = 8 };
    bool has_bytes = slot->elements / slot->steps % BYTE_BITS == 0;
    bool is_cut = slot->steps > 1 && !has_bytes;
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    bool is_whole = quantizer->kind == HU_QUANTIZER_BLOCK || hu_quantizer_needs_range(quantizer);
    if (slot->steps > 1 && is_whole) return HU_STORAGE_FLOAT32;
    if (slot->in_loop && hu_quantizer_looks(quantizer)) return HU_STORAGE_FLOAT32;
    return is_cut && mode == HU_STORAGE_DENSE ? HU_STORAGE_PACKED : mode;
}

hu_status hu_slot_prepare(hu_slot *slot, hu_storage_mode mode) {
    hu_status st = HU_OK;
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    if (quantizer->kind == HU_QUANTIZER_BLOCK) return prepare_blocks(slot, mode);
    if (quantizer->kind == HU_QUANTIZER_UNIFORM) return prepare_uniform(slot, mode);
    bool is_number = quantizer->kind == HU_QUANTIZER_FLOAT;
    mode = hu_slot_mode(slot, mode);
    if (hu_quantizer_code_bits(quantizer) > WIDEST_CODE_BITS) mode = HU_STORAGE_FLOAT32;
    if (is_number) HU_TRY(hu_rounder_init(&slot->rounder, &quantizer->format, quantizer->rounding));
    HU_TRY(hu_storage_choose(mode, is_number ? &quantizer->format : NULL, slot->elements,
                             &slot->storage));
    slot->exponent = 0;
    slot->factor = 1.0f;
    slot->prepared = *quantizer;
done:
    return st;
}

bool hu_quantizer_is_plain(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_NONE ||
           (quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_NONE);
}

bool hu_quantizer_can_change(const hu_quantizer *quantizer) {
    bool follows = quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_CURRENT;
    return hu_quantizer_is_plain(quantizer) || follows || quantizer->kind == HU_QUANTIZER_UNIFORM;
}

bool hu_slot_is_prepared(const hu_slot *slot) {
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    return slot->prepared.rounding == quantizer->rounding &&
           hu_quantizer_same_numbers(&slot->prepared, quantizer);
}

bool hu_slot_has_room(const hu_slot *slot) {
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    if (slot->capacity_bits == 0) return false;
    if (slot->uniformer)
        return quantizer->kind == HU_QUANTIZER_UNIFORM &&
               quantizer->per_channel == slot->prepared.per_channel &&
               quantizer->bits <= slot->capacity_bits;
    if (quantizer->kind == HU_QUANTIZER_UNIFORM) return false;
    if (!hu_quantizer_can_change(quantizer) || quantizer->scale != slot->prepared.scale)
        return false;
    if (!hu_quantizer_rounds(quantizer) && slot->has_master) return true;
    return hu_quantizer_code_bits(quantizer) <= slot->capacity_bits;
}

/* Largest number / largest magnitude; of zeros, and of none, it stays. Source: TransformerEngine,
 * delayed_scaling.cu. */
static void set_factor(hu_slot *slot, uint32_t top_bits) {
    const double most = hu_format_limits_of(&slot->edge->quantizer.format).max_finite;
    const float largest = hu_f32_of_bits(HU_F32_INFINITY - 1);
    if (top_bits == 0 || top_bits >= HU_F32_INFINITY) return;
    float factor = (float)most / hu_f32_of_bits(top_bits);
    slot->factor = factor < largest ? factor : largest;
}

void hu_slot_set_scale(hu_slot *slot, uint32_t top_bits) {
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    if (slot->blocker)
        slot->storage.tensor_scale = hu_block_tensor_scale(&quantizer->block, top_bits);
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale == HU_SCALE_NONE) return;
    if (quantizer->is_real) {
        set_factor(slot, top_bits);
        return;
    }
    int32_t k = hu_scale_exponent(&quantizer->format, quantizer->scale, top_bits);
    if (k == slot->exponent) return;
    hu_format scaled = hu_format_scaled(&quantizer->format, k);
    slot->exponent = k;
    (void)hu_rounder_init(&slot->rounder, &scaled, quantizer->rounding);
    hu_storage_set_format(&slot->storage, &scaled);
}

uint32_t hu_slot_top(const hu_slot *slot, int64_t n, const float *x) {
    return slot->blocker ? hu_blocker_top(slot->blocker, n, x) : hu_top_f32((size_t)n, x);
}

void hu_slot_set_range(hu_slot *slot, float low, float high) {
    slot->scale[0] = hu_uniform_scale_of(low, high, slot->edge->quantizer.bits);
}

void hu_slot_set_ranges(hu_slot *slot, const float *x) {
    int64_t line = slot->elements / slot->scales;
    for (int64_t c = 0; c < slot->scales; c++) {
        float low = INFINITY, high = -INFINITY;
        hu_uniform_range((size_t)line, x + c * line, &low, &high);
        slot->scale[c] = hu_uniform_scale_of(low, high, slot->edge->quantizer.bits);
    }
}

/* By a real scale: a piece at a time, so that numbers are read from the cache. */
static void round_scaled(const hu_slot *slot, const hu_random_key *key, int64_t first, int64_t n,
                         const float *x, float *y, hu_round_counts *counts) {
    enum { PIECE = 1024 };
    const float factor = slot->factor, back = 1.0f / factor;
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t count = n - at < PIECE ? n - at : PIECE;
        for (int64_t i = at; i < at + count; i++) y[i] = x[i] * factor;
        hu_rounder_run(&slot->rounder, (size_t)count, y + at, y + at, key, (uint64_t)(first + at),
                       counts);
        for (int64_t i = at; i < at + count; i++) y[i] *= back;
    }
}

static void round_run(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t n,
                      const float *x, float *y, hu_round_counts *counts) {
    hu_random_key key = {context->seed, slot->stream, context->step};
    if (slot->edge->quantizer.is_real)
        round_scaled(slot, &key, first, n, x, y, context->scan ? NULL : counts);
    else if (hu_quantizer_rounds(&slot->edge->quantizer))
        hu_rounder_run(&slot->rounder, (size_t)n, x, y, &key, (uint64_t)first,
                       context->scan ? NULL : counts);
    else if ((context->scan || context->counts_all) && counts)
        hu_scan_f32((size_t)n, x, counts);
}

static void round_blocks(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                         int64_t rows, const float *x, float *y, hu_round_counts *counts) {
    hu_random_key key = {context->seed, slot->stream, context->step};
    hu_blocker_round(slot->blocker, slot->storage.tensor_scale, rows, x, y, &key,
                     (uint64_t)((context->first_row + first) * slot->elements),
                     context->scan ? NULL : counts);
}

static void pack_blocks(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                        int64_t rows, const float *x, hu_round_counts *counts) {
    hu_random_key key = {context->seed, slot->stream, context->step};
    hu_blocker_pack(slot->blocker, slot->storage.tensor_scale, rows, x,
                    slot->data + hu_storage_bytes(&slot->storage, first), &key,
                    (uint64_t)((context->first_row + first) * slot->elements),
                    context->scan ? NULL : counts);
}

static void round_uniform(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                          int64_t rows, const float *x, float *y, hu_round_counts *counts) {
    hu_random_key key = {context->seed, slot->stream, context->step};
    hu_uniform_round(slot->uniformer, slot->scale, rows, x, y, &key,
                     (uint64_t)((context->first_row + first) * slot->elements),
                     context->scan ? NULL : counts);
}

static void pack_uniform(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                         int64_t rows, const float *x, hu_round_counts *counts) {
    hu_random_key key = {context->seed, slot->stream, context->step};
    hu_uniform_pack(slot->uniformer, slot->scale, rows, x,
                    slot->data + hu_storage_bytes(&slot->storage, first), &key,
                    (uint64_t)((context->first_row + first) * slot->elements),
                    context->scan ? NULL : counts);
}

/* Blocks end with the part: the zeros after its first n numbers are counted, and left out again.
 */
static void round_blocks_of_part(const hu_slot *slot, const hu_random_key *key, int64_t index,
                                 int64_t n, float *x, hu_round_counts *counts) {
    uint64_t zeros = (uint64_t)(hu_slot_rounded_elements(slot) - n);
    hu_blocker_round(slot->blocker, slot->storage.tensor_scale, 1, x, x, key, (uint64_t)index,
                     counts);
    if (counts) counts->elements -= zeros;
    if (counts)
        counts->zero -= counts->zero < zeros ? counts->zero : zeros; /* NaN blocks have none */
}

/* Rounds the first n numbers of a part by a scale or a range of their own; after them are zeros.
 * index: of its first random word. */
static void round_alone(const hu_slot *slot, const hu_slot_context *context, int64_t index,
                        int64_t n, float *x, hu_round_counts *counts) {
    hu_random_key key = {context->seed, slot->stream, context->step};
    hu_round_counts *counted = context->scan ? NULL : counts;
    hu_slot own = *slot;
    if (slot->uniformer) {
        float low = INFINITY, high = -INFINITY;
        hu_uniform_range((size_t)n, x, &low, &high);
        hu_uniform_scale scale = hu_uniform_scale_of(low, high, slot->uniformer->bits);
        hu_uniformer part = *slot->uniformer;
        part.row_elements = n;
        hu_uniform_round(&part, &scale, 1, x, x, &key, (uint64_t)index, counted);
        return;
    }
    /* After a part come zeros, up to the ends of its lines and beyond. */
    hu_slot_set_scale(&own,
                      hu_slot_top(slot, slot->blocker ? hu_slot_rounded_elements(slot) : n, x));
    if (slot->blocker)
        round_blocks_of_part(&own, &key, index, n, x, counted);
    else
        round_run(&own, context, index, n, x, x, counts);
}

/* Codes of the quantizer's own format. */
bool hu_slot_encodes(const hu_slot *slot) {
    return hu_quantizer_rounds(&slot->edge->quantizer) && hu_storage_is_coded(&slot->storage);
}

/* y: NULL if the rounded numbers are not wanted. */
static void encode(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t rows,
                   const float *x, float *y, hu_round_counts *counts) {
    hu_random_key key = {context->seed, slot->stream, context->step};
    hu_storage_encode(&slot->storage, &slot->rounder, slot->data, first, rows, x, y, &key,
                      (uint64_t)((context->first_row + first) * slot->elements),
                      context->scan ? NULL : counts);
}

void hu_slot_round_to(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                      int64_t rows, const float *x, float *y, hu_round_counts *counts) {
    if (slot->blocker)
        round_blocks(slot, context, first, rows, x, y, counts);
    else if (slot->uniformer)
        round_uniform(slot, context, first, rows, x, y, counts);
    else
        round_run(slot, context, (context->first_row + first) * slot->elements,
                  rows * slot->elements, x, y, counts);
}

void hu_slot_round(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t rows,
                   float *x, hu_round_counts *counts) {
    hu_slot_round_to(slot, context, first, rows, x, x, counts);
}

void hu_slot_round_part(const hu_slot *slot, const hu_slot_context *context, int64_t row,
                        int64_t first, int64_t n, float *x, hu_round_counts *counts) {
    int64_t index = (context->first_row + row) * slot->elements + first;
    if (slot->in_loop && hu_quantizer_looks(&slot->edge->quantizer))
        round_alone(slot, context, index, n, x, counts);
    else
        round_run(slot, context, index, n, x, x, counts);
}

void hu_slot_store(const hu_slot *slot, const hu_slot_context *context, int64_t first, int64_t rows,
                   float *x, bool is_wanted, hu_round_counts *counts) {
    if (hu_storage_is_blocks(&slot->storage)) {
        pack_blocks(slot, context, first, rows, x, counts);
        return;
    }
    if (hu_storage_is_uniform(&slot->storage)) {
        pack_uniform(slot, context, first, rows, x, counts);
        return;
    }
    if (hu_slot_encodes(slot)) {
        encode(slot, context, first, rows, x, is_wanted ? x : NULL, counts);
        return;
    }
    hu_slot_round(slot, context, first, rows, x, counts);
    hu_storage_write(&slot->storage, slot->data, first, rows, x);
}

void hu_slot_store_copy(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                        int64_t rows, const float *x, float *y, hu_round_counts *counts) {
    if (hu_slot_encodes(slot)) {
        encode(slot, context, first, rows, x, y, counts);
        return;
    }
    if (!hu_slot_packs_rows(slot)) {
        hu_slot_round_to(slot, context, first, rows, x, y, counts);
        hu_storage_write(&slot->storage, slot->data, first, rows, y);
        return;
    }
    if (slot->blocker)
        pack_blocks(slot, context, first, rows, x, counts);
    else
        pack_uniform(slot, context, first, rows, x, counts);
    (void)hu_storage_read(&slot->storage, slot->data, first, rows, y);
}

void hu_slot_store_on_grid(const hu_slot *slot, const hu_slot_context *context, int64_t first,
                           int64_t rows, const float *x, bool stores, hu_round_counts *counts) {
    if (context->scan) counts = NULL;
    if (stores && hu_slot_encodes(slot)) {
        hu_storage_encode_on_grid(&slot->storage, &slot->rounder, slot->data, first, rows, x,
                                  counts);
        return;
    }
    if (counts) hu_count_on_grid(&slot->rounder, (size_t)(rows * slot->elements), x, counts);
    if (stores) hu_storage_write(&slot->storage, slot->data, first, rows, x);
}

void hu_slot_store_row(const hu_slot *slot, const hu_slot_context *context, const float *x,
                       hu_round_counts *counts) {
    enum { PART = 4096 };
    float part[PART];
    int64_t before = context->first_row * slot->elements;
    if (hu_slot_encodes(slot)) {
        encode(slot, context, 0, 1, x, NULL, counts);
        return;
    }
    if (slot->uniformer) {
        if (hu_storage_is_uniform(&slot->storage))
            pack_uniform(slot, context, 0, 1, x, counts);
        else
            round_uniform(slot, context, 0, 1, x, (float *)(void *)slot->data, counts);
        return;
    }
    if (slot->blocker && !hu_storage_is_blocks(&slot->storage))
        round_blocks(slot, context, 0, 1, x, (float *)(void *)slot->data, counts);
    else if (slot->blocker)
        pack_blocks(slot, context, 0, 1, x, counts);
    for (int64_t i = 0; !slot->blocker && i < slot->elements; i += PART) {
        int64_t n = slot->elements - i < PART ? slot->elements - i : PART;
        round_run(slot, context, before + i, n, x + i, part, counts);
        bool rounds = hu_quantizer_rounds(&slot->edge->quantizer);
        if (rounds || (const void *)x != slot->data)
            hu_storage_write_part(&slot->storage, slot->data, i, n, rounds ? part : x + i);
    }
}
