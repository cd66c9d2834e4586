"""Views, and parts of tensors of PyTorch: handlers of `_table.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._graph import Constant, Parameter, RefusalError, Tensor
from ._table import as_tensor, as_whole, axis_of, handles, in_places, one_axis, unless
from ._views import Axes, Axis, View, ViewError, aligned, extended, extent, is_stretched

if TYPE_CHECKING:
    from .capture import Lowering


def _seen(value: Any, view: View) -> Any:
    if isinstance(value, Tensor):
        return Tensor(value.made, view)
    if isinstance(value, Constant):
        raise RefusalError("a constant in the shape of a value; its shape in numbers would help")
    return Parameter(value.name, view, value.rows)


@handles("view.default", "reshape.default", "_unsafe_view.default", stretched=True)
def view(x: Lowering, name: str, tensor: Any, shape: Sequence[int]) -> Any:
    sizes = [as_whole(s, "an extent") for s in shape]
    if -1 in sizes:
        rest = math.prod(s for s in sizes if s != -1)
        sizes[sizes.index(-1)] = math.prod(tensor.view.shape) // rest
    try:
        return _seen(tensor, tensor.view.viewed(sizes))
    except ViewError:
        if not isinstance(tensor, Tensor):
            raise
    return _in_memory(x, name, in_places(x, name, tensor), sizes)


def _in_memory(x: Lowering, name: str, tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    """A view across axes, such as 3 x 2 places as 2 x 3: of numbers in the order of dimensions."""
    samples = [axis for axis in tensor.view.axes if axis.kind == "batch"]
    own = tuple(axis for axis in tensor.view.axes if not axis.kind)
    if tensor.view.axes != (*samples, *own):
        raise RefusalError(f"a view of {tensor.view.shape} as {tuple(sizes)} across samples")
    made = x.graph.lay(tensor, (own,), name)
    places = axis_of(extent(own))
    return Tensor(made, View((*((axis,) for axis in samples), places), places).viewed(sizes))


@handles("flatten.using_ints", stretched=True)
def flatten(x: Lowering, name: str, tensor: Any, start: int = 0, end: int = -1) -> Any:
    rank = len(tensor.view.dims)
    start, end = start % rank, end % rank
    shape = tensor.view.shape
    joined = math.prod(shape[start : end + 1])
    return view(x, name, tensor, [*shape[:start], joined, *shape[end + 1 :]])


@handles("unflatten.int", stretched=True)
def unflatten(x: Lowering, name: str, tensor: Any, dim: int, sizes: Sequence[int]) -> Any:
    dim %= len(tensor.view.dims)
    shape = tensor.view.shape
    sizes = list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = shape[dim] // math.prod(s for s in sizes if s != -1)
    return view(x, name, tensor, [*shape[:dim], *sizes, *shape[dim + 1 :]])


@handles("permute.default", stretched=True)
def permute(x: Lowering, name: str, tensor: Any, order: Sequence[int]) -> Any:
    return _seen(tensor, tensor.view.permuted([d % len(tensor.view.dims) for d in order]))


@handles("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist", stretched=True)
def movedim(x: Lowering, name: str, tensor: Any, source: Any, target: Any) -> Any:
    rank = len(tensor.view.dims)
    pairs = zip(*([v] if isinstance(v, int) else v for v in (source, target)))
    places = {new % rank: old % rank for old, new in pairs}
    left = iter(d for d in range(rank) if d not in places.values())
    order = [places[d] if d in places else next(left) for d in range(rank)]
    return _seen(tensor, tensor.view.permuted(order))


@handles("transpose.int", "swapaxes.default", "swapdims.default", stretched=True)
def transpose(x: Lowering, name: str, tensor: Any, one: int, other: int) -> Any:
    order = list(range(len(tensor.view.dims)))
    order[one], order[other] = order[other], order[one]
    return _seen(tensor, tensor.view.permuted(order))


@handles("t.default", stretched=True)
def turned(x: Lowering, name: str, tensor: Any) -> Any:
    return _seen(tensor, tensor.view.permuted(list(range(len(tensor.view.dims)))[::-1]))


@handles("unsqueeze.default", stretched=True)
def unsqueeze(x: Lowering, name: str, tensor: Any, dim: int) -> Any:
    dim %= len(tensor.view.dims) + 1
    return _seen(
        tensor, View((*tensor.view.dims[:dim], (), *tensor.view.dims[dim:]), tensor.view.storage)
    )


@handles("squeeze.dim", "squeeze.dims", "squeeze.default", stretched=True)
def squeeze(x: Lowering, name: str, tensor: Any, dims: Any = None) -> Any:
    rank = len(tensor.view.dims)
    given = range(rank) if dims is None else dims if isinstance(dims, (list, tuple)) else [dims]
    gone = {d % rank for d in given}
    left = [dim for d, dim in enumerate(tensor.view.dims) if dim or d not in gone]
    return _seen(tensor, View(left, tensor.view.storage))


@handles(
    "contiguous.default",
    "alias.default",
    "clone.default",
    "detach_.default",
    "to.dtype",
    "_to_copy.default",
    "to.dtype_layout",
    "to.device",
    "type_as.default",
    stretched=True,
)
def unchanged(x: Lowering, name: str, tensor: Any, *_: Any, **__: Any) -> Any:
    return tensor


@handles("detach.default")
def detach(x: Lowering, name: str, tensor: Any) -> Any:
    raise RefusalError("a gradient that ends here; a network has all of them")


@handles("expand.default", stretched=True)
def expand(x: Lowering, name: str, tensor: Any, shape: Sequence[int], **_: Any) -> Any:
    seen = extended(tensor.view, len(shape))
    dims = []
    for dim, size in zip(seen.dims, shape):
        if dim or size in (-1, 1):
            dims.append(dim)
        else:
            kind = "batch" if size == x.batch.size and not dims else "stretched"
            dims.append((x.batch,) if kind == "batch" else (Axis(size, kind),))
    return _seen(tensor, View(dims, seen.storage))


@handles("expand_as.default", stretched=True)
def expand_as(x: Lowering, name: str, tensor: Any, other: Any) -> Any:
    return expand(x, name, tensor, other.view.shape)


@handles("repeat.default", stretched=True)
def repeat(x: Lowering, name: str, tensor: Any, times: Sequence[int]) -> Any:
    seen = extended(tensor.view, len(times))
    sizes = [1 if dim else count for dim, count in zip(seen.dims, times)]
    view = expand(x, name, _seen(tensor, seen), [-1 if n == 1 else n for n in sizes]).view
    for d, (dim, count) in enumerate(zip(seen.dims, times)):
        if dim and count > 1:
            if any(axis.kind == "batch" for axis in dim):
                raise RefusalError("samples that come several times")
            view = view.with_dim(d, (Axis(count, "stretched"), *dim))
    return _seen(tensor, view)


@handles("repeat_interleave.self_int", stretched=True)
def repeat_interleave(
    x: Lowering, name: str, tensor: Any, count: Any, dim: int | None = None, **_: Any
) -> Any:
    if dim is None:
        raise RefusalError("repeat_interleave of a flat tensor; dim= would help")
    axes = tensor.view.dims[dim]
    if any(axis.kind == "batch" for axis in axes):
        raise RefusalError("samples that come several times")
    more = (Axis(as_whole(count, "the count"), "stretched"),) if count > 1 else ()
    return _seen(tensor, tensor.view.with_dim(dim % len(tensor.view.dims), (*axes, *more)))


def _part(
    x: Lowering, name: str, tensor: Tensor, dim: int, start: int, end: int, step: int = 1
) -> Tensor:
    """Places of a dimension."""
    dim %= len(tensor.view.dims)
    size = tensor.view.shape[dim]
    end = min(end, size)
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    if (start, end, step) == (0, size, 1):
        return tensor
    if start >= end:
        raise RefusalError(f"no place of {size}, from {start} to before {end}")
    made, view, axis = one_axis(x.graph, tensor, dim, name)
    made = x.graph.one(
        "slice",
        name,
        [made],
        axis=view.storage.index(axis),
        start=start,
        end=end,
        step=unless(step, 1),
    )
    count = -(-(end - start) // step)
    return Tensor(made, view.replaced(axis, axis_of(count)))


@handles("slice.Tensor")
def slice_(
    x: Lowering,
    name: str,
    tensor: Any,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> Any:
    if isinstance(tensor, Parameter):
        size = tensor.view.shape[dim]
        if (start or 0) == 0 and (end is None or end >= size) and step == 1:
            return tensor
    start, end = 0 if start is None else start, 2**62 if end is None else end
    return _part(x, name, as_tensor(x, name, tensor), dim, start, end, step)


@handles("narrow.default")
def narrow(x: Lowering, name: str, tensor: Any, dim: int, start: int, length: int) -> Any:
    return slice_(x, name, tensor, dim, start, as_whole(start, "a place") + length)


@handles("select.int", stretched=True)
def select(x: Lowering, name: str, tensor: Any, dim: int, index: int) -> Tensor:
    tensor = as_tensor(x, name, tensor)
    dim %= len(tensor.view.dims)
    index %= tensor.view.shape[dim]
    if is_stretched(tensor.view.dims[dim]):
        dims = (*tensor.view.dims[:dim], *tensor.view.dims[dim + 1 :])
        return Tensor(tensor.made, View(dims, tensor.view.storage))
    part = _part(x, name, tensor, dim, index, index + 1)
    return Tensor(
        part.made, View((d for i, d in enumerate(part.view.dims) if i != dim), part.view.storage)
    )


@handles("chunk.default")
def chunk(x: Lowering, name: str, tensor: Any, count: int, dim: int = 0) -> list[Tensor]:
    size = as_tensor(x, name, tensor).view.shape[dim]
    parts: list[Tensor] = split(x, name, tensor, -(-size // count), dim)
    return parts


@handles("split.Tensor", "split_with_sizes.default", "split.sizes")
def split(x: Lowering, name: str, tensor: Any, sizes: Any, dim: int = 0) -> list[Tensor]:
    tensor = as_tensor(x, name, tensor)
    size = tensor.view.shape[dim]
    parts = (
        sizes
        if isinstance(sizes, (list, tuple))
        else [min(sizes, size - s) for s in range(0, size, sizes)]
    )
    made, view, axis = one_axis(x.graph, tensor, dim, name)
    found, place = [], 0
    for number, part in enumerate(parts):
        one = x.graph.one(
            "slice",
            f"{name}.{number}",
            [made],
            axis=view.storage.index(axis),
            start=place,
            end=place + part,
        )
        found.append(Tensor(one, view.replaced(axis, axis_of(part))))
        place += part
    return found


@handles("unbind.int")
def unbind(x: Lowering, name: str, tensor: Any, dim: int = 0) -> list[Tensor]:
    size = as_tensor(x, name, tensor).view.shape[dim]
    return [select(x, f"{name}.{i}", tensor, dim, i) for i in range(size)]


@handles("cat.default")
def cat(x: Lowering, name: str, tensors: Sequence[Any], dim: int = 0) -> Tensor:
    rank = len(tensors[0].view.dims)
    dim %= rank
    token = tensors[0]
    is_row = isinstance(token, Parameter) and token.name not in x.shared and dim == 1 and rank == 3
    is_row = is_row and bool(token.view.dims[0]) and not token.view.dims[1]
    if is_row and len(tensors) == 2 and isinstance(tensors[1], Tensor):
        return _class_token(x, name, token, tensors[1])
    values = [as_tensor(x, name, t) for t in tensors]
    first = values[0]
    one, others = first.view.with_dim(dim, ()), []
    for value in values[1:]:
        one, other = aligned(one, value.view.with_dim(dim, ()))
        others.append(other)
    seen = [v.with_dim(dim, t.view.dims[dim]) for t, v in zip(values, [one, *others])]
    along = [v.dims[dim] for v in seen]
    order = list(seen[0].storage)
    place = min((order.index(a) for a in along[0]), default=0) if along[0] else len(order)
    rest = [axis for axis in order if axis not in along[0]]
    inputs = []
    for value, view, own in zip(values, seen, along):
        groups: list[Axes] = [(a,) for a in rest]
        groups.insert(place, own)
        inputs.append(x.graph.lay(Tensor(value.made, view), groups, name))
    made = x.graph.one("concat", name, inputs, axis=place)
    new = axis_of(made.shape[place])
    storage = (*rest[:place], *new, *rest[place:])
    return Tensor(made, View(seen[0].dims, storage).with_dim(dim, new))


@handles("stack.default")
def stack(x: Lowering, name: str, tensors: Sequence[Any], dim: int = 0) -> Tensor:
    rank = len(tensors[0].view.dims) + 1
    made = [as_tensor(x, f"{name}.{i}", tensor) for i, tensor in enumerate(tensors)]
    made = [unsqueeze(x, name, tensor, dim % rank) for tensor in made]
    return cat(x, name, made, dim % rank) if len(made) > 1 else made[0]


def _class_token(x: Lowering, name: str, token: Parameter, rows: Tensor) -> Tensor:
    places, channels = rows.view.dims[1:]
    made = x.graph.lay(rows, (places, channels), name)
    shape = (1, 1, made.shape[1])
    own = x.graph.word(token.name)
    x.graph.weight(own, token.name, (), shape)
    made = x.graph.one("class_token", name, [made], batches=True, params=own)
    new = axis_of(made.shape[0])
    return Tensor(made, View((rows.view.dims[0], new, channels), (*new, *channels)))


@handles("reshape_as.default", "view_as.default", stretched=True)
def reshape_as(x: Lowering, name: str, tensor: Any, other: Any) -> Any:
    return view(x, name, tensor, other.view.shape)


@handles("roll.default")
def roll(x: Lowering, name: str, tensor: Any, shifts: Any, dims: Any = ()) -> Tensor:
    """Places that leave at one end come in at the other."""
    made = as_tensor(x, name, tensor)
    if not dims:
        raise RefusalError("roll of a flat tensor; dims= would help")
    for number, (shift, dim) in enumerate(zip(shifts, dims)):
        size = made.view.shape[dim]
        if shift % size:
            at = size - shift % size
            parts = [
                _part(x, f"{name}.{number}.last", made, dim, at, size),
                _part(x, f"{name}.{number}.first", made, dim, 0, at),
            ]
            made = cat(x, f"{name}.{number}", parts, dim)
    return made


@handles("constant_pad_nd.default")
def constant_pad(
    x: Lowering, name: str, tensor: Any, places: Sequence[int], value: float = 0.0
) -> Any:
    return pad(x, name, tensor, places, "constant", value)


@handles("pad.default")
def pad(
    x: Lowering,
    name: str,
    tensor: Any,
    places: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Tensor:
    made = as_tensor(x, name, tensor)
    if mode != "constant":
        raise RefusalError(f"pad with mode={mode!r}, expected one number around it")
    rank = len(made.view.dims)
    for number in range(0, len(places), 2):
        dim = rank - 1 - number // 2
        low, high = places[number : number + 2]
        if low < 0 or high < 0:
            size = made.view.shape[dim]
            made = _part(x, f"{name}.part", made, dim, max(-low, 0), size - max(-high, 0))
            low, high = max(low, 0), max(high, 0)
        if not low + high:
            continue
        if made.view.dims[dim]:
            inside, view, axis = one_axis(x.graph, made, dim, name)
            place, count, size = view.storage.index(axis), len(view.storage), axis.size
        else:  # of one place, which is the last extent then
            groups = [*((axis,) for axis in made.view.storage), ()]
            inside, view, size = x.graph.lay(made, groups, name), made.view, 1
            place, count = len(groups) - 1, len(groups)
        lows, highs = ([0] * count for _ in range(2))
        lows[place], highs[place] = low, high
        amount = None if not value else float(value)
        inside = x.graph.one("pad", name, [inside], before=lows, after=highs, value=amount)
        new = axis_of(size + low + high)
        if size > 1:
            made = Tensor(inside, view.replaced(axis, new))
        else:
            made = Tensor(inside, View(view.with_dim(dim, new).dims, (*view.storage, *new)))
    return made
