/* precision/resolved_plan.h - a plan by tensor names: the edge table as text, and back.
 *
 * A resolved plan says of every tensor that has a rounding point how it is rounded, so that it
 * needs neither the scheme nor the assignment that chose so, and holds for every model whose
 * tensors have these names. docs/reference/plan.schema.json describes the file;
 * src/study/config/plan_file.c turns one into keys.
 */
#ifndef HU_PRECISION_RESOLVED_PLAN_H
#define HU_PRECISION_RESOLVED_PLAN_H
#include "base/keys.h"
#include "graph/edge.h"
#include "precision/names.h"

enum { HU_RESOLVED_VERSION = 1 };

/* Adds "NAME: value F; use F; grad F; sum F; weights F", each part once at most, but for use and
 * grad: once, or once for each use. F is FORMAT [MODE] as hu_quantizer_parse takes it. origin
 * (copied) is where the text was read, and stands in errors. On failure the tensors stay as they
 * were; HU_ERR_PARSE, and the errors of hu_quantizer_parse, name the tensor. */
hu_status hu_precision_add_tensor(hu_precision *precision, const char *text, const char *origin);

/* "8", or "8, 8, 16, 8" by role: the bits up to which a tensor counts as low precision.
 * HU_ERR_PARSE.
 */
hu_status hu_low_bits_parse(const char *text, uint32_t bits[HU_ROLE_COUNT]);

/* Writes the tensors into a table in which nothing is rounded. HU_ERR_UNKNOWN lists the first names
 * that the graph does not have, each with its origin and the nearest ones, and says how many there
 * are. */
hu_status hu_resolved_apply(const hu_precision *precision, const hu_graph *graph,
                            hu_edge_table *edges);

/* XXH64 over the names of all values, each with its final zero. */
uint64_t hu_resolved_names_hash(const hu_graph *graph);

/* What a plan says beside the table. */
typedef struct hu_plan_facts {
    const char *model;
    double width;
    const hu_precision *precision; /* whose scheme, promotion and name are written */
    bool keep_masters, eval_masters;
    const hu_keys *scaler; /* map of the keys scaler.*, copied */
    int64_t step;          /* steps done when the plan was written */
} hu_plan_facts;

/* The table as the key tree of a plan file. Owner frees with hu_keys_free. */
hu_status hu_resolved_tree(const hu_plan_facts *facts, const hu_graph *graph,
                           const hu_edge_table *edges, hu_keys **tree);

#endif
