/* model/network_internal.h - what the files that read a network file share: the meaning of its
 * words where they stand, and the parts of the reader. */
#ifndef HU_MODEL_NETWORK_INTERNAL_H
#define HU_MODEL_NETWORK_INTERNAL_H
#include "base/bytes.h"
#include "base/keys.h"
#include "graph/graph.h"
#include "model/model.h"

/* Values by their names in the file, over all scopes. Empty when zero. */
typedef struct hu_network_names {
    hu_name_table table; /* entry.id: index of known */
    struct hu_network_name {
        char *name;
        hu_value_id value;  /* HU_NONE: a node that a condition left out, */
        const char *origin; /* where it was named. Borrowed: valid as the file */
    } * known;              /* [count] */
    size_t count, capacity;
} hu_network_names;

void hu_network_names_free(hu_network_names *names);

/* One parameter of a block: a number, or a text. */
typedef struct hu_network_parameter {
    const char *name;
    bool is_number;
    int64_t number;
    const char *text; /* where it is no number. Borrowed */
} hu_network_parameter;

enum { HU_NETWORK_PARAMETERS_MOST = 32, HU_NETWORK_INPUTS_MOST = 32 };

/* One copy of a block, or the file itself. */
typedef struct hu_network_scope {
    const struct hu_network_scope *outer; /* where the block is used; NULL: the file itself */
    const hu_keys *block;                 /* NULL: the file itself */
    const char *prefix;                   /* of names: "layer1.0.", "" */
    int depth;
    hu_network_parameter parameter[HU_NETWORK_PARAMETERS_MOST]; /* [parameters] */
    int parameters;
    struct {
        const char *name;
        hu_value_id value;
    } input[HU_NETWORK_INPUTS_MOST]; /* [inputs] */
    int inputs;
} hu_network_scope;

/* What all scopes share. */
typedef struct hu_network_words {
    const hu_model_options *options; /* width, sizes, what is learned */
    const hu_keys *file;
    const hu_graph *graph;
    hu_network_names names;
    struct {
        hu_size key;
        int64_t number;
    } size[HU_SIZES]; /* [sizes] that the file declares, with what was chosen */
    int sizes;
} hu_network_words;

/* Characters of names; and whether a text is one: it begins with a letter, a digit or '_', and does
 * not end with a dot. */
#define HU_NETWORK_NAME_CHARACTERS                                                                 \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/"
bool hu_network_is_name(const char *text);

/* HU_ERR_ARGUMENT if a name is taken, with both places, or if an input or another value is called
 * so. */
hu_status hu_network_name_check(const hu_network_words *words, const char *name,
                                const char *origin);

/* Gives a value a name of the file. HU_ERR_ARGUMENT with both places if it is taken. */
hu_status hu_network_name_add(hu_network_words *words, const char *name, hu_value_id value,
                              const char *origin);

/* HU_ERR_ARGUMENT if a value that a node has made is called as a name of the file. */
hu_status hu_network_made_check(const hu_network_words *words, hu_value_id value,
                                const char *origin);

/* HU_ERR_PARSE unless a parameter of a block may be called so: letters, digits and '_', and none of
 * the words of uses and of facts. */
hu_status hu_network_parameter_check(const char *name, const char *origin);

/* True for "-3" and "12". */
bool hu_network_is_whole(const char *text);

/* A sum of products: "4*out", "width*16", "layers + 1". Names are parameters of the block, sizes of
 * the file, `classes` (numbers of the head), `channels`, `height`, `columns`, `rows` and `ids`
 * of the first input. A product with `width` is a number of channels times the model's width, in
 * whole steps as the built-in models have them. origin: where it stands, for messages.
 * HU_ERR_PARSE, HU_ERR_UNKNOWN with the nearest names, HU_ERR_LIMIT. */
hu_status hu_network_number(const hu_network_words *words, const hu_network_scope *scope,
                            const char *text, const char *origin, int64_t *number);

/* True for a name that hu_network_number knows. */
bool hu_network_knows(const hu_network_words *words, const hu_network_scope *scope,
                      const char *name);

/* Two numbers with a comparison between: "stride > 1". */
hu_status hu_network_holds(const hu_network_words *words, const hu_network_scope *scope,
                           const char *text, const char *origin, bool *holds);

/* A text with what stands in braces worked out: "{rows}x{width*16}". Adds to out, without a final
 * zero. */
hu_status hu_network_expand(const hu_network_words *words, const hu_network_scope *scope,
                            const char *text, const char *origin, hu_byte_writer *out);

/* The value of a name, which an input of the block, a node of it, or a name from the top of the
 * file is. HU_ERR_UNKNOWN with the nearest names; HU_ERR_ARGUMENT for a node that a condition left
 * out. */
hu_status hu_network_value(const hu_network_words *words, const hu_network_scope *scope,
                           const char *name, const char *origin, hu_value_id *value);

/* HU_ERR_UNKNOWN "origin: unknown WHAT 'name', nearest: ..." for a name that is none of these. */
hu_status hu_network_unknown(const char *origin, const char *what, const char *name,
                             const char *const *names, size_t count);

/* ---- The reader ---- */

/* What a state of a loop becomes: known when the loop ends. */
typedef struct hu_network_state {
    hu_value_id state;
    char *next, *prefix; /* owned: its name, and the prefix of names where it stands */
    const char *origin;  /* borrowed */
} hu_network_state;

typedef struct hu_network_reader {
    hu_network_words words;
    const hu_keys *file, *blocks; /* blocks NULL: there are none */
    hu_graph *graph;
    hu_value_id field[HU_TASK_FIELDS_MAX];
    hu_network_state *pending; /* [pendings] of the open loop */
    size_t pendings, pending_capacity;
    int64_t made;
    bool in_loop;
} hu_network_reader;

/* The child of a map, NULL: it has none of that name, or is no map. Names may have dots. */
const hu_keys *hu_network_child(const hu_keys *map, const char *name);

/* HU_ERR_PARSE unless a node is of the kind. expected: for the message. */
hu_status hu_network_expect(const hu_keys *node, hu_keys_kind kind, const char *expected);

/* HU_ERR_UNKNOWN unless every key of a map is one of these. what: for the message. */
hu_status hu_network_check_keys(const hu_keys *map, const char *what, const char *const *names,
                                size_t count);

/* The value that a key names. HU_ERR_PARSE for another kind of key; errors as hu_network_value. */
hu_status hu_network_named(const hu_network_reader *r, const hu_network_scope *scope,
                           const hu_keys *node, hu_value_id *value);

/* Counts one more node or copy of a block. HU_ERR_LIMIT: a file of a few lines can ask for
 * billions. */
hu_status hu_network_count(hu_network_reader *r, const char *origin);

/* network_line.c: declares the node of a line "conv2d x out=16"; name: in full. */
hu_status hu_network_declare_line(hu_network_reader *r, const hu_network_scope *scope,
                                  const char *name, const hu_keys *node, const char *text);

/* What can be told of blocks that nobody uses: their keys, inputs and parameters. */
hu_status hu_network_check_blocks(const hu_keys *blocks);

/* network_block.c: declares the nodes of a list, with the blocks, loops and conditions in it. */
hu_status hu_network_declare_nodes(hu_network_reader *r, hu_network_scope *scope,
                                   const hu_keys *nodes);

#endif
