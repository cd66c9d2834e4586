"""A training whose disk fails: every call on its files, one after the other, with a full disk, an I/O error, a signal, a
short write; and a loss of power behind each of them. With the word `exhaustive` all of them, without it a sample.

What must hold: an exit code of 0 or 5 with its words, no file left over, histories that can be read, and from
what is there a training that ends with the bits, rows and numbers of an undisturbed one. tests/faults/fail_files.c tells how."""
import collections
import errno
import json
import os
import random
import re
import shutil
import struct
import sys

import program

IS_LONG = "exhaustive" in sys.argv
SHIM = os.path.join(os.path.dirname(program.HALFULP), "fail-files.so")
KEYS = ["model=cnn-s", "model.width=0.1", "data=glyphs", "data.limit=64", "data.test_limit=16", "batch=16", "threads=1",
        "precision=hfp8", "run.histogram_every=2", "run.checkpoint_every=2", "run.log_every=2", "steps=5", "run.quiet=on"]
ONCE = ("open", "write", "fsync", "fdatasync", "ftruncate")  # calls that a signal may interrupt
MODELS = ("synced", "zeros", "torn", "torn")


def faulty(*words, cwd, **more):
    env = dict(os.environ, LD_PRELOAD=SHIM, FAULTS_FOLDER="run", GOMP_SPINCOUNT="1000")
    env.update({f"FAULTS_{name.upper()}": str(value) for name, value in more.items()})
    return program.call(*words, cwd=cwd, env=env)


def told(cwd, run="run"):
    """What a training leaves that is the same in every one: numbers of metrics.csv, lines of the others."""
    lines = []
    for name in ("metrics.jsonl", "numerics.jsonl", "histograms.jsonl"):
        with open(f"{cwd}/{run}/{name}") as file:
            lines.append([re.sub(r'"images_per_second":[^,]*', "", line) for line in file])
    return [program.rows(cwd, run), *lines]


def whole_run(cwd):
    """The undisturbed run, its result and its calls."""
    code, out, err = faulty("train", *KEYS, "run.dir=run", "--json", cwd=cwd, calls="calls", record="record")
    if code != 0:
        raise SystemExit(f"exit {code}: {err}")
    with open(f"{cwd}/calls") as file:
        calls = [line.split()[0] for line in file]
    reference = json.loads(out)["weights_hash"], told(cwd)
    shutil.rmtree(f"{cwd}/run")
    return reference, calls


def go_on(checks, cwd, what, reference, may_miss=False):
    """From whatever is there to the end. Returns stderr of the resumption, None if there was none."""
    err = None
    if os.path.exists(f"{cwd}/run/config.resolved.yaml"):
        code, out, err = program.call("resume", "run", "--json", cwd=cwd)
    else:
        shutil.rmtree(f"{cwd}/run", ignore_errors=True)
        code, out, _ = program.call("train", *KEYS, "run.dir=run", "--json", cwd=cwd)
    if not checks.that(code == 0, f"{what}: going on: exit {code}: {err}"):
        return err
    checks.same(json.loads(out)["weights_hash"], reference[0], f"{what}: weights hash")
    if not may_miss:
        checks.that(told(cwd) == reference[1], f"{what}: rows, numerics and histograms are those of an undisturbed run")
    left = [name for where, _, names in os.walk(f"{cwd}/run") for name in names if ".tmp" in name or "probe" in name]
    checks.same(left, [], f"{what}: files left over")
    return err


def readable(checks, cwd, what):
    """Histories as a failed run leaves them: every line whole."""
    for name in ("metrics.csv", "metrics.jsonl", "numerics.jsonl", "histograms.jsonl", "progress.jsonl"):
        path = f"{cwd}/run/{name}"
        if not os.path.exists(path):
            continue
        with open(path, "rb") as file:
            data = file.read()
        checks.that(not data or data.endswith(b"\n"), f"{what}: {name} ends with a whole line: {data[-60:]}")
        for line in data.splitlines() if name.endswith("l") else ():
            try:
                json.loads(line)
            except ValueError:
                checks.that(False, f"{what}: {name}: {line[:80]}")


