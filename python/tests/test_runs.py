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
    assert "cnn-s" in run._repr_html_() and run.hash in run._repr_html_()
    with pytest.raises(hu.MissingError, match="expected a run"):
        hu.Run("nowhere")


def test_answers_say_what_the_program_does(small, program):
    run = hu.train(**small, precision="hfp8", run_dir="a")
    why = run.why()
    assert isinstance(why, dict) and why.verdict == why["verdict"] == "fine"
    assert why.text == program("why", "a")[1] and str(why) == why.text
    assert "<pre>" in why._repr_html_() and _rows(why.losses) == []
    assert hu.why("a", "*.grad")["run"] == "a"
    stats = run.stats(format=["fp16", "1/6/9"])
    assert stats.text == program("stats", "a", "format=fp16,1/6/9")[1]
    layers = _rows(stats.layers)
    assert {row["format"] for row in layers} == {"as counted", "fp16", "1/6/9"}
    assert {row["part"] for row in layers} == {"input", "weight", "gradient"}
    shares = [row for row in _rows(stats.exponents) if row["kind"] == "weights"]
    assert 0.99 < sum(row["share"] for row in shares) <= 1


def test_the_files_of_a_run(small):
    run = hu.train(**small, precision="hfp8", run_histogram_every=2, run_dir="a")
    tensors = _rows(run.tensors)
    fc = [row for row in tensors if row["name"] == "fc.weight"]
    assert [row["step"] for row in fc] == [0, 5] and fc[0]["format"] == "fp(4,3,4)"
    assert fc[0]["elements"] == 640 and fc[1]["elements"] == 640 * fc[1]["steps"]
    events = _rows(run.events)
    assert events[0]["event"] == "start" and events[-1]["event"] == "end"
    seen = run.exponents()
    assert seen["fc.weight"].elements == 640 and list(seen)[0] == "input"
    assert list(run.exponents("fc.*", step=0)) == [n for n in seen if n.startswith("fc.")]
    assert run.exponents("fc.weight", step=3) != run.exponents("fc.weight", step=1)
    assert run.exponents("fc.weight", step=3) == run.exponents("fc.weight", step=2)
    whole = run.exponents("conv1.out")["conv1.out"]
    with open("a/histograms.jsonl") as file:
        last = json.loads(file.read().splitlines()[-1])
    row = next(row for row in last["tensors"] if row[0] == "conv1.out")
    assert [whole.counts.get(row[4] + i, 0) for i in range(len(row[5]))] == row[5]
    assert (whole.elements, whole.zeros, whole.largest) == (row[1], row[2], row[6])
    assert run.plan["conv1.weight"].value == "fp(4,3,4)"
    assert run.graph["values"][0]["name"] == "input"
    with pytest.raises(hu.UnknownNameError, match="expected one of: input"):
        run.exponents("nothing.*")
    with pytest.raises(hu.MissingError, match="a step up to -1"):
        run.exponents(step=-1)


def test_verbs_of_a_run(small, tmp_path):
    run = hu.train(**small, run_dir="a")
    assert run.evaluate()["test_accuracy"] == run.result["test_accuracy"]
    assert len(run.predict()["predictions"]) == 10
    assert run.export("w.safetensors") == "w.safetensors" and os.path.exists("w.safetensors")
    assert run.report() == "a/report.html" and run.report("t.csv") == "t.csv"
    assert hu.report(run, "a", out=tmp_path / "r.html") == str(tmp_path / "r.html")
    listed = _rows(hu.list_runs("."))
    assert [row["run"] for row in listed] == ["./a"] and listed[0]["state"] == "finished"
    with pytest.raises(hu.Error, match="section"):
        run.report("c.svg", section="nothing")
    with pytest.raises(hu.Error):
        hu.report()


def _cut(path, keep):
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(keep(data))


