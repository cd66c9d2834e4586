"""Data whose files cannot be looked up: a disk that fails is no file that is not there. Each look for a file of each kind
of data fails once with an I/O error: the command ends with it, or, where nothing depended on it, with the same weights."""
import collections
import errno
import gzip
import json
import os
import shutil
import sys
import wave

import program

SHIM = os.path.join(os.path.dirname(program.HALFULP), "fail-files.so")
SMALL = ["model=cnn-s", "model.width=0.05", "batch=2", "steps=1", "threads=1", "data.limit=8", "data.test_limit=4",
         "eval.every=0", "quiet=on"]
TEXT = ["model.width=0.125", "batch=2", "steps=1", "threads=1", "eval.every=0", "quiet=on"]


def idx(cwd):
    program.write_idx(f"{cwd}/data", 32)
    return ["data=idx:data", *SMALL]


def packed_idx(cwd):
    words = idx(cwd)
    for name in os.listdir(f"{cwd}/data"):
        with open(f"{cwd}/data/{name}", "rb") as plain, open(f"{cwd}/data/{name}.gz", "wb") as packed:
            packed.write(gzip.compress(plain.read(), mtime=0))
        os.remove(f"{cwd}/data/{name}")
    return words


def cifar(cwd):
    """As its archive unpacks it."""
    program.write_cifar(f"{cwd}/data/cifar-10-batches-bin", 8)
    return ["data=cifar10:data", *SMALL]


def classes(cwd):
    for half in ("train", "val"):
        for name in "ab":
            for i in range(3):
                program.write_png(f"{cwd}/data/{half}/{name}/{i}.png", 14, 14, 3, lambda x, y, c: (x * y + 9 * c) % 256)
    with open(f"{cwd}/data/classes.txt", "w") as file:
        file.write("first\nsecond\n")
    return ["data=folder:data", "data.size=12", *SMALL]


def maps(cwd):
    os.rename(program.write_maps(cwd), f"{cwd}/data")
    return ["data=dense:data", "data.unlabelled=9", "model=fcn-s", "model.width=0.25", *SMALL[2:5], "eval.every=0"]


def sounds(cwd):
    for half in ("train", "val"):
        os.makedirs(f"{cwd}/data/{half}")
        for k in range(4):
            with wave.open(f"{cwd}/data/{half}/{k}_a_0.wav", "wb") as sound:
                sound.setparams((1, 2, 8000, 0, "NONE", ""))
                sound.writeframes(bytes((i * (k + 3)) % 256 for i in range(9600)))
    return ["data=speech:data", "model=ds2-s", "data.frames=60", *TEXT[1:], "model.width=0.25"]


def text(cwd):
    os.makedirs(f"{cwd}/data")
    for name in ("train", "valid"):
        with open(f"{cwd}/data/{name}.txt", "w") as file:
            file.write("the cat sat on the mat and the dog ran\n" * 12)
    return ["data=text:data/train.txt", "data.valid=data/valid.txt", "data.unit=word", "data.length=8",
            "model=transformer-lm-s", *TEXT]


def sentences(cwd):
    os.makedirs(f"{cwd}/data")
    for half in ("train", "test"):
        for language, words in (("en", "dog cat bird"), ("fr", "chien chat oiseau")):
            with open(f"{cwd}/data/{half}.{language}", "w") as file:
                file.writelines(f"{word}\n" for word in words.split() * 8)
    return ["data=parallel:data", "data.source=en", "data.target=fr", "data.length=4", "data.min_count=1",
            "model=seq2seq-s", "model.hidden=16", *TEXT[1:]]


def train(cwd, words, **faults):
    shutil.rmtree(f"{cwd}/run", ignore_errors=True)
    env = dict(os.environ, LD_PRELOAD=SHIM, FAULTS_FOLDER="data", GOMP_SPINCOUNT="1000")
    env.update({f"FAULTS_{name.upper()}": str(value) for name, value in faults.items()})
    return program.call("train", *words, "run.dir=run", "--json", cwd=cwd, env=env)


def each_look(checks, cwd):
    for make in (idx, packed_idx, cifar, classes, maps, sounds, text, sentences):
        shutil.rmtree(f"{cwd}/data", ignore_errors=True)
        words = make(cwd)
        code, out, err = train(cwd, words, calls=f"{cwd}/calls")
        if not checks.same(code, 0, f"{make.__name__}: {err}"):
            continue
        weights = json.loads(out)["weights_hash"]
        with open(f"{cwd}/calls") as file:
            looks = [n for n, line in enumerate(file, 1) if line.split()[0] == "stat"]
        os.remove(f"{cwd}/calls")
        checks.that(looks, f"{make.__name__}: it looks for files")
        ends = collections.Counter()
        for n in looks[:4] + looks[4::4]:
            code, out, err = train(cwd, words, at=n, kind=errno.EIO)
            ends[code] += 1
            what = f"{make.__name__}: look {n} failed: exit {code}: {err}"
            if code == 0:
                checks.same(json.loads(out)["weights_hash"], weights, what)
            else:
                checks.that(code == 5 and "Input/output error" in err, what)
        checks.that(ends[5] > 0, f"{make.__name__}: some depends on them: {dict(ends)}")
        print(f"{make.__name__}: {len(looks)} looks, exit codes {dict(ends)}")


if __name__ == "__main__":
    if program.sanitizer() or not os.path.exists(SHIM):
        print("the library of faults is not to be had, or a sanitizer stands in its place: left out")
        sys.exit(77)
    program.main(each_look)
