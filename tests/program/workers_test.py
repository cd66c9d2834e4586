"""Several workers in one process: what their gradients become, what is counted, what is refused."""
import json
import tempfile

import program

KEYS = ["data=glyphs", "data.limit=200", "data.test_limit=16", "batch=17", "steps=14",
        "run.log_every=1", "run.quiet=on"]
NET = ["model=cnn-s", "model.width=0.5", *KEYS]


def train(*words, cwd):
    """In a folder of its own."""
    with tempfile.TemporaryDirectory(dir=cwd) as folder:
        return program.train(*words, cwd=folder)


def a_worker_is_a_part(checks, cwd):
    """Without batch norm, workers whose gradients are added one after the other are parts."""
    dense = ["model=autoencoder", "data=glyphs", "batch=16", "steps=6", "data.limit=64",
             "data.test_limit=16", "run.quiet=on", "run.chunk=4"]
    parts = train(*dense, "optimizer.accumulate=4", cwd=cwd)
    workers = train(*dense, "workers=4", "schedule=seq", cwd=cwd)
    checks.same(workers["weights_hash"], parts["weights_hash"], "hash of four workers and parts")
    checks.same(workers["train_loss"], parts["train_loss"], "their loss")


def nothing_else_changes_a_bit(checks, cwd):
    keys = [*NET, "workers=5", "comm.format=e4m3", "scaling=aps", "precision=hfp8"]
    first = train(*keys, "threads=1", cwd=cwd)
    for words in (["threads=3"], ["comm.bucket=0"], ["storage=float32"], ["run.fuse=off"],
                  ["comm.overlap=off", "comm.transport=emulated"]):
        again = train(*keys, *words, cwd=cwd)
        checks.same(again["weights_hash"], first["weights_hash"], f"hash with {words}")
    other = train(*keys, "schedule=halving", cwd=cwd)
    checks.that(other["weights_hash"] != first["weights_hash"], "another order, another hash")


def every_schedule_and_scaling_trains(checks, cwd):
    for words in (["schedule=seq", "scaling=none"], ["schedule=hier:2", "scaling=aps-tight"],
                  ["schedule=hier2d:3", "scaling=aps-wide"], ["schedule=halving"],
                  ["scaling=aps2", "comm.error_feedback=on"], ["scaling=constant:12"],
                  ["schedule=pairwise", "comm.kahan=on", "scaling=aps"],
                  ["comm.rounding=sr", "scaling=aps"]):
        made = train(*NET, "workers=6", "comm.format=e5m2", *words, cwd=cwd)
        checks.that(made["train_loss"] < 2.6 and made["steps"] == 14, f"{words}: trains")


def codes_in_place_of_a_format(checks, cwd):
    """TernGrad, QSGD and Flexpoint: the same bits whatever runs beside, fewer bytes than float32."""
    full = train(*NET, "workers=6", "schedule=pairwise", cwd=cwd)["comm"]["bytes_per_worker"]
    for scaling, name, part in (("terngrad", "2 bits", 0.4), ("qsgd", "4 bits", 0.6), ("flex16+5", "16 bits", 0.7)):
        keys = [*NET, "workers=6", f"scaling={scaling}", "comm.exact=last"]
        made = train(*keys, "threads=1", cwd=cwd)
        checks.that(made["train_loss"] < 2.6, f"{scaling}: trains")
        checks.same(made["comm"]["format"], name, f"{scaling}: what stands for the format")
        checks.that(made["comm"]["bytes_per_worker"] < part * full, f"{scaling}: {made['comm']} beside {full}")
        again = train(*keys, "threads=3", "comm.bucket=0", cwd=cwd)
        checks.same(again["weights_hash"], made["weights_hash"], f"{scaling}: threads and buckets")
    code, _, err = program.call("train", *NET, "workers=2", "scaling=qsgd", "comm.format=e5m2", cwd=cwd)
    checks.that(code == 2 and "codes of its own" in err, f"a format beside codes: {err!r}")


