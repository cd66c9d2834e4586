"""Large networks, written for torch with halfulp's sizes: ResNet-50 on pictures of 224 pixels and a thousand classes, and
the smallest GPT-2 (Radford et al. 2019) on windows of 1,024 tokens. training(name, batch) gives a model and a step of SGD
with momentum on a batch of noise that lies ready."""
import torch
from torch import nn
from torch.nn import functional as F

import residual_models

SIDE, CLASSES = 224, 1000
WORDS, WINDOW, WIDTH, BLOCKS, HEADS = 50257, 1024, 768, 12, 12
RATE = 0.01  # small: networks that diverge would stop


class Block(nn.Module):
    """Norms stand in front of the layers; attention looks back alone, by torch's own product of three."""

    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attention(self, x):
        n, rows, width = x.shape
        q, k, v = (part.reshape(n, rows, HEADS, width // HEADS).transpose(1, 2) for part in self.qkv(x).chunk(3, 2))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(seen.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    """Scores come by the table of the tokens."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(WINDOW, WIDTH)
        nn.init.normal_(self.wte.weight, std=0.02)
        nn.init.normal_(self.wpe.weight, std=0.02)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.blocks(self.wte(tokens) + self.wpe.weight[:tokens.shape[1]])
        return F.linear(self.ln_f(x), self.wte.weight)


def gpt2(batch):
    model = GPT2()
    tokens, wanted = torch.randint(0, WORDS, (2, batch, WINDOW))
    return model, lambda: F.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten())


def resnet50(batch):
    model = residual_models.ResNet50(3, 1, CLASSES, SIDE).to(memory_format=torch.channels_last)
    images = torch.randn(batch, 3, SIDE, SIDE).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, CLASSES, (batch,))
    return model, lambda: F.cross_entropy(model(images), labels)


MODELS = {"resnet50": resnet50, "gpt2": gpt2}


def training(name, batch):
    model, loss = MODELS[name](batch)
    optimizer = torch.optim.SGD(model.train().parameters(), lr=RATE, momentum=0.9, foreach=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
    return model, step
