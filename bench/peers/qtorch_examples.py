#!/usr/bin/env python3
"""QPyTorch's published examples, with QPyTorch and with halfulp.compat.qtorch: accuracy, bits, and the time of a step.

usage: bench/peers/qtorch_examples.py accuracy|bits|time EXAMPLE CIFAR10_DIR [steps=N] [seeds=N] [threads=N] [turns=N]

EXAMPLE: tutorial (its notebook of CIFAR-10: a pre-activation ResNet-20, 1/5/2 and 1/6/9), swalp (VGG-16 in block
floating point of 8 bits, averaged at the end), fixed (VGG-16, weights, gradients and momentum in fixed point, 12 bits).
Needs the Python package, torch, qtorch and a C++ compiler, and CIFAR-10's binary batches. Both libraries get the same
weights, batches and augmentation; they differ in the modules that are imported, and in random numbers of stochastic
rounding. VGG-16 is the scripts' with batch norm, its channels divided by `narrow` (4). docs/results/pytorch.md has what
came of it.

accuracy: after `steps` steps of 128 pictures, on the first 2,000 test pictures, for each seed. bits: the example with
nearest rounding everywhere; every tensor that QPyTorch rounds is rounded by halfulp too, and the numbers that differ are
counted. time: steps in turns, beside the same model without rounding.
"""
import copy
import importlib
import os
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

LIBRARIES = {"qtorch": "qtorch", "halfulp": "halfulp.compat.qtorch"}
BATCH, TESTED = 128, 2000
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
VGG16 = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)


class Library:
    """One of the two, by its modules."""

    def __init__(self, name):
        of = importlib.import_module(LIBRARIES[name])
        for module in ("quant", "optim", "auto_low"):
            setattr(self, module, importlib.import_module(f"{LIBRARIES[name]}.{module}"))
        self.FloatingPoint, self.FixedPoint, self.BlockFloatingPoint = of.FloatingPoint, of.FixedPoint, of.BlockFloatingPoint


# ---- data ----


def pictures(folder, names):
    rows = np.concatenate([np.fromfile(os.path.join(folder, n), np.uint8).reshape(-1, 3073) for n in names])
    mean, deviation = (torch.tensor(v).reshape(3, 1, 1) for v in (MEAN, DEVIATION))
    x = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32)).float() / 255
    return (x - mean) / deviation, torch.from_numpy(rows[:, 0].astype(np.int64))


