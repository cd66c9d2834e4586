#include "report/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "render/table.h"

static const double mega = 1e6, giga = 1e9;

/* Number of bit-operations among the costs. */
static int bitops(void) {
    int c = 0;
    while (hu_cost_list[c] != &hu_cost_bitops) c++;
    return c;
}

/* A cost that needs a table is told where there is one, in the table's unit. */
static bool is_told(const hu_bits_page *page, int cost) {
    return !hu_cost_list[cost]->needs_table || page->task->bits->rates;
}

static const char *unit_of(const hu_bits_page *page, int cost) {
    const hu_cost *row = hu_cost_list[cost];
    return row->needs_table ? page->task->bits->rates->unit : row->unit;
}

/* Samples of the whole training, as the papers count them: all batches are full. */
static double samples_of(const hu_bits_page *page) {
    return (double)page->task->steps * (double)page->task->batch;
}

static const hu_forecast_case *dearest(const hu_bits_page *page) {
    return &page->forecast->cases[page->forecast->count - 1];
}

/* ---- text ---- */

/* "4", "4 to 8". */
static hu_status range_cell(hu_table *table, double least, double most) {
    if (least == most) return hu_table_cell(table, "%.4g", least);
    return hu_table_cell(table, "%.4g to %.4g", least, most);
}

static hu_status cost_cells(hu_table *table, const hu_bits_page *page, const hu_forecast_row *row,
                            int cost) {
    hu_status st = HU_OK;
    double sample = hu_forecast_training(row, cost);
    for (int p = 0; p < HU_COST_PASSES; p++)
        HU_TRY(hu_table_cell(table, "%.4g", row->cost[cost][p] / mega));
    HU_TRY(hu_table_cell(table, "%.4g", sample * (double)page->task->batch / giga));
    HU_TRY(hu_table_cell(table, "%.4g", sample * samples_of(page) / giga));
done:
    return st;
}

static hu_status layer_row(hu_table *table, const hu_bits_page *page, const char *name,
                           int64_t macs, const hu_forecast_row *row) {
    hu_status st = HU_OK;
    char grouped[HU_GROUPED_BYTES];
    HU_TRY(hu_table_cell(table, "%s", name));
    HU_TRY(hu_table_cell(table, "%s", hu_grouped(macs, grouped)));
    HU_TRY(range_cell(table, row->least_bits, row->most_bits));
    HU_TRY(hu_table_cell(table, "%.4g", row->bits));
    HU_TRY(hu_table_cell(table, "%.4g", row->gradient_bits));
    HU_TRY(hu_table_cell(table, "%.4g", row->final_bits));
    HU_TRY(cost_cells(table, page, row, bitops()));
done:
    return st;
}

static hu_status float_row(hu_table *table, const hu_bits_layer *layer) {
    enum { EMPTY = 8 };
    hu_status st = HU_OK;
    char grouped[HU_GROUPED_BYTES];
    HU_TRY(hu_table_cell(table, "%s", layer->name));
    HU_TRY(hu_table_cell(table, "%s", hu_grouped(layer->macs, grouped)));
    HU_TRY(hu_table_cell(table, "fp32"));
    for (int i = 0; i < EMPTY; i++) HU_TRY(hu_table_cell(table, "-"));
done:
    return st;
}

/* Quantised layers and their sum, then those that stay float32. */
static hu_status make_layers(const hu_bits_page *page, hu_table **table) {
    static const char *const titles[] = {"layer",     "MACs",    "bits",    "mean",
                                         "gradients", "trained", "forward", "errors",
                                         "updates",   "a step",  "training"};
    hu_status st = HU_OK;
    const hu_bits_layers *layers = page->task->layers;
    const hu_forecast_case *one = dearest(page);
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, table));
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->layer[l].is_quantised)
            HU_TRY(layer_row(*table, page, layers->layer[l].name, layers->layer[l].macs,
                             &one->layer[l]));
    HU_TRY(layer_row(*table, page, "all of these", hu_bits_macs(layers, true), &one->total));
    for (uint32_t l = 0; l < layers->count; l++)
        if (!layers->layer[l].is_quantised) HU_TRY(float_row(*table, &layers->layer[l]));
done:
    return st;
}

