"""The bar of a training: what it shows, and when there is one."""

import json
import os
import re
import sys
import types

import pytest

import halfulp as hu
from halfulp.progress import _Rows, _Training, bar_class, follow


@pytest.fixture
def tqdm():
    return pytest.importorskip("tqdm").tqdm


class Terminal:
    def __init__(self, is_terminal):
        self.isatty = lambda: is_terminal


def test_who_sees_a_bar(monkeypatch, tqdm):
    monkeypatch.setattr(sys, "stderr", Terminal(False))
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert bar_class(None) is None and bar_class(False) is None and bar_class(True) is tqdm
    for shell, expected in (
        (types.SimpleNamespace(kernel=1), tqdm),
        (types.SimpleNamespace(), None),
    ):
        module = types.SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", module)
        assert bar_class(None) is expected
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    assert bar_class(None) is tqdm
    monkeypatch.setattr(sys, "stderr", None)
    assert bar_class(None) is None


def test_without_tqdm(monkeypatch, small):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    assert bar_class(None) is None
    with pytest.raises(hu.UnsupportedError, match="pip install tqdm"):
        hu.train(**small, progress=True)
    assert not os.path.exists("runs")


def test_a_bar_of_steps(small, capfd, tqdm):
    keys = {**small, "data_limit": 1024, "steps": 150, "precision": "hfp8"}
    run = hu.train(**keys, run_dir="a", progress=True)
    shown = capfd.readouterr().err
    assert "cnn-s hfp8" in shown and "150/150" in shown
    assert re.search(r"loss [0-9]\.", shown)  # of whichever step was looked at first
    assert f"accuracy {run.result['test_accuracy']:.4g}" in shown
    plain = hu.train(**keys, run_dir="b", progress=False)
    assert plain.hash == run.hash and capfd.readouterr().err == ""


def test_a_resumed_bar_begins_where_it_was(small, capfd, tqdm):
    keys = {**small, "data_limit": 1024, "steps": 100, "lr_schedule": "constant"}
    run = hu.train(**keys, run_dir="a", progress=False)
    run.resume(steps=300, progress=True)
    lines = capfd.readouterr().err.split("\r")
    steps = [int(line.split("/300")[0].rsplit(" ", 1)[-1]) for line in lines if "/300" in line]
    assert steps and min(steps) >= 100 and max(steps) == 300


def test_a_bar_of_rows(small, capfd, tqdm):
    keys = {**small, "data_limit": 1024, "steps": 60}
    hu.compare(**keys, precision=["fp32", "hfp8"], run_dir="c", progress=True)
    shown = capfd.readouterr().err
    assert "2/2" in shown and "hfp8 seed 1" in shown and "training" in shown and "/60" in shown


def test_what_the_files_say(tmp_path):
    events = tmp_path / "progress.jsonl"
    old = {"event": "start", "time": 5.0, "model": "old", "precision": "x", "step": 0, "steps": 9}
    new = {**old, "time": 50.0, "model": "m", "precision": "p", "step": 3, "steps": 20}
    events.write_text(json.dumps(old) + "\n" + json.dumps(new) + '\nno json\n[1]\n{"event"')
    training = _Training(str(tmp_path), since=40.0)
    training.look()
    assert (training.title, training.step, training.steps) == ("m p", 3, 20)
    (tmp_path / "metrics.csv").write_text("step,epoch,loss\n9,0,1.25\n10,0,")
    training.look()
    assert (training.step, training.note) == (10, "loss 1.25")
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("0.5\nnot,a,row\n")
    training.look()
    assert (training.step, training.note) == (11, "loss 0.5")

    rows = tmp_path / "rows"
    rows.mkdir()
    row = {"event": "row", "time": 50.0, "row": 2, "rows": 4, "label": "b", "run": "x/../../rows/b"}
    start = {"event": "start", "time": 50.0, "verb": "assign", "done": 1}
    (rows / "progress.jsonl").write_text(
        "\n".join(map(json.dumps, (start, {**row, "state": "begins"}))) + "\n"
    )
    many = _Rows(str(rows), since=40.0)
    many.look()
    assert (many.title, many.step, many.steps, many.note) == ("b", 1, 4, "")
    with (rows / "progress.jsonl").open("a") as file:
        file.write(json.dumps({**row, "state": "finished"}) + "\n")
    many.look()
    assert (many.step, many.steps) == (2, 4)


def test_a_process_without_a_folder(tqdm, capfd):
    """Of one that is gone, or not ours, nothing is shown and nothing fails."""
    for pid in (os.getpid(), 2**22 + 1):
        with follow(pid, tqdm):
            pass
    assert capfd.readouterr().err == ""
