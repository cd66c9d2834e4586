"""The language models are torch's: bench/peers/same_text.py says so, where torch is installed."""
import sys

import program

for out in program.peers("same_text.py", []):
    if out.count(" same\n") != 4:
        sys.exit(1)
