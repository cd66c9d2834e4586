"""Exceptions: one class for each status of the library, all of them `Error`.

Where Python has a habit, they are that too: `ArgumentError` is a `ValueError`, `MissingError` a
`FileNotFoundError`. The text is the library's: what was found, what was expected, where.

Source: include/halfulp/status.h.
"""

from __future__ import annotations

import os

from ._ffi import ffi, lib


class Error(Exception):
    """What went wrong in halfulp; `str(error)` says what was found and what was expected.

    Examples
    --------
    >>> import halfulp as hu
    >>> try:
    ...     hu.Format("e5m99")
    ... except hu.Error as error:
    ...     print(type(error).__name__)
    FormatError
    """


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class ArgumentError(Error, ValueError):
    """An argument that is not allowed, or does not fit the others."""


class DtypeError(Error, TypeError):
    """An array of numbers that are not taken here."""


class ShapeError(Error, ValueError):
    """Shapes that do not fit."""


class FormatError(Error, ValueError):
    """No number format, or a number that a format does not have."""


class ParseError(Error, ValueError):
    """A text that cannot be read; the message has the column."""


class UnknownNameError(Error, ValueError):
    """A name that nobody knows; the message has the nearest ones."""


class CorruptError(Error, ValueError):
    """A damaged file."""


class VersionError(Error, ValueError):
    """A file of another version."""


class MissingError(Error, FileNotFoundError):
    """A file that is not there."""


class StorageError(Error, OSError):
    """Input or output failed."""


class LimitError(Error, ValueError):
    """More than can be had."""


class UnsupportedError(Error, NotImplementedError):
    """Not in this build, or not for this kind."""


class NonFiniteError(Error, ArithmeticError):
    """Numbers that are not finite: a training that has diverged."""


class PeerError(Error, ConnectionError):
    """A worker that was lost."""


class InterruptedRunError(Error):
    """A run that was interrupted and has saved its state."""


class InternalError(Error, RuntimeError):
    """A mistake of halfulp."""


class KindError(Error, ValueError):
    """A file of a kind that is not supported."""


_CLASSES: dict[str, type[Error]] = {
    "MEMORY": OutOfMemoryError,
    "ARGUMENT": ArgumentError,
    "SHAPE": ShapeError,
    "FORMAT": FormatError,
    "PARSE": ParseError,
    "UNKNOWN": UnknownNameError,
    "CORRUPT": CorruptError,
    "VERSION": VersionError,
    "MISSING": MissingError,
    "IO": StorageError,
    "LIMIT": LimitError,
    "UNSUPPORTED": UnsupportedError,
    "NONFINITE": NonFiniteError,
    "PEER": PeerError,
    "INTERRUPTED": InterruptedRunError,
    "INTERNAL": InternalError,
    "KIND": KindError,
}
_OF_STATUS: dict[int, type[Error]] = {
    getattr(lib, f"HU_ERR_{name}"): found for name, found in _CLASSES.items()
}
_OF_TEXT: dict[str, type[Error]] = {
    ffi.string(lib.hu_status_text(status)).decode(): found for status, found in _OF_STATUS.items()
}


def text_of(chars: object) -> str:
    """The text of a C string."""
    return str(ffi.string(chars).decode("utf-8", "replace"))


def fail(status: int) -> Error:
    """The exception of a status that the thread's latest call gave."""
    return _OF_STATUS.get(status, InternalError)(text_of(lib.hu_last_error()))


def check(status: int) -> None:
    """Raise the exception of a status, unless it is that of success."""
    if status:
        raise fail(status)


def of_program(text: str) -> Error:
    """The exception of what the program wrote: `halfulp: TEXT OF STATUS: MESSAGE`."""
    lines = [line for line in text.splitlines() if line.startswith("halfulp: ")]
    for line in reversed(lines):
        status, _, message = line[len("halfulp: ") :].partition(": ")
        if status in _OF_TEXT:
            return _OF_TEXT[status](message)
    return InternalError(text.strip() or "the program failed without a word")


def path_text(path: object, what: str) -> str:
    """A path as text; bytes are none, for messages and files of the program are texts."""
    try:
        found = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        found = None
    if not isinstance(found, str):
        raise DtypeError(f"{what}: found {type(path).__name__}, expected a path")
    return found


def char_text(text: str, what: str) -> bytes:
    """A text for C, which ends at the first zero."""
    if not isinstance(text, str):
        raise DtypeError(f"{what}: found {type(text).__name__}, expected a text")
    if "\0" in text:
        raise ArgumentError(f"{what}: found a zero character within a text")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{what}: found {text[:60]!r}: {error.reason}") from None
