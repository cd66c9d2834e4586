"""`plan`: its numbers against the models' definitions, its bytes against those of real trainings."""
import json
import os
import re
import resource
import subprocess

import program


def plan(*words, cwd, **more):
    """(JSON, stderr) of a plan that must succeed."""
    code, out, err = program.call("plan", *words, "--json", cwd=cwd, **more)
    if code != 0:
        raise SystemExit(f"plan {' '.join(words)}: exit {code}: {err}")
    return json.loads(out), err


def numbers(checks, cwd):
    """ResNet-18 for CIFAR: parameters, size of the tensor set (Lee et al.), multiply-accumulates."""
    batch = 2
    found, _ = plan("model=resnet18", "precision=hfp8", f"batch={batch}", "threads=1", cwd=cwd)
    parameters, per_sample = 11173962, (543364500 - 2 * 11173962) // 128
    elements = 2 * parameters + batch * per_sample
    checks.same(found["parameters"], parameters, "parameters")
    checks.same(found["macs"], 555422720, "macs")
    checks.same(found["tensor_elements"], elements, "tensor elements")
    ratio = (elements - parameters) / elements
    checks.same(found["low_precision_ratio"], ratio, "low-precision ratio")
    checks.same(found["model_aggregate_bits"], 8 * elements + 8 * parameters, "aggregate")
    checks.same((found["image"], found["classes"]), ([32, 32, 3], 10), "assumed data")
    checks.same(plan("model=cnn-s", cwd=cwd)[0]["image"], [28, 28, 1], "assumed data of cnn-s")
    boxed, _ = plan("model=faster-rcnn", "model.width=0.0625", cwd=cwd)
    checks.same(boxed["image"], [600, 1000, 3], "assumed data of faster-rcnn")
    boxed, _ = plan("model=faster-rcnn", "model.width=0.0625", "data.crop=320", cwd=cwd)
    checks.same(boxed["image"], [320, 320, 3], "assumed data of faster-rcnn by data.crop")


def layers(checks, cwd):
    """Rows add up, convolutions follow from their shapes, formats are those of the rules."""
    found, err = plan("model=resnet20", "model.width=0.5", "precision=hfp8", "batch=4",
                      "precision.rules=[layer1.0.relu1.out: bf16, fc.weight.grad: fp32]", cwd=cwd)
    rows = {row["name"]: row for row in found["layers"]}
    checks.same(len(rows), len(found["layers"]), "names are different")
    for key in ("parameters", "macs"):
        checks.same(sum(row[key] for row in found["layers"]), found[key], f"sum of {key}")
    for row in found["layers"]:
        if row["op"] == "conv2d":
            height, width, _ = row["output"]
            checks.same(row["macs"], height * width * row["parameters"], f"macs of {row['name']}")
        checks.same(row["weight"] is None, row["parameters"] == 0, f"weight of {row['name']}")
    checks.same(rows["layer2.0.conv1"]["output"], [16, 16, 16], "output shape")
    checks.same(rows["layer1.0.relu1"]["activation"], "bf16", "a rule's format")
    checks.same(rows["layer1.0.conv1"]["activation"], "fp(4,3,4)", "activation")
    checks.same(rows["layer1.0.conv1"]["weight"], "fp(4,3,4)", "weight")
    checks.that(rows["layer1.0.conv1"]["gradient"].startswith("e5m2:"), "gradient")
    checks.that(rows["layer1.0.conv1"]["weight_gradient"].startswith("e6m9:"), "weight gradient")
    checks.same(rows["fc.product"]["weight_gradient"], "float32", "gradient that is not rounded")
    warnings = [line[len("warning: "):] for line in err.splitlines() if line.startswith("warning: ")]
    checks.same(found["warnings"], warnings, "warnings on stderr and in the result")
    slow = [row["name"] for row in found["layers"]
            if row["forward_by"].startswith("ref") or row["backward_by"].startswith("ref")]
    checks.same([text.split(":")[0] for text in found["warnings"]], slow, "slow layers are named")
    dense = {row["name"]: row["forward_by"] for row in found["layers"] if row["macs"]}
    checks.same(set(dense.values()), {""}, "dense products are our own")
    if program.has_onednn():
        found, _ = plan("model=resnet20", "run.products=onednn", "batch=4", cwd=cwd)
        named = [row["name"] for row in found["layers"] if row["forward_by"] and row["backward_by"]]
        checks.same(named, list(dense), "products by oneDNN have names")
    strided = {"layer2.0.conv1", "layer3.0.conv1"}
    threes = {name for name in dense if ".conv" in name and "shortcut" not in name} - strided
    wide = (["fp32"], ["bf16"], ["tf32"], ["bf16", "optimizer.state=bf16"], ["bf16", "workers=2", "comm.format=bf16"])
    narrow = (["hfp8"], ["bf16:scale=current"], ["bf16:scale=2^-16"], ["uniform16"], ["bf16", "optimizer.state=fp16"],
              ["bf16", "optimizer.state=[\"conv1.*: fp16\"]"], ["bf16", "workers=2", "comm.format=e5m2"],
              ["bf16", "workers=2", "comm.format=0: fp32, 3: e5m2"])
    for words, expected in [(words, threes) for words in wide] + [(words, set()) for words in narrow]:
        found, _ = plan("model=resnet20", "products=auto", f"precision={words[0]}", *words[1:], "batch=4", cwd=cwd)
        by = {row["name"] for row in found["layers"] if row["forward_by"] == "winograd" == row["backward_by"]}
        checks.same(by, expected, f"products=auto, {words}: Winograd where all keeps float32's range")


