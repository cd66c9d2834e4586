"""Files for papers: pictures as SVG, PDF and PNG, the table of runs as CSV and LaTeX, and endings that nobody knows."""
import csv
import json
import os
import re
import xml.etree.ElementTree as xml

import program
from program import TINY

SVG = "{http://www.w3.org/2000/svg}"
SECTIONS = ["pareto", "curves", "exponents", "ratios", "groups", "memory"]  # of this comparison, that have pictures
BLUE, WHITE, INK = b"\x0b\x62\xa4", b"\xff\xff\xff", b"\x1b\x1f\x24"  # the first series, the ground, text
HAS_LIBRSVG = os.path.exists(os.path.join(os.path.dirname(program.HALFULP), "halfulp-drawn.so"))


def report(checks, *words, cwd, code=0):
    found, out, err = program.call("report", *words, cwd=cwd)
    checks.same(found, code, f"report {words}: {err}")
    return err


def read_svg(checks, path):
    """The picture as a tree. Programs that draw SVG files know no var(): every colour must stand there."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for word in ("var(", "@media", "<style>\n:root", "<a ", "<p>", "<p ", "<table", "<div", "<details", "<ul", "<img"):
        checks.that(word not in text, f"{path}: holds {word!r}")
    tree = xml.fromstring(text)
    style = tree.find(f"{SVG}style").text
    for at in tree.iter():
        for name in (at.get("class") or "").split():
            known = name in ("axes", "heat", "name", "number", "d0", "o0") or re.search(rf"\.{re.escape(name)}\b", style)
            checks.that(known, f"{path}: class {name} has no rule")
    return tree


def headings(tree):
    return [at.text for at in tree.iter(f"{SVG}text") if "heading" in at.get("class").split()]


def pictures(checks, cwd):
    code, _, err = program.call("compare", "precision=fp32,hfp8,demote:0.5", "seeds=1,2", *TINY, "epochs=3", "run.dir=c",
                                "run.histogram_every=2", cwd=cwd)
    checks.same(code, 0, f"compare: {err}")
    report(checks, "c", "out=all.svg", cwd=cwd)
    whole = read_svg(checks, f"{cwd}/all.svg")
    checks.that({"Accuracy against memory", "Training", "Where the numbers are", "Memory by role"} <= set(headings(whole)),
                f"sections: {headings(whole)}")
    charts = {}
    for section in SECTIONS:
        report(checks, "c", f"out={section}.svg", f"section={section}", cwd=cwd)
        tree = read_svg(checks, f"{cwd}/{section}.svg")
        charts[section] = [at for at in tree.iter(f"{SVG}g") if at.get("role") == "img"]
    checks.same(sum(map(len, charts.values())), len([at for at in whole.iter(f"{SVG}g") if at.get("role") == "img"]),
                "the sections together have all pictures")
    for number, expected in enumerate(charts["exponents"][:3], 1):
        report(checks, "c", "out=one.svg", f"section=exponents:{number}", cwd=cwd)
        found = [at for at in read_svg(checks, f"{cwd}/one.svg").iter(f"{SVG}g") if at.get("role") == "img"]
        checks.same([at.get("aria-label") for at in found], [expected.get("aria-label")], f"picture {number} alone")
        checks.same([len(list(at.iter())) for at in found], [len(list(expected.iter()))], f"picture {number}: its shapes")
    report(checks, "c", "out=none.svg", "section=bits", cwd=cwd, code=3)
    checks.that(not os.path.exists(f"{cwd}/none.svg"), "no file of no picture")
    if HAS_LIBRSVG:
        drawn(checks, cwd)
    else:
        err = report(checks, "c", "out=all.pdf", cwd=cwd, code=2)
        checks.that("librsvg" in err and ".svg" in err, f"what is missing, and what helps: {err}")
    table(checks, cwd)


def drawn(checks, cwd):
    """The drawn files have the sizes and the colours that the SVG has."""
    report(checks, "c", "out=pareto.png", "section=pareto", cwd=cwd)
    width, height, channels, pixels = program.read_png(f"{cwd}/pareto.png")
    head = xml.parse(f"{cwd}/pareto.svg").getroot()
    checks.same((width, height, channels), (2 * int(head.get("width")), 2 * int(head.get("height")), 3), "two dots each")
    colours = {}
    for i in range(0, len(pixels), 3):
        colours[pixels[i:i + 3]] = colours.get(pixels[i:i + 3], 0) + 1
    checks.that(colours.get(WHITE, 0) > 0.8 * width * height, "the ground is white")
    checks.that(colours.get(BLUE, 0) > 100, f"the first precision is blue: {colours.get(BLUE)}")
    checks.that(colours.get(INK, 0) > 100, f"there is text: {colours.get(INK)}")
    checks.that(colours.get(b"\0\0\0", 0) == 0, "nothing is black for want of a colour")
    report(checks, "c", "out=all.pdf", cwd=cwd)
    with open(f"{cwd}/all.pdf", "rb") as file:
        text = file.read()
    checks.that(text.startswith(b"%PDF-") and text.rstrip().endswith(b"%%EOF"), "a whole PDF")
    checks.same(re.findall(rb"/Count (\d+)", text), [str(len(SECTIONS)).encode()], "a page for each section")
    for name in ("f.pdf", "f.png", "f.svg"):
        code, _, err = program.call("fmt", "e4m3fn", "e5m2", f"out={name}", cwd=cwd)
        checks.that(code == 0 and os.path.getsize(f"{cwd}/{name}") > 5000, f"fmt out={name}: {err}")
    code, _, err = program.call("fmt", "e4m3fn", "out=f.gif", cwd=cwd)
    checks.that(code == 2 and "'.gif'" in err and ".html, .htm, .svg, .pdf or .png" in err, f"fmt out=f.gif: {code}, {err}")


def table(checks, cwd):
    """CSV and LaTeX against compare.json."""
    with open(f"{cwd}/c/compare.json") as file:
        made = json.load(file)
    report(checks, "c", "out=t.csv", cwd=cwd)
    with open(f"{cwd}/t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    checks.same([row["precision"] for row in rows], [mean["precision"] for mean in made["precisions"]], "a row for each")
    for row, mean in zip(rows, made["precisions"]):
        pairs = {"value": mean["test_accuracy"], "deviation": mean["test_accuracy_deviation"],
                 "least": mean["test_accuracy_least"], "most": mean["test_accuracy_most"],
                 "best": mean["best_accuracy"], "best_deviation": mean["best_accuracy_deviation"]}
        for key, value in pairs.items():
            checks.that(abs(float(row[key]) - value) < 1e-12, f"{row['name']}: {key}: {row[key]}, expected {value}")
        own = [one for one in made["rows"] if one["precision"] == mean["precision"]]
        checks.same(float(row["ledger_bytes"]), float(max(one["ledger_bytes"]["total"] for one in own)), "memory")
        checks.same((row["model"], row["data"], row["metric"], row["better"], row["runs"], row["ended"]),
                    ("cnn-s", "glyphs", "accuracy", "higher", "2", "2"), "what they are")
        checks.same(row["pareto"], str(int(mean["pareto"])), "the front")
    report(checks, "c", "out=t.tex", cwd=cwd)
    with open(f"{cwd}/t.tex") as file:
        text = file.read()
    checks.that(text.count("\\begin{tabular}") == text.count("\\end{tabular}") == 1, "one table")
    lines = [line for line in text.splitlines() if line.endswith(r"\\")][1:]
    checks.same(len(lines), len(rows), "a line for each")
    for line, mean in zip(lines, made["precisions"]):
        number, deviation = (100 * mean[f"test_accuracy{part}"] for part in ("", "_deviation"))
        star = "*" if mean["pareto"] else ""
        checks.that(line.startswith(f"{mean['precision']}{star} & ${number:.2f} \\pm {deviation:.2f}$ & "), line)
    program.train(*TINY, "steps=2", "precision=w=e4m3,act=fp16", "run.dir=a_b", cwd=cwd, run="a_b")
    report(checks, "a_b", "out=t.tex", cwd=cwd)
    with open(f"{cwd}/t.tex") as file:
        text = file.read()
    checks.that("\\pm" not in text and "\nw=e4m3,act=fp16 & $" in text, f"one seed has no deviation: {text}")


def endings(checks, cwd):
    """What a name promises is kept or refused, before anything is written."""
    program.train(*TINY, "steps=2", cwd=cwd)
    for name in ("r.docx", "r.jpg", "r.json"):
        err = report(checks, "run", f"out={name}", cwd=cwd, code=2)
        checks.that(f"'.{name[2:]}'" in err and ".html, .htm, .svg, .pdf, .png, .csv or .tex" in err, f"{name}: {err}")
        checks.that(not os.path.exists(f"{cwd}/{name}"), f"{name} was not written")
    report(checks, "run", "out=page", cwd=cwd)
    with open(f"{cwd}/page") as file:
        checks.that(file.read().startswith("<!doctype html>"), "a name without an ending is that of a page")
    err = report(checks, "run", "out=r.svg", "section=exponent", cwd=cwd, code=2)
    checks.that("'exponents'" in err, f"the nearest section: {err}")
    err = report(checks, "run", "out=r.svg", "section=exponents:x", cwd=cwd, code=2)
    checks.that("number of a picture" in err, err)
    err = report(checks, "run", "out=r.html", "section=curves", cwd=cwd, code=2)
    checks.that(".svg, .pdf or .png" in err, err)
    report(checks, "run", "out=r.svg", "section=exponents:99", cwd=cwd, code=3)


if __name__ == "__main__":
    program.main(pictures, endings)
