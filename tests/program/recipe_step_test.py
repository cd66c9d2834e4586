"""A step of every recipe that rounds what products multiply has the counts and the weights that
bench/peers/recipe_step.py, written from the recipes' descriptions, finds with torch, where that is installed."""
import sys

import program

MODELS = ("resnet20", "deit-s")
COMPARISONS = 5 + 6  # ResNet-20 has no unrounded one

(output,) = program.peers("recipe_step.py", list(MODELS))
sys.exit(output.count("  same\n") != COMPARISONS)
