"""Workers in processes of MPI: the bits of one process, resumes, refusals, and processes that die
or stop. Skipped where there is no mpirun."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import program

MPIRUN = next((name for name in ("mpirun.openmpi", "mpirun") if shutil.which(name)), None)
BESIDE = os.path.join(os.path.dirname(program.HALFULP), "halfulp-openmpi.so")
FLAGS = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"]
# An MPI keeps what it has at the end, which a sanitizer would take for leaks.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   ASAN_OPTIONS=os.environ["ASAN_OPTIONS"] + ":detect_leaks=0")
KEYS = ["model=cnn-s", "model.width=0.5", "data=glyphs", "data.limit=150", "data.test_limit=16",
        "batch=17", "run.log_every=1", "run.quiet=on", "threads=1"]
# No schedule that depends on the length of the training.
ENDLESS = [*KEYS, "comm.format=e5m2", "scaling=aps", "lr.schedule=constant", "lr.warmup=0"]
SKIPPED = 77

CASES = {
    "aps in groups": ["comm.format=e5m2", "scaling=aps", "schedule=hier:2"],
    "promotion": ["precision=uniform+promote", "precision.promote_at=0.002",
                  "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)", "schedule=halving",
                  "comm.format=1/6/9", "scaling=aps"],
    "delayed scales, a format by epoch, error feedback":
        ["precision=e4m3:scale=delayed", "comm.format=0: e4m3, 1: e3m0", "scaling=aps2",
         "comm.error_feedback=on", "comm.rounding=sr", "comm.bucket=0.001"],
    "evaluations of one process are followed by all":
        ["data.limit=50", "lr.schedule=plateau", "lr.patience=1", "lr.threshold=1", "lr.factor=0.5"],
    "patience of all processes": ["data.limit=50", "stop.patience=1", "stop.min_delta=100"],
    "overflows on the wire": ["comm.format=e4m3", "scaling=constant:12", "scaler=dynamic",
                              "scaler.init=4096", "optimizer.accumulate=2"],
}


def words(count, *keys):
    return [MPIRUN, *FLAGS, "-np", str(count), program.HALFULP, *program.last_of_each(keys)]


def mpirun(count, *keys, cwd, timeout=program.patience(240)):
    done = subprocess.run(words(count, *keys), cwd=cwd, env=ENVIRONMENT, timeout=timeout,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


def trained(checks, what, result):
    code, out, err = result
    if not checks.that(code == 0, f"{what}: exit {code}: {err}"):
        return {}
    return json.loads(out)


def reductions(checks, cwd):
    """comm between processes gives what it gives in one, to the last digit."""
    words = ["comm", "elements=500", "schedule=pairwise,hier:2,ring", "format=e5m2,e3m0",
             "rounding=sr", "repeat=2", "--json"]
    for count in (2, 4):
        one = program.call(*words, f"workers={count}", cwd=cwd)
        many = mpirun(count, *words, cwd=cwd)
        checks.same(many[:2], one[:2], f"comm in {count} processes ({many[2]})")
        checks.same(many[0], 0, f"comm in {count} processes: exit code")
    code, _, err = mpirun(2, *words, "workers=3", cwd=cwd)
    checks.that(code == 2 and "3 workers in 2 processes" in err, f"comm: exit {code}: {err}")


def equal_bits(checks, cwd):
    for name, keys in CASES.items():
        for count in (2, 4):
            run = f"{name.split()[0]}{count}"
            one = program.train(*KEYS, *keys, f"workers={count}", "steps=14", cwd=cwd, run=run)
            made = trained(checks, f"{name}, {count} processes",
                           mpirun(count, "train", *KEYS, *keys, "steps=14", f"run.dir={run}m",
                                  "--json", cwd=cwd))
            for key in ("weights_hash", "train_loss", "test_accuracy", "skipped_steps", "promoted"):
                checks.same(made.get(key), one[key], f"{name}, {count} processes: {key}")
            checks.that(program.rows(cwd, f"{run}m") == program.rows(cwd, run),
                        f"{name}, {count} processes: rows of metrics.csv")
            if "overflows" in name:
                checks.that(one["skipped_steps"] > 0, f"{name}: {one['skipped_steps']} skipped")


def told(checks, cwd):
    """Rounded tensors of all processes; histograms, and what is not rounded, of worker 0's samples,
    as docs/reference/run-folder.md says."""
    keys = [*KEYS, "batch=16", "steps=2", "precision=fp16", "precision.rules=conv1.*: fp32",
            "comm.format=e4m3", "scaling=constant:12", "scaler=dynamic", "run.histogram_every=1"]
    program.train(*keys, "workers=2", cwd=cwd, run="one")
    trained(checks, "two", mpirun(2, "train", *keys, "run.dir=two", "--json", cwd=cwd))
    for name in ("numerics", "histograms"):
        rows = []
        for run in ("one", "two"):
            with open(f"{cwd}/{run}/{name}.jsonl") as file:
                lines = [json.loads(line) for line in file]
            rows.append([line for line in lines if "tensors" in line])
        checks.that(rows[0] and len(rows[0]) == len(rows[1]), f"rows of {name}")
        for whole, part in zip(*rows):
            for ours, theirs in zip(whole["tensors"], part["tensors"]):
                where = f"{name}, step {whole['step']}: {ours[0]}"
                is_rounded = name == "numerics" and ours[1] != "float32"
                is_shared = ours[0] in ("label", "input") or ".out" in ours[0]
                if is_rounded:
                    checks.same(theirs, ours, where)
                elif is_shared:
                    elements = 2 if name == "numerics" else 1
                    checks.same(2 * theirs[elements], ours[elements], where)
    checks.that(rows[0][0]["tensors"], "histograms of tensors")


def resumed(checks, cwd):
    keys = [*KEYS, *CASES["delayed scales, a format by epoch, error feedback"], "run.keep=20",
            "run.checkpoint_every=1", "comm.transport=mpi"]
    whole = trained(checks, "the whole", mpirun(2, "train", *keys, "steps=14", "run.dir=whole",
                                                "--json", cwd=cwd))
    program.copy_at(cwd, "whole", "half", 11)
    rest = trained(checks, "the rest", mpirun(2, "resume", "half", "threads=2", "--json", cwd=cwd))
    checks.same(rest.get("weights_hash"), whole.get("weights_hash"), "resumed by processes")
    checks.that(program.rows(cwd, "half") == program.rows(cwd, "whole"), "its rows of metrics.csv")
    code, out, err = program.call("resume", "half", "steps=15", "--json", cwd=cwd)
    checks.that(code == 0, f"a run of processes goes on in one: {err}")


def said(err):
    """What the program itself said: mpirun has words of its own."""
    return [line for line in err.splitlines() if line.startswith("halfulp: ")]


def apart(keys, others, cwd):
    """Two processes, the second one with other keys."""
    command = [*words(1, "train", *KEYS, "comm.format=e5m2", "steps=4", *keys), ":", "-np", "1",
               program.HALFULP, *program.last_of_each(["train", *KEYS, "comm.format=e5m2", "steps=4", *others])]
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, timeout=program.patience(120), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stderr


def refused(checks, cwd):
    """What one process alone would say, in one line, at once, whoever finds it."""
    trained(checks, "a run", mpirun(2, "train", *KEYS, "steps=2", "run.dir=there", "--json", cwd=cwd))
    for keys, code, part in [(["workers=3"], 2, "3 workers in 2 processes"),
                             (["data=cifar10:nowhere"], 3, "nowhere"),
                             (["comm.format=e9m9"], 2, "e9m9"),
                             (["schedule=rnig"], 2, "rnig"),
                             (["run.dir=there"], 2, "there holds a run already"),
                             (["run.dir=/proc/nope"], 5, "/proc/nope"),
                             (["batch=1"], 2, "expected at most the batch of 1")]:
        begun = time.time()
        found, out, err = mpirun(2, "train", *KEYS, "steps=2", *keys, "comm.timeout=60", cwd=cwd)
        checks.same((found, out), (code, ""), f"{keys}: exit code and stdout ({err})")
        lines = said(err)
        checks.that(len(lines) == 1 and part in lines[0], f"{keys}: {lines}")
        checks.that(time.time() - begun < 30, f"{keys}: nobody waits for the deadline")
    for keys, others, part in [
            (["run.dir=b"], ["run.dir=b", "lr=0.5"], "worker 1 has 'lr.base 0.5'"),
            (["run.dir=c", "run.checkpoint_every=2"], ["run.dir=c", "run.checkpoint_every=3"],
             "worker 1 has 'run.checkpoint_every 3'"),
            (["run.dir=d", "comm.bucket=25"], ["run.dir=d", "comm.bucket=0"], "comm.bucket"),
            (["run.dir=e"], ["run.dir=e", "data=cifar10:nowhere"], "worker 1: ")]:
        code, err = apart(keys, others, cwd)
        checks.that(code == (3 if "nowhere" in others[-1] else 2) and part in err,
                    f"{others}: exit {code}: {err}")
        checks.same(len(said(err)), 1, f"{others}: {err}")
    one_is_missing = [*words(1, "train", *KEYS, "run.dir=f"), ":", "-np", "1", "sh", "-c",
                      "sleep 1; exit 3"]
    done = subprocess.run(one_is_missing, cwd=cwd, env=ENVIRONMENT, timeout=program.patience(120), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    checks.that("the processes of the job did not all start" in done.stderr,
                f"a process that ends before MPI has started: {done.stderr}")
    code, _, err = program.call("train", *KEYS, "comm.transport=mpi", "workers=2", cwd=cwd)
    checks.that(code == 2 and "mpirun" in err, f"no launcher: exit {code}: {err}")
    code, _, err = mpirun(2, "train", *KEYS, "comm.transport=emulated", "steps=2", cwd=cwd)
    checks.that(code == 2 and "found 2 processes" in err, f"emulated twice: {code} {err}")
    done = subprocess.run([program.HALFULP, "train", *KEYS, "steps=2"], cwd=cwd, timeout=program.patience(120),
                          env=dict(ENVIRONMENT, OMPI_COMM_WORLD_SIZE="4"), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    checks.that(done.returncode == 2 and "started 4 processes, but openmpi joins 1" in done.stderr,
                f"another launcher: {done.returncode}: {done.stderr}")
    code, out, err = mpirun(2, "eval", "there", cwd=cwd)
    checks.that((code, out) == (2, "") and "halfulp eval works alone" in err, f"eval: {code} {err}")


def diverged(checks, cwd):
    """Only worker 0 keeps running statistics, and all end when they overflow."""
    keys = [*KEYS, "comm.format=e5m2", "scaling=aps", "lr=1e6", "lr.schedule=constant",
            "lr.warmup=0", "steps=4"]
    for count in (2, 3):
        code, _, one = program.call("train", *keys, f"workers={count}", f"run.dir=one{count}",
                                    cwd=cwd)
        checks.that(code == 4 and "running_var after the update" in one, f"{code}: {one}")
        code, _, many = mpirun(count, "train", *keys, f"run.dir=many{count}", "comm.timeout=60",
                               cwd=cwd)
        checks.same((code, said(many)), (4, said(one)), "the same end in processes")
        checks.that(program.rows(cwd, f"many{count}") == program.rows(cwd, f"one{count}"),
                    "rows of metrics.csv")


def alone(checks, cwd):
    """A launcher that starts one process, and trainings that a process starts."""
    keys = [*KEYS, "steps=3", "workers=2", "comm.format=e5m2"]
    one = program.train(*keys, cwd=cwd, run="one")
    made = trained(checks, "one process", mpirun(1, "train", *keys, "run.dir=made", "--json", cwd=cwd))
    checks.same(made.get("weights_hash"), one["weights_hash"], "mpirun -np 1")
    code, out, err = mpirun(1, "compare", *KEYS, "steps=2", "precision=fp32,hfp8", "--json", cwd=cwd)
    checks.that(code == 0 and len(json.loads(out)["rows"]) == 2, f"compare: {code} {err}")


def children(parent):
    """Processes below mpirun by their rank."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) != parent:
                    continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", file.read())
        except OSError:
            continue
        if rank:
            found[int(rank.group(1))] = int(pid)
    return found


