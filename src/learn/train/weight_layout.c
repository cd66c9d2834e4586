#include "train/weights.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "op/attributes.h"

/* ---- weight names ---- */

/* Which array of a file is which tensor of a network, where the two have
 * other names: prefixes that wrappers put in front ("module.", "_orig_mod.", "backbone."), on
 * either side, and the names that torchvision's classifiers have.
 */

/* In a name, whole words between dots are replaced: the first rule of each pass that finds its own
 * takes part. '^': at the beginning of the name alone. */
typedef struct renaming {
    int pass;
    const char *from, *to;
} renaming;

/* Source of all: the modules of torchvision/models/NAME.py, version 0.29. */
static const renaming resnet[] = {{1, "shortcut.conv", "downsample.0"},
                                  {1, "shortcut.bn", "downsample.1"},
                                  {1, "sc.0", "downsample.0"},
                                  {1, "sc.1", "downsample.1"},
                                  {0, NULL, NULL}};

/* For the trunk of fcn-r50. */
static const renaming own_resnet[] = {
    {1, "sc.0", "shortcut.conv"}, {1, "sc.1", "shortcut.bn"}, {0, NULL, NULL}};

static const renaming alexnet[] = {
    {1, "^conv1", "features.0"}, {1, "^conv2", "features.3"},  {1, "^conv3", "features.6"},
    {1, "^conv4", "features.8"}, {1, "^conv5", "features.10"}, {1, "^fc6", "classifier.1"},
    {1, "^fc7", "classifier.4"}, {1, "^fc8", "classifier.6"},  {0, NULL, NULL}};

static const renaming vgg16[] = {{1, "^conv1_1", "features.0"},
                                 {1, "^conv1_2", "features.2"},
                                 {1, "^conv2_1", "features.5"},
                                 {1, "^conv2_2", "features.7"},
                                 {1, "^conv3_1", "features.10"},
                                 {1, "^conv3_2", "features.12"},
                                 {1, "^conv3_3", "features.14"},
                                 {1, "^conv4_1", "features.17"},
                                 {1, "^conv4_2", "features.19"},
                                 {1, "^conv4_3", "features.21"},
                                 {1, "^conv5_1", "features.24"},
                                 {1, "^conv5_2", "features.26"},
                                 {1, "^conv5_3", "features.28"},
                                 {1, "^fc6", "classifier.0"},
                                 {1, "^fc7", "classifier.3"},
                                 {1, "^fc8", "classifier.6"},
                                 {0, NULL, NULL}};

static const renaming shufflenet[] = {
    {1, "^conv1", "conv1.0"},        {1, "^bn1", "conv1.1"},
    {1, "^conv2", "conv5.0"},        {1, "^bn2", "conv5.1"},
    {1, "left.conv1", "branch1.0"},  {1, "left.bn1", "branch1.1"},
    {1, "left.conv2", "branch1.2"},  {1, "left.bn2", "branch1.3"},
    {1, "right.conv1", "branch2.0"}, {1, "right.bn1", "branch2.1"},
    {1, "right.conv2", "branch2.3"}, {1, "right.bn2", "branch2.4"},
    {1, "right.conv3", "branch2.5"}, {1, "right.bn3", "branch2.6"},
    {1, "conv1", "branch2.0"},       {1, "bn1", "branch2.1"},
    {1, "conv2", "branch2.3"},       {1, "bn2", "branch2.4"},
    {1, "conv3", "branch2.5"},       {1, "bn3", "branch2.6"},
    {2, "^layer1", "stage2"},        {2, "^layer2", "stage3"},
    {2, "^layer3", "stage4"},        {0, NULL, NULL}};

