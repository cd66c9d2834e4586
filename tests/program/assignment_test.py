"""Assignments as a user meets them: groups of plan, plan files, promotion while training, errors."""
import json

import program

# Lee et al., CIFAR-10, batch 128.
RESNET18 = {5: 67272960, 3: 67182848, 1: 50405632, 2: 50405632, 4: 50405632, 10: 34210304,
            0: 789888, 21: 5376}
OVERFLOWING = ["precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)",
               "precision.promote_at=0.002"]
KEYS = ["model=cnn-s", "data=glyphs", "data.limit=200", "data.test_limit=16", "batch=17",
        "threads=1", "run.chunk=8", "steps=16", "run.log_every=1"]


def plan(checks, cwd, *words):
    code, out, err = program.call("plan", *words, "--json", cwd=cwd)
    checks.same(code, 0, f"plan {' '.join(words)}: {err}")
    return json.loads(out)


def groups_of_resnet18(checks, cwd):
    made = plan(checks, cwd, "model=resnet18", "precision=demote:0.5")
    groups = {g["id"]: g for g in made["groups"]}
    checks.same(made["tensor_elements"], 543364500, "tensor_elements")
    checks.same(sorted(groups), list(range(22)), "ids")
    for number, elements in RESNET18.items():
        checks.same(groups[number]["elements"], elements, f"group {number}")
    low = sorted(i for i, g in groups.items() if g["precision"] == "low")
    checks.same(low, [1, 2, 3, 4, 5], "demoted groups")
    share = sum(groups[i]["share"] for i in low)
    checks.that(abs(share - 0.5257) < 5e-5, f"their share: {share}")
    bits = sum(g["bits"] for g in groups.values())
    checks.same(bits, made["model_aggregate_bits"], "bits of the groups")
    low_elements = made["low_precision_ratio"] * made["tensor_elements"]
    checks.same(round(bits + 8 * low_elements), 16 * made["tensor_elements"], "16 and 8 bits")


def memory_falls_with_the_ratio(checks, cwd):
    for model in ("resnet18", "resnet20"):
        saved = [plan(checks, cwd, f"model={model}", f"precision=demote:{r}")
                 ["memory_bytes"]["saved"]["packed"] for r in (0, 0.2, 0.4, 0.6, 0.8, 1)]
        checks.that(all(a >= b for a, b in zip(saved, saved[1:])) and saved[-1] < 0.6 * saved[0],
                    f"{model}: bytes saved for the backward pass {saved}")


def unequal_widths(checks, cwd):
    """Low is what the low candidate of the role says, not what is as narrow as the widest one."""
    words = ["model=cnn-s", "precision.high=w=fp32,act=fp16,grad=fp16,wgrad=fp16",
             "precision.low=w=fp16,act=e4m3,grad=e5m2"]
    made = plan(checks, cwd, *words, "precision=high")
    checks.same(made["low_precision_ratio"], 0, "nothing is low")
    checks.that("low" not in {g["precision"] for g in made["groups"]}, "no group is low")
    made = plan(checks, cwd, *words, "precision=uniform", "out=wide.yaml")
    weights = made["parameters"] / made["tensor_elements"]
    checks.that(abs(made["low_precision_ratio"] - (1 - weights)) < 1e-12,
                f"all but the gradients of parameters: {made['low_precision_ratio']}")
    with open(f"{cwd}/wide.yaml") as file:
        checks.that('low_bits: "8, 8, 16, 15"' in file.read().replace("'", '"'), "bits by role")
    again = plan(checks, cwd, "model=cnn-s", "precision=wide.yaml")
    for key in ("low_precision_ratio", "groups"):
        checks.same(again[key], made[key], f"the plan file: {key}")
    code, _, err = program.call("plan", "model=cnn-s", "precision=wide.yaml",
                                "precision.low_bits=8, 8", cwd=cwd)
    checks.that(code == 2 and "or four" in err, f"two numbers: {code} {err}")


def plan_file(checks, cwd):
    with open(f"{cwd}/mine.yaml", "w") as file:
        file.write("precision:\n  name: listed+promote\n  low_tensors: [group:1, fc.weight]\n"
                   "  rules:\n    - layer1.0.bn1.out: e5m2\nevidence:\n  why: [a, b]\n")
    made = plan(checks, cwd, "model=resnet20", "precision=mine.yaml")
    words = ["precision=listed+promote", "precision.low_tensors=group:1,fc.weight",
             "precision.rules=layer1.0.bn1.out: e5m2"]
    checks.same(made["groups"], plan(checks, cwd, "model=resnet20", *words)["groups"],
                "plan file and keys")
    checks.same([g["id"] for g in made["groups"] if g["precision"] == "low"], [1], "low groups")
    train = program.train("precision=mine.yaml", "model=resnet20", *program.TINY, "steps=2",
                          cwd=cwd, run="planned")
    checks.that(train["low_precision_ratio"] > 0, "a plan file trains")
    with open(f"{cwd}/planned/config.resolved.yaml") as file:
        checks.that("group:1" in file.read(), "the resolved configuration holds the plan")


