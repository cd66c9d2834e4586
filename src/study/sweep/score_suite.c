/* The suite of `halfulp score`, version 1: eight networks of the kinds that people train, small
 * enough for seconds, on data that every machine draws for itself to the same bytes. */
#include "sweep/score.h"

static const char depthwise[] =
    "halfulp_network: 1\n"
    "name: depthwise\n"
    "task: classify\n"
    "inputs: {input: image}\n"
    "blocks:\n"
    "  separable:\n"
    "    in: x\n"
    "    parameters: [wide, out, stride=1]\n"
    "    nodes:\n"
    "      - dw: conv2d x out={wide} kernel=3 stride={stride} pad=1 groups={wide} bias=off\n"
    "      - bn1: batch_norm dw\n"
    "      - relu1: relu bn1\n"
    "      - pw: conv2d relu1 out={out} kernel=1 bias=off\n"
    "      - bn2: batch_norm pw\n"
    "      - relu2: relu bn2\n"
    "    out: relu2\n"
    "nodes:\n"
    "  - conv: conv2d input out=16 kernel=3 stride=2 pad=1 bias=off\n"
    "  - bn: batch_norm conv\n"
    "  - relu: relu bn\n"
    "  - layer1: {block: separable, in: relu, wide: 16, out: 32}\n"
    "  - layer2: {block: separable, in: layer1, wide: 32, out: 64, stride: 2}\n"
    "  - layer3: {block: separable, in: layer2, wide: 64, out: 64}\n"
    "  - layer4: {block: separable, in: layer3, wide: 64, out: 128, stride: 2}\n"
    "  - pool: global_avg_pool layer4\n"
    "  - fc: linear pool out=classes\n"
    "head: fc\n";

/* Patches of 4x4 pixels, joined by a convolution into 16 tokens: small transformers learn little of
 * pictures in seconds without (Xiao et al. 2021, "Early convolutions help transformers see
 * better"). */
static const char vit[] = "halfulp_network: 1\n"
                          "name: vit\n"
                          "task: classify\n"
                          "inputs: {input: image}\n"
                          "blocks:\n"
                          "  block:\n"
                          "    in: x\n"
                          "    nodes:\n"
                          "      - ln1: layer_norm x epsilon=1e-06\n"
                          "      - q: linear ln1 out=48 rows=on init=normal:0.02\n"
                          "      - k: linear ln1 out=48 rows=on init=normal:0.02\n"
                          "      - v: linear ln1 out=48 rows=on init=normal:0.02\n"
                          "      - scale: scale q factor=0.20412415\n"
                          "      - scores: attention_scores scale k heads=2 lengths_too=on\n"
                          "      - weights: attention_weights scores lengths_too=on\n"
                          "      - context: attention_context weights v lengths_too=on\n"
                          "      - out: linear context out=48 rows=on init=normal:0.02\n"
                          "      - add1: add x out\n"
                          "      - ln2: layer_norm add1 epsilon=1e-06\n"
                          "      - fc1: linear ln2 out=192 rows=on init=normal:0.02\n"
                          "      - act: gelu fc1\n"
                          "      - fc2: linear act out=48 rows=on init=normal:0.02\n"
                          "      - add2: add add1 fc2\n"
                          "    out: add2\n"
                          "nodes:\n"
                          "  - patch: conv2d input out=24 kernel=4 stride=4\n"
                          "  - patch.bn: batch_norm patch\n"
                          "  - patch.relu: relu patch.bn\n"
                          "  - join: conv2d patch.relu out=48 kernel=3 stride=2 pad=1\n"
                          "  - rows: reshape join shape=16x48\n"
                          "  - position: position rows batches=on params=pos\n"
                          "  - blocks: {block: block, repeat: 2, in: position}\n"
                          "  - ln: layer_norm blocks epsilon=1e-06\n"
                          "  - mean: reduce_mean ln axes=0\n"
                          "  - head: linear mean out=classes init=normal:0.02\n"
                          "head: head\n";

