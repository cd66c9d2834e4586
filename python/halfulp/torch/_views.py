"""How the axes of a tensor of PyTorch lie in a value of halfulp.

PyTorch moves axes about by views (`permute`, `view`, `unflatten`, ...), and has the channels of an
image before its pixels; a value of halfulp has one order of its numbers in memory. A `View` knows
both, so that a chain of views costs nothing until somebody needs another order in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


class Axis:
    """Places along which a tensor extends; never one of a single place.

    Attributes
    ----------
    size : int
        Number of places, at least 2.
    kind : str
        "" of a sample; "batch"; "stretched": the numbers of one place stand for all.
    """

    __slots__ = ("kind", "size")

    def __init__(self, size: int, kind: str = "") -> None:
        self.size, self.kind = size, kind

    def __repr__(self) -> str:
        return f"{self.kind or 'axis'}:{self.size}"


Axes = tuple[Axis, ...]


class ViewError(ValueError):
    """A view that no order of a sample's numbers gives; the text says why."""


def extent(axes: Iterable[Axis]) -> int:
    return math.prod(axis.size for axis in axes)


class View:
    """A tensor's dimensions, each a product of axes, and the order of the axes in memory.

    Attributes
    ----------
    dims : tuple of tuple of Axis
        Of PyTorch's dimensions in turn; without any axis its extent is 1.
    storage : tuple of Axis
        In memory from slow to fast, without the batch and without those that are stretched.
    """

    __slots__ = ("dims", "storage")

    def __init__(self, dims: Iterable[Axes], storage: Axes) -> None:
        self.dims, self.storage = tuple(dims), storage

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(extent(dim) for dim in self.dims)

    @property
    def axes(self) -> Axes:
        """In the order of PyTorch's dimensions."""
        return tuple(axis for dim in self.dims for axis in dim)

    def replaced(self, old: Axis, new: Axes) -> View:
        def put(axes: Axes) -> Axes:
            return tuple(a for axis in axes for a in (new if axis is old else (axis,)))

        return View((put(dim) for dim in self.dims), put(self.storage))

    def with_dim(self, dim: int, new: Axes) -> View:
        """With other axes of one dimension."""
        dims = (new if d == dim else axes for d, axes in enumerate(self.dims))
        return View(dims, self.storage)

    def permuted(self, order: Sequence[int]) -> View:
        return View((self.dims[d] for d in order), self.storage)

    def viewed(self, shape: Sequence[int]) -> View:
        """The same numbers in the same order, as dimensions of other extents."""
        if math.prod(shape) != math.prod(self.shape):
            raise ViewError(f"a view of {self.shape} as {tuple(shape)}")
        view, left = self, list(self.axes)
        dims: list[Axes] = []
        for size in shape:
            taken: list[Axis] = []
            while size > 1:
                axis = left.pop(0)
                common = math.gcd(size, axis.size)
                if common < axis.size:
                    if axis.kind == "batch" or common == 1 or size != common:
                        raise ViewError(
                            f"a view of {self.shape} as {tuple(shape)}, which mixes axes"
                        )
                    first, rest = Axis(common, axis.kind), Axis(axis.size // common, axis.kind)
                    view = view.replaced(axis, (first, rest))
                    left.insert(0, rest)
                    axis = first
                taken.append(axis)
                size //= axis.size
            dims.append(tuple(taken))
        return View(dims, view.storage)


def is_stretched(axes: Axes) -> bool:
    return all(axis.kind == "stretched" for axis in axes)


def aligned(one: View, other: View) -> tuple[View, View]:
    """Two views of one shape, whose dimensions consist of the same axes: the other's are renamed.

    Dimensions that only one of them extends along stay as they are; one that is stretched beside
    the other's places is as if it did not extend.
    """
    for d in range(len(one.dims)):
        if not (one.dims[d] and other.dims[d]):
            continue
        if is_stretched(one.dims[d]):
            one = one.with_dim(d, ())
            continue
        if is_stretched(other.dims[d]):
            other = other.with_dim(d, ())
            continue
        place = 0
        while place < len(one.dims[d]):
            a, b = one.dims[d][place], other.dims[d][place]
            if a.size != b.size:
                common = math.gcd(a.size, b.size)
                if common == 1 or (common != a.size and common != b.size):
                    raise ViewError(f"{one.shape} beside {other.shape} whose axes do not meet")
                if common < a.size:
                    one = one.replaced(a, (Axis(common, a.kind), Axis(a.size // common, a.kind)))
                if common < b.size:
                    other = other.replaced(
                        b, (Axis(common, b.kind), Axis(b.size // common, b.kind))
                    )
                a, b = one.dims[d][place], other.dims[d][place]
            if a is not b:
                if a.kind != b.kind:
                    raise ViewError(f"{one.shape} beside {other.shape}, of which one mixes samples")
                other = other.replaced(b, (a,))
            place += 1
    return one, other


def extended(view: View, rank: int) -> View:
    """With dimensions of extent 1 in front."""
    return View(((),) * (rank - len(view.dims)) + view.dims, view.storage)
