"""score trains a suite in a format and beside it in float32, keeps what was trained, and tells one figure. A short form
of two networks stands for the whole: the arithmetic, the cache and the ways in which it ends are the same."""
import glob
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time

import program

TINY = ["score.networks=conv,lstm", "steps=60", "data.limit=640", "data.test_limit=96", "seeds=1,2", "run.dir=s",
        "run.quiet=on", "parallel=2"]
NETWORKS = ["conv", "depthwise", "lstm", "transformer", "vit", "autoencoder", "detector", "ctc"]


def score(checks, *words, cwd, code=0):
    found, out, err = program.call("score", *words, "--json", cwd=cwd)
    checks.same(found, code, f"score {words}: exit code ({err})")
    return json.loads(out) if out else {}


def records(cwd):
    """What the cache holds: training by file."""
    found = {}
    for path in glob.glob(f"{cwd}/s/v1/*/*.json"):
        with open(path, encoding="utf-8") as file:
            found[path] = json.load(file)
    return found


def shares(cwd, name, network):
    """Seed by seed, from the definition; loss is lower where it is better."""
    found = {record["training"]: record for record in records(cwd).values()}
    made = []
    for seed in (1, 2):
        mine, reference = found[f"{name} {network} seed {seed}"], found[f"fp32 {network} seed {seed}"]
        gain = mine["guess"] - mine["value"] if mine["value"] is not None else 0
        made.append(max(0, 100 * (gain / (reference["guess"] - reference["value"]))))
    return made


def arithmetic(checks, cwd):
    made = score(checks, "mxfp8", *TINY, cwd=cwd)
    checks.same([made["suite"], made["version"], made["format"]], ["halfulp-score", 1, "mxfp8"], "what it is")
    checks.same([made["comparable"], made["quick"], made["place"], made["of"]], [False, False, None, None],
                "a suite of its own has no place")
    checks.same([part["name"] for part in made["networks"]], ["conv", "lstm"], "networks")
    for part in made["networks"]:
        both = shares(cwd, "mxfp8", part["name"])
        checks.that(math.isclose(part["score"], statistics.mean(both), rel_tol=1e-12), f"mean of {both}: {part}")
        checks.that(math.isclose(part["standard_error"], statistics.stdev(both) / math.sqrt(2), rel_tol=1e-9),
                    f"error of {both}: {part}")
        checks.same([part["seeds"], part["measure"], part["failure"]], [2, "loss", None], "seeds, measure, failure")
    total = statistics.mean(part["score"] for part in made["networks"])
    checks.that(math.isclose(made["score"], total, rel_tol=1e-12), f"the total of {made}")
    error = math.hypot(*(part["standard_error"] for part in made["networks"])) / 2
    checks.that(math.isclose(made["standard_error"], error, rel_tol=1e-9), f"the error of {made}")
    checks.that(8.2 < made["bits"] < 8.7, f"eight bits and scales of blocks: {made['bits']}")
    checks.that(made["score"] > 50, f"mxfp8 learns: {made['score']}")
    checks.that(math.isclose(made["networks"][0]["guess"], math.log(10)), "guessing among ten classes")
    full = score(checks, "fp32", *TINY, cwd=cwd)
    checks.same([full["score"], full["standard_error"], full["bits"]], [100, 0, 32], "float32 itself")


