import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import halfulp as hu


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"precision": "fp32"}, ["precision=fp32"]),
        ({"precision": "hfp8", "seed": 3}, ["precision=hfp8", "seed=3"]),
        ({"precision": "mxfp8", "lr": 0.05}, ["precision=mxfp8", "lr=0.05"]),
        (
            {"accumulator": "fmac8:1/6/9", "lr_schedule": "constant", "data_shuffle": False},
            ["accumulator=fmac8:1/6/9", "lr.schedule=constant", "data.shuffle=off"],
        ),
        (
            {"precision_rules": ["act: e5m2 sr"], "optimizer": "adamw"},
            ['precision.rules=["act: e5m2 sr"]', "optimizer=adamw"],
        ),
        (
            {"model": "cnn-s", "model_width": 0.5, "scaler": "dynamic", "precision": "fp16"},
            ["model.width=0.5", "scaler=dynamic", "precision=fp16"],
        ),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_the_bits_are_the_programs(small, program, keys, words):
    run = hu.train(**{**small, **keys}, run_dir="py")
    usual = ["model=cnn-s", "data=glyphs", "data.limit=256", "data.test_limit=64", "batch=32"]
    code, out, err = program("train", *usual, "steps=6", "threads=1", *words, "run.dir=c", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert len(run.hash) == 16 and run.hash == said["weights_hash"]
    assert run.result["test_accuracy"] == said["test_accuracy"]
    rows = [list(r.values()) for r in _rows(run.metrics)]
    assert [r[0] for r in rows] == [0, 5] and rows[-1][2] > 0
    with open("py/metrics.csv") as mine, open("c/metrics.csv") as other:  # all but the speed
        strip = [[line.split(",")[:8] for line in file] for file in (mine, other)]
    assert strip[0] == strip[1]


def _rows(table):
    return table if isinstance(table, list) else table.to_dict("records")


def test_results_are_objects(small):
    run = hu.train(**small, run_dir="a")
    assert run.path == "a" and not run.diverged and repr(run) == "Run('a')"
    again = hu.Run("a")
    assert again.hash == run.hash and again.result["weights_hash"] == run.hash
    assert run.why()["verdict"] == "fine"
    assert hu.why("a", "*.grad")["run"] == "a"
    assert "run" in run.stats(format=["fp16", "1/6/9"])
    with pytest.raises(hu.MissingError, match="expected a run"):
        hu.Run("nowhere")


def test_without_pandas_there_are_rows(small, monkeypatch):
    run = hu.train(**small, run_dir="a")
    monkeypatch.setitem(sys.modules, "pandas", None)
    rows = run.metrics
    assert isinstance(rows, list) and rows[0]["step"] == 0 and isinstance(rows[0]["loss"], float)
    assert rows[0]["test_accuracy"] is None


def test_a_diverged_training_is_a_result(small):
    run = hu.train(**small, lr=1e6, optimizer_momentum=0.99, steps_=None, run_dir="d")
    assert run.diverged and "non-finite numbers" in run.result["diverged"]
    assert run.why()["verdict"] == "diverged"


def test_resume_goes_on_to_the_same_bits(small):
    whole = hu.train(**{**small, "steps": 9, "lr_schedule": "constant"}, run_dir="whole")
    part = hu.train(**{**small, "steps": 4, "lr_schedule": "constant"}, run_dir="part")
    assert part.hash != whole.hash
    assert part.resume(steps=9).hash == whole.hash
    assert hu.Run("part").result["steps"] == 9


def test_compare(small):
    keys = {**small, "steps": 2}
    found = hu.compare(**keys, precision=["fp32", "w=e5m2,act=fp16"], seeds=[1, 2], run_dir="c")
    rows = _rows(found.rows)
    assert [(r["precision"], r["seed"]) for r in rows] == [
        ("fp32", 1), ("fp32", 2), ("w=e5m2,act=fp16", 1), ("w=e5m2,act=fp16", 2),
    ]  # fmt: skip
    assert rows[0]["weights_hash"] == hu.train(**keys, run_dir="one").hash
    assert len(found.precisions) == 2 and "4 rows" in repr(found)


@pytest.mark.parametrize(
    ("keys", "kind", "part"),
    [
        ({"model": "cnn-x"}, hu.UnknownNameError, "nearest: 'cnn-s'"),
        ({"lr": "abc"}, hu.ParseError, "found 'abc', expected a finite number"),
        ({"lr_schedul": "step"}, hu.Error, "'lr.schedule'"),
        ({"data": "folder:/none"}, hu.MissingError, "/none"),
        ({"lr": float("nan")}, hu.Error, "lr"),
        ({"precision": "e5m2\0"}, hu.ArgumentError, "character"),
        ({"": 1}, hu.Error, ""),
        ({"a=b": 1}, hu.ArgumentError, "character"),
    ],
    ids=str,
)
def test_mistakes_have_the_programs_words(small, keys, kind, part):
    with pytest.raises(kind) as caught:
        hu.train(**{**small, **keys})
    assert part in str(caught.value) and "halfulp:" not in str(caught.value)
    assert not os.path.exists("runs")


def test_what_is_not_in_the_build(small, program):
    if "not in this build" not in program("doctor")[1]:
        pytest.skip("this program has oneDNN")
    with pytest.raises(hu.UnsupportedError, match="expected own, winograd or auto"):
        hu.train(**small, products="onednn")


def test_mistakes_of_runs(small):
    for call, kind in (
        (lambda: hu.resume("nowhere"), hu.Error),
        (lambda: hu.why("nowhere"), hu.Error),
        (lambda: hu.why(7), TypeError),
        (lambda: hu.resume(""), ValueError),
        (lambda: hu.resume("--help"), hu.Error),
    ):
        with pytest.raises(kind):
            call()


@pytest.fixture
def heeded():
    """Programs in the background of a shell are born with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_saves(small, heeded):
    """The signal reaches Python alone, as in a notebook."""
    keys = {**small, "data_limit": 4096, "steps": 20_000, "run_dir": "i"}

    def interrupt():
        until = time.monotonic() + 60
        while not os.path.exists("i/metrics.csv") and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        hu.train(**keys)
    thread.join()
    saved = [name for name in os.listdir("i/checkpoint") if name.startswith("step-")]
    step = max(int(name[5:].split(".")[0]) for name in saved)
    assert step > 0 and hu.Run("i").result == {}
    run = hu.resume("i", steps=step + 3)
    assert run.result["steps"] == step + 3


def test_the_module_is_the_program(program):
    done = subprocess.run(
        [sys.executable, "-m", "halfulp", "fmt", "e5m2"], capture_output=True, text=True, check=True
    )
    assert done.stdout == program("fmt", "e5m2")[1] and "57344" in done.stdout
    code = subprocess.run([sys.executable, "-m", "halfulp", "fmt", "fp61"], capture_output=True)
    assert code.returncode == 2
    assert hu.__version__ in program("--version")[1]
