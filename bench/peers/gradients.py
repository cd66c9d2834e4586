#!/usr/bin/env python3
"""How far each tensor's gradient is from float64: halfulp's engine beside PyTorch's float32, along a vision transformer.

usage: bench/peers/gradients.py [BLOCKS [WIDTH [ACCUMULATOR...]]]

Needs the Python package and torch. The same network, 197 tokens of 4 pictures, with both; docs/results/pytorch.md has
what came of it. A row for each value and parameter, |g - g64| / |g64|, and one for all parameters together; then that
with ht.apply and some sums by halfulp, and with the accumulators that are named ("fmac192:fp32").
"""
import copy
import sys

import numpy as np
import torch
from torch import nn

import halfulp as hu
import halfulp.torch as ht
from halfulp.torch._edges import Places
from halfulp.torch._sums import Sums

BLOCKS, WIDTH = (int(w) for w in (sys.argv[1:3] + ["2", "768"][len(sys.argv[1:3]):]))
ACCUMULATORS = sys.argv[3:]
NOTHING = hu.Plan("halfulp_plan: 1\nmodel: {name: none}\ntensors: {}\n")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads = max(width // 64, 1)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in self.qkv(self.norm1(x)).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.fc2(nn.functional.gelu(self.fc1(self.norm2(x))))


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, WIDTH, 16, 16)
        self.token, self.place = nn.Parameter(torch.randn(1, 1, WIDTH) * 0.02), nn.Parameter(torch.randn(1, 197, WIDTH) * 0.02)
        self.blocks = nn.ModuleList(Block(WIDTH) for _ in range(BLOCKS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def values_of(net, x, y):
    """Gradients of all values and parameters, by halfulp's names."""
    kept = {}

    def keep(self, name, made, own=False, absent=0):
        if made.requires_grad:
            made.retain_grad()
            kept[name] = made
        return made

    def by_output(self, name, made, does, slope, absent=0):
        return keep(self, name, does(made))

    usual = Places.value, Places.by_output
    Places.value, Places.by_output = keep, by_output
    try:
        torch.nn.functional.cross_entropy(net(x), y).backward()
    finally:
        Places.value, Places.by_output = usual
    found = {name: made.grad.double().numpy() for name, made in kept.items() if made.grad is not None}
    state = dict(net.named_parameters())
    for weight in net.net.weights.values():
        found[weight.name] = weight.ours(state[weight.torch_name].grad.double()).numpy()
    return found


def distance(found, wanted):
    return np.linalg.norm(found.reshape(wanted.shape) - wanted) / np.linalg.norm(wanted)


def whole(found, exact):
    """Of all parameters as one vector."""
    names = [name for name in exact if not name.endswith(".out")]
    return distance(*(np.concatenate([part[name].ravel() for name in names]) for part in (found, exact)))


def engine(net, x, y, names, **keys):
    """Gradients of halfulp's engine."""
    found = {}
    with hu.Trainer(net, batch=4, steps=1, optimizer="sgd", lr_base=0.0, task_smoothing=0.0, **keys) as trainer:
        trainer.watch(*(f"{name}.grad" for name in names))
        trainer.step(x.permute(0, 2, 3, 1).contiguous().numpy(), y.numpy())
        for name in names:
            made = trainer.tensor(f"{name}.grad", rounded=False)
            found[name] = made.sum(0) if made.ndim > names[name].ndim else made
    return found


def by_torch():
    """Sums of ht.apply(products="halfulp") that PyTorch makes instead."""
    functional = nn.functional

    def conv2d(self, name, x, weight, bias, *grid):
        return functional.conv2d(x.permute(0, 3, 1, 2), weight, bias, *grid).permute(0, 2, 3, 1)

    return {
        "linear": lambda self, name, rows, weight, bias: functional.linear(rows, weight, bias),
        "matmul": lambda self, name, one, other: one @ other,
        "conv2d": conv2d,
    }


def main():
    torch.manual_seed(0)
    model, x, y = Vision(), torch.randn(4, 3, 224, 224), torch.arange(4)

    def applied(kind, **how):
        net = ht.apply(copy.deepcopy(model).to(kind), NOTHING, (x.to(kind),), **how)
        return values_of(net.train(), x.to(kind), y)

    exact, theirs = applied(torch.float64), applied(torch.float32)
    net, usual = ht.capture(model, (x,)), whole(theirs, exact)
    ours = engine(net, x, y, exact)
    print("| gradient of | ours | PyTorch's | ratio |\n|---|---|---|---|")
    for name, wanted in reversed(exact.items()):
        one, other = distance(ours[name], wanted), distance(theirs[name], wanted)
        print(f"| {name} | {one:.1e} | {other:.1e} | {one / other:.2f} |")
    print(f"| all parameters | {whole(ours, exact):.1e} | {usual:.1e} | {whole(ours, exact) / usual:.2f} |", flush=True)
    own, other = {name: getattr(Sums, name) for name in by_torch()}, by_torch()
    for label, taken in (("linear, matmul, conv2d", own), ("linear", ["linear"]), ("matmul", ["matmul"]), ("none", [])):
        for name in own:
            setattr(Sums, name, own[name] if name in taken else other[name])
        print(f"sums by halfulp: {label}: {whole(applied(torch.float32, products='halfulp'), exact) / usual:.2f}", flush=True)
    for accumulator in ACCUMULATORS:
        made = engine(net, x, y, exact, accumulator=accumulator)
        print(f"accumulator={accumulator}: {whole(made, exact) / usual:.2f}", flush=True)


if __name__ == "__main__":
    main()
