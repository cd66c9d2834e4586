import pickle
import subprocess

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu
from reference import bits, boundaries, rounded

NAMES = list(hu.named_formats())
FLOATS = [name for name in NAMES if hu.Format(name).specials != "table"]
MODES = ("rne", "rna", "rz", "ru", "rd", "rodd")


def program(*words, text=""):
    done = subprocess.run(
        [hu.program_path(), *words], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout


def same(found, expected):
    np.testing.assert_array_equal(bits(found), bits(expected))


# ---- the right numbers ----


def test_float64_is_rounded_once():
    x = np.float64(1 + 2**-11 + 2**-40)  # float32 has 1 + 2**-11, a tie that goes down in fp16
    assert hu.round(np.float32(x), "fp16") == 1
    assert hu.round(x, "fp16") == np.float16(x) == 1 + 2**-10
    random = np.random.default_rng(2)
    for name in ("fp16", "bf16", "e5m2", "e4m3fn", "e2m1", "tf32", "1/6/9/n", "fp(4,3,4)"):
        fmt = hu.Format(name)
        with np.errstate(invalid="ignore"):
            near = boundaries(fmt, 20_000, seed=8).astype(np.float64)
        x = near * (1 + random.choice([0, 2.0**-40, -(2.0**-40)], near.size))
        x = np.concatenate([x, [1e300, -1e300, 5e-324, -1e-200, np.inf, np.nan]])
        for mode in MODES:
            same(hu.round(x, fmt, rounding=mode), rounded(x, fmt, mode))


def test_float64_where_no_bits_are_spare():
    assert hu.round(np.float64(0.5), "fp32") == 0.5
    with pytest.raises(hu.ArgumentError, match=r"x: element \[1\] is 0.1, no float32 number"):
        hu.round([0.5, 0.1], "fp32")
    with pytest.raises(hu.ArgumentError, match="no float32 number"):
        hu.round([0.1], "mxfp8")


def test_smaller_types_are_exact():
    every = np.arange(2**16, dtype=np.uint16)
    for kind in (np.float16, ml_dtypes.bfloat16):
        x = every.view(kind)
        same(hu.round(x, "e5m2"), hu.round(x.astype(np.float32), "e5m2"))
    same(hu.round(x.astype(">f4"), "e5m2"), hu.round(x, "e5m2"))
    same(hu.round(np.array([1.3]).astype(">f8"), "e5m2"), hu.round(1.3, "e5m2").reshape(1))


def test_stochastic_rounding_goes_up_as_often_as_it_should():
    x = np.full(200_000, 1 + 0.3 * 2**-2, np.float32)
    y = hu.round(x, "e5m2", rounding="sr", key=hu.Key(1, "w", 7))
    share = float((y == 1.25).mean())
    assert set(np.unique(y)) == {1.0, 1.25} and abs(share - 0.3) < 0.006  # six deviations
    parts = [
        hu.round(x[i : i + 50_000], "e5m2", rounding="sr", key=hu.Key(1, "w", 7), first=i)
        for i in range(0, x.size, 50_000)
    ]
    same(np.concatenate(parts), y)
    for other in (hu.Key(2, "w", 7), hu.Key(1, "v", 7), hu.Key(1, "w", 8)):
        assert (hu.round(x, "e5m2", rounding="sr", key=other) != y).any()


# ---- shapes, strides, outputs ----


@pytest.mark.parametrize("fmt", ["e4m3fn", "mxfp8", "e4m3fn:scale=current", "uniform8"])
def test_shapes_and_strides(fmt):
    x = np.random.default_rng(3).standard_normal((6, 10, 64)).astype(np.float32)
    for view in (x[::2, ::-1, 1::3], x.T, x[:, 3:4], x[..., ::-1], np.asfortranarray(x)):
        same(hu.round(view, fmt), hu.round(view.copy(order="C"), fmt))
    unaligned = np.zeros(4 * 8 + 1, np.uint8)[1:].view(np.float32)
    assert hu.round(unaligned, fmt).tolist() == [0] * 8
    for shape in ((0,), (3, 0), (0, 3), (2, 0, 4)):
        assert hu.round(np.zeros(shape, np.float32), fmt).shape == shape
    for scalar in (np.float32(1), np.float64(1), np.float16(1), np.array(1.0), 1.0, 1):
        found = hu.round(scalar, fmt)
        assert (found.shape, found.dtype, float(found)) == ((), np.float32, 1.0)


@pytest.mark.parametrize("fmt", ["e4m3fn", "mxfp8"])
def test_outputs(fmt):
    x = np.random.default_rng(4).standard_normal((4, 64)).astype(np.float32)
    expected = hu.round(x, fmt)
    out = np.empty_like(x)
    assert hu.round(x, fmt, out=out) is out
    same(out, expected)
    mine = x.copy()
    hu.round(mine, fmt, out=mine)
    same(mine, expected)
    room = np.zeros(5 * 64, np.float32)  # the output begins one row behind the input
    room[:256] = x.reshape(-1)
    hu.round(room[:256].reshape(4, 64), fmt, out=room[64:].reshape(4, 64))
    same(room[64:].reshape(4, 64), expected)


@pytest.mark.parametrize("mode", ["rne", "sr"])
def test_large_arrays_are_rounded_like_small_ones(mode):
    x = np.random.default_rng(13).standard_normal(2**23 + 2**20 + 5).astype(np.float32)
    key, first = hu.Key(1, "w"), 2**64 - 2**21  # the index goes round
    y, counts = hu.round(x, "e4m3fn", mode, key, counts=True, first=first)
    out = np.empty_like(x)
    _, expected = hu.round(x, "e4m3fn", mode, key, counts=True, first=first, out=out)
    same(y, out)
    assert counts == expected and counts.elements == x.size
    with pytest.raises(hu.ArgumentError):
        hu.round(x, "e4m3fn", "sr")


@pytest.mark.parametrize("fmt", ["e4m3fn", "mxfp8"])
def test_outputs_that_are_refused(fmt):
    x = np.ones((4, 64), np.float32)
    locked = np.empty_like(x)
    locked.flags.writeable = False
    for out, kind, part in (
        (locked, ValueError, "read-only"),
        (np.empty((4, 128), np.float32)[:, ::2], ValueError, "contiguous"),
        (np.empty((64, 4), np.float32).T, ValueError, "contiguous"),
        (
            np.empty((4, 63), np.float32),
            hu.ShapeError,
            r"found shape \(4, 63\), expected \(4, 64\)",
        ),
        (np.empty((4, 64), np.float64), TypeError, "found float64, expected float32"),
        (np.empty((4, 64), ">f4"), TypeError, "expected float32"),
        ([1.0], TypeError, "found list"),
    ):
        with pytest.raises(kind, match=part):
            hu.round(x, fmt, out=out)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(3),
        np.array([True]),
        np.array([1j]),
        np.array(["1"]),
        np.array([None]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, [("a", "f4")]),
        np.zeros(2, ml_dtypes.int4),
        np.zeros(2, np.longdouble),
        "1.0",
        b"1",
        None,
        {1.0},
        [[1.0], [1.0, 2.0]],
        ["x"],
        [10**400],
        object(),
    ],
    ids=repr,
)
def test_inputs_that_are_refused(x):
    for call in (hu.round, hu.encode, hu.pack):
        with pytest.raises(TypeError):
            call(x, "e5m2")
    with pytest.raises(TypeError):
        hu.round(x, "mxfp8")


