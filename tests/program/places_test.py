"""Run folders that are moved or removed while they train, and folders that may only be read."""
import json
import os
import shutil
import subprocess
import time

import program

KEYS = ["model=cnn-s", "model.width=0.25", "data=glyphs", "data.limit=96", "data.test_limit=16", "batch=32", "threads=1",
        "run.log_every=1"]


def begun(cwd, run, *more):
    """A training in the background that has done some steps."""
    process = subprocess.Popen([program.HALFULP, "train", *KEYS, "steps=100000", f"run.dir={run}", *more], cwd=cwd,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = f"{cwd}/{run}/metrics.csv"
    for _ in range(600):
        time.sleep(0.1)
        if os.path.exists(rows) and sum(1 for _ in open(rows)) > 4:
            return process
    raise SystemExit(f"no step in a minute: {process.communicate()}")


def moved(checks, cwd):
    """The state is saved where the folder is now, and goes on there to the bits of a run that nobody has moved."""
    process = begun(cwd, "run", "run.checkpoint_every=100000", "lr.schedule=constant")
    os.makedirs(f"{cwd}/other")
    os.rename(f"{cwd}/run", f"{cwd}/other/place")
    _, err = process.communicate(timeout=program.patience(60))
    last = err.strip().splitlines()[-1]
    checks.that(process.returncode == 3 and "run was moved to" in last and
                f"`halfulp resume {os.path.realpath(cwd)}/other/place` goes on" in last, f"exit {process.returncode}: {last}")
    checks.that(not os.path.exists(f"{cwd}/run"), "no second folder at the old place")
    found = sorted(program.checkpoints(cwd, "other/place"))
    if not checks.that(found, "a state is saved there"):
        return
    steps = found[-1] + 2
    with open(f"{cwd}/other/place/progress.jsonl") as file:
        end = json.loads(file.readlines()[-1])
    checks.same((end["event"], end["state"], end["step"]), ("end", "failed", found[-1]), "its last row")
    ours = program.resume("other/place", f"steps={steps}", cwd=cwd)
    theirs = program.train(*KEYS, f"steps={steps}", "lr.schedule=constant", "run.checkpoint_every=100000", cwd=cwd, run="still")
    checks.same(ours["weights_hash"], theirs["weights_hash"], "the same bits")
    checks.that(program.rows(cwd, "other/place") == program.rows(cwd, "still"), "the same rows")


def removed(checks, cwd):
    process = begun(cwd, "run")
    while os.path.exists(f"{cwd}/run"):  # files are made in it meanwhile
        shutil.rmtree(f"{cwd}/run", ignore_errors=True)
    _, err = process.communicate(timeout=program.patience(60))
    # A file of the folder goes before the folder itself: what fails in between names the file.
    last = err.strip().splitlines()[-1]
    checks.that(process.returncode == 3 and ("run was removed while the training ran" in last or ": run/" in last),
                f"exit {process.returncode}: {last}")
    checks.that(not os.path.exists(f"{cwd}/run"), "no second folder at its place")


def nobody():
    """Who may read everything here and write nothing."""
    os.setgid(65534)
    os.setuid(65534)


def only_read(checks, cwd):
    if os.getuid() != 0 or not os.access(os.path.dirname(program.HALFULP), os.X_OK):
        print("skipped: folders that others own: expected root")
        return
    program.train(*KEYS, "steps=3", cwd=cwd)
    os.remove(f"{cwd}/run/report.html")
    os.chmod(cwd, 0o755)
    copy = f"{cwd}/halfulp"  # the build folder may be closed to others
    shutil.copy(program.HALFULP, copy)
    before = program.tree_bytes(f"{cwd}/run")
    for words, part in ((["resume", "run", "steps=4"], "a copy can go on: cp -r run NEW, halfulp resume NEW"),
                        (["report", "run"], "out=FILE.html writes it elsewhere"),
                        (["export", "run"], "out=FILE.safetensors writes it elsewhere")):
        done = subprocess.run([copy, *words], cwd=cwd, preexec_fn=nobody, capture_output=True, text=True,
                              timeout=program.patience(60), check=False)
        checks.that(done.returncode == 5 and part in done.stderr, f"{words}: exit {done.returncode}: {done.stderr}")
    done = subprocess.run([copy, "eval", "run"], cwd=cwd, preexec_fn=nobody, capture_output=True, text=True,
                          timeout=program.patience(60), check=False)
    checks.that(done.returncode == 0, f"eval reads alone: {done.stderr}")
    checks.that(program.tree_bytes(f"{cwd}/run") == before, "nothing was written")
    os.chmod(f"{cwd}/run/checkpoint", 0o700)
    done = subprocess.run([copy, "eval", "run"], cwd=cwd, preexec_fn=nobody, capture_output=True, text=True,
                          timeout=program.patience(60), check=False)
    checks.that(done.returncode == 5 and "run/checkpoint: cannot open: Permission denied" in done.stderr,
                f"a folder that is closed is not an empty one: exit {done.returncode}: {done.stderr}")


program.main(moved, removed, only_read)
