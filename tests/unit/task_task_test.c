/* What tasks want of data sets and heads, and what they say where these do not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "media/anchors.h"
#include "model/model.h"
#include "op/attributes.h"
#include "says.h"
#include "task/task.h"

enum { SIDE = 8, CLASSES = 4, MASK = 2 };

static hu_dataset images(void) {
    static char name[] = "drawn";
    hu_dataset made = {.name = name};
    hu_dataset_set_images(&made, SIDE, SIDE, 1, CLASSES);
    return made;
}

static hu_dataset maps(int64_t side, int64_t classes) {
    hu_dataset made = images();
    made.field[MASK] = (hu_field){
        .name = "mask", .type = HU_FIELD_U8, .rank = 2, .extent = {side, side}, .classes = classes};
    made.field_count = MASK + 1;
    return made;
}

static hu_dataset boxes(int64_t most, int64_t classes) {
    hu_dataset made = images();
    made.field[HU_FIELD_LABEL] = (hu_field){.name = "boxes",
                                            .type = HU_FIELD_F32,
                                            .rank = 2,
                                            .extent = {most, HU_BOX_NUMBERS},
                                            .is_ragged = true,
                                            .is_boxes = true,
                                            .classes = classes};
    return made;
}

/* Pictures, and such as are twice as wide and high. */
static hu_dataset pairs(void) {
    hu_dataset made = images();
    for (int f = 0; f < 2; f++) {
        made.field[f] = made.field[HU_FIELD_IMAGE];
        strcpy(made.field[f].name, f ? "large" : "small");
        for (int i = 0; f && i < 2; i++) made.field[f].extent[i] *= 2;
    }
    return made;
}

/* Rows of so many of each kind of token. */
static hu_dataset text(int64_t tokens, int64_t targets) {
    static char name[] = "written";
    hu_dataset made = {.name = name, .field_count = 2};
    for (int f = 0; f < 2; f++) {
        made.field[f] = (hu_field){
            .type = HU_FIELD_I32, .rank = 1, .extent = {SIDE}, .classes = f ? targets : tokens};
        strcpy(made.field[f].name, f ? "targets" : "tokens");
    }
    return made;
}

/* Tokens are ids of the graph, a row of scores stands at each of them. */
static void a_text_gives_ids_and_targets(void **state) {
    (void)state;
    hu_dataset good = text(CLASSES, CLASSES), other = text(CLASSES, CLASSES + 1), one = text(1, 1);
    hu_task_choice choice = {.task = &hu_task_language};
    hu_value_id values[HU_TASK_FIELDS_MAX];
    hu_graph *graph;
    assert_int_equal(hu_task_fit(&hu_task_language, &good, &choice.shapes), HU_OK);
    assert_int_equal(choice.shapes.outputs, CLASSES);
    hu_shape head = hu_task_language.head(&choice);
    assert_true(head.rank == 2 && head.extent[0] == SIDE && head.extent[1] == CLASSES);
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_task_declare(&choice, graph, values), HU_OK);
    assert_int_equal(graph->value[values[0]].role, HU_VALUE_IDS);
    assert_int_equal(graph->value[values[0]].ids, CLASSES);
    assert_int_equal(graph->value[values[1]].role, HU_VALUE_TARGET);
    hu_graph_free(graph);
    says(hu_task_fit(&hu_task_language, &other, &choice.shapes), HU_ERR_ARGUMENT,
         "found 4 and 5 different tokens");
    says(hu_task_fit(&hu_task_language, &one, &choice.shapes), HU_ERR_ARGUMENT, "at least 2");
    good.field[1].extent[0]++;
    says(hu_task_fit(&hu_task_language, &good, &choice.shapes), HU_ERR_ARGUMENT,
         "a token and a target at each place");
    assert_string_equal(hu_task_counted(&hu_task_language), "tokens");
    assert_string_equal(hu_task_counted(&hu_task_transcribe), "frames");
    assert_string_equal(hu_task_counted(&hu_task_classify), "images");
}

