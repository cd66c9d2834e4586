"""The search for an assignment: budgets, resumption, its plan, what it reads, errors."""
import csv
import json
import os
import signal
import statistics
import subprocess
import time

import program

KEYS = ["model=cnn-s", "model.width=0.5", "data=glyphs", "data.limit=240", "data.test_limit=100",
        "batch=24", "steps=16", "threads=1", "run.log_every=5"]
# Forward numbers above 3.5 are beyond the range: promotions cost memory.
NARROW = "precision.low=act=fp(2,5,2),w=fp(2,5,2),grad=fp(5,2,0)"


def search(checks, cwd, *words, code=0):
    found, out, err = program.call("assign", *KEYS, *words, "--json", cwd=cwd)
    checks.same(found, code, f"assign {words}: {err[-300:]}")
    return json.loads(out) if out else {}


def plan_of(checks, cwd, path):
    code, out, err = program.call("plan", *KEYS[:5], f"precision={path}", "batch=24", "--json",
                                  cwd=cwd)
    checks.same((code, err), (0, ""), f"plan of {path}")
    return json.loads(out) if out else {}


def candidate(made, name):
    return next(c for c in made["candidates"] if c["name"] == name)


def evaluated(cwd, folder):
    out = program.call("eval", folder, "--json", cwd=cwd)[1]
    return json.loads(out)["test_accuracy"]


def judged_apart(checks, cwd, made, folder):
    """No training of a search reads the test samples; its result does, once for each seed."""
    for entry in sorted(os.listdir(f"{cwd}/{folder}")):
        path = f"{cwd}/{folder}/{entry}"
        if not os.path.exists(f"{path}/result.json"):
            continue
        with open(f"{path}/result.json") as file:
            result = json.load(file)
        checks.same(result["test_accuracy"], None, f"{entry}: test samples not read")
        checks.same(result["validation_samples"], 24, f"{entry}: a tenth is held out")
        with open(f"{path}/metrics.csv", newline="") as file:
            cells = {row["test_accuracy"] for row in csv.DictReader(file)}
        checks.that(cells <= {""}, f"{entry}: no test in its rows")
    for what in ("result", "plain"):
        tests = [evaluated(cwd, f"{folder}/{made[what]['name']}-16-s{seed}")
                 for seed in made["seeds"]]
        checks.that(abs(statistics.mean(tests) - made[what]["test_accuracy"]) < 1e-12, what)
        checks.that(abs(statistics.stdev(tests) - made[what]["test_deviation"]) < 1e-12, what)


def memory(checks, cwd):
    words = ["budget=memory:0.4", "run.dir=m", "assign.random=1", "assign.rungs=2"]
    made = search(checks, cwd, *words)
    checks.that(made["meets_budget"] and made["memory_share"] <= 0.4, f"{made['memory_share']}")
    checks.same((made["seeds"], made["validation_samples"], made["test_samples"]),
                (["1", "2"], 24, 100), "seeds and samples")
    plain = candidate(made, made["plain"]["name"])
    checks.that(plain["plain_demotion"] and plain["rungs"][-1]["steps"] == 16, "plain to the end")
    checks.same(made["plain"]["validation_accuracy"], plain["rungs"][-1]["validation_accuracy"],
                "its value")
    chosen = candidate(made, made["chosen"])
    ends = [c for c in made["candidates"] if c["rungs"][-1]["steps"] == 16]
    best = max(c["rungs"][-1]["validation_accuracy"] for c in ends)
    checks.that(best - chosen["rungs"][-1]["validation_accuracy"] <= made["noise"] * 1.5,
                "not beaten beyond the noise")
    checks.that(all(chosen["loss"] <= c["loss"] for c in ends
                    if c["rungs"][-1]["validation_accuracy"] == best), "what loses least")
    checks.that(made["noise"] > 0 and made["separated"] == (made["gain_over_plain"]
                                                            > 2 * made["noise"]), "the noise")
    plan = plan_of(checks, cwd, made["plan"])
    low = [g["id"] for g in plan["groups"] if g["precision"] == "low"]
    checks.same(low, chosen["low_groups"], "groups of the plan file")
    by_name = plan_of(checks, cwd, made["plan"].replace("plan.yaml", "plan.resolved.yaml"))
    for key in ("layers", "groups", "low_precision_ratio", "memory_bytes"):
        checks.same(by_name[key], plan[key], f"resolved plan: {key}")
    share = plan["model_aggregate_bits"] / (32 * plan["tensor_elements"])
    checks.that(abs(share - chosen["planned_memory_share"]) < 1e-12, f"its share {share}")
    for key in ("group_losses", "group_rounding"):
        checks.that(len(made[key]) == len(plan["groups"]) and max(made[key]) > 0, key)
    judged_apart(checks, cwd, made, "m")
    checks.same(search(checks, cwd, *words), made, "the same command again")
    with open(f"{cwd}/{made['plan']}") as file:
        evidence = file.read().split("evidence:")[1]
    for word in ("meets_the_budget: yes", "validation_samples: 24", "test_samples: 100",
                 "seeds: [1, 2]", "  test_accuracy: ", " +- ", "plain_demotion_test_accuracy"):
        checks.that(word in evidence, f"evidence: {word}")
    _, out, _ = program.call("assign", *KEYS, *words, cwd=cwd)
    for word in ("24 validation samples", "spread of all trainings", "plain demotion: test",
                 "read once, 100 samples"):
        checks.that(word in out, f"{word}: {out}")


