"""Threads, storage, joined layers and recomputing change no bit of a training, in any precision, with
and without overflow."""
import json
import os

import program

PRECISIONS = ["fp32", "fp16", "bf16", "1/6/9/d", "1/6/9/n", "hfp8", "e4m3fn:ovf=sat",
              "w=e4m3,act=e5m2 sr,grad=e5m2 sr,wgrad=fp16", "posit8", "takum8",
              "w=nf4:scale=current,act=hif8,grad=hif8 sr,wgrad=posit16"]
# data.limit is no multiple of the batch and the batch none of the chunk: short chunks and batches.
SMALL = ["data=glyphs", "data.limit=88", "data.test_limit=24", "batch=48", "run.chunk=5",
         "run.log_every=1", "steps=6", "lr.warmup=0"]
# Precision, and keys with which the gradients overflow in the first steps. Where a format has no
# infinity (float32 storage could carry one, packed storage cannot), the step must be skipped alike.
OVERFLOWS = [
    ("fp16", ["scaler.init=1e9", "scaler.backoff=0.01"]),
    ("hfp8", ["scaler.init=1e20", "scaler.backoff=1e-6"]),
    ("e4m3fn", ["scaler=dynamic", "scaler.init=1e6", "scaler.backoff=0.01"]),
    ("w=fp16,act=fp16,grad=e2m1:ovf=nan:specials=fn,wgrad=fp16",
     ["scaler=dynamic", "scaler.init=1e9", "scaler.backoff=0.001"]),
    ("w=fp16,act=fp16,grad=hif8,wgrad=fp16",
     ["scaler=dynamic", "scaler.init=1e9", "scaler.backoff=0.001"]),
    ("w=fp16,act=fp16,grad=posit8,wgrad=fp16",
     ["scaler=dynamic", "scaler.init=1e14", "scaler.backoff=0.0001"]),
    ("w=fp16,act=fp16,grad=e4m3fn:ovf=sat,wgrad=fp16",
     ["scaler=dynamic", "scaler.init=1e10", "scaler.backoff=1e-3"]),
]


def compare(checks, cwd, precision, keys, variants):
    """All variants end in the bits of the first; gives the first result and its rows."""
    first = None
    for number, variant in enumerate(variants):
        run = f"run{number}"
        made = program.train(f"precision={precision}", *keys, *variant, cwd=cwd, run=run)
        found = (made["weights_hash"], made["skipped_steps"], program.rows(cwd, run))
        if first is None:
            first = made, found
            continue
        name = f"{precision} {' '.join(keys[:1])} {' '.join(variant)}"
        checks.same(found[0], first[1][0], f"{name}: weights hash")
        checks.same(found[1], first[1][1], f"{name}: skipped steps")
        checks.same(found[2], first[1][2], f"{name}: rows of metrics.csv")
    return first[0], first[1][2]


def variants_of(threads):
    return [[f"threads={n}", f"storage={storage}"] for n, storage in threads]


def cnn(precision):
    def test(checks, cwd):
        variants = variants_of([(1, "packed"), (1, "float32"), (1, "dense"), (2, "packed"),
                                (3, "float32"), (7, "dense")])
        variants += [["threads=2", "fuse=off"], ["threads=3", "recompute=off"]]
        made, rows = compare(checks, cwd, precision, ["model=cnn-s", *SMALL], variants)
        checks.same(len(rows), 6, f"{precision}: a row per step")
        checks.that(len({row["loss"] for row in rows}) > 3, f"{precision}: the losses move")
        checks.that(made["skipped_steps"] == 0, f"{precision}: no step is skipped")
    return test


def resnet(precision):
    def test(checks, cwd):
        keys = ["model=resnet20", "model.width=0.25", *SMALL[:3], "batch=24", "run.chunk=8",
                "run.log_every=1", "steps=3"]
        compare(checks, cwd, precision, keys,
                variants_of([(1, "packed"), (3, "dense"), (2, "float32")]) +
                [["threads=2", "fuse=off"], ["threads=7", "recompute=off"], ["threads=2", "recompute=2"]])
    return test


