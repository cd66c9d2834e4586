/* A training that has begun takes nothing more from the system: 1,000 steps with all that happens
 * in them, epochs, short batches, skipped steps. */
#include <fcntl.h>

#include "base/error.h"
#include "base/memory.h"
#include "train_fixture.h"

enum { STEPS = 1000, SETTLED = 10, PAGES = 4, PAGE_BYTES = 4096 };

/* Bytes of anonymous memory in the machine, counted page by page; -1: the system does not tell. No
 * heap is used. */
static int64_t resident_bytes(void) {
    char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *field = strstr(text, "Anonymous:");
    return field ? 1024 * strtoll(field + strlen("Anonymous:"), NULL, 10) : -1;
}

static void test_no_growth(void **state) {
    (void)state;
    static const hu_data_limits limits = {TRAIN, TEST};
    hu_dataset *glyphs;
    fixture f;
    uint64_t allocations = 0;
    int64_t resident = 0, skipped = 0;
    prepare(&f, "hfp8");
    assert_int_equal(hu_dataset_open("glyphs", &limits, &glyphs), HU_OK);
    f.data = *glyphs;
    f.options.steps = STEPS;
    f.options.run.threads = 2;
    f.options.schedule = hu_schedule_constant(0.001);
    begin(&f);
    for (int i = 0; i < STEPS; i++) {
        /* Too large a scale now and then: these steps are diagnosed, and skipped. */
        if (i % 400 == 5) f.trainer->phase[0].scaler.state.scale = 0x1p40f;
        if (i % 400 == 6) f.trainer->phase[0].scaler.state.scale = 0x1p10f;
        skipped += step(&f).skipped;
        if (i == 1) allocations = hu_memory_count().allocations;
        if (i == SETTLED - 1) resident = resident_bytes();
    }
    assert_int_equal(hu_memory_count().allocations, allocations);
    assert_in_range(skipped, 1, STEPS / 10);
    int64_t growth = resident_bytes() - resident;
#if defined(HALFULP_SANITIZED)
    resident = -1; /* the sanitizer's own bookkeeping may grow */
#endif
    if (resident < 0)
        print_message("pages could not be counted\n");
    else if (growth > PAGES * PAGE_BYTES)
        fail_msg("%lld bytes more are resident after %d steps", (long long)growth, STEPS);
    end(&f);
    hu_dataset_close(glyphs);
}

/* Threads that wait must not spin, or a busy machine needs minutes; the runtime of OpenMP reads
 * this before main. */
int main(int argc, char **argv) {
    (void)argc;
    if (!getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        execv("/proc/self/exe", argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
