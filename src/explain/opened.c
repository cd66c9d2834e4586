#include "explain/opened.h"

#include "base/error.h"
#include "journal/graph.h"

hu_status hu_opened_run_read(const char *folder, const char *formats, hu_opened_run *run) {
    hu_status st = HU_OK;
    *run = (hu_opened_run){.folder = folder};
    HU_TRY(hu_history_read(folder, &run->history));
    HU_TRY(hu_graph_read(folder, &run->graph));
    HU_TRY(hu_candidates_parse(formats, &run->candidates));
    HU_TRY(hu_walk_create(run->graph, &run->walk));
done:
    return st;
}

void hu_opened_run_close(hu_opened_run *run) {
    hu_walk_free(&run->walk);
    hu_graph_free(run->graph);
    hu_history_free(run->history);
    *run = (hu_opened_run){0};
}
