"""Faster-RCNN in its small form, written plainly for torch with halfulp's names: rows of anchors and regions as
docs/reference/numerics/layers.md ("Boxes") has them, random words by the formula of check runs. Used by same_regions.py."""
import numpy
import torch
from torch import nn
from torch.nn import functional

HEIGHT, WIDTH, STEP = 120, 160, 8
SIZES, RATIOS = (12, 24, 48), (0.5, 1, 2)
SAMPLES, BEFORE, AFTER, REGIONS, LEAST, BINS = 256, 400, 100, 32, 4, 4
EQUAL = 1e-5


# ---- words by the formula ----

def words(name, first, count):
    """Words first .. first + count - 1 of a name (32-bit integers)."""
    x = 0x811C9DC5
    for byte in name.encode():
        x = (x ^ byte) * 0x01000193 & 0xFFFFFFFF
    with numpy.errstate(over="ignore"):
        x = numpy.uint32(x) + numpy.arange(first, first + count, dtype=numpy.uint64).astype(numpy.uint32) \
            * numpy.uint32(0x9E3779B9)
        x = (x ^ x >> numpy.uint32(16)) * numpy.uint32(0x85EBCA6B)
        x = (x ^ x >> numpy.uint32(13)) * numpy.uint32(0xC2B2AE35)
    return x ^ x >> numpy.uint32(16)


def check_start(model):
    """Weights by the formula on their names."""
    for name, value in model.named_parameters():
        t = (words(name, 0, value.numel()) >> numpy.uint32(8)).astype(numpy.float64) * 2.0 ** -23 - 1
        if value.dim() > 1:
            t *= 2.0 ** -((int(value[0].numel()).bit_length() - 1) // 2)
        else:
            is_norm = name.endswith(".1.weight")
            t = 1 + t / 16 if is_norm else t / 16
        value.data = torch.from_numpy(t).view(value.shape).to(value.dtype)


# ---- boxes, as shares of the picture ----

def anchors():
    """[anchors, 4]: cx, cy, w, h."""
    shapes = [(size / ratio ** 0.5 / WIDTH, size * ratio ** 0.5 / HEIGHT) for ratio in RATIOS for size in SIZES]
    rows, columns = HEIGHT // STEP, WIDTH // STEP
    return numpy.array([((j + 0.5) * (STEP / WIDTH), (i + 0.5) * (STEP / HEIGHT), w, h)
                        for i in range(rows) for j in range(columns) for w, h in shapes])


def corners(c):
    return numpy.stack([c[:, 0] - c[:, 2] / 2, c[:, 1] - c[:, 3] / 2, c[:, 0] + c[:, 2] / 2, c[:, 1] + c[:, 3] / 2], 1)


def centred(b):
    return numpy.stack([(b[:, 0] + b[:, 2]) / 2, (b[:, 1] + b[:, 3]) / 2, b[:, 2] - b[:, 0], b[:, 3] - b[:, 1]], 1)


def overlaps(a, b):
    """[of a, of b]: intersection over union."""
    size = numpy.minimum(a[:, None, 2:], b[None, :, 2:]) - numpy.maximum(a[:, None, :2], b[None, :, :2])
    common = numpy.where((size > 0).all(2), size[..., 0] * size[..., 1], 0.0)
    area = [(x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]) for x in (a, b)]
    return common / (area[0][:, None] + area[1][None, :] - common)


def best_of(iou):
    """The first column that no later one exceeds by more than what counts as equal, of each row."""
    best, found = numpy.zeros(len(iou)), numpy.zeros(len(iou), int)
    for k in range(iou.shape[1]):
        is_more = iou[:, k] > best + EQUAL
        best[is_more], found[is_more] = iou[is_more, k], k
    return found


def encode(beside, box):
    """Without scales."""
    return numpy.concatenate([(box[:, :2] - beside[:, :2]) / beside[:, 2:], numpy.log(box[:, 2:] / beside[:, 2:])], 1)


def decode(beside, offsets):
    sides = beside[:, 2:] * numpy.minimum(numpy.exp(offsets[:, 2:]), 1000 / 16)
    return numpy.clip(corners(numpy.concatenate([beside[:, :2] + offsets[:, :2] * beside[:, 2:], sides], 1)), 0, 1)


