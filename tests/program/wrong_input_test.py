"""What people type by mistake: the exit code, and the words that say what was found and what to write."""
import os
import shutil
import subprocess

import program

TINY = ["train", *program.TINY, "run.quiet=on", "steps=1"]
# Commands that are refused before a training: words, exit code, decisive parts of the message.
REFUSED = [
    (["train", "data=mnist"], 2, ["found 'mnist'", "idx:DIR", "fashion-mnist"]),
    (["train", "data=/tmp/cifar"], 2, ["the path '/tmp/cifar' alone", "as cifar10:/tmp/cifar"]),
    (["train", "data=./pictures"], 2, ["the path './pictures' alone", "as folder:./pictures"]),
    (["train", "data=bits"], 2, ["the path 'bits' alone", "as cifar10:bits"]),
    (["train", "data=cifar10:/nope"], 3, ["found no file or folder '/nope'", "binary version"]),
    (["train", "data=cifar10:empty"], 3, ["empty: found no data_batch_1.bin"]),
    (["train", "data=folder:/nope"], 3, ["found no file or folder '/nope'", "train/CLASS"]),
    (["train", "data=text:/nope"], 3, ["found no file or folder '/nope'", "a file of text"]),
    (["train", "data=speech:/nope"], 3, ["found no file or folder '/nope'", ".wav"]),
    (["train", "data=text:empty", "model=lstm-lm-s"], 2, ["empty: found a folder, expected a file"]),
    (["train", "data=text"], 2, ["expected 'text:FILE'"]),
    (["train", "data=text:words.txt", "model=lstm-lm-s", "data.min_count=3"], 2,
     ["data.min_count=3", "no effect on bytes", "data.unit=word"]),
    (["train", "data=parallel:empty", "data.source=en", "data.target=en"], 2,
     ["data.target: found 'en'", "another language"]),
    (["train", "data=glyphs", "data.frames=100"], 2, ["data.frames=100", "speech:DIR and sounds:DIR only"]),
    (["train", "data=folder:gif"], 3, ["x.png: found a GIF file, expected JPEG, PNG or WebP"]),
    (["train", "data=folder:half"], 3, ["half/", "val or test"]),
    (["train", "model=resnet51"], 2, ["'resnet51'", "'resnet50'"]),
    (["train", "precision=fp8"], 2, ["'fp8' is unknown", "e4m3fn", "e5m2", "hfp8"]),
    (["train", "precision=int8"], 2, ["'int8' is unknown", "uniform8", "mxint8"]),
    (["train", "precision=bfloat16"], 2, ["expected bf16"]),
    (["fmt", "float16"], 2, ["expected fp16"]),
    (["train", "precision=7bit"], 2, ["'7bit' is unknown", "e3m3", "uniform7"]),
    (["fmt", "8-bit"], 2, ["'8-bit' is unknown", "e4m3fn", "uniform8"]),
    (["fmt", "1/4/3", "bias=9"], 2, ["found 'bias=9' apart from '1/4/3', expected '1/4/3:bias=9'"]),
    (["fmt", "mxfp8", "scale=ceil"], 2, ["expected 'mxfp8:scale=ceil'"]),
    (["train", "ovf=sat"], 2, ["unknown key 'ovf', which is a part of a format's name"]),
    (["fmt", "float8_e4m3fn"], 2, ["expected e4m3fn", "e4m3fn:ovf=sat"]),
    (["fmt", "posit40"], 2, ["'posit40', column 6: found 40, expected bits 3..16"]),
    (["train", "precision=takum99"], 2, ["precision 'takum99'", "column 6: found 99, expected bits 3..16"]),
    (["train", "precision=w=nf8,act=fp16"], 2, ["column 1: format 'nf8' is unknown, expected nf4, or table:FILE"]),
    (["train", "precision.rules=fc.weight: hif16"], 2, ["'hif16' is unknown, expected hif8 (HiFloat8)"]),
    (["train", "optimizer.state=lns80 sr"], 2, ["'lns80', column 4: found 80, expected bits 3..16"]),
    (["gemm", "accumulator=fmac:binary8p3"], 2, ["column 10: found the end, expected 's' or 'u', as in binary8p3se"]),
    (["gemm", "accumulator=fmac:posit8"], 2, ["found a format by table, expected a float"]),
    (["fmt", "binary8p9se"], 2, ["found K = 8, P = 9, signed", "K = 3..16"]),
    (["train", "precision=e4m3fn:scale=f32"], 2, ["found 'f32', expected current", "as e4m3fn:tile=1x128:scale=f32"]),
    (["fmt", "binary16p3se"], 2, ["found K = 16, P = 3, signed, whose numbers float32 does not hold", "as P = 8"]),
    (["fmt", "binary16p3uf"], 2, ["expected K - P up to 8 (signed), 7 (unsigned), as P = 9"]),
    (["fmt", "p3109"], 2, ["expected binaryKpP and s or u, e or f (binary8p3se)"]),
    (["fmt", "binary"], 2, ["expected binaryKpP and s or u", "book:-1..1:2"]),
    (["fmt", "table"], 2, ["expected table:FILE, a file with a number for each code"]),
    (["fmt", "book"], 2, ["expected book:LO..HI:N"]),
    (["fmt", "deepseek-fp8"], 2, ["'deepseek-fp8' is a precision", "precision=deepseek-fp8", "`halfulp help deepseek-fp8`"]),
    (["fmt", "hfp8"], 2, ["'hfp8' is a precision", "precision=hfp8"]),
    (["fmt", "tc:h100-fp8"], 2, ["'tc:h100-fp8' is an accumulator", "accumulator=tc:h100-fp8"]),
    (["fmt", "table:none:foo=3"], 3, ["found no file 'none:foo=3'", "':bias=', ':ovf=', ':scale=' or ':tile='"]),
    (["fmt", "table:none"], 3, ["none: cannot open"]),
    (["fmt", "table:pipe"], 2, ["pipe: found a pipe, expected a file: a table is read wherever its name is"]),
    (["train", "precision=table:pipe:scale=current"], 2, ["pipe: found a pipe, expected a file"]),
    (["fmt", "table:/dev/null"], 2, ["/dev/null: found a device, expected a file"]),
    (["comm", "format=unum8"], 2, ["expected a float", "unums are not known"]),
    (["plan", "precision=int7"], 2, ["'int7' is unknown, expected uniform7"]),
    (["plan", "precision=e5m10x"], 2, ["'e5m10x'", "formats are written e3m4", "`halfulp help formats`"]),
    (["train", "--lr=0.1"], 2, ["found '--lr=0.1'", "write lr=0.1"]),
    (["train", "--precision", "hfp8"], 2, ["found '--precision'", "write precision=hfp8"]),
    (["train", "--batch-size", "64"], 2, ["write batch=64"]),
    (["train", "-lr", "0.1"], 2, ["write lr=0.1"]),
    (["train", "learning_rate=0.1"], 2, ["unknown key 'learning_rate', expected 'lr'"]),
    (["train", "lr"], 2, ["found 'lr' alone, expected a value: lr=...\n"]),
    (["train", "cnn-s"], 2, ["found 'cnn-s', expected key=value or a flag: model=cnn-s\n"]),
    (["train", "hfp8"], 2, ["or a flag: precision=hfp8\n"]),
    (["train", "folder:pics"], 2, ["or a flag: data=folder:pics\n"]),
    (["train", "zzz"], 2, ["found 'zzz', expected key=value or a flag\n"]),
    (["compare", "fp32", "e4m3", "data=glyphs"], 2, ["found 'fp32'", ": precision=fp32,e4m3\n"]),
    # What a shell cuts off, and blanks around '='.
    (["train", "precision=e4m3", "sr"], 2,
     ["found 'sr' behind 'precision=e4m3'", 'stands in quotes: "precision=e4m3 sr"\n']),
    (["train", "precision=w=e4m3,act=e4m3", "sr,grad=e5m2"], 2, ['"precision=w=e4m3,act=e4m3 sr,grad=e5m2"\n']),
    (["train", "precision.rules=fc.weight:", "fp16"], 2, ['"precision.rules=fc.weight: fp16"\n']),
    (["train", "data=folder:my", "own", "pics", "lr=1"], 2, ['"data=folder:my own pics"\n']),
    (["train", "model", "=", "cnn-s"], 2, ["found 'model' apart from '='", "no blanks around it: model=cnn-s\n"]),
    (["train", "model", "=cnn-s"], 2, [": model=cnn-s\n"]),
    (["train", "lr=", "0.1"], 2, ["found 'lr=' apart from '0.1'", ": lr=0.1\n"]),
    (["predict", "run", "text=the", "cat"], 2, ["found 'cat' beside 'text=the'", "in quotes"]),
    # Commas for points, files for runs, numbers for formats.
    (["train", "lr=0,2"], 2, ["found '0,2', expected a finite number, with a point: 0.2\n"]),
    (["train", "data.validation=0,2"], 2, ["with a point: 0.2\n"]),
    (["plan", "precision=demote:0,6:random"], 2, ["precision 'demote:0,6:random': found '0,6', expected a number with a point: 0.6"]),
    (["plan", "precision=demote:memory=0,35"], 2, ["found '0,35', expected a number with a point: 0.35"]),
    (["assign", "budget=memory:0,35", "data=glyphs"], 2, ["found 'memory:0,35', expected a number with a point: 0.35\n"]),
    (["predict", "config.yaml"], 3, ["config.yaml: no run folder (it is a file)", "halfulp predict RUN config.yaml\n"]),
    (["predict", "my cat.jpg"], 3, ["halfulp predict RUN 'my cat.jpg'\n"]),
    (["predict", "nowhere"], 3, ["nowhere: no run folder (config.resolved.yaml is not there)\n"]),
    (["why", "config.yaml"], 3, ["config.yaml: no run folder (it is a file)\n"]),
    (["report", "run", "-o"], 2, ["found '-o' at the end, expected a file: -o FILE\n"]),
    (["report", "-o", "--json", "run"], 2, ["found '--json' behind '-o', expected a file"]),
    (["fmt", "e5m1", "0.1"], 2, ["found the number '0.1'", "one a line: echo 0.1 | halfulp fmt e5m1 --round\n"]),
    (["fmt", "e5m1", "--round", "-0.5"], 2, ["echo -0.5 | halfulp fmt e5m1 --round\n"]),
    (["fmt", "e5m1", "--encode", "1e-3", "3"], 2, ["echo 1e-3 | halfulp fmt e5m1 --encode\n"]),
    (["fmt", "mxfp8", "0,5"], 2, ["found the number '0,5'", "echo 0.5 | halfulp fmt mxfp8 --round\n"]),
    (["fmt", "e5m1", "--decode", "3f"], 2, ["found the code '3f'", "echo 3f | halfulp fmt e5m1 --decode\n"]),
    (["fmt", "0.1"], 2, ["echo 0.1 | halfulp fmt e4m3fn --round\n"]),
    (["fmt", "e5m1", "e4m3", "--round"], 2, ["a stream of numbers for 2 formats, expected one"]),
    (["fmt", "e5m1", "e4m3x"], 2, ["format 'e4m3x'"]),
    (["train", "epochs=1", "steps=5"], 2, ["'epochs=1' beside 'steps=5'", "one of them"]),
    (["train", "precision=hfp8", "precision=fp32"], 2,
     ["'precision=fp32' behind 'precision=hfp8'", "precision.name once"]),
    (["train", "lr=1", "lr.base=2"], 2, ["'lr.base=2' behind 'lr=1'"]),
    (["train", "threads=0"], 2, ["invalid argument: threads=0: key 'run.threads'", "found '0'", "from 1 to 4096"]),
    (["train", "run.threads=x"], 2, ["command line: key 'run.threads': found 'x'"]),
    (["train", "seed=x"], 2, ["seed=x: key 'run.seed': found 'x', expected a decimal integer"]),
    (["train", f"batch={'9' * 200}"], 2, [": batch: key 'run.batch'", "an integer of 64 bits"]),
    (["export", "run", "weights=average"], 2, ["weights: found average", "master or rounded"]),
    (["plan", "out="], 2, ["out: found ''"]),
    (["train", "epochs=-1"], 2, ["invalid argument", "run.epochs", "found '-1'", "from 0"]),
    (["train", "optimizer=sgdd"], 2, ["invalid argument", "found 'sgdd'", "adamw"]),
    (["train", "lr=fast"], 2, ["cannot be parsed", "lr.base", "found 'fast'"]),
    (["train", "config=config.yaml"], 2, ["config.yaml:1:1", "'config'", "command lines only"]),
    (["train", "config=empty"], 2, ["empty: found a folder, expected a file"]),
    (["train", "config=none.yaml"], 3, ["none.yaml"]),
    (["train", "data=glyphs", "init=empty"], 2, ["empty: found a folder, expected a file"]),
    # What other programs have, by name.
    (["train", "device=cuda"], 2, ["unknown key 'device': there is no GPU here", "threads=N"]),
    (["train", "--device", "cuda"], 2, ["found '--device'", "there is no GPU here"]),
    (["train", "--gpus=2"], 2, ["there is no GPU here"]),
    (["train", "amp=on"], 2, ["unknown key 'amp'", "precision=fp16"]),
    (["train", "num_workers=4"], 2, ["threads=N", "workers=N how many workers share a batch"]),
    (["train", "lr_scheduler=cosine"], 2, ["expected 'lr.schedule'"]),
    (["train", "imgsz=64"], 2, ["expected 'data.size'"]),
    (["train", "resume=run"], 2, ["`halfulp resume RUN`"]),
    (["train", "model=gpt2"], 2, ["model 'gpt2' is not known", "transformer-lm-s"]),
    (["train", "model=yolov8n"], 2, ["ssd-s and faster-rcnn-s"]),
    (["train", "model=net.onnx"], 2, ["ONNX files cannot be read", "examples/network.c"]),
    (["train", "model=mynet.py"], 2, ["a network of Python cannot be read"]),
    (["train", "model=my.pt"], 2, ["init=FILE.safetensors"]),
    (["train", "data=CIFAR10:bits"], 2, ["found 'CIFAR10:bits', expected cifar10:bits"]),
    (["train", "data=text:words.txt"], 2, ["needs a field 'image'", "model cnn-s", "lstm-lm-s"]),
    (["test", "run"], 2, ["unknown verb 'test', expected `halfulp eval RUN`"]),
    (["info"], 2, ["`halfulp model NAME`"]),
    (["list", "models"], 3, ["models: no such folder", "`halfulp help models`"]),
    (["compare", "cut", "bare"], 2, ["found 'cut'", "`halfulp report RUN...`"]),
    (["man", "halfulp2"], 2, ["expected a verb, halfulp or nothing"]),
    (["why"], 2, ["found no RUN", "halfulp why RUN", "folder of a training"]),
    (["why", "run", "nosuch"], 2, ["no tensor 'nosuch'", "nearest"]),
    (["why", "empty"], 3, ["empty: no run folder"]),
    (["export", "run", "out=."], 2, [".: found a folder, expected a file"]),
    (["predict", "run", "out=."], 2, [".: found a folder, expected a file"]),
    (["plan", "out=."], 2, [".: found a folder, expected a file"]),
    (["report", "run", "out=."], 2, [".: found a folder, expected a file"]),
    (["resume", "run", "model=resnet20"], 2, ["model.name", "'resnet20'", "'cnn-s'", "keeps its model"]),
    (["resume", "cut"], 3, ["file size: found 1000, expected", "there is no older checkpoint"]),
    (["eval", "cut"], 3, ["file size: found 1000, expected"]),
    (["resume", "bare"], 3, ["no run folder", "config.resolved.yaml"]),
    (["resume", "ended"], 3, ["ended: found result.json", "no checkpoint"]),
]
# Keys beside others that leave them without effect.
IDLE = [
    (["scaler=none", "scaler.init=1024"], "scaler.init=1024 has no effect with scaler=none"),
    (["optimizer=adam", "optimizer.momentum=0.9"], "optimizer.momentum=0.9 has no effect with optimizer=adam"),
    (["lr.schedule=cosine", "lr.milestones=[1,2]"], "lr.milestones=[1,2] has no effect with lr.schedule=cosine"),
    (["comm.schedule=ring"], "comm.schedule=ring has no effect with workers=1"),
    (["precision.promote_at=0.5"], "precision.promote_at=0.5 has no effect with precision=fp32"),
    (["precision.high=bf16"], "precision.high=bf16 has no effect with precision=fp32"),
    (["data.class_seed=4"], "data.class_seed=4 has no effect with data.classes=0"),
    (["accumulator.semantics=f32fma"], "accumulator.semantics=f32fma has no effect with accumulator=fp32"),
    (["lr.warmup=0", "lr.warmup_start=0.5"], "lr.warmup_start=0.5 has no effect with lr.warmup=0"),
    (["gemm.m=3"], "gemm.m=3 has no effect: halfulp train does not read it"),
    (["eval.average=off"], "eval.average=off has no effect with optimizer.average=0"),
]


