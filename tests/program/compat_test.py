"""precision.compat=lee: a step whose only infinities a rectifier masks is not skipped, as in the released
code of Lee et al.; threads, storage and a resume change no bit; it is refused where it says nothing."""
import itertools
import json

import program

SMALL = ["model=cnn-s", "model.width=0.25", "data=glyphs", "data.limit=96", "data.test_limit=16",
         "batch=32", "run.log_every=1"]
# One gradient alone is rounded, that of relu1's output: above 122,880 it is infinite.
MASKED = [*SMALL, "threads=1", "steps=1", "precision=fp32", "precision.rounding=rna",
          "precision.rules=relu1.out.grad: fp(5,2,0)", "scaler=constant"]
LEE = "precision.compat=lee"
numbers = itertools.count()


def skips(cwd, seed, scale, *words):
    made = program.train(*MASKED, f"seed={seed}", f"scaler.init={scale!r}", *words, cwd=cwd,
                         run=f"masked{next(numbers)}")
    return made["skipped_steps"]


def masked(checks, cwd):
    """The loss scale brings the one largest gradient just beyond the format: with the first two seeds it
    stands where relu1 masks, with the third it does not."""
    for seed, binade, skipped in ((1, 27.6953125, 0), (2, 26.9609375, 0), (3, 27.09375, 1)):
        scale = 2 ** binade
        checks.same(skips(cwd, seed, scale * 0.98), 0, f"seed {seed}: nothing overflows")
        checks.same(skips(cwd, seed, scale), 1, f"seed {seed}: the infinity ends the step")
        checks.same(skips(cwd, seed, scale, LEE), skipped, f"seed {seed}: {LEE}")
        checks.same(skips(cwd, seed, scale, LEE, "storage=float32"), skipped,
                    f"seed {seed}: {LEE} storage=float32")
        checks.same(skips(cwd, seed, 64 * scale, LEE), 1, f"seed {seed}: many overflow")


def bits(checks, cwd):
    plan = [*SMALL, "steps=4", "scaler=dynamic", "scaler.init=8388608", "run.checkpoint_every=1",
            "run.keep=9"]
    words = [*plan, "precision=hfp8"]
    whole = program.train(*words, LEE, "threads=1", cwd=cwd)
    checks.that(0 < whole["skipped_steps"] < 4, f"{whole['skipped_steps']} steps skipped")
    for more in (["threads=2"], ["storage=float32", "threads=2"], ["storage=dense", "threads=1"],
                 ["precision.compat=none", "precision=w=fp(4,3,4):nan=ovf,act=fp(4,3,4):nan=ovf,"
                  "grad=fp(5,2,0):nan=ovf,wgrad=fp(6,9,0):nan=ovf", "precision.rounding=rna"]):
        made = program.train(*words, LEE, *more, cwd=cwd, run=f"other{next(numbers)}")
        checks.same(made["weights_hash"], whole["weights_hash"], f"{LEE} {more}")
    program.copy_at(cwd, "run", "from2", 2)
    made = program.resume("from2", "threads=2", cwd=cwd)
    checks.same(made["weights_hash"], whole["weights_hash"], "resumed from step 2")
    with open(f"{cwd}/run/plan.resolved.yaml") as file:
        resolved = file.read()
    checks.that("fp(5,2,0):ovf=inf:nan=ovf rna" in resolved, f"resolved plan: {resolved[:600]}")
    made = program.train(*plan, "precision=run/plan.resolved.yaml", "threads=1", cwd=cwd,
                         run="planned")
    checks.same(made["weights_hash"], whole["weights_hash"], "trained with the resolved plan")


def errors(checks, cwd):
    for words, expected in (
            (["precision=fp16"], "found lee with precision 'fp16', expected a format whose codes"),
            (["precision=static:8"], "found lee with precision 'static:8'"),
            (["precision=e5m2:nan=ovf", "precision.compat=none"], "nan=ovf with specials ieee"),
            (["precision=hfp8", "precision.compat=cpd"], "one of: none lee"),
            (["precision=hfp8", "accumulator=mac:fp(4,3,4):nan=ovf"], "whose NaN stays")):
        code, _, err = program.call("train", *SMALL, LEE, *words, "steps=1", cwd=cwd)
        checks.same(code, 2, f"{words}: exit code")
        checks.that(expected in err, f"{words}: {err}")


def nearest(checks, cwd):
    """Formats without subnormals, in the two readings: two trainings, each the same in every storage."""
    words = [*SMALL, "precision=1/4/3/n:sub=nearest", "scaler=none", "steps=3",
             "accumulator=fmac8:1/6/9/n:sub=nearest"]
    first = program.train(*words, "threads=1", cwd=cwd)["weights_hash"]
    made = program.train(*words, "threads=2", "storage=float32", cwd=cwd, run="carriers")
    checks.same(made["weights_hash"], first, "sub=nearest, storage=float32")
    made = program.train(*words, "precision=1/4/3/n", "threads=1", cwd=cwd, run="flushed")
    checks.that(made["weights_hash"] != first, "flushed numbers train otherwise")
    code, out, _ = program.call("fmt", "1/6/9/n:sub=nearest", "--json", cwd=cwd)
    shown = json.loads(out)
    checks.same((code, shown["name"], shown["sub"], shown["underflow_threshold"]),
                (0, "e6m9:sub=nearest", "nearest", 2.0 ** -31), "fmt")


def beside_float32(checks, cwd):
    """Rows of a comparison share their keys: float32, which nothing is rounded in, may stand there."""
    code, _, err = program.call("compare", "precision=fp32,hfp8", *SMALL, LEE, "steps=1", "seeds=1",
                                "run.dir=beside", cwd=cwd)
    checks.same(code, 0, f"compare with fp32: {err}")


program.main(masked, bits, errors, nearest, beside_float32)
