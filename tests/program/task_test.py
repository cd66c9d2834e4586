"""Tasks beside classification: their metric in results, tables, searches and reports; errors."""
import base64
import csv
import glob
import json
import math
import os
import re

import program

AUTOENCODER = ["model=autoencoder", "data=glyphs", "data.limit=96", "data.test_limit=16", "batch=32",
               "run.log_every=1", "threads=1"]
SAMPLES = 16


def call(checks, *words, cwd, code=0):
    found, out, err = program.call(*words, cwd=cwd)
    checks.same(found, code, f"{words}: {err[-300:]}")
    return out


def answer(checks, *words, cwd):
    out = call(checks, *words, "--json", cwd=cwd)
    return json.loads(out) if out else {}


def one_training(checks, cwd):
    """train, eval, predict and resume name the metric and agree on it."""
    made = program.train(*AUTOENCODER, "steps=6", "run.checkpoint_every=3", "run.keep=9", cwd=cwd)
    value = made["test_psnr"]
    checks.same(made["task"], "autoencode", "the task of the model")
    checks.same(made["metric"], {"name": "psnr", "value": value, "best": made["best_psnr"],
                                 "better": "higher"}, "its metric")
    checks.that("test_accuracy" not in made, "nothing is called accuracy")
    found = answer(checks, "eval", "run", cwd=cwd)
    checks.same((found["test_psnr"], found["metric"]),
                (value, {"name": "psnr", "value": value, "better": "higher"}), "eval")
    checks.that(f"psnr {value:.2f} dB" in call(checks, "eval", "run", cwd=cwd), "eval in words")
    rows = answer(checks, "predict", "run", "count=0", cwd=cwd)["predictions"]
    checks.same(len(rows), SAMPLES, "a row for every test sample")
    checks.same(sum(row["psnr"] for row in rows) / SAMPLES, value, "the mean over the samples")
    for row in rows:
        error = row["squared_error"]
        checks.that(math.isclose(row["psnr"], -10 * math.log10(error), rel_tol=1e-13),
                    f"psnr of an error of {error}: {row['psnr']}")
    program.copy_at(cwd, "run", "again", 3)
    again = program.resume("again", cwd=cwd)
    checks.same((again["test_psnr"], again["weights_hash"]), (value, made["weights_hash"]),
                "a resumed training ends in the same value")
    with open(f"{cwd}/run/metrics.csv", newline="") as file:
        last = list(csv.DictReader(file))[-1]
    checks.same((float(last["test_psnr"]), last["batch_psnr"]), (value, ""), "columns of the metric")
    for path in glob.glob(f"{cwd}/run/events.*"):
        with open(path, "rb") as file:
            data = file.read()
        checks.that(b"test_psnr" in data and b"batch_psnr" not in data, "tags for TensorBoard")


def table_and_front(checks, cwd):
    words = ["precision=fp32,hfp8", "seeds=1,2", *AUTOENCODER, "steps=6", "run.dir=c"]
    made = answer(checks, "compare", *words, cwd=cwd)
    checks.same(made["metric"], {"name": "psnr", "better": "higher"}, "metric of the rows")
    for row in made["rows"]:
        checks.that(row["test_psnr"] > 0 and row["best_psnr"] >= row["test_psnr"], f"{row}")
        checks.that("test_accuracy" not in row, "no key of another metric")
    means = made["precisions"]
    for mean, a, b in zip(means, made["rows"][0::2], made["rows"][1::2]):
        values = [a["test_psnr"], b["test_psnr"]]
        checks.same((mean["test_psnr"], mean["test_psnr_least"], mean["test_psnr_most"]),
                    (sum(values) / 2, min(values), max(values)), "mean and range over the seeds")
    for mine, other in (means, means[::-1]):
        as_good = other["test_psnr"] >= mine["test_psnr"]
        is_smaller = other["memory_bytes"] <= mine["memory_bytes"]
        is_same = (other["test_psnr"], other["memory_bytes"]) == (mine["test_psnr"],
                                                                  mine["memory_bytes"])
        checks.same(mine["pareto"], not (as_good and is_smaller and not is_same), "the front")
    text = call(checks, "compare", *words, cwd=cwd)
    for part in ("psnr", f"{means[0]['test_psnr']:.2f} +- ", " dB ", "front of psnr against memory"):
        checks.that(part in text, f"the table says {part!r}: {text}")
    checks.that("accuracy" not in text, f"and nothing of accuracy: {text}")


