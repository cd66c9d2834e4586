"""`bench kernel=step`: who runs beside whom, and the script that compares with PyTorch."""
import json
import os
import subprocess
import sys
import tempfile

import program

SMALL = ["model=cnn-s", "model.width=0.25", "batch=8", "threads=1", "repeat=2"]
SCRIPT = os.path.join(os.environ.get("HALFULP_SOURCE", "."), "bench", "peers", "step.py")


def bench(*words, cwd):
    code, out, err = program.call("bench", "kernel=step", *SMALL, *words, "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"bench {' '.join(words)}: exit {code}: {err}")
    return json.loads(out)["rows"]


def contestants(checks, cwd):
    """One training where the two would be one and the same, or where it is asked to run alone."""
    for words, names, has_reference in (
            (["precision=hfp8"], ["fp32", "hfp8"], True),
            (["precision=hfp8", "beside=none"], ["hfp8"], False),
            ([], ["fp32"], True),
            (["beside=none"], ["fp32"], True),
            (["accumulator=fmacs"], ["fp32", "fp32"], True),
            (["precision.rules=fc.weight: e4m3"], ["fp32", "fp32"], True),
            (["accumulator.rules=fc: fmacs", "beside=none"], ["fp32"], False)):
        rows = bench(*words, cwd=cwd)
        checks.same([row["precision"] for row in rows], names, f"{words}: rows")
        for row in rows:
            checks.same(row["reference"], "fp32" if has_reference else "none", f"{words}: name")
            checks.same(row["ratio"] is not None, has_reference, f"{words}: has a ratio")
            if has_reference:
                ratio = row["seconds_per_step"] / row["reference_seconds_per_step"]
                checks.that(abs(row["ratio"] / ratio - 1) < 1e-12, f"{words}: ratio {row}")
            checks.that(abs(row["images_per_second"] * row["seconds_per_step"] / 8 - 1) < 1e-12,
                        f"{words}: images per second of {row}")
            checks.that(row["seconds_per_step"] < row["seconds_to_first_step"] < 60,
                        f"{words}: start to first step of {row}")
            checks.same(row["allocations_after_first_step"], 0, f"{words}: allocations")
            if not program.sanitizer():  # whose own tables grow
                checks.that(row["resident_growth_bytes"] <= 16384, f"{words}: growth of {row}")
            checks.that(row["peak_rss_bytes"] > row["ledger_bytes"]["total"], f"{words}: memory")
        checks.same(rows[0]["ratio"], 1.0 if has_reference else None, f"{words}: first ratio")


def assumed_data(checks, cwd):
    """Without data= the images have the shapes that plan assumes."""
    for words in (["model=cnn-s"], ["model=cnn-s", "model.width=0.25", "precision=hfp8"],
                  ["model=resnet20", "model.width=0.25", "precision=hfp8"],
                  ["model=transformer-lm-s", "model.width=0.25"], ["model=ds2-s", "precision=hfp8"]):
        words = ["model.width=1", *words, "batch=8", "threads=1"]
        code, out, err = program.call("plan", *words, "--json", cwd=cwd)
        checks.same((code, err), (0, ""), f"plan {words}")
        planned = {role: both["packed"] for role, both in json.loads(out)["memory_bytes"].items()}
        row = bench(*words, "repeat=1", "beside=none", cwd=cwd)[0]
        checks.same(row["ledger_bytes"], planned, f"{words}: bytes of bench and of plan")


def alone_is_smaller(checks, cwd):
    """The peak of a training that runs alone is its own."""
    words = ["model.width=2", "batch=128", "repeat=1", "precision=hfp8"]
    both = bench(*words, cwd=cwd)[1]["peak_rss_bytes"]
    alone = bench(*words, "beside=none", cwd=cwd)[0]["peak_rss_bytes"]
    checks.that(alone < both - 8 * 2**20, f"peaks {alone} alone, {both} together")


def short_batches(checks, cwd):
    """The third of three batches of an epoch is short: the only step behind the warm-up that would count."""
    row = bench("data=glyphs", "data.limit=40", "batch=16", "repeat=1", "beside=none", cwd=cwd)[0]
    checks.that(0 < row["seconds_per_step"] < 1000, f"a step of {row['seconds_per_step']} s")


def text(checks, cwd):
    code, out, _ = program.call("bench", "kernel=step", *SMALL, "precision=hfp8", "beside=none",
                                cwd=cwd)
    checks.that(code == 0 and "hfp8" in out and "MiB resident" in out, f"text: {code} {out}")
    code, _, err = program.call("bench", "kernel=step", "beside=nobody", cwd=cwd)
    checks.that(code == 2 and "bench.beside" in err, f"beside=nobody: {code} {err}")
    code, _, err = program.call("bench", "kernel=round", "beside=none", cwd=cwd)
    checks.that(code == 2 and "bench.beside" in err, f"round beside=none: {code} {err}")


def call_script(*words, **environment):
    return subprocess.run([sys.executable, SCRIPT, *words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=program.patience(600),
                          env={**os.environ, "HALFULP": program.HALFULP, **environment})


def peer(checks, cwd):
    """Without torch it says so; with a stand-in for torch's turn its figures follow from the turns."""
    with tempfile.TemporaryDirectory(dir=cwd) as folder:
        with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('none here')\n")
        done = call_script("--models", "resnet20", PYTHONPATH=folder)
        checks.same((done.returncode, done.stdout), (77, ""), "without torch: exit code, stdout")
        checks.that("python3-torch" in done.stderr, f"without torch: {done.stderr}")
    for words, part in ((["--models", "vgg"], "resnet20"), (["--repeats", "0"], "at least 1"),
                        (["--program", "/nowhere"], "/nowhere")):
        done = call_script(*words)
        checks.same(done.returncode, 2, f"{words}: exit code")
        checks.that(part in done.stderr, f"{words}: {done.stderr}")


def peer_with_torch(checks, cwd):
    """A short comparison, where torch is installed for the Python that runs this."""
    if subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        print("no torch in this Python: the comparison itself is not run")
        return
    done = call_script("--models", "resnet20", "--threads", "1", "--repeats", "2", "--steps", "1",
                       "--batch", "4", "--precisions", "fp32,hfp8", "--quiet", "--json")
    if not checks.same((done.returncode, done.stderr), (0, ""), "comparison: exit code, stderr"):
        return
    rows = json.loads(done.stdout)["rows"]
    checks.same([row["precision"] for row in rows], ["fp32", "hfp8"], "comparison: rows")
    checks.same([row["parameters"] for row in rows], [272474, 272474], "counted on both sides")
    for row in rows:
        checks.same((row["batch"], len(row["turns"]), len(row["torch_turns"])), (4, 2, 2), "turns")
        checks.same(row["seconds_per_step"], min(row["turns"]), "the best turn counts")
        checks.same(row["torch_seconds_per_step"], min(row["torch_turns"]), "torch's too")
        checks.same(row["speedup"], min(row["torch_turns"]) / min(row["turns"]), "speedup")
        checks.same(row["to_fp32"], row["seconds_per_step"] / rows[0]["seconds_per_step"], "to fp32")
        checks.that(0 < row["peak_rss_bytes"] < row["torch_peak_rss_bytes"], f"memory of {row}")
        checks.that("blas" in row["torch_blas"] or row["torch_blas"] == "its own", f"BLAS of {row}")
    for name in ("fcn-s", "pan-s", "ssd-s", "cvae-s", "dcgan-s", "transformer-lm-s", "ds2-s", "seq2seq-s", "lstm-lm-s", "biglstm-s", "bert-tiny-s"):
        done = call_script("--models", name, "--threads", "1", "--repeats", "1", "--steps", "1",
                           "--batch", "2", "--precisions", "fp32", "--quiet", "--json")
        checks.same((done.returncode, done.stderr), (0, ""), f"{name}: the same parameters in torch")


program.main(contestants, assumed_data, alone_is_smaller, short_batches, text, peer, peer_with_torch)
