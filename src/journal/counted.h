/* journal/counted.h - what only some steps count: the lists "products" and "updates" of a row
 * (docs/run-folder.md). Each is left out where the present step has not counted it. */
#ifndef HU_JOURNAL_COUNTED_H
#define HU_JOURNAL_COUNTED_H
#include "base/text_file.h"
#include "graph/edge.h"

/* Products with a chosen accumulator. */
void hu_counted_products_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges);

/* Marks those whose sums are in trouble in the present step: failed [node_count][HU_PRODUCT_ROLES].
 * Gives whether there is a new one. */
bool hu_counted_products_trouble(const hu_edge_table *edges, uint8_t *failed);

/* What became of the updates of parameters. */
void hu_counted_updates_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges);

#endif
