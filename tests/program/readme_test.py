"""Every command of the README that calls the program is run, on small data where it would take long."""
import os
import shlex

import program

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SMALL = ["data.limit=96", "data.test_limit=16", "batch=16", "steps=2", "threads=1"]
TRAINING = ("train", "compare")
# Minutes even where they are small; tests of their own run them.
ELSEWHERE = ("assign", "bench")


def commands():
    """(words behind the program's name, the line) of every line of the README that calls it."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("    ") and "halfulp " in line:
                yield shlex.split(line[line.index("halfulp ") + len("halfulp "):], comments=True), line.strip()


def small(words, place):
    """The words of a command with data that are here, in a size for tests."""
    verb = words[0]
    data = {"cifar10:DIR": "glyphs", "folder:DIR": "folder:pictures", "RUN...": "run", "RUN": "run",
            "A.png": "pictures/val/a/0.png"}
    for name, here in data.items():
        words = [here if word == name else word.replace(f"={name}", f"={here}") for word in words]
    if verb in TRAINING:
        words += SMALL + [f"run.dir=run-{place}"]
        words += [] if any(word.startswith("data=") for word in words) else ["data=glyphs"]
    return words


def every_command_runs(checks, cwd):
    for part in ("train", "val"):
        for label in ("a", "b"):
            for number in range(24 if part == "train" else 8):
                path = f"{cwd}/pictures/{part}/{label}/{number}.png"
                os.makedirs(os.path.dirname(path), exist_ok=True)
                program.write_png(path, 80, 76, 3, lambda x, y, c, n=number: (x * n + y + c) % 256)
    program.train(*program.TINY, "steps=2", cwd=cwd)
    os.symlink(os.path.join(ROOT, "examples"), os.path.join(cwd, "examples"))
    found = list(commands())
    checks.that(len(found) > 20, f"{len(found)} commands in the README")
    for place, (words, line) in enumerate(found):
        if words[0] in ELSEWHERE:
            print(f"not run here: {line}")
            continue
        call = small(words, place)
        code, _, err = program.call(*call, cwd=cwd)
        checks.same(code, 0, f"{line} (as halfulp {' '.join(call)}): exit code ({err.strip()[-300:]})")


program.main(every_command_runs)
