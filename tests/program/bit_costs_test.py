"""`plan` of schedules of bits: the published costs, sums that fit, words that do not."""
import json
import os

import program

STEPS = "steps=64000"
STAGES = "bits.stages=[0: 4 6 8, 30: 6 8 4, 60: 8 4 6, 90: 8]"


def plan(precision, *words, cwd):
    """JSON of a plan that must succeed; nothing is said on stderr."""
    words = [f"precision={precision}", *words]
    code, out, err = program.call("plan", *words, "--json", cwd=cwd)
    if code != 0 or err:
        raise SystemExit(f"plan {' '.join(words)}: exit {code}: {err}")
    return json.loads(out)


def near(checks, found, expected, digit, message):
    """Equal as far as the expected number is written."""
    checks.that(abs(found - expected) <= 0.5 * digit + 1e-12,
                f"{message}: found {found!r}, expected {expected!r}")


def relative_costs(checks, cwd):
    """Training beside static 8 bits: what the schedules' papers say of them."""
    for bits, ratio in {3: .297, 4: .417, 5: .547, 6: .6875, 7: .839, 8: 1.0}.items():
        found = plan(f"static:{bits}", "model=resnet20", STEPS, cwd=cwd)
        near(checks, found["cases"][0]["relative_training_cost"], ratio, 1e-3, f"static:{bits}")
    for precision, ratio in {"cpt:4-8": .6989, "cpt:3-8": .6333}.items():
        found = plan(precision, "model=resnet20", STEPS, cwd=cwd)
        near(checks, found["cases"][0]["relative_training_cost"], ratio, 1e-4, precision)
        checks.same(len(found["cases"]), 1, f"{precision}: its bits are known")
    for length in ("epochs=160", STEPS):
        words = [STAGES] if length != STEPS else [
            "bits.stages=[0: 4 6 8, 12000: 6 8 4, 24000: 8 4 6, 36000: 8]", "bits.per=step"]
        found = plan("staged", "model=resnet38", length, *words, cwd=cwd)
        near(checks, found["cases"][0]["relative_training_cost"], .8320, 1e-4, f"staged, {length}")
    words = ["model=resnet38", "epochs=160", "bits.until=90", "bits.every=10"]
    found = plan("random", *words, cwd=cwd)
    near(checks, found["cases"][0]["relative_training_cost"], .832, 2e-2, "random")
    found = plan("random", *words, "bits.grad=same", cwd=cwd)
    near(checks, found["cases"][0]["relative_training_cost"], .777, 2e-2, "random, gradients too")
    other = plan("random", *words, "bits.grad=same", "seed=2", cwd=cwd)
    checks.that(other["cases"] != found["cases"], "the seed draws")


def turns(checks, cwd):
    """A network that makes pictures and one that judges them: what the two turns of a step compute, and the model once."""
    words = ["model=dcgan-s", "model.width=0.25", "data=fashion-mnist", "data.limit=32", "data.test_limit=16",
             "batch=8", "steps=2"]
    found = plan("static:8", *words, cwd=cwd)
    macs = {"gen": 0, "disc": 0}
    for row in found["cases"][0]["layers"]:
        part = row["name"].split(".")[0]
        costs, bitops = row["costs"].get("bitops"), 64 * row["macs"]
        if not costs:
            continue
        # The pictures are made in both turns. They are judged again for the sake of who makes them.
        expected = {"forward": 2 if part == "gen" else 1, "error": 1, "update": part != "again",
                    "inference": part in macs}
        checks.same({key: costs[key] for key in expected}, {key: bitops * n for key, n in expected.items()}, row["name"])
        checks.that(row["costs"]["memory"]["forward"] < 2 * bitops, f"{row['name']}: memory is held once")
        if part in macs:
            macs[part] += bitops
    gen, disc = macs["gen"], macs["disc"]
    costs = found["cases"][0]["costs"]["bitops"]
    checks.same([costs[key] for key in ("forward", "error", "update", "inference")],
                [2 * gen + 3 * disc, gen + 3 * disc, gen + 2 * disc, gen + disc], "sums")
    spent = program.train("precision=static:8", *words, "eval.every=0", cwd=cwd)["bits"]
    checks.same((spent["training_bitops"], spent["inference_bitops"]), (costs["training"], costs["inference"]),
                "the training spends what was told")