def outputs(checks, cwd):
    """What becomes of every layer's output follows from the model, the formats and two keys."""
    shared = ["model=resnet20", "model.width=0.5", "batch=8", "threads=1"]

    def fates(*words):
        found, _ = plan(*shared, *words, cwd=cwd)
        return found, {row["name"]: row for row in found["layers"]}

    def counts(rows):
        named = [row["output_is"] for row in rows.values()]
        return {fate: named.count(fate) for fate in sorted(set(named))}

    found, rows = fates("precision=hfp8")
    checks.same((found["fuse"], found["recompute"]), (True, True), "keys")
    for name, row in rows.items():
        if row["op"] == "conv2d":
            checks.same((row["output_is"], row["output_storage"]), ("saved", "8 bit"), name)
        if row["op"] == "batch_norm":
            checks.same(row["output_is"], "recomputed", name)
        checks.same((row["waits_for_maximum"], row["gradient_waits_for_maximum"]), (False, False),
                    f"{name} waits")
    checks.same(rows["layer2.1.relu1"]["output_is"], "recomputed", "relu inside a block")
    checks.same(rows["layer2.1.relu2"]["output_is"], "saved", "relu at the end of a block")

    found, rows = fates("precision=hfp8", "recompute=off")
    checks.same(found["recompute"], False, "recompute=off")
    checks.same(rows["layer2.1.relu1"]["output_is"], "saved", "recompute=off: relu inside a block")
    checks.same(rows["layer2.1.bn1"]["output_is"], "fused", "recompute=off: one reader")

    usual = found["memory_bytes"]["saved"]["packed"]
    for word, level in (("true", True), ("no", False), ("1", True)):
        found, _ = plan("model=resnet20", f"recompute={word}", "batch=4", cwd=cwd)
        checks.same(found["recompute"], level, f"recompute={word}, as for other switches")

    found, rows = fates("precision=hfp8", "recompute=2")
    checks.same(found["recompute"], 2, "recompute=2")
    for name in ("layer2.0.relu2", "layer2.1.relu2"):
        checks.same(rows[name]["output_is"], "recomputed", f"recompute=2: {name}, the end of a block")
    checks.that(found["memory_bytes"]["saved"]["packed"] < 0.9 * usual, f"recompute=2: {found['memory_bytes']['saved']}")

    found, rows = fates("precision=hfp8", "fuse=off")
    checks.same(found["fuse"], False, "fuse=off")
    checks.that("recomputed" not in counts(rows), f"fuse=off: everything is stored: {counts(rows)}")
    checks.same(rows["layer2.1.bn1"]["output_is"], "transient", "fuse=off: bn")
    checks.same(rows["layer2.1.relu1"]["output_is"], "saved", "fuse=off: relu")

    _, rows = fates("precision=fp32")
    checks.same(rows["layer2.1.conv1"]["output_storage"], "float32", "fp32 storage")
    _, rows = fates("precision.rules=[layer2.1.bn1.out: e4m3fn:scale=current, "
                    "layer3.0.relu1.out.grad: e5m2:scale=current]")
    waiting = [name for name, row in rows.items() if row["waits_for_maximum"]]
    checks.same(waiting, ["layer2.1.bn1"], "who waits for a maximum")
    checks.that(rows["layer2.1.bn1"]["output_is"] in ("saved", "transient"), "it is stored")
    waiting = [name for name, row in rows.items() if row["gradient_waits_for_maximum"]]
    checks.same(waiting, ["layer3.0.relu1"], "whose gradient waits")
    code, out, err = program.call("plan", *shared, "fuse=off", "recompute=off",
                                  "precision.rules=layer2.1.bn1.out: e4m3fn:scale=current",
                                  cwd=cwd)
    checks.same((code, err), (0, ""), "exit code and stderr")
    checks.that(", fuse=off, recompute=off\n" in out, f"the first line names the keys: {out[:200]}")
    checks.that(", waits" in out and "saved float32" in out, "fates in the text")
    code, out, _ = program.call("plan", *shared, cwd=cwd)
    checks.that(code == 0 and "=off" not in out.splitlines()[0], "keys that are on are not named")