def page(checks, cwd):
    """Pictures have one metric; runs of another one are named and stay in the table."""
    call(checks, "compare", "precision=fp32,hfp8", *AUTOENCODER, "steps=6", "run.dir=c", cwd=cwd)
    with open(f"{cwd}/c/report.html") as file:
        html = file.read()
    for part in ("PSNR against memory", "<h3>Test psnr", "test psnr, dB", "psnr dB", "best dB"):
        checks.that(part in html, f"the report says {part!r}")
    checks.that("ccuracy" not in html and "left out" not in html, "and nothing of accuracy")
    program.train(*program.TINY, "steps=6", cwd=cwd)
    call(checks, "report", "c", "run", "out=mixed.html", cwd=cwd)
    with open(f"{cwd}/mixed.html") as file:
        html = file.read()
    checks.that("Runs of another metric than psnr are left out: cnn-s: fp32, accuracy." in html,
                "the note says what is left out")
    checks.that("accuracy " in html.split('id="results"')[1], "the table has the other metric")
    call(checks, "report", "run", "c", "out=other.html", cwd=cwd)
    with open(f"{cwd}/other.html") as file:
        html = file.read()
    checks.that("<h3>Test accuracy" in html and "PSNR against" not in html,
                "the first run says the metric")
    checks.that("<h3>Test psnr" in html and "left out" not in html, "curves leave out none")


def lower_is_better(checks, cwd):
    """Finished rows whose result names a metric of the other direction."""
    words = ["precision=fp32,hfp8,fp16", *AUTOENCODER, "steps=2", "run.dir=c"]
    call(checks, "compare", *words, cwd=cwd)
    # fp32 is the best, hfp8 the smallest, fp16 worse and larger than either.
    for run, error, total in (("fp32", 0.125, 2000), ("hfp8", 0.25, 1000), ("fp16", 0.5, 3000)):
        path = f"{cwd}/c/{run}-s1/result.json"
        with open(path) as file:
            result = json.load(file)
        result["metric"] = {"name": "squared_error", "value": error, "best": error,
                            "better": "lower"}
        result["test_squared_error"] = result["best_squared_error"] = error
        result["ledger_bytes"]["total"] = total
        with open(path, "w") as file:
            json.dump(result, file)
    made = answer(checks, "compare", *words, cwd=cwd)
    checks.same(made["metric"], {"name": "squared_error", "better": "lower"}, "direction")
    checks.same([mean["pareto"] for mean in made["precisions"]], [True, True, False], "front")
    checks.same([mean["test_squared_error_least"] for mean in made["precisions"]],
                [0.125, 0.25, 0.5], "values")
    with open(f"{cwd}/c/report.html") as file:
        pictures = file.read().split('id="pareto"')[1].split("</svg>")
    picture = next(text for text in pictures if "memory of training" in text)
    checks.that("test squared error (lower is better)" in picture, "title of the axis")
    places = [(float(error), float(y)) for y, error in
              re.findall(r'class="mark[^>]*(?:M[0-9.]+ )([0-9.]+)[^>]*><title>[^<]*: ([0-9.]+)', picture)
              + re.findall(r'cy="([0-9.]+)"[^>]*class="mark[^>]*><title>[^<]*: ([0-9.]+)', picture)]
    down = [y for _, y in sorted(places)]
    checks.that(len(down) == 3 and down == sorted(down),
                f"what is better lies higher: {places}")


