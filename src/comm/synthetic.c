#include "comm/synthetic.h"

#include "base/elementary.h"
#include "kernel/draw/draw.h"

static void draw(const hu_comm_synthetic *model, const char *what, uint64_t worker, float *x) {
    hu_random_key key = {model->seed, hu_stream_id("gradient", what), worker};
    hu_draw_normals(&key, 0, (size_t)model->elements, x);
}

void hu_comm_synthetic_shared(const hu_comm_synthetic *model, float *size, float *mean) {
    draw(model, "size", 0, size);
    draw(model, "mean", 0, mean);
    for (int64_t i = 0; i < model->elements; i++) {
        size[i] = (float)hu_exp(model->sigma * (double)size[i]);
        mean[i] = (float)(model->rho * (double)size[i] * (double)mean[i]);
    }
}

void hu_comm_synthetic_worker(const hu_comm_synthetic *model, const float *size, const float *mean,
                              int32_t worker, float *gradient) {
    draw(model, "noise", (uint64_t)worker, gradient);
    /* In double, so that a gradient is rounded once. */
    for (int64_t i = 0; i < model->elements; i++) {
        double sum = (double)mean[i] + (double)size[i] * (double)gradient[i];
        gradient[i] = (float)(sum / (double)model->workers * model->magnitude);
    }
}
