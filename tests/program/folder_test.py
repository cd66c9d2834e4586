"""Folders of images: training on them, choices, and what is wrong with them."""
import base64
import json
import os
import shutil
import struct
import zlib

import program
from program import png, png_of, put

JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZG"
    "NywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09P"
    "T09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAQABgDASIAAhEBAxEB/8QAFwAAAwEAAAAAAAAAAAAAAAAA"
    "AAQFBv/EABgQAAMBAQAAAAAAAAAAAAAAAAADBWFi/8QAFgEBAQEAAAAAAAAAAAAAAAAABAIG/8QAGxEAAQUBAQAA"
    "AAAAAAAAAAAAAAMEBSExAiL/2gAMAwEAAhEDEQA/AMgmfyPpn8lxM/B9M/CFHoVlIZZCTP5A1iZ+AC6e3pqEZDzp"
    "/9k=")
CLASSES, EACH, TESTS = ["cat", "dog", "eel"], 10, 4
KEYS = ["model=cnn-s", "model.width=0.25", "data.size=16", "batch=6", "threads=2", "quiet=on"]


def make_tree(cwd):
    """Classes that differ in colour; every fifth training image a JPEG, one of 16 bits."""
    for number, name in enumerate(CLASSES):
        for i in range(EACH):
            colour = [250 - 100 * number, 20 + 5 * i, 100 * number]
            is_jpeg = i % 5 == 4
            data = JPEG if is_jpeg else png(17 + i, 20, colour, 16 if i == 1 else 8)
            put(cwd, f"images/train/{name}/{i:02}.{'JPEG' if is_jpeg else 'png'}", data)
        for i in range(TESTS):
            put(cwd, f"images/val/{name}/{i}.png", png(16, 16, [250 - 100 * number, 40, 100 * number]))


def small_folders_are_told(checks, cwd):
    """Few updates are told before the first one, with a batch and epochs that make more; not of a typed number of steps."""
    make_tree(cwd)
    words = ["model=cnn-s", "model.width=0.25", "data.size=16", "data=folder:images"]
    code, _, err = program.call("train", *words, "epochs=2", "run.dir=few", cwd=cwd)
    wanted = "warning: 2 updates in all, of 30 samples each: few networks learn in fewer than 200; batch=16 epochs=100 make 200"
    checks.that(code == 0 and err.count(wanted) == 1, err)
    checks.that(0 <= err.find(wanted) < err.find("model "), f"before all else: {err}")
    advice = "note: 30 photos of 3 classes are few for a network that has seen no others: init=FILE begins"
    checks.that(advice in err and "docs/how-to/fine-tuning.md" in err, err)
    code, _, err = program.call("train", *words, "epochs=2", "init=few", "run.dir=begun", cwd=cwd)
    checks.that(code == 0 and "has seen no others" not in err and "other classes" not in err, err)
    for part in os.listdir(f"{cwd}/images"):
        for name in os.listdir(f"{cwd}/images/{part}"):
            shutil.copytree(f"{cwd}/images/{part}/{name}", f"{cwd}/others/{part}/{'ape' if name == 'cat' else name}")
    others = ["train", *words[:-1], "data=folder:others", "steps=1", "init=few"]
    code, _, err = program.call(*others, "run.dir=others1", cwd=cwd)
    told = ("warning: init=few has learned other classes: number 0 is 'cat' there and 'ape' here, and the head begins with what "
            "it said of the others; init.skip='fc.*' leaves that to be drawn\n")
    checks.that(code == 0 and err.count(told) == 1, err)
    code, _, err = program.call(*others, "init.skip=fc.*", "run.dir=others2", cwd=cwd)
    checks.that(code == 0 and "other classes" not in err and "the others start as drawn" in err, err)
    for more in (["batch=16", "epochs=100"], ["steps=2"], ["epochs=1", "data.limit=6"]):
        code, out, err = program.call("train", *words, *more, f"run.dir={more[0]}", "--json", cwd=cwd)
        checks.that(code == 0 and "updates in all" not in err, f"{more}: {err}")
        checks.same(json.loads(out)["steps"], {"b": 200, "s": 2, "e": 1}[more[0][0]], f"{more}: steps")
    code, _, err = program.call("resume", "few", "epochs=3", cwd=cwd)
    checks.that(code == 0 and "updates in all" not in err, f"a run that goes on: {err}")


