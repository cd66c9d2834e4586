import inspect
import json

import pytest

import halfulp as hu


def declared():
    net = hu.Net(input=(32, 32, 3), classes=10)
    h = net.conv2d(net.input, 16, kernel=3, pad=1, bias=False, name="conv1")
    h = net.relu(net.batch_norm(h, name="bn1"), name="relu1")
    h = net.max_pool(h, kernel=(2, 2), name="pool1")
    h = net.add(h, net.conv2d(h, 16, 1, name="side"), name="sum")
    net.head(
        net.linear(net.flatten(net.global_avg_pool(h, name="pool"), name="flat"), 10, name="fc")
    )
    return net


WRITTEN = """halfulp_network: 1
task: classify
inputs: {input: [32, 32, 3]}
nodes:
  - conv1: conv2d input out=16 kernel=3 pad=1 bias=off
  - bn1: batch_norm conv1
  - relu1: relu bn1
  - pool1: max_pool relu1 kernel=2
  - side: conv2d pool1 out=16 kernel=1
  - sum: add pool1 side
  - pool: global_avg_pool sum
  - flat: flatten pool
  - fc: linear flat out=10
head: fc
"""


def test_a_declared_network_trains_as_its_file(small, program):
    keys = {k: v for k, v in small.items() if k != "model"}
    run = declared().train(**keys, run_dir="py")
    with open("written.yaml", "w") as file:
        file.write(WRITTEN)
    words = ["data=glyphs", "data.limit=256", "data.test_limit=64", "batch=32", "steps=6"]
    code, out, err = program(
        "train", "model=written.yaml", *words, "threads=1", "run.dir=c", "--json"
    )
    assert code == 0, err
    assert run.hash == json.loads(out)["weights_hash"]
    with open("py.network.yaml") as file:
        assert "conv1: conv2d input out=16" in file.read()
    assert run.resume(steps=8).result["steps"] == 8  # the network is where the run finds it


def test_networks_are_saved_and_loaded(small):
    net = declared()
    net.save("a.yaml")
    again = hu.Net.load("a.yaml")
    again.save("b.yaml")
    with open("a.yaml") as a, open("b.yaml") as b:
        assert a.read() == b.read()
    keys = {k: v for k, v in small.items() if k != "model"}
    assert (
        again.train(**keys, run_dir="x").hash == hu.train(model="a.yaml", **keys, run_dir="y").hash
    )
    assert again.input is None
    with pytest.raises(hu.ArgumentError, match="loaded"):
        again.relu(net.input)


def test_shapes_and_names():
    net = hu.Net(input=(8, 8, 3))
    assert net.input.shape == (8, 8, 3)
    h = net.conv2d(net.input, 5, kernel=(3, 1), stride=2)
    assert (h.name, h.shape) == ("conv2d1.out", (3, 4, 5))
    parts = net.split(h, axis=[2], sizes=[2, 3])
    assert [p.shape for p in parts] == [(3, 4, 2), (3, 4, 3)] and parts[0].name == "split1.out0"
    assert net.reshape(h, shape=[12, 5]).shape == (12, 5)
    assert net.transpose(h, axes=[1, 0, 2]).shape == (4, 3, 5)
    assert net.concat(*parts, axis=2).shape == h.shape


def test_every_operation_has_a_method():
    for name, text in hu.operations().items():
        method = getattr(hu.Net, name)
        assert callable(method) and name in dir(hu.Net)
        if name not in ("head", "input", "load", "save", "train"):
            assert inspect.getdoc(method) == text
    assert "out : needed" in hu.operations()["conv2d"]
    assert not {"nll", "mse"} & set(hu.operations())  # losses come with the task


def test_mistakes_leave_the_network_as_it_was(tmp_path):
    net = hu.Net(input=(32, 32, 3), classes=10)
    other = hu.Net(input=(4,))
    for call, kind, part in (
        (lambda: net.conv2d(net.input, 16, kernel=33), hu.ShapeError, ""),
        (lambda: net.conv2d(net.input), hu.Error, "out"),
        (lambda: net.conv2d(net.input, 16, kernel=3, kernal=3), hu.Error, "kernel"),
        (lambda: net.conv2d(net.input, 16, 3, 1), hu.DtypeError, "at most: out kernel"),
        (lambda: net.conv2d(net.input, 16, 3, out=8), hu.DtypeError, "out twice"),
        (lambda: net.conv2d(net.input, "a b", 3), hu.ArgumentError, "blanks"),
        (lambda: net.conv2d(net.input, float("nan"), 3), hu.Error, ""),
        (lambda: net.blend(net.input), hu.ShapeError, "1 inputs, expected at least 3"),
        (lambda: net.relu(*2 * [net.input]), hu.ShapeError, "2 inputs, expected at most 1"),
        (lambda: net.relu(other.input), hu.ArgumentError, "another network"),
        (lambda: net.relu(3), hu.Error, ""),
        (lambda: net.relu(net.input, name="input"), hu.ArgumentError, "twice"),
        (lambda: net.relu(net.input, name="a b"), hu.Error, ""),
        (lambda: net.relu(net.input, name=7), TypeError, "text"),
        (lambda: net.head(net.input), hu.ShapeError, r"expected \(10,\)"),
        (lambda: net.head(None), TypeError, "NoneType"),
        (lambda: hu.Net(input=(0, 3)), ValueError, ""),
        (lambda: hu.Net(input=(1,) * 9), hu.ShapeError, "at most 8"),
        (lambda: hu.Net(input=3), TypeError, ""),
        (lambda: hu.Net(input="ab"), TypeError, ""),
        (lambda: net.save("/none/x.yaml"), hu.Error, ""),
    ):
        with pytest.raises(kind, match=part or None):
            call()
    h = net.global_avg_pool(net.conv2d(net.input, 16, 3, name="conv"), name="pool")
    net.head(net.linear(net.flatten(h), 10))
    net.save(tmp_path / "sound.yaml")
    assert "conv: conv2d input out=16 kernel=3" in (tmp_path / "sound.yaml").read_text()
    with pytest.raises(AttributeError):
        net.conv3d(net.input)


def test_files_that_are_refused(tmp_path):
    path = tmp_path / "n.yaml"
    for text, kind in (
        ("nodes: [", hu.ParseError),
        ("halfulp_network: 2\n", hu.VersionError),
        (WRITTEN.replace("head: fc", "heat: fc"), hu.Error),
    ):
        path.write_text(text)
        with pytest.raises(kind, match="n.yaml"):
            hu.Net.load(path)
    path.write_text(WRITTEN.replace("relu bn1", "rely bn1"))
    with pytest.raises(hu.UnknownNameError, match="'rely', nearest: 'relu'"):
        hu.train(model=path, data="glyphs")
    with pytest.raises(hu.MissingError):
        hu.Net.load(tmp_path / "none.yaml")
