import copy
import pickle
import re
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu
from reference import boundaries

NAMES = list(hu.named_formats())


def spread(count, deviation, seed):
    """Numbers whose significands are even in their binades."""
    random = np.random.default_rng(seed)
    exponents = np.floor(random.standard_normal(count) * deviation).astype(int)
    x = np.ldexp(1 + random.random(count), exponents) * random.choice([-1, 1], count)
    with np.errstate(all="ignore"):
        return x.astype(np.float32)


def counted(x):
    """The definition."""
    x = np.asarray(x, np.float64).reshape(-1)
    finite = x[np.isfinite(x) & (x != 0)]
    found, times = np.unique(np.frexp(finite)[1] - 1, return_counts=True)
    return hu.Exponents(
        dict(zip(found.tolist(), times.tolist())),
        int((x == 0).sum()),
        int(np.isnan(x).sum()),
        int(np.isinf(x).sum()),
        float(np.abs(finite).max(initial=0.0)),
    )


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_exponents_are_those_of_frexp(threads):
    for x in (
        np.random.default_rng(1).integers(0, 2**32, 300_001, dtype=np.uint32).view(np.float32),
        boundaries(hu.Format("e5m2"), 5000, seed=1),
        spread(70_000, 40, 2),
        np.zeros((3, 0), np.float32),
        np.float32(0.3),
        np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, ::-1, ::2],
        np.arange(6, dtype=np.float16),
        np.arange(6).astype(ml_dtypes.float8_e4m3fn),
        np.arange(6).astype(">f4"),
        [1.0, -0.0, 3.0],
    ):
        with np.errstate(invalid="ignore"):  # NaNs that signal
            assert hu.exponents(x, threads=threads) == counted(np.asarray(x).astype(np.float64))


def test_float64_keeps_its_exponent():
    below = np.nextafter(1.0, 0.0)  # float32 would round it up to 1
    seen = hu.exponents([below, 1.0, 2.0**-149, np.nextafter(2.0**128, 0), 0.0, np.inf, np.nan])
    assert seen.counts == {-149: 1, -1: 1, 0: 1, 127: 1}
    assert (seen.zeros, seen.infinite, seen.nan) == (1, 1, 1)
    assert seen.largest == np.nextafter(2.0**128, 0)
    for outside in (1e300, -(2.0**128), 1e-300, float(np.nextafter(2.0**-149, 0))):
        with pytest.raises(hu.ArgumentError, match=re.escape(f"element [1] is {outside!r}")):
            hu.exponents([1.0, outside])


def test_the_sum_is_that_of_both():
    x, y = spread(10_000, 20, 3), boundaries(hu.Format("fp16"), 3000, seed=3)
    both = hu.exponents(x) + hu.exponents(y)
    assert both == hu.exponents(np.concatenate([x, y])) and both.elements == 13_000
    assert sum([hu.exponents(x), hu.exponents(y)], hu.Exponents()) == both
    assert hu.Exponents() == hu.exponents([]) and hu.Exponents().max_exponent is None
    with pytest.raises(TypeError):
        both + 1


@pytest.mark.parametrize("name", NAMES)
def test_shares_are_those_of_rounding(name):
    x = spread(20_000, 20, 4)
    x[:100], x[100:150], x[150:400] = np.inf, np.nan, 0
    counts = hu.round(x, name, counts=True)[1]
    row = hu.exponents(x).lost(name).iloc[0]
    infinite = 100 - (counts.nan - 50)  # posits and takums count infinities as NaN
    exact = (counts.overflow - infinite, counts.underflow, counts.subnormal)
    for what, found in zip(("overflow", "underflow", "subnormal"), exact):
        assert abs(row[what] - found / x.size) < 0.01, what
    assert row["lost"] == row["overflow"] + row["underflow"]
    assert row["least"] <= (exact[0] + exact[1]) / x.size <= row["most"]
    assert row["format"] == str(hu.Format(name))


def test_a_shift_is_a_scale():
    x = spread(20_000, 8, 5)
    seen, scaled = hu.exponents(x), hu.exponents(np.ldexp(x, 7))
    names = ["fp16", hu.Format("e5m2"), "1/6/9/n"]
    assert seen.lost(names, shift=7).equals(scaled.lost(names))
    assert len(seen.lost(iter(names))) == 3 and len(seen.lost([])) == 0
    assert hu.Exponents().lost("fp16").iloc[0]["lost"] == 0


def test_the_table_has_every_exponent_between():
    table = hu.exponents([0.25, 4.0, 4.0, 0.0]).table
    assert table["exponent"].tolist() == [-2, -1, 0, 1, 2]
    assert table["numbers"].tolist() == [1, 0, 0, 0, 2]
    assert table["share"].tolist() == [0.25, 0, 0, 0, 0.5]
    assert len(hu.exponents([0.0]).table) == 0


def test_pages_are_sound():
    for x in ([], [0.0], [1.0], spread(1000, 30, 6), [np.nan, np.inf, 3.0, 0.0], [1e-45, 3e38]):
        seen = hu.exponents(np.float32(x))
        root = ElementTree.fromstring(f"<div>{seen._repr_html_()}</div>")
        bars = root.find("{http://www.w3.org/2000/svg}svg/{http://www.w3.org/2000/svg}path")
        drawn = (
            re.findall(r"M([\d.]+) 104h([\d.]+)v-([\d.]+)", bars.get("d"))
            if bars is not None
            else []
        )
        assert len(drawn) == len(seen.counts)
        for left, width, height in drawn:
            assert float(left) >= 24 and float(left) + float(width) <= 617 and float(height) <= 100
    assert "2 numbers" in seen._repr_html_()


def test_copies_are_equal():
    seen = hu.exponents(spread(100, 3, 7))
    assert pickle.loads(pickle.dumps(seen)) == seen == copy.deepcopy(seen)
    assert eval(repr(seen), {"Exponents": hu.Exponents}) == seen


@pytest.mark.parametrize(
    "made",
    [
        hu.Exponents({128: 1}),
        hu.Exponents({-150: 1}),
        hu.Exponents({0: -1}),
        hu.Exponents({0: 2**64}),
        hu.Exponents({0: 2**62, 1: 2**62}),
        hu.Exponents({0: 1.5}),
        hu.Exponents({"a": 1}),
        hu.Exponents([1, 2]),
        hu.Exponents(zeros=-1),
        hu.Exponents(nan="x"),
        hu.Exponents(infinite=2**70),
        hu.Exponents(largest="x"),
    ],
    ids=str,
)
def test_counts_that_are_refused(made):
    for use in (
        lambda: made.elements,
        lambda: made + made,
        lambda: made.lost("fp16"),
        made._repr_html_,
        lambda: made.table,
    ):
        with pytest.raises(hu.Error):
            use()


def test_other_mistakes():
    seen = hu.exponents([1.0])
    for formats in (7, None, [7], [None]):
        with pytest.raises(hu.DtypeError):
            seen.lost(formats)
    with pytest.raises(hu.UnknownNameError):
        seen.lost("fp61")
    for shift in (1001, -1001, 2**40, 0.5, "a"):
        with pytest.raises(hu.Error):
            seen.lost("fp16", shift=shift)
    for threads in (0, -1, 2**40, 1.5):
        with pytest.raises(hu.Error):
            hu.exponents([1.0], threads=threads)
    for x in (["x"], None, np.arange(3), "1.0", object()):
        with pytest.raises(hu.DtypeError):
            hu.exponents(x)
