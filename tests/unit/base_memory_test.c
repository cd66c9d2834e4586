#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* AddressSanitizer asks for its options here: a size that cannot be had must give NULL. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static void blocks_are_aligned_zeroed_and_writable(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int round = 0; round < 3; round++) { /* later rounds meet reused memory */
            void *block;
            assert_int_equal(hu_alloc(sizes[i], &block), HU_OK);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % 64, 0);
            const uint8_t *p = block;
            for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(p[k], 0);
            memset(block, 0xff, sizes[i]);
            hu_free(block);
        }
    }
    hu_free(NULL);
}

static void counters_follow_every_block(void **state) {
    (void)state;
    hu_memory_counts start = hu_memory_count(), now;
    void *a, *b;
    assert_int_equal(hu_alloc(1000, &a), HU_OK);
    assert_int_equal(hu_alloc_array(25, 8, &b), HU_OK);
    now = hu_memory_count();
    assert_int_equal(now.live_bytes - start.live_bytes, 1200);
    assert_int_equal(now.live_blocks - start.live_blocks, 2);
    assert_int_equal(now.allocations - start.allocations, 2);
    assert_true(now.peak_bytes >= start.live_bytes + 1200);
    hu_free(a);
    assert_int_equal(hu_memory_count().live_bytes - start.live_bytes, 200);
    assert_int_equal(hu_realloc(&b, 50), HU_OK);
    assert_int_equal(hu_memory_count().live_bytes - start.live_bytes, 50);
    hu_free(b);
    now = hu_memory_count();
    assert_int_equal(now.live_bytes, start.live_bytes);
    assert_int_equal(now.live_blocks, start.live_blocks);
    uint64_t peak = now.peak_bytes;
    assert_int_equal(hu_alloc(peak + 1, &a), HU_OK);
    hu_free(a);
    assert_true(hu_memory_count().peak_bytes > peak);
}

static void bytes_are_counted_by_role(void **state) {
    (void)state;
    uint64_t data = hu_memory_live(HU_MEMORY_DATA), arena = hu_memory_live(HU_MEMORY_ARENA);
    uint64_t other = hu_memory_live(HU_MEMORY_BOOKKEEPING);
    void *block, *plain;
    assert_int_equal(hu_alloc_for(HU_MEMORY_ARENA, 100, &block), HU_OK);
    assert_int_equal(hu_memory_live(HU_MEMORY_ARENA) - arena, 100);
    assert_int_equal(hu_realloc(&block, 300), HU_OK);
    assert_int_equal(hu_memory_live(HU_MEMORY_ARENA) - arena, 300);
    assert_int_equal(hu_alloc(7, &plain), HU_OK);
    assert_int_equal(hu_memory_live(HU_MEMORY_BOOKKEEPING) - other, 7);
    hu_memory_assign(plain, HU_MEMORY_DATA);
    hu_memory_assign(NULL, HU_MEMORY_DATA);
    assert_int_equal(hu_memory_live(HU_MEMORY_BOOKKEEPING), other);
    assert_int_equal(hu_memory_live(HU_MEMORY_DATA) - data, 7);
    hu_free(block);
    hu_free(plain);
    assert_int_equal(hu_memory_live(HU_MEMORY_ARENA), arena);
    assert_int_equal(hu_memory_live(HU_MEMORY_DATA), data);
}

static void a_kept_block_is_counted_no_longer(void **state) {
    (void)state;
    hu_memory_counts start = hu_memory_count(), now;
    void *block;
    assert_int_equal(hu_alloc(1000, &block), HU_OK);
    hu_memory_keep(block);
    hu_memory_keep(block);
    now = hu_memory_count();
    assert_int_equal(now.live_bytes, start.live_bytes);
    assert_int_equal(now.live_blocks, start.live_blocks);
    hu_free(block);
    now = hu_memory_count();
    assert_int_equal(now.live_bytes, start.live_bytes);
    assert_int_equal(now.live_blocks, start.live_blocks);
    hu_memory_keep(NULL);
}

static void growing_keeps_the_contents_and_zeroes_the_rest(void **state) {
    (void)state;
    void *block = NULL;
    assert_int_equal(hu_realloc(&block, 10), HU_OK);
    memcpy(block, "0123456789", 10);
    assert_int_equal(hu_realloc(&block, 200), HU_OK);
    assert_memory_equal(block, "0123456789", 10);
    const char *p = block;
    for (size_t i = 10; i < 200; i++) assert_int_equal(p[i], 0);
    assert_int_equal(hu_realloc(&block, 4), HU_OK);
    assert_memory_equal(block, "0123", 4);
    hu_free(block);
}

static void arrays_are_made_and_grown_by_their_own_pointer(void **state) {
    (void)state;
    double *list = NULL;
    size_t capacity = 3;
    assert_int_equal(HU_NEW_ARRAY(&list, capacity), HU_OK);
    for (size_t i = 0; i < 3; i++) assert_true(list[i] == 0.0);
    list[2] = 5.0;
    assert_int_equal(hu_grow(&list, 3, &capacity, sizeof *list), HU_OK);
    assert_int_equal(capacity, 6);
    assert_true(list[2] == 5.0 && list[3] == 0.0);
    double *kept = list;
    hu_memory_fail_at(1);
    assert_int_equal(hu_grow(&list, 6, &capacity, sizeof *list), HU_ERR_MEMORY);
    assert_ptr_equal(list, kept);
    assert_int_equal(capacity, 6);
    hu_free(list);
    hu_memory_fail_at(1);
    assert_int_equal(HU_NEW(&list), HU_ERR_MEMORY);
    assert_null(list);
}

