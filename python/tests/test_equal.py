"""The same bits as C: every format, every mode, every kind of input; and ml_dtypes' numbers.

HALFULP_NUMBERS=10000000: so many numbers beside ml_dtypes; HALFULP_GRID=4096: so many inputs of
each format that can be made of fields, in all modes.
"""

import contextlib
import os
import subprocess

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu
from halfulp._ffi import lib
from reference import bits, boundaries, random_words, rounded

NUMBERS = int(os.environ.get("HALFULP_NUMBERS", "1000000"))
GRID = int(os.environ.get("HALFULP_GRID", "256"))
NAMES = list(hu.named_formats())
FLOATS = [name for name in NAMES if hu.Format(name).specials != "table"]
MODES = ("rne", "rna", "rz", "ru", "rd", "rodd")
BLOCKS = ("mxfp8", "mxfp8e5m2", "mxfp6e3m2", "mxfp6e2m3", "mxfp4", "mxint8", "nvfp4")
KEY = hu.Key(2**40 + 3, "w", 2**33 + 7)
# The formats of ml_dtypes, whose arithmetic is not ours; "nan": what is too large becomes NaN.
PEERS = {
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3,
    "e3m4": ml_dtypes.float8_e3m4,
    "e4m3fn": ml_dtypes.float8_e4m3fn,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}


def program(*words, text=""):
    done = subprocess.run(
        [hu.program_path(), *words], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout


def same(found, expected):
    np.testing.assert_array_equal(bits(found), bits(expected))


# ---- C ----


def reference_of(x, fmt, mode, first=0):
    """Number by number by the function of C that is the definition, hu_format_round."""
    x = np.asarray(x, np.float32)
    words = random_words(KEY._c, first, x.size) if mode == "sr" else np.zeros(x.size, np.uint32)
    kind, c, one = getattr(lib, _KINDS[mode]), fmt._c, lib.hu_format_round
    y = [one(c, kind, v, w) for v, w in zip(x.reshape(-1).tolist(), words.tolist())]
    return np.array(y, np.float32).reshape(x.shape)


_KINDS = {
    "rne": "HU_ROUND_NEAREST_EVEN",
    "rna": "HU_ROUND_NEAREST_AWAY",
    "rz": "HU_ROUND_TOWARD_ZERO",
    "ru": "HU_ROUND_UP",
    "rd": "HU_ROUND_DOWN",
    "rodd": "HU_ROUND_TO_ODD",
    "sr": "HU_ROUND_STOCHASTIC",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [*MODES, "sr"])
def test_rounding_is_the_reference_of_c(name, mode):
    fmt = hu.Format(name)
    x = boundaries(fmt, 2**16, seed=len(name) + 40)
    same(hu.round(x, fmt, rounding=mode, key=KEY), reference_of(x, fmt, mode))


@pytest.mark.parametrize("mode", [*MODES, "sr"])
def test_every_kind_of_input_is_the_reference_of_c(mode):
    every_half = np.arange(2**16, dtype=np.uint16).view(np.float16)[::17]
    for name in NAMES:
        fmt = hu.Format(name)
        halves = every_half if mode != "sr" else every_half[:500]
        x = boundaries(fmt, 840, seed=41).reshape(10, 12, 7)
        for given in (
            halves,  # float16, exact in float32
            x[::-2, 1::3].T,
            x[:, ::-1, ::2],
            np.asfortranarray(x[:, :, 0]),
            x.astype(">f4")[0],
            x[0, 0, 0],
            x[3, 4, 5, None, None],
            np.array(x[1, 2, 3]),
            x[:0],
            x[:, :0],
            np.zeros(0, np.float16),
            np.zeros((0, 3), np.float64),
            np.zeros((), np.float16),
        ):
            found = hu.round(given, fmt, rounding=mode, key=KEY)
            with np.errstate(invalid="ignore"):
                expected = reference_of(np.asarray(given).astype(np.float32), fmt, mode)
            assert found.shape == np.shape(given) and found.dtype == np.float32
            same(found, expected)


@pytest.mark.parametrize("first", [1, 2, 3, 4, 1001, 2**34 + 5])
def test_random_words_go_by_index(first):
    x = np.full(1000, 1.3, np.float32)
    fmt = hu.Format("e2m1")
    found = hu.round(x, fmt, rounding="sr", key=KEY, first=first)
    same(found, reference_of(x, fmt, "sr", first))


def every_format():
    """All that the fields can say and C accepts."""
    for exp in range(1, 9):
        for man in range(24):
            for specials in ("ieee", "fin", "fn", "fnuz"):
                for options in (
                    {},
                    {"overflow": "sat"},
                    {"overflow": "nan"},
                    {"subnormals": False},
                    {"subnormals": False, "underflow": "nearest"},
                    {"nan": "overflows"},
                    {"bias": 2 ** (exp - 1) + 2},
                ):
                    with contextlib.suppress(hu.FormatError):
                        yield hu.Format(exp=exp, man=man, specials=specials, **options)


def test_formats_of_all_fields_are_the_reference_of_c():
    seen = 0
    for i, fmt in enumerate(every_format()):
        for mode in (*MODES, "sr") if GRID > 1000 else ((*MODES, "sr")[i % 7],):
            x = boundaries(fmt, GRID, seed=i)
            same(hu.round(x, fmt, rounding=mode, key=KEY), reference_of(x, fmt, mode))
        seen += 1
    assert seen > 3000


# ---- the definition and the program ----


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("mode", MODES)
def test_rounding_is_the_definition(name, mode):
    fmt = hu.Format(name)
    x = boundaries(fmt, 2**16, seed=len(name))
    same(hu.round(x, fmt, rounding=mode), rounded(x, fmt, mode))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [*MODES, "sr"])
