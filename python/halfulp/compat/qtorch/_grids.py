"""QPyTorch's numbers by the library's rounding.

Each kind is a grid that some number formats of the library have, so that every number is rounded
once:

- floating point: the format of the same bits whose codes are all numbers, saturating; with 8 bits
  of exponent the one with infinities. Nearest is "rna": QPyTorch's ties go away from zero.
- fixed point: a format with 23 bits of fraction whose smallest number is 2**-fl. Larger numbers
  than it has are multiples of 2**-fl already, and stay. Nearest is "rne".
- block floating point: divided by 2**E a block has numbers below 2, on the grid of a format with
  one bit of exponent and wl - 2 of fraction. QPyTorch's ties go up, toward +infinity: that is down
  to the grid of half the step, half a step more, down to the grid.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Callable

import numpy as np
import torch

from ... import arrays
from ...errors import ArgumentError, ShapeError
from ...formats import Format, _integer
from .number import BlockFloatingPoint, FixedPoint, FloatingPoint, Number

if TYPE_CHECKING:
    from ..._inputs import Floats
    from ...rounding import Key

    Rounder = Callable[[torch.Tensor, "Key | None"], torch.Tensor]

_MODES = ("stochastic", "nearest")
_MOST = 2**15
_LEAST_EXPONENT = -149  # of a float32 number
_SIGNIFICANT = 24  # bits of a float32 number
_LEAST_FRACTION = _SIGNIFICANT - 128  # of a grid of which float32 has 24 significant bits


def text_of_fields(kind: str, fields: tuple[int, ...], rounding: str, who: str) -> str:
    """What an operation of PyTorch takes for a number and a mode."""
    if not isinstance(rounding, str) or rounding not in _MODES:
        raise ArgumentError(
            f"{who}: rounding: found {rounding!r}, expected one of: {' '.join(_MODES)}"
        )
    words = (str(_integer(field, f"{who}: bits", -_MOST, _MOST)) for field in fields)
    return " ".join((kind, *words, rounding))


def text_of_number(number: Number | None, rounding: str, who: str) -> str:
    """The text of a number's fields; "": nothing is rounded."""
    if isinstance(number, FloatingPoint):
        return text_of_fields("float", (number.exp, number.man), rounding, who)
    if isinstance(number, FixedPoint):
        fields = (number.wl, number.fl, number.clamp, number.symmetric)
        return text_of_fields("fixed", fields, rounding, who)
    if isinstance(number, BlockFloatingPoint):
        return text_of_fields("block", (number.wl, number.dim), rounding, who)
    if number is not None:
        raise ArgumentError(
            f"{who}: found {type(number).__module__}.{type(number).__name__}, expected "
            "FloatingPoint, FixedPoint or BlockFloatingPoint of halfulp.compat.qtorch, or None"
        )
    text_of_fields("", (), rounding, who)  # is checked
    return ""


@functools.lru_cache(maxsize=256)
def rounder(text: str) -> Rounder:
    """What rounds a contiguous tensor to a new one, of a text that `text_of_number` gave."""
    kind, *words = text.split()
    fields = [int(word) for word in words[:-1]]
    return _KINDS[kind](*fields, words[-1] == "stochastic")


def _numpy(x: torch.Tensor) -> Floats:
    found: Floats = x.detach().numpy()
    return found


def _floating(exp: int, man: int, is_random: bool) -> Rounder:
    if exp == 8:
        fmt = Format(exp=exp, man=man)
    else:
        fmt = Format(exp=exp, man=man, specials="fin", overflow="sat")
    mode = "sr" if is_random else "rna"

    def round_to(x: torch.Tensor, key: Key | None) -> torch.Tensor:
        return torch.from_numpy(arrays.round(_numpy(x), fmt, mode, key=key))

    return round_to


def _grid(fl: int) -> Format:
    """The format of the multiples of 2**-fl with 24 significant bits, as far up as it goes."""
    bias = fl - 22
    exp = min(7, (128 + bias).bit_length() - 1)  # its largest exponent, 2**exp - 1 - bias, <= 127
    return Format(exp=exp, man=23, bias=bias, specials="fin", overflow="sat")


def ends_of(wl: int, fl: int, symmetric: int) -> tuple[float, float]:
    """The least and the largest number of a word, as float32 numbers within the range."""
    if wl - fl - 1 >= 128:
        return -math.inf, math.inf
    top = math.ldexp(1.0, wl - fl - 1)
    if wl - 1 <= _SIGNIFICANT:
        high = top - math.ldexp(1.0, -fl)
    else:
        high = top - math.ldexp(top, -_SIGNIFICANT)
    return (-high if symmetric else -top), high


def _fixed(wl: int, fl: int, clamp: int, symmetric: int, is_random: bool) -> Rounder:
    _integer(wl, "fixed point: wl", 1, _MOST)
    _integer(fl, "fixed point: fl", _LEAST_FRACTION, _MOST)
    low, high = ends_of(wl, fl, symmetric) if clamp else (-math.inf, math.inf)
    grid = _grid(fl) if fl <= -_LEAST_EXPONENT else None  # else all float32 numbers are on it
    goes_beyond = grid is not None and (not clamp or -low > grid.max)
    mode = "sr" if is_random else "rne"

    def round_to(x: torch.Tensor, key: Key | None) -> torch.Tensor:
        source = _numpy(x)
        if grid is None:
            y = source.copy()
        elif goes_beyond:
            y, counts = arrays.round(source, grid, mode, key=key, counts=True)
            if counts.overflow:
                np.copyto(y, source, where=np.abs(source) > grid.max)
        else:
            y = arrays.round(source, grid, mode, key=key)
        if clamp:
            np.clip(y, np.float32(low), np.float32(high), out=y)
        return torch.from_numpy(y)

    return round_to


def _largest(x: torch.Tensor, dim: int) -> torch.Tensor:
    """The largest magnitude of every block; NaN where there is one."""
    others = [d for d in range(x.dim()) if d != dim]
    if not others:  # each number is a block, and PyTorch takes no dimensions for all of them
        return x.abs()
    low, high = torch.aminmax(x) if dim < 0 else (x.amin(others, True), x.amax(others, True))
    return torch.maximum(high, -low)


def _block(wl: int, dim: int, is_random: bool) -> Rounder:
    _integer(wl, "block floating point: wl", 2, _SIGNIFICANT)
    grid = Format(exp=1, man=wl - 2, bias=1, specials="fin", overflow="sat")
    finer = Format(exp=1, man=wl - 1, bias=1, specials="fin", overflow="sat")
    half = math.ldexp(1.0, 1 - wl)

    def round_to(x: torch.Tensor, key: Key | None) -> torch.Tensor:
        if dim >= x.dim():
            raise ShapeError(
                f"block floating point: found dim={dim} and a tensor of {x.dim()} dimensions"
            )
        if x.numel() == 0:
            return x.clone()
        top = _largest(x, dim)
        exponent = (torch.frexp(top).exponent - 1).clamp_(min=-126)
        one = torch.where(torch.isfinite(top), 1.0, math.nan)
        y = x * torch.ldexp(one, -exponent)
        numbers = _numpy(y)
        if is_random:
            arrays.round(numbers, grid, "sr", key=key, out=numbers)
        else:
            arrays.round(numbers, finer, "rd", out=numbers)
            y += half
            arrays.round(numbers, grid, "rd", out=numbers)
        y *= torch.ldexp(one, exponent)
        return y

    return round_to


_KINDS: dict[str, Callable[..., Rounder]] = {"float": _floating, "fixed": _fixed, "block": _block}
