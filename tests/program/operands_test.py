"""Products that round what they multiply: recipes by name, bits, counts, plans by layer, and errors."""
import json
import os

import program

CNN = ["model=cnn-s", "model.width=0.5", "data=glyphs"]
LSTM = ["model=lstm-lm", "model.width=0.25", "data=text:text.txt", "data.test_limit=18"]
SHORT = ["data.limit=48", "data.test_limit=8", "batch=18", "run.chunk=5", "run.log_every=1", "steps=4", "lr.warmup=0",
         "lr.schedule=constant", "threads=1", "run.quiet=on"]
RECIPES = ("deepseek-fp8", "nvfp4-te", "mxfp8-te", "fp8-delayed-te", "unit-scaling")
PLACES = ("forward.x", "forward.w", "input_grad.dy", "input_grad.w", "weight_grad.dy", "weight_grad.x")
OTHERS = (["threads=2", "storage=float32"], ["threads=3", "storage=dense"], ["run.fuse=off"], ["run.recompute=off"])


def hash_of(*words, cwd, run, **more):
    code, out, err = program.call("train", *SHORT, *words, f"run.dir={run}", "--json", cwd=cwd, **more)
    return json.loads(out)["weights_hash"] if code == 0 else err


def lines(cwd, run):
    with open(os.path.join(cwd, run, "numerics.jsonl"), encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if "tensors" in row]


def bits(checks, cwd):
    """Neither threads, storage nor the way nodes are joined change a bit; formats and rotations do."""
    found = set()
    for number, words in enumerate((
            *([f"precision={recipe}"] for recipe in RECIPES), ["precision=nvfp4-te", "operand.high=none"],
            ["precision=bf16", "operand.rules=['*.x: mxfp4 sr', 'conv2: e5m2:scale=current']"],
            ["operand.rules=['*.weight_grad: nvfp4:hadamard=16:random sr']"],
            ["operand.rules=['*: nvfp4:eden=32:hadamard=32:random']"])):
        first = hash_of(*CNN, *words, cwd=cwd, run=f"first{number}")
        found.add(first)
        for other, more in enumerate(OTHERS):
            again = hash_of(*CNN, *words, *more, cwd=cwd, run=f"other{number}-{other}")
            checks.same(again, first, f"{words} {more}: weights hash")
    checks.same(len(found), 9, "precisions that give bits of their own")


def instruction_sets(checks, cwd):
    for recipe in RECIPES:
        hashes = {hash_of(*CNN, f"precision={recipe}", cwd=cwd, run=f"{recipe}-{isa}",
                          env={**os.environ, "HALFULP_MAX_ISA": isa}) for isa in ("scalar", "avx2", "avx512", "avx512vbmi")}
        checks.same(len(hashes), 1, f"{recipe}: weights hashes {hashes}")


def loops(checks, cwd):
    """Linear layers of recurrent networks have operands, too."""
    with open(os.path.join(cwd, "text.txt"), "w", encoding="utf-8") as file:
        file.write("the cat sat on the mat and the dog sat on the log .\n" * 200)
    plain = hash_of(*LSTM, cwd=cwd, run="plain")
    for number, text in enumerate(("mxfp8", "nvfp4 sr", "e4m3fn:tile=1x128:scale=f32", "nvfp4:hadamard=16")):
        words = [f"operand.rules=['*: {text}']"]
        first = hash_of(*LSTM, *words, cwd=cwd, run=f"first{number}")
        checks.that(len(first) == 16 and first != plain, f"{text} in a loop: {first}")
        again = hash_of(*LSTM, *words, "threads=2", "storage=float32", cwd=cwd, run=f"again{number}")
        checks.same(again, first, f"{text} in a loop: threads")


