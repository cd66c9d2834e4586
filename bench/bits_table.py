#!/usr/bin/env python3
"""Table 3 of the LDP paper at a small scale: ResNet-20 on CIFAR-10 with bits by schedule and learned.

usage: bench/bits_table.py CIFAR10 OUT [--halfulp=build/halfulp] [--seeds=1,2,3] [--images=5000]
                           [--epochs=8] [--threads=2] [--only="sbm,static 8"] [--print]

CIFAR10 holds the binary batches. Every training has a folder of its own in OUT; one that has a
result is not run again, so that the table can be stopped and gone on with. --only runs and shows
these rows alone, --print runs nothing.
Prints test accuracy by seed, mean and spread, and costs relative to static 8 bits, as Markdown.
"""
import math
import statistics
import sys

import tables

# The paper's recipe, shortened: rates fall at half and three quarters of the training.
COMMON = ["model=resnet20", "model.width=0.5", "data.test_limit=10000", "data.augment=crop,flip",
          "batch=128", "lr=0.1", "lr.schedule=step", "lr.per=step", "lr.factor=0.1", "lr.warmup=0",
          "optimizer.momentum=0.9", "optimizer.nesterov=off", "optimizer.weight_decay=1e-4",
          "eval.every=0", "run.histogram_every=0", "run.checkpoint_every=0", "run.quiet=on"]


def rows(steps):
    only = tables.option("only", "")
    return [row for row in all_rows(steps) if not only or row[0] in only.split(",")]


def all_rows(steps):
    yield "fp32", ["precision=fp32"]
    yield "static 8", ["precision=static:8"]
    # Banner et al.'s own method: range norms, these quantised too, gradients of weights from 16 bits.
    yield "sbm", ["precision=static:8", "model.norm=range", "bits.norms=on",
                  "bits.grad_weights=16"]
    # 32 cycles of 2,000 steps in the paper's code: here as many as leave ten steps to each.
    yield "cpt 3-8", ["precision=cpt:3-8", f"bits.cycles={min(32, steps // 10)}"]
    yield "pfq 3-8", ["precision=pfq:3-8", f"bits.interval={max(1, steps // 30)}"]
    yield "ldp 3-8", ["precision=ldp:3-8"]
    yield "ldp 4-8", ["precision=ldp:4-8"]
    yield "ldp 6-10, floats, memory", ["precision=ldp:6-10", "bits.kind=float", "bits.exponent=4",
                                       "bits.cost=memory", "bits.target=0.8"]


def accuracy(result):
    value = result.get("test_accuracy")
    return 10.0 if value is None or math.isnan(value) else 100.0 * value


def mean_of(results, key):
    values = [r["bits"][key] for r in results if "bits" in r and r["bits"].get(key) is not None]
    return f"{statistics.mean(values):.3f}" if values else ""


def show(out, seeds, steps):
    costs = {"training": "relative_training_cost", "inference": "relative_inference_cost",
             "C at the end": "cost_at_end"}
    print("| | " + " | ".join(f"seed {s}" for s in seeds) + " | mean | spread | "
          + " | ".join(costs) + " |\n|---|" + "---|" * (len(seeds) + 2 + len(costs)))
    for name, _ in rows(steps):
        found = [tables.result_of(tables.folder_of(out, name, seed)) for seed in seeds]
        have = [r for r in found if r]
        values = [accuracy(r) for r in have]
        cells = ["" if r is None else f"{accuracy(r):.2f}" for r in found]
        cells.append(f"{statistics.mean(values):.2f}" if values else "")
        cells.append(f"{max(values) - min(values):.2f}" if len(values) > 1 else "")
        print(f"| {name} | " + " | ".join(cells + [mean_of(have, k) for k in costs.values()]) + " |")


def main():
    cifar, out = tables.places(__doc__)
    seeds = [int(s) for s in tables.option("seeds", "1,2,3").split(",")]
    images, epochs = int(tables.option("images", "5000")), int(tables.option("epochs", "8"))
    steps = (images + 127) // 128 * epochs
    shared = [f"data=cifar10:{cifar}", *COMMON, f"data.limit={images}", f"steps={steps}",
              f"lr.milestones={steps // 2},{steps * 3 // 4}",
              f"threads={tables.option('threads', '2')}"]
    # Seed by seed, so that a table that is stopped early has all its rows.
    for seed in seeds if "--print" not in sys.argv else ():
        for name, keys in rows(steps):
            folder = tables.folder_of(out, name, seed)
            if tables.result_of(folder) is None:
                tables.train(folder, [*shared, *keys, f"seed={seed}"])
    show(out, seeds, steps)


if __name__ == "__main__":
    main()
