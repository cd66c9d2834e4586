/* Buffers that live at one time never overlap; the arena is aligned and no larger than it must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/rng.h"
#include "layout/arena.h"

enum { MOST = 120, TIMES = 40 };

static size_t aligned(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static bool live_together(const hu_buffer *a, const hu_buffer *b) {
    return a->first <= b->last && b->first <= a->last;
}

static void check_plan(const hu_buffer *buffers, uint32_t count, size_t total) {
    size_t all = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hu_buffer *a = &buffers[i];
        assert_int_equal(a->offset % 64, 0);
        assert_true(a->offset + a->bytes <= total);
        all += aligned(a->bytes);
        for (uint32_t j = 0; j < i; j++) {
            const hu_buffer *b = &buffers[j];
            if (!live_together(a, b)) continue;
            assert_true(a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
        }
    }
    assert_int_equal(total % 64, 0);
    assert_true(total <= all);
    for (int32_t time = 0; time < TIMES; time++) {
        size_t live = 0;
        for (uint32_t i = 0; i < count; i++)
            if (buffers[i].first <= time && time <= buffers[i].last) live += buffers[i].bytes;
        assert_true(total >= live);
    }
}

static void test_random_instances(void **state) {
    (void)state;
    hu_buffer buffers[MOST];
    for (uint64_t instance = 0; instance < 300; instance++) {
        hu_random_key key = {.seed = 1, .stream = 2, .step = instance};
        uint32_t count = 1 + (uint32_t)hu_random_below(&key, 0, MOST);
        for (uint32_t i = 0; i < count; i++) {
            int32_t first = (int32_t)hu_random_below(&key, 4 * i + 1, TIMES);
            int32_t last =
                first + (int32_t)hu_random_below(&key, 4 * i + 2, (uint64_t)(TIMES - first));
            size_t bytes = 1 + (size_t)hu_random_below(&key, 4 * i + 3, i % 3 ? 200 : 5000);
            buffers[i] = (hu_buffer){bytes, first, last, HU_BUFFER_SCRATCH, SIZE_MAX};
        }
        size_t total;
        assert_int_equal(hu_arena_place(buffers, count, &total), HU_OK);
        check_plan(buffers, count, total);
    }
}

static void test_room_is_used_again(void **state) {
    (void)state;
    hu_buffer buffers[3] = {{1000, 0, 3, HU_BUFFER_ACTIVATION, 1},
                            {900, 4, 6, HU_BUFFER_GRADIENT, 1},
                            {50, 3, 4, HU_BUFFER_MASK, 1}};
    size_t total;
    assert_int_equal(hu_arena_place(buffers, 3, &total), HU_OK);
    assert_int_equal(total, 1024 + 64);
    assert_int_equal(buffers[0].offset, 0);
    assert_int_equal(buffers[1].offset, 0);
    assert_int_equal(buffers[2].offset, 1024);
}

static void test_nothing_and_no_memory(void **state) {
    (void)state;
    size_t total = 7;
    hu_buffer buffer = {10, 0, 0, HU_BUFFER_MASK, 0};
    assert_int_equal(hu_arena_place(NULL, 0, &total), HU_OK);
    assert_int_equal(total, 0);
    for (uint64_t nth = 1; nth <= 2; nth++) {
        uint64_t live = hu_memory_count().live_blocks;
        hu_memory_fail_at(nth);
        assert_int_equal(hu_arena_place(&buffer, 1, &total), HU_ERR_MEMORY);
        assert_int_equal(hu_memory_count().live_blocks, live);
    }
    hu_memory_fail_at(0);
}

static void test_roles(void **state) {
    (void)state;
    assert_string_equal(hu_buffer_role_name(HU_BUFFER_ACTIVATION), "activations");
    assert_string_equal(hu_buffer_role_name(HU_BUFFER_SCRATCH), "scratch");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_instances),
        cmocka_unit_test(test_room_is_used_again),
        cmocka_unit_test(test_nothing_and_no_memory),
        cmocka_unit_test(test_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