def suppress(boxes, threshold):
    """Numbers of the boxes that stay, which come best first."""
    kept, iou = [], overlaps(boxes, boxes)
    for i in range(len(boxes)):
        if not (iou[i, kept] > threshold).any():
            kept.append(i)
    return kept


def first_lots(lots, candidates, wanted):
    """Of the candidates (numbers) those of the smallest words, the smallest first."""
    candidates = numpy.asarray(candidates, int)
    return candidates[numpy.lexsort((candidates, lots[candidates]))][:max(wanted, 0)]


# ---- who takes part ----

ANCHORS = anchors()
SIDES = numpy.array([WIDTH, HEIGHT, WIDTH, HEIGHT], float)


def matched_anchors(truth):
    """Number of its box, -1 background, -3 between."""
    if len(truth) == 0:
        return numpy.full(len(ANCHORS), -1)
    iou = overlaps(corners(ANCHORS), truth[:, :4])
    most, largest = iou.max(0), iou.max(1)
    is_best = ((most > 0) & ~(most > iou + EQUAL)).any(1)
    return numpy.where((largest >= 0.7) | is_best, best_of(iou), numpy.where(largest < 0.3, -1, -3))


def sampled_anchors(truth, lots):
    """The matches of the anchors that take part; -3 of the others."""
    match = matched_anchors(truth)
    things, others = numpy.flatnonzero(match >= 0), numpy.flatnonzero(match == -1)
    over = len(things) - SAMPLES // 2
    out = first_lots(~lots, things, over)
    match[out] = -3
    kept = first_lots(lots, others, SAMPLES - (len(things) - len(out)))
    match[numpy.setdiff1d(others, kept)] = -3
    return match


def shown(regions, truth):
    """Number of the box that each region shows, -1: the background."""
    if len(truth) == 0 or len(regions) == 0:
        return numpy.full(len(regions), -1)
    iou = overlaps(regions.astype(float) / SIDES, truth[:, :4])
    return numpy.where(iou.max(1) >= 0.5, best_of(iou), -1)


def proposals(rows):
    """rows [anchors, 6] -> [at most AFTER, 4] float32 pixels."""
    order = numpy.argsort(-(rows[:, 1] - rows[:, 0]), kind="stable")[:BEFORE]
    boxes = decode(ANCHORS[order], rows[order, 2:])
    size = (boxes[:, 2:] - boxes[:, :2]) * SIDES[:2]
    boxes = boxes[(size >= LEAST).all(1)]
    return (boxes[suppress(boxes, 0.7)[:AFTER]] * SIDES).astype(numpy.float32)


