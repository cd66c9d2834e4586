#!/usr/bin/env python3
"""bert-tiny-s is BERT: halfulp beside the same network in torch, on the same pairs of segments.

The pairs, their hidden words and the network are written here anew, after Devlin et al. 2019 and what
src/data/data/masked_text.c says of its samples. Both begin with the same drawn weights and make fifty steps of SGD with momentum
in float32, over more than one epoch. Compared are the loss of each step, at most 1e-4 apart, and what became of the
weights: |ours - torch's| over |torch's - the start|, at most 1 %. The bias of the keys, which softmax does not see, has
no gradient but rounding errors, and is left out there.

    /usr/bin/python3 bench/peers/same_segments.py [--halfulp=PROGRAM]

Needs torch (Debian: python3-torch). Exit code 0: the same; 1: not; 77: no torch here.
"""
import argparse
import collections
import json
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
import same_text

STEPS, BATCH, LENGTH, LR, MOMENTUM = 50, 8, 31, 1e-2, 0.9
LOSS_TOLERANCE, MOVE_TOLERANCE = 1e-4, 1e-2
WORDS, DOCUMENTS, EPSILON = 300, 24, 1e-12
SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")


def word(name, i):
    """Word i of a name: FNV-1a of it, and a mixer of 32 bits."""
    mask, x = 0xFFFFFFFF, 0x811C9DC5
    for byte in name.encode():
        x = ((x ^ byte) * 0x01000193) & mask
    x = (x + i * 0x9E3779B9) & mask
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & mask
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & mask
    return x ^ (x >> 16)


