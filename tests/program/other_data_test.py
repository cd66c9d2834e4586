"""Other data than those of the run: classes are found by name, the test half is enough, truths do not change a network."""
import json
import os
import shutil

import program

BOXES = ["model=ssd-s", "batch=4", "lr=0.02", "eval.every=0", "model.width=0.25", "scaler.init=128", "threads=1"]
SMALL = ["model=cnn-s", "data.size=16", "batch=8", "steps=4", "lr=0.01", "eval.every=0", "threads=1"]
COLOURS = {"blue": (20, 30, 220), "green": (30, 210, 20), "red": (230, 20, 30), "white": (240, 240, 240)}


def answer(checks, cwd, *words):
    code, out, err = program.call(*words, "--json", cwd=cwd)
    checks.same(code, 0, f"{words}: {err}")
    return json.loads(out or "{}")


def refused(checks, cwd, words, *call):
    code, _, err = program.call(*call, cwd=cwd)
    checks.same(code, 3, f"{call}: {err}")
    for word in words:
        checks.that(word in err, f"{call}: no '{word}' in: {err}")


def other_boxes(cwd, annotations, size=(50, 40)):
    """A folder with a test half alone; None: a picture without annotation."""
    shutil.rmtree(f"{cwd}/other", ignore_errors=True)
    names = [f"p{k}" for k in range(len(annotations))]
    program.put(cwd, "other/ImageSets/Main/test.txt", "\n".join(names).encode())
    for name, boxes in zip(names, annotations):
        program.write_png(f"{cwd}/other/JPEGImages/{name}.png", *size, 3, lambda x, y, c: (x * 7 + y * 5 + 9 * c) % 256)
        if boxes is not None:
            program.put(cwd, f"other/Annotations/{name}.xml", program.voc(*size, boxes))


def truths_do_not_change_a_network(checks, cwd):
    """Training pictures have at most 2 boxes. Other numbers of them, other sizes and classes that are not there."""
    program.train(f"data=boxes:{program.write_boxes(cwd)}", *BOXES, "steps=40", cwd=cwd, run="run")
    with open(f"{cwd}/run/classes.txt") as file:
        checks.same(file.read(), "cat\ndog\n", "the run keeps the names")
    many = [("cat", 3 + i, 4, 13 + i, 16) for i in range(5)]
    one = [("dog", 2, 2, 20, 20)]
    other_boxes(cwd, [[], one, many, None])
    rows = answer(checks, cwd, "predict", "run", "data=boxes:other", "count=0")["predictions"]
    checks.same([row["boxes"] for row in rows], [0, 1, 5, 0], "boxes that are true")
    other_boxes(cwd, [[], one])
    few = answer(checks, cwd, "predict", "run", "data=boxes:other", "count=0")["predictions"]
    checks.same([row["detected"] for row in few], [row["detected"] for row in rows[:2]], "whatever stands beside them")
    other_boxes(cwd, [one, one])
    made = answer(checks, cwd, "eval", "run", "data=boxes:other")
    checks.same([row["name"] for row in made["test_classes"]], ["cat", "dog"], "classes of the run")
    checks.that(made["test_classes"][0]["ap"] is None and made["test_classes"][1]["ap"] is not None,
                f"dogs alone are dogs: {made['test_classes']}")
    other_boxes(cwd, [one, None])
    refused(checks, cwd, ["p1.xml"], "eval", "run", "data=boxes:other")
    other_boxes(cwd, [[("dig", 2, 2, 20, 20)]])
    refused(checks, cwd, ["p0.xml: found class 'dig'", "of 2 classes: 'dog'"], "eval", "run", "data=boxes:other")


def pictures_without_boxes_teach_background(checks, cwd):
    """One of them in training and one in testing: a loss that is finite, and bits that threads do not change."""
    folder = program.write_boxes(cwd)
    for name in ("train3", "test0"):
        program.put(cwd, f"boxes/Annotations/{name}.xml", program.voc(40, 32, []))
    made = program.train(f"data=boxes:{folder}", *BOXES, "steps=5", cwd=cwd, run="a")
    again = program.train(f"data=boxes:{folder}", *BOXES, "steps=5", "threads=2", cwd=cwd, run="b")
    checks.that(made["train_loss"] > 0 and made["test_mean_ap"] is not None, f"{made['train_loss']}")
    checks.same(again["weights_hash"], made["weights_hash"], "threads")


def write_classes(cwd, folder, halves, names, count=4):
    for half in halves:
        for name in names:
            for k in range(count):
                r, g, b = COLOURS[name]
                program.put(cwd, f"{folder}/{half}/{name}/{k}.png", program.png(16, 16, (r, g, min(255, b + k))))


def folders_are_found_by_name(checks, cwd):
    """Pictures of one class are the same ones whichever classes stand beside it."""
    write_classes(cwd, "all", ("train", "val"), COLOURS)
    program.train(*SMALL, "data=folder:all", cwd=cwd, run="run")
    whole = answer(checks, cwd, "predict", "run", "count=0")["predictions"]
    said = {label: row["predicted"] for label in range(4) for row in whole if row["label"] == label}
    for half in ("val", "test"):
        shutil.rmtree(f"{cwd}/some", ignore_errors=True)
        write_classes(cwd, "some", (half,), ("red", "green"), count=1)
        rows = answer(checks, cwd, "predict", "run", "data=folder:some", "count=0")["predictions"]
        checks.same([row["label"] for row in rows], [1, 2], "numbers of the run")
        checks.same([row["predicted"] for row in rows], [said[1], said[2]], "the same pictures")
        checks.same(answer(checks, cwd, "eval", "run", "data=folder:some")["test_accuracy"],
                    sum(row["label"] == row["predicted"] for row in rows) / 2, "eval")
    os.rename(f"{cwd}/some/test/red", f"{cwd}/some/test/rad")
    refused(checks, cwd, ["some/test: found class 'rad'", "of 4 classes: 'red'"], "eval", "run", "data=folder:some")


def label_maps_keep_their_numbers(checks, cwd):
    """A test half without class 2 is evaluated with all three; names must be the same where both have them."""
    program.write_maps(cwd)
    program.put(cwd, "maps/classes.txt", b"sky\nroad\ntree\n")
    program.train("model=fcn-s", "data=dense:maps", "data.unlabelled=9", "batch=2", "steps=1", "eval.every=0",
                  cwd=cwd, run="run")
    for k in range(2):
        program.write_png(f"{cwd}/two/val/{k}.png", 18, 14, 3, lambda x, y, c: (x * 9 + y + c) % 256)
        program.write_png(f"{cwd}/two/valannot/{k}.png", 18, 14, 1, lambda x, y, c: (x + y) % 2)
    made = answer(checks, cwd, "eval", "run", "data=dense:two")
    checks.same([row["name"] for row in made["test_classes"]], ["sky", "road", "tree"], "names of the run")
    checks.same(made["test_classes"][2]["iou"] is None or made["test_classes"][2]["accuracy"] is None, True, "no tree")
    program.put(cwd, "two/classes.txt", b"sky\nrode\ntree\n")
    refused(checks, cwd, ["line 2: found 'rode', expected 'road'"], "eval", "run", "data=dense:two")
    os.remove(f"{cwd}/two/classes.txt")
    program.write_png(f"{cwd}/two/valannot/1.png", 18, 14, 1, lambda x, y, c: 3)
    refused(checks, cwd, ["found class 3"], "predict", "run", "data=dense:two")


program.main(truths_do_not_change_a_network, pictures_without_boxes_teach_background, folders_are_found_by_name,
             label_maps_keep_their_numbers)
