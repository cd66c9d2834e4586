#include "task/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "data/kinds.h"
#include "graph/graph.h"
#include "op/attributes.h"
#include "task/loss.h"

/* ---- Rows of sequences that differ in length ---- */

/* The stride that leaves so many rows of frames; 0: none does. */
static int64_t stride_of(int64_t frames, int64_t rows) {
    int64_t stride = rows > 0 ? (frames + rows - 1) / rows : 0;
    return stride > 0 && (frames + stride - 1) / stride == rows ? stride : 0;
}

/* How many rows of a head count of each sample, in a graph that loads HU_LENGTHS_FIELD: that number
 * where the head has as many rows as a sample has frames; else it after the stride that leaves the
 * rows of the head, of which node LOSS.lengths tells. *rows is the rows of the head, 0 where no
 * stride leaves them, or there are none: its shape is then wrong. Errors as hu_graph_apply. */
static hu_status hu_lengths_fit(hu_graph *graph, int64_t frames, hu_value_id head, const char *loss,
                                int64_t *rows, hu_value_id *lengths) {
    const hu_shape *made = &graph->value[head].shape;
    char name[2 * HU_NAME_BYTES];
    hu_value_id out[HU_MAX_OUTPUTS];
    const hu_length_attrs attrs = {.stride =
                                       made->rank == 2 ? stride_of(frames, made->extent[0]) : 0};
    *rows = attrs.stride > 0 ? made->extent[0] : 0;
    *lengths = hu_graph_find(graph, HU_LENGTHS_FIELD);
    if (attrs.stride < 2) return HU_OK;
    snprintf(name, sizeof name, "%s.lengths", loss);
    hu_status st = hu_graph_apply(graph, &hu_op_length, name, NULL, &attrs, 1, lengths, out);
    if (st == HU_OK) *lengths = out[0];
    return st;
}

/* ---- task ---- */

/* The list of task.h, in its order. */
static const hu_task *const table[] = {
#define HU_TASK_ROW(identifier) &hu_task_##identifier,
    HU_TASK_LIST(HU_TASK_ROW)
#undef HU_TASK_ROW
};
enum { TASKS = sizeof table / sizeof *table, LIST_BYTES = 256 };

const hu_task *hu_task_at(size_t i) {
    return i < TASKS ? table[i] : NULL;
}

hu_status hu_task_find(const char *name, const hu_task **task) {
    const char *names[TASKS];
    char nearest[LIST_BYTES];
    for (size_t i = 0; i < TASKS; i++) {
        *task = table[i];
        if (strcmp((*task)->name, name) == 0) return HU_OK;
        names[i] = (*task)->name;
    }
    *task = NULL;
    hu_nearest(name, names, TASKS, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "task: found '%s', expected one like %s", name, nearest);
}

/* Adds a name to a list in words. */
static void append(char *list, const char *name) {
    size_t used = strlen(list);
    snprintf(list + used, LIST_BYTES - used, "%s'%s'", used ? ", " : "", name);
}

hu_status hu_task_loss(const hu_task *task, const char *name, const hu_loss_form **loss) {
    char fitting[LIST_BYTES] = "";
    hu_status st = hu_loss_find(strcmp(name, "auto") == 0 ? task->loss : name, loss);
    if (st != HU_OK || (*loss)->kind == task->kind) return st;
    for (size_t i = 0; hu_loss_at(i); i++)
        if (hu_loss_at(i)->kind == task->kind) append(fitting, hu_loss_at(i)->name);
    *loss = NULL;
    return hu_fail(HU_ERR_ARGUMENT, "loss '%s' does not fit the task %s, expected one of %s", name,
                   task->name, fitting);
}

