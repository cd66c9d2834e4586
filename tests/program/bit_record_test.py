"""What a run folder tells of numbers of bits: bits.jsonl, costs so far, the result, TensorBoard. All
costs are worked out here again from the recorded bits and the layers' multiply-accumulates."""
import json
import math
import os

import program
import tensorboard_test

MODEL = ["model=resnet20", "model.width=0.25", "data=glyphs", "data.test_limit=24", "batch=24",
         "lr.warmup=0"]
LEARN = ["bits.lr=5", "bits.target=0.3"]  # large, so that bits move within a few steps


def lines(cwd, run="run"):
    with open(f"{cwd}/{run}/bits.jsonl") as file:
        return [json.loads(line) for line in file]


def bits_by_step(cwd, steps):
    """[{layer: (forward, gradient)}] of every step, from the changes."""
    changes = {line["step"]: line["bits"] for line in lines(cwd) if "bits" in line}
    present, found = {}, []
    for step in range(steps):
        present = {**present, **{name: (b, g) for name, b, g in changes.get(step, [])}}
        found.append(present)
    return found


def macs(cwd, *words):
    _, out, _ = program.call("plan", *words, "--json", cwd=cwd)
    plan = json.loads(out)
    return plan, {layer["name"]: layer["macs"] for layer in plan["cases"][0]["layers"]
                  if layer["quantised"]}


def costs(bits, layers):
    """Bit-operations of a sample: forward, and all three products."""
    forward = sum(macs * bits[name][0] ** 2 for name, macs in layers.items())
    return forward, forward + sum(2 * macs * bits[name][0] * bits[name][1]
                                  for name, macs in layers.items())


def recorded(precision, *keys, most=(8, 8), moves=True):
    def test(checks, cwd):
        steps, samples = 10, [24, 24, 24, 16] * 3  # 88 samples an epoch
        words = [*MODEL, "data.limit=88", f"steps={steps}", f"precision={precision}", *keys]
        made = program.train(*words, "run.log_every=3", "run.checkpoint_every=1", "run.keep=20",
                             cwd=cwd)
        _, layers = macs(cwd, *words)
        found = bits_by_step(cwd, steps)
        checks.same(set(found[0]), set(layers), f"{precision}: layers of the first line")
        checks.same(len({tuple(sorted(bits.items())) for bits in found}) > 1, moves,
                    f"{precision}: bits move")
        for line in lines(cwd):
            for name, b, g in line.get("bits", []):
                before = found[line["step"] - 1].get(name) if line["step"] else None
                checks.that((b, g) != before, f"{precision}: {line['step']} {name}: no change")
        whole = costs({name: most for name in layers}, layers)
        sums, so_far = [0, 0, 0], []
        for step in range(steps):
            one = costs(found[step], layers)
            sums = [sums[0] + samples[step] * one[0], sums[1] + samples[step] * one[1],
                    sums[2] + samples[step]]
            so_far.append(sums)
        rows = {int(row["step"]): row for row in program.rows(cwd)}
        checks.same(sorted(rows), [0, 3, 6, 7, 9], f"{precision}: rows, at ends of epochs too")
        for step, row in rows.items():
            forward, training, count = so_far[step]
            checks.same([float(row[key]) for key in ("forward_bitops", "training_bitops",
                                                     "relative_forward_cost",
                                                     "relative_training_cost")],
                        [forward, training, forward / (count * whole[0]),
                         training / (count * whole[1])], f"{precision}: costs at step {step}")
        told = made["bits"]
        forward, training, count = so_far[-1]
        checks.same([told[key] for key in ("schedule", "forward_bitops", "training_bitops",
                                           "relative_training_cost", "most_bits")],
                    [precision.split(":")[0], forward, training, training / (count * whole[1]),
                     most[0]], f"{precision}: the result")
        trained = {layer["name"]: layer["bits"] for layer in told["layers"]}
        inference = sum(count * trained[name] ** 2 for name, count in layers.items())
        checks.same([told["inference_bitops"], told["relative_inference_cost"],
                     told["cost_at_end"]],
                    [inference, inference / whole[0], inference / whole[0]],
                    f"{precision}: inference")
        board(checks, cwd, found, layers, whole, rows)
        resumed(checks, cwd, precision, made)
    return test


