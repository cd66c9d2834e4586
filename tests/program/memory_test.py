"""Allocations that fail, in every verb: exit code 0 with the result as always, or 5 and a message about memory.

Each verb is run once to list the places (stacks of addresses) that allocate; then again for a place, whose first
allocation fails alone, and once more where all that follow fail too. The plain form draws a few places of each verb, or as
many as HALFULP_PLACES says; `memory_test.py exhaustive` hundreds, and takes the last allocation of each place as well.
`memory_test.py exhaustive NAME...` takes some scenarios only. tests/faults/fail_memory.c tells how."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from program import HALFULP, Checks, sanitizer, write_png

LIBRARY = os.path.join(os.path.dirname(HALFULP), "fail-memory.so")
SECONDS = 60  # of one child
PLACES = {"short": int(os.environ.get("HALFULP_PLACES", 3)), "exhaustive": 200}  # of one scenario
TINY = "data=glyphs data.limit=32 data.test_limit=8 batch=16 threads=1 model.width=0.05 run.quiet=on".split()
RUN = ["run.dir=run"]
TRAIN = ["train", *TINY, *RUN, "model=cnn-s"]
FULL = ["precision=hfp8", "steps=2", "run.histogram_every=1", "run.checkpoint_every=1", "run.log_every=1"]
ABOUT_MEMORY = re.compile("memory|allocat|thread", re.IGNORECASE)
# What is no word about memory: the verdicts of other failures.
OTHER_VERDICTS = re.compile("damaged|unknown|invalid|not supported|internal error|no such|version", re.IGNORECASE)


def scenarios(where):
    """name: (words, what the folder begins with, whether it changes, whether stdout is always the same)."""
    proto, texts, pictures = f"{where}/proto", f"{where}/texts", f"{where}/pictures"
    run = {"run": f"{proto}/run"}
    return {
        "help": (["--help"], {}, False, True),
        "fmt": (["fmt", "fp(4,3,4):ovf=sat"], {}, False, True),
        "fmt-json": (["fmt", "e4m3fn", "--json"], {}, False, True),
        "plan": (["plan", "model=cnn-s", "precision=hfp8", "batch=16", "threads=1"], {}, False, True),
        "plan-json": (["plan", "model=lstm-lm-s", "precision=fp16", "threads=1", "--json"], {}, False, True),
        "model": (["model", "resnet20", "precision=hfp8", "batch=16", "threads=1", "out=net.svg"], {}, True, True),
        "model-json": (["model", "lstm-lm-s", "threads=1", "out=net.yaml", "--json"], {}, True, True),
        "model-run": (["model", "run", "threads=1", "out=net.yaml"], run, True, True),
        "train": ([*TRAIN, *FULL], {}, True, False),
        "train-scaled": ([*TRAIN, "precision=e4m3fn:scale=delayed", "scaler=dynamic", "steps=2", "optimizer=adam",
                          "optimizer.state=bf16 sr", "run.histogram_every=1"], {}, True, False),
        "train-pictures": (["train", f"data=folder:{pictures}", "data.size=16", "model=cnn-s", "model.width=0.05",
                            "batch=2", "steps=2", "threads=1", *RUN], {}, True, False),
        "train-text": (["train", f"data=text:{texts}/train.txt", f"data.valid={texts}/valid.txt", "data.unit=word",
                        "model=transformer-lm-s", "model.width=0.125", "batch=2", "steps=2", "data.length=8",
                        "threads=1", *RUN], {}, True, False),
        "train-weights": ([*TRAIN, "steps=1", "init=w.safetensors"], {"w.safetensors": f"{proto}/w.safetensors"}, True,
                          False),
        "train-config": (["train", "config=c.yaml", *RUN], {"c.yaml": f"{proto}/run/config.resolved.yaml"}, True, False),
        "eval": (["eval", "run", "threads=1"], run, False, False),
        "resume": (["resume", "run", "steps=3"], run, True, False),
        "predict": (["predict", "run", "threads=1"], run, True, False),
        "export": (["export", "run", "out=w.safetensors"], run, True, False),
        "doctor": (["doctor"], {}, False, False),
        "bench": (["bench", "kernel=round", "format=fp16", "elements=100", "repeat=1", "seconds=0"], {}, False, False),
        "bench-step": (["bench", "step", *TINY, "model=cnn-s", "beside=none", "repeat=1", "seconds=0"], {}, False,
                       False),
        "gemm": (["gemm", "accumulator=fmac:fp16", "k=32"], {}, False, True),
        "comm": (["comm", "workers=4", "elements=256", "threads=1"], {}, False, False),
        "compare": (["compare", "precision=fp32,hfp8", "seeds=1", *TINY, "model=cnn-s", "steps=1", *RUN], {}, True,
                    False),
        "score": (["score", "hfp8", "score.networks=conv", "data.limit=32", "data.test_limit=8", "steps=1", "seeds=1",
                   "parallel=1", "run.quiet=on", *RUN], {}, True, False),
        "assign": (["assign", *TINY, "model=cnn-s", "steps=2", "seeds=1", "budget=memory:0.45",
                    "assign.random=0", "assign.rungs=1", "assign.short=0", *RUN], {}, True, False),
        "demo": (["demo", "data=glyphs", "data.limit=32", "data.test_limit=8", "batch=16", "steps=1", "threads=1", *RUN], {}, True, False),
        "report": (["report", "run", "-o", "page.html"], run, True, False),
        "help-verb": (["help", "train"], {}, False, True),
        "man": (["man", "train"], {}, False, True),
        "completion": (["completion", "bash"], {}, False, True),
        "list": (["list", "."], run, False, True),
        "watch": (["watch", "run"], run, False, True),
        "why": (["why", "run"], run, False, True),
        "why-json": (["why", "run", "--json"], run, False, True),
        "stats": (["stats", "run"], run, False, True),
    }


class Server:
    """The program before main, which forks a child for every fault (tests/faults/fail_memory.c)."""

    def __init__(self, words, cwd):
        command, self.commands = os.pipe()
        answers, answer = os.pipe()

        def descriptors():
            os.dup2(command, 198)
            os.dup2(answer, 199)

        env = {**os.environ, "LD_PRELOAD": LIBRARY, "GOMP_SPINCOUNT": "1000", "HALFULP_LOG": ""}
        self.process = subprocess.Popen([HALFULP, *words], cwd=cwd, env=env, close_fds=False, preexec_fn=descriptors,
                                        stdin=subprocess.DEVNULL)
        os.close(command)
        os.close(answer)
        self.answers = os.fdopen(answers)

    def run(self, number, kind, folder):
        """Exit code (negative: a signal), allocations, stdout and stderr of a child."""
        os.write(self.commands, f"{number} {kind} {SECONDS} {folder}\n".encode())
        status, made = map(int, self.answers.readline().split())
        texts = []
        for name in ("out", "err"):
            with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
        return os.waitstatus_to_exitcode(status), made, *texts

    def close(self):
        os.close(self.commands)
        self.process.wait()


def fill(folder, begins_with):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, source in begins_with.items():
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, f"{folder}/{name}")


def places(folder):
    """First and last number of each place that allocates."""
    found = {}
    with open(f"{folder}/list", encoding="ascii") as file:
        for line in file:
            number, place = line.split()
            found.setdefault(place, [int(number), 0])[1] = int(number)
    return list(found.values())


def verdict(name, code, out, err, expected):
    """What is wrong with an outcome, None if nothing is."""
    if code < 0:
        return f"signal {-code}"
    if name == "doctor" and code == 1 and ABOUT_MEMORY.search(out):
        return None  # one of its checks could not be made
    if code not in (0, 5):
        return f"exit code {code}"
    if code == 5 and not ABOUT_MEMORY.search(err):
        return "exit code 5 without a word about memory"
    if code == 5 and OTHER_VERDICTS.search(err.replace("out of memory", "")):
        return "another verdict"
    if code == 0 and expected is not None and out != expected:
        return "exit code 0 with another result"
    return None


def tell(server, number, folder, scenario):
    """The calls that led to an allocation."""
    if scenario[2]:
        fill(folder, scenario[1])
    server.run(number, "tell", folder)
    with open(f"{folder}/list", encoding="utf-8", errors="replace") as file:
        frames = [line.split("/")[-1].split("[")[0] for line in file][2:10]
    print("    " + " < ".join(frames), flush=True)


def sweep(checks, where, name, scenario, is_long):
    words, begins_with, changes, is_same = scenario
    folder = f"{where}/{name}"
    fill(folder, begins_with)
    server = Server(words, folder)
    code, made, expected, err = server.run(0, "list", folder)
    if not checks.that(code == 0, f"{name}: exit code {code}: {err}"):
        server.close()
        return
    found = places(folder)
    draw = random.Random(name)
    chosen = draw.sample(found, min(PLACES["exhaustive" if is_long else "short"], len(found)))
    faults = [(first, kind) for first, _ in chosen for kind in ("one", "all")]
    if is_long:
        faults += [(last, "one") for first, last in chosen if last != first]
    told = ends = 0
    for number, kind in faults:
        if changes:
            fill(folder, begins_with)
        code, _, out, err = server.run(number, kind, folder)
        wrong = verdict(name, code, out, err, expected if is_same else None)
        ends += code == 0
        told += code == 5
        if not checks.that(wrong is None, f"{name}, allocation {number} ({kind}): {wrong}: {err[-400:]!r}"):
            tell(server, number, folder, scenario)
    server.close()
    print(f"{name}: {made} allocations at {len(found)} places, {len(faults)} faults: {told} told, {ends} not missed",
          flush=True)


def prepare(where):
    """A run with everything, its weights, pictures and texts."""
    os.makedirs(f"{where}/proto")
    for words in ([*TRAIN, *FULL], ["export", "run", "out=w.safetensors"]):
        subprocess.run([HALFULP, *words], cwd=f"{where}/proto", check=True, capture_output=True)
    for half in ("train", "val"):
        for c in range(2):
            for k in range(2):
                write_png(f"{where}/pictures/{half}/{c}/{k}.png", 20, 20, 3, lambda x, y, _: (x * c + y * k) % 256)
    os.makedirs(f"{where}/texts")
    for part in ("train", "valid"):
        with open(f"{where}/texts/{part}.txt", "w", encoding="utf-8") as file:
            file.write("the cat sat on the mat and the dog ran from the cat\n" * 8)


def verbs():
    out = subprocess.run([HALFULP], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\w+) ", out.split("usage:")[1], re.MULTILINE)


def main(words):
    if sanitizer() or not os.path.exists(LIBRARY):
        print("skipped: the sanitizers have allocators of their own" if sanitizer() else f"skipped: no {LIBRARY}")
        return 77
    checks, is_long = Checks(), words[:1] == ["exhaustive"]
    with tempfile.TemporaryDirectory() as where:
        prepare(where)
        known = scenarios(where)
        if not words[1:]:
            for verb in verbs():
                checks.that(any(verb in s[0] for s in known.values()), f"no scenario for the verb {verb}")
        for name, scenario in known.items():
            if not words[1:] or name in words[1:]:
                sweep(checks, where, name, scenario, is_long)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
