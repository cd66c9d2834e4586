"""report draws run folders into one page: well-formed, self-contained, every text escaped."""
import json
import math
import os
import re
import shutil
import xml.etree.ElementTree as xml

import program
from program import TINY

SVG = "{http://www.w3.org/2000/svg}"
SECTIONS = ["results", "confusion", "curves", "exponents", "losses", "ratios", "groups", "memory", "settings", "made"]


def page(checks, path):
    """The page as a tree; a text that was not escaped would break it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    checks.that(text.startswith("<!doctype html>\n"), f"{path}: doctype")
    own = text.replace('src="data:image/png;base64,', "")  # pictures inside of the page
    for outside in ("http:", "https:", "<script", "src=", "@import", "url("):
        checks.that(outside not in own, f"{path}: holds {outside!r}: not self-contained")
    checks.that("prefers-color-scheme:dark" in text, f"{path}: has a dark scheme")
    checks.that(not re.search(r'[xydrMLh][12]?="?-?(nan|inf)|[ML]-?(nan|inf)', text),
                f"{path}: places are numbers")
    return xml.fromstring(text.removeprefix("<!doctype html>\n"))


def texts(tree):
    return [part for part in tree.itertext()]


def section(tree, name):
    return next((part for part in tree.iter("section") if part.get("id") == name), None)


def late_pictures(tree):
    """Exponents of the last recorded step: each role has the picture of the first step in front of that of the last."""
    return list(section(tree, "exponents").iter("svg"))[1::2]


def marks(part, kind):
    return [at for at in part.iter() if kind in (at.get("class") or "").split()]


def report(checks, *words, cwd, code=0):
    found, out, err = program.call("report", *words, cwd=cwd)
    checks.same(found, code, f"report {words}: exit code ({err})")
    return out, err


def one_run(checks, cwd):
    program.train(*TINY, "steps=6", "precision=demote:0.6+promote", "run.histogram_every=2", cwd=cwd)
    checks.that(os.path.exists(f"{cwd}/run/report.html"), "train ends with a report")
    os.remove(f"{cwd}/run/report.html")
    out, _ = report(checks, "run", cwd=cwd)
    checks.same(out, "report run/report.html (1 run)\n", "report says where")
    tree = page(checks, f"{cwd}/run/report.html")
    checks.same([part.get("id") for part in tree.iter("section")], SECTIONS, "sections of one run")
    ridges = section(tree, "exponents")
    panels = [[at.text for at in marks(svg, "name")] for svg in ridges.iter("svg")]
    checks.same(len(panels), 8, "two pictures of activations, weights and the gradients of each")
    labels = [svg.get("aria-label") for svg in ridges.iter("svg")]
    checks.same([label.split(", ")[1] for label in labels], 4 * ["step 0", "step 4"], f"the first and the last: {labels}")
    pictures = list(ridges.iter("svg"))
    for early, late in zip(pictures[0::2], pictures[1::2]):
        places = [[(at.get("x"), at.text) for at in marks(svg, "middle") if at.text.startswith("2")] for svg in (early, late)]
        checks.same(places[0], places[1], "over the same exponents")
    checks.that(any([at.get("d") for at in marks(early, "ridge")] != [at.get("d") for at in marks(late, "ridge")]
                    for early, late in zip(pictures[0::2], pictures[1::2])), "of other numbers")
    for names in panels:
        checks.that("conv1" in names and "fc" in names, f"ridges of conv1 and fc: {names}")
    for text in ("fp16", "1/6/9", "e5m2", "e4m3fn", "own"):
        checks.that(text in texts(ridges), f"{text} in the exponents")
    with open(f"{cwd}/run/plan.json") as file:
        groups = json.load(file)["groups"]
    rows = [text for text in texts(section(tree, "groups")) if re.fullmatch(r"group \d+", text)]
    checks.same(rows, [f"group {group['id']}" for group in groups], "a row for every group")
    with open(f"{cwd}/run/result.json") as file:
        result = json.load(file)
    cells = [cell.text for cell in section(tree, "results").iter("td")]
    checks.same(cells[1], f"{100 * result['test_accuracy']:.2f}", "accuracy in the table")
    total = f"{result['ledger_bytes']['total'] / 2 ** 20:.1f}"
    checks.that(total in cells, f"memory {total} in {cells}")
    checks.that(total in texts(section(tree, "memory")), "memory at the bar")


def lost_shares(checks, cwd):
    """The printed shares against a count of the histogram, where no bin is cut by a threshold."""
    program.train(*TINY, "steps=3", "run.histogram_every=1", cwd=cwd)
    with open(f"{cwd}/run/histograms.jsonl") as file:
        tensors = {tensor[0]: tensor for tensor in json.loads(file.readlines()[-1])["tensors"]}
    report(checks, "run", cwd=cwd)
    tree = page(checks, f"{cwd}/run/report.html")
    found = {}
    for end, svg in zip((".out", ".out.grad", ".weight", ".weight.grad"),
                        late_pictures(tree)):
        row = None
        for at in svg.iter("text"):
            classes = (at.get("class") or "").split()
            if "name" in classes:
                row = found.setdefault(at.text if at.text == "input" else at.text + end, [])
            elif row is not None and classes and classes[0].startswith("lost"):
                row.append(at.text)
    checks.that(len(found) > 20, f"ridges: {len(found)}")
    lowest = {"fp16": -25, "1/6/9": -40, "e5m2": -17, "e4m3fn": -10}
    for name, shares in found.items():
        _, elements, _, _, first, bins, _ = tensors[name]
        checks.same(len(shares), len(lowest), f"{name} was not rounded")
        for (candidate, vanish), share in zip(lowest.items(), shares):
            if first + len(bins) > 8:  # may reach the top of e4m3fn
                continue
            lost = 100 * sum(count for i, count in enumerate(bins) if first + i < vanish) / elements
            text = "0" if lost == 0 else "<0.1" if lost < 0.05 else \
                f"{lost:.1f}" if lost < 9.95 else f"{lost:.0f}"
            checks.same(share, text, f"{name}: lost in {candidate}")


def exponent_of(text):
    """The power of two under an axis: "2⁻¹⁵" is -15."""
    return int(text[1:].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))


def rows_of(svg):
    """name: (left and right end of what the format holds normally, in exponents; their bounds in the picture; what it
    lost, as text) of the ridges of a picture that have a range."""
    axis = [(float(at.get("x")), exponent_of(at.text)) for at in marks(svg, "middle") if at.text.startswith("2")]
    (x0, e0), (x1, e1) = axis[0], axis[-1]
    def at_exponent(x):
        return e0 + (x - x0) * (e1 - e0) / (x1 - x0)
    found, name = {}, None
    normal = [(float(at.get("y")), float(at.get("x")), float(at.get("width"))) for at in marks(svg, "normal")
              if at.find("title") is None]  # those of usual formats tell what they are
    for at in svg.iter("text"):
        kinds = at.get("class").split()
        if "name" in kinds:
            y = float(at.get("y"))
            ends = [(x, x + width) for top, x, width in normal if top < y < top + 18]
            name = (at.text, ends[0]) if ends else None
        elif name and kinds[0].startswith("lost"):
            found[name[0]] = (*map(at_exponent, name[1]), at_exponent(114), at_exponent(304), at.text)
            name = None
    return found


def scaled_ranges(checks, cwd):
    """Formats with a scale for each tensor: the range stands where the largest number laid it, the loss is that there."""
    limits = {"e4m3": (240, 248, -6, 7), "e5m2": (57344, 61440, -14, 15)}  # largest, overflow, exponents of the ends
    for name in ("e4m3:scale=current", "e5m2:scale=delayed4"):
        program.train(*TINY, f"precision={name}", "steps=5", "run.histogram_every=4", cwd=cwd)
        with open(f"{cwd}/run/histograms.jsonl") as file:
            largest = {tensor[0]: tensor[6] for tensor in json.loads(file.readlines()[-1])["tensors"]}
        tops, counted = {}, {}
        with open(f"{cwd}/run/numerics.jsonl") as file:
            for row in (line for line in map(json.loads, file) if "tensors" in line):
                for tensor, _, elements, overflow, underflow, _, _, _, top, *_ in row["tensors"]:
                    if row["step"] < 4 and top is not None:
                        tops[tensor] = max(top, tops.get(tensor, top))
                    counted[tensor] = 100 * (overflow + underflow) / elements
        most, overflow, low, high = limits[name[:4]]
        pictures = late_pictures(page(checks, f"{cwd}/run/report.html"))
        found = {row if row == "input" else row + end: ends
                 for end, svg in zip((".out", ".out.grad", ".weight", ".weight.grad"), pictures)
                 for row, ends in rows_of(svg).items()}
        checks.that(len(found) > 30, f"{name}: {len(found)} ranges")
        other = []
        for tensor, (left, right, least, end, lost) in found.items():
            k = math.ceil(math.log2(largest[tensor] / most)) if "current" in name else tops[tensor] - high
            whole = largest[tensor] < overflow * 2.0 ** k  # nothing of its highest binade is too large
            top = max(k + math.log2(overflow), math.floor(math.log2(largest[tensor])) + 1 if whole else -1000)
            expected = [min(max(e, least), end) for e in (k + low, top)]
            checks.that(abs(left - expected[0]) < 0.1 and abs(right - expected[1]) < 0.1,
                        f"{name}: {tensor}: range {left:.2f} to {right:.2f}, expected {expected}")
            # Within a binade that a threshold cuts the numbers may lie anywhere; with a scale of its own nothing is too large.
            if lost == "-" or abs(float(lost.strip("<")) - counted[tensor]) > (2 if "current" in name else 8):
                other.append(f"{tensor}: lost {lost}, counted {counted[tensor]:.1f}")
        # Exponents of earlier steps leave a delayed scale open by one, where the largest number is near the next binade.
        checks.that(len(other) <= (0 if "current" in name else 2), f"{name}: {other}")
        shutil.rmtree(f"{cwd}/run")


def sent_shares(checks, cwd):
    """Gradients that travel: as trained is what was counted on their way."""
    for words in (["comm.format=e3m0", "scaling=aps"], ["comm.format=e4m3", "scaling=constant:-3"]):
        program.train(*TINY, *words, "workers=4", "steps=3", "run.histogram_every=2", cwd=cwd)
        with open(f"{cwd}/run/numerics.jsonl") as file:
            rows = [row for row in map(json.loads, file) if row["step"] == 2 and "tensors" in row]
        counted = {row[0]: 100 * (row[3] + row[4]) / row[2] for row in rows[0]["tensors"]}
        report(checks, "run", cwd=cwd)
        svg = late_pictures(page(checks, f"{cwd}/run/report.html"))[3]
        shown, name = {}, None
        for at in svg.iter("text"):
            classes = (at.get("class") or "").split()
            if "name" in classes:
                name = at.text
            elif name and classes and classes[0].startswith("lost"):
                shown.setdefault(name, at.text)
        checks.that({"conv1", "conv2", "conv3", "fc"} <= set(shown), f"ridges: {shown}")
        for name, text in shown.items():
            # Within a binade that a threshold cuts the numbers may lie anywhere.
            was = counted[f"{name}.weight.grad.wire"]
            checks.that(text != "-" and abs(float(text.strip("<")) - was) <= 8,
                        f"{words}: {name}: shown {text}, counted {was:.1f}")
        checks.that(max(counted.values()) > 20, f"much is lost: {counted}")
        shutil.rmtree(f"{cwd}/run")


def losses(checks, cwd):
    """The table against sums over numerics.jsonl."""
    program.train(*TINY, "steps=5", "precision=e4m3fn:ovf=sat", cwd=cwd)
    tensors = {}
    with open(f"{cwd}/run/numerics.jsonl") as file:
        for line in map(json.loads, file):
            for name, form, elements, overflow, underflow, subnormal, *_ in line.get("tensors", []):
                if form != "float32":
                    sums = tensors.setdefault(name, [0, 0, 0, 0])
                    for i, count in enumerate((elements, overflow, underflow, subnormal)):
                        sums[i] += count
    report(checks, "run", cwd=cwd)
    part = section(page(checks, f"{cwd}/run/report.html"), "losses")
    rows = [[cell.text for cell in row.iter("td")] for row in part.iter("tr")][1:]
    checks.that(3 < len(rows) <= 12, f"rows: {len(rows)}")

    def share(count, elements):
        value = 100 * count / elements
        return "0" if value == 0 else f"{value:.0e}" if value < 0.001 else f"{value:.3f}"
    for row in rows:
        elements, overflow, underflow, subnormal = tensors[row[0]]
        checks.same([row[3], row[5], row[7]],
                    [share(count, elements) for count in (overflow, underflow, subnormal)], row[0])
    order = [(tensors[row[0]][1] + tensors[row[0]][2]) / tensors[row[0]][0] for row in rows]
    checks.same(order, sorted(order, reverse=True), "those that lost most first")
    lost = {name: (sums[1] + sums[2]) / sums[0] for name, sums in tensors.items()}
    checks.same(order[0], max(lost.values()), "the first lost most of all")
    part = section(page(checks, f"{cwd}/run/report.html"), "ratios")
    legends = [["".join(item.itertext()).strip() for item in legend] for legend in part.iter("ul")]
    kinds = [which for which in (1, 2, 3) if any(sums[which] for sums in tensors.values())]
    for found, which in zip(legends, kinds, strict=True):
        shares = {name: sums[which] / sums[0] for name, sums in tensors.items() if sums[which]}
        worst = sorted(shares.values(), reverse=True)[:5]
        checks.same([shares.get(name) for name in found], worst, "the five that lost most")


def promotions(checks, cwd):
    """What promotion added against the share that was demoted, and nothing without two of them."""
    keys = [*TINY, "epochs=3", "precision.promote_at=0.002", "run.dir=c",
            "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)"]
    names = ["demote:0.4+promote", "demote:0.8+promote", "uniform+promote"]
    found, _, err = program.call("compare", "precision=" + ",".join(names), *keys, cwd=cwd)
    checks.same(found, 0, f"compare: {err}")
    with open(f"{cwd}/c/compare.json") as file:
        rows = json.load(file)["rows"]
    part = section(page(checks, f"{cwd}/c/report.html"), "promoted")
    tips = [tip.text for tip in part.iter("title")]
    for row in rows:
        with open(f"{cwd}/{row['run']}/plan.json") as file:
            high = 16 * json.load(file)["tensor_elements"]
        added = 100 * (row["model_aggregate_bits"] - row["model_aggregate_bits_start"]) / high
        checks.same(added > 0, row["promoted"] > 0, f"{row['precision']}: promoted")
        checks.that(f"{row['precision']}: promotions add {added:.3g} % of the aggregate with all high"
                    in tips, f"{row['precision']}: {added:.3g} % in {tips}")
    checks.that(sum(row["promoted"] for row in rows) > 1, "tensors were promoted")
    report(checks, f"c/{os.path.basename(rows[0]['run'])}", "-o", "one.html", cwd=cwd)
    checks.same(section(page(checks, f"{cwd}/one.html"), "promoted"), None, "one point is no picture")


def bands(checks, cwd, tree, made):
    """Curves are means over the seeds, in a band from the least to the largest."""
    loss = next(svg for svg in section(tree, "curves").iter("svg") if svg.get("aria-label") == "loss")
    axis = [(float(at.get("y")), float(at.text)) for at in marks(loss, "tick") if "end" in at.get("class").split()]
    (y0, v0), (y1, v1) = axis[0], axis[-1]

    def points(at):
        return [tuple(map(float, pair)) for pair in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", at.get("d"))]
    found = {}
    for kind in ("line", "spread"):
        for at in marks(loss, kind):
            found.setdefault(at.get("class").split()[1], {})[kind] = points(at)
    checks.same(len(found), len(made["precisions"]), "a line for each precision")
    for number, mean in enumerate(made["precisions"]):
        seeds = []
        for row in made["rows"]:
            if row["precision"] == mean["precision"]:
                with open(f"{cwd}/{row['run']}/metrics.jsonl") as file:
                    seeds.append([line["loss"] for line in map(json.loads, file) if line.get("loss") is not None])
        checks.same(len(seeds), 2, "two seeds")
        line, spread = found[f"c{number}"]["line"], found[f"c{number}"]["spread"]
        half = len(spread) // 2
        checks.same((len(line), len(spread)), (len(seeds[0]), 2 * len(seeds[0])), f"{mean['precision']}: all rows are drawn")
        for i, losses in enumerate(zip(*seeds)):
            edges = (spread[i][1], spread[-1 - i][1], line[i][1])
            values = [v0 + (y - y0 + 4) * (v1 - v0) / (y1 - y0) for y in edges]  # numbers stand 4 pixels below their lines
            for value, expected in zip(values, (max(losses), min(losses), sum(losses) / 2)):
                checks.that(abs(value - expected) < 0.02 * abs(v1 - v0), f"{mean['precision']} {i}: {value}, expected {expected}")
        checks.that(half > 1 and spread[0][0] == spread[-1][0], "the band begins and ends at one step")


def many_runs(checks, cwd):
    found, _, err = program.call("compare", "precision=fp32,hfp8,demote:0.3,demote:0.6", "seeds=1,2",
                                 *TINY, "steps=4", "run.dir=c", "run.histogram_every=2", cwd=cwd)
    checks.same(found, 0, f"compare: {err}")
    checks.that(os.path.exists(f"{cwd}/c/report.html"), "compare ends with a report")
    report(checks, "c", "-o", "here.html", cwd=cwd)
    tree = page(checks, f"{cwd}/here.html")
    checks.same([part.get("id") for part in tree.iter("section")], ["pareto", *[name for name in SECTIONS if name != "confusion"]], "sections")
    with open(f"{cwd}/c/compare.json") as file:
        made = json.load(file)
    rows = [[cell.text for cell in row.iter("td")] for row in section(tree, "results").iter("tr")]
    expected = [mean["precision"] + (" *" if mean["pareto"] else " (far below)" if mean["far_below"] else "")
                for mean in made["precisions"]]
    checks.same([row[0] for row in rows if row], expected, "rows and front of the table")
    points = [at for at in marks(section(tree, "pareto"), "mark") if at.find("title") is not None]
    checks.same(len(points), 8, "each precision has a point in both pictures")
    wide = [mean for mean in made["precisions"]
            if mean["test_accuracy_least"] < mean["test_accuracy_most"]]
    checks.that(wide, "seeds differ")
    checks.same(len(marks(section(tree, "pareto"), "range")), 2 * len(wide),
                "with its range over the seeds where they differ")
    for row, mean in zip(rows[1:], made["precisions"]):
        number, deviation = (100 * mean[f"test_accuracy{part}"] for part in ("", "_deviation"))
        checks.same(row[1], f"{number:.2f} ± {deviation:.2f}", "mean and deviation over the seeds")
        if any(mean["collapsed"] for mean in made["precisions"]):
            checks.same(row[-1], str(mean["collapsed"]), "how many collapsed")
    best = max((mean["test_accuracy"] for mean in made["precisions"] if not mean["collapsed"]), default=None)
    for row, mean in zip(rows[1:], made["precisions"]):
        behind = None if best is None else 100 * (best - mean["test_accuracy"])
        checks.same(row[3].split()[0], "-" if behind is None or behind < 0 else f"{behind:.2f}" if behind else "0",
                    f"{mean['precision']}: behind the best")
    for title, key in (("promoted", "promoted"), ("skipped", "skipped_steps"), ("collapsed", "collapsed")):
        checks.same(title in [head.text for head in section(tree, "results").iter("th")], any(row.get(key) for row in made["rows"]),
                    f"a column of what is {title} where any is")
    notes = " ".join(section(tree, "results").itertext())
    for text in ["Evaluated with the rounded weights."] + [
            f"collapsed: {row['collapsed']}" for row in made["rows"] if "collapsed" in row]:
        checks.that(text in notes, f"the notes hold {text!r}")
    bands(checks, cwd, tree, made)
    legend = [at for at in texts(next(section(tree, "pareto").iter("ul"))) if at.strip()]
    checks.same(legend, ["fp32", "hfp8", "demote"], "colours go by family")
    for run in ("c/fp32-s1", "c/demote_0.6-s2"):
        checks.that(run in texts(section(tree, "settings")), f"{run} is named")
    program.call("compare", "precision=fp16", *TINY, "steps=4", "run.dir=c", "run.histogram_every=2",
                 cwd=cwd)
    out, _ = report(checks, "c/", "--json", cwd=cwd)
    checks.same([run["label"] for run in json.loads(out)["runs"]],
                ["fp16"] + [f"{name} seed {seed}" for name in ("demote:0.3", "demote:0.6", "fp32", "hfp8")
                            for seed in (1, 2)], "rows of all lists over the folder")
    out, _ = report(checks, "c/fp32-s1", "c/hfp8-s1/", "--json", "out=two.html", cwd=cwd)
    made = json.loads(out)
    checks.same(([run["label"] for run in made["runs"]], made["report"]),
                (["fp32", "hfp8"], "two.html"), "the JSON of report")


def several_tasks(checks, cwd):
    """Title and labels tell models and data apart; losses of two tasks have a picture each."""
    program.write_idx(f"{cwd}/idx")
    program.train(*TINY, "steps=4", cwd=cwd, run="a")
    program.train(*TINY, "steps=4", "precision=hfp8", cwd=cwd, run="b")
    program.train(*TINY, "steps=6", "model=autoencoder", "model.width=0.25", cwd=cwd, run="c")
    program.train(*TINY, "steps=4", "data=idx:idx", cwd=cwd, run="d")

    def of(*runs):
        out, _ = report(checks, *runs, "out=p.html", "--json", cwd=cwd)
        tree = page(checks, f"{cwd}/p.html")
        labels = [run["label"] for run in json.loads(out)["runs"]]
        title, lead = (next(at.text for at in tree.iter(tag)) for tag in ("h1", "p"))
        return title, lead, labels, section(tree, "curves")
    title, lead, labels, curves = of("a", "b")
    checks.same((title, labels), ("cnn-s in 2 precisions", ["fp32", "hfp8"]), "one model")
    checks.that("cnn-s on glyphs" in lead and "; 4 steps" in lead, lead)
    checks.same([at.text for at in curves.iter("h3")], ["Training loss", "Test accuracy"],
                "one loss")
    title, lead, labels, curves = of("a", "c", "b")
    checks.same((title, labels), ("cnn-s and autoencoder of width 0.25 in 2 precisions",
                                  ["cnn-s: fp32", "autoencoder of width 0.25: fp32", "cnn-s: hfp8"]),
                "two models")
    checks.that("cnn-s on glyphs, " in lead and "autoencoder of width 0.25 on glyphs, " in lead
                and "steps" not in lead, lead)
    headings = [at.text for at in curves.iter("h3")]
    checks.same(headings, ["Training loss: nll of classify", "Training loss: mse of autoencode",
                           "Test accuracy", "Test psnr"], "a picture for each loss and metric")
    names = [[at.text for at in part.iter("li")] for part in curves.iter("ul")]
    checks.same([len(part) for part in names], [2, 1, 2, 1], "lines of each picture")
    title, lead, labels, _ = of("a", "d")
    checks.same((title, labels), ("cnn-s in fp32", ["glyphs: fp32", "idx:idx: fp32"]), "two data sets")


def several_wires(checks, cwd):
    """Runs that differ in how gradients travel are told apart, in words that fit the pictures."""
    keys = [*TINY, "steps=3", "model.width=0.5"]
    ways = {"a": ["workers=4", "comm.format=e5m2", "scaling=aps"],
            "b": ["workers=4", "comm.format=e5m2", "scaling=aps2"],
            "c": ["workers=4", "comm.format=e5m2", "scaling=aps", "schedule=halving"],
            "d": ["workers=2", "comm.format=e4m3"], "e": []}
    for run, words in ways.items():
        program.train(*keys, *words, cwd=cwd, run=run)

    def of(*runs):
        out, _ = report(checks, *runs, "out=p.html", "--json", cwd=cwd)
        tree = page(checks, f"{cwd}/p.html")
        return tree, next(tree.iter("h1")).text, [run["label"] for run in json.loads(out)["runs"]]
    _, title, labels = of("a")
    checks.same((title, labels), ("cnn-s of width 0.5 in fp32, 4 workers, e5m2 aps", ["fp32"]),
                "one run with workers")
    _, title, labels = of("a", "b")
    checks.same((title, labels), (
        "cnn-s of width 0.5 in fp32, 4 workers, gradients sent in 2 ways",
        ["fp32, 4 workers, e5m2 aps", "fp32, 4 workers, e5m2 aps2"]), "two scalings")
    tree, title, labels = of(*ways)
    checks.same((title, labels), (
        "cnn-s of width 0.5 in fp32, gradients sent in 5 ways",
        ["fp32, 4 workers, e5m2 aps by ring", "fp32, 4 workers, e5m2 aps2",
         "fp32, 4 workers, e5m2 aps by halving", "fp32, 2 workers, e4m3", "fp32"]), "five ways")
    bars = {at.text: float(at.get("x")) for at in section(tree, "memory").iter("text")
            if "name" in (at.get("class") or "").split()}
    checks.same(sorted(bars), sorted(labels), "each bar has its label")
    parts = {text.strip() for text in texts(next(section(tree, "memory").iter("ul")))}
    checks.that("workers" in parts and "optimizer" in parts, f"workers have a part: {parts}")
    with open(f"{cwd}/b/result.json") as file:
        roles = json.load(file)["ledger_bytes"]
    with open(f"{cwd}/e/result.json") as file:
        alone = json.load(file)["ledger_bytes"]
    checks.same((roles["optimizer"], "workers" in alone), (alone["optimizer"], False),
                "what workers hold is not the optimizer's")
    checks.that(roles["workers"] > 4 * roles["optimizer"], "a gradient for each, and more")
    checks.that(all(x + 8 * len(label) < 560 for label, x in bars.items()), f"with room for it: {bars}")


def hostile_names(checks, cwd):
    """A data set whose path is markup, and control characters in files."""
    folder = "<b>&\"'"
    program.write_idx(f"{cwd}/{folder}")
    keys = [f"data=idx:{folder}", "threads=1", "batch=32", "steps=2", "run.log_every=1"]
    code, _, err = program.call("train", *keys, "run.dir=a=<i>&b", cwd=cwd)
    checks.same(code, 0, f"train: {err}")
    report(checks, "a=<i>&b", "out=p.html", cwd=cwd)
    tree = page(checks, f"{cwd}/p.html")
    checks.that(any(folder in text for text in texts(tree)), "the name is there, as a text")
    with open(f"{cwd}/a=<i>&b/result.json") as file:
        result = json.load(file)
    result["diverged"] = "step 1: </p><script>\u0001\u001b[31m"
    with open(f"{cwd}/a=<i>&b/result.json", "w") as file:
        json.dump(result, file)
    report(checks, "a=<i>&b", "out=p.html", cwd=cwd)
    checks.that(any("</p><script>??[31m" in text for text in texts(page(checks, f"{cwd}/p.html"))),
                "control characters are replaced")


def what_is_missing(checks, cwd):
    program.train(*TINY, "steps=4", "run.histogram_every=2", cwd=cwd)
    for name, kept in (("histograms.jsonl", "curves"), ("plan.json", "exponents"),
                       ("result.json", "groups"), ("numerics.jsonl", "curves")):
        shutil.copytree(f"{cwd}/run", f"{cwd}/copy")
        os.remove(f"{cwd}/copy/{name}")
        _, err = report(checks, "copy", cwd=cwd)
        tree = page(checks, f"{cwd}/copy/report.html")
        checks.that(section(tree, kept) is not None, f"without {name}: {kept} are there")
        note = [at for at in marks(tree, "note") if "lacks" in (at.text or "")]
        checks.that(note and "lacks" in err, f"without {name}: the page and stderr say so: {err}")
        shutil.rmtree(f"{cwd}/copy")
    for name, line in (("numerics.jsonl", '{"step": 0, "tensors": [["a", "b", 1]]}\n'),
                       ("metrics.jsonl", "no JSON\n"), ("histograms.jsonl", '{"step": 1}\n'),
                       ("plan.json", "{}"), ("result.json", "[1, 2")):
        shutil.copytree(f"{cwd}/run", f"{cwd}/copy")
        with open(f"{cwd}/copy/{name}", "w") as file:
            file.write(line)
        _, err = report(checks, "copy", cwd=cwd)
        checks.that(name in err, f"a damaged {name} is named: {err}")
        page(checks, f"{cwd}/copy/report.html")
        shutil.rmtree(f"{cwd}/copy")


def diverged(checks, cwd):
    program.call("compare", "precision=fp32,e4m3fn:ovf=sat", *TINY, "lr=1e6",
                 "lr.schedule=constant", "lr.warmup=0", "steps=20", "run.dir=c", cwd=cwd)
    tree = page(checks, f"{cwd}/c/report.html")
    alarms = ["".join(at.itertext()) for at in tree.iter("p") if at.get("class") == "alarm"]
    with open(f"{cwd}/c/compare.json") as file:
        rows = json.load(file)["rows"]
    checks.same(len(alarms), 2, f"a sentence for each run that broke: {alarms}")
    for alarm, row in zip(alarms, rows):
        for text in (f"{row['precision']} broke after {row['steps']} of 20 steps.", row["diverged"], f"`halfulp why {row['run']}`",
                     "try=1"):
            checks.that(text in alarm, f"it says where, why and what to try: {text!r} in {alarm!r}")
    first = next(at for at in tree.find("body").find("main") if at.tag != "header")
    checks.same(first.get("class"), "alarm", "the page begins with it")
    report(checks, os.path.relpath(f"{cwd}/{rows[1]['run']}", cwd), "out=one.html", cwd=cwd)
    alarm = next(at for at in page(checks, f"{cwd}/one.html").iter("p") if at.get("class") == "alarm")
    checks.that(alarm.find("strong").text.startswith("This run broke after "), "of one run alone")
    checks.same(len(marks(section(tree, "pareto"), "absent")), 2, "marked without an accuracy")


def broke_at_once(checks, cwd):
    """Of a run whose first forward pass ended it: what is NaN is not called zero, nor lost to a format that did not
    make it; the tensor that broke it is the first."""
    code, _, err = program.call("train", *TINY, "precision=e2m5", "steps=3", "run.dir=run", cwd=cwd)
    death = json.loads(program.call("why", "run", "--json", cwd=cwd)[1])["death"]
    checks.same((code, death["kind"], death["step"]), (4, "overflow", 0), err)
    with open(f"{cwd}/run/numerics.jsonl") as file:
        counts = {row[0]: row for line in map(json.loads, file) for row in line.get("tensors", []) if row[1] != "float32"}
    tree = page(checks, f"{cwd}/run/report.html")
    part = section(tree, "losses")
    rows = [[cell.text for cell in row.iter("td")] for row in part.iter("tr")][1:]
    checks.same(rows[0][0], death["tensor"], f"the cause is the first: {rows}")
    checks.that(all((row[3], row[5]) != ("0", "0") for row in rows), f"each has lost something: {rows}")
    got = sum(row[8 - 1] > 0 and row[3] + row[4] == 0 for row in counts.values())
    notes = " ".join(texts(part))
    checks.that(got > 3 and f"{got} tensors more had NaN, which rounding did not make" in notes, f"{got} of NaN alone: {notes}")
    checks.same(section(tree, "curves"), None, "no heading over nothing")
    with open(f"{cwd}/run/histograms.jsonl") as file:
        tensors = [json.loads(line) for line in file][-1]["tensors"]
    nan = [row[0] for row in tensors if row[1] and row[3] == row[1]]
    zero = [row[0] for row in tensors if row[1] and row[2] == row[1]]
    said = texts(section(tree, "exponents"))
    shown = [name for name in zero if not name.endswith(".bias")]
    checks.same((said.count("all infinite or NaN"), said.count("all zero")), (len(nan), len(shown)), f"{nan}, {zero}")
    checks.that(len(nan) > 3, f"the case has such tensors: {nan}")
    made = json.loads(program.call("stats", "run", "--json", cwd=cwd)[1])
    wide = next(table for table in made["formats"] if table["format"] == "fp16")
    checks.same(wide["most"]["all"]["overflow"], 0, "fp16 would overflow nowhere: all that is finite is below its end")


def bits(checks, cwd):
    """Rows are the layers, cells the bits of the steps; many changes are drawn as means."""
    model = ["model=resnet20", "model.width=0.25", *TINY, "lr.warmup=0", "run.log_every=50"]
    few = program.train(*model, "steps=9", "precision=staged", "bits.per=step",
                        "bits.stages=[0: 3, 2: 6 4 5, 5: 8]", cwd=cwd, run="a/few")
    many = program.train(*model, "steps=330", "data.limit=32", "batch=8", "precision=random",
                         "bits.set=[3, 5, 7]", "bits.every=1", cwd=cwd, run="a/many")
    report(checks, "a", cwd=cwd)
    tree = page(checks, f"{cwd}/a/report.html")
    part = section(tree, "bits")
    pictures = list(part.iter("svg"))
    checks.same(len(pictures), 2, "a heat map for each run")
    checks.that(section(tree, "groups") is None, "such runs are not drawn by group")
    for made, svg in zip((few, many), pictures):
        names = [at.text for at in marks(svg, "tick") if "end" in at.get("class").split()]
        checks.same(names, [layer["name"] for layer in made["bits"]["layers"]], "a row per layer")
        notes = [at.text for at in svg.iter("text") if re.fullmatch(r"\d+, \d+", at.text or "")]
        checks.same(notes, [f"{layer['bits']}, 8" for layer in made["bits"]["layers"]],
                    "bits of the trained model at the rows")
    tips = [at.text for at in pictures[0].iter() if at.tag.endswith("title") and at.text]
    checks.same([tip for tip in tips if tip.startswith("conv1:")],
                ["conv1: 3 bits, steps 0 to 2", "conv1: 6 bits, steps 2 to 5",
                 "conv1: 8 bits, steps 5 to 9"], "stages of the first layer")
    with open(f"{cwd}/a/many/bits.jsonl") as file:
        changes = {line["step"]: line["bits"][0][1] for line in map(json.loads, file)}
    present, drawn = None, [0.0] * 160  # a 160th of 330 steps is no whole number of them
    for step in range(330):
        present = changes.get(step, present)
        for i in range(160):
            low, high = max(step, 330 * i / 160), min(step + 1, 330 * (i + 1) / 160)
            drawn[i] += present * max(0.0, high - low) / (330 / 160)
    tips = [at.text for at in pictures[1].iter() if at.tag.endswith("title") and at.text]
    found = [tuple(map(float, re.findall(r"[\d.]+", tip.split(":")[1])))
             for tip in tips if tip.startswith("conv1:")]
    checks.that(150 < len(found) <= 160, f"parts: {len(found)}")
    for b, from_step, to_step in found:
        middle = min(int((from_step + to_step) / 2 / (330 / 160)), 159)
        near = drawn[max(middle - 1, 0):middle + 2]
        checks.that(min(abs(b - mean) for mean in near) < 5e-3, f"part at {from_step}: {b}, {near}")
    for text in ("Accuracy against the cost of training", "Accuracy against the cost of inference"):
        checks.that(text in texts(section(tree, "pareto")), text)
    sections = [part.get("id") for part in tree.iter("section")]
    checks.that(sections.index("bits") < sections.index("exponents"), "bits stand before exponents")
    # Ranges that end differently, of the same work, are shares of the dearest: 8 bits, not 7.
    rows = [[cell.text for cell in row.iter("td")] for row in section(tree, "results").iter("tr")]
    for made, row in zip((few, many), rows[1:]):
        checks.same(row[5:7], [f"{made['bits'][f'relative_{which}_cost']:.3f}"
                               for which in ("training", "inference")], "costs of other work")
    checks.that("promoted" not in texts(section(tree, "results")), "no column without numbers")
    four = program.train(*TINY, "steps=4", "precision=static:4", cwd=cwd, run="b/four")
    eight = program.train(*TINY, "steps=4", "precision=static:8", cwd=cwd, run="b/eight")
    report(checks, "b", cwd=cwd)
    tree = page(checks, f"{cwd}/b/report.html")
    rows = {row[0].split()[0]: row for row in
            [[cell.text for cell in row.iter("td")] for row in section(tree, "results").iter("tr")]
            if row}
    share = four["bits"]["training_bitops"] / eight["bits"]["training_bitops"]
    checks.same((rows["static:4"][5:7], rows["static:8"][5:7]),
                ([f"{share:.3f}", "0.250"], ["1.000", "1.000"]), "costs over those of 8 bits")
    costs = " ".join(texts(part))
    for made in (few, many):
        checks.that(f"Training cost {made['bits']['relative_training_cost']:.3f}" in costs, "cost")


def bad_input(checks, cwd):
    def bad(words, code, *needles):
        _, err = report(checks, *words, cwd=cwd, code=code)
        for needle in needles:
            checks.that(needle in err, f"report {words}: {needle!r} in {err!r}")
    bad([], 2, "RUN")
    bad(["nowhere"], 3, "nowhere", "config.resolved.yaml")
    os.mkdir(f"{cwd}/empty")
    bad(["empty"], 3, "empty", "found no run")
    program.train(*TINY, "steps=2", cwd=cwd)
    bad(["run", "out=nowhere/r.html"], 3, "nowhere")
    bad(["run", "empty"], 3, "empty")
    checks.that(not os.path.exists(f"{cwd}/report.html"), "a failed report writes nothing")
    with open(f"{cwd}/run/config.resolved.yaml", "w") as file:
        file.write("precision: {name: [1,\n")
    bad(["run"], 2, "config.resolved.yaml")


if __name__ == "__main__":
    program.main(one_run, lost_shares, scaled_ranges, sent_shares, losses, promotions, many_runs, several_tasks, several_wires, hostile_names, what_is_missing, diverged, broke_at_once,
                 bits, bad_input)