def search(checks, cwd):
    words = [*AUTOENCODER, "steps=4", "assign.rungs=2", "assign.random=0"]
    made = answer(checks, "assign", *words, "budget=memory:0.4", "run.dir=m", cwd=cwd)
    checks.that(made["memory_share"] <= 0.4, f"share {made['memory_share']}")
    checks.same((made["metric"], made["budget"]),
                ({"name": "psnr", "better": "higher"}, {"kind": "memory", "value": 0.4}), "budget")
    ends = {c["name"]: c["rungs"][-1]["validation_psnr"] for c in made["candidates"]
            if len(c["rungs"]) == 2}
    checks.that(max(ends.values()) - ends[made["chosen"]] <= 1.5 * made["noise"],
                f"nothing is better beyond the noise: {ends}, {made['chosen']}")
    checks.same(made["validation_psnr"], ends[made["chosen"]], "what it was chosen for")
    text = call(checks, "assign", *words, "budget=memory:0.4", "run.dir=m", cwd=cwd)
    checks.that("dB at 4 steps" in text and f"float32 {made['fp32_psnr']:.2f} dB" in text, text)
    made = answer(checks, "assign", *words, "budget=metric:-1.5", "run.dir=m", cwd=cwd)
    checks.same(made["budget"], {"kind": "psnr", "value": -1.5}, "a budget in dB")
    checks.that(made["validation_psnr"] >= made["fp32_psnr"] - 1.5 - 1e-9,
                f"{made['validation_psnr']}")
    smaller = [c for c in made["candidates"] if len(c["rungs"]) == 2
               and c["rungs"][-1]["validation_psnr"] >= made["fp32_psnr"] - 1.5
               and c["rungs"][-1]["memory_share"] < made["memory_share"]]
    checks.same(smaller, [], "no finalist is smaller and good enough")
    with open(f"{cwd}/m/plan.yaml") as file:
        checks.that(f"test_psnr: {made['test_psnr']:.2f} dB" in file.read(), "the evidence")
    for budget in ("accuracy:-1", "metric:1", "metric:", "metric:nan", "psnr:-1x"):
        found, _, err = program.call("assign", *words, f"budget={budget}", "run.dir=b", cwd=cwd)
        checks.that(found == 2 and "metric:-P (at most P dB of psnr worse than float32)" in err,
                    f"{budget}: exit {found}, {err!r}")


def demonstration(checks, cwd):
    text = call(checks, "demo", *AUTOENCODER, "steps=2", "run.dir=d", cwd=cwd)
    checks.that("test psnr" in text and " dB" in text and "accuracy" not in text, text)
    with open(f"{cwd}/d/demo.json") as file:
        made = json.load(file)
    checks.same(made["metric"], {"name": "psnr", "better": "higher"}, "demo.json")
    checks.that(all(row["test_psnr"] > 0 for row in made["rows"]), "and its rows")


def pixels(checks, cwd):
    """A class for every pixel: two metrics, the first one leads."""
    program.write_idx(f"{cwd}/data", count=32)
    words = ["model=dense-s", "model.width=0.25", "data=ink:idx:data", "batch=16", "threads=1",
             "steps=2", "run.log_every=1"]
    made = program.train(*words, cwd=cwd)
    checks.same((made["task"], made["metric"]["name"]), ("segment", "mean_iou"), "task and metric")
    found = answer(checks, "eval", "run", cwd=cwd)
    checks.same(found["test_mean_iou"], made["test_mean_iou"], "mean intersection over union")
    checks.that(0 <= found["test_pixel_accuracy"] <= 1, f"the second metric: {found}")
    rows = answer(checks, "predict", "run", "count=0", cwd=cwd)["predictions"]
    labelled = sum(row["labelled_pixels"] for row in rows)
    right = sum(round(row["labelled_pixels"] * row["pixel_accuracy"]) for row in rows)
    checks.same(found["test_pixel_accuracy"], right / labelled, "pixels counted by predict")
    with open(f"{cwd}/run/report.html") as file:
        checks.that("mean iou %" in file.read(), "the report's table")
    made = answer(checks, "assign", *words, "budget=accuracy:-100", "assign.rungs=1",
                  "assign.random=0", "run.dir=a", cwd=cwd)
    checks.same(made["budget"], {"kind": "mean_iou", "value": -100.0}, "points of a share")


