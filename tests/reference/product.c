#include "reference/product.h"

#include <math.h>
#include <string.h>

/* What is done with one multiply-accumulate: indices into x, weights and y of the whole call. */
typedef struct mac_target {
    const float *x, *weights, *dy;
    hu_reference_sum *y, *dx, *dw;
} mac_target;

/* float32 factors: their product is exact in double. */
static void add_product(hu_reference_sum *sum, float a, float b) {
    double product = (double)a * (double)b;
    sum->value += product;
    sum->magnitude += fabs(product);
}

static void add_mac(const mac_target *t, int64_t x, int64_t w, int64_t y) {
    if (t->y) add_product(&t->y[y], t->x[x], t->weights[w]);
    if (t->dx) add_product(&t->dx[x], t->dy[y], t->weights[w]);
    if (t->dw) add_product(&t->dw[w], t->x[x], t->dy[y]);
}

/* All products of one output element, in the order (kernel_h, kernel_w, in_c). */
static void each_tap(const hu_product *p, const mac_target *t, int64_t sample, int64_t oh,
                     int64_t ow, int64_t oc) {
    int64_t depth = p->in_c / p->groups;
    int64_t first = oc / (p->out_c / p->groups) * depth;
    int64_t y = ((sample * p->out_h + oh) * p->out_w + ow) * p->out_c + oc;
    for (int64_t kh = 0; kh < p->kernel_h; kh++)
        for (int64_t kw = 0; kw < p->kernel_w; kw++) {
            int64_t ih = oh * p->stride_h - p->pad_h + kh * p->dilation_h;
            int64_t iw = ow * p->stride_w - p->pad_w + kw * p->dilation_w;
            if (ih < 0 || ih >= p->in_h || iw < 0 || iw >= p->in_w) continue;
            int64_t x = ((sample * p->in_h + ih) * p->in_w + iw) * p->in_c + first;
            int64_t w = ((oc * p->kernel_h + kh) * p->kernel_w + kw) * depth;
            for (int64_t c = 0; c < depth; c++) add_mac(t, x + c, w + c, y);
        }
}

/* Every output element of count samples, in order. */
static void each_output(const hu_product *p, int64_t count, const mac_target *t) {
    for (int64_t n = 0; n < count; n++)
        for (int64_t oh = 0; oh < p->out_h; oh++)
            for (int64_t ow = 0; ow < p->out_w; ow++)
                for (int64_t oc = 0; oc < p->out_c; oc++) each_tap(p, t, n, oh, ow, oc);
}

static void clear(hu_reference_sum *sums, int64_t n) {
    memset(sums, 0, (size_t)n * sizeof *sums);
}

void hu_reference_forward(const hu_product *p, int64_t count, const float *x, const float *weights,
                          const float *bias, hu_reference_sum *y) {
    int64_t n = count * hu_product_out(p);
    clear(y, n);
    for (int64_t i = 0; bias && i < n; i++) add_product(&y[i], bias[i % p->out_c], 1.0f);
    each_output(p, count, &(mac_target){.x = x, .weights = weights, .y = y});
}

void hu_reference_backward_data(const hu_product *p, int64_t count, const float *dy,
                                const float *weights, hu_reference_sum *dx) {
    clear(dx, count * hu_product_in(p));
    each_output(p, count, &(mac_target){.dy = dy, .weights = weights, .dx = dx});
}

void hu_reference_backward_weights(const hu_product *p, int64_t count, const float *x,
                                   const float *dy, hu_reference_sum *dw, hu_reference_sum *db) {
    clear(dw, hu_product_weights(p));
    each_output(p, count, &(mac_target){.x = x, .dy = dy, .dw = dw});
    if (!db) return;
    clear(db, p->out_c);
    for (int64_t i = 0; i < count * hu_product_out(p); i++)
        add_product(&db[i % p->out_c], dy[i], 1.0f);
}