def test_other_mistakes():
    one = np.ones(3, np.float32)
    with pytest.raises(hu.UnknownNameError, match="rne"):
        hu.round(one, "e5m2", rounding="up")
    with pytest.raises(hu.ArgumentError):
        hu.round(one, "e5m2", rounding="sr")
    with pytest.raises(hu.ArgumentError):
        hu.round(one, "mxfp8", rounding="sr")
    with pytest.raises(TypeError):
        hu.round(one, "e5m2", key=7)
    with pytest.raises(TypeError):
        hu.round(one, 7)
    with pytest.raises(hu.UnknownNameError):
        hu.round(one, "fp61")
    with pytest.raises(hu.UnsupportedError):
        hu.Quantization("e4m3fn:scale=delayed")
    for seed in (-1, 2**64, 1.5, "a"):
        with pytest.raises((ValueError, TypeError)):
            hu.Key(seed=seed)


# ---- counters ----


@pytest.mark.parametrize("name", FLOATS)
def test_counters(name):
    fmt = hu.Format(name)
    x = boundaries(fmt, 4096, seed=6)
    y, counts = hu.round(x, fmt, counts=True)
    same(y, hu.round(x, fmt))
    finite = np.isfinite(x) & (x != 0)
    _, exponents = np.frexp(x[finite].astype(np.float64))
    assert counts.elements == x.size
    assert counts.nan == int(np.isnan(x).sum())
    assert counts.zero == int((y == 0).sum())
    assert counts.underflow == int(((y == 0) & (x != 0)).sum())
    assert counts.overflow == int((~np.isnan(x) & (np.abs(rounded_wide(x, fmt)) > fmt.max)).sum())
    assert (counts.min_exponent, counts.max_exponent) == (exponents.min() - 1, exponents.max() - 1)
    if fmt.subnormals:
        assert counts.subnormal == int(((y != 0) & (np.abs(y) < fmt.min_normal)).sum())
    halves = [hu.round(part, fmt, counts=True)[1] for part in (x[:1000], x[1000:])]
    assert halves[0] + halves[1] == counts
    assert hu.round([], fmt, counts=True)[1] == hu.Counts()
    assert hu.Counts() + counts == counts


