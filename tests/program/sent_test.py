"""Folders that somebody has sent: links that leave them, and pipes that nobody fills, in the place of files. Nothing
outside is read or written, and nobody waits."""
import json
import os
import shutil
import subprocess

import program
from program import HALFULP, TINY, call, main

VERBS = [["resume", "sent", "steps=3"], ["eval", "sent"], ["predict", "sent"], ["export", "sent"], ["report", "sent"],
         ["why", "sent"], ["stats", "sent"], ["watch", "sent"]]
WAIT = 60  # seconds, of which a verb needs one


def fails(checks, part, words, cwd):
    try:
        code, out, err = call(*words, cwd=cwd, timeout=WAIT)
    except subprocess.TimeoutExpired:
        checks.that(False, f"{' '.join(words)} waits where it should say: {part}")
        return
    checks.that(code == 3 and out == "" and part in err, f"{' '.join(words)}: exit {code}, expected 3 and {part!r}: {err}")


def sent_run(cwd):
    """A run with all that its folder may hold, and files beside it that are nobody's business. Its names."""
    program.train(*TINY, "model=cnn-s", "model.width=0.5", "steps=2", "run.histogram_every=1", cwd=cwd)
    for verb in ("export", "report"):
        call(verb, "run", cwd=cwd)
    os.makedirs(f"{cwd}/away/folder")
    for name in ("file", "folder/step-000000000001.hulp"):
        with open(f"{cwd}/away/{name}", "w") as file:
            file.write("not yours")
    states = sorted(os.listdir(f"{cwd}/run/checkpoint"))
    return sorted(os.listdir(f"{cwd}/run")) + [f"checkpoint/{states[-1]}"]


def replaced(cwd, name, put):
    """A copy of the run, in which `put` makes what stands in the place of a name."""
    shutil.rmtree(f"{cwd}/sent", ignore_errors=True)
    shutil.copytree(f"{cwd}/run", f"{cwd}/sent", symlinks=True)
    path = f"{cwd}/sent/{name}"
    (shutil.rmtree if os.path.isdir(path) else os.remove)(path)
    put(path)


def links(checks, cwd):
    names = sent_run(cwd)
    before = program.tree_bytes(f"{cwd}/away")
    for number, name in enumerate(names):
        target = f"{cwd}/away/folder" if os.path.isdir(f"{cwd}/run/{name}") else f"{cwd}/away/file"
        replaced(cwd, name, lambda path: os.symlink(target, path))
        for words in VERBS if name in ("metrics.csv", "checkpoint") else [VERBS[number % len(VERBS)]]:
            fails(checks, f"sent/{name}: found a link that leaves the folder", words, cwd)
    replaced(cwd, "report.html", lambda path: os.symlink("../away/new", path))  # a target that would be made
    fails(checks, "sent/report.html: found a link that leaves", ["report", "sent"], cwd)
    code, out, err = call("list", ".", "--json", cwd=cwd)
    states = {os.path.basename(row["run"]): row["state"] for row in json.loads(out or '{"runs": []}')["runs"]}
    checks.same((code, states), (0, {"run": "finished", "sent": "damaged"}), f"list: {err}")
    checks.that(program.tree_bytes(f"{cwd}/away") == before, "nothing outside has changed")

    replaced(cwd, "metrics.csv", lambda path: (shutil.copy(f"{cwd}/run/metrics.csv", path + ".own"),
                                               os.symlink("metrics.csv.own", path)))
    os.symlink("sent", f"{cwd}/by-name")
    code, _, err = call("resume", "by-name", "steps=3", cwd=cwd)
    checks.same(code, 0, f"links that stay in the folder, and one to it: {err}")
    os.makedirs(f"{cwd}/new")
    os.symlink(f"{cwd}/away/file", f"{cwd}/new/metrics.csv")
    fails(checks, "new/metrics.csv: found a link", ["train", *TINY, "model=cnn-s", "steps=1", "run.dir=new"], cwd)
    checks.that(program.tree_bytes(f"{cwd}/away") == before, "nor by a training in a folder that was there")


def pipes(checks, cwd):
    for number, name in enumerate(sent_run(cwd)):
        if os.path.isdir(f"{cwd}/run/{name}"):
            continue
        replaced(cwd, name, os.mkfifo)
        for words in VERBS if name == "config.resolved.yaml" else [VERBS[number % len(VERBS)]]:
            fails(checks, f"sent/{name}: found a pipe, expected a file", words, cwd)
    code, out, err = call("list", ".", "--json", cwd=cwd, timeout=WAIT)
    checks.that(code == 0 and '"damaged"' in out, f"list: exit {code}: {err}")


def pipes_of_data(checks, cwd):
    for half in ("train", "val"):
        for name in "ab":
            for i in range(4):
                program.put(cwd, f"images/{half}/{name}/{i}.png", program.png(16, 16, [9 * i, 20, 40]))
    program.write_idx(f"{cwd}/idx", count=16)
    program.write_maps(cwd)
    program.write_boxes(cwd)
    program.put(cwd, "my.png", program.png(16, 16, [9, 20, 40]))
    folder = ["model=cnn-s", "model.width=0.5", "data=folder:images", "data.size=16"]
    program.train(*folder, "threads=1", "steps=1", "batch=2", cwd=cwd)
    keys = ["threads=1", "steps=1", "batch=2", "run.dir=none"]
    for path, words in [("images/train/b/2.png", ["train", *keys, *folder]),
                        ("images/train/a/1.png", ["train", *keys, *folder, "data.area=0.5"]),
                        ("images/val/b/2.png", ["eval", "run"]),
                        ("idx/train-labels-idx1-ubyte", ["train", *keys, "model=cnn-s", "data=idx:idx"]),
                        ("maps/trainannot/3.png", ["train", *keys, "model=fcn-s", "data=dense:maps", "data.unlabelled=9"]),
                        ("boxes/Annotations/train2.xml", ["train", *keys, "model=ssd-s", "data=boxes:boxes"]),
                        ("boxes/ImageSets/Main/test.txt", ["train", *keys, "model=ssd-s", "data=boxes:boxes"])]:
        os.rename(f"{cwd}/{path}", f"{cwd}/kept")
        os.mkfifo(f"{cwd}/{path}")
        fails(checks, f"{path}: found a pipe, expected a file", words, cwd)
        os.remove(f"{cwd}/{path}")
        os.rename(f"{cwd}/kept", f"{cwd}/{path}")
    for words in (f"printf 'model: cnn-s\\n' | '{HALFULP}' plan config=/dev/stdin data=glyphs",
                  f"'{HALFULP}' plan config=<(printf 'model: cnn-s\\n') data=glyphs",
                  f"'{HALFULP}' predict run <(cat my.png)",
                  f"mkfifo named; cat my.png > named & '{HALFULP}' predict run named"):
        done = subprocess.run(["bash", "-c", words], cwd=cwd, capture_output=True, text=True, timeout=WAIT, check=False)
        checks.that(done.returncode == 0, f"a pipe that the user gives: {words}: {done.stderr}")


main(links, pipes, pipes_of_data)
