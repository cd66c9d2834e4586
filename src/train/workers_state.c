/* What error feedback keeps, in checkpoints. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/worker.h"
#include "train/trainer.h"
#include "train/workers.h"

enum { SECTION_BYTES = 64 };

static bool is_kept(const hu_workers *workers, int32_t i) {
    return workers->team && hu_team_loss(workers->team, 0, i);
}

uint64_t hu_workers_saved_bytes(const hu_workers *workers) {
    if (!workers->plan) return 0;
    return (uint64_t)hu_comm_loss_kinds(workers->plan) * (uint64_t)workers->count *
           (uint64_t)workers->plan->elements * sizeof(float);
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
        HU_TRY(hu_alloc_for(HU_MEMORY_OPTIMIZER, here_bytes(workers), &block));
        workers->before[i] = block;
        if (bytes == 0) continue;
        HU_TRY(hu_alloc_for(HU_MEMORY_OPTIMIZER, bytes, &block));
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
            HU_TRY(hu_team_collect(workers->team, row_bytes(workers),
                                   hu_team_loss(workers->team, 0, i), workers->elsewhere[i]));
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
                     ? hu_team_loss(workers->team, w, i)
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
    if (!is_kept(workers, 0)) return HU_OK;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i)) HU_TRY(save_rows(workers, i, writer));
    HU_TRY(hu_checkpoint_add(writer, "comm.scale", &workers->scale, sizeof workers->scale));
done:
    return st;
}

/* The rows of one kind for the workers of this process, zero where the checkpoint has none. */
static hu_status restore_rows(hu_workers *workers, const hu_checkpoint *checkpoint, int32_t i) {
    const char *data = NULL;
    const void *section;
    size_t found = 0, row = row_bytes(workers);
    char name[SECTION_BYTES];
    snprintf(name, sizeof name, "comm.loss.%d", i);
    hu_status st = hu_checkpoint_section(checkpoint, name, &section, &found);
    if (st != HU_OK && st != HU_ERR_MISSING) return st;
    if (st == HU_OK) data = section;
    if (data && found != (size_t)workers->count * row)
        return hu_fail(HU_ERR_CORRUPT, "%s: section '%s' has %zu bytes, expected %zu",
                       hu_checkpoint_path(checkpoint), name, found, (size_t)workers->count * row);
    for (int32_t w = 0; w < workers->here; w++) {
        float *loss = hu_team_loss(workers->team, w, i);
        if (data)
            memcpy(loss, data + (size_t)(workers->first + w) * row, row);
        else
            memset(loss, 0, row);
    }
    return HU_OK;
}

hu_status hu_workers_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_status st = HU_OK;
    hu_workers *workers = &trainer->workers;
    const void *scale;
    size_t bytes;
    if (!is_kept(workers, 0)) return HU_OK;
    for (int32_t i = 0; i < HU_COMM_LOSSES; i++)
        if (is_kept(workers, i)) HU_TRY(restore_rows(workers, checkpoint, i));
    workers->scale = 1.0f;
    st = hu_checkpoint_section(checkpoint, "comm.scale", &scale, &bytes);
    if (st == HU_ERR_MISSING) return HU_OK;
    HU_TRY(st);
    if (bytes != sizeof workers->scale)
        HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: section 'comm.scale' has %zu bytes, expected %zu",
                       hu_checkpoint_path(checkpoint), bytes, sizeof workers->scale));
    memcpy(&workers->scale, scale, sizeof workers->scale);
done:
    return st;
}
