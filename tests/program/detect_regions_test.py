"""Networks that propose regions: the same bits in every way of running, one loss for parts and workers, metrics, what
is recorded of them, what they refuse."""
import json
import math
import os

import program

WORDS = ["model=faster-rcnn-s", "batch=4", "steps=3", "lr=0.01", "eval.every=0", "model.width=0.25", "run.chunk=3",
         "scaler.init=128"]
PRECISIONS = (["precision=fp32"], ["precision=fp16"], ["precision=1/6/9/d"], ["precision=hfp8"],
              ["precision=demote:0.6+promote"], ["precision=ldp:4-8"], ["precision=mxfp8"],
              ["precision=e4m3fn:scale=current", "model.norm=off"], ["precision=1/6/9", "model.norm=range"])
WAYS = (["threads=2"], ["storage=float32", "threads=5"], ["fuse=off", "recompute=off"], ["storage=dense", "threads=5"])


def trained(cwd, name, *words, **more):
    folder = os.path.join(cwd, "boxes")
    if not os.path.exists(folder):
        program.write_boxes(cwd)
    return program.train(f"data=boxes:{folder}", *WORDS, *words, cwd=cwd, run=name, **more)


def bits_are_equal(checks, cwd):
    for turn, precision in enumerate(PRECISIONS):
        plain = trained(cwd, f"{turn}", *precision, "optimizer.accumulate=2", "threads=1")
        checks.same(plain["task"], "detect-regions", "the task of the model")
        checks.that(math.isfinite(plain["train_loss"]), f"{precision}: {plain['train_loss']}")
        checks.same(plain["skipped_steps"], 0, f"{precision}: skipped steps")
        for way in (WAYS[turn % len(WAYS)], WAYS[(turn + 1) % len(WAYS)]):
            other = trained(cwd, f"{turn}-{way[0]}-{len(way)}", *precision, "optimizer.accumulate=2", *way)
            for key in ("weights_hash", "train_loss", "metric", "test_mean_ap_11"):
                checks.same(other[key], plain[key], f"{precision} {way}: {key}")


def check_runs_draw_by_a_formula(checks, cwd):
    """Not by the seed; each step draws other lots, also for the same weights and pictures."""
    words = ["init=check", "data.shuffle=off", "steps=4", "precision=fp32", "lr=0", "data.limit=4"]
    one, two = (trained(cwd, f"seed{n}", *words, f"seed={n}") for n in (1, 2))
    checks.same(one["losses"], two["losses"], "seeds")
    checks.same(len(set(one["losses"])), 4, f"the same batch in four steps: {one['losses']}")


def runs_go_on(checks, cwd):
    """Also in the middle of an epoch: ten pictures in batches of 4 are an epoch of 3 steps."""
    words = ["precision=hfp8", "threads=1", "eval.every=1", "steps=5"]
    whole = trained(cwd, "whole", *words, "run.checkpoint_every=1", "run.keep=9")
    for step in range(1, 5):
        program.copy_at(cwd, "whole", f"from{step}", step)
        rest = program.resume(f"from{step}", cwd=cwd)
        checks.same((rest["weights_hash"], rest["metric"]["value"]),
                    (whole["weights_hash"], whole["metric"]["value"]), f"resumed at {step}")


def one_loss_for_parts_and_workers(checks, cwd):
    """A mean over pictures, each with its own lots, whoever has it."""
    words = ["model.norm=off", "init=check", "steps=2", "lr=0.001", "data.shuffle=off", "threads=2"]
    one = trained(cwd, "one", *words)
    for more in (["optimizer.accumulate=2"], ["optimizer.accumulate=4"], ["workers=2"], ["workers=4"],
                 ["workers=2", "optimizer.accumulate=2"]):
        other = trained(cwd, "-".join(more), *words, *more)
        for step, (found, expected) in enumerate(zip(other["losses"], one["losses"])):
            checks.that(math.isclose(found, expected, rel_tol=1e-12 if step == 0 else 1e-6),
                        f"{more}, loss {step}: {found}, expected {expected}")
        checks.that(math.isclose(other["first_gradient_norm"], one["first_gradient_norm"], rel_tol=1e-6),
                    f"{more}: norm {other['first_gradient_norm']}, expected {one['first_gradient_norm']}")


