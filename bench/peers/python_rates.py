#!/usr/bin/env python3
"""Rates of the Python package halfulp, beside the C function that it calls and beside other packages: one table.

usage: bench/peers/python_rates.py [NUMBERS] [TURNS]

Needs the package and ml_dtypes (./go python makes such an environment below build/). PyTorch, qtorch (with ninja and
setuptools: it compiles itself) and gfloat are measured where they are installed. Each call is one thread's: its
processor time is measured, in turns; the best of each counts. docs/results/python.md has what came of it.
"""
import importlib
import subprocess
import sys
import time
import warnings

import ml_dtypes
import numpy as np

import halfulp as hu
from halfulp._ffi import ffi, lib

NUMBERS = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
TURNS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
FEW = 1 << 20  # numbers for what is slow
# Of a format: the type of ml_dtypes or NumPy, PyTorch's, gfloat's name.
KINDS = {"e4m3fn": (ml_dtypes.float8_e4m3fn, "float8_e4m3fn", "ocp_e4m3"),
         "e5m2": (ml_dtypes.float8_e5m2, "float8_e5m2", "ocp_e5m2"),
         "e2m1": (ml_dtypes.float4_e2m1fn, None, "ocp_e2m1"),
         "fp16": (np.float16, "float16", "binary16"),
         "bf16": (ml_dtypes.bfloat16, "bfloat16", "bfloat16")}


def best(calls):
    """Seconds of the best turn of each."""
    found = dict.fromkeys(calls, np.inf)
    for turn in range(2 * TURNS):
        for name, call in list(calls.items())[:: 1 if turn % 2 else -1]:  # whose neighbours are others in turn
            start = time.thread_time()
            call()
            found[name] = min(found[name], time.thread_time() - start)
    return found


def module(name, missing=[]):
    """A package of others, or None: said once."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except Exception as error:  # qtorch compiles itself when it is imported
        if name not in missing:
            missing.append(name)
            print(f"without {name}: {type(error).__name__}: {str(error).splitlines()[0]}")
        return None


def peers(name, x):
    """What others take to round x to the format's numbers, into new arrays of float32: {peer: (call, numbers)}."""
    kind, tensor_kind, info = KINDS[name]
    fmt, found = hu.Format(name), {}

    def converted():
        with np.errstate(all="ignore"):
            return x.astype(kind).astype(np.float32)

    found["NumPy" if kind is np.float16 else "ml_dtypes"] = (converted, x.size)
    if torch := module("torch"):
        torch.set_num_threads(1)
        tensor = torch.from_numpy(x)
        if tensor_kind:
            to = getattr(torch, tensor_kind)
            found["torch .to()"] = (lambda: tensor.to(to).to(torch.float32).numpy(), x.size)
        if qtorch := module("qtorch.quant"):
            found["qtorch"] = (lambda: qtorch.float_quantize(tensor, fmt.exp, fmt.man, rounding="nearest").numpy(), x.size)
    if gfloat := module("gfloat"):
        described = getattr(module("gfloat.formats"), f"format_info_{info}")
        few = x[:FEW]
        found["gfloat"] = (lambda: gfloat.round_ndarray(described, few), few.size)
    return found


def rates(name):
    """Numbers a second, in 10^9, of one thread; and how many numbers of each peer are not ours."""
    x = np.random.default_rng(1).standard_normal(NUMBERS).astype(np.float32)
    y, fmt = np.zeros_like(x), hu.Format(name)
    source, target = ffi.from_buffer("float[]", x), ffi.from_buffer("float[]", y)
    calls = {
        "C": (lambda: lib.hu_round_f32(x.size, source, target, fmt._c, 0, ffi.NULL, 0, ffi.NULL), x.size),
        "in place": (lambda: hu.round(x, fmt, out=y), x.size),
        "counted": (lambda: hu.round(x, fmt, counts=True, out=y), x.size),
        "new": (lambda: hu.round(x, fmt), x.size),
    }
    others = peers(name, x)
    right = hu.round(x, fmt)
    differ = {peer: int((call() != right[:n]).sum()) for peer, (call, n) in others.items()}
    calls |= others
    seconds = best({key: call for key, (call, _) in calls.items()})
    return {key: 1e-9 * n / seconds[key] for key, (_, n) in calls.items()}, differ


def overhead():
    """Microseconds of a call for eight numbers; of the C function alone."""
    x = np.ones(8, np.float32)
    fmt = hu.Format("e4m3fn")
    source, target = ffi.from_buffer("float[]", x), ffi.from_buffer("float[]", x.copy())

    def many(call, times=20_000):
        start = time.thread_time()
        for _ in range(times):
            call()
        return 1e6 * (time.thread_time() - start) / times

    bare = min(many(lambda: lib.hu_round_f32(8, source, target, fmt._c, 0, ffi.NULL, 0, ffi.NULL))
               for _ in range(TURNS))
    return min(many(lambda: hu.round(x, fmt)) for _ in range(TURNS)), bare


def imports():
    """Seconds of `import halfulp`, and how many of them are NumPy's."""
    script = ("import time; a = time.process_time(); import numpy; b = time.process_time(); import halfulp; "
              "print(time.process_time() - a, b - a)")
    turns = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
             for _ in range(TURNS)]
    return min((float(whole), float(numpy)) for whole, numpy in turns)


def exponents():
    """Numbers a second, in 10^9, that hu.exponents counts with one thread; that NumPy's frexp and bincount count."""
    x = np.random.default_rng(1).standard_normal(NUMBERS).astype(np.float32)
    few = x[:FEW]
    seconds = best({"ours": lambda: hu.exponents(x, threads=1), "NumPy": lambda: np.bincount(np.frexp(few)[1] + 148)})
    return 1e-9 * x.size / seconds["ours"], 1e-9 * few.size / seconds["NumPy"]


def main():
    print("import halfulp: {:.3f} s, of which NumPy {:.3f} s".format(*imports()))
    print("a call of hu.round: {:.2f} us; the C function alone {:.2f} us".format(*overhead()))
    print("hu.exponents: {:.3f} 10^9 numbers a second; frexp and bincount {:.4f}".format(*exponents()))
    print(f"{NUMBERS} numbers, 10^9 a second; peers with our rates in theirs, into a new array and in place:")
    for name in KINDS:
        found, differ = rates(name)
        ours = ", ".join(f"{key} {found[key]:.3f}" for key in ("C", "in place", "counted", "new"))
        print(f"{name}: {ours}; in place to C {found['in place'] / found['C']:.2f}")
        for peer, wrong in differ.items():
            new, placed = found["new"] / found[peer], found["in place"] / found[peer]
            print(f"    {peer:12} {found[peer]:.4f}: {new:6.1f} {placed:6.1f}; {wrong} numbers differ", flush=True)


if __name__ == "__main__":
    main()
