"""Attention of PyTorch: handlers of `_table.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ._elements import arithmetic, softmax
from ._graph import Constant, RefusalError, Tensor
from ._matmul import product
from ._table import as_tensor, axis_of, elementwise, handles, in_places, unless
from ._views import Axis, View, extent

if TYPE_CHECKING:
    from .capture import Lowering


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
    if isinstance(attn_mask, Constant) and _hides_nothing(attn_mask.tensor):
        attn_mask = None
    if isinstance(attn_mask, Constant) and _is_causal(attn_mask.tensor):
        attn_mask, is_causal = None, True
    q, k, v = (as_tensor(x, name, tensor) for tensor in (q, k, v))
    if enable_gqa:
        k, v = (_by_groups(x, name, tensor, q.view.shape[-3]) for tensor in (k, v))
    factor = q.view.shape[-1] ** -0.5 if scale is None else float(scale)
    if attn_mask is not None or not all(_is_by_heads(t.view) for t in (q, k, v)):
        return _with_mask(x, name, (q, k, v), attn_mask, is_causal, dropout_p, factor)
    three, heads = [], q.view.shape[1]
    for tensor in (q, k, v):
        head, rows, depth = tensor.view.dims[1:]
        three.append(x.graph.lay(tensor, (rows, (*head, *depth)), name))
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


def _by_groups(x: Lowering, name: str, tensor: Tensor, heads: int) -> Tensor:
    """Keys or values of which each head stands for several of the queries."""
    *outer, own, rows, depth = tensor.view.dims
    if heads == extent(own):
        return tensor
    groups = Axis(heads // extent(own), "stretched")
    view = View((*outer, (*own, groups), rows, depth), tensor.view.storage)
    return in_places(x, name, Tensor(tensor.made, view))


def _is_by_heads(view: View) -> bool:
    """Of [N, heads, T, d], for the operations of attention as they are."""
    return len(view.dims) == 4 and [axis.kind for axis in view.dims[0]] == ["batch"]


def _with_mask(
    x: Lowering,
    name: str,
    three: Sequence[Tensor],
    mask: Any,
    is_causal: bool,
    dropout: float,
    factor: float,
) -> Tensor:
    """Attention of any dimensions in front of [T, d], with what is added to its scores."""
    q, k, v = three
    turned = View((*k.view.dims[:-2], k.view.dims[-1], k.view.dims[-2]), k.view.storage)
    scores = product(x, f"{name}.scores", q, Tensor(k.made, turned))
    if factor != 1:
        scores = arithmetic(x, f"{name}.scale", "mul", scores, factor)
    if is_causal:
        square = torch.ones(scores.view.shape[-2:], dtype=torch.bool).tril()
        scores = arithmetic(x, f"{name}.causal", "add", scores, Constant(_added(square)))
    if mask is not None:
        if isinstance(mask, Constant):
            mask = Constant(_added(mask.tensor))
            if bool((mask.tensor == -math.inf).all(-1).any()):
                raise RefusalError("a mask with rows that see no key at all")
        scores = arithmetic(x, f"{name}.mask", "add", scores, mask)
    weights = softmax(x, f"{name}.weights", scores, -1)
    if dropout > 0:
        weights = elementwise(x, f"{name}.dropout", weights, "dropout", probability=dropout)
    return product(x, f"{name}.context", weights, v)


def _added(mask: Any) -> Any:
    """A mask as what is added to scores: True is 0, False takes a key out."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


def _hides_nothing(mask: Any) -> bool:
    return bool(mask.all() if mask.dtype == torch.bool else not mask.any())


def _is_causal(mask: Any) -> bool:
    square = mask.reshape(-1, *mask.shape[-2:])
    lower = torch.ones(mask.shape[-2:], dtype=torch.bool).tril()
    seen = square if mask.dtype == torch.bool else square == 0
    return bool((seen == lower).all())
