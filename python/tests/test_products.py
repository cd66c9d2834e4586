import numpy as np
import pytest

import halfulp as hu
from reference import bits, rounded


def factors(m=7, n=5, k=40, seed=0):
    random = np.random.default_rng(seed)
    return (
        random.standard_normal((m, k)).astype(np.float32),
        random.standard_normal((k, n)).astype(np.float32),
    )


def blocked(a, b, fmt, block):
    """FMAC-K by its definition: blocks of fused multiply-adds, rounded, whose sums are float32."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for first in range(0, a.shape[1], block):
        part = np.zeros_like(total)
        for k in range(first, min(first + block, a.shape[1])):
            # Products of numbers with few digits, and such sums, are exact in float64.
            exact = a[:, k, None].astype(np.float64) * b[None, k].astype(np.float64) + part
            part = rounded(exact, fmt, "rne") + np.float32(0)
        total = total + part
    return total


@pytest.mark.parametrize("block", [1, 4, 8, 64])
def test_blocks_are_the_definition(block):
    fmt = hu.Format("1/6/9")
    a, b = (hu.round(x, "e5m2") for x in factors())
    found = hu.gemm(a, b, f"fmac{block}:1/6/9")
    np.testing.assert_array_equal(bits(found), bits(blocked(a, b, fmt, block)))


def test_float32_sums_are_in_order():
    a, b = (hu.round(x, "bf16") for x in factors())  # products are exact in float32's double
    total = np.zeros((7, 5), np.float32)
    for k in range(40):
        exact = a[:, k, None].astype(np.float64) * b[None, k].astype(np.float64)
        total = (exact + total).astype(np.float32)
    np.testing.assert_array_equal(bits(hu.gemm(a, b)), bits(total))


@pytest.mark.parametrize(
    "accumulator", ["fmacs", "fmac:fp16", "mac:bf16", "kahan:fp16", "fmac8:1/6/9", "tc:h100-fp8"]
)
def test_strides_and_threads_change_no_bit(accumulator):
    a, b = factors(33, 29, 70)
    expected = hu.gemm(a, b, accumulator, threads=1)
    for threads in (2, 3, None):
        np.testing.assert_array_equal(bits(hu.gemm(a, b, accumulator, threads)), bits(expected))
    wide = np.zeros((66, 140), np.float32)
    wide[::2, ::2] = a
    for left in (np.asfortranarray(a), wide[::2, ::2], a[::-1][::-1], a[::-1].copy()[::-1]):
        for right in (np.asfortranarray(b), b.T.copy().T):
            np.testing.assert_array_equal(bits(hu.gemm(left, right, accumulator)), bits(expected))
    half = np.float16(a), np.float16(b)
    np.testing.assert_array_equal(
        hu.gemm(*half, accumulator), hu.gemm(*(h.astype(np.float32) for h in half), accumulator)
    )


def test_bias_out_and_counts():
    a, b = factors()
    bias = np.arange(5, dtype=np.float32)
    out = np.empty((7, 5), np.float32)
    found, counts = hu.gemm(a, b, "fmac:fp16", bias=bias, counts=True, out=out)
    assert found is out and counts.values == 7 * 5 * 40 and counts.terms == 7 * 5 * 40
    np.testing.assert_array_equal(found, hu.gemm(a, b, "fmac:fp16") + bias)
    _, counts = hu.gemm(np.ones((1, 4096)), np.ones((4096, 1)), "fmac:fp16", counts=True)
    assert counts.stalled == 2048  # 2048 + 1 is a tie, to the even 2048


def test_empty_products():
    for m, k, n in ((0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0)):
        found = hu.gemm(np.ones((m, k), np.float32), np.ones((k, n), np.float32), "fmac:fp16")
        assert found.shape == (m, n) and not found.any()
    bias = np.arange(3, dtype=np.float32)
    found = hu.gemm(np.ones((2, 0)), np.ones((0, 3)), bias=bias)
    np.testing.assert_array_equal(found, np.stack([bias, bias]))


def test_mistakes():
    a, b = factors()
    for call, kind, part in (
        (lambda: hu.gemm(a, a), hu.ShapeError, r"expected b \(40, n\)"),
        (lambda: hu.gemm(a[0], b), hu.ShapeError, "rows, columns"),
        (lambda: hu.gemm(a, b, "fmax:fp16"), hu.UnknownNameError, "fmac"),
        (lambda: hu.gemm(a, b, "fmac0:fp16"), hu.ArgumentError, "block"),
        (lambda: hu.gemm(a, b, semantics="near"), hu.ArgumentError, "exact f32fma cpd"),
        (lambda: hu.gemm(a, b, threads=0), hu.ArgumentError, "1 to"),
        (lambda: hu.gemm(a, b, threads=1.5), hu.DtypeError, "whole"),
        (lambda: hu.gemm(a, b, bias=np.ones(4)), hu.ShapeError, "bias"),
        (lambda: hu.gemm(a * 1.1, np.array([[0.1]] * 40)), hu.ArgumentError, "no float32 number"),
        (lambda: hu.gemm(a, b, out=np.empty((5, 7), np.float32)), hu.ShapeError, "out"),
        (lambda: hu.gemm(a, np.ones((40, 40)), out=np.empty((7, 40), int)), TypeError, "out"),
        (lambda: hu.gemm(np.arange(4).reshape(2, 2), b), TypeError, "int64"),
    ):
        with pytest.raises(kind, match=part):
            call()
    square = np.ones((40, 40), np.float32)
    with pytest.raises(hu.ArgumentError, match="memory of a factor"):
        hu.gemm(square, square, out=square)
