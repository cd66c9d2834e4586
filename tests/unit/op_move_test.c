/* slice, pad, transpose, concat and split: every number where the definition has it, both ways. */
#include "op/attributes.h"
#include "op_drive.h"

enum { BATCH = 5, MOST = 512 };

/* The place of each extent of element `at`. */
static void indices_of(const hu_shape *shape, int64_t at, int64_t index[HU_MAX_RANK]) {
    for (int i = shape->rank - 1; i >= 0; i--, at /= shape->extent[i + 1])
        index[i] = at % shape->extent[i];
}

static int64_t element_at(const hu_shape *shape, const int64_t index[HU_MAX_RANK]) {
    int64_t at = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (index[i] < 0 || index[i] >= shape->extent[i]) return -1;
        at = at * shape->extent[i] + index[i];
    }
    return at;
}

/* Which place of the input an output's place comes from; a definition of each op. */
typedef void source_fn(const void *attrs, int rank, const int64_t *out, int64_t *in);

static void same(float found, float expected) {
    assert_memory_equal(&found, &expected, sizeof found);
}

/* value: of outputs that come from no place of the input. */
static void check(const hu_op *op, const void *attrs, const hu_shape *in, const hu_shape *out,
                  source_fn *source, float value) {
    for (int64_t chunk = 1; chunk <= BATCH; chunk++) {
        drive d;
        drive_open(&d, op, attrs, 1, in, BATCH, chunk);
        if (!hu_shape_equal(&d.out_shape[0], out)) fail_msg("%s: wrong shape", op->name);
        drive_forward(&d);
        drive_backward(&d);
        int64_t ins = hu_shape_elements(in), outs = hu_shape_elements(out);
        for (int64_t s = 0; s < BATCH; s++) {
            float dx[MOST] = {0};
            for (int64_t i = 0; i < outs; i++) {
                int64_t to[HU_MAX_RANK], from[HU_MAX_RANK] = {0};
                indices_of(out, i, to);
                source(attrs, out->rank, to, from);
                int64_t at = element_at(in, from);
                same(d.out[0][s * outs + i], at < 0 ? value : d.in[0][s * ins + at]);
                if (at >= 0) dx[at] = d.dout[0][s * outs + i];
            }
            for (int64_t i = 0; i < ins; i++) same(d.din[0][s * ins + i], dx[i]);
        }
        drive_close(&d);
    }
}

static void sliced(const void *attrs, int rank, const int64_t *out, int64_t *in) {
    const hu_slice_attrs *a = attrs;
    int64_t axis = a->axis.count ? a->axis.at[0] : -1;
    memcpy(in, out, (size_t)rank * sizeof *in);
    if (axis < 0) axis += rank;
    in[axis] = (a->start < 0 ? a->start + 6 : a->start) + out[axis] * a->step; /* of 6 places */
}

