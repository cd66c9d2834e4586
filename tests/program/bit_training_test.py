"""Trainings with numbers of bits by layer and step: what is refused and in which words, resumed runs
with other bits, and workers, in one process and in several of MPI."""
import json
import math
import os
import shutil
import subprocess

import program

NET = ["model=resnet20", "model.width=0.25", "data=glyphs", "data.limit=96", "data.test_limit=16",
       "batch=24", "run.log_every=1", "run.quiet=on", "threads=1", "lr.warmup=0"]
MPIRUN = next((name for name in ("mpirun.openmpi", "mpirun") if shutil.which(name)), None)
FLAGS = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   ASAN_OPTIONS=os.environ["ASAN_OPTIONS"] + ":detect_leaks=0")
# Bits that change in most steps: those of learned precision by a large rate.
LEARNED = ["precision=ldp:3-8", "bits.lr=50", "bits.target=0.2"]


def fails(checks, cwd, parts, *words):
    code, out, err = program.call(*words, cwd=cwd)
    name = " ".join(words[-3:])
    checks.same((code, out), (2, ""), f"{name}: exit code and stdout ({err!r})")
    for part in parts:
        checks.that(part in err, f"{name}: {part!r} in {err!r}")


def settings(checks, cwd):
    """Refused before anything is written."""
    for words, parts in [
            (["precision=static:1"], ["precision 'static:1'", "found 1 bits, expected 2 to 16"]),
            (["precision=static:17"], ["found 17 bits, expected 2 to 16"]),
            (["precision=static:3-8"], ["found 'static:3-8', expected static:B"]),
            (["precision=cpt:8-3"], ["found 8-3, which is empty; expected 3-8"]),
            (["precision=pfq:8-3"], ["found 8-3, which is empty; expected 3-8"]),
            (["precision=ldp:9-3"], ["found 9-3, which is empty; expected 3-9"]),
            (["precision=ldp:1-8"], ["found 1 bits, expected 2 to 16"]),
            (["precision=cpt:3-17"], ["found 17 bits, expected 2 to 16"]),
            (["precision=ldp"], ["found 'ldp', expected ldp:A-B"]),
            (["precision=static:8", "bits.grad=1"], ["bits.grad: found 1 bits"]),
            (["precision=static:8", "bits.grad=4-8"], ["bits.grad", "static", "one number"]),
            (["precision=cpt:3-8"], ["bits.cycles: found 32 in a run of 4 steps"]),
            (["precision=cpt:3-8", "bits.cycles=5"], ["bits.cycles: found 5 in a run of 4 steps"]),
            (["precision=ldp:3-8", "bits.target=0.14"],
             ["bits.target: found 0.14, expected at least 0.1407"]),
            (["precision=ldp:4-8", "bits.target=0.2499"],
             ["bits.target: found 0.2499, expected at least 0.2500"]),
            (["precision=ldp:3-8", "bits.residual=1"],
             ["bits.residual: found 1, expected 0 or 2 to 8"]),
            (["precision=cpt:3-8", "bits.residual=4", "bits.cycles=2"],
             ["bits.residual", "does not read it"]),
            (["precision=ldp:8-8", "bits.target=0.6"], ["expected at least 1.0000"])]:
        fails(checks, cwd, parts, "train", *NET, "steps=4", "run.dir=none", *words)
        checks.same(os.listdir(cwd), [], f"{words}: nothing is written")


def short(checks, cwd):
    """A training that is too short for its bits to rise says so, and only then."""
    words = ["model=cnn-s", *NET[2:6], "batch=24", "threads=1"]
    for precision, keys, parts in [
            ("cpt:3-8", ["steps=8", "bits.cycles=8"], ["8 steps", "cpt:3-8", "fewer bits.cycles"]),
            ("cpt:3-8", ["steps=8", "bits.cycles=2"], []),
            ("pfq:3-8", ["steps=8"], ["to leave 3 bits", "a smaller bits.interval"]),
            ("pfq:3-8", ["steps=80", "bits.interval=1"], []), ("pfq:8-8", ["steps=4"], []),
            ("static:3", ["steps=4"], []), ("ldp:3-8", ["steps=2"], [])]:
        code, _, err = program.call("plan", *words, f"precision={precision}", *keys, cwd=cwd)
        checks.same((code, "too few" in err), (0, bool(parts)), f"plan {precision} {keys}: {err}")
        for part in parts:
            checks.that(part in err, f"plan {precision}: {part!r} in {err!r}")
    code, _, err = program.call("train", *words, "precision=cpt:3-8", "steps=4", "bits.cycles=4",
                                "run.quiet=on", "run.dir=short", cwd=cwd)
    code_of_learned, out, _ = program.call("train", *words, "precision=ldp:3-8", "steps=2",
                                           "bits.cost=memory", "run.quiet=on", "run.dir=learned",
                                           cwd=cwd)
    checks.that(code_of_learned == 0 and "forward cost (bits.cost=memory) at the end 0.375 of that "
                "with 8 bits, target 0.6" in out, f"train: {out}")
    checks.that(code == 0 and "4 steps are too few for cpt:3-8 to leave 3 bits" in err,
                f"train: exit {code}: {err}")


