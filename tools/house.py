#!/usr/bin/env python3
"""Prints the figures of the house, each with the bar it is held to, and what misses it.

usage: tools/house.py [--check]     with --check, exit code 1 if a bar is missed

docs/explanation/architecture/index.md says what the house is; tests/program/layers_test.py holds its walls.
"""
import os
import re
import statistics
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("HALFULP_SOURCE", Path(__file__).resolve().parents[1]))

# The rooms of each wing; a wing sees those before it.
WINGS = {
    "number": ["base", "format", "kernel", "tensor", "product"],
    "data": ["data", "media", "store"],
    "learn": ["op", "comm", "graph", "engine", "precision", "task", "planner", "model", "train"],
    "study": ["config", "render", "runlog", "predict", "settings", "session", "diagnose", "report", "sweep"],
    "program": ["cli", "bench", "help"],
}
WING = {room: wing for wing, rooms in WINGS.items() for room in rooms}

# From the top; rooms on one line do not see each other.
STOREYS = [
    ["cli"],
    ["sweep", "bench", "help"],
    ["session", "report", "diagnose"],
    ["settings"],
    ["runlog", "predict"],
    ["train"],
    ["planner", "model"],
    ["engine", "precision", "task"],
    ["graph"],
    ["op", "comm", "store"],
    ["product", "tensor", "data", "config"],
    ["media"],
    ["kernel"],
    ["format", "render"],
    ["base"],
]
HEIGHT = {room: -i for i, rooms in enumerate(STOREYS) for room in rooms}

# Public headers whose name is not their room's.
PUBLIC = {"api": "base", "status": "base", "random": "base", "round": "kernel", "gemm": "kernel", "histogram": "kernel",
          "quantize": "tensor", "allreduce": "comm", "plan": "settings", "train": "session", "why": "diagnose",
          "halfulp": "cli"}

CODE = (".c", ".h", ".inc", ".list")
# One body compiled for an instruction set.
STUB = re.compile(r"(^|[/_])(variant|avx2|avx512)\.c$")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
                             re.DOTALL)
# From the first line of a function's head, at column 0, to the brace at column 0 that ends it.
FUNCTION = re.compile(r"^[A-Za-z_](?:(?!\n\n)[^;{}])*\)[^;{}()=]*\{\n.*?^\}",
                      re.MULTILINE | re.DOTALL)


def texts(folder, endings=CODE):
    """(name below the folder, text) of the files with these endings."""
    for path in sorted((SOURCE / folder).rglob("*")):
        if path.suffix in endings:
            yield path.relative_to(SOURCE / folder).as_posix(), path.read_text(encoding="utf-8")


def sources():
    """Of src/, named room/file; src/WING/room is where the room lies."""
    return below_wings(CODE)


def below_wings(endings):
    for name, text in texts("src", endings):
        yield name.split("/", 1)[1], text


def misplaced_rooms():
    """Folders of src/ that are no wing, and rooms that do not lie in theirs."""
    found = {f"{path.parent.name}/{path.name}" for path in (SOURCE / "src").glob("*/*")}
    return sorted(found ^ {f"{wing}/{room}" for room, wing in WING.items()})


def room_of_header(name):
    """Room of an included header of ours, None for one from outside."""
    if name.startswith("halfulp/"):
        stem = Path(name).stem
        return PUBLIC.get(stem, stem)
    first = name.split("/")[0]
    return first if "/" in name and first in WING else None


def wrong_arrows():
    """Includes that go upward or sideways, between rooms or between wings."""
    wrong, order = [], list(WINGS)
    for name, text in sources():
        room = name.split("/")[0]
        for _, header in INCLUDE.findall(text):
            other = room_of_header(header)
            if other is None or other == room:
                continue
            if other not in HEIGHT or room not in HEIGHT:
                wrong.append(f"{name}: {header}: no storey is known for {other} or {room}")
            elif HEIGHT[other] >= HEIGHT[room]:
                wrong.append(f"{name}: {header}: {room} may not see {other}")
            elif order.index(WING[other]) > order.index(WING[room]):
                wrong.append(f"{name}: {header}: wing {WING[room]} may not see wing {WING[other]}")
    return wrong


def circles():
    """Sets of files that include each other in a circle; room/x stands for x.c, x.h and x.inc."""
    seen_by = {}
    for name, text in sources():
        node = os.path.splitext(name)[0]
        seen = {os.path.splitext(header)[0] for _, header in INCLUDE.findall(text)}
        seen_by.setdefault(node, set()).update(seen - {node})
    reach = {}
    for start in seen_by:
        reach[start], waiting = set(), [start]
        while waiting:
            new = seen_by.get(waiting.pop(), set()) - reach[start]
            reach[start] |= new
            waiting += new
    found = {frozenset(other for other in reach[node] if node in reach.get(other, ()))
             for node in reach if node in reach[node]}
    return sorted(found, key=sorted)