def cache(checks, cwd):
    """What was trained is only read; other keys, lengths and seeds are other trainings."""
    first = score(checks, "e4m3fn:scale=current", *TINY, cwd=cwd)
    kept = records(cwd)
    checks.same(len(kept), 8, "two formats, two networks, two seeds")
    checks.same(glob.glob(f"{cwd}/s/v1/*/*-s?"), [], "no folder of a training stays")
    times = {path: os.stat(path).st_mtime_ns for path in kept}
    checks.same(score(checks, "e4m3fn:scale=current", *TINY, cwd=cwd), first, "the same again")
    checks.same(score(checks, "e4m3fn:scale=current", *TINY[:-1], "parallel=1", cwd=cwd), first,
                "one at a time")
    checks.same({path: os.stat(path).st_mtime_ns for path in records(cwd)}, times, "nothing was trained")
    alike = score(checks, "e4m3fn:scale=current", "accumulator=fmac8:1/6/9", *TINY, cwd=cwd)
    checks.same(alike["format"], "e4m3fn:scale=current accumulator=fmac8:1/6/9", "its name has the key")
    checks.same(len(records(cwd)), 12, "an accumulator is another training, with the same float32")
    moved = f"{cwd}/other"
    os.rename(f"{cwd}/s", moved)
    words = [word for word in TINY if not word.startswith("run.dir")]
    checks.same(score(checks, "e4m3fn:scale=current", *words, "run.dir=other", cwd=cwd), first,
                "the cache may move")


def file_of_numbers(checks, cwd):
    """Another file of the same name is another format."""
    words = ["w=table:t.txt,act=fp16", "table:t.txt", "score.networks=conv", "steps=2", "data.limit=64",
             "data.test_limit=16", "seeds=1", "run.dir=s", "run.quiet=on", "parallel=1"]
    for numbers, count in (("-1\n0\n0.5\n1\n", 3), ("-1\n0\n0.25\n1\n", 5), ("-1\n0\n0.5\n1\n", 5)):
        with open(f"{cwd}/t.txt", "w", encoding="utf-8") as file:
            file.write(numbers)
        score(checks, *words, cwd=cwd)
        checks.same(len(records(cwd)), count, f"trainings that are kept after {numbers!r}")


def named_within(checks, cwd):
    """So it is where a list by epoch, a rule or a plan names it."""
    short = ["score.networks=conv", "steps=2", "data.limit=64", "data.test_limit=16", "seeds=1", "run.dir=s",
             "run.quiet=on", "parallel=1"]
    rows = [["0: table:t.txt, 1: fp32"], ["fp32", "precision.rules=['conv1.out: table:t.txt:tile=1x4:scale=f32']"],
            ["deepseek-fp8", "operand.rules=['*.weight_grad: table:t.txt']"], ["p.yaml"]]
    for numbers in ("-1\n0\n0.5\n1\n", "-1\n0\n0.25\n1\n"):
        with open(f"{cwd}/t.txt", "w", encoding="utf-8") as file:
            file.write(numbers)
        if not os.path.exists(f"{cwd}/p.yaml"):
            program.call("plan", "model=cnn-s", "data=glyphs", "loss=softmax_cross_entropy",
                         "precision=table:t.txt", "out=p.yaml", cwd=cwd)
        before = len(records(cwd))
        for row in rows:
            score(checks, *row, *short, cwd=cwd)
            score(checks, *row, *short, cwd=cwd)
        checks.same(len(records(cwd)) - before, len(rows) + (before == 0), f"trainings after {numbers!r}")


def damaged(checks, cwd):
    """A file that cannot be read, or is another training's, is set aside and trained again."""
    first = score(checks, "mxfp8", *TINY, cwd=cwd)
    paths = sorted(path for path in records(cwd) if "mxfp8" in path)
    with open(paths[0], "w", encoding="utf-8") as file:
        file.write('{"suite": "halfulp-sc')
    os.replace(paths[1], paths[2])
    code, out, err = program.call("score", "mxfp8", *TINY, "--json", cwd=cwd)
    checks.same([code, json.loads(out)], [0, first], f"trained again: {err}")
    checks.that("found no JSON" in err and "another training's figures" in err, f"it says so: {err}")
    checks.that(os.path.exists(paths[0] + ".damaged"), "the damaged file stays beside it")


