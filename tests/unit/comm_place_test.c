/* Places that several threads note at once do not mix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "comm/process_group.h"

enum { THREADS = 3, TURNS = 3000, WORD = 13, WORDS = 8 };

static pthread_barrier_t barrier;

/* Numbers that take the library long to write, so that the threads meet while they do. */
static void *note(void *number) {
    long double x = *(const long double *)number;
    for (int i = 0; i < TURNS; i++) {
        pthread_barrier_wait(&barrier);
        hu_comm_status_line_set("%.4Le %.4Le %.4Le %.4Le %.4Le %.4Le %.4Le %.4Le ", x, x, x, x, x,
                                x, x, x);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* After each turn of one place per thread, the place is a whole one. */
static void places_do_not_mix(void **state) {
    (void)state;
    static long double numbers[THREADS] = {1e-4900L, 2e-4900L, 3e-4900L};
    pthread_t thread[THREADS];
    int mixed = 0;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, note, &numbers[t]), 0);
    for (int i = 0; i < TURNS; i++) {
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        /* The next turn waits for this thread. */
        const char *place = hu_comm_status_line();
        mixed += strlen(place) != WORD * WORDS;
        for (size_t at = WORD; at + WORD <= strlen(place); at += WORD)
            mixed += memcmp(place + at, place, WORD) != 0;
    }
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(mixed, 0);
}

static void long_places_are_cut(void **state) {
    (void)state;
    char text[1000] = {0};
    memset(text, 'x', sizeof text - 1);
    hu_comm_status_line_set("rank %d, %s", 3, text);
    assert_int_equal(strlen(hu_comm_status_line()), 255);
    assert_memory_equal(hu_comm_status_line(), "rank 3, xxx", 11);
    hu_comm_status_line_set("rank %d", 4);
    assert_string_equal(hu_comm_status_line(), "rank 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_do_not_mix),
        cmocka_unit_test(long_places_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
