"""stdout is the result and nothing else, stderr the progress; the JSON of train; the memory ledger."""
import json
import math
import os
import pty
import re

import program
from program import TINY

KEYS = {"model": str, "parameters": int, "steps": int, "train_loss": float, "test_accuracy": float,
        "low_precision_ratio": float, "skipped_steps": int, "promoted": int,
        "images_per_second": float, "peak_rss_bytes": int, "ledger_bytes": dict,
        "weights_hash": str}
FILES = {"config.resolved.yaml", "metrics.csv", "metrics.jsonl", "numerics.jsonl", "env.json",
         "checkpoint", "histograms.jsonl", "plan.json", "graph.json", "plan.resolved.yaml",
         "result.json", "events.out.tfevents", "report.html", "progress.jsonl", "best", "data.txt",
         "confusion.json", "mistakes"}


def train_json(checks, cwd):
    code, out, err = program.call("train", *TINY, "steps=3", "precision=hfp8", "--json", cwd=cwd)
    checks.same((code, err), (0, ""), "quiet when not a terminal")
    made = json.loads(out)  # fails if there is more than one object
    for key, kind in KEYS.items():
        checks.same(type(made.get(key)), kind, f"type of {key}")
    checks.that(re.fullmatch("[0-9a-f]{16}", made["weights_hash"]), "16 hexadecimal digits")
    checks.that(0.0 <= made["test_accuracy"] <= 1.0, "test_accuracy is a fraction")
    checks.that(0.9 < made["low_precision_ratio"] <= 1.0, "low_precision_ratio of hfp8")
    checks.same((made["steps"], made["model"], made["parameters"]), (3, "cnn-s", 24346),
                "what was trained")
    checks.that(made["peak_rss_bytes"] > made["ledger_bytes"]["total"] > 0, "peak RSS and ledger")
    runs = os.listdir(f"{cwd}/runs")
    checks.same([f"runs/{run}" for run in runs], [made["run"]], "a run has a folder of its own")
    files = {name if "tfevents" not in name else "events.out.tfevents"
             for name in os.listdir(f"{cwd}/{made['run']}")}
    checks.same(files, FILES, "files of a run folder")
    with open(f"{cwd}/{made['run']}/metrics.jsonl") as file:
        lines = [json.loads(line) for line in file]
    table = program.rows(cwd, made["run"])
    checks.same([(line["step"], float(line["loss"]).hex()) for line in lines],
                [(int(row["step"]), row["loss"]) for row in table], "metrics.jsonl and metrics.csv")
    checks.same(float(table[-1]["test_accuracy"]), made["test_accuracy"], "accuracy of the last row")
    with open(f"{cwd}/{made['run']}/numerics.jsonl") as file:
        steps = [json.loads(line) for line in file]
    elements = {tensor[0]: tensor[2] for tensor in steps[-1]["tensors"]}
    count = steps[-1]["steps"]
    checks.same(elements["conv1.weight"], count * 3 * 16 * 9, "a weight is counted once a step")
    checks.same(elements["fc.out"], count * 32 * 10, "evaluation is not counted with the step")
    again = program.train(*TINY, "steps=3", "precision=hfp8", cwd=cwd, run="named")
    checks.same(again["weights_hash"], made["weights_hash"], "the same run again")


def train_text(checks, cwd):
    made = program.train(*TINY, "steps=3", cwd=cwd)
    code, out, err = program.call("train", *TINY, "steps=3", "run.dir=text", cwd=cwd)
    checks.same(code, 0, f"train without --json: {err!r}")
    checks.that(made["weights_hash"] in out, f"the text names the weights hash: {out!r}")
    checks.that(f"{100 * made['test_accuracy']:.2f} %" in out and "run folder text" in out,
                f"the text names accuracy and folder: {out!r}")
    code, out, err = program.call("train", *TINY, "steps=3", "run.dir=loud", "quiet=off", cwd=cwd)
    checks.that("MiB planned: arena" in err and "epoch 1/1" in err, f"progress on stderr: {err!r}")
    checks.that("epoch 1/1" not in out, f"no progress on stdout: {out!r}")
    checks.that("fp32, loss scaling none\n" in err and "skipped, loss scaling none\n" in out,
                f"the first and the last line name the scaling: {err!r} {out!r}")
    code, out, err = program.call("train", *TINY, "steps=3", "run.dir=scaled", "quiet=off",
                                  "precision=hfp8", "scaler.init=1e30", cwd=cwd)
    checks.that("hfp8, loss scaling dynamic, from 1e+30\n" in err and
                "loss scaling dynamic, 1.25e+29" in out, f"scaling that is used: {err!r} {out!r}")
    code, out, err = program.call("train", *TINY, "steps=3", "run.dir=lossy", "quiet=on",
                                  "precision.rules=['*.out.grad: e2m1:bias=-40']", cwd=cwd)
    checks.that("note: 1 tensor lost half of its nonzero numbers or more, 18 behind it are all zero; `halfulp why lossy`" in err,
                f"losses are told at the end: {err!r}")
    code, out, err = program.call("eval", "text", "--json", cwd=cwd)
    checks.same((code, err), (0, ""), "eval")
    checks.same(json.loads(out)["test_accuracy"], made["test_accuracy"], "eval finds the accuracy again")


