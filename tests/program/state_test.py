"""The optimizer's state in a format of its own: threads, resume, checkpoints, planned bytes, what is told of it."""
import json
import os
import struct

import program
from program import TINY, call

CNN = ["model=cnn-s", *TINY, "batch=16", "run.quiet=on", "eval.every=0", "steps=6", "run.checkpoint_every=2", "run.keep=9"]
PARAMETERS = 24346
SGD = [*CNN, "optimizer=sgd"]
ADAM = [*CNN, "optimizer=adam", "lr=0.001"]
STATES = {"bf16 sr": [*SGD, "workers=2"], "e5m2 sr": SGD, "fp16": [*SGD, "precision=hfp8"],
          "e5m2 sr, *.squares: bf16 sr, bn*: fp32": ADAM, "bf16 sr, conv2.weight.squares: fp16": [*ADAM, "precision=fp16"],
          "e4m3fn:ovf=sat sr, *.squares: bf16 sr": ["model=dcgan-s", "model.width=0.25", *ADAM[1:]],
          "bf16": [*CNN, "optimizer=rmsprop", "lr=0.001"], "*.weight.squares: 1/6/9/n": [*CNN, "optimizer=adagrad"]}


def key(state):
    return f"optimizer.state={state}"


def sections(cwd, run, step=6):
    """The sections of a checkpoint by name (docs/reference/checkpoint-format.md); the journal has the lengths of files with times."""
    with open(program.checkpoints(cwd, run)[step], "rb") as file:
        data = file.read()
    found = {}
    for i in range(struct.unpack_from("<I", data, 12)[0]):
        name, offset, count = struct.unpack_from("<64sQQ", data, 32 + 88 * i)
        found[name.rstrip(b"\0").decode()] = data[offset:offset + count]
    del found["journal"]
    return found


def bits_and_resume(checks, cwd):
    """No thread, no storage and no interruption changes a bit, and the format does."""
    for number, (state, words) in enumerate(STATES.items()):
        made = program.train(*words, key(state), "threads=1", cwd=cwd, run=f"whole{number}")
        plain = program.train(*words, cwd=cwd, run=f"plain{number}")
        checks.that(made["weights_hash"] != plain["weights_hash"], f"{state}: the format takes part")
        for more in (["threads=3"], ["threads=2", "storage=dense"], ["threads=2", "storage=float32", "fuse=off"]):
            other = program.train(*words, key(state), *more, cwd=cwd, run=f"other{number}-{len(more)}-{more[0][-1]}")
            checks.same(other["weights_hash"], made["weights_hash"], f"{state}: {more}")
        program.copy_at(cwd, f"whole{number}", f"from{number}", 2)
        rest = program.resume(f"from{number}", cwd=cwd)
        checks.same(rest["weights_hash"], made["weights_hash"], f"{state}: resumed at 2")
        checks.that(sections(cwd, f"from{number}") == sections(cwd, f"whole{number}"), f"{state}: the same checkpoint")


def float32_is_the_default(checks, cwd):
    plain = program.train(*SGD, cwd=cwd, run="plain")
    said = program.train(*SGD, "optimizer.state=fp32", cwd=cwd, run="said")
    checks.same(said["weights_hash"], plain["weights_hash"], "fp32 is no format of its own")
    checks.that(sections(cwd, "said") == sections(cwd, "plain"), "the same checkpoint")
    checks.that("state.formats" not in sections(cwd, "plain"), "no word of formats")


def checkpoints(checks, cwd):
    """Codes are kept as they are, and no run goes on in other formats."""
    found = {}
    for state in ("fp32", "bf16", "e5m2"):
        program.train(*SGD, f"optimizer.state={state}", cwd=cwd, run=state)
        found[state] = sections(cwd, state)["optimizer.momentum"]
    checks.same([len(found[state]) for state in found], [4 * PARAMETERS, 2 * PARAMETERS, PARAMETERS + 2],
                "bytes, of which every tensor begins at a multiple of four")
    codes = struct.unpack("<1000H", found["bf16"][:2000])
    numbers = [struct.unpack("<f", struct.pack("<HH", 0, code))[0] for code in codes]
    plain = struct.unpack("<1000f", found["fp32"][:4000])
    error = sum(abs(a - b) for a, b in zip(plain, numbers)) / sum(map(abs, plain))
    checks.that(error < 0.1, f"the codes mean what float32 would be, nearly: {error}")
    text = sections(cwd, "bf16")["state.formats"].decode().splitlines()
    checks.same((len(text), text[0]), (11, "bn1.bias.momentum bf16"), "their formats")
    for run, state, words in (("bf16", "fp16", ["bn1.bias.momentum fp16", "bn1.bias.momentum bf16"]),
                              ("bf16", "fp32", ["'fp32'", "bn1.bias.momentum bf16"]),
                              ("fp32", "bf16", ["bn1.bias.momentum bf16", "'fp32'"]),
                              ("bf16", "bf16, fc.*: fp32", ["bf16", "fc.bias.momentum bf16"])):
        code, _, err = call("resume", run, f"optimizer.state={state}", "steps=8", cwd=cwd)
        checks.that(code == 2 and "a run keeps the formats" in err and all(word in err for word in words),
                    f"{run} in {state}: {code} {err!r}")
    code, _, err = call("resume", "bf16", "optimizer.state=bf16 sr", "steps=8", cwd=cwd)
    checks.same(code, 0, f"another rounding of the same numbers: {err!r}")


