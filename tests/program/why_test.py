"""`why`: planted failures, each of which must be named: tensor, step, cause, and whether it was made or got there."""
import array
import json
import os
import struct

import program
from program import call

SMALL = ["data=glyphs", "data.limit=32", "data.test_limit=8", "batch=16", "steps=2", "threads=1",
         "run.quiet=on"]


def edit(path, tensor, change):
    """Changes the float32 numbers of one tensor of a safetensors file."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    first, end = (8 + length + at for at in header[tensor]["data_offsets"])
    numbers = array.array("f", bytes(data[first:end]))
    data[first:end] = array.array("f", [change(i, x) for i, x in enumerate(numbers)]).tobytes()
    with open(path, "wb") as file:
        file.write(data)


def weights(cwd, model, tensor, change):
    """The key for a model that begins with one changed tensor."""
    name = f"base-{'-'.join(model).replace('=', '').replace('.', '')}"
    if not os.path.exists(f"{cwd}/{name}"):
        program.train(*model, *SMALL[:4], "steps=0", cwd=cwd, run=name)
    path = f"{cwd}/{name}.safetensors"
    code, _, err = call("export", name, f"out={path}", cwd=cwd)
    if code != 0:
        raise SystemExit(f"export: {err}")
    edit(path, tensor, change)
    return f"init={path}"


def why(cwd, run, *words):
    code, out, err = call("why", run, *words, "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"why {run}: exit {code}: {err}")
    return json.loads(out)


CNN, R20 = ["model=cnn-s"], ["model=resnet20", "model.width=0.5"]
OVER, UNDER = "e5m2:bias=70", "e2m3:bias=-40"  # at most 2^-55, at least 2^38
SATURATES = "e2m3:bias=60"
NAN = "e4m3fn:bias=70:ovf=nan"
NO_SCALE = "scaler=none"


def rule(tensor, text):
    return f"precision.rules=[\"{tensor}: {text}\"]"


# name: keys of the training (a tuple: changed weights), tensor, kinds, role
PLANTED = {
    "activation to zero": (R20 + [rule("layer2.0.conv1.out", UNDER)],
                           "layer2.0.conv1.out", {"underflow", "zero"}, "produced"),
    "activation saturates": (R20 + [rule("layer1.1.conv2.out", SATURATES)],
                             "layer1.1.conv2.out", {"saturation"}, "produced"),
    "activation to infinity": (R20 + [rule("layer3.1.bn1.out", OVER)],
                               "layer3.1.bn1.out", {"overflow"}, "produced"),
    "activation to infinity in cnn": (CNN + ["precision=e4m3fn", rule("conv2.out", OVER)],
                                      "conv2.out", {"overflow"}, "produced"),
    "input to infinity": (CNN + [rule("input", OVER)], "input", {"overflow"}, "given"),
    "input to zero": (CNN + ["precision=fp16", rule("input", UNDER)], "input",
                      {"underflow", "zero"}, "given"),
    "logits to infinity": (R20 + [rule("fc.out", OVER)], "fc.out", {"overflow"}, "produced"),
    "weight to zero": (R20 + ["precision=1/6/9", rule("layer2.1.conv2.weight", UNDER)],
                       "layer2.1.conv2.weight", {"underflow", "zero"}, "given"),
    "weight saturates": (CNN + ["precision=hfp8", rule("conv2.weight", SATURATES)],
                         "conv2.weight", {"saturation"}, "given"),
    "input to NaN": (R20 + [rule("input", NAN)], "input", {"overflow"}, "given"),
    "weight to NaN": (CNN + [rule("conv1.weight", NAN)], "conv1.weight", {"overflow"}, "given"),
    "weight to NaN in 8 bits": (R20 + ["precision=hfp8", rule("layer2.0.conv2.weight", NAN)],
                                "layer2.0.conv2.weight", {"overflow"}, "given"),
    "activation to NaN": (R20 + ["precision=fp16", rule("layer1.2.relu1.out", NAN)],
                          "layer1.2.relu1.out", {"overflow"}, "produced"),
    "huge batch norm in fp16": (R20 + ["precision=fp16", ("layer1.0.bn2.weight",
                                                          lambda i, x: 3e38 if i == 3 else x)],
                                "layer1.0.bn2.weight", {"overflow"}, "given"),
    "huge batch norm in float32": (R20 + [("layer1.0.bn2.weight",
                                           lambda i, x: 3e38 if i == 3 else x)],
                                   "layer1.0.bn2.out", {"infinity"}, "produced"),
    "huge bias in bf16": (CNN + ["precision=bf16",
                                 ("fc.bias", lambda i, x: 3.4e38 if i == 3 else x)],
                          "fc.bias", {"overflow"}, "given"),
    "huge weights in fp16": (CNN + ["precision=fp16", ("conv2.weight", lambda i, x: x * 1e30)],
                             "conv2.weight", {"overflow"}, "given"),
    "tiny weights in fp16": (CNN + ["precision=fp16", ("conv2.weight", lambda i, x: x * 1e-30)],
                             "conv2.weight", {"underflow", "zero"}, "given"),
    "huge weights in float32": (R20 + [("layer2.2.conv1.weight",
                                        lambda i, x: max(-3e38, min(3e38, x * 1e40)))],
                                "layer2.2.conv1.out", {"infinity"}, "produced"),
    "zero weights": (CNN + [("conv2.weight", lambda i, x: 0.0)], "conv2.weight", {"zero"}, "given"),
    "gradient to zero": (R20 + [rule("layer2.0.conv2.out.grad", UNDER)],
                         "layer2.0.conv2.out.grad", {"underflow", "zero"}, "produced"),
    "gradient to infinity": (R20 + [rule("layer1.0.conv1.out.grad", OVER), NO_SCALE],
                             "layer1.0.conv1.out.grad", {"overflow"}, "produced"),
    "gradient saturates": (CNN + [rule("conv2.out.grad", SATURATES)], "conv2.out.grad",
                           {"saturation"}, "produced"),
    "gradient of a fork": (R20 + [rule("layer1.1.relu2.out.grad", OVER), NO_SCALE],
                           "layer1.1.relu2.out.grad", {"overflow"}, "produced"),
    "weight gradient to infinity": (R20 + [rule("layer3.0.conv1.weight.grad", OVER), NO_SCALE],
                                    "layer3.0.conv1.weight.grad", {"overflow"}, "produced"),
    "weight gradient to zero": (CNN + ["precision=bf16", rule("conv2.weight.grad", UNDER)],
                                "conv2.weight.grad", {"underflow", "zero"}, "produced"),
    "loss scale too large": (R20 + ["precision=fp16", "scaler=constant", "scaler.init=1e30"],
                             "log_softmax.out.grad", {"overflow"}, "produced"),
    "accumulator overflows": (CNN + [f"accumulator.rules=[\"conv2.forward: fmac:{OVER}\"]"],
                              "conv2.forward", {"sums saturated"}, "produced"),
    "fire module": (["model=squeezenet", "model.width=0.25", rule("fire3.squeeze.bn.out", OVER)],
                    "fire3.squeeze.bn.out", {"overflow"}, "produced"),
}


def keys_of(cwd, words):
    model = [word for word in words if isinstance(word, str) and word.startswith("model")]
    return [weights(cwd, model, *word) if isinstance(word, tuple) else word for word in words]


def planted(checks, cwd):
    named = 0
    for number, (name, (words, tensor, kinds, role)) in enumerate(PLANTED.items()):
        run = f"run{number}"
        code, _, err = call("train", *keys_of(cwd, words), *SMALL, f"run.dir={run}", cwd=cwd)
        found = why(cwd, run)
        death = found["death"] or {"tensor": None, "kind": None, "step": None, "role": None}
        right = checks.that(
            death["tensor"] == tensor and death["kind"] in kinds and death["step"] == 0 and
            death["role"] == role and found["verdict"] in ("hurt", "diverged"),
            f"{name}: {found['verdict']}, {death['tensor']} {death['kind']} at {death['step']}, "
            f"{death['role']}; expected {tensor} {kinds} at 0, {role}; training: {err[-300:]}")
        named += right
        if code != 0 and death["kind"] in ("overflow", "infinity", "nan"):
            checks.that(tensor in err, f"{name}: training says {err!r}, why {tensor}")
        code, out, _ = call("why", run, cwd=cwd)
        checks.that(code == 0 and f"{tensor}, step 0: " in out, f"{name}: in words: {out!r}")
    print(f"why named the right tensor in {named} of {len(PLANTED)} planted failures")
    checks.that(len(PLANTED) >= 20, "at least 20 plants")


def later(checks, cwd):
    """A death in the middle of a training, and what holds the numbers."""
    program.train(*R20, *SMALL, cwd=cwd)
    code, _, _ = call("resume", "run", "steps=8", "precision.rules=[\"layer3.0.bn1.out: "
                      "e5m2:bias=40\"]", cwd=cwd)
    found = why(cwd, "run", "format=fp16,e5m2:bias=40,e2m1", "layer3.0.conv2.out")
    death = found["death"]
    checks.same((death["tensor"], death["step"], found["verdict"]),
                ("layer3.0.bn1.out", 2, "diverged"), "the step of a death")
    checks.that(code != 0, "the training says so too")
    holds = {fit["format"]: fit["holds"] for fit in death["formats"]}
    checks.same(holds, {"fp16": True, "e5m2:bias=40": False, "e2m1": False}, "what holds it")
    checks.same(found["asked"]["role"], "passed on", "a tensor behind it")
    checks.same([source["tensor"] for source in death["inputs"]],
                ["layer3.0.conv1.out", "layer3.0.bn1.weight", "layer3.0.bn1.bias"], "its inputs")
    checks.same({source["state"] for source in death["inputs"]}, {"alive"}, "are alive")
    checks.that(death["spread"] > 5, "and it spread")


def alive(checks, cwd):
    """Runs that ended well, with and without steps that loss scaling skipped."""
    program.train(*CNN, "precision=fp16", "scaler.init=1e9", *SMALL[:4], "steps=30", cwd=cwd)
    found = why(cwd, "run")
    checks.same((found["verdict"], found["death"]), ("fine", None), "nothing died")
    checks.that(found["skipped_steps"] > 0, "though steps were skipped")
    checks.that(found["closest"]["overflow_tensor"] is not None, "the closest one is named")
    _, out, _ = call("why", "run", cwd=cwd)
    checks.that("nothing died" in out and "loss scaling does to find its scale" in out, out)
    program.train(*CNN, *SMALL, cwd=cwd, run="plain")
    checks.same(why(cwd, "plain")["verdict"], "fine", "without rounding")


TINY = ["data=glyphs", "data.limit=300", "data.test_limit=64", "batch=32", "threads=1", "run.quiet=on"]


def ends_with_a_skip(checks, cwd):
    """A step that loss scaling skips ends no run, whichever step it is."""
    for steps in (38, 39, 40, 41):
        program.train(*CNN, *TINY, "precision=fp16", "scaler.interval=2", f"steps={steps}", cwd=cwd,
                      run=f"run{steps}")
    last = [program.rows(cwd, f"run{steps}")[-1]["skipped"] for steps in (38, 39, 40, 41)]
    checks.that("1" in last, f"one of them ends with a skipped step: {last}")
    for steps in (38, 39, 40, 41):
        checks.same(why(cwd, f"run{steps}")["verdict"], "fine", f"{steps} steps")
    code, _, _ = call("train", *CNN, *TINY, "precision=fp16", "scaler=constant", "scaler.init=1e9",
                      "steps=40", "run.dir=ended", cwd=cwd)
    found = why(cwd, "ended")
    checks.same((code, found["verdict"]), (4, "diverged"), "a run that gave up")
    os.remove(f"{cwd}/ended/result.json")  # as if it were still running
    found = why(cwd, "ended")
    checks.same((found["verdict"], found["death"]["tensor"][-5:]), ("hurt", ".grad"),
                "a run that takes no step any more")


SOUND = ["mxfp8", "mxint8", "nvfp4", "e5m2", "e4m3fn:scale=delayed", "e4m3fn:scale=current", "static:8"]


def by_design(checks, cwd):
    """Losses that formats have by design, and those that last for a few steps, are no deaths."""
    for precision in SOUND:
        program.train(*CNN, *TINY, "steps=24", f"precision={precision}", cwd=cwd, run=precision)
        found = why(cwd, precision)
        checks.same((found["verdict"], found["losses"]), ("fine", []), precision)
    with open(f"{cwd}/mxfp8/numerics.jsonl") as file:
        told = [event for line in map(json.loads, file) for event in line.get("events", [])]
    checks.that(any(event[1] == "saturation" for event in told), "though the journal tells of them")


def ranked(checks, cwd):
    """A gradient that is lost as a whole outranks some of the input."""
    rules = "precision.rules=['input: e2m3:bias=5','bn3.out.grad: e2m3:bias=-40']"
    program.train(*CNN, *TINY, "steps=24", rules, cwd=cwd)
    found = why(cwd, "run")
    named = {loss["tensor"]: loss for loss in found["losses"]}
    checks.same(found["death"]["tensor"], "bn3.out.grad", "the worst")
    checks.that("input" in named, f"the other one is named: {named.keys()}")
    checks.same((named["bn3.out.grad"]["steps"], named["bn3.out.grad"]["last_step"]), (24, 23),
                "how long it lasted")
    checks.that(named["bn3.out.grad"]["severity"] > named["input"]["severity"], f"{named}")


def held(checks, cwd):
    """Rows tell in how many steps each event held; cut anywhere and resumed, they tell the same."""
    keys = [*CNN, *TINY, "precision=e5m2", "run.log_every=7", "run.checkpoint_every=3"]
    program.train(*keys, "steps=18", cwd=cwd, run="whole")
    program.train(*keys, "steps=18", "run.log_every=1", cwd=cwd, run="each")

    def told(run):
        steps = {}
        with open(f"{cwd}/{run}/numerics.jsonl") as file:
            for line in map(json.loads, file):
                for tensor, kind, number, last, count, of in line.get("held", []):
                    entry = steps.setdefault((tensor, kind), [0, 0, 0, 0])
                    entry[:] = [entry[0] + number, last, entry[2] + count, entry[3] + of]
        return steps
    whole = told("whole")
    checks.that(whole and all(0 < steps <= 18 for steps, *_ in whole.values()), f"{whole}")
    checks.same(told("each"), whole, "one row for each step, or few")
    for step in (3, 12):
        program.train(*keys, f"steps={step}", "lr.schedule=constant", cwd=cwd,
                      run=f"cut{step}")
        program.resume(f"cut{step}", "steps=18", cwd=cwd)
    program.train(*keys, "steps=18", "lr.schedule=constant", cwd=cwd, run="constant")
    for step in (3, 12):
        checks.same(told(f"cut{step}"), told("constant"), f"cut after {step} steps")


def numbers(path):
    """All tensors of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: array.array("f", data[8 + length + entry["data_offsets"][0]:
                                        8 + length + entry["data_offsets"][1]])
            for name, entry in header.items()}


