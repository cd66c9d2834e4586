"""Networks with a number for every pixel: every precision, the same bits in every way of running, what they refuse."""
import json
import os

import classes
import program

WORDS = ["batch=4", "steps=2", "lr=0.01", "eval.every=0", "model.width=0.25", "run.chunk=2"]
PRECISIONS = (["precision=fp32"], ["precision=fp16"], ["precision=1/6/9/d"], ["precision=demote:0.6+promote"],
              ["precision=hfp8"], ["precision=ldp:4-8"], ["precision=nvfp4"])
WAYS = (["threads=3"], ["storage=float32"], ["fuse=off", "recompute=off"], ["storage=dense", "threads=2"])


def maps(cwd):
    return [f"data=dense:{program.write_maps(cwd)}", "data.unlabelled=9"]


def pictures(cwd):
    return [f"data=pairs:{program.write_pictures(cwd)}", "data.crop=8", "data.crops=10"]


FORMS = {"fcn-s": maps, "pan-s": pictures}


def trained(cwd, name, model, *words, **more):
    return program.train(f"model={model}", *FORMS[model](cwd), *WORDS, *words, cwd=cwd, run=name, **more)


def bits_are_equal(checks, cwd):
    turn = 0
    for model in FORMS:
        for precision in PRECISIONS:
            plain = trained(cwd, f"{model}-{turn}", model, *precision, "threads=1")
            for more in (WAYS[turn % len(WAYS)], WAYS[(turn + 1) % len(WAYS)]):
                other = trained(cwd, f"{model}-{turn}-{more[0]}", model, *precision, *more)
                for key in ("weights_hash", "train_loss", "metric"):
                    checks.same(other[key], plain[key], f"{model} {precision} {more}: {key}")
            turn += 1


def instruction_sets_agree(checks, cwd):
    for model in FORMS:
        words = ["precision=fp16", "threads=1", *program.FOR_SCALAR]
        plain = trained(cwd, f"{model}-native", model, *words)
        for isa in ("scalar", "avx2"):
            other = trained(cwd, f"{model}-{isa}", model, *words, env={**os.environ, "HALFULP_MAX_ISA": isa})
            checks.same((other["weights_hash"], other["metric"]), (plain["weights_hash"], plain["metric"]),
                        f"{model}, {isa}")


def runs_go_on(checks, cwd):
    for model in FORMS:
        words = [model, "precision=hfp8", "threads=1", "eval.every=1", "steps=5"]
        whole = trained(cwd, f"{model}-whole", *words, "run.checkpoint_every=1", "run.keep=9")
        for step in range(1, 5):
            program.copy_at(cwd, f"{model}-whole", f"{model}-{step}", step)
            rest = program.resume(f"{model}-{step}", cwd=cwd)
            checks.same((rest["weights_hash"], rest["metric"]["value"]),
                        (whole["weights_hash"], whole["metric"]["value"]), f"{model}, resumed at {step}")


def accumulators_reach_every_product(checks, cwd):
    for model in FORMS:
        words = [model, "precision=1/6/9/d", "accumulator=fmac8:1/6/9/d", "steps=1"]
        one = trained(cwd, f"{model}-one", *words, "threads=1")
        two = trained(cwd, f"{model}-two", *words, "threads=2", "run.chunk=3")
        plain = trained(cwd, f"{model}-plain", model, "precision=1/6/9/d", "steps=1", "threads=1")
        checks.same(two["weights_hash"], one["weights_hash"], f"{model}: fmac8")
        checks.that(plain["weights_hash"] != one["weights_hash"], f"{model}: fmac8 rounds more")


def workers_agree_with_one(checks, cwd):
    for model in FORMS:
        words = [model, "workers=2", "comm.format=e5m2", "scaling=aps"]
        one = trained(cwd, f"{model}-w1", *words, "threads=1")
        two = trained(cwd, f"{model}-w2", *words, "threads=3")
        checks.same(two["weights_hash"], one["weights_hash"], f"{model}: workers")


