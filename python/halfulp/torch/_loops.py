"""LSTM and GRU by steps, with the rounding points of halfulp's loops, for `ht.apply`.

Each gate, its gradient and each state is a tensor of one step. Source: rnn_cell.c and
docs/explanation/architecture/engine.md, "Loops".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from ._definition import in_double, slope_in_double
from ._edges import product_of
from ._forward import BY_OUTPUT

if TYPE_CHECKING:
    from ._edges import Places
    from ._forward import Pass
    from ._graph import Node

_SIGMOID, _TANH = BY_OUTPUT["sigmoid"], BY_OUTPUT["tanh"]


def run_loop(node: Node, run: Pass, gates: Any, places: Places) -> Any:
    """Hidden rows [N, T, H] of the gates [N, T, gates] that come from outside."""
    at, units = node.attributes["at"], node.shape[-1]
    step = _lstm if node.op == "lstm" else _gru
    hidden = gates.new_zeros(run.batch, units)
    cell = gates.new_zeros(run.batch, units)
    rows = []
    for t in range(gates.shape[1]):
        if t:
            hidden = places.use(f"{at}.hidden.previous", 0, hidden)
        hidden, cell = step(node, run, gates[:, t], hidden, cell, places, t > 0)
        rows.append(hidden)
    return torch.stack(rows, 1)


def _shaped(run: Pass, pair: Any) -> Any:
    """What an operation does and its slope: in float64, rounded once, by halfulp's definition."""
    return pair if run.sums is None else (in_double(pair[0]), slope_in_double(pair[1]))


def _terms(run: Pass, *x: Any) -> Any:
    """Terms of a sum of products, which the definition takes in float64."""
    return x if run.sums is None else tuple(one.double() for one in x)


def _hgates(node: Node, run: Pass, hidden: Any, places: Places) -> Any:
    weight, bias = run.parameters["weight"], run.parameters.get("bias")
    at = node.attributes["at"]
    name, own = f"{at}.hgates", run.sums is None
    is_apart = name in places.splits
    inside = None if is_apart else bias
    if run.sums is None:
        made = F.linear(hidden, weight, inside)
    else:
        made = run.sums.linear(product_of(node), hidden, weight, inside)
    if is_apart:
        made = places.use(name, 0, places.value(f"{name}.product.out", made, own)) + bias
    return places.value(f"{name}.out", made, own)


def _lstm(
    node: Node, run: Pass, x: Any, hidden: Any, cell: Any, places: Places, is_later: bool
) -> tuple[Any, Any]:
    at = node.attributes["at"]
    if is_later:
        cell = places.use(f"{at}.cell.previous", 0, cell)
    made = _hgates(node, run, hidden, places)
    made = places.use(f"{at}.gates", 0, x) + places.use(f"{at}.gates", 1, made)
    made = places.use(f"{at}.gate", 0, places.value(f"{at}.gates.out", made, True))
    parts = zip("ifgo", made.chunk(4, -1), (_SIGMOID, _SIGMOID, _TANH, _SIGMOID))
    i, f, g, o = (
        places.by_output(f"{at}.gate.{n}", p, *_shaped(run, pair)) for n, p, pair in parts
    )
    f, i, g = (places.use(f"{at}.cell", k, v) for k, v in ((0, f), (2, i), (3, g)))
    a, b, c, d = _terms(run, f, cell, i, g)
    cell = places.value(f"{at}.cell.out", (a * b + c * d).float(), True)
    shown = places.use(f"{at}.tanh", 0, cell)
    shown = places.by_output(f"{at}.tanh.out", shown, *_shaped(run, _TANH))
    o, shown = places.use(f"{at}.hidden", 0, o), places.use(f"{at}.hidden", 1, shown)
    return places.value(f"{at}.hidden.out", o * shown, True), cell


def _gru(
    node: Node, run: Pass, x: Any, hidden: Any, cell: Any, places: Places, is_later: bool
) -> tuple[Any, Any]:
    at = node.attributes["at"]
    made = _hgates(node, run, hidden, places)
    units = hidden.shape[-1]
    a, b = places.use(f"{at}.gate", 0, x), places.use(f"{at}.gate", 1, made)
    sums = (a + b)[:, : 2 * units].chunk(2, -1)
    shaped = _shaped(run, _SIGMOID)
    r, z = (places.by_output(f"{at}.gate.{n}", p, *shaped) for n, p in zip("rz", sums))
    a, b = places.use(f"{at}.candidate", 0, x), places.use(f"{at}.candidate", 1, made)
    r = places.use(f"{at}.candidate", 2, r)
    first, second, gate = _terms(run, a[:, 2 * units :], b[:, 2 * units :], r)
    new = (first + gate * second).float()
    new = places.by_output(f"{at}.candidate.out", new, *_shaped(run, _TANH))
    new, z = places.use(f"{at}.hidden", 0, new), places.use(f"{at}.hidden", 2, z)
    new, z, old = _terms(run, new, z, hidden)
    return places.value(f"{at}.hidden.out", (new + z * (old - new)).float(), True), cell
