#!/usr/bin/env python3
"""The tables of the range study (Popescu et al., tables II to IV) for one of its networks, from short trainings.

Trains recipes/range-study-NETWORK.yaml in 1/5/10 and 1/6/9, with subnormals and flushed, with and without dynamic
loss scaling, accumulating in float32 (FMACS) and in blocks of 8 in the format itself (FMAC-8), and in fp32; asks
`halfulp stats` for the largest share of subnormal numbers. Stopped, it goes on where it was: rows whose folder has a
result.json are taken as they are.

    bench/range_study.py --data cifar10:DIR [--network resnet20|lstm|bert-tiny|cvae] [--out DIR] [--only fmacs|fmac8]
                         [--have] [key=value ...]

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
FORMATS = ("1/5/10/d", "1/6/9/d", "1/5/10/n", "1/6/9/n")
SCALERS = ("none", "dynamic")
COLUMNS = [(name, scaler) for name in FORMATS[:2] for scaler in SCALERS]
# Largest subnormal share by network, table and column; section V of the paper. Table III has ResNet-18.
PAPER = {"resnet20": {"fmac8": ".95 .05 .25 0", "fmacs": ".98 .36 .5 .003"},
         "bert-tiny": {"fmac8": ".9 .25 .1 .0005", "fmacs": ".6 .25 .009 .0003"},
         "lstm": {"fmac8": ".9 .6 .6 .001", "fmacs": ".3 .23 .05 .004"},
         "cvae": {"fmac8": ".8 .15 .3 .1", "fmacs": ".7 .15 .2 .1"}}
# Table IV, as far as its text says it: 1/6/9/n with scaling converges for all networks, without it for these.
WITHOUT_SCALING = ("resnet20", "lstm", "cvae")


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


def in_paper(network, accumulator, name, scaler):
    """Of tables II and III; "-" where they have no such column."""
    shares = dict(zip(COLUMNS, PAPER[network][accumulator].split()))
    return shares.get((name, scaler), "-")


def converges(network, name, scaler):
    """Of table IV."""
    if name == "1/6/9/n" and (scaler == "dynamic" or network in WITHOUT_SCALING):
        return "converges"
    return {"1/5/10/n": "degraded", "1/5/10/d": "converges" if scaler == "dynamic" else "-"}.get(name, "-")


def row(options, accumulator, name, scaler):
    folder = os.path.join(options.out, f"{accumulator}-{name.replace('/', '_')}-{scaler}")
    recipe = os.path.join(HERE, "..", "recipes", f"range-study-{options.network}.yaml")
    words = [f"config={recipe}", f"data={options.data}", f"precision={name}", f"scaler={scaler}"]
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
            "metric": result["metric"], "diverged": result.get("diverged"),
            "skipped": result["skipped_steps"], "steps": result["steps"], "most": counted,
            "run": folder}
    print(f"# {folder}: {result['metric']['value']}", file=sys.stderr, flush=True)
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


def print_shares(network, rows, accumulator, title):
    print(f"\n{title}\n")
    lines = []
    for made in rows:
        if made["accumulator"] != accumulator or made["format"] == "fp32":
            continue
        most = made["most"]
        accumulators = most["accumulators"]
        lines.append([made["format"], made["scaler"],
                      in_paper(network, accumulator, made["format"], made["scaler"]),
                      share(most["all"]), where(most["all"]), share(most["input"]),
                      share(most["weight"]), share(most["gradient"]),
                      "-" if accumulators is None else f"{accumulators:.4f}"])
    table(["format", "loss scaling", "paper", "here", "where", "inputs", "weights", "gradients",
           "accumulators"], lines)


def said(made):
    """The metric on test samples; shares in percent."""
    if made is None:
        return "-"
    value = made["metric"]["value"]
    if made["diverged"] or value is None:
        return "diverged"
    return f"{100 * value:.2f} %" if made["metric"]["name"] == "accuracy" else f"{value:.2f}"


def print_convergence(network, rows, baseline):
    found = {(made["accumulator"], made["format"], made["scaler"]): made for made in rows}
    print(f"\nTable IV: {baseline['metric']['name']} on test samples; fp32: {said(baseline)}\n")
    lines = []
    for name in FORMATS:
        for scaler in SCALERS:
            made = [found.get((accumulator, name, scaler)) for accumulator in ("fmacs", "fmac8")]
            lines.append([name, scaler, converges(network, name, scaler), said(made[0]),
                          said(made[1]), made[0]["skipped"] if made[0] else "-"])
    table(["format", "loss scaling", "paper", "FMACS", "FMAC-8", "skipped (FMACS)"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--network", choices=sorted(PAPER), default="resnet20")
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
        print_shares(options.network, rows, "fmac8", "Table II: largest subnormal share of a tensor, FMAC-8")
    if "fmacs" in accumulators:
        print_shares(options.network, rows, "fmacs", "Table III: largest subnormal share of a tensor, FMACS")
    print_convergence(options.network, rows, baseline)


if __name__ == "__main__":
    main()
