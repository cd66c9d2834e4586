"""A step of every rounding scheme has the counts and the weights that bench/peers/scheme_step.py, written
from the papers, finds with torch, where that is installed."""
import sys

import program

MODELS = ("resnet20", "squeezenet")
SCHEMES = 5

(output,) = program.peers("scheme_step.py", list(MODELS))
sys.exit(output.count("  same\n") != len(MODELS) * SCHEMES)