/* Names what the data set has, because another task may fit it. */
static hu_status missing_field(const hu_task *task, const char *name, const hu_dataset *dataset) {
    char found[LIST_BYTES] = "";
    const char *wanted[HU_TASK_FIELDS_MAX];
    int count = 0;
    for (int f = 0; f < dataset->field_count; f++) append(found, dataset->field[f].name);
    for (; task->field[count].field; count++) wanted[count] = task->field[count].field;
    const char *usage = hu_data_kind_with(wanted, count);
    return hu_fail(HU_ERR_ARGUMENT, "task %s needs a field '%s', data %s has %s%s%s%s", task->name,
                   name, dataset->name ? dataset->name : "", found, usage ? "; data=" : "",
                   usage ? usage : "", usage ? " has it" : "");
}

/* Of one sample: the field's extents. */
static hu_shape shape_of(const hu_field *field) {
    hu_shape shape = {.rank = field->rank};
    for (int i = 0; i < field->rank; i++) shape.extent[i] = field->extent[i];
    return shape;
}

hu_status hu_task_fit(const hu_task *task, const hu_dataset *dataset, hu_task_shapes *shapes) {
    const hu_field *fields[HU_TASK_FIELDS_MAX];
    *shapes = (hu_task_shapes){.count = 0};
    for (int i = 0; task->field[i].field; i++) {
        int f = hu_dataset_find(dataset, task->field[i].field);
        if (f < 0 && task->field[i].is_mix) break;
        if (f < 0) return missing_field(task, task->field[i].field, dataset);
        fields[i] = &dataset->field[f];
        shapes->field[i] = f;
        shapes->value[i] = shape_of(fields[i]);
        shapes->ids[i] = fields[i]->classes;
        shapes->count++;
    }
    /* The task itself says which shapes it takes; the message begins with the data set here. */
    hu_status st = task->count_outputs(fields, &shapes->outputs);
    if (st != HU_OK) return hu_fail_within(st, "data %s: ", dataset->name ? dataset->name : "");
    return HU_OK;
}

hu_status hu_task_declare(const hu_task_choice *choice, hu_graph *graph, hu_value_id *values) {
    hu_status st = HU_OK;
    for (int i = 0; i < choice->shapes.count; i++) {
        const hu_task_field *field = &choice->task->field[i];
        const hu_shape *shape = &choice->shapes.value[i];
        /* Targets are never rounded: what is true must not depend on a precision. */
        if (field->is_target)
            HU_TRY(hu_graph_target(graph, field->value, shape, &values[i]));
        else if (field->is_ids)
            HU_TRY(hu_graph_ids(graph, field->value, shape, choice->shapes.ids[i], &values[i]));
        else
            HU_TRY(hu_graph_input(graph, field->value, shape, &values[i]));
    }
    for (int i = 0; i < choice->shapes.count; i++) {
        const char *lengths = choice->task->field[i].lengths;
        if (lengths) HU_TRY(hu_graph_end_rows(graph, values[i], hu_graph_find(graph, lengths)));
    }
done:
    return st;
}

int hu_task_mix(const hu_task_choice *choice) {
    for (int i = 0; i < choice->shapes.count; i++)
        if (choice->task->field[i].is_mix) return i;
    return -1;
}

int hu_task_target(const hu_task *task) {
    for (int i = 0; task->field[i].field; i++)
        if (task->field[i].is_target) return i;
    return -1;
}

const char *hu_task_counted(const hu_task *task) {
    return task->place ? task->place : "images";
}

int64_t hu_task_classes(const hu_task *task, const hu_dataset *dataset) {
    int target = hu_task_target(task);
    int f = target < 0 ? -1 : hu_dataset_find(dataset, task->field[target].field);
    return f < 0 ? 0 : dataset->field[f].classes;
}

/* "[28, 28, 11]" */
static void print_shape(const hu_shape *shape, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "[");
    for (int i = 0; i < shape->rank && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%lld", i ? ", " : "",
                                 (long long)shape->extent[i]);
    if (used < bytes) snprintf(text + used, bytes - used, "]");
}

static bool is_same(const hu_shape *a, const hu_shape *b) {
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->extent[i] == b->extent[i];
    return same;
}

