"""Rows as a DataFrame where pandas is installed, and as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_SHOWN_ROWS = 60


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> Any:
    """A DataFrame where pandas is installed, else the rows.

    columns: those of a table without rows.
    """
    try:
        import pandas
    except ImportError:
        return list(rows)
    frame = pandas.DataFrame(list(rows), columns=None if rows else columns)
    for name in frame.columns:
        if len(frame) and frame[name].isna().all():  # numbers that are not there, as in other rows
            frame[name] = frame[name].astype(float)
    return frame


def rows_of(found: Any) -> list[dict[str, Any]]:
    """The rows of a table."""
    return list(found) if isinstance(found, list) else list(found.to_dict("records"))


def flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """A row in which maps within maps have become columns: {"a": {"b": 1}} is {"a.b": 1}."""
    made: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            made.update(flat(value, f"{before}{name}."))
        else:
            made[before + name] = value
    return made


def size(count: float) -> str:
    """Bytes as people write them: "2.45 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" or count >= 999.5 else f"{count:.3g} {unit}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def as_html(caption: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of HTML; of many rows the first, with a line that says how many there are."""
    listed = list(rows)
    columns = list(listed[0]) if listed else []
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    lines = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(row[c]))}</td>" for c in columns) + "</tr>"
        for row in listed[:_SHOWN_ROWS]
    )
    more = f"<p>{_SHOWN_ROWS} of {len(listed)} rows</p>" if len(listed) > _SHOWN_ROWS else ""
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{lines}</tbody></table>{more}"
    )
