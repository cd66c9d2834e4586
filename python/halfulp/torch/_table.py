"""What each operation of PyTorch becomes: one table, `HANDLERS`, by aten's names.

A handler gets the lowering, the node's name, and the node's arguments: tensors as `Tensor`,
`Parameter` or `Constant`, the rest as PyTorch has them. It gives what the node makes, or raises
`RefusalError`. Samples never meet but in norms over the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from ._graph import (
    Constant,
    Graph,
    Output,
    Parameter,
    RefusalError,
    Tensor,
    own_name,
)
from ._views import Axes, Axis, View, ViewError, extent

if TYPE_CHECKING:
    from .capture import Lowering

Handler = Callable[..., Any]
Part = tuple[Parameter, Sequence[int], Sequence[int]]
Given = Mapping[str, Part]
HANDLERS: dict[str, Handler] = {}
COPING: set[Handler] = set()


def handles(*names: str, stretched: bool = False) -> Callable[[Handler], Handler]:
    """Enter a handler, also for the forms that write in place.

    With `stretched` it copes with dimensions whose places are all alike; others find each of them.
    """

    def enter(function: Handler) -> Handler:
        if stretched:
            COPING.add(function)
        for name in names:
            HANDLERS[name] = function
            op, _, overload = name.partition(".")
            HANDLERS.setdefault(f"{op}_.{overload}", function)
        return function

    return enter


def axis_of(size: int) -> Axes:
    return (Axis(size),) if size > 1 else ()


def as_whole(value: Any, what: str) -> Any:
    if not isinstance(value, int):
        raise RefusalError(
            f"{what} is {value!r}, expected a number that is known when it is captured"
        )
    return value


def pair_of(value: Any) -> tuple[int, int]:
    pair = list(value) if isinstance(value, (list, tuple)) else [value]
    return (pair[0], pair[-1])


def size_text(value: Any) -> str | int:
    y, x = pair_of(value)
    return y if y == x else f"{y}x{x}"


def as_tensor(x: Lowering, name: str, value: Any) -> Tensor:
    """A value of the network: of a parameter or a constant, one that all samples share."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Parameter):
        return _parameter_value(x, name, value)
    if isinstance(value, Constant):
        return _constant_value(x, name, value.tensor)
    raise RefusalError(f"{value!r}, expected a tensor")


def _parameter_value(x: Lowering, name: str, parameter: Parameter) -> Tensor:
    storage = parameter.view.storage
    shape = tuple(axis.size for axis in storage) or (1,)
    if parameter.rows and parameter.rows != shape[0]:
        return _first_rows(x, name, parameter)
    if parameter.name not in x.computed:
        zero = x.graph.one("zeros", f"{name}.zero", [], numbers=1)
        stem = x.graph.word(parameter.name.removesuffix(".weight"))
        if parameter.name in x.graph.owners:
            known = x.graph.weights[x.graph.name_of(parameter.name)]
            shape = shape if known.is_turned else known.shape
        given: dict[str, Part] = {"weight": (parameter, (), shape)}
        words = named_parameters(x.graph, stem, given)
        text = "x".join(map(str, shape))
        made = x.graph.one("add", f"{stem}.value", [zero], shape=text, **words)
        x.computed[parameter.name] = made
    return Tensor(x.computed[parameter.name], parameter.view)


def _first_rows(x: Lowering, name: str, table: Parameter) -> Tensor:
    places, channels = (axis_of(size) for size in (table.rows, extent(table.view.storage[1:])))
    whole = Parameter(table.name, View((places, channels), (*places, *channels)))
    ids = torch.arange(table.view.storage[0].size)
    made = table_rows(x, name, whole, whole.view, 0, ids)
    return Tensor(made.made, View(table.view.dims, table.view.storage))


def _constant_value(x: Lowering, name: str, constant: Any) -> Tensor:
    """Numbers that do not depend on samples."""
    dims = [axis_of(size) for size in constant.shape]
    if constant.shape[:1] == (x.batch.size,) and torch.equal(
        constant, constant[:1].expand_as(constant)
    ):
        dims[0], constant = (x.batch,), constant[0]
    storage = tuple(axis for dim in dims for axis in dim if not axis.kind)
    shape = tuple(axis.size for axis in storage) or (1,)
    return Tensor(x.constant("constant", name, constant, shape), View(dims, storage))


