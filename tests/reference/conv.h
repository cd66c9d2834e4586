/* reference/conv.h - the definition of kernel/conv/conv.h and depthwise.h taken literally, one
 * element after the other: what tests compare with. The arguments are those of conv.h, weights
 * plain. */
#ifndef HU_REFERENCE_CONV_H
#define HU_REFERENCE_CONV_H
#include "kernel/conv/conv.h"
#include "kernel/conv/depthwise.h"

void hu_conv_reference_forward(const hu_conv *conv, int64_t count, const float *x,
                               const float *weights, const float *bias, float *y);
void hu_conv_reference_data(const hu_conv *conv, int64_t count, const float *dy,
                            const float *weights, float *dx);
void hu_conv_reference_weights(const hu_conv *conv, int64_t count, const float *x, const float *dy,
                               bool adds, float *dw);

void hu_depthwise_reference_forward(const hu_conv *conv, int64_t count, const float *x,
                                    const float *weights, const float *bias, float *y);
void hu_depthwise_reference_data(const hu_conv *conv, int64_t count, const float *dy,
                                 const float *weights, float *dx);
void hu_depthwise_reference_weights(const hu_conv *conv, int64_t count, const float *x,
                                    const float *dy, bool adds, float *dw);

#endif
