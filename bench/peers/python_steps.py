"""What a step of hu.Trainer costs beside a step of `halfulp train`: the same training in turns.

    build/python-venv-3.11/bin/python bench/peers/python_steps.py [TURNS]

The program says samples a second inside its steps; of a Trainer the calls of `step` are timed, once with
samples of the data set and once with batches that are pushed. Best of the turns, one thread.
"""

import sys
import tempfile
import time

import halfulp as hu

KEYS = {"precision": "hfp8", "batch": 64, "steps": 40, "threads": 1, "seed": 1}
DATA = {"data_limit": 2560, "data_test_limit": 64}
MODELS = ("cnn-s", "resnet20")


def program(model):
    with tempfile.TemporaryDirectory() as place:
        run = hu.train(model=model, data="glyphs", run_dir=place + "/run", **DATA, **KEYS)
        return run.result["images_per_second"], run.hash


def own(model):
    seconds, samples = 0.0, 0
    with hu.Trainer(model, "glyphs", **DATA, **KEYS) as trainer:
        for _ in range(trainer.steps):
            begin = time.perf_counter()
            step = trainer.step()
            seconds += time.perf_counter() - begin
            samples += step.samples
        return samples / seconds, trainer.hash


def pushed(model):
    data = hu.Dataset.open("glyphs", limit=2560, test_limit=64)
    seconds, samples = 0.0, 0
    with hu.Trainer(model, data, **KEYS) as trainer:
        for batch in data.batches(KEYS["batch"], seed=KEYS["seed"]):
            begin = time.perf_counter()
            step = trainer.step(*batch)
            seconds += time.perf_counter() - begin
            samples += step.samples
        return samples / seconds, trainer.hash


def main(turns):
    for model in MODELS:
        best = {}
        hashes = set()
        for _ in range(turns):
            for kind in (program, own, pushed):
                rate, found = kind(model)
                best[kind.__name__] = max(rate, best.get(kind.__name__, 0.0))
                hashes.add(found)
        rates = ", ".join(f"{name} {rate:.0f}" for name, rate in best.items())
        cost = {name: best["program"] / best[name] for name in ("own", "pushed")}
        print(f"{model}: samples a second: {rates}; cost of a step to the program's: "
              f"own {cost['own']:.3f}, pushed {cost['pushed']:.3f}; one hash: {len(hashes) == 1}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
