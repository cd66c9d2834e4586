/* precision/edge_writer.h - which tensor gets which format: rounding schemes, assignments and
 * rules, written into the edge table. */
#ifndef HU_PRECISION_EDGE_WRITER_H
#define HU_PRECISION_EDGE_WRITER_H
#include "precision/names.h"
#include "precision/precision_epochs.h"
#include "precision/tensor_groups.h"

/* Writes the precision into the edge table, over what it held. batch: samples of a step, by which
 * assignments weigh activations against parameters. signals: loss scaling is on, so that backward
 * formats that saturate tell of an overflow by an infinity (Lee et al., released code). A rule that
 * matches nothing: HU_ERR_UNKNOWN with the three nearest tensor names; a memory budget that no
 * choice meets: HU_ERR_ARGUMENT with the least. Of a precision by epoch: the first phase. */
hu_status hu_precision_write(const hu_precision *precision, const hu_graph *graph, int64_t batch,
                             bool signals, hu_edge_table *edges);

/* Whether any forward tensor of the table is narrower than its high candidate, so that promotion
 * can ever act on it. */
bool hu_precision_can_promote(const hu_precision *precision, const hu_graph *graph,
                              const hu_edge_table *edges);

/* Whether a format has float32's exponents, subnormal numbers, and at least 16 bits: bf16, tf32. */
bool hu_format_keeps_range(const hu_format *format);

/* Whether all numbers keep float32's range and at least 16 bits in all steps: nothing is rounded,
 * or to formats that do (hu_format_keeps_range) without scales, and no accumulator is chosen. Then
 * nobody asks whether a number of the size of another's rounding error is zero, and products=auto
 * may take Winograd's algorithm. State of the optimizer must stand in the table already; what
 * travels between workers is not looked at (hu_wire_formats_keep_range). */
bool hu_precision_keeps_range(const hu_precision *precision, const hu_edge_table *edges);

/* Whether the scheme, of any phase, rounds a product before its bias: the graph then has biases as
 * nodes of their own (model/split.h). */
bool hu_precision_splits_bias(const hu_precision *precision);

#endif
