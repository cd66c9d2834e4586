#!/usr/bin/env python3
"""A model is the model: every network of halfulp beside the same network in torch.

Both get the same weights, the same batches and the same optimizer, and make ten steps in float32 (--steps: others).
Compared are the loss of each step, and every weight and running statistic afterwards:

- apart: max|ours - torch's| / max|torch's| of a tensor, at most 1e-4
- moves: the same over the largest change of the tensor in these steps, at most 1 %, so that it shows
  if a weight moves wrongly by little

Training is chaotic: a few of the millions of ReLUs meet numbers that rounding errors make positive
here and negative there, and each step multiplies what follows from that. With freshly drawn weights
and a rate of 0.01, torch's float32 is 0.5 % away from its own float64 after ten steps of resnet20.
Where they grow faster still, the loss of the first step must be the same to 1e-6, and halfulp may be
ten times as far from torch's float64 as torch's float32 is. So the rate is small, and the weights are chosen so that gradients do not grow with depth. The weight
decay is large so that it shows.

    /usr/bin/python3 bench/peers/same_model.py [--halfulp=PROGRAM] [--verbose] [MODEL ...]

Needs torch (Debian: python3-torch). Exit code 0: the same; 1: not; 77: no torch here.
"""
import argparse
import copy
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections import OrderedDict

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: torch is not here ({error}); Debian has it as python3-torch")
    sys.exit(77)

import picture_models
import residual_models
import small_models
import token_models

TOLERANCE, MOVE_TOLERANCE, FIRST_TOLERANCE = 1e-4, 1e-2, 1e-6
STEPS, BATCH, LR, MOMENTUM, DECAY, CLASSES = 10, 16, 1e-3, 0.9, 0.1, 10


# ---- the models, as torch writes them ----

