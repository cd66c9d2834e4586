"""Faster-RCNN is torch's: bench/peers/same_regions.py says so, where torch is installed."""
import sys

import program

OUT, = program.peers("same_regions.py", [])
if OUT.count(" same\n") != 2:
    sys.exit(1)
