/* report/tensor_curve.h - what rounding did to some tensors of a run over its steps. */
#ifndef HU_REPORT_TENSOR_CURVE_H
#define HU_REPORT_TENSOR_CURVE_H
#include "render/json.h"
#include "runlog/history.h"

/* The tensors of a run whose names match a pattern. */
typedef struct hu_tensor_curve {
    hu_history *history;
    const char *folder, *pattern; /* borrowed */
    uint32_t *tensor;             /* [count] of history->tensors */
    uint32_t count;
} hu_tensor_curve;

/* pattern: a tensor's name, or a glob (* and ?). HU_ERR_UNKNOWN with the nearest names where none
 * matches; other errors as hu_history_read_some. Owner frees with hu_tensor_curve_free, also on
 * failure. */
hu_status hu_tensor_curve_read(const char *folder, const char *pattern, hu_tensor_curve *curve);
void hu_tensor_curve_free(hu_tensor_curve *curve);

/* A row for each tensor and row of numerics.jsonl: format, step, steps, elements, counts and shares
 * of what was subnormal, became zero or overflowed, the largest shares of a single step. As CSV;
 * owner frees *text. As {"run", "pattern", "rows": [...]}; NULL if out of memory. */
hu_status hu_tensor_curve_csv(const hu_tensor_curve *curve, char **text);
json_t *hu_tensor_curve_json(const hu_tensor_curve *curve);

/* Writes the file that the ending says: .csv, .json, .svg, .pdf or .png. Pictures are those of what
 * is present: subnormal numbers, underflow, overflow. HU_ERR_ARGUMENT for another ending, and for a
 * picture of more tensors than have colours. Source: Popescu et al., figure 2. */
hu_status hu_tensor_curve_write(const hu_tensor_curve *curve, const char *path);

#endif
