#!/usr/bin/env python3
"""The same training by PyTorch, rounded by halfulp.torch, and by halfulp's engine: losses and counts.

usage: bench/peers/applied.py CIFAR10_FOLDER [SEED...] [--models=cnn-s,resnet20,deit-s] [--precisions=fp16,hfp8]
                              [--products=torch,halfulp] [--rate=0.001]

Needs the Python package, torch and timm. Ten steps of SGD with momentum from the same weights, on the same batches of
128 pictures, by the same plan. losses: the largest difference of the ten. counts: of all tensors that are rounded, the
largest difference of a count (overflow, underflow, subnormal, zero, NaN), to the tensor's elements; of the first step,
and of all ten.
"""
import os
import sys
import warnings

import numpy as np
import timm
import torch

import halfulp as hu
import halfulp.torch as ht
import same_model

STEPS, BATCH = 10, 128
COUNTS = ("overflow", "underflow", "subnormal", "zero", "nan")
PRECISIONS = ("fp32", "fp16", "hfp8", "mxfp8")


def option(name, usual):
    found = [word.split("=", 1)[1].split(",") for word in sys.argv if word.startswith(f"--{name}=")]
    return found[-1] if found else usual


def pictures(folder):
    """[50000, 3, 32, 32] with mean 0 and deviation 1 in each channel, and labels."""
    rows = [np.fromfile(os.path.join(folder, f"data_batch_{i}.bin"), np.uint8).reshape(-1, 3073) for i in range(1, 6)]
    rows = np.concatenate(rows)
    x = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255)
    mean, deviation = x.mean((0, 2, 3), keepdim=True), x.std((0, 2, 3), keepdim=True)
    return (x - mean) / deviation, torch.from_numpy(rows[:, 0].astype(np.int64))


def build(name):
    if name == "deit-s":  # 4 blocks, patches of 4x4, 64 numbers, 2 heads
        return timm.models.VisionTransformer(img_size=32, patch_size=4, embed_dim=64, depth=4, num_heads=2, num_classes=10)
    return same_model.make_model(name, 3, 1, 32)


def compare(name, precision, products, seed, data):
    x, y = data
    rate = float(option("rate", ("0.001",))[0])
    torch.manual_seed(seed)
    module = build(name)
    places = torch.randperm(len(x))[: STEPS * BATCH].reshape(STEPS, BATCH)
    captured = ht.capture(module, (x[:1],))
    plan = hu.Plan.of(model=captured, precision=precision)
    net = ht.apply(module, plan, (x[:1],), products=products).train()
    scaler = ht.LossScaler.from_plan(plan)
    optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.9)
    fields = [hu.Field("image", (32, 32, 3)), hu.Field("label", classes=10)]
    keys = dict(optimizer="sgd", optimizer_momentum=0.9, optimizer_weight_decay=0.0, optimizer_nesterov=False,
                lr_base=rate, lr_schedule="constant", batch=BATCH, steps=STEPS)
    apart, first, worst = 0.0, 0.0, 0.0
    with hu.Trainer(captured, hu.Dataset(fields, train=BATCH), precision=plan, **keys) as trainer:
        for step, chosen in enumerate(places):
            net.forget()
            optimizer.zero_grad()
            loss = net.loss(net(x[chosen]), y[chosen])
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            made = trainer.step(x[chosen].permute(0, 2, 3, 1).contiguous().numpy(), y[chosen].numpy())
            apart = max(apart, abs(made.loss - loss.item()))
            for point in net.points():
                ours, theirs = net.counts(point.name), trainer.counts(point.name)
                assert ours.elements == theirs.elements, point.name
                share = max(abs(getattr(ours, key) - getattr(theirs, key)) for key in COUNTS) / ours.elements
                worst = max(worst, share)
            first = worst if step == 0 else first
    return apart, first, worst


def main():
    warnings.filterwarnings("ignore")
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    data, seeds = pictures(words[0]), [int(word) for word in words[1:]] or [0, 1, 2]
    print("| network | precision | products | losses apart | counts apart in the first step | in ten steps |\n|---|---|---|---|---|---|")
    for name in option("models", ("cnn-s", "resnet20", "deit-s")):
        for precision in option("precisions", PRECISIONS):
            for products in option("products", ("torch", "halfulp")):
                found = [compare(name, precision, products, seed, data) for seed in seeds]
                cells = [", ".join(f"{v:.1e}" for v in column) for column in list(zip(*found))]
                print(f"| {name} | {precision} | {products} | {cells[0]} | {cells[1]} | {cells[2]} |", flush=True)


if __name__ == "__main__":
    main()