def ends_as_expected(checks, made, what):
    """What promotions are expected to add is nearer to what they add than nothing is."""
    for one in made["candidates"]:
        end = one["rungs"][-1]["size"]
        checks.that(abs(end - one["expected_size"]) <= abs(end - one["planned_size"]) / 10,
                    f"{what}: {one['planned_size']} planned, {one['expected_size']} expected, {end}")


def promotions(checks, cwd):
    """Promotions count before the first training: sets are filled to the budget with them."""
    words = [NARROW, "assign.random=0", "assign.rungs=1", "seeds=1"]
    made = search(checks, cwd, *words, "budget=memory:0.4", "run.dir=p")
    ends_as_expected(checks, made, "memory")
    checks.that(all(c["rungs"][-1]["size"] <= 0.4 for c in made["candidates"]), "all fit")
    checks.that(sum(made["group_promoted"]) > 0.01, f"promoted {made['group_promoted']}")
    for one in made["candidates"]:
        promoted = sum(made["group_promoted"][g] for g in one["low_groups"])
        checks.that(abs(one["expected_size"] - one["planned_size"] - promoted) < 1e-12,
                    f"{one['name']}: the sum over its groups")
    checks.that(made["meets_budget"] and made["memory_share"] <= 0.4, f"{made['memory_share']}")
    trained = program.train(*KEYS, f"precision={made['plan']}", "data.validation=0.1", cwd=cwd,
                            run="again")
    bits = trained["model_aggregate_bits"] / (
        32 * plan_of(checks, cwd, made["plan"])["tensor_elements"])
    checks.that(trained["promoted"] > 0 and abs(bits - made["memory_share"]) < 1e-12,
                f"its training ends at {bits}")
    nothing = search(checks, cwd, *words, "budget=memory:0.256", "run.dir=n", code=1)
    sizes = [c["rungs"][-1]["size"] for c in nothing["candidates"] if c["rungs"]]
    checks.same((nothing["meets_budget"], nothing["size"]), (False, min(sizes)),
                "the nearest to the budget")
    checks.that(nothing["chosen"] != "high", "not everything high")
    _, out, _ = program.call("assign", *KEYS, *words, "budget=memory:0.256", "run.dir=n", cwd=cwd)
    checks.that("nothing meets the budget: the nearest" in out, out)
    saved = search(checks, cwd, *words, "budget=saved:0.45", "run.dir=ps")
    checks.that(any(c["expected_size"] > c["planned_size"] for c in saved["candidates"]), "bytes")
    ends_as_expected(checks, saved, "saved")


def wrong_expectations(checks, cwd):
    """Where promotions take more or less than was expected, another set of the order is tried."""
    keys = ["model=cnn-s", "model.width=0.25", "data=glyphs", "data.limit=300",
            "data.test_limit=100", "batch=24", "threads=1", "data.validation=30"]
    program.train(*keys, "steps=150", cwd=cwd, run="learned")
    program.call("export", "learned", cwd=cwd)
    words = [*keys, "steps=16", "lr=0.02", "lr.warmup=0", "assign.random=0", "assign.rungs=1",
             "precision.low=w=fp(2,1,4),act=fp(2,1,0),grad=fp(4,1,0)", "seeds=1", "assign.short=0",
             "init=learned/weights.safetensors"]
    out = program.call("assign", *words, "budget=memory:0.34", "run.dir=x", "--json", cwd=cwd)[1]
    refilled(checks, json.loads(out), 0.34, "less than expected", lambda end, budget: end < budget)
    made = search(checks, cwd, NARROW, "precision.promote_at=0.005", "assign.random=8", "seeds=1",
                  "assign.rungs=1", "assign.short=0", "budget=memory:0.395", "run.dir=y")
    refilled(checks, made, 0.395, "more than expected", lambda end, budget: end > budget)


