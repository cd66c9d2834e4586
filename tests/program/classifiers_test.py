"""The classifiers of the papers, small: every precision, and the same bits in every way of running."""
import program

WORDS = ["data=glyphs", "data.limit=24", "data.test_limit=8", "batch=8", "steps=2", "lr=0.01", "eval.every=0",
         "data.augment=none"]
MODELS = ("alexnet-s", "googlenet-s", "inception3-s", "preresnet50-s", "inception-v2-s")
PRECISIONS = (["precision=fp32"], ["precision=fp16"], ["precision=1/6/9/d"], ["precision=demote:0.6+promote"],
              ["precision=ldp:4-8"], ["precision=nvfp4"])
WAYS = (["threads=2"], ["storage=float32"], ["fuse=off", "recompute=off"], ["storage=dense", "threads=2"])


def trained(cwd, name, *words, **more):
    return program.train(*WORDS, *words, cwd=cwd, run=name, **more)


def bits_are_equal(checks, cwd):
    """Groups, uneven kernels, counted pools, local norms, several heads; the way of running is turned."""
    turn = 0
    for model in MODELS:
        for precision in PRECISIONS:
            words = [f"model={model}", *precision]
            plain = trained(cwd, f"{model}-{turn}", *words, "threads=1")
            way = WAYS[turn % len(WAYS)]
            other = trained(cwd, f"{model}-{turn}-way", *words, *way)
            checks.same(other["weights_hash"], plain["weights_hash"], f"{words} {way}")
            checks.same(other["train_loss"], plain["train_loss"], f"loss of {words} {way}")
            turn += 1


def instruction_sets_agree(checks, cwd):
    import os
    for model in MODELS:
        words = [f"model={model}", "precision=fp16", "threads=1", *program.FOR_SCALAR]
        plain = trained(cwd, f"{model}-native", *words)
        for isa in ("scalar", "avx2"):
            other = trained(cwd, f"{model}-{isa}", *words, env={**os.environ, "HALFULP_MAX_ISA": isa})
            checks.same(other["weights_hash"], plain["weights_hash"], f"{model}, {isa}")


def runs_go_on(checks, cwd):
    whole = trained(cwd, "whole", "model=googlenet-s", "precision=fp16", "threads=1", "steps=4")
    trained(cwd, "part", "model=googlenet-s", "precision=fp16", "threads=1")
    resumed = program.resume("part", "steps=4", cwd=cwd)
    checks.same(resumed["weights_hash"], whole["weights_hash"], "googlenet-s, resumed")


def accumulators_reach_groups(checks, cwd):
    words = ["model=alexnet-s", "precision=1/6/9/d", "accumulator=fmac8:1/6/9/d", "steps=1"]
    one = trained(cwd, "one", *words, "threads=1")
    two = trained(cwd, "two", *words, "threads=2", "run.chunk=3")
    checks.that(one["weights_hash"], "trained")
    checks.same(two["weights_hash"], trained(cwd, "three", *words, "threads=1", "run.chunk=3")["weights_hash"],
                "fmac8 in alexnet-s")


def dropout_is_asked_for(checks, cwd):
    words = ["model=alexnet-s", "threads=1"]
    own, none, half = (trained(cwd, name, *words, *more)["weights_hash"]
                       for name, more in (("own", []), ("none", ["model.dropout=0"]), ("half", ["model.dropout=0.5"])))
    checks.same(own, half, "alexnet-s has a half of its own")
    checks.that(none != own, "without dropout the training is another one")
    code, _, err = program.call("train", *WORDS, "model=resnet20", "model.dropout=0.5", cwd=cwd)
    checks.same(code, 2, "dropout of a model without")
    checks.that("this model has no dropout" in err, err)


def heads_are_losses(checks, cwd):
    """The further heads weigh 0.3 each in the loss, and the branches are groups of an assignment."""
    code, out, err = program.call("plan", "model=googlenet-s", "precision=demote:0.5", "batch=8", "--json", cwd=cwd)
    checks.same(code, 0, err)
    import json
    plan = json.loads(out)
    checks.same(plan["parameters"], 165976, "parameters of googlenet-s")
    checks.that(len(plan["groups"]) > 60, f"groups: {len(plan['groups'])}")
    checks.same(json.loads(program.call("plan", "model=inception3-s", "batch=8", "--json", cwd=cwd)[1])["macs"], 8224768,
                "macs of inception3-s")


def small_images_are_refused(checks, cwd):
    code, _, err = program.call("train", *WORDS, "model=alexnet", cwd=cwd)
    checks.same(code, 2, "exit code")
    checks.that("less than" in err and "alexnet" in err, err)


program.main(bits_are_equal, instruction_sets_agree, runs_go_on, accumulators_reach_groups, dropout_is_asked_for,
             heads_are_losses, small_images_are_refused)
