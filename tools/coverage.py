#!/usr/bin/env python3
"""Line and branch coverage by room, of a build of the preset `coverage` in which tests have run.

usage: tools/coverage.py BUILD [--check]     one line per room; with --check, exit code 1 if a bar is missed
       tools/coverage.py BUILD PATH...       every line below src/PATH that never ran or has a branch never taken

A line counts once however many files include it: it is covered if it ran in one of them (kernels are compiled per
instruction set), and so is each of its branches, by their order on the line. Of a function that is always inlined, gcc
keeps a copy for each place, in which other branches are left: a line's copies count together, as two branches. All
branches that gcc leaves count, those that only a failed allocation or a full disk takes too. What a process counted that
a signal or _exit ended is lost."""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
LINES, BRANCHES = 90.0, 80.0  # percent, of every room but these
NOT_HELD = ("cli",)
BATCH = 40  # files of one call of gcov


def notes(build):
    """Notes of the objects of the rooms and of the program; tests, examples and what protoc-c writes are left out."""
    return sorted(str(path) for path in (Path(build) / "CMakeFiles").glob("halfulp-*.dir/src/**/*.gcno"))


def gcov(files):
    run = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *files],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in run.stderr.splitlines():
        if "cannot open data file" not in line:  # one that no process had loaded
            print(line, file=sys.stderr)
    return [json.loads(line) for line in run.stdout.splitlines() if line.strip()]


def name_below_source(path):
    """`room/file` of a path that a compiler wrote down, None for one from outside of src."""
    _, found, name = ("/" + path).rpartition("/src/")
    return name.split("/", 1)[1] if found and (SOURCE / name).is_file() else None


def add_object(lines, file):
    """Adds one object's lines of a file to {number: [runs, [runs of each branch]]}."""
    for line in file["lines"]:
        sums, branches = lines.setdefault(line["line_number"], [0, []]), line["branches"]
        is_inlined = "function_name" not in line
        sums[0] += line["count"]
        add_branches(sums[1], two_of(branches) if is_inlined else [branch["count"] for branch in branches])


def two_of(branches):
    """Runs of the copies of a line's branches, those that fall through and those that jump."""
    return [sum(branch["count"] for branch in branches if branch["fallthrough"] == falls)
            for falls in (True, False) if branches]


def add_branches(sums, more):
    sums.extend([0] * (len(more) - len(sums)))
    for i, count in enumerate(more):
        sums[i] += count


def measure(build):
    """{`room/file`: {number: [runs, [runs of each branch]]}}"""
    files = notes(build)
    if not files:
        sys.exit(f"coverage.py: no notes of gcov in {build}; cmake --preset coverage, build and run tests first")
    batches = [files[i:i + BATCH] for i in range(0, len(files), BATCH)]
    measured = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for documents in pool.map(gcov, batches):
            for file in (file for document in documents for file in document["files"]):
                name = name_below_source(file["file"])
                if name:
                    add_object(measured.setdefault(name, {}), file)
    return measured


def counts(lines):
    """(lines, covered lines, branches, covered branches)"""
    branches = [count for _, taken in lines.values() for count in taken]
    return (len(lines), sum(runs > 0 for runs, _ in lines.values()), len(branches),
            sum(count > 0 for count in branches))


def share(covered, of):
    return 100.0 * covered / of if of else 100.0


def row(name, sums, worst=""):
    lines, lines_run, branches, taken = sums
    print(f"{name:10} {lines:7,} {share(lines_run, lines):6.1f} % {branches:8,} {share(taken, branches):6.1f} %   {worst}")


def worst_of(files):
    """The three files with the most branches never taken."""
    missing = sorted(((counts(lines)[2] - counts(lines)[3], name.split("/", 1)[1]) for name, lines in files.items()),
                     reverse=True)
    return ", ".join(f"{name} {count}" for count, name in missing[:3] if count)


def print_rooms(measured):
    """Returns the bars that are missed."""
    missed = []
    rooms = sorted({name.split("/")[0] for name in measured})
    print(f"{'room':10} {'lines':>7} {'run':>8} {'branches':>8} {'taken':>8}   files with the most branches never taken")
    total = [0, 0, 0, 0]
    for room in rooms:
        files = {name: lines for name, lines in measured.items() if name.startswith(room + "/")}
        sums = [sum(column) for column in zip(*map(counts, files.values()))]
        row(room, sums, worst_of(files))
        if room in NOT_HELD:
            continue
        total = [a + b for a, b in zip(total, sums)]
        missed += bars_missed(room, sums)
    row("all", total, f"without {', '.join(NOT_HELD)}")
    return [*missed, *bars_missed("all", total)]


def bars_missed(name, sums):
    lines, branches = share(sums[1], sums[0]), share(sums[3], sums[2])
    if lines < LINES:
        yield f"{name}: {lines:.1f} % of the lines, bar {LINES:.0f} %"
    if branches < BRANCHES:
        yield f"{name}: {branches:.1f} % of the branches, bar {BRANCHES:.0f} %"


def print_missing(measured, path):
    names = [name for name in sorted(measured) if name == path or name.startswith(path.rstrip("/") + "/")]
    if not names:
        sys.exit(f"coverage.py: nothing that was compiled is src/{path}")
    for name in names:
        text = (SOURCE / name).read_text(encoding="utf-8").splitlines()
        for number, (runs, branches) in sorted(measured[name].items()):
            never = sum(count == 0 for count in branches)
            if runs == 0 or never:
                what = "never" if runs == 0 else f"{never} of {len(branches)}"
                print(f"{name}:{number}: {what:8} {text[number - 1].strip()}")


def main(words):
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    measured = measure(words[0])
    if words[1:] and words[1:] != ["--check"]:
        for path in words[1:]:
            print_missing(measured, path.removeprefix("src/"))
        return 0
    missed = print_rooms(measured)
    for line in missed:
        print(f"missed: {line}")
    return int(bool(missed) and words[1:] == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
