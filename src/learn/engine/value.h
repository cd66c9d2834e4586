/* engine/value.h - forward values in a visit: read from storage, or made by a lazy node. */
#ifndef HU_ENGINE_VALUE_H
#define HU_ENGINE_VALUE_H
#include "engine/chunk.h"

/* The rounded rows of a forward value. Borrowed: valid during the visit. */
const float *hu_chunk_value(hu_chunk *visit, hu_value_id v);

/* Input i of node n: the value, or a copy that is rounded for this use. is_counted: the rounding is
 * counted here, where the node makes its output first. Borrowed: valid during the visit. */
const float *hu_chunk_input(hu_chunk *visit, uint32_t n, int i, bool is_counted);

/* Input i as a node's backward part sees it: NULL if it is not saved. */
const float *hu_chunk_saved(hu_chunk *visit, uint32_t n, int i);

/* Room for the rows of a value that is loaded or made by the region's own node; then their rounding
 * and storing. */
float *hu_chunk_room(hu_chunk *visit, hu_value_id v);
void hu_chunk_store(hu_chunk *visit, hu_value_id v, float *x);

#endif
