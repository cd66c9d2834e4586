#include "session/saved_graph.h"

#include "base/error.h"
#include "model/model.h"
#include "session/assumed.h"
#include "session/saved_run.h"

hu_status hu_saved_graph_open(hu_config *config, const char *directory, hu_graph **graph) {
    hu_status st = HU_OK;
    hu_model_options model = {0};
    *graph = NULL;
    HU_TRY(hu_saved_run_merge(config, directory));
    HU_TRY(hu_config_text(config, "model.name", &model.name));
    HU_TRY(hu_config_f64(config, "model.width", &model.width));
    hu_dataset data = hu_assumed_dataset(model.name, 1);
    const int64_t *image = data.field[HU_FIELD_IMAGE].extent;
    model.image = (hu_shape){3, {image[0], image[1], image[2]}};
    model.classes = data.field[HU_FIELD_LABEL].classes;
    HU_TRY(hu_model_build(&model, graph));
done:
    return st;
}
