"""Accumulators of tensor cores beside integers of Python, and beside what others wrote of them.

- MMA-Sim (github.com/microsoft/MMA-Sim): HALFULP_MMASIM=FOLDER of a checkout; needs torch.
- mmaemu (PyPI): where it is installed.
- Words of hardware (github.com/north-numerical-computing/MATLAB-tensor-core, model_validation):
  HALFULP_TENSOR_CORE_WORDS=FOLDER of that folder. Files a and b have float32 numbers of 8
  hexadecimal digits, c and d a line of binary digits for each.
"""

from __future__ import annotations

import importlib.util
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfulp as hu

# name, K, F, fraction bits of a result (None: fp16 to nearest), added late, formats of factors
CORES = [
    ("v100-fp16", 4, 23, 23, False, ["fp16"]),
    ("v100-fp16:out=fp16", 4, 23, None, False, ["fp16"]),
    ("a100", 8, 24, 23, False, ["fp16", "bf16"]),
    ("a100-tf32", 4, 24, 23, False, ["tf32"]),
    ("h100", 16, 25, 23, False, ["fp16", "bf16"]),
    ("h100-tf32", 8, 25, 23, False, ["tf32"]),
    ("ada-fp8", 16, 13, 13, False, ["e4m3fn", "e5m2"]),
    ("h100-fp8", 32, 13, 13, False, ["e4m3fn", "e5m2"]),
    ("b200", 16, 25, 23, False, ["fp16", "bf16"]),
    ("b200-tf32", 8, 25, 23, False, ["tf32"]),
    ("b200-fp8", 32, 25, 23, False, ["e4m3fn", "e5m2"]),
    ("b200-fp8-mma", 32, 25, 23, True, ["e4m3fn", "e5m2"]),
]
LEAST = {"fp16": -14, "bf16": -126, "tf32": -126, "e4m3fn": -6, "e5m2": -14}


def numbers(rng: np.random.Generator, shape: tuple[int, ...], name: str, spread: int) -> Any:
    """Normal numbers over some octaves, some of them zero or subnormal, in a format."""
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
    x[rng.random(shape) < 0.05] = 0
    least = rng.random(shape) < 0.1
    x[least] *= 2.0 ** max(LEAST[name], -20)
    return hu.round(x.astype(np.float32), f"{name}:ovf=sat" if name != "tf32" else name)


def exponent(x: Fraction) -> int:
    """floor(log2 |x|) by comparison."""
    x, e = abs(x), abs(x).numerator.bit_length() - abs(x).denominator.bit_length()
    return e - 1 if x < Fraction(2) ** e else e


def cut(x: Fraction, quantum: int) -> Fraction:
    """Toward zero to a multiple of 2^quantum."""
    unit = Fraction(2) ** quantum
    return Fraction(int(x / unit)) * unit


def step(a: Any, b: Any, c: Fraction, core: tuple[Any, ...], least: int) -> Fraction:
    """One step as the definition reads, in rational numbers."""
    _, _, bits, out, late, _ = core
    smallest = -126 if out is not None else -14
    terms = [
        (Fraction(float(x)) * Fraction(float(y)), [Fraction(float(x)), Fraction(float(y))])
        for x, y in zip(a, b)
    ]
    tops = [sum(max(exponent(f), least) for f in fs) for p, fs in terms if p]
    if c and not late:
        tops.append(max(exponent(c), smallest))
    if not tops:
        return c if late else Fraction(0)
    quantum = max(tops) - bits
    total = sum((cut(p, quantum) for p, _ in terms), Fraction(0))
    if not late:
        total += cut(c, quantum)
    if not total:
        return c if late else total
    last = max(exponent(total), smallest) - (10 if out is None else out)
    if out is None:
        return round(total / Fraction(2) ** last) * Fraction(2) ** last
    made = cut(total, last)
    return Fraction(float(np.float32(float(c)) + np.float32(float(made)))) if late else made


def slow(a: Any, b: Any, core: tuple[Any, ...], least: int) -> float:
    """The sum of a dot product."""
    c = Fraction(0)
    for k in range(0, len(a), core[1]):
        c = step(a[k : k + core[1]], b[k : k + core[1]], c, core, least)
    return float(c)


