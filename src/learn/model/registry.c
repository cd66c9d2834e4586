#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/internal.h"
#include "model/network_file.h"
#include "op/attributes.h"
#include "task/task.h"

/* ---- Products whose bias is a node of its own ---- */

bool hu_adds_bias(const hu_op *op, const void *attrs) {
    if (op == &hu_op_conv2d) return ((const hu_conv_attrs *)attrs)->has_bias;
    if (op == &hu_op_conv1d) return ((const hu_conv1d_attrs *)attrs)->has_bias;
    return op == &hu_op_linear && ((const hu_linear_attrs *)attrs)->has_bias;
}

/* The product alone. */
static hu_status apply_product(hu_graph *graph, const hu_op *op, const char *name,
                               const char *prefix, const void *attrs, const hu_value_id *in,
                               hu_bias_attrs *bias, hu_value_id *out) {
    char product[HU_NAME_BYTES];
    int written = snprintf(product, sizeof product, "%s.product", name);
    if (written < 0 || (size_t)written >= sizeof product)
        return hu_fail(HU_ERR_LIMIT, "layer '%.40s...': the name is too long", name);
    if (op == &hu_op_conv2d) {
        hu_conv_attrs conv = *(const hu_conv_attrs *)attrs;
        bias->bias_init = conv.bias_init;
        conv.has_bias = false;
        return hu_graph_apply(graph, op, product, prefix, &conv, 1, in, out);
    }
    if (op == &hu_op_conv1d) {
        hu_conv1d_attrs conv = *(const hu_conv1d_attrs *)attrs;
        bias->bias_init = conv.bias_init;
        conv.has_bias = false;
        return hu_graph_apply(graph, op, product, prefix, &conv, 1, in, out);
    }
    hu_linear_attrs linear = *(const hu_linear_attrs *)attrs;
    bias->bias_init = linear.bias_init;
    linear.has_bias = false;
    return hu_graph_apply(graph, op, product, prefix, &linear, 1, in, out);
}

hu_status hu_apply_split(hu_graph *graph, const hu_op *op, const char *name, const char *prefix,
                         const void *attrs, const hu_value_id *in, hu_value_id *out) {
    hu_status st = HU_OK;
    hu_value_id inner[HU_MAX_OUTPUTS];
    hu_bias_attrs bias = {0};
    if (!prefix) prefix = name;
    HU_TRY(apply_product(graph, op, name, prefix, attrs, in, &bias, inner));
    HU_TRY(hu_graph_apply(graph, &hu_op_bias, name, prefix, &bias, 1, inner, out));
done:
    return st;
}

/* ---- A network that a program has declared itself ---- */

/* Room for a shape in a message. */
enum { SHAPE_BYTES = 128 };

/* Of what a task loads a network may read the inputs, and how many rows of them are present. */
static bool may_read(const hu_value_info *value) {
    return hu_is_read_in(value) ||
           (value->role == HU_VALUE_TARGET && strcmp(value->name, HU_LENGTHS_FIELD) == 0);
}

/* The task's value of the same name and shape. */
static hu_status find_input(const hu_custom_net *net, hu_value_id v, const hu_task_choice *choice,
                            const hu_graph *graph, hu_value_id *found) {
    const hu_value_info *given = &net->graph->value[v];
    char has[SHAPE_BYTES], needs[SHAPE_BYTES];
    *found = hu_graph_find(graph, given->name);
    if (*found == HU_NONE || !may_read(&graph->value[*found]))
        return hu_fail(HU_ERR_ARGUMENT, "the network has an input '%s', the task %s has '%s'",
                       given->name, choice->task->name, choice->task->field[0].value);
    const hu_shape *data = &graph->value[*found].shape;
    if (hu_shape_equal(&given->shape, data)) return HU_OK;
    hu_shape_print(&given->shape, has, sizeof has);
    hu_shape_print(data, needs, sizeof needs);
    return hu_fail(HU_ERR_SHAPE, "input '%s': the network takes %s, the data has %s", given->name,
                   has, needs);
}

/* map: the new value of each declared one. Nodes come in the order of declaration, so that inputs
 * are mapped before they are read. */
