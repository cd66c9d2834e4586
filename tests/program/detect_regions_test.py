"""Networks that propose regions: the same bits in every way of running, one loss for parts and workers, metrics, what
is recorded of them, what they refuse."""
import json

import boxed
import program
from boxed import refused

WORDS = ["model=faster-rcnn-s", "batch=4", "steps=3", "lr=0.01", "eval.every=0", "model.width=0.25", "run.chunk=3",
         "scaler.init=128"]
PRECISIONS = (["precision=fp32"], ["precision=fp16"], ["precision=1/6/9/d"], ["precision=hfp8"],
              ["precision=demote:0.6+promote"], ["precision=ldp:4-8"], ["precision=mxfp8"],
              ["precision=e4m3fn:scale=current", "model.norm=off"], ["precision=1/6/9", "model.norm=range"])
WAYS = (["threads=2"], ["storage=float32", "threads=5"], ["fuse=off", "recompute=off"], ["storage=dense", "threads=5"])
TRAINING = boxed.Training(WORDS, "detect-regions", PRECISIONS, WAYS)
trained = TRAINING.trained


def one_loss_for_parts_and_workers(checks, cwd):
    """A mean over pictures, each with its own lots, whoever has it."""
    TRAINING.one_loss_for_parts_and_workers(checks, cwd)


def check_runs_draw_by_a_formula(checks, cwd):
    """Not by the seed; each step draws other lots, also for the same weights and pictures."""
    words = ["init=check", "data.shuffle=off", "steps=4", "precision=fp32", "lr=0", "data.limit=4"]
    one, two = (trained(cwd, f"seed{n}", *words, f"seed={n}") for n in (1, 2))
    checks.same(one["losses"], two["losses"], "seeds")
    checks.same(len(set(one["losses"])), 4, f"the same batch in four steps: {one['losses']}")


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


def what_does_not_fit_is_refused(checks, cwd):
    data = f"data=boxes:{program.write_boxes(cwd)}"
    model = "model=faster-rcnn-s"
    refused(checks, cwd, 2, "the model proposes no regions; the task detect-regions needs one that does", data,
            "model=ssd-s", "task=detect-regions")
    refused(checks, cwd, 2, "the task detect has no loss for them, expected detect-regions", data, model, "task=detect")
    refused(checks, cwd, 2, "found pictures of 15 x 18 pixels, expected at least 16 x 16", data, model, "data.size=15")
    refused(checks, cwd, 2, "needs a field 'boxes'", model, "data=glyphs")
    refused(checks, cwd, 2, "does not fit the task detect-regions, expected one of 'faster_rcnn'", data, model,
            "loss=ssd")
    refused(checks, cwd, 2, "matches no tensor", data, model, "precision=fp16", "precision.rules=[rois.out: e5m2]")


program.main(TRAINING.bits_are_equal, check_runs_draw_by_a_formula, TRAINING.runs_go_on, one_loss_for_parts_and_workers,
             TRAINING.accumulators_reach_every_product, TRAINING.instruction_sets_agree, it_is_told, why_finds_what_died,
             what_does_not_fit_is_refused)
