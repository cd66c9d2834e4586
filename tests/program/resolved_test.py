"""Resolved plans: a training with plan.resolved.yaml has the bits of the training that wrote it."""
import json
import os
import re
import shutil
import tempfile

import program

KEYS = ["data=glyphs", "data.limit=200", "data.test_limit=16", "batch=17", "threads=1",
        "run.chunk=8", "run.log_every=1", "run.quiet=on", "lr.schedule=constant", "lr.warmup=0"]
CNN = ["model=cnn-s", "model.width=0.25", "steps=6"]
RESNET = ["model=resnet20", "model.width=0.25", "steps=3"]
PROMOTING = ["precision.promote_at=0.002",
             "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)"]

CASES = {
    "fp32": [*CNN, "precision=fp32"],
    "hfp8": [*CNN, "precision=hfp8"],
    "demotion": [*RESNET, "precision=demote:0.5"],
    "operator-out, candidates": [*RESNET, "precision=operator-out", "precision.low=mxfp6e2m3"],
    "sums of gradients": [*RESNET, "precision=1/6/9"],
    "micikevicius": [*CNN, "precision=fp16", "scaler.init=1e10", "scaler.interval=2"],
    "blocks": [*CNN, "precision=mxfp8"],
    "tiles": [*CNN, "precision=w=e4m3fn:tile=128x128:scale=f32:least=1e-4,act=nvfp4:hadamard=16,"
                    "grad=nvfp4:4/6 sr,wgrad=e5m2:tile=3x7:scale=ue5m3"],
    "delayed scales": [*CNN, "precision=w=e4m3fn:scale=delayed3,act=e4m3fn:scale=current,"
                             "grad=e5m2:scale=bias,wgrad=fp16", "scaler=constant",
                       "scaler.init=256"],
    "stochastic": [*CNN, "precision=w=e4m3,act=e5m2 sr,grad=e5m2 sr,wgrad=fp16"],
    "another mode": [*CNN, "precision=fp(5,3,2)", "precision.rounding=rna"],
    "rules": [*CNN, "precision=1/6/9", "precision.scheme=micikevicius",
              "precision.rules=[fc.*: fp32, conv2.out: e5m2 ru, act.grad: e4m3:ovf=sat]"],
    "accumulators": [*CNN, "model.width=0.1", "precision=hfp8", "accumulator=fmac8:1/6/9",
                     "accumulator.rules=[conv1: fp32, '*.weight_grad: kahan:fp16']"],
    "operands": [*CNN, "precision=mxfp8-te", "operand.high=[none]"],
    "operands of some": [*CNN, "model.width=0.1", "precision=hfp8", "accumulator=fmac8:1/6/9",
                         "accumulator.rules=[conv1: fp32, '*.weight_grad: kahan:fp16']",
                         "operand.rules=['*.x: mxfp8', 'conv2.*.dy: nvfp4 sr', '*.forward.w: e4m3fn']"],
    "other semantics": [*CNN, "model.width=0.1", "precision=hfp8", "accumulator=mac:1/6/9",
                        "accumulator.semantics=f32fma"],
    "without masters": [*CNN, "precision=bf16", "master=off"],
}
SAME = ("weights_hash", "train_loss", "test_accuracy", "low_precision_ratio", "promoted",
        "model_aggregate_bits", "skipped_steps", "overflow_share", "ledger_bytes")


def read(cwd, *names):
    with open(os.path.join(cwd, *names)) as file:
        return file.read()


def without_evidence(text):
    return re.sub(r"^evidence:\n(  .*\n)*", "", text, flags=re.MULTILINE)


