"""Damage of every kind of file: bits that flip, files that are cut, bytes that are added. The program ends well or
says what is wrong, with the exit code of its kind; where a file has checksums, nothing is taken.

The plain form tries a few of each kind; `damage_test.py exhaustive` hundreds; `damage_test.py exhaustive KIND...`
those of some kinds."""
import gzip
import os
import random
import shutil
import sys
import tempfile
import wave

from program import TINY, Checks, call, png, write_cifar, write_idx, write_png

TRIES = {"short": 2, "exhaustive": 120}  # of each kind of damage to each kind of file
SMALL = [*TINY[3:], "model=cnn-s", "model.width=0.05", "run.quiet=on", "steps=1", "data.limit=32", "data.test_limit=8",
         "batch=16"]
FULL = ["data=glyphs", "precision=hfp8", "run.histogram_every=1", "run.dir=run"]


def kinds():
    """name: (file, words of the command that reads it, whether every change must be refused)."""
    idx, gz, cifar = ["train", "data=idx:idx", *SMALL], ["train", "data=idx:gz", *SMALL], ["train", "data=cifar10:cifar"]
    pictures = ["train", "data=folder:pictures", "data.size=12", *SMALL, "batch=2"]
    text = ["train", "data=text:words.txt", "data.valid=words.txt", "data.unit=word", "model=transformer-lm-s",
            "model.width=0.125", "batch=2", "data.length=8", "steps=1", "threads=1"]
    return {
        "checkpoint": ("run/checkpoint/step-000000000001.hulp", ["eval", "run", "threads=1"], True),
        "safetensors": ("w.safetensors", ["train", "data=glyphs", *SMALL, "steps=0", "init=w.safetensors"], False),
        "config": ("run/config.resolved.yaml", ["eval", "run", "threads=1"], False),
        "metrics": ("run/metrics.jsonl", ["why", "run"], False),
        "numerics": ("run/numerics.jsonl", ["why", "run"], False),
        "histograms": ("run/histograms.jsonl", ["stats", "run"], False),
        "graph": ("run/graph.json", ["stats", "run"], False),
        "plan.json": ("run/plan.json", ["report", "run", "-o", "page.html"], False),
        "result": ("run/result.json", ["report", "run", "-o", "page.html"], False),
        "progress": ("run/progress.jsonl", ["watch", "run"], False),
        "events": ("events", ["resume", "run", "steps=2"], False),
        "plan": ("plan.yaml", ["plan", "model=cnn-s", "model.width=0.05", "precision=plan.yaml", "threads=1"], False),
        "idx": ("idx/train-images-idx3-ubyte", idx, False),
        "labels": ("idx/train-labels-idx1-ubyte", idx, False),
        "gzip": ("gz/train-images-idx3-ubyte.gz", gz, False),
        "cifar": ("cifar/data_batch_1.bin", [*cifar, *SMALL], False),
        "png": ("pictures/train/a/0.png", pictures, False),
        "text": ("words.txt", text, False),
        "wav": ("sounds/train/0_a_0.wav", ["train", "data=speech:sounds", "model=ds2-s", "model.width=0.25", "data.frames=60",
                                           "batch=4", "steps=1", "threads=1"], False),
    }


def prepare(cwd, checks):
    code, _, err = call("train", *FULL, *SMALL, cwd=cwd)
    checks.same(code, 0, f"a training: {err}")
    checks.same(call("export", "run", "out=w.safetensors", cwd=cwd)[0], 0, "its weights")
    checks.same(call("plan", "model=cnn-s", "model.width=0.05", "precision=hfp8", "threads=1", "out=plan.yaml",
                     cwd=cwd)[0], 0, "its plan")
    events = next(n for n in os.listdir(f"{cwd}/run") if n.startswith("events"))
    os.symlink(f"run/{events}", f"{cwd}/events")
    write_idx(f"{cwd}/idx", 32)
    write_cifar(f"{cwd}/cifar", 8)
    os.makedirs(f"{cwd}/gz")
    for name in os.listdir(f"{cwd}/idx"):
        with open(f"{cwd}/idx/{name}", "rb") as plain, open(f"{cwd}/gz/{name}.gz", "wb") as packed:
            packed.write(gzip.compress(plain.read(), mtime=0))
    for half in ("train", "val"):
        for c in "ab":
            write_png(f"{cwd}/pictures/{half}/{c}/0.png", 14, 14, 3, lambda x, y, _: x * y % 256)
            with open(f"{cwd}/pictures/{half}/{c}/1.png", "wb") as file:
                file.write(png(13, 15, [90, 80, 200]))
    with open(f"{cwd}/words.txt", "w", encoding="utf-8") as file:
        file.write("the cat sat on the mat and the dog ran\n" * 12)
    for half in ("train", "val"):
        os.makedirs(f"{cwd}/sounds/{half}")
        for k in range(4):
            with wave.open(f"{cwd}/sounds/{half}/{k}_a_0.wav", "wb") as sound:
                sound.setparams((1, 2, 8000, 0, "NONE", ""))
                sound.writeframes(bytes((i * (k + 3)) % 256 for i in range(9600)))


def damages(data, tries, draw):
    """(what was done, the bytes): half of the flips at the beginning, where heads are."""
    for k in range(tries):
        place = draw.randrange(min(len(data), 64) if k % 2 else len(data))
        changed = bytearray(data)
        changed[place] ^= 1 << draw.randrange(8)
        yield f"flip {place}", bytes(changed)
    for k in range(tries):
        place = draw.randrange(len(data))
        yield f"cut at {place}", data[:place]
    for k in range(1 + tries // 8):
        yield f"{1 + 64 * k} bytes added", data + bytes(draw.randrange(256) for _ in range(1 + 64 * k))


def try_kind(checks, cwd, name, kind, tries):
    path, words, has_checksum = kind
    path, draw, codes = os.path.realpath(f"{cwd}/{path}"), random.Random(name), {}
    with open(path, "rb") as file:
        data = file.read()
    writes = [] if words[0] != "train" else ["run.dir=out"]
    shutil.copytree(f"{cwd}/run", f"{cwd}/kept")
    for what, changed in [("nothing", data), *damages(data, tries, draw)]:
        with open(path, "wb") as file:
            file.write(changed)
        code, out, err = call(*words, *writes, cwd=cwd, timeout=60)
        codes[code] = codes.get(code, 0) + 1
        where = f"{name}, {what}: exit code {code}, {err[-300:]!r}"
        if what == "nothing":
            checks.same(code, 0, where)
        else:
            checks.that(code == 3 if has_checksum else code in (0, 2, 3, 4), where)
        checks.that(code in (0, 4) or err.startswith("halfulp: ") or "\nhalfulp: " in err, f"{where}: no message")
        checks.that("\x1b" not in out + err, f"{where}: control characters")
        shutil.rmtree(f"{cwd}/out", ignore_errors=True)
        shutil.rmtree(f"{cwd}/run")
        shutil.copytree(f"{cwd}/kept", f"{cwd}/run")
    with open(path, "wb") as file:
        file.write(data)
    shutil.rmtree(f"{cwd}/kept")
    print(f"{name}: {sum(codes.values()) - 1} damages, exit codes {dict(sorted(codes.items()))}", flush=True)


def main(words):
    checks, tries = Checks(), TRIES["exhaustive" if words[:1] == ["exhaustive"] else "short"]
    with tempfile.TemporaryDirectory() as cwd:
        prepare(cwd, checks)
        for name, kind in kinds().items():
            if not words[1:] or name in words[1:]:
                try_kind(checks, cwd, name, kind, tries)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
