#include "train/part.h"

void hu_fill_batch(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const hu_batch_source *batch = context;
    hu_reading reading = field == HU_FIELD_IMAGE ? HU_READ_NORMALISED : HU_READ_PLAIN;
    hu_loader_fill(batch->loader, (int)field, reading, batch->first + first, count, rows);
}

hu_status hu_forward_part(hu_trainer *trainer, const hu_step_batch *batch, int64_t done,
                          hu_pass_options *pass, hu_pass_result *result) {
    hu_batch_source place = {trainer->train_loader, batch->first + done};
    hu_source source = {&place, hu_fill_batch};
    int64_t left = batch->samples - done;
    pass->first_sample = done;
    pass->samples = left < trainer->part ? left : trainer->part;
    return hu_run_forward(trainer->run, pass, &source, result);
}
