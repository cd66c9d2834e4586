#include "kernel/gemm/operand.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
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

/* Where element (i, k) lies in operand->data, in floats; -1 where a patch reads the zero outside
 * its image. The operand and 0 <= i, 0 <= k within its extents are checked before. */
static int64_t hu_operand_offset(const hu_operand *operand, int64_t i, int64_t k) {
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

/* ---- What a product rejects before it reads a number ---- */

/* Extents and strides of patches beyond this are refused: sums and products of three then fit. */
enum { PATCH_LIMIT = 1 << 20 };

/* Rows, columns and terms beyond this are refused: extents padded to whole tiles then fit. */
#define EXTENT_LIMIT ((int64_t)1 << 48)

enum { FLOAT_ALIGNMENT = 4, SCRATCH_ALIGNMENT = 64 };

/* A run of memory, for the test of overlap. */
typedef struct span {
    const char *name;
    const void *start;
    int64_t floats;
} span;

static bool is_aligned(const void *pointer, uintptr_t alignment) {
    return (uintptr_t)pointer % alignment == 0;
}

static hu_status fail_extent(const char *name, const char *what, int64_t value) {
    return hu_fail(HU_ERR_SHAPE, "gemm: %s of operand %s is %lld, allowed 1..%d", what, name,
                   (long long)value, PATCH_LIMIT);
}

/* Each extent by itself; patch_span() looks at their products. */
static hu_status check_patch_extents(const hu_patches *p, const char *name) {
    const struct {
        const char *what;
        int64_t value;
    } positive[] = {{"in_h", p->in_h},         {"in_w", p->in_w},         {"channels", p->channels},
                    {"out_h", p->out_h},       {"out_w", p->out_w},       {"kernel_h", p->kernel_h},
                    {"kernel_w", p->kernel_w}, {"stride_h", p->stride_h}, {"stride_w", p->stride_w},
                    {"up_h", p->up_h},         {"up_w", p->up_w}},
      any[] = {{"pad_h", p->pad_h},
               {"pad_w", p->pad_w},
               {"dilation_h", p->dilation_h},
               {"dilation_w", p->dilation_w}};
    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
        if (positive[i].value < 1 || positive[i].value > PATCH_LIMIT)
            return fail_extent(name, positive[i].what, positive[i].value);
    for (size_t i = 0; i < sizeof any / sizeof any[0]; i++)
        if (any[i].value < -PATCH_LIMIT || any[i].value > PATCH_LIMIT)
            return hu_fail(HU_ERR_SHAPE, "gemm: %s of operand %s is %lld, allowed -%d..%d",
                           any[i].what, name, (long long)any[i].value, PATCH_LIMIT, PATCH_LIMIT);
    if (p->count < 0)
        return hu_fail(HU_ERR_SHAPE, "gemm: operand %s has %lld images", name, (long long)p->count);
    if (p->pixel_stride < p->channels)
        return hu_fail(HU_ERR_ARGUMENT,
                       "gemm: pixels of operand %s are %lld floats apart, at least %lld channels",
                       name, (long long)p->pixel_stride, (long long)p->channels);
    return HU_OK;
}

static hu_status fail_size(const char *name) {
    return hu_fail(HU_ERR_SHAPE, "gemm: operand %s is larger than any memory", name);
}

/* Patches [count, out_h, out_w] of [kernel_h, kernel_w, channels] numbers: rows x terms, or turned.
 * *floats: to the last channel of the last pixel, without the gap after it. */
static hu_status patch_span(const hu_operand *operand, int64_t rows, int64_t terms,
                            const char *name, int64_t *floats) {
    hu_status st = HU_OK;
    const hu_patches *p = operand->patches;
    int64_t patches, columns, pixels, wanted_patches = operand->transposed ? terms : rows;
    int64_t wanted_columns = operand->transposed ? rows : terms;
    HU_TRY(check_patch_extents(p, name));
    columns = p->kernel_h * p->kernel_w * p->channels;
    if (!hu_mul_i64(p->count, p->out_h * p->out_w, &patches) ||
        !hu_mul_i64(p->count, p->in_h * p->in_w, &pixels) ||
        !hu_mul_i64(pixels, p->pixel_stride, floats))
        return fail_size(name);
    if (patches != wanted_patches || columns != wanted_columns)
        return hu_fail(HU_ERR_SHAPE,
                       "gemm: operand %s has %lld patches of %lld numbers, expected %lld of %lld",
                       name, (long long)patches, (long long)columns, (long long)wanted_patches,
                       (long long)wanted_columns);
    if (pixels > 0) *floats -= p->pixel_stride - p->channels;
done:
    return st;
}

/* Element (i, k) lies at i stride + (k / inner) outer_stride + (k % inner) k_stride: *floats is one
 * more than the offset of the last row's farthest term. */
static hu_status matrix_span(const hu_operand *operand, int64_t rows, int64_t terms,
                             const char *name, int64_t *floats) {
    int64_t inner = operand->inner > 0 ? operand->inner : terms, down, along, across, last;
    *floats = 0;
    if (operand->stride < 0 || operand->k_stride < 0 || operand->inner < 0 ||
        (operand->inner > 0 && operand->outer_stride < 0))
        return hu_fail(HU_ERR_ARGUMENT,
                       "gemm: strides of operand %s are (%lld, %lld), inner %lld, outer %lld; none "
                       "may be negative",
                       name, (long long)operand->stride, (long long)operand->k_stride,
                       (long long)operand->inner, (long long)operand->outer_stride);
    if (rows == 0 || terms == 0) return HU_OK;
    if (inner > terms) inner = terms;
    if (!hu_mul_i64(rows - 1, operand->stride, &down) ||
        !hu_mul_i64(inner - 1, operand->k_stride, &along) ||
        !hu_mul_i64((terms - 1) / inner, operand->inner > 0 ? operand->outer_stride : 0, &across) ||
        !hu_add_i64(down, along, &last) || !hu_add_i64(last, across, &last) ||
        !hu_add_i64(last, 1, floats))
        return fail_size(name);
    return HU_OK;
}

hu_status hu_operand_span(const hu_operand *operand, int64_t rows, int64_t terms, const char *name,
                          int64_t *floats) {
    hu_status st = HU_OK;
    *floats = 0;
    if (operand->format) {
        st = hu_format_check(operand->format);
        if (st != HU_OK) return hu_fail_within(st, "gemm: operand %s: ", name);
        if ((unsigned)operand->rounding >= HU_ROUND_STOCHASTIC)
            return hu_fail(HU_ERR_ARGUMENT, "gemm: operand %s is rounded %s, allowed 0..%d", name,
                           hu_rounding_name(operand->rounding), HU_ROUND_STOCHASTIC - 1);
    }
    if (operand->patches)
        HU_TRY(patch_span(operand, rows, terms, name, floats));
    else
        HU_TRY(matrix_span(operand, rows, terms, name, floats));
    if (*floats > (int64_t)(PTRDIFF_MAX / (int64_t)sizeof(float))) st = fail_size(name);
done:
    return st;
}

/* A buffer that is read or written: there, and aligned like a float. */
static hu_status check_floats(const void *pointer, const char *name) {
    if (!pointer) return hu_fail(HU_ERR_ARGUMENT, "gemm: %s is missing", name);
    if (!is_aligned(pointer, FLOAT_ALIGNMENT))
        return hu_fail(HU_ERR_ARGUMENT, "gemm: %s at %p is not 4-byte aligned", name, pointer);
    return HU_OK;
}

/* hu_operand_span, and the pointer: there and 4-byte aligned unless the operand is empty. */
static hu_status hu_operand_check(const hu_operand *operand, int64_t rows, int64_t terms,
                                  const char *name, int64_t *floats) {
    hu_status st = hu_operand_span(operand, rows, terms, name, floats);
    if (st != HU_OK || *floats == 0) return st;
    return check_floats(operand->data, name);
}

hu_status hu_gemm_check_extents(const hu_gemm_task *task) {
    int64_t m = task->m, n = task->n, k = task->k, elements, terms;
    if (m < 0 || n < 0 || k < 0)
        return hu_fail(HU_ERR_SHAPE, "gemm: m = %lld, n = %lld, k = %lld; none may be negative",
                       (long long)m, (long long)n, (long long)k);
    if (m > EXTENT_LIMIT || n > EXTENT_LIMIT || k > EXTENT_LIMIT || !hu_mul_i64(m, n, &elements) ||
        !hu_mul_i64(elements, k, &terms) || elements > PTRDIFF_MAX / (int64_t)sizeof(float) / 2)
        return hu_fail(HU_ERR_SHAPE, "gemm: %lld x %lld elements of %lld terms are too many",
                       (long long)m, (long long)n, (long long)k);
    return HU_OK;
}

/* `before` counts terms of earlier calls: with this one's they stay a number of terms. */
static hu_status check_rows_and_terms(const hu_gemm_task *task) {
    int64_t last;
    if (task->before < 0 || !hu_add_i64(task->before, task->k, &last))
        return hu_fail(HU_ERR_SHAPE, "gemm: %lld terms came before %lld", (long long)task->before,
                       (long long)task->k);
    if (task->m > 1 && task->c_stride < task->n)
        return hu_fail(HU_ERR_ARGUMENT, "gemm: rows of c are %lld floats apart, at least %lld",
                       (long long)task->c_stride, (long long)task->n);
    return HU_OK;
}

/* Carry, threads and scratch. */
static hu_status check_others(const hu_gemm_task *task) {
    if (task->before > 0 && !task->carry)
        return hu_fail(HU_ERR_ARGUMENT, "gemm: %lld terms came before, but carry is missing",
                       (long long)task->before);
    if (task->threads < 1)
        return hu_fail(HU_ERR_ARGUMENT, "gemm: %d threads, at least 1", task->threads);
    if (!is_aligned(task->scratch, SCRATCH_ALIGNMENT))
        return hu_fail(HU_ERR_ARGUMENT, "gemm: scratch at %p is not 64-byte aligned",
                       task->scratch);
    return HU_OK;
}

/* Addresses are compared as integers: the two need not be of one array. */
static hu_status check_overlap(const span *written, const span *other) {
    uintptr_t w = (uintptr_t)written->start, o = (uintptr_t)other->start;
    if (written->floats == 0 || other->floats == 0 || !other->start) return HU_OK;
    uintptr_t w_end = w + (uintptr_t)written->floats * sizeof(float);
    uintptr_t o_end = o + (uintptr_t)other->floats * sizeof(float);
    if (w_end <= o || o_end <= w) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "gemm: %s (%lld floats at %p) overlaps %s (%lld floats at %p)",
                   written->name, (long long)written->floats, written->start, other->name,
                   (long long)other->floats, other->start);
}

