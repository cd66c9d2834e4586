/* model/internal.h - the builders after the table of models, and what they share. */
#ifndef HU_MODEL_INTERNAL_H
#define HU_MODEL_INTERNAL_H
#include "graph/graph.h"
#include "model/model.h"

/* ---- The table ---- */

/* X(identifier, name, help, task, side). The one list of models. side: pixels along each side of
 * the images that the network is made for, 0: it takes what comes. */
/* clang-format off */
#define HU_MODEL_LIST(X) \
    X(cnn_s, "cnn-s", \
      "three convolutions of 16, 32, 64 channels for small images", "classify", 0) \
    X(resnet20, "resnet20", \
      "residual network, 3 stages of 3 blocks, 16-32-64 channels", "classify", 0) \
    X(resnet38, "resnet38", \
      "residual network, 3 stages of 6 blocks, 16-32-64 channels", "classify", 0) \
    X(resnet74, "resnet74", \
      "residual network, 3 stages of 12 blocks, 16-32-64 channels", "classify", 0) \
    X(resnet18, "resnet18", \
      "residual network, 4 stages of 2 blocks, 64-512 channels; large images: 7x7 stem", \
      "classify", 0) \
    X(resnet50, "resnet50", \
      "16 bottleneck blocks, 256-2048 channels; images from 96 pixels on: 7x7 stem with max pool", \
      "classify", 0) \
    X(preresnet50, "preresnet50", \
      "16 bottleneck blocks, norm and relu before each convolution, 7x7 stem with max pool", \
      "classify", 224) \
    X(preresnet50_s, "preresnet50-s", "the same, 8-256 channels and a 3x3 stem", "classify", 64) \
    X(alexnet, "alexnet", \
      "5 convolutions, two groups, local response norms; 227 pixels", "classify", 227) \
    X(alexnet_one, "alexnet-one-tower", \
      "5 convolutions in one tower, no norms; 224 pixels", "classify", 224) \
    X(alexnet_s, "alexnet-s", "the same as alexnet, 24-96 channels; 64 pixels", "classify", 64) \
    X(vgg16, "vgg16", "13 convolutions of 3x3, 64-512 channels; 224 pixels", "classify", 224) \
    X(vgg16_s, "vgg16-s", "the same, an eighth of the channels", "classify", 64) \
    X(googlenet, "googlenet", \
      "9 modules of 4 branches, local response norms, 3 heads; 224 pixels", "classify", 224) \
    X(googlenet_bn, "googlenet-bn", \
      "the same with batch norms, 3x3 in place of 5x5, no biases; 224 pixels", "classify", 224) \
    X(googlenet_s, "googlenet-s", \
      "googlenet with an eighth of the channels; 64 pixels", "classify", 64) \
    X(inception_v2, "inception-v2", \
      "10 modules of 3 or 4 branches, batch norms behind biases; 224 pixels", "classify", 224) \
    X(inception_v2_table, "inception-v2-table", \
      "the same with 96 channels behind the pools of 4c and 4d, as published", "classify", 224) \
    X(inception_v2_s, "inception-v2-s", "inception-v2 with an eighth of the channels; 64 pixels", \
      "classify", 64) \
    X(inception_v3, "inception-v3", \
      "11 modules with 1x7 and 7x1 convolutions, 2 heads; 299 pixels", "classify", 299) \
    X(inception_v3_s, "inception3-s", \
      "5 modules, an eighth of the channels, 1 head; 64 pixels", "classify", 64) \
    X(davidnet, "davidnet", \
      "8 convolutions, two residual, 64-512 channels, no bias, scaled logits", "classify", 0) \
    X(squeezenet, "squeezenet", \
      "8 fire modules, convolutions with bias, no linear layer", "classify", 0) \
    X(shufflenet_v2, "shufflenet-v2", \
      "16 units of depthwise convolutions and channel shuffles", "classify", 0) \
    X(mobilenet_v2, "mobilenet-v2", \
      "17 inverted residual blocks of depthwise convolutions", "classify", 0) \
    X(deit_tiny, "deit-tiny", \
      "12 blocks of attention over patches of 16x16 pixels, 192 numbers, 3 heads; 224 pixels", \
      "classify", 224) \
    X(deit_s, "deit-s", "the same with 4 blocks, patches of 4x4, 64 numbers, 2 heads", \
      "classify", 32) \
    X(autoencoder, "autoencoder", \
      "fully connected, 128-32-128, from a picture to itself", "autoencode", 0) \
    X(autoencoder_tied, "autoencoder-tied", \
      "the same, decoded with the weights of the encoder", "autoencode", 0) \
    X(transformer_lm, "transformer-lm", \
      "16 blocks of attention, 1024 wide, words in bands by frequency (WikiText-103)", "language", \
      0) \
    X(transformer_lm_s, "transformer-lm-s", \
      "4 blocks of attention, 128 wide, scores by the table of the tokens", "language", 0) \
    X(lstm_lm, "lstm-lm", \
      "2 layers of LSTM, 650 wide, states from batch to batch, scores by the table of the tokens", \
      "language", 0) \
    X(lstm_lm_s, "lstm-lm-s", "the same, 128 wide", "language", 0) \
    X(bert_tiny_s, "bert-tiny-s", \
      "2 blocks of attention, 128 wide, that see both ways: hidden words and pairs; 64 tokens", \
      "pretrain", 0) \
    X(bert_tiny, "bert-tiny", "the same for up to 512 tokens, with dropout", "pretrain", 0) \
    X(bert_base, "bert-base", "the same of 12 blocks, 768 wide", "pretrain", 0) \
    X(cvae, "cvae", \
      "variational autoencoder of 4 convolutions each way, 64 channels, a code of 3", "vae", 28) \
    X(cvae_s, "cvae-s", "the same, 16 channels, a code of 8", "vae", 28) \
    X(dcgan, "dcgan", \
      "pictures of 128 pixels out of noise, judged by a second network; up to 1024 channels", \
      "gan", 128) \
    X(dcgan_s, "dcgan-s", \
      "the same for grey pictures of 32 pixels, 16-64 channels", "gan", 32) \
    X(biglstm, "biglstm", \
      "2 layers of 8192 LSTM cells projected to 1024, a softmax that is sampled in training", \
      "language", 0) \
    X(biglstm_s, "biglstm-s", "the same, 256 cells projected to 128", "language", 0) \
    X(dense_s, "dense-s", \
      "four 5x5 convolutions at full resolution, class scores per pixel", "segment", 0) \
    X(fcn_r50, "fcn-r50", \
      "fully convolutional, dilated ResNet-50, 2 heads; 769 pixels", "segment", 769) \
    X(fcn_s, "fcn-s", \
      "the same with 8 basic blocks of 16-64 channels, for small pictures", "segment", 120) \
    X(ssd_s, "ssd-s", \
      "boxes on three maps, 18 convolutions of 8-64 channels; about 160x120 pixels", \
      "detect", 120) \
    X(ssd300, "ssd300", "boxes on six maps behind VGG-16; 300 pixels", "detect", 300) \
    X(faster_rcnn_s, "faster-rcnn-s", \
      "boxes in regions that it proposes itself, 16 layers of 8-128; about 160x120 pixels", \
      "detect-regions", 120) \
    X(faster_rcnn, "faster-rcnn", "the same behind VGG-16; 600x1000 pixels", \
      "detect-regions", 600) \
    X(pan, "pan", "super-resolution by 16 blocks of 40 channels with pixel attention", \
      "enlarge", 64) \
    X(pan_s, "pan-s", "the same with 4 blocks of 16 channels", "enlarge", 24) \
    X(ds2_s, "ds2-s", \
      "speech: 2 convolutions and 2 layers of GRU of 64 in both directions (Deep Speech 2)", \
      "transcribe", 0) \
    X(seq2seq, "seq2seq", \
      "translation: 3 layers of LSTM of 1024 read, 3 write and are fed by additive attention", \
      "translate", 0) \
    X(seq2seq_s, "seq2seq-s", \
      "translation: 2 layers of LSTM of 128 read, 2 write and attend by dot products", \
      "translate", 0) \
    X(deepspeech2, "deepspeech2", \
      "speech: 2 convolutions, 3 layers of GRU of 2560, a convolution ahead, English letters", \
      "transcribe", 0) \
    X(deepspeech2_mandarin, "deepspeech2-mandarin", \
      "the same with GRUs of 3360 and one layer behind them, for thousands of characters", \
      "transcribe", 0)
