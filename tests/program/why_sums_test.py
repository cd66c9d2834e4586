"""`why` of runs that round more than tensors: accumulators, gradients between workers, state, scales of blocks."""
import json
import re
import shutil

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


# words: of the measure; hurt: whether numbers died
TROUBLE = {
    "lost": (["precision=e5m1"], ["tensors_lost"], False),
    "gone": (["precision=e4m3fn", "scaler=none"], ["tensors_lost", "tensors_gone"], True),
    "sums": (["precision=hfp8", "accumulator=fmac:e4m3", "accumulator.count_every=8"], ["sums_failed"], True),
    "none": ([], [], False),
}


def words_of(lost, gone, sums):
    text = f"{lost} tensor{'s lost half of their' if lost > 1 else ' lost half of its'} nonzero numbers or more" if lost else ""
    text += f", {gone} behind {'them' if lost > 1 else 'it'} {'are' if gone > 1 else 'is'} all zero" if gone else ""
    text += "; " if text and sums else ""
    return text + (f"sums of {sums} product{'s' if sums > 1 else ''} overflowed, vanished or stopped growing in their "
                   f"accumulator{'s' if sums > 1 else ''}" if sums else "")


def one_measure(checks, cwd):
    """What a training says while it runs and at its end, the first sentence of why and the report's box are one count."""
    for name, (keys, kinds, hurt) in TROUBLE.items():
        words = [*CNN, "data=glyphs", "data.limit=300", "data.test_limit=300", "batch=32", "threads=1", "steps=40", *keys,
                 f"run.dir={name}", "quiet=off"]
        code, said, err = call("train", *words, cwd=cwd)
        (_, out, _), found = call("why", name, cwd=cwd), why(cwd, name)
        counts = found["trouble"]
        checks.same((code, [kind for kind, count in counts.items() if count]), (0, kinds), f"{name}: {counts}")
        with open(f"{cwd}/{name}/progress.jsonl") as file:
            epochs = [row for row in map(json.loads, file) if row["event"] == "epoch"]
        checks.same({kind: epochs[-1][kind] for kind in counts}, counts, f"{name}: the last epoch's line and why")
        tensors, text = counts["tensors_lost"] + counts["tensors_gone"], words_of(*counts.values())
        collapsed = "collapsed" in found  # which the box tells instead, and which leads to why, too
        checks.same((f"note: {text}; `halfulp why {name}`\n" in err, f"next: halfulp why {name}\n" in said, "note: " in err),
                    (bool(text), bool(text) or collapsed, bool(text)), f"{name}: the end of the training: {err} {said}")
        checks.that(not collapsed or name in ("gone", "sums"), f"{name} learns")
        checks.that(not tensors or re.search(f"  {tensors} tensors?( and the sums of . products?)? in trouble", err), err)
        checks.that(not counts["sums_failed"] or "product" in err, err)
        checks.same(found["verdict"], "hurt" if hurt else "fine", f"{name}: the verdict")
        first = (f"{name} went on to step 39, but numbers died on the way: {text}." if hurt else
                 f"{name}: up to step 39, {text}, but nothing died." if text else f"{name}: nothing died up to step 39.")
        checks.that(out.startswith(first), f"{name}: {first} in {out}")
        with open(f"{cwd}/{name}/report.html") as file:
            page = file.read()
        box = f"{text[:1].upper()}{text[1:]}. `halfulp why {name}` says whether"
        checks.same(f"This run lost numbers to rounding.</strong> {box}" in page, bool(text) and not collapsed, f"{name}: the report's box")
    with open(f"{cwd}/lost/numerics.jsonl") as file:
        lines = [json.loads(line) for line in file]
    lost, out = {}, call("why", "lost", cwd=cwd)[1]
    for tensor, kind, steps, last, count, of in (held for line in lines for held in line.get("held", [])):
        if kind == "underflow":
            one = lost.setdefault(tensor, [0, 0, 0, 0])
            one[:] = [one[0] + steps, last, one[2] + count, one[3] + of]
    for tensor, (steps, last, count, of) in sorted(lost.items(), key=lambda one: one[1][2] / one[1][3])[-3:]:
        lasted = f"in {steps} steps up to {last}" if steps > 1 else "in one step"
        checks.that(re.search(rf"  step \d+ +{re.escape(tensor)} +e5m1 +{100 * count / of:.3g} % of its nonzero numbers {lasted}\n",
                              out), f"{tensor}, {lasted}: {out}")
    most = why(cwd, "lost")["closest"]
    rows = [row for line in lines for row in line.get("tensors", []) if row[0] == most["underflow_tensor"]]
    share = sum(row[4] for row in rows) / sum(row[2] - (row[6] - row[4]) - row[7] for row in rows)
    checks.that(f"its worst {most['underflow_steps']} steps, up to {most['underflow_step']}; {100 * share:.3g} % over all "
                "40 steps that counted it.\n" in out or
                f"its worst step, {most['underflow_step']}; {100 * share:.3g} % over all 40 steps" in out, f"{share}: {out}")
    code, said, err = call("train", *CNN, "data=glyphs", "data.limit=300", "data.test_limit=300", "batch=32", "threads=1",
                           "steps=60", "precision.rules=['bn1.out: e2m3:bias=5:ovf=sat']", "run.dir=saturated", cwd=cwd)
    found = why(cwd, "saturated")
    checks.same((code, found["verdict"], found["death"]["kind"], any(found["trouble"].values()), "collapsed" in found),
                (0, "hurt", "saturation", False, False), f"what is no loss to zero: {err}")
    checks.that("note: bn1.out: saturation, from step 0 on; `halfulp why saturated`\n" in err and
                "next: halfulp why saturated\n" in said, f"leads to why, too: {said} {err}")
    for copy in range(2, 5):
        shutil.copytree(f"{cwd}/lost", f"{cwd}/lost{copy}")
    call("report", "lost", *(f"lost{copy}" for copy in range(2, 5)), "out=four.html", cwd=cwd)
    with open(f"{cwd}/four.html") as file:
        page = file.read()
    checks.same((page.count('class="alarm"'), "1 more run lost numbers to rounding: see what rounding lost." in page), (3, True),
                "of several runs the first three")
    code, said, err = call("resume", "sums", "steps=42", "accumulator.count_every=0", cwd=cwd)
    checks.that(code == 0 and "note: sums of " in err and "next: halfulp why sums\n" in said,
                f"a run that goes on knows what failed before: {said} {err}")


if __name__ == "__main__":
    program.main(adders, all_clear, one_measure)
