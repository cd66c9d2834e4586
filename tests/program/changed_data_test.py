"""Data that are others than those that a run was trained on: resume, eval and predict say what has changed before
anything is written; accepted once, it stands in the journal. Processes of MPI compare theirs."""
import json
import os
import shutil

import processes_test
import program

KEYS = ["model=cnn-s", "model.width=0.25", "batch=8", "threads=1", "quiet=on", "run.log_every=1"]


def images(cwd):
    """Classes a and b: six training and two test pictures of each."""
    for number, name in enumerate("ab"):
        for half, count in (("train", 6), ("val", 2)):
            for i in range(count):
                program.put(cwd, f"images/{half}/{name}/{i}.png", program.png(16, 16, [90 * number + 20, 9 * i, 40]))


def refuses(checks, cwd, run, part, what):
    """Every verb that reads the samples: exit 3, the words, and no byte of the folder is another."""
    before = program.tree_bytes(os.path.join(cwd, run))
    for verb in ("resume", "eval", "predict"):
        code, out, err = program.call(verb, run, *(["steps=9"] if verb == "resume" else []), cwd=cwd)
        checks.that(code == 3 and out == "" and part in err and "data.changed=accept" in err,
                    f"{what}: {verb}: exit {code}: {err}")
    checks.that(program.tree_bytes(os.path.join(cwd, run)) == before, f"{what}: the folder is as it was")


def swap(cwd, name, other):
    os.rename(os.path.join(cwd, name), os.path.join(cwd, other))


def folders(checks, cwd):
    images(cwd)
    program.train(*KEYS, "data=folder:images", "data.size=16", "steps=3", cwd=cwd)
    with open(f"{cwd}/run/data.txt") as file:
        lines = file.read().splitlines()
    size = os.path.getsize(f"{cwd}/images/train/a/0.png")
    checks.same(lines[:4], ["data: folder:images", "class 0: a", "class 1: b", "train samples: 12"], "data.txt")
    checks.that(lines[4].startswith(f"train file train/a/0.png: {size} "), f"the first file: {lines[4]}")
    checks.same(len(lines), 1 + 2 + 2 + 12 + 4 + 2, "a line for each class, part, file and array of labels")

    shutil.move(f"{cwd}/images", f"{cwd}/moved")
    code, _, err = program.call("eval", "run", "data=folder:moved", cwd=cwd)
    checks.that(code == 0, f"the same files elsewhere: {err}")
    shutil.move(f"{cwd}/moved", f"{cwd}/images")

    for half in ("train", "val"):  # as the reviewer did it: the labels would be those of other classes
        swap(cwd, f"images/{half}/a", f"images/{half}/zz")
    refuses(checks, cwd, "run", "class 0: found 'b', expected 'a'; class 1: found 'zz', expected 'b'", "a renamed class")
    for half in ("train", "val"):
        swap(cwd, f"images/{half}/zz", f"images/{half}/a")

    other = program.png(16, 16, [20, 0, 41])
    kept = open(f"{cwd}/images/train/a/0.png", "rb").read()
    program.put(cwd, "images/train/a/0.png", other)
    refuses(checks, cwd, "run", "train file train/a/0.png has other contents", "a replaced picture")
    program.put(cwd, "images/train/a/0.png", kept)

    swap(cwd, "images/train/b/5.png", "five.png")
    refuses(checks, cwd, "run", "train samples: found '11', expected '12'; train file train/b/5.png is not there any more",
            "a removed picture")
    code, _, err = program.call("resume", "run", "steps=4", "data.changed=accept", cwd=cwd)
    checks.that(code == 0 and err.count("note: the data have changed") == 1, f"accepted: exit {code}: {err}")
    code, _, err = program.call("resume", "run", "steps=5", cwd=cwd)
    checks.that(code == 0 and "changed" not in err, f"these are the run's data now: exit {code}: {err}")
    with open(f"{cwd}/run/progress.jsonl") as file:
        noted = [row for row in map(json.loads, file) if row["event"] == "data"]
    checks.that(len(noted) == 1 and "b/5.png is not there" in noted[0]["changed"] and noted[0]["step"] == 3, noted)
    swap(cwd, "five.png", "images/train/b/5.png")
    refuses(checks, cwd, "run", "train/b/5.png is new", "a new picture; what was accepted is not accepted for ever")

    code, _, err = program.call("eval", "run", "data.limit=4", cwd=cwd)
    checks.that(code == 0 and "samples are not compared" in err, f"another choice of samples: exit {code}: {err}")
    os.remove(f"{cwd}/run/data.txt")
    code, _, err = program.call("resume", "run", "steps=6", cwd=cwd)
    checks.that(code == 0 and "run has no data.txt" in err, f"a run of an older version: exit {code}: {err}")


