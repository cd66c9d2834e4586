/* train/weights_file.h - the tensors of a graph as arrays of a file of weights. */
#ifndef HU_TRAIN_WEIGHTS_FILE_H
#define HU_TRAIN_WEIGHTS_FILE_H
#include "graph/graph.h"
#include "tensor/quantizer.h"
#include "train/trainer.h"

/* ---- How the tensors of a graph stand in files of weights ---- */

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
 * HU_ERR_UNSUPPORTED: no order of it gives torch the same network (train/weight_layout.h). */
hu_status hu_weight_view_create(const hu_weight_views *views, hu_value_id v, hu_weight_view *view);
void hu_weight_view_free(hu_weight_view *view);

/* From here to there, the file, and back. */
void hu_weight_turn_out(const hu_weight_view *view, const float *here, float *valid);
void hu_weight_turn_in(const hu_weight_view *view, const float *valid, float *here);

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

/* Bytes of a number. */
size_t hu_weight_coding_bytes(const hu_weight_coding *coding);

/* Reads a text as above, of a format. Errors as hu_format_parse. */
hu_status hu_weight_coding_parse(const char *text, hu_format *format, int *exponent);

/* ---- The tensors of a trainer as a file of weights has them ---- */

typedef struct hu_export_options {
    hu_weight_layout layout;
    bool rounded;  /* parameters as the products of the next step see them, not the masters */
    bool averaged; /* their running means (train/weight_average.h) */
    bool coded;    /* rounded, in the bits of their formats (train/weights_file.h) */
    bool as_c;     /* a header of C (train/weight_export.h) in place of safetensors */
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
