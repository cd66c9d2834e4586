/* graph.json of a run folder: graphs that tell names, shapes and connections. What is accepted is
 * walked through, and written and read again as the same graph. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "graph/tensor_order.h"
#include "render/json.h"
#include "runlog/graph_json.h"
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
    hu_tensor_order walk;
    for (uint32_t v = 0; v < graph->value_count; v++) FUZZ_CHECK(graph->value[v].name[0] != '\0');
    if (FUZZ_DONE(hu_tensor_order_create(graph, 0, &walk))) hu_tensor_order_free(&walk);
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

/* Two branches of x with a loss each. */
static const char branches[] =
    "'values':[{'name':'x','role':'input','shape':[4]},{'name':'y','role':'target','shape':[]},"
    "{'name':'a.weight','role':'parameter','shape':[2,4]},"
    "{'name':'a','role':'activation','shape':[2]},{'name':'b','role':'activation','shape':[4]},"
    "{'name':'l','role':'activation','shape':[]},{'name':'m','role':'activation','shape':[]}],"
    "'nodes':[{'name':'a','op':'linear','inputs':['x'],'parameters':['a.weight'],'outputs':['a']},"
    "{'name':'b','op':'tanh','inputs':['x'],'parameters':[],'outputs':['b']},"
    "{'name':'l','op':'nll','inputs':['a','y'],'parameters':[],'outputs':['l']},"
    "{'name':'m','op':'nll','inputs':['b','y'],'parameters':[],'outputs':['m']}]";

static const char head[] = "{'task':{'name':'classify','loss':'nll','metrics':[{'name':'accuracy',"
                           "'better':'higher'}]},'inputs':['x'],'targets':['y'],";

/* The quotes of JSON are single ones here. */
static void put_text(const char *text, hu_byte_writer *seed) {
    for (; *text; text++) {
        uint8_t c = (uint8_t)(*text == '\'' ? '"' : *text);
        FUZZ_CHECK(hu_write_u8(seed, c) == HU_OK);
    }
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const examples[][3] = {
        {head, "'losses':['l'],", branches},
        {head,
         "'losses':['l','m'],'passes':['training','all'],"
         "'loops':[{'first':1,'last':1,'steps':3}],",
         branches},
        {head, "'losses':[],'turns':[{'name':'a','losses':['l']},{'name':'b','losses':['m']}],",
         branches},
        {"{'losses':['x'],'values':[{'name':'x','role':'ids',", "'shape':[1,2,3,4,5,6,7,8,9]}]",
         ""}};
    if (index >= sizeof examples / sizeof *examples) return false;
    for (int i = 0; i < 3; i++) put_text(examples[index][i], seed);
    put_text("}", seed);
    return true;
}
