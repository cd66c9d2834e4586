"""Places of a dimension by indices that are known: handlers of `_table.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._graph import Constant, Parameter, RefusalError, Tensor
from ._table import as_tensor, handles, ids_of, is_whole, one_axis, table_rows, with_places
from ._views import Axes, Axis, View

if TYPE_CHECKING:
    from .capture import Lowering


@handles("index.Tensor")
def index(x: Lowering, name: str, tensor: Any, indices: Sequence[Any]) -> Any:
    """`tensor[:, ids, ..]` with ids of one dimension, or of several that stand side by side."""
    found: list[tuple[int, Any]] = []
    dim = 0
    for given in indices:
        if given is None:
            dim += 1
            continue
        if not isinstance(given, Constant):
            raise RefusalError("places that are computed; indices that are known would help")
        for ids in given.tensor.nonzero().unbind(1) if _is_mask(given) else (given.tensor,):
            found.append((dim, ids))
            dim += 1
    dims = [dim for dim, _ in found]
    if dims != list(range(dims[0], dims[0] + len(dims))):
        raise RefusalError(f"indices of the dimensions {dims}, expected neighbours")
    return at_places(x, name, tensor, dims, [ids for _, ids in found])


def _is_mask(given: Constant) -> bool:
    return not given.tensor.dtype.is_floating_point and given.tensor.element_size() == 1


@handles("index_select.default")
def index_select(x: Lowering, name: str, tensor: Any, dim: int, ids: Any) -> Any:
    if not isinstance(ids, Constant):
        raise RefusalError("places that are computed; indices that are known would help")
    return at_places(x, name, tensor, [dim % len(tensor.view.dims)], [ids.tensor])


def at_places(
    x: Lowering, name: str, tensor: Any, dims: Sequence[int], lists: Sequence[Any]
) -> Tensor:
    """Places of dimensions side by side, which are one for that."""
    view, first = tensor.view, dims[0]
    sizes = [view.shape[d] for d in dims]
    whole = sum(
        (ids % size) * math.prod(sizes[i + 1 :]) for i, (ids, size) in enumerate(zip(lists, sizes))
    )
    joined = tuple(axis for d in dims for axis in view.dims[d])
    seen = View((*view.dims[:first], joined, *view.dims[dims[-1] + 1 :]), view.storage)
    if not joined:  # one place, as often as it is asked for
        several: list[Axes] = [
            (Axis(size, "stretched"),) if size > 1 else () for size in whole.shape
        ]
        made = as_tensor(x, name, tensor)
        return Tensor(
            made.made, View((*seen.dims[:first], *several, *seen.dims[first + 1 :]), view.storage)
        )
    if isinstance(tensor, Parameter) and _is_table(tensor, seen):
        return table_rows(x, name, tensor, seen, first, whole)
    made = as_tensor(x, name, tensor)
    laid, seen, axis = one_axis(x.graph, Tensor(made.made, seen), first, name)
    ids, axes = ids_of(x, name, whole, axis.size)
    rest = tuple(other for other in seen.storage if other is not axis)
    laid = x.graph.lay(Tensor(laid, seen), ((axis,), rest), name)
    laid = x.graph.one("pick_rows", name, [laid, ids])
    return Tensor(laid, with_places(seen, first, axes, rest))


def _is_table(parameter: Parameter, seen: View) -> bool:
    """Whether it is whole, with its dimensions in their order."""
    return is_whole(parameter) and not any(axis.kind for axis in seen.axes)
