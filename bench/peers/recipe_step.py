#!/usr/bin/env python3
"""Training steps of each recipe that rounds what products multiply, once by halfulp and once here.

Written from the recipes' descriptions: DeepSeek-V3 (arXiv 2412.19437, section 3.3), NVFP4 as
TransformerEngine computes it (arXiv 2509.25149, section 4 and appendix), MXFP8 with scales rounded up,
TransformerEngine's delayed scaling (three steps, so that the history counts), unit scaling (its factors:
unit_sizes.py), in FP8 and, of four blocks, without rounding.

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
import unit_sizes
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


E4M3, E5M2, E2M1 = Element(4, 3, 7, 448.0), Element(5, 2, 15, 57344.0), Element(2, 1, 1, 6.0)


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
        self.steps = 1
        self.is_exact, self.more = False, ()  # nothing is rounded; keys of the Transformer beside the name
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

    def counted_as(self, layer, place):
        return f"{layer}.{place}"

    def begin(self):
        pass

    def end_step(self):
        pass


RECIPES = {
    "deepseek-fp8": Recipe("deepseek-fp8", deepseek, 128, 128, 1),
    "mxfp8-te": Recipe("mxfp8-te", mxfp8, 32, 1, 1),
    "nvfp4-te": Recipe("nvfp4-te", nvfp4, 16, 16, 0.15, blocks=2, draws=True, turns=True),
}


class UnitRecipe(Recipe):
    """A network whose numbers are near 1: in FP8 without scales, or float32 and many blocks."""

    def __init__(self, precision, blocks, rounds):
        super().__init__(precision, None, 1, 1, 1, blocks)
        self.splits_bias, self.is_exact = True, not rounds
        self.more = ("precision.scaling=unit",)

    def matrix(self, layer, place, x, top=None, keeps_turned=False):
        if self.is_exact:
            return x, None
        return (E5M2 if place.endswith(".dy") else E4M3).round(x)


class DelayedRecipe(Recipe):
    """Scales of tensors from the maxima of the steps before, as TransformerEngine's DelayedScaling has them: of x, w
    and dy one copy each, which all products of a layer multiply."""

    HISTORY = 1024

    def __init__(self):
        super().__init__("fp8-delayed-te", None, 1, 1, 1, blocks=1)
        self.steps, self.more = 3, ("operand.high=['last=1', 'patch']",)
        self.begin()

    def begin(self):
        self.maxima, self.factor, self.copies, self.older, self.number = {}, {}, {}, 0, 0

    def counted_as(self, layer, place):
        """No count of x is kept."""
        name = {"x": None, "w": f"{layer}.weight", "dy": f"{layer}.product.out.grad.sum"}[place.rsplit(".", 1)[-1]]
        return name and f"{name} in step {self.number}"

    def copy(self, layer, what, x):
        """(rounded, counts); counts None: it is there already."""
        key = layer, what
        if key in self.copies:
            return self.copies[key], None
        element = E5M2 if what == "dy" else E4M3
        self.maxima.setdefault(key, []).append(x.abs().max())
        factor = self.factor.get(key, torch.tensor(1.0))
        y, counts = element.round(x * factor)
        self.copies[key] = y * (1 / factor)
        return self.copies[key], counts

    def end_step(self):
        self.copies, self.number = {}, self.number + 1
        for key, maxima in self.maxima.items():
            del maxima[:-self.HISTORY]
            top = max(maxima)
            self.older += int(top > maxima[-1])  # of the steps before the last one
            most = torch.tensor((E5M2 if key[1] == "dy" else E4M3).largest)
            if top > 0:
                self.factor[key] = torch.clamp(most / top, max=LARGEST)

    def matrix(self, layer, place, x, top=None, keeps_turned=False):
        return self.copy(layer, place.rsplit(".", 1)[-1], x)


RECIPES |= {"fp8-delayed-te": DelayedRecipe(), "unit-scaling": UnitRecipe("unit-scaling", 2, True), "unit": UnitRecipe("fp32", 4, False)}


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


def draw_unit(model):
    """Weights of products start with a deviation of 1."""
    for _, parameter in model.named_parameters():
        if parameter.dim() > 1 and parameter.shape[0] > 1:
            torch.nn.init.normal_(parameter)


def layers_of(masters):
    return [n[:-len(".weight")] for n in masters if n.endswith(".weight") and masters[n].dim() > 1]


def sizes_of_resnet(masters, side):
    """ResNet-20 on pictures of side x side."""
    sizes, side_of = unit_sizes.Sizes(scheme_step.BATCH), [side]

    def conv(name, x, stride=1, is_first=False):
        weight, before = masters[name + ".weight"], side_of[0]
        after = before // stride
        made = sizes.product(name, x, weight.shape, after ** 2, before ** 2 * weight.shape[1],
                             needs_input=not is_first)
        return made, after

    def norm(names, x, stride=1, is_first=False):
        made, after = conv(names[0], x, stride, is_first)
        return sizes.norm(names[1], made, after ** 2, True), after
    x, _ = norm(("conv1", "bn1"), unit_sizes.Value(), is_first=True)
    x = sizes.relu("relu1", x)
    for stage in range(1, 4):
        for block in range(3):
            at, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y, after = norm((f"{at}.conv1", f"{at}.bn1"), x, stride)
            shortcut = f"{at}.shortcut"
            if f"{shortcut}.conv.weight" in masters:
                x, _ = norm((f"{shortcut}.conv", f"{shortcut}.bn"), x, stride)
            side_of[0] = after
            y = sizes.relu(f"{at}.relu1", y)
            y, _ = norm((f"{at}.conv2", f"{at}.bn2"), y)
            x = sizes.relu(f"{at}.relu2", sizes.add(f"{at}.add", y, x))
    weight = masters["fc.weight"]
    x = sizes.same("pool", x, 1 / side_of[0] ** 2)
    x = sizes.product("fc.product", x, weight.shape, 1, weight.shape[1], is_last=True)
    return classify(sizes, sizes.same("fc", x, parameters=[("fc.bias", 1)]), len(weight))


def classify(sizes, logits, classes):
    made = sizes.node("log_softmax", [logits], [math.sqrt((classes - 1) / classes)])
    return sizes.finish("loss", made, 1 / math.sqrt(classes))


class DelayedStep(RecipeStep):
    """One of several steps."""

    def note(self, name, rounded):
        return super().note(f"{name} in step {self.scheme.number}", rounded)

    def operand(self, layer, place, numbers):
        if layer in self.high or not place.endswith(".x"):
            return numbers
        return self.scheme.copy(layer, "x", numbers)[0]  # no count of it is kept

    def parameter(self, name):
        if self.masters[name].dim() == 1 or name == "fc.weight":
            return super().parameter(name)
        return self.note(name, self.scheme.copy(name[:-len(".weight")], "w", self.masters[name]))

    def take(self, tensor):
        total = super().take(tensor)
        layer = tensor.name[:-len(".out")]
        if f"{layer}.weight" not in self.masters or self.masters[f"{layer}.weight"].dim() != 4:
            return total
        return self.note(f"{tensor.name}.grad.sum", self.scheme.copy(layer, "dy", total))


def delayed_steps(recipe, masters, network, images, labels):
    """The last step, with the counts of all."""
    recipe.begin()
    counts = {}
    for number in range(recipe.steps):
        step = DelayedStep(recipe, masters, layers_of(masters))
        step.counts = counts
        step.run(network, images, labels)
        recipe.end_step()
        if number + 1 < recipe.steps:
            masters = masters | scheme_step.updated(step)
    assert recipe.older > 0, "the history has made no difference"
    return step


class Undos(list):
    """What goes back, each with the name of the node that it belongs to."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def append(self, undo):
        def named(reader=self.step.made):
            self.step.reader = reader
            undo()
        super().append(named)


