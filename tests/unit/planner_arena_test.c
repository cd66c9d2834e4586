/* Buffers that live at one time never overlap; the arena is aligned and no larger than it must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/rng.h"
#include "planner/internal.h"

enum { MOST = 120, TIMES = 40 };

static size_t aligned(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static bool is_alive(const hu_buffer *a, int course, int32_t time) {
    return a->life[course].first <= time && time <= a->life[course].last;
}

/* At some time of some course, one after the other. */
static bool live_together(const hu_buffer *a, const hu_buffer *b) {
    for (int course = 0; course < HU_COURSES; course++)
        for (int32_t time = 0; time < TIMES; time++)
            if (is_alive(a, course, time) && is_alive(b, course, time)) return true;
    return false;
}

/* Alive from first to last of one course alone. */
static hu_buffer buffer_of(size_t bytes, int course, int32_t first, int32_t last,
                           hu_buffer_role role) {
    hu_buffer buffer = {.bytes = bytes, .role = role, .offset = SIZE_MAX};
    hu_buffer_forget(&buffer);
    hu_buffer_use(&buffer, course, first);
    hu_buffer_use(&buffer, course, last);
    return buffer;
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
    for (int32_t at = 0; at < HU_COURSES * TIMES; at++) {
        size_t live = 0;
        for (uint32_t i = 0; i < count; i++)
            if (is_alive(&buffers[i], at / TIMES, at % TIMES)) live += buffers[i].bytes;
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
            int32_t first = (int32_t)hu_random_below(&key, 8 * i + 1, TIMES);
            int32_t last =
                first + (int32_t)hu_random_below(&key, 8 * i + 2, (uint64_t)(TIMES - first));
            size_t bytes = 1 + (size_t)hu_random_below(&key, 8 * i + 3, i % 3 ? 200 : 5000);
            int course = (int)hu_random_below(&key, 8 * i + 4, HU_COURSES);
            buffers[i] = buffer_of(bytes, course, first, last, HU_BUFFER_SCRATCH);
            if (i % 5 == 0) /* in a second course, too */
                hu_buffer_use(&buffers[i], (course + 1) % HU_COURSES, TIMES - 1 - first);
        }
        size_t total;
        assert_int_equal(hu_arena_place(buffers, count, &total), HU_OK);
        check_plan(buffers, count, total);
    }
}

/* Where the definition puts a buffer: larger ones, and of equal ones earlier ones, have their
 * places; of the ends of those that it meets, and the beginning, the lowest at which it fits. */
static size_t defined_offset(const hu_buffer *buffers, uint32_t count, uint32_t i) {
    const hu_buffer *b = &buffers[i];
    size_t best = SIZE_MAX;
    for (uint32_t from = 0; from <= count; from++) {
        size_t at = from == count ? 0 : aligned(buffers[from].offset + buffers[from].bytes);
        bool fits = at < best;
        for (uint32_t k = 0; k < count && fits; k++) {
            const hu_buffer *a = &buffers[k];
            bool is_before = a->bytes > b->bytes || (a->bytes == b->bytes && k < i);
            if (!is_before || !hu_buffers_meet(a, b)) continue;
            fits = at + b->bytes <= a->offset || a->offset + a->bytes <= at;
        }
        if (fits) best = at;
    }
    return best;
}

/* Hundreds that wait for each other like a long chain's, and others between them; some in two
 * courses, some of no bytes. */
static void test_as_defined(void **state) {
    (void)state;
    enum { MANY = 700, MOMENTS = 1400 };
    static hu_buffer buffers[MANY];
    size_t total;
    for (uint64_t instance = 0; instance < 12; instance++) {
        hu_random_key key = {.seed = 5, .stream = 6, .step = instance};
        for (uint32_t i = 0; i < MANY; i++) {
            uint64_t draw = hu_random_below(&key, 4 * i, 10);
            int32_t first = (int32_t)hu_random_below(&key, 4 * i + 1, MOMENTS - 30);
            int32_t last = first + (int32_t)hu_random_below(&key, 4 * i + 2, 30);
            size_t bytes = (size_t)hu_random_below(&key, 4 * i + 3, instance % 2 ? 9 : 3000);
            bool waits = draw < instance % 8;
            buffers[i] = waits ? buffer_of(256, 0, (int32_t)i, MOMENTS - (int32_t)i, HU_BUFFER_MASK)
                               : buffer_of(bytes * (instance % 3 ? 64 : 1), draw == 9, first, last,
                                           HU_BUFFER_SCRATCH);
            if (draw == 8) hu_buffer_use(&buffers[i], 2, last - first);
        }
        assert_int_equal(hu_arena_place(buffers, MANY, &total), HU_OK);
        for (uint32_t i = 0; i < MANY; i++)
            assert_int_equal(buffers[i].offset, defined_offset(buffers, MANY, i));
    }
}

/* What had its place between many that all meet the last one does not meet it itself. */
static void test_gap_among_many(void **state) {
    (void)state;
    enum { LOW = 200, HIGH = 5, LINE = 64, ALL = 1 + LOW + HIGH + 1 };
    hu_buffer buffers[ALL];
    size_t total;
    buffers[0] = buffer_of(2 * (size_t)LOW * LINE, 0, 0, 0, HU_BUFFER_SCRATCH);
    for (uint32_t i = 1; i < ALL; i++)
        buffers[i] = buffer_of(LINE, 0, i > LOW ? 0 : 5, 9, HU_BUFFER_MASK);
    buffers[ALL - 1] = buffer_of(LINE - 1, 0, 5, 9, HU_BUFFER_MASK);
    assert_int_equal(hu_arena_place(buffers, ALL, &total), HU_OK);
    assert_int_equal(buffers[LOW].offset, (LOW - 1) * LINE);
    assert_int_equal(buffers[LOW + 1].offset, 2 * LOW * LINE);
    assert_int_equal(buffers[ALL - 1].offset, LOW * LINE);
    assert_int_equal(total, (2 * LOW + HIGH) * LINE);
}

static void test_room_is_used_again(void **state) {
    (void)state;
    hu_buffer buffers[4] = {
        buffer_of(1000, 0, 0, 3, HU_BUFFER_ACTIVATION), buffer_of(900, 0, 4, 6, HU_BUFFER_GRADIENT),
        buffer_of(50, 0, 3, 4, HU_BUFFER_MASK), buffer_of(800, 1, 0, 9, HU_BUFFER_ACTIVATION)};
    size_t total;
    assert_int_equal(hu_arena_place(buffers, 4, &total), HU_OK);
    assert_int_equal(total, 1024 + 64);
    assert_int_equal(buffers[3].offset, 0); /* in another course */
    assert_int_equal(buffers[0].offset, 0);
    assert_int_equal(buffers[1].offset, 0);
    assert_int_equal(buffers[2].offset, 1024);
}

static void test_nothing_and_no_memory(void **state) {
    (void)state;
    size_t total = 7;
    hu_buffer buffer = buffer_of(10, 0, 0, 0, HU_BUFFER_MASK);
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
        cmocka_unit_test(test_random_instances),      cmocka_unit_test(test_as_defined),
        cmocka_unit_test(test_gap_among_many),        cmocka_unit_test(test_room_is_used_again),
        cmocka_unit_test(test_nothing_and_no_memory), cmocka_unit_test(test_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
