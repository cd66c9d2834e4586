#include <stdio.h>
#include <string.h>

#include <halfulp/plan.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/load.h"
#include "precision/precision.h"
#include "settings/options.h"

/* The public plan: a file that was read as the program reads precision=FILE, kept beside what it
 * came to. */

enum { PLAN_NEAREST_BYTES = 256 };

/* Its accumulators and operands by product of a layer. */
typedef struct plan_layer {
    const char *name; /* of the file */
    hu_operand_formats operands;
    hu_accumulator accumulator[HU_PLAN_PRODUCTS];
    int is_chosen[HU_PLAN_PRODUCTS];
} plan_layer;

struct hu_plan {
    hu_keys *file;
    char *text;
    hu_precision precision; /* has the tensors */
    plan_layer *layers;     /* [layer_count] */
    size_t layer_count;
};

_Static_assert((int)HU_PLAN_PARTS == (int)HU_PARTS, "the parts of precision.h");
_Static_assert((int)HU_PLAN_WEIGHTS == (int)HU_PART_WEIGHTS, "in their order");
_Static_assert((int)HU_PLAN_PRODUCTS == (int)HU_PRODUCT_ROLES, "the products of geometry.h");
_Static_assert((int)HU_PLAN_OPERANDS == (int)HU_OPERANDS, "the operands of operand.h");

/* ---- reading ---- */

/* All keys of the plan, checked as those of a configuration. */
static hu_status read_precision(const hu_keys *keys, hu_precision *precision) {
    static const char *const no_flags[] = {NULL};
    char *words[] = {"", NULL};
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_config_request request = {.argc = 1, .argv = words, .flags = no_flags};
    HU_TRY(hu_config_load(&request, &config));
    HU_TRY(hu_config_merge(config, keys));
    HU_TRY(hu_options_precision(config, precision));
done:
    hu_config_free(config);
    return st;
}

/* Number of a product of a layer by its name in the file. */
static hu_status find_product(const hu_keys *node, int *product) {
    for (*product = 0; *product < HU_PLAN_PRODUCTS; ++*product)
        if (strcmp(hu_keys_name(node), hu_product_role_name((hu_product_role)*product)) == 0)
            return HU_OK;
    return hu_fail(HU_ERR_PARSE, "%s: found '%s', expected forward, input_grad or weight_grad",
                   hu_keys_origin(node), hu_keys_name(node));
}

static hu_status read_sums(const hu_keys *node, hu_semantics semantics, int product,
                           plan_layer *layer) {
    hu_accumulators read = {0};
    hu_status st = hu_accumulators_parse(hu_keys_value(node), semantics, &read);
    layer->is_chosen[product] = st == HU_OK && read.chosen;
    if (layer->is_chosen[product]) layer->accumulator[product] = read.accumulator;
    return st;
}

/* x, w or dy of a product. */
static hu_status read_operand(const hu_keys *node, int product, hu_operand_formats *operands) {
    for (int o = 2 * product; o < 2 * product + 2; o++) {
        const char *word = strchr(hu_operand_name((hu_operand_place)o), '.') + 1;
        if (strcmp(word, hu_keys_name(node)) == 0)
            return hu_quantizer_parse(hu_keys_value(node), HU_ROUND_NEAREST_EVEN,
                                      &operands->quantizer[o]);
    }
    return hu_fail(HU_ERR_PARSE, "%s: found '%s', expected accumulator, %s or %s",
                   hu_keys_origin(node), hu_keys_name(node),
                   strchr(hu_operand_name((hu_operand_place)(2 * product)), '.') + 1,
                   strchr(hu_operand_name((hu_operand_place)(2 * product + 1)), '.') + 1);
}

/* The texts were read once before, as rules: what is wrong with one was told there. */
static hu_status read_layer(const hu_keys *node, hu_semantics semantics, plan_layer *layer) {
    hu_status st = HU_OK;
    layer->name = hu_keys_name(node);
    for (size_t i = 0; i < hu_keys_count(node); i++) {
        const hu_keys *item = hu_keys_at(node, i), *sums = item;
        int p;
        HU_TRY(find_product(item, &p));
        if (hu_keys_kind_of(item) == HU_KEYS_MAP) {
            sums = hu_keys_find(item, "accumulator");
            for (size_t k = 0; k < hu_keys_count(item); k++)
                if (hu_keys_at(item, k) != sums)
                    HU_TRY(read_operand(hu_keys_at(item, k), p, &layer->operands));
        }
        if (sums) HU_TRY(read_sums(sums, semantics, p, layer));
    }
done:
    return st;
}

