"""docs/start/first-study.md: every command is run in its order, every answer compared.

usage: first_study_test.py            compares
       first_study_test.py --write    puts the answers of this program into the page, shortened as they were

A line of the page that is `...` stands for any lines. Seconds, rates and the memory of the process are of a machine:
they are masked before lines are compared.
"""
import os
import re
import subprocess
import sys
import tempfile

import program

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "start", "first-study.md")
MASKS = ((r"[\d.,]+ (images/s|samples/s)", r"N \1"), (r"\d+:\d\d (left|h)", r"T \1"), (r"\b[\d.]+ (s|min)\b", r"N \1"),
         (r"((?: [\d.]+ MiB){2}) [\d.]+ MiB \d+ ", r"\1 N MiB N "), (r"-{2,}", "--"), (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?", "DATE"))


def masked(line):
    line = " ".join(line.split())
    for pattern, word in MASKS:
        line = re.sub(pattern, word, line)
    return line


def blocks():
    """(number of the first line of its answer, the command, the answer) of every command, and the Python file."""
    with open(PAGE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    found, script, i = [], [], 0
    while i < len(lines):
        if lines[i].startswith("```python"):
            end = lines.index("```", i)
            script, i = lines[i + 1:end], end
        elif lines[i].startswith("    $ "):
            end = i + 1
            while end < len(lines) and (lines[end].startswith("    ") or
                                        (not lines[end] and lines[end + 1].startswith("    ") and
                                         not lines[end + 1].startswith("    $ "))):
                end += 1
            found.append((i + 1, lines[i][6:], [line[4:] for line in lines[i + 1:end]]))
            i = end - 1
        i += 1
    return lines, found, "\n".join(script) + "\n"


def matches(shown, answer):
    """Whether the lines of the page are those of the answer, `...` being any of them; else the first that is not there."""
    shown = [masked(line) for line in shown if line.strip()]
    answer = [masked(line) for line in answer if line.strip()]
    place, skips = 0, False
    for line in shown:
        if line == "...":
            skips = True
            continue
        if skips and line in answer[place:]:
            place = answer.index(line, place)
        if place >= len(answer) or answer[place] != line:
            return f"the page says {line!r}, the program {answer[place:place + 1]}"
        place, skips = place + 1, False
    return "" if skips or place == len(answer) else f"the program goes on with {answer[place:place + 2]}"


def has_torch():
    return subprocess.run(["python3", "-c", "import torch, safetensors"], capture_output=True, env=environment(),
                          check=False).returncode == 0


def environment():
    """The program and, where it has torch, the system's Python come first."""
    path = [os.path.dirname(program.HALFULP)]
    if os.path.exists("/usr/bin/python3"):
        path.append("/usr/bin")
    return {**os.environ, "PATH": ":".join([*path, os.environ["PATH"]]), "NO_COLOR": "1"}


def answer_of(command, cwd):
    done = subprocess.run(["bash", "-c", command], cwd=cwd, env=environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    return done.returncode, done.stdout.rstrip("\n").split("\n")


def shortened(shown, answer):
    """The answer with the gaps of what is shown: a line before or behind `...` keeps its place if it is still there."""
    if "..." not in shown or shown == ["..."]:
        return answer
    kept, place = [], 0
    for i, line in enumerate(shown):
        if line == "...":
            after = next((masked(l) for l in shown[i + 1:] if l.strip()), None)
            rest = [masked(l) for l in answer[place:]]
            place = place + rest.index(after) if after in rest else len(answer)
            kept.append("...")
        elif place < len(answer):
            kept.append(answer[place])
            place += 1
    return kept + answer[place:]


def main():
    checks = program.Checks()
    writes = "--write" in sys.argv
    lines, found, script = blocks()
    made = []
    with tempfile.TemporaryDirectory() as cwd:
        with open(f"{cwd}/weights.py", "w", encoding="utf-8") as file:
            file.write(script)
        for place, command, shown in found:
            if command.startswith("python3") and not has_torch():
                print(f"skipped, for want of torch or safetensors: {command}")
                continue
            code, answer = answer_of(command, cwd)
            checks.that(code == (4 if "run.dir=first" in command else 0), f"{command}: exit code {code}")
            if writes:
                made.append((place, len(shown), shortened(shown, answer)))
                continue
            why = matches(shown, answer)
            checks.that(not why, f"{command}: {why}")
    checks.that(len(found) >= 9, f"{len(found)} commands in the page")
    for place, count, answer in reversed(made):
        lines[place:place + count] = [f"    {line}".rstrip() for line in answer]
    if writes:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    return checks.finish()


sys.exit(main())