def terminal(checks, cwd):
    """With a terminal as stderr, progress lines overwrite themselves."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        print(f"skipped: progress on a terminal ({error})")
        return
    process = program.subprocess.Popen([program.HALFULP, "train", *TINY, "steps=3", "run.dir=run"],
                                       cwd=cwd, stdout=program.subprocess.PIPE, stderr=theirs)
    out = process.communicate(timeout=program.patience(60))[0].decode()
    os.close(theirs)
    text = os.read(ours, 65536).decode()
    os.close(ours)
    checks.same(process.returncode, 0, "train on a terminal")
    for part in ("\r\x1b[K", "step 3/3", "loss", "accuracy", "images/s", "left", "MiB planned: arena",
                 "epoch 1/1",
                 "step 3/3  epoch 1.0/1  loss"):
        checks.that(part in text, f"{part!r} in the progress line {text!r}")
    checks.that("\x1b" not in out, "no control characters on stdout")


def dumb_terminal(checks, cwd):
    """Where lines cannot take the place of others, or colours are not wanted, there are none."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        print(f"skipped: a dumb terminal ({error})")
        return
    for changed, parts in (({"TERM": "dumb"}, ["\x1b", "step 3/3"]), ({"TERM": "xterm", "NO_COLOR": "1"}, ["\x1b[2m"])):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("NO_COLOR", "CLICOLOR_FORCE")} | changed
        process = program.subprocess.run([program.HALFULP, "train", *TINY, "steps=3", f"run.dir={changed['TERM']}"],
                                         cwd=cwd, stdout=program.subprocess.PIPE, stderr=theirs, env=environment,
                                         timeout=program.patience(60))
        text = os.read(ours, 65536).decode()
        checks.that(process.returncode == 0 and "epoch 1/1" in text, f"{changed}: {text!r}")
        for part in parts:
            checks.that(part not in text, f"{changed}: {part!r} in {text!r}")
    os.close(theirs)
    os.close(ours)


def full_stdout(checks, cwd):
    with open("/dev/full", "w") as full:
        process = program.subprocess.run([program.HALFULP, "train", *TINY, "steps=1", "run.dir=run",
                                          "--json"], cwd=cwd, stdout=full, timeout=program.patience(60),
                                         stderr=program.subprocess.PIPE, text=True)
    checks.same(process.returncode, 5, f"a result that cannot be written ({process.stderr!r})")


def closed_terminal(checks, cwd):
    """Who reads the first line of a training and goes away does not end it: its end is that of one that was read."""
    program.train(*TINY, "steps=30", cwd=cwd, run="read")
    for run, script, code in (("both", "2>&1 | head -1", 5), ("progress", "2> >(head -1 >first) >result", 0)):
        script = f"set -o pipefail; '{program.HALFULP}' train {' '.join(TINY)} steps=30 run.dir={run} quiet=off {script}"
        done = program.subprocess.run(["bash", "-c", script], cwd=cwd, timeout=program.patience(60), text=True,
                                      stdin=program.subprocess.DEVNULL, stdout=program.subprocess.PIPE)
        checks.same(done.returncode, code, f"{run}: exit code of a training without a reader")
        with open(f"{cwd}/{run}/result.json") as ours, open(f"{cwd}/read/result.json") as theirs:
            checks.same(json.load(ours)["weights_hash"], json.load(theirs)["weights_hash"], f"{run}: trained to the end")
        with open(f"{cwd}/{run}/progress.jsonl") as file:
            checks.same(json.loads(file.readlines()[-1])["state"], "finished", f"{run}: its last row")
    listing = program.subprocess.run(["bash", "-c", f"'{program.HALFULP}' help keys | head -1"], cwd=cwd, text=True,
                                     capture_output=True, timeout=program.patience(60))
    checks.that(listing.returncode == 0 and listing.stderr == "", f"a list that is cut says nothing: {listing.stderr}")


