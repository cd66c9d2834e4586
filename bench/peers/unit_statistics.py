#!/usr/bin/env python3
"""Sizes (root mean squares) of all tensors in the first step of a training, with unit scaling and without.

    python3 bench/peers/unit_statistics.py [MODEL ...]

Needs the Python package of halfulp. One line for a model and a kind of tensors: the smallest and the largest size with
precision=unit-scaling and with fp32.
"""
import argparse
import os
import tempfile

import halfulp as hu
import numpy as np

MODELS = {
    "resnet20": {"data": "glyphs", "batch": 64},
    "cnn-s": {"data": "glyphs", "batch": 64},
    "mobilenet-v2": {"data": "glyphs", "batch": 64, "model_width": 0.5},
    "deit-s": {"data": "glyphs", "batch": 64},
    "transformer-lm-s": {"data": "text", "batch": 32, "data_unit": "word"},
}
APART = (".weights.out", "log_softmax.out", "loss.out")
LAST = ("fc.product.out", "fc.out", "head.product.out", "head.out")
KINDS = ("weights", "activations", "their gradients", "gradients of weights")


def text(folder):
    """Words by Zipf's law."""
    random = np.random.default_rng(1)
    words = np.minimum(random.zipf(1.3, (4000, 12)), 1000)
    path = os.path.join(folder, "text.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(" ".join(f"w{word}" for word in line) + "\n" for line in words)
    return f"text:{path}"


def kind_of(name, tensor, products):
    """Of what is 1 by design: not images, tables that are added, shares of attention, scores of the last layer and
    log-probabilities, and parameters that start with one number."""
    if tensor.role == "activation" and not name.endswith(APART) and name not in LAST:
        return "activations"
    if tensor.role == "parameter" and name in products:
        return "weights"
    if tensor.role == "gradient" and not name.endswith(".sum"):
        value = name.removesuffix(".grad")
        if value in products:
            return "gradients of weights"
        return "their gradients" if value.endswith(".out") else None
    return None


def sizes(model, precision, folder):
    """{kind: {tensor: root mean square}} of the first step."""
    keys = dict(MODELS[model])
    keys["data"] = text(folder) if keys["data"] == "text" else keys["data"]
    found = {kind: {} for kind in KINDS}
    with hu.Trainer(model=model, precision=precision, threads=2, **keys) as trainer:
        start = trainer.weights()
        products = {name for name, w in start.items() if name.endswith("weight") and w.ndim > 1}
        trainer.watch("*")
        trainer.step()
        for name, tensor in trainer.tensors.items():
            kind = kind_of(name, tensor, products)
            if not kind:
                continue
            x = np.asarray(start[name] if kind == "weights" else trainer.tensor(name, rounded=False), np.float64)
            x = x.sum(0) if tensor.parts > 1 else x
            if x.size:
                found[kind][name] = float(np.sqrt(np.mean(x * x)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[*MODELS, []])
    parser.add_argument("--verbose", action="store_true", help="which tensors these are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models or MODELS:
            tables = [sizes(model, precision, folder) for precision in ("unit-scaling", "fp32")]
            for kind in KINDS:
                cells = []
                for table in tables:
                    low, high = (pick(table[kind], key=table[kind].get) for pick in (min, max))
                    names = f" ({low}, {high})" if options.verbose else ""
                    cells.append(f"{table[kind][low]:.2g} to {table[kind][high]:.2g}{names}")
                print(f"| {model} | {kind} | {len(tables[0][kind])} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
