"""What a step of hu.Trainer costs beside a step of `halfulp train`: the same training in turns.

    build/python-venv-3.11/bin/python bench/peers/python_steps.py [TURNS]

Processor time of whole processes with many steps less that with few, one thread: what begins and ends a
process falls out. own: samples of the data set; pushed: batches of NumPy arrays. Best of the turns.
"""

import os
import resource
import subprocess
import sys
import tempfile

import halfulp as hu

MODELS = {"cnn-s": (40, 440), "resnet20": (4, 44)}
SAMPLES, BATCH = 2560, 64
TRAINER = """
import sys
import halfulp as hu
model, steps, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
keys = dict(precision="hfp8", batch=64, steps=steps, threads=1, seed=1)
data = hu.Dataset.open("glyphs", limit=2560, test_limit=64)
with hu.Trainer(model, data, **keys) as trainer:
    epoch = 0
    while trainer.steps_done < steps:
        if kind == "own":
            trainer.step()
            continue
        for batch in data.batches(64, epoch=epoch, seed=1):
            trainer.step(*batch)
            if trainer.steps_done == steps:
                break
        epoch += 1
    print(trainer.hash)
"""


def seconds_of(command):
    """Processor time of a process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(hu.__file__))}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def program(model, steps):
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "run")
        words = f"model={model} data=glyphs data.limit={SAMPLES} data.test_limit=64 precision=hfp8 batch={BATCH}"
        words += f" steps={steps} threads=1 seed=1 run.dir={folder}"
        seconds, _ = seconds_of([hu.program_path(), "train", *words.split()])
        return seconds, hu.Run(folder).hash


def trainer(model, steps, kind):
    seconds, text = seconds_of([sys.executable, "-c", TRAINER, model, str(steps), kind])
    return seconds, text.strip()


def main(turns):
    ways = {
        "program": program,
        "own": lambda model, steps: trainer(model, steps, "own"),
        "pushed": lambda model, steps: trainer(model, steps, "pushed"),
    }
    for model, (few, many) in MODELS.items():
        best, hashes = {}, set()
        for _ in range(turns):
            for name, way in ways.items():
                less, more = way(model, few), way(model, many)
                hashes.add(more[1])
                best[name] = min(best.get(name, 1e9), (more[0] - less[0]) / (many - few))
        print(
            f"{model}: ms of a step: " + ", ".join(f"{n} {1e3 * s:.2f}" for n, s in best.items()),
            "; to the program's: "
            + ", ".join(f"{n} {best[n] / best['program']:.3f}" for n in ("own", "pushed")),
            f"; one hash: {len(hashes) == 1}",
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
