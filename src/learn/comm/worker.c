#include "comm/internal.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "kernel/block/block.h"

enum { ALIGNMENT = 64 };

/* Numbers of a layer that wait in slots at once, and pieces. */
static int64_t slot_room(const hu_comm_plan *plan, const hu_comm_list *list, int32_t layer,
                         int32_t *pieces) {
    int64_t most = 0;
    for (int32_t a = 0; a < list->count; a++) {
        const hu_comm_action *action = &list->action[a];
        if (action->act != HU_COMM_COMBINE) continue;
        int64_t room =
            action->slots * hu_comm_range_of(plan, layer, action->first, action->count).count;
        if (room > most) most = room;
        if (action->slots * action->count > *pieces) *pieces = action->slots * action->count;
    }
    return most;
}

/* Bytes of a worker's codes, and where those of each layer lie. */
typedef struct room {
    size_t codes, slots;
    int32_t slot_pieces;
} room;

/* code_at, slot_at: [layers], or both NULL. */
static room measure(const hu_comm_plan *plan, const hu_comm_list *list, size_t *code_at,
                    size_t *slot_at) {
    room r = {0, 0, 0};
    for (int32_t l = 0; l < plan->layers; l++) {
        size_t bytes = hu_wire_code_bytes(hu_comm_wire(plan, l));
        if (code_at) code_at[l] = r.codes;
        if (slot_at) slot_at[l] = r.slots;
        r.codes += hu_round_up((size_t)plan->layer[l].elements * bytes, ALIGNMENT);
        r.slots += hu_round_up((size_t)slot_room(plan, list, l, &r.slot_pieces) * bytes, ALIGNMENT);
    }
    return r;
}

/* Units of codes, where a scaling has its own, and numbers on their way out; at: [layers] or NULL.
 * Floats. */
static size_t measure_units(const hu_comm_plan *plan, size_t *at, size_t *whole) {
    size_t units = 0;
    *whole = 0;
    for (int32_t l = 0; l < plan->layers; l++) {
        if (at) at[l] = units;
        if (!hu_comm_has_code(plan, l)) continue;
        int64_t blocks = hu_comm_blocks(plan, l);
        units += blocks ? (size_t)blocks * (size_t)plan->pieces : 1;
        if (blocks && (size_t)plan->layer[l].elements > *whole)
            *whole = (size_t)plan->layer[l].elements;
    }
    return units;
}

static hu_status make_units(hu_comm_worker *worker) {
    hu_status st = HU_OK;
    void *block;
    size_t whole;
    if (!worker->plan->options.scaling->code) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&worker->unit_at, (size_t)worker->plan->layers));
    size_t units = measure_units(worker->plan, worker->unit_at, &whole);
    HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, units * sizeof(float), &block));
    worker->unit = block;
    HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, whole * sizeof(float), &block));
    worker->whole = block;
done:
    return st;
}

static hu_status make_codes(hu_comm_worker *worker) {
    const hu_comm_plan *plan = worker->plan;
    hu_status st = HU_OK;
    void *block;
    size_t layers = (size_t)plan->layers;
    HU_TRY(HU_NEW_ARRAY(&worker->code_at, layers));
    HU_TRY(HU_NEW_ARRAY(&worker->slot_at, layers));
    room r = measure(plan, &worker->list, worker->code_at, worker->slot_at);
    worker->slot_pieces = r.slot_pieces;
    HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, r.codes, &block));
    worker->codes = block;
    HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, r.slots, &block));
    worker->slots = block;
    HU_TRY(HU_NEW_ARRAY(&worker->exponent, layers));
    HU_TRY(HU_NEW_ARRAY(&worker->counts, layers));
    if (!plan->options.scaling->fresh) goto done;
    HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, layers * (size_t)plan->pieces, &block));
    worker->scale = block;
    HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, layers * (size_t)worker->slot_pieces, &block));
    worker->slot_scale = block;
done:
    return st;
}

uint64_t hu_comm_worker_bytes(const hu_comm_plan *plan, const hu_comm_list *list) {
    room r = measure(plan, list, NULL, NULL);
    size_t bytes = r.codes + r.slots;
    bytes += (size_t)hu_comm_loss_kinds(plan) * (size_t)plan->elements * sizeof(float);
    if (plan->options.scaling->code) {
        size_t whole, units = measure_units(plan, NULL, &whole);
        bytes += (units + whole) * sizeof(float);
    }
    if (plan->options.scaling->fresh)
        bytes += (size_t)plan->layers * (size_t)(plan->pieces + r.slot_pieces);
    return bytes;
}

static hu_status make_losses(hu_comm_worker *worker) {
    hu_status st = HU_OK;
    void *block;
    size_t bytes = (size_t)worker->plan->elements * sizeof(float);
    for (int32_t i = 0; i < hu_comm_loss_kinds(worker->plan); i++) {
        HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, bytes, &block));
        worker->loss[i] = block;
    }
done:
    return st;
}

hu_status hu_comm_worker_create(const hu_comm_plan *plan, int32_t rank, float *gradient,
                                hu_comm_worker **result) {
    hu_status st = HU_OK;
    hu_comm_worker *worker = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&worker));
    worker->plan = plan;
    worker->rank = rank;
    worker->gradient = gradient;
    HU_TRY(hu_comm_list_make(plan->options.schedule, &plan->shape, rank, &worker->list));
    HU_TRY(make_codes(worker));
    HU_TRY(make_units(worker));
    HU_TRY(make_losses(worker));
    *result = worker;
    worker = NULL;
done:
    hu_comm_worker_free(worker);
    return st;
}

