/* Sizes by keys: what becomes of them, and which models refuse which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "model_of.h"
#include "says.h"

enum { WORDS = 300, IMAGE_CLASSES = 10, IMAGE_PATCHES = 65 };

static const hu_shape image = {3, {32, 32, 3}};

static hu_graph *build(const char *name, double width, int64_t classes, hu_model_sizes sizes) {
    return model_sized(name, width, &image, classes, &sizes);
}

/* Four products and their biases, two norms, two layers of feed-forward. */
static int64_t block(int64_t width, int64_t hidden) {
    return 4 * (width + 1) * width + 4 * width + (width + 1) * hidden + (hidden + 1) * width;
}

/* A table of the words, or of as many more as are asked for, whatever the width. */
static void sizes_of_a_language_model(void **state) {
    (void)state;
    hu_model_sizes sizes = {.chosen = {[HU_SIZE_HIDDEN] = 48, [HU_SIZE_LAYERS] = 3}};
    hu_graph *graph = build("transformer-lm-s", 0.5, WORDS, sizes);
    assert_int_equal(hu_graph_parameters(graph), WORDS * 48 + 3 * block(48, 256));
    hu_graph_free(graph);
    sizes.chosen[HU_SIZE_FF] = 20;
    sizes.chosen[HU_SIZE_HEADS] = 6;
    sizes.chosen[HU_SIZE_VOCAB] = WORDS + 11;
    graph = build("transformer-lm-s", 1, WORDS, sizes);
    assert_int_equal(hu_graph_parameters(graph), (WORDS + 11) * 48 + 3 * block(48, 20));
    const hu_shape scores = {3, {6, 8, 8}};
    hu_value_id value = hu_graph_find(graph, "blocks.2.attn.scores.out");
    assert_true(hu_shape_equal(&graph->value[value].shape, &scores));
    hu_graph_free(graph);
}

/* 64 patches of 4x4 pixels in three colours, a token and 65 places. */
static void sizes_of_a_classifier(void **state) {
    (void)state;
    const hu_model_sizes sizes = {
        .chosen = {[HU_SIZE_HIDDEN] = 20, [HU_SIZE_LAYERS] = 2, [HU_SIZE_HEADS] = 5}};
    hu_graph *graph = build("deit-s", 1, IMAGE_CLASSES, sizes);
    assert_int_equal(hu_graph_parameters(graph), (4 * 4 * 3 + 1) * 20 + 20 + IMAGE_PATCHES * 20 +
                                                     2 * block(20, 80) + 2 * 20 +
                                                     21 * IMAGE_CLASSES);
    hu_graph_free(graph);
}

/* Two layers in both directions: inputs and state to three gates, two biases. */
static void sizes_of_speech(void **state) {
    (void)state;
    enum { MAPS = 5, HIDDEN = 6, LAYERS = 3, BINS = 32 / 4, GATES = 3 * HIDDEN, CLASSES = 10 };
    const hu_model_sizes sizes = {
        .chosen = {[HU_SIZE_MAPS] = MAPS, [HU_SIZE_HIDDEN] = HIDDEN, [HU_SIZE_LAYERS] = LAYERS}};
    hu_graph *graph = build("ds2-s", 1, CLASSES, sizes);
    int64_t convs = 11 * 21 * MAPS + 11 * 11 * MAPS * MAPS + 4 * MAPS;
    int64_t first = 2 * GATES * (MAPS * BINS + HIDDEN + 2);
    int64_t others = (LAYERS - 1) * 2 * GATES * (2 * HIDDEN + HIDDEN + 2);
    assert_int_equal(hu_graph_parameters(graph),
                     convs + first + others + (2 * HIDDEN + 1) * CLASSES);
    hu_graph_free(graph);
}

