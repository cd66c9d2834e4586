"""Folders of sounds by class: spectrograms that models of pictures classify, in every way of running; what is refused."""
import json
import math
import os
import struct
import wave

import program

TONES = {"high": 1700, "low": 400, "middle": 900}
WORDS = ["model=cnn-s", "model.width=0.5", "data.frames=24", "batch=6", "epochs=60", "lr=0.1"]


def sound(path, height, take, rate=8000, depth=2):
    """200 to 300 ms of a tone, a little higher in every take; depth 3: 24 bits of the same numbers."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    count = rate * (20 + take % 10) // 100
    samples = [int(9000 * math.sin(2 * math.pi * (height + 20 * take) * i / rate)) for i in range(count)]
    with wave.open(path, "wb") as file:
        file.setparams((1, depth, rate, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", s) if depth == 2 else struct.pack("<i", s << 8)[:3] for s in samples))


def folder(cwd, name="sounds", halves=(("train", 8), ("val", 2)), **how):
    for half, takes in halves:
        for of_class, height in TONES.items():
            for take in range(takes):
                sound(os.path.join(cwd, name, half, of_class, f"{take}.wav"), height, take + (half == "val"), **how)
    return f"data=sounds:{cwd}/{name}"


def it_learns(checks, cwd):
    """In the same bits whatever the threads, and from 24 bits as from 16."""
    data = folder(cwd)
    plain = program.train(data, *WORDS, "threads=1", cwd=cwd, run="plain")
    checks.same((plain["metric"]["name"], plain["metric"]["value"]), ("accuracy", 1.0), "three tones are told apart")
    checks.same(plain["task"], "classify", "task")
    for words, other in ((["threads=2"], data), (["threads=1"], folder(cwd, "deep", depth=3))):
        made = program.train(other, *WORDS, *words, cwd=cwd, run=f"other-{len(words[0])}-{other[-1]}")
        checks.same(made["weights_hash"], plain["weights_hash"], f"{words} {other}")
    with open(f"{cwd}/plain/classes.txt", encoding="utf-8") as file:
        checks.same(file.read(), "high\nlow\nmiddle\n", "classes.txt")
    for verb in ("eval", "why", "stats", "report"):
        checks.same(program.call(verb, "plain", cwd=cwd)[0], 0, verb)
    rest = program.resume("plain", "epochs=61", cwd=cwd)
    checks.same(rest["metric"]["value"], 1.0, "it goes on")


def files_are_told(checks, cwd):
    """Files and folders that nobody has labelled, at another rate too; silence is said."""
    program.train(folder(cwd), *WORDS, cwd=cwd, run="plain")
    sound(f"{cwd}/new/a.wav", TONES["low"], 3)
    sound(f"{cwd}/new/b.wav", TONES["high"], 3, rate=16000)
    code, out, err = program.call("predict", "plain", "new", "--json", cwd=cwd)
    checks.same(code, 0, err)
    rows = json.loads(out)["predictions"]
    checks.same([os.path.basename(row["file"]) for row in rows], ["a.wav", "b.wav"], "files")
    checks.that("low" in json.dumps(rows[0]) and "high" in json.dumps(rows[1]), f"classes: {rows}")
    checks.that("note: 1 of 2 test sounds are resampled from another rate (data.rate)" in err, f"rate: {err}")
    with wave.open(f"{cwd}/silent.wav", "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(6400))
    code, _, err = program.call("predict", "plain", "silent.wav", cwd=cwd)
    checks.that(code == 0 and "note: 1 of 1 test sounds are silent" in err, f"silence: {err}")
    code, out, err = program.call("eval", "plain", "page=mistakes.html", cwd=cwd)
    checks.same(code, 0, f"a page of mistakes: {err}")


def folders_without_a_test_half(checks, cwd):
    """Some are drawn to test with; a limit takes classes in turns."""
    data = folder(cwd, "flat", (("", 5),))
    code, _, err = program.call("train", data, *WORDS, "data.validation=0.2", "epochs=1", "run.dir=held", cwd=cwd)
    checks.that(code == 0 and "neither val nor test is there: 3 of 15 images are drawn" in err, f"{code}: {err}")
    for words in ([], [data]):
        code, out, err = program.call("eval", "held", "--json", *words, cwd=cwd)
        checks.same(code, 0, err)
        accuracy = json.loads(out)["metric"]["value"]
        checks.that(min(abs(accuracy - k / 3) for k in range(4)) < 1e-9, f"one of each class is judged: {accuracy}")


def marks_are_no_text(checks, cwd):
    """What editors put in front of files: a configuration with a byte-order mark is read as without."""
    plans = []
    for name, mark in (("plain", b""), ("marked", b"\xef\xbb\xbf")):
        program.put(cwd, f"{name}.yaml", mark + b"model: cnn-s\ndata: glyphs\n")
        code, out, err = program.call("plan", f"config={name}.yaml", cwd=cwd)
        checks.same(code, 0, err)
        plans.append(out)
    checks.same(plans[1], plans[0], "a configuration with a mark")


def refusals(checks, cwd):
    def refuses(code, words, *keys):
        found, _, err = program.call("train", *WORDS, "steps=1", *keys, cwd=cwd)
        checks.same(found, code, f"{keys}: {err}")
        checks.that(words in err, f"{keys}: no '{words}' in: {err}")
    data = folder(cwd, "wrong", (("train", 2), ("val", 1)))
    refuses(2, "data.size=8, expected none", data, "data.size=8")
    program.put(cwd, "wrong/train/low/phone.m4a", b"\0\0\0\x1cftypM4A ")
    refuses(0, "note: 1 files beside the training sounds are left out", data)
    program.put(cwd, "wrong/train/low/1.wav", b"RIFF")
    refuses(3, "low/1.wav: found 4 bytes that are no sound", data)
    for name in ("0.wav", "1.wav"):
        os.remove(f"{cwd}/wrong/train/low/{name}")
    refuses(3, "low: found no sound (.wav, .flac", data)
    refuses(3, "the folder must hold train/CLASS/*.wav", f"data=sounds:{cwd}/none")


program.main(it_learns, files_are_told, folders_without_a_test_half, marks_are_no_text, refusals)
