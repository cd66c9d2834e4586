#!/usr/bin/env python3
"""The tables of the range study (Popescu et al., tables II to IV) for ResNet-20, from short trainings.

Trains recipes/range-study-resnet20.yaml in 1/5/10 and 1/6/9, with subnormals and flushed, with and without dynamic
loss scaling, accumulating in float32 (FMACS) and in blocks of 8 in the format itself (FMAC-8), and in fp32; asks
`halfulp stats` for the largest share of subnormal numbers. Stopped, it goes on where it was: rows whose folder has a
result.json are taken as they are.

    bench/range_study.py --data cifar10:DIR [--out DIR] [--only fmacs|fmac8] [--have] [key=value ...]

--have trains nothing: the tables are those of the rows that are finished.

Keys go to every training; those behind --fmac8 only to FMAC-8, which is slow to emulate:

    bench/range_study.py --data cifar10:DIR epochs=4 data.limit=10000 --fmac8 data.limit=2000 model.width=0.5
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPE = os.path.join(HERE, "..", "recipes", "range-study-resnet20.yaml")
FORMATS = ("1/5/10/d", "1/6/9/d", "1/5/10/n", "1/6/9/n")
SCALERS = ("none", "dynamic")
# Largest subnormal share, by table and column; section V of the paper. Table III has no ResNet-20.
PAPER = {("fmac8", "1/5/10/d", "none"): "0.95", ("fmac8", "1/5/10/d", "dynamic"): "0.05",
         ("fmac8", "1/6/9/d", "none"): "0.25", ("fmac8", "1/6/9/d", "dynamic"): "0",
         ("fmacs", "1/5/10/d", "none"): "0.98 (ResNet18)",
         ("fmacs", "1/5/10/d", "dynamic"): "0.36 (ResNet18)",
         ("fmacs", "1/6/9/d", "none"): "0.5 (ResNet18)",
         ("fmacs", "1/6/9/d", "dynamic"): "0.003 (ResNet18)"}
# Table IV, as far as its text says it of ResNet-20.
CONVERGES = {("1/5/10/n", "none"): "degraded", ("1/5/10/n", "dynamic"): "degraded or converges",
             ("1/6/9/n", "none"): "converges", ("1/6/9/n", "dynamic"): "converges"}


def call(*words):
    done = subprocess.run([os.environ.get("HALFULP", "halfulp"), *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def train(folder, words):
    """The result of a training; one that diverged has a result too."""
    result = os.path.join(folder, "result.json")
    if not os.path.exists(result):
        again = os.path.exists(os.path.join(folder, "config.resolved.yaml"))
        code, _, err = call("resume", folder) if again else call("train", *words, f"run.dir={folder}")
        if not os.path.exists(result):
            sys.exit(f"{folder}: exit {code}: {err}")
    with open(result) as file:
        return json.load(file)


def row(options, accumulator, name, scaler):
    folder = os.path.join(options.out, f"{accumulator}-{name.replace('/', '_')}-{scaler}")
    words = [f"config={RECIPE}", f"data={options.data}", f"precision={name}", f"scaler={scaler}"]
    words += ["precision.scheme=auto"] if name == "fp32" else []
    words += [f"accumulator=fmac8:{name}"] if accumulator == "fmac8" else []
    words += options.key + (options.fmac8 if accumulator == "fmac8" else [])
    if options.have and not os.path.exists(os.path.join(folder, "result.json")):
        return None
    result = train(folder, words)
    code, out, err = call("stats", folder, "--json")
    if code != 0:
        sys.exit(f"stats {folder}: {err}")
    counted = json.loads(out)["formats"][0]["most"]
    made = {"accumulator": accumulator, "format": name, "scaler": scaler,
            "accuracy": result["test_accuracy"], "diverged": result.get("diverged"),
            "skipped": result["skipped_steps"], "steps": result["steps"], "most": counted,
            "run": folder}
    print(f"# {folder}: {result['test_accuracy']}", file=sys.stderr, flush=True)
    return made


def table(titles, rows):
    rows = [titles, ["-" * len(title) for title in titles], *rows]
    widths = [max(len(str(line[i])) for line in rows) for i in range(len(titles))]
    for line in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(line, widths)).rstrip())


def share(most):
    return "-" if not most else f"{most['subnormal']:.4f}"


def where(most):
    return f"{most['tensor']} (step {most['step']})" if most and most["subnormal"] else "-"


def print_shares(rows, accumulator, title):
    print(f"\n{title}\n")
    lines = []
    for made in rows:
        if made["accumulator"] != accumulator or made["format"] == "fp32":
            continue
        most = made["most"]
        accumulators = most["accumulators"]
        lines.append([made["format"], made["scaler"],
                      PAPER.get((accumulator, made["format"], made["scaler"]), "-"),
                      share(most["all"]), where(most["all"]), share(most["input"]),
                      share(most["weight"]), share(most["gradient"]),
                      "-" if accumulators is None else f"{accumulators:.4f}"])
    table(["format", "loss scaling", "paper", "here", "where", "inputs", "weights", "gradients",
           "accumulators"], lines)


def percent(made):
    if made is None:
        return "-"
    return "diverged" if made["diverged"] else f"{100 * made['accuracy']:.2f} %"


def print_convergence(rows, baseline):
    found = {(made["accumulator"], made["format"], made["scaler"]): made for made in rows}
    print(f"\nTable IV: test accuracy of flushed formats; fp32: {percent(baseline)}\n")
    lines = []
    for name in FORMATS:
        for scaler in SCALERS:
            made = [found.get((accumulator, name, scaler)) for accumulator in ("fmacs", "fmac8")]
            lines.append([name, scaler, CONVERGES.get((name, scaler), "-"), percent(made[0]),
                          percent(made[1]), made[0]["skipped"] if made[0] else "-"])
    table(["format", "loss scaling", "paper", "FMACS", "FMAC-8", "skipped (FMACS)"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", default="runs/range-study")
    parser.add_argument("--only", choices=("fmacs", "fmac8"))
    parser.add_argument("--have", action="store_true", help="only rows that are finished")
    parser.add_argument("--fmac8", nargs="*", default=[], metavar="key=value")
    parser.add_argument("key", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    accumulators = [options.only] if options.only else ["fmacs", "fmac8"]
    baseline = row(options, "fmacs", "fp32", "none")
    rows = [row(options, accumulator, name, scaler) for accumulator in accumulators
            for name in FORMATS for scaler in SCALERS]
    rows = [made for made in rows if made]
    with open(os.path.join(options.out, "study.json"), "w") as file:
        json.dump({"fp32": baseline, "rows": rows}, file, indent=1)
    if "fmac8" in accumulators:
        print_shares(rows, "fmac8", "Table II: largest subnormal share of a tensor, FMAC-8")
    if "fmacs" in accumulators:
        print_shares(rows, "fmacs", "Table III: largest subnormal share of a tensor, FMACS")
    print_convergence(rows, baseline)


if __name__ == "__main__":
    main()
