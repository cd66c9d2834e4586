/* model/options.h - what a builder of a network is asked for. */
#ifndef HU_MODEL_OPTIONS_H
#define HU_MODEL_OPTIONS_H
#include "model/own.h"

/* What stands behind the convolutions of a model: batch_norm, range_norm, or nothing, so that they
 * have biases. */
typedef enum hu_model_norm {
    HU_MODEL_NORM_BATCH,
    HU_MODEL_NORM_RANGE,
    HU_MODEL_NORM_OFF
} hu_model_norm;

/* Of models with a code; 0: the model's own. They win over its width. */
typedef struct hu_model_sizes {
    int64_t latent, dense, maps; /* numbers of the code, features of linear layers, channels */
} hu_model_sizes;

typedef struct hu_model_options {
    const char *name;
    const hu_own_net *own; /* NULL: the row of the name. Needs a choice */
    double width;          /* multiplier of the channel numbers, > 0 */
    hu_model_norm norm;    /* of models by name; networks of programs say it themselves */
    bool norms_all_rows;   /* of models of sequences: rows that are not there take part */
    hu_model_sizes sizes;
    hu_shape image;               /* [H, W, C] and number of classes, of classifiers; */
    int64_t classes;              /* read if choice is NULL only */
    const hu_task_choice *choice; /* what is learned, from which values */
    /* Of all dropout nodes of models by name; negative: the model's own. 0 leaves them out. */
    double dropout;
    bool splits_bias; /* biases of products are nodes of their own (model/split.h) */
} hu_model_options;

#endif