def narrow_outputs(checks, cwd):
    """What a bias makes of a float32 product is saved in its 8 bits, and the product is not."""
    for model in ("transformer-lm-s", "deit-s"):
        found, _ = plan(f"model={model}", "precision=hfp8", "batch=2", "threads=1", cwd=cwd)
        wide = [row["name"] for row in found["layers"]
                if row["output_is"] == "saved" and row["output_storage"] == "float32"]
        checks.same([name for name in wide if name.endswith(".product")], [], f"{model}: products")
    rows = {row["name"]: row for row in found["layers"]}
    checks.same(rows["blocks.0.fc1.product"]["output_is"], "fused", "a product before its bias")
    checks.same((rows["blocks.0.fc1"]["output_is"], rows["blocks.0.fc1"]["output_storage"]),
                ("saved", "8 bit"), "the bias, which the GELU reads again")


def bytes_are_those_of_a_training(checks, cwd):
    """Predicted = measured, by role: `train` checks its ledger against the allocator itself."""
    shared = ["data=glyphs", "data.limit=96", "data.test_limit=16", "batch=16", "steps=2"]
    for case, words in enumerate((["model=cnn-s", "precision=hfp8", "threads=1"],
                                  ["model=cnn-s", "precision=mxfp8", "threads=2", "run.chunk=5"],
                                  ["model=cnn-s", "optimizer=adam", "optimizer.accumulate=2"],
                                  ["model=cnn-s", "precision=hfp8", "accumulator=fmac8:1/6/9"],
                                  ["model=resnet20", "model.width=0.5", "precision=hfp8",
                                   "threads=2"],
                                  ["model=resnet20", "model.width=0.5", "threads=2",
                                   "products=winograd"],
                                  ["model=resnet20", "model.width=0.5", "threads=1"])):
        found, _ = plan(*shared, *words, cwd=cwd)
        for storage in ("packed", "float32"):
            run = program.train(*shared, *words, f"storage={storage}", cwd=cwd,
                                run=f"run{case}{storage}")
            planned = {role: both[storage] for role, both in found["memory_bytes"].items()}
            checks.same(planned, run["ledger_bytes"], f"{words} storage={storage}")
            checks.same(found["parameters"], run["parameters"], f"{words}: parameters")
            checks.same(found["warnings"], run["warnings"], f"{words}: warnings")
    sizes = found["memory_bytes"]["total"]
    checks.that(sizes["packed"] == sizes["float32"], "fp32 is the same in both storages")
    found, _ = plan("model=resnet20", "model.width=0.5", "precision=hfp8", "batch=16", cwd=cwd)
    sizes = found["memory_bytes"]["activations"]
    checks.that(sizes["packed"] < 0.3 * sizes["float32"], f"packed activations are small: {sizes}")


