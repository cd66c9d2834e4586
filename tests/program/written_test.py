"""What the program writes to: links are followed, pipes and devices are written to and stay; what it cannot write
is never success. What it reads is what it wrote: no gzip in its place."""
import gzip
import os
import stat
import threading

import program


def make_run(cwd):
    program.train("model=cnn-s", *program.TINY, "steps=2", "run.quiet=on", cwd=cwd)


def drain(path, found):
    with open(path, "rb") as pipe:
        found.append(pipe.read())


def outputs(checks, cwd):
    """report -o and export out=: the same bytes in a file, behind a link and through a pipe."""
    make_run(cwd)
    os.makedirs(f"{cwd}/real")
    for verb, words in (("report", ["run", "-o"]), ("export", ["run", "out="])):
        def write(name):
            named = [*words, name] if words[-1] == "-o" else [words[0], words[1] + name]
            code, _, err = program.call(verb, *named, cwd=cwd)
            checks.that(code == 0, f"{verb} to {name}: exit {code}: {err}")
        write("plain")
        with open(f"{cwd}/plain", "rb") as file:
            whole = file.read()
        os.symlink("real/target", f"{cwd}/link-{verb}")
        os.mkfifo(f"{cwd}/pipe-{verb}")
        for turn in ("new", "old"):  # a target that is made, and one that is replaced
            write(f"link-{verb}")
            checks.that(os.path.islink(f"{cwd}/link-{verb}"), f"{verb}: the {turn} target's link stays")
            with open(f"{cwd}/real/target", "rb") as file:
                checks.that(file.read() == whole, f"{verb}: bytes of the {turn} target")
        os.remove(f"{cwd}/real/target")
        found = []
        reader = threading.Thread(target=drain, args=(f"{cwd}/pipe-{verb}", found))
        reader.start()
        write(f"pipe-{verb}")
        reader.join(60)
        checks.that(found == [whole], f"{verb}: bytes out of the pipe")
        checks.that(stat.S_ISFIFO(os.stat(f"{cwd}/pipe-{verb}").st_mode), f"{verb}: the pipe stays a pipe")
    try:
        os.mknod(f"{cwd}/full", 0o600 | stat.S_IFCHR, os.makedev(1, 7))  # a copy of the one that is always full
        open(f"{cwd}/full", "rb").close()
    except OSError:
        print("no devices can be made here: left out", flush=True)
        return
    code, _, err = program.call("report", "run", "-o", "full", cwd=cwd)
    checks.that(code == 5 and "no space" in err, f"a full device: exit {code}: {err}")
    checks.that(stat.S_ISCHR(os.stat(f"{cwd}/full").st_mode), "the device stays a device")


def no_page(checks, cwd):
    """A training whose report cannot be written tells its result, says so, and does not end with 0."""
    make_run(cwd)
    os.remove(f"{cwd}/run/report.html")
    os.makedirs(f"{cwd}/run/report.html/in-the-way")
    code, out, err = program.call("resume", "run", "steps=3", "--json", cwd=cwd)
    checks.that(code in (2, 5) and "no report: " in err and '"weights_hash"' in out,
                f"a report in the way: exit {code}: {out[:80]} {err}")


def packed(checks, cwd):
    """Checkpoint, configuration and rows are taken as they stand."""
    make_run(cwd)
    checkpoint = os.path.relpath(program.checkpoints(cwd)[2], cwd)
    for path, words, expected in ((checkpoint, ["eval", "run"], 3), ("run/config.resolved.yaml", ["eval", "run"], 3),
                                  ("run/metrics.jsonl", ["why", "run"], 0)):  # no line of it is taken
        with open(f"{cwd}/{path}", "rb") as file:
            whole = file.read()
        with open(f"{cwd}/{path}", "wb") as file:  # stored, so that it is not smaller
            file.write(gzip.compress(whole, 0))
        code, out, err = program.call(*words, cwd=cwd)
        named = os.path.basename(path) in (out if expected == 0 else err)
        checks.that(code == expected and named, f"{path} as gzip: exit {code}: {out} {err}")
        with open(f"{cwd}/{path}", "wb") as file:
            file.write(whole)
        checks.same(program.call(*words, cwd=cwd)[0], 0, f"{path} as it was")


