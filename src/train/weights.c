#include "train/weights.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "store/safetensors.h"
#include "train/average.h"
#include "train/inner.h"
#include "train/weight_names.h"
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
        if (!hu_is_in_weights(&graph->value[v])) continue;
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

static hu_status print_block(const hu_trainer *trainer, const hu_export_options *options,
                             const hu_weight_views *views, const float *block, uint8_t **data,
                             size_t *bytes, hu_export_report *report) {
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
        if (!hu_is_in_weights(&graph->value[v])) continue;
        tensors[report->tensors++] = (hu_safetensor_source){
            graph->value[v].name, hu_weight_shape(views, v), block + trainer->weights.offset[v]};
    }
    report->elements = trainer->weights.elements;
    st = hu_safetensors_print(tensors, report->tensors, metadata + first,
                              sizeof metadata / sizeof *metadata - first, data, bytes);
    report->bytes = *bytes;
    hu_free(list);
done:
    return st;
}

hu_status hu_trainer_print(hu_trainer *trainer, const hu_export_options *options, uint8_t **data,
                           size_t *bytes, hu_export_report *report) {
    hu_status st;
    void *block = NULL, *scratch = NULL;
    hu_weight_views *views = NULL;
    size_t elements = (size_t)trainer->weights.elements;
    *data = NULL;
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
    HU_TRY(print_block(trainer, options, views, block, data, bytes, report));
done:
    hu_weight_views_free(views);
    hu_free(block);
    hu_free(scratch);
    return st;
}

hu_status hu_trainer_export(hu_trainer *trainer, const char *path, const hu_export_options *options,
                            hu_export_report *report) {
    uint8_t *data = NULL;
    size_t bytes;
    hu_status st = hu_trainer_print(trainer, options, &data, &bytes, report);
    if (st == HU_OK) st = hu_file_replace(path, data, bytes);
    hu_free(data);
    return st;
}