def several(checks, cwd):
    made = score(checks, "mxfp8", "precision=w=e4m3,act=e4m3;hfp8", "score.networks=lstm", *TINY[1:], cwd=cwd)
    checks.same([row["format"] for row in made["formats"]], ["mxfp8", "w=e4m3,act=e4m3", "hfp8"], "in their order")
    out = program.call("score", "mxfp8", "e4m3fn", *TINY, cwd=cwd)[1]
    for text in ("mxfp8: score", "bits a number", "not comparable", "lstm", "guessing", "are too small for e4m3fn"):
        checks.that(text in out, f"the table holds {text!r}: {out}")
    out = program.call("score", "mxfp8", "suite=quick", "score.networks=lstm", "steps=1", *TINY[2:], cwd=cwd)[1]
    checks.that("lstm: no score, as float32 itself gained nothing over guessing" in out
                and "(another suite than the league's: not comparable)" in out, f"nothing to compare with: {out}")
    lost = score(checks, "e4m3fn", *TINY, cwd=cwd)
    failure = lost["networks"][1]["failure"]
    checks.that(failure and "step" in failure and "became zero" in failure, f"why it failed: {failure}")
    checks.same(lost["networks"][1]["score"], 0, "nothing below 0")


def interrupted(checks, cwd):
    """Ctrl-C, then the same command."""
    words = ["mxfp8", *TINY[:1], "steps=150", *TINY[2:]]
    whole = score(checks, *words, cwd=cwd)
    os.rename(f"{cwd}/s", f"{cwd}/whole")
    process = program.start("score", *words, cwd=cwd)
    for _ in range(600):
        if len(records(cwd)) >= 2:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=120)[1]
    checks.same(process.returncode, 130, f"interrupted: {err}")
    checks.that(0 < len(records(cwd)) < 8, f"in the middle: {len(records(cwd))}")
    checks.same(score(checks, *words, cwd=cwd), whole, "the figures of a command that was not stopped")


def ends_with_the_league(checks, cwd):
    """However tools/league.py ends, nothing that it has started goes on, and what was trained is kept."""
    program.put(cwd, "list.txt", b"mxfp8 score.networks=conv,lstm steps=400000 seeds=1\n")
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "league.py")
    for number in (signal.SIGKILL, signal.SIGTERM):
        running = subprocess.Popen([sys.executable, tool, f"halfulp={program.HALFULP}", "list=list.txt", "out=.",
                                    f"run.dir=s{number}", "parallel=1"], cwd=cwd, stderr=subprocess.DEVNULL)
        begun = glob.escape(f"{cwd}/s{number}") + "/v1/*/*/metrics.csv"
        started = program.wait_until(lambda: running.poll() is not None or glob.glob(begun))
        checks.that(started and running.poll() is None, f"{number}: a training runs")
        scoring = program.children(running.pid)
        all_of_them = scoring + [child for pid in scoring for child in program.children(pid)]
        checks.that(len(all_of_them) >= 2, f"{number}: processes {all_of_them}")
        running.send_signal(number)
        running.wait(60)
        gone = program.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in all_of_them))
        checks.that(gone, f"{number}: they end too")


def league(checks, cwd):
    """The rows in the program, and the picture with a format of the command among them."""
    made = score(checks, cwd=cwd)
    rows = made["league"]
    checks.same([row["place"] for row in rows], list(range(1, len(rows) + 1)), "places in order")
    checks.same(rows, sorted(rows, key=lambda row: -row["score"]), "the best is first")
    code, out, err = program.call("score", cwd=cwd)
    checks.same([code, len(out.splitlines())], [0, 2 + len(rows)], f"the table: {err}")
    code, _, err = program.call("score", "mxfp8", *TINY, "out=s.svg", cwd=cwd)
    checks.same([code, "drawn: s.svg\n" in err], [0, True], f"a picture: {err}")
    with open(f"{cwd}/s.svg", encoding="utf-8") as file:
        picture = file.read()
    for part in ("<svg", "bits of a number", "mxfp8", "nothing is better with fewer bits"):
        checks.that(part in picture, f"the picture has {part!r}")


