/* model/least.h - the smallest picture that a network takes, said where one was too small. */
#ifndef HU_MODEL_LEAST_H
#define HU_MODEL_LEAST_H
#include "graph/graph.h"
#include "model/options.h"

/* A row of the table of models has one. */
typedef hu_status hu_model_builder(const hu_model_options *options, hu_graph *graph);

/* Behind HU_ERR_SHAPE of a model's builder: tries squares of other sizes. Where the picture has
 * fewer pixels along a side than the least that the model takes (or another side than the only
 * one, of models that make pictures of one size; 0: any), the message begins with what was found
 * and expected. */
hu_status hu_model_say_least(const hu_model_options *options, hu_model_builder *build,
                             int64_t only);

#endif
