"""The networks of examples/networks: as many parameters as where they come from, and short trainings in three formats.

With a list of precisions as words it prints a table of what they do instead:

    HALFULP=build/halfulp python3 tests/program/example_networks_test.py --table
"""
import json
import os
import sys
import tempfile

import program

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "networks")
PRECISIONS = ["fp32", "hfp8", "mxfp8"]
ILSVRC = ["data.size=224", "data.classes=1000"]
STEPS = ["batch=4", "steps=3", "data.test_limit=4", "threads=2", "run.quiet=on", "run.log_every=1", "lr.warmup=0", "lr=0.01"]
PICTURES = ["data=folder:pictures", *STEPS]
TEXT = ["data=text:text", "data.length=16", *STEPS]
SMALL = ["model.layers=1", "model.hidden=32", "model.ff=64"]

# Keys of the count, parameters, where the number is from; keys of a short training.
NETWORKS = {
    "resnext50": (ILSVRC, 25_028_904, "torchvision", [*PICTURES, "data.size=32", "model.width=0.25"]),
    "wide-resnet50-2": (ILSVRC, 68_883_240, "torchvision", [*PICTURES, "data.size=32", "model.width=0.1"]),
    "vgg11-bn": (ILSVRC, 132_868_840, "torchvision", [*PICTURES, "data.size=32", "model.width=0.1"]),
    "densenet121": (ILSVRC, 7_978_856, "torchvision", [*PICTURES, "data.size=32", "model.width=0.25"]),
    "efficientnet-b0": (ILSVRC, 5_288_548, "torchvision", [*PICTURES, "data.size=32"]),
    "mobilenet-v3-small": (ILSVRC, 2_542_856, "torchvision", [*PICTURES, "data.size=32"]),
    "convnext-tiny": (ILSVRC, 28_589_128, "torchvision", [*PICTURES, "data.size=32", "model.width=0.1"]),
    "vit-b16": (ILSVRC, 86_567_656, "torchvision",
                [*PICTURES, "data.size=224", "batch=2", *SMALL, "model.heads=2"]),
    "mlp-mixer-s16": (ILSVRC, 18_528_264, "timm",
                      [*PICTURES, "data.size=224", "batch=2", *SMALL, "model.projection=32"]),
    "unet": (["data.size=64", "data.classes=2"], 31_037_698, "milesial/Pytorch-UNet",
             ["data=dense:maps", "data.size=16", *STEPS, "model.width=0.1"]),
    "gpt2": (["data.length=1024", "data.classes=50257"], 124_439_808, "Hugging Face",
             [*TEXT, *SMALL, "model.heads=2"]),
    "llama-tiny": (["data.length=64", "data.classes=7266"], None, "", [*TEXT, *SMALL, "model.heads=2"]),
    "m5": (["data.size=96", "data.classes=35"], 26_915, "torchaudio's tutorial",
           [*PICTURES, "data.size=96"]),
}


def path_of(name):
    return os.path.join(FOLDER, f"{name}.yaml")


def prepare(cwd):
    """Pictures of two classes, label maps and a text."""
    for half, count in (("train", 6), ("test", 2)):
        for k in range(count):
            for side, name in ((3, "left"), (5, "right")):
                program.write_png(f"{cwd}/pictures/{half}/{name}/{k}.png", 32, 32, 3,
                                  lambda x, y, c: (x * side + y * (k + 1) + 60 * c) % 256)
    program.write_maps(cwd, 16, 16)
    with open(os.path.join(cwd, "text"), "w", encoding="utf-8") as file:
        file.write("the quick brown fox jumps over the lazy dog, and back again.\n" * 40)


def parameters(name, cwd):
    code, out, err = program.call("plan", f"model={path_of(name)}", *NETWORKS[name][0], "batch=1", "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"plan {name}: exit {code}: {err}")
    return json.loads(out)["parameters"]


def trained(name, precision, cwd):
    """Losses of the steps."""
    run = f"{name}-{precision}"
    program.train(f"model={path_of(name)}", *NETWORKS[name][3], f"precision={precision}", "seed=1", run=run, cwd=cwd)
    return [float.fromhex(row["loss"]) for row in program.rows(cwd, run)]


def no_file_is_left_out(checks, _):
    files = sorted(name[:-5] for name in os.listdir(FOLDER) if name.endswith(".yaml"))
    checks.same(files, sorted(NETWORKS), "examples/networks")


def counts(checks, cwd):
    for name, (_, expected, _, _) in NETWORKS.items():
        found = parameters(name, cwd)
        if expected:
            checks.same(found, expected, f"{name}: parameters")


def trainings(checks, cwd):
    prepare(cwd)
    for name in NETWORKS:
        for precision in PRECISIONS:
            losses = trained(name, precision, cwd)
            checks.same(len(losses), 3, f"{name} in {precision}: steps")
            checks.that(all(0 < loss < 50 for loss in losses), f"{name} in {precision}: losses {losses}")


def table():
    with tempfile.TemporaryDirectory() as cwd:
        prepare(cwd)
        print("| network | parameters | as in | " + " | ".join(PRECISIONS) + " |")
        print("|---|---|---|" + "---|" * len(PRECISIONS))
        for name, (_, expected, source, _) in NETWORKS.items():
            count = parameters(name, cwd)
            says = f"{source}: equal" if count == expected else source
            cells = [" ".join(f"{loss:.3f}" for loss in trained(name, p, cwd)) for p in PRECISIONS]
            print(f"| {name} | {count:,} | {says} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        table()
    else:
        program.main(no_file_is_left_out, counts, trainings)
