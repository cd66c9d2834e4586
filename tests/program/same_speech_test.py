"""The speech network is torch's: bench/peers/same_speech.py says so, where torch is installed."""
import sys

import program

for out in program.peers("same_speech.py", ["--steps=8"]):
    if out.count(" same\n") != 1:
        sys.exit(1)
