"""Every number of a report's page against the file that it comes from, for models of each family and each kind of quantizer."""
import json
import os
import re
import xml.etree.ElementTree as xml

import program

COMMON = ["threads=1", "run.log_every=1", "run.histogram_every=2", "steps=3", "lr.warmup=0"]
GLYPHS = ["data=glyphs", "data.limit=48", "data.test_limit=16", "batch=16"]
TEXT = ["data=text:text.txt", "data.length=16", "batch=4"]
RUNS = {
    "cnn": ["model=cnn-s", *GLYPHS, "precision=fp32"],
    "cnn, float, workers": ["model=cnn-s", *GLYPHS, "precision=1/6/9", "workers=2", "comm.format=e5m2", "scaling=aps"],
    "cnn, accumulators, state": ["model=cnn-s", "model.width=0.25", *GLYPHS, "precision=hfp8", "optimizer.state=bf16",
                                 "accumulator=fmac8:1/6/9", "accumulator.count_every=1"],
    "residual, blocks": ["model=resnet20", "model.width=0.25", *GLYPHS, "precision=mxfp8"],
    "depthwise, blocks under a scale": ["model=mobilenet-v2", "model.width=0.1", *GLYPHS, "precision=nvfp4"],
    "vision transformer, scaled": ["model=deit-s", "model.width=0.25", *GLYPHS, "precision=e4m3:scale=current"],
    "autoencoder, delayed scales": ["model=autoencoder", "model.width=0.25", *GLYPHS, "precision=e5m2:scale=delayed4"],
    "variational, uniform": ["model=cvae-s", "model.width=0.25", *GLYPHS, "precision=uniform8"],
    "two networks, dynamic bias": ["model=dcgan-s", "model.width=0.5", *GLYPHS, "precision=fp(4,3,4):scale=bias"],
    "LSTM, uniform and float": ["model=lstm-lm-s", "model.width=0.25", *TEXT, "precision=demote:0.5",
                                "precision.low=uniform4"],
    "transformer, float by role": ["model=transformer-lm-s", "model.width=0.25", *TEXT, "precision=hfp8"],
    "boxes, channels": ["model=ssd-s", "model.width=0.25", "data=boxes:boxes", "batch=4", "precision=w=uniform4:channel,act=uniform8:running,grad=e5m2"],
    "proposals": ["model=faster-rcnn-s", "model.width=0.25", "data=boxes:boxes", "batch=2", "precision=bf16"],
    "pixels, two heads": ["model=fcn-s", "model.width=0.25", "data=dense:maps", "data.unlabelled=9", "batch=2",
                          "precision=mxint8"],
    "enlarged pictures": ["model=pan-s", "model.width=0.5", "data=pairs:pictures", "data.crop=8", "batch=2",
                          "precision=e4m3fn:scale=2^3"],
    "promoted": ["model=cnn-s", *GLYPHS, "data.limit=192", "steps=16", "precision=uniform+promote",
                 "precision.promote_at=0.001",
                 "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)"],
}
ROLES = ["Activations", "Gradients of activations", "Weights", "Gradients of weights", "State of the optimizer"]
RIDGES = 120  # of a picture
LOWEST = {"fp16": -25, "1/6/9": -40, "e5m2": -17, "e4m3fn": -10}  # what is smaller is lost: exponents below


def read_lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def read(path):
    with open(path) as file:
        return json.load(file)


def classes(at):
    return (at.get("class") or "").split()


class Run:
    """The files of a run, and its page by sections."""

    def __init__(self, folder):
        self.result = read(f"{folder}/result.json")
        self.plan = read(f"{folder}/plan.json")
        self.graph = read(f"{folder}/graph.json")
        self.numerics = read_lines(f"{folder}/numerics.jsonl")
        self.histograms = read_lines(f"{folder}/histograms.jsonl")
        self.values = {value["name"]: value for value in self.graph["values"]}
        with open(f"{folder}/report.html", encoding="utf-8") as file:
            tree = xml.fromstring(file.read().removeprefix("<!doctype html>\n"))
        self.lead = next(at.text for at in tree.iter("p"))
        self.sections = {part.get("id"): part for part in tree.iter("section")}

    def role(self, tensor):
        """(role, is a vector) of a recorded tensor: by the value that it belongs to."""
        name, is_gradient = tensor, False
        is_state = tensor.endswith((".momentum", ".squares")) and tensor not in self.values
        while name not in self.values:
            name, _, _ = name.rpartition(".")
            is_gradient = True
        value = self.values[name]
        is_parameter = value["role"] == "parameter"
        return 4 if is_state else 2 * is_parameter + is_gradient, is_parameter and len(value["shape"]) < 2

    def rows(self, section):
        """Rows of the first table of a section, cell by cell."""
        table = next(self.sections[section].iter("table"))
        return [["".join(cell.itertext()) for cell in row.iter("td")] for row in table.iter("tr")][1:]


