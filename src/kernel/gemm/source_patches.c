/* kernel/gemm/source_patches.c - panels of implicit patches. */
#include "kernel/gemm/source_patches.h"

#include <string.h>

const float hu_source_zeros[HU_SOURCE_RUN_MAX] = {0};

/* The pixel at `place` of an image stretched by up; -1: none. */
static inline int64_t pixel_at(int64_t place, int64_t up, int64_t extent) {
    if (up > 1) {
        if (place < 0 || place % up != 0) return -1;
        place /= up;
    }
    return (uint64_t)place < (uint64_t)extent ? place : -1;
}

/* A patch: floats to its image's first pixel, and where its tap (0, 0) lies. */
typedef struct corner {
    int64_t image, y, x;
} corner;

/* Patches one after the other. */
typedef struct walk {
    int64_t image, y, x; /* of [count, out_h, out_w] */
} walk;

static walk walk_from(const hu_patches *p, int64_t patch) {
    return (walk){patch / p->out_w / p->out_h, patch / p->out_w % p->out_h, patch % p->out_w};
}

static inline void walk_on(const hu_patches *p, walk *w) {
    if (++w->x < p->out_w) return;
    w->x = 0;
    if (++w->y < p->out_h) return;
    w->y = 0;
    w->image++;
}

static void corners_of(const hu_patches *p, int64_t first, int valid, corner *corners) {
    walk w = walk_from(p, first);
    for (int i = 0; i < valid; i++, walk_on(p, &w))
        corners[i] = (corner){w.image * p->in_h * p->in_w * p->pixel_stride,
                              w.y * p->stride_h - p->pad_h, w.x * p->stride_w - p->pad_w};
}

/* Floats from the data to the image row that each patch reads at kernel row kh; -1: none. */
static void rows_at(const hu_patches *p, const corner *corners, int valid, int64_t kh,
                    int64_t *rows) {
    for (int i = 0; i < valid; i++) {
        int64_t y = pixel_at(corners[i].y + kh * p->dilation_h, p->up_h, p->in_h);
        rows[i] = y < 0 ? -1 : corners[i].image + y * p->in_w * p->pixel_stride;
    }
}

/* Rows of the panel are patches: channels of one tap are contiguous in the image, so each tap is
 * packed like rows of a matrix, patches outside their image from a row of zeros. */
void hu_source_pack_patches(const hu_source *source, int64_t first, int width, int valid, int64_t k,
                            int64_t run, float *panel) {
    const hu_patches *p = &source->patches;
    const float *data = source->operand.data, *taps[HU_PACK_WIDTH_MAX];
    corner corners[HU_PACK_WIDTH_MAX];
    int64_t rows[HU_PACK_WIDTH_MAX], row = -1;
    corners_of(p, first, valid, corners);
    for (int i = valid; i < width; i++) taps[i] = hu_source_zeros;
    for (int64_t done = 0; done < run;) {
        int64_t tap = (k + done) / p->channels, channel = (k + done) % p->channels;
        int64_t kh = tap / p->kernel_w, shift = tap % p->kernel_w * p->dilation_w;
        int64_t left = p->channels - channel, length = left < run - done ? left : run - done;
        if (kh != row) rows_at(p, corners, valid, row = kh, rows);
        for (int i = 0; i < valid; i++) {
            int64_t x = pixel_at(corners[i].x + shift, p->up_w, p->in_w);
            taps[i] = (rows[i] | x) < 0 ? hu_source_zeros
                                        : data + rows[i] + x * p->pixel_stride + channel;
        }
        source->pack->rows(taps, 0, length, width, panel + done * width);
        done += length;
    }
}

/* ---- transposed: rows of the panel are columns of patches ---- */

/* Some channels of one tap: columns `at` .. `at + length - 1` of a panel. */
typedef struct segment {
    int64_t kh, kw, channel;
    int at, length;
} segment;

static inline void copy_floats(float *to, const float *from, int length) {
    for (int i = 0; i < length; i++) to[i] = from[i];
}

