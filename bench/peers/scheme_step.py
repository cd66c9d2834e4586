#!/usr/bin/env python3
"""One training step of each rounding scheme, once by halfulp and once written here for torch.

Written from the papers' descriptions of their schemes: where a tensor is rounded, what of it is
counted, what is summed before or after it. Compared are, of every tensor that is rounded, the
numbers that overflowed, vanished, became subnormal, are zero or NaN, all to the last one; that both
round the same tensors; and every weight after the step, bit for bit.

- lee: every operation's output is rounded and saturates; the gradient of a tensor is rounded by
  each of its readers, the sum of these is float32. Source: Lee et al., "Training with Mixed-Precision
  Floating-Point Assignments", equation 1 and the released code.
- popescu: all inputs and outputs, of a linear layer and of a convolution with a bias also the product
  before it; sums of gradients are rounded again. Source: Popescu et al., "Representation range needs
  for 16-bit neural network training".
- micikevicius: as stored in 16 bits; sums of gradients are rounded again. Source: Micikevicius et
  al., "Mixed Precision Training".

Sums are made in the order that halfulp documents, so that equality can be demanded: products are
chains of float32 multiply-adds over kernel row, kernel column and channel (a multiply-add here is an
exact product and a sum in double, rounded to float32), weight gradients over samples, rows and
columns; sums by channel are made in lines, as kernel/reduce/channel.c has them.

    /usr/bin/python3 bench/peers/scheme_step.py [--halfulp=PROGRAM] [--verbose] [MODEL ...]

Needs torch (Debian: python3-torch). Exit code 0: the same; 1: not; 77: no torch here.
"""
import argparse
import json
import math
import os
import sys
import tempfile

import same_model
from same_model import call, make_data, make_model, read_safetensors, start, state_of
import torch

BATCH, CLASSES, LR = 8, 10, 0.1
MODELS = ("resnet20", "squeezenet")


# ---- formats ----

class Format:
    """Rounding to nearest, ties to even, of float32 numbers, and counts of what it did."""

    def __init__(self, exponent_bits, fraction_bits, bias, ieee, saturates):
        self.emin, self.fraction_bits = 1 - bias, fraction_bits
        top = 2 ** exponent_bits - (2 if ieee else 1)
        self.largest = (2.0 - 2.0 ** -fraction_bits) * 2.0 ** (top - bias)
        self.saturates = saturates

    def round(self, x):
        """(rounded, counts): [elements, overflow, underflow, subnormal, zero, nan]."""
        size = x.double().abs()
        exponent = torch.frexp(size)[1] - 1
        quantum = torch.pow(2.0, (torch.clamp(exponent, min=self.emin) - self.fraction_bits).double())
        y = torch.round(size / quantum) * quantum
        over = y > self.largest
        counts = [x.numel(), over, (size > 0) & (y == 0), (y > 0) & (y < 2.0 ** self.emin), y == 0,
                  torch.isnan(x)]
        y = torch.where(over, self.largest if self.saturates else torch.inf, y)
        y = torch.copysign(y, x.double()).float()
        return y, [int(c.sum()) if torch.is_tensor(c) else c for c in counts]


class Scheme:
    """forward, weight, backward, weight_backward: the formats by role."""

    def __init__(self, precision, formats, splits_bias, sums_again, scale, words=()):
        self.precision, self.scale, self.words = precision, scale, words
        self.rounds_loss = not sums_again
        self.forward, self.weight, self.backward, self.weight_backward = formats
        self.splits_bias, self.sums_again = splits_bias, sums_again


def fp(e, m, extra, saturates):
    return Format(e, m, 2 ** (e - 1) - 1 + extra, ieee=False, saturates=saturates)


def ieee(e, m):
    return Format(e, m, 2 ** (e - 1) - 1, ieee=True, saturates=False)


