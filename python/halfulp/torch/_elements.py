"""Operations of PyTorch element by element, of one value or of two: handlers of `_table.py`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._graph import Constant, Noise, Parameter, RefusalError, Tensor, groups_of
from ._table import HANDLERS, as_rows, as_tensor, elementwise, handles, one_axis, unless
from ._views import Axes, View, aligned, extended, extent

if TYPE_CHECKING:
    from .capture import Lowering


def _plain(*names: str, op: str) -> None:
    @handles(*names, stretched=True)
    def plain(x: Lowering, name: str, tensor: Any, *_: Any, **__: Any) -> Tensor:
        return elementwise(x, name, tensor, op)


for _name in ("relu", "sigmoid", "tanh", "silu", "exp", "log", "sqrt", "abs", "neg", "square"):
    _plain(f"{_name}.default", op=_name)
_plain("hardsigmoid.default", op="hard_sigmoid")
_plain("hardswish.default", op="hard_swish")


@handles("gelu.default")
def gelu(x: Lowering, name: str, tensor: Any, approximate: str = "none") -> Tensor:
    return elementwise(x, name, tensor, "gelu", tanh=unless(approximate == "tanh", False))


@handles("leaky_relu.default")
def leaky_relu(x: Lowering, name: str, tensor: Any, slope: float = 0.01) -> Tensor:
    return elementwise(x, name, tensor, "leaky_relu", slope=float(slope))


@handles("hardtanh.default")
def hardtanh(x: Lowering, name: str, tensor: Any, low: float = -1.0, high: float = 1.0) -> Any:
    return clamp(x, name, tensor, low, high)


@handles("clamp.default", stretched=True)
def clamp(x: Lowering, name: str, tensor: Any, low: Any = None, high: Any = None) -> Tensor:
    return elementwise(
        x,
        name,
        tensor,
        "clip",
        low=None if low is None else float(low),
        high=None if high is None else float(high),
    )


@handles("clamp.Tensor")
def clamp_between(x: Lowering, name: str, tensor: Any, low: Any = None, high: Any = None) -> Any:
    if low is not None:
        tensor = arithmetic(x, f"{name}.low", "maximum", tensor, low)
    return tensor if high is None else arithmetic(x, name, "minimum", tensor, high)


@handles("clamp_min.Tensor")
def clamp_from(x: Lowering, name: str, tensor: Any, low: Any) -> Any:
    return arithmetic(x, name, "maximum", tensor, low)


@handles("clamp_max.Tensor")
def clamp_to(x: Lowering, name: str, tensor: Any, high: Any) -> Any:
    return arithmetic(x, name, "minimum", tensor, high)


@handles("relu6.default")
def relu6(x: Lowering, name: str, tensor: Any) -> Any:
    return hardtanh(x, name, tensor, 0.0, 6.0)


@handles("dropout.default", "feature_dropout.default")
def dropout(x: Lowering, name: str, tensor: Any, probability: float, train: bool) -> Any:
    if not train or probability == 0 or not isinstance(tensor, Tensor):
        return tensor
    return elementwise(x, name, tensor, "dropout", probability=float(probability))


@handles("pow.Tensor_Scalar")
def power(x: Lowering, name: str, tensor: Any, exponent: float) -> Tensor:
    if exponent == 2:
        return elementwise(x, name, tensor, "square")
    return elementwise(x, name, tensor, "pow", exponent=float(exponent))


@handles("linalg_vector_norm.default")
def vector_norm(
    x: Lowering,
    name: str,
    tensor: Any,
    order: float = 2,
    dims: Any = None,
    keep: bool = False,
    **_: Any,
) -> Any:
    if order not in (1, 2, math.inf):
        raise RefusalError(f"a norm of order {order}, expected 1, 2 or inf")
    terms = elementwise(x, f"{name}.terms", tensor, "square" if order == 2 else "abs")
    if order == math.inf:
        return HANDLERS["amax.default"](x, name, terms, dims, keep)
    total = HANDLERS["sum.dim_IntList"](x, f"{name}.sum", terms, dims, keep)
    return elementwise(x, name, total, "sqrt") if order == 2 else total


@handles("clamp_min.default")
def clamp_min(x: Lowering, name: str, tensor: Any, low: Any) -> Any:
    return clamp(x, name, tensor, low)


@handles("clamp_max.default")
def clamp_max(x: Lowering, name: str, tensor: Any, high: Any) -> Any:
    return clamp(x, name, tensor, None, high)


@handles("rsqrt.default")
def rsqrt(x: Lowering, name: str, tensor: Any) -> Any:
    return power(x, name, tensor, -0.5)


@handles("reciprocal.default")
def reciprocal(x: Lowering, name: str, tensor: Any) -> Any:
    return power(x, name, tensor, -1.0)


@handles("softmax.int", "_softmax.default")
def softmax(x: Lowering, name: str, tensor: Any, dim: int, *_: Any) -> Tensor:
    made, view, axis = one_axis(x.graph, as_tensor(x, name, tensor), dim, name)
    return Tensor(x.graph.one("softmax", name, [made], axis=view.storage.index(axis)), view)


@handles("log_softmax.int")
def log_softmax(x: Lowering, name: str, tensor: Any, dim: int, *_: Any) -> Tensor:
    rows = as_rows(x.graph, as_tensor(x, name, tensor), name, (dim,))
    return Tensor(x.graph.one("log_softmax", name, [rows.made]), rows.view)


_HIDDEN = -1e30  # in place of -inf, which no buffer may have: softmax makes zeros of both


def arithmetic(x: Lowering, name: str, op: str, one: Any, other: Any) -> Any:
    one, other = _number(one), _number(other)
    if not any(isinstance(value, Tensor) for value in (one, other)):
        if isinstance(one, (int, float)) or isinstance(other, Constant):
            other = as_tensor(x, f"{name}.other", other)
        else:
            one = as_tensor(x, f"{name}.one", one)
    is_first = isinstance(one, Tensor)
    tensor, beside = (one, other) if is_first else (other, one)
    if isinstance(beside, Noise):
        if op != "mul" or beside.divided != beside.survival:
            raise RefusalError("noise that is no drop of whole samples")
        return elementwise(x, name, tensor, "drop_path", probability=1 - beside.survival)
    if isinstance(beside, Parameter) and (is_first or op not in ("sub", "div")):
        return _beside_parameter(x, name, op, tensor, beside)
    if isinstance(beside, Constant) and is_first and _is_nothing(op, tensor, beside.tensor):
        return tensor
    if isinstance(beside, (int, float)):
        return _beside_number(x, name, op, tensor, float(beside), is_first)
    if isinstance(beside, Constant) and op == "add":
        beside = Constant(beside.tensor.masked_fill(beside.tensor == -math.inf, _HIDDEN))
    beside = as_tensor(x, f"{name}.other", beside)
    one, other = (tensor, beside) if is_first else (beside, tensor)
    return _joined(x, name, op, one, other)


def _number(value: Any) -> Any:
    """A constant of one number as that number."""
    is_one = isinstance(value, Constant) and value.tensor.numel() == 1
    return float(value.tensor) if is_one else value


def _is_nothing(op: str, tensor: Tensor, constant: Any) -> bool:
    """Whether the constant changes neither numbers nor shape: a mask that hides nothing."""
    rank = len(constant.shape)
    shape = tensor.view.shape
    if rank > len(shape) or any(
        size not in (1, own) for size, own in zip(constant.shape, shape[len(shape) - rank :])
    ):
        return False
    neutral = 0 if op in ("add", "sub") else 1
    return op in ("add", "sub", "mul", "div") and bool((constant == neutral).all())


def _beside_number(
    x: Lowering, name: str, op: str, tensor: Tensor, number: float, is_first: bool
) -> Tensor:
    if not is_first and op == "sub":
        tensor, op = elementwise(x, f"{name}.neg", tensor, "neg"), "add"
    elif not is_first and op == "div":
        tensor, op = elementwise(x, f"{name}.inverse", tensor, "pow", exponent=-1.0), "mul"
    if (op in ("add", "sub") and number == 0) or (op in ("mul", "div") and number == 1):
        return tensor
    if op in ("mul", "div"):
        return elementwise(x, name, tensor, "scale", factor=number if op == "mul" else 1 / number)
    return elementwise(x, name, tensor, op, value=number)


def _beside_parameter(
    x: Lowering, name: str, op: str, tensor: Tensor, parameter: Parameter
) -> Tensor:
    rank = max(len(tensor.view.dims), len(parameter.view.dims))
    view, seen = aligned(extended(tensor.view, rank), extended(parameter.view, rank))
    is_larger = any(axis.kind != "stretched" and axis not in view.axes for axis in seen.axes)
    if is_larger or parameter.name in x.shared:
        return _joined(x, name, op, tensor, as_tensor(x, name, parameter))
    tensor = Tensor(tensor.made, view)
    own = set(seen.storage)
    inside = tuple(axis for axis in view.storage if axis in own)
    order = () if inside == seen.storage else _turned(parameter, seen, inside)
    if order is None:
        return _joined(x, name, op, tensor, as_tensor(x, name, parameter))
    if op == "add" and inside == view.storage:
        return _position(x, name, tensor, parameter, order)
    if parameter.rows:
        return _joined(x, name, op, tensor, as_tensor(x, name, parameter))
    made = x.graph.lay(tensor, [(a,) for a in view.storage], name) if view.storage else tensor.made
    shape = tuple(axis.size if axis in own else 1 for axis in view.storage) or (1,)
    stem = x.graph.word(parameter.name.removesuffix(".weight"))
    x.graph.weight(f"{stem}.weight", parameter.name, order, shape)
    made = x.graph.one(op, name, [made], shape="x".join(map(str, shape)), params=stem)
    return Tensor(made, view)


def _turned(parameter: Parameter, seen: View, inside: Axes) -> tuple[int, ...] | None:
    """PyTorch's dimensions of a parameter in the order in which its axes lie in a value.

    None where that is no order of whole dimensions.
    """
    rank = len(parameter.view.dims)
    dims = seen.dims[len(seen.dims) - rank :]
    if any(len(dim) > 1 for dim in dims) or tuple(a for d in dims for a in d) != seen.storage:
        return None
    place = {dim[0]: d for d, dim in enumerate(dims) if dim}
    return (*(d for d, dim in enumerate(dims) if not dim), *(place[axis] for axis in inside))


def _position(
    x: Lowering, name: str, tensor: Tensor, parameter: Parameter, order: tuple[int, ...]
) -> Tensor:
    """A parameter as large as a sample."""
    made, view = tensor.made, tensor.view
    if len(made.shape) < 2:
        made = x.graph.lay(tensor, [(a,) for a in view.storage], name)
    rows = parameter.rows or made.shape[0]
    is_whole = len(parameter.view.dims) == len(made.shape) + 1 and not parameter.rows
    shape = (rows, *made.shape[1:])
    own = x.graph.word(parameter.name)
    x.graph.weight(own, parameter.name, order, (1, *shape) if is_whole else shape)
    made = x.graph.one(
        "position",
        name,
        [made],
        batches=unless(is_whole, False),
        params=own,
        rows=parameter.rows or None,
    )
    return Tensor(made, view)


def _joined(x: Lowering, name: str, op: str, one: Tensor, other: Tensor) -> Tensor:
    rank = max(len(one.view.dims), len(other.view.dims))
    first, second = aligned(extended(one.view, rank), extended(other.view, rank))
    if extent(second.storage) > extent(first.storage) and op in (
        "add",
        "mul",
        "minimum",
        "maximum",
    ):
        one, other, first, second = other, one, second, first
    a, b = set(first.storage), set(second.storage)
    if b <= a:
        order = first.storage
    else:
        order = (*first.storage, *(axis for axis in second.storage if axis not in a))
        order = tuple(
            axis
            for dim in range(rank)
            for axis in (first.dims[dim] or second.dims[dim])
            if not axis.kind
        )
    shape = one.made.shape
    groups = groups_of(order, shape) if order == first.storage else None
    if groups is None or any(0 < len(b.intersection(g)) < len(g) for g in groups):
        groups = [(axis,) for axis in order] or [()]
    inputs = []
    for tensor, view, own in ((one, first, a), (other, second, b)):
        seen = [g if not g or g[0] in own else () for g in groups]
        while len(seen) > 1 and not seen[0] and own is b:
            seen.pop(0)
        if (
            own is a
            and order == first.storage
            and extent(order) == math.prod(shape)
            and groups_of(view.storage, shape) == groups
        ):
            inputs.append(tensor.made)
        else:
            inputs.append(x.graph.lay(Tensor(tensor.made, view), seen, name))
    dims = [first.dims[d] or second.dims[d] for d in range(rank)]
    return Tensor(x.graph.one(op, name, inputs), View(dims, order))


def _times(x: Lowering, name: str, value: Any, alpha: float) -> Any:
    """What `alpha` multiplies: a value, or a number that is known."""
    if alpha == 1:
        return value
    if isinstance(value, (int, float)):
        return value * alpha
    return arithmetic(x, f"{name}.alpha", "mul", value, float(alpha))


def _binary(*names: str, op: str) -> None:
    @handles(*names, stretched=True)
    def binary(x: Lowering, name: str, one: Any, other: Any, alpha: float = 1) -> Any:
        return arithmetic(x, name, op, one, _times(x, name, other, alpha))


for _name in ("add", "sub", "mul", "div"):
    _binary(f"{_name}.Tensor", f"{_name}.Scalar", op=_name)
_binary("minimum.default", op="minimum")
_binary("maximum.default", op="maximum")


@handles("rsub.Scalar", "rsub.Tensor", stretched=True)
def rsub(x: Lowering, name: str, one: Any, other: Any, alpha: float = 1) -> Any:
    return arithmetic(x, name, "sub", other, _times(x, name, one, alpha))


def _with_product(op: str) -> None:
    @handles(f"addc{op}.default")
    def added(x: Lowering, name: str, tensor: Any, one: Any, other: Any, value: float = 1) -> Any:
        part = _times(x, name, arithmetic(x, f"{name}.{op}", op, one, other), value)
        return arithmetic(x, name, "add", tensor, part)


_with_product("mul")
_with_product("div")


@handles("bernoulli.float")
def bernoulli(x: Lowering, name: str, noise: Any, survival: float = 0.5, **_: Any) -> Noise:
    if not isinstance(noise, Noise):
        raise RefusalError(
            "numbers that are drawn; nn.Dropout or stochastic depth by rows would help"
        )
    if noise.shape[:1] != (x.batch.size,) or any(extent != 1 for extent in noise.shape[1:]):
        raise RefusalError(f"one draw for {noise.shape}, expected one for each sample (mode='row')")
    return replace(noise, survival=survival)
