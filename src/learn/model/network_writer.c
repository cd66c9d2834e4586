#include "model/network_file.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/internal.h"
#include "model/network_fold.h"
#include "model/network_internal.h"

/* A finished graph as a file: a line for each node, what repeats as blocks (network_fold.c). */

/* Room for a number. */
enum { NUMBER_BYTES = 40 };

/* ---- What the task adds to a head ---- */

static bool same_name(const hu_graph *a, hu_value_id v, const hu_graph *b, hu_value_id w) {
    return strcmp(a->value[v].name, b->value[w].name) == 0;
}

/* Two nodes of two graphs: same names, inputs and attributes. */
static bool same_node(const hu_graph *a, const hu_node *x, const hu_graph *b, const hu_node *y) {
    char *left = NULL, *right = NULL;
    bool same = strcmp(x->name, y->name) == 0 && x->op == y->op && x->n_in == y->n_in;
    for (int i = 0; same && i < x->n_in; i++) same = same_name(a, x->in[i], b, y->in[i]);
    if (!same) return false;
    const hu_shape *in = x->n_in ? x->shapes : NULL;
    same = hu_op_write_attributes(x->op, x->attrs, in, &left) == HU_OK &&
           hu_op_write_attributes(y->op, y->attrs, in, &right) == HU_OK && strcmp(left, right) == 0;
    hu_free(left);
    hu_free(right);
    return same;
}

/* The graph's last nodes are those that closing this head adds, and it learns nothing else. added:
 * how many they are. */
static bool ends_as_closed(const hu_graph *graph, const hu_graph *closed, uint32_t *added) {
    uint32_t count = closed->node_count, first = graph->node_count - count;
    const hu_loss *loss = &graph->loss[0], *other = &closed->loss[0];
    bool same = count > 0 && count <= graph->node_count && graph->loss_count == 1 &&
                closed->loss_count == 1 && graph->phase_count == 0 && !graph->is_split &&
                loss->node == first + other->node && loss->weight == other->weight &&
                loss->normaliser == other->normaliser && loss->when == other->when &&
                graph->made == closed->made && graph->wanted == closed->wanted;
    for (uint32_t n = 0; same && n < count; n++)
        same = same_node(graph, &graph->node[first + n], closed, &closed->node[n]);
    *added = count;
    return same;
}

/* True if the file can name this head alone. */
static bool is_head(const hu_graph *graph, const hu_task_choice *choice, hu_value_id head,
                    uint32_t *added) {
    hu_graph *closed = NULL;
    hu_value_id field[HU_TASK_FIELDS_MAX], value;
    const hu_value_info *info = &graph->value[head];
    bool is = hu_graph_create(&closed) == HU_OK &&
              hu_task_declare(choice, closed, field) == HU_OK &&
              hu_graph_add_value(closed, info->name, &info->shape, info->role, &value) == HU_OK &&
              hu_task_close(choice, closed, field, value) == HU_OK &&
              ends_as_closed(graph, closed, added);
    hu_graph_free(closed);
    return is;
}

/* The head to which the task has added the graph's only loss; HU_NONE: it has losses of its own.
 * nodes: how many of them the file has. */
static hu_value_id find_head(const hu_graph *graph, const hu_task_choice *choice, uint32_t *nodes) {
    uint32_t added = 0;
    const hu_node *loss = &graph->node[graph->loss[0].node];
    hu_value_id head = loss->n_in ? loss->in[0] : HU_NONE;
    *nodes = graph->node_count;
    /* The loss itself, or what stands before it, such as a log-softmax, reads the head. */
    for (int i = 0; i < 2 && head != HU_NONE; i++) {
        if (is_head(graph, choice, head, &added)) {
            *nodes -= added;
            return head;
        }
        uint32_t producer = graph->value[head].producer;
        bool has_input = producer != HU_NONE && graph->node[producer].n_in > 0;
        head = has_input ? graph->node[producer].in[0] : HU_NONE;
    }
    return HU_NONE;
}

/* ---- Words of a node ---- */

/* Are all parameters of a node called by this prefix? */
static bool is_prefix(const hu_graph *graph, const hu_node *node, const hu_param_decl *list,
                      const char *prefix) {
    char full[2 * HU_NAME_BYTES];
    bool is = true;
    for (int j = 0; is && j < node->n_params; j++) {
        hu_param_name(prefix, list[j].suffix, full, sizeof full);
        is = strcmp(full, graph->value[node->param[j]].name) == 0;
    }
    return is;
}