def codes(checks, cwd):
    """A picture out of a drawn code: a bound of two parts, of which less is better."""
    words = ["model=cvae-s", "model.width=0.25", "data=glyphs", "data.limit=96", "data.test_limit=16", "batch=32",
             "threads=1", "lr=0.0001", "run.log_every=1"]
    made = program.train(*words, "steps=6", cwd=cwd)
    value = made["test_negative_elbo"]
    checks.same(made["metric"], {"name": "negative_elbo", "value": value, "best": made["best_negative_elbo"],
                                 "better": "lower"}, "the metric")
    parts = made["test_reconstruction"] + made["test_divergence"]
    checks.that(math.isclose(value, parts, rel_tol=1e-14), f"{value} is the sum of its parts {parts}")
    checks.that(made["test_divergence"] > 0 and made["test_psnr"] > 0, f"{made}")
    found = answer(checks, "eval", "run", cwd=cwd)
    checks.same([found[f"test_{key}"] for key in ("negative_elbo", "reconstruction", "divergence")],
                [made[f"test_{key}"] for key in ("negative_elbo", "reconstruction", "divergence")],
                "eval draws the same codes again")
    checks.that(f"negative elbo {value:.2f} nats" in call(checks, "eval", "run", cwd=cwd), "eval in words")
    rows = answer(checks, "predict", "run", "count=0", cwd=cwd)["predictions"]
    checks.that(math.isclose(sum(row["negative_elbo"] for row in rows) / SAMPLES, value, rel_tol=1e-14),
                "the mean over the samples")
    for row in rows:
        checks.same(row["reconstruction"] + row["divergence"], row["negative_elbo"], "parts of a sample")
    half = program.train(*words, "steps=6", "task.beta=0.5", "run.dir=half", cwd=cwd, run="half")
    checks.that(half["weights_hash"] != made["weights_hash"], "beta weighs the divergence")
    wide = program.train(*words, "steps=1", "model.latent=5", "model.maps=12", "model.dense=20", cwd=cwd, run="wide")
    maps = 12 * 16 * 16
    weights = (3 * 9 + 3 * 12 * 9 + 4) * 12 + (maps + 1) * 20 + 2 * 21 * 5 + 6 * 20 + 21 * maps
    weights += 3 * (12 * 9 + 0) * 12 + 3 * 12 + 12 * 9 * 3 + 3
    checks.same(wide["parameters"], weights, "sizes that keys say")
    none = program.train(*words, "steps=1", "task.beta=0", cwd=cwd, run="none")
    one = program.train(*words, "steps=1", cwd=cwd, run="one")
    checks.that(none["train_loss"] < one["train_loss"], "a loss without the divergence is less")
    rows = answer(checks, "compare", "precision=fp32,hfp8", *words, "steps=6", "run.dir=c", cwd=cwd)
    checks.same(rows["metric"], {"name": "negative_elbo", "better": "lower"}, "metric of the rows")
    maps = program.train("model=cvae-s", "model.width=0.25", "data=contacts", "data.limit=64", "data.test_limit=16",
                         "batch=32", "steps=2", "threads=1", cwd=cwd, run="maps")
    checks.that(maps["test_reconstruction"] > 0, "maps without classes")
    code, _, err = program.call("train", "model=cnn-s", "data=contacts", "steps=1", "run.dir=bad", cwd=cwd)
    checks.that(code == 2 and "task classify needs a field 'label', data contacts has 'image'" in err, err)
    with open(f"{cwd}/c/report.html") as file:
        html = file.read()
    for part in ("Negative ELBO against memory", "<h3>Test negative elbo", "lower is better"):
        checks.that(part in html, f"the report says {part!r}")


def results_stay(checks, cwd):
    """A run that has ended keeps every metric when it is resumed; what is of one process may change."""
    program.write_idx(f"{cwd}/data", count=40)
    code = ["model=cvae-s", "model.width=0.25", "data=glyphs", "data.limit=64", "lr=0.0001"]
    for words in (["model=dense-s", "model.width=0.25", "data=ink:idx:data"], code,
                  [*code, "data.validation=24", "eval.part=auto"], [*code, "data.validation=24", "eval.part=validation"]):
        run = "-".join(word.split("=")[1].replace(":", "") for word in words)
        made = program.train(*words, "batch=16", "steps=3", "data.test_limit=16", "threads=1", cwd=cwd, run=run)
        for again in (1, 2):
            program.resume(run, cwd=cwd)
            with open(f"{cwd}/{run}/result.json") as file:
                found = json.load(file)
            own = ("images_per_second", "train_seconds", "peak_rss_bytes", "data_wait_seconds")
            for key in sorted((set(made) | set(found)) - set(own)):
                checks.same(found.get(key), made.get(key), f"{run}, resumed {again} times: {key}")