SCHEMES = {
    "lee": Scheme("hfp8", (fp(4, 3, 4, True), fp(4, 3, 4, True), fp(5, 2, 0, False), fp(6, 9, 0, False)),
                  splits_bias=False, sums_again=False, scale=2.0 ** 10),
    "lee, narrow": Scheme("w=fp(2,3,2),act=fp(2,3,2),grad=fp(4,2,0),wgrad=fp(5,4,0)",
                          (fp(2, 3, 2, True), fp(2, 3, 2, True), fp(4, 2, 0, False), fp(5, 4, 0, False)),
                          splits_bias=False, sums_again=False, scale=1.0),
    "popescu": Scheme("1/5/10/d", (ieee(5, 10),) * 4, splits_bias=True, sums_again=True, scale=1.0,
                      words=("precision.scheme=popescu",)),
    "popescu 1/6/9": Scheme("1/6/9/d", (ieee(6, 9),) * 4, splits_bias=True, sums_again=True,
                            scale=2.0 ** 12),
    "micikevicius": Scheme("fp16", (ieee(5, 10),) * 4, splits_bias=False, sums_again=True,
                           scale=2.0 ** 8),
}


# ---- sums by channel ----

def columns(x):
    """x [N, C, ..] as halfulp adds it up by channel: the numbers of whole rows of pixels, side by
    side in lines of a width that C divides, blocks of 128 lines, and the numbers behind them. Inside
    a block sums are float32, in the order of the lines; between blocks and columns they are double.
    Gives (blocks, what is left): [lines, width] each, and a line that is not full."""
    channels = x.shape[1]
    width = math.lcm(channels, 32 if channels < 32 else 8)
    flat = x.movedim(1, -1).flatten()
    whole = flat.numel() // width * width
    return flat[:whole].reshape(-1, width).split(128), flat[whole:]


def add_lines(block):
    total = torch.zeros(block.shape[1])
    for line in block:
        total = total + line
    return total


def fold(total, channels):
    """Columns [width] to channels, in ascending order."""
    parts = total.reshape(-1, channels)
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result


def channel_sums(x):
    """Sums of x [N, C, ..], in double."""
    blocks, rest = columns(x)
    total = torch.zeros(blocks[0].shape[1] if blocks else rest.numel(), dtype=torch.float64)
    for block in blocks:
        total = total + add_lines(block).double()
    total[:rest.numel()] += rest.double()
    return fold(total, x.shape[1])


def join(n, mean, square, n_right, mean_right, square_right):
    """Moments of two groups (Chan, Golub and LeVeque)."""
    weight = n_right / (n + n_right)
    delta = mean_right - mean
    return mean + delta * weight, square + square_right + delta * delta * (n * weight)


def channel_moments(x):
    """Means, and sums of squares about them, of x [N, C, ..] with whole lines alone."""
    blocks, rest = columns(x)
    assert not rest.numel(), "choose a batch whose lines are full"
    shift, lines = blocks[0][0], 0
    mean = square = torch.zeros(len(shift), dtype=torch.float64)
    for block in blocks:
        n, away = len(block), block - shift
        total, inverse = add_lines(away).double(), 1.0 / len(block)
        middle = shift.double() + total * inverse
        delta, weight = middle - mean, n / (lines + n)
        mean = mean + delta * weight
        square = square + (add_lines(away * away).double() - total * total * inverse +
                           delta * delta * (lines * weight))
        shift, lines = middle.float(), lines + n
    means, squares = mean.reshape(-1, x.shape[1]), square.reshape(-1, x.shape[1])
    result = torch.zeros(2, x.shape[1], dtype=torch.float64)
    for k in range(len(means)):
        result = torch.stack(join(float(lines * k), *result, float(lines), means[k], squares[k]))
    return result[0], torch.clamp(result[1], min=0.0)


# ---- a step ----

class Tensor:
    def __init__(self, name, value):
        self.name, self.value, self.parts = name, value, []


