/* runlog/trouble.h - how many tensors and sums of a training are in trouble: one measure for what
 * the training says while it runs and at its end, for `why` and for the report.
 *
 * A tensor is if it lost half of its nonzero numbers or more to rounding in some step, or if it was
 * all zero and is made of one that is. Parameters of one dimension and their gradients are left
 * out: such numbers are small enough to vanish without harm. Sums of a product are if in some
 * counted step that was done 1 % of them were beyond their accumulator, half became zero in one
 * that flushes, or 90 % of their terms changed nothing. Proof:
 * tests/program/why_sums_test.py, output_test.py.
 */
#ifndef HU_JOURNAL_TROUBLE_H
#define HU_JOURNAL_TROUBLE_H
#include <halfulp/gemm.h>

#include "base/text_file.h"
#include "graph/edge.h"
#include "graph/tensor_order.h"
#include "runlog/events.h"

typedef struct hu_trouble {
    uint32_t lost; /* tensors that lost half of their nonzero numbers or more */
    uint32_t gone; /* others that got nothing but zeros, from such */
    uint32_t sums; /* products whose sums were beyond, below or too large for their accumulator */
} hu_trouble;

/* True for parameters of one dimension: such numbers may vanish without harm. */
bool hu_parameter_is_vector(const hu_value_info *value);

/* The same of them and of their gradients, wherever they are. */
bool hu_tensor_is_vector(const hu_graph *graph, hu_tensor tensor);

/* Tensors of a walk. befallen: [walk->count], what has ever befallen each, bits 1 << event; marked:
 * [walk->count], overwritten: which are in trouble. */
void hu_trouble_of_tensors(const hu_tensor_order *walk, const uint16_t *befallen, bool *marked,
                           hu_trouble *trouble);

/* Largest shares of one counted step: of sums that were beyond the largest finite number, of those
 * that were subnormal, of terms that changed nothing. */
bool hu_sums_are_in_trouble(const hu_accumulator *accumulator, double beyond, double subnormal,
                            double stalled);

/* Whether there is any. */
bool hu_is_in_trouble(const hu_trouble *trouble);

/* "1 tensor lost half of its nonzero numbers or more, 14 behind it are all zero; sums of 2 products
 * overflowed, vanished or stopped growing in their accumulators": the predicate of a sentence; ""
 * where there is none. Gives text. */
enum { HU_TROUBLE_BYTES = 256 };
const char *hu_trouble_words(const hu_trouble *trouble, char text[HU_TROUBLE_BYTES]);

/* ---- counted ---- */

/* What only some steps count: the lists "products" and "updates" of a row
 * (docs/reference/run-folder.md). Each is left out where the present step has not counted it. */

/* Products with a chosen accumulator. */
void hu_product_counts_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges);

/* Marks those whose sums are in trouble in the present step: failed [node_count][HU_PRODUCT_ROLES].
 * Gives whether there is a new one. */
bool hu_product_counts_trouble(const hu_edge_table *edges, uint8_t *failed);

/* What became of the updates of parameters. */
void hu_update_counts_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges);

#endif
