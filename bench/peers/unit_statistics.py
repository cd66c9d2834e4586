#!/usr/bin/env python3
"""Sizes (root mean squares) of all tensors in the first step of a training, with unit scaling and without.

    python3 bench/peers/unit_statistics.py [MODEL ...]

Needs the Python package of halfulp. One line for a model and a kind of tensors: the smallest and the largest size with
precision=unit-scaling and with fp32.
"""
import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "tests"))
from tensor_sizes import KINDS, sizes, text  # noqa: E402

MODELS = {
    "resnet20": {"data": "glyphs", "batch": 64},
    "cnn-s": {"data": "glyphs", "batch": 64},
    "mobilenet-v2": {"data": "glyphs", "batch": 64, "model_width": 0.5},
    "deit-s": {"data": "glyphs", "batch": 64},
    "transformer-lm-s": {"data": "text", "batch": 32, "data_unit": "word"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[*MODELS, []])
    parser.add_argument("--verbose", action="store_true", help="which tensors these are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models or MODELS:
            keys = dict(MODELS[model])
            keys["data"] = text(folder, 4000, 1000) if keys["data"] == "text" else keys["data"]
            tables = [sizes(model, precision, **keys) for precision in ("unit-scaling", "fp32")]
            for kind in KINDS:
                cells = []
                for table in tables:
                    low, high = (pick(table[kind], key=table[kind].get) for pick in (min, max))
                    names = f" ({low}, {high})" if options.verbose else ""
                    cells.append(f"{table[kind][low]:.2g} to {table[kind][high]:.2g}{names}")
                print(f"| {model} | {kind} | {len(tables[0][kind])} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