#define SGD "optimizer=sgd optimizer.momentum=0.9 optimizer.nesterov=off "
#define ADAM "optimizer=adam optimizer.weight_decay=0 lr.warmup=0 "
#define COSINE "lr.schedule=cosine "

/* Logits may be rounded, but what is made of them adds up to 1: log-probabilities as a tensor of
 * their own would not, and would be rounded in a format's favour (of e2m1 log 1/10 becomes -2). */
#define SOFTMAX "loss=softmax_cross_entropy "

const hu_score_network hu_score_suite[HU_SCORE_NETWORKS] = {
    {.name = "conv",
     .help = "three convolutions with batch norms, classes of drawn digits",
     .is_quick = true,
     .model = "cnn-s",
     .task = "classify",
     .data = "glyphs",
     .train = 8000,
     .test = 1000,
     .batch = 32,
     .steps = 400,
     .more = SGD COSINE SOFTMAX "lr=0.15 lr.warmup=0.2 optimizer.weight_decay=0.0005"},
    {.name = "depthwise",
     .help = "depthwise and pointwise convolutions in turns, the same digits",
     .file = depthwise,
     .model = "depthwise",
     .task = "classify",
     .data = "glyphs",
     .train = 8000,
     .test = 1000,
     .batch = 32,
     .steps = 800,
     .more = SGD COSINE SOFTMAX "lr=0.05 lr.warmup=0.2 optimizer.weight_decay=0.0001"},
    {.name = "lstm",
     .help = "an LSTM that tells the next word of a grammar's text",
     .is_quick = true,
     .model = "lstm-lm-s",
     .task = "language",
     .data = "grammar",
     .test = 640,
     .batch = 16,
     .steps = 800,
     .length = 16,
     .streams = 16,
     .more = ADAM COSINE "model.layers=1 model.hidden=64 lr=0.005 optimizer.clip_norm=1"},
    {.name = "transformer",
     .help = "a Transformer that tells the next word of the same text",
     .is_quick = true,
     .model = "transformer-lm-s",
     .task = "language",
     .data = "grammar",
     .test = 300,
     .batch = 16,
     .steps = 500,
     .length = 32,
     .more = ADAM COSINE "model.layers=2 model.hidden=64 lr=0.002 optimizer.beta2=0.98 "
                         "optimizer.clip_norm=1"},
    {.name = "vit",
     .help = "a vision transformer on 16 joined patches, the digits again",
     .file = vit,
     .model = "vit",
     .task = "classify",
     .data = "glyphs",
     .train = 8000,
     .test = 1000,
     .batch = 32,
     .steps = 1500,
     .more = COSINE SOFTMAX "optimizer=adamw optimizer.weight_decay=0.05 lr=0.0015 lr.warmup=0.5"},
    {.name = "autoencoder",
     .help = "a fully connected autoencoder of contact maps of folded chains",
     .is_quick = true,
     .model = "autoencoder",
     .task = "autoencode",
     .data = "contacts",
     .train = 16000,
     .test = 2000,
     .batch = 64,
     .steps = 1500,
     .more = ADAM COSINE "lr=0.001"},
    {.name = "detector",
     .help = "boxes around things in drawn scenes, on three maps (SSD)",
     .model = "ssd-s",
     .task = "detect",
     .data = "scenes",
     .train = 4000,
     .test = 500,
     .batch = 8,
     .steps = 1500,
     .more = SGD COSINE "model.width=0.5 lr=0.02 lr.warmup=0.2 optimizer.weight_decay=0.0005",
     .by_metric = true},
    {.name = "ctc",
     .help = "convolutions and a GRU both ways that write down melodies (CTC)",
     .model = "ds2-s",
     .task = "transcribe",
     .data = "tones",
     .train = 4000,
     .test = 500,
     .batch = 16,
     .steps = 500,
     .more = SGD COSINE "model.hidden=32 model.layers=1 model.maps=4 lr=0.01 lr.warmup=0.2 "
                        "optimizer.clip_norm=20",
     .stride = 2},
};
