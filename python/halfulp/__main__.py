"""`python -m halfulp`: the program."""

import os
import sys

from .program import program_path


def main() -> None:
    """Become the program, with the same words."""
    path = program_path()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
