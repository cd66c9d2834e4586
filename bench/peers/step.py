#!/usr/bin/python3
"""The same training step in halfulp and in PyTorch, taking turns in one run.

Model, batch, size of the pictures and optimizer are the same: a network in the form for CIFAR
(32x32x3, 10 classes; `--width` is its width multiplier) or a small picture network (64x64x3), batch
128, cross entropy, SGD with momentum 0.9; or a small network with more than classes to say
(dense_models.py), with batch, losses and optimizer of its recipe; or a network for texts or speech
(sequence_models.py) on random tokens and sounds, with SGD; or a large one (large_models.py): resnet50 on pictures of 224
pixels, batch 32, which halfulp decodes from files while it trains, and gpt2 on one window of 1,024 tokens, from
examples/networks. The numbers of parameters must be equal. `--models all` takes all of them but the large ones, `--models
large` these. Faster-RCNN is left out: its form in torch (faster_rcnn.py)
goes picture by picture through numpy, and is no fair measure of time. PyTorch runs
in float32 with its best settings for this (channels_last, gradients set to None, multi-tensor SGD);
its batch lies ready in memory, while halfulp draws and normalises its own in every step, from noise
that this script writes (made_data.py) where its own drawn digits have another size. Every second turn
of torch with several threads tells its threads to wait as briefly as halfulp's do (GOMP_SPINCOUNT):
which of the two is faster depends on how busy the machine is. `--compiled` adds torch.compile (torch 2.2 or later, and
a C++ compiler), which takes turns as well: speedups are beside the better of both. A precision with +ORDER is
halfulp's with products=ORDER: auto (sums in whichever order is fastest, where formats allow it), winograd.

Every turn is a process of its own; the best step of all turns of a contestant counts, and the
largest resident memory that the system reports for a turn. Ratios: speedup = torch / halfulp
seconds, rss_ratio = halfulp / torch memory.

Networks of many matrix products need a fast BLAS beside torch to be a fair measure: Debian's takes any
libblas.so.3, and libopenblas0-pthread has a better one than libblas3, ten times as fast here.

Needs torch in the Python that runs this script (Debian: python3-torch and /usr/bin/python3); says
so and exits with 77 if it is missing.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import made_data

SKIPPED = 77
HERE = os.path.dirname(os.path.abspath(__file__))
WARM_UP = 2  # steps that do not count, as in `halfulp bench kernel=step`
STEPS = {"resnet20": 6, "resnet18": 2, "resnet50": 2, "gpt2": 2}  # others: 3
SMALL = ("squeezenet", "shufflenet-v2", "mobilenet-v2")  # of small_models.py
PICTURES = ("alexnet-s", "vgg16-s", "googlenet-s", "inception3-s", "preresnet50-s")  # of picture_models.py
TOKENS = ("deit-s", "deit-tiny")  # of token_models.py
SEQUENCES = {"transformer-lm-s": 16, "lstm-lm-s": 32, "biglstm-s": 32, "bert-tiny-s": 32, "seq2seq-s": 64,
             "ds2-s": 16}  # of sequence_models.py, and their batches
LARGE = {"resnet50": 32, "gpt2": 1}  # of large_models.py, and their batches
FILES = {"gpt2": os.path.join(HERE, "..", "..", "examples", "networks", "gpt2.yaml")}  # networks that are no built-in
WORDS = {"gpt2": ["data.length=1024", "data.classes=50257"]}  # data that halfulp makes up itself
DENSE = {"fcn-s": "maps", "pan-s": "pairs", "ssd-s": "boxes", "cvae-s": None, "dcgan-s": None}  # of dense_models.py
BATCHES = {"fcn-s": 8, "pan-s": 8, "ssd-s": 8, "cvae-s": 64, "dcgan-s": 64, **SEQUENCES, **LARGE}  # others: 128
CHANNELS = {"resnet20": ((16, 32, 64), 3), "resnet18": ((64, 128, 256, 512), 2)}
TORCH = ("torch", "compiled")
MIB = 1048576
RATE = 0.01  # small: networks that diverge would stop


def build(name, width):
    """The model in torch; ResNets: 3x3 stem, stages of basic blocks, global pooling, linear layer."""
    if name in SMALL:
        import small_models
        return small_models.MODELS[name](3, width, 10)
    if name in PICTURES:
        import picture_models
        return picture_models.MODELS[name](3, width, 10, picture_models.SIDE)
    if name in TOKENS:
        import token_models
        return token_models.MODELS[name](3, width, 10, 32)
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, fan_in, fan_out, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(fan_in, fan_out, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(fan_out)
            self.conv2 = nn.Conv2d(fan_out, fan_out, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(fan_out)
            self.shortcut = nn.Identity()
            if stride != 1 or fan_in != fan_out:
                self.shortcut = nn.Sequential(nn.Conv2d(fan_in, fan_out, 1, stride, bias=False),
                                              nn.BatchNorm2d(fan_out))

        def forward(self, x):
            y = F.relu(self.bn1(self.conv1(x)), inplace=True)
            y = self.bn2(self.conv2(y))
            return F.relu(y.add_(self.shortcut(x)), inplace=True)

    class ResNet(nn.Module):
        def __init__(self, channels, depth):
            super().__init__()
            self.conv1 = nn.Conv2d(3, channels[0], 3, 1, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(channels[0])
            blocks, fan_in = [], channels[0]
            for stage, fan_out in enumerate(channels):
                for i in range(depth):
                    blocks.append(Block(fan_in, fan_out, 2 if stage > 0 and i == 0 else 1))
                    fan_in = fan_out
            self.layers = nn.Sequential(*blocks)
            self.fc = nn.Linear(fan_in, 10)

        def forward(self, x):
            x = self.layers(F.relu(self.bn1(self.conv1(x)), inplace=True))
            return self.fc(x.mean((2, 3)))

    return ResNet(*CHANNELS[name])


def classification(name, width, batch):
    """The model, and a step of it on pictures of ten classes."""
    import torch
    import picture_models

    model = build(name, width).to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, foreach=True)
    side = picture_models.SIDE if name in PICTURES else 32
    images = torch.randn(batch, 3, side, side).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (batch,))

    def step():
        optimizer.zero_grad(set_to_none=True)
        picture_models.loss_of(model, images, labels).backward()
        optimizer.step()
    return model, step


def blas():
    """File that torch's products of matrices come from: Debian's torch takes the libblas.so.3 that is there."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        names = {os.path.basename(line.split()[-1]) for line in maps if "blas" in line}
    return ", ".join(sorted(names)) or "its own"