def scheduled(precision, *keys):
    """Numbers of bits that change between steps, and their learning."""
    def test(checks, cwd):
        words = ["model=resnet20", "model.width=0.25", *SMALL[:3], "batch=24", "run.chunk=8",
                 "run.log_every=1", "steps=6", *keys]
        made, rows = compare(checks, cwd, precision, words,
                             variants_of([(1, "packed"), (3, "dense"), (2, "float32")]) +
                             [["threads=2", "fuse=off"], ["threads=7", "recompute=off"]])
        checks.that(len({row["loss"] for row in rows}) > 3, f"{precision}: the losses move")
        whole = program.train(f"precision={precision}", *words, "run.checkpoint_every=1",
                              "run.keep=9", cwd=cwd, run="whole")
        checks.same(whole["weights_hash"], made["weights_hash"], f"{precision}: with checkpoints")
        for step in range(1, 6):
            program.copy_at(cwd, "whole", f"from{step}", step)
            code, out, err = program.call("resume", f"from{step}", "--json", cwd=cwd)
            checks.that(code == 0, f"{precision}: resumed at {step}: {err}")
            rest = json.loads(out)
            checks.same((rest["weights_hash"], rest["test_accuracy"]),
                        (made["weights_hash"], made["test_accuracy"]),
                        f"{precision}: resumed at {step}")
    return test


def small(model, precision):
    """Halves, shuffles, depthwise convolutions and biases."""
    def test(checks, cwd):
        keys = [f"model={model}", "model.width=0.1", *SMALL[:3], "batch=24", "run.chunk=8",
                "run.log_every=1", "steps=2"]
        compare(checks, cwd, precision, keys,
                variants_of([(1, "packed"), (3, "dense"), (2, "float32")]) +
                [["threads=2", "fuse=off"], ["threads=7", "recompute=off"]])
    return test


def pixels(precision):
    """A class for every pixel: units are rows of which some are left out, counted over the parts."""
    def test(checks, cwd):
        program.write_idx(os.path.join(cwd, "data"), count=40, side=12)
        keys = ["model=dense-s", "model.width=0.25", f"data=ink:idx:{cwd}/data", "batch=16",
                "run.chunk=5", "run.log_every=1", "steps=3", "optimizer.accumulate=2"]
        compare(checks, cwd, precision, keys,
                variants_of([(1, "packed"), (3, "dense"), (2, "float32")]) +
                [["threads=2", "fuse=off"], ["threads=7", "recompute=off"]])
    return test


def goes_on(checks, cwd, precision, words, made, keys):
    """With checkpoints, and resumed from each of them, a training of 4 steps has the results of one without."""
    whole = program.train(f"precision={precision}", *words, "run.checkpoint_every=1", "run.keep=9", cwd=cwd,
                          run="whole")
    checks.same(whole["weights_hash"], made["weights_hash"], f"{precision}: with checkpoints")
    for step in range(1, 4):
        program.copy_at(cwd, "whole", f"from{step}", step)
        rest = program.resume(f"from{step}", cwd=cwd)
        checks.same([rest[key] for key in keys], [made[key] for key in keys], f"{precision}: resumed at {step}")


def codes(precision, *keys):
    """A code that is drawn, transposed convolutions, two losses, of which one compares two predictions; from any step."""
    def test(checks, cwd):
        words = ["model=cvae-s", "model.width=0.25", *SMALL[:3], "batch=24", "run.chunk=5", "run.log_every=1", "steps=4",
                 "optimizer.accumulate=2", "optimizer=adam", *keys]
        made, rows = compare(checks, cwd, precision, words,
                             variants_of([(1, "packed"), (3, "dense"), (2, "float32")]) +
                             [["threads=2", "fuse=off"], ["threads=7", "recompute=off"]])
        checks.that(len({row["loss"] for row in rows}) == 4, f"{precision}: the losses move")
        goes_on(checks, cwd, precision, words, made, ("weights_hash", "test_negative_elbo", "test_divergence"))
    return test


def turns(precision, *keys):
    """Two networks, two optimizers, two loss scales: other threads, storages and regions, and from any step."""
    def test(checks, cwd):
        words = ["model=dcgan-s", "model.width=0.5", *SMALL[:3], "batch=24", "run.chunk=5", "run.log_every=1", "steps=4",
                 "lr.schedule=cosine", *keys]
        made, rows = compare(checks, cwd, precision, words,
                             variants_of([(1, "packed"), (2, "dense"), (5, "float32")]) +
                             [["threads=2", "fuse=off"], ["threads=3", "recompute=off"], ["run.histogram_every=1"]])
        checks.that(len({row["loss"] for row in rows}) == 4, f"{precision}: the losses move")
        goes_on(checks, cwd, precision, words, made, ("weights_hash", "test_fd64", "skipped_steps"))
    return test


