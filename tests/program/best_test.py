"""The checkpoint of the best evaluation, and trainings that end early: kept, read, gone on with."""
import json
import os
import shutil
import sys
import tempfile

import program
from program import TINY

# Steps that are large enough for evaluations to go up and down.
KEYS = [*TINY, "data.test_limit=64", "epochs=8", "lr.warmup=0", "lr.schedule=constant", "lr=0.05", "seed=3",
        "run.quiet=on"]


def evaluations(cwd, run):
    """(steps done, metric) of every evaluation."""
    return [(int(row["step"]) + 1, float(row["test_accuracy"])) for row in program.rows(cwd, run)
            if row["test_accuracy"]]


def kept(cwd, run):
    folder = os.path.join(cwd, run, "best")
    return sorted(int(name[5:17]) for name in os.listdir(folder)) if os.path.isdir(folder) else []


def evaluated(cwd, run, *words):
    code, out, err = program.call("eval", run, *words, "--json", cwd=cwd)
    return json.loads(out) if code == 0 else (code, err)


def best(checks, cwd):
    """The latest of the best evaluations is kept, and eval, predict and export take it."""
    whole = program.train(*KEYS, cwd=cwd, run="run")
    found = evaluations(cwd, "run")
    value = max(metric for _, metric in found)
    step = [step for step, metric in found if metric == value][-1]
    checks.that(step != found[-1][0], f"another evaluation than the last is the best: {found}")
    checks.same((whole["best_accuracy"], kept(cwd, "run")[-1]), (value, step), "the best one")
    checks.that(len(kept(cwd, "run")) <= 2, f"and no more than one before it: {kept(cwd, 'run')}")
    checks.same(evaluated(cwd, "run", "checkpoint=best")["test_accuracy"], value, "eval checkpoint=best")
    checks.same(evaluated(cwd, "run")["test_accuracy"], whole["test_accuracy"], "eval takes the newest")
    for words in (["export", "run", "out=best.safetensors"], ["predict", "run", "out.count=2"]):
        code, out, err = program.call(*words, "checkpoint=best", cwd=cwd)
        checks.that(code == 0 and (words[0] == "export" or f"step {step}:" in out), f"{words}: {code} {out!r} {err!r}")
    again = program.train(*KEYS, "run.checkpoint_every=0", cwd=cwd, run="seldom")
    checks.same((again["weights_hash"], kept(cwd, "seldom")[-1]), (whole["weights_hash"], step),
                "kept without a checkpoint of its step")
    checks.same(sorted(program.checkpoints(cwd, "seldom")), [24], "which has none beside it")
    checks.same(evaluated(cwd, "seldom", "checkpoint=best")["test_accuracy"], value, "the same state")
    off = program.train(*KEYS, "run.keep_best=off", cwd=cwd, run="off")
    checks.same((off["weights_hash"], kept(cwd, "off")), (whole["weights_hash"], []), "run.keep_best=off")
    code, err = evaluated(cwd, "off", "checkpoint=best")
    checks.that(code == 3 and "run.keep_best=off" in err, f"nothing was kept: {code} {err!r}")
    code, _, err = program.call("train", *TINY, "steps=2", "checkpoint=best", "run.dir=none", cwd=cwd)
    checks.that(code == 0 and "checkpoint=best has no effect" in err, f"a training has none to take: {code} {err!r}")
    code, _, err = program.call("resume", "run", "checkpoint=best", cwd=cwd)
    checks.that(code == 2 and "eval.checkpoint" in err, f"resume has no choice: {code} {err!r}")


def gone_on(checks, cwd):
    """A run that goes on from before its best evaluation forgets it, and finds it again."""
    program.train(*KEYS, "run.keep=40", cwd=cwd, run="long")
    before = kept(cwd, "long")
    program.copy_at(cwd, "long", "cut", 6)
    os.remove(os.path.join(cwd, "cut", "result.json"))
    program.resume("cut", "steps=6", cwd=cwd)
    checks.that(all(step <= 6 for step in kept(cwd, "cut")), f"none is of later steps: {kept(cwd, 'cut')}")
    for step in kept(cwd, "long"):
        shutil.rmtree(os.path.join(cwd, "cut"))
        program.copy_at(cwd, "long", "cut", step)
        shutil.rmtree(os.path.join(cwd, "cut", "best"))
        os.remove(os.path.join(cwd, "cut", "result.json"))
        program.resume("cut", f"steps={step}", cwd=cwd)
        checks.same(kept(cwd, "cut"), [step], "a state that was saved and not yet kept is kept")
    shutil.rmtree(os.path.join(cwd, "cut"))
    program.copy_at(cwd, "long", "cut", 6)
    made = program.resume("cut", cwd=cwd)
    checks.same((kept(cwd, "cut")[-1], made["best_accuracy"]), (before[-1], max(m for _, m in evaluations(cwd, "long"))),
                "the same one is found again")


def early(checks, cwd):
    """A training that gets no better ends, says so, and ends there also behind a resumption."""
    whole = program.train(*KEYS, "run.keep=40", "stop.patience=2", cwd=cwd, run="early")
    found = evaluations(cwd, "early")
    values = [metric for _, metric in found]
    checks.that(values[-1] <= max(values[:-2]) and values[-2] <= max(values[:-2]) and len(values) < 8,
                f"it ends behind two that are no better: {values}")
    checks.same((whole["stopped_early"], whole["steps"]), (found[-1][0], found[-1][0]), "and says so")
    with open(os.path.join(cwd, "early", "progress.jsonl")) as file:
        checks.same(json.loads(file.readlines()[-1])["state"], "stopped early", "the last event")
    listed = json.loads(program.call("list", ".", "--json", cwd=cwd)[1])["runs"]
    checks.same([row["state"] for row in listed if row["run"].endswith("early")], ["stopped early"], "list")
    for step in (found[-3][0], found[-2][0]):
        program.copy_at(cwd, "early", f"early{step}", step)
        made = program.resume(f"early{step}", cwd=cwd)
        checks.same((made["weights_hash"], made["stopped_early"]), (whole["weights_hash"], whole["stopped_early"]),
                    f"from step {step} on")
        checks.same(program.rows(cwd, f"early{step}"), program.rows(cwd, "early"), f"its rows from step {step} on")
    code, out, err = program.call("resume", "early", cwd=cwd)
    checks.that(code == 0 and "has stopped early" in err and "stopped early: the metric got no better" in out,
                f"nothing to go on with: {code} {out!r} {err!r}")
    on = program.resume("early", "stop.patience=0", cwd=cwd)
    plain = program.train(*KEYS, cwd=cwd, run="plain")
    checks.same((on["weights_hash"], on.get("stopped_early")), (plain["weights_hash"], None), "to the end, without it")
    held = program.train(*KEYS, "data.validation=0.2", "stop.patience=1", "stop.min_delta=100", cwd=cwd, run="held")
    checks.that(held["stopped_early"] == held["steps"] and held["test_accuracy"] is not None,
                f"the test samples are read at an early end: {held['stopped_early']}, {held['test_accuracy']}")
    for words, part in ((["stop.patience=1", "eval.every=0"], "eval.every"), (["stop.min_delta=1"], "stop.patience")):
        code, _, err = program.call("train", *KEYS, *words, "run.dir=refused", cwd=cwd)
        checks.that(code == 2 and part in err, f"{words}: {code} {err!r}")


if __name__ == "__main__":
    checks = program.Checks()
    for test in (best, gone_on, early):
        with tempfile.TemporaryDirectory() as folder:
            test(checks, folder)
    sys.exit(checks.finish())