def in_places(x: Lowering, name: str, tensor: Tensor) -> Tensor:
    """With each place of stretched dimensions in memory."""
    stretched = [axis for axis in tensor.view.axes if axis.kind == "stretched"]
    if not stretched:
        return tensor
    own, view = tensor.view.storage, tensor.view
    new = tuple(Axis(axis.size) for axis in stretched)
    for old, axis in zip(stretched, new):
        view = view.replaced(old, (axis,))
    zeros = x.graph.one("zeros", f"{name}.zeros", [], numbers=extent(new))
    zeros = x.graph.one("reshape", f"{name}.rows", [zeros], shape=f"{extent(new)}x1")
    made = x.graph.one("add", f"{name}.each", [x.graph.lay(tensor, (own,), name), zeros])
    return Tensor(made, View(view.dims, (*new, *own)))


def ids_of(x: Lowering, name: str, ids: Any, count: int) -> tuple[Output, tuple[Axes, ...]]:
    """Places that are known, below `count`, as a flat value; and axes for their dimensions."""
    if bool(((ids < -count) | (ids >= count)).any()):
        raise RefusalError(f"places {int(ids.min())} to {int(ids.max())} of {count}")
    made = x.constant("ids", name, ids % count, (max(ids.numel(), 1),))
    return made, tuple(axis_of(size) for size in ids.shape)


def one_axis(graph: Graph, tensor: Tensor, dim: int, name: str) -> tuple[Output, View, Axis]:
    """What a dimension extends along as one axis, and each axis as an extent of the value."""
    view = tensor.view
    dim %= len(view.dims)
    axes = view.dims[dim]
    if any(axis.kind for axis in axes):
        raise RefusalError("samples that meet, or are taken apart")
    if not axes:
        raise ViewError(f"one place of dimension {dim} of {view.shape}")
    first = min(view.storage.index(axis) for axis in axes)
    before = view.storage[:first]
    rest = tuple(axis for axis in view.storage[first:] if axis not in axes)
    groups = [*((a,) for a in before), axes, *((a,) for a in rest)]
    whole = axes[0] if len(axes) == 1 else Axis(extent(axes))
    dims = ((whole,) if d == dim else old for d, old in enumerate(view.dims))
    return graph.lay(tensor, groups, name), View(dims, (*before, whole, *rest)), whole


def as_parameter(value: Any, what: str) -> Parameter:
    if isinstance(value, Parameter):
        return value
    found = "a constant" if isinstance(value, Constant) else "computed"
    raise RefusalError(f"{what} is {found}, expected a parameter")


def check_batch_first(view: View, rank: int, op: str) -> None:
    samples = [axis.kind for axis in view.dims[0]] if len(view.dims) == rank else None
    if samples not in ([], ["batch"]):  # []: one that stands for all
        raise RefusalError(
            f"{op} of {view.shape}, expected {rank} dimensions, the first of samples"
        )


def as_image(x: Lowering, name: str, image: Tensor, op: str, places: int = 2) -> Output:
    """[N, C, H, W] as a value [H, W, C], or [N, C, T] as [T, C]."""
    check_batch_first(image.view, places + 2, op)
    channels, *rest = image.view.dims[1:]
    return x.graph.lay(image, (*rest, channels), name)


def of_image(batch: Axes, made: Output) -> Tensor:
    *rest, channels = (axis_of(e) for e in made.shape)
    storage = tuple(axis for dim in (*rest, channels) for axis in dim)
    return Tensor(made, View((batch, channels, *rest), storage))


def as_rows(graph: Graph, x: Tensor, name: str, dims: Sequence[int] = (-1,)) -> Tensor:
    """Some dimensions as the last extent of the value; the rest stays as it is in memory."""
    channels = tuple(axis for dim in dims for axis in x.view.dims[dim])
    if any(axis.kind for axis in channels):
        raise RefusalError(f"{x.view.shape}, whose channels are samples")
    rest = tuple(axis for axis in x.view.storage if axis not in channels)
    storage = (*rest, *channels)
    if storage == x.view.storage and x.made.shape[-1:] == (extent(channels),):
        return x
    made = graph.lay(x, (rest, channels) if rest else (channels,), name)
    return Tensor(made, View(x.view.dims, storage))


def prefix(weight: str, bias: str | None) -> str | None:
    """What `params=` says so that parameters have these names; None: nothing does."""
    head, _, tail = weight.rpartition("weight")
    if not head and not weight.endswith("weight"):
        return None
    if bias is not None and bias != f"{head}bias{tail}":
        return None
    return head[:-1] if head.endswith(".") and not tail else f"{head}*{tail}"


def stem_of(weight: Parameter, name: str) -> str:
    """What a node with this weight is called; else by a name of its own."""
    stem = weight.name.removesuffix(".weight")
    return name if stem == weight.name else stem


