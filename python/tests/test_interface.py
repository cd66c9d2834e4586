import ast
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import halfulp as hu


def test_every_public_name_is_documented_with_an_example():
    for name in hu.__all__:
        what = getattr(hu, name)
        text = inspect.getdoc(what)
        assert text, name
        if inspect.isfunction(what):
            assert (
                "Returns\n" in text
                and "Parameters\n" in text
                or not inspect.signature(what).parameters
            ), name


def test_examples_are_many():
    found = 0
    for module in pkgutil.iter_modules(hu.__path__):
        if module.name not in ("_ffi", "__main__", "torch"):
            made = importlib.import_module(f"halfulp.{module.name}")
            found += sum(bool(t.examples) for t in doctest.DocTestFinder().find(made))
    assert found >= 18


def test_the_package_is_typed_and_uses_the_public_library_alone():
    folder = Path(hu.__file__).parent
    assert (folder / "py.typed").exists()
    called = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "lib":
                called.add(node.attr)
    assert {"hu_round_f32", "hu_gemm", "hu_net_apply"} <= called
    missing = [name for name in called if not hasattr(hu.arrays.lib, name)]
    assert not missing


WITHOUT_OPENMP = """
import sys

class Loader:
    def find_spec(self, name, path=None, target=None):
        if name == "halfulp._ffi":
            raise ImportError("{text}")

sys.meta_path.insert(0, Loader())
import halfulp
"""


def test_a_system_without_openmp_is_told_what_to_install():
    def words(text):
        code = WITHOUT_OPENMP.format(text=text)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 1
        return done.stderr.splitlines()[-1]

    missing = "libgomp.so.1: cannot open shared object file: No such file or directory"
    assert "apt-get install libgomp1" in words(missing)
    assert words("another library") == "ImportError: another library"
