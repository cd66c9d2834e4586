"""Figures for papers: one column wide, vector, readable in grey, with the data behind them.

They are matplotlib's, made without pyplot: nothing of the caller's session changes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ArgumentError, DtypeError, Error, UnsupportedError
from .formats import Format, FormatLike, as_format
from .tables import rows_of, size, table

try:
    import matplotlib
    import matplotlib.figure
    import matplotlib.lines
    import matplotlib.ticker
except ImportError:
    raise UnsupportedError(
        "found no matplotlib, expected it: pip install 'halfulp[plot]'"
    ) from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .histograms import Exponents
    from .runs import Run
    from .studies import Comparison

_WIDTH = 3.3  # inches of a column
_ROW = 0.17  # inches of a tensor
_LINE = 0.16  # inches of a name in a legend
_COLUMN = 0.36  # inches of a share
_TICK = 0.33  # inches between numbers of an axis
_MOST_TENSORS = 48
_MOST_FORMATS = 4
_NAME = 24  # characters of a tensor's name
_BESIDE = 14  # names of so many characters have room beside the axes
_DRAWN_BITS = 9  # formats of so many have a tick for each number
_DRAWN_BINADES = 48  # of so many each has its tooth in the curve of errors
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": True,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "lines.markersize": 4,
    "savefig.dpi": 300,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "halfulp",
    "pdf.fonttype": 42,
}
# Okabe and Ito's colours, in an order in which neighbours differ in lightness too.
_COLOURS = ("#000000", "#d55e00", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
_DASHES = ((), (4, 1.5), (1.2, 1.2), (6, 1.5, 1.2, 1.5))
_MARKS = "osD^vP*X<>"
_INSIDE, _BELOW, _LOST = "#5b6770", "#b4bec5", "#d55e00"


class Figure(matplotlib.figure.Figure):
    """A matplotlib figure of one column, 3.3 inches, with the numbers that it shows.

    Attributes
    ----------
    data : pandas.DataFrame, or list of dict without pandas
        What is drawn.
    losses : pandas.DataFrame, or list of dict without pandas
        Of exponents: what formats would lose of each tensor, as `Exponents.lost` has it.
    numbers : pandas.DataFrame, or list of dict without pandas
        Of formats: their numbers above zero; of more than 9 bits the powers of two.
    """

    data: Any = None
    losses: Any = None
    numbers: Any = None

    def savefig(self, fname: Any, **keys: Any) -> None:
        """Write the figure, as matplotlib's figures do; texts stay texts in SVG and PDF.

        Parameters
        ----------
        fname : path or file
            Its ending says what is written: .pdf, .svg, .png, ...
        **keys
            Those of matplotlib.
        """
        kind = str(keys.get("format") or fname).lower()
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        for ending, usual in dated.items():
            if kind.endswith(ending):
                keys["metadata"] = {**usual, **(keys.get("metadata") or {})}
        with matplotlib.rc_context(_STYLE):
            super().savefig(fname, **keys)

    def _repr_svg_(self) -> str:
        written = io.StringIO()
        self.savefig(written, format="svg")
        return written.getvalue()

    def _repr_png_(self) -> bytes:
        """For what shows no SVG: GitHub, of a notebook."""
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=200, metadata={"Software": None})
        return written.getvalue()


def _figure(height: float) -> Figure:
    return Figure(figsize=(_WIDTH, height), layout="constrained", facecolor="white")


def _settled(figure: Figure) -> Figure:
    """Places are chosen now, not at each drawing: the same figure each time."""
    for _ in range(3):  # the widths of labels and of axes depend on each other
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _percent(share: float) -> str:
    """A share in three characters and a sign, as tables of papers have it."""
    if share == 0:
        return "0"
    if share < 0.0005:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.0995 else f"{100 * share:.0f}%"


def _several(formats: FormatLike | Iterable[FormatLike] | None, most: int) -> list[Format]:
    given = ("fp16", "e5m2") if formats is None else formats
    listed = [given] if isinstance(given, (str, Format)) else given
    if not isinstance(listed, Iterable):
        raise DtypeError(f"formats: found {type(formats).__name__}, expected formats")
    made = list(dict.fromkeys(as_format(fmt) for fmt in listed))
    if len(made) > most:
        raise ArgumentError(f"formats: found {len(made)}, expected at most {most}")
    return made


def _ends(fmt: Format) -> tuple[int, int, int]:
    """Exponents of the smallest number, the smallest normal one and the largest."""
    return math.floor(math.log2(fmt.min_subnormal)), fmt.emin, fmt.emax


# ---- exponents ----


def _states(fmt: Format | None, exponents: Iterable[int]) -> list[str]:
    """What becomes of the numbers of each binade in a format."""
    if fmt is None:
        return ["held" for _ in exponents]
    least, normal, most = _ends(fmt)

    def state(exponent: int) -> str:
        if exponent > most:
            return "overflow"
        if exponent >= normal:
            return "held"
        return "subnormal" if exponent >= least - 1 else "underflow"

    return [state(e) for e in exponents]


def _own_format(text: str) -> Format | None:
    """A number format that holds for the whole tensor; scales and blocks have no one range."""
    try:
        return None if text == "float32" else Format(text)
    except Error:
        return None


def _span(seen: Iterable[Exponents], formats: Sequence[Format]) -> tuple[int, int]:
    """The binades that are shown: all with numbers, and of the formats a few beyond."""
    lows = [e.min_exponent for e in seen if e.min_exponent is not None]
    highs = [e.max_exponent for e in seen if e.max_exponent is not None]
    low, high = min(lows, default=-1), max(highs, default=1)
    beyond = 6
    return (
        max(min([low, *(_ends(f)[0] for f in formats)]), low - beyond) - 1,
        min(max([high, *(_ends(f)[2] for f in formats)]), high + beyond) + 1,
    )


def _range_bar(axes: Axes, fmt: Format, y: float, span: tuple[int, int]) -> None:
    """Normal numbers as a dark bar, subnormal ones as a light one; cut where the axis ends."""
    least, normal, most = _ends(fmt)
    for first, last, colour in ((least, normal, _BELOW), (normal, most + 1, _INSIDE)):
        begin, end = max(first, span[0]), min(last, span[1])
        if end > begin:
            axes.barh(y, end - begin, 0.34, begin, color=colour, lw=0)


def _bars(axes: Axes, rows: Sequence[Mapping[str, Any]], base: float, high: float) -> None:
    """A histogram on `base`, its fullest bin as high as `high`; what is there is seen."""
    most = max((row["share"] for row in rows), default=0) or 1
    for state in ("held", "subnormal", "underflow", "overflow"):
        drawn = [row for row in rows if row["state"] == state and row["share"]]
        is_lost = state in ("underflow", "overflow")
        heights = [max(abs(high) * row["share"] / most, 0.03 * abs(high)) for row in drawn]
        axes.bar(
            [row["exponent"] for row in drawn],
            [math.copysign(h, high) for h in heights],
            width=1.0,
            bottom=base,
            align="edge",
            color="white" if is_lost else _BELOW if state == "subnormal" else _INSIDE,
            edgecolor=_LOST if is_lost else None,
            linewidth=0.6 if is_lost else 0,
        )


def _binades(name: str, seen: Exponents, own: Format | None) -> list[dict[str, Any]]:
    found = rows_of(seen.table)
    states = _states(own, [row["exponent"] for row in found])
    return [{"tensor": name, **row, "state": state} for row, state in zip(found, states)]


def _cut(name: str, most: int) -> str:
    """A name without its beginning, where it is too long."""
    return name if len(name) <= most else "…" + name[len(name) - most + 1 :]


def _columns(
    axes: Axes, losses: Sequence[Mapping[str, Any]], formats: Sequence[Format], room: float
) -> float:
    """Shares that formats would lose, in the tensors' rows, under the names of formats.

    Names stand upright where there is no room for them. The columns' inches are returned.
    """
    names = [_cut(str(fmt), 8) for fmt in formats]
    widths = [max(_COLUMN, 0.063 * len(name) + 0.1) for name in names]
    is_upright = sum(widths) > max(room, _COLUMN * len(names))
    if is_upright:
        widths = [_COLUMN for _ in names]
    axes.set_axis_off()
    ends = [sum(widths[: k + 1]) for k in range(len(names))]
    axes.set_xlim(0, ends[-1] if ends else 1)
    for end, name, fmt in zip(ends, names, formats):
        how: dict[str, Any] = {"va": "bottom", "rotation": 90} if is_upright else {"va": "center"}
        axes.text(end, -0.6 if is_upright else -0.85, name, fontsize=6.5, ha="right", **how)
        shares = [_percent(row["lost"]) for row in losses if row["format"] == str(fmt)]
        for y, text in enumerate(shares):
            axes.text(end, y, text, fontsize=6.5, ha="right", va="center")
    if ends:
        top = -len(formats) - 0.4 if is_upright else -1.75
        axes.text(ends[-1], top, "lost in", fontsize=6.5, ha="right", va="center")
    return max(sum(widths), 0.01)


def _share_width(figure: Figure, axes: Axes, columns: Axes, wide: float) -> None:
    """The columns get their inches, the histograms the rest of what names leave."""
    spec, both = axes.get_gridspec(), 0.0
    for _ in range(2):  # names take what they need once there is something to lay out
        figure.draw_without_rendering()
        both = sum(a.get_position().width for a in (axes, columns)) * _WIDTH
        if spec is not None:
            spec.set_width_ratios([max(both - wide, 0.3), wide])
    ticks = max(2, min(6, int((both - wide) / _TICK)))
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(ticks, integer=True))


def _draw_ridges(
    seen: Mapping[str, Exponents], own: Mapping[str, Format | None], formats: Sequence[Format]
) -> Figure:
    """Rows from the top: ranges of the formats, then a histogram for each tensor."""
    above = max(len(formats), 1) + 0.6
    figure = _figure(0.45 + _ROW * (above + len(seen)))
    axes, columns = figure.subplots(1, 2, sharey=True)
    span = _span(seen.values(), formats)
    rows: list[dict[str, Any]] = []
    losses: list[dict[str, Any]] = []
    for y, (name, exponents) in enumerate(seen.items()):
        of_tensor = _binades(name, exponents, own.get(name))
        axes.axhline(y + 0.45, color="#d8dde0", lw=0.4, zorder=0)
        _bars(axes, of_tensor, y + 0.45, -0.85)
        rows += of_tensor
        losses += [{"tensor": name, **row} for row in rows_of(exponents.lost(formats))]
    for k, fmt in enumerate(formats):
        _range_bar(axes, fmt, k - above + 0.2, span)
    ticks = [k - above + 0.2 for k in range(len(formats))] + list(range(len(seen)))
    axes.set_yticks(ticks, [*map(str, formats), *(_cut(name, _NAME) for name in seen)])
    axes.set_ylim(len(seen) - 0.5, -above - 0.2)
    axes.set_xlim(span)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(r"exponent, $\lfloor\log_2 |x|\rfloor$")
    longest = max(len(_cut(text, _NAME)) for text in (*map(str, formats), *seen))
    wide = _columns(columns, losses, formats, _WIDTH - 1.2 - 0.065 * longest)
    _share_width(figure, axes, columns, wide)
    figure.data, figure.losses = table(rows), table(losses)
    return _settled(figure)


def _of_products(run: Run, names: Iterable[str]) -> list[str]:
    """Gradients of what nodes with a matrix of weights make."""
    graph = run.graph
    matrices = {
        v["name"] for v in graph["values"] if v["role"] == "parameter" and len(v["shape"]) > 1
    }
    made = [
        f"{output}.grad"
        for node in graph["nodes"]
        if matrices.intersection(node["parameters"])
        for output in node["outputs"]
    ]
    there = set(names)
    return [name for name in made if name in there]


def _recorded_formats(run: Run, names: Iterable[str], step: int | None) -> dict[str, Format | None]:
    """The formats that tensors had in a step, as numerics.jsonl has them."""
    last: dict[str, str] = {}
    for row in rows_of(run.tensors):
        if step is None or row["step"] <= step:
            last[row["name"]] = row["format"]
    return {name: _own_format(last.get(name, "float32")) for name in names}


def ridges(
    run: Run,
    names: Sequence[str],
    formats: FormatLike | Iterable[FormatLike] | None,
    step: int | None,
) -> Figure:
    """`Run.plot_exponents`."""
    drawn = _several(formats, _MOST_FORMATS)
    seen = run.exponents(*names, step=step)
    if not names:
        wanted = _of_products(run, seen)
        seen = {name: seen[name] for name in wanted} if wanted else seen
    if len(seen) > _MOST_TENSORS:
        raise ArgumentError(
            f"tensors: found {len(seen)}, expected at most {_MOST_TENSORS}: name them"
        )
    with matplotlib.rc_context(_STYLE):
        return _draw_ridges(seen, _recorded_formats(run, seen, step), drawn)


def histogram(
    seen: Exponents, formats: FormatLike | Iterable[FormatLike] | None, shift: int
) -> Figure:
    """`Exponents.plot`: the shares of the binades, and below them the ranges of formats."""
    drawn = _several(formats, _MOST_FORMATS)
    with matplotlib.rc_context(_STYLE):
        figure = _figure(1.5 + _ROW * len(drawn))
        axes, ranges = figure.subplots(
            2, 1, sharex=True, height_ratios=[1.1, max(_ROW * len(drawn), 0.05)]
        )
        rows = _binades("", seen, None)
        for row in rows:
            del row["tensor"], row["state"]
        span = _span([seen], drawn)
        axes.bar(
            [row["exponent"] for row in rows],
            [100 * row["share"] for row in rows],
            1.0,
            align="edge",
            color=_INSIDE,
            lw=0,
        )
        axes.set_ylabel("share, %")
        axes.set_xlim(span)
        if seen.zeros:
            told = f"zero: {_percent(seen.zeros / seen.elements)}"
            axes.text(0.02, 0.98, told, transform=axes.transAxes, fontsize=6.5, va="top")
        losses = rows_of(seen.lost(drawn, shift))
        for k, (fmt, loss) in enumerate(zip(drawn, losses)):
            moved = (span[0] + shift, span[1] + shift)
            _range_bar(ranges, fmt, k, moved)
            ranges.text(
                1.02,
                k,
                f"{_percent(loss['lost'])} lost",
                transform=ranges.get_yaxis_transform(),
                fontsize=6.5,
                va="center",
            )
        for bar in ranges.patches:
            bar.set_x(bar.get_x() - shift)
        ranges.set_yticks(range(len(drawn)), list(map(str, drawn)))
        ranges.set_ylim(max(len(drawn), 1) - 0.5, -0.5)
        ranges.tick_params(axis="y", length=0)
        ranges.spines["left"].set_visible(False)
        ranges.set_xlabel(r"exponent, $\lfloor\log_2 |x|\rfloor$")
        ranges.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(6, integer=True))
        figure.data, figure.losses = table(rows), table(losses)
        return _settled(figure)


# ---- a training ----


def _smoothed(y: Sequence[float], reach: int) -> list[float]:
    """Means over `reach` rows on both sides, fewer at the ends; NaN counts for nothing."""
    made = []
    for i in range(len(y)):
        near = [v for v in y[max(0, i - reach) : i + reach + 1] if math.isfinite(v)]
        made.append(sum(near) / len(near) if near else math.nan)
    return made


def _floats(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    values = [row.get(name) for row in rows]
    return [float(v) if isinstance(v, (int, float)) else math.nan for v in values]


def curves(run: Run) -> Figure:
    """`Run.plot`."""
    rows = rows_of(run.metrics)
    columns = list(rows[0]) if rows else []
    steps, loss = _floats(rows, "step"), _floats(rows, "loss")
    smooth = _smoothed(loss, len(loss) // 50)
    found = {
        name: [(s, v) for s, v in zip(steps, _floats(rows, name)) if math.isfinite(v)]
        for name in columns
        if name.startswith(("validation_", "test_"))
    }
    metrics = {name: points for name, points in found.items() if len(points) > 1}
    with matplotlib.rc_context(_STYLE):
        panels = 1 + bool(metrics)
        figure = _figure(1.35 * panels + 0.25)
        above, *below = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
        if len(loss) > 50:
            above.plot(steps, loss, color=_BELOW, lw=0.5)
        above.plot(steps, smooth, color=_COLOURS[0])
        above.set_ylabel("training loss")
        skipped = [row["step"] for row in rows if row.get("skipped")]
        for step in skipped:
            above.axvline(step, 0, 0.06, color=_LOST, lw=0.6)
        if skipped:
            above.text(
                0.99,
                0.98,
                f"{len(skipped)} steps skipped",
                transform=above.transAxes,
                fontsize=6.5,
                ha="right",
                va="top",
                color=_LOST,
            )
        for axes in below:
            _draw_metrics(axes, metrics)
        (below[-1] if below else above).set_xlabel("step")
        above.margins(x=0.02)
        _settled(figure)
    smoothed = [
        {"step": row["step"], "loss": value, "loss_mean": mean, "skipped": row.get("skipped"),
         **{name: row[name] for name in metrics}}
        for row, value, mean in zip(rows, loss, smooth)
    ]  # fmt: skip
    figure.data = table(smoothed)
    return figure


def _draw_metrics(axes: Axes, metrics: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    for k, (name, points) in enumerate(metrics.items()):
        axes.plot(
            [step for step, _ in points],
            [value for _, value in points],
            color=_COLOURS[k],
            dashes=_DASHES[k % len(_DASHES)],
            marker=_MARKS[k],
            markersize=2.5 if len(points) > 20 else 3.5,
            label=_words(name),
        )
    names = [_words(name) for name in metrics]
    if len(names) == 1:
        axes.set_ylabel(names[0])
    else:
        axes.legend()


def _words(name: str) -> str:
    return name.replace("_", " ")


# ---- a comparison ----


def front(comparison: Comparison) -> Figure:
    """`Comparison.plot`."""
    name = comparison.metric
    better = str(comparison.result["metric"].get("better", "higher"))
    rows = [
        {
            "precision": row["precision"],
            "memory_bytes": row["memory_bytes"],
            "mean": row[f"test_{name}"],
            "least": row.get(f"test_{name}_least", row[f"test_{name}"]),
            "most": row.get(f"test_{name}_most", row[f"test_{name}"]),
            "is_on_front": bool(row.get("pareto")),
        }
        for row in rows_of(comparison.precisions)
        if _is_number(row.get(f"test_{name}")) and _is_number(row.get("memory_bytes"))
    ]
    if not rows:
        raise ArgumentError(f"{comparison!r}: found no precision that ended, expected one or more")
    with matplotlib.rc_context(_STYLE):
        figure = _figure(2.1)
        axes = figure.add_subplot()
        for k, row in enumerate(rows):
            _draw_point(axes, row, k)
        _draw_front(axes, [row for row in rows if row["is_on_front"]])
        _name_points(figure, rows, better)
        axes.margins(y=0.12)
        axes.autoscale_view()
        _scale_bytes(axes, [row["memory_bytes"] for row in rows])
        axes.set_xlabel("memory of a training")
        axes.set_ylabel(f"test {_words(name)}")
        if better == "lower":
            axes.invert_yaxis()
        _settled(figure)
    figure.data = table(rows)
    return figure


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _draw_point(axes: Axes, row: Mapping[str, Any], k: int) -> None:
    """The mean, filled on the front, and the range of the seeds."""
    axes.errorbar(
        row["memory_bytes"],
        row["mean"],
        [[row["mean"] - row["least"]], [row["most"] - row["mean"]]],
        fmt="none",
        ecolor=_COLOURS[k % len(_COLOURS)],
        elinewidth=0.7,
        capsize=1.5,
        capthick=0.7,
        zorder=2,
    )
    axes.add_line(_mark(row, k))


def _draw_front(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """The best that fits into each memory."""
    points = sorted((row["memory_bytes"], row["mean"]) for row in rows)
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        drawstyle="steps-post",
        color="#808b92",
        dashes=(3, 2),
        lw=0.7,
        zorder=1,
    )


def _name_points(figure: Figure, rows: Sequence[Mapping[str, Any]], better: str) -> None:
    """Each mark with its name, the best first: to the right, or below where names are long."""
    names = [_cut(row["precision"], 26) for row in rows]
    order = sorted(range(len(rows)), key=lambda k: rows[k]["mean"], reverse=better != "lower")
    widest = max(map(len, names))
    is_beside = widest <= _BESIDE
    columns = 1 if is_beside else max(1, min(len(names), 60 // (widest + 6)))
    lines = _LINE * -(-len(names) // columns)
    height = max(2.1, lines + 0.2) if is_beside else 1.9 + lines
    figure.set_figheight(height)
    figure.legend(
        [_mark(rows[k], k) for k in order],
        [names[k] for k in order],
        loc="outside right upper" if is_beside else "outside lower center",
        ncols=columns,
        handlelength=1,
        handletextpad=0.4,
        columnspacing=1.2,
    )


def _mark(row: Mapping[str, Any], k: int) -> Any:
    """How a precision is marked, filled on the front; no two of seventy are alike."""
    return matplotlib.lines.Line2D(
        [row["memory_bytes"]],
        [row["mean"]],
        linestyle="none",
        color=_COLOURS[k % len(_COLOURS)],
        marker=_MARKS[k % len(_MARKS)],
        markerfacecolor=None if row["is_on_front"] else "white",
        markersize=4.5,
        markeredgewidth=0.9,
        zorder=3,
    )


def _powers(low: float, high: float, most: int) -> list[float]:
    """Powers of two in a range, so far apart that there are at most so many; 1 among them."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    apart = 1
    while last // apart - -(-first // apart) + 1 > most:
        apart *= 2
    return [2.0**e for e in range(-(-first // apart) * apart, last + 1, apart)]


def _round_bytes(low: float, high: float) -> tuple[list[float], list[str]]:
    """Two to four multiples of 1, 2 or 5 times a power of ten, in the unit of the largest."""
    power = max(0, min(3, math.floor(math.log(high, 1024))))
    unit, name = 1024.0**power, ("B", "KiB", "MiB", "GiB")[power]
    locator = matplotlib.ticker.MaxNLocator(3, steps=[1, 2, 5, 10], min_n_ticks=2)
    counts = map(float, locator.tick_values(low / unit, high / unit))
    found = [count for count in counts if low <= count * unit <= high]
    return [count * unit for count in found], [f"{count:.6g} {name}" for count in found]


def _scale_bytes(axes: Axes, found: Iterable[float]) -> None:
    """Powers of two where the largest is four times the smallest or more, else round numbers."""
    sizes = [max(float(count), 1.0) for count in found]
    least, most = min(sizes), max(sizes)
    if most >= 4 * least:
        beyond = (most / least) ** 0.12
        low, high = least / beyond, most * beyond
        axes.set_xscale("log", base=2)
        ticks = _powers(low, high, 4)
        names = [size(tick) for tick in ticks]
    else:
        beyond = 0.12 * (most - least) or max(0.06 * most, 1)
        low, high = least - beyond, most + beyond
        ticks, names = _round_bytes(low, high)
    axes.set_xlim(low, high)
    axes.set_xticks(ticks, names)
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())


# ---- formats ----


def _half_gaps(fmt: Format) -> list[tuple[float, float, str]]:
    """(magnitude, relative error, region): half the distance of neighbours over the number.

    Corners of the curve; between two of one region it is straight on logarithmic axes.
    """
    from .arrays import round as rounded

    half = 2.0 ** -(fmt.man + 1)
    least = fmt.min_subnormal
    becomes_zero = float(rounded([0.75 * fmt.min_normal], fmt)[0]) == 0
    if becomes_zero:
        points = [(least / 8, 1.0, "underflow"), (fmt.min_normal, 1.0, "underflow")]
    else:
        points = [(least / 8, 1.0, "underflow"), (least / 2, 1.0, "underflow")]
        points += [(least / 2, 1.0, "subnormal"), (fmt.min_normal, half, "subnormal")]
        if least == fmt.min_normal:
            points[-1] = (fmt.min_normal, 0.5, "subnormal")
    for e in range(fmt.emin, fmt.emax + 1):
        end = min(math.ldexp(1.0, e + 1), fmt.max)
        points += [(math.ldexp(1.0, e), half, "normal")]
        points += [(end, half * math.ldexp(1.0, e) / end, "normal")]
    return points + _beyond(fmt, half)


def _beyond(fmt: Format, half: float) -> list[tuple[float, float, str]]:
    """Above the largest number: infinity and NaN are a loss of everything."""
    last = fmt.max * 16
    if fmt.overflow not in ("sat", "propagate"):
        edge = fmt.max + half * math.ldexp(1.0, fmt.emax)
        return [(edge, 1.0, "overflow"), (last, 1.0, "overflow")]
    steps = [fmt.max * 2 ** (i / 8) for i in range(33)]
    return [(x, max((x - fmt.max) / x, half / 2), "overflow") for x in steps]


def _numbers(fmt: Format) -> list[tuple[float, bool]]:
    """Magnitudes above zero and whether they are normal: all of small formats, else binades."""
    if fmt.bits <= _DRAWN_BITS:
        found = sorted({float(v) for v in fmt.values() if v > 0 and math.isfinite(v)})
        return [(v, v >= fmt.min_normal) for v in found]
    least = _ends(fmt)[0]
    return [(math.ldexp(1.0, e), e >= fmt.emin) for e in range(least, fmt.emax + 1)]


def _draw_numbers(axes: Axes, formats: Sequence[Format]) -> list[dict[str, Any]]:
    rows = []
    for k, fmt in enumerate(formats):
        for value, is_normal in _numbers(fmt):
            rows.append({"format": str(fmt), "number": value, "normal": is_normal})
        for is_normal, reach in ((True, 0.36), (False, 0.18)):
            drawn = [v for v, normal in _numbers(fmt) if normal is is_normal]
            axes.vlines(drawn, k - reach, k + reach, color=_COLOURS[k], lw=0.5)
    axes.set_yticks(range(len(formats)), [_cut(str(fmt), _NAME) for fmt in formats])
    axes.set_ylim(len(formats) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", which="both", length=0)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    return rows


def _upper(points: Sequence[tuple[float, float, str]]) -> list[tuple[float, float]]:
    """The largest error of each binade in place of the saw within it."""
    most = max((y for _, y, region in points if region == "normal"), default=1.0)
    return [(x, most if region == "normal" else y) for x, y, region in points]


def _draw_errors(axes: Axes, formats: Sequence[Format]) -> list[dict[str, Any]]:
    """One format of few binades as it is; of others the largest error of each, and a band."""
    rows = []
    is_fine = len(formats) == 1 and formats[0].emax - formats[0].emin < _DRAWN_BINADES
    for k, fmt in enumerate(formats):
        points = _half_gaps(fmt)
        rows += [
            {"format": str(fmt), "magnitude": x, "relative_error": y, "region": region}
            for x, y, region in points
        ]
        line = [(x, y) for x, y, _ in points] if is_fine else _upper(points)
        axes.plot(
            [x for x, _ in line],
            [100 * y for _, y in line],
            color=_COLOURS[k],
            dashes=_DASHES[k % len(_DASHES)],
            lw=0.9,
            label=_cut(str(fmt), _NAME),
        )
        normal = [(x, y) for x, y, region in points if region == "normal"]
        if not is_fine:
            most = 100 * max(y for _, y in normal)
            ends = [normal[0][0], normal[-1][0]]
            axes.fill_between(ends, most / 2, most, color=_COLOURS[k], alpha=0.25, lw=0)
    return rows


def _scale_errors(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    least = min(row["relative_error"] for row in rows if row["region"] == "normal")
    axes.set_ylim(100 * least / 2, 160)
    axes.yaxis.set_major_formatter(lambda v, _: f"{v:g} %")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(matplotlib.ticker.FixedLocator(_powers(low, high, 7)))
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set_ylabel("relative error")
    axes.set_xlabel("magnitude")


def errors(formats: Sequence[FormatLike]) -> Figure:
    """`Format.plot`."""
    drawn = _several(formats, _MOST_FORMATS)
    with matplotlib.rc_context(_STYLE):
        figure = _figure(1.75 + _ROW * len(drawn))
        line, error = figure.subplots(
            2, 1, sharex=True, height_ratios=[_ROW * len(drawn) + 0.08, 1.2]
        )
        figure.numbers = table(_draw_numbers(line, drawn))
        rows = _draw_errors(error, drawn)
        _scale_errors(error, rows)
        figure.data = table(rows)
        if len(drawn) > 1:
            handles, labels = error.get_legend_handles_labels()
            columns = len(labels) if sum(map(len, labels)) + 9 * len(labels) < 48 else 2
            figure.legend(handles, labels, loc="outside lower center", ncols=columns)
        return _settled(figure)
