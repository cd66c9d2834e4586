"""Rounding around modules, where a network cannot be captured: hooks, and rounded parameters.

The output of every module without children is rounded, and the sum of its gradients; what happens
between modules (functions, sums) is not. Source: the way of QPyTorch's Quantizer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ..errors import UnsupportedError
from ._edges import check_names
from ._graph import Weight
from ._points import Clock, Ordered, Point, Value

if TYPE_CHECKING:
    from ..plans import Formats, Plan, TensorPlan

_STAND_IN = "cnn-s"  # whose plan says what a precision gives to a usual layer
_VALUE, _PARAMETER = "relu2.out", "conv2.weight"


class Hooks:
    """Points of a module whose network is not known.

    Parameters
    ----------
    model : torch.nn.Module
    plan : Plan
        Of this module (`PATH.out`, `PATH.weight`), or one whose formats every tensor takes.
    clock : Clock
    is_general : bool
        Whether the plan is of a network that stands for all.
    """

    def __init__(self, model: Any, plan: Plan, clock: Clock, is_general: bool) -> None:
        self._model, self._plan, self._clock = model, plan, clock
        self.points: list[Point] = []
        self._values: dict[str, tuple[Point | None, Point | None]] = {}
        self._parameters: dict[str, tuple[Point | None, Point | None]] = {}
        leaves = [n for n, m in model.named_modules() if not any(m.children())]
        names = [f"{n}.out" if n else "out" for n in leaves]
        owned = [n for n, _ in model.named_parameters()]
        if not is_general:
            check_names(plan, [*names, *owned], leaves)
        for name in names:
            found = plan[_VALUE] if is_general else plan.get(name)
            if found is not None:
                total = found.sum or found.grad
                self._values[name] = self._two(name, found.value, total)
        for name in owned:
            found = plan[_PARAMETER] if is_general else plan.get(name)
            if found is not None:
                self._parameters[name] = self._two(name, found.value, found.grad)
        for leaf, name in zip(leaves, names):
            if name in self._values:
                model.get_submodule(leaf).register_forward_hook(self._hook(name))

    def _two(self, name: str, value: Formats, gradient: Formats) -> Any:
        made = []
        for own, text in ((name, value), (f"{name}.grad", gradient)):
            is_rounded = isinstance(text, str) and text.split()[0] != "fp32"
            point = Point(own, str(text), self._clock) if is_rounded else None
            if point is not None:
                self.points.append(point)
            made.append(point)
        return tuple(made)

    def _hook(self, name: str) -> Any:
        value, total = self._values[name]

        def rounded(module: Any, given: Any, made: Any) -> Any:
            if not self._clock.is_on:
                return made
            return each(made)

        def each(made: Any) -> Any:
            if not isinstance(made, tuple):
                return one(made)
            parts = [each(x) for x in made]
            return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)

        def one(x: Any) -> Any:
            if not isinstance(x, torch.Tensor) or x.dtype != torch.float32:
                return x
            if x.dim() != 4:
                return Value.apply(x, value, total, False)
            made = Value.apply(x.permute(0, 2, 3, 1), value, total, False)  # channels are last
            return made.permute(0, 3, 1, 2)

        return rounded

    def run(self, inputs: Sequence[Any], training: bool, reads_masters: bool) -> Any:
        """The module with rounded copies of its parameters."""
        copies = {}
        for name, parameter in self._model.named_parameters():
            value, gradient = self._parameters.get(name, (None, None))
            value = None if reads_masters else value
            if value is not None or gradient is not None:
                copies[name] = Ordered.apply(parameter, _weight(name, parameter), value, gradient)
        self._clock.is_on = True
        try:
            return torch.func.functional_call(self._model, copies, tuple(inputs))
        finally:
            self._clock.is_on = False

    def loss(self, scores: Any, labels: Any) -> Any:
        """Cross entropy of PyTorch."""
        return torch.nn.functional.cross_entropy(scores, labels)


def _weight(name: str, x: Any) -> Weight:
    """A parameter in halfulp's order: the channels of a filter are last."""
    order = (0, *range(2, x.dim()), 1) if x.dim() > 2 else ()
    shape = tuple(x.shape[d] for d in order) or tuple(x.shape)
    return Weight(name, name, order, shape)


def general_plan(precision: str) -> Plan:
    """What a precision gives to a usual layer."""
    from ..plans import Plan

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
    from ..plans import Plan

    base = general_plan(precision)
    value, parameter = base.get(_VALUE), base.get(_PARAMETER)
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
