#!/usr/bin/env python3
"""halfulp beside PyTorch and its emulators, in one run: rounding, a training step of ResNet-20, and steps of networks.

    bench/peers/peers.py [--halfulp=build/halfulp] [--venv=build/peers] [--turns=5] [--threads=1,2] [--parts=round,step,networks]
                         [--package=DIR] [--mptorch=DIR] [--microxcaling=DIR] [--json]

Makes a virtual environment of its own and installs torch, qtorch, torchao, gfloat and ml_dtypes there, each by itself;
says which did not install and goes on without it. MPTorch and microxcaling are no packages: name a folder of their
sources. All contestants take turns; the best turn of each counts, and ratios are of one run. Prints the versions, the
processor, and how many times as long as halfulp each takes.

qtorch compiles its C++ without any -O flag at first use; "-O3" is the same with a compiler that is told so. A step of
qtorch: a Quantizer behind every convolution, batch norm with relu, block and linear layer; OptimLP with rounded weights
and float32 masters (it cannot express a bias of the exponent, so that formats are 4/3 forward, 5/2 back, 6/9 for
gradients of weights, as hfp8 but for the bias). microxcaling: inject_pyt_ops with mxfp8, beside halfulp's mxfp8.

networks: float32 steps of eight networks in torch, eager and compiled (step.py), beside halfulp in float32 and hfp8, by
its own order of sums, in float32 by products=auto and in hfp8 by products=winograd. It takes an hour: --models=NAMES shortens it, and it is left out if --parts
does not name it.

--package names the folder that has halfulp's Python package (which needs cffi and safetensors in the environment), for
two turns more: the module in torch, every tensor rounded by ht.apply, and the module captured and trained by hu.Trainer.
"""
import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PACKAGES = ("torch", "qtorch", "torchao", "gfloat", "ml_dtypes")
MIB = 1048576
BATCH, STEPS, WARM_UP = 128, 3, 1


def option(name, usual):
    found = [word.split("=", 1)[1] for word in sys.argv if word.startswith(f"--{name}=")]
    return found[-1] if found else usual


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- the environment ----

