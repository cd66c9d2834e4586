/* diagnose/tensor_table.h - what became of many tensors of a run over all its steps, a line each.
 */
#ifndef HU_EXPLAIN_TENSOR_TABLE_H
#define HU_EXPLAIN_TENSOR_TABLE_H
#include "diagnose/run_record.h"
#include "render/json.h"
#include "render/table.h"

typedef struct hu_tensor_table_row {
    const char *name, *format; /* the latest format. Borrowed: from the history */
    hu_round_counts counts;    /* of all records */
} hu_tensor_table_row;

/* Tensors that were counted and that the glob names, in the order in which a step makes them. Owner
 * frees *tensor with hu_free. HU_ERR_UNKNOWN: there is none. */
hu_status hu_tensor_table_create(const hu_run_record *run, const char *glob,
                                 hu_tensor_table_row **tensor, uint32_t *count);

/* A row each: shares that became zero, that overflowed (infinity, or the largest number), NaN, and
 * exponents. Owner frees. */
hu_status hu_tensor_table_table(const hu_tensor_table_row *tensor, uint32_t count,
                                hu_table **table);

/* The same as a list of objects; NULL if out of memory. New reference. */
json_t *hu_tensor_table_json(const hu_tensor_table_row *tensor, uint32_t count);

#endif
