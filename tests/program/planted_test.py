"""`why` and the truth: short runs with one planted failure each must be named rightly, and no sound run may be said to be hurt.

A failure is right if tensor (or product), kind and step are those that were planted. Prints the table.
"""
import json
import os
import re
import time

import program
from program import call
from why_test import edit

DATA = ["data=glyphs", "data.limit=300", "data.test_limit=64", "batch=32", "threads=1", "run.quiet=on"]
CNN = ["model=cnn-s", "model.width=0.25"]
R20 = ["model=resnet20", "model.width=0.25"]
SQUEEZE = ["model=squeezenet", "model.width=0.1"]
MOBILE = ["model=mobilenet-v2", "model.width=0.1"]
DAVID = ["model=davidnet", "model.width=0.1"]
CODER = ["model=autoencoder"]
OVER, UNDER = "e5m2:bias=70", "e2m3:bias=-40"  # at most 2^-55, at least 2^38
SATURATES, NAN = "e2m3:bias=60", "e4m3fn:bias=70:ovf=nan"
CLIPS = "e2m3:bias=5"  # at most 0.47
CONSTANT = "lr.schedule=constant"
LOST = {"underflow", "zero"}
ENDED = {"overflow", "infinity", "nan"}


def rule(tensor, text):
    return f"precision.rules=[\"{tensor}: {text}\"]"


def sums(product, text, *words):
    return [f"accumulator.rules=[\"{product}: {text}\"]", "accumulator.count_every=5", *words]


def later(step, *words):
    """The words of a run that goes on behind so many sound steps."""
    return {"step": step, "words": [*words]}