static const renaming googlenet[] = {{1, "^inc.0", "inception3a"},
                                     {1, "^inc.1", "inception3b"},
                                     {1, "^inc.2", "inception4a"},
                                     {1, "^inc.3", "inception4b"},
                                     {1, "^inc.4", "inception4c"},
                                     {1, "^inc.5", "inception4d"},
                                     {1, "^inc.6", "inception4e"},
                                     {1, "^inc.7", "inception5a"},
                                     {1, "^inc.8", "inception5b"},
                                     {1, "^auxc.0", "aux1.conv"},
                                     {1, "^auxc.1", "aux2.conv"},
                                     {1, "^auxf1.0", "aux1.fc1"},
                                     {1, "^auxf1.1", "aux2.fc1"},
                                     {1, "^auxf2.0", "aux1.fc2"},
                                     {1, "^auxf2.1", "aux2.fc2"},
                                     {2, "0", "conv"},
                                     {2, "1", "bn"},
                                     {3, "b1", "branch1"},
                                     {3, "b2a", "branch2.0"},
                                     {3, "b2b", "branch2.1"},
                                     {3, "b3a", "branch3.0"},
                                     {3, "b3b", "branch3.1"},
                                     {3, "b4", "branch4.1"},
                                     {0, NULL, NULL}};

static const renaming inception[] = {{1, "^stem1", "Conv2d_1a_3x3"},
                                     {1, "^stem2", "Conv2d_2a_3x3"},
                                     {1, "^stem3", "Conv2d_2b_3x3"},
                                     {1, "^stem4", "Conv2d_3b_1x1"},
                                     {1, "^stem5", "Conv2d_4a_3x3"},
                                     {1, "^auxc1", "AuxLogits.conv0"},
                                     {1, "^auxc2", "AuxLogits.conv1"},
                                     {1, "^auxf", "AuxLogits.fc"},
                                     {1, "^a.0", "Mixed_5b"},
                                     {1, "^a.1", "Mixed_5c"},
                                     {1, "^a.2", "Mixed_5d"},
                                     {1, "^b.0", "Mixed_6a"},
                                     {1, "^c.0", "Mixed_6b"},
                                     {1, "^c.1", "Mixed_6c"},
                                     {1, "^c.2", "Mixed_6d"},
                                     {1, "^c.3", "Mixed_6e"},
                                     {1, "^d.0", "Mixed_7a"},
                                     {1, "^e.0", "Mixed_7b"},
                                     {1, "^e.1", "Mixed_7c"},
                                     {2, "0", "conv"},
                                     {2, "1", "bn"},
                                     {3, "a1", "branch1x1"},
                                     {3, "a5a", "branch5x5_1"},
                                     {3, "a5b", "branch5x5_2"},
                                     {3, "a3a", "branch3x3dbl_1"},
                                     {3, "a3b", "branch3x3dbl_2"},
                                     {3, "a3c", "branch3x3dbl_3"},
                                     {3, "r3", "branch3x3"},
                                     {3, "rda", "branch3x3dbl_1"},
                                     {3, "rdb", "branch3x3dbl_2"},
                                     {3, "rdc", "branch3x3dbl_3"},
                                     {3, "c1", "branch1x1"},
                                     {3, "c7a", "branch7x7_1"},
                                     {3, "c7b", "branch7x7_2"},
                                     {3, "c7c", "branch7x7_3"},
                                     {3, "cda", "branch7x7dbl_1"},
                                     {3, "cdb", "branch7x7dbl_2"},
                                     {3, "cdc", "branch7x7dbl_3"},
                                     {3, "cdd", "branch7x7dbl_4"},
                                     {3, "cde", "branch7x7dbl_5"},
                                     {3, "d3a", "branch3x3_1"},
                                     {3, "d3b", "branch3x3_2"},
                                     {3, "d7a", "branch7x7x3_1"},
                                     {3, "d7b", "branch7x7x3_2"},
                                     {3, "d7c", "branch7x7x3_3"},
                                     {3, "d7d", "branch7x7x3_4"},
                                     {3, "e1", "branch1x1"},
                                     {3, "e3", "branch3x3_1"},
                                     {3, "e3a", "branch3x3_2a"},
                                     {3, "e3b", "branch3x3_2b"},
                                     {3, "eda", "branch3x3dbl_1"},
                                     {3, "edb", "branch3x3dbl_2"},
                                     {3, "edc", "branch3x3dbl_3a"},
                                     {3, "edd", "branch3x3dbl_3b"},
                                     {3, "ap", "branch_pool"},
                                     {3, "cp", "branch_pool"},
                                     {3, "ep", "branch_pool"},
                                     {0, NULL, NULL}};