/* clang-format on */

#define HU_MODEL_DECLARE(identifier, name, help, task, side)                                       \
    hu_status hu_model_##identifier(const hu_model_options *options, hu_graph *graph);
HU_MODEL_LIST(HU_MODEL_DECLARE)
#undef HU_MODEL_DECLARE

/* ---- registry.c: products whose bias is a node of its own, for schemes that round before it ----
 */

/* Whether a node is a product that adds a bias itself. */
bool hu_adds_bias(const hu_op *op, const void *attrs);

/* Declares such a product as two nodes: NAME.product, and NAME, which adds the bias. Parameters are
 * called PREFIX.weight and PREFIX.bias (NULL: by the name) all the same, and begin with the same
 * numbers. Errors as hu_graph_apply. Source: Popescu et al., section IV-A: R(R(R(W) R(X)) + R(B)).
 */
hu_status hu_apply_split(hu_graph *graph, const hu_op *op, const char *name, const char *prefix,
                         const void *attrs, const hu_value_id *in, hu_value_id *out);

/* ---- builder.c: words for layers ---- */

/* Short words for declaring layers; the first error sticks and silences the rest. */

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

/* Channels after each other; and in turns, of two values of the same shape: a concatenation with
 * the channel shuffle of two groups after it. */
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
 * To be closed after the first head. */