/* `count` patches whose tap lies in the image, `step` floats apart. */
static void copy_taps(const float *from, int64_t step, int64_t count, int width, int length,
                      float *to) {
    if (length == 16) {
        for (; count > 0; count--, from += step, to += width) memcpy(to, from, 16 * sizeof *to);
    } else if (length == 8) {
        for (; count > 0; count--, from += step, to += width) memcpy(to, from, 8 * sizeof *to);
    } else if (length == 3) {
        for (; count > 0; count--, from += step, to += width) copy_floats(to, from, 3);
    } else {
        for (; count > 0; count--, from += step, to += width)
            memcpy(to, from, (size_t)length * sizeof *to);
    }
}

static void clear_taps(int64_t count, int width, int length, float *to) {
    for (; count > 0; count--, to += width)
        for (int i = 0; i < length; i++) to[i] = 0;
}

/* Least n >= 0 with n by >= value. */
static int64_t divide_up(int64_t value, int64_t by) {
    return value > 0 ? (value + by - 1) / by : 0;
}

/* `count` patches side by side from `w` on, at one segment. */
static void pack_row_of_taps(const hu_source *source, walk w, int64_t count, const segment *s,
                             int width, float *to) {
    const hu_patches *p = &source->patches;
    int64_t step = p->stride_w * p->pixel_stride, x = w.x * p->stride_w - p->pad_w;
    int64_t y = pixel_at(w.y * p->stride_h - p->pad_h + s->kh * p->dilation_h, p->up_h, p->in_h);
    int64_t before, inside;
    x += s->kw * p->dilation_w;
    if (y < 0) {
        clear_taps(count, width, s->length, to);
        return;
    }
    const float *row =
        source->operand.data + ((w.image * p->in_h + y) * p->in_w) * p->pixel_stride + s->channel;
    if (p->up_w > 1) {
        for (int64_t i = 0; i < count; i++, x += p->stride_w, to += width) {
            int64_t at = pixel_at(x, p->up_w, p->in_w);
            copy_taps(at < 0 ? hu_source_zeros : row + at * p->pixel_stride, 0, 1, width, s->length,
                      to);
        }
        return;
    }
    /* Of `count` patches the first `before` have this tap left of the image, `inside` have it
     * within. */
    before = divide_up(-x, p->stride_w);
    if (before > count) before = count;
    inside = divide_up(p->in_w - x, p->stride_w) - before;
    if (inside > count - before) inside = count - before;
    if (inside < 0) inside = 0;
    clear_taps(before, width, s->length, to);
    if (inside > 0)
        copy_taps(row + (x + before * p->stride_w) * p->pixel_stride, step, inside, width,
                  s->length, to + before * width);
    clear_taps(count - before - inside, width, s->length, to + (before + inside) * width);
}

/* Terms k .. k + run - 1 are patches: one row of the output after the other. */
static void pack_segment(const hu_source *source, const segment *s, int width, int64_t k,
                         int64_t run, float *panel) {
    const hu_patches *p = &source->patches;
    walk w = walk_from(p, k);
    for (int64_t done = 0; done < run;) {
        int64_t left = p->out_w - w.x, count = left < run - done ? left : run - done;
        pack_row_of_taps(source, w, count, s, width, panel + done * width + s->at);
        done += count;
        w.x += count - 1;
        walk_on(p, &w);
    }
}

void hu_source_pack_columns_of_patches(const hu_source *source, int64_t first, int width, int valid,
                                       int64_t k, int64_t run, float *panel) {
    const hu_patches *p = &source->patches;
    for (int at = 0; at < valid;) {
        int64_t tap = (first + at) / p->channels, channel = (first + at) % p->channels;
        int64_t left = p->channels - channel;
        segment s = {
            .kh = tap / p->kernel_w, .kw = tap % p->kernel_w, .channel = channel, .at = at};
        s.length = left < valid - at ? (int)left : valid - at;
        pack_segment(source, &s, width, k, run, panel);
        at += s.length;
    }
    if (valid < width) clear_taps(run, width, width - valid, panel + valid);
}