class Step:
    """The operations of a network as they run, and their gradients in the reverse order."""

    def __init__(self, scheme, masters):
        self.scheme, self.masters = scheme, masters
        self.counts, self.gradients, self.running, self.undo = {}, {}, {}, []

    def note(self, name, rounded):
        value, counts = rounded
        if counts is None:
            return value
        old = self.counts.get(name, [0] * len(counts))
        self.counts[name] = [a + b for a, b in zip(old, counts)]
        return value

    def make(self, name, value):
        return Tensor(name, self.note(name, self.scheme.forward.round(value)))

    def parameter(self, name):
        return self.note(name, self.scheme.weight.round(self.masters[name]))

    def operand(self, layer, place, numbers):
        """What a product multiplies; recipes round it (recipe_step.py)."""
        return numbers

    def read(self, name, i, tensor):
        """Input i of an operation as it reads it."""
        return tensor.value

    def update(self, name, gradient):
        """A weight behind plain gradient descent."""
        inverse = torch.tensor(1.0 / self.scheme.scale)
        return self.masters[name] - torch.tensor(LR) * (gradient * inverse)

    def give(self, tensor, gradient):
        """What a reader of the tensor hands back."""
        name = tensor.name + ".grad"
        tensor.parts.append(self.note(name, self.scheme.backward.round(gradient)))

    def give_parameter(self, name, gradient):
        rounded = self.scheme.weight_backward.round(gradient)
        self.gradients[name] = self.note(name + ".grad", rounded)

    def take(self, tensor):
        """The whole gradient of a tensor."""
        total = tensor.parts[0]
        for part in tensor.parts[1:]:
            total = total + part
        if len(tensor.parts) > 1 and self.scheme.sums_again:
            total = self.note(tensor.name + ".grad.sum", self.scheme.backward.round(total))
        return total

    def run(self, network, images, labels):
        network(self, self.make("input", images), labels)
        for undo in reversed(self.undo):
            undo()


def chain(terms):
    """Sum of (weights, values) in float32, one multiply-add after the other."""
    total = None
    for weight, value in terms:
        product = weight.double() * value.double()
        total = (product if total is None else total.double() + product).float()
    return total


def windows(x, kernel, stride, pad):
    """The rows and columns that each tap of a kernel sees: [N, C, OH, OW] by (row, column)."""
    padded = torch.nn.functional.pad(x, (pad, pad, pad, pad))
    height = (x.shape[2] + 2 * pad - kernel) // stride + 1
    width = (x.shape[3] + 2 * pad - kernel) // stride + 1
    for row in range(kernel):
        for column in range(kernel):
            yield row, column, padded[:, :, row:row + stride * (height - 1) + 1:stride,
                                      column:column + stride * (width - 1) + 1:stride]


def product(x, weight, stride, pad, start=None):
    """[N, O, OH, OW] from x [N, I, H, W] and weight [O, I, K, K]."""
    terms = [] if start is None else [(torch.ones(1), start)]
    for row, column, seen in windows(x, weight.shape[2], stride, pad):
        for c in range(x.shape[1]):
            terms.append((weight[:, c, row, column].reshape(1, -1, 1, 1), seen[:, c:c + 1]))
    return chain(terms)


def input_gradient(dy, weight, shape, stride, pad):
    """dx [N, I, H, W]: every place adds the taps that it was seen by, in their order."""
    kernel, (height, width) = weight.shape[2], shape[2:]
    total = torch.zeros(shape[0], shape[1], height + 2 * pad, width + 2 * pad)
    for row in range(kernel):
        for column in range(kernel):
            rows = slice(row, row + stride * (dy.shape[2] - 1) + 1, stride)
            columns = slice(column, column + stride * (dy.shape[3] - 1) + 1, stride)
            for o in range(weight.shape[0]):
                term = weight[o, :, row, column].reshape(1, -1, 1, 1).double() * dy[:, o:o + 1].double()
                total[:, :, rows, columns] = (total[:, :, rows, columns].double() + term).float()
    return total[:, :, pad:pad + height, pad:pad + width]


def weight_gradient(x, dy, kernel, stride, pad):
    """dw [O, I, K, K]: over samples, output rows and columns, in this order."""
    taps = torch.stack([seen for _, _, seen in windows(x, kernel, stride, pad)], 4).double()
    taps = taps.permute(0, 2, 3, 1, 4).flatten(0, 2)  # [terms, I, K * K]
    errors = dy.permute(0, 2, 3, 1).flatten(0, 2).double()
    total = torch.zeros(dy.shape[1], x.shape[1], kernel * kernel)
    for tap, error in zip(taps, errors):
        total = torch.addcmul(total.double(), error.reshape(-1, 1, 1), tap.unsqueeze(0)).float()
    return total.reshape(*total.shape[:2], kernel, kernel)


def bias_gradient(dy):
    total = torch.zeros(dy.shape[1])
    for error in dy.movedim(1, -1).flatten(0, -2):
        total = total + error
    return total