# name: model, words of the run (a tuple: a weight is changed; later: from a step on), steps,
# what must be named (a pattern), kinds, step (or the first and the last that it may be)
PLANTED = {
    # too large for the format, in the forward pass
    "activation to infinity": (CNN, [rule("conv2.out", OVER)], 10, "conv2.out", {"overflow"}, 0),
    "activation to infinity, residual": (R20, [rule("layer2.1.conv1.out", OVER)], 10, "layer2.1.conv1.out", {"overflow"}, 0),
    "activation to infinity, fire": (SQUEEZE, [rule("fire4.squeeze.bn.out", OVER)], 4, "fire4.squeeze.bn.out", {"overflow"}, 0),
    "activation to infinity, inverted": (MOBILE, [rule("layer2.0.conv2.out", OVER)], 4, "layer2.0.conv2.out", {"overflow"}, 0),
    "code to infinity": (CODER, [rule("code.out", OVER)], 10, "code.out", {"overflow"}, 0),
    "activation to NaN": (DAVID, [rule("layer1.conv.out", NAN)], 6, "layer1.conv.out", {"overflow"}, 0),
    "logits to NaN": (R20, [rule("fc.out", NAN)], 6, "fc.out", {"overflow"}, 0),
    "input to infinity": (CNN, [rule("input", OVER), "precision=fp16"], 10, "input", {"overflow"}, 0),
    "weight to NaN": (R20, [rule("layer3.0.conv2.weight", NAN), "precision=fp16"], 6, "layer3.0.conv2.weight", {"overflow"}, 0),
    "activation to infinity from step 12": (CNN, later(12, rule("bn2.out", OVER)), 20, "bn2.out", {"overflow"}, 12),
    "activation to infinity from step 7": (R20, later(7, rule("layer1.2.relu2.out", OVER)), 12, "layer1.2.relu2.out", {"overflow"}, 7),
    # saturated
    "activation saturates": (CNN, [rule("conv3.out", SATURATES)], 20, "conv3.out", {"saturation"}, 0),
    "activation saturates, residual": (R20, [rule("layer3.1.bn1.out", SATURATES)], 12, "layer3.1.bn1.out", {"saturation"}, 0),
    "activation saturates, fire": (SQUEEZE, [rule("fire3.expand3x3.bn.out", SATURATES)], 6, "fire3.expand3x3.bn.out", {"saturation"}, 0),
    "weights saturate": (MOBILE, [rule("layer3.0.conv1.weight", SATURATES)], 6, "layer3.0.conv1.weight", {"saturation"}, 0),
    "half of the input is clipped": (CNN, [rule("input", CLIPS)], 20, "input", {"saturation"}, 0),
    "picture saturates": (CODER, [rule("picture.out", SATURATES)], 20, "picture.out", {"saturation"}, 0),
    "saturates from step 20": (CNN, later(20, rule("relu2.out", SATURATES)), 40, "relu2.out", {"saturation"}, 20),
    "gradient saturates": (CNN, [rule("bn2.out.grad", SATURATES)], 20, "bn2.out.grad", {"saturation"}, 0),
    # too small
    "activation vanishes": (CNN, [rule("pool1.out", UNDER)], 20, "pool1.out", LOST, 0),
    "activation vanishes, residual": (R20, [rule("layer1.1.conv2.out", UNDER)], 12, "layer1.1.conv2.out", LOST, 0),
    "activation vanishes, inverted": (MOBILE, [rule("layer1.0.conv3.out", UNDER)], 6, "layer1.0.conv3.out", LOST, 0),
    "code vanishes": (CODER, [rule("code.out", UNDER)], 20, "code.out", LOST, 0),
    "weights vanish": (DAVID, [rule("layer2.conv.weight", UNDER)], 6, "layer2.conv.weight", LOST, 0),
    "input vanishes": (R20, [rule("input", UNDER)], 12, "input", LOST, 0),
    "gradient vanishes": (CNN, [rule("conv3.out.grad", UNDER)], 20, "conv3.out.grad", LOST, 0),
    "gradient vanishes, residual": (R20, [rule("layer2.0.conv2.out.grad", UNDER)], 12, "layer2.0.conv2.out.grad", LOST, 0),
    "gradient of weights vanishes": (CNN, [rule("conv1.weight.grad", UNDER)], 20, "conv1.weight.grad", LOST, 0),
    "gradient vanishes from step 16": (CNN, later(16, rule("relu3.out.grad", UNDER)), 40, "relu3.out.grad", LOST, 16),
    "activation vanishes from step 5": (SQUEEZE, later(5, rule("fire5.cat.out", UNDER)), 10, "fire5.cat.out", LOST, 5),
    "weights vanish from step 10": (CODER, later(10, rule("encode2.weight", UNDER)), 30, "encode2.weight", LOST, 10),
    "gradients in e4m3fn": (CNN, ["precision=e4m3fn", "scaler=none"], 30, r".*\.grad", LOST, (0, 5)),
    "gradients in e4m3fn, residual": (R20, ["precision=e4m3fn", "scaler=none"], 16, r".*\.grad", LOST, (0, 5)),
    "loss scale too small": (CNN, ["precision=fp16", "scaler=constant", "scaler.init=1e-6"], 30, r".*\.grad", LOST, (0, 5)),
    "a gradient as a whole beside some of the input": (CNN, ["precision.rules=['input: e2m3:bias=4','bn3.out.grad: e2m3:bias=-40']"], 30, "bn3.out.grad", LOST, 0),
    "a layer without precision": (CNN, [rule("conv2.*", "e2m3:bias=-40")], 20, "conv2.*", LOST, 0),
    # normalisation weights
    "normalisation weight vanishes": (R20, [rule("layer1.0.bn1.weight", UNDER)], 12, "layer1.0.bn1.weight", LOST, 0),
    "normalisation weight vanishes, cnn": (CNN, [rule("bn2.weight", UNDER)], 20, "bn2.weight", LOST, 0),
    "normalisation weight vanishes from step 8": (R20, later(8, rule("layer2.1.bn2.weight", UNDER)), 16, "layer2.1.bn2.weight", LOST, 8),
    "normalisation weight saturates": (SQUEEZE, [rule("fire2.squeeze.bn.weight", SATURATES)], 6, "fire2.squeeze.bn.weight", {"saturation"}, 0),
    # data, weights and the beginning
    "zero weights": (CNN, [("conv2.weight", lambda i, x: 0.0)], 10, "conv2.weight", {"zero"}, 0),
    "huge weights": (R20, [("layer2.2.conv1.weight", lambda i, x: max(-3e38, min(3e38, x * 1e40)))], 6, "layer2.2.conv1.out", {"infinity"}, 0),
    "huge weights in fp16": (CNN, ["precision=fp16", ("conv2.weight", lambda i, x: x * 1e30)], 6, "conv2.weight", {"overflow"}, 0),
    "tiny weights in fp16": (CNN, ["precision=fp16", ("conv3.weight", lambda i, x: x * 1e-30)], 10, "conv3.weight", LOST, 0),
    "huge normalisation": (R20, [("layer1.0.bn2.weight", lambda i, x: 3e38 if i == 1 else x)], 6, "layer1.0.bn2.out", {"infinity"}, 0),
    "black pictures": (CNN, {"data": lambda i: 0}, 10, "input", {"zero"}, 0),
    # diverged
    "learning rate": (CNN, ["lr=1e6", CONSTANT, "lr.warmup=0"], 30, ".*", ENDED | {"update"}, (0, 5)),
    "learning rate, residual": (R20, ["lr=1e6", CONSTANT, "lr.warmup=0"], 12, ".*", ENDED | {"update"}, (0, 5)),
    "learning rate of a coder": (CODER, ["lr=1e6", CONSTANT, "lr.warmup=0"], 30, ".*", ENDED | {"update"}, (0, 20)),
    "learning rate from step 10": (CNN, later(10, "lr=1e6"), 20, ".*", ENDED | {"update"}, (10, 14)),
    "loss scale too large": (R20, ["precision=fp16", "scaler=constant", "scaler.init=1e30"], 6, "log_softmax.out.grad", {"overflow"}, 0),
    "loss scale too large, cnn": (CNN, ["precision=fp16", "scaler=constant", "scaler.init=1e12"], 40, r".*\.grad", {"overflow"}, (0, 40)),
    "weights decay": (CNN, ["optimizer.weight_decay=6", "lr=0.15", CONSTANT, "optimizer.momentum=0", "optimizer.nesterov=off"], 60, ".*", {"zero"}, (10, 59)),
    # sums
    "sums saturate": (CNN, sums("conv2.forward", "fmac:e2m1:bias=10"), 20, "conv2.forward", {"sums saturated"}, (0, 5)),
    "sums saturate, residual": (R20, sums("layer1.0.conv1.forward", "fmac8:e2m1:bias=10"), 12, "layer1.0.conv1.forward", {"sums saturated"}, (0, 5)),
    "sums of weights' gradients saturate": (CNN, sums("conv1.weight_grad", "fmac:e2m1:bias=30"), 20, "conv1.weight_grad", {"sums saturated", "sums stalled"}, (0, 5)),
    "sums stall": (CNN, sums("*", "fmac:e5m0"), 20, r".*\.(forward|input_grad|weight_grad)", {"sums stalled"}, (0, 15)),
    "sums of a layer stall": (CNN, sums("conv3.input_grad", "fmac:e5m0"), 20, "conv3.input_grad", {"sums stalled"}, (0, 5)),
    "sums are flushed": (CNN, sums("conv3.forward", "fmac:e4m3:sub=n:bias=-20"), 20, "conv3.forward|conv3.out", {"sums flushed", "sums stalled", "zero"}, (0, 5)),
    "sums of gradients are flushed": (R20, sums("layer3.0.conv1.input_grad", "fmac:e4m3:sub=n"), 12, "layer3.0.conv1.input_grad|layer2.2.relu2.out.grad", {"sums flushed", "sums stalled", "zero"}, (0, 5)),
    "sums to infinity": (CNN, sums("conv2.forward", f"fmac:{OVER}"), 10, "conv2.out", {"infinity"}, 0),
    "sums saturate from step 10": (CNN, later(10, *sums("conv3.forward", "fmac:e2m1:bias=8")), 30, "conv3.forward", {"sums saturated"}, (10, 15)),
    # updates
    "updates lost": (CNN, ["precision=w=e4m3fn,act=fp16,grad=fp16,wgrad=fp16", "master=off", "lr=0.001", CONSTANT, "scaler=none"], 40, r".*\.weight", {"update lost"}, (0, 10)),
    "updates lost, residual": (R20, ["precision=w=e4m3fn,act=fp32,grad=fp32,wgrad=fp32", "master=off", "lr=0.001", CONSTANT], 24, r".*\.weight", {"update lost"}, (0, 10)),
    "updates lost in 16 bits": (CODER, ["precision=w=bf16,act=fp32,grad=fp32,wgrad=fp32", "master=off", "lr=1e-6", CONSTANT], 40, r".*\.weight", {"update lost"}, (0, 10)),
    "updates of a layer lost": (SQUEEZE, [rule("fire5.squeeze.conv.weight", "e2m1"), "master=off", "lr=0.01", CONSTANT], 12, "fire5.squeeze.conv.weight", {"update lost", *LOST}, (0, 10)),
    "updates lost from step 20": (CNN, later(20, "lr=1e-6"), 60, r".*\.weight", {"update lost"}, (20, 30)),
    # evaluation
    "variance below zero": (CNN, [("bn2.running_var", lambda i, x: -1e6)], 12, "bn2.out", {"evaluation"}, 9),
    "variance below zero, residual": (R20, [("layer2.0.bn1.running_var", lambda i, x: -1e6 if i == 0 else x)], 8, "layer2.0.bn1.out", {"evaluation"}, 7),
    "variance below zero, inverted": (MOBILE, [("layer4.0.bn2.running_var", lambda i, x: -1e6)], 4, "layer4.0.bn2.out", {"evaluation"}, 3),
    # between workers
    "too small to travel": (CNN, ["workers=8", "comm.format=e4m3"], 12, r".*\.grad\.wire.*", LOST, 0),
    "too large to travel": (CNN, ["workers=4", "comm.format=e4m3fn", "scaling=constant:18"], 12, r".*\.grad\.wire.*", {"saturation", "overflow"}, (0, 1)),
}

