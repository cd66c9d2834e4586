#!/usr/bin/env python3
"""seq2seq-s is the model: halfulp beside the same network in torch, on the same pairs of sentences.

The pairs as rows and the network are written here anew, after Sutskever et al. 2014 and Luong et al. 2015 ("dot"): the
decoder begins with what the encoder's layers are behind the last word, and sees words alone. Both begin with the same
drawn weights and make fifty steps of SGD with momentum in float32, over more than an epoch. Compared are the loss of
each step, at most 1e-4 apart, and what became of the weights: |ours - torch's| over |torch's - the start|, at most 1 %.

    /usr/bin/python3 bench/peers/same_translation.py [--halfulp=PROGRAM]

Needs torch (Debian: python3-torch). Exit code 0: the same; 1: not; 77: no torch here.
"""
import argparse
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
import same_segments

STEPS, BATCH, LENGTH, PAIRS, LR, MOMENTUM = 50, 8, 16, 200, 0.1, 0.9
LOSS_TOLERANCE, MOVE_TOLERANCE = 1e-4, 1e-2
WORDS, WIDTH, NOTHING = 150, 128, -100
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")
PAD, BOS, EOS = range(3)


class Translation(nn.Module):
    """Names as those of seq2seq-s."""

    def __init__(self, source_words, target_words):
        super().__init__()
        self.src, self.tgt = nn.Embedding(source_words, WIDTH), nn.Embedding(target_words, WIDTH)
        self.enc, self.dec = (nn.LSTM(WIDTH, WIDTH, 2, batch_first=True) for _ in range(2))
        self.comb, self.out = nn.Linear(2 * WIDTH, WIDTH), nn.Linear(WIDTH, target_words)

    def forward(self, source, words, tokens):
        """source, tokens [N, LENGTH], words [N]: how many of the source there are. Scores [N, LENGTH, words]."""
        packed = nn.utils.rnn.pack_padded_sequence(self.src(source), words, batch_first=True, enforce_sorted=False)
        read, state = self.enc(packed)
        read, _ = nn.utils.rnn.pad_packed_sequence(read, batch_first=True, total_length=LENGTH)
        written, _ = self.dec(self.tgt(tokens), state)
        absent = torch.arange(LENGTH)[None] >= words[:, None]
        weights = (written @ read.transpose(1, 2)).masked_fill(absent[:, None], -torch.inf).softmax(2)
        return self.out(torch.tanh(self.comb(torch.cat((weights @ read, written), 2))))


def make_pairs():
    """Sentences of 1 to LENGTH - 1 words of falling frequency, and the same words of another language backwards."""
    generator = torch.Generator().manual_seed(5)
    pairs = []
    for i in range(PAIRS):
        drawn = (WORDS * torch.rand(1 + i % (LENGTH - 1), generator=generator) ** 3).long().tolist()
        pairs.append(([f"a{n}" for n in drawn], [f"b{(7 * n + 1) % WORDS}" for n in reversed(drawn)]))
    return pairs


def vocabulary(sentences):
    """Behind the special ones by falling count, equal ones by their bytes."""
    place = same_segments.numbers_of([" ".join(words) for words in sentences])
    words = [word for word in place if word not in SPECIAL]
    return {word: i for i, word in enumerate([*SPECIAL, *words])}


def rows_of(pairs):
    """source, tokens and targets [PAIRS, LENGTH], words [PAIRS], and the sizes of both vocabularies."""
    place = [vocabulary(side) for side in zip(*pairs)]
    source, tokens = torch.full((2, len(pairs), LENGTH), PAD)
    targets = torch.full((len(pairs), LENGTH), NOTHING)
    for i, pair in enumerate(pairs):
        a, b = ([place[k][word] for word in pair[k]] for k in range(2))
        source[i, :len(a)] = torch.tensor(a)
        tokens[i, :len(b) + 1] = torch.tensor([BOS, *b])
        targets[i, :len(b) + 1] = torch.tensor([*b, EOS])
    return (source, torch.tensor([len(a) for a, _ in pairs]), tokens, targets), [len(p) for p in place]


def steps_of_torch(model, rows):
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        first = step * BATCH % PAIRS
        source, words, tokens, targets = (field[first:first + BATCH] for field in rows)
        scores = model(source, words, tokens).flatten(0, 1)
        loss = nn.functional.cross_entropy(scores, targets.flatten(), ignore_index=NOTHING)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def steps_of_halfulp(program, folder):
    run, out = f"{folder}/run", f"{folder}/after.safetensors"
    same_model.call(program, "train", "model=seq2seq-s", f"data=parallel:{folder}", "data.source=a", "data.target=b",
                    "data.min_count=1", f"data.length={LENGTH}", "data.test_limit=8", "data.shuffle=off",
                    "precision=fp32", f"batch={BATCH}", f"steps={STEPS}", "optimizer=sgd", f"lr={LR}",
                    f"optimizer.momentum={MOMENTUM}", "optimizer.clip_norm=0", "optimizer.weight_decay=0",
                    "lr.schedule=constant", "lr.warmup=0", f"init={folder}/before.safetensors", "run.log_every=1",
                    "eval.every=0", "eval.decode=off", "quiet=on", f"run.dir={run}")
    same_model.call(program, "export", run, f"out={out}")
    with open(f"{run}/metrics.jsonl", encoding="utf-8") as file:
        losses = [json.loads(line)["loss"] for line in file]
    return losses[:STEPS], same_model.read_safetensors(out)


def write_pairs(folder, pairs):
    for half in ("train", "test"):
        for k, language in enumerate("ab"):
            with open(f"{folder}/{half}.{language}", "w", encoding="utf-8") as file:
                file.write("".join(" ".join(pair[k]) + "\n" for pair in pairs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", "build/halfulp"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    pairs = make_pairs()
    rows, words = rows_of(pairs)
    model = Translation(*words)
    before = {n: t.clone() for n, t in same_model.state_of(model).items()}
    with tempfile.TemporaryDirectory() as folder:
        write_pairs(folder, pairs)
        same_model.write_safetensors(f"{folder}/before.safetensors", before)
        losses, ours = steps_of_halfulp(options.halfulp, folder)
    expected = steps_of_torch(model, rows)
    theirs = {n: t.clone() for n, t in same_model.state_of(model).items()}
    model.load_state_dict(ours)  # strict: every name and shape is torch's
    apart = [abs(a - b) / abs(b) for a, b in zip(losses, expected)]
    moves, where = max((float((ours[n] - t).norm() / (t - before[n]).norm()), n) for n, t in theirs.items())
    good = len(losses) == STEPS and max(apart) < LOSS_TOLERANCE and moves < MOVE_TOLERANCE
    print(f"torch {torch.__version__}, {STEPS} steps of {BATCH} of {PAIRS} pairs of 1 to {LENGTH - 1} words, sgd, lr {LR}"
          f"\nseq2seq-s {len(theirs)} tensors, {words[0]} and {words[1]} words, loss {expected[0]:.4f} to "
          f"{expected[-1]:.4f}, apart: first {apart[0]:.1e}, losses {max(apart):.1e}, moves {moves:.1e} ({where})  "
          f"{'same' if good else 'DIFFERENT'}", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
