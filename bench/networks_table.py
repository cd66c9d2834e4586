#!/usr/bin/env python3
"""Every small network once in every precision: what the papers claim about them, at a small scale.

usage: bench/networks_table.py DATA OUT [--halfulp=build/halfulp] [--seeds=1] [--threads=1]
                               [--models=alexnet-s,..] [--precisions=fp32,..] [--print] [--columns]

DATA holds a folder of each data set: tinyimagenet10/train/CLASS and val/CLASS; camvid/train, trainannot,
test and testannot; bccd in the layout of PASCAL VOC; frames/train and test; text/wikitext2_test.txt and
wikitext2_valid.txt; fsdd/train and test; multi30k; cifar10. Every training has a folder of its own in OUT; one that has a result is not run again, so that the table can be stopped and gone on with.
--print runs nothing. Networks about which the papers claim something are trained in more precisions; most
are shorter than their own recipes, so that seeds can be afforded. Prints, as Markdown, the metric on the test samples by
precision: mean and standard deviation over seeds, skipped steps, the share of the activations' gradients that became
zero and the largest share of subnormal numbers in one of them in one step (means over seeds, in %), and whether what
separates a precision from float32 is more than 2 standard errors of the difference (with one seed: nothing is).
--columns: a column for each model instead, bold what is separated from float32 or diverged.
"""
import json
import math
import os
import statistics
import sys

import tables

SGD = ["batch=32", "optimizer=sgd", "optimizer.momentum=0.9", "optimizer.weight_decay=5e-4", "lr.schedule=cosine",
       "lr.warmup=0.54", "data.augment=crop,flip", "data.pad=4", "data.drop_last=on", "model.dropout=0"]
QUIET = ["run.histogram_every=0", "run.checkpoint_every=0", "run.quiet=on", "eval.every=0"]
IMAGES = "folder:tinyimagenet10"
BOXES = ["batch=8", "steps=740", "data.size=120", "optimizer=sgd", "optimizer.momentum=0.9",
         "optimizer.weight_decay=5e-4", "lr=0.005", "lr.schedule=cosine", "lr.warmup=1"]
WORDS = "text:text/wikitext2_test.txt"
OF_WORDS = ["data.valid={data}/text/wikitext2_valid.txt", "data.unit=word", "data.min_count=3"]

# Data and keys of a network's recipe; {data} is the folder of all data.
MODELS = {
    "alexnet-s": (IMAGES, [*SGD, "epochs=5", "lr=0.01"]),
    "googlenet-s": (IMAGES, [*SGD, "epochs=5", "lr=0.01"]),
    "inception3-s": (IMAGES, [*SGD, "epochs=5", "lr=0.05"]),
    "preresnet50-s": (IMAGES, [*SGD, "epochs=5", "lr=0.05"]),
    "pan-s": ("pairs:frames", ["data.crops=3200", "steps=200", "batch=8", "optimizer=adam", "optimizer.beta2=0.99",
                               "lr=0.002", "lr.schedule=cosine"]),
    "ssd-s": ("boxes:bccd", BOXES),
    "fcn-s": ("dense:camvid", ["data.unlabelled=11", "data.drop_last=on", "steps=90"]),
    "cvae-s": ("fashion-mnist", ["steps=400", "data.drop_last=on", "lr.schedule=constant"]),
    "dcgan-s": ("fashion-mnist", ["epochs=1"]),
    "faster-rcnn-s": ("boxes:bccd", [*BOXES, "lr=0.01"]),
    "deit-s": ("cifar10:cifar10", ["data.limit=5085", "data.test_limit=1017", "epochs=4"]),
    "transformer-lm-s": (WORDS, [*OF_WORDS, "epochs=1"]),
    "lstm-lm-s": (WORDS, [*OF_WORDS, "epochs=1", "data.test_limit=1600"]),
    "biglstm-s": (WORDS, [*OF_WORDS, "epochs=1", "data.test_limit=3200"]),
    "seq2seq-s": ("parallel:multi30k", ["data.source=en", "data.target=fr", "data.test=test_2016_flickr", "steps=300",
                                        "data.test_limit=400"]),
    "bert-tiny-s": (WORDS.replace("text:", "segments:", 1), [*OF_WORDS[:1], "data.min_count=3", "epochs=1",
                                                             "data.test_limit=1600"]),
    "ds2-s": ("speech:fsdd", ["epochs=5"]),
}
CLAIMED = ("ssd-s", "fcn-s", "cvae-s", "dcgan-s")
SEQUENCES = ("deit-s", "transformer-lm-s", "lstm-lm-s", "biglstm-s", "seq2seq-s", "bert-tiny-s", "ds2-s")