def bytes_of_schedules_of_bits(checks, cwd):
    """The same of bits by layer and step; what waits for the backward pass has the layers' bits."""
    shared = ["model=resnet20", "model.width=0.25", "data=glyphs", "data.limit=96",
              "data.test_limit=16", "batch=24", "steps=4", "threads=2"]
    saved = {}
    for case, words in enumerate((["precision=static:8"], ["precision=static:4"],
                                  ["precision=cpt:3-8", "bits.cycles=2"],
                                  ["precision=pfq:3-6", "bits.interval=1"],
                                  ["precision=ldp:3-8"],
                                  ["precision=ldp:6-8", "bits.kind=float", "bits.exponent=4",
                                   "workers=2"],
                                  ["precision=staged", "bits.stages=[0: 4, 2: 12]",
                                   "bits.per=step"])):
        found, _ = plan(*shared, *words, cwd=cwd)
        saved[words[0]] = found["memory_bytes"]["saved"]
        for storage in ("packed", "float32"):
            run = program.train(*shared, *words, f"storage={storage}", cwd=cwd,
                                run=f"bits{case}{storage}")
            planned = {role: both[storage] for role, both in found["memory_bytes"].items()}
            checks.same(planned, run["ledger_bytes"], f"{words} storage={storage}")
    plain = plan(*shared, "precision=fp32", cwd=cwd)[0]["memory_bytes"]["saved"]["packed"]
    for precision, share in (("static:8", 0.85), ("static:4", 0.8), ("cpt:3-8", 0.85),
                             ("ldp:3-8", 0.95)):
        sizes = saved[f"precision={precision}"]
        checks.that(sizes["packed"] < share * plain, f"{precision}: {sizes}, fp32 {plain}")
    stored = plan(*shared, "precision=static:8", "recompute=off", cwd=cwd)[0]["memory_bytes"]
    checks.that(stored["saved"]["packed"] > saved["precision=static:8"]["packed"],
                "inputs inside blocks are made again")
    less = [saved[f"precision={name}"]["packed"] for name in ("static:4", "pfq:3-6", "cpt:3-8")]
    checks.that(less[0] < less[1] < less[2], f"4 bits, up to 6, up to 8: {less}")
    checks.same(saved["precision=cpt:3-8"], saved["precision=static:8"], "room for the most bits")
    code, out, err = program.call("plan", "model=resnet20", "precision=static:8", "batch=4", cwd=cwd)
    checks.same((code, err), (0, ""), "exit code and stderr")
    for part in ("bitops: ", "memory in MiB", "activations"):
        checks.that(part in out, f"{part!r} in the text of a schedule")


def text(checks, cwd):
    code, out, err = program.call("plan", "model=resnet20", "precision=hfp8", "batch=4", cwd=cwd)
    checks.same((code, err), (0, ""), "exit code and stderr")
    for part in ("layer1.0.conv1 ", "  32x32x16  ", "272,474", "* e5m2:specials=fin:ovf=inf\n",
                 "memory in MiB", "activations"):
        checks.same(part in out, True, f"{part!r} in the text")
    checks.same(out.count("* e5m2:specials=fin:ovf=inf\n"), 1, "a format is explained once")
    checks.same(max(len(line) for line in out.splitlines()) <= 132, True, "width of the text")


