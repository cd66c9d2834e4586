/* runlog/plan_json.h - what a precision makes of the groups of tensors: plan, plan.json of a run.
 */
#ifndef HU_JOURNAL_PLAN_JSON_H
#define HU_JOURNAL_PLAN_JSON_H
#include "planner/planner.h"
#include "precision/precision.h"
#include "precision/tensor_groups.h"
#include "render/json.h"
#include "render/table.h"

/* {"tensor_elements", "low_precision_ratio", "model_aggregate_bits", "groups": [{"id", "elements",
 * "share", "precision": "low" | "high" | "mixed" | "float32", "bits", "tensors": [names]}]} in
 * execution order; gradients of parameters do not count in "precision". New reference, NULL if out
 * of memory. */
json_t *hu_plan_json(const hu_graph *graph, const hu_edge_table *edges, int64_t batch);

/* [{"epoch", "step", "precision"}] of a precision by epoch, in order; one entry without. New
 * reference, NULL if out of memory. */
json_t *hu_plan_phases_json(const hu_precision *precision, int64_t steps_per_epoch);

/* The groups as a table; owner frees with hu_table_free. */
hu_status hu_plan_groups_table(const hu_graph *graph, const hu_edge_table *edges, int64_t batch,
                               hu_table **table);

/* Bytes of memory by role. New reference, NULL if out of memory. */
json_t *hu_ledger_json(const hu_ledger *ledger);

#endif
