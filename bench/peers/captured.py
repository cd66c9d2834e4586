#!/usr/bin/env python3
"""Networks of torchvision, timm and transformers, captured by halfulp.torch: what is taken, and how near its numbers are.

usage: bench/peers/captured.py [SEED] [NAME...]   (of torchvision or timm; else those of docs/results/pytorch.md)

Needs the Python package, torch, torchvision, timm and transformers. Each network begins with random weights of one seed;
dropout and stochastic depth are set to 0 in both. docs/results/pytorch.md has what came of it.

forward: the largest difference of log-probabilities in evaluation, to the largest of them. loss: of a step in training,
to float64's. gradients: |g - g64| / |g64| over all of them as one vector, ours and PyTorch's in float32.
"""
import copy
import sys
import time
import warnings

import numpy as np
import timm
import torch
import torchvision

import halfulp as hu
import halfulp.torch as ht

SEED = int(sys.argv.pop(1)) if sys.argv[1:] and sys.argv[1].isdigit() else 0
SAMPLES = 4
SIDES = {"inception_v3": 299, "vit_b_16": 224, "vit_b_32": 224, "deit_tiny_patch16_224": 224, "swin_t": 224,
         "swin_v2_t": 256, "maxvit_t": 224}
TORCHVISION = """alexnet resnet18 resnet34 resnet50 resnext50_32x4d wide_resnet50_2 vgg11 vgg11_bn vgg16_bn mobilenet_v2
    mobilenet_v3_small mobilenet_v3_large squeezenet1_0 squeezenet1_1 shufflenet_v2_x0_5 shufflenet_v2_x1_0 densenet121
    googlenet inception_v3 efficientnet_b0 efficientnet_v2_s mnasnet0_5 mnasnet1_0 regnet_x_400mf regnet_y_400mf
    convnext_tiny vit_b_16 vit_b_32 swin_t swin_v2_t maxvit_t""".split()
TIMM = """deit_tiny_patch16_224 resnet26d resnetv2_50 mixer_s16_224 convmixer_768_32 repvgg_a0 ghostnet_100 tf_efficientnet_lite0
    mobileone_s0 levit_128s pit_ti_224 xcit_nano_12_p16_224 coat_lite_tiny poolformer_s12 vit_tiny_patch16_224""".split()


def made(name):
    torch.manual_seed(SEED)
    if name in TIMM or not hasattr(torchvision.models, name):
        return timm.create_model(name, num_classes=10)
    weights = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    return getattr(torchvision.models, name)(weights=None, num_classes=10, **weights)


def without_noise(model):
    """Nothing is dropped, and no layer begins with zeros: gradients of all that is in front of it would be none."""
    for module in model.modules():
        for key in ("p", "drop_prob", "dropout"):
            if isinstance(getattr(module, key, None), float):
                setattr(module, key, 0.0)
    for name, parameter in model.named_parameters():
        if name.endswith("weight") and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    return model


def step(model, x, y, kind):
    """Loss and gradients in training, of the first output."""
    model = copy.deepcopy(model).to(kind).train()
    out = model(x.to(kind))
    loss = torch.nn.functional.cross_entropy(out if isinstance(out, torch.Tensor) else out[0], y)
    loss.backward()
    return loss.item(), {n: p.grad.double() for n, p in model.named_parameters() if p.grad is not None}


def main_output(model, x):
    with torch.no_grad():
        return copy.deepcopy(model).eval()(x).log_softmax(1).numpy()


def compared(name):
    model = without_noise(made(name))
    side = SIDES.get(name, model.default_cfg["input_size"][-1] if hasattr(model, "default_cfg") else 64)
    x, y = torch.randn(SAMPLES, 3, side, side), torch.arange(SAMPLES) % 10
    begun = time.time()
    net = ht.capture(model, (x,))
    seconds = time.time() - begun
    pixels = x.permute(0, 2, 3, 1).contiguous().numpy()
    with hu.Trainer(net, batch=SAMPLES, steps=1, optimizer="sgd", lr_base=0.0, task_smoothing=0.0) as trainer:
        right = main_output(model, x)
        forward = np.abs(trainer.predict(pixels) - right).max() / np.abs(right).max()
        exact_loss, exact = step(model, x, y, torch.float64)
        _, theirs = step(model, x, y, torch.float32)
        read = [w for w in net.weights.values() if w.torch_name in exact]
        trainer.watch(*(f"{w.name}.grad" for w in read))
        loss = trainer.step(pixels, y.numpy()).loss
        ours = total = its = 0.0
        for weight in read:
            found = trainer.tensor(f"{weight.name}.grad", rounded=False)
            found = found.sum(0) if found.ndim > len(weight.shape) else found
            wanted = exact[weight.torch_name]
            turned = (wanted.permute(weight.order) if weight.order else wanted).reshape(weight.shape).numpy()
            ours += float(((found - turned) ** 2).sum())
            its += float(((theirs[weight.torch_name] - wanted) ** 2).sum())
            total += float((turned**2).sum())
        whole = len(read) == len(exact)
    errors = [float(np.sqrt(e / total)) for e in (ours, its)]
    print(f"| {name} | {len(net.weights)} | {seconds:.1f} s | {forward:.1e} | {abs(loss - exact_loss) / exact_loss:.1e} | "
          f"{errors[0]:.1e} | {errors[1]:.1e} | {errors[0] / errors[1]:.2f} |{'' if whole else ' not all gradients'}", flush=True)
    return True


def main():
    warnings.simplefilter("ignore")
    names = sys.argv[1:] or TORCHVISION + TIMM
    taken = 0
    for name in names:
        try:
            taken += compared(name)
        except hu.UnsupportedError as error:
            print(f"| {name} | refused: {' / '.join(str(error).splitlines()[1:4])[:300]}", flush=True)
        except Exception as error:
            print(f"| {name} | {type(error).__name__}: {str(error)[:300]}", flush=True)
    print(f"{taken} of {len(names)}")


if __name__ == "__main__":
    main()
