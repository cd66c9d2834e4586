"""What a training says: before its first step, for every epoch, at its end, and in progress.jsonl."""
import json
import os
import shutil
import signal
import sys
import tempfile
import time

import program
from program import TINY

BLOCK = ("model      cnn-s (classify), 24,346 parameters", "data       glyphs: 96 training, 16 test samples of "
         "32x32x3, 10 classes", "batch 32", "length     2 epochs, 6 steps", "MiB planned: arena", "run        run")


def events(cwd, run="run"):
    with open(os.path.join(cwd, run, "progress.jsonl")) as file:
        return [json.loads(line) for line in file]


def kinds(cwd, run="run"):
    return [row["event"] for row in events(cwd, run)]


def command(*words):
    """As progress.jsonl has it; none of the words wants quotes."""
    return " ".join([program.HALFULP, *words])


def version():
    return program.call("--version", cwd=".")[1].split()[1]


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
    checks.same((start["command"], start["halfulp"]), (command("train", *TINY, "epochs=2", "run.dir=run"), version()),
                "what was typed, and the version")
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
    again = [(row["step"], row["command"]) for row in events(cwd) if row["event"] == "start"]
    checks.same(again, [(0, command("train", *TINY, "epochs=2", "run.dir=run")), (6, command("resume", "run", "epochs=3"))],
                "a start of its own, with its command")
    with open(os.path.join(cwd, "run", "report.html")) as file:
        page = file.read()
    for _, words in again:
        checks.that(f">{words}</td>" in page, f"the report names {words!r}")


def warnings(checks, cwd):
    """Choices that new users made without meaning them."""
    _, _, err = program.call("train", *TINY, "steps=1", "lr.warmup=1", "run.dir=one", cwd=cwd)
    checks.that("learning rate is 0 in every step" in err, f"a warm-up that is all: {err!r}")
    _, _, err = program.call("train", *TINY, "steps=1", "run.dir=one-more", cwd=cwd)
    checks.that("learning rate is 0" not in err and "warm-up" not in err, f"one step has none by itself: {err!r}")
    checks.same(float.fromhex(program.rows(cwd, "one-more")[0]["lr"]), 0.15, "its rate")
    _, _, err = program.call("train", *TINY, "epochs=1", "precision=e4m3", "run.dir=bare", cwd=cwd)
    checks.that("gradients are in e4m3 and nothing scales them" in err and "scaler=dynamic" in err,
                f"8-bit gradients: {err!r}")
    for words in (["precision=e4m3", "scaler=none"], ["precision=e4m3", "scaler=dynamic"],
                  ["precision=e4m3:scale=current"], ["precision=hfp8"], ["precision=1/6/9"], ["precision=e5m2", "precision.scaling=unit"]):
        _, _, err = program.call("train", *TINY, "epochs=1", *words, f"run.dir={'-'.join(words).replace('/', '.')}",
                                 cwd=cwd)
        checks.that("nothing scales" not in err and "no negative" not in err, f"{words}: {err!r}")
    program.put(cwd, "plus.txt", b"0\n1\n2\n3\n")
    for number, (words, told) in enumerate(((["precision=binary8p4ue"], "weights are in binary8p4ue"),
                        (["precision=table:plus.txt"], "weights are in table:plus.txt"),
                        (["precision=grad=binary8p3ue"], "gradients are in binary8p3ue"),
                        (["precision=act=binary8p4ue,w=binary8p4se"], ""), (["precision=posit8"], ""))):
        _, _, err = program.call("train", *TINY, "steps=1", *words, f"run.dir=signs{number}", cwd=cwd)
        checks.same("no negative numbers" in err and told in err, told != "", f"{words}: {err!r}")
    out = program.call("why", "signs0", cwd=cwd)[1]
    checks.that("are too large for binary8p4ue, which has no negative ones, and became infinite or NaN" in out, f"why: {out}")


def best_is_next(checks, cwd):
    """What to do next names the best state where the last one is worse."""
    words = [*TINY, "epochs=1", "precision=fp32", "lr.warmup=0"]
    out = program.call("train", *words, "run.dir=once", cwd=cwd)[1]
    checks.that("next: halfulp predict once\n" in out or "next: halfulp why once\n" in out, f"the last is the best: {out!r}")
    learned = ["model=cnn-s", "data=glyphs", "data.limit=600", "data.test_limit=100", "batch=32", "epochs=4", "threads=1"]
    program.train(*learned, "lr.schedule=constant", cwd=cwd, run="worse")
    out = program.call("resume", "worse", "epochs=6", "lr=0.8", cwd=cwd)[1]  # so large a rate loses what was learned
    if checks.that(", best " in out, f"the last is not the best: {out!r}"):
        nexts = {"collapsed" in out: " why worse\n", "collapsed" not in out: " predict worse checkpoint=best\n"}
        checks.that(f"next: halfulp{nexts[True]}" in out, f"{out!r}")
    kept = program.call("train", *learned, "lr.schedule=constant", "run.keep_best=off", "run.dir=none", cwd=cwd)[1]
    checks.that("checkpoint=best" not in kept, f"none is kept: {kept!r}")


