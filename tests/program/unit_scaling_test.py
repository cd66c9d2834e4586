"""Networks whose numbers are near 1: bits, starts, plans, what is told, beside which precisions, and errors."""
import json
import os

import program

CNN = ["model=cnn-s", "model.width=0.5", "data=glyphs"]
RESNET = ["model=resnet20", "model.width=0.25", "data=glyphs"]
LSTM = ["model=lstm-lm", "model.width=0.25", "data=text:text.txt", "data.test_limit=18"]
DEIT = ["model=deit-s", "model.layers=2", "data=glyphs", "optimizer=adamw", "lr=0.001"]
SHORT = ["data.limit=48", "data.test_limit=8", "batch=18", "run.chunk=5", "run.log_every=1", "steps=4", "lr.warmup=0",
         "lr.schedule=constant", "threads=1", "run.quiet=on"]
UNIT = "precision.scaling=unit"
OTHERS = (["threads=2", "storage=float32"], ["threads=3", "storage=dense"], ["run.fuse=off"],
          ["run.recompute=off", "threads=2"])


def train(*words, cwd, run, **more):
    code, out, err = program.call("train", *SHORT, *words, f"run.dir={run}", "--json", cwd=cwd, **more)
    return json.loads(out) if code == 0 else {"weights_hash": err}


def hash_of(*words, cwd, run, **more):
    return train(*words, cwd=cwd, run=run, **more)["weights_hash"]


def said(*words, cwd):
    """Both streams of a call that must succeed."""
    code, out, err = program.call(*words, cwd=cwd)
    if code != 0:
        raise AssertionError(f"{words}: exit {code}: {err}")
    return out + err


def near(checks, found, expected, message):
    checks.that(abs(found - expected) <= 1e-6 * expected, f"{message}: found {found}, expected {expected}")


def bits(checks, cwd):
    """Stored in 8 bits, parts of a batch, fused or not: the same bits; workers that add up in turn, too."""
    for number, words in enumerate((
            [*RESNET, "precision=unit-scaling"], [*DEIT, "precision=unit-scaling"],
            [*RESNET, "precision=e4m3fn", UNIT], [*DEIT, "precision=bf16", UNIT],
            [*RESNET, "precision=1/6/9", UNIT, "optimizer.accumulate=3"],
            [*CNN, "precision=w=e4m3,act=e4m3,grad=e5m2,wgrad=e5m2", UNIT, "master=off"],
            [*CNN, "precision=unit-scaling", "comm.workers=3", "comm.schedule=ring"])):
        first = hash_of(*words, cwd=cwd, run=f"first{number}")
        checks.same(len(first), 16, f"{words}: {first}")
        for other, more in enumerate(OTHERS):
            again = hash_of(*words, *more, cwd=cwd, run=f"other{number}-{other}")
            checks.same(again, first, f"{words} {more}: weights hash")


def instruction_sets(checks, cwd):
    for words in (RESNET, DEIT):
        hashes = {hash_of(*words, "precision=unit-scaling", cwd=cwd, run=f"{words[0]}-{isa}",
                          env={**os.environ, "HALFULP_MAX_ISA": isa}) for isa in ("scalar", "avx2", "avx512")}
        checks.same(len(hashes), 1, f"{words}: weights hashes {hashes}")


def resumed(checks, cwd):
    for words in (RESNET, DEIT):
        words = [*words, "precision=unit-scaling", "steps=6"]
        whole = hash_of(*words, cwd=cwd, run=f"whole-{words[0]}")
        hash_of(*words, "steps=3", cwd=cwd, run=f"part-{words[0]}")
        more = program.resume(f"part-{words[0]}", "steps=6", cwd=cwd)
        checks.same(more["weights_hash"], whole, f"{words}: resumed")


