"""The house stands: no folder of src/ includes upward or sideways, and what comes from outside stays
in the few files that may know it."""
import os
import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("HALFULP_SOURCE", Path(__file__).resolve().parents[2]))

# From the top; rooms on one line do not see each other.
STOREYS = [
    ["cli"],
    ["sweep", "bench"],
    ["session", "report", "explain"],
    ["journal"],
    ["train"],
    ["layout", "model"],
    ["engine", "precision", "task", "observe"],
    ["graph"],
    ["op", "comm", "store"],
    ["product", "tensor", "data", "config"],
    ["kernel"],
    ["format", "show"],
    ["base"],
]
HEIGHT = {room: -i for i, rooms in enumerate(STOREYS) for room in rooms}

# Public headers whose name is not their room's.
PUBLIC = {"status": "base", "random": "base", "round": "kernel", "gemm": "kernel",
          "halfulp": "cli"}

# Header from outside (pattern) -> the only files, or rooms ("cli/"), that may include it.
CONFINED = {
    r"(oneapi/dnnl/)?dnnl.*\.h": ["op/dnn_api.h"],
    r"turbojpeg\.h": ["data/image_jpeg.c"],
    r"png\.h": ["data/image_png.c"],
    r"yaml\.h": ["config/yaml.c"],
    r"mpi\.h": ["comm/mpi.c"],
    r"jansson\.h": ["show/json.h"],
    r"mpfr\.h": [],
    r"Random123/.*": ["base/rng.c"],
    r"isa-l.*\.h|.*\.pb-c\.h|protobuf-c.*": ["show/tensorboard.c"],
}

# The rooms that are the program: they may print, the library may not.
PRINTING = ["cli", "sweep", "bench", "report"]

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.MULTILINE)


def sources():
    for path in sorted((SOURCE / "src").rglob("*")):
        if path.suffix in (".c", ".h", ".inc", ".list"):
            yield path.relative_to(SOURCE / "src").as_posix(), path.read_text(encoding="utf-8")


def room_of_header(name):
    """Room of an included header of ours, None for one from outside."""
    if name.startswith("halfulp/"):
        stem = Path(name).stem
        return PUBLIC.get(stem, stem)
    first = name.split("/")[0]
    return first if "/" in name and (SOURCE / "src" / first).is_dir() else None


class Layers(unittest.TestCase):
    def test_there_is_something_to_check(self):
        self.assertGreater(len(list(sources())), 30)

    def test_every_room_has_its_storey(self):
        rooms = {p.name for p in (SOURCE / "src").iterdir() if p.is_dir()}
        self.assertEqual(rooms - set(HEIGHT), set())

    def test_includes_go_downward(self):
        wrong = []
        for name, text in sources():
            room = name.split("/")[0]
            for _, header in INCLUDE.findall(text):
                other = room_of_header(header)
                if other is None or other == room:
                    continue
                if other not in HEIGHT:
                    wrong.append(f"{name}: {header}: no room is known for this header")
                elif HEIGHT[other] >= HEIGHT[room]:
                    wrong.append(f"{name}: {header}: {room} may not see {other}")
        self.assertEqual(wrong, [])

    def test_own_headers_are_named_from_the_root(self):
        wrong = []
        for name, text in sources():
            for quote, header in INCLUDE.findall(text):
                if quote == '"' and not (SOURCE / "src" / header).is_file():
                    wrong.append(f"{name}: {header}")
        self.assertEqual(wrong, [])

    def test_public_headers_include_public_headers_only(self):
        wrong = []
        for path in sorted((SOURCE / "include" / "halfulp").glob("*.h")):
            for quote, header in INCLUDE.findall(path.read_text(encoding="utf-8")):
                if quote == '"':
                    wrong.append(f"{path.name}: {header}")
        self.assertEqual(wrong, [])

    def test_the_outside_is_confined(self):
        wrong = []
        for name, text in sources():
            for _, header in INCLUDE.findall(text):
                for pattern, allowed in CONFINED.items():
                    at_home = name in allowed or name.split("/")[0] + "/" in allowed
                    if re.fullmatch(pattern, header) and not at_home:
                        wrong.append(f"{name}: {header}: only in {allowed}")
        self.assertEqual(wrong, [])

    def test_the_library_neither_prints_nor_exits(self):
        forbidden = re.compile(r"\b(printf|puts|putchar|exit|_exit|abort|perror)\s*\(|\bstd(out|err)\b")
        wrong = []
        for name, text in sources():
            if name.split("/")[0] in PRINTING or name == "show/stdout.c":
                continue
            code = re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\\n])*\"", " ", text, flags=re.DOTALL)
            code = re.sub(r"__attribute__\s*\(\(format\(printf[^)]*\)\)\)", " ", code)
            for match in forbidden.finditer(code):
                wrong.append(f"{name}: {match.group(0)}")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=1, argv=sys.argv)
