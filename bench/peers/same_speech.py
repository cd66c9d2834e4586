#!/usr/bin/env python3
"""The speech network is the model: ds2-s beside the same network in torch, on the same sounds.

Both begin with the same drawn weights and make fifty steps of SGD with momentum in float32 on the same made sounds,
four at a time: tones for letters, of 30 to 90 frames. torch is given log spectrograms that this script makes in float64
as halfulp's documentation says. Rows of padding take part in convolutions and batch norms (norm.rows=all), not in the
recurrent layers and the loss. Compared are the loss of each step, at most 1e-4 apart, and what became of the weights:
|ours - torch's| over |torch's - the start|, at most 1 %.

    /usr/bin/python3 bench/peers/same_speech.py [--halfulp=PROGRAM]

Needs torch (Debian: python3-torch). Exit code 0: the same; 1: not; 77: no torch here.
"""
import argparse
import json
import math
import os
import struct
import sys
import tempfile
import wave

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: torch is not here ({error}); Debian has it as python3-torch")
    sys.exit(77)

import same_model
import sequence_models

STEPS, BATCH, SOUNDS, FRAMES, LR, MOMENTUM = 50, 4, 40, 96, 2e-4, 0.9
LOSS_TOLERANCE, MOVE_TOLERANCE = 1e-4, 1e-2
RATE, WINDOW, HOP = 8000, 160, 80
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "zero")
LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the blank comes first


def sound(text, generator):
    """A tone for each letter, with noise: 16 bit numbers."""
    seconds = (0.3 + 0.6 * float(torch.rand(1, generator=generator))) / len(text)
    parts = []
    for letter in text:
        at = torch.arange(int(seconds * RATE)).double() / RATE
        parts.append(torch.sin(2 * math.pi * (200 + 100 * LETTERS.index(letter)) * at))
    x = torch.cat(parts)
    noise = torch.randn(len(x), generator=generator, dtype=torch.float64)
    return (6000 * x + 300 * noise).round().to(torch.int16)


def write_sounds(folder, sounds):
    for half, count in (("train", SOUNDS), ("test", BATCH)):
        os.makedirs(f"{folder}/{half}")
        with open(f"{folder}/{half}/transcripts.txt", "w", encoding="utf-8") as file:
            for k, (text, _) in enumerate(sounds[:count]):
                file.write(f"{k:03d}\t{text}\n")
        for k, (_, x) in enumerate(sounds[:count]):
            with wave.open(f"{folder}/{half}/{k:03d}.wav", "wb") as file:
                file.setparams((1, 2, RATE, 0, "NONE", ""))
                file.writeframes(struct.pack(f"<{len(x)}h", *x.tolist()))


def spectrogram(x):
    """[frames, 81] of log(power + 1e-6), normalised over the sound."""
    n = torch.arange(WINDOW).double()
    window = 0.5 - 0.5 * torch.cos(2 * math.pi * n / WINDOW)
    power = torch.fft.rfft(x.double().unfold(0, WINDOW, HOP) * window).abs() ** 2 / 32768 ** 2
    rows = torch.log(power + 1e-6)
    return ((rows - rows.mean()) / (rows.std(unbiased=False) + 1e-3)).float()


class Padded(sequence_models.DeepSpeech):
    """The recurrent layers see the rows of each sound alone."""

    def forward(self, x, frames):
        x = self.bn1(self.conv1(x)).clamp(0, 20)
        x = self.bn2(self.conv2(x)).clamp(0, 20).permute(0, 2, 1, 3).flatten(2)
        rows = nn.utils.rnn.pack_padded_sequence(x, frames, batch_first=True, enforce_sorted=False)
        x, _ = nn.utils.rnn.pad_packed_sequence(self.gru(rows)[0], batch_first=True)
        return self.fc(x).log_softmax(2)


def steps_of_torch(model, sounds, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    rows = [spectrogram(x) for _, x in sounds]
    losses = []
    for step in range(steps):
        batch = [(step * BATCH + i) % SOUNDS for i in range(BATCH)]
        x = torch.zeros(BATCH, 1, FRAMES, sequence_models.BINS)
        for i, k in enumerate(batch):
            x[i, 0, :len(rows[k])] = rows[k]
        frames = torch.tensor([(len(rows[k]) + 1) // 2 for k in batch])
        label = torch.tensor([1 + LETTERS.index(c) for k in batch for c in sounds[k][0]])
        letters = torch.tensor([len(sounds[k][0]) for k in batch])
        loss = sequence_models.ctc(model(x, frames), label, frames, letters)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def steps_of_halfulp(program, folder, steps):
    run, out = f"{folder}/run", f"{folder}/after.safetensors"
    same_model.call(program, "train", "model=ds2-s", f"data=speech:{folder}/sounds", f"data.frames={FRAMES}",
                    "data.shuffle=off", "data.sorted=0", "norm.rows=all", "precision=fp32", f"batch={BATCH}",
                    f"steps={steps}", "optimizer=sgd", f"lr={LR}", f"optimizer.momentum={MOMENTUM}",
                    "optimizer.nesterov=off", "optimizer.clip_norm=0", "optimizer.weight_decay=0",
                    "lr.schedule=constant", "lr.warmup=0", f"init={folder}/before.safetensors", "run.log_every=1",
                    "eval.every=0", "quiet=on", f"run.dir={run}")
    same_model.call(program, "export", run, f"out={out}")
    with open(f"{run}/metrics.jsonl", encoding="utf-8") as file:
        losses = [json.loads(line)["loss"] for line in file]
    return losses[:steps], same_model.read_safetensors(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--halfulp", default=os.environ.get("HALFULP", "build/halfulp"))
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(5)
    sounds = [(WORDS[3 * k % len(WORDS)], sound(WORDS[3 * k % len(WORDS)], generator)) for k in range(SOUNDS)]
    model = Padded()
    before = {n: t.clone() for n, t in same_model.state_of(model).items()}
    with tempfile.TemporaryDirectory() as folder:
        write_sounds(f"{folder}/sounds", sounds)
        same_model.write_safetensors(f"{folder}/before.safetensors", before)
        losses, ours = steps_of_halfulp(options.halfulp, folder, options.steps)
    expected = steps_of_torch(model, sounds, options.steps)
    theirs = {n: t.clone() for n, t in same_model.state_of(model).items()}
    if set(ours) != set(before) or len(losses) != options.steps:
        raise SystemExit(f"ds2-s: found {len(losses)} losses and the tensors {list(ours)}, expected {options.steps} and "
                         f"{list(before)}")
    model.load_state_dict(ours)  # strict: every name and shape is torch's
    steps = [abs(a - b) / abs(b) for a, b in zip(losses, expected)]
    moves, where = max((float((ours[n] - t).norm() / (t - before[n]).norm()), n) for n, t in theirs.items())
    good = max(steps) < LOSS_TOLERANCE and moves < MOVE_TOLERANCE
    print(f"torch {torch.__version__}, {options.steps} steps of {BATCH} sounds, sgd, lr {LR}")
    print(f"ds2-s {len(theirs)} tensors, loss {expected[0]:.4f} to {expected[-1]:.4f}, apart: first {steps[0]:.1e}, "
          f"losses {max(steps):.1e}, moves {moves:.1e} ({where})  {'same' if good else 'DIFFERENT'}", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
