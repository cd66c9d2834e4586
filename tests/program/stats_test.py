"""Statistics: the same for all ways to run a training, none lost between rows, and the tables made of them."""
import csv
import json
import math
import os
import shutil

import program
from program import call

SMALL = ["data=glyphs", "data.limit=96", "data.test_limit=16", "batch=32", "steps=7",
         "run.histogram_every=3", "run.log_every=2"]
FILES = ("numerics.jsonl", "histograms.jsonl")


def text(cwd, run, name):
    with open(f"{cwd}/{run}/{name}") as file:
        return file.read()


def lines(cwd, run, name):
    return [json.loads(line) for line in text(cwd, run, name).splitlines()]


def stats(cwd, run, *words):
    code, out, err = call("stats", run, *words, "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"stats {run}: exit {code}: {err}")
    return json.loads(out)


WAYS = [["threads=1"], ["threads=2"], ["threads=7"], ["run.storage=float32"],
        ["run.storage=dense"], ["run.fuse=off"], ["run.recompute=off", "threads=2"]]


def ways(checks, cwd):
    """Counts and histograms do not depend on how a training is run."""
    for number, keys in enumerate([["model=cnn-s"], ["model=cnn-s", "precision=fp16"],
                                   ["model=resnet20", "model.width=0.5", "precision=hfp8"],
                                   ["model=cnn-s", "precision=e4m3fn:scale=current",
                                    "optimizer.accumulate=2"]]):
        first = None
        for way, words in enumerate(WAYS):
            run = f"run{number}-{way}"
            program.train(*keys, *SMALL, *words, cwd=cwd, run=run)
            found = [text(cwd, run, name) for name in FILES]
            first = first or found
            for name, one, other in zip(FILES, found, first):
                checks.that(one == other, f"{keys} {words}: {name}")
        checks.that(len(first[1].splitlines()) == 3, "histograms of steps 0, 3 and 6")


def none_lost(checks, cwd):
    """Rows are sums of the steps between them; histograms agree with the counts of their step."""
    keys = ["model=cnn-s", "precision=hfp8", *SMALL[:-1]]
    program.train(*keys, "run.log_every=1", cwd=cwd, run="every")
    program.train(*keys, "run.log_every=3", cwd=cwd, run="some")
    every = [line for line in lines(cwd, "every", "numerics.jsonl") if "tensors" in line]
    some = [line for line in lines(cwd, "some", "numerics.jsonl") if "tensors" in line]
    checks.same([line["steps"] for line in every], [1] * 7, "a row each")
    checks.same(sum(line["steps"] for line in some), 7, "no step is lost")
    checks.same(some[-1]["step"], 6, "nor the last one")
    sums = [{}, {}]
    most = [{}, {}]
    for which, rows in enumerate((every, some)):
        for tensor in (tensor for row in rows for tensor in row["tensors"]):
            counts = sums[which].setdefault(tensor[0], [0] * 6)
            for i in range(6):
                counts[i] += tensor[2 + i]
            share = most[which].setdefault(tensor[0], [0.0] * 3)
            for i in range(3):
                share[i] = max(share[i], tensor[10 + i])
    checks.same(sums[0], sums[1], "sums")
    checks.same(most[0], most[1], "largest shares of a step")
    by_step = {row["step"]: {tensor[0]: tensor for tensor in row["tensors"]} for row in every}
    compared = 0
    for line in lines(cwd, "every", "histograms.jsonl"):
        for name, elements, zero, nonfinite, first, bins, largest in line["tensors"]:
            checks.that((2.0 ** (first + len(bins) - 1) <= largest < 2.0 ** (first + len(bins))) if bins
                        else largest == 0, f"{name}: the largest is in the last bin")
            counted = by_step[line["step"]].get(name)
            checks.same(zero + nonfinite + sum(bins), elements, f"{name}: bins")
            if counted is None or counted[1] == "float32":
                continue
            compared += 1
            found = [elements, zero + counted[4], first + len(bins) - 1, first]
            expected = [counted[2], counted[6], counted[8], counted[9]]
            checks.same(found[:2] + (found[2:] if bins else [None, None]), expected, name)
    checks.that(compared > 50, "tensors in both")


def resumed(checks, cwd):
    """A resumed training writes the lines of one that was not interrupted, wherever it was cut."""
    keys = ["model=cnn-s", "precision=fp16", "scaler.init=1e7", *SMALL, "run.checkpoint_every=1",
            "run.keep=9"]
    program.train(*keys, cwd=cwd, run="whole")
    for step in range(1, 7):
        run = f"from{step}"
        program.copy_at(cwd, "whole", run, step)
        os.remove(f"{cwd}/{run}/result.json")
        program.resume(run, cwd=cwd)
        for name in FILES:
            checks.that(text(cwd, run, name) == text(cwd, "whole", name), f"step {step}: {name}")
    shutil.rmtree(f"{cwd}/whole/checkpoint")


def from_a_run(checks, cwd):
    """scaler.init=auto:RUN: just below the largest number of the format, by float32's gradients."""
    keys = ["model=cnn-s", *SMALL, "steps=4", "run.histogram_every=1"]
    program.train(*keys, cwd=cwd, run="plain")
    told = stats(cwd, "plain")["loss_scale"]
    largest = max(tensor[6] for line in lines(cwd, "plain", "histograms.jsonl")
                  for tensor in line["tensors"] if tensor[0].endswith(".grad"))
    checks.same((told["largest_gradient"], told["is_bound"]), (largest, False), "as recorded")
    checks.that(largest * told["scale"] < 65504 <= 2 * largest * told["scale"], f"{told}")
    for precision, end in (("fp16", 65504), ("e5m2", 57344), ("w=fp16,grad=e4m3,wgrad=e4m3", 240),
                           ("fp32", None)):
        run = f"from-{precision}"
        program.train(*keys, f"precision={precision}", "scaler.init=auto:plain", cwd=cwd, run=run)
        with open(f"{cwd}/{run}/config.resolved.yaml") as file:
            resolved = file.read().split("\nscaler:\n")[1].split("\n")
        found = float(resolved[1].split(": ")[1])
        checks.same(resolved[0], "  name: constant", f"{precision}: a scale that was chosen stays")
        checks.that(found == 1 if end is None else largest * found < end <= 2 * largest * found,
                    f"{precision}: {found} for gradients of {largest}")
    for run, part in (("nothing", "no run folder"), ("unseen", "no histogram")):
        if run == "unseen":
            program.train(*keys, "run.histogram_every=0", cwd=cwd, run=run)
        code, _, err = call("train", *keys, "precision=fp16", f"scaler.init=auto:{run}", "run.dir=x", cwd=cwd)
        checks.that(code == 3 and f"scaler.init=auto:{run}" in err and part in err, f"{run}: {code} {err}")
        checks.that(not os.path.exists(f"{cwd}/x"), "no folder is made")
    for bad in ("auto:", "car"):
        code, _, err = call("train", *keys, f"scaler.init={bad}", cwd=cwd)
        checks.that(code == 2 and "scaler.init" in err, f"{bad}: {code} {err}")

def share_below(limit, x):
    """Share of |x| < limit and share below it of a bin that it cuts, of one histogram."""
    name, elements, zero, nonfinite, first, bins, _ = x
    total = 0.0
    for i, count in enumerate(bins):
        low = 2.0 ** (first + i)
        total += count * min(1.0, max(0.0, (limit - low) / low))
    return total / elements


def tables(checks, cwd):
    """The tables against the files, computed in another way."""
    keys = ["model=resnet20", "model.width=0.5", "precision=fp16", "scaler=constant",
            "scaler.init=1", *SMALL]
    program.train(*keys, cwd=cwd)
    found = stats(cwd, "run", "format=fp16,1/6/9/n,fp(4,3,4)")
    checks.same([table["format"] for table in found["formats"]],
                ["as counted", "fp16", "1/6/9/n", "fp(4,3,4)"], "formats")
    rows = [line for line in lines(cwd, "run", "numerics.jsonl") if "tensors" in line]
    counted = {}
    for tensor in (tensor for row in rows for tensor in row["tensors"]):
        if tensor[1] != "float32":
            counted[tensor[0]] = max(counted.get(tensor[0], 0.0), tensor[12])
    layers = {row["layer"]: row for row in found["formats"][0]["layers"]}
    checks.same(len(layers), 22, "convolutions and the linear layer")
    for name, row in layers.items():
        if name != "fc":
            checks.same(row["input"]["subnormal"], counted[row["input"]["tensor"]], f"{name} input")
            checks.same(row["weight"]["subnormal"], counted[f"{name}.weight"], f"{name} weight")
            checks.same(row["gradient"]["subnormal"], counted[f"{name}.out.grad"], f"{name} grad")
    most = max(row[part]["subnormal"] for row in layers.values()
               for part in ("input", "weight", "gradient") if row[part])
    checks.same(found["formats"][0]["most"]["all"]["subnormal"], most, "the largest of all")
    histograms = {}
    for line in lines(cwd, "run", "histograms.jsonl"):
        for tensor in line["tensors"]:
            histograms.setdefault(tensor[0], []).append(tensor)
    for table, emin, man, flushes in ((found["formats"][1], -14, 10, False),
                                      (found["formats"][2], -30, 9, True),
                                      (found["formats"][3], -10, 3, False)):
        normal, vanish = 2.0 ** emin * (1 - 2.0 ** (-man - 1)), 2.0 ** (emin - man - 1)
        for row in table["layers"]:
            tensors = histograms[row["gradient"]["tensor"]]
            subnormal = max(share_below(normal, x) - share_below(vanish, x) for x in tensors)
            underflow = max(share_below(normal if flushes else vanish, x) for x in tensors)
            for key, wanted in (("subnormal", subnormal), ("underflow", underflow)):
                checks.that(math.isclose(row["gradient"][key], wanted, rel_tol=1e-9, abs_tol=1e-12),
                            f"{table['format']} {row['layer']} {key}: {row['gradient'][key]}, "
                            f"expected {wanted}")
    scale = found["loss_scale"]
    largest = max(tensor[8] for row in rows for tensor in row["tensors"]
                  if tensor[0].endswith(".grad") and tensor[8] is not None)
    # Rounded in every step, known by exponents: 65504 is not reached wherever in its binade it lies.
    checks.same((scale["largest_gradient_exponent"], scale["exponent"], scale["is_bound"]),
                (largest, 14 - largest, True), "loss scale")
    from_a_run(checks, cwd)
    pools = found["exponents"]
    for name, pool in pools.items():
        total = pool["zero"] + pool["nonfinite"] + sum(pool["exponents"].values())
        checks.that(abs(total - 1.0) < 1e-9, f"{name}: shares add up to {total}")
    code, out, _ = call("stats", "run", cwd=cwd)
    checks.that(code == 0 and "layer2.0.shortcut.conv" in out and "fp16: subnormal" in out, "text")
    program.train("model=cnn-s", *SMALL, "run.histogram_every=0", cwd=cwd, run="none")
    checks.that(not os.path.exists(f"{cwd}/none/histograms.jsonl"), "none asked for, none written")
    none = stats(cwd, "none")
    checks.same((none["histograms"], none["formats"][0]["most"]["all"]), (0, None),
                "no format to tell of in float32")
    largest = max(tensor[8] for row in lines(cwd, "none", "numerics.jsonl")
                  for tensor in row.get("tensors", []) if tensor[0].endswith(".grad"))
    checks.same(none["loss_scale"]["largest_gradient_exponent"], largest,
                "the largest gradient of the steps that count float32, without histograms")


def curves(checks, cwd):
    """What rounding did to a tensor, row by row, against numerics.jsonl: as CSV, JSON and a picture."""
    program.train("model=cnn-s", "precision=hfp8", *SMALL, "run.log_every=1", cwd=cwd)
    rows = [line for line in lines(cwd, "run", "numerics.jsonl") if "tensors" in line]
    for name in ("conv2.out", "conv2.out.grad", "fc.weight"):
        expected = [(row["step"], row["steps"], *tensor[1:8], *tensor[10:13]) for row in rows for tensor in row["tensors"]
                    if tensor[0] == name]
        code, out, err = call("stats", "run", f"curve={name}", cwd=cwd)
        checks.same(code, 0, err)
        found = list(csv.DictReader(out.splitlines()))
        checks.same([(int(row["step"]), int(row["steps"]), row["format"], *(int(row[key]) for key in (
                        "elements", "overflow", "underflow", "subnormal", "zero", "nan"))) for row in found],
                    [row[:9] for row in expected], f"{name}: counts")
        for row in found:
            for key in ("subnormal", "underflow", "overflow"):
                checks.same(float(row[f"{key}_share"]), int(row[key]) / int(row["elements"]), f"{name}: share of {key}")
        checks.same([[float(row[f"most_{key}_share"]) for key in ("overflow", "underflow", "subnormal")] for row in found],
                    [list(row[9:]) for row in expected], f"{name}: the most in one step")
        checks.that(any(int(row["subnormal"]) for row in found) or name == "fc.weight", f"{name}: some are subnormal")
        made = stats(cwd, "run", f"curve={name}")["rows"]
        checks.same([{key: str(value) for key, value in row.items() if key in ("step", "subnormal", "elements")} for row in made],
                    [{key: row[key] for key in ("step", "subnormal", "elements")} for row in found], f"{name}: JSON")
        call("stats", "run", f"curve={name}", "out=c.csv", cwd=cwd)
        checks.same(text(cwd, ".", "c.csv"), out, f"{name}: the file has what stdout had")
    code, out, err = call("stats", "run", "curve=conv?.out", "out=c.svg", cwd=cwd)
    picture = text(cwd, ".", "c.svg")
    checks.that(code == 0 and all(f">conv{i}.out<" in picture for i in (1, 2, 3)) and "subnormal, %" in picture,
                f"a picture of three: {err}")
    for words, what in ((["curve=conv9.out"], "'conv2.out'"), (["curve=*", "out=c.svg"], "at most 12"),
                        (["curve=conv1.out", "out=c.gif"], ".csv, .json, .svg, .pdf or .png"), (["out=c.svg"], "out.file")):
        code, _, err = call("stats", "run", *words, cwd=cwd)
        checks.that(code == 2 and what in err, f"{words}: {code}, {err}")


if __name__ == "__main__":
    program.main(curves, ways, none_lost, resumed, tables)
