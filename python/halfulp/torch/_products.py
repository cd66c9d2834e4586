"""Layers of PyTorch: handlers of `_table.py`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._graph import Constant, Parameter, RefusalError, Tensor
from ._table import (
    as_image,
    as_parameter,
    as_rows,
    as_tensor,
    axis_of,
    handles,
    layer_of,
    of_image,
    pair_of,
    size_text,
    table_rows,
    unless,
    with_last,
)
from ._views import Axes, View

if TYPE_CHECKING:
    from .capture import Lowering


@handles("conv2d.default", "conv2d.padding", "conv1d.default", "conv1d.padding")
def conv(
    x: Lowering,
    name: str,
    image: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    weight = as_parameter(weight, "its weight")
    out, _, *kernel = weight.view.shape
    if isinstance(padding, str):
        if padding == "same" and (any(k % 2 == 0 for k in kernel) or pair_of(stride) != (1, 1)):
            raise RefusalError(
                "padding='same' that is not alike on both sides; pad= with numbers would help"
            )
        wide = [d * (k // 2) for d, k in zip(pair_of(dilation), kernel)]
        padding = [0] if padding == "valid" else wide
    return _conv(x, name, image, weight, bias, stride, padding, dilation, groups, out=out)


@handles("conv_transpose2d.input", "conv_transpose1d.default")
def conv_transpose(
    x: Lowering,
    name: str,
    image: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    weight = as_parameter(weight, "its weight")
    out = weight.view.shape[1] * groups
    more = {"transposed": True, "extra": unless(size_text(output_padding), 0)}
    return _conv(x, name, image, weight, bias, stride, padding, dilation, groups, out=out, **more)


def _conv(
    x: Lowering,
    name: str,
    image: Any,
    weight: Parameter,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out: int,
    **more: object,
) -> Tensor:
    first, second, *kernel = weight.view.shape
    op = f"conv{'_transpose' * bool(more)}{len(kernel)}d"
    image = as_tensor(x, name, image)
    made = as_image(x, name, image, op, len(kernel))
    stem, params = layer_of(x, name, weight, bias, (first, *kernel, second))
    made = x.graph.one(
        f"conv{len(kernel)}d",
        stem,
        [made],
        out=out,
        kernel=size_text(kernel),
        stride=unless(size_text(stride), 1),
        pad=unless(size_text(padding), 0),
        dilation=unless(size_text(dilation), 1),
        groups=unless(groups, 1),
        **more,
        bias=unless(bias is not None, True),
        **params,
    )
    return of_image(image.view.dims[0], made)


def dense(
    x: Lowering, name: str, rows: Any, weight: Parameter, bias: Any, is_transposed: bool
) -> Tensor:
    """Rows times the weight [out, k] turned, or times one [k, out]."""
    given = as_rows(x.graph, as_tensor(x, name, rows), name)
    out = weight.view.shape[1 if is_transposed else 0]
    stem, params = layer_of(x, name, weight, bias, weight.view.shape)
    made = x.graph.one(
        "linear",
        stem,
        [given.made],
        out=out,
        bias=unless(bias is not None, True),
        transposed=unless(is_transposed, False),
        rows=unless(math.prod(given.made.shape[:-1]) > 1, False),
        **params,
    )
    return with_last(given, made, axis_of(out))


@handles("embedding.default")
def embedding(
    x: Lowering,
    name: str,
    weight: Any,
    ids: Any,
    padding_idx: int = -1,
    by_frequency: bool = False,
    *_: Any,
) -> Any:
    weight = as_parameter(weight, "its table")
    if by_frequency:
        raise RefusalError("gradients by frequency; scale_grad_by_freq=False would help")
    words, width = weight.view.shape
    pads = None if padding_idx < 0 else True
    padding = {"pads": pads, "padding": padding_idx if pads else None}
    if isinstance(ids, Constant):
        return _fixed_rows(x, name, weight, ids.tensor, padding if pads else {})
    ids = as_tensor(x, name, ids)
    made = x.graph.lay(ids, (ids.view.storage,), name)
    stem, params = layer_of(x, name, weight, None, weight.view.shape)
    made = x.graph.one("embedding", stem, [made], words=words, width=width, **padding, **params)
    new = axis_of(width)
    return Tensor(made, View((*ids.view.dims, new), (*ids.view.storage, *new)))


def _fixed_rows(x: Lowering, name: str, weight: Parameter, ids: Any, pads: Any) -> Any:
    """Rows of a table, the same for all samples: those in turn, for `position`, or others."""
    words, width = weight.view.shape
    if ids.dim() > 1 and len(ids) == x.batch.size and bool((ids == ids[:1]).all()):
        ids = ids[:1]
    flat = ids.reshape(-1).tolist()
    if ids.dim() == 0 or math.prod(ids.shape[:-1]) != 1 or pads:
        return table_rows(x, name, weight, weight.view, 0, ids, pads)
    places, channels = axis_of(len(flat)), weight.view.dims[1]
    leading: tuple[Axes, ...] = ((),) * (len(ids.shape) - 1)
    if flat == list(range(len(flat))):
        return Parameter(
            weight.name, View((*leading, places, channels), (*places, *channels)), words
        )
    if any(flat):
        return table_rows(x, name, weight, weight.view, 0, ids)
    made = x.graph.one("zeros", f"{name}.ids", [], numbers=len(flat))
    stem, params = layer_of(x, name, weight, None, weight.view.shape)
    made = x.graph.one("embedding", stem, [made], words=words, width=width, **params)
    return Tensor(made, View((*leading, places, channels), (*places, *channels)))
