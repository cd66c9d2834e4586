/* kernel/gemm/source.c - a factor is prepared: its images are rounded and measured, its caches
 * asked.
 */
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
