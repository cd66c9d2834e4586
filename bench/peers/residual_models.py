"""ResNet-50 and DavidNet, written for torch with halfulp's names: the state dictionaries hold the same
tensors in the same order."""
import torch
from torch import nn

from small_models import conv, layers, width_of


class Bottleneck(nn.Module):
    def __init__(self, channels_in, inner, stride):
        super().__init__()
        channels = 4 * inner
        self.conv1, self.bn1 = conv(channels_in, inner, 1), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = conv(inner, inner, 3, stride), nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = conv(inner, channels, 1), nn.BatchNorm2d(channels)
        self.shortcut = nn.Sequential()
        if stride != 1 or channels_in != channels:
            self.shortcut = layers(("conv", conv(channels_in, channels, 1, stride)),
                                   ("bn", nn.BatchNorm2d(channels)))

    def last_norm(self):
        return self.bn3

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(self.bn3(self.conv3(y)) + self.shortcut(x))


class ResNet50(nn.Module):
    def __init__(self, channels_in, width, classes, side):
        super().__init__()
        last = width_of(64, width)
        self.is_large = side >= 96
        self.conv1 = conv(channels_in, last, 7, 2) if self.is_large else conv(channels_in, last, 3)
        self.bn1 = nn.BatchNorm2d(last)
        for s, blocks in enumerate((3, 4, 6, 3)):
            inner, stage = width_of(64 << s, width), []
            for k in range(blocks):
                stage.append(Bottleneck(last, inner, 2 if s > 0 and k == 0 else 1))
                last = 4 * inner
            setattr(self, f"layer{s + 1}", nn.Sequential(*stage))
        self.fc = nn.Linear(last, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = nn.functional.max_pool2d(x, 3, 2, 1) if self.is_large else x
        for s in range(4):
            x = getattr(self, f"layer{s + 1}")(x)
        return self.fc(x.mean((2, 3)))


class Layer(nn.Module):
    def __init__(self, channels_in, channels):
        super().__init__()
        self.conv, self.bn = conv(channels_in, channels, 3), nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class PooledLayer(Layer):
    def forward(self, x):
        return nn.functional.max_pool2d(super().forward(x), 2)


class ResidualLayer(PooledLayer):
    def __init__(self, channels_in, channels):
        super().__init__(channels_in, channels)
        self.res1, self.res2 = Layer(channels, channels), Layer(channels, channels)

    def last_norm(self):
        return self.res2.bn

    def forward(self, x):
        x = super().forward(x)
        return x + self.res2(self.res1(x))


class DavidNet(nn.Module):
    def __init__(self, channels_in, width, classes, _):
        super().__init__()
        a, b, c, d = (width_of(64 << s, width) for s in range(4))
        self.prep = Layer(channels_in, a)
        self.layer1, self.layer2 = ResidualLayer(a, b), PooledLayer(b, c)
        self.layer3, self.fc = ResidualLayer(c, d), nn.Linear(d, classes, bias=False)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.prep(x))))
        return 0.125 * self.fc(x.amax((2, 3)))


MODELS = {"resnet50": ResNet50, "davidnet": DavidNet}
