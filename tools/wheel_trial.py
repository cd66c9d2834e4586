#!/usr/bin/env python3
"""What somebody does first with a wheel, each time in a new environment that has nothing else, and how long it takes.

usage: tools/wheel_trial.py WHEEL [PYTHON ...]

Installs the wheel for each Python, then rounds, trains, asks why and draws: from another folder, with no path or variable
of this one. It prints a row for each Python; what fails ends it.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIRST = """
import halfulp as hu
y = hu.round([0.1, 3.3, 1e6], "e4m3fn:ovf=sat")
assert y.tolist() == [0.1015625, 3.25, 448.0], y
"""
TRAINING = """
import halfulp as hu
run = hu.train(model="cnn-s", data="glyphs", precision="hfp8", data_limit=2000, epochs=1, run_dir="a")
assert run.result["test_accuracy"] > 0.2 and run.hash, run.result
"""
WHY = """
import halfulp as hu
print(hu.why("a"))
"""
FIGURES = """
import halfulp as hu
hu.Format("e4m3fn").plot().savefig("format.pdf")
run = hu.train(model="cnn-s", data="glyphs", precision="hfp8", data_limit=2000, epochs=1, run_dir="b", run_histogram_every=10)
run.plot_exponents().savefig("exponents.pdf")
for name in ("format.pdf", "exponents.pdf"):
    assert open(name, "rb").read(5) == b"%PDF-", name
"""
PROGRAM = "import sys; from halfulp.__main__ import main; sys.argv[1:] = ['doctor']; main()"


def timed(folder: Path, *words: object) -> float:
    """Seconds of a program that must succeed; its words are shown if it does not."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LD_", "HALFULP"))}
    begun = time.monotonic()
    done = subprocess.run([str(w) for w in words], cwd=folder, env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return time.monotonic() - begun


def trial(wheel: Path, python: str) -> "dict[str, float]":
    """Seconds of each step."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inside = folder / "venv/bin/python"
        took = {"environment": timed(folder, python, "-m", "venv", "venv")}
        pip = (inside, "-m", "pip", "install", "-q", "--disable-pip-version-check")
        took["pip install WHEEL"] = timed(folder, *pip, wheel)
        steps = {"a format": FIRST, "a training": TRAINING, "why": WHY, "the program": PROGRAM}
        for step, code in steps.items():
            took[step] = timed(folder, inside, "-I", "-c", code)
        took["pip install matplotlib"] = timed(folder, *pip, "matplotlib")
        took["figures"] = timed(folder, inside, "-I", "-c", FIGURES)
    return took


def main(wheel: str, *pythons: str) -> None:
    """A row for each Python."""
    for python in pythons or (sys.executable,):
        version = subprocess.run([python, "-V"], text=True, capture_output=True, check=True).stdout.strip()
        took = trial(Path(wheel).resolve(), python)
        steps = ", ".join(f"{step} {seconds:.1f}" for step, seconds in took.items())
        print(f"{version}: {sum(took.values()):.0f} s ({steps})", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
