#include "runlog/bit_log.h"

#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "render/json.h"

enum { TAG_BYTES = HU_NAME_BYTES + 8 };

struct hu_bit_log {
    const hu_bits_meter *meter;
    hu_tensorboard *board;
    hu_append *file;
    hu_scalar *scalar;      /* [layers] of one step */
    char (*tag)[TAG_BYTES]; /* [layers] "bits/conv1" */
};

static const hu_bits_layers *layers_of(const hu_bit_log *log) {
    return log->meter->task->layers;
}

hu_status hu_bit_log_open(const char *folder, const hu_bits_meter *meter, hu_tensorboard *board,
                          hu_bit_log **result) {
    hu_status st = HU_OK;
    hu_bit_log *log = NULL;
    char *path = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&log));
    *log = (hu_bit_log){.meter = meter, .board = board};
    uint32_t layers = layers_of(log)->count;
    HU_TRY(HU_NEW_ARRAY(&log->scalar, layers));
    HU_TRY(HU_NEW_ARRAY(&log->tag, layers));
    for (uint32_t l = 0; l < layers; l++)
        snprintf(log->tag[l], TAG_BYTES, "bits/%s", layers_of(log)->layer[l].name);
    HU_TRY(hu_path_join(folder, "bits.jsonl", &path));
    HU_TRY(hu_append_open(path, &log->file));
    *result = log;
    log = NULL;
done:
    hu_free(path);
    hu_bit_log_close(log);
    return st;
}

hu_status hu_bit_log_sync(hu_bit_log *log) {
    return hu_append_sync(log->file);
}

void hu_bit_log_close(hu_bit_log *log) {
    if (!log) return;
    hu_append_close(log->file);
    hu_free(log->scalar);
    hu_free(log->tag);
    hu_free(log);
}

/* {"step": N, KEY: rows}; takes the rows. */
static hu_status write_line(const hu_bit_log *log, int64_t step, const char *key, json_t *rows) {
    char *line = NULL;
    hu_status st =
        hu_json_line(json_pack("{s:I, s:o}", "step", (json_int_t)step, key, rows), &line);
    if (st != HU_OK) return st;
    hu_append_format(log->file, "%s\n", line);
    hu_free(line);
    return hu_append_end(log->file);
}

/* Only what changed: schedules that draw bits anew in each step would fill disks. */
static hu_status write_changes(hu_bit_log *log, int64_t step) {
    hu_status st = HU_OK;
    const hu_bits_meter *meter = log->meter;
    size_t count = 0;
    json_t *rows = json_array();
    for (uint32_t l = 0; l < layers_of(log)->count; l++) {
        if (!meter->has_changed[l]) continue;
        json_array_append_new(rows, json_pack("[s, i, i]", layers_of(log)->layer[l].name,
                                              (int)meter->forward[l], (int)meter->gradient[l]));
        log->scalar[count++] = (hu_scalar){log->tag[l], meter->forward[l], log->tag[l],
                                           "Bits of the layer's numbers in the forward pass."};
    }
    HU_TRY(write_line(log, step, "bits", rows));
    if (log->board) HU_TRY(hu_tensorboard_scalars(log->board, step, log->scalar, count));
done:
    return st;
}

static hu_status write_learned(const hu_bit_log *log, int64_t step) {
    const hu_bits_layers *layers = layers_of(log);
    json_t *rows = json_array();
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->layer[l].is_quantised)
            json_array_append_new(rows, json_pack("[s, o]", layers->layer[l].name,
                                                  hu_json_number(log->meter->beta[l])));
    return write_line(log, step, "beta", rows);
}

/* What the bits of this step cost; what all steps so far did stands among the metrics. */
static hu_status write_costs(const hu_bit_log *log, int64_t step) {
    const hu_bits_meter *m = log->meter;
    const hu_scalar scalar[] = {{"cost/forward", m->step_forward / m->most_forward, "cost/forward",
                                 "Bit-operations of this step's forward pass, over the most bits."},
                                {"cost/training", m->step_total / m->most_total, "cost/training",
                                 "Bit-operations of this step, over the most bits."}};
    return hu_tensorboard_scalars(log->board, step, scalar, 2);
}

hu_status hu_bit_log_step(hu_bit_log *log, int64_t step, bool has_row) {
    hu_status st = HU_OK;
    bool has_changed = log->meter->any_changed;
    if (has_changed) HU_TRY(write_changes(log, step));
    if (log->board && (has_changed || has_row)) HU_TRY(write_costs(log, step));
    if (has_row && log->meter->beta) HU_TRY(write_learned(log, step));
done:
    return st;
}