def torch_turn(name, width, threads, batch, steps, compiled):
    """One turn of torch, in this process: JSON on stdout."""
    import time

    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    if name in DENSE:
        import dense_models
        model, step = dense_models.training(name, batch)
    elif name in SEQUENCES:
        import sequence_models
        model, step = sequence_models.training(name, batch)
    elif name in LARGE:
        import large_models
        model, step = large_models.training(name, batch)
    else:
        model, step = classification(name, width, batch)
    if compiled:
        model.compile()
    best = float("inf")
    for i in range(WARM_UP + steps):
        start = time.perf_counter()
        step()
        if i >= WARM_UP:
            best = min(best, time.perf_counter() - start)
    parameters = sum(p.numel() for p in model.parameters())
    print(json.dumps({"seconds": best, "parameters": parameters, "blas": blas()}))


def run_child(words, **environment):
    """(stdout, largest resident bytes) of a process that must succeed."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(words, stdout=out, stdin=subprocess.DEVNULL,
                                 env={**os.environ, **environment})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: exit code {child.returncode}")
        out.seek(0)
        return out.read().decode(), usage.ru_maxrss * 1024


def batch_of(name, options):
    return options.batch or BATCHES.get(name, 128)


def data_of(name, options, folder):
    """Words that give halfulp pictures of the network's size; they are written into folder."""
    if name in WORDS:
        return WORDS[name]
    if name == "resnet50":
        return made_data.streamed(os.path.join(folder, name), 224, 1000)
    kind = "folder" if name in PICTURES else DENSE.get(name)
    if kind is None:
        return []  # the drawn digits have the size
    count = 2 * batch_of(name, options)
    return getattr(made_data, kind)(os.path.join(folder, f"{name}-{count}"), count)


