#!/usr/bin/env python3
"""Trains a small classifier of pictures in torch, float32, by the recipe that docs/results/pictures.md has for halfulp's, and
prints the accuracy on the test pictures: what other seeds than that of the one reference run reach.

    /usr/bin/python3 bench/peers/train_pictures.py MODEL --folder=DIR [--epochs=15] [--lr=0.01] [--seed=1] [--pad=8]
                                                   [--offsets=sample|batch]

DIR/train/CLASS and DIR/val/CLASS hold pictures of 64 x 64. --offsets=batch moves all pictures of a batch alike.
Needs torch, numpy and PIL.
"""
import argparse
import glob
import math
import os

import numpy
import torch
from PIL import Image
from torch import nn

import picture_models
import schedule

BATCH, MOMENTUM, DECAY, WARM_UP = 32, 0.9, 5e-4, 50
MEAN, DEVIATION = numpy.float32((0.485, 0.456, 0.406)), numpy.float32((0.229, 0.224, 0.225))


def read(folder):
    """Pixels [samples, 3, 64, 64] and classes, numbered by name."""
    pixels, classes = [], []
    for number, name in enumerate(sorted(os.listdir(folder))):
        for path in sorted(glob.glob(os.path.join(folder, name, "*"))):
            image = numpy.asarray(Image.open(path).convert("RGB"), numpy.float32) / numpy.float32(255)
            pixels.append(((image - MEAN) / DEVIATION).transpose(2, 0, 1))
            classes.append(number)
    return torch.from_numpy(numpy.stack(pixels)), torch.tensor(classes)


def start(model):
    """Normal by fan in, biases 0; norms at 1 and 0."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.normal_(module.weight, std=math.sqrt(2 / module.weight[0].numel()))
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def augmented(x, pad, by_batch, draw):
    """Each picture mirrored or not, and moved by up to pad pixels over black."""
    side = x.shape[3]
    padded = nn.functional.pad(x, (pad, pad, pad, pad))
    moves = draw.randint(0, 2 * pad + 1, (1 if by_batch else len(x), 2))
    made = torch.empty_like(x)
    for i in range(len(x)):
        top, left = moves[0 if by_batch else i]
        picture = padded[i, :, top:top + side, left:left + side]
        made[i] = picture.flip(2) if draw.rand() < 0.5 else picture
    return made


def accuracy(model, pixels, classes):
    model.eval()
    right = 0
    with torch.no_grad():
        for first in range(0, len(pixels), BATCH):
            said = model(pixels[first:first + BATCH])
            said = said[0] if isinstance(said, list) else said
            right += int((said.argmax(1) == classes[first:first + BATCH]).sum())
    model.train()
    return right / len(pixels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=sorted(picture_models.MODELS))
    parser.add_argument("--folder", required=True)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pad", type=int, default=8)
    parser.add_argument("--offsets", choices=("sample", "batch"), default="sample")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    draw = numpy.random.RandomState(options.seed)
    (pixels, classes), test = (read(os.path.join(options.folder, half)) for half in ("train", "val"))
    model = picture_models.MODELS[options.model](3, 1.0, int(classes.max()) + 1, picture_models.SIDE)
    start(model)
    optimizer = torch.optim.SGD(model.parameters(), options.lr, MOMENTUM, weight_decay=DECAY)
    of_epoch = len(pixels) // BATCH
    for epoch in range(options.epochs):
        order, total = torch.from_numpy(draw.permutation(len(pixels))), 0.0
        for step in range(of_epoch):
            chosen = order[step * BATCH:(step + 1) * BATCH]
            x = augmented(pixels[chosen], options.pad, options.offsets == "batch", draw)
            for group in optimizer.param_groups:
                group["lr"] = schedule.rate(options.lr, epoch * of_epoch + step, options.epochs * of_epoch, WARM_UP)
            optimizer.zero_grad()
            loss = picture_models.loss_of(model, x, classes[chosen])
            loss.backward()
            optimizer.step()
            total += float(loss)
        if (epoch + 1) % 5 == 0 or epoch + 1 == options.epochs:
            print(f"epoch {epoch + 1}: loss {total / of_epoch:.4f}, accuracy {100 * accuracy(model, *test):.1f} %",
                  flush=True)


if __name__ == "__main__":
    main()
