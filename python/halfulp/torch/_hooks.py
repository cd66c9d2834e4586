"""Rounding around modules, where a network cannot be captured: hooks, and rounded parameters.

The output of every module without children is rounded, and the sum of its gradients; what happens
between modules (functions, sums) is not. Source: the way of QPyTorch's Quantizer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ._edges import check_names
from ._graph import Weight
from ._plans import USUAL_PARAMETER, USUAL_VALUE
from ._points import Clock, Ordered, Point, Value, point_of
from ._release import functional_call

if TYPE_CHECKING:
    from ..plans import Formats, Plan


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
            found = plan[USUAL_VALUE] if is_general else plan.get(name)
            if found is not None:
                total = found.sum or found.grad
                self._values[name] = self._two(name, found.value, total)
        for name in owned:
            found = plan[USUAL_PARAMETER] if is_general else plan.get(name)
            if found is not None:
                self._parameters[name] = self._two(name, found.value, found.grad)
        for leaf, name in zip(leaves, names):
            if name in self._values:
                model.get_submodule(leaf).register_forward_hook(self._hook(name))

    def _two(self, name: str, value: Formats, gradient: Formats) -> Any:
        made = []
        for own, text in ((name, value), (f"{name}.grad", gradient)):
            point = point_of(own, text, self._clock)
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

    def run(
        self, inputs: Sequence[Any], keys: Mapping[str, Any], training: bool, reads_masters: bool
    ) -> Any:
        """The module with rounded copies of its parameters."""
        copies = {}
        for name, parameter in self._model.named_parameters():
            value, gradient = self._parameters.get(name, (None, None))
            value = None if reads_masters else value
            if value is not None or gradient is not None:
                copies[name] = Ordered.apply(parameter, _weight(name, parameter), value, gradient)
        self._clock.is_on = True
        try:
            return functional_call(self._model, copies, inputs, keys)
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
