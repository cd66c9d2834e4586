"""Pooling, reductions and other sizes of PyTorch: handlers of `_table.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ._graph import Output, RefusalError, Tensor, Unknown
from ._places import at_places
from ._table import (
    HANDLERS,
    as_image,
    as_tensor,
    axis_of,
    check_batch_first,
    handles,
    of_image,
    pair_of,
    size_text,
    unless,
)
from ._views import View

if TYPE_CHECKING:
    from .capture import Lowering


@handles("max_pool2d.default", "max_pool1d.default")
def max_pool(
    x: Lowering,
    name: str,
    image: Any,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil: bool = False,
) -> Tensor:
    if pair_of(dilation) != (1, 1):
        raise RefusalError("max_pool with dilation")
    return _pooled(x, name, "max_pool", image, kernel, stride, padding, ceil)


@handles("max_pool2d_with_indices.default", "max_pool1d_with_indices.default")
def max_pool_with_indices(x: Lowering, name: str, image: Any, *options: Any) -> list[Any]:
    return [max_pool(x, name, image, *options), Unknown("the places of largest numbers")]


@handles("avg_pool2d.default", "avg_pool1d.default")
def avg_pool(
    x: Lowering,
    name: str,
    image: Any,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil: bool = False,
    count_padding: bool = True,
    divisor: Any = None,
) -> Tensor:
    if divisor is not None:
        raise RefusalError("avg_pool2d with divisor_override")
    counts = unless(bool(count_padding) and pair_of(padding) != (0, 0), False)
    return _pooled(x, name, "avg_pool", image, kernel, stride, padding, ceil, count_padding=counts)


def _pooled(
    x: Lowering,
    name: str,
    op: str,
    image: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil: bool,
    **more: object,
) -> Tensor:
    image = as_tensor(x, name, image)
    places = len(image.view.dims) - 2 if isinstance(kernel, int) else len(kernel)
    made = as_image(x, name, image, op, places)
    made = x.graph.one(
        f"{op}1d" if places == 1 else op,
        name,
        [made],
        kernel=size_text(kernel),
        stride=size_text(stride or kernel),
        pad=unless(size_text(padding), 0),
        ceil=unless(bool(ceil), False),
        **more,
    )
    return of_image(image.view.dims[0], made)


@handles("adaptive_avg_pool1d.default")
def adaptive_avg_pool1d(x: Lowering, name: str, rows: Any, out: Any) -> Any:
    rows = as_tensor(x, name, rows)
    check_batch_first(rows.view, 3, "adaptive_avg_pool1d")
    if list(out) == [rows.view.shape[2]]:
        return rows
    if list(out) != [1]:
        raise RefusalError(f"adaptive_avg_pool1d of {rows.view.shape} for {out[0]}, expected 1")
    return HANDLERS["mean.dim"](x, name, rows, [2], True)


@handles("adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(x: Lowering, name: str, image: Any, out: Any) -> Tensor:
    given = as_tensor(x, name, image)
    made = as_image(x, name, given, "adaptive_avg_pool2d")
    if pair_of(out) == made.shape[:2]:
        return given
    if pair_of(out) == (1, 1):
        made = x.graph.one("global_avg_pool", name, [made])
        channels = axis_of(made.shape[-1])
        return Tensor(made, View((given.view.dims[0], channels, (), ()), channels))
    return of_image(
        given.view.dims[0], x.graph.one("adaptive_avg_pool", name, [made], out=size_text(out))
    )


def _reduction(*names: str, op: str) -> None:
    @handles(*names)
    def reduced(
        x: Lowering, name: str, tensor: Any, dims: Any = None, keep: bool = False, **_: Any
    ) -> Tensor:
        tensor = as_tensor(x, name, tensor)
        rank = len(tensor.view.dims)
        given = (
            range(rank)
            if dims is None or dims == []
            else dims
            if isinstance(dims, (list, tuple))
            else [dims]
        )
        gone = sorted(d % rank for d in given)
        axes = [axis for d in gone for axis in tensor.view.dims[d]]
        if any(axis.kind == "batch" for axis in axes):
            raise RefusalError(f"{op} over samples")
        view = tensor.view
        left = [
            () if d in gone else dim for d, dim in enumerate(view.dims) if keep or d not in gone
        ]
        if not axes:  # of one place: itself
            return Tensor(tensor.made, View(left, view.storage))
        rest = tuple(axis for axis in view.storage if axis not in axes)
        is_pool = op == "reduce_mean" and rank == 4 and gone == [2, 3]
        if is_pool:
            made = x.graph.one("global_avg_pool", name, [as_image(x, name, tensor, "mean")])
        else:
            made = x.graph.lay(tensor, [(axis,) for axis in view.storage], name)
            places = [view.storage.index(axis) for axis in axes]
            made = x.graph.one(op, name, [made], axes=places)
        return Tensor(made, View(left, rest))


_reduction("mean.dim", "mean.default", op="reduce_mean")
_reduction("sum.dim_IntList", "sum.default", op="reduce_sum")
_reduction("amax.default", op="reduce_max")


@handles("upsample_nearest2d.vec")
def nearest(x: Lowering, name: str, image: Any, size: Any, factors: Any) -> Tensor:
    image = as_tensor(x, name, image)
    made = as_image(x, name, image, "upsample_nearest2d")
    wanted = size or [int(e * f) for e, f in zip(made.shape, factors)]
    places = [
        torch.nn.functional.interpolate(
            torch.arange(float(e))[None, None],
            size=w if size else None,
            scale_factor=None if size else factors[axis],
        )
        .flatten()
        .long()
        for axis, (w, e) in enumerate(zip(wanted, made.shape))
    ]
    if any(
        w % e or not torch.equal(p, torch.arange(w) // (w // e))
        for w, e, p in zip(wanted, made.shape, places)
    ):
        image = at_places(x, name, image, [2], places[:1])
        return at_places(x, name, image, [3], places[1:])
    factor = size_text([w // e for w, e in zip(wanted, made.shape)])
    return of_image(image.view.dims[0], x.graph.one("nearest", name, [made], factor=factor))


def _wanted(made: Output, size: Any, factors: Any) -> tuple[int, int]:
    """Height and width of a resized image, between whose pixels PyTorch steps by 1 / factor."""
    if size:
        return (size[0], size[1])
    exact = [e * f for e, f in zip(made.shape, factors)]
    if any(e != int(e) for e in exact):
        raise RefusalError(
            f"{made.shape[:2]} times {tuple(factors)}, which is no whole number; size= would help"
        )
    return (int(exact[0]), int(exact[1]))


@handles("upsample_bilinear2d.vec")
def bilinear(x: Lowering, name: str, image: Any, size: Any, align: bool, factors: Any) -> Tensor:
    image = as_tensor(x, name, image)
    made = as_image(x, name, image, "upsample_bilinear2d")
    wanted = _wanted(made, size, factors)
    made = x.graph.one(
        "bilinear", name, [made], size=size_text(wanted), align=unless(bool(align), False)
    )
    return of_image(image.view.dims[0], made)
