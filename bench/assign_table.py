#!/usr/bin/env python3
"""Does what `halfulp assign` chooses hold on samples and seeds that it has not seen?

Searches an assignment for each of six small jobs (three models, two budgets), then trains the plan that it wrote and
plain demotion at the same budget with fresh seeds, and compares them on the test samples. The jobs train on from the
weights of a float32 training, without the samples that are held out: so that seeds differ little, and short trainings
tell assignments apart. Stopped, it goes on where it was: searches and trainings that have ended are only read.

    bench/assign_table.py DATA OUT [--halfulp=PROGRAM] [--jobs=cnn-s,resnet20] [--budgets=memory:0.34]
                          [--seeds=11,12,13,14] [--print]

DATA is the folder of the binary version of CIFAR-10, OUT where everything is kept. --print trains nothing more and
prints what there is.
"""
import json
import math
import os
import statistics
import subprocess
import sys

import tables

LOW = "precision.low=w=fp(2,1,4),act=fp(2,1,0),grad=fp(4,1,0)"
COMMON = ["threads=1", "batch=32", "data.limit=6000", "data.validation=600", "data.test_limit=2000", "eval.every=0",
          "run.checkpoint_every=0"]
# Keys of a model; how it is trained in float32 first.
MODELS = {"cnn-s": (["model.width=0.25", "data=glyphs"], ["epochs=6"]),
          "resnet20": (["model.width=0.25", "data=cifar10:{data}"], ["epochs=6"]),
          "squeezenet": (["model.width=0.1", "data=cifar10:{data}"], ["epochs=6"])}
# Shares are of float32's bits: everything high is 0.5, everything low 0.13 before promotions.
BUDGETS = ["memory:0.34", "memory:0.26"]
JOB = ["steps=80", "lr=0.02", "lr.warmup=0", "run.histogram_every=40", LOW]
SEARCH = ["seeds=1,2,3", "assign.rungs=1", "assign.random=0", "run.quiet=on"]


def program(*words):
    done = subprocess.run([os.path.abspath(tables.option("halfulp", "build/halfulp")), *words], text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")


def base(data, out, model):
    """Keys of the model's jobs; its float32 weights are trained and exported first."""
    keys = [f"model={model}", *(key.format(data=data) for key in MODELS[model][0]), *COMMON]
    folder = os.path.join(out, f"{model}-fp32")
    weights = os.path.join(folder, "weights.safetensors")
    if not os.path.exists(weights):
        tables.train(folder, [*keys, *MODELS[model][1], "run.histogram_every=0"])
        program("export", folder)
    return [*keys, *JOB, f"init={weights}"]


def search(folder, keys):
    """assign.json of a search; the program itself goes on where it was."""
    path = os.path.join(folder, "assign.json")
    if not os.path.exists(path):
        program("assign", *keys, f"run.dir={folder}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def fresh(folder, plan, keys, seed):
    """One training of a plan with a seed that the search has not seen."""
    place = tables.folder_of(folder, os.path.basename(plan).replace(".yaml", ""), seed)
    if not tables.result_of(place) and "--print" not in sys.argv:
        tables.train(place, [*keys, f"precision={plan}", f"seed={seed}"])
    return tables.result_of(place)


def summary(results, plain_bits):
    """Mean and standard error of the test accuracy in percent, and the share of float32's bits at the end."""
    values = [100 * r["test_accuracy"] for r in results]
    error = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values), error, statistics.mean(r["model_aggregate_bits"] for r in results) / plain_bits


def bits_of_float32(found):
    """From the share and the bits of the same outcome: what a search counts shares of."""
    name = found["candidates"][0]["plan"]
    folder = os.path.dirname(os.path.dirname(name))
    run = next(entry for entry in sorted(os.listdir(folder)) if entry.startswith("fp32-") and "-0-" not in entry)
    return tables.result_of(os.path.join(folder, run))["model_aggregate_bits"]


def verdict(plan, plain):
    """Compared at one standard error of the difference of the two means."""
    error = math.hypot(plan[1], plain[1])
    if plan[0] < plain[0] - error:
        return "worse"
    if plan[0] > plain[0] + error:
        return "better"
    return "smaller" if plan[2] < plain[2] - 1e-6 else "equal"


def row(data, out, model, budget, seeds):
    folder = os.path.join(out, f"{model}-{budget.replace(':', '-')}")
    if "--print" in sys.argv and not os.path.exists(os.path.join(folder, "assign.json")):
        return None
    keys = base(data, out, model)
    found = search(folder, [*keys, *SEARCH, f"budget={budget}"])
    plans = [os.path.join(folder, "plan.yaml"), os.path.join(folder, "plans", f"{found['plain']['name']}.yaml")]
    same = found["chosen"] == found["plain"]["name"]
    made = [[fresh(folder, plan, keys, seed) for seed in seeds] for plan in (plans[:1] if same else plans)]
    if not all(all(results) for results in made):
        return None
    plan, plain = (summary(results, bits_of_float32(found)) for results in (made[0], made[-1]))
    return {"model": model, "budget": budget, "found": found, "plan": plan, "plain": plain,
            "verdict": "plain demotion itself" if same else verdict(plan, plain)}


def main():
    data, out = tables.places(__doc__)
    seeds = tables.option("seeds", "11,12,13,14").split(",")
    os.makedirs(out, exist_ok=True)
    print("| model | budget | chosen order | validation gain | plan, test | at | plain demotion, test | at | fresh seeds say |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model in tables.option("jobs", ",".join(MODELS)).split(","):
        for budget in tables.option("budgets", ",".join(BUDGETS)).split(","):
            made = row(data, out, model, budget, seeds)
            if not made:
                continue
            found, plan, plain = made["found"], made["plan"], made["plain"]
            order = next((c["order"] for c in found["candidates"] if c["name"] == found["chosen"]), "high")
            print(f"| {model} | {budget} | {order} | {found['gain_over_plain']:.1f} +- {found['noise']:.1f} "
                  f"| {plan[0]:.2f} +- {plan[1]:.2f} | {plan[2]:.4f} | {plain[0]:.2f} +- {plain[1]:.2f} | {plain[2]:.4f} "
                  f"| {made['verdict']} |", flush=True)


main()
