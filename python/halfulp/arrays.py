"""Arrays of numbers: rounding with counters, codes, packing, and formats with scales.

Arrays come from NumPy, from what has `__array__` or `__dlpack__`, or are lists and numbers. Their
numbers may be float32, or float16 and the small formats of ml_dtypes, which float32 holds exactly,
or float64. Results are new float32 arrays of the same shape, or the `out` that was given.

float64 numbers are rounded once, not first to float32 (`halfulp._inputs` says how).

The GIL is released while the library works.

Source: include/halfulp/round.h, quantize.h; docs/reference/numerics/formats.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ._ffi import ffi, lib
from ._inputs import (
    _F32,
    _FLOATS,
    _NULL,
    _apart,
    _as_array,
    _as_bytes,
    _as_floats,
    _as_out,
    _extents,
    _from_buffer,
    _hold,
    _in_line,
    _pointer,
)
from .errors import (
    ArgumentError,
    DtypeError,
    FormatError,
    ParseError,
    UnknownNameError,
    check,
    text_of,
)
from .formats import Format, FormatLike, _flag, _integer, as_format
from .rounding import (
    _MOST_WORD,
    Counts,
    Key,
    _counts_of,
    _counts_struct,
    _key_pointer,
    _mode,
    _mode_of,
)
from .scaled import Quantization

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._inputs import Bytes, Floats


# ---- rounding ----

# New memory is cleared by the system page by page, and is then in a cache: large arrays that are
# new are rounded in parts, before it leaves it. Others go past the caches, which is quicker there.
_LARGE, _PART = 1 << 23, 1 << 20


@overload
def round(  # noqa: A001
    x: object,
    fmt: FormatLike,
    rounding: str = ...,
    key: Key | None = ...,
    counts: Literal[False] = ...,
    out: Floats | None = ...,
    first: int = ...,
) -> Floats: ...
@overload
def round(  # noqa: A001
    x: object,
    fmt: FormatLike,
    rounding: str = ...,
    key: Key | None = ...,
    *,
    counts: Literal[True],
    out: Floats | None = ...,
    first: int = ...,
) -> tuple[Floats, Counts]: ...
def round(  # noqa: A001
    x: object,
    fmt: FormatLike,
    rounding: str = "rne",
    key: Key | None = None,
    counts: bool = False,
    out: Floats | None = None,
    first: int = 0,
) -> Floats | tuple[Floats, Counts]:
    """Round every number to a format; the results are float32 numbers that the format has.

    Parameters
    ----------
    x : array of float32, float64, float16 or a smaller format, any shape and strides
        float64 numbers are rounded once, not first to float32 (see the module).
    fmt : Format or str
        A number format; or the text of a format with a scale ("e4m3fn:scale=current"), of blocks
        along the last axis ("mxfp8", "nvfp4") or of uniform integers ("uniform8"), see
        `Quantization`.
    rounding : {"rne", "rna", "rz", "ru", "rd", "rodd", "sr", "sr:bits=N", "sr:bits=N:kind=K"}
        To nearest even, nearest away from zero, toward zero, up, down, to odd, stochastic;
        stochastic by N random bits, 1 to 32, of IEEE P3109's kind a, b or c (the usual one).
    key : Key
        Names the random numbers; stochastic rounding needs it.
    counts : bool
        Whether to count what happened.
    out : ndarray of float32, C-contiguous, of the shape of x
        Where the results go; may be x itself.
    first : int
        Index of element 0 in the random sequence, for arrays that are rounded in parts.

    Returns
    -------
    ndarray of float32, shape of x
        With counts=True: this and `Counts`.

    Raises
    ------
    FormatError, UnknownNameError, ParseError
        No such format or rounding.
    ArgumentError
        "sr" without a key; `out` that is read-only or not contiguous.
    DtypeError, ShapeError
        Numbers of another type; `out` of another shape.

    Examples
    --------
    >>> round([0.1, 3.3, 1e6], "e4m3fn:ovf=sat").tolist()
    [0.1015625, 3.25, 448.0]
    """
    number = fmt if type(fmt) is Format else _plain_format(fmt)
    if number is None:
        scaled = Quantization(str(fmt), rounding)
        return scaled.round(x, key=key, counts=counts, out=out, first=first)
    if type(x) is np.ndarray and x.dtype is _F32 and x.flags.carray:
        source: Floats = x
    else:
        source = _as_floats(x, "x", number, f"rounding to {number}")
    if out is None:
        target = np.empty(source.shape, _F32)
    else:
        target = _as_out(out, source.shape)
        source = _apart(source, target)
    if counts is not False:
        counts = _flag(counts, "counts")
    made = _counts_struct() if counts else _NULL
    size = source.size
    start = _integer(first, "first", 0, _MOST_WORD) if first else 0
    words = _NULL if key is None else _key_pointer(key)
    mode = _mode_of(rounding) if type(rounding) is str else _mode(rounding)
    if size >= _LARGE and out is None:
        status = _round_parts(source, target, number, mode, words, start, made)
    else:
        status = lib.hu_round_f32(
            size,
            _from_buffer(_FLOATS, source) if size else _NULL,
            _from_buffer(_FLOATS, target) if size else _NULL,
            number._c,
            mode,
            words,
            start,
            made,
        )
    if status:
        check(status)
    return (target, _counts_of(made)) if counts else target


def _round_parts(
    x: Floats, y: Floats, fmt: Format, mode: int, key: Any, first: int, counts: Any
) -> int:
    source, target = _from_buffer(_FLOATS, x), _from_buffer(_FLOATS, y)
    for at in range(0, x.size, _PART):
        n, here = min(_PART, x.size - at), (first + at) & _MOST_WORD
        status: int = lib.hu_round_f32(n, source + at, target + at, fmt._c, mode, key, here, counts)
        if status:
            break
    return status


def _plain_format(fmt: FormatLike) -> Format | None:
    """None: the text is none of a number format, and perhaps one of a scaled one."""
    if not isinstance(fmt, str):
        return as_format(fmt)
    try:
        return as_format(fmt)
    except (UnknownNameError, ParseError, FormatError):
        try:
            Quantization(fmt)
        except (UnknownNameError, ParseError, FormatError):
            pass
        else:
            return None
        raise


# ---- codes ----


def _code_type(bits: int) -> np.dtype[Any]:
    return np.dtype(np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32)


def _check_member(x: Floats, at: int, fmt: Format, who: str) -> None:
    code = ffi.new("uint32_t *")
    status = lib.hu_format_encode(fmt._c, float(x.reshape(-1)[at]), code)
    if status == lib.HU_ERR_FORMAT:
        place = [int(i) for i in np.unravel_index(at, x.shape)]
        raise FormatError(f"{who}: element {place}: {text_of(lib.hu_last_error())}")
    check(status)


def _members(x: object, fmt: Format, who: str) -> Floats:
    """Float32 numbers that the format has codes for, or FormatError with one that it has not."""
    array = _as_array(x, "x")
    if array.dtype == np.float64:
        array = _hold(array, "x", who, FormatError)
    source = _in_line(array)
    rounded = round(source, fmt, rounding="rz")
    flat = source.reshape(-1)
    suspects = [(rounded.reshape(-1) != flat) & np.isfinite(flat)]
    suspects += [np.isnan(flat), flat == np.inf, flat == -np.inf]
    for suspect in suspects:
        if suspect.any():
            _check_member(source, int(suspect.argmax()), fmt, who)
    return source


def encode(x: object, fmt: FormatLike) -> NDArray[Any]:
    """The codes of numbers that a format has.

    Parameters
    ----------
    x : array of numbers that `round` gave, any shape
    fmt : Format or str

    Returns
    -------
    ndarray of uint8, uint16 or uint32, shape of x
        The sign bit on top, the others right of it.

    Raises
    ------
    FormatError
        A number that the format does not have, with its index.

    Examples
    --------
    >>> [hex(c) for c in encode([1.0, -1.5], "e5m2")]
    ['0x3c', '0xbe']
    """
    number = as_format(fmt)
    source = _members(x, number, "encode")
    bits = number.bits
    kind = _code_type(bits)
    if bits <= 16:
        codes = np.zeros(source.shape, kind)
        _pack_into(source, codes, number, 8 * kind.itemsize)
        return codes
    dense = np.zeros(_packed_bytes(source.size, number, 0), np.uint8)
    _pack_into(source, dense, number, 0)
    spread = np.zeros((source.size, 32), np.uint8)
    spread[:, :bits] = np.unpackbits(dense, count=source.size * bits, bitorder="little").reshape(
        source.size, bits
    )
    words = np.packbits(spread, axis=1, bitorder="little").reshape(-1).view("<u4")
    return words.astype(np.uint32).reshape(source.shape)


def decode(codes: object, fmt: FormatLike) -> Floats:
    """The numbers of codes.

    Parameters
    ----------
    codes : array of whole numbers, any shape
        Each below 2**bits.
    fmt : Format or str

    Returns
    -------
    ndarray of float32, shape of codes
        NaN codes become the NaN 0x7FC00000 with the code's sign.

    Raises
    ------
    ArgumentError
        A code that the format does not have.
    DtypeError
        Codes that are no whole numbers.

    Examples
    --------
    >>> decode([0x3c, 0xbe], "e5m2").tolist()
    [1.0, -1.5]
    """
    number = as_format(fmt)
    try:
        given = np.asarray(codes)
    except (TypeError, ValueError, OverflowError) as error:
        raise DtypeError(f"codes: {error}") from None
    if given.size and given.dtype.kind not in "iu":
        raise DtypeError(f"codes: found {given.dtype}, expected whole numbers")
    bits = number.bits
    y = np.empty(given.shape, _F32)  # first, for there may be more numbers than anybody can hold
    if given.size and (int(given.min()) < 0 or int(given.max()) >= 2**bits):
        wrong = int(given.min()) if int(given.min()) < 0 else int(given.max())
        raise ArgumentError(f"codes of {number}: found {wrong}, expected 0 to {2**bits - 1}")
    if given.size == 0:
        return y
    if bits <= 16:
        plain: NDArray[Any] = _in_line(given, _code_type(bits))
        size = 8 * plain.dtype.itemsize
    else:
        words = np.ascontiguousarray(given, dtype="<u4").reshape(-1)
        spread = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(-1, 32)
        plain = np.packbits(spread[:, :bits].reshape(-1), bitorder="little")
        size = 0
    check(lib.hu_unpack(y.size, _pointer(plain, "char[]"), _pointer(y), number._c, size))
    return y


# ---- packing ----


def _packed_bytes(n: int, fmt: Format, code_bits: int) -> int:
    return int(lib.hu_packed_bytes(n, fmt._c, code_bits))


def _pack_into(x: Floats, codes: NDArray[Any], fmt: Format, code_bits: int) -> None:
    if x.size == 0:
        return
    target = ffi.from_buffer("char[]", codes, require_writable=True)
    check(lib.hu_pack(x.size, _pointer(x), target, fmt._c, code_bits, ffi.NULL))


def _code_bits(bits: int | None, fmt: Format) -> int:
    if bits is None:
        return 0
    found = _integer(bits, "bits", 8, 16)
    if found not in (8, 16) or found < fmt.bits:
        raise ArgumentError(
            f"bits: found {found}, expected 8 or 16, at least the {fmt.bits} of {fmt}"
        )
    return found


def pack(x: object, fmt: FormatLike, bits: int | None = None) -> Bytes:
    """Numbers that a format has as bytes, as small as they get.

    Parameters
    ----------
    x : array of numbers that `round` gave, any shape
    fmt : Format or str
    bits : {None, 8, 16}
        Bits of a code; None: exactly those of the format, the lowest bit first.

    Returns
    -------
    ndarray of uint8, 1-D

    Raises
    ------
    FormatError
        A number that the format does not have, with its index.

    Examples
    --------
    >>> pack([1.0, -1.5, 6.0, 0.5], "e2m1").tobytes().hex()
    'b217'
    """
    number = as_format(fmt)
    source = _members(x, number, "pack")
    size = _code_bits(bits, number)
    codes = np.zeros(_packed_bytes(source.size, number, size), np.uint8)
    _pack_into(source, codes, number, size)
    return codes


def unpack(
    codes: object, fmt: FormatLike, shape: int | tuple[int, ...], bits: int | None = None
) -> Floats:
    """The numbers of what `pack` gave.

    Parameters
    ----------
    codes : array of uint8, or bytes
    fmt : Format or str
    shape : int or tuple of int
        How many numbers there are, or their shape.
    bits : {None, 8, 16}
        As `pack` had it.

    Returns
    -------
    ndarray of float32

    Raises
    ------
    ShapeError
        Fewer or more bytes than the numbers take.

    Examples
    --------
    >>> unpack(bytes.fromhex("b217"), "e2m1", 4).tolist()
    [1.0, -1.5, 6.0, 0.5]
    """
    number = as_format(fmt)
    size = _code_bits(bits, number)
    extents = _extents(shape)
    n = math.prod(extents)
    data = _as_bytes(codes, "codes", lib.hu_packed_bytes(n, number._c, size))
    y = np.empty(extents, _F32)
    if n:
        check(lib.hu_unpack(n, _pointer(data, "char[]"), _pointer(y), number._c, size))
    return y
