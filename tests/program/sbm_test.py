"""SBM as its authors train: range norms with 8 bits, gradients of weights read apart."""
import json
import os

import program

KEYS = ["precision=static:8", "model.norm=range", "bits.norms=on", "bits.grad_weights=16",
        "model=resnet20", "model.width=0.25", "data=glyphs", "data.limit=90", "data.test_limit=24",
        "batch=24", "run.chunk=8", "run.quiet=on", "lr.warmup=0", "threads=1"]
LAYERS = 21


def train(cwd, run, *words):
    return program.train(*KEYS, *words, cwd=cwd, run=run)


def tensors(path):
    """Tensor: (format, elements) of the last row with tensors."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            for row in json.loads(line).get("tensors", []):
                found[row[0]] = (row[1], row[2])
    return found


def counts_and_plan(checks, cwd):
    """Both views of a gradient are counted; the plan that a run leaves trains the same."""
    result = train(cwd, "whole", "steps=5", "run.log_every=1")
    found = tensors(os.path.join(cwd, "whole", "numerics.jsonl"))
    apart = {name: row for name, row in found.items() if name.endswith(".grad.weights")}
    checks.same(len(apart), LAYERS, "gradients read apart")
    for name, (form, elements) in apart.items():
        other = found[name.replace(".grad.weights", ".grad.sum")]
        checks.same((form, other), ("uniform16", ("uniform8", elements)), name)
    for name in ("bn1.out.grad.sum", "layer3.0.shortcut.bn.out.grad.sum"):
        checks.same(found.get(name, ("", 0))[0], "uniform8", name)
    checks.that("fc.product.out.grad.weights" not in found, "the classifier stays float32")
    checks.same(result["bits"]["relative_training_cost"], 4 / 3, "cost")
    again = program.train(*[w for w in KEYS if not w.startswith(("precision", "bits"))], "steps=5",
                          f"precision={os.path.join(cwd, 'whole', 'plan.resolved.yaml')}",
                          cwd=cwd, run="resolved")
    checks.same(again["weights_hash"], result["weights_hash"], "trained by the resolved plan")
    code, out, err = program.call("why", "whole", "layer1.0.conv1.out.grad.weights", cwd=cwd)
    checks.same((code, err), (0, ""), "why: exit code")
    checks.that("uniform16" in out, f"why tells of the view: {out!r}")


def same_bits(checks, cwd):
    expected = train(cwd, "first", "steps=5")["weights_hash"]
    for words in (["threads=3"], ["storage=float32"], ["storage=dense", "threads=2"],
                  ["fuse=off", "recompute=off"]):
        found = train(cwd, "-".join(words).replace("=", ""), "steps=5", *words)
        checks.same(found["weights_hash"], expected, " ".join(words))
    few = [*program.FOR_SCALAR, "run.chunk=1"]
    expected = train(cwd, "native", *few)["weights_hash"]
    for isa in ("scalar", "avx2", "avx512"):
        os.environ["HALFULP_MAX_ISA"] = isa
        checks.same(train(cwd, isa, *few)["weights_hash"], expected, isa)
        del os.environ["HALFULP_MAX_ISA"]


program.main(counts_and_plan, same_bits)