def test_rounding_is_the_programs(name, mode):
    x = boundaries(hu.Format(name), 400, seed=5)
    x = x[np.isfinite(x)]
    key = hu.Key(seed=3, stream=lib.hu_stream_id(b"fmt", b""))
    said = program(
        "fmt", name, f"--round={mode}", "seed=3", text="".join(f"{float(v).hex()}\n" for v in x)
    )
    expected = np.array([float(word) for word in said.split()], np.float32)
    same(hu.round(x, name, rounding=mode, key=key), expected)


@pytest.mark.parametrize("mode", [*MODES, "sr"])
def test_blocks_are_the_programs(mode):
    random = np.random.default_rng(7)
    x = (random.standard_normal(96) * np.exp2(random.integers(-12, 12, 96))).astype(np.float32)
    key = hu.Key(seed=3, stream=lib.hu_stream_id(b"fmt", b""))
    text = "".join(f"{float(v).hex()}\n" for v in x)
    for name in BLOCKS:
        for scale in ("", ":scale=ceil", ":scale=even"):
            if scale and not name.startswith("mxf"):
                continue
            said = program("fmt", name + scale, f"--round={mode}", "seed=3", text=text)
            expected = np.array([float(w) for w in said.split()], np.float32)
            same(hu.round(x, name + scale, rounding=mode, key=key), expected)


# ---- ml_dtypes ----


@pytest.mark.parametrize("name", PEERS)
def test_codes_are_those_of_ml_dtypes(name):
    fmt = hu.Format(name)
    kind = np.uint8 if fmt.bits <= 8 else np.uint16
    codes = np.arange(fmt.codes, dtype=kind)
    expected = codes.view(PEERS[name]).astype(np.float32)
    same(hu.decode(codes, fmt), expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(hu.encode(expected[numbers], fmt), codes[numbers])


@pytest.mark.parametrize("name", PEERS)
def test_numbers_are_those_of_ml_dtypes(name):
    fmt = hu.Format(name)
    random = np.random.default_rng(1)
    x = random.integers(0, 2**32, NUMBERS // 2, dtype=np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        normal = random.standard_normal(NUMBERS // 2) * (fmt.max / 3)
        x = np.concatenate([x, normal.astype(np.float32)])
        expected = x.astype(PEERS[name]).astype(np.float32)
    found = hu.round(x, fmt)
    if fmt.specials == "fin":  # no NaN: see below
        found, expected = found[~np.isnan(x)], expected[~np.isnan(x)]
    same(found, expected)


# A NaN, where the format has none, becomes a zero of the other sign there; here it stays. Which of
# several codes it has is not the same either: (theirs, ours), and theirs keep parts of a payload.
NAN_CODES = {
    "bf16": (0x7FC0, 0x7FFF),
    "fp16": (0x7E00, 0x7FFF),
    "e5m2": (0x7E, 0x7F),
    "e4m3": (0x7C, 0x7F),
    "e3m4": (0x78, 0x7F),
    "e4m3fn": (0x7F, 0x7F),
    "e4m3fnuz": (0x80, 0x80),
    "e5m2fnuz": (0x80, 0x80),
    "e4m3b11fnuz": (0x80, 0x80),
}


@pytest.mark.parametrize("name", PEERS)
def test_what_differs_from_ml_dtypes(name):
    fmt, kind = hu.Format(name), PEERS[name]
    word = np.uint8 if fmt.bits <= 8 else np.uint16
    nans = np.array([np.nan, -np.nan], np.float32)
    with np.errstate(all="ignore"):
        theirs = nans.astype(kind)
        ours = hu.round(nans, fmt)
        assert np.isnan(ours).all()
        if name in NAN_CODES:
            assert np.isnan(theirs.astype(np.float32)).all()
            found = (int(theirs.view(word)[0]), int(hu.encode(ours, fmt)[0]))
            assert found == NAN_CODES[name]
        else:
            assert theirs.astype(np.float32).tolist() == [0, 0]
            assert np.signbit(theirs.astype(np.float32)).tolist() == [True, False]
            with pytest.raises(hu.FormatError):
                hu.encode(ours, fmt)
        # Overflow is the same: infinity, NaN or the largest number.
        large = np.float32([np.inf, 3e38, fmt.max, fmt.max * (1 + 2.0 ** -(fmt.man + 1))])
        large = np.concatenate([large, -large])
        same(hu.round(large, fmt), large.astype(kind).astype(np.float32))
        # float64 numbers are rounded to float32 first there (not by NumPy, to fp16).
        near = boundaries(fmt, 20_000, seed=8).astype(np.float64)
        near = near[np.isfinite(near)]
        x = np.concatenate([near * (1 + 2.0**-40), near * (1 - 2.0**-40)])
        theirs = x.astype(kind).astype(np.float32)
        same(theirs, hu.round(x if name == "fp16" else x.astype(np.float32), fmt))
        same(hu.round(x, fmt), rounded(x, fmt, "rne"))
        assert (bits(theirs) != bits(hu.round(x, fmt))).any() == (name != "fp16")
