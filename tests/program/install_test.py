"""An installed halfulp serves a C program through pkg-config and through CMake."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.dirname(os.path.abspath(os.environ["HALFULP"]))

USER = r"""
#include <halfulp/halfulp.h>
#include <stdio.h>

int main(void) {
    hu_format format;
    hu_round_counts counts;
    const float x[6] = {0.1f, 17.0f, 449.0f, 1e6f, -0.001f, 0.0005f};
    float y[6], back[6];
    unsigned char codes[6];
    hu_round_counts_clear(&counts);
    if (hu_format_parse("e4m3fn:ovf=sat", &format) != HU_OK) return 1;
    if (hu_round_f32(6, x, y, &format, HU_ROUND_NEAREST_EVEN, NULL, 0, &counts) != HU_OK) return 1;
    if (hu_pack(6, y, codes, &format, 8, NULL) != HU_OK) return 1;
    if (hu_unpack(6, codes, back, &format, 8) != HU_OK) return 1;
    for (int i = 0; i < 6; i++) printf("%.9g %02x %.9g\n", y[i], codes[i], back[i]);
    printf("overflow %d underflow %d\n", (int)counts.overflow, (int)counts.underflow);
    if (hu_format_parse("e9m3", &format) == HU_OK) return 1;
    puts(hu_last_error());
    hu_dataset *glyphs;
    if (hu_dataset_open("glyphs", &(hu_data_limits){16, 16}, &glyphs) != HU_OK) return 1;
    printf("%d\n", (int)glyphs->train.count);
    hu_dataset_close(glyphs);
    return 0;
}
"""
# 0.1 lies between 0.1015625 (13/128) and 0.09375; 17 is a tie to even; 449 is below the threshold
# of 464; -0.001 is above half of 2^-9, 0.0005 is below it.
EXPECTED = ["0.1015625 1d 0.1015625", "16 58 16", "448 7e 448", "448 7e 448",
            "-0.001953125 81 -0.001953125", "0 00 0", "overflow 1 underflow 1"]

CMAKE = """
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(halfulp 0.2 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE halfulp::halfulp)
add_executable(user-static user.c)
target_link_libraries(user-static PRIVATE halfulp::halfulp-static)
"""


def cache(key):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as text:
        for line in text:
            name, _, value = line.rstrip("\n").partition("=")
            if name.split(":")[0] == key:
                return value
    return ""


def instrumentation():
    flags = []
    if cache("HALFULP_SANITIZE") == "ON":
        flags.append("-fsanitize=address,undefined")
    if cache("HALFULP_SANITIZE_THREADS") == "ON":
        flags.append("-fsanitize=thread")
    if cache("HALFULP_COVERAGE") == "ON":
        flags.append("--coverage")
    return flags


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="halfulp-install-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = os.path.join(cls.folder, "prefix")
        with open(os.path.join(cls.folder, "user.c"), "w", encoding="utf-8") as file:
            file.write(USER)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True,
                       stdout=subprocess.DEVNULL)

    def check_user(self, path):
        env = dict(os.environ, LD_LIBRARY_PATH=self.libdir())
        lines = subprocess.run([path], check=True, capture_output=True, text=True,
                               env=env).stdout.splitlines()
        self.assertEqual(lines[:7], EXPECTED)
        self.assertIn("exponent bits 9", lines[7])
        self.assertEqual(lines[8], "16")

    def libdir(self):
        return os.path.join(self.prefix, cache("CMAKE_INSTALL_LIBDIR") or "lib")

    def test_every_verb_has_a_page_and_every_shell_its_script(self):
        share = os.path.join(self.prefix, cache("CMAKE_INSTALL_DATAROOTDIR") or "share")
        with open(os.path.join(share, "man", "man1", "halfulp.1"), encoding="utf-8") as file:
            named = re.findall(r"^\.BR (halfulp\S+) \(1\)", file.read(), re.MULTILINE)
        self.assertGreater(len(named), 15)
        for name in named:
            page = name.replace("\\", "") + ".1"
            self.assertGreater(os.path.getsize(os.path.join(share, "man", "man1", page)), 200, page)
        for script in ("bash-completion/completions/halfulp", "zsh/site-functions/_halfulp",
                       "fish/vendor_completions.d/halfulp.fish"):
            self.assertGreater(os.path.getsize(os.path.join(share, script)), 2000, script)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_a_program_is_built_with_pkg_config(self):
        flags = self.flags()
        self.assertFalse([flag for flag in flags if "xxhash" in flag], "private, but in the open")
        self.build_user(flags)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_a_program_is_built_with_the_static_library(self):
        self.build_user([flag.replace("-lhalfulp", "-l:libhalfulp.a")
                         for flag in self.flags("--static")])

    def flags(self, *more):
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(self.libdir(), "pkgconfig"))
        return subprocess.run(["pkg-config", "--cflags", "--libs", *more, "halfulp"], env=env,
                              check=True, capture_output=True, text=True).stdout.split()

    def build_user(self, flags):
        user = os.path.join(self.folder, "user")
        subprocess.run([cache("CMAKE_C_COMPILER"), "-std=c17", "-Wall", "-Wextra", "-Werror", "-o",
                        user, user + ".c", *instrumentation(), *flags], check=True)
        self.check_user(user)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_a_program_is_built_with_cmake(self):
        with open(os.path.join(self.folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(CMAKE)
        build = os.path.join(self.folder, "build")
        subprocess.run(["cmake", "-S", self.folder, "-B", build, "-DCMAKE_PREFIX_PATH=" + self.prefix,
                        "-DCMAKE_C_COMPILER=" + cache("CMAKE_C_COMPILER"),
                        "-DCMAKE_C_FLAGS=" + " ".join(instrumentation())], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
        self.check_user(os.path.join(build, "user"))
        self.check_user(os.path.join(build, "user-static"))

    def test_the_program_and_the_recipes_are_installed(self):
        version = subprocess.run([os.path.join(self.prefix, "bin", "halfulp"), "--version"],
                                 check=True, capture_output=True, text=True).stdout
        self.assertTrue(version.startswith("halfulp "))
        recipes = os.listdir(os.path.join(self.prefix, "share", "halfulp", "recipes"))
        self.assertTrue(any(name.endswith(".yaml") for name in recipes))


if __name__ == "__main__":
    if not os.path.exists(os.path.join(BUILD, "CMakeCache.txt")):
        sys.exit("HALFULP must lie in its build folder")
    unittest.main()