/* The prefix that its parameters are called by where that is not its name; "" where it is. */
static hu_status find_prefix(const hu_graph *graph, const hu_node *node, const hu_param_decl *list,
                             char prefix[HU_NAME_BYTES]) {
    const char *name = graph->value[node->param[0]].name, *suffix = list[0].suffix;
    size_t length = strlen(name), tail = strlen(suffix);
    *prefix = '\0';
    if (is_prefix(graph, node, list, node->name)) return HU_OK;
    /* PREFIX.suffix, or the suffix in the place of a star. */
    size_t kept = tail == 0 ? length : length > tail + 1 ? length - tail - 1 : 0;
    snprintf(prefix, HU_NAME_BYTES, "%.*s", (int)kept, name);
    if (is_prefix(graph, node, list, prefix)) return HU_OK;
    for (const char *at = strstr(name, suffix); tail > 0 && at; at = strstr(at + 1, suffix)) {
        snprintf(prefix, HU_NAME_BYTES, "%.*s*%s", (int)(at - name), name, at + tail);
        if (is_prefix(graph, node, list, prefix)) return HU_OK;
    }
    return hu_fail(HU_ERR_UNSUPPORTED, "node '%s': its parameter is called '%s'", node->name, name);
}

/* Has the node made this parameter, and not one before it? */
static bool owns(const hu_graph *graph, const hu_node *node, hu_value_id param) {
    const hu_value_info *value = &graph->value[param];
    return value->use_count == 0 ||
           graph->use[value->uses[0]].node == (uint32_t)(node - graph->node);
}

/* "weight:embed.weight,bias:dec.bias" of those that other nodes own. */
static hu_status write_share(const hu_graph *graph, const hu_node *node, const hu_param_decl *list,
                             hu_byte_writer *out) {
    hu_status st = HU_OK;
    for (int j = 0; j < node->n_params; j++)
        if (!owns(graph, node, node->param[j]))
            HU_TRY(hu_write_format(out, "%s%s:%s", out->size ? "," : "", list[j].suffix,
                                   graph->value[node->param[j]].name));
    if (out->size) HU_TRY(hu_write_u8(out, 0));
done:
    return st;
}

static hu_status name_params(const hu_graph *graph, const hu_node *node, hu_network_line *line) {
    hu_status st = HU_OK;
    hu_param_decl list[HU_MAX_PARAMS];
    hu_byte_writer share = {0};
    char prefix[HU_NAME_BYTES] = "";
    int count = 0;
    if (node->n_params == 0) return HU_OK;
    HU_TRY(node->op->params(node->attrs, node->shapes, list, &count));
    HU_TRY(write_share(graph, node, list, &share));
    if (!share.size) HU_TRY(find_prefix(graph, node, list, prefix));
    if (*prefix) HU_TRY(hu_strdup(prefix, &line->params));
    line->share = (char *)share.data;
    share.data = NULL;
done:
    hu_free(share.data);
    return st;
}

/* The rows of an output end by lengths that no input brings. */
static hu_value_id valid_of(const hu_graph *graph, const hu_node *node) {
    hu_value_id lengths = node->n_out ? graph->value[node->out[0]].ends.lengths : HU_NONE;
    bool brings = node->op->ends_by > 0 && node->op->ends_by < node->n_in;
    if (lengths == HU_NONE || node->loop != HU_NONE || brings) return HU_NONE;
    bool keeps = hu_keeps_rows(node->op, node->attrs, node->n_in > 0 ? node->shapes[0].rank : 0);
    for (int i = 0; keeps && i < node->n_in; i++)
        if (graph->value[node->in[i]].ends.lengths == lengths) return HU_NONE;
    return lengths;
}

/* A name that a file can say, and that means the node alone. */
static hu_status check_name(const hu_graph *graph, const char *name) {
    if (hu_network_is_name(name) && hu_graph_find(graph, name) == HU_NONE) return HU_OK;
    return hu_fail(
        HU_ERR_UNSUPPORTED,
        "node '%.100s': expected a name of letters, digits, '_', '-', '/' and '.' that no "
        "value has",
        name);
}

static hu_status describe(const hu_graph *graph, const hu_node *node, hu_network_line *line) {
    hu_status st = HU_OK;
    *line = (hu_network_line){.node = node,
                              .name = node->name,
                              .op = node->op->name,
                              .in = node->in,
                              .n_in = node->n_in,
                              .next = HU_NONE,
                              .valid = valid_of(graph, node)};
    if (node->op->is_previous) {
        line->op = "state";
        line->in = node->in + HU_STATE_INITIAL;
        line->n_in = 1;
        line->next = node->in[HU_STATE_NEXT];
    }
    HU_TRY(check_name(graph, node->name));
    HU_TRY(hu_op_write_attributes(node->op, node->attrs, node->n_in ? node->shapes : NULL,
                                  &line->attributes));
    HU_TRY(name_params(graph, node, line));
done:
    return st;
}

