#!/usr/bin/env python3
"""One training step of each recipe that rounds what products multiply, once by halfulp and once here.

Written from the recipes' descriptions: DeepSeek-V3 (arXiv 2412.19437, section 3.3), NVFP4 as
TransformerEngine computes it (arXiv 2509.25149, section 4 and appendix), MXFP8 with scales rounded up.

- resnet20, between the products in bfloat16, as these recipes are used: every operand's numbers that overflowed, vanished, became subnormal, are zero or NaN, to the last
  one, and every weight after the step, bit for bit. Everything that is not an operand is as in
  scheme_step.py, in float32 and halfulp's order of sums. Random words are drawn here, too.
- deit-s, a Transformer of pictures: in double precision. Counts differ by the numbers that stand so near
  the middle between two of the format that float32's own rounding before decides; weights by as much as
  those make: told as shares, and bounded.

    /usr/bin/python3 bench/peers/recipe_step.py [--halfulp=PROGRAM] [--verbose] [--recipe=NAME] [MODEL ...]

Needs torch (Debian: python3-torch) and numpy. Exit code 0: the same; 1: not; 77: no torch here.
"""
import argparse
import math
import os
import sys
import tempfile
import types

import same_model
import scheme_step
import token_models
import torch
from same_model import make_model, start, state_of
from scheme_step import Format, Scheme, Step

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "tests"))
from reference import random_words, xxh64  # noqa: E402

LARGEST = torch.finfo(torch.float32).max
SIGNS = torch.tensor([1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1], dtype=torch.float32)


class Plain:
    """No rounding."""

    def round(self, x):
        return x, None


class Element(Format):
    """An element format that saturates; with words: stochastic."""

    def __init__(self, exponent_bits, fraction_bits, bias, largest):
        super().__init__(exponent_bits, fraction_bits, bias, ieee=False, saturates=True)
        self.largest = largest

    def round(self, x, words=None):
        if words is None:
            return super().round(x)
        size = x.double().abs()
        exponent = torch.frexp(size)[1] - 1
        quantum = torch.pow(2.0, (torch.clamp(exponent, min=self.emin) - self.fraction_bits).double())
        below = torch.floor(size / quantum)
        rest = size / quantum - below
        up = (words < rest) & (rest >= 2.0 ** -33)
        y = (below + up) * quantum
        over = y > self.largest
        counts = [x.numel(), over, (size > 0) & (y == 0), (y > 0) & (y < 2.0 ** self.emin), y == 0,
                  torch.isnan(x)]
        y = torch.copysign(torch.where(over, self.largest, y), x.double()).to(x.dtype)
        return y, [int(c.sum()) if torch.is_tensor(c) else c for c in counts]


E4M3, E2M1 = Element(4, 3, 7, 448.0), Element(2, 1, 1, 6.0)


# ---- tiles ----

