/* model/builder.h - short words for declaring layers; the first error sticks and silences the rest.
 */
#ifndef HU_MODEL_BUILDER_H
#define HU_MODEL_BUILDER_H
#include "model/registry.h"

typedef struct hu_builder {
    hu_graph *graph;
    hu_status status;
    hu_model_norm norm;
    bool norms_all_rows;
    bool splits_bias; /* of products that would add them themselves */
    double dropout;   /* of all dropout nodes; negative: as the model says */
    hu_model_sizes sizes;
    unsigned *read_sizes; /* hu_model_options; NULL: nobody asks */
    hu_task_choice choice;
    hu_value_id value[HU_TASK_FIELDS_MAX]; /* inputs and targets, by field of the task */
    const char *network, *use; /* of a network that is applied several times; NULL: names are as
                                  they are given */
} hu_builder;

/* Declares nodes of one application of a network from here on: nodes are called USE.NAME, their
 * parameters NETWORK.NAME.*, which all applications share. NULL, NULL: no more. */
void hu_build_within(hu_builder *b, const char *network, const char *use);

/* A builder for the task of the options: classification where they name none. */
hu_builder hu_build_begin(const hu_model_options *options, hu_graph *graph);

/* A size that users may choose: theirs, or the model's own. Models refuse those they do not ask
 * for.
 */
int64_t hu_build_size(const hu_builder *b, hu_size size, int64_t own);

/* Rows of the table of tokens: different tokens of the data, or model.vocab. */
int64_t hu_build_words(const hu_builder *b);

/* Numbers that the head must give per row: classes, or channels of a picture. */
int64_t hu_build_outputs(const hu_builder *b);

/* Channels (last extent) of a value. */
int64_t hu_build_channels(const hu_builder *b, hu_value_id value);

/* Declares a node and gives its first output. prefix: what its parameters are called by, NULL:
 * name. */
hu_value_id hu_build_node(hu_builder *b, const hu_op *op, const char *name, const char *prefix,
                          const void *attrs, int n_in, const hu_value_id *in);

/* Says how many rows of a value a sample has (graph/graph.h); gives the value. */
hu_value_id hu_build_row_lengths(hu_builder *b, hu_value_id value, hu_value_id lengths);

/* Square convolution, padded by dilation (kernel-1)/2. groups and dilation 0: one. */
typedef struct hu_conv_form {
    int64_t channels, kernel, stride, groups, dilation;
    bool has_bias;
    hu_init weight, bias;
} hu_conv_form;

hu_value_id hu_build_conv_as(hu_builder *b, const char *name, hu_value_id in,
                             const hu_conv_form *form);

/* N(0, sqrt(2 / (k^2 c_out))): Kaiming, fan out; and U(-1/sqrt(fan_in), 1/sqrt(fan_in)), what
 * frameworks give convolutions (fan_in = k^2 c_in / groups), linear layers and their biases. */
hu_init hu_init_fan_out(int64_t kernel, int64_t out_channels);
hu_init hu_init_usual(int64_t fan_in);

/* Square convolution without bias, padded by (kernel-1)/2; weights N(0, sqrt(2 / (k^2 c_out)))
 * (Kaiming, fan out). */
hu_value_id hu_build_conv(hu_builder *b, const char *name, hu_value_id in, int64_t out_channels,
                          int64_t kernel, int64_t stride);
/* The norm of the options. */
hu_value_id hu_build_norm(hu_builder *b, const char *name, hu_value_id in);
hu_value_id hu_build_relu(hu_builder *b, const char *name, hu_value_id in);
hu_value_id hu_build_layer_norm(hu_builder *b, const char *name, hu_value_id in, float epsilon);

/* The first row of all. */
hu_value_id hu_build_pick(hu_builder *b, const char *name, hu_value_id in);
hu_value_id hu_build_gelu(hu_builder *b, const char *name, hu_value_id in);
hu_value_id hu_build_add(hu_builder *b, const char *name, hu_value_id left, hu_value_id right);

/* Channels behind each other; and in turns, of two values of the same shape: a concatenation with
 * the channel shuffle of two groups behind it. */
hu_value_id hu_build_concat(hu_builder *b, const char *name, int n, const hu_value_id *in);
hu_value_id hu_build_interleave(hu_builder *b, const char *name, hu_value_id left,
                                hu_value_id right);

/* The first and the last half of the channels, two tensors. */
void hu_build_halves(hu_builder *b, const char *name, hu_value_id in, hu_value_id half[2]);
hu_value_id hu_build_flatten(hu_builder *b, const char *name, hu_value_id in);

/* The same numbers in another shape. */
hu_value_id hu_build_reshape(hu_builder *b, const char *name, hu_value_id in,
                             const hu_shape *shape);

