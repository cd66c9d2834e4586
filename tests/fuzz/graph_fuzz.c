/* graph.json of a run folder: graphs that tell names, shapes and connections. What is accepted is
 * walked through, and written and read again as the same graph. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "graph/walk.h"
#include "journal/graph.h"
#include "show/json.h"

/* What the tests of models share ends a test of cmocka where a model cannot be made. */
#define fail_msg(...) fuzz_fail(__FILE__, __LINE__, "a model")
#include "../unit/model_of.h"

static hu_graph *read_graph(void) {
    hu_graph *graph;
    hu_status st = hu_graph_read(fuzz_folder(), &graph);
    FUZZ_CHECK((st == HU_OK) == (graph != NULL));
    FUZZ_CHECK(graph || st == HU_ERR_CORRUPT || st == HU_ERR_VERSION || fuzz_was_fault(st));
    FUZZ_CHECK(graph || hu_last_error()[0] != '\0');
    return graph;
}

static char *line_of(const hu_graph *graph) {
    char *line = NULL;
    (void)FUZZ_DONE(hu_json_line(hu_graph_json(graph, &hu_task_classify, &hu_loss_nll), &line));
    return line;
}

static void check_graph(const hu_graph *graph) {
    hu_walk walk;
    for (uint32_t v = 0; v < graph->value_count; v++) FUZZ_CHECK(graph->value[v].name[0] != '\0');
    if (FUZZ_DONE(hu_walk_create(graph, 0, &walk))) hu_walk_free(&walk);
}

void fuzz_one(const uint8_t *data, size_t size) {
    const hu_metric *metric;
    fuzz_put("graph.json", data, size);
    hu_status st = hu_graph_metric(fuzz_folder(), &metric);
    FUZZ_CHECK(st == HU_OK || st == HU_ERR_CORRUPT || st == HU_ERR_VERSION || fuzz_was_fault(st));
    hu_graph *graph = read_graph(), *again;
    if (!graph) return;
    check_graph(graph);
    char *line = line_of(graph);
    if (line) {
        fuzz_put("graph.json", line, strlen(line));
        again = read_graph();
        char *second = again ? line_of(again) : NULL;
        FUZZ_CHECK(!second || strcmp(line, second) == 0);
        hu_free(second);
        hu_graph_free(again);
    }
    hu_free(line);
    hu_graph_free(graph);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const names[] = {"pan-s"};
    const hu_model *model;
    if (index >= sizeof names / sizeof *names) return false;
    FUZZ_CHECK(hu_model_find(names[index], &model) == HU_OK);
    hu_shape image = image_for(model);
    hu_graph *graph = model_of(names[index], 0.5, &image, 7);
    char *line = line_of(graph);
    FUZZ_CHECK(hu_write_bytes(seed, line, strlen(line)) == HU_OK);
    hu_free(line);
    hu_graph_free(graph);
    return true;
}
