"""Networks that look for boxes: the same bits in every way of running, one loss for parts and workers, metrics, what
they refuse."""
import csv
import json
import os
import re

import boxed
import classes
import program
from boxed import refused

WORDS = ["model=ssd-s", "batch=4", "steps=3", "lr=0.01", "eval.every=0", "model.width=0.25", "run.chunk=3",
         "scaler.init=128"]
PRECISIONS = (["precision=fp32"], ["precision=fp16"], ["precision=1/6/9/d"], ["precision=hfp8"],
              ["precision=demote:0.6+promote"], ["precision=bf16", "loss=ssd_nll"], ["precision=ldp:4-8"],
              ["precision=mxfp8"], ["precision=e4m3fn:scale=current", "model.norm=off"],
              ["precision=1/6/9", "model.norm=range", "loss=ssd_nll"])
WAYS = (["threads=3"], ["storage=float32"], ["fuse=off", "recompute=off"], ["storage=dense", "threads=2"])
TRAINING = boxed.Training(WORDS, "detect", PRECISIONS, WAYS)
trained = TRAINING.trained


def one_loss_for_parts_and_workers(checks, cwd):
    """Divided by the matched anchors of the whole batch, whoever has them: pictures have 1 or 2 boxes, so that the
    mean of the parts' means would be another number. Norms would see other batches, so there are none."""
    one = TRAINING.one_loss_for_parts_and_workers(checks, cwd)
    means = [trained(cwd, f"of{n}", *boxed.PARTS, "batch=1", "steps=4", "lr=0")["losses"][n] for n in range(4)]
    checks.that(abs(sum(means) / 4 / one["losses"][0] - 1) > 1e-3, f"{means}: parts differ in their boxes")


def workers_give_the_same_bits_on_any_threads(checks, cwd):
    words = ["workers=2", "comm.format=e5m2", "scaling=aps", "precision=fp16"]
    one = trained(cwd, "w1", *words, "threads=1")
    checks.same(trained(cwd, "w3", *words, "threads=3")["weights_hash"], one["weights_hash"], "threads")


def windows_are_drawn(checks, cwd):
    """data.box_samples: SSD's random windows, the same for threads, workers' threads and resumed runs."""
    words = ["data.box_samples=on", "data.size=64", "steps=6"]
    one = trained(cwd, "windows1", *words, "threads=1", "run.checkpoint_every=2", "run.keep=9")
    checks.same(trained(cwd, "windows3", *words, "threads=3")["weights_hash"], one["weights_hash"], "threads")
    plain = trained(cwd, "whole", "data.size=64", "steps=6", "threads=1")
    checks.that(plain["weights_hash"] != one["weights_hash"], "windows change the training")
    program.copy_at(cwd, "windows1", "windows-half", 4)
    checks.same(program.resume("windows-half", cwd=cwd)["weights_hash"], one["weights_hash"], "resumed")
    found = json.loads(program.call("eval", "windows1", "--json", cwd=cwd)[1])
    checks.same(found["test_mean_ap"], one["test_mean_ap"], "evaluations see whole pictures")


def drawn(checks, path):
    """Two samples beside each other, gaps of two white pixels: the true boxes above, those that are found below."""
    width, height, channels, pixels = program.read_png(path)
    checks.same((width, height, channels), (2 + 2 * 42, 2 + 2 * 34, 3), "extents of the sheet")
    orange, green = bytes((255, 153, 0)), bytes((0, 204, 51))

    def at(x, y):
        return pixels[(y * width + x) * 3:(y * width + x) * 3 + 3]
    # test0 has a cat (class 0) from 3, 4 to 12, 16; test1 a dog from 4, 5 and a cat from 21, 5.
    for x, y, colour in ((3, 4, orange), (11, 15, orange), (3, 15, orange), (42 + 4, 5, green), (42 + 21, 5, orange)):
        checks.same(at(2 + x, 2 + y), colour, f"pixel {x}, {y}")
    checks.that(at(2 + 7, 2 + 8) not in (orange, green), "the inside stays")
    below = [at(x, y) for y in range(36, height) for x in range(width)]
    checks.that(orange in below or green in below, "something is found")