def test_half_a_folder(small):
    """What is missing, torn or of another version is told; a torn last line is none."""
    run = hu.train(**small, run_dir="a", run_histogram_every=1)
    whole = [_rows(run.metrics), _rows(run.tensors), _rows(run.events)]
    for name in ("metrics.csv", "numerics.jsonl", "progress.jsonl", "histograms.jsonl"):
        _cut(f"a/{name}", lambda data: data[:-3])
    assert [row["loss"] for row in _rows(run.metrics)] == [row["loss"] for row in whole[0][:-1]]
    assert [row["time"] for row in _rows(run.events)] == [row["time"] for row in whole[2][:-1]]
    assert len(_rows(hu.Run("a").tensors)) < len(whole[1])
    assert run.exponents("fc.weight") == run.exponents("fc.weight", step=4)

    def fails(kind, part, read):
        with pytest.raises(kind) as caught:
            read(hu.Run("a"))
        assert part in str(caught.value)

    _cut("a/numerics.jsonl", lambda data: data.replace(b'"steps"', b'"steps', 1))
    fails(hu.CorruptError, "a/numerics.jsonl:1: found", lambda r: r.tensors)
    _cut("a/numerics.jsonl", lambda data: b'{"step": 0, "tensors": [["x", "fp16"]]}\n')
    fails(hu.VersionError, "found a tensor of 2 columns, expected 13", lambda r: r.tensors)
    _cut("a/histograms.jsonl", lambda data: b'{"step": 0, "tensors": [["x", 3]]}\n')
    fails(hu.VersionError, "2 columns, expected 6 or more", lambda r: r.exponents())
    _cut("a/metrics.csv", lambda data: data.split(b"\n")[0] + b"\n1,2\n")
    fails(hu.CorruptError, "a/metrics.csv:2: found 2 cells, expected 12", lambda r: r.metrics)
    _cut("a/plan.resolved.yaml", lambda data: data.replace(b"plan: 1", b"plan: 2"))
    fails(hu.VersionError, "found halfulp_plan '2', expected 1", lambda r: r.plan)
    _cut("a/result.json", lambda data: data[: len(data) // 2])
    fails(hu.CorruptError, "a/result.json", lambda r: r.result)
    _cut("a/config.resolved.yaml", lambda data: data + b"later_key: 1\n")
    fails(hu.UnknownNameError, "later_key", lambda r: r.resume(steps=9))
    for name in ("metrics.csv", "numerics.jsonl", "plan.resolved.yaml", "graph.json"):
        os.remove(f"a/{name}")
    fails(hu.MissingError, "found no metrics.csv", lambda r: r.metrics)
    fails(hu.MissingError, "found no numerics.jsonl", lambda r: r.tensors)
    fails(hu.MissingError, "found no plan.resolved.yaml", lambda r: r.plan)
    fails(hu.MissingError, "found no graph.json", lambda r: r.graph)


def test_a_checkpoint_of_another_version(small):
    hu.train(**small, run_dir="a")
    name = next(n for n in os.listdir("a/checkpoint") if n.endswith(".hulp"))
    for other in os.listdir("a/best"):
        os.remove(f"a/best/{other}")

    def another(data):
        at = data.index(b"HULP") + 4 if b"HULP" in data[:16] else 8
        return data[:at] + bytes([data[at] + 1]) + data[at + 1 :]

    _cut(f"a/checkpoint/{name}", another)
    with pytest.raises((hu.VersionError, hu.CorruptError), match="found .*expected"):
        hu.resume("a", steps=9)


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
    assert found.path == "c" and found.metric == "accuracy" and found.failed == []
    again = hu.Comparison.load("c")
    assert _rows(again.rows) == rows and again.result == found.result
    assert "w=e5m2,act=fp16" in found._repr_html_()
    assert found.report("c.tex") == "c.tex" and hu.report(found) == "c/report.html"
    with open("c/compare.json", "w") as file:
        file.write('{"kind": "assign"}')
    for folder, kind in (("c", hu.VersionError), ("one", hu.MissingError)):
        with pytest.raises(kind, match="found no"):
            hu.Comparison.load(folder)


def test_assign(small):
    keys = {**small, "model_width": 0.25, "steps": 4, "seeds": [1], "run_dir": "s"}
    found = hu.assign("memory:0.35", **keys, assign_rungs=1)
    assert found.path == "s" and found.meets_budget and found.result["memory_share"] <= 0.35
    assert _rows(found.candidates)[0]["size"] > 0
    groups = _rows(found.groups)
    assert [row["group"] for row in groups] == list(range(len(groups))) and groups[0]["saves"] > 0
    assert "chosen" in found._repr_html_() and found.result["chosen"] in repr(found)
    again = hu.Assignment.load("s")
    assert again.result == found.result and again.plan == found.plan
    assert "fp(4,3,4)" in {row["value"] for row in _rows(found.plan.tensors)}
    run = hu.train(**{**keys, "seeds": None, "run_dir": "r"}, precision=found.plan)
    assert run.plan == found.plan
    keys = {**keys, "precision_low": "act=fp(2,5,2),w=fp(2,5,2),grad=fp(5,2,0)", "run_dir": "m"}
    missed = hu.assign("memory:0.2505", **keys, assign_rungs=1, assign_random=0)
    assert not missed.meets_budget and "misses its budget" in repr(missed)
    with pytest.raises(hu.Error, match="budget"):
        hu.assign("memory", **keys)


def _processes(*words):
    """Numbers of the processes below this folder whose command has all of these words."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                command = file.read()
            is_here = os.readlink(f"/proc/{pid}/cwd") == os.getcwd()
        except OSError:
            continue
        if is_here and all(word in command for word in words):
            yield int(pid)


def test_a_row_that_fails_is_told(small):
    keys = {**small, "precision": ["fp32", "e5m2"], "steps": 3000, "run_dir": "c"}

    def kill():
        until = time.monotonic() + 60
        while not os.path.exists("c/fp32-s1/metrics.csv") and time.monotonic() < until:
            time.sleep(0.01)
        for pid in _processes("c/fp32-s1", "train"):
            os.kill(pid, signal.SIGKILL)
        while not os.path.exists("c/e5m2-s1/metrics.csv") and time.monotonic() < until:
            time.sleep(0.01)
        for pid in _processes("c/e5m2-s1", "train"):
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.warns(RuntimeWarning, match="2 rows failed, see log.txt in: c/fp32-s1 c/e5m2-s1"):
        found = hu.compare(**keys)
    thread.join()
    assert found.failed == ["c/fp32-s1", "c/e5m2-s1"] and "2 failed" in repr(found)
    assert ["signal 9" in row["failed"] for row in _rows(found.rows)] == [True, True]


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


@pytest.mark.parametrize("progress", [False, True], ids=["silent", "bar"])
def test_ctrl_c_saves(small, heeded, progress, capsys):
    """The signal reaches Python alone, as in a notebook."""
    if progress:
        pytest.importorskip("tqdm")
    keys = {**small, "data_limit": 4096, "steps": 20_000, "run_dir": "i", "progress": progress}

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
    assert (
        not any("halfulp" in t.name for t in threading.enumerate())
        and ("/20000" in capsys.readouterr().err) == progress
    )
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
