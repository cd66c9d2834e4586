#include "layout/ledger.h"

#include <inttypes.h>

#include "base/error.h"
#include "engine/state.h"
#include "layout/buffers.h"

/* Bytes that survive from forward to backward, in the turn in which most do: activations and masks.
 */
static uint64_t saved_bytes(const hu_run *run) {
    int32_t end = (int32_t)run->graph->node_count;
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

static uint64_t bytes_alive(const hu_run *run, moment at) {
    uint64_t bytes = 0;
    for (uint32_t b = 0; b < run->buffer_count; b++)
        if (hu_buffer_is_alive(&run->buffers[b], at.course, at.time))
            bytes += run->buffers[b].bytes;
    return bytes;
}

/* The moment at which most bytes are alive. */
static moment fullest_moment(const hu_run *run) {
    moment best = {0, 0};
    uint64_t most = 0;
    for (int course = 0; course <= hu_graph_courses(run->graph); course++)
        for (int32_t time = 0; time <= hu_time_update(run->graph); time++) {
            moment at = {course, time};
            uint64_t bytes = bytes_alive(run, at);
            if (bytes > most) best = at;
            if (bytes > most) most = bytes;
        }
    return best;
}

/* Bytes of the arena by role, when most bytes are alive. */
static void role_bytes(const hu_run *run, uint64_t bytes[HU_BUFFER_ROLE_COUNT]) {
    moment at = fullest_moment(run);
    for (int r = 0; r < HU_BUFFER_ROLE_COUNT; r++) bytes[r] = 0;
    for (uint32_t b = 0; b < run->buffer_count; b++)
        if (hu_buffer_is_alive(&run->buffers[b], at.course, at.time))
            bytes[run->buffers[b].role] += run->buffers[b].bytes;
}

hu_ledger hu_ledger_of(const hu_run *run, uint64_t optimizer_bytes, uint64_t worker_bytes) {
    hu_ledger ledger = {.arena_bytes = run->arena_bytes,
                        .parameters = (uint64_t)run->weights->elements * sizeof(float),
                        .optimizer = optimizer_bytes,
                        .workers = worker_bytes,
                        .saved = saved_bytes(run)};
    role_bytes(run, ledger.arena);
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
