#!/usr/bin/env python3
"""Failures of small trainings, and what the first advice of `why` makes of them.

usage: bench/advice_table.py OUT [--halfulp=build/halfulp] [--threads=1] [--seeds=3] [--only=PART]
                             [--print]

Every training has a folder of its own in OUT; one that has a result is not run again, so that the
table can be stopped and gone on with. --only takes the failures whose name has that part; --print
runs nothing. Prints, as Markdown: the metric of float32, of the failure and of the failure with the
first advice, and that advice; and how many came within 2 points of float32 (0.5 dB).

All that is of the first seed. float32 is trained with --seeds of them, for how far it scatters by
itself; and so is advice near the edge: what misses the line, or keeps it by less than a point
(0.25 dB). Two columns beside each other: whether the line is kept, and whether the first seed is
no worse than the worst seed of float32.
"""
import json
import math
import os
import subprocess
import sys

import tables

JOBS = {
    "cnn-s": ["model=cnn-s", "model.width=0.5", "data.limit=1000", "epochs=20", "batch=32"],
    "resnet20": ["model=resnet20", "model.width=0.25", "data.limit=800", "epochs=14", "batch=32"],
    "resnet20-long": ["model=resnet20", "model.width=0.25", "data.limit=800", "epochs=20",
                      "batch=8", "lr=0.03"],
    "squeezenet": ["model=squeezenet", "model.width=0.25", "data.limit=800", "epochs=10",
                   "batch=32", "lr=0.05"],
    "autoencoder": ["model=autoencoder", "model.width=0.25", "data.limit=600", "epochs=8",
                    "batch=32"],
}
COMMON = ["data=glyphs", "data.test_limit=1000", "eval.every=0", "run.quiet=on",
          "run.checkpoint_every=0"]


def by_role(weight, act, grad, wgrad):
    return f"precision=w={weight},act={act},grad={grad},wgrad={wgrad}"


def rules(*texts):
    return f"precision.rules=[{', '.join(repr(text) for text in texts)}]"


CONSTANT = ["precision=fp16", "scaler=constant"]
UNDER = "e2m3:bias=-40"  # nothing below 2^38
RESIDUAL = [
    ("e4m3", ["precision=e4m3"]),
    ("e4m3fn", ["precision=e4m3fn"]),
    ("e2m3", ["precision=e2m3"]),
    ("scale 1e9", [*CONSTANT, "scaler.init=1e9"]),
    ("gradients e4m3", [by_role("e4m3", "e4m3", "e4m3", "e4m3"), "scaler=none"]),
    ("one norm", [rules("layer2.0.bn1.weight: e2m3:bias=-40")]),
]
FAILURES = [
    ("cnn-s", "e4m3", ["precision=e4m3"]),
    ("cnn-s", "e4m3fn", ["precision=e4m3fn"]),
    ("cnn-s", "e2m3", ["precision=e2m3"]),
    ("cnn-s", "e3m2", ["precision=e3m2"]),
    ("cnn-s", "e2m1", ["precision=e2m1"]),
    ("cnn-s", "e5m2", ["precision=e5m2"]),
    ("cnn-s", "e4m3 bias 9", ["precision=e4m3:bias=9:ovf=sat"]),
    ("cnn-s", "e2m1 scaled", ["precision=e2m1:scale=current"]),
    ("cnn-s", "mxfp4", ["precision=mxfp4"]),
    ("cnn-s", "uniform4", ["precision=uniform4"]),
    ("cnn-s", "gradients e4m3", [by_role("fp16", "fp16", "e4m3", "e4m3"), "scaler=none"]),
    ("cnn-s", "gradients e2m1", [by_role("fp16", "fp16", "e2m1", "e2m1"), "scaler=none"]),
    ("cnn-s", "weights e2m1", [by_role("e2m1", "fp16", "fp16", "fp16")]),
    ("cnn-s", "activations e2m1", [by_role("fp16", "e2m1", "fp16", "fp16")]),
    ("cnn-s", "scale 1e9", [*CONSTANT, "scaler.init=1e9"]),
    ("cnn-s", "scale 2^40", [*CONSTANT, "scaler.init=1099511627776"]),
    ("cnn-s", "scale 2^-12", [*CONSTANT, "scaler.init=0.000244140625"]),
    ("cnn-s", "e4m3 scale 1e6", ["precision=e4m3", "scaler=constant", "scaler.init=1e6"]),
    ("cnn-s", "one gradient", ["precision=bf16", rules(f"bn3.out.grad: {UNDER}")]),
    ("cnn-s", "one weight", ["precision=bf16", rules(f"conv2.weight: {UNDER}")]),
    ("cnn-s", "one activation", ["precision=fp16", rules("relu2.out: e5m2:bias=70")]),
    ("cnn-s", "input and gradient",
     [rules("input: e2m3:bias=5", f"bn3.out.grad: {UNDER}")]),
    ("cnn-s", "masters off", [by_role("e4m3fn", "fp16", "fp16", "fp16"), "master=off"]),
    ("cnn-s", "sums in e5m0", ["accumulator=fmac:e5m0"]),
    ("cnn-s", "sums in e2m1", ["accumulator.rules=[\"conv2.forward: fmac:e2m1:bias=10\"]"]),
    ("cnn-s", "rate 100", ["lr=100", "lr.schedule=constant", "optimizer.nesterov=off"]),
    ("cnn-s", "decay 50", ["optimizer.weight_decay=50", "lr.schedule=constant"]),
    *[(job, name, keys) for job in ("resnet20", "resnet20-long") for name, keys in RESIDUAL],
    ("squeezenet", "e4m3", ["precision=e4m3"]),
    ("squeezenet", "scale 1e9", [*CONSTANT, "scaler.init=1e9"]),
    ("autoencoder", "e4m3", ["precision=e4m3"]),
    ("autoencoder", "e2m3", ["precision=e2m3"]),
]


