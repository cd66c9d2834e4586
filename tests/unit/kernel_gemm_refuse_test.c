/* What products refuse. */
#include <halfulp/gemm.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#include <cmocka.h>

static hu_gemm_task dot(const char *accumulator, int64_t k, const float *x, const float *y,
                        float *c) {
    hu_gemm_task task = {.m = 1, .n = 1, .k = k, .c = c, .threads = 1};
    task.a = (hu_operand){.data = x, .k_stride = 1};
    task.b = (hu_operand){.data = y, .k_stride = 1};
    if (hu_accumulator_parse(accumulator, &task.accumulator) != HU_OK)
        fail_msg("%s", hu_last_error());
    return task;
}

static void assert_refused(const char *what, const hu_gemm_task *task, hu_status status) {
    size_t bytes;
    const uint64_t blocks = hu_memory_count().live_blocks;
    hu_status st = hu_gemm(task), slow = hu_gemm_reference(task);
    hu_status sized = hu_gemm_scratch_bytes(task, &bytes);
    if (st != status || slow != status)
        fail_msg("%s: status %d and %d, expected %d (%s)", what, st, slow, status, hu_last_error());
    if (sized != HU_OK && sized != status) fail_msg("%s: scratch status %d", what, sized);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

static const char *const cases[] = {
    "m < 0",     "k < 0",     "m n",          "m n k",           "a stride", "b outer stride",
    "before",    "c stride",  "a < 0",        "inner < 0",       "no a",     "no c",
    "a aligned", "c aligned", "bias aligned", "scratch aligned", "a is c",   "b touches c",
    "bias in c", "no carry",  "carry is c",   "threads",         "mode",     "block",
    "format",    "a format",  "stochastic"};

static void spoil(hu_gemm_task *task, size_t which, float *c, hu_format *bad) {
    const int64_t huge = INT64_C(1) << 62;
    float *odd = (float *)((char *)c + 1);
    *bad = (hu_format){.exp_bits = 9, .man_bits = 3};
    switch (which) {
    case 0:
        task->m = -1;
        break;
    case 1:
        task->k = -1;
        break;
    case 2:
        task->m = huge, task->n = 4;
        break;
    case 3:
        task->m = task->n = INT64_C(1) << 24, task->k = huge;
        break;
    case 4:
        task->a.stride = huge;
        break;
    case 5:
        task->b.inner = 1, task->b.outer_stride = huge;
        break;
    case 6:
        task->before = INT64_MAX;
        break;
    case 7:
        task->c_stride = 1;
        break;
    case 8:
        task->a.stride = -4;
        break;
    case 9:
        task->b.inner = -1;
        break;
    case 10:
        task->a.data = NULL;
        break;
    case 11:
        task->c = NULL;
        break;
    case 12:
        task->a.data = odd;
        break;
    case 13:
        task->c = odd;
        break;
    case 14:
        task->bias = odd;
        break;
    case 15:
        task->scratch = c + 1;
        break;
    case 16:
        task->a.data = task->c;
        break;
    case 17:
        task->b.data = task->c + 3;
        break;
    case 18:
        task->bias = task->c + 2;
        break;
    case 19:
        task->before = 1;
        break;
    case 20:
        task->carry = task->c;
        break;
    case 21:
        task->threads = 0;
        break;
    case 22:
        task->accumulator.mac = HU_MAC_COUNT;
        break;
    case 23:
        task->accumulator.block = 0;
        break;
    case 24:
        task->accumulator.format.exp_bits = 9;
        break;
    case 25:
        task->a.format = bad;
        break;
    default:
        task->a.format = &task->accumulator.format, task->a.rounding = HU_ROUND_STOCHASTIC;
    }
}

static void bad_tasks_are_refused(void **state) {
    (void)state;
    static _Alignas(64) float c[256];
    float a[8] = {0}, b[8] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hu_format bad;
        hu_gemm_task task = dot("fmac8:1/6/9", 4, a, b, c);
        task.m = task.n = 2;
        task.a.stride = task.b.stride = 4;
        task.c_stride = 2;
        assert_int_equal(hu_gemm(&task), HU_OK);
        spoil(&task, i, c, &bad);
        assert_refused(cases[i], &task,
                       i < 7                ? HU_ERR_SHAPE
                       : i == 24 || i == 25 ? HU_ERR_FORMAT
                                            : HU_ERR_ARGUMENT);
    }
}

/* 2 images of 5 x 4 pixels of 3 channels, 4 floats apart; 3 x 4 patches of 3 x 2 pixels. */
enum { PATCHES = 24, KERNEL = 18, CHANNELS = 3, OUT = 2 };