/* The head's shape is checked here once, so that losses may trust it. */
hu_status hu_task_check_head(const hu_task_choice *choice, const hu_value_info *made) {
    enum { SHAPE_BYTES = 128 };
    char found[SHAPE_BYTES], expected[SHAPE_BYTES];
    hu_shape wanted = choice->task->head(choice);
    if (is_same(&made->shape, &wanted)) return HU_OK;
    if (choice->task->kind == HU_LOSS_BOXES && !choice->anchors)
        return hu_fail(HU_ERR_SHAPE,
                       "'%s': the model has no anchors beside which it looks for boxes; the task "
                       "%s needs one that has, like ssd-s",
                       made->name, choice->task->name);
    if (choice->task->kind == HU_LOSS_REGIONS && !choice->regions)
        return hu_fail(HU_ERR_SHAPE,
                       "'%s': the model proposes no regions; the task %s needs one that does, like "
                       "faster-rcnn-s",
                       made->name, choice->task->name);
    print_shape(&made->shape, found, sizeof found);
    print_shape(&wanted, expected, sizeof expected);
    return hu_fail(HU_ERR_SHAPE, "'%s': found a head of shape %s, the task %s needs %s", made->name,
                   found, choice->task->name, expected);
}

/* A loss of a head. */
typedef struct closing {
    const char *name;
    float weight;
    hu_loss_when when;
} closing;

static hu_status close_head(const hu_task_choice *choice, hu_graph *graph,
                            const hu_value_id *values, hu_value_id head, const closing *as) {
    hu_task_choice fitted = *choice;
    hu_loss_facts facts = {.anchors = choice->anchors,
                           .smoothing = choice->smoothing,
                           .lengths = HU_NONE,
                           .mix = HU_NONE,
                           .when = as->when};
    int mix = hu_task_mix(choice);
    if (mix >= 0) facts.mix = values[mix];
    hu_status st;
    if (choice->task->has_adversaries)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found one network, the task %s needs two that learn against each other, "
                       "like dcgan-s",
                       choice->task->name);
    if (choice->task->kind == HU_LOSS_SEQUENCE)
        HU_TRY(hu_lengths_fit(graph, choice->shapes.value[0].extent[0], head, as->name,
                              &fitted.rows, &facts.lengths));
    HU_TRY(hu_task_check_head(&fitted, &graph->value[head]));
    int target = hu_task_target(choice->task);
    /* Classes are a mean over the rows that somebody has labelled, boxes over the anchors that find
     * one, in the whole batch. */
    hu_loss_kind kind = choice->task->kind;
    bool by_unit = kind == HU_LOSS_ROWS || kind == HU_LOSS_BOXES;
    st = hu_loss_add(choice->loss, graph, as->name, head, values[target], &facts, as->weight,
                     by_unit ? HU_PER_ROW : HU_PER_SAMPLE);
done:
    return st;
}

hu_status hu_task_close(const hu_task_choice *choice, hu_graph *graph, const hu_value_id *values,
                        hu_value_id head) {
    return close_head(choice, graph, values, head, &(closing){"loss", 1.0f, HU_LOSS_ALWAYS});
}

hu_status hu_task_close_more(const hu_task_choice *choice, hu_graph *graph,
                             const hu_value_id *values, const char *name, hu_value_id head,
                             float weight) {
    char loss[HU_NAME_BYTES];
    int written = snprintf(loss, sizeof loss, "%s.loss", name);
    if (written < 0 || (size_t)written >= sizeof loss)
        return hu_fail(HU_ERR_LIMIT, "head '%.40s...': the name is too long", name);
    return close_head(choice, graph, values, head, &(closing){loss, weight, HU_LOSS_ALWAYS});
}

