"""Precision by epoch as a user runs it: precision.epochs, its journal, its plan, its errors."""
import json
import os
import tempfile

import program

# Three steps are an epoch.
KEYS = ["model=cnn-s", "model.width=0.25", *program.TINY, "run.quiet=on", "lr.warmup=0",
        "lr.schedule=constant"]
LIST = "0: fp32, 2: hfp8"


def numerics(cwd, run):
    with open(os.path.join(cwd, run, "numerics.jsonl")) as file:
        return [json.loads(line) for line in file]


def equal_trainings(checks, cwd):
    """One phase is the precision itself, however it is written."""
    plain = program.train(*KEYS, "epochs=2", "precision=hfp8", cwd=cwd, run="plain")
    for name, word in (("key", "precision.epochs=0: hfp8"), ("list", "precision.epochs=[0: hfp8]"),
                       ("name", "precision=0: hfp8")):
        made = program.train(*KEYS, "epochs=2", word, cwd=cwd, run=f"one-{name}")
        for key in ("weights_hash", "low_precision_ratio", "test_accuracy", "ledger_bytes"):
            checks.same(made[key], plain[key], f"{word}: {key}")
        checks.same(made["precision"], "0: hfp8", f"{word}: precision")


def two_trainings(checks, cwd):
    """Two epochs of float32, and a run that goes on from their checkpoint in 8 bits."""
    scaled = ["scaler=dynamic", "scaler.interval=3"]
    whole = program.train(*KEYS, *scaled, "epochs=4", f"precision.epochs={LIST}", cwd=cwd)
    program.train(*KEYS, *scaled, "epochs=2", "precision=fp32", cwd=cwd, run="first")
    with open(os.path.join(cwd, "first", "config.resolved.yaml")) as file:
        config = file.read()
    named = "precision:\n  name: "
    checks.that(f"{named}fp32" in config, "first: its precision")
    with open(os.path.join(cwd, "first", "config.resolved.yaml"), "w") as file:
        file.write(config.replace(f"{named}fp32", f"{named}hfp8"))
    second = program.resume("first", "epochs=4", cwd=cwd)
    checks.same(second["weights_hash"], whole["weights_hash"], "two trainings: weights")
    checks.same([row["loss"] for row in program.rows(cwd, "first")],
                [row["loss"] for row in program.rows(cwd)], "two trainings: losses")
    checks.same(whole["skipped_steps"], second["skipped_steps"], "two trainings: skipped steps")


def journal(checks, cwd):
    """Which phase begins when; no row mixes the counts of two."""
    program.train(*KEYS, "epochs=4", "run.log_every=100", "eval.every=0",
                  "precision.epochs=0: 1/6/9, 1: bf16, 3: hfp8", cwd=cwd)
    lines = numerics(cwd, "run")
    checks.same([line for line in lines if "precision" in line],
                [{"step": 0, "precision": "1/6/9", "epoch": 0},
                 {"step": 3, "precision": "bf16", "epoch": 1},
                 {"step": 9, "precision": "hfp8", "epoch": 3}], "the beginnings of the phases")
    formats = {line["step"]: {row[1] for row in line["tensors"] if row[0] == "conv1.out"}
               for line in lines if "tensors" in line}
    checks.same(formats, {0: {"1/6/9/d"}, 2: {"1/6/9/d"}, 3: {"bf16"}, 8: {"bf16"}, 9: {"fp(4,3,4)"},
                          11: {"fp(4,3,4)"}},
                "formats of conv1.out by row")
    ratios = [float(row["low_precision_ratio"]) for row in program.rows(cwd)]
    checks.that(ratios[0] == 0.0 and ratios[-1] > 0.9, f"low-precision ratio by step: {ratios}")
    with open(os.path.join(cwd, "run", "plan.json")) as file:
        phases = json.load(file)["phases"]
    checks.same([(p["epoch"], p["step"], p["precision"]) for p in phases],
                [(0, 0, "1/6/9"), (1, 3, "bf16"), (3, 9, "hfp8")], "phases of plan.json")
    code, _, err = program.call("report", "run", cwd=cwd)
    checks.same(code, 0, f"report: {err}")
    with open(os.path.join(cwd, "run", "report.html")) as file:
        checks.that("hfp8 from epoch 3 (step 9) on" in file.read(), "report: a mark at the boundary")


def ways(checks, cwd):
    """Storage, threads and regions do not matter."""
    keys = [*KEYS, "epochs=3", "precision.epochs=0: 1/6/9, 1: fp32, 2: e4m3 sr"]
    whole = program.train(*keys, cwd=cwd)
    for word in ("storage=float32", "threads=2", "run.fuse=off", "run.recompute=off"):
        made = program.train(*keys, word, cwd=cwd, run=word)
        checks.same(made["weights_hash"], whole["weights_hash"], f"{word}: weights")