def segmentation_has_three_metrics(checks, cwd):
    made = trained(cwd, "run", "fcn-s", "threads=1", "lr.schedule=poly", "lr.floor=0.0001", "steps=6", "run.log_every=1")
    checks.same(made["metric"]["name"], "mean_iou", "the metric that counts")
    code, out, err = program.call("eval", "run", "--json", cwd=cwd)
    checks.same(code, 0, err)
    found = json.loads(out)
    checks.same(found["test_mean_iou"], made["test_mean_iou"], "eval agrees")
    names = [row["name"] for row in made["test_classes"]]
    checks.same(names, [f"{n}" for n in range(len(names))], "classes without names have numbers")
    classes.told(checks, cwd, made, {"iou": "test_mean_iou", "accuracy": "test_mean_accuracy"}, names)
    named = [f"class {n}" for n in range(len(names))]
    program.put(cwd, "maps/classes.txt", "\n".join([*named, "nobody's"]).encode())
    code, out, err = program.call("eval", "run", "--json", cwd=cwd)
    checks.same((code, [row["name"] for row in json.loads(out)["test_classes"]]), (0, named), f"names: {err}")
    program.put(cwd, "maps/classes.txt", "\n".join(["ciel", "b\u00e2timent", *named]).encode("latin-1"))
    code, out, err = program.call("eval", "run", "--json", cwd=cwd)
    checks.same((code, out), (3, ""), "a name that is not UTF-8")
    checks.that("maps/classes.txt: line 2, byte 2: found 0xe2" in err, f"its place: {err}")
    for name in ("test_mean_iou", "test_mean_accuracy", "test_pixel_accuracy"):
        checks.that(0 <= found[name] <= 1, f"{name}: {found}")
    rates = [float.fromhex(row["lr"]) for row in program.rows(cwd)]
    expected = [0.0099 * (1 - u / 6) ** 0.9 + 0.0001 for u in range(6)]
    checks.that(all(abs(a - b) < 1e-12 for a, b in zip(rates, expected)), f"rates: {rates}")


def pictures_must_fit_their_maps(checks, cwd):
    words = maps(cwd)
    program.write_png(f"{cwd}/maps/trainannot/3.png", 18, 13, 1, lambda x, y, c: 0)
    code, _, err = program.call("train", "model=fcn-s", *words, *WORDS, cwd=cwd)
    checks.same(code, 3, "a map of another size: exit code")
    for part in ("3.png", "18x13", "18x14"):
        checks.that(part in err, f"a map of another size: {part} in {err}")


def small_pictures_are_told(checks, cwd):
    words = [f"data=pairs:{program.write_pictures(cwd)}", *WORDS, "model=pan-s"]
    for more, code, parts in (
            (["data.crop=12"], 3, ["train/0.png", "12x11", "12x12", "48x48", "data.crop"]),
            (["data.crop=8", "data.scale=40"], 2, ["data.scale"]),
            (["data.crop=8", "data.size=8"], 2, ["data.size=8", "data.scale"]),
            (["data.crop=8", "data.augment=[crop]"], 2, ["small", "large"]),
            (["data.crop=8", "data.classes=2"], 2, ["folder:DIR"])):
        found, _, err = program.call("train", *words, *more, cwd=cwd)
        checks.same(found, code, f"{more}: exit code")
        for part in parts:
            checks.that(part in err, f"{more}: {part} in {err}")
    program.write_png(f"{cwd}/pictures/test/1.png", 30, 37, 3, lambda x, y, c: 7)
    found, _, err = program.call("train", *words, "data.crop=8", cwd=cwd)
    checks.same(found, 3, "test pictures of two sizes: exit code")
    for part in ("test/1.png", "28x36", "44x36", "one size"):
        checks.that(part in err, f"test pictures of two sizes: {part} in {err}")
    code, _, err = program.call("train", "model=pan-s", "data=glyphs", "steps=1", cwd=cwd)
    checks.same(code, 2, "data without pairs: exit code")
    checks.that("small" in err, err)


def enlarging_is_beside_its_baseline(checks, cwd):
    code, out, told = program.call("train", "model=pan-s", *FORMS["pan-s"](cwd), *WORDS, "threads=1", "steps=3",
                                   "run.quiet=off", "run.dir=run", "--json", cwd=cwd)
    made = json.loads(out)
    checks.same(told.count("bicubic alone: luma psnr"), 1, "the baseline is told once")
    checks.that(0 < told.find("epoch 1/1 ") < told.find("bicubic alone"), f"behind the last epoch: {told}")
    checks.same((made["metric"]["name"], made["baseline"]["name"]), ("luma_psnr", "bicubic"), "names")
    code, out, err = program.call("eval", "run", "--json", cwd=cwd)
    found = json.loads(out)
    checks.same((found["metric"]["value"], found["baseline"]), (made["metric"]["value"], made["baseline"]), "eval")
    checks.that("bicubic alone: luma psnr" in err, f"eval tells it: {err}")
    code, out, err = program.call("predict", "run", "count=0", "--json", cwd=cwd)
    rows = [row["luma_psnr"] for row in json.loads(out)["predictions"]]
    checks.same(sum(rows) / 2, made["metric"]["value"], "the mean over the pictures")


