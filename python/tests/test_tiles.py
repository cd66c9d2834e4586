"""Tiles with scales of their own: against the formulas that others publish, written out in NumPy,
and against torchao's references where it is installed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import halfulp as hu

F32 = np.float32
MOST = np.finfo(F32).max


def positive_numbers(exponents: int, mantissa: int, bias: int, count: int) -> np.ndarray:
    """The values of the codes 0 .. count-1 of a float format, in order."""
    codes = np.arange(count)
    e, m = codes >> mantissa, codes & (2**mantissa - 1)
    unit = 2.0**-mantissa
    normal, small = (1 + m * unit) * 2.0 ** (e - bias), m * unit * 2.0 ** (1 - bias)
    assert count <= 2 ** (exponents + mantissa)
    return np.where(e > 0, normal, small)


E4M3 = positive_numbers(4, 3, 7, 127)  # up to 448
E2M1 = positive_numbers(2, 1, 1, 8)  # up to 6


def nearest(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Indices of the nearest of the values to |x|, ties to the even one, saturating."""
    magnitude = np.abs(x).astype(np.float64)
    middles = (values[1:] + values[:-1]) / 2
    below = np.searchsorted(middles, magnitude, side="left")  # middles below |x|
    is_tie = (below < len(middles)) & (middles[np.minimum(below, len(middles) - 1)] == magnitude)
    return below + (is_tie & (below % 2 == 1))