def environment():
    """The Python of the virtual environment, and versions of what installed there."""
    folder = os.path.abspath(option("venv", os.path.join(ROOT, "build", "peers")))
    python = os.path.join(folder, "bin", "python3")
    if not os.path.exists(python):
        say(f"making {folder}")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    versions = {}
    for package in PACKAGES:
        shown = subprocess.run([python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if shown.returncode != 0:
            say(f"installing {package}")
            done = subprocess.run([python, "-m", "pip", "install", "-q", package, "ninja", "setuptools", "numpy"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode != 0:
                say(f"SKIPPED: {package} does not install: {done.stdout.strip().splitlines()[-1:]}")
                continue
            shown = subprocess.run([python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))"],
                                   stdout=subprocess.PIPE, text=True, check=True)
        versions[package] = shown.stdout.strip()
    return python, versions


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{len(lines)} x {lines[0]}" if lines else platform.processor()


# ---- rounding, in the environment's Python ----

class Halfulp:
    """Arrays by the C library."""

    def __init__(self, program):
        self.lib = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(program)), "libhalfulp.so"))
        self.lib.hu_quantized_bytes.restype = ctypes.c_size_t
        self.lib.hu_last_error.restype = ctypes.c_char_p

    def quantizer(self, text, line):
        handle = ctypes.c_void_p()
        if self.lib.hu_quantization_open(text.encode(), 0, ctypes.c_int64(line), ctypes.byref(handle)):
            raise SystemExit(self.lib.hu_last_error().decode())
        return handle

    def rounder(self, text, x, line):
        import numpy
        handle, y = self.quantizer(text, line), numpy.empty_like(x)
        key = (ctypes.c_uint64 * 3)(1, 2, 3)
        rows = ctypes.c_int64(x.size // line)
        return lambda: self.lib.hu_quantize(handle, rows, ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data),
                                            key, ctypes.c_uint64(0), None, None)

    def packer(self, text, x, line):
        import numpy
        handle, rows = self.quantizer(text, line), ctypes.c_int64(x.size // line)
        codes = numpy.empty(self.lib.hu_quantized_bytes(handle, rows) + 64, dtype=numpy.uint8)
        scale = (ctypes.c_int32 * 3)()
        return lambda: self.lib.hu_quantize_pack(handle, rows, ctypes.c_void_p(x.ctypes.data),
                                                 ctypes.c_void_p(codes.ctypes.data), None, ctypes.c_uint64(0), scale, None)


def contestants(size):
    """(row, name, function) of every way to round that is installed; the first of a row is halfulp's."""
    import numpy
    x = numpy.random.default_rng(1).standard_normal(size).astype(numpy.float32)
    own = Halfulp(option("halfulp", os.path.join(ROOT, "build", "halfulp")))
    yield "e4m3, nearest", "halfulp", own.rounder("e4m3fn", x, size)
    yield "e4m3, stochastic", "halfulp", own.rounder("e4m3fn sr", x, size)
    yield "mxfp8, packed", "halfulp", own.packer("mxfp8", x, 1024)
    yield "nvfp4, packed", "halfulp", own.packer("nvfp4", x, 1024)
    try:
        import ml_dtypes
        yield "e4m3, nearest", "ml_dtypes, there and back", lambda: x.astype(ml_dtypes.float8_e4m3fn).astype(numpy.float32)
    except ImportError:
        pass
    try:
        import gfloat
        from gfloat.formats import format_info_ocp_e4m3
        yield "e4m3, nearest", "gfloat", lambda: gfloat.round_ndarray(format_info_ocp_e4m3, x)
    except ImportError:
        pass
    try:
        import torch
    except ImportError:
        return
    t = torch.from_numpy(x)
    yield "e4m3, nearest", "torch .to(), codes alone", lambda: t.to(torch.float8_e4m3fn)
    yield "e4m3, nearest", "torch, there and back", lambda: t.to(torch.float8_e4m3fn).to(torch.float32)
    try:
        from qtorch.quant import float_quantize
        yield "e4m3, nearest", "qtorch", lambda: float_quantize(t, 4, 3, "nearest")
        yield "e4m3, stochastic", "qtorch", lambda: float_quantize(t, 4, 3, "stochastic")
    except Exception as error:  # its C++ is compiled here: whatever goes wrong
        say(f"SKIPPED: qtorch: {str(error).splitlines()[:1]}")
    try:
        from torchao.prototype.mx_formats.mx_tensor import to_mx
        rows = t.reshape(-1, 1024)
        yield "mxfp8, packed", "torchao to_mx", lambda: to_mx(rows, torch.float8_e4m3fn, 32)
    except Exception as error:
        say(f"SKIPPED: torchao to_mx: {str(error).splitlines()[:1]}")
    try:
        from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize
        rows = t.reshape(-1, 1024)
        yield "nvfp4, packed", "torchao nvfp4_quantize", lambda: nvfp4_quantize(rows)
    except Exception as error:
        say(f"SKIPPED: torchao nvfp4: {str(error).splitlines()[:1]}")
    if option("microxcaling", ""):
        sys.path.insert(0, option("microxcaling", ""))
        from mx.mx_ops import quantize_mx_op
        from mx.specs import finalize_mx_specs
        specs = finalize_mx_specs({"scale_bits": 8, "block_size": 32, "shared_exp_method": "max", "custom_cuda": False,
                                   "round": "even"})
        rows = t.reshape(-1, 1024)
        yield "mxfp8, packed", "microxcaling, rounded", lambda: quantize_mx_op(rows, specs, elem_format="fp8_e4m3", axes=[-1])


def seconds_of(call, least=0.02):
    """Least of a few calls, of as many in a row as take a measurable time."""
    call()
    count, spent = 1, 0.0
    while True:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - begun
        if spent >= least or count >= 4096:
            return spent / count
        count *= 4


def round_turns():
    """In the environment's Python: JSON of the best seconds of every way, and of both sizes."""
    try:
        import torch
        torch.set_num_threads(1)
    except ImportError:
        pass
    made = []
    for size in (65536, 4194304):
        ways = list(contestants(size))
        best = [float("inf")] * len(ways)
        for _ in range(int(option("turns", "5"))):
            for i, (_, _, call) in enumerate(ways):
                best[i] = min(best[i], seconds_of(call))
        made += [{"elements": size, "row": row, "who": who, "seconds": best[i]} for i, (row, who, _) in enumerate(ways)]
    print(json.dumps(made))


# ---- steps ----

def qtorch_step():
    """A step of ResNet-20 in the environment's Python, one turn: JSON."""
    import torch
    from torch import nn
    from torch.nn import functional as F
    from qtorch import FloatingPoint
    from qtorch.optim import OptimLP
    from qtorch.quant import Quantizer, quantizer
    sys.path.insert(0, HERE)
    import step
    torch.set_num_threads(int(option("threads", "1")))
    forward, back, wide = FloatingPoint(4, 3), FloatingPoint(5, 2), FloatingPoint(6, 9)

    class Rounded(nn.Module):
        """A module with a rounding point behind it."""

        def __init__(self, inner):
            super().__init__()
            self.inner = inner
            self.quantizer = Quantizer(forward_number=forward, backward_number=back, forward_rounding="nearest",
                                       backward_rounding="nearest")

        def forward(self, x):
            return self.quantizer(self.inner(x))

    model = step.build("resnet20", 1)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, (nn.Conv2d, nn.BatchNorm2d, nn.Linear)) or type(child).__name__ == "Block":
                setattr(parent, name, Rounded(child))
    model = model.to(memory_format=torch.channels_last).train()
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    optimizer = OptimLP(sgd, weight_quant=quantizer(forward_number=forward, forward_rounding="nearest"),
                        grad_quant=quantizer(forward_number=wide, forward_rounding="nearest"))
    images = torch.randn(BATCH, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (BATCH,))

    def one():
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
    timed(one)


