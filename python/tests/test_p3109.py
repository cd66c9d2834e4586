"""Formats of IEEE P3109 against gfloat (0.5.2 of PyPI) and, where they are its types, ml_dtypes.

gfloat and Interim Report 4.0 of P3109 differ in three places, which are left out here; halfulp
follows the report in them (tests/exhaustive/kernel_p3109.c). Without saturation, gfloat makes NaN
of what is too large for a finite format; it has no signed grid for negative numbers in an unsigned
one; it has no rounding to odd. The report's StochasticA, B and C are its StochasticFastest,
StochasticFast and Stochastic.

HALFULP_NUMBERS=10000000: so many numbers in each format and mode.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import halfulp as hu
from reference import bits, random_words

gfloat = pytest.importorskip("gfloat")
from gfloat.formats import format_info_p3109  # noqa: E402
from gfloat.types import Domain, Signedness  # noqa: E402

NUMBERS = int(os.environ.get("HALFULP_NUMBERS", "20000"))
KEY = hu.Key(3109, "p3109", 4)
MODES = {
    "rne": gfloat.RoundMode.TiesToEven,
    "rna": gfloat.RoundMode.TiesToAway,
    "rz": gfloat.RoundMode.TowardZero,
    "ru": gfloat.RoundMode.TowardPositive,
    "rd": gfloat.RoundMode.TowardNegative,
}
KINDS = {
    "a": gfloat.RoundMode.StochasticFastest,
    "b": gfloat.RoundMode.StochasticFast,
    "c": gfloat.RoundMode.Stochastic,
}


def formats(most: int) -> list[tuple[str, int, int, str]]:
    """Names with K, P and the kind, of those that float32 holds."""
    found = []
    for k in range(3, most + 1):
        for p in range(1, k + 1):
            for kind in ("se", "sf", "ue", "uf"):
                signed = kind[0] == "s"
                if p <= k - signed and k - p + 1 - signed <= 8:
                    found.append((f"binary{k}p{p}{kind}", k, p, kind))
    return found


def info_of(k: int, p: int, kind: str):
    signed = Signedness.Signed if kind[0] == "s" else Signedness.Unsigned
    domain = Domain.Extended if kind[1] == "e" else Domain.Finite
    return format_info_p3109(k, p, signed, domain)


def test_there_are_376_formats() -> None:
    assert len(formats(16)) == 376


def test_codes_are_gfloat_s() -> None:
    """All codes of all formats."""
    for name, k, p, kind in formats(16):
        ours = hu.Format(name).values().astype(np.float64)
        theirs = gfloat.decode_ndarray(info_of(k, p, kind), np.arange(2**k))
        np.testing.assert_array_equal(ours, theirs, err_msg=name)


def inputs(name: str, rng: np.random.Generator) -> np.ndarray:
    """Numbers, middles and quarters, the floats beside them, and random ones."""
    values = np.unique(hu.Format(name).values().astype(np.float64))
    values = values[np.isfinite(values)]
    at = [values, *((1 - t) * values[1:] + t * values[:-1] for t in (0.25, 0.5, 0.75))]
    at += [values[-1] * np.exp2(np.arange(0, 4, 0.125))]
    near = np.concatenate(at)
    near = near[near < 2.0**127].astype(np.float32)
    beside = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    many = max(NUMBERS - 3 * near.size, 1000)
    scaled = rng.choice(values, many) * rng.uniform(0.5, 1.5, many)
    every = rng.integers(0, 2**32, many // 2, dtype=np.uint32).view(np.float32)
    x = np.concatenate([near, *beside, scaled.astype(np.float32), every, [np.float32(np.inf)]])
    x = x[~np.isnan(x)].astype(np.float32)
    return np.abs(x) if values[0] == 0 else x


@pytest.mark.parametrize("case", formats(8), ids=lambda case: case[0])
def test_rounding_is_gfloat_s(case: tuple[str, int, int, str]) -> None:
    name, k, p, kind = case
    info = info_of(k, p, kind)
    x = inputs(name, np.random.default_rng(1000 * k + p))
    words = random_words(KEY._c, 0, x.size).astype(np.int64)
    for saturates in (True, False):
        fmt = f"{name}:sat={'finite' if saturates else 'none'}"
        for mode, theirs in MODES.items():
            expected = gfloat.round_ndarray(info, x.astype(np.float64), theirs, saturates)
            check(hu.round(x, fmt, mode), expected, saturates, kind, f"{fmt} {mode}")
        for n in (1, 3, 8, 17):
            for letter, theirs in KINDS.items():
                mode = f"sr:bits={n}:kind={letter}"
                random = 2**n - 1 - (words >> (32 - n))
                expected = gfloat.round_ndarray(
                    info, x.astype(np.float64), theirs, saturates, random, n
                )
                found = hu.round(x, fmt, mode, key=KEY)
                check(found, expected, saturates, kind, f"{fmt} {mode}")


def check(found: np.ndarray, expected: np.ndarray, saturates: bool, kind: str, what: str) -> None:
    expected = expected.astype(np.float32)
    agrees = ~np.isnan(expected) if not saturates and kind[1] == "f" else slice(None)
    np.testing.assert_array_equal(bits(found)[agrees], bits(expected)[agrees], err_msg=what)


@pytest.mark.parametrize(
    ("name", "peer"), [("binary8p3sf", "float8_e5m2fnuz"), ("binary8p4sf", "float8_e4m3fnuz")]
)
def test_signed_finite_ones_are_fnuz_types(name: str, peer: str) -> None:
    """Code for code, and rounded to nearest where neither overflows."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = getattr(ml_dtypes, peer)
    theirs = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
    np.testing.assert_array_equal(hu.Format(name).values(), theirs)
    x = inputs(name, np.random.default_rng(8))
    x = x[np.abs(x) <= hu.Format(name).max]
    np.testing.assert_array_equal(bits(hu.round(x, name)), bits(x.astype(kind).astype(np.float32)))