static void a_room_is_used_again(void **state) {
    (void)state;
    hu_memory_counts start = hu_memory_count();
    hu_scratch room = {0};
    uint8_t *first, *again, *larger;
    assert_int_equal(hu_scratch_take(&room, 100, &first), HU_OK);
    memset(first, 0xff, 100);
    assert_int_equal(hu_scratch_take(&room, 7, &again), HU_OK);
    assert_ptr_equal(again, first);
    assert_int_equal(room.bytes, 100);
    assert_int_equal(hu_scratch_take(&room, 101, &larger), HU_OK);
    memset(larger, 0xff, 101);
    assert_int_equal(hu_memory_count().live_blocks, start.live_blocks + 1);
    hu_memory_fail_at(1);
    assert_int_equal(hu_scratch_take(&room, 102, &larger), HU_ERR_MEMORY);
    assert_null(larger);
    assert_int_equal(room.bytes, 0);
    hu_scratch_free(&room);
    assert_int_equal(hu_memory_count().live_blocks, start.live_blocks);
}

static void strings_are_copied(void **state) {
    (void)state;
    char *copy;
    assert_int_equal(hu_strdup("half", &copy), HU_OK);
    assert_string_equal(copy, "half");
    hu_free(copy);
    assert_int_equal(hu_strndup("halfulp", 4, &copy), HU_OK);
    assert_string_equal(copy, "half");
    hu_free(copy);
}

static void sizes_that_do_not_fit_fail_and_are_named(void **state) {
    (void)state;
    hu_memory_counts start = hu_memory_count();
    void *block = &start;
    assert_int_equal(hu_alloc(SIZE_MAX - 3, &block), HU_ERR_MEMORY);
    assert_null(block);
    assert_non_null(strstr(hu_last_error(), "18446744073709551612"));
    assert_int_equal(hu_alloc_array(SIZE_MAX / 2, 3, &block), HU_ERR_MEMORY);
    assert_null(block);
    assert_non_null(strstr(hu_last_error(), "elements of 3 bytes"));
    assert_int_equal(hu_alloc(SIZE_MAX / 2, &block), HU_ERR_MEMORY);
    assert_null(block);
    assert_int_equal(hu_memory_count().live_bytes, start.live_bytes);
}

static void the_nth_allocation_fails_once(void **state) {
    (void)state;
    for (uint64_t nth = 1; nth <= 5; nth++) {
        hu_memory_fail_at(nth);
        for (uint64_t i = 1; i <= 7; i++) {
            void *block;
            hu_status st = hu_alloc(8, &block);
            assert_int_equal(st, i == nth ? HU_ERR_MEMORY : HU_OK);
            hu_free(block);
        }
    }
    void *block;
    hu_memory_fail_at(1);
    hu_memory_fail_at(0);
    assert_int_equal(hu_alloc(8, &block), HU_OK);
    memcpy(block, "contents", 8);
    hu_memory_fail_at(1);
    assert_int_equal(hu_realloc(&block, 100), HU_ERR_MEMORY);
    assert_memory_equal(block, "contents", 8);
    hu_free(block);
}

/* A thousand gibibytes, of which two pages are used; counted like others. */
static void blocks_may_be_addresses_alone(void **state) {
    (void)state;
    const size_t large = (size_t)1 << 40;
    hu_memory_counts start = hu_memory_count();
    void *block;
    hu_memory_only_counts(true);
    assert_int_equal(hu_alloc_for(HU_MEMORY_PARAMETERS, large, &block), HU_OK);
    hu_memory_only_counts(false);
    uint8_t *bytes = block;
    assert_int_equal((uintptr_t)block % 64, 0);
    assert_int_equal(bytes[0] + bytes[large - 1], 0);
    bytes[large - 1] = 1;
    assert_true(hu_memory_live(HU_MEMORY_PARAMETERS) >= large);
    hu_free(block);
    assert_true(hu_memory_count().live_bytes == start.live_bytes);
}

static void counters_are_safe_from_any_thread(void **state) {
    (void)state;
    hu_memory_counts start = hu_memory_count();
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 4000; i++) {
        void *block;
        if (hu_alloc((size_t)i, &block) == HU_OK) hu_free(block);
    }
    hu_memory_counts now = hu_memory_count();
    assert_int_equal(now.allocations - start.allocations, 4000);
    assert_int_equal(now.live_bytes, start.live_bytes);
    assert_int_equal(now.live_blocks, start.live_blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_zeroed_and_writable),
        cmocka_unit_test(counters_follow_every_block),
        cmocka_unit_test(bytes_are_counted_by_role),
        cmocka_unit_test(a_kept_block_is_counted_no_longer),
        cmocka_unit_test(growing_keeps_the_contents_and_zeroes_the_rest),
        cmocka_unit_test(arrays_are_made_and_grown_by_their_own_pointer),
        cmocka_unit_test(a_room_is_used_again),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(sizes_that_do_not_fit_fail_and_are_named),
        cmocka_unit_test(the_nth_allocation_fails_once),
        cmocka_unit_test(blocks_may_be_addresses_alone),
        cmocka_unit_test(counters_are_safe_from_any_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