static hu_status read_layers(hu_plan *plan) {
    hu_status st = HU_OK;
    hu_semantics semantics = HU_SEMANTICS_EXACT;
    const hu_keys *products = hu_keys_find(plan->file, "products");
    const hu_keys *word = hu_keys_find(plan->file, "semantics");
    if (!products || hu_keys_count(products) == 0) return HU_OK;
    if (word) HU_TRY(hu_semantics_parse(hu_keys_value(word), &semantics));
    HU_TRY(HU_NEW_ARRAY(&plan->layers, hu_keys_count(products)));
    plan->layer_count = hu_keys_count(products);
    for (size_t i = 0; i < plan->layer_count; i++)
        HU_TRY(read_layer(hu_keys_at(products, i), semantics, &plan->layers[i]));
done:
    return st;
}

/* Takes the tree over. */
static hu_status make_plan(hu_keys *file, hu_plan **plan) {
    hu_status st = HU_OK;
    hu_keys *keys = NULL;
    hu_plan *made = NULL;
    if (!hu_plan_is_resolved(file))
        HU_TRY(
            hu_fail(HU_ERR_PARSE,
                    "%s: found no key 'halfulp_plan', expected a resolved plan, as `halfulp plan "
                    "... out=FILE.yaml` writes it",
                    hu_keys_origin(file)));
    HU_TRY(HU_NEW(&made));
    made->file = file;
    file = NULL;
    HU_TRY(hu_plan_resolved_keys(made->file, &keys));
    HU_TRY(read_precision(keys, &made->precision));
    HU_TRY(read_layers(made));
    HU_TRY(hu_keys_print(made->file, &made->text));
    *plan = made;
    made = NULL;
done:
    hu_keys_free(file);
    hu_keys_free(keys);
    hu_plan_close(made);
    return st;
}

hu_status hu_plan_load(const char *path, hu_plan **plan) {
    HU_GIVEN(plan);
    *plan = NULL;
    HU_GIVEN(path);
    hu_keys *file;
    hu_status st = hu_yaml_read(path, &file);
    return st == HU_OK ? make_plan(file, plan) : st;
}

hu_status hu_plan_parse(const char *text, const char *name, hu_plan **plan) {
    HU_GIVEN(plan);
    *plan = NULL;
    HU_GIVEN(text);
    HU_GIVEN(name);
    hu_keys *file;
    hu_status st = hu_yaml_parse(text, strlen(text), name, &file);
    return st == HU_OK ? make_plan(file, plan) : st;
}

void hu_plan_close(hu_plan *plan) {
    if (!plan) return;
    hu_keys_free(plan->file);
    hu_precision_free(&plan->precision);
    hu_free(plan->text);
    hu_free(plan->layers);
    hu_free(plan);
}

/* ---- what it says ---- */

const char *hu_plan_text(const hu_plan *plan) {
    return plan ? plan->text : NULL;
}

const char *hu_plan_fact(const hu_plan *plan, const char *path) {
    const hu_keys *node = plan && path ? hu_keys_find(plan->file, path) : NULL;
    return node && hu_keys_kind_of(node) == HU_KEYS_TEXT ? hu_keys_value(node) : NULL;
}

size_t hu_plan_tensor_count(const hu_plan *plan) {
    return plan ? plan->precision.tensor_count : 0;
}

const char *hu_plan_tensor(const hu_plan *plan, size_t index) {
    return index < hu_plan_tensor_count(plan) ? plan->precision.tensors[index].name : NULL;
}

/* The whole list is made only for a message. */
static hu_status refuse_name(const hu_plan *plan, const char *name) {
    char nearest[PLAN_NEAREST_BYTES];
    void *block;
    size_t count = hu_plan_tensor_count(plan);
    hu_status st = hu_alloc_array(count + 1, sizeof(char *), &block);
    if (st != HU_OK) return st;
    const char **names = block;
    for (size_t i = 0; i < count; i++) names[i] = hu_plan_tensor(plan, i);
    hu_nearest(name, names, count, nearest, sizeof nearest);
    hu_free(block);
    if (count == 0)
        return hu_fail(HU_ERR_UNKNOWN, "tensor '%.100s': the plan has no tensors", name);
    return hu_fail(HU_ERR_UNKNOWN, "tensor '%.100s' is not in the plan, nearest: %s", name,
                   nearest);
}

