/* Attributes of operations as texts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "op/attributes.h"

static hu_status read(const hu_op *op, const char *text, void *attrs) {
    if (attrs) memset(attrs, 0, op->attrs_bytes);
    return hu_attributes_read(op->attributes, text, attrs);
}

static void presets_fill_what_a_text_leaves_open(void **state) {
    (void)state;
    hu_conv_attrs conv;
    assert_int_equal(read(&hu_op_conv2d, " out=64  kernel=3x5 pad=1 ", &conv), HU_OK);
    assert_int_equal(conv.out_channels, 64);
    assert_true(conv.kernel_h == 3 && conv.kernel_w == 5 && conv.pad_h == 1 && conv.pad_w == 1);
    assert_true(conv.stride_h == 1 && conv.stride_w == 1 && conv.dilation_w == 1);
    assert_true(conv.groups == 1 && conv.has_bias);
    assert_int_equal(read(&hu_op_conv2d, "kernel=1 out=8 bias=off groups=4", &conv), HU_OK);
    assert_true(!conv.has_bias && conv.groups == 4);
    hu_batch_norm_attrs norm;
    assert_int_equal(read(&hu_op_batch_norm, "", &norm), HU_OK);
    assert_true(norm.epsilon == 1e-5f && norm.momentum == 0.1f);
    hu_dropout_attrs dropout;
    assert_int_equal(read(&hu_op_dropout, "probability=0.25", &dropout), HU_OK);
    assert_true(dropout.probability == 0.25f);
    assert_int_equal(read(&hu_op_relu, "", NULL), HU_OK);
    hu_reshape_attrs reshape;
    const hu_shape image = {3, {28, 14, 2}};
    assert_int_equal(read(&hu_op_reshape, "shape=28x14x2", &reshape), HU_OK);
    assert_true(hu_shape_equal(&reshape.shape, &image));
    hu_row_loss_attrs rows;
    assert_int_equal(read(&hu_op_nll, "ignores=on ignored=-1", &rows), HU_OK);
    assert_true(rows.ignores && rows.ignored == -1);
    hu_reduce_attrs reduce;
    assert_int_equal(read(&hu_op_reduce_mean, "axes=0,-1,2 keep=on", &reduce), HU_OK);
    assert_true(reduce.axes.count == 3 && reduce.axes.at[1] == -1 && reduce.axes.at[2] == 2);
    assert_true(reduce.keeps);
    assert_int_equal(read(&hu_op_reduce_mean, "", &reduce), HU_OK);
    assert_true(reduce.axes.count == 0 && !reduce.keeps);
}

static void writes(const hu_op *op, const char *text, const char *expected) {
    union {
        int64_t aligned;
        char bytes[512];
    } attrs;
    char *written;
    assert_int_equal(read(op, text, attrs.bytes), HU_OK);
    assert_int_equal(hu_op_write_attributes(op, &attrs, NULL, &written), HU_OK);
    assert_string_equal(written, expected);
    hu_free(written);
}

static void texts_leave_out_what_is_usual(void **state) {
    (void)state;
    writes(&hu_op_reduce_sum, "keep=off axes=2,-3", "axes=2,-3");
    writes(&hu_op_reduce_sum, "keep=on", "keep=on");
    writes(&hu_op_reduce_max, "", "");
    writes(&hu_op_reshape, "shape=-1x4", "shape=-1x4");
    writes(&hu_op_transpose, "axes=1,0,2", "axes=1,0,2");
    writes(&hu_op_slice, "axis=1 start=-3 step=2 end=0", "axis=1 start=-3 step=2");
    writes(&hu_op_pad, "after=0,1 value=-0.5", "after=0,1 value=-0.5");
    writes(&hu_op_split, "sizes=2,3 axis=0", "axis=0 sizes=2,3");
    writes(&hu_op_split, "first=4 rows=on", "first=4 rows=on");
    writes(&hu_op_concat, "axis=-2", "axis=-2");
    writes(&hu_op_softmax, "axis=-1", "axis=-1");
    writes(&hu_op_group_norm, "groups=4 affine=on epsilon=0.001", "groups=4 epsilon=0.001");
    writes(&hu_op_instance_norm, "affine=off", "affine=off");
    writes(&hu_op_rms_norm, "epsilon=1e-06", "");
    writes(&hu_op_rotary, "base=10000 heads=3 pairs=on", "heads=3 pairs=on");
    writes(&hu_op_avg_pool1d, "kernel=3 stride=2 count_padding=on",
           "kernel=3 stride=2 count_padding=on");
    writes(&hu_op_conv1d, "kernel=3 out=8 stride=1 more=-2 pad=2 init=normal:0.5",
           "out=8 kernel=3 pad=2 more=-2 init=normal:0.5");
}

static void shapes_decide_what_is_usual(void **state) {
    (void)state;
    hu_pool_attrs pool;
    hu_shape image = {3, {8, 8, 4}};
    assert_int_equal(read(&hu_op_max_pool, "kernel=2x3", &pool), HU_OK);
    hu_op_max_pool.usual(&pool, &image);
    assert_true(pool.stride_h == 2 && pool.stride_w == 3);
    hu_linear_attrs linear;
    assert_int_equal(read(&hu_op_linear, "out=10", &linear), HU_OK);
    hu_op_linear.usual(&linear, &image);
    assert_true(linear.weight_init.scale == 1.0f / 16.0f);
}

static void refuses(const hu_op *op, const char *text, hu_status status, const char *word) {
    char attrs[512];
    assert_int_equal(read(op, text, attrs), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void errors_say_what_was_found(void **state) {
    (void)state;
    refuses(&hu_op_conv2d, "out=64 kernl=3", HU_ERR_UNKNOWN, "'kernel'");
    refuses(&hu_op_conv2d, "out=64", HU_ERR_ARGUMENT, "kernel is missing");
    refuses(&hu_op_conv2d, "out=6.5 kernel=3", HU_ERR_PARSE, "out: found '6.5'");
    refuses(&hu_op_conv2d, "out=6 kernel=3x", HU_ERR_PARSE, "kernel: found '3x'");
    refuses(&hu_op_conv2d, "out=6 kernel=3x3x3", HU_ERR_PARSE, "kernel");
    refuses(&hu_op_conv2d, "out=6 out=7 kernel=3", HU_ERR_ARGUMENT, "out is given twice");
    refuses(&hu_op_conv2d, "out=6 kernel=3 bias=maybe", HU_ERR_PARSE, "expected on or off");
    refuses(&hu_op_conv2d, "out", HU_ERR_PARSE, "expected NAME=VALUE");
    refuses(&hu_op_dropout, "probability=inf", HU_ERR_PARSE, "expected a number");
    refuses(&hu_op_reshape, "", HU_ERR_ARGUMENT, "shape is missing");
    refuses(&hu_op_reshape, "shape=", HU_ERR_PARSE, "expected extents as 7x7x16");
    refuses(&hu_op_reshape, "shape=7x7x", HU_ERR_PARSE, "found '7x7x'");
    refuses(&hu_op_reshape, "shape=1x1x1x1x1x1x1x1x1", HU_ERR_PARSE, "expected extents");
    refuses(&hu_op_reduce_mean, "axes=", HU_ERR_PARSE,
            "axes: found '', expected whole numbers as 0,1");
    refuses(&hu_op_reduce_mean, "axes=0,", HU_ERR_PARSE, "found '0,'");
    refuses(&hu_op_reduce_mean, "axes=0x1", HU_ERR_PARSE, "found '0x1'");
    refuses(&hu_op_reduce_mean, "axes=0,1,2,3,4,5,6,7,8", HU_ERR_PARSE, "expected whole numbers");
    refuses(&hu_op_relu, "slope=1", HU_ERR_UNKNOWN, "expected none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_fill_what_a_text_leaves_open),
        cmocka_unit_test(texts_leave_out_what_is_usual),
        cmocka_unit_test(shapes_decide_what_is_usual),
        cmocka_unit_test(errors_say_what_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
