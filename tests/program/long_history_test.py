"""The page of a run reads its history line by line: its memory does not grow with that of the files."""
import os
import subprocess
import sys
import tempfile

import program
from program import TINY

MIB = 1 << 20
FILE_BYTES = 100 * MIB
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


if __name__ == "__main__":
    checks = program.Checks()
    with tempfile.TemporaryDirectory() as folder:
        report(checks, folder)
    sys.exit(checks.finish())
