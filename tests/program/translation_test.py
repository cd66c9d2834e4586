"""Translation: a model learns an invented language, writes by itself, and is judged by BLEU; every precision and way."""
import json
import os
import pathlib
import random

import program

# Word by word, but for the order of an adjective and its noun.
NOUNS, ADJECTIVES = ("dog cat bird", "chien chat oiseau"), ("red old", "rouge vieux")
MODELS = (["model=seq2seq-s", "model.hidden=32"], ["model=seq2seq", "model.hidden=16", "model.layers=2"])
WORDS = ["data.source=en", "data.target=fr", "data.length=9", "data.min_count=1",
         "batch=8", "eval.every=0", "run.chunk=3"]
PRECISIONS = ("fp32", "fp16", "bf16", "1/6/9/d", "hfp8", "demote:0.6+promote", "lee", "uniform", "mxfp8")
WAYS = (["threads=3"], ["storage=float32"], ["run.fuse=off", "recompute=off"], ["storage=dense", "threads=2"])


def sentence(draw, words):
    """Of one word, or of as many nouns with adjectives as there are."""
    nouns, adjectives = [text.split() for text in NOUNS], [text.split() for text in ADJECTIVES]
    english, french = [], []
    while len(english) < words:
        n = draw.randrange(3)
        if words - len(english) == 1:
            english, french = english + [nouns[0][n]], french + [nouns[1][n]]
        else:
            a = draw.randrange(2)
            english, french = english + [adjectives[0][a], nouns[0][n]], french + [nouns[1][n], adjectives[1][a]]
    return english, french


def folder(cwd):
    """Sentences of 1 to 8 words, which is all that there is room for, and two pairs that do not fit."""
    made = pathlib.Path(cwd) / "text"
    if made.is_dir():
        return made
    made.mkdir()
    draw = random.Random(4)
    for half, count in (("train", 240), ("test", 24)):
        pairs = [sentence(draw, 1 + i % 8) for i in range(count)]
        pairs[5:5] = [(["dog"] * 9, ["chien"]), ([], ["chien"])]
        for side, language in enumerate(("en", "fr")):
            text = "".join(" ".join(pair[side]).capitalize() + "\n" for pair in pairs)
            (made / f"{half}.{language}").write_text(text, encoding="utf-8")
    return made


def trained(cwd, name, *words, fed=False, **more):
    """fed: what the decoder finds is part of its next input, so that attention stands in its loop."""
    return program.train(*MODELS[fed], f"data=parallel:{folder(cwd)}", *WORDS, *words, cwd=cwd, run=name, **more)


def it_learns_to_write(checks, cwd):
    made = trained(cwd, "learns", "epochs=10", "lr=0.02", "threads=2")
    checks.same(made["metric"]["better"], "lower", "perplexity judges")
    checks.that(made["test_perplexity"] < 1.5, f"perplexity {made['test_perplexity']}")
    checks.that(made["test_bleu"] > 0.75, f"BLEU {made['test_bleu']}")
    code, out, err = program.call("predict", "learns", "count=24", "--json", cwd=cwd)
    checks.same(code, 0, err)
    rows = json.loads(out)["predictions"]
    checks.same(len(rows), 24, "empty sentences and those that are too long are left out")
    checks.same((rows[0]["source"], rows[0]["truth"]), ("dog", "chien"), "one word")
    right = sum(row["text"] == row["truth"] for row in rows)
    checks.that(right >= 15 and all(row["text"] for row in rows), f"{right} translations of 24 are right")
    code, out, err = program.call("predict", "learns", "count=3", cwd=cwd)
    for row in rows[:3]:
        checks.that(row["source"] in out and row["text"] in out and row["truth"] in out, f"{row}: {out}")
    found = json.loads(program.call("eval", "learns", "--json", cwd=cwd)[1])
    checks.same(found["test_bleu"], made["test_bleu"], "eval")
    found = json.loads(program.call("eval", "learns", "eval.decode=off", "--json", cwd=cwd)[1])
    checks.same((found["test_bleu"], found["test_perplexity"]), (None, made["test_perplexity"]), "without decoding")
    for verb in ("why", "stats", "report"):
        checks.same(program.call(verb, "learns", cwd=cwd)[0], 0, verb)
    found = json.loads(program.call("why", "learns", "--json", cwd=cwd)[1])
    checks.same(found["death"], None, "a state that begins with zeros is no death")


def bits_are_equal(checks, cwd):
    for turn, precision in enumerate(PRECISIONS):
        words = ["steps=2", "data.test_limit=5",
                 *([f"precision={precision}"] if precision != "lee" else ["precision=fp16", "precision.scheme=lee"])]
        fed = turn % 3 > 0
        plain = trained(cwd, f"plain-{turn}", *words, "threads=1", fed=fed)
        for more in (WAYS[turn % len(WAYS)], WAYS[(turn + 1) % len(WAYS)]):
            other = trained(cwd, f"other-{turn}-{more[0]}", *words, *more, fed=fed)
            for key in ("weights_hash", "train_loss", "test_perplexity", "test_bleu"):
                checks.same(other[key], plain[key], f"{words} {more}: {key}")
    words = ["precision=1/6/9/d", "threads=1", *program.FOR_SCALAR]
    plain = trained(cwd, "native", *words, fed=True)
    other = trained(cwd, "scalar", *words, fed=True, env={**os.environ, "HALFULP_MAX_ISA": "scalar"})
    checks.same(other["weights_hash"], plain["weights_hash"], "scalar")