def updates(checks, cwd):
    """Without masters as many elements move as rows say; with them nothing is lost."""
    keys = [*CNN, *TINY, "precision=w=e4m3fn,act=fp16,grad=fp16,wgrad=fp16", "scaler=none",
            "lr=0.05", "lr.schedule=constant", "lr.warmup=0"]
    for threads, master in ((1, "off"), (3, "off"), (1, "on")):
        for steps in (0, 1):
            run = f"{master}{threads}-{steps}"
            program.train(*keys, f"master={master}", f"threads={threads}", f"steps={steps}",
                          cwd=cwd, run=run)
            call("export", run, f"out={run}.safetensors", cwd=cwd)
    with open(f"{cwd}/off1-1/numerics.jsonl") as file, open(f"{cwd}/off3-1/numerics.jsonl") as other:
        text = file.read()
        checks.same(other.read(), text, "threads change no count")
    told = [line for line in map(json.loads, text.splitlines()) if "updates" in line][0]["updates"]
    was, now = (numbers(f"{cwd}/off1-{steps}.safetensors") for steps in (0, 1))
    checks.that(len(told) >= 8, f"{told}")
    for name, asked, lost, small in told:
        moved = sum(a != b for a, b in zip(was[name], now[name]))
        checks.same((asked - lost, small), (moved, 0), f"{name}: {asked} asked, {lost} lost; moved")
    checks.that(sum(lost for _, _, lost, _ in told) > 100, "some are lost")
    with open(f"{cwd}/on1-1/numerics.jsonl") as file:
        told = [line for line in map(json.loads, file) if "updates" in line][0]["updates"]
    checks.that(all(lost == 0 for _, _, lost, _ in told), f"nothing is lost with masters: {told}")
    checks.that(sum(small for *_, small in told) > 1000, "but much of it is small")


