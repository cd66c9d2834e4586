"""Advice of `why`: it repairs, it says only what is new, it can be pasted, and try=1 trains it."""
import json
import os
import shlex
import signal
import time

import program
from program import call

JOB = ["model=cnn-s", "model.width=0.5", "data=glyphs", "data.limit=800", "data.test_limit=500", "batch=32",
       "epochs=20", "threads=1", "run.quiet=on", "eval.every=0", "run.checkpoint_every=0"]
SMALL = ["model=cnn-s", "data=glyphs", "data.limit=96", "data.test_limit=16", "batch=32", "threads=1",
         "run.quiet=on"]
UNDER = "e2m3:bias=-40"
BY_WEIGHT = "precision=w={},act=fp32,grad=fp32,wgrad=fp32"
CONSTANT = "lr.schedule=constant"

# name: keys of the failure, part of the first advice
FAILURES = {
    "gradients vanish": (["precision=e4m3"], "grad"),
    "nothing fits": (["precision=e2m3"], "precision="),
    "the loss scale is too large": (["precision=fp16", "scaler=constant", "scaler.init=1e9"], "scaler="),
    "one rule": (["precision=bf16", f"precision.rules=['bn3.out.grad: {UNDER}']"], "precision.rules=[]"),
    "two rules": ([f"precision.rules=['fc.weight: bf16', 'input: e2m1:bias=20', 'bn3.out.grad: {UNDER}']"],
                  "precision.rules=['fc.weight: bf16']"),
}


