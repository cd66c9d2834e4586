/* Overlaps, offsets and anchors beside their definitions and published numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "media/anchors.h"
#include "media/boxes.h"
#include "says.h"

static void near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("found %.17g, expected %.17g", found, expected);
}

static void overlaps_are_those_of_counted_cells(void **state) {
    (void)state;
    enum { SIDE = 6, CASES = 3000 };
    hu_random_key key = {3, hu_stream_id("test", "overlap"), 0};
    for (uint64_t i = 0; i < CASES; i++) {
        int c[8], common = 0, either = 0;
        for (int k = 0; k < 8; k++) c[k] = (int)(hu_random_word(&key, 8 * i + (uint64_t)k) % SIDE);
        hu_box a = {c[0], c[1], c[2], c[3]}, b = {c[4], c[5], c[6], c[7]};
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                int in_a = x >= c[0] && x < c[2] && y >= c[1] && y < c[3];
                int in_b = x >= c[4] && x < c[6] && y >= c[5] && y < c[7];
                common += in_a && in_b;
                either += in_a || in_b;
            }
        double expected = either ? (double)common / either : 0.0;
        near(hu_box_iou(&a, &b), expected, 0.0);
        near(hu_box_iou(&b, &a), expected, 0.0);
    }
}

static void forms_turn_into_each_other(void **state) {
    (void)state;
    hu_box box = {0.25, -0.5, 0.75, 1.5};
    hu_centred centred = hu_box_centred(&box);
    near(centred.cx, 0.5, 0.0);
    near(centred.cy, 0.5, 0.0);
    near(centred.w, 0.5, 0.0);
    near(centred.h, 2.0, 0.0);
    hu_box back = hu_box_of(&centred), inside = hu_box_clip(&box);
    near(back.y1, -0.5, 0.0);
    near(back.y2, 1.5, 0.0);
    near(inside.y1, 0.0, 0.0);
    near(inside.y2, 1.0, 0.0);
    near(inside.x1, 0.25, 0.0);
}

static void rows_that_are_no_boxes(void **state) {
    (void)state;
    static const struct {
        float row[HU_BOX_NUMBERS];
        bool is_present, is_sound;
    } table[] = {{{0, 0, 1, 1, 0}, true, true},         {{0, 0, 1, 1, 2}, true, true},
                 {{0, 0, 0, 0, -1}, false, true},       {{0, 0, 1, 1, 3}, true, false},
                 {{0, 0, 1, 1, 0.5f}, true, false},     {{0, 0, 0, 1, 0}, true, false},
                 {{0, 1, 1, 0.5f, 0}, true, false},     {{NAN, 0, 1, 1, 0}, true, false},
                 {{0, 0, INFINITY, 1, 0}, true, false}, {{0, 0, 1, 1, NAN}, true, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(hu_box_is_valid(table[i].row), table[i].is_present);
        if (table[i].is_present)
            assert_int_equal(hu_box_is_sound(table[i].row, 3), table[i].is_sound);
    }
}

static void offsets_are_the_definition_and_go_back(void **state) {
    (void)state;
    hu_centred anchor = {0.4, 0.5, 0.2, 0.1}, box = {0.45, 0.48, 0.3, 0.05};
    double o[HU_OFFSETS];
    hu_offset_encode(&anchor, &box, HU_OFFSET_SSD, o);
    near(o[0], 2.5, 1e-14);
    near(o[1], -2.0, 1e-14);
    near(o[2], log(1.5) / 0.2, 1e-14);
    near(o[3], log(0.5) / 0.2, 1e-14);
    float stored[HU_OFFSETS];
    for (int i = 0; i < HU_OFFSETS; i++) stored[i] = (float)o[i];
    hu_centred back = hu_offset_decode(&anchor, stored, HU_OFFSET_SSD);
    near(back.cx, box.cx, 1e-8);
    near(back.cy, box.cy, 1e-8);
    near(back.w, box.w, 1e-7);
    near(back.h, box.h, 1e-7);
    hu_offset_encode(&anchor, &box, HU_OFFSET_PLAIN, o);
    near(o[0], 0.25, 1e-15);
    near(o[2], log(1.5), 1e-15);
}

static void decoded_sizes_end(void **state) {
    (void)state;
    hu_centred anchor = {0.5, 0.5, 0.5, 0.25};
    float far[HU_OFFSETS] = {0, 0, 1e30f, 21.0f};
    hu_centred made = hu_offset_decode(&anchor, far, HU_OFFSET_SSD);
    near(made.w, 0.5 * 62.5, 0.0);
    near(made.h, 0.25 * 62.5, 0.0);
    far[2] = 20.0f; /* e^4 = 54.6 */
    near(hu_offset_decode(&anchor, far, HU_OFFSET_SSD).w, 0.5 * exp(4.0), 1e-12);
}

