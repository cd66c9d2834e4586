#include "explain/opened.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/config.h"
#include "journal/graph.h"
#include "journal/history_walk.h"

/* Only advice needs it: without it the story can be told. */
static hu_status read_config(hu_opened_run *run) {
    char *path = NULL;
    hu_status st = hu_path_join(run->folder, "config.resolved.yaml", &path);
    if (st == HU_OK) st = hu_yaml_read(path, &run->config);
    if (st != HU_OK) run->config = NULL;
    hu_free(path);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

hu_status hu_opened_run_read(const char *folder, const char *formats, hu_opened_run *run) {
    hu_status st = HU_OK;
    *run = (hu_opened_run){.folder = folder};
    HU_TRY(hu_history_read_bounded(folder, &run->history));
    HU_TRY(hu_graph_read(folder, &run->graph));
    HU_TRY(hu_candidates_parse(formats, &run->candidates));
    HU_TRY(hu_history_walk(run->history, run->graph, &run->walk));
    HU_TRY(read_config(run));
    HU_TRY(hu_adders_read(run->config, &run->walk, &run->adders));
done:
    return st;
}

void hu_opened_run_close(hu_opened_run *run) {
    hu_adders_free(&run->adders);
    hu_walk_free(&run->walk);
    hu_keys_free(run->config);
    hu_graph_free(run->graph);
    hu_history_free(run->history);
    *run = (hu_opened_run){0};
}
