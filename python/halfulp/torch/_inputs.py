"""The inputs of a module by place and by name: those of an example, and those of a call."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ArgumentError, ShapeError

_MISSING = inspect.Parameter.empty
_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Inputs:
    """One batch, as the module takes it.

    Parameters
    ----------
    example_inputs : tuple of Tensor, Tensor, or dict of str to Tensor
        By place, or by the names that `forward` has.

    Attributes
    ----------
    args, keys : tuple, dict
        By place, and what goes by name alone; in the order of `forward`.
    """

    def __init__(self, model: Any, example_inputs: Any) -> None:
        self.args: tuple[Any, ...] = ()
        self.keys: dict[str, Any] = {}
        if isinstance(example_inputs, Inputs):
            self.args, self.keys = example_inputs.args, example_inputs.keys
        elif isinstance(example_inputs, Mapping):
            self.keys = dict(example_inputs)
            self._place(model)
        elif isinstance(example_inputs, (tuple, list)):
            self.args = tuple(example_inputs)
        else:
            self.args = (example_inputs,)

    def _place(self, model: Any) -> None:
        try:
            bound = inspect.signature(model.forward).bind(**self.keys)
        except TypeError as error:
            found = ", ".join(map(str, self.keys))
            raise ArgumentError(
                f"example_inputs: found {found}, expected what {type(model).__name__}.forward "
                f"takes: {error}"
            ) from None
        self.args, self.keys = bound.args, dict(bound.kwargs)

    @property
    def all(self) -> tuple[Any, ...]:
        """In turn."""
        return (*self.args, *self.keys.values())

    def each(self, change: Callable[[Any], Any]) -> Inputs:
        """The same with other tensors."""
        made = Inputs(None, tuple(map(change, self.args)))
        made.keys = {name: change(x) for name, x in self.keys.items()}
        return made


class Calls:
    """How a module that was captured with an example is called.

    Parameters
    ----------
    model : torch.nn.Module
    inputs : Inputs
        Of the example.
    """

    def __init__(self, model: Any, inputs: Inputs) -> None:
        every = inspect.signature(model.forward).parameters.values()
        self._places = [p.name for p in every if p.kind in _PLACED]
        self._usual = {p.name: p.default for p in every if p.default is not _MISSING}
        self._known = {p.name for p in every}
        count = len(inputs.args)
        more = [f"input{k + 1}" for k in range(len(self._places), count)]  # of *inputs
        self._names = [*self._places[:count], *more, *inputs.keys]
        self._are_placed = not inputs.keys
        self._module = type(model).__name__

    def in_order(self, inputs: Sequence[Any], keys: Mapping[str, Any]) -> Sequence[Any]:
        """The inputs of a call in the order of the example's.

        Raises
        ------
        ShapeError
            More or fewer.
        ArgumentError
            A name that `forward` does not have, or a value that was not in the example.
        """
        if not keys and self._are_placed and len(inputs) == len(self._names):
            return inputs
        if len(inputs) > max(len(self._places), len(self._names)):
            raise ShapeError(f"found {len(inputs)} inputs, expected {self._told()}")
        given = dict(zip(self._places or self._names, inputs))
        for name in keys:
            if name in given:
                raise ArgumentError(f"{name}: found it by its place and by its name, expected one")
            if name not in self._known:
                near = difflib.get_close_matches(name, sorted(self._known), 3, 0.0)
                raise ArgumentError(
                    f"found an input {name!r}, which {self._module}.forward does not name, "
                    f"expected {self._told()} (nearest: {', '.join(near)})"
                )
        given.update(keys)
        missing = [name for name in self._names if name not in given]
        if missing:
            raise ShapeError(
                f"found no input {', '.join(missing)}, expected {self._told()}, as the example had"
            )
        for name, value in given.items():
            if name not in self._names and not self._is_usual(name, value):
                raise ArgumentError(
                    f"{name}: found {_shown(value)}, expected {self._usual.get(name)!r}, with "
                    f"which {self._module} was captured; a tensor in example_inputs would be an "
                    "input, and another module the other value"
                )
        return [given[name] for name in self._names]

    def _told(self) -> str:
        return f"{len(self._names)} ({', '.join(self._names)})"

    def _is_usual(self, name: str, value: Any) -> bool:
        usual = self._usual.get(name, _MISSING)
        return value is usual or type(value) is type(usual) and bool(value == usual)


def _shown(value: Any) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
