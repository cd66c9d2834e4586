"""A part of a file of weights: init.only, init.skip, init.strict, names with something in front, torchvision's names,
the folder of a run, and files of other programs."""
import json
import os
import pickle
import shutil
import struct
import zipfile

import program
from safetensors_files import export, read_file, refused, write_file

KEYS = ["model=cnn-s", "model.width=0.25", "quiet=on", *program.TINY]


def start(cwd, *words, run="new", keys=(*KEYS, "steps=0")):
    """(exit code, messages, tensors of a training that begins so)."""
    shutil.rmtree(f"{cwd}/{run}", ignore_errors=True)
    code, _, err = program.call("train", *keys, f"run.dir={run}", *words, cwd=cwd)
    if code != 0:
        return code, err, None
    export(run, f"out={run}.safetensors", cwd=cwd)
    return code, err, read_file(f"{cwd}/{run}.safetensors")[1]


def other_seed(cwd):
    """Tensors that were trained from another seed, also as a.safetensors, and those of seed 1 as drawn."""
    program.train(*KEYS, "seed=5", "steps=2", cwd=cwd, run="first")
    export("first", "out=a.safetensors", cwd=cwd)
    drawn = start(cwd, run="drawn")[2]
    return read_file(f"{cwd}/a.safetensors")[1], drawn


def is_part(checks, found, taken, drawn, chosen, what):
    checks.that(found and taken["fc.weight"] != drawn["fc.weight"] and taken["bn1.bias"] != drawn["bn1.bias"], what)
    checks.same(found, {name: (taken if chosen(name) else drawn)[name] for name in taken}, what)


