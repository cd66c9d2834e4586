/* Names of a file of weights: torchvision's, and those with something in front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model_of.h"
#include "train/weights.h"

enum { MOST = 600 };

/* Names of a file, each of one number. */
typedef struct names {
    char text[MOST][HU_NAME_BYTES];
    size_t count;
} names;

static hu_safetensors *file_of(const names *list) {
    static const float one = 1.0f;
    static uint8_t *data; /* borrowed by the file; the one before is gone */
    hu_safetensor_source source[MOST];
    hu_safetensors *file;
    size_t bytes;
    for (size_t i = 0; i < list->count; i++)
        source[i] =
            (hu_safetensor_source){.name = list->text[i], .shape = {1, {1}}, .values = &one};
    free(data);
    uint8_t *made;
    assert_int_equal(hu_safetensors_print(source, list->count, NULL, 0, &made, &bytes), HU_OK);
    data = malloc(bytes);
    memcpy(data, made, bytes);
    hu_free(made);
    assert_int_equal(hu_safetensors_parse("file", data, bytes, &file), HU_OK);
    return file;
}

/* Names of a graph under a naming; what has none there is left out. */
static void list_names(const hu_graph *graph, const hu_weight_naming *naming, names *list) {
    list->count = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (hu_is_in_weights(&graph->value[v]) &&
            hu_weight_name_in_file(naming, graph->value[v].name, list->text[list->count]))
            list->count++;
}

static int compare(const void *a, const void *b) {
    return strcmp(a, b);
}

/* FNV-1a over the sorted names, each with a newline after it. */
static uint64_t hash_of(names *list) {
    uint64_t hash = 0xcbf29ce484222325u;
    qsort(list->text, list->count, sizeof *list->text, compare);
    for (size_t i = 0; i < list->count; i++) {
        for (const char *c = list->text[i]; *c; c++) hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
        hash = (hash ^ '\n') * 0x100000001b3u;
    }
    return hash;
}

/* Of the state_dict of torchvision's model of two classes (0.29.2), num_batches_tracked left out:
 * sorted(model.state_dict()). */
static const struct {
    const char *model;
    size_t count;
    uint64_t hash;
} published[] = {
    {"resnet18", 102, 0x9c765d976c510085},         {"resnet50", 267, 0xd1404a6a24a9a20c},
    {"alexnet-one-tower", 16, 0xa5845f7f05c3c4b7}, {"vgg16", 32, 0x394ef049a4586c19},
    {"shufflenet-v2", 282, 0x657bb647a3c2a5fa},    {"googlenet-bn", 305, 0xf2b4a60d9904c9ae},
    {"inception-v3", 484, 0x588994dbc3f266d9},
};

static void classifiers_have_the_names_of_torchvision(void **state) {
    static names list;
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const hu_shape image = {3, {299, 299, 3}};
        hu_graph *graph = model_of(published[i].model, 0.25, &image, 2);
        bool is_found = false;
        for (int scheme = 0; scheme < 7 && !is_found; scheme++) {
            const hu_weight_naming naming = {.scheme = scheme};
            list_names(graph, &naming, &list);
            is_found = list.count == published[i].count && hash_of(&list) == published[i].hash;
            if (!is_found) continue;
            hu_weight_naming found;
            hu_safetensors *file = file_of(&list);
            hu_weight_naming_find(graph, file, &found);
            assert_int_equal(found.scheme, scheme);
            assert_string_equal(found.theirs, "");
            assert_string_equal(found.ours, "");
            hu_safetensors_free(file);
        }
        if (!is_found) fail_msg("%s: other names", published[i].model);
        hu_graph_free(graph);
    }
}

/* What wrappers put in front is found on either side, one within the other too, and beside arrays
 * that have nothing to do with the network. */
static void prefixes_are_found(void **state) {
    static names list, other;
    static const char *const fronts[] = {"module.", "_orig_mod.module.", "net.0."};
    const hu_shape image = {3, {32, 32, 3}};
    hu_weight_naming naming = {.scheme = 1};
    hu_graph *graph = model_of("resnet20", 0.25, &image, 10);
    (void)state;
    list_names(graph, &naming, &list);
    for (size_t f = 0; f < sizeof fronts / sizeof *fronts; f++) {
        other.count = 0;
        for (size_t i = 0; i < list.count; i++)
            assert_true(snprintf(other.text[other.count++], HU_NAME_BYTES, "%s%.200s", fronts[f],
                                 list.text[i]) > 0);
        snprintf(other.text[other.count++], HU_NAME_BYTES, "head.weight");
        hu_safetensors *file = file_of(&other);
        hu_weight_naming_find(graph, file, &naming);
        assert_int_equal(naming.scheme, 1);
        assert_string_equal(naming.theirs, fronts[f]);
        assert_string_equal(naming.ours, "");
        hu_safetensors_free(file);
    }
    hu_graph_free(graph);
}

/* A network whose names have something in front takes a file that has not. A few names that end
 * alike by chance do not make it so. */
static void the_network_may_have_the_prefix(void **state) {
    static names list;
    (void)state;
    const hu_shape image = {3, {1, 1, 3}};
    hu_graph *graph;
    hu_value_id value;
    const hu_linear_attrs linear = {.out_features = 3, .has_bias = true};
    assert_int_equal(hu_graph_create(&graph), HU_OK);
    assert_int_equal(hu_graph_input(graph, "input", &image, &value), HU_OK);
    for (int i = 0; i < 3; i++) {
        static const char *const layers[] = {"trunk.a", "trunk.b", "head"};
        assert_int_equal(
            hu_graph_apply(graph, &hu_op_linear, layers[i], NULL, &linear, 1, &value, &value),
            HU_OK);
    }
    static const char *const saved[] = {"a.weight", "a.bias", "b.weight", "b.bias"};
    for (; list.count < 4; list.count++)
        snprintf(list.text[list.count], HU_NAME_BYTES, "%s", saved[list.count]);
    hu_safetensors *file = file_of(&list);
    hu_weight_naming naming;
    hu_weight_naming_find(graph, file, &naming);
    assert_string_equal(naming.ours, "trunk.");
    hu_safetensors_free(file);
    for (int i = 0; i < 12; i++)
        snprintf(list.text[list.count++], HU_NAME_BYTES, "other%d.weight", i);
    file = file_of(&list);
    hu_weight_naming_find(graph, file, &naming);
    assert_string_equal(naming.ours, "");
    hu_safetensors_free(file);
    hu_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classifiers_have_the_names_of_torchvision),
        cmocka_unit_test(prefixes_are_found),
        cmocka_unit_test(the_network_may_have_the_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