def in_evaluation(checks, cwd):
    """An evaluation of NaN is told in the log, with its tensor."""
    key = weights(cwd, CNN, "bn2.running_var", lambda i, x: -1e6)
    code, _, err = call("train", *CNN, *TINY[:-1], "steps=4", key, "run.dir=run", cwd=cwd)
    checks.that(code == 0 and "evaluation behind step 3: bn2.out" in err, f"exit {code}: {err}")
    found = why(cwd, "run")
    checks.same((found["death"]["tensor"], found["death"]["kind"], found["verdict"]),
                ("bn2.out", "evaluation", "hurt"), "and by why")
    checks.that(found["death"]["elements"] > 0, f"{found['death']}")


SENT = {
    "too small for e4m3": ["comm.format=e4m3"],
    "too small with room for sums": ["comm.format=e3m0", "scaling=aps", "comm.exact=fc.*"],
    "too small with Kahan's sums": ["comm.format=e3m0", "scaling=aps-tight", "schedule=pairwise",
                                    "comm.kahan=on", "comm.error_feedback=on"],
    "too large": ["comm.format=e4m3fn", "scaling=constant:18", "schedule=hier:2"],
}


def shares(cwd, run, tensor):
    """What became of a tensor at step 0: shares of overflow and underflow."""
    with open(f"{cwd}/{run}/numerics.jsonl") as file:
        rows = [json.loads(line) for line in file]
    found = [row for line in rows if line["step"] == 0 for row in line.get("tensors", [])
             if row[0] == tensor]
    return [count / found[0][2] for count in found[0][3:5]] if found else None


