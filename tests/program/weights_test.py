"""Weights out of a run and into one: export, init=, predict."""
import csv
import importlib.util
import json
import math
import os
import shlex
import shutil
import struct
import subprocess
import wave

import program
from safetensors_files import export, floats, read_file, refused, write_file

KEYS = ["model=cnn-s", "model.width=0.25", "quiet=on", *program.TINY]


def names_shapes_layouts(checks, cwd):
    whole = program.train(*KEYS, "steps=3", cwd=cwd)
    refused(checks, cwd, 2, "found the ending .pt", ".safetensors", words=["export", "run", "out=w.pt"])
    refused(checks, cwd, 2, "found the ending .onnx", "torch.onnx.export", words=["export", "run", "out=w.onnx"])
    refused(checks, cwd, 2, "format=onnx: export writes safetensors", words=["export", "run", "format=onnx"])
    made = export("run", cwd=cwd)
    checks.same(made["file"], "run/weights.safetensors", "where the weights go")
    checks.same((made["step"], made["weights_hash"]), (3, whole["weights_hash"]), "what they are")
    metadata, torch = read_file(f"{cwd}/{made['file']}")
    checks.same((metadata["layout"], metadata["weights"], metadata["model"], metadata["step"],
                 metadata["format"]), ("torch", "master", "cnn-s", "3", "pt"), "metadata")
    checks.same(made["bytes"], os.path.getsize(f"{cwd}/{made['file']}"), "bytes")
    checks.same(len(torch), made["tensors"], "tensors")
    checks.same({name: tensor[1] for name, tensor in torch.items() if name[-1] != "r"
                 and not name.startswith("bn")},
                {"conv1.weight": [4, 3, 3, 3], "conv2.weight": [8, 4, 3, 3],
                 "conv3.weight": [16, 8, 3, 3], "fc.weight": [10, 16], "fc.bias": [10]}, "shapes")
    checks.same([name for name in torch if name.startswith("bn2")],
                ["bn2.weight", "bn2.bias", "bn2.running_mean", "bn2.running_var"], "batch norm")
    export("run", "layout=halfulp", "out=ours.safetensors", cwd=cwd)
    metadata, ours = read_file(f"{cwd}/ours.safetensors")
    checks.same((metadata["layout"], "format" in metadata), ("halfulp", False), "metadata of ours")
    checks.same(ours["conv1.weight"][1], [4, 3, 3, 3], "shape of ours")
    checks.same(ours["conv2.weight"][1], [8, 3, 3, 4], "shape of ours")
    for name in ("conv2.weight", "conv3.weight"):
        o, c, h, w = torch[name][1]
        a, b = floats(torch[name]), floats(ours[name])
        same = all(a[((i * c + j) * h + k) * w + m] == b[((i * h + k) * w + m) * c + j]
                   for i in range(o) for j in range(c) for k in range(h) for m in range(w))
        checks.that(same and len(set(a)) > 100, f"{name}: the two layouts hold the same numbers")
    for name in set(torch) - {"conv1.weight", "conv2.weight", "conv3.weight"}:
        checks.same(torch[name], ours[name], name)
    for path in (made["file"], "ours.safetensors"):
        again = program.train(*KEYS, "steps=0", f"init={path}", cwd=cwd, run=f"from-{path[0]}")
        checks.same(again["weights_hash"], whole["weights_hash"], f"weights from {path}")
        checks.same(again["test_accuracy"], whole["test_accuracy"], f"statistics from {path}")
        export(f"from-{path[0]}", "out=again.safetensors", cwd=cwd)
        checks.same(read_file(f"{cwd}/again.safetensors")[1], torch, f"{path}, once round")


def rounded_weights(checks, cwd):
    program.train(*KEYS, "steps=2", "precision=e4m3", cwd=cwd)
    export("run", "out=master.safetensors", cwd=cwd)
    export("run", "out=rounded.safetensors", "weights=rounded", cwd=cwd)
    master = read_file(f"{cwd}/master.safetensors")[1]
    metadata, rounded = read_file(f"{cwd}/rounded.safetensors")
    checks.same(metadata["weights"], "rounded", "metadata")
    values = floats(rounded["conv2.weight"])
    checks.that(len(set(values)) < 200, "few different numbers are left")
    near = all(abs(a - b) <= max(abs(a) / 16, 2.0 ** -10)
               for a, b in zip(floats(master["conv2.weight"]), values))
    checks.that(near and values != floats(master["conv2.weight"]), "each beside its master")
    checks.same(rounded["bn1.running_mean"], master["bn1.running_mean"], "statistics stay")
    program.train(*KEYS, "steps=0", "precision=e4m3", "master=off", "init=master.safetensors",
                  cwd=cwd, run="nomaster")
    export("nomaster", "out=nomaster.safetensors", cwd=cwd)
    checks.same(read_file(f"{cwd}/nomaster.safetensors")[1], rounded,
                "master=off: weights live in their format from the start")


