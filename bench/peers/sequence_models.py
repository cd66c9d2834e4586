"""Networks for texts and speech, written for torch with halfulp's names and sizes. training(name, batch) gives a model
and a step of SGD with momentum on a batch of random tokens or sounds that lies ready."""
import torch
from torch import nn
from torch.nn import functional as F

import same_text
import token_models

WORDS, WIDTH, FRAMES, BINS, LETTERS, SAID = 7266, 128, 160, 81, 27, 40
WINDOW, STEPS = 64, 32  # tokens that a Transformer sees, and an LSTM that goes on from batch to batch
SHORT_STREAM, DRAWN, HIDDEN = 20, 512, 10  # of biglstm's streams and sampled scores; words that BERT is to tell
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


class BigLSTM(nn.Module):
    """Cells that are projected; scores of the true word and of a few drawn ones."""

    def __init__(self, words=WORDS, width=WIDTH):
        super().__init__()
        self.emb = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, 2 * width, 2, batch_first=True, proj_size=width)
        self.soft = nn.Linear(width, words)

    def forward(self, tokens, wanted, drawn, state):
        """Scores [rows, 1 + drawn], the true word first."""
        x, state = self.lstm(self.emb(tokens), state)
        x, wanted = x.flatten(0, 1), wanted.flatten()
        own = (x * F.embedding(wanted, self.soft.weight)).sum(1, keepdim=True) + self.soft.bias[wanted, None]
        others = F.linear(x, self.soft.weight[drawn], self.soft.bias[drawn])
        return torch.cat((own, others), 1), [part.detach() for part in state]


def big_lstm(streams):
    model = BigLSTM()
    tokens, wanted = torch.randint(0, WORDS, (2, streams, SHORT_STREAM))
    first = torch.zeros(streams * SHORT_STREAM, dtype=torch.long)
    kept = [torch.zeros(2, streams, WIDTH), torch.zeros(2, streams, 2 * WIDTH)]

    def loss():
        scores, kept[:] = model(tokens, wanted, torch.randint(0, WORDS, (DRAWN,)), kept)
        return F.cross_entropy(scores, first)
    return model, loss


# ---- two segments ----

class BertBlock(nn.Module):
    """Norms stand behind the sums."""

    def __init__(self, width, heads, hidden, epsilon):
        super().__init__()
        self.attn = token_models.Attention(width, heads)
        self.ln1, self.ln2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        x = self.ln1(x + self.attn(x))
        return self.ln2(x + self.fc2(F.gelu(self.fc1(x))))


class Bert(nn.Module):
    def __init__(self, words=WORDS + 4, width=WIDTH, epsilon=1e-12):
        super().__init__()
        self.word, self.position, self.segment = (nn.Embedding(n, width) for n in (words, WINDOW, 2))
        self.blocks = nn.ModuleList(BertBlock(width, 2, 4 * width, epsilon) for _ in range(2))
        self.ln, self.mlm_ln = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.mlm, self.pooler, self.nsp = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 2)
        self.out = nn.ParameterDict({"bias": nn.Parameter(torch.zeros(words))})

    def forward(self, tokens, segments, places):
        x = self.ln(self.word(tokens) + self.position.weight + self.segment(segments))
        for block in self.blocks:
            x = block(x)
        hidden = torch.gather(x, 1, places[:, :, None].expand(-1, -1, x.shape[2]))
        hidden = self.mlm_ln(F.gelu(self.mlm(hidden)))
        return F.linear(hidden, self.word.weight, self.out["bias"]), self.nsp(torch.tanh(self.pooler(x[:, 0])))


def bert(batch):
    model = Bert()
    tokens, segments = torch.randint(0, WORDS, (batch, WINDOW)), torch.randint(0, 2, (batch, WINDOW))
    places, wanted = torch.randint(0, WINDOW, (batch, HIDDEN)), torch.randint(0, WORDS, (batch, HIDDEN))
    follows = torch.randint(0, 2, (batch,))

    def loss():
        scores, relation = model(tokens, segments, places)
        return cross_entropy(scores, wanted) + F.cross_entropy(relation, follows)
    return model, loss


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


MODELS = {"transformer-lm-s": transformer, "lstm-lm-s": lstm, "biglstm-s": big_lstm, "bert-tiny-s": bert,
          "seq2seq-s": translation, "ds2-s": speech}


def training(name, batch):
    model, loss = MODELS[name](batch)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, foreach=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
    return model, step