hu_status hu_task_close_sampled(const hu_task_choice *choice, hu_graph *graph,
                                const hu_value_id *values, hu_value_id head,
                                const hu_task_sampled *sampled) {
    const hu_sampled_attrs attrs = {.classes = choice->shapes.outputs,
                                    .numbers = sampled->numbers,
                                    .ignores = hu_unlabelled_rows.ignores,
                                    .ignored = hu_unlabelled_rows.ignored};
    hu_value_id out[HU_MAX_OUTPUTS], wanted = values[hu_task_target(choice->task)];
    const hu_value_id reads[] = {sampled->scores, wanted, sampled->drawn};
    hu_status st = HU_OK;
    if (choice->task->kind != HU_LOSS_ROWS || choice->smoothing > 0.0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found the task %s and task.smoothing=%g, a sampled softmax needs rows of "
                       "classes and no smoothing",
                       choice->task->name, choice->smoothing);
    HU_TRY(
        close_head(choice, graph, values, head, &(closing){"loss", 1.0f, HU_LOSS_IN_EVALUATION}));
    HU_TRY(hu_graph_apply(graph, &hu_op_sampled_cross_entropy, "sampled.loss", NULL, &attrs, 3,
                          reads, out));
    st = hu_graph_loss_when(graph, out[0], 1.0f, HU_PER_ROW, HU_LOSS_IN_TRAINING);
done:
    return st;
}

hu_status hu_task_close_bands(const hu_task_choice *choice, hu_graph *graph,
                              const hu_value_id *values, const hu_task_bands *bands) {
    hu_value_id in[2 + HU_BANDS_MOST], out[HU_MAX_OUTPUTS];
    hu_status st;
    if (choice->loss != &hu_loss_softmax_cross_entropy || choice->smoothing > 0.0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found the loss %s and task.smoothing=%g, a model of words in bands needs "
                       "loss=softmax_cross_entropy and no smoothing",
                       choice->loss->name, choice->smoothing);
    HU_TRY(hu_task_check_head(choice, &graph->value[bands->law]));
    in[0] = bands->head;
    in[1] = values[hu_task_target(choice->task)];
    for (int b = 0; b < bands->count; b++) in[2 + b] = bands->band[b];
    HU_TRY(hu_graph_apply(graph, &hu_op_adaptive_cross_entropy, "loss", NULL, &hu_unlabelled_rows,
                          2 + bands->count, in, out));
    hu_graph_answer(graph, bands->law, in[1]);
    st = hu_graph_loss(graph, out[0], 1.0f, HU_PER_ROW);
done:
    return st;
}

hu_status hu_task_close_code(const hu_task_choice *choice, hu_graph *graph, hu_value_id mean,
                             hu_value_id spread) {
    static const hu_element_loss_attrs summed = {.sums = true};
    hu_value_id in[2] = {mean, spread}, out[HU_MAX_OUTPUTS];
    hu_status st = HU_OK;
    if (!choice->task->has_code)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found a code of means and log-variances, the task %s has "
                       "no loss for it",
                       choice->task->name);
    HU_TRY(hu_graph_apply(graph, &hu_op_kl_normal, "divergence", NULL, &summed, 2, in, out));
    st = hu_graph_loss(graph, out[0], (float)choice->beta, HU_PER_SAMPLE);
done:
    return st;
}

hu_status hu_task_close_pair(const hu_task_choice *choice, hu_graph *graph,
                             const hu_value_id *values, hu_value_id head) {
    const hu_loss_facts facts = {.lengths = HU_NONE, .mix = HU_NONE};
    const hu_shape *made = &graph->value[head].shape;
    if (!choice->task->pair)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found a head of pairs, the task %s has no loss for it, expected %s",
                       choice->task->name, hu_task_pretrain.name);
    if (made->rank != 1 || made->extent[0] != 2)
        return hu_fail(HU_ERR_SHAPE, "'%s': found %lld numbers, expected two scores of a pair",
                       graph->value[head].name, (long long)hu_shape_elements(made));
    return hu_loss_add(choice->loss, graph, "nsp.loss", head, values[choice->task->pair], &facts,
                       1.0f, HU_PER_ROW);
}

hu_status hu_task_expect_regions(const hu_task_choice *choice) {
    if (choice->task->kind == HU_LOSS_REGIONS) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "found a model that proposes regions, the task %s has no loss for them, "
                   "expected %s",
                   choice->task->name, hu_task_detect_regions.name);
}