static void refuse(const char *name, hu_model_sizes sizes, const char *text) {
    hu_graph *graph = (hu_graph *)1;
    const hu_model_options options = {
        .name = name, .width = 1, .image = image, .classes = IMAGE_CLASSES, .sizes = sizes};
    says(hu_model_build(&options, &graph), HU_ERR_ARGUMENT, text);
    assert_null(graph);
}

/* Whoever reads a size says so by reading it. */
static void sizes_of_other_models_are_refused(void **state) {
    (void)state;
    refuse("cnn-s", (hu_model_sizes){.chosen = {[HU_SIZE_DENSE] = 3}},
           "model.dense: found a number, expected 0: model 'cnn-s'");
    refuse("cnn-s", (hu_model_sizes){.chosen = {[HU_SIZE_LATENT] = 3}}, "model.latent");
    refuse("deit-s", (hu_model_sizes){.chosen = {[HU_SIZE_HIDDEN] = 64, [HU_SIZE_VOCAB] = 30}},
           "model.vocab: found a number, expected 0: model 'deit-s'");
    for (int s = 0; s < HU_SIZES; s++) {
        hu_model_sizes one = {.bands = 0};
        one.chosen[s] = 8;
        refuse("resnet20", one, hu_size_keys[s]);
    }
}

/* Bands begin at the user's words: tables of 100 x 32, 100 x 8 and 100 x 2. */
static void bands_by_keys(void **state) {
    (void)state;
    const hu_model_sizes sizes = {
        .chosen = {[HU_SIZE_HIDDEN] = 32, [HU_SIZE_LAYERS] = 1}, .band = {100, 200}, .bands = 2};
    hu_graph *graph = build("transformer-lm-s", 1, WORDS, sizes);
    assert_int_equal(hu_graph_parameters(graph),
                     (100 + 32) * (32 + 8 + 2) + 2 * 32 + block(32, 512));
    hu_graph_free(graph);
    hu_model_sizes wrong = sizes;
    refuse("resnet20", (hu_model_sizes){.band = {9}, .bands = 1},
           "model.bands: found 1, expected none");
    hu_task_choice choice = {.task = &hu_task_language,
                             .loss = &hu_loss_softmax_cross_entropy,
                             .shapes = {.value = {{1, {8}}, {1, {8}}}, .count = 2}};
    choice.shapes.ids[0] = choice.shapes.outputs = WORDS;
    for (int k = 0; k < 3; k++) {
        const hu_model_options options = {
            .name = "transformer-lm-s", .width = 1, .choice = &choice, .sizes = wrong};
        hu_status expected = k == 0 ? HU_OK : HU_ERR_ARGUMENT;
        assert_int_equal(hu_model_build(&options, &graph), expected);
        hu_graph_free(graph);
        wrong.band[1] = k == 0 ? 100 : WORDS; /* not ascending; after the words */
    }
    choice.smoothing = 0.1;
    const hu_model_options smooth = {
        .name = "transformer-lm-s", .width = 1, .choice = &choice, .sizes = sizes};
    says(hu_model_build(&smooth, &graph), HU_ERR_ARGUMENT, "words in bands needs");
}

/* A table that does not hold all words of the data would make NaNs of them. */
static void too_few_words_are_refused(void **state) {
    (void)state;
    const hu_model_sizes sizes = {.chosen = {[HU_SIZE_VOCAB] = WORDS - 1}};
    hu_task_choice choice = {.task = &hu_task_language, .shapes.outputs = WORDS};
    says(hu_model_widen(&sizes, &choice), HU_ERR_ARGUMENT,
         "model.vocab: found 299, expected 0 or at least 300, the words of the data");
    assert_int_equal(choice.shapes.outputs, WORDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_a_language_model),
        cmocka_unit_test(sizes_of_a_classifier),
        cmocka_unit_test(sizes_of_speech),
        cmocka_unit_test(sizes_of_other_models_are_refused),
        cmocka_unit_test(bands_by_keys),
        cmocka_unit_test(too_few_words_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