def assumed(checks, cwd):
    """Without data=: the model's own pictures, or those that were asked for; what was assumed is said."""
    for words, image, said in (
            (["model=ssd-s"], [120, 160, 3], "image size and classes are"),
            (["model=faster-rcnn-s"], [120, 160, 3], "image size and classes are"),
            (["model=fcn-s", "data.classes=11"], [120, 160, 3], "the size of the images is"),
            (["model=resnet50", "data.size=224", "batch=1"], [224, 224, 3], "the number of classes is"),
            (["model=ssd300", "data.size=600", "model.width=0.1"], [600, 600, 3], "the number of classes is"),
            (["model=ssd-s", "data.size=60"], [60, 80, 3], "the number of classes is"),
            (["model=ssd-s", "data.size=60", "data.crop=64"], [64, 64, 3], "the number of classes is"),
            (["model=resnet20", "data.size=48", "data.classes=7"], [48, 48, 3], "the number of samples is")):
        found, _ = plan(*words, cwd=cwd)
        checks.same(found["image"], image, f"{words}")
        checks.that(found["assumed"].startswith(f"no data=: {said} assumed"), f"{words}: {found['assumed']}")
        code, out, _ = program.call("plan", *words, cwd=cwd)
        checks.that(code == 0 and found["assumed"] in out.splitlines(), f"{words}: said in the text")
    for words, image, macs_of, parameters in (
            (["model=deepspeech2"], [1000, 161, 1], None, 115361533),
            (["model=deepspeech2-mandarin", "data.frames=60"], [60, 161, 1], None, 203117104),
            (["model=transformer-lm", "batch=1"], [3072, 0, 0], None, 246933504),
            (["model=ds2-s"], [160, 81, 1], 32373120, 177459),
            (["model=bert-tiny-s"], [64, 0, 0], 27262976 + 10 * 128 * (128 + 7270) + 128 * 130, 1376616),
            (["model=bert-tiny"], [128, 0, 0], 58720256 + 78464000 + 128 * 130, 4433468),
            (["model=bert-base"], [128, 0, 0], 11173625856 + 480614400 + 768 * 770, 110106428),
            (["model=transformer-lm-s", "data.classes=100", "data.length=9"], [9, 0, 0], None, 1723136 - 7166 * 128)):
        found, _ = plan(*words, cwd=cwd)
        checks.same((found["image"], found["parameters"]), (image, parameters), f"{words}")
        checks.that(macs_of in (None, found["macs"]), f"{words}: {found['macs']}")
        checks.that("lengths and classes that are not said are assumed" in found["assumed"], f"{words}: what is assumed")
    street, _ = plan("model=fcn-s", "data.classes=11", cwd=cwd)
    checks.same((street["macs"], street["parameters"]), (497913600, 387862), "fcn-s of the size of CamVid")
    checks.that("data.size=224 data.classes=1000 for ImageNet's" in plan("model=resnet50", cwd=cwd)[0]["assumed"],
                "what the model was published for")
    for model in ("lstm-lm-s", "biglstm-s"):
        code, out, err = program.call("plan", f"model={model}", "precision=ldp:4-8", "steps=10", cwd=cwd)
        checks.same(code, 0, f"{model}: as many streams as the recipe's batch has samples: {err}")
        checks.that("memory in MiB" in out, f"{model}: {out}")
    named, _ = plan("model=ssd-s", f"data=boxes:{program.write_boxes(cwd)}", cwd=cwd)
    checks.that("assumed" not in named, "nothing is assumed of data that is there")


def without_memory(checks, cwd):
    """A plan allocates no arena, of however many bytes; a training says what wanted them."""
    if program.sanitizer():
        print("skipped: a limit of memory (sanitizers need terabytes of addresses)")
        return

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    words = ["model=resnet18", "batch=8192", "run.chunk=16", "threads=1"]
    found, _ = plan(*words, "precision=hfp8", cwd=cwd, preexec_fn=limited)
    checks.that(found["memory_bytes"]["arena"]["float32"] > 16 << 30, "more than the process may have")
    code, _, err = program.call("train", *words, "data=glyphs", "data.limit=8192", "steps=1", "run.dir=none", cwd=cwd,
                                preexec_fn=limited)
    checks.that(code == 5 and "the arena of 8192 samples in chunks of 16 on 1 threads; a smaller batch=" in err,
                f"{code}: {err}")


def without_touching(checks, cwd):
    """Weights and sums of squares of a plan are addresses alone: its process holds a small part of their bytes."""
    if program.sanitizer():
        print("skipped: held memory (sanitizers hold more)")
        return
    for more in ([], ["precision=fp16", "precision.master=off"]):
        words = [program.HALFULP, "plan", "model=biglstm", *more, "--json"]
        with subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE) as made:
            found = json.loads(made.stdout.read())
            _, status, used = os.wait4(made.pid, 0)
            made.returncode = os.waitstatus_to_exitcode(status)
        checks.same(made.returncode, 0, f"{more}: exit code")
        checks.that(found["memory_bytes"]["optimizer"]["float32"] > 6 << 30, f"{found['memory_bytes']['optimizer']}")
        checks.that(used.ru_maxrss < 256 << 10, f"{more}: {used.ru_maxrss} KiB held")


def without_promises(checks, cwd):
    """Nor need the machine have what a plan counts: weights of half a terabyte."""
    if program.sanitizer():
        print("skipped: addresses without memory (sanitizers have an allocator of their own)")
        return
    found, _ = plan("model=resnet50", "model.width=64", cwd=cwd)
    checks.that(found["memory_bytes"]["masters"]["float32"] >= 4 * found["parameters"], "weights")
    checks.that(found["parameters"] > 90e9, f"{found['parameters']} parameters")


