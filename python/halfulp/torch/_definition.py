"""Norms, shares, means and activations by halfulp's definitions, for `products="halfulp"`.

What the numerics contract computes in float64 and rounds once is computed so here; norms over the
batch are its float32 operations with moments in float64. Source: docs/reference/numerics/sums.md
and layers.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

from ._forward import FORWARD

if TYPE_CHECKING:
    from ._forward import Pass
    from ._graph import Node

# Operations that are those of `_forward.py` in float64, rounded once.
_IN_DOUBLE = {
    "layer_norm",
    "rms_norm",
    "group_norm",
    "gelu",
    "silu",
    "hard_swish",
    "hard_sigmoid",
    "log",
    "pow",
    "global_avg_pool",
    "adaptive_avg_pool",
    "reduce_mean",
    "reduce_sum",
}


class BatchNorm(torch.autograd.Function):
    """[..., C] by the moments of each channel: three float32 operations forward."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
        rows = x.reshape(-1, x.shape[-1])
        var, mean = torch.var_mean(rows.double(), 0, unbiased=False)
        inverse = 1 / torch.sqrt(var + epsilon)
        center, factor = mean.float(), (weight.double() * inverse).float()
        ctx.save_for_backward(x, center, factor, inverse)
        ctx.mark_non_differentiable(mean, var)
        return (x - center) * factor + bias, mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any, *_: Any) -> Any:
        x, center, factor, inverse = ctx.saved_tensors
        off, lines = x - center, g.reshape(-1, g.shape[-1])
        total = lines.double().sum(0)
        along = (g * off).reshape(lines.shape).double().sum(0)
        n = lines.shape[0]
        slope = (along / n * inverse * inverse).float()
        dx = factor * ((g - (total / n).float()) - off * slope)
        return dx, (along * inverse).float(), total.float(), None


def defined(node: Node, run: Pass, *x: Any) -> Any:
    """What a node makes by the definition."""
    if node.op == "batch_norm":
        return _batch_norm(node, run, x[0])
    if node.op == "relu":
        return torch.relu(x[0]) + 0.0  # -0 becomes +0
    if node.op not in _IN_DOUBLE:
        return FORWARD[node.op](node, run, *x)
    parameters = {name: p.double() for name, p in run.parameters.items()}
    wide = run.with_parameters(parameters)
    return FORWARD[node.op](node, wide, *(one.double() for one in x)).float()


def in_double(does: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one tensor in float64, rounded once."""
    return lambda x: does(x.double()).float()


def slope_in_double(slope: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Likewise of a gradient and an output."""
    return lambda g, y: slope(g.double(), y.double()).float()


def _batch_norm(node: Node, run: Pass, x: Any) -> Any:
    mean, var = run.buffers["running_mean"], run.buffers["running_var"]
    weight, bias = run.parameters["weight"], run.parameters["bias"]
    epsilon = float(torch.tensor(node.attributes.get("epsilon", 1e-5), dtype=torch.float32))
    if not run.training:
        inverse = 1 / torch.sqrt(var.double() + epsilon)
        return (x - mean) * (weight.double() * inverse).float() + bias
    made, own_mean, own_var = BatchNorm.apply(x, weight, bias, epsilon)
    momentum = float(torch.tensor(node.attributes.get("momentum", 0.1), dtype=torch.float32))
    n = x.numel() // x.shape[-1]
    with torch.no_grad():
        for old, new in ((mean, own_mean), (var, own_var * (n / max(n - 1, 1)))):
            old.copy_((1 - momentum) * old.double() + momentum * new)
        run.count_batch()
    return made