PRECISIONS = {
    "fp32": ["precision=fp32"],
    "fp16": ["precision=fp16", "scaler=none"],
    "fp16 scaled": ["precision=fp16", "scaler=dynamic"],
    "1/6/9/n": ["precision=1/6/9/n"],
    "hfp8": ["precision=hfp8"],
}
FURTHER = {
    "fp16 x 8": ["precision=fp16", "scaler=constant", "scaler.init=8"],
    "1/6/9/d": ["precision=1/6/9/d"],
    "1/5/10/n": ["precision=1/5/10/n"],
    "1/6/9/n scaled": ["precision=1/6/9/n", "scaler=dynamic"],
    "1/5/10/n scaled": ["precision=1/5/10/n", "scaler=dynamic"],
}
# What a smaller loss does: scaling by 2^-k, where the paper says that scaling is needed.
SMALLER = {f"fp16 / 2^{k}": ["precision=fp16", "scaler=constant", f"scaler.init={2.0 ** -k!r}"] for k in (4, 8, 12, 16, 20)}
OF_SEQUENCES = {
    **PRECISIONS, **FURTHER,
    "fp16 x 128": ["precision=fp16", "scaler=constant", "scaler.init=128"],
    "fp16 x 1024": ["precision=fp16", "scaler=constant", "scaler.init=1024"],
    "1/6/9/d scaled": ["precision=1/6/9/d", "scaler=dynamic"],
    "bf16": ["precision=bf16"],
    "ldp 4-8": ["precision=ldp:4-8"],
}
# Updates of weights that exist in half precision alone.
NO_MASTER = {"fp16 no master": ["precision=fp16", "precision.master=off", "scaler=dynamic"]}
EVERY = {**OF_SEQUENCES, **SMALLER, **NO_MASTER}


def chosen(name, table):
    words = tables.option(name, "")
    return [key for key in table if not words or key in words.split(",")]


def precisions_of(model):
    if model == "ssd-s":
        return {**PRECISIONS, **FURTHER, **SMALLER}
    if model in SEQUENCES:
        return {**OF_SEQUENCES, **(SMALLER if model == "biglstm-s" else NO_MASTER if model == "ds2-s" else {})}
    return {**PRECISIONS, **FURTHER} if model in CLAIMED else PRECISIONS


def folder_of(out, model, precision, seed):
    return tables.folder_of(os.path.join(out, model), precision.replace("/", ""), seed)


def training(data, out, model, precision, seed):
    """Result of a training, which is made where it is missing."""
    folder = folder_of(out, model, precision, seed)
    if tables.result_of(folder) is None and "--print" not in sys.argv:
        source, keys = MODELS[model]
        kind, _, name = source.partition(":")
        where = f"{kind}:{os.path.join(data, name)}" if name else kind
        tables.train(folder, [f"model={model}", f"data={where}", *(key.format(data=data) for key in keys), *QUIET, *EVERY[precision], f"seed={seed}",
                              f"threads={tables.option('threads', '1')}"])
    return tables.result_of(folder)


