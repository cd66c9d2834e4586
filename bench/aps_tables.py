#!/usr/bin/env python3
"""The training tables of the APS paper at a small scale: 8 workers in one process, CIFAR-10.

usage: bench/aps_tables.py CIFAR10 OUT [--halfulp=build/halfulp] [--seeds=1,2,3] [--tables=4,7,6,5]
                           [--threads=1] [--print]

CIFAR10 holds the binary batches. Every training has a folder of its own in OUT; one that has a
result is not run again, so that a table can be stopped and gone on with. --print runs nothing.
Prints test accuracy (mean and spread over the seeds) by row, as Markdown.
"""
import math
import statistics
import sys

import tables

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


def accuracy_of(folder):
    """Test accuracy of a training that has ended, 0.1 where it diverged; None: not run yet."""
    result = tables.result_of(folder)
    if result is None:
        return None
    accuracy = result.get("test_accuracy")
    return 0.1 if accuracy is None or math.isnan(accuracy) else accuracy


def show(out, seeds, wanted):
    for table in wanted:
        print(f"\n| table {table} | " + " | ".join(f"seed {s}" for s in seeds)
              + " | mean | spread |\n|---|" + "---|" * (len(seeds) + 2))
        for which, name, _ in rows():
            if which != table:
                continue
            found = [accuracy_of(tables.folder_of(out, name, seed)) for seed in seeds]
            have = [x for x in found if x is not None]
            cells = ["" if x is None else f"{100 * x:.1f}" for x in found]
            mean = f"{100 * statistics.mean(have):.1f}" if have else ""
            spread = f"{100 * (max(have) - min(have)):.1f}" if len(have) > 1 else ""
            print(f"| {name} | " + " | ".join(cells) + f" | {mean} | {spread} |")


def main():
    cifar, out = tables.places(__doc__)
    seeds = [int(s) for s in tables.option("seeds", "1,2,3").split(",")]
    wanted = [int(t) for t in tables.option("tables", "4,7,6,5").split(",")]
    shared = [f"data=cifar10:{cifar}", *COMMON, f"threads={tables.option('threads', '1')}"]
    # Seed by seed, so that a table that is stopped early has all its rows.
    for seed in seeds if "--print" not in sys.argv else ():
        for table, name, keys in rows():
            folder = tables.folder_of(out, name, seed)
            if table in wanted and tables.result_of(folder) is None:
                tables.train(folder, [*shared, *keys, f"seed={seed}"])
    show(out, seeds, wanted)


if __name__ == "__main__":
    main()
