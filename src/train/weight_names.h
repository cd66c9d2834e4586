/* train/weight_names.h - which array of a file is which tensor of a network, where the two have
 * other names: prefixes that wrappers put in front ("module.", "_orig_mod.", "backbone."), on
 * either side, and the names that torchvision's classifiers have.
 */
#ifndef HU_TRAIN_WEIGHT_NAMES_H
#define HU_TRAIN_WEIGHT_NAMES_H
#include "graph/graph.h"
#include "store/safetensors.h"

/* How names of the file follow from the network's. */
typedef struct hu_weight_naming {
    int scheme;                 /* 0: the same names; else those of a list of renamings */
    char theirs[HU_NAME_BYTES]; /* what the file has in front of every name; "" */
    char ours[HU_NAME_BYTES];   /* what the network has in front of names, and the file has not */
} hu_weight_naming;

/* The naming by which most parameters and running statistics are in the file; of equals the
 * plainest. One that leaves out a part of the network must find a third of the file. */
void hu_weight_naming_find(const hu_graph *graph, const hu_safetensors *file,
                           hu_weight_naming *naming);

/* Whose names they are, "torchvision"; NULL: the network's own. */
const char *hu_weight_naming_title(const hu_weight_naming *naming);

/* Is it what a file of weights holds, a parameter or a running statistic? */
bool hu_is_in_weights(const hu_value_info *value);

/* The name that a tensor has in the file; false: it can have none there. text: room for
 * HU_NAME_BYTES. */
bool hu_weight_name_there(const hu_weight_naming *naming, const char *name, char *text);

#endif
