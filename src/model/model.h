/* model/model.h - networks by name. */
#ifndef HU_MODEL_MODEL_H
#define HU_MODEL_MODEL_H
#include "graph/graph.h"
#include "model/options.h"

/* One row of the table of models. */
typedef struct hu_model {
    const char *name;
    const char *help;
    hu_status (*build)(const hu_model_options *options, hu_graph *graph);
} hu_model;

extern const hu_model hu_model_table[];
extern const int hu_model_count;

/* Builds and finishes the graph of a named model with its loss. HU_ERR_UNKNOWN names the nearest
 * models, HU_ERR_ARGUMENT a width or class number that the model cannot have, HU_ERR_SHAPE the
 * layer for which the image is too small or of the wrong rank. */
hu_status hu_model_build(const hu_model_options *options, hu_graph **graph);

#endif