static const hu_patches patches = {.count = 2,
                                   .in_h = 5,
                                   .in_w = 4,
                                   .channels = CHANNELS,
                                   .pixel_stride = 4,
                                   .out_h = 3,
                                   .out_w = 4,
                                   .kernel_h = 3,
                                   .kernel_w = 2,
                                   .stride_h = 2,
                                   .stride_w = 1,
                                   .pad_h = 1,
                                   .pad_w = 1,
                                   .dilation_h = 1,
                                   .dilation_w = 2,
                                   .up_h = 1,
                                   .up_w = 1};

static void bad_patches_are_refused(void **state) {
    (void)state;
    static float x[2 * 5 * 4 * 4], w[OUT * KERNEL], c[PATCHES * OUT];
    for (int i = 0; i < 7; i++) {
        hu_patches p = patches;
        hu_gemm_task task = dot("fmacs", KERNEL, x, w, c);
        task.m = PATCHES;
        task.n = OUT;
        task.a = (hu_operand){.data = x, .patches = &p};
        task.b.stride = KERNEL;
        task.c_stride = OUT;
        assert_int_equal(hu_gemm(&task), HU_OK);
        if (i == 0) p.count = 3;
        if (i == 1) p.channels = 2;
        if (i == 2) p.up_h = 0;
        if (i == 3) p.stride_w = 0;
        if (i == 4) p.count = INT64_MAX;
        if (i == 5) p.pad_h = INT64_MAX;
        if (i == 6) p.pixel_stride = CHANNELS - 1;
        assert_refused("patches", &task, i == 6 ? HU_ERR_ARGUMENT : HU_ERR_SHAPE);
    }
}

static void reference_takes_no_carry(void **state) {
    (void)state;
    float carry[2], one = 1.0f, c;
    hu_gemm_task task = dot("fmacs", 1, &one, &one, &c);
    task.carry = carry;
    assert_int_equal(hu_gemm_reference(&task), HU_ERR_ARGUMENT);
}

/* Strides of 0 let any extents fit the memory that is present. */
static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    static const char *const accumulators[] = {"fmacs", "fmac8:1/6/9", "kahan:1/6/9"};
    static const int64_t extents[][3] = {{1, 1, INT64_MAX},
                                         {1, INT64_MAX, 0},
                                         {INT64_MAX, 1, 1},
                                         {INT64_C(1) << 40, INT64_C(1) << 40, 1},
                                         {1, (INT64_C(1) << 48) + 1, 1}};
    float x[1] = {0}, c[1];
    for (size_t a = 0; a < sizeof accumulators / sizeof accumulators[0]; a++)
        for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
            size_t bytes;
            hu_gemm_task task = dot(accumulators[a], extents[i][2], x, x, c);
            task.m = extents[i][0];
            task.n = task.c_stride = extents[i][1];
            task.a.k_stride = task.b.k_stride = 0;
            assert_refused(accumulators[a], &task, HU_ERR_SHAPE);
            assert_int_equal(hu_gemm_scratch_bytes(&task, &bytes), HU_ERR_SHAPE);
            assert_int_equal(bytes, 0);
        }
}

static void scratch_that_overlaps_is_refused(void **state) {
    (void)state;
    size_t bytes;
    void *block;
    float x[4] = {1, 2, 3, 4}, bias[1] = {0}, c[1];
    hu_gemm_task task = dot("fmac8:1/6/9", 4, x, x, c);
    assert_int_equal(hu_gemm_scratch_bytes(&task, &bytes), HU_OK);
    assert_int_equal(hu_alloc(bytes + sizeof x, &block), HU_OK);
    float *last = (float *)block + bytes / sizeof(float) - 1;
    memcpy(last, x, sizeof x);
    for (int i = 0; i < 5; i++) {
        hu_gemm_task bad = task;
        bad.scratch = block;
        bad.bias = bias;
        assert_int_equal(hu_gemm(&bad), HU_OK);
        assert_true(c[0] == 30.0f);
        if (i == 0) bad.a.data = last;
        if (i == 1) bad.b.data = last;
        if (i == 2) bad.c = last;
        if (i == 3) bad.bias = last;
        if (i == 4) bad.carry = last;
        assert_int_equal(hu_gemm(&bad), HU_ERR_ARGUMENT);
    }
    task.scratch = block;
    task.a.data = last + 1;
    assert_int_equal(hu_gemm(&task), HU_OK);
    hu_free(block);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_tasks_are_refused),
        cmocka_unit_test(bad_patches_are_refused),
        cmocka_unit_test(reference_takes_no_carry),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(scratch_that_overlaps_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
