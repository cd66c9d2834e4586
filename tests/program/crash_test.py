"""kill -9 and Ctrl-C at any moment: no unreadable checkpoint, and the bits and histories of an undisturbed run. With the
word `exhaustive` many kills, without it some."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import program

KILLS = 200 if "exhaustive" in sys.argv else 20
KEYS = ["model=cnn-s", "data=glyphs", "data.limit=128", "data.test_limit=16", "batch=32",
        "run.log_every=1", "run.checkpoint_every=1", "run.histogram_every=4", "threads=1", "precision=fp16", "run.quiet=on"]


def complete(checks, cwd, what):
    """The histories of the run that was disturbed are those of the whole one."""
    checks.that(program.rows(cwd, "run") == program.rows(cwd, "whole"), f"{what}: rows of metrics.csv")
    for name in ("numerics.jsonl", "histograms.jsonl"):
        with open(f"{cwd}/run/{name}", "rb") as found, open(f"{cwd}/whole/{name}", "rb") as expected:
            checks.that(found.read() == expected.read(), f"{what}: {name}")


def sound(checks, cwd, run, what):
    """Every file under a checkpoint's own name can be read; half-written ones have other names."""
    for step in sorted(program.checkpoints(cwd, run)):
        copy = f"look-{step}"
        os.makedirs(f"{cwd}/{copy}/checkpoint", exist_ok=True)
        name = os.path.basename(program.checkpoints(cwd, run)[step])
        for file in ("config.resolved.yaml", "data.txt", f"checkpoint/{name}"):
            with open(f"{cwd}/{run}/{file}", "rb") as source, open(f"{cwd}/{copy}/{file}", "wb") as to:
                to.write(source.read())
        code, out, err = program.call("eval", copy, "--json", cwd=cwd)
        checks.that(code == 0 and json.loads(out)["step"] == step and not err,
                    f"{what}: checkpoint of step {step}: exit {code}: {err}")
        os.remove(f"{cwd}/{copy}/checkpoint/{name}")


def one_life(cwd, keys, seconds):
    """Trains or resumes for so long; True if it came to its end."""
    started = os.path.exists(f"{cwd}/run/config.resolved.yaml")
    words = ["resume", "run"] if started else ["train", *keys, "run.dir=run"]
    process = program.start(*words, cwd=cwd)
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False


def kills(checks, cwd):
    draw = random.Random(5)
    keys = [*KEYS, "steps=60"]
    begin = time.monotonic()
    whole = program.train(*keys, cwd=cwd, run="whole")
    seconds = time.monotonic() - begin
    killed = finished = 0
    while killed < KILLS:
        # Long enough now and then for progress, short enough for kills in start-up and saving.
        if one_life(cwd, keys, draw.uniform(0.0, 0.25 * seconds)):
            finished += 1
            made = program.resume("run", cwd=cwd)
            checks.same(made["weights_hash"], whole["weights_hash"], "killed run: weights hash")
            complete(checks, cwd, "killed run")
            os.rename(f"{cwd}/run", f"{cwd}/run-{finished}")
            continue
        killed += 1
        if killed % 10 == 0 and os.path.isdir(f"{cwd}/run/checkpoint"):
            sound(checks, cwd, "run", f"kill {killed}")
    if os.path.exists(f"{cwd}/run/config.resolved.yaml"):
        made = program.resume("run", cwd=cwd)
        finished += 1
        checks.same(made["weights_hash"], whole["weights_hash"], "killed run: weights hash")
        complete(checks, cwd, "killed run")
        left = [name for name in os.listdir(f"{cwd}/run/checkpoint") if not name.endswith(".hulp")]
        checks.same(left, [], "killed run: files left over")
    checks.that(finished > 0, "the killed run comes to its end")
    print(f"{killed} kills, {finished} runs finished", flush=True)


def wait_for_step(cwd, run, step, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.path.isdir(f"{cwd}/{run}/checkpoint") and max(program.checkpoints(cwd, run), default=0) >= step:
            return True
        time.sleep(0.005)
    return False


def interrupts(checks, cwd):
    keys = [*(key for key in KEYS if "checkpoint_every" not in key), "steps=40", "run.checkpoint_every=5"]
    whole = program.train(*keys, cwd=cwd, run="whole")
    for number, sign in enumerate((signal.SIGINT, signal.SIGTERM)):
        run = f"run{number}"
        process = subprocess.Popen([program.HALFULP, "train", *keys, f"run.dir={run}", "--json"],
                                   cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        checks.that(wait_for_step(cwd, run, 5), f"{sign.name}: a first checkpoint")
        process.send_signal(sign)
        out, err = process.communicate(timeout=program.patience(60))
        checks.same(process.returncode, 130, f"{sign.name}: exit code")
        checks.same(out, "", f"{sign.name}: nothing on stdout")
        checks.that(re.search(r"interrupted: after \d+ steps", err) and f"resume {run}" in err,
                    f"{sign.name}: message: {err!r}")
        saved = max(program.checkpoints(cwd, run))
        checks.that(f"after {saved} steps;" in err, f"{sign.name}: saved step {saved}: {err!r}")
        checks.that(5 <= saved < 40, f"{sign.name}: saved step {saved}")
        checks.same(program.resume(run, cwd=cwd)["weights_hash"], whole["weights_hash"],
                    f"{sign.name}: weights hash after resume")
        checks.that(program.rows(cwd, run) == program.rows(cwd, "whole"),
                    f"{sign.name}: rows of metrics.csv")


def second_interrupt(checks, cwd):
    """A step of some seconds: the first Ctrl-C waits for its end, the second does not."""
    keys = ["model=resnet20", "data=glyphs", "batch=1024", "threads=1", "steps=3",
            "data.test_limit=16", "run.dir=run"]
    process = subprocess.Popen([program.HALFULP, "train", *keys], cwd=cwd, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not os.path.exists(f"{cwd}/run/numerics.jsonl") and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    checks.same(process.poll(), None, "the first Ctrl-C waits for the end of the step")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=program.patience(60))
    checks.same(process.returncode, 130, "second Ctrl-C: exit code")
    saved = program.checkpoints(cwd, "run") if os.path.isdir(f"{cwd}/run/checkpoint") else {}
    checks.same(saved, {}, "second Ctrl-C: at once, nothing is saved any more")
    checks.that("once more" in err, f"first Ctrl-C: message {err!r}")


program.main(kills, interrupts, second_interrupt)
