"""comm reduces drawn gradients of many workers and tells errors, bytes, steps and predicted time."""
import json
import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as xml

import program

RECIPES = os.path.join(os.path.abspath(os.environ.get("HALFULP_SOURCE", ".")), "recipes")
PAPER = {"hier:4": 55, "hier:8": 44.21, "hier:16": 41.83, "hier:32": 49.62, "hier:64": 58.21,
         "ring": 85.22}  # Table 9, Eq. 5 in %


def comm(checks, cwd, *words):
    code, out, err = program.call("comm", *words, "--json", cwd=cwd)
    if not checks.same((code, err), (0, ""), f"comm {words}: exit code and stderr"):
        return {"rows": []}
    return json.loads(out)


def one_case(checks, cwd):
    made = comm(checks, cwd, "workers=4", "schedule=ring", "format=e5m2", "scaling=aps",
                "elements=1000")
    checks.same((made["workers"], made["schedule"], made["format"], made["scaling"]),
                (4, "ring", "e5m2", "aps"), "what was asked for")
    checks.same(made["steps"], 6, "steps of a ring of 4")
    # 6 messages of 250 numbers and 40 bytes of header; 1 exponent to agree upon in 2 steps.
    checks.same(made["bytes_per_worker"], 6 * (250 + 40) + 2, "bytes of a worker")
    checks.same(made["bytes_on_wire"], 4 * made["bytes_per_worker"], "bytes of all")
    error = made["error"]
    for key in ("eq5_mean", "median", "relative_l2", "zeros"):
        checks.that(0.0 <= error[key] < 1.0, f"{key} is a fraction: {error[key]}")
    checks.that(error["relative_l2"] > 0.01, "e5m2 has an error")
    checks.that(re.fullmatch("[0-9a-f]{16}", made["result_hash"]), "16 hexadecimal digits")
    # 8 messages over two links of 10 us each; their bytes take less than 2 us together.
    checks.that(160e-6 < made["predicted_seconds"] < 163e-6, f"{made['predicted_seconds']}")
    rows = made.pop("rows")
    checks.same(made.pop("skipped"), [], "nothing is left out")
    checks.same(rows, [made], "the one row is the object")


def lists(checks, cwd):
    """Each with each; a row does not depend on the others, nor on threads."""
    words = ["workers=8", "elements=300", "schedule=pairwise,hier:4", "format=e5m2,fp(4,3,4)",
             "scaling=aps,aps2"]
    rows = comm(checks, cwd, *words, "threads=2")["rows"]
    names = [(r["schedule"], r["format"], r["scaling"]) for r in rows]
    checks.same(names, [(s, f, c) for s in ("pairwise", "hier:4") for f in ("e5m2", "fp(4,3,4)")
                        for c in ("aps", "aps2")], "rows")
    checks.same(len({r["result_hash"] for r in rows}), 8, "all differ")
    alone = comm(checks, cwd, "workers=8", "elements=300", "schedule=hier:4", "comm.format=e5m2",
                 "scaling=aps2", "threads=1")
    checks.same(alone["rows"], [rows[5]], "alone as among others")


def misfits(checks, cwd):
    """A pair that cannot be costs no other case: it is told, and the others are as without it."""
    words = ["workers=8", "elements=200", "format=e5m2,e4m3"]
    lists = ["schedule=ring,hier:4,hier:3,halving,pairwise", "scaling=none,aps2"]
    code, out, err = program.call("comm", *words, *lists, "out=page.html", "--json", cwd=cwd)
    checks.same(code, 0, f"exit code: {err}")
    made = json.loads(out)
    wide, multiple = "its partial sums travel", "a multiple of the group size 3"
    skipped = [(s["schedule"], s["scaling"], wide if wide in s["reason"] else s["reason"])
               for s in made["skipped"]]
    checks.same([pair[:2] for pair in skipped],
                [("ring", "aps2"), ("hier:3", "none"), ("hier:3", "aps2"), ("halving", "aps2")],
                "pairs, each once")
    checks.that(all(multiple in s[2] for s in skipped[1:3]), f"{skipped}")
    checks.that(skipped[0][2] == skipped[3][2] == wide, f"{skipped}")
    lines = err.splitlines()
    checks.same(len(lines), 2, f"one line for each reason: {err}")
    checks.that(lines[0].startswith("skipped ring with aps2, halving with aps2: " + wide), lines[0])
    checks.that(lines[1].startswith("skipped hier:3 with none, hier:3 with aps2: "), lines[1])
    names = [(r["schedule"], r["format"], r["scaling"]) for r in made["rows"]]
    checks.same(names, [(s, f, c) for s in ("ring", "hier:4", "halving", "pairwise")
                        for f in ("e5m2", "e4m3") for c in ("none", "aps2")
                        if c == "none" or s in ("hier:4", "pairwise")], "rows")
    alone = comm(checks, cwd, "workers=8", "elements=200", "schedule=pairwise", "format=e4m3",
                 "scaling=aps2")
    checks.same(alone["rows"], made["rows"][-1:], "as alone")
    with open(f"{cwd}/page.html", encoding="utf-8") as file:
        checks.that("skipped halving with aps2" in file.read(), "the page tells it")
    for lists in (["schedule=ring,halving", "scaling=aps2"], ["schedule=ring", "scaling=aps2"]):
        code, out, err = program.call("comm", *words, *lists, cwd=cwd)
        checks.same((code, out), (2, ""), f"{lists}: nothing is left")
        checks.that("found ring with aps2: " + wide in err, err)