def parameters_of(name, data, options):
    """What halfulp counts."""
    words = [options.program, "plan", f"model={FILES.get(name, name)}", f"model.width={options.width}",
             f"batch={batch_of(name, options)}", *data, "--json"]
    return json.loads(run_child(words)[0])["parameters"]


def take_turn(who, name, threads, data, options, turn):
    """{"seconds", "peak_rss_bytes"} of one turn of "torch", "compiled" or of a precision of halfulp."""
    steps = options.steps or STEPS.get(name, 3)
    if who in TORCH:
        words = [sys.executable, os.path.abspath(__file__), "--turn", name, str(options.width),
                 str(threads), str(batch_of(name, options)), str(steps), str(int(who == "compiled"))]
        more = {"OPENBLAS_NUM_THREADS": str(threads)}  # torch.set_num_threads does not reach it
        if turn % 2 and threads > 1:
            more["GOMP_SPINCOUNT"] = "10000"
        text, peak = run_child(words, **more)
        return {**json.loads(text), "peak_rss_bytes": peak}
    precision, _, order = who.partition("+")
    words = [options.program, "bench", "kernel=step", f"model={FILES.get(name, name)}",
             f"model.width={options.width}", f"precision={precision}",
             f"threads={threads}", f"batch={batch_of(name, options)}", f"repeat={steps}", "beside=none", "--json"]
    if name not in DENSE:  # these have the optimizers of their recipes
        words += ["optimizer=sgd", f"lr={RATE}", "optimizer.momentum=0.9", "optimizer.weight_decay=0",
                  "optimizer.clip_norm=0", "model.dropout=0"]
    if order:
        words.append(f"products={order}")
    words += data + options.key
    row = json.loads(run_child(words)[0])["rows"][-1]
    # That of the steps, as the program has it: how noisy the machine is it finds out afterwards, in larger blocks.
    return {"seconds": row["seconds_per_step"], "peak_rss_bytes": row["peak_rss_bytes"],
            "seconds_to_first_step": row["seconds_to_first_step"]}


def compare(name, threads, data, options):
    """Rows of one model and number of threads, one for each precision."""
    counted = parameters_of(name, data, options)
    torches = TORCH if options.compiled else TORCH[:1]
    everybody = [*torches, *options.precisions]
    turns = {who: [] for who in everybody}
    for turn in range(options.repeats):
        for who in everybody:
            turns[who].append(take_turn(who, name, threads, data, options, turn))
            if turns[who][-1].get("parameters", counted) != counted:
                raise SystemExit(f"{name}: {turns[who][-1]['parameters']} parameters in torch, "
                                 f"expected {counted} as in halfulp: not the same network")
            if not options.quiet:
                last = turns[who][-1]
                print(f"{name} threads={threads} turn {turn + 1}/{options.repeats} {who}: "
                      f"{last['seconds']:.4f} s/step, {last['peak_rss_bytes'] / MIB:.0f} MiB",
                      file=sys.stderr, flush=True)
    seconds = {who: min(t["seconds"] for t in turns[who]) for who in everybody}
    peak = {who: max(t["peak_rss_bytes"] for t in turns[who]) for who in everybody}
    best = min(torches, key=seconds.get)
    return [{"model": name, "threads": threads, "batch": batch_of(name, options), "precision": who,
             "seconds_per_step": seconds[who], "torch_seconds_per_step": seconds[best],
             "eager_seconds_per_step": seconds["torch"], "compiled_seconds_per_step": seconds.get("compiled"),
             "speedup": seconds[best] / seconds[who], "parameters": counted,
             "to_fp32": seconds[who] / seconds["fp32"] if "fp32" in seconds else None,
             "peak_rss_bytes": peak[who], "torch_peak_rss_bytes": peak[best],
             "rss_ratio": peak[who] / peak[best],
             "seconds_to_first_step": min(t["seconds_to_first_step"] for t in turns[who]),
             "torch_blas": turns["torch"][0]["blas"],
             "turns": [t["seconds"] for t in turns[who]],
             "torch_turns": [t["seconds"] for t in turns[best]]} for who in options.precisions]