def what_travels_is_counted(checks, cwd):
    program.train(*NET, "workers=4", "comm.format=e4m3", "comm.exact= *bn* , last ,", cwd=cwd)
    with open(f"{cwd}/run/numerics.jsonl") as file:
        rows = [json.loads(line) for line in file]
    seen = {}
    for row in rows:
        for tensor in row.get("tensors", []):
            if tensor[0].endswith(".grad.wire"):
                seen.setdefault(tensor[0], tensor)
    checks.that("conv1.weight.grad.wire" in seen, f"conv1.weight is counted: {sorted(seen)}")
    checks.that("fc.weight.grad.wire" not in seen, "the last layer travels in float32")
    checks.that("bn1.weight.grad.wire" not in seen, "so do batch norms")
    name, fmt, elements, _, underflow, *_ = seen["conv1.weight.grad.wire"]
    checks.same(fmt, "e4m3", "its format")
    checks.that(underflow > 0, "unscaled gradients become zero in e4m3")
    code, out, err = program.call("why", "run", cwd=cwd)
    checks.that(code == 0 and ".grad.wire" in out, f"why names gradients on the wire: {out}{err}")


def counts_of(cwd, end):
    """Rows of one step: (step, name, counts) of the tensors whose names end so."""
    with open(f"{cwd}/run/numerics.jsonl") as file:
        rows = [json.loads(line) for line in file]
    return [(row["step"], tensor[0], tensor) for row in rows for tensor in row.get("tensors", [])
            if tensor[0].endswith(end) and row["steps"] == 1]


def exponents_are_those_of_what_is_sent(checks, cwd):
    """aps puts p times the largest number into the largest binade; constant:K shifts by K."""
    workers, emax, room = 8, 15, 3
    program.train(*NET, f"workers={workers}", "comm.format=e5m2", "scaling=aps", cwd=cwd)
    tops = [tensor[8] for _, _, tensor in counts_of(cwd, ".grad.wire") if tensor[8] is not None]
    checks.that(tops and all(emax - room - 1 <= top <= emax - room for top in tops),
                f"largest exponents of aps: {sorted(set(tops))}")
    code, out, err = program.call("why", "run", "--json", cwd=cwd)
    closest = json.loads(out)["closest"]
    checks.same((code, closest["overflow_tensor"], closest["wire_scaling"]), (0, None, "aps"),
                f"a scaling that follows the numbers leaves no headroom to tell of: {closest}{err}")
    with tempfile.TemporaryDirectory() as other:
        shift = 12
        program.train(*NET, "workers=4", "comm.format=e5m2", f"scaling=constant:{shift}",
                      "run.histogram_every=1", cwd=other)
        grads = {(step, name): tensor[8:10] for step, name, tensor in counts_of(other, ".grad")}
        sent = [(tensor[8:10], grads[step, name.removesuffix(".wire")])
                for step, name, tensor in counts_of(other, ".grad.wire")]
        sent = [pair for pair in sent if pair[1][0] is not None]
        checks.that(sent and all(a == [e + shift for e in b] for a, b in sent),
                    f"exponents of constant:{shift} beside those of the gradients: {sent[:3]}")


def who_only_looks_needs_no_workers(checks, cwd):
    """More workers than samples of a batch cannot be made: none are."""
    made = program.train(*NET, "workers=4", "comm.format=e5m2", "scaling=aps2",
                         "comm.error_feedback=on", "optimizer.accumulate=3", cwd=cwd)
    path = f"{cwd}/run/config.resolved.yaml"
    with open(path) as file:
        text = file.read()
    for workers in (4, 10000):
        with open(path, "w") as file:
            file.write(text.replace("workers: 4", f"workers: {workers}"))
        code, out, err = program.call("eval", "run", "--json", cwd=cwd)
        checks.that(code == 0, f"eval, {workers} workers: exit {code}: {err}")
        found = json.loads(out) if code == 0 else {}
        for field in ("test_accuracy", "weights_hash"):
            checks.same(found.get(field), made[field], f"eval, {workers} workers: {field}")
        for words in (["export", "run", "out=w.safetensors"], ["predict", "run", "count=4"]):
            code, _, err = program.call(*words, cwd=cwd)
            checks.that(code == 0, f"{words}, {workers} workers: exit {code}: {err}")
    with open(path) as file:
        checks.that("workers: 10000" in file.read(), "the folder asks for too many")


