"""The library shows what its headers declare and nothing else; the headers are C and C++."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["HALFULP_SOURCE"])
BUILD = Path(os.environ["HALFULP"]).resolve().parent
HEADERS = sorted((SOURCE / "include" / "halfulp").glob("*.h"))
LIBRARY = BUILD / "libhalfulp.so"

DECLARED = re.compile(r"^(?:HU_API )?[a-z][\w ]*[ *](hu_\w+)\(", re.MULTILINE)
MARKED = re.compile(r"^HU_API [^;(]*?(hu_\w+)\(", re.MULTILINE)


def names(pattern):
    return {name for header in HEADERS for name in pattern.findall(header.read_text("utf-8"))}


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Library(unittest.TestCase):
    def test_every_public_function_is_marked(self):
        self.assertEqual(names(DECLARED) - names(MARKED), set())
        self.assertGreater(len(names(MARKED)), 40)

    @unittest.skipUnless(shutil.which("nm"), "nm is not installed")
    def test_the_library_exports_the_public_functions_alone(self):
        rows = [line.split() for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()]
        found = {row[-1] for row in rows if row[-2] in "TDBR"}
        version = re.search(r"VERSION (\d+\.\d+)\.", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertEqual(found, {f"{name}@@HALFULP_{version}" for name in names(MARKED)})

    @unittest.skipUnless(shutil.which("readelf"), "readelf is not installed")
    def test_the_soname_has_the_minor_version(self):
        version = re.search(r"VERSION (\d+\.\d+)\.", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertIn(f"[libhalfulp.so.{version}]", output("readelf", "-d", LIBRARY))

    def test_the_headers_know_the_version(self):
        text = (SOURCE / "CMakeLists.txt").read_text("utf-8")
        major, minor, patch = map(int, re.search(r"VERSION (\d+)\.(\d+)\.(\d+)", text).groups())
        self.assertIn(f"#define HU_VERSION_NUMBER {10000 * major + 100 * minor + patch}\n",
                      (SOURCE / "include" / "halfulp" / "api.h").read_text("utf-8"))

    def compile(self, compiler, standard, suffix):
        """Each header alone, twice, with warnings as errors."""
        with tempfile.TemporaryDirectory(prefix="halfulp-headers-") as folder:
            for header in HEADERS:
                path = Path(folder) / f"{header.stem}.{suffix}"
                path.write_text(f"#include <halfulp/{header.name}>\n" * 2)
                made = subprocess.run([compiler, standard, "-Wall", "-Wextra", "-Wpedantic",
                                       "-Werror", "-fsyntax-only", "-I", SOURCE / "include", path],
                                      capture_output=True, text=True)
                self.assertEqual(made.returncode, 0, made.stderr)

    @unittest.skipUnless(shutil.which("c++"), "no C++ compiler is installed")
    def test_the_headers_are_cpp17(self):
        self.compile("c++", "-std=c++17", "cpp")

    def test_the_headers_are_c17(self):
        self.compile("cc", "-std=c17", "c")


if __name__ == "__main__":
    unittest.main()
