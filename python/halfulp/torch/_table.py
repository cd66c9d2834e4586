"""What each operation of PyTorch becomes: one table, `HANDLERS`, by aten's names.

A handler gets the lowering, the node's name, and the node's arguments: tensors as `Tensor`,
`Parameter` or `Constant`, the rest as PyTorch has them. It gives what the node makes, or raises
`RefusalError`. Samples never meet but in norms over the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Enter a handler, also for the forms that write in place."""

    def enter(function: Handler) -> Handler:
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


def as_tensor(value: Any, what: str = "its input") -> Tensor:
    if isinstance(value, Tensor):
        return value
    found = "a parameter" if isinstance(value, Parameter) else "a constant"
    raise RefusalError(f"{what} is {found}, expected what the network computes from its input")


def one_axis(graph: Graph, tensor: Tensor, dim: int, name: str) -> tuple[Output, View, Axis]:
    """What a dimension extends along as one axis, and each axis as an extent of the value."""
    view = tensor.view
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
    if len(view.dims) != rank or len(view.dims[0]) != 1 or view.dims[0][0].kind != "batch":
        raise RefusalError(
            f"{op} of {view.shape}, expected {rank} dimensions, the first of samples"
        )


def as_image(graph: Graph, x: Any, name: str, op: str) -> Output:
    """[N, C, H, W] as a value [H, W, C]."""
    x = as_tensor(x)
    check_batch_first(x.view, 4, op)
    channels, height, width = x.view.dims[1:]
    return graph.lay(x, (height, width, channels), name)


def of_image(batch: Axes, made: Output) -> Tensor:
    height, width, channels = (axis_of(e) for e in made.shape)
    return Tensor(made, View((batch, channels, height, width), (*height, *width, *channels)))


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
    weight = parameters["weight"][0].name
    bias = parameters["bias"][0].name if "bias" in parameters else None
    found = prefix(weight, bias) or stem
    words: dict[str, object] = {"params": found}
    owner = graph.owners.get(weight)
    if owner is not None and graph.owners.get(bias or weight) == owner:
        return {"share": owner}
    if owner is not None:
        words, found = {"share": f"weight:{owner}.weight"}, stem
    for suffix, (parameter, order, shape) in parameters.items():
        if suffix == "weight" and owner is not None:
            continue
        graph.weight(own_name(found, suffix), parameter.name, order, shape, len(order) > 2)
    return words


def check_whole(parameter: Parameter, what: str) -> None:
    if parameter.view.axes != parameter.view.storage:
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
    return stem, named_parameters(x.graph, stem, found)


def unless(value: Any, usual: Any) -> Any:
    return None if value == usual else value


def with_last(rows: Tensor, made: Output, new: Axes) -> Tensor:
    """A value whose rows stay, with another last dimension."""
    *kept, gone = rows.view.dims
    storage = tuple(axis for axis in rows.view.storage if axis not in gone)
    return Tensor(made, View((*kept, new), (*storage, *new)))


def elementwise(x: Lowering, name: str, tensor: Any, op: str, **attributes: object) -> Tensor:
    tensor = as_tensor(tensor)
    return Tensor(x.graph.one(op, name, [tensor.made], **attributes), tensor.view)
