"""Damaged files, wrong words and impossible runs: the exit code, one line that says what and where,
and nothing lost."""
import gzip
import json
import os
import resource
import time

import program
from program import TINY


def fails(checks, cwd, code, parts, *words, **more):
    """The call ends with this exit code, nothing on stdout, and one last line with all these parts;
    gives stderr."""
    found, out, err = program.call(*words, cwd=cwd, **more)
    name = " ".join(map(str, words))
    last = err.strip().splitlines()[-1] if err.strip() else ""
    checks.same(found, code, f"{name}: exit code ({err.strip()!r})")
    checks.same(out, "", f"{name}: stdout")
    checks.that(last.startswith("halfulp: "), f"{name}: one line of the program: {err!r}")
    for part in parts:
        checks.that(part in last, f"{name}: '{part}' in {last!r}")
    return err


def least_pictures(checks, cwd):
    """A model says the least picture that it takes: that one works, one pixel less does not."""
    for model, least in (("alexnet-s", 29), ("googlenet", 79), ("inception3-s", 31)):
        for size in (8, least - 1):
            fails(checks, cwd, 2, [f"found pictures of {size} x {size} pixels, expected at least {least} x {least} "
                                   "(data.size)"], "plan", f"model={model}", f"data.size={size}", "batch=1")
        code, _, err = program.call("plan", f"model={model}", f"data.size={least}", "batch=1", cwd=cwd)
        checks.same(code, 0, f"{model}: {err}")
    fails(checks, cwd, 2, ["found pictures of 32 x 32 pixels, expected 128 x 128 (data.size)"], "plan", "model=dcgan",
          "data.size=32", "batch=1")
    fails(checks, cwd, 2, ["found pictures of 6 x 8 pixels, expected at least 9 x 9 (data.size)"], "plan", "model=fcn-s",
          "data.size=6")


def words(checks, cwd):
    cases = [
        (["trian"], ["unknown verb 'trian'", "'train'"]),
        (["train", "modle=cnn-s"], ["'modle'", "'model'"]),
        (["train", "scaler.ini=3"], ["'scaler.ini'", "'scaler.init'"]),
        (["train", *TINY, "model=resnet21"], ["'resnet21'", "'resnet20'"]),
        (["train", *TINY, "precision=fp17"], ["'fp17'", "'fp16'"]),
        (["train", *TINY, "precision=e4m3fm"], ["'e4m3fm'", "'e4m3fn'"]),
        (["train", *TINY, "precision=e9m3"], ["column 2", "9", "1..8"]),
        (["train", *TINY, "precision=w=e4m3,act=e4m99"], ["e4m99", "column"]),
        (["train", *TINY, "precision.rules=[conv9.weight: e4m3]"],
         ["'conv9.weight: e4m3'", "'conv1.weight'"]),
        (["train", *TINY, "data=glyfs"], ["'glyfs'", "glyphs"]),
        (["train", *TINY, "optimizer=sdg"], ["'sdg'", "sgd adam adamw"]),
        (["train", *TINY, "steps=many"], ["'run.steps'", "'many'", "decimal integer"]),
        (["train", *TINY, "steps=-1"], ["'run.steps'", "-1", "0 to"]),
        (["train", *TINY, "lr=1e30"], ["'lr.base'", "1e30", "to 1e+06"]),
        (["train", *TINY, "lr=nan"], ["'lr.base'", "nan"]),
        (["train", *TINY, "batch=0"], ["'run.batch'", "0"]),
        (["train", *TINY, "batch=3", "optimizer.accumulate=4"], ["accumulate 4", "batch of 3"]),
        (["train", *TINY, "optimizer.momentum=1"], ["momentum", "1"]),
        (["train", *TINY, "--jsn"], ["--jsn", "--json"]),
        (["train", *TINY, "scaler=dynamic", "scaler.backoff=1"], ["scaler.backoff", "1"]),
        (["train", *TINY, "lr.schedule=piecewise"], ["lr.knots", "found 0"]),
        (["train", *TINY, "lr.schedule=step", "lr.milestones=[a]"], ["column 1", "'a'"]),
        (["train", *TINY, "lr.schedule=step"], ["lr.milestones", "found none"]),
        (["train", *TINY, "lr.schedule=plateau", "eval.every=0"], ["eval.every", "found 0", "follows evaluations"]),
        (["train", *TINY, "precision.rules=[foo]"], ["'foo'", "PATTERN: FORMAT"]),
        (["train", *TINY, "data.augment=[flop]"], ["'flop'", "crop, flip, turn or cutout"]),
        (["train", *TINY, "data.cutout=33"], ["cutout", "33", "0..32"]),
        (["train", *TINY, "optimizer.no_decay=[fc.*, '*bm*']"], ["'*bm*'", "matches a parameter", "'bn"]),
        (["train", *TINY, "optimizer=lars", "optimizer.nesterov=on"], ["nesterov", "lars"]),
        (["train", *TINY, "optimizer=lars", "optimizer.trust=0"], ["optimizer.trust", "found 0"]),
        (["train", *TINY, "data.border=mirror"], ["'mirror'", "black reflect"]),
        (["train", *TINY, "optimizer.momentum=0", "optimizer.nesterov=on"], ["nesterov", "momentum"]),
        (["resume"], ["found no RUN", "expected halfulp resume", "the folder of a training"]),
        (["why"], ["found no RUN", "expected halfulp why RUN [TENSOR|GLOB]"]),
        (["stats"], ["found no RUN", "expected halfulp stats RUN"]),
        (["resume", "a", "b"], ["b"]),
    ]
    for number, (call, parts) in enumerate(cases):
        more = [f"run.dir=run{number}"] if call[0] == "train" else []
        fails(checks, cwd, 2, parts, *call, *more)
    fails(checks, cwd, 2, ["run.dir"], "train", *TINY, "run.dir=")
    held = [name for name in os.listdir(cwd) if os.path.exists(f"{cwd}/{name}/config.resolved.yaml")]
    checks.same(held, [], "no run folder is made for what cannot run")
    fails(checks, cwd, 3, ["nowhere", "no run folder"], "resume", "nowhere")
    fails(checks, cwd, 3, ["nowhere", "no run folder"], "eval", "nowhere")