def follow(checks, cwd):
    """watch tells what happened, and what happens until the end; Ctrl-C ends it."""
    code, out, err = program.call("watch", "run", cwd=cwd)
    checks.same((code, err), (0, ""), "watch of a run that has ended")
    told = [line.split("  ")[0] for line in out.splitlines() if line.startswith("epoch ")]
    checks.same(told, ["epoch 1/2", "epoch 2/2", "epoch 3/3"], "its epochs, before and behind the resumption")
    checks.that(out.splitlines()[-1].startswith("finished after 9 steps"), f"its end: {out!r}")
    checks.same([line.split(None, 1)[1] for line in out.splitlines() if line.startswith("command ")],
                [row["command"] for row in events(cwd) if row["event"] == "start"], "its commands")
    code, out, _ = program.call("watch", "run", "--json", cwd=cwd)
    checks.same([json.loads(line) for line in out.splitlines()], events(cwd), "watch --json: the rows")
    words = ["train", *TINY, "steps=100000", "lr.warmup=0", "quiet=on", "run.dir=long", "run.log_every=1000"]
    training = program.start(*words, cwd=cwd)
    path = os.path.join(cwd, "long", "progress.jsonl")
    wait(lambda: os.path.exists(path) and os.path.getsize(path) > 3000, "a training that writes rows")
    watching = [program.subprocess.Popen([program.HALFULP, "watch", "long"], cwd=cwd, text=True,
                                         stdout=program.subprocess.PIPE, stderr=program.subprocess.PIPE)
                for _ in range(2)]
    listed = json.loads(program.call("list", ".", "--json", cwd=cwd)[1])["runs"]
    checks.same([row["state"] for row in listed if row["run"].endswith("long")], ["running"], "list: it runs")
    time.sleep(0.5)
    watching[0].send_signal(signal.SIGINT)
    out, err = watching[0].communicate(timeout=program.patience(20))
    checks.same(watching[0].returncode, 130, f"Ctrl-C ends the watching: {err!r}")
    checks.that("epoch 1/" in out and training.poll() is None, "and not the training")
    checks.same(err, "\nhalfulp: left; the training goes on\n", "and says so")
    training.send_signal(signal.SIGINT)
    checks.same(training.wait(timeout=program.patience(20)), 130, "the training is interrupted")
    out, err = watching[1].communicate(timeout=program.patience(20))
    checks.same((watching[1].returncode, out.splitlines()[-1].split(" ")[0]), (0, "interrupted"),
                f"who watches sees its end: {err!r}")
    with open(path) as file:
        rows = file.readlines()
    with open(path, "w") as file:
        file.writelines(rows[:4] + [rows[4][:20]])
    code, out, err = program.call("watch", "long", cwd=cwd)
    checks.that(code == 0 and "it was stopped" in err, f"a run whose process is gone: {code} {err!r}")
    checks.same(program.call("watch", "nowhere", cwd=cwd)[0], 3, "no such folder")
    code, _, err = program.call("watch", ".", cwd=cwd)
    checks.that(code == 3 and "found no row of progress.jsonl" in err, f"no folder of a training: {code} {err!r}")


def wait(holds, what):
    for _ in range(200):
        if holds():
            return
        time.sleep(0.1)
    raise SystemExit(f"waited in vain for {what}")


def plain_environment():
    return {name: value for name, value in os.environ.items() if name not in ("CLICOLOR_FORCE", "NO_COLOR")}