# name: model, words, steps
SOUND = {
    "cnn float32": (CNN, [], 40),
    "cnn float32, 5 steps": (CNN, [], 5),
    "cnn 1/6/9": (CNN, ["precision=1/6/9"], 30),
    "cnn hfp8": (CNN, ["precision=hfp8"], 40),
    "cnn fp16, skips": (CNN, ["precision=fp16", "scaler.interval=2"], 40),
    "cnn fp16, skips at the end": (CNN, ["precision=fp16", "scaler.interval=2"], 39),
    "cnn fp16, finds its scale": (CNN, ["precision=fp16", "scaler.init=1e9"], 30),
    "cnn mxfp8": (CNN, ["precision=mxfp8"], 30),
    "cnn mxint8": (CNN, ["precision=mxint8"], 30),
    "cnn nvfp4": (CNN, ["precision=nvfp4"], 30),
    "cnn e5m2": (CNN, ["precision=e5m2"], 30),
    "cnn delayed scales": (CNN, ["precision=e4m3fn:scale=delayed"], 30),
    "cnn scales": (CNN, ["precision=e4m3fn:scale=current"], 30),
    "cnn 8 integer bits": (CNN, ["precision=static:8"], 30),
    "cnn masters of e4m3fn": (CNN, ["precision=w=e4m3fn,act=fp16,grad=fp16,wgrad=fp16"], 30),
    "cnn sums of eight": (CNN, ["accumulator=fmac8:1/6/9", "accumulator.count_every=10"], 30),
    "cnn sums in fp16": (CNN, ["precision=fp16", "accumulator=fmac:fp16", "accumulator.count_every=10"], 30),
    "cnn sums in 1/6/9": (CNN, ["accumulator=fmac:1/6/9", "accumulator.count_every=10"], 30),
    "cnn sums in bf16": (CNN, ["precision=bf16", "accumulator=fmac:bf16", "accumulator.count_every=10"], 30),
    "cnn workers": (CNN, ["workers=4", "comm.format=e5m2", "scaling=aps"], 20),
    "cnn clipped a little": (CNN, [rule("input", "e2m3:bias=4")], 30),
    "cnn promotion": (CNN, ["precision=uniform+promote", "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)"], 20),
    "cnn stochastic": (CNN, ["precision=e5m2", "precision.rounding=sr"], 20),
    "cnn a precision by epoch": (CNN, ["precision.epochs=0: fp32, 1: hfp8"], 30),
    "resnet20 float32": (R20, [], 16),
    "resnet20 hfp8": (R20, ["precision=hfp8"], 16),
    "resnet20 1/6/9": (R20, ["precision=1/6/9"], 16),
    "resnet20 mxfp8": (R20, ["precision=mxfp8"], 16),
    "squeezenet fp16": (SQUEEZE, ["precision=fp16"], 10),
    "squeezenet hfp8": (SQUEEZE, ["precision=hfp8"], 10),
    "mobilenet bf16": (MOBILE, ["precision=bf16"], 6),
    "davidnet fp16": (DAVID, ["precision=fp16"], 10),
    "coder float32": (CODER, [], 40),
    "coder hfp8": (CODER, ["precision=hfp8"], 40),
}


