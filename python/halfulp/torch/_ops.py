"""Operations that PyTorch knows by name, with fake kernels and gradients.

`round_op` is what `halfulp.round` does to an array, done to a tensor, and `round_counted` the same
with counters; `gemm` is a product in an accumulator. They are `torch.ops.halfulp.round` and so on
where PyTorch takes operations of others (`_release.py`); importing this module registers them.

Source: docs/reference/numerics/formats.md.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from .. import arrays, products
from .._ffi import ffi, lib
from ..errors import DtypeError, UnsupportedError, check
from ..rounding import Key, _key_pointer
from ..scaled import Quantization
from ._release import check_release, operation

check_release()
_WORD = 2**64 - 1
COUNTS_WORDS = ffi.sizeof("hu_round_counts") // 8


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
    >>> round_op(x, "e4m3fn:ovf=sat", "rne", 0, "", 0).tolist()
    [0.1015625, 3.25, 448.0]
    """
    check_tensor(x, "halfulp::round")
    key = Key(seed & _WORD, stream, step & _WORD)
    return torch.from_numpy(arrays.round(x.detach().numpy(), format, rounding, key=key))


def _fake(x: Tensor, format: str, rounding: str, seed: int, stream: str, step: int) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _straight(ctx: object, grad: Tensor) -> tuple[Tensor, None, None, None, None, None]:
    return grad, None, None, None, None, None


round_op = operation(
    "halfulp::round(Tensor x, str format, str rounding, int seed, str stream, int step) -> Tensor",
    round_tensor,
    _fake,
    slope=_straight,
)


# ---- with counts, for `ht.apply` ----


def no_counts() -> Any:
    """Counters of nothing: a tensor of int64 with the bytes of `hu_round_counts`."""
    made = torch.zeros(COUNTS_WORDS, dtype=torch.int64)
    lib.hu_round_counts_clear(ffi.cast("hu_round_counts *", made.data_ptr()))
    return made


def quantize(
    x: Any, counts: Any, quantization: Quantization, key: Key | None = None, out: Any = None
) -> Any:
    """Round a tensor in its order in memory; blocks run along its last dimension.

    Parameters
    ----------
    x : Tensor of float32 on the CPU, any shape
    counts : Tensor of int64, or None
        Added to: `no_counts`.
    quantization : Quantization
    key : Key, optional
        For stochastic rounding.
    out : Tensor, optional
        x itself: in place.

    Returns
    -------
    Tensor of float32, shape of x, contiguous
        The same bits for any number of PyTorch's threads, which share the work.
    """
    source = x.contiguous()
    target = source if out is x else torch.empty_like(source)
    if not source.numel():
        return target
    handle, rows = quantization._for(tuple(source.shape))
    line = source.numel() // rows
    threads, lines = 1, quantization._lines
    if source.numel() >= 2 * _LEAST_PART and lines:
        threads = min(torch.get_num_threads(), source.numel() // _LEAST_PART, rows)
    ends = [rows * i // threads // max(lines, 1) * max(lines, 1) for i in range(threads)] + [rows]
    own = [ffi.new("hu_round_counts *") for _ in range(threads)]

    def part(i: int) -> None:
        first = ends[i] * line
        lib.hu_round_counts_clear(own[i])
        x_pointer, y_pointer = (
            ffi.cast("float *", t.data_ptr() + 4 * first) for t in (source, target)
        )
        count, random = ends[i + 1] - ends[i], _key_pointer(key)
        check(lib.hu_quantize(handle, count, x_pointer, y_pointer, random, first, ffi.NULL, own[i]))

    if threads == 1:
        part(0)
    else:
        others = [_pool().submit(part, i) for i in range(1, threads)]
        part(0)
        for other in others:
            other.result()
    if counts is not None:
        total = ffi.cast("hu_round_counts *", counts.data_ptr())
        for one in own:
            lib.hu_round_counts_add(total, one)
    return target


_LEAST_PART = 1 << 16  # numbers that a thread is worth


def is_local(text: str) -> bool:
    """Whether a number's rounding hangs on its block alone, not on the whole tensor."""
    try:
        return Quantization(text)._lines > 0
    except UnsupportedError:  # a scale of the steps before
        return False


def tile_lines(text: str) -> int:
    """Lines of a tile; 1 of what has none."""
    return int(Quantization(text)._tile.lines)


def draws(text: str) -> bool:
    """Whether a rounding mode, or a format with one behind it, is a stochastic one."""
    return text.split()[-1].lower().partition(":")[0] == "sr"


def _pool() -> ThreadPoolExecutor:
    """Threads of this process: a fork has none of its parent's."""
    pid = os.getpid()
    if pid not in _POOLS:
        _POOLS.clear()
        _POOLS[pid] = ThreadPoolExecutor(os.cpu_count() or 1)
    return _POOLS[pid]


_POOLS: dict[int, ThreadPoolExecutor] = {}


def _round_counted(
    x: Tensor, counts: Tensor, format: str, stream: int, seed: int, step: Tensor
) -> Tensor:
    check_tensor(x, "halfulp::round_counted")
    key = Key(seed & _WORD, stream & _WORD, max(int(step), 0)) if stream else None
    return quantize(x, counts, Quantization(format), key)


# The step is a tensor, for else each one is compiled anew.
round_counted = operation(
    "halfulp::round_counted(Tensor x, Tensor(a!) counts, str format, int stream, int seed, "
    "Tensor step) -> Tensor",
    _round_counted,
    lambda x, *_: torch.empty_like(x, memory_format=torch.contiguous_format),
    mutates=("counts",),
)


def signed(word: int) -> int:
    """A word of 64 bits as PyTorch's int."""
    return word - 2**64 if word >= 2**63 else word


# ---- products ----


def _product(a: Tensor, b: Tensor, bias: Tensor | None, accumulator: str, semantics: str) -> Tensor:
    given = None if bias is None else bias.detach().numpy()
    left, right = a.detach().numpy(), b.detach().numpy()
    made = products.gemm(left, right, accumulator, bias=given, semantics=semantics)
    return torch.from_numpy(made)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    a, b, bias, ctx.accumulator, ctx.semantics = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(a, b)


def _gradients(ctx: Any, g: Any) -> Any:
    a, b = ctx.saved_tensors
    how = (ctx.accumulator, ctx.semantics)
    da = gemm(g, b.t(), None, *how) if ctx.needs_input_grad[0] else None
    db = gemm(a.t(), g, None, *how) if ctx.needs_input_grad[1] else None
    return da, db, g.sum(0) if ctx.has_bias else None, None, None


# C[m, n] = sum over k of A[m, k] B[k, n], k ascending, in an accumulator: `halfulp.gemm`.
gemm = operation(
    "halfulp::gemm(Tensor a, Tensor b, Tensor? bias, str accumulator, str semantics) -> Tensor",
    _product,
    lambda a, b, *_: a.new_empty(a.shape[0], b.shape[1]),
    keep=_keep,
    slope=_gradients,
)