static hu_status case_row(hu_table *table, const hu_bits_page *page, const hu_forecast_case *one,
                          int cost) {
    hu_status st = HU_OK;
    const char *name = one->name[0] ? one->name : page->precision;
    HU_TRY(hu_table_cell(table, "%s", cost == 0 ? name : ""));
    HU_TRY(hu_table_cell(table, "%s", hu_cost_list[cost]->name));
    HU_TRY(cost_cells(table, page, &one->total, cost));
    HU_TRY(hu_table_cell(table, "%.4f", one->relative[cost]));
    HU_TRY(hu_table_cell(table, "%.4g", one->total.inference[cost] / giga));
    HU_TRY(hu_table_cell(table, "%.4f", one->relative_inference[cost]));
done:
    return st;
}

static hu_status make_cases(const hu_bits_page *page, hu_table **table) {
    static const char *const titles[] = {"case",      "cost",       "forward",  "errors",
                                         "updates",   "a step",     "training", "to static 8",
                                         "inference", "to static 8"};
    hu_status st = HU_OK;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, table));
    for (uint32_t i = 0; i < page->forecast->count; i++)
        for (int c = 0; c < HU_COST_COUNT; c++)
            if (is_told(page, c)) HU_TRY(case_row(*table, page, &page->forecast->cases[i], c));
done:
    return st;
}

/* "int4 to int8". */
static void print_range(const hu_bits *bits, const hu_bits_range *range, char *text,
                        size_t capacity) {
    char least[HU_BITS_NAME_BYTES], most[HU_BITS_NAME_BYTES];
    hu_bits_name(bits->kind, bits->exponent_bits, range->least, least);
    hu_bits_name(bits->kind, bits->exponent_bits, range->most, most);
    if (range->least == range->most)
        snprintf(text, capacity, "%s", most);
    else
        snprintf(text, capacity, "%s to %s", least, most);
}

/* ", for weights int16". */
static void print_apart(const hu_bits *bits, char *text, size_t capacity) {
    char name[HU_BITS_NAME_BYTES];
    if (bits->gradient_of_weights == 0) return;
    hu_bits_name(bits->kind, bits->exponent_bits, bits->gradient_of_weights, name);
    snprintf(text, capacity, ", for weights %s", name);
}

static void print_head(const hu_bits_page *page) {
    const hu_bits *bits = page->task->bits;
    char forward[64], gradient[64], apart[64] = "", images[HU_IMAGES_TEXT_BYTES];
    print_range(bits, &bits->forward, forward, sizeof forward);
    print_range(bits, bits->gradient_follows ? &bits->forward : &bits->gradient, gradient,
                sizeof gradient);
    print_apart(bits, apart, sizeof apart);
    printf("%s, width %g, %s, batch %lld, %lld steps of which %lld are an "
           "epoch\nprecision %s: inputs and weights of %u layers %s, gradients %s%s%s\n\n",
           page->model, page->width, hu_images_text(page->image, page->classes, images),
           (long long)page->task->batch, (long long)page->task->steps,
           (long long)page->task->steps_per_epoch, page->precision, page->task->layers->quantised,
           forward, gradient, apart, bits->norms ? ", norms as their layers" : "");
}

static void print_notes(const hu_bits_page *page) {
    if (page->forecast->count > 1)
        printf("the bits depend on the training; these are those of the case '%s'\n",
               dearest(page)->name);
    puts("mean: over the steps; gradients: their bits, mean; trained: bits of the trained model. "
         "forward, errors (gradients of\ninputs), updates (gradients of weights): 10^6 "
         "bit-operations of one sample, mean over the steps; a step, training: 10^9,\nall passes "
         "and samples. Layers of fp32 are in no sum.\n");
}

static void print_units(const hu_bits_page *page) {
    puts("\nforward, errors, updates: 10^6 for one sample; a step, training, inference of one "
         "sample: 10^9. to static 8: over the same\nwith 8 bits in all steps, gradients too.");
    for (int c = 0; c < HU_COST_COUNT; c++)
        if (is_told(page, c))
            printf("%s: %s; %s\n", hu_cost_list[c]->name, unit_of(page, c), hu_cost_list[c]->help);
}

