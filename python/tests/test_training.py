import copy
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import halfulp as hu
from halfulp._ffi import lib

SIX = [
    {"precision": "fp32"},
    {"precision": "hfp8", "seed": 3},
    {"precision": "mxfp8", "lr": 0.05},
    {"accumulator": "fmac8:1/6/9", "lr_schedule": "constant", "data_shuffle": False},
    {"precision_rules": ["act: e5m2 sr"], "optimizer": "adamw"},
    {"model": "cnn-s", "model_width": 0.5, "scaler": "dynamic", "precision": "fp16"},
]


@pytest.fixture
def data():
    return hu.Dataset.open("glyphs", limit=256, test_limit=64)


def keys_of(small, more=None):
    keys = {k: v for k, v in small.items() if not k.startswith("data") and k != "model"}
    return {**keys, **(more or {})}


def net_of(classes=4, name="fc"):
    net = hu.Net(input=(6, 6, 2), classes=classes)
    h = net.relu(net.conv2d(net.input, 8, kernel=3, pad=1, name="conv1"))
    net.head(net.linear(net.flatten(h), classes, name=name))
    return net


def made(samples=8, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((samples, 6, 6, 2)).astype(np.float32)
    return x, rng.integers(0, classes, samples)


def small_trainer(**more):
    keys = {"precision": "hfp8", "batch": 8, "steps": 6, "threads": 1, **more}
    return hu.Trainer(net_of(), **keys)


# ---- bits ----


@pytest.mark.parametrize("more", SIX, ids=lambda k: " ".join(map(str, k)))
def test_the_bits_are_the_programs(small, more):
    """From the data set's own samples, and pushed batch by batch."""
    run = hu.train(**{**small, **more}, run_dir="py")
    named = {**small, **more}
    with hu.Trainer(named.pop("model"), named.pop("data"), **named) as own:
        steps = [own.step() for _ in range(own.steps)]
        assert own.hash == run.hash
        metric, _ = own.test()
        assert metric == run.result["test_accuracy"]
    data = hu.Dataset.open("glyphs", limit=256, test_limit=64)
    named = {k: v for k, v in named.items() if k not in ("data_limit", "data_test_limit")}
    with hu.Trainer("cnn-s", data, **named) as pushed:
        seed = more.get("seed", 1)
        order = (
            data.batches(32, seed=seed) if "data_shuffle" not in more else _in_order(data, 32, seed)
        )
        for step, (x, y) in zip(steps, order):
            assert pushed.step(x, y) == step
        assert pushed.hash == run.hash


def _in_order(data, size, seed):
    """Training samples as they lie, with the augmentation of the epoch."""
    from halfulp._ffi import ffi, lib

    settings = ffi.new("hu_loader_settings *", {"seed": seed, "window": size})
    settings.augment = data._c.augment
    made = ffi.new("hu_loader **")
    assert lib.hu_loader_create(data._c, lib.HU_SPLIT_TRAIN, settings, made) == 0
    return data._walk(ffi.gc(made[0], lib.hu_loader_close), size)


def test_a_folder_is_that_of_the_program(small, data):
    run = hu.train(**small, precision="hfp8", run_dir="a")
    named = dict(small)
    with hu.Trainer(
        named.pop("model"), named.pop("data"), **named, precision="hfp8", run_dir="b"
    ) as trainer:
        for _ in range(3):
            trainer.step()
        assert trainer.why("conv1.out")["verdict"] == "fine"
        with pytest.raises(hu.UnknownNameError, match=r"conv1\.out"):
            trainer.why("conv1.outs")
    assert trainer.run.path == "b"
    with hu.Trainer.reopen("b") as trainer:
        assert trainer.steps_done == 3
        while trainer.steps_done < trainer.steps:
            trainer.step()
    again = hu.Run("b")
    assert again.hash == run.hash and again.result["test_accuracy"] == run.result["test_accuracy"]
    assert again.why()["verdict"] == "fine"
    with small_trainer() as other, pytest.raises(hu.ArgumentError, match="run_dir"):
        other.run.why()


def test_a_finished_run_keeps_its_result(small):
    def result():
        of_process = ("images_per_second", "train_seconds", "peak_rss_bytes")
        return {k: v for k, v in hu.Run("a").result.items() if k not in of_process}

    run = hu.train(**small, precision="hfp8", run_dir="a")
    expected = result()
    with hu.Trainer.reopen("a") as trainer:
        assert result() == expected and trainer.hash == run.hash
        with pytest.raises(hu.ArgumentError, match="finished"):
            trainer.step()
    assert result() == expected
    with hu.Trainer.reopen("a", steps=8) as trainer:
        assert trainer.steps_done == 6 and not hu.Run("a").result
        trainer.step()
        trainer.step()
        assert trainer.run.result["steps"] == 8


def test_a_named_run_has_a_folder(small):
    named = {**small, "steps": 1, "run_name": "named"}
    model, data = named.pop("model"), named.pop("data")
    for folder in ("runs/named", "runs/named-1"):
        with hu.Trainer(model, data, **named) as trainer:
            trainer.step()
            assert trainer.run.path == folder and trainer.why()["verdict"] == "fine"
        assert trainer.run.result["steps"] == 1


def test_saved_states_go_on_to_the_same_bits(tmp_path):
    batches = [made(seed=i) for i in range(6)]
    with small_trainer() as whole:
        for i, batch in enumerate(batches):
            if i == 3:
                whole.save(tmp_path / "ck")
            whole.step(*batch)
        expected = whole.hash
    with small_trainer() as resumed:
        resumed.resume(tmp_path / "ck")
        assert resumed.steps_done == 3
        for batch in batches[3:]:
            resumed.step(*batch)
        assert resumed.hash == expected
    with small_trainer(seed=7) as other, pytest.raises(hu.ArgumentError, match="seed"):
        other.resume(tmp_path / "ck")
    with small_trainer() as other, pytest.raises(hu.MissingError):
        other.resume(tmp_path / "nowhere")


def test_batches_of_any_size_and_kind():
    x, y = made()
    with small_trainer() as a, small_trainer() as b:
        first = a.step(x[:5], y[:5])
        strided = np.asfortranarray(np.repeat(x.astype(np.float16), 2, axis=0))[::2]
        assert first.samples == 5 and b.step(x[:5], y[:5].reshape(5, 1).tolist()) == first
        half = a.step(x.astype(np.float16).astype(np.float32), y)
        assert b.step(strided, y.astype(np.uint8)) == half
        third = a.step({"image": x, "label": y})
        assert b.step(image=x, label=y) == third
        assert a.step((x, y)) == b.step([x, y])
        assert a.hash == b.hash


def test_predictions_of_any_number_behind_a_new_plan(data):
    """A promotion plans anew between the step and a prediction; oneDNN is told of sizes before."""
    keys = {"batch": 32, "steps": 8, "threads": 1, "lr_base": 5, "products": "onednn"}
    with hu.Trainer("cnn-s", data, precision="hfp8+promote", **keys) as trainer:
        promoted = []
        for i, (x, y) in enumerate(data.batches(32)):
            promoted.append(trainer.step(x * np.float32(1 if i < 2 else 1e4), y).promoted)
            first = trainer.predict(x[: 7 + i])
            assert np.array_equal(first, trainer.predict(x)[: 7 + i], equal_nan=True)
    assert len(set(promoted)) > 2


# ---- tensors ----


def test_numbers_of_tensors():
    x, y = made()
    with small_trainer() as trainer:
        trainer.watch("input", "conv1.out*", "fc.*.grad")
        before = trainer.weights()
        trainer.step(x, y)
        tensors = trainer.tensors
        out, out_grad = tensors["conv1.out"], tensors["conv1.out.grad"]
        assert out.shape == (6, 6, 8) and out.has_samples and out.role == "activation"
        assert trainer.tensor("conv1.out").shape == (8, 6, 6, 8)
        raw = trainer.tensor("conv1.out", rounded=False)
        quantization = hu.Quantization(out.format)
        assert np.array_equal(quantization.round(raw), trainer.tensor("conv1.out"))
        raw, counts = trainer.tensor("conv1.out.grad", rounded=False), trainer.counts(out_grad.name)
        _, expected = hu.Quantization(out_grad.format).round(raw, counts=True)
        assert counts == expected
        assert np.array_equal(trainer.tensor("input", rounded=False), x)
        bias = trainer.tensor("fc.out.grad").astype(np.float64).sum(axis=0)
        assert np.allclose(bias, trainer.tensor("fc.bias.grad", rounded=False), rtol=1e-2)
        copied = hu.Quantization(tensors["conv1.weight"].format).round(before["conv1.weight"])
        assert np.array_equal(trainer.tensor("conv1.weight"), copied)
        assert not np.array_equal(trainer.tensor("conv1.weight", rounded=False), before)
        assert set(trainer.counts()) == set(tensors)
        with pytest.raises(hu.ArgumentError, match="watch"):
            trainer.tensor("relu1.out")
        with pytest.raises(hu.UnknownNameError, match=r"'conv1\.out'"):
            trainer.tensor("conv1.outs")
        with pytest.raises(hu.UnknownNameError, match=r"'conv1\.out'"):
            trainer.watch("conv1.outs")
        with pytest.raises(hu.DtypeError):
            trainer.watch(7)
        trainer.watch("relu1.out")  # of a step that was made before, nothing was kept
        with pytest.raises(hu.ArgumentError, match="no step since it is watched"):
            trainer.tensor("relu1.out")
        trainer.step(x[:3], y[:3])
        assert trainer.tensor("relu1.out").any() and len(trainer.tensor("conv1.out")) == 3
        trainer.unwatch()
        with pytest.raises(hu.ArgumentError, match="watch"):
            trainer.tensor("conv1.out")


def test_an_error_in_another_thread_keeps_its_words():
    """The message of a failure is the calling thread's."""
    found = []

    def ask():
        try:
            hu.Trainer("cnn-x")
        except hu.UnknownNameError as error:
            found.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all("cnn-x" in text for text in found)


def test_weights_in_and_out(tmp_path):
    x, y = made()
    with small_trainer() as a, small_trainer(seed=9) as b:
        a.step(x, y)
        assert a.hash != b.hash
        b.set_weights(a.weights())
        assert a.hash == b.hash
        assert np.array_equal(a.predict(x), b.predict(x)) and a.loss(x, y) == b.loss(x, y)
        assert a.predict(x[:3]).shape == (3, 4)
        with pytest.raises(hu.ShapeError, match=r"fc\.bias: found shape \(3,\), expected \(4,\)"):
            b.set_weights({"conv1.weight": np.zeros((8, 3, 3, 2)), "fc.bias": np.zeros(3)})
        assert a.hash == b.hash
        with pytest.raises(hu.UnknownNameError):
            b.set_weights({"fc.bia": np.zeros(4)})
        a.export(tmp_path / "w.safetensors")
        header = (tmp_path / "w.safetensors").read_bytes()
        assert b"conv1.weight" in header[: 8 + int.from_bytes(header[:8], "little")]
        assert a.bytes() > a.bytes("masters") > 0
        with pytest.raises(hu.UnknownNameError, match="masters"):
            a.bytes("master")


def test_arrays_are_a_data_set():
    x, y = made(20)
    fields = [hu.Field("image", (6, 6, 2)), hu.Field("label", classes=4)]
    data = hu.Dataset(fields, {"image": x, "label": y}, {"image": x[:6], "label": y[:6]})
    assert (data.samples, data.test_samples) == (20, 6) and "20 samples" in repr(data)
    seen = np.concatenate([b[0] for b in data.batches(8)])
    assert sorted(map(bytes, seen)) == sorted(map(bytes, x))
    keys = {"batch": 8, "steps": 5, "threads": 1}
    with (
        hu.Trainer(net_of(), data, **keys) as own,
        small_trainer(precision="fp32", samples=20, **keys) as pushed,
    ):
        for epoch in range(2):
            for batch in data.batches(8, epoch=epoch):
                if own.steps_done < own.steps:
                    assert own.step() == pushed.step(*batch)
        assert own.hash == pushed.hash
        metric, loss = own.test()
        right = own.predict(x[:6]).argmax(1) == y[:6]
        assert metric == right.mean() and loss == own.loss(x[:6], y[:6])
        with pytest.raises(hu.MissingError, match="without the samples"):
            pushed.test()


def test_a_data_set_outlives_its_batches(monkeypatch):
    """Threads of a loader read from files until it is closed."""
    order = []

    class Recorder:
        def __getattr__(self, name):
            found = getattr(lib, name)
            if not name.endswith("_close"):
                return found
            return lambda c: (order.append(name), found(c))[1]

    monkeypatch.setattr("halfulp.data.lib", Recorder())
    batches = hu.Dataset.open("glyphs", limit=64, test_limit=8).batches(16)
    next(batches)
    gc.collect()
    assert order == []
    del batches
    gc.collect()
    assert order == ["hu_loader_close", "hu_dataset_close"]


# ---- bad input ----


def test_what_is_left_behind_a_divergence(tmp_path):
    x, y = made()
    nowhere = np.full_like(x, np.nan)
    fields = [hu.Field("image", (6, 6, 2)), hu.Field("label", classes=4)]
    data = hu.Dataset(fields, 48, {"image": x, "label": y})
    keys = {"batch": 8, "steps": 6, "threads": 1, "precision": "hfp8", "scaler": "none"}
    with hu.Trainer(net_of(), data, **keys) as alone:
        before = alone.hash
        with pytest.raises(hu.NonFiniteError, match="step 0: non-finite numbers first in input"):
            alone.step(nowhere, y)
        assert alone.steps_done == 1 and alone.hash == before
        assert alone.step(x, y).step == 1 and alone.hash != before
    with hu.Trainer(net_of(), data, **keys, run_dir=tmp_path / "r") as kept:
        with pytest.raises(hu.NonFiniteError, match="first in input"):
            kept.step(nowhere, y)
        assert kept.run.diverged and kept.why()["verdict"] == "diverged"
        with pytest.raises(hu.ArgumentError, match="the training has ended after 1 steps"):
            kept.step(x, y)
        assert kept.predict(x).shape == (8, 4) and kept.hash == before


@pytest.mark.parametrize(
    ("batch", "error", "word"),
    [
        (lambda x, y: (x[0], y), hu.ShapeError, "expected \\(samples, 6, 6, 2\\)"),
        (lambda x, y: (x, y[:3]), hu.ShapeError, "found 3 samples, expected 8"),
        (lambda x, y: (np.concatenate([x, x]), np.concatenate([y, y])), hu.ShapeError, "1 to 8"),
        (lambda x, y: (x[:0], y[:0]), hu.ShapeError, "found 0 samples"),
        (lambda x, y: (x,), hu.ArgumentError, "'label'"),
        (lambda x, y: (x, y, y), hu.ShapeError, "found 3 arrays"),
        (lambda x, y: ({"image": x, "labels": y},), hu.ArgumentError, "'labels'"),
        (lambda x, y: (x.astype(complex), y), hu.DtypeError, "complex"),
        (lambda x, y: (x.astype(object), y), hu.DtypeError, "object"),
        (lambda x, y: ("image", y), hu.ShapeError, "image"),
        (lambda x, y: (x.astype(np.float64) + 1e-12, y), hu.ArgumentError, "float32"),
        (lambda x, y: (x, y.astype(np.int64) + 2**40), hu.ArgumentError, "2\\*\\*24"),
        (lambda x, y: (None, y), hu.ArgumentError, "'image'"),
    ],
)
def test_what_cannot_be_a_batch(batch, error, word):
    x, y = made()
    with small_trainer() as trainer:
        before = trainer.hash
        with pytest.raises(error, match=word):
            trainer.step(*batch(x, y))
        assert trainer.hash == before and trainer.steps_done == 0
        trainer.step(x, y)


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A text as samples of tokens."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("the grey fox sees a blue fox " * 200)
    return hu.Dataset.open("text:words.txt", limit=24, test_limit=4)


def text_trainer(words, **more):
    keys = {"batch": 4, "steps": 4, "threads": 2, "model_width": 0.125, **more}
    return hu.Trainer("transformer-lm-s", words, **keys)


@pytest.mark.parametrize("more", [{}, {"optimizer_accumulate": 2}, {"run_dir": "kept"}])
@pytest.mark.parametrize("precision", ["fp32", "e4m3:scale=delayed"])
def test_a_token_without_a_row_changes_nothing(words, more, precision):
    """Found in the last sample, behind parts that could have run."""
    batches = list(words.batches(4))
    alone = {key: value for key, value in more.items() if key != "run_dir"}
    with (
        text_trainer(words, precision=precision, **more) as trainer,
        text_trainer(words, precision=precision, **alone) as plain,
    ):
        assert trainer.step(*batches[0]) == plain.step(*batches[0])
        wrong, targets = batches[1][0].copy(), batches[1][1]
        wrong[3, 5] = 256
        counts = trainer.counts()
        for call in (trainer.step, trainer.predict):
            with pytest.raises(hu.ArgumentError, match="sample 3 of the batch, place 5: found 256"):
                call(wrong, targets)
        assert trainer.counts() == counts and trainer.steps_done == 1
        for batch in batches[1:4]:
            assert trainer.step(*batch) == plain.step(*batch)
        assert trainer.hash == plain.hash


def test_a_step_without_samples_does_not_end_a_run(tmp_path):
    x, y = made()
    fields = [hu.Field("image", (6, 6, 2)), hu.Field("label", classes=4)]
    data = hu.Dataset(fields, 16, {"image": x, "label": y})
    with hu.Trainer(net_of(), data, batch=8, steps=2, run_dir=tmp_path / "r") as trainer:
        for _ in range(2):
            with pytest.raises(hu.MissingError, match="without the samples"):
                trainer.step()
            trainer.step(x, y)
        assert trainer.run.result["steps"] == 2


def test_labels_out_of_range_name_themselves():
    x, y = made()
    with small_trainer(scaler="none") as trainer, pytest.raises(hu.NonFiniteError, match="label"):
        trainer.step(x, y + 4)


def test_what_cannot_be_a_trainer(tmp_path, data):
    x, _ = made()
    with pytest.raises(hu.ArgumentError, match="batch= and steps="):
        hu.Trainer(net_of())
    with pytest.raises(hu.UnknownNameError, match="'precision'"):
        small_trainer(precison="hfp8")
    with pytest.raises(hu.DtypeError, match="Dataset"):
        hu.Trainer("cnn-s", 7)
    with pytest.raises(hu.ShapeError):
        hu.Trainer(net_of(), data, batch=8, steps=2)
    with pytest.raises(hu.MissingError, match="without the samples"):
        small_trainer(run_dir=tmp_path / "r")
    named = hu.Trainer("cnn-s", "glyphs", data_limit=64, steps=1, threads=1)
    with pytest.raises(hu.ArgumentError, match=r"Dataset\.open"):
        named.step(x, x)
    named.close()
    with pytest.raises(hu.ShapeError, match="1 extents|5 extents"):
        hu.Dataset([hu.Field("image", (1,) * 5)], 4)
    with pytest.raises(hu.ArgumentError, match="'label'"):
        hu.Dataset([hu.Field("image", (2,)), hu.Field("label")], {"image": np.zeros((3, 2))})


def test_a_closed_trainer_says_so():
    x, y = made()
    trainer = small_trainer()
    trainer.close()
    trainer.close()
    assert repr(trainer) == "Trainer(closed)"
    for call in (
        lambda: trainer.step(x, y),
        lambda: trainer.step(),
        lambda: trainer.hash,
        lambda: trainer.test(),
        lambda: trainer.predict(x),
        lambda: trainer.weights(),
        lambda: trainer.watch("fc.out"),
        lambda: trainer.counts("fc.out"),
        lambda: trainer.save("x"),
        lambda: trainer.bytes(),
    ):
        with pytest.raises(hu.ArgumentError, match="closed"):
            call()


def test_trainers_are_not_copied():
    with small_trainer() as trainer:
        for act in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(hu.DtypeError, match="save"):
                act(trainer)


def test_two_threads_in_one_trainer_are_refused():
    data = hu.Dataset.open("glyphs", limit=512, test_limit=32)
    with hu.Trainer("resnet20", data, batch=128, steps=4, threads=1) as trainer:
        expected, found = [], []
        thread = threading.Thread(target=lambda: expected.append(trainer.step()))
        thread.start()
        while thread.is_alive():
            try:
                trainer.bytes()
            except hu.ArgumentError as error:
                found.append(str(error))
            time.sleep(0.001)
        thread.join()
        assert expected[0].step == 0
        assert found and all("another thread" in text for text in found)
        assert trainer.step().step == 1


def _in_a_fork(trainer, queue):
    try:
        trainer.step()
    except hu.ArgumentError as error:
        queue.put(str(error))
    trainer.close()


def test_a_fork_leaves_the_trainer_alone(tmp_path):
    """Neither does it train, nor does its end touch the folder of the run."""
    folder = tmp_path / "run"
    trainer = hu.Trainer(
        "cnn-s", "glyphs", data_limit=64, data_test_limit=16, batch=16, steps=3, threads=2,
        run_dir=folder,
    )  # fmt: skip
    trainer.step()
    listed = sorted(os.listdir(folder))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_fork, args=(trainer, queue))
    child.start()
    text = queue.get(timeout=60)
    child.join(timeout=60)
    assert child.exitcode == 0 and "in its fork" in text
    assert sorted(os.listdir(folder)) == listed
    assert trainer.step().step == 1
    trainer.close()
    assert hu.Trainer.reopen(folder).steps_done == 2


