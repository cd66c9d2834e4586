#include "train/weights.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "store/safetensors.h"
#include "train/average.h"
#include "train/check_start.h"
#include "train/inner.h"
#include "train/update.h"
#include "train/weight_view.h"

static const char *const layout_names[] = {"torch", "halfulp"};

hu_status hu_weight_layout_parse(const char *text, hu_weight_layout *layout) {
    for (int i = 0; i < 2; i++) {
        if (strcmp(text, layout_names[i]) != 0) continue;
        *layout = (hu_weight_layout)i;
        return HU_OK;
    }
    return hu_fail(HU_ERR_UNKNOWN, "layout '%.100s', expected torch or halfulp", text);
}

/* What a file of weights holds: parameters and running statistics. */
static bool is_kept(const hu_value_info *value) {
    return value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
}

/* ---- out ---- */

/* block: all values in the layout of the file, each at its offset; scratch likewise. */
static hu_status fill_block(hu_trainer *trainer, const hu_export_options *options,
                            const hu_weight_views *views, float *block, float *scratch) {
    const hu_graph *graph = trainer->graph;
    hu_run *run = trainer->run;
    if (options->rounded) hu_run_round_parameters(run, (uint64_t)trainer->progress.step, false);
    const char *unencodable = hu_run_unencodable_parameter(run);
    if (options->rounded && unencodable)
        return hu_fail(HU_ERR_NONFINITE, "'%s' holds numbers that its format cannot encode",
                       unencodable);
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (!is_kept(&graph->value[v])) continue;
        hu_weight_view view;
        hu_status st = hu_weight_view_create(views, v, &view);
        int64_t offset = trainer->weights.offset[v];
        const float *values = hu_weights_of(&trainer->weights, v);
        if (options->rounded) values = hu_run_rounded_parameter(run, v, scratch + offset);
        if (st == HU_OK) hu_weight_turn_out(&view, values, block + offset);
        hu_weight_view_free(&view);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

static hu_status write_block(const hu_trainer *trainer, const char *path,
                             const hu_export_options *options, const hu_weight_views *views,
                             const float *block, hu_export_report *report) {
    const hu_graph *graph = trainer->graph;
    hu_status st;
    char step[32];
    void *list;
    *report = (hu_export_report){0};
    snprintf(step, sizeof step, "%lld", (long long)trainer->progress.step);
    const hu_safetensor_text metadata[] = {{"format", "pt"},
                                           {"halfulp", HALFULP_VERSION},
                                           {"layout", layout_names[options->layout]},
                                           {"model", trainer->options.model},
                                           {"step", step},
                                           {"weights", options->averaged  ? "average"
                                                       : options->rounded ? "rounded"
                                                                          : "master"}};
    size_t first = options->layout == HU_WEIGHTS_TORCH ? 0 : 1; /* "pt" would not be true */
    HU_TRY(hu_alloc_array(graph->value_count, sizeof(hu_safetensor_source), &list));
    hu_safetensor_source *tensors = list;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (!is_kept(&graph->value[v])) continue;
        tensors[report->tensors++] = (hu_safetensor_source){
            graph->value[v].name, hu_weight_shape(views, v), block + trainer->weights.offset[v]};
    }
    report->elements = trainer->weights.elements;
    st = hu_safetensors_write(path, tensors, report->tensors, metadata + first,
                              sizeof metadata / sizeof *metadata - first, &report->bytes);
    hu_free(list);
done:
    return st;
}

hu_status hu_trainer_export(hu_trainer *trainer, const char *path, const hu_export_options *options,
                            hu_export_report *report) {
    hu_status st;
    void *block = NULL, *scratch = NULL;
    hu_weight_views *views = NULL;
    size_t elements = (size_t)trainer->weights.elements;
    if (options->averaged && !trainer->average.mean)
        return hu_fail(HU_ERR_ARGUMENT, "weights: found average, expected master or rounded: "
                                        "the run was trained without optimizer.average");
    HU_TRY(hu_weight_views_create(trainer->graph, options->layout, &views));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &block));
    HU_TRY(hu_alloc_array(options->rounded ? elements : 0, sizeof(float), &scratch));
    if (options->averaged) hu_average_exchange(trainer);
    st = fill_block(trainer, options, views, block, scratch);
    if (options->averaged) hu_average_exchange(trainer);
    if (st != HU_OK) goto done;
    HU_TRY(write_block(trainer, path, options, views, block, report));
done:
    hu_weight_views_free(views);
    hu_free(block);
    hu_free(scratch);
    return st;
}

/* ---- in ---- */

enum { SHOWN = 4, LIST_BYTES = 1024 };