def seeds(checks, cwd):
    words = ["workers=4", "elements=200", "format=e4m3"]
    single = [comm(checks, cwd, *words, f"seed={s}")["error"]["eq5_mean"] for s in (5, 6, 7)]
    many = comm(checks, cwd, *words, "seed=5", "repeat=3")
    checks.same(many["error"]["eq5_mean"], sorted(single)[1], "median of three seeds")
    checks.same((many["error"]["eq5_least"], many["error"]["eq5_most"]), (min(single), max(single)),
                "range of the seeds")
    one, two = (comm(checks, cwd, *words, "rounding=sr", f"seed={s}") for s in (5, 6))
    checks.that(one["result_hash"] != two["result_hash"], "another seed, another rounding")


def table(checks, cwd):
    """Columns say what they are of, and the best of each format is marked."""
    words = ["workers=16", "elements=200", "schedule=seq,hier:4,pairwise", "scaling=aps,aps2",
             "format=e5m2,e4m3"]
    rows = comm(checks, cwd, *words)["rows"]
    code, out, err = program.call("comm", *words, "out=marks.html", cwd=cwd)
    checks.same((code, err), (0, ""), "comm")
    lines = out.splitlines()
    checks.same(re.split("  +", lines[2])[3:],
                ["Eq. 5 %", "median %", "L2 %", "zeros %", "bytes, busiest", "bytes, all", "steps",
                 "predicted ms"], "titles of one seed")
    best = {name: min(r["error"]["relative_l2"] for r in rows if r["format"] == name)
            for name in ("e5m2", "e4m3")}
    marked = [" * " in line for line in lines[4:4 + len(rows)]]
    checks.same(marked, [r["error"]["relative_l2"] == best[r["format"]] for r in rows], "stars")
    checks.that("*: the least of a format" in out and "busiest worker" in out, out)
    with open(f"{cwd}/marks.html", encoding="utf-8") as file:
        text = file.read()
    checks.same(text.count(" *</td>"), sum(marked), "stars of the page")
    checks.that("bytes of the busiest worker" in text and "of the seeds" not in text, "its titles")
    _, out, _ = program.call("comm", *words, "repeat=2", cwd=cwd)
    checks.that("Eq. 5 of seeds" in out, "several seeds have a range")
    _, out, _ = program.call("comm", "workers=4", "elements=100", "format=e5m2,e4m3", cwd=cwd)
    checks.that(" * " not in out, f"one of a kind is not the best: {out}")


def options(checks, cwd):
    """Compensation and feedback take errors away; both belong to the names of a row."""
    words = ["workers=32", "elements=500", "format=e5m2"]
    plain = comm(checks, cwd, *words, "schedule=seq")["error"]
    kahan = comm(checks, cwd, *words, "schedule=seq", "kahan=on")["error"]
    checks.that(kahan["relative_l2"] < 0.5 * plain["relative_l2"], f"kahan: {plain} {kahan}")
    words += ["scaling=aps2", "steps=8"]
    plain, back = (comm(checks, cwd, *words, f"error_feedback={on}") for on in ("off", "on"))
    checks.same(plain["schedule"], "pairwise", "sums in float32 have an owner")
    checks.that(back["error"]["relative_l2"] < 0.5 * plain["error"]["relative_l2"], "feedback")
    code, out, _ = program.call("comm", *words, "error_feedback=on", cwd=cwd)
    checks.that(code == 0 and "aps2+feedback" in out and "sum of 8 steps" in out, out)