def board(checks, cwd, found, layers, whole, rows):
    """Scalars of TensorBoard: bits where they change, costs of a step there and at rows."""
    seen, spent = {}, {}
    for step, values in tensorboard_test.events(checks, f"{cwd}/run"):
        for tag, value in values.items():
            if tag.startswith("bits/"):
                seen[step, tag[5:]] = value
            elif tag.startswith("cost/"):
                spent[step, tag[5:]] = value
    changed = {(line["step"], name): b for line in lines(cwd) for name, b, _ in line.get("bits", [])}
    checks.same(seen, changed, "bits/LAYER at changes")
    expected = {step for step, _ in changed} | set(rows)
    checks.same({step for step, _ in spent}, expected, "steps of cost/forward")
    for (step, kind), value in spent.items():
        which = ("forward", "training").index(kind)
        share = costs(found[step], layers)[which] / whole[which]
        checks.that(math.isclose(value, share, rel_tol=1e-6), f"cost/{kind} of {step}")


def resumed(checks, cwd, precision, made):
    """At every step: the same lines, the same sums."""
    whole = lines(cwd), program.rows(cwd)
    for step in (1, 4, 7):
        program.copy_at(cwd, "run", f"from{step}", step)
        again = program.resume(f"from{step}", cwd=cwd)
        checks.same(again["bits"], made["bits"], f"{precision}: result, resumed at {step}")
        checks.same((lines(cwd, f"from{step}"), program.rows(cwd, f"from{step}")), whole,
                    f"{precision}: bits.jsonl and metrics.csv, resumed at {step}")


def learned(checks, cwd):
    """A line of betas at every row; the bits of a step are those of the betas before it."""
    made = program.train(*MODEL, "data.limit=96", "steps=8", "precision=ldp:3-8", *LEARN,
                         "run.log_every=1", cwd=cwd)
    found = bits_by_step(cwd, 8)
    betas = [dict(line["beta"]) for line in lines(cwd) if "beta" in line]
    checks.same(len(betas), 8, "a line of betas for every row")
    for step, beta in enumerate(betas[:-1]):
        checks.same({name: round(8 * b) for name, b in beta.items()},
                    {name: b for name, (b, _) in found[step + 1].items()}, f"betas of step {step}")
    checks.same({layer["name"]: layer["bits"] for layer in made["bits"]["layers"]},
                {name: round(8 * b) for name, b in betas[-1].items()}, "bits of the trained model")
    checks.same(made["bits"]["target"], 0.3, "target")


def many_layers(checks, cwd):
    """TensorBoard holds the bits of all layers of a deep model, which change in one step."""
    words = ["model=resnet38", "model.width=0.25", "data=glyphs", "data.limit=32",
             "data.test_limit=8", "batch=16", "lr.warmup=0"]
    program.train(*words, "steps=2", "precision=random", "bits.set=3,5,7", "seed=2", cwd=cwd)
    changed = {(line["step"], name): b for line in lines(cwd) for name, b, _ in line["bits"]}
    checks.same(sum(step == 0 for step, _ in changed), 39, "layers of the first line")
    seen = {}
    for step, values in tensorboard_test.events(checks, f"{cwd}/run"):
        seen.update({(step, tag[5:]): value for tag, value in values.items()
                     if tag.startswith("bits/")})
    checks.same(seen, changed, "bits/LAYER of all layers")


def as_planned(checks, cwd):
    """Where all steps have as many samples, the costs are those that plan foretold."""
    words = [*MODEL, "data.limit=96", "steps=6", "precision=cpt:3-8", "bits.cycles=2"]
    plan, _ = macs(cwd, *words)
    code, out, err = program.call("train", *words, "run.dir=run", cwd=cwd)
    checks.same(code, 0, f"train: {err}")
    with open(f"{cwd}/run/result.json") as file:
        told = json.load(file)["bits"]
    planned = plan["cases"][0]["costs"]["bitops"]
    checks.that(math.isclose(told["relative_training_cost"], planned["relative_training"],
                             rel_tol=1e-14), "relative cost as planned")
    checks.that(math.isclose(told["training_bitops"], planned["training"], rel_tol=1e-14),
                "bit-operations as planned")
    checks.same({layer["bits"] for layer in told["layers"]},
                {plan["cases"][0]["bits"]["trained"]}, "bits of the trained model as planned")
    share = f"training cost {told['relative_training_cost']:.3f} of static 8 bits"
    checks.that(share in out, f"the last lines tell it: {out[-600:]}")
    checks.same(told["target"], None, "no target")


