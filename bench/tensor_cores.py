#!/usr/bin/env python3
"""What accumulators of tensor cores do to long sums of FP8 numbers, as Markdown.

usage: bench/tensor_cores.py [--halfulp=build/halfulp] [--k=4096] [--seeds=1,2,3] [--m=64]

Factors are those of `halfulp gemm` in E4M3: normal numbers, uniform ones (-1..1), and log-normal
ones, which are positive, as sums after a ReLU are nearly. The relative error of a matrix is the
Frobenius norm of its error over its own; given are mean and standard deviation over the seeds, in
per cent, of that and of the largest relative error of an element, and the share of terms of which
alignment left nothing.
"""
import json
import statistics
import subprocess
import sys

ACCUMULATORS = ["fmacs", "tc:h100-fp8", "tc:h100-fp8:promote=512", "tc:h100-fp8:promote=128",
                "tc:ada-fp8", "tc:b200-fp8", "fmac8:1/6/9"]
KINDS = ["normal", "uniform", "lognormal"]


def measure(options, kind, seed):
    """Rows of one seed, in the order of the accumulators."""
    command = [options["halfulp"], "gemm", "accumulator=" + ",".join(ACCUMULATORS),
               f"m={options['m']}", f"n={options['m']}", f"k={options['k']}", f"gemm.data={kind}",
               "gemm.input=e4m3fn", f"seed={seed}", "accumulator.semantics=exact", "--json"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(made)["rows"]


def figure(values):
    """Mean and standard deviation, in per cent."""
    return f"{100 * statistics.mean(values):.3g} ({100 * statistics.stdev(values):.1g})"


def main():
    """Print the table."""
    options = {"halfulp": "build/halfulp", "k": "4096", "seeds": "1,2,3", "m": "64"}
    for word in sys.argv[1:]:
        name, _, value = word.lstrip("-").partition("=")
        if name not in options:
            sys.exit(f"unknown option {word}\n{__doc__}")
        options[name] = value
    seeds = options["seeds"].split(",")
    print("| accumulator | " + " | ".join(f"{k}: matrix | largest | lost" for k in KINDS) + " |")
    print("|---|" + "---|---|---|" * len(KINDS))
    runs = {kind: [measure(options, kind, seed) for seed in seeds] for kind in KINDS}
    for index, name in enumerate(ACCUMULATORS):
        cells = []
        for kind in KINDS:
            rows = [run[index] for run in runs[kind]]
            cells += [figure([row[key] for row in rows])
                      for key in ("relative_l2", "max_relative_error")]
            lost = statistics.mean(row["stalled_terms"] / row["accumulators"] for row in rows)
            cells.append(f"{100 * lost:.2g}")
        print(f"| `{name}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