hu_status hu_bits_print(const hu_bits_page *page) {
    hu_status st = HU_OK;
    hu_table *layers = NULL, *cases = NULL;
    HU_TRY(make_layers(page, &layers));
    HU_TRY(make_cases(page, &cases));
    print_head(page);
    HU_TRY(hu_show_table(layers));
    print_notes(page);
    HU_TRY(hu_show_table(cases));
    print_units(page);
done:
    hu_table_free(layers);
    hu_table_free(cases);
    return st;
}

/* ---- JSON ---- */

static json_t *cost_json(const hu_bits_page *page, const hu_forecast_row *row, int cost) {
    double sample = hu_forecast_training(row, cost);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "forward",
                     hu_json_number(row->cost[cost][HU_COST_FORWARD]), "error",
                     hu_json_number(row->cost[cost][HU_COST_ERROR]), "update",
                     hu_json_number(row->cost[cost][HU_COST_UPDATE]), "step",
                     hu_json_number(sample * (double)page->task->batch), "training",
                     hu_json_number(sample * samples_of(page)), "inference",
                     hu_json_number(row->inference[cost]));
}

static json_t *bits_json(const hu_forecast_row *row) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "mean", hu_json_number(row->bits), "least",
                     hu_json_number(row->least_bits), "most", hu_json_number(row->most_bits),
                     "gradient", hu_json_number(row->gradient_bits), "gradient_of_weights",
                     hu_json_number(row->update_bits), "trained", hu_json_number(row->final_bits));
}

/* Costs of layers that stay float32 are null. */
static json_t *layer_json(const hu_bits_page *page, const hu_forecast_case *one, uint32_t index) {
    const hu_bits_layer *layer = &page->task->layers->layer[index];
    const hu_forecast_row *row = &one->layer[index];
    json_t *costs = json_object();
    for (int c = 0; layer->is_quantised && c < HU_COST_COUNT; c++)
        if (is_told(page, c))
            json_object_set_new(costs, hu_cost_list[c]->name, cost_json(page, row, c));
    return json_pack("{s:s, s:s, s:b, s:I, s:i, s:o, s:o}", "name", layer->name, "op",
                     page->graph->node[layer->node].op->name, "quantised", layer->is_quantised,
                     "macs", (json_int_t)layer->macs, "block", (int)layer->block, "bits",
                     bits_json(row), "costs", costs);
}

static json_t *case_json(const hu_bits_page *page, const hu_forecast_case *one) {
    json_t *costs = json_object(), *layers = json_array();
    for (int c = 0; c < HU_COST_COUNT; c++) {
        if (!is_told(page, c)) continue;
        json_t *cost = cost_json(page, &one->total, c);
        json_object_set_new(cost, "relative_training", hu_json_number(one->relative[c]));
        json_object_set_new(cost, "relative_inference", hu_json_number(one->relative_inference[c]));
        json_object_set_new(costs, hu_cost_list[c]->name, cost);
    }
    for (uint32_t l = 0; l < page->task->layers->count; l++)
        json_array_append_new(layers, layer_json(page, one, l));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "case", one->name, "relative_training_cost",
                     hu_json_number(one->relative[bitops()]), "bits", bits_json(&one->total),
                     "costs", costs, "layers", layers);
}

json_t *hu_bits_json(const hu_bits_page *page) {
    const hu_bits_task *task = page->task;
    json_t *cases = json_array(), *units = json_object();
    for (uint32_t i = 0; i < page->forecast->count; i++)
        json_array_append_new(cases, case_json(page, &page->forecast->cases[i]));
    for (int c = 0; c < HU_COST_COUNT; c++)
        if (is_told(page, c))
            json_object_set_new(units, hu_cost_list[c]->name, json_string(unit_of(page, c)));
    return json_pack("{s:s, s:o, s:[I, I, I], s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
                     "model", page->model, "width", hu_json_number(page->width), "image",
                     (json_int_t)page->image[0], (json_int_t)page->image[1],
                     (json_int_t)page->image[2], "classes", (json_int_t)page->classes, "precision",
                     page->precision, "batch", (json_int_t)task->batch, "steps",
                     (json_int_t)task->steps, "steps_per_epoch", (json_int_t)task->steps_per_epoch,
                     "parameters", (json_int_t)hu_graph_parameters(page->graph), "quantised_macs",
                     (json_int_t)hu_bits_macs(task->layers, true), "float_macs",
                     (json_int_t)hu_bits_macs(task->layers, false), "units", units, "cases", cases);
}
