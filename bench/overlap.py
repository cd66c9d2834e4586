#!/usr/bin/env python3
"""How much of the time that gradients travel is hidden behind the backward pass.

Two hosts (network namespaces with a link of a chosen rate, see net.py) train ResNet-20 on drawn
glyphs, with and without comm.overlap. The rate is the one of several at which communication takes
nearest to half as long as a backward pass (2/3 of the time of a step without communication).

    sudo bench/overlap.py [HALFULP [RATE ...]]        build/halfulp unless said

Hidden is 1 - (exposed with overlap) / (seconds of communication without): exposed are the seconds in
which the training waited for its gradients, the other process's delays among them.
"""
import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import net

HALFULP = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else net.SOURCE / "build/halfulp")
HOSTS, STEPS = 2, 30
KEYS = ["model=resnet20", "data=glyphs", "data.limit=2048", "data.test_limit=16", "batch=128",
        f"steps={STEPS}", "threads=1", "run.quiet=on", "eval.every=0", "run.histogram_every=0",
        "run.checkpoint_every=0", "run.chunk=4", "comm.bucket=0.2"]


def train(folder, name, *more):
    agent = os.path.join(folder, "agent")
    Path(agent).write_text(net.AGENT, encoding="utf-8")
    os.chmod(agent, stat.S_IRWXU)
    words, environment = net.launcher("openmpi", HOSTS, agent)
    done = subprocess.run([*words, HALFULP, "train", *KEYS, *more, f"run.dir={folder}/{name}",
                           "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive", **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(more)}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    if os.geteuid() != 0:
        net.skip("only root may make network namespaces")
    print("rate | ms a step without, with overlap | communication ms | of backward | exposed ms | "
          "hidden")
    print("---|---|---|---|---|---")
    hashes = set()
    for rate in sys.argv[2:] or ("20mbit", "30mbit", "45mbit"):
        with net.Network(HOSTS, rate), tempfile.TemporaryDirectory() as folder:
            off, on = (train(folder, word, f"comm.overlap={word}") for word in ("off", "on"))
        hashes |= {off["weights_hash"], on["weights_hash"]}
        steps = [1000 * made["train_seconds"] / STEPS for made in (off, on)]
        alone = 1000 * off["comm_seconds"] / STEPS
        exposed = 1000 * on["comm_exposed_seconds"] / STEPS
        print(f"{rate} | {steps[0]:.0f}, {steps[1]:.0f} | {alone:.0f} | "
              f"{alone / (2 / 3 * (steps[0] - alone)):.2f} | {exposed:.0f} | "
              f"{100 * (1 - exposed / alone):.0f} %", flush=True)
    print(f"{'the same' if len(hashes) == 1 else 'OTHER'} weights in all of them")


if __name__ == "__main__":
    main()