def trial_save(checks, cwd):
    """A file that may not become as large as a checkpoint shows before the first step."""
    words = ["train", "model=cnn-s", *program.TINY, "precision=hfp8", "steps=2", "run.quiet=on"]
    checks.same(program.call(*words, "run.dir=run", cwd=cwd)[0], 0, "without a limit")
    largest = max(os.path.getsize(path) for path in program.checkpoints(cwd).values())

    code, _, err = limited(largest - 1, *words, "run.dir=small", cwd=cwd)
    checks.that(code == 5 and "trial save" in err, f"a byte too little: exit {code}: {err}")
    checks.same(os.listdir(f"{cwd}/small/checkpoint"), [], "the trial leaves nothing")
    checks.that(not os.path.exists(f"{cwd}/small/metrics.csv"), "no step was done")
    code, _, err = limited(largest + 16384, *words, "run.dir=enough", cwd=cwd)
    checks.that(code == 0, f"some more than a checkpoint: exit {code}: {err}")


def limited(most, *words, cwd):
    """A call of the program that may make no file larger than so many bytes."""
    return program.call(*words, cwd=cwd, **program.small_files(most))


def same_file(checks, cwd, name, what):
    with open(f"{cwd}/run/{name}", "rb") as found, open(f"{cwd}/whole/{name}", "rb") as expected:
        checks.that(found.read() == expected.read(), f"{what}: {name} is that of an undisturbed run")


def full_disk(checks, cwd):
    """A history that cannot grow ends the run; what is there can be read, and is gone on with as if nothing had been."""
    words = ["train", "model=cnn-s", "model.width=0.1", *program.TINY, "precision=hfp8", "steps=40", "run.quiet=on",
             "run.checkpoint_every=6", "run.histogram_every=0"]
    checks.same(program.call(*words, "run.dir=whole", cwd=cwd)[0], 0, "without a limit")
    most = os.path.getsize(f"{cwd}/whole/numerics.jsonl") * 3 // 4 + 11  # in the middle of a line
    largest = max(os.path.getsize(path) for path in program.checkpoints(cwd, "whole").values())
    checks.that(most > largest + 16384, f"numerics are larger than checkpoints: {most}, {largest}")
    code, _, err = limited(most, *words, "run.dir=run", cwd=cwd)
    checks.that(code == 5 and "numerics.jsonl: cannot write" in err, f"the disk is full: exit {code}: {err}")
    code, out, err = program.call("why", "run", cwd=cwd)
    checks.that(code == 0 and "left out" not in out, f"why, of what is there: exit {code}: {out} {err}")
    code, _, err = program.call("resume", "run", cwd=cwd)
    checks.that(code == 0 and "note: " not in err.replace("note: tensors", ""), f"resume: exit {code}: {err}")
    same_file(checks, cwd, "numerics.jsonl", "full disk")
    checks.that(program.rows(cwd, "run") == program.rows(cwd, "whole"), "full disk: rows")


def lost_histories(checks, cwd):
    """Files that a crash emptied or filled with zeros stop nothing; which steps are lost is told."""
    words = ["train", "model=cnn-s", *program.TINY, "precision=hfp8", "steps=6", "run.quiet=on", "run.checkpoint_every=2"]
    program.call(*words, "run.dir=run", cwd=cwd)
    os.remove(program.checkpoints(cwd)[6])
    with open(f"{cwd}/run/metrics.csv", "r+b") as file:
        size = len(file.read())
        file.seek(0)
        file.write(bytes(size))
    os.truncate(f"{cwd}/run/numerics.jsonl", 0)
    code, _, err = program.call("resume", "run", cwd=cwd)
    checks.same(code, 0, f"resume: {err}")
    for told in ("metrics.csv is damaged: it is now metrics.csv.damaged", "numerics.jsonl: lines of steps 0 to 3 are missing"):
        checks.that(told in err, f"{told}: {err}")
    checks.same(os.path.getsize(f"{cwd}/run/metrics.csv.damaged") <= size, True, "the damaged rows are kept")
    checks.same([row["step"] for row in program.rows(cwd)], ["4", "5"], "rows from there on")
    checks.same(program.call("why", "run", cwd=cwd)[0], 0, "why")


program.main(outputs, no_page, packed, trial_save, full_disk, lost_histories)
