/* report/plan_table.h - the rows of `plan`: what each node of a planned run computes, in which
 * formats. */
#ifndef HU_REPORT_PLAN_TABLE_H
#define HU_REPORT_PLAN_TABLE_H
#include "engine/run.h"
#include "render/json.h"
#include "render/table.h"

/* Array of the nodes but views: name, op, output shape, parameters, macs of one sample, formats,
 * what becomes of the output, and who computes it where oneDNN does. New reference. */
json_t *hu_plan_layers_json(const hu_run *run);

/* Of models whose networks learn in turns: name, parameters and macs of each, applied once. New
 * reference; NULL of other models. */
json_t *hu_plan_networks_json(const hu_graph *graph);

/* The same as rows of a new table, with starred short names of formats; owner frees with
 * hu_table_free. */
hu_status hu_plan_layers_table(const hu_run *run, hu_table **table);

/* "products: Winograd's algorithm in 18 of 22 layers ..."; "" where it computes nothing, unless the
 * run was to take it where it may (asked). */
enum { HU_PLAN_PRODUCTS_BYTES = 256 };
const char *hu_plan_products_words(const hu_run *run, bool asked,
                                   char text[HU_PLAN_PRODUCTS_BYTES]);

/* The full names behind the stars, a line each. */
void hu_plan_format_notes(const hu_run *run, char *notes, size_t capacity);

#endif