def torch_step(compiled):
    import torch
    sys.path.insert(0, HERE)
    import step
    torch.set_num_threads(int(option("threads", "1")))
    _, one = step.classification("resnet20", 1, BATCH)
    timed(torch.compile(one) if compiled else one)


def microxcaling_step():
    import torch
    sys.path.insert(0, option("microxcaling", ""))
    from mx.specs import finalize_mx_specs
    from mx import mx_mapping
    specs = finalize_mx_specs({"scale_bits": 8, "w_elem_format": "fp8_e4m3", "a_elem_format": "fp8_e4m3", "block_size": 32,
                               "bfloat": 16, "custom_cuda": False, "quantize_backprop": True})
    mx_mapping.inject_pyt_ops(specs)
    torch_step(False)


def apply_step(precision):
    """The step of torch with every tensor rounded by a plan."""
    import torch
    import halfulp.torch as ht
    sys.path.insert(0, HERE)
    import step
    torch.set_num_threads(int(option("threads", "1")))
    images = torch.randn(BATCH, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (BATCH,))
    net = ht.apply(step.build("resnet20", 1), precision, (images[:1],)).train()
    scaler = ht.LossScaler.from_plan(net.plan)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def one():
        optimizer.zero_grad()
        scaler.scale(net.loss(net(images), labels)).backward()
        scaler.step(optimizer)
    timed(one)


def captured_step(precision):
    """The step of the module that is captured, with batches of the caller's."""
    import numpy
    import torch
    import halfulp as hu
    import halfulp.torch as ht
    sys.path.insert(0, HERE)
    import step
    net = ht.capture(step.build("resnet20", 1), (torch.zeros(1, 3, 32, 32),))
    images = numpy.random.default_rng(0).standard_normal((BATCH, 32, 32, 3), numpy.float32)
    labels = numpy.arange(BATCH) % 10
    fields = [hu.Field("image", (32, 32, 3)), hu.Field("label", classes=10)]
    keys = dict(optimizer="sgd", lr_base=0.01, batch=BATCH, steps=1000, threads=int(option("threads", "1")))
    with hu.Trainer(net, hu.Dataset(fields, train=BATCH), precision=precision, **keys) as trainer:
        timed(lambda: trainer.step(images, labels))


