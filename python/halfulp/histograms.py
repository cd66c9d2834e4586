"""Exponents of arrays: how many numbers have which, and what share of them a format would lose.

Source: include/halfulp/histogram.h; "The range study", docs/reference/report.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _drawing
from ._ffi import ffi, lib
from ._inputs import _as_array, _in_line, _pointer, _to_odd
from .errors import ArgumentError, DtypeError, check
from .formats import Format, FormatLike, _integer, as_format
from .products import _threads
from .tables import table as _table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .figures import Figure

_LEAST = int(lib.HU_HISTOGRAM_LEAST)
_BINS = int(lib.HU_HISTOGRAM_BINS)
_MOST_COUNT = 2**62
_MOST_SHIFT = 1000


@dataclass(frozen=True)
class Exponents:
    """How many numbers of an array have which exponent: a histogram with a bin for each binade.

    Two of them added are those of both arrays together.

    Attributes
    ----------
    counts : dict of int to int
        How many numbers x have floor(log2 abs(x)) = exponent, of every exponent that occurs, in
        ascending order; -149 to 127.
    zeros, nan, infinite : int
        Numbers that have no exponent.
    largest : float
        Largest finite magnitude; 0 where there is none.

    Examples
    --------
    >>> import halfulp as hu
    >>> seen = hu.exponents([1.0, -1.5, 0.25, 0.0, 3e5])
    >>> seen.counts, seen.zeros
    ({-2: 1, 0: 2, 18: 1}, 1)
    >>> (seen + seen).elements
    10
    """

    counts: dict[int, int] = field(default_factory=dict)
    zeros: int = 0
    nan: int = 0
    infinite: int = 0
    largest: float = 0.0

    @property
    def elements(self) -> int:
        """All numbers."""
        return int(_struct(self).elements)

    @property
    def min_exponent(self) -> int | None:
        """The smallest exponent; None: there is none."""
        _struct(self)
        return min((e for e, n in self.counts.items() if n), default=None)

    @property
    def max_exponent(self) -> int | None:
        """The largest exponent; None: there is none."""
        _struct(self)
        return max((e for e, n in self.counts.items() if n), default=None)

    @property
    def table(self) -> Any:
        """One row for each exponent from the smallest to the largest: exponent, numbers, share.

        share is of all elements. A pandas.DataFrame, or a list of dict without pandas.
        """
        all_of_them, low, high = self.elements, self.min_exponent, self.max_exponent
        if low is None or high is None:
            return _table([])
        rows = [(e, self.counts.get(e, 0)) for e in range(low, high + 1)]
        return _table([{"exponent": e, "numbers": n, "share": n / all_of_them} for e, n in rows])

    def lost(self, formats: FormatLike | Iterable[FormatLike], shift: int = 0) -> Any:
        """What share of the elements rounding to nearest even would lose, told from exponents.

        Parameters
        ----------
        formats : Format, str, or several of them
        shift : int
            Numbers are taken times 2**shift, as with the scale of a loss.

        Returns
        -------
        pandas.DataFrame, or list of dict without pandas
            One row for each format. overflow: beyond its largest number; of infinities and NaNs
            the format is not the cause. underflow: not zero before, zero after. subnormal: below
            its smallest normal number but not zero; of formats without subnormals, flushed. lost:
            overflow and underflow. Where a threshold cuts a binade its numbers are taken to be
            spread evenly; least and most are what lost can be at most wrong by that.

        Raises
        ------
        FormatError, UnknownNameError, ParseError
            No such format.

        Examples
        --------
        >>> import halfulp as hu
        >>> seen = hu.exponents(np.float32([2.0**e for e in range(-30, 18)]))
        >>> seen.lost(["fp16", "e4m3fn"])[["format", "underflow", "overflow"]].values.tolist()
        [['fp16', 0.104..., 0.0416...], ['e4m3fn', 0.416..., 0.191...]]
        """
        several = [formats] if isinstance(formats, (str, Format)) else formats
        if not isinstance(several, Iterable):
            raise DtypeError(f"formats: found {type(formats).__name__}, expected formats")
        made = _struct(self)
        moved = _integer(shift, "shift", -_MOST_SHIFT, _MOST_SHIFT)
        return _table([_lost(made, as_format(fmt), moved) for fmt in several])

    def plot(
        self, formats: FormatLike | Iterable[FormatLike] | None = None, shift: int = 0
    ) -> Figure:
        """The shares of the binades, and below them the ranges of formats, one column wide.

        Parameters
        ----------
        formats : Format, str, or several of them
            At most four; usual: fp16 and e5m2.
        shift : int
            Numbers are taken times 2**shift, as with the scale of a loss: ranges move by it.

        Returns
        -------
        Figure
            A matplotlib figure; `.data` has the shares, `.losses` what `lost` tells.

        Raises
        ------
        UnsupportedError
            matplotlib is not installed.
        """
        from .figures import histogram

        return histogram(self, formats, _integer(shift, "shift", -_MOST_SHIFT, _MOST_SHIFT))

    def __add__(self, other: Exponents) -> Exponents:
        if not isinstance(other, Exponents):
            return NotImplemented
        total = _struct(self)
        lib.hu_histogram_merge(total, _struct(other))
        return _exponents_of(total, max(self.largest, other.largest))

    def _repr_html_(self) -> str:
        facts = [f"{self.elements} numbers"]
        for name, count in (("zero", self.zeros), ("infinite", self.infinite), ("NaN", self.nan)):
            if count:
                facts.append(f"{count} {name}")
        if self.largest:
            facts.append(f"largest {self.largest:.6g}")
        return f"<div>{', '.join(facts)}</div>{_drawing.bars(self.counts)}"


def _struct(x: Exponents) -> Any:
    """The library's histogram of these counts."""
    made = ffi.new("hu_histogram *")
    if not isinstance(x.counts, dict):
        raise DtypeError(f"counts: found {type(x.counts).__name__}, expected a dict by exponent")
    for exponent, count in x.counts.items():
        e = _integer(exponent, "exponent", _LEAST, _LEAST + _BINS - 1)
        made.bin[e - _LEAST] = _integer(count, f"count of exponent {e}", 0, _MOST_COUNT)
    made.zero = _integer(x.zeros, "zeros", 0, _MOST_COUNT)
    made.nan = _integer(x.nan, "nan", 0, _MOST_COUNT)
    made.infinite = _integer(x.infinite, "infinite", 0, _MOST_COUNT)
    total = made.zero + made.nan + made.infinite + sum(x.counts.values())
    made.elements = _integer(total, "elements", 0, _MOST_COUNT)
    if not isinstance(x.largest, (int, float)):
        raise DtypeError(f"largest: found {type(x.largest).__name__}, expected a number")
    return made


