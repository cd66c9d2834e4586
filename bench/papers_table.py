#!/usr/bin/env python3
"""Rows of the five papers that had no record, at a small scale: one network, a few precisions, three seeds.

usage: bench/papers_table.py DATA OUT [--halfulp=build/halfulp] [--seeds=1,2,3] [--threads=1]
                             [--tables=lee-resnet18,aps-fcn,..] [--print]

DATA holds a folder of each data set: cifar10 (binary batches), camvid/train, trainannot, test and testannot;
frames/train and test; text/wikitext2_test.txt and wikitext2_valid.txt. Every training has a folder of its own in OUT;
one that has a result is not run again, so that the tables can be stopped and gone on with. --print runs nothing.
All rows of a table share data, length, rate and seeds; the metric is that of all test samples after the last step, on
which nothing was chosen. A row is compared with the first row of its table, paired by seed: separated means that the
mean difference is more than Student's t for 95 % times its standard error.
"""
import math
import os
import statistics
import sys

import tables

QUIET = ["eval.every=0", "run.histogram_every=0", "run.checkpoint_every=0", "run.quiet=on"]
PICTURES = ["data=cifar10:{data}/cifar10", "data.limit=4000", "data.test_limit=10000", "data.augment=crop,flip",
            "batch=128"]
LEE = [*PICTURES, "epochs=5", "optimizer.nesterov=off", "optimizer.momentum=0.9", "optimizer.weight_decay=5e-4",
       "lr=0.05", "lr.schedule=cosine", "lr.warmup=0"]
WORDS = ["data=text:{data}/text/wikitext2_test.txt", "data.valid={data}/text/wikitext2_valid.txt", "data.unit=word",
         "data.min_count=3", "data.test_limit=1600", "epochs=1"]
ASSIGNMENTS = [("fp32", ["precision=fp32"]), ("operator", ["precision=operator"]),
               ("demote .6", ["precision=demote:0.6+promote"]),
               ("demote .6, increasing", ["precision=demote:0.6:increasing+promote"]),
               ("everything low", ["precision=uniform"])]
WORKERS = ["workers=8", "schedule=ring"]


def wires(*formats):
    """Gradients between workers in these formats, with and without APS."""
    yield "fp32", [*WORKERS, "scaling=none"]
    for name in formats:
        for scaling in ("aps", "none"):
            yield f"{name} {scaling}", [*WORKERS, f"scaling={scaling}", f"comm.format={name}"]


def bits(low, high, *further, learned=()):
    """Static, cyclic, progressive and learned bits, gradients in the most of them; learned: keys of the last alone."""
    yield f"static {high}", [f"precision=static:{high}", *further]
    yield "fp32", ["precision=fp32"]
    yield f"cpt {low}-{high}", [f"precision=cpt:{low}-{high}", "bits.cycles=8", *further]
    yield f"pfq {low}-{high}", [f"precision=pfq:{low}-{high}", "bits.interval=10", *further]
    yield f"ldp {low}-{high}", [f"precision=ldp:{low}-{high}", *further, *learned]


# Title, keys of all rows, rows.
TABLES = {
    "lee-resnet18": ("Lee et al., figures 4 and 6: ResNet-18", ["model=resnet18", "model.width=0.25", *LEE],
                     ASSIGNMENTS),
    "lee-mobilenet": ("Lee et al., figures 4 and 6: MobileNet-v2",
                      ["model=mobilenet-v2", "model.width=0.25", *LEE], ASSIGNMENTS),
    "aps-davidnet": ("APS, table 4: DavidNet, 8 workers",
                     ["model=davidnet", "model.width=0.25", PICTURES[0], "data.limit=3072", "data.test_limit=10000",
                      "data.augment=crop,flip,cutout", "batch=512", "epochs=12", "optimizer.nesterov=on",
                      "lr.schedule=piecewise", "lr.per=epoch", "lr.knots=['0:0', '3:0.4', '12:0']", "lr.warmup=0",
                      "scaler=constant", "scaler.init=4096"], list(wires("e5m2", "e4m3"))),
    "aps-fcn": ("APS, table 3: FCN, 8 workers of 2 pictures",
                ["model=fcn-s", "data=dense:{data}/camvid", "data.unlabelled=11", "data.drop_last=on", "batch=16",
                 "steps=66"], list(wires("e5m2", "e4m3"))),
    "ldp-deit": ("LDP, table 4: DeiT", ["model=deit-s", *PICTURES, "epochs=5"], list(bits(4, 8))),
    "ldp-transformer": ("LDP, table 6: Transformer", ["model=transformer-lm-s", *WORDS], list(bits(4, 8))),
    "ldp-pan": ("LDP, table 5: PAN, pictures enlarged four times",
                ["model=pan-s", "data=pairs:{data}/frames", "data.crops=3200", "steps=400", "batch=8",
                 "optimizer=adam", "optimizer.beta2=0.99", "lr=0.002", "lr.schedule=cosine"],
                list(bits(8, 16, "bits.grad=16", "bits.layers=[upconv*: float, att*: float, hrconv*: float]",
                          learned=["bits.target=0.85", "bits.lr=20"]))),
}
# Two-sided, 95 %, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
PERCENT = ("accuracy", "mean_iou", "mean IoU")