def rounded_wide(x, fmt):
    """Rounded to the same fraction with room for larger numbers."""
    unit = np.ldexp(
        1.0, np.frexp(np.where(np.isfinite(x), x, 1.0).astype(np.float64))[1] - 1 - fmt.man
    )
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(x), np.rint(x.astype(np.float64) / unit) * unit, x)


# ---- codes and packing ----


@pytest.mark.parametrize("name", NAMES)
def test_codes_and_packs_give_the_numbers_back(name):
    fmt = hu.Format(name)
    x = hu.round(boundaries(fmt, 1003, seed=7), fmt)
    x = x[np.isfinite(x)].reshape(1, -1)
    same(hu.decode(hu.encode(x, fmt), fmt), x)
    same(hu.unpack(hu.pack(x, fmt), fmt, x.shape), x)
    assert hu.pack(x, fmt).size == -(-x.size * fmt.bits // 8)
    same(hu.unpack(hu.pack(x, fmt).tobytes(), fmt, x.size), x.reshape(-1))
    for size in (8, 16):
        if fmt.bits <= size:
            codes = hu.pack(x, fmt, bits=size)
            assert codes.size == x.size * size // 8
            same(hu.unpack(codes, fmt, x.shape, bits=size), x)
    if fmt.bits > 16 and fmt.bits == 32:
        np.testing.assert_array_equal(hu.encode(x, fmt), x.view(np.uint32))
    for empty in (np.zeros((2, 0), np.float32),):
        assert hu.decode(hu.encode(empty, fmt), fmt).shape == (2, 0)
        assert hu.unpack(hu.pack(empty, fmt), fmt, (2, 0)).shape == (2, 0)


@pytest.mark.parametrize("name", [n for n in NAMES if hu.Format(n).bits <= 16])
def test_codes_are_the_programs(name):
    fmt = hu.Format(name)
    codes = np.unique(np.linspace(0, fmt.codes - 1, 300).astype(int))
    said = program("fmt", name, "--decode", text="".join(f"{c:x}\n" for c in codes))
    same(hu.decode(codes, fmt), np.array([float(w) for w in said.split()], np.float32))


def test_codes_that_are_refused():
    with pytest.raises(hu.FormatError, match=r"encode: element \[1, 0\]"):
        hu.encode(np.float32([[1.0, 2.0], [1.1, 2.0]]), "e5m2")
    with pytest.raises(hu.FormatError, match=r"encode: x: element \[1\] is 1.1, no float32"):
        hu.encode([1.0, 1.1], "e5m2")
    with pytest.raises(hu.FormatError, match=r"pack: element \[1\]"):
        hu.pack([1.0, np.inf], "e4m3fn")
    with pytest.raises(hu.FormatError):
        hu.pack([np.nan], "e2m1")
    with pytest.raises(hu.ArgumentError, match="found 16, expected 0 to 15"):
        hu.decode([3, 16], "e2m1")
    with pytest.raises(hu.ArgumentError, match="found -1"):
        hu.decode([-1], "fp32")
    with pytest.raises(TypeError):
        hu.decode([1.5], "e2m1")
    with pytest.raises(hu.ShapeError, match="found 2 bytes, expected 3"):
        hu.unpack(b"ab", "e2m1", 5)
    with pytest.raises(hu.ArgumentError):
        hu.pack([1.0], "fp16", bits=8)
    with pytest.raises(TypeError):
        hu.unpack(np.zeros(2, np.int8), "e2m1", 4)
    for shape in (-1, (2, -1), 2**60):
        with pytest.raises(ValueError):
            hu.unpack(b"", "e2m1", shape)
    assert hu.encode([-0.0], "e4m3fnuz").tolist() == [0]
    assert hu.decode(hu.encode([np.nan, np.inf], "e5m2"), "e5m2").tolist()[1] == np.inf


# ---- formats with scales ----


@pytest.mark.parametrize(
    "text",
    ["mxfp8", "nvfp4", "e4m3fn:scale=current", "e4m3fn:scale=2^3", "uniform8", "uniform3", "e5m2"],
)
@pytest.mark.parametrize("shape", [(), (1,), (33,), (3, 40), (2, 3, 17), (0,), (4, 0)])
def test_scaled_packs_give_the_rounded_numbers(text, shape):
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32) * 100
    quantization = hu.Quantization(text)
    y, counts = quantization.round(x, counts=True)
    packed = quantization.pack(x)
    same(packed.unpack(), y)
    same(hu.round(x, text), y)
    assert counts.elements == x.size and packed.shape == x.shape
    same(pickle.loads(pickle.dumps(packed)).unpack(), y)


