#!/usr/bin/env python3
"""A language model is the model: halfulp beside the same network in torch, on the same text.

Both begin with the same drawn weights and make fifty steps of SGD with momentum in float32 on the same windows of a
made text; a recurrent one reads it in streams and goes on with its states from step to step, one whose softmax is
sampled begins with the formula of init=check. Compared are the loss of each step, at most 1e-4 apart, and what became
of the weights: |ours - torch's| over |torch's - the start|, at most 1 %. The bias of the keys, which softmax does not
see, has no gradient but rounding errors, and is left out there.

    /usr/bin/python3 bench/peers/same_text.py [--halfulp=PROGRAM] [--data=TEXT] [MODEL ...]

Needs torch (Debian: python3-torch). Exit code 0: the same; 1: not; 77: no torch here.
"""
import argparse
import json
import math
import os
import sys
import tempfile

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: torch is not here ({error}); Debian has it as python3-torch")
    sys.exit(77)

import same_model

STEPS, BATCH, LENGTH, MOMENTUM = 50, 8, 16, 0.9
LOSS_TOLERANCE, MOVE_TOLERANCE = 1e-4, 1e-2
WORDS = 300
NEGATIVES, MASK = 32, 0xffffffff


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads

    def forward(self, x):
        samples, rows, width = x.shape
        split = (samples, rows, self.heads, width // self.heads)
        q, k, v = (layer(x).reshape(split).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = (q * (width // self.heads) ** -0.5) @ k.transpose(2, 3)
        hidden = torch.ones(rows, rows, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln2, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.fc2(torch.relu(self.fc1(self.ln2(x))))


class Transformer(nn.Module):
    in_streams, keys, lr = False, [], 3e-3

    def __init__(self, words, width=128, blocks=4, heads=4, hidden=512):
        super().__init__()
        self.emb = nn.Embedding(words, width)
        nn.init.normal_(self.emb.weight, std=width ** -0.5)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(blocks))

    def positions(self, rows, width):
        half = width // 2
        waves = torch.exp(-torch.arange(half).double() * math.log(10000) / (half - 1))
        angles = torch.arange(rows).double()[:, None] * waves
        return torch.cat([angles.sin(), angles.cos()], 1)

    def rows(self, tokens):
        return self.emb(tokens) * math.sqrt(self.emb.embedding_dim)

    def scores(self, x):
        return x @ self.emb.weight.T

    def forward(self, tokens):
        x = self.rows(tokens)
        x = x + self.positions(*x.shape[1:]).to(x.dtype)
        for block in self.blocks:
            x = block(x)
        return self.scores(x)


class Bias(nn.Module):
    def __init__(self, words, within):
        super().__init__()
        self.bias = nn.Parameter(torch.empty(words).uniform_(-within, within))


class LSTM(nn.Module):
    in_streams, keys, lr = True, ["model.dropout=0"], 0.5

    def __init__(self, words, width=128):
        super().__init__()
        self.emb = nn.Embedding(words, width)
        nn.init.uniform_(self.emb.weight, -0.1, 0.1)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)
        self.out = Bias(words, width ** -0.5)
        self.states = None

    def forward(self, tokens):
        rows, states = self.lstm(self.emb(tokens), self.states)
        self.states = tuple(state.detach() for state in states)
        return rows @ self.emb.weight.T + self.out.bias


class Banded(Transformer):
    """Words in bands: tables of falling width, tied; what it gives are logarithms of probabilities."""
    FIRST = (60, 150)
    keys = ["model.bands=[60, 150]"]

    def __init__(self, words, width=128):
        super().__init__(words, width)
        ends = [0, *self.FIRST, words]
        self.bands = list(zip(ends, ends[1:]))
        self.emb, self.head = nn.ModuleList(), nn.Module()
        for k, (first, last) in enumerate(self.bands):
            table = nn.Embedding(last - first, width // 4 ** k)
            nn.init.normal_(table.weight, std=table.embedding_dim ** -0.5)
            table.proj = nn.Linear(table.embedding_dim, width, bias=False)
            self.emb.append(table)
        self.head.bands = nn.Linear(width, len(self.FIRST), bias=False)

    def rows(self, tokens):
        rows = 0
        for (first, last), table in zip(self.bands, self.emb):
            there = ((tokens >= first) & (tokens < last)).unsqueeze(-1)
            rows = rows + table.proj(table((tokens - first).clamp(0, last - first - 1))) * there
        return rows * math.sqrt(self.emb[0].embedding_dim)

    def scores(self, x):
        tails = [(x @ table.proj.weight) @ table.weight.T for table in self.emb]
        head = torch.cat([tails[0], self.head.bands(x)], -1).log_softmax(-1)
        first = self.FIRST[0]
        return torch.cat([head[..., :first]] + [head[..., first + k:first + k + 1] + tail.log_softmax(-1)
                                                for k, tail in enumerate(tails[1:])], -1)


def formula(name, count):
    """Numbers of init=check, multiples of 2^-23 from -1 to 1 that a name and an index give."""
    x = 0x811C9DC5
    for byte in name.encode():
        x = (x ^ byte) * 0x01000193 & MASK
    x = x + torch.arange(count) * 0x9E3779B9 & MASK
    x = (x ^ x >> 16) * 0x85EBCA6B & MASK
    x = (x ^ x >> 13) * 0xC2B2AE35 & MASK
    return ((x ^ x >> 16) >> 8).double() * 2.0 ** -23 - 1


class SampledLSTM(nn.Module):
    """With init=check, so that both draw the same words."""
    lr, in_streams, keys = 0.1, True, ["init=check", f"model.negatives={NEGATIVES}"]

    def __init__(self, words, width=128, cells=256):
        super().__init__()
        self.emb, self.soft = nn.Embedding(words, width), nn.Linear(width, words)
        self.lstm = nn.LSTM(width, cells, 2, batch_first=True, proj_size=width)
        self.state = None
        for name, weight in self.named_parameters():
            fan = weight[0].numel()
            scale = 1 / 16 if weight.dim() == 1 else 2.0 ** -((fan.bit_length() - 1) // 2)
            scale = 1 / 8 if name == "emb.weight" else scale
            weight.data = (formula(name, weight.numel()) * scale).float().reshape(weight.shape)

    def loss(self, tokens, wanted, step):
        """Cross entropy of the word and those that are drawn, each score less the logarithm of its expected count."""
        out, state = self.lstm(self.emb(tokens), self.state)
        self.state = tuple(part.detach() for part in state)
        words = self.soft.weight.shape[0]
        u = (formula("neg", (step + 1) * NEGATIVES)[step * NEGATIVES:] + 1) / 2
        drawn = torch.exp((torch.arange(NEGATIVES) + u) / NEGATIVES * math.log(words + 1)).long() - 1
        drawn = drawn.clamp(0, words - 1)
        shares = torch.log1p(1 / (torch.arange(words).double() + 1)) / math.log(words + 1)
        expected = torch.log(NEGATIVES * shares).float()
        rows, own = out.reshape(-1, out.shape[-1]), wanted.flatten()
        of_own = (rows * self.soft.weight[own]).sum(1) + self.soft.bias[own] - expected[own]
        others = rows @ self.soft.weight[drawn].T + self.soft.bias[drawn] - expected[drawn]
        others = others.masked_fill(drawn[None] == own[:, None], -math.inf)
        scores = torch.cat([of_own[:, None], others], 1)
        return nn.functional.cross_entropy(scores, torch.zeros(len(own), dtype=torch.long))


MODELS = {"transformer-lm-s": Transformer, "transformer-lm-s in bands": Banded, "lstm-lm-s": LSTM,
          "biglstm-s": SampledLSTM}


def make_text(path):
    """Words of falling frequency, each of which says something about the next one."""
    generator = torch.Generator().manual_seed(5)
    word, words = 0, []
    for i in range(STEPS * BATCH * LENGTH + 1):
        drawn = int(WORDS * torch.rand(1, generator=generator) ** 3)
        word = drawn if i % 3 else (7 * word + 1) % WORDS
        words.append(f"w{word}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(" ".join(words))


def numbers_of(path):
    """By falling count, equal ones by their bytes; the line's end is a word, and <unk> the last one."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    words = [word for line in lines for word in [*line.split(), "<eos>"]]
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    order = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    order += [word for word in ("<unk>",) if word not in counts]
    place = {word: i for i, word in enumerate(order)}
    return torch.tensor([place[word] for word in words]), len(order)


def steps_of_torch(model, tokens):
    optimizer = torch.optim.SGD(model.parameters(), lr=model.lr, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        first = [(step * BATCH + i) * LENGTH for i in range(BATCH)]
        if model.in_streams:
            first = [i * ((len(tokens) - 1) // BATCH) + step * LENGTH for i in range(BATCH)]
        read = torch.stack([tokens[f:f + LENGTH] for f in first])
        wanted = torch.stack([tokens[f + 1:f + LENGTH + 1] for f in first])
        loss = (model.loss(read, wanted, step) if hasattr(model, "loss") else
                nn.functional.cross_entropy(model(read).flatten(0, 1), wanted.flatten()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def steps_of_halfulp(program, folder, name, text):
    run, out = f"{folder}/run", f"{folder}/after.safetensors"
    init = [] if "init=check" in MODELS[name].keys else [f"init={folder}/before.safetensors"]
    same_model.call(program, "train", f"model={name.split()[0]}", f"data=text:{text}", f"data.valid={text}", "data.unit=word",
                    f"data.length={LENGTH}", "data.test_limit=8", "data.shuffle=off", "precision=fp32",
                    f"batch={BATCH}", f"steps={STEPS}", "optimizer=sgd", f"lr={MODELS[name].lr}",
                    f"optimizer.momentum={MOMENTUM}", "optimizer.clip_norm=0", "optimizer.weight_decay=0",
                    "lr.schedule=constant", "lr.warmup=0", "run.log_every=1", "eval.every=0", "quiet=on", f"run.dir={run}",
                    *init, *MODELS[name].keys)
    same_model.call(program, "export", run, f"out={out}")
    with open(f"{run}/metrics.jsonl", encoding="utf-8") as file:
        losses = [json.loads(line)["loss"] for line in file]
    return losses[:STEPS], same_model.read_safetensors(out)


def is_same(options, name):
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        text = options.data or f"{folder}/text"
        if not options.data:
            make_text(text)
        tokens, words = numbers_of(text)
        model = MODELS[name](words)
        before = {n: t.clone() for n, t in same_model.state_of(model).items()}
        same_model.write_safetensors(f"{folder}/before.safetensors", before)
        losses, ours = steps_of_halfulp(options.halfulp, folder, name, text)
    expected = steps_of_torch(model, tokens)
    theirs = {n: t.clone() for n, t in same_model.state_of(model).items()}
    if set(ours) != set(before) or len(losses) != STEPS:
        raise SystemExit(f"{name}: found {len(losses)} losses and the tensors {list(ours)}, "
                         f"expected {STEPS} and {list(before)}")
    model.load_state_dict(ours)  # strict: every name and shape is torch's
    steps = [abs(a - b) / abs(b) for a, b in zip(losses, expected)]
    moves, where = max((float((ours[n] - t).norm() / (t - before[n]).norm()), n) for n, t in theirs.items()
                       if not n.endswith(".k.bias"))
    good = max(steps) < LOSS_TOLERANCE and moves < MOVE_TOLERANCE
    print(f"{name} {len(theirs)} tensors, {words} words, loss {expected[0]:.4f} to {expected[-1]:.4f}, apart: first "
          f"{steps[0]:.1e}, losses {max(steps):.1e}, moves {moves:.1e} ({where})  {'same' if good else 'DIFFERENT'}",
          flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", default=list(MODELS))
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", "build/halfulp"))
    parser.add_argument("--data", help="a text instead of the made one")
    options = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    print(f"torch {torch.__version__}, {STEPS} steps of {BATCH} windows of {LENGTH} words, sgd")
    sys.exit(0 if all([is_same(options, name) for name in options.models]) else 1)


if __name__ == "__main__":
    main()
