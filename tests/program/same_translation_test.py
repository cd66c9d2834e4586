"""seq2seq-s is torch's: bench/peers/same_translation.py says so, where torch is installed."""
import sys

import program

for out in program.peers("same_translation.py", []):
    if out.count(" same\n") != 1:
        sys.exit(1)
