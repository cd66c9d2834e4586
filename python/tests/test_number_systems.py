"""Formats by table against libraries of others; each test skips where its library is missing.

softposit 0.3.4.4 (SoftPosit, Leong): `convertDoubleToPX2` has the 2 exponent bits of the standard.
en-dtypes 0.0.4: HiFloat8. ml_dtypes: its 8-bit floats, read as tables.
"""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu

RANDOM = 20_000


def inputs(fmt: str, rng: np.random.Generator) -> np.ndarray:
    """Numbers of the format, means of neighbours, the floats beside both, and random ones."""
    values = np.unique(hu.Format(fmt).values().astype(np.float64))
    values = values[np.isfinite(values)]
    if len(values) > 4096:
        values = values[:: len(values) // 4096]
    means = (values[1:] + values[:-1]) / 2
    at = np.concatenate([values, means]).astype(np.float32)
    beside = [np.nextafter(at, np.float32(side)) for side in (-np.inf, np.inf)]
    bits = rng.integers(0, 2**32, RANDOM, dtype=np.uint32).view(np.float32)
    near = (rng.standard_normal(RANDOM) * np.exp2(rng.integers(-20, 20, RANDOM))).astype(np.float32)
    return np.concatenate([at, *beside, bits[np.isfinite(bits)], near])


@pytest.mark.parametrize("bits", [3, 5, 6, 8, 10, 16])
def test_posits_are_softposit_s(bits: int) -> None:
    softposit = pytest.importorskip("softposit")
    fmt = f"posit{bits}"
    x = inputs(fmt, np.random.default_rng(bits))
    ours = hu.encode(hu.round(x, fmt), fmt).astype(np.int64)
    theirs = [int(softposit.convertDoubleToPX2(float(v), bits).v) >> (32 - bits) for v in x]
    np.testing.assert_array_equal(ours, np.array(theirs) & (2**bits - 1))


def test_hif8_is_en_dtypes_s() -> None:
    en_dtypes = pytest.importorskip("en_dtypes")
    x = inputs("hif8", np.random.default_rng(8))
    x = np.concatenate([x, np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)])
    ours = hu.encode(hu.round(x, "hif8"), "hif8")
    theirs = x.astype(en_dtypes.hifloat8).view(np.uint8)
    np.testing.assert_array_equal(ours, theirs)
    codes = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(
        hu.decode(codes, "hif8"), codes.view(en_dtypes.hifloat8).astype(np.float32)
    )


@pytest.mark.parametrize(
    "name", ["float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e4m3fnuz", "float6_e2m3fn"]
)
def test_a_table_of_a_type_is_that_type(name: str, tmp_path) -> None:
    """Its numbers in a file, rounded by the table and by ml_dtypes, are the same."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = getattr(ml_dtypes, name, None)
    if kind is None:
        pytest.skip(f"ml_dtypes {ml_dtypes.__version__} has no {name}")
    bits = 6 if "float6" in name else 8
    codes = np.arange(2**bits, dtype=np.uint8)
    values = codes.view(kind).astype(np.float32)
    path = tmp_path / "t.txt"
    path.write_text("".join(f"{v:.9g}\n" for v in values))
    over = "nan" if "fnuz" in name else "inf" if "float8" in name else "sat"
    fmt = f"table:{path}:ovf={over}"
    x = inputs(fmt, np.random.default_rng(1))
    theirs = x.astype(kind).astype(np.float32)
    np.testing.assert_array_equal(hu.round(x, fmt), theirs + np.float32(0))


def test_tables_as_formats() -> None:
    f = hu.Format("posit8")
    assert (f.bits, f.codes, f.specials, f.max, f.epsilon) == (8, 256, "table", 2.0**24, 0.125)
    assert f == hu.Format("posit8:es=2") and f != hu.Format("posit8:es=1")
    assert "by table" in f._repr_html_()
    assert hu.Format("nf4").epsilon == 0.0
    assert "hif8" in hu.named_formats()
    x = np.array([0.1, 448, 1e9, 1e-12, -1e-9], np.float32)
    codes = hu.encode(hu.round(x, "posit8"), "posit8")
    assert codes.tolist() == [0x25, 0x72, 0x7F, 0x01, 0xFF]
    np.testing.assert_array_equal(hu.decode(codes, "posit8"), hu.round(x, "posit8"))


def test_bad_tables(tmp_path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("0\n1\n1\n")
    with pytest.raises(hu.FormatError, match=r"t\.txt, line 3: found 1 again"):
        hu.Format(f"table:{path}")
    with pytest.raises(hu.Error, match="missing"):
        hu.Format(f"table:{tmp_path}/missing.txt")
