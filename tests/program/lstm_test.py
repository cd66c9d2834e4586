"""Language models whose states go on from batch to batch: the same bits, resumed in the middle of an epoch."""
import json
import pathlib

import program

LINES = ["the cat sat on the mat .", "the dog lay on the mat .", "", "a cat and a dog sat and lay ."]
SIZE = ["model=lstm-lm-s", "model.hidden=16", "batch=6", "data.length=5", "precision=fp32", "run.log_every=1"]
PER_EPOCH = 29  # 27 tokens in four lines, times 33: 891 of them in 6 streams of 148


def words(cwd):
    for name, lines, times in (("train", LINES, 33), ("valid", LINES[::-1], 9)):
        text = "".join(line + "\n" for line in lines * times)
        pathlib.Path(f"{cwd}/{name}.txt").write_text(text, encoding="utf-8")
    return [*SIZE, f"data=text:{cwd}/train.txt", f"data.valid={cwd}/valid.txt", "data.unit=word"]


def call(checks, *given, cwd, code=0):
    found, out, err = program.call(*given, cwd=cwd)
    checks.same(found, code, f"{given}: {err[-300:]}")
    return out, err


def losses(cwd, run):
    return [float.fromhex(row["loss"]) for row in program.rows(cwd, run)]


def one_training(checks, cwd):
    """States are part of a checkpoint; evaluations leave them alone; two epochs begin with zeros."""
    given = [*words(cwd), "epochs=3", "lr=0.05", "threads=2", "run.keep=9"]
    made = program.train(*given, "run.checkpoint_every=40", "eval.every=1", cwd=cwd)
    checks.same(made["steps"], 3 * PER_EPOCH, "updates of three epochs")
    checks.that(1 < made["test_perplexity"] < 4, f"words told from those before: {made['test_perplexity']}")
    checks.same(made["zeroed_streams"], 0, "streams that began again")
    for step in (40, 80):
        copy = f"at{step}"
        program.copy_at(cwd, "run", copy, step)
        again = program.resume(copy, cwd=cwd)
        checks.same((again["weights_hash"], again["test_perplexity"]),
                    (made["weights_hash"], made["test_perplexity"]), f"gone on from {step}")
    once = program.train(*given, "eval.every=0", cwd=cwd, run="once")
    checks.same(once["weights_hash"], made["weights_hash"], "evaluations in the middle")
    found = json.loads(call(checks, "eval", "run", "--json", cwd=cwd)[0])
    checks.same(found["test_perplexity"], made["test_perplexity"], "eval")
    rows = json.loads(call(checks, "predict", "run", "count=3", "--json", cwd=cwd)[0])["predictions"]
    checks.same([row["tokens"] for row in rows], [5, 5, 5], "what predict says of the first tokens of streams")
    made = json.loads(call(checks, "predict", "run", "text=the cat sat", "--json", cwd=cwd)[0])
    checks.same((made["tokens"], made["made"] > 0), (3, True), "words of a text that is gone on with")


def the_same_bits(checks, cwd):
    """Threads, storage and joined layers change nothing; behind the fifth step the states were all in use."""
    given = words(cwd)
    for precision in ("fp32", "1/6/9/d", "fp16", "hfp8"):
        hashes = {program.train(*given, f"precision={precision}", "steps=6", f"threads={threads}",
                                f"storage={storage}", f"run.fuse={fuse}", "eval.every=0", cwd=cwd,
                                run=f"{precision.replace('/', '')}{threads}{storage}{fuse}")["weights_hash"]
                  for threads, storage, fuse in ((1, "packed", "on"), (3, "dense", "off"), (2, "float32", "on"))}
        checks.same(len(hashes), 1, f"weights of {precision}")


