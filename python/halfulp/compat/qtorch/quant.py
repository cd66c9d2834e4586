"""QPyTorch's functions that round tensors, and its module `Quantizer`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

import torch
from torch import Tensor, nn

from ...errors import ArgumentError
from ._grids import ends_of, text_of_fields, text_of_number
from ._ops import quantize
from .number import BlockFloatingPoint, FixedPoint, FloatingPoint, Number  # noqa: F401

__all__ = [
    "Quantizer",
    "block_quantize",
    "fixed_point_quantize",
    "float_quantize",
    "quantizer",
]

Hook = Callable[[Tensor], Tensor]


class _Hooked(torch.autograd.Function):
    """The same numbers; the gradient goes through functions."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, hooks: tuple[Hook, ...]) -> Tensor:
        ctx.hooks = hooks
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        for hook in ctx.hooks:
            grad = hook(grad)
        return grad, None


class _Quantization:
    """What `quantizer` returns: a function that is a value, so that modules with it are pickled."""

    def __init__(
        self, forward: str, backward: str, ends: tuple[float, float] | None, hooks: Iterable[Hook]
    ) -> None:
        self.forward, self.backward = forward, backward
        self.ends, self.hooks = ends, tuple(hooks)

    def __call__(self, x: Tensor) -> Tensor:
        if self.ends is not None:
            low, high = self.ends
            rounded = quantize(x, self.forward)
            is_outside = (rounded < low) | (rounded > high)
            x = torch.where(is_outside, rounded.detach().clamp(low, high), rounded)
            if self.backward:
                x = quantize(x, "", self.backward)
        elif self.forward or self.backward:
            x = quantize(x, self.forward, self.backward)
        return _Hooked.apply(x, self.hooks) if self.hooks else x


def quantizer(
    forward_number: Number | None = None,
    backward_number: Number | None = None,
    forward_rounding: str = "stochastic",
    backward_rounding: str = "stochastic",
    clamping_grad_zero: bool = False,
    backward_hooks: Iterable[Hook] = (),
) -> Callable[[Tensor], Tensor]:
    """A function that rounds a tensor, and its gradient on the way back.

    Parameters
    ----------
    forward_number, backward_number : FloatingPoint, FixedPoint, BlockFloatingPoint or None
        What numbers, and gradients, are rounded to; None: not rounded.
    forward_rounding, backward_rounding : {"stochastic", "nearest"}
    clamping_grad_zero : bool
        Whether numbers that were clamped have the gradient 0; takes a clamping FixedPoint.
    backward_hooks : functions of a Tensor
        What happens to a gradient before it is rounded, in this order.

    Returns
    -------
    function of a Tensor of float32, any shape, on the CPU
        Gives a new one of the same shape. Random numbers are PyTorch's: `torch.manual_seed`.

    Raises
    ------
    ArgumentError
        No such number or rounding; `clamping_grad_zero` of another number.

    Examples
    --------
    >>> round_weights = quantizer(FloatingPoint(exp=5, man=2), forward_rounding="nearest")
    >>> round_weights(torch.tensor([0.1, 3.3, 1e6])).tolist()
    [0.09375, 3.5, 114688.0]
    """
    ends = None
    if clamping_grad_zero and forward_number is not None:
        if not isinstance(forward_number, FixedPoint) or not forward_number.clamp:
            raise ArgumentError(
                f"quantizer: clamping_grad_zero: found {forward_number!r}, expected a FixedPoint "
                "with clamp=True"
            )
        wl, fl = forward_number.wl, forward_number.fl
        ends = ends_of(wl, fl, forward_number.symmetric)
        forward_number = FixedPoint(wl, fl, clamp=False)
    forward = text_of_number(forward_number, forward_rounding, "quantizer: forward")
    backward = text_of_number(backward_number, backward_rounding, "quantizer: backward")
    return _Quantization(forward, backward, ends, backward_hooks)


def fixed_point_quantize(
    x: Tensor,
    wl: int,
    fl: int,
    clamp: bool = True,
    symmetric: bool = False,
    rounding: str = "stochastic",
) -> Tensor:
    """Round to fixed-point numbers; the result is cut off from the graph of gradients.

    Parameters
    ----------
    x : Tensor of float32, any shape, on the CPU
    wl, fl, clamp, symmetric
        As `FixedPoint` has them.
    rounding : {"stochastic", "nearest"}
        Nearest takes ties to the even multiple of 2**-fl.

    Returns
    -------
    Tensor of float32, shape of x

    Examples
    --------
    >>> fixed_point_quantize(torch.tensor([0.3, 9.0]), wl=4, fl=2, rounding="nearest").tolist()
    [0.25, 1.75]
    """
    fields = (wl, fl, clamp, symmetric)
    return quantize(x.detach(), text_of_fields("fixed", fields, rounding, "fixed_point_quantize"))


def block_quantize(x: Tensor, wl: int, dim: int = -1, rounding: str = "stochastic") -> Tensor:
    """Round to block floating-point numbers; the result is cut off from the graph of gradients.

    Parameters
    ----------
    x : Tensor of float32, any shape, on the CPU
    wl, dim
        As `BlockFloatingPoint` has them.
    rounding : {"stochastic", "nearest"}
        Nearest takes ties up, toward +infinity.

    Returns
    -------
    Tensor of float32, shape of x
        A block with an infinity or a NaN is NaN throughout.

    Examples
    --------
    >>> block_quantize(torch.tensor([1.0, 0.3, -0.3]), wl=4, rounding="nearest").tolist()
    [1.0, 0.25, -0.25]
    """
    return quantize(x.detach(), text_of_fields("block", (wl, dim), rounding, "block_quantize"))


def float_quantize(x: Tensor, exp: int, man: int, rounding: str = "stochastic") -> Tensor:
    """Round to floating-point numbers; the result is cut off from the graph of gradients.

    Parameters
    ----------
    x : Tensor of float32, any shape, on the CPU
    exp, man
        As `FloatingPoint` has them.
    rounding : {"stochastic", "nearest"}
        Nearest takes ties away from zero.

    Returns
    -------
    Tensor of float32, shape of x

    Examples
    --------
    >>> float_quantize(torch.tensor([0.1, 1e6]), exp=4, man=3, rounding="nearest").tolist()
    [0.1015625, 480.0]
    """
    return quantize(x.detach(), text_of_fields("float", (exp, man), rounding, "float_quantize"))


class Quantizer(nn.Module):
    """A module that rounds what passes, and the gradients that come back.

    Parameters
    ----------
    forward_number, backward_number, forward_rounding, backward_rounding
        As `quantizer` takes them.

    Examples
    --------
    >>> layer = Quantizer(FloatingPoint(4, 3), FloatingPoint(5, 2), "nearest", "nearest")
    >>> layer(torch.tensor([0.3])).tolist()
    [0.3125]
    """

    def __init__(
        self,
        forward_number: Number | None = None,
        backward_number: Number | None = None,
        forward_rounding: str = "stochastic",
        backward_rounding: str = "stochastic",
    ) -> None:
        super().__init__()
        self.quantize = quantizer(
            forward_number, backward_number, forward_rounding, backward_rounding
        )

    def forward(self, x: Tensor) -> Tensor:
        """Round a tensor.

        Parameters
        ----------
        x : Tensor of float32, any shape, on the CPU

        Returns
        -------
        Tensor of float32, shape of x
        """
        return self.quantize(x)
