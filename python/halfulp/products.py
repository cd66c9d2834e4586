"""Products of matrices whose sums are kept in a chosen accumulator.

Source: include/halfulp/gemm.h; docs/reference/numerics/sums.md.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ._ffi import ffi, lib
from ._inputs import _as_array, _as_floats, _as_out, _pointer
from .errors import ArgumentError, DtypeError, ShapeError, char_text, check
from .formats import _flag, _integer, _one_of

if TYPE_CHECKING:
    from ._inputs import Floats

_SEMANTICS = ("exact", "f32fma", "cpd")
_MOST_THREADS = 1024
_is_forked = False


def _note_fork() -> None:
    """A child of fork has no threads of the OpenMP library, and would wait for them forever."""
    global _is_forked
    _is_forked = True


os.register_at_fork(after_in_child=_note_fork)


@dataclass(frozen=True)
class ProductCounts:
    """What became of the accumulators of a product.

    Attributes
    ----------
    values : int
        Rounded accumulators: m n k (of "tc" a step's result counts once for each of its terms).
    subnormal, overflow : int
        Of those, below the smallest normal number; beyond the largest finite one.
    terms, stalled : int
        Products of two nonzero numbers; those that left their accumulator as it was (of "tc": of
        which alignment left nothing).
    """

    values: int = 0
    subnormal: int = 0
    overflow: int = 0
    terms: int = 0
    stalled: int = 0


def _accumulator(text: object, semantics: object) -> Any:
    """The library's accumulator; what cannot be hashed has no place in the cache."""
    if not isinstance(text, str):
        raise DtypeError(f"accumulator: found {type(text).__name__}, expected a text")
    if not isinstance(semantics, str):
        raise DtypeError(f"semantics: found {type(semantics).__name__}, expected a text")
    return _accumulator_of(text, semantics)


@functools.lru_cache(maxsize=256)
def _accumulator_of(text: str, semantics: str) -> Any:
    made = ffi.new("hu_accumulator *")
    check(lib.hu_accumulator_parse(char_text(text, "accumulator"), made))
    made.semantics = _one_of(semantics, "semantics", _SEMANTICS)
    check(lib.hu_accumulator_check(made))
    return made


def _matrix(x: object, what: str) -> Floats:
    """Two axes of float32; strides of whole elements stay."""
    array = _as_array(x, what)
    if array.ndim != 2:
        raise ShapeError(f"{what}: found shape {array.shape}, expected [rows, columns]")
    is_strided = (
        array.dtype == np.float32
        and array.dtype.isnative
        and array.flags.aligned
        and all(s > 0 and s % 4 == 0 for s in array.strides)
    )
    return array if is_strided else _as_floats(array, what, None, "a product")


def _set_operand(operand: Any, x: Floats, along: int, terms: int) -> None:
    """The factor's element (i, k): i along one axis, the terms of the sum along the other."""
    operand.data = ffi.cast("float *", x.ctypes.data)
    operand.stride = x.strides[along] // 4
    operand.k_stride = x.strides[terms] // 4


@overload
def gemm(
    a: object,
    b: object,
    accumulator: str = ...,
    threads: int | None = ...,
    *,
    bias: object = ...,
    semantics: str = ...,
    counts: Literal[False] = ...,
    out: Floats | None = ...,
) -> Floats: ...
@overload
def gemm(
    a: object,
    b: object,
    accumulator: str = ...,
    threads: int | None = ...,
    *,
    bias: object = ...,
    semantics: str = ...,
    counts: Literal[True],
    out: Floats | None = ...,
) -> tuple[Floats, ProductCounts]: ...
def gemm(
    a: object,
    b: object,
    accumulator: str = "fmacs",
    threads: int | None = None,
    *,
    bias: object = None,
    semantics: str = "exact",
    counts: bool = False,
    out: Floats | None = None,
) -> Floats | tuple[Floats, ProductCounts]:
    """C[m, n] = sum over k of A[m, k] B[k, n], the sum in a chosen accumulator, k ascending.

    The bits depend neither on threads nor on the instruction set.

    Parameters
    ----------
    a : array [m, k]
    b : array [k, n]
        float32, or what float32 holds exactly; any strides.
    accumulator : str
        "fmacs" (float32), "macs:F", "fmac:F", "mac:F", "fmacK:F" ("fmac8:1/6/9": float32 sums of
        blocks of 8), "kahan:F", "kahan-cpd:F", with any format F; as tensor cores do:
        "tc:h100-fp8", "tc:K=32:F=13:out=13", with ":promote=128" a float32 sum outside after
        every 128 terms.
    threads : int, optional
        Usual: one for each processor that this process may use.
    bias : array [n], optional
        Added in float32 at the end.
    semantics : {"exact", "f32fma", "cpd"}
        What a rounding rounds: the exact value, or what float32 made of it.
    counts : bool
        Whether to count what became of the accumulators; slower.
    out : ndarray of float32 [m, n], C-contiguous
        Where the result goes; it may not share memory with a or b.

    Returns
    -------
    ndarray of float32 [m, n]
        With counts=True: this and `ProductCounts`.

    Raises
    ------
    ShapeError
        Factors that do not fit.
    UnknownNameError, ParseError, FormatError, ArgumentError
        No such accumulator; memory that is shared.

    Examples
    --------
    >>> ones = np.ones((1, 4096), np.float32)
    >>> float(gemm(ones, ones.T, "fmac:fp16")[0, 0])
    2048.0
    """
    left, right = _matrix(a, "a"), _matrix(b, "b")
    (m, k), (rows, n) = left.shape, right.shape
    if rows != k:
        raise ShapeError(f"gemm: found a {left.shape} and b {right.shape}, expected b ({k}, n)")
    target = np.empty((m, n), np.float32) if out is None else _as_out(out, (m, n))
    if out is not None and (np.may_share_memory(out, left) or np.may_share_memory(out, right)):
        raise ArgumentError("out: found memory of a factor, expected an array of its own")
    added = None if bias is None else _as_floats(bias, "bias", None, "a bias")
    if added is not None and added.shape != (n,):
        raise ShapeError(f"bias: found shape {added.shape}, expected ({n},)")
    counts = _flag(counts, "counts")
    found = ffi.new("hu_gemm_counts *")
    task = ffi.new("hu_gemm_task *")
    task.m, task.n, task.k, task.c_stride = m, n, k, n
    task.accumulator = _accumulator(accumulator, semantics)[0]
    task.threads = _threads(threads)
    if target.size:
        if k:
            _set_operand(task.a, left, 0, 1)
            _set_operand(task.b, right, 1, 0)
        task.c = _pointer(target)
        bias_pointer = ffi.NULL if added is None else _pointer(added)
        task.bias = bias_pointer
        task.counts = found if counts else ffi.NULL
        if k:
            check(lib.hu_gemm(task))
        else:
            target[...] = 0 if added is None else added
    if not counts:
        return target
    return target, ProductCounts(
        found.values, found.subnormal, found.overflow, found.terms, found.stalled
    )


def _threads(threads: int | None) -> int:
    if threads is not None:
        threads = _integer(threads, "threads", 1, _MOST_THREADS)
    if _is_forked:
        return 1
    return min(len(os.sched_getaffinity(0)), _MOST_THREADS) if threads is None else threads
