"""The documents: their tables are tables, their links lead somewhere, their figures are today's."""
import glob
import os
import re
import subprocess
import sys

import program

SOURCE = os.environ.get("HALFULP_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
RULE = re.compile(r"\|( *:?-+:? *\|)+")


def pages():
    found = sorted(glob.glob(os.path.join(SOURCE, "docs", "**", "*.md"), recursive=True))
    found += [os.path.join(SOURCE, f"{name}.md") for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")]
    for path in found:
        with open(path, encoding="utf-8") as file:
            yield os.path.relpath(path, SOURCE), file.read()


def prose(text):
    """(number, line) of what is not code."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def columns(row):
    """How many cells a row has; a bar in code or behind a stroke is none."""
    plain = re.sub(r"`[^`]*`", "", row.strip()).replace("\\|", "")
    return plain.count("|") - 1


def tables(checks, cwd):
    """A row stands below a head and a rule, and has as many cells."""
    for page, text in pages():
        before, cells = None, 0
        for number, line in prose(text):
            is_row = line.lstrip().startswith("|")
            if is_row and before != number - 1:
                cells, begun = columns(line), number
            elif is_row and number == begun + 1:
                checks.that(RULE.fullmatch(line.strip()), f"{page}:{number}: a row without a head: cut off from its table?")
            if is_row:
                checks.same(columns(line), cells, f"{page}:{number}: cells of a row")
                before = number
        checks.that(True, page)


def anchors(text):
    """What a link to a heading of the page may say."""
    found = set()
    for _, line in prose(text):
        if line.startswith("#"):
            title = re.sub(r"[`*]", "", line.lstrip("#").strip()).lower()
            found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def links(checks, cwd):
    texts = dict(pages())
    for page, text in texts.items():
        for number, line in prose(text):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if "://" in target:
                    continue
                path, _, anchor = target.partition("#")
                whole = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                checks.that(os.path.exists(os.path.join(SOURCE, whole)), f"{page}:{number}: link to {target}")
                if anchor and whole in texts:
                    checks.that(anchor in anchors(texts[whole]), f"{page}:{number}: heading of {target}")


def figures(checks, cwd):
    """Those that are the same on every machine; in the long form of this test those of trainings, too."""
    words = ["--long"] if "exhaustive" in sys.argv else []
    script = os.path.join(SOURCE, "tools", "figures.py")
    done = subprocess.run([sys.executable, script, f"--halfulp={program.HALFULP}", *words], cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    checks.same(done.returncode, 0, f"tools/figures.py: {done.stdout}")


program.main(tables, links, figures)