def share(count, elements):
    value = 100 * count / elements
    return "0" if value == 0 else "<0.001" if value < 0.0005 else f"{value:.3f}"


def results(checks, name, run):
    metric, result = run.result["metric"], run.result
    titles = [at.text for at in run.sections["results"].iter("th")]
    row = dict(zip(titles, run.rows("results")[0]))
    factor = 100 if titles[1].endswith("%") else 1

    def number(value):
        digits = len(row[titles[1]].partition(".")[2])  # each metric has its own
        return "-" if value is None else f"{factor * value:.{digits}f}"
    mib = 2.0 ** 20
    rate = result.get("tokens_per_second", result["images_per_second"])
    start, end, mean = (result[f"model_aggregate_bits{part}"] / 8 / mib for part in ("_start", "", "_mean"))
    expected = {titles[1]: number(metric["value"]), "memory MiB": f"{result['ledger_bytes']['total'] / mib:.1f}",
                "RSS MiB": f"{result['peak_rss_bytes'] / mib:.1f}", "ended": "0 of 1" if "diverged" in result else "1 of 1",
                "aggregate MiB": f"{end:.1f}" if start == end == mean else f"{start:.3g} to {end:.3g}, {mean:.3g}"}
    expected["tokens/s" if "tokens_per_second" in result else "samples/s"] = f"{rate:.0f}"
    if "promoted" in titles:
        expected["promoted"] = f"{result['promoted']:.1f}"
    if "low ratio" in titles:
        expected["low ratio"] = f"{result['low_precision_ratio']:.3f}"
    if "skipped" in titles:
        expected["skipped"] = f"{result['skipped_steps']:.1f}"
    for title, text in expected.items():
        checks.same(row.get(title), text, f"{name}: results: {title}")
    checks.same("promoted" in titles, result["promoted"] > 0, f"{name}: a column of promotions")
    checks.same("skipped" in titles, result["skipped_steps"] > 0, f"{name}: a column of skipped steps")
    checks.that(f"{result['parameters']} parameters" in run.lead and f"; {result['steps']} steps" in run.lead,
                f"{name}: parameters and steps: {run.lead}")


def ridges_of(svg):
    """[(name in full, shares lost)] of a picture."""
    found = []
    for at in svg.iter("text"):
        if "name" in classes(at):
            title = at.find("title")
            found.append((title.text if title is not None else at.text, []))
        elif found and classes(at) and classes(at)[0].startswith("lost"):
            found[-1][1].append(at.text)
    return found


def exponents(checks, name, run):
    """A ridge for each recorded tensor of a role, in the order of the file; the others are counted."""
    part = run.sections["exponents"]
    for record, pictures in ((run.histograms[0], list(part.iter("svg"))[0::2]),
                             (run.histograms[-1], list(part.iter("svg"))[1::2])):
        expected, vectors, empty = {role: [] for role in ROLES}, 0, 0
        for tensor in record["tensors"]:
            role, is_vector = run.role(tensor[0])
            if is_vector or tensor[1] == 0:
                vectors, empty = vectors + is_vector, empty + (not is_vector)
            else:
                expected[ROLES[role]].append(tensor)
        found = {svg.get("aria-label"): ridges_of(svg) for svg in pictures}
        checks.same({label: len(rows) for label, rows in found.items()},
                    {f"{role}, step {record['step']}": min(len(rows), RIDGES) for role, rows in expected.items() if rows},
                    f"{name}: ridges")
        for role, tensors in expected.items():
            rows = found.get(f"{role}, step {record['step']}", [])
            checks.same(len({row for row, _ in rows}), len(rows), f"{name}: {role}: names differ")
            for tensor, (row, lost) in zip(tensors, rows):
                checks.that(tensor[0].startswith(row.partition(" (")[0]), f"{name}: {tensor[0]} is drawn as {row}")
                _, elements, zero, nonfinite, *_ = tensor
                word = ("all zero" if zero == elements else "all infinite or NaN" if nonfinite == elements else
                        "all zero, infinite or NaN" if zero + nonfinite == elements else None)
                checks.same([text for text in lost if text.startswith("all ")], [word] if word else [],
                            f"{name}: {tensor[0]}: what there is of it")
                if not word:
                    candidates(checks, f"{name}: {tensor[0]}", tensor, lost[-len(LOWEST):])
    notes = " ".join(at.text for at in part.iter("p") if "note" in classes(at))
    text = f"Of the {len(run.histograms[-1]['tensors'])} recorded tensors {vectors + empty} are not drawn: "
    checks.that(not vectors + empty or text in notes, f"{name}: {text!r} in {notes!r}")
    for role, tensors in expected.items():
        more = len(tensors) - RIDGES
        checks.that(more <= 0 or f"{more} more tensors" in notes, f"{name}: {more} more of {role} in {notes!r}")
    checks.that(not vectors or f"{vectors} parameters of one dimension" in notes, f"{name}: {vectors} vectors in {notes!r}")


