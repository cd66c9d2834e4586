"""compare trains the same job in many precisions and seeds; it can be stopped and gone on with."""
import json
import math
import os
import signal
import statistics
import subprocess
import time

import program
from program import TINY

LIST = "fp32,hfp8,w=e4m3,act=e5m2,fp(4,3,4)"
NAMES = ["fp32", "hfp8", "w=e4m3,act=e5m2", "fp(4,3,4)"]
KEYS = {"precision": str, "seed": int, "test_accuracy": float, "low_precision_ratio": float,
        "memory_bytes": int, "peak_rss_bytes": int, "seconds": float, "promoted": int,
        "skipped_steps": int, "weights_hash": str, "ledger_bytes": dict, "run": str}


def compare(checks, *words, cwd, code=0):
    found, out, err = program.call("compare", *words, "--json", cwd=cwd)
    checks.same(found, code, f"compare {words}: exit code ({err})")
    return json.loads(out) if out else {}


def front(means, key="test_accuracy"):
    """Indices of the means that no other beats, straight from the definition; nothing that collapsed
    beats or stands on it."""
    found = []
    for i, mine in enumerate(means):
        beaten = any(other[key] >= mine[key] and other["memory_bytes"] <= mine["memory_bytes"]
                     and (other[key] > mine[key] or other["memory_bytes"] < mine["memory_bytes"])
                     for other in means if not other["collapsed"])
        if not beaten and not mine["collapsed"]:
            found.append(i)
    return found