IDX_KEYS = ["train", "data=idx:data", "steps=1", "batch=16", "threads=1"]


def idx_files(checks, cwd):
    images, labels = "data/train-images-idx3-ubyte", "data/train-labels-idx1-ubyte"
    damages = [
        ("truncated", images, lambda b: b[:-1], ["offset 16", "50176", "50175"]),
        ("a byte too many", images, lambda b: b + b"\0", ["offset 50192", "found 1 trailing"]),
        ("header cut", images, lambda b: b[:9], ["offset"]),
        ("empty", images, lambda b: b"", ["offset 0"]),
        ("magic", images, lambda b: b"\x01" + b[1:], ["offset 0", "expected"]),
        ("type", images, lambda b: b[:2] + b"\x0d" + b[3:], ["offset 0", "0x00000d03", "0x00000803"]),
        ("rank", images, lambda b: b[:3] + b"\x02" + b[4:], ["offset 0", "0x00000802", "0x00000803"]),
        ("huge count", images, lambda b: b[:4] + b"\xff" * 4 + b[8:], ["offset"]),
        ("count", images, lambda b: b[:7] + bytes([b[7] ^ 1]) + b[8:], ["offset 16", "50960"]),
        # The training labels tell how many classes there are; the test labels must be among them.
        ("label", "data/t10k-labels-idx1-ubyte", lambda b: b[:-1] + b"\xff", ["offset 71", "255", "0..9"]),
        ("labels truncated", labels, lambda b: b[:-3], ["offset 8", "61", "64"]),
    ]
    for name, path, change, parts in damages:
        program.write_idx(f"{cwd}/data")
        with open(f"{cwd}/{path}", "rb") as file:
            data = file.read()
        with open(f"{cwd}/{path}", "wb") as file:
            file.write(change(data))
        before = program.tree_bytes(f"{cwd}/data")
        fails(checks, cwd, 3, [path, "found", *parts], *IDX_KEYS, f"run.dir={name}")
        checks.that(program.tree_bytes(f"{cwd}/data") == before, f"{name}: the data stays as it was")
    program.write_idx(f"{cwd}/data")
    with open(f"{cwd}/{images}", "rb") as file:
        data = file.read()
    os.remove(f"{cwd}/{images}")
    packed = gzip.compress(data)
    for name, bad in (("gzip cut", packed[:-20]), ("gzip crc", packed[:-6] + b"\0\0" + packed[-4:])):
        with open(f"{cwd}/{images}.gz", "wb") as file:
            file.write(bad)
        fails(checks, cwd, 3, [f"{images}.gz"], *IDX_KEYS, f"run.dir={name}")
    os.remove(f"{cwd}/{images}.gz")
    fails(checks, cwd, 3, ["data", "found no"], *IDX_KEYS, "run.dir=none")
    program.write_idx(f"{cwd}/data")
    code, _, err = program.call(*IDX_KEYS, "run.dir=sound", cwd=cwd)
    checks.same(code, 0, f"sound IDX files: exit code ({err})")