/* Number 0 are the network's own names. */
static const struct {
    const renaming *rules;
    const char *title;
} schemes[] = {{NULL, NULL},
               {resnet, "torchvision"},
               {alexnet, "torchvision"},
               {vgg16, "torchvision"},
               {shufflenet, "torchvision"},
               {googlenet, "torchvision"},
               {inception, "torchvision"},
               {own_resnet, "resnet50"}};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

const char *hu_weight_naming_title(const hu_weight_naming *naming) {
    return schemes[naming->scheme].title;
}

/* Where words stand in a name as whole words, NULL: nowhere. */
static char *find_words(char *name, const char *words, bool at_begin) {
    size_t length = strlen(words);
    for (char *at = strstr(name, words); at; at = strstr(at + 1, words)) {
        bool begins = at == name || at[-1] == '.', ends = !at[length] || at[length] == '.';
        if (begins && ends && !(at_begin && at != name)) return at;
    }
    return NULL;
}

/* false: the result is too long. */
static bool replace(char *name, char *at, const char *from, const char *to) {
    char rest[HU_NAME_BYTES];
    size_t left = HU_NAME_BYTES - (size_t)(at - name);
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    return (size_t)snprintf(at, left, "%s%s", to, rest) < left;
}

/* Room for HU_NAME_BYTES; false: the result is too long. */
static bool rename_by(const renaming *rule, char *name) {
    int done = 0;
    for (; rule && rule->from; rule++) {
        bool at_begin = rule->from[0] == '^';
        const char *from = rule->from + at_begin;
        char *at = rule->pass > done ? find_words(name, from, at_begin) : NULL;
        if (!at) continue;
        if (!replace(name, at, from, rule->to)) return false;
        done = rule->pass;
    }
    return true;
}

bool hu_weight_name_in_file(const hu_weight_naming *naming, const char *name, char *text) {
    char core[HU_NAME_BYTES];
    size_t length = strlen(naming->ours);
    if (strncmp(name, naming->ours, length) != 0) return false;
    if (snprintf(core, sizeof core, "%s", name + length) >= HU_NAME_BYTES) return false;
    if (!rename_by(schemes[naming->scheme].rules, core)) return false;
    return snprintf(text, HU_NAME_BYTES, "%s%s", naming->theirs, core) < HU_NAME_BYTES;
}

/* ---- the search ---- */

enum { LOOKED_AT = 16, PREFIXES = 16 };

typedef struct search {
    const hu_graph *graph;
    const hu_safetensors *file;
    hu_weight_naming *best;
    size_t most; /* tensors that the best one finds */
} search;

bool hu_is_in_weights(const hu_value_info *value) {
    return value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
}

static void try_naming(search *s, const hu_weight_naming *naming) {
    enum { SHARE = 3 };
    char name[HU_NAME_BYTES];
    size_t found = 0;
    for (hu_value_id v = 0; v < s->graph->value_count; v++) {
        const hu_value_info *value = &s->graph->value[v];
        if (hu_is_in_weights(value) && hu_weight_name_in_file(naming, value->name, name))
            found += hu_safetensors_find(s->file, name) != NULL;
    }
    bool is_chance = naming->ours[0] && SHARE * found < hu_safetensors_count(s->file);
    if (found <= s->most || is_chance) return;
    s->most = found;
    *s->best = *naming;
}

/* Is `tail` the end of the name, after a dot? Then what stands before it, with the dot, goes into
 * prefix. */
static bool find_prefix(const char *name, const char *tail, char prefix[HU_NAME_BYTES]) {
    size_t length = strlen(name), end = strlen(tail);
    if (end == 0 || length <= end || length - end >= HU_NAME_BYTES) return false;
    const char *at = name + length - end;
    if (at[-1] != '.' || strcmp(at, tail) != 0) return false;
    snprintf(prefix, HU_NAME_BYTES, "%.*s", (int)(length - end), name);
    return true;
}

typedef struct prefixes {
    char text[PREFIXES][HU_NAME_BYTES];
    int count;
} prefixes;

