"""BERT: hidden words and pairs of segments are told; its samples are new in every epoch, and stay the run's own."""
import csv
import json
import pathlib

import program

SIZE = ["model.width=0.125", "batch=8", "data.length=23", "threads=2", "precision=fp32"]
SENTENCES = ["the cat sat on the mat .", "the dog lay on the mat .", "a cat and a dog sat and lay .", ""]


def begin(cwd, headings=True):
    """Documents of sentences in turn, each below a heading."""
    for name, documents in (("train", 24), ("valid", 6)):
        lines = []
        for k in range(documents):
            lines += [f" = story {k} = "] * headings + [""] + SENTENCES[k % 3:] + SENTENCES[:k % 4]
        pathlib.Path(f"{cwd}/{name}.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def words(cwd):
    return ["model=bert-tiny-s", f"data=segments:{cwd}/train.txt", f"data.valid={cwd}/valid.txt", *SIZE]


def call(checks, *given, cwd, code=0):
    found, out, err = program.call(*given, cwd=cwd)
    checks.same(found, code, f"{given}: {err[-300:]}")
    return out, err


def one_training(checks, cwd):
    """Metrics in the result, in the folder and of eval; a training that goes on in the middle of an epoch ends in the
    same bits, though every epoch hides other words."""
    begin(cwd)
    made = program.train(*words(cwd), "epochs=6", "lr=0.01", "run.checkpoint_every=13", "run.keep=9", "run.log_every=1",
                         "data.drop_last=off", cwd=cwd)
    of_epoch = made["steps"] // 6
    checks.that(13 < made["steps"] and 13 % of_epoch, f"step 13 lies inside an epoch of {of_epoch}")
    checks.same((made["task"], made["metric"]["name"], made["metric"]["better"]), ("pretrain", "mlm_loss", "lower"),
                "task and metric")
    checks.that(0 < made["test_mlm_loss"] < 3, f"hidden words of 17: a loss of {made['test_mlm_loss']}")
    checks.that(0.1 < made["test_mlm_accuracy"] <= 1 and 0 < made["test_nsp_accuracy"] < 1, "shares that are right")
    checks.that(abs(made["tokens_per_second"] - 23 * made["images_per_second"]) < 1e-6 * made["tokens_per_second"],
                "a sample is 23 tokens")
    found = json.loads(call(checks, "eval", "run", "--json", cwd=cwd)[0])
    for name in ("test_mlm_loss", "test_mlm_accuracy", "test_nsp_accuracy"):
        checks.same(found[name], made[name], f"eval: {name}")
    program.copy_at(cwd, "run", "again", 13)
    again = program.resume("again", cwd=cwd)
    checks.same((again["weights_hash"], again["test_mlm_loss"]), (made["weights_hash"], made["test_mlm_loss"]), "resumed")
    with open(f"{cwd}/run/metrics.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    checks.same(float(rows[-1]["test_mlm_loss"]), made["test_mlm_loss"], "the column of the test")
    checks.that(float(rows[0]["batch_mlm_loss"]) > float(rows[-1]["batch_mlm_loss"]), "batches are told better")


def what_predict_says(checks, cwd):
    """A word for each hidden place, and whether the segments belong together; the words are the run's own."""
    begin(cwd)
    made = program.train(*words(cwd), "steps=10", cwd=cwd)
    listed = pathlib.Path(f"{cwd}/run/vocabulary.txt").read_text(encoding="utf-8").split("\n")
    checks.same(listed[-5:], ["[PAD]", "[CLS]", "[SEP]", "[MASK]", ""], "special words behind the others")
    rows = json.loads(call(checks, "predict", "run", "count=5", "--json", cwd=cwd)[0])["predictions"]
    for row in rows:
        checks.same(len(row["top"]), row["hidden"], "a word for each hidden place")
        checks.that(all(top["name"] in listed for top in row["top"]), "words of the vocabulary")
        for said in ("text", "truth"):
            checks.same(len(row[said].split()), row["hidden"], f"{said}: the hidden words, one behind the other")
            checks.that(set(row[said].split()) <= set(listed), f"{said}: words of the vocabulary: {row[said]!r}")
        checks.that(row["label"] in (0, 1) and row["predicted"] in (0, 1), "together or not")
    checks.that(sum(row["hidden"] for row in rows) > 0, "words are hidden")
    pathlib.Path(f"{cwd}/train.txt").write_text("= one =\n" + "zebra mat " * 100, encoding="utf-8")
    found = json.loads(call(checks, "eval", "run", "data.changed=accept", "--json", cwd=cwd)[0])
    checks.same(found["test_mlm_loss"], made["test_mlm_loss"], "the words of the run, another training text")


def the_same_bits(checks, cwd):
    """Threads, storage and joined layers change nothing, in any precision."""
    begin(cwd)
    for precision in ("fp32", "fp16", "1/6/9/d", "hfp8"):
        made = [program.train(*words(cwd), f"precision={precision}", "steps=4", f"threads={threads}",
                              f"storage={storage}", f"run.fuse={fuse}", cwd=cwd,
                              run=f"{precision.replace('/', '')}{threads}{storage}{fuse}")
                for threads, storage, fuse in ((1, "packed", "on"), (3, "packed", "off"), (2, "float32", "on"))]
        checks.same(len({(run["weights_hash"], run["test_mlm_loss"]) for run in made}), 1, f"weights of {precision}")
    made = program.train(*words(cwd), "loss=nll", "steps=2", cwd=cwd, run="two")
    checks.that(made["test_mlm_loss"] > 0, "log-softmax as a tensor of its own")


def pieces_of_words(checks, cwd):
    """Words in pieces of a vocabulary; the run keeps it, with the piece that is a backslash."""
    begin(cwd)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\\", "th", "##e", "c", "##at", "d", "##og", "s", "mat", "on",
              "a", "and", "lay", "."]
    pathlib.Path(f"{cwd}/pieces.txt").write_text("".join(piece + "\n" for piece in pieces), encoding="utf-8")
    made = program.train(*words(cwd), "data.unit=piece", f"data.vocabulary={cwd}/pieces.txt", "steps=3", cwd=cwd)
    listed = pathlib.Path(f"{cwd}/run/vocabulary.txt").read_text(encoding="utf-8").split("\n")
    checks.same(listed[:-1], [piece.replace("\\", "\\\\") for piece in pieces], "the pieces of the run")
    pathlib.Path(f"{cwd}/pieces.txt").unlink()
    found = json.loads(call(checks, "eval", "run", "--json", cwd=cwd)[0])
    checks.same(found["test_mlm_loss"], made["test_mlm_loss"], "eval by the run's own pieces")


def what_is_refused(checks, cwd):
    begin(cwd)
    data = words(cwd)[1:3]
    for given, part in ((["model=cnn-s", *data], "needs a field 'image'"),
                        (["model=bert-tiny-s", "data=glyphs"], "data=segments:FILE has it"),
                        (["model=bert-tiny-s", f"data={cwd}/train.txt"], "expected its kind in front, as text:"),
                        (["model=bert-tiny-s", f"data=text:{cwd}/train.txt"], "data=segments:FILE has it"),
                        (["model=transformer-lm-s", "task=pretrain", *data], "the task pretrain needs"),
                        ([*words(cwd), "data.length=100"], "data.length: found 100 tokens, expected at most 64; bert-tiny"),
                        ([*words(cwd), "data.streams=on"], "data.streams: found on"),
                        ([*words(cwd), "data.unit=piece"], "data.vocabulary: found none"),
                        (["model=transformer-lm-s", f"data=text:{cwd}/train.txt", "data.unit=piece"],
                         "data.unit: found piece, expected byte, char or word")):
        _, err = call(checks, "train", *given, "steps=1", cwd=cwd, code=2)
        checks.that(part in err, f"{given}: {err}")
    pathlib.Path(f"{cwd}/short.txt").write_text("= one =\na b c\n", encoding="utf-8")
    _, err = call(checks, "train", *words(cwd), f"data=segments:{cwd}/short.txt", "steps=1", cwd=cwd, code=3)
    checks.that("found 1 segment of 3 to 10 words, expected at least 2" in err, f"too short: {err}")


program.main(one_training, what_predict_says, the_same_bits, pieces_of_words, what_is_refused)
