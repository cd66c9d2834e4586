"""Sizes (root mean squares) of all tensors in the first step of a training."""

import os

import numpy as np

import halfulp as hu

KINDS = ("weights", "activations", "their gradients", "gradients of weights")
# What unit scaling leaves as it is: shares of attention, log-probabilities and losses; the scores
# of the last layer are small.
APART = (".weights.out", "log_softmax.out", "loss.out")
LAST = ("fc.product.out", "fc.out", "head.product.out", "head.out")


def text(folder, lines, words):
    """A file of words by Zipf's law, as data."""
    random = np.random.default_rng(1)
    drawn = np.minimum(random.zipf(1.3, (lines, 12)), words)
    path = os.path.join(folder, "text.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(" ".join(f"w{word}" for word in line) + "\n" for line in drawn)
    return f"text:{path}"


def kind_of(name, tensor, products):
    """Which of KINDS; None: images, tables that are added, what is left apart, and parameters
    that start with one number."""
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


def sizes(model, precision, **keys):
    """{kind: {tensor: root mean square}}."""
    found = {kind: {} for kind in KINDS}
    with hu.Trainer(model=model, precision=precision, threads=2, **keys) as trainer:
        start = trainer.weights()
        products = {n for n, w in start.items() if n.endswith("weight") and w.ndim > 1}
        trainer.watch("*")
        trainer.step()
        for name, tensor in trainer.tensors.items():
            kind = kind_of(name, tensor, products)
            if not kind:
                continue
            x = start[name] if kind == "weights" else trainer.tensor(name, rounded=False)
            x = np.asarray(x, np.float64)
            x = x.sum(0) if tensor.parts > 1 else x
            if x.size:
                found[kind][name] = float(np.sqrt(np.mean(np.square(x))))
    return found