def scratch_is_explained(checks, cwd):
    """Packed storage of large pictures needs more than float32; no ratio to what is shown as nothing."""
    _, out, _ = program.call("plan", "model=fcn-s", "precision=hfp8", "threads=2", cwd=cwd)
    checks.that("scratch: every thread unpacks what it reads of a chunk" in out, out[-800:])
    rows = [line.split() for line in out.split("memory in MiB")[1].splitlines()[2:] if line]
    for row in rows:
        if row[-2] == "0.00":
            checks.same(row[-1], "-", f"{row}")
    _, out, _ = program.call("plan", "model=resnet20", "precision=hfp8", "threads=1", "run.chunk=1", cwd=cwd)
    checks.that("scratch: every thread" not in out, "nothing to explain")


def classes(checks, cwd):
    """The classes of what the task learns stand in the first line, none where it learns quantities."""
    maps, boxes = program.write_maps(cwd), program.write_boxes(cwd)
    for words, count in ((["model=faster-rcnn", "model.width=0.0625", "data.crop=320"], 20),
                         (["model=ssd-s"], 20), (["model=fcn-s", "data.classes=7"], 7),
                         (["model=resnet20", "data.classes=7"], 7), (["model=pan-s"], 0),
                         (["model=dcgan-s"], 0), (["model=cvae"], 0),
                         (["model=fcn-s", f"data=dense:{maps}", "data.unlabelled=9"], 3),
                         (["model=ssd-s", f"data=boxes:{boxes}"], 2)):
        said = f" images, {count} classes" if count else " images"
        for more in ([], ["precision=ldp:3-8", "steps=10"], ["nodes=2"]):
            if "gan" in words[0] and more[:1] == ["precision=ldp:3-8"]:
                continue
            checks.same(plan(*words, *more, cwd=cwd)[0]["classes"], count, f"{words} {more}: JSON")
            code, out, _ = program.call("plan", *words, *more, cwd=cwd)
            line = out.splitlines()[-2 if more == ["nodes=2"] else 0]
            found = re.search(r"x\d( images(?:, \d+ classes)?)[,:] ?(?:batch|[\d,]+ gradients)", line)
            checks.same((code, found and found[1]), (0, said), f"{words} {more}: {line}")
    found, _ = plan("model=faster-rcnn", "model.width=0.0625", "data.crop=320", cwd=cwd)
    rows = {row["name"]: row for row in found["layers"]}
    checks.same(rows["cls"]["output"][-1], 21, "the head has the ground as well")


def network(checks, cwd):
    """nodes= predicts times on a network, of a ResNet-50 as SimGrid has them (docs/results/workers.md)."""
    words = ["model=resnet50", "data.crop=224", "data.classes=1000", "nodes=256", "link=10G",
             "latency=10us", "format=e5m2,e3m0"]
    found, err = plan(*words, cwd=cwd)
    checks.same(err, "", "stderr")
    checks.same((found["parameters"], found["tensors"], found["nodes"]), (25557032, 161, 256),
                "what travels, and between whom")
    checks.same(len(found["rows"]), 6 * 3 * 4, "schedules, fusions, formats")
    rows = {(r["schedule"], r["format"]): r for r in found["rows"] if r["fusion"] == "whole"}
    for way, milliseconds in {("ring", "e5m2"): 53.69, ("ring", "fp16"): 96.46,
                              ("ring", "fp32"): 181.83, ("halving", "e5m2"): 43.30,
                              ("hier:16", "e5m2"): 120.93, ("hier2d:16", "e5m2"): 44.22}.items():
        ratio = 1e3 * rows[way]["predicted_seconds"] / milliseconds
        checks.that(abs(ratio - 1) < 0.06, f"{way}: {ratio}")
    checks.same([rows["ring", f]["steps"] for f in ("e5m2", "fp32")], [510, 510], "steps")
    checks.that(all(r["seconds"] == r["predicted_seconds"] + r["work_seconds"]
                    for r in found["rows"]), "seconds are those of the network and of the processor")
    checks.same({r["format"] for r in found["rows"] if r["all_zero"]}, {"e3m0"}, "lost formats")
    checks.same((rows["ring", "fp16"]["pays"], rows["ring", "e3m0"]["pays"]), (False, False),
                "what cannot pay")
    layers = next(r for r in found["rows"] if (r["schedule"], r["format"], r["fusion"]) ==
                  ("ring", "e5m2", "layer"))
    checks.that(layers["predicted_seconds"] > 5 * rows["ring", "e5m2"]["predicted_seconds"],
                "layer by layer a ring waits for its latency")
    # All latency: agreeing upon exponents takes longer than the bytes that it saves.
    slow = ["model=cnn-s", "nodes=256", "latency=100us"]
    checks.that(plan(*slow, cwd=cwd)[0]["verdict"].startswith("compression will not pay: at best"),
                "a small model")
    code, out, err = program.call("plan", *words, "model=resnet20", "data.crop=32", cwd=cwd)
    checks.same((code, err), (0, ""), "exit code and stderr of the text")
    for part in ("256 nodes, 10 Gbit/s and 10 us", "from 64 nodes on", "MiB held, sent", "halving  "):
        checks.that(part in out, f"{part!r} in the text")
    checks.same(max(len(line) for line in out.splitlines() if "from 64" not in line) <= 132, True,
                "width of the text")


