/* Matching, mining and suppression beside plain versions that compare everything with everything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/rng.h"
#include "media/anchors.h"
#include "media/boxes.h"

enum { MOST = 7, ANCHORS = 5 * 6 * 4 + 3 * 3 * 4, PICTURES = 400 };

static hu_anchors two_maps(void) {
    const hu_picture picture = {40, 48};
    const hu_ssd_map form[2] = {{8, 8, 16, 1, {2, 0}}, {16, 16, 32, 1, {2, 0}}};
    return (hu_anchors){.maps = 2,
                        .map = {hu_anchor_map_ssd(&form[0], picture, 5, 6),
                                hu_anchor_map_ssd(&form[1], picture, 3, 3)}};
}

/* Corners are eighths, so that equal overlaps occur; some rows are no boxes. */
static void draw_rows(uint64_t picture, float rows[MOST][HU_BOX_NUMBERS]) {
    hu_random_key key = {5, hu_stream_id("test", "match"), picture};
    for (uint64_t i = 0; i < MOST; i++) {
        int w[5];
        for (uint64_t k = 0; k < 5; k++) w[k] = (int)(hu_random_word(&key, 5 * i + k) % 8);
        rows[i][HU_BOX_X1] = (float)w[0] / 12;
        rows[i][HU_BOX_Y1] = (float)w[1] / 12;
        rows[i][HU_BOX_X2] = (float)(w[0] + 1 + w[2] % 4) / 12;
        rows[i][HU_BOX_Y2] = (float)(w[1] + 1 + w[3] % 4) / 12;
        rows[i][HU_BOX_CLASS] = (float)(w[4] % 4) - 1;
    }
}

static double overlap(const hu_anchors *anchors, int64_t a, const float *row) {
    hu_centred c = hu_anchor_at(anchors, a);
    hu_box anchor = hu_box_of(&c), box = hu_box_of_row(row);
    return hu_box_iou(&anchor, &box);
}

/* All overlaps in a table, then the two rules one after the other. */
static int64_t plain_ssd(const hu_anchors *anchors, float rows[MOST][HU_BOX_NUMBERS],
                         int16_t *match) {
    static double table[ANCHORS][MOST];
    int64_t positives = 0;
    for (int a = 0; a < ANCHORS; a++)
        for (int t = 0; t < MOST; t++)
            table[a][t] = rows[t][HU_BOX_CLASS] < 0 ? -1 : overlap(anchors, a, rows[t]);
    for (int a = 0; a < ANCHORS; a++) {
        int best = 0;
        for (int t = 1; t < MOST; t++)
            if (table[a][t] > fmax(table[a][best], 0) + 1e-5) best = t;
        double most = 0;
        for (int t = 0; t < MOST; t++) most = fmax(most, table[a][t]);
        match[a] = (int16_t)(most >= 0.5 ? best : HU_UNMATCHED);
    }
    for (int t = 0; t < MOST; t++) {
        int best = 0;
        for (int a = 1; a < ANCHORS; a++)
            if (table[a][t] > table[best][t] + 1e-5) best = a;
        if (rows[t][HU_BOX_CLASS] >= 0) match[best] = (int16_t)t;
    }
    for (int a = 0; a < ANCHORS; a++) positives += match[a] >= 0;
    return positives;
}

static void anchors_take_the_boxes_of_the_plain_rule(void **state) {
    (void)state;
    hu_anchors anchors = two_maps();
    int16_t found[ANCHORS], expected[ANCHORS];
    float rows[MOST][HU_BOX_NUMBERS];
    assert_int_equal(hu_anchors_count(&anchors), ANCHORS);
    for (uint64_t picture = 0; picture < PICTURES; picture++) {
        draw_rows(picture, rows);
        int64_t positives = plain_ssd(&anchors, rows, expected);
        assert_int_equal(hu_match_ssd(&anchors, rows[0], MOST, found), positives);
        assert_int_equal(hu_match_ssd(&anchors, rows[0], MOST, NULL), positives);
        assert_memory_equal(found, expected, sizeof found);
    }
}