SPAWNED = """
import sys
import numpy as np
import halfulp as hu
sys.path.insert(0, sys.argv[1])
from test_training import made, small_trainer
with small_trainer() as trainer:
    trainer.step(*made())
    print(trainer.hash)
"""


def test_a_new_process_has_the_same_bits(tmp_path):
    with small_trainer() as trainer:
        trainer.step(*made())
        expected = trainer.hash
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(
        [sys.executable, "-c", SPAWNED, here], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected


def test_an_interrupt_in_a_step_comes_after_it():
    data = hu.Dataset.open("glyphs", limit=256, test_limit=32)
    keys = {"batch": 128, "steps": 3, "threads": 2, "precision": "hfp8"}
    with hu.Trainer("resnet20", data, **keys) as whole:
        for _ in range(3):
            whole.step()
        expected = whole.hash
    with hu.Trainer("resnet20", data, **keys) as trainer:
        main = threading.main_thread().ident
        timer = threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            for _ in range(3):
                trainer.step()
            time.sleep(5)
        timer.join()
        while trainer.steps_done < 3:
            trainer.step()
        assert trainer.hash == expected


def test_a_run_of_another_version_is_refused(small):
    named = dict(small)
    with hu.Trainer(named.pop("model"), named.pop("data"), **named, run_dir="v") as trainer:
        trainer.step()
    files = [os.path.join("v/checkpoint", name) for name in os.listdir("v/checkpoint")]
    assert files
    for path in files:
        with open(path, "r+b") as file:
            file.seek(8)  # docs/reference/checkpoint-format.md: the version
            file.write((99).to_bytes(4, "little"))
    with pytest.raises(hu.VersionError, match="99"):
        hu.Trainer.reopen("v")
    with open("v/config.resolved.yaml", "a") as file:
        file.write("nonsense: {deeper: 1}\n")
    with pytest.raises(hu.Error, match="nonsense"):
        hu.Trainer.reopen("v")
    with pytest.raises(hu.MissingError):
        hu.Trainer.reopen("nowhere")
