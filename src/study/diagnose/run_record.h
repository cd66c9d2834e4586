/* diagnose/run_record.h - a run folder opened to be explained: its records, and formats to try. */
#ifndef HU_DIAGNOSE_RUN_RECORD_H
#define HU_DIAGNOSE_RUN_RECORD_H
#include <halfulp/format.h>
#include <halfulp/gemm.h>

#include "base/keys.h"
#include "graph/tensor_order.h"
#include "precision/rules.h"
#include "render/json.h"
#include "render/table.h"
#include "runlog/history.h"

/* ---- The accumulators of a run's products, as its configuration says ---- */

enum { HU_ADDER_BYTES = 96 };

/* A product with an accumulator of its own. */
typedef struct hu_adder {
    hu_made_by product;
    hu_accumulator accumulator;
    char name[HU_TENSOR_NAME_BYTES]; /* "conv1.forward" */
    char text[HU_ADDER_BYTES];       /* "fmac8:1/6/9" */
} hu_adder;

typedef struct hu_adders {
    hu_adder *adder; /* [count] */
    uint32_t count;
} hu_adders;

/* Borrowed: from adders. NULL: none makes the tensor with an accumulator of its own. Of several the
 * first. */
const hu_adder *hu_adder_named(const hu_adders *adders, const char *product);

/* Whether its sums may become infinite or NaN, though they would not in float32; and whether they
 * may become or stay zero. */
bool hu_adder_may_exceed(const hu_accumulator *accumulator);
bool hu_adder_may_vanish(const hu_accumulator *accumulator);

/* ---- The formats that stats and why try on the histograms of a run ---- */

enum { HU_CANDIDATES_MOST = 32, HU_CANDIDATE_BYTES = 80 };

typedef struct hu_candidates {
    char name[HU_CANDIDATES_MOST][HU_CANDIDATE_BYTES]; /* as they were given */
    hu_format format[HU_CANDIDATES_MOST];
    int count;
} hu_candidates;

/* ---- opened ---- */

/* A run folder opened to be explained: its records, its graph, the formats that
 * are tried on its histograms. */

typedef struct hu_run_record {
    const char *folder; /* borrowed */
    hu_history *history;
    hu_graph *graph;
    hu_tensor_order walk;
    hu_candidates candidates;
    hu_adders adders; /* of the configuration: none where it cannot be read */
    hu_keys *config;  /* resolved; NULL: the folder has none that can be read */
} hu_run_record;

/* Reads the folder. formats: as for hu_candidates_parse. Errors of hu_history_read_bounded,
 * hu_graph_read and hu_candidates_parse. Owner closes, after a failure too. */
hu_status hu_run_record_read(const char *folder, const char *formats, hu_run_record *run);
void hu_run_record_close(hu_run_record *run);

/* ---- What became of many tensors over all steps, a line each ---- */

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
