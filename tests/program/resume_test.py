"""A run saved at every step of 30 and resumed in a new process ends in the same bits."""
import json
import os

import program

STEPS = 30
# Two and a half epochs of a batch that does not divide the data: evaluations, short batches and
# orders of epochs lie on both sides of most checkpoints.
KEYS = ["model=cnn-s", "model.width=0.5", "data=glyphs", "data.limit=200", "data.test_limit=16", "batch=17",
        "threads=1", "run.chunk=8", f"steps={STEPS}", "run.log_every=1", "run.checkpoint_every=1",
        "run.keep=40", "run.quiet=on"]

CASES = {
    "sgd in fp32": ["precision=fp32"],
    "stochastic rounding, loss scaling that overflows and grows":
        ["precision=w=e4m3,act=e5m2 sr,grad=e5m2 sr,wgrad=fp16", "scaler=dynamic",
         "scaler.init=1e10", "scaler.backoff=0.03", "scaler.interval=3", "scaler.growth=64"],
    "promotion": ["precision=uniform+promote", "precision.promote_at=0.002",
                  "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)"],
    "precision by epoch": ["precision.epochs=0: fp32, 1: uniform+promote, 2: e4m3:scale=delayed",
                           "precision.promote_at=0.002",
                           "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)"],
    "adam": ["optimizer=adam", "lr=0.002", "precision=1/6/9"],
    "accumulated parts": ["optimizer.accumulate=2", "precision=bf16", "optimizer.clip_norm=0.5"],
    "workers with error feedback": ["workers=3", "comm.format=0: e5m2, 1: e3m0", "scaling=aps2",
                                    "comm.error_feedback=on", "comm.rounding=sr",
                                    "precision=hfp8+promote", "precision.promote_at=0.002",
                                    "scaler=dynamic", "scaler.interval=3"],
    "lars": ["optimizer=lars", "precision=bf16", "optimizer.no_decay=*bn*"],
    "static 8 bits as SBM": ["precision=static:8", "model.norm=range", "bits.norms=on",
                             "bits.grad_weights=16"],
    "a rate that follows evaluations": ["lr.schedule=plateau", "lr.patience=1", "lr.threshold=1", "lr.factor=0.5"],
    "a rate that follows losses": ["lr.schedule=plateau_loss", "lr.period=3", "lr.factor=0.5", "lr=0.5"],
    "adamw without masters": ["optimizer=adamw", "lr=0.002", "precision=fp16", "master=off"],
}
EVERY = {"sgd in fp32": range(1, STEPS), "adam": (1, 11, 12, 13, 29),
         "stochastic rounding, loss scaling that overflows and grows": range(1, STEPS, 3),
         "precision by epoch": (1, 11, 12, 13, 17, 23, 24, 25), "promotion": (1, 5, 6, 7, 9, 10, 13, 21), "accumulated parts": (5, 12, 24), "workers with error feedback": (1, 11, 12, 13, 24), "lars": (1, 13, 24),
         "static 8 bits as SBM": range(1, STEPS, 4), "adamw without masters": (6, 24),
         "a rate that follows evaluations": (1, 11, 12, 13, 23, 24, 25), "a rate that follows losses": (2, 3, 14, 24)}


def lines(cwd, run, name):
    with open(f"{cwd}/{run}/{name}.jsonl") as file:
        return file.read()


def same_end(checks, cwd, step, words, whole, name):
    run = f"from{step}-{len(words)}"
    program.copy_at(cwd, "run", run, step)
    made = program.resume(run, *words, cwd=cwd)
    for key in ("weights_hash", "steps", "train_loss", "test_accuracy", "best_accuracy",
                "skipped_steps", "promoted", "low_precision_ratio", "overflow_share", "underflow_share",
                "model_aggregate_bits", "model_aggregate_bits_start", "model_aggregate_bits_mean"):
        checks.same(made[key], whole[key], f"{name}, from step {step} {words}: {key}")
    checks.that(program.rows(cwd, run) == program.rows(cwd, "run"),
                f"{name}, from step {step} {words}: rows of metrics.csv")
    for file in ("metrics", "numerics"):
        checks.that(lines(cwd, run, file) == lines(cwd, "run", file),
                    f"{name}, from step {step} {words}: lines of {file}.jsonl")


def case(name):
    def test(checks, cwd):
        whole = program.train(*KEYS, *CASES[name], cwd=cwd)
        checks.same(sorted(program.checkpoints(cwd)), list(range(1, STEPS + 1)),
                    f"{name}: a checkpoint at every step")
        if "overflows" in name:
            checks.that(0 < whole["skipped_steps"] < STEPS // 2,
                        f"{name}: {whole['skipped_steps']} skipped steps")
            scales = [float(row["loss_scale"]) for row in program.rows(cwd)]
            checks.that(any(a < b for a, b in zip(scales, scales[1:])), f"{name}: the scale grows")
        if name == "promotion":
            checks.that(whole["promoted"] > 3 and whole["low_precision_ratio"] < 0.95,
                        f"{name}: {whole['promoted']} tensors")
        if "follows" in name:
            rates = {row["lr"] for row in program.rows(cwd)}
            checks.that(len(rates) > 1, f"{name}: rates {rates}")
        for step in EVERY[name]:
            same_end(checks, cwd, step, [], whole, name)
        same_end(checks, cwd, 7, ["threads=3"], whole, name)
        same_end(checks, cwd, 7, ["threads=2", "storage=dense"], whole, name)
    return test


