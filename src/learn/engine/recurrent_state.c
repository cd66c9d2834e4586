#include "engine/chunk.h"

#include <math.h>
#include <string.h>

#include "graph/graph.h"

static const hu_slot *slot_of(const hu_run *run, const hu_carried *c) {
    return &run->value[run->graph->node[c->node].in[HU_STATE_NEXT]];
}

/* Steps begin at whole bytes. What has a scale, which is another one in the next step, is kept in
 * float32. */
hu_storage hu_carried_storage(const hu_slot *slot) {
    hu_storage storage = slot->storage;
    if (!hu_quantizer_is_plain(&slot->edge->quantizer))
        (void)hu_storage_choose(HU_STORAGE_FLOAT32, NULL, slot->elements, &storage);
    storage.row_elements /= slot->steps;
    storage.row_bytes /= (size_t)slot->steps;
    return storage;
}

static const float *read_rows(const hu_run *run, const hu_carried *c, int bank, int64_t first,
                              int64_t count, float *scratch) {
    return hu_storage_read(&c->storage[bank], hu_buffer_data(run, c->buffer[bank]), first, count,
                           scratch);
}

static void write_row(const hu_run *run, const hu_carried *c, int bank, int64_t row,
                      const float *x) {
    hu_storage_write(&c->storage[bank], hu_buffer_data(run, c->buffer[bank]), row, 1, x);
}

/* ---- passes ---- */

/* The stream of sample 0 of the visit; the others follow. */
static int64_t first_stream(const hu_chunk *visit) {
    return (visit->run->pass.first_sample + visit->first) % visit->run->streams;
}

static const hu_carried *state_of(const hu_run *run, uint32_t node) {
    for (uint32_t i = 0; i < run->carried_count; i++)
        if (run->carried[i].node == node) return &run->carried[i];
    return NULL;
}

const float *hu_carried_read(hu_chunk *visit, hu_value_id start) {
    const hu_run *run = visit->run;
    const hu_value_info *value = &run->graph->value[start];
    float *rows = hu_chunk_take(visit, (size_t)(visit->count * value->elements) * sizeof *rows);
    if (run->rehearsal.is_on) return rows;
    const hu_carried *c = state_of(run, run->graph->use[value->uses[0]].node);
    return read_rows(run, c, run->carried_from, first_stream(visit), visit->count, rows);
}

void hu_carried_write(hu_chunk *visit, uint32_t node, const int64_t *length) {
    const hu_run *run = visit->run;
    const hu_node *state = &run->graph->node[node];
    if (!hu_is_carried_start(run, state->in[HU_STATE_INITIAL])) return;
    const hu_carried *carried = state_of(run, node);
    const hu_slot *slot = &run->value[state->in[HU_STATE_NEXT]];
    int64_t n = hu_part_elements(slot);
    float *row = hu_chunk_take(visit, (size_t)n * sizeof *row);
    hu_chunk_touch(visit, slot->buffer);
    if (run->rehearsal.is_on || run->pass.scan) return;
    for (int64_t s = 0; s < visit->count; s++) {
        const float *x = visit->thread->loop[node].initial + s * n;
        const unsigned char *rows = slot->data + hu_storage_bytes(&slot->storage, visit->first + s);
        if (length[s] > 0)
            x = hu_storage_read_part(&slot->storage, rows, (length[s] - 1) * n, n, row);
        write_row(run, carried, run->carried_to, first_stream(visit) + s, x);
    }
}

/* ---- between passes ---- */

/* Room for a row. */
static float *room_of(const hu_run *run) {
    return hu_buffer_data(run, run->carried_room);
}

static void write_zeros(const hu_run *run, const hu_carried *c, int bank, int64_t row) {
    float *zeros = room_of(run);
    memset(zeros, 0, (size_t)c->storage[bank].row_elements * sizeof *zeros);
    write_row(run, c, bank, row, zeros);
}

static void clear(hu_run *run, int bank) {
    for (uint32_t i = 0; i < run->carried_count; i++) {
        hu_carried *c = &run->carried[i];
        c->storage[bank] = hu_carried_storage(slot_of(run, c));
        for (int64_t row = 0; row < run->streams; row++) write_zeros(run, c, bank, row);
    }
}

