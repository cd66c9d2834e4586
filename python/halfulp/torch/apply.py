"""Formats, plans and counts for a module that stays in PyTorch: `apply`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..errors import ArgumentError, Error, UnknownNameError, UnsupportedError
from ..histograms import Exponents
from ..plans import Plan
from ..tables import table
from ._edges import in_order, nearest, rounded_names
from ._hooks import Hooks
from ._inputs import Inputs
from ._network import Network
from ._plans import general_plan, named_plan, plan_by_roles, plan_of
from ._points import Clock, Point
from .capture import Captured, capture, evaluated

if TYPE_CHECKING:
    from ._graph import Node


class Applied(torch.nn.Module):
    """A module whose tensors are rounded as a plan says; its parameters are the module's own.

    Made by `apply`. It is used as the module was: `parameters()`, `state_dict()`, `train()`,
    `eval()` are those of the module, with its names.

    Attributes
    ----------
    module : torch.nn.Module
        The module.
    plan : Plan
        What it follows.
    net : Captured or None
        The same network for halfulp's engine; None: it could not be captured, and is rounded by
        hooks.
    notes : list of str
        What of the plan and of the module is not followed here.
    """

    module: Any
    plan: Plan
    net: Captured | None
    notes: list[str]
    _run: Network | Hooks
    _evaluation: Network | None  # where it does something else there
    _evaluation_plan: Plan | None
    _clock: Clock
    _again: tuple[Any, ...]  # what a copy is applied by

    def __init__(
        self, model: Any, plan: Plan, run: Network | Hooks, clock: Clock, notes: Sequence[str]
    ) -> None:
        super().__init__()
        own = self.__dict__
        for part in ("_modules", "_parameters", "_buffers", "_non_persistent_buffers_set"):
            own[part] = model.__dict__[part]
        self.training = model.training
        own.update(module=model, plan=plan, notes=list(notes), _run=run, _clock=clock)
        own.update(_evaluation=None, _evaluation_plan=None)
        own["net"] = run._net if isinstance(run, Network) else None
        self._reads_masters = plan.facts.get("eval") == "master"

    def __reduce__(self) -> Any:
        """Copies and pickles are applied anew; their counts begin with nothing."""
        return _restored, (self.module, self._again, self._clock.step, self.training)

    def __getattr__(self, name: str) -> Any:
        """What the module has beside parameters, buffers and modules."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "module" not in self.__dict__:
                raise
            return getattr(self.__dict__["module"], name)

    def train(self, mode: bool = True) -> Applied:
        """The mode of all of it, the module's own too."""
        super().train(mode)
        self.module.training = mode
        return self

    # ---- passes ----

    def forward(self, *inputs: Any, **keys: Any) -> Any:
        """What the module makes, with rounded tensors.

        Parameters
        ----------
        *inputs, **keys : Tensor
            As the module takes them, by place or by name: one batch.

        Returns
        -------
        Tensor
            The module's first output; of a module that hooks round, all that it gives.
        """
        self._clock.counts = self.training
        if self.training:
            self._clock.advance()
        reads_masters = self._reads_masters and not self.training
        run = self._run if self.training or self._evaluation is None else self._evaluation
        return run.run(inputs, keys, self.training, reads_masters)

    def loss(self, scores: Any, labels: Any) -> Any:
        """Cross entropy, with the logarithms of the shares rounded as the plan says.

        Parameters
        ----------
        scores : Tensor [N, classes]
            What the module has made: of `segment` [N, classes, ...], of `language` [N, ...,
            classes].
        labels : Tensor of int64 [N], or [N, ...]
            -100: not labelled.

        Returns
        -------
        Tensor
            The mean over the labels; the rounding of the loss itself is counted alone.
        """
        return self._run.loss(scores, labels)

    # ---- what it tells ----

    @property
    def step(self) -> int:
        """Forward passes of training so far, less one."""
        return self._clock.step

    @step.setter
    def step(self, value: int) -> None:
        self._clock.step = int(value)

    def counts(self, name: str | None = None) -> Any:
        """What rounding did since `forget`.

        Parameters
        ----------
        name : str, optional
            Of a tensor: "conv1.out", "conv1.out.grad".

        Returns
        -------
        Counts, or without a name a pandas.DataFrame (a list of dict without pandas)
            One row for each tensor that is rounded: its name, its format, its counts.

        Raises
        ------
        UnknownNameError
            No such tensor is rounded.
        """
        if name is not None:
            return self._point(name).told()
        rows = []
        for point in self._run.points:
            told = point.told()
            shares = ("overflow", "underflow", "subnormal", "zero", "nan")
            ends = ("max_exponent", "min_exponent")
            rows.append(
                {"tensor": point.name, "format": point.text, "elements": told.elements}
                | {key: getattr(told, key) for key in (*shares, *ends)}
            )
        return table(rows)

    def points(self) -> list[Point]:
        """All places of rounding in the order of a step: forward, then back."""
        return in_order(self._run.points)

    @property
    def records(self) -> bool:
        """Whether exponents are kept."""
        return self._clock.records

    def record(self, on: bool = True) -> None:
        """Keep the exponents of what is rounded from now on (slower); or do not."""
        self._clock.records = bool(on)

    def histograms(self) -> Mapping[str, Exponents]:
        """Exponents before rounding since `forget`, of every tensor; `record` first."""
        return {point.name: point.exponents() for point in self._run.points}

    def forget(self) -> None:
        """Count and record from nothing."""
        for point in self._run.points:
            point.forget()

    def _point(self, name: str) -> Point:
        for point in self._run.points:
            if point.name == name:
                return point
        near = nearest(str(name), (point.name for point in self._run.points))
        raise UnknownNameError(f"tensor {name!r} is not rounded ({near})")