def refilled(checks, made, budget, what, is_cause):
    """Sets are filled again, to the budget less what promotions took beyond what was expected."""
    again = [c for c in made["candidates"] if c["refills"] > 0]
    checks.that(again, f"{what}: a set is tried again")
    for one in again:
        causes = [c for c in made["candidates"]
                  if c["order"] == one["order"] and c["refills"] == one["refills"] - 1
                  and is_cause(c["rungs"][-1]["size"], budget)
                  and one["expected_size"] <= budget + 1e-9
                  - (c["rungs"][-1]["size"] - c["expected_size"])]
        checks.that(causes, f"{what}: {one['name']}")


def ledgers(checks, cwd):
    """Budgets in bytes that the ledger has."""
    for kind in ("saved", "total"):
        made = search(checks, cwd, f"budget={kind}:0.62", f"run.dir={kind}", "assign.random=0",
                      "assign.rungs=1", "seeds=1")
        bytes_of = {}
        for name in ("fp32", made["chosen"]):
            with open(f"{cwd}/{kind}/{name}-16-s1/result.json") as file:
                bytes_of[name] = json.load(file)["ledger_bytes"][kind]
        share = bytes_of[made["chosen"]] / bytes_of["fp32"]
        checks.that(made["meets_budget"] and share <= 0.62, f"{kind}: {share}")
        checks.that(abs(share - made["size"]) < 1e-12, f"{kind}: {made['size']}")
        checks.same(made["budget"], {"kind": kind, "value": 0.62}, "its name")
        with open(f"{cwd}/{made['plan']}") as file:
            checks.that(f"{kind}_share_of_float32" in file.read(), f"{kind} in the evidence")


def accuracy(checks, cwd):
    words = ["assign.random=0", "assign.rungs=2", "run.dir=a"]
    made = search(checks, cwd, "budget=accuracy:-100", *words)
    least = min(c["planned_memory_share"] for c in made["candidates"])
    checks.same(candidate(made, made["chosen"])["planned_memory_share"], least, "anything goes")
    checks.same(made["plain"]["name"], made["chosen"], "which is plain demotion, too")
    made = search(checks, cwd, "budget=metric:-3", *words)
    fits = made["fp32_accuracy"] - made["validation_accuracy"] <= 0.03 + 1e-9
    checks.same(made["meets_budget"], fits, "kept, or said not to be")
    smaller = [c for c in made["candidates"] if c["rungs"] and c["rungs"][-1]["steps"] == 16
               and c["rungs"][-1]["validation_accuracy"] >= made["fp32_accuracy"] - 0.03
               and c["rungs"][-1]["memory_share"] < made["memory_share"]]
    checks.same(smaller, [], "no finalist is smaller and good enough")
    checks.that(made["plain"] is None or candidate(made, made["plain"]["name"])["plain_demotion"],
                "plain demotion beside it")


def losses(checks, cwd):
    """Mantissa bits, and formats of every kind, are weighed."""
    words = ["budget=memory:0.45", "assign.random=0", "assign.rungs=1", "seeds=1", "steps=2"]
    lows = {"e4m3": "act=fp(4,3,4),w=fp(4,3,4),grad=fp(5,2,0)",
            "e4m1": "act=fp(4,1,4),w=fp(4,1,4),grad=fp(5,1,0)", "mxfp4": "mxfp4",
            "uniform4": "act=uniform4,w=uniform4,grad=fp(5,2,0)"}
    made = {name: search(checks, cwd, *words, f"precision.low={low}", f"run.dir=l{name}")
            for name, low in lows.items()}
    for key in ("group_losses", "group_rounding"):
        fine, coarse = made["e4m3"][key], made["e4m1"][key]
        checks.that(sum(fine) < sum(coarse), f"{key}: two bits less {fine} {coarse}")
        for name in ("mxfp4", "uniform4"):
            checks.that(sum(made[name][key]) > sum(fine), f"{key} of {name}: {made[name][key]}")


