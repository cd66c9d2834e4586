"""demo compares six precisions from one start; bench measures a step beside float32 in one run."""
import json
import os
import shutil
import subprocess

import program
from program import TINY

PRECISIONS = ["fp32", "fp16", "1/6/9/d", "hfp8", "e4m3fn:ovf=sat",
              "e4m3fn:scale=current"]
KEYS = {"precision": str, "scaler": str, "test_accuracy": float, "ledger_bytes": dict,
        "overflow_share": float, "underflow_share": float, "skipped_steps": int,
        "images_per_second": float, "weights_hash": str}


def six_rows(checks, cwd):
    code, out, err = program.call("demo", *TINY, "epochs=1", "run.dir=demo", "--json", cwd=cwd)
    checks.same(code, 0, f"demo: exit code ({err})")
    made = json.loads(out)
    rows = made["rows"]
    checks.same([row["precision"] for row in rows], PRECISIONS, "rows of the demo")
    for row in rows:
        for key, kind in KEYS.items():
            checks.same(type(row.get(key)), kind, f"{row['precision']}: type of {key}")
    checks.same((made["run"], made["data"]), ("demo", "glyphs"), "folder and data of the demo")
    folders = sorted(name for name in os.listdir(f"{cwd}/demo") if os.path.isdir(f"{cwd}/demo/{name}"))
    checks.same(len(folders), 6, f"a run folder for every row: {folders}")
    checks.same([row["run"] for row in rows if os.path.exists(f"{cwd}/demo/{row['run']}/result.json")],
                [row["run"] for row in rows], "each row names its folder")
    with open(f"{cwd}/demo/report.html", encoding="utf-8") as file:
        page = file.read()
    for precision in PRECISIONS:
        checks.that(f">{precision}<" in page, f"the report has a row {precision}")
    saved = {row["precision"]: row["ledger_bytes"]["saved"] for row in rows}
    checks.that(saved["hfp8"] < saved["fp16"] < saved["fp32"], f"fewer bits, less memory: {saved}")
    starts = {program.rows(f"{cwd}/demo", folder)[0]["lr"] for folder in folders}
    checks.same(len(starts), 1, "all rows have the same learning rate")
    alone = program.train(*TINY, "epochs=1", cwd=cwd)
    checks.same(rows[0]["weights_hash"], alone["weights_hash"],
                "train without more keys is the recipe of the demo")


def table(checks, cwd):
    code, out, err = program.call("demo", *TINY, "steps=2", "run.dir=demo", cwd=cwd)
    checks.same(code, 0, f"demo: exit code ({err})")
    for text in ("fp32", "fp16, dynamic loss scale", "1/6/9, no scaling", "hfp8 everywhere",
                 "e4m3fn:ovf=sat everywhere",
                 "e4m3fn:scale=current everywhere", "test accuracy", "to fp32", "overflow", "images/s",
                 "report: demo/report.html"):
        checks.that(text in out, f"the table holds {text!r}: {out}")
    code, _, err = program.call("demo", *TINY, "precision=fp16", cwd=cwd)
    checks.that(code == 2 and "precision" in err, f"demo chooses precisions itself: {code} {err!r}")


