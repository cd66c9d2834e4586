#include "train/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "train/trainer.h"

static const char section[] = "states", zeroed[] = "states.zeroed";

static size_t bytes_of(const hu_trainer *trainer, int64_t rows) {
    return (size_t)(rows * trainer->streams.numbers) * sizeof(float);
}

static bool is_of_processes(const hu_trainer *trainer) {
    return trainer->workers.here < trainer->workers.count;
}

hu_status hu_streams_create(hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_streams *streams = &trainer->streams;
    int64_t batch = trainer->options.batch;
    streams->numbers = hu_run_carried_numbers(trainer->run);
    if (streams->numbers == 0) return HU_OK;
    if (trainer->dataset->streams != batch)
        return hu_fail(HU_ERR_ARGUMENT,
                       "'%s' goes on from batch to batch: found data in %lld streams, expected as "
                       "many as the batch has samples, %lld: data.streams=on",
                       trainer->options.model, (long long)trainer->dataset->streams,
                       (long long)batch);
    HU_TRY(HU_NEW_ARRAY(&streams->rows, (size_t)(batch * streams->numbers)));
    if (is_of_processes(trainer) && trainer->workers.first == 0)
        HU_TRY(HU_NEW_ARRAY(&streams->elsewhere,
                            (size_t)((trainer->workers.count - 1) *
                                     hu_worker_most(&trainer->options) * streams->numbers)));
done:
    return st;
}

void hu_streams_free(hu_streams *streams) {
    hu_free(streams->rows);
    hu_free(streams->elsewhere);
    *streams = (hu_streams){0};
}

int64_t hu_streams_samples(const hu_trainer *trainer, int64_t first, int64_t most) {
    int64_t streams = trainer->options.batch, left = streams - first % streams;
    return trainer->streams.numbers > 0 && left < most ? left : most;
}

/* Those of all processes have the same size: of the largest share. */
hu_status hu_streams_gather(hu_trainer *trainer) {
    const hu_workers *workers = &trainer->workers;
    hu_streams *streams = &trainer->streams;
    if (streams->numbers == 0 || !is_of_processes(trainer)) return HU_OK;
    int64_t most = hu_worker_most(&trainer->options);
    hu_share own = hu_worker_share(trainer, trainer->options.batch, workers->first);
    hu_run_carried(trainer->run, streams->rows);
    memmove(streams->rows, streams->rows + own.first * streams->numbers,
            bytes_of(trainer, own.end - own.first));
    return hu_process_group_collect(workers->team, bytes_of(trainer, most), streams->rows,
                                    streams->elsewhere);
}

/* Where other processes have streams, theirs were gathered. */
static void read_rows(hu_trainer *trainer) {
    hu_streams *streams = &trainer->streams;
    int64_t most = hu_worker_most(&trainer->options);
    hu_run_carried(trainer->run, streams->rows);
    for (int32_t w = 1; is_of_processes(trainer) && w < trainer->workers.count; w++) {
        hu_share share = hu_worker_share(trainer, trainer->options.batch, w);
        memcpy(streams->rows + share.first * streams->numbers,
               streams->elsewhere + (w - 1) * most * streams->numbers,
               bytes_of(trainer, share.end - share.first));
    }
}

hu_status hu_streams_save(hu_trainer *trainer, hu_checkpoint_writer *writer) {
    hu_streams *streams = &trainer->streams;
    if (streams->numbers == 0) return HU_OK;
    read_rows(trainer);
    hu_status st = hu_checkpoint_add(writer, section, streams->rows,
                                     bytes_of(trainer, trainer->options.batch));
    if (st != HU_OK) return st;
    return hu_checkpoint_add(writer, zeroed, &streams->zeroed, sizeof streams->zeroed);
}

/* A section of so many bytes. */
static hu_status find(const hu_checkpoint *checkpoint, const char *name, size_t expected,
                      const void **data) {
    size_t bytes = 0;
    hu_status st = hu_checkpoint_section(checkpoint, name, data, &bytes);
    if (st == HU_OK && bytes == expected) return HU_OK;
    if (st != HU_OK && st != HU_ERR_MISSING) return st;
    return hu_fail(HU_ERR_CORRUPT, "%s: section '%s' has %zu bytes, expected %zu",
                   hu_checkpoint_path(checkpoint), name, bytes, expected);
}

/* Whole rows of another number are no damage: it is the question that is another one. */
static hu_status check_rows(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const void *data;
    size_t bytes, row = bytes_of(trainer, 1), expected = bytes_of(trainer, trainer->options.batch);
    hu_status st = hu_checkpoint_section(checkpoint, section, &data, &bytes);
    if (st == HU_OK && bytes != expected && bytes > 0 && bytes % row == 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "batch: found %lld samples, but %s was made with %zu streams, each of "
                       "which goes on; expected batch=%zu",
                       (long long)trainer->options.batch, hu_checkpoint_path(checkpoint),
                       bytes / row, bytes / row);
    return find(checkpoint, section, expected, &data);
}

hu_status hu_streams_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const void *data;
    if (trainer->streams.numbers == 0) return HU_OK;
    hu_status st = check_rows(trainer, checkpoint);
    return st == HU_OK ? find(checkpoint, zeroed, sizeof trainer->streams.zeroed, &data) : st;
}

hu_status hu_streams_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    hu_status st = HU_OK;
    hu_streams *streams = &trainer->streams;
    const void *rows, *count;
    size_t bytes = bytes_of(trainer, trainer->options.batch);
    if (streams->numbers == 0) return HU_OK;
    HU_TRY(find(checkpoint, section, bytes, &rows));
    HU_TRY(find(checkpoint, zeroed, sizeof streams->zeroed, &count));
    memcpy(streams->rows, rows, bytes);
    memcpy(&streams->zeroed, count, sizeof streams->zeroed);
    streams->zeroed += hu_run_restore_carried(trainer->run, streams->rows);
done:
    return st;
}