def finished_run_is_only_reported(checks, cwd):
    whole = program.train(*KEYS, "steps=4", cwd=cwd)
    code, out, err = program.call("resume", "run", cwd=cwd)
    checks.that(code == 0 and "run is finished: it has done its 4 steps" in err
                and "`halfulp resume run steps=MORE`" in err, f"resume of a finished run: {err!r}")
    checks.that("images/s" not in out and "4 steps" in out, f"and names no speed: {out!r}")
    again = program.resume("run", cwd=cwd)
    checks.same(again["images_per_second"], None, "nor in JSON")
    for key in ("weights_hash", "steps", "train_loss", "test_accuracy"):
        checks.same(again[key], whole[key], f"resume of a finished run: {key}")
    code, out, _ = program.call("eval", "run", "--json", cwd=cwd)
    made = json.loads(out)
    checks.same((code, made["weights_hash"], made["test_accuracy"]),
                (0, whole["weights_hash"], whole["test_accuracy"]), "eval of a finished run")


def a_longer_goal(checks, cwd):
    keys = [*KEYS, "lr.schedule=constant"]
    whole = program.train(*keys, "steps=9", cwd=cwd)
    program.train(*keys, "steps=4", cwd=cwd, run="short")
    checks.same(program.resume("short", "steps=9", cwd=cwd)["weights_hash"], whole["weights_hash"],
                "steps=4, then resume with steps=9")
    made = program.resume("short", "epochs=1", cwd=cwd)
    checks.same(made["steps"], 12, "resume with epochs=1 after steps=9")
    with open(f"{cwd}/short/config.resolved.yaml") as file:
        checks.that("steps: 12\n" in file.read(), "the folder holds the longer goal")


def a_goal_already_passed_is_refused(checks, cwd):
    program.train(*KEYS, "steps=4", cwd=cwd)
    before = program.tree_bytes(f"{cwd}/run")
    code, out, err = program.call("resume", "run", "steps=3", "--json", cwd=cwd)
    checks.same((code, out), (2, ""), "resume with fewer steps than done: exit code")
    checks.that("has done 4 steps already, asked for 3" in err, f"resume with fewer steps: {err!r}")
    checks.that(program.tree_bytes(f"{cwd}/run") == before, "fewer steps: nothing is overwritten")


def the_seed_stays(checks, cwd):
    whole = program.train(*KEYS, "steps=4", cwd=cwd)
    before = program.tree_bytes(f"{cwd}/run")
    for verb in ("resume", "eval"):
        code, out, err = program.call(verb, "run", "seed=7", "--json", cwd=cwd)
        checks.same((code, out), (2, ""), f"{verb} with another seed: exit code")
        checks.that("found 7, expected 1" in err, f"{verb} with another seed: {err!r}")
    checks.that(program.tree_bytes(f"{cwd}/run") == before, "another seed: nothing is overwritten")
    checks.same(program.resume("run", "seed=1", cwd=cwd)["weights_hash"], whole["weights_hash"],
                "the same seed may be given")


def before_the_first_checkpoint(checks, cwd):
    whole = program.train(*KEYS, "steps=5", cwd=cwd)
    program.copy_at(cwd, "run", "early", 0)
    os.remove(f"{cwd}/early/result.json")  # with it the run has ended, and would be trained anew
    code, out, err = program.call("resume", "early", "--json", cwd=cwd)
    checks.same(code, 0, f"resume without a checkpoint: exit code ({err})")
    checks.that("step 0" in err, f"resume without a checkpoint says so: {err!r}")
    checks.same(json.loads(out)["weights_hash"], whole["weights_hash"],
                "resume without a checkpoint: weights hash")
    checks.that(program.rows(cwd, "early") == program.rows(cwd, "run"),
                "resume without a checkpoint: rows of metrics.csv")


def tables_of_their_own(checks, cwd):
    """Whatever has become of a table's file, a run's keys and its plan name the run's copy."""
    program.put(cwd, "t.txt", b"-1\n-0.3\n-0.1\n-0.03\n0\n0.03\n0.1\n0.3\n1\n")
    whole = program.train(*KEYS, "steps=3", "precision=table:t.txt", cwd=cwd)["weights_hash"]
    again = {"config=run/config.resolved.yaml": [], "precision=run/plan.resolved.yaml": [*KEYS, "steps=3"]}
    program.put(cwd, "t.txt", b"-1\n-0.2\n0\n0.2\n1\n")
    for i, (word, more) in enumerate(again.items()):
        checks.same(program.train(word, *more, cwd=cwd, run=f"other{i}")["weights_hash"], whole, f"{word}: weights")
    checks.that(program.train(*KEYS, "steps=3", "precision=table:t.txt", cwd=cwd, run="new")["weights_hash"] != whole,
                "another training reads the file")
    os.remove(f"{cwd}/t.txt")
    checks.same(program.train("config=run/config.resolved.yaml", cwd=cwd, run="gone")["weights_hash"], whole,
                "without the file: weights")


program.main(*map(case, CASES), finished_run_is_only_reported, a_longer_goal, a_goal_already_passed_is_refused,
             the_seed_stays,
             before_the_first_checkpoint, tables_of_their_own)
