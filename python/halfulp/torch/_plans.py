"""Plans for modules that stay in PyTorch: of a file, of a precision, or by roles."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..data import Dataset
from ..errors import ArgumentError, ShapeError, UnsupportedError
from ..plans import Plan
from ..training import Trainer
from .train import fields_of

if TYPE_CHECKING:
    from ..plans import TensorPlan
    from .capture import Captured

_STAND_IN = "cnn-s"  # whose plan says what a precision gives to a usual layer
USUAL_VALUE, USUAL_PARAMETER = "relu2.out", "conv2.weight"


def named_plan(plan: Plan | str | os.PathLike[str]) -> Plan | None:
    """A plan that is there, or in a file; None: it is a precision."""
    if isinstance(plan, Plan):
        return plan
    text = os.fspath(plan)
    return Plan.load(text) if text.endswith((".yaml", ".yml")) else None


def plan_of(net: Captured, plan: Plan | str | os.PathLike[str]) -> Plan:
    """A plan for a network: that one, that of a file, or that of a precision."""
    named = named_plan(plan)
    if named is not None:
        return named
    text = os.fspath(plan)  # type: ignore[arg-type]
    with contextlib.suppress(ShapeError, ArgumentError):  # of the usual data of the task
        return Plan.of(model=net, precision=text)
    return _plan_of_zeros(net, text)


def _plan_of_zeros(net: Captured, precision: str) -> Plan:
    """Of a network whose shapes are not those of usual data."""
    fields = fields_of(net)
    rows = {field.name: np.zeros((1, *field.shape), np.float32) for field in fields}
    data = Dataset(fields, train=rows, test=rows)
    with tempfile.TemporaryDirectory(prefix="halfulp-") as place:
        folder = os.path.join(place, "run")
        with Trainer(net, data, precision=precision, batch=1, steps=1, run_dir=folder):
            return Plan.load(os.path.join(folder, "plan.resolved.yaml"))


def general_plan(precision: str) -> Plan:
    """What a precision gives to a usual layer."""
    return Plan.of(model=_STAND_IN, precision=precision)


def plan_by_roles(
    precision: str, values: Sequence[str], products: Sequence[str], parameters: Sequence[str]
) -> Plan:
    """A plan with the formats that a precision gives to every usual tensor.

    Parameters
    ----------
    values, products, parameters
        Names of tensors: products those before a bias, which some schemes round; parameters as
        often as they are read, for some round the sum of their gradients.

    Raises
    ------
    UnsupportedError
        A precision that gives layers different formats.
    """
    base = general_plan(precision)
    value, parameter = base.get(USUAL_VALUE), base.get(USUAL_PARAMETER)
    likes = [base[name] for name in base if name.startswith(("relu", "bn")) and ".out" in name]
    if value is None and likes or any(value and _parts(like) != _parts(value) for like in likes):
        raise UnsupportedError(
            f"precision {precision!r} gives layers different formats, expected a hu.Plan"
        )
    has_products = any(name.endswith(".product.out") for name in base)
    entries: list[str] = []
    if value is not None:
        for name in (*values, *(products if has_products else ())):
            entries += [f"  {json.dumps(name)}:", *_parts(value)]
    if parameter is not None and isinstance(parameter.grad, str):
        is_summed = value is not None and value.sum is not None
        for name in dict.fromkeys(parameters):
            total = parameter.grad if is_summed and parameters.count(name) > 1 else None
            entries += [f"  {json.dumps(name)}:", *_parts(replace(parameter, sum=total))]
    head = base.text.partition("tensors:")[0]
    head = re.sub(r"^model:\n(?:  .*\n)*", "model:\n  name: module\n", head, flags=re.MULTILINE)
    return Plan("\n".join([head.rstrip(), "tensors:" if entries else "tensors: {}", *entries, ""]))


def _parts(plan: TensorPlan) -> list[str]:
    return [
        f"    {part}: {json.dumps(getattr(plan, part))}"
        for part in ("value", "grad", "sum", "use", "weights")
        if getattr(plan, part) is not None
    ]
