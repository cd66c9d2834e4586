#include "planner/planner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "planner/internal.h"

/* Time of the last forward pass over a node. */
static int32_t forward_end(const hu_run *run) {
    return hu_time_forward(run->graph->node_count - 1);
}

/* Bytes that survive from forward to backward, in the turn in which most do: activations and masks.
 */
static uint64_t saved_bytes(const hu_run *run) {
    int32_t end = forward_end(run);
    uint64_t most = 0;
    for (int course = 0; course < HU_COURSES; course++) {
        uint64_t bytes = 0;
        for (uint32_t b = 0; b < run->buffer_count; b++) {
            const hu_buffer *buffer = &run->buffers[b];
            bool kept = buffer->role == HU_BUFFER_ACTIVATION || buffer->role == HU_BUFFER_MASK;
            if (kept && hu_buffer_is_alive(buffer, course, end) && buffer->life[course].last > end)
                bytes += buffer->bytes;
        }
        if (bytes > most) most = bytes;
    }
    return most;
}

/* A moment of a plan. */
typedef struct moment {
    int course;
    int32_t time;
} moment;

/* The moment at which most bytes are alive, the first of equal ones; change: room for a number for
 * each time, and one more. */
static moment fullest_moment(const hu_run *run, uint64_t *change) {
    moment best = {0, 0};
    int32_t end = hu_time_update(run->graph);
    uint64_t most = 0;
    for (int course = 0; course <= hu_graph_courses(run->graph); course++) {
        uint64_t bytes = 0;
        memset(change, 0, ((size_t)end + 2) * sizeof *change);
        for (uint32_t b = 0; b < run->buffer_count; b++) {
            const hu_life *life = &run->buffers[b].life[course];
            if (life->first > life->last) continue;
            change[life->first] += run->buffers[b].bytes;
            change[life->last + 1] -= run->buffers[b].bytes; /* modulo 2^64, as the sum is */
        }
        for (int32_t time = 0; time <= end; time++) {
            bytes += change[time];
            if (bytes > most) best = (moment){course, time};
            if (bytes > most) most = bytes;
        }
    }
    return best;
}

hu_status hu_ledger_plan(hu_run *run) {
    void *change;
    hu_status st =
        hu_alloc_array((size_t)hu_time_update(run->graph) + 2, sizeof(uint64_t), &change);
    if (st != HU_OK) return st;
    moment at = fullest_moment(run, change);
    memset(run->role_bytes, 0, sizeof run->role_bytes);
    for (uint32_t b = 0; b < run->buffer_count; b++)
        if (hu_buffer_is_alive(&run->buffers[b], at.course, at.time))
            run->role_bytes[run->buffers[b].role] += run->buffers[b].bytes;
    hu_free(change);
    return HU_OK;
}

hu_ledger hu_ledger_of(const hu_run *run, uint64_t optimizer_bytes, uint64_t worker_bytes) {
    hu_ledger ledger = {.arena_bytes = run->arena_bytes,
                        .parameters = (uint64_t)run->weights->elements * sizeof(float),
                        .optimizer = optimizer_bytes,
                        .workers = worker_bytes,
                        .saved = saved_bytes(run)};
    memcpy(ledger.arena, run->role_bytes, sizeof ledger.arena);
    ledger.total = ledger.arena_bytes + ledger.parameters + ledger.optimizer + ledger.workers;
    return ledger;
}

hu_ledger hu_ledger_now(void) {
    hu_ledger now = {.arena_bytes = hu_memory_live(HU_MEMORY_ARENA),
                     .parameters = hu_memory_live(HU_MEMORY_PARAMETERS),
                     .optimizer = hu_memory_live(HU_MEMORY_OPTIMIZER),
                     .workers = hu_memory_live(HU_MEMORY_WORKERS)};
    now.total = now.arena_bytes + now.parameters + now.optimizer + now.workers;
    return now;
}

