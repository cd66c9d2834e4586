"""What the tests of the program share: calling it, making data, comparing runs, counting checks."""
import csv
import functools
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

HALFULP = os.path.abspath(os.environ.get("HALFULP", "build/halfulp"))
# A size that cannot be had must give the program's own message, under AddressSanitizer too.
os.environ.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1")


def memory_folder():
    """A folder in memory, if there is room for what a test leaves: a run waits for its files to reach the disk dozens of
    times, which takes longer than a small training. None: the usual folder, on a disk."""
    try:
        about = os.statvfs("/dev/shm")
        with open("/proc/meminfo", encoding="utf-8") as file:
            free = next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
    usable = os.access("/dev/shm", os.W_OK | os.X_OK) and not about.f_flag & os.ST_NOEXEC
    return "/dev/shm" if usable and min(free, about.f_bavail * about.f_frsize) >= 4 << 30 else None


if "TMPDIR" not in os.environ:
    tempfile.tempdir = memory_folder()

TINY = ["data=glyphs", "data.limit=96", "data.test_limit=16", "batch=32", "run.log_every=1",
        "threads=1"]

# The scalar products of float32 are hundreds of times slower than those of vectors: what they are compared on is one step
# of two samples, which is a forward pass, a backward pass, an update and an evaluation.
FOR_SCALAR = ["batch=2", "steps=1", "data.test_limit=1"]


class Checks:
    """Counts what was checked; finish() prints the counts and gives the exit code."""

    def __init__(self):
        self.done = self.failed = 0

    def that(self, condition, message):
        self.done += 1
        if not condition:
            self.failed += 1
            print(f"FAILED: {message}", flush=True)
        return bool(condition)

    def same(self, found, expected, message):
        return self.that(found == expected, f"{message}: found {found!r}, expected {expected!r}")

    def finish(self):
        print(f"{self.done} checks, {self.failed} failed")
        return 1 if self.failed or not self.done else 0


@functools.cache
def sanitizer():
    """The sanitizer that the program was built with: asan, tsan or an empty text."""
    return next((name for name in ("asan", "tsan")
                 if subprocess.run(["grep", "-q", f"__{name}_init", HALFULP]).returncode == 0), "")


def patience(seconds):
    """How long to wait for a program that takes at most so many seconds: sanitized ones are slower."""
    return 4 * seconds if sanitizer() else seconds


def one_length(words):
    """Of epochs and steps the one that stands last: a training has one length."""
    lengths = [i for i, word in enumerate(words) if str(word).startswith(("epochs=", "steps="))]
    kept = str(words[lengths[-1]]).split("=")[0] if lengths else ""
    return [word for i, word in enumerate(words) if i not in lengths or str(word).startswith(f"{kept}=")]


def last_of_each(words):
    """The words of a command, of those that give the same key the last: a key stands once, and one tells the length."""
    words = one_length(list(map(str, words)))
    keys = [word.split("=")[0] if "=" in word and not word.startswith("-") else None for word in words]
    return [word for i, word in enumerate(words) if not keys[i] or keys[i] == "config" or keys[i] not in keys[i + 1:]]


