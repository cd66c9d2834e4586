"""FCN, PAN, SSD, the variational autoencoder and DCGAN in their small forms, written for torch with halfulp's names and
trained with its losses and optimizers. training(name, batch) gives the model, whose parameters are those of all its
networks, and a step on a batch of noise that lies ready."""
import torch
from torch import nn
from torch.nn import functional as F

from made_data import BOXES, HEIGHT, KINDS, LABELS, WIDTH
from small_models import conv, layers

CROP, ENLARGED, CODE, NOISE, SIDE, FRAMED = 24, 4, 8, 32, 28, 32


def picture(batch, channels, height, width):
    return torch.randn(batch, channels, height, width).contiguous(memory_format=torch.channels_last)


def sgd(model, rate):
    return torch.optim.SGD(model.parameters(), rate, momentum=0.9, weight_decay=5e-4, foreach=True)


def adam(model, rate, first=0.9):
    return torch.optim.Adam(model.parameters(), rate, (first, 0.999), foreach=True)


def step_of(model, optimizer, loss):
    """One network with one loss."""
    def step():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
    return model, step


# ---- fcn-s ----

def spread(channels_in, channels, stride=1, dilation=1):
    return nn.Conv2d(channels_in, channels, 3, stride, dilation, dilation, bias=False)


def conv_norm_relu(made):
    return layers(("0", made), ("1", nn.BatchNorm2d(made.out_channels)), ("2", nn.ReLU(inplace=True)))


class Basic(nn.Module):
    def __init__(self, channels_in, channels, stride, dilation):
        super().__init__()
        self.conv1, self.bn1 = spread(channels_in, channels, stride, dilation), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = spread(channels, channels, 1, dilation), nn.BatchNorm2d(channels)
        self.sc = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.sc = nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
        return F.relu(y.add_(self.sc(x)), inplace=True)


class Fcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, last = conv_norm_relu(spread(3, 16, 2)), 16
        for s, (channels, stride, dilation) in enumerate(((16, 1, 1), (32, 2, 1), (64, 1, 2), (64, 1, 4))):
            blocks = [Basic(last, channels, stride, dilation), Basic(channels, channels, 1, dilation)]
            setattr(self, f"layer{s + 1}", nn.Sequential(*blocks))
            last = channels
        self.head1, self.head2 = conv_norm_relu(spread(64, 32)), conv_norm_relu(spread(32, 32))
        self.headcat, self.cls = conv_norm_relu(spread(96, 32)), nn.Conv2d(32, LABELS, 1)
        self.aux1, self.auxcls = conv_norm_relu(spread(64, 16)), nn.Conv2d(16, LABELS, 1)

    def forward(self, x):
        third = self.layer3(self.layer2(self.layer1(self.stem(x))))
        x = self.layer4(third)
        x = self.headcat(torch.cat((x, self.head2(self.head1(x))), 1))
        both = self.cls(F.dropout(x, 0.1)), self.auxcls(F.dropout(self.aux1(third), 0.1))
        return [F.interpolate(y, (HEIGHT, WIDTH), mode="bilinear", align_corners=False) for y in both]


def fcn(batch):
    model = Fcn().to(memory_format=torch.channels_last)
    x, labels = picture(batch, 3, HEIGHT, WIDTH), torch.randint(0, LABELS, (batch, HEIGHT, WIDTH))

    def loss():
        scores, second = model(x)
        return F.cross_entropy(scores, labels, ignore_index=LABELS) + \
            0.4 * F.cross_entropy(second, labels, ignore_index=LABELS)
    return step_of(model, sgd(model, 0.05), loss)


# ---- pan-s ----

class PanBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.conv1_a, self.conv1_b = conv(channels, half, 1), conv(channels, half, 1)
        self.k1, self.k2, self.k3 = conv(half, half, 3), conv(half, half, 1, bias=True), conv(half, half, 3)
        self.k4, self.conv3 = conv(half, half, 3), conv(channels, channels, 1)

    def forward(self, x):
        a = leaky(self.k1(leaky(self.conv1_a(x))))
        b = leaky(self.conv1_b(x))
        b = leaky(self.k4(self.k3(b) * torch.sigmoid(self.k2(b))))
        return self.conv3(torch.cat((a, b), 1)) + x


def leaky(x):
    return F.leaky_relu(x, 0.2, inplace=True)


