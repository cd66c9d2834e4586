"""Scaled formats: threads, storage and a resume change no bit; they train where the plain format fails;
their bytes are real; what is not a scale or a block format is refused."""
import json
import os

import program

# As in bits_test: short chunks and a short batch.
SMALL = ["data=glyphs", "data.limit=88", "data.test_limit=24", "batch=48", "run.chunk=5",
         "run.log_every=1", "steps=5", "lr.warmup=0"]
PRECISIONS = ["mxfp8", "mxfp8e5m2", "mxfp6e3m2 rna", "mxfp6e2m3", "mxfp4 sr", "mxint8", "nvfp4",
              "nvfp4 sr", "e4m3fn:scale=current", "e4m3fn:scale=delayed3", "fp(4,3,4):scale=bias",
              "w=mxfp4,act=mxfp8,grad=mxfp8e5m2", "e3m2:scale=current sr",
              "w=e4m3fn:tile=128x128:scale=f32,act=e4m3fn:tile=1x128:scale=f32,"
              "grad=e4m3fn:tile=4x16:scale=pow2,wgrad=e5m2:tile=1x32:scale=bf16",
              "w=nvfp4:tile=16x16:4/6,act=nvfp4:hadamard=16,grad=nvfp4:hadamard=32 sr,wgrad=nvfp4:eden=16"]
KEPT = ("weights_hash", "skipped_steps", "train_loss", "test_accuracy", "low_precision_ratio",
        "overflow_share", "underflow_share")


def compare(checks, cwd, keys, variants):
    """All variants end in the bits of the first."""
    first = None
    for number, (threads, storage) in enumerate(variants):
        run = f"run{number}"
        made = program.train(*keys, f"threads={threads}", f"storage={storage}", cwd=cwd, run=run)
        with open(f"{cwd}/{run}/numerics.jsonl") as file:
            found = [made[key] for key in KEPT], program.rows(cwd, run), file.read()
        if first is None:
            first = made, found
        checks.that(found == first[1], f"{keys[0]} threads={threads} storage={storage}: "
                    f"{found[0]} instead of {first[1][0]}")
    return first[0]


def cnn(precision):
    def test(checks, cwd):
        made = compare(checks, cwd, [f"precision={precision}", "model=cnn-s", *SMALL],
                       [(1, "packed"), (1, "float32"), (2, "packed"), (3, "float32"), (7, "dense")])
        checks.same(made["skipped_steps"], 0, f"{precision}: skipped steps")
        # The mean of a ratio that is the same in all steps.
        checks.that(made["low_precision_ratio"] > 0.9, f"{precision}: all numbers have few bits")
    return test


def resnet(precision):
    """Values read twice: their gradients are summed and rounded again."""
    def test(checks, cwd):
        compare(checks, cwd, [f"precision={precision}", "model=resnet20", "model.width=0.25",
                              *SMALL[:3], "batch=24", "run.chunk=8", "run.log_every=1", "steps=3",
                              "optimizer.accumulate=2"],
                [(1, "packed"), (3, "float32"), (2, "dense")])
    return test


def overflow(precision):
    """Infinite gradients tell of themselves in every storage."""
    def test(checks, cwd):
        made = compare(checks, cwd, [f"precision={precision}", "scaler=dynamic", "scaler.init=1e38",
                                     "scaler.backoff=1e-6", "model=cnn-s", *SMALL, "batch=4",
                                     "run.chunk=1", "lr=10", "steps=8"],
                       [(1, "packed"), (2, "float32")])
        checks.that(0 < made["skipped_steps"] < 8,
                    f"{precision}: {made['skipped_steps']} skipped steps")
    return test


def without_masters(checks, cwd):
    for name, precision in (("a", "nvfp4"), ("b", "e4m3fn:scale=current sr"),
                            ("c", "e4m3fn:scale=delayed")):
        os.mkdir(f"{cwd}/{name}")
        compare(checks, f"{cwd}/{name}", [f"precision={precision}", "master=off", "optimizer=adam",
                                          "lr=0.002", "model=cnn-s", *SMALL],
                [(1, "packed"), (2, "float32")])


def history(checks, cwd):
    """The maxima of delayed scales are in the checkpoint; evaluation leaves them alone."""
    keys = ["model=cnn-s", "precision=e4m3fn:scale=delayed4", "data=glyphs", "data.limit=60",
            "data.test_limit=16", "batch=17", "threads=1", "run.chunk=8", "steps=14",
            "run.log_every=1", "run.checkpoint_every=1", "run.keep=40", "run.quiet=on",
            "optimizer.accumulate=2"]
    whole = program.train(*keys, cwd=cwd)
    seldom = program.train(*keys, "eval.every=0", cwd=cwd, run="seldom")
    checks.same(seldom["weights_hash"], whole["weights_hash"], "evaluations change no weight")
    for step in (1, 2, 3, 4, 5, 9, 13):
        program.copy_at(cwd, "run", f"from{step}", step)
        with open(program.checkpoints(cwd, f"from{step}")[step], "rb") as file:
            checks.that(b"scale.history" in file.read(), f"checkpoint {step} has the history")
        made = program.resume(f"from{step}", "threads=2", "storage=float32", cwd=cwd)
        for key in KEPT:
            checks.same(made[key], whole[key], f"resumed from step {step}: {key}")
        checks.that(program.rows(cwd, f"from{step}") == program.rows(cwd, "run"),
                    f"resumed from step {step}: rows of metrics.csv")
    program.copy_at(cwd, "run", "other", 5)
    made = program.resume("other", "precision=e4m3fn:scale=delayed5", cwd=cwd)
    checks.same(made["steps"], 14, "a history of another length is left behind")
    plain = program.train("model=cnn-s", *SMALL, "precision=mxfp8", cwd=cwd, run="plain")
    checks.same(plain["steps"], 5, "a run without delayed scales")
    with open(program.checkpoints(cwd, "plain")[5], "rb") as file:
        checks.that(b"scale.history" not in file.read(), "and without a history")


