"""What the scripts of training tables share: options, and trainings that are not run twice."""
import json
import os
import shutil
import subprocess
import sys


def option(name, usual):
    """Value of the last --NAME=VALUE."""
    found = [word.split("=", 1)[1] for word in sys.argv if word.startswith(f"--{name}=")]
    return found[-1] if found else usual


def places(usage):
    """The two words that are no options, as whole paths: the data, and where runs go."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(words) != 2:
        sys.exit(usage)
    return map(os.path.abspath, words)


def folder_of(out, name, seed):
    return os.path.join(out, f"{name.replace(' ', '-').replace(',', '')}-{seed}")


def result_of(folder):
    """What a training that has ended left; None: not run yet."""
    path = os.path.join(folder, "result.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def train(folder, keys):
    """A training that diverges has a result, too."""
    shutil.rmtree(folder, ignore_errors=True)
    program = os.path.abspath(option("halfulp", "build/halfulp"))
    words = [program, "train", *keys, f"run.dir={folder}", "--json"]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode not in (0, 4):
        sys.exit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")
