#include <inttypes.h>
#include <math.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "op/attributes.h"

/* ---- Attributes of the operations that make images larger or smaller ---- */

/* ---- nearest: every pixel becomes factor_h x factor_w pixels ---- */

static hu_status enlarge_extents(const char *op, const hu_enlarge_attrs *a, const hu_shape *in,
                                 hu_shape *out) {
    hu_status st;
    HU_TRY(hu_expect_rank(op, in, 3));
    *out = *in;
    if (a->factor_h < 1 || a->factor_w < 1)
        return hu_fail(HU_ERR_SHAPE, "%s: factor %" PRId64 "x%" PRId64 ", expected at least 1", op,
                       a->factor_h, a->factor_w);
    if (!hu_mul_i64(in->extent[0], a->factor_h, &out->extent[0]) ||
        !hu_mul_i64(in->extent[1], a->factor_w, &out->extent[1]))
        return hu_fail(HU_ERR_SHAPE, "%s: factor %" PRId64 "x%" PRId64 " does not fit 63 bits", op,
                       a->factor_h, a->factor_w);
done:
    return st;
}

/* x [H, W, C] -> y [H factor_h, W factor_w, C] */
static hu_status nearest_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)n_in;
    *n_out = 1;
    hu_status st = enlarge_extents("nearest", attrs, &in[0], &out[0]);
    return st == HU_OK ? hu_shape_check(&out[0]) : st;
}

/* The source pixel of the target pixel number p of an image. */
static int64_t nearest_source(const hu_node_info *info, int64_t p) {
    const hu_enlarge_attrs *a = info->attrs;
    int64_t width = info->out[0].extent[1];
    return p / width / a->factor_h * info->in[0].extent[1] + p % width / a->factor_w;
}

static void nearest_forward(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0], *out = &call->info->out[0];
    int64_t channels = hu_channels(in), pixels = out->extent[0] * out->extent[1];
    int64_t from = hu_shape_elements(in), to = hu_shape_elements(out);
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t p = 0; p < pixels; p++) {
            const float *x = call->in[0] + s * from + nearest_source(call->info, p) * channels;
            float *y = call->out[0] + s * to + p * channels;
            for (int64_t c = 0; c < channels; c++) y[c] = x[c];
        }
}

/* The targets of each source are added in the order of rows. */
static void nearest_backward(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0], *out = &call->info->out[0];
    int64_t channels = hu_channels(in), pixels = out->extent[0] * out->extent[1];
    int64_t from = hu_shape_elements(in), to = hu_shape_elements(out);
    if (!call->din[0]) return;
    for (int64_t i = 0; i < call->count * from; i++) call->din[0][i] = 0;
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t p = 0; p < pixels; p++) {
            float *dx = call->din[0] + s * from + nearest_source(call->info, p) * channels;
            const float *dy = call->dout[0] + s * to + p * channels;
            for (int64_t c = 0; c < channels; c++) dx[c] += dy[c];
        }
}

static const hu_attribute enlarge_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "factor", offsetof(hu_enlarge_attrs, factor_h), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_nearest = {.name = "nearest",
                             .attrs_bytes = sizeof(hu_enlarge_attrs),
                             .attributes = enlarge_attributes,
                             .min_in = 1,
                             .max_in = 1,
                             .selects_input = true,
                             .shape = nearest_shape,
                             .saves = HU_SAVE_NOTHING,
                             .forward = nearest_forward,
                             .backward = nearest_backward};

/* ---- pixel_shuffle: channels become pixels (Shi et al., 2016) ---- */

/* x [H, W, C factor_h factor_w] -> y [H factor_h, W factor_w, C] */
static hu_status shuffle_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    const hu_enlarge_attrs *a = attrs;
    hu_status st;
    int64_t parts;
    (void)n_in;
    *n_out = 1;
    HU_TRY(enlarge_extents("pixel_shuffle", a, &in[0], &out[0]));
    if (!hu_mul_i64(a->factor_h, a->factor_w, &parts) || hu_channels(in) % parts != 0)
        return hu_fail(HU_ERR_SHAPE,
                       "pixel_shuffle: %" PRId64 " channels cannot be shared among %" PRId64
                       "x%" PRId64 " pixels",
                       hu_channels(in), a->factor_h, a->factor_w);
    out[0].extent[2] = hu_channels(in) / parts;
    st = hu_shape_check(&out[0]);
