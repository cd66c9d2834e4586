"""A network that grows from the operations of PyTorch, as lines of a network file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..networks import inferred
from ._views import Axes, Axis, View, ViewError, extent

_WRONG = re.compile(r"[^A-Za-z0-9_.-]")
_SUFFIXES = ("weight", "bias", "running_mean", "running_var")


@dataclass(frozen=True)
class Output:
    """A value of the network: its name and its shape, whose axes `Tensor.view` names."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor of PyTorch that the network makes: a value and how it is looked at."""

    made: Output
    view: View


@dataclass(frozen=True)
class Parameter:
    """A parameter, seen through views; `view.storage` is its own order.

    Attributes
    ----------
    rows : int
        Of a table whose first rows are seen: how many it has; else 0.
    """

    name: str
    view: View
    rows: int = 0


@dataclass(frozen=True)
class Constant:
    """What does not depend on inputs and does not learn: a tensor of PyTorch.

    Attributes
    ----------
    buffer : str
        That it is made of, where the module writes it: another one in each step.
    """

    tensor: Any
    buffer: str = ""

    @property
    def view(self) -> View:
        axes = [(Axis(size),) if size > 1 else () for size in self.tensor.shape]
        return View(axes, tuple(axis for dim in axes for axis in dim))


@dataclass(frozen=True)
class Noise:
    """The factor of stochastic depth: one draw for each sample; `survival` is set by bernoulli_.

    Attributes
    ----------
    shape : tuple of int
        With the batch.
    """

    shape: tuple[int, ...]
    survival: float = 0.0
    divided: float = 1.0


@dataclass(frozen=True)
class Unknown:
    """What a refused operation makes: its readers are refused once more only for a reason."""

    reason: str = ""


@dataclass(frozen=True)
class Weight:
    """A parameter or statistic of the network and the one of PyTorch that it is.

    Attributes
    ----------
    name, torch_name : str
    order : tuple of int
        Of PyTorch's dimensions, as `numpy.transpose` takes it: [O, I, h, w] to [O, h, w, I].
    shape : tuple of int
        Here, after that.
    is_filter : bool
        Of a convolution: safetensors files have PyTorch's order.
    """

    name: str
    torch_name: str
    order: tuple[int, ...]
    shape: tuple[int, ...]
    is_filter: bool = False

    @property
    def is_turned(self) -> bool:
        return self.order != tuple(range(len(self.order)))

    @property
    def back(self) -> tuple[int, ...]:
        """The order that undoes `order`."""
        return tuple(self.order.index(d) for d in range(len(self.order)))

    def ours(self, tensor: Any) -> Any:
        """PyTorch's tensor in halfulp's order and shape."""
        return (tensor.permute(self.order) if self.is_turned else tensor).reshape(self.shape)

    def theirs(self, tensor: Any, shape: Sequence[int]) -> Any:
        """A tensor in halfulp's order, in PyTorch's and of its shape."""
        if not self.is_turned:
            return tensor.reshape(shape)
        return tensor.reshape([shape[d] for d in self.order]).permute(self.back)


