"""Where tensors of PyTorch are rounded, and what is counted there.

A `Point` is a place of the edge table (docs/explanation/architecture/engine.md): a value, what a
consumer makes of it, its gradient from one consumer, the sum of these. The functions of autograd
around it give PyTorch's graph the same places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from .._ffi import ffi, lib
from ..errors import UnsupportedError, check
from ..histograms import Exponents, _exponents_of
from ..rounding import Counts, Key, _counts_of
from ..scaled import Quantization
from ._ops import check_tensor, draws, no_counts, quantize, round_counted, signed
from ._release import is_compiling

Now = tuple[Any, bool, int]  # the step, whether it counts, numbers that are absent


class Clock:
    """Of one network: the seed and the step of its random words, whether it counts and records.

    Attributes
    ----------
    seed, step : int
        The step is that of the latest pass in training, from 0.
    now : Tensor of int64
        The same: a tensor, so that a compiled network serves every step.
    counts, records : bool
        Whether points count; whether they keep exponents.
    is_on : bool
        Whether hooks round: within the forward pass of an applied module alone.
    """

    def __init__(self, seed: int) -> None:
        self.seed, self.now = seed, torch.tensor(-1)
        self.counts, self.records, self.is_on = True, False, False

    @property
    def step(self) -> int:
        return int(self.now)

    @step.setter
    def step(self, value: int) -> None:
        self.now = torch.tensor(int(value))

    def advance(self) -> None:
        """Another pass in training; earlier ones keep their step for their gradients."""
        self.now = self.now + 1


class Point:
    """A place where a tensor is rounded.

    Parameters
    ----------
    name : str
        Of the tensor, as plans and counts have it: "conv1.out", "conv1.out.grad".
    text : str
        The format, with its mode: what `Quantization` takes.
    clock : Clock
    like : Point, optional
        Another point of the same tensor, whose counts it shares.
    use : str
        Of a gradient from one consumer: "VALUE>NODE.INDEX", its random words' name.

    Attributes
    ----------
    is_ordered : bool
        Whether the order of the numbers in memory matters: blocks, random words.
    absent : int
        Numbers of the next tensor that are no numbers of it (pairs that a mask takes out): zeros
        that are not counted.
    """

    __slots__ = (
        *("absent", "clock", "counts", "histogram", "is_ordered", "name"),
        *("quantization", "stream", "text"),
    )
    counts: Any
    histogram: Any

    def __init__(
        self, name: str, text: str, clock: Clock, like: Point | None = None, use: str = ""
    ) -> None:
        self.name, self.text, self.clock = name, text, clock
        try:
            self.quantization = Quantization(text)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"{name}: {text}: {error}; products='halfulp' does not help: train the captured "
                "network (ht.capture), or plan a scale that is taken from the tensor itself"
            ) from None
        is_random = draws(text)
        self.stream = _stream(name, use) if is_random else 0
        self.is_ordered = is_random or self.quantization._has_blocks
        self.counts = no_counts() if like is None else like.counts
        self.histogram = ffi.new("hu_histogram *") if like is None else like.histogram
        self.absent = 0

    def now(self) -> Now:
        """What the gradients of this pass are rounded by, whatever the network does before."""
        return self.clock.now if self.stream else None, self.clock.counts, self.absent

    def round(self, x: Any, in_place: bool = False, now: Now | None = None) -> Any:
        """The tensor rounded, counted while the network trains."""
        check_tensor(x, self.name)
        clock = self.clock
        at, is_counted, absent = self.now() if now is None else now
        if is_counted and absent:
            self.counts[0] -= absent  # elements
            self.counts[4] -= absent  # zeros
        if is_compiling():
            counts = self.counts if is_counted else torch.zeros_like(self.counts)
            step = clock.now if at is None else at
            return round_counted(x, counts, self.text, signed(self.stream), clock.seed, step)
        if clock.records and is_counted:
            self._record(x)
        key = Key(clock.seed, self.stream, max(int(at), 0)) if self.stream else None
        counts = self.counts if is_counted else None
        return quantize(x, counts, self.quantization, key, x if in_place else None)

    def _record(self, x: Any) -> None:
        source = x.detach().contiguous()
        pointer = ffi.cast("float *", source.data_ptr())
        check(lib.hu_histogram_add(source.numel(), pointer, 1, self.histogram))

    def told(self) -> Counts:
        """What rounding did since it was forgotten."""
        return _counts_of(ffi.cast("hu_round_counts *", self.counts.data_ptr()))

    def exponents(self) -> Exponents:
        """Exponents before rounding since they were forgotten."""
        return _exponents_of(self.histogram, float(self.histogram.largest))

    def forget(self) -> None:
        """Count from nothing."""
        lib.hu_round_counts_clear(ffi.cast("hu_round_counts *", self.counts.data_ptr()))
        ffi.memmove(self.histogram, bytes(ffi.sizeof("hu_histogram")), ffi.sizeof("hu_histogram"))


def point_of(
    name: str, text: object, clock: Clock, like: Point | None = None, use: str = ""
) -> Point | None:
    """The point of a format; None: there is none, or it rounds nothing."""
    is_rounded = isinstance(text, str) and text.split()[0] != "fp32"
    return Point(name, str(text), clock, like, use) if is_rounded else None


def _stream(name: str, use: str) -> int:
    """The engine's number of a sequence of random words."""
    if name.endswith(".grad.sum"):
        purpose, named = "round.grad.sum", name.removesuffix(".grad.sum")
    elif name.endswith(".grad"):
        purpose, named = "round.grad", use
    elif name.endswith(".use"):
        purpose, named = "round.use", use
    else:
        purpose, named = "round", name
    return int(lib.hu_stream_id(purpose.encode(), named.encode()))


