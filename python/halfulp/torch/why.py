"""Where the numbers of a module died: `why`, of what `ht.apply` has counted.

The rules are those of `halfulp why` (docs/how-to/why.md): a number is lost if it was not zero and
rounding made it zero; a tensor that lost half of its nonzero numbers is in trouble.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..tables import rows_of, table

if TYPE_CHECKING:
    from ..rounding import Counts
    from ._points import Point
    from .apply import Applied

FORMATS = ("e4m3fn", "e5m2", "1/6/9", "fp16", "bf16")
_TROUBLE = 0.5  # share of the nonzero numbers that became zero
_BEYOND = 0.01  # share of all numbers beyond the largest
_HOLDS = (1e-6, 0.01)  # overflow, underflow of a format that would have held the tensor


@dataclass(frozen=True)
class Why:
    """Where numbers died.

    Attributes
    ----------
    verdict : str
        In a sentence.
    tensor : str or None
        The first in the order of a step that lost its numbers; None: nothing died.
    cause : str
        "underflow", "overflow", "nan", or "" where nothing died.
    share : float
        Of its nonzero numbers that became zero; of all that were too large, or NaN.
    silent : list of str
        Tensors that have received nothing but zeros.
    holds : list of str
        Formats that would have held it, of those that were tried; empty without `record`.
    rows : list of dict
        One for each tensor in trouble.
    """

    verdict: str
    tensor: str | None = None
    cause: str = ""
    share: float = 0.0
    silent: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def table(self) -> Any:
        """The tensors in trouble: a pandas.DataFrame, or a list of dict without pandas."""
        return table(self.rows, ["tensor", "format", "cause", "share", "elements"])

    def __str__(self) -> str:
        return self.verdict


def why(net: Applied, formats: Iterable[str] = FORMATS) -> Why:
    """Which tensor lost its numbers first, since `net.forget()`.

    Parameters
    ----------
    net : Applied
        After a backward pass at least.
    formats : iterable of str
        That are tried on the exponents, where `net.record()` kept them.

    Returns
    -------
    Why

    Raises
    ------
    ArgumentError
        Nothing was counted.

    Examples
    --------
    >>> import torch
    >>> import halfulp.torch as ht
    >>> net = ht.apply(torch.nn.Linear(8, 2), "e4m3fn", (torch.zeros(1, 8),))
    >>> _ = net.train()(torch.randn(4, 8) * 1e-5)
    >>> ht.why(net).tensor, ht.why(net).cause
    ('input', 'underflow')
    """
    points = net.points()
    counted = [(point, point.told()) for point in points]
    if not any(told.elements for _, told in counted):
        raise ArgumentError("found no counts, expected a network in training after a pass")
    rows: list[dict[str, Any]] = []
    silent = []
    for point, told in counted:
        is_value = point.name.endswith((".out", ".grad", ".grad.sum"))  # zeros of a bias are usual
        if is_value and told.elements and told.zero == told.elements and not told.underflow:
            silent.append(point.name)
        cause, share = _trouble(told)
        if cause:
            row = {"tensor": point.name, "format": point.text, "cause": cause, "share": share}
            rows.append({**row, "elements": told.elements})
    if not rows:
        return Why("Nothing died: no tensor lost half of its nonzero numbers.", silent=silent)
    first = rows[0]
    point = next(p for p in points if p.name == first["tensor"])
    several = [formats] if isinstance(formats, str) else formats
    holds = [] if first["cause"] == "nan" else _holding(point, several)
    words = {
        "underflow": "of its nonzero numbers are too small for {} and became zero",
        "overflow": "of its numbers are too large for {}",
        "nan": "of its numbers are NaN before they are rounded to {}",
    }[first["cause"]].format(point.text)
    ends = point.told()
    parts = [f"{point.name}: {100 * first['share']:.3g} % {words}"]
    if ends.max_exponent is not None:
        parts[0] += f" (magnitudes 2^{_least(point, ends)} .. 2^{ends.max_exponent + 1})"
    if silent:
        more = f" and {len(silent) - 1} tensors more" if len(silent) > 1 else ""
        parts.append(f"{silent[0]}{more} received nothing but zeros")
    if len(rows) > 1:
        parts.append(f"{len(rows) - 1} tensors more are in trouble")
    if holds:
        parts.append(f"{', '.join(holds)} would have held it")
    elif not net.records:
        parts.append("net.record() and another step would tell which formats hold it")
    return Why(
        "; ".join(parts) + ".", first["tensor"], first["cause"], first["share"], silent, holds, rows
    )


def _trouble(told: Counts) -> tuple[str, float]:
    """What became of a tensor, and of what share of it."""
    if told.nan:
        return "nan", told.nan / told.elements
    nonzero = told.elements - told.zero + told.underflow
    if nonzero and told.underflow / nonzero >= _TROUBLE:
        return "underflow", told.underflow / nonzero
    if told.elements and told.overflow / told.elements >= _BEYOND:
        return "overflow", told.overflow / told.elements
    return "", 0.0


def _least(point: Point, told: Counts) -> int | str:
    found = told.min_exponent
    if found is None:
        found = point.exponents().min_exponent
    return "?" if found is None else found


def _holding(point: Point, formats: Iterable[str]) -> list[str]:
    seen = point.exponents()
    if not seen.elements:
        return []
    found = []
    for name in formats:
        (row,) = rows_of(seen.lost(name))
        if row["overflow"] < _HOLDS[0] and row["underflow"] <= _HOLDS[1]:
            found.append(name)
    return found