def without(checks, cwd):
    """Other precisions have none of it; a run that goes on with one keeps its columns."""
    words = [*MODEL, "data.limit=96", "run.log_every=1"]
    made = program.train(*words, "steps=2", "precision=fp16", cwd=cwd)
    checks.that("bits" not in made, "no bits in the result of fp16")
    checks.that(not os.path.exists(f"{cwd}/run/bits.jsonl"), "no bits.jsonl")
    checks.that("training_bitops" not in program.rows(cwd)[0], "no columns")
    went = program.resume("run", "steps=4", "precision=static:8", cwd=cwd)
    checks.same(went["bits"]["relative_training_cost"], 1.0, "the sums begin with the schedule")
    checks.that("training_bitops" not in program.rows(cwd)[-1], "metrics.csv keeps its columns")
    with open(f"{cwd}/run/metrics.jsonl") as file:
        rows = [json.loads(line) for line in file]
    checks.same(["training_bitops" in row for row in rows], [False] * 2 + [True] * 2,
                "metrics.jsonl has what there is")


def compared(checks, cwd):
    """Costs beside the metric, in means over the seeds; a row without a schedule has none."""
    words = ["compare", "precision=static:8,cpt:3-8,ldp:3-6,fp16", "seeds=1,2", *MODEL,
             "data.limit=96", "epochs=8", "run.dir=c"]
    code, out, err = program.call(*words, "--json", cwd=cwd)
    checks.same(code, 0, f"compare: {err}")
    made = json.loads(out)
    for i, mean in enumerate(made["precisions"]):
        rows = [row.get("bits") for row in made["rows"][2 * i:2 * i + 2]]
        for key in ("training_bitops", "relative_training_cost", "inference_bitops",
                    "relative_inference_cost"):
            if mean["precision"] == "fp16":
                checks.same((rows, mean.get(key)), ([None, None], None), f"{key} of fp16")
                continue
            expected = (rows[0][key] + rows[1][key]) / 2
            if i == 2 and key.startswith("relative"):  # of 8 bits, not of the 6 of its range
                whole = made["precisions"][0][key.replace("relative_", "").replace("cost", "bitops")]
                expected = mean[key.replace("relative_", "").replace("cost", "bitops")] / whole
            checks.that(math.isclose(mean[key], expected, rel_tol=1e-12),
                        f"{key} of {mean['precision']}: {mean[key]}, expected {expected}")
    checks.same(made["precisions"][0]["relative_training_cost"], 1.0, "static:8 is the measure")
    checks.that(made["precisions"][2]["relative_training_cost"] < 1.0, "ldp costs less")
    code, out, err = program.call(*words, cwd=cwd)
    for text in ("training cost", "inference cost", "1.000 (", "bit-operations"):
        checks.that(text in out, f"the table holds {text!r}: {out}")
    row = next(line for line in out.splitlines() if line.startswith("fp16"))
    checks.that(row.split()[0] == "fp16" and " - " in row, f"no cost of fp16: {row}")


def keys_of_some(checks, cwd):
    """Keys that only some rows read are usual in the others; one that none reads is an error."""
    words = ["compare", "precision=static:8,ldp:3-8,random,fp16", *MODEL, "data.limit=96",
             "steps=3", "run.dir=c", "bits.target=0.5", "bits.set=3,5", "bits.every=2",
             "bits.grad=6"]
    code, out, err = program.call(*words, "--json", cwd=cwd)
    checks.same(code, 0, f"compare: {err}")
    targets = [row.get("bits", {}).get("target") for row in json.loads(out or "{}").get("rows", [])]
    checks.same(targets, [None, 0.5, None, None], "targets of the rows")
    for name, bits in (("static_8", {6}), ("ldp_3-8", {6}), ("random", {6})):
        found = {g for line in lines(cwd, f"c/{name}-s1") for _, _, g in line.get("bits", [])}
        checks.same(found, bits, f"{name}: bits of gradients")
    found = {b for line in lines(cwd, "c/random-s1") for _, b, _ in line["bits"]}
    checks.that(found <= {3, 5}, f"bits.set is read: {found}")
    code, _, err = program.call("compare", "precision=static:8,fp16", *MODEL, "data.limit=96",
                                "steps=3", "run.dir=d", "bits.target=0.5", cwd=cwd)
    checks.that(code == 2 and "bits.target" in err, f"nothing reads it: {code} {err}")
    alone = program.train(*MODEL, "data.limit=96", "steps=3", "precision=static:8", "bits.grad=6",
                          cwd=cwd)
    checks.same(json.loads(out)["rows"][0]["weights_hash"], alone["weights_hash"],
                "a row is what train makes of it")


if __name__ == "__main__":
    program.main(recorded("static:6", "bits.grad=8", most=(6, 8), moves=False),
                 recorded("cpt:3-8", "bits.cycles=2"), recorded("ldp:3-8", *LEARN),
                 recorded("random", "bits.every=2", "bits.grad=same"),
                 learned, many_layers, as_planned, without, compared,
                 keys_of_some)
