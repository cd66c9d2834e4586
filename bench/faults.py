#!/usr/bin/env python3
"""Kills and stops random processes of trainings at random moments, and resumes what is left.

usage: bench/faults.py [KILLS STOPS [SEED]]     50 20 1 unless said; needs Open MPI

For each fault: three processes train; one of them gets SIGKILL or SIGSTOP. All others must end
within the deadline with exit code 6 and one line that says who, at which step, in which layer and
phase; the checkpoint that is left must resume to the weights of an undisturbed training.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "program"))
import processes_test as processes  # noqa: E402
import program  # noqa: E402

PROCESSES, TIMEOUT = 3, 2.0
# mpirun gives processes a second between SIGTERM and SIGKILL unless told otherwise.
GRACE = ["--mca", "odls_base_sigkill_timeout", "10"]
# Behind a reduction all tell each other what they counted, and before a checkpoint which weights
# they have: no layer is on its way then.
LINE = re.compile(r"peer lost: rank \d+, .*step \d+(, (layer \S+|gather|collect)|: ).*")


def job_words(run):
    """Every process says with which code it ended: mpirun tells of one alone."""
    inner = " ".join([f"'{program.HALFULP}'", "train", *(f"'{key}'" for key in processes.ENDLESS),
                      "steps=1000000", "run.checkpoint_every=1", "run.keep=3",
                      f"comm.timeout={TIMEOUT}", f"run.dir={run}"])
    shell = f"trap '' TERM; {inner}; echo \"ended $OMPI_COMM_WORLD_RANK $?\" >> {run}.codes"
    return [processes.MPIRUN, *processes.FLAGS, *GRACE, "-np", str(PROCESSES), "sh", "-c", shell]


def descendants(parent):
    """Processes of the program below a process, by rank."""
    found, parents = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                parents[int(pid)] = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    for pid in parents:
        line = pid
        while line in parents and line != parent:
            line = parents[line]
        if line != parent:
            continue
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", file.read())
            is_program = os.path.samefile(f"/proc/{pid}/exe", program.HALFULP)
        except OSError:
            continue
        if rank and is_program:
            found[int(rank.group(1))] = pid
    return found


def strike(cwd, run, sign, draw):
    """(rank struck, exit codes by rank, words, seconds until all others had ended)"""
    with open(f"{cwd}/{run}.err", "w+", encoding="utf-8") as err:
        job = subprocess.Popen(job_words(run), cwd=cwd, env=processes.ENVIRONMENT,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        while job.poll() is None and not program_has_begun(cwd, run):
            time.sleep(0.02)
        time.sleep(draw.uniform(0.0, 1.5))
        pids = descendants(job.pid)
        if len(pids) < PROCESSES:
            job.kill()
            err.seek(0)
            sys.exit(f"{run}: found {len(pids)} of {PROCESSES} processes before the fault: {err.read()}")
        rank = draw.choice(sorted(pids))
        os.kill(pids[rank], sign)
        begin = time.time()
        while time.time() - begin < 30 and len(codes_of(cwd, run) .keys() - {rank}) < PROCESSES - 1:
            time.sleep(0.02)
        seconds = time.time() - begin
        for pid in pids.values():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait(timeout=60)
        err.seek(0)
        return rank, codes_of(cwd, run), err.read(), seconds


def program_has_begun(cwd, run):
    folder = f"{cwd}/{run}/checkpoint"
    return os.path.isdir(folder) and any(name.endswith(".hulp") for name in os.listdir(folder))


def codes_of(cwd, run):
    try:
        with open(f"{cwd}/{run}.codes", encoding="utf-8") as file:
            return {int(line.split()[1]): int(line.split()[2]) for line in file}
    except OSError:
        return {}


def resumed(cwd, run, whole):
    """True if the run goes on to the bits of an undisturbed one."""
    end = max(program.checkpoints(cwd, run)) + 2
    code, out, err = processes.mpirun(PROCESSES, "resume", run, f"steps={end}", "--json", cwd=cwd)
    if code != 0:
        print(err)
        return False
    if end not in whole:
        whole[end] = program.train(*processes.ENDLESS, f"workers={PROCESSES}", f"steps={end}",
                                   cwd=cwd, run=f"whole{end}")["weights_hash"]
    return json.loads(out)["weights_hash"] == whole[end]


def main():
    kills, stops = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (50, 20)
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    good, slowest, whole = 0, 0.0, {}
    with tempfile.TemporaryDirectory() as cwd:
        for i, sign in enumerate([signal.SIGKILL] * kills + [signal.SIGSTOP] * stops):
            run = f"run{i}"
            rank, codes, err, seconds = strike(cwd, run, sign, draw)
            others = {r: c for r, c in codes.items() if r != rank}
            told = len(LINE.findall(err)) >= PROCESSES - 1
            ended = len(others) == PROCESSES - 1 and set(others.values()) == {6}
            same = resumed(cwd, run, whole)
            good += told and ended and same
            slowest = max(slowest, seconds)
            if not (told and ended and same):
                print(f"{run}: {sign.name} of rank {rank}: codes {codes}, told {told}, "
                      f"same bits {same}\n{err}", flush=True)
    total = kills + stops
    print(f"{good} of {total} faults as promised; slowest end {slowest:.1f} s after the fault, "
          f"deadline {TIMEOUT} s")
    return 0 if good == total else 1


if __name__ == "__main__":
    raise SystemExit(main())
