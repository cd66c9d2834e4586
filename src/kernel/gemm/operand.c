/* kernel/gemm/operand.c - where the numbers of a factor lie. */
#include "kernel/gemm/operand.h"

#include "kernel/round/round.h"

static int64_t matrix_offset(const hu_operand *operand, int64_t i, int64_t k) {
    int64_t run = operand->inner > 0 ? k / operand->inner : 0;
    int64_t rest = operand->inner > 0 ? k % operand->inner : k;
    return i * operand->stride + run * operand->outer_stride + rest * operand->k_stride;
}

/* The pixel that lies at `place` of the image stretched by up (up - 1 zeros between pixels, as the
 * input gradient of a strided convolution reads them); -1 where there is none. */
static int64_t pixel_at(int64_t place, int64_t up, int64_t extent) {
    if (place < 0 || place % up != 0 || place / up >= extent) return -1;
    return place / up;
}

/* Patch `row` [image, y, x] reads number `column` [kernel row, kernel column, channel] of its
 * window: the pixel y stride - pad + kh dilation of the stretched image, likewise in x. */
static int64_t patch_offset(const hu_patches *p, int64_t row, int64_t column) {
    int64_t x = row % p->out_w, y = row / p->out_w % p->out_h, image = row / p->out_w / p->out_h;
    int64_t channel = column % p->channels, kw = column / p->channels % p->kernel_w;
    int64_t kh = column / p->channels / p->kernel_w;
    int64_t in_y = pixel_at(y * p->stride_h - p->pad_h + kh * p->dilation_h, p->up_h, p->in_h);
    int64_t in_x = pixel_at(x * p->stride_w - p->pad_w + kw * p->dilation_w, p->up_w, p->in_w);
    if (in_y < 0 || in_x < 0) return -1;
    return ((image * p->in_h + in_y) * p->in_w + in_x) * p->pixel_stride + channel;
}

int64_t hu_operand_offset(const hu_operand *operand, int64_t i, int64_t k) {
    if (!operand->patches) return matrix_offset(operand, i, k);
    return operand->transposed ? patch_offset(operand->patches, k, i)
                               : patch_offset(operand->patches, i, k);
}

float hu_operand_at(const hu_operand *operand, int64_t i, int64_t k) {
    int64_t offset = hu_operand_offset(operand, i, k);
    float value = offset < 0 ? 0.0f : operand->data[offset];
    if (!operand->format || offset < 0) return value;
    return hu_format_round(operand->format, operand->rounding, value, 0);
}

/* Every pixel once, though patches read it many times: as hu_source_round_images counts. */
static void count_images(const hu_rounder *rounder, const hu_operand *operand) {
    const hu_patches *p = operand->patches;
    float ignored;
    for (int64_t pixel = 0; pixel < p->count * p->in_h * p->in_w; pixel++)
        for (int64_t c = 0; c < p->channels; c++)
            hu_rounder_run(rounder, 1, &operand->data[pixel * p->pixel_stride + c], &ignored, NULL,
                           0, operand->counts);
}

void hu_operand_count(const hu_operand *operand, int64_t rows, int64_t terms) {
    hu_rounder rounder;
    float ignored;
    if (!operand->format || !operand->counts ||
        hu_rounder_init(&rounder, operand->format, operand->rounding) != HU_OK)
        return;
    if (operand->patches) {
        count_images(&rounder, operand);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < terms; k++)
            hu_rounder_run(&rounder, 1, &operand->data[matrix_offset(operand, i, k)], &ignored,
                           NULL, 0, operand->counts);
}
