#!/usr/bin/env python3
"""The training tables of the APS paper at a small scale: 8 workers in one process, CIFAR-10.

usage: bench/aps_tables.py CIFAR10 OUT [--halfulp=build/halfulp] [--seeds=1,2,3] [--tables=4,7,6,5]
                           [--threads=1] [--print]

CIFAR10 holds the binary batches. Every training has a folder of its own in OUT; one that has a
result is not run again, so that a table can be stopped and gone on with. --print runs nothing.
Prints test accuracy (mean and spread over the seeds) by row, as Markdown.
"""
import json
import math
import os
import shutil
import statistics
import subprocess
import sys

# ResNet-20 at half width, 3,072 images, 15 epochs of 6 updates; linear warm-up, two decays.
COMMON = ["model=resnet20", "model.width=0.5", "data.limit=3072", "data.test_limit=2000",
          "data.augment=none", "batch=512", "epochs=15", "workers=8", "schedule=ring",
          "lr.schedule=step", "lr.per=epoch", "lr.milestones=10,13", "lr.warmup=3",
          "eval.every=0", "run.histogram_every=0", "run.checkpoint_every=0", "run.quiet=on"]
SGD = ["lr=0.4", "lr.warmup_start=0.1"]
LARS = ["optimizer=lars", "lr=16", "lr.warmup_start=0.1"]


def rows():
    """(table, name, keys) of every row."""
    none, aps = ["scaling=none"], ["scaling=aps"]
    yield 4, "fp32", SGD
    for fmt in ("e5m2", "e4m3", "e3m0"):
        yield 4, f"{fmt} aps", [*SGD, *aps, f"comm.format={fmt}"]
        yield 4, f"{fmt} none", [*SGD, *none, f"comm.format={fmt}"]
    yield 4, "e3m0 aps2 feedback", [*SGD, "scaling=aps2", "schedule=pairwise", "comm.format=e3m0",
                                    "comm.error_feedback=on"]
    for fmt in ("e5m2", "e4m3"):
        yield 7, f"{fmt} aps, last layer fp32", [*SGD, *aps, f"comm.format={fmt}",
                                                 "comm.exact=last"]
    yield 6, "fp32 for 5 epochs, then e4m3 aps", [*SGD, *aps, "comm.format=0: fp32, 5: e4m3"]
    yield 5, "lars fp32", LARS
    for fmt in ("e4m3", "e5m2"):
        yield 5, f"lars {fmt} aps", [*LARS, *aps, f"comm.format={fmt}"]
        yield 5, f"lars {fmt} none", [*LARS, *none, f"comm.format={fmt}"]


def option(name, usual):
    found = [word.split("=", 1)[1] for word in sys.argv if word.startswith(f"--{name}=")]
    return found[-1] if found else usual


def folder_of(out, name, seed):
    return os.path.join(out, f"{name.replace(' ', '-').replace(',', '')}-{seed}")


def result_of(folder):
    """Test accuracy of a training that has ended, 0.1 where it diverged; None: not run yet."""
    path = os.path.join(folder, "result.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    accuracy = result.get("test_accuracy")
    return 0.1 if accuracy is None or math.isnan(accuracy) else accuracy


def train(program, cifar, folder, keys, seed):
    shutil.rmtree(folder, ignore_errors=True)
    words = [program, "train", f"data=cifar10:{cifar}", *COMMON, *keys, f"seed={seed}",
             f"threads={option('threads', '1')}", f"run.dir={folder}", "--json"]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")


def show(out, seeds, tables):
    for table in tables:
        print(f"\n| table {table} | " + " | ".join(f"seed {s}" for s in seeds)
              + " | mean | spread |\n|---|" + "---|" * (len(seeds) + 2))
        for which, name, _ in rows():
            if which != table:
                continue
            found = [result_of(folder_of(out, name, seed)) for seed in seeds]
            have = [x for x in found if x is not None]
            cells = ["" if x is None else f"{100 * x:.1f}" for x in found]
            mean = f"{100 * statistics.mean(have):.1f}" if have else ""
            spread = f"{100 * (max(have) - min(have)):.1f}" if len(have) > 1 else ""
            print(f"| {name} | " + " | ".join(cells) + f" | {mean} | {spread} |")


def main():
    places = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(places) != 2:
        sys.exit(__doc__)
    cifar, out = map(os.path.abspath, places)
    seeds = [int(s) for s in option("seeds", "1,2,3").split(",")]
    tables = [int(t) for t in option("tables", "4,7,6,5").split(",")]
    # Seed by seed, so that a table that is stopped early has all its rows.
    for seed in seeds if "--print" not in sys.argv else ():
        for table, name, keys in rows():
            folder = folder_of(out, name, seed)
            if table in tables and result_of(folder) is None:
                train(os.path.abspath(option("halfulp", "build/halfulp")), cifar, folder, keys, seed)
    show(out, seeds, tables)


if __name__ == "__main__":
    main()