def sums_are_counted_apart(checks, cwd):
    """What travels fits e4m3fn under 2^12, sums of eight do not: the loss is that of the sums."""
    workers = 8
    call = ("train", *NET, f"workers={workers}", "comm.format=e4m3fn", "scaling=constant:12",
            "run.dir=run")
    code, _, err = program.call(*call, cwd=cwd)
    checks.that(code == 4 and ".grad.wire.sum (e4m3fn: " in err, f"the culprit is a sum: {err}")
    sent = {name: tensor for _, name, tensor in counts_of(cwd, ".grad.wire")}
    sums = {name: tensor for _, name, tensor in counts_of(cwd, ".grad.wire.sum")}
    checks.same([name + ".sum" for name in sent], list(sums), "sums of all that travels")
    checks.that(all(sums[name + ".sum"][2] == (workers - 1) * tensor[2] / workers
                    for name, tensor in sent.items()), "a ring adds p - 1 times")
    checks.same(sum(tensor[3] for tensor in sent.values()), 0, "what travels fits")
    checks.that(sum(tensor[3] for tensor in sums.values()) > 0, "sums do not")
    _, out, _ = program.call("why", "run", cwd=cwd)
    checks.that("grad.wire.sum, step 0: " in out and "scaling=aps " in out, f"why: {out}")
    _, out, _ = program.call("why", "run", "fc.bias.grad.wire", cwd=cwd)
    checks.that("Its sums on the way lost " in out, f"why of what travels: {out}")


def feedback_keeps_the_number_of_workers(checks, cwd):
    """What each worker lost has no place among others; without feedback it is left behind."""
    program.train(*NET, "workers=4", "comm.format=e5m2", "scaling=aps2",
                  "comm.error_feedback=on", cwd=cwd)
    for workers in (2, 8):
        code, _, err = program.call("resume", "run", "steps=15", f"workers={workers}", cwd=cwd)
        checks.that(code == 2 and f"workers: found {workers}, but " in err and
                    "was made with 4 workers" in err and
                    "expected workers=4 or comm.error_feedback=off" in err,
                    f"resume with {workers}: exit {code}: {err}")
    for words in (["steps=15", "workers=4"],
                  ["steps=16", "workers=2", "comm.error_feedback=off"],
                  ["steps=17", "workers=3"],
                  ["steps=18", "workers=2", "comm.error_feedback=on"], ["steps=19"]):
        code, _, err = program.call("resume", "run", *words, cwd=cwd)
        checks.that(code == 0, f"resume {words}: exit {code}: {err}")


def workers_come_and_go(checks, cwd):
    """Tensors on the wire are no part of the model: a run goes on with them or without."""
    program.train(*NET, cwd=cwd)
    for words in (["steps=15", "workers=2"], ["steps=16", "comm.format=e5m2"],
                  ["steps=17", "workers=1", "comm.format=fp32"], ["steps=20"]):
        code, _, err = program.call("resume", "run", *words, cwd=cwd)
        checks.that(code == 0, f"resume {words}: exit {code}: {err}")
    wires = {step for step, name, _ in counts_of(cwd, ".grad.wire")}
    checks.that(wires and wires <= {14, 15}, f"steps with tensors on the wire: {wires}")


IDLE = ["scaling=aps", "comm.kahan=on", "comm.error_feedback=on", "comm.exact=last", "rounding=sr"]


def what_would_change_nothing_is_refused(checks, cwd):
    """Asked for now, in words that say what is missing; never where a run brings it along."""
    def refused(words, *parts):
        code, _, err = program.call("train", *NET, *words, cwd=cwd)
        checks.that(code == 2 and all(part in err for part in parts),
                    f"{words}: exit {code}: {err.strip()}")

    for word in IDLE:
        key = {"scaling": "comm.scaling", "rounding": "comm.rounding"}.get(word.split("=")[0],
                                                                           word.split("=")[0])
        refused(["workers=4", "schedule=pairwise", word], f"found key '{key}'", "comm.format=e5m2")
        refused([word], f"found key '{key}'", "one worker does not travel",
                "precision.rounding" if "rounding" in word else "workers=N")
    refused(["schedule=hier:4"], "found key 'comm.schedule'", "workers=N")
    refused(["optimizer.trust=0.02"], "found key 'optimizer.trust', which sgd does not read",
            "optimizer=lars")
    refused(["optimizer=adam", "optimizer.compat=cpd"], "'optimizer.compat', which adam")

    # Whoever asks for float32 compares; words with their usual values are those of any run.
    program.train(*NET, "workers=4", "comm.format=fp32", "scaling=aps", cwd=cwd)
    for words in (["steps=15"], ["steps=16", "comm.format=e5m2"], ["steps=17", "workers=1"],
                  ["steps=18", "comm.format=fp32"]):
        code, _, err = program.call("resume", "run", *words, cwd=cwd)
        checks.that(code == 0, f"resume {words}: exit {code}: {err}")
    code, _, err = program.call("resume", "run", "steps=19", "scaling=aps", cwd=cwd)
    checks.that(code == 2 and "found key 'comm.scaling'" in err, f"asked for now: {code}: {err}")
    program.train(*NET, "comm.kahan=off", "scaling=none", "rounding=rne", cwd=cwd, run="plain")
    code, _, err = program.call("train", "config=plain/config.resolved.yaml", "run.dir=again",
                                cwd=cwd)
    checks.that(code == 0, f"a resolved configuration: exit {code}: {err}")
    code, _, err = program.call("plan", "model=cnn-s", "nodes=8", "scaling=aps2", cwd=cwd)
    checks.that(code == 0, f"plan has nodes for workers: exit {code}: {err}")