def listed(checks, cwd):
    """list: a row for each run, with its state; run names."""
    for _ in range(2):
        code, _, err = program.call("train", *TINY, "epochs=1", "name=my/first", "quiet=on", cwd=cwd)
        checks.same(code, 0, f"run.name: {err}")
    checks.same(sorted(os.listdir(os.path.join(cwd, "runs"))), ["my_first", "my_first-1"], "folders of named runs")
    with open(os.path.join(cwd, "still", "result.json"), "w") as file:
        file.write("{")
    code, out, err = program.call("list", ".", "--json", cwd=cwd)
    checks.same((code, err), (0, ""), "list --json")
    rows = {os.path.basename(row["run"]): row for row in json.loads(out)["runs"]}
    states = {name: rows[name]["state"] for name in ("run", "still", "broken", "long")}
    checks.same(states, {"run": "finished", "still": "damaged", "broken": "diverged", "long": "stopped"}, "states")
    with open(os.path.join(cwd, "run", "result.json")) as file:
        result = json.load(file)
    made = rows["run"]
    checks.same((made["step"], made["steps"], made["epochs"], made["metric"]["value"], made["metric"]["best"]),
                (9, 9, 3, result["test_accuracy"], result["best_accuracy"]), "how far and how good")
    checks.same(made["command"], command("resume", "run", "epochs=3"), "what was typed last")
    code, out, err = program.call("list", cwd=cwd)
    checks.same((code, err), (0, ""), "list")
    lines = out.splitlines()
    checks.same(lines[0].split(), ["run", "name", "model", "precision", "data", "steps", "epochs", "metric", "best",
                                   "state", "started"], "titles")
    checks.same([line.split()[:7] for line in lines[2:]],
                [[name, "my/first", "cnn-s", "fp32", "glyphs", "3/3", "1"] for name in ("my_first", "my_first-1")],
                "rows")
    checks.same(program.call("list", "nowhere", cwd=cwd)[0], 3, "no such folder")
    for variables, wanted in (({"CLICOLOR_FORCE": "1"}, True), ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False), ({}, False)):
        out = program.call("list", ".", cwd=cwd, env={**plain_environment(), **variables})[1]
        checks.same("\x1b[31m! diverged\x1b[0m" in out, wanted, f"colours with {variables}: {out!r}")
        checks.that("! diverged" in out and "! damaged" in out and ("\x1b" in out) == wanted, f"marks: {out!r}")
    os.makedirs(os.path.join(cwd, "empty"))
    checks.same(program.call("list", "empty", cwd=cwd)[:2], (0, "no run directly below empty; `halfulp list FOLDER` lists those of another\n"), "a folder without runs")


def found_done(cwd, run):
    return [row["done"] for row in events(cwd, run) if row["event"] == "start"][-1]


def compared(checks, cwd):
    """A comparison tells how long it will take, and can be watched."""
    words = ["compare", "precision=fp32,1/6/9", "seeds=1", *TINY[:-1], "threads=1", "epochs=1", "name=both"]
    code, _, err = program.call(*words, cwd=cwd)
    checks.same(code, 0, f"compare: {err}")
    checks.same(found_done(cwd, "runs/both"), 0, "rows that were done before")
    checks.that(" left" in [line for line in err.splitlines() if line.startswith("row 1 of 2: fp32 seed 1: ")][-1],
                f"time left: {err!r}")
    found = events(cwd, "runs/both")
    checks.same([(row["event"], row.get("row"), row.get("state")) for row in found],
                [("start", None, None), ("row", 1, "begins"), ("row", 1, "finished"), ("row", 2, "begins"),
                 ("row", 2, "finished"), ("end", None, "finished")], "rows of a comparison")
    with open(os.path.join(cwd, "runs/both/report.html")) as file:
        checks.that(f">{command(*words)}</td>".replace("&", "&amp;") in file.read(), "the report names its command")
    code, out, err = program.call("watch", "runs/both", cwd=cwd)
    checks.same((code, out.splitlines()[0], out.splitlines()[-1]),
                (0, "compare in runs/both, 2 rows", "finished"), f"watch of it: {err!r}")
    made = json.loads(program.call("list", "runs/both", "--json", cwd=cwd)[1])
    checks.same((len(made["runs"]), [group["folder"] for group in made["groups"]]), (2, ["runs/both"]), "list of it")
    with open(os.path.join(cwd, "runs/both/compare.json")) as file:
        means = json.load(file)["precisions"]
    best = max(means, key=lambda mean: mean["test_accuracy"])
    group = made["groups"][0]
    checks.same((group["kind"], group["state"], group["rows"], group["done"], group["failed"], group["command"]),
                ("compare", "finished", 2, 2, 0, command(*words)), "what it is")
    if not any(mean["collapsed"] for mean in means):
        checks.same((group["best"]["name"], group["best"]["metric"]["value"]),
                    (best["precision"], best["test_accuracy"]), "its best")
    checks.same(program.call(*words, cwd=cwd)[0], 0, "the same again")
    checks.same(found_done(cwd, "runs/both"), 2, "rows that were done before")
    again = json.loads(program.call("list", "runs", "--json", cwd=cwd)[1])["groups"]
    checks.same([(row["folder"], row["done"]) for row in again], [("runs/both", 2)], "list of its parent")
    out = program.call("list", "runs", cwd=cwd)[1].splitlines()
    at = out.index("") + 1
    checks.same((out[at].split(), out[at + 2].split()[:5]),
                (["folder", "kind", "rows", "diverged", "failed", "best", "state", "started"],
                 ["both", "compare", "2/2", "0", "0"]), "its line")