def measures(checks, cwd):
    """Step directions and short runs: measured, bounded, printed, and two more orders."""
    words = ["budget=memory:0.45", "assign.random=0", "assign.rungs=1", "steps=18"]
    made = search(checks, cwd, *words, "run.dir=s", "assign.short=0.75")
    groups = len(made["group_losses"])
    short = made["short_runs"]
    checks.same((short["count"], short["steps"]), (2 * (groups + 1), int(0.75 * 18 / (groups + 1))),
                "how many, how long")
    checks.that(len(short["costs"]) == groups and short["noise"] > 0, f"costs {short}")
    checks.that(len(set(short["costs"])) > 1, "groups cost differently")
    with open(f"{cwd}/s/short-runs.json") as file:
        kept = json.load(file)["runs"]
    checks.same(len(kept), short["count"], "each is kept")
    # Losses of other seeds are not taken for those of these.
    other = search(checks, cwd, *words, "run.dir=s", "assign.short=0.75", "compare.seeds=7,8")
    checks.that(other["short_runs"]["costs"] != short["costs"], "other seeds, other costs")
    for g in range(groups):
        rows = [kept[s * (groups + 1) + 1 + g]["loss"] - kept[s * (groups + 1)]["loss"]
                for s in range(2)]
        checks.that(abs(statistics.mean(rows) - short["costs"][g]) < 1e-12, f"cost of group {g}")
    # Nesterov's momentum is 0 at the first weights, and not where float32 ended.
    checks.that(all(x > 0 for x in made["group_directions"]), "errors of the update")
    checks.that(made["group_directions"] != made["group_losses"], "are not those of the gradient")
    checks.that(all(0.5 < x <= made["high_cosine"] <= 1 for x in made["group_cosines"]),
                f"angles {made['group_cosines']}, high {made['high_cosine']}")
    _, out, _ = program.call("assign", *KEYS, *words, "run.dir=s", "assign.short=0.75", cwd=cwd)
    for word in ("group", "angle", "short runs", f"{short['count']} of {short['steps']} steps",
                 "27 steps at most in all", "24 validation samples"):
        checks.that(word in out, f"{word}: {out}")
    for share in ("0", "0.5"):
        none = search(checks, cwd, *words, "run.dir=s", f"assign.short={share}")
        checks.same(none["short_runs"], None, f"assign.short={share} makes none")
        checks.that(all(c["order"] != "trained" for c in none["candidates"]), "and no order")
        checks.same(none["group_directions"], made["group_directions"], "the rest is as before")
    _, out, _ = program.call("assign", *KEYS, *words, "run.dir=s", "assign.short=0.5", cwd=cwd)
    checks.that("none: assign.short=0.5 leaves fewer than 2 steps" in out, out)


def directions(checks, cwd):
    """With plain SGD an update errs as its gradient does; Adam makes something else of it."""
    words = ["budget=memory:0.45", "assign.random=0", "assign.rungs=1", "steps=2", "seeds=1",
             "assign.short=0"]
    plain = search(checks, cwd, *words, "run.dir=d1", "optimizer.momentum=0",
                   "optimizer.nesterov=off", "optimizer.weight_decay=0")
    for g, (update, gradient) in enumerate(zip(plain["group_directions"], plain["group_losses"])):
        checks.that(abs(update - gradient) <= 1e-3 * gradient, f"{g}: {update} and {gradient}")
    adam = search(checks, cwd, *words, "run.dir=d2", "optimizer=adam", "lr=0.001")
    ratios = [u / g for u, g in zip(adam["group_directions"], adam["group_losses"])]
    checks.that(max(ratios) > 1.1 * min(ratios), f"adam: {ratios}")


def threads(checks, cwd):
    """Measures, sets and choice do not depend on threads."""
    words = ["budget=memory:0.4", "assign.random=0", "assign.rungs=1", NARROW, "assign.short=1.5"]
    made = [without_paths(search(checks, cwd, *words, f"run.dir=t{n}", f"threads={n}"))
            for n in (1, 3)]
    checks.same(made[0], made[1], "1 and 3 threads")
    checks.that(made[0]["short_runs"]["steps"] >= 2, "short runs among them")


