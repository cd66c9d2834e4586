#include "kernel/gemm/operand.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "format/value.h"
#include "kernel/block/block.h"
#include "kernel/round/round.h"

/* ---- accumulator ---- */

/* reading, writing and checking accumulators.
 *
 *   accumulator = "fmacs" | mode ":" F
 *   mode        = "macs" | "fmac" | "mac" | "fmac" K | "kahan" | "kahan-cpd"
 *
 * F is any format, K the decimal number of terms of a block.
 */

enum { MODE_MAX = 31, TEXT_MIN = 96, FORMAT_TEXT = 64 };

static const char *const mac_names[HU_MAC_COUNT] = {
    [HU_MAC_FMACS] = "fmacs",        [HU_MAC_MACS] = "macs",
    [HU_MAC_FMAC] = "fmac",          [HU_MAC_MAC] = "mac",
    [HU_MAC_FMAC_K] = "fmac-k",      [HU_MAC_KAHAN] = "kahan",
    [HU_MAC_KAHAN_CPD] = "kahan-cpd"};

/* FMAC-K is spelled with its number: fmac8 stands for all of them in messages. */
static const char *const spelled_names[HU_MAC_COUNT] = {"fmacs", "macs",  "fmac",     "mac",
                                                        "fmac8", "kahan", "kahan-cpd"};

static const char *const semantics_names[HU_SEMANTICS_COUNT] = {
    [HU_SEMANTICS_EXACT] = "exact", [HU_SEMANTICS_F32FMA] = "f32fma", [HU_SEMANTICS_CPD] = "cpd"};

const char *hu_mac_name(hu_mac mac) {
    return (unsigned)mac < HU_MAC_COUNT ? mac_names[mac] : "?";
}

const char *hu_semantics_name(hu_semantics semantics) {
    return (unsigned)semantics < HU_SEMANTICS_COUNT ? semantics_names[semantics] : "?";
}

/* HU_ERR_UNKNOWN with the nearest modes; text stands in the message, `length` of it is the mode. */
static hu_status fail_unknown(const char *text, size_t length) {
    char mode[MODE_MAX + 1], nearest[128];
    snprintf(mode, sizeof mode, "%.*s", (int)(length < MODE_MAX ? length : MODE_MAX), text);
    hu_nearest(mode, spelled_names, HU_MAC_COUNT, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN,
                   "accumulator '%.160s': unknown mode '%s'; the nearest are %s (one of fmacs, "
                   "macs:F, fmac:F, mac:F, fmacK:F, kahan:F, kahan-cpd:F)",
                   text, mode, nearest);
}

/* The digits after "fmac"; mode is known to hold at least one and nothing else. */
static hu_status read_block(const char *text, const char *digits, int64_t *block) {
    int64_t value = 0;
    for (const char *c = digits; *c != '\0'; c++)
        if (!hu_mul_i64(value, 10, &value) || !hu_add_i64(value, *c - '0', &value))
            return hu_fail(HU_ERR_ARGUMENT, "accumulator '%.160s': block of %s terms, at most %lld",
                           text, digits, (long long)INT64_MAX);
    if (value < 1)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator '%.160s': block of 0 terms, at least 1", text);
    *block = value;
    return HU_OK;
}

/* The word before the colon, upper or lower case. Only FMAC-K has a number after its name. */
static hu_status read_mode(const char *text, size_t length, hu_accumulator *accumulator) {
    char mode[MODE_MAX + 1] = "";
    if (length > MODE_MAX) return fail_unknown(text, length);
    for (size_t i = 0; i < length; i++) mode[i] = (char)tolower((unsigned char)text[i]);
    for (int i = 0; i < HU_MAC_COUNT; i++)
        if (i != HU_MAC_FMAC_K && strcmp(mode, mac_names[i]) == 0) {
            accumulator->mac = (hu_mac)i;
            return HU_OK;
        }
    if (strncmp(mode, "fmac", 4) != 0 || strspn(mode + 4, "0123456789") + 4 != length)
        return fail_unknown(text, length);
    accumulator->mac = HU_MAC_FMAC_K;
    return read_block(text, mode + 4, &accumulator->block);
}

/* Sums have a NaN, whatever the format's codes, and are rounded where they are made: by the steps
 * of a float. */
static hu_status check_sums(const hu_format *format) {
    if (hu_format_is_table(format))
        return hu_fail(HU_ERR_FORMAT,
                       "found a format by table, expected a float: sums are rounded to one inside "
                       "the product");
    if (format->nan != HU_NAN_STAYS)
        return hu_fail(HU_ERR_FORMAT, "found nan=ovf, expected a format whose NaN stays");
    if (format->overflow == HU_OVERFLOW_PROPAGATE)
        return hu_fail(HU_ERR_FORMAT, "found ovf=propagate, expected ovf=inf, sat or nan");
    return HU_OK;
}