@pytest.mark.parametrize("core", CORES, ids=[c[0] for c in CORES])
def test_steps_equal_rational_numbers(core: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(5)
    for name in core[5]:
        least = LEAST[name] if ":" not in core[0] else -14
        text = f"tc:{core[0]}" + ("" if core[0].startswith("v100") else f":emin={least}")
        for spread in (0, 6):
            a, b = numbers(rng, (6, 70), name, spread), numbers(rng, (70, 5), name, spread)
            found = hu.gemm(a, b, text)
            expected = [[slow(a[i], b[:, j], core, least) for j in range(5)] for i in range(6)]
            assert np.array_equal(found, np.array(expected, np.float32))


def test_promotion_is_a_float32_sum_outside() -> None:
    rng = np.random.default_rng(6)
    a, b = numbers(rng, (4, 1000), "e4m3fn", 2), numbers(rng, (1000, 3), "e4m3fn", 2)
    total = np.zeros((4, 3), np.float32)
    for k in range(0, 1000, 128):
        total += hu.gemm(a[:, k : k + 128], b[k : k + 128], "tc:h100-fp8")
    assert np.array_equal(hu.gemm(a, b, "tc:h100-fp8,promote=128"), total)


def test_counts_tell_what_alignment_lost() -> None:
    a = np.full((1, 64), 2.0**-14, np.float32)
    a[0, 0] = 1
    _, counts = hu.gemm(a, np.ones((64, 1), np.float32), "tc:h100-fp8", counts=True)
    assert (counts.values, counts.terms, counts.stalled) == (64, 64, 63)


# ---- models of others ----


def mma_sim() -> Any:
    """The arithmetic of a checkout of MMA-Sim."""
    folder = os.environ.get("HALFULP_MMASIM")
    if not folder:
        pytest.skip("HALFULP_MMASIM names no checkout of MMA-Sim")
    pytest.importorskip("torch")
    for path in sorted(Path(folder).rglob("*.py")):
        if "def nv_fused_dot_add(" in path.read_text(encoding="utf-8"):
            spec = importlib.util.spec_from_file_location("mma_sim", path)
            assert spec and spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise AssertionError(f"{folder} has no file with nv_fused_dot_add")


@pytest.mark.parametrize(
    "core", [c for c in CORES if not c[4]], ids=[c[0] for c in CORES if not c[4]]
)
def test_steps_equal_mma_sim(core: tuple[Any, ...]) -> None:
    model = mma_sim()
    import torch

    types = {
        "fp16": torch.float16,
        "bf16": torch.bfloat16,
        "tf32": torch.float32,
        "e4m3fn": torch.float8_e4m3fn,
        "e5m2": torch.float8_e5m2,
    }
    outs = {None: "f16", 13: "f32_e8m13", 23: "f32"}
    rng = np.random.default_rng(7)
    for name in core[5]:
        text = f"tc:{core[0]}" + ("" if core[0].startswith("v100") else f":emin={LEAST[name]}")
        count = int(os.environ.get("HALFULP_MMASIM_PRODUCTS", "100"))
        for i in range(count):
            terms = core[1] * int(rng.integers(1, 4))
            a = numbers(rng, (1, terms), name, i % 6)
            b = numbers(rng, (terms, 1), name, i % 6)
            c = torch.tensor(0.0, dtype=torch.float16 if core[3] is None else torch.float32)
            for k in range(0, terms, core[1]):
                left = torch.tensor(a[0, k : k + core[1]]).to(types[name])
                right = torch.tensor(b[k : k + core[1], 0]).to(types[name])
                c = model.nv_fused_dot_add(left, right, c, core[2], outs[core[3]])
            assert float(hu.gemm(a, b, text)[0, 0]) == float(c)


@pytest.mark.filterwarnings("ignore:preset 'b200_mma_sync'")
@pytest.mark.parametrize("preset", ["ada", "hopper", "b200_mma_sync"])
@pytest.mark.parametrize("formats", ["e4m3 e4m3", "e4m3 e5m2", "e5m2 e4m3", "e5m2 e5m2"])
def test_sums_equal_mmaemu(preset: str, formats: str) -> None:
    pytest.importorskip("mmaemu")
    import torch
    from mmaemu.model.chain import chain_gemm

    name = {"ada": "ada-fp8", "hopper": "h100-fp8", "b200_mma_sync": "b200-fp8-mma"}[preset]
    types = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    size = int(os.environ.get("HALFULP_MMAEMU_SIZE", "64"))
    one, other = formats.split()
    rng = np.random.default_rng(8)

    def codes(word: str) -> Any:
        all_codes = torch.tensor(rng.integers(0, 256, (size, 128)).astype(np.uint8))
        finite = torch.isfinite(all_codes.view(types[word]).float())
        return torch.where(finite, all_codes, torch.zeros_like(all_codes))

    a, b = codes(one), codes(other)
    expected = chain_gemm(a, b, fmt_a=one, fmt_b=other, preset=preset).numpy()
    least = {"e4m3": -6, "e5m2": -14}
    x, y = a.view(types[one]).float().numpy(), b.view(types[other]).float().numpy()
    found = hu.gemm(x, y.T, f"tc:{name}:emin={least[one]}/{least[other]}")
    assert np.array_equal(found.view(np.uint32), expected.view(np.uint32))


# ---- words of hardware ----

# folder, format of a and b, K of the words, format of d, accumulator
WORDS = [
    ("V100", "fp16", 4, "fp32", "v100-fp16"),
    ("V100", "fp16", 4, "fp16", "v100-fp16:out=fp16"),
    ("A100", "fp16", 8, "fp32", "a100:emin=-14"),
    ("A100", "bf16", 8, "fp32", "a100"),
    ("A100", "tf32", 4, "fp32", "a100-tf32"),
    ("H100", "fp16", 16, "fp32", "h100:emin=-14"),
    ("H100", "bf16", 16, "fp32", "h100"),
    ("H100", "tf32", 4, "fp32", "h100-tf32"),
    ("H200", "fp16", 16, "fp32", "h100:emin=-14"),
    ("H100", "E4M3", 32, "fp32", "h100-fp8:emin=-6"),
    ("H100", "E5M2", 32, "fp32", "h100-fp8:emin=-14"),
    ("H200", "E4M3", 32, "fp32", "h100-fp8:emin=-6"),
    ("Ada", "E4M3", 32, "fp32", "ada-fp8:emin=-6"),
    ("L40S", "E5M2", 32, "fp32", "ada-fp8:emin=-14"),
    ("B200", "fp16", 16, "fp32", "b200:emin=-14"),
    ("B200", "bf16", 16, "fp32", "b200"),
    ("B200", "tf32", 4, "fp32", "b200-tf32"),
    ("B200", "E4M3", 32, "fp32", "b200-fp8-mma:emin=-6"),
    ("B200", "E5M2", 32, "fp32", "b200-fp8-mma:emin=-14"),
]
ENTERS_AT_ZERO = ("H100", "H200")  # FP8 words of these begin at 0 whatever c says


def bits_of(path: Path) -> Any:
    """A number for each line of binary digits, float32 or float16."""
    lines = path.read_text(encoding="ascii").split()
    whole = np.array([int(line, 2) for line in lines], np.uint32)
    if len(lines[0]) == 16:
        return whole.astype(np.uint16).view(np.float16).astype(np.float32)
    return whole.view(np.float32)


def hex_of(path: Path) -> Any:
    """float32 numbers of 8 hexadecimal digits."""
    words = [int(word, 16) for word in path.read_text(encoding="ascii").split()]
    return np.array(words, np.uint32).view(np.float32)


@pytest.mark.parametrize("row", WORDS, ids=[f"{w[0]}-{w[1]}-{w[3]}" for w in WORDS])
def test_sums_equal_words_of_hardware(row: tuple[str, str, int, str, str]) -> None:
    unit, name, terms, result, core = row
    root = os.environ.get("HALFULP_TENSOR_CORE_WORDS")
    if not root:
        pytest.skip("HALFULP_TENSOR_CORE_WORDS names no folder")
    folder = Path(root) / unit / name
    if not (folder / f"a_{unit}_{name}.txt").exists():
        pytest.skip(f"{folder} has no words")
    a = hex_of(folder / f"a_{unit}_{name}.txt").reshape(-1, terms)
    b = hex_of(folder / f"b_{unit}_{name}.txt").reshape(-1, terms)
    d = bits_of(folder / f"d_{unit}_{result}.txt")
    c = np.zeros(len(a), np.float32)
    if not (unit in ENTERS_AT_ZERO and name.startswith("E")):
        c = bits_of(folder / f"c_{unit}_fp32.txt")
    if result == "fp16":
        c = c.astype(np.float16).astype(np.float32)
    block = next(k for n, k, *_ in CORES if n == core.split(":")[0])
    least = int(core.split("emin=")[1]) if "emin=" in core else 0
    before = np.zeros((1, block), np.float32)
    one = np.zeros((block, 1), np.float32)
    one[0] = 2.0**least
    for i in range(len(d)):  # c is what a step before leaves: c times 1, both of them normal
        before[0, 0] = c[i] / 2.0**least
        x = np.concatenate([before, a[i : i + 1]], axis=1)
        y = np.concatenate([one, b[i].reshape(-1, 1)])
        assert hu.gemm(x, y, f"tc:{core}", threads=1)[0, 0] == d[i], i