class UnitStep(RecipeStep):
    def __init__(self, recipe, masters, layers, sizes):
        super().__init__(recipe, masters, layers)
        self.sizes, self.undo = sizes, Undos(self)
        self.made = self.reader = ""

    def factor(self, kind, name, tensor=None, i=0):
        node = self.sizes.nodes[name]
        if tensor is not None:
            value = self.sizes.values[tensor if tensor in self.sizes.values else f"{name}.{tensor.rsplit('.')[-1]}"]
            i = next(i for i, v in enumerate(node.inputs) if v is value)
        return unit_sizes.single(node.made if kind == "made" else getattr(node, kind)[i])

    def make(self, name, value):
        self.made = name[:-len(".out")]
        if name == "input":
            return super().make(name, value)
        value = value * self.factor("made", self.made)
        if name.endswith(".product.out"):
            return scheme_step.Tensor(name, value)
        return super().make(name, value)

    def read(self, name, i, tensor):
        return tensor.value * self.factor("read", name, i=i)

    def give(self, tensor, gradient):
        if tensor.name == "input":
            return
        reader = "loss" if tensor.name == "log_softmax.out" else self.reader
        gradient = gradient * self.factor("given", reader, tensor.name)
        if tensor.name.endswith(".product.out"):
            tensor.parts.append(gradient)
        else:
            super().give(tensor, gradient)

    def give_parameter(self, name, gradient):
        super().give_parameter(name, gradient * self.factor("given", self.reader, name))

    def update(self, name, gradient):
        held, start = held_and_start(self.sizes, name)
        rate = torch.tensor(scheme_step.LR / start, dtype=torch.float32)
        return self.masters[name] - rate * (gradient * torch.tensor(1 / (held * start), dtype=torch.float32))