/* What does not fit in one way: the first few by name, all by number. */
typedef struct misfit {
    const char *what;
    char text[LIST_BYTES];
    size_t count;
} misfit;

static void add_misfit(misfit *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds one sentence to the first few. */
static void add_misfit(misfit *list, const char *format, ...) {
    size_t used = strlen(list->text);
    va_list args;
    if (list->count++ >= SHOWN) return;
    if (used) used += (size_t)snprintf(list->text + used, LIST_BYTES - used, ", ");
    if (used >= LIST_BYTES) return;
    va_start(args, format);
    vsnprintf(list->text + used, LIST_BYTES - used, format, args);
    va_end(args);
}

typedef struct weight_import {
    const char *path;
    hu_safetensors *file;
    hu_weight_layout layout;
    hu_weight_views *views;
    const char **ours, **theirs; /* names for nearest ones */
    size_t ours_count, theirs_count;
    misfit missing, unexpected, shapes;
} weight_import;

static hu_status list_names(const hu_graph *graph, weight_import *in) {
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&in->ours, graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&in->theirs, hu_safetensors_count(in->file)));
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (is_kept(&graph->value[v])) in->ours[in->ours_count++] = graph->value[v].name;
    for (size_t i = 0; i < hu_safetensors_count(in->file); i++)
        in->theirs[in->theirs_count++] = hu_safetensors_at(in->file, i)->name;
done:
    return st;
}

/* A parameter must be in the file, in the right shape; a running statistic may be missing. */
static void check_value(const hu_graph *graph, hu_value_id v, weight_import *in) {
    char nearest[256], found[176], expected[176];
    const hu_value_info *value = &graph->value[v];
    const hu_safetensor *tensor = hu_safetensors_find(in->file, value->name);
    hu_shape shape = hu_weight_shape(in->views, v);
    if (!tensor && value->role == HU_VALUE_PARAMETER) {
        hu_nearest(value->name, in->theirs, in->theirs_count, nearest, sizeof nearest);
        add_misfit(&in->missing, nearest[0] ? "'%s' (nearest: %s)" : "'%s'%s", value->name,
                   nearest);
    }
    if (!tensor || hu_shape_equal(&tensor->shape, &shape)) return;
    hu_shape_print(&tensor->shape, found, sizeof found);
    hu_shape_print(&shape, expected, sizeof expected);
    add_misfit(&in->shapes, "'%s' found %s, expected %s", value->name, found, expected);
}

/* torch counts the batches of a batch norm beside its running statistics. */
static bool is_batch_count(const hu_graph *graph, const char *name) {
    static const char counter[] = "num_batches_tracked";
    char statistic[HU_NAME_BYTES];
    size_t length = strlen(name), stem = length - (sizeof counter - 1);
    if (length < sizeof counter || strcmp(name + stem, counter) != 0) return false;
    int written = snprintf(statistic, sizeof statistic, "%.*srunning_mean", (int)stem, name);
    return written < HU_NAME_BYTES && hu_graph_find(graph, statistic) != HU_NONE;
}

/* A name of the file that no tensor has. */
static void check_name(const hu_graph *graph, const char *name, weight_import *in) {
    char nearest[256];
    hu_value_id v = hu_graph_find(graph, name);
    if ((v != HU_NONE && is_kept(&graph->value[v])) || is_batch_count(graph, name)) return;
    hu_nearest(name, in->ours, in->ours_count, nearest, sizeof nearest);
    add_misfit(&in->unexpected, "'%.100s' (nearest: %s)", name, nearest);
}

/* All that does not fit is told at once, so that a user need not mend name by name. */
static hu_status check_fit(const hu_trainer *trainer, weight_import *in) {
    const hu_graph *graph = trainer->graph;
    char text[4 * LIST_BYTES] = "";
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (is_kept(&graph->value[v])) check_value(graph, v, in);
    for (size_t i = 0; i < in->theirs_count; i++) check_name(graph, in->theirs[i], in);
    const misfit *lists[] = {&in->missing, &in->unexpected, &in->shapes};
    for (int i = 0; i < 3; i++) {
        char more[40] = "";
        size_t used = strlen(text);
        if (lists[i]->count == 0) continue;
        if (lists[i]->count > SHOWN)
            snprintf(more, sizeof more, " and %zu more", lists[i]->count - SHOWN);
        snprintf(text + used, sizeof text - used, "%s%s: %s%s", used ? "; " : "", lists[i]->what,
                 lists[i]->text, more);
    }
    if (!text[0]) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: found weights that do not fit model '%s': %s", in->path,
                   trainer->options.model, text);
}