/* A row of tokens and one class: ids of the graph, and one row of scores. */
static void a_text_may_have_a_class(void **state) {
    (void)state;
    enum { TOKENS = 30 };
    hu_dataset good = text(TOKENS, CLASSES);
    hu_task_choice choice = {.task = &hu_task_classify_text};
    hu_value_id values[HU_TASK_FIELDS_MAX];
    hu_graph *graph;
    strcpy(good.field[1].name, "label");
    says(hu_task_fit(&hu_task_classify_text, &good, &choice.shapes), HU_ERR_ARGUMENT,
         "field 'label': found 4 classes, rank 1");
    good.field[1].rank = 0;
    assert_int_equal(hu_task_fit(&hu_task_classify_text, &good, &choice.shapes), HU_OK);
    assert_int_equal(choice.shapes.outputs, CLASSES);
    hu_shape head = hu_task_classify_text.head(&choice);
    assert_true(head.rank == 1 && head.extent[0] == CLASSES);
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_task_declare(&choice, graph, values), HU_OK);
    assert_int_equal(graph->value[values[0]].role, HU_VALUE_IDS);
    assert_int_equal(graph->value[values[0]].ids, TOKENS);
    hu_graph_free(graph);
    good.field[0].classes = 1;
    says(hu_task_fit(&hu_task_classify_text, &good, &choice.shapes), HU_ERR_ARGUMENT,
         "field 'tokens': found rank 1 and 1 different tokens, the task classify_text needs");
    assert_string_equal(hu_task_counted(&hu_task_classify_text), "tokens");
}

static void every_task_has_a_loss_that_fits_and_a_metric(void **state) {
    (void)state;
    size_t count = 0;
    for (; hu_task_at(count); count++) {
        const hu_task *task = hu_task_at(count), *found;
        const hu_loss_form *loss;
        assert_int_equal(hu_task_find(task->name, &found), HU_OK);
        assert_ptr_equal(found, task);
        assert_int_equal(hu_task_loss(task, "auto", &loss), HU_OK);
        assert_int_equal(loss->kind, task->kind);
        assert_non_null(task->metric[0]);
        assert_true(hu_task_target(task) > 0);
        assert_true(hu_task_column_count(task) > 0);
    }
    assert_true(count >= 3);
}

static void a_task_finds_its_fields(void **state) {
    (void)state;
    hu_dataset data = maps(SIDE, CLASSES + 1);
    hu_task_shapes shapes;
    assert_int_equal(hu_task_fit(&hu_task_classify, &data, &shapes), HU_OK);
    assert_int_equal(shapes.outputs, CLASSES);
    assert_int_equal(shapes.value[1].rank, 0);
    assert_int_equal(hu_task_fit(&hu_task_autoencode, &data, &shapes), HU_OK);
    assert_int_equal(shapes.outputs, 1);
    assert_int_equal(shapes.field[1], HU_FIELD_IMAGE);
    assert_int_equal(hu_task_fit(&hu_task_segment, &data, &shapes), HU_OK);
    assert_int_equal(shapes.outputs, CLASSES + 1);
    assert_int_equal(shapes.field[1], MASK);
    assert_int_equal(hu_task_classes(&hu_task_classify, &data), CLASSES);
    assert_int_equal(hu_task_classes(&hu_task_segment, &data), CLASSES + 1);
    assert_int_equal(hu_task_classes(&hu_task_autoencode, &data), 0);
    assert_int_equal(hu_task_classes(&hu_task_detect, &data), 0); /* they have no boxes */
}