def every_failure(calls):
    """(call, kind, whether all later calls of the name fail, too)"""
    return [(n, kind, last) for n, call in enumerate(calls, 1)
            for kind, last in ((errno.ENOSPC, ""), (errno.EIO, ""), (errno.ENOSPC, "on"), (errno.EINTR, ""),
                               ("short", ""), ("nothing", ""))
            if not (kind == errno.EINTR and call not in ONCE) and not (kind in ("short", "nothing") and call != "write")]


def fail_each(checks, cwd, words, calls, reference, before=None):
    """The program with these words and one call that fails; before: a folder that it begins with."""
    cases = every_failure(calls)
    picked = cases if IS_LONG else random.Random(7).sample(cases, 24 if words[0] == "train" else 12)
    tally = collections.Counter()
    for n, kind, last in picked:
        name = errno.errorcode.get(kind, kind)
        what = f"{words[0]}: call {n} of {len(calls)} ({calls[n - 1]}) with {name}{' from there on' if last else ''}"
        if before:
            shutil.copytree(before, f"{cwd}/run")
        code, _, err = faulty(*words, "--json", cwd=cwd, at=n, kind=kind, last=last)
        harmless = kind in (errno.EINTR, "short")
        checks.that(code == 0 if harmless else code in (0, 5), f"{what}: exit {code}: {err}")
        checks.that(code == 0 or err.strip(), f"{what}: says why")
        tally[name, code] += 1
        readable(checks, cwd, what)
        go_on(checks, cwd, what, reference)
        shutil.rmtree(f"{cwd}/run", ignore_errors=True)
    print(f"{words[0]}: {len(picked)} of {len(cases)} failures of {len(calls)} calls, by exit code:",
          dict(sorted(tally.items(), key=str)), flush=True)


def failing_calls(checks, cwd):
    reference, calls = whole_run(cwd)
    fail_each(checks, cwd, ["train", *KEYS, "run.dir=run"], calls, reference)


def failing_resumption(checks, cwd):
    """A run that goes on behind its last checkpoint but one, with rows of steps that are to be done again."""
    reference, _ = whole_run(cwd)
    program.train(*KEYS, cwd=cwd)
    os.remove(program.checkpoints(cwd)[5])
    os.remove(f"{cwd}/run/result.json")
    os.remove(f"{cwd}/calls")
    shutil.copytree(f"{cwd}/run", f"{cwd}/before")
    code, _, err = faulty("resume", "run", cwd=cwd, calls="calls")
    checks.same(code, 0, f"resume: {err}")
    with open(f"{cwd}/calls") as file:
        calls = [line.split()[0] for line in file]
    shutil.rmtree(f"{cwd}/run")
    fail_each(checks, cwd, ["resume", "run"], calls, reference, f"{cwd}/before")


def interrupted_results(checks, cwd):
    """Writes to stdout that a signal interrupts are repeated, by whatever verb."""
    program.train(*KEYS, cwd=cwd)
    for words in (["report", "run"], ["why", "run"], ["eval", "run", "--json"], ["list", "."], ["fmt", "fp16"]):
        code, out, err = faulty(*words, cwd=cwd, stdout=3)
        checks.same((code, out), (0, program.call(*words, cwd=cwd)[1]), f"{words}: {err}")


def records(path):
    """(letter, path, bytes) of everything that was done to the files."""
    with open(path, "rb") as file:
        data = file.read()
    at, found = 0, []
    while at < len(data):
        first, second = struct.unpack_from("<QQ", data, at + 1)
        begin = at + 17
        found.append((chr(data[at]), data[begin:begin + first].decode(), data[begin + first:begin + first + second]))
        at = begin + first + second
    return found


