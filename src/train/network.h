/* train/network.h - the network that options and data ask for. */
#ifndef HU_TRAIN_NETWORK_H
#define HU_TRAIN_NETWORK_H
#include "graph/graph.h"
#include "train/options.h"

/* Builds the network of the options for a data set; choice says what is learned. HU_ERR_UNKNOWN,
 * HU_ERR_ARGUMENT, HU_ERR_SHAPE as hu_model_choose and hu_model_build. Owner frees with
 * hu_graph_free. */
hu_status hu_train_network(const hu_train_options *options, const hu_dataset *dataset,
                           hu_task_choice *choice, hu_graph **graph);

#endif
