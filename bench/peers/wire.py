#!/usr/bin/env python3
"""Communication hooks of DistributedDataParallel over gloo: bytes on the wire, and the time of reducing a gradient.

usage: bench/peers/wire.py [PROCESSES] [MODEL] [LINK] [ROUNDS]      usual: 2 resnet18 none 11

LINK: none, 1gbit, 100mbit, ...: root alone. Each process has a network namespace with an interface of its own on a
bridge; LINK is the rate of each interface in both directions (tbf), none is no limit. Bytes are those that the
kernel has sent on the interfaces.

Needs the Python package, torch and torchvision. The gradient has the shapes of MODEL's parameters, and gradients that
differ from process to process; buckets have 25 MB, for powerSGD_hook all. A round reduces once by each hook in turn;
the time is that of the slowest process, less that of a hook that does nothing. MODEL `collectives` are gloo's
collectives beside the same messages step by step, as the hook sends them. docs/results/pytorch.md has what came of it.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import torch
import torch.distributed as dist
import torchvision
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import halfulp.torch as ht

NETWORK = "10.78.0"


class Given(torch.nn.Module):
    """The parameters of a network, whose gradients are given; all begin as zeros."""

    def __init__(self, model, rank):
        super().__init__()
        torch.manual_seed(rank)
        shapes = [p.shape for p in getattr(torchvision.models, model)(weights=None).parameters()]
        self.parts = torch.nn.ParameterList([torch.zeros(shape) for shape in shapes])
        self.given = [torch.randn(shape) * 2.0**-12 for shape in shapes]

    def forward(self):
        return sum((p * g).sum() for p, g in zip(self.parts, self.given))


def nothing(state, bucket):
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


def bf16(state, bucket):
    """PyTorch's hook; DDP refuses it by its name where there is no NCCL."""
    return default_hooks.bf16_compress_hook(state, bucket)


def ours(**settings):
    return lambda model: ht.ddp_hook(**settings).register(model)


def theirs(hook, state=lambda: None):
    return lambda model: model.register_comm_hook(state(), hook)


def power(rank):
    return lambda: powerSGD_hook.PowerSGDState(dist.group.WORLD, matrix_approximation_rank=rank, start_powerSGD_iter=2)


HOOKS = {
    "nothing": theirs(nothing),
    "allreduce_hook": theirs(default_hooks.allreduce_hook),
    "fp16_compress_hook": theirs(default_hooks.fp16_compress_hook),
    "bf16_compress_hook": theirs(bf16),
    "powerSGD_hook, rank 1": theirs(powerSGD_hook.powerSGD_hook, power(1)),
    "ddp_hook fp32": ours(format="fp32", scaling="none", feedback=False),
    "ddp_hook fp16 aps": ours(format="fp16", feedback=False),
    "ddp_hook e5m2 aps, no feedback": ours(format="e5m2", feedback=False),
    "ddp_hook e5m2 aps": ours(format="e5m2"),
    "ddp_hook e4m3fn aps2": ours(format="e4m3fn", scaling="aps2"),
    "ddp_hook e2m1 aps2": ours(format="e2m1", scaling="aps2"),
}


def bytes_of_interface():
    """Bytes that this process's interface has sent."""
    with open("/proc/net/dev", encoding="ascii") as file:
        rows = dict(line.split(":") for line in file.readlines()[2:])
    return sum(int(row.split()[8]) for name, row in rows.items() if name.strip() in ("wire", "lo"))


def steps(rank, world, parts, heard):
    """One peer to send to and one to hear at a time."""
    for s in range(1, world):
        to, of = (rank + s) % world, (rank - s) % world
        works = [dist.irecv(heard[of], of), dist.isend(parts[to], to)]
        for work in works:
            work.wait()


def collectives(rank, world, rounds):
    """A byte for each number of resnet18, up and down."""
    n = 11_700_000 // world
    rows, parts = torch.zeros(world, n, dtype=torch.uint8), torch.zeros(world, n, dtype=torch.uint8)
    sizes = [0 if w == rank else n for w in range(world)]
    others = (world - 1) * n
    heard, sent = rows.view(-1)[:others], parts.view(-1)[:others]
    kinds = {
        "all_to_all_single": lambda: dist.all_to_all_single(heard, sent, sizes, sizes),
        "the same step by step": lambda: steps(rank, world, parts, rows),
        "all_gather": lambda: dist.all_gather(list(rows), parts[0]),
        "that step by step": lambda: steps(rank, world, [parts[0]] * world, rows),
    }
    times = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, run_one in kinds.items():
            dist.barrier()
            begin = time.perf_counter()
            run_one()
            dist.barrier()
            times[name].append(time.perf_counter() - begin)
    if rank == 0:
        for name, of in times.items():
            print(f"{world} processes, {others / 1e6:.1f} MB from each: {name} {statistics.median(of) * 1e3:.0f} ms")