def held_out_crops_are_not_trained_on(checks, cwd):
    made = trained(cwd, "run", "pan-s", "threads=1", "data.validation=3", "eval.every=1")
    checks.that(made["validation"]["value"] > 0 if "validation" in made else made["validation_luma_psnr"] > 0,
                f"crops held out: {made}")


def scales_of_formats_go_on_in_whole_pictures(checks, cwd):
    """A delayed scale is what training left, in the plan of another size too: bits do not depend on the plan."""
    for precision in ("e4m3:scale=delayed4", "e4m3:scale=current", "mxfp8"):
        words = ["pan-s", f"precision={precision}", "eval.weights=rounded", "eval.every=1", "steps=5"]
        plain = trained(cwd, f"{precision}-plain", *words, "threads=1")
        other = trained(cwd, f"{precision}-other", *words, "threads=2", "storage=float32", "fuse=off")
        code, out, _ = program.call("eval", f"{precision}-plain", "--json", cwd=cwd)
        checks.same(other["metric"], plain["metric"], f"{precision}: metric")
        checks.same(json.loads(out)["metric"]["value"], plain["metric"]["value"], f"{precision}: evaluated again")


def sheet(path):
    """Width, height and rows of (red, green, blue)."""
    width, height, channels, pixels = program.read_png(path)
    pixels = [tuple(pixels[i:i + 3]) for i in range(0, channels * width * height, channels)]
    return width, height, [pixels[y * width:(y + 1) * width] for y in range(height)]


