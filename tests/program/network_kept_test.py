"""What a run and a sweep keep of a network that is a file: its text, and the name by which people know it."""
import json
import os
import pathlib
import shutil

import program

WORDS = [*program.TINY, "run.quiet=on", "eval.every=0", "lr=0.01", "lr.schedule=constant", "lr.warmup=0"]
NETWORK = """halfulp_network: 1
name: live
recipe: cnn-s
inputs: {input: image}
nodes:
  - conv1: conv2d input out=OUT kernel=3 stride=4 bias=off
  - relu1: relu conv1
  - pool: global_avg_pool relu1
  - fc: linear pool out=classes
head: fc
"""
NARROW, WIDE = NETWORK.replace("OUT", "8"), NETWORK.replace("OUT", "16")


def write(cwd, text, name="live.yaml"):
    pathlib.Path(cwd, name).write_text(text)


def read(cwd, *path):
    return pathlib.Path(cwd, *path).read_text()


def names(checks, cwd, run, expected):
    """Everywhere the model is called what was typed."""
    checks.that(f"name: {expected}\n" in read(cwd, run, "config.resolved.yaml"), f"{run}: config.resolved.yaml")
    checks.same(json.loads(read(cwd, run, "result.json"))["model"], expected, f"{run}: result.json")
    code, out, err = program.call("list", ".", "--json", cwd=cwd)
    checks.same(code, 0, err)
    listed = {os.path.basename(row["run"]): row["model"] for row in json.loads(out)["runs"]}
    checks.same(listed.get(run), expected, f"{run}: list")


def gone_on_with(checks, cwd):
    """Runs go on with their own copy, below the name that was typed, wherever they lie."""
    write(cwd, NARROW)
    whole = program.train("model=live.yaml", *WORDS, "steps=4", cwd=cwd, run="whole")
    program.train("model=live.yaml", *WORDS, "steps=2", cwd=cwd, run="half")
    shutil.copytree(f"{cwd}/half", f"{cwd}/moved")
    for run, change in (("half", lambda: write(cwd, WIDE)), ("moved", lambda: os.remove(f"{cwd}/live.yaml"))):
        change()
        made = program.resume(run, "steps=4", cwd=cwd)
        checks.same(made["weights_hash"], whole["weights_hash"], f"{run}: gone on with")
        checks.same(read(cwd, run, "network.yaml"), NARROW, f"{run}: its network")
        names(checks, cwd, run, "live.yaml")
        again = program.resume(run, "steps=4", "model=live.yaml", cwd=cwd)
        checks.same(again["weights_hash"], whole["weights_hash"], f"{run}: its model named again")
        code, _, err = program.call("predict", run, "--json", cwd=cwd)
        checks.same(code, 0, f"predict {run}: {err}")
    code, _, err = program.call("resume", "half", "model=cnn-s", cwd=cwd)
    checks.that(code == 2 and "live.yaml" in err, f"another model: exit {code}: {err}")


def trained_again(checks, cwd):
    """config.resolved.yaml trains the same again; a model that is typed, or of a later file, is what is read."""
    write(cwd, NARROW)
    first = program.train("model=live.yaml", *WORDS, "steps=2", cwd=cwd, run="first")
    write(cwd, WIDE)
    wide = program.train("model=live.yaml", *WORDS, "steps=2", cwd=cwd, run="wide")
    checks.that(wide["parameters"] > first["parameters"], "the wide network is wider")
    again = program.train("config=first/config.resolved.yaml", cwd=cwd, run="again")
    checks.same(again["weights_hash"], first["weights_hash"], "first/config.resolved.yaml")
    names(checks, cwd, "again", "live.yaml")
    checks.same(read(cwd, "again", "network.yaml"), NARROW, "the network of the run that was trained again")
    pathlib.Path(cwd, "later.yaml").write_text("model: live.yaml\n")
    for word in ("model=live.yaml", "config=later.yaml"):
        made = program.train("config=first/config.resolved.yaml", word, cwd=cwd, run=f"typed-{word[:5]}")
        checks.same(made["weights_hash"], wide["weights_hash"], f"first/config.resolved.yaml and {word}")
    shutil.copy(f"{cwd}/first/config.resolved.yaml", f"{cwd}/own.yaml")
    write(cwd, NARROW, "network.yaml")
    made = program.train("config=own.yaml", cwd=cwd, run="own")
    checks.same(made["weights_hash"], wide["weights_hash"], "a configuration elsewhere, beside some network.yaml")


def broken(checks, cwd):
    """What is wrong with a copy is told below both names."""
    write(cwd, NARROW)
    program.train("model=live.yaml", *WORDS, "steps=2", cwd=cwd)
    write(f"{cwd}/run", NARROW.replace("relu conv1", "rleu conv1"), "network.yaml")
    code, _, err = program.call("resume", "run", "steps=4", cwd=cwd)
    checks.that(code != 0 and "live.yaml (run/network.yaml):7:" in err, f"exit {code}: {err}")


def swept(checks, cwd):
    """All rows of a comparison have one network, also where its file changes between two of them."""
    sweep = ["compare", "model=live.yaml", *WORDS, "steps=60", "run.dir=cmp"]
    write(cwd, NARROW)
    process = program.start(*sweep, "precision=fp32,hfp8", cwd=cwd)
    while process.poll() is None and not os.path.exists(f"{cwd}/cmp/fp32-s1/network.yaml"):
        pass
    write(cwd, WIDE)
    checks.same(process.wait(), 0, "compare")
    for folder in ("cmp", "cmp/fp32-s1", "cmp/hfp8-s1"):
        checks.same(read(cwd, folder, "network.yaml"), NARROW, f"{folder}: its network")
    checks.same(json.loads(read(cwd, "cmp/hfp8-s1/result.json"))["model"], "live.yaml", "the second row's model")
    checks.same(json.loads(read(cwd, "cmp/compare.json"))["model"], "live.yaml", "the comparison's model")
    code, _, err = program.call(*sweep, "precision=fp32,hfp8,fp16", cwd=cwd)
    checks.that(code == 2 and "cmp/fp32-s1/network.yaml" in err and "live.yaml" in err and "run.dir=NEW begins anew" in err,
                f"another network: exit {code}: {err}")
    checks.that(not os.path.exists(f"{cwd}/cmp/fp16-s1"), "no row of another network is begun")
    write(cwd, NARROW)
    code, _, err = program.call(*sweep, "precision=fp32,hfp8,fp16", cwd=cwd)
    checks.same(code, 0, err)
    rows = json.loads(read(cwd, "cmp/compare.json"))["rows"]
    checks.same([row["state"] for row in rows], ["done"] * 3, "rows of the first network")


def named_by_itself(checks, cwd):
    """A folder that is named by what it trains has another name for another network, and stays below runs/."""
    folders = []
    os.makedirs(f"{cwd}/nets")
    for text in (NARROW, WIDE, NARROW):
        write(cwd, text, "nets/live.yaml")
        code, out, err = program.call("compare", "model=nets/live.yaml", *WORDS, "steps=1", "precision=fp32", "--json", cwd=cwd)
        if checks.same(code, 0, err):
            folders.append(json.loads(out)["run"])
    checks.that(len(folders) == 3 and folders[0] == folders[2] != folders[1], f"folders: {folders}")
    checks.same(sorted(os.listdir(f"{cwd}/runs")), sorted({os.path.basename(folder) for folder in folders}), "below runs/")


if __name__ == "__main__":
    program.main(gone_on_with, trained_again, broken, swept, named_by_itself)