done:
    return st;
}

/* Where channel 0 of the large image's pixel (y, x) stands in the deep one [H, W, C parts]; channel
 * c is c parts further. y counts rows from the first sample on: samples are whole rows of both. */
static int64_t deep_place(const hu_op_call *call, int64_t y, int64_t x) {
    const hu_enlarge_attrs *a = call->info->attrs;
    const hu_shape *in = &call->info->in[0];
    int64_t pixel = y / a->factor_h * in->extent[1] + x / a->factor_w;
    return pixel * in->extent[2] + y % a->factor_h * a->factor_w + x % a->factor_w;
}

static void shuffle_forward(const hu_op_call *call) {
    const hu_enlarge_attrs *a = call->info->attrs;
    const hu_shape *out = &call->info->out[0];
    int64_t width = out->extent[1], channels = out->extent[2], parts = a->factor_h * a->factor_w;
    for (int64_t y = 0; y < call->count * out->extent[0]; y++)
        for (int64_t x = 0; x < width; x++) {
            const float *from = call->in[0] + deep_place(call, y, x);
            float *to = call->out[0] + (y * width + x) * channels;
            for (int64_t c = 0; c < channels; c++) to[c] = from[c * parts];
        }
}

static void shuffle_backward(const hu_op_call *call) {
    const hu_enlarge_attrs *a = call->info->attrs;
    const hu_shape *out = &call->info->out[0];
    int64_t width = out->extent[1], channels = out->extent[2], parts = a->factor_h * a->factor_w;
    if (!call->din[0]) return;
    for (int64_t y = 0; y < call->count * out->extent[0]; y++)
        for (int64_t x = 0; x < width; x++) {
            float *to = call->din[0] + deep_place(call, y, x);
            const float *from = call->dout[0] + (y * width + x) * channels;
            for (int64_t c = 0; c < channels; c++) to[c * parts] = from[c];
        }
}

const hu_op hu_op_pixel_shuffle = {.name = "pixel_shuffle",
                                   .attrs_bytes = sizeof(hu_enlarge_attrs),
                                   .attributes = enlarge_attributes,
                                   .min_in = 1,
                                   .max_in = 1,
                                   .selects_input = true,
                                   .selects_gradient = true,
                                   .shape = shuffle_shape,
                                   .saves = HU_SAVE_NOTHING,
                                   .forward = shuffle_forward,
                                   .backward = shuffle_backward};

/* ---- bilinear ---- */

/* bilinear: an image [H, W, C] at another size. Along each axis target i lies at source place u:
 * (i + 1/2) H / H' - 1/2, not below 0, or with aligned corners i (H - 1) / (H' - 1); it is (1 - l)
 * times pixel floor(u) and l = u - floor(u) times the next one. l is computed in double and used as
 * float32; sums are in double, with one rounding. */

/* One target along an axis: the two sources that it lies between, and its distance from the first.
 */
typedef struct place {
    int64_t low, high;
    double l;
} place;

/* What a source gives to a target. */
typedef struct share {
    int64_t target;
    double weight;
} share;

/* Of source i: share[first[i]] .. share[first[i + 1] - 1], targets ascending. */
typedef struct axis {
    place *place;   /* [targets] */
    share *share;   /* at most two per target */
    int64_t *first; /* [sources + 1] */
} axis;

typedef struct tables {
    axis h, w;
} tables;

static hu_status bilinear_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    const hu_bilinear_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(hu_expect_rank("bilinear", in, 3));
    if (a->out_h < 1 || a->out_w < 1)
        return hu_fail(HU_ERR_SHAPE, "bilinear: size %" PRId64 "x%" PRId64 ", expected at least 1",
                       a->out_h, a->out_w);
    *n_out = 1;
    out[0] = (hu_shape){3, {a->out_h, a->out_w, hu_channels(in)}};
    st = hu_shape_check(&out[0]);
done:
    return st;
}

/* ---- tables ---- */

