"""Sentences in two languages: what a run keeps of them, and what is said of those that are left out."""
import json
import pathlib

import program

PAIRS = [("A dog sleeps.", "Un chien dort."), ("A cat sleeps.", "Un chat dort."),
         ("The dog sees a cat.", "Le chien voit un chat."), ("A cat, a dog, a cat and a dog.", "Trop long.")]
# The rows of the target are texts with unlabelled ends: a language model of that language reads them.
TRAIN = ["model=transformer-lm-s", "model.width=0.125", "batch=4", "data.length=8", "threads=2", "precision=fp32",
         "data.source=en", "data.target=fr"]


def write(cwd, pairs, times=8):
    for half in ("train", "val"):
        for side, language in enumerate(("en", "fr")):
            lines = [pair[side] + "\n" for pair in pairs] * times
            pathlib.Path(f"{cwd}/{half}.{language}").write_text("".join(lines), encoding="utf-8")


def call(checks, *given, cwd, code=0):
    found, out, err = program.call(*given, cwd=cwd)
    checks.same(found, code, f"{given}: {err[-300:]}")
    return out, err


def words_stay_those_of_the_run(checks, cwd):
    """Other training files would number their words otherwise."""
    write(cwd, PAIRS)
    made = program.train(*TRAIN, f"data=parallel:{cwd}", "steps=9", "run.checkpoint_every=4", "run.keep=9", cwd=cwd)
    kept = {name: pathlib.Path(f"{cwd}/run/{name}").read_text(encoding="utf-8").split("\n")
            for name in ("vocabulary.txt", "vocabulary.source.txt")}
    checks.same(kept["vocabulary.txt"][:7], ["<pad>", "<bos>", "<eos>", "<unk>", ".", "un", "chat"], "French")
    checks.same(kept["vocabulary.source.txt"][4:7], ["a", ".", "cat"], "English")
    program.copy_at(cwd, "run", "again", 4)
    again = program.resume("again", cwd=cwd)
    checks.same((again["weights_hash"], again["test_perplexity"]), (made["weights_hash"], made["test_perplexity"]),
                "resumed")
    for language in ("en", "fr"):
        pathlib.Path(f"{cwd}/train.{language}").write_text("dort zebra dort\n" * 9, encoding="utf-8")
    call(checks, "eval", "run", "--json", cwd=cwd, code=3)
    found = json.loads(call(checks, "eval", "run", "data.changed=accept", "--json", cwd=cwd)[0])
    checks.same(found["test_perplexity"], made["test_perplexity"], "the words of the run")
    for key in ("data.source=fr", "data.target=en", "data.vocabulary=v.txt", "data.source_vocabulary=v.txt"):
        _, err = call(checks, "eval", "run", key, "data.changed=accept", cwd=cwd, code=2)
        checks.that("a run keeps" in err, f"{key}: {err}")


def other_sentences_are_judged(checks, cwd):
    """A folder of test files alone: the words are the run's, and unknown ones are <unk>."""
    write(cwd, PAIRS)
    made = program.train(*TRAIN, f"data=parallel:{cwd}", "steps=9", "data.drop_last=off", cwd=cwd)
    other = pathlib.Path(cwd, "other")
    other.mkdir()
    for language in ("en", "fr"):
        (other / f"test.{language}").write_bytes(pathlib.Path(f"{cwd}/val.{language}").read_bytes())
    found = json.loads(call(checks, "eval", "run", f"data=parallel:{other}", "--json", cwd=cwd)[0])
    checks.same(found["test_perplexity"], made["test_perplexity"], "the same sentences elsewhere")
    (other / "test.fr").write_text("zut\n" * 32, encoding="utf-8")
    found = json.loads(call(checks, "eval", "run", f"data=parallel:{other}", "--json", cwd=cwd)[0])
    checks.that(found["test_perplexity"] != made["test_perplexity"], "other sentences")


def pairs_that_are_left_out_are_told(checks, cwd):
    write(cwd, PAIRS + [("", "Rien.")])
    _, err = call(checks, "train", *TRAIN, f"data=parallel:{cwd}", "steps=1", "out=told", cwd=cwd)
    told = "16 pairs of training and 16 of testing are left out: more than 7 words (data.length - 1), or none"
    checks.that(told in err, f"pairs are left out: {err}")


def what_is_refused(checks, cwd):
    write(cwd, PAIRS)
    _, err = call(checks, "train", *TRAIN, f"data=parallel:{cwd}", "data.target=de", "steps=1", cwd=cwd, code=3)
    checks.that("train.de" in err and "the folder must hold train.LANG" in err, f"another language: {err}")
    _, err = call(checks, "train", *TRAIN[:-1], f"data=parallel:{cwd}", "steps=1", cwd=cwd, code=2)
    checks.that("data.target: found none" in err, f"no language: {err}")
    pathlib.Path(f"{cwd}/val.fr").write_text("Un chien.\n", encoding="utf-8")
    _, err = call(checks, "train", *TRAIN, f"data=parallel:{cwd}", "steps=1", cwd=cwd, code=3)
    checks.that("val.fr: found 1 lines, expected 32" in err, f"lines without partners: {err}")


program.main(words_stay_those_of_the_run, other_sentences_are_judged, pairs_that_are_left_out_are_told, what_is_refused)