def on_the_wire(checks, cwd):
    """Numbers that died between workers: advice is of the wire, is accepted, and keeps its word."""
    keys = [*CNN, *SMALL, "workers=8", "run.log_every=1"]
    for number, (name, words) in enumerate(SENT.items()):
        run = f"sent{number}"
        call("train", *keys, *words, f"run.dir={run}", cwd=cwd)
        death = why(cwd, run)["death"]
        tensor, options = death["tensor"], death["wire"]["to_try"]
        checks.that(".grad.wire" in tensor and len(options) >= 2, f"{name}: {tensor}, {options}")
        _, out, _ = call("why", run, cwd=cwd)
        checks.that("precision.rules" not in out, f"{name}: no rules for the wire: {out}")
        lost = shares(cwd, run, tensor)
        for i, option in enumerate(options):
            checks.that(option["keys"] in out, f"{name}: {option} stands in the text: {out}")
            other = f"{run}-{i}"
            code, _, err = call("train", *keys, *words, *option["keys"].split(), f"run.dir={other}",
                                cwd=cwd)
            # With one tensor in float32 others may still end the training.
            checks.that(code in (0, 4), f"{name}: {option['keys']}: exit {code}: {err}")
            now = shares(cwd, other, tensor)
            if option["underflow"] is None:
                continue
            told = [option["overflow"], option["underflow"]]
            slack = 1 if "aps2" in option["keys"] else 0.02  # pieces have scales of their own
            checks.that(all(-slack <= a - b <= 0.02 for a, b in zip(now, told)),
                        f"{name}: {option['keys']}: told {told}, became {now}")
            checks.that(sum(now) <= 0.5 * sum(lost), f"{name}: {option['keys']} loses less")


