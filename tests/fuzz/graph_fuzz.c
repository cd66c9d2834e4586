/* graph.json of a run folder: graphs that tell names, shapes and connections. What is accepted is
 * walked through, and written and read again as the same graph. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "graph/walk.h"
#include "journal/graph.h"
#include "show/json.h"
#include "task/loss.h"
#include "task/task.h"

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

/* A task, inputs, targets, and two branches of x with a loss each. */
#define TASK(metric)                                                                               \
    "{\"task\":{\"name\":\"classify\",\"loss\":\"nll\",\"metrics\":[{\"name\":\"" metric           \
    "\",\"better\":\"higher\"}]},\"inputs\":[\"x\"],\"targets\":[\"y\"],"
#define VALUE(name, role, shape)                                                                   \
    "{\"name\":\"" name "\",\"role\":\"" role "\",\"shape\":[" shape "]}"
#define NODE(name, op, inputs, parameters, output)                                                 \
    "{\"name\":\"" name "\",\"op\":\"" op "\",\"inputs\":[" inputs "],\"parameters\":[" parameters \
    "],\"outputs\":[\"" output "\"]}"
#define BRANCHES                                                                                                                      \
    "\"values\":[" VALUE("x", "input", "4") "," VALUE("y", "target", "") "," VALUE("a.weight", "parameter", "2,4") "," VALUE(         \
        "a", "activation",                                                                                                            \
        "2") "," VALUE("b", "activation",                                                                                             \
                       "4") "," VALUE("l", "activation",                                                                              \
                                      "") "," VALUE("m", "activation",                                                                \
                                                    "") "],\"nodes\":[" NODE("a", "linear",                                           \
                                                                             "\"x\"",                                                 \
                                                                             "\"a.weight\"",                                          \
                                                                             "a") "," NODE("b",                                       \
                                                                                           "tanh",                                    \
                                                                                           "\"x"                                      \
                                                                                           "\"",                                      \
                                                                                           "",                                        \
                                                                                           "b") "," NODE("l",                         \
                                                                                                         "nll",                       \
                                                                                                         "\"a\",\"y\"",               \
                                                                                                         "",                          \
                                                                                                         "l") "," NODE("m",           \
                                                                                                                       "nll",         \
                                                                                                                       "\"b\",\"y\"", \
                                                                                                                       "",            \
                                                                                                                       "m") "]"

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const examples[] = {
        TASK("accuracy") "\"losses\":[\"l\"]," BRANCHES "}",
        TASK("accuracy") "\"losses\":[\"l\",\"m\"],\"passes\":[\"training\",\"all\"]," BRANCHES
                         ",\"loops\":[{\"first\":1,\"last\":1,\"steps\":3}]}",
        TASK("error") "\"losses\":[]," BRANCHES ",\"turns\":[{\"name\":\"a\",\"losses\":[\"l\"]},"
                      "{\"name\":\"b\",\"losses\":[\"m\"]}]}",
        "{\"losses\":[\"x\"],\"values\":[" VALUE("x", "ids", "1,2,3,4,5,6,7,8,9") "]}"};
    if (index >= sizeof examples / sizeof *examples) return false;
    return fuzz_text_seed(examples[index], seed);
}
