#!/usr/bin/env python3
"""What more cores would bring to a training step: a model, measured on one thread and held against two.

    bench/cores.py [--models resnet20,resnet18,transformer-lm-s] [--precision hfp8] [--batch N] [--threads 1,2,4,8,16]
                   [--repeats 3] [--halfulp build/halfulp]

A step is visits of chunks in parallel regions, and what lies between them (the rest: weights packed, gradients summed
and rounded, the update). Measured on one thread: seconds of each op in visits, and the rest (`bench step --json`); what
entering and leaving a region costs on two threads (a C program that is compiled here). From `plan --json`: layers,
multiply-adds, chunks, parameters. A layer's share of the time of products is that of its multiply-adds, a third of it
forward; of everything else in visits that of its output's elements, half of it forward.

On p threads C chunks take ceil(C / p) / C of the time that they take on one. Backward, the units are partial
gradients, of which a layer has 16, fewer (but 4) where they would take more than 64 MiB (planner/memory.c). The rest is
counted twice: as if one thread did all of it, and as if all shared it. Of these two bounds the first is what has to be
mended, and the step on two threads must lie between both. Regions are entered twice a layer that stores something.

Not in the model: cores that share a memory, a cache or a clock. The last column says what the model's fastest step would
ask of the memory: numbers that wait for the backward pass written once and read twice, parameters with their momentum and
gradient seven times. Compare it with the machine's.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PRODUCTS = ("conv2d", "conv1d", "linear")
PARTIALS, FEWEST, PARTIAL_BYTES = 16, 4, 64 << 20
REGION = r"""
#include <omp.h>
#include <stdio.h>
int main(void) {
    enum { TURNS = 20000 };
    double best = 1;
    volatile int sink[2];
    for (int k = 0; k < 20; k++) {
        double begun = omp_get_wtime();
        for (int i = 0; i < TURNS / 20; i++) {
#pragma omp parallel num_threads(2)
            sink[omp_get_thread_num()] = i;
        }
        double took = (omp_get_wtime() - begun) / (TURNS / 20);
        if (took < best) best = took;
    }
    printf("%.9f\n", best);
    return 0;
}
"""


def region_seconds():
    """A parallel region that does nothing, on two threads."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "region.c"), os.path.join(folder, "region")
        with open(source, "w", encoding="utf-8") as file:
            file.write(REGION)
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-fopenmp", "-o", program, source], check=True)
        return float(subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout)


def answer(options, *words):
    done = subprocess.run([options.halfulp, *words, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"halfulp {' '.join(words)}: exit code {done.returncode}")
    return json.loads(done.stdout)


def measure(options, words, threads):
    """The best row of several runs."""
    rows = [answer(options, "bench", "kernel=step", *words, f"threads={threads}", "repeat=3", "beside=none")["rows"][-1]
            for _ in range(options.repeats)]
    return min(rows, key=lambda row: row["seconds_per_step"])


class Step:
    """What a plan and a run on one thread say."""

    def __init__(self, plan, row):
        ops = dict(row["seconds_by_op"])
        self.rest = ops.pop("rest")
        self.products = sum(ops.get(op, 0.0) for op in PRODUCTS)
        self.others = sum(ops.values()) - self.products
        self.chunks = math.ceil(plan["batch"] / plan["chunk"])
        self.layers = plan["layers"]
        self.macs = sum(layer["macs"] or 0 for layer in self.layers if layer["op"] in PRODUCTS)
        self.elements = sum(math.prod(layer["output"]) for layer in self.layers)
        self.regions = 2 * sum(layer["output_is"] in ("saved", "transient") for layer in self.layers)
        stored = plan["memory_bytes"]
        self.traffic = 3 * stored["saved"]["packed"] + 7 * stored["masters"]["packed"]

    def partials(self, layer):
        size = 4 * (layer["parameters"] or 0)
        most = max(FEWEST, min(PARTIALS, PARTIAL_BYTES // size if size else PARTIALS))
        return math.ceil(self.chunks / math.ceil(self.chunks / most))

    def visits(self, threads, units_matter=True):
        """Seconds in visits; units_matter: parts that are not shared evenly cost what they cost."""
        def share(units):
            return math.ceil(units / threads) / units if units_matter else 1 / threads

        seconds = 0.0
        for layer in self.layers:
            product = self.products * (layer["macs"] or 0) / self.macs if layer["op"] in PRODUCTS else 0.0
            other = self.others * math.prod(layer["output"]) / self.elements
            seconds += (product / 3 + other / 2) * share(self.chunks)
            seconds += (2 * product / 3 + other / 2) * share(self.partials(layer))
        return seconds

    def bounds(self, threads, region):
        """(all of the rest on one thread, all of it shared)."""
        entered = self.regions * region * math.log2(threads) if threads > 1 else 0.0
        busy = self.visits(threads) + entered
        return busy + self.rest, busy + self.rest / threads


def report(name, step, two, options, region):
    one = step.bounds(1, region)[0]
    print(f"\n{name}, {options.precision}: {step.chunks} chunks, {step.regions} regions of {1e6 * region:.1f} us; one thread: "
          f"{one:.4f} s, of it products {step.products:.4f}, other visits {step.others:.4f}, the rest {step.rest:.4f}\n")
    print("| threads | rest on one thread, s | efficiency | rest shared, s | efficiency | of visits alone | asks of the memory, GB/s |")
    print("|---|---|---|---|---|---|---|")
    for threads in options.threads:
        slow, fast = step.bounds(threads, region)
        even = step.visits(threads, False) / step.visits(threads)
        print(f"| {threads} | {slow:.4f} | {one / threads / slow:.2f} | {fast:.4f} | {one / threads / fast:.2f} | {even:.2f} | "
              f"{step.traffic / fast / 1e9:.1f} |")
    slow, fast = step.bounds(2, region)
    measured = two["seconds_per_step"]
    verdict = "between both" if fast <= measured <= slow else "OUTSIDE"
    print(f"\nmeasured on two threads: {measured:.4f} s, {verdict} (model {fast:.4f} to {slow:.4f})")
    few = sorted({(step.partials(layer), layer["name"]) for layer in step.layers
                  if layer["parameters"] and step.partials(layer) < max(options.threads)})
    for partials in sorted({found for found, _ in few}):
        names = [layer for found, layer in few if found == partials]
        print(f"{partials} partial gradients for {max(options.threads)} threads: {len(names)} layers, {', '.join(names[:4])}"
              f"{' ...' if len(names) > 4 else ''}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--models", type=lambda text: text.split(","), default=["resnet20", "resnet18", "transformer-lm-s"])
    parser.add_argument("--precision", default="hfp8")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--threads", type=lambda text: [int(t) for t in text.split(",")], default=[1, 2, 4, 8, 16])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", os.path.join(ROOT, "build", "halfulp")))
    return parser.parse_args()


def main():
    options = parse()
    region = region_seconds()
    for name in options.models:
        words = [f"model={name}", f"precision={options.precision}"]
        words += [f"batch={options.batch}"] if options.batch else []
        one, two = measure(options, words, 1), measure(options, words, 2)
        report(name, Step(answer(options, "plan", *words, "threads=1"), one), two, options, region)


if __name__ == "__main__":
    main()
