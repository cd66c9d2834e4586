/* train/prepare.h - what a trainer needs before its first step: graph, edges, run, loaders. */
#ifndef HU_TRAIN_PREPARE_H
#define HU_TRAIN_PREPARE_H
#include "train/inner.h"

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
