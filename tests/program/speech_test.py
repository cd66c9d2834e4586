"""Speech: sounds with what is said in them, in every precision and way of running; what is refused."""
import json
import math
import os
import re
import shutil
import struct
import subprocess
import wave

import program

TONES = {"a": 400, "b": 900, "c": 1500, " ": 2200, "'": 3000}
TEXTS = ["ab", "a c", "cb", "b'a", "c", "ba c", "aab", "cc", "b", "a'b", "cab", "b c"]
WORDS = ["model=ds2-s", "model.width=0.25", "data.frames=60", "batch=4", "steps=3", "eval.every=0", "run.chunk=2"]
PRECISIONS = (["precision=fp32"], ["precision=bf16"], ["precision=1/6/9/d"], ["precision=hfp8"], ["precision=demote:0.6+promote"],
              ["precision=bf16", "loss=ctc_nll"], ["precision=ldp:4-8", "bits.grad_weights=16"], ["precision=mxfp8"],
              ["precision=e4m3fn:scale=current"], ["precision=e5m2:scale=delayed2"])
WAYS = (["threads=3"], ["storage=float32"], ["fuse=off", "recompute=off"], ["storage=dense", "threads=2"])


def sound(path, text, rate=8000, channels=1, depth=2):
    """80 ms of a tone for each character, and a pause of 40 ms behind it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    samples = []
    for letter in text:
        samples += [int(9000 * math.sin(2 * math.pi * TONES[letter] * i / rate)) for i in range(rate * 8 // 100)]
        samples += [0] * (rate * 4 // 100)
    with wave.open(path, "wb") as file:
        file.setparams((channels, depth, rate, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", s) * channels for s in samples))


def folder(cwd):
    """12 sounds of 9 to 45 frames, and 4 of them again as test."""
    made = os.path.join(cwd, "speech")
    if os.path.isdir(made):
        return made
    for half, texts in (("train", TEXTS), ("test", TEXTS[2:6])):
        for k, text in enumerate(texts):
            sound(os.path.join(made, half, f"{k:02d}.wav"), text)
        with open(os.path.join(made, half, "transcripts.txt"), "w", encoding="utf-8") as file:
            file.writelines(f"{k:02d}\t{text}\n" for k, text in enumerate(texts))
    return made


def trained(cwd, name, *words, **more):
    return program.train(f"data=speech:{folder(cwd)}", *WORDS, *words, cwd=cwd, run=name, **more)


def bits_are_equal(checks, cwd):
    for turn, precision in enumerate(PRECISIONS):
        plain = trained(cwd, f"plain-{turn}", *precision, "threads=1")
        for more in (WAYS[turn % len(WAYS)], WAYS[(turn + 1) % len(WAYS)]):
            other = trained(cwd, f"other-{turn}-{more[0]}", *precision, *more)
            for key in ("weights_hash", "train_loss", "metric"):
                checks.same(other[key], plain[key], f"{precision} {more}: {key}")
    words = ["precision=bf16", "threads=1", *program.FOR_SCALAR]
    plain = trained(cwd, "native-few", *words)
    other = trained(cwd, "scalar", *words, env={**os.environ, "HALFULP_MAX_ISA": "scalar"})
    checks.same(other["weights_hash"], plain["weights_hash"], "scalar")
    plain = trained(cwd, "native", "precision=bf16", "threads=1")
    other = trained(cwd, "rows", "precision=bf16", "threads=1", "norm.rows=all")
    checks.that(other["weights_hash"] != plain["weights_hash"], "norm.rows=all changes nothing")


def runs_go_on(checks, cwd):
    words = ["precision=hfp8", "threads=1", "eval.every=1", "steps=5"]
    whole = trained(cwd, "whole", *words, "run.checkpoint_every=1", "run.keep=9")
    for step in range(1, 5):
        program.copy_at(cwd, "whole", f"at-{step}", step)
        rest = program.resume(f"at-{step}", cwd=cwd)
        checks.same((rest["weights_hash"], rest["metric"]["value"]), (whole["weights_hash"], whole["metric"]["value"]),
                    f"resumed at {step}")
    checks.same(whole["metric"]["better"], "lower", "metric")
    checks.that(abs(whole["frames_per_second"] - 60 * whole["images_per_second"]) < 1e-6 * whole["frames_per_second"],
                "a sample is 60 frames")
    checks.same(whole["test_ctc_impossible"], 0.0, "no sample is too short")
    code, out, _ = program.call("predict", "whole", "--json", cwd=cwd)
    rows = json.loads(out)["predictions"]
    checks.same((code, [row["letters"] for row in rows]), (0, [len(text) for text in TEXTS[2:6]]), "letters")
    for verb in ("eval", "why", "stats", "report"):
        checks.same(program.call(verb, "whole", cwd=cwd)[0], 0, verb)


def published_networks_by_keys(checks, cwd):
    """Narrow forms of the networks of full size: the convolution ahead, and what stands behind it."""
    narrow = ["model.width=1", "model.maps=2", "model.hidden=8", "model.layers=2", "batch=6"]
    for turn, (model, dense, precision) in enumerate((("deepspeech2", ["model.ff=12"], "fp16"),
                                                      ("deepspeech2-mandarin", [], "hfp8"))):
        words = [f"model={model}", *narrow, *dense, f"precision={precision}", "precision.scheme=micikevicius"]
        plain = trained(cwd, f"full-{turn}", *words, "threads=1")
        bins, gates = 21, 3 * 8
        head = [8 * 12 + 12 + 12 * 29 + 29, 8 * 29 + 29][turn]  # letters, blank, apostrophe
        convs = 11 * 41 * 2 + 11 * 21 * 2 * 2 + 4 * 2
        checks.same(plain["parameters"], convs + gates * (2 * bins + 8 + 2) + gates * (8 + 8 + 2) + 21 * 8 + head, model)
        other = trained(cwd, f"full-other-{turn}", *words, "threads=3", "storage=float32", "fuse=off")
        checks.same(other["weights_hash"], plain["weights_hash"], f"{model} {precision}")
    checks.that("model.ff" in program.call("plan", "model=deepspeech2-mandarin", "model.ff=3", cwd=cwd)[2], "no such layer")


def it_learns(checks, cwd):
    made = trained(cwd, "learns", "model.width=0.5", "steps=240", "optimizer.momentum=0.9", "lr=0.01", "lr.schedule=constant",
                   "optimizer.clip_norm=20", "seed=2")
    checks.that(made["metric"]["value"] <= 0.25, f"label error rate {made['metric']['value']}")


def the_recipe_is_that_of_the_notes(checks, cwd):
    """Amodei et al.: sounds by their length in the first epoch, a rate that falls by 1.1 in every epoch; none of it in a run
    that is compared from init=check."""
    def told(name, *words):
        trained(cwd, name, *words)
        with open(os.path.join(cwd, name, "config.resolved.yaml"), encoding="utf-8") as file:
            text = file.read()
        rates = [float.fromhex(row["lr"]) for row in program.rows(cwd, name)]
        keys = ("sorted", "clip_norm", "momentum", "nesterov", "weight_decay")
        return rates, [re.search(f"\n  {key}: (.*)", text)[1] for key in keys]
    rates, keys = told("recipe", "steps=7", "run.log_every=1")
    checks.same(keys, ["1", "20", "0.9", "on", "0"], "recipe")
    checks.same(rates, [0.02] * 3 + [0.02 * 0.90909090909090906] * 3 + [0.02 * 0.90909090909090906**2], "rates")
    _, keys = told("from-check", "steps=1", "init=check")
    checks.same(keys, ["0", "0", "0", "off", "0"], "init=check")
    plain = trained(cwd, "unsorted", "steps=3", "data.sorted=0")
    first = trained(cwd, "sorted", "steps=3")
    checks.that(first["weights_hash"] != plain["weights_hash"], "data.sorted=1 changes the first epoch")


def predicted(checks, cwd, *words):
    code, out, err = program.call("predict", *words, "--json", cwd=cwd)
    checks.same(code, 0, f"predict {words}: {err}")
    return json.loads(out)["predictions"] if code == 0 else []


def riff(coding, channels, rate, bits, samples, size=None):
    """A WAV of bytes; size: what its chunk of samples is said to have."""
    head = struct.pack("<HHIIHH", coding, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits)
    size = len(samples) if size is None else size
    return b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", size) + samples


def other_files_are_heard(checks, cwd, path, text):
    """The same numbers in other widths, codings and containers say the same; another rate is told and resampled."""
    with wave.open(path, "rb") as file:
        plain = struct.unpack(f"<{file.getnframes()}h", file.readframes(file.getnframes()))
    files = {"24.wav": riff(1, 1, 8000, 24, b"".join(struct.pack("<i", s << 8)[:3] for s in plain)),
             "32.wav": riff(1, 1, 8000, 32, b"".join(struct.pack("<i", s << 16) for s in plain)),
             "float.wav": riff(3, 1, 8000, 32, struct.pack(f"<{len(plain)}f", *(s / 32768 for s in plain))),
             "double.wav": riff(3, 1, 8000, 64, struct.pack(f"<{len(plain)}d", *(s / 32768 for s in plain))),
             "stereo.wav": riff(1, 2, 8000, 16, b"".join(struct.pack("<hh", s + 1, s - 1) for s in plain)),
             "streamed.wav": riff(1, 1, 8000, 16, struct.pack(f"<{len(plain)}h", *plain), 0xffffffff)}
    for name, data in files.items():
        program.put(cwd, name, data)
    if shutil.which("flac"):
        subprocess.run(["flac", "--silent", "-o", f"{cwd}/a.flac", path], check=True)
        files["a.flac"] = None
    rows = predicted(checks, cwd, "hears", *files)
    checks.same([row["text"] for row in rows], [text] * len(files), f"what is said in {list(files)}")
    sound(f"{cwd}/fast.wav", TEXTS[2], rate=44100)
    program.put(cwd, "silent.wav", riff(1, 1, 8000, 16, bytes(9000)))
    code, _, err = program.call("predict", "hears", "fast.wav", "silent.wav", cwd=cwd)
    checks.that(code == 0 and "note: 1 of 2 test sounds are resampled from another rate (data.rate)" in err and
                "note: 1 of 2 test sounds are silent" in err, f"notes: {err}")


def files_are_heard(checks, cwd):
    """A run keeps its alphabet: sounds need no folder, no texts, and the training sounds not at all."""
    made = folder(cwd)
    trained(cwd, "hears", "steps=8", "model.width=0.5", "optimizer.momentum=0.9", "lr=0.01")
    with open(os.path.join(cwd, "hears", "alphabet.txt"), encoding="utf-8") as file:
        checks.same(file.read(), "\n".join([*"abcdefghijklmnopqrstuvwxyz", " ", "'"]) + "\n", "alphabet.txt")
    whole = predicted(checks, cwd, "hears", "count=0")
    checks.same([row["truth"] for row in whole], TEXTS[2:6], "what is true")
    checks.same([len(row["text"]) for row in whole], [row["said"] for row in whole], "as many letters as are counted")
    checks.same([row["file"] for row in whole], [os.path.join(made, "test", f"{k:02d}.wav") for k in range(4)], "files")
    code, out, _ = program.call("predict", "hears", cwd=cwd)
    checks.that(code == 0 and "b'a" in out and "truth" in out, f"for people: {out}")
    os.rename(made, made + ".away")
    os.makedirs(f"{cwd}/bare/test")
    for k in range(4):
        os.link(f"{made}.away/test/{k:02d}.wav", f"{cwd}/bare/test/{k:02d}.wav")
    alone = predicted(checks, cwd, "hears", *(f"bare/test/{k:02d}.wav" for k in (2, 0)))
    checks.same([(row["text"], row["letters"], "truth" in row) for row in alone],
                [(whole[k]["text"], -1, False) for k in (2, 0)], "two files, of which nobody says anything")
    bare = predicted(checks, cwd, "hears", "data=speech:bare", "out.count=0")
    checks.same([row["text"] for row in bare], [row["text"] for row in whole], "a folder without texts")

    def refuses(code, word, *words):
        found, _, err = program.call(*words, cwd=cwd)
        checks.same(found, code, f"{words}: exit code")
        checks.that(word in err, f"{words}: no '{word}' in {err!r}")
    refuses(3, "found 00.wav and no transcripts.txt", "eval", "hears", "data=speech:bare")
    program.put(cwd, "bare/test/transcripts.txt", b"00\ta-c\n01\t\n02\t\n03\t\n")
    refuses(3, "00.wav: found the character '-', which the alphabet of the run lacks", "eval", "hears", "data=speech:bare")
    program.put(cwd, "bare/test/transcripts.txt", "".join(f"{k:02d}\t{text}\n" for k, text in enumerate(TEXTS[2:6])).encode())
    code, out, err = program.call("eval", "hears", "data=speech:bare", "--json", cwd=cwd)
    checks.that(code == 0 and json.loads(out)["test_ctc_impossible"] == 0, f"eval of other data: {err}")
    other_files_are_heard(checks, cwd, f"{cwd}/bare/test/00.wav", whole[0]["text"])
    program.put(cwd, "phone.m4a", b"\0\0\0\x1cftypM4A \0\0\0\0")
    refuses(2, "not supported by this build: phone.m4a: found MPEG-4 sound or video (m4a, mp4), expected WAV, FLAC, OGG or AIFF; "
            "`ffmpeg -i phone.m4a sound.wav` makes a WAV of it", "predict", "hears", "phone.m4a")
    with open(f"{cwd}/bare/test/00.wav", "rb") as file:
        program.put(cwd, "cut.wav", file.read()[:100])
    refuses(3, "the file is cut off", "predict", "hears", "bare/test/01.wav", "cut.wav")
    program.put(cwd, "empty.wav", b"")
    refuses(3, "empty.wav: found 0 bytes that are no sound, expected WAV, FLAC, OGG or AIFF", "predict", "hears", "empty.wav")
    refuses(3, "found: none.wav: cannot open: No such file or directory\n", "predict", "hears", "none.wav")
    os.rename(made + ".away", made)
    path = os.path.join(made, "train", "transcripts.txt")
    with open(path, encoding="utf-8") as file:
        texts = file.read()
    program.put(made, "train/transcripts.txt", texts.replace("'", "").encode())
    code, _, err = program.call("resume", "hears", "steps=10", "data.changed=accept", cwd=cwd)
    checks.same(code, 0, f"fewer letters in the texts than in the alphabet: {err}")
    program.put(made, "train/transcripts.txt", texts.replace("'", "-").encode())
    refuses(3, "03.wav: found the character '-', which the alphabet of the run lacks", "resume", "hears", "steps=12")
    program.put(made, "train/transcripts.txt", texts.encode())
    program.put(cwd, "hears/alphabet.txt", b"a\nc\n")
    refuses(3, "alphabet.txt: found other characters", "predict", "hears", "cut.wav")
    program.train("model=cnn-s", "data=glyphs", "steps=1", "model.width=0.25", "batch=4", "data.limit=8",
                  "data.test_limit=4", cwd=cwd, run="sees")
    refuses(3, "cut.wav: offset 0: found byte 0x52, expected a JPEG, PNG or WebP file", "predict", "sees", "cut.wav")
    refuses(2, "task classify needs a field 'image'", "predict", "sees", f"data=speech:{made}")


def short_samples_are_left_out(checks, cwd):
    """Two frames of sound for three letters: no path, no loss, and a count."""
    made = folder(cwd)
    path = os.path.join(made, "test", "01.wav")
    with open(path, "rb") as file:
        whole = file.read()
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 240))
    other = trained(cwd, "short", "precision=fp32", "threads=1", "steps=1")
    checks.same(other["test_ctc_impossible"], 1.0, "impossible samples")
    _, _, err = program.call("eval", "short", cwd=cwd)
    checks.that("note: 1 of 4 test sounds are too short for what is said in them, and are left out of the loss" in err and
                "training sounds" not in err, f"and eval says so: {err}")
    _, _, err = program.call("eval", "short", "data.frames=60", cwd=cwd)
    checks.that("cut" not in err, f"no sound is longer: {err}")
    code, _, err = program.call("train", f"data=speech:{made}", *WORDS, "steps=1", "data.frames=20", "run.dir=cut", cwd=cwd)
    checks.that(code == 0 and "note: 10 of 12 training sounds are longer than a sample (data.frames), and are cut" in err,
                f"long sounds: {err}")
    with open(path, "wb") as file:
        file.write(whole)


def a_batch_without_a_path_changes_nothing(checks, cwd):
    """All samples too short: loss 0 and gradient 0, no NaN, and the weights stay."""
    for half in ("train", "test"):
        for k in range(4):
            os.makedirs(f"{cwd}/none/{half}", exist_ok=True)
            with wave.open(f"{cwd}/none/{half}/{k}.wav", "wb") as file:
                file.setparams((1, 2, 8000, 0, "NONE", ""))
                file.writeframes(bytes(range(240)) * 2)
        program.put(cwd, f"none/{half}/transcripts.txt", b"".join(b"%d\tseven\n" % k for k in range(4)))
    words = ["data=speech:none", *WORDS, "optimizer.weight_decay=0", "run.log_every=1", "threads=1"]
    for precision in ("fp32", "hfp8", "bf16"):
        made = program.train(*words, "steps=2", f"precision={precision}", cwd=cwd, run=f"none-{precision}")
        start = program.train(*words, "steps=1", f"precision={precision}", cwd=cwd, run=f"begun-{precision}")
        checks.same(made["weights_hash"], start["weights_hash"], f"{precision}: weights")
        checks.same([(row["loss"], row["gradient_norm"], row["skipped"]) for row in program.rows(cwd, f"none-{precision}")],
                    [((0.0).hex(), (0.0).hex(), "0")] * 2, f"{precision}: loss, norm, skipped")
        checks.same(made["test_ctc_impossible"], 4.0, f"{precision}: counted")


def refusals(checks, cwd):
    made = folder(cwd)

    def refuses(code, word, *words):
        found, _, err = program.call("train", *words, "steps=1", cwd=cwd)
        checks.same(found, code, f"{words}: exit code")
        checks.that(word in err, f"{words}: no '{word}' in {err!r}")
    refuses(2, "it can be chosen of speech:DIR and sounds:DIR only", "model=cnn-s", "data=glyphs", "data.frames=7")
    refuses(2, "needs a field 'features'", "model=ds2-s", "data=glyphs")
    sound(os.path.join(made, "train", "03.wav"), "")
    refuses(3, "03.wav: found a sound of no length, expected at least a moment", "model=ds2-s", f"data=speech:{made}")
    program.put(made, "train/03.wav", riff(3, 1, 8000, 32, struct.pack("<2f", 0, math.nan)))
    refuses(3, "03.wav: moment 1: found nan, expected a finite number", "model=ds2-s", f"data=speech:{made}")
    program.put(made, "train/transcripts.txt", b"00\tab\n")
    refuses(3, "transcripts.txt: found no line for 01.wav", "model=ds2-s", f"data=speech:{made}")
    os.remove(os.path.join(made, "train", "transcripts.txt"))
    refuses(3, "found 00.wav and no transcripts.txt", "model=ds2-s", f"data=speech:{made}")


program.main(bits_are_equal, runs_go_on, it_learns, the_recipe_is_that_of_the_notes, files_are_heard, short_samples_are_left_out, a_batch_without_a_path_changes_nothing,
             published_networks_by_keys, refusals)
