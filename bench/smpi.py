#!/usr/bin/env python3
"""How long the sum of a large model's gradients takes on a large network: the same processes as with
MPI, simulated by SimGrid's SMPI, beside the time that `halfulp plan` and `halfulp comm` predict.

    bench/smpi.py [--nodes 256] [--link 10G] [--latency 10us] [--elements 25557032] [--layers 161]
                  [--bucket BYTES] [SCHEDULE:SCALING:FORMAT ...]

Every node has a link of its own to one switch. Only the network takes time. SMPI's factors for
latency and bandwidth, fitted to an old cluster, are off: with them the time jumps where messages of
64 KiB begin. Exit code 0; 1: 8 bits around a ring are less than 3.4 times as fast as float32, or a
prediction is more than 10 % off; 77: skipped, with the reason.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="cluster" prefix="host-" radical="0-{last}" suffix="" speed="100Gf" bw="{rate}bps"
             lat="{latency}"/>
  </zone>
</platform>
"""
CASES = [f"{schedule}:{numbers}" for schedule in ("ring", "halving", "hier2d:16", "hier:16")
         for numbers in ("none:fp32", "none:bf16", "aps:e5m2", "aps:e3m0")]
CASES += [f"{schedule}:aps2:e5m2" for schedule in ("pairwise", "hier2d:16", "hier:16")]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def split(case):
    """'hier:16:aps:e5m2' -> schedule 'hier:16', scaling, format."""
    words = case.split(":")
    return [":".join(words[:-2]), words[-2], words[-1]]


def simulate(options, cases):
    """Lines of tests/mpi/time.c as dictionaries."""
    program = os.path.join(options.build, "mpi_time_smpi.so")
    with tempfile.TemporaryDirectory() as folder:
        platform = os.path.join(folder, "platform.xml")
        Path(platform).write_text(PLATFORM.format(last=options.nodes - 1, rate=options.link,
                                                  latency=options.latency), encoding="utf-8")
        words = [w for case in cases for w in split(case)]
        out = subprocess.run(
            ["smpirun", "-np", str(options.nodes), "-platform", platform, "--cfg=smpi/lat-factor:0:1",
             "--cfg=smpi/bw-factor:0:1", "--cfg=smpi/simulate-computation:no",
             "--log=root.thresh:error", program, options.link, options.latency,
             str(options.elements), str(options.layers), str(options.bucket), *words],
            check=True, stdout=subprocess.PIPE, text=True).stdout
    line = re.compile(r"(\S+) (\S+) (\S+) buckets (\d+) steps (\d+) seconds (\S+) predicted (\S+)")
    return [{"name": found.group(1, 2, 3), "steps": int(found[5]), "seconds": float(found[6]),
             "predicted": float(found[7])} for found in line.finditer(out)]


def show(options, rows):
    print(f"{options.nodes} nodes, {options.link}bit/s, {options.latency} a link, {options.elements} "
          f"gradients in {options.layers} tensors; SMPI with lat-factor 0:1, bw-factor 0:1\n")
    print("| schedule | scaling | format | steps | SMPI, ms | predicted, ms | off |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        off = row["predicted"] / row["seconds"] - 1.0
        print(f"| {' | '.join(row['name'])} | {row['steps']} | {1e3 * row['seconds']:.1f} | "
              f"{1e3 * row['predicted']:.1f} | {100 * off:+.1f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=256)
    parser.add_argument("--link", default="10G")
    parser.add_argument("--latency", default="10us")
    parser.add_argument("--elements", type=int, default=25557032, help="those of ResNet-50")
    parser.add_argument("--layers", type=int, default=161)
    parser.add_argument("--bucket", type=int, default=1 << 40, help="bytes of float32 gradients")
    parser.add_argument("--build", default=str(SOURCE / "build"))
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.build, "mpi_time_smpi.so")):
        skip(f"{options.build} has no mpi_time_smpi.so: the build found no smpicc, or made no tests")
    rows = simulate(options, options.cases)
    show(options, rows)
    seconds = {tuple(row["name"]): row["seconds"] for row in rows}
    wide, narrow = seconds.get(("ring", "none", "fp32")), seconds.get(("ring", "aps", "e5m2"))
    gain = wide / narrow if wide and narrow else None
    if gain:
        print(f"\nring: e5m2 with aps is {gain:.2f} times as fast as float32")
    off = max(abs(row["predicted"] / row["seconds"] - 1.0) for row in rows)
    return 1 if (gain and gain < 3.4) or off > 0.10 else 0


if __name__ == "__main__":
    sys.exit(main())
