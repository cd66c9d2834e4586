#include "train/weights.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "store/safetensors.h"
#include "train/inner.h"
#include "train/weight_export.h"
#include "train/weights_file.h"

hu_status hu_weight_layout_parse(const char *text, hu_weight_layout *layout) {
    for (int i = 0; i < 2; i++) {
        if (strcmp(text, hu_weight_layout_name((hu_weight_layout)i)) != 0) continue;
        *layout = (hu_weight_layout)i;
        return HU_OK;
    }
    return hu_fail(HU_ERR_UNKNOWN, "layout '%.100s', expected torch or halfulp", text);
}

/* "format:NAME" of a tensor whose format has a text. Owner frees *key. */
static hu_status add_format(const hu_weight_item *item, char **key, hu_safetensor_text *text) {
    static const char prefix[] = HU_WEIGHT_FORMAT_KEY;
    size_t bytes = sizeof prefix + strlen(item->name);
    hu_status st = HU_NEW_ARRAY(key, bytes);
    if (st != HU_OK) return st;
    snprintf(*key, bytes, "%s%s", prefix, item->name);
    *text = (hu_safetensor_text){*key, item->coding.text};
    return HU_OK;
}

/* Wide numbers first, so that each begins at a multiple of its size. */
static size_t add_tensors(const hu_weight_list *list, hu_safetensor_source *tensors) {
    size_t count = 0;
    for (size_t width = sizeof(float); width > 0; width /= 2)
        for (size_t i = 0; i < list->count; i++) {
            const hu_weight_item *item = &list->item[i];
            if (hu_weight_coding_bytes(&item->coding) != width) continue;
            tensors[count++] = (hu_safetensor_source){.name = item->name,
                                                      .shape = item->shape,
                                                      .values = item->values,
                                                      .dtype = item->coding.dtype,
                                                      .bytes = item->bytes};
        }
    return count;
}

static hu_status print_list(const hu_trainer *trainer, const hu_export_options *options,
                            const hu_weight_list *list, uint8_t **data, size_t *bytes) {
    hu_status st;
    char step[32], **keys = NULL;
    hu_safetensor_source *tensors = NULL;
    hu_safetensor_text *metadata = NULL;
    size_t texts = 0, formats = 0;
    snprintf(step, sizeof step, "%lld", (long long)trainer->progress.step);
    const hu_safetensor_text facts[] = {{"format", "pt"},
                                        {"halfulp", HALFULP_VERSION},
                                        {"layout", hu_weight_layout_name(options->layout)},
                                        {"model", trainer->options.model},
                                        {"step", step},
                                        {"weights", hu_export_kind(options)}};
    enum { FACTS = sizeof facts / sizeof *facts };
    HU_TRY(HU_NEW_ARRAY(&tensors, list->count));
    HU_TRY(HU_NEW_ARRAY(&metadata, list->count + FACTS));
    HU_TRY(HU_NEW_ARRAY(&keys, list->count));
    /* "pt" would not be true in another layout. */
    for (size_t i = options->layout == HU_WEIGHTS_TORCH ? 0 : 1; i < FACTS; i++)
        metadata[texts++] = facts[i];
    for (size_t i = 0; i < list->count; i++)
        if (list->item[i].coding.text[0])
            HU_TRY(add_format(&list->item[i], &keys[formats++], &metadata[texts++]));
    HU_TRY(hu_safetensors_print(tensors, add_tensors(list, tensors), metadata, texts, data, bytes));
done:
    for (size_t i = 0; keys && i < formats; i++) hu_free(keys[i]);
    hu_free(keys);
    hu_free(metadata);
    hu_free(tensors);
    return st;
}

/* What a list holds. */
static hu_export_report report_of(const hu_trainer *trainer, const hu_weight_list *list) {
    hu_export_report report = {.tensors = list->count, .elements = trainer->weights.elements};
    for (size_t i = 0; i < list->count; i++) report.coded += list->item[i].coding.dtype != NULL;
    return report;
}

hu_status hu_trainer_print(hu_trainer *trainer, const hu_export_options *options, uint8_t **data,
                           size_t *bytes, hu_export_report *report) {
    hu_weight_list list;
    *data = NULL;
    *bytes = 0;
    hu_status st = hu_weight_list_create(trainer, options, &list);
    if (st == HU_OK)
        st = options->as_c ? hu_weight_header(trainer, options, &list, data, bytes)
                           : print_list(trainer, options, &list, data, bytes);
    *report = report_of(trainer, &list);
    report->bytes = *bytes;
    hu_weight_list_free(&list);
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
