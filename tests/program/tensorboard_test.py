"""The event file beside metrics.csv, decoded here from its bytes alone: sums, steps, numbers."""
import csv
import glob
import json
import math
import os
import shutil
import signal
import struct
import time

import program
from program import TINY

GROUPS = {"loss": "train/loss", "batch_accuracy": "train/batch_accuracy", "lr": "train/lr",
          "loss_scale": "scaling/loss_scale", "skipped": "scaling/skipped", "gradient_norm": "train/gradient_norm",
          "images_per_second": "speed/images_per_second", "low_precision_ratio": "precision/low_precision_ratio",
          "promoted": "precision/promoted", "test_accuracy": "test/accuracy"}
COLUMNS = list(GROUPS)


def crc32c(data):
    """Bit by bit, from the polynomial."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xa282ead8) & 0xffffffff


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of a protobuf message; length-delimited values are bytes."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        found.append((key >> 3, value))
    return found


def doubles(data):
    return [value for value, in struct.iter_unpack("<d", data)]


def events(checks, folder):
    """[(step, {tag: number or histogram})], the first one the version."""
    names = glob.glob(f"{folder}/events.out.tfevents.*")
    checks.same(len(names), 1, f"{folder}: one event file")
    with open(names[0], "rb") as file:
        data = file.read()
    at, found, told = 0, [], set()
    while at < len(data):
        length, head = struct.unpack_from("<QI", data, at)
        body = data[at + 12:at + 12 + length]
        tail, = struct.unpack_from("<I", data, at + 12 + length)
        checks.same((head, tail), (masked(data[at:at + 8]), masked(body)), f"sums at {at}")
        at += 16 + length
        event = dict(fields(body))
        checks.that(abs(event[1] - time.time()) < 1000, "the time of an event")
        if 3 in event:
            found.append((-1, event[3].decode()))
            continue
        values = {}
        for number, value in fields(event[5]):
            checks.same(number, 1, "a summary has values")
            parts = dict(fields(value))
            tag = parts[1].decode()
            values[tag] = parts[2] if 2 in parts else dict(fields(parts[5]))
            if 2 in parts:
                words = dict(fields(parts.get(9, b"")))
                checks.that(tag in told or (words.get(3, b"").endswith(b".") and words[2].decode().endswith(
                    tag.split("/")[1])), f"{tag}: title and description where it is new: {words}")
                told.add(tag)
        found.append((event.get(2, 0), values))
    checks.same(found[0], (-1, "brain.Event:2"), "the first event is the version")
    return found[1:]


def table(folder):
    with open(f"{folder}/metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def as_float32(text):
    return struct.unpack("<f", struct.pack("<f", float(text)))[0]


def same_numbers(checks, folder):
    """Scalars are the rows of metrics.csv, in order, none twice."""
    rows = table(folder)
    scalars = [(step, values) for step, values in events(checks, folder) if "train/loss" in values]
    checks.same([step for step, _ in scalars], [int(row["step"]) for row in rows], "steps")
    for (_, values), row in zip(scalars, rows):
        for column in COLUMNS:
            if column not in row:
                continue
            if row[column] == "":
                checks.that(GROUPS[column] not in values, f"{column} is left out where there is none")
            elif column == "images_per_second":
                checks.that(math.isclose(values[GROUPS[column]], float(row[column]), rel_tol=1e-3,
                                         abs_tol=0.1), "images per second")
            else:
                checks.same(repr(values[GROUPS[column]]), repr(as_float32(row[column])),
                            f"{column} of {row['step']}")


def histograms(checks, folder):
    """Exponent histograms say what histograms.jsonl says."""
    path = f"{folder}/histograms.jsonl"
    if not os.path.exists(path):
        return
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    expected = {(line["step"], tensor[0]): tensor for line in lines for tensor in line["tensors"]
                if sum(tensor[5]) > 0}
    found = {(step, tag): value for step, values in events(checks, folder)
             for tag, value in values.items() if isinstance(value, dict)}
    checks.same({(step, "exponents/" + name) for step, name in expected}, set(found),
                "the same tensors and steps")
    for (step, name), (_, _, _, _, first, bins, _) in expected.items():
        value = found[step, "exponents/" + name]
        exponents = [first + i for i, count in enumerate(bins) if count]
        moments = [sum(count * (first + i) ** k for i, count in enumerate(bins)) for k in range(3)]
        checks.same([value.get(k, 0.0) for k in (1, 2, 3, 4, 5)],
                    [min(exponents), max(exponents), *moments], f"{name}: range and sums")
        checks.same(doubles(value[6]), [first + i + 0.5 for i in range(len(bins))], "limits")
        checks.same(doubles(value[7]), bins, f"{name}: counts")


def whole_run(checks, cwd):
    program.train(*TINY, "steps=25", "precision=hfp8", "run.histogram_every=10", cwd=cwd)
    same_numbers(checks, f"{cwd}/run")
    histograms(checks, f"{cwd}/run")


def resumed_run(checks, cwd):
    process = program.start("train", *TINY, "steps=4000", "run.checkpoint_every=7", "run.dir=run",
                            "run.histogram_every=5", cwd=cwd)
    while process.poll() is None and not (os.path.exists(f"{cwd}/run/metrics.csv")
                                          and len(table(f"{cwd}/run")) > 15):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = max(program.checkpoints(cwd))
    name, = glob.glob(f"{cwd}/run/events.out.tfevents.*")
    with open(name, "ab") as file:
        file.write(b"\x20\x00\x00")  # a record that a crash has torn
    program.resume("run", f"steps={done + 20}", cwd=cwd)
    same_numbers(checks, f"{cwd}/run")
    histograms(checks, f"{cwd}/run")


def diverging_run(checks, cwd):
    program.call("train", *TINY, "lr=1e6", "lr.schedule=constant", "lr.warmup=0", "steps=20",
                 "run.dir=run", cwd=cwd)
    rows = table(f"{cwd}/run")
    steps = [step for step, values in events(checks, f"{cwd}/run") if "train/loss" in values]
    checks.same(steps, [int(row["step"]) for row in rows], "steps of a run that diverged")


def damaged_file(checks, cwd):
    """A file that holds no event stops no training: it is set aside; what is behind whole events goes."""
    text = b"this is no event file, it is a text"
    program.train(*TINY, "steps=2", cwd=cwd)
    name, = glob.glob(f"{cwd}/run/events.out.tfevents.*")
    for damage in (text, bytes(3000)):
        with open(name, "wb") as file:
            file.write(damage)
        shutil.copytree(f"{cwd}/run", f"{cwd}/copy")
        code, _, err = program.call("resume", "copy", "steps=4", cwd=cwd)
        checks.that(code == 0 and "note: " in err and "tfevents" in err, f"a damaged file: {code} {err}")
        with open(f"{cwd}/copy/{os.path.basename(name)}.damaged", "rb") as file:
            checks.that(file.read() == damage, "it is set aside")
        for aside in glob.glob(f"{cwd}/copy/*.damaged"):
            os.remove(aside)
        steps = [step for step, values in events(checks, f"{cwd}/copy") if "train/loss" in values]
        checks.same(steps, [2, 3], "a new one has the steps from there on")
        shutil.rmtree(f"{cwd}/copy")
    program.train(*TINY, "steps=2", cwd=cwd, run="whole")
    name, = glob.glob(f"{cwd}/whole/events.out.tfevents.*")
    with open(name, "ab") as file:
        file.write(text)
    code, _, err = program.call("resume", "whole", "steps=4", cwd=cwd)
    checks.that(code == 0 and f"{len(text)} bytes behind" in err, f"a torn end: {code} {err}")
    steps = [step for step, values in events(checks, f"{cwd}/whole") if "train/loss" in values]
    checks.same(steps, [0, 1, 2, 3], "all whole events stay")


def rate_of_texts(checks, cwd):
    """A text's rate is told in tokens: a sample is eight of them. metrics.csv has samples."""
    for name in ("train", "valid"):
        with open(f"{cwd}/{name}.txt", "w") as file:
            file.write("the cat sat on the mat .\n" * 40)
    program.train("model=transformer-lm-s", f"data=text:{cwd}/train.txt", f"data.valid={cwd}/valid.txt", "data.unit=word",
                  "model.width=0.125", "batch=4", "data.length=8", "threads=1", "steps=3", "run.log_every=1", cwd=cwd)
    found = [values for _, values in events(checks, f"{cwd}/run") if "train/loss" in values]
    rows = table(f"{cwd}/run")
    checks.same(len(found), len(rows), "rows")
    for values, row in zip(found, rows):
        checks.that("speed/images_per_second" not in values, "no images")
        checks.that(math.isclose(values["speed/tokens_per_second"], 8 * float(row["images_per_second"]), rel_tol=1e-3,
                                 abs_tol=1), f"tokens: {values}, {row}")


if __name__ == "__main__":
    program.main(whole_run, resumed_run, diverging_run, damaged_file, rate_of_texts)
