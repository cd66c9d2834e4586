"""Resolved plans: what a file says of tensors, and trainings with it."""

import os
import pickle
import sys

import numpy as np
import pytest

import halfulp as hu

TEXT = """\
halfulp_plan: 1
model: {name: cnn-s, width: 0.5}
scaler: {name: dynamic, init: 1024}
tensors:
  conv1.weight: {value: "fp(4,3,4)", grad: "fp(6,9,0)"}
  relu1.out: {value: e5m2 sr, use: fp16, grad: [mxfp8, fp32], sum: bf16, weights: fp32}
semantics: f32fma
products:
  conv1: {forward: "fmac8:1/6/9", weight_grad: "kahan:fp16"}
"""


def _rows(table):
    return table if isinstance(table, list) else table.to_dict("records")


def test_a_plan_says_what_its_file_does(tmp_path):
    (tmp_path / "p.yaml").write_text(TEXT)
    plan = hu.Plan.load(tmp_path / "p.yaml")
    assert list(plan) == ["conv1.weight", "relu1.out"] and len(plan) == 2
    weight = plan["conv1.weight"]
    assert weight == hu.TensorPlan("conv1.weight", "fp(4,3,4)", "fp(6,9,0)")
    relu = plan["relu1.out"]
    assert (relu.value, relu.use, relu.sum, relu.weights) == ("e5m2 sr", "fp16", "bf16", "fp32")
    assert relu.grad == ("mxfp8", "fp32")
    assert "conv1.weight" in plan and "conv2.weight" not in plan and 3 not in plan
    assert plan.get("conv2.weight") is None and plan.get("relu1.out") == relu
    assert plan.facts == {
        "model": {"name": "cnn-s", "width": "0.5"},
        "scaler": {"name": "dynamic", "init": "1024"},
    }
    assert plan.semantics == "f32fma"
    assert plan.products == {"conv1": hu.ProductPlan("conv1", "fmac8:1/6/9/d", None, "kahan:fp16")}
    assert [row["name"] for row in _rows(plan.tensors)] == list(plan)
    assert plan.path == str(tmp_path / "p.yaml")
    assert "fp(4,3,4)" in plan._repr_html_() and "fmac8:1/6/9/d" in plan._repr_html_()
    assert repr(plan) == "Plan(cnn-s, 2 tensors, 1 layers with accumulators)"


def test_operands_of_products():
    fc = "{forward: {accumulator: fmacs, x: mxfp8, w: mxfp8}, weight_grad: {dy: nvfp4 sr}}"
    plan = hu.Plan(f"{TEXT}  fc: {fc}\n")
    product = plan.products["fc"]
    assert (product.forward, product.weight_grad) == ("fmacs", None)
    assert product.operands == {
        "forward.x": "mxfp8",
        "forward.w": "mxfp8",
        "weight_grad.dy": "nvfp4 sr",
    }
    assert plan.products["conv1"].operands == {}
    assert repr(plan).endswith("2 layers with accumulators, 1 with rounded operands)")
    assert "nvfp4 sr" in plan._repr_html_() and hash(product)


def test_texts_round_arrays():
    plan = hu.Plan(TEXT)
    x = np.float32([[0.1, 3.3, 1e-5, 7e4] * 8])
    np.testing.assert_array_equal(
        hu.round(x, plan["conv1.weight"].value), hu.round(x, hu.Format("fp(4,3,4)"))
    )
    for text in plan["relu1.out"].grad:
        hu.Quantization(text)
    a = np.ones((2, 40), np.float32)
    product = plan.products["conv1"]
    hu.gemm(a, a.T.copy(), product.forward, semantics=plan.semantics)


def test_saving_keeps_all(tmp_path):
    plan = hu.Plan(TEXT)
    plan.save(tmp_path / "q.yaml")
    again = hu.Plan.load(tmp_path / "q.yaml")
    assert again == plan and hash(again) == hash(plan) and again.text == plan.text
    assert pickle.loads(pickle.dumps(plan)) == plan and plan != hu.Plan(TEXT.replace("1024", "512"))
    assert plan == hu.Plan(TEXT + "evidence: {step: 7}\n") and plan != TEXT
    assert os.listdir(tmp_path) == ["q.yaml"]


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("halfulp_plan: 2\ntensors: {}\n", hu.VersionError, "found halfulp_plan '2', expected 1"),
        ("precision: {name: hfp8}\n", hu.ParseError, "found no key 'halfulp_plan'"),
        ("halfulp_plan: 1\ntensors: {a: {value: e4m9x}}\n", hu.UnknownNameError, "plan:2:11"),
        ("a\0b", hu.ArgumentError, "zero character"),
        ("halfulp_plan: [1\n", hu.ParseError, "plan:"),
        (7, hu.DtypeError, "found int"),
    ],
    ids=str,
)
def test_mistakes_of_plans(text, kind, part):
    with pytest.raises(kind) as caught:
        hu.Plan(text)
    assert part in str(caught.value)