static void data_that_do_not_fit_are_refused(void **state) {
    (void)state;
    hu_dataset plain = images(), small = maps(SIDE / 2, CLASSES), one = maps(SIDE, 1);
    hu_task_shapes shapes;
    says(hu_task_fit(&hu_task_segment, &plain, &shapes), HU_ERR_ARGUMENT,
         "needs a field 'mask', data drawn has 'image', 'label'; data=dense:DIR has it");
    says(hu_task_fit(&hu_task_enlarge, &plain, &shapes), HU_ERR_ARGUMENT,
         "needs a field 'small', data drawn has 'image', 'label'; data=pairs:DIR has it");
    says(hu_task_fit(&hu_task_language, &plain, &shapes), HU_ERR_ARGUMENT,
         "needs a field 'tokens', data drawn has 'image', 'label'; data=text:FILE has it");
    says(hu_task_fit(&hu_task_pretrain, &plain, &shapes), HU_ERR_ARGUMENT,
         "needs a field 'tokens', data drawn has 'image', 'label'; data=segments:FILE has it");
    says(hu_task_fit(&hu_task_translate, &plain, &shapes), HU_ERR_ARGUMENT,
         "needs a field 'source', data drawn has 'image', 'label'; data=parallel:DIR has it");
    says(hu_task_fit(&hu_task_segment, &small, &shapes), HU_ERR_ARGUMENT,
         "found 4 x 4 pixels, expected 8 x 8");
    says(hu_task_fit(&hu_task_segment, &one, &shapes), HU_ERR_ARGUMENT, "at least 2 classes");
    hu_dataset many = boxes(HU_TRUTHS_MAX + 1, CLASSES), none = boxes(4, 0);
    says(hu_task_fit(&hu_task_detect, &plain, &shapes), HU_ERR_ARGUMENT,
         "needs a field 'boxes', data drawn has 'image', 'label'; data=boxes:DIR has it");
    says(hu_task_fit(&hu_task_detect, &many, &shapes), HU_ERR_ARGUMENT, "at most 512 boxes");
    says(hu_task_fit(&hu_task_detect, &none, &shapes), HU_ERR_ARGUMENT, "found 4 x 5 numbers");
    many = boxes(HU_TRUTHS_MAX, CLASSES);
    assert_int_equal(hu_task_fit(&hu_task_detect, &many, &shapes), HU_OK);
    assert_int_equal(shapes.outputs, CLASSES + 1 + 4);
    hu_dataset two = pairs();
    two.field[1].extent[1]++;
    says(hu_task_fit(&hu_task_enlarge, &two, &shapes), HU_ERR_ARGUMENT,
         "field 'large': found 17x16x1, expected a whole multiple of 8x8 pixels and 1 channels");
    two.field[1].rank = 2;
    says(hu_task_fit(&hu_task_enlarge, &two, &shapes), HU_ERR_ARGUMENT, "found ranks 3 and 2");
    plain.field[HU_FIELD_LABEL].classes = 1;
    says(hu_task_fit(&hu_task_classify, &plain, &shapes), HU_ERR_ARGUMENT, "found 1 classes");
}

static void words_that_are_none_are_refused(void **state) {
    (void)state;
    const hu_task *task;
    const hu_loss_form *loss;
    says(hu_task_find("clasify", &task), HU_ERR_UNKNOWN, "'classify'");
    says(hu_task_loss(&hu_task_classify, "nnl", &loss), HU_ERR_UNKNOWN, "'nll'");
    says(hu_task_loss(&hu_task_classify, "mse", &loss), HU_ERR_ARGUMENT,
         "expected one of 'nll', 'softmax_cross_entropy'");
    says(hu_task_loss(&hu_task_autoencode, "nll", &loss), HU_ERR_ARGUMENT, "'mse', 'l1', 'bce'");
    assert_null(loss);
}

/* Builds a model for a task and a data set. */
static hu_status build(const char *model, const hu_task *task, const hu_dataset *data,
                       hu_graph **graph) {
    hu_task_choice choice;
    hu_model_options options = {.name = model, .width = 1.0, .choice = &choice};
    *graph = NULL;
    hu_status st = hu_model_choose(model, task, NULL, data, &choice);
    return st == HU_OK ? hu_model_build(&options, graph) : st;
}

