/* A trainer on a handful of drawn images. */
#ifndef HU_TEST_TRAIN_FIXTURE_H
#define HU_TEST_TRAIN_FIXTURE_H
#include "store_checkpoint_fixture.h"
#include "train/internal.h"
#include "train/trainer.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE, TRAIN = 40, TEST = 20, CLASSES = 3, BATCH = 16 };

typedef struct fixture {
    hu_dataset data;
    uint8_t train_pixels[TRAIN * PIXELS], test_pixels[TEST * PIXELS];
    int32_t train_labels[TRAIN], test_labels[TEST];
    hu_train_options options;
    hu_trainer *trainer;
} fixture;

/* Class c: a bright band at height 2c in noise. */
static inline void draw(uint8_t *pixels, int32_t *labels, int64_t count, uint64_t stream) {
    hu_random_key key = {.seed = 1, .stream = stream, .step = 0};
    for (int64_t i = 0; i < count * PIXELS; i++)
        pixels[i] = (uint8_t)(hu_random_word(&key, (uint64_t)i) % 64);
    for (int64_t s = 0; s < count; s++) {
        labels[s] = (int32_t)(s % CLASSES);
        memset(pixels + s * PIXELS + 2 * labels[s] * SIDE, 200, 2 * SIDE);
    }
}

static inline void prepare(fixture *f, const char *precision) {
    static char name[] = "drawn";
    *f = (fixture){.data = {.name = name}};
    hu_dataset_set_images(&f->data, SIDE, SIDE, 1, CLASSES);
    f->data.field[HU_FIELD_IMAGE].mean[0] = 0.2f;
    f->data.field[HU_FIELD_IMAGE].std[0] = 0.25f;
    draw(f->train_pixels, f->train_labels, TRAIN, 1);
    draw(f->test_pixels, f->test_labels, TEST, 2);
    f->data.train = (hu_split){.count = TRAIN, .rows = {f->train_pixels, f->train_labels}};
    f->data.test = (hu_split){.count = TEST, .rows = {f->test_pixels, f->test_labels}};
    f->options = (hu_train_options){.model = "cnn-s",
                                    .width = 0.25,
                                    .keep_masters = true,
                                    .eval_masters = true,
                                    .optimizer = hu_optimizer_defaults(HU_OPTIMIZER_SGD),
                                    .schedule = hu_schedule_constant(0.05),
                                    .accumulate = 1,
                                    .scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_NONE),
                                    .batch = BATCH,
                                    .steps = 100,
                                    .run = {.seed = 3, .threads = 2, .chunk = 8, .fuse = true}};
    assert_int_equal(hu_precision_parse(precision, &f->options.precision), HU_OK);
    if (f->options.precision.scaler == HU_SCALER_DYNAMIC)
        f->options.scaler = hu_loss_scale_defaults(HU_LOSS_SCALE_DYNAMIC);
}

static inline void begin(fixture *f) {
    if (hu_trainer_create(&f->options, &f->data, &f->trainer) != HU_OK)
        fail_msg("%s", hu_last_error());
}

static inline void end(fixture *f) {
    hu_trainer_free(f->trainer);
    hu_precision_free(&f->options.precision);
}

static inline hu_step_report step(fixture *f) {
    hu_step_report report;
    if (hu_trainer_step(f->trainer, &report) != HU_OK) fail_msg("%s", hu_last_error());
    return report;
}

static inline float *master(fixture *f, const char *name) {
    hu_value_id v = hu_graph_find(f->trainer->graph, name);
    if (v == HU_NONE) fail_msg("no parameter '%s'", name);
    return f->trainer->weights.block + f->trainer->weights.offset[v];
}

/* A list of one or two texts (second NULL: one); owner frees. */
static inline hu_keys *list_of(const char *first, const char *second) {
    hu_keys *list, *node;
    assert_int_equal(hu_keys_create(HU_KEYS_LIST, NULL, "test", &list), HU_OK);
    const char *texts[] = {first, second};
    for (int i = 0; i < 2 && texts[i]; i++) {
        assert_int_equal(hu_keys_create(HU_KEYS_TEXT, texts[i], "test", &node), HU_OK);
        assert_int_equal(hu_keys_append(list, node), HU_OK);
    }
    return list;
}

/* Writes a checkpoint of the trainer into the folder. */
static inline void save_trainer(fixture *f, const char *directory) {
    hu_checkpoint_writer *writer;
    assert_int_equal(hu_checkpoint_begin(hu_trainer_progress(f->trainer)->step, &writer), HU_OK);
    assert_int_equal(hu_trainer_save(f->trainer, writer), HU_OK);
    assert_int_equal(hu_checkpoint_finish(writer, directory, 1), HU_OK);
    hu_checkpoint_writer_free(writer);
}

static inline hu_checkpoint *open_newest(const char *directory) {
    hu_checkpoint *checkpoint;
    char warning[512];
    if (hu_checkpoint_open_newest(directory, &checkpoint, warning, sizeof warning) != HU_OK)
        fail_msg("%s", hu_last_error());
    return checkpoint;
}

static inline hu_status restore_trainer(fixture *f, const char *directory) {
    hu_checkpoint *checkpoint = open_newest(directory);
    hu_status st = hu_trainer_restore(f->trainer, checkpoint);
    hu_checkpoint_free(checkpoint);
    return st;
}

static inline void load_trainer(fixture *f, const char *directory) {
    if (restore_trainer(f, directory) != HU_OK) fail_msg("%s", hu_last_error());
}
#endif
