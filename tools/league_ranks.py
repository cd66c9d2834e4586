#!/usr/bin/env python3
"""How well the ranks of the league agree with larger trainings: ResNet-20 on CIFAR-10, a Transformer on WikiText-2.

    tools/league_ranks.py cifar10=DIR wikitext2=TRAIN.txt,VALID.txt [formats=A;B;...] [seeds=1] [league=FILE]
                          [out=docs/league] [halfulp=build/halfulp] [run.dir=runs/ranks] [parallel=N]
                          [resnet.steps=700] [transformer.steps=700]

Each is `halfulp compare` over the formats (usually 16 that are spread over the league), which goes on where it was
stopped. Spearman's correlation of the task's metric with the score, and the share of 100,000 random orders whose
correlation is as high. Writes ranks.json, and ranks.md with a table.
"""
import json
import math
import os
import random
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
USUAL = 16


def option(name, usual=None):
    found = [word.split("=", 1)[1] for word in sys.argv[1:] if word.startswith(f"{name}=")]
    if not found and usual is None:
        sys.exit(f"league_ranks: found no {name}=, expected one: see the head of this file")
    return found[-1] if found else usual


def ranks(values):
    """From 1 on, equal values sharing the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    made, at = [0.0] * len(values), 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for k in range(at, end + 1):
            made[order[k]] = (at + end) / 2 + 1
        at = end + 1
    return made


def correlation(x, y):
    n = len(x)
    mx, my = sum(x) / n, sum(y) / n
    xy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    xx, yy = sum((a - mx) ** 2 for a in x), sum((b - my) ** 2 for b in y)
    return xy / (xx * yy) ** 0.5 if xx > 0 and yy > 0 else float("nan")


def agreement(scores, values):
    x, y = ranks(scores), ranks(values)
    rho, generator, as_high, draws = correlation(x, y), random.Random(1), 0, 100000
    for _ in range(draws):
        generator.shuffle(y)
        as_high += correlation(x, y) >= rho
    return rho, as_high / draws


def choose(rows):
    """Precisions alone (keys beside one are none of compare's list), evenly over the places."""
    plain = [row for row in rows if " " not in row["format"]]
    count = min(USUAL, len(plain))
    return [plain[i * (len(plain) - 1) // max(1, count - 1)]["format"] for i in range(count)]


def compare(name, formats, words):
    """The metric, whether more of it is better, and its means over the seeds by format; None: the training failed."""
    program = os.path.abspath(option("halfulp", os.path.join(ROOT, "build/halfulp")))
    folder = os.path.join(os.path.abspath(option("run.dir", os.path.join(ROOT, "runs/ranks"))), name)
    done = subprocess.run([program, "compare", f"precision={';'.join(formats)};", f"seeds={option('seeds', '1')}",
                           f"parallel={option('parallel', str(os.cpu_count()))}", f"run.dir={folder}", *words, "--json"],
                          stdout=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "HALFULP_PARENT": str(os.getpid())})  # it ends when this does
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(done.returncode or 1)
    made = json.loads(done.stdout)
    metric = made["metric"]["name"]
    return metric, made["metric"]["better"] == "higher", {mean["precision"]: mean[f"test_{metric}"] for mean in made["precisions"]}


TEXT = """Formats of the league, spread over its places, in two larger trainings, made by `tools/league_ranks.py`: Spearman's
correlation of the task's metric with the score, and the share of 100,000 random orders whose correlation is as high.

"""


def table(formats, score, found):
    """Lines of what each format reached in each training."""
    heads = " | ".join(f"{task}, {of['metric']}" for task, of in found.items())
    lines = ["", f"| format | score | {heads} |",
             f"|---|---:|{'---:|' * len(found)}"]
    for name in formats:
        cells = []
        for of in found.values():
            value = of["values"][of["formats"].index(name)] if name in of["formats"] else None
            cells.append("failed" if value is None else f"{value:.4g}")
        lines.append(f"| `{name}` | {score.get(name, math.nan):.1f} | {' | '.join(cells)} |")
    return lines


def main():
    with open(option("league", os.path.join(ROOT, "docs", "league", "league.json")), encoding="utf-8") as file:
        league = json.load(file)
    score = {row["format"]: row["score"] for row in league["rows"]}
    formats = option("formats", ";".join(choose(league["rows"]))).split(";")
    train, valid = option("wikitext2").split(",")
    common = ["run.pictures=0", "run.histogram_every=0", "eval.every=0"]
    tasks = {
        "ResNet-20 on CIFAR-10": compare("resnet20", formats, [
            "model=resnet20", f"data=cifar10:{option('cifar10')}", "batch=64", f"steps={option('resnet.steps', '700')}",
            "data.test_limit=2000", *common]),
        "Transformer on WikiText-2": compare("transformer", formats, [
            "model=transformer-lm-s", f"data=text:{train}", f"data.valid={valid}", "data.unit=word",
            f"steps={option('transformer.steps', '700')}", "batch=16", "data.test_limit=500", *common])}
    found, lines = {}, ["| | formats | Spearman | as high by chance |", "|---|---:|---:|---:|"]
    for task, (metric, is_more_better, values) in tasks.items():
        both = [name for name in formats if name in values and name in score]
        sign = 1 if is_more_better else -1
        goodness = [-math.inf if values[name] is None else sign * values[name] for name in both]
        rho, chance = agreement([score[name] for name in both], goodness)
        found[task] = {"metric": metric, "better": "higher" if is_more_better else "lower", "formats": both,
                       "values": [values[name] for name in both], "scores": [score[name] for name in both],
                       "spearman": rho, "chance": chance}
        lines.append(f"| {task} | {len(both)} | {rho:.2f} | {chance:.4f} |")
    lines += table(formats, score, found)
    out = os.path.abspath(option("out", os.path.join(ROOT, "docs/league")))
    with open(f"{out}/ranks.json", "w", encoding="utf-8") as file:
        file.write(json.dumps(found, indent=1) + "\n")
    with open(f"{out}/ranks.md", "w", encoding="utf-8") as file:
        file.write("# Ranks of larger trainings\n\n" + TEXT + "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