def held_and_start(sizes, name):
    at = name if name in sizes.start else ".product.".join(name.rsplit(".", 1))
    return sizes.values[at].held, sizes.start[at]


def compare_exactly(options, name, recipe_name):
    recipe = RECIPES[recipe_name]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        spec, images, labels = scheme_step.images_of(folder)
        model = start(make_model(name, 3, options.width, 32))
        if isinstance(recipe, UnitRecipe):
            draw_unit(model)
        masters = {n: t.clone() for n, t in state_of(model).items()}
        same_model.write_safetensors(f"{folder}/before.safetensors", masters)
        ours, weights = scheme_step.step_of_halfulp(options, folder, name, spec, recipe, recipe.steps)
    if isinstance(recipe, DelayedRecipe):
        with torch.no_grad():
            step = delayed_steps(recipe, masters, scheme_step.NETWORKS[name], images, labels)
        return scheme_step.report(options, name, recipe_name, step, ours, weights)
    if isinstance(recipe, UnitRecipe):
        step = UnitStep(recipe, masters, layers_of(masters), sizes_of_resnet(masters, 32))
    else:
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
        y, counts = self.recipe.matrix(layer, place, x if self.recipe.is_exact else x.float(), keeps_turned=True)
        name = self.recipe.counted_as(layer, place)
        if counts is not None and name:
            old = self.counts.get(name, [0] * len(counts))
            self.counts[name] = [a + b for a, b in zip(old, counts)]
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


def descend(recipe, model, images, labels):
    """Sums of the gradients of all steps."""
    total = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
    recipe.begin()
    for _ in range(recipe.steps):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        recipe.end_step()
        with torch.no_grad():
            for n, p in model.named_parameters():
                total[n] += p.grad
                p -= scheme_step.LR * p.grad
    return total


def compare_transformer(options, name, recipe_name):
    recipe = RECIPES[recipe_name]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        spec, images, labels = scheme_step.images_of(folder)
        model = start(token_models.of(4, 64, recipe.blocks, 2)(3, 1.0, 10, 32))
        if isinstance(recipe, UnitRecipe):
            draw_unit(model)
        masters = {n: t.clone() for n, t in state_of(model).items()}
        same_model.write_safetensors(f"{folder}/before.safetensors", masters)
        options.width = 1.0
        # The convolution that cuts patches stays high on both sides.
        scheme = types.SimpleNamespace(precision=recipe.precision, scale=1.0,
                                       words=("operand.rules=['patch: fp32']", "optimizer=sgd",
                                              f"model.layers={recipe.blocks}", *recipe.more))
        ours, weights = scheme_step.step_of_halfulp(options, folder, name, spec, scheme, recipe.steps)
    model = model.double()
    if isinstance(recipe, UnitRecipe):
        gradient, step = unit_gradient(recipe, model, images.double(), labels)
    else:
        step = round_layers(model, recipe)
        gradient = descend(recipe, model, images.double(), labels)
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


# ---- the same, its numbers near 1 ----

class Factor(torch.autograd.Function):
    """x times one factor; its gradient times another."""

    @staticmethod
    def forward(context, x, forward, backward):
        context.backward_factor = backward
        return x * forward

    @staticmethod
    def backward(context, dy):
        return dy * context.backward_factor, None, None