static void add_prefix(prefixes *list, const char *prefix) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->text[i], prefix) == 0) return;
    if (list->count < PREFIXES) snprintf(list->text[list->count++], HU_NAME_BYTES, "%s", prefix);
}

/* What the names of the file have in front of one of the network's, and the other way round. */
static void find_prefixes(const search *s, const hu_weight_naming *plain, const char *name,
                          prefixes *theirs, prefixes *ours) {
    char in_file[HU_NAME_BYTES], prefix[HU_NAME_BYTES];
    if (!hu_weight_name_in_file(plain, name, in_file)) return;
    for (size_t i = 0; i < hu_safetensors_count(s->file); i++) {
        const char *found = hu_safetensors_at(s->file, i)->name;
        if (find_prefix(found, in_file, prefix)) add_prefix(theirs, prefix);
        if (find_prefix(in_file, found, prefix)) add_prefix(ours, prefix);
    }
}

static void try_scheme(search *s, int scheme) {
    hu_weight_naming naming = {.scheme = scheme};
    prefixes theirs = {.count = 0}, ours = {.count = 0};
    int looked_at = 0;
    try_naming(s, &naming);
    for (hu_value_id v = 0; v < s->graph->value_count && looked_at < LOOKED_AT; v++) {
        if (!hu_is_in_weights(&s->graph->value[v])) continue;
        find_prefixes(s, &naming, s->graph->value[v].name, &theirs, &ours);
        looked_at++;
    }
    for (int i = 0; i < theirs.count; i++) {
        snprintf(naming.theirs, sizeof naming.theirs, "%s", theirs.text[i]);
        try_naming(s, &naming);
    }
    naming.theirs[0] = '\0';
    for (int i = 0; i < ours.count; i++) {
        snprintf(naming.ours, sizeof naming.ours, "%s", ours.text[i]);
        try_naming(s, &naming);
    }
}

void hu_weight_naming_find(const hu_graph *graph, const hu_safetensors *file,
                           hu_weight_naming *naming) {
    search s = {graph, file, naming, 0};
    *naming = (hu_weight_naming){.scheme = 0};
    for (int scheme = 0; scheme < SCHEMES; scheme++) try_scheme(&s, scheme);
}

/* ---- vector order ---- */

/* In which order torch has the numbers of the vectors of a graph.
 *
 * An image is [height, width, channels] here and [channels, height, width] there, so that a vector
 * that was an image, or becomes one, has its numbers in another order, and so have all vectors that
 * are tied to it number by number: after an activation, a norm, a bias. A vector is a value whose
 * extents are 1 but for the last: [n], [1, 1, n]. Every value of three extents is taken for an
 * image. Rows [steps, features] are the same in both, and so is what regions give (roi_pool).
 */

/* Of vectors that are tied number by number; they share the one of their first. */
typedef struct order_class {
    hu_value_id first; /* towards the first of them */
    int64_t *order;    /* [elements]; NULL: nothing is asked for, or the same as here */
    bool is_fixed;     /* something reads or makes it whose order is the same in both */
    bool is_torn;      /* two orders were asked for */
} order_class;

struct hu_vector_orders {
    const hu_graph *graph;
    order_class *of; /* [value_count] */
};

bool hu_is_vector(const hu_shape *shape) {
    for (int i = 0; i + 1 < shape->rank; i++)
        if (shape->extent[i] != 1) return false;
    return shape->rank > 0 && shape->extent[shape->rank - 1] > 1;
}

static bool is_vector(const hu_graph *graph, hu_value_id v) {
    return hu_is_vector(&graph->value[v].shape);
}

static bool is_image(const hu_graph *graph, hu_value_id v) {
    return graph->value[v].shape.rank == 3 && !is_vector(graph, v);
}

void hu_image_order(const hu_shape *image, int64_t *order) {
    int64_t channels = image->extent[2], places = image->extent[0] * image->extent[1];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t p = 0; p < places; p++) order[c * places + p] = p * channels + c;
}

static order_class *class_of(const hu_vector_orders *orders, hu_value_id v) {
    while (orders->of[v].first != v) v = orders->of[v].first;
    return &orders->of[v];
}