def pictures(checks, cwd):
    """Behind every evaluation a sheet: samples in the upper row, below what is made of them."""
    program.write_idx(f"{cwd}/data", count=40, side=12)
    words = ["model=cvae-s", "model.width=0.25", "data=idx:data", "batch=16", "lr=0.001", "epochs=2", "run.pictures=3"]
    made = program.train(*words, "threads=1", "run.checkpoint_every=3", "run.keep=9", cwd=cwd)
    sheets = sorted(os.listdir(f"{cwd}/run/pictures"))
    checks.same(sheets, ["step-00000003.png", "step-00000006.png"], "one for each evaluation")
    width, height, channels, pixels = program.read_png(f"{cwd}/run/pictures/{sheets[1]}")
    checks.same((width, height, channels), (2 + 3 * 14, 2 + 2 * 14, 1), "the size of a sheet")
    with open(f"{cwd}/data/t10k-images-idx3-ubyte", "rb") as file:
        tests = file.read()[16:]
    errors = []
    for i in range(3):
        rows = [[pixels[(2 + line * 14 + y) * width + 2 + i * 14:][:12] for y in range(12)] for line in (0, 1)]
        sample = tests[i * 144:(i + 1) * 144]
        checks.same(b"".join(rows[0]), sample, f"sample {i}")
        errors.append(sum((a - b) ** 2 for a, b in zip(b"".join(rows[1]), sample)) / 144 / 255 ** 2)
    told = answer(checks, "predict", "run", "count=3", cwd=cwd)["predictions"]
    for row, error in zip(told, errors):
        checks.that(abs(row["psnr"] + 10 * math.log10(error)) < 0.2, f"psnr {row['psnr']}, of the picture {error}")
    checks.same(set(pixels[:width]), {255}, "white between them")
    files = [open(f"{cwd}/run/pictures/{name}", "rb").read() for name in sheets]
    program.train(*words, "threads=3", "storage=float32", cwd=cwd, run="other")
    program.copy_at(cwd, "run", "again", 3)
    again = program.resume("again", cwd=cwd)
    checks.same(again["weights_hash"], made["weights_hash"], "pictures do not disturb")
    for run in ("other", "again"):
        with open(f"{cwd}/{run}/pictures/{sheets[1]}", "rb") as file:
            checks.same(file.read(), files[1], f"{run}: the same picture")
    with open(f"{cwd}/run/report.html") as file:
        html = file.read()
    found = [base64.b64decode(text) for text in re.findall(r'src="data:image/png;base64,([^"]*)"', html)]
    checks.same(found, files, "the page holds the first and the last sheet")
    checks.that("Behind 6 steps" in html, "with their steps")
    program.train(*words[:-1], "run.pictures=0", cwd=cwd, run="none")
    checks.that(not os.path.exists(f"{cwd}/none/pictures"), "none where none are wanted")
    program.train(*program.TINY, "steps=1", cwd=cwd, run="classes")
    checks.that(not os.path.exists(f"{cwd}/classes/pictures"), "none of classes")