void hu_carried_clear(hu_run *run) {
    clear(run, run->carried_from);
}

/* Where formats have changed since the step before, they have become wider. */
void hu_carried_begin_step(hu_run *run) {
    for (uint32_t i = 0; i < run->carried_count; i++) {
        hu_carried *c = &run->carried[i];
        c->storage[run->carried_to] = hu_carried_storage(slot_of(run, c));
        for (int64_t row = 0; row < run->streams; row++)
            write_row(run, c, run->carried_to, row,
                      read_rows(run, c, run->carried_from, row, 1, room_of(run)));
    }
}

static bool is_finite(const hu_run *run, const hu_carried *c, int64_t row) {
    const float *x = read_rows(run, c, run->carried_to, row, 1, room_of(run));
    bool all = true;
    for (int64_t e = 0; e < c->storage[run->carried_to].row_elements; e++) all &= isfinite(x[e]);
    return all;
}

int64_t hu_carried_settle(hu_run *run, int64_t first, int64_t count, bool has_ended) {
    int64_t zeroed = 0;
    for (int64_t s = 0; s < count && run->carried_count > 0; s++) {
        int64_t row = (first + s) % run->streams;
        bool stays = has_ended;
        for (uint32_t i = 0; stays && i < run->carried_count; i++)
            stays = is_finite(run, &run->carried[i], row);
        for (uint32_t i = 0; !stays && i < run->carried_count; i++)
            write_zeros(run, &run->carried[i], run->carried_to, row);
        zeroed += !stays;
    }
    return zeroed;
}

void hu_carried_end_step(hu_run *run) {
    run->carried_from = run->carried_to;
    run->carried_to = 1 - run->carried_from;
}

void hu_carried_begin_evaluation(hu_run *run) {
    run->carried_from = run->carried_to;
    clear(run, run->carried_to);
}

void hu_carried_end_evaluation(hu_run *run) {
    run->carried_from = 1 - run->carried_to;
}

/* ---- as float32 numbers ---- */

int64_t hu_run_carried_numbers(const hu_run *run) {
    int64_t numbers = 0;
    for (uint32_t i = 0; i < run->carried_count; i++)
        numbers += hu_part_elements(slot_of(run, &run->carried[i]));
    return numbers;
}

void hu_run_carried(const hu_run *run, float *rows) {
    for (int64_t row = 0; row < run->streams; row++)
        for (uint32_t i = 0; i < run->carried_count; i++) {
            const hu_carried *c = &run->carried[i];
            int64_t n = c->storage[run->carried_from].row_elements;
            const float *x = read_rows(run, c, run->carried_from, row, 1, room_of(run));
            memcpy(rows, x, (size_t)n * sizeof *rows);
            rows += n;
        }
}

/* Writes a row and reads it back. */
static bool takes_row(const hu_run *run, const hu_carried *c, int64_t row, const float *x) {
    size_t bytes = (size_t)c->storage[run->carried_from].row_elements * sizeof *x;
    write_row(run, c, run->carried_from, row, x);
    return memcmp(read_rows(run, c, run->carried_from, row, 1, room_of(run)), x, bytes) == 0;
}

int64_t hu_run_restore_carried(hu_run *run, const float *rows) {
    int64_t zeroed = 0;
    for (uint32_t i = 0; i < run->carried_count; i++)
        run->carried[i].storage[run->carried_from] =
            hu_carried_storage(slot_of(run, &run->carried[i]));
    for (int64_t row = 0; row < run->streams; row++) {
        bool all = true;
        for (uint32_t i = 0; i < run->carried_count; i++) {
            all &= takes_row(run, &run->carried[i], row, rows);
            rows += run->carried[i].storage[run->carried_from].row_elements;
        }
        for (uint32_t i = 0; !all && i < run->carried_count; i++)
            write_zeros(run, &run->carried[i], run->carried_from, row);
        zeroed += !all;
    }
    return zeroed;
}