static bool is_same_as_here(const int64_t *order, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (order[i] != i) return false;
    return true;
}

/* Takes over the order, which was allocated. */
static void ask_for(const hu_vector_orders *orders, hu_value_id v, int64_t *order) {
    order_class *class = class_of(orders, v);
    int64_t count = orders->graph->value[v].elements;
    bool is_known = class->order && memcmp(class->order, order, (size_t)count * sizeof *order) == 0;
    if (is_same_as_here(order, count))
        class->is_fixed = true;
    else if (!class->order) {
        class->order = order;
        return;
    } else if (!is_known)
        class->is_torn = true;
    hu_free(order);
}

static void fix(const hu_vector_orders *orders, hu_value_id v) {
    if (is_vector(orders->graph, v)) class_of(orders, v)->is_fixed = true;
}

static void tie(const hu_vector_orders *orders, hu_value_id a, hu_value_id b) {
    order_class *to = class_of(orders, a), *from = class_of(orders, b);
    int64_t *order = from->order;
    if (to == from) return;
    from->first = to->first;
    from->order = NULL;
    to->is_fixed |= from->is_fixed;
    to->is_torn |= from->is_torn;
    if (order) ask_for(orders, a, order);
}

static hu_status ask_for_image(const hu_vector_orders *orders, hu_value_id v, hu_value_id image) {
    int64_t *order;
    hu_status st = HU_NEW_ARRAY(&order, (size_t)orders->graph->value[v].elements);
    if (st != HU_OK) return st;
    hu_image_order(&orders->graph->value[image].shape, order);
    ask_for(orders, v, order);
    return HU_OK;
}

/* Ops that do the same to every element of a vector, or to all of them together, and have one
 * number of a parameter for each. */
bool hu_is_by_element(const hu_op *op) {
    static const hu_op *const list[] = {
        &hu_op_bias,         &hu_op_batch_norm,  &hu_op_range_norm,    &hu_op_layer_norm,
        &hu_op_rms_norm,     &hu_op_l2_norm,     &hu_op_relu,          &hu_op_leaky_relu,
        &hu_op_clipped_relu, &hu_op_sigmoid,     &hu_op_tanh,          &hu_op_gelu,
        &hu_op_scale,        &hu_op_add,         &hu_op_mul,           &hu_op_blend,
        &hu_op_dropout,      &hu_op_log_softmax, &hu_op_sample_normal, &hu_op_mse,
        &hu_op_l1,           &hu_op_bce,         &hu_op_drop_path,     NULL};
    for (size_t i = 0; list[i]; i++)
        if (op == list[i]) return true;
    return false;
}

/* Every vector of a node with the widest of them; vectors of another length have an order of their
 * own, which is the same as here. */
static void tie_elements(const hu_vector_orders *orders, const hu_node *node) {
    const hu_graph *graph = orders->graph;
    hu_value_id first = node->in[0];
    for (int i = 0; i < node->n_in + node->n_out; i++) {
        hu_value_id v = i < node->n_in ? node->in[i] : node->out[i - node->n_in];
        bool is_as_long = graph->value[v].elements == graph->value[first].elements;
        if (is_vector(graph, first) && is_vector(graph, v) && is_as_long)
            tie(orders, first, v);
        else
            fix(orders, v);
    }
}

/* A view: of a vector, of an image as a vector, of a vector as an image. */
static hu_status tie_view(const hu_vector_orders *orders, const hu_node *node) {
    const hu_graph *graph = orders->graph;
    hu_value_id in = node->in[0], out = node->out[0];
    bool from_vector = is_vector(graph, in), to_vector = is_vector(graph, out);
    if (from_vector && to_vector) {
        tie(orders, in, out);
    } else if (is_image(graph, in) && to_vector) {
        return ask_for_image(orders, out, in);
    } else if (from_vector && is_image(graph, out)) {
        return ask_for_image(orders, in, out);
    } else {
        fix(orders, in);
        fix(orders, out);
    }
    return HU_OK;
}

/* A product takes any order of what it reads and gives any: its weights are turned. In groups it
 * does not. */