static hu_status replay_node(const hu_node *node, bool splits_bias, hu_value_id *map,
                             hu_graph *graph) {
    hu_status st = HU_OK;
    void *block = NULL;
    hu_value_id out[HU_MAX_OUTPUTS];
    HU_TRY(hu_alloc_array((size_t)node->n_in, sizeof(hu_value_id), &block));
    hu_value_id *in = block;
    for (int i = 0; i < node->n_in; i++) in[i] = map[node->in[i]];
    if (splits_bias && hu_adds_bias(node->op, node->attrs))
        HU_TRY(hu_apply_split(graph, node->op, node->name, NULL, node->attrs, in, out));
    else
        HU_TRY(hu_graph_apply(graph, node->op, node->name, NULL, node->attrs, node->n_in, in, out));
    for (int i = 0; i < node->n_out; i++) map[node->out[i]] = out[i];
done:
    hu_free(block);
    return st;
}

/* Declares the network once more for a task: the task's inputs by their names, the operations, with
 * biases of products as nodes of their own if splits_bias says so, the loss. HU_ERR_ARGUMENT: an
 * input that the task does not have; HU_ERR_SHAPE: one of another shape than the data, or a head
 * that does not fit the task. */
static hu_status build_custom_net(const hu_custom_net *net, const hu_task_choice *choice,
                                  bool splits_bias, hu_graph *graph) {
    hu_status st = HU_OK;
    hu_value_id values[HU_TASK_FIELDS_MAX];
    void *block = NULL;
    HU_TRY(hu_alloc_array(net->graph->value_count, sizeof(hu_value_id), &block));
    hu_value_id *map = block; /* [value_count] from the declared network into the new graph */
    HU_TRY(hu_task_declare(choice, graph, values));
    for (hu_value_id v = 0; v < net->graph->value_count; v++)
        if (net->graph->value[v].role == HU_VALUE_INPUT)
            HU_TRY(find_input(net, v, choice, graph, &map[v]));
    for (uint32_t n = 0; n < net->graph->node_count; n++)
        HU_TRY(replay_node(&net->graph->node[n], splits_bias, map, graph));
    HU_TRY(hu_task_close(choice, graph, values, map[net->head]));
done:
    hu_free(block);
    return st;
}

/* options->own is given. */
static hu_status declare_own(const hu_model_options *options, hu_graph *graph) {
    const hu_custom_net *own = options->own;
    if (own->file) return hu_network_declare(options, own->file, graph);
    return build_custom_net(own, options->choice, options->splits_bias, graph);
}

/* ---- The table of models ---- */

/* The smallest picture that a network takes, said where one was too small. */

enum { LARGEST = 1024, MESSAGE_BYTES = 1024, PICTURE_RANK = 3 };

/* The picture: the first thing that the model reads. */
static const hu_shape *picture_of(const hu_model_options *options) {
    return options->choice ? &options->choice->shapes.value[0] : &options->image;
}

static void resize(hu_shape *shape, const hu_shape *picture, int64_t side) {
    if (shape->rank < 2 || shape->extent[0] != picture->extent[0] ||
        shape->extent[1] != picture->extent[1])
        return;
    shape->extent[0] = shape->extent[1] = side;
}

/* A row of the table of models has one. */
typedef hu_status model_builder(const hu_model_options *options, hu_graph *graph);

/* Can it be declared for squares of this side? Label maps are as large as the picture. */
static bool takes(const hu_model_options *options, model_builder *build, int64_t side) {
    const hu_shape picture = *picture_of(options);
    hu_model_options other = *options;
    hu_task_choice choice;
    hu_graph *graph;
    resize(&other.image, &picture, side);
    if (options->choice) {
        choice = *options->choice;
        for (int i = 0; i < choice.shapes.count; i++)
            resize(&choice.shapes.value[i], &picture, side);
        other.choice = &choice;
    }
    if (hu_graph_create(&graph) != HU_OK) return false;
    bool is_built = build(&other, graph) == HU_OK;
    hu_graph_free(graph);
    return is_built;
}

/* The least side above `fails`, which is too small; 0: none is known. */
static int64_t least_above(const hu_model_options *options, model_builder *build, int64_t fails) {
    int64_t works = 2 * fails;
    while (works <= LARGEST && !takes(options, build, works)) {
        fails = works;
        works *= 2;
    }
    if (works > LARGEST) return 0;
    while (works - fails > 1) {
        int64_t middle = (fails + works) / 2;
        if (takes(options, build, middle))
            works = middle;
        else
            fails = middle;
    }
    return works;
}

