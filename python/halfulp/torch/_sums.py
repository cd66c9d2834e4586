"""Operations of captured networks by halfulp's definitions: `products="halfulp"` of `ht.apply`.

Products are sums in the accumulator that the plan chooses, of float32 without one, in the order of
halfulp's engine; norms, shares and means are the float32 and float64 operations that its contract
names. So tensors are equal to the engine's in bits as long as no sum of these has another order:
weight gradients without an accumulator, which the engine adds in strips, and the moments of norms
over the batch, are the same sums in other orders.

Source: docs/explanation/architecture/products.md, docs/reference/numerics/sums.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch.autograd.function import once_differentiable

from ._ops import gemm

if TYPE_CHECKING:
    from ..plans import Plan

_MOST_PATCHES = 1 << 26  # numbers of patches that are laid out at a time


class Sums:
    """Products in the accumulators of a plan.

    Parameters
    ----------
    plan : Plan
        A layer that it gives none has float32 sums of fused multiply-adds.
    """

    def __init__(self, plan: Plan) -> None:
        self._semantics = plan.semantics
        self._layers = plan.products

    def _how(self, name: str) -> tuple[str | None, str | None, str | None, str]:
        found = self._layers.get(name)
        if found is None:
            return None, None, None, self._semantics
        return found.forward, found.input_grad, found.weight_grad, self._semantics

    def linear(self, name: str, rows: Any, weight: Any, bias: Any) -> Any:
        """Rows [..., I] by a weight [O, I]."""
        flat = rows.reshape(-1, rows.shape[-1])
        made = _Linear.apply(flat, weight, bias, self._how(name))
        return made.reshape(*rows.shape[:-1], weight.shape[0])

    def matmul(self, name: str, one: Any, other: Any) -> Any:
        """[N, heads, m, k] by [N, heads, k, n], the two products of attention."""
        return _Matmul.apply(one, other, self._how(name))

    def conv2d(
        self,
        name: str,
        x: Any,
        weight: Any,
        bias: Any,
        stride: Sequence[int],
        pad: Sequence[int],
        dilation: Sequence[int],
        groups: int,
    ) -> Any:
        """[N, H, W, C] by [O, C / groups, h, w]; gives [N, H', W', O]."""
        grid = (tuple(stride), tuple(pad), tuple(dilation))
        how = self._how(name)
        if groups == 1:
            return _Conv.apply(x, weight, bias, grid, how)
        biases = [None] * groups if bias is None else bias.chunk(groups)
        parts = zip(x.chunk(groups, -1), weight.chunk(groups), biases)
        return torch.cat([_Conv.apply(a, w, b, grid, how) for a, w, b in parts], -1)


def _sum(a: Any, b: Any, bias: Any, accumulator: str | None, semantics: str) -> Any:
    """A product whose bias is the first term of a float32 sum, and added behind chosen ones."""
    if accumulator is not None:
        return gemm(a, b, bias, accumulator, semantics)
    if bias is not None:
        a = torch.cat([torch.ones(a.shape[0], 1), a], 1)
        b = torch.cat([bias.reshape(1, -1), b])
    return gemm(a, b, None, "fmacs", semantics)


def _bias_gradient(g: Any, accumulator: str | None) -> Any:
    """In float32 row after row where the weight gradient has an accumulator."""
    if accumulator is None:
        return g.double().sum(0).float()
    return gemm(torch.ones(1, g.shape[0]), g, None, "fmacs", "exact")[0]


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Any, weight: Any, bias: Any, how: Any) -> Any:
        ctx.how, ctx.has_bias = how, bias is not None
        ctx.save_for_backward(rows, weight)
        return _sum(rows, weight.t(), bias, how[0], how[3])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        rows, weight = ctx.saved_tensors
        g, (_, inward, own, semantics) = g.contiguous(), ctx.how
        dx = _sum(g, weight, None, inward, semantics) if ctx.needs_input_grad[0] else None
        dw = _sum(g.t(), rows, None, own, semantics) if ctx.needs_input_grad[1] else None
        return dx, dw, _bias_gradient(g, own) if ctx.has_bias else None, None


class _Matmul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, one: Any, other: Any, how: Any) -> Any:
        ctx.how = how
        ctx.save_for_backward(one, other)
        return _each(one, other, how[0], how[3])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        one, other = ctx.saved_tensors
        _, inward, own, semantics = ctx.how
        first = _each(g, other.transpose(-1, -2), inward, semantics)
        return first, _each(one.transpose(-1, -2), g, own, semantics), None


def _each(one: Any, other: Any, accumulator: str | None, semantics: str) -> Any:
    flat = (x.reshape(-1, *x.shape[-2:]) for x in (one, other))
    made = [_sum(a, b, None, accumulator, semantics) for a, b in zip(*flat)]
    return torch.stack(made).reshape(*one.shape[:-1], other.shape[-1])


class _Conv(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, grid: Any, how: Any) -> Any:
        ctx.grid, ctx.how, ctx.has_bias = grid, how, bias is not None
        ctx.save_for_backward(x, weight)
        filters = weight.permute(0, 2, 3, 1).reshape(weight.shape[0], -1).t()
        stride, pad, dilation = grid
        places, sizes = [], _sizes(x, weight, *grid)
        for part in _parts(x, weight, sizes):
            patches = _patches(_padded(part, pad), weight.shape[2:], stride, dilation, sizes)
            places.append(_sum(patches, filters, bias, how[0], how[3]))
        return torch.cat(places).reshape(x.shape[0], *sizes, weight.shape[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        x, weight = ctx.saved_tensors
        g = g.contiguous()
        dx = _conv_dx(g, x, weight, ctx.grid, ctx.how) if ctx.needs_input_grad[0] else None
        dw = _conv_dw(g, x, weight, ctx.grid, ctx.how) if ctx.needs_input_grad[1] else None
        db = _bias_gradient(g.reshape(-1, g.shape[-1]), ctx.how[2]) if ctx.has_bias else None
        return dx, dw, db, None, None


def _padded(x: Any, pad: Sequence[int]) -> Any:
    return F.pad(x, (0, 0, pad[1], pad[1], pad[0], pad[0]))


def _sizes(
    x: Any, weight: Any, stride: Sequence[int], pad: Sequence[int], dilation: Sequence[int]
) -> tuple[int, int]:
    y, z = (
        (x.shape[1 + i] + 2 * pad[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    )
    return y, z


def _parts(x: Any, weight: Any, sizes: Sequence[int]) -> Any:
    """Samples whose patches are laid out at a time."""
    numbers = sizes[0] * sizes[1] * weight.shape[1] * weight.shape[2] * weight.shape[3]
    return x.split(max(1, _MOST_PATCHES // max(1, numbers)))


def _patches(
    x: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], sizes: Any
) -> Any:
    """[N H' W', h w C]: what each output reads, kernel row, kernel column and channel in turn."""
    x = x.contiguous()
    n, rows, columns, channels = x.stride()
    shape = (x.shape[0], *sizes, *kernel, x.shape[3])
    steps = (n, rows * stride[0], columns * stride[1])
    seen = x.as_strided(shape, (*steps, rows * dilation[0], columns * dilation[1], channels))
    return seen.reshape(-1, kernel[0] * kernel[1] * x.shape[3])


def _conv_dx(g: Any, x: Any, weight: Any, grid: Any, how: Any) -> Any:
    """Of each pixel its taps in turn; those between strides and outside are zeros."""
    stride, pad, dilation = grid
    kernel, size = weight.shape[2:], x.shape[1:3]
    spread = [(g.shape[1 + i] - 1) * stride[i] + 1 for i in range(2)]
    outputs = g.new_zeros(g.shape[0], *spread, g.shape[3])
    outputs[:, :: stride[0], :: stride[1]] = g
    # Tap r of pixel i reads the output at i + pad - r dilation, of which place 0 is at `before`.
    reach = [dilation[i] * (kernel[i] - 1) for i in range(2)]
    before = [reach[i] - pad[i] for i in range(2)]
    after = [size[i] + reach[i] - spread[i] - before[i] for i in range(2)]
    seen = F.pad(outputs, (0, 0, before[1], after[1], before[0], after[0]))
    taps = weight.permute(2, 3, 0, 1).reshape(-1, weight.shape[1])
    made = []
    for part in _parts(seen, weight.transpose(0, 1), size):
        patches = _patches(part, kernel, (1, 1), dilation, size)
        turned = patches.reshape(-1, *kernel, g.shape[3]).flip(1, 2).reshape(patches.shape)
        made.append(_sum(turned, taps, None, how[1], how[3]))
    return torch.cat(made).reshape(x.shape)


def _conv_dw(g: Any, x: Any, weight: Any, grid: Any, how: Any) -> Any:
    stride, pad, dilation = grid
    sizes, kernel = g.shape[1:3], weight.shape[2:]
    patches = _patches(_padded(x, pad), kernel, stride, dilation, sizes)
    made = _sum(g.reshape(-1, g.shape[3]).t(), patches, None, how[2], how[3])
    return made.reshape(weight.shape[0], *kernel, weight.shape[1]).permute(0, 3, 1, 2)