def cifar_files(checks, cwd):
    path = "data/data_batch_3.bin"
    keys = ["train", "data=cifar10:data", "steps=1", "batch=16", "threads=1"]
    damages = [
        ("truncated", lambda b: b[:-1], ["truncated", "offset"]),
        ("a byte too many", lambda b: b + b"\0", ["offset"]),
        ("empty", lambda b: b"", ["offset 0"]),
        ("label", lambda b: b[:3073] + b"\x0a" + b[3074:], ["offset 3073", "10"]),
    ]
    for name, change, parts in damages:
        program.write_cifar(f"{cwd}/data")
        with open(f"{cwd}/{path}", "rb") as file:
            data = file.read()
        with open(f"{cwd}/{path}", "wb") as file:
            file.write(change(data))
        fails(checks, cwd, 3, [path, "found", "expected", *parts], *keys, f"run.dir={name}")
    os.remove(f"{cwd}/{path}")
    fails(checks, cwd, 3, ["data_batch_3.bin"], *keys, "run.dir=missing")
    program.write_cifar(f"{cwd}/data")
    code, _, err = program.call(*keys, "run.dir=sound", cwd=cwd)
    checks.same(code, 0, f"sound CIFAR files: exit code ({err})")


def corrupt_checkpoints(checks, cwd):
    keys = [*TINY, "steps=8", "run.checkpoint_every=2", "run.keep=3"]
    whole = program.train(*keys, cwd=cwd)
    checks.same(sorted(program.checkpoints(cwd)), [4, 6, 8], "run.keep=3 keeps three")
    size = os.path.getsize(program.checkpoints(cwd)[8])
    for offset in (0, 9, 25, 70, 200, size // 2, size - 1):
        run = f"flip{offset}"
        program.copy_at(cwd, "run", run, 8)
        newest = program.checkpoints(cwd, run)[8]
        program.damage(newest, offset)
        code, out, err = program.call("resume", run, "--json", cwd=cwd)
        checks.same(code, 0, f"{run}: exit code ({err})")
        checks.that("step-000000000008.hulp" in err and "offset" in err and "step 6 instead" in err,
                    f"{run}: says what it passes over: {err!r}")
        checks.same(json.loads(out)["weights_hash"], whole["weights_hash"], f"{run}: weights hash")
        checks.that(program.rows(cwd, run) == program.rows(cwd), f"{run}: rows of metrics.csv")
    program.copy_at(cwd, "run", "cut", 8)
    os.truncate(program.checkpoints(cwd, "cut")[8], size // 3)
    code, out, err = program.call("eval", "cut", "--json", cwd=cwd)
    checks.same((code, json.loads(out)["step"]), (0, 6), f"eval passes over a cut file ({err})")
    program.copy_at(cwd, "run", "lost", 8)
    for number, path in enumerate(program.checkpoints(cwd, "lost").values()):
        program.damage(path, 300 + number)
    before = program.tree_bytes(f"{cwd}/lost")
    for verb in ("resume", "eval"):
        fails(checks, cwd, 3, ["step-000000000008.hulp", "offset", "found", "expected",
                               "no older checkpoint of 2 is sound"], verb, "lost")
    checks.that(program.tree_bytes(f"{cwd}/lost") == before, "unreadable run: nothing is changed")


def corrupt_config(checks, cwd):
    program.train(*TINY, "steps=2", cwd=cwd)
    path = f"{cwd}/run/config.resolved.yaml"
    with open(path) as file:
        text = file.read()
    line = text.splitlines().index("model:") + 1
    before = program.tree_bytes(f"{cwd}/run/checkpoint")
    for change, where in ((lambda t: t.replace("model:", "modle:"), f"yaml:{line}:1"),
                          (lambda t: t.replace("model:", "model: ["), "yaml:"),
                          (lambda t: t.replace("steps: 2", "steps: two"), "run.steps"),
                          (lambda t: t + "\x00", "offset")):
        with open(path, "w") as file:
            file.write(change(text))
        code = 3 if where == "offset" else 2
        for verb in ("resume", "eval"):
            fails(checks, cwd, code, ["config.resolved.yaml", where], verb, "run")
    with open(path, "w") as file:
        file.write(text)
    kept = {"model=resnet20": ["model.name", "'resnet20'", "'cnn-s'", "keeps its model"],
            "model.width=2": ["'conv1.out'", "found 32x32x32", "expected 32x32x16", "in run"],
            "loss=softmax_cross_entropy": ["task.loss", "'softmax_cross_entropy'", "'nll'"],
            "task=autoencode": ["task.name", "'autoencode'", "'classify'"],
            "optimizer=adam": ["optimizer", "found adam", "first_moment"]}
    for word, parts in kept.items():
        for verb in ("resume", "eval"):
            err = fails(checks, cwd, 2, parts, verb, "run", word)
            checks.that("damaged" not in err, f"{verb} {word}: nothing is damaged: {err!r}")
    program.write_idx(f"{cwd}/idx")
    for verb in ("resume", "eval", "predict"):
        fails(checks, cwd, 2, ["'input'", "found 28x28x1", "expected 32x32x3", "idx:idx", "in run"],
              verb, "run", "data=idx:idx")
    checks.that(program.tree_bytes(f"{cwd}/run/checkpoint") == before, "checkpoints are untouched")
    checks.same(program.call("eval", "run", cwd=cwd)[0], 0, "the run is still sound")


def json_of(out, checks, name):
    try:
        return json.loads(out)
    except ValueError:
        checks.that(False, f"{name}: stdout is no JSON object: {out!r}")
        return {}


def diverging(checks, cwd):
    steep = ["lr=1e6", "lr.schedule=constant", "lr.warmup=0", "run.checkpoint_every=1", "run.keep=30",
             "steps=30"]
    cases = [
        ("fp32", [*steep]),
        ("fp16", [*steep, "scaler=none"]),
        ("fp16", ["scaler=constant", "scaler.init=1e30", "scaler.stop_after=3", "steps=30"]),
        ("bf16", [*steep]),
    ]
    for number, (precision, keys) in enumerate(cases):
        run, name = f"run{number}", f"{precision} {' '.join(keys[:2])}"
        code, out, err = program.call("train", *TINY, f"precision={precision}", *keys,
                                      f"run.dir={run}", "--json", cwd=cwd)
        checks.same(code, 4, f"{name}: exit code ({err.strip()!r})")
        made = json_of(out, checks, name)
        checks.that(made.get("diverged", "") and made["diverged"] in err, f"{name}: 'diverged'")
        if not any(row["test_accuracy"] for row in program.rows(cwd, made["run"])):
            checks.same(made["test_accuracy"], None, f"{name}: accuracy of a run never evaluated")
        checks.that(f"step {made['steps'] - 1}" in err, f"{name}: names the step: {err!r}")
        with open(os.path.join(cwd, run, "graph.json"), encoding="utf-8") as file:
            tensors = [value["name"] for value in json.load(file)["values"]]
        checks.that(any(tensor in err for tensor in tensors if "." in tensor),
                    f"{name}: names the tensor: {err!r}")
        if "scaler=constant" in keys:
            checks.that("3 steps in a row" in err and "1e+30" in err, f"{name}: says why: {err!r}")
            checks.same(made["skipped_steps"], 3, f"{name}: skipped steps")
        saved = program.checkpoints(cwd, run)
        checks.same([s for s in saved if s >= made["steps"]], [], f"{name}: the bad step is not saved")
        if saved:
            code, out, err = program.call("eval", run, "--json", cwd=cwd)
            checks.same(code, 0, f"{name}: eval of the last good state ({err})")
            checks.same(json_of(out, checks, name)["step"], max(saved), f"{name}: eval's step")
        last = program.rows(cwd, run)[-1]
        checks.same(int(last["step"]), made["steps"] - 1, f"{name}: the last row is the bad step")


def update_that_overflows(checks, cwd):
    """Gradients are finite, the weight update is not: caught in the same step."""
    keys = [*TINY, "steps=9", "run.checkpoint_every=1", "run.keep=9", "lr=1e6", "lr.warmup=0",
            "lr.schedule=constant", "optimizer.weight_decay=1000", "optimizer.nesterov=off"]
    code, out, err = program.call("train", *keys, "run.dir=run", "--json", cwd=cwd)
    checks.same(code, 4, f"weights that explode: exit code ({err})")
    made = json_of(out, checks, "weights that explode")
    for step in program.checkpoints(cwd):
        checks.that(step < made["steps"], f"checkpoint {step} of a run that broke in {made['steps']}")
    checks.same(program.call("eval", "run", cwd=cwd)[0], 0, "weights that explode: eval")


def saving(checks, cwd):
    """A full disk and folders that cannot be: at the trial save, before the first step."""
    limit = program.small_files(65536)
    begin = time.monotonic()
    err = fails(checks, cwd, 5, ["full", "trial save", "File too large"], "train", *TINY, "steps=100000",
                "run.dir=full", **limit)
    checks.that(time.monotonic() - begin < program.patience(2.0), f"a full disk shows within 2 s ({err!r})")
    checks.that(not os.path.exists(f"{cwd}/full/config.resolved.yaml"), "no run is left behind")
    with open(f"{cwd}/file", "w") as file:
        file.write("not a folder")
    fails(checks, cwd, 5, ["file"], "train", *TINY, "steps=1", "run.dir=file")
    fails(checks, cwd, 5, ["file/run"], "train", *TINY, "steps=1", "run.dir=file/run")
    if os.geteuid() != 0:
        os.mkdir(f"{cwd}/locked", 0o500)
        fails(checks, cwd, 5, ["locked"], "train", *TINY, "steps=1", "run.dir=locked/run")
    program.train(*TINY, "steps=1", cwd=cwd)
    before = program.tree_bytes(f"{cwd}/run")
    fails(checks, cwd, 2, ["holds a run already", "resume run"], "train", *TINY, "steps=1",
          "run.dir=run")
    checks.that(program.tree_bytes(f"{cwd}/run") == before, "an existing run is not touched")
    program.train(*TINY, "steps=4", "run.checkpoint_every=1", cwd=cwd, run="later")
    program.copy_at(cwd, "later", "grown", 4)
    code, _, err = program.call("resume", "grown", "steps=9", "run.checkpoint_every=1", cwd=cwd,
                                **limit)
    checks.same(code, 5, f"a disk that fills up later: exit code ({err})")
    checks.that("grown" in err, f"a disk that fills up later: names the file ({err!r})")
    checks.same(program.call("eval", "grown", cwd=cwd)[0], 0, "a disk that fills up later: eval")


def full_comparison(checks, cwd):
    """Of a comparison whose rows all fail for want of space that is told, not that there is no page of it."""
    limit = program.small_files(65536)
    code, out, err = program.call("compare", "precision=fp32,hfp8", *TINY, "steps=2", "run.dir=c", cwd=cwd, **limit)
    checks.that(code == 5 and "File too large" in out + err, f"exit {code}: {out} {err}")
    checks.that("report.html" not in err and "no report" not in err, f"nothing follows: {err}")
    code, _, err = program.call("compare", "precision=fp32,hfp8", *TINY, "steps=2", "run.dir=c", cwd=cwd)
    checks.that(code == 0 and os.path.exists(f"{cwd}/c/report.html"), f"with room: {code}, {err}")


def small_disk(checks, cwd):
    """A file system with room for one checkpoint and not for three (where we may mount one)."""
    os.mkdir(f"{cwd}/disk")
    mounted = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=300k tmpfs disk && "$@"', "sh"]
    if program.subprocess.run([*mounted, "true"], cwd=cwd, capture_output=True).returncode != 0:
        print("skipped: a small disk (no mount name space here)")
        return
    begin = time.monotonic()
    done = program.subprocess.run([*mounted, program.HALFULP, "train", *TINY, "steps=100000",
                                   "run.dir=disk/run"], cwd=cwd, capture_output=True, text=True)
    checks.same(done.returncode, 5, f"a small disk: exit code ({done.stderr})")
    checks.that("disk/run: the disk is too full" in done.stderr, f"a small disk: {done.stderr!r}")
    checks.that(time.monotonic() - begin < program.patience(2.0), "a small disk: within 2 s")


def too_much_memory(checks, cwd):
    if program.sanitizer():
        print("skipped: a limit of memory (sanitizers need terabytes of addresses)")
        return
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    fails(checks, cwd, 5, ["out of memory", "bytes"], "train", *TINY, "model=resnet18",
          "model.width=64", "run.dir=huge", preexec_fn=limit)
    checks.that(not os.path.exists(f"{cwd}/huge"), "no run folder is made for what does not fit")


def two_processes(checks, cwd):
    """One folder, one training."""
    first = program.start("train", *TINY, "steps=1000000", "run.checkpoint_every=1", "run.dir=run",
                          cwd=cwd)
    while not (os.path.isdir(f"{cwd}/run/checkpoint") and program.checkpoints(cwd)):
        time.sleep(0.01)
    fails(checks, cwd, 5, ["run: another process is training"], "resume", "run")
    first.kill()
    first.wait()
    code, _, err = program.call("eval", "run", cwd=cwd)
    checks.same(code, 0, f"the first process is not disturbed ({err})")


def odd_sizes(checks, cwd):
    """Runs at the edges of what makes sense."""
    made = program.train(*TINY, "steps=0", cwd=cwd, run="zero")
    checks.same((made["steps"], made["train_loss"], made["skipped_steps"]), (0, None, 0), "steps=0")
    code, out, err = program.call("eval", "zero", "--json", cwd=cwd)
    checks.same((code, json_of(out, checks, "eval of steps=0").get("weights_hash")),
                (0, made["weights_hash"]), f"eval of steps=0 ({err})")
    code, out, err = program.call("train", *TINY, "batch=1000", "steps=2", "run.dir=large", "--json",
                                  cwd=cwd)
    checks.that("batch 1000 is larger than the 96 training samples" in err, f"large batch: {err!r}")
    large = json_of(out, checks, "large batch")
    exact = program.train(*TINY, "batch=96", "run.chunk=4", "steps=2", cwd=cwd, run="exact")
    checks.same(large["weights_hash"], exact["weights_hash"],
                "a batch larger than the data is the whole data")
    checks.same(large["ledger_bytes"], exact["ledger_bytes"], "and takes no more memory")
    for keys in (["batch=30", "run.chunk=7"], ["batch=5", "run.chunk=64"], ["batch=1"],
                 ["batch=7", "optimizer.accumulate=3"], ["batch=3", "optimizer.accumulate=3"],
                 ["data.limit=1"], ["optimizer.momentum=0"], ["epochs=0.5"]):
        steps = [] if "epochs=0.5" in keys else ["steps=2"]
        made = program.train(*TINY, *keys, *steps, cwd=cwd, run="odd-" + "-".join(keys))
        checks.same(made["steps"], 2, f"{keys}: steps")
        rows = program.rows(cwd, "odd-" + "-".join(keys))
        checks.that(all(abs(float.fromhex(row["loss"])) < 50 for row in rows), f"{keys}: losses")


program.main(words, least_pictures, idx_files, cifar_files, corrupt_checkpoints, corrupt_config, diverging,
             update_that_overflows, saving, full_comparison, small_disk, too_much_memory,
             two_processes, odd_sizes)