/* Behind HU_ERR_SHAPE of a model's builder: tries squares of other sizes. Where the picture has
 * fewer pixels along a side than the least that the model takes (or another side than the only
 * one, of models that make pictures of one size; 0: any), the message begins with what was found
 * and expected. */
static hu_status say_least_side(const hu_model_options *options, model_builder *build,
                                int64_t only) {
    char message[MESSAGE_BYTES];
    const hu_shape *picture = picture_of(options);
    strncpy(message, hu_last_error(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    int64_t lesser = 0, least = 0;
    if (picture->rank == PICTURE_RANK && !strstr(message, "data.size"))
        lesser = picture->extent[picture->extent[1] < picture->extent[0]];
    if (lesser > 0 && only > 0)
        least = takes(options, build, only) ? only : 0;
    else if (lesser > 0 && !takes(options, build, lesser))
        least = least_above(options, build, lesser);
    if (least == 0) return hu_fail(HU_ERR_SHAPE, "%s", message);
    return hu_fail(HU_ERR_SHAPE,
                   "found pictures of %lld x %lld pixels, expected %s%lld x %lld (data.size): %s",
                   (long long)picture->extent[0], (long long)picture->extent[1],
                   only > 0 ? "" : "at least ", (long long)least, (long long)least, message);
}

/* ---- Networks by name ---- */

/* One row for each line of families.h: name, help, the task it is made for, the function that
 * declares it. */
const hu_model hu_model_table[] = {
#define HU_MODEL_ROW(identifier, name, help, task, side)                                           \
    {name, help, task, side, hu_model_##identifier},
    HU_MODEL_LIST(HU_MODEL_ROW)
#undef HU_MODEL_ROW
};
const int hu_model_count = (int)(sizeof hu_model_table / sizeof *hu_model_table);

const char *const hu_size_keys[HU_SIZES] = {
#define HU_SIZE_KEY(identifier, key) key,
    HU_SIZE_LIST(HU_SIZE_KEY)
#undef HU_SIZE_KEY
};

#define HU_MODEL_NAME(identifier, name, help, task, side) name,

/* The names alone, for the search of the nearest. */
static const char *const names[] = {HU_MODEL_LIST(HU_MODEL_NAME)};
#undef HU_MODEL_NAME

/* What a name of no model may have been meant to be: files of other programs, and networks that
 * everybody knows. NULL: nothing is known of it. */
static const char *model_elsewhere(const char *name) {
    static const char *const endings[][2] = {
        {".onnx", "ONNX files cannot be read; a network of one's own is a FILE.yaml, see "
                  "examples/networks, or declared in C, see examples/network.c"},
        {".py", "a network of Python cannot be read; one of one's own is a FILE.yaml, see "
                "examples/networks, or declared in C, see examples/network.c"},
        {".pt", "a file of PyTorch holds no network that can be read; weights for a model of the "
                "list come by init=FILE.safetensors"},
        {".pth", "a file of PyTorch holds no network that can be read; weights for a model of the "
                 "list come by init=FILE.safetensors"},
        {".safetensors", "weights for a model of the list come by init=FILE.safetensors"}};
    static const char *const known[][2] = {
        {"gpt", "examples/networks/gpt2.yaml is one; the nearest of the list is transformer-lm-s"},
        {"llama", "examples/networks/llama-tiny.yaml has its form; the nearest of the list is "
                  "transformer-lm-s"},
        {"bert-large", "the nearest is bert-base"},
        {"vit", "examples/networks/vit-b16.yaml is one; the nearest of the list is deit-tiny"},
        {"yolo", "the nearest are ssd-s and faster-rcnn-s, which find boxes"},
        {"unet", "examples/networks/unet.yaml is one; the nearest of the list is fcn-s"},
        {"u-net", "examples/networks/unet.yaml is one; the nearest of the list is fcn-s"},
        {"efficientnet", "examples/networks/efficientnet-b0.yaml is one; the nearest of the list "
                         "is mobilenet-v2"},
        {"densenet", "examples/networks/densenet121.yaml is one; the nearest of the list is "
                     "resnet18"},
        {"resnext", "examples/networks/resnext50.yaml is one; the nearest of the list is resnet50"},
        {"convnext", "examples/networks/convnext-tiny.yaml is one; the nearest of the list is "
                     "resnet50"},
        {"mlp-mixer", "examples/networks/mlp-mixer-s16.yaml is one; the nearest of the list is "
                      "deit-tiny"},
        {"wav2vec", "the nearest is ds2-s, which writes what is said"},
        {"whisper", "the nearest is ds2-s, which writes what is said"},
        {"esrgan", "the nearest is pan-s, which enlarges pictures"}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(name), end = strlen(endings[i][0]);
        if (length > end && strcmp(name + length - end, endings[i][0]) == 0) return endings[i][1];
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i][0], strlen(known[i][0])) == 0) return known[i][1];
    return NULL;
}

hu_status hu_model_find(const char *name, const hu_model **model) {
    char nearest[256];
    for (int i = 0; i < hu_model_count; i++) {
        *model = &hu_model_table[i];
        if (strcmp(name, names[i]) == 0) return HU_OK;
    }
    if (strcmp(name, HU_OWN_MODEL) == 0)
        return hu_fail(
            HU_ERR_UNKNOWN,
            "model '%s' is one that a program has declared (halfulp/train.h), which alone "
            "can build it again: hu_training_reopen",
            name);
    if (model_elsewhere(name))
        return hu_fail(HU_ERR_UNKNOWN,
                       "model '%.100s' is not known: %s; `halfulp help models` lists all", name,
                       model_elsewhere(name));
    hu_nearest(name, names, (size_t)hu_model_count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "model '%s' is not known, nearest: %s", name, nearest);
}

static bool is_small(const char *name) {
    size_t length = strlen(name);
    return length > 2 && strcmp(name + length - 2, "-s") == 0;
}

/* The failure to fit the model's task, and which small models learn from such data. */
static hu_status fits_others(hu_status failed, const char *name, const hu_task *missed,
                             const hu_dataset *dataset) {
    enum { MOST = 4 };
    const hu_model *model;
    char why[512], others[256] = "";
    size_t used = 0;
    int count = 0;
    snprintf(why, sizeof why, "%s", hu_last_error());
    bool is_own = hu_model_find(name, &model) == HU_OK && strcmp(model->task, missed->name) == 0;
    for (int i = 0; is_own && i < hu_model_count && count < MOST; i++) {
        const hu_task *task;
        hu_task_shapes shapes;
        if (!is_small(names[i]) || hu_task_find(hu_model_table[i].task, &task) != HU_OK ||
            hu_task_fit(task, dataset, &shapes) != HU_OK)
            continue;
        used += (size_t)snprintf(others + used, sizeof others - used, "%s%s", count ? ", " : "",
                                 names[i]);
        count++;
    }
    if (count == 0) return hu_fail(failed, "%s", why);
    return hu_fail(failed, "%s: model %s does not learn from it; model=NAME with one of %s does",
                   why, name, others);
}

/* A task that was asked for wins over the model's own; so does a loss over the task's. */
hu_status hu_model_choose(const char *name, const hu_task *task, const hu_loss_form *loss,
                          const hu_dataset *dataset, hu_task_choice *choice) {
    hu_status st = HU_OK;
    const hu_model *model;
    *choice = (hu_task_choice){.task = task, .loss = loss, .beta = 1.0, .real = 1.0f};
    if (!task) HU_TRY(hu_model_find(name, &model));
    if (!task) HU_TRY(hu_task_find(model->task, &choice->task));
    if (!loss) HU_TRY(hu_task_loss(choice->task, "auto", &choice->loss));
    st = hu_task_fit(choice->task, dataset, &choice->shapes);
    if (st == HU_ERR_ARGUMENT) st = fits_others(st, name, choice->task, dataset);
    /* The other losses of rows know nothing of what was mixed in. */
    if (st == HU_OK && hu_task_mix(choice) >= 0) choice->loss = &hu_loss_mixed_cross_entropy;
done:
    return st;
}

/* A norm that no layer has was asked for in vain. */
static hu_status check_norm(const hu_model_options *options, const hu_graph *graph) {
    for (uint32_t n = 0; options->norm == HU_MODEL_NORM_OFF && n < graph->node_count; n++)
        if (graph->node[n].op == &hu_op_batch_norm || graph->node[n].op == &hu_op_range_norm)
            return hu_fail(HU_ERR_ARGUMENT,
                           "model.norm: found off with a network that has '%s', expected batch",
                           graph->node[n].name);
    if (options->norm != HU_MODEL_NORM_RANGE) return HU_OK;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op == &hu_op_range_norm) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "model.norm: found range with a model that has no norms, expected batch");
}