def precision_is_told(checks, cwd):
    """It learns, says so in its results, and says the same again."""
    made = trained(cwd, "run", "steps=60", "lr=0.02", "run.log_every=20", "threads=2", "eval.every=10")
    value = made["test_mean_ap"]
    checks.that(value > 0.1 and made["best_mean_ap"] >= value, f"mean ap {value}, best {made['best_mean_ap']}")
    checks.same(made["metric"], {"name": "mean_ap", "value": value, "best": made["best_mean_ap"], "better": "higher"},
                "the metric that counts")
    code, out, err = program.call("eval", "run", "--json", cwd=cwd)
    checks.same(code, 0, err)
    found = json.loads(out)
    checks.same((found["test_mean_ap"], found["test_mean_ap_11"]), (value, made["test_mean_ap_11"]), "eval")
    classes.told(checks, cwd, made, {"ap": "test_mean_ap", "ap_11": "test_mean_ap_11"}, ["cat", "dog"])
    with open(f"{cwd}/run/metrics.csv", newline="") as file:
        checks.same(float(list(csv.DictReader(file))[-1]["test_mean_ap"]), value, "the column of the metric")
    code, out, err = program.call("predict", "run", "count=0", "--json", cwd=cwd)
    checks.same(code, 0, err)
    rows = json.loads(out)["predictions"]
    checks.same([row["boxes"] for row in rows], [1, 2, 1], "boxes of the test pictures")
    checks.that(all(0 <= row["found"] <= row["detected"] for row in rows), f"{rows}")
    checks.that(sum(row["found"] for row in rows) > 0, f"some are found: {rows}")
    sheets = sorted(os.listdir(f"{cwd}/run/pictures"))
    checks.that(len(sheets) > 1 and sheets[-1] == "step-00000060.png", f"a sheet behind every evaluation: {sheets}")
    code, out, err = program.call("predict", "run", "count=2", "pictures=sheet.png", "--json", cwd=cwd)
    checks.same((code, json.loads(out or "{}").get("pictures")), (0, "sheet.png"), f"predict draws: {err}")
    drawn(checks, f"{cwd}/sheet.png")
    with open(f"{cwd}/run/report.html") as file:
        page = file.read()
    checks.that("What the models make of pictures" in page, "the report shows sheets")
    checks.that('background:#ff9900"></span>cat<' in page and 'background:#00cc33"></span>dog<' in page,
                "the colours of the boxes")
    program.train("model=cnn-s", "data=glyphs", "data.limit=32", "batch=16", "steps=1", cwd=cwd, run="classes")
    code, _, err = program.call("predict", "classes", "pictures=no.png", cwd=cwd)
    checks.that(code == 2 and "the task classify has no pictures" in err, f"{code}: {err}")
    code, out, err = program.call("compare", "precision=fp32,fp16", f"data=boxes:{cwd}/boxes", *WORDS, "run.dir=c",
                                  "--json", cwd=cwd)
    checks.same(code, 0, err)
    checks.same(json.loads(out)["metric"], {"name": "mean_ap", "better": "higher"}, "compare")


def a_class_that_no_picture_has_is_null(checks, cwd):
    """The first test picture shows a cat. Both halves of a run that holds pictures out tell their classes."""
    made = trained(cwd, "run", "data.validation=4")
    for half in ("test", "validation"):
        means = classes.mean([row["ap"] for row in made[f"{half}_classes"]])
        checks.same(means, made[f"{half}_mean_ap"], f"mean of the {half} classes")
    code, out, err = program.call("eval", "run", "part=validation", "--json", cwd=cwd)
    found = json.loads(out or "{}")
    checks.same((code, found.get("validation_classes")), (0, made["validation_classes"]), f"validation: {err}")
    checks.that("test_classes" not in found, "of the part that was asked for alone")
    code, out, err = program.call("eval", "run", "data.test_limit=1", "--json", cwd=cwd)
    checks.same(code, 0, err)
    found = json.loads(out)
    checks.same(found["test_classes"][1], {"name": "dog", "ap": None, "ap_11": None}, "no dog")
    checks.same(found["test_classes"][0]["ap"], found["test_mean_ap"], "the cat alone")
    code, out, err = program.call("eval", "run", "data.test_limit=1", cwd=cwd)
    checks.same(out.splitlines()[-1].split(), ["dog", "-", "-"], f"in words: {out}{err}")


def a_picture_without_boxes_has_no_loss(checks, cwd):
    """Alone in a batch it has the loss 0 and moves nothing; beside others it leaves theirs as it is."""
    program.write_boxes(cwd)
    for k in (2, 4, 5, 6, 7, 8, 9):
        program.put(cwd, f"boxes/Annotations/train{k}.xml", program.voc(40, 32, []))
    words = ["data=boxes:boxes", "model.width=0.25", "lr=0.001", "lr.schedule=constant", "data.shuffle=off", "threads=1",
             "run.log_every=1", "batch=1", "steps=10", "run.checkpoint_every=1", "run.keep=99"]
    for model in ("ssd-s", "faster-rcnn-s"):
        made = program.train(f"model={model}", *words, cwd=cwd, run=model)
        losses = [float.fromhex(row["loss"]) for row in program.rows(cwd, model)]
        _, out, _ = program.call("why", model, cwd=cwd)
        checks.that("nothing died up to step 9" in out, f"{model}: {out}")
        if model == "ssd-s":  # Faster R-CNN learns what is background, too
            checks.same([k for k, loss in enumerate(losses) if loss == 0], [2, 4, 5, 6, 7, 8, 9], "losses of 0")
            norms = [float.fromhex(row["gradient_norm"]) for row in program.rows(cwd, model)]
            checks.same([k for k, norm in enumerate(norms) if norm == 0], [2, 4, 5, 6, 7, 8, 9], "and their gradients")
        checks.that(all(0 <= loss < 1e3 for loss in losses) and made["train_loss"] > 0, f"{model}: {losses}")


