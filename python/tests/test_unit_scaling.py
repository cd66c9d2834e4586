"""Sizes of weights, activations and gradients when a training with unit scaling begins."""

import numpy as np
import pytest

import halfulp as hu
from tensor_sizes import sizes, text

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
    keys = {**keys, "data": text(tmp_path, 1500, 300) if keys["data"] == "text" else keys["data"]}
    scaled = [*sizes(model, "unit-scaling", **keys).values()]
    for found, (low, high) in zip(scaled, [(0.85, 1.15), *bounds], strict=True):
        assert len(found) > 10
        outside = {n: s for n, s in found.items() if not low <= s <= high}
        assert not outside
    plain = [*sizes(model, "fp32", **keys).values()]
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
