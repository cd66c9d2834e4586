/* ssd-s on blood cells, beside figures that PyTorch found in float64, where the pictures are
 * present: HALFULP_BCCD names their folder (JPEGImages, Annotations, ImageSets), 320 x 240 pixels
 * each. Without it these tests are skipped. Float32 of torch is away from the figures by a tenth of
 * the tolerances. The pictures are halved without rounding, so that a program gives them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/train.h>

#include "media/anchors.h"

enum { WIDTH = 160, HEIGHT = 120, CHANNELS = 3, WIDE = 2 * WIDTH, STEPS = 30 };
enum { IMAGE, BOXES, FIELDS, MOST = 64, CELLS = 3 };
enum { WIDE_BYTES = 4 * WIDE * HEIGHT * CHANNELS };

static hu_dataset *cells;
static hu_loader *loader;

/* Platelets, RBC and WBC by name; the figures have RBC, WBC, platelets. */
static const float class_of[CELLS] = {2, 0, 1};

static void fill_boxes(int64_t index, float *row) {
    int64_t most = cells->field[BOXES].extent[0];
    static float boxes[MOST * HU_BOX_NUMBERS];
    hu_loader_fill(loader, BOXES, HU_READ_PLAIN, index, 1, boxes);
    for (int64_t i = 0; i < most; i++) {
        float *class_number = &boxes[i * HU_BOX_NUMBERS + HU_BOX_CLASS];
        if (*class_number >= 0) *class_number = class_of[(int)*class_number];
    }
    memcpy(row, boxes, (size_t)(most * HU_BOX_NUMBERS) * sizeof *row);
}

/* Means of 2 x 2 pixels. One thread asks. */
static hu_status fill(void *context, int field, int64_t epoch, int64_t index, float *row) {
    static float wide[WIDE_BYTES];
    (void)context, (void)epoch;
    if (field == BOXES) {
        fill_boxes(index, row);
        return HU_OK;
    }
    hu_loader_fill(loader, IMAGE, HU_READ_NORMALISED, index, 1, wide);
    for (int64_t y = 0; y < HEIGHT; y++)
        for (int64_t x = 0; x < WIDTH; x++)
            for (int64_t c = 0; c < CHANNELS; c++) {
                const float *from = wide + (2 * y * WIDE + 2 * x) * CHANNELS + c;
                double sum = (double)from[0] + (double)from[CHANNELS] +
                             (double)from[WIDE * CHANNELS] + (double)from[(WIDE + 1) * CHANNELS];
                row[(y * WIDTH + x) * CHANNELS + c] = (float)(sum / 4);
            }
    return HU_OK;
}

static int open_cells(void **state) {
    const char *folder = getenv("HALFULP_BCCD");
    char spec[1024];
    *state = NULL;
    if (!folder) return 0;
    hu_loader_settings plain = {.seed = 1};
    snprintf(spec, sizeof spec, "boxes:%s", folder);
    if (hu_dataset_open(spec, NULL, &cells) != HU_OK ||
        hu_loader_create(cells, HU_SPLIT_TRAIN, &plain, &loader) != HU_OK) {
        fprintf(stderr, "%s\n", hu_last_error());
        return 1;
    }
    hu_field fields[FIELDS] = {cells->field[IMAGE], cells->field[BOXES]};
    fields[IMAGE].extent[0] = HEIGHT;
    fields[IMAGE].extent[1] = WIDTH;
    const hu_sample_source source = {
        .size = sizeof source, .samples = cells->train.count, .fill = fill};
    hu_dataset *halved;
    if (hu_dataset_of_sources(fields, FIELDS, &source, &source, &halved) != HU_OK) return 1;
    *state = halved;
    return 0;
}

static int close_cells(void **state) {
    hu_dataset_close(*state);
    hu_loader_close(loader);
    hu_dataset_close(cells);
    return 0;
}

/* ---- the data ---- */

static hu_anchors small_anchors(void) {
    const hu_picture picture = {HEIGHT, WIDTH};
    const hu_ssd_map form[] = {
        {8, 12, 24, 1, {2, 0}}, {16, 24, 48, 1, {2, 0}}, {32, 48, 80, 1, {2, 0}}};
    return (hu_anchors){.maps = 3,
                        .map = {hu_anchor_map_ssd(&form[0], picture, 15, 20),
                                hu_anchor_map_ssd(&form[1], picture, 8, 10),
                                hu_anchor_map_ssd(&form[2], picture, 4, 5)}};
}

