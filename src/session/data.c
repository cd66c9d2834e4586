/* session/data.c - the data set that the keys data.* describe. */
#include "session/data.h"

#include <stdio.h>

#include "base/error.h"

/* "I/N" -> part and parts; 1/1 is everything. */
static hu_status read_part(hu_config *config, hu_image_choice *choice) {
    const char *text;
    long long part, parts;
    int end = 0;
    hu_status st = hu_config_text(config, "data.part", &text);
    if (st != HU_OK) return st;
    if (sscanf(text, "%7lld/%7lld%n", &part, &parts, &end) != 2 || text[end] || part < 1 ||
        parts < part)
        return hu_fail(HU_ERR_ARGUMENT, "data.part: found '%s', expected I/N with 1 <= I <= N",
                       text);
    if (parts == 1) return HU_OK;
    choice->part = part;
    choice->parts = parts;
    return HU_OK;
}

/* Which images of a folder, and in which size; other data sets leave these alone. */
static hu_status read_choice(hu_config *config, hu_image_choice *choice) {
    hu_status st;
    int64_t seed;
    *choice = (hu_image_choice){0};
    HU_TRY(hu_config_i64(config, "data.size", &choice->size));
    HU_TRY(hu_config_i64(config, "data.crop", &choice->crop));
    HU_TRY(hu_config_i64(config, "data.classes", &choice->classes));
    HU_TRY(hu_config_i64(config, "data.class_seed", &seed));
    choice->seed = (uint64_t)seed;
    HU_TRY(read_part(config, choice));
done:
    return st;
}

hu_status hu_session_dataset(hu_config *config, const hu_listener *listener, hu_dataset **dataset) {
    const char *name;
    hu_data_limits limits;
    hu_image_choice choice;
    hu_status st = HU_OK;
    HU_TRY(read_choice(config, &choice));
    HU_TRY(hu_config_text(config, "data.name", &name));
    HU_TRY(hu_config_i64(config, "data.limit", &limits.train));
    HU_TRY(hu_config_i64(config, "data.test_limit", &limits.test));
    /* Only a default gives way; a data set that was asked for and is not there is an error. */
    if (!hu_config_given(config, "data.name") && !hu_dataset_available(name)) {
        hu_listener_tell(listener,
                         "data set %s is not installed (Debian: dataset-fashion-mnist); "
                         "using the synthetic glyphs instead",
                         name);
        HU_TRY(hu_config_set(config, "data.name", "glyphs", "fall-back"));
        name = "glyphs";
    }
    HU_TRY(hu_dataset_open_images(name, &limits, &choice, dataset));
done:
    return st;
}
