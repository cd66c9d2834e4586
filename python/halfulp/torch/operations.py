"""Rounding and products of tensors, with gradients: `round` and `gemm`.

Source: docs/reference/numerics/formats.md, sums.md.
"""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, ShapeError
from ..formats import FormatLike
from ..rounding import Key
from . import _ops


def round(x: Any, fmt: FormatLike, rounding: str = "rne", key: Key | None = None) -> Any:  # noqa: A001
    """Round every number of a tensor to a format; the gradient passes as it is.

    Parameters
    ----------
    x : Tensor of float32, any shape and strides, on the CPU
    fmt, rounding
        As `halfulp.round` takes them. Blocks run along the last dimension.
    key : Key, optional
        Of stochastic rounding, which needs it; its stream is a name.

    Returns
    -------
    Tensor of float32, shape of x, contiguous
        The bits of `halfulp.round`. `torch.compile` and `torch.export` go through it from PyTorch
        2.4 on.

    Raises
    ------
    UnsupportedError, DtypeError
        A tensor on a device, or of another type.
    ArgumentError
        "sr" without a key, or with one whose stream has no name.
    FormatError, UnknownNameError, ParseError
        No such format or rounding.

    Examples
    --------
    >>> import torch
    >>> import halfulp.torch as ht
    >>> x = torch.tensor([0.1, 3.3, 1e6], requires_grad=True)
    >>> y = ht.round(x, "e4m3fn:ovf=sat")
    >>> y.tolist()
    [0.1015625, 3.25, 448.0]
    >>> y.sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0, 1.0]
    """
    if key is None and _ops.draws(rounding):
        raise ArgumentError(
            f"key: found none, expected a halfulp.Key: {rounding!r} draws random numbers"
        )
    seed, stream, step = (0, "", 0) if key is None else key._words
    if not isinstance(stream, str):
        raise ArgumentError(f"key: found the stream {stream!r}, expected a name")
    _ops.check_tensor(x, "round")
    return _ops.round_op(x, str(fmt), rounding, _ops.signed(seed), stream, _ops.signed(step))


def gemm(
    a: Any, b: Any, accumulator: str = "fmacs", *, bias: Any = None, semantics: str = "exact"
) -> Any:
    """C[m, n] = sum over k of A[m, k] B[k, n] in a chosen accumulator, its gradients too.

    Parameters
    ----------
    a : Tensor of float32 [m, k], on the CPU
    b : Tensor of float32 [k, n]
    accumulator, semantics : str
        As `halfulp.gemm` takes them.
    bias : Tensor of float32 [n], optional
        Added in float32 at the end.

    Returns
    -------
    Tensor of float32 [m, n]
        The bits of `halfulp.gemm`; gradients are products in the same accumulator.

    Raises
    ------
    ShapeError
        Factors that do not fit.
    UnsupportedError, DtypeError
        A tensor on a device, or of another type.
    UnknownNameError, ParseError, FormatError
        No such accumulator.

    Examples
    --------
    >>> import torch
    >>> import halfulp.torch as ht
    >>> ones = torch.ones(1, 4096)
    >>> float(ht.gemm(ones, ones.t(), "fmac:fp16"))
    2048.0
    """
    for x, what in ((a, "a"), (b, "b"), (bias, "bias")):
        if x is not None:
            _ops.check_tensor(x, f"gemm: {what}")
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"gemm: found a {tuple(a.shape)} and b {tuple(b.shape)}, expected [m, k] and [k, n]"
        )
    return _ops.gemm(a, b, bias, accumulator, semantics)