def promotion(checks, cwd):
    made = program.train(*KEYS, *OVERFLOWING, "precision=uniform+promote", cwd=cwd, run="a")
    lines = [json.loads(line) for line in open(f"{cwd}/a/numerics.jsonl")]
    found = [item for line in lines for item in line.get("promoted", [])]
    checks.that(made["promoted"] == len(found) > 2, f"{made['promoted']} promoted, lines {found}")
    for name, before, after, share in found:
        checks.that(before == "fp(2,5,1)" and after == "fp(6,9,0)" and share >= 0.002,
                    f"{name}: {before} to {after}, {share}")
    step = next(line["step"] for line in lines if "promoted" in line)
    formats = {line["step"]: {t[0]: t[1] for t in line["tensors"]} for line in lines
               if "tensors" in line}
    checks.same((formats[step][found[0][0]], formats[step + 1][found[0][0]]),
                ("fp(2,5,1)", "fp(6,9,0)"), "format from the next step on")
    rows = program.rows(cwd, "a")
    checks.same(int(rows[-1]["promoted"]), len(found), "metrics.csv")
    never = program.train(*KEYS, *OVERFLOWING, "precision=uniform", cwd=cwd, run="b")
    checks.same(never["promoted"], 0, "without promotion")
    for words in (["storage=float32"], ["fuse=off"], ["threads=2"], ["recompute=off"]):
        other = program.train(*KEYS, *OVERFLOWING, "precision=uniform+promote", *words, cwd=cwd,
                              run="-".join(words))
        checks.same((other["weights_hash"], other["promoted"]),
                    (made["weights_hash"], made["promoted"]), f"{words}: same bits")


def resumed(checks, cwd):
    words = [*KEYS, *OVERFLOWING, "precision=uniform+promote", "lr.schedule=constant"]
    whole = program.train(*words, cwd=cwd, run="whole")
    program.train(*words, "steps=7", cwd=cwd, run="part")
    with open(f"{cwd}/part/plan.json") as file:
        plan = file.read()
    code, out, err = program.call("resume", "part", "steps=16", "--json", cwd=cwd)
    checks.same(code, 0, f"resume: {err}")
    part = json.loads(out)
    for key in ("weights_hash", "promoted", "low_precision_ratio", "model_aggregate_bits",
                "overflow_share"):
        checks.same(part[key], whole[key], f"resumed: {key}")
    with open(f"{cwd}/part/plan.json") as file:
        checks.same(file.read(), plan, "plan.json says what the training began with")
    with open(f"{cwd}/whole/plan.json") as file:
        checks.same(json.load(file)["low_precision_ratio"],
                    json.loads(plan)["low_precision_ratio"], "and so without a stop")


def bad_input(checks, cwd):
    with open(f"{cwd}/no-name.yaml", "w") as file:
        file.write("precision:\n  low_tensors: [fc.weight]\n")
    with open(f"{cwd}/other.yaml", "w") as file:
        file.write("model: resnet18\n")
    rows = [(["precision=demote:1.5"], 2, "within 0..1"),
            (["precision=demote:-1"], 2, "within 0..1"),
            (["precision=demote:memory=0.1"], 2, "at least 0.25"),
            (["precision=demote:half"], 2, "expected demote:R"),
            (["precision=listed", "precision.low_tensors=fc.wieght"], 2, "'fc.weight'"),
            (["precision=listed", "precision.low_tensors=group:77"], 2, "group:0 to group:"),
            (["precision=high", "precision.low_tensors=fc.weight"], 2, "precision=listed"),
            (["precision=uniform", "precision.low=fp32"], 2, "fewer than"),
            (["precision=uniform", "precision.low=act=e9m9"], 2, "precision.low"),
            (["precision=promote"], 2, "uniform+promote"),
            (["precision=no-name.yaml"], 2, "name"),
            (["precision=other.yaml"], 2, "expected a plan"),
            (["precision=missing.yaml"], 3, "missing.yaml")]
    for words, code, text in rows:
        found, _, err = program.call("plan", "model=resnet20", *words, cwd=cwd)
        checks.that(found == code and text in err, f"{words}: exit {found}, {err.strip()!r}")


program.main(groups_of_resnet18, unequal_widths, memory_falls_with_the_ratio, plan_file, promotion, resumed,
             bad_input)