void hu_build_more_loss(hu_builder *b, const char *name, hu_value_id head, float weight);

/* Two scores of a pair, compared with what the task says of it: see hu_task_close_pair. After
 * hu_build_loss. */
void hu_build_pair_loss(hu_builder *b, hu_value_id head);

/* The task's loss on a head. */
void hu_build_loss(hu_builder *b, hu_value_id head);

/* hu_build_input for models that propose regions: HU_ERR_ARGUMENT for tasks that have no loss for
 * them. The boxes are value 1. hu_build_region_losses closes such a model. */
hu_value_id hu_build_region_input(hu_builder *b);
void hu_build_region_losses(hu_builder *b, const hu_task_regions *regions);

/* The code that a picture is made of, for tasks that have one: a sample NAME of the normal law with
 * these means and log-variances. To be closed after the head by hu_build_code_loss. */
hu_value_id hu_build_sample(hu_builder *b, const char *name, hu_value_id mean, hu_value_id spread);
void hu_build_code_loss(hu_builder *b, hu_value_id mean, hu_value_id spread);

/* A channel number times the width multiplier, rounded to a multiple of 8 (4 for widths up to 1/4),
 * never below 9/10 of the product. Source: Lee et al., released code (round_to). */
int64_t hu_build_width(double channels, double width);

/* The same, but at width 1 the channels as they are, multiples of 8 or not. */
int64_t hu_build_scaled(int64_t channels, double width);

/* ---- imagenet_layers.c ---- */

/* Layers of the classifiers for ILSVRC: convolutions of two extents with
 * a name of their own, windows that end in several ways, and what stands between linear layers. As
 * builder.h: the first error sticks.
 */

/* Kernel, stride and padding along both axes; groups 0: one. */
typedef struct hu_window {
    int64_t kernel_h, kernel_w, stride, pad_h, pad_w, groups;
} hu_window;

/* A square kernel that keeps the size at stride 1; the same without padding; 1xK and Kx1. */
hu_window hu_window_same(int64_t kernel, int64_t stride);
hu_window hu_window_valid(int64_t kernel, int64_t stride);
hu_window hu_window_row(int64_t kernel);
hu_window hu_window_column(int64_t kernel);

