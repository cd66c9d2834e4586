"""The house stands: no folder of src/ includes upward or sideways, and what comes from outside stays
in the few files that may know it."""
import os
import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("HALFULP_SOURCE", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tools"))

from house import HEIGHT, INCLUDE, WING, circles, misplaced_rooms, sources, wrong_arrows  # noqa: E402

# Header from outside (pattern) -> the only files, or rooms ("cli/"), that may include it.
CONFINED = {
    r"(oneapi/dnnl/)?dnnl.*\.h": ["product/onednn.c", "product/onednn_library.h"],
    r"jpeglib\.h|jerror\.h": ["media/image.c"],
    r"png\.h": ["media/png_input.h", "media/image_files.c"],
    r"expat\.h": ["data/voc_xml.c"],
    r"utf8proc\.h": ["data/tokenizer.c"],
    r"sndfile\.h": ["media/audio.c"],
    r"samplerate\.h": ["media/audio.c"],
    r"yaml\.h": ["config/yaml.c"],
    r"mpi\.h": ["comm/mpi.c"],
    r"jansson\.h": ["render/json.h"],
    r"mpfr\.h": [],
    r"Random123/.*": ["base/rng.c"],
    r"librsvg/.*|cairo.*\.h": ["report/drawn.c"],
    r"isa-l.*\.h|.*\.pb-c\.h|protobuf-c.*": ["render/tensorboard.c"],
}

# The rooms that are the program: they may print, the library may not.
PRINTING = ["cli", "sweep", "bench", "report"]


class Layers(unittest.TestCase):
    def test_there_is_something_to_check(self):
        self.assertGreater(len(list(sources())), 30)

    def test_every_room_has_its_storey(self):
        self.assertEqual(set(WING), set(HEIGHT))
        self.assertEqual(misplaced_rooms(), [])

    def test_includes_go_downward(self):
        self.assertEqual(wrong_arrows(), [])

    def test_no_circle_of_files(self):
        self.assertEqual(sorted(map(sorted, circles())), [])

    def test_own_headers_are_named_from_the_root(self):
        wrong, known = [], {name for name, _ in sources()}
        for name, text in sources():
            for quote, header in INCLUDE.findall(text):
                if quote == '"' and header not in known:
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

    def test_running_allocates_nothing(self):
        """Planning allocates (planner); the engine has no door to the heap."""
        forbidden = re.compile(r"\b(hu_(alloc|realloc|free|strdup)\w*|[mc]alloc|realloc|free|strdup)\s*\(|"
                               r"base/memory\.h")
        wrong = [f"{name}: {match.group(0)}" for name, text in sources() if name.startswith("engine/")
                 for match in forbidden.finditer(re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL))]
        self.assertEqual(wrong, [])

    def test_the_inside_of_a_run_is_for_engine_and_planner(self):
        wrong = [name for name, text in sources() if name.split("/")[0] not in ("engine", "planner")
                 for _, header in INCLUDE.findall(text) if header in ("engine/internal.h", "engine/chunk.h")]
        self.assertEqual(wrong, [])

    def test_the_library_neither_prints_nor_exits(self):
        forbidden = re.compile(r"\b(printf|puts|putchar|exit|_exit|abort|perror)\s*\(|\bstd(out|err)\b")
        wrong = []
        for name, text in sources():
            if name.split("/")[0] in PRINTING or name == "render/table.c":
                continue
            code = re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\\n])*\"", " ", text, flags=re.DOTALL)
            code = re.sub(r"__attribute__\s*\(\(format\(printf[^)]*\)\)\)", " ", code)
            for match in forbidden.finditer(code):
                wrong.append(f"{name}: {match.group(0)}")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=1, argv=sys.argv)
