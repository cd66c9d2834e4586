"""`why` of runs that round more than tensors: accumulators, gradients between workers, state, scales of blocks."""
import json

import program
from program import call
from why_test import CNN, TINY, why


def adders(checks, cwd):
    """The accumulator is the first suspect of a product's output, whether its sums were counted or not."""
    run = [*CNN, *TINY, "data.limit=96", "seed=77", "steps=3"]
    small = "fmac:e2m2:bias=9"
    for name, words, tensor, kind, product, below in (
            ("counted", [f"fc.forward: {small}"], "fc.forward", "sums saturated", "fc.forward", 4),
            ("rounded", [f"conv2.forward: {small}"], "conv2.forward", "sums saturated", "conv2.forward", 10),
            ("nan", [f"conv2.weight_grad: {small}:ovf=nan"], "conv2.weight_grad", "sums saturated", "conv2.weight_grad",
             None),
            ("untold", [f"fc.forward: {small}"], "fc.product.out", "infinity", "fc.forward", 8),
            ("zero", ["conv2.input_grad: fmac:e4m3:bias=-20"], "relu1.out.grad", "zero", "conv2.input_grad", None)):
        more = {"rounded": ["precision=e5m2", "scaler=none"], "untold": ["accumulator.count_every=0"],
                "zero": ["accumulator.count_every=0"]}.get(name, [])
        _, _, err = call("train", *run, f"accumulator.rules={json.dumps(words)}", *more, f"run.dir={name}", cwd=cwd)
        found, (_, out, _) = why(cwd, name), call("why", name, cwd=cwd)
        death = found["death"]
        checks.same((death["tensor"], death["kind"], death["role"], death["accumulator"]["product"],
                     death["accumulator"]["accumulator"]),
                    (tensor, kind, "produced", product, words[0].split(": ")[1]), f"{name}: the accumulator")
        if below:  # largest powers of both factors, one binade more for each, log2 of the terms of a sum
            checks.same(death["accumulator"]["sums_below"], below, f"{name}: the bound of the sums")
            checks.that(f"its sums are below 2^{below}, which float32 holds; accumulators that reach there: " in out, out)
        checks.same((death["accumulator"]["sums"] is None, "which is the first suspect" in out),
                    ("count_every=0" in str(more),) * 2, f"{name}: {out}")
        checks.that("beyond float32, 2^128" not in out and "would have lost" not in out and
                    "float32 itself" not in out, f"{name}: float32 is not blamed: {out}")
        checks.same(found["advice"]["options"][0]["keys"][-1], "accumulator.rules=", f"{name}: advice")
        if kind != "zero":
            checks.that(f"summed in {small}" in err, f"{name}: the training says so: {err}")
    counted = why(cwd, "counted")["death"]["accumulator"]["sums"]
    with open(f"{cwd}/counted/numerics.jsonl") as file:
        row = next(line for line in map(json.loads, file) if "products" in line)["products"][0]
    checks.same([row[0], *row[2:]], ["fc.forward", *(counted[key] for key in (
        "values", "subnormal", "overflow", "terms", "stalled"))], "as the journal counted them")
    _, out, _ = call("why", "counted", cwd=cwd)
    checks.that(f"{100 * counted['overflow'] / counted['values']:.3g} % of its sums are too large for the accumulator "
                f"{small}; 320 of the 320 numbers of fc.product.out are infinite or NaN.\n" in out, out)


def all_clear(checks, cwd):
    """What is rounded beside the network's tensors is no float32: sums, gradients between workers, state, scales."""
    def said(run, *words):
        program.train(*CNN, *TINY, "data.limit=96", "seed=77", *words, cwd=cwd, run=run)
        return call("why", run, cwd=cwd)[1], why(cwd, run)
    guess = ["lr=1e-9", "lr.schedule=constant", "steps=4", "data.test_limit=300"]
    out, found = said("stalls", "steps=30", "accumulator.count_every=1", "accumulator.rules=['conv3.forward: fmac:e6m0']")
    share = 100 * found["sums"]["stalled"]["share"]
    checks.that(60 < share < 90 and found["sums"]["stalled"]["product"] == "conv3.forward", f"{found['sums']}")
    checks.that("Nothing is rounded" not in out and "other causes than formats" not in out, out)
    checks.that(found["death"] is None or found["death"]["kind"] == "sums stalled", f"{found['death']}")
    out, found = said("sums", "accumulator=fmac8:1/6/9", *guess)
    stalled = found["sums"]["stalled"]
    checks.that(f"  {stalled['product']} (fmac8:1/6/9/d): {100 * stalled['share']:.3g} % of the terms changed nothing "
                f"(step {stalled['step']}).\n" in out, f"{stalled}: {out}")
    checks.that("Rounded are: the sums of products (accumulator=).\n" in out and
                "the same training without it tells.\n" in out and "other causes" not in out, out)
    out, _ = said("uncounted", "accumulator=fmac8:1/6/9", "accumulator.count_every=0", *guess)
    checks.that("Sums of 11 products are made in accumulators of their own, which were not counted" in out, out)
    out, found = said("wire", "workers=2", "comm.format=e5m2", "scaling=aps", *guess)
    checks.that("Rounded are: gradients between workers (comm.format=).\nWhat workers send is scaled to the end of its "
                "format (scaling=aps).\n" in out and "Closest" not in out, out)
    checks.same((found["closest"]["wire_scaling"], found["closest"]["overflow_tensor"]), ("aps", None), "no fixed end")
    out, found = said("state", "optimizer=adam", "optimizer.state=['*.momentum: bf16']", *guess)
    checks.that("Rounded are: state of the optimizer (optimizer.state=).\nClosest to overflow: " in out, out)
    out, _ = said("scales", "precision=nvfp4", *guess)
    checks.that("a block of nvfp4 whose largest number is below 1/458752 of the tensor's\nbecomes zero." in out, out)
    out, found = said("blocks", "precision=mxfp4", *guess)
    most = found["closest"]["saturation"]
    checks.that(f"Lost most by saturation: {most['tensor']} (mxfp4), {100 * most['share']:.3g} % of its numbers in "
                in out and "Scales of blocks" not in out, f"{most}: {out}")


if __name__ == "__main__":
    program.main(adders, all_clear)