/* Kaiming normal, fan in, for ReLU: how all weights here begin. */
hu_init hu_layer_start(int64_t fan_in);

/* NAME with a bias; start of the weights. */
hu_value_id hu_layer_conv(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                          hu_window window, bool has_bias);

/* A transposed convolution: a stride makes the image larger. [H, W] become (H - 1) stride - 2 pad +
 * kernel + extra. */
typedef struct hu_deconv_form {
    int64_t channels, kernel, stride, pad, extra;
    bool has_bias;
    hu_init weight, bias;
} hu_deconv_form;
hu_value_id hu_layer_deconv(hu_builder *b, const char *name, hu_value_id in,
                            const hu_deconv_form *form);

/* conv NAME with bias -> NAME.relu. */
hu_value_id hu_layer_conv_relu(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                               hu_window window);

/* conv NAME.0 -> batch norm NAME.1 -> NAME.relu; with model.norm=off conv with a bias -> relu. */
typedef struct hu_norm_form {
    float epsilon;
    bool has_bias; /* of the convolution, in front of the norm */
} hu_norm_form;
hu_value_id hu_layer_conv_bn_relu(hu_builder *b, const char *name, hu_value_id in, int64_t channels,
                                  hu_window window, hu_norm_form norm);

hu_value_id hu_layer_max_pool(hu_builder *b, const char *name, hu_value_id in, hu_window window,
                              bool ceil);
hu_value_id hu_layer_avg_pool(hu_builder *b, const char *name, hu_value_id in, hu_window window,
                              bool counts_padding);
hu_value_id hu_layer_adaptive_pool(hu_builder *b, const char *name, hu_value_id in, int64_t side);

/* Over 5 channels, alpha 1e-4, beta 0.75, k 1: Caffe's. */
hu_value_id hu_layer_local_norm(hu_builder *b, const char *name, hu_value_id in);

/* Nothing where dropout is 0. */
hu_value_id hu_layer_dropout(hu_builder *b, const char *name, hu_value_id in, double share);

/* Linear NAME -> NAME.relu -> NAME.drop. */
hu_value_id hu_layer_hidden(hu_builder *b, const char *name, hu_value_id in, int64_t features,
                            double dropout);

/* The last linear layer: one number for each output of the task. */
hu_value_id hu_layer_scores(hu_builder *b, const char *name, hu_value_id in);

/* ---- rnn_layers.c ---- */

/* Layers that go over the rows of a value step by step: LSTM and GRU. */

/* One layer in one direction. Parameters are called as torch calls them: LAYER.weight_ih_lK,
 * weight_hh, bias_ih, bias_hh, with a projection weight_hr; after lK stands the suffix. */
typedef struct hu_recurrent_form {
    const char *layer;  /* "lstm" */
    const char *suffix; /* "_l0", "_l1_reverse" */
    int64_t hidden;
    int64_t projection;  /* of an LSTM's hidden state; 0: none */
    hu_value_id lengths; /* of the samples; HU_NONE: all rows count */
    bool is_carried;     /* what it starts as and is not given is what it has ended as in the batch
                            before, not zeros */
    bool has_one_bias;   /* of an LSTM's gates: that of the inputs' product alone */
} hu_recurrent_form;

/* What a layer is before the first step: hidden [projection or hidden], and cell [hidden] of an
 * LSTM. HU_NONE: zeros. */
typedef struct hu_recurrent_state {
    hu_value_id hidden, cell;
} hu_recurrent_state;

/* in [steps, D] -> all hidden states [steps, projection or hidden]. The inputs' product is one for
 * all steps; the tensors of the cell are called LAYERsuffix.hgates, .gates, .gate.i, .gate.f,
 * .gate.g, .gate.o, .cell, .tanh, .hidden (.projected), with ".out" after nodes of one output.
 * Source: Hochreiter and Schmidhuber 1997, as torch.nn.LSTM computes it; with a projection: Sak et
 * al. 2014. cells: all cell states; NULL: not wanted. */