def counts(checks, cwd):
    """Every operand has its counts in every line, under the name that rules have."""
    program.train(*SHORT, *CNN, "precision=mxfp8-te", cwd=cwd)
    rows = {row[0]: row for row in lines(cwd, "run")[0]["tensors"]}
    for layer in ("conv1", "conv2", "conv3"):
        for place in PLACES:
            if (layer, place[:10]) == ("conv1", "input_grad"):
                continue  # images have no gradient
            row = rows.get(f"{layer}.{place}")
            if checks.that(row is not None, f"{layer}.{place}: no counts"):
                checks.same(row[1], "mxfp8:scale=rceil", f"{layer}.{place}: format")
                checks.that(row[2] > 0 and row[3] == 0, f"{layer}.{place}: {row}")
    checks.that(not any(name.startswith("fc.") and name[3:] in PLACES for name in rows), "the last layer stays high")
    pixels = rows["conv2.forward.x"][2]
    checks.same(rows["conv2.weight_grad.x"][2], pixels, "x is rounded as often for the weights")
    checks.same(rows["conv2.forward.w"][2], rows["conv2.input_grad.w"][2], "so are the weights")


def resumed(checks, cwd):
    """A run that stops and goes on has the bits of one that did not."""
    for recipe in RECIPES:
        words = [*CNN, f"precision={recipe}", "steps=6"]
        whole = hash_of(*words, cwd=cwd, run=f"whole-{recipe}")
        hash_of(*words, "steps=3", cwd=cwd, run=f"part-{recipe}")
        more = program.resume(f"part-{recipe}", "steps=6", cwd=cwd)
        checks.same(more["weights_hash"], whole, f"{recipe}: resumed")


def roles(checks, cwd):
    """Rules for all tensors of a role leave what a recipe rounds for products."""
    words = ["precision=fp8-delayed-te", "precision.rules=['act: bf16', 'act.grad: bf16', 'weight: bf16']"]
    program.call("plan", *CNN, *words, "out=roles.yaml", cwd=cwd)
    with open(os.path.join(cwd, "roles.yaml"), encoding="utf-8") as file:
        plan = file.read()
    checks.same(plan.count("sum: e5m2:ovf=sat:scale=real1024"), 3, "gradients of layers")
    checks.same(plan.count("value: e4m3fn:ovf=sat:scale=real1024"), 3, "weights of layers")
    checks.that("value: bf16" in plan and "grad: bf16" in plan, "the rules hold elsewhere")


def phases(checks, cwd):
    """A recipe may begin or end with an epoch, as NVIDIA ends FP4 before the learning rate falls."""
    words = [*CNN, "data.limit=36", "epochs=2", "steps=4"]
    first = hash_of(*words, "precision=0: nvfp4-te, 1: fp32", cwd=cwd, run="first")
    again = hash_of(*words, "precision=0: nvfp4-te, 1: fp32", "threads=2", cwd=cwd, run="again")
    checks.same(again, first, "two phases: threads")
    checks.that(first not in (hash_of(*words, "precision=nvfp4-te", cwd=cwd, run="all"),
                              hash_of(*words, cwd=cwd, run="none")), "phases differ from either")
    named = [{row[0] for row in line["tensors"]} for line in lines(cwd, "first")]
    checks.that("conv1.forward.x" in named[0], "the first phase counts operands")


def planned(checks, cwd):
    """plan shows what products multiply, with the layers that have it, as text and by layer in JSON."""
    code, out, err = program.call("plan", *CNN, "precision=nvfp4-te", "operand.rules=['conv2.forward.x: fp32']", cwd=cwd)
    checks.same(code, 0, f"plan: {err}")
    rows = [line.split() for line in out.splitlines() if line.split(".")[0] in ("forward", "input_grad", "weight_grad")]
    checks.same([row[0] for row in rows if row[2:4] == ["3", "of"]], list(PLACES[1:]), f"operands of three layers: {rows}")
    checks.that(["forward.x", "e2m1:tile=1x16:scale=e4m3fn:as=te", "2", "of", "4", "conv1,", "conv3"] in rows, f"of two: {rows}")
    checks.that(["forward.x", "as", "stored", "2", "of", "4", "conv2,", "fc"] in rows, f"what stays: {rows}")
    made = json.loads(program.call("plan", *CNN, "precision=mxfp8-te", "--json", cwd=cwd)[1])
    found = {row["name"]: row.get("operands") for row in made["layers"] if "operands" in row}
    checks.same(found, {layer: {place: "mxfp8:scale=rceil" for place in PLACES} for layer in ("conv1", "conv2", "conv3")}, "JSON")
    out = program.call("plan", *CNN, "precision=hfp8", cwd=cwd)[1]
    checks.that("operands:" not in out, "nothing of it where nothing is rounded")