def vanished(checks, cwd):
    """3 exponent bits leave nothing where a sum of 256 must have room, and what they can elsewhere."""
    rows = comm(checks, cwd, "workers=256", "elements=256", "schedule=pairwise", "format=e3m0",
                "scaling=aps,aps2")["rows"]
    checks.same([r["error"]["zeros"] for r in rows][0], 1.0, "all became zero")
    checks.that(rows[1]["error"]["zeros"] < 0.1, "with scales of their own few do")
    checks.same([r["flush_workers"] for r in rows], [64.0, 0.0], "the limit")


def magnitudes(checks, cwd):
    """Real gradients are small: without a scaling they vanish, with one they do not care."""
    words = ["workers=64", "elements=1000", "format=e5m2,e4m3", "scaling=none,aps"]
    plain = comm(checks, cwd, *words)["rows"]
    checks.same(comm(checks, cwd, *words, "magnitude=1")["rows"], plain, "1 is the default")
    small = comm(checks, cwd, *words, "magnitude=2^-14")["rows"]
    checks.same(comm(checks, cwd, *words, "magnitude=0.00006103515625")["rows"], small, "a number")
    for i, (a, b) in enumerate(zip(plain, small)):
        same = (a["error"] == b["error"], a["bytes_on_wire"] == b["bytes_on_wire"])
        checks.same(same, (b["scaling"] == "aps", True), f"row {i}: {a} {b}")
        checks.that(a["result_hash"] != b["result_hash"], f"row {i}: other gradients")
        if b["scaling"] == "none":
            lost = b["error"]["relative_l2"]
            checks.that(lost > 1.5 * small[i + 1]["error"]["relative_l2"], f"row {i}: {b}")
    _, out, _ = program.call("comm", *words, "magnitude=2^-14", cwd=cwd)
    checks.that("sigma 1, magnitude 2^-14)" in out, out)
    for value in ("0", "-1", "2^", "2^-200", "2^99999999999", "2^99999999999999999999", "nan", "inf", "1e-14x", ""):
        code, out, err = program.call("comm", f"magnitude={value}", cwd=cwd)
        checks.same((code, out), (2, ""), f"magnitude={value}")
        checks.that("comm.magnitude" in err and "2^-100" in err, err)


def table_9(checks, cwd):
    """The form of the paper's table and nearly its values; better at the same bytes. Three seeds, so
    that the test is short; docs/results/workers.md has sixteen."""
    recipe = os.path.join(RECIPES, "aps-table9.yaml")
    rows = comm(checks, cwd, f"config={recipe}", "repeat=3", "seed=0")["rows"]
    found = {r["schedule"]: 100 * r["error"]["eq5_mean"] for r in rows}
    checks.same(list(found), list(PAPER), "schedules")
    for name, value in found.items():
        checks.that(abs(value - PAPER[name]) < 15, f"{name}: {value:.1f} against {PAPER[name]}")
    checks.that(min(found, key=found.get) in ("hier:8", "hier:16", "hier:32"), f"{found}")
    checks.that(max(found, key=found.get) == "ring", f"{found}")
    checks.same([r["steps"] for r in rows], [138, 90, 90, 138, 258, 510], "steps")
    rows = comm(checks, cwd, f"config={recipe}", "repeat=3", "schedule=hier2d:16",
                "format=e5m2,e4m3", "scaling=aps2")["rows"]
    for row, l2, eq5 in zip(rows, (6.5, 3.6), (20, 9)):
        checks.that(100 * row["error"]["relative_l2"] <= l2, f"{row['error']}")
        checks.that(100 * row["error"]["eq5_mean"] <= eq5, f"{row['error']}")


def table_2(checks, cwd):
    """APS beside its rivals: one row for a scaling with codes of its own, whatever the formats."""
    recipe = os.path.join(RECIPES, "aps-table2.yaml")
    rows = comm(checks, cwd, f"config={recipe}", "repeat=1", "format=e5m2,e4m3")["rows"]
    found = [(r["scaling"], r["format"], r["schedule"]) for r in rows]
    checks.same(found, [("aps", "e5m2", "ring"), ("aps2", "e5m2", "pairwise"), ("terngrad", "2 bits", "pairwise"),
                        ("qsgd", "4 bits", "pairwise"), ("qsgd:8/512", "8 bits", "pairwise"),
                        ("flex16+5", "16 bits", "ring"), ("aps", "e4m3", "ring"), ("aps2", "e4m3", "pairwise")], "rows")
    # 7 messages of 1,176 numbers each way: 2 and 5 bits, 40 bytes of header, 4 bytes to agree upon in 3 steps.
    checks.same(rows[2]["bytes_per_worker"], 7 * (294 + 735 + 80) + 12, "bytes of TernGrad")
    # 3 norms and 4 bits; float32.
    checks.same(rows[3]["bytes_per_worker"], 7 * (12 + 588 + 4704 + 80), "bytes of QSGD")
    checks.same(rows[5]["bytes_per_worker"], 14 * (2352 + 40) + 3, "bytes of Flexpoint")
    checks.that(rows[5]["error"]["relative_l2"] < 0.005 < rows[0]["error"]["relative_l2"], "16 bits are better than 8")