@dataclass(frozen=True)
class Node:
    """An operation of the network, as `ht.apply` does it.

    Attributes
    ----------
    name, op : str
    inputs : tuple of str
        Names of values.
    shape : tuple of int
        Of its output, of one sample.
    attributes : dict
        As handlers gave them.
    parameters : dict of str to Weight
        By what they are to the operation: "weight", "bias", "running_mean", "running_var".
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    attributes: Mapping[str, Any]
    parameters: Mapping[str, Weight]


def own_name(params: str, suffix: str) -> str:
    """What `params=` calls a parameter."""
    return params.replace("*", suffix) if "*" in params else f"{params}.{suffix}"


class RefusalError(Exception):
    """An operation that the network cannot have; the text says why, and what would help."""


@dataclass
class Graph:
    """Lines of a network file that are there so far, and its nodes."""

    lines: list[str] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=dict)
    weights: dict[str, Weight] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    waiting: list[Weight] = field(default_factory=list)  # of the next node
    owners: dict[str, str] = field(default_factory=dict)  # the node of each parameter of PyTorch
    laid: dict[tuple[str, Axes, tuple[int, ...]], Output] = field(default_factory=dict)

    def word(self, name: str) -> str:
        """A parameter's name, or where a file cannot have it the first like it that is free."""
        made = _WRONG.sub("_", name)
        tried, number = made, 1
        while made != name and any(w == tried or w.startswith(f"{tried}.") for w in self.weights):
            number += 1
            tried = f"{made}_{number}"
        return tried

    def free_name(self, wanted: str) -> str:
        """That name, or the first with a number behind it that is free."""
        name = _WRONG.sub("_", wanted).strip(".")
        if not re.match(r"[A-Za-z_]", name):
            name = f"_{name}" if name else "value"
        tried, number = name, 1
        while tried in self.names:
            number += 1
            tried = f"{name}_{number}"
        self.names.add(tried)
        return tried

    def one(self, op: str, name: str, inputs: Sequence[Output], **attributes: object) -> Output:
        """A node, and the value that it makes. What has no value is left out."""
        params = attributes.pop("params", None)
        share = attributes.pop("share", None)
        words = " ".join(f"{k}={_text(v)}" for k, v in attributes.items() if v is not None)
        (shape,) = inferred(op, words, [made.shape for made in inputs])
        name = self.free_name(name)
        if params not in (None, name):
            words = f"{words} params={params}".strip()
        if share is not None:
            words = f"{words} share={share}".strip()
        for weight in self.waiting:
            self.owners.setdefault(weight.torch_name, name)
        parameters = self.parameters_of(str(params or name), share)
        given = {k: v for k, v in attributes.items() if v is not None}
        takes = tuple(i.name for i in inputs)
        self.nodes[name] = Node(name, op, takes, shape, given, parameters)
        self.lines.append(
            " ".join(filter(None, [f"{name}: {op}", *(i.name for i in inputs), words]))
        )
        return Output(name, shape)

    def weight(
        self,
        name: str,
        torch_name: str,
        order: Iterable[int],
        shape: Iterable[int],
        is_filter: bool = False,
    ) -> None:
        own = self.weights.get(name)
        if own is not None and own.torch_name != torch_name:
            raise RefusalError(f"{torch_name} and {own.torch_name}, which are both called {name}")
        if any(w.torch_name == torch_name for w in self.weights.values() if w is not own):
            raise RefusalError(f"{torch_name}, which is read in another shape elsewhere")
        self.weights[name] = Weight(name, torch_name, tuple(order), tuple(shape), is_filter)
        self.waiting.append(self.weights[name])

    def parameters_of(self, params: str, share: object) -> dict[str, Weight]:
        """Those of the next node by what they are to it; `waiting` is empty then."""
        found = self.shared(share)
        for weight in self.waiting:
            fits = (s for s in _SUFFIXES if own_name(params, s) == weight.name)
            found.setdefault(next(fits, "weight"), weight)
        self.waiting.clear()
        return found

    def shared(self, share: object) -> dict[str, Weight]:
        """What `share=` names: all of a node, or some by what they are."""
        if not isinstance(share, str):
            return {}
        if ":" not in share:
            return dict(self.nodes[share].parameters)
        pairs = (part.split(":", 1) for part in share.split(","))
        return {kind: self.weights[name] for kind, name in pairs}

    def name_of(self, torch_name: str) -> str:
        """What a parameter of PyTorch that a node has is called here."""
        return next(w.name for w in self.weights.values() if w.torch_name == torch_name)

    def lay(self, tensor: Tensor, groups: Sequence[Axes], name: str) -> Output:
        """The tensor's numbers with these axes in memory, a group for each extent of the value."""
        order = tuple(axis for group in groups for axis in group)
        shape = tuple(extent(group) for group in groups) or (1,)
        made, storage = tensor.made, tensor.view.storage
        if set(order) != set(storage) or len(order) != len(storage):
            raise ViewError(f"{tensor.view.shape} with samples or places that are not its own")
        if order == storage and shape == made.shape:
            return made
        key = (made.name, order, shape)
        if key not in self.laid:
            self.laid[key] = self._lay(made, storage, order, shape, name)
        return self.laid[key]

    def _lay(
        self, made: Output, storage: Axes, order: Axes, shape: tuple[int, ...], name: str
    ) -> Output:
        if order != storage:
            runs = _runs(storage, order)
            made = self._reshaped(made, tuple(extent(run) for run in runs), name)
            place = {run[0]: i for i, run in enumerate(runs)}
            axes = [place[axis] for axis in order if axis in place]
            made = self.one("transpose", f"{name}.order", [made], axes=axes)
        return self._reshaped(made, shape, name)

    def _reshaped(self, made: Output, shape: tuple[int, ...], name: str) -> Output:
        if made.shape == shape:
            return made
        if len(shape) == 1:
            return self.one("flatten", f"{name}.flatten", [made])
        return self.one("reshape", f"{name}.shape", [made], shape="x".join(map(str, shape)))


def _runs(storage: Axes, order: Axes) -> list[Axes]:
    """The storage in pieces that stay together in the order."""
    after = dict(zip(order, order[1:]))
    runs: list[Axes] = []
    for axis in storage:
        if runs and after.get(runs[-1][-1]) is axis:
            runs[-1] = (*runs[-1], axis)
        else:
            runs.append((axis,))
    return runs


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        text = f"{value:.9g}"  # read as float32: the same as PyTorch's, also where that is between
        return text if np.float32(text) == np.float32(value) else f"{np.float32(value):.9g}"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(v) for v in value)
    return str(value)


def groups_of(storage: Axes, shape: Sequence[int]) -> list[Axes] | None:
    """Axes in memory by the extents of the value that holds them; None: they do not meet."""
    left, groups = list(storage), []
    for size in shape:
        taken: list[Axis] = []
        while extent(taken) < size and left:
            taken.append(left.pop(0))
        if extent(taken) != size:
            return None
        groups.append(tuple(taken))
    return groups if not left else None