/* Maps of 160x120 pixels: 15x20, 8x10, 4x5. */
static hu_anchors small_anchors(void) {
    const hu_picture picture = {120, 160};
    const hu_ssd_map form[3] = {
        {8, 12, 24, 1, {2, 0}}, {16, 24, 48, 1, {2, 0}}, {32, 48, 80, 1, {2, 0}}};
    return (hu_anchors){.maps = 3,
                        .map = {hu_anchor_map_ssd(&form[0], picture, 15, 20),
                                hu_anchor_map_ssd(&form[1], picture, 8, 10),
                                hu_anchor_map_ssd(&form[2], picture, 4, 5)}};
}

static void small_anchors_are_the_known_ones(void **state) {
    (void)state;
    static const struct {
        int64_t index;
        double expected[4];
    } known[] = {{0, {.025, .033333, .075, .1}},
                 {2, {.025, .033333, .106066, .070711}},
                 {1200, {.05, .066667, .15, .2}},
                 {1599, {.9, .933333, .212132, .565685}}};
    hu_anchors anchors = small_anchors();
    assert_int_equal(hu_anchors_check(&anchors), HU_OK);
    assert_int_equal(hu_anchors_count(&anchors), 1600);
    for (int i = 0; i < 4; i++) {
        hu_centred a = hu_anchor_at(&anchors, known[i].index);
        near(a.cx, known[i].expected[0], 5e-7);
        near(a.cy, known[i].expected[1], 5e-7);
        near(a.w, known[i].expected[2], 5e-7);
        near(a.h, known[i].expected[3], 5e-7);
    }
}

static void proposals_have_their_areas_and_ratios(void **state) {
    (void)state;
    const hu_proposal_map form = {16, 3, 3, {128, 256, 512}, {0.5, 1, 2}};
    hu_anchors anchors = {.maps = 1,
                          .map = {hu_anchor_map_proposals(&form, (hu_picture){600, 1000}, 37, 62)}};
    assert_int_equal(hu_anchors_count(&anchors), 37 * 62 * 9);
    for (int64_t k = 0; k < 9; k++) {
        hu_centred a = hu_anchor_at(&anchors, 9 * 62 + k); /* second row, first place */
        double width = a.w * 1000, height = a.h * 600;
        near(a.cx * 1000, 8.0, 1e-12);
        near(a.cy * 600, 24.0, 1e-12);
        near(height / width, form.ratio[k / 3], 1e-14);
        near(sqrt(width * height), form.size[k % 3], 1e-11);
    }
}

static void clipped_anchors_stay_in_the_picture(void **state) {
    (void)state;
    const hu_ssd_map form = {300, 264, 315, 1, {2, 0}};
    hu_anchors anchors = {.maps = 1,
                          .map = {hu_anchor_map_ssd(&form, (hu_picture){300, 300}, 1, 1)}};
    assert_true(hu_anchor_at(&anchors, 2).w > 1.0);
    anchors.is_clipped = true;
    near(hu_anchor_at(&anchors, 2).w, 1.0, 0.0);
    near(hu_anchor_at(&anchors, 2).h, 264 / sqrt(2.0) / 300, 1e-15);
}

static void anchors_that_are_none_are_refused(void **state) {
    (void)state;
    hu_anchors none = {0}, flat = small_anchors(), empty = small_anchors(), most = small_anchors();
    assert_int_equal(hu_anchors_check(&none), HU_ERR_SHAPE);
    flat.map[1].h[2] = 0.0;
    empty.map[2].width = 0;
    assert_int_equal(hu_anchors_check(&flat), HU_ERR_SHAPE);
    assert_int_equal(hu_anchors_check(&empty), HU_ERR_SHAPE);
    most.most = HU_ANCHOR_BOXES_MAX;
    assert_int_equal(hu_anchors_check(&most), HU_OK);
    most.most++;
    says(hu_anchors_check(&most), HU_ERR_SHAPE, "found at most 201 boxes of a picture");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlaps_are_those_of_counted_cells),
        cmocka_unit_test(forms_turn_into_each_other),
        cmocka_unit_test(rows_that_are_no_boxes),
        cmocka_unit_test(offsets_are_the_definition_and_go_back),
        cmocka_unit_test(decoded_sizes_end),
        cmocka_unit_test(small_anchors_are_the_known_ones),
        cmocka_unit_test(proposals_have_their_areas_and_ratios),
        cmocka_unit_test(clipped_anchors_stay_in_the_picture),
        cmocka_unit_test(anchors_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