def c_numbers(cwd, name, coded):
    """The numbers of an array of w.h, as a program in C sees them."""
    number = f"hu_decode({name}[i], {name}_exp_bits, {name}_man_bits, {name}_bias)" if coded else f"{name}[i]"
    program.put(cwd, "w.c", f"""#include "w.h"
#include <stdio.h>
int main(void) {{
    for (size_t i = 0; i < sizeof {name} / sizeof *{name}; i++) printf("%a ", (double){number});
    printf("%d", (int){name}_shape[0]);
}}
""".encode())
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "w.c", "-o", "w", "-lm"], cwd=cwd, check=True)
    *numbers, rows = subprocess.run(["./w"], cwd=cwd, check=True, capture_output=True, text=True).stdout.split()
    return tuple(map(float.fromhex, numbers)), int(rows)


def reader():
    """What the Python of docs/how-to/weights.md defines."""
    root = os.environ.get("HALFULP_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    with open(os.path.join(root, "docs", "how-to", "weights.md"), encoding="utf-8") as file:
        script = file.read().split("\n```python\n")[1].split("\n```\n")[0]
    found = {}
    exec(compile(script, "docs/how-to/weights.md", "exec"), found)  # pylint: disable=exec-used
    return found


def read_in_python(checks, path, rounded, message):
    """The page's Python reads the numbers of weights=rounded: with NumPy where it is there, else its table of codes."""
    page, (metadata, found) = reader(), read_file(path)
    loaded = page["load"](path) if importlib.util.find_spec("numpy") else None
    for name, (dtype, shape, data) in found.items():
        if loaded:
            array = loaded[name]
            checks.same((array.tobytes(), list(array.shape), str(array.dtype)), (rounded[name][2], shape, "float32"),
                        f"{message}: {name} by docs/how-to/weights.md")
        elif dtype != "F32":
            table = page["numbers"](metadata[f"format:{name}"])
            width = "H" if dtype.endswith("16") else "B"
            numbers = [table[code] for code in struct.unpack(f"<{math.prod(shape)}{width}", data)]
            checks.same(struct.pack(f"<{len(numbers)}f", *numbers), rounded[name][2],
                        f"{message}: {name} by the table of docs/how-to/weights.md")


def every_code_in_python(checks, cwd):
    """numbers() of docs/how-to/weights.md gives what fmt --decode does, for every code of formats of every spelling."""
    names = [row["name"] for row in json.loads(program.call("fmt", "--list", "--json", cwd=cwd)[1])["formats"] if row["bits"] <= 16]
    spelled = ["e4m0", "e8m0", "1/5/2/d", "fp(5,2,0)", "fp(3,4,-2)", "fp(4,3,4):ovf=nan", "e3m3:bias=9", "e4m3:specials=fn",
               "e4m3:specials=fnuz", "e4m3:specials=fin", "e3m2:specials=ieee", "e2m3:bias=2", "e4m3fn:ovf=sat", "e4m3fnuz:bias=4",
               "e4m3b11fnuz:ovf=sat", "bf16:ovf=sat", "e1m6:bias=1:specials=fnuz:ovf=sat", "e2m5:specials=fin:nan=ovf"]
    checks.that(len(names) > 12, f"{len(names)} named formats")
    numbers = reader()["numbers"]
    for text in names + spelled:
        made = json.loads(program.call("fmt", text, "--json", cwd=cwd)[1])
        table, every = numbers(made["name"]), "\n".join(map(hex, range(made["codes"])))
        done = subprocess.run([program.HALFULP, "fmt", text, "--decode"], input=every, capture_output=True, text=True,
                              cwd=cwd, check=True)
        expected = [float(line) for line in done.stdout.split()]
        # Without subnormals nothing is written with some codes of the smallest exponent.
        least = made["min_normal"] if not made["subnormals"] else 0
        wrong = [code for code, (found, right) in enumerate(zip(table, expected)) if abs(found) >= least
                 and struct.pack("<f", found) != struct.pack("<f", right) and (found == found or right == right)]
        checks.same((len(table), wrong), (len(expected), []), f"{text}: codes that differ")
        scaled = numbers(f"{made['name']} 2^-3")
        checks.that(all(x == y / 8 or y != y for x, y in zip(scaled, table)), f"{text}: with a scale")


def codes(checks, cwd):
    """weights=codes holds what weights=rounded does, in the bits of each format, in safetensors, in Python and in C."""
    cases = (("e4m3fn", "F8_E4M3", "e4m3fn", 1), ("e5m2", "F8_E5M2", "e5m2", 1), ("fp16", "F16", "fp16", 2),
             ("bf16", "BF16", "bf16", 2), ("e4m3fnuz", "F8_E4M3FNUZ", "e4m3fnuz", 1), ("e3m2", "U8", "e3m2", 1),
             ("1/6/9", "U16", "1/6/9/d", 2), ("e4m3fn:scale=current", "U8", " 2^-", 1), ("hfp8", "U8", "fp(4,3,4)", 1),
             ("posit8", "U8", "posit8", 1), ("mxfp8", "F32", "mxfp8", 4))
    for k, (precision, dtype, text, width) in enumerate(cases):
        program.train(*KEYS, "steps=2", f"precision={precision}", cwd=cwd, run=f"run{k}")
        export(f"run{k}", "out=rounded.safetensors", "weights=rounded", cwd=cwd)
        made = export(f"run{k}", "out=codes.safetensors", "weights=codes", cwd=cwd)
        rounded = read_file(f"{cwd}/rounded.safetensors")[1]
        metadata, found = read_file(f"{cwd}/codes.safetensors")
        checks.same((metadata["weights"], found["conv2.weight"][0]), ("codes", dtype), f"{precision}: type")
        checks.that(text in metadata["format:conv2.weight"], f"{precision}: {metadata['format:conv2.weight']!r}")
        checks.same(len(found["conv2.weight"][2]), width * 8 * 4 * 9, f"{precision}: bytes")
        checks.same(made["coded"], sum(tensor[0] != "F32" for tensor in found.values()), f"{precision}: counted")
        checks.same({name: tensor[2] for name, tensor in found.items() if tensor[0] == "F32"},
                    {name: rounded[name][2] for name, tensor in found.items() if tensor[0] == "F32"}, precision)
        read_in_python(checks, f"{cwd}/codes.safetensors", rounded, precision)
        program.train(*KEYS, "steps=0", "init=codes.safetensors", cwd=cwd, run=f"again{k}")
        export(f"again{k}", "out=again.safetensors", cwd=cwd)
        checks.same(read_file(f"{cwd}/again.safetensors")[1], rounded, f"{precision}: read again")
        if precision in ("e4m3fn", "1/6/9", "e4m3fn:scale=current", "mxfp8", "posit8") and shutil.which("cc"):
            has_codes = precision not in ("mxfp8", "posit8")
            written = export(f"run{k}", "out=w.h", cwd=cwd)
            checks.same(c_numbers(cwd, "w_conv2_weight", has_codes),
                        (floats(rounded["conv2.weight"]), 8), f"{precision}: in C")
            checks.same(written["coded"] > 0, has_codes, f"{precision}: counted in C")
    _, good = read_file(f"{cwd}/codes.safetensors")
    good["fc.bias"] = ("U8", [10], bytes([255] * 10))
    train = ["train", *KEYS, "steps=0", "run.dir=bad", "init=bad.safetensors"]
    for text, code, says in ((None, 2, "found dtype U8"), ("e3m2", 3, "found code 255 at element 0"),
                             ("e3m9m", 2, "format:fc.bias"), ("e3m2 2^x", 2, "expected FORMAT or FORMAT 2^K")):
        write_file(f"{cwd}/bad.safetensors", good, {"format:fc.bias": text} if text else None)
        refused(checks, cwd, code, says, words=train)


def codes_of_a_run_without(checks, cwd):
    """A float32 run is told how its weights get 8 bits, by a command that does it."""
    program.train(*KEYS, "steps=2", cwd=cwd, run="my run")
    code, out, err = program.call("export", "my run", "weights=codes", "out=codes.safetensors", "--json", cwd=cwd)
    checks.same((code, json.loads(out)["coded"], err.count("\n")), (0, 0, 1), f"no codes: {err!r}")
    told = err[err.index("halfulp train"):].strip().replace("halfulp", shlex.quote(program.HALFULP)).split(", then ")
    for command in (f"{told[0]} quiet=on", f"{told[1]} out=codes.safetensors"):
        done = subprocess.run(["bash", "-c", command], cwd=cwd, capture_output=True, text=True, check=False)
        checks.same(done.returncode, 0, f"{command}: {done.stderr}")
    export("my run", "out=master.safetensors", cwd=cwd)
    masters, (_, found) = floats(read_file(f"{cwd}/master.safetensors")[1]["conv2.weight"]), read_file(f"{cwd}/codes.safetensors")
    rounded = subprocess.run([program.HALFULP, "fmt", "e4m3fn", "--encode"], input="\n".join(map(float.hex, masters)),
                             capture_output=True, text=True, check=True).stdout.split()
    checks.same((found["conv2.weight"][0], list(found["conv2.weight"][2])), ("F8_E4M3", [int(x, 16) for x in rounded]),
                "each number of the run, rounded")
    for words in (["out=w.safetensors"], ["out=w.h"], ["weights=rounded", "out=w.safetensors"]):
        checks.same(program.call("export", "my run", *words, cwd=cwd)[2], "", f"{words}: nothing to note")
    program.train(*KEYS, "steps=1", "precision=mxfp8", cwd=cwd, run="blocks")
    err = program.call("export", "blocks", "weights=codes", cwd=cwd)[2]
    checks.that("precision mxfp8 rounds no weight" in err, err)


def other_types(checks, cwd):
    program.train(*KEYS, "steps=1", cwd=cwd)
    export("run", "out=a.safetensors", cwd=cwd)
    _, tensors = read_file(f"{cwd}/a.safetensors")
    wide, half = dict(tensors), dict(tensors)
    for name, tensor in tensors.items():
        values = floats(tensor)
        wide[name] = ("F64", tensor[1], struct.pack(f"<{len(values)}d", *values))
        half[name] = ("F16", tensor[1], struct.pack(f"<{len(values)}e", *values))
    wide["bn1.num_batches_tracked"] = ("I64", [], bytes(8))
    del half["bn1.running_var"]
    write_file(f"{cwd}/wide.safetensors", wide)
    write_file(f"{cwd}/half.safetensors", half)
    for path in ("wide", "half"):
        program.train(*KEYS, "steps=0", f"init={path}.safetensors", cwd=cwd, run=path)
        export(path, f"out={path}.out", cwd=cwd)
    checks.same(read_file(f"{cwd}/wide.out")[1], tensors, "from float64")
    found = read_file(f"{cwd}/half.out")[1]
    for name, tensor in half.items():
        checks.same(floats(found[name]), struct.unpack(f"<{len(tensor[2]) // 2}e", tensor[2]),
                    f"{name} from float16")
    checks.same(set(floats(found["bn1.running_var"])), {1.0}, "statistics that are missing")


def what_does_not_fit(checks, cwd):
    program.train(*KEYS, "steps=0", cwd=cwd)
    export("run", "out=a.safetensors", cwd=cwd)
    _, good = read_file(f"{cwd}/a.safetensors")
    train = ["train", *KEYS, "steps=1", "run.dir=new", "init=b.safetensors"]

    def case(code, *says, metadata=None, **changes):
        tensors = {name: changes.get(name.replace(".", "_"), tensor)
                   for name, tensor in good.items()}
        tensors.update({name[4:].replace("_", "."): tensor for name, tensor in changes.items()
                        if name.startswith("new_")})
        write_file(f"{cwd}/b.safetensors", {n: t for n, t in tensors.items() if t}, metadata)
        refused(checks, cwd, code, *says, words=train)
        checks.that(not os.path.exists(f"{cwd}/new/config.resolved.yaml"), "no run was begun")

    bias = good["fc.bias"]
    case(2, "missing: 'fc.bias' (nearest: ", "unexpected: 'fc2.bias' (nearest: 'fc.bias'",
         fc_bias=None, new_fc2_bias=bias)
    case(2, "of another shape: 'fc.bias' found 2x5, expected 10", fc_bias=("F32", [2, 5], bias[2]))
    case(2, "of another shape: 'conv2.weight' found 8x4x3x3, expected 8x3x3x4",
         metadata={"layout": "halfulp"})
    case(2, "layout 'other'", metadata={"layout": "other"})
    case(2, "'fc.bias': found dtype I32", fc_bias=("I32", [10], bias[2]))
    case(4, "'fc.bias': found nan at element 3",
         fc_bias=("F32", [10], bias[2][:12] + struct.pack("<f", float("nan")) + bias[2][16:]))
    case(4, "'fc.bias': found inf", fc_bias=("F64", [10], struct.pack("<10d", *[1e300] * 10)))
    write_file(f"{cwd}/b.safetensors", {"x": bias})
    refused(checks, cwd, 2, "missing: ", " and 7 more", words=train)
    with open(f"{cwd}/b.safetensors", "wb") as file:
        file.write(bytes(8) + b"{}")
    refused(checks, cwd, 3, "b.safetensors: offset 8: ", words=train)
    refused(checks, cwd, 3, "none.safetensors", words=[*train[:-1], "init=none.safetensors"])
    refused(checks, cwd, 2, "init: found", words=[*train[:-1], "init="])
    refused(checks, cwd, 2, "eval.every", words=["export", "run", "eval.every=1"])
    refused(checks, cwd, 2, "out.layout", words=["export", "run", "layout=other"])
    refused(checks, cwd, 3, "missing/x", words=["export", "run", "out=missing/x"])


def a_run_keeps_its_start(checks, cwd):
    keys = [*KEYS, "run.checkpoint_every=1", "run.keep=9"]
    program.train(*KEYS, "seed=5", "steps=2", cwd=cwd, run="first")
    export("first", "out=a.safetensors", cwd=cwd)
    drawn = program.train(*keys, "steps=4", cwd=cwd, run="drawn")
    whole = program.train(*keys, "steps=4", "init=a.safetensors", cwd=cwd)
    checks.that(whole["weights_hash"] != drawn["weights_hash"], "init= makes a difference")
    program.copy_at(cwd, "run", "part", 2)
    os.rename(f"{cwd}/a.safetensors", f"{cwd}/b.safetensors")
    checks.same(program.resume("part", cwd=cwd)["weights_hash"], whole["weights_hash"],
                "resume without the file")
    refused(checks, cwd, 2, "model.init", "a.safetensors",
            words=["resume", "run", "init=b.safetensors"])
    refused(checks, cwd, 2, "model.init", "none", words=["resume", "drawn", "init=b.safetensors"])
    with open(f"{cwd}/run/config.resolved.yaml") as file:
        config = file.read()
    hashes = [line.split()[1] for line in config.splitlines() if "init_hash:" in line]
    checks.that(len(hashes) == 1 and len(hashes[0]) == 16, f"the hash is recorded: {hashes}")
    with open(f"{cwd}/part/config.resolved.yaml", "w") as file:
        file.write(config.replace(hashes[0], "0123456789abcdef"))
    refused(checks, cwd, 2, "init: found", "0123456789abcdef", hashes[0], words=["eval", "part"])
    shutil.copytree(f"{cwd}/run", f"{cwd}/early")
    shutil.rmtree(f"{cwd}/early/checkpoint")
    os.remove(f"{cwd}/early/result.json")  # it has not ended, then
    os.rename(f"{cwd}/b.safetensors", f"{cwd}/a.safetensors")
    checks.same(program.resume("early", cwd=cwd)["weights_hash"], whole["weights_hash"],
                "resume of a run that was stopped before its first checkpoint")
    again = ["train", "config=run/config.resolved.yaml", "run.dir=again", "--json"]
    code, out, _ = program.call(*again, cwd=cwd)
    checks.same((code, json.loads(out)["weights_hash"]), (0, whole["weights_hash"]),
                "the resolved configuration repeats the run")
    export("drawn", "out=a.safetensors", cwd=cwd)
    again[2] = "run.dir=other"
    refused(checks, cwd, 3, "a.safetensors: found weights of hash", hashes[0], words=again)


def predictions(checks, cwd):
    keys = [*KEYS[:-2], "data.limit=400", "data.test_limit=50", "lr=0.3", "threads=2"]
    whole = program.train(*keys, "model.width=0.5", "steps=120", cwd=cwd)
    code, out, err = program.call("predict", "run", "count=0", "--json", cwd=cwd)
    made = json.loads(out)
    checks.same((code, err, made["samples"]), (0, "", 50), "all samples")
    checks.same(made["accuracy"], whole["test_accuracy"], "accuracy as in the training")
    checks.that(0.2 < made["accuracy"] < 1.0, f"accuracy {made['accuracy']}")
    rows = made["predictions"]
    checks.same(sum(row["predicted"] == row["label"] for row in rows), made["correct"], "correct")
    checks.that(all(0.1 <= row["probability"] <= 1 for row in rows), "probabilities of the largest")
    loss = json.loads(program.call("eval", "run", "--json", cwd=cwd)[1])["test_loss"]
    checks.that(loss > 0 and len({row["probability"] for row in rows}) > 10, "probabilities differ")
    code, out, _ = program.call("predict", "run", cwd=cwd)
    lines = out.splitlines()
    checks.same((code, len(lines)), (0, 14), "ten rows, titles, a blank line and a summary")
    for line, row in zip(lines[2:12], rows):
        checks.same(line.split()[:4], [str(row["sample"]), str(row["label"]), str(row["predicted"]),
                                       f"{row['probability']:.4f}"], "a row of the table")
    checks.that("of 10 test samples of glyphs" in lines[-1], lines[-1])
    checks.same(lines[0].split(), ["sample", "label", "predicted", "probability", "verdict"], "titles")
    checks.same([line.split()[4] for line in lines[2:12]],
                ["right" if row["label"] == row["predicted"] else "wrong" for row in rows[:10]],
                "verdicts")
    code, out, err = program.call("predict", "run", "out=all.csv", cwd=cwd)
    with open(f"{cwd}/all.csv", newline="") as file:
        table = list(csv.DictReader(file))
    checks.same((code, len(table), out.count("\n")), (0, 50, 1), "all rows go into the file")
    checks.same(err, "wrote 50 rows to all.csv\n", "and stderr says so")
    checks.same([int(row["predicted"]) for row in table], [row["predicted"] for row in rows],
                "rows of the file")
    checks.same(json.loads(program.call("predict", "run", "count=7", "--json", cwd=cwd)[1])
                ["predictions"], rows[:7], "fewer samples")
    program.write_idx(f"{cwd}/idx", side=32)
    refused(checks, cwd, 2, "found 32x32x1, expected 32x32x3", words=["predict", "run", "data=idx:idx"])
    program.write_cifar(f"{cwd}/cifar")
    code, out, _ = program.call("predict", "run", "data=cifar10:cifar", "--json", cwd=cwd)
    checks.same((code, json.loads(out)["samples"]), (0, 10), "another data set")
    refused(checks, cwd, 2, "run.seed", words=["predict", "run", "seed=3"])


def predictions_in_other_precisions(checks, cwd):
    for i, words in enumerate((["precision=e4m3fn:scale=current"], ["precision=mxfp8"],
                               ["precision=1/6/9", "storage=dense", "optimizer.accumulate=2"])):
        program.train(*KEYS, "steps=2", *words, cwd=cwd, run=f"run{i}")
        code, out, err = program.call("predict", f"run{i}", "count=0", "--json", cwd=cwd)
        if not checks.same(code, 0, f"{words}: {err}"):
            continue
        found = json.loads(program.call("eval", f"run{i}", "--json", cwd=cwd)[1])["test_accuracy"]
        checks.same(json.loads(out)["accuracy"], found, f"{words}: accuracy of eval")


def order_of_the_data(checks, cwd):
    keys = [*KEYS, "data.augment=none", "steps=3", "data.limit=32"]
    rows = {}
    for shuffle in ("on", "off"):
        for seed in (1, 2):
            program.train(*keys, f"data.shuffle={shuffle}", "init=a.safetensors" if rows else "seed=1",
                          f"seed={seed}", "batch=8", cwd=cwd, run=f"{shuffle}{seed}")
            if not rows:
                export("on1", "out=a.safetensors", cwd=cwd)
            rows[shuffle, seed] = [row["loss"] for row in program.rows(cwd, f"{shuffle}{seed}")]
    checks.same(rows["off", 1], rows["off", 2], "data.shuffle=off: the seed does not matter")
    checks.that(rows["on", 2] != rows["off", 2], "data.shuffle=on: another order")


def small_data(cwd):
    """A little of every kind of data that is read from files: (name of its folder, words that train on it)."""
    for name in ("cat", "dog"):
        for k in range(4):
            program.put(cwd, f"pets/{name}/{k}.png", program.png(40, 32, [60 * k, 90, 30 * k]))
    text = "".join(f" = story {k} = \n\nthe cat sat on the mat .\nthe dog lay on the {k} mat .\n\n" for k in range(24))
    program.put(cwd, "text/all.txt", text.encode())
    for half in ("train", "test"):
        for language, lines in (("en", "the red dog\nan old cat\n"), ("fr", "le chien rouge\nun vieux chat\n")):
            program.put(cwd, f"two/{half}.{language}", (lines * 8).encode())
        os.makedirs(f"{cwd}/said/{half}")
        for k in range(3):
            with wave.open(f"{cwd}/said/{half}/{k}.wav", "wb") as file:
                file.setparams((1, 2, 8000, 0, "NONE", ""))
                file.writeframes(bytes((k * i * i) % 97 for i in range(8000)))
        program.put(cwd, f"said/{half}/transcripts.txt", b"0\tab\n1\tba\n2\taab\n")
    return [("pets", ["model=cnn-s", "data=folder:pets", "data.validation=0.25", "data.size=16"]),
            ("maps", ["model=dense-s", f"data=dense:{os.path.basename(program.write_maps(cwd))}", "model.width=0.25"]),
            ("boxes", ["model=ssd-s", f"data=boxes:{os.path.basename(program.write_boxes(cwd))}", "model.width=0.25"]),
            ("pictures", ["model=pan-s", f"data=pairs:{os.path.basename(program.write_pictures(cwd))}",
                          "data.scale=2", "data.crop=10"]),
            ("text", ["model=lstm-lm-s", "data=text:text/all.txt", "data.unit=word", "data.length=8",
                      "model.width=0.125"]),
            ("text", ["model=bert-tiny-s", "data=segments:text/all.txt", "data.length=23", "model.width=0.125"]),
            ("two", ["model=seq2seq-s", "data=parallel:two", "data.source=en", "data.target=fr", "data.length=9",
                     "model.hidden=16"]),
            ("said", ["model=ds2-s", "data=speech:said", "model.hidden=16"])]


def weights_outlive_their_data(checks, cwd):
    """A run's folder is enough for its weights, as trained and as rounded."""
    for k, (folder, words) in enumerate(small_data(cwd)):
        run = f"run{k}"
        program.train(*words, "batch=2", "steps=2", "precision=e4m3fn:scale=delayed", cwd=cwd, run=run)
        data = next(word for word in words if word.startswith("data="))
        export(run, data, "weights=rounded", "out=read.safetensors", cwd=cwd)
        os.rename(f"{cwd}/{folder}", f"{cwd}/elsewhere")
        refused(checks, cwd, 3, folder, words=["export", run, data])
        made = export(run, "weights=rounded", "out=unread.safetensors", cwd=cwd)
        checks.same(made["step"], 2, f"{words}: step")
        checks.same(read_file(f"{cwd}/unread.safetensors"), read_file(f"{cwd}/read.safetensors"), f"{words}: weights")
        if folder == "pets":
            code, out, err = program.call("predict", run, "elsewhere/cat/1.png", cwd=cwd)
            checks.that(code == 0 and " cat " in out and " dog " in out, f"classes have names: {out}{err}")
            with open(f"{cwd}/{run}/progress.jsonl", "r+", encoding="utf-8") as file:
                rows = file.read().replace('"train":6', '"train":4000000000')
                checks.that("4000000000" in rows, f"the count of samples: {rows[:600]}")
                file.seek(0)
                file.write(rows)
            limited = program.call("export", run, cwd=cwd, timeout=20)
            checks.same(limited[0], 0, f"what a folder tells of its samples costs nothing: {limited[2]}")
            os.remove(f"{cwd}/{run}/progress.jsonl")
            refused(checks, cwd, 3, "no file or folder 'pets'", words=["export", run])
        os.rename(f"{cwd}/elsewhere", f"{cwd}/{folder}")


program.main(names_shapes_layouts, weights_outlive_their_data, rounded_weights, codes, every_code_in_python,
             codes_of_a_run_without, other_types, what_does_not_fit, a_run_keeps_its_start, predictions, predictions_in_other_precisions,
             order_of_the_data)