class UnitTransformer:
    """deit-s: run(images) with the factors of `sizes`, which plan() works out."""

    def __init__(self, model, batch, step):
        self.model, self.batch, self.step = model, batch, step
        self.rows, self.width = model.pos.shape[1:]
        self.heads, self.depth = model.blocks[0].attn.heads, self.width // model.blocks[0].attn.heads

    def plan(self, classes):
        s, rows, width = unit_sizes.Sizes(self.batch), self.rows, self.width
        weight = self.model.patch.weight
        x = s.product("patch", unit_sizes.Value(), weight.shape, rows - 1, math.prod(weight.shape[1:]) * (rows - 1),
                      bias=True, needs_input=False)
        x = s.same("token", s.same("rows", x), parameters=[("cls", 1)], out=unit_sizes.Value())
        x = s.same("position", x, parameters=[("pos", 1)], out=unit_sizes.Value())

        def linear(name, x, weight, places=rows):
            made = s.product(f"{name}.product", x, weight.shape, places, places * weight.shape[1],
                             is_last=name == "head")
            return s.same(name, made, parameters=[(f"{name}.bias", places)])
        for i, block in enumerate(self.model.blocks):
            at, squares = f"blocks.{i}", 1 / (1 + (rows - 1) / math.e)
            y = s.norm(f"{at}.ln1", x, rows, False)
            q, k, v = (linear(f"{at}.attn.{n}", y, getattr(block.attn, n).weight) for n in "qkv")
            size = math.sqrt(rows / self.depth)
            scores = s.node(f"{at}.attn.scores", [q, k], [size, size])
            shares = s.node(f"{at}.attn.weights", [scores], [math.sqrt(squares / rows)])
            y = s.node(f"{at}.attn.context", [shares, v], [math.sqrt(self.depth), math.sqrt(math.sqrt(squares))],
                       1 / math.sqrt(math.sqrt(squares)))
            x = s.add(f"{at}.add1", x, linear(f"{at}.attn.out", y, block.attn.out.weight))
            y = linear(f"{at}.fc1", s.norm(f"{at}.ln2", x, rows, False), block.fc1.weight)
            x = s.add(f"{at}.add2", x, linear(f"{at}.fc2", s.gelu(f"{at}.act", y), block.fc2.weight))
        x = s.norm("ln", x, rows, False)
        x = linear("head", s.same("pick", x, math.sqrt(1 / rows)), self.model.head.weight, 1)
        self.sizes = classify(s, x, classes)
        return self

    def node(self, name, run, *inputs):
        node = self.sizes.nodes[name]
        read = [x if node.inputs[i] is None else
                Factor.apply(x, unit_sizes.single(node.read[i]), unit_sizes.single(node.given[i]))
                for i, x in enumerate(inputs)]
        return Factor.apply(run(*read), unit_sizes.single(node.made), 1.0)

    def linear(self, name, module, x):
        rounds = name != "head"

        def product(x, w):
            bias = torch.zeros(len(w), dtype=x.dtype)
            return Rounded.apply(x, w, bias, name, self.step) if rounds else x @ w.T
        made = self.node(f"{name}.product", product, x, module.weight)
        return self.node(name, torch.add, made, module.bias)

    def norm(self, name, module, x):
        return self.node(name, lambda x, w, b: torch.nn.functional.layer_norm(x, [self.width], w, b, module.eps), x,
                         module.weight, module.bias)

    def split(self, y):
        return y.reshape(len(y), -1, self.heads, self.depth).transpose(1, 2)

    def attention(self, at, module, x):
        q, k, v = (self.split(self.linear(f"{at}.{n}", getattr(module, n), x)) for n in "qkv")
        scores = self.node(f"{at}.scores", lambda q, k: q @ k.transpose(2, 3) / math.sqrt(self.depth), q, k)
        shares = self.node(f"{at}.weights", lambda s: s.softmax(-1), scores)
        made = self.node(f"{at}.context", torch.matmul, shares, v)
        return self.linear(f"{at}.out", module.out, made.transpose(1, 2).reshape(len(x), -1, self.width))

    def run(self, images, labels):
        model = self.model
        x = self.node("patch", lambda x, w, b: torch.nn.functional.conv2d(x, w, b, w.shape[2]), images,
                      model.patch.weight, model.patch.bias)
        x = self.node("rows", lambda x: x.flatten(2).transpose(1, 2), x)
        x = self.node("token", lambda x, c: torch.cat([c.expand(len(x), -1, -1), x], 1), x, model.cls)
        x = self.node("position", torch.add, x, model.pos)
        for i, block in enumerate(model.blocks):
            at = f"blocks.{i}"
            y = self.attention(f"{at}.attn", block.attn, self.norm(f"{at}.ln1", block.ln1, x))
            x = self.node(f"{at}.add1", torch.add, x, y)
            y = self.linear(f"{at}.fc1", block.fc1, self.norm(f"{at}.ln2", block.ln2, x))
            y = self.linear(f"{at}.fc2", block.fc2, self.node(f"{at}.act", torch.nn.functional.gelu, y))
            x = self.node(f"{at}.add2", torch.add, x, y)
        x = self.node("pick", lambda x: x[:, 0], self.norm("ln", model.ln, x))
        x = self.node("log_softmax", lambda x: x.log_softmax(-1), self.linear("head", model.head, x))
        return self.node("loss", lambda x: torch.nn.functional.nll_loss(x, labels), x)


def unit_gradient(recipe, model, images, labels):
    """Of the weights of the network without scaling, as the optimizer has them; and the counts."""
    step = DoubleStep(recipe)
    made = UnitTransformer(model, len(images), step).plan(model.head.out_features)
    made.run(images, labels).backward()
    gradient = {}
    for name, parameter in model.named_parameters():
        held, start = held_and_start(made.sizes, name)
        gradient[name] = parameter.grad / (held * start * start)
    return gradient, step


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
            for recipe in options.recipe or RECIPES if name != "resnet20" or not RECIPES[recipe].is_exact]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
