"""Kinds of numbers, with QPyTorch's names and arguments."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ArgumentError
from ...formats import _integer

_MOST = 2**15


class Number:
    """What rounds: `FloatingPoint`, `FixedPoint` or `BlockFloatingPoint`."""


@dataclass(frozen=True, repr=False)
class FixedPoint(Number):
    """Multiples of 2**-fl.

    Parameters
    ----------
    wl : int
        Bits of a word: numbers run from -2**(wl-fl-1) to 2**(wl-fl-1) - 2**-fl.
    fl : int
        Bits after the point.
    clamp : bool
        Whether numbers beyond the range become its ends; else they stay multiples of 2**-fl.
    symmetric : bool
        Whether the range begins at -2**(wl-fl-1) + 2**-fl.

    Raises
    ------
    ArgumentError, DtypeError
        Bits that are not above 0, or no whole numbers; flags that are none.

    Examples
    --------
    >>> FixedPoint(8, 4)
    FixedPoint (wl=8, fl=4)
    """

    wl: int
    fl: int
    clamp: bool = True
    symmetric: bool = False

    def __post_init__(self) -> None:
        _integer(self.wl, "FixedPoint: wl", 1, _MOST)
        _integer(self.fl, "FixedPoint: fl", 1, _MOST)
        for name in ("clamp", "symmetric"):
            if not isinstance(getattr(self, name), bool):
                found = getattr(self, name)
                raise ArgumentError(f"FixedPoint: {name}: found {found!r}, expected a bool")

    def __repr__(self) -> str:
        return f"FixedPoint (wl={self.wl}, fl={self.fl})"


@dataclass(frozen=True, repr=False)
class FloatingPoint(Number):
    """Binary floating-point numbers with the bias 2**(exp-1) - 1 and with subnormals.

    Parameters
    ----------
    exp : int
        Bits of the exponent, 1 to 8. Below 8 no exponent is kept for infinities: the largest number
        is 2**(2**(exp-1)) * (2 - 2**-man), and what is beyond, infinities too, becomes it. With 8
        bits they are float32's exponents, with infinities.
    man : int
        Stored bits of the fraction, 1 to 23.

    Raises
    ------
    ArgumentError, DtypeError
        Other bits.

    Examples
    --------
    >>> FloatingPoint(exp=5, man=2)
    FloatingPoint (exponent=5, mantissa=2)
    """

    exp: int
    man: int

    def __post_init__(self) -> None:
        _integer(self.exp, "FloatingPoint: exp", 1, 8)
        _integer(self.man, "FloatingPoint: man", 1, 23)

    def __repr__(self) -> str:
        return f"FloatingPoint (exponent={self.exp}, mantissa={self.man})"


@dataclass(frozen=True, repr=False)
class BlockFloatingPoint(Number):
    """Whole numbers of wl bits, from -(2**(wl-1) - 1) to 2**(wl-1) - 1, with one step for a block.

    Parameters
    ----------
    wl : int
        Bits of a number. The step is 2**(E-wl+2) with E the exponent of the block's largest
        magnitude. Rounding takes 2 to 24 bits.
    dim : int
        A block is what has the same index in this dimension; -1: the whole tensor is one.

    Raises
    ------
    ArgumentError, DtypeError
        Bits that are not above 0, a dimension below -1, or no whole numbers.

    Examples
    --------
    >>> BlockFloatingPoint(8, dim=0)
    BlockFloatingPoint (wl=8, dim=0)
    """

    wl: int
    dim: int = -1

    def __post_init__(self) -> None:
        _integer(self.wl, "BlockFloatingPoint: wl", 1, _MOST)
        _integer(self.dim, "BlockFloatingPoint: dim", -1, _MOST)

    def __repr__(self) -> str:
        return f"BlockFloatingPoint (wl={self.wl}, dim={self.dim})"