def width_of(channels, width):
    """Channels times the multiplier, as a multiple of 8 (of 4 up to 1/4), at least 9/10 of it."""
    wanted, step = channels * width, 4 if width <= 0.25 else 8
    rounded = max(step, int((wanted + step / 2) // step) * step)
    return rounded + step if rounded < 0.9 * wanted else rounded


def conv(channels_in, channels_out, kernel, stride=1):
    return nn.Conv2d(channels_in, channels_out, kernel, stride, kernel // 2, bias=False)


class SmallNet(nn.Module):
    def __init__(self, channels_in, width):
        super().__init__()
        a, b, c = (width_of(n, width) for n in (16, 32, 64))
        self.conv1, self.bn1 = conv(channels_in, a, 3), nn.BatchNorm2d(a)
        self.conv2, self.bn2 = conv(a, b, 3), nn.BatchNorm2d(b)
        self.conv3, self.bn3 = conv(b, c, 3), nn.BatchNorm2d(c)
        self.fc = nn.Linear(c, CLASSES)

    def forward(self, x):
        x = torch.relu(self.bn1(nn.functional.max_pool2d(self.conv1(x), 2)))
        x = torch.relu(self.bn2(nn.functional.max_pool2d(self.conv2(x), 2)))
        x = torch.relu(self.bn3(self.conv3(x)))
        return self.fc(x.mean((2, 3)))


class Block(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(channels_in, channels, 3, stride), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = conv(channels, channels, 3), nn.BatchNorm2d(channels)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(OrderedDict(
                conv=conv(channels_in, channels, 1, stride), bn=nn.BatchNorm2d(channels)))

    def last_norm(self):
        return self.bn2

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, channels_in, width, first, stages, blocks):
        super().__init__()
        channels = [width_of(first << s, width) for s in range(stages)]
        self.conv1, self.bn1 = conv(channels_in, channels[0], 3), nn.BatchNorm2d(channels[0])
        last = channels[0]
        for s, c in enumerate(channels):
            stage = nn.Sequential(*[Block(last if k == 0 else c, c, 2 if s > 0 and k == 0 else 1)
                                    for k in range(blocks)])
            setattr(self, f"layer{s + 1}", stage)
            last = c
        self.stages = stages
        self.fc = nn.Linear(last, CLASSES)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for s in range(self.stages):
            x = getattr(self, f"layer{s + 1}")(x)
        return self.fc(x.mean((2, 3)))


def make_model(name, channels_in, width, side):
    thin = {"resnet20": 3, "resnet38": 6, "resnet74": 12}
    if name == "cnn-s":
        return SmallNet(channels_in, width)
    if name in thin:
        return ResNet(channels_in, width, 16, 3, thin[name])
    if name == "resnet18":
        return ResNet(channels_in, width, 64, 4, 2)
    if name in small_models.MODELS:
        return small_models.MODELS[name](channels_in, width, CLASSES)
    if name in residual_models.MODELS:
        return residual_models.MODELS[name](channels_in, width, CLASSES, side)
    if name in picture_models.MODELS:
        return picture_models.MODELS[name](channels_in, width, CLASSES, side)
    if name in token_models.MODELS:
        return token_models.MODELS[name](channels_in, width, CLASSES, side)
    raise SystemExit(f"{name}: halfulp has this model, this script does not: write it here")


# ---- weights in files ----

def write_safetensors(path, tensors):
    """F32 tensors without metadata, in the order given."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        size = 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.detach().contiguous().numpy().tobytes())


def read_safetensors(path):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    length = struct.unpack("<Q", data[:8])[0]
    header, at, tensors = json.loads(bytes(data[8:8 + length])), 8 + length, {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        count = math.prod(entry["shape"])
        tensors[name] = torch.frombuffer(data, dtype=torch.float32, count=count,
                                         offset=at + entry["data_offsets"][0]).reshape(entry["shape"])
    return tensors


def state_of(model):
    return {name: tensor for name, tensor in model.state_dict().items()
            if not name.endswith("num_batches_tracked")}


# ---- data both can read ----

def make_data(folder, side, count):
    """A data set of random images; its spec and the images [N,C,H,W] as the network gets them."""
    os.makedirs(folder)
    grey = side != 32  # CIFAR's files hold coloured images of 32 pixels, IDX files grey ones
    shape = (count, 1, side, side) if grey else (count, 3, 32, 32)
    labels = torch.randint(0, CLASSES, (count,))
    # Smooth enough that the batches differ by more than noise: a few large squares, then noise.
    base = torch.randint(0, 200, (*shape[:2], 4, 4)).float()
    pixels = nn.functional.interpolate(base, size=shape[2:]) + 50 * torch.rand(shape)
    pixels = pixels.to(torch.uint8)
    if grey:
        write_idx(folder, pixels, labels)
        wide = pixels.double() / 255
        mean, std = wide.mean(), wide.std(unbiased=False)
        return f"idx:{folder}", ((wide - mean) / std).float(), labels
    write_cifar(folder, pixels, labels)
    mean = torch.tensor([0.4914, 0.4822, 0.4465]).double().reshape(1, 3, 1, 1)
    std = torch.tensor([0.2023, 0.1994, 0.2010]).double().reshape(1, 3, 1, 1)
    return f"cifar10:{folder}", ((pixels.double() / 255 - mean) / std).float(), labels


def write_idx(folder, pixels, labels):
    count, _, height, width = pixels.shape
    for half in ("train", "t10k"):
        with open(f"{folder}/{half}-images-idx3-ubyte", "wb") as file:
            file.write(struct.pack(">BBBBIII", 0, 0, 8, 3, count, height, width))
            file.write(pixels.numpy().tobytes())
        with open(f"{folder}/{half}-labels-idx1-ubyte", "wb") as file:
            file.write(struct.pack(">BBBBI", 0, 0, 8, 1, count))
            file.write(labels.to(torch.uint8).numpy().tobytes())


def write_cifar(folder, pixels, labels):
    records = [bytes([int(label)]) + image.numpy().tobytes() for image, label in zip(pixels, labels)]
    share = -(-len(records) // 5)
    records += records[:5 * share - len(records)]  # data.limit leaves these out
    for i in range(5):
        with open(f"{folder}/data_batch_{i + 1}.bin", "wb") as file:
            file.write(b"".join(records[i * share:(i + 1) * share]))
    with open(f"{folder}/test_batch.bin", "wb") as file:
        file.write(b"".join(records[:16]))


# ---- steps here and there ----

def steps_of_torch(model, images, labels, nesterov, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=MOMENTUM, weight_decay=DECAY,
                                nesterov=nesterov)
    losses = []
    model.train()
    for first in range(0, len(images), BATCH):
        optimizer.zero_grad()
        batch = slice(first, first + BATCH)
        loss = picture_models.loss_of(model, images[batch], labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def call(program, *words):
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"halfulp {' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def steps_of_halfulp(options, folder, name, spec, count, nesterov):
    run, out = f"{folder}/run", f"{folder}/after.safetensors"
    call(options.halfulp, "train", f"model={name}", f"model.width={options.width}", f"data={spec}",
         f"data.limit={count}", "data.test_limit=16", "data.augment=none", "data.shuffle=off", "model.dropout=0",
         "data.drop_last=off", "optimizer=sgd",
         "precision=fp32", f"batch={BATCH}", f"steps={options.steps}", f"lr={options.lr}",
         "lr.schedule=constant", "lr.warmup=0", f"optimizer.momentum={MOMENTUM}",
         f"optimizer.nesterov={'on' if nesterov else 'off'}", f"optimizer.weight_decay={DECAY}",
         f"init={folder}/before.safetensors", "run.log_every=1", "quiet=on", f"run.dir={run}")
    call(options.halfulp, "export", run, f"out={out}")
    with open(f"{run}/metrics.jsonl", encoding="utf-8") as file:
        losses = [json.loads(line)["loss"] for line in file]
    return losses, read_safetensors(out)


def distance(ours, theirs, scale):
    """max|ours - theirs| / max|scale|."""
    apart = float((ours.double() - theirs.double()).abs().max())
    largest = float(scale.abs().max())
    return apart / largest if largest > 0.0 else math.inf


def start(model):
    """Weights in whose neighbourhood training is tame: blocks add little to their shortcuts, so that
    gradients do not grow with depth; where there are no such blocks, most ReLUs stay far from their
    bends. No batch norm is a no-op."""
    blocks = [module for module in model.modules() if hasattr(module, "last_norm")]
    is_sharp = not blocks and not isinstance(model, SmallNet)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            mode = "fan_out" if module.bias is None else "fan_in"
            nn.init.kaiming_normal_(module.weight, mode=mode, nonlinearity="relu")
            if module.out_channels == CLASSES:
                nn.init.normal_(module.weight, std=0.01)
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, *((2.0, 4.0) if is_sharp else (-0.5, 0.5)))
            nn.init.uniform_(module.running_mean, -1.0, 1.0)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    for block in blocks:
        nn.init.uniform_(block.last_norm().weight, 0.05, 0.15)
    return model


def usual_side(name):
    return picture_models.SIDE if name in picture_models.MODELS else 28 if name == "cnn-s" else 32


def apart(losses, tensors, before, expected, theirs):
    """Largest distances of losses, weights and moves from those expected, and which tensors have them."""
    steps = [abs(a - b) / abs(b) for a, b in zip(losses, expected)]
    far, where = max((distance(tensors[n], t, t), n) for n, t in theirs.items())
    moves, mover = max((distance(tensors[n], t, t - before[n]), n) for n, t in theirs.items())
    return (max(steps), far, moves), (where, mover), steps


def is_as_close_as_torch(start_of, made, images, labels, nesterov, lr):
    """Where rounding errors grow too fast for the limits: is halfulp within ten times the distance from torch's
    float64 that torch's own float32 has? made: losses and tensors of halfulp, then of torch's float32."""
    double = start_of.double()
    before = {n: t.clone() for n, t in state_of(double).items()}
    expected = steps_of_torch(double, images.double(), labels, nesterov, lr)
    theirs = {n: t.clone() for n, t in state_of(double).items()}
    ours, single = (apart(losses, tensors, before, expected, theirs)[0] for losses, tensors in made)
    print("  from torch's float64, losses, weights, moves: halfulp " + ", ".join(f"{x:.1e}" for x in ours)
          + "; torch's float32 " + ", ".join(f"{x:.1e}" for x in single))
    return all(a <= 10 * b for a, b in zip(ours, single))


def is_same(options, name):
    """A network that is another one differs from every start; one whose sum lies within a rounding error of a
    ReLU's bend takes the other side from one start. So a second one decides."""
    return compare(options, name, 1) or compare(options, name, 2)


def compare(options, name, seed):
    """Prints the worst distances of one model; whether they are small enough."""
    count = BATCH * options.steps - BATCH // 2  # the last batch is a short one
    nesterov = name == "cnn-s"
    side = options.side or usual_side(name)
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        spec, images, labels = make_data(f"{folder}/data", side, count)
        model = start(make_model(name, images.shape[1], options.width, side))
        untrained = copy.deepcopy(model)
        before = {n: t.clone() for n, t in state_of(model).items()}
        write_safetensors(f"{folder}/before.safetensors", before)
        losses, ours = steps_of_halfulp(options, folder, name, spec, count, nesterov)
    expected = steps_of_torch(model, images, labels, nesterov, options.lr)
    theirs = {n: t.clone() for n, t in state_of(model).items()}
    if set(ours) != set(before) or len(losses) != options.steps:
        raise SystemExit(f"{name}: found {len(losses)} losses and the tensors {list(ours)}, "
                         f"expected {options.steps} and {list(before)}")
    model.load_state_dict(ours)  # strict: every name and shape is torch's
    (loss, far, moves), (where, mover), steps = apart(losses, ours, before, expected, theirs)
    if options.verbose:
        for step, distant in enumerate(steps):
            print(f"  step {step}: loss {expected[step]:.9f}, apart {distant:.1e}")
    good = loss < TOLERANCE and far < TOLERANCE and moves < MOVE_TOLERANCE
    if not good and steps[0] < FIRST_TOLERANCE:
        made = ((losses, ours), (expected, theirs))
        good = is_as_close_as_torch(untrained, made, images, labels, nesterov, options.lr)
    print(f"{name:13} {len(theirs):3} tensors, apart: losses {loss:.1e}, weights {far:.1e} "
          f"({where}), moves {moves:.1e} ({mover})  {'same' if good else 'DIFFERENT'}", flush=True)
    return good


def listed_models(program):
    """The models that the program lists in its help and that are written here."""
    names = re.findall(r"^  (\S+)", call(program, "help", "models"), re.MULTILINE)
    written = {"cnn-s", "resnet20", "resnet38", "resnet74", "resnet18", *small_models.MODELS,
               *residual_models.MODELS, *picture_models.MODELS, *token_models.MODELS}
    return [name for name in names if name in written]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", "build/halfulp"))
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--lr", type=float, default=LR)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--side", type=int, default=0,
                        help="grey images of so many pixels instead of the usual ones")
    parser.add_argument("--verbose", action="store_true", help="the loss of each step")
    options = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    print(f"torch {torch.__version__}, {options.steps} steps of {BATCH} images, sgd, lr {options.lr}")
    models = options.models or listed_models(options.halfulp)
    sys.exit(0 if all([is_same(options, name) for name in models]) else 1)


if __name__ == "__main__":
    main()
