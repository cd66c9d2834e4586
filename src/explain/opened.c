#include "explain/opened.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/config.h"
#include "journal/graph.h"

/* Whether counts of such tensors are among those of the run. */
static bool has_kind(const hu_history *history, const hu_graph *graph, hu_tensor_kind kind) {
    char name[HU_TENSOR_NAME_BYTES];
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_tensor_name(graph, (hu_tensor){kind, v}, name);
        if (hu_names_find(&history->tensors, name) != HU_NAMES_NONE) return true;
    }
    return false;
}

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
    unsigned more = 0;
    *run = (hu_opened_run){.folder = folder};
    HU_TRY(hu_history_read_bounded(folder, &run->history));
    HU_TRY(hu_graph_read(folder, &run->graph));
    HU_TRY(hu_candidates_parse(formats, &run->candidates));
    if (has_kind(run->history, run->graph, HU_TENSOR_WIRE)) more |= HU_WALK_WIRE;
    if (has_kind(run->history, run->graph, HU_TENSOR_WEIGHTS)) more |= HU_WALK_WEIGHTS;
    if (has_kind(run->history, run->graph, HU_TENSOR_MOMENTUM)) more |= HU_WALK_MOMENTUM;
    if (has_kind(run->history, run->graph, HU_TENSOR_SQUARES)) more |= HU_WALK_SQUARES;
    HU_TRY(hu_walk_create(run->graph, more, &run->walk));
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