def value_of(result):
    """The metric as it is printed; None: a training that diverged."""
    value = result["metric"]["value"] if result.get("metric") else None
    if value is None or math.isnan(value):
        return None
    return 100 * value if result["metric"]["name"] in PERCENT else value


def verdict(values, first):
    """Of two rows paired by seed."""
    if any(value is None for value in values):
        return "diverged"
    pairs = [a - b for a, b in zip(values, first) if b is not None]
    if len(pairs) < 2:
        return ""
    error = statistics.stdev(pairs) / math.sqrt(len(pairs))
    far = abs(statistics.mean(pairs)) > STUDENT[len(pairs) - 1] * error
    return f"{statistics.mean(pairs):+.2f}, {'separated' if far else 'not separated'}"


def costs(results):
    """Share of bits or of cost, mean over the seeds."""
    kept = [r["bits"]["relative_training_cost"] for r in results if r.get("bits")]
    return statistics.mean(kept) if kept else statistics.mean(r["low_precision_ratio"] or 0 for r in results)


def show(out, name, seeds):
    title, _, rows = TABLES[name]
    found = {row: [tables.result_of(tables.folder_of(os.path.join(out, name), row, seed)) for seed in seeds]
             for row, _ in rows}
    some = next((r for results in found.values() for r in results if r and r.get("metric")), None)
    print(f"\n{title} ({some['metric']['name'] if some else '-'})\n\n| | " + " | ".join(f"seed {s}" for s in seeds)
          + f" | mean | sd | less {rows[0][0]}, paired | low ratio or training cost |\n|---|" + "---|" * (len(seeds) + 4))
    for row, _ in rows:
        have = [r for r in found[row] if r]
        cells = ["" if r is None else "diverged" if value_of(r) is None else f"{value_of(r):.2f}" for r in found[row]]
        kept = [v for v in map(value_of, have) if v is not None]
        cells.append(f"{statistics.mean(kept):.2f}" if kept else "")
        cells.append(f"{statistics.stdev(kept):.2f}" if len(kept) > 1 else "")
        whole = have and len(have) == len(seeds) and all(found[rows[0][0]]) and row != rows[0][0]
        cells.append(verdict(list(map(value_of, have)), list(map(value_of, found[rows[0][0]]))) if whole else "")
        cells.append(f"{costs(have):.3f}" if have else "")
        print(f"| {row} | " + " | ".join(cells) + " |")


def main():
    data, out = tables.places(__doc__)
    seeds = [int(s) for s in tables.option("seeds", "1,2,3").split(",")]
    names = tables.option("tables", ",".join(TABLES)).split(",")
    threads = [f"threads={tables.option('threads', '1')}"]
    jobs = [(name, row, keys, seed) for seed in seeds for name in names for row, keys in TABLES[name][2]]
    for name, row, keys, seed in [] if "--print" in sys.argv else jobs:
        folder = tables.folder_of(os.path.join(out, name), row, seed)
        if tables.result_of(folder) is None:
            shared = [key.format(data=data) for key in TABLES[name][1]]
            tables.train(folder, [*shared, *keys, *QUIET, *threads, f"seed={seed}"])
    for name in names:
        show(out, name, seeds)


if __name__ == "__main__":
    main()