def same_bits(checks, cwd):
    for name, words in CASES.items():
        model = [word for word in words if word.startswith(("model", "steps"))]
        first = program.train(*KEYS, *words, cwd=cwd, run="first")
        second = program.train(*KEYS, *model, "precision=first/plan.resolved.yaml", cwd=cwd,
                               run="second")
        for key in SAME:
            checks.same(second[key], first[key], f"{name}: {key}")
        checks.that(program.rows(cwd, "first") == program.rows(cwd, "second"), f"{name}: rows")
        checks.same(without_evidence(read(cwd, "second", "plan.resolved.yaml")),
                    without_evidence(read(cwd, "first", "plan.resolved.yaml")), f"{name}: the plan again")
        # The plan of the words alone is that of the training; a run that goes on needs no file.
        code, _, err = program.call("plan", *KEYS, *words, "out=plan.yaml", cwd=cwd)
        checks.same(code, 0, f"{name}: plan: {err}")
        checks.same(without_evidence(read(cwd, "plan.yaml")),
                    without_evidence(read(cwd, "first", "plan.resolved.yaml")), f"{name}: out=")
        shutil.rmtree(os.path.join(cwd, "first"))
        more = program.resume("second", "steps=7", cwd=cwd)
        checks.same(more["steps"], 7, f"{name}: goes on")
        shutil.rmtree(os.path.join(cwd, "second"))


def promotion(checks, cwd):
    """From the step of writing: what was promoted so far is in the plan, and more is promoted."""
    words = ["model=cnn-s", "model.width=0.25", "precision=uniform+promote", *PROMOTING]
    before = program.train(*KEYS, *words, "steps=7", cwd=cwd)
    shutil.copytree(os.path.join(cwd, "run"), os.path.join(cwd, "copy"))
    whole = program.resume("run", "steps=16", cwd=cwd)
    again = program.resume("copy", "steps=16", "precision=copy/plan.resolved.yaml", cwd=cwd)
    checks.that(0 < before["promoted"] < whole["promoted"],
                f"promoted: {before['promoted']}, then {whole['promoted']}")
    for key in SAME:
        checks.same(again[key], whole[key], f"promotion: {key}")
    checks.same(program.rows(cwd, "copy"), program.rows(cwd), "promotion: rows")
    for run in ("run", "copy"):
        high = read(cwd, run, "plan.resolved.yaml").count('value: "fp(6,9,0)"')
        checks.same(high, whole["promoted"], f"promotion: tensors that {run}'s plan has high")


def override(checks, cwd):
    """Words behind the plan win; rules come on top of it."""
    program.call("plan", *KEYS, *CNN, "precision=hfp8", "out=p.yaml", cwd=cwd)
    made = program.train(*KEYS, *CNN, "precision=p.yaml", "scaler=none",
                         "precision.rules=[conv1.weight: fp16]", cwd=cwd)
    text = read(cwd, "run", "plan.resolved.yaml")
    checks.that("scaler:\n  name: none\n" in text, "override: no scaling")
    checks.that("conv1.weight:\n    value: fp16\n" in text, "override: a rule")
    checks.same(made["precision"], "resolved", "override: precision")
    code, out, err = program.call("plan", *KEYS, *CNN, "config=p.yaml", "--json", cwd=cwd)
    checks.same(code, 0, f"as config=: {err}")
    checks.same(json.loads(out)["precision"], "resolved", "as config=: precision")
    code, out, err = program.call("compare", *KEYS, *CNN, "precision=p.yaml;fp32", "steps=2", "--json",
                                  cwd=cwd)
    checks.same((code, [row["precision"] for row in json.loads(out)["rows"]]),
                (0, ["p.yaml", "fp32"]), f"compare: {err}")


def line_of(text, line):
    return text.splitlines().index(line) + 1