def one_byte(path, offset, xor=0x10):
    """Another byte, and the time of the old one: nothing but the contents tells."""
    stamp = os.stat(path)
    program.damage(path, offset, xor)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def arrays(checks, cwd):
    """Data in memory: a byte more or less is found, and in which array."""
    program.write_idx(f"{cwd}/idx", count=24)
    program.write_cifar(f"{cwd}/cifar", per_file=8)
    with open(f"{cwd}/text", "w") as file:
        file.write("all the king's horses and all the king's men " * 80)
    for name, spec, path, part, more in [
            ("idx", "idx:idx", "idx/train-images-idx3-ubyte", "train rows image has other contents", []),
            ("labels", "idx:idx", "idx/t10k-labels-idx1-ubyte", "test rows label has other contents", []),
            ("cifar", "cifar10:cifar", "cifar/data_batch_2.bin", "train rows image has other contents", []),
            ("text", "text:text", "text", "train rows tokens has other contents", ["model=lstm-lm-s"]),
            ("words", "text:text", "text", "train rows tokens has other contents", ["model=lstm-lm-s", "data.unit=char"])]:
        program.train(*KEYS, *more, f"data={spec}", "steps=3", cwd=cwd, run=f"{name}-run")
        if name == "words":
            with open(f"{cwd}/text", "r+") as file:
                file.write("the ")
        else:
            one_byte(f"{cwd}/{path}", *((8 + 3, 1) if name == "labels" else (100,)))
        code, out, err = program.call("resume", f"{name}-run", "steps=4", cwd=cwd)
        checks.that(code == 3 and part in err, f"{name}: exit {code}: {err}")


def others(checks, cwd):
    """Label maps, boxes, pairs and sentences."""
    program.write_maps(cwd)
    program.write_boxes(cwd)
    program.write_pictures(cwd)
    for half, count in (("train", 12), ("test", 4)):
        program.put(cwd, f"pairs/{half}.en", b"one two three\n" * count)
        program.put(cwd, f"pairs/{half}.fr", b"un deux trois\n" * count)
    for run, path, part, keys in [
            ("maps", "maps/trainannot/3.png", "train file trainannot/3.png: found", ["model=fcn-s", "data=dense:maps", "data.unlabelled=9"]),
            ("boxes", "boxes/Annotations/train2.xml", "train rows boxes has other contents", ["model=ssd-s", "data=boxes:boxes"]),
            ("pictures", "pictures/test/1.png", "test file test/1.png: found", ["model=pan-s", "data.crop=8", "data=pairs:pictures"]),
            ("words", "pairs/train.fr", "train rows", ["model=seq2seq-s", "data=parallel:pairs", "data.source=en", "data.target=fr"])]:
        code, _, err = program.call("train", "threads=1", "quiet=on", *keys, "batch=2", "steps=1", f"run.dir={run}-run", cwd=cwd)
        if not checks.that(code == 0, f"{run}: exit {code}: {err}"):
            continue
        if run == "boxes":
            with open(f"{cwd}/{path}") as file:
                text = file.read()
            program.put(cwd, path, text.replace("<xmin>", "<xmin>1", 1).encode())
        elif run == "words":
            program.put(cwd, path, b"un deux trois\n" * 11 + b"un trois deux\n")
        else:
            width, height, channels, data = program.read_png(f"{cwd}/{path}")
            at = lambda x, y, c: data[(y * width + x) * channels + c]
            program.write_png(f"{cwd}/{path}", width, height, channels, lambda x, y, c: at(width - 1 - x, y, c))
        code, _, err = program.call("resume", f"{run}-run", "steps=2", cwd=cwd)
        checks.that(code == 3 and part in err, f"{run}: exit {code}: {err}")


def processes(checks, cwd):
    """The same spec, another byte on one of two nodes: refused by all, naming rank and array."""
    if not processes_test.MPIRUN or not os.path.exists(processes_test.BESIDE):
        return
    for node in ("one", "two"):
        program.write_idx(f"{cwd}/{node}/fashion-mnist", count=40)
    keys = ["model=cnn-s", "model.width=0.5", "data=fashion-mnist", "batch=8", "steps=2", "run.quiet=on", "threads=1"]

    def both(run):
        command = [processes_test.MPIRUN, *processes_test.FLAGS]
        for node in ("one", "two"):
            command += ["-np", "1", "env", f"HALFULP_DATA={cwd}/{node}", program.HALFULP, "train", *keys, f"run.dir={run}", ":"]
        done = processes_test.subprocess.run(command[:-1], cwd=cwd, env=processes_test.ENVIRONMENT, timeout=program.patience(120),
                                             stdin=processes_test.subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stderr

    code, err = both("same")
    checks.that(code == 0, f"equal copies: exit {code}: {err}")
    for name, part, offset in (("train-images-idx3-ubyte", "worker 1 has 'data: train rows image: ", 900),
                               ("t10k-labels-idx1-ubyte", "worker 1 has 'data: test rows label: ", 8 + 3)):
        path = f"{cwd}/two/fashion-mnist/{name}"
        one_byte(path, offset, 1)
        code, err = both(f"other-{name}")
        checks.that(code == 2 and part in err, f"{name}: exit {code}: {err}")
        one_byte(path, offset, 1)


if __name__ == "__main__":
    program.main(folders, arrays, others, processes)