def named_parameters(graph: Graph, stem: str, parameters: Given) -> dict[str, object]:
    """`params=` and `share=` of a node, whose weights are noted by their names here."""
    names = {suffix: part[0].name for suffix, part in parameters.items()}
    weight, bias = names["weight"], names.get("bias")
    stem = graph.word(stem)
    found = prefix(weight, bias) or graph.word(weight.removesuffix(".weight"))
    if graph.word(found.replace("*", "")) != found.replace("*", ""):
        found = stem
    words: dict[str, object] = {"params": found}
    owner = graph.owners.get(weight)
    if owner is not None and graph.owners.get(bias or weight) == owner:
        return {"share": owner}
    tied = {suffix: name for suffix, name in names.items() if name in graph.owners}
    if tied:
        own = (f"{suffix}:{graph.name_of(name)}" for suffix, name in tied.items())
        words, found = {"share": ",".join(own)}, stem
    for suffix, (parameter, order, shape) in parameters.items():
        if suffix not in tied:
            graph.weight(own_name(found, suffix), parameter.name, order, shape, len(order) > 2)
    return words


def is_whole(parameter: Parameter) -> bool:
    """All of it, with its numbers in their order."""
    return parameter.view.axes == parameter.view.storage and not parameter.rows


def as_seen(x: Lowering, name: str, value: Any) -> Any:
    """What has a view: a constant as the value that it gives."""
    return as_tensor(x, name, value) if isinstance(value, Constant) else value


def check_whole(parameter: Parameter, what: str) -> None:
    if not is_whole(parameter):
        raise RefusalError(f"{what} {parameter.name} as another view of it")


def layer_of(
    x: Lowering, name: str, weight: Parameter, bias: Any, shape: Sequence[int]
) -> tuple[str, dict[str, object]]:
    """The name of a node that has a weight and perhaps a bias, and its `params=` and `share=`."""
    check_whole(weight, "the weight")
    order = {4: (0, 2, 3, 1), 3: (0, 2, 1)}.get(
        len(weight.view.dims), tuple(range(len(weight.view.dims)))
    )
    found: dict[str, Part] = {"weight": (weight, order, shape)}
    if bias is not None:
        bias = as_parameter(bias, "its bias")
        check_whole(bias, "the bias")
        found["bias"] = (bias, (0,), bias.view.shape)
    stem = stem_of(weight, name)
    if bias is not None and weight.name in x.graph.owners:  # tied, with a bias of its own
        stem = bias.name.removesuffix(".bias")
    return stem, named_parameters(x.graph, stem, found)


def unless(value: Any, usual: Any) -> Any:
    return None if value == usual else value


def with_last(rows: Tensor, made: Output, new: Axes) -> Tensor:
    """A value whose rows stay, with another last dimension."""
    *kept, gone = rows.view.dims
    storage = tuple(axis for axis in rows.view.storage if axis not in gone)
    return Tensor(made, View((*kept, new), (*storage, *new)))


def elementwise(x: Lowering, name: str, tensor: Any, op: str, **attributes: object) -> Tensor:
    tensor = as_tensor(x, name, tensor)
    return Tensor(x.graph.one(op, name, [tensor.made], **attributes), tensor.view)


def with_places(view: View, dim: int, axes: Sequence[Axes], rest: Axes) -> View:
    """With axes of its own in place of one dimension, in memory in front of the rest."""
    dims = (*view.dims[:dim], *axes, *view.dims[dim + 1 :])
    return View(dims, (*(axis for one in axes for axis in one), *rest))


def table_rows(
    x: Lowering,
    name: str,
    table: Parameter,
    seen: View,
    dim: int,
    places: Any,
    padding: Mapping[str, object] = MappingProxyType({}),
) -> Tensor:
    """Rows of a parameter by ids that are the same for all samples."""
    words, own = seen.shape[dim], set(seen.dims[dim])
    rest = tuple(axis for axis in seen.storage if axis not in own)
    width = math.prod(axis.size for axis in rest)
    ids, axes = ids_of(x, name, places, words)
    count = len(table.view.dims)
    inside = [d for d in range(count) if own.issuperset(table.view.dims[d])]
    order = (*inside, *(d for d in range(count) if d not in inside))
    stem = stem_of(table, name)
    given: dict[str, Part] = {"weight": (table, order, (words, width))}
    made = x.graph.one(
        "embedding",
        stem,
        [ids],
        words=words,
        width=width,
        **padding,
        **named_parameters(x.graph, stem, given),
    )
    return Tensor(made, with_places(seen, dim, axes, rest))
