"""Figures: what they show is the data behind them, and they are fit for a paper."""

import math
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import halfulp as hu

matplotlib = pytest.importorskip("matplotlib")
FigureCanvasAgg = pytest.importorskip("matplotlib.backends.backend_agg").FigureCanvasAgg


def _rows(table):
    return table if isinstance(table, list) else table.to_dict("records")


@pytest.fixture
def run(small):
    return hu.train(**{**small, "steps": 24}, precision="hfp8", run_log_every=2, run_dir="r")


def _check_paper(figure, tmp_path, *texts):
    """One column wide, vector, texts as text, drawn within its edges, the same each time."""
    assert figure.get_size_inches()[0] == 3.3
    path = tmp_path / "f.svg"
    figure.savefig(path)
    written = path.read_text()
    found = " ".join(re.findall(r"<text[^>]*>([^<]*)", written)) + " " + written
    for text in texts:
        assert text in found
    assert "<text" in written and "base64" not in written and "dc:date" not in written
    figure.savefig(path)
    assert path.read_text() == written
    figure.savefig(tmp_path / "f.pdf")
    data = (tmp_path / "f.pdf").read_bytes()
    assert b"/Type3" not in data and b"/Subtype /Image" not in data and b"CreationDate" not in data
    figure.savefig(tmp_path / "f.png")
    shown = figure._repr_svg_()
    assert shown.startswith("<?xml") and shown.count("<text") == written.count("<text")
    assert figure._repr_png_().startswith(b"\x89PNG") and figure._repr_png_() == figure._repr_png_()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    edges, renderer = figure.bbox, canvas.get_renderer()
    for axes in figure.axes:
        (x0, x1), (y0, y1) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
        artists = list(axes.texts)
        artists += [t for t in axes.get_xticklabels() if x0 <= t.get_position()[0] <= x1]
        artists += [t for t in axes.get_yticklabels() if y0 <= t.get_position()[1] <= y1]
        for artist in artists if axes.axison else axes.texts:
            box = artist.get_window_extent(renderer)
            is_inside = box.x0 >= -2 and box.x1 <= edges.x1 + 2
            assert is_inside or not artist.get_text() or not artist.get_visible(), artist
    assert {t.get_fontsize() for a in figure.axes for t in a.texts} <= {6.5, 7, 8}


def test_nothing_of_pyplot_is_touched():
    script = (
        "import sys, matplotlib as m, halfulp as hu; before = m.rcParams.copy();"
        "hu.Format('e5m2').plot()._repr_svg_(); assert m.rcParams.copy() == before;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", script],
        check=True,
    )


@pytest.mark.parametrize(
    "name", ["e5m2", "e4m3fn", "e4m3fn:ovf=sat", "fp16", "e5m2:sub=d", "1/6/9"]
)
def test_errors_of_formats_are_those_of_rounding(name):
    """At no number is the error of rounding above the curve, and somewhere it is on it."""
    fmt = hu.Format(name)
    figure = fmt.plot()
    rows = [row for row in _rows(figure.data) if row["region"] != "overflow"]
    x = np.array([row["magnitude"] for row in rows])
    error = np.array([row["relative_error"] for row in rows])
    for region in ("normal", "subnormal", "underflow"):
        at = np.array([row["region"] == region for row in rows])
        for low, high, e0, e1 in zip(x[at], x[at][1:], error[at], error[at][1:]):
            if low == high or high < x.min() * 1.01:
                continue
            tried = np.float32(np.geomspace(low, high, 999)[1:-1])
            found = np.abs(hu.round(tried, fmt).astype(float) - tried) / tried
            share = np.log(tried / low) / np.log(high / low)
            bound = np.exp(np.log(e0) + share * (np.log(e1) - np.log(e0)))
            assert np.all(found <= bound * (1 + 1e-5)), (region, low, high)
            if region == "normal" and fmt.man <= 3:
                assert np.max(found / bound) > 0.95
    beyond = [row for row in _rows(figure.data) if row["region"] == "overflow"]
    edge = beyond[0]["magnitude"]
    rounded = hu.round([np.nextafter(np.float32(edge), np.float32(0)), 4 * edge], fmt)
    assert rounded[0] == fmt.max and (rounded[1] == fmt.max) == (fmt.overflow == "sat")
    numbers = [row["number"] for row in _rows(figure.numbers)]
    if fmt.bits <= 8:
        expected = sorted({v for v in fmt.values().tolist() if v > 0 and math.isfinite(v)})
        assert numbers == expected


