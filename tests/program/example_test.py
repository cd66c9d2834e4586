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

    def folder_of(self, run):
        """Files of a run with their bytes, those with times and speeds without."""
        files = {}
        for where, _, names in os.walk(Path(self.folder) / run):
            for name in names:
                path = Path(where) / name
                if not name.startswith(("events.out", "progress", "result", "env", "report", "metrics", "step-")):
                    files[str(path.relative_to(Path(self.folder) / run))] = path.read_bytes().replace(run.encode(), b"RUN")
        return files

    def test_a_folder_is_that_of_the_program(self):
        words = [*WORDS, "model=cnn-s", "precision=hfp8", "run.log_every=1", "run.checkpoint_every=2"]
        ours = run(BUILD / "example_model", *words, "run.dir=ours", cwd=self.folder)
        self.assertEqual((ours.returncode, ours.stderr), (0, ""))
        theirs = run(BUILD / "halfulp", "train", *words, "run.dir=theirs", cwd=self.folder)
        self.assertEqual(hash_of(ours.stdout), hash_of(theirs.stdout))
        self.assertEqual(set(os.listdir(f"{self.folder}/theirs")) - {"report.html"} - {name for name in os.listdir(f"{self.folder}/theirs") if name.startswith("events")},
                         {name for name in os.listdir(f"{self.folder}/ours") if not name.startswith("events")})
        mine, others = self.folder_of("ours"), self.folder_of("theirs")
        self.assertEqual(sorted(mine), sorted(others))
        for name in mine:
            self.assertEqual(mine[name], others[name], name)
        for name in ("why", "stats", "report", "eval", "watch", "export"):
            made = run(BUILD / "halfulp", name, "ours", cwd=self.folder)
            self.assertEqual((made.returncode, made.stdout != ""), (0, True), f"{name}: {made.stderr}")
        made = run(BUILD / "halfulp", "resume", "ours", "steps=8", cwd=self.folder)
        again = run(BUILD / "halfulp", "resume", "theirs", "steps=8", cwd=self.folder)
        self.assertEqual(hash_of(made.stdout), hash_of(again.stdout))
        made = run(BUILD / "example_model", *words, "run.dir=ours", cwd=self.folder)
        self.assertEqual(made.returncode, 2)
        self.assertIn("ours holds a run already", made.stderr)

    def test_a_network_of_the_program_leaves_a_run(self):
        plain = run(BUILD / "example_network", cwd=self.folder)
        kept = run(BUILD / "example_network", "spiral", cwd=self.folder)
        self.assertEqual((kept.returncode, kept.stdout), (0, plain.stdout))
        for words, part in ((["why", "spiral"], "fc3.out.grad"), (["stats", "spiral"], "fc2"), (["list", "."], "spiral"),
                            (["watch", "spiral"], "finished after"), (["report", "spiral"], "report.html")):
            made = run(BUILD / "halfulp", *words, cwd=self.folder)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertIn(part, made.stdout, words)
        for verb in ("resume", "eval", "predict", "export"):
            made = run(BUILD / "halfulp", verb, "spiral", cwd=self.folder)
            self.assertEqual(made.returncode, 2, f"{verb}: {made.stderr}")
            self.assertIn("a program has declared", made.stderr, verb)

    def test_errors_name_the_nearest(self):
        made = run(BUILD / "example_model", "modle=cnn-s", cwd=self.folder)
        self.assertEqual(made.returncode, 2)
        self.assertIn("'model'", made.stderr)


if __name__ == "__main__":
    if not (BUILD / "example_model").exists():
        sys.exit("the examples are not built")
    unittest.main()
