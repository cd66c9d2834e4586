/* train/weights.h - weights of a trainer into a file that others read, and from such a file; which
 * array of it is which tensor.
 *
 * Names are the graph's ("layer1.0.conv1.weight", "bn1.running_var"), which are also those that
 * torch.nn gives to a module of the same structure. docs/how-to/weights.md has the details. */
#ifndef HU_TRAIN_WEIGHTS_H
#define HU_TRAIN_WEIGHTS_H
#include "base/keys.h"
#include "graph/graph.h"
#include "store/safetensors.h"
#include "tensor/quantizer.h"
#include "train/options.h"
#include "train/trainer.h"

/* ---- weights_file.c: how the tensors of a graph stand in files of weights ---- */

/* Order of the elements of a convolution's weight: as torch has it, [out, in / groups, kh, kw], or
 * as it is here, [out, kh, kw, in / groups]. */
typedef enum hu_weight_layout { HU_WEIGHTS_TORCH, HU_WEIGHTS_HALFULP } hu_weight_layout;

/* How a tensor stands in a file: rows and columns are turned, each for itself. */
typedef struct hu_weight_view {
    hu_shape shape; /* in the file */
    int64_t rows, columns;
    int64_t *row, *column; /* [rows], [columns] the one here that is number i in the file; NULL: i
                            */
} hu_weight_view;

/* Of the parameters and running statistics of a finished graph, which is borrowed. */
typedef struct hu_weight_views hu_weight_views;

/* HU_ERR_MEMORY; owner frees with hu_weight_views_free. */
hu_status hu_weight_views_create(const hu_graph *graph, hu_weight_layout layout,
                                 hu_weight_views **result);
void hu_weight_views_free(hu_weight_views *views); /* NULL is allowed */

/* The shape in the file of a parameter or running statistic that some node uses. */
hu_shape hu_weight_shape(const hu_weight_views *views, hu_value_id v);

/* The whole view; owner frees with hu_weight_view_free, also on failure. HU_ERR_MEMORY;
 * HU_ERR_UNSUPPORTED: no order of it gives torch the same network (train/weight_layout.c). */
hu_status hu_weight_view_create(const hu_weight_views *views, hu_value_id v, hu_weight_view *view);
void hu_weight_view_free(hu_weight_view *view);

/* From here to there, the file, and back. */
void hu_weight_turn_out(const hu_weight_view *view, const float *here, float *there);
void hu_weight_turn_in(const hu_weight_view *view, const float *there, float *here);

/* ---- Rounded weights in as many bits as their formats have ---- */

enum { HU_CODES_TEXT = HU_QUANTIZER_BYTES + 16 };

/* How the numbers of a tensor are written. */
typedef struct hu_weight_coding {
    const char *dtype; /* "F16", "F8_E4M3", ...: the format has this name in safetensors; "U8",
                          "U16": its codes; NULL: float32 */
    hu_format format;
    int32_t exponent;         /* a number is that of its code times 2^exponent */
    char text[HU_CODES_TEXT]; /* "1/4/3:bias=9", "e4m3fn 2^-3"; "": nothing was rounded */
} hu_weight_coding;

/* Reads a text as above, of a format. Errors as hu_format_parse. */
hu_status hu_weight_coding_parse(const char *text, hu_format *format, int *exponent);

/* ---- The tensors of a trainer as a file of weights has them ---- */

typedef struct hu_export_options {
    hu_weight_layout layout;
    bool rounded;  /* parameters as the products of the next step see them, not the masters */
    bool averaged; /* their running means (train/weight_average.c) */
    bool coded;    /* rounded, in the bits of their formats (train/weights_file.c) */
    bool as_c;     /* a header of C (train/weights.c) in place of safetensors */
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

/* "torch" or "halfulp"; "master", "rounded", "codes" or "average". Borrowed: valid forever. */
const char *hu_export_kind(const hu_export_options *options);

/* ---- weights.c: written and read ---- */

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

/* ---- weight_layout.c: names ---- */

/* Which array of a file is which tensor of a network, where the two have
 * other names: prefixes that wrappers put in front ("module.", "_orig_mod.", "backbone."), on
 * either side, and the names that torchvision's classifiers have.
 */

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
bool hu_weight_name_in_file(const hu_weight_naming *naming, const char *name, char *text);

/* ---- weight_layout.c: order of vectors ---- */

/* In which order torch has the numbers of the vectors of a graph.
 *
 * An image is [height, width, channels] here and [channels, height, width] there, so that a vector
 * that was an image, or becomes one, has its numbers in another order, and so have all vectors that
 * are tied to it number by number: after an activation, a norm, a bias. A vector is a value whose
 * extents are 1 but for the last: [n], [1, 1, n]. Every value of three extents is taken for an
 * image. Rows [steps, features] are the same in both, and so is what regions give (roi_pool).
 */

typedef struct hu_vector_orders hu_vector_orders;

/* Of all values of a finished graph, borrowed. HU_ERR_MEMORY; owner frees with
 * hu_vector_orders_free. Proof: tests/unit/train_weight_view_test.c, session_flatten_test.c. */
hu_status hu_vector_orders_create(const hu_graph *graph, hu_vector_orders **result);
void hu_vector_orders_free(hu_vector_orders *orders); /* NULL is allowed */

/* Is the value a vector? */
bool hu_is_vector(const hu_shape *shape);

/* order[i]: the place here of number i there; NULL: the same place. Borrowed. HU_ERR_UNSUPPORTED
 * names a vector of which torch would need two orders at once. */
hu_status hu_vector_order_of(const hu_vector_orders *orders, hu_value_id v, const int64_t **order);

/* Does every parameter of the node's op that has one number for each element of a vector stand in
 * that vector's order? */
bool hu_is_by_element(const hu_op *op);

/* order[elements] of an image: channels first. */
void hu_image_order(const hu_shape *image, int64_t *order);

#endif