static void a_head_must_fit_its_task(void **state) {
    (void)state;
    hu_dataset data = maps(SIDE, CLASSES + 1);
    hu_graph *graph;
    says(build("cnn-s", &hu_task_segment, &data, &graph), HU_ERR_SHAPE,
         "model 'cnn-s': 'fc.out': found a head of shape [5], the task segment needs [8, 8, 5]");
    assert_null(graph);
    for (int m = 0; m < hu_model_count; m++) {
        if (strcmp(hu_model_table[m].task, "classify") == 0) continue;
        /* model_ssd_test.c, model_faster_rcnn_test.c */
        if (strncmp(hu_model_table[m].task, "detect", 6) == 0) continue;
        if (strcmp(hu_model_table[m].task, "gan") == 0) continue;        /* below */
        if (strcmp(hu_model_table[m].task, "transcribe") == 0) continue; /* model_ds2_test.c */
        if (strcmp(hu_model_table[m].task, "language") == 0) continue;   /* model_walk_test.c */
        if (strcmp(hu_model_table[m].task, "pretrain") == 0) continue;   /* likewise */
        if (strcmp(hu_model_table[m].task, "translate") == 0) continue;  /* model_seq2seq_test.c */
        const hu_dataset two = pairs(), *fits = &data;
        hu_dataset large = maps(3 * SIDE, CLASSES + 1);
        for (int i = 0; i < 2; i++) large.field[HU_FIELD_IMAGE].extent[i] = 3 * SIDE;
        if (strcmp(hu_model_table[m].task, "enlarge") == 0) fits = &two;
        if (strncmp(hu_model_table[m].name, "fcn", 3) == 0) fits = &large;
        assert_int_equal(build(hu_model_table[m].name, NULL, fits, &graph), HU_OK);
        /* Further heads, in training alone, and the loss of a code stand after the first. */
        bool has_two = strncmp(hu_model_table[m].name, "fcn", 3) == 0 ||
                       strcmp(hu_model_table[m].task, "vae") == 0;
        assert_int_equal(graph->loss_count, has_two ? 2 : 1);
        assert_string_equal(graph->node[graph->loss[0].node].name, "loss");
        hu_value_id target = hu_task_target_value(graph);
        assert_int_equal(graph->value[target].role, HU_VALUE_TARGET);
        hu_graph_free(graph);
    }
}

static void classes_are_a_mean_over_labelled_rows(void **state) {
    (void)state;
    hu_dataset data = maps(SIDE, CLASSES + 1);
    hu_graph *graph;
    assert_int_equal(build("dense-s", NULL, &data, &graph), HU_OK);
    assert_int_equal(graph->loss[0].normaliser, HU_PER_ROW);
    hu_graph_free(graph);
    assert_int_equal(build("cnn-s", NULL, &data, &graph), HU_OK);
    assert_int_equal(graph->loss[0].normaliser, HU_PER_ROW);
    hu_graph_free(graph);
    assert_int_equal(build("autoencoder", NULL, &data, &graph), HU_OK);
    assert_int_equal(graph->loss[0].normaliser, HU_PER_SAMPLE);
    hu_graph_free(graph);
}

/* The divergence of the code is a second loss with a weight of its own; tasks without one have no
 * place for it, and models without one are none for the task. */
static void a_code_has_a_loss_of_its_own(void **state) {
    (void)state;
    hu_dataset data = images();
    hu_task_choice choice;
    hu_graph *graph;
    hu_model_options options = {.name = "cvae-s", .width = 1.0, .choice = &choice};
    assert_int_equal(hu_model_choose("cvae-s", NULL, NULL, &data, &choice), HU_OK);
    choice.beta = 0.25;
    assert_int_equal(hu_model_build(&options, &graph), HU_OK);
    assert_true(graph->loss[0].weight == 1.0f && graph->loss[1].weight == 0.25f);
    assert_int_equal(graph->loss[1].normaliser, HU_PER_SAMPLE);
    assert_string_equal(graph->value[hu_task_code(graph, 0)].name, "mean.out");
    assert_string_equal(graph->value[hu_task_code(graph, 1)].name, "logvar.out");
    hu_graph_free(graph);
    says(
        build("cvae-s", &hu_task_autoencode, &data, &graph), HU_ERR_ARGUMENT,
        "model 'cvae-s': found a code of means and log-variances, the task autoencode has no loss");
    says(build("autoencoder", &hu_task_vae, &data, &graph), HU_ERR_ARGUMENT,
         "found no code, the task vae needs a model that gives means and log-variances");
}