def maxima(x, lines, length):
    """|x| [R, C] in tiles of lines x length: every number's tile maximum."""
    rows, columns = x.shape
    wide = torch.nn.functional.pad(x.abs(), (0, -columns % length, 0, -rows % lines))
    tops = wide.reshape(wide.shape[0] // lines, lines, wide.shape[1] // length, length).amax((1, 3))
    return tops.repeat_interleave(lines, 0).repeat_interleave(length, 1)[:rows, :columns]


def deepseek(x, lines, length, words, top):
    scale = torch.clamp(maxima(x, lines, length), min=torch.tensor(1e-4)) / 448
    y, counts = E4M3.round(x * (1 / scale), words)
    return y * scale, counts


def mxfp8(x, lines, length, words, top):
    """The least power of two with which nothing saturates."""
    share, exponent = torch.frexp(maxima(x, lines, length).double() / 448)
    power = torch.where(share == 0, -127, torch.where(share == 0.5, exponent - 1, exponent))
    scale = torch.pow(2.0, power.double())
    y, counts = E4M3.round((x.double() / scale).to(x.dtype), words)
    return (y.double() * scale).to(x.dtype), counts


def nvfp4(x, lines, length, words, top):
    """Each operation rounded to x's own precision."""
    most = torch.tensor(2688.0, dtype=x.dtype)  # a quotient of tensors: torch inverts what divides a number
    factor = torch.clamp(most / top, max=LARGEST) if top > 0 else torch.ones((), dtype=x.dtype)
    code, _ = E4M3.round(torch.clamp(maxima(x, lines, length) * (factor * (1 / torch.tensor(6.0, dtype=x.dtype))),
                                     max=448))
    unit = code * (1 / factor)
    y, counts = E2M1.round(torch.where(unit > 0, x * torch.clamp(1 / unit, max=LARGEST), 0.0 * x), words)
    counts[2] += int(((unit == 0) & (x != 0)).sum())
    return y * unit, counts


def turn(x, back):
    """Groups of as many rows as a Hadamard matrix has, TransformerEngine's signs."""
    size = x.shape[1]
    signs = SIGNS[:size].to(x.dtype).reshape(1, size, 1)
    y, d = x if back else x * signs, size // 2
    while d > 0:
        pairs = y.reshape(len(y), size // (2 * d), 2, d, -1)
        y = torch.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(y.shape)
        d //= 2
    y = y * torch.tensor(1 / math.sqrt(size), dtype=torch.float32).to(x.dtype)
    return y * signs if back else y


def rotate(x, back=False):
    """Rows in groups of 16; what is left at the end in powers of two, the largest first."""
    made, at, size = [], 0, 16
    while at < len(x):
        while size > len(x) - at:
            size //= 2
        end = at + (len(x) - at) // size * size
        made.append(turn(x[at:end].reshape(-1, size, x.shape[1]), back).reshape(end - at, -1))
        at = end
    return torch.cat(made)


class Recipe(Scheme):
    """kind(x, lines, length, words, largest of the tensor) rounds a matrix in tiles; block: along the inner dimension; square: lines
    of a weight's tile."""

    def __init__(self, precision, kind, block, square, high, blocks=4, draws=False, turns=False):
        bf16 = scheme_step.ieee(8, 7)
        super().__init__(precision, (bf16, Plain(), bf16, Plain()), splits_bias=False, sums_again=True, scale=1.0,
                         words=("precision.rules=['act: bf16', 'act.grad: bf16']",))
        self.kind, self.block, self.square, self.high = kind, block, square, high
        self.blocks, self.draws, self.turns = blocks, draws, turns
        self.node = ""  # what the node of a layer's product is called behind the layer's name

    def draw(self, layer, place, count):
        stream = xxh64((layer + self.node).encode(), xxh64(f"operand {place}".encode()))
        key = types.SimpleNamespace(seed=1, stream=stream, step=0)
        return torch.from_numpy(random_words(key, 0, count).astype("float64") * 2.0 ** -32)

    def matrix(self, layer, place, x, top=None, keeps_turned=False):
        """A matrix [rows, columns] as the product named by `place` multiplies it."""
        down = place.startswith("weight_grad") or place == "input_grad.w"
        lines = self.square if place.endswith(".w") else 1
        draws = self.draws and place.endswith(".dy")
        words = self.draw(layer, place, x.numel()).reshape(x.shape) if draws else None
        turned = self.turns and place.startswith("weight_grad")
        x = rotate(x) if turned else x
        sides = (self.block, lines) if down else (lines, self.block)
        y, counts = self.kind(x, *sides, words, x.abs().max() if top is None else top)
        return rotate(y, back=True) if turned and not keeps_turned else y, counts


RECIPES = {
    "deepseek-fp8": Recipe("deepseek-fp8", deepseek, 128, 128, 1),
    "mxfp8-te": Recipe("mxfp8-te", mxfp8, 32, 1, 1),
    "nvfp4-te": Recipe("nvfp4-te", nvfp4, 16, 16, 0.15, blocks=2, draws=True, turns=True),
}


def highest(recipe, layers):
    """Layers that stay as they are, at the end."""
    count = math.ceil(recipe.high * len(layers)) if recipe.high < 1 else recipe.high
    return set(layers[len(layers) - count:])


# ---- exactly ----

class RecipeStep(Step):
    def __init__(self, recipe, masters, layers):
        super().__init__(recipe, masters)
        self.high = highest(recipe, layers)

    def operand(self, layer, place, numbers):
        """x and dy [N, C, H, W] by rows of channels, w [O, I, K, K] tap by tap; each a matrix of its own."""
        if layer in self.high:
            return numbers
        name = f"{layer}.{place}"
        if not place.endswith(".w"):
            rows = numbers.movedim(1, -1)
            made = self.note(name, self.scheme.matrix(layer, place, rows.reshape(-1, rows.shape[-1])))
            return made.reshape(rows.shape).movedim(-1, 1)
        taps = [numbers[:, :, i, j] for i in range(numbers.shape[2]) for j in range(numbers.shape[3])]
        top = numbers.abs().max()
        made = [self.note(name, self.scheme.matrix(layer, place, tap, top)) for tap in taps]
        return torch.stack(made, 2).reshape(numbers.shape)


def layers_of(masters):
    return [n[:-len(".weight")] for n in masters if n.endswith(".weight") and masters[n].dim() > 1]


def compare_exactly(options, name, recipe_name):
    recipe = RECIPES[recipe_name]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        spec, images, labels = scheme_step.images_of(folder)
        model = start(make_model(name, 3, options.width, 32))
        masters = {n: t.clone() for n, t in state_of(model).items()}
        same_model.write_safetensors(f"{folder}/before.safetensors", masters)
        ours, weights = scheme_step.step_of_halfulp(options, folder, name, spec, recipe)
    step = RecipeStep(recipe, masters, layers_of(masters))
    with torch.no_grad():
        step.run(scheme_step.NETWORKS[name], images, labels)
    return scheme_step.report(options, name, recipe_name, step, ours, weights)


# ---- a Transformer, in double precision ----

class Rounded(torch.autograd.Function):
    """x w' + b, by rounded operands."""

    @staticmethod
    def forward(context, x, w, bias, layer, step):
        context.save_for_backward(x, w)
        context.layer, context.step = layer, step
        rows = step.matrix(layer, "forward.x", x.reshape(-1, x.shape[-1]))
        return (rows @ step.matrix(layer, "forward.w", w).T + bias).reshape(*x.shape[:-1], len(w))

    @staticmethod
    def backward(context, dy):
        x, w = context.saved_tensors
        layer, step = context.layer, context.step
        rows, read = dy.reshape(-1, dy.shape[-1]), x.reshape(-1, x.shape[-1])
        dx = step.matrix(layer, "input_grad.dy", rows) @ step.matrix(layer, "input_grad.w", w)
        dw = step.matrix(layer, "weight_grad.dy", rows).T @ step.matrix(layer, "weight_grad.x", read)
        return dx.reshape(x.shape), dw, rows.sum(0), None, None


class DoubleStep:
    def __init__(self, recipe):
        self.recipe, self.counts = recipe, {}

    def matrix(self, layer, place, x):
        """Operands are rounded from float32, as halfulp has them."""
        y, counts = self.recipe.matrix(layer, place, x.float(), keeps_turned=True)
        old = self.counts.get(f"{layer}.{place}", [0] * len(counts))
        self.counts[f"{layer}.{place}"] = [a + b for a, b in zip(old, counts)]
        return y.double()


def round_layers(model, recipe):
    step = DoubleStep(recipe)
    recipe.node = ".product"
    layers = [(n, m) for n, m in model.named_modules() if isinstance(m, (torch.nn.Linear, torch.nn.Conv2d))]
    high = highest(recipe, [n for n, _ in layers])
    for name, module in layers:
        if name not in high and isinstance(module, torch.nn.Linear):
            module.forward = lambda x, m=module, n=name: Rounded.apply(x, m.weight, m.bias, n, step)
    return step


def distance(a, b):
    return float((a.double() - b.double()).norm() / (b.double().norm() + 1e-30))


def compare_transformer(options, name, recipe_name):
    recipe = RECIPES[recipe_name]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        spec, images, labels = scheme_step.images_of(folder)
        model = start(token_models.of(4, 64, recipe.blocks, 2)(3, 1.0, 10, 32))
        masters = {n: t.clone() for n, t in state_of(model).items()}
        same_model.write_safetensors(f"{folder}/before.safetensors", masters)
        options.width = 1.0
        # The convolution that cuts patches stays high on both sides.
        scheme = types.SimpleNamespace(precision=recipe.precision, scale=1.0,
                                       words=("operand.rules=['patch: fp32']", "optimizer=sgd",
                                              f"model.layers={recipe.blocks}"))
        ours, weights = scheme_step.step_of_halfulp(options, folder, name, spec, scheme)
    model = model.double()
    step = round_layers(model, recipe)
    loss = torch.nn.functional.cross_entropy(model(images.double()), labels)
    loss.backward()
    gradient = {n: p.grad for n, p in model.named_parameters()}
    other = sum(abs(a - b) for n in ours for a, b in zip(ours[n], step.counts[n]))
    total = sum(c[0] for c in step.counts.values())
    # Keys' biases move all scores of a row alike: their gradients are nothing but rounding.
    moved = {n: distance((masters[n] - weights[n]) / scheme_step.LR, gradient[n]) for n in gradient
             if not n.endswith(".k.bias")}
    middle, worst = sorted(moved.values())[len(moved) // 2], max(moved, key=moved.get)
    same = set(ours) == set(step.counts)
    good = same and other <= options.most_counts * total and middle <= options.most_distance
    print(f"{name:10} {recipe_name:13} {len(ours)} operands: counts differ by {other} of {total} numbers; "
          f"gradients differ by {middle:.2e} in the middle, {moved[worst]:.2e} in {worst}  "
          f"{'same' if good else 'DIFFERENT'}", flush=True)
    if options.verbose:
        print("  only here:", *sorted(set(step.counts) - set(ours)), "  only in halfulp:",
              *sorted(set(ours) - set(step.counts)))
        for n in ours:
            if n in step.counts and ours[n] != step.counts[n]:
                print(f"  {n}: halfulp {ours[n]}, here {step.counts[n]}")
    return good


MODELS = {"resnet20": compare_exactly, "deit-s": compare_transformer}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[*MODELS, []])
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", "build/halfulp"))
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--recipe", action="append", choices=list(RECIPES), help="these alone")
    parser.add_argument("--verbose", action="store_true", help="what differs")
    options = parser.parse_args()
    options.most_counts, options.most_distance = 1e-4, 1e-3
    torch.set_num_threads(1)
    good = [MODELS[name](options, name, recipe) for name in options.models or MODELS
            for recipe in options.recipe or RECIPES]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