class Pairs:
    """The samples of a text whose lines are documents, below a heading each."""

    def __init__(self, documents, place):
        self.special = {name: len(place) + i for i, name in enumerate(SPECIAL)}
        self.words, self.most = len(place), (LENGTH - 3) // 2
        self.segments = []  # numbers of the words, and of the document
        for number, document in enumerate(documents):
            ids = [place[w] for w in document]
            for first in range(0, len(ids), self.most):
                if len(ids) - first >= (self.most + 3) // 4:
                    self.segments.append((ids[first:first + self.most], number))

    def sample(self, epoch, i):
        n = len(self.segments)
        k = epoch * n + i
        follows = i + 1 < n and self.segments[i + 1][1] == self.segments[i][1] and word("bert.pair", 2 * k) >> 31 == 0
        second = i + 1 if follows else word("bert.pair", 2 * k + 1) % n
        a, b = self.segments[i][0], self.segments[second][0]
        tokens = [self.special["[CLS]"], *a, self.special["[SEP]"], *b, self.special["[SEP]"]]
        inside = [t for t in range(len(tokens)) if t and t != len(a) + 1 and t != len(tokens) - 1]
        targets = [-1] * LENGTH
        for t in inside:
            r = [word("bert.mask", 3 * LENGTH * k + 3 * t + j) for j in range(3)]
            if sum(target >= 0 for target in targets) == (3 * LENGTH + 19) // 20 or 20 * r[0] >= 3 << 32:
                continue
            targets[t] = tokens[t]
            if 10 * r[1] < 8 << 32:
                tokens[t] = self.special["[MASK]"]
            elif 10 * r[1] < 9 << 32:
                tokens[t] = r[2] % self.words
        there = len(tokens)
        segments = [int(len(a) + 1 < t < there) for t in range(LENGTH)]
        tokens += [self.special["[PAD]"]] * (LENGTH - there)
        return tokens, segments, targets, int(not follows), there

    def batch(self, step):
        steps = len(self.segments) // BATCH
        samples = [self.sample(step // steps, step % steps * BATCH + i) for i in range(BATCH)]
        return [torch.tensor(field) for field in zip(*samples)]


class Attention(same_text.Attention):
    def forward(self, x, there):
        samples, rows, width = x.shape
        split = (samples, rows, self.heads, width // self.heads)
        q, k, v = (layer(x).reshape(split).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = (q @ k.transpose(2, 3)) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(~there[:, None, None, :], -torch.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attn, self.ln1 = Attention(width, heads), nn.LayerNorm(width, EPSILON)
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.ln2 = nn.LayerNorm(width, EPSILON)

    def forward(self, x, there):
        x = self.ln1(x + self.attn(x, there))
        return self.ln2(x + self.fc2(nn.functional.gelu(self.fc1(x))))


class Bias(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(words))


class Bert(nn.Module):
    """Names as those of bert-tiny-s; scores of every place, of which the loss takes the hidden ones."""

    def __init__(self, words, width=128, blocks=2, heads=2, hidden=512, places=64):
        super().__init__()
        self.word, self.position = nn.Embedding(words, width), nn.Embedding(places, width)
        self.segment, self.ln = nn.Embedding(2, width), nn.LayerNorm(width, EPSILON)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(blocks))
        self.mlm, self.mlm_ln, self.out = nn.Linear(width, width), nn.LayerNorm(width, EPSILON), Bias(words)
        self.pooler, self.nsp = nn.Linear(width, width), nn.Linear(width, 2)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.1)

    def forward(self, tokens, segments, length):
        there = torch.arange(tokens.shape[1])[None] < length[:, None]
        x = self.ln(self.word(tokens) + self.position.weight[:tokens.shape[1]] + self.segment(segments))
        for block in self.blocks:
            x = block(x, there)
        scores = self.mlm_ln(nn.functional.gelu(self.mlm(x))) @ self.word.weight.T + self.out.bias
        return scores, self.nsp(self.pooler(x[:, 0]).tanh())


def make_documents():
    """Words of falling frequency, each of which says something about the next one."""
    generator = torch.Generator().manual_seed(5)
    number, documents = 0, []
    for document in range(DOCUMENTS):
        words = []
        for i in range(60 + 7 * document):
            drawn = int(WORDS * torch.rand(1, generator=generator) ** 3)
            number = drawn if i % 3 else (7 * number + 1) % WORDS
            words.append(f"w{number}")
        documents.append(words)
    return documents


def numbers_of(lines):
    """By falling count, equal ones by their bytes; the line's end is a word, and <unk> the last one."""
    counts = collections.Counter(w for line in lines for w in [*line.split(), "<eos>"])
    order = sorted(counts, key=lambda w: (-counts[w], w.encode()))
    return {w: i for i, w in enumerate(order + ["<unk>"])}


def steps_of_torch(model, pairs):
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        tokens, segments, targets, label, length = pairs.batch(step)
        scores, related = model(tokens, segments, length)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=-1)
        loss = loss + nn.functional.cross_entropy(related, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def steps_of_halfulp(program, folder, text):
    run, out = f"{folder}/run", f"{folder}/after.safetensors"
    same_model.call(program, "train", "model=bert-tiny-s", f"data=segments:{text}", f"data.valid={text}",
                    f"data.length={LENGTH}", "data.test_limit=8", "data.shuffle=off", "precision=fp32",
                    f"batch={BATCH}", f"steps={STEPS}", "optimizer=sgd", f"lr={LR}", f"optimizer.momentum={MOMENTUM}",
                    "optimizer.weight_decay=0", "lr.schedule=constant", "lr.warmup=0",
                    f"init={folder}/before.safetensors", "run.log_every=1", "eval.every=0", "quiet=on", f"run.dir={run}")
    same_model.call(program, "export", run, f"out={out}")
    with open(f"{run}/metrics.jsonl", encoding="utf-8") as file:
        losses = [json.loads(line)["loss"] for line in file]
    return losses[:STEPS], same_model.read_safetensors(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", "build/halfulp"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    documents = make_documents()
    lines = [line for document in documents for line in ("= one =", " ".join(document))]
    place = numbers_of(lines)
    pairs, model = Pairs(documents, place), Bert(len(place) + len(SPECIAL))
    before = {n: t.clone() for n, t in same_model.state_of(model).items()}
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/text", "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        same_model.write_safetensors(f"{folder}/before.safetensors", before)
        losses, ours = steps_of_halfulp(options.halfulp, folder, f"{folder}/text")
    expected = steps_of_torch(model, pairs)
    theirs = {n: t.clone() for n, t in same_model.state_of(model).items()}
    model.load_state_dict(ours)  # strict: every name and shape is torch's
    apart = [abs(a - b) / abs(b) for a, b in zip(losses, expected)]
    moves, where = max((float((ours[n] - t).norm() / (t - before[n]).norm()), n) for n, t in theirs.items()
                       if not n.endswith(".k.bias"))
    good = len(losses) == STEPS and max(apart) < LOSS_TOLERANCE and moves < MOVE_TOLERANCE
    print(f"torch {torch.__version__}, {STEPS} steps of {BATCH} of {len(pairs.segments)} pairs of {LENGTH} tokens, sgd, "
          f"lr {LR}\nbert-tiny-s {len(theirs)} tensors, {len(place) + 4} words, loss {expected[0]:.4f} to {expected[-1]:.4f}, "
          f"apart: first {apart[0]:.1e}, losses {max(apart):.1e}, moves {moves:.1e} ({where})  "
          f"{'same' if good else 'DIFFERENT'}", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
