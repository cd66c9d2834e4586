"""The recipes: every one can be planned; those of the APS study run, at the rates of its code."""
import glob
import json
import os
import re
import subprocess
import sys

import program
from program import png, put

SOURCE = os.environ.get("HALFULP_SOURCE",
                        os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FOLDER = os.path.join(SOURCE, "recipes")
# A narrow network on a few drawn images. The keys of folders are set back to those of other data.
SMALL = ["model.width=0.05", "data.test_limit=8", "run.log_every=1", "run.histogram_every=0",
         "eval.every=0", "run.quiet=on", "threads=2"]
# Models of other samples than small pictures with a class: planned with those that plan assumes.
OTHERS = ("ssd", "faster-rcnn", "dcgan", "cvae", "fcn", "pan", "alexnet", "preresnet50", "deepspeech2", "lstm-lm",
          "biglstm", "transformer-lm", "seq2seq", "bert")
# Words of what is not done as in the paper, and the key of a recipe that would do it.
DONE = (("sorted", "sorted"), ("frozen", "rules"), ("drawn ones", "sampled"), ("RandAugment", "randaugment"),
        ("mixup", "mixup"), ("no better", "patience"), ("one cosine instead", "period"))
GLYPHS = [*SMALL, "data=glyphs", "data.size=0", "data.crop=0", "data.classes=0", "data.part=1/1", "data.area=0"]


def recipe(name):
    return "config=" + os.path.join(FOLDER, f"{name}.yaml")


def all_can_be_planned(checks, cwd):
    paths = sorted(glob.glob(os.path.join(FOLDER, "*.yaml")))
    checks.that(len(paths) > 15, f"{len(paths)} recipes in {FOLDER}")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        checks.that("# Source: " in text, f"{path}: says where it comes from")
        if "compare:" in text:  # plan reads none of these keys, compare would train for days
            path = os.path.join(cwd, os.path.basename(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.split("compare:", 1)[0])
        if "rho:" in text:  # a study of reductions, without a network
            code, out, err = program.call("comm", f"config={path}", "repeat=1", "--json", cwd=cwd)
            checks.that(code == 0 and json.loads(out), f"{path}: {err!r}")
            continue
        # Rectangles of pictures (data.area) are of folders alone.
        is_other = any(f"\nmodel: {model}" in text for model in OTHERS) or "\n  area:" in text
        words = ["plan", f"config={path}", *(SMALL if is_other else GLYPHS), "batch=8", "optimizer.accumulate=1",
                 "comm.workers=1", "comm.schedule=ring", "--json"]
        code, out, err = program.call(*words, cwd=cwd)
        checks.same(code, 0, f"{path}: {err!r}")
        checks.that(code == 0 and json.loads(out)["parameters"] > 0, f"{path}: a plan")


def comments(path):
    """The text of a recipe's comments, lines joined."""
    with open(path, encoding="utf-8") as file:
        return " ".join(line.split("#", 1)[1].strip() for line in file if "#" in line)


def comments_are_true(checks, cwd):
    """Whatever a comment names is there: keys that one is told to add with values that the program takes, other
    recipes, pages. What a comment says is not done must not be what a key of the recipe does."""
    known = {}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.yaml"))):
        text, name = comments(path), os.path.basename(path)
        for key in set(re.findall(r"(?<![\w.\[-])([a-z][a-z0-9_.]*)=(?=[^\s=])", text)) - {"config"}:
            if key not in known:
                known[key] = program.call("help", key, cwd=cwd)[0]
            checks.same(known[key], 0, f"{name}: its comment names the key {key}")
        for model in re.findall(r"model=([a-z][a-z0-9-]*)", text):
            if model not in known:
                known[model] = program.call("help", model, cwd=cwd)[0]
            checks.same(known[model], 0, f"{name}: its comment names the model {model}")
        for other in re.findall(r"[\w/.-]+\.(?:yaml|md)\b", text):
            beside = [os.path.join(SOURCE, other), os.path.join(FOLDER, other)]
            checks.that(any(map(os.path.exists, beside)), f"{name}: its comment names {other}")
        if "Not as there:" not in text:
            continue
        unlike = text.split("Not as there:", 1)[1].split("Add on the command line", 1)[0]
        with open(path, encoding="utf-8") as file:
            keys = [line.split(":")[0].strip() for line in file if ":" in line and "#" not in line]
        for word, key in DONE:
            checks.that(not (word in unlike and key in keys), f"{name}: '{word}' is said not to be done, {key} does it")


def schemes(checks, cwd):
    """Recipes name the scheme of their paper; a precision of another one is told, and so is a
    promotion that can never act."""
    of = {"lee-": "lee", "popescu-": "popescu", "range-study": "popescu", "micikevicius-": "micikevicius"}
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.yaml"))):
        name = os.path.basename(path)
        for start, scheme in of.items():
            with open(path, encoding="utf-8") as file:
                checks.that(not name.startswith(start) or f"\n  scheme: {scheme}\n" in file.read(),
                            f"{name}: names the scheme {scheme}")
    def told(*words):
        return program.call("plan", *words, "batch=8", cwd=cwd)[2]
    popescu = recipe("popescu-resnet20-cifar10")
    for precision, text in (("fp16", "rounds as in the scheme micikevicius; here "
                             "precision.scheme=popescu says where, with loss scaling dynamic"),
                            ("1/5/10/d", ""), ("1/6/9/n", ""), ("fp32", "")):
        err = told(popescu, f"precision={precision}")
        checks.that(text in err and bool(err) == bool(text), f"{precision}: {err!r}")
    for precision, never in (("fp32", True), ("high", True), ("1/6/9", True), ("demote:0", True),
                             ("uniform", False), ("demote:0.4", False), ("operator", False)):
        err = told("model=cnn-s", f"precision={precision}+promote")
        checks.same("can never promote" in err, never, f"{precision}+promote: {err!r}")


def ratio_of_one_part(checks, cwd):
    """The ratio chosen on one part of a data set is the largest that keeps the accuracy there."""
    for number, name in enumerate(("a", "b")):
        for i in range(12):
            for half in ("train", "val"):
                put(cwd, f"images/{half}/{name}/{i}.png", png(24, 24, [200 * number, 10 * i, 50]))
    script = os.path.join(SOURCE, "bench", "choose_ratio.py")
    done = subprocess.run(
        [sys.executable, script, "--data", "folder:images", "--parts", "2", "--ratios", "1,0.4",
         "--within", "100", "--seeds", "1,2", "--out", "out", "model=cnn-s", "model.width=0.25",
         "data.size=16", "data.crop=16", "data.augment=none", "batch=4", "epochs=6", "threads=1", "run.quiet=on"],
        cwd=cwd, env={**os.environ, "HALFULP": program.HALFULP}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, check=False)
    checks.same(done.returncode, 0, f"choose_ratio: {done.stderr}")
    with open(f"{cwd}/out/chosen.json", encoding="utf-8") as file:
        made = json.load(file)
    names = ["demote:0.4+promote", "demote:1+promote"]
    sound = [name for name in names if made["parts"]["1"][name]["collapsed"] == 0]
    checks.that(sound, f"some learn to tell two colours apart: {made['parts']['1']}")
    checks.same(made["chosen"], sound[-1] if sound else None, "100 points: the largest that is sound")
    checks.same(list(made["parts"]["1"]), ["high", *names], "what is trained on part 1")
    if made["chosen"]:
        checks.same(list(made["parts"]["2"]), ["high", sound[-1]], "what is trained on the other")
    for part in made["parts"]:
        with open(f"{cwd}/out/part{part}/high-s1/config.resolved.yaml", encoding="utf-8") as file:
            checks.that(f"part: {part}/2" in file.read(), f"part {part}: its images")


def trained(checks, cwd, name, *words, run="run"):
    """The result and the rates of a short training."""
    made = program.train(recipe(name), *words, cwd=cwd, run=run, timeout=600)
    rows = program.rows(cwd, run)
    checks.same(made["skipped_steps"], 0, f"{name}: skipped steps")
    checks.same(len(rows), made["steps"], f"{name}: a row per step")
    return made, [float.fromhex(row["lr"]) for row in rows]


def rates(checks, name, found, expected):
    worst = max(abs(a - b) / max(b, 1e-9) for a, b in zip(found, expected))
    checks.that(worst < 1e-9, f"{name}: rates apart by {worst}")


def davidnet_rate(step, epoch_steps=12, ramp=62):
    """CPD's code: np.interp over the knots, /512, times another ramp; 512 x 8 for the mean."""
    at = step / epoch_steps
    line = 0.4 * at / 5 if at < 5 else 0.4 * (24 - at) / 19
    return line / 512 * 4096 * min(1, step / ramp)


def davidnet(checks, cwd):
    """12 steps of 8 images are an epoch, as 12 of 4,096 are."""
    words = [*GLYPHS, "data.limit=99", "batch=8", "optimizer.accumulate=1", "threads=1"]
    made, found = trained(checks, cwd, "aps-davidnet", *words)
    checks.same(made["steps"], 12 * 24, "whole batches alone")
    rates(checks, "davidnet", found, [davidnet_rate(step) for step in range(12 * 24)])


def learns(checks, cwd):
    """The new networks and LARS at the built-in rates."""
    for number, (words, least) in enumerate(((["model=davidnet", "model.width=0.125", "epochs=4"], 0.9),
                                             (["model=resnet18", "model.width=0.05", "epochs=3",
                                               "batch=32", "optimizer=lars"], 0.3))):
        made = program.train("batch=64", *words, "data=glyphs", "data.limit=1000",
                             "data.test_limit=200", "eval.every=0", "quiet=on", "threads=2", cwd=cwd,
                             run=f"run{number}")
        checks.that(made["test_accuracy"] > least, f"{words}: {made['test_accuracy']}")


def davidnet_sums(checks, cwd):
    """The scale of 4,096 is a power of two: it changes what travels, and no weight."""
    words = [*GLYPHS, "data.limit=96", "batch=16", "steps=5"]
    scaled, _ = trained(checks, cwd, "aps-davidnet", *words)
    plain, _ = trained(checks, cwd, "aps-davidnet", *words, "scaler=none", "scaler.init=1", run="plain")
    checks.same(scaled["weights_hash"], plain["weights_hash"], "with and without the scale")
    row = program.rows(cwd)[0]
    checks.same(row["loss_scale"], "4096", "the scale")


def davidnet_on_cifar(checks, cwd):
    program.write_cifar(os.path.join(cwd, "data"))
    words = [*SMALL, "data=cifar10:data", "batch=32", "steps=3"]
    made, _ = trained(checks, cwd, "aps-davidnet", *words)
    checks.same(made["data"], "cifar10:data", "data")


def stepped(step, epoch_steps, low, high, milestones):
    """A line over five epochs, then tenths."""
    if step < 5 * epoch_steps:
        return low + (high - low) * step / (5 * epoch_steps)
    return high * 0.1 ** sum(step >= m * epoch_steps for m in milestones)


def with_steps(name, low, high, milestones, epochs):
    """One step of 8 images is an epoch."""
    def test(checks, cwd):
        words = [*GLYPHS, "data.limit=8", "batch=8", "comm.workers=8", "comm.schedule=hier:4"]
        made, found = trained(checks, cwd, name, *words, f"epochs={epochs}")
        checks.same(made["steps"], epochs, f"{name}: steps")
        rates(checks, name, found,
              [stepped(step, 1, low, high, milestones) for step in range(epochs)])
    return test


def large_images(checks, cwd):
    """ResNet-50 with its 7x7 stem, on crops of 224 from 256."""
    for number, name in enumerate(("cat", "dog")):
        for i in range(2):
            put(cwd, f"images/train/{name}/{i}.png", png(40, 30 + i, [200 * number, 100, 50 * i]))
        put(cwd, f"images/val/{name}/0.png", png(30, 30, [200 * number, 90, 40]))
    words = [*SMALL, "data=folder:images", "batch=4", "comm.workers=4", "comm.schedule=hier:2",
             "steps=2"]
    trained(checks, cwd, "aps-resnet50-imagenet", *words)
    code, out, err = program.call("plan", recipe("aps-resnet50-imagenet"), *words[:-1], "--json",
                                  cwd=cwd)
    checks.same(code, 0, f"plan: {err!r}")
    shapes = {layer["name"]: layer["output"] for layer in json.loads(out)["layers"]}
    checks.same(shapes["conv1"][:2], [112, 112], "extents behind the first convolution")
    checks.same(shapes["pool1"][:2], [56, 56], "extents behind the pool")


def same_everywhere(checks, cwd):
    """Threads, storage and joined layers change no bit of these recipes."""
    words = [*GLYPHS, "data.limit=70", "batch=16", "steps=4", "precision=hfp8"]
    hashes = set()
    for run, more in enumerate((["threads=1"], ["threads=3", "storage=float32"],
                                ["threads=2", "fuse=off"])):
        for name in ("aps-davidnet", "aps-resnet18-lars"):
            made, _ = trained(checks, cwd, name, *words, *more, run=f"{name}{run}")
            hashes.add((name, made["weights_hash"]))
    checks.same(len(hashes), 2, f"one hash for each recipe: {hashes}")


program.main(all_can_be_planned, comments_are_true, schemes, ratio_of_one_part, learns, davidnet, davidnet_sums, davidnet_on_cifar,
             with_steps("aps-resnet18-cifar10", 0.1, 1.6, (40, 80), 82),
             with_steps("aps-resnet18-lars", 0.1, 1.6, (40, 80), 82),
             with_steps("aps-resnet50-imagenet", 0.1, 3.2, (30, 60, 80), 82),
             large_images, same_everywhere)
