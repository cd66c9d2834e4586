"""Samples held out of the training part: what a training is followed on, resumed, judged by."""
import csv
import json
import os

import program

KEYS = ["model=cnn-s", "model.width=0.25", "data=glyphs", "data.limit=200", "data.test_limit=50",
        "batch=32", "threads=1", "run.log_every=1", "run.checkpoint_every=1", "run.keep=20",
        "epochs=2"]


def evaluate(checks, cwd, run, *words):
    code, out, err = program.call("eval", run, *words, "--json", cwd=cwd)
    checks.same((code, err), (0, ""), f"eval {words}")
    return json.loads(out) if out else {}


def column(cwd, run, name):
    with open(os.path.join(cwd, run, "metrics.csv"), newline="") as file:
        return [row.get(name) for row in csv.DictReader(file)]


def followed(checks, cwd):
    made = program.train(*KEYS, "data.validation=0.2", cwd=cwd, run="v")
    checks.same((made["steps"], made["validation_samples"]), (10, 40), "160 samples are left")
    held = evaluate(checks, cwd, "v", "part=validation")
    test = evaluate(checks, cwd, "v")
    checks.same(made["validation_accuracy"], held["validation_accuracy"], "its validation")
    checks.same(made["test_accuracy"], test["test_accuracy"], "its test")
    checks.same((held["part"], test["part"]), ("validation", "test"), "parts by name")
    checks.same(evaluate(checks, cwd, "v", "part=test"), test, "part=test")
    seen = [bool(cell) for cell in column(cwd, "v", "validation_accuracy")]
    checks.same(seen, [i in (4, 9) for i in range(10)], "followed at the ends of epochs")
    read = [bool(cell) for cell in column(cwd, "v", "test_accuracy")]
    checks.same(read, [i == 9 for i in range(10)], "the test samples are read once")
    _, out, _ = program.call("train", *KEYS, "data.validation=0.2", "run.dir=words", cwd=cwd)
    checks.that("validation accuracy" in out and "of 40 held out, test accuracy" in out, out)


def parts(checks, cwd):
    both = program.train(*KEYS, "data.validation=40", cwd=cwd, run="both")
    only = program.train(*KEYS, "data.validation=40", "part=validation", cwd=cwd, run="only")
    test = program.train(*KEYS, "data.validation=40", "part=test", cwd=cwd, run="test")
    none = program.train(*KEYS, cwd=cwd, run="none")
    checks.same(only["test_accuracy"], None, "never read")
    checks.same(only["validation_accuracy"], both["validation_accuracy"], "the same part")
    checks.same(test["test_accuracy"], both["test_accuracy"], "the same test")
    checks.same(test["validation_accuracy"], None, "not followed")
    checks.same({r["weights_hash"] for r in (both, only, test)}, {both["weights_hash"]}, "weights")
    checks.that(none["weights_hash"] != both["weights_hash"], "held out samples are not trained on")
    checks.that("validation_samples" not in none, "nothing held out")
    checks.same(column(cwd, "none", "validation_accuracy")[0], None, "no column for it")


def resumed(checks, cwd):
    words = [*KEYS, "data.validation=0.2"]
    whole = program.train(*words, cwd=cwd, run="whole")
    for step in range(1, 10):
        copy = f"at{step}"
        program.copy_at(cwd, "whole", copy, step)
        made = program.resume(copy, f"threads={1 + step % 3}", cwd=cwd)
        for key in ("weights_hash", "validation_accuracy", "best_validation_accuracy",
                    "test_accuracy", "best_accuracy"):
            checks.same(made[key], whole[key], f"resumed at {step}: {key}")
        checks.same(program.rows(cwd, copy), program.rows(cwd, "whole"), f"rows from step {step}")
    again = program.resume("whole", cwd=cwd)
    checks.same(again["test_accuracy"], whole["test_accuracy"], "a finished run says it again")
    for more, text in (["data.validation=0.3"], "keeps"), (["part=test"], "eval.part"):
        code, _, err = program.call("resume", "whole", *more, "steps=12", cwd=cwd)
        checks.that(code == 2 and text in err, f"resume {more}: exit {code}, {err.strip()!r}")


def workers(checks, cwd):
    made = [program.train(*KEYS, "data.validation=0.2", "batch=8", "steps=6", f"workers={w}",
                          f"threads={t}", cwd=cwd, run=f"w{w}{t}") for w, t in ((2, 1), (2, 3))]
    for key in ("weights_hash", "validation_accuracy", "test_accuracy"):
        checks.same(made[1][key], made[0][key], f"threads of workers: {key}")
    held = evaluate(checks, cwd, "w21", "part=validation")
    checks.same(held["validation_accuracy"], made[0]["validation_accuracy"], "eval of workers")


def bad_input(checks, cwd):
    rows = [(["data.validation=0.999"], "expected 1 to 199"), (["data.validation=200"], "1 to 199"),
            (["data.validation=2.5"], "a share below 1"), (["data.validation=199"], "of class"),
            (["data.validation=-1"], "data.validation"), (["part=validation"], "holds no samples")]
    for words, text in rows:
        code, _, err = program.call("train", *KEYS, *words, "run.dir=bad", cwd=cwd)
        checks.that(code == 2 and text in err, f"{words}: exit {code}, {err.strip()!r}")
    program.train(*KEYS, "steps=1", cwd=cwd, run="plain")
    code, _, err = program.call("eval", "plain", "part=validation", cwd=cwd)
    checks.that(code == 2 and "data.validation" in err, f"nothing held out: {code} {err!r}")


program.main(followed, parts, resumed, workers, bad_input)