def answers_are_pictures(checks, cwd):
    """Input, truth and prediction beside each other: left by trainings, by predict, and in the report."""
    colours = {9: (0, 0, 0), 0: (128, 0, 0), 1: (0, 128, 0), 2: (128, 128, 0)}
    trained(cwd, "run", "fcn-s", "threads=1")
    checks.same(sorted(os.listdir(f"{cwd}/run/answers")), ["00-labels.png", "00.png", "01-labels.png", "01.png"], "two for each test picture")
    width, height, rows = sheet(f"{cwd}/run/answers/01.png")
    checks.same((width, height), (3 * 18 + 8, 14), "three panels and two gaps")
    _, _, image = sheet(f"{cwd}/maps/test/1.png")
    checks.same([row[:18] for row in rows], image, "the input")
    checks.same({row[18] for row in rows} | {row[43] for row in rows}, {(255, 255, 255)}, "gaps")
    truth = [[colours[9 if (x * y + 1) % 7 == 0 else (x // 5 + y // 4 + 1) % 3] for x in range(18)] for y in range(14)]
    checks.same([row[22:40] for row in rows], truth, "the label map")
    said = {pixel for row in rows for pixel in row[44:]}
    checks.that(said <= set(colours.values()) - {(0, 0, 0)}, f"classes are said, nothing else: {said}")
    with open(f"{cwd}/run/report.html") as file:
        html = file.read()
    checks.same(html.count('src="data:image/png;base64,iVBOR'), 2, "pictures in the report")
    trained(cwd, "large", "pan-s", "threads=1")
    os.remove(f"{cwd}/large/answers/01.png")
    code, out, err = program.call("predict", "large", "--json", cwd=cwd)
    checks.that(code == 0 and "wrote 2 pictures to large/answers" in err, f"predict: {code}, {err}")
    width, height, rows = sheet(f"{cwd}/large/answers/01.png")
    _, _, image = sheet(f"{cwd}/pictures/test/1.png")
    checks.same((width, height), (3 * 44 + 8, 36), "whole pictures without the rows that are left out")
    checks.same([row[48:92] for row in rows], image[:36], "the truth")
    checks.same([row[0:4] for row in rows[0:4]], [[rows[0][0]] * 4] * 4, "pixels of the small picture are squares")
    made = [abs(a - b) for row in rows for p, q in zip(row[96:], row[48:92]) for a, b in zip(p, q)]
    checks.that(0 < sum(made) / len(made) < 60, f"a picture that is like it: {sum(made) / len(made)}")
    program.train(*program.TINY, "steps=1", cwd=cwd, run="classes")
    checks.that(not os.path.exists(f"{cwd}/classes/answers"), "classes are no pictures")


def windows_of_scaled_pictures(checks, cwd):
    """data.scales and data.crop: the same bits in any number of threads and from any step on; tests see whole pictures."""
    shared = ["precision=bf16", "steps=4", "eval.every=1", "data.crop=12"]
    plain = trained(cwd, "unscaled", "fcn-s", *shared, "threads=1")
    whole = trained(cwd, "scaled", "fcn-s", *shared, "data.scales=0.5-2", "threads=1", "run.checkpoint_every=1", "run.keep=9")
    checks.that(whole["weights_hash"] != plain["weights_hash"], "pictures are scaled")
    for more in (["threads=3"], ["storage=float32"], ["fuse=off", "recompute=off"]):
        other = trained(cwd, f"scaled-{more[0]}", "fcn-s", *shared, "data.scales=0.5-2", *more)
        for key in ("weights_hash", "train_loss", "metric"):
            checks.same(other[key], whole[key], f"{more}: {key}")
    for step in (1, 3):
        program.copy_at(cwd, "scaled", f"scaled-{step}", step)
        rest = program.resume(f"scaled-{step}", "threads=2", cwd=cwd)
        checks.same((rest["weights_hash"], rest["metric"]), (whole["weights_hash"], whole["metric"]), f"resumed at {step}")
    code, out, err = program.call("predict", "scaled", "count=1", "--json", cwd=cwd)
    checks.same(code, 0, f"predict: {err}")
    for words, part in ((["data.scales=2-0.5"], "data.scales: found '2-0.5'"), (["data.scales=0.5-2x"], "expected a ratio or two"),
                        (["data.scales=0.01"], "from 0.1 to 10"), (["data.crop=12", "data.pad=3"], "found padding of 3, expected none: what a crop lacks"),
                        (["data.crop=4000"], "data.crop: found 4000")):
        code, _, err = program.call("train", "model=fcn-s", *maps(cwd), *WORDS, *words, cwd=cwd)
        checks.same(code, 2, f"{words}: {err}")
        checks.that(part in err, f"{words}: {err}")
    code, _, err = program.call("train", "data=glyphs", "data.scales=0.5-2", "steps=1", cwd=cwd)
    checks.that(code == 2 and "data glyphs: found data.scales=0.5-2, expected none" in err, f"other data: {err}")


def answers_of_other_data(checks, cwd):
    """Pictures of a later call take the place of the earlier ones; those of other data have a place of their own."""
    trained(cwd, "run", "fcn-s", "threads=1")
    for half, k in (("train", 0), ("test", 0)):
        program.write_png(f"{cwd}/more/Set5/{half}/{k}.png", 18, 14, 3, lambda x, y, c: (9 * x + y + 60 * c) % 256)
        program.write_png(f"{cwd}/more/Set5/{half}annot/{k}.png", 18, 14, 1, lambda x, y, c: x % 3)

    def predict(*words):
        code, _, err = program.call("predict", "run", "--json", *words, cwd=cwd)
        checks.same(code, 0, f"predict {words}: {err}")
        return err

    own = program.tree_bytes(f"{cwd}/run/answers")
    for _ in (1, 2):
        err = predict("data=dense:more/Set5/")
        checks.that("wrote 1 pictures to run/answers-Set5\n" in err, f"the folder is told: {err}")
        checks.same(sorted(os.listdir(f"{cwd}/run/answers-Set5")), ["00-labels.png", "00.png"], "of the other data")
        checks.same(program.tree_bytes(f"{cwd}/run/answers"), own, "the run's own stay")
    with open(f"{cwd}/run/answers/09.png", "wb") as file:
        file.write(own["00.png"])
    with open(f"{cwd}/run/answers/mine.png", "wb") as file:
        file.write(own["00.png"])
    checks.that("to run/answers\n" in predict("count=1", f"data=dense:{cwd}/maps"), "the run's own data, spelled as they were")
    checks.same(sorted(os.listdir(f"{cwd}/run/answers")), ["00-labels.png", "00.png", "mine.png"], "no picture of an earlier call stays")
    checks.same(program.tree_bytes(f"{cwd}/run/answers")["00.png"], own["00.png"], "the same answer")


program.main(answers_of_other_data, windows_of_scaled_pictures, answers_are_pictures, bits_are_equal, instruction_sets_agree, runs_go_on, accumulators_reach_every_product,
             workers_agree_with_one, segmentation_has_three_metrics, pictures_must_fit_their_maps,
             small_pictures_are_told, enlarging_is_beside_its_baseline, held_out_crops_are_not_trained_on,
             scales_of_formats_go_on_in_whole_pictures)