def adversaries(checks, cwd):
    """Pictures out of noise: compared with real ones as sets, of which the nearer is the better."""
    words = ["model=dcgan-s", "model.width=0.5", "data=glyphs", "data.limit=96", "data.test_limit=16", "batch=32",
             "threads=1", "run.log_every=1"]
    made = program.train(*words, "steps=6", "run.pictures=4", cwd=cwd)
    value = made["test_fd64"]
    checks.same(made["metric"], {"name": "fd64", "value": value, "best": made["best_fd64"], "better": "lower"}, "the metric")
    found = answer(checks, "eval", "run", cwd=cwd)
    checks.same((found["test_fd64"], found["test_loss"] > 0), (value, True), "eval makes the same pictures again")
    rows = answer(checks, "predict", "run", "count=0", cwd=cwd)["predictions"]
    checks.that(len(rows) == 16 and len({row["mean"] for row in rows}) == 16, "each picture has noise of its own")
    checks.that(all(abs(row["mean"]) < 1 and row["deviation"] > 0 for row in rows), f"{rows}")
    sheets = os.listdir(f"{cwd}/run/pictures")
    checks.same(sorted(sheets), ["step-00000003.png", "step-00000006.png"], "a sheet for each epoch")
    width, height, channels, pixels = program.read_png(f"{cwd}/run/pictures/{max(sheets)}")
    checks.same((width, height, channels), (2 + 4 * 34, 2 + 2 * 34, 3), "four real pictures over four made ones")
    many = ["data.test_limit=40", "run.pictures=40", "steps=1"]
    program.train(*(word for word in words if word != "data.test_limit=16"), *many, cwd=cwd, run="many")
    wide = program.read_png(f"{cwd}/many/pictures/step-00000001.png")
    checks.same(wide[:3], (2 + 20 * 34, 2 + 4 * 34 + 6, 3), "two pairs of rows where one is too wide")
    with open(f"{cwd}/many/report.html") as file:
        html = file.read()
    checks.that(f'<img width="{wide[0]}" style="min-width:{wide[0]}px"' in html, "shown as large as it is")
    with open(f"{cwd}/run/report.html") as file:
        html = file.read()
    checks.that(f'<img class="pixels" width="{2 * width}" style="min-width:{width}px"' in html, "small ones twice")
    start = (2 + 34) * width * 3
    first = [(y * width + 2 + x) * 3 + c + start for y in range(32) for x in range(32) for c in range(3)]
    mean = sum(pixels[at] for at in first) / len(first) / 127.5 - 1
    checks.that(abs(mean - rows[0]["mean"]) < 1 / 255, f"picture 0 has the mean {mean}, expected {rows[0]['mean']}")
    plan = answer(checks, "plan", *words[:3], cwd=cwd)
    parts = {network["name"]: network for network in plan["networks"]}
    checks.same(set(parts), {"disc", "gen"}, "networks")
    for key in ("parameters", "macs"):
        checks.same(sum(network[key] for network in parts.values()), plan[key], f"{key} of both")
    checks.same(plan["parameters"], made["parameters"], "plan and training")
    longer = program.train(*words, "steps=1", "model.latent=9", cwd=cwd, run="longer")
    narrow = program.train(*words, "steps=1", cwd=cwd, run="narrow")
    checks.same(narrow["parameters"] - longer["parameters"], (32 - 9) * 32 * 16, "numbers of the noise")
    slow = program.train(*words, "steps=1", "lr.turn_2=0.5", cwd=cwd, run="slow")
    checks.that(slow["weights_hash"] != narrow["weights_hash"], "a rate of the second turn")
    smooth = program.train(*words, "steps=1", "init=check", "task.smoothing=0.1", cwd=cwd, run="smooth")["losses"]
    plain = program.train(*words, "steps=1", "init=check", cwd=cwd, run="plain")["losses"]
    checks.that(smooth["disc"] != plain["disc"] and smooth["gen"] != plain["gen"], "another judge")
    table = answer(checks, "compare", "precision=fp32,hfp8", *words, "steps=2", "run.dir=c", cwd=cwd)
    checks.same(table["metric"], {"name": "fd64", "better": "lower"}, "metric of the rows")
    losses = [(float(row["turn_1_loss"]) + float(row["turn_2_loss"]), float.fromhex(row["loss"])) for row in program.rows(cwd, "plain")]
    checks.that(losses and all(a == b for a, b in losses), f"losses of the turns: {losses}")
    checks.same(losses[0][1], plain["disc"][0] + plain["gen"][0], "the loss of a step is the sum of its turns'")
    program.write_idx(f"{cwd}/data", count=40, side=28)
    small = answer(checks, "plan", "model=dcgan-s", "data=idx:data", "batch=8", cwd=cwd)
    checks.same(small["image"], [32, 32, 1], "28 pixels have a frame of 2")
    told = call(checks, "why", "run", "gen.ct1.weight.grad", cwd=cwd)
    checks.that("gen.ct1.weight.grad at step 5" in told, told)
    for words, text in ((["workers=2"], "found 2 workers with a model that learns in turns, 'disc' and 'gen'"),
                        (["task=classify"], "the task classify has no losses for them; expected task=gan"),
                        (["model.maps=3"], "model.maps: found a number, expected 0"),
                        (["data=contacts", "data.frame=0"], "found a head of shape [32, 32, 1], the task gan needs [28, 28, 1]"),
                        (["model=cnn-s", "task=gan"], "found one network, the task gan needs two"),
                        (["model.norm=off"], "model.norm: found off"),
                        (["loss=mse"], "expected one of 'adversarial'")):
        code, _, err = program.call("train", *program.TINY, "model=dcgan-s", *words, "steps=1", "run.dir=bad", cwd=cwd)
        checks.that(code == 2 and text in err, f"{words}: exit {code}, {err!r}")


