"""The search for an assignment: budgets, resumption, its plan, errors."""
import json
import os
import signal
import subprocess
import time

import program

KEYS = ["model=cnn-s", "data=glyphs", "data.limit=300", "data.test_limit=100", "batch=32",
        "epochs=3", "threads=1", "run.log_every=5"]


def search(checks, cwd, *words, code=0):
    found, out, err = program.call("assign", *KEYS, *words, "--json", cwd=cwd)
    checks.same(found, code, f"assign {words}: {err[-300:]}")
    return json.loads(out) if out else {}


def memory(checks, cwd):
    made = search(checks, cwd, "budget=memory:0.4", "run.dir=m", "assign.random=3")
    checks.that(made["memory_share"] <= 0.4, f"share {made['memory_share']}")
    plain = [c for c in made["candidates"] if c["plain_demotion"]]
    checks.that(len(plain) == 1 and len(plain[0]["rungs"]) == 3, "plain demotion went to the end")
    checks.that(made["test_accuracy"] >= plain[0]["rungs"][-1]["test_accuracy"],
                "at least as accurate as plain demotion")
    checks.same([r["steps"] for r in plain[0]["rungs"]], [7, 15, 30], "lengths of the rungs")
    counts = [sum(len(c["rungs"]) > r for c in made["candidates"]) for r in range(3)]
    checks.that(counts[0] == len(made["candidates"]) and counts[0] > counts[2] > 0,
                f"candidates by rung {counts}")
    code, out, err = program.call("plan", *KEYS[:4], f"precision={made['plan']}", "batch=32",
                                  "--json", cwd=cwd)
    checks.same(code, 0, f"plan of the result: {err}")
    plan = json.loads(out)
    low = [g["id"] for g in plan["groups"] if g["precision"] == "low"]
    chosen = next(c for c in made["candidates"] if c["name"] == made["chosen"])
    checks.same(low, chosen["low_groups"], "groups of the plan file")
    resolved = made["plan"].replace("plan.yaml", "plan.resolved.yaml")
    code, out, err = program.call("plan", *KEYS[:4], f"precision={resolved}", "batch=32", "--json",
                                  cwd=cwd)
    checks.same((code, err), (0, ""), "resolved plan")
    by_name = json.loads(out)
    for key in ("layers", "groups", "low_precision_ratio", "memory_bytes"):
        checks.same(by_name[key], plan[key], f"resolved plan: {key}")
    share = plan["model_aggregate_bits"] / (32 * plan["tensor_elements"])
    checks.that(abs(share - chosen["planned_memory_share"]) < 1e-12, f"its share {share}")
    checks.that(len(made["group_losses"]) in (0, len(plan["groups"])), "losses of the groups")
    before = os.stat(f"{cwd}/m/plan.yaml").st_mtime_ns
    again = search(checks, cwd, "budget=memory:0.4", "run.dir=m", "assign.random=3")
    checks.same(again, made, "the same command again")
    checks.that(os.stat(f"{cwd}/m/plan.yaml").st_mtime_ns >= before, "writes its plan again")


def accuracy(checks, cwd):
    made = search(checks, cwd, "budget=accuracy:-100", "run.dir=a")
    checks.that(made["memory_share"] < 0.27, f"anything goes: {made['memory_share']}")
    made = search(checks, cwd, "budget=accuracy:-10", "run.dir=a", "seeds=1,2")
    fits = made["fp32_accuracy"] - made["test_accuracy"] <= 0.1 + 1e-9
    checks.that(fits or made["chosen"] == "high", f"{made['test_accuracy']}")
    losers = [c for c in made["candidates"] if len(c["rungs"]) == 3
              and c["rungs"][-1]["test_accuracy"] >= made["fp32_accuracy"] - 0.1
              and c["rungs"][-1]["memory_share"] < made["memory_share"]]
    checks.same(losers, [], "no finalist is smaller and good enough")


def wide_budget(checks, cwd):
    made = search(checks, cwd, "budget=memory:0.9", "run.dir=w")
    checks.same((made["chosen"], made["candidates"]), ("high", []), "everything high fits")


def rules_stay(checks, cwd):
    made = search(checks, cwd, "budget=memory:0.5", "run.dir=it's: here", "assign.rungs=1",
                  "assign.random=0", "steps=2", "precision.rules=conv2.out: e4m3",
                  "precision.rounding=rz")
    _, out, err = program.call("plan", *KEYS[:4], f"precision={made['plan']}", "batch=32",
                               "--json", cwd=cwd)
    found = json.loads(out) if out else {}
    with open(f"{cwd}/it's: here/{made['chosen']}-2-s1/plan.json") as file:
        trained = json.load(file)
    checks.same(found.get("model_aggregate_bits"), trained["model_aggregate_bits"],
                f"the plan says all that was trained {err}")
    with open(f"{cwd}/{made['plan']}") as file:
        text = file.read()
    checks.that("conv2.out" in text and "rz" in text, f"rules and rounding in the plan: {text}")


def interrupted(checks, cwd):
    words = ["assign", *KEYS, "budget=memory:0.4", "assign.random=1"]
    child = subprocess.Popen([program.HALFULP, *words, "run.dir=i"], cwd=cwd,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    for _ in range(600):
        time.sleep(0.05)
        if os.path.exists(f"{cwd}/i/high-30-s1/metrics.csv"):
            break
    child.send_signal(signal.SIGINT)
    checks.same(child.wait(60), 130, "interrupted")
    made = search(checks, cwd, *words[1 + len(KEYS):], "run.dir=i")
    whole = search(checks, cwd, *words[1 + len(KEYS):], "run.dir=j")
    for made_or_whole in (made, whole):
        made_or_whole.pop("plan")
        for candidate in made_or_whole["candidates"]:
            candidate.pop("plan")
    checks.same(made, whole, "goes on to the same result")


def bad_input(checks, cwd):
    rows = [([], 2, "expected memory:S"), (["budget=memory:1.5"], 2, "within 0..1"),
            (["budget=memory:0.1"], 2, "expected at least 0.2"),
            (["budget=accuracy:1"], 2, "worse than float32"), (["budget=speed:1"], 2, "memory:S"),
            (["budget=memory:0.4", "precision=hfp8"], 2, "precision.high"),
            (["budget=memory:0.4", "seed=3"], 2, "seeds="),
            (["budget=memory:0.4", "steps=2"], 2, "at least 4"),
            (["budget=memory:0.4", "precision.low=fp32"], 2, "fewer than")]
    for words, code, text in rows:
        found, _, err = program.call("assign", *KEYS, *words, "run.dir=bad", cwd=cwd)
        checks.that(found == code and text in err, f"{words}: exit {found}, {err.strip()!r}")


program.main(memory, accuracy, wide_budget, rules_stay, interrupted, bad_input)