/* Without a word in the metadata the file is taken for one of torch. */
static hu_status read_layout(weight_import *in) {
    const char *text = hu_safetensors_metadata(in->file, "layout");
    in->layout = HU_WEIGHTS_TORCH;
    if (!text) return HU_OK;
    hu_status st = hu_weight_layout_parse(text, &in->layout);
    return st == HU_OK ? st : hu_fail_within(st, "%s: __metadata__: ", in->path);
}

/* block: a copy of all parameters and buffers, to be overwritten; scratch as large. */
static hu_status read_block(const hu_trainer *trainer, const weight_import *in, float *block,
                            float *scratch) {
    const hu_graph *graph = trainer->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        const hu_safetensor *tensor = NULL;
        if (is_kept(value)) tensor = hu_safetensors_find(in->file, value->name);
        if (!tensor) continue;
        hu_status st = hu_safetensors_read(in->file, tensor, scratch);
        if (st != HU_OK) return st;
        for (size_t i = 0; i < tensor->elements; i++)
            if (!isfinite(scratch[i]))
                return hu_fail(HU_ERR_NONFINITE,
                               "%s: tensor '%s': found %g at element %zu, expected finite float32 "
                               "numbers",
                               in->path, value->name, (double)scratch[i], i);
        hu_weight_view view;
        st = hu_weight_view_create(in->views, v, &view);
        if (st == HU_OK) hu_weight_turn_in(&view, scratch, block + trainer->weights.offset[v]);
        hu_weight_view_free(&view);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

/* Taken over only when all was read and checked. from: where the weights come from. */
static hu_status take_block(hu_trainer *trainer, const char *from, const float *block) {
    size_t bytes = (size_t)trainer->weights.elements * sizeof *block;
    uint64_t hash = XXH64(block, bytes, 0), expected = trainer->options.init_hash;
    if (expected && hash != expected)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found weights of hash %016llx, expected those of %016llx, with which "
                       "the run was begun",
                       from, (unsigned long long)hash, (unsigned long long)expected);
    memcpy(trainer->weights.block, block, bytes);
    trainer->init_hash = hash;
    if (!trainer->options.keep_masters) hu_round_masters(trainer);
    return HU_OK;
}

hu_status hu_trainer_import(hu_trainer *trainer, const char *path) {
    hu_status st;
    weight_import in = {.path = path,
                        .missing.what = "missing",
                        .unexpected.what = "unexpected",
                        .shapes.what = "of another shape"};
    void *block = NULL, *scratch = NULL;
    size_t elements = (size_t)trainer->weights.elements;
    HU_TRY(hu_safetensors_open(path, &in.file));
    HU_TRY(read_layout(&in));
    HU_TRY(hu_weight_views_create(trainer->graph, in.layout, &in.views));
    HU_TRY(list_names(trainer->graph, &in));
    HU_TRY(check_fit(trainer, &in));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &block));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &scratch));
    memcpy(block, trainer->weights.block, elements * sizeof(float));
    HU_TRY(read_block(trainer, &in, block, scratch));
    HU_TRY(take_block(trainer, path, block));
done:
    hu_safetensors_free(in.file);
    hu_weight_views_free(in.views);
    hu_free(in.ours);
    hu_free(in.theirs);
    hu_free(block);
    hu_free(scratch);
    return st;
}

hu_status hu_trainer_start_check(hu_trainer *trainer, const char *salt) {
    hu_status st;
    void *block = NULL, *scratch = NULL;
    hu_weight_views *views = NULL;
    const hu_graph *graph = trainer->graph;
    size_t elements = (size_t)trainer->weights.elements;
    HU_TRY(hu_weight_views_create(graph, HU_WEIGHTS_TORCH, &views));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &block));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &scratch));
    memcpy(block, trainer->weights.block, elements * sizeof(float));
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (graph->value[v].role != HU_VALUE_PARAMETER) continue;
        hu_weight_view view;
        hu_shape shape = hu_weight_shape(views, v);
        hu_check_start_fill(graph, v, &shape, salt, scratch);
        st = hu_weight_view_create(views, v, &view);
        if (st == HU_OK)
            hu_weight_turn_in(&view, scratch, (float *)block + trainer->weights.offset[v]);
        hu_weight_view_free(&view);
        if (st != HU_OK) goto done;
    }
    HU_TRY(take_block(trainer, "init=check", block));
done:
    hu_weight_views_free(views);
    hu_free(block);
    hu_free(scratch);
    return st;
}

uint64_t hu_trainer_init_hash(const hu_trainer *trainer) {
    return trainer->init_hash;
}
