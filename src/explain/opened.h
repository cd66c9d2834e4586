/* explain/opened.h - a run folder opened to be explained: its records, its graph, the formats that
 * are tried on its histograms. */
#ifndef HU_EXPLAIN_OPENED_H
#define HU_EXPLAIN_OPENED_H
#include "base/keys.h"
#include "explain/adders.h"
#include "explain/candidates.h"
#include "graph/tensor_order.h"
#include "journal/history.h"

typedef struct hu_opened_run {
    const char *folder; /* borrowed */
    hu_history *history;
    hu_graph *graph;
    hu_walk walk;
    hu_candidates candidates;
    hu_adders adders; /* of the configuration: none where it cannot be read */
    hu_keys *config;  /* resolved; NULL: the folder has none that can be read */
} hu_opened_run;

/* Reads the folder. formats: as for hu_candidates_parse. Errors of hu_history_read_bounded,
 * hu_graph_read and hu_candidates_parse. Owner closes, after a failure too. */
hu_status hu_opened_run_read(const char *folder, const char *formats, hu_opened_run *run);
void hu_opened_run_close(hu_opened_run *run);

#endif
