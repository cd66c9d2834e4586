"""Arrays of others: DLPack, torch, buffers; the types of ml_dtypes in and out."""

import array
import re

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu
from halfulp.formats import _DTYPES
from reference import bits, boundaries

X = np.random.default_rng(11).standard_normal((6, 32)).astype(np.float32)


def same(found, expected):
    np.testing.assert_array_equal(bits(found), bits(expected))


class Exported:
    """Memory of another library: it has __dlpack__ and nothing else."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **more):
        return self.x.__dlpack__(**more)

    def __dlpack_device__(self):
        return (1, 0)


class Refusing:
    """An array that cannot be had, as a tensor of a device."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("it lies on a device")


CALLS = {
    "round": lambda x: hu.round(x, "e5m2"),
    "mxfp8": lambda x: hu.round(x, "mxfp8"),
    "pack": lambda x: hu.Quantization("nvfp4").pack(x).data,
    "exponents": lambda x: hu.exponents(x).table.to_numpy(),
    "gemm": lambda x: hu.gemm(x, X.T, "fmac:fp16"),
    "encode": lambda x: hu.encode(x, "fp32"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_arrays_of_others_are_read(call):
    expected = call(X)
    np.testing.assert_array_equal(call(Exported(X)), expected)
    np.testing.assert_array_equal(call(memoryview(X)), expected)
    np.testing.assert_array_equal(call(X.tolist()), expected)
    np.testing.assert_array_equal(call(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(call(Exported(np.asfortranarray(X))), expected)
    np.testing.assert_array_equal(call(X.astype(">f4")), expected)
    np.testing.assert_array_equal(call(X.astype(np.float64)), expected)
    locked = X.copy()
    locked.flags.writeable = False
    np.testing.assert_array_equal(call(locked), expected)
    wide = np.zeros((12, 96), np.float32)
    wide[::2, ::-3] = X
    np.testing.assert_array_equal(call(wide[::2, ::-3]), expected)
    np.testing.assert_array_equal(call(Exported(wide[::2, ::-3])), expected)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_arrays_that_cannot_be_had_are_refused(call):
    for x, words in (
        (Exported(7), "Exported"),
        (Exported(np.arange(3)), "found int64"),
        (Refusing(), "it lies on a device"),
        (np.ma.masked_array(X, X > 0), "mask"),
        (memoryview(b"1234"), "found uint8"),
        (array.array("i", [1, 2]), "found int32"),
    ):
        with pytest.raises(hu.DtypeError, match=words):
            call(x)


def test_an_array_of_the_standard_library():
    found = hu.round(array.array("f", [0.1, 3.3]), "e5m2")
    assert found.tolist() == hu.round(array.array("d", [0.1, 3.3]), "e5m2").tolist()
    assert found.tolist() == [0.09375, 3.5]


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    for call in CALLS.values():
        np.testing.assert_array_equal(call(torch.from_numpy(X.copy())), call(X))
        np.testing.assert_array_equal(call(torch.from_numpy(X.T.copy()).T), call(X))
    with pytest.raises(hu.DtypeError, match="grad"):
        hu.round(torch.ones(3, requires_grad=True), "e5m2")
    with pytest.raises(hu.DtypeError, match="BFloat16"):
        hu.round(torch.ones(3, dtype=torch.bfloat16), "e5m2")
    with pytest.raises(hu.DtypeError, match="found int64"):
        hu.round(torch.arange(3), "e5m2")
    with pytest.raises(hu.DtypeError, match="meta"):
        hu.round(torch.ones(3, device="meta"), "e5m2")


# ---- types of NumPy and ml_dtypes ----


@pytest.mark.parametrize(("name", "kind"), _DTYPES.items())
def test_formats_have_the_types_of_others(name, kind):
    fmt = hu.Format(name)
    expected = np.dtype(kind) if hasattr(np, kind) else np.dtype(getattr(ml_dtypes, kind))
    assert fmt.dtype == expected and hu.Format(expected) == fmt
    assert hu.Format(expected.type) == fmt
    same(hu.round(X, expected), hu.round(X, name))
    same(hu.round(X, expected.type), hu.round(X, name))
    # The codes are the array of that type, and back; the sign of a NaN is not asked.
    x = boundaries(fmt, 4096, seed=12)
    y = hu.round(x, fmt)
    y = y[np.isfinite(y)]
    theirs = hu.encode(y, fmt).view(fmt.dtype)
    same(theirs.astype(np.float32), y)
    same(hu.round(theirs, fmt), y)
    np.testing.assert_array_equal(hu.encode(theirs, fmt).view(fmt.dtype), theirs)


def test_types_follow_codes_alone():
    assert hu.Format("e4m3fn:ovf=sat").dtype == ml_dtypes.float8_e4m3fn
    assert hu.Format(exp=5, man=10).dtype == np.float16
    assert hu.Format("fp32").dtype == np.float32
    for name in ("tf32", "1/6/9/d", "fp(4,3,4)", "fp16:sub=n", "e5m2:bias=16", "e5m2:specials=fin"):
        with pytest.raises(hu.UnsupportedError, match=re.escape(str(hu.Format(name)))):
            _ = hu.Format(name).dtype


@pytest.mark.parametrize("given", [float, np.floating, int, object, 7, 1.5, None, [], b"e5m2"])
def test_types_that_are_no_formats(given):
    with pytest.raises(hu.Error):
        hu.round([1.0], given)
    if given is not None:
        with pytest.raises(hu.DtypeError):
            hu.Format(given)


@pytest.mark.parametrize("given", [np.int8, np.float64, np.longdouble, ml_dtypes.float8_e8m0fnu])
def test_types_without_a_format(given):
    with pytest.raises(hu.UnsupportedError, match="expected one of: float32"):
        hu.Format(given)


def test_numbers_of_the_small_types_are_exact():
    for name in ("float8_e4m3fn", "float8_e5m2fnuz", "float6_e3m2fn", "float4_e2m1fn", "bfloat16"):
        kind = np.dtype(getattr(ml_dtypes, name))
        x = np.arange(2 ** (8 * kind.itemsize), dtype=f"u{kind.itemsize}").view(kind)
        with np.errstate(invalid="ignore"):
            same(hu.round(x, "fp32"), x.astype(np.float32))
            same(hu.round(x[::-3], "e3m4"), hu.round(x[::-3].astype(np.float32), "e3m4"))
    scales = np.arange(255, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu)
    same(hu.round(scales, "fp32"), np.ldexp(np.float32(1), np.arange(255) - 127))


# ---- keys and texts ----


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1, 2**64, 1.0, "1", None, [1], -(2**70)])
def test_keys_that_are_refused(wrong):
    for made in ({"seed": wrong}, {"step": wrong}):
        with pytest.raises(hu.Error, match=f"{next(iter(made))}: found .*, expected"):
            hu.Key(**made)
    if not isinstance(wrong, str):
        with pytest.raises(hu.Error, match="stream: found .*, expected"):
            hu.Key(stream=wrong)


def test_keys_that_are_taken():
    assert hu.Key(np.int64(3), "w", np.uint64(2**64 - 1)) == hu.Key(3, "w", 2**64 - 1)
    assert hu.Key(0, 5) != hu.Key(0, "5") and hu.Key() != 0
    assert len({hu.Key(1, "a"), hu.Key(1, "a"), hu.Key(2, "a")}) == 2


def test_texts_that_are_none():
    for text in ("e5m2\ud800", "\udfff", "a\0b"):
        for call in (
            lambda t: hu.Format(t),
            lambda t: hu.round([1.0], t),
            lambda t: hu.round([1.0], "e5m2", rounding=t),
            lambda t: hu.Quantization(t),
            lambda t: hu.Key(stream=t),
            lambda t: hu.gemm(X, X.T, t),
        ):
            try:
                call(text)
            except hu.Error as error:
                assert str(error)
            else:
                assert call(text) is not None  # a byte that stands for itself is a name's


def test_fields_of_own_formats():
    assert hu.Format(exp=4, man=3, subnormals=False, underflow="nearest") == hu.Format(
        "e4m3:sub=nearest"
    )
    assert hu.Format(exp=4, man=3, specials="fin", overflow="sat", nan="overflows") == hu.Format(
        "e4m3:specials=fin:ovf=sat:nan=ovf"
    )
    for keys in (
        {"underflow": "nearest"},
        {"nan": "overflows"},
        {"nan": "x"},
        {"subnormals": np.zeros(2)},
        {"overflow": np.zeros(2)},
        {"overflow": None},
    ):
        with pytest.raises(hu.Error):
            hu.Format(exp=4, man=3, **keys)
    with pytest.raises(hu.ArgumentError, match="a text and fields"):
        hu.Format("e5m2", overflow=np.zeros(2))