class Data:
    def __init__(self, folder):
        self.x, self.labels = pictures(folder, [f"data_batch_{i}.bin" for i in range(1, 6)])
        self.tested, self.test_labels = (t[:TESTED] for t in pictures(folder, ["test_batch.bin"]))

    def batches(self, seed, steps):
        """Batches in a random order, cut with 4 pixels of padding, half of them turned about."""
        random = np.random.default_rng(seed)
        order = np.concatenate([random.permutation(len(self.x)) for _ in range(1 + steps * BATCH // len(self.x))])
        for step in range(steps):
            at = torch.from_numpy(order[step * BATCH : (step + 1) * BATCH])
            x = F.pad(self.x[at], (4, 4, 4, 4))
            cut = [x[i, :, a : a + 32, b : b + 32] for i, (a, b) in enumerate(random.integers(0, 9, (BATCH, 2)))]
            turned = [c.flip(2) if t else c for c, t in zip(cut, random.integers(0, 2, BATCH))]
            yield torch.stack(turned), self.labels[at]


# ---- models ----


class Block(nn.Module):
    def __init__(self, inner, outer, stride, rounding):
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(inner), nn.BatchNorm2d(outer)
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.short = nn.Conv2d(inner, outer, 1, stride, bias=False) if inner != outer else nn.Identity()
        self.round = rounding()

    def forward(self, x):
        y = self.round(self.conv1(self.round(F.relu(self.bn1(x)))))
        return self.round(self.conv2(self.round(F.relu(self.bn2(y))))) + self.short(x)


class PreResNet20(nn.Module):
    def __init__(self, rounding, rounding_of_ends):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        widths = [(16, 16, 1)] * 3 + [(16, 32, 2)] + [(32, 32, 1)] * 2 + [(32, 64, 2)] + [(64, 64, 1)] * 2
        self.blocks = nn.Sequential(*(Block(*width, rounding) for width in widths))
        self.bn, self.fc = nn.BatchNorm2d(64), nn.Linear(64, 10)
        self.round, self.ends = rounding(), rounding_of_ends()
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.normal_(module.weight, 0, (2 / (module.kernel_size[0] ** 2 * module.out_channels)) ** 0.5)

    def forward(self, x):
        x = self.blocks(self.round(self.conv(self.ends(x))))
        return self.ends(self.fc(self.round(F.relu(self.bn(x))).mean((2, 3))))


class VGG16BN(nn.Module):
    def __init__(self, narrow, rounding=None):
        super().__init__()
        layers, channels = [], 3
        for width in VGG16:
            if not width:
                layers.append(nn.MaxPool2d(2))
                continue
            layers += [nn.Conv2d(channels, width // narrow, 3, padding=1), nn.BatchNorm2d(width // narrow), nn.ReLU()]
            layers += [rounding()] if rounding else []
            channels = width // narrow
        self.features = nn.Sequential(*layers)
        hidden = [[nn.Dropout(), nn.Linear(channels, channels), nn.ReLU(), *([rounding()] if rounding else [])] for _ in "12"]
        self.classifier = nn.Sequential(*hidden[0], *hidden[1], nn.Linear(channels, 10))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


# ---- examples: (model, optimizer, loss scale) ----


def tutorial(of, rounding, narrow):
    small, large = of.FloatingPoint(exp=5, man=2), of.FloatingPoint(exp=6, man=9)

    def quantizer(number, how):
        return of.quant.quantizer(forward_number=number, forward_rounding=how)

    model = PreResNet20(lambda: of.quant.Quantizer(small, small, "nearest", "nearest"),
                        lambda: of.quant.Quantizer(large, large, "nearest", "nearest"))
    sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    optimizer = of.optim.OptimLP(sgd, weight_quant=quantizer(small, "nearest"), grad_quant=quantizer(small, "nearest"),
                                 momentum_quant=quantizer(large, rounding), acc_quant=quantizer(large, rounding),
                                 grad_scaling=1 / 1000)
    return model, optimizer, 1000


def swalp(of, rounding, narrow):
    number = of.BlockFloatingPoint(wl=8, dim=0)
    model = of.auto_low.sequential_lower(VGG16BN(narrow), layer_types=["conv", "linear"], forward_number=number,
                                         backward_number=number, forward_rounding=rounding, backward_rounding=rounding)
    model.classifier[-1] = model.classifier[-1][0]
    sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    quantizer = of.quant.quantizer(forward_number=number, forward_rounding=rounding)
    return model, of.optim.OptimLP(sgd, weight_quant=quantizer, grad_quant=quantizer, momentum_quant=quantizer), 1


def fixed(of, rounding, narrow):
    number = of.FixedPoint(12, 12)
    full = of.FloatingPoint(8, 23) if rounding == "stochastic" else None  # whose signs QPyTorch's nearest turns about
    model = VGG16BN(narrow, lambda: of.quant.Quantizer(full, full, "stochastic", "stochastic"))
    sgd = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    quantizer = of.quant.quantizer(forward_number=number, forward_rounding=rounding)
    return model, of.optim.OptimLP(sgd, weight_quant=quantizer, grad_quant=quantizer, momentum_quant=quantizer), 1


EXAMPLES = {"tutorial": tutorial, "swalp": swalp, "fixed": fixed}


def made(example, library, rounding, seed, narrow):
    torch.manual_seed(seed)
    return EXAMPLES[example](Library(library), rounding, narrow)


def step(model, optimizer, scale, x, labels):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), labels)
    (loss * scale).backward()
    optimizer.step()
    return loss.item()


def accuracy_of(model, data):
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item()
                    for x, y in zip(data.tested.split(250), data.test_labels.split(250)))
    model.train()
    return 100 * right / TESTED


def averaged(model, average, count):
    """Adds the model's weights to an average of `count` others."""
    average = average or copy.deepcopy(model)
    for mean, weight in zip(average.parameters(), model.parameters()):
        mean.data += (weight.data - mean.data) / (count + 1)
    return average


def with_statistics(model, data):
    """Running statistics of batch norm, of 20 batches: an averaged model has none of its own."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.reset_running_stats()
            module.momentum = None
    with torch.no_grad():
        for x, _ in data.batches(99, 20):
            model(x)
    return model


# ---- what is measured ----


def accuracy(example, data, steps, seeds, narrow):
    found = {}
    for seed in range(seeds):
        for library in LIBRARIES:
            model, optimizer, scale = made(example, library, "stochastic", seed, narrow)
            average, losses = None, []
            for at, (x, labels) in enumerate(data.batches(seed, steps)):
                if example == "swalp" and at == steps * 2 // 3:
                    for group in optimizer.param_groups:
                        group["lr"] = 0.01
                losses.append(step(model, optimizer, scale, x, labels))
                if example == "swalp" and at >= steps * 2 // 3:
                    average = averaged(model, average, at - steps * 2 // 3)
            row = {"loss": statistics.mean(losses[-20:]), "accuracy": accuracy_of(model, data)}
            if average is not None:
                row["averaged"] = accuracy_of(with_statistics(average, data), data)
            print(f"seed {seed} {library}: " + ", ".join(f"{k} {v:.4g}" for k, v in row.items()), flush=True)
            for key, value in row.items():
                found.setdefault((key, library), []).append(value)
    for (key, library), values in found.items():
        print(f"{example} {library} {key}: mean {statistics.mean(values):.4g}, {min(values):.4g} to {max(values):.4g}")


def watched(counts):
    """Has QPyTorch round, and halfulp beside it, the same tensors; counts numbers and those that differ."""
    theirs = importlib.import_module("qtorch.quant.quant_function").quant_cpu
    ours = Library("halfulp").quant
    forms = {
        "float_quantize_nearest": lambda x, man, exp: ours.float_quantize(x, exp, man, "nearest"),
        "fixed_point_quantize_nearest": lambda x, *fields: ours.fixed_point_quantize(x, *fields, rounding="nearest"),
        "block_quantize_nearest": lambda x, wl, dim: ours.block_quantize(x, wl, dim, "nearest"),
    }

    def beside(rounding, form):
        def call(x, *fields):
            y = rounding(x, *fields)
            counts["numbers"] += x.numel()
            counts["differ"] += (y != form(x, *fields)).sum().item()  # -0 and 0 are equal
            return y

        return call

    for name, form in forms.items():
        setattr(theirs, name, beside(getattr(theirs, name), form))


def bits(example, data, steps, narrow):
    counts, losses = {"numbers": 0, "differ": 0}, {}
    for library in ("halfulp", "qtorch"):
        model, optimizer, scale = made(example, library, "nearest", 0, narrow)
        if library == "qtorch":
            watched(counts)
        losses[library] = []
        for at, batch in enumerate(data.batches(0, steps)):
            torch.manual_seed(at)  # of dropout
            losses[library].append(step(model, optimizer, scale, *batch))
    same = next((i for i, (a, b) in enumerate(zip(*losses.values())) if a != b), steps)
    print(f"{example}: {counts['numbers']} numbers were rounded by both, {counts['differ']} of them differ; the first {same} of "
          f"{steps} losses are equal; the last: qtorch {losses['qtorch'][-1]:.6g}, halfulp {losses['halfulp'][-1]:.6g}")


def seconds(example, data, turns, narrow):
    runs = {library: made(example, library, "stochastic", 0, narrow) for library in LIBRARIES}
    plain = PreResNet20(nn.Identity, nn.Identity) if example == "tutorial" else VGG16BN(narrow)
    runs["float32"] = plain, torch.optim.SGD(plain.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4), 1
    wall, processor = ({name: [] for name in runs} for _ in "12")
    for at, batch in enumerate(data.batches(0, turns + 2)):
        for name, run in runs.items():
            begin = time.perf_counter(), time.process_time()
            step(*run, *batch)
            if at >= 2:
                wall[name].append(time.perf_counter() - begin[0])
                processor[name].append(time.process_time() - begin[1])
    for kind, spent in (("wall, least", {n: min(t) for n, t in wall.items()}),
                        ("processor, median", {n: statistics.median(t) for n, t in processor.items()})):
        print(f"{example}, {torch.get_num_threads()} threads, {kind}, s of a step: "
              + ", ".join(f"{name} {value:.4f}" for name, value in spent.items())
              + f"; qtorch / halfulp {spent['qtorch'] / spent['halfulp']:.2f}"
              + f", halfulp / float32 {spent['halfulp'] / spent['float32']:.2f}, beyond float32: "
              + f"{(spent['qtorch'] - spent['float32']) / (spent['halfulp'] - spent['float32']):.1f}", flush=True)


def main(what, example, folder, *words):
    keys = {"steps": 150, "seeds": 3, "threads": 2, "turns": 15, "narrow": 4, **dict(w.split("=") for w in words)}
    keys = {name: int(value) for name, value in keys.items()}
    torch.set_num_threads(keys["threads"])
    data = Data(folder)
    if what == "accuracy":
        accuracy(example, data, keys["steps"], keys["seeds"], keys["narrow"])
    elif what == "bits":
        bits(example, data, keys["steps"], keys["narrow"])
    elif what == "time":
        seconds(example, data, keys["turns"], keys["narrow"])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 3 else sys.exit(__doc__)