def candidates(checks, what, tensor, lost):
    """Shares that usual formats would lose, of histograms that no upper threshold cuts."""
    _, elements, _, _, first, bins, _ = tensor
    for (candidate, lowest), text in zip(LOWEST.items(), lost):
        if first + len(bins) > 8:
            continue
        value = 100 * sum(count for i, count in enumerate(bins) if first + i < lowest) / elements
        expected = "0" if value == 0 else "<0.1" if value < 0.05 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
        checks.same(text, expected, f"{what}: lost in {candidate}")


def groups(checks, name, run):
    """Bits, share and precision of every group as plan.json has them; promotions change them from their step on."""
    part = run.sections["groups"]
    texts = [at.text for at in part.iter("text")]
    tips = [re.fullmatch(r"group (\d+): (\S+) bits, steps (\d+) to (\d+)", at.text) for at in part.iter("title")]
    spans = {}
    for tip in filter(None, tips):
        spans.setdefault(int(tip[1]), []).append((float(tip[2]), int(tip[3]), int(tip[4])))
    checks.same(sorted(spans), [group["id"] for group in run.plan["groups"]], f"{name}: groups")
    made = {row[0] for record in run.numerics for row in record.get("tensors", [])}
    for group in run.plan["groups"]:
        # plan.json has a gradient for every tensor, made or not: of the data and of tensors behind the loss none is.
        is_whole = all(tensor in made and f"{tensor}.grad" in made for tensor in group["tensors"])
        bits = group["bits"] / group["elements"]
        if is_whole:
            checks.same(spans[group["id"]][0][0], float(f"{bits:.4g}"), f"{name}: group {group['id']}: bits")
        checks.that(f"{100 * group['share']:.2f} %  {group['precision']}" in texts, f"{name}: group {group['id']}: share")
    return any(len(row) > 1 for row in spans.values())


def memory(checks, name, run):
    texts = {at.text for at in run.sections["memory"].iter("text")}
    legend = {"".join(item.itertext()).strip() for item in run.sections["memory"].iter("li")}
    sums = ("arena", "saved", "total")
    roles = {role for role, size in run.result["ledger_bytes"].items() if size and role not in sums}
    checks.same(legend, roles, f"{name}: roles of memory")
    checks.that(f"{run.result['ledger_bytes']['total'] / 2 ** 20:.1f}" in texts, f"{name}: all memory")
    tips = [at.text for at in run.sections["memory"].iter("title")]
    for role in roles:
        if run.result["ledger_bytes"][role] < run.result["ledger_bytes"]["total"] / 1000:  # thinner than a line
            continue
        size = run.result["ledger_bytes"][role] / 2 ** 20
        checks.that(any(re.search(rf"\b{re.escape(role)}\b.*\b{size:.3g}\b", tip) for tip in tips),
                    f"{name}: {size:.3g} MiB of {role} in {tips}")


