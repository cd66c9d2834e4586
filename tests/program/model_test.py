"""`model`: its bytes add up to those of a training, its subjects, what it writes and notes; data assumed of files."""
import json
import os
import pathlib
import re
import xml.etree.ElementTree

import program

OWN = """halfulp_network: 1
name: own
inputs: {{input: {input}}}
sizes: {{hidden: 12, layers: 3}}
nodes:
  - conv: conv2d input out=8 kernel=3 pad=1
  - dead: relu conv
  - pool: global_avg_pool conv
  - h: linear pool out=hidden
  - fc: linear h out=classes
head: fc
"""


def model(*words, cwd):
    """(JSON, stderr) of a call that must succeed."""
    code, out, err = program.call("model", *words, "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"model {' '.join(words)}: exit {code}: {err}")
    return json.loads(out), err


def sums(checks, cwd):
    """What layers and inputs save is what the training's ledger says; parameters and their bytes add up."""
    for words in (["resnet20", "precision=hfp8"], ["resnet20", "precision=fp32", "recompute=off", "fuse=off"],
                  ["cnn-s", "precision=fp16", "storage=dense"], ["cnn-s", "precision=mxfp8"],
                  ["lstm-lm-s", "precision=hfp8"], ["transformer-lm-s", "precision=bf16"],
                  ["googlenet-s", "precision=1/6/9/d"], ["resnet20", "precision=static:5"]):
        found, _ = model(*words, "batch=6", "threads=1", cwd=cwd)
        planned = json.loads(program.call("plan", f"model={words[0]}", *words[1:], "batch=6", "threads=1", "--json",
                                          cwd=cwd)[1])
        saved = sum(row["saved_bytes"] for row in found["layers"] + found["inputs"])
        checks.same(saved, found["saved_bytes"], f"{words}: sum of saved bytes")
        memory = {role: [number for storage, number in row.items() if storage != "float32"]
                  for role, row in planned["memory_bytes"].items()}
        checks.same([saved], memory["saved"], f"{words}: saved bytes of plan")
        checks.same([found["parameter_bytes"]], memory["masters"], f"{words}: bytes of masters")
        for key in ("parameters", "macs"):
            if key in planned:
                checks.same(found[key], planned[key], f"{words}: {key}")
        checks.that(found["weight_bytes"] <= 4 * found["parameters"], f"{words}: weights {found['weight_bytes']}")
    layers = model("resnet20", "precision=hfp8", "batch=6", cwd=cwd)[0]["layers"]
    checks.same(sum(row["weight_bytes"] for row in layers), sum(row["parameters"] for row in layers), "a byte a weight")
    conv = next(row for row in layers if row["name"] == "conv1")
    checks.same((conv["output_bytes"], conv["saved_bytes"], conv["output_is"]), (6 * 32 * 32 * 16,) * 2 + ("saved",),
                "conv1 of 8 bits")
    bn = next(row for row in layers if row["name"] == "bn1")
    checks.same((bn["output_bytes"], bn["saved_bytes"], bn["output_is"]), (0, 0, "recomputed"), "bn1")


def subjects(checks, cwd):
    """A name, a file, the folder of a run, a key; what is none of them, or two."""
    run = ["model=cnn-s", "data=glyphs", "data.limit=8", "data.test_limit=4", "batch=4", "steps=1", "precision=hfp8",
           "threads=1", "model.width=0.5"]
    program.train(*run, cwd=cwd)
    of_run, _ = model("run", cwd=cwd)
    by_name, _ = model("cnn-s", *run[1:5], "precision=hfp8", "threads=1", "model.width=0.5", cwd=cwd)
    of_run.pop("assumed", None)
    checks.same(of_run, by_name, "the run beside the keys that it was trained with")
    checks.same((of_run["batch"], of_run["precision"], of_run["width"]), (4, "hfp8", 0.5), "the run's own")
    by_key, _ = model("model=cnn-s", *run[1:5], "precision=hfp8", "threads=1", "model.width=0.5", cwd=cwd)
    checks.same(by_key, by_name, "model=cnn-s")
    written, err = model("run", "out=net.yaml", cwd=cwd)
    checks.same((written, err), (of_run, "wrote the network net.yaml\n"), "what is written changes nothing")
    text = pathlib.Path(f"{cwd}/net.yaml").read_text()
    checks.that(text.startswith("halfulp_network: 1\nname: cnn-s\ntask: classify\nrecipe: cnn-s\n"), text[:200])
    program.train("model=net.yaml", *run[1:8], cwd=cwd, run="file")
    of_file, err = model("file", "out=again.yaml", cwd=cwd)
    checks.same({**of_file, "model": 0, "width": 0}, {**of_run, "model": 0, "width": 0}, "a run of the file")
    checks.same(pathlib.Path(f"{cwd}/again.yaml").read_text(), text, "a file that is read and written again")
    os.makedirs(f"{cwd}/empty")
    for words, status, why in (([], 2, "found no NAME"), (["cnn"], 2, "nearest: 'cnn-s'"), (["empty"], 3, "no run folder"),
                               (["cnn-s", "model=resnet20"], 2, "expected one"), (["none.yaml"], 3, "none.yaml"),
                               (["cnn-s", "out=net.png"], 2, "found the ending '.png'"),
                               (["net.yaml", "out=net.yaml"], 2, "net.yaml")):
        code, out, err = program.call("model", *words, cwd=cwd)
        checks.same((code, out), (status, ""), f"{words}: {err}")
        checks.that(why in err and err.count("\n") == 1, f"{words}: {err}")
    checks.same(pathlib.Path(f"{cwd}/net.yaml").read_text(), text, "an input is not written over")
    pathlib.Path(f"{cwd}/keys.yaml").write_text("model.name: cnn-s\nrun.batch: 6\nlr.base: 0.1\noptimizer.name: adam\n")
    found, err = model("config=keys.yaml", "lr=1", cwd=cwd)
    checks.same((found["model"], found["batch"]), ("cnn-s", 6), "a model of a file of keys")
    checks.same(err, "warning: lr=1 has no effect: halfulp model does not read it\n", "a key that is typed in vain")


def page(checks, cwd):
    """The table has a row for every input and layer, and the sums below it."""
    found, _ = model("resnet20", cwd=cwd)
    code, out, err = program.call("model", "resnet20", cwd=cwd)
    checks.same((code, err), (0, ""), "model resnet20")
    lines = out.splitlines()
    names = [line.split()[0] for line in lines[4:lines.index(next(x for x in lines if x.startswith("total")))]]
    checks.same(names, [row["name"] for row in found["inputs"] + found["layers"]], "rows")
    checks.that(f"parameters: {found['parameters']:,}, {found['weight_bytes']:,} bytes" in out, "parameters")
    checks.that(f"MACs: {found['macs']:,} multiply-adds of one sample" in out, "multiply-adds")
    checks.that(f"{found['saved_bytes']:,} bytes of a batch of {found['batch']}" in out, "saved")


def assumed(checks, cwd):
    """Data of files: those of the recipe, of the first small model of the task, or of the extents that they name."""
    def shapes(text, *words):
        pathlib.Path(f"{cwd}/net.yaml").write_text(text)
        planned = json.loads(program.call("plan", "model=net.yaml", *words, "--json", cwd=cwd)[1] or "{}")
        found, _ = model("net.yaml", *words, cwd=cwd)
        checks.same(found["layers"][0]["output"], planned["layers"][0]["output"], f"plan and model: {text[:60]}")
        return [row["output"] for row in found["inputs"]]

    own = OWN.format(input="image")
    checks.same(shapes(own), [[28, 28, 1], []], "pictures of cnn-s")
    checks.same(shapes(own.replace("name:", "recipe: resnet20\nname:")), [[32, 32, 3], []], "pictures of the recipe")
    checks.same(shapes(OWN.format(input="[40, 48, 3]")), [[40, 48, 3], []], "extents of the file")
    checks.same(shapes(own, "data.size=20"), [[20, 20, 1], []], "data.size")
    for name, size in (("lstm-lm-s", 32), ("transformer-lm-s", 64)):
        model(name, "out=text.yaml", cwd=cwd)
        text = pathlib.Path(f"{cwd}/text.yaml").read_text()
        checks.same(shapes(text), [[size], [size]], f"rows of {name}")
        checks.same(shapes(text.replace(f"recipe: {name}\n", "")), [[64], [64]], f"rows of a file of its task: {name}")
    for name in ("bert-tiny-s", "seq2seq-s", "ds2-s", "ssd-s", "pan-s", "dcgan-s", "autoencoder"):
        named, _ = model(name, "batch=8", "out=any.yaml", cwd=cwd)
        filed, _ = model("any.yaml", "batch=8", cwd=cwd)
        checks.same({**filed, "model": name}, named, f"{name} from its file")
    code, out, err = program.call("bench", "step", "model=net.yaml", "batch=2", "repeat=1", "threads=1", "--json", cwd=cwd)
    checks.same(code, 0, f"bench of a file: {err}")


def notes(checks, cwd):
    """A node that nobody reads; sizes and a width that change nothing; told by all who build the network."""
    pathlib.Path(f"{cwd}/net.yaml").write_text(OWN.format(input="[32, 32, 3]"))
    dead = "note: net.yaml: nothing reads node 'dead'\n"
    sized = "note: model.layers has no effect: no number of net.yaml names layers\n"
    wide = "note: model.width has no effect: no number of net.yaml names width\n"
    keys = ["model.layers=4", "model.hidden=5", "model.width=2"]
    data = ["data=glyphs", "data.limit=8", "data.test_limit=4", "batch=4", "threads=1"]
    for words in (["model", "net.yaml"], ["plan", "model=net.yaml"],
                  ["train", "model=net.yaml", *data, "steps=1", "quiet=on"],
                  ["bench", "step", "model=net.yaml", *data, "repeat=1"]):
        code, _, err = program.call(*words, *keys, cwd=cwd)
        checks.same(code, 0, f"{words}: {err}")
        for note in (dead, sized, wide):
            checks.same(err.count(note), 1, f"{words[0]}: {note}{err}")
        checks.that("hidden has no" not in err, f"{words[0]}: hidden is used: {err}")
    pathlib.Path(f"{cwd}/used.yaml").write_text(OWN.format(input="[32, 32, 3]").replace("out=8", "out=8*width").replace(
        "- dead: relu conv", "- seen: relu conv").replace("pool conv", "pool seen").replace("out=hidden", "out=hidden*layers"))
    checks.same(model("used.yaml", *keys, cwd=cwd)[1], "", "a file that uses all")
    checks.same(model("net.yaml", cwd=cwd)[1], dead, "a file without keys")
    code, _, err = program.call("model", "net.yaml", "model.heads=2", cwd=cwd)
    checks.same(code, 2, f"a size that the file does not have: {err}")


def drawn(checks, path):
    """Boxes [(left, top, width, height, words)] and the other texts of a picture."""
    name = "{http://www.w3.org/2000/svg}"
    tree = xml.etree.ElementTree.parse(path).getroot()
    boxes = [[float(rect.get(key)) for key in ("x", "y", "width", "height")] + [[]]
             for rect in tree.iter(name + "rect") if (rect.get("class") or "").endswith(" grid")]
    others = []
    for text in tree.iter(name + "text"):
        x, y = float(text.get("x")), float(text.get("y"))
        at = [box for box in boxes if box[0] <= x <= box[0] + box[2] and box[1] <= y <= box[1] + box[3]]
        (at[0][4] if at else others).append(text.text)
    for k, one in enumerate(boxes):
        for two in boxes[k + 1:]:
            apart = any(abs(one[i] - two[i]) >= one[i + 2] - 0.11 for i in (0, 1))
            checks.that(apart, f"{path}: boxes {one} and {two}")
    width, height = (float(tree.get(key)) for key in ("width", "height"))
    checks.that(all(box[0] >= 0 and box[0] + box[2] <= width and box[1] + box[3] <= height for box in boxes),
                f"{path}: all boxes lie inside")
    return boxes, others


def pictures(checks, cwd):
    """A box for each node with its kind, shape and name; parts that repeat stand once; boxes do not overlap."""
    def draw(*words):
        found, err = model(*words, "out=net.svg", cwd=cwd)
        checks.same(err, "wrote the picture net.svg\n", f"{words}")
        return found, *drawn(checks, f"{cwd}/net.svg")

    for name in ("cnn-s", "googlenet-s", "dcgan-s", "cvae-s", "lstm-lm-s"):
        found, boxes, others = draw(name)
        words = {(box[4][0], box[4][1], box[4][-1]) for box in boxes}
        checks.same(len(words), len(boxes), f"{name}: no box stands twice")
        expected = {(row["op"], "x".join(map(str, row["output"])) or "scalar", row["name"]) for row in found["layers"]}
        checks.same(expected - words, set(), f"{name}: boxes of layers")
        checks.same(others[0], f"{name}: {found['parameters']:,} parameters, {found['macs']:,} multiply-adds of a sample", name)
        checks.same(others[1:], [], f"{name}: nothing repeats")
    steps = [box[4][2] for box in draw("lstm-lm-s")[1] if len(box[4]) == 4]
    checks.same(steps, ["32 steps"] * 16, "nodes of loops")
    for name, repeats, last in (("resnet20", ["x 3", "x 2", "x 2"], "layer1.0"), ("transformer-lm-s", ["x 4"], "blocks.0"),
                                ("shufflenet-v2", ["x 3", "x 7", "x 3"], "layer1.1"), ("bert-base", ["x 12"], "blocks.0")):
        found, boxes, others = draw(name, "batch=1")
        checks.same(others[1:], repeats, f"{name}: what repeats")
        names = [box[4][-1] for box in boxes]
        checks.that(any(last in name for name in names), f"{name}: the first of {last}")
        stem, k = re.fullmatch(r"(.*\.)(\d+)", last).groups()
        checks.that(not any(f"{stem}{int(k) + 1}." in name for name in names), f"{name}: the second of {last}")
    pathlib.Path(f"{cwd}/a&b.yaml").write_text(OWN.format(input="image"))
    model("a&b.yaml", "out=net.svg", cwd=cwd)
    boxes, others = drawn(checks, f"{cwd}/net.svg")
    checks.that(others[0].startswith("a&b.yaml: "), others[0])
    checks.same(len(boxes), 9, "two inputs, five nodes, log_softmax and loss")


if __name__ == "__main__":
    program.main(sums, subjects, page, assumed, notes, pictures)
