/* What error feedback keeps, in checkpoints. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/internal.h"
#include "train/recurrent_state.h"
#include "train/trainer.h"
#include "train/workers.h"

enum { SECTION_BYTES = 64 };

static bool is_kept(const hu_workers *workers, int32_t i) {
    return workers->team && hu_process_group_loss(workers->team, 0, i);
}

static size_t row_bytes(const hu_workers *workers) {
    return (size_t)workers->plan->elements * sizeof(float);
}

/* Bytes of one kind from other processes. */
static size_t elsewhere_bytes(const hu_workers *workers) {
    bool is_written_here = workers->first == 0 && workers->here < workers->count;
    return is_written_here ? (size_t)(workers->count - 1) * row_bytes(workers) : 0;
}

/* Bytes of one kind of the workers here. */
static size_t here_bytes(const hu_workers *workers) {
    return (size_t)workers->here * row_bytes(workers);
}

/* Made with the trainer: a training that has begun does not end at its first checkpoint for want of
 * memory. */
hu_status hu_workers_make_room(hu_workers *workers) {
    hu_status st = HU_OK;
    void *block;
    size_t bytes = elsewhere_bytes(workers);
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++) {
        if (!is_kept(workers, i)) continue;
        HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, here_bytes(workers), &block));
        workers->before[i] = block;
        if (bytes == 0) continue;
        HU_TRY(hu_alloc_for(HU_MEMORY_WORKERS, bytes, &block));
        workers->elsewhere[i] = block;
    }
done:
    return st;
}

uint64_t hu_workers_room_bytes(const hu_workers *workers) {
    return (uint64_t)hu_comm_loss_kinds(workers->plan) *
           (elsewhere_bytes(workers) + here_bytes(workers));
}

/* One kind after the other, to the process that writes. */
hu_status hu_trainer_gather(hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i))
            HU_TRY(hu_process_group_collect(workers->team, row_bytes(workers),
                                            hu_process_group_loss(workers->team, 0, i),
                                            workers->elsewhere[i]));
    HU_TRY(hu_streams_gather(trainer));
done:
    return st;
}

/* Rows of all workers in order; those of other processes were gathered. */
static hu_status save_rows(const hu_workers *workers, int32_t i, hu_checkpoint_writer *writer) {
    hu_status st = HU_OK;
    char name[SECTION_BYTES];
    const void **row = NULL;
    HU_TRY(HU_NEW_ARRAY(&row, (size_t)workers->count));
    for (int32_t w = 0; w < workers->count; w++)
        row[w] = w < workers->here
                     ? hu_process_group_loss(workers->team, w, i)
                     : workers->elsewhere[i] + (size_t)(w - 1) * (size_t)workers->plan->elements;
    snprintf(name, sizeof name, "comm.loss.%d", i);
    HU_TRY(hu_checkpoint_add_rows(writer, name, row, (size_t)workers->count, row_bytes(workers)));
done:
    hu_free(row);
    return st;
}

hu_status hu_workers_save(hu_trainer *trainer, hu_checkpoint_writer *writer) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    if (!workers->team) return HU_OK;
    HU_TRY(hu_checkpoint_add(writer, "comm.counts", &workers->lost, sizeof workers->lost));
    if (!is_kept(workers, 0)) return HU_OK;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i)) HU_TRY(save_rows(workers, i, writer));
    HU_TRY(hu_checkpoint_add(writer, "comm.scale", &workers->scale, sizeof workers->scale));
done:
    return st;
}

/* A section of a checkpoint, NULL where it has none. */
static hu_status find(const hu_checkpoint *checkpoint, const char *name, const void **data,
                      size_t *bytes) {
    hu_status st = hu_checkpoint_section(checkpoint, name, data, bytes);
    return st == HU_ERR_MISSING ? HU_OK : st;
}

static hu_status find_rows(const hu_checkpoint *checkpoint, int32_t i, const void **data,
                           size_t *bytes) {
    char name[SECTION_BYTES];
    snprintf(name, sizeof name, "comm.loss.%d", i);
    return find(checkpoint, name, data, bytes);
}

/* Whole rows of another number of workers are no damage: it is the question that is another one. */
static hu_status check_rows(const hu_workers *workers, const hu_checkpoint *checkpoint, int32_t i) {
    const void *data;
    size_t found, row = row_bytes(workers);
    hu_status st = find_rows(checkpoint, i, &data, &found);
    if (st != HU_OK || !data || found == (size_t)workers->count * row) return st;
    if (found == 0 || found % row != 0)
        return hu_fail(HU_ERR_CORRUPT, "%s: section 'comm.loss.%d' has %zu bytes, expected %zu",
                       hu_checkpoint_path(checkpoint), i, found, (size_t)workers->count * row);
    return hu_fail(HU_ERR_ARGUMENT,
                   "workers: found %d, but %s was made with %zu workers and keeps what each of "
                   "them lost; expected workers=%zu or comm.error_feedback=off",
                   workers->count, hu_checkpoint_path(checkpoint), found / row, found / row);
}

hu_status hu_workers_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const hu_workers *workers = &trainer->workers;
    const void *scale, *counts;
    size_t bytes;
    hu_status st = HU_OK;
    HU_TRY(find(checkpoint, "comm.counts", &counts, &bytes));
    if (counts && bytes != sizeof workers->lost)
        return hu_fail(HU_ERR_CORRUPT, "%s: section 'comm.counts' has %zu bytes, expected %zu",
                       hu_checkpoint_path(checkpoint), bytes, sizeof workers->lost);
    if (!is_kept(workers, 0)) return HU_OK;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i)) HU_TRY(check_rows(workers, checkpoint, i));
    HU_TRY(find(checkpoint, "comm.scale", &scale, &bytes));
    if (scale && bytes != sizeof workers->scale)
        st = hu_fail(HU_ERR_CORRUPT, "%s: section 'comm.scale' has %zu bytes, expected %zu",
                     hu_checkpoint_path(checkpoint), bytes, sizeof workers->scale);
done:
    return st;
}

/* The rows of one kind for the workers of this process, zero where the checkpoint has none. */
static hu_status restore_rows(hu_workers *workers, const hu_checkpoint *checkpoint, int32_t i) {
    const void *data;
    size_t found, row = row_bytes(workers);
    hu_status st = find_rows(checkpoint, i, &data, &found);
    for (int32_t w = 0; w < workers->here && st == HU_OK; w++) {
        float *loss = hu_process_group_loss(workers->team, w, i);
        if (data)
            memcpy(loss, (const char *)data + (size_t)(workers->first + w) * row, row);
        else
            memset(loss, 0, row);
    }
    return st;
}

hu_status hu_workers_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    const void *scale, *counts;
    size_t bytes;
    HU_TRY(find(checkpoint, "comm.counts", &counts, &bytes));
    hu_round_counts_clear(&workers->lost.rounded);
    hu_round_counts_clear(&workers->lost.added);
    if (counts) memcpy(&workers->lost, counts, sizeof workers->lost);
    if (!is_kept(workers, 0)) return HU_OK;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i)) HU_TRY(restore_rows(workers, checkpoint, i));
    HU_TRY(find(checkpoint, "comm.scale", &scale, &bytes));
    workers->scale = 1.0f;
    if (scale) memcpy(&workers->scale, scale, sizeof workers->scale);
done:
    return st;
}