def parts_and_workers(checks, cwd):
    """Streams are shared out, not time: the losses are those of one pass, but for the order of sums."""
    given = [*words(cwd), "steps=40", "model.dropout=0", "eval.every=0", "threads=2"]
    program.train(*given, cwd=cwd, run="whole")
    whole = losses(cwd, "whole")
    for name, keys in (("parts", ["optimizer.accumulate=2"]), ("workers", ["workers=2"]),
                       ("both", ["workers=2", "optimizer.accumulate=2"])):
        made = program.train(*given, *keys, "run.checkpoint_every=17", "run.keep=9", cwd=cwd, run=name)
        apart = max(abs(a - b) / b for a, b in zip(losses(cwd, name), whole))
        checks.that(apart < 1e-4, f"{name}: losses {apart} apart")
        program.copy_at(cwd, name, f"{name}-again", 17)
        checks.same(program.resume(f"{name}-again", cwd=cwd)["weights_hash"], made["weights_hash"], f"{name}: resumed")


def every_precision_trains(checks, cwd):
    given = [*words(cwd), "epochs=1", "lr=0.05", "eval.every=0", "threads=2"]
    for precision in ("fp16", "hfp8", "1/6/9/d", "ldp:4-8", "uniform+promote"):
        made = program.train(*given, f"precision={precision}", cwd=cwd, run=precision.replace("/", "").replace(":", ""))
        checks.that(made["test_perplexity"] < 8, f"{precision}: perplexity {made['test_perplexity']} of 14 words")


def what_is_not_finite(checks, cwd):
    """Cells that a narrow format makes infinite: their streams begin again as zeros, and it is told."""
    code, out, err = program.call("train", *words(cwd), "precision=fp16", "steps=12", "lr=0.3", "eval.every=0",
                                  "precision.rules=lstm_l0.cell.out: e2m3:ovf=inf", "run.dir=run", "--json", cwd=cwd)
    made = json.loads(out) if checks.that(code == 0, f"states that are not finite: {err}") else {}
    told = [int(line.split("states of ")[1].split()[0]) for line in err.splitlines() if "were not finite" in line]
    checks.that(made["zeroed_streams"] > 0 and sum(told) == made["zeroed_streams"],
                f"{made['zeroed_streams']} streams began again, told of {told}")


def parts_that_do_not_run(checks, cwd):
    """A gradient that a format without infinities stops: nobody makes the states of the parts behind it."""
    given = [*words(cwd), "precision=fp16", "precision.rules=lstm_l0.cell.out.grad: e2m3:ovf=inf",
             "scaler=dynamic", "scaler.init=1e30", "steps=4", "eval.every=0"]
    for parts, lost in ((1, 0), (2, 3), (3, 4)):
        made = program.train(*given, f"optimizer.accumulate={parts}", cwd=cwd, run=f"parts{parts}")
        checks.same((made["skipped_steps"], made["zeroed_streams"]), (4, 4 * lost),
                    f"{parts} parts: skipped steps, and streams that began again")


def another_precision(checks, cwd):
    """States that its formats do not have begin again as zeros; evaluations begin with zeros anyway."""
    given = words(cwd)
    made = program.train(*given, "steps=3", cwd=cwd)
    found = json.loads(call(checks, "eval", "run", "precision=hfp8", "--json", cwd=cwd)[0])
    checks.that(abs(found["test_perplexity"] / made["test_perplexity"] - 1) < 0.1, f"eval: {found['test_perplexity']}")
    same = program.resume("run", "steps=4", cwd=cwd)
    checks.same(same["zeroed_streams"], 0, "the same precision")
    other = program.resume("run", "precision=hfp8", "steps=6", cwd=cwd)
    checks.same(other["zeroed_streams"], 6, "streams that began again")


def what_is_refused(checks, cwd):
    given = words(cwd)
    _, err = call(checks, "train", *given, "data.streams=off", "steps=1", cwd=cwd, code=2)
    checks.that("expected as many as the batch has samples, 6: data.streams=on" in err, f"windows: {err}")
    _, err = call(checks, "train", "model=lstm-lm-s", "data=glyphs", "steps=1", cwd=cwd, code=2)
    checks.that("needs a field 'tokens'" in err, f"a text is wanted: {err}")
    program.train(*given, "steps=3", cwd=cwd)
    _, err = call(checks, "resume", "run", "batch=4", cwd=cwd, code=2)
    checks.that("made with 6 streams, each of which goes on; expected batch=6" in err, f"other streams: {err}")


program.main(one_training, the_same_bits, parts_and_workers, every_precision_trains,
             what_is_not_finite, parts_that_do_not_run, another_precision, what_is_refused)