def the_result_tells_of_the_way(checks, cwd):
    """result.json against sums over numerics.jsonl, and bytes against the format."""
    alone = train(*NET, cwd=cwd)
    checks.that("comm" not in alone, "one worker sends nothing")
    keys = [*NET, "workers=5", "comm.format=e3m0", "scaling=aps", "comm.bucket=0"]
    whole = program.train(*keys, cwd=cwd)["comm"]
    checks.same([whole[key] for key in ("workers", "format", "scaling", "schedule")],
                [5, "e3m0", "aps", "ring"], "what it names")
    for end, key in ((".grad.wire", ""), (".grad.wire.sum", "sum_")):
        sums = [sum(column) for column in zip(*(row[2:5] for _, _, row in counts_of(cwd, end)))]
        checks.that(abs(whole[f"{key}overflow_share"] - sums[1] / sums[0]) < 1e-12 and
                    abs(whole[f"{key}underflow_share"] - sums[2] / sums[0]) < 1e-12,
                    f"{end}: {whole}, {sums}")
    checks.that(whole["underflow_share"] > 0.3, f"much is lost: {whole}")
    numbers = 2 * 4 * alone["parameters"] * 4 / 8  # a ring sends all pieces but one twice, 4 bits a number
    checks.that(numbers <= whole["bytes_per_step"] <= numbers + 5 * 8 * 20 * 60,
                f"bytes: {whole['bytes_per_step']}, of numbers {numbers}")
    checks.that(whole["bytes_per_step"] / 5 <= whole["bytes_per_worker"] <= whole["bytes_per_step"],
                f"bytes of a worker: {whole}")
    checks.same(program.resume("run", cwd=cwd)["comm"], whole, "a checkpoint tells it all")
    code, out, _ = program.call("resume", "run", cwd=cwd)
    checks.that(code == 0 and "5 workers, e3m0, scaling aps by ring: each sends up to 0." in out,
                f"in words: {out}")


def what_does_not_fit_is_refused(checks, cwd):
    for words, said in ((["workers=18"], "at most the batch of 17"),
                        (["workers=8", "schedule=hier:3"], "multiple of the group size 3"),
                        (["workers=4", "comm.format=e5m2", "schedule=ring", "scaling=aps2"], "pairwise"),
                        (["workers=4", "comm.format=e5m2", "schedule=ring", "comm.kahan=on"],
                         "pairwise"),
                        (["workers=4", "schedule=rnig"], "ring, hier:K"),
                        (["workers=4", "scaling=apz"], "aps, aps-tight"),
                        (["workers=4", "comm.format=e9m9"], "comm.format"),
                        (["workers=4", "comm.format=1: fp32"], "epoch 1 first"),
                        (["workers=4", "comm.format=e5m2", "comm.exact=nosuch*"], "found 'nosuch*'"),
                        (["workers=4", "comm.format=e5m2", "comm.exact=last, fc"],
                         "found 'fc', expected 'last' or a pattern that matches a parameter; "
                         "nearest: 'last', 'fc.bias'"),
                        (["workers=4", "comm.format=e5m2", "comm.exact=" + 300 * "n"], "expected"),
                        (["workers=4", "schedule=hier"], "hier:K")):
        code, _, err = program.call("train", *NET, *words, cwd=cwd)
        checks.that(code == 2 and said in err, f"{words}: exit {code}: {err.strip()}")


def main():
    checks = program.Checks()
    for test in (a_worker_is_a_part, nothing_else_changes_a_bit, every_schedule_and_scaling_trains,
                 codes_in_place_of_a_format, what_travels_is_counted, who_only_looks_needs_no_workers,
                 feedback_keeps_the_number_of_workers, exponents_are_those_of_what_is_sent,
                 sums_are_counted_apart,
                 the_result_tells_of_the_way, workers_come_and_go,
                 what_would_change_nothing_is_refused, what_does_not_fit_is_refused):
        with tempfile.TemporaryDirectory() as cwd:
            test(checks, cwd)
    return checks.finish()


if __name__ == "__main__":
    raise SystemExit(main())
