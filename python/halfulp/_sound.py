"""Objects that were never made, files that say something else, and values in messages.

An object whose `__init__` raised can still be there, in a debugger or a traceback; a file in the
folder of a run can hold what halfulp never wrote. Both are told by an exception of halfulp.
"""

from __future__ import annotations

import functools
import reprlib
from typing import TYPE_CHECKING, Any, Callable, ClassVar, TypeVar

from .errors import ArgumentError, CorruptError, Error

Method = TypeVar("Method", bound=Callable[..., Any])
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 60
_SHOWN.maxlong = 40
_UNLIKE = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


def shown(value: object) -> str:
    """A value in a message, cut where it is long; of one that does not show itself, its type."""
    try:
        return _SHOWN.repr(value)
    except Exception:
        return f"a {type(value).__name__}"


class Made:
    """An object with the parts that its `__init__` gives it, or one that says that it has none."""

    __slots__ = ()
    _PARTS: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is not there: of a part it is because nobody made the object."""
            kind = type(self).__name__
            if name in self._PARTS:
                raise ArgumentError(f"found a {kind} that was not made, its __init__ has raised")
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")


def told(method: Method) -> Method:
    """A `__repr__` that says what is wrong with the object instead of raising it."""

    @functools.wraps(method)
    def show(self: object) -> str:
        try:
            return str(method(self))
        except (Error, RecursionError) as error:
            return f"<{type(self).__name__}: {error}>"

    return show  # type: ignore[return-value]


def reads(method: Method) -> Method:
    """A method that reads what the program wrote: what it never writes is a CorruptError."""

    @functools.wraps(method)
    def read(self: object, *args: Any, **keys: Any) -> Any:
        try:
            return method(self, *args, **keys)
        except _UNLIKE as error:
            if isinstance(error, Error):
                raise
            name = f"{type(self).__name__}.{method.__name__}"
            where = getattr(self, "path", None)
            place = f"{where}: {name}" if isinstance(where, str) else name
            raise CorruptError(
                f"{place}: found what halfulp does not write there: "
                f"{type(error).__name__}: {shown(str(error))}"
            ) from error

    return read  # type: ignore[return-value]
