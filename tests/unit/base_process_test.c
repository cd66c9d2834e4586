/* What a process says of its own memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/process.h"

#define LARGE ((size_t)256 << 20)

static void *take(size_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    return memset(pages, 1, bytes);
}

static void the_peak_stays_when_memory_goes(void **state) {
    (void)state;
    void *pages = take(LARGE);
    assert_true(hu_resident_bytes() >= (int64_t)LARGE);
    assert_int_equal(munmap(pages, LARGE), 0);
    assert_true(hu_resident_bytes() < (int64_t)LARGE);
    assert_true(hu_peak_rss_bytes() >= (int64_t)LARGE);
}

/* posix_spawn does as vfork: until exec the child has its parent's memory. */
static void the_peak_is_not_the_parents(void **state) {
    (void)state;
    char *words[] = {"child", "small", NULL}, *none[] = {NULL};
    pid_t child;
    int status = -1;
    void *pages = take(LARGE);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, none), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(munmap(pages, LARGE), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "small") == 0)
        return hu_peak_rss_bytes() > 0 && hu_peak_rss_bytes() < (int64_t)LARGE ? 0 : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_stays_when_memory_goes),
        cmocka_unit_test(the_peak_is_not_the_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
