"""The examples train with the library alone, and give the bits of the program."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HALFULP"]).resolve().parent

WORDS = ["data=glyphs", "data.limit=128", "data.test_limit=64", "batch=32", "steps=6", "threads=2"]


def run(*words, cwd):
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd)


def hash_of(output):
    return re.search(r"weights hash ([0-9a-f]{16})", output)[1]


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="halfulp-example-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_a_model_has_the_hash_of_the_program(self):
        for more in (["model=cnn-s"], ["model=cnn-s", "precision=hfp8", "seed=3"],
                     ["model=resnet20", "model.width=0.5", "precision=e4m3fn:scale=current"]):
            ours = run(BUILD / "example_model", *WORDS, *more, cwd=self.folder)
            self.assertEqual((ours.returncode, ours.stderr), (0, ""))
            program = run(BUILD / "halfulp", "train", *WORDS, *more, cwd=self.folder)
            self.assertEqual(hash_of(ours.stdout), hash_of(program.stdout), more)

    def test_the_library_prints_nothing_and_leaves_no_files(self):
        words = ["batch=1000" if word == "batch=32" else word for word in WORDS]
        made = run(BUILD / "example_model", *words, "model=cnn-s", cwd=self.folder)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_network_learns_on_samples_of_the_program(self):
        made = run(BUILD / "example_network", cwd=self.folder)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertGreater(float(re.search(r"test accuracy ([0-9.]+) %", made.stdout)[1]), 95.0)
        again = run(BUILD / "example_network", cwd=self.folder)
        self.assertEqual(made.stdout, again.stdout)

    def test_errors_name_the_nearest(self):
        made = run(BUILD / "example_model", "modle=cnn-s", cwd=self.folder)
        self.assertEqual(made.returncode, 2)
        self.assertIn("'model'", made.stderr)


if __name__ == "__main__":
    if not (BUILD / "example_model").exists():
        sys.exit("the examples are not built")
    unittest.main()
