"""Answers of the program about a run: `why` its numbers died, and which range they needed, `stats`.

Each is the dict that the program prints with --json; its text is what the program says in words.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from ._sound import Made, reads
from .errors import DtypeError, of_program
from .program import PathLike, ask, folder_of, run_program, words
from .tables import flat, table

if TYPE_CHECKING:
    from .runs import Run

RunLike = Union["Run", PathLike]


class Answer(Made, dict[str, Any]):
    """What the program says with --json, and in words.

    Attributes
    ----------
    text : str
        The words; a notebook shows them.
    """

    _PARTS = ("_asked", "_text")

    def __init__(self, found: dict[str, Any], asked: Sequence[str]) -> None:
        if not isinstance(found, Mapping):
            raise DtypeError(f"answer: found {type(found).__name__}, expected a dict")
        if not isinstance(asked, (list, tuple)):
            raise DtypeError(f"asked: found {type(asked).__name__}, expected a list of words")
        super().__init__(found)
        self._asked = list(asked)
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The same in words."""
        if self._text is None:
            code, out, err = run_program(self._asked)
            if code != 0:
                raise of_program(err)
            self._text = out
        return self._text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict.__repr__(self)})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class Why(Answer):
    """Where the numbers of a run died, and what would have held them.

    Attributes
    ----------
    text : str
        What the program says of it in words.
    verdict : str
        "fine", "diverged", ...
    losses : pandas.DataFrame, or list of dict without pandas
        Tensors that lost numbers: step, kind, share, how long.
    advice : pandas.DataFrame, or list of dict without pandas
        Changes that were tried on the recorded numbers.
    """

    @property
    @reads
    def verdict(self) -> str:
        """In a word."""
        return str(self["verdict"])

    @property
    @reads
    def losses(self) -> Any:
        """One row for each tensor that lost numbers."""
        return table(list(self.get("losses") or []))

    @property
    @reads
    def advice(self) -> Any:
        """One row for each change that was tried on the recorded numbers."""
        options = (self.get("advice") or {}).get("options") or []
        return table([flat(option) for option in options])


class Stats(Answer):
    """Which range the numbers of a run needed.

    Attributes
    ----------
    text : str
        The tables in words.
    layers : pandas.DataFrame, or list of dict without pandas
        One row for each layer, format and part: shares that were subnormal, became zero,
        overflowed.
    exponents : pandas.DataFrame, or list of dict without pandas
        Shares of the numbers by kind of tensor and exponent.
    """

    @property
    @reads
    def layers(self) -> Any:
        """One row for each format, layer and part ("input", "weight", "gradient")."""
        return table(
            [
                {"format": of["format"], "layer": layer["layer"], "part": part, **layer[part]}
                for of in self.get("formats", [])
                for layer in of["layers"]
                for part in ("input", "weight", "gradient")
                if layer.get(part)
            ]
        )

    @property
    @reads
    def exponents(self) -> Any:
        """One row for each kind of tensor and exponent."""
        return table(
            [
                {"kind": kind, "exponent": int(exponent), "share": share}
                for kind, seen in self.get("exponents", {}).items()
                for exponent, share in seen["exponents"].items()
            ]
        )


def why(run: RunLike, *names: str, **keys: object) -> Why:
    """Where the numbers of a run died, and what would have held them: `halfulp why`.

    Parameters
    ----------
    run : Run or path
    *names : str
        A tensor, or a pattern ("*.grad").
    **keys
        `format=["fp16", "e5m2"]`, ...

    Returns
    -------
    Why
    """
    asked = ["why", folder_of(run), *names, *words(keys, {"format": ","})]
    return Why(ask(asked), asked)


def stats(run: RunLike, **keys: object) -> Stats:
    """Which range the numbers of a run needed: `halfulp stats`.

    Parameters
    ----------
    run : Run or path
    **keys
        `format=["fp16", "1/6/9"]`, ...

    Returns
    -------
    Stats
    """
    asked = ["stats", folder_of(run), *words(keys, {"format": ","})]
    return Stats(ask(asked), asked)