def collapsed(folder, row):
    """By the definition, from the rows of metrics.csv: below half of the best in the last third of
    three evaluations or more, or within two deviations of a guess at the end."""
    tests = [float(line["test_accuracy"]) for line in program.rows(*os.path.split(folder))
             if line["test_accuracy"]]
    third = tests[-((len(tests) + 2) // 3):]
    if len(tests) >= 3 and all(test < max(tests) / 2 for test in third):
        return True
    chance = row["chance"]
    return tests[-1] <= chance["value"] + 2 * math.sqrt(
        chance["value"] * (1 - chance["value"]) / chance["samples"])


def same_number(checks, found, expected, what):
    checks.that(found is not None and math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-15),
                f"{what}: found {found}, expected {expected}")


def fair(checks, cwd):
    """All rows are evaluated in one way; means have deviations; noise and collapse are told."""
    names = ["fp32", "1/6/9", "hfp8", "uniform+promote", "fp(2,5,2)"]
    keys = ["precision=" + ";".join(names), "seeds=1,2,3", "model=cnn-s", "model.width=0.5",
            "data=glyphs", "data.limit=400", "data.test_limit=200", "batch=16", "epochs=6",
            "threads=1", "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)", "run.dir=c"]
    made = compare(checks, *keys, "parallel=2", cwd=cwd)
    rows = [made["rows"][i:i + 3] for i in range(0, len(made["rows"]), 3)]
    checks.same(made["eval_weights"], "rounded", "the weights that all rows are evaluated with")
    for row in made["rows"]:
        with open(f"{cwd}/{row['run']}/config.resolved.yaml") as file:
            checks.that("weights: rounded" in file.read(), f"{row['run']}: rounded weights")
        checks.same("collapsed" in row, collapsed(f"{cwd}/{row['run']}", row),
                    f"{row['run']}: collapsed, {row.get('collapsed')}")
    means = made["precisions"]
    for mean, three in zip(means, rows):
        for kind in ("test", "best"):
            values = [row[f"{kind}_accuracy"] for row in three]
            same_number(checks, mean[f"{kind}_accuracy"], statistics.mean(values), "mean")
            same_number(checks, mean[f"{kind}_accuracy_deviation"], statistics.stdev(values),
                        "deviation")
        checks.same(mean["collapsed"], sum("collapsed" in row for row in three), "collapsed rows")
    sound = [i for i, mean in enumerate(means) if not mean["collapsed"]]
    checks.that(2 <= len(sound) < len(means), f"some collapsed, some did not: {sound}")
    best = max(sound, key=lambda i: means[i]["test_accuracy"])
    variance = statistics.mean([statistics.variance([row["test_accuracy"] for row in rows[i]])
                                for i in sound])
    t = {2: 4.303, 4: 2.776, 6: 2.447, 8: 2.306, 10: 2.228}[2 * len(sound)]
    for i, mean in enumerate(means):
        behind = mean["test_accuracy"] - means[best]["test_accuracy"]
        same_number(checks, mean["test_accuracy_behind"], behind, f"{names[i]}: behind the best")
        is_noise = i in sound and i != best and -behind <= t * math.sqrt(variance * 2 / 3)
        checks.same(mean["within_noise"], is_noise, f"{names[i]}: within the noise")
    checks.same([i for i, mean in enumerate(means) if mean["pareto"]], front(means), "the front")
    checks.same([i for i, mean in enumerate(means) if mean["pareto_best"]],
                front(means, "best_accuracy"), "the front of the best evaluations")
    masters = compare(checks, "precision=fp32,hfp8", *keys[2:-1], "epochs=1", "run.dir=m",
                      "eval.weights=master", cwd=cwd)
    checks.same(masters["eval_weights"], "master", "eval.weights chooses")
    out = program.call("compare", *keys, cwd=cwd)[1]
    for text in ("rounded weights", "+-", "to the best", "collapsed", "fp(2,5,2) seed 1 collapsed: "):
        checks.that(text in out, f"the table holds {text!r}: {out}")
    checks.that("fp(2,5,2) *" not in out, f"no star for what collapsed: {out}")


def one_seed(checks, cwd):
    """Without other seeds the test samples alone tell what is noise."""
    made = compare(checks, "precision=fp32,1/6/9", "model=cnn-s", "data=glyphs", "data.limit=400",
                   "data.test_limit=200", "batch=16", "epochs=2", "threads=1", "run.dir=c", cwd=cwd)
    values = [mean["test_accuracy"] for mean in made["precisions"]]
    checks.same([mean["collapsed"] for mean in made["precisions"]], [0, 0], "both learn")
    best = max(values)
    width = 1.960 * math.sqrt(2 * best * (1 - best) / 200)
    for value, mean in zip(values, made["precisions"]):
        checks.same(mean["within_noise"], value < best and best - value <= width, "noise of samples")
        checks.same(mean["test_accuracy_deviation"], None, "no deviation of one")


def aggregate(checks, cwd):
    """Promotion makes the aggregate larger: two widths, so that its mean follows from the ratio's."""
    made = compare(checks, "precision=uniform+promote", *TINY, "model=cnn-s", "epochs=4",
                   "precision.promote_at=0.002",
                   "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)", "run.dir=c", cwd=cwd)
    row, = made["rows"]
    with open(f"{cwd}/{row['run']}/plan.json") as file:
        elements = json.load(file)["tensor_elements"]
    with open(f"{cwd}/{row['run']}/numerics.jsonl") as file:
        promoted = [line for line in map(json.loads, file) if "promoted" in line]
    checks.that(promoted and row["promoted"] > 1, f"tensors were promoted: {row['promoted']}")
    start, end, mean = (row[f"model_aggregate_bits{part}"] for part in ("_start", "", "_mean"))
    checks.that(start < mean < end, f"it grows: {start}, {mean}, {end}")
    checks.that(abs(mean - 16 * elements * (1 - row["low_precision_ratio"] / 2)) < 1e-9 * mean,
                f"the mean {mean} is that of the ratio {row['low_precision_ratio']}")
    out = program.call("compare", "precision=uniform+promote", *TINY, "model=cnn-s", "epochs=4",
                       "precision.promote_at=0.002",
                       "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)", "run.dir=c",
                       cwd=cwd)[1]
    mib = [bits / 8 / 2**20 for bits in (start, end, mean)]
    checks.that("{:.1f} > {:.1f} ({:.1f}) MiB".format(*mib) in out, f"the table tells it: {out}")


def rows_and_front(checks, cwd):
    made = compare(checks, f"precision={LIST}", "seeds=1,2", *TINY, "epochs=2", "run.dir=c",
                   "parallel=2", cwd=cwd)
    rows = made["rows"]
    checks.same([(row["precision"], row["seed"]) for row in rows],
                [(name, seed) for name in NAMES for seed in (1, 2)], "rows of compare")
    for row in rows:
        for key, kind in KEYS.items():
            checks.same(type(row.get(key)), kind, f"{row['precision']}: type of {key}")
        checks.same(row["memory_bytes"], row["ledger_bytes"]["total"], "memory is the ledger's")
    means = [{**{key: (a[key] + b[key]) / 2 for key in ("test_accuracy", "memory_bytes")},
              "collapsed": ("collapsed" in a) + ("collapsed" in b)}
             for a, b in zip(rows[0::2], rows[1::2])]
    best = front(means)
    checks.same(made["pareto"], [2 * i + k for i in best for k in (0, 1)], "rows of the front")
    checks.same([i for i, mean in enumerate(made["precisions"]) if mean["pareto"]], best,
                "precisions of the front")
    for mean, expected in zip(made["precisions"], means):
        checks.same(mean["test_accuracy"], expected["test_accuracy"], "mean over the seeds")
    alone = program.train(*TINY, "epochs=2", "precision=hfp8", "seed=2", cwd=cwd)
    checks.same(rows[3]["weights_hash"], alone["weights_hash"], "a row is what train makes of it")
    with open(f"{cwd}/c/compare.json") as file:
        checks.same(json.load(file), made, "compare.json is the result")
    again = compare(checks, f"precision={LIST}", "seeds=1,2", *TINY, "epochs=2", "run.dir=c",
                    cwd=cwd)
    checks.same(again, made, "finished rows are read, not trained again")
    more = compare(checks, "precision=hfp8", "seeds=2,3", *TINY, "epochs=2", "run.dir=c", cwd=cwd)
    checks.same(more["rows"][0], rows[3], "another list over the same folder takes what is there")
    code, out, err = program.call("compare", f"precision={LIST}", "seeds=1,2", *TINY, "epochs=2",
                                  "run.dir=c", cwd=cwd)
    checks.same(code, 0, f"compare as a table: {err}")
    for text in (*NAMES, "accuracy", "peak RSS", "memory by role", "activations", "2 of 2"):
        checks.that(text in out, f"the table holds {text!r}: {out}")


def folder_by_itself(checks, cwd):
    first = compare(checks, "precision=fp32", *TINY, "steps=2", cwd=cwd)
    second = compare(checks, "precision=fp32,fp16", "threads=2", *TINY[:-1], "steps=2", cwd=cwd)
    checks.same(second["run"], first["run"], "the same job finds its folder without run.dir")
    checks.same(second["rows"][0]["seconds"], first["rows"][0]["seconds"], "and its finished row")
    other = compare(checks, "precision=fp32", *TINY, "steps=3", cwd=cwd)
    checks.that(other["run"] != first["run"], "another job has another folder")
    with open(f"{cwd}/c.yaml", "w") as file:
        file.write("compare:\n  precisions:\n    - fp32\n    - w=e4m3,act=e4m3\n  seeds: [4, 5]\n"
                   "steps: 1\n")
    made = compare(checks, "config=c.yaml", *TINY, cwd=cwd)
    checks.same([(row["precision"], row["seed"]) for row in made["rows"]],
                [("fp32", 4), ("fp32", 5), ("w=e4m3,act=e4m3", 4), ("w=e4m3,act=e4m3", 5)],
                "lists from YAML")
    made = compare(checks, "precision=w=e4m3,act=e5m2,w=e5m2,act=e4m3,fp16", *TINY, "steps=1",
                   cwd=cwd)
    checks.same([row["precision"] for row in made["rows"]],
                ["w=e4m3,act=e5m2", "w=e5m2,act=e4m3", "fp16"], "roles that come again")
    made = compare(checks, "precision=w=e4m3,act=e5m2; fp16", *TINY, "steps=1", cwd=cwd)
    checks.same([row["precision"] for row in made["rows"]], ["w=e4m3,act=e5m2", "fp16"],
                "semicolons")


def no_single_run(checks, cwd):
    """Verbs that want one run name those of a comparison; a folder without any is another error."""
    compare(checks, "precision=fp32,hfp8", *TINY, "steps=1", "run.dir=c", cwd=cwd)
    def refused(verb, folder, code, *texts):
        found, out, err = program.call(verb, folder, cwd=cwd)
        checks.same((found, out), (code, ""), f"{verb} {folder}: {err}")
        for text in texts:
            checks.that(text in err, f"{verb} {folder}: {text!r} in {err!r}")
    for verb in ("why", "stats", "eval", "predict", "resume", "export"):
        refused(verb, "c", 2, "c: found the folder of a comparison", "2 runs: c/fp32-s1, c/hfp8-s1")
    os.remove(f"{cwd}/c/compare.json")
    refused("why", "c", 2, "c: found the folder of several runs", "c/hfp8-s1")
    os.makedirs(f"{cwd}/d/empty")
    refused("why", "d", 3, "d: no run folder")


def wait_for(path, process):
    while process.poll() is None and not os.path.exists(path):
        time.sleep(0.01)


def has_rows(path, count):
    if not os.path.exists(path):
        return False
    with open(path) as file:
        return len(file.readlines()) > count


def interrupted(checks, cwd):
    keys = ["precision=fp32,hfp8", *TINY, "steps=60", "run.checkpoint_every=10"]
    whole = compare(checks, *keys, "run.dir=whole", cwd=cwd)
    process = program.start("compare", *keys, "run.dir=c", cwd=cwd)
    while process.poll() is None and not has_rows(f"{cwd}/c/hfp8-s1/metrics.csv", 3):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    checks.same(process.wait(60), 130, "Ctrl-C: exit code")
    checks.that(not os.path.exists(f"{cwd}/c/hfp8-s1/result.json"), "the row was stopped")
    saved = program.checkpoints(f"{cwd}/c", "hfp8-s1")
    checks.that(saved, "the row has saved a checkpoint")
    before = os.stat(f"{cwd}/c/fp32-s1/result.json").st_mtime_ns
    made = compare(checks, *keys, "run.dir=c", cwd=cwd)
    checks.same(os.stat(f"{cwd}/c/fp32-s1/result.json").st_mtime_ns, before,
                "the finished row is not trained again")
    checks.same([row["weights_hash"] for row in made["rows"]],
                [row["weights_hash"] for row in whole["rows"]], "the stopped row ends with the same bits")
    with open(f"{cwd}/c/hfp8-s1/log.txt") as file:
        checks.that("goes on from" in file.read(), "and went on from its checkpoint")


def killed(checks, cwd):
    keys = ["precision=fp32,hfp8", *TINY, "steps=200", "run.checkpoint_every=1000", "run.dir=c"]
    process = subprocess.Popen([program.HALFULP, "compare", *keys, "--json"], cwd=cwd,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while process.poll() is None and not has_rows(f"{cwd}/c/fp32-s1/metrics.csv", 1):
        time.sleep(0.005)
    for child in program.children(process.pid):
        os.kill(child, signal.SIGKILL)
    out, _ = process.communicate(timeout=program.patience(300))
    checks.same(process.returncode, 1, "a crashed row: exit code")
    rows = json.loads(out)["rows"]
    checks.that("signal 9" in rows[0].get("failed", ""), f"the row says how it ended: {rows[0]}")
    checks.same(rows[1]["state"], "done", "the next row went on")
    made = compare(checks, *keys, cwd=cwd)
    checks.same([row["state"] for row in made["rows"]], ["done", "done"], "the same command mends it")


def orphaned(checks, cwd):
    """However compare ends, its rows save and stop, and the same command goes on."""
    keys = ["precision=fp32", *TINY, "steps=3000", "run.checkpoint_every=100000"]
    for number in (signal.SIGKILL, signal.SIGHUP):
        folder = f"c{number}"
        process = program.start("compare", *keys, f"run.dir={folder}", cwd=cwd)
        program.wait_until(lambda: process.poll() is not None
                   or has_rows(f"{cwd}/{folder}/fp32-s1/metrics.csv", 3))
        row, = program.children(process.pid)
        process.send_signal(number)
        process.wait(60)
        checks.that(program.wait_until(lambda: not os.path.exists(f"/proc/{row}")), f"{number}: the row ends")
        checks.that(program.checkpoints(f"{cwd}/{folder}", "fp32-s1"), f"{number}: and has saved")
        checks.that(not os.path.exists(f"{cwd}/{folder}/fp32-s1/result.json"), "before its end")


def diverged(checks, cwd):
    keys = [*TINY, "lr=1e6", "lr.schedule=constant", "lr.warmup=0", "steps=20", "run.dir=c"]
    made = compare(checks, "precision=fp32", *keys, cwd=cwd)
    checks.that("step" in made["rows"][0].get("diverged", ""), f"a diverged row is a row: {made}")
    checks.same((made["precisions"][0]["diverged"], made["pareto"]), (1, []), "and on no front")
    again = compare(checks, "precision=fp32", *keys, cwd=cwd)
    checks.same(again, made, "a diverged row is finished")


def without_zeros(checks, cwd):
    """What no column stands for is not explained."""
    for names, is_low in (("fp32", False), ("fp32,hfp8", True)):
        out = program.call("compare", f"precision={names}", *TINY, "steps=2", f"run.dir=low{is_low}", cwd=cwd)[1]
        checks.same(out.count("low ratio"), 2 * is_low, f"{names}: the column and its meaning: {out}")


def bad(checks, cwd, words, code, *texts, folder=None):
    found, out, err = program.call("compare", *words, *TINY, "steps=2", cwd=cwd)
    checks.same(found, code, f"compare {words}: exit code ({err})")
    checks.same(out, "", f"compare {words}: no result")
    for text in texts:
        checks.that(text in err, f"compare {words}: {text!r} in {err!r}")
    if folder:
        checks.that(not os.path.exists(f"{cwd}/{folder}"), f"compare {words}: nothing was begun")


def bad_input(checks, cwd):
    for name in ("fp23", "demote:1.5", "w=fp99"):
        bad(checks, cwd, [f"precision=fp32,{name}", "run.dir=x"], 2, name.split("=")[-1], folder="x")
    bad(checks, cwd, ["run.dir=x"], 2, "precision", folder="x")
    bad(checks, cwd, ["precision=fp32,fp32", "run.dir=x"], 2, "twice", folder="x")
    bad(checks, cwd, ["precision=", "run.dir=x"], 2, "empty", folder="x")
    bad(checks, cwd, ["precision=fp32", "seeds=1,1", "run.dir=x"], 2, "once", folder="x")
    bad(checks, cwd, ["precision=fp32", "seeds=a", "run.dir=x"], 2, "seeds", "'a'", folder="x")
    bad(checks, cwd, ["precision=fp32", "seeds=-1", "run.dir=x"], 2, "seeds", folder="x")
    bad(checks, cwd, ["precision=fp32", "seed=3", "run.dir=x"], 2, "seeds=", folder="x")
    bad(checks, cwd, ["precision=fp32", "parallel=0", "run.dir=x"], 2, "parallel", folder="x")
    bad(checks, cwd, ["precision=fp32", "model=resnet21", "run.dir=y"], 2, "resnet21", "fp32 seed 1")
    with open(f"{cwd}/file", "w") as file:
        file.write("no folder")
    bad(checks, cwd, ["precision=fp32", "run.dir=file/c"], 5, "file/c")
    compare(checks, "precision=fp32", *TINY, "steps=2", "run.dir=c", cwd=cwd)
    bad(checks, cwd, ["precision=fp32", "lr=0.7", "run.dir=c"], 2, "lr.base", "0.7", "run.dir=NEW")
    bad(checks, cwd, ["precision=fp32", "data.augment=flip", "run.dir=c"], 2, "data.augment")
    with open(f"{cwd}/c/fp32-s1/result.json") as file:
        later = file.read().replace('"accuracy"', '"surprisal"')
    with open(f"{cwd}/c/fp32-s1/result.json", "w") as file:
        file.write(later)
    bad(checks, cwd, ["precision=fp32", "run.dir=c"], 3, "result.json", "surprisal")
    os.truncate(f"{cwd}/c/fp32-s1/result.json", 40)
    bad(checks, cwd, ["precision=fp32", "run.dir=c"], 3, "result.json")
    with open(f"{cwd}/c/fp32-s1/result.json", "w") as file:
        file.write("{}")
    bad(checks, cwd, ["precision=fp32", "run.dir=c"], 3, "result.json", "metric")


def result_file(checks, cwd):
    made = program.train(*TINY, "steps=2", cwd=cwd)
    with open(f"{cwd}/run/result.json") as file:
        kept = json.load(file)
    del made["peak_rss_bytes"], kept["peak_rss_bytes"]
    checks.same(kept, made, "result.json is what train prints")
    process = program.start("resume", "run", "steps=2000", *TINY[3:], cwd=cwd)
    while process.poll() is None and os.path.exists(f"{cwd}/run/result.json"):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    checks.same(process.wait(60), 130, "resume stopped")
    checks.that(not os.path.exists(f"{cwd}/run/result.json"), "a run that goes on has no result")


def other_numbers(checks, cwd):
    """A table whose file has changed since is no row of the same comparison."""
    words = ["model=cnn-s", "data=glyphs", "data.limit=20", "data.test_limit=8", "batch=7", "steps=2",
             "precision=table:t.txt;fp32", "run.dir=c", "quiet=on"]
    program.put(cwd, "t.txt", b"-1\n-0.1\n0\n0.1\n1\n")
    compare(checks, *words, "seeds=1", cwd=cwd)
    compare(checks, *words, "seeds=1,2", cwd=cwd)
    program.put(cwd, "t.txt", b"-1\n-0.2\n0\n0.2\n1\n")
    code, _, err = program.call("compare", *words, "seeds=1,2,3", cwd=cwd)
    checks.that(code == 2 and "found other numbers than those of t.txt" in err, f"changed: {code}, {err}")


def plan_files(checks, cwd):
    """A plan is a row; the keys of the command win over its own, now and when it goes on."""
    with open(f"{cwd}/mine.yaml", "w") as file:
        file.write("precision:\n  name: listed+promote\n  low_tensors: [group:1]\n"
                   "  promote_at: 0.01\n  rules: ['fc.out: e5m2']\nevidence: [mine]\n")
    words = ["precision=fp32,mine.yaml", "precision.promote_at=0.05", *TINY, "epochs=1",
             "run.dir=plans"]
    rows = compare(checks, *words, cwd=cwd).get("rows", [{}, {}])
    checks.same([row.get("precision") for row in rows], ["fp32", "mine.yaml"], "names of the rows")
    config = open(f"{cwd}/plans/mine.yaml-s1/config.resolved.yaml").read()
    checks.that("promote_at: 0.05" in config and "group:1" in config and "fc.out" in config,
                f"the command's promote_at, the plan's tensors and rules: {config}")
    train = program.train("precision=mine.yaml", "precision.promote_at=0.05", *TINY, "epochs=1",
                          "seed=1", cwd=cwd, run="alone")
    checks.same(rows[1].get("weights_hash"), train["weights_hash"], "compare and train")
    again = compare(checks, *words, cwd=cwd).get("rows")
    checks.same(again, rows, "the same command again")
    with open(f"{cwd}/other.yaml", "w") as file:
        file.write("model: resnet20\n")
    bad(checks, cwd, ["precision=fp32,other.yaml", *TINY], 2, "expected a plan")
    with open(f"{cwd}/names.yaml", "w") as file:
        file.write("precision:\n  name: mine.yaml\n")
    code, _, err = program.call("train", "config=names.yaml", *TINY, "steps=1", cwd=cwd)
    checks.that(code == 2 and "precision=mine.yaml" in err, f"plan inside of a file: {err}")


if __name__ == "__main__":
    program.main(rows_and_front, fair, one_seed, aggregate, no_single_run, other_numbers,
                 plan_files, folder_by_itself, interrupted, killed, orphaned,
                 diverged, without_zeros, bad_input, result_file)