def less_is_known(checks, cwd):
    """Without histograms there are still options, without sums or a configuration still a story."""
    keys = [*CNN, *SMALL, "workers=8", "comm.format=e4m3", "run.histogram_every=0"]
    program.train(*keys, cwd=cwd)
    options = why(cwd, "run")["death"]["wire"]["to_try"]
    checks.that({"scaling=aps", "comm.error_feedback=on"} <= {option["keys"] for option in options},
                f"options: {options}")
    for i, option in enumerate(options):
        checks.same((option["overflow"], option["underflow"]), (None, None), "nothing is foretold")
        code, _, err = call("train", *keys, *option["keys"].split(), f"run.dir=try{i}", cwd=cwd)
        checks.that(code in (0, 4), f"{option['keys']}: exit {code}: {err}")
    _, out, _ = call("why", "run", cwd=cwd)
    checks.that("no exponents of the gradient were recorded" in out, out)
    path = f"{cwd}/run/numerics.jsonl"
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    for line in lines:  # as versions wrote them that did not count sums
        line["tensors"] = [row for row in line.get("tensors", []) if not row[0].endswith(".sum")]
    with open(path, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines if line["tensors"])
    with open(f"{cwd}/run/config.resolved.yaml", "w") as file:
        file.write("comm: {workers: [1,\n")
    code, out, err = call("why", "run", cwd=cwd)
    checks.that(code == 0 and ".grad.wire" in out and "To try" not in out and
                "Its sums" not in out, f"exit {code}: {out}{err}")