def _keep(ctx: Any, gradient: Point | None, *saved: Any) -> None:
    """For the backward pass: where the gradient is rounded, and what is now."""
    at, counts, absent = (None, False, 0) if gradient is None else gradient.now()
    ctx.gradient, ctx.counts, ctx.absent = gradient, counts, absent
    ctx.save_for_backward(at, *saved)


def _now(ctx: Any) -> Now:
    return ctx.saved_tensors[0], ctx.counts, ctx.absent


def _rounded(ctx: Any, g: Any) -> Any:
    return g if ctx.gradient is None else ctx.gradient.round(g, now=_now(ctx))


class Value(torch.autograd.Function):
    """A value that its producer rounds, and the sum of its gradients."""

    @staticmethod
    def forward(ctx: Any, x: Any, value: Point | None, total: Point | None, own: bool) -> Any:
        _keep(ctx, total)
        if value is None:
            return x.view_as(x)
        y = value.round(x, own and x.is_contiguous())
        if y is x:
            ctx.mark_dirty(x)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        return _rounded(ctx, g), None, None, None


class Use(torch.autograd.Function):
    """What one consumer reads, and what it gives to the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, use: Point | None, gradient: Point | None) -> Any:
        _keep(ctx, gradient)
        return x.view_as(x) if use is None else use.round(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        return _rounded(ctx, g), None, None


class ByOutput(torch.autograd.Function):
    """An operation whose gradient is told from its output: that is the rounded one."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Any,
        does: Callable[[Any], Any],
        slope: Callable[[Any, Any], Any],
        value: Point | None,
        total: Point | None,
    ) -> Any:
        y = does(x)
        if value is not None:
            y = value.round(y, y.is_contiguous())
        ctx.slope = slope
        _keep(ctx, total, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.slope(_rounded(ctx, g), ctx.saved_tensors[1]), None, None, None, None


class Ordered(torch.autograd.Function):
    """A parameter in halfulp's order: its working copy, or its gradient from one consumer."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, value: Point | None, gradient: Point | None) -> Any:
        ctx.weight = weight
        _keep(ctx, gradient)
        return x.view_as(x) if value is None else _in_order(x, weight, value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        g = g if ctx.gradient is None else _in_order(g, ctx.weight, ctx.gradient, _now(ctx))
        return g, None, None, None


def _in_order(x: Any, weight: Any, point: Point, now: Now | None = None) -> Any:
    if not point.is_ordered:
        return point.round(x, now=now)
    return weight.theirs(point.round(weight.ours(x), now=now), x.shape)