def page(checks, cwd):
    code, out, err = program.call("comm", "workers=16", "elements=300", "repeat=2",
                                  "schedule=hier:8,hier:2,hier:4,ring", "out=page.html", cwd=cwd)
    checks.same((code, err), (0, ""), "comm with a page")
    with open(f"{cwd}/page.html", encoding="utf-8") as file:
        text = file.read()
    for outside in ("http:", "https:", "<script", "src=", "@import", "url("):
        checks.that(outside not in text, f"the page holds {outside!r}")
    checks.that(not re.search(r'[xyr][12]?="?-?(nan|inf)|[ML]-?(nan|inf)', text), "places are numbers")
    tree = xml.fromstring(text.removeprefix("<!doctype html>\n"))
    ids = [part.get("id") for part in tree.iter("section")]
    checks.same(ids, ["errors", "times", "table"], "sections")
    errors = next(tree.iter("section"))
    svg = next(errors.iter("svg"))
    tips = [t.text for t in svg.iter("title") if " at " in t.text]
    places = [int(tip.rsplit(" at ")[1]) for tip in tips if tip.startswith("hier:K")]
    checks.same(places, [2, 4, 8], "group sizes from left to right")
    checks.that(any(tip.startswith("ring") and tip.endswith("at 16") for tip in tips), f"{tips}")


def legends(section):
    """Names in the legends of a section, picture by picture."""
    return [["".join(item.itertext()).strip() for item in part.iter("li")]
            for part in section.iter("ul") if part.get("class") == "legend"]


def crowded_page(checks, cwd):
    """Every case is drawn, in a picture of its format, or named below it."""
    groups = ("2", "4", "8", "16", "32")
    schedules = ["ring", *(f"{kind}:{k}" for kind in ("hier", "hier2d") for k in groups), "halving",
                 "pairwise", "seq"]
    scalings = ("none", "aps", "aps-tight", "constant:1", "constant:2")
    formats = ("e5m2", "e4m3", "bf16")
    code, _, err = program.call("comm", "workers=64", "elements=64", "scaling=" + ",".join(scalings),
                                "schedule=" + ",".join(schedules), "format=" + ",".join(formats),
                                "out=crowd.html", cwd=cwd)
    checks.same((code, err), (0, ""), "comm of many cases")
    with open(f"{cwd}/crowd.html", encoding="utf-8") as file:
        tree = xml.fromstring(file.read().removeprefix("<!doctype html>\n"))
    errors, times, _ = tree.iter("section")
    headings = [f"{what} of {name}" for what in ("Eq. 5", "L2 norm") for name in formats]
    checks.same([part.text for part in errors.iter("h3")], headings, "a picture for each format")
    kinds = ["ring", "hier:K", "hier2d:K", "halving", "pairwise", "seq"]
    wanted = [f"{kind}, {scaling}" for kind in kinds for scaling in scalings]
    told = "No colours are left for: " + "; ".join(wanted[24:]) + ". The table has all."
    checks.same(legends(errors), [wanted[:24]] * 6, "lines of each picture")
    notes = [part.text for part in errors.iter("p") if part.text.startswith("No colours")]
    checks.same(notes, [told] * 6, "what is left out")
    widths = [[f"{schedule}, {bits} bits" for schedule in schedules] for bits in (8, 16)]
    checks.same(legends(times), widths * 2, "28 lines of times: a picture for each width")


TRAIN = ["data=glyphs", "data.limit=512", "data.test_limit=64", "model=cnn-s", "model.width=0.25",
         "batch=48", "steps=12", "run.checkpoint_every=5", "precision=hfp8", "comm.format=e5m2",
         "scaling=aps", "workers=3"]