def gradients_of(folder):
    """Of a run, in %: gradients of activations that became zero, and the largest share of subnormals in one of them."""
    elements, vanished, most = 0, 0, 0.0
    with open(os.path.join(folder, "numerics.jsonl"), encoding="utf-8") as file:
        for line in file:
            for row in json.loads(line).get("tensors", []):
                if row[0].endswith(".out.grad") and row[1] != "float32":
                    elements, vanished, most = elements + row[2], vanished + row[4], max(most, row[12])
    return (100 * vanished / elements, 100 * most) if elements else None


def value_of(result):
    """Shares in percent, other metrics as they are; NaN for a training that diverged."""
    value = result["metric"]["value"]
    factor = 100 if result["metric"]["name"] in ("accuracy", "mean_ap", "mean_iou", "label_error_rate") else 1
    return math.nan if value is None else factor * value


def gradient_cells(folders):
    found = [one for one in map(gradients_of, folders) if one]
    return [f"{statistics.mean(column):.3g}" for column in zip(*found)] if found else ["", ""]


def number(value, sign=""):
    """Two decimals; of what no longer is a result only its size."""
    return f"{value:{sign}.2f}" if abs(value) < 1e6 else f"{value:{sign}.1e}"


def cells(results, reference):
    values = [value_of(r) for r in results]
    mean, several = statistics.mean(values), len(values) > 1
    spread = statistics.stdev(values) if several and not math.isnan(mean) else math.nan
    said = ""
    if several and reference and not math.isnan(mean):
        base = [value_of(r) for r in reference]
        error = math.sqrt(spread ** 2 / len(values) + statistics.stdev(base) ** 2 / len(base))
        away = mean - statistics.mean(base)
        said = f"{number(away, '+')}, " + ("separated" if abs(away) > 2 * error else "not separated")
    skipped = sum(r.get("skipped_steps", 0) for r in results)
    shown = "diverged" if math.isnan(mean) else number(mean) + (f" +- {number(spread)}" if several else "")
    return [shown, str(len(values)), str(skipped), said]


def results_of(data, out, model, seeds):
    """{precision: {folder: result}}, seed by seed, so that a table that is stopped early has all its rows."""
    made = {}
    for seed in seeds:
        for precision in chosen("precisions", precisions_of(model)):
            result = training(data, out, model, precision, seed)
            if result:
                made.setdefault(precision, {})[folder_of(out, model, precision, seed)] = result
    return made


def rows_of(made):
    """(precision, cells of its results, folders) of a model; with several seeds of float32 they say what is separated."""
    base = list(made.get("fp32", {}).values())
    for precision, by_folder in made.items():
        usable = base if precision != "fp32" and len(base) > 1 else None
        yield precision, cells(list(by_folder.values()), usable), by_folder


def print_rows(data, out, seeds):
    print("| model | precision | on test samples | seeds | skipped steps | vanished | subnormal | beside fp32 |\n"
          "|---|---|---|---|---|---|---|---|")
    for model in chosen("models", MODELS):
        for precision, (*plain, said), folders in rows_of(results_of(data, out, model, seeds)):
            print("| " + " | ".join([model, precision, *plain, *gradient_cells(folders), said]) + " |", flush=True)


def print_columns(data, out, seeds):
    models = chosen("models", MODELS)
    print("| precision | " + " | ".join(models) + " |\n" + "|---" * (len(models) + 1) + "|")
    made = {model: {precision: f"**{shown}**" if said.endswith(", separated") or shown == "diverged" else shown
                    for precision, (shown, _, _, said), _ in rows_of(results_of(data, out, model, seeds))}
            for model in models}
    for precision in EVERY:
        if any(precision in column for column in made.values()):
            print(f"| {precision} | " + " | ".join(column.get(precision, "") for column in made.values()) + " |")


def main():
    data, out = tables.places(__doc__)
    seeds = [int(s) for s in tables.option("seeds", "1").split(",")]
    (print_columns if "--columns" in sys.argv else print_rows)(data, out, seeds)


if __name__ == "__main__":
    main()