/* Two equal boxes want one anchor: the later one gets it. Without boxes nothing is matched. */
static void a_later_box_takes_the_anchor(void **state) {
    (void)state;
    hu_anchors anchors = two_maps();
    int16_t match[ANCHORS];
    float rows[2][HU_BOX_NUMBERS] = {{.1f, .1f, .2f, .2f, 0}, {.1f, .1f, .2f, .2f, 1}};
    hu_match_ssd(&anchors, rows[0], 2, match);
    int64_t first = 0, second = 0;
    for (int a = 0; a < ANCHORS; a++) first += match[a] == 0, second += match[a] == 1;
    assert_int_equal(second, 1);
    assert_int_equal(first + second, hu_match_ssd(&anchors, rows[0], 2, NULL));
    rows[0][HU_BOX_CLASS] = rows[1][HU_BOX_CLASS] = -1;
    assert_int_equal(hu_match_ssd(&anchors, rows[0], 2, match), 0);
    assert_int_equal(hu_match_ssd(&anchors, rows[0], 0, match), 0);
    for (int a = 0; a < ANCHORS; a++) assert_int_equal(match[a], HU_UNMATCHED);
}

static void proposals_take_the_boxes_of_the_plain_rule(void **state) {
    (void)state;
    hu_anchors anchors = two_maps();
    int16_t found[ANCHORS];
    float rows[MOST][HU_BOX_NUMBERS];
    for (uint64_t picture = 0; picture < PICTURES; picture++) {
        int64_t positives = 0;
        draw_rows(picture, rows);
        int64_t counted = hu_match_proposals(&anchors, rows[0], MOST, found);
        double most[MOST] = {0};
        for (int a = 0; a < ANCHORS; a++)
            for (int t = 0; t < MOST; t++) most[t] = fmax(most[t], overlap(&anchors, a, rows[t]));
        for (int a = 0; a < ANCHORS; a++) {
            double best = -1.0;
            int expected = HU_IGNORED;
            bool is_best = false;
            for (int t = 0; t < MOST; t++) {
                double iou = overlap(&anchors, a, rows[t]);
                if (rows[t][HU_BOX_CLASS] < 0) continue;
                is_best = is_best || (most[t] > 0 && iou >= most[t] - 1e-5);
                if (iou > best + 1e-5) best = iou, expected = t;
            }
            if (!is_best && best < 0.7) expected = best < 0.3 ? HU_UNMATCHED : HU_IGNORED;
            positives += expected >= 0;
            assert_int_equal(found[a], expected);
        }
        assert_int_equal(counted, positives);
    }
}

/* A box of whole pixels right between two anchors belongs to the first, wherever the last bits of
 * its float32 corners fall. */
static void boxes_between_two_anchors_take_the_first(void **state) {
    (void)state;
    const hu_ssd_map form = {8, 8, 16, 0, {0, 0}};
    const hu_anchors anchors = {.maps = 1,
                                .map = {hu_anchor_map_ssd(&form, (hu_picture){24, 240}, 3, 30)}};
    int16_t match[3 * 30 * 2];
    int split = 0;
    for (int place = 1; place < 29; place++) {
        float left = (float)(8 * place + 5),
              row[HU_BOX_NUMBERS] = {left / 240, 9.0f / 24, (left + 6) / 240, 15.0f / 24, 0};
        double first = overlap(&anchors, 2 * (30 + place), row);
        double second = overlap(&anchors, 2 * (30 + place + 1), row);
        split += second > first;
        hu_match_ssd(&anchors, row, 1, match);
        assert_int_equal(match[2 * (30 + place)], 0);
    }
    assert_true(split > 0); /* the plain comparison would have taken others */
}

/* ---- mining ---- */

