/* train/prepare.h - a network made ready to be trained: loss, head, masters. */
#ifndef HU_TRAIN_PREPARE_H
#define HU_TRAIN_PREPARE_H
#include "graph/graph.h"
#include "train/inner.h"
#include "train/options.h"

/* ---- The network that options and data ask for ---- */

/* Builds the network of the options for a data set; choice says what is learned. HU_ERR_UNKNOWN,
 * HU_ERR_ARGUMENT, HU_ERR_SHAPE as hu_model_choose and hu_model_build. Owner frees with
 * hu_graph_free. */
hu_status hu_train_network(const hu_train_options *options, const hu_dataset *dataset,
                           hu_task_choice *choice, hu_graph **graph);

/* The graph of the model, and the loaders of the data's two halves. */
hu_status hu_prepare_graph(hu_trainer *trainer);
hu_status hu_prepare_loaders(hu_trainer *trainer);

/* Edge table, the optimizer's formats in it, and run with its initial weights. The parameters must
 * be listed. */
hu_status hu_prepare_run(hu_trainer *trainer);

/* Writes the precision into the edges. */
hu_status hu_write_edges(hu_trainer *trainer);

/* Makes what passes of every size that will occur need, so that steps allocate nothing. */
hu_status hu_reserve_sizes(hu_trainer *trainer);

#endif