def attacked(cwd, run, rank, sign, seconds):
    """Exit code and words of a job whose rank gets a signal so many seconds after its first checkpoint."""
    job = subprocess.Popen(words(3, "train", *ENDLESS, "steps=100000", "run.checkpoint_every=1", "run.keep=3", "comm.timeout=8",
                                 f"run.dir={run}"),
                           cwd=cwd, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 60
    while time.time() < deadline and not glob.glob(f"{cwd}/{run}/checkpoint/step-*.hulp"):
        time.sleep(0.05)
    time.sleep(seconds)
    pids = children(job.pid)
    os.kill(pids[rank], sign)
    err = job.communicate(timeout=program.patience(60))[1]
    for pid in pids.values():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return job.returncode, err


def faults(checks, cwd):
    for i, (rank, sign) in enumerate(((1, signal.SIGSTOP), (2, signal.SIGKILL))):
        run = f"attacked{i}"
        code, err = attacked(cwd, run, rank, sign, 0.3 * i)
        if sign == signal.SIGSTOP:
            checks.same(code, 6, f"a stopped process: exit code ({err})")
        else:  # mpirun's own code for a killed process
            checks.that(code in (6, 137), f"a killed process: exit code {code} ({err})")
        checks.that("step" in err and ("worker" in err or "rank" in err),
                    f"the others say who, when and where: {err}")
        steps = sorted(program.checkpoints(cwd, run))
        checks.that(bool(steps), "a checkpoint is left")
        end = steps[-1] + 3
        rest = trained(checks, "the run goes on",
                       mpirun(3, "resume", run, f"steps={end}", "--json", cwd=cwd))
        whole = program.train(*ENDLESS, "workers=3", f"steps={end}",
                              cwd=cwd, run=f"whole{i}")
        checks.same(rest.get("weights_hash"), whole["weights_hash"], "to the undisturbed bits")


def main():
    if not MPIRUN or not os.path.exists(BESIDE):
        print("skipped: no Open MPI here")
        return SKIPPED
    checks = program.Checks()
    for test in (reductions, equal_bits, told, resumed, refused, diverged, alone, faults):
        with tempfile.TemporaryDirectory() as cwd:
            test(checks, cwd)
    return checks.finish()


if __name__ == "__main__":
    raise SystemExit(main())
