/* model/families.h - the builders behind the table of models. */
#ifndef HU_MODEL_FAMILIES_H
#define HU_MODEL_FAMILIES_H
#include "graph/graph.h"
#include "model/options.h"

/* X(identifier, name, help, task). The one list of models. */
#define HU_MODEL_LIST(X)                                                                           \
    X(cnn_s, "cnn-s", "three convolutions of 16, 32, 64 channels for small grey images",           \
      "classify")                                                                                  \
    X(resnet20, "resnet20", "residual network, 3 stages of 3 blocks, 16-32-64 channels",           \
      "classify")                                                                                  \
    X(resnet38, "resnet38", "residual network, 3 stages of 6 blocks, 16-32-64 channels",           \
      "classify")                                                                                  \
    X(resnet74, "resnet74", "residual network, 3 stages of 12 blocks, 16-32-64 channels",          \
      "classify")                                                                                  \
    X(resnet18, "resnet18", "residual network, 4 stages of 2 blocks, 64-512 channels", "classify") \
    X(resnet50, "resnet50",                                                                        \
      "16 bottleneck blocks, 256-2048 channels; images from 96 pixels on: 7x7 stem with max pool", \
      "classify")                                                                                  \
    X(davidnet, "davidnet",                                                                        \
      "8 convolutions, two residual, 64-512 channels, no bias, scaled logits", "classify")         \
    X(squeezenet, "squeezenet", "8 fire modules, convolutions with bias, no linear layer",         \
      "classify")                                                                                  \
    X(shufflenet_v2, "shufflenet-v2", "16 units of depthwise convolutions and channel shuffles",   \
      "classify")                                                                                  \
    X(mobilenet_v2, "mobilenet-v2", "17 inverted residual blocks of depthwise convolutions",       \
      "classify")                                                                                  \
    X(autoencoder, "autoencoder", "fully connected, 128-32-128, from a picture to itself",         \
      "autoencode")                                                                                \
    X(autoencoder_tied, "autoencoder-tied", "the same, decoded with the weights of the encoder",   \
      "autoencode")                                                                                \
    X(dense_s, "dense-s", "four 5x5 convolutions at full resolution, class scores per pixel",      \
      "segment")

#define HU_MODEL_DECLARE(identifier, name, help, task)                                             \
    hu_status hu_model_##identifier(const hu_model_options *options, hu_graph *graph);
HU_MODEL_LIST(HU_MODEL_DECLARE)
#undef HU_MODEL_DECLARE

#endif