static place place_of(int64_t target, int64_t sources, int64_t targets, bool aligns) {
    double from = (double)sources, to = (double)targets, u;
    if (aligns)
        u = targets > 1 ? (double)target * (from - 1.0) / (to - 1.0) : 0.0;
    else
        u = fmax(((double)target + 0.5) * from / to - 0.5, 0.0);
    place p = {.low = (int64_t)floor(u)};
    if (p.low > sources - 1) p.low = sources - 1;
    p.high = p.low + 1 < sources ? p.low + 1 : p.low;
    p.l = (double)(float)(u - (double)p.low);
    return p;
}

static double weight_of(const place *p, int64_t source) {
    return (p->low == source ? 1.0 - p->l : 0.0) + (p->high == source ? p->l : 0.0);
}

/* Places ascend with their targets, so the targets of a source are found beside each other. */
static void fill_shares(axis *made, int64_t sources, int64_t targets) {
    int64_t count = 0, begin = 0;
    for (int64_t i = 0; i < sources; i++) {
        made->first[i] = count;
        while (begin < targets && made->place[begin].high < i) begin++;
        for (int64_t t = begin; t < targets && made->place[t].low <= i; t++)
            made->share[count++] = (share){t, weight_of(&made->place[t], i)};
    }
    made->first[sources] = count;
}

static void free_axis(axis *made) {
    hu_free(made->place);
    hu_free(made->share);
    hu_free(made->first);
}

static hu_status create_axis(int64_t sources, int64_t targets, bool aligns, axis *made) {
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&made->place, (size_t)targets));
    HU_TRY(HU_NEW_ARRAY(&made->share, 2 * (size_t)targets));
    HU_TRY(HU_NEW_ARRAY(&made->first, (size_t)sources + 1));
    for (int64_t t = 0; t < targets; t++) made->place[t] = place_of(t, sources, targets, aligns);
    fill_shares(made, sources, targets);
done:
    return st;
}

static void bilinear_release(void *state) {
    tables *made = state;
    if (!made) return;
    free_axis(&made->h);
    free_axis(&made->w);
    hu_free(made);
}

static hu_status bilinear_create(const hu_node_info *info, void **state) {
    const hu_bilinear_attrs *a = info->attrs;
    const int64_t *from = info->in[0].extent;
    tables *made;
    hu_status st;
    *state = NULL;
    HU_TRY(HU_NEW(&made));
    *state = made;
    HU_TRY(create_axis(from[0], a->out_h, a->aligns, &made->h));
    HU_TRY(create_axis(from[1], a->out_w, a->aligns, &made->w));
done:
    if (st == HU_OK) return HU_OK;
    bilinear_release(*state);
    *state = NULL;
    return st;
}

/* ---- run ---- */

/* One target pixel of an image x [H, W, C]. */
static void mix(const float *x, const hu_shape *in, const place *h, const place *w, float *y) {
    int64_t width = in->extent[1], channels = in->extent[2];
    const float *low = x + h->low * width * channels, *high = x + h->high * width * channels;
    int64_t left = w->low * channels, right = w->high * channels;
    for (int64_t c = 0; c < channels; c++) {
        double above = (1.0 - w->l) * (double)low[left + c] + w->l * (double)low[right + c];
        double below = (1.0 - w->l) * (double)high[left + c] + w->l * (double)high[right + c];
        y[c] = (float)((1.0 - h->l) * above + h->l * below);
    }
}

/* x [count, H, W, C] -> y [count, H', W', C] */
static void bilinear_forward(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0], *out = &call->info->out[0];
    const tables *t = call->state;
    float *to = call->out[0];
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t y = 0; y < out->extent[0]; y++)
            for (int64_t x = 0; x < out->extent[1]; x++, to += out->extent[2])
                mix(call->in[0] + s * hu_shape_elements(in), in, &t->h.place[y], &t->w.place[x],
                    to);
}

/* One source number: what its targets give back, by rows. dy: its channel of the image. */
static float gather(const tables *t, const hu_shape *out, const float *dy, int64_t y, int64_t x) {
    double sum = 0;
    for (int64_t i = t->h.first[y]; i < t->h.first[y + 1]; i++) {
        const share *h = &t->h.share[i];
        for (int64_t j = t->w.first[x]; j < t->w.first[x + 1]; j++) {
            const share *w = &t->w.share[j];
            int64_t at = (h->target * out->extent[1] + w->target) * out->extent[2];
            sum += h->weight * w->weight * (double)dy[at];
        }
    }
    return (float)sum;
}