def add_bias(step, name, pre, bias):
    """The output of a layer from its product, which is a rounding point where the scheme says so."""
    shape = (1, -1) + (1,) * (pre.value.dim() - 2)
    out = step.make(name + ".out", pre.value + bias.reshape(shape))

    def undo():
        dy = step.take(out)
        step.give(pre, dy)
        step.give_parameter(name + ".bias", channel_sums(dy).float())
    step.undo.append(undo)
    return out


def convolve(step, name, x, stride=1, is_first=False):
    weight = step.parameter(name + ".weight")
    kernel, pad = weight.shape[2], weight.shape[2] // 2
    bias = step.parameter(name + ".bias") if name + ".bias" in step.masters else None
    split = bias is not None and step.scheme.splits_bias
    start = None if bias is None or split else bias.reshape(1, -1, 1, 1).expand(1, -1, 1, 1)
    made = product(step.operand(name, "forward.x", x.value), step.operand(name, "forward.w", weight), stride,
                   pad, start)
    out = step.make(name + (".product.out" if split else ".out"), made)

    def undo():
        dy = step.take(out)
        if not is_first:
            step.give(x, input_gradient(step.operand(name, "input_grad.dy", dy),
                                        step.operand(name, "input_grad.w", weight), x.value.shape, stride, pad))
        step.give_parameter(name + ".weight", weight_gradient(step.operand(name, "weight_grad.x", x.value),
                                                              step.operand(name, "weight_grad.dy", dy), kernel,
                                                              stride, pad))
        if bias is not None and not split:
            step.give_parameter(name + ".bias", bias_gradient(dy))
    step.undo.append(undo)
    return add_bias(step, name, out, bias) if split else out


def linear(step, name, x):
    """x [N, I]: as a convolution of one pixel."""
    weight, bias = step.parameter(name + ".weight"), step.parameter(name + ".bias")
    wide, split = weight.reshape(*weight.shape, 1, 1), step.scheme.splits_bias
    image = x.value.reshape(*x.value.shape, 1, 1)
    start = None if split else bias.reshape(1, -1, 1, 1)
    made = product(image, wide, 1, 0, start).flatten(1)
    out = step.make(name + (".product.out" if split else ".out"), made)

    def undo():
        dy = step.take(out).reshape(*out.value.shape, 1, 1)
        step.give(x, input_gradient(dy, wide, image.shape, 1, 0).flatten(1))
        step.give_parameter(name + ".weight",
                            weight_gradient(image, dy, 1, 1, 0).reshape(weight.shape))
        if not split:
            step.give_parameter(name + ".bias", bias_gradient(dy))
    step.undo.append(undo)
    return add_bias(step, name, out, bias) if split else out


def single(number):
    """The float32 number nearest to a number."""
    return float(torch.tensor(number))


def batch_norm(step, name, x, epsilon=single(1e-5), momentum=single(0.1)):
    """Statistics in double, then float32, an operation at a time."""
    gamma, beta = step.parameter(name + ".weight"), step.parameter(name + ".bias")
    shape, n = (1, -1, 1, 1), x.value.numel() // x.value.shape[1]
    mean, squares = channel_moments(x.value)
    invstd = 1.0 / torch.sqrt(squares / n + epsilon)
    centred = x.value - mean.float().reshape(shape)
    scale = (gamma.double() * invstd).float().reshape(shape)
    out = step.make(name + ".out", centred * scale + beta.reshape(shape))
    for kind, new in (("mean", mean), ("var", squares / n * (n / (n - 1)))):
        old = step.masters[f"{name}.running_{kind}"].double()
        step.running[f"{name}.running_{kind}"] = ((1 - momentum) * old + momentum * new).float()

    def undo():
        dy = step.take(out)
        total, along = channel_sums(dy), channel_sums(dy * centred)
        middle = (total / n).float().reshape(shape)
        slope = (along / n * invstd * invstd).float().reshape(shape)
        step.give(x, scale * ((dy - middle) - centred * slope))
        step.give_parameter(name + ".weight", (along * invstd).float())
        step.give_parameter(name + ".bias", total.float())
    step.undo.append(undo)
    return out


