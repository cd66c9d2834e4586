"""Networks over rows of tokens, written for torch with halfulp's names: the state dictionaries hold the same tensors."""
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        n, t, c = x.shape

        def split(y):
            return y.reshape(n, t, self.heads, c // self.heads).transpose(1, 2)
        q, k, v = split(self.q(x)) / math.sqrt(c // self.heads), split(self.k(x)), split(self.v(x))
        weights = (q @ k.transpose(2, 3)).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    """Norms stand in front of the layers."""

    def __init__(self, width, heads, hidden, epsilon):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(width, epsilon), Attention(width, heads)
        self.ln2 = nn.LayerNorm(width, epsilon)
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.fc2(nn.functional.gelu(self.fc1(self.ln2(x))))


class DeiT(nn.Module):
    def __init__(self, patch, width, blocks, heads, channels_in, classes, side):
        super().__init__()
        self.cls = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.02)
        self.patch = nn.Conv2d(channels_in, width, patch, patch)
        self.blocks = nn.ModuleList(Block(width, heads, 4 * width, 1e-6) for _ in range(blocks))
        self.ln, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x)[:, 0])


def of(patch, width, blocks, heads):
    def make(channels_in, factor, classes, side):
        # As halfulp makes them: heads of a multiple of 8 numbers (of 4 up to a quarter).
        wanted, step = width / heads * factor, 4 if factor <= 0.25 else 8
        depth = max(step, int((wanted + step / 2) // step) * step) if factor != 1 else width // heads
        return DeiT(patch, heads * depth, blocks, heads, channels_in, classes, side)
    return make


MODELS = {"deit-s": of(4, 64, 4, 2), "deit-tiny": of(16, 192, 12, 3)}