def prepare(cwd):
    program.train(*TINY[1:], cwd=cwd)
    for copy in ("cut", "bare", "ended"):
        shutil.copytree(f"{cwd}/run", f"{cwd}/{copy}")
    for path in program.checkpoints(cwd, "cut").values():
        os.truncate(path, 1000)
    os.remove(f"{cwd}/bare/config.resolved.yaml")
    shutil.rmtree(f"{cwd}/ended/checkpoint")
    os.mkdir(f"{cwd}/empty")
    os.mkfifo(f"{cwd}/pipe")
    program.write_cifar(f"{cwd}/bits")
    program.put(cwd, "config.yaml", b"config: other.yaml\n")
    program.put(cwd, "words.txt", b"a text of few words\n" * 200)
    for name in ("a", "b"):
        program.put(cwd, f"half/train/{name}/x.png", program.png(8, 8, (9, 9, 9)))
        for part in ("train", "val"):
            program.put(cwd, f"gif/{part}/{name}/x.png", b"GIF89a\1\0\1\0\0\0\0;")


def what_is_refused(checks, cwd):
    prepare(cwd)
    before = sorted(os.listdir(cwd))
    for words, expected, parts in REFUSED:
        made = subprocess.run([program.HALFULP, *words], cwd=cwd, capture_output=True, text=True, timeout=program.patience(60))
        checks.same((made.returncode, made.stdout), (expected, ""), f"{words}: {made.stderr!r}")
        for part in parts:
            checks.that(part in made.stderr, f"{words}: {part!r} in {made.stderr!r}")
    checks.same(sorted(os.listdir(cwd)), before, "nothing is left behind")