def apply(
    model: Any,
    plan: Plan | str | os.PathLike[str],
    example_inputs: Sequence[Any] | Mapping[str, Any],
    *,
    products: str = "torch",
    task: str = "classify",
    seed: int = 1,
    strict: bool = False,
) -> Applied:
    """The module with every tensor rounded as a plan says; it stays in PyTorch.

    Parameters
    ----------
    model : torch.nn.Module
        On the CPU. It goes on to own its parameters, which are the masters.
    plan : Plan, str or path
        A plan of `ht.capture(model, ...)`, of a file, or a precision: "hfp8", "mxfp8",
        "w=e4m3fn,act=e4m3fn,grad=e5m2".
    example_inputs : tuple of Tensor, or dict of str to Tensor
        One batch, whose numbers do not matter; by place, or by the names that `forward` has.
    products : {"torch", "halfulp"}
        Who computes layers and attention: "halfulp" has the plan's accumulators, and float32 sums
        in the order of halfulp's engine; slower.
    task : str
        As `capture` takes it.
    seed : int
        Of stochastic rounding.
    strict : bool
        Whether a module that `capture` refuses is refused here too. Else hooks round the outputs of
        its modules, the sums of their gradients and its parameters, a warning names what they do
        not see, and a plan has the names PATH.out and those of parameters.

    Returns
    -------
    Applied
        A module.

    Raises
    ------
    UnsupportedError
        A scale that needs the history of a training; with strict, or products="halfulp",
        operations that a network of halfulp cannot have, all at once.
    UnknownNameError
        The plan names tensors that the module does not have, with the nearest.

    Examples
    --------
    >>> import torch
    >>> import halfulp.torch as ht
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> net = ht.apply(model, "w=e4m3fn,act=e4m3fn,grad=e5m2", (torch.zeros(1, 8),))
    >>> made = net.train()(torch.randn(5, 8))
    >>> net.counts("_0.out").elements
    20
    """
    if products not in ("torch", "halfulp"):
        raise ArgumentError(f"products: found {products!r}, expected 'torch' or 'halfulp'")
    how = {"products": products, "task": task, "seed": seed, "strict": strict}
    return _applied(model, plan, None, example_inputs, how)


def _applied(
    model: Any, plan: Any, evaluation: Plan | None, example_inputs: Any, how: dict[str, Any]
) -> Applied:
    """As `apply`; evaluation: the plan of what the module does there, of a copy."""
    clock = Clock(how["seed"])
    try:
        net = capture(model, example_inputs, task=how["task"])
    except UnsupportedError as refusal:
        is_module = isinstance(model, torch.nn.Module)
        if how["strict"] or how["products"] == "halfulp" or not is_module:
            raise
        made = _hooked(model, plan, example_inputs, clock, refusal)
    else:
        made = _captured(model, net, plan, evaluation, example_inputs, how["products"], clock)
    example = Inputs(model, example_inputs).each(lambda x: x[:1].detach().clone())
    asked = (plan, None) if made.net is None else (made.plan, made._evaluation_plan)
    made.__dict__["_again"] = (*asked, example, how)
    return made


