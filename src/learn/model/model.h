/* model/model.h - models: found by name, built, checked against the data. */
#ifndef HU_MODEL_MODEL_H
#define HU_MODEL_MODEL_H
#include "base/keys.h"
#include "graph/graph.h"
#include "op/attributes.h"
#include "task/task.h"

/* ---- Networks of programs ---- */

/* A network that a program has declared itself, or that a file describes, in place of a row of the
 * table. */

/* Inputs and operations without targets and losses, which the task brings; or a file, which may
 * have losses of its own. */
typedef struct hu_custom_net {
    const hu_graph *graph; /* not finished. Borrowed. NULL: */
    hu_value_id head;      /* what the loss compares with the target */
    const hu_keys *file;   /* a network file (model/network_file.h). Borrowed */
} hu_custom_net;

/* ---- What a builder of a network is asked for ---- */

/* What stands after the convolutions of a model: batch_norm, range_norm, or nothing, so that they
 * have biases. */
typedef enum hu_model_norm {
    HU_MODEL_NORM_BATCH,
    HU_MODEL_NORM_RANGE,
    HU_MODEL_NORM_OFF
} hu_model_norm;

/* X(identifier, KEY): sizes that users may choose, by model.KEY. */
/* clang-format off */
#define HU_SIZE_LIST(X) \
    X(LATENT, "latent") /* numbers of a code, or of the noise that pictures are made of */ \
    X(DENSE, "dense")   /* features of linear layers */ \
    X(MAPS, "maps")     /* channels of convolutions */ \
    X(HIDDEN, "hidden") /* numbers of a row between blocks; features of recurrent layers */ \
    X(LAYERS, "layers") /* blocks of attention, recurrent layers */ \
    X(HEADS, "heads")   /* of attention */ \
    X(FF, "ff")         /* features of the feed-forward layers of a block */ \
    X(VOCAB, "vocab")   /* different tokens; at least those of the data */ \
    X(PROJECTION, "projection") /* numbers that recurrent layers hand on */ \
    X(NEGATIVES, "negatives")   /* classes that a sampled softmax draws */
/* clang-format on */
#define HU_SIZE_NUMBER(identifier, key) HU_SIZE_##identifier,
typedef enum hu_size { HU_SIZE_LIST(HU_SIZE_NUMBER) HU_SIZES } hu_size;
#undef HU_SIZE_NUMBER

/* What was chosen, by hu_size; 0: the model's own. They win over its width. */
typedef struct hu_model_sizes {
    int64_t chosen[HU_SIZES];
    /* First words of the bands after the first, ascending (model.bands), and how many; of them 0:
     * the model's own. */
    int64_t band[HU_BANDS_MOST];
    int bands;
} hu_model_sizes;

typedef struct hu_model_options {
    const char *name;
    const hu_custom_net *own; /* NULL: the row of the name. Needs a choice */
    double width;             /* multiplier of the channel numbers, > 0 */
    hu_model_norm norm;       /* of models by name; networks of programs say it themselves */
    bool norms_all_rows;      /* of models of sequences: rows that are missing take part */
    hu_model_sizes sizes;
    unsigned *read_sizes; /* for hu_model_build: builders set bit 1 << hu_size of those they read,
                             and of bands bit HU_SIZES */
    unsigned *named;      /* NULL; or of network files: bit 1 << hu_size for sizes that a number of
                             the file names is set, and bit HU_SIZES for width */
    hu_shape image;       /* [H, W, C] and number of classes, of classifiers; */
    int64_t classes;      /* read if choice is NULL only */
    const hu_task_choice *choice; /* what is learned, from which values */
    /* Of all dropout nodes of models by name; negative: the model's own. 0 leaves them out. */
    double dropout;
    double drop_path; /* of the last block of transformers, falling to 0 at the first: the share of
                         samples that lose a branch */
    bool splits_bias; /* biases of products are nodes of their own (model/registry.c) */
    int64_t nodes_most; /* of a network file, with copies of blocks; 0: HU_NETWORK_NODES_MOST */
} hu_model_options;

/* A file of a few lines can ask for billions. */
enum { HU_NETWORK_NODES_MOST = 1 << 20 };

/* ---- Models by name ---- */

/* The name of a network that a program has declared itself (model/model.h), of which the table has
 * no row. */
#define HU_OWN_MODEL "network"

/* One row of the table of models. */
typedef struct hu_model {
    const char *name;
    const char *help;
    const char *task; /* what its head is made for; another task may fit too */
    int64_t side;     /* pixels along each side of the images it is made for, 0: any */
    hu_status (*build)(const hu_model_options *options, hu_graph *graph);
} hu_model;

extern const hu_model hu_model_table[];
extern const int hu_model_count;

/* What a model is to learn from a data set. task NULL: what its head is made for; loss NULL: the
 * task's usual one. Errors as hu_task_fit and hu_task_loss. */
hu_status hu_model_choose(const char *model, const hu_task *task, const hu_loss_form *loss,
                          const hu_dataset *dataset, hu_task_choice *choice);

/* What sizes are called after "model.", by hu_size. */
extern const char *const hu_size_keys[HU_SIZES];

/* Has a task of rows tell as many tokens apart as model.vocab says, where it says a number.
 * HU_ERR_ARGUMENT if the data has more. */
hu_status hu_model_widen(const hu_model_sizes *sizes, hu_task_choice *choice);

/* The row of a model. HU_ERR_UNKNOWN names the nearest. */
hu_status hu_model_find(const char *name, const hu_model **model);

/* Builds and finishes the graph of a named model with its loss. HU_ERR_UNKNOWN names the nearest
 * models, HU_ERR_ARGUMENT a width or class number that the model cannot have or a size that it does
 * not, HU_ERR_SHAPE the layer for which the image is too small or of the wrong rank, or the head
 * that does not fit the task. */
hu_status hu_model_build(const hu_model_options *asked, hu_graph **graph);

#endif
