"""The inner loops of convolutions keep their sums, steps and pointers in registers."""
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

BUILD = Path(os.environ["HALFULP"]).resolve().parent
ARCHIVE = BUILD / "libhalfulp-kernel.a"

# Loops of multiply-adds that each function has at least, on all instruction sets together.
FUNCTIONS = {"outer_of_one": 15, "outer_of_some": 15, "masked_of_one": 15, "masked_of_some": 15,
             "taps_of": 20, "line_of": 20, "few": 15, "tile_of_one": 14}

INSTRUCTION = re.compile(r"\s+([0-9a-f]+):\s+(.*)")
JUMP = re.compile(r"j\w+\s+([0-9a-f]+)")
STACK = re.compile(r"\(%r[sb]p")


def cached(name):
    text = (BUILD / "CMakeCache.txt").read_text("utf-8")
    found = re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def functions(text):
    """Lists of (address, instruction), one for each function of a disassembly."""
    for part in re.split(r"^[0-9a-f]+ <", text, flags=re.MULTILINE)[1:]:
        found = [INSTRUCTION.match(line) for line in part.splitlines()]
        yield [(int(m[1], 16), m[2]) for m in found if m]


def innermost_loops(code):
    """Bodies that end with a jump back to their start and hold no other jump."""
    index = {address: i for i, (address, _) in enumerate(code)}
    for i, (address, words) in enumerate(code):
        jump = JUMP.match(words)
        start = index.get(int(jump[1], 16)) if jump else None
        if start is None or start > i:
            continue
        body = [words for _, words in code[start:i + 1]]
        if not any(JUMP.match(words) for words in body[:-1]):
            yield body


class Spills(unittest.TestCase):
    @unittest.skipUnless(shutil.which("objdump"), "objdump is not installed")
    @unittest.skipUnless(cached("CMAKE_BUILD_TYPE") == "Release", "not a release build")
    @unittest.skipUnless(os.uname().machine == "x86_64", "not an x86-64")
    def test_no_loop_of_multiply_adds_reads_the_stack(self):
        for name, least in FUNCTIONS.items():
            text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}",
                                   ARCHIVE], check=True, capture_output=True, text=True).stdout
            loops = [body for code in functions(text) for body in innermost_loops(code)
                     if any("vfmadd" in words for words in body)]
            with self.subTest(function=name):
                self.assertGreaterEqual(len(loops), least)
                spilled = [body for body in loops if any(STACK.search(words) for words in body)]
                self.assertEqual(spilled, [])


if __name__ == "__main__":
    unittest.main()
