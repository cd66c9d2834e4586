"""Networks as files: `halfulp model NAME out=FILE.yaml` writes every model, and the file trains to the model's bits."""
import json
import os
import pathlib
import re
import wave

import program

GLYPHS = ["data=glyphs", "data.limit=12", "data.test_limit=4", "batch=5", "steps=2"]
COMMON = ["run.chunk=2", "threads=1", "eval.every=0", "run.quiet=on", "lr=0.01", "lr.warmup=0"]
RESULTS = ["weights_hash", "train_loss", "metric", "parameters", "steps", "skipped_steps", "overflow_share",
           "underflow_share", "model_aggregate_bits", "ledger_bytes"]
LINES = ["the cat sat on the mat .", "the dog lay on the mat .", "a cat and a dog sat and lay .", ""]


def write_texts(cwd):
    """A text of short lines, and the same as documents below headings; folders of sentences and of sounds."""
    for name, times in (("train", 12), ("valid", 4)):
        pathlib.Path(f"{cwd}/{name}.txt").write_text("".join(line + "\n" for line in LINES * times))
        documents = [f" = story {k} = \n\n" + "".join(line + "\n" for line in LINES) for k in range(times)]
        pathlib.Path(f"{cwd}/{name}.doc").write_text("".join(documents))
    os.makedirs(f"{cwd}/pairs")
    for half in ("train", "test"):
        for language, words in (("en", "dog cat bird"), ("fr", "chien chat oiseau")):
            pathlib.Path(f"{cwd}/pairs/{half}.{language}").write_text("".join(f"{w}\n" for w in words.split() * 8))
    for half in ("train", "val"):
        os.makedirs(f"{cwd}/sounds/{half}")
        for k in range(4):
            with wave.open(f"{cwd}/sounds/{half}/{k}_a_0.wav", "wb") as sound:
                sound.setparams((1, 2, 8000, 0, "NONE", ""))
                sound.writeframes(bytes((i * (k + 3)) % 256 for i in range(9600)))


# Keys of the model, and its data; the file has the former in its numbers.
PICTURES = {
    "cnn-s": ([], GLYPHS),
    "resnet20": (["model.width=0.5"], GLYPHS),
    "resnet20, range norms": (["model.width=0.25", "model.norm=range"], GLYPHS),
    "resnet38": (["model.width=0.25"], GLYPHS),
    "resnet18": (["model.width=0.05"], GLYPHS),
    "resnet50": (["model.width=0.05"], GLYPHS),
    "preresnet50-s": (["model.width=0.5"], GLYPHS),
    "alexnet-s": ([], GLYPHS),
    "vgg16-s": (["model.width=0.5"], GLYPHS),
    "googlenet-s": (["model.width=0.5"], GLYPHS),
    "inception-v2-s": (["model.width=0.5"], GLYPHS),
    "inception3-s": (["model.width=0.5"], GLYPHS),
    "davidnet": (["model.width=0.1"], GLYPHS),
    "squeezenet": (["model.width=0.25"], GLYPHS),
    "shufflenet-v2": (["model.width=0.25"], GLYPHS),
    "mobilenet-v2": (["model.width=0.25"], GLYPHS),
    "deit-s": (["model.drop_path=0.3"], [*GLYPHS, "data.drop_last=off"]),
    "autoencoder": ([], GLYPHS),
    "autoencoder-tied": ([], GLYPHS),
    "cvae-s": (["model.width=0.5"], GLYPHS),
    "dcgan-s": (["model.width=0.5"], [*GLYPHS, "data.test_limit=16"]),
    "dense-s": (["model.width=0.25"], ["data=dense:maps", "data.unlabelled=9", "batch=4", "steps=2"]),
    "fcn-s": (["model.width=0.25"], ["data=dense:maps", "data.unlabelled=9", "batch=4", "steps=2"]),
    "fcn-s, parts of pictures": (["model.width=0.25"], ["data=dense:maps", "data.unlabelled=9", "data.crop=12", "batch=4", "steps=2"]),
    "ssd-s": (["model.width=0.25"], ["data=boxes:boxes", "batch=4", "steps=2"]),
    "faster-rcnn-s": (["model.width=0.25"], ["data=boxes:boxes", "batch=4", "steps=2"]),
    "pan-s": (["model.width=0.5"], ["data=pairs:pictures", "data.crop=8", "data.crops=11", "batch=4", "steps=2"]),
}
TEXT = ["data=text:train.txt", "data.valid=valid.txt", "data.unit=word", "data.length=8", "batch=2", "steps=2"]
DOCUMENTS = ["data=segments:train.doc", "data.valid=valid.doc", "data.length=23", "batch=4", "steps=2"]
PAIRS = ["data=parallel:pairs", "data.source=en", "data.target=fr", "data.length=4", "data.min_count=1", "batch=4", "steps=2"]
SOUNDS = ["data=speech:sounds", "data.frames=60", "batch=2", "steps=2"]
SEQUENCES = {
    "transformer-lm-s": (["model.width=0.125"], TEXT),
    "transformer-lm": (["model.width=0.03125", "model.layers=2", "model.bands=6"], TEXT),
    "lstm-lm-s": (["model.hidden=16"], TEXT),
    "lstm-lm": (["model.hidden=16"], TEXT),
    "biglstm-s": (["model.hidden=24", "model.projection=12", "model.negatives=5"], TEXT),
    "bert-tiny-s": (["model.width=0.125"], DOCUMENTS),
    "bert-tiny": (["model.width=0.125"], DOCUMENTS),
    "seq2seq-s": (["model.hidden=16"], PAIRS),
    "seq2seq": (["model.hidden=16", "model.layers=2"], PAIRS),
    "ds2-s": (["model.width=0.25"], SOUNDS),
    "deepspeech2": (["model.width=0.0125"], SOUNDS),
}
# A sum of an accumulator that is chosen is slow: four networks, of which one has its products split from their biases.
SUMMED = ("cnn-s", "resnet20", "transformer-lm-s", "seq2seq-s")