def call(*words, cwd, timeout=300, **more):
    """(exit code, stdout, stderr) of one call of the program; a key that is given again wins."""
    done = subprocess.run([HALFULP, *last_of_each(words)], cwd=cwd, timeout=patience(timeout),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", **more)
    return done.returncode, done.stdout, done.stderr


@functools.cache
def has_onednn():
    """Whether the program was built with oneDNN and finds it: run.products=onednn, and benchmarks beside it."""
    code, _, err = call("plan", "model=cnn-s", "products=onednn", cwd=".")
    if code and "found onednn, which is not " not in err:
        raise AssertionError(f"plan products=onednn: exit code {code}, {err}")
    return code == 0


def small_files(most):
    """More words for call(): no file may become larger than so many bytes. ThreadSanitizer puts a table of its own into a
    file of TMPDIR, if there is one, and reads what could not be written."""
    return {"env": {**os.environ, "TMPDIR": "/nowhere"},
            "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}


def start(*words, cwd):
    """The program in the background, its output thrown away."""
    return subprocess.Popen([HALFULP, *last_of_each(words)], cwd=cwd, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children(pid):
    """Processes that a process has started and that still run."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


def wait_until(condition, seconds=60):
    end = time.time() + patience(seconds)
    while time.time() < end and not condition():
        time.sleep(0.01)
    return condition()


def train(*words, cwd, run="run", **more):
    """The JSON result of a training that must succeed."""
    code, out, err = call("train", *words, f"run.dir={run}", "--json", cwd=cwd, **more)
    if code != 0:
        raise SystemExit(f"train {' '.join(map(str, words))}: exit {code}: {err}")
    return json.loads(out)


def resume(run, *words, cwd):
    code, out, err = call("resume", run, *words, "--json", cwd=cwd)
    if code != 0:
        raise SystemExit(f"resume {run} {' '.join(map(str, words))}: exit {code}: {err}")
    return json.loads(out)


def rows(cwd, run="run"):
    """metrics.csv without the one column that is a measurement of time; numbers as exact hexadecimal."""
    with open(os.path.join(cwd, run, "metrics.csv"), newline="") as file:
        table = list(csv.DictReader(file))
    for row in table:
        del row["images_per_second"]
        for key in ("loss", "gradient_norm", "lr"):
            row[key] = float(row[key]).hex()
    return table


def checkpoints(cwd, run="run"):
    """Paths of the checkpoints by step."""
    folder = os.path.join(cwd, run, "checkpoint")
    return {int(name[5:17]): os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.startswith("step-") and name.endswith(".hulp")}


def copy_at(cwd, run, copy, step):
    """A copy of a run's folder as it was after step: later checkpoints are not in it."""
    shutil.copytree(os.path.join(cwd, run), os.path.join(cwd, copy))
    for other, path in checkpoints(cwd, copy).items():
        if other > step:
            os.remove(path)


def damage(path, offset, xor=0x10):
    """Flips bits of one byte; offset counts from the end if negative."""
    with open(path, "r+b") as file:
        file.seek(offset, 0 if offset >= 0 else 2)
        byte = file.read(1)[0]
        file.seek(offset, 0 if offset >= 0 else 2)
        file.write(bytes([byte ^ xor]))


def tree_bytes(folder):
    """All files below a folder with their bytes."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def idx(dims, data):
    """An IDX file of unsigned bytes."""
    return bytes([0, 0, 8, len(dims)]) + b"".join(struct.pack(">I", n) for n in dims) + data


def write_idx(folder, count=64, side=28):
    """A small IDX data set, train and test alike: images whose brightness tells the class."""
    os.makedirs(folder, exist_ok=True)
    labels = bytes(i % 10 for i in range(count))
    images = b"".join(bytes((25 * label + 7 * p) % 256 for p in range(side * side))
                      for label in labels)
    for half in ("train", "t10k"):
        with open(os.path.join(folder, f"{half}-images-idx3-ubyte"), "wb") as file:
            file.write(idx([count, side, side], images))
        with open(os.path.join(folder, f"{half}-labels-idx1-ubyte"), "wb") as file:
            file.write(idx([count], labels))


def write_cifar(folder, per_file=20):
    """A small CIFAR-10 in binary batches."""
    os.makedirs(folder, exist_ok=True)
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        with open(os.path.join(folder, name), "wb") as file:
            for i in range(per_file):
                file.write(bytes([i % 10]) + bytes((i * 5 + p) % 256 for p in range(3072)))


def png_of(width, height, depth, rows, orientation=None):
    """A picture of three colours from its rows, each with a zero in front; orientation: of EXIF."""
    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)
    head = struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)
    exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0%c\0\0\0\0\0\0"
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + (chunk(b"eXIf", exif % orientation) if orientation else b"") +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def png(width, height, colour, depth=8):
    """A flat picture: [r, g, b] of 0..255; depth 16 writes each byte twice."""
    pixel = bytes(b for value in colour for b in [value] * (depth // 8))
    return png_of(width, height, depth, (b"\0" + pixel * width) * height)


def put(cwd, path, data):
    path = os.path.join(cwd, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def peers(script, *calls):
    """Output of every call of a script of bench/peers, by a Python that has torch. Ends the test where a
    call fails, and skips it where no Python here has torch."""
    source = os.environ.get("HALFULP_SOURCE", os.path.join(os.path.dirname(__file__), "..", ".."))
    path = os.path.join(source, "bench", "peers", script)
    for python in ("/usr/bin/python3", sys.executable):
        if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0:
            break
    else:
        print("skipped: torch is not here; Debian has it as python3-torch")
        sys.exit(77)
    outputs = []
    for words in calls:
        done = subprocess.run([python, path, f"--halfulp={HALFULP}", *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=patience(1000))
        print(done.stdout, end="", flush=True)
        if done.returncode != 0:
            sys.exit(1)
        outputs.append(done.stdout)
    return outputs


def write_png(path, width, height, channels, number):
    """A picture of one or three channels; number(x, y, channel) are its bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    os.makedirs(os.path.dirname(path), exist_ok=True)
    rows = b"".join(b"\0" + bytes(number(x, y, c) for x in range(width) for c in range(channels))
                    for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows))
                   + chunk(b"IEND", b""))


def read_png(path):
    """Width, height, channels and bytes of a PNG of 8 bits whose rows are filtered."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        if kind == b"IHDR":
            width, height = (int.from_bytes(data[at + 8 + i:at + 12 + i], "big") for i in (0, 4))
            channels = {0: 1, 2: 3}[data[at + 17]]
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    raw, stride, pixels, before = zlib.decompress(packed), width * channels, bytearray(), bytearray(width * channels)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            a, b, c = (row[x - channels] if x >= channels else 0), before[x], (before[x - channels] if x >= channels else 0)
            p = a + b - c
            paeth = min((a, b, c), key=lambda v: abs(p - v))
            row[x] = row[x] + (0, a, b, (a + b) // 2, paeth)[kind] & 255
        pixels += row
        before = row
    return width, height, channels, bytes(pixels)


def write_maps(cwd, width=18, height=14):
    """The folder of six training and two test pictures whose colours tell their label maps: three
    classes, and 9 where nobody has labelled."""
    folder = os.path.join(cwd, "maps")
    for half, count in (("train", 6), ("test", 2)):
        for k in range(count):
            def label(x, y):
                return 9 if (x * y + k) % 7 == 0 else (x // 5 + y // 4 + k) % 3

            write_png(f"{folder}/{half}/{k}.png", width, height, 3,
                      lambda x, y, c: (label(x, y) * 80 + 30 * c + x * (k + 1)) % 256)
            write_png(f"{folder}/{half}annot/{k}.png", width, height, 1, lambda x, y, c: label(x, y))
    return folder


def voc(width, height, boxes):
    """An annotation as PASCAL VOC writes it; boxes are (class, left, top, right, bottom)."""
    objects = "".join(f"<object><name>{name}</name><bndbox><xmin>{x1}</xmin><ymin>{y1}</ymin><xmax>{x2}</xmax>"
                      f"<ymax>{y2}</ymax></bndbox></object>" for name, x1, y1, x2, y2 in boxes)
    return (f"<annotation><size><width>{width}</width><height>{height}</height><depth>3</depth></size>{objects}"
            "</annotation>").encode()


def write_boxes(cwd, width=40, height=32):
    """The folder of ten training and three test pictures with boxes of two classes, whose inside is bright."""
    folder = os.path.join(cwd, "boxes")
    for half, count in (("train", 10), ("test", 3)):
        names = [f"{half}{k}" for k in range(count)]
        put(cwd, f"boxes/ImageSets/Main/{half}.txt", "\n".join(names).encode())
        for k, name in enumerate(names):
            boxes = [(("cat", "dog")[(k + i) % 2], 3 + 17 * i + k % 5, 4 + k % 3, 3 + 17 * i + k % 5 + 9 + k % 4,
                      4 + k % 3 + 12 + 5 * i) for i in range(1 + k % 2)]

            def shade(x, y, c):
                inside = [n for n, (_, x1, y1, x2, y2) in enumerate(boxes) if x1 <= x < x2 and y1 <= y < y2]
                return (150 + 50 * (c == (k + inside[0]) % 2) if inside else 40) + (x * 7 + y * 5 + k) % 16
            write_png(f"{folder}/JPEGImages/{name}.png", width, height, 3, shade)
            put(cwd, f"boxes/Annotations/{name}.xml", voc(width, height, boxes))
    return folder


def write_pictures(cwd, test_width=44):
    """The folder of three training and two test pictures, of smooth colours."""
    folder = os.path.join(cwd, "pictures")
    for half, count, width, height in (("train", 3, 50, 47), ("test", 2, test_width, 37)):
        for k in range(count):
            write_png(f"{folder}/{half}/{k}.png", width, height, 3,
                      lambda x, y, c: (x * x // 9 + (k + 2) * y * (c + 1) + 40 * ((x // 7 + y // 5) % 2)) % 256)
    return folder


def main(*tests):
    """Runs every test in a temporary directory of its own."""
    checks = Checks()
    for test in tests:
        with tempfile.TemporaryDirectory() as cwd:
            test(checks, cwd)
    sys.exit(checks.finish())