def without_paths(made):
    made.pop("plan")
    for one in made["candidates"]:
        one.pop("plan")
    return made


def wide_budget(checks, cwd):
    made = search(checks, cwd, "budget=memory:0.9", "run.dir=w")
    checks.same((made["chosen"], made["candidates"], made["meets_budget"]), ("high", [], True),
                "everything high fits")


def rules_stay(checks, cwd):
    made = search(checks, cwd, "budget=memory:0.5", "run.dir=it's: here", "assign.rungs=1",
                  "assign.random=0", "steps=2", "precision.rules=conv2.out: e4m3",
                  "precision.rounding=rz")
    found = plan_of(checks, cwd, made["plan"])
    with open(f"{cwd}/it's: here/{made['chosen']}-2-s1/plan.json") as file:
        trained = json.load(file)
    checks.same(found.get("model_aggregate_bits"), trained["model_aggregate_bits"],
                "the plan says all that was trained")
    with open(f"{cwd}/{made['plan']}") as file:
        text = file.read()
    checks.that("conv2.out" in text and "rz" in text, f"rules and rounding in the plan: {text}")


def stopped_at(checks, cwd, words, folder, path):
    """A search that is interrupted once a file is there, and then goes on."""
    child = subprocess.Popen([program.HALFULP, "assign", *KEYS, *words, f"run.dir={folder}"],
                             cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    while not os.path.exists(f"{cwd}/{folder}/{path}") and child.poll() is None:
        time.sleep(0.002)
    child.send_signal(signal.SIGINT)
    checks.same(child.wait(120), 130, f"interrupted at {path}")
    checks.that(not os.path.exists(f"{cwd}/{folder}/assign.json"), "it did not end")


def interrupted(checks, cwd):
    words = ["budget=memory:0.4", "assign.random=0", "assign.rungs=2", "assign.short=8"]
    whole = without_paths(search(checks, cwd, *words, "run.dir=j"))
    stopped_at(checks, cwd, [*words[:3], "assign.short=0"], "h", "plans/probe.yaml")
    checks.that(not [name for name in os.listdir(f"{cwd}/h/plans") if name.startswith("low-")],
                "between two groups, not behind the last")
    for folder, path in (("i", "high-16-s1/metrics.csv"), ("k", "short-runs.json")):
        stopped_at(checks, cwd, words, folder, path)
        kept = 0
        if folder == "k":
            with open(f"{cwd}/k/short-runs.json") as file:
                first = json.load(file)["runs"]
            kept = len(first)
            checks.that(0 < kept < whole["short_runs"]["count"], f"stopped after {kept}")
        made = without_paths(search(checks, cwd, *words, f"run.dir={folder}"))
        checks.same(made, whole, f"goes on from {path} to the same result")
        if kept:
            with open(f"{cwd}/k/short-runs.json") as file:
                checks.same(json.load(file)["runs"][:kept], first, "what was known is kept")


def bad_input(checks, cwd):
    rows = [([], 2, "expected memory:S"), (["budget=memory:1.5"], 2, "within 0..1"),
            (["budget=memory:0.1"], 2, "expected at least 0.2"),
            (["budget=saved:0.01"], 2, "bytes that wait for the backward pass"),
            (["budget=total:0.01"], 2, "all bytes of the ledger"),
            (["budget=accuracy:1"], 2, "worse than float32"), (["budget=speed:1"], 2, "memory:S"),
            (["budget=memory:0.4", "precision=hfp8"], 2, "precision.high"),
            (["budget=memory:0.4", "seed=3"], 2, "seeds="),
            (["budget=memory:0.4", "steps=2"], 2, "at least 4"),
            (["budget=memory:0.4", "data.validation=0"], 2, "samples to choose on"),
            (["budget=memory:0.4", "part=test"], 2, "eval.part"),
            (["budget=memory:0.4", "data.validation=0.999"], 2, "data.validation"),
            (["budget=memory:0.4", "precision.low=fp32"], 2, "fewer than")]
    for words, code, text in rows:
        found, _, err = program.call("assign", *KEYS, *words, "run.dir=bad", cwd=cwd)
        checks.that(found == code and text in err, f"{words}: exit {found}, {err.strip()!r}")


program.main(memory, promotions, wrong_expectations, ledgers, accuracy, losses, measures, directions,
             threads, wide_budget, rules_stay, interrupted, bad_input)
