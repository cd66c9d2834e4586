#!/usr/bin/env python3
"""Every built-in model as a network file, beside the model: docs/results/networks.md.

The first table plans model and file (`halfulp model ... --json`) for one batch and compares layer by layer: shapes,
parameters, multiply-adds, formats, bytes. The second runs `halfulp plan` in turns with the built-in model, with the file
and with the file of the reference page, and `halfulp bench step` likewise: medians of the time and of the processor time
of the whole command.

    bench/network_files.py [--times] [--runs 15] [--steps 8]
"""
import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HALFULP = os.path.abspath(os.environ.get("HALFULP", "build/halfulp"))
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../docs/reference/network-file.md")
# Large models in few samples: a plan counts all numbers of a batch.
BATCH = "batch=4"


def call(*words, cwd):
    done = subprocess.run([HALFULP, *words], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"halfulp {' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def models(cwd):
    return [found.group(1) for found in re.finditer(r"^  (\S+) ", call("help", "models", cwd=cwd), re.MULTILINE)]


def round_trips(cwd):
    print("| model | nodes | lines | of them blocks | parameters | plan of the file |\n|---|---|---|---|---|---|")
    for name in models(cwd):
        data = ["data.size=96"] if name == "resnet50" else []
        own = json.loads(call("model", name, BATCH, *data, "precision=hfp8", "out=net.yaml", "--json", cwd=cwd))
        file = json.loads(call("model", "net.yaml", BATCH, *data, "precision=hfp8", "--json", cwd=cwd))
        with open(f"{cwd}/net.yaml", encoding="utf-8") as text:
            lines = text.read().splitlines()
        uses = sum("{block:" in line for line in lines)
        equal = {**file, "model": name} == own
        print(f"| {name} | {len(own['layers'])} | {len(lines)} | {uses} | {own['parameters']:,} | "
              f"{'equal' if equal else 'DIFFERS'} |", flush=True)


def reference_file(cwd):
    with open(PAGE, encoding="utf-8") as page:
        text = re.search(r"```yaml\n(halfulp_network: 1\nname: resnet20\n.*?)```", page.read(), re.DOTALL).group(1)
    with open(f"{cwd}/page.yaml", "w", encoding="utf-8") as file:
        file.write(text)


def seconds(*words, cwd):
    """(time, processor time) of a call, in milliseconds."""
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    call(*words, cwd=cwd)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = sum(getattr(after, kind) - getattr(before, kind) for kind in ("ru_utime", "ru_stime"))
    return 1e3 * (time.perf_counter() - begun), 1e3 * spent


def times(cwd, runs, steps):
    call("model", "resnet20", "out=written.yaml", cwd=cwd)
    reference_file(cwd)
    subjects = {"built-in": "resnet20", "file that `model` writes": "written.yaml", "file of the page": "page.yaml"}
    commands = {"plan": ["plan", "precision=hfp8", "threads=1"],
                "steps": ["bench", "step", "precision=fp32", "batch=32", "threads=1", f"repeat={steps}"]}
    found = {(name, what): [] for name in subjects for what in commands}
    for _ in range(runs):
        for what, words in commands.items():
            for name, model in subjects.items():
                found[name, what].append(seconds(*words, f"model={model}", cwd=cwd))
    print("| ResNet-20 | plan | its processor time | steps | their processor time |\n|---|---|---|---|---|")
    for name in subjects:
        cells = [f"{statistics.median(turn[k] for turn in found[name, what]):.{digits}f} ms"
                 for what, digits in (("plan", 1), ("steps", 0)) for k in (0, 1)]
        print(f"| {name} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", action="store_true", help="the second table alone")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cwd:
        if options.times:
            times(cwd, options.runs, options.steps)
        else:
            round_trips(cwd)


if __name__ == "__main__":
    main()