def comment_lines(text):
    """How many lines hold nothing but comment, and how many are not blank."""
    def mark(match):
        word = match.group(0)
        return re.sub(r"[^\n]+", "\0", word) if word.startswith("/") else word
    lines = [line.strip() for line in COMMENT_OR_TEXT.sub(mark, text).splitlines()]
    return sum(1 for line in lines if line and not line.strip(" \t\0")), sum(map(bool, lines))


def function_lengths():
    """Lines of every function of src/, head and last brace included."""
    return sorted(match.group(0).count("\n") + 1 for name, text in sources()
                  if not name.endswith(".list") for match in FUNCTION.finditer(text))


def figures():
    """(name, value, bar, whether it is met, details)."""
    lines, rooms = {}, {}
    for name, text in below_wings((*CODE, ".proto")):
        lines[name] = text.count("\n")
        room = name.split("/")[0]
        rooms[room] = rooms.get(room, 0) + lines[name]
    total = sum(lines.values())
    yield "lines of src", total, "<= 112000", total <= 112000, ()
    yield "files of src", len(lines), "<= 750", len(lines) <= 750, ()
    modules = [count for name, count in lines.items() if name.endswith(".c")]
    middle, longest = statistics.median(modules), max(lines, key=lines.get)
    yield "C files, median", f"{middle:g}", "150-320", 150 <= middle <= 320, ()
    yield "longest file", lines[longest], "<= 800", lines[longest] <= 800, [longest] if lines[longest] > 800 else ()
    short = [name for name, count in lines.items() if name.endswith(".c") and count < 40 and not STUB.search(name)]
    yield "C files under 40 lines", len(short), "0", not short, [" ".join(short)] if short else ()
    headers = 100 * sum(count for name, count in lines.items() if name.endswith(".h")) / total
    yield "headers, share of the lines", f"{headers:.1f} %", "<= 11 %", headers <= 11, ()
    for room, count in sorted(rooms.items(), key=lambda item: -item[1]):
        share = 100 * count / total
        most = 4 if room == "cli" else 9
        bar = "" if room == "kernel" else f"<= {most} %"
        yield f"share of {room}", f"{share:.1f} %", bar, not bar or share <= most, ()

    known = circles()
    yield ("circles of files", len(known), "0", not known,
           [f"{len(circle)} files: {' '.join(sorted(circle))}" for circle in known])
    misplaced = misplaced_rooms()
    yield "rooms outside their wing", len(misplaced), "0", not misplaced, misplaced
    wrong = wrong_arrows()
    yield "upward or sideways includes", len(wrong), "0", not wrong, wrong

    counts = [comment_lines(text) for folder in ("src", "include") for _, text in texts(folder)]
    share = 100 * sum(only for only, _ in counts) / sum(lines for _, lines in counts)
    yield "comment-only lines", f"{share:.1f} %", ">= 12 %", share >= 12, ()
    long = {}
    for folder in ("src", "include", "tests"):
        for name, text in texts(folder):
            count = sum(len(line) > 100 for line in text.splitlines())
            if count:
                long[f"{folder}/{name}"] = count
    longest = sorted(long, key=long.get, reverse=True)
    yield ("lines over 100 columns", sum(long.values()), "0", not long,
           [f"{long[name]} in {name}" for name in longest])

    torn = [name for folder in ("src", "include", "tests", "docs")
            for name, text in texts(folder, (*CODE, ".md", ".py", ".cmake", ".yaml", ".json"))
            if re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE)]
    yield "files torn by a merge", len(torn), "0", not torn, torn

    lengths = function_lengths()
    middle, p90 = statistics.median(lengths), lengths[len(lengths) * 9 // 10]
    yield "functions", len(lengths), "", True, ()
    yield "function length, median", f"{middle:g}", "<= 12", middle <= 12, ()
    yield "function length, p90", p90, "<= 30", p90 <= 30, ()
    yield "function length, max", lengths[-1], "<= 80", lengths[-1] <= 80, ()


def main():
    missed = 0
    for name, value, bar, met, details in figures():
        missed += not met
        verdict = "" if not bar else "met" if met else "MISSED"
        print(f"{name:<28} {value:>8}  {bar:<8} {verdict}".rstrip())
        for detail in details:
            print(f"    {detail}")
    return 1 if missed and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
