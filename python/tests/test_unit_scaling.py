"""Sizes of weights, activations and gradients when a training with unit scaling begins."""

import numpy as np
import pytest

import halfulp as hu

# What stays as it is: shares of attention, log-probabilities and losses; scores are small.
APART = (".weights.out", "log_softmax.out", "loss.out", "fc.product.out", "fc.out")


def size(x):
    return float(np.sqrt(np.mean(np.square(np.asarray(x, np.float64)))))


def text(folder):
    random = np.random.default_rng(1)
    words = np.minimum(random.zipf(1.3, (1500, 12)), 300)
    path = folder / "text.txt"
    path.write_text("".join(" ".join(f"w{w}" for w in line) + "\n" for line in words))
    return f"text:{path}"


def sizes(model, precision, **keys):
    """Of weights of products, activations, their gradients and gradients of the weights."""
    weights, made, given, learned = {}, {}, {}, {}
    with hu.Trainer(model=model, precision=precision, threads=2, **keys) as trainer:
        start = trainer.weights()
        products = {n for n, w in start.items() if n.endswith("weight") and w.ndim > 1}
        trainer.watch("*")
        trainer.step()
        for name, tensor in trainer.tensors.items():
            value = name.removesuffix(".grad")
            if name in products:
                weights[name] = size(start[name])
            elif tensor.role == "activation" and not name.endswith(APART):
                made[name] = size(trainer.tensor(name, rounded=False))
            elif tensor.role == "gradient" and (value in products or value.endswith(".out")):
                x = trainer.tensor(name, rounded=False)
                kind = learned if value in products else given
                kind[name] = size(x.sum(0) if tensor.parts > 1 else x)
    return weights, made, given, learned


NETWORKS = {
    "resnet20": ({"data": "glyphs", "batch": 64}, (0.4, 2), (0.4, 2), (0.3, 3)),
    "transformer-lm-s": (
        {"data": "text", "data_unit": "word", "batch": 16},
        (0.5, 2),
        (0.2, 2),
        (0.5, 30),  # gradients of all rows point the same way at first: common words
    ),
}


@pytest.mark.parametrize("model", NETWORKS)
def test_all_sizes_are_near_one(model, tmp_path):
    keys, *bounds = NETWORKS[model]
    keys = {**keys, "data": text(tmp_path) if keys["data"] == "text" else keys["data"]}
    scaled = sizes(model, "unit-scaling", **keys)
    for found, (low, high) in zip(scaled, [(0.85, 1.15), *bounds], strict=True):
        assert len(found) > 10
        outside = {n: s for n, s in found.items() if not low <= s <= high}
        assert not outside
    plain = sizes(model, "fp32", **keys)
    assert max(plain[0].values()) < 0.3  # weights
    assert max(plain[2].values()) < 0.01  # gradients
    assert {n for n in scaled[2]} == {n for n in plain[2]}


def test_the_same_weights_up_to_their_deviation():
    keys = {"data": "glyphs", "batch": 8, "model_width": 0.25}
    with (
        hu.Trainer(model="resnet20", precision="fp32", **keys) as plain,
        hu.Trainer(model="resnet20", precision="fp32", precision_scaling="unit", **keys) as scaled,
    ):
        before, after = plain.weights(), scaled.weights()
    fan = np.prod(before["layer1.0.conv1.weight"].shape[:3])
    expected = before["layer1.0.conv1.weight"] / np.sqrt(2 / fan)
    np.testing.assert_allclose(after["layer1.0.conv1.weight"], expected, rtol=1e-6)
    np.testing.assert_array_equal(after["bn1.weight"], before["bn1.weight"])


def test_plans_keep_the_scaling():
    plan = hu.Plan.of(model="cnn-s", precision="unit-scaling")
    assert plan.facts["scaling"] == "unit"
    assert "scaling" not in hu.Plan.of(model="cnn-s", precision="mxfp8-te").facts
    assert plan.products["conv1"].operands["input_grad.w"] == "e4m3fn:ovf=sat"
    keys = {"data": "glyphs", "model": "cnn-s", "model_width": 0.25, "batch": 8}
    plan = hu.Plan.of(precision="unit-scaling", **keys)
    hashes = set()
    for precision in ("unit-scaling", plan):
        with hu.Trainer(precision=precision, **keys) as trainer:
            trainer.step()
            hashes.add(trainer.hash)
    assert len(hashes) == 1


def test_what_cannot_be_scaled_is_named():
    with pytest.raises(hu.ArgumentError, match="learn in turns"):
        hu.Plan.of(model="dcgan", precision="unit-scaling")
