/* Regions: rows of pixels, the box that each shows beside a plain loop, and lots beside sorting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "media/anchors.h"

enum { MOST = 5, ROUNDS = 4000 };
static const hu_picture picture = {120, 160};

static void rows_are_pixels(void **state) {
    (void)state;
    const hu_box box = {0.25, 0.5, 0.75, 1.0};
    float row[HU_REGION_NUMBERS];
    hu_roi_write(&box, picture, row);
    assert_true(row[0] == 40 && row[1] == 60 && row[2] == 120 && row[3] == 120);
    assert_true(hu_roi_is_valid(row));
    hu_box back = hu_roi_box(row, picture);
    assert_memory_equal(&back, &box, sizeof back);
    static const float none[][HU_REGION_NUMBERS] = {{0, 0, 0, 0}, {4, 4, 4, 9}, {4, 9, 7, 9}};
    for (int i = 0; i < 3; i++) assert_false(hu_roi_is_valid(none[i]));
}

static double share(const hu_random_key *key, uint64_t i) {
    return (double)(hu_random_word(key, i) % 17) / 16.0;
}

/* Corners on sixteenths: equal overlaps occur. Some rows are no boxes. */
static void draw(uint64_t number, float rows[MOST][HU_BOX_NUMBERS], float *region) {
    const hu_random_key key = {2, 3, number};
    for (uint64_t i = 0; i <= MOST; i++) {
        double x = share(&key, 5 * i) / 2, y = share(&key, 5 * i + 1) / 2;
        hu_box box = {x, y, x + 0.25 + share(&key, 5 * i + 2) / 2, y + 0.5};
        if (i == MOST) {
            hu_roi_write(&box, picture, region);
            break;
        }
        const float row[] = {(float)box.x1, (float)box.y1, (float)box.x2, (float)box.y2,
                             hu_random_word(&key, 5 * i + 3) % 4 == 0 ? -1.0f : 1.0f};
        for (int k = 0; k < HU_BOX_NUMBERS; k++) rows[i][k] = row[k];
    }
}

/* The first of those whose overlap nobody's exceeds by more than what counts as equal. */
static void a_region_shows_the_box_that_it_overlaps_most(void **state) {
    (void)state;
    int shown = 0, equal = 0;
    for (uint64_t k = 0; k < ROUNDS; k++) {
        float rows[MOST][HU_BOX_NUMBERS], region[HU_REGION_NUMBERS];
        double iou[MOST], most = 0, found;
        int64_t expected = HU_UNMATCHED;
        draw(k, rows, region);
        hu_box box = hu_roi_box(region, picture);
        for (int i = 0; i < MOST; i++) {
            hu_box truth = hu_box_of_row(rows[i]);
            iou[i] = rows[i][HU_BOX_CLASS] < 0 ? 0 : hu_box_iou(&box, &truth);
            if (iou[i] > most) most = iou[i];
        }
        for (int i = MOST - 1; i >= 0; i--) {
            if (!(iou[i] > 0) || most - iou[i] > HU_OVERLAP_EQUAL) continue;
            equal += expected != HU_UNMATCHED;
            expected = i;
        }
        hu_truths truths;
        hu_truths_read(rows[0], MOST, &truths);
        assert_int_equal(hu_match_box(&truths, &box, &found), expected);
        assert_true(found == most);
        int64_t match = hu_roi_match(region, picture, &truths);
        assert_int_equal(match, most >= 0.5 ? expected : HU_UNMATCHED);
        shown += match >= 0;
    }
    assert_true(shown > ROUNDS / 10 && shown < ROUNDS * 9 / 10 && equal > 3);
}

static int ascending(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void lots_are_the_smallest_words(void **state) {
    (void)state;
    enum { KEYS = 37 };
    for (int64_t wanted = 0; wanted < KEYS + 3; wanted += 4) {
        uint64_t keys[KEYS], sorted[KEYS];
        for (uint32_t i = 0; i < KEYS; i++)
            keys[i] = sorted[i] =
                hu_lot_key(hu_random_word(&(hu_random_key){1, 2, 3}, i) % 9, KEYS - 1 - i);
        qsort(sorted, KEYS, sizeof *sorted, ascending);
        int64_t taken = hu_first_keys(keys, KEYS, wanted);
        assert_int_equal(taken, wanted < KEYS ? wanted : KEYS);
        for (int64_t i = 0; i < taken; i++) assert_true(keys[KEYS - 1 - i] == sorted[i]);
        qsort(keys, KEYS, sizeof *keys, ascending);
        assert_memory_equal(keys, sorted, sizeof keys);
    }
    assert_true(hu_lot_key(3, 9) < hu_lot_key(4, 1) && hu_lot_key(3, 1) < hu_lot_key(3, 2));
    assert_int_equal(hu_first_keys(NULL, 0, 5), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_pixels),
        cmocka_unit_test(a_region_shows_the_box_that_it_overlaps_most),
        cmocka_unit_test(lots_are_the_smallest_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