/* Bilinear, to any height and width; the corners of the images fall on each other. */
hu_value_id hu_build_bilinear(hu_builder *b, const char *name, hu_value_id in, int64_t height,
                              int64_t width);

/* Shape of a value; of one number after an error. */
hu_shape hu_build_shape(const hu_builder *b, hu_value_id value);

/* Images from 96 pixels on, which a stem should halve twice. */
bool hu_build_is_large(const hu_builder *b, hu_value_id image);

hu_value_id hu_build_max_pool(hu_builder *b, const char *name, hu_value_id in, int64_t kernel,
                              int64_t stride);
hu_value_id hu_build_padded_max_pool(hu_builder *b, const char *name, hu_value_id in,
                                     int64_t kernel, int64_t stride, int64_t pad);

/* Mean and largest number of every channel of an image, [1, 1, C]. */
hu_value_id hu_build_global_max_pool(hu_builder *b, const char *name, hu_value_id in);
hu_value_id hu_build_global_pool(hu_builder *b, const char *name, hu_value_id in);

/* conv -> batch norm -> ReLU, called PREFIXconvSUFFIX, PREFIXbnSUFFIX, PREFIXreluSUFFIX. */
hu_value_id hu_build_conv_bn_relu(hu_builder *b, const char *prefix, const char *suffix,
                                  hu_value_id in, int64_t out_channels, int64_t kernel,
                                  int64_t stride);

/* Fully connected layer: a product node NAME.product and a bias node NAME, so that a scheme can
 * round in between. */
hu_value_id hu_build_linear(hu_builder *b, const char *name, hu_value_id in, int64_t out_features,
                            hu_init weight, hu_init bias);

/* The same layer for every row: [.., C] -> [.., out_features]. */
hu_value_id hu_build_linear_rows(hu_builder *b, const char *name, hu_value_id in,
                                 int64_t out_features, hu_init weight, hu_init bias);

/* A fully connected layer without a bias: one node. */
hu_value_id hu_build_product(hu_builder *b, const char *name, hu_value_id in, int64_t out_features,
                             hu_init weight);

/* The numbers times a constant. */
hu_value_id hu_build_scale(hu_builder *b, const char *name, hu_value_id in, float factor);

/* A fully connected layer with the weights of another layer, used the other way round: y = x w of
 * the w [in, out] in layer OF. Only the bias is its own. */
hu_value_id hu_build_linear_tied(hu_builder *b, const char *name, hu_value_id in, const char *of,
                                 int64_t out_features, hu_init bias);

/* Scores of every row by the table [outputs, C] of the embedding OF: the product with each of its
 * rows. */
hu_value_id hu_build_scores_tied(hu_builder *b, const char *name, hu_value_id in, const char *of);

/* The same and a bias for each: a product node NAME.product and a bias node NAME. */
hu_value_id hu_build_scores_tied_bias(hu_builder *b, const char *name, hu_value_id in,
                                      const char *of, hu_init bias);

/* Declares the inputs and targets of the task; gives the first input. */
hu_value_id hu_build_input(hu_builder *b);

/* A further head of the same shape, in training beside the first: its loss counts `weight` times.
 * To be closed behind the first head. */
void hu_build_more_loss(hu_builder *b, const char *name, hu_value_id head, float weight);

/* Two scores of a pair, compared with what the task says of it: see hu_task_close_pair. Behind
 * hu_build_loss. */
void hu_build_pair_loss(hu_builder *b, hu_value_id head);

/* The task's loss on a head. */
void hu_build_loss(hu_builder *b, hu_value_id head);

/* hu_build_input for models that propose regions: HU_ERR_ARGUMENT for tasks that have no loss for
 * them. The boxes are value 1. hu_build_region_losses closes such a model. */
hu_value_id hu_build_region_input(hu_builder *b);
void hu_build_region_losses(hu_builder *b, const hu_task_regions *regions);

/* The code that a picture is made of, for tasks that have one: a sample NAME of the normal law with
 * these means and log-variances. To be closed behind the head by hu_build_code_loss. */
hu_value_id hu_build_sample(hu_builder *b, const char *name, hu_value_id mean, hu_value_id spread);
void hu_build_code_loss(hu_builder *b, hu_value_id mean, hu_value_id spread);

/* A channel number times the width multiplier, rounded to a multiple of 8 (4 for widths up to 1/4),
 * never below 9/10 of the product. Source: Lee et al., released code (round_to). */
int64_t hu_build_width(double channels, double width);

/* The same, but at width 1 the channels as they are, multiples of 8 or not. */
int64_t hu_build_scaled(int64_t channels, double width);

#endif
