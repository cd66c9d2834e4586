/* ink:SPEC - a label map for every image of another data set of grey images: which pixels are ink,
 * and of what. Class 0 is the ground, class 1 + label the ink of a sample's label; pixels between
 * light and dark are unlabelled. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/kind.h"

/* Bytes below are ground, bytes from INK on are ink. */
enum { GROUND = 16, INK = 64, OWNED_BY_IMAGES = 4 };

static const char self[] = "ink";

bool hu_ink_available(const hu_data_kind *kind, const char *spec) {
    (void)kind;
    return strncmp(spec, self, sizeof self - 1) != 0 && hu_dataset_available(spec);
}

/* map [count, pixels] */
static hu_status make_maps(const hu_split *split, int64_t pixels, void **map) {
    const uint8_t *image = split->rows[HU_FIELD_IMAGE];
    const int32_t *label = split->rows[HU_FIELD_LABEL];
    hu_status st = hu_alloc_array((size_t)split->count, (size_t)pixels, map);
    uint8_t *out = *map;
    for (int64_t i = 0; st == HU_OK && i < split->count * pixels; i++) {
        uint8_t class_number = (uint8_t)(1 + label[i / pixels]);
        out[i] = image[i] < GROUND ? 0 : image[i] < INK ? HU_UNLABELLED_BYTE : class_number;
    }
    return st;
}

static hu_status check(const hu_dataset *images, const char *spec) {
    const hu_field *image = &images->field[HU_FIELD_IMAGE];
    int64_t classes = images->field[HU_FIELD_LABEL].classes;
    if (image->extent[2] != 1 || image->margin != 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data ink:%s: found %lld channels, expected 1: ink is told from grey images",
                       spec, (long long)image->extent[2]);
    if (classes >= HU_UNLABELLED_BYTE)
        return hu_fail(HU_ERR_LIMIT, "data ink:%s: found %lld classes, expected fewer than %d",
                       spec, (long long)classes, HU_UNLABELLED_BYTE);
    return HU_OK;
}

/* Takes everything but the names of a data set and of its classes, which are not those of maps;
 * what is left of it can be closed. */
static void take_over(hu_dataset *images, hu_dataset *dataset) {
    char *name = dataset->name;
    *dataset = *images;
    dataset->name = name;
    dataset->class_names = NULL;
    dataset->class_name_count = 0;
    memset(images->owned, 0, sizeof images->owned);
}

hu_status hu_ink_open(const hu_data_kind *kind, const char *spec, const hu_data_limits *limits,
                      hu_dataset *dataset) {
    enum { MASK = HU_FIELD_LABEL + 1 };
    hu_status st;
    hu_dataset *images = NULL;
    (void)kind;
    if (strncmp(spec, self, sizeof self - 1) == 0)
        return hu_fail(HU_ERR_ARGUMENT, "data ink:%s: expected a data set of images", spec);
    HU_TRY(hu_dataset_open(spec, limits, &images));
    HU_TRY(check(images, spec));
    take_over(images, dataset);
    const hu_field *image = &dataset->field[HU_FIELD_IMAGE];
    dataset->field[MASK] = (hu_field){.name = "mask",
                                      .type = HU_FIELD_U8,
                                      .rank = 2,
                                      .extent = {image->extent[0], image->extent[1]},
                                      .is_spatial = true,
                                      .classes = 1 + dataset->field[HU_FIELD_LABEL].classes};
    dataset->field_count = MASK + 1;
    int64_t pixels = image->extent[0] * image->extent[1];
    HU_TRY(make_maps(&dataset->train, pixels, &dataset->owned[OWNED_BY_IMAGES]));
    HU_TRY(make_maps(&dataset->test, pixels, &dataset->owned[OWNED_BY_IMAGES + 1]));
    dataset->train.rows[MASK] = dataset->owned[OWNED_BY_IMAGES];
    dataset->test.rows[MASK] = dataset->owned[OWNED_BY_IMAGES + 1];
done:
    hu_dataset_close(images);
    return st;
}
