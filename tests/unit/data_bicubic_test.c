/* Bicubic resizing against numbers worked out by hand, and of another program. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "media/image_resize.h"

enum { MOST = 64 };

/* One row of grey pixels. */
static void row(const uint8_t *from, int64_t count, int64_t to_count, uint8_t *to) {
    uint8_t pixels[3 * MOST], made[3 * MOST];
    for (int64_t i = 0; i < 3 * count; i++) pixels[i] = from[i / 3];
    assert_int_equal(hu_bicubic_resize(pixels, 1, count, 1, to_count, made), HU_OK);
    for (int64_t i = 0; i < to_count; i++) {
        assert_true(made[3 * i] == made[3 * i + 1] && made[3 * i] == made[3 * i + 2]);
        to[i] = made[3 * i];
    }
}

static void a_plane_stays_one(void **state) {
    (void)state;
    uint8_t flat[8] = {77, 77, 77, 77, 77, 77, 77, 77}, made[32];
    row(flat, 8, 32, made);
    for (int i = 0; i < 32; i++) assert_int_equal(made[i], 77);
    row(flat, 8, 2, made);
    assert_true(made[0] == 77 && made[1] == 77);
}

/* Twice as wide, places lie a quarter pixel beside those of the pixels: k(1/4) = 111/128, k(3/4) =
 * 29/128, k(5/4) = -9/128, k(7/4) = -3/128. Of an edge of 128,
 * places get -3, -9, 26 and their sums. */
static void an_edge_overshoots_by_the_kernel(void **state) {
    (void)state;
    const uint8_t edge[8] = {50, 50, 50, 50, 178, 178, 178, 178};
    uint8_t made[16];
    row(edge, 8, 16, made);
    const uint8_t expected[16] = {50,  50,  50,  50,  50,  47,  41,  76,
                                  152, 187, 181, 178, 178, 178, 178, 178};
    for (int i = 0; i < 16; i++)
        if (made[i] != expected[i]) fail_msg("place %d: %d, not %d", i, made[i], expected[i]);
}

/* Bytes of Pillow 13.0: Image.fromarray(x).resize((3, 2), BICUBIC) of x[i] = 37 i mod 256, 7 x 5.
 */
static void another_program_agrees(void **state) {
    (void)state;
    uint8_t from[7 * 5 * 3], made[3 * 2 * 3];
    static const uint8_t expected[3 * 2 * 3] = {99, 79,  126, 158, 124, 87,  117, 165, 149,
                                                99, 103, 146, 152, 118, 111, 141, 165, 132};
    for (int i = 0; i < 7 * 5 * 3; i++) from[i] = (uint8_t)(37 * i % 256);
    assert_int_equal(hu_bicubic_resize(from, 5, 7, 2, 3, made), HU_OK);
    assert_memory_equal(made, expected, sizeof made);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    uint8_t from[12] = {0}, made[48];
    hu_status st = HU_ERR_MEMORY;
    uint64_t live = hu_memory_count().live_blocks, nth = 0;
    while (st == HU_ERR_MEMORY) {
        hu_memory_fail_at(++nth);
        st = hu_bicubic_resize(from, 2, 2, 4, 4, made);
        hu_memory_fail_at(0);
        assert_int_equal(hu_memory_count().live_blocks, live);
    }
    assert_true(st == HU_OK && nth == 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_stays_one),
        cmocka_unit_test(an_edge_overshoots_by_the_kernel),
        cmocka_unit_test(another_program_agrees),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
