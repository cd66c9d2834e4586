"""Products with a chosen accumulator: training, rules, counts, bits and errors."""
import json
import os
import re

import program

SMALL = ["model=cnn-s", "model.width=0.25", "data=glyphs", "data.limit=56", "data.test_limit=8",
         "batch=24", "run.chunk=5", "run.log_every=1", "steps=4", "lr.warmup=0",
         "precision=1/6/9", "threads=1", "run.quiet=on"]
FMAC8 = "accumulator=fmac8:1/6/9"
LAYERS = ["conv1", "conv2", "conv3", "fc"]
PRODUCTS = ["forward", "input_grad", "weight_grad"]


def numerics(cwd, run="run"):
    with open(f"{cwd}/{run}/numerics.jsonl") as file:
        return {row["step"]: row for row in map(json.loads, file)}


def text(cwd, name):
    with open(f"{cwd}/{name}") as file:
        return file.read()


def bits(checks, cwd):
    """Neither threads nor storage change a bit; the accumulator does."""
    first = program.train(*SMALL, FMAC8, cwd=cwd, run="first")
    for number, words in enumerate((["threads=2", "storage=float32"],
                                    ["threads=3", "storage=dense"], ["threads=7"])):
        made = program.train(*SMALL, FMAC8, *words, cwd=cwd, run=f"run{number}")
        checks.same(made["weights_hash"], first["weights_hash"], f"{words}: weights hash")
        checks.that(program.rows(cwd, f"run{number}") == program.rows(cwd, "first"),
                    f"{words}: rows of metrics.csv")
        checks.that(text(cwd, f"run{number}/numerics.jsonl") == text(cwd, "first/numerics.jsonl"),
                    f"{words}: lines of numerics.jsonl")
    hashes = {first["weights_hash"]}
    for number, words in enumerate(([], ["accumulator=fmacs"], [FMAC8, "accumulator.rules=fc: fp32"],
                                    ["accumulator=kahan:1/6/9"])):
        hashes.add(program.train(*SMALL, *words, cwd=cwd, run=f"other{number}")["weights_hash"])
    checks.same(len(hashes), 5, "accumulators that give bits of their own")


def instruction_sets(checks, cwd):
    """Where every product has an accumulator, no bit is left to oneDNN: all instruction sets agree."""
    for precision, accumulator in (("nvfp4", "fmac8:1/6/9"), ("fp32", "fmacs"),
                                   ("e4m3fn:scale=delayed", "kahan:fp16")):
        hashes = set()
        for isa in ("scalar", "avx2", "avx512"):
            code, out, err = program.call("train", *SMALL, f"precision={precision}",
                                          f"accumulator={accumulator}", f"run.dir={precision[:2]}-{isa}", "--json",
                                          cwd=cwd, env={**os.environ, "HALFULP_MAX_ISA": isa})
            if checks.same(code, 0, f"{accumulator} on {isa}: exit code ({err})"):
                hashes.add(json.loads(out)["weights_hash"])
        checks.same(len(hashes), 1, f"{precision} {accumulator}: weights hashes {hashes}")


def counts(checks, cwd):
    """Step 0 and every third count the accumulators of the products that have one."""
    program.train(*SMALL, FMAC8, "accumulator.count_every=3", "run.log_every=2",
                  "accumulator.rules=[fc: fp32, 'conv2.weight_grad: fmacs']", cwd=cwd)
    lines = numerics(cwd)
    checks.same(sorted(lines), [0, 2, 3], "steps with a line")
    checks.same([step for step in lines if "products" in lines[step]], [0, 3], "counted steps")
    rows = {row[0]: row[1:] for row in lines[0]["products"]}
    expected = [f"{layer}.{product}" for layer in LAYERS[:3] for product in PRODUCTS
                if f"{layer}.{product}" != "conv1.input_grad"]
    checks.same(list(rows), expected, "counted products")
    for name, (accumulator, values, subnormal, overflow, terms, stalled) in rows.items():
        layer = name.split(".")[0]
        usual = "fmacs" if name == "conv2.weight_grad" else "fmac8:1/6/9/d"
        checks.same(accumulator, usual, f"{name}: accumulator")
        checks.same(values, rows[f"{layer}.forward"][1], f"{name}: as many values as forward")
        checks.that(0 <= subnormal < values and overflow == 0, f"{name}: {subnormal}, {overflow}")
        checks.that(0 < terms <= values or accumulator == "fmacs", f"{name}: {terms} terms of {values}")
        checks.that(0 <= stalled <= terms / 2, f"{name}: {stalled} of {terms} terms stalled")
    checks.same(rows["conv1.forward"][1], 24 * 32 * 32 * 9 * 3 * 4, "conv1.forward: values")
    checks.that(rows["conv2.input_grad"][2] > 0, "gradients meet subnormal accumulators")
    code, out, err = program.call("stats", "run", "--json", cwd=cwd)
    if checks.same(code, 0, f"stats: exit code ({err})"):
        table = json.loads(out)["formats"][0]
        shares = {row["layer"]: row["accumulators"] for row in table["layers"]}
        checks.same(shares["fc"], None, "stats: a layer without a chosen accumulator")
        checks.same(table["most"]["accumulators"],
                    max(share for share in shares.values() if share is not None), "stats: most")
    program.train(*SMALL, FMAC8, "accumulator.count_every=0", cwd=cwd, run="never")
    checks.that("products" not in text(cwd, "never/numerics.jsonl"), "0 counts never")


