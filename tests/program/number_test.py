"""libhalfulp-number by itself: a C program of arrays links it, shared and static, and nothing of pictures,
sounds or trainings comes with it."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HALFULP"]).resolve().parent
OF_OTHERS = {"xxhash", "z", "gomp", "omp", "m", "c", "dl", "pthread", "gcc_s"}
MARKED = re.compile(r"^HU_API [^;(]*?(hu_\w+)\(", re.MULTILINE)

USER = r"""
#include <halfulp/gemm.h>
#include <halfulp/quantize.h>
#include <stdio.h>

int main(void) {
    hu_format format;
    const float x[4] = {0.1f, 17.0f, 449.0f, 0.0005f};
    const float a[2] = {2.0f, 3.0f}, b[2] = {5.0f, 7.0f};
    float y[4], c = 0;
    if (hu_format_parse("e4m3fn:ovf=sat", &format) != HU_OK) return 1;
    if (hu_round_f32(4, x, y, &format, HU_ROUND_NEAREST_EVEN, NULL, 0, NULL) != HU_OK) return 1;
    for (int i = 0; i < 4; i++) printf("%.9g\n", y[i]);
    hu_gemm_task task = {.m = 1, .n = 1, .k = 2, .c = &c, .c_stride = 1, .threads = 1};
    task.a = (hu_operand){.data = a, .stride = 2, .k_stride = 1};
    task.b = (hu_operand){.data = b, .stride = 2, .k_stride = 1};
    if (hu_accumulator_parse("fmacs", &task.accumulator) != HU_OK || hu_gemm(&task) != HU_OK) {
        puts(hu_last_error());
        return 1;
    }
    printf("%.9g\n", c);
    if (hu_format_parse("e9m3", &format) == HU_OK) return 1;
    puts(hu_last_error());
    return 0;
}
"""
# As in install_test.py; the product is 2 x 5 + 3 x 7.
EXPECTED = ["0.1015625", "16", "448", "0", "31"]


def cache(key):
    for line in (BUILD / "CMakeCache.txt").read_text("utf-8").splitlines():
        name, _, value = line.partition("=")
        if name.split(":")[0] == key:
            return value
    return ""


IS_PLAIN = "ON" not in {cache(f"HALFULP_{key}") for key in ("SANITIZE", "SANITIZE_THREADS", "COVERAGE")}


def output(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


@unittest.skipUnless(IS_PLAIN, "instrumented objects ask for more libraries")
class Number(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="halfulp-number-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.prefix = Path(folder) / "prefix"
        cls.source = Path(folder) / "user.c"
        cls.source.write_text(USER)
        output(cache("CMAKE_COMMAND"), "--install", BUILD, "--prefix", cls.prefix, "--component", "number")
        cls.libraries = next(cls.prefix.glob("**/libhalfulp-number.so")).parent
        cls.headers = sorted((cls.prefix / "include" / "halfulp").glob("*.h"))

    def test_it_is_installed_without_the_rest(self):
        names = {path.name for path in self.prefix.rglob("*") if path.is_file()}
        self.assertFalse([name for name in names if re.match(r"libhalfulp\.|halfulp$|train\.h|data\.h", name)])
        self.assertIn("halfulp-number.pc", names)

    @unittest.skipUnless(shutil.which("nm"), "nm is not installed")
    def test_it_exports_what_its_headers_declare(self):
        rows = output("nm", "-D", "--defined-only", self.libraries / "libhalfulp-number.so").split("\n")
        found = {row.split()[-1].split("@")[0] for row in rows if row and row.split()[-2] in "TDBR"}
        self.assertEqual(found, {name for path in self.headers for name in MARKED.findall(path.read_text("utf-8"))})

    @unittest.skipUnless(shutil.which("readelf"), "readelf is not installed")
    def test_it_needs_few_libraries(self):
        needed = re.findall(r"\(NEEDED\).*\[lib(.+?)\.so", output("readelf", "-d", self.libraries / "libhalfulp-number.so"))
        self.assertLessEqual(set(needed), OF_OTHERS)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_a_program_links_it(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.libraries / "pkgconfig"), LD_LIBRARY_PATH=str(self.libraries))
        for kind in ([], ["--static"]):
            flags = output("pkg-config", "--cflags", "--libs", *kind, "halfulp-number", env=environment).split()
            if kind:
                flags = [str(self.libraries / "libhalfulp-number.a") if f == "-lhalfulp-number" else f for f in flags]
            program = self.source.with_suffix("")
            output(cache("CMAKE_C_COMPILER"), self.source, "-o", program, *flags)
            lines = output(program, env=environment).splitlines()
            self.assertEqual(lines[:-1], EXPECTED)
            self.assertIn("9", lines[-1])


if __name__ == "__main__":
    unittest.main()
