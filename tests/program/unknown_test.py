"""What is not known is said so, "-" and null: a mean over nothing, a rate by a clock that goes back."""
import json
import os
import re
import struct

import program

PLAIN = ["model=cnn-s", "data=glyphs", "data.limit=64", "data.test_limit=8", "batch=32", "threads=1"]
OVER = "precision.rules=['conv1.out: e5m2:bias=70']"
SHIM = os.path.join(os.path.dirname(program.HALFULP), "back-clock.so")


def events(cwd, run, kind):
    with open(f"{cwd}/{run}/progress.jsonl") as file:
        return [row for row in map(json.loads, file) if row["event"] == kind]


def result(cwd, run):
    with open(f"{cwd}/{run}/result.json") as file:
        return json.load(file)


def epochs_without_a_loss(checks, cwd):
    """Steps whose forward pass did not end have no loss, and an epoch of such steps none either."""
    skips = ["scaler=dynamic", "scaler.stop_after=99", "epochs=2", OVER]
    code, out, err = program.call("train", *PLAIN, *skips, "run.dir=run", cwd=cwd)
    checks.same((code, [row["loss"] for row in events(cwd, "run", "epoch")], result(cwd, "run")["train_loss"]),
                (0, [None, None], None), f"all steps are skipped: {err}")
    checks.that("epoch 1/2  loss -  " in err and "epoch 2/2  loss -  " in err, err)
    checks.that("loss 0" not in err + out and "loss nan" not in err + out, f"{err}{out}")
    checks.same({row["loss"] for row in program.rows(cwd, "run")}, {"nan"}, "metrics.csv")
    seen, _, _ = (program.call("watch", "run", cwd=cwd)[i] for i in (1, 0, 2))
    checks.that("epoch 2/2  loss -  " in seen, f"watch: {seen}")
    program.train(*PLAIN, "epochs=1", "scaler=dynamic", "lr.schedule=constant", cwd=cwd, run="good")
    first = result(cwd, "good")["train_loss"]
    checks.that(first > 0, f"an epoch with a loss: {first}")
    code, _, err = program.call("resume", "good", "epochs=2", *skips[:2], OVER, cwd=cwd)
    checks.same((code, [row["loss"] for row in events(cwd, "good", "epoch")], result(cwd, "good")["train_loss"]),
                (0, [first, None], None), f"the loss of the good epoch is not repeated: {err}")
    code, out, err = program.call("compare", "precision=fp32", *PLAIN, *skips, "run.dir=both", "--json", cwd=cwd)
    if checks.same(code, 0, f"compare: {err}"):
        checks.same([row["train_loss"] for row in json.loads(out)["rows"]], [None], "compare.json")
        with open(f"{cwd}/both/report.html") as file:
            page = re.sub(r"<(script|style).*?</\1>", "", file.read(), flags=re.S)
        # "NaN" is what its pictures say of the tensors; a number that is none is printed as "nan".
        checks.that(not re.search(r"\bnan\b", page) and "all infinite or NaN" in page, "the page of the comparison")


def nothing_is_labelled(checks, cwd):
    """No pixel counts, so that no step has a loss."""
    words = [f"data=dense:{program.write_maps(cwd)}", "data.unlabelled=9", "model=fcn-s", "batch=4", "epochs=1",
             "lr=0.01", "model.width=0.25", "threads=1"]
    program.train(*words, cwd=cwd, run="labelled")
    checks.that(result(cwd, "labelled")["train_loss"] > 0, "labelled maps have a loss")
    for k in range(5):  # the last map tells the classes, and is none of the four that are taken
        path = f"{cwd}/maps/trainannot/{k}.png"
        with open(path, "rb") as file:
            width, height = struct.unpack(">II", file.read(24)[16:])
        program.write_png(path, width, height, 1, lambda x, y, c: 9)
    code, out, err = program.call("train", *words, "data.limit=4", "run.dir=run", cwd=cwd)
    checks.same((code, [row["loss"] for row in events(cwd, "run", "epoch")], result(cwd, "run")["train_loss"]),
                (0, [None], None), f"no pixel of the epoch is labelled: {err}")
    checks.that("epoch 1/1  loss -  " in err and "loss 0" not in err + out, f"{err}{out}")


def back(checks, cwd):
    """A clock that goes back makes no time negative, and no rate of it."""
    if not os.path.exists(SHIM):
        return
    code, out, err = program.call("train", *PLAIN, "epochs=2", "run.dir=run", cwd=cwd,
                                  env={**os.environ, "LD_PRELOAD": SHIM})
    checks.same(code, 0, err)
    rows = events(cwd, "run", "epoch")
    checks.same([(row["per_second"], row["seconds"]) for row in rows], [(None, 0.0)] * 2, "no time is known to pass")
    checks.same([row["left_seconds"] for row in rows], [None, 0.0], "none is known to be left but at the end")
    checks.that("  - images/s  - left" in err and "nan" not in err + out and "images/s  -" not in out, f"{err}{out}")
    made = result(cwd, "run")
    checks.same((made["images_per_second"], made["train_seconds"]), (None, 0.0), "result.json")
    plain = program.train(*PLAIN, "epochs=2", cwd=cwd, run="plain")
    checks.same(made["weights_hash"], plain["weights_hash"], "and no bit is another one")


if __name__ == "__main__":
    program.main(epochs_without_a_loss, nothing_is_labelled, back)