class Disk:
    """Files and names as the programs see them, and what of both is certain to outlast a loss of power."""

    def __init__(self):
        self.names, self.folders, self.content, self.durable = {}, ["run"], [], []
        self.log = collections.defaultdict(list)  # by folder: changes of names since the last sync
        self.kept = collections.defaultdict(dict)  # by folder: names that were synced

    def do(self, letter, path, data):
        folder = os.path.dirname(path)
        if letter == "m" and path not in self.folders:
            self.folders.append(path)
        elif letter == "c":
            self.content.append(b"")
            self.durable.append(b"")
            self.names[path] = len(self.content) - 1
            self.log[folder].append((path, self.names[path]))
        elif letter == "w":
            self.content[self.names[path]] += data
        elif letter == "t":
            self.content[self.names[path]] = self.content[self.names[path]][:int(data)]
        elif letter == "r":
            to = data.decode()
            self.names[to] = self.names.pop(path)
            self.log[folder] += [(to, self.names[to]), (path, None)]
        elif letter == "u":
            self.names.pop(path, None)
            self.log[folder].append((path, None))
        elif letter == "s" and path in self.names:
            self.durable[self.names[path]] = self.content[self.names[path]]
        elif letter == "s":
            for name, file in self.log.pop(path, []):
                self.kept[path][name] = file

    def left(self, model, draw):
        """Files after the loss: what was synced alone; all names and lengths, but zeros; a part of what was not synced."""
        files = {}
        for folder in self.folders:
            entries, log = dict(self.kept[folder]), self.log[folder]
            for name, file in log[:{"synced": 0, "zeros": len(log)}.get(model, draw.randint(0, len(log)))]:
                entries[name] = file
            for name, file in entries.items():
                if file is not None:
                    files[name] = self.bytes_of(file, model, draw)
        return files

    def bytes_of(self, file, model, draw):
        durable, content = self.durable[file], self.content[file]
        if model == "synced" or content == durable:
            return durable
        more = content[len(durable):] if content.startswith(durable) else content
        base = durable if content.startswith(durable) else b""
        if model == "zeros":
            return base + bytes(len(more))
        part = draw.randint(0, len(more))
        return base + more[:part] + bytes(draw.choice([0, len(more) - part]))


def promised(files):
    """The step of the newest checkpoint that is certain to be there, -1: none."""
    steps = [int(found[1]) for name in files for found in [re.fullmatch(r"run/checkpoint/step-(\d+)\.hulp", name)] if found]
    return max(steps, default=-1)


def power_loss(checks, cwd):
    reference, _ = whole_run(cwd)
    done = records(f"{cwd}/record")
    draw = random.Random(11)
    cases = [(cut, model) for cut in range(1, len(done) + 1) for model in MODELS]
    picked = cases if IS_LONG else sorted(draw.sample(cases, 24))
    tally = collections.Counter()
    disk, at = Disk(), 0
    for cut, model in picked:
        for one in done[at:cut]:
            disk.do(*one)
        at = cut
        certain = promised(disk.left("synced", draw))
        shutil.rmtree(f"{cwd}/run", ignore_errors=True)
        for folder in disk.folders:
            os.makedirs(f"{cwd}/{folder}", exist_ok=True)
        for name, data in disk.left(model, draw).items():
            with open(f"{cwd}/{name}", "wb") as file:
                file.write(data)
        what = f"loss of power behind operation {cut} of {len(done)} ({done[cut - 1][0]} {done[cut - 1][1]}), model {model}"
        if certain < 0 and not config_is_sound(cwd):
            tally[model, "nothing was promised"] += 1
            continue
        err = go_on(checks, cwd, what, reference, may_miss=True)
        found = re.search(r"goes on from \S*step-0*(\d+)\.hulp|has done its (\d+) steps", err or "")
        step = int(found[1] or found[2]) if found else -1
        checks.that(step >= certain, f"{what}: goes on from step {step}, promised was {certain}: {err}")
        same = told(cwd) == reference[1]
        checks.that(same or "missing" in (err or "") or "damaged" in (err or ""), f"{what}: what is missing is told: {err}")
        tally[model, "complete" if same else "told what is missing"] += 1
        code, out, err = program.call("why", "run", cwd=cwd)
        checks.that(code == 0, f"{what}: why: exit {code}: {err}")
    print(f"{len(picked)} of {len(cases)} losses of power over {len(done)} operations:", dict(sorted(tally.items())), flush=True)


def config_is_sound(cwd):
    """Whether the program has promised anything: the configuration is there and whole."""
    path = f"{cwd}/run/config.resolved.yaml"
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        data = file.read()
    return b"\0" not in data and data.endswith(b"\n") and b"seed" in data


if program.sanitizer() or not os.path.exists(SHIM):
    print("the library of faults is not to be had, or a sanitizer stands in its place: left out")
    sys.exit(77)
program.main(interrupted_results, failing_calls, failing_resumption, power_loss)
