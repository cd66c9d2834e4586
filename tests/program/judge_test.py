"""What eval says of classes: figures and what is taken for what, as text, JSON, CSV and as a page with pictures."""
import base64
import csv
import html.parser
import json
import os
import re
import xml.etree.ElementTree as xml

import program

KEYS = ["model=cnn-s", "data.size=16", "batch=8", "lr=0.01", "eval.every=0", "threads=1"]
NAMES = ["bee", 'odd, "<class>"', "x"]


def folder(cwd):
    """Classes of colours that are near each other, so that some are confused."""
    for half, count in (("train", 4), ("val", 7)):
        for c, name in enumerate(NAMES):
            for k in range(count + c):
                colour = (90 + 6 * c + 11 * k % 40, 100 - 5 * c + 7 * k % 30, 40 + 9 * k % 50)
                program.put(cwd, f"pictures/{half}/{name.replace('/', '_')}/{k}.png", program.png(16, 16, colour))
    return "data=folder:pictures"


def judged(checks, cwd, *words):
    code, out, err = program.call("eval", "run", *words, cwd=cwd)
    checks.same((code, "no effect" in err), (0, False), f"{words}: {err}")
    return out


def expect_matrix(checks, cwd):
    """The matrix again from what predict says of each sample."""
    program.train(*KEYS, folder(cwd), "steps=6", cwd=cwd, run="run")
    found = json.loads(judged(checks, cwd, "--json"))
    rows = json.loads(program.call("predict", "run", "count=0", "--json", cwd=cwd)[1])["predictions"]
    matrix = [[0] * (len(NAMES) + 1) for _ in NAMES]
    for row in rows:
        matrix[row["label"]][row["predicted"]] += 1
    checks.same(found["confusion"], {"classes": NAMES, "matrix": matrix}, "what is taken for what")
    checks.that(sum(matrix[k][k] for k in range(3)) < len(rows), f"some are wrong: {matrix}")
    for k, one in enumerate(found["test_classes"]):
        samples, said, right = sum(matrix[k]), sum(row[k] for row in matrix), matrix[k][k]
        shares = (right / samples, right / said if said else None, 2 * right / (samples + said))
        checks.same((one["name"], one["samples"]), (NAMES[k], samples), "samples")
        for key, share in zip(("recall", "precision", "f1"), shares):
            same = one[key] is None if share is None else abs(one[key] - share) < 1e-12
            checks.that(same, f"{NAMES[k]}: {key} {one[key]}, expected {share}")
    return rows, matrix