def relu(step, name, x):
    out = step.make(name + ".out", torch.relu(x.value))
    step.undo.append(lambda: step.give(x, torch.where(x.value > 0, step.take(out), 0.0)))
    return out


def add(step, name, a, b):
    out = step.make(name + ".out", step.read(name, 0, a) + step.read(name, 1, b))

    def undo():
        dy = step.take(out)
        step.give(a, dy)
        step.give(b, dy)
    step.undo.append(undo)
    return out


def concatenate(step, name, parts):
    out = step.make(name + ".out", torch.cat([part.value for part in parts], 1))

    def undo():
        pieces = step.take(out).split([part.value.shape[1] for part in parts], 1)
        for part, piece in zip(parts, pieces):
            step.give(part, piece)
    step.undo.append(undo)
    return out


def max_pool(step, name, x):
    """2 x 2; the first largest number takes the gradient."""
    high, taps = torch.nn.functional.max_pool2d(x.value, 2, return_indices=True)
    out = step.make(name + ".out", high)
    step.undo.append(lambda: step.give(x, torch.nn.functional.max_unpool2d(
        step.take(out), taps, 2, output_size=x.value.shape[2:])))
    return out


def mean_pool(step, name, x):
    out = step.make(name + ".out", x.value.double().mean((2, 3)).float())

    def undo():
        pixels = x.value.shape[2] * x.value.shape[3]
        dy = (step.take(out).double() / pixels).float()
        step.give(x, dy.reshape(*dy.shape, 1, 1).expand(x.value.shape))
    step.undo.append(undo)
    return out


def classify(step, logits, labels):
    """Log-softmax and the negative log-likelihood, their gradients scaled."""
    made = torch.log_softmax(logits.value.double(), 1).float()
    chances = step.make("log_softmax.out", made)
    rows = torch.arange(len(labels))
    if step.scheme.rounds_loss:  # the loss is an operation like any other
        step.make("loss.out", -chances.value[rows, labels])

    def undo():
        seed = torch.zeros_like(chances.value)
        seed[rows, labels] = -step.scheme.scale / len(labels)
        step.give(chances, seed)
        dy = step.take(chances).double()
        total = dy.sum(1, keepdim=True)
        step.give(logits, (dy - torch.exp(chances.value.double()) * total).float())
    step.undo.append(undo)


# ---- networks ----

def resnet20(step, x, labels):
    def norm(name, x, stride=1, is_first=False):
        conv = convolve(step, name[0], x, stride, is_first)
        return batch_norm(step, name[1], conv)
    x = relu(step, "relu1", norm(("conv1", "bn1"), x, is_first=True))
    for stage in range(1, 4):
        for block in range(3):
            at, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = relu(step, f"{at}.relu1", norm((f"{at}.conv1", f"{at}.bn1"), x, stride))
            y = norm((f"{at}.conv2", f"{at}.bn2"), y)
            if f"{at}.shortcut.conv.weight" in step.masters:
                x = norm((f"{at}.shortcut.conv", f"{at}.shortcut.bn"), x, stride)
            x = relu(step, f"{at}.relu2", add(step, f"{at}.add", y, x))
    classify(step, linear(step, "fc", mean_pool(step, "pool", x)), labels)


def squeezenet(step, x, labels):
    def norm(prefix, x):
        return batch_norm(step, f"{prefix}.bn", convolve(step, f"{prefix}.conv", x))
    x = batch_norm(step, "bn1", convolve(step, "conv1", x, is_first=True))
    x = max_pool(step, "pool1", relu(step, "relu1", x))
    for i in range(2, 10):
        x = relu(step, f"fire{i}.squeeze.relu", norm(f"fire{i}.squeeze", x))
        branches = [norm(f"fire{i}.expand{k}x{k}", x) for k in (1, 3)]
        x = relu(step, f"fire{i}.relu", concatenate(step, f"fire{i}.cat", branches))
        x = max_pool(step, f"pool{i}", x) if i in (4, 8) else x
    classify(step, mean_pool(step, "pool10", convolve(step, "conv10", x)), labels)


NETWORKS = {"resnet20": resnet20, "squeezenet": squeezenet}


# ---- comparison ----

