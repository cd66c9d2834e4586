#!/usr/bin/env python3
"""Faster-RCNN in its small form is the same network here and in torch: a run with init=check beside plain torch in
float64, from the same weights, with the same anchors and regions drawn by the same words.

The pictures are made: cells of three kinds, 160 x 120. With --boxes=DIR they are those of a folder in the layout of
PASCAL VOC whose pictures have 320 x 240 pixels (blood cells), halved. The first loss must be the same to 1e-6, the
gradient's norm to 2e-6 (2e-5 with batch norms). Losses behind it are the same as far as the choices are: who is sampled and kept is
decided by comparisons, which rounding turns over now and then. The first four must agree to 1e-5.

    /usr/bin/python3 bench/peers/same_regions.py [--halfulp=PROGRAM] [--boxes=DIR] [--steps=N]

Needs torch (Debian: python3-torch). Exit code 0: the same; 1: not; 77: no torch here.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

try:
    import numpy
    import torch
    from PIL import Image
except ImportError as error:
    print(f"skipped: not here ({error}); Debian has python3-torch, python3-numpy and python3-pil")
    sys.exit(77)

import faster_rcnn

BATCH, SURE, SAME = 4, 4, 1e-5
MEAN, DEVIATION = numpy.float32(0.5), numpy.float32(0.25)
KINDS = ("a", "b", "c")


def annotation(boxes):
    objects = "".join(f"<object><name>{name}</name><bndbox><xmin>{x1!r}</xmin><ymin>{y1!r}</ymin><xmax>{x2!r}</xmax>"
                      f"<ymax>{y2!r}</ymax></bndbox></object>" for name, x1, y1, x2, y2 in boxes)
    return ("<annotation><size><width>160</width><height>120</height><depth>3</depth></size>"
            f"{objects}</annotation>")


def write(folder, half, pictures):
    """pictures: (pixels [120, 160, 3], boxes (class, left, top, right, bottom)) of each."""
    for sub in ("JPEGImages", "Annotations", "ImageSets/Main"):
        os.makedirs(f"{folder}/{sub}", exist_ok=True)
    for i, (pixels, boxes) in enumerate(pictures):
        Image.fromarray(pixels).save(f"{folder}/JPEGImages/{half}{i:04}.png")
        with open(f"{folder}/Annotations/{half}{i:04}.xml", "w", encoding="utf-8") as file:
            file.write(annotation(boxes))
    with open(f"{folder}/ImageSets/Main/{half}.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(f"{half}{i:04}" for i in range(len(pictures))))


def made_picture(number):
    """Discs of three kinds on a rough ground."""
    draw = numpy.random.RandomState(number)
    pixels = draw.randint(150, 190, (120, 160, 3))
    boxes, y, x = [], *numpy.mgrid[:120, :160]
    for _ in range(3 + number % 6):
        kind = draw.randint(3)
        radius = (11, 18, 5)[kind] + draw.randint(-2, 3)
        cx, cy = draw.randint(radius, 160 - radius), draw.randint(radius, 120 - radius)
        inside = (x - cx) ** 2 + (y - cy) ** 2 < radius ** 2
        pixels[inside] = pixels[inside] - (((30, 90, 80), (90, 70, 20), (60, 110, 40))[kind] + draw.randint(0, 20, 3))
        boxes.append((KINDS[kind], float(cx - radius), float(cy - radius), float(cx + radius), float(cy + radius)))
    return numpy.clip(pixels, 0, 255).astype(numpy.uint8), boxes


def halved_picture(folder, name):
    image = Image.open(f"{folder}/JPEGImages/{name}.jpg").convert("RGB")
    pixels = numpy.asarray(image, float).reshape(120, 2, 160, 2, 3).mean((1, 3))
    boxes = []
    for one in xml.parse(f"{folder}/Annotations/{name}.xml").iter("object"):
        box = [float(one.find(f"bndbox/{side}").text) / 2 for side in ("xmin", "ymin", "xmax", "ymax")]
        if box[2] > box[0] and box[3] > box[1]:
            boxes.append((one.find("name").text, *box))
    return (pixels + 0.5).astype(numpy.uint8), boxes


def pictures_of(folder, half, count):
    if not folder:
        return [made_picture(1000 * len(half) + i) for i in range(count)]
    with open(f"{folder}/ImageSets/Main/{half}.txt", encoding="utf-8") as file:
        return [halved_picture(folder, name) for name in file.read().split()[:count]]


def truth_of(boxes, names):
    """[boxes, 5]: shares of the picture as float32 has them, and the class."""
    rows = [[x1 / 160, y1 / 120, x2 / 160, y2 / 120, names.index(name)] for name, x1, y1, x2, y2 in boxes]
    return numpy.array(rows, numpy.float32).reshape(-1, 5).astype(float)


def words_of(step, place, most):
    """Of the anchors and of the candidates of one picture."""
    number, counts = step * BATCH + place, (len(faster_rcnn.ANCHORS), faster_rcnn.AFTER + most)
    return [faster_rcnn.words(name, number * count, count) for name, count in zip(("rpn.loss", "rois"), counts)]


def steps_of_torch(pictures, most, norm, lr, steps):
    """Losses, and the norm of the first gradient."""
    names = sorted({box[0] for _, boxes in pictures for box in boxes})
    model = faster_rcnn.FasterRcnn(len(names), norm).double()
    faster_rcnn.check_start(model)
    found, first_norm = [], None
    for step in range(steps):
        places = [(step * BATCH + i) % len(pictures) for i in range(BATCH)]
        x = numpy.stack([(pictures[i][0].astype(numpy.float32) / numpy.float32(255) - MEAN) / DEVIATION for i in places])
        truths = [truth_of(pictures[i][1], names) for i in places]
        lots = [words_of(step, i, most) for i in range(BATCH)]
        model.zero_grad()
        loss = sum(faster_rcnn.losses(model, torch.from_numpy(x).double().permute(0, 3, 1, 2), truths, most, lots))
        loss.backward()
        found.append(float(loss))
        squares = sum(float((p.grad ** 2).sum()) for p in model.parameters())
        first_norm = first_norm or squares ** 0.5
        with torch.no_grad():
            for p in model.parameters():
                p -= lr * p.grad
    return found, first_norm


def steps_of_halfulp(program, folder, norm, lr, steps):
    words = [program, "train", "model=faster-rcnn-s", f"data=boxes:{folder}", "data.size=120", "init=check",
             f"batch={BATCH}", f"steps={steps}", f"lr={lr}", f"model.norm={'batch' if norm else 'off'}", "threads=1",
             "data.mean=0.5, 0.5, 0.5", "data.std=0.25, 0.25, 0.25", "eval.every=0", "precision=fp32",
             "run.dir=run" + ("" if norm else "-off"), "--json"]
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    made = json.loads(done.stdout)
    return made["losses"], made["first_gradient_norm"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", "build/halfulp"))
    parser.add_argument("--boxes", help="pictures of 320 x 240 in the layout of PASCAL VOC")
    parser.add_argument("--steps", type=int, default=8, help="how many are made (%(default)s)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    is_same = True
    for norm, lr, of_norm in ((False, 0.01, 2e-6), (True, 1e-4, 2e-5)):
        with tempfile.TemporaryDirectory() as folder:
            train = pictures_of(options.boxes, "train", 24)
            test = pictures_of(options.boxes, "test", 4)
            write(folder, "train", train)
            write(folder, "test", test)
            most = max(len(boxes) for _, boxes in train + test)
            found, found_norm = steps_of_halfulp(os.path.abspath(options.halfulp), folder, norm, lr, options.steps)
            expected, expected_norm = steps_of_torch(train, most, norm, lr, options.steps)
        apart = [abs(a / b - 1) for a, b in zip(found, expected)]
        until = next((i for i, one in enumerate(apart) if one > SAME), options.steps)
        norms_apart = abs(found_norm / expected_norm - 1)
        good = apart[0] <= 1e-6 and norms_apart <= of_norm and until >= SURE
        is_same = is_same and good
        print(f"{'batch norms' if norm else 'no norms'}: first loss {found[0]:.7f}, torch {expected[0]:.7f}, apart {apart[0]:.1e}; "
              f"gradient {found_norm:.6f}, apart {norms_apart:.1e}; {until} of {options.steps} losses within {SAME:.0e}, "
              f"largest of these {max(apart[:until] or [0]):.1e}, last {found[-1]:.6f} and {expected[-1]:.6f}  "
              f"{'same' if good else 'DIFFERENT'}")
    sys.exit(0 if is_same else 1)


if __name__ == "__main__":
    main()