def of_a_run(checks, cwd):
    """Gradients of a training: the same whichever checkpoint they are reached from."""
    code, _, err = program.call("train", *TRAIN, "run.dir=run", cwd=cwd)
    checks.same(code, 0, f"train: {err}")
    newest = comm(checks, cwd, "run=run", "scaling=none,aps2", "format=fp32,e4m3")["rows"]
    checks.same([r["workers"] for r in newest], [3] * 4, "as many workers as the run had")
    checks.same(newest[0]["gradients"], "step 12 of run", "the step behind the newest checkpoint")
    layers = newest[-1]["layers"]
    checks.same(sum(layer["elements"] for layer in layers), newest[-1]["elements"], "elements")
    checks.that(all(0 < layer["relative_l2"] < 0.2 for layer in layers), f"{layers}")
    checks.that(newest[0]["error"]["relative_l2"] < 1e-6, "float32 is nearly exact")

    def at(step, **words):
        words = [f"{key}={value}" for key, value in words.items()]
        code, out, err = program.call("comm", "run=run", f"step={step}", "format=e5m2", *words,
                                      "--json", cwd=cwd)
        checks.same(code, 0, f"step={step}: {err}")
        return json.loads(out), err

    direct, err = at(10)
    checks.same(err, "", "a step that has a checkpoint needs no training")
    files = sorted(os.listdir(f"{cwd}/run/checkpoint"))
    checks.same(len(files), 2, f"{files}")
    later, err = at(11, threads=1)
    checks.that("from step 10 to step 11" in err, err)
    os.rename(f"{cwd}/run/checkpoint", f"{cwd}/run/hidden")
    for step, made in ((10, direct), (11, later)):
        again, err = at(step)
        checks.that(f"from step 0 to step {step}" in err, err)
        checks.same(again, made, f"step {step} from the beginning")
    os.rename(f"{cwd}/run/hidden", f"{cwd}/run/checkpoint")
    checks.that(direct["result_hash"] != later["result_hash"], "steps differ")
    more, _ = at(10, workers=12)
    checks.same(more["workers"], 12, "the batch shared out among more")
    exact, _ = at(10, **{"comm.exact": "last"})
    checks.same([layer["name"] for layer in exact["layers"] if layer["exact"]],
                ["fc.bias", "fc.weight"], "layers that travel in float32")
    code, out, _ = program.call("comm", "run=run", cwd=cwd)
    checks.that(code == 0 and "3 workers, step 12 of run" in out and "largest L2" in out, out)
    for words, part in [(["step=13"], "at most 12"), (["rho=1"], "comm.rho"), (["magnitude=2"], "comm.magnitude"),
                        (["workers=49"], "at most the batch of 48"),
                        (["comm.exact=last,convl*"], "found 'convl*', expected 'last' or a pattern")]:
        code, out, err = program.call("comm", "run=run", *words, cwd=cwd)
        checks.same((code, out), (2, ""), f"comm run=run {words}")
        checks.that(part in err, err)


def interrupted(checks, cwd):
    """Ctrl-C ends a long study between two reductions."""
    running = subprocess.Popen([program.HALFULP, "comm", "workers=64", "repeat=100000"], cwd=cwd,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.0)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=program.patience(60))
    checks.same((running.returncode, out), (130, b""), "exit code and stdout of Ctrl-C")


def mistakes(checks, cwd):
    for words, code, part in [
            (["schedule=ring", "scaling=aps2"], 2, "float32"),
            (["schedule=hier:3"], 2, "multiple of the group size 3"),
            (["schedule=rink"], 2, "ring"),
            (["scaling=apps"], 2, "aps"),
            (["format=e9m1"], 2, "exponent"),
            (["schedule=ring,,seq"], 2, "comm.schedule"),
            (["link=10X"], 2, "10G, 100M"),
            (["latency=10"], 2, "10us"),
            (["workers=0"], 2, "1 to"),
            (["kahan=on", "schedule=ring"], 2, "kahan"),
            (["step=3"], 2, "comm.step"),
            (["run=nothing"], 3, "nothing"),
            (["model=resnet20"], 2, "model.name"),
            (["elements=2147483647", "workers=65536"], 5, "memory")]:
        found, out, err = program.call("comm", *words, cwd=cwd)
        checks.same((found, out), (code, ""), f"comm {words}: exit code and stdout")
        checks.that(part in err, f"comm {words}: {err!r} lacks {part!r}")
    code, _, err = program.call("train", "rounding=sr", "steps=1", cwd=cwd)
    checks.that(code == 2 and "precision.rounding" in err, f"rounding= without a wire: {err}")


if __name__ == "__main__":
    program.main(one_case, lists, misfits, seeds, table, options, vanished, magnitudes, table_9, table_2, page, crowded_page, of_a_run, interrupted,
                 mistakes)
