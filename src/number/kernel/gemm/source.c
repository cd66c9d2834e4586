#include "kernel/gemm/source.h"

#include <string.h>

#include "base/bits.h"

hu_status hu_source_init(const hu_operand *operand, int64_t rows, int64_t terms, hu_isa isa,
                         hu_source *source) {
    *source = (hu_source){.operand = *operand, .rows = rows, .terms = terms};
    source->pack = hu_pack_set_of(isa);
    if (operand->patches) {
        source->patches = *operand->patches;
        source->operand.patches = &source->patches;
    }
    if (!operand->format) return HU_OK;
    source->is_rounded = true;
    return hu_rounder_init(&source->rounder, operand->format, operand->rounding);
}

/* ---- images ---- */

/* Images are rounded as a whole, without the gaps that pixels may have between them. */
size_t hu_source_image_floats(const hu_operand *operand) {
    const hu_patches *p = operand->patches;
    if (!p || !operand->format) return 0;
    return (size_t)(p->count * p->in_h * p->in_w * p->channels);
}

void hu_source_round_images(const hu_source *source, float *images, int part, int parts,
                            hu_round_counts *counts) {
    const hu_patches *p = &source->patches;
    const float *data = source->operand.data;
    int64_t pixels = p->count * p->in_h * p->in_w;
    int64_t first = pixels * part / parts, count = pixels * (part + 1) / parts - first;
    float *out = images + first * p->channels;
    size_t floats = (size_t)(count * p->channels);
    if (p->pixel_stride == p->channels) {
        hu_rounder_run(&source->rounder, floats, data + first * p->channels, out, NULL, 0, counts);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(out + i * p->channels, data + (first + i) * p->pixel_stride,
               (size_t)p->channels * sizeof *out);
    hu_rounder_run(&source->rounder, floats, out, out, NULL, 0, counts);
}

/* From now on patches read rounded numbers, and packing rounds no more. */
void hu_source_use_images(hu_source *source, const float *images) {
    source->operand.data = images;
    source->patches.pixel_stride = source->patches.channels;
    source->is_rounded = false;
}

void hu_source_measure_images(const hu_source *source, int part, int parts, hu_pack_facts *seen) {
    const hu_patches *p = &source->patches;
    int64_t pixels = p->count * p->in_h * p->in_w;
    int64_t at = pixels * part / parts, end = pixels * (part + 1) / parts;
    const float *data = source->operand.data;
    if (p->pixel_stride == p->channels) {
        source->pack->measure((size_t)((end - at) * p->channels), data + at * p->channels, seen);
        return;
    }
    for (; at < end; at++)
        source->pack->measure((size_t)p->channels, data + at * p->pixel_stride, seen);
}

void hu_source_use_facts(hu_source *source, const hu_pack_facts *seen) {
    /* A number that is not finite sends its tiles to the slow path: then facts are taken panel by
     * panel, so that only panels that hold one do. */
    source->has_facts = seen->top < HU_F32_INFINITY;
    source->facts = hu_panel_facts_of(seen);
}

/* ---- matrices ---- */

bool hu_source_is_side_by_side(const hu_operand *operand) {
    return !operand->patches && operand->inner == 0 && operand->stride == 1;
}

/* Terms a multiple of so many floats apart fall into a few sets of the caches, where they would
 * push each other out before they are read. */
enum { CACHE_FOLD = 256, CACHE_LINE = 16 };

void hu_source_fetch(const hu_source *source, int64_t first, int64_t width, int64_t k,
                     int64_t run) {
    const hu_operand *o = &source->operand;
    if (run <= 0) return;
    bool is_far = hu_source_is_side_by_side(o) && o->k_stride % CACHE_FOLD != 0;
    if (width > source->rows - first) width = source->rows - first;
    if (!is_far) return;
    const float *data = o->data + first + k * o->k_stride;
    for (; run > 0; run--, data += o->k_stride) {
        for (int64_t i = 0; i < width; i += CACHE_LINE) __builtin_prefetch(data + i, 0, 2);
        __builtin_prefetch(data + width - 1, 0, 2);
    }
}

/* ---- Panels of implicit patches. Internal to source.c ---- */

extern const float hu_source_zeros[HU_SOURCE_RUN_MAX];

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

/* As hu_source_pack, without rounding; `valid` of the panel's rows exist. Rows are patches, or
 * columns of patches.
 *
 * Rows of the panel are patches: channels of one tap are contiguous in the image, so each tap is
 * packed like rows of a matrix, patches outside their image from a row of zeros. */
static void hu_source_pack_patches(const hu_source *source, int64_t first, int width, int valid,
                                   int64_t k, int64_t run, float *panel) {
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

static void hu_source_pack_columns_of_patches(const hu_source *source, int64_t first, int width,
                                              int valid, int64_t k, int64_t run, float *panel) {
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

/* ---- source pack ---- */

/* Panels of a factor: strided matrices or patches, rounded on the way.
 * Thread-safe: the source is read only.
 */

/* Neither rows nor terms lie side by side. */
static void gather(const float *data, int64_t stride, int64_t k_stride, int64_t run, int width,
                   int valid, float *panel) {
    for (int64_t k = 0; k < run; k++, panel += width) {
        for (int i = 0; i < valid; i++) panel[i] = data[i * stride + k * k_stride];
        for (int i = valid; i < width; i++) panel[i] = 0;
    }
}

/* One run of terms with one stride. */
static void pack_run(const hu_source *source, const float *data, int64_t run, int width, int valid,
                     float *panel) {
    const hu_operand *o = &source->operand;
    /* Rows contiguous: transpose. Columns contiguous, or only one row: copy. Else number by number.
     */
    if (o->k_stride == 1 && valid > 1) {
        const float *rows[HU_PACK_WIDTH_MAX];
        for (int i = 0; i < width; i++)
            rows[i] = i < valid ? data + i * o->stride : hu_source_zeros;
        source->pack->rows(rows, width * o->stride, run, width, panel);
    } else if (o->stride == 1 || valid == 1) {
        source->pack->columns(data, o->k_stride, run, width, valid, panel);
    } else {
        gather(data, o->stride, o->k_stride, run, width, valid, panel);
    }
}

/* Terms k .. k + run - 1 as runs of equal stride: they end where a group of `inner` terms does. */
static void pack_matrix(const hu_source *source, int64_t first, int width, int valid, int64_t k,
                        int64_t run, float *panel) {
    const hu_operand *o = &source->operand;
    const float *data = o->data + first * o->stride;
    int64_t inner = o->inner > 0 ? o->inner : source->terms;
    for (int64_t done = 0; done < run;) {
        int64_t outer = (k + done) / inner, at = (k + done) % inner;
        int64_t length = inner - at < run - done ? inner - at : run - done;
        int64_t offset = (o->inner > 0 ? outer * o->outer_stride : 0) + at * o->k_stride;
        pack_run(source, data + offset, length, width, valid, panel + done * width);
        done += length;
    }
}

/* Padding was rounded with the rest: zeros that no source has. */
static void round_panel(const hu_source *source, int64_t run, int width, int valid, float *panel,
                        hu_round_counts *counts) {
    uint64_t padding = (uint64_t)run * (uint64_t)(width - valid);
    hu_rounder_run(&source->rounder, (size_t)(run * width), panel, panel, NULL, 0, counts);
    if (!counts) return;
    counts->elements -= padding;
    counts->zero -= padding;
}

/* Elements (first .. first+width-1, k .. k+run-1) -> panel[run][width], zeros after the last row;
 * HU_PACK_SPILL floats after the panel may change. run <= HU_SOURCE_RUN_MAX. Numbers rounded here
 * are added to counts (NULL: not counted). */
static void hu_source_pack(const hu_source *source, int64_t first, int width, int64_t k,
                           int64_t run, float *panel, hu_round_counts *counts) {
    int64_t left = source->rows - first;
    int valid = left < width ? (int)left : width;
    if (!source->operand.patches)
        pack_matrix(source, first, width, valid, k, run, panel);
    else if (source->operand.transposed)
        hu_source_pack_columns_of_patches(source, first, width, valid, k, run, panel);
    else
        hu_source_pack_patches(source, first, width, valid, k, run, panel);
    if (source->is_rounded) round_panel(source, run, width, valid, panel, counts);
}

void hu_source_pack_side(const hu_source *source, int64_t first, int width, int64_t panels,
                         int64_t k, int64_t run, int64_t step, float *panel,
                         hu_round_counts *counts) {
    const hu_operand *o = &source->operand;
    int64_t whole = (source->rows - first) / width, p = 0;
    if (whole > panels) whole = panels;
    if (whole > 1 && hu_source_is_side_by_side(o)) {
        source->pack->side(o->data + first + k * o->k_stride, o->k_stride, run, width, whole, step,
                           panel);
        for (; p < whole; p++)
            if (source->is_rounded)
                round_panel(source, run, width, width, panel + p * step, counts);
    }
    for (; p < panels; p++)
        hu_source_pack(source, first + p * width, width, k, run, panel + p * step, counts);
}
