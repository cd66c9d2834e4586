"""Networks of tens of thousands of nodes, one after the other: planned, trained, and no stack runs out."""
import json
import pathlib

import program

NETWORK = """halfulp_network: 1
name: deep
inputs: {input: image}
blocks:
  one:
    in: x
    nodes:
      - node: OPERATION x
    out: node
nodes:
  - chain: {block: one, in: input, repeat: TIMES}
  - fc: linear chain out=classes
head: fc
"""
DATA = ["data=glyphs", "data.limit=8", "data.test_limit=4", "batch=4"]


def planned(operation):
    def test(checks, cwd):
        pathlib.Path(cwd, "deep.yaml").write_text(NETWORK.replace("OPERATION", operation).replace("TIMES", "60000"))
        code, out, err = program.call("model", "deep.yaml", *DATA, "--json", cwd=cwd)
        if checks.same(code, 0, f"{operation}: {err}"):
            names = [layer["name"] for layer in json.loads(out)["layers"]]
            checks.same(sum(name.startswith("chain.") for name in names), 60000, f"{operation}: its layers")
    return test


def same_bits(checks, cwd):
    """Two signs cancel, and relu of relu is relu: chains longer than a stack is deep, and none at all."""
    hashes = {}
    for operation, times in (("neg", 2), ("neg", 3000), ("relu", 1), ("relu", 3000)):
        pathlib.Path(cwd, "deep.yaml").write_text(NETWORK.replace("OPERATION", operation).replace("TIMES", str(times)))
        words = [*DATA, "steps=2", "lr=0.01", "lr.warmup=0", "run.quiet=on", "threads=1"]
        made = program.train("model=deep.yaml", *words, cwd=cwd, run=f"{operation}{times}")
        hashes[operation, times] = made["weights_hash"]
    checks.same(hashes["neg", 3000], hashes["neg", 2], "3,000 signs")
    checks.same(hashes["relu", 3000], hashes["relu", 1], "3,000 times relu")


if __name__ == "__main__":
    program.main(planned("relu"), planned("neg"), same_bits)