def timed(one):
    best = float("inf")
    for i in range(WARM_UP + STEPS):
        begun = time.perf_counter()
        one()
        if i >= WARM_UP:
            best = min(best, time.perf_counter() - begun)
    print(json.dumps({"seconds": best}))


def run_child(words, more):
    """(stdout, largest resident bytes), or None and why."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(words, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env={**os.environ, **more})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        if child.returncode != 0:
            return None, err.read().decode(errors="replace").strip().splitlines()[-1:]
        out.seek(0)
        return out.read().decode(), usage.ru_maxrss * 1024


def wrapper(folder):
    """A C++ compiler that is told -O3."""
    path = os.path.join(folder, "c++-O3")
    with open(path, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nexec c++ -O3 "$@"\n')
    os.chmod(path, 0o755)
    return path


def own_words(precision, threads):
    program = os.path.abspath(option("halfulp", os.path.join(ROOT, "build", "halfulp")))
    return [program, "bench", "kernel=step", "model=resnet20", f"precision={precision}", f"threads={threads}", f"batch={BATCH}",
            f"repeat={STEPS}", "beside=none", "optimizer=sgd", "lr=0.01", "--json"]


def steps(python, versions, threads):
    """{who: (seconds, bytes)}: the best of alternating turns."""
    extensions = os.path.join(os.path.dirname(os.path.dirname(python)), "extensions")
    os.makedirs(extensions, exist_ok=True)
    whole = [python, os.path.abspath(__file__), f"--threads={threads}", *(w for w in sys.argv[1:] if "=" in w and "threads" not in w)]
    ways = {"halfulp hfp8": (own_words("hfp8", threads), {}), "halfulp fp32": (own_words("fp32", threads), {}),
            "halfulp mxfp8": (own_words("mxfp8", threads), {})}
    if "torch" in versions:
        ways["torch float32, eager"] = ([*whole, "--turn=torch"], {})
    if "qtorch" in versions:
        ways["qtorch, as shipped"] = ([*whole, "--turn=qtorch"], {"TORCH_EXTENSIONS_DIR": os.path.join(extensions, "plain")})
        ways["qtorch, -O3"] = ([*whole, "--turn=qtorch"], {"TORCH_EXTENSIONS_DIR": os.path.join(extensions, "o3"),
                                                           "CXX": wrapper(extensions)})
    if option("package", ""):
        found = {"PYTHONPATH": os.path.abspath(option("package", ""))}
        for precision in ("hfp8", "mxfp8"):
            for way, told in (("apply", "torch, rounded by ht.apply"), ("capture", "captured, by hu.Trainer")):
                ways[f"{told}, {precision}"] = ([*whole, f"--turn={way}:{precision}"], found)
    if option("microxcaling", ""):
        ways["microxcaling mxfp8"] = ([*whole, "--turn=microxcaling"], {})
    else:
        say("SKIPPED: microxcaling: --microxcaling=DIR names no sources")
    if not option("mptorch", ""):
        say("SKIPPED: MPTorch: --mptorch=DIR names no sources")
    best = {}
    for turn in range(int(option("turns", "5"))):
        for who, (words, more) in list(ways.items()):
            text, peak = run_child(words, {"PATH": f"{os.path.dirname(python)}:{os.environ['PATH']}", **more})
            if text is None:
                say(f"SKIPPED: {who}: {peak}")
                del ways[who]
                continue
            made = json.loads(text)
            seconds = made["rows"][-1]["seconds_per_step"] if "rows" in made else made["seconds"]
            if "rows" in made:  # before it measures the machine, with large arrays
                peak = made["rows"][-1]["peak_rss_bytes"]
            say(f"threads={threads} turn {turn + 1} {who}: {seconds:.4f} s, {peak / MIB:.0f} MiB")
            old = best.get(who, (float("inf"), 0))
            best[who] = (min(seconds, old[0]), max(peak, old[1]))
    return best


def print_steps(best, threads):
    own = best["halfulp hfp8"]
    print(f"\nResNet-20, batch {BATCH}, a step, {threads} thread{'s' if threads > 1 else ''}; beside halfulp's hfp8\n")
    print("| | ms | times as long | MiB | times the memory |\n|---|---|---|---|---|")
    for who, (seconds, peak) in best.items():
        print(f"| {who} | {1e3 * seconds:.0f} | {seconds / own[0]:.2f} | {peak / MIB:.0f} | {peak / own[1]:.1f} |")


NETWORKS = "resnet20,squeezenet,mobilenet-v2,resnet18,transformer-lm-s,bert-tiny-s,deit-s,lstm-lm-s"


def networks(python):
    """Rows of step.py, or None."""
    program = os.path.abspath(option("halfulp", os.path.join(ROOT, "build", "halfulp")))
    words = [python, os.path.join(HERE, "step.py"), "--compiled", "--json", "--precisions=fp32,fp32+auto,hfp8,hfp8+winograd",
             f"--models={option('models', NETWORKS)}", f"--threads={option('threads', '1,2')}",
             f"--repeats={option('turns', '5')}", f"--program={program}"]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        say(f"SKIPPED: networks: exit code {done.returncode}")
        return None
    return json.loads(done.stdout)["rows"]


def print_networks(rows):
    print("\nSteps of networks: the better of torch eager and compiled / halfulp (above 1: halfulp is faster); compiled / eager; "
          "memory of hfp8 / torch\n")
    print("| | threads | compiled | fp32 | fp32, auto | hfp8 | hfp8, winograd | memory |\n|---|---|---|---|---|---|---|---|")
    found = {}
    for row in rows:
        found.setdefault((row["model"], row["batch"], row["threads"]), {})[row["precision"]] = row
    for (model, batch, threads), of in found.items():
        one = of["fp32"]
        cells = [one["compiled_seconds_per_step"] / one["eager_seconds_per_step"],
                 *(of[who]["speedup"] for who in ("fp32", "fp32+auto", "hfp8", "hfp8+winograd")), of["hfp8"]["rss_ratio"]]
        print(f"| {model} b{batch} | {threads} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")


def print_rounding(rows):
    print("\nRounding, one thread: how many times as long as halfulp, 65,536 numbers in cache; 4,194,304 in memory\n")
    print("| | | in cache | in memory |\n|---|---|---|---|")
    found = {}
    for row in rows:
        found.setdefault((row["row"], row["who"]), {})[row["elements"]] = row["seconds"]
    for (row, who), seconds in sorted(found.items(), key=lambda item: item[0][0]):
        own = found[row, "halfulp"]
        cells = [f"{seconds[n] / n * 1e9:.3f} ns" if who == "halfulp" else f"{seconds[n] / own[n]:.1f}" for n in sorted(seconds)]
        print(f"| {row} | {who} | {' | '.join(cells)} |")


def main():
    turn, _, precision = option("turn", "").partition(":")
    if turn:
        {"torch": lambda: torch_step(False), "qtorch": qtorch_step, "microxcaling": microxcaling_step,
         "apply": lambda: apply_step(precision), "capture": lambda: captured_step(precision),
         "round": round_turns}[turn]()
        return
    python, versions = environment()
    parts = option("parts", "round,step").split(",")
    made = {"processor": processor(), "versions": versions}
    print(f"{made['processor']}; {', '.join(f'{k} {v}' for k, v in versions.items())}; best of {option('turns', '5')} alternating turns")
    if "round" in parts:
        words = [python, os.path.abspath(__file__), "--turn=round", *(w for w in sys.argv[1:] if "=" in w)]
        text, why = run_child(words, {"PATH": f"{os.path.dirname(python)}:{os.environ['PATH']}"})
        if text is None:
            say(f"SKIPPED: rounding: {why}")
        else:
            made["rounding"] = json.loads(text.strip().splitlines()[-1])
            print_rounding(made["rounding"])
    for threads in map(int, option("threads", "1,2").split(",")) if "step" in parts else ():
        best = steps(python, versions, threads)
        made[f"steps_{threads}"] = best
        print_steps(best, threads)
    if "networks" in parts:
        made["networks"] = networks(python)
        print_networks(made["networks"] or [])
    if "--json" in sys.argv:
        print(json.dumps(made))


if __name__ == "__main__":
    main()
