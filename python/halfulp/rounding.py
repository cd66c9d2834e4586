"""What rounding takes and tells: modes, keys of random sequences, counters.

Source: include/halfulp/round.h, random.h.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from ._ffi import ffi, lib
from ._sound import Made, told
from .errors import DtypeError, char_text, check
from .formats import _integer

_MOST_WORD = 2**64 - 1


@dataclass(frozen=True)
class Counts:
    """What rounding did to an array.

    Attributes
    ----------
    elements : int
        Numbers rounded.
    overflow : int
        Of those, beyond the largest finite number.
    underflow : int
        Nonzero numbers that became zero.
    subnormal : int
        Results below the smallest normal number; of formats without subnormals, those flushed.
    zero, nan : int
        Results that are zero; numbers that were NaN.
    max_exponent, min_exponent : int or None
        Exponents of the largest and smallest finite nonzero number; None: there was none.

    Examples
    --------
    >>> import halfulp as hu
    >>> _, counts = hu.round([1.0, 1e9, 1e-9], "e5m2", counts=True)
    >>> counts.overflow, counts.underflow
    (1, 1)
    """

    elements: int = 0
    overflow: int = 0
    underflow: int = 0
    subnormal: int = 0
    zero: int = 0
    nan: int = 0
    max_exponent: int | None = None
    min_exponent: int | None = None

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        total, more = _counts_struct(self), _counts_struct(other)
        lib.hu_round_counts_add(total, more)
        return _counts_of(total)


def _counts_struct(counts: Counts | None = None) -> Any:
    made = ffi.new("hu_round_counts *")
    lib.hu_round_counts_clear(made)
    if counts is not None:
        for name in ("elements", "overflow", "underflow", "subnormal", "zero", "nan"):
            setattr(made, name, _integer(getattr(counts, name), name, 0, _MOST_WORD))
        for name in ("max_exponent", "min_exponent"):
            if getattr(counts, name) is not None:
                setattr(made, name, _integer(getattr(counts, name), name, -(2**30), 2**30))
    return made


def _counts_of(c: Any) -> Counts:
    ends = [None if e == lib.HU_NO_EXPONENT else int(e) for e in (c.max_exponent, c.min_exponent)]
    return Counts(c.elements, c.overflow, c.underflow, c.subnormal, c.zero, c.nan, *ends)


class Key(Made):
    """Names a sequence of random numbers for stochastic rounding: the same key, the same bits.

    Parameters
    ----------
    seed, step : int
        0 to 2**64 - 1.
    stream : str or int
        What is rounded: a name, or a number of the library (`hu_stream_id`).

    Examples
    --------
    >>> import halfulp as hu
    >>> key = hu.Key(seed=1, stream="w", step=7)
    >>> a, b = (hu.round([0.3], "e2m1", rounding="sr", key=key) for _ in range(2))
    >>> bool(a == b)
    True
    """

    __slots__ = ("_c", "_words")
    _PARTS = __slots__

    def __init__(self, seed: int = 0, stream: str | int = "", step: int = 0) -> None:
        self._words = (seed, stream, step)
        self._c = ffi.new("hu_random_key *")
        self._c.seed = _integer(seed, "seed", 0, _MOST_WORD)
        self._c.step = _integer(step, "step", 0, _MOST_WORD)
        if isinstance(stream, str):
            self._c.stream = lib.hu_stream_id(b"round", char_text(stream, "stream"))
        else:
            self._c.stream = _integer(stream, "stream", 0, _MOST_WORD)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return NotImplemented
        return bytes(ffi.buffer(self._c)) == bytes(ffi.buffer(other._c))

    def __hash__(self) -> int:
        return hash(bytes(ffi.buffer(self._c)))

    @told
    def __repr__(self) -> str:
        return "Key(seed={!r}, stream={!r}, step={!r})".format(*self._words)

    def __reduce__(self) -> tuple[type[Key], tuple[int, str | int, int]]:
        return (Key, self._words)


def _mode(name: object) -> int:
    """The library's number of a mode."""
    if not isinstance(name, str):  # what cannot be hashed has no place in the cache
        raise DtypeError(f"rounding: found {type(name).__name__}, expected a text")
    return _mode_of(name)


@functools.lru_cache(maxsize=64)
def _mode_of(name: str) -> int:
    found = ffi.new("hu_rounding *")
    check(lib.hu_rounding_parse(char_text(name, "rounding"), found))
    return int(found[0])


def _key_pointer(key: Key | None) -> Any:
    if key is None:
        return ffi.NULL
    if not isinstance(key, Key):
        raise DtypeError(f"key: found {type(key).__name__}, expected a Key")
    return key._c
