/* A model's layers with a schedule of bits, for tests of both. */
#ifndef HU_BITS_FIXTURE_H
#define HU_BITS_FIXTURE_H
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "precision/bits.h"

typedef struct fixture {
    hu_graph *graph;
    hu_bits bits;
    hu_bits_layers layers;
    hu_bits_task task;
    hu_bits_course course;
} fixture;

static inline hu_bits bits_of_text(const char *text) {
    hu_bits bits;
    bool found;
    if (hu_bits_parse(text, &bits, &found) != HU_OK || !found) fail_msg("%s", hu_last_error());
    return bits;
}

/* The layers of a model for CIFAR-10, and a task of 128 samples, 400 steps an epoch. */
static inline void open_layers(fixture *f, const char *model, const char *text, int64_t steps) {
    hu_model_options options = {
        .name = model, .width = 1, .image = {3, {32, 32, 3}}, .classes = 10};
    *f = (fixture){.bits = bits_of_text(text)};
    assert_int_equal(hu_model_build(&options, &f->graph), HU_OK);
    assert_int_equal(hu_bits_layers_create(f->graph, &f->bits, &f->layers), HU_OK);
    f->task = (hu_bits_task){.bits = &f->bits,
                             .layers = &f->layers,
                             .batch = 128,
                             .steps = steps,
                             .steps_per_epoch = 400,
                             .seed = 1};
}

static inline void begin(fixture *f) {
    if (hu_bits_begin(&f->task, &f->course) != HU_OK) fail_msg("%s", hu_last_error());
}

static inline void close_fixture(fixture *f) {
    hu_bits_end(&f->course);
    hu_bits_layers_free(&f->layers);
    hu_graph_free(f->graph);
}

static inline void expect_failure(fixture *f, hu_status status, const char *part) {
    assert_int_equal(hu_bits_begin(&f->task, &f->course), status);
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' has no '%s'", hu_last_error(), part);
    assert_null(f->course.state);
}

enum { LAYERS_MOST = 128 };

/* Bits of the first layer in a step. */
static inline int first_bits(const fixture *f, int64_t step) {
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    f->course.schedule->at(f->course.state, step, forward, gradient);
    return forward[0];
}

#endif
