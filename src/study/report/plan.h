/* report/plan.h - what `plan` prints and writes as JSON. */
#ifndef HU_REPORT_PLAN_H
#define HU_REPORT_PLAN_H
#include <stdint.h>

#include <halfulp/status.h>

#include "comm/cost_model.h"
#include "engine/run.h"
#include "precision/bits.h"
#include "render/json.h"
#include "render/table.h"

/* ---- What each node of a planned run computes, in which formats ---- */

/* What becomes of outputs, in words that a table is followed by. */
#define HU_PLAN_PLACES                                                                             \
    "output is saved: stored for the backward pass; transient: stored, but dead before it; "       \
    "recomputed: not stored, its\nreaders compute it anew; fused: not stored, computed inside "    \
    "its reader's loop. waits: its scale needs the maximum of the\nwhole tensor first, so that "   \
    "the tensor stands in float32 between two loops."

/* The same of the two columns that a network of unit scaling has. */
#define HU_PLAN_FACTORS                                                                            \
    "factor: what the output is multiplied by; times: so many times the gradient of the loss by "  \
    "the output is held"

/* Array of the nodes but views: name, op, output shape, parameters, macs of one sample, formats,
 * what becomes of the output, and who computes it where oneDNN does; of a network of unit scaling
 * its factors. New reference. */
json_t *hu_plan_layers_json(const hu_run *run);

/* What products of a planned run multiply, where that is rounded for a product alone (recipes,
 * operand.rules): a row for each operand and format, with the layers that have it, first and last;
 * *table NULL where nothing is. Owner frees with hu_table_free. */
hu_status hu_plan_operands_table(const hu_run *run, hu_table **table);

/* Of one node: {"forward.x": "mxfp8:scale=rceil", ...}, what is rounded; NULL: nothing. New
 * reference. Proof of both: tests/program/operands_test.py. */
json_t *hu_plan_operands_json(const hu_run *run, uint32_t node);

/* What a table of operands is followed by. */
#define HU_PLAN_OPERANDS                                                                           \
    "operands: what products multiply, rounded for each product alone; the tensors above stay "    \
    "as they are"

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

/* The full names after the stars, a line each; of gradients if these are told, too. */
void hu_plan_format_notes(const hu_run *run, bool gradients, char *notes, size_t capacity);

/* ---- A network: its layers with the bytes of their tensors ---- */

/* The layers of a planned run with what it loads in front of them, as a new table: output and
 * parameters with their formats and bytes, and the bytes that wait for the backward pass; owner
 * frees with hu_table_free. */
hu_status hu_network_table(const hu_run *run, hu_table **table);

/* The rows of hu_plan_layers_json with "output_bytes", "weight_bytes" and "saved_bytes", and those
 * of what is loaded: name, output, output_bytes and saved_bytes. New references. */
json_t *hu_network_layers_json(const hu_run *run);
json_t *hu_network_inputs_json(const hu_run *run);

/* The network from top to bottom as an SVG file: a box for each node with its operation, the shape
 * of its output and its name, and lines to those that read it. Parts "P.0.*", "P.1.*", ... that
 * are alike stand once, in a frame that says how often; boxes of loops have dashed edges and their
 * steps. title: its first line. Owner frees *svg with hu_free. HU_ERR_LIMIT as hu_layout_place. */
hu_status hu_network_draw(const hu_graph *graph, const char *title, char **svg);

/* Bytes of all parameters as products read them. */
uint64_t hu_network_weight_bytes(const hu_run *run);

/* ---- Memory: the ledger, packed and in float32 ---- */

/* Both are ledgers {role: bytes} of one training (hu_ledger_json), in one order of roles. storage:
 * that of the first, "packed" or "dense". Gives {role: {"packed": bytes, "float32": bytes}}. New
 * reference. */
json_t *hu_plan_memory_json(const json_t *packed, const json_t *plain, const char *storage);

/* The same as a table in MiB, what its words mean, and why that storage needs more, where it
 * does. */
hu_status hu_plan_memory_print(json_t *packed, const json_t *plain, const char *storage);

/* ---- What a training with a schedule of bits costs ---- */

/* What is told. All is borrowed for the call. */
typedef struct hu_bits_page {
    const char *model, *precision;
    double width;
    const int64_t *image; /* [3] */
    int64_t classes;      /* 0: the task has none */
    const hu_graph *graph;
    const hu_bits_task *task;
    const hu_forecast *forecast;
} hu_bits_page;

/* Prints the layers of the dearest case, then the costs of all cases, beside static 8 bits. */
hu_status hu_bits_print(const hu_bits_page *page);

/* The same with the layers of all cases; costs in their units, not in millions. New reference. */
json_t *hu_bits_json(const hu_bits_page *page);

/* ---- Predicted times on a network ---- */

/* What was asked, for the head of the page. Texts are borrowed. */
typedef struct hu_advice_head {
    const char *model;
    const int64_t *image; /* [height, width, channels] */
    int64_t classes;      /* 0: the task has none */
    bool is_assumed;      /* nobody said what images and classes */
    int64_t parameters;
    const hu_comm_question *question;
} hu_advice_head;

/* Prints milliseconds by schedule and fusion (rows) and format (columns), what a worker holds and
 * sends, and what follows: which formats lose every number, and whether compression pays. */
hu_status hu_advice_print(const hu_advice_head *head, const hu_comm_advice *advice);

/* {"rows": [...], "verdict": ..., "pays": ..., ...}. New reference, NULL if out of memory. */
json_t *hu_advice_json(const hu_advice_head *head, const hu_comm_advice *advice);

/* ---- Words ---- */

/* "32x32x3 images, 10 classes"; of 0 classes nothing is said. image: [height, width, channels]. */
enum { HU_IMAGES_TEXT_BYTES = 128 };
const char *hu_images_text(const int64_t *image, int64_t classes, char text[HU_IMAGES_TEXT_BYTES]);

#endif
