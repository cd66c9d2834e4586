"""What networks that look for boxes promise alike. words: the model's and the training's; cwd: the folder of the test,
in which made pictures with boxes are written once."""
import math
import os

import program

PARTS = ["model.norm=off", "init=check", "steps=2", "lr=0.001", "data.shuffle=off", "threads=2"]


class Training:
    """Trainings of one model on these pictures."""

    def __init__(self, words, task, precisions, ways):
        self.words, self.task, self.precisions, self.ways = words, task, precisions, ways

    def trained(self, cwd, name, *words, **more):
        folder = os.path.join(cwd, "boxes")
        if not os.path.exists(folder):
            program.write_boxes(cwd)
        return program.train(f"data=boxes:{folder}", *self.words, *words, cwd=cwd, run=name, **more)

    def bits_are_equal(self, checks, cwd):
        """Each precision on one thread, and in two of the other ways of running."""
        for turn, precision in enumerate(self.precisions):
            plain = self.trained(cwd, f"{turn}", *precision, "optimizer.accumulate=2", "threads=1")
            checks.same(plain["task"], self.task, "the task of the model")
            checks.that(math.isfinite(plain["train_loss"]), f"{precision}: {plain['train_loss']}")
            checks.same(plain["skipped_steps"], 0, f"{precision}: skipped steps")
            for way in (self.ways[turn % len(self.ways)], self.ways[(turn + 1) % len(self.ways)]):
                other = self.trained(cwd, f"{turn}-{way[0]}-{len(way)}", *precision, "optimizer.accumulate=2", *way)
                for key in ("weights_hash", "train_loss", "metric", "test_mean_ap_11", "test_classes"):
                    checks.same(other[key], plain[key], f"{precision} {way}: {key}")

    def instruction_sets_agree(self, checks, cwd):
        words = ["precision=fp16", "threads=1", *program.FOR_SCALAR]
        plain = self.trained(cwd, "native", *words)
        for isa in ("scalar", "avx2"):
            other = self.trained(cwd, isa, *words, env={**os.environ, "HALFULP_MAX_ISA": isa})
            checks.same((other["weights_hash"], other["metric"]), (plain["weights_hash"], plain["metric"]), isa)

    def accumulators_reach_every_product(self, checks, cwd):
        words = ["precision=1/6/9/d", "accumulator=fmac8:1/6/9/d", "steps=1"]
        one = self.trained(cwd, "one", *words, "threads=1")
        two = self.trained(cwd, "two", *words, "threads=2", "storage=float32", "fuse=off")
        checks.same(two["weights_hash"], one["weights_hash"], "fmac8")

    def runs_go_on(self, checks, cwd):
        """Also in the middle of an epoch: ten pictures in batches of 4 are an epoch of 3 steps."""
        words = ["precision=hfp8", "threads=1", "eval.every=1", "steps=5"]
        whole = self.trained(cwd, "whole", *words, "run.checkpoint_every=1", "run.keep=9")
        for step in range(1, 5):
            program.copy_at(cwd, "whole", f"from{step}", step)
            rest = program.resume(f"from{step}", cwd=cwd)
            checks.same((rest["weights_hash"], rest["metric"]["value"]),
                        (whole["weights_hash"], whole["metric"]["value"]), f"resumed at {step}")

    def one_loss_for_parts_and_workers(self, checks, cwd):
        """Of the whole batch, whoever has which picture. Norms would see other batches, so there are none."""
        one = self.trained(cwd, "one", *PARTS)
        for more in (["optimizer.accumulate=2"], ["optimizer.accumulate=4"], ["workers=2"], ["workers=4"],
                     ["workers=2", "optimizer.accumulate=2"]):
            other = self.trained(cwd, "-".join(more), *PARTS, *more)
            for step, (found, expected) in enumerate(zip(other["losses"], one["losses"])):
                checks.that(math.isclose(found, expected, rel_tol=1e-12 if step == 0 else 1e-6),
                            f"{more}, loss {step}: {found}, expected {expected}")
            checks.that(math.isclose(other["first_gradient_norm"], one["first_gradient_norm"], rel_tol=1e-6),
                        f"{more}: norm {other['first_gradient_norm']}, expected {one['first_gradient_norm']}")
        return one


def refused(checks, cwd, code, words, *keys):
    found, _, err = program.call("train", "batch=2", "steps=1", *keys, cwd=cwd)
    checks.same(found, code, f"{keys}: {err}")
    checks.that(words in err, f"{keys}: no '{words}' in: {err}")