def losses(checks, name, run):
    """The table of what rounding lost against sums over numerics.jsonl."""
    sums, formats, most, first = {}, {}, {}, {}
    for record in run.numerics:
        for tensor, form, elements, overflow, underflow, subnormal, _, nan, _, _, *worst in record.get("tensors", []):
            if form == "float32":
                continue
            formats[tensor] = form
            row = sums.setdefault(tensor, [0] * 5)
            for i, count in enumerate((elements, overflow, underflow, subnormal, nan)):
                row[i] += count
            most[tensor] = [max(a, b) for a, b in zip(most.get(tensor, (0, 0)), worst)]
        for tensor, kind, _, _, _ in record.get("events", []):
            first.setdefault(tensor, f"{kind} at step {record['step']}")
    lost = {tensor: (row[1] + row[2] + row[4]) / row[0] for tensor, row in sums.items() if row[0]}
    worst = sorted((value for value in lost.values() if value > 0), reverse=True)[:12]
    if not worst:
        checks.that("losses" not in run.sections, f"{name}: nothing was lost")
        return
    rows = run.rows("losses")
    checks.same([lost[row[0]] for row in rows], worst, f"{name}: those that lost most")
    for row in rows:
        elements, overflow, underflow, subnormal, _ = sums[row[0]]
        checks.same(row[1:], [formats[row[0]], first.get(row[0], ""), share(overflow, elements), share(most[row[0]][0], 1),
                              share(underflow, elements), share(most[row[0]][1], 1), share(subnormal, elements)],
                    f"{name}: {row[0]}")


def ratios(checks, name, run):
    """The five tensors of each kind that lost most, or had most subnormal numbers, by their shares of all steps."""
    sums = {}
    for record in run.numerics:
        for tensor, form, elements, overflow, underflow, subnormal, _, nan, *_ in record.get("tensors", []):
            if form != "float32":
                row = sums.setdefault(tensor, [0, 0, 0, 0])
                for i, count in enumerate((elements, overflow + nan, underflow, subnormal)):
                    row[i] += count
    kinds = {heading: {tensor: row[which] / row[0] for tensor, row in sums.items() if row[0] and row[which]}
             for which, heading in ((1, "Overflow"), (2, "Underflow"), (3, "Subnormal numbers"))}
    expected = {heading: sorted(shares.values(), reverse=True)[:5] for heading, shares in kinds.items() if shares}
    found = {}
    for panel in run.sections["ratios"].iter("div") if "ratios" in run.sections else []:
        heading = panel.find("h3")
        if heading is not None:
            names = ["".join(item.itertext()).strip() for item in panel.iter("li")]
            found[heading.text] = [kinds[heading.text].get(at) for at in names]
    checks.same(found, expected, f"{name}: worst tensors")


def every_number(checks, cwd):
    with open(f"{cwd}/text.txt", "w") as file:
        file.write("The lazy dog sees the quick brown fox jump. " * 60)
    program.write_boxes(cwd)
    program.write_maps(cwd)
    program.write_pictures(cwd)
    changed = set()
    for name, words in RUNS.items():
        folder = re.sub(r"\W", "-", name)
        program.train(*COMMON, *words, cwd=cwd, run=folder)
        run = Run(f"{cwd}/{folder}")
        results(checks, name, run)
        exponents(checks, name, run)
        if groups(checks, name, run):
            changed.add(name)
        memory(checks, name, run)
        losses(checks, name, run)
        ratios(checks, name, run)
    checks.same(changed, {"promoted"}, "bits of groups change where tensors are promoted")


def without_graph(checks, cwd):
    """A folder of an older version has no graph.json: all tensors are drawn, in one picture, and the page says so."""
    program.train(*COMMON, *GLYPHS, "precision=hfp8", cwd=cwd)
    os.remove(f"{cwd}/run/graph.json")
    code, _, err = program.call("report", "run", cwd=cwd)
    checks.that(code == 0 and "graph.json" in err, f"report: {code}, {err}")
    with open(f"{cwd}/run/report.html", encoding="utf-8") as file:
        tree = xml.fromstring(file.read().removeprefix("<!doctype html>\n"))
    part = next(at for at in tree.iter("section") if at.get("id") == "exponents")
    histograms = read_lines(f"{cwd}/run/histograms.jsonl")
    checks.same([(svg.get("aria-label"), [row for row, _ in ridges_of(svg)]) for svg in part.iter("svg")],
                [(f"Tensors, step {record['step']}", [row[0] for row in record["tensors"] if row[1]])
                 for record in (histograms[0], histograms[-1])], "all tensors by their names")


if __name__ == "__main__":
    program.main(every_number, without_graph)
