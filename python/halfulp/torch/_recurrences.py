"""LSTM and GRU of PyTorch, as loops of a network file: handlers of `_table.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._graph import Constant, Node, Output, RefusalError, Tensor, Unknown, own_name
from ._table import Part, as_parameter, as_tensor, axis_of, handles, named_parameters, unless
from ._views import View

if TYPE_CHECKING:
    from .capture import Lowering

_LSTM = """{at}.loop:
      loop: {x}
      nodes:
        - {at}.hidden.previous: state {at}.hidden.start next={at}.hidden
        - {at}.cell.previous: state {at}.cell.start next={at}.cell
        - {at}.hgates: linear {at}.hidden.previous out={gates} rows=on{words}
        - {at}.gates: add {x} {at}.hgates
        - {at}.gate: lstm_gates {at}.gates
        - {at}.cell: sum_of_products {at}.gate.f {at}.cell.previous {at}.gate {at}.gate.g
        - {at}.tanh: tanh {at}.cell
        - {at}.hidden: mul {at}.gate.o {at}.tanh"""
_GRU = """{at}.loop:
      loop: {x}
      nodes:
        - {at}.hidden.previous: state {at}.hidden.start next={at}.hidden
        - {at}.hgates: linear {at}.hidden.previous out={gates} rows=on{words}
        - {at}.gate: gru_gates {x} {at}.hgates
        - {at}.candidate: gru_candidate {x} {at}.hgates {at}.gate
        - {at}.hidden: blend {at}.candidate {at}.hidden.previous {at}.gate.z"""


def _recurrence(
    x: Lowering,
    name: str,
    rows: Any,
    states: Sequence[Any],
    parameters: Sequence[Any],
    options: Sequence[Any],
    text: str,
) -> list[Any]:
    has_biases, layers, dropout, train, both, batch_first = options
    rows = as_tensor(x, name, rows)
    for state in states:
        if not isinstance(state, Constant) or bool(state.tensor.any()):
            raise RefusalError("a state to begin with that is not zeros")
    places, channels = rows.view.dims[1 if batch_first else 0], rows.view.dims[2]
    made = x.graph.lay(rows, (places, channels), name)
    left, parts = list(parameters), 4 if has_biases else 2
    for layer in range(layers):
        halves = []
        for side in range(1 + both):
            own, left = left[:parts], left[parts:]
            turned = x.graph.one("reverse", f"{name}.turned", [made]) if side else made
            hidden = _one_direction(x, f"{name}_l{layer}{'_reverse' * side}", turned, own, text)
            halves.append(x.graph.one("reverse", f"{name}.back", [hidden]) if side else hidden)
        made = x.graph.one("concat", f"{name}_l{layer}.both", halves) if both else halves[0]
        if dropout > 0 and train and layer + 1 < layers:
            made = x.graph.one("dropout", f"{name}_l{layer}.drop", [made], probability=dropout)
    new = axis_of(made.shape[-1])
    dims = [*rows.view.dims[:2], new]
    gone = Unknown("the last state of a recurrence; the last row of its output would help")
    return [Tensor(made, View(dims, (*places, *new))), gone, gone]


def _one_direction(
    x: Lowering, at: str, rows: Output, parameters: Sequence[Any], text: str
) -> Output:
    words = []
    for weight, bias in zip(parameters[:2], parameters[2:] or (None, None)):
        found: dict[str, Part] = {
            "weight": (as_parameter(weight, "its weight"), (0, 1), weight.view.shape)
        }
        if bias is not None:
            found["bias"] = (as_parameter(bias, "its bias"), (0,), bias.view.shape)
        words.append(named_parameters(x.graph, at, found))
    has_bias = len(parameters) > 2
    gates, hidden = parameters[1].view.shape
    made = x.graph.one(
        "linear",
        f"{at}.xgates",
        [rows],
        out=gates,
        bias=unless(has_bias, True),
        rows=True,
        **words[0],
    )
    for state in ("hidden", "cell") if text is _LSTM else ("hidden",):
        x.graph.one("zeros", f"{at}.{state}.start", [], numbers=hidden)
    inside = "" if has_bias else " bias=off"
    inside += "".join(f" {key}={value}" for key, value in words[1].items())
    x.graph.lines.append(text.format(at=at, x=made.name, gates=gates, words=inside))
    return _noted(x, at, made, words[1], hidden, "lstm" if text is _LSTM else "gru")


def _noted(
    x: Lowering, at: str, gates: Output, words: dict[str, object], hidden: int, op: str
) -> Output:
    """The loop as one node for `ht.apply`."""
    share = str(words.get("share", ""))
    if share and ":" not in share:  # all of another loop, whose first product owns its parameters
        parameters = dict(x.graph.nodes[f"{share.removesuffix('.xgates')}.hidden"].parameters)
    else:
        own = {s: own_name(str(words.get("params", "")), s) for s in ("weight", "bias")}
        parameters = {s: x.graph.weights[n] for s, n in own.items() if n in x.graph.weights}
        parameters |= x.graph.shared(share or None)
    made = Output(f"{at}.hidden", (gates.shape[0], hidden))
    takes = (gates.name,)
    x.graph.nodes[made.name] = Node(made.name, op, takes, made.shape, {"at": at}, parameters)
    return made


@handles("lstm.input")
def lstm(
    x: Lowering, name: str, rows: Any, states: Any, parameters: Any, *options: Any
) -> list[Any]:
    return _recurrence(x, name, rows, states, parameters, options, _LSTM)


@handles("gru.input")
def gru(x: Lowering, name: str, rows: Any, state: Any, parameters: Any, *options: Any) -> list[Any]:
    return _recurrence(x, name, rows, [state], parameters, options, _GRU)
