"""Short trainings end in the recorded weights, rows of metrics.csv and bytes of memory.

hashes.json holds them. Weights and rows depend neither on threads nor on instruction set and
compiler; memory depends on the number of threads, which a job names. No product of these jobs is
oneDNN's. Of the C library's functions only pow (adam) and cos (cosine schedule) touch a result.

A change that is meant to change numbers records the table anew, with a program that is trusted:

    HALFULP=build/halfulp python3 tests/program/hashes_test.py --record
"""
import json
import os
import sys
import tempfile
import zlib

import program

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hashes.json")
# Columns of metrics.csv as they were when the table was first recorded: others may join them.
COLUMNS = ["step", "epoch", "loss", "batch_accuracy", "lr", "loss_scale", "skipped",
           "gradient_norm", "test_accuracy", "low_precision_ratio", "promoted"]
RESULTS = ["weights_hash", "steps", "skipped_steps", "promoted", "model_aggregate_bits"]
SHARES = ["overflow_share", "underflow_share"]

# data.limit is no multiple of the batch and the batch none of the chunk: short chunks and batches.
DATA = ["data=glyphs", "data.limit=88", "data.test_limit=24", "run.log_every=1", "run.quiet=on",
        "lr.warmup=0", "lr.schedule=linear", "threads=1"]
CNN = ["model=cnn-s", *DATA, "batch=48", "run.chunk=5", "steps=8"]
DEEP = [*DATA, "batch=24", "run.chunk=8", "steps=5"]
RESNET20 = ["model=resnet20", "model.width=0.25", *DEEP]
RESNET18 = ["model=resnet18", "model.width=0.05", *DEEP]
SQUEEZENET = ["model=squeezenet", "model.width=0.1", *DEEP]
SHUFFLENET = ["model=shufflenet-v2", "model.width=0.1", *DEEP]
MOBILENET = ["model=mobilenet-v2", "model.width=0.1", *DEEP]
DAVIDNET = ["model=davidnet", "model.width=0.1", *DEEP]
DCGAN = ["model=dcgan-s", "model.width=0.5", *DEEP, "steps=4"]
CVAE = ["model=cvae-s", "model.width=0.25", *DEEP, "steps=4"]
RESNET50 = ["model=resnet50", "model.width=0.05", *DEEP, "steps=2"]
# Dilations, two heads, pixels without a label; the pictures are made for the job.
FCN = ["model=fcn-s", "model.width=0.25", "data=dense:maps", "data.unlabelled=9", *DATA[3:],
       "batch=4", "run.chunk=3", "steps=3"]
SSD = ["model=ssd-s", "model.width=0.25", "data=boxes:boxes", *DATA[3:], "batch=4", "run.chunk=3", "steps=3"]
RCNN = ["model=faster-rcnn-s", *SSD[1:]]
# Crops that are turned, whole pictures in a plan of their own.
PAN = ["model=pan-s", "model.width=0.5", "data=pairs:pictures", "data.crop=8", "data.crops=11", *DATA[3:],
       "batch=4", "run.chunk=3", "steps=3", "optimizer=adam", "lr=0.001"]
PROMOTING = ["model=cnn-s", *DATA, "data.limit=200", "batch=17", "run.chunk=8", "steps=16",
             "precision=uniform+promote", "precision.promote_at=0.002",
             "precision.low=act=fp(2,5,1),w=fp(2,5,1),grad=fp(5,2,0)"]
NARROW = [*CNN, "model.width=0.25", "batch=24", "steps=5", "precision=1/6/9"]