def sampled_regions(rows, truth, most, lots):
    """What the head looks at in training; lots [AFTER + most]."""
    made = proposals(rows)
    candidates = numpy.zeros((AFTER + most, 4), numpy.float32)
    candidates[:len(made)] = made
    candidates[AFTER:AFTER + len(truth)] = (truth[:, :4] * SIDES).astype(numpy.float32)
    there = numpy.flatnonzero((candidates[:, 2:] > candidates[:, :2]).all(1))
    shows = shown(candidates[there], truth) >= 0
    things = first_lots(lots, there[shows], REGIONS // 4)
    return candidates[numpy.concatenate([things, first_lots(lots, there[~shows], REGIONS - len(things))])]


# ---- the network ----

def layer(channels_in, channels, norm):
    parts = [nn.Conv2d(channels_in, channels, 3, 1, 1, bias=not norm)]
    return nn.Sequential(*parts, *([nn.BatchNorm2d(channels)] if norm else []))


class FasterRcnn(nn.Module):
    def __init__(self, classes, norm=True):
        super().__init__()
        self.classes, last = classes, 3
        for s, (count, channels) in enumerate(((2, 8), (2, 16), (3, 32), (3, 64))):
            stage = []
            for _ in range(count):
                stage.append(layer(last, channels, norm))
                last = channels
            setattr(self, f"stage{s + 1}", nn.Sequential(*stage))
        shapes = len(SIZES) * len(RATIOS)
        self.rpn = nn.ModuleDict({"conv": nn.Conv2d(64, 64, 3, 1, 1), "cls": nn.Conv2d(64, 2 * shapes, 1),
                                  "box": nn.Conv2d(64, 4 * shapes, 1)})
        self.fc6, self.fc7 = nn.Conv2d(64 * BINS * BINS, 128, 1), nn.Conv2d(128, 128, 1)
        self.cls, self.box = nn.Conv2d(128, classes + 1, 1), nn.Conv2d(128, 4 * (classes + 1), 1)

    def look(self, pictures):
        """The map [N, 64, 15, 20] and what the anchors say [N, anchors, 6]."""
        x = pictures
        for s in range(4):
            x = functional.max_pool2d(x, 2) if s > 0 else x
            for one in getattr(self, f"stage{s + 1}"):
                x = torch.relu(one(x))
        seen = torch.relu(self.rpn["conv"](x))
        rows = [self.rpn[name](seen).permute(0, 2, 3, 1).reshape(len(x), -1, n) for name, n in (("cls", 2), ("box", 4))]
        return x, torch.cat(rows, 2)

    def pool(self, one, regions):
        """A map [64, H, W] and regions [R, 4] -> [R, numbers, 1, 1] in the order row, column, channel."""
        places = numpy.floor(regions.astype(float) / STEP + 0.5).astype(int)
        extents, lists = (one.shape[2], one.shape[1]), []
        for region in places:
            bins = []
            for axis in (1, 0):
                first, length = region[axis], max(region[axis + 2] - region[axis] + 1, 1)
                bins.append([numpy.arange(max(first + i * length // BINS, 0),
                                          min(first + -(-(i + 1) * length // BINS), extents[axis])) for i in range(BINS)])
            lists += [(y[:, None] * extents[0] + x).ravel() for y in bins[0] for x in bins[1]]
        nowhere = extents[0] * extents[1]  # behind the map: less than all numbers
        index = numpy.full((len(lists), max(map(len, lists))), nowhere)
        for row, listed in zip(index, lists):
            row[:len(listed)] = listed
        flat = torch.cat([one.flatten(1), one.new_full((len(one), 1), -1e30)], 1)
        best = flat[:, torch.from_numpy(index)].max(2).values
        best = torch.where(best < -1e29, torch.zeros_like(best), best)
        return best.t().reshape(len(regions), -1, 1, 1)

    def say(self, one, regions):
        """[R, classes + 1] and [R, classes + 1, 4]."""
        x = torch.relu(self.fc7(torch.relu(self.fc6(self.pool(one, regions)))))
        return self.cls(x).flatten(1), self.box(x).view(len(regions), self.classes + 1, 4)


def smooth_l1(away, beta):
    size = away.abs() / beta
    return beta * torch.where(size < 1, size * size / 2, size - 0.5).sum()


def losses(model, pictures, truths, most, lots):
    """Of the anchors and of the regions, each the mean over the pictures. truths: [boxes, 5] of each picture; lots:
    (words of the anchors, words of the candidates) of each."""
    maps, rows = model.look(pictures)
    of_anchors, of_regions = 0, 0
    for s, truth in enumerate(truths):
        said = rows[s].detach().double().numpy()
        match = sampled_anchors(truth, lots[s][0])
        part, things = numpy.flatnonzero(match > -2), numpy.flatnonzero(match >= 0)
        kinds = torch.from_numpy((match[part] >= 0).astype(int))
        entropy = functional.cross_entropy(rows[s, part, :2], kinds, reduction="sum")
        wanted = encode(ANCHORS[things], centred(truth[match[things], :4]))
        wanted = torch.from_numpy(wanted).to(rows.dtype)
        of_anchors += (entropy + smooth_l1(rows[s, things, 2:] - wanted, 1 / 9)) / len(part)
        regions = sampled_regions(said, truth, most, lots[s][1])
        if len(regions) == 0:
            continue
        scores, offsets = model.say(maps[s], regions)
        show = shown(regions, truth)
        labels = numpy.where(show >= 0, truth[show, 4] + 1, 0).astype(int) if len(truth) else numpy.zeros(len(show), int)
        entropy = functional.cross_entropy(scores, torch.from_numpy(labels), reduction="sum")
        things = numpy.flatnonzero(show >= 0)
        beside = centred(regions[things].astype(float) / SIDES)
        wanted = encode(beside, centred(truth[show[things], :4])) * (10, 10, 5, 5)
        away = offsets[things, labels[things]] - torch.from_numpy(wanted).to(rows.dtype)
        of_regions += (entropy + smooth_l1(away, 1)) / len(regions)
    return of_anchors / len(truths), of_regions / len(truths)
