"""Texts: a language model is trained, evaluated, gone on with and asked; its words stay the run's own."""
import csv
import json
import math
import os
import pathlib

import program

SIZE = ["model.width=0.125", "batch=4", "data.length=8", "threads=2", "precision=fp32"]
LINES = ["the cat sat on the mat .", "the dog lay on the mat .", "", "a cat and a dog sat and lay ."]


def write(path, lines, times):
    pathlib.Path(path).write_text("".join(line + "\n" for line in lines * times), encoding="utf-8")


def words(cwd):
    return ["model=transformer-lm-s", f"data=text:{cwd}/train.txt", f"data.valid={cwd}/valid.txt", "data.unit=word",
            *SIZE]


def call(checks, *given, cwd, code=0):
    found, out, err = program.call(*given, cwd=cwd)
    checks.same(found, code, f"{given}: {err[-300:]}")
    return out, err


def begin(cwd):
    write(f"{cwd}/train.txt", LINES, 40)
    write(f"{cwd}/valid.txt", LINES[::-1], 6)


def one_training(checks, cwd):
    """The metric in the result, in the folder and of eval; a resumed training ends in the same bits."""
    begin(cwd)
    made = program.train(*words(cwd), "epochs=6", "lr=0.01", "run.checkpoint_every=50", "run.keep=9", "run.log_every=1",
                         cwd=cwd)
    value = made["test_perplexity"]
    checks.same((made["task"], made["metric"]["better"]), ("language", "lower"), "task and metric")
    checks.that(1 < value < 6, f"14 words told from those before: perplexity {value}")
    checks.that(abs(made["test_bits_per_token"] - math.log2(value)) < 1e-12, "the same in bits")
    checks.that(abs(made["tokens_per_second"] - 8 * made["images_per_second"]) < 1e-6 * made["tokens_per_second"],
                "a sample is eight tokens")
    found = json.loads(call(checks, "eval", "run", "--json", cwd=cwd)[0])
    checks.same(found["test_perplexity"], value, "eval")
    program.copy_at(cwd, "run", "again", 50)
    again = program.resume("again", cwd=cwd)
    checks.same((again["weights_hash"], again["test_perplexity"]), (made["weights_hash"], value), "resumed")
    with open(f"{cwd}/run/metrics.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    checks.same(float(rows[-1]["test_perplexity"]), value, "the column of the test")
    checks.that(float(rows[0]["batch_perplexity"]) > float(rows[-1]["batch_perplexity"]), "batches are told better")
    rows = json.loads(call(checks, "predict", "run", "count=3", "--json", cwd=cwd)[0])["predictions"]
    checks.same([row["tokens"] for row in rows], [8, 8, 8], "what predict says of windows")
    text = " <eos> ".join(LINES[::-1] * 6).split()
    checks.same([row["truth"] for row in rows], [" ".join(text[8 * i + 1:8 * i + 9]) for i in range(3)], "true words")
    vocabulary = pathlib.Path(f"{cwd}/run/vocabulary.txt").read_text(encoding="utf-8").split("\n")
    for row in rows:
        said = row["text"].split(" ")
        checks.that(len(said) == 8 and set(said) <= set(vocabulary), f"words of the run: {said}")
        right = sum(a == b for a, b in zip(said, row["truth"].split(" ")))
        checks.same(right / 8, row["accuracy"], "the likeliest words are those that are counted")


def words_stay_those_of_the_run(checks, cwd):
    """Another training text would number its words otherwise."""
    begin(cwd)
    made = program.train(*words(cwd), "steps=20", cwd=cwd)
    listed = pathlib.Path(f"{cwd}/run/vocabulary.txt").read_text(encoding="utf-8").split("\n")
    checks.same((listed[0], listed[-2:]), ("<eos>", ["<unk>", ""]), "words by count, what stands for others, the end")
    write(f"{cwd}/train.txt", ["zebra zebra zebra", "mat mat mat mat mat"], 100)
    found = json.loads(call(checks, "eval", "run", "data.changed=accept", "--json", cwd=cwd)[0])
    checks.same(found["test_perplexity"], made["test_perplexity"], "the words of the run")
    call(checks, "eval", "run", "data.unit=char", cwd=cwd, code=2)
    _, err = call(checks, "eval", "run", "data.vocabulary=other.txt", cwd=cwd, code=2)
    checks.that("a run keeps its vocabulary" in err, f"another vocabulary: {err}")
    write(f"{cwd}/other.txt", LINES, 9)
    for verb in ("eval", "predict"):
        _, err = call(checks, verb, "run", "data=text:other.txt", cwd=cwd, code=2)
        checks.that("found text:other.txt beside the run's data.valid=" in err, f"{verb} of a text that is not judged: {err}")
    for valid in ("other.txt", "none"):
        found = json.loads(call(checks, "eval", "run", "data=text:other.txt", f"data.valid={valid}", "--json", cwd=cwd)[0])
        checks.that(found["test_perplexity"] != made["test_perplexity"], f"data.valid={valid}: that text")


def the_same_bits(checks, cwd):
    """Threads, storage and joined layers change nothing."""
    begin(cwd)
    for precision in ("fp32", "1/6/9/d", "hfp8"):
        hashes = {program.train(*words(cwd), f"precision={precision}", "steps=5", f"threads={threads}",
                                f"storage={storage}", f"run.fuse={fuse}", cwd=cwd,
                                run=f"{precision.replace('/', '')}{threads}{storage}{fuse}")["weights_hash"]
                  for threads, storage, fuse in ((1, "packed", "on"), (3, "packed", "off"), (2, "float32", "on"))}
        checks.same(len(hashes), 1, f"weights of {precision}")


def sizes_by_keys(checks, cwd):
    """A network of another depth and width, with room for more words than the text has."""
    begin(cwd)
    made = program.train(*words(cwd), "model.hidden=24", "model.layers=2", "model.heads=3", "model.ff=40",
                         "model.vocab=20", "steps=30", "lr=0.01", cwd=cwd)
    block = 4 * 25 * 24 + 4 * 24 + 25 * 40 + 41 * 24
    checks.same(made["parameters"], 20 * 24 + 2 * block, "parameters")
    checks.that(made["test_perplexity"] < 8, f"it learns: {made['test_perplexity']}")


def words_in_bands(checks, cwd):
    """Frequent words in wide tables, rare ones in narrow ones: the same bits everywhere, in one go or in two."""
    begin(cwd)
    banded = [*words(cwd), "model.bands=[3, 7]", "model.hidden=16", "model.layers=1", "model.heads=2"]
    for precision in (["fp32"], ["fp16", "model.dropout=0.1"], ["1/6/9/d", "accumulator=fmac8:1/6/9"], ["hfp8"],
                      ["ldp:4-8"]):
        given = [*banded, f"precision={precision[0]}", *precision[1:], "steps=5", "run.log_every=1"]
        name = precision[0].replace("/", "")
        plain = program.train(*given, "threads=1", cwd=cwd, run=name)
        for k, way in enumerate((["threads=3", "run.fuse=off"], ["storage=float32", "threads=2"])):
            other = program.train(*given, *way, cwd=cwd, run=f"{name}-{k}",
                                  env={**os.environ, "HALFULP_MAX_ISA": "scalar" if k else "avx512"})
            checks.same((other["weights_hash"], other["test_perplexity"]),
                        (plain["weights_hash"], plain["test_perplexity"]), f"{precision} {way}")
    with open(f"{cwd}/hfp8/numerics.jsonl", encoding="utf-8") as file:
        steps = [json.loads(line) for line in file]
    counts = {row[0]: row[2] for row in next(step for step in steps if "tensors" in step)["tensors"]}
    tokens = 4 * 8
    checks.same(sum(counts[f"emb.{k}.out"] // (16 // 4 ** k) for k in range(3)), tokens, "every token is in one band")
    checks.same([counts[f"emb.{k}.proj.out"] for k in range(3)], [counts[f"emb.{k}.out"] * 4 ** k for k in range(3)],
                "products of the rows that are there")
    checks.that(0 < counts["tail.1.out"] < 4 * tokens, f"rows whose target is in the band: {counts['tail.1.out']}")
    checks.same((counts["tail.1.proj.out"], counts["tail.1.out.grad"], counts["head.out"]),
                (counts["tail.1.out"], counts["tail.1.out"], (3 + 2) * tokens),
                "four words, four numbers; the head has all rows")
    made = program.train(*banded, "epochs=6", "lr=0.01", "run.checkpoint_every=50", "run.keep=9", "seed=3",
                         "data.test_limit=6", cwd=cwd)
    checks.that(1 < made["test_perplexity"] < 6, f"it learns: {made['test_perplexity']}")
    program.copy_at(cwd, "run", "again", 50)
    again = program.resume("again", cwd=cwd)
    checks.same((again["weights_hash"], again["test_perplexity"]), (made["weights_hash"], made["test_perplexity"]),
                "resumed")
    rows = json.loads(call(checks, "predict", "run", "count=6", "--json", cwd=cwd)[0])["predictions"]
    mean = sum(math.log(row["perplexity"]) for row in rows) / len(rows)
    checks.that(abs(mean - math.log(made["test_perplexity"])) < 1e-5, "the law of predictions is that of the loss")
    checks.that(sum(row["accuracy"] for row in rows) / len(rows) > 0.4, f"words are told: {rows}")


def what_is_refused(checks, cwd):
    begin(cwd)
    _, err = call(checks, "train", "model=cnn-s", f"data=text:{cwd}/train.txt", "steps=1", cwd=cwd, code=2)
    checks.that("needs a field 'image'" in err and "'tokens', 'targets'" in err, f"pictures are wanted: {err}")
    _, err = call(checks, "train", "model=transformer-lm-s", "data=glyphs", "steps=1", cwd=cwd, code=2)
    checks.that("needs a field 'tokens'" in err, f"a text is wanted: {err}")
    for given, text in ((["model.vocab=5"], "model.vocab: found 5, expected 0 or at least"),
                        (["model.bands=[3, 3]"], "model.bands: found 3 as number 2, expected ascending"),
                        (["model.bands=[x]"], "model.bands: found 'x', expected a number of words"),
                        (["model.bands=[3]", "loss=nll"], "needs loss=softmax_cross_entropy"),
                        (["model.maps=3"], "model.maps: found a number, expected 0"),
                        (["model.hidden=24", "model.heads=5"], "found 5 heads for rows of 24 numbers")):
        _, err = call(checks, "train", *words(cwd), *given, "steps=1", cwd=cwd, code=2)
        checks.that(text in err, f"{given}: {err}")
    pathlib.Path(f"{cwd}/latin.txt").write_bytes(b"ab\nc\xe9\n")
    _, err = call(checks, "train", *words(cwd), f"data=text:{cwd}/latin.txt", "steps=1", cwd=cwd, code=3)
    checks.that("latin.txt: line 2, byte 2: found 0xe9" in err, f"a byte that is not UTF-8: {err}")
    pathlib.Path(f"{cwd}/empty.txt").write_bytes(b"")
    for unit in ("byte", "char", "word"):
        for key in ("data=text:", "data.valid="):
            _, err = call(checks, "train", *words(cwd), f"data.unit={unit}", f"{key}empty.txt", "steps=1", cwd=cwd, code=3)
            checks.that("empty.txt: found no text" in err, f"{unit}: an empty {key}: {err}")
    program.train(*words(cwd), "steps=1", cwd=cwd, run="kept")
    listed = pathlib.Path(f"{cwd}/kept/vocabulary.txt").read_text(encoding="utf-8")
    for text, code, part in ((listed + "zebra\n", 2, "'emb.weight' of model transformer-lm-s on data text:"),
                             (listed.replace("<unk>\n", ""), 3, "vocabulary.txt: found no <unk>, expected it among the words"),
                             (listed.replace("cat\n", "the\n"), 3, "found a word that stands above it already"), ("", 3, "found no word")):
        pathlib.Path(f"{cwd}/kept/vocabulary.txt").write_text(text, encoding="utf-8")
        for verb in ("eval", "predict"):
            _, err = call(checks, verb, "kept", cwd=cwd, code=code)
            checks.that(part in err, f"{verb}: another vocabulary: {err}")


def perplexities_are_compared(checks, cwd):
    """Lower is better: how far means are behind, on the front, and in what assign takes."""
    begin(cwd)
    short = [*(word for word in words(cwd) if not word.startswith("precision=")), "steps=12", "lr=0.01", "threads=1"]
    made = json.loads(call(checks, "compare", "precision=fp32,hfp8,e2m1", "seeds=1,2", *short, "--json", cwd=cwd)[0])
    checks.same((made["metric"]["name"], made["metric"]["better"]), ("perplexity", "lower"), "metric")
    means = made["precisions"]
    best = min(mean["test_perplexity"] for mean in means)
    for mean in means:
        value, memory = mean["test_perplexity"], mean["memory_bytes"]
        checks.that(abs(abs(mean["test_perplexity_behind"]) - (value - best)) < 1e-12, f"behind the best: {mean}")
        beaten = any(other["test_perplexity"] <= value and other["memory_bytes"] <= memory and
                     (other["test_perplexity"], other["memory_bytes"]) != (value, memory) for other in means)
        checks.same(mean["pareto"], not beaten and not mean["collapsed"], f"on the front: {mean['precision']}")
    _, err = call(checks, "assign", "budget=metric:-1", "assign.rungs=1", "assign.random=0", "assign.short=0", *short,
                  "data.validation=4", "run.dir=assigned", "--json", cwd=cwd)
    checks.that(os.path.exists(f"{cwd}/assigned/plan.yaml"), f"a plan: {err[-300:]}")
    used = program.train(*short, f"precision={cwd}/assigned/plan.yaml", cwd=cwd, run="planned")
    checks.that(used["test_perplexity"] >= 1, "trained by the plan")


program.main(one_training, words_stay_those_of_the_run, the_same_bits,
             sizes_by_keys, words_in_bands, what_is_refused, perplexities_are_compared)