JOBS = {
    # Numbers of bits by layer and step.
    "resnet20 static:5": [*RESNET20, "precision=static:5"],
    "resnet20 static:8 as SBM":
        [*RESNET20, "precision=static:8", "model.norm=range", "bits.norms=on",
         "bits.grad_weights=16", "threads=2"],
    "resnet20 cpt:3-8, norms, weights from float32, 2 workers":
        [*RESNET20, "precision=cpt:3-8", "bits.cycles=2", "bits.norms=on",
         "bits.grad_weights=float", "workers=2"],
    "resnet20 cpt:3-8, dense, threads": [*RESNET20, "precision=cpt:3-8", "bits.cycles=2",
                                         "storage=dense", "threads=2"],
    "resnet20 ldp:3-8": [*RESNET20, "precision=ldp:3-8", "bits.lr=10"],
    "resnet20 ldp:6-10 of floats, 2 workers":
        [*RESNET20, "precision=ldp:6-10", "bits.kind=float", "bits.lr=10", "workers=2",
         "comm.format=e5m2", "scaling=aps"],
    # Workers that share each batch, and their gradients on the wire.
    "cnn-s, 3 workers, e5m2, aps around the ring":
        [*CNN, "workers=3", "comm.format=e5m2", "scaling=aps", "precision=hfp8"],
    "resnet20, 4 workers, e4m3, aps2, error feedback, lars":
        [*RESNET20, "workers=4", "comm.format=e4m3", "scaling=aps2", "schedule=hier2d:2",
         "comm.error_feedback=on", "comm.exact=last", "optimizer=lars", "threads=2"],
    "cnn-s, 4 workers, 1/6/9, halving, stochastic, a format by epoch":
        [*CNN, "workers=4", "comm.format=0: 1/6/9, 2: e3m0", "scaling=aps", "schedule=halving",
         "rounding=sr"],
    # Models and schemes.
    "cnn-s fp32": [*CNN, "precision=fp32"],
    "cnn-s fp16, scaled loss": [*CNN, "precision=fp16", "scaler=dynamic", "threads=3"],
    "cnn-s bf16, nesterov, step schedule":
        [*CNN, "precision=bf16", "optimizer.nesterov=on", "optimizer.momentum=0.9",
         "lr.schedule=step", "lr.milestones=[1, 2]"],
    "cnn-s 1/6/9/n, recompute=off": [*CNN, "precision=1/6/9/n", "recompute=off", "threads=2"],
    "cnn-s hfp8, fuse=off": [*CNN, "precision=hfp8", "fuse=off", "threads=2"],
    "cnn-s stochastic rounding":
        [*CNN, "precision=w=e4m3,act=e5m2 sr,grad=e5m2 sr,wgrad=fp16", "scaler=constant",
         "scaler.init=256"],
    "cnn-s popescu, rna, rules":
        [*CNN, "precision=fp(5,3,2)", "precision.scheme=popescu", "precision.rounding=rna",
         "precision.rules=[fc.*: fp32, conv2.out: e5m2]", "scaler=constant"],
    "resnet20 fp32": [*RESNET20, "precision=fp32"],
    "resnet20 fp32, range norms": [*RESNET20, "precision=fp32", "model.norm=range", "threads=2"],
    "shufflenet-v2 1/6/9/d, range norms, fuse=off":
        [*SHUFFLENET, "precision=1/6/9/d", "model.norm=range", "fuse=off"],
    "resnet20 fp16": [*RESNET20, "precision=fp16", "threads=2"],
    "resnet20 1/6/9/d, cosine schedule":
        [*RESNET20, "precision=1/6/9/d", "lr.schedule=cosine", "seed=5", "eval.weights=rounded"],
    "resnet20 hfp8, fuse=off, recompute=off":
        [*RESNET20, "precision=hfp8", "fuse=off", "recompute=off"],
    "resnet20 operator": [*RESNET20, "precision=operator"],
    "resnet20 winograd":
        ["model=resnet20", *DEEP, "precision=bf16", "products=winograd", "batch=12", "run.chunk=5",
         "steps=3"],
    "resnet18 demote:0.5": [*RESNET18, "precision=demote:0.5"],
    "resnet18 demote:memory=0.4, storage=dense":
        [*RESNET18, "precision=demote:memory=0.4", "storage=dense", "threads=2"],
    "squeezenet uniform": [*SQUEEZENET, "precision=uniform"],
    "squeezenet 1/6/9, products rounded before their biases":
        [*SQUEEZENET, "precision=1/6/9", "threads=2"],
    "squeezenet bf16, recompute=off": [*SQUEEZENET, "precision=bf16", "recompute=off"],
    "shufflenet-v2 1/6/9/d": [*SHUFFLENET, "precision=1/6/9/d"],
    "shufflenet-v2 hfp8, storage=float32": [*SHUFFLENET, "precision=hfp8", "storage=float32"],
    "mobilenet-v2 fp16": [*MOBILENET, "precision=fp16", "scaler.init=1024", "threads=2"],
    "mobilenet-v2 operator-out": [*MOBILENET, "precision=operator-out"],
    "davidnet fp32": [*DAVIDNET, "precision=fp32"],
    "davidnet hfp8": [*DAVIDNET, "precision=hfp8", "threads=2"],
    "resnet50 bf16": [*RESNET50, "precision=bf16"],
    "cvae-s hfp8, adam": [*CVAE, "precision=hfp8", "optimizer.accumulate=2"],
    "cvae-s 1/6/9, rmsprop": [*CVAE, "precision=1/6/9", "optimizer=rmsprop", "task.beta=2", "threads=2"],
    "dcgan-s fp32": [*DCGAN, "precision=fp32", "threads=2"],
    "dcgan-s 1/6/9, parts": [*DCGAN, "precision=1/6/9", "optimizer.accumulate=2"],
    "dcgan-s hfp8, skipped turns": [*DCGAN, "precision=hfp8", "scaler=dynamic", "scaler.init=1e9",
                                    "scaler.backoff=1e-5"],
    "cnn-s hfp8 as Lee et al.'s code, skipped steps":
        [*CNN, "precision=hfp8", "precision.compat=lee", "scaler.init=8388608", "threads=2"],
    # Formats with scales.
    "cnn-s scale=current": [*CNN, "precision=e4m3fn:scale=current"],
    "cnn-s scale=delayed": [*CNN, "precision=e4m3fn:scale=delayed3", "threads=2"],
    "cnn-s scale=bias": [*CNN, "precision=fp(4,3,4):scale=bias"],
    "resnet20 mxfp8": [*RESNET20, "precision=mxfp8"],
    "resnet20 nvfp4, stochastic rounding": [*RESNET20, "precision=nvfp4 sr", "threads=2"],
    "cnn-s mxfp4, mxfp8, mxfp8e5m2": [*CNN, "precision=w=mxfp4,act=mxfp8,grad=mxfp8e5m2"],
    # Accumulators.
    "fmac8:1/6/9": [*NARROW, "accumulator=fmac8:1/6/9"],
    "fmac8:1/6/9, f32fma": [*NARROW, "accumulator=fmac8:1/6/9", "accumulator.semantics=f32fma",
                            "threads=2"],
    "kahan:1/6/9": [*NARROW, "accumulator=kahan:1/6/9"],
    "kahan-cpd:e5m10, cpd":
        [*NARROW, "accumulator=kahan-cpd:e5m10", "accumulator.semantics=cpd", "threads=2"],
    "without subnormals, to the nearest":
        [*NARROW, "precision=1/5/10/n:sub=nearest", "accumulator=fmac8:1/6/9/n:sub=nearest"],
    "accumulators by rules":
        [*NARROW, "accumulator=fmacs", "accumulator.count_every=2",
         "accumulator.rules=[fc: fp32, 'conv2.weight_grad: mac:fp16']"],
    # Updates and data.
    "accumulated parts": [*RESNET20, "precision=bf16", "optimizer.accumulate=3", "threads=2"],
    "adam, clipped": [*CNN, "precision=bf16", "optimizer=adam", "lr=0.01",
                      "optimizer.clip_norm=0.1", "optimizer.accumulate=2"],
    "adamw without masters": [*CNN, "precision=fp16", "optimizer=adamw", "lr=0.002", "master=off"],
    "lars": [*CNN, "precision=bf16", "optimizer=lars", "optimizer.accumulate=2"],
    "lars as CPD's, some tensors without decay":
        [*CNN, "precision=fp16", "model.width=2", "optimizer=lars", "optimizer.compat=cpd",
         "optimizer.no_decay=*bn*, fc.bias", "optimizer.weight_decay=0.01", "lr=4"],
    "sgd without masters, stochastic rounding":
        [*CNN, "precision=bf16 sr", "master=off", "optimizer.weight_decay=0.001", "steps=9"],
    "augmented": [*CNN, "precision=hfp8", "data.augment=[crop, flip, cutout]", "data.pad=3",
                  "data.cutout=9"],
    "augmented, mirrored borders, own constants, whole batches":
        [*CNN, "precision=bf16", "data.augment=[crop, flip, cutout]", "data.border=reflect",
         "data.pad=5", "data.cutout=7", "data.mean=0.4, 0.5, 0.6", "data.std=0.2, 0.3, 0.25",
         "data.drop_last=on"],
    # A number for every pixel.
    "fcn-s 1/6/9/d": [*FCN, "precision=1/6/9/d"],
    "fcn-s demote:0.6, threads": [*FCN, "precision=demote:0.6", "threads=2"],
    # Boxes.
    "ssd-s fp16, parts": [*SSD, "precision=fp16", "scaler.init=256", "optimizer.accumulate=2"],
    "ssd-s demote:0.5, log-probabilities, without norms":
        [*SSD, "precision=demote:0.5", "loss=ssd_nll", "model.norm=off", "threads=2"],
    "faster-rcnn-s 1/6/9, parts": [*RCNN, "precision=1/6/9", "optimizer.accumulate=2", "threads=2"],
    "faster-rcnn-s hfp8": [*RCNN, "precision=hfp8", "lr=0.01"],
    "pan-s hfp8": [*PAN, "precision=hfp8"],
    # Overflows, promotion, resuming.
    "skipped steps, fp16": [*CNN, "precision=fp16", "scaler.init=1e9", "scaler.backoff=0.01"],
    "skipped steps, e4m3fn, accumulated parts":
        [*CNN, "precision=e4m3fn", "scaler=dynamic", "scaler.init=1e6", "scaler.backoff=0.01",
         "optimizer.accumulate=2", "threads=2"],
    "promotion": PROMOTING,
    "promotion, resumed": [*PROMOTING, "steps=7", "lr.schedule=constant"],
    "scale=delayed, adam, resumed":
        [*CNN, "precision=e5m2:scale=delayed4", "optimizer=adam", "lr=0.002", "steps=3",
         "lr.schedule=constant"],
    "skipped steps, resumed":
        [*CNN, "precision=hfp8", "scaler.init=1e20", "scaler.backoff=1e-6", "scaler.interval=2",
         "steps=2", "lr.schedule=constant"],
}
# The scratch of a product with an accumulator depends on the instruction set (its bits do not, says
# accumulator_test): such jobs take the one that every machine has.
SCALAR = {"env": {**os.environ, "HALFULP_MAX_ISA": "scalar"}}
# What a second process adds to a job.
RESUMED = {"promotion, resumed": ["steps=16"], "scale=delayed, adam, resumed": ["steps=7"],
           "skipped steps, resumed": ["steps=6", "threads=2"]}


