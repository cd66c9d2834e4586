"""The models are torch's: bench/peers/same_model.py says so, where torch is installed."""
import sys

import program

RUNS = (["cnn-s", "resnet20"],
        ["squeezenet", "shufflenet-v2", "mobilenet-v2", "davidnet", "resnet50", "--width=0.25"],
        ["alexnet-s", "googlenet-s", "inception3-s", "preresnet50-s", "deit-s"])

for words, out in zip(RUNS, program.peers("same_model.py", *RUNS)):
    models = [word for word in words if not word.startswith("--")]
    if out.count(" same\n") != len(models):
        sys.exit(1)
