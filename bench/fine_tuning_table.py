#!/usr/bin/env python3
"""A network goes on with 160 pictures of classes that it has never seen: docs/how-to/fine-tuning.md.

usage: bench/fine_tuning_table.py CIFAR10 OUT [--halfulp=build/halfulp] [--seeds=1,2,3] [--epochs=6]
                                  [--rounds=40] [--threads=1] [--only="fp32, from scratch;..."]
                                  [--print]

CIFAR10 holds the binary batches. The trunk is trained on six of its classes, --epochs of all their
pictures; each seed draws 40 training pictures of each of the four others, of which --rounds are
made. Tested are the 4,000 test pictures of those four, which nothing is chosen on. Every training
has a folder of its own in OUT; one that has a result is not run again, so that the table can be
stopped and gone on with. --only runs and shows these rows alone (names between semicolons),
--print runs nothing.
Prints the test accuracy by seed, mean and spread, as Markdown.
"""
import os
import random
import statistics
import struct
import subprocess
import sys
import zlib

import tables

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
NEW = ["airplane", "bird", "dog", "truck"]
SIDE, EACH = 32, 40

COMMON = ["model=resnet20", "model.width=0.5", "data.size=32", "data.augment=crop,flip",
          "lr.schedule=cosine", "optimizer.momentum=0.9", "optimizer.weight_decay=5e-4",
          "eval.every=0", "run.histogram_every=0", "run.quiet=on"]
FROZEN = "lr.rules=['fc.*: 1', '*: 0']"


# ---- pictures in folders of their classes ----

def records(path):
    """(class, planes of red, green and blue) of a batch."""
    size = 1 + 3 * SIDE * SIDE
    with open(path, "rb") as file:
        data = file.read()
    for at in range(0, len(data), size):
        yield CLASSES[data[at]], data[at + 1:at + size]


def png(planes):
    def chunk(kind, data):
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    area = SIDE * SIDE
    pixels = bytes(planes[c * area + i] for i in range(area) for c in range(3))
    rows = b"".join(b"\0" + pixels[3 * SIDE * y:3 * SIDE * (y + 1)] for y in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1))
            + chunk(b"IEND", b""))


def put(folder, pictures):
    """pictures: (class, number, planes)"""
    for name, number, planes in pictures:
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        with open(os.path.join(folder, name, f"{number:05d}.png"), "wb") as file:
            file.write(png(planes))


def make_pictures(cifar, out, seeds):
    """OUT/known: the six classes; OUT/new-S: what seed S draws of the four others."""
    done = os.path.join(out, "pictures-are-there-" + "-".join(map(str, seeds)))
    if os.path.exists(done):
        return
    halves = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "val": ["test_batch.bin"]}
    for half, files in halves.items():
        batch = [r for f in files for r in records(os.path.join(cifar, f))]
        all_of = [(name, i, planes) for i, (name, planes) in enumerate(batch)]
        put(os.path.join(out, "known", half), [r for r in all_of if r[0] not in NEW])
        for seed in seeds:
            drawn = [r for r in all_of if r[0] in NEW]
            if half == "train":
                draw = random.Random(seed)
                drawn = [r for name in NEW
                         for r in draw.sample([r for r in drawn if r[0] == name], EACH)]
            put(os.path.join(out, f"new-{seed}", half), drawn)
    with open(done, "w", encoding="utf-8"):
        pass


# ---- trainings ----

def trunk_of(out):
    return os.path.join(out, "trunk")


def rows(out):
    """Name, precision, keys, of what goes on with the 160 pictures."""
    only = tables.option("only", "")
    start = [f"init={trunk_of(out)}", "init.skip=fc.*"]
    for precision in ("fp32", "hfp8"):
        for what, keys in (("from scratch", ["lr=0.02"]),
                           ("trunk, all of it goes on", [*start, "lr=0.1"]),
                           ("trunk, only the head learns", [*start, "lr=0.1", FROZEN])):
            name = f"{precision}, {what}"
            if not only or name in only.split(";"):
                yield name, precision, keys


def train_trunk(out, shared, epochs):
    """Whoever goes on with 8 bits goes on from the same float32 weights: those that one finds."""
    if tables.result_of(trunk_of(out)) is None:
        tables.train(trunk_of(out), [f"data=folder:{out}/known", *COMMON, *shared, "seed=1",
                                     f"epochs={epochs}", "batch=64", "lr=0.1"])


def show(out, seeds):
    print("| | " + " | ".join(f"seed {s}" for s in seeds) + " | mean | spread |\n|---|"
          + "---|" * (len(seeds) + 2))
    for name, _, _ in rows(out):
        found = [tables.result_of(tables.folder_of(out, name, seed)) for seed in seeds]
        values = [100 * r["test_accuracy"] for r in found if r]
        cells = [f"{100 * r['test_accuracy']:.2f}" if r else "" for r in found]
        cells.append(f"{statistics.mean(values):.2f}" if values else "")
        cells.append(f"{max(values) - min(values):.2f}" if len(values) > 1 else "")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    cifar, out = tables.places(__doc__)
    os.makedirs(out, exist_ok=True)
    seeds = [int(s) for s in tables.option("seeds", "1,2,3").split(",")]
    shared = [f"threads={tables.option('threads', '1')}"]
    if "--print" not in sys.argv:
        make_pictures(cifar, out, seeds)
        train_trunk(out, shared, tables.option("epochs", "6"))
        for seed in seeds:
            for name, precision, keys in rows(out):
                folder = tables.folder_of(out, name, seed)
                if tables.result_of(folder) is None:
                    tables.train(folder, [f"data=folder:{out}/new-{seed}", *COMMON, *shared, *keys,
                                          f"precision={precision}", f"seed={seed}", "batch=32",
                                          f"epochs={tables.option('rounds', '40')}"])
    show(out, seeds)


if __name__ == "__main__":
    main()