def test_formats_beside_each_other(tmp_path):
    figure = hu.Format("e4m3fn").plot("e5m2", "fp16")
    assert {row["format"] for row in _rows(figure.data)} == {"e4m3fn", "e5m2", "fp16"}
    _check_paper(figure, tmp_path, "e4m3fn", "e5m2", "fp16", "relative error", "magnitude")
    with pytest.raises(hu.ArgumentError, match="found 5, expected at most 4"):
        hu.Format("e5m2").plot("fp16", "bf16", "e4m3", "e2m1")
    with pytest.raises(hu.UnknownNameError):
        hu.Format("e5m2").plot("e4m3x")


def test_curves(run, tmp_path):
    figure = run.plot()
    metrics = _rows(run.metrics)
    assert [row["step"] for row in _rows(figure.data)] == [row["step"] for row in metrics]
    assert [row["loss"] for row in _rows(figure.data)] == [row["loss"] for row in metrics]
    assert len(figure.axes) == 2 and figure.axes[0].get_ylabel() == "training loss"
    line = figure.axes[1].lines[0]
    tested = [row for row in metrics if row["test_accuracy"] == row["test_accuracy"]]
    assert list(line.get_ydata()) == [row["test_accuracy"] for row in tested]
    _check_paper(figure, tmp_path, "training loss", "test accuracy", "step")


def test_exponents_of_a_run(run, tmp_path):
    figure = run.plot_exponents()
    named = {row["tensor"] for row in _rows(figure.data)}
    assert named == {f"{n}.out.grad" for n in ("conv1", "conv2", "conv3", "fc.product")}
    figure = run.plot_exponents("conv*.weight", formats=["e4m3fn", "1/6/9"], step=0)
    seen = run.exponents("conv*.weight", step=0)
    for name, exponents in seen.items():
        rows = [row for row in _rows(figure.data) if row["tensor"] == name]
        assert {r["exponent"]: r["numbers"] for r in rows if r["numbers"]} == exponents.counts
        own = hu.Format("fp(4,3,4)")
        for row in rows:  # what a state says is what rounding does to numbers of that binade
            x = np.float32([1.3 * 2.0 ** row["exponent"]])
            y = hu.round(x, own)[0]
            assert (row["state"] == "underflow") == (y == 0)
            if row["state"] == "held":
                assert own.min_normal <= y <= own.max
    expected = [row for e in seen.values() for row in _rows(e.lost(["e4m3fn", "1/6/9"]))]
    assert [row["lost"] for row in _rows(figure.losses)] == [row["lost"] for row in expected]
    _check_paper(figure, tmp_path, "conv1.weight", "e4m3fn", "1/6/9/d", "lost in")
    with pytest.raises(hu.UnknownNameError):
        run.plot_exponents("nothing")
    with pytest.raises(hu.ArgumentError, match="expected at most 48: name them"):
        run.plot_exponents("*")


@pytest.mark.parametrize(
    "formats",
    [
        ["e4m3"],
        ["e4m3", "e5m2"],
        ["e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "fp16"],
        ["bf16", "fp16", "e5m2", "bf16", "e4m3"],
    ],
)
def test_columns_and_ticks_of_exponents_are_apart(run, formats):
    figure = run.plot_exponents("conv*.out.grad", "fc.product.out.grad", formats=formats)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    axes, columns = figure.axes
    assert len(figure.losses) == len(set(formats)) * 4
    low, high = axes.get_xlim()
    ticks = [t for t in axes.get_xticklabels() if low <= t.get_position()[0] <= high]
    assert len(ticks) >= 2
    for texts in (ticks, columns.texts):
        boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
        for k, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:k]), texts[k]
            assert box.x1 <= figure.bbox.x1 and box.x0 >= axes.bbox.x0 - 20, texts[k]


def test_exponents_of_an_array(tmp_path):
    x = np.float32(np.random.default_rng(0).standard_normal(4096) * 2.0**-12)
    x[:64] = 0
    seen = hu.exponents(x)
    figure = seen.plot(["fp16", "e4m3fn"], shift=10)
    assert [r["numbers"] for r in _rows(figure.data)] == [r["numbers"] for r in _rows(seen.table)]
    assert [row["lost"] for row in _rows(figure.losses)] == [
        row["lost"] for row in _rows(seen.lost(["fp16", "e4m3fn"], shift=10))
    ]
    _check_paper(figure, tmp_path, "share, %", "zero: 1.6%", "fp16")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)  # matplotlib's, of axes without an extent
        for few in (seen, hu.exponents([]), hu.exponents([0, math.nan])):
            assert "share, %" in few.plot([])._repr_svg_()
    assert [w for w in told if not w.category.__module__.startswith("pyparsing")] == []
    with pytest.raises(hu.DtypeError):
        seen.plot(3)


