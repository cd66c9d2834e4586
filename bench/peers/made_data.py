"""Data sets of made pictures, as large as those that networks are compared on: noise, whose size alone matters to the
time of a step. Each function writes a folder and returns the words that make halfulp read it."""
import os
import random
import struct
import zlib

CLASSES = 10


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


def folder(path, count, side=64):
    """Ten classes of squares; count pictures for training."""
    draw = random.Random(1)
    for half, pictures in (("train", count), ("val", CLASSES)):
        for i in range(pictures):
            write_png(f"{path}/{half}/c{i % CLASSES}/{i:04}.png", side, side, 3, draw.randbytes(side * side * 3))
    return [f"data=folder:{path}", f"data.size={side}", f"data.crop={side}"]