def accumulators_and_instruction_sets_agree(checks, cwd):
    words = ["precision=1/6/9/d", "accumulator=fmac8:1/6/9/d", "steps=1"]
    one = trained(cwd, "one", *words, "threads=1")
    checks.same(trained(cwd, "two", *words, "threads=2", "run.chunk=2")["weights_hash"], one["weights_hash"], "fmac8")
    plain = trained(cwd, "native", "precision=fp16", "threads=1")
    for isa in ("scalar", "avx2"):
        other = trained(cwd, isa, "precision=fp16", "threads=1", env={**os.environ, "HALFULP_MAX_ISA": isa})
        checks.same((other["weights_hash"], other["metric"]), (plain["weights_hash"], plain["metric"]), isa)


def call(checks, cwd, *words):
    code, out, err = program.call(*words, cwd=cwd)
    checks.same(code, 0, f"{words}: {err}")
    return out


def it_is_told(checks, cwd):
    """It learns, says so, says the same again, and draws it; verbs that read a run understand regions."""
    made = trained(cwd, "run", "precision=fp16", "steps=300", "lr=0.02", "threads=2", "eval.every=100", "run.histogram_every=100")
    value = made["test_mean_ap"]
    checks.that(value > 0.1 and made["best_mean_ap"] >= value, f"mean ap {value}, best {made['best_mean_ap']}")
    found = json.loads(call(checks, cwd, "eval", "run", "--json"))
    checks.same((found["test_mean_ap"], found["test_mean_ap_11"]), (value, made["test_mean_ap_11"]), "eval")
    rows = json.loads(call(checks, cwd, "predict", "run", "count=0", "--json"))["predictions"]
    checks.same([row["boxes"] for row in rows], [1, 2, 1], "boxes of the test pictures")
    checks.that(sum(row["found"] for row in rows) > 0, f"some are found: {rows}")
    call(checks, cwd, "predict", "run", "count=2", "pictures=sheet.png")
    width, height, channels, pixels = program.read_png(f"{cwd}/sheet.png")
    checks.same((width, height, channels), (2 + 2 * 42, 2 + 2 * 34, 3), "extents of the sheet")
    below = [pixels[(y * width + x) * 3:(y * width + x) * 3 + 3] for y in range(36, height) for x in range(width)]
    checks.that(bytes((255, 153, 0)) in below or bytes((0, 204, 51)) in below, "something is drawn")
    call(checks, cwd, "stats", "run")
    out = call(checks, cwd, "why", "run", "pool.out")
    checks.that("pool.out at step" in out and "alive" in out, out)
    call(checks, cwd, "report", "run")
    out = call(checks, cwd, "plan", *WORDS[:1], f"data=boxes:{cwd}/boxes", "batch=2", "precision=hfp8")
    checks.that("rois" in out and "proposals" in out, out)
    with open(f"{cwd}/run/graph.json") as file:
        roles = {value["name"]: value["role"] for value in json.load(file)["values"]}
    checks.same((roles["rois.out"], roles["pool.out"]), ("fact", "activation"), "roles of values")


def why_finds_what_died(checks, cwd):
    """A format that loses gradients of the head is blamed on the head, not on the regions."""
    trained(cwd, "dying", "precision=w=fp32,act=fp32,grad=e4m3,wgrad=fp32", "run.histogram_every=1", "scaler=none")
    out = call(checks, cwd, "why", "dying")
    checks.that("rois" not in out, out)


def refused(checks, cwd, code, words, *keys):
    found, _, err = program.call("train", "batch=2", "steps=1", *keys, cwd=cwd)
    checks.same(found, code, f"{keys}: {err}")
    checks.that(words in err, f"{keys}: no '{words}' in: {err}")


def what_does_not_fit_is_refused(checks, cwd):
    data = f"data=boxes:{program.write_boxes(cwd)}"
    model = "model=faster-rcnn-s"
    refused(checks, cwd, 2, "the model proposes no regions; the task detect-regions needs one that does", data,
            "model=ssd-s", "task=detect-regions")
    refused(checks, cwd, 2, "the task detect has no loss for them, expected detect-regions", data, model, "task=detect")
    refused(checks, cwd, 2, "found pictures of 7 x 8 pixels, expected at least 8 x 8", data, model, "data.size=7")
    refused(checks, cwd, 2, "needs a field 'boxes'", model, "data=glyphs")
    refused(checks, cwd, 2, "does not fit the task detect-regions, expected one of 'faster_rcnn'", data, model,
            "loss=ssd")
    refused(checks, cwd, 2, "matches no tensor", data, model, "precision=fp16", "precision.rules=[rois.out: e5m2]")


program.main(bits_are_equal, check_runs_draw_by_a_formula, runs_go_on, one_loss_for_parts_and_workers,
             accumulators_and_instruction_sets_agree, it_is_told, why_finds_what_died, what_does_not_fit_is_refused)