def weights(cwd, model, tensor, change):
    """The key for a model that begins with one changed tensor."""
    name = "base-" + re.sub(r"\W", "", "".join(model))
    if not os.path.exists(f"{cwd}/{name}"):
        program.train(*model, *DATA, "steps=0", cwd=cwd, run=name)
    path = f"{cwd}/{name}-{tensor}.safetensors"
    code, _, err = call("export", name, f"out={path}", cwd=cwd)
    if code != 0:
        raise SystemExit(f"export: {err}")
    edit(path, tensor, change)
    return f"init={path}"


def pictures(cwd, brightness):
    """Data whose pictures are of one colour each."""
    folder = f"{cwd}/pictures"
    os.makedirs(folder)
    for half in ("train", "t10k"):
        with open(f"{folder}/{half}-images-idx3-ubyte", "wb") as file:
            file.write(program.idx([320, 28, 28], b"".join(bytes([brightness(i)]) * 784 for i in range(320))))
        with open(f"{folder}/{half}-labels-idx1-ubyte", "wb") as file:
            file.write(program.idx([320], bytes(i % 10 for i in range(320))))
    return f"data=idx:{folder}"


def run(cwd, number, model, words, steps):
    """Trains, and gives what `why` says."""
    name = f"run{number}"
    keys = [*model, *DATA]
    if isinstance(words, dict) and "step" in words:
        rate = [] if any(word.startswith("lr=") for word in words["words"]) else []
        call("train", *keys, CONSTANT, "lr.warmup=0", *LATER.get(number, rate), f"steps={words['step']}", f"run.dir={name}", cwd=cwd)
        call("resume", name, *words["words"], f"steps={steps}", cwd=cwd)
    else:
        if isinstance(words, dict):
            words = [pictures(cwd, words["data"])]
        words = [weights(cwd, model, *word) if isinstance(word, tuple) else word for word in words]
        call("train", *keys, *words, f"steps={steps}", f"run.dir={name}", cwd=cwd)
    code, out, err = call("why", name, "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"why {name}: exit {code}: {err}")
    return json.loads(out)


LATER = {"updates lost from step 20": ["precision=w=bf16,act=fp32,grad=fp32,wgrad=fp32", "master=off"]}


def tell(death):
    return f"{death['tensor']} {death['kind']} at {death['step']}" if death else "nothing"


def planted(checks, cwd):
    right, begin = 0, time.time()
    for name, (model, words, steps, tensor, kinds, step) in PLANTED.items():
        found = run(cwd, name, model, words, steps)
        death, (first, last) = found["death"], step if isinstance(step, tuple) else (step, step)
        is_right = bool(death and re.fullmatch(tensor, death["tensor"]) and death["kind"] in kinds and
                        first <= death["step"] <= last and found["verdict"] != "fine")
        right += is_right
        print(f"{'right' if is_right else 'WRONG':6}{name:44}{model[0][6:]:14}{found['verdict']:10}{tell(death)}", flush=True)
    print(f"why named the right tensor, kind and step in {right} of {len(PLANTED)} planted failures ({time.time() - begin:.0f} s)")
    checks.that(len(PLANTED) >= 60, f"{len(PLANTED)} plants")
    checks.that(right >= 0.95 * len(PLANTED), f"{right} of {len(PLANTED)} are right")


def sound(checks, cwd):
    alarms = 0
    for name, (model, words, steps) in SOUND.items():
        found = run(cwd, name, model, words, steps)
        is_right = checks.same((found["verdict"], found["death"], found["losses"]), ("fine", None, []), name)
        alarms += not is_right
        print(f"{'right' if is_right else 'WRONG':6}{name:44}{model[0][6:]:14}{found['verdict']:10}{tell(found['death'])}", flush=True)
    print(f"{alarms} false alarms in {len(SOUND)} sound runs")
    checks.that(len(SOUND) >= 15, f"{len(SOUND)} sound runs")


if __name__ == "__main__":
    program.main(planted, sound)