/* dy [count, H', W', C] -> dx [count, H, W, C] */
static void bilinear_backward(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0], *out = &call->info->out[0];
    float *dx = call->din[0];
    if (!dx) return;
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t y = 0; y < in->extent[0]; y++)
            for (int64_t x = 0; x < in->extent[1]; x++)
                for (int64_t c = 0; c < in->extent[2]; c++)
                    *dx++ = gather(call->state, out, call->dout[0] + s * hu_shape_elements(out) + c,
                                   y, x);
}

static const hu_attribute bilinear_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "size", offsetof(hu_bilinear_attrs, out_h), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_FLAG, "align", offsetof(hu_bilinear_attrs, aligns), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_bilinear = {.name = "bilinear",
                              .attrs_bytes = sizeof(hu_bilinear_attrs),
                              .attributes = bilinear_attributes,
                              .min_in = 1,
                              .max_in = 1,
                              .shape = bilinear_shape,
                              .saves = HU_SAVE_NOTHING,
                              .create = bilinear_create,
                              .release = bilinear_release,
                              .forward = bilinear_forward,
                              .backward = bilinear_backward};

/* ---- interleave ---- */

/* interleave: parts of C channels each -> one image whose channel c * parts + i is channel c of
 * part i: a concatenation and the channel shuffle after it, with as many groups as parts, in one
 * move. Source: ShuffleNet (Zhang et al.). */

static hu_status interleave_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                  hu_shape *out) {
    hu_status st;
    int64_t channels;
    (void)attrs;
    HU_TRY(hu_expect_rank_least("interleave", &in[0], 1));
    HU_TRY(hu_expect_same("interleave", n_in, in));
    if (!hu_mul_i64(hu_channels(&in[0]), n_in, &channels))
        return hu_fail(HU_ERR_SHAPE, "interleave: %d times %" PRId64 " channels do not fit 63 bits",
                       n_in, hu_channels(&in[0]));
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[in[0].rank - 1] = channels;
    st = hu_shape_check(out);
done:
    return st;
}

/* Numbers of one part in the call. */
static int64_t part_elements(const hu_op_call *call) {
    return call->count * hu_shape_elements(&call->info->in[0]);
}

static void put_pair(int64_t n, const float *restrict a, const float *restrict b,
                     float *restrict y) {
    for (int64_t i = 0; i < n; i++) {
        y[2 * i] = a[i];
        y[2 * i + 1] = b[i];
    }
}

static void take_pair(int64_t n, const float *restrict y, float *restrict a, float *restrict b) {
    for (int64_t i = 0; i < n; i++) {
        a[i] = y[2 * i];
        b[i] = y[2 * i + 1];
    }
}

static void interleave_forward(const hu_op_call *call) {
    int64_t n = part_elements(call), parts = call->info->n_in;
    float *y = call->out[0];
    if (parts == 2) {
        put_pair(n, call->in[0], call->in[1], y);
        return;
    }
    for (int p = 0; p < parts; p++)
        for (int64_t i = 0; i < n; i++) y[i * parts + p] = call->in[p][i];
}

static void interleave_backward(const hu_op_call *call) {
    int64_t n = part_elements(call), parts = call->info->n_in;
    const float *dy = call->dout[0];
    if (parts == 2 && call->din[0] && call->din[1]) {
        take_pair(n, dy, call->din[0], call->din[1]);
        return;
    }
    for (int p = 0; p < parts; p++)
        for (int64_t i = 0; call->din[p] && i < n; i++) call->din[p][i] = dy[i * parts + p];
}

const hu_op hu_op_interleave = {.name = "interleave",
                                .min_in = 1,
                                .max_in = -1,
                                .selects_gradient = true,
                                .shape = interleave_shape,
                                .saves = HU_SAVE_NOTHING,
                                .forward = interleave_forward,
                                .backward = interleave_backward};
