"""A softmax that is sampled in training and whole in evaluations: model=biglstm-s on texts."""
import json
import math
import pathlib

import program

LINES = ["the cat sat on the mat .", "the dog lay on the mat .", "", "a cat and a dog sat and lay ."]


def words(cwd):
    return ["model=biglstm-s", f"data=text:{cwd}/train.txt", f"data.valid={cwd}/valid.txt", "data.unit=word",
            "model.hidden=24", "model.projection=12", "model.negatives=5", "batch=4", "data.length=8", "threads=2",
            "precision=fp32"]


def begin(cwd):
    for name, lines, times in (("train", LINES, 40), ("valid", LINES[::-1], 6)):
        text = "".join(line + "\n" for line in lines * times)
        pathlib.Path(f"{cwd}/{name}.txt").write_text(text, encoding="utf-8")


def call(checks, *given, cwd, code=0):
    found, out, err = program.call(*given, cwd=cwd)
    checks.same(found, code, f"{given}: {err[-300:]}")
    return out, err


def one_training(checks, cwd):
    """Perplexity is that of all words, in the result and of each sample; a resumed training ends in the same bits."""
    begin(cwd)
    made = program.train(*words(cwd), "epochs=12", "run.checkpoint_every=60", "run.keep=9", "run.log_every=1", cwd=cwd)
    value = made["test_perplexity"]
    checks.that(1 < value < 6, f"12 words told from those before: perplexity {value}")
    rows = json.loads(call(checks, "predict", "run", "count=4", "--json", cwd=cwd)[0])["predictions"]
    checks.that(all(1 < row["perplexity"] < 30 for row in rows), "what predict says of windows")
    found = json.loads(call(checks, "eval", "run", "--json", cwd=cwd)[0])
    checks.same(found["test_perplexity"], value, "eval")
    program.copy_at(cwd, "run", "again", 60)
    again = program.resume("again", cwd=cwd)
    checks.same((again["weights_hash"], again["test_perplexity"]), (made["weights_hash"], value), "resumed")


def all_words_are_compared(checks, cwd):
    """Who has learned nothing chooses among the twelve words, in evaluations, whatever trainings draw."""
    begin(cwd)
    found = [program.train(*words(cwd), f"model.negatives={n}", "steps=1", "lr=0", cwd=cwd, run=f"r{n}")
             for n in (1, 9)]
    for made in found:
        checks.that(abs(made["test_perplexity"] - 12) < 0.1, f"evaluated: {made['test_perplexity']}")
    checks.that(found[0]["test_perplexity"] == found[1]["test_perplexity"], "negatives are of trainings alone")
    checks.that(found[0]["train_loss"] != found[1]["train_loss"], "and of all trainings")


def the_same_bits(checks, cwd):
    """Threads, storage, joined layers and parts of a batch that are done in another order change nothing."""
    begin(cwd)
    for precision in ("fp32", "fp16", "1/6/9/d", "hfp8"):
        hashes = {program.train(*words(cwd), f"precision={precision}", "steps=5", f"threads={threads}",
                                f"storage={storage}", f"run.fuse={fuse}", cwd=cwd,
                                run=f"{precision.replace('/', '')}{threads}{storage}{fuse}")["weights_hash"]
                  for threads, storage, fuse in ((1, "packed", "on"), (3, "packed", "off"), (2, "float32", "on"))}
        checks.same(len(hashes), 1, f"weights of {precision}")


def schemes_and_accumulators(checks, cwd):
    """The scores that are read are a tensor with counts of its own, less those that are not there."""
    begin(cwd)
    ways = (["precision=fp16", "precision.scheme=micikevicius"], ["precision=1/6/9/d", "precision.scheme=popescu"],
            ["accumulator=fmac8:1/6/9"], ["precision=hfp8", "storage=packed"])
    for number, given in enumerate(ways):
        made = program.train(*words(cwd), *given, "steps=3", cwd=cwd, run=f"s{number}")
        checks.that(made["test_perplexity"] < 20, f"{given}: {made['test_perplexity']}")
    run = pathlib.Path(f"{cwd}/counted")
    program.train(*words(cwd), "precision=fp16", "steps=1", cwd=cwd, run="counted")
    lines = map(json.loads, (run / "numerics.jsonl").read_text(encoding="utf-8").splitlines())
    elements = {row[0]: row[2] for line in lines for row in line.get("tensors", [])}
    found = elements["soft.sampled.out"]
    checks.that(4 * 8 <= found < 4 * 8 * 6, f"scores that are there: {found}")
    checks.that("soft.whole.out" not in elements, "the whole softmax is not made in a training")
    of_gradient = {name: n for name, n in elements.items() if name.startswith("soft.sampled.out.grad")}
    checks.that(of_gradient and all(n == found for n in of_gradient.values()), f"and their gradients: {of_gradient}")


def what_is_refused(checks, cwd):
    begin(cwd)
    _, err = call(checks, "train", *words(cwd), "task.smoothing=0.1", "steps=1", cwd=cwd, code=2)
    checks.that("a sampled softmax needs rows of classes and no smoothing" in err, f"smoothing: {err}")


def the_full_size(checks, cwd):
    made = json.loads(call(checks, "plan", "model=biglstm", "batch=1", "--json", cwd=cwd)[0])
    checks.same(made["parameters"], 1776880510, "parameters of biglstm")


program.main(one_training, all_words_are_compared, the_same_bits, schemes_and_accumulators,
             what_is_refused, the_full_size)