def high(checks, cwd):
    """What the user keeps high no rule of his reaches, as docs/how-to/recipes.md has it; a recipe's layers his rules
    may name. Where nothing rounds operands the key is told to be idle."""
    rules = "operand.rules=['*.x: e3m2:tile=1x64:scale=ue5m3', 'conv*.w: mxfp8']"
    for words, layers in (([rules], {"conv1", "conv2", "conv3", "fc"}),
                          ([rules, "operand.high=[last=1]"], {"conv1", "conv2", "conv3"}),
                          ([rules, "operand.high=[first=1, 'fc*']"], {"conv2", "conv3"}),
                          ([rules, "operand.high=none"], {"conv1", "conv2", "conv3", "fc"}),
                          (["precision=mxfp8-te", "operand.rules=['fc.forward.x: mxfp4']"], {"conv1", "conv2", "conv3", "fc"}),
                          (["precision=fp8-delayed-te", rules, "operand.high=[first=1]"], {"conv2", "conv3", "fc"})):
        code, _, err = program.call("plan", *CNN, *words, "out=high.yaml", cwd=cwd)
        checks.same(code, 0, f"{words}: {err}")
        with open(os.path.join(cwd, "high.yaml"), encoding="utf-8") as file:
            plan = file.read().partition("\nproducts:")[2].partition("\nevidence:")[0]
        found = {line.strip().rstrip(":") for line in plan.splitlines() if line[:2] == "  " and line[2] != " "}
        checks.same(found, layers, f"{words}: layers that round operands")
    # The rows of a plan are a recipe: high keeps a layer of it.
    code, _, err = program.call("plan", *CNN, "precision=high.yaml", "operand.high=first=1", "out=higher.yaml", cwd=cwd)
    checks.same(code, 0, f"a plan beside operand.high: {err}")
    with open(os.path.join(cwd, "higher.yaml"), encoding="utf-8") as file:
        checks.that("conv1.forward.x" not in file.read().partition("\nproducts:")[2], "the first layer of a plan stays high")
    idle = "operand.high=first=1 has no effect with precision="
    for words, is_idle in (([], True), (["precision=bf16"], True), (["precision=hfp8"], True),
                           *(([f"precision={recipe}"], False) for recipe in RECIPES),
                           (["operand.rules=['*.x: mxfp8']"], False), (["precision=0: bf16, 1: nvfp4-te"], False),
                           (["precision.epochs=['0: bf16', '1: nvfp4-te']"], False)):
        code, _, err = program.call("train", *SHORT, *CNN, "operand.high=first=1", *words, cwd=cwd)
        checks.that(code == 0 and (idle in err) == is_idle, f"{words}: {err}")


REFUSED = (
    (["precision=nvfp4-ta"], 2, "nearest: 'nvfp4-te'"),
    (["operand.rules=['conv9.forward.x: mxfp8']"], 2, "nearest names: 'conv1.forward.x'"),
    (["operand.rules=['*.x: mxfp9']"], 2, "mxfp8"),
    (["operand.rules=['*.x: uniform8']"], 2, "found uniform8"),
    (["operand.rules=['*.x: e4m3fn:scale=delayed']"], 2, "scale of the steps before"),
    (["precision=mxfp8-te", "operand.high=last=x"], 2, "expected first=N, last=N, last=P%"),
    (["precision=mxfp8-te", "operand.high=head*"], 2, "matches no convolution or linear layer"),
    (["precision=mxfp8-te", "operand.high=last=100%"], 2, "found all 4 layers among those that stay high"),
    (["operand.rules=['*.x: nvfp4:hadamard=12']"], 2, "hadamard"),
    (["operand.rules=['*.x: mxfp8', 'fc.*: mxfp4']", "operand.high=last=1"], 2,
     "found 'fc.*: mxfp4' for layers that operand.high keeps as they are"),
)


def refused(checks, cwd):
    for words, exit_code, says in REFUSED:
        code, _, err = program.call("train", *SHORT, *CNN, *words, cwd=cwd)
        checks.that(code == exit_code and says in err, f"{words}: exit {code}: {err}")


program.main(bits, instruction_sets, loops, counts, resumed, roles, phases, planned, high, refused)
