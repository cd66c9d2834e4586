"""Formats and histograms as SVG: text alone, no library."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .formats import Format

_WIDTH, _HEIGHT, _MARGIN = 640, 56, 24
_DRAWN_BITS = 9
_BARS_HEIGHT, _FEWEST_BARS, _LABELS = 120, 24, 16


def _magnitudes(fmt: Format, sign: int) -> list[float]:
    """Numbers on a side of zero: all of small formats, of others the powers of two."""
    if fmt.bits <= _DRAWN_BITS:
        values = (sign * float(v) for v in fmt.values() if math.isfinite(v))
        return sorted({v for v in values if v > 0})
    return [math.ldexp(1.0, e) for e in range(fmt.emin, fmt.emax + 1)]


def number_line(fmt: Format) -> str:
    """The numbers of a format on a line, zero in the middle, both halves logarithmic.

    Of formats with more than 9 bits the powers of two alone.
    """
    low = math.log2(fmt.min_subnormal) - 1
    high = math.log2(fmt.max)
    half = _WIDTH / 2 - _MARGIN
    base = _HEIGHT / 2

    def place(value: float) -> float:
        return half * (math.log2(value) - low) / (high - low)

    lines = []
    for sign in (-1, 1):
        for value in _magnitudes(fmt, sign):
            size = 10 if value >= fmt.min_normal else 6
            x = _WIDTH / 2 + sign * place(value)
            lines.append(f"M{x:.1f} {base - size:g}V{base + size:g}")
    labels = [(0.0, "0")]
    for value in (fmt.min_normal, 1.0, fmt.max):
        if fmt.min_subnormal <= value <= fmt.max:
            labels.append((place(value), f"{value:.3g}"))
    texts = "".join(
        f'<text x="{_WIDTH / 2 + x:.1f}" y="{_HEIGHT - 4}">{label}</text>' for x, label in labels
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="10" text-anchor="middle" '
        f'fill="currentColor" stroke="none"><path stroke="currentColor" fill="none" '
        f'd="M{_MARGIN} {base:g}H{_WIDTH - _MARGIN}M{_WIDTH / 2:g} {base - 14:g}V{base + 14:g}'
        f'{"".join(lines)}"/>{texts}</svg>'
    )


def bars(counts: dict[int, int]) -> str:
    """A bar for each exponent, as high as its share of the fullest one."""
    if not any(counts.values()):
        return ""
    low, high, most = min(counts), max(counts), max(counts.values())
    width = (_WIDTH - 2 * _MARGIN) / max(high - low + 1, _FEWEST_BARS)
    base = _BARS_HEIGHT - 16
    path, texts = [], []
    every = -(-(high - low + 1) // _LABELS)
    for exponent in range(low, high + 1):
        left = _MARGIN + (exponent - low) * width
        height = (base - 4) * counts.get(exponent, 0) / most
        if height:
            path.append(f"M{left:.1f} {base}h{0.9 * width:.1f}v{-max(height, 0.5):.1f}H{left:.1f}z")
        if exponent % every == 0:
            x = left + 0.45 * width
            texts.append(f'<text x="{x:.1f}" y="{_BARS_HEIGHT - 4}">{exponent}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_BARS_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_BARS_HEIGHT}" font-size="10" text-anchor="middle" '
        f'fill="currentColor" stroke="none"><path d="{"".join(path)}"/>{"".join(texts)}</svg>'
    )