void hu_comm_worker_free(hu_comm_worker *worker) {
    if (!worker) return;
    hu_comm_list_free(&worker->list);
    hu_free(worker->codes);
    hu_free(worker->code_at);
    hu_free(worker->slots);
    hu_free(worker->slot_at);
    hu_free(worker->exponent);
    hu_free(worker->unit);
    hu_free(worker->unit_at);
    hu_free(worker->whole);
    hu_free(worker->scale);
    hu_free(worker->slot_scale);
    hu_free(worker->counts);
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++) hu_free(worker->loss[i]);
    hu_free(worker);
}

void hu_comm_worker_begin(hu_comm_worker *worker, uint64_t step) {
    worker->step = step;
    for (int32_t l = 0; l < worker->plan->layers; l++) {
        hu_round_counts_clear(&worker->counts[l].rounded);
        hu_round_counts_clear(&worker->counts[l].added);
    }
}

const hu_comm_list *hu_comm_worker_list(const hu_comm_worker *worker) {
    return &worker->list;
}

const hu_comm_counts *hu_comm_worker_counts(const hu_comm_worker *worker) {
    return worker->counts;
}

float *hu_comm_worker_loss(const hu_comm_worker *worker, int32_t i) {
    return worker->loss[i];
}

/* What both ends of a message know. */
static hu_comm_header header_of(const hu_comm_worker *worker, int32_t bucket,
                                const hu_comm_action *action) {
    const hu_comm_options *options = &worker->plan->options;
    uint32_t format = (uint32_t)XXH64(&options->format, sizeof options->format, options->rounding);
    return (hu_comm_header){.format = format,
                            .step = worker->step,
                            .bucket = (uint32_t)bucket,
                            .place = (uint32_t)action->step};
}

void hu_comm_worker_write(const hu_comm_worker *worker, int32_t bucket,
                          const hu_comm_action *action, uint8_t *message) {
    const hu_comm_plan *plan = worker->plan;
    const hu_comm_bucket *b = &plan->bucket[bucket];
    uint8_t *to = message + sizeof(hu_comm_header);
    for (int32_t l = b->first; l < b->first + b->count; l++) {
        const hu_wire *wire = hu_comm_wire(plan, l);
        hu_comm_range range = hu_comm_range_of(plan, l, action->first, action->count);
        if (hu_comm_has_code(plan, l)) {
            hu_comm_code_write(worker, l, action, to);
            to += hu_comm_code_bytes(plan, l, action->first, action->count, action->is_sum);
            continue;
        }
        if (hu_comm_is_fresh(plan, l)) {
            memcpy(to, hu_comm_scales(worker, l, action->first), (size_t)action->count);
            to += action->count;
        }
        hu_wire_pack_bits(wire, (size_t)range.count, hu_comm_codes(worker, l, range.first), to);
        to += hu_wire_bytes(wire, (size_t)range.count);
    }
    hu_comm_seal(header_of(worker, bucket, action), message, (size_t)(to - message));
}

/* One layer's range of a message; from: its scales, if it has them, and its bits. */
static void read_range(hu_comm_worker *worker, int32_t layer, const hu_comm_action *action,
                       hu_comm_range range, const hu_random_key *key, const uint8_t *from) {
    const hu_comm_plan *plan = worker->plan;
    const hu_wire *wire = hu_comm_wire(plan, layer);
    size_t n = (size_t)range.count, scales = (size_t)action->count;
    bool is_kept = action->act == HU_COMM_KEEP;
    if (hu_comm_is_fresh(plan, layer)) {
        memcpy(is_kept ? hu_comm_slot_scales(worker, layer, action->slot, action->count)
                       : hu_comm_scales(worker, layer, action->first),
               from, scales);
        from += scales;
    }
    if (action->act == HU_COMM_ADD)
        hu_comm_add_range(worker, layer, range, from, key);
    else
        hu_wire_unpack_bits(wire, n, from,
                            is_kept ? hu_comm_slot(worker, layer, action->slot, range.count)
                                    : hu_comm_codes(worker, layer, range.first));
}

hu_status hu_comm_worker_read(hu_comm_worker *worker, int32_t bucket, const hu_comm_action *action,
                              const uint8_t *message, size_t bytes) {
    const hu_comm_plan *plan = worker->plan;
    const hu_comm_bucket *b = &plan->bucket[bucket];
    const uint8_t *from = message + sizeof(hu_comm_header);
    int32_t place = 1 + (int32_t)(action - worker->list.action);
    hu_comm_header expected = header_of(worker, bucket, action);
    hu_status st = hu_comm_open(&expected, message, bytes);
    if (st != HU_OK) return st;
    for (int32_t l = b->first; l < b->first + b->count; l++) {
        hu_comm_range range = hu_comm_range_of(plan, l, action->first, action->count);
        hu_random_key key = hu_comm_key(worker, l, place);
        if (hu_comm_has_code(plan, l)) {
            hu_comm_code_read(worker, l, action, from);
            from += hu_comm_code_bytes(plan, l, action->first, action->count, action->is_sum);
            continue;
        }
        read_range(worker, l, action, range, &key, from);
        if (hu_comm_is_fresh(plan, l)) from += action->count;
        from += hu_wire_bytes(hu_comm_wire(plan, l), (size_t)range.count);
    }
    return HU_OK;
}

/* ---- From float32 to codes: scales, roundings and what they lose ---- */

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

/* ---- worker code ---- */

/* Numbers in codes of a scaling's own: in memory float32, whole numbers where all codes of a layer
 * have one unit, else the numbers themselves. */

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