static void slices_take_every_step(void **unused) {
    (void)unused;
    const hu_shape in = DRIVE_SHAPE(6, 3, 6);
    const struct {
        hu_slice_attrs attrs;
        hu_shape out;
    } cases[] = {
        {{{0, {0}}, 0, 0, 1}, {3, {6, 3, 6}}},    {{{0, {0}}, 2, 5, 1}, {3, {6, 3, 3}}},
        {{{1, {0}}, 1, 0, 2}, {3, {3, 3, 6}}},    {{{1, {0}}, 0, 0, 5}, {3, {2, 3, 6}}},
        {{{1, {-1}}, -4, -1, 2}, {3, {6, 3, 2}}}, {{{1, {-3}}, -1, 6, 1}, {3, {1, 3, 6}}},
        {{{1, {2}}, 5, 6, 9}, {3, {6, 3, 1}}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        check(&hu_op_slice, &cases[k].attrs, &in, &cases[k].out, sliced, 0);
}

static void padded(const void *attrs, int rank, const int64_t *out, int64_t *in) {
    const hu_pad_attrs *a = attrs;
    for (int i = 0; i < rank; i++) in[i] = out[i] - (a->before.count ? a->before.at[i] : 0);
}

static void pads_stand_before_and_after(void **unused) {
    (void)unused;
    const hu_shape in = DRIVE_SHAPE(2, 3, 4);
    const hu_pad_attrs none = {.value = 7}, rows = {.before = {3, {2, 0, 0}}},
                       all = {{3, {1, 2, 0}}, {3, {0, 1, 3}}, -1.5f},
                       end = {.after = {3, {0, 0, 1}}, .value = INFINITY};
    const hu_shape of_rows = DRIVE_SHAPE(4, 3, 4), of_all = DRIVE_SHAPE(3, 6, 7),
                   of_end = DRIVE_SHAPE(2, 3, 5);
    check(&hu_op_pad, &none, &in, &in, padded, 7);
    check(&hu_op_pad, &rows, &in, &of_rows, padded, 0);
    check(&hu_op_pad, &all, &in, &of_all, padded, -1.5f);
    check(&hu_op_pad, &end, &in, &of_end, padded, INFINITY);
}

static void turned(const void *attrs, int rank, const int64_t *out, int64_t *in) {
    const hu_transpose_attrs *a = attrs;
    for (int i = 0; i < rank; i++) in[(a->axes.at[i] + rank) % rank] = out[i];
}

/* All orders of four axes; and five of extents where some are 1. */
static void axes_stand_in_every_order(void **unused) {
    (void)unused;
    const hu_shape in = DRIVE_SHAPE(2, 3, 4, 5), thin = DRIVE_SHAPE(1, 3, 1, 4, 2);
    for (int k = 0; k < 4 * 4 * 4 * 4; k++) {
        hu_transpose_attrs a = {{4, {k & 3, k >> 2 & 3, k >> 4 & 3, k >> 6 & 3}}};
        hu_shape out = {.rank = 4};
        unsigned bits = 0;
        for (int i = 0; i < 4; i++) bits |= 1u << a.axes.at[i];
        if (bits != 15) continue;
        for (int i = 0; i < 4; i++) {
            out.extent[i] = in.extent[a.axes.at[i]];
            if (k % 2) a.axes.at[i] -= 4;
        }
        check(&hu_op_transpose, &a, &in, &out, turned, 0);
    }
    const hu_transpose_attrs some = {{5, {3, 0, 1, 4, 2}}}, none = {{0, {0}}};
    const hu_transpose_attrs last = {{5, {0, 1, 2, 4, 3}}};
    const hu_shape of_some = DRIVE_SHAPE(4, 1, 3, 2, 1), of_last = DRIVE_SHAPE(1, 3, 1, 2, 4);
    check(&hu_op_transpose, &some, &thin, &of_some, turned, 0);
    check(&hu_op_transpose, &last, &thin, &of_last, turned, 0);
    /* Without axes the last two change places. */
    drive d, e;
    drive_open(&d, &hu_op_transpose, &none, 1, &thin, BATCH, BATCH);
    drive_open(&e, &hu_op_transpose, &last, 1, &thin, BATCH, BATCH);
    drive_forward(&d);
    drive_forward(&e);
    assert_memory_equal(d.out[0], e.out[0], (size_t)drive_out_elements(&d, 0) * sizeof(float));
    drive_close(&d);
    drive_close(&e);
}

/* Places along an axis of all outputs, one after the other, are those of the input. */
static void check_split(const hu_split_attrs *attrs, int axis, int n, const int64_t *sizes) {
    const hu_shape in = DRIVE_SHAPE(4, 6, 8);
    drive d;
    drive_open(&d, &hu_op_split, attrs, 1, &in, BATCH, 2);
    assert_int_equal(d.info.n_out, n);
    drive_forward(&d);
    drive_backward(&d);
    int64_t first = 0, ins = hu_shape_elements(&in), checked = 0;
    for (int o = 0; o < n; o++, first += sizes[o - 1]) {
        int64_t outs = hu_shape_elements(&d.out_shape[o]);
        assert_int_equal(d.out_shape[o].extent[axis], sizes[o]);
        for (int64_t i = 0; i < BATCH * outs; i++, checked++) {
            int64_t index[HU_MAX_RANK];
            indices_of(&d.out_shape[o], i % outs, index);
            index[axis] += first;
            int64_t at = i / outs * ins + element_at(&in, index);
            same(d.out[o][i], d.in[0][at]);
            same(d.din[0][at], d.dout[o][i]);
        }
    }
    assert_int_equal(checked, BATCH * ins);
    /* The parts are joined again along the same axis. */
    drive join;
    const hu_concat_attrs along = {.axis = {1, {axis - 3}}};
    drive_open(&join, &hu_op_concat, &along, n < DRIVE_INS ? n : DRIVE_INS, d.out_shape, BATCH, 3);
    for (int o = 0; o < join.info.n_in; o++)
        memcpy(join.in[o], d.out[o], (size_t)drive_out_elements(&d, o) * sizeof(float));
    drive_forward(&join);
    if (n <= DRIVE_INS) {
        assert_memory_equal(join.out[0], d.in[0], (size_t)(BATCH * ins) * sizeof(float));
        memcpy(join.dout[0], d.din[0], (size_t)(BATCH * ins) * sizeof(float));
        drive_backward(&join);
        for (int o = 0; o < n; o++)
            assert_memory_equal(join.din[o], d.dout[o],
                                (size_t)drive_out_elements(&d, o) * sizeof(float));
    }
    drive_close(&join);
    drive_close(&d);
}

static void parts_are_told_in_three_ways(void **unused) {
    (void)unused;
    const int64_t three[] = {2, 2, 2}, eight[] = {1, 1, 1, 1, 1, 1, 1, 1}, sizes[] = {1, 3, 2, 2},
                  whole[] = {4}, first[] = {5, 1};
    check_split(&(hu_split_attrs){.axis = {1, {1}}, .parts = 3}, 1, 3, three);
    check_split(&(hu_split_attrs){.parts = 8}, 2, 8, eight);
    check_split(&(hu_split_attrs){.sizes = {4, {1, 3, 2, 2}}}, 2, 4, sizes);
    check_split(&(hu_split_attrs){.rows = true, .sizes = {1, {4}}}, 0, 1, whole);
    check_split(&(hu_split_attrs){.axis = {1, {-2}}, .first = 5}, 1, 2, first);
}

static void refuses(const hu_op *op, const void *attrs, int n_in, hu_status status,
                    const char *word) {
    const hu_shape in[2] = {DRIVE_SHAPE(2, 6, 4), DRIVE_SHAPE(2, 5, 4)};
    hu_shape out[HU_MAX_OUTPUTS];
    int n;
    assert_int_equal(op->shape(attrs, n_in, in, &n, out), status);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

#define REFUSES(op, type, status, word, ...)                                                       \
    refuses(&hu_op_##op, &(type){__VA_ARGS__}, 1, status, word)

static void what_does_not_fit_is_refused(void **unused) {
    (void)unused;
    REFUSES(slice, hu_slice_attrs, HU_ERR_SHAPE, "start 4, end 0 and step 1 of 4 places of axis 2",
            .start = 4, .step = 1);
    REFUSES(slice, hu_slice_attrs, HU_ERR_SHAPE, "end 7", .axis = {1, {1}}, .end = 7, .step = 1);
    REFUSES(slice, hu_slice_attrs, HU_ERR_SHAPE, "start -7", .axis = {1, {1}}, .start = -7,
            .step = 1);
    REFUSES(slice, hu_slice_attrs, HU_ERR_SHAPE, "step 0", .step = 0);
    REFUSES(slice, hu_slice_attrs, HU_ERR_SHAPE, "slice: axis: found 3", .axis = {1, {3}},
            .step = 1);
    REFUSES(slice, hu_slice_attrs, HU_ERR_ARGUMENT, "found 2 of them, expected one",
            .axis = {2, {0, 1}}, .step = 1);
    REFUSES(pad, hu_pad_attrs, HU_ERR_SHAPE, "before: found 2 numbers, expected one for each of 3",
            .before = {2, {1, 1}});
    REFUSES(pad, hu_pad_attrs, HU_ERR_ARGUMENT, "after: found -1", .after = {3, {0, -1, 0}});
    REFUSES(pad, hu_pad_attrs, HU_ERR_SHAPE, "extent 0", .after = {3, {INT64_MAX, 0, 0}});
    REFUSES(pad, hu_pad_attrs, HU_ERR_SHAPE, "", .after = {3, {INT64_MAX / 2, 0, 0}});
    REFUSES(transpose, hu_transpose_attrs, HU_ERR_SHAPE, "found 2 of them, expected all 3",
            {2, {0, 1}});
    REFUSES(transpose, hu_transpose_attrs, HU_ERR_ARGUMENT, "found 0 twice", {3, {0, 1, 0}});
    REFUSES(split, hu_split_attrs, HU_ERR_ARGUMENT, "found 0 of first", .rows = true);
    REFUSES(split, hu_split_attrs, HU_ERR_ARGUMENT, "found 2 of first", .first = 1, .parts = 2);
    REFUSES(split, hu_split_attrs, HU_ERR_ARGUMENT, "rows and an axis", .rows = true,
            .axis = {1, {1}}, .parts = 2);
    REFUSES(split, hu_split_attrs, HU_ERR_SHAPE, "3 parts of 4", .parts = 3);
    REFUSES(split, hu_split_attrs, HU_ERR_SHAPE, "found 4, and 3 of 6", .axis = {1, {1}},
            .sizes = {2, {3, 4}});
    REFUSES(split, hu_split_attrs, HU_ERR_SHAPE, "found 5 together, expected all 6",
            .axis = {1, {1}}, .sizes = {2, {3, 2}});
    REFUSES(split, hu_split_attrs, HU_ERR_SHAPE, "6 of 6 places", .axis = {1, {1}}, .first = 6);
    refuses(&hu_op_concat, &(hu_concat_attrs){.axis = {1, {0}}}, 2, HU_ERR_SHAPE, "first extent");
    refuses(&hu_op_concat, &(hu_concat_attrs){.axis = {1, {-1}}}, 2, HU_ERR_SHAPE, "last extent");
    refuses(&hu_op_concat, &(hu_concat_attrs){.rows = true, .axis = {1, {1}}}, 2, HU_ERR_ARGUMENT,
            "rows and an axis");
}

/* One extent of a new shape may be left to the elements. */
static void an_extent_is_worked_out(void **unused) {
    (void)unused;
    const hu_shape in = DRIVE_SHAPE(2, 6, 4), scalar = {.rank = 0};
    const hu_shape given[] = {DRIVE_SHAPE(-1, 4), DRIVE_SHAPE(48, -1), DRIVE_SHAPE(-1),
                              DRIVE_SHAPE(3, -1, 8), DRIVE_SHAPE(4, 12)},
                   wanted[] = {DRIVE_SHAPE(12, 4), DRIVE_SHAPE(48, 1), DRIVE_SHAPE(48),
                               DRIVE_SHAPE(3, 2, 8), DRIVE_SHAPE(4, 12)},
                   wrong[] = {DRIVE_SHAPE(-1, -1), DRIVE_SHAPE(5, -1), DRIVE_SHAPE(48, 2, -1),
                              DRIVE_SHAPE(-2, 24), DRIVE_SHAPE(0, -1), DRIVE_SHAPE(4, 11)};
    hu_shape out;
    int n;
    for (int k = 0; k < 5; k++) {
        const hu_reshape_attrs a = {given[k]};
        assert_int_equal(hu_op_reshape.shape(&a, 1, &in, &n, &out), HU_OK);
        assert_true(n == 1 && hu_shape_equal(&out, &wanted[k]));
    }
    for (int k = 0; k < 6; k++) {
        const hu_reshape_attrs a = {wrong[k]};
        assert_int_equal(hu_op_reshape.shape(&a, 1, &in, &n, &out), HU_ERR_SHAPE);
        assert_non_null(strstr(hu_last_error(), "2x6x4"));
    }
    const hu_reshape_attrs one = {DRIVE_SHAPE(1, -1)};
    assert_int_equal(hu_op_reshape.shape(&one, 1, &scalar, &n, &out), HU_OK);
    assert_true(out.rank == 2 && out.extent[0] == 1 && out.extent[1] == 1);
}

/* Where the rows of the input are padding, those of the output are, if the first axis stays. */
static void rows_are_kept_with_the_first_axis(void **unused) {
    (void)unused;
    const hu_transpose_attrs stays = {{3, {-3, 2, 1}}}, goes = {{3, {1, 0, 2}}};
    assert_true(hu_keeps_rows(&hu_op_transpose, &stays, 3));
    assert_false(hu_keeps_rows(&hu_op_transpose, &goes, 3));
    assert_false(hu_keeps_rows(&hu_op_transpose, NULL, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_take_every_step),
        cmocka_unit_test(pads_stand_before_and_after),
        cmocka_unit_test(axes_stand_in_every_order),
        cmocka_unit_test(parts_are_told_in_three_ways),
        cmocka_unit_test(an_extent_is_worked_out),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(rows_are_kept_with_the_first_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
