/* model/options.h - what a builder of a network is asked for. */
#ifndef HU_MODEL_OPTIONS_H
#define HU_MODEL_OPTIONS_H
#include "model/custom.h"
#include "op/attributes.h"

/* What stands behind the convolutions of a model: batch_norm, range_norm, or nothing, so that they
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
    /* First words of the bands behind the first, ascending (model.bands), and how many; of them 0:
     * the model's own. */
    int64_t band[HU_BANDS_MOST];
    int bands;
} hu_model_sizes;

typedef struct hu_model_options {
    const char *name;
    const hu_custom_net *own; /* NULL: the row of the name. Needs a choice */
    double width;             /* multiplier of the channel numbers, > 0 */
    hu_model_norm norm;       /* of models by name; networks of programs say it themselves */
    bool norms_all_rows;      /* of models of sequences: rows that are not there take part */
    hu_model_sizes sizes;
    unsigned *read_sizes; /* for hu_model_build: builders set bit 1 << hu_size of those they read,
                             and of bands bit HU_SIZES */
    hu_shape image;       /* [H, W, C] and number of classes, of classifiers; */
    int64_t classes;      /* read if choice is NULL only */
    const hu_task_choice *choice; /* what is learned, from which values */
    /* Of all dropout nodes of models by name; negative: the model's own. 0 leaves them out. */
    double dropout;
    double drop_path; /* of the last block of transformers, falling to 0 at the first: the share of
                         samples that lose a branch */
    bool splits_bias; /* biases of products are nodes of their own (model/split.h) */
} hu_model_options;

#endif
