/* train/weight_list.h - the tensors of a trainer as a file of weights has them. */
#ifndef HU_TRAIN_WEIGHT_LIST_H
#define HU_TRAIN_WEIGHT_LIST_H
#include "train/trainer.h"
#include "train/weight_codes.h"
#include "train/weight_view.h"

typedef struct hu_export_options {
    hu_weight_layout layout;
    bool rounded;  /* parameters as the products of the next step see them, not the masters */
    bool averaged; /* their running means (train/average.h) */
    bool coded;    /* rounded, in the bits of their formats (train/weight_codes.h) */
    bool as_c;     /* a header of C (train/weight_header.h) in place of safetensors */
} hu_export_options;

typedef struct hu_weight_item {
    const char *name; /* borrowed from the graph */
    hu_shape shape;
    size_t elements;
    const float *values;
    hu_weight_coding coding; /* of options.coded, else float32 */
    uint8_t *bytes;          /* the codes, NULL: float32 */
} hu_weight_item;

typedef struct hu_weight_list {
    hu_weight_item *item; /* [count] in the order of declaration */
    size_t count;
    float *block; /* all values */
} hu_weight_list;

/* HU_ERR_MEMORY; HU_ERR_ARGUMENT: there are no
 * means; HU_ERR_UNSUPPORTED, HU_ERR_NONFINITE as hu_trainer_print. Owner frees with
 * hu_weight_list_free, also on failure. */
hu_status hu_weight_list_create(hu_trainer *trainer, const hu_export_options *options,
                                hu_weight_list *list);
void hu_weight_list_free(hu_weight_list *list);

/* "torch" or "halfulp"; "master", "rounded", "codes" or "average". Borrowed: valid for ever. */
const char *hu_weight_layout_name(hu_weight_layout layout);
const char *hu_export_kind(const hu_export_options *options);

#endif
