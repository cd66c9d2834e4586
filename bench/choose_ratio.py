#!/usr/bin/env python3
"""Chooses the demotion ratio r on one part of a data set, and uses it on the others (Lee et al., section 5.5).

Each class's training images fall into N parts (data.part=1/N ... N/N); the test images are those of all. On part 1
`halfulp compare` trains high and demote:R+promote for every R; the largest R whose best test accuracy is at most
--within points below that of high is chosen. Then high and the chosen one are trained on parts 2 to N. Stopped, the
same command goes on where it was.

    bench/choose_ratio.py --data folder:DIR [--parts 5] [--ratios 0.2,0.4,0.6,0.8,1] [--within 1] [--seeds 1,2]
                          [--out DIR] [--recipe FILE.yaml] [key=value ...]

For the paper's setting: --recipe recipes/lee-imagenet-200.yaml, whose keys hold for all trainings but the precision.
"""
import argparse
import json
import os
import subprocess
import sys


def compare(options, part, precisions):
    """Means by precision of a comparison on one part."""
    words = ["compare", "precision=" + ",".join(precisions), f"data={options.data}",
             f"data.part={part}/{options.parts}", f"seeds={options.seeds}",
             f"run.dir={os.path.join(options.out, f'part{part}')}", "--json", *options.key]
    if options.recipe:
        words.insert(1, f"config={options.recipe}")
    done = subprocess.run([os.environ.get("HALFULP", "halfulp"), *words], stdout=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"halfulp {' '.join(words)}: exit {done.returncode}")
    return {mean["precision"]: mean for mean in json.loads(done.stdout)["precisions"]}


def is_sound(mean):
    return mean["done"] == mean["rows"] and mean["collapsed"] == 0


def choose(names, means, within):
    """The last of the names (r ascending) that is near enough to high; None: none is."""
    least = means["high"]["best_accuracy"] - within / 100
    kept = [name for name in names if is_sound(means[name])
            and means[name]["best_accuracy"] >= least]
    return kept[-1] if kept else None


def line(part, mean):
    spread = mean["best_accuracy_deviation"]
    deviation = "" if spread is None else f" +- {100 * spread:.2f}"
    accuracy = "-" if mean["best_accuracy"] is None else f"{100 * mean['best_accuracy']:.2f}"
    ratio = mean["low_precision_ratio"]
    print(f"{part:>4}  {mean['precision']:<22}{accuracy + deviation + ' %':>18}"
          f"{mean['done']:>4}{'-' if ratio is None else f'{ratio:.3f}':>10}"
          f"{'  collapsed' if mean['collapsed'] else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--ratios", default="0.2,0.4,0.6,0.8,1")
    parser.add_argument("--within", type=float, default=1.0, help="points of accuracy below high")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--out", default="runs/choose-ratio")
    parser.add_argument("--recipe")
    parser.add_argument("key", nargs="*")
    options = parser.parse_args()
    names = [f"demote:{r:g}+promote" for r in sorted(map(float, options.ratios.split(",")))]
    means = {1: compare(options, 1, ["high", *names])}
    chosen = choose(names, means[1], options.within)
    for part in range(2, options.parts + 1) if chosen else ():
        means[part] = compare(options, part, ["high", chosen])
    print(f"{'part':>4}  {'precision':<22}{'best accuracy':>18}{'n':>4}{'low ratio':>10}")
    for part, found in means.items():
        for mean in found.values():
            line(part, mean)
    print(f"chosen on part 1, at most {options.within:g} points below high: {chosen or 'none'}")
    with open(os.path.join(options.out, "chosen.json"), "w", encoding="utf-8") as file:
        json.dump({"chosen": chosen, "within": options.within,
                   "parts": {str(part): found for part, found in means.items()}}, file, indent=1)


if __name__ == "__main__":
    main()