def resumed(checks, cwd):
    """A resumed run keeps its bits: another schedule, range or kind is refused, and what was saved
    stays as it is."""
    runs = {"ldp": ["precision=ldp:3-8"], "cpt": ["precision=cpt:3-8", "bits.cycles=2"],
            "pfq": ["precision=pfq:3-8", "bits.interval=1"], "static": ["precision=static:8"],
            "rules": ["precision=ldp:3-8", "bits.layers=[conv1: 4, layer2.*: 5-6, fc: 8]", "bits.lr=5"]}
    whole = {}
    for name, words in runs.items():
        whole[name] = program.train(*NET, "steps=6", *words, "run.checkpoint_every=1",
                                    "run.keep=9", cwd=cwd, run=name)["weights_hash"]
        program.copy_at(cwd, name, f"{name}-3", 3)
    other = {"ldp": "ldp with integers of 3-8 bits, gradients of 8-8",
             "cpt": "cpt with integers of 3-8 bits", "pfq": "pfq with integers of 3-8 bits",
             "static": "static with integers of 8-8 bits"}
    for name, words, parts in [
            ("ldp", ["precision=ldp:4-8"], ["ldp with integers of 4-8 bits, gradients of 8-8"]),
            ("ldp", ["precision=ldp:3-7"], ["expected that of ldp with integers of 3-7 bits"]),
            ("ldp", ["bits.kind=float", "bits.exponent=2", "precision=ldp:4-8"],
             ["ldp with floats e2 of 4-8 bits"]),
            ("ldp", ["precision=static:8"], ["expected that of static with integers of 8-8 bits"]),
            ("ldp", ["bits.grad=6"], ["gradients of 6-6"]),
            ("cpt", ["precision=cpt:4-8"], ["expected that of cpt with integers of 4-8 bits"]),
            ("cpt", ["precision=static:8"], ["that of static"]),
            ("pfq", ["precision=static:8"], ["that of static"]),
            ("pfq", ["precision=pfq:4-8"], ["expected that of pfq with integers of 4-8 bits"]),
            ("static", ["precision=static:6"], ["that of static with integers of 6-6 bits"]),
            ("static", ["precision=ldp:3-8"], ["that of ldp"])]:
        fails(checks, cwd, [f"{name}-3/checkpoint/step-000000000003.hulp: section 'bits': found the "
                            f"state of {other[name]}", *parts], "resume", f"{name}-3", *words)
    fails(checks, cwd, ["made with a schedule of bits, found precision 'fp32' without"],
          "resume", "static-3", "precision=fp32")
    for name in runs:
        made = program.resume(f"{name}-3", cwd=cwd)
        checks.same(made["weights_hash"], whole[name], f"{name}: resumed with its own bits")


def formats(cwd, run):
    """{tensor: format} of the weights in the plan that a run left."""
    found, tensor = {}, None
    with open(f"{cwd}/{run}/plan.resolved.yaml") as file:
        for line in file:
            key, _, value = line.strip().partition(": ")
            if line.startswith("  ") and line.rstrip().endswith(":"):
                tensor = line.strip()[:-1]
            elif key == "value" and tensor.endswith(".weight"):
                found[tensor] = value
    return found


def shared(checks, cwd):
    """Weights that two layers share are rounded once, to the most bits of both; they are float32 if
    one of the layers is."""
    words = ["model=autoencoder-tied", "model.width=0.1", "data=glyphs", "data.limit=64",
             "data.test_limit=16", "batch=16", "threads=1", "lr.warmup=0"]
    made = program.train(*words, "precision=static:4", "steps=2", cwd=cwd, run="static")
    checks.same([layer["name"] for layer in made["bits"]["layers"]], ["encode2", "decode2.product"],
                "encode1 shares the weights of the last product")
    checks.same(formats(cwd, "static"), {"encode2.weight": "uniform4:channel"}, "formats")
    keys = [*words, "precision=ldp:3-8", "bits.last_float=off", "bits.lr=1000", "bits.target=0.9",
            "steps=5"]
    made = program.train(*keys, cwd=cwd, run="ldp")
    bits = {layer["name"]: layer["bits"] for layer in made["bits"]["layers"]}
    most = {f"encode{i}.weight": max(bits[f"encode{i}"], bits[f"decode{i}.product"])
            for i in (1, 2)}
    checks.that(len(set(bits.values())) > 1, f"bits of the layers differ: {bits}")
    checks.same(formats(cwd, "ldp"), {name: f"uniform{b}:channel" for name, b in most.items()},
                f"formats of {bits}")
    other = program.train(*keys, "storage=float32", "threads=2", "fuse=off", cwd=cwd, run="again")
    checks.same(other["weights_hash"], made["weights_hash"], "storage, threads and joined nodes")