static void tie_product(const hu_vector_orders *orders, const hu_node *node) {
    bool is_grouped =
        (node->op == &hu_op_conv2d && ((const hu_conv_attrs *)node->attrs)->groups > 1) ||
        (node->op == &hu_op_conv1d && ((const hu_conv1d_attrs *)node->attrs)->groups > 1);
    for (int i = 1; i < node->n_in; i++) fix(orders, node->in[i]);
    if (!is_grouped) return;
    fix(orders, node->in[0]);
    fix(orders, node->out[0]);
}

/* Vectors after each other; where all are as here, so is the whole. */
static hu_status tie_joined(const hu_vector_orders *orders, const hu_node *node) {
    const hu_graph *graph = orders->graph;
    hu_value_id out = node->out[0];
    int64_t *order, first = 0;
    bool is_turned = false;
    for (int i = 0; i < node->n_in; i++)
        is_turned |= is_vector(graph, node->in[i]) && class_of(orders, node->in[i])->order;
    if (!is_turned || !is_vector(graph, out)) {
        for (int i = 0; i < node->n_in; i++) fix(orders, node->in[i]);
        fix(orders, out);
        return HU_OK;
    }
    hu_status st = HU_NEW_ARRAY(&order, (size_t)graph->value[out].elements);
    if (st != HU_OK) return st;
    for (int i = 0; i < node->n_in; i++) {
        int64_t count = graph->value[node->in[i]].elements;
        const int64_t *part = class_of(orders, node->in[i])->order;
        for (int64_t k = 0; k < count; k++) order[first + k] = first + (part ? part[k] : k);
        first += count;
        if (!part) fix(orders, node->in[i]);
    }
    ask_for(orders, out, order);
    return HU_OK;
}

static hu_status tie_node(const hu_vector_orders *orders, const hu_node *node) {
    if (node->op == &hu_op_flatten || node->op == &hu_op_reshape) return tie_view(orders, node);
    if (node->op == &hu_op_concat) return HU_OK; /* when all else is known */
    if (node->op == &hu_op_conv2d || node->op == &hu_op_conv1d || node->op == &hu_op_linear)
        tie_product(orders, node);
    else if (hu_is_by_element(node->op))
        tie_elements(orders, node);
    else
        for (int i = 0; i < node->n_in + node->n_out; i++)
            fix(orders, i < node->n_in ? node->in[i] : node->out[i - node->n_in]);
    return HU_OK;
}

static hu_status tie_all(const hu_vector_orders *orders) {
    hu_status st = HU_OK;
    const hu_graph *graph = orders->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        orders->of[v].first = v;
        if (graph->value[v].producer == HU_NONE) orders->of[v].is_fixed = true;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) HU_TRY(tie_node(orders, &graph->node[n]));
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op == &hu_op_concat) HU_TRY(tie_joined(orders, &graph->node[n]));
done:
    return st;
}

hu_status hu_vector_orders_create(const hu_graph *graph, hu_vector_orders **result) {
    hu_status st;
    *result = NULL;
    HU_TRY(HU_NEW(result));
    (*result)->graph = graph;
    HU_TRY(HU_NEW_ARRAY(&(*result)->of, graph->value_count));
    HU_TRY(tie_all(*result));
done:
    if (st != HU_OK) {
        hu_vector_orders_free(*result);
        *result = NULL;
    }
    return st;
}

void hu_vector_orders_free(hu_vector_orders *orders) {
    if (!orders) return;
    for (hu_value_id v = 0; orders->of && v < orders->graph->value_count; v++)
        hu_free(orders->of[v].order);
    hu_free(orders->of);
    hu_free(orders);
}

hu_status hu_vector_order_of(const hu_vector_orders *orders, hu_value_id v, const int64_t **order) {
    const order_class *class = class_of(orders, v);
    *order = is_vector(orders->graph, v) ? class->order : NULL;
    if (!*order || !(class->is_torn || class->is_fixed)) return HU_OK;
    return hu_fail(HU_ERR_UNSUPPORTED,
                   "'%s' is an image seen as a vector, and beside it something whose numbers have "
                   "one order: no order of its weights gives a torch.nn module the same result; "
                   "expected layout=halfulp",
                   orders->graph->value[v].name);
}