def runs_go_on(checks, cwd):
    for fed, precision in enumerate(("hfp8", "fp16")):
        whole = trained(cwd, precision, f"precision={precision}", "threads=1", "steps=5", "data.test_limit=5",
                        "run.checkpoint_every=1", "run.keep=9", fed=fed)
        for step in (2, 4):
            program.copy_at(cwd, precision, f"{precision}-{step}", step)
            rest = program.resume(f"{precision}-{step}", cwd=cwd)
            checks.same((rest["weights_hash"], rest["test_bleu"]), (whole["weights_hash"], whole["test_bleu"]),
                        f"{precision}, resumed at {step}")


def batches_of_like_lengths(checks, cwd):
    """Buckets change the order alone: bits are the same over threads and where a run goes on in the middle of an epoch."""
    words = ["data.buckets=[3, 6]", "steps=40", "batch=7", "data.test_limit=5", "precision=hfp8", "eval.decode=off"]
    whole = trained(cwd, "buckets", *words, "threads=1", "run.checkpoint_every=11", "run.keep=9")
    plain = trained(cwd, "no-buckets", *words[1:], "threads=1")
    checks.that(plain["weights_hash"] != whole["weights_hash"], "the order is another one")
    checks.same(trained(cwd, "by-3", *words, "threads=3", "run.chunk=2")["weights_hash"], whole["weights_hash"], "threads")
    program.copy_at(cwd, "buckets", "buckets-11", 11)
    checks.same(program.resume("buckets-11", cwd=cwd)["weights_hash"], whole["weights_hash"], "resumed at 11")
    refused = ((["data.buckets=[6, 3]"], "data.buckets: found 3 as bound 2, expected ascending"),
               (["data.buckets=[x]"], "data.buckets"))
    for more, part in refused:
        code, _, err = program.call("train", *MODELS[0], f"data=parallel:{folder(cwd)}", *WORDS, *more, cwd=cwd)
        checks.that(code == 2 and part in err, f"{more}: {code} {err}")
    code, _, err = program.call("train", "model=cnn-s", "data=glyphs", "data.limit=64", "data.buckets=[3]", cwd=cwd)
    checks.that(code == 2 and "data.buckets: found 1 bounds for samples without lengths" in err, f"{code} {err}")


def places_end_one_by_one(checks, cwd):
    """Passes of every smaller number of sentences: oneDNN, which needs each made ready, says what plain products say."""
    rows = []
    for products in ("own", "onednn") if program.has_onednn() else ():
        words = ["steps=6", "lr=0.02", "data.length=24", "data.test_limit=21", f"products={products}", "run.chunk=8", "threads=1"]
        made = trained(cwd, f"by-{products}", *words)
        code, out, err = program.call("predict", f"by-{products}", "count=11", "--json", cwd=cwd)
        checks.same(code, 0, f"{products}: {err}")
        rows.append((made["test_bleu"], [row["text"] for row in json.loads(out)["predictions"]]))
    checks.same(rows[1:], rows[:1], "translations")


def words_are_drawn(checks, cwd):
    """model.negatives: trainings compare with some words, evaluations and what is written with all."""
    for fed in (False, True):
        keys = ["model.negatives=5", "steps=6"]
        made = [trained(cwd, f"drawn-{fed}-{n}", *keys, f"threads={n}", fed=fed) for n in (1, 3)]
        checks.same(made[1]["weights_hash"], made[0]["weights_hash"], f"threads, fed={fed}")
        whole = trained(cwd, f"whole-{fed}", "steps=1", "lr=0", fed=fed)
        some = trained(cwd, f"some-{fed}", "steps=1", "lr=0", "model.negatives=5", fed=fed)
        checks.same(some["parameters"], whole["parameters"], "the same parameters")
        checks.that(some["train_loss"] < whole["train_loss"], "fewer words are easier to tell apart")
        # Nothing is learned: nearly every word is as likely.
        checks.that(abs(some["test_perplexity"] / whole["test_perplexity"] - 1) < 0.25,
                    f"evaluations take all words: {some['test_perplexity']}, {whole['test_perplexity']}")
    made = trained(cwd, "drawn", "epochs=10", "lr=0.02", "threads=2", "model.negatives=7")
    checks.that(made["test_bleu"] > 0.4, f"learned with 7 words: BLEU {made['test_bleu']}")


program.main(it_learns_to_write, words_are_drawn, bits_are_equal, runs_go_on, batches_of_like_lengths, places_end_one_by_one)
