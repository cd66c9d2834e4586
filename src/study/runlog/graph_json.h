/* runlog/graph_json.h - graph.json: the graph that a run trained, so that nobody builds it again.
 */
#ifndef HU_JOURNAL_GRAPH_JSON_H
#define HU_JOURNAL_GRAPH_JSON_H
#include "graph/graph.h"
#include "render/json.h"
#include "task/task.h"

/* {"task": {"name", "loss", "metrics": [{"name", "better"}]}, "inputs", "targets", "losses":
 * [names], "values": [{"name", "role", "shape"}], "nodes":
 * [{"name", "op", "inputs", "parameters", "outputs": [names]}]}, values and nodes in the order of
 * the graph. New reference, NULL if out of memory. */
json_t *hu_graph_json(const hu_graph *graph, const hu_task *task, const hu_loss_form *loss);

/* Reads FOLDER/graph.json into a graph that tells names, ops, shapes, roles and connections, but
 * cannot run. Owner frees with hu_graph_free. HU_ERR_MISSING: a version before 0.2 wrote the
 * folder; HU_ERR_CORRUPT with what was found and expected; HU_ERR_VERSION: an op of another
 * version. Proof: tests/unit/runlog_graph_test.c. */
hu_status hu_graph_read(const char *folder, hu_graph **graph);

/* The first metric of the run's task; accuracy where the folder, being older, does not say.
 * HU_ERR_CORRUPT; HU_ERR_VERSION: a metric of another version. Borrowed: valid forever. */
hu_status hu_graph_metric(const char *folder, const hu_metric **metric);

#endif
