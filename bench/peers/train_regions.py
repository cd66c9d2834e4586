#!/usr/bin/env python3
"""Trains Faster-RCNN's small form in torch, float32, by the recipe that halfulp has for it, and prints the mean average
precision at an overlap of 0.5 (over all points): the figure beside which halfulp's stands in docs/results/pictures.md.

    /usr/bin/python3 bench/peers/train_regions.py --boxes=DIR [--epochs=20] [--seed=1]

DIR: the layout of PASCAL VOC, pictures of 320 x 240 (blood cells), which are halved. Needs torch, numpy and PIL.
"""
import argparse
import math

import numpy
import torch
from torch import nn

import faster_rcnn
import same_regions
import schedule

BATCH, LR, MOMENTUM, DECAY = 8, 0.01, 0.9, 5e-4
MEAN, DEVIATION = numpy.float32((0.485, 0.456, 0.406)), numpy.float32((0.229, 0.224, 0.225))
LEAST, MOST_OVERLAP, ENOUGH = 0.01, 0.45, 0.5


def start(model):
    """Normal by fan in, 0.01 for the last layers, 0.001 for the last offsets; biases 0."""
    small = {model.rpn["cls"]: 0.01, model.rpn["box"]: 0.01, model.cls: 0.01, model.box: 0.001}
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.normal_(module.weight, std=small.get(module, math.sqrt(2 / module.weight[0].numel())))
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def input_of(pixels):
    x = (pixels.astype(numpy.float32) / numpy.float32(255) - MEAN) / DEVIATION
    return torch.from_numpy(numpy.ascontiguousarray(x.transpose(2, 0, 1)))


def train(model, samples, most, epochs, draw):
    optimizer = torch.optim.SGD(model.parameters(), LR, MOMENTUM, weight_decay=DECAY)
    per_epoch, step = -(-len(samples) // BATCH), 0
    for epoch in range(epochs):
        order, total = draw.permutation(len(samples)), 0.0
        for first in range(0, len(order), BATCH):
            pictures, truths, lots = [], [], []
            for i in order[first:first + BATCH]:
                pixels, truth = samples[i]
                if draw.rand() < 0.5:
                    pixels, truth = pixels[:, ::-1], truth.copy()
                    truth[:, [0, 2]] = 1 - truth[:, [2, 0]]
                pictures.append(input_of(pixels))
                truths.append(truth)
                lots.append([draw.randint(0, 2 ** 32, n, dtype=numpy.uint32)
                             for n in (len(faster_rcnn.ANCHORS), faster_rcnn.AFTER + most)])
            for group in optimizer.param_groups:
                group["lr"] = schedule.rate(LR, step, per_epoch * epochs, per_epoch)
            optimizer.zero_grad()
            loss = sum(faster_rcnn.losses(model, torch.stack(pictures), truths, most, lots))
            loss.backward()
            optimizer.step()
            total, step = total + float(loss) * len(pictures), step + 1
        print(f"epoch {epoch + 1}: loss {total / len(samples):.4f}", flush=True)


def detections(model, pixels, classes):
    """(class, score, box) of a picture."""
    with torch.no_grad():
        maps, rows = model.look(input_of(pixels)[None])
        regions = faster_rcnn.proposals(rows[0].double().numpy())[:faster_rcnn.REGIONS]
        if len(regions) == 0:
            return
        scores, offsets = model.say(maps[0], regions)
    shares = torch.softmax(scores.double(), 1).numpy()
    beside = faster_rcnn.centred(regions.astype(float) / faster_rcnn.SIDES)
    for k in range(classes):
        boxes = faster_rcnn.decode(beside, offsets[:, k + 1].double().numpy() / (10, 10, 5, 5))
        order = [i for i in numpy.argsort(-shares[:, k + 1], kind="stable") if shares[i, k + 1] > LEAST]
        for i in faster_rcnn.suppress(boxes[order], MOST_OVERLAP) if order else []:
            yield k, shares[order[i], k + 1], boxes[order[i]]


def mean_precision(model, samples, classes):
    said, boxes = [[] for _ in range(classes)], [0] * classes
    for pixels, truth in samples:
        taken = set()
        for k in range(classes):
            boxes[k] += int((truth[:, 4] == k).sum())
        for k, score, box in detections(model, pixels, classes):
            of_class = numpy.flatnonzero(truth[:, 4] == k)
            iou = faster_rcnn.overlaps(box[None], truth[of_class, :4])[0] if len(of_class) else numpy.zeros(1)
            best = int(iou.argmax())
            is_true = iou[best] >= ENOUGH and (k, best) not in taken
            if is_true:
                taken.add((k, best))
            said[k].append((score, is_true))
    total = 0.0
    for k in range(classes):
        said[k].sort(key=lambda one: -one[0])
        right = numpy.cumsum([one[1] for one in said[k]])
        precision = numpy.maximum.accumulate((right / numpy.arange(1, len(right) + 1))[::-1])[::-1]
        total += sum(p for p, one in zip(precision, said[k]) if one[1]) / boxes[k]
        print(f"class {k}: {boxes[k]} boxes, {right[-1]} of {len(right)} detections are true")
    return total / classes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boxes", required=True)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    pictures = [same_regions.pictures_of(options.boxes, half, None) for half in ("train", "test")]
    names = sorted({box[0] for _, boxes in pictures[0] for box in boxes})
    halves = [[(pixels, same_regions.truth_of(boxes, names)) for pixels, boxes in half] for half in pictures]
    most = max(len(truth) for half in halves for _, truth in half)
    model = faster_rcnn.FasterRcnn(len(names))
    start(model)
    train(model, halves[0], most, options.epochs, numpy.random.RandomState(options.seed))
    model.eval()
    print(f"mean average precision {100 * mean_precision(model, halves[1], len(names)):.2f} %")


if __name__ == "__main__":
    main()
