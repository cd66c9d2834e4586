#include "train/weight_list.h"

#include "base/error.h"
#include "base/memory.h"
#include "train/average.h"
#include "train/inner.h"
#include "train/weight_names.h"
#include "train/weight_view.h"

const char *hu_weight_layout_name(hu_weight_layout layout) {
    static const char *const names[] = {"torch", "halfulp"};
    return names[layout];
}

const char *hu_export_kind(const hu_export_options *options) {
    if (options->averaged) return "average";
    if (options->coded) return "codes";
    return options->rounded ? "rounded" : "master";
}

static bool rounds(const hu_export_options *options) {
    return options->rounded || options->coded;
}

/* The codes of one tensor, where its format has some. */
static hu_status code(const hu_run *run, hu_value_id v, hu_weight_item *item) {
    hu_quantizer quantizer;
    int32_t exponent;
    hu_run_parameter_rounding(run, v, &quantizer, &exponent);
    hu_weight_coding_of(&quantizer, exponent, item->values, item->elements, &item->coding);
    if (!item->coding.dtype) return HU_OK;
    hu_status st =
        HU_NEW_ARRAY(&item->bytes, item->elements * hu_weight_coding_bytes(&item->coding));
    if (st == HU_OK) hu_weight_encode(&item->coding, item->values, item->elements, item->bytes);
    return st;
}

/* One tensor in the layout of the file; scratch: room for it. */
static hu_status fill(const hu_trainer *trainer, const hu_export_options *options,
                      const hu_weight_views *views, hu_value_id v, float *block, float *scratch,
                      hu_weight_item *item) {
    hu_weight_view view;
    const hu_value_info *value = &trainer->graph->value[v];
    int64_t offset = trainer->weights.offset[v];
    const float *values = hu_weights_of(&trainer->weights, v);
    hu_status st = hu_weight_view_create(views, v, &view);
    if (rounds(options)) values = hu_run_rounded_parameter(trainer->run, v, scratch + offset);
    if (st == HU_OK) hu_weight_turn_out(&view, values, block + offset);
    hu_weight_view_free(&view);
    *item = (hu_weight_item){.name = value->name,
                             .shape = hu_weight_shape(views, v),
                             .elements = (size_t)value->elements,
                             .values = block + offset};
    if (st == HU_OK && options->coded) st = code(trainer->run, v, item);
    return st;
}

static hu_status fill_all(hu_trainer *trainer, const hu_export_options *options,
                          const hu_weight_views *views, float *scratch, hu_weight_list *list) {
    const hu_graph *graph = trainer->graph;
    hu_run *run = trainer->run;
    hu_status st = HU_OK;
    if (rounds(options)) hu_run_round_parameters(run, (uint64_t)trainer->progress.step, false);
    const char *unencodable = hu_run_unencodable_parameter(run);
    if (rounds(options) && unencodable)
        return hu_fail(HU_ERR_NONFINITE, "'%s' holds numbers that its format cannot encode",
                       unencodable);
    for (hu_value_id v = 0; st == HU_OK && v < graph->value_count; v++)
        if (hu_is_in_weights(&graph->value[v]))
            st = fill(trainer, options, views, v, list->block, scratch, &list->item[list->count++]);
    return st;
}

hu_status hu_weight_list_create(hu_trainer *trainer, const hu_export_options *options,
                                hu_weight_list *list) {
    hu_status st;
    float *scratch = NULL;
    hu_weight_views *views = NULL;
    size_t elements = (size_t)trainer->weights.elements;
    *list = (hu_weight_list){0};
    if (options->averaged && !trainer->average.mean)
        return hu_fail(HU_ERR_ARGUMENT, "weights: found average, expected master or rounded: "
                                        "the run was trained without optimizer.average");
    HU_TRY(hu_weight_views_create(trainer->graph, options->layout, &views));
    HU_TRY(HU_NEW_ARRAY(&list->item, trainer->graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&list->block, elements));
    HU_TRY(HU_NEW_ARRAY(&scratch, rounds(options) ? elements : 0));
    if (options->averaged) hu_average_exchange(trainer);
    st = fill_all(trainer, options, views, scratch, list);
    if (options->averaged) hu_average_exchange(trainer);
done:
    hu_weight_views_free(views);
    hu_free(scratch);
    return st;
}

void hu_weight_list_free(hu_weight_list *list) {
    for (size_t i = 0; list->item && i < list->count; i++) hu_free(list->item[i].bytes);
    hu_free(list->item);
    hu_free(list->block);
    *list = (hu_weight_list){0};
}