def listed(checks, cwd):
    """A glob names many tensors: a line each, of all steps."""
    program.train(*CNN, *SMALL, "workers=4", "comm.format=e3m0", "scaling=aps", "run.log_every=1",
                  cwd=cwd)
    with open(f"{cwd}/run/numerics.jsonl") as file:
        rows = [row for line in map(json.loads, file) for row in line.get("tensors", [])]
    code, out, err = call("why", "run", "*wire*", "--json", cwd=cwd)
    found = {row["tensor"]: row for row in json.loads(out)["tensors"]}
    checks.same((code, sorted(found)), (0, sorted({row[0] for row in rows if "wire" in row[0]})),
                f"all that it names: {err}")
    for name, row in found.items():
        counted = [sum(column) for column in zip(*(r[2:5] for r in rows if r[0] == name))]
        checks.same([row["format"], row["elements"], row["overflow"], row["underflow"]],
                    ["e3m0", counted[0], counted[1] / counted[0], counted[2] / counted[0]], name)
    code, out, _ = call("why", "run", "conv?.weight.grad.wire", cwd=cwd)
    lines = [line.split() for line in out.splitlines() if ".wire" in line]
    checks.same([line[:2] for line in lines],
                [[f"conv{i}.weight.grad.wire", "e3m0"] for i in (3, 2, 1)], f"as a table: {out}")
    code, _, err = call("why", "run", "*wier*", cwd=cwd)
    checks.that(code == 2 and "no tensor that '*wier*' names" in err, f"nothing is named: {err}")


def shares_of_nonzero(checks, cwd):
    """What was zero before cannot be lost; what got nothing but zeros is told with the death, and not as a loss."""
    program.train(*CNN, *SMALL, "precision=e4m3", cwd=cwd)
    found = why(cwd, "run")
    death, gone = found["death"], found["gone"]
    before = death["elements"] - death["zero"] + death["underflow"]
    checks.same((death["tensor"], death["role"]), ("relu3.out.grad", "produced"), "its rounding lost them")
    checks.that(0 < death["underflow"] == before < death["elements"], f"all that were not zero: {death}")
    with open(f"{cwd}/run/numerics.jsonl") as file:
        rows = [row for line in map(json.loads, file) if line["step"] == 0 for row in line.get("tensors", [])]
    zero = {row[0] for row in rows if row[6] == row[2]}
    checks.that(len(gone) > 8 and set(gone) <= zero and death["tensor"] not in gone, f"{gone}, all zero: {zero}")
    _, out, _ = call("why", "run", cwd=cwd)
    share = f"{100.0 * death['underflow'] / death['elements']:.3g} % of {death['elements']}"
    checks.that(f"all of its nonzero numbers ({share}; the rest was zero before) are too small for e4m3" in out,
                f"{share}: {out}")
    checks.that(f"No gradient reaches bn3.out: bn3.out.grad and {len(gone) - 1} tensors more behind it are all zero.\n"
                in out, f"{len(gone)} gone: {out}")
    checks.that(not any(line.startswith("  step") and " zero " in line for line in out.splitlines()), f"once: {out}")
    program.train(*CNN, *SMALL, rule("conv1.weight.grad", UNDER), cwd=cwd, run="last")
    checks.same((why(cwd, "last")["gone"], "reaches" in call("why", "last", cwd=cwd)[1]), ([], False), "nothing behind")


def began_with(checks, cwd):
    """A run that diverged is told from the first loss in time on, though a later one took more."""
    early, late = f"conv1.weight.grad: {UNDER}", f"conv2.out: {UNDER}"
    run = [*CNN, *TINY, "lr.schedule=constant"]
    program.train(*run, "steps=3", f"precision.rules=['{early}']", cwd=cwd)
    call("resume", "run", "steps=6", f"precision.rules=['{early}', '{late}']", cwd=cwd)
    code, _, err = call("resume", "run", "steps=9", f"precision.rules=['{early}', '{late}', 'fc.out: {OVER}']", cwd=cwd)
    checks.same(code, 4, f"it diverges: {err}")
    found = why(cwd, "run")
    checks.same((found["death"]["tensor"], found["death"]["step"], found["end"]["tensor"], found["end"]["step"]),
                ("conv1.weight.grad", 0, "fc.out", 6), "its begin and its end")
    checks.same(found["losses"][0]["tensor"], "conv2.out", "the worst is told, too")
    _, out, _ = call("why", "run", cwd=cwd)
    places = [out.find(words) for words in ("What went wrong first:\nconv1.weight.grad, step 0: ",
                                            "The training ended later with:\nfc.out, step 6: ", "  step 3      conv2.out")]
    checks.that(-1 < places[0] < places[1] < places[2], f"in this order: {places}: {out}")