/* ---- Sections ---- */

/* A text as YAML writes it: quoted where it is no simple word. */
static hu_status write_word(hu_byte_writer *out, const char *text) {
    hu_status st = HU_OK;
    if (*text && strspn(text, HU_NETWORK_NAME_CHARACTERS) == strlen(text) && *text != '-' &&
        *text != '.')
        return hu_write_format(out, "%s", text);
    HU_TRY(hu_write_format(out, "\""));
    for (; *text; text++)
        HU_TRY(hu_write_format(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text));
    HU_TRY(hu_write_format(out, "\""));
done:
    return st;
}

static hu_status write_key(hu_byte_writer *out, const char *key, const char *text) {
    hu_status st = HU_OK;
    if (!text || !*text) return HU_OK;
    HU_TRY(hu_write_format(out, "%s: ", key));
    HU_TRY(write_word(out, text));
    HU_TRY(hu_write_format(out, "\n"));
done:
    return st;
}

/* Is a loaded value read by a node of the file? Targets that the task compares are its own. */
static bool is_read_by(const hu_graph *graph, hu_value_id v, uint32_t nodes) {
    const hu_value_info *value = &graph->value[v];
    if (hu_is_read_in(value)) return true;
    for (uint32_t u = 0; u < value->use_count; u++)
        if (graph->use[value->uses[u]].node < nodes) return true;
    return false;
}

static hu_status write_inputs(const hu_graph *graph, uint32_t nodes, hu_byte_writer *out) {
    hu_status st = HU_OK;
    const char *comma = "";
    HU_TRY(hu_write_format(out, "inputs: {"));
    for (uint32_t i = 0; i < graph->loaded_count; i++) {
        const hu_value_info *value = &graph->value[graph->loaded[i]];
        if (!is_read_by(graph, graph->loaded[i], nodes)) continue;
        HU_TRY(hu_write_format(out, "%s%s: %s", comma, value->name, hu_network_input_kind(value)));
        comma = ", ";
    }
    HU_TRY(hu_write_format(out, "}\n"));
done:
    return st;
}

static hu_status write_loss(const hu_graph *graph, const hu_loss *loss, hu_byte_writer *out) {
    static const char *const whens[] = {
        [HU_LOSS_IN_TRAINING] = "training", [HU_LOSS_IN_EVALUATION] = "evaluation"};
    hu_status st = HU_OK;
    HU_TRY(hu_write_format(out, "  - {value: %s", graph->node[loss->node].name));
    if (loss->weight != 1.0f) HU_TRY(hu_write_format(out, ", weight: %.9g", (double)loss->weight));
    if (loss->normaliser == HU_PER_ROW) HU_TRY(hu_write_format(out, ", per: row"));
    if (loss->when != HU_LOSS_ALWAYS) HU_TRY(hu_write_format(out, ", when: %s", whens[loss->when]));
    HU_TRY(hu_write_format(out, "}\n"));
done:
    return st;
}

/* Phases begin before their first loss. */
static hu_status write_losses(const hu_graph *graph, hu_byte_writer *out) {
    hu_status st = HU_OK;
    int phase = 0;
    HU_TRY(hu_write_format(out, "losses:\n"));
    for (int k = 0; k < graph->loss_count; k++) {
        for (; phase < graph->phase_count && phase <= graph->loss[k].phase; phase++)
            HU_TRY(hu_write_format(out, "  - {phase: %s}\n", graph->phase[phase].name));
        HU_TRY(write_loss(graph, &graph->loss[k], out));
    }
    if (graph->made != HU_NONE)
        HU_TRY(hu_write_format(out, "compare: [%s, %s]\n", graph->value[graph->made].name,
                               graph->value[graph->wanted].name));
done:
    return st;
}

static hu_status write_heading(const hu_network_heading *heading, hu_byte_writer *out) {
    hu_status st;
    HU_TRY(hu_write_format(out, "halfulp_network: 1\n"));
    HU_TRY(write_key(out, "name", heading->name));
    HU_TRY(write_key(out, "task", heading->task));
    HU_TRY(write_key(out, "recipe", heading->recipe));
    HU_TRY(write_key(out, "weights", heading->weights));
done:
    return st;
}

