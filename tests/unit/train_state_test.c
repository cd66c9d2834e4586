/* A trainer saved and restored, and checkpoints that are refused as a whole. */
#include "train/internal.h"
#include "train/trainer.h"
#include "train_fixture.h"

/* The same sections but one, whose bytes are others. */
static void save_spoilt(const char *directory, const char *section, const void *bytes,
                        size_t count) {
    static const char *const names[] = {"position", "parameters", "scaler", "optimizer.t",
                                        "optimizer.momentum"};
    hu_checkpoint *good = open_newest(directory);
    hu_checkpoint_writer *writer;
    assert_int_equal(hu_checkpoint_begin(hu_checkpoint_step(good), &writer), HU_OK);
    for (size_t i = 0; i < 5; i++) {
        const void *data;
        size_t size;
        hu_status st = hu_checkpoint_section(good, names[i], &data, &size);
        if (st != HU_OK) fail_msg("%s", hu_last_error());
        bool spoilt = strcmp(names[i], section) == 0;
        assert_int_equal(
            hu_checkpoint_add(writer, names[i], spoilt ? bytes : data, spoilt ? count : size),
            HU_OK);
    }
    assert_int_equal(hu_checkpoint_finish(writer, directory, 1), HU_OK);
    hu_checkpoint_writer_free(writer);
    hu_checkpoint_free(good);
}

static void test_checkpoint(void **state) {
    (void)state;
    char directory[256];
    fixture f, g;
    make_directory(directory);
    prepare(&f, "hfp8");
    begin(&f);
    for (int i = 0; i < 4; i++) step(&f);
    save_trainer(&f, directory);
    for (int i = 0; i < 4; i++) step(&f);
    prepare(&g, "hfp8");
    begin(&g);
    hu_checkpoint *checkpoint = open_newest(directory);
    assert_int_equal(hu_trainer_restore(g.trainer, checkpoint), HU_OK);
    hu_checkpoint_free(checkpoint);
    for (int i = 0; i < 4; i++) assert_int_equal(step(&g).step, 4 + i);
    assert_true(hu_trainer_weights_hash(g.trainer) == hu_trainer_weights_hash(f.trainer));
    assert_true(hu_trainer_progress(g.trainer)->elements ==
                hu_trainer_progress(f.trainer)->elements);
    /* Another model's, or one with a number that cannot be: refused, nothing changed. */
    int64_t t = -1;
    hu_loss_scale_state scaler = {.scale = -1.0f};
    uint64_t hash = hu_trainer_weights_hash(g.trainer);
    float scale = hu_trainer_scaler(g.trainer)->scale;
    hu_train_position position = f.trainer->position;
    position.progress.epoch_units = INT64_MAX;
    for (int bad = 0; bad < 4; bad++) {
        if (bad == 0) save_spoilt(directory, "optimizer.t", &t, sizeof t);
        if (bad == 1) save_spoilt(directory, "scaler", &scaler, sizeof scaler);
        if (bad == 2) save_spoilt(directory, "optimizer.momentum", &t, sizeof t);
        if (bad == 3) save_spoilt(directory, "position", &position, sizeof position);
        g.trainer->phase[0].scaler.state.scale = 0x1p9f;
        checkpoint = open_newest(directory);
        assert_int_equal(hu_trainer_restore(g.trainer, checkpoint), HU_ERR_CORRUPT);
        hu_checkpoint_free(checkpoint);
        assert_true(hu_trainer_weights_hash(g.trainer) == hash);
        assert_true(hu_trainer_scaler(g.trainer)->scale == 0x1p9f);
        assert_int_equal(hu_optimizer_t(g.trainer->phase[0].optimizer), 8);
        assert_int_equal(hu_trainer_progress(g.trainer)->step, 8);
    }
    assert_true(scale > 0);
    end(&f);
    end(&g);
    remove_directory(directory);
}

/* A run keeps its kind of optimizer, whatever it leaves; momentum 0 leaves nothing. */
static void test_other_optimizers(void **state) {
    (void)state;
    enum { PLAIN = HU_OPTIMIZER_COUNT, COUNT };
    for (int from = 0; from < COUNT; from++) {
        char directory[256];
        fixture f;
        make_directory(directory);
        prepare(&f, "fp32");
        f.options.optimizer = hu_optimizer_defaults(from == PLAIN ? 0 : (hu_optimizer_kind)from);
        if (from == PLAIN) f.options.optimizer.momentum = 0;
        begin(&f);
        step(&f);
        save_trainer(&f, directory);
        uint64_t hash = hu_trainer_weights_hash(f.trainer);
        end(&f);
        for (int to = 0; to < COUNT; to++) {
            fixture g;
            prepare(&g, "fp32");
            g.options.optimizer = hu_optimizer_defaults(to == PLAIN ? 0 : (hu_optimizer_kind)to);
            if (to == PLAIN) g.options.optimizer.momentum = 0;
            begin(&g);
            hu_checkpoint *checkpoint = open_newest(directory);
            hu_status st = hu_trainer_restore(g.trainer, checkpoint);
            bool are_adams = (from == HU_OPTIMIZER_ADAM || from == HU_OPTIMIZER_ADAMW) &&
                             (to == HU_OPTIMIZER_ADAM || to == HU_OPTIMIZER_ADAMW);
            bool is_sgd = from == HU_OPTIMIZER_SGD && to == PLAIN;
            bool fits = from == to || are_adams || is_sgd;
            assert_int_equal(st, fits ? HU_OK : HU_ERR_ARGUMENT);
            if (!fits) assert_non_null(strstr(hu_last_error(), "a run keeps its optimizer"));
            if (!fits) assert_int_equal(hu_trainer_progress(g.trainer)->step, 0);
            if (fits) assert_true(hu_trainer_weights_hash(g.trainer) == hash);
            hu_checkpoint_free(checkpoint);
            end(&g);
        }
        remove_directory(directory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_other_optimizers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