def bad_input(checks, cwd):
    for words, code, parts in [
            (["e4m3fm"], 2, ["e4m3fm", "nearest", "e4m3fn"]),
            (["mxfp8", "mxfp8"], 2, ["found 'mxfp8' twice"]),
            (["mxfp8", "1/6/9", "E6M9"], 2, ["found '1/6/9' and 'E6M9', which are one format"]),
            (["mxfp8", "accumulator=fmc:fp16"], 2, ["fmc", "fmac"]),
            (["mxfp8", "score.networks=convv"], 2, ["'convv'", "conv"]),
            (["mxfp8", "suite=fast"], 2, ["suite", "quick"]),
            (["mxfp8", "seeds=1,1"], 2, ["seed"]),
            (["mxfp8", "out=x.png"], 2, ["svg"]),
            (["mxfp8", "lr=0.1"], 0, []),
            (["missing.yaml"], 3, ["missing.yaml"])]:
        tiny = [word for word in TINY if word.split("=")[0] not in {word.split("=")[0] for word in words}]
        found, _, err = program.call("score", *words, *tiny, cwd=cwd)
        if code == 0:
            checks.that("lr" in err, f"{words}: a key that is not read is told: {err}")
            continue
        checks.same(found, code, f"{words}: {err}")
        for part in parts:
            checks.that(part in err, f"{words}: {part!r} in {err}")


def without_learning(checks, cwd):
    """Where float32 itself gains nothing there is nothing to take a share of."""
    made = score(checks, "mxfp8", "score.networks=lstm", "steps=1", *TINY[2:], cwd=cwd)
    checks.same([made["score"], made["networks"][0]["score"]], [None, None], "no figure")


def whole_suite(checks, cwd):
    """Each network trains, in one step, on its own data, and says what guessing is worth there."""
    made = score(checks, "bf16", "steps=1", "data.test_limit=64", "data.limit=256", "seeds=1", "run.dir=s",
                 "run.quiet=on", cwd=cwd)
    checks.same([part["name"] for part in made["networks"]], NETWORKS, "all networks")
    for part in made["networks"]:
        checks.that(part["float32"] is not None and part["value"] is not None, f"it has figures: {part}")
        checks.that(part["guess"] >= 0, f"guessing: {part}")
    checks.that(15.9 < made["bits"] < 16.1, f"sixteen bits: {made['bits']}")
    words = ["bf16", "steps=1", "data.test_limit=64", "data.limit=256", "seeds=1", "run.dir=avx2", "run.quiet=on"]
    code, out, err = program.call("score", *words, "--json", cwd=cwd, env={**os.environ, "HALFULP_MAX_ISA": "avx2"})
    checks.same([code, json.loads(out)], [0, made], f"the same bits without AVX-512: {err}")
    quick = score(checks, "bf16", "suite=quick", "steps=1", "data.test_limit=64", "data.limit=256", "run.dir=s",
                  "run.quiet=on", cwd=cwd)
    checks.same([part["name"] for part in quick["networks"]], ["conv", "lstm", "transformer", "autoencoder"],
                "the quick ones")
    checks.same([part["seeds"] for part in quick["networks"]], [1] * 4, "one seed")


def full_disk(checks, cwd):
    """Where no file can grow, an error that says so, and nothing half written that counts."""
    code, _, err = program.call("score", "mxfp8", *TINY, cwd=cwd, **program.small_files(4096))
    checks.that(code in (1, 5), f"exit code {code}: {err}")
    checks.same(records(cwd), {}, f"nothing is kept: {err}")
    checks.that("halfulp:" in err, f"it says so: {err}")


if __name__ == "__main__":
    program.main(arithmetic, cache, file_of_numbers, named_within, damaged, several, interrupted, ends_with_the_league, league, bad_input,
                 without_learning, whole_suite, full_disk)
