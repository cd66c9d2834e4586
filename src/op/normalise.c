#include "op/normalise.h"

#include "base/error.h"
#include "kernel/fused/fused.h"
#include "kernel/reduce/channel.h"
#include "op/expect.h"

int64_t hu_norm_pixels(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
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

/* Each narrow vector is widened before the next is computed: they share one [C]. */
void hu_norm_apply(const hu_op_call *call, hu_norm_vector *center_of, hu_norm_vector *scale_of,
                   uint8_t *bits) {
    int64_t channels = hu_channels(&call->info->in[0]), width = hu_channel_width(channels);
    int64_t elements = hu_norm_pixels(call) * channels;
    float *center = call->scratch, *scale = center + width, *offset = scale + width;
    float *narrow = offset + width;
    center_of(call, narrow);
    hu_channel_widen(channels, narrow, center);
    scale_of(call, narrow);
    hu_channel_widen(channels, narrow, scale);
    hu_channel_widen(channels, call->param[HU_NORM_BETA], offset);
    if (bits)
        hu_fused()->normalise_relu(elements, width, call->in[0], center, scale, offset,
                                   call->out[0], bits);
    else
        hu_fused()->normalise(elements, width, call->in[0], center, scale, offset, call->out[0]);
}

float hu_norm_blend(float old, double new, float momentum) {
    return (float)((1.0 - (double)momentum) * (double)old + (double)momentum * new);
}
