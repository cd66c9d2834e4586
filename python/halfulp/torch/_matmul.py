"""Matrix products of PyTorch, of parameters and of two values: handlers of `_table.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ._elements import arithmetic
from ._graph import Parameter, RefusalError, Tensor
from ._products import dense
from ._table import HANDLERS, as_seen, as_tensor, handles, is_whole, unless
from ._views import Axes, Axis, View, aligned, extended, extent, is_stretched

if TYPE_CHECKING:
    from .capture import Lowering


def product(x: Lowering, name: str, one: Tensor, other: Tensor) -> Tensor:
    """[.., rows, k] times [.., k, columns], as `torch.matmul` multiplies them.

    Dimensions that both have are the heads of attention's products; what only one of them has is
    among its rows, or columns.
    """
    rank = max(len(one.view.dims), len(other.view.dims))
    a, b = extended(one.view, rank), _renewed(extended(other.view, rank), x.batch)
    first = View((*a.dims[:-2], a.dims[-1]), a.storage)
    second = View((*b.dims[:-2], b.dims[-2]), b.storage)
    first, second = aligned(first, second)
    *outer, summed = zip(first.dims, second.dims)
    k = summed[0]
    if k != summed[1] or any(axis.kind for axis in k):
        raise RefusalError(f"a sum over {k or 'one place'} of {a.shape} and {b.shape}")
    a = View((*first.dims[:-1], a.dims[-2], k), first.storage)
    b = View((*second.dims[:-1], k, b.dims[-1]), second.storage)
    common = _own(axis for i, j in outer for axis in i if axis in j)
    rows = _own(axis for dim in (*(i for i, _ in outer), a.dims[-2]) for axis in dim)
    columns = _own(axis for dim in (*(j for _, j in outer), b.dims[-1]) for axis in dim)
    rows = tuple(axis for axis in rows if axis not in common)
    columns = tuple(axis for axis in columns if axis not in common)
    _check_samples(a, b)
    one, other = Tensor(one.made, a), Tensor(other.made, b)
    best = min(_layouts(one, other, common, rows, columns), key=lambda layout: layout.moved)
    inputs = [x.graph.lay(tensor, groups, name) for tensor, groups in best.inputs]
    heads = unless(extent(best.heads), 1) if best.op == "attention_scores" else None
    made = x.graph.one(best.op, name, inputs, heads=heads)
    dims = [i if i and not (is_stretched(i) and j) else j for i, j in outer]
    return Tensor(made, View((*dims, a.dims[-2], b.dims[-1]), best.storage))


def _own(axes: Any) -> Axes:
    return tuple(axis for axis in axes if not axis.kind)


def _renewed(view: View, batch: Axis) -> View:
    """With axes of its own, so that a tensor may be multiplied with itself."""
    for axis in view.axes:
        if axis is not batch:
            view = view.replaced(axis, (Axis(axis.size, axis.kind),))
    return view


def _check_samples(a: View, b: View) -> None:
    """Each row of the product is of one sample."""
    for one, other in ((a, b.dims[:-2] + b.dims[-1:]), (b, a.dims[:-1])):
        inside = one.dims[-2] if one is a else one.dims[-1]
        samples = [axis for axis in inside if axis.kind == "batch"]
        if samples and any(axis in dim for axis in samples for dim in other):
            raise RefusalError(f"samples that meet in {a.shape} times {b.shape}")


@dataclass(frozen=True)
class _Layout:
    """A product as an operation of attention: its inputs, and the axes of what it makes."""

    op: str
    heads: Axes
    inputs: tuple[tuple[Tensor, tuple[Axes, ...]], ...]
    storage: Axes

    @property
    def moved(self) -> int:
        """Numbers that lie in another order so far."""
        count = 0
        for tensor, groups in self.inputs:
            order = tuple(axis for group in groups for axis in group)
            count += extent(order) if order != tensor.view.storage else 0
        return count


def _layouts(
    one: Tensor, other: Tensor, common: Axes, rows: Axes, columns: Axes
) -> Iterator[_Layout]:
    def by(storage: Axes, axes: Axes) -> Axes:
        return tuple(sorted(axes, key=storage.index))

    rows, columns = by(one.view.storage, rows), by(other.view.storage, columns)
    for order in (one.view.storage, other.view.storage):
        heads, k = by(order, common), by(order, one.view.dims[-1])
        # q [T, heads k] and keys [S, heads k] -> [heads, T, S]
        q, keys = (one, (rows, (*heads, *k))), (other, (columns, (*heads, *k)))
        yield _Layout("attention_scores", heads, (q, keys), (*heads, *rows, *columns))
        # weights [heads, T, S] and v [S, heads d] -> [T, heads d]
        weights, v = (one, (heads, rows, k)), (other, (k, (*heads, *columns)))
        yield _Layout("attention_context", heads, (weights, v), (*rows, *heads, *columns))
        weights, v = (other, (heads, columns, k)), (one, (k, (*heads, *rows)))
        yield _Layout("attention_context", heads, (weights, v), (*columns, *heads, *rows))


def _layer(x: Lowering, name: str, rows: Any, weight: Any, bias: Any = None) -> Tensor | None:
    """Rows times a parameter [k, out] as it is, or turned; None: it is something else."""
    if not isinstance(weight, Parameter) or len(weight.view.dims) != 2:
        return None
    out = weight.view.shape[1]
    if bias is not None and not (
        isinstance(bias, Parameter) and is_whole(bias) and bias.view.shape == (out,)
    ):
        made = _layer(x, name, rows, weight)
        return made and arithmetic(x, f"{name}.bias", "add", made, bias)
    turned = replace(weight, view=weight.view.permuted((1, 0)))
    if is_whole(turned):
        return dense(x, name, rows, turned, bias, False)
    return dense(x, name, rows, weight, bias, True) if is_whole(weight) else None


@handles("linear.default")
def linear(x: Lowering, name: str, rows: Any, weight: Any, bias: Any = None) -> Any:
    turned = HANDLERS["t.default"](x, name, as_seen(x, name, weight))
    return addmm(x, name, bias, rows, turned)


@handles("addmm.default")
def addmm(
    x: Lowering, name: str, bias: Any, rows: Any, weight: Any, beta: float = 1, alpha: float = 1
) -> Any:
    layer = _layer(x, name, rows, weight, bias) if beta == 1 and alpha == 1 else None
    if layer is not None:
        return layer
    return baddbmm(x, name, bias, rows, weight, beta, alpha)


@handles("matmul.default", "bmm.default", "mm.default")
def matmul(x: Lowering, name: str, one: Any, other: Any) -> Any:
    layer = _layer(x, name, one, other) if not isinstance(one, Parameter) else None
    if layer is not None:
        return layer
    one, other = as_tensor(x, f"{name}.one", one), as_tensor(x, f"{name}.other", other)
    is_row, is_column = len(one.view.dims) == 1, len(other.view.dims) == 1
    if is_row:
        one = Tensor(one.made, View(((), *one.view.dims), one.view.storage))
    if is_column:
        other = Tensor(other.made, View((*other.view.dims, ()), other.view.storage))
    made = product(x, name, one, other)
    dims = list(made.view.dims)
    if is_column:
        del dims[-1]
    if is_row:
        del dims[-1 if is_column else -2]
    return Tensor(made.made, View(dims, made.view.storage))


@handles("baddbmm.default")
def baddbmm(
    x: Lowering, name: str, bias: Any, one: Any, other: Any, beta: float = 1, alpha: float = 1
) -> Any:
    made = matmul(x, f"{name}.product", one, other)
    if alpha != 1:
        made = arithmetic(x, f"{name}.alpha", "mul", made, float(alpha))
    if beta == 0 or bias is None:
        return made
    if beta != 1:
        bias = arithmetic(x, f"{name}.beta", "mul", bias, float(beta))
    return arithmetic(x, name, "add", made, bias)


@handles("einsum.default")
def einsum(x: Lowering, name: str, equation: str, tensors: Sequence[Any], **_: Any) -> Any:
    """Two values: a product whose dimensions are put in order before and after it."""
    given, arrow, wanted = equation.replace(" ", "").partition("->")
    words = given.split(",")
    letters = sorted(set(given) - {","})
    if not arrow:
        wanted = "".join(c for c in letters if given.count(c) == 1)
    if len(words) != 2 or "." in equation or any(len(set(w)) != len(w) for w in (*words, wanted)):
        raise RefusalError(f"einsum {equation!r}, expected two values with letters that differ")
    one, other = (as_tensor(x, name, tensor) for tensor in tensors)
    first, second = words
    both = [c for c in first if c in second and c in wanted]
    summed = [c for c in first if c in second and c not in wanted]
    rows = [c for c in first if c not in second]
    columns = [c for c in second if c not in first]
    if any(c not in wanted for c in (*rows, *columns)):
        raise RefusalError(
            f"einsum {equation!r}, which sums over one value alone; sum() would help"
        )

    def grouped(tensor: Tensor, word: str, *groups: Sequence[str]) -> Tensor:
        found = dict(zip(word, tensor.view.dims))
        dims = (tuple(axis for c in group for axis in found[c]) for group in groups)
        return Tensor(tensor.made, View(dims, tensor.view.storage))

    sizes = dict(zip(first + second, (*one.view.shape, *other.view.shape)))
    a = grouped(one, first, *both, rows, summed)
    b = grouped(other, second, *both, summed, columns)
    made = product(x, name, a, b)
    left = dict(zip(both, made.view.dims))
    for group, dim in ((rows, made.view.dims[-2]), (columns, made.view.dims[-1])):
        left.update(zip(group, View((dim,), dim).viewed([sizes[c] for c in group]).dims))
    return Tensor(made.made, View((left[c] for c in wanted), made.view.storage))