static void boxes_and_matches_are_those_counted_apart(void **state) {
    if (!*state) skip();
    hu_anchors anchors = small_anchors();
    static float rows[MOST * HU_BOX_NUMBERS], pixels[HEIGHT * WIDTH * CHANNELS];
    int64_t most = cells->field[BOXES].extent[0], boxes = 0, matched = 0;
    assert_true(most <= MOST);
    for (int64_t i = 0; i < cells->train.count; i++) {
        fill_boxes(i, rows);
        boxes += hu_loader_length(loader, BOXES, i);
        int64_t of_picture = hu_match_ssd(&anchors, rows, most, NULL);
        if (i == 0) assert_int_equal(of_picture, 44);
        matched += of_picture;
    }
    assert_int_equal(boxes, 2804);
    assert_int_equal(matched, 5866);
    fill(NULL, IMAGE, 0, 0, pixels);
    assert_true(fabs((double)pixels[0] - 0.853241) < 5e-7);
}

/* ---- training ---- */

/* The figures are rounded to so many digits after the point. */
static void near(const char *what, double found, double figure, double tolerance, int digits) {
    double room = tolerance * figure + 0.5 * pow(10, -digits);
    if (!(fabs(found - figure) <= room))
        fail_msg("%s: found %.9g, expected %.9g within %.2g", what, found, figure, room);
}

static hu_training *open_training(const hu_dataset *data, const char *norm, const char *lr) {
    const hu_setting settings[] = {{"model", "ssd-s"}, {"model.norm", norm}, {"init", "check"},
                                   {"batch", "4"},     {"steps", "30"},      {"lr", lr},
                                   {"threads", "1"},   {"eval.every", "0"}};
    hu_training *training;
    if (hu_training_open(NULL, settings, sizeof settings / sizeof *settings, data, &training) !=
        HU_OK)
        fail_msg("%s", hu_last_error());
    return training;
}

static hu_step next(hu_training *training) {
    hu_step step = {.size = sizeof step};
    if (hu_training_next(training, &step) != HU_OK) fail_msg("%s", hu_last_error());
    return step;
}

/* What torch found: the first five losses, then those of the tenth and the last step. */
typedef struct figures {
    const char *norm, *lr;
    double first[5], tenth, last, gradient_norm;
    double of_first, of_tenth, of_last; /* tolerances */
} figures;

static void losses(const hu_dataset *data, const figures *f) {
    hu_training *training = open_training(data, f->norm, f->lr);
    for (int s = 0; s < STEPS; s++) {
        hu_step step = next(training);
        if (s == 0) near("first loss", step.loss, f->first[0], 1e-6, 7);
        if (s == 0) near("gradient", step.gradient_norm, f->gradient_norm, 2e-6, 6);
        if (s > 0 && s < 5) near("loss", step.loss, f->first[s], f->of_first, 7);
        if (s == 9) near("tenth loss", step.loss, f->tenth, f->of_tenth, 6);
        if (s == STEPS - 1) near("last loss", step.loss, f->last, f->of_last, 6);
    }
    hu_training_close(training);
}

/* In the third step a box lies right between two anchors: of equal ones the first is taken, in
 * torch's run too. */
static void losses_are_those_of_torch(void **state) {
    static const figures with_norms = {
        "batch",   "0.0001",  {12.0317445, 12.1026299, 12.0585610, 12.0070304, 11.6279918},
        12.060227, 11.821270, 35.920360,
        1e-5,      2e-3,      4e-2};
    static const figures without = {
        "off",    "0.01",   {8.6545160, 8.5987165, 8.6420370, 8.6633704, 8.4956948},
        8.326198, 8.376773, 3.412218,
        2e-6,     2e-6,     8e-5};
    if (!*state) skip();
    losses(*state, &without);
    losses(*state, &with_norms);
}

/* What a step with rate 1 moves a parameter by. */
static double moved(const hu_dataset *data, const char *norm, const char *name) {
    static float before[8192], after[8192];
    size_t count, again;
    double sum = 0;
    hu_training *training = open_training(data, norm, "1");
    assert_int_equal(hu_training_read(training, name, before, 8192, &count), HU_OK);
    next(training);
    assert_int_equal(hu_training_read(training, name, after, 8192, &again), HU_OK);
    for (size_t i = 0; i < count; i++) {
        double by = (double)before[i] - (double)after[i];
        sum += by * by;
    }
    hu_training_close(training);
    return sqrt(sum);
}

static void gradients_are_those_of_torch(void **state) {
    static const struct {
        const char *norm, *name;
        double figure;
    } table[] = {
        {"batch", "stage1.0.0.weight", 15.533015}, {"batch", "stage4.2.1.weight", 0.573468},
        {"batch", "box.2.bias", 0.028165},         {"off", "stage1.0.0.weight", 0.010708},
        {"off", "stage5.0.0.bias", 0.063357},      {"off", "box.2.bias", 0.031208}};
    if (!*state) skip();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        near(table[i].name, moved(*state, table[i].norm, table[i].name), table[i].figure, 2e-5, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_and_matches_are_those_counted_apart),
        cmocka_unit_test(losses_are_those_of_torch),
        cmocka_unit_test(gradients_are_those_of_torch),
    };
    return cmocka_run_group_tests(tests, open_cells, close_cells);
}
