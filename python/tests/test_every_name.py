"""Every public name, called with whatever there is: no argument ends the process.

The calls are made in processes of their own (every_name.py), so that one that dies is seen and
named. HALFULP_CALLS=100000 makes the long form; HALFULP_FOUND=FILE writes what became of it.
"""

import collections
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import halfulp as hu

CALLS = int(os.environ.get("HALFULP_CALLS", "700"))
FOUND = os.environ.get("HALFULP_FOUND")
PART = 2500  # calls of one process
SECONDS = 1800


def _how(code):
    """In words, how a process has ended."""
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _part(first, count, folder):
    """The tally of the calls that follow from a number."""
    folder.mkdir()
    script = Path(__file__).with_name("every_name.py")
    done = subprocess.run(
        [sys.executable, str(script), str(first), str(count)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        journal = folder / "calls"
        lines = journal.read_text(errors="replace").splitlines() if journal.exists() else []
        raise AssertionError(
            f"the process of part {first} ended {_how(done.returncode)} at call {len(lines)}, "
            f"{lines[-1] if lines else 'none'}\nafter {lines[-4:-1]}\n{done.stderr[-4000:]}"
        )
    return json.loads((folder / "tally.json").read_text())


def test_whatever_is_given(tmp_path):
    outcomes, names = collections.Counter(), collections.Counter()
    wrong, slowest, seconds, made = [], [0.0, ""], 0.0, 0
    parts = [min(PART, CALLS - at) for at in range(0, CALLS, PART)]
    for first, count in enumerate(parts):
        tally = _part(first, count, tmp_path / f"part{first}")
        outcomes.update(tally["outcomes"])
        names.update(tally["names"])
        wrong += tally["wrong"]
        slowest = max(slowest, tally["slowest"])
        seconds, made = seconds + tally["seconds"], made + tally["calls"]
    if FOUND:
        found = {
            "calls": made,
            "processes": len(parts),
            "names": len(names),
            "outcomes": dict(outcomes.most_common()),
            "slowest": slowest,
            "seconds": seconds,
        }
        Path(FOUND).write_text(json.dumps(found, indent=1))
    assert not wrong, "\n\n".join("\n".join(one) for one in wrong[:9])
    assert {name.partition(".")[0] for name in names} >= set(hu.__all__) - {"train", "compare", "assign"}
    assert made >= CALLS and slowest[0] < 20, slowest
