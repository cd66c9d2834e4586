"""Data sets of made pictures, as large as those that networks are compared on: noise, whose size alone matters to the
time of a step. Each function writes a folder and returns the words that make halfulp read it."""
import os
import random
import struct
import zlib

CLASSES = 10
WIDTH, HEIGHT = 160, 120  # of pictures with label maps or boxes
LABELS, KINDS, BOXES = 11, 3, 12  # numbers in label maps; kinds of boxes; boxes in a picture


def write_png(path, width, height, channels, numbers):
    """numbers: its bytes, row by row."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    os.makedirs(os.path.dirname(path), exist_ok=True)
    row = width * channels
    lines = b"".join(b"\0" + numbers[y * row:(y + 1) * row] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 1))
                   + chunk(b"IEND", b""))


def folder(path, count, side=64, classes=CLASSES):
    """Classes of squares; count pictures for training."""
    draw = random.Random(1)
    for half, pictures in (("train", count), ("val", CLASSES)):
        for i in range(pictures):
            write_png(f"{path}/{half}/c{i % classes}/{i:04}.png", side, side, 3, draw.randbytes(side * side * 3))
    return [f"data=folder:{path}", f"data.size={side}", f"data.crop={side}"]


def streamed(path, side, classes):
    """One picture of each class: 144 MiB at 224 pixels, of which few are kept, so that most are decoded when they are used."""
    return folder(path, classes, side, classes) + ["data.memory=32"]


def maps(path, count):
    """Pictures with label maps."""
    draw = random.Random(2)
    for half, pictures in (("train", count), ("test", 1)):
        for i in range(pictures):
            write_png(f"{path}/{half}/{i:04}.png", WIDTH, HEIGHT, 3, draw.randbytes(WIDTH * HEIGHT * 3))
            labels = bytes(b % LABELS for b in draw.randbytes(WIDTH * HEIGHT))
            write_png(f"{path}/{half}annot/{i:04}.png", WIDTH, HEIGHT, 1, labels)
    return [f"data=dense:{path}", f"data.unlabelled={LABELS}"]


def boxes(path, count):
    """Pictures with boxes of a tenth to a fifth of their sides."""
    draw = random.Random(3)
    os.makedirs(f"{path}/ImageSets/Main")
    os.makedirs(f"{path}/Annotations")
    for half, pictures in (("train", count), ("test", 1)):
        names = [f"{half}{i:04}" for i in range(pictures)]
        for name in names:
            write_png(f"{path}/JPEGImages/{name}.png", WIDTH, HEIGHT, 3, draw.randbytes(WIDTH * HEIGHT * 3))
            objects = ""
            for k in range(BOXES):
                w, h = draw.uniform(0.1, 0.2) * WIDTH, draw.uniform(0.1, 0.2) * HEIGHT
                x, y = draw.uniform(0, WIDTH - w), draw.uniform(0, HEIGHT - h)
                objects += (f"<object><name>k{k % KINDS}</name><bndbox><xmin>{x}</xmin><ymin>{y}</ymin>"
                            f"<xmax>{x + w}</xmax><ymax>{y + h}</ymax></bndbox></object>")
            with open(f"{path}/Annotations/{name}.xml", "w", encoding="utf-8") as file:
                file.write(f"<annotation><size><width>{WIDTH}</width><height>{HEIGHT}</height><depth>3</depth></size>"
                           f"{objects}</annotation>")
        with open(f"{path}/ImageSets/Main/{half}.txt", "w", encoding="utf-8") as file:
            file.write("\n".join(names))
    return [f"data=boxes:{path}"]


def pairs(path, count):
    """Large pictures, of which as many crops are trained on."""
    draw = random.Random(4)
    for half, pictures in (("train", count), ("test", 1)):
        for i in range(pictures):
            write_png(f"{path}/{half}/{i:04}.png", WIDTH, HEIGHT, 3, draw.randbytes(WIDTH * HEIGHT * 3))
    return [f"data=pairs:{path}", f"data.crops={count}"]