/* A share that nothing takes up would be asked for in vain. */
static hu_status check_dropout(const hu_model_options *options, const hu_graph *graph) {
    if (!(options->dropout > 0.0)) return HU_OK;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_dropout_attrs *attrs = graph->node[n].attrs;
        if (graph->node[n].op == &hu_op_dropout && attrs->probability == (float)options->dropout)
            return HU_OK;
    }
    return hu_fail(HU_ERR_ARGUMENT, "model.dropout: found %g, expected auto or 0: %s",
                   options->dropout,
                   options->own ? "a network of a file has its own" : "this model has no dropout");
}

/* The same of branches. */
static hu_status check_drop_path(const hu_model_options *options, const hu_graph *graph) {
    if (!(options->drop_path > 0.0)) return HU_OK;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op == &hu_op_drop_path) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "model.drop_path: found %g, expected 0: %s", options->drop_path,
                   options->own ? "a network of a file has its own"
                                : "this model leaves no branch out; deit-tiny and deit-s do");
}

/* Sizes that the model has not read were asked for in vain. */
static hu_status check_sizes(const hu_model_options *options, unsigned read) {
    for (int s = 0; s < HU_SIZES; s++)
        if (options->sizes.chosen[s] && !(read >> s & 1u))
            return hu_fail(HU_ERR_ARGUMENT,
                           "model.%s: found a number, expected 0: model '%s' has no such size",
                           hu_size_keys[s], options->name);
    if (options->sizes.bands > 0 && !(read >> HU_SIZES & 1u))
        return hu_fail(HU_ERR_ARGUMENT,
                       "model.bands: found %d, expected none: model '%s' has no words in bands",
                       options->sizes.bands, options->name);
    return HU_OK;
}

