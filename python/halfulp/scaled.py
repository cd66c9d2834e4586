"""Formats with a scale of the whole array, of blocks along the last axis, and uniform integers.

Source: include/halfulp/quantize.h; docs/reference/numerics/formats.md.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ._ffi import ffi, lib
from ._inputs import _F32, _apart, _as_bytes, _as_floats, _as_out, _extents, _pointer
from ._sound import Made, told
from .errors import DtypeError, FormatError, char_text, check, text_of
from .formats import _flag, _integer
from .rounding import _MOST_WORD, Counts, Key, _counts_of, _counts_struct, _key_pointer, _mode

if TYPE_CHECKING:
    from ._inputs import Bytes, Floats

_TEXT_BYTES = int(lib.HU_QUANTIZATION_TEXT_BYTES)


@dataclass(frozen=True)
class Scale:
    """What an array was divided by before it was rounded.

    Attributes
    ----------
    exponent : int
        Formats with a scale: the power of two.
    factor : float
        Block formats with a scale of the whole array (nvfp4), and the step of uniform integers.
    zero : float
        Uniform integers: the number of code 0.
    """

    exponent: int = 0
    factor: float = 1.0
    zero: float = 0.0


@dataclass(frozen=True)
class Packed:
    """An array in a format with scales, as bytes.

    Attributes
    ----------
    data : ndarray of uint8, 1-D
        Codes, and what scales the blocks have.
    scale : Scale
        The scale of the whole array.
    shape : tuple of int
        Of the numbers.
    text : str
        The format.
    """

    data: Bytes
    scale: Scale
    shape: tuple[int, ...]
    text: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Packed):
            return NotImplemented
        mine, theirs = (self.scale, self.shape, self.text), (other.scale, other.shape, other.text)
        return mine == theirs and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]

    def unpack(self) -> Floats:
        """The numbers, bit for bit what `Quantization.round` gives.

        Returns
        -------
        ndarray of float32

        Examples
        --------
        >>> x = np.arange(32, dtype=np.float32)
        >>> packed = Quantization("mxfp8").pack(x)
        >>> packed.data.size, bool((packed.unpack() == Quantization("mxfp8").round(x)).all())
        (33, True)
        """
        quantization = Quantization(self.text)
        extents = _extents(self.shape)
        if math.prod(extents) == 0:
            return np.empty(extents, _F32)
        handle, rows = quantization._for(extents)
        data = _as_bytes(self.data, "data", lib.hu_quantized_bytes(handle, rows))
        y = np.full(extents, np.nan, _F32)  # stays, of a scale that no array has
        if not isinstance(self.scale, Scale):
            raise DtypeError(f"scale: found {type(self.scale).__name__}, expected a Scale")
        exponent = _integer(self.scale.exponent, "exponent", -(2**31), 2**31 - 1)
        c = ffi.new("hu_array_scale *", (exponent, self.scale.factor, self.scale.zero))
        lib.hu_quantize_unpack(handle, rows, _pointer(data, "char[]"), c[0], _pointer(y))
        return y


@functools.lru_cache(maxsize=256)
def _opened(text: str, mode: int, line: int) -> Any:
    made = ffi.new("hu_quantization **")
    check(lib.hu_quantization_open(char_text(text, "format"), mode, line, made))
    return ffi.gc(made[0], lib.hu_quantization_close)


class Quantization(Made):
    """A format with a scale of the whole array, of blocks along the last axis, or uniform integers.

    Parameters
    ----------
    text : str
        As in precision.rules: "e4m3fn:scale=current", "mxfp8", "nvfp4", "uniform8", tiles of R
        lines and C elements of a line as "e4m3fn:tile=1x128:scale=f32"; also any number format. A
        rounding mode may follow: "mxfp8 rz". Arrays of more than two dimensions are their lines.
    rounding : str
        The mode where the text names none, as in `round`.

    Raises
    ------
    UnknownNameError, ParseError, FormatError
        No such format.
    UnsupportedError
        A scale that needs the history of a training.

    Examples
    --------
    >>> Quantization("uniform2").round([0.0, 0.75, 3.0]).tolist()
    [0.0, 1.0, 3.0]
    """

    _PARTS = ("_mode", "_given", "_rounding", "_text", "_tile")

    def __init__(self, text: str, rounding: str = "rne") -> None:
        if not isinstance(text, str):
            raise DtypeError(f"format: found {type(text).__name__}, expected a text")
        self._mode = _mode(rounding)
        self._given, self._rounding = text, rounding
        out = ffi.new("char[]", _TEXT_BYTES)
        handle = _opened(text, self._mode, 1)
        lib.hu_quantization_print(handle, out, _TEXT_BYTES)
        self._text = text_of(out)
        self._tile = lib.hu_quantization_tile_of(handle)

    @property
    def _lines(self) -> int:
        """Lines that are rounded together; 0: all of an array, for a scale or a range of it."""
        return 0 if self._tile.needs_array else int(self._tile.lines)

    @property
    def _has_blocks(self) -> bool:
        """Whether numbers share a scale with those that lie beside them."""
        return bool(self._tile.lines > 1 or self._tile.elements > 1)

    def _for(self, shape: tuple[int, ...]) -> tuple[Any, int]:
        """The library's handle for arrays of this shape, and how many lines they have."""
        line = shape[-1] if shape else 1
        return _opened(self._given, self._mode, max(line, 1)), math.prod(shape[:-1])

    @overload
    def round(
        self,
        x: object,
        key: Key | None = ...,
        counts: Literal[False] = ...,
        out: Floats | None = ...,
        first: int = ...,
    ) -> Floats: ...
    @overload
    def round(
        self,
        x: object,
        key: Key | None = ...,
        *,
        counts: Literal[True],
        out: Floats | None = ...,
        first: int = ...,
    ) -> tuple[Floats, Counts]: ...
    @overload
    def round(
        self,
        x: object,
        key: Key | None = ...,
        counts: bool = ...,
        out: Floats | None = ...,
        first: int = ...,
    ) -> Floats | tuple[Floats, Counts]: ...
    def round(
        self,
        x: object,
        key: Key | None = None,
        counts: bool = False,
        out: Floats | None = None,
        first: int = 0,
    ) -> Floats | tuple[Floats, Counts]:
        """Round an array; blocks and lines of tiles run along the last axis.

        Parameters
        ----------
        x : array, any shape
            float64 numbers must be such that float32 holds: scales are taken of float32 numbers.
        key, counts, out, first
            As in the function `round`.

        Returns
        -------
        ndarray of float32, shape of x
            With counts=True: this and `Counts`.

        Examples
        --------
        >>> Quantization("e4m3fn:scale=current").round([1000.0, 1.0]).tolist()
        [1024.0, 1.0]
        """
        source = _as_floats(x, "x", None, f"rounding to {self}")
        if out is None:
            target = np.empty(source.shape, _F32)
        else:
            target = _as_out(out, source.shape)
            source = _apart(source, target)
        counts = _flag(counts, "counts")
        made = _counts_struct()
        start = _integer(first, "first", 0, _MOST_WORD)
        if source.size:
            handle, rows = self._for(source.shape)
            check(
                lib.hu_quantize(
                    handle,
                    rows,
                    _pointer(source),
                    _pointer(target),
                    _key_pointer(key),
                    start,
                    ffi.NULL,
                    made,
                )
            )
        return (target, _counts_of(made)) if counts else target

    def pack(self, x: object, key: Key | None = None, first: int = 0) -> Packed:
        """Round an array and give it as bytes.

        Parameters
        ----------
        x, key, first
            As `round` takes them.

        Returns
        -------
        Packed

        Raises
        ------
        FormatError
            An infinity or NaN that the format has no code for, with its index.

        Examples
        --------
        >>> Quantization("nvfp4").pack(np.ones(32, np.float32)).data.size
        18
        """
        source = _as_floats(x, "x", None, f"rounding to {self}")
        scale = ffi.new("hu_array_scale *", (0, 1.0, 0.0))
        made = _counts_struct()
        handle, rows = self._for(source.shape)
        size = lib.hu_quantized_bytes(handle, rows) if source.size else 0
        data = np.zeros(size, np.uint8)
        start = _integer(first, "first", 0, _MOST_WORD)
        if source.size:
            target = ffi.from_buffer("char[]", data, require_writable=True)
            key_pointer = _key_pointer(key)
            check(
                lib.hu_quantize_pack(
                    handle, rows, _pointer(source), target, key_pointer, start, scale, made
                )
            )
        taken = Scale(int(scale.exponent), float(scale.factor), float(scale.zero))
        packed = Packed(data, taken, source.shape, self._given)
        if made.nan or made.overflow:
            self._check_codes(packed, self.round(source, key, first=first))
        return packed

    def _check_codes(self, packed: Packed, rounded: Floats) -> None:
        """Infinities and NaNs that the format has no code for are not packed as something else."""
        found = packed.unpack()
        lost = (found != rounded) & ~(np.isnan(found) & np.isnan(rounded))
        if lost.any():
            at = tuple(int(i) for i in np.argwhere(lost)[0])
            raise FormatError(
                f"pack: element {list(at)} is {float(rounded[at])!r}, which {self} has no code for"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantization):
            return NotImplemented
        return (self._given, self._mode) == (other._given, other._mode)

    def __hash__(self) -> int:
        return hash((self._given, self._mode))

    def __reduce__(self) -> tuple[type[Quantization], tuple[str, str]]:
        return (Quantization, (self._given, self._rounding))

    def __str__(self) -> str:
        return self._text

    @told
    def __repr__(self) -> str:
        return f"Quantization({self._given!r})"
