/* model/network_file.h - networks as files of one line per layer (docs/reference/network-file.md):
 * read into a graph, and written from one. */
#ifndef HU_MODEL_NETWORK_FILE_H
#define HU_MODEL_NETWORK_FILE_H
#include "base/bytes.h"
#include "base/keys.h"
#include "graph/graph.h"
#include "model/model.h"

/* What a file says of its network before any data is known. Borrowed: valid as long as the file. */
typedef struct hu_network_heading {
    const char *name;    /* "" where it says none */
    const char *task;    /* NULL: "classify" */
    const char *recipe;  /* the built-in model whose defaults of training it takes, NULL: none */
    const char *weights; /* file of weights beside it, NULL: none */
} hu_network_heading;

/* Checks the version and the keys at the top of a file. HU_ERR_PARSE, HU_ERR_UNKNOWN with the
 * nearest, HU_ERR_VERSION; all errors begin with file, line and column. */
hu_status hu_network_read_heading(const hu_keys *file, hu_network_heading *heading);

/* Declares the network of a file, with its losses, in an empty graph. options: what is learned
 * (choice must be given), width, sizes, dropout. Errors as hu_graph_apply and above.
 * Proof: tests/unit/model_network_test.c, tests/fuzz/network_file_fuzz.c. */
hu_status hu_network_declare(const hu_model_options *options, const hu_keys *file, hu_graph *graph);

/* Puts the file in front of a failure that names no place of it. Gives st. */
hu_status hu_network_fail_within(const hu_keys *file, hu_status st);

/* The first node whose outputs nobody reads, NULL: there is none. Of finished graphs. Borrowed. */
const char *hu_network_unused(const hu_graph *graph);

/* Writes a finished graph as a file that declares an equal one: repeated parts as blocks. choice:
 * what the graph learns; where its losses are those that the task adds to a head, the file names
 * the head alone. Adds to out, without a final zero. HU_ERR_UNSUPPORTED names a node that a line
 * cannot say. */
hu_status hu_network_write(const hu_graph *graph, const hu_network_heading *heading,
                           const hu_task_choice *choice, hu_byte_writer *out);

#endif
