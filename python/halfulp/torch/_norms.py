"""Norms of PyTorch: handlers of `_table.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._graph import Parameter, RefusalError, Tensor, own_name
from ._table import (
    Part,
    as_parameter,
    as_rows,
    as_tensor,
    handles,
    named_parameters,
    stem_of,
    unless,
)

if TYPE_CHECKING:
    from .capture import Lowering


@handles("batch_norm.default")
def batch_norm(
    x: Lowering,
    name: str,
    image: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    var: Any,
    training: bool,
    momentum: float | None,
    eps: float,
    *_: Any,
) -> Tensor:
    image = as_tensor(x, name, image)
    if weight is None or bias is None:
        raise RefusalError("no weight and bias; affine=True would help")
    if mean is None or var is None:
        raise RefusalError("no running statistics; track_running_stats=True would help")
    if not training:
        raise RefusalError("statistics that stay as they are; a norm in training would help")
    if momentum is None:
        raise RefusalError("running statistics that are means of all batches; momentum= would help")
    if not any(axis.kind == "batch" for axis in image.view.axes):
        raise RefusalError("numbers that all samples share")
    rows = as_rows(x.graph, image, name, (1,))
    weight, bias, mean, var = (as_parameter(p, "a part") for p in (weight, bias, mean, var))
    found: dict[str, Part] = {
        "weight": (weight, (0,), weight.view.shape),
        "bias": (bias, (0,), bias.view.shape),
    }
    stem = stem_of(weight, name)
    params = named_parameters(x.graph, stem, found)
    for suffix, statistic in (("running_mean", mean), ("running_var", var)):
        if "params" in params:
            made_name = own_name(str(params["params"]), suffix)
            x.graph.weight(made_name, statistic.name, (0,), statistic.view.shape)
    made = x.graph.one(
        "batch_norm",
        stem,
        [rows.made],
        epsilon=unless(eps, 1e-5),
        momentum=unless(momentum, 0.1),
        **params,
    )
    return Tensor(made, rows.view)


@handles("layer_norm.default")
def layer_norm(
    x: Lowering,
    name: str,
    rows: Any,
    shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *_: Any,
) -> Tensor:
    if weight is None or bias is None:
        raise RefusalError(
            "no weight or no bias; elementwise_affine=True with bias=True would help"
        )
    parts = {"weight": as_parameter(weight, "its weight"), "bias": as_parameter(bias, "its bias")}
    return _by_rows(x, name, rows, len(shape), "layer_norm", parts, eps)


@handles("rms_norm.default")
def rms_norm(
    x: Lowering,
    name: str,
    rows: Any,
    shape: Sequence[int],
    weight: Any = None,
    eps: float | None = None,
) -> Tensor:
    if weight is None:
        raise RefusalError("no weight; elementwise_affine=True would help")
    parts = {"weight": as_parameter(weight, "its weight")}
    usual = float(np.finfo(np.float32).eps)
    return _by_rows(x, name, rows, len(shape), "rms_norm", parts, usual if eps is None else eps)


def _by_rows(
    x: Lowering,
    name: str,
    rows: Any,
    last: int,
    op: str,
    parts: Mapping[str, Parameter],
    eps: float,
) -> Tensor:
    """A norm over the last dimensions, whose parameters are flat here."""
    given = as_rows(x.graph, as_tensor(x, name, rows), name, range(-last, 0))
    flat = given.made.shape[-1:]
    found = {suffix: (part, tuple(range(last)), flat) for suffix, part in parts.items()}
    stem = stem_of(parts["weight"], name)
    params = named_parameters(x.graph, stem, found)
    made = x.graph.one(op, stem, [given.made], epsilon=eps, **params)
    return Tensor(made, given.view)


@handles("group_norm.default")
def group_norm(
    x: Lowering,
    name: str,
    image: Any,
    groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *_: Any,
) -> Tensor:
    image = as_tensor(x, name, image)
    rows = as_rows(x.graph, image, name, (1,))
    params: dict[str, object] = {"affine": False}
    if weight is not None:
        found: dict[str, Part] = {
            "weight": (as_parameter(weight, "its weight"), (0,), weight.view.shape),
            "bias": (as_parameter(bias, "its bias"), (0,), bias.view.shape),
        }
        name = stem_of(weight, name)
        params = named_parameters(x.graph, name, found)
    made = x.graph.one(
        "group_norm", name, [rows.made], groups=groups, epsilon=unless(eps, 1e-5), **params
    )
    return Tensor(made, rows.view)
