#!/usr/bin/env python3
"""Draws docs/reference/formats.svg: the ranges of number formats on a log2 axis, as the program states them.

usage: tools/format_ranges.py [build/halfulp] > docs/reference/formats.svg
"""
import json
import math
import subprocess
import sys

FORMATS = ["fp16", "bf16", "1/6/9/d", "e5m2", "e4m3fn", "fp(4,3,4)"]

LEFT, RIGHT, TOP, ROW, BAR = 112, 40, 74, 46, 22
WIDTH = 980
LOW, HIGH, TICK = -160, 160, 32
INK, FAINT, NORMAL, SUBNORMAL = "#1f2933", "#d5dbe1", "#2f6f9f", "#a9cbe3"


def limits(program, name):
    text = subprocess.run([program, "fmt", name, "--json"], check=True, capture_output=True,
                          text=True).stdout
    return json.loads(text)


def place(exponent):
    return LEFT + (exponent - LOW) / (HIGH - LOW) * (WIDTH - LEFT - RIGHT)


def text(x, y, content, size=13, anchor="start", color=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{color}" font-weight="{weight}" stroke="#ffffff" stroke-width="3" '
            f'paint-order="stroke">{content}</text>')


def power(exponent):
    """2^exponent with a raised exponent."""
    sign = "\u2212" if exponent < 0 else ""
    return f'2<tspan dy="-5" font-size="9">{sign}{abs(exponent)}</tspan>'


def bar(x0, x1, y, color):
    return (f'<rect x="{x0:.1f}" y="{y:.1f}" width="{x1 - x0:.1f}" height="{BAR}" '
            f'fill="{color}"/>')


def row(program, name, y):
    format_ = limits(program, name)
    least, normal, most = (math.log2(format_[key]) for key in
                           ("min_subnormal", "min_normal", "max"))
    parts = [text(LEFT - 14, y + 15, format_["name"], 14, "end", weight="bold"),
             text(LEFT - 14, y + 29, f'{format_["bits"]} bits', 10.5, "end", "#6b7785")]
    if least < normal:
        parts.append(bar(place(least), place(normal), y, SUBNORMAL))
    parts.append(bar(place(normal), place(most), y, NORMAL))
    largest = format_["max"]
    shown = f"{largest:.0f}" if largest < 1e5 else f"{largest:.3g}".replace("e+", "e")
    parts.append(text(place(least) - 5, y + 15, f'{format_["min_subnormal"]:.3g}', 11, "end"))
    parts.append(text(place(most) + 5, y + 15, shown, 11))
    return parts


def picture(program):
    height = TOP + ROW * len(FORMATS) + 44
    bottom = height - 42
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
             f'width="{WIDTH}" height="{height}" font-family="DejaVu Sans, Helvetica, Arial, '
             'sans-serif">',
             '<title>Ranges of number formats</title>',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
             text(LEFT, 24, "What a number format can hold", 17, weight="bold"),
             f'<rect x="{LEFT}" y="37" width="16" height="11" fill="{NORMAL}"/>',
             text(LEFT + 22, 47, "normal numbers: full precision", 12),
             f'<rect x="{LEFT + 232}" y="37" width="16" height="11" fill="{SUBNORMAL}"/>',
             text(LEFT + 254, 47, "subnormal numbers: fewer bits the smaller they are", 12)]
    for exponent in range(LOW, HIGH + 1, TICK):
        x = place(exponent)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 12}" x2="{x:.1f}" y2="{bottom}" '
                     f'stroke="{FAINT}" stroke-width="{1.6 if exponent == 0 else 1}"/>')
        parts.append(text(x, bottom + 18, "1" if exponent == 0 else power(exponent), 11.5,
                          "middle"))
    for index, name in enumerate(FORMATS):
        parts += row(program, name, TOP + ROW * index)
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, height - 6, "magnitude", 12, "middle"))
    parts.append("</svg>")
    return "\n".join(parts)


if __name__ == "__main__":
    print(picture(sys.argv[1] if len(sys.argv) > 1 else "build/halfulp"))
