import copy
import math
import pickle
import re

import numpy as np
import pytest

import halfulp as hu

NAMES = list(hu.named_formats())
FLOATS = [name for name in NAMES if hu.Format(name).specials != "table"]


def test_limits_are_those_of_the_published_tables():
    # OCP 8-bit floating point specification, table 1; IEEE 754; OCP MX 1.0, tables 4 to 6.
    for name, largest, normal, least in (
        ("e4m3fn", 448.0, 2.0**-6, 2.0**-9),
        ("e5m2", 57344.0, 2.0**-14, 2.0**-16),
        ("fp16", 65504.0, 2.0**-14, 2.0**-24),
        ("bf16", float.fromhex("0x1.fep127"), 2.0**-126, 2.0**-133),
        ("e2m1", 6.0, 1.0, 0.5),
        ("e2m3", 7.5, 1.0, 0.125),
        ("e3m2", 28.0, 0.25, 0.0625),
    ):
        fmt = hu.Format(name)
        assert (fmt.max, fmt.min_normal, fmt.min_subnormal) == (largest, normal, least)


@pytest.mark.parametrize("name", FLOATS)
def test_fields_say_the_same_as_the_name(name):
    fmt = hu.Format(name)
    again = hu.Format(
        exp=fmt.exp,
        man=fmt.man,
        bias=fmt.bias,
        subnormals=fmt.subnormals,
        overflow=fmt.overflow,
        specials=fmt.specials,
    )
    assert again == fmt and hash(again) == hash(fmt) and repr(again) == repr(fmt)
    assert hu.Format(str(fmt)) == fmt
    assert pickle.loads(pickle.dumps(fmt)) == fmt and copy.deepcopy(fmt) == fmt
    assert fmt.bits == 1 + fmt.exp + fmt.man
    assert fmt.epsilon == math.ldexp(1, -fmt.man)
    assert fmt.emin == 1 - fmt.bias


@pytest.mark.parametrize("name", [n for n in FLOATS if hu.Format(n).bits <= 16])
def test_values_follow_from_the_fields(name):
    fmt = hu.Format(name)
    codes = np.arange(fmt.codes)
    sign, rest = codes >> (fmt.bits - 1), codes & (2 ** (fmt.bits - 1) - 1)
    exponent, fraction = rest >> fmt.man, rest & (2**fmt.man - 1)
    value = np.where(
        exponent == 0,
        fraction * 2.0 ** (1 - fmt.bias - fmt.man),
        (1 + fraction / 2.0**fmt.man) * 2.0 ** (exponent - float(fmt.bias)),
    )
    if not fmt.subnormals:
        value = np.where(exponent == 0, 0.0, value)
    top = exponent == 2**fmt.exp - 1
    if fmt.specials == "ieee":
        value = np.where(top, np.where(fraction == 0, np.inf, np.nan), value)
    if fmt.specials == "fn":
        value = np.where(top & (fraction == 2**fmt.man - 1), np.nan, value)
    value = np.where(sign == 1, -value, value)
    if fmt.specials == "fnuz":
        value = np.where((sign == 1) & (rest == 0), np.nan, value)
    np.testing.assert_array_equal(fmt.values(), value.astype(np.float32))


def test_equality():
    assert hu.Format("e5m2") != hu.Format("e4m3fn")
    assert hu.Format("e5m2") != "e5m2"
    assert hu.Format("fp(4,3,4)") == hu.Format("e4m3:bias=11:specials=fin:ovf=sat")


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("fp61", hu.UnknownNameError, "'fp16'"),
        ("e5m2:ovf=up", hu.ParseError, "column"),
        ("e9m2", hu.FormatError, "exponent"),
        ("", hu.ParseError, "column 1"),
        ("fp16\0", hu.ArgumentError, "zero character"),
        (7, hu.DtypeError, "found int"),
    ],
)
def test_mistakes_are_named(text, kind, part):
    with pytest.raises(kind, match=re.escape(part)):
        hu.Format(text)
    assert issubclass(kind, hu.Error)


def test_mistakes_of_fields():
    for keys in (
        {},
        {"exp": 5},
        {"exp": 0, "man": 2},
        {"exp": 5, "man": 24},
        {"exp": 5, "man": 2, "overflow": "up"},
        {"text": "e5m2", "exp": 5},
        {"exp": 5, "man": 2, "bias": 2**40},
        {"exp": 5, "man": 2, "bias": 1000},
    ):
        with pytest.raises(ValueError):
            hu.Format(**keys)
    with pytest.raises(TypeError):
        hu.Format(exp=5.0, man=2)
    with pytest.raises(hu.LimitError):
        hu.Format("fp32").values()


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_sound(name):
    from xml.etree import ElementTree

    page = hu.Format(name)._repr_html_()
    root = ElementTree.fromstring(f"<div>{page}</div>")
    assert f"{hu.Format(name).max:.9g}" in page
    drawn = root.find("{http://www.w3.org/2000/svg}svg/{http://www.w3.org/2000/svg}path").get("d")
    places = [float(n) for n in re.findall(r"M([\d.]+) ", drawn)]
    assert all(0 <= x <= 640 for x in places)
    if name == "e2m1":  # seven magnitudes on each side, the axis and zero
        assert len(places) == 2 * 7 + 2