def trains(checks, cwd):
    make_tree(cwd)
    made = program.train(*KEYS, "data=folder:images", "epochs=8", "data.augment=none", cwd=cwd)
    checks.same(made["steps"], 8 * 5, "steps of 30 images in batches of 6")
    checks.that(made["test_accuracy"] > 0.6, f"colours are learnt: {made['test_accuracy']}")
    again = program.train(*KEYS, "data=folder:images", "epochs=8", "data.augment=none", "threads=1",
                          cwd=cwd, run="again")
    checks.same(again["weights_hash"], made["weights_hash"], "one thread, the same weights")


def chooses(checks, cwd):
    make_tree(cwd)
    words = [*KEYS, "data=folder:images", "epochs=1"]
    part = program.train(*words, "data.part=1/5", cwd=cwd, run="part")
    checks.same(part["steps"], 1, "a fifth of 10 images of 3 classes")
    two = program.train(*words, "data.classes=2", cwd=cwd, run="two")
    checks.same(two["steps"], -(-20 // 6), "two classes")
    seeds = {program.train(*words, "data.part=1/2", f"data.class_seed={seed}", "data.shuffle=off",
                           "data.augment=none", cwd=cwd, run=f"seed{seed}")["weights_hash"]
             for seed in range(4)}
    checks.that(len(seeds) > 1, "another seed, another part")
    crop = program.train(*words, "data.size=20", "data.crop=16", cwd=cwd, run="crop")
    checks.that(crop["weights_hash"] != two["weights_hash"], "crops of larger images")
    code, out, _ = program.call("resume", "two", "epochs=2", "--json", cwd=cwd)
    checks.same(code, 0, "a run on two classes goes on")
    checks.same(json.loads(out)["steps"], 8, "steps after two epochs")


def fails(checks, cwd, code, parts, *words):
    found, out, err = program.call("train", *KEYS, "data=folder:images", "steps=1", *words, cwd=cwd)
    checks.same(found, code, f"{words}: exit code ({err.strip()})")
    for part in parts:
        checks.that(part in err, f"{words}: '{part}' is in: {err.strip()}")
    checks.same(out, "", f"{words}: nothing on stdout")


def bad_choices(checks, cwd):
    make_tree(cwd)
    for words, part in ((["data.part=0/3"], "1 <= I <= N"), (["data.part=4/3"], "1 <= I <= N"),
                        (["data.part=1"], "1 <= I <= N"), (["data.part=1/3x"], "1 <= I <= N"),
                        (["data.classes=4"], "found 3"), (["data.part=1/50"], "has none"),
                        (["data.crop=17"], "data.crop: found 17 beside data.size=16, expected 1..16"), (["data.crop=15"], "even"),
                        (["data.size=5000"], "data.size"), (["data.size=-1"], "data.size")):
        fails(checks, cwd, 2, [part], *words)
    code, _, err = program.call("train", "data=glyphs", "data.size=32", "steps=1", cwd=cwd)
    checks.same(code, 2, f"glyphs have their size: {err.strip()}")


def bad_files(checks, cwd):
    make_tree(cwd)
    sound = png(9, 9, [1, 2, 3])
    for data, part in ((b"", "empty"), (b"text", "expected a JPEG, PNG or WebP"), (JPEG[:-40], "damaged JPEG"),
                       (JPEG[:100], "damaged JPEG"), (sound[:-30], "damaged PNG"),
                       (sound[:40], "damaged PNG"), (b"\xff\xd8\xff\xe0", "damaged JPEG")):
        put(cwd, "images/train/dog/03.png", data)
        fails(checks, cwd, 3, ["images/train/dog/03.png", part])
    put(cwd, "images/train/dog/03.png", sound)
    os.makedirs(os.path.join(cwd, "images/train/empty"))
    fails(checks, cwd, 3, ["images/train/empty", "no image"])
    os.rmdir(os.path.join(cwd, "images/train/empty"))
    put(cwd, "images/val/fox/0.png", sound)
    fails(checks, cwd, 3, ["images/val/fox", "class"])
    fails(checks, cwd, 3, ["nowhere", "train/CLASS"], "data=folder:nowhere")
    fails(checks, cwd, 3, ["train/CLASS"], "data=folder:images/train")


def reads_ahead(checks, cwd):
    """What does not fit into data.memory is read while it is used: the same weights, resumed too."""
    make_tree(cwd)
    words = [*KEYS, "data=folder:images", "data.size=96", "data.augment=[crop,flip]", "epochs=3",
             "lr.schedule=constant"]
    kept = program.train(*words, cwd=cwd, run="kept")
    checks.that("data_wait_seconds" not in kept, "images in memory are not waited for")
    for threads in 1, 2, 3:
        read = program.train(*words, "data.memory=1", f"threads={threads}", cwd=cwd, run=f"read{threads}")
        checks.that(read.get("data_wait_seconds", -1) > 0, "the first batch is waited for")
        for key in "weights_hash", "test_accuracy", "train_loss":
            checks.same(read[key], kept[key], f"{key} with {threads} threads that read")
    program.train(*words, "data.memory=1", "steps=7", cwd=cwd, run="cut")
    code, out, err = program.call("resume", "cut", "epochs=3", "--json", cwd=cwd)
    checks.same(code, 0, f"a run that reads goes on: {err.strip()}")
    checks.same(json.loads(out)["weights_hash"], kept["weights_hash"], "from step 7 on")
    held = [program.train(*words, "data.validation=7", *memory, cwd=cwd, run=f"held{len(memory)}")
            for memory in ([], ["data.memory=1"])]
    checks.same(held[0]["weights_hash"], held[1]["weights_hash"], "with samples held out")
    checks.same(held[0]["validation_accuracy"], held[1]["validation_accuracy"], "and what they say")
    put(cwd, "images/train/dog/03.png", JPEG[:-40])
    for memory in [], ["data.memory=1"]:
        fails(checks, cwd, 3, ["images/train/dog/03.png", "damaged JPEG"], "steps=5", "data.size=96",
              *memory)
    put(cwd, "images/train/dog/03.png", JPEG)
    fails(checks, cwd, 2, ["data memory: found 1 MiB, expected at least 5", "270000 bytes"], "data.size=300", "batch=9",
          "data.memory=1", "data.augment=none")


def shares(checks, cwd):
    """data.area: random rectangles of the images; the same for any number of threads."""
    make_tree(cwd)
    words = [*KEYS, "data=folder:images", "epochs=2"]
    whole = program.train(*words, cwd=cwd, run="whole")
    drawn = [program.train(*words, "data.area=0.3", f"threads={t}", cwd=cwd, run=f"area{t}") for t in (1, 3)]
    checks.same(drawn[0]["weights_hash"], drawn[1]["weights_hash"], "shares with one and three threads")
    checks.that(drawn[0]["weights_hash"] != whole["weights_hash"], "shares are drawn")
    fails(checks, cwd, 2, ["data.area"], "data.area=1.5")
    fails(checks, cwd, 2, ["padding"], "data.area=0.3", "data.pad=2")
    code, _, err = program.call("train", "data=glyphs", "data.area=0.5", "steps=1", cwd=cwd)
    checks.same(code, 2, f"glyphs have no files: {err.strip()}")


def draws_its_test(checks, cwd):
    """Without val and test a share of each class is drawn to test with; DIR/CLASS is enough."""
    make_tree(cwd)
    words = [*KEYS, "epochs=1", "lr.schedule=constant"]
    fails(checks, cwd, 3, ["images/train: found no folder of test images", "data.validation=0.2"], "data=folder:images/train")
    code, out, err = program.call("train", *words, "data=folder:images/train", "data.validation=0.3", "run.dir=flat",
                                  "quiet=off", "--json", cwd=cwd)
    checks.same(code, 0, err)
    checks.that("9 of 30 images are drawn to test with" in err, err)
    flat = json.loads(out)
    checks.same(flat["steps"], -(-21 // 6), "21 are left to train on")
    rows = json.loads(program.call("predict", "flat", "count=0", "--json", cwd=cwd)[1])["predictions"]
    checks.same(sorted(row["label_name"] for row in rows), [name for name in CLASSES for _ in range(3)], "three of each class")
    os.rename(f"{cwd}/images/val", f"{cwd}/val")
    half = program.train(*words, "data=folder:images", "data.validation=0.3", cwd=cwd, run="half")
    checks.same(half["weights_hash"], flat["weights_hash"], "DIR/train/CLASS without a test half")
    many = program.train(*words, "data=folder:images", "data.validation=9", "threads=1", cwd=cwd, run="many")
    checks.same((many["weights_hash"], many["test_accuracy"]), (flat["weights_hash"], flat["test_accuracy"]), "so many of all")
    other = program.train(*words, "data=folder:images", "data.validation=0.3", "data.class_seed=5", cwd=cwd, run="other")
    checks.that(other["weights_hash"] != flat["weights_hash"], "another seed, other images")
    code, out, err = program.call("resume", "flat", "epochs=2", "--json", cwd=cwd)
    whole = program.train(*words, "data=folder:images", "data.validation=0.3", "epochs=2", cwd=cwd, run="whole")
    checks.same(json.loads(out or "{}").get("weights_hash"), whole["weights_hash"], f"resumed: {err}")
    found = json.loads(program.call("eval", "flat", "data=folder:val", "--json", cwd=cwd)[1])
    checks.that(found["test_accuracy"] >= 0, "a flat folder is judged as a whole")
    rows = json.loads(program.call("predict", "flat", "data=folder:val", "count=0", "--json", cwd=cwd)[1])["predictions"]
    checks.same(len(rows), TESTS * len(CLASSES), "all of it")
    fails(checks, cwd, 2, ["draws those to test with"], "data.validation=0.3", "eval.part=validation")
    fails(checks, cwd, 2, ["found 30 images, expected more than the 30"], "data.validation=30")


def eyes(checks, cwd, *words):
    """What eval and predict look at: (images of predict, accuracy of eval, what eval says beside it)."""
    code, out, err = program.call("eval", "run", *words, "--json", cwd=cwd)
    checks.same(code, 0, f"{words}: {err}")
    rows = json.loads(program.call("predict", "run", *words, "count=0", "--json", cwd=cwd)[1])["predictions"]
    return sorted(os.path.basename(os.path.dirname(row["file"])) + "/" + os.path.basename(row["file"]) for row in rows), \
        json.loads(out)["test_accuracy"], err


def knows_its_folder(checks, cwd):
    """The folder of a run by another path: the images that it held out are judged, no others."""
    make_tree(cwd)
    program.train(*KEYS, "epochs=2", "data=folder:images/train", "data.validation=0.3", cwd=cwd)
    own, value, err = eyes(checks, cwd)
    checks.same((len(own), "drawn" in err), (9, False), f"not told again: {err}")
    with open(f"{cwd}/run/held-out.txt", encoding="utf-8") as file:
        checks.same(sorted(line.split(" ", 1)[1] for line in file.read().splitlines()), own, "held-out.txt")
    found = eyes(checks, cwd, f"data=folder:{cwd}/images/train")
    checks.same(found[:2], (own, value), "by its whole path")
    checks.that("the images that the run held out" in found[2], found[2])
    os.rename(f"{cwd}/images/train", f"{cwd}/moved")
    checks.same(eyes(checks, cwd, "data=folder:moved")[:2], (own, value), "moved")
    every, _, err = eyes(checks, cwd, "data=folder:moved", "data.validation=0")
    checks.same((len(every), "held out" in err), (len(CLASSES) * EACH, False), "all, as typed")
    checks.same(len(eyes(checks, cwd, "data=folder:moved", "data.validation=0.5")[0]), 15, "another share, as typed")
    checks.same(eyes(checks, cwd, "data=folder:moved", "data.validation=0.3")[0], own, "the same share, as typed")
    put(cwd, f"moved/{own[0]}", png(9, 9, [1, 2, 3]))
    every, _, err = eyes(checks, cwd, "data=folder:moved")
    checks.same(len(every), len(CLASSES) * EACH, "another folder is judged as a whole")
    checks.that("all 30 images are judged, also those that a training in this folder has seen" in err, err)
    code, _, err = program.call("eval", "run", "data=glyphs", "data.validation=0.5", cwd=cwd)
    checks.that(code == 2 and "a run keeps the samples that it holds out" in err, err)


def tells_where_it_looked(checks, cwd):
    """A relative path says where it was looked for, and one that a run recalls how to name the data now."""
    make_tree(cwd)
    program.train(*KEYS, "steps=1", "data=folder:images", cwd=cwd)
    os.mkdir(f"{cwd}/away")
    here = f"found no file or folder 'images' in '{os.path.realpath(cwd)}/away'"
    for words in (["eval", "../run"], ["predict", "../run"], ["resume", "../run", "steps=2"]):
        code, out, err = program.call(*words, cwd=f"{cwd}/away")
        checks.same((code, out), (3, ""), f"{words}: {err}")
        checks.that(here in err and "trained on data=folder:images: data=folder:PATH says where" in err, err)
        again = program.call(*words, "data=folder:../images", cwd=f"{cwd}/away")
        checks.same(again[0], 0, f"{words}: {again[2]}")
    code, _, err = program.call("train", *KEYS, "data=folder:images", cwd=f"{cwd}/away")
    checks.that(code == 3 and here in err and "was trained on" not in err, err)
    code, _, err = program.call("predict", "../run", "no.png", cwd=f"{cwd}/away")
    checks.that(code == 3 and "no.png: cannot open" in err and "was trained on" not in err, f"a file of somebody's: {err}")
    code, _, err = program.call("train", *KEYS, "data=folder:../images/train/cat", "data.validation=0.2", cwd=f"{cwd}/away")
    checks.that(code == 3 and "found 0 folders of classes, expected at least 2, one for each class" in err, err)
    code, _, err = program.call("train", *KEYS, "data=folder:/images", cwd=f"{cwd}/away")
    checks.that(code == 3 and "'/images';" in err, f"a whole path says so itself: {err}")


def scene(width, height, seed):
    """Rows of a picture without symmetry."""
    return [[((x * 11 + y * 3 + seed) % 256, (x * x + 5 * y) % 256, (x * y + 7 * seed) % 256) for x in range(width)] for y in range(height)]


def stored(rows, orientation):
    """The file of a picture that a camera wrote at this orientation: row 0 and column 0 are seen where EXIF says."""
    height, width = len(rows), len(rows[0])
    made = {1: rows, 3: [row[::-1] for row in rows[::-1]],
            6: [[rows[c][width - 1 - r] for c in range(height)] for r in range(width)],
            8: [[rows[height - 1 - c][r] for c in range(height)] for r in range(width)]}[orientation]
    data = b"".join(b"\0" + bytes(b for pixel in row for b in pixel) for row in made)
    return png_of(len(made[0]), len(made), 8, data, orientation)


def seen_upright(checks, cwd):
    """What EXIF turns is trained on, and looked at, as it is seen: the bits of the same pictures upright."""
    for name in "plain", "turned":
        for number, kind in enumerate(CLASSES):
            for i in range(6):
                rows = scene(26 + i, 19, 40 * number + i)
                half = "train" if i < 4 else "val"
                put(cwd, f"{name}/{half}/{kind}/{i}.png", stored(rows, (1, 3, 6, 8)[i % 4] if name == "turned" else 1))
    words = [*KEYS, "epochs=2"]
    made = [program.train(*words, f"data=folder:{name}", *more, cwd=cwd, run=name + "-".join(more)[:9])["weights_hash"]
            for more in ([], ["data.area=0.4"]) for name in ("plain", "turned")]
    checks.same((made[0], made[2]), (made[1], made[3]), "whole, and random rectangles")
    one, two = (json.loads(program.call("predict", "plain", f"{name}/val/dog/5.png", "--json", cwd=cwd)[1])["predictions"][0]["top"]
                for name in ("plain", "turned"))
    checks.same(one, two, "predict")
    put(cwd, "turned/val/dog/5.png", stored(scene(26, 19, 3), 6).replace(b"MM\0*", b"XX\0*"))
    code, _, err = program.call("predict", "plain", "turned/val/dog/5.png", cwd=cwd)
    checks.that(code == 0 or "CRC" in err, f"a damaged block is ignored: {err}")


def left_out_is_told(checks, cwd):
    """What lies beside the pictures is counted by what it ends in; .jfif is read, by its contents."""
    make_tree(cwd)
    words = [*KEYS[:-1], "data=folder:images", "epochs=1", "--json"]
    code, out, err = program.call("train", *words, "run.dir=before", cwd=cwd)
    checks.that(code == 0 and "left out" not in err, err)
    for i in range(9):
        put(cwd, f"images/train/cat/{i}.HEIC", b"\0\0\0\x18ftypheic")
    put(cwd, "images/train/dog/x.gif", b"GIF89a")
    put(cwd, "images/val/dog/notes.txt", b"my dog")
    put(cwd, "images/val/dog/README", b"dogs")
    put(cwd, "images/val/eel/more/1.png", png(9, 9, [1, 2, 3]))
    put(cwd, "images/val/eel/.hidden", b"")
    code, again, err = program.call("train", *words, "run.dir=after", cwd=cwd)
    told = ("images: beside the pictures, left out: 1 without an ending, 1 .gif (not supported: convert makes .png of them), "
            "9 .heic (not supported: heif-convert makes .jpg of them), 1 .txt, 1 folder")
    checks.that(code == 0 and told in err, err)
    checks.same(json.loads(again)["weights_hash"], json.loads(out)["weights_hash"], "the same pictures")
    os.rename(f"{cwd}/images/train/dog/04.JPEG", f"{cwd}/images/train/dog/04.jfif")
    code, again, err = program.call("train", *words, "run.dir=jfif", cwd=cwd)
    checks.that(code == 0 and ".jfif" not in err, err)
    checks.same(json.loads(again)["weights_hash"], json.loads(out)["weights_hash"], ".jfif is read")


def damaged_are_skipped(checks, cwd):
    """data.damaged=skip: as if the files were not there, counted in the run's result; else they end the training."""
    make_tree(cwd)
    words = [*KEYS[:-1], "epochs=2", "lr.schedule=constant", "--json"]
    flat = [*words, "data=folder:images/train", "data.validation=6"]
    whole = [json.loads(program.call("train", *w, f"run.dir=whole{i}", cwd=cwd)[1])
             for i, w in enumerate(([*words, "data=folder:images"], flat))]
    checks.that("left_out" not in whole[0], "nothing is")
    put(cwd, "images/train/cat/00a.jpg", JPEG[:-40])
    put(cwd, "images/train/eel/05a.png", b"GIF89a")
    put(cwd, "images/val/dog/0a.png", png(9, 9, [1, 2, 3])[:50])
    fails(checks, cwd, 3, ["images/train/cat/00a.jpg: damaged JPEG", "data.damaged=skip leaves such files out"])
    told = "3 pictures that cannot be decoded are left out (data.damaged=skip), the first is images/train/cat/00a.jpg"
    for more in ["threads=1"], ["data.memory=1", "data.size=16"]:
        code, out, err = program.call("train", *words, "data=folder:images", "data.damaged=skip", *more, f"run.dir=skip{more[0][0]}", cwd=cwd)
        checks.that(code == 0 and told in err, err)
        made = json.loads(out)
        checks.same((made["weights_hash"], made["left_out"]), (whole[0]["weights_hash"], {"train": 2, "test": 1}), f"{more}: without them")
    with open(f"{cwd}/skipt/result.json", encoding="utf-8") as file:
        checks.same(json.load(file)["left_out"], {"train": 2, "test": 1}, "in the run's folder")
    code, out, err = program.call("resume", "skipt", "epochs=3", "--json", cwd=cwd)
    checks.that(code == 0 and told in err, f"resumed: {err}")
    code, out, err = program.call("train", *flat, "data.damaged=skip", "run.dir=held", cwd=cwd)
    checks.same(json.loads(out)["weights_hash"], whole[1]["weights_hash"], f"the same are held out: {err}")
    code, _, err = program.call("train", "data=glyphs", "data.damaged=skip", "steps=1", cwd=cwd)
    checks.that(code == 2 and "data.damaged=skip" in err, err)
    for i in range(EACH):
        path = f"images/train/dog/{i:02}.{'JPEG' if i % 5 == 4 else 'png'}"
        put(cwd, path, b"GIF89a")
    fails(checks, cwd, 3, ["images/train/dog: found no image", "that can be decoded"], "data.damaged=skip")


program.main(seen_upright, left_out_is_told, damaged_are_skipped, tells_where_it_looked, small_folders_are_told, trains, chooses, bad_choices, bad_files, reads_ahead, shares, draws_its_test, knows_its_folder)