def evaluated(checks, cwd):
    """steps=0: float32 weights evaluated with bits that they were not trained with; ranges are those
    of the samples at hand."""
    net = [*NET[:5], "batch=16", "threads=1", "lr.warmup=0"]
    program.train(*net, "steps=6", "precision=fp32", cwd=cwd, run="float")
    program.call("export", "float", "out=weights.safetensors", cwd=cwd)
    losses = {}
    for words in (["fp32"], ["static:8"], ["static:2"], ["cpt:2-8"], ["ldp:2-8"], ["pfq:2-8"],
                  ["random", "bits.until=9"], ["staged", "bits.stages=[0: 2, 1: 8]"]):
        run = words[0].replace(":", "")
        made = program.train(*net, "steps=0", "init=weights.safetensors", f"precision={words[0]}",
                             *words[1:], cwd=cwd, run=run)
        code, out, err = program.call("eval", run, "--json", cwd=cwd)
        found = json.loads(out or "{}")
        checks.same((code, found.get("test_accuracy")), (0, made["test_accuracy"]),
                    f"{words}: eval {err}")
        losses[words[0]] = found.get("test_loss", math.nan)
        if words[0] == "fp32":
            continue
        checks.same((made["steps"], made["bits"]["training_bitops"],
                     made["bits"]["relative_training_cost"]), (0, 0, None), f"{words}: no cost")
    checks.same([losses[name] for name in ("cpt:2-8", "random")], [losses["static:8"]] * 2,
                "bits of the trained model")
    checks.same([losses[name] for name in ("ldp:2-8", "pfq:2-8", "staged")],
                [losses["static:2"]] * 3, "the bits that they begin with")
    off = [abs(losses[name] - losses["fp32"]) for name in ("static:8", "static:2")]
    checks.that(0 < off[0] < off[1], f"8 bits are nearer to float32: {losses}")
    code, out, err = program.call("train", *net, "steps=0", "precision=static:4", "run.dir=text",
                                  cwd=cwd)
    checks.that("\ninference 1.000" in out and "nan" not in out, f"the last lines: {out[-400:]}")
    fails(checks, cwd, ["steps: found 0, expected at least 1"], "plan", *net[:5], "steps=0",
          "precision=static:8")


def bits_of(cwd, run):
    """What the run writes of every step's losses."""
    return [row["loss"] for row in program.rows(cwd, run)]


def mpirun(count, *words, cwd):
    done = subprocess.run([MPIRUN, *FLAGS, "-np", str(count), program.HALFULP, *program.last_of_each(words)], cwd=cwd,
                          env=ENVIRONMENT, timeout=program.patience(240), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace")
    return done.returncode, done.stdout, done.stderr


def workers(checks, cwd):
    """What learned bits and running ranges hear of does not depend on where workers run, nor on
    threads and storage; in another process they would drift apart."""
    cases = {"learned": LEARNED, "static": ["precision=static:6"],
             "learned, in parts": [*LEARNED, "optimizer.accumulate=3", "bits.residual=3"],
             "cyclic": ["precision=cpt:3-8", "bits.cycles=2"]}
    for number, (name, words) in enumerate(cases.items()):
        keys = [*NET, "steps=8", *words]
        one = program.train(*keys, "workers=2", cwd=cwd, run=f"one{number}")
        again = program.train(*keys, "workers=2", "threads=3", "storage=float32", "fuse=off",
                              cwd=cwd, run=f"again{number}")
        checks.same((again["weights_hash"], again["test_accuracy"], again["train_loss"]),
                    (one["weights_hash"], one["test_accuracy"], one["train_loss"]),
                    f"{name}: threads, storage and joined nodes")
        alone = program.train(*keys, cwd=cwd, run=f"alone{number}")
        checks.that(alone["weights_hash"] != one["weights_hash"], f"{name}: workers have ranges of "
                    "their own")
        if not MPIRUN:
            continue
        code, out, err = mpirun(2, "train", *keys, f"run.dir=two{number}", "--json", cwd=cwd)
        if not checks.that(code == 0, f"{name}: two processes: exit {code}: {err}"):
            continue
        two = json.loads(out)
        for key in ("weights_hash", "test_accuracy", "train_loss", "best_accuracy"):
            checks.same(two[key], one[key], f"{name}: two processes: {key}")
        checks.same(bits_of(cwd, f"two{number}"), bits_of(cwd, f"one{number}"),
                    f"{name}: two processes: losses of the steps")
        more = program.resume(f"two{number}", "workers=2", "steps=12", cwd=cwd)
        same = program.resume(f"one{number}", "steps=12", cwd=cwd)
        checks.same(more["weights_hash"], same["weights_hash"],
                    f"{name}: begun in two processes, resumed in one")
    rates = [program.train(*NET, "steps=8", *words, "workers=2", cwd=cwd, run=f"rate{r}")
             for r, words in enumerate([LEARNED, [*LEARNED[:1], *LEARNED[2:], "bits.lr=0"]])]
    checks.that(rates[0]["weights_hash"] != rates[1]["weights_hash"], "learned bits have moved")


program.main(settings, short, resumed, shared, evaluated, workers)