hu_status hu_model_widen(const hu_model_sizes *sizes, hu_task_choice *choice) {
    int64_t words = sizes->chosen[HU_SIZE_VOCAB], *outputs = &choice->shapes.outputs;
    if (words == 0 || choice->task->kind != HU_LOSS_ROWS) return HU_OK;
    if (words < *outputs)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "model.vocab: found %lld, expected 0 or at least %lld, the words of the data",
            (long long)words, (long long)*outputs);
    *outputs = words;
    return HU_OK;
}

/* Networks that learn against each other make pictures of one size. */
static hu_status say_least(const hu_model_options *options, const hu_model *model) {
    bool is_of_one_size = strcmp(model->task, hu_task_gan.name) == 0;
    return say_least_side(options, model->build, is_of_one_size ? model->side : 0);
}

hu_status hu_model_build(const hu_model_options *asked, hu_graph **graph) {
    hu_status st = HU_OK;
    const hu_model *model = NULL;
    unsigned read = 0;
    hu_model_options reading = *asked;
    const hu_model_options *options = &reading;
    reading.read_sizes = &read;
    *graph = NULL;
    if (!options->own) HU_TRY(hu_model_find(options->name, &model));
    /* Written so that a NaN fails too. 64 keeps channels far from the end of the integers. */
    if (!(options->width > 0.0) || options->width > 64.0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "width %g of model '%s', expected more than 0 and at most 64",
                       options->width, options->name);
    if (!options->choice && options->classes < 2)
        return hu_fail(HU_ERR_ARGUMENT, "%lld classes, expected at least 2",
                       (long long)options->classes);
    HU_TRY(hu_graph_create(graph));
    st = options->own ? declare_own(options, *graph) : model->build(options, *graph);
    if (st == HU_ERR_SHAPE && !options->own) st = say_least(options, model);
    if (st != HU_OK && !options->own) st = hu_fail_within(st, "model '%s': ", options->name);
    HU_TRY(st);
    HU_TRY(check_sizes(options, read));
    HU_TRY(check_norm(options, *graph));
    HU_TRY(check_dropout(options, *graph));
    HU_TRY(check_drop_path(options, *graph));
    if (options->choice) st = hu_task_check(options->choice, *graph);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "model '%s': ", options->name));
    /* Checks what only a whole graph can tell; no node is added from here on. */
    HU_TRY(hu_graph_finish(*graph));
done:
    if (st != HU_OK) {
        hu_graph_free(*graph);
        *graph = NULL;
        if (asked->own && asked->own->file) st = hu_network_fail_within(asked->own->file, st);
    }
    return st;
}