def gradients_apart(checks, cwd):
    """The gradient of the weights reads another number of bits: its pass alone costs otherwise."""
    whole = plan("static:8", "model=resnet20", STEPS, cwd=cwd)["cases"][0]["costs"]
    for bits, number in {"16": 16, "float": 32, "8": 8, "4": 4}.items():
        found = plan("static:8", "model=resnet20", STEPS, f"bits.grad_weights={bits}", cwd=cwd)
        case, name = found["cases"][0], f"bits.grad_weights={bits}"
        near(checks, case["relative_training_cost"], (2 + number / 8) / 3, 1e-12, name)
        checks.same((case["bits"]["gradient"], case["bits"]["gradient_of_weights"]),
                    (8.0, float(number)), f"{name}: bits")
        costs = case["costs"]
        for key in ("forward", "error", "inference"):
            checks.same(costs["bitops"][key], whole["bitops"][key], f"{name}: {key}")
        checks.same(costs["bitops"]["update"], number / 8 * whole["bitops"]["update"], name)
        checks.same(costs["memory"]["update"], number / 8 * whole["memory"]["error"],
                    f"{name}: a second gradient is held")
    path = os.path.join(cwd, "apart.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("formats: {int8: 1, fp32: 5, int8*fp32: 3}\n")
    found = plan("static:8", "model=resnet20", STEPS, "bits.grad_weights=float",
                 f"cost.file={path}", cwd=cwd)
    costs = found["cases"][0]["costs"]["table"]
    checks.same((costs["update"], costs["error"]),
                (3.0 * found["quantised_macs"], 1.0 * found["quantised_macs"]), "a table with fp32")
    fails(checks, cwd, 2, ["no cost of int16"], "precision=static:8", "bits.grad_weights=16",
          f"cost.file={path}")


def absolute_costs(checks, cwd):
    """The unit of LDP's tables, and ours."""
    for model, macs, inference, training in [("resnet20", 40812544, 1.317, .647e8),
                                             ("resnet38", 83279872, 2.685, 1.320e8),
                                             ("resnet74", 168214528, 5.423, 2.665e8)]:
        found = plan("static:8", f"model={model}", STEPS, cwd=cwd)
        costs = found["cases"][0]["costs"]
        checks.same((found["quantised_macs"], found["float_macs"], found["batch"]),
                    (macs, 640, 128), f"{model}: MACs and batch")
        near(checks, costs["paper"]["inference"] / 1e9, inference, 1e-3, f"{model}: inference")
        near(checks, costs["paper"]["training"] / 1e9, training, 1e5, f"{model}: training")
        checks.same([costs["bitops"][key] for key in ("forward", "error", "update", "inference")],
                    [64.0 * macs] * 4, f"{model}: our passes")
        checks.same(costs["bitops"]["step"], 3.0 * 64 * macs * 128, f"{model}: a step")
        near(checks, costs["bitops"]["training"], 192.0 * macs * 128 * 64000, 1e3,
             f"{model}: the training")


def layers_add_up(checks, cwd):
    for precision in ("cpt:3-8", "pfq:4-8", "ldp:3-8", "static:5"):
        found = plan(precision, "model=resnet20", "model.width=0.5", "steps=3000", cwd=cwd)
        for case in found["cases"]:
            quantised = [layer for layer in case["layers"] if layer["quantised"]]
            checks.same(sum(layer["macs"] for layer in quantised), found["quantised_macs"], "MACs")
            for cost in found["units"]:
                for key in ("forward", "error", "update", "training", "inference"):
                    total = sum(layer["costs"][cost][key] for layer in quantised)
                    checks.that(abs(total - case["costs"][cost][key]) <= 1e-12 * abs(total),
                                f"{precision}, {case['case']}: {cost} {key}")
            fc = case["layers"][-1]
            checks.same((fc["name"], fc["quantised"], fc["bits"]["mean"], fc["costs"]),
                        ("fc", False, 32.0, {}), "the classifier stays float32")
    found = plan("static:8", "model=resnet20", "bits.first_float=on", "bits.last_float=off",
                 "steps=10", cwd=cwd)
    flags = [layer["quantised"] for layer in found["cases"][0]["layers"]]
    checks.same(flags, [False] + [True] * 21, "other rules")


def by_layer(checks, cwd):
    """Bits of layers by name: their costs and their memory follow, those of others stay."""
    words = ["model=resnet20", "steps=1000"]
    usual = plan("static:8", *words, cwd=cwd)
    rules = "bits.layers=[layer1.*: 4, layer2.0.*: float, fc: 6]"
    found = plan("static:8", rules, *words, cwd=cwd)
    forward = 0
    for before, after in zip(usual["cases"][0]["layers"], found["cases"][0]["layers"]):
        name = after["name"]
        bits = (4 if name.startswith("layer1.") else 32 if name.startswith("layer2.0.") else 6 if name == "fc"
                else 8)
        checks.same((after["bits"]["mean"], after["quantised"]), (bits, bits < 32), name)
        if bits == 8:
            checks.same(after["costs"], before["costs"], f"{name}: as without rules")
        if bits < 32:
            checks.same(after["costs"]["bitops"]["forward"], bits * bits * after["macs"], f"{name}: bit-operations")
            forward += bits * bits * after["macs"]
    checks.same(found["cases"][0]["costs"]["bitops"]["forward"], forward, "their sum")
    held = [plan("static:16", *rule, *words, cwd=cwd)["memory_bytes"]["weight copies"]["packed"]
            for rule in ([], ["bits.layers=[layer1.*: 8]"])]
    checks.that(held[1] < held[0], f"memory follows: {held}")
    cases = plan("ldp:3-8", "bits.layers=[layer3.*: 8, layer1.*: 3-4]", *words, cwd=cwd)["cases"]
    for case, least, most in zip(cases, (3, None, 3), (8, None, 8)):
        for layer in case["layers"]:
            mean = layer["bits"]["mean"]
            if layer["name"].startswith("layer3."):
                checks.same(mean, 8, f"{case['case']}: {layer['name']}")
            elif layer["name"].startswith("layer1."):
                checks.that(3 <= mean <= 4, f"{case['case']}: {layer['name']} has {mean} bits")


def bounds(checks, cwd):
    """Where the training decides, the cheapest and the dearest are told."""
    cases = plan("pfq:3-8", "model=resnet20", STEPS, "bits.interval=400", cwd=cwd)["cases"]
    near(checks, cases[0]["relative_training_cost"], .297, 1e-3, "pfq that never turns")
    early = (2000 * (57 + 80 + 132) + 58000 * 192) / 192 / 64000
    near(checks, cases[1]["relative_training_cost"], early, 1e-12, "pfq that turns early")
    cases = plan("ldp:3-8", "model=resnet20", STEPS, "bits.target=0.7", cwd=cwd)["cases"]
    near(checks, cases[0]["relative_training_cost"], .297, 1e-3, "ldp at its least")
    near(checks, cases[1]["costs"]["bitops"]["relative_inference"], .7, 1e-9, "ldp at its target")
    near(checks, cases[1]["relative_training_cost"], (.7 + 2 * .7 ** .5) / 3, 1e-9, "and training")
    checks.same(cases[2]["relative_training_cost"], 1.0, "ldp as static")


def cost_table(checks, cwd):
    """A user's costs by format, in the plan and as what ldp aims at."""
    path = os.path.join(cwd, "costs.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("unit: pJ\nformats: {int3: 0.1, int4: 0.25, int5: 0.5, int6: 1, int7: 2, "
                   "int8: 4}\n")
    found = plan("ldp:3-8", "model=resnet20", STEPS, f"cost.file={path}", "bits.cost=table",
                 "bits.target=0.5", cwd=cwd)
    checks.same(found["units"]["table"], "pJ", "unit")
    costs = [case["costs"]["table"] for case in found["cases"]]
    near(checks, costs[0]["forward"], 0.1 * found["quantised_macs"], 1e-6, "3 bits")
    near(checks, costs[1]["relative_inference"], 0.5, 1e-9, "the target is of the table")
    checks.same(found["cases"][1]["bits"]["mean"], 7.0, "which 7 bits meet")
    with open(path, "w", encoding="utf-8") as file:
        file.write("formats: {int3: 0.1, int4: 0.25, int6: 1, int7: 2, int8: 4}\n")
    fails(checks, cwd, 2, [path, "no cost of int5", "from int3 to int8"], "precision=ldp:3-8",
          f"cost.file={path}")
    fails(checks, cwd, 3, ["cost.file: nowhere.yaml"], "precision=ldp:3-8",
          "cost.file=nowhere.yaml")
    fails(checks, cwd, 2, ["bits.exponent: found 5", "at least 6 bits"], "precision=ldp:3-8",
          f"cost.file={path}", "bits.kind=float")
    for costs, parts in [("int3: 3, int4: 1, int8: 1", ["int3 dearer than int4"]),
                         ("int3: 0, int4: 0, int8: 0", ["found only costs of 0"]),
                         ("int3: 2, int4: 2, int8: 2", ["bits.target", "at least 1.0000"])]:
        with open(path, "w", encoding="utf-8") as file:
            file.write("formats: {%s}\n" % costs)
        fails(checks, cwd, 2, parts, "precision=ldp:3-4", f"cost.file={path}", "bits.cost=table")
    found = plan("ldp:4-8", "model=cnn-s", "bits.kind=float", "bits.exponent=3", "steps=10",
                 cwd=cwd)
    checks.that("table" not in found["units"], "no table, no cost of it")


def text(checks, cwd):
    for precision, part in [("cpt:4-8", "int4 to int8, gradients int8"),
                            ("ldp:3-8", "the target in every step"),
                            ("pfq:3-8", "turns as early as it can")]:
        code, out, err = program.call("plan", f"precision={precision}", "model=resnet20", STEPS,
                                      cwd=cwd)
        checks.same((code, err), (0, ""), f"{precision}: exit code and stderr")
        for word in (part, "layer2.0.shortcut.conv", "40,812,544", "to static 8", "1.317"):
            checks.that(word in out, f"{precision}: {word!r} in the text")
        checks.same(max(len(line) for line in out.splitlines()) <= 132, True, "width of the text")


def memory(checks, cwd):
    """The plan tells just the bytes that the training has."""
    keys = ["precision=ldp:3-8", "model=cnn-s", "data=glyphs", "data.limit=64",
            "data.test_limit=16", "batch=16", "threads=1", "steps=2"]
    for run, rules in (("run", []), ("rules", ["bits.layers=[conv1: 12, conv2: 4, fc: 4-5]"])):
        found = plan(keys[0].split("=")[1], *keys[1:], *rules, cwd=cwd)["memory_bytes"]
        made = program.train(*keys, *rules, cwd=cwd, run=run)["ledger_bytes"]
        checks.same({role: both["packed"] for role, both in found.items()}, made, f"bytes by role, {rules}")
    code, out, _ = program.call("plan", *keys, cwd=cwd)
    checks.same(code, 0, "exit code of the text")
    checks.that("memory in MiB" in out and "waits in their bits" in out,
                "the text tells the memory")


def fails(checks, cwd, code, parts, *words, verb="plan"):
    found, out, err = program.call(verb, "model=resnet20", STEPS, *words, cwd=cwd)
    name = " ".join((verb, *words))
    checks.same((found, out), (code, ""), f"{name}: exit code and stdout ({err!r})")
    for part in parts:
        checks.that(part in err, f"{name}: {part!r} in {err!r}")


def errors(checks, cwd):
    for words, parts in [
            (["precision=cpt:8-4"], ["8-4", "empty", "4-8"]),
            (["precision=cpt:1-8"], ["found 1 bits, expected 2 to 16"]),
            (["precision=ldp:3-32"], ["found 32 bits, expected 2 to 16"]),
            (["precision=static"], ["static:B, as in static:8"]),
            (["precision=cpt:4-8", "bits.cycles=64001"], ["bits.cycles", "64001", "64000 steps"]),
            (["precision=ldp:3-8", "bits.target=0.14"], ["bits.target", "at least 0.1407"]),
            (["precision=ldp:3-8", "bits.cost=table"], ["bits.cost", "cost.file"]),
            (["precision=ldp:3-8", "bits.grad=6-8"], ["bits.grad", "6-8", "ldp"]),
            (["precision=ldp:3-8", "bits.cycles=8"], ["bits.cycles", "does not read"]),
            (["precision=hfp8", "bits.cycles=8"], ["bits.cycles", "does not read"]),
            (["precision=hfp8", "cost.file=x.yaml"], ["cost.file", "does not read"]),
            (["precision=staged"], ["bits.stages", "found none"]),
            (["precision=staged", "bits.stages=[0: 4 6, 10: 8]"], ["found 2 numbers", "3"]),
            (["precision=staged", "bits.stages=[0: 4, 200: 8]"], ["begins at step 78200"]),
            (["precision=random", "bits.set=[4,20]"], ["bits.set", "found 20 bits"]),
            (["precision=random", "bits.until=200"], ["bits.until", "step 78200"]),
            (["precision=pfq:3-8", "bits.turns=[8,3]"], ["bits.turns", "place 2"]),
            (["precision=pfq:3-8", "bits.grad_turns=[6,8]"], ["bits.grad_turns", "expected 4"]),
            (["precision=cpt:4-8", "bits.kind=float", "bits.exponent=5"],
             ["bits.exponent", "of 4"]),
            (["precision=cpt:8-10", "bits.kind=float", "bits.grad=4"],
             ["gradients of 4 bits (bits.grad", "at least 6"]),
            (["precision=pfq:7-8", "bits.kind=float", "bits.grad_turns=[4,6,8,8]"],
             ["gradients of 4 bits", "bits.grad_turns", "at least 6"]),
            (["precision=staged", "bits.stages=[0: 4, 99999999999999999: 8]"], ["FROM: BITS"]),
            (["precision=staged", "bits.stages=[0: 4, 999999999999999: 8]", "batch=1"],
             ["999999999999999", "expected one of the run's"]),
            (["precision=random", "bits.until=70000", "bits.per=step"], ["step 70000"]),
            (["precision=random", "bits.until=2000000", "bits.per=step"], ["step 2000000"]),
            (["precision=cpt:4-8", "out=x.yaml"], ["out: found one"]),
            (["precision.epochs=[0: fp32, 3: cpt:4-8]"], ["epoch 3", "whole training"]),
            (["precision=static:8", "precision.rules=[layer1.0.conv1.weight: e4m3]"],
             ["rule 'layer1.0.conv1.weight: e4m3'", "whose bits precision 'static' decides"]),
            (["precision=ldp:3-8", "precision.rules=[fc.weight: fp16, weight: uniform8]"],
             ["rule 'weight: uniform8'", "'conv1.weight'"]),
            (["precision=static:8", "precision.scheme=popescu",
              "precision.rules=[conv1.out.grad: e5m2]"], ["for 'conv1.out.grad'"]),
            (["precision=static:8", "bits.norms=on", "precision.scheme=popescu",
              "precision.rules=[bn1.out.grad: e5m2]"], ["for 'bn1.out.grad'"]),
            (["precision=static:8", "bits.layers=[bn1: 4]"], ["'bn1', which is no layer", "'conv1'"]),
            (["precision=static:8", "bits.layers=[conv1: fp16]"], ["bits.layers: rule 'conv1: fp16'", "8 or 4-8"]),
            (["precision=hfp8", "bits.layers=[conv1: 4]"], ["bits.layers", "does not read"]),
            (["precision=static:8", "bits.layers=['*: float']"], ["only layers that stay float32"]),
            (["precision=static:8", "bits.grad_weights=32"], ["bits.grad_weights", "same, float"]),
            (["precision=static:8", "bits.grad_weights=4-8"], ["bits.grad_weights", "4-8"]),
            (["precision=static:8", "bits.kind=float", "bits.grad_weights=5"],
             ["bits.exponent", "of 5"]),
            (["precision=hfp8", "bits.grad_weights=16"], ["bits.grad_weights", "does not read"]),
            (["precision=hfp8", "bits.norms=on"], ["bits.norms", "does not read"]),
            (["precision=fp32", "model=autoencoder", "task=autoencode", "model.norm=range"],
             ["model.norm", "no norms", "expected batch"]),
            (["precision=ldp:3-8", "precision.rounding=sr"], ["precision.rounding", "to nearest"]),
            (["precision=cpt:4-8+promote"], ["+promote"])]:
        fails(checks, cwd, 2, parts, *words)
    # A training is refused for the same reasons, before anything is read or written.
    fails(checks, cwd, 2, ["bits.cycles: found 32 in a run of 4 steps"], "precision=cpt:4-8",
          "data=glyphs", "data.limit=64", "data.test_limit=16", "batch=16", "model=cnn-s", "steps=4",
          "run.dir=refused", verb="train")
    checks.that(not os.path.exists(os.path.join(cwd, "refused")), "no folder of a refused run")


program.main(relative_costs, gradients_apart, turns, absolute_costs, layers_add_up, by_layer, bounds, cost_table, memory, text, errors)
