"""Operations that PyTorch knows by name, with fake kernels and gradients.

`torch.ops.halfulp.round` is what `halfulp.round` does to an array, done to a tensor; importing this
module registers it.

Source: docs/reference/numerics/formats.md.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .. import arrays
from ..errors import DtypeError, UnsupportedError
from ..rounding import Key

_WORD = 2**64 - 1


def check_tensor(x: Tensor, who: str) -> None:
    """Refuse tensors that the library does not read."""
    if x.device.type != "cpu":
        raise UnsupportedError(
            f"{who}: found a tensor on {x.device}, expected one on the CPU: x.cpu() is that"
        )
    if x.dtype != torch.float32:
        raise DtypeError(
            f"{who}: found {x.dtype}, expected torch.float32: x.float() is that, and autocast to "
            "other types has to be off here"
        )


def round_tensor(
    x: Tensor, format: str, rounding: str, seed: int, stream: str, step: int
) -> Tensor:
    """Round every number to a format; the gradient passes as it is.

    Parameters
    ----------
    x : Tensor of float32, any shape and strides, on the CPU
    format, rounding : str
        As `halfulp.round` takes them. Blocks run along the last dimension.
    seed, step : int
        Of the key of stochastic rounding; negative ones count from 2**64 down.
    stream : str
        Of this key: what is rounded.

    Returns
    -------
    Tensor of float32, shape of x, contiguous

    Raises
    ------
    UnsupportedError, DtypeError
        A tensor on a device, or of another type.
    FormatError, UnknownNameError, ParseError
        No such format or rounding.

    Examples
    --------
    >>> x = torch.tensor([0.1, 3.3, 1e6])
    >>> torch.ops.halfulp.round(x, "e4m3fn:ovf=sat", "rne", 0, "", 0)
    tensor([  0.1016,   3.2500, 448.0000])
    """
    check_tensor(x, "halfulp::round")
    key = Key(seed & _WORD, stream, step & _WORD)
    return torch.from_numpy(arrays.round(x.detach().numpy(), format, rounding, key=key))


def _fake(x: Tensor, format: str, rounding: str, seed: int, stream: str, step: int) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _straight(ctx: object, grad: Tensor) -> tuple[Tensor, None, None, None, None, None]:
    return grad, None, None, None, None, None


_round = torch.library.custom_op("halfulp::round", round_tensor, mutates_args=())
_round.register_fake(_fake)
_round.register_autograd(_straight)