def test_what_has_no_code_is_not_packed_as_something_else():
    with pytest.raises(hu.FormatError, match=r"pack: element \[0, 1\] is nan, which e3m2"):
        hu.Quantization("e3m2").pack([[1.0, np.nan]])
    with pytest.raises(hu.FormatError, match=r"element \[0\] is inf"):
        hu.Quantization("e4m3:specials=fin:ovf=inf").pack([1e9])
    found = hu.Quantization("e5m2").pack([1e9, np.nan, -np.inf]).unpack()
    assert found[0] == np.inf and np.isnan(found[1]) and found[2] == -np.inf


def test_blocks_are_those_of_the_specification():
    """OCP MX 1.0, section 6.3: a power of two from the block's largest magnitude, then elements."""
    x = np.random.default_rng(6).standard_normal((5, 64)).astype(np.float32)
    largest = np.abs(x.reshape(5, 2, 32)).max(axis=2, keepdims=True)
    scale = np.exp2(np.floor(np.log2(largest)) - 8)  # the exponent of 448
    inner = rounded(x.reshape(5, 2, 32) / scale, hu.Format("e4m3fn:ovf=sat"), "rne")
    same(hu.round(x, "mxfp8"), (inner * scale).reshape(5, 64))


def test_uniform_integers_are_evenly_spaced():
    x = np.random.default_rng(8).uniform(-3, 5, 1000).astype(np.float32)
    y = hu.round(x, "uniform4")
    step = (float(x.max()) - float(x.min())) / 15
    assert len(np.unique(y)) == 16 and np.abs(y - x).max() <= step / 2 * (1 + 1e-5)