def repeated(checks, cwd):
    """The resolved configuration repeats the run; a resumed run ends in the same bits."""
    words = [*SMALL, FMAC8, "accumulator.semantics=f32fma", "optimizer.accumulate=2",
             "accumulator.rules=[conv1: fp32, '*.weight_grad: fmac4:1/6/9/n']",
             "run.checkpoint_every=1", "run.keep=9"]
    whole = program.train(*words, cwd=cwd)
    again = program.train("config=run/config.resolved.yaml", cwd=cwd, run="again")
    checks.same(again["weights_hash"], whole["weights_hash"], "from config.resolved.yaml")
    resolved = text(cwd, "run/config.resolved.yaml")
    for word in ("fmac8:1/6/9", "f32fma", "conv1: fp32", "*.weight_grad: fmac4:1/6/9/n"):
        checks.that(word in resolved, f"config.resolved.yaml: {word}")
    for step in (1, 3):
        program.copy_at(cwd, "run", f"from{step}", step)
        made = program.resume(f"from{step}", "threads=2", cwd=cwd)
        checks.same(made["weights_hash"], whole["weights_hash"], f"resumed from step {step}")
        checks.that(text(cwd, f"from{step}/numerics.jsonl") == text(cwd, "run/numerics.jsonl"),
                    f"resumed from step {step}: numerics.jsonl")


def overflow(checks, cwd):
    """An accumulator that overflows is named as other overflows are, or skips the step."""
    words = [*SMALL, "precision=fp32", "run.dir=forward"]
    code, _, err = program.call("train", *words, "accumulator=fmac8:e4m3:bias=16", cwd=cwd)
    checks.same(code, 4, "overflow in the forward pass: exit code")
    checks.that("conv1.out" in err, f"overflow in the forward pass: {err}")
    made = program.train(*SMALL, "precision=fp32", "scaler=dynamic", "scaler.init=1e11",
                         "scaler.backoff=0.001", "accumulator.rules=conv*grad: fmac8:fp16", cwd=cwd)
    checks.that(0 < made["skipped_steps"] < 4, f"{made['skipped_steps']} skipped steps")
    first = json.loads(text(cwd, "run/metrics.jsonl").splitlines()[0])
    checks.that(".grad" in first["culprit"], f"culprit {first['culprit']}")
    checks.that(any(row[4] > 0 for row in numerics(cwd)[0]["products"]), "counted overflows")
    # Sums behind an overflow: infinite, or NaN from the next term on as in CPD.
    nans = {}
    for semantics in ("f32fma", "cpd"):
        code, _, err = program.call("train", *SMALL, "precision=fp32", f"run.dir={semantics}",
                                    "accumulator.rules=conv1.forward: kahan-cpd:e4m3:bias=16",
                                    f"accumulator.semantics={semantics}", cwd=cwd)
        checks.same(code, 4, f"{semantics}: exit code")
        nans[semantics] = int(re.search(r"(\d+) NaNs", err)[1])
    checks.that(nans["cpd"] > 2 * nans["f32fma"], f"NaNs in Kahan's sums: {nans}")


def spellings(checks, cwd):
    """Names are read in any case, fp32 like the others."""
    plain = program.train(*SMALL, cwd=cwd, run="plain")["weights_hash"]
    upper = program.train(*SMALL, "accumulator=FP32", cwd=cwd, run="upper")["weights_hash"]
    checks.same(upper, plain, "FP32 is fp32")
    chosen = program.train(*SMALL, FMAC8, cwd=cwd, run="chosen")["weights_hash"]
    upper = program.train(*SMALL, "accumulator=FMAC8:1/6/9", cwd=cwd, run="FMAC")["weights_hash"]
    checks.same(upper, chosen, "FMAC8 is fmac8")


def errors(checks, cwd):
    for words, expected in ((["accumulator=fmak8:1/6/9"], "'fmac8'"),
                            (["accumulator=fmac8:1/6/9x"], "1/6/9x"),
                            (["accumulator=fmac0:1/6/9"], "fmac0"),
                            (["accumulator=fp16"], "neither fp32 nor an accumulator"),
                            (["accumulator=mac:nvfp4"], "found the block format 'nvfp4'"),
                            (["accumulator.rules=convv1: fmacs"], "'conv1'"),
                            (["accumulator.rules=conv1"], "LAYER: ACCUMULATOR"),
                            (["accumulator.rules=conv1: fmak"], "rule 'conv1: fmak'"),
                            (["accumulator.semantics=exct"], "exact f32fma cpd")):
        code, _, err = program.call("train", *SMALL, *words, cwd=cwd)
        checks.same(code, 2, f"{words}: exit code")
        checks.that(expected in err, f"{words}: {err}")


def bench(checks, cwd):
    """The reference is plain float32, whatever the accumulators."""
    code, out, err = program.call("bench", "kernel=step", "model=cnn-s", "model.width=0.1",
                                  "batch=4", "threads=1", FMAC8, "accumulator.rules=fc: fmacs",
                                  "--json", cwd=cwd)
    if checks.same(code, 0, f"bench: exit code ({err})"):
        rows = json.loads(out)["rows"]
        checks.same([row["accumulator"] for row in rows], ["fp32", "fmac8:1/6/9"], "bench: rows")


program.main(bits, instruction_sets, counts, repeated, overflow, spellings, errors, bench)
