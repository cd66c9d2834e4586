/* The list of classes of a result has each class at its number, or there is no result. */
#include "base/error.h"
#include "op/attributes.h"
#include "own_net.h"
#include "session/evaluation.h"
#include "train/trainer.h"
#include "train_fixture.h"

enum { MASK = HU_FIELD_LABEL + 1 };

/* Allocations of Jansson until one fails; 0: none does. */
static int left;

static void *fail_at_last(size_t bytes) {
    return left > 0 && --left == 0 ? NULL : malloc(bytes);
}

static hu_graph *one_product(hu_custom_net *net) {
    const hu_shape image = {3, {SIDE, SIDE, 1}};
    const hu_conv_attrs attrs = {.out_channels = CLASSES,
                                 .kernel_h = 1,
                                 .kernel_w = 1,
                                 .stride_h = 1,
                                 .stride_w = 1,
                                 .dilation_h = 1,
                                 .dilation_w = 1,
                                 .groups = 1,
                                 .weight_init = {HU_INIT_NORMAL, 0.1f}};
    return own_node(net, &image, &hu_op_conv2d, "conv", &attrs);
}

/* A label map for each image, of classes 0 and 2: nobody is of class 1. */
static void begin_maps(fixture *f) {
    static uint8_t maps[TRAIN * PIXELS];
    double metric[HU_METRICS_MAX], loss;
    hu_custom_net net;
    hu_graph *graph = one_product(&net);
    prepare(f, "fp32");
    for (int i = 0; i < TRAIN * PIXELS; i++) maps[i] = (uint8_t)(i / 5 % 2 * 2);
    f->data.field[MASK] = (hu_field){.name = "mask",
                                     .type = HU_FIELD_U8,
                                     .rank = 2,
                                     .extent = {SIDE, SIDE},
                                     .is_spatial = true,
                                     .classes = CLASSES};
    f->data.field_count = MASK + 1;
    f->data.train.rows[MASK] = f->data.test.rows[MASK] = maps;
    f->options.own = &net;
    f->options.task = &hu_task_segment;
    begin(f);
    hu_graph_free(graph);
    assert_int_equal(hu_trainer_evaluate(f->trainer, metric, &loss), HU_OK);
}

static void check_list(const json_t *object, const char *const *names) {
    const json_t *list = json_object_get(object, "test_classes");
    assert_int_equal(json_array_size(list), CLASSES);
    for (size_t c = 0; c < CLASSES; c++) {
        const json_t *of = json_array_get(list, c), *iou = json_object_get(of, "iou");
        assert_string_equal(json_string_value(json_object_get(of, "name")), names[c]);
        assert_int_equal(json_object_size(of), 3);
        assert_true(c == 1 ? json_is_null(json_object_get(of, "accuracy")) : json_is_number(iou));
    }
}

static void classes_stand_at_their_numbers(void **state) {
    (void)state;
    static const char *const names[] = {"sky", "b\xc3\xa2timent", "car"};
    static const char *const numbers[] = {"0", "1", "2"};
    static char text[] = "sky\0b\xc3\xa2timent\0car";
    fixture f;
    begin_maps(&f);
    json_t *object = json_object();
    assert_int_equal(hu_class_facts_put(object, f.trainer, &f.data, HU_SPLIT_TEST), HU_OK);
    check_list(object, numbers);
    f.data.class_names = text;
    f.data.class_name_count = CLASSES;
    assert_int_equal(hu_class_facts_put(object, f.trainer, &f.data, HU_SPLIT_TEST), HU_OK);
    check_list(object, names);
    assert_int_equal(hu_class_facts_put(object, f.trainer, &f.data, HU_SPLIT_VALIDATION), HU_OK);
    assert_int_equal(json_object_size(object), 1);
    json_decref(object);
    end(&f);
}

/* Whichever allocation fails, no class is left out. */
static void out_of_memory_is_no_gap(void **state) {
    (void)state;
    static const char *const numbers[] = {"0", "1", "2"};
    fixture f;
    hu_status st = HU_ERR_MEMORY;
    int fails = 0;
    begin_maps(&f);
    json_set_alloc_funcs(fail_at_last, free);
    while (st != HU_OK) {
        json_t *object = json_object();
        left = ++fails;
        st = hu_class_facts_put(object, f.trainer, &f.data, HU_SPLIT_TEST);
        left = 0;
        if (st == HU_OK)
            check_list(object, numbers);
        else
            assert_true(st == HU_ERR_MEMORY && json_object_size(object) == 0);
        json_decref(object);
    }
    assert_true(fails > 4 * CLASSES);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_stand_at_their_numbers),
        cmocka_unit_test(out_of_memory_is_no_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