/* Two losses in the turn of the judge, one in that of the maker; metrics compare the pictures. */
static void adversaries_have_phases(void **state) {
    (void)state;
    hu_dataset data = images();
    hu_graph *graph;
    hu_model_options options = {.name = "dcgan-s", .width = 1.0};
    hu_task_choice choice;
    says(build("dcgan-s", NULL, &data, &graph), HU_ERR_SHAPE,
         "model 'dcgan-s': found pictures of 8 x 8 pixels, expected 32 x 32 (data.size): "
         "'gen.tanh.out': found a head of shape [32, 32, 1], the task gan needs [8, 8, 1]");
    says(build("cnn-s", &hu_task_gan, &data, &graph), HU_ERR_ARGUMENT,
         "found one network, the task gan needs two that learn against each other");
    hu_dataset_set_images(&data, 32, 32, 1, CLASSES);
    says(build("dcgan-s", &hu_task_autoencode, &data, &graph), HU_ERR_ARGUMENT,
         "found two networks that learn against each other, the task autoencode has no losses");
    assert_int_equal(hu_model_choose("dcgan-s", NULL, NULL, &data, &choice), HU_OK);
    choice.real = 0.75f;
    options.choice = &choice;
    assert_int_equal(hu_model_build(&options, &graph), HU_OK);
    const char *const losses[] = {"real.loss", "fake.loss", "again.loss"};
    const float targets[] = {0.75f, 0.0f, 1.0f};
    assert_int_equal(graph->loss_count, 3);
    for (int k = 0; k < 3; k++) {
        const hu_node *node = &graph->node[graph->loss[k].node];
        assert_string_equal(node->name, losses[k]);
        assert_int_equal(graph->loss[k].phase, k / 2);
        assert_int_equal(graph->loss[k].normaliser, HU_PER_SAMPLE);
        assert_true(((const hu_toward_attrs *)node->attrs)->target == targets[k]);
    }
    assert_string_equal(graph->value[hu_task_prediction(graph)].name, "gen.tanh.out");
    assert_string_equal(graph->value[hu_task_target_value(graph)].name, "target");
    hu_graph_free(graph);
}

static void cells_of_a_prediction_are_printed(void **state) {
    (void)state;
    char cell[HU_TASK_CELL_BYTES];
    float row[] = {-1.0f, -0.25f, -3.0f, -2.0f}, label = 1.0f;
    hu_metric_call sample = {.samples = 1,
                             .rows = 1,
                             .outputs = CLASSES,
                             .prediction = row,
                             .target = &label,
                             .loss = &hu_loss_nll};
    double cells[HU_TASK_COLUMNS_MAX];
    hu_task_classify.describe(&sample, cells);
    assert_string_equal(hu_task_cell(&hu_task_classify, 1, cells[1], cell), "1");
    /* Rows that rounding took off their sum are shares again. */
    assert_string_equal(hu_task_cell(&hu_task_classify, 2, cells[2], cell), "0.5848");
    assert_int_equal(hu_task_classify.judge(cells), HU_RIGHT);
    cells[0] = 2.0;
    assert_int_equal(hu_task_classify.judge(cells), HU_WRONG);
    sample.prediction = NULL;
    hu_task_classify.describe(&sample, cells);
    assert_string_equal(hu_task_cell(&hu_task_classify, 1, cells[1], cell), "-");
    assert_string_equal(hu_task_cell(&hu_task_classify, 2, cells[2], cell), "-");
    assert_int_equal(hu_task_classify.judge(cells), HU_WRONG);
    label = (float)HU_UNLABELLED;
    hu_task_classify.describe(&sample, cells);
    assert_int_equal(hu_task_classify.judge(cells), HU_UNJUDGED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_has_a_loss_that_fits_and_a_metric),
        cmocka_unit_test(a_task_finds_its_fields),
        cmocka_unit_test(data_that_do_not_fit_are_refused),
        cmocka_unit_test(words_that_are_none_are_refused),
        cmocka_unit_test(a_head_must_fit_its_task),
        cmocka_unit_test(classes_are_a_mean_over_labelled_rows),
        cmocka_unit_test(a_code_has_a_loss_of_its_own),
        cmocka_unit_test(adversaries_have_phases),
        cmocka_unit_test(a_text_gives_ids_and_targets),
        cmocka_unit_test(a_text_may_have_a_class),
        cmocka_unit_test(cells_of_a_prediction_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