def canonical(rows):
    """The rows as one text; tasks without an accuracy have no such column."""
    return "\n".join(",".join(row.get(column, "") for column in COLUMNS) for row in rows)


def run(name, cwd):
    """What the table holds of a job."""
    words = JOBS[name]
    accumulates = any(word.startswith("accumulator=") for word in words)
    if "data=dense:maps" in words:
        program.write_maps(cwd)
    if "data=boxes:boxes" in words:
        program.write_boxes(cwd)
    if "data=pairs:pictures" in words:
        program.write_pictures(cwd)
    made = program.train(*words, cwd=cwd, **(SCALAR if accumulates else {}))
    if name in RESUMED:
        made = program.resume("run", *RESUMED[name], cwd=cwd)
    found = {key: made[key] for key in RESULTS}
    found.update((key, float(made[key]).hex()) for key in SHARES)
    found["rows_crc32"] = f"{zlib.crc32(canonical(program.rows(cwd)).encode()):08x}"
    found["ledger_bytes"] = made["ledger_bytes"]
    return found


def job(name):
    def test(checks, cwd):
        found = run(name, cwd)
        for key, expected in table.get(name, {}).items():
            checks.same(found[key], expected, f"{name}: {key}")
    return test


def worth_keeping(checks, _):
    """The table has every job, and the jobs do what they are there for."""
    checks.same(list(table), list(JOBS), "jobs of hashes.json")
    checks.same(len({row["weights_hash"] for row in table.values()}), len(JOBS), "different hashes")
    for name, row in table.items():
        skipped, promoted = row["skipped_steps"], row["promoted"]
        checks.same(skipped > 0, "skipped" in name, f"{name}: {skipped} skipped steps")
        checks.that(skipped < row["steps"] - 1, f"{name}: {skipped} skipped steps")
        checks.same(promoted > 2, "promotion" in name, f"{name}: {promoted} promoted tensors")


def record():
    made = {}
    for name in JOBS:
        with tempfile.TemporaryDirectory() as cwd:
            made[name] = run(name, cwd)
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(json.dumps(made, indent=1) + "\n")


if sys.argv[1:] == ["--record"]:
    record()
else:
    with open(TABLE, encoding="utf-8") as recorded:
        table = json.load(recorded)
    program.main(worth_keeping, *map(job, JOBS))