static int by_key(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void mining_takes_the_largest_losses(void **state) {
    (void)state;
    enum { COUNT = 101 };
    hu_random_key key = {6, hu_stream_id("test", "mine"), 0};
    for (int64_t wanted = 0; wanted <= COUNT; wanted += 7) {
        uint64_t keys[COUNT], sorted[COUNT];
        int16_t found[COUNT], expected[COUNT];
        key.step = (uint64_t)wanted;
        for (uint32_t i = 0; i < COUNT; i++) {
            float loss = (float)(hu_random_word(&key, i) % 16) / 8; /* with equal ones */
            sorted[i] = keys[COUNT - 1 - i] = hu_hard_negative_key(loss, i);
            found[i] = expected[i] = HU_UNMATCHED;
        }
        qsort(sorted, COUNT, sizeof *sorted, by_key);
        for (int64_t i = 0; i < wanted; i++) expected[(uint32_t)sorted[i]] = HU_MINED;
        hu_hard_negatives(keys, COUNT, wanted, found);
        assert_memory_equal(found, expected, sizeof found);
    }
}

static void keys_are_in_the_order_of_losses(void **state) {
    (void)state;
    static const float falling[] = {NAN, INFINITY, 1e30f, 2.0f, 1.0f, 1e-40f, 0.0f};
    for (size_t i = 0; i + 1 < sizeof falling / sizeof *falling; i++)
        assert_true(hu_hard_negative_key(falling[i], 9) < hu_hard_negative_key(falling[i + 1], 3));
    assert_true(hu_hard_negative_key(1.0f, 3) < hu_hard_negative_key(1.0f, 4));
    assert_true(hu_hard_negative_key(-0.0f, 3) == hu_hard_negative_key(0.0f, 3));
    assert_true(hu_hard_negative_key(-NAN, 3) < hu_hard_negative_key(INFINITY, 3));
}

/* ---- suppression ---- */

enum { SAID = 60 };

static bool is_before(const hu_candidate *a, const hu_candidate *b) {
    return a->score != b->score ? a->score > b->score : a->index < b->index;
}

/* Sorted by exchanging neighbours, then each compared with all better ones that were kept. */
static int64_t plain_suppress(const hu_candidate *said, int64_t most, double threshold,
                              hu_candidate *kept) {
    hu_candidate sorted[SAID];
    bool is_kept[SAID];
    int64_t count = 0;
    memcpy(sorted, said, sizeof sorted);
    for (int pass = 0; pass < SAID; pass++)
        for (int i = 0; i + 1 < SAID; i++)
            if (is_before(&sorted[i + 1], &sorted[i])) {
                hu_candidate moved = sorted[i];
                sorted[i] = sorted[i + 1];
                sorted[i + 1] = moved;
            }
    for (int64_t i = 0; i < most; i++) {
        is_kept[i] = true;
        for (int64_t k = 0; k < i; k++)
            if (is_kept[k] && hu_box_iou(&sorted[i].box, &sorted[k].box) > threshold)
                is_kept[i] = false;
        if (is_kept[i]) kept[count++] = sorted[i];
    }
    return count;
}

static void the_best_boxes_stay(void **state) {
    (void)state;
    hu_random_key key = {7, hu_stream_id("test", "suppress"), 0};
    for (int64_t most = 1; most <= SAID; most += 1 + most / 3) {
        hu_candidate said[SAID], kept[SAID], list[SAID];
        hu_nms_candidates c = {.list = list, .most = most};
        key.step = (uint64_t)most;
        for (uint64_t i = 0; i < SAID; i++) {
            double x = hu_random_word(&key, 3 * i) % 8 / 8.0,
                   y = hu_random_word(&key, 3 * i + 1) % 8 / 8.0;
            said[i] = (hu_candidate){hu_random_word(&key, 3 * i + 2) % 10 / 10.0,
                                     (int64_t)i,
                                     {x, y, x + 0.25, y + 0.25}};
            hu_candidates_add(&c, said[i].score, said[i].index);
        }
        hu_candidates_sort(&c);
        assert_int_equal(c.count, most);
        for (int64_t i = 0; i < c.count; i++) c.list[i].box = said[c.list[i].index].box;
        int64_t expected = plain_suppress(said, most, 0.45, kept);
        assert_int_equal(hu_candidates_nms(&c, 0.45), expected);
        for (int64_t i = 0; i < expected; i++) {
            assert_int_equal(c.list[i].index, kept[i].index);
            assert_true(c.list[i].score == kept[i].score);
        }
    }
}

/* An overlap that equals the threshold stays. */
static void equal_to_the_threshold_is_kept(void **state) {
    (void)state;
    hu_candidate list[2] = {{0.9, 0, {0, 0, 2, 1}}, {0.8, 1, {0, 0, 1, 1}}};
    hu_nms_candidates c = {list, 2, 2};
    assert_int_equal(hu_candidates_nms(&c, 0.5), 2);
    assert_int_equal(hu_candidates_nms(&c, 0.499), 1);
    hu_nms_candidates none = {list, 0, 0};
    hu_candidates_add(&none, 1.0, 0);
    hu_candidates_sort(&none);
    assert_int_equal(none.count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anchors_take_the_boxes_of_the_plain_rule),
        cmocka_unit_test(a_later_box_takes_the_anchor),
        cmocka_unit_test(proposals_take_the_boxes_of_the_plain_rule),
        cmocka_unit_test(boxes_between_two_anchors_take_the_first),
        cmocka_unit_test(mining_takes_the_largest_losses),
        cmocka_unit_test(keys_are_in_the_order_of_losses),
        cmocka_unit_test(the_best_boxes_stay),
        cmocka_unit_test(equal_to_the_threshold_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