/* Floats of c from its first to its last element, rows c_stride apart. */
static hu_status c_span(const hu_gemm_task *task, int64_t *floats) {
    *floats = 0;
    if (task->m == 0 || task->n == 0) return HU_OK;
    if (!hu_mul_i64(task->m - 1, task->m > 1 ? task->c_stride : 0, floats) ||
        !hu_add_i64(*floats, task->n, floats) || *floats > PTRDIFF_MAX / (int64_t)sizeof(float))
        return fail_size("c");
    return check_floats(task->c, "c");
}

enum { SPAN_COUNT = 5, WRITTEN_COUNT = 2 };

/* The buffers of a task, those that are written first; checks what lies in them. */
static hu_status spans_of(const hu_gemm_task *task, span spans[SPAN_COUNT]) {
    hu_status st = HU_OK;
    int64_t a, b, c, carry = 0;
    HU_TRY(hu_operand_check(&task->a, task->m, task->k, "a", &a));
    HU_TRY(hu_operand_check(&task->b, task->n, task->k, "b", &b));
    HU_TRY(c_span(task, &c));
    if (task->bias) HU_TRY(check_floats(task->bias, "bias"));
    if (task->carry) {
        HU_TRY(check_floats(task->carry, "carry"));
        carry = (int64_t)hu_gemm_carry_floats(&task->accumulator, task->m, task->n);
    }
    spans[0] = (span){"c", task->c, c};
    spans[1] = (span){"carry", task->carry, carry};
    spans[2] = (span){"a", task->a.data, a};
    spans[3] = (span){"b", task->b.data, b};
    spans[4] = (span){"bias", task->bias, task->bias ? task->n : 0};
done:
    return st;
}

hu_status hu_gemm_check(const hu_gemm_task *task) {
    hu_status st = HU_OK;
    span spans[SPAN_COUNT];
    HU_TRY(hu_gemm_check_extents(task));
    HU_TRY(check_rows_and_terms(task));
    HU_TRY(hu_accumulator_check(&task->accumulator));
    HU_TRY(spans_of(task, spans));
    HU_TRY(check_others(task));
    /* Nothing that is written may overlap any other buffer; what is only read may be shared. */
    for (int written = 0; written < WRITTEN_COUNT; written++)
        for (int other = written + 1; other < SPAN_COUNT; other++)
            HU_TRY(check_overlap(&spans[written], &spans[other]));
done:
    return st;
}

hu_status hu_gemm_check_scratch(const hu_gemm_task *task, size_t bytes) {
    hu_status st = HU_OK;
    span spans[SPAN_COUNT];
    const span scratch = {"scratch", task->scratch, (int64_t)(bytes / sizeof(float))};
    if (!task->scratch) return HU_OK;
    HU_TRY(spans_of(task, spans));
    for (int other = 0; other < SPAN_COUNT; other++) HU_TRY(check_overlap(&scratch, &spans[other]));
done:
    return st;
}