def plan(checks, cwd):
    code, out, err = program.call("plan", *KEYS, f"precision.epochs={LIST}", "--json", cwd=cwd)
    checks.same(code, 0, f"plan: {err}")
    checks.same(json.loads(out)["phases"], [{"epoch": 0, "step": 0, "precision": "fp32"},
                                            {"epoch": 2, "step": 6, "precision": "hfp8"}],
                "plan: phases")
    code, out, _ = program.call("plan", *KEYS, f"precision.epochs={LIST}", cwd=cwd)
    checks.that("hfp8 from epoch 2 (step 6) on" in out, "plan: says when")
    _, _, err = program.call("plan", *KEYS, f"precision.epochs={LIST}", "out=p.yaml", cwd=cwd)
    checks.that("p.yaml holds the formats of the first phase alone, fp32" in err, f"plan out=: {err}")
    _, _, err = program.call("plan", *KEYS, "precision=hfp8", "out=p.yaml", cwd=cwd)
    checks.same(err, "wrote the plan p.yaml\n", "plan out= says what it wrote")


def rows_of_a_comparison(checks, cwd):
    """A list by epoch is a row like another, and gives the bits of its training."""
    whole = program.train(*KEYS, "epochs=3", f"precision.epochs={LIST}", cwd=cwd)
    cases = {f"fp32;{LIST}": ["fp32", LIST], f"fp32,{LIST}": ["fp32", LIST],
             f"{LIST}, 0: w=e4m3,act=e5m2, 1: bf16, hfp8": [LIST, "0: w=e4m3,act=e5m2, 1: bf16", "hfp8"]}
    for text, names in cases.items():
        for turn in ("trained", "read again"):
            code, out, err = program.call("compare", *KEYS, "epochs=3", f"precision={text}",
                                          "run.dir=c", "--json", cwd=cwd)
            checks.same(code, 0, f"compare {text}, {turn}: {err}")
        hashes = {row["precision"].replace(", ", ","): row["weights_hash"]
                  for row in json.loads(out)["rows"]}
        checks.same(list(hashes), [name.replace(", ", ",") for name in names], f"compare {text}: rows")
        checks.same(hashes[LIST.replace(", ", ",")], whole["weights_hash"], f"compare {text}: weights")


def bad(checks, cwd):
    for text, exit_code, says in (("1: fp32", 2, "found epoch 1 first, expected 0"),
                                  ("0: fp32, 3: bf16, 2: fp32", 2, "found epoch 2 behind epoch 3"),
                                  ("0: fp32, 2: hfp9", 2, "nearest: 'hfp8'"),
                                  ("fp32", 2, "EPOCH: PRECISION"),
                                  ("0: fp32, 1: plan.yaml", 2, "epoch 1: found the plan file "
                                   "'plan.yaml', expected a precision by its name")):
        code, _, err = program.call("train", *KEYS, f"precision.epochs={text}", cwd=cwd)
        checks.that(code == exit_code and says in err, f"{text}: exit {code}: {err}")
    code, _, err = program.call("train", *KEYS, "precision=bf16", f"precision.epochs={LIST}", cwd=cwd)
    checks.that(code == 2 and "'bf16' beside precision.epochs" in err, f"both: exit {code}: {err}")
    code, _, err = program.call("train", *KEYS, "precision=0: plan.yaml", cwd=cwd)
    checks.that(code == 2 and "epoch 0: found the plan file 'plan.yaml'" in err, f"exit {code}: {err}")
    for verb, words, says in (("compare", [], "precision='fp32;0: fp32, 30: hfp8'"),
                              ("compare", ["precision=fp32,bf16"], "found precision.epochs"),
                              ("compare", ["precision=fp32;0: fp32, 1: p.yaml"], "plan file 'p.yaml'"),
                              ("assign", ["budget=memory:0.5"], "found a precision"),
                              ("demo", [], "demo chooses precision")):
        given = [] if "p.yaml" in str(words) else [f"precision.epochs={LIST}"]
        code, out, err = program.call(verb, *KEYS, *given, *words, "run.dir=x", cwd=cwd)
        checks.that(code == 2 and not out and says in err, f"{verb} {words}: exit {code}: {err}")


def main():
    checks = program.Checks()
    for test in (equal_trainings, two_trainings, journal, ways, plan, rows_of_a_comparison, bad):
        with tempfile.TemporaryDirectory() as cwd:
            test(checks, cwd)
    return checks.finish()


if __name__ == "__main__":
    raise SystemExit(main())
