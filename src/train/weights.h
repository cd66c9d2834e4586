/* train/weights.h - weights of a trainer into a file that others read, and from such a file.
 *
 * Names are the graph's ("layer1.0.conv1.weight", "bn1.running_var"), which are also those that
 * torch.nn gives to a module of the same structure. docs/weights.md has the details. */
#ifndef HU_TRAIN_WEIGHTS_H
#define HU_TRAIN_WEIGHTS_H
#include "train/trainer.h"
#include "train/weight_view.h"

typedef struct hu_export_options {
    hu_weight_layout layout;
    bool rounded;  /* parameters as the products of the next step see them, not the masters */
    bool averaged; /* their running means (train/average.h) */
} hu_export_options;

typedef struct hu_export_report {
    size_t tensors, bytes;
    int64_t elements;
} hu_export_report;

/* "torch" or "halfulp"; HU_ERR_UNKNOWN. */
hu_status hu_weight_layout_parse(const char *text, hu_weight_layout *layout);

/* Writes all parameters and running statistics as float32 into a safetensors file, whose metadata
 * says model, step, layout and weights. HU_ERR_ARGUMENT: there are no means. HU_ERR_IO;
 * HU_ERR_NONFINITE for rounded weights of a format
 * that cannot encode them. */
hu_status hu_trainer_export(hu_trainer *trainer, const char *path, const hu_export_options *options,
                            hu_export_report *report);

/* Starts from the weights of a safetensors file, before the first step. The layout is what the
 * metadata says, torch without it. Every parameter must be there in the right shape; running
 * statistics may be missing and then keep their initial values; "*.num_batches_tracked" beside them
 * is passed over. On failure nothing has changed: HU_ERR_ARGUMENT lists what is missing,
 * unexpected or of another shape; HU_ERR_UNSUPPORTED, HU_ERR_NONFINITE, HU_ERR_CORRUPT, also if the
 * weights are not those of the options' init_hash. */
hu_status hu_trainer_import(hu_trainer *trainer, const char *path);

/* Starts from numbers that follow from the parameters' names alone (check_start.h), salt before
 * each name; running statistics keep their initial values. HU_ERR_MEMORY; HU_ERR_CORRUPT if the
 * weights are not those of the options' init_hash. */
hu_status hu_trainer_start_check(hu_trainer *trainer, const char *salt);

/* XXH64 over the bits of the parameters and running statistics that were imported, in order of
 * declaration and before any rounding; 0: the start was drawn. */
uint64_t hu_trainer_init_hash(const hu_trainer *trainer);

#endif