def demonstrated(checks, cwd):
    """A demo tells the time that is left of all rows, in its lines and at the end of each row."""
    code, _, err = program.call("demo", *TINY, "epochs=2", "run.dir=six", cwd=cwd)
    checks.same(code, 0, f"demo: {err}")
    lines = err.splitlines()
    for row in range(1, 7):
        ends = [line for line in lines if line.startswith(f"row {row} of 6: ") and " s" in line and "accuracy" in line]
        checks.same([line.endswith(" left") for line in ends], [row < 6], f"row {row}: time left at its end: {ends}")
    epochs = [line for line in lines if line.startswith("epoch ")]
    checks.same([line.endswith(" of all rows)") for line in epochs], 10 * [True] + 2 * [False],
                f"epochs tell what is left of all: {epochs}")
    found = events(cwd, "six")
    checks.same([(row["event"], row.get("row"), row.get("state")) for row in found],
                [("start", None, None)] + [("row", row, state) for row in range(1, 7) for state in ("begins", "finished")]
                + [("end", None, "finished")], "rows of a demo")
    checks.same((found[0]["verb"], found[0]["rows"]), ("demo", 6), "its start")
    groups = json.loads(program.call("list", ".", "--json", cwd=cwd)[1])["groups"]
    with open(os.path.join(cwd, "six", "demo.json")) as file:
        best = max(row["test_accuracy"] for row in json.load(file)["rows"] if "diverged" not in row)
    checks.same([(row["kind"], row["done"], row["rows"], row["state"], row["best"]["metric"]["value"]) for row in groups],
                [("demo", 6, 6, "finished", best)], "list of it")
    code, out, err = program.call("watch", "six", cwd=cwd)
    checks.same((code, out.splitlines()[0]), (0, "demo in six, 6 rows"), f"watch of it: {err!r}")


def other_groups(checks, cwd):
    """list of a search, of one that was killed, and of a comparison whose progress nobody wrote."""
    os.makedirs(os.path.join(cwd, "groups", "killed"))
    os.rename(os.path.join(cwd, "runs", "both"), os.path.join(cwd, "groups", "older"))
    os.remove(os.path.join(cwd, "groups", "older", "progress.jsonl"))
    shutil.copytree(os.path.join(cwd, "groups", "killed"), os.path.join(cwd, "groups", "search"))
    trainings = [{"event": "row", "state": state} for state in ("begins", "finished", "begins", "diverged", "begins", "failed")]
    start = {"event": "start", "verb": "assign", "done": 0}
    for name, rows in (("killed", [{**start, "verb": "compare", "rows": 9}] + trainings),
                       ("search", [start] + trainings + [{"event": "end", "state": "finished"}])):
        with open(os.path.join(cwd, "groups", name, "progress.jsonl"), "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    with open(os.path.join(cwd, "groups", "search", "assign.json"), "w") as file:
        json.dump({"metric": {"name": "accuracy"}, "chosen": "c3", "validation_accuracy": 0.5}, file)
    found = {os.path.basename(row["folder"]): row
             for row in json.loads(program.call("list", "groups", "--json", cwd=cwd)[1])["groups"]}
    counts = {name: tuple(row[key] for key in ("kind", "state", "rows", "done", "failed", "diverged"))
              for name, row in found.items()}
    checks.same(counts, {"killed": ("compare", "stopped", 9, 2, 1, 1), "search": ("assign", "finished", None, 2, 1, 1),
                         "older": ("compare", "finished", 2, 2, 0, 0)}, "what their files say")
    checks.same((found["search"]["best"]["name"], found["search"]["best"]["metric"]["part"],
                 found["killed"]["best"]), ("c3", "validation", None), "the best")


if __name__ == "__main__":
    checks = program.Checks()
    with tempfile.TemporaryDirectory() as folder:
        for test in (lines, rows, trouble, warnings, best_is_next, follow, listed, compared, demonstrated, other_groups):
            test(checks, folder)
    sys.exit(checks.finish())
