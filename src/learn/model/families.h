/* model/families.h - the builders behind the table of models. */
#ifndef HU_MODEL_FAMILIES_H
#define HU_MODEL_FAMILIES_H
#include "graph/graph.h"
#include "model/options.h"

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

#endif
