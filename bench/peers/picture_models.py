"""AlexNet, VGG, GoogLeNet, Inception v3 and pre-activation ResNet-50 in their small forms, written
for torch with halfulp's names. Networks with further heads give a list: the scores, then the heads'."""
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d, avg_pool2d, max_pool2d

from small_models import layers, width_of


def scaled(channels, width):
    return channels if width == 1.0 else width_of(channels, width)


def nearest(channels, width):
    return max(1, int(channels * width + 0.5))


def same(channels_in, channels, kernel, stride=1, groups=1, bias=False):
    """A convolution that keeps the size at stride 1; kernel: a side, or two."""
    sides = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    return nn.Conv2d(channels_in, channels, sides, stride, tuple(side // 2 for side in sides), groups=groups, bias=bias)


class AlexNet(nn.Module):
    def __init__(self, channels_in, width, classes, side):
        super().__init__()
        c, hidden = [scaled(n, width) for n in (24, 64, 96, 96, 64)], scaled(256, width)
        self.conv1 = same(channels_in, c[0], 5, 2, bias=True)
        self.conv2 = same(c[0], c[1], 5, groups=2, bias=True)
        self.conv3 = same(c[1], c[2], 3, bias=True)
        self.conv4 = same(c[2], c[3], 3, groups=2, bias=True)
        self.conv5 = same(c[3], c[4], 3, groups=2, bias=True)
        left = (side + 1) // 2
        for _ in range(3):
            left = (left - 3) // 2 + 1
        self.fc6 = nn.Linear(c[4] * left * left, hidden)
        self.fc7, self.fc8 = nn.Linear(hidden, hidden), nn.Linear(hidden, classes)
        self.norm = nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)

    def forward(self, x):
        x = max_pool2d(self.norm(torch.relu(self.conv1(x))), 3, 2)
        x = max_pool2d(self.norm(torch.relu(self.conv2(x))), 3, 2)
        x = torch.relu(self.conv4(torch.relu(self.conv3(x))))
        x = max_pool2d(torch.relu(self.conv5(x)), 3, 2).flatten(1)
        return self.fc8(torch.relu(self.fc7(torch.relu(self.fc6(x)))))


class Vgg16(nn.Module):
    def __init__(self, channels_in, width, classes, side):
        super().__init__()
        self.stages, last = [], channels_in
        for stage, (channels, count) in enumerate(((8, 2), (16, 2), (32, 3), (64, 3), (64, 3))):
            self.stages.append([f"conv{stage + 1}_{k + 1}" for k in range(count)])
            for name in self.stages[-1]:
                setattr(self, name, same(last, scaled(channels, width), 3, bias=True))
                last = scaled(channels, width)
        hidden = scaled(512, width)
        self.fc6 = nn.Linear(last * (side // 32) ** 2, hidden)
        self.fc7, self.fc8 = nn.Linear(hidden, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        for names in self.stages:
            for name in names:
                x = torch.relu(getattr(self, name)(x))
            x = max_pool2d(x, 2)
        return self.fc8(torch.relu(self.fc7(torch.relu(self.fc6(x.flatten(1))))))


# ---- GoogLeNet ----

MODULES = ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), (192, 96, 208, 16, 48, 64),
           (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
           (256, 160, 320, 32, 128, 128), (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128))


class Branches(nn.Module):
    def __init__(self, channels_in, sizes):
        super().__init__()
        b1, b2a, b2b, b3a, b3b, b4 = sizes
        self.b1 = same(channels_in, b1, 1, bias=True)
        self.b2a, self.b2b = same(channels_in, b2a, 1, bias=True), same(b2a, b2b, 3, bias=True)
        self.b3a, self.b3b = same(channels_in, b3a, 1, bias=True), same(b3a, b3b, 5, bias=True)
        self.b4 = same(channels_in, b4, 1, bias=True)
        self.channels = b1 + b2b + b3b + b4

    def forward(self, x):
        def relu(layer, y):
            return torch.relu(layer(y))
        return torch.cat((relu(self.b1, x), relu(self.b2b, relu(self.b2a, x)), relu(self.b3b, relu(self.b3a, x)),
                          relu(self.b4, max_pool2d(x, 3, 1, 1))), 1)


class GoogLeNet(nn.Module):
    weights = (1.0, 0.3, 0.3)

    def __init__(self, channels_in, width, classes, _side):
        super().__init__()
        def count(channels):
            return nearest(channels / 8, width)
        self.conv1 = same(channels_in, count(64), 3, bias=True)
        self.conv2 = same(count(64), count(64), 1, bias=True)
        self.conv3 = same(count(64), count(192), 3, bias=True)
        self.inc, last = nn.ModuleList(), count(192)
        self.auxc, self.auxf1, self.auxf2 = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for number, sizes in enumerate(MODULES):
            self.inc.append(Branches(last, [count(n) for n in sizes]))
            last = self.inc[-1].channels
            if number in (2, 5):
                self.auxc.append(same(last, count(128), 1, bias=True))
                self.auxf1.append(nn.Linear(16 * count(128), count(1024)))
                self.auxf2.append(nn.Linear(count(1024), classes))
        self.fc = nn.Linear(last, classes)
        self.norm = nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)

    def head(self, number, x):
        x = torch.relu(self.auxc[number](adaptive_avg_pool2d(x, 4))).flatten(1)
        return self.auxf2[number](torch.relu(self.auxf1[number](x)))

    def forward(self, x):
        x = self.norm(max_pool2d(torch.relu(self.conv1(x)), 3, 2, ceil_mode=True))
        x = torch.relu(self.conv3(torch.relu(self.conv2(x))))
        x, heads = max_pool2d(self.norm(x), 3, 2, ceil_mode=True), []
        for number, module in enumerate(self.inc):
            x = module(x)
            if number in (2, 5):
                heads.append(self.head(len(heads), x))
            if number in (1, 6):
                x = max_pool2d(x, 3, 2, ceil_mode=True)
        return [self.fc(x.mean((2, 3))), *heads]


# ---- Inception v3 ----

def conv_norm(channels_in, channels, kernel, stride=1, padded=True):
    made = same(channels_in, channels, kernel, stride)
    if not padded:
        made.padding = (0, 0)
    return layers(("0", made), ("1", nn.BatchNorm2d(channels, eps=1e-3)), ("2", nn.ReLU()))


class Inception3(nn.Module):
    def __init__(self, channels_in, width, classes, _side):
        super().__init__()
        def add(name, inputs, full, kernel, stride=1, padded=True):
            channels = nearest(full // 8, width)
            setattr(self, name, conv_norm(inputs, channels, kernel, stride, padded))
            return channels
        def chain(inputs, *steps):
            for step in steps:
                inputs = add(step[0], inputs, *step[1:])
            return inputs
        last = chain(channels_in, ("stem1", 32, 3), ("stem2", 64, 3), ("stem3", 80, 1), ("stem4", 192, 3))
        last = (add("a1", last, 64, 1) + chain(last, ("a5a", 48, 1), ("a5b", 64, 5))
                + chain(last, ("a3a", 64, 1), ("a3b", 96, 3), ("a3c", 96, 3)) + add("ap", last, 64, 1))
        last += add("r3", last, 384, 3, 2, False) + chain(last, ("rda", 64, 1), ("rdb", 96, 3),
                                                          ("rdc", 96, 3, 2, False))
        row, column = (1, 7), (7, 1)
        last = (add("c1", last, 192, 1) + chain(last, ("c7a", 128, 1), ("c7b", 128, row), ("c7c", 192, column))
                + chain(last, ("cda", 128, 1), ("cdb", 128, column), ("cdc", 128, row), ("cdd", 128, column),
                        ("cde", 192, row)) + add("cp", last, 192, 1))
        last += (chain(last, ("d3a", 192, 1), ("d3b", 320, 3, 2, False))
                 + chain(last, ("d7a", 192, 1), ("d7b", 192, row), ("d7c", 192, column), ("d7d", 192, 3, 2, False)))
        parts = [add("e1", last, 320, 1)]
        inner = add("e3", last, 384, 1)
        parts += [add("e3a", inner, 384, (1, 3)), add("e3b", inner, 384, (3, 1))]
        inner = chain(last, ("eda", 448, 1), ("edb", 384, 3))
        parts += [add("edc", inner, 384, (1, 3)), add("edd", inner, 384, (3, 1)), add("ep", last, 192, 1)]
        self.fc = nn.Linear(sum(parts), classes)

    def go(self, x, *names):
        for name in names:
            x = getattr(self, name)(x)
        return x

    def forward(self, x):
        go = self.go
        x = go(max_pool2d(go(x, "stem1", "stem2"), 3, 2), "stem3", "stem4")
        x = max_pool2d(x, 3, 2)
        x = torch.cat((go(x, "a1"), go(x, "a5a", "a5b"), go(x, "a3a", "a3b", "a3c"), go(avg_pool2d(x, 3, 1, 1), "ap")), 1)
        x = torch.cat((go(x, "r3"), go(x, "rda", "rdb", "rdc"), max_pool2d(x, 3, 2)), 1)
        x = torch.cat((go(x, "c1"), go(x, "c7a", "c7b", "c7c"), go(x, "cda", "cdb", "cdc", "cdd", "cde"),
                       go(avg_pool2d(x, 3, 1, 1), "cp")), 1)
        x = torch.cat((go(x, "d3a", "d3b"), go(x, "d7a", "d7b", "d7c", "d7d"), max_pool2d(x, 3, 2)), 1)
        left, right = go(x, "e3"), go(x, "eda", "edb")
        x = torch.cat((go(x, "e1"), go(left, "e3a"), go(left, "e3b"), go(right, "edc"), go(right, "edd"),
                       go(avg_pool2d(x, 3, 1, 1), "ep")), 1)
        return self.fc(x.mean((2, 3)))


# ---- pre-activation ResNet-50 ----

class PreBlock(nn.Module):
    def __init__(self, channels_in, inner, stride, is_first):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels_in)
        if is_first:
            self.sc = same(channels_in, 4 * inner, 1, stride)
        self.conv1, self.bn2 = same(channels_in, inner, 1), nn.BatchNorm2d(inner)
        self.conv2, self.bn3 = same(inner, inner, 3, stride), nn.BatchNorm2d(inner)
        self.conv3 = same(inner, 4 * inner, 1)

    def last_norm(self):
        return self.bn3

    def forward(self, x):
        y = torch.relu(self.bn1(x))
        short = self.sc(y) if hasattr(self, "sc") else x
        y = self.conv2(torch.relu(self.bn2(self.conv1(y))))
        return self.conv3(torch.relu(self.bn3(y))) + short


class PreResNet50(nn.Module):
    def __init__(self, channels_in, width, classes, _side):
        super().__init__()
        last = width_of(8, width)
        self.conv1, self.blocks = same(channels_in, last, 3), nn.ModuleList()
        for stage, count in enumerate((3, 4, 6, 3)):
            inner = width_of(8, width) << stage
            for k in range(count):
                self.blocks.append(PreBlock(last, inner, 2 if stage > 0 and k == 0 else 1, k == 0))
                last = 4 * inner
        self.bn, self.fc = nn.BatchNorm2d(last), nn.Linear(last, classes)

    def forward(self, x):
        x = self.conv1(x)
        for block in self.blocks:
            x = block(x)
        return self.fc(torch.relu(self.bn(x)).mean((2, 3)))


def loss_of(model, images, labels):
    """Of the scores of any network, and of further heads with their weights."""
    heads = model(images)
    if isinstance(heads, torch.Tensor):
        return nn.functional.cross_entropy(heads, labels)
    return sum(weight * nn.functional.cross_entropy(head, labels) for weight, head in zip(model.weights, heads))


MODELS = {"alexnet-s": AlexNet, "vgg16-s": Vgg16, "googlenet-s": GoogLeNet, "inception3-s": Inception3,
          "preresnet50-s": PreResNet50}
SIDE = 64