def fall_back(checks, cwd):
    """Without the default data set the glyphs are taken, and the output says so."""
    folder = "/usr/share/datasets"
    hide = f'mount -t tmpfs tmpfs {folder} && "$@"' if os.path.isdir(folder) else '"$@"'
    hidden = ["unshare", "-rm", "sh", "-c", hide, "sh"]
    if program.subprocess.run([*hidden, "true"], cwd=cwd, capture_output=True).returncode != 0:
        print("skipped: hiding the data set (no mount name space here)")
        return
    words = ["train", *TINY[1:], "steps=1", "--json"]
    done = program.subprocess.run([*hidden, program.HALFULP, *words, "run.dir=run"], cwd=cwd,
                                  capture_output=True, text=True)
    checks.same(done.returncode, 0, f"fall-back: exit code ({done.stderr})")
    checks.that("not installed" in done.stderr and "glyphs" in done.stderr,
                f"fall-back: says so: {done.stderr!r}")
    checks.same(json.loads(done.stdout)["data"], "glyphs", "fall-back: data of the result")
    code, _, err = program.call("resume", "run", cwd=cwd)
    checks.same(code, 0, f"a run on the glyphs stays on them ({err})")
    done = program.subprocess.run([*hidden, program.HALFULP, *words, "data=fashion-mnist",
                                   "run.dir=named"], cwd=cwd, capture_output=True, text=True)
    checks.same((done.returncode, done.stdout), (3, ""), "no fall-back for data asked for by name")
    checks.that("dataset-fashion-mnist" in done.stderr, f"says what to install: {done.stderr!r}")


def ledger(checks, cwd):
    """steps=0 plans, allocates and checks the ledger against the allocator, but does not train."""
    keys = ["model=resnet20", "data=glyphs", "batch=128", "steps=0", "data.test_limit=1", "threads=1"]
    made = {precision: program.train(*keys, f"precision={precision}", cwd=cwd, run=f"run-{precision}")
            for precision in ("fp32", "hfp8", "fp16")}
    bytes_of = {precision: made[precision]["ledger_bytes"] for precision in made}
    for precision, roles in bytes_of.items():
        parts = sum(value for role, value in roles.items()
                    if role not in ("masters", "optimizer", "workers", "arena", "saved", "total"))
        checks.same(parts, roles["arena"], f"{precision}: the roles make up the arena")
        checks.same(roles["arena"] + roles["masters"] + roles["optimizer"], roles["total"],
                    f"{precision}: arena, masters and optimizer make up the total")
    share = bytes_of["hfp8"]["saved"] / bytes_of["fp32"]["saved"]
    print(f"saved activations of hfp8 / fp32: {share:.4f}, fp16 / fp32: "
          f"{bytes_of['fp16']['saved'] / bytes_of['fp32']['saved']:.4f}", flush=True)
    checks.that(0.2 < share <= 0.27, f"saved-activation bytes of hfp8 are {share} of fp32")
    checks.that(bytes_of["hfp8"]["total"] < 0.5 * bytes_of["fp32"]["total"], "hfp8 halves the total")
    unpacked = program.train(*keys, "precision=hfp8", "storage=float32", cwd=cwd, run="unpacked")
    checks.that(unpacked["ledger_bytes"]["saved"] > 0.95 * bytes_of["fp32"]["saved"],
                "storage=float32 saves as much as fp32")
    # 272,474 parameters of the CIFAR ResNet-20 with option A shortcuts, and their running statistics
    checks.that(268000 < made["fp32"]["parameters"] < 275000, f"{made['fp32']['parameters']} parameters")
    checks.same(bytes_of["fp32"]["optimizer"], 4 * made["fp32"]["parameters"], "momentum in float32")
    checks.that(not math.isnan(made["fp32"]["test_accuracy"]), "accuracy of the untrained model")


def no_number(checks, cwd):
    """A NaN is "nan" in CSV and null in JSON, whatever its sign."""
    code, _, err = program.call("train", *TINY, "steps=6", "lr=1e6", "lr.warmup=0", "precision=fp16",
                                "scaler=dynamic", "scaler.stop_after=3", "run.dir=run", cwd=cwd)
    checks.same(code, 4, f"a training that ends in NaNs: {err}")
    with open(f"{cwd}/run/metrics.csv") as file:
        text = file.read()
    checks.that("nan" in text and "-nan" not in text, f"metrics.csv: {text}")
    with open(f"{cwd}/run/metrics.jsonl") as file:
        rows = [json.loads(line, parse_constant=lambda name: f"bad {name}") for line in file]
    checks.that(rows[0]["loss"] > 0 and rows[-1]["loss"] is None and rows[-1]["gradient_norm"] is None,
                f"metrics.jsonl: {rows[-1]}")
    checks.same(program.call("why", "run", "--json", cwd=cwd)[0], 0, "why reads it")
    made = program.train(*TINY, "steps=0", cwd=cwd, run="none")
    checks.same((made["train_loss"], made["images_per_second"]), (None, None), "a run without steps")
    with open(f"{cwd}/none/result.json") as file:
        checks.same(json.load(file)["train_loss"], None, "and its result")


program.main(no_number, train_json, train_text, terminal, dumb_terminal, full_stdout, closed_terminal, fall_back, ledger)