def only_and_skip(checks, cwd):
    taken, drawn = other_seed(cwd)
    head = {name: ("F32", [4] + tensor[1][1:], tensor[2][:len(tensor[2]) // 10 * 4])
            if name.startswith("fc.") else tensor for name, tensor in taken.items()}
    write_file(f"{cwd}/four.safetensors", head)
    whole = start(cwd, "init=four.safetensors")
    checks.that(whole[0] == 2 and "of another shape: 'fc.weight' found 4x16, expected 10x16" in whole[1], whole[1])
    cases = ((["init.skip=fc.*"], lambda name: not name.startswith("fc.")),
             (["init.only=['conv?.*', 'bn1.*']"], lambda name: name.startswith(("conv", "bn1."))),
             (["init.strict=off"], lambda name: not name.startswith("fc.")))
    for words, chosen in cases:
        code, err, found = start(cwd, "init=four.safetensors", *words)
        if checks.same(code, 0, f"{words}: {err}"):
            is_part(checks, found, taken, drawn, chosen, f"{words}")
            count = sum(map(chosen, taken))
            checks.that(f"took {count} of {len(taken)} tensors from four.safetensors, the others start as drawn" in err,
                        f"{words}: {err}")
            checks.same("'fc.bias' found 4, expected 10" in err, words == ["init.strict=off"], f"{words}: {err}")
    del head["conv2.weight"]
    head["new.weight"] = head["fc.bias"]
    write_file(f"{cwd}/less.safetensors", head)
    code, err, found = start(cwd, "init=less.safetensors", "init.strict=off")
    is_part(checks, found, taken, drawn, lambda name: not name.startswith(("fc.", "conv2.")), "what is missing")
    checks.that("missing: 'conv2.weight'" in err and "unexpected: 'new.weight'" in err, err)
    skip = start(cwd, "init=less.safetensors", "init.skip=['fc.*', 'conv2.*', 'new.*']")
    checks.same((skip[0], skip[2]), (0, found), f"a pattern may name what the file alone has: {skip[1]}")
    code, err, found = start(cwd, "init=less.safetensors", "init.only=bn1.*")
    is_part(checks, found, taken, drawn, lambda name: name.startswith("bn1."), "the rest of the file is not looked at")


def a_part_is_kept(checks, cwd):
    """The hash is of what was taken: another seed draws the rest anew. A run keeps which part it took."""
    other_seed(cwd)
    words = ["init=a.safetensors", "init.skip=fc.*"]
    whole = program.train(*KEYS, "steps=2", *words, cwd=cwd)
    again = ["train", "config=run/config.resolved.yaml", "--json"]
    code, out, err = program.call(*again, "run.dir=again", cwd=cwd)
    checks.same((code, json.loads(out)["weights_hash"]), (0, whole["weights_hash"]), f"repeated: {err}")
    code, out, err = program.call(*again, "run.dir=seed", "seed=9", cwd=cwd)
    checks.that(code == 0 and json.loads(out)["weights_hash"] != whole["weights_hash"], f"another seed: {err}")
    program.train(*KEYS, "seed=7", "steps=1", cwd=cwd, run="else")
    export("else", "out=a.safetensors", cwd=cwd)
    refused(checks, cwd, 3, "found weights of hash", words=[*again, "run.dir=changed"])
    for other in ("init.skip=bn1.*", "init.only=fc.*", "init.strict=off"):
        refused(checks, cwd, 2, other.split("=")[0], "a run keeps", words=["resume", "run", "steps=4", other])
    checks.same(program.call("resume", "run", "steps=3", "init.skip=fc.*", "quiet=on", cwd=cwd)[0], 0, "the same part")


def names_with_something_in_front(checks, cwd):
    taken, drawn = other_seed(cwd)
    for front in ("module.", "_orig_mod.module.", "model.net."):
        write_file(f"{cwd}/b.safetensors", {front + name: tensor for name, tensor in taken.items()})
        code, err, found = start(cwd, "init=b.safetensors")
        checks.same((code, found), (0, taken), f"{front}: {err}")
        checks.that(f"b.safetensors has '{front}' in front of its names" in err, err)
        found = start(cwd, "init=b.safetensors", "init.skip=fc.*")[2]
        is_part(checks, found, taken, drawn, lambda name: not name.startswith("fc."), front)
        write_file(f"{cwd}/b.safetensors", {front + name: tensor for name, tensor in taken.items()
                                            if name != "bn2.bias"} | {front + "more.bias": taken["fc.bias"]})
        code, err, _ = start(cwd, "init=b.safetensors")
        checks.that(code == 2 and "missing: 'bn2.bias'" in err and f"unexpected: '{front}more.bias'" in err, err)


def names_of_torchvision(checks, cwd):
    """resnet18 as torchvision names it: downsample.0 and .1, and the counts of batches."""
    program.write_cifar(f"{cwd}/cifar")
    keys = ["model=resnet18", "model.width=0.125", "data=cifar10:cifar", "batch=2", "quiet=on", "steps=0"]
    taken = start(cwd, "seed=3", run="first", keys=keys)[2]
    there = {}
    for name, tensor in taken.items():
        name = name.replace("shortcut.conv", "downsample.0").replace("shortcut.bn", "downsample.1")
        there[name] = tensor
        if name.endswith("running_var"):
            there[name.replace("running_var", "num_batches_tracked")] = ("I64", [], struct.pack("<q", 7))
    checks.that("layer2.0.downsample.1.num_batches_tracked" in there, "names")
    write_file(f"{cwd}/tv.safetensors", there, {"format": "pt"})
    code, err, found = start(cwd, "init=tv.safetensors", keys=keys)
    checks.same((code, found), (0, taken), err)
    checks.that("tv.safetensors has the names of torchvision" in err, err)


def the_folder_of_a_run(checks, cwd):
    taken, drawn = other_seed(cwd)
    code, err, found = start(cwd, "init=first")
    checks.same((code, found), (0, taken), f"the newest checkpoint of a run: {err}")
    is_part(checks, start(cwd, "init=first", "init.skip=fc.*")[2], taken, drawn,
            lambda name: not name.startswith("fc."), "a part of it")
    os.mkdir(f"{cwd}/empty")
    refused(checks, cwd, 2, "empty: found a folder", words=["train", *KEYS, "init=empty"])


def what_cannot_be_meant(checks, cwd):
    other_seed(cwd)
    train = ["train", *KEYS, "steps=1", "run.dir=bad"]
    for words, says in ((["init=a.safetensors", "init.skip=fd.*"], ["init.skip[0]", "'fd.*'", "nearest: 'fc.bias'"]),
                        (["init=a.safetensors", "init.only=['bn1.*', 'block*']"], ["init.only[1]", "'block*'"]),
                        (["init=a.safetensors", "init.only=bn1.*", "init.skip=fc.*"], ["init.only and init.skip"]),
                        (["init=a.safetensors", "init.strict=perhaps"], ["init.strict", "'perhaps'"]),
                        (["init.skip=fc.*"], ["init.skip with init=none"]),
                        (["init=check", "init.strict=off"], ["init.strict=off with init=check"])):
        refused(checks, cwd, 2, *says, words=[*train, *words])
        checks.that(not os.path.exists(f"{cwd}/bad/config.resolved.yaml"), f"{words}: no run was begun")
    write_file(f"{cwd}/x.safetensors", {"x": ("F32", [1], bytes(4))})
    refused(checks, cwd, 2, "missing: 'conv1.weight'", "unexpected: 'x'",
            words=[*train, "init=x.safetensors", "init.strict=off"])


def files_of_other_programs(checks, cwd):
    with zipfile.ZipFile(f"{cwd}/my.pt", "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps({}))
    with zipfile.ZipFile(f"{cwd}/my.npz", "w") as file:
        file.writestr("a.npy", b"\x93NUMPY")
    program.put(cwd, "old.pth", b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19" + bytes(40))
    program.put(cwd, "net.onnx", b"\x08\x08\x12\x07pytorch\x1a\x052.1.0" + bytes(40))
    program.put(cwd, "net.h5", b"\x89HDF\r\n\x1a\n" + bytes(40))
    for name, says in (("my.pt", ["a file of PyTorch", "torch.load('my.pt'", "'my.safetensors'"]),
                       ("old.pth", ["a file of PyTorch", "torch.load('old.pth'", "'old.safetensors'"]),
                       ("my.npz", ["arrays of NumPy", "numpy.load('my.npz')"]),
                       ("net.onnx", ["a network of ONNX", "onnx.load('net.onnx')", "'net.safetensors'"]),
                       ("net.h5", ["a file of HDF5"])):
        refused(checks, cwd, 2, *says, "expected a safetensors file", words=["train", *KEYS, f"init={name}"])


program.main(only_and_skip, a_part_is_kept, names_with_something_in_front, names_of_torchvision, the_folder_of_a_run,
             what_cannot_be_meant, files_of_other_programs)
