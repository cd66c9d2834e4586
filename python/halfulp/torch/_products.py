"""Products, layers and attention of PyTorch: handlers of `_table.py`."""

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
    check_batch_first,
    handles,
    layer_of,
    of_image,
    pair_of,
    size_text,
    unless,
    with_last,
)
from ._views import Axes, View

if TYPE_CHECKING:
    from .capture import Lowering


@handles("conv2d.default", "conv2d.padding")
def conv2d(
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
    image, weight = as_tensor(image), as_parameter(weight, "its weight")
    out, _, height, width = weight.view.shape
    if isinstance(padding, str):
        if padding == "same" and (height % 2 == 0 or width % 2 == 0 or pair_of(stride) != (1, 1)):
            raise RefusalError(
                "padding='same' that is not alike on both sides; pad= with numbers would help"
            )
        d = pair_of(dilation)
        padding = (0, 0) if padding == "valid" else (d[0] * (height // 2), d[1] * (width // 2))
    return _conv(x, name, image, weight, bias, stride, padding, dilation, groups, out=out)


@handles("conv_transpose2d.input")
def conv_transpose2d(
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
    image, weight = as_tensor(image), as_parameter(weight, "its weight")
    out = weight.view.shape[1] * groups
    more = {"transposed": True, "extra": unless(size_text(output_padding), 0)}
    return _conv(x, name, image, weight, bias, stride, padding, dilation, groups, out=out, **more)


def _conv(
    x: Lowering,
    name: str,
    image: Tensor,
    weight: Parameter,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out: int,
    **more: object,
) -> Tensor:
    first, second, height, width = weight.view.shape
    op = "conv_transpose2d" if more else "conv2d"
    made = as_image(x.graph, image, name, op)
    stem, params = layer_of(x, name, weight, bias, (first, height, width, second))
    made = x.graph.one(
        "conv2d",
        stem,
        [made],
        out=out,
        kernel=size_text((height, width)),
        stride=unless(size_text(stride), 1),
        pad=unless(size_text(padding), 0),
        dilation=unless(size_text(dilation), 1),
        groups=unless(groups, 1),
        **more,
        bias=unless(bias is not None, True),
        **params,
    )
    return of_image(image.view.dims[0], made)


@handles("linear.default")
def linear(x: Lowering, name: str, rows: Any, weight: Any, bias: Any = None) -> Tensor:
    return _linear(x, name, rows, as_parameter(weight, "its weight"), bias, False)


@handles("addmm.default")
def addmm(x: Lowering, name: str, bias: Any, rows: Any, weight: Any, **scales: Any) -> Tensor:
    if any(value != 1 for value in scales.values()):
        raise RefusalError("addmm with alpha or beta")
    return _linear(x, name, rows, as_parameter(weight, "its weight"), bias, True)


def _linear(
    x: Lowering, name: str, rows: Any, weight: Parameter, bias: Any, is_transposed: bool
) -> Tensor:
    given = as_rows(x.graph, as_tensor(rows), name)
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
def embedding(x: Lowering, name: str, weight: Any, ids: Any, padding_idx: int = -1, *_: Any) -> Any:
    weight = as_parameter(weight, "its table")
    words, width = weight.view.shape
    if isinstance(ids, Constant):
        return _fixed_rows(x, name, weight, ids.tensor)
    ids = as_tensor(ids, "its ids")
    made = x.graph.lay(ids, (ids.view.storage,), name)
    stem, params = layer_of(x, name, weight, None, weight.view.shape)
    pads = None if padding_idx < 0 else True
    made = x.graph.one(
        "embedding",
        stem,
        [made],
        words=words,
        width=width,
        pads=pads,
        padding=padding_idx if pads else None,
        **params,
    )
    new = axis_of(width)
    return Tensor(made, View((*ids.view.dims, new), (*ids.view.storage, *new)))


def _fixed_rows(x: Lowering, name: str, weight: Parameter, ids: Any) -> Any:
    """Rows of a table, the same for all samples: those in turn, for `position`, or one row."""
    words, width = weight.view.shape
    flat = ids.reshape(-1).tolist()
    places, channels = axis_of(len(flat)), weight.view.dims[1]
    if len(ids.shape) > 1 and math.prod(ids.shape[:-1]) != 1:
        one = ids.reshape(-1, ids.shape[-1])
        if not bool((one == one[:1]).all()):
            raise RefusalError("ids that are fixed, and not the same for all samples")
        flat = one[0].tolist()
        places = axis_of(len(flat))
    leading: tuple[Axes, ...] = ((),) * (len(ids.shape) - 1)
    if flat == list(range(len(flat))):
        return Parameter(
            weight.name, View((*leading, places, channels), (*places, *channels)), words
        )
    if any(flat):
        raise RefusalError("ids that are fixed, expected 0, 1, 2, ... or zeros")
    made = x.graph.one("zeros", f"{name}.ids", [], numbers=len(flat))
    stem, params = layer_of(x, name, weight, None, weight.view.shape)
    made = x.graph.one("embedding", stem, [made], words=words, width=width, **params)
    return Tensor(made, View((*leading, places, channels), (*places, *channels)))


@handles("scaled_dot_product_attention.default")
def attention(
    x: Lowering,
    name: str,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if attn_mask is not None and not (
        isinstance(attn_mask, Constant) and bool(attn_mask.tensor.all())
    ):
        causal = isinstance(attn_mask, Constant) and _is_causal(attn_mask.tensor)
        if not causal:
            raise RefusalError(
                "a mask; is_causal=True, or lengths of rows in the network file would help"
            )
        is_causal = True
    if enable_gqa:
        raise RefusalError(
            "fewer heads of keys than of queries; repeat_interleave'd keys would help"
        )
    three, heads = [], 1
    for tensor in (q, k, v):
        tensor = as_tensor(tensor)
        check_batch_first(tensor.view, 4, "attention")
        heads = tensor.view.shape[1]
        head, rows, depth = tensor.view.dims[1:]
        three.append(x.graph.lay(tensor, (rows, (*head, *depth)), name))
    depth_size = q.view.shape[3]
    factor = depth_size**-0.5 if scale is None else float(scale)
    if math.frexp(factor)[0] != 0.5:
        three[0] = x.graph.one("scale", f"{name}.scale", [three[0]], factor=factor)
        factor = 1.0
    scores = x.graph.one(
        "attention_scores",
        f"{name}.scores",
        three[:2],
        heads=heads,
        factor=unless(factor, 1.0),
        causal=unless(is_causal, False),
    )
    weights = x.graph.one(
        "attention_weights", f"{name}.weights", [scores], causal=unless(is_causal, False)
    )
    if dropout_p > 0:
        weights = x.graph.one("dropout", f"{name}.dropout", [weights], probability=dropout_p)
    made = x.graph.one(
        "attention_context",
        f"{name}.context",
        [weights, three[2]],
        causal=unless(is_causal, False),
    )
    batch, head, rows, _ = q.view.dims
    depth = axis_of(v.view.shape[3])
    return Tensor(made, View((batch, head, rows, depth), (*rows, *head, *depth)))


def _is_causal(mask: Any) -> bool:
    import torch

    square = mask.reshape(-1, *mask.shape[-2:])
    lower = torch.ones(mask.shape[-2:], dtype=torch.bool).tril()
    seen = square if mask.dtype == torch.bool else square == 0
    return bool((seen == lower).all())
