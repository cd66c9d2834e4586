"""Attention in every precision: the same bits in every way of running, and every inner tensor in the records."""
import json
import os

import program

WORDS = ["model=deit-s", "model.width=0.5", "data=glyphs", "data.limit=24", "data.test_limit=8", "batch=8", "steps=3",
         "eval.every=0", "run.log_every=1", "optimizer=sgd", "lr=0.5", "lr.schedule=constant", "lr.warmup=0"]
PRECISIONS = (["precision=fp32"], ["precision=fp16"], ["precision=1/6/9/d"], ["precision=hfp8"],
              ["precision=operator"], ["precision=demote:0.6+promote"], ["precision=ldp:4-8", "bits.grad_weights=16"],
              ["precision=cpt:3-8", "bits.cycles=1"], ["precision=nvfp4"])
WAYS = (["threads=2"], ["storage=float32"], ["fuse=off", "recompute=off"], ["storage=dense", "threads=3"])


def trained(cwd, name, *words, **more):
    return program.train(*WORDS, *words, cwd=cwd, run=name, **more)


def bits_are_equal(checks, cwd):
    for turn, precision in enumerate(PRECISIONS):
        plain = trained(cwd, f"plain-{turn}", *precision, "threads=1")
        for way in (WAYS[turn % 4], WAYS[(turn + 1) % 4]):
            other = trained(cwd, f"way-{turn}-{way[0]}", *precision, *way)
            checks.same(other["weights_hash"], plain["weights_hash"], f"{precision} {way}")
            checks.same(other["train_loss"], plain["train_loss"], f"loss of {precision} {way}")


def instruction_sets_agree(checks, cwd):
    for words in (["precision=fp32"], ["precision=1/6/9/d", "accumulator=fmac8:1/6/9/d"]):
        precision = [*words, *program.FOR_SCALAR]
        plain = trained(cwd, f"native{len(precision)}", *precision, "threads=1")
        for isa in ("scalar", "avx2"):
            other = trained(cwd, f"{isa}{len(precision)}", *precision, "threads=1",
                            env={**os.environ, "HALFULP_MAX_ISA": isa})
            checks.same(other["weights_hash"], plain["weights_hash"], f"{precision}, {isa}")


def accumulators_know_no_chunks(checks, cwd):
    """The products of attention stay within a sample, those of weights run through the batch."""
    words = ["precision=1/6/9/n", "accumulator=fmac:1/6/9/n", "steps=1", "accumulator.count_every=1"]
    one = trained(cwd, "one", *words, "threads=1", "run.chunk=4")
    two = trained(cwd, "two", *words, "threads=2", "run.chunk=4")
    checks.same(two["weights_hash"], one["weights_hash"], "two threads")
    float32 = trained(cwd, "float32", "precision=1/6/9/n", "steps=1", "threads=1")
    some = trained(cwd, "some", "precision=1/6/9/n", "accumulator.rules=blocks.1.attn.scores: fmac:1/6/9/n", "steps=1",
                   "threads=1")
    checks.that(some["weights_hash"] != float32["weights_hash"], "a rule reaches scores")
    parts = trained(cwd, "parts", "precision=1/6/9/n", "steps=1", "threads=1", "accumulator.rules="
                    "blocks.1.attn.scores.forward: fmac:1/6/9/n, blocks.1.attn.scores.input_grad: fmac:1/6/9/n, "
                    "blocks.1.attn.scores.weight_grad: fmac:1/6/9/n")
    checks.same(parts["weights_hash"], some["weights_hash"], "its three products by name")


def inner_tensors_are_recorded(checks, cwd):
    trained(cwd, "records", "precision=fp16", "threads=1")
    with open(os.path.join(cwd, "records", "numerics.jsonl"), encoding="utf-8") as file:
        text = file.read()
    for name in ("scores.out", "weights.out", "context.out", "q.out", "out.out"):
        for gradient in ("", ".grad"):
            checks.that(f'"blocks.2.attn.{name}{gradient}"' in text, f"no {name}{gradient} in numerics.jsonl")
    code, out, err = program.call("stats", "records", cwd=cwd)
    checks.same(code, 0, f"stats: {err}")
    code, out, err = program.call("why", "records", "blocks.0.attn.scores.out", cwd=cwd)
    checks.same(code, 0, f"why: {err}")
    checks.that("blocks.0.attn.scores.out" in out, out[:300])


def a_run_goes_on(checks, cwd):
    whole = trained(cwd, "whole", "precision=hfp8", "threads=1", "steps=5")
    trained(cwd, "part", "precision=hfp8", "threads=1")
    checks.same(program.resume("part", "steps=5", cwd=cwd)["weights_hash"], whole["weights_hash"], "resumed")


def both_factors_have_bits(checks, cwd):
    """Costs of a layer of two inputs: products with as many multiply-accumulates as any other."""
    code, out, err = program.call("plan", *WORDS[:2], "precision=static:4", "--json", cwd=cwd)
    checks.same(code, 0, f"plan: {err}")
    plan = json.loads(out)
    checks.same(plan["quantised_macs"], 48 * 64 * 32 + 4 * (12 * 32 * 32 * 65 + 2 * 65 * 65 * 32), "with bits")
    checks.same(plan["float_macs"], 32 * 10, "the head has none")
    four = trained(cwd, "four", "precision=static:4", "threads=1")
    eight = trained(cwd, "eight", "precision=static:8", "threads=1")
    checks.that(four["weights_hash"] != eight["weights_hash"], "bits change the training")


program.main(bits_are_equal, instruction_sets_agree, accumulators_know_no_chunks, inner_tensors_are_recorded,
             a_run_goes_on, both_factors_have_bits)