def widths_that_change_nothing_are_told(checks, cwd):
    """Channels are multiples of 8, so that many widths make one network: the nearest that make another are named, and do."""
    data = f"data=boxes:{program.write_boxes(cwd)}"
    words = ["model=ssd-s", data, "batch=4", "steps=1", "lr=0.01", "eval.every=0", "threads=1"]

    def parameters(width):
        run = f"w{width}"
        code, out, err = program.call("train", *words, f"model.width={width}", f"run.dir={run}", "--json", cwd=cwd)
        checks.same(code, 0, err)
        found = re.search("nearest that change it: (.*?) and (.*)", err)
        return json.loads(out)["parameters"], found and found.groups()
    own, told = parameters(0.72)
    if not checks.that(told, "two widths are told"):
        return
    below, above = map(float, told)
    for width in (0.7, 0.75, 0.8, below + 0.01, above - 0.01):
        checks.same(parameters(f"{width:g}"), (own, told), f"{width:g} makes the same network, and says the same")
    checks.that(parameters(told[0])[0] < own < parameters(told[1])[0], "those that are told make others")
    checks.same(parameters(0.25)[1], None, "nothing is said where hundredths make others")


def sizes_of_pan(checks, cwd):
    """model.layers are its blocks, model.maps the channels behind the enlargement."""
    program.write_pictures(cwd)
    made = program.train("model=pan-s", "model.layers=2", "model.maps=6", "data=pairs:pictures", "data.crop=8", "batch=4",
                         "steps=1", "threads=1", cwd=cwd)
    with open(f"{cwd}/run/graph.json") as file:
        shapes = {value["name"]: value["shape"] for value in json.load(file)["values"]}
    checks.same({name.split(".")[1] for name in shapes if name.startswith("trunk.")}, {"0", "1"}, "two blocks")
    checks.same([shapes[f"{name}.weight"] for name in ("conv_first", "upconv1", "att1", "hrconv1", "conv_last")],
                [[16, 3, 3, 3], [6, 3, 3, 16], [6, 1, 1, 6], [6, 3, 3, 6], [3, 3, 3, 6]], "six channels behind the enlargement")
    checks.that(made["parameters"] < 10000, made["parameters"])


def what_does_not_fit_is_refused(checks, cwd):
    data = f"data=boxes:{program.write_boxes(cwd)}"
    refused(checks, cwd, 2, "the task detect needs one that has, like ssd-s", data, "model=cnn-s", "task=detect")
    refused(checks, cwd, 2, "found pictures of 15 x 18 pixels, expected at least 16 x 16", data,
            "model=ssd-s", "data.size=15")
    refused(checks, cwd, 2, "needs a field 'boxes'", "model=ssd-s", "data=glyphs")
    refused(checks, cwd, 2, "; data=boxes:DIR has it", "model=ssd-s", "data=glyphs")
    refused(checks, cwd, 2, "does not fit the task detect, expected one of 'ssd', 'ssd_nll'", data, "model=ssd-s",
            "loss=nll")
    refused(checks, cwd, 2, "model.norm: found off", data, "model=resnet20", "task=detect", "model.norm=off")
    xml = f"{cwd}/boxes/Annotations/train3.xml"
    with open(xml, "wb") as file:
        file.write(program.voc(40, 32, [("cat", 3, 4, 50, 9)]))
    refused(checks, cwd, 0, "note: 1 of 14 training boxes end beyond their picture, and are cut to it", data, "model=ssd-s")
    for k in range(10):
        program.put(cwd, f"boxes/Annotations/train{k}.xml", program.voc(40, 32, [("cat", 3, 4, 3, 9)] if k % 2 else []))
    refused(checks, cwd, 3, "found no box with an area in 10 annotations", data, "model=ssd-s")


program.main(widths_that_change_nothing_are_told, sizes_of_pan, TRAINING.bits_are_equal, TRAINING.instruction_sets_agree, TRAINING.runs_go_on, one_loss_for_parts_and_workers,
             workers_give_the_same_bits_on_any_threads, TRAINING.accumulators_reach_every_product, precision_is_told, windows_are_drawn,
             a_class_that_no_picture_has_is_null, a_picture_without_boxes_has_no_loss, what_does_not_fit_is_refused)