def why(cwd, run, *words):
    code, out, err = call("why", run, *words, "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"why {run}: exit {code}: {err}")
    return json.loads(out)


def repaired(checks, cwd):
    """The first advice of each failure brings the accuracy of float32 back."""
    best = program.train(*JOB, cwd=cwd, run="float32")["test_accuracy"]
    checks.that(best > 0.9, f"float32 learns: {best}")
    checks.same(why(cwd, "float32")["advice"]["options"], [], "nothing is to be repaired")
    for number, (name, (keys, part)) in enumerate(FAILURES.items()):
        run = f"run{number}"
        call("train", *JOB, *keys, f"run.dir={run}", cwd=cwd)
        advice = why(cwd, run)["advice"]
        first = advice["options"][0]
        checks.that(part in first["keys"][0], f"{name}: {first['keys']} for {keys}")
        checks.that(first["after"]["error"] < 0.11 < advice["before"]["error"], f"{name}: {first} {advice['before']}")
        _, out, _ = call("why", run, cwd=cwd)
        checks.that(f"1. {first['line']}\n" in out, f"{name}: told: {out}")
        checks.same(shlex.split(first["line"]), first["keys"], f"{name}: as a shell reads it")
        # Behind the command's own words, later ones in place of earlier ones.
        given = {word.split("=")[0] for word in first["keys"]}
        kept = [word for word in keys if word.split("=")[0] not in given]
        pasted = program.train(*JOB, *kept, *first["keys"], cwd=cwd, run=f"pasted{number}")
        checks.that(pasted["test_accuracy"] >= best - 0.025,
                    f"{name}: {first['keys']}: {pasted['test_accuracy']} against {best}")
        again = why(cwd, f"pasted{number}")
        checks.that(again["verdict"] == "fine", f"{name}: {again['death']}")
        checks.that(first["line"] not in [option["line"] for option in again["advice"]["options"]],
                    f"{name}: what the run has is no advice")


def tried(checks, cwd):
    """try=1 trains what is pasted, into a folder beside, and says whether it helped."""
    call("train", *SMALL, "steps=6", "precision=e4m3", "run.dir=runs/a", cwd=cwd)
    before = program.tree_bytes(f"{cwd}/runs/a")
    line = why(cwd, "runs/a")["advice"]["options"][0]["line"]
    code, out, err = call("why", "runs/a/", "try=1", "--json", cwd=cwd)
    checks.same(code, 0, f"it trains: {err}")
    made = json.loads(out)
    checks.same((made["line"], made["before"]["run"], made["after"]["run"]), (line, "runs/a/", "runs/a-try1"), "names")
    pasted = program.train(*SMALL, "steps=6", "precision=e4m3", *shlex.split(line), cwd=cwd)
    with open(f"{cwd}/runs/a-try1/result.json") as file:
        result = json.load(file)
    checks.same(result["weights_hash"], pasted["weights_hash"], "the same as pasted")
    checks.same((made["after"]["metric"], made["after"]["train_loss"]),
                (result["test_accuracy"], result["train_loss"]), "its numbers")
    checks.same(made["helped"], made["after"]["metric"] > made["before"]["metric"], "the verdict")
    checks.same(program.tree_bytes(f"{cwd}/runs/a"), before, "the run itself is only read")
    code, _, err = call("why", "runs/a", "try=1", cwd=cwd)
    checks.that(code == 2 and "runs/a-try1 is there already" in err, f"twice: {err}")
    code, _, err = call("why", "runs/a", "try=1", "run.dir=b", "threads=2", "seed=7", cwd=cwd)
    with open(f"{cwd}/b/config.resolved.yaml") as file:
        resolved = file.read()
    checks.that(code == 0 and "  seed: 7\n" in resolved and "  threads: 2\n" in resolved, f"its own words: {err}")
    pasted = program.train(*SMALL, "steps=6", "precision=e4m3", "seed=7", *shlex.split(line), cwd=cwd, run="pasted")
    with open(f"{cwd}/b/result.json") as file:
        checks.same(json.load(file)["weights_hash"], pasted["weights_hash"], "the same as pasted with that seed")
    code, _, err = call("why", "runs/a", "try=1", "run.dir=b", cwd=cwd)
    checks.that(code == 2 and "b is there already" in err, f"twice into a folder: {err}")
    code, _, err = call("why", "runs/a", "seed=7", cwd=cwd)
    checks.that(code == 2 and "seed" in err, f"without try= nothing trains: {err}")
    code, out, err = call("why", "runs/a", "try=2", cwd=cwd)
    checks.that(code == 0 and "train loss" in out and "runs/a-try2" in out, f"the second: {out}{err}")


def not_enough(checks, cwd):
    """A run that diverged has no loss; one that comes to its end and still guesses is not called repaired."""
    call("train", "data=glyphs", "precision=e2m5", "steps=40", "threads=2", "run.dir=e", cwd=cwd)
    with open(f"{cwd}/e/numerics.jsonl") as file:
        names = {row[0] for line in map(json.loads, file) for row in line.get("tensors", [])}
    checks.that(names and not any(".grad" in name for name in names), "its first forward pass ended it")
    checks.same(why(cwd, "e")["advice"]["untold_gradients"], "e2m5", "what gradients stay in")
    checks.that("No gradients were recorded: the run ended before it had any. They stay in e2m5" in call("why", "e", cwd=cwd)[1],
                "said beside the advice")
    code, out, err = call("why", "e", "try=1", cwd=cwd)
    checks.that("warning: e recorded no gradients, so that nothing is known of them: they stay in e2m5\n" in err, err)
    checks.that("that change it" not in err, f"a width that nobody typed is not told: {err}")
    checks.that(code == 0 and "  e: accuracy -, train loss -, diverged" in out, f"before: {out} {err}")
    with open(f"{cwd}/e-try1/result.json") as file:
        is_lost = "collapsed" in json.load(file)
    checks.same(("helped, but not enough:" in out, out.splitlines()[-1] == "next: halfulp why e-try1"),
                (is_lost, is_lost), f"the verdict: {out}")
    checks.that(is_lost, "the case is one that still guesses")
    after = why(cwd, "e-try1")
    checks.same(after["advice"]["untold_gradients"], None, "gradients that were recorded")
    checks.that(f"{len(after['losses'])} tensors lost much" in out, out)
    call("train", *SMALL, "steps=6", "precision=e2m5", "lr=1e-3", "run.dir=f", cwd=cwd)
    code, out, err = call("why", "f", "try=1", cwd=cwd)
    after = why(cwd, "f-try1")
    unwell = after["verdict"] != "fine" or "collapsed" in after
    checks.same((code, "helped, but not enough:" in out, "next: halfulp why f-try1" in out),
                (0, unwell, unwell or any(after["trouble"].values())), f"{after['verdict']}: {out} {err}")


def refused(checks, cwd):
    """What cannot be tried says why, and leaves everything as it was."""
    program.train(*SMALL, "steps=0", cwd=cwd, run="none")
    code, _, err = call("why", "none", "try=1", cwd=cwd)
    checks.that(code == 2 and "no steps" in err, f"no steps: {err}")
    program.train(*SMALL, "steps=2", cwd=cwd, run="fine")
    code, _, err = call("why", "fine", "try=1", cwd=cwd)
    checks.that(code == 2 and "nothing to try" in err, f"nothing to repair: {err}")
    program.train(*SMALL, "steps=4", "precision=e4m3", cwd=cwd, run="stopped")
    os.remove(f"{cwd}/stopped/result.json")
    code, _, err = call("why", "stopped", "try=1", cwd=cwd)
    checks.that(code == 2 and "has ended" in err and "resume stopped" in err, f"stopped: {err}")
    going = program.start("train", *SMALL, "steps=100000", "precision=e4m3", "run.dir=going", cwd=cwd)
    while not os.path.exists(f"{cwd}/going/graph.json"):
        time.sleep(0.05)
    time.sleep(0.5)
    code, _, err = call("why", "going", "try=1", cwd=cwd)
    checks.that(code == 5 and "another process is training" in err, f"still going: {code} {err}")
    going.send_signal(signal.SIGKILL)
    going.wait()
    program.write_idx(f"{cwd}/idx")
    program.train("model=cnn-s", "data=idx:idx", "batch=16", "steps=4", "threads=1", "precision=e4m3", cwd=cwd,
                  run="gone")
    os.rename(f"{cwd}/idx", f"{cwd}/elsewhere")
    code, _, err = call("why", "gone", "try=1", cwd=cwd)
    checks.that(code == 2 and "idx" in err and "exit code 3" in err, f"data gone: {code} {err}")
    checks.that(not os.path.exists(f"{cwd}/gone-try1"), "no folder is left")
    checks.that(os.path.exists(f"{cwd}/gone/result.json"), "the run is whole")


# name: keys of the run, keys of its advice
RECORDED = {
    "updates of few digits are lost": (["precision=w=e4m3fn,act=fp16,grad=fp16,wgrad=fp16", "master=off", "steps=24"],
                                       ["master=on"]),
    "tiny ones of many digits, too": ([BY_WEIGHT.format("e8m12"), "master=off", "lr=1e-6", CONSTANT, "steps=24"],
                                      ["master=on"]),
    "large updates are kept": ([BY_WEIGHT.format("bf16"), "master=off", "lr=0.5", CONSTANT, "steps=24"], []),
    "sums stall": (["accumulator=fmac:e5m0", "steps=4"], ["accumulator=fmac8:1/6/9"]),
    "sums saturate": (["accumulator.rules=['conv2.forward: fmac:e2m1:bias=10']", "steps=4"], ["accumulator.rules="]),
    "sums saturated until all was zero": (["accumulator.rules=['conv2.forward: fmac:e2m1:bias=10']", "model.width=0.5",
                                           "data.limit=1000", "accumulator.count_every=20", "steps=300"],
                                          ["accumulator.rules="]),
    "short sums of few digits are kept": (["accumulator.rules=['fc.forward: fmac:e5m5']", "steps=4"], []),
}


def recorded(checks, cwd):
    """Masters and accumulators are advised for what was counted, not for what a format looks like."""
    for number, (name, (keys, advised)) in enumerate(RECORDED.items()):
        small = [word for word in SMALL if not any(key.startswith(word.split("=")[0] + "=") for key in keys)]
        program.train(*small, *keys, cwd=cwd, run=f"recorded{number}")
        options = why(cwd, f"recorded{number}")["advice"]["options"]
        checks.same([option["keys"] for option in options[:1]], [advised] if advised else [], name)


def own_formats(checks, cwd):
    """The run's own format with scales is told, last where it does not mend all, and can be trained."""
    for name, mends in (("e3m4", True), ("e2m3", False)):
        call("train", *SMALL, "steps=3", f"precision={name}", f"run.dir={name}", cwd=cwd)
        options = why(cwd, name)["advice"]["options"]
        scaled = [option for option in options if option["line"].count(f"{name}:scale=current") and
                  not option["line"].replace(f"{name}:scale=current", "").count("e4m3fn") and option["bits"] == 0]
        checks.same([option["repairs"] for option in scaled], [mends], f"{name}: {[o['line'] for o in options]}")
        checks.same([option["repairs"] for option in options], sorted((o["repairs"] for o in options), reverse=True),
                    f"{name}: what mends all comes first")
        _, out, _ = call("why", name, cwd=cwd)
        checks.same(out.count("; does not mend all\n"), [o["repairs"] for o in options].count(False), f"{name}: {out}")
    lines = [option["line"] for option in options]
    at = lines.index("precision=e2m3:scale=current") + 1
    code, out, err = call("why", "e2m3", f"try={at}", "--json", cwd=cwd)
    checks.same((code, json.loads(out)["line"]), (0, lines[at - 1]), f"one that does not mend all can be tried: {err}")


def prices(checks, cwd):
    """Advice says what it costs: the memory that a training with it plans; what costs nothing is among it."""
    run = [*SMALL, "steps=20", "precision=1/4/3", "scaler=none"]
    program.train(*run, cwd=cwd, run="run")
    advice, (_, out, _) = why(cwd, "run")["advice"], call("why", "run", cwd=cwd)
    lines = [option["line"] for option in advice["options"]]
    cheap = [n for n, line in enumerate(lines) if "scale=delayed" in line or line.startswith("scaler=dynamic")]
    checks.same(len(cheap), 2, f"a delayed scale, and a loss scale alone: {lines}")
    mib = 1024 * 1024
    for n, option in enumerate(advice["options"]):
        words = f"memory {option['planned_bytes'] / mib:.1f} MiB (now {advice['planned_bytes'] / mib:.1f})"
        checks.that(words in out, f"{words}: {out}")
        code, _, err = call("why", "run", f"try={n + 1}", cwd=cwd)
        with open(f"{cwd}/run-try{n + 1}/result.json") as file:
            checks.same((code, json.load(file)["ledger_bytes"]["total"]), (0, option["planned_bytes"]),
                        f"{option['line']}: as its training held: {err}")
        if n in cheap:
            checks.same(option["planned_bytes"], advice["planned_bytes"], f"{option['line']} costs nothing")
    with open(f"{cwd}/run/result.json") as file:
        checks.same(json.load(file)["ledger_bytes"]["total"], advice["planned_bytes"], "as it is")
    checks.that(max(o["planned_bytes"] for o in advice["options"]) > 1.5 * advice["planned_bytes"], f"{advice}")
    with open(f"{cwd}/run/progress.jsonl", "w"):
        pass  # the folder does not tell how many samples there were
    advice = why(cwd, "run")["advice"]
    checks.same({option["planned_bytes"] for option in advice["options"]}, {None}, "a price that is not known")


def other_repairs(checks, cwd):
    """What neither formats nor masters nor accumulators have a part in: the learning rate."""
    code, _, _ = call("train", *SMALL, "steps=40", "lr=1e6", "lr.schedule=constant", "run.dir=rate", cwd=cwd)
    advice = why(cwd, "rate")["advice"]
    checks.that(code == 4 and advice["options"] == [] and "learning rate" in advice["reason"],
                f"the rate is too large: {advice}")
    for precision in ("bf16", "fp32"):
        program.train(*SMALL, "steps=110", f"precision={precision}", "lr=1e-9", CONSTANT, cwd=cwd, run=precision)
        found = why(cwd, precision)
        checks.same((found["verdict"], found["advice"]["options"]), ("fine", []), f"{precision}: rounding did nothing")
        checks.that("not for rounding" in str(found["advice"]["reason"]), f"{precision}: {found['advice']}")
    program.train(*SMALL, "steps=110", "precision=fp16", cwd=cwd, run="learns")
    checks.same(why(cwd, "learns")["advice"]["reason"], None, "it learns")
    _, out, _ = call("why", "rate", cwd=cwd)
    checks.that(advice["reason"] in out and "To try" not in out, f"in words: {out}")


if __name__ == "__main__":
    program.main(repaired, tried, not_enough, refused, recorded, own_formats, prices, other_repairs)