def _restored(model: Any, again: tuple[Any, ...], step: int, training: bool) -> Applied:
    made = _applied(model, *again)
    made._clock.step = step
    made.training = training
    return made


def _captured(
    model: Any,
    net: Captured,
    plan: Any,
    evaluation: Plan | None,
    example_inputs: Any,
    products: str,
    clock: Clock,
) -> Applied:
    found, by_roles = _planned(net, plan)
    run = Network(model, net, found, products, clock)
    notes = [note for note in net.notes if "are trained here" not in note]
    notes = [*by_roles, *notes, *_notes(found, products, net.nodes)]
    made = Applied(model, found, run, clock, notes)
    other, refusal = evaluated(model, example_inputs, net)
    if refusal:
        made.notes.append(refusal)
    if other is not None:
        if evaluation is None:
            evaluation = found if named_plan(plan) else _planned(other, plan)[0]
        made.notes += _left_out(net, other, evaluation)
        own = Network(model, other, evaluation, products, clock, is_part=True)
        made.__dict__.update(_evaluation=own, _evaluation_plan=evaluation)
    return made


def _planned(net: Captured, plan: Any) -> tuple[Plan, list[str]]:
    """The plan of a network, and a note where it is one by roles."""
    try:
        return plan_of(net, plan), []
    except Error as error:
        if isinstance(plan, Plan) or not _has_no_task(net):
            raise
        found = plan_by_roles(os.fspath(plan), *_rounded(net))
        return found, [f"planned by roles, for no task of halfulp has such a network ({error})"]


def _rounded(net: Captured) -> tuple[list[str], list[str], list[str]]:
    return rounded_names(net.nodes, [name for name, _, is_ids in net.inputs if not is_ids])


def _left_out(net: Captured, other: Captured, evaluation: Plan) -> list[str]:
    """Of values that are there in evaluation alone, and not in the plan."""
    known = {*_rounded(net)[0], *evaluation}
    new = [name for name in _rounded(other)[0] if name not in known]
    is_told = bool(new) and len(evaluation) > 0
    return [f"not in the plan, so not rounded in evaluation: {', '.join(new)}"] if is_told else []


def _has_no_task(net: Captured) -> bool:
    """Whether it has several inputs, or an output that no task compares with classes."""
    rank = {"classify": 1, "classify_text": 1, "segment": 3}.get(net.task, len(net._head_shape))
    shape = net._head_shape
    return len(net.inputs) > 1 or len(shape) != rank or shape[-1:] in ((), (1,))


def _hooked(
    model: Any, plan: Any, example_inputs: Any, clock: Clock, refusal: UnsupportedError
) -> Applied:
    named = named_plan(plan)
    found = general_plan(os.fspath(plan)) if named is None else named
    with torch.no_grad():
        example = Inputs(model, example_inputs)
        model(*example.args, **example.keys)  # one that does not fit is told by the module itself
    note = (
        f"rounded by hooks around its modules, since it cannot be captured ({refusal}); not "
        "rounded: what functions make between modules, and what each consumer gives to a gradient"
    )
    warnings.warn(note, stacklevel=4)
    run = Hooks(model, found, clock, named is None)
    return Applied(model, found, run, clock, [note, *_notes(found, "torch", [])])


def _notes(plan: Plan, products: str, nodes: Sequence[Node]) -> list[str]:
    found = []
    layers = plan.products.values()
    sums = sum(any((p.forward, p.input_grad, p.weight_grad)) for p in layers)
    if sums and products == "torch":
        found.append(
            f"accumulators of {sums} layers are not followed: products='halfulp' would follow them"
        )
    rounded = sum(bool(p.operands) for p in layers)
    if rounded:
        found.append(f"what the products of {rounded} layers round is not followed")
    if "promotion" in plan.facts:
        found.append("promotion of tensors that overflow is not followed")
    if any(plan[name].weights for name in plan):
        found.append("gradients that are rounded apart for the weights are not followed")
    turned = [n.name for n in nodes if n.attributes.get("transposed") and n.op.startswith("conv")]
    if turned and products == "halfulp":
        found.append(f"transposed convolutions are PyTorch's sums: {', '.join(turned)}")
    dropped = [n.name for n in nodes if n.op in ("dropout", "drop_path")]
    if dropped:
        found.append(f"random words of dropout are PyTorch's: {', '.join(dropped)}")
    return found