def winograd(checks, cwd):
    """Fewer multiplications give other bits than the definition, but always the same ones."""
    keys = ["model=resnet20", *SMALL[:3], "batch=24", "run.chunk=5", "run.log_every=1", "steps=3"]
    variants = [["products=winograd", *words] for words in (
        ["threads=1"], ["threads=2", "run.fuse=false"], ["threads=3", "storage=float32"])]
    variants.append(["products=auto", "threads=2"])  # bf16 keeps float32's range
    made, rows = compare(checks, cwd, "bf16", keys, variants)
    own = program.train("precision=bf16", *keys, "threads=2", cwd=cwd, run="own")
    checks.that(own["weights_hash"] != made["weights_hash"], "winograd: it is another sum")
    losses = [(float.fromhex(a["loss"]), float.fromhex(b["loss"]))
              for a, b in zip(rows, program.rows(cwd, "own"))]
    checks.that(all(abs(a - b) < 0.05 * b for a, b in losses), f"winograd: losses {losses}")
    for case, words in enumerate((["precision=fp16"], ["precision=bf16", "accumulator=fmac8:1/6/9"],
                                  ["precision=bf16", "precision.rules=[\"*.weight: e4m3\"]"])):
        hashes = {products: program.train(*words, *keys[:-1], "steps=1", f"products={products}", "threads=2", cwd=cwd,
                                          run=f"range{case}{products}")["weights_hash"] for products in ("own", "auto")}
        checks.same(hashes["auto"], hashes["own"], f"{words}: ranges are studied, so auto is own")


def parts(checks, cwd):
    """Sums over threads outside the passes: the norm of the gradient, the parts of a batch."""
    keys = ["model=cnn-s", *SMALL, "optimizer=adam", "lr=0.01", "optimizer.clip_norm=0.1",
            "optimizer.accumulate=3"]
    compare(checks, cwd, "bf16", keys,
            variants_of([(1, "packed"), (2, "float32"), (3, "dense"), (7, "packed")]))


def norms(checks, cwd):
    """Norms of tensors, the widest of which is more than one block of the sum."""
    keys = ["model=cnn-s", *SMALL, "model.width=2", "optimizer=lars", "optimizer.no_decay=*bn*",
            "optimizer.accumulate=3"]
    compare(checks, cwd, "bf16", keys,
            variants_of([(1, "packed"), (2, "float32"), (3, "dense"), (7, "packed")]))


def fashion(checks, cwd):
    if not os.path.isdir("/usr/share/datasets/fashion-mnist"):
        print("skipped: fashion-mnist is not installed")
        return
    keys = ["model=cnn-s", "data=fashion-mnist", *SMALL[1:], "data.augment=[crop, flip, cutout]"]
    compare(checks, cwd, "hfp8", keys, variants_of([(1, "packed"), (2, "float32"), (7, "dense")]))


def overflow(precision, more):
    def test(checks, cwd):
        keys = ["model=cnn-s", *more, *SMALL]
        made, rows = compare(checks, cwd, precision, keys,
                             variants_of([(1, "packed"), (1, "float32"), (3, "dense")]) +
                             [["threads=2", "fuse=off"], ["threads=2", "recompute=off"]])
        name = f"{precision} {' '.join(more)}"
        checks.that(0 < made["skipped_steps"] < 6, f"{name}: {made['skipped_steps']} skipped steps")
        checks.same(sum(row["skipped"] == "1" for row in rows), made["skipped_steps"],
                    f"{name}: rows marked as skipped")
    return test


program.main(*map(cnn, PRECISIONS), *map(resnet, ["fp16", "hfp8", PRECISIONS[-1]]),
             small("squeezenet", "hfp8"), small("shufflenet-v2", "hfp8"),
             small("shufflenet-v2", "1/6/9/d"), small("mobilenet-v2", "fp16"),
             small("davidnet", "1/6/9/d"), small("resnet50", "fp16"),
             scheduled("static:6"), scheduled("cpt:3-8", "bits.cycles=2"), scheduled("ldp:3-8"),
             scheduled("ldp:6-10", "bits.kind=float", "bits.grad=same"),
             scheduled("random", "bits.every=2"), small("autoencoder-tied", "hfp8"), pixels("fp32"), pixels("hfp8"),
             codes("fp32"), codes("fp16"), codes("1/6/9/n"), codes("hfp8"), codes("demote:0.5+promote"),
             codes("mxfp8"), codes("1/6/9", "accumulator=fmac8:1/6/9", "steps=4"),
             turns("fp32", "optimizer.accumulate=2"), turns("1/6/9"), turns("hfp8"), turns("demote:0.5+promote"),
             turns("fp16", "scaler=dynamic", "scaler.init=1e7", "scaler.backoff=0.01"),
             turns("e4m3:scale=delayed", "optimizer.accumulate=2"), turns("static:6"), turns("ldp:3-8"),
             turns("1/6/9", "accumulator=fmac8:1/6/9"), turns("mxfp8"),
             *(overflow(*case) for case in OVERFLOWS), winograd, parts, norms, fashion)
