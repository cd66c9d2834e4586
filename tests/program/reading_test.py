"""How samples become numbers and batches: means and deviations, borders of crops, last batches."""
import os

import program

KEYS = ["model=cnn-s", "model.width=0.25", *program.TINY, "run.quiet=on", "lr.warmup=0",
        "lr.schedule=constant"]


def fails(checks, cwd, parts, *words):
    code, out, err = program.call("train", *KEYS, *words, "run.dir=bad", cwd=cwd)
    checks.same((code, out), (2, ""), f"{words}: exit code ({err!r})")
    for part in parts:
        checks.that(part in err, f"{words}: '{part}' in {err!r}")
    checks.that(not os.path.exists(os.path.join(cwd, "bad")), f"{words}: no run folder")


def constants(checks, cwd):
    """Those of the data set, said by name, change nothing; others do, and belong to the run."""
    def trained(run, *words):
        return program.train(*KEYS, "steps=4", *words, cwd=cwd, run=run)
    usual = trained("usual")
    said = trained("said", "data.mean=0.5, 0.5, 0.5", "data.std=[0.25, 0.25, 0.25]")
    checks.same(said["weights_hash"], usual["weights_hash"], "the data set's own numbers")
    other = trained("other", "data.std=[0.25, 0.25, 0.2]")
    checks.that(other["weights_hash"] != usual["weights_hash"], "another deviation")
    half = trained("half", "data.std=[0.25, 0.25, 0.2]", "steps=2")
    checks.that(half["weights_hash"] != other["weights_hash"], "two steps are not four")
    made = program.resume("half", "steps=4", cwd=cwd)
    checks.same(made["weights_hash"], other["weights_hash"], "resumed with its numbers")
    fails(checks, cwd, ["data.mean", "found 2", "channel", "3"], "data.mean=[0.5, 0.5]")
    fails(checks, cwd, ["data.mean", "'1.5'", "0 to 1"], "data.mean=[0.5, 0.5, 1.5]")
    fails(checks, cwd, ["data.std", "'0'", "to 1"], "data.std=[0.2, 0, 0.2]")
    fails(checks, cwd, ["data.std", "'much'"], "data.std=[0.2, 0.2, much]")


def grey(checks, cwd):
    program.write_idx(os.path.join(cwd, "data"), count=64)
    keys = ["model=cnn-s", "model.width=0.25", "data=idx:data", "batch=16", "steps=2", "threads=1"]
    usual = program.train(*keys, cwd=cwd, run="usual")
    other = program.train(*keys, "data.mean=0.25", "data.std=0.5", cwd=cwd, run="other")
    checks.that(usual["weights_hash"] != other["weights_hash"], "one channel, one number")


def last_batches(checks, cwd):
    """96 samples are 2 batches of 40 and one of 16."""
    epochs = {}
    for word in ("off", "on"):
        program.train(*KEYS, "batch=40", "epochs=3", f"data.drop_last={word}", cwd=cwd, run=word)
        epochs[word] = [row["epoch"] for row in program.rows(cwd, word)]
    checks.same(epochs["off"], list("000111222"), "steps of epochs with their last batch")
    checks.same(epochs["on"], list("001122"), "steps of epochs without it")
    losses = [[row["loss"] for row in program.rows(cwd, run)][:2] for run in ("off", "on")]
    checks.same(losses[0], losses[1], "the first two steps")
    program.train(*KEYS, "batch=32", "epochs=2", "data.drop_last=on", cwd=cwd, run="whole")
    checks.same(len(program.rows(cwd, "whole")), 6, "whole batches: none is left out")
    fails(checks, cwd, ["data.drop_last", "found 96", "batch of 97"], "batch=97",
          "data.drop_last=on")


def borders(checks, cwd):
    hashes = {}
    for name, words in (("black", []), ("reflect", ["data.border=reflect"]),
                        ("threads", ["data.border=reflect", "threads=3"])):
        made = program.train(*KEYS, "steps=3", "data.augment=[crop]", *words, cwd=cwd, run=name)
        hashes[name] = made["weights_hash"]
    checks.that(hashes["black"] != hashes["reflect"], "a mirrored border is not black")
    checks.same(hashes["threads"], hashes["reflect"], "three threads")


program.main(constants, grey, last_batches, borders)