def classes_are_told(checks, cwd):
    rows, matrix = expect_matrix(checks, cwd)
    text = judged(checks, cwd, "out=classes.csv")
    checks.that("true \\ said" in text and "most often taken for" in text and all(name in text for name in NAMES), text)
    with open(f"{cwd}/classes.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    checks.same([line["class"] for line in lines], NAMES, "a row for each class")
    checks.same([[int(line[name]) for name in [*NAMES, "nothing"]] for line in lines], matrix, "the matrix in the file")
    checks.same([int(line["samples"]) for line in lines], [7, 8, 9], "samples in the file")


class Page(html.parser.HTMLParser):
    """Tags that are open, pictures, and texts of cells by table."""

    def __init__(self):
        super().__init__()
        self.open, self.pictures, self.tables, self.labels, self.tags = [], [], [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "img":
            self.pictures.append(dict(attrs)["src"])
        elif tag not in ("meta", "link", "br"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
            self.labels.append(set())
        if tag == "tr":
            self.tables[-1].append([])
        if tag == "td":
            self.tables[-1][-1].append("")
            self.labels[-1].add(dict(attrs).get("data-t"))
            assert len(self.tables[-1][-1]) == 1 or "data-t" in dict(attrs), "a cell without the title of its column"

    def handle_startendtag(self, tag, attrs):
        if tag == "img":
            self.pictures.append(dict(attrs)["src"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if "td" in self.open:
            self.tables[-1][-1][-1] += data


def mistakes_are_shown(checks, cwd):
    rows, _ = expect_matrix(checks, cwd)
    judged(checks, cwd, "page=wrong.html")
    with open(f"{cwd}/wrong.html", encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    checks.same((page.open, "script" in page.tags), ([], False), "the page is whole and has no scripts")
    wrong = sorted((row for row in rows if row["label"] != row["predicted"]), key=lambda row: -row["probability"])
    checks.that(len(wrong) > 1, "several are wrong")
    cells = [[cell.strip() for cell in row] for row in page.tables[0][1:]]
    checks.same([row[3] for row in cells], [row["file"] for row in wrong], "the most confident first")
    checks.same([row[1:3] for row in cells], [[row["label_name"], row["predicted_name"]] for row in wrong], "both classes")
    checks.same([row[4] for row in cells], [f"{100 * row['probability']:.2f} %" for row in wrong], "and how sure it was")
    checks.same({"it is", "the model says", "file", "probability"} - page.labels[0], set(), "titles where rows are lists")
    for picture, row in zip(page.pictures, wrong):
        program.put(cwd, "one.png", base64.b64decode(re.fullmatch("data:image/png;base64,(.*)", picture).group(1)))
        shown, real = program.read_png(f"{cwd}/one.png"), program.read_png(f"{cwd}/{row['file']}")
        checks.same((shown[0] % 16, shown[2], list(shown[3][:3])), (0, 3, list(real[3][:3])), f"the picture of {row['file']}")
    checks.same(len(page.pictures), len(wrong), "one for each")


def runs_keep_them(checks, cwd):
    """A training ends with what it takes for what, as eval says of it, and its page begins with that."""
    program.train(*KEYS, folder(cwd), "steps=6", cwd=cwd, run="run")
    with open(f"{cwd}/run/confusion.json", encoding="utf-8") as file:
        kept = json.load(file)
    found = json.loads(judged(checks, cwd, "--json"))
    checks.same((kept["step"], kept["part"], kept["confusion"], kept["test_classes"]),
                (6, "test", found["confusion"], found["test_classes"]), "as eval has it")
    rows = json.loads(program.call("predict", "run", "count=0", "--json", cwd=cwd)[1])["predictions"]
    wrong = sorted((row for row in rows if row["label"] != row["predicted"]), key=lambda row: -row["probability"])[:12]
    checks.same([[at["sample"], at["file"], at["truth"], at["said"]] for at in kept["mistakes"]],
                [[row["sample"], row["file"], row["label_name"], row["predicted_name"]] for row in wrong], "its mistakes")
    with open(f"{cwd}/run/report.html", encoding="utf-8") as file:
        text = file.read()
    tree = xml.fromstring(text.removeprefix("<!doctype html>\n"))
    sections = list(tree.iter("section"))
    checks.same([part.get("id") for part in sections[:2]], ["results", "confusion"], "near the top of the page")
    matrix, mistakes = sections[1].iter("table")
    checks.same([head.text for head in matrix.iter("th")], ["true class", *NAMES], "its classes")
    cells = [["".join(cell.itertext()) for cell in row.iter("td")] for row in matrix.iter("tr")][1:]
    checks.same(cells, [[name, *map(str, row[:-1])] for name, row in zip(NAMES, found["confusion"]["matrix"])], "the matrix")
    cells = [[cell.text for cell in row.iter("td")] for row in mistakes.iter("tr")][1:]
    checks.same([row[1:] for row in cells], [[row["label_name"], row["predicted_name"], row["file"],
                                              f"{100 * row['probability']:.2f} %"] for row in wrong], "the mistakes")
    for mistake in kept["mistakes"]:
        shown, real = program.read_png(f"{cwd}/run/{mistake['picture']}"), program.read_png(f"{cwd}/{mistake['file']}")
        checks.same((shown[:3], list(shown[3][:3])), ((16, 16, 3), list(real[3][:3])), f"the picture of {mistake['file']}")
    checks.same(text.count("data:image/png"), len(wrong), "a picture each")
    program.train("model=cvae-s", "data=contacts", "data.limit=64", "data.test_limit=8", "steps=1", "threads=1", cwd=cwd, run="other")
    checks.that(not os.path.exists(f"{cwd}/other/confusion.json"), "a task without classes has none")


def hostile_names(checks, cwd):
    """Names of classes and files that a spreadsheet, a terminal or a page would take for something else."""
    names, turned = ["+b", "=1+1", "\u202egpj"], "\\xe2\\x80\\xaegpj"
    for half, count in (("train", 4), ("val", 3)):
        for c, name in enumerate(names):
            for k in range(count):
                program.put(cwd, f"data/{half}/{name}/-{k}\x1b[31m.png", program.png(16, 16, (60 * c + 9 * k, 90, 40)))
    program.train(*KEYS, "data=folder:data", "steps=3", cwd=cwd, run="run")
    judged(checks, cwd, "out=classes.csv", "page=page.html")
    with open(f"{cwd}/classes.csv", newline="", encoding="utf-8") as file:
        checks.same([row["class"] for row in csv.DictReader(file)], ["'+b", "'=1+1", turned], "no formula among the classes")
    code, _, err = program.call("predict", "run", "out=said.csv", cwd=cwd)
    checks.same(code, 0, err)
    with open(f"{cwd}/said.csv", newline="", encoding="utf-8") as file:
        text = file.read()
    rows = list(csv.DictReader(text.splitlines()))
    checks.same({row["label_name"] for row in rows}, {"'+b", "'=1+1", turned}, "nor among the labels")
    checks.that(all(re.search(r"/-\d\\x1b\[31m\.png$", row["file"]) for row in rows), f"files: {rows[0]}")
    with open(f"{cwd}/page.html", encoding="utf-8") as file:
        page = file.read()
    out = program.call("eval", "run", cwd=cwd)[1] + program.call("predict", "run", cwd=cwd)[1]
    for what, where in ((text, "the CSV"), (page, "the page"), (out, "stdout")):
        checks.that("\x1b" not in what and "\u202e" not in what, f"{where} holds no raw control character")
    checks.that("?gpj" in page and turned in out, "what stands for them")


def files_by_their_endings(checks, cwd):
    """predict writes JSON where the name says so; other endings are refused before anything is judged."""
    program.train(*KEYS, folder(cwd), "steps=2", cwd=cwd, run="run")
    code, _, err = program.call("predict", "run", "out=p.json", cwd=cwd)
    checks.same(code, 0, err)
    with open(f"{cwd}/p.json", encoding="utf-8") as file:
        found = json.load(file)
    checks.same(found, json.loads(program.call("predict", "run", "count=0", "--json", cwd=cwd)[1]), "what --json prints")
    checks.that("predictions" in found and len(found["predictions"]) == found["samples"] == 24, "all samples")
    for verb, word, known in (("predict", "out=p.txt", ".csv or .json"), ("eval", "out=c.json", ".csv"),
                              ("eval", "page=c.pdf", ".html or .htm")):
        code, _, err = program.call(verb, "run", word, cwd=cwd)
        checks.that(code == 2 and f"expected {known}" in err, f"{verb} {word}: {code}, {err}")


def others_have_none(checks, cwd):
    """Of grey numbers without files the page counts samples; tasks without classes refuse, and say so."""
    program.train("model=cnn-s", "data=glyphs", "data.limit=64", "data.test_limit=30", "steps=2", "batch=16", "threads=1",
                  cwd=cwd, run="run")
    judged(checks, cwd, "page=wrong.html")
    with open(f"{cwd}/wrong.html", encoding="utf-8") as file:
        checks.that("sample " in file.read(), "samples without files have numbers")
    program.train("model=cvae-s", "data=contacts", "data.limit=64", "data.test_limit=8", "steps=1", "threads=1", cwd=cwd, run="run2")
    for word, key in (("page=no.html", "page"), ("out=no.csv", "out")):
        code, _, err = program.call("eval", "run2", word, cwd=cwd)
        checks.that(code == 2 and f"{key}: found a run" in err, f"{word}: {code} {err}")
    found = json.loads(program.call("eval", "run2", "--json", cwd=cwd)[1])
    checks.that("confusion" not in found, "no classes, no matrix")


def products_stay(checks, cwd):
    """Without workers a run is judged by the products that their formats had chosen in the training."""
    words = ["model=cnn-s", "data=glyphs", "data.limit=88", "data.test_limit=400", "batch=16", "steps=5", "eval.every=0"]
    for number, (more, is_same) in enumerate(((["workers=2", "comm.format=e5m2"], True), (["workers=2"], False))):
        losses = []
        for products in ("own", "auto"):
            program.train(*words, *more, f"products={products}", cwd=cwd, run=f"{products}{number}")
            losses.append(json.loads(program.call("eval", f"{products}{number}", "--json", cwd=cwd)[1])["test_loss"])
        checks.same(losses[0] == losses[1], is_same, f"{more}: {losses}")


program.main(classes_are_told, mistakes_are_shown, runs_keep_them, hostile_names, files_by_their_endings, others_have_none, products_stay)
