"""What a training says: before its first step, for every epoch, at its end, and in progress.jsonl."""
import json
import os
import sys
import tempfile

import program
from program import TINY

BLOCK = ("model      cnn-s (classify), 24,346 parameters", "data       glyphs: 96 training, 16 test samples of "
         "32x32x3, 10 classes", "batch 32", "length     2 epochs, 6 steps", "MiB planned: arena", "run        run")


def events(cwd, run="run"):
    with open(os.path.join(cwd, run, "progress.jsonl")) as file:
        return [json.loads(line) for line in file]


def kinds(cwd, run="run"):
    return [row["event"] for row in events(cwd, run)]


def lines(checks, cwd):
    """Without a terminal: the block, a line for each epoch, nothing that overwrites itself."""
    code, out, err = program.call("train", *TINY, "epochs=2", "run.dir=run", cwd=cwd)
    checks.same(code, 0, f"train: {err}")
    for part in BLOCK:
        checks.that(part in err, f"{part!r} in {err!r}")
    told = [line for line in err.splitlines() if line.startswith("epoch ")]
    checks.same([line.split("  ")[0] for line in told], ["epoch 1/2", "epoch 2/2"], "a line for each epoch")
    for line in told:
        for part in ("  loss ", "  test accuracy ", "  lr ", " images/s  ", " left"):
            checks.that(part in line, f"{part!r} in {line!r}")
    checks.that("\r" not in err and "\x1b" not in err, f"no control characters in a file: {err!r}")
    checks.that("report: run/report.html\nnext: halfulp why run\n" in out, f"what to do next: {out!r}")
    code, _, err = program.call("train", *TINY, "epochs=2", "run.dir=still", "quiet=on", cwd=cwd)
    checks.same((code, err), (0, ""), "run.quiet=on")
    code, out, err = program.call("train", *TINY, "epochs=2", "run.dir=object", "--json", cwd=cwd)
    checks.same((code, err), (0, ""), "--json")
    checks.same(json.loads(out)["steps"], 6, "--json is one object")
    code, _, err = program.call("train", *TINY, "epochs=1", "run.dir=coloured", cwd=cwd,
                                env={**os.environ, "CLICOLOR_FORCE": "1", "NO_COLOR": ""})
    checks.that(err.startswith("\x1b[2mmodel"), f"colours by force: {err!r}")


def rows(checks, cwd):
    """progress.jsonl has the same in every training, quiet or not."""
    checks.same(kinds(cwd), ["start"] + 2 * ["evaluation", "epoch", "checkpoint"] + ["end"], "events")
    checks.same(kinds(cwd, "still"), kinds(cwd), "events of a quiet training")
    start, *_, end = events(cwd)
    checks.same((start["parameters"], start["samples"]["train"], start["steps_per_epoch"]), (24346, 96, 3), "start")
    with open(os.path.join(cwd, "run", "result.json")) as file:
        result = json.load(file)
    checks.same((end["state"], end["step"], end["metric"]["value"]),
                ("finished", 6, result["test_accuracy"]), "the end is that of the result")
    epochs = [row for row in events(cwd) if row["event"] == "epoch"]
    checks.same([row["epoch"] for row in epochs], [1, 2], "epochs")
    checks.same(epochs[-1]["left_seconds"], 0, "nothing is left at the end")
    checks.same(epochs[-1]["loss"], result["train_loss"], "the loss of the last epoch is the training's")


def trouble(checks, cwd):
    """Skipped steps and scales that change; a training that diverges says why; one that goes on."""
    words = [*TINY, "epochs=2", "precision=hfp8", "scaler.init=1e30", "lr.warmup=0", "quiet=on"]
    code, _, err = program.call("train", *words, "run.dir=scaled", cwd=cwd)
    checks.same(code, 0, f"scaled: {err}")
    found = events(cwd, "scaled")
    skipped = [row["step"] for row in found if row["event"] == "skipped"]
    rescaled = [row for row in found if row["event"] == "rescaled"]
    checks.that(skipped and skipped == list(range(len(skipped))), f"skipped steps: {skipped}")
    checks.that(all(row["to"] < row["from"] for row in rescaled) and len(rescaled) >= len(skipped) - 1,
                f"scales: {rescaled}")
    code, _, err = program.call("train", *TINY, "epochs=2", "lr=1e6", "lr.warmup=0", "run.dir=broken", cwd=cwd)
    checks.same(code, 4, f"a training that diverges: {err}")
    end = events(cwd, "broken")[-1]
    checks.same((end["event"], end["state"]), ("end", "diverged"), "its end")
    checks.that(end["reason"] and end["reason"] in err, f"its reason {end['reason']!r} in {err!r}")
    code, _, err = program.call("resume", "run", "epochs=3", cwd=cwd)
    checks.same(code, 0, f"resume: {err}")
    checks.that("9 steps, 6 of them done" in err and "epoch 3/3" in err, f"it says where it goes on: {err!r}")
    again = [row["step"] for row in events(cwd) if row["event"] == "start"]
    checks.same(again, [0, 6], "a start of its own")


def warnings(checks, cwd):
    """Choices that new users made without meaning them."""
    _, _, err = program.call("train", *TINY, "steps=1", "run.dir=one", cwd=cwd)
    checks.that("learning rate is 0 in every step" in err, f"a warm-up that is all: {err!r}")
    _, _, err = program.call("train", *TINY, "steps=1", "lr.warmup=0", "run.dir=one-more", cwd=cwd)
    checks.that("learning rate is 0" not in err, f"none: {err!r}")
    _, _, err = program.call("train", *TINY, "epochs=1", "precision=e4m3", "run.dir=bare", cwd=cwd)
    checks.that("gradients are in e4m3 and nothing scales them" in err and "scaler=dynamic" in err,
                f"8-bit gradients: {err!r}")
    for words in (["precision=e4m3", "scaler=none"], ["precision=e4m3", "scaler=dynamic"],
                  ["precision=e4m3:scale=current"], ["precision=hfp8"], ["precision=1/6/9"]):
        _, _, err = program.call("train", *TINY, "epochs=1", *words, f"run.dir={'-'.join(words).replace('/', '.')}",
                                 cwd=cwd)
        checks.that("nothing scales" not in err, f"{words}: {err!r}")


if __name__ == "__main__":
    checks = program.Checks()
    with tempfile.TemporaryDirectory() as folder:
        for test in (lines, rows, trouble, warnings):
            test(checks, folder)
    sys.exit(checks.finish())
