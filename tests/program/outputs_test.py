"""Outputs that would destroy a run or an input: every key that names a file to write, in every verb, is refused before
anything is written; what a verb makes itself, and files of one's own, are not."""
import os
import re

import program

KEYS = ["model=cnn-s", "model.width=0.25", "data=folder:images", "data.size=16", "batch=8", "steps=2", "threads=1",
        "quiet=on"]
# A verb with the words that make it write, and the keys by which it does.
VERBS = [(["eval", "run"], ["out", "page"]), (["predict", "run"], ["out", "pictures"]), (["export", "run"], ["out"]),
         (["report", "run"], ["out", "-o"]), (["fmt", "fp16"], ["out", "-o"]), (["plan", *KEYS[:4]], ["out"]),
         (["bench", "kernel=round", "format=fp16", "elements=64", "repeat=1"], ["out"]),
         (["comm", "workers=2", "format=e5m2", "elements=64", "repeat=1"], ["out"])]
OUT_KEYS = {"out.file", "out.page", "out.section", "out.layout", "out.weights", "out.count", "out.pictures"}  # three of them name files


def make(cwd):
    for number, name in enumerate("ab"):
        for half, count in (("train", 6), ("val", 2)):
            for i in range(count):
                program.put(cwd, f"images/{half}/{name}/{i}.png", program.png(16, 16, [90 * number + 20, 9 * i, 40]))
    program.train(*KEYS, cwd=cwd, run="first")
    code, _, err = program.call("export", "first", "out=begin.safetensors", cwd=cwd)
    assert code == 0, err
    program.train(*KEYS, "init=begin.safetensors", "run.histogram_every=1", cwd=cwd)
    os.makedirs(f"{cwd}/links")
    os.link(f"{cwd}/run/graph.json", f"{cwd}/links/graph.csv")
    os.link(f"{cwd}/images/val/a/0.png", f"{cwd}/links/sample.csv")
    os.symlink("../images/val/a/1.png", f"{cwd}/links/sample.html")
    os.symlink("../run/result.json", f"{cwd}/links/result.csv")


def written(words, key, path):
    return [*words, "-o", path] if key == "-o" else [*words, f"{key}={path}"]


def refused(checks, cwd, words, what):
    code, out, err = program.call(*words, cwd=cwd)
    checks.that(code == 2 and out == "" and "would be lost" in err, f"{what}: {' '.join(words)}: exit {code}: {err}")


def destroys_nothing(checks, cwd):
    make(cwd)
    code, listed, _ = program.call("help", "keys", cwd=cwd)
    checks.same((code, set(re.findall(r"^ *(out\.[a-z]+)", listed, re.M))), (0, OUT_KEYS), "keys out.*: see VERBS")
    before = program.tree_bytes(cwd)
    all_files = sorted(os.path.relpath(os.path.join(where, name), cwd)
                       for where, _, names in os.walk(f"{cwd}/run") for name in names)
    few = ["run/config.resolved.yaml", "run/data.txt", "first/metrics.csv", *[name for name in all_files if "checkpoint/" in name][:1]]
    inputs = ["begin.safetensors", "images/val/a/0.png", "images/train/b/3.png", "links/sample.csv", "links/sample.html",
              "links/result.csv"]
    for words, keys in VERBS:
        of_run = "run" in words
        for key in keys:
            paths = few + (inputs + ["links/graph.csv"] if of_run else ["links/result.csv"])
            if words[0] == "eval" and key == "out":
                paths = all_files + inputs
            for path in paths:
                refused(checks, cwd, written(words, key, path), "a file that is there")
    checks.that(program.tree_bytes(cwd) == before, "no byte of any file is another")

    os.remove(f"{cwd}/run/classes.txt")  # a name of the run's that is free
    refused(checks, cwd, ["export", "run", "out=run/classes.txt"], "a name of the run's")
    picture = program.tree_bytes(f"{cwd}/images/val")["b/1.png"]
    program.put(cwd, "my.png", picture)
    refused(checks, cwd, ["predict", "first", "my.png", "out=my.png"], "the picture that is asked about")
    program.put(cwd, "keys.yaml", b"model:\n  width: 0.25\n")
    refused(checks, cwd, ["plan", "config=keys.yaml", "model=cnn-s", "out=keys.yaml"], "config=")
    os.makedirs(f"{cwd}/own")
    os.rename(f"{cwd}/run/plan.resolved.yaml", f"{cwd}/own/plan.resolved.yaml")
    refused(checks, cwd, ["train", *KEYS, "precision=own/plan.resolved.yaml", "run.dir=own"], "run.dir with an input")
    code, _, err = program.call("eval", "run", "out=two", "page=two", cwd=cwd)
    checks.that(code == 2 and "expected two files" in err, f"one name for two: exit {code}: {err}")
    after = program.tree_bytes(cwd)
    checks.that(after["my.png"] == picture and after["own/plan.resolved.yaml"] == before["run/plan.resolved.yaml"], "inputs stand")


def goes_on(checks, cwd):
    """The same file twice, files among the run's, and what the verb makes itself."""
    make(cwd)
    os.makedirs(f"{cwd}/elsewhere")
    os.symlink("elsewhere/made.csv", f"{cwd}/typed.csv")
    for words in (["eval", "run", "out=run/mine.csv"], ["eval", "run", "out=images/mine.csv", "page=mine.html"],
                  ["predict", "run", "out=typed.csv"],
                  ["report", "run", "out=run/report.html"], ["export", "run", "out=run/weights.safetensors"],
                  ["report", "run", "first", "out=both.html"]):
        for turn in ("new", "again"):
            code, _, err = program.call(*words, cwd=cwd)
            checks.that(code == 0, f"{turn}: {words}: exit {code}: {err}")
    checks.that(os.path.islink(f"{cwd}/typed.csv") and os.path.exists(f"{cwd}/elsewhere/made.csv"), "a link that was typed")


def asked_before(checks, cwd):
    """A file that could not be written is told before anything is computed."""
    for words in (["score", "e4m3", "suite=quick", "steps=1", "out=gone/a.svg"], ["bench", "all", "out=/gone/a.md"],
                  ["plan", *KEYS[:2], "out=gone/deeper/a.yaml"], ["fmt", "fp16", "-o", "gone/a.html"]):
        code, out, err = program.call(*words, cwd=cwd, timeout=30)
        gone = words[-1].rpartition("/")[0].partition("=")[2] or "gone"
        checks.that(code == 3 and out == "" and f"found no folder '{gone}', expected one that is there" in err
                    and "row 1" not in err, f"{words}: exit {code}: {err}")
    code, _, err = program.call("score", "e4m3", "suite=quick", "steps=1", "out=.", cwd=cwd)
    checks.that(code == 2 and ".: found a folder, expected a file" in err and "row 1" not in err, f"a folder: exit {code}: {err}")
    checks.same(os.listdir(cwd), [], "nothing is left behind")
    code, _, err = program.call("fmt", "fp16", "-o", "a.html", cwd=cwd)
    checks.same(code, 0, f"a name alone: {err}")


if __name__ == "__main__":
    program.main(destroys_nothing, goes_on, asked_before)
