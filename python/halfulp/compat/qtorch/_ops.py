"""The operation behind QPyTorch's quantizers: numbers forward, gradients backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...rounding import Key
from ...torch._ops import check_tensor
from ...torch._release import operation
from ._grids import rounder

_STREAM = "qtorch"
_RANDOM = "stochastic"


def quantize_tensor(x: Tensor, seed: Tensor | None, forward: str, backward: str) -> Tensor:
    """Round a tensor, and its gradient on the way back.

    Parameters
    ----------
    x : Tensor of float32, on the CPU
    seed : Tensor of int64, shape (2,), or None
        Keys of the stochastic roundings, of the tensor and of its gradient.
    forward, backward : str
        What `text_of_number` gives; "": not rounded.

    Returns
    -------
    Tensor of float32, shape of x, contiguous
    """
    check_tensor(x, "halfulp::qtorch_quantize")
    if not forward:
        return x.clone(memory_format=torch.contiguous_format)
    key = None if seed is None else Key(int(seed[0]), _STREAM)
    return rounder(forward)(x.contiguous(), key)


def _fake(x: Tensor, seed: Tensor | None, forward: str, backward: str) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor | None, str, str], output: Tensor) -> None:
    _, seed, _, ctx.number = inputs
    ctx.save_for_backward(seed)


def _back(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
    if ctx.number:
        (seed,) = ctx.saved_tensors
        grad = _quantize(grad, None if seed is None else seed[1:], ctx.number, "")
    return grad, None, None, None


_quantize: Any = operation(
    "halfulp::qtorch_quantize(Tensor x, Tensor? seed, str forward, str backward) -> Tensor",
    quantize_tensor,
    _fake,
    keep=_keep,
    slope=_back,
)


def quantize(x: Tensor, forward: str, backward: str = "") -> Tensor:
    """Round, with keys from PyTorch's generator: `torch.manual_seed` decides all bits."""
    seed = None
    if forward.endswith(_RANDOM) or backward.endswith(_RANDOM):
        seed = torch.randint(2**62, (2,), dtype=torch.int64)
    found: Tensor = _quantize(x, seed, forward, backward)
    return found
