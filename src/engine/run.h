/* engine/run.h - a planned run, as others than engine and layout see it. layout/create.h makes it,
 * engine/pass.h runs it. */
#ifndef HU_ENGINE_RUN_H
#define HU_ENGINE_RUN_H
#include "engine/options.h"
#include "graph/edge.h"
#include "graph/weights.h"

typedef struct hu_run hu_run;

/* What the run was made of. Borrowed: valid as long as the run. */
const hu_graph *hu_run_graph(const hu_run *run);
const hu_edge_table *hu_run_edges(const hu_run *run);
const hu_weights *hu_run_weights(const hu_run *run);

/* The options of the latest pass. Borrowed: valid until the next pass. */
const hu_pass_options *hu_run_pass(const hu_run *run);

/* True if a format could not encode a number in the latest passes: the step counts as overflowed.
 */
bool hu_run_has_overflowed(const hu_run *run);

/* What the passes of all workers of a step say together, in place of the latest one's: the end of
 * the step and adaptations ask for it. */
void hu_run_set_overflowed(hu_run *run, bool overflowed);

/* Nodes whose outputs the latest forward pass counted completely: the first so many. All, unless a
 * format stopped the pass; then those up to the one that made what the format could not encode. */
uint32_t hu_run_counted_nodes(const hu_run *run);

/* Name of a parameter that its format could not encode when the masters were rounded last, or NULL.
 * Borrowed: valid as long as the graph. */
const char *hu_run_unencodable_parameter(const hu_run *run);

/* The rounded working copy of a parameter; of one that is not rounded, and of running statistics,
 * the weights themselves. scratch: room for its elements. Borrowed: valid until the next rounding.
 */
const float *hu_run_rounded_parameter(const hu_run *run, hu_value_id v, float *scratch);

/* How that copy was rounded: by which quantizer, of kind NONE where it was not, and with which
 * exponent of a scale. */
void hu_run_parameter_rounding(const hu_run *run, hu_value_id v, hu_quantizer *quantizer,
                               int32_t *exponent);

/* The first rows of a value, as the latest forward pass stored them: of a value that the pass still
 * holds, such as the loss node's inputs. scratch: room for rows. Borrowed: valid until the next
 * pass. */
const float *hu_run_value(const hu_run *run, hu_value_id v, int64_t rows, float *scratch);

/* States that go on from pass to pass (engine/carried.h) as float32: numbers of one stream, 0 where
 * there are none, and [streams][numbers] of what the next step begins with. */
int64_t hu_run_carried_numbers(const hu_run *run);
void hu_run_carried(const hu_run *run, float *rows);

/* Takes them over. Streams with a number that is none of the format that it is stored in begin
 * again as zeros: so many. */
int64_t hu_run_restore_carried(hu_run *run, const float *rows);

/* Running ranges of uniform quantizers as bytes of a checkpoint; *bytes = 0: there are none.
 * Borrowed: valid as long as the run. */
void hu_run_ranges(const hu_run *run, const void **data, size_t *bytes);

/* Takes ranges over if they are of the same tensors; else, and for no data (NULL), there are none
 * yet. HU_ERR_CORRUPT: a number is not finite. */
hu_status hu_run_restore_ranges(hu_run *run, const void *data, size_t bytes);

#endif
