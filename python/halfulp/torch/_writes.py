"""What is written in place, into all of a value or into a part that other values show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ._graph import Constant, RefusalError
from ._table import HANDLERS, as_seen, as_tensor, handles

if TYPE_CHECKING:
    from .capture import Lowering

_PARTS = ("slice.Tensor", "select.int")


@handles("fill.Scalar")
def fill(x: Lowering, name: str, tensor: Any, value: float) -> Constant:
    return Constant(torch.full(tensor.view.shape, float(value)))


@handles("zero.default")
def zero(x: Lowering, name: str, tensor: Any) -> Constant:
    return Constant(torch.zeros(tensor.view.shape))


@handles("copy.default")
def copy(x: Lowering, name: str, tensor: Any, source: Any, *_: Any) -> Any:
    seen = as_seen(x, name, tensor)
    return HANDLERS["expand.default"](x, name, as_seen(x, name, source), seen.view.shape)


def memory_of(graph: Any) -> dict[Any, list[Any]]:
    """All nodes that share the memory of a node: views of it, and what was written in place."""
    found: dict[Any, list[Any]] = {}
    for node in graph.nodes:
        is_shared = (
            isinstance(node.target, torch._ops.OpOverload)
            and node.args
            and any(r.alias_info is not None for r in node.target._schema.returns[:1])
        )
        found[node] = found[node.args[0]] if is_shared else []
        found[node].append(node)
    return found


def is_in_place(node: Any) -> bool:
    return (
        isinstance(node.target, torch._ops.OpOverload)
        and node.target._schema.name.rpartition("::")[2].endswith("_")
        and bool(node.args)
    )


def path_of(node: Any, base: Any) -> tuple[Any, ...]:
    """Views that lead from the first owner of a memory to a node; writes lead nowhere."""
    steps: list[Any] = []
    while node is not base:
        if not is_in_place(node):
            steps.append(node)
        node = node.args[0]
    return tuple(reversed(steps))


def written(
    x: Lowering, name: str, node: Any, made: Any, memory: Sequence[Any], values: dict[Any, Any]
) -> None:
    """Give every node that is read behind a write what it shows then.

    Raises
    ------
    RefusalError
        One shows the memory in another way than as the whole of which a part was written.
    """
    base, target = memory[0], node.args[0]
    path = path_of(target, base)
    readers = [
        other
        for other in memory
        if other < node and any(node < user for user in other.users) and other is not node
    ]
    shown = {len(path): made}
    for other in readers:
        own = path_of(other, base)
        if own != path[: len(own)]:
            raise _shown(other)
    least = min((len(path_of(other, base)) for other in readers), default=len(path))
    for step in range(len(path), least, -1):
        view = path[step - 1]
        shown[step - 1] = _put(x, f"{name}.{view.name}", view, values, shown[step])
    for other in (*readers, target):
        values[other] = shown[len(path_of(other, base))]


def _shown(node: Any) -> RefusalError:
    return RefusalError(
        f"it writes what {node.name} shows afterwards; a copy, torch.cat or torch.where would help"
    )


def _put(x: Lowering, name: str, view: Any, values: dict[Any, Any], made: Any) -> Any:
    """The value that a slice or a place is of, with another part."""
    if str(view.target).removeprefix("aten.") not in _PARTS:
        raise _shown(view.args[0])
    whole = as_tensor(x, name, values[view.args[0]])
    part = as_tensor(x, f"{name}.part", made)
    dim = (view.args[1] if len(view.args) > 1 else 0) % len(whole.view.dims)
    size = whole.view.shape[dim]
    if len(part.view.dims) < len(whole.view.dims):  # one place
        part = HANDLERS["unsqueeze.default"](x, name, part, dim)
        start, end, step = view.args[2], view.args[2] + 1, 1
    else:
        given = list(view.args[2:])
        start, end, step = given + [0, size, 1][len(given) :]
    start = start + size if start < 0 else start
    end = min(end + size if end < 0 or (end == 0 and start) else end, size)
    if step != 1 or any(axis.kind == "batch" for axis in whole.view.dims[dim]):
        raise RefusalError("it writes every so many places, or samples; torch.where would help")
    slices = HANDLERS["slice.Tensor"]
    before = [slices(x, f"{name}.before", whole, dim, 0, start)] if start > 0 else []
    behind = [slices(x, f"{name}.behind", whole, dim, end, size)] if end < size else []
    if not before and not behind:
        return part
    return HANDLERS["cat.default"](x, name, [*before, part, *behind], dim)