class Pan(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_first, self.trunk_conv = conv(3, 16, 3, bias=True), conv(16, 16, 3, bias=True)
        self.trunk, last = nn.Sequential(*[PanBlock(16) for _ in range(4)]), 16
        for k in (1, 2):
            setattr(self, f"upconv{k}", conv(last, 12, 3, bias=True))
            setattr(self, f"att{k}", conv(12, 12, 1, bias=True))
            setattr(self, f"hrconv{k}", conv(12, 12, 3, bias=True))
            last = 12
        self.conv_last = conv(12, 3, 3, bias=True)

    def forward(self, x):
        first = self.conv_first(x)
        y = self.trunk_conv(self.trunk(first)) + first
        for k in (1, 2):
            y = getattr(self, f"upconv{k}")(F.interpolate(y, scale_factor=2, mode="nearest"))
            y = leaky(y * torch.sigmoid(getattr(self, f"att{k}")(y)))
            y = leaky(getattr(self, f"hrconv{k}")(y))
        return self.conv_last(y) + F.interpolate(x, scale_factor=ENLARGED, mode="bilinear", align_corners=False)


def pan(batch):
    model = Pan().to(memory_format=torch.channels_last)
    x, large = picture(batch, 3, CROP, CROP), picture(batch, 3, ENLARGED * CROP, ENLARGED * CROP)
    return step_of(model, adam(model, 0.002), lambda: F.l1_loss(model(x), large))


# ---- ssd-s: rows (scores of the classes, offsets) of anchors on three maps ----

def anchors():
    """[anchors, 4]: cx, cy, w, h as shares of the picture."""
    rows = []
    for high, wide, step, size, next_size in ((15, 20, 8, 12, 24), (8, 10, 16, 24, 48), (4, 5, 32, 48, 80)):
        root, middle = 2 ** 0.5, (size * next_size) ** 0.5
        shapes = ((size, size), (middle, middle), (size * root, size / root), (size / root, size * root))
        rows += [((j + 0.5) * step / WIDTH, (i + 0.5) * step / HEIGHT, w / WIDTH, h / HEIGHT)
                 for i in range(high) for j in range(wide) for w, h in shapes]
    return torch.tensor(rows)


def corners(c):
    return torch.cat((c[..., :2] - c[..., 2:] / 2, c[..., :2] + c[..., 2:] / 2), -1)


class Ssd(nn.Module):
    def __init__(self):
        super().__init__()
        last = 3
        for s, (count, channels) in enumerate(((2, 8), (2, 16), (3, 32), (3, 64), (3, 64))):
            setattr(self, f"stage{s + 1}", nn.Sequential(
                *[conv_norm_relu(spread(last if k == 0 else channels, channels)) for k in range(count)]))
            last = channels
        self.extra = nn.Sequential(conv_norm_relu(conv(64, 32, 1)), conv_norm_relu(spread(32, 64, 2)))
        self.cls = nn.ModuleList(conv(64, 4 * (KINDS + 1), 3, bias=True) for _ in range(3))
        self.box = nn.ModuleList(conv(64, 16, 3, bias=True) for _ in range(3))

    def forward(self, x):
        x = self.stage1(x)
        for s in (2, 3):
            x = getattr(self, f"stage{s}")(F.max_pool2d(x, 2))
        maps = [self.stage4(F.max_pool2d(x, 2))]
        maps.append(self.stage5(F.max_pool2d(maps[0], 2, ceil_mode=True)))
        maps.append(self.extra(maps[1]))
        scores, offsets = ([look(one).permute(0, 2, 3, 1).reshape(len(x), -1, numbers)
                            for look, one in zip(looks, maps)]
                           for looks, numbers in ((self.cls, KINDS + 1), (self.box, 4)))
        return torch.cat(scores, 1), torch.cat(offsets, 1)


def matched(places, boxes):
    """Number of the box of each anchor [pictures, anchors], -1: none. A box has its best anchor."""
    a, b = corners(places)[None, :, None], boxes[:, None, :, :4]
    size = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp(min=0)
    common = size.prod(-1)
    iou = common / ((a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - common)
    most, match = iou.max(2)
    match[most < 0.5] = -1
    return match.scatter_(1, iou.argmax(1), torch.arange(boxes.shape[1]).expand(len(boxes), -1))


def ssd_loss(scores, offsets, places, boxes):
    """Of matched anchors and three times as many of the others, those of the largest loss."""
    match = matched(places, boxes)
    is_thing = match >= 0
    truth = torch.gather(boxes, 1, match.clamp(min=0)[..., None].expand(-1, -1, 5))
    entropy = F.cross_entropy(scores.flatten(0, 1), torch.where(is_thing, truth[..., 4] + 1, 0.0).long().flatten(),
                              reduction="none").view_as(match)
    with torch.no_grad():
        order = entropy.masked_fill(is_thing, -1).argsort(1, descending=True).argsort(1)
        taken = is_thing | (order < 3 * is_thing.sum(1, keepdim=True))
        sides = truth[..., 2:4] - truth[..., :2]
        wanted = torch.cat((((truth[..., :2] + truth[..., 2:4]) / 2 - places[:, :2]) / places[:, 2:] / 0.1,
                            torch.log(sides / places[:, 2:]) / 0.2), -1)
    away = F.smooth_l1_loss(offsets[is_thing], wanted[is_thing], reduction="sum")
    return ((entropy * taken).sum() + away) / is_thing.sum()


def ssd(batch):
    model, places = Ssd().to(memory_format=torch.channels_last), anchors()
    x = picture(batch, 3, HEIGHT, WIDTH)
    middle, side = 0.1 + 0.8 * torch.rand(batch, BOXES, 2), 0.1 + 0.1 * torch.rand(batch, BOXES, 2)
    kinds = torch.randint(0, KINDS, (batch, BOXES, 1)).float()
    boxes = torch.cat((corners(torch.cat((middle, side), 2)), kinds), 2)
    return step_of(model, sgd(model, 0.005), lambda: ssd_loss(*model(x), places, boxes))


# ---- cvae-s ----

class Cvae(nn.Module):
    def __init__(self):
        super().__init__()
        for k, (channels, stride) in enumerate(((1, 1), (16, 2), (16, 1), (16, 1))):
            setattr(self, f"conv{k + 1}", conv(channels, 16, 3, stride, bias=True))
        self.fc, self.mean, self.logvar = nn.Linear(3136, 64), nn.Linear(64, CODE), nn.Linear(64, CODE)
        self.dfc1, self.dfc2 = nn.Linear(CODE, 64), nn.Linear(64, 3136)
        for k, (channels, stride) in enumerate(((16, 1), (16, 1), (16, 2), (1, 1))):
            setattr(self, f"deconv{k + 1}", nn.ConvTranspose2d(16, channels, 3, stride, 1, stride - 1))

    def forward(self, x):
        for k in range(4):
            x = F.relu(getattr(self, f"conv{k + 1}")(x), inplace=True)
        x = F.relu(self.fc(x.flatten(1)))
        mean, logvar = self.mean(x), self.logvar(x)
        x = F.relu(self.dfc1(mean + torch.exp(logvar / 2) * torch.randn_like(mean)))
        x = F.relu(self.dfc2(x)).view(-1, 16, 14, 14).contiguous(memory_format=torch.channels_last)
        for k in range(3):
            x = F.relu(getattr(self, f"deconv{k + 1}")(x), inplace=True)
        return self.deconv4(x), mean, logvar


def cvae(batch):
    model = Cvae().to(memory_format=torch.channels_last)
    x = torch.rand(batch, 1, SIDE, SIDE).contiguous(memory_format=torch.channels_last)

    def loss():
        logits, mean, logvar = model(x)
        divergence = (mean.square() + logvar.exp() - 1 - logvar).sum() / 2
        return (F.binary_cross_entropy_with_logits(logits, x, reduction="sum") + divergence) / batch
    return step_of(model, adam(model, 1e-4), loss)


# ---- dcgan-s ----

class Dcgan(nn.Module):
    def __init__(self):
        super().__init__()
        def bent(channels, norm=nn.BatchNorm2d):
            return nn.Sequential(norm(channels), nn.LeakyReLU(0.2, inplace=True))
        self.gen = nn.Sequential(nn.ConvTranspose2d(NOISE, 64, 4, 1, 0, bias=False), bent(64),
                                 nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), bent(32),
                                 nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), bent(16),
                                 nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh())
        self.disc = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1, bias=False), bent(16),
                                  nn.Conv2d(16, 32, 4, 2, 1, bias=False), bent(32),
                                  nn.Conv2d(32, 64, 4, 2, 1, bias=False), bent(64), nn.Flatten(),
                                  nn.Linear(1024, 64, bias=False), bent(64, nn.BatchNorm1d), nn.Linear(64, 1))


def dcgan(batch):
    """A turn of the judge, then one of the maker, in which the judge has no gradients."""
    model = Dcgan().to(memory_format=torch.channels_last)
    judges, makers = adam(model.disc, 1e-3, 0.5), adam(model.gen, 1e-3, 0.5)
    real, ones, zeros = picture(batch, 1, FRAMED, FRAMED), torch.ones(batch, 1), torch.zeros(batch, 1)
    entropy = F.binary_cross_entropy_with_logits

    def step():
        made = model.gen(torch.randn(batch, NOISE, 1, 1))
        judges.zero_grad(set_to_none=True)
        (entropy(model.disc(real), ones) + entropy(model.disc(made.detach()), zeros)).backward()
        judges.step()
        makers.zero_grad(set_to_none=True)
        model.disc.requires_grad_(False)
        entropy(model.disc(made), ones).backward()
        model.disc.requires_grad_(True)
        makers.step()
    return model, step


MODELS = {"fcn-s": fcn, "pan-s": pan, "ssd-s": ssd, "cvae-s": cvae, "dcgan-s": dcgan}


def training(name, batch):
    model, step = MODELS[name](batch)
    model.train()
    return model, step
