#include "reference/conv.h"

#include <math.h>

/* Places [n][h][w] and their channels. */
static int64_t place(int64_t n, int64_t h, int64_t w, int64_t height, int64_t width) {
    return (n * height + h) * width + w;
}

/* y[n, y, w, oc]: taps outside the image take no part. */
static float forward_sum(const hu_conv *c, const float *x, const float *weights, int64_t n,
                         int64_t y, int64_t w, float sum) {
    for (int64_t kh = 0; kh < c->kernel_h; kh++)
        for (int64_t kw = 0; kw < c->kernel_w; kw++) {
            int64_t in_y = y * c->stride_h - c->pad_h + kh * c->dilation_h;
            int64_t in_x = w * c->stride_w - c->pad_w + kw * c->dilation_w;
            if (in_y < 0 || in_y >= c->in_h || in_x < 0 || in_x >= c->in_w) continue;
            const float *from = x + place(n, in_y, in_x, c->in_h, c->in_w) * c->in_c;
            const float *tap = weights + (kh * c->kernel_w + kw) * c->in_c;
            for (int64_t ic = 0; ic < c->in_c; ic++) sum = fmaf(from[ic], tap[ic], sum);
        }
    return sum;
}

void hu_conv_reference_forward(const hu_conv *c, int64_t count, const float *x,
                               const float *weights, const float *bias, float *y) {
    int64_t filter = c->kernel_h * c->kernel_w * c->in_c;
    for (int64_t n = 0; n < count; n++)
        for (int64_t h = 0; h < c->out_h; h++)
            for (int64_t w = 0; w < c->out_w; w++)
                for (int64_t oc = 0; oc < c->out_c; oc++)
                    y[place(n, h, w, c->out_h, c->out_w) * c->out_c + oc] =
                        forward_sum(c, x, weights + oc * filter, n, h, w, bias ? bias[oc] : 0.0f);
}

/* dx[n, h, w, ic] gathers from the outputs that read it: y stride = h + pad - kh dilation. */
static float data_sum(const hu_conv *c, const float *dy, const float *weights, int64_t n, int64_t h,
                      int64_t w) {
    int64_t filter = c->kernel_h * c->kernel_w * c->in_c;
    float sum = 0;
    for (int64_t kh = 0; kh < c->kernel_h; kh++)
        for (int64_t kw = 0; kw < c->kernel_w; kw++) {
            int64_t y = h + c->pad_h - kh * c->dilation_h, x = w + c->pad_w - kw * c->dilation_w;
            if (y < 0 || y % c->stride_h || y / c->stride_h >= c->out_h) continue;
            if (x < 0 || x % c->stride_w || x / c->stride_w >= c->out_w) continue;
            const float *from =
                dy + place(n, y / c->stride_h, x / c->stride_w, c->out_h, c->out_w) * c->out_c;
            const float *tap = weights + (kh * c->kernel_w + kw) * c->in_c;
            for (int64_t oc = 0; oc < c->out_c; oc++) sum = fmaf(from[oc], tap[oc * filter], sum);
        }
    return sum;
}

void hu_conv_reference_data(const hu_conv *c, int64_t count, const float *dy, const float *weights,
                            float *dx) {
    for (int64_t n = 0; n < count; n++)
        for (int64_t h = 0; h < c->in_h; h++)
            for (int64_t w = 0; w < c->in_w; w++)
                for (int64_t ic = 0; ic < c->in_c; ic++)
                    dx[place(n, h, w, c->in_h, c->in_w) * c->in_c + ic] =
                        data_sum(c, dy, weights + ic, n, h, w);
}

/* One weight's sum over a strip: images n0 .. n1-1, output rows y0 .. y1-1. */
static float strip_sum(const hu_conv *c, const float *x, const float *dy, int64_t kh, int64_t kw,
                       const int64_t n[2], const int64_t y[2]) {
    float sum = 0;
    for (int64_t i = n[0]; i < n[1]; i++)
        for (int64_t h = y[0]; h < y[1]; h++)
            for (int64_t w = 0; w < c->out_w; w++) {
                int64_t in_y = h * c->stride_h - c->pad_h + kh * c->dilation_h;
                int64_t in_x = w * c->stride_w - c->pad_w + kw * c->dilation_w;
                if (in_y < 0 || in_y >= c->in_h || in_x < 0 || in_x >= c->in_w) continue;
                sum = fmaf(dy[place(i, h, w, c->out_h, c->out_w) * c->out_c],
                           x[place(i, in_y, in_x, c->in_h, c->in_w) * c->in_c], sum);
            }
    return sum;
}

/* One strip's sums for every weight [out_c, kernel_h, kernel_w, in_c]. */
static void add_strip(const hu_conv *c, const float *x, const float *dy, bool adds,
                      const int64_t n[2], const int64_t y[2], float *dw) {
    for (int64_t oc = 0; oc < c->out_c; oc++)
        for (int64_t kh = 0; kh < c->kernel_h; kh++)
            for (int64_t kw = 0; kw < c->kernel_w; kw++)
                for (int64_t ic = 0; ic < c->in_c; ic++, dw++) {
                    float sum = strip_sum(c, x + ic, dy + oc, kh, kw, n, y);
                    *dw = adds ? *dw + sum : sum;
                }
}

void hu_conv_reference_weights(const hu_conv *c, int64_t count, const float *x, const float *dy,
                               bool adds, float *dw) {
    hu_conv_strips strip = hu_conv_strip(c);
    for (int64_t n = 0; n < count; n += strip.images)
        for (int64_t y = 0; y < c->out_h; y += strip.rows) {
            const int64_t images[] = {n, n + strip.images < count ? n + strip.images : count};
            const int64_t rows[] = {y, y + strip.rows < c->out_h ? y + strip.rows : c->out_h};
            add_strip(c, x, dy, adds, images, rows, dw);
            adds = true;
        }
}