def network_baseline(checks, cwd):
    """What few bits must beat hangs on no scaling; formats of one width are told together."""
    for scaling in ("aps", "aps2"):
        found, _ = plan("model=cnn-s", "nodes=64", f"scaling={scaling}", "format=e5m2,e4m3",
                        cwd=cwd)
        ways = {(r["schedule"], r["fusion"], r["format"]): r for r in found["rows"]}
        for name in ("ring", "halving"):
            there = [f for f in ("fp32", "fp16", "e5m2", "e4m3") if (name, "whole", f) in ways]
            checks.same(there, ["fp32", "fp16", "e5m2", "e4m3"][:2 if scaling == "aps2" else 4],
                        f"{scaling}: formats of {name}")
        wide = min((r for r in found["rows"] if r["format"] in ("fp32", "fp16")),
                   key=lambda r: r["seconds"])
        checks.same(wide["schedule"], "halving", "the fastest way of all for few numbers")
        narrow = min((r for r in found["rows"] if r["format"] in ("e5m2", "e4m3")),
                     key=lambda r: r["seconds"])
        checks.that(f"e5m2 or e4m3 takes {1e3 * narrow['seconds']:.4g} ms" in found["verdict"] and
                    f"{wide['format']} takes {1e3 * wide['seconds']:.4g} ms (halving, " in found["verdict"],
                    found["verdict"])
        for way, row in ways.items():
            if way[2] == "e4m3":
                checks.same(row["seconds"], ways[*way[:2], "e5m2"]["seconds"], f"{way}: as e5m2")
    alone, _ = plan("nodes=1", cwd=cwd)
    checks.same((alone["pays"], alone["verdict"]),
                (False, "compression will not pay: one node sends nothing"), "one node")
    checks.same({r["pays"] for r in alone["rows"]}, {False}, "nothing pays on one node")
    _, out, _ = program.call("plan", "model=cnn-s", "nodes=64", "scaling=aps2", cwd=cwd)
    checks.that(re.search("^ring .* -  *-$", out, re.MULTILINE), out)


def network_words(checks, cwd):
    """The keys of a training, and the words of comm, ask the same."""
    words = ["nodes=64", "link=1G"]

    def ways(*more):
        found, _ = plan(*words, *more, cwd=cwd)
        return [(r["schedule"], r["fusion"], r["format"], r["predicted_seconds"])
                for r in found["rows"]]

    wanted = ways("format=e4m3,e3m0")
    checks.same(ways("comm.format=e4m3,e3m0", "workers=64"), wanted, "comm.format, workers=")
    checks.same(ways("format=e5m2", "comm.format=e4m3,e3m0"), wanted, "comm.format wins")
    checks.same(ways("comm.format=e4m3, fp16, e3m0, fp32"), wanted, "fp32 and fp16 are there")
    code, out, err = program.call("plan", *words, "workers=8", cwd=cwd)
    checks.same((code, out), (2, ""), "workers that are not the nodes")
    checks.that("found 8 beside nodes=64" in err, err)