def worker(rank, world, model, rounds, folder):
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    if model == "collectives":
        return collectives(rank, world, rounds)
    module = Given(model, rank)
    models = {}
    for name, register in HOOKS.items():
        # powerSGD_hook sends from callbacks, whose order over gloo is not that of the others: one bucket.
        size = 4096 if name.startswith("powerSGD") else 25
        models[name] = DistributedDataParallel(Given(model, rank), gradient_as_bucket_view=True, bucket_cap_mb=size)
        register(models[name])
    times = {name: [] for name in HOOKS}
    counts = {name: 0 for name in HOOKS}
    for i in range(rounds + 3):  # buckets are rebuilt after the first, PowerSGD begins with the third
        for name, made in models.items():
            loss = made()
            dist.barrier()
            before, begin = bytes_of_interface(), time.perf_counter()
            loss.backward()
            seconds = torch.tensor(time.perf_counter() - begin)
            bytes_sent = torch.tensor(bytes_of_interface() - before, dtype=torch.int64)
            dist.all_reduce(seconds, dist.ReduceOp.MAX)
            dist.all_reduce(bytes_sent)
            if i >= 3:
                times[name].append(seconds.item())
                counts[name] = bytes_sent.item() / world
    if rank == 0:
        tell(times, counts, world, model, sum(p.numel() for p in module.parameters()))
    dist.barrier()
    dist.destroy_process_group()


def tell(times, counts, world, model, elements):
    print(f"{model}, {elements / 1e6:.1f} million numbers, {world} processes, {len(times['nothing'])} rounds")
    base = statistics.median(times["nothing"])
    rows = {name: [t - base for t in of] for name, of in times.items() if name != "nothing"}
    whole, plain = counts["allreduce_hook"], rows["allreduce_hook"]
    print("| hook | MB sent per process | of allreduce_hook's | time | of allreduce_hook's |")
    print("|---|---|---|---|---|")
    for name, of in rows.items():
        ratio = statistics.median(a / b for a, b in zip(of, plain))
        print(f"| `{name}` | {counts[name] / 1e6:.2f} | {counts[name] / whole:.3f} "
              f"| {statistics.median(of) * 1e3:.0f} ms | {ratio:.2f} |")


def run(*words):
    subprocess.run(words, check=True)


def namespace(rank):
    return f"halfulp-wire-{os.getpid()}-{rank}"


def open_network(world, link):
    bridge = f"hw{os.getpid()}"
    run("ip", "link", "add", bridge, "type", "bridge")
    run("ip", "link", "set", bridge, "up")
    for rank in range(world):
        outer, inside = f"{bridge}.{rank}", namespace(rank)
        run("ip", "netns", "add", inside)
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", "wire", "netns", inside)
        run("ip", "link", "set", outer, "master", bridge, "up")
        at = ["ip", "netns", "exec", inside]
        run(*at, "ip", "address", "add", f"{NETWORK}.{rank + 1}/24", "dev", "wire")
        run(*at, "ip", "link", "set", "wire", "up")
        run(*at, "ip", "link", "set", "lo", "up")
        limit = ["root", "tbf", "rate", link, "burst", "256kb", "latency", "100ms"]
        if link != "none":
            run(*at, "tc", "qdisc", "add", "dev", "wire", *limit)
            run("tc", "qdisc", "add", "dev", outer, *limit)


def close_network(world):
    for rank in range(world):
        subprocess.run(["ip", "netns", "del", namespace(rank)], check=False)
    subprocess.run(["ip", "link", "del", f"hw{os.getpid()}"], check=False)


def main():
    words = sys.argv[1:] + [None] * 4
    world, model, link, rounds = int(words[0] or 2), words[1] or "resnet18", words[2] or "none", int(words[3] or 11)
    with tempfile.TemporaryDirectory() as folder:
        try:
            open_network(world, link)
            begun = []
            for rank in range(world):
                inside = [sys.executable, __file__, "worker", str(rank), str(world), model, str(rounds), folder]
                environment = dict(os.environ, GLOO_SOCKET_IFNAME="wire", OMP_NUM_THREADS="1")
                begun.append(subprocess.Popen(["ip", "netns", "exec", namespace(rank), *inside], env=environment))
            codes = [process.wait() for process in begun]
            sys.exit(max(map(abs, codes)))
        finally:
            close_network(world)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        rank, world, model, rounds, folder = sys.argv[2:]
        worker(int(rank), int(world), model, int(rounds), folder)
    else:
        main()
