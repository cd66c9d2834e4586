#include "op/normalise.h"

#include <string.h>

#include "base/error.h"
#include "kernel/fused/fused.h"
#include "kernel/reduce/channel.h"
#include "op/expect.h"
#include "op/row_count.h"

int64_t hu_norm_pixels(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

int64_t hu_norm_runs(const hu_op_call *call) {
    return call->info->n_in > 1 ? call->count : 1;
}

hu_norm_run hu_norm_run_at(const hu_op_call *call, int64_t i) {
    int64_t pixels = hu_norm_pixels(call);
    if (call->info->n_in == 1) return (hu_norm_run){0, pixels, pixels};
    int64_t all = pixels / call->count, of_row = all / call->info->in[0].extent[0];
    return (hu_norm_run){i * all, hu_row_count(call, 1, i) * of_row, all};
}

hu_status hu_norm_shape(const char *op, float epsilon, float momentum, const hu_shape *in,
                        int *n_out, hu_shape *out) {
    hu_status st;
    HU_TRY(hu_expect_rank_least(op, in, 1));
    if (!(epsilon > 0) || !(momentum >= 0 && momentum <= 1))
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: epsilon %g, momentum %g; expected epsilon > 0 and momentum in [0, 1]",
                       op, (double)epsilon, (double)momentum);
    *n_out = 1;
    out[0] = in[0];
done:
    return st;
}

void hu_norm_declare(const hu_param_decl decl[HU_NORM_PARAMS], const hu_shape *in,
                     hu_param_decl *list, int *count) {
    for (int i = 0; i < HU_NORM_PARAMS; i++) {
        list[i] = decl[i];
        list[i].shape = (hu_shape){.rank = 1, .extent = {hu_channels(in)}};
    }
    *count = HU_NORM_PARAMS;
}

enum { WIDE_VECTORS = 4 };

size_t hu_norm_scratch_bytes(int64_t channels) {
    return (WIDE_VECTORS * (size_t)hu_channel_width(channels) + (size_t)channels) * sizeof(float);
}

/* The three wide vectors lie behind each other in call->scratch. */
static void apply_run(const hu_op_call *call, const hu_norm_run *run, uint8_t *bits) {
    enum { BITS = 8 };
    int64_t channels = hu_channels(&call->info->in[0]), width = hu_channel_width(channels);
    int64_t there = run->there * channels, all = run->all * channels, at = run->first * channels;
    const float *center = call->scratch, *scale = center + width, *offset = scale + width;
    const float *x = call->in[0] + at;
    float *y = call->out[0] + at;
    if (bits) {
        /* A sample has a multiple of 8 elements; bits behind the last element are 0. */
        uint8_t *of_run = bits + at / BITS;
        int64_t written = (there + BITS - 1) / BITS;
        hu_fused()->normalise_relu(there, width, x, center, scale, offset, y, of_run);
        if (there < all) memset(of_run + written, 0, (size_t)(all / BITS - written));
    } else {
        hu_fused()->normalise(there, width, x, center, scale, offset, y);
    }
    memset(y + there, 0, (size_t)(all - there) * sizeof *y);
}

/* Each narrow vector is widened before the next is computed: they share one [C]. */
void hu_norm_apply(const hu_op_call *call, hu_norm_vector *center_of, hu_norm_vector *scale_of,
                   uint8_t *bits) {
    int64_t channels = hu_channels(&call->info->in[0]), width = hu_channel_width(channels);
    float *center = call->scratch, *scale = center + width, *offset = scale + width;
    float *narrow = offset + width;
    center_of(call, narrow);
    hu_channel_widen(channels, narrow, center);
    scale_of(call, narrow);
    hu_channel_widen(channels, narrow, scale);
    hu_channel_widen(channels, call->param[HU_NORM_BETA], offset);
    for (int64_t i = 0; i < hu_norm_runs(call); i++) {
        const hu_norm_run run = hu_norm_run_at(call, i);
        apply_run(call, &run, bits);
    }
}

float hu_norm_blend(float old, double new, float momentum) {
    return (float)((1.0 - (double)momentum) * (double)old + (double)momentum * new);
}