def images_of(folder):
    """A small data set, and its images as the network gets them: single operations in float32."""
    spec, images, labels = make_data(f"{folder}/data", 32, BATCH)
    mean = torch.tensor([0.4914, 0.4822, 0.4465]).reshape(1, 3, 1, 1)
    std = torch.tensor([0.2023, 0.1994, 0.2010]).reshape(1, 3, 1, 1)
    pixels = torch.round((images.double() * std + mean) * 255).float()
    unit = (pixels.double() / 255).float()
    return spec, ((unit - mean).double() / std.double()).float(), labels


def step_of_halfulp(options, folder, name, spec, scheme, steps=1):
    """Counts by tensor of what is rounded, of several steps by tensor and step, and the weights after them."""
    run = f"{folder}/run"
    call(options.halfulp, "train", f"model={name}", f"model.width={options.width}", f"data={spec}",
         f"data.limit={BATCH}", "data.test_limit=8", "data.augment=none", "data.shuffle=off",
         f"precision={scheme.precision}", *scheme.words, "scaler=constant",
         f"scaler.init={scheme.scale}", f"batch={BATCH}", f"steps={steps}", f"lr={LR}", "lr.schedule=constant",
         "lr.warmup=0", "optimizer.momentum=0", "optimizer.nesterov=off", "optimizer.weight_decay=0",
         f"init={folder}/before.safetensors", f"run.chunk={BATCH}",
         "accumulator.rules=['*.weight_grad: fmacs']", "run.log_every=1", "quiet=on", f"run.dir={run}")
    call(options.halfulp, "export", run, f"out={folder}/after.safetensors")
    with open(f"{run}/numerics.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    tables = [line["tensors"] for line in lines if "tensors" in line]
    assert len(tables) == steps
    return ({row[0] + (f" in step {step}" if steps > 1 else ""): row[2:8]
             for step, rows in enumerate(tables) for row in rows if row[1] != "float32"},
            read_safetensors(f"{folder}/after.safetensors"))


def updated(step):
    """Weights behind a step of plain gradient descent, and running statistics."""
    return step.running | {name: step.update(name, gradient) for name, gradient in step.gradients.items()}


def compare(options, name, scheme_name):
    scheme = SCHEMES[scheme_name]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        spec, images, labels = images_of(folder)
        model = start(make_model(name, 3, options.width, 32))
        masters = {n: t.clone() for n, t in state_of(model).items()}
        same_model.write_safetensors(f"{folder}/before.safetensors", masters)
        ours, weights = step_of_halfulp(options, folder, name, spec, scheme)
    step = Step(scheme, masters)
    with torch.no_grad():
        step.run(NETWORKS[name], images, labels)
    return report(options, name, scheme_name, step, ours, weights)


def report(options, name, scheme_name, step, ours, weights):
    only_here, only_there = set(step.counts) - set(ours), set(ours) - set(step.counts)
    other = [n for n in ours if n in step.counts and ours[n] != step.counts[n]]
    moved = [n for n, w in updated(step).items() if not torch.equal(w, weights[n])]
    if options.verbose:
        for title, names in (("only here", only_here), ("only in halfulp", only_there),
                             ("other weights", moved)):
            print(f"  {title}: {' '.join(sorted(names)) or 'none'}")
        for n in other:
            print(f"  {n}: halfulp {ours[n]}, here {step.counts[n]}")
    seen = [sum(c[k] for c in step.counts.values()) for k in range(6)]
    good = not (only_here or only_there or other or moved)
    print(f"{name:10} {scheme_name:13} {len(ours)} tensors: {len(other)} with other counts, "
          f"{len(only_here) + len(only_there)} rounded by one side only, {len(moved)} of {len(step.gradients)} "
          f"weights differ; of {seen[0]} numbers {seen[1]} overflow, {seen[2]} vanish, {seen[3]} are "
          f"subnormal  {'same' if good else 'DIFFERENT'}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[*MODELS, []])
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", "build/halfulp"))
    parser.add_argument("--width", type=float, default=0.25)
    parser.add_argument("--scheme", action="append", choices=list(SCHEMES), help="these alone")
    parser.add_argument("--verbose", action="store_true", help="what differs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    good = [compare(options, name, scheme) for name in options.models or MODELS
            for scheme in options.scheme or SCHEMES]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