def what_changes_nothing(checks, cwd):
    """Idle keys are warned of, and only those that were typed."""
    first = program.train(*TINY[1:], cwd=cwd)
    for number, (words, told) in enumerate(IDLE):
        code, _, err = program.call(*TINY, *words, f"run.dir=r{number}", cwd=cwd)
        checks.same((code, err.count("has no effect")), (0, 1), f"{words}: {err!r}")
        checks.that(f"warning: {told}\n" in err, f"{words}: {err!r}")
    for words in (["precision=uniform+promote", "precision.promote_at=0.5", "precision.high=bf16"],
                  ["accumulator=fmac8:1/6/9", "accumulator.semantics=f32fma"], ["data.validation=0.2", "data.class_seed=4"],
                  ["optimizer=adam", "optimizer.beta1=0.5"], ["scaler=constant", "scaler.init=8"]):
        code, _, err = program.call(*TINY, *words, f"run.dir={words[-1]}", cwd=cwd)
        checks.same((code, "no effect" in err), (0, False), f"{words}: {err!r}")
    code, out, err = program.call(*TINY, "batch=1000000", "run.dir=large", cwd=cwd)
    checks.that(code == 0 and "batch 1000000 is larger than the 96 training samples" in err, f"large batch: {err!r}")
    code, out, err = program.call("train", *program.TINY, "epochs=0", "run.dir=zero", cwd=cwd)
    checks.that(code == 0 and "0 steps" in out and "nan" not in out, f"no epoch: {out!r}")
    program.put(cwd, "a.yaml", b"scaler: {name: none, init: 1024}\n")
    code, _, err = program.call(*TINY, "config=a.yaml", "run.dir=file", cwd=cwd)
    checks.same((code, "no effect" in err), (0, False), f"a file may serve many trainings: {err!r}")
    code, _, err = program.call("resume", "run", "lr=0.5", cwd=cwd)
    checks.that(code == 0 and "lr=0.5 has no effect: the run is finished" in err, f"a finished run: {err!r}")
    code, out, err = program.call("plan", "model=resnet18", "batch=1000000", cwd=cwd)
    checks.that(code == 0 and "batch 1000000" in out, f"a plan allocates nothing: {err!r}")
    checks.that(first["steps"] == 1, "the run that is resumed has ended")


def lengths(checks, cwd):
    """epochs= of the command line takes the place of steps of a file."""
    program.put(cwd, "a.yaml", b"steps: 1\n")
    made = program.train(*[w for w in TINY[1:] if w != "steps=1"], "config=a.yaml", "epochs=1", cwd=cwd)
    checks.same(made["steps"], 3, "96 samples in batches of 32")


program.main(what_is_refused, what_changes_nothing, lengths)
