#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "comm/code.h"
#include "comm/message.h"
#include "comm/worker.h"
#include "comm/worker_state.h"

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

/* Only owners of sums lose anything beyond their own gradients, and nothing where sums are sent as
 * they are. */
int32_t hu_comm_loss_kinds(const hu_comm_plan *plan) {
    if (!plan->options.error_feedback) return 0;
    return plan->shape.wide && !plan->options.scaling->code ? HU_COMM_LOSSES : 1;
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