def print_rows(rows):
    print(f"{'model':<14}{'threads':>8}  {'precision':<12}{'s/step':>9}{'torch':>9}{'speedup':>9}"
          f"{'to fp32':>9}{'MiB':>8}{'torch':>8}{'ratio':>8}{'first step':>12}")
    for row in rows:
        print(f"{row['model']:<14}{row['threads']:>8}  {row['precision']:<12}"
              f"{row['seconds_per_step']:>9.4f}{row['torch_seconds_per_step']:>9.4f}"
              f"{row['speedup']:>9.3f}{row['to_fp32'] or float('nan'):>9.3f}"
              f"{row['peak_rss_bytes'] / MIB:>8.0f}"
              f"{row['torch_peak_rss_bytes'] / MIB:>8.0f}{row['rss_ratio']:>8.3f}"
              f"{row['seconds_to_first_step']:>10.2f} s")
    turns = len(rows[0]["turns"])
    print(f"best of {turns} alternating turns, speedup = torch / halfulp, "
          f"ratio = halfulp / torch")


def torch_version():
    """Asked of another process: this one stays small, because a child's memory counts from its
    parent's."""
    done = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def parse():
    def names(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    program = os.environ.get("HALFULP", os.path.join(HERE, "..", "..", "build", "halfulp"))
    parser.add_argument("--models", type=names, default=["resnet20", "resnet18"])
    parser.add_argument("--threads", type=lambda text: [int(t) for t in names(text)],
                        default=[1, 2])
    parser.add_argument("--precisions", type=names, default=["fp32", "hfp8"])
    parser.add_argument("--repeats", type=int, default=5, help="turns of each (default 5)")
    parser.add_argument("--steps", type=int, default=0, help="steps of a turn that count")
    parser.add_argument("--width", type=float, default=1, help="of models other than ResNets")
    parser.add_argument("--batch", type=int, default=0, help="(default: 128, or the network's own)")
    parser.add_argument("--program", default=program, help="halfulp (default $HALFULP, build/)")
    parser.add_argument("--compiled", action="store_true", help="torch.compile takes turns, too")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="no line for each turn")
    parser.add_argument("key", nargs="*", help="more key=value words for halfulp")
    options = parser.parse_args()
    known = [*CHANNELS, *SMALL, *TOKENS, *PICTURES, *DENSE, *SEQUENCES]
    options.models = {"all": known, "large": [*LARGE]}.get(options.models[0], options.models)
    known += LARGE
    unknown = [m for m in options.models if m not in known]
    if unknown:
        parser.error(f"model {unknown[0]}: expected {' or '.join(known)}")
    if options.width != 1 and not set(options.models) <= {*SMALL, *TOKENS, *PICTURES}:
        parser.error("ResNets and the networks of dense_models.py, sequence_models.py and large_models.py have width 1 here")
    if options.repeats < 1 or options.steps < 0 or options.batch < 0 or min(options.threads) < 1:
        parser.error("repeats, batch and threads: expected at least 1")
    if not os.access(options.program, os.X_OK):
        parser.error(f"{options.program}: no program there; --program or HALFULP name it")
    return options


def main():
    if sys.argv[1:2] == ["--turn"]:
        torch_turn(sys.argv[2], float(sys.argv[3]), *map(int, sys.argv[4:]))
        return 0
    options = parse()
    version = torch_version()
    if version is None:
        print(f"skipped: {sys.executable} has no torch (Debian: apt-get install python3-torch, "
              "then run this with /usr/bin/python3)", file=sys.stderr)
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for name in options.models for data in [data_of(name, options, folder)]
                for threads in options.threads for row in compare(name, threads, data, options)]
    if options.json:
        print(json.dumps({"torch": version, "repeats": options.repeats, "rows": rows}, indent=1))
    else:
        print(f"torch {version}, BLAS: {rows[0]['torch_blas']}")
        print_rows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
