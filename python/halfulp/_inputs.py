"""Arrays that come in, and arrays that are written into.

float64 numbers go to float32 by rounding to odd before they are rounded to the format: with two
spare bits that is one rounding of the float64 number itself (Boldo and Melquiond, "Emulation of FMA
and correctly rounded sums", IEEE Transactions on Computers 57, 2008). So it is done for formats of
at most 21 fraction bits whose smallest number is at least 2**-147; others take float64 numbers that
float32 holds, and refuse the rest.
"""

from __future__ import annotations

import math
from array import array as array_of_numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._ffi import ffi
from .errors import ArgumentError, DtypeError, Error, ShapeError
from .formats import Format, _integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Bytes = NDArray[np.uint8]

_F32 = np.dtype(np.float32)
_SPARE_BITS = 2


def _is_held(dtype: np.dtype[Any]) -> bool:
    """Whether float32 has all numbers of a type: float16, and the small formats of ml_dtypes."""
    return (
        bool(np.can_cast(dtype, _F32, "safe"))
        if dtype.kind == "f"
        else bool(dtype.type.__module__ == "ml_dtypes" and "float" in dtype.name)
    )


def _of_others(x: object) -> NDArray[Any]:
    """What is no array of NumPy's as one, without a copy where it is memory; or their exception."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("a mask would be lost")
    if hasattr(x, "__array__"):
        return np.asarray(x)
    if hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    if isinstance(x, (str, bytes, bytearray)):
        raise TypeError("a text is none")
    if isinstance(x, (memoryview, array_of_numbers)):
        return np.asarray(x)
    if isinstance(x, (int, float, Sequence)):
        return np.asarray(x, dtype=np.float64)
    raise TypeError("it has neither __array__ nor __dlpack__")


def _as_array(x: object, what: str) -> NDArray[Any]:
    """An array of floating-point numbers, in their own type."""
    if type(x) is np.ndarray:
        array: NDArray[Any] = x
    else:
        try:
            array = _of_others(x)
        except Exception as error:  # theirs: a tensor on a device, one that wants a gradient
            raise DtypeError(
                f"{what}: found {type(x).__name__}, expected an array of numbers: {error}"
            ) from None
    if array.dtype == _F32:
        return array
    if array.dtype.kind == "f" and array.dtype.itemsize == 8:
        return array.astype(np.float64, copy=False)
    if array.dtype.kind not in "fV" or array.dtype.names or not _is_held(array.dtype):
        raise DtypeError(
            f"{what}: found {array.dtype}, expected float32, float64, float16 or a smaller one"
        )
    return array


def _to_odd(x: NDArray[np.float64]) -> Floats:
    """Each number rounded to odd: toward zero, with the last bit set where it was not exact."""
    with np.errstate(all="ignore"):
        near = x.astype(np.float32)
        back = near.astype(np.float64)
        inexact = (back != x) & ~np.isnan(x)
        beyond = np.abs(back) > np.abs(x)
    bits = near.view(np.uint32)
    bits -= (beyond & inexact).astype(np.uint32)
    bits |= inexact.astype(np.uint32)
    return near


def _hold(x: NDArray[Any], what: str, who: str, kind: type[Error] = ArgumentError) -> Floats:
    """The same numbers as float32, or an error with the first that it does not hold."""
    with np.errstate(all="ignore"):
        near = np.asarray(x.astype(np.float32))
        lost = (near.astype(np.float64) != x) & ~np.isnan(x)
    if lost.any():
        at = tuple(int(i) for i in np.argwhere(lost)[0])
        raise kind(f"{who}: {what}: element {list(at)} is {float(x[at])!r}, no float32 number")
    return near


def _has_spare_bits(fmt: Format) -> bool:
    if fmt.specials == "table":
        return True
    return fmt.man + _SPARE_BITS <= 23 and math.log2(fmt.min_normal) - fmt.man >= -149 + _SPARE_BITS


def _in_line(x: NDArray[Any], dtype: Any = _F32) -> NDArray[Any]:
    """The same numbers, contiguous and at addresses that C may read."""
    made: NDArray[Any] = np.asarray(x, dtype=dtype, order="C")
    return made if made.flags.aligned else made.copy()


def _as_floats(x: object, what: str, fmt: Format | None, who: str) -> Floats:
    """Contiguous float32, of float64 numbers by `_to_odd` where `fmt` has bits to spare."""
    array = _as_array(x, what)
    if array.dtype == np.float64:
        if fmt is not None and _has_spare_bits(fmt):
            array = _to_odd(np.array(array, dtype=np.float64, order="C"))
        else:
            array = _hold(array, what, who)
    return _in_line(array)


def _as_out(out: object, shape: tuple[int, ...]) -> Floats:
    """An array to be written into as it is: nothing is copied behind the caller's back."""
    if not isinstance(out, np.ndarray):
        raise DtypeError(f"out: found {type(out).__name__}, expected a numpy array of float32")
    if type(out) is not np.ndarray:  # a class of others may say another shape than it has
        out = np.asarray(out)
    if out.dtype != _F32 or not out.dtype.isnative:
        raise DtypeError(f"out: found {out.dtype}, expected float32")
    if out.shape != shape:
        raise ShapeError(f"out: found shape {out.shape}, expected {shape}")
    if not out.flags.writeable:
        raise ArgumentError("out: found a read-only array, expected one that can be written")
    if not (out.flags.c_contiguous and out.flags.aligned):
        raise ArgumentError("out: found strides or bytes out of line, expected a contiguous array")
    return out


def _apart(x: Floats, out: Floats) -> Floats:
    """The input, copied where it shares a part, but not all, of its memory with the output."""
    if x is out or not np.may_share_memory(x, out) or x.ctypes.data == out.ctypes.data:
        return x
    return x.copy()


_from_buffer = ffi.from_buffer
_FLOATS = ffi.typeof("float[]")
_NULL = ffi.NULL


def _pointer(x: NDArray[Any], kind: str = "float[]") -> Any:
    return _from_buffer(kind, x) if x.size else ffi.NULL


def _extents(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    extents = tuple(_integer(e, "shape", 0, 2**40) for e in given)
    if math.prod(extents) > 2**44:
        raise ShapeError(f"shape: found {extents}, expected at most 2**44 numbers")
    return extents


def _as_bytes(codes: object, what: str, expected: int) -> Bytes:
    if isinstance(codes, (bytes, bytearray, memoryview)):
        data = np.frombuffer(codes, np.uint8)
    elif isinstance(codes, np.ndarray) and codes.dtype == np.uint8:
        data = codes.reshape(-1)
    else:
        raise DtypeError(f"{what}: found {type(codes).__name__}, expected bytes or uint8")
    if data.size != expected:
        raise ShapeError(f"{what}: found {data.size} bytes, expected {expected}")
    if data.ctypes.data % 4:
        data = data.copy()
    return np.ascontiguousarray(data)
