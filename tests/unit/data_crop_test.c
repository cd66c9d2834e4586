/* Random rectangles of images: which ones, and that they are always inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "data/augment.h"

/* Computed apart, in Python with its own Threefry and libm. The long pictures take the middle. */
static void rectangles_are_those_of_the_definition(void **state) {
    (void)state;
    static const struct {
        hu_reading_change change;
        int64_t index, width, height;
        hu_image_cut cut; /* left, top, width, height */
    } table[] = {
        {{1, 0, 0.08, 0, 0, false}, 0, 500, 375, {110, 11, 357, 314}},
        {{1, 0, 0.08, 0, 0, false}, 1, 500, 375, {72, 54, 334, 298}},
        {{1, 1, 0.08, 0, 0, false}, 0, 500, 375, {94, 31, 256, 289}},
        {{7, 3, 0.08, 0, 0, false}, 1299, 333, 500, {15, 229, 269, 206}},
        {{7, 3, 0.35, 0, 0, false}, 5000000000, 64, 64, {6, 6, 49, 56}},
        {{2, 0, 0.9, 0, 0, false}, 4, 1000, 20, {486, 0, 27, 20}},
        {{2, 0, 0.9, 0, 0, false}, 4, 21, 999, {0, 485, 21, 28}},
        {{2, 5, 1, 0, 0, false}, 9, 40, 40, {0, 0, 40, 40}},
        {{2, 0, 0.08, 0, 0, false}, 11, 1, 1, {0, 0, 1, 1}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        hu_image_cut cut =
            hu_image_random_cut(&table[i].change, table[i].index, table[i].width, table[i].height);
        assert_int_equal(cut.left, table[i].cut.left);
        assert_int_equal(cut.top, table[i].cut.top);
        assert_int_equal(cut.width, table[i].cut.width);
        assert_int_equal(cut.height, table[i].cut.height);
    }
}

/* Inside of the picture, not smaller than asked, of all shares; every border is reached. */
static void rectangles_are_inside(void **state) {
    (void)state;
    enum { SAMPLES = 20000, WIDTH = 20, HEIGHT = 16 };
    int left = 0, right = 0, top = 0, bottom = 0, small = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        const hu_reading_change change = {11, i % 3, 0.25, 0, 0, false};
        hu_image_cut c = hu_image_random_cut(&change, i, WIDTH, HEIGHT);
        assert_true(c.left >= 0 && c.top >= 0 && c.width >= 1 && c.height >= 1);
        assert_true(c.left + c.width <= WIDTH && c.top + c.height <= HEIGHT);
        /* Sides are rounded to whole pixels, by at most half of one. */
        double pixels = ((double)c.width + 0.5) * ((double)c.height + 0.5);
        assert_true(pixels >= 0.25 * WIDTH * HEIGHT);
        left += c.left == 0;
        top += c.top == 0;
        right += c.left + c.width == WIDTH;
        bottom += c.top + c.height == HEIGHT;
        small += c.width * c.height < WIDTH * HEIGHT / 2;
    }
    assert_true(left > SAMPLES / 20 && right > SAMPLES / 20);
    assert_true(top > SAMPLES / 20 && bottom > SAMPLES / 20);
    assert_true(small > SAMPLES / 4 && small < SAMPLES / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rectangles_are_those_of_the_definition),
        cmocka_unit_test(rectangles_are_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