def _exponents_of(c: Any, largest: float) -> Exponents:
    counts = {_LEAST + i: int(c.bin[i]) for i in range(_BINS) if c.bin[i]}
    return Exponents(counts, int(c.zero), int(c.nan), int(c.infinite), largest)


def _lost(histogram: Any, fmt: Format, shift: int) -> dict[str, str | float]:
    found = ffi.new("hu_lost *")
    check(lib.hu_histogram_lost(histogram, fmt._c, shift, found))
    overflow, underflow = found.overflow, found.underflow
    return {
        "format": str(fmt),
        "lost": overflow.share + underflow.share,
        "overflow": overflow.share,
        "underflow": underflow.share,
        "subnormal": found.subnormal.share,
        "least": overflow.least + underflow.least,
        "most": overflow.most + underflow.most,
    }


def _in_float32(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """Numbers with the exponents of float64 numbers, or an error with one that float32 lacks."""
    with np.errstate(invalid="ignore"):
        size = np.abs(x)
        outside = np.isfinite(x) & (size != 0) & ((size < 2.0**_LEAST) | (size >= 2.0**128))
    if outside.any():
        at = tuple(int(i) for i in np.argwhere(outside)[0])
        raise ArgumentError(
            f"exponents: element {list(at)} is {float(x[at])!r}, expected exponents {_LEAST} to 127"
        )
    return _to_odd(x)


def exponents(x: object, threads: int | None = None) -> Exponents:
    """Count the exponents of an array.

    Parameters
    ----------
    x : array of float32, float64, float16 or a smaller format, any shape and strides
        float64 numbers must lie in the range of float32: zero, or 2**-149 to 2**128.
    threads : int, optional
        Usual: one for each processor that this process may use.

    Returns
    -------
    Exponents

    Raises
    ------
    DtypeError
        Numbers of another type.
    ArgumentError
        A float64 number outside of that range, with its index.

    Examples
    --------
    >>> exponents([1.0, 1.99, 2.0, -0.0]).counts
    {0: 2, 1: 1}
    """
    array = _as_array(x, "x")
    made = ffi.new("hu_histogram *")
    largest = None
    if array.dtype == np.float64:
        double = np.array(array, dtype=np.float64, order="C")
        array = _in_float32(double)
        largest = float(np.max(np.abs(double), initial=0.0, where=np.isfinite(double)))
    source = _in_line(array)
    check(lib.hu_histogram_add(source.size, _pointer(source), _threads(threads), made))
    return _exponents_of(made, float(made.largest) if largest is None else largest)