def plans(checks, cwd):
    """A plan tells the factors; its file brings them back."""
    _, out, _ = program.call("plan", *CNN, "precision=unit-scaling", "batch=18", "out=unit.yaml", "--json", cwd=cwd)
    plan = json.loads(out)
    layers = {layer["name"]: layer["factors"] for layer in plan["layers"]}
    near(checks, layers["conv1"]["output"], 27 ** -0.5, "conv1: factor")
    near(checks, layers["relu1"]["output"], 2 ** 0.5, "relu1: factor")
    near(checks, layers["fc"]["held"], 18 * 10 / 3, "the gradient of logits")
    weight = layers["conv2"]["parameters"]["conv2.weight"]
    pixels = 18 * 16 * 16
    near(checks, weight["gradient"], pixels ** -0.5, "conv2: factor of the weights' gradient")
    text = said("plan", *CNN, "precision=unit-scaling", cwd=cwd)
    checks.that("factor: what the output is multiplied by" in text, "the table has a legend")
    checks.that("factor" not in said("plan", *CNN, cwd=cwd), "no factors where there are none")
    first = hash_of(*CNN, "precision=unit-scaling", cwd=cwd, run="named")
    checks.same(hash_of(*CNN, "precision=unit.yaml", cwd=cwd, run="read"), first, "the plan file")
    resolved = os.path.join(cwd, "named", "plan.resolved.yaml")
    checks.same(hash_of(*CNN, f"precision={resolved}", cwd=cwd, run="again"), first, "the plan of a run")


def exported(checks, cwd):
    """Weights of a file go on where they were, and are told to belong to the factors."""
    hash_of(*CNN, "precision=unit-scaling", cwd=cwd, run="first")
    text = said("export", "first", "out=weights.safetensors", cwd=cwd)
    checks.that("weights of a network with fixed factors" in text, text)
    words = [*CNN, "precision=unit-scaling", "steps=1", "lr=0"]
    checks.same(hash_of(*words, "init=weights.safetensors", cwd=cwd, run="again"),
                hash_of(*words, "init=first", cwd=cwd, run="other"), "weights of a file and of a run")


def phases(checks, cwd):
    """Formats may change by epoch, the network may not."""
    words = [*CNN, "data.limit=36", "epochs=2", "steps=4", "precision=0: unit-scaling, 1: fp32"]
    first = hash_of(*words, UNIT, cwd=cwd, run="first")
    checks.same(len(first), 16, f"two phases: {first}")
    checks.same(hash_of(*words, UNIT, "threads=2", cwd=cwd, run="again"), first, "two phases: threads")


def scaler(checks, cwd):
    """Gradients near 1 need no loss scaling, whatever the precision would have."""
    checks.that("loss scaling none" not in said("train", *SHORT, *CNN, "precision=hfp8", cwd=cwd), "hfp8 alone")
    checks.that("loss scaling none" in said("train", *SHORT, *CNN, "precision=hfp8", UNIT, cwd=cwd), "and with it")


def told(checks, cwd):
    code, _, err = program.call("plan", "model=alexnet", "precision=unit-scaling", cwd=cwd)
    checks.that(code == 0 and "unit scaling has no rule for local_norm: they stay as they are" in err, err)
    code, _, err = program.call("plan", *RESNET, "precision=unit-scaling", cwd=cwd)
    checks.that(code == 0 and "no rule" not in err, err)


REFUSED = (
    (["model=cnn-s", "precision.scaling=units"], "expected one of: auto none unit"),
    (["model=cnn-s", "precision=unit-scalin"], "nearest: 'unit-scaling'"),
    (["model=cnn-s", "precision=ldp:3-8", UNIT], "which learns bits"),
    (["model=cnn-s", "precision=0: unit-scaling, 1: fp32"], "the network would be another one"),
    (["model=dcgan", "precision=unit-scaling"], "found networks that learn in turns"),
)


def refused(checks, cwd):
    for words, says in REFUSED:
        code, _, err = program.call("plan", *words, cwd=cwd)
        checks.that(code == 2 and says in err, f"{words}: exit {code}: {err}")


def loops(checks, cwd):
    """Recurrent layers stay as they are, and what is around them is scaled."""
    with open(os.path.join(cwd, "text.txt"), "w", encoding="utf-8") as file:
        file.write("the cat sat on the mat and the dog sat on the log .\n" * 200)
    words = [*LSTM, "precision=unit-scaling"]
    first = hash_of(*words, cwd=cwd, run="first")
    checks.same(len(first), 16, f"{words}: {first}")
    for number, more in enumerate(OTHERS):
        checks.same(hash_of(*words, *more, cwd=cwd, run=f"other{number}"), first, f"{words} {more}: weights hash")
    text = said("plan", *LSTM, "batch=18", "precision=unit-scaling", cwd=cwd)
    checks.that("unit scaling has no rule for recurrent layers: they stay as they are" in text, text)
    checks.that("no rule" not in said("plan", *LSTM, "batch=18", cwd=cwd), "nothing is said without it")


program.main(bits, instruction_sets, resumed, plans, exported, phases, scaler, told, loops, refused)
