"""The page of a run, and why, read its history line by line: their memory does not grow with that of the files."""
import json
import os
import subprocess
import sys
import tempfile

import program
from program import TINY

MIB = 1 << 20
FILE_BYTES = 100 * MIB
WHY_MORE = 48 * MIB  # why keeps more rows where they are small, and the last ones alone
MORE_MOST = 24 * MIB  # than the page of a short run takes: rows of the metrics, and 512 of the numerics


def lengthen(path, lines):
    """The file's last line again and again, each of a later step."""
    with open(path, "rb") as file:
        last = file.read().splitlines()[-1]
    head, tail = last.split(b",", 1)
    first = int(head.split(b":")[1]) + 1
    with open(path, "ab") as file:
        for step in range(first, first + 10 * lines, 10):
            file.write(b'{"step":%d,%s\n' % (step, tail))


def peak(*words, cwd):
    """Bytes that the program has in memory at most. A child of a small process: its parent's peak would be its own."""
    child = subprocess.Popen([program.HALFULP, *words], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, err, usage.ru_maxrss * 1024


def report(checks, cwd):
    program.train(*TINY, "steps=3", "precision=hfp8", "run.log_every=1", cwd=cwd, run="run")
    code, err, short = peak("report", "run", cwd=cwd)
    checks.same((code, err), (0, b""), "report of a short run")
    path = f"{cwd}/run/numerics.jsonl"
    with open(path, "rb") as file:
        lines = FILE_BYTES // len(file.read().splitlines()[-1])
    lengthen(path, lines)
    lengthen(f"{cwd}/run/metrics.jsonl", lines)
    checks.that(os.path.getsize(path) >= FILE_BYTES, "the history is long")
    code, err, long = peak("report", "run", cwd=cwd)
    checks.same((code, err), (0, b""), "report of a long run")
    # Sanitizers keep for a while what was freed.
    checks.that(program.sanitizer() or long < short + MORE_MOST,
                f"{short / MIB:.1f} MiB of a short run, {long / MIB:.1f} MiB of a long one")
    with open(f"{cwd}/run/report.html") as file:
        page = file.read()
    for part in ("Losses over the steps", 'id="losses"', 'id="curves"'):
        checks.that(part in page, f"{part!r} in the page")
    checks.that(len(page) < 400 * 1024, f"{len(page)} bytes of the page")
    why(checks, cwd, short)


def why(checks, cwd, short):
    """What why tells of so many lines; stats reads them the same way."""
    code, err, long = peak("why", "run", cwd=cwd)
    checks.same((code, err), (0, b""), "why of a long run")
    checks.that(program.sanitizer() or long < short + WHY_MORE,
                f"{short / MIB:.1f} MiB of a page, {long / MIB:.1f} MiB of why")


def end_of_many(checks, cwd):
    """The last steps are told one by one, however many rows stand before them: the first death of the end is named."""
    words = ["model=cnn-s", "data=glyphs", "data.limit=32", "data.test_limit=8", "batch=16", "threads=1",
             "precision=fp16", "run.log_every=1"]
    program.train(*words, "steps=2", "run.checkpoint_every=2", cwd=cwd, run="run")
    call = program.call("resume", "run", "steps=9", "scaler=none", "precision.rules=['conv2.out: e5m2:bias=70']", cwd=cwd)
    checks.same(call[0], 4, f"it diverges: {call[2]}")
    before = json.loads(program.call("why", "run", "--json", cwd=cwd)[1])
    path = f"{cwd}/run/numerics.jsonl"
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    first = next(k for k, line in enumerate(lines) if b'"tensors"' in line)
    with open(path, "wb") as file:  # as many rows of the first step before the others
        file.writelines(lines[:first] + [lines[first]] * 9000 + lines[first + 1:])
    after = json.loads(program.call("why", "run", "--json", cwd=cwd)[1])
    for key in ("tensor", "step", "kind", "role", "elements", "overflow", "inputs"):
        checks.same(after["death"][key], before["death"][key], f"of many rows: {key}")
    checks.same((after["verdict"], after["skipped_steps"], after["death"]["tensor"]), ("diverged", 1, "conv2.out"), "it is told")


if __name__ == "__main__":
    checks = program.Checks()
    with tempfile.TemporaryDirectory() as folder:
        end_of_many(checks, folder)
    with tempfile.TemporaryDirectory() as folder:
        report(checks, folder)
    sys.exit(checks.finish())
