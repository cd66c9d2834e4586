/* Places of boxes: rows follow the lines, nothing overlaps, every line is still there, chains are
 * straight and forks symmetric. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "report/network_layout.h"

enum { MOST = 60 };

/* Is there a way from a box over bends alone to another? */
static bool leads(const hu_layout *layout, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < layout->lines; i++) {
        const hu_layout_line *line = &layout->line[i];
        if (line->from != from) continue;
        if (line->to == to) return true;
        if (layout->box[line->to].is_bend && leads(layout, line->to, to)) return true;
    }
    return false;
}

static void check_places(const hu_layout *layout) {
    for (size_t i = 0; i < layout->lines; i++)
        assert_int_equal(layout->box[layout->line[i].to].row,
                         layout->box[layout->line[i].from].row + 1);
    for (size_t a = 0; a < layout->boxes; a++) {
        const hu_layout_box *one = &layout->box[a];
        assert_true(one->row < layout->rows);
        assert_true(one->middle >= 0.5 * one->width - 1e-6);
        assert_true(one->middle + 0.5 * one->width <= layout->width + 1e-6);
        for (size_t b = 0; b < a; b++) {
            const hu_layout_box *two = &layout->box[b];
            if (one->row != two->row) continue;
            double room = 0.5 * (one->width + two->width);
            assert_true(fabs(one->middle - two->middle) >= room - 1e-6);
        }
    }
}

static void lines_lead_down_and_boxes_stand_apart(void **state) {
    (void)state;
    for (uint64_t round = 0; round < 200; round++) {
        const hu_random_key key = {round, 1, 0};
        uint64_t index = 0;
        hu_layout layout = {0};
        bool is_joined[MOST][MOST] = {{false}};
        uint32_t boxes = 1 + (uint32_t)hu_word_below(hu_random_word(&key, index++), MOST - 1);
        for (uint32_t b = 0; b < boxes; b++) {
            double width = 20.0 + 10.0 * (double)hu_word_below(hu_random_word(&key, index++), 12);
            assert_int_equal(hu_layout_add_box(&layout, width), HU_OK);
            for (uint32_t k = 0; b > 0 && k < 3; k++) {
                uint32_t from = (uint32_t)hu_word_below(hu_random_word(&key, index++), b);
                if (hu_word_below(hu_random_word(&key, index++), 3) == 0) continue;
                assert_int_equal(hu_layout_add_line(&layout, from, b), HU_OK);
                is_joined[from][b] = true;
            }
        }
        assert_int_equal(hu_layout_place(&layout), HU_OK);
        check_places(&layout);
        for (uint32_t a = 0; a < boxes; a++)
            for (uint32_t b = 0; b < boxes; b++)
                assert_int_equal(leads(&layout, a, b), is_joined[a][b]);
        for (uint32_t b = 0; b < layout.boxes; b++)
            assert_int_equal(layout.box[b].is_bend, b >= boxes);
        hu_layout_free(&layout);
    }
}

static void add(hu_layout *layout, uint32_t boxes, const uint32_t (*line)[2], size_t lines) {
    for (uint32_t b = 0; b < boxes; b++) assert_int_equal(hu_layout_add_box(layout, 100.0), HU_OK);
    for (size_t i = 0; i < lines; i++)
        assert_int_equal(hu_layout_add_line(layout, line[i][0], line[i][1]), HU_OK);
}

static void chains_are_straight_beside_what_leads_past(void **state) {
    (void)state;
    static const uint32_t line[][2] = {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {0, 3}, {3, 4}};
    hu_layout layout = {0};
    add(&layout, 5, line, sizeof line / sizeof *line);
    assert_int_equal(layout.lines, 5); /* none twice */
    assert_int_equal(hu_layout_place(&layout), HU_OK);
    check_places(&layout);
    assert_int_equal(layout.boxes, 7); /* two bends */
    for (uint32_t b = 1; b < 5; b++)
        assert_true(fabs(layout.box[b].middle - layout.box[0].middle) < 0.5);
    assert_true(fabs(layout.box[5].middle - layout.box[6].middle) < 0.5);
    hu_layout_free(&layout);
}

static void forks_are_symmetric(void **state) {
    (void)state;
    static const uint32_t line[][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 4}, {3, 4}};
    hu_layout layout = {0};
    add(&layout, 5, line, sizeof line / sizeof *line);
    assert_int_equal(hu_layout_place(&layout), HU_OK);
    check_places(&layout);
    assert_true(fabs(layout.box[0].middle - 150.0) < 1e-6);
    assert_true(fabs(layout.box[4].middle - 150.0) < 1e-6);
    assert_true(fabs(layout.box[2].middle - 150.0) < 1e-6);
    assert_true(fabs(layout.width - 300.0) < 1e-6);
    hu_layout_free(&layout);
}

/* A label stands above the loss, with what it is made of; what is read early stays above. */
static void what_only_joins_in_stands_low(void **state) {
    (void)state;
    static const uint32_t line[][2] = {{0, 2}, {2, 3}, {3, 4}, {1, 5}, {4, 6}, {5, 6}};
    static const uint32_t rows[] = {0, 2, 1, 2, 3, 3, 4};
    hu_layout layout = {0};
    add(&layout, 7, line, sizeof line / sizeof *line);
    assert_int_equal(hu_layout_place(&layout), HU_OK);
    for (uint32_t b = 0; b < 7; b++) assert_int_equal(layout.box[b].row, rows[b]);
    assert_int_equal(layout.boxes, 7);
    hu_layout_free(&layout);
}

static void nothing_and_too_much(void **state) {
    (void)state;
    hu_layout layout = {0};
    assert_int_equal(hu_layout_place(&layout), HU_OK);
    assert_int_equal(layout.rows, 0);
    for (uint32_t b = 0; b < 200000; b++) assert_int_equal(hu_layout_add_box(&layout, 1.0), HU_OK);
    assert_int_equal(hu_layout_add_box(&layout, 1.0), HU_ERR_LIMIT);
    hu_layout_free(&layout);
    /* Bends count, too: 1,000 boxes below each other, of which each leads past all others. */
    for (uint32_t b = 0; b < 1000; b++) {
        assert_int_equal(hu_layout_add_box(&layout, 1.0), HU_OK);
        if (b > 0) assert_int_equal(hu_layout_add_line(&layout, b - 1, b), HU_OK);
    }
    assert_int_equal(hu_layout_add_box(&layout, 1.0), HU_OK);
    for (uint32_t b = 0; b < 1000; b++)
        assert_int_equal(hu_layout_add_line(&layout, b, 1000), HU_OK);
    assert_int_equal(hu_layout_place(&layout), HU_ERR_LIMIT);
    hu_layout_free(&layout);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_lead_down_and_boxes_stand_apart),
        cmocka_unit_test(chains_are_straight_beside_what_leads_past),
        cmocka_unit_test(forks_are_symmetric),
        cmocka_unit_test(what_only_joins_in_stands_low),
        cmocka_unit_test(nothing_and_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
