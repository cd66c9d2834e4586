/* Outlines of boxes beside the pixels that they should cover. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "media/boxes.h"

enum { HEIGHT = 5, WIDTH = 8, RGB = 3 };

/* '#' where a pixel is no longer grey. */
static void expect(hu_box box, int64_t class_number, const char *rows[HEIGHT]) {
    float pixels[HEIGHT * WIDTH * RGB];
    const hu_canvas canvas = {HEIGHT, WIDTH, RGB, pixels};
    for (int i = 0; i < HEIGHT * WIDTH * RGB; i++) pixels[i] = 0.5f;
    hu_paint_box(&canvas, &box, class_number);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            bool is_painted = pixels[(y * WIDTH + x) * RGB] != 0.5f;
            if (is_painted != (rows[y][x] == '#')) fail_msg("pixel %d of row %d", x, y);
        }
}

static void outlines_lie_inside_of_their_boxes(void **state) {
    (void)state;
    expect((hu_box){0.25, 0.2, 0.75, 0.8}, 0,
           (const char *[]){"........", "..####..", "..#..#..", "..####..", "........"});
    expect((hu_box){0, 0, 1, 1}, 1,
           (const char *[]){"########", "#......#", "#......#", "#......#", "########"});
    /* Sides that end between pixels cover those. */
    expect((hu_box){0.3, 0.3, 0.7, 0.7}, 2,
           (const char *[]){"........", "..####..", "..#..#..", "..####..", "........"});
    expect((hu_box){0.26, 0.45, 0.27, 0.5}, 3,
           (const char *[]){"........", "........", "..#.....", "........", "........"});
}

static void what_is_outside_is_not_drawn(void **state) {
    (void)state;
    const char *none[] = {"........", "........", "........", "........", "........"};
    expect((hu_box){-3, -3, 0.5, 0.4}, 0,
           (const char *[]){"####....", "####....", "........", "........", "........"});
    expect((hu_box){1.5, 0, 2, 1}, 0, none);
    expect((hu_box){0.5, 0.5, 0.5, 0.9}, 0, none);
    expect((hu_box){0, 0, 1, 1}, -1, none);
    expect((hu_box){NAN, 0, 1, 1}, 0, none);
}

static void classes_have_colours(void **state) {
    (void)state;
    float first[HEIGHT * WIDTH * RGB] = {0}, other[HEIGHT * WIDTH * RGB] = {0};
    const hu_box box = {0, 0, 1, 1};
    for (int64_t c = 1; c < 8; c++) {
        hu_paint_box(&(hu_canvas){HEIGHT, WIDTH, RGB, first}, &box, 0);
        hu_paint_box(&(hu_canvas){HEIGHT, WIDTH, RGB, other}, &box, c);
        assert_memory_not_equal(first, other, sizeof first);
    }
    hu_paint_box(&(hu_canvas){HEIGHT, WIDTH, RGB, other}, &box, 8);
    assert_memory_equal(first, other, sizeof first);
    float grey[HEIGHT * WIDTH] = {0};
    hu_paint_box(&(hu_canvas){HEIGHT, WIDTH, 1, grey}, &box, 0);
    assert_true(grey[0] == 1.0f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outlines_lie_inside_of_their_boxes),
        cmocka_unit_test(what_is_outside_is_not_drawn),
        cmocka_unit_test(classes_have_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