def signed(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.copysign(values[nearest(values, x)], x).astype(F32)


def numbers(rows: int, line: int, seed: int, bf16: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((rows, line)) * 2.0 ** rng.integers(-6, 6, (rows, 1))).astype(F32)
    return (x.view(np.uint32) & 0xFFFF0000).view(F32) if bf16 else x


def tops(x: np.ndarray, lines: int, columns: int) -> np.ndarray:
    """The largest magnitude of the tile of each number; sides must be multiples."""
    r, c = x.shape[0] // lines, x.shape[1] // columns
    top = np.abs(x).reshape(r, lines, c, columns).max(axis=(1, 3))
    return np.repeat(np.repeat(top, lines, 0), columns, 1)


def quantize(x: np.ndarray, text: str, key: hu.Key | None = None) -> np.ndarray:
    return hu.Quantization(text).round(x, key)


@pytest.mark.parametrize("tile", [(1, 128), (128, 128), (128, 1), (3, 4)])
@pytest.mark.parametrize("bf16", [False, True])
def test_deepseek(tile: tuple[int, int], bf16: bool) -> None:
    x = numbers(384, 256, 1, bf16)
    x[:, :128] *= F32(1e-7)
    a = np.maximum(tops(x, *tile), F32(1e-4))
    s = a / F32(448)
    wanted = signed(E4M3, x * (F32(1) / s)) * s
    text = f"e4m3fn:tile={tile[0]}x{tile[1]}:scale=f32:least=1e-4"
    np.testing.assert_array_equal(quantize(x, text), wanted)


@pytest.mark.parametrize("tile", [(1, 128), (128, 128)])
def test_transformer_engine_blocks(tile: tuple[int, int]) -> None:
    x = numbers(256, 256, 2)
    s = np.minimum(F32(448) / tops(x, *tile), MOST)
    wanted = signed(E4M3, x * s) * (F32(1) / s)
    text = f"e4m3fn:tile={tile[0]}x{tile[1]}:scale=f32:as=te"
    np.testing.assert_array_equal(quantize(x, text), wanted)
    # Its usual scale: the mantissa cleared, a power of two.
    down = (s.view(np.uint32) & 0xFF800000).view(F32)
    wanted = signed(E4M3, x * down) / down
    text = f"e4m3fn:tile={tile[0]}x{tile[1]}:scale=pow2"
    np.testing.assert_array_equal(quantize(x, text), wanted)


@pytest.mark.parametrize("tile", [(1, 16), (16, 16)])
@pytest.mark.parametrize("bf16", [False, True])
def test_nvfp4(tile: tuple[int, int], bf16: bool) -> None:
    x = numbers(512, 256, 3, bf16)
    top, a = np.abs(x).max(), tops(x, *tile)
    big, six = F32(448), F32(6)
    text = f"nvfp4:tile={tile[0]}x{tile[1]}"
    # TransformerEngine
    s = F32(2688) / top
    c = signed(E4M3, np.minimum(a * (s * (F32(1) / six)), big))
    d = c * (F32(1) / s)
    wanted = signed(E2M1, np.clip(x * np.minimum(F32(1) / d, MOST), -six, six)) * d
    np.testing.assert_array_equal(quantize(x, text + ":as=te"), wanted)
    # torchao
    g = top / F32(2688)
    c = signed(E4M3, np.clip((a / six) / g, F32(2.0**-6), big))
    wanted = signed(E2M1, np.clip(x * ((F32(1) / g) / c), -six, six)) * (c * g)
    np.testing.assert_array_equal(quantize(x, text + ":as=ao"), wanted)
    # ours
    c = signed(E4M3, a / (six * g))
    d = c * g
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(c > 0, signed(E2M1, x / d), np.copysign(F32(0), x)) * d
    np.testing.assert_array_equal(quantize(x, text), wanted)


def test_hadamard() -> None:
    signs = np.array([1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1], np.float64)
    h = np.array([[1.0]])
    while len(h) < 16:
        h = np.block([[h, h], [h, -h]])
    x = numbers(64, 64, 4)
    rotated = ((x.reshape(-1, 16) * signs) @ h / 4).astype(F32).reshape(x.shape)
    # Elements that keep all of float32's bits: what is left is the rounding of the rotations.
    found = quantize(x, "bf16:tile=1x16:scale=f32:hadamard=16")
    plain = quantize(rotated, "bf16:tile=1x16:scale=f32")
    back = ((plain.reshape(-1, 16).astype(np.float64) @ h / 4) * signs).reshape(x.shape)
    assert np.abs(found - back).max() < 0.01 * np.abs(x).max()
    # Some outliers spread over their groups: what is left of the error is less.
    y = numbers(256, 64, 11)
    y[:, ::16] *= F32(6)
    error = [((quantize(y, t) - y) ** 2).sum() for t in ("mxfp4", "mxfp4:hadamard=16")]
    assert error[1] < error[0]


def test_eden_is_unbiased() -> None:
    x = numbers(1, 256, 5)
    text = "nvfp4:eden=32:hadamard=32:random rna"
    draws = [quantize(x, text, key=hu.Key(1, 2, step)) for step in range(600)]
    mean, spread = np.mean(draws, axis=0), np.std(draws, axis=0) / np.sqrt(600)
    assert np.abs((mean - x) / spread).max() < 6
    # Nearest rounding without it is not.
    bias = np.abs(quantize(x, "nvfp4") - x)
    assert bias.mean() > 5 * np.abs(mean - x).mean()


def test_four_over_six() -> None:
    x = numbers(256, 64, 6)
    error = {t: float(((quantize(x, t) - x) ** 2).sum()) for t in ("nvfp4", "nvfp4:4/6=square")}
    assert error["nvfp4:4/6=square"] < 0.97 * error["nvfp4"]


TEXTS = [
    "e4m3fn:tile=1x128:scale=f32",
    "e4m3fn:tile=128x128:scale=f32:as=te",
    "e2m1:tile=16x16:scale=e4m3fn:4/6",
    "e3m2:tile=5x7:scale=ue5m3",
    "e2m3:tile=7x1:scale=pow2",
    "nvfp4:hadamard=32",
    "bf16:tile=2x3:scale=bf16",
    "e2m1:tile=1x16:scale=e4m3fn:eden",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("shape", [(1,), (37,), (5, 130), (33, 16), (130, 3), (2, 9, 20), (0, 4)])
def test_packed_is_rounded(text: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(7).standard_normal(shape).astype(F32)
    quantization, key = hu.Quantization(text), hu.Key(1, 2, 3)
    rounded = quantization.round(x, key)
    np.testing.assert_array_equal(quantization.pack(x, key).unpack(), rounded)
    assert str(hu.Quantization(str(quantization))) == str(quantization)


@pytest.mark.parametrize("text", TEXTS[:5])
def test_across_is_transposed(text: str) -> None:
    x = np.random.default_rng(8).standard_normal((70, 45)).astype(F32)
    words = text.split(":")
    at = next(i for i, word in enumerate(words) if word.startswith("tile="))
    lines, columns = words[at][5:].split("x")
    words[at] = f"tile={columns}x{lines}"
    if "4/6" in words:
        words.remove("4/6")  # sums of errors run along lines
        text = text.replace(":4/6", "")
    found = quantize(np.ascontiguousarray(x.T), ":".join(words)).T
    np.testing.assert_array_equal(found, quantize(x, text))


def test_no_words() -> None:
    x = np.ones((4, 32), F32)
    for text in ("nvfp4:eden", "nvfp4:hadamard=16:random", "nvfp4 sr"):
        with pytest.raises(hu.Error, match="random key"):
            quantize(x, text)
    with pytest.raises(hu.UnsupportedError, match="packed numbers cannot tell their signs"):
        hu.Quantization("nvfp4:hadamard=16:random").pack(x, hu.Key(1, 2, 3))


# ---- torchao ----


def codes_of(packed: hu.Packed, count: int, width: int) -> np.ndarray:
    """Element codes of an array whose lines are one row of bytes each."""
    rows = packed.data.reshape(packed.shape[0], -1)[:, : count * width // 8]
    if width == 8:
        return rows
    return np.stack([rows & 15, rows >> 4], axis=2).reshape(packed.shape[0], count)


def scales_of(packed: hu.Packed, count: int, width: int) -> np.ndarray:
    return packed.data.reshape(packed.shape[0], -1)[:, count * width // 8 :]


def test_torchao_mx() -> None:
    torch = pytest.importorskip("torch")
    mx = pytest.importorskip("torchao.prototype.mx_formats.mx_tensor")
    modes = [("FLOOR", "ue8m0"), ("CEIL", "ceil"), ("RCEIL", "rceil"), ("EVEN", "even")]
    elements = [
        ("e4m3fn", torch.float8_e4m3fn, 8),
        ("e5m2", torch.float8_e5m2, 8),
        ("e2m1", torch.float4_e2m1fn_x2, 4),
    ]
    for (mode, word), (name, kind, width), bf16 in itertools.product(
        modes, elements, (False, True)
    ):
        x = numbers(512, 512, 9, bf16)
        scale, data = mx.to_mx(
            torch.from_numpy(x), kind, 32, getattr(mx.ScaleCalculationMode, mode)
        )
        packed = hu.Quantization(f"{name}:tile=1x32:scale={word}").pack(x)
        theirs = data.view(torch.uint8).numpy().reshape(512, -1)
        if width == 4:
            theirs = np.stack([theirs & 15, theirs >> 4], axis=2).reshape(512, 512)
        wanted = scale.view(torch.uint8).numpy()
        np.testing.assert_array_equal(scales_of(packed, 512, width), wanted, f"{name} {mode}")
        np.testing.assert_array_equal(codes_of(packed, 512, width), theirs, f"{name} {mode}")


def test_torchao_nvfp4() -> None:
    torch = pytest.importorskip("torch")
    nvfp4 = pytest.importorskip("torchao.prototype.mx_formats.nvfp4_tensor")
    for has_factor, bf16 in itertools.product((False, True), (False, True)):
        x = numbers(512, 512, 10, bf16)
        x[:, :64] *= F32(2.0**-14)  # scales below the smallest normal number
        factor = nvfp4.per_tensor_amax_to_scale(torch.tensor(float(np.abs(x).max())))
        scales, data = nvfp4.nvfp4_quantize(torch.from_numpy(x), 16, factor if has_factor else None)
        text = "nvfp4:as=ao" + ("" if has_factor else ":factor=none")
        packed = hu.Quantization(text).pack(x)
        if has_factor:
            assert packed.scale.factor == float(factor)
        theirs = data.view(torch.uint8).numpy().reshape(512, 256)
        theirs = np.stack([theirs & 15, theirs >> 4], axis=2).reshape(512, 512)
        wanted = scales.view(torch.uint8).numpy().reshape(512, 32)
        np.testing.assert_array_equal(scales_of(packed, 512, 4), wanted)
        np.testing.assert_array_equal(codes_of(packed, 512, 4), theirs)
