"""init=check: the weights are a formula on names, and the run tells what others can compare."""
import json
import math
import pathlib
import struct

import program

GLYPHS = ["data=glyphs", "data.limit=64", "data.test_limit=16", "batch=16", "threads=1", "eval.every=0"]
MASK = 0xffffffff


def same(checks, what, found, expected):
    checks.same(found, expected, what)


def holds(checks, what, text, part):
    checks.that(part in text, f"{what}: not in {text[-300:]}")


def must(*words, cwd):
    code, out, err = program.call(*words, cwd=cwd)
    if code != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: exit {code}: {err}")
    return out


def word(name, index):
    """The definition, in plain integers."""
    x = 0x811C9DC5
    for byte in name.encode():
        x = (x ^ byte) * 0x01000193 & MASK
    x = x + index * 0x9E3779B9 & MASK
    x = (x ^ x >> 16) * 0x85EBCA6B & MASK
    x = (x ^ x >> 13) * 0xC2B2AE35 & MASK
    return x ^ x >> 16


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def element(name, shape, index, salt, norms):
    t = (word(salt + name, index) >> 8) * 2.0 ** -23 - 1
    if name in norms and name.endswith("weight"):
        return single(1 + t / 16)
    if len(shape) == 1:
        return t / 16
    fan = math.prod(shape[1:])
    return t * 2.0 ** -((fan.bit_length() - 1) // 2)


def read(path):
    """Names -> (shape, numbers) of a safetensors file."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, end = entry["data_offsets"]
        numbers = struct.unpack(f"<{(end - first) // 4}f", data[8 + size + first:8 + size + end])
        tensors[name] = (entry["shape"], numbers)
    return tensors


def known_words(checks, cwd):
    same(checks, "words", [hex(word("emb.weight", 0)), hex(word("emb.weight", 1))], ["0xc20eeb91", "0x53247cd4"])
    same(checks, "a number", (word("emb.weight", 0) >> 8) * 2.0 ** -23 - 1, 0.5160802602767944)


def weights(checks, cwd):
    """Groups, depthwise and 1x7 convolutions, norms, biases, linear layers on images: in torch's order."""
    cwd = pathlib.Path(cwd)
    for model, salt, more in (("cnn-s", "", []), ("shufflenet-v2", "a.", ["model.width=0.1"]),
                              ("inception3-s", "", ["data=folder"]), ("alexnet-s", "x", ["data=folder"]),
                              ("autoencoder", "", [])):
        folder, made = cwd / model, cwd / f"{model}.safetensors"
        words = [word for word in GLYPHS if not (more == ["data=folder"] and word == "data=glyphs")]
        if more == ["data=folder"]:
            more = [f"data=folder:{pictures(cwd)}"]
        must("train", f"model={model}", *words, *more, "steps=0",
                    f"init=check:{salt}" if salt else "init=check", f"run.dir={folder}", cwd=cwd)
        must("export", str(folder), f"out={made}", cwd=cwd)
        tensors = read(made)
        norms = {name.replace("running_mean", "weight") for name in tensors if name.endswith("running_mean")}
        for name, (shape, numbers) in tensors.items():
            if "running" in name:
                continue
            places = range(len(numbers)) if len(numbers) < 400 else range(0, len(numbers), len(numbers) // 97)
            expected = [element(name, shape, i, salt, norms) for i in places]
            same(checks, f"{model}: {name}", [numbers[i] for i in places], expected)


def pictures(cwd):
    """A folder of pictures of 64 pixels in two classes."""
    import zlib
    folder = cwd / "pictures"
    if folder.exists():
        return folder

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for half, count in (("train", 8), ("val", 4)):
        for label in range(2):
            (folder / half / f"class{label}").mkdir(parents=True)
            for k in range(count):
                rows = b"".join(b"\0" + bytes((x * (k + 1) + y * (label + 2) * 3 + c * 40) % 256
                                              for x in range(64) for c in range(3)) for y in range(64))
                (folder / half / f"class{label}" / f"{k}.png").write_bytes(
                    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0))
                    + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return folder


def told(cwd, *words):
    return json.loads(must("train", *GLYPHS, *words, "--json", cwd=cwd))


def runs_tell_losses_and_norms(checks, cwd):
    words = ["model=cnn-s", "init=check", "steps=4", "lr=0.1"]
    made = told(cwd, *words, "norms=on")
    same(checks, "losses", len(made["losses"]), 4)
    norms = made["first_gradient_norms"]
    total = math.sqrt(sum(norm * norm for norm in norms.values()))
    same(checks, "norm", abs(total / made["first_gradient_norm"] - 1) < 1e-12, True)
    same(checks, "names", {"conv1.weight", "bn3.bias", "fc.weight"} <= set(norms), True)
    again = told(cwd, *words, "threads=2", "storage=float32")
    same(checks, "again", again["losses"] + [again["first_gradient_norm"]],
                 made["losses"] + [made["first_gradient_norm"]])
    same(checks, "no norms unless asked", "first_gradient_norms" in again, False)
    salted = told(cwd, *words[:1], "init=check:7", *words[2:])
    same(checks, "another salt, another start", salted["losses"][0] != made["losses"][0], True)
    plain = told(cwd, "model=cnn-s", "steps=1")
    same(checks, "other runs tell nothing", [key in plain for key in ("losses", "first_gradient_norm")], [False] * 2)


def what_is_usual(checks, cwd):
    """Samples as they come, plain steps; keys that are given win."""
    cwd = pathlib.Path(cwd)
    folder = cwd / "usual"
    must("train", *GLYPHS, "model=cnn-s", "init=check", "steps=1", "optimizer.momentum=0.5", f"run.dir={folder}",
                cwd=cwd)
    resolved = (folder / "config.resolved.yaml").read_text()
    for line in ("shuffle: off", "momentum: 0.5", "weight_decay: 0", "schedule: constant", "dropout: 0"):
        holds(checks, line, resolved, line)


def norms_need_a_check(checks, cwd):
    code, _, err = program.call("train", *GLYPHS, "model=cnn-s", "steps=1", "norms=on", cwd=cwd)
    same(checks, "exit code", code, 2)
    holds(checks, "message", err, "run.norms=on without init=check")


program.main(known_words, weights, runs_tell_losses_and_norms, what_is_usual, norms_need_a_check)