hu_status hu_ledger_check(const hu_ledger *ledger, const hu_ledger *before) {
    hu_ledger now = hu_ledger_now();
    const struct {
        const char *role;
        uint64_t planned, counted;
    } rows[] = {{"arena", ledger->arena_bytes, now.arena_bytes - before->arena_bytes},
                {"parameters", ledger->parameters, now.parameters - before->parameters},
                {"optimizer", ledger->optimizer, now.optimizer - before->optimizer},
                {"workers", ledger->workers, now.workers - before->workers}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].planned != rows[i].counted)
            return hu_fail(HU_ERR_INTERNAL,
                           "ledger: %s planned %" PRIu64 " bytes, the allocator counts %" PRIu64,
                           rows[i].role, rows[i].planned, rows[i].counted);
    return HU_OK;
}

/* ---- fate ---- */

/* What a plan makes of a node's output, and what the formats force on it. */

const char *hu_placement_name(hu_output_placement fate) {
    static const char *const names[] = {[HU_OUTPUT_SAVED] = "saved",
                                        [HU_OUTPUT_TRANSIENT] = "transient",
                                        [HU_OUTPUT_RECOMPUTED] = "recomputed",
                                        [HU_OUTPUT_FUSED] = "fused"};
    return names[fate];
}

hu_output_placement hu_run_placement(const hu_run *run, hu_value_id value) {
    uint32_t index = run->value[value].buffer;
    uint32_t maker = run->graph->value[value].producer;
    if (maker != HU_NONE && hu_taker(run, maker) != HU_NONE) return HU_OUTPUT_FUSED;
    if (run->is_virtual[value])
        return run->options.recompute ? HU_OUTPUT_RECOMPUTED : HU_OUTPUT_FUSED;
    if (index == HU_NONE || run->buffers[index].bytes == 0) return HU_OUTPUT_FUSED;
    return hu_buffer_outlives(&run->buffers[index], forward_end(run)) ? HU_OUTPUT_SAVED
                                                                      : HU_OUTPUT_TRANSIENT;
}

const char *hu_run_storage_name(const hu_run *run, hu_value_id value) {
    return run->value[value].storage.trait->name;
}

uint64_t hu_run_stored_bytes(const hu_run *run, hu_value_id value) {
    const hu_value_info *info = &run->graph->value[value];
    uint32_t index = run->value[value].buffer;
    bool is_kept = info->role == HU_VALUE_PARAMETER || info->role == HU_VALUE_BUFFER;
    bool has_buffer = index != HU_NONE && hu_buffer_is_used(&run->buffers[index]);
    if (has_buffer) return run->buffers[index].bytes;
    return is_kept ? (uint64_t)info->elements * sizeof(float) : 0;
}

/* Of one buffer; HU_NONE has none. */
static uint64_t buffer_saved(const hu_run *run, uint32_t index) {
    int32_t end = forward_end(run);
    if (index == HU_NONE) return 0;
    const hu_buffer *buffer = &run->buffers[index];
    bool is_kept = buffer->role == HU_BUFFER_ACTIVATION || buffer->role == HU_BUFFER_MASK;
    for (int course = 0; is_kept && course < HU_COURSES; course++)
        if (hu_buffer_is_alive(buffer, course, end) && buffer->life[course].last > end)
            return buffer->bytes;
    return 0;
}

uint64_t hu_run_value_saved(const hu_run *run, hu_value_id value) {
    return buffer_saved(run, run->value[value].buffer);
}

/* Both banks of a state that goes on from pass to pass, of the node that begins it. */
static uint64_t carried_saved(const hu_run *run, uint32_t node) {
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < run->carried_count; c++) {
        const hu_node *state = &run->graph->node[run->carried[c].node];
        if (run->graph->value[state->in[HU_STATE_INITIAL]].producer != node) continue;
        for (int bank = 0; bank < 2; bank++)
            bytes += buffer_saved(run, run->carried[c].buffer[bank]);
    }
    return bytes;
}