def collapsed(checks, cwd):
    """A metric at guessing level is said, whether numbers died or not."""
    for name, words in (("rounded", ["precision=e2m3"]), ("plain", ["lr=1e-9", "lr.schedule=constant"])):
        program.train(*CNN, *TINY, "data.test_limit=300", "steps=12", *words, cwd=cwd, run=name)
        with open(f"{cwd}/{name}/result.json") as file:
            reason = json.load(file).get("collapsed", "none")
        _, out, _ = call("why", name, cwd=cwd)
        checks.same(why(cwd, name)["collapsed"], reason, f"{name}: the result's word")
        checks.that("accuracy ended at guessing level, " in reason and f" It collapsed: {reason}.\n" in out,
                    f"{name}: {reason}: {out}")
        checks.same("What went wrong first:\n" in out, name == "rounded", f"{name}: {out}")
        checks.same("has other causes than formats: " in out, name == "plain", f"{name}: {out}")


def nothing_died(checks, cwd):
    """Tensors with a scale of their own have no end to come near; without rounding nothing is near anything."""
    for precision, words in (("e4m3fn:scale=current", "Every tensor has a scale of its own (scale=current)"),
                             ("mxfp8", "Every format is scaled to its numbers"),
                             ("fp32", "Nothing is rounded: every tensor is float32."), ("bf16", "Closest to overflow: ")):
        program.train(*CNN, *SMALL, f"precision={precision}", cwd=cwd, run=precision)
        _, out, _ = call("why", precision, cwd=cwd)
        checks.that(words in out and "range of its own" not in out, f"{precision}: {out}")
        closest = why(cwd, precision)["closest"]
        lost = f"{100.0 * closest['underflow_share']:.3g} % of its nonzero numbers"
        checks.same(lost in out, closest["underflow_tensor"] is not None, f"{precision}: {lost}: {out}")
    program.train(*CNN, *SMALL, "steps=0", "precision=fp16", cwd=cwd, run="none")
    checks.that("Nothing is rounded" not in call("why", "none", cwd=cwd)[1], "without steps nothing is known")
    program.train(*CNN, *SMALL, "precision=fp16", "scaler=dynamic", "scaler.init=1e30", "scaler.backoff=0.9", "steps=2",
                  cwd=cwd, run="skipped")
    _, out, _ = call("why", "skipped", cwd=cwd)
    checks.that("Every recorded step was skipped, " in out and "scale=current" not in out, f"nothing is claimed: {out}")


def bad_folders(checks, cwd):
    program.train(*CNN, *SMALL, cwd=cwd)
    code, _, err = call("why", "nothing", cwd=cwd)
    checks.that(code == 3 and "no run folder" in err, err)
    code, _, err = call("why", "run", "conv1.uot", cwd=cwd)
    checks.that(code == 2 and "conv1.out" in err, err)
    code, _, err = call("why", "run", "format=fp17", cwd=cwd)
    checks.that(code == 2 and "fp16" in err, err)
    code, _, err = call("why", "run", "lr=3", cwd=cwd)
    checks.that(code == 2 and "lr.base" in err, err)
    path = f"{cwd}/run/numerics.jsonl"
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text[:-20])
    code, out, _ = call("why", "run", cwd=cwd)
    checks.that(code == 0 and "has no end and is left out" in out, f"a cut line: {out}")
    with open(path, "w") as file:
        file.write("{}\n" + text)
    for verb in ("why", "stats"):
        code, _, err = call(verb, "run", cwd=cwd)
        checks.that(code == 3 and "numerics.jsonl, line 1: step" in err, f"{verb}: {err}")
    os.remove(path)
    code, _, err = call("stats", "run", cwd=cwd)
    checks.that(code == 3 and "numerics.jsonl" in err, err)


if __name__ == "__main__":
    program.main(planted, later, alive, ends_with_a_skip, by_design, ranked, held, updates, in_evaluation,
                 on_the_wire, less_is_known, listed, shares_of_nonzero, began_with, collapsed, nothing_died, bad_folders)
