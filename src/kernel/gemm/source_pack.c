/* kernel/gemm/source_pack.c - panels of strided matrices, and rounding on the way. */
#include "kernel/gemm/source_pack.h"

#include "kernel/gemm/source_patches.h"

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

void hu_source_pack(const hu_source *source, int64_t first, int width, int64_t k, int64_t run,
                    float *panel, hu_round_counts *counts) {
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
