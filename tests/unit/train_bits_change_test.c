/* Bits that change between steps: nothing is allocated, and the change costs next to nothing beside
 * a step. Prints what it costs. */
#include <math.h>

#include "base/memory.h"
#include "base/process.h"
#include "engine/run.h"
#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

static void open_network(fixture *f, const char *precision, double width, int64_t steps) {
    prepare(f, precision);
    f->options.model = "resnet20";
    f->options.width = width;
    f->options.steps = steps;
    f->options.run.threads = 1;
}

/* Bits of the first layer's input. */
static uint32_t first_bits(const fixture *f) {
    hu_value_id image = f->trainer->graph->loaded[0];
    return f->trainer->edges.use[f->trainer->graph->value[image].uses[0]].quantizer.bits;
}

/* Steps, evaluations between them, and what a checkpoint asks for. Returns the changes. */
static int run_steps(fixture *f, int steps) {
    uint64_t allocations = 0;
    uint32_t bits = 0;
    int changes = 0;
    hu_step_report report;
    for (int t = 0; t < steps; t++) {
        if (hu_trainer_step(f->trainer, &report) != HU_OK) fail_msg("%s", hu_last_error());
        changes += first_bits(f) != bits;
        bits = first_bits(f);
        if (hu_adapt_between(f->trainer) != HU_OK) fail_msg("%s", hu_last_error());
        if (t == 0) allocations = hu_memory_count().allocations;
    }
    assert_int_equal(hu_memory_count().allocations, allocations);
    return changes;
}

static void no_allocation(void **state) {
    (void)state;
    enum { STEPS = 64 };
    fixture f;
    const char *precisions[] = {"random", "cpt:2-16", "ldp:3-8", "pfq:3-8"};
    for (int p = 0; p < 4; p++) {
        open_network(&f, precisions[p], 0.25, STEPS);
        f.options.precision.bits.every = 1;
        f.options.precision.bits.cycles = 4;
        f.options.precision.bits.rate = 50.0;
        f.options.precision.bits.target = 0.3;
        f.options.precision.bits.interval = 1;
        f.options.precision.bits.epsilon = 10.0; /* every loss stands still */
        begin(&f);
        int changes = run_steps(&f, STEPS), least = strcmp(precisions[p], "pfq:3-8") == 0 ? 4 : 8;
        if (changes < least) fail_msg("%s: %d changes", precisions[p], changes);
        end(&f);
    }
}

/* Least seconds of a change: the bits of all layers alternate, as before a step. */
static double change_seconds(fixture *f) {
    enum { ALTERNATIONS = 400 };
    hu_trainer *trainer = f->trainer;
    double least = INFINITY;
    for (int i = 0; i < ALTERNATIONS; i++) {
        hu_step_report report = {.step = i % 2 ? 4 : 0, .scale = 1.0f};
        double start = hu_seconds_now();
        if (hu_adapt_before(trainer, &report) != HU_OK) fail_msg("%s", hu_last_error());
        double seconds = hu_seconds_now() - start;
        assert_int_equal(first_bits(f), i % 2 ? 8 : 3);
        if (i > 0 && seconds < least) least = seconds;
    }
    return least;
}

/* The least of some steps, in which bits may change too: busy machines only make them longer. */
static double step_seconds(fixture *f) {
    enum { STEPS = 12 };
    double least = INFINITY;
    for (int t = 0; t < STEPS; t++) {
        double start = hu_seconds_now();
        (void)step(f);
        double seconds = hu_seconds_now() - start;
        if (seconds < least) least = seconds;
    }
    return least;
}

/* The number of layers decides what a change costs, the size of images and batch what a step does:
 * 16 images of 8 x 8 pixels are a small step. */
static void costs_little(void **state) {
    (void)state;
    enum { STEPS = 12 };
    fixture f;
    open_network(&f, "staged", 1.0, STEPS);
    hu_bits *bits = &f.options.precision.bits;
    bits->by_step = true;
    assert_int_equal(hu_bits_add_stage(bits, "0: 3"), HU_OK);
    assert_int_equal(hu_bits_add_stage(bits, "2: 8"), HU_OK);
    begin(&f);
    double change = change_seconds(&f), whole = step_seconds(&f);
    print_message(
        "a change of the bits of all layers of ResNet-20: %.1f us; a step of %d images of "
        "%d x %d: %.2f ms; share %.3f %%\n",
        1e6 * change, BATCH, SIDE, SIDE, 1e3 * whole, 100.0 * change / whole);
    assert_true(change < 0.01 * whole);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_allocation),
                                       cmocka_unit_test(costs_little)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