def bad(checks, cwd):
    program.call("plan", *KEYS, *CNN, "precision=hfp8", "out=p.yaml", cwd=cwd)
    good = read(cwd, "p.yaml")
    layers = "".join(f"  layer9.{i}.conv1.out:\n    value: e4m3\n" for i in range(9))
    wrong = {
        "one name": (good.replace("conv1.out:", "conv1.uot:"), 2,
                     f"bad.yaml:{line_of(good, '  conv1.out:')}:3: 'conv1.uot' (nearest: 'conv1.out'"),
        "another model": (good.replace("conv", "konv").replace("bn", "norm").replace("relu", "r"), 2,
                          "the plan is of another model"),
        "many names": (good.replace("tensors:\n", "tensors:\n" + layers), 2, "found 9 of its 36 tensors"),
        "a label": (good.replace("tensors:\n", "tensors:\n  label:\n    value: e4m3\n"), 2, "'label'"),
        "a statistic": (good.replace("tensors:\n", "tensors:\n  bn1.running_mean:\n    value: e4m3\n"), 2,
                        "'bn1.running_mean'"),
        "a later kind": (good.replace("halfulp_plan: 1", "halfulp_plan: 2"), 3, "expected 1"),
        "no tensors": ("halfulp_plan: 1\n", 2, "found no 'tensors:'"),
        "a key": (good + "wight: 1\n", 2, "found the key 'wight'"),
        "a part": (good.replace("    value:", "    valeu:", 1), 2, "found 'valeu', expected value, use, grad, sum or weights"),
        "a format": (good.replace('value: "fp(4,3,4)"', "value: e4m9x", 1), 2, "e4m9x"),
        "a list": (good.replace("tensors:\n", "tensors: [a]\nmore:\n"), 2, "expected a map"),
        "a grad of lists": (good.replace("tensors:\n", "tensors:\n  conv3.bias:\n    grad: [[e4m3]]\n"), 2,
                            "expected a text"),
        "too many gradients": (re.sub(r"(conv1\.out:\n    value: .*\n    grad: ).*", r"\1[e5m2, e5m2, e5m2]",
                                      good, count=1), 2, "found 3 formats"),
        "a scaler": (good.replace("  name: dynamic", "  name: dynamik"), 2, "dynamik"),
        "a product": (good + "products:\n  conv9:\n    forward: fmac:1/6/9\n", 2, "conv9.forward"),
        "a promotion": (good + "promotion:\n  at: 0.5\n", 2, "{at: SHARE"),
    }
    for name, (text, exit_code, says) in wrong.items():
        with open(os.path.join(cwd, "bad.yaml"), "w") as file:
            file.write(text)
        code, _, err = program.call("train", *KEYS, *CNN, "precision=bad.yaml", cwd=cwd)
        checks.that(code == exit_code and says in err and err.count("\n") <= 3,
                    f"{name}: exit {code}: {err}")
    code, _, err = program.call("train", *KEYS, *CNN, "precision.tensors=[conv1.out: value e4m3]", cwd=cwd)
    checks.that(code == 2 and "expected them with precision=resolved" in err, f"alone: exit {code}: {err}")
    with open(os.path.join(cwd, "other.yaml"), "w") as file:
        file.write(re.sub("xxh64:.*", "xxh64:0123456789abcdef", good))
    code, _, err = program.call("plan", *KEYS, *CNN, "precision=other.yaml", cwd=cwd)
    checks.that(code == 0 and "xxh64:0123456789abcdef" in err, f"other names: exit {code}: {err}")


def schema(checks, cwd):
    """The schema describes what is written, and refuses what the program refuses."""
    try:
        import jsonschema
        import yaml
    except ImportError:
        print("schema: skipped, jsonschema or yaml is not installed")
        return
    root = os.environ.get("HALFULP_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
    with open(os.path.join(root, "docs", "reference", "plan.schema.json")) as file:
        rules = json.load(file)
    validator = jsonschema.Draft202012Validator(rules)
    for name, words in {**CASES, "promotion": [*CNN, "precision=uniform+promote"]}.items():
        program.call("plan", *KEYS, *words, "out=p.yaml", cwd=cwd)
        plan = yaml.safe_load(read(cwd, "p.yaml"))
        errors = [error.message for error in validator.iter_errors(plan)]
        checks.same(errors, [], f"schema: {name}")
    for change in ({"halfulp_plan": 2}, {"wight": 1}, {"tensors": []},
                   {"tensors": {"a": {"valeu": "e4m3"}}}, {"promotion": {"at": 0.5}}):
        checks.that(not validator.is_valid({**plan, **change}), f"schema: accepts {change}")


def main():
    checks = program.Checks()
    for test in (same_bits, promotion, override, bad, schema):
        with tempfile.TemporaryDirectory() as cwd:
            test(checks, cwd)
    return checks.finish()


if __name__ == "__main__":
    raise SystemExit(main())