def test_a_comparison(small, tmp_path):
    found = hu.compare(
        **{**small, "steps": 2}, precision=["fp32", "hfp8", "e5m2"], seeds=[1, 2], run_dir="c"
    )
    figure = found.plot()
    rows = _rows(figure.data)
    expected = _rows(found.precisions)
    assert [row["mean"] for row in rows] == [row["test_accuracy"] for row in expected]
    assert [row["is_on_front"] for row in rows] == [row["pareto"] for row in expected]
    _check_paper(figure, tmp_path, "fp32", "hfp8", "e5m2", "test accuracy", "memory of a training")
    with pytest.raises(hu.ArgumentError, match="found no precision that ended"):
        hu.Comparison({**found.result, "precisions": []}).plot()


def _compared(names, sizes, means, better="higher"):
    """A comparison that ended so."""
    rows = [
        {"precision": name, "memory_bytes": float(size), "test_accuracy": mean, "pareto": k % 2}
        for k, (name, size, mean) in enumerate(zip(names, sizes, means))
    ]
    return hu.Comparison({"metric": {"name": "accuracy", "better": better}, "precisions": rows})


NAMES = ["fp32", "hfp8", "mxfp8", "e5m2", "bf16", "fp16", "1/6/9"]
LONG = [f"e4m3fn:scale=current/{k}" for k in range(14)]


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (NAMES, [7771472, 3738448, 3827728, 3719248, 5018768, 5018768, 5018768]),
        (LONG, [10**9 + 5 * 10**6 * k for k in range(14)]),
        (NAMES, [2 ** (12 + 3 * k) for k in range(7)]),
        (LONG[:5], [1000, 1001, 1002, 1003, 1030]),
        (["fp32"], [3 * 2**30]),
        (["fp32", "hfp8"], [64, 64]),
    ],
)
def test_names_and_ticks_of_a_comparison_are_apart(names, sizes):
    """No text lies over another, and a tick says the number at which it stands."""
    figure = _compared(names, sizes, [0.9 + 0.001 * (k % 3) for k in range(len(names))]).plot()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,), (legend,) = figure.axes, figure.legends
    assert not axes.texts  # no leader lines
    low, high = axes.get_xlim()
    ticks = [t for t in axes.get_xticklabels() if low <= t.get_position()[0] <= high]
    assert 2 <= len(ticks) <= 5
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    for tick in ticks:
        number, unit = tick.get_text().split()
        assert math.isclose(float(number) * units[unit], tick.get_position()[0])
        assert len(number.replace(".", "").strip("0")) <= 3
    texts = [*ticks, *legend.get_texts(), axes.xaxis.label, axes.yaxis.label]
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in texts]
    boxes.append(axes.get_window_extent())
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k]), texts[k]
        assert box.x0 >= -2 and box.y0 >= -2  # a text's box is a little more than its letters
        assert box.x1 <= figure.bbox.x1 + 2 and box.y1 <= figure.bbox.y1 + 2, texts[k]


def test_names_of_a_comparison_stand_in_order_with_their_marks():
    for better, expected in (("higher", ["b", "c", "a"]), ("lower", ["a", "c", "b"])):
        figure = _compared(["a", "b", "c"], [10, 20, 30], [0.1, 0.3, 0.2], better).plot()
        (legend,), (axes,) = figure.legends, figure.axes
        assert [text.get_text() for text in legend.get_texts()] == expected
        drawn = {line.get_marker(): line.get_ydata()[0] for line in axes.lines if line.get_marker()}
        means = [drawn[handle.get_marker()] for handle in legend.legend_handles]
        assert means == sorted([0.1, 0.3, 0.2], reverse=better == "higher")


def test_without_pandas_or_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert hu.Format("e2m1").plot().data[0]["format"] == "e2m1"
    monkeypatch.delitem(sys.modules, "halfulp.figures")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(hu.UnsupportedError, match="found no matplotlib"):
        hu.Format("e2m1").plot()