/* The mode, and the format of all modes but fmacs. */
static hu_status read_accumulator(const char *text, hu_accumulator *accumulator) {
    hu_status st = HU_OK;
    size_t length = strcspn(text, ":");
    HU_TRY(read_mode(text, length, accumulator));
    if (accumulator->mac == HU_MAC_FMACS) {
        if (text[length] == '\0') return HU_OK;
        return hu_fail(HU_ERR_PARSE,
                       "accumulator '%.160s', column %zu: found ':', expected the end (fmacs adds "
                       "in float32)",
                       text, length + 1);
    }
    if (text[length] == '\0')
        return hu_fail(HU_ERR_PARSE,
                       "accumulator '%.160s', column %zu: found the end, expected ':' and the "
                       "accumulator's format",
                       text, length + 1);
    st = hu_format_parse(text + length + 1, &accumulator->format);
    if (st != HU_OK && hu_block_format_find(text + length + 1))
        st = hu_fail(HU_ERR_PARSE, "found the block format '%s', expected that of single numbers",
                     text + length + 1);
    if (st == HU_OK) st = check_sums(&accumulator->format);
    if (st != HU_OK) hu_fail_within(st, "accumulator '%.160s': ", text);
done:
    return st;
}

hu_status hu_accumulator_parse(const char *text, hu_accumulator *accumulator) {
    HU_GIVEN(accumulator);
    *accumulator = (hu_accumulator){0};
    HU_GIVEN(text);
    hu_accumulator read = {.semantics = HU_SEMANTICS_EXACT};
    memset(accumulator, 0, sizeof *accumulator);
    hu_status st = read_accumulator(text, &read);
    if (st == HU_OK) *accumulator = read;
    return st;
}

hu_status hu_accumulator_check(const hu_accumulator *accumulator) {
    HU_GIVEN(accumulator);
    hu_status st = HU_OK;
    if ((unsigned)accumulator->mac >= HU_MAC_COUNT)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator mode %d, allowed 0..%d", (int)accumulator->mac,
                       HU_MAC_COUNT - 1);
    if ((unsigned)accumulator->semantics >= HU_SEMANTICS_COUNT)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator semantics %d, allowed 0..%d",
                       (int)accumulator->semantics, HU_SEMANTICS_COUNT - 1);
    if (accumulator->mac == HU_MAC_FMAC_K && accumulator->block < 1)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator fmac-k: block of %lld terms, at least 1",
                       (long long)accumulator->block);
    if (accumulator->mac == HU_MAC_FMACS) return HU_OK;
    st = hu_format_check(&accumulator->format);
    if (st == HU_OK) st = check_sums(&accumulator->format);
    if (st != HU_OK) hu_fail_within(st, "accumulator %s: ", mac_names[accumulator->mac]);
    return st;
}

hu_status hu_accumulator_print(const hu_accumulator *accumulator, char *text, uint32_t capacity) {
    HU_GIVEN(accumulator);
    HU_GIVEN(text);
    hu_status st = HU_OK;
    char format[FORMAT_TEXT];
    if (capacity > 0) text[0] = '\0';
    if (capacity < TEXT_MIN)
        return hu_fail(HU_ERR_ARGUMENT, "accumulator name into %u bytes, at least %d are needed",
                       capacity, TEXT_MIN);
    HU_TRY(hu_accumulator_check(accumulator));
    if (accumulator->mac == HU_MAC_FMACS) {
        snprintf(text, capacity, "fmacs");
        return HU_OK;
    }
    HU_TRY(hu_format_print(&accumulator->format, format, sizeof format));
    if (accumulator->mac == HU_MAC_FMAC_K)
        snprintf(text, capacity, "fmac%" PRId64 ":%s", accumulator->block, format);
    else
        snprintf(text, capacity, "%s:%s", mac_names[accumulator->mac], format);
done:
    return st;
}

/* Two states of m x n floats, `sum` before `extra` (kernel.h); SIZE_MAX: more than any memory. */
size_t hu_gemm_carry_floats(int64_t m, int64_t n) {
    size_t floats;
    if (m < 0 || n < 0) return 0;
    if (!hu_mul_size((size_t)m, (size_t)n, &floats) || !hu_mul_size(floats, 2, &floats))
        return SIZE_MAX;
    return floats;
}

/* ---- operand ---- */

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
    int64_t a, b, c;
    HU_TRY(hu_operand_check(&task->a, task->m, task->k, "a", &a));
    HU_TRY(hu_operand_check(&task->b, task->n, task->k, "b", &b));
    HU_TRY(c_span(task, &c));
    if (task->bias) HU_TRY(check_floats(task->bias, "bias"));
    if (task->carry) HU_TRY(check_floats(task->carry, "carry"));
    spans[0] = (span){"c", task->c, c};
    spans[1] = (span){"carry", task->carry, task->carry ? 2 * task->m * task->n : 0};
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