def planned_bytes(checks, cwd):
    """`plan` counts what a training holds, and what an optimizer of float32 would hold beside it."""
    for number, (state, words, bits) in enumerate((("bf16 sr", SGD, 16), ("e5m2", SGD, 8), ("bf16, *.squares: e5m2", ADAM, 24),
                               ("e4m3", [*ADAM, "optimizer.accumulate=2"], 16 + 32))):
        code, out, err = call("plan", *words, key(state), "--json", cwd=cwd)
        planned = json.loads(out)["memory_bytes"] if checks.that(code == 0, f"{state}: {err}") else {}
        optimizer = planned["optimizer"]
        checks.same(optimizer["packed"], optimizer["float32"], f"{state}: storage= does not change it")
        checks.that(0 <= optimizer["packed"] - PARAMETERS * bits // 8 < 40, f"{state}: {optimizer} bytes planned")
        made = program.train(*words, key(state), cwd=cwd, run=f"ledger{number}")
        held = {name: made["ledger_bytes"][name] for name in ("optimizer", "total")}
        checks.same(held, {name: planned[name]["packed"] for name in held}, f"{state}: held by the training")


def what_is_told(checks, cwd):
    """Squares of gradients in 8 bits without a scale vanish, and `why` says so."""
    program.train(*ADAM, "optimizer.state=*.squares: e4m3", "steps=12", "run.histogram_every=4", cwd=cwd, run="small")
    with open(os.path.join(cwd, "small", "progress.jsonl"), encoding="utf-8") as file:
        start = next(row for row in map(json.loads, file) if row["event"] == "start")
    checks.same(start["optimizer_state"], "*.squares: e4m3", "what the training says of itself")
    with open(os.path.join(cwd, "small", "numerics.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if "tensors" in line]
    counts = {entry[0]: entry for row in rows for entry in row["tensors"]}
    checks.same(counts["conv2.weight.squares"][1], "e4m3", "its format")
    checks.that(counts["conv2.weight.squares"][4] > 0.9 * counts["conv2.weight.squares"][2], "its underflow")
    checks.that("conv2.weight.momentum" not in counts, "float32 is not counted")
    with open(os.path.join(cwd, "small", "histograms.jsonl"), encoding="utf-8") as file:
        taken = [entry[0] for line in file for entry in json.loads(line)["tensors"]]
    checks.same(taken.count("conv2.weight.squares"), 3, "histograms")
    code, out, err = call("why", "small", "--json", cwd=cwd)
    found = json.loads(out) if checks.that(code == 0, err) else {}
    death = found["death"]
    checks.that(death["tensor"].endswith(".weight.squares") and death["kind"] == "underflow", f"the death: {death}")
    checks.same((death["inputs"][0]["tensor"], found["advice"]),
                (death["tensor"].replace(".squares", ".grad"), None), "what it is made of, and no rule of precision")
    checks.same(death["state_rule"], "*.squares: 1/6/9", "the rule that holds")
    _, out, _ = call("why", "small", cwd=cwd)
    checks.that("optimizer.state" in out and "'*.squares: 1/6/9'" in out, f"in words: {out}")
    again = program.train(*ADAM, key("*.squares: e4m3, *.squares: 1/6/9"), "steps=12", cwd=cwd, run="held")
    checks.that(again["weights_hash"], "and it trains")
    _, out, _ = call("why", "held", "--json", cwd=cwd)
    checks.same(json.loads(out)["verdict"], "fine", "nothing died")


def beyond(checks, cwd):
    """An infinity ends a training, unless its format saturates."""
    tiny = "e4m3fn:bias=40"
    code, _, err = call("train", *SGD, f"optimizer.state={tiny}:ovf=nan", "run.dir=over", cwd=cwd)
    checks.that(code == 4 and ".momentum, is beyond its format" in err, f"{code} {err!r}")
    _, out, _ = call("why", "over", "--json", cwd=cwd)
    checks.same((json.loads(out)["verdict"], json.loads(out)["death"]["tensor"].split(".")[-1]),
                ("diverged", "momentum"), "why")
    made = program.train(*SGD, f"optimizer.state={tiny}:ovf=sat", cwd=cwd, run="sat")
    checks.same(made["steps"], 6, "saturated")


def refused(checks, cwd):
    for words, said in ((["optimizer.state=uniform8"], ["uniform integers", "at most 16 bits"]),
                        (["optimizer.state=mxfp8"], ["block format"]), (["optimizer.state=tf32"], ["more than 16 bits"]),
                        (["optimizer.state=int8"], ["int8", "uniform8"]),
                        (["optimizer.state=e4m3fn:scale=current"], ["scale that depends"]),
                        (["optimizer.state=*.squares: bf16"], ["matches state", "momentum"]),
                        (["optimizer.state=bf16", "optimizer.momentum=0", "optimizer.nesterov=off"], ["keeps no state"]),
                        (["optimizer=adagrad", "optimizer.initial=1e-9", "optimizer.state=e5m2"], ["optimizer.initial", "e5m2"])):
        code, _, err = call("train", *CNN, *words, "run.dir=bad", cwd=cwd)
        checks.that(code == 2 and all(word in err for word in said), f"{words}: {code} {err!r}")


program.main(bits_and_resume, float32_is_the_default, checkpoints, planned_bytes, what_is_told, beyond, refused)
