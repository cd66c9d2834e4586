"""Networks for texts and speech, written for torch with halfulp's names and sizes. training(name, batch) gives a model
and a step of SGD with momentum on a batch of random tokens or sounds that lies ready."""
import torch
from torch import nn
from torch.nn import functional as F

import same_text

WORDS, WIDTH, FRAMES, BINS, LETTERS, SAID = 7266, 128, 160, 81, 27, 40
WINDOW, STEPS = 64, 32  # tokens that a Transformer sees, and an LSTM that goes on from batch to batch
SOURCES, TARGETS, SENTENCE = 5898, 6434, 32  # words of two languages, and of a sentence
RATE = 0.01  # small: networks that diverge would stop


def cross_entropy(scores, wanted):
    return F.cross_entropy(scores.flatten(0, 1), wanted.flatten())


# ---- language ----

def transformer(batch):
    model = same_text.Transformer(WORDS)
    tokens, wanted = torch.randint(0, WORDS, (2, batch, WINDOW))
    return model, lambda: cross_entropy(model(tokens), wanted)


def lstm(batch):
    model = same_text.LSTM(WORDS)
    tokens, wanted = torch.randint(0, WORDS, (2, batch, STEPS))
    return model, lambda: cross_entropy(model(tokens), wanted)


# ---- translation ----

class Translation(nn.Module):
    """The decoder begins as the encoder ends; attention by dot products over the sentence, without input feeding."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.src, self.tgt = nn.Embedding(SOURCES, width), nn.Embedding(TARGETS, width)
        self.enc, self.dec = (nn.LSTM(width, width, 2, batch_first=True) for _ in range(2))
        self.comb, self.out = nn.Linear(2 * width, width), nn.Linear(width, TARGETS)

    def forward(self, source, tokens):
        words, state = self.enc(self.src(source))
        x, _ = self.dec(self.tgt(tokens), state)
        seen = (x @ words.transpose(1, 2)).softmax(2) @ words
        return self.out(torch.tanh(self.comb(torch.cat((seen, x), 2))))


def translation(batch):
    model = Translation()
    source = torch.randint(0, SOURCES, (batch, SENTENCE))
    tokens, wanted = torch.randint(0, TARGETS, (2, batch, SENTENCE))
    return model, lambda: cross_entropy(model(source, tokens), wanted)


# ---- speech ----

class DeepSpeech(nn.Module):
    """Two convolutions over time and frequency, two layers of GRUs both ways, scores of letters."""

    def __init__(self, letters=LETTERS, channels=8, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, (11, 21), 2, (5, 10), bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 11, (1, 2), 5, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.gru = nn.GRU(channels * 21, width, 2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * width, letters)

    def forward(self, x):
        """x [clips, 1, frames, bins]; log-probabilities [clips, frames / 2, letters]."""
        x = self.bn1(self.conv1(x)).clamp(0, 20)
        x = self.bn2(self.conv2(x)).clamp(0, 20)
        x, _ = self.gru(x.permute(0, 2, 1, 3).flatten(2))
        return self.fc(x).log_softmax(2)


def ctc(logs, label, frames, letters):
    """The mean over clips of minus the logarithm of a label's probability; class 0 is the blank."""
    return F.ctc_loss(logs.transpose(0, 1), label, frames, letters, reduction="sum") / len(logs)


def speech(batch):
    model = DeepSpeech()
    x, label = torch.randn(batch, 1, FRAMES, BINS), torch.randint(1, LETTERS, (batch, SAID))
    frames, letters = torch.full((batch,), FRAMES // 2), torch.full((batch,), SAID)
    return model, lambda: ctc(model(x), label, frames, letters)


MODELS = {"transformer-lm-s": transformer, "lstm-lm-s": lstm, "seq2seq-s": translation, "ds2-s": speech}


def training(name, batch):
    model, loss = MODELS[name](batch)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, foreach=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
    return model, step