def smoothing(checks, cwd):
    """A share of the loss of training is that of all classes, of all heads; tests count the class alone."""
    for model, loss in (("cnn-s", "nll"), ("cnn-s", "softmax_cross_entropy"), ("inception3-s", "nll")):
        words = [*program.TINY, f"model={model}", f"loss={loss}", "steps=1", "init=check"]
        first = {}
        for share in ("0", "0.2", "0.4"):
            run = f"{model}-{loss}-{share}"
            made = program.train(*words, "lr=0", f"task.smoothing={share}", "workers=2", cwd=cwd, run=run)
            first[share] = made["losses"][0]
            found = answer(checks, "eval", run, cwd=cwd)
            first[f"test {share}"] = found["test_loss"]
        checks.that(first["0"] != first["0.4"], f"{run}: the loss is smoothed")
        middle = (first["0"] + first["0.4"]) / 2
        checks.that(abs(first["0.2"] - middle) < 1e-6 * middle, f"{run}: the loss is linear in the share: {first}")
        checks.same({first["test 0.2"], first["test 0.4"]}, {first["test 0"]}, f"{run}: tests are not smoothed")
    words = [*program.TINY, "model=cnn-s", "steps=3", "task.smoothing=0.1"]
    whole = program.train(*words, "threads=1", "run.checkpoint_every=1", cwd=cwd, run="smooth-whole")
    checks.that(whole["weights_hash"] != program.train(*words[:-1], cwd=cwd, run="smooth-not")["weights_hash"], "it trains")
    for more in (["threads=3"], ["loss=nll", "storage=float32"], ["fuse=off"]):
        other = program.train(*words, *more, cwd=cwd, run=f"smooth-{more[0]}")
        checks.same(other["weights_hash"], whole["weights_hash"], f"{more}")
    program.copy_at(cwd, "smooth-whole", "smooth-2", 2)
    checks.same(program.resume("smooth-2", cwd=cwd)["weights_hash"], whole["weights_hash"], "resumed")
    for half in ("train", "test"):
        for c in ("a", "b"):
            program.write_png(f"{cwd}/large/{half}/{c}/0.png", 20, 20, 3, lambda x, y, k: (9 * x + 7 * y + 60 * k) % 256)
    for model, words, expected in (("inception-v3", [], 0.1), ("inception-v3", ["init=check"], 0), ("inception-v3", ["task.smoothing=0"], 0),
                                   ("alexnet-s", ["data.size=64"], 0)):
        run = "-".join(["usual", model, *words])
        program.train(f"model={model}", "data=folder:large", "data.size=299", "model.width=0.0625", "batch=2", "steps=1", "eval.every=0",
                      *words, cwd=cwd, run=run)
        with open(f"{cwd}/{run}/config.resolved.yaml") as file:
            found = [line.split()[1] for line in file if line.strip().startswith("smoothing:")]
        checks.same([float(text) for text in found], [expected], f"{run}: what the model is usually smoothed by")


def bad_input(checks, cwd):
    keys = [*program.TINY, "steps=1", "run.dir=bad"]
    cases = [(["task=segment", "model=cnn-s"], "needs a field 'mask', data glyphs has 'image'"),
             (["model=dense-s"], "task segment needs a field 'mask'"),
             (["data=ink:glyphs", "model=dense-s"], "found 3 channels, expected 1"),
             (["task=autoencode", "model=cnn-s"], "found a head of shape [3]"),
             (["task=classify", "model=autoencoder"], "the task classify needs [10]"),
             (["task=vae", "model=autoencoder"], "model 'autoencoder': found no code"),
             (["task=autoencode", "model=cvae-s"], "the task autoencode has no loss for it"),
             (["model=cvae-s", "loss=bce"], "does not fit the task vae, expected one of 'bce_sum'"),
             (["model=cnn-s", "task.beta=2"], "found key 'task.beta', which the task classify does not read"),
             (["model=autoencoder", "task.smoothing=0.1"],
              "found key 'task.smoothing', which the task autoencode does not read; expected task=classify, segment or gan"),
             (["model=cnn-s", "task.smoothing=0.6"], "task.smoothing"),
             (["model=cnn-s", "lr.turn_2=2"], "lr.turn_2: found 2 with a model that has no second turn, expected 1"),
             (["task=clasify"], "task: found 'clasify', expected one like 'classify'"),
             (["loss=nlll"], "loss: found 'nlll', expected one like 'nll'"),
             (["loss=mse"], "loss 'mse' does not fit the task classify, expected one of 'nll', "
                            "'softmax_cross_entropy'"),
             (["model=autoencoder", "loss=nll"], "does not fit the task autoencode, expected one "
                                                 "of 'mse', 'l1', 'bce'")]
    for words, text in cases:
        found, _, err = program.call("train", *keys, *words, cwd=cwd)
        checks.that(found == 2 and text in err, f"{words}: exit {found}, {err!r}")


program.main(results_stay, one_training, table_and_front, page, lower_is_better, search, demonstration,
             pixels, codes, adversaries, smoothing, pictures, bad_input)
