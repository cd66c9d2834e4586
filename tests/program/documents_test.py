"""The documents: their tables are tables, their links lead somewhere, a reader finds each, their figures are today's."""
import glob
import os
import re
import subprocess
import sys

import program

SOURCE = os.environ.get("HALFULP_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LARGEST = 25000
WIDEST = 200
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


def sizes(checks, cwd):
    """No page is too long to read, no line of prose too long for a screen."""
    for page, text in pages():
        if page.startswith("docs"):
            size = len(text.encode())
            checks.that(size <= LARGEST, f"{page}: {size} bytes, at most {LARGEST}: split it by topic")
        for number, line in prose(text):
            if not line.lstrip().startswith(("|", "!")):
                checks.that(len(line) <= WIDEST, f"{page}:{number}: {len(line)} columns, at most {WIDEST}")


def in_the_index(checks, cwd):
    """Each page is in the index of the site, once, and its shelf or another page leads to it."""
    with open(os.path.join(SOURCE, "mkdocs.yml"), encoding="utf-8") as file:
        nav = re.findall(r"^ +- (?:[^:\n]+: )?([\w/.-]+\.md)$", file.read().partition("\nnav:\n")[2], re.MULTILINE)
    listed = [os.path.join("docs", page) for page in nav if not page.startswith("files/")]
    texts = {page: text for page, text in pages() if page.startswith("docs")}
    for page in texts:
        checks.same(listed.count(page), 1, f"{page}: times in the nav of mkdocs.yml")
    for page in listed:
        is_notebook = os.path.isfile(os.path.join(SOURCE, f"{page[:-len('.md')]}.ipynb"))  # tools/site/hooks.py
        checks.that(page in texts or is_notebook, f"mkdocs.yml: {page}: no such page")
    found, waiting = set(), [os.path.join("docs", "index.md")]
    while waiting:
        page = waiting.pop()
        if page in texts and page not in found:
            found.add(page)
            waiting += [os.path.normpath(os.path.join(os.path.dirname(page), target.partition("#")[0]))
                        for target in re.findall(r"\]\(([^)\s]+)\)", texts[page])]
    for page in texts:
        checks.that(page in found, f"{page}: no links lead to it from docs/index.md")


def named(checks, cwd):
    """Pages that messages, comments, tests and scripts name are there."""
    for folder in ("src", "include", "tests", "tools", "bench", "recipes", "examples", "cmake", "go", "CMakeLists.txt"):
        top = os.path.join(SOURCE, folder)
        paths = [os.path.join(base, name) for base, _, names in os.walk(top) for name in names] or [top]
        for path in paths:
            with open(path, encoding="utf-8", errors="replace") as file:
                for name in re.findall(r"\bdocs/[\w./*-]+\.(?:md|svg|json)\b", file.read()):
                    checks.that(glob.glob(os.path.join(SOURCE, name)), f"{os.path.relpath(path, SOURCE)}: {name}: no such page")


def files(checks, cwd):
    """Files of the source that pages name are there; NAME and FAMILY stand for any. Results are of their day."""
    for page, text in pages():
        if not page.startswith(os.path.join("docs", "results")) and page != "CHANGELOG.md":
            for name in re.findall(r"\b(?:src|tests|tools|bench|examples|cmake)/[\w./*-]*\w\.\w+", text):
                found = glob.glob(os.path.join(SOURCE, re.sub("[A-Z]{3,}", "*", name)))
                checks.that(found, f"{page}: {name}: no such file")


def rooms_and_names(checks, cwd):
    """Files that pages call ROOM/FILE, and functions and types in code, are in the source; NAME stands for any."""
    sys.path.insert(0, os.path.join(SOURCE, "tools"))
    from house import CODE, WING, texts  # pylint: disable=import-outside-toplevel
    of_source = dict(texts("src"))
    known = {name.split("/", 1)[1] for name in of_source}
    everything = [*of_source.values(), *(text for folder in ("include", "tests", "bench", "examples", "cmake")
                                         for _, text in texts(folder, (*CODE, ".py", ".cmake")))]
    names = {name for text in everything for name in re.findall(r"\b(?:hu|HU)_\w+", text)}
    for page, text in pages():
        if page.startswith(os.path.join("docs", "results")) or page == "CHANGELOG.md":
            continue
        for code in re.findall(r"`([^`\n]+)`", text):
            for name in re.findall(r"(?<![\w/.-])[a-z]+/[a-z0-9_/]+\.(?:c|h|inc|list)\b", code):
                if name.split("/")[0] in WING:
                    checks.that(name in known, f"{page}: {name}: no such file in src")
            for name in re.findall(r"\b(?:hu|HU)_\w+", code):
                if not re.search("NAME|FAMILY", name):
                    checks.that(name in names or any(other.startswith(name) for other in names if name.endswith("_")),
                                f"{page}: {name}: not in the source")


def figures(checks, cwd):
    """Those that are the same on every machine; in the long form of this test those of trainings, too."""
    words = ["--long"] if "exhaustive" in sys.argv else []
    script = os.path.join(SOURCE, "tools", "figures.py")
    done = subprocess.run([sys.executable, script, f"--halfulp={program.HALFULP}", *words], cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    checks.same(done.returncode, 0, f"tools/figures.py: {done.stdout}")


program.main(tables, links, sizes, in_the_index, named, files, rooms_and_names, figures)