hu_status hu_plan_find(const hu_plan *plan, const char *name, size_t *index) {
    HU_GIVEN(index);
    *index = 0;
    HU_GIVEN(plan);
    HU_GIVEN(name);
    for (size_t i = 0; i < hu_plan_tensor_count(plan); i++) {
        if (strcmp(hu_plan_tensor(plan, i), name) != 0) continue;
        *index = i;
        return HU_OK;
    }
    return refuse_name(plan, name);
}

size_t hu_plan_formats(const hu_plan *plan, size_t index, hu_plan_part part) {
    bool is_there = index < hu_plan_tensor_count(plan) && (unsigned)part < HU_PLAN_PARTS;
    return is_there ? plan->precision.tensors[index].part[part].count : 0;
}

/* NULL, and what does not round: fp32. */
static hu_status print_format(const hu_quantizer *quantizer, const char *function, char *text,
                              uint32_t capacity) {
    char made[HU_PLAN_TEXT_BYTES] = "fp32";
    if (quantizer && hu_quantizer_rounds(quantizer)) hu_resolved_text(quantizer, made, sizeof made);
    if (strlen(made) >= capacity)
        return hu_fail(HU_ERR_LIMIT, "%s: found room for %u bytes, expected %zu", function,
                       (unsigned)capacity, strlen(made) + 1);
    memcpy(text, made, strlen(made) + 1);
    return HU_OK;
}

hu_status hu_plan_format(const hu_plan *plan, size_t index, hu_plan_part part, size_t consumer,
                         char *text, uint32_t capacity) {
    HU_GIVEN(text);
    if (capacity > 0) text[0] = '\0';
    HU_GIVEN(plan);
    if (index >= hu_plan_tensor_count(plan) || (unsigned)part >= HU_PLAN_PARTS)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found tensor %zu and part %d, expected %zu and %d",
                       __func__, index, (int)part, hu_plan_tensor_count(plan), HU_PLAN_PARTS);
    const hu_part_formats *formats = &plan->precision.tensors[index].part[part];
    if (formats->count > 1 && consumer >= formats->count)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found consumer %zu of tensor '%.100s', expected %u",
                       __func__, consumer, hu_plan_tensor(plan, index), formats->count);
    return print_format(formats->count > 0 ? &formats->list[formats->count > 1 ? consumer : 0]
                                           : NULL,
                        __func__, text, capacity);
}

size_t hu_plan_layer_count(const hu_plan *plan) {
    return plan ? plan->layer_count : 0;
}

const char *hu_plan_layer(const hu_plan *plan, size_t index) {
    return index < hu_plan_layer_count(plan) ? plan->layers[index].name : NULL;
}

hu_status hu_plan_accumulator(const hu_plan *plan, size_t index, hu_plan_product product,
                              hu_accumulator *accumulator, int *is_chosen) {
    HU_GIVEN(accumulator);
    *accumulator = (hu_accumulator){0};
    HU_GIVEN(is_chosen);
    *is_chosen = 0;
    HU_GIVEN(plan);
    if (index >= plan->layer_count || (unsigned)product >= HU_PLAN_PRODUCTS)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found layer %zu and product %d, expected %zu and %d",
                       __func__, index, (int)product, plan->layer_count, HU_PLAN_PRODUCTS);
    *accumulator = plan->layers[index].accumulator[product];
    *is_chosen = plan->layers[index].is_chosen[product];
    return HU_OK;
}

hu_status hu_plan_operand_format(const hu_plan *plan, size_t index, hu_plan_operand operand,
                                 char *text, uint32_t capacity) {
    HU_GIVEN(text);
    if (capacity > 0) text[0] = '\0';
    HU_GIVEN(plan);
    if (index >= plan->layer_count || (unsigned)operand >= HU_PLAN_OPERANDS)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found layer %zu and operand %d, expected %zu and %d",
                       __func__, index, (int)operand, plan->layer_count, HU_PLAN_OPERANDS);
    return print_format(&plan->layers[index].operands.quantizer[operand], __func__, text, capacity);
}
