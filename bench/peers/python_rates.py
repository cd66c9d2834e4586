#!/usr/bin/env python3
"""Rates of the Python package halfulp, beside the C function that it calls, ml_dtypes and NumPy: one table.

usage: bench/peers/python_rates.py [NUMBERS] [TURNS]

Needs the package and ml_dtypes (./go python makes such an environment below build/). Each call is one thread's: its
processor time is measured, in turns; the best of each counts. docs/results/python.md has what came of it.
"""
import subprocess
import sys
import time

import ml_dtypes
import numpy as np

import halfulp as hu
from halfulp._ffi import ffi, lib

NUMBERS = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
TURNS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
KINDS = {"e4m3fn": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "bf16": ml_dtypes.bfloat16,
         "fp16": np.float16, "e2m1": ml_dtypes.float4_e2m1fn}


def best(calls):
    """Seconds of the best turn of each."""
    found = dict.fromkeys(calls, np.inf)
    for turn in range(2 * TURNS):
        for name, call in list(calls.items())[:: 1 if turn % 2 else -1]:  # whose neighbours are others in turn
            start = time.thread_time()
            call()
            found[name] = min(found[name], time.thread_time() - start)
    return found


def rates(name, kind):
    """Numbers a second, in 10^9, of one thread; peers round to their type and back to float32."""
    x = np.random.default_rng(1).standard_normal(NUMBERS).astype(np.float32)
    y, fmt = np.zeros_like(x), hu.Format(name)
    source, target = ffi.from_buffer("float[]", x), ffi.from_buffer("float[]", y)

    def peer():
        with np.errstate(all="ignore"):
            return x.astype(kind).astype(np.float32)

    calls = {
        "C": lambda: lib.hu_round_f32(x.size, source, target, fmt._c, 0, ffi.NULL, 0, ffi.NULL),
        "hu.round(out=)": lambda: hu.round(x, fmt, out=y),
        "hu.round": lambda: hu.round(x, fmt),
        "counts=True": lambda: hu.round(x, fmt, counts=True, out=y),
        "peer": peer,
    }
    assert np.array_equal(hu.round(x, fmt), peer())
    return {key: 1e-9 * NUMBERS / seconds for key, seconds in best(calls).items()}


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


def main():
    print("import halfulp: {:.3f} s, of which NumPy {:.3f} s".format(*imports()))
    print("a call of hu.round: {:.2f} us; the C function alone {:.2f} us".format(*overhead()))
    print(f"{NUMBERS} numbers, 10^9 a second:")
    for name, kind in KINDS.items():
        found = rates(name, kind)
        cells = ", ".join(f"{key} {rate:.3f}" for key, rate in found.items())
        print(f"{name}: {cells}; out= to C {found['hu.round(out=)'] / found['C']:.2f}, "
              f"hu.round to peer {found['hu.round'] / found['peer']:.1f}")


if __name__ == "__main__":
    main()