def learns(checks, cwd):
    """E4M3 everywhere: gradients vanish without a scale, and do not with one."""
    keys = ["model=cnn-s", "data=glyphs", "data.limit=2000", "data.test_limit=300", "batch=64",
            "steps=60", "threads=2", "lr.warmup=0", "run.quiet=on"]
    loss = {}
    for number, precision in enumerate(["e4m3fn:ovf=sat", "e4m3fn:scale=current",
                                        "e4m3fn:scale=delayed", "mxfp8", "mxint8", "fp32"]):
        made = program.train(*keys, f"precision={precision}", cwd=cwd, run=f"run{number}")
        loss[precision] = made["train_loss"]
    for precision in loss:
        if precision != "e4m3fn:ovf=sat":
            checks.that(loss[precision] < loss["e4m3fn:ovf=sat"] - 0.3, f"{precision} learns: {loss}")


def bytes_are_real(checks, cwd):
    keys = ["model=cnn-s", *SMALL[:-2], "steps=1", "threads=1",
            "recompute=off"]
    saved = {}
    for number, precision in enumerate(["fp16", "e4m3fn:scale=delayed", "mxfp8", "mxint8",
                                        "mxfp6e3m2", "nvfp4", "mxfp4"]):
        made = program.train(*keys, f"precision={precision}", cwd=cwd, run=f"run{number}")
        saved[precision] = made["ledger_bytes"]["saved"]
    order = ["mxfp4", "nvfp4", "mxfp6e3m2", "e4m3fn:scale=delayed", "mxfp8", "fp16"]
    sizes = [saved[precision] for precision in order]
    checks.that(sizes == sorted(sizes) and len(set(sizes)) == len(sizes), f"fewer bits: {saved}")
    checks.same(saved["mxint8"], saved["mxfp8"], "8-bit elements")
    names = {row[1] for row in first_row(cwd, "run5")}
    checks.same(names, {"nvfp4", "float32"}, "the format's name in numerics.jsonl")


def first_row(cwd, run):
    """The tensors of the first row of numerics.jsonl."""
    with open(f"{cwd}/{run}/numerics.jsonl") as file:
        lines = [json.loads(line) for line in file]
    return next(line["tensors"] for line in lines if "tensors" in line)


def rules(checks, cwd):
    words = ["precision=fp32", "precision.rules=[\"conv1.weight: mxfp6e3m2 sr\", "
             "\"*.grad: e5m2:scale=delayed8\", \"fc.out: e4m3fn:scale=2^-4\"]"]
    program.train("model=cnn-s", *SMALL[:-2], "steps=1", *words, "run.log_every=1", cwd=cwd)
    formats = {row[0]: row[1] for row in first_row(cwd, "run")}
    checks.same(formats.get("conv1.weight"), "mxfp6e3m2", f"a rule names a block format: {formats}")
    checks.same(formats.get("conv1.weight.grad"), "e5m2:ovf=sat:scale=delayed8", "and a scale")
    checks.that("bias=11" in formats.get("fc.out", ""), f"a fixed scale is a bias: {formats}")


def bad_names(checks, cwd):
    for text, code, words in [
            ("mxfp9", 2, ["mxfp9", "mxfp8"]),
            ("mxfp4:scale=current", 2, ["mxfp4", "their own", "blocks"]),
            ("e4m3fn:scale=later", 2, ["column 14", "later", "delayed"]),
            ("e4m3fn:scale=", 2, ["column 14", "current"]),
            ("e4m3fn:scale=delayed0", 2, ["delayed0", "1..1024"]),
            ("e4m3fn:scale=delayed9999", 2, ["1..1024"]),
            ("e4m3fn:scale=delayedx", 2, ["delayedx"]),
            ("e4m3fn:scale=2^", 2, ["2^"]),
            ("e4m3fn:scale=2^x", 2, ["2^x"]),
            ("e4m3fn:scale=2^200", 2, ["2^200", "bias"]),
            ("e4m3fn:scale=current:scale=bias", 2, ["twice"]),
            ("fp32:scale=current", 2, ["fp32"]),
            ("w=mxfp5", 2, ["mxfp5", "mxfp4"]),
            ("mxfp8 up", 2, ["up", "rne"])]:
        found, _, err = program.call("train", *program.TINY, "steps=1", f"precision={text}", cwd=cwd)
        checks.same(found, code, f"precision={text}: exit code ({err})")
        for word in words:
            checks.that(word in err, f"precision={text}: {word!r} in {err!r}")
    checks.same(os.listdir(cwd), [], "nothing is left behind")


program.main(bad_names, rules, bytes_are_real, *map(cnn, PRECISIONS),
             *map(resnet, ["nvfp4", "e4m3fn:scale=current", "e4m3fn:scale=delayed2 sr", "mxfp8"]),
             *map(overflow, ["mxfp8", "nvfp4", "e4m3fn:scale=current", "e4m3fn:scale=delayed"]),
             without_masters, history, learns)