def network_model(checks, cwd):
    """What is planned stands beside the verdict: a model has other sizes for other data."""
    def last(*words):
        code, out, err = program.call("plan", "nodes=64", *words, cwd=cwd)
        checks.same((code, err), (0, ""), f"plan nodes=64 {words}")
        return out.splitlines()[-2:]

    hint = "; data.crop=224 data.classes=1000 for ImageNet's"
    small = "resnet50 for 32x32x3 images, 10 classes: 23,520,842 gradients"
    large = "resnet50 for 224x224x3 images, 1000 classes: 25,557,032 gradients"
    checks.same(last("model=resnet50")[0], small + hint, "as assumed")
    checks.same(last("model=resnet50", "data.crop=224", "data.classes=1000")[0], large, "as said")
    grey, verdict = last()
    checks.same(grey, "cnn-s for 28x28x1 images, 10 classes: 24,058 gradients", "a grey model")
    checks.that(verdict.startswith("compression "), verdict)
    found, _ = plan("nodes=64", "model=resnet50", "data.classes=100", cwd=cwd)
    checks.same((found["image"], found["classes"]), ([32, 32, 3], 100), "the same as JSON")
    _, out, _ = program.call("plan", "--help", cwd=cwd)
    for word in ("nodes=N", "link=10G", "latency=10us"):
        checks.that(word in out, f"{word} in the help of plan")


def network_errors(checks, cwd):
    for words, part in [(["nodes=8", "precision=hfp8"], "precision.name"),
                        (["nodes=8", "link=ten"], "10G"), (["nodes=-1"], "cluster.nodes"),
                        (["nodes=8", "format=e9m9"], "exponent"),
                        (["nodes=8", "scaling=apz"], "aps")]:
        code, out, err = program.call("plan", *words, "--json", cwd=cwd)
        checks.same((code, out), (2, ""), f"plan {words}: exit code and stdout ({err})")
        checks.that(part in err, f"plan {words}: {err!r}")


def errors(checks, cwd):
    for words, exit_code, part in [(["format=e4m3"], 2, "'bench.format', which plan"),
                                   (["model=resnet19"], 2, "resnet18"),
                                   (["precision=e4m3 xx"], 2, "e4m3"),
                                   (["data=idx:/nowhere"], 3, "/nowhere"),
                                   (["batch=0"], 2, "run.batch"),
                                   (["extra"], 2, "extra")]:
        code, out, err = program.call("plan", *words, "--json", cwd=cwd)
        checks.same((code, out), (exit_code, ""), f"plan {words}: exit code and stdout ({err})")
        checks.that(part in err, f"plan {words}: {err!r}")


def narrow_codes(checks, cwd):
    """Formats that are narrower than their storage are told; storage=dense plans what such a training holds."""
    shared = ["model=cnn-s", "data=glyphs", "data.limit=96", "data.test_limit=16", "batch=16", "steps=1",
              "precision=w=e3m3,act=e3m2,grad=bf16", "threads=1"]
    run = program.train(*shared, "storage=dense", cwd=cwd)
    found, _ = plan(*shared, "storage=dense", cwd=cwd)
    checks.same({role: both["dense"] for role, both in found["memory_bytes"].items()}, run["ledger_bytes"], "bytes by role")
    packed, _ = plan(*shared, cwd=cwd)
    held = [sizes["memory_bytes"]["activations"] for sizes in (packed, found)]
    checks.that(held[1]["dense"] < 0.8 * held[0]["packed"], f"6 bits are fewer than 8: {held}")
    told = "activations of 6 bits lie in 8 each; storage=dense leaves no gaps"
    for words, is_told in ((shared, True), ([*shared, "storage=dense"], False), (["model=cnn-s", "precision=hfp8"], False)):
        out = program.call("plan", *words, cwd=cwd)[1]
        checks.same(told in out, is_told, f"{words}: {out[-2500:]}")
        checks.same(bool(re.search(r"memory in MiB +dense +float32", out)), "storage=dense" in words, f"{words}: title")
    for storage in ("packed", "dense", "float32"):
        _, _, err = program.call("train", *shared, f"storage={storage}", f"run.dir={storage}", cwd=cwd)
        checks.same(f"\nstorage    {told}\n" in err, storage == "packed", f"training with storage={storage}: {err}")
    out = program.call("compare", "precision=e3m2,hfp8", *shared[:6], "threads=1", "run.dir=both", cwd=cwd)[1]
    checks.that(f"e3m2: {told}\n" in out and "hfp8: activations" not in out, out)


program.main(narrow_codes, numbers, assumed, without_memory, without_touching, without_promises, scratch_is_explained, layers, outputs, narrow_outputs,
             bytes_are_those_of_a_training, bytes_of_schedules_of_bits,
             text, classes, network, network_baseline, network_words, network_model, network_errors, errors)
