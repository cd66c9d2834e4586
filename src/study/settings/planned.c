#include "settings/planned.h"

#include <stdio.h>

#include "base/error.h"
#include "model/network_file.h"

const hu_dataset *hu_planned_dataset(const hu_planned *planned) {
    return planned->opened ? planned->opened : &planned->assumed;
}

const char *hu_planned_assumed(const hu_planned *planned, hu_config *config,
                               char text[HU_ASSUMED_TEXT_BYTES]) {
    return planned->opened ? NULL : hu_assumed_dataset_text(config, text);
}

hu_status hu_planned_read(hu_config *config, const hu_listener *listener, hu_planned *planned) {
    hu_status st = HU_OK;
    hu_train_options *options = &planned->options;
    if (hu_config_given(config, "data.name")) {
        HU_TRY(hu_session_dataset(config, listener, &planned->opened));
        return hu_options_train(config, planned->opened, &planned->precision, options);
    }
    HU_TRY(hu_assumed_dataset_read(config, 1, &planned->assumed)); /* to find the recipe's batch */
    HU_TRY(hu_options_train(config, &planned->assumed, &planned->precision, options));
    if (planned->assumed.streams > 0) planned->assumed.streams = options->batch;
    if (planned->precision.bits.schedule) return HU_OK; /* its epochs may end with a short batch */
    HU_TRY(hu_assumed_dataset_read(config, options->batch, &planned->assumed));
done:
    return st;
}

void hu_planned_free(hu_planned *planned) {
    hu_precision_free(&planned->precision);
    hu_dataset_close(planned->opened);
    *planned = (hu_planned){0};
}

/* ---- What a network file leaves unread ---- */

/* Was a key asked for that would change the network? */
static bool asks_for(const hu_config *config, const hu_train_options *options, int size) {
    char key[32];
    if (size == HU_SIZES) return hu_config_asked(config, "model.width") && options->width != 1.0;
    snprintf(key, sizeof key, "model.%s", hu_size_keys[size]);
    return hu_config_asked(config, key) && options->sizes.chosen[size] != 0;
}

hu_status hu_network_tell(const hu_config *config, const hu_train_options *options,
                          const hu_dataset *dataset, const hu_graph *graph,
                          const hu_listener *listener) {
    hu_status st = HU_OK;
    unsigned named;
    bool asks = false;
    if (!options->network) return HU_OK;
    if (hu_network_unused(graph))
        hu_listener_tell(listener, "note: %s: nothing reads node '%s'", options->model,
                         hu_network_unused(graph));
    for (int s = 0; s <= HU_SIZES; s++) asks |= asks_for(config, options, s);
    if (!asks) return HU_OK;
    HU_TRY(hu_train_named_sizes(options, dataset, &named));
    for (int s = 0; s <= HU_SIZES; s++) {
        const char *name = s == HU_SIZES ? "width" : hu_size_keys[s];
        if (asks_for(config, options, s) && !(named >> s & 1u))
            hu_listener_tell(listener, "note: model.%s has no effect: no number of %s names %s",
                             name, options->model, name);
    }
done:
    return st;
}
