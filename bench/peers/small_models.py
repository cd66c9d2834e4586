"""SqueezeNet, ShuffleNet-v2 and MobileNet-v2 as Lee et al. train them on CIFAR, written for torch with
halfulp's names: the state dictionaries hold the same tensors in the same order."""
import math
from collections import OrderedDict

import torch
from torch import nn


def width_of(channels, width):
    """Channels times the multiplier, as a multiple of 8 (of 4 up to 1/4), at least 9/10 of it."""
    wanted, step = channels * width, 4 if width <= 0.25 else 8
    rounded = max(step, int((wanted + step / 2) // step) * step)
    return rounded + step if rounded < 0.9 * wanted else rounded


def layers(*parts):
    return nn.Sequential(OrderedDict(parts))


def conv(channels_in, channels, kernel, stride=1, groups=1, bias=False):
    return nn.Conv2d(channels_in, channels, kernel, stride, kernel // 2, groups=groups, bias=bias)


class Fire(nn.Module):
    def __init__(self, channels_in, squeeze, expand):
        super().__init__()

        def part(channels_in, channels, kernel):
            return layers(("conv", conv(channels_in, channels, kernel, bias=True)),
                          ("bn", nn.BatchNorm2d(channels)))
        self.squeeze = part(channels_in, squeeze, 1)
        self.expand1x1 = part(squeeze, expand, 1)
        self.expand3x3 = part(squeeze, expand, 3)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.relu(torch.cat([self.expand1x1(x), self.expand3x3(x)], 1))


class SqueezeNet(nn.Module):
    def __init__(self, channels_in, width, classes):
        super().__init__()
        last = width_of(96, width)
        self.conv1, self.bn1 = conv(channels_in, last, 3, bias=True), nn.BatchNorm2d(last)
        for i in range(8):
            expand = width_of(64 * (1 + i // 2), 1 if i == 7 and width < 1 else width)
            setattr(self, f"fire{i + 2}",
                    Fire(last, width_of(16 * (1 + i // 2), width), expand))
            last = 2 * expand
        self.conv10 = conv(last, classes, 1, bias=True)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        for i in range(2, 10):
            x = getattr(self, f"fire{i}")(x)
            x = nn.functional.max_pool2d(x, 2) if i in (4, 8) else x
        return self.conv10(x).mean((2, 3))


def shuffle(left, right):
    x = torch.cat([left, right], 1)
    n, c, h, w = x.shape
    return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class Branch(nn.Module):
    def __init__(self, channels_in, half, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(channels_in, half, 1), nn.BatchNorm2d(half)
        self.conv2, self.bn2 = conv(half, half, 3, stride, half), nn.BatchNorm2d(half)
        self.conv3, self.bn3 = conv(half, half, 1), nn.BatchNorm2d(half)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn3(self.conv3(self.bn2(self.conv2(x)))))


class BasicUnit(Branch):
    def __init__(self, half):
        super().__init__(half, half, 1)

    def forward(self, x):
        left, right = x.chunk(2, 1)
        return shuffle(left, super().forward(right))


class Left(nn.Module):
    def __init__(self, channels_in, half):
        super().__init__()
        self.conv1 = conv(channels_in, channels_in, 3, 2, channels_in)
        self.bn1 = nn.BatchNorm2d(channels_in)
        self.conv2, self.bn2 = conv(channels_in, half, 1), nn.BatchNorm2d(half)

    def forward(self, x):
        return torch.relu(self.bn2(self.conv2(self.bn1(self.conv1(x)))))


class DownUnit(nn.Module):
    def __init__(self, channels_in, half):
        super().__init__()
        self.left, self.right = Left(channels_in, half), Branch(channels_in, half, 2)

    def forward(self, x):
        return shuffle(self.left(x), self.right(x))


class ShuffleNet(nn.Module):
    def __init__(self, channels_in, width, classes):
        super().__init__()
        half, last = max(2, 2 * math.ceil(58 * width / 2 - 0.5)), 24
        self.conv1, self.bn1 = conv(channels_in, last, 3), nn.BatchNorm2d(last)
        for s, units in enumerate((4, 8, 4)):
            stage = [DownUnit(last, half)] + [BasicUnit(half) for _ in range(units - 1)]
            setattr(self, f"layer{s + 1}", nn.Sequential(*stage))
            last, half = 2 * half, 2 * half
        self.conv2, self.bn2 = conv(last, 1024, 1), nn.BatchNorm2d(1024)
        self.fc = nn.Linear(1024, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(torch.relu(self.bn2(self.conv2(x))).mean((2, 3)))


class Inverted(nn.Module):
    def __init__(self, channels_in, expansion, channels, stride):
        super().__init__()
        inner = expansion * channels_in
        self.conv1, self.bn1 = conv(channels_in, inner, 1), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = conv(inner, inner, 3, stride, inner), nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = conv(inner, channels, 1), nn.BatchNorm2d(channels)
        self.shortcut = None if stride != 1 else nn.Identity()
        if stride == 1 and channels_in != channels:
            self.shortcut = layers(("conv", conv(channels_in, channels, 1)),
                                   ("bn", nn.BatchNorm2d(channels)))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(y)))))
        return y if self.shortcut is None else y + self.shortcut(x)


class MobileNet(nn.Module):
    STAGES = ((1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self, channels_in, width, classes):
        super().__init__()
        last, wide = width_of(32, width), width_of(1280, max(1, width))
        self.conv1, self.bn1 = conv(channels_in, last, 3), nn.BatchNorm2d(last)
        for s, (expansion, c, blocks, stride) in enumerate(self.STAGES):
            stage = []
            for k in range(blocks):
                stage.append(Inverted(last, expansion, width_of(c, width), stride if k == 0 else 1))
                last = width_of(c, width)
            setattr(self, f"layer{s + 1}", nn.Sequential(*stage))
        self.conv2, self.bn2 = conv(last, wide, 1), nn.BatchNorm2d(wide)
        self.fc = nn.Linear(wide, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for s in range(len(self.STAGES)):
            x = getattr(self, f"layer{s + 1}")(x)
        return self.fc(torch.relu(self.bn2(self.conv2(x))).mean((2, 3)))


MODELS = {"squeezenet": SqueezeNet, "shufflenet-v2": ShuffleNet, "mobilenet-v2": MobileNet}