def trained(name, model, words, cwd):
    made = program.train(f"model={model}", *words, *COMMON, cwd=cwd, run=name)
    return {key: made[key] for key in RESULTS}


def round_trip(label, sizes, data):
    """The network of a model, written, reads as the same network: same weights, same bytes."""
    def test(checks, cwd):
        model = label.split(",")[0]
        precisions = ["precision=fp32"], ["precision=hfp8"]
        if label in SUMMED:
            precisions += (["precision=1/6/9", "accumulator=fmac8:1/6/9"],)
        code, _, err = program.call("model", model, *sizes, *data, "out=net.yaml", "--json", cwd=cwd)
        if not checks.same(code, 0, f"{label}: model out=: {err}"):
            return
        text = pathlib.Path(f"{cwd}/net.yaml").read_text()
        code, _, err = program.call("model", "net.yaml", *data, "out=again.yaml", "--json", cwd=cwd)
        if checks.same(code, 0, f"{label}: its file written again: {err}"):
            checks.same(pathlib.Path(f"{cwd}/again.yaml").read_text(), text, f"{label}: its file written again")
        for k, precision in enumerate(precisions):
            own = trained(f"own{k}", model, [*sizes, *data, *precision], cwd)
            file = trained(f"file{k}", "net.yaml", [*data, *precision], cwd)
            checks.same(file, own, f"{label}, {' '.join(precision)}: the file beside the model")
    return test


def prepared(test):
    """The same in a folder with all data that are not drawn."""
    def within(checks, cwd):
        program.write_maps(cwd)
        program.write_boxes(cwd)
        program.write_pictures(cwd)
        write_texts(cwd)
        test(checks, cwd)
    return within


def every_small_model(checks, _):
    """No small model is left out."""
    code, out, err = program.call("help", "models", cwd=".")
    checks.same(code, 0, err)
    small = [word for line in out.splitlines() for word in line.split()[:1] if word.endswith("-s")]
    checks.that(len(small) > 15, f"small models: {small}")
    for model in small:
        checks.that(model in ALL, f"{model} is written and read again")


def every_model(checks, cwd):
    """The file of every built-in model in its full size is planned to the same layers, formats and bytes."""
    code, out, err = program.call("help", "models", cwd=cwd)
    names = re.findall(r"^  (\S+) ", out, re.MULTILINE)
    checks.that(len(names) > 50, f"help models: exit {code}, {len(names)} models: {err}")
    for name in names:
        own, file = (json.loads(program.call("model", *words, "batch=4", "precision=hfp8", "--json", cwd=cwd)[1] or "{}")
                     for words in ([name, "out=net.yaml"], ["net.yaml"]))
        checks.that("layers" in own, f"{name} is told")
        checks.same({**file, "model": name}, own, f"{name} from its file")


ALL = {**PICTURES, **SEQUENCES}

if __name__ == "__main__":
    program.main(every_small_model, every_model, *(prepared(round_trip(label, *keys)) for label, keys in ALL.items()))
