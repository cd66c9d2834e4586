"""A captured network that PyTorch computes, with the rounding points of a plan, for `ht.apply`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..errors import DtypeError, ShapeError
from ._definition import defined, in_double, slope_in_double
from ._edges import Places
from ._forward import FORWARD, ByOutputPair, Pass, by_output, log_shares
from ._loops import run_loop
from ._sums import Sums

if TYPE_CHECKING:
    from ..plans import Plan
    from ._graph import Node, Weight
    from ._points import Clock, Point
    from .capture import Captured

# What they make is read by nobody else, and the backward pass of none of them reads it.
_OWN = {
    "conv1d",
    "conv2d",
    "linear",
    "batch_norm",
    "layer_norm",
    "add",
    "attention_scores",
    "max_pool",
}


class Network:
    """A module as its captured network, whose parameters are the module's.

    Parameters
    ----------
    model : torch.nn.Module
    net : Captured
        Of the module.
    plan : Plan
    products : str
        "torch" or "halfulp".
    clock : Clock
    is_part : bool
        Whether the plan may name what this network does not have.

    Attributes
    ----------
    points : list of Point
    """

    def __init__(
        self,
        model: Any,
        net: Captured,
        plan: Plan,
        products: str,
        clock: Clock,
        is_part: bool = False,
    ) -> None:
        self._net, self._model = net, model
        self._inputs = [name for name, _, _ in net.inputs]
        weights = [w.name for w in net.weights.values()]
        has_logs = net.task in ("classify", "classify_text")
        self._places = Places(
            plan, net.nodes, self._inputs, net._head, weights, has_logs, clock, is_part
        )
        self.points: list[Point] = self._places.points
        self._reader = "log_softmax" if has_logs else "loss"  # of the head
        self._sums = Sums(plan) if products == "halfulp" else None
        self._absent = _absent_of(net.nodes)

    def run(
        self, inputs: Sequence[Any], keys: Mapping[str, Any], training: bool, reads_masters: bool
    ) -> Any:
        """The module's output for a batch; reads_masters: parameters are not rounded."""
        inputs = self._net._calls.in_order(inputs, keys)
        values = self._given(inputs)
        batch = int(inputs[0].shape[0])
        copies: dict[str, Any] = {}
        for node in self._net.nodes:
            parameters = {
                kind: self._places.parameter(node, kind, self._copy(weight, copies, reads_masters))
                for kind, weight in node.parameters.items()
                if not kind.startswith("running")
            }
            run = Pass(
                parameters,
                self._buffers_of(node),
                self._is_training(node, training),
                batch,
                self._net.constants,
                self._sums,
            )
            values[node.name] = self._do(node, run, [values[name] for name in node.inputs])
        made = self._places.use(self._reader, 0, values[self._net._head])
        made = made.reshape(batch, *self._net._head_shape)
        return made.permute(0, 3, 1, 2) if len(self._net._head_shape) == 3 else made

    def _given(self, inputs: Sequence[Any]) -> dict[str, Any]:
        counts = [len(x) for x in inputs if isinstance(x, torch.Tensor) and x.dim()]
        if len(set(counts)) > 1:
            raise ShapeError(f"found inputs of {counts} samples, expected as many of each")
        values = {}
        for x, (name, shape, is_ids) in zip(inputs, self._net.inputs):
            if not isinstance(x, torch.Tensor):
                raise DtypeError(f"{name}: found {type(x).__name__}, expected a Tensor")
            turned = x.permute(0, 2, 3, 1) if x.dim() == 4 and not is_ids else x
            wanted = turned.shape[1:] or (1,)
            if is_ids:
                values[name] = x
                continue
            if tuple(wanted) != shape:
                raise ShapeError(
                    f"{name}: found samples of {tuple(x.shape[1:])}, expected those of the example "
                    f"input; as [height, width, channels] {shape}"
                )
            values[name] = self._places.value(name, turned.reshape(x.shape[0], *shape))
        return values

    def _copy(self, weight: Weight, copies: dict[str, Any], reads_masters: bool) -> Any:
        if weight.torch_name not in copies:
            made = getattr(*self._owner(weight))
            copies[weight.torch_name] = made if reads_masters else self._places.copy(weight, made)
        return copies[weight.torch_name]

    def _owner(self, weight: Weight) -> tuple[Any, str]:
        """The module that has a parameter now, and its name there."""
        path, _, last = weight.torch_name.rpartition(".")
        return self._model.get_submodule(path), last

    def _is_training(self, node: Node, training: bool) -> bool:
        """Of a norm that the script has put in evaluation by itself: no."""
        mean = node.parameters.get("running_mean")
        owner = self._model if mean is None else self._owner(mean)[0]
        return training if owner is self._model else training and bool(owner.training)

    def _buffers_of(self, node: Node) -> dict[str, Any]:
        found = {}
        for kind, weight in node.parameters.items():
            if kind.startswith("running"):
                owner, name = self._owner(weight)
                found[kind] = getattr(owner, name)
                tracked = getattr(owner, "num_batches_tracked", None)
                if tracked is not None:
                    found["num_batches_tracked"] = tracked
        return found

    def _do(self, node: Node, run: Pass, inputs: Sequence[Any]) -> Any:
        places, batch = self._places, run.batch
        if node.op in ("lstm", "gru"):
            return run_loop(node, run, inputs[0], places)
        name, is_apart = f"{node.name}.out", node.name in places.splits
        reader = f"{node.name}.product" if is_apart else node.name
        missing = [batch * self._absent.get(value, 0) for value in node.inputs]
        given = [places.use(reader, k, x, missing[k]) for k, x in enumerate(inputs)]
        absent = batch * self._absent.get(node.name, 0)
        shaped = by_output(node)
        if shaped is not None:
            return places.by_output(name, given[0], *self._shaped(*shaped), absent)
        does = FORWARD[node.op] if self._sums is None else defined
        own = self._sums is None and node.op in _OWN
        if not is_apart:
            return places.value(name, does(node, run, *given), own, absent)
        bias = run.parameters["bias"]
        alone = {k: v for k, v in run.parameters.items() if k != "bias"}
        product = does(node, run.with_parameters(alone), *given)
        product = places.value(f"{node.name}.product.out", product, own)
        product = places.use(node.name, 0, product)
        return places.value(name, product + bias, True)

    def _shaped(self, does: Any, slope: Any) -> ByOutputPair:
        if self._sums is None:
            return does, slope
        return in_double(does), slope_in_double(slope)

    def loss(self, scores: Any, labels: Any) -> Any:
        """Cross entropy, whose logarithms of shares are a tensor of their own in `classify`."""
        places, is_last = self._places, self._net.task != "segment"
        rows = scores if is_last else scores.movedim(1, -1)
        if not places.has_logs:
            wide = rows if self._sums is None else rows.double()
            logs = torch.log_softmax(wide, -1)
        else:
            shaped = self._shaped(*log_shares(-1))
            logs = places.by_output("log_softmax.out", rows, *shaped)
            logs = places.use("loss", 0, logs)
        flat, known = logs.reshape(-1, logs.shape[-1]), labels.reshape(-1)
        with torch.no_grad():
            own = torch.nn.functional.nll_loss(flat, known, reduction="none")
            places.value("loss.out", own.reshape(len(labels), -1).sum(1).float())
        return torch.nn.functional.nll_loss(flat, known).float()


def _absent_of(nodes: Sequence[Node]) -> dict[str, int]:
    """How many numbers of a sample's value a causal mask takes out: pairs of attention."""
    found: dict[str, int] = {}
    for node in nodes:
        is_pairs = node.op in ("attention_scores", "attention_weights")
        if is_pairs and node.attributes.get("causal"):
            heads, rows, keys = node.shape
            found[node.name] = heads * sum(max(0, keys - r - 1) for r in range(rows))
        elif node.op == "dropout" and node.inputs[0] in found:
            found[node.name] = found[node.inputs[0]]
    return found
