/* train/weights.h - weights of a trainer into a file that others read, and from such a file.
 *
 * Names are the graph's ("layer1.0.conv1.weight", "bn1.running_var"), which are also those that
 * torch.nn gives to a module of the same structure. docs/how-to/weights.md has the details. */
#ifndef HU_TRAIN_WEIGHTS_H
#define HU_TRAIN_WEIGHTS_H
#include "base/keys.h"
#include "store/safetensors.h"
#include "train/trainer.h"
#include "train/weights_file.h"

typedef struct hu_export_report {
    size_t tensors, bytes;
    size_t coded; /* tensors that are not float32 */
    int64_t elements;
} hu_export_report;

/* What stands before a tensor's name in the metadata that says its format. */
#define HU_WEIGHT_FORMAT_KEY "format:"

/* "torch" or "halfulp"; HU_ERR_UNKNOWN. */
hu_status hu_weight_layout_parse(const char *text, hu_weight_layout *layout);

/* All parameters and running statistics as the bytes of a safetensors file, whose metadata says
 * model, step, layout and weights, and the format of each tensor that was rounded; or of a header.
 * Owner frees *data with hu_free. HU_ERR_ARGUMENT: there are no means; HU_ERR_UNSUPPORTED: torch
 * cannot have them (weights_file.h); HU_ERR_NONFINITE for rounded weights of a format that cannot
 * encode them. */
hu_status hu_trainer_print(hu_trainer *trainer, const hu_export_options *options, uint8_t **data,
                           size_t *bytes, hu_export_report *report);

/* The same into a file; also HU_ERR_IO. */
hu_status hu_trainer_export(hu_trainer *trainer, const char *path, const hu_export_options *options,
                            hu_export_report *report);

/* Which tensors of a file are taken. */
typedef struct hu_import_options {
    const hu_keys *only; /* globs of names: these alone; NULL or none: all */
    const hu_keys *skip; /* all but these, which start as drawn */
    bool is_loose;       /* what does not fit is left as drawn, too */
} hu_import_options;

typedef struct hu_import_report {
    size_t tensors, taken;      /* of the model */
    char left[1024];            /* loose: what did not fit, in words; "": all did */
    char prefix[HU_NAME_BYTES]; /* what the file has in front of names */
    const char *names;          /* whose names it has; NULL: the model's own. Borrowed */
} hu_import_report;

/* Starts from the weights of a file, before the first step. The layout is what the metadata says,
 * torch without it; names are matched as weight_layout.h says. Every wanted parameter must be there
 * in the right shape, and nothing else; running statistics may be missing and then keep their
 * initial values; "*.num_batches_tracked" beside them is passed over. path stands in messages. On
 * failure nothing has changed: HU_ERR_ARGUMENT lists what is missing, unexpected or of another
 * shape, HU_ERR_PARSE a glob that matches nothing; HU_ERR_UNSUPPORTED, HU_ERR_NONFINITE,
 * HU_ERR_CORRUPT, also if the weights are not those of the options' init_hash. */
hu_status hu_trainer_import(hu_trainer *trainer, const char *path, hu_safetensors *file,
                            const hu_import_options *options, hu_import_report *report);

/* Starts from numbers that follow from the parameters' names alone (initialize.h), salt before
 * each name; running statistics keep their initial values. HU_ERR_MEMORY; HU_ERR_CORRUPT if the
 * weights are not those of the options' init_hash. */
hu_status hu_trainer_start_check(hu_trainer *trainer, const char *salt);

/* XXH64 over the bits of the parameters and running statistics that were imported, in order of
 * declaration and before any rounding, those left out that stay as drawn; 0: the start was drawn.
 */
uint64_t hu_trainer_init_hash(const hu_trainer *trainer);

#endif