hu_value_id hu_build_lstm(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                          hu_recurrent_state start, hu_value_id *cells);

/* The same layer in a loop of its caller, who begins and ends it: what a step reads of the step
 * before, which is `start` (no HU_NONE) in step 0; and the hidden state that it makes of one row
 * in.
 */
hu_recurrent_state hu_build_lstm_states(hu_builder *b, const hu_recurrent_form *form,
                                        hu_recurrent_state start);
hu_value_id hu_build_lstm_step(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                               hu_recurrent_state previous);

/* The same of a GRU that resets after the product: .hgates, .gate.r, .gate.z, .candidate, .hidden.
 * Source: Cho et al. 2014, as torch.nn.GRU computes it. start.cell is not read. */
hu_value_id hu_build_gru(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                         hu_recurrent_state start);

typedef enum hu_recurrent_kind { HU_RECURRENT_LSTM, HU_RECURRENT_GRU } hu_recurrent_kind;

/* Two layers that start as zeros, one of them over the rows from each sample's last to its first
 * (suffix and "_reverse"): [steps, 2 x (projection or hidden)], LAYERsuffix.both.out. Source:
 * Schuster and Paliwal 1997, as torch computes it. */
hu_value_id hu_build_both_ways(hu_builder *b, const hu_recurrent_form *form, hu_recurrent_kind kind,
                               hu_value_id in);

/* ---- transformer.c: blocks of attention ---- */

typedef struct hu_block_form {
    int64_t heads, hidden;      /* hidden: features of the feed-forward layers */
    float epsilon;              /* of the norms */
    bool is_causal;             /* no row sees one after it */
    bool norms_sums;            /* norms stand after the sums (BERT), not in front of the layers */
    bool has_relu;              /* else gelu */
    const hu_value_id *lengths; /* [1], rows of each sample that are present; NULL: all */
    double dropout, attention_dropout, hidden_dropout; /* of sums, weights, hidden features */
    double drop_path; /* share of samples that lose a branch; 0: none */
    hu_init weight;   /* of all products; biases begin at 0 */
    bool is_usual;    /* weights and biases begin by hu_init_usual instead */
} hu_block_form;

/* Multi-head attention of the rows with themselves: NAME.q, .k, .v, .scores, .weights, .context and
 * .out; NAME.scale is a tensor only where 1 / sqrt(numbers of a head) is no power of two. */
hu_value_id hu_build_attention(hu_builder *b, const char *name, hu_value_id rows,
                               const hu_block_form *form);

/* A block NAME: NAME.ln1, .attn, .add1, .ln2, .fc1, .act, .fc2 and .add2; with drop_path NAME.path1
 * and .path2 in front of the sums.
 *
 *   norms in front   x + attn(ln1 x), then x + fc2 act(fc1 ln2 x)
 *   norms of sums    ln1(x + attn x), then ln2(x + fc2 act(fc1 x)) */
hu_value_id hu_build_block(hu_builder *b, const char *name, hu_value_id rows,
                           const hu_block_form *form);

/* ---- lstm_lm.c ---- */

/* Closes a model whose head is a product of rows [T, C] with a weight NAME.weight [classes, C] and
 * a bias NAME.bias, which starts as zeros. Evaluations have this head, NAME.whole.out; trainings
 * the scores NAME.sampled.out of each row's own class and of `numbers` others, neg.out, which are
 * drawn in each step (op/attributes.h). */
void hu_build_sampled_loss(hu_builder *b, const char *name, hu_value_id in, int64_t numbers,
                           hu_init weight);

/* ---- detection.c ---- */

enum { HU_LOOK_NAME_BYTES = 64 };

/* HU_ERR_SHAPE for smaller pictures, which have no place left on the last map. */
void hu_detector_expect_size(hu_builder *b, hu_value_id picture, int64_t least);

#endif