uint64_t hu_run_node_saved(const hu_run *run, uint32_t node) {
    const hu_node *declared = &run->graph->node[node];
    uint64_t bytes = buffer_saved(run, run->exec[node].mask) + carried_saved(run, node);
    for (int o = 0; o < declared->n_out; o++) bytes += hu_run_value_saved(run, declared->out[o]);
    for (int i = 0; run->use && i < declared->n_in + declared->n_params; i++) {
        const hu_slot *slot = &run->use[declared->first_use + (uint32_t)i];
        bytes += buffer_saved(run, slot->buffer) + buffer_saved(run, slot->residual);
    }
    return bytes;
}

/* Bits of a code of the value, and bits that each lies in: more where storage=packed has no
 * narrower place. Equal of dense storage, of blocks and of uniform integers, which have no gaps. */
static void hu_run_storage_bits(const hu_run *run, hu_value_id value, uint32_t *code,
                                uint32_t *stored) {
    const hu_storage *storage = &run->value[value].storage;
    bool has_codes = storage->trait->code_bits > 0 && !storage->trait->is_float32;
    *code = *stored = (uint32_t)storage->trait->code_bits;
    if (has_codes) *code = hu_format_bits(&storage->format);
}

static bool is_staged(const hu_slot *slot) {
    return hu_slot_waits(slot);
}

bool hu_run_needs_maximum_first(const hu_run *run, hu_value_id value) {
    return is_staged(&run->value[value]);
}

bool hu_run_gradient_needs_maximum_first(const hu_run *run, hu_value_id value) {
    const hu_value_info *info = &run->graph->value[value];
    bool has_gradient = false;
    for (uint32_t k = 0; k < info->use_count; k++) {
        if (!hu_use_has_gradient(run->graph, info->uses[k])) continue;
        if (is_staged(&run->grad[info->uses[k]])) return true;
        has_gradient = true;
    }
    const hu_slot *view = hu_weights_view(run, value);
    if (view && is_staged(view)) return true;
    return has_gradient && hu_rounds_gradient_sum(run, value) && is_staged(&run->grad_sum[value]);
}

/* ---- What computes a node, and whether that is slow ---- */

const char *hu_run_impl(const hu_run *run, uint32_t node, hu_pass pass) {
    const hu_node *declared = &run->graph->node[node];
    const hu_exec *exec = &run->exec[node];
    if (!declared->op->impl || (pass == HU_BACKWARD && !declared->needs_backward)) return "";
    return declared->op->impl(&exec->info, exec->state, pass);
}

bool hu_run_is_slow(const hu_run *run, uint32_t node, char *text) {
    static const char *const words[] = {"forward", "backward"};
    size_t used = 0;
    text[0] = '\0';
    for (int pass = HU_FORWARD; pass <= HU_BACKWARD; pass++) {
        const char *impl = hu_run_impl(run, node, (hu_pass)pass);
        if (strncmp(impl, "ref", 3) != 0) continue;
        int written =
            used ? snprintf(text + used, HU_SLOW_BYTES - used, ", %s '%s'", words[pass], impl)
                 : snprintf(text, HU_SLOW_BYTES,
                            "%s: oneDNN runs this product with its slow reference implementation: "
                            "%s '%s'",
                            run->graph->node[node].name, words[pass], impl);
        used += written > 0 ? (size_t)written : 0;
        if (used >= HU_SLOW_BYTES) break;
    }
    return used > 0;
}

/* ---- Codes that are narrower than the places that they lie in ---- */

const char *hu_gaps_words(const hu_run *run, char text[HU_GAPS_BYTES]) {
    enum { MOST_BITS = 32 };
    const hu_graph *graph = hu_run_graph(run);
    uint32_t code, stored, place[MOST_BITS + 1] = {0};
    size_t used = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        hu_run_storage_bits(run, graph->node[n].out[0], &code, &stored);
        if (code < stored && stored <= MOST_BITS) place[code] = stored;
    }
    text[0] = '\0';
    for (uint32_t bits = 1; bits <= MOST_BITS && used < HU_GAPS_BYTES / 2; bits++)
        if (place[bits])
            used += (size_t)snprintf(text + used, HU_GAPS_BYTES - used,
                                     "%s of %" PRIu32 " bits lie in %" PRIu32 " each",
                                     used ? "," : "activations", bits, place[bits]);
    return text;
}
