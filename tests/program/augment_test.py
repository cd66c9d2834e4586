"""DeiT's augmentation: RandAugment, erasing, mixup, cutmix and stochastic depth, to the same bits whatever runs beside."""
import json

import program

NET = ["model=deit-s", "data=glyphs", "data.limit=77", "data.test_limit=32", "batch=16", "epochs=2", "run.quiet=on",
       "run.log_every=1", "optimizer=adamw"]
DEIT = ["data.randaugment=9", "data.erase=0.25", "data.mixup=0.8", "data.cutmix=1", "model.drop_path=0.1",
        "task.smoothing=0.1"]


def the_same_bits(checks, cwd):
    made = program.train(*NET, *DEIT, "threads=1", cwd=cwd, run="one")
    for number, words in enumerate((["threads=3"], ["storage=float32", "run.fuse=off"],
                                    ["threads=2", "data.memory=1"])):
        again = program.train(*NET, *DEIT, *words, cwd=cwd, run=f"again{number}")
        checks.same(again["weights_hash"], made["weights_hash"], f"hash with {words}")
    hashes = {made["weights_hash"]}
    for number, key in enumerate(DEIT):
        less = program.train(*NET, *(k for k in DEIT if k != key), cwd=cwd, run=f"less{number}")
        hashes.add(less["weights_hash"])
    checks.same(len(hashes), 1 + len(DEIT), "each key changes the training")
    # Evaluations see pictures as they are.
    found = json.loads(program.call("eval", "one", "--json", cwd=cwd)[1])
    checks.same(found["test_accuracy"], made["test_accuracy"], "eval")
    code, _, err = program.call("predict", "one", "count=3", cwd=cwd)
    checks.same(code, 0, f"predict: {err!r}")


def workers_and_resuming(checks, cwd):
    """A share of a batch may end between two partners."""
    keys = [*NET, *DEIT, "batch=15", "workers=2", "schedule=seq"]
    first = program.train(*keys, "run.checkpoint_every=3", "run.keep=9", cwd=cwd, run="workers")
    again = program.train(*keys, "threads=3", cwd=cwd, run="workers3")
    checks.same(again["weights_hash"], first["weights_hash"], "threads of workers")
    program.copy_at(cwd, "workers", "half", 6)
    checks.same(program.resume("half", cwd=cwd)["weights_hash"], first["weights_hash"], "resumed")


def other_networks(checks, cwd):
    """Mixtures are of the task, whatever the network; its own loss may be any of rows."""
    for model, words in (("cnn-s", []), ("resnet20", ["model.width=0.25", "loss=softmax_cross_entropy"])):
        made = program.train(f"model={model}", *words, "data=glyphs", "data.limit=64", "data.test_limit=16", "batch=16",
                             "steps=4", "data.mixup=0.2", "precision=hfp8", "run.quiet=on", cwd=cwd, run=model)
        checks.that(0 < made["train_loss"] < 10, f"{model}: trains")


def mistakes(checks, cwd):
    short = ["data=glyphs", "data.limit=32", "data.test_limit=16", "batch=16", "steps=1", "run.quiet=on"]
    for words, part in ((["model=cnn-s", "model.drop_path=0.1"], "model.drop_path: found 0.1"),
                        (["model=cnn-s", "data=fashion-mnist", "data.randaugment=9"], "1 channels"),
                        (["model=autoencoder", "loss=bce", "data.mixup=0.8", "task=mistake"], "task"),
                        (["model=cnn-s", "loss=mixed_cross_entropy"], "samples that are not mixed"),
                        (["model=transformer-lm-s", "data=text:none", "data.mixup=1"], "none")):
        code, out, err = program.call("train", *short, *words, cwd=cwd)
        checks.that(code in (2, 3) and part in err, f"{words}: exit {code}: {err!r}")


program.main(the_same_bits, workers_and_resuming, other_networks, mistakes)