/* "out=10" of the layer that makes the head becomes "out=classes". */
static hu_status say_classes(const hu_graph *graph, hu_value_id head, int64_t classes,
                             hu_network_line *lines, uint32_t nodes) {
    char number[NUMBER_BYTES];
    uint32_t n = graph->value[head].producer;
    if (n != HU_NONE && graph->node[n].op == &hu_op_bias)
        n = graph->value[graph->node[n].in[0]].producer;
    if (n == HU_NONE || n >= nodes) return HU_OK;
    snprintf(number, sizeof number, "out=%lld", (long long)classes);
    char *text = lines[n].attributes;
    size_t length = strlen(number);
    if (strncmp(text, number, length) != 0 || (text[length] && text[length] != ' ')) return HU_OK;
    hu_byte_writer made = {0};
    hu_status st = hu_write_format(&made, "out=classes%s", text + length);
    if (st == HU_OK) st = hu_write_u8(&made, 0);
    if (st != HU_OK) {
        hu_free(made.data);
        return st;
    }
    hu_free(text);
    lines[n].attributes = (char *)made.data;
    return HU_OK;
}

/* Other words in the place of the first of a line. */
static hu_status replace_first(hu_network_line *line, const char *words) {
    hu_byte_writer made = {0};
    hu_status st;
    HU_TRY(
        hu_write_format(&made, "%s%s", words, line->attributes + strcspn(line->attributes, " ")));
    HU_TRY(hu_write_u8(&made, 0));
    hu_free(line->attributes);
    line->attributes = (char *)made.data;
    made.data = NULL;
done:
    hu_free(made.data);
    return st;
}

/* "size=96x128" of pictures of 24x32 becomes "size={4*height}x{4*columns}": samples are looked at
 * in other sizes than those that are trained on. */
static hu_status say_size(const hu_shape *picture, hu_network_line *line) {
    const hu_bilinear_attrs *attrs = line->node->attrs;
    char words[2 * NUMBER_BYTES];
    if (picture->rank != 3) return HU_OK;
    long long times = attrs->out_h / picture->extent[0];
    bool is_multiple = times > 0 && attrs->out_h == times * picture->extent[0] &&
                       attrs->out_w == times * picture->extent[1];
    if (!is_multiple) return HU_OK;
    if (times == 1) return replace_first(line, "size={height}x{columns}");
    snprintf(words, sizeof words, "size={%lld*height}x{%lld*columns}", times, times);
    return replace_first(line, words);
}

/* "words=7266" becomes "words=ids" where the data have so many: others have more or fewer. */
static hu_status say_words(const hu_graph *graph, const hu_task_choice *choice,
                           hu_network_line *line) {
    const hu_embedding_attrs *attrs = line->node->attrs;
    const hu_value_info *read = &graph->value[line->in[0]];
    bool is_first =
        read->role == HU_VALUE_IDS && strcmp(read->name, choice->task->field[0].value) == 0;
    bool is_whole = !attrs->is_band && attrs->words == choice->shapes.ids[0];
    return is_first && is_whole ? replace_first(line, "words=ids") : HU_OK;
}

/* What follows from the data is said so. */
static hu_status say_facts(const hu_graph *graph, const hu_task_choice *choice,
                           hu_network_line *line) {
    if (line->node->op == &hu_op_bilinear) return say_size(&choice->shapes.value[0], line);
    if (line->node->op == &hu_op_embedding) return say_words(graph, choice, line);
    return HU_OK;
}

hu_status hu_network_write(const hu_graph *graph, const hu_network_heading *heading,
                           const hu_task_choice *choice, hu_byte_writer *out) {
    hu_status st = HU_OK;
    uint32_t nodes = 0;
    hu_network_line *lines = NULL;
    hu_value_id head = find_head(graph, choice, &nodes);
    HU_TRY(HU_NEW_ARRAY(&lines, (size_t)nodes + 1));
    for (uint32_t n = 0; n < nodes; n++) {
        HU_TRY(describe(graph, &graph->node[n], &lines[n]));
        HU_TRY(say_facts(graph, choice, &lines[n]));
    }
    if (head != HU_NONE) HU_TRY(say_classes(graph, head, choice->shapes.outputs, lines, nodes));
    HU_TRY(write_heading(heading, out));
    HU_TRY(write_inputs(graph, nodes, out));
    HU_TRY(hu_network_write_nodes(graph, lines, nodes, head, out));
    if (head == HU_NONE) HU_TRY(write_losses(graph, out));
done:
    for (uint32_t n = 0; lines && n < nodes; n++) {
        hu_free(lines[n].attributes);
        hu_free(lines[n].params);
        hu_free(lines[n].share);
    }
    hu_free(lines);
    return st;
}