def judged_weights(checks, cwd):
    """The table says of each row which weights were judged: those that eval finds the same accuracy with."""
    code, out, err = program.call("demo", *TINY, "steps=6", "run.dir=demo", cwd=cwd)
    checks.same(code, 0, f"demo: exit code ({err})")
    lines = out.splitlines()
    at = lines[0].index("weights")
    told = {line[:at].split("  ")[0]: line[at:].split()[0] for line in lines[2:8]}
    checks.same(list(told.values()), ["master", "rounded", "rounded", "master", "rounded", "rounded"], f"{told}")
    checks.that("\nweights: those that were judged, the float32 masters or as products see them" in out, out)
    _, out, _ = program.call("demo", *TINY, "steps=6", "run.dir=alike", "eval.weights=rounded", "--json", cwd=cwd)
    checks.same([row["weights"] for row in json.loads(out)["rows"]], ["rounded"] * 6, "one kind for all")
    with open(f"{cwd}/demo/demo.json", encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    checks.same([row["weights"] for row in rows], list(told.values()), "demo.json")
    for row in rows:
        made = json.loads(program.call("eval", f"demo/{row['run']}", f"eval.weights={row['weights']}", "--json", cwd=cwd)[1])
        checks.same(made["test_accuracy"], row["test_accuracy"], f"{row['precision']}: accuracy with {row['weights']} weights")
    with open(f"{cwd}/demo/report.html", encoding="utf-8") as file:
        checks.that("rounded the weights in their formats.<" in file.read(), "the report names no running means: there are none")
    program.train(*TINY, "steps=2", "optimizer.average=0.9", cwd=cwd, run="means")
    with open(f"{cwd}/means/report.html", encoding="utf-8") as file:
        checks.that("Evaluated with the master weights, of runs with optimizer.average their means.<" in file.read(), "means")


def go(checks, cwd):
    """./go around a build that takes no time: what it says before and behind the demo."""
    os.makedirs(f"{cwd}/a copy")
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "go"), f"{cwd}/a copy/go")
    stub = "printf '#!/bin/sh\\necho demo \"$@\"; exit ${CODE:-0}\\n' > build/halfulp; chmod +x build/halfulp"
    for name, script in (("dpkg", "echo Status: install ok installed"), ("cmake", stub), ("nproc", "echo 2"),
                         ("cut", 'echo "$LOAD"')):
        program.put(cwd, f"bin/{name}", f"#!/bin/sh\n{script}\n".encode())
        os.chmod(f"{cwd}/bin/{name}", 0o755)
    path = f"{cwd}/bin:{os.environ['PATH']}"

    def call(*words, **more):
        done = subprocess.run(["bash", f"{cwd}/a copy/go", *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": path, "LOAD": "0", **more})
        return done.returncode, done.stdout, done.stderr

    code, out, err = call("quick")
    demo, last = out.splitlines()
    checks.same((code, demo, "busy" in err), (0, "demo demo data.limit=9600 data.test_limit=2000", False), f"quiet: {err}")
    checks.that(last.startswith("next: export PATH=") and "docs/start/first-study.md" in last, last)
    found = subprocess.run(["bash", "-c", last.removeprefix("next: ") + "\ncommand -v halfulp"], capture_output=True, text=True,
                           check=False).stdout
    checks.same(os.path.realpath(found.strip()), os.path.realpath(f"{cwd}/a copy/build/halfulp"), "the path that is told")
    checks.that("this machine is busy (6 programs want its 2 cores): it may take 4 times as long" in call(LOAD="6")[2], "busy")
    checks.that("that took 17 minutes, not 3 minutes: a busy machine" in call(SECONDS="1000")[2], "longer than was told")
    checks.that("that took" not in call(SECONDS="300")[2], "about as long as was told")
    code, out, _ = call(CODE="4")
    checks.same((code, out), (4, "demo demo\n"), "a demo that fails")
    code, out, _ = call("build")
    checks.that(code == 0 and out.startswith("next: ") and out.endswith(" # then halfulp demo\n"), out)


def a_diverged_row_is_a_row(checks, cwd):
    keys = [*TINY, "lr=1e6", "lr.schedule=constant", "lr.warmup=0", "steps=20"]
    code, out, err = program.call("demo", *keys, "run.dir=json", "--json", cwd=cwd)
    checks.same(code, 0, f"demo with diverged rows: exit code ({err})")
    rows = json.loads(out)["rows"]
    checks.same(len(rows), 6, "diverged rows stay")
    checks.that("step" in rows[0].get("diverged", ""), f"the row says why: {rows[0]}")
    checks.same(rows[0]["test_accuracy"], None, "a diverged row has no accuracy")
    _, out, _ = program.call("demo", *keys, "run.dir=text", cwd=cwd)
    checks.that("diverged" in out and "nan" not in out.split("images; same")[0],
                f"the table says diverged: {out}")


def bench(checks, cwd):
    code, out, err = program.call("bench", "model=cnn-s", "precision=hfp8", "batch=32", "threads=1",
                                  "repeat=3", "--json", cwd=cwd)
    checks.same(code, 0, f"bench: exit code ({err})")
    made = json.loads(out)
    checks.same((made["kernel"], [row["precision"] for row in made["rows"]]),
                ("step", ["fp32", "hfp8"]), "rows of bench")
    for row in made["rows"]:
        ratio = row["seconds_per_step"] / row["reference_seconds_per_step"]
        checks.same(row["ratio"], ratio, f"{row['precision']}: ratio to the reference")
        checks.that(row["images_per_second"] > 0 and row["peak_rss_bytes"] > 0, "rate and memory")
    checks.same(made["rows"][0]["ratio"], 1.0, "fp32 beside itself")
    checks.same(os.listdir(cwd), [], "bench leaves nothing behind")


program.main(six_rows, table, judged_weights, go, a_diverged_row_is_a_row, bench)