def keys_of(job):
    return [*JOBS[job], *COMMON, f"threads={tables.option('threads', '1')}"]


def metric(result):
    """In points or dB; None: it diverged before there was one."""
    value = result["metric"]["value"]
    if value is None or math.isnan(value):
        return None
    return value if result["metric"]["name"] == "psnr" else 100.0 * value


def tolerance(job):
    return 0.5 if job == "autoencoder" else 2.0


def advice(folder):
    """The keys of the first option, its line, or the reason why there is none."""
    program = os.path.abspath(tables.option("halfulp", "build/halfulp"))
    done = subprocess.run([program, "why", folder, "--json"], stdout=subprocess.PIPE, check=True,
                          text=True)
    found = json.loads(done.stdout)["advice"] or {"options": [], "reason": None}
    if found["options"]:
        return found["options"][0]["keys"], found["options"][0]["line"]
    return None, found["reason"] or "nothing is to be repaired"


def train_seed(out, name, what, seed, keys):
    """One training of a seed; its result."""
    folder = tables.folder_of(out, name, what if seed == 1 else f"{what}-{seed}")
    if tables.result_of(folder) is None and "--print" not in sys.argv:
        tables.train(folder, [*keys, f"seed={seed}"])
    return tables.result_of(folder)


def train_advised(out, name, seed, keys, line):
    """The same where another advice than before is another training."""
    folder = tables.folder_of(out, name, "advised" if seed == 1 else f"advised-{seed}")
    told = os.path.join(folder, "advice.txt")
    is_same = os.path.exists(told) and open(told, encoding="utf-8").read() == line
    if not is_same and "--print" not in sys.argv:
        tables.train(folder, [*keys, f"seed={seed}"])
        with open(told, "w", encoding="utf-8") as file:
            file.write(line)
    return tables.result_of(folder)


def is_near_edge(job, best, then):
    """Missed, or kept by less than half of the tolerance."""
    return then is None or then < best - 0.5 * tolerance(job)


def run(out, job, name, keys, references):
    """The failure, and its seeds with advice behind its own keys; (result, results, the advice)."""
    failure = train_seed(out, f"{job} {name}", "failure", 1, [*keys_of(job), *keys])
    if failure is None:
        return None, [], "not run yet"
    more, line = advice(tables.folder_of(out, f"{job} {name}", "failure"))
    if more is None:
        return failure, [], line
    given = {word.split("=", 1)[0] for word in more}
    kept = [word for word in keys if word.split("=", 1)[0] not in given]
    after = []
    for seed in range(1, len(references) + 1):
        if seed == 2 and after[0] and not is_near_edge(job, references[0], metric(after[0])):
            break
        words = [*keys_of(job), *kept, *more]
        after.append(train_advised(out, f"{job} {name}", seed, words, line))
    return failure, [result for result in after if result], line


def text(value):
    return "diverged" if value is None else f"{value:.2f}"


def texts(results):
    return ", ".join(text(metric(result)) for result in results)


def is_at_least(value, least):
    return value is not None and value >= least


def show_references(references):
    for job, values in references.items():
        print(f"- {job}: float32 with seeds 1 to {len(values)}: {', '.join(map(text, values))}")
    print()


def show(rows, references):
    show_references(references)
    print("| training | float32 | failure | with advice | more seeds | within the line "
          "| within float32's seeds | first advice |\n|---|---|---|---|---|---|---|---|")
    repaired, scattered, none, failed = 0, 0, 0, []
    for job, name, failure, after, line in rows:
        if failure is None:
            continue
        best, now = references[job][0], metric(failure)
        then = metric(after[0]) if after else None
        keeps = is_at_least(then, best - tolerance(job))
        scatters = is_at_least(then, min(references[job]))
        answers = ("yes" if keeps else "no", "yes" if scatters else "no") if after else ("", "")
        print(f"| {job}, {name} | {best:.2f} | {text(now)} | {texts(after[:1])} | {texts(after[1:])} "
              f"| {answers[0]} | {answers[1]} | {line.replace('|', '/')} |")
        if not after:
            none += 1
        elif keeps:
            repaired += 1
        elif scatters:
            scattered += 1
        else:
            failed.append(f"{job}, {name}")
    print(f"\n{len(rows)} failures: {repaired} within the tolerance with the first advice, "
          f"{scattered} more within float32's own seeds, {none} without advice, {len(failed)} not: "
          f"{'; '.join(failed) or 'none'}")


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(words) != 1:
        sys.exit(__doc__)
    out, only = os.path.abspath(words[0]), tables.option("only", "")
    chosen = [row for row in FAILURES if only in f"{row[0]} {row[1]}"]
    references = {}
    for job in dict.fromkeys(row[0] for row in chosen):
        seeds = range(1, int(tables.option("seeds", "3")) + 1)
        results = [train_seed(out, job, "float32", seed, [*keys_of(job), "precision=fp32"])
                   for seed in seeds]
        references[job] = [metric(result) for result in results if result]
    rows = []
    for job, name, keys in chosen:
        rows.append((job, name, *run(out, job, name, keys, references[job])))
        print(f"{job}, {name}: {rows[-1][4]}", file=sys.stderr)
    show(rows, references)


if __name__ == "__main__":
    main()