hu_status hu_task_close_regions(const hu_task_choice *choice, hu_graph *graph,
                                const hu_value_id *values, const hu_task_regions *r) {
    const hu_region_loss_attrs of_regions = {.picture = r->picture};
    const hu_box_loss_attrs of_anchors = {.anchors = r->anchors, .samples = r->samples};
    hu_value_id out[HU_MAX_OUTPUTS];
    hu_status st;
    HU_TRY(hu_task_expect_regions(choice));
    HU_TRY(hu_task_check_head(choice, &graph->value[r->head]));
    hu_value_id boxes = values[hu_task_target(choice->task)];
    const hu_value_id said[] = {r->head, boxes, r->regions}, proposed[] = {r->rows, boxes};
    HU_TRY(hu_graph_apply(graph, choice->loss->op, "loss", NULL, &of_regions, 3, said, out));
    HU_TRY(hu_graph_loss(graph, out[0], 1.0f, HU_PER_SAMPLE));
    HU_TRY(hu_graph_apply(graph, &hu_op_rpn_loss, "rpn.loss", NULL, &of_anchors, 2, proposed, out));
    st = hu_graph_loss(graph, out[0], 1.0f, HU_PER_SAMPLE);
done:
    return st;
}

hu_value_id hu_task_regions_of(const hu_graph *graph, hu_picture *picture) {
    const hu_node *node = &graph->node[graph->loss[0].node];
    if (node->op != &hu_op_roi_loss) return HU_NONE;
    *picture = ((const hu_region_loss_attrs *)node->attrs)->picture;
    return node->in[2];
}

hu_value_id hu_task_lengths(const hu_graph *graph) {
    const hu_node *node = &graph->node[graph->loss[0].node];
    return node->op == &hu_op_ctc_loss ? node->in[2] : HU_NONE;
}

hu_value_id hu_task_code(const hu_graph *graph, int which) {
    for (int k = 0; k < graph->loss_count; k++) {
        const hu_node *node = &graph->node[graph->loss[k].node];
        if (node->op == &hu_op_kl_normal) return node->in[which];
    }
    return HU_NONE;
}

hu_value_id hu_task_pair(const hu_graph *graph, int which) {
    return graph->node[graph->loss[1].node].in[which];
}

hu_status hu_task_check(const hu_task_choice *choice, const hu_graph *graph) {
    if (choice->task->pair && graph->loss_count != 2)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "found %d losses, the task %s needs a model that also says whether two parts "
            "belong together, like bert-tiny-s",
            graph->loss_count, choice->task->name);
    if (!choice->task->has_code || hu_task_code(graph, 0) != HU_NONE) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "found no code, the task %s needs a model that gives means and log-variances",
                   choice->task->name);
}

hu_value_id hu_task_prediction(const hu_graph *graph) {
    return hu_graph_made(graph);
}

hu_value_id hu_task_target_value(const hu_graph *graph) {
    return hu_graph_wanted(graph);
}

const hu_anchors *hu_task_anchors(const hu_graph *graph) {
    const hu_node *node = &graph->node[graph->loss[0].node];
    if (node->op != &hu_op_ssd_loss) return NULL;
    return &((const hu_box_loss_attrs *)node->attrs)->anchors;
}

int hu_task_collection(const hu_task *task, int m) {
    int first = 0;
    while (task->metric[first]->collection != task->metric[m]->collection) first++;
    return first;
}

int hu_task_column_count(const hu_task *task) {
    int count = 0;
    while (task->column[count].title) count++;
    return count;
}

const char *hu_task_cell(const hu_task *task, int column, double value,
                         char cell[HU_TASK_CELL_BYTES]) {
    const hu_task_column *of = &task->column[column];
    /* A whole number of -1 means that there is none. */
    if (isnan(value) || (of->is_whole && value < 0.0))
        snprintf(cell, HU_TASK_CELL_BYTES, "-");
    else
        snprintf(cell, HU_TASK_CELL_BYTES, "%.*f", of->is_whole ? 0 : of->decimals, value);
    return cell;
}
