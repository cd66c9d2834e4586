"""What predict says: boxes in pixels of their files, names of classes and files, the likeliest classes, label maps as numbers."""
import csv
import json
import os

import program

BOXES = ["model=ssd-s", "batch=4", "lr=0.02", "eval.every=0", "model.width=0.25", "scaler.init=128", "threads=2", "steps=150"]
SMALL = ["model=cnn-s", "data.size=16", "batch=8", "steps=4", "lr=0.01", "eval.every=0", "threads=1"]
COLOURS = {(128, 0, 0): 0, (0, 128, 0): 1, (128, 128, 0): 2}


def call(checks, cwd, *words):
    code, out, err = program.call("predict", *words, cwd=cwd)
    checks.same(code, 0, f"{words}: {err}")
    return out


def predictions(checks, cwd, *words):
    return json.loads(call(checks, cwd, *words, "--json") or "{}")["predictions"]


def table(checks, cwd, *words):
    call(checks, cwd, *words, "out=said.csv")
    with open(f"{cwd}/said.csv", newline="") as file:
        return list(csv.DictReader(file))


def overlap(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(0, width) * max(0, height)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def flat_boxes(cwd):
    """Pictures without grain, which a larger file would have otherwise."""
    folder = program.write_boxes(cwd)
    for name in os.listdir(f"{folder}/JPEGImages"):
        path = f"{folder}/JPEGImages/{name}"
        width, height, channels, pixels = program.read_png(path)
        flat = [40 if byte < 100 else 150 if byte < 180 else 200 for byte in pixels]
        program.write_png(path, width, height, channels, lambda x, y, c: flat[(y * width + x) * channels + c])
    return folder


def boxes_are_told(checks, cwd):
    """The bright boxes of a training picture, as the run saw it, and in a file of twice the size without annotation."""
    program.train(f"data=boxes:{flat_boxes(cwd)}", *BOXES, cwd=cwd, run="run")
    width, height, channels, pixels = program.read_png(f"{cwd}/boxes/JPEGImages/train3.png")
    for scale in (1, 2):
        def number(x, y, c):
            return pixels[(y // scale * width + x // scale) * channels + c]

        program.write_png(f"{cwd}/by{scale}/JPEGImages/one.png", width * scale, height * scale, 3, number)
        program.put(cwd, f"by{scale}/ImageSets/Main/val.txt", b"one\n")
        words = ["run", f"data=boxes:by{scale}", "count=0"]
        row = predictions(checks, cwd, *words)[0]
        checks.same((row["file"], row["boxes"]), (f"by{scale}/JPEGImages/one.png", 0), "the file, which has no truth")
        checks.same(len(row["detections"]), row["detected"], "as many as are counted")
        truths = {name: [scale * x for x in box] for name, box in (("dog", (6, 4, 18, 16)), ("cat", (23, 4, 35, 21)))}
        corners = [[box[key] for key in ("x1", "y1", "x2", "y2")] for box in row["detections"]]
        checks.same(sorted(box["name"] for box in row["detections"]), ["cat", "dog"], "both are found")
        checks.that(all(overlap(box, truths[found["name"]]) > 0.5 for box, found in zip(corners, row["detections"])),
                    f"scale {scale}: {row['detections']}, truths {truths}")
        checks.that(all(0 <= box[0] < box[2] <= width * scale and 0 <= box[1] < box[3] <= height * scale for box in corners),
                    f"inside the file: {corners}")
        checks.that(all(box["name"] == ("cat", "dog")[box["class"]] and 0.5 <= box["score"] <= 1 for box in row["detections"]),
                    f"{row['detections']}")
        rows = table(checks, cwd, *words)
        checks.same([[float(line[key]) for key in ("x1", "y1", "x2", "y2")] for line in rows],
                    [[float(f"{x:.9g}") for x in box] for box in corners], "a row for each box")
        checks.that(all(line["file"] == row["file"] and line["name"] in ("cat", "dog") for line in rows), f"{rows}")
        named = predictions(checks, cwd, "run", f"by{scale}/JPEGImages/one.png")
        checks.same([named[0][key] for key in ("file", "detections")], [row[key] for key in ("file", "detections")],
                    "the picture itself, without lists and annotations")
        checks.that({"cat", "dog"} <= set(call(checks, cwd, *words).split()), "people read the names")


def classes_have_names(checks, cwd):
    names = ["b", 'odd, "class"', "x"]
    for half in ("train", "val"):
        for c, name in enumerate(names):
            for k in range(3):
                program.put(cwd, f"pictures/{half}/{name}/{k}.png", program.png(16, 16, (90 * c + k, 200 - 90 * c, 40)))
    program.train(*SMALL, "data=folder:pictures", cwd=cwd, run="run")
    rows = predictions(checks, cwd, "run", "count=0")
    lines = table(checks, cwd, "run")
    checks.same((len(rows), len(lines)), (9, 9), "all of them")
    for i, (row, line) in enumerate(zip(rows, lines)):
        checks.same((row["label"], row["label_name"]), (i % 3, names[i % 3]), "the name of the label")
        checks.same(row["predicted_name"], names[row["predicted"]], "of the prediction")
        checks.same(row["file"], f"pictures/val/{names[i % 3]}/{i // 3}.png", "the file")
        top = row["top"]
        checks.same((top[0]["class"], top[0]["probability"]), (row["predicted"], row["probability"]), "the likeliest")
        checks.same([found["name"] for found in top], [names[found["class"]] for found in top], "names")
        checks.same(sorted(found["class"] for found in top), [0, 1, 2], "each class once")
        checks.same(sorted((found["probability"] for found in top), reverse=True),
                    [found["probability"] for found in top], "best first")
        checks.that(abs(sum(found["probability"] for found in top) - 1) < 1e-6, f"all there are: {top}")
        checks.same((line["file"], line["label_name"], line["predicted_name"]),
                    (row["file"], row["label_name"], row["predicted_name"]), "the file of rows")
    for loss in ("nll", "softmax_cross_entropy"):  # log-probabilities are rounded to three bits of mantissa, each for itself
        program.train(*SMALL, "data=folder:pictures", "precision=e4m3:scale=current", f"loss={loss}", cwd=cwd, run=loss)
        sums = [sum(found["probability"] for found in row["top"]) for row in predictions(checks, cwd, loss, "count=0")]
        checks.that(all(abs(one - 1) < 1e-6 for one in sums), f"{loss} in 8 bits: {sums}")
    program.train(*program.TINY, "steps=1", cwd=cwd, run="ten")
    row = predictions(checks, cwd, "ten", "count=1")[0]
    checks.same((len(row["top"]), "file" in row, "label_name" in row), (5, False, False), "five of ten without names")


def files_are_looked_at(checks, cwd):
    """Pictures that are named, or those of a folder, say what they say as test samples; nobody says what they are."""
    names = ["bee", "cat", "dog"]
    for half in ("train", "val"):
        for c, name in enumerate(names):
            for k in range(3):
                program.put(cwd, f"pictures/{half}/{name}/{k}.png", program.png(20, 16, (90 * c + k, 200 - 90 * c, 40)))
    program.train(*SMALL, "data=folder:pictures", "data.test_limit=5", cwd=cwd, run="run")
    tests = {row["file"]: row for row in predictions(checks, cwd, "run", "count=0", "data.test_limit=0")}
    os.rename(f"{cwd}/pictures/train", f"{cwd}/away")
    wanted = ["pictures/val/dog/1.png", "pictures/val/bee/0.png"]
    found = predictions(checks, cwd, "run", *wanted)
    checks.same([row["file"] for row in found], wanted, "in the order of the command")
    for row in found:
        test = tests[row["file"]]
        checks.same((row["predicted_name"], row["top"]), (test["predicted_name"], test["top"]), "as among test samples")
        checks.same((row["label"], "label_name" in row), (-1, False), "nobody says what it is")
    folder = predictions(checks, cwd, "run", "pictures/val/cat", wanted[0], "count=2")
    checks.same([row["file"] for row in folder], ["pictures/val/cat/0.png", "pictures/val/cat/1.png"], "of a folder")
    text = call(checks, cwd, "run", *wanted)
    checks.that(all(name in text for name in names) and "label" not in text and "verdict" not in text, text)
    checks.that("next likeliest" in text and "2 test samples of files" in text, text)
    checks.that("next likeliest" not in call(checks, cwd, "run", wanted[0], "top=1"), "top=1")
    line = table(checks, cwd, "run", wanted[0], "top=2")[0]
    top = tests[wanted[0]]["top"]
    checks.same((line["top1_name"], line["top2_name"], line["file"], "top3" in line),
                (top[0]["name"], top[1]["name"], wanted[0], False), "classes in a file")
    code, out, err = program.call("predict", "run", "nowhere.png", cwd=cwd)
    checks.that(code == 5 or code == 3, f"no file: {code}")
    checks.that("nowhere.png" in err and not out, err)
    code, _, err = program.call("predict", "run", "away", cwd=cwd)
    checks.that(code == 3 and "away: found neither a picture (.jpg" in err, f"{code} {err}")
    whole = program.png(20, 16, (90, 80, 40))
    program.put(cwd, "mixed/1.png", whole)
    program.put(cwd, "mixed/2.png", whole[:60])
    program.put(cwd, "mixed/3.JPG", b"no picture")
    program.put(cwd, "mixed/4.png", whole)
    code, out, err = program.call("predict", "run", "mixed", "--json", cwd=cwd)
    made = json.loads(out)
    checks.same((code, made["left_out"], [row["file"] for row in made["predictions"]]),
                (3, 2, ["mixed/1.png", "mixed/4.png"]), "damaged pictures are left out")
    lines = err.splitlines()
    checks.that(lines[0].startswith("left out: mixed/2.png: damaged PNG") and lines[1].startswith("left out: mixed/3.JPG: "), err)
    program.put(cwd, "mixed/x.HEIC", b"\0\0\0\x18ftypheic")
    program.put(cwd, "mixed/notes.txt", b"seen in May")
    program.put(cwd, "mixed/unnamed", whole)
    program.put(cwd, "mixed/deeper/1.png", whole)
    os.remove(f"{cwd}/mixed/2.png")
    os.remove(f"{cwd}/mixed/3.JPG")
    code, out, err = program.call("predict", "run", "mixed", "--json", cwd=cwd)
    made = json.loads(out)
    checks.same((code, made["left_out"], [row["file"] for row in made["predictions"]]),
                (3, 3, ["mixed/1.png", "mixed/4.png", "mixed/unnamed"]), "what is no picture is left out")
    for line in ("left out: mixed/notes.txt: no picture (JPEG, PNG or WebP)", "left out: mixed/deeper: a folder in the folder",
                 "left out: mixed/x.HEIC: found a HEIC file, expected JPEG, PNG or WebP: 'heif-convert FILE FILE.jpg' converts it",
                 "left out: 3 in all, 3 are read"):
        checks.that(line in err, f"{line}: {err}")
    os.remove(f"{cwd}/mixed/x.HEIC")
    checks.same(program.call("predict", "run", "mixed", cwd=cwd)[0], 0, "a text and a folder are no failure")
    program.put(cwd, "x.heic", b"\0\0\0\x18ftypheic")
    program.put(cwd, "mixed/2.png", whole[:60])
    program.put(cwd, "mixed/3.JPG", b"no picture")
    code, out, err = program.call("predict", "run", "mixed/1.png", "x.heic", "nowhere.jpg", "mixed/4.png", "--json", cwd=cwd)
    checks.same((code, [row["file"] for row in json.loads(out)["predictions"]]), (3, ["mixed/1.png", "mixed/4.png"]), "the others answer")
    checks.that("left out: x.heic: found a HEIC" in err and "left out: nowhere.jpg: " in err, err)
    code, out, err = program.call("predict", "run", "x.heic", cwd=cwd)
    checks.that(code == 3 and not out and "halfulp: file of a kind that is not supported: x.heic: found a HEIC" in err, err)
    for given in (["mixed/2.png"], ["mixed/2.png", "mixed/3.JPG"]):
        code, out, err = program.call("predict", "run", *given, cwd=cwd)
        checks.that(code == 3 and not out and "halfulp: damaged file: " in err, f"nothing is left: {code} {err}")
    program.train(*program.TINY, "steps=1", cwd=cwd, run="ten")
    row = predictions(checks, cwd, "ten", wanted[1])[0]
    checks.same((len(row["top"]), row["file"]), (5, wanted[1]), "a run of another kind of coloured squares")
    code, _, err = program.call("predict", "run", "data=glyphs", cwd=cwd)
    checks.that(code == 2 and "data.size" not in err and "a run keeps its model and its shapes" in err, f"{code} {err}")
    program.train("model=cvae-s", "data=contacts", "steps=1", "data.limit=64", "data.test_limit=8", cwd=cwd, run="grey")
    code, _, err = program.call("predict", "grey", wanted[1], cwd=cwd)
    checks.that(code == 2 and f"found the file {wanted[1]} for a model of contacts, expected one of folder:DIR" in err, err)


def label_maps_are_numbers(checks, cwd):
    program.write_maps(cwd)
    program.train("model=fcn-s", "data=dense:maps", "data.unlabelled=9", "batch=2", "steps=2", "eval.every=0", cwd=cwd, run="run")
    rows = predictions(checks, cwd, "run", "count=0")
    checks.same([row["file"] for row in rows], ["maps/test/0.png", "maps/test/1.png"], "files")
    for k in range(2):
        width, _, _, sheet = program.read_png(f"{cwd}/run/answers/0{k}.png")
        made = program.read_png(f"{cwd}/run/answers/0{k}-labels.png")
        checks.same(made[:3], (18, 14, 1), "one byte for each pixel")
        said = [COLOURS[tuple(sheet[3 * (y * width + 44 + x):][:3])] for y in range(14) for x in range(18)]
        checks.same(list(made[3]), said, "the classes of the coloured panel")


program.main(boxes_are_told, classes_have_names, files_are_looked_at, label_maps_are_numbers)