def test_mistakes_of_names_and_paths(tmp_path):
    plan = hu.Plan(TEXT)
    with pytest.raises(hu.UnknownNameError, match="nearest: 'conv1.weight'"):
        plan["conv1.wieght"]
    with pytest.raises(hu.DtypeError):
        plan[3]
    with pytest.raises(hu.MissingError):
        hu.Plan.load(tmp_path / "none.yaml")
    with pytest.raises(hu.ArgumentError, match="ends in .yaml"):
        plan.save(tmp_path / "plan.json")
    with pytest.raises(hu.UnknownNameError, match="nearest: 'cnn-s'"):
        hu.Plan.of(model="cnn-x")


def test_a_plan_of_keys_is_the_programs(small, program):
    words = ["model=cnn-s", "precision=hfp8", "accumulator=fmac8:1/6/9"]
    assert program("plan", *words, "out=p.yaml")[0] == 0
    before = sorted(os.listdir("."))
    plan = hu.Plan.of(model="cnn-s", precision="hfp8", accumulator="fmac8:1/6/9")
    assert plan == hu.Plan.load("p.yaml") and sorted(os.listdir(".")) == before
    assert plan["fc.weight"].value == "fp(4,3,4)" and plan.products["fc"].forward == "fmac8:1/6/9/d"
    changed = hu.Plan.of(model="cnn-s", precision=plan, precision_rules=["conv1.weight: fp16"])
    assert changed["conv1.weight"].value == "fp16" and changed != plan
    assert changed["conv2.weight"] == plan["conv2.weight"]


def test_a_training_with_a_plan_has_its_bits(small):
    first = hu.train(**small, precision="hfp8", run_dir="first")
    plan = hu.Plan(first.plan.text)
    second = hu.train(**small, precision=plan, run_dir="second")
    assert second.hash == first.hash and second.plan == first.plan
    assert hu.train(**small, precision=first.plan, run_dir="third").hash == first.hash
    keys = {**small, "steps": 2, "run_dir": "c"}
    found = hu.compare(**keys, precision=["fp32", plan])
    rows = _rows(found.rows)
    assert [row["weights_hash"] for row in rows] == [
        hu.train(**{**keys, "run_dir": f"one-{p}"}, precision=p).hash for p in ("fp32", "hfp8")
    ]
    assert [row["weights_hash"] for row in _rows(hu.compare(**keys, precision=["fp32", plan]).rows)]


def test_bytes_and_layers(small):
    keys = {"data": "glyphs", "batch": 32, "threads": 1}
    found = hu.summary(model="cnn-s", precision="hfp8", **keys)
    plan = hu.Plan.of(model="cnn-s", precision="hfp8", **keys)
    held = {row["role"]: row["packed"] for row in _rows(plan.bytes(**keys))}
    run = hu.train(**small, precision="hfp8")
    assert held == run.result["ledger_bytes"]
    assert held == {row["role"]: row["packed"] for row in _rows(found.bytes)}
    layers = _rows(found.layers)
    assert sum(row["parameters"] for row in layers) == found.parameters == 24346
    assert sum(row["macs"] for row in layers) == found.macs
    assert "conv1" in str(found) and "24,346 parameters" in repr(found)
    assert "<table>" in found._repr_html_()


def test_networks_have_plans(small):
    net = hu.Net(input=(32, 32, 3), classes=10)
    net.head(net.linear(net.global_avg_pool(net.input), 10, name="fc"))
    plan = hu.Plan.of(model=net, data="glyphs", precision="e4m3")
    assert plan["fc.weight"].value == "e4m3" and not os.path.exists("runs")
    run = hu.train(**{**small, "model": net}, precision=plan, run_dir="n")
    assert run.plan["fc.weight"] == plan["fc.weight"]
    held = {row["role"]: row["packed"] for row in _rows(plan.bytes(data="glyphs", batch=32))}
    assert plan.summary(data="glyphs").parameters == 40 and held["masters"] == 40 * 4


def test_without_pandas_there_are_rows(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert hu.Plan(TEXT).tensors[0]["value"] == "fp(4,3,4)"
