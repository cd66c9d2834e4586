"""Threads of Python, processes by fork and spawn, copies that are sent to workers, memory."""

import copy
import gc
import multiprocessing
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import halfulp as hu
from reference import bits

X = np.random.default_rng(9).standard_normal((200, 1000)).astype(np.float32)
CALLS = {
    "round": lambda: hu.round(X, "e4m3fn"),
    "sr": lambda: hu.round(X, "e5m2", rounding="sr", key=hu.Key(1, "w", 7)),
    "mxfp8": lambda: hu.round(X, "mxfp8"),
    "uniform8": lambda: hu.Quantization("uniform8").pack(X).unpack(),
    "codes": lambda: hu.decode(hu.encode(hu.round(X, "fp16"), "fp16"), "fp16"),
    "gemm": lambda: hu.gemm(X[:40], X[:40].T, "fmac8:1/6/9", threads=1),
    "gemm2": lambda: hu.gemm(X[:40], X[:40].T, "fmac8:1/6/9", threads=2),
    "exponents": lambda: np.array(sorted(hu.exponents(X, threads=2).counts.items())),
}


# ---- threads ----


def in_threads(work, count):
    """Runs work(i) in so many threads; what one of them raises is raised."""
    raised = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_threads_share_arrays():
    expected = {name: call() for name, call in CALLS.items()}

    def work(i):
        order = list(CALLS)[i % len(CALLS) :] + list(CALLS)[: i % len(CALLS)]
        for name in order:
            np.testing.assert_array_equal(CALLS[name](), expected[name])

    in_threads(work, 12)


def test_messages_are_of_the_thread():
    def work(i):
        for _ in range(200):
            with pytest.raises(hu.UnknownNameError, match=f"'fp6{i}'"):
                hu.Format(f"fp6{i}")

    in_threads(work, 8)


def test_threads_write_parts_of_one_array():
    x, out = X.reshape(-1), np.empty(X.size, np.float32)
    key, part = hu.Key(3, "w"), X.size // 8

    def work(i):
        here = slice(i * part, (i + 1) * part)
        hu.round(x[here], "e5m2", rounding="sr", key=key, out=out[here], first=i * part)

    in_threads(work, 8)
    np.testing.assert_array_equal(bits(out), bits(hu.round(x, "e5m2", rounding="sr", key=key)))


def test_the_gil_is_released():
    """While one thread rounds, another counts."""
    x = np.zeros(1 << 24, np.float32)
    seen, ends = [], threading.Event()

    def count():
        while not ends.is_set():
            seen.append(time.perf_counter())
            time.sleep(0.0002)

    other = threading.Thread(target=count)
    other.start()
    between = []
    for _ in range(10):
        start = time.perf_counter()
        hu.exponents(x, threads=1)
        end = time.perf_counter()
        between.append(sum(start + 0.001 < at < end - 0.001 for at in seen))
    ends.set()
    other.join()
    assert max(between) >= 1


# ---- processes ----


def _work(things):
    """What a worker does with what was sent."""
    fmt, key, quantization, packed, counts, seen = things
    y, more = hu.round(X, fmt, rounding="sr", key=key, counts=True)
    product = hu.gemm(X[:40], X[:40].T, "fmac8:1/6/9", threads=2)
    return (
        y.tobytes(),
        quantization.pack(X),
        packed.unpack().tobytes(),
        counts + more,
        product.tobytes(),
        seen + hu.exponents(X, threads=2),
    )


def _things():
    quantization = hu.Quantization("mxfp8 rz")
    counts = hu.round(X, "e5m2", counts=True)[1]
    key = hu.Key(1, "w", 7)
    return (
        hu.Format("e5m2:ovf=sat"), key, quantization, quantization.pack(X), counts, hu.exponents(X)
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_workers_give_the_same(how):
    things = _things()
    expected = _work(things)  # with two threads, before the processes begin
    with multiprocessing.get_context(how).Pool(2) as pool:
        assert pool.map_async(_work, [things] * 3).get(timeout=120) == [expected] * 3


FORKED = """
import os, sys
import numpy as np, halfulp as hu
x = np.random.default_rng(1).standard_normal((300, 300)).astype(np.float32)
def work():
    total = hu.gemm(x, x, "fmac8:fp16", threads=2).sum() + len(hu.exponents(x, threads=2).counts)
    return float(total + hu.round(x, "mxfp8").sum())
expected = work()
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:  # and a child of a child
        if os.fork() == 0:
            os._exit(0 if work() == expected else 3)
        right = work() == expected and os.waitstatus_to_exitcode(os.wait()[1]) == 0
        os._exit(0 if right else 4)
    children.append(child)
assert work() == expected
assert all(os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) == 0 for c in children)
print("done")
"""


def test_children_of_fork_do_not_hang():
    """A parallel region of OpenMP in a child waits forever for the threads of its parent."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "done\n", done.stderr


INTERRUPTED = """
import sys, time
import numpy as np, halfulp as hu
x = np.random.default_rng(1).standard_normal((700, 700)).astype(np.float32)
print("begins", flush=True)
try:
    while True:
        hu.gemm(x, x, "kahan:fp16", threads=1)
except KeyboardInterrupt:
    print(hu.round([0.1], "e5m2")[0])
"""


def test_an_interrupt_arrives_after_the_call():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "0.09375\n" and process.returncode == 0


# ---- copies ----


@pytest.mark.parametrize("thing", _things(), ids=lambda thing: type(thing).__name__)
def test_copies_are_equal(thing):
    for made in (
        pickle.loads(pickle.dumps(thing)),
        copy.copy(thing),
        copy.deepcopy(thing),
        pickle.loads(pickle.dumps(thing, protocol=2)),
    ):
        assert made == thing and type(made) is type(thing)
        assert repr(made) == repr(thing)
    assert thing != 7 and thing is not None


def test_errors_are_sent_whole():
    with pytest.raises(hu.UnknownNameError) as caught:
        hu.Format("fp61")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is hu.UnknownNameError and str(again) == str(caught.value)


# ---- memory ----

ALL_CALLS = int(os.environ.get("HALFULP_CALLS", "3000"))


def resident():
    """KiB of memory that this process has."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def grows(calls, warm, count):
    """KiB that `count` rounds of calls leave behind, which `warm` rounds before them did not."""
    calls(warm)
    before = resident()
    calls(count)
    after = resident()
    print(f"{count} rounds: {before} KiB before, {after} KiB after")  # pytest -s shows it
    return after - before


def test_nothing_is_left_behind():
    x = np.ones(1000, np.float32)
    square = x[:100].reshape(10, 10)

    def calls(count):
        for _ in range(count):
            hu.round(x, "e4m3fn", counts=True)
            hu.unpack(hu.pack(x, "e2m1"), "e2m1", 1000)
            hu.Quantization("mxfp8").pack(x).unpack()
            hu.decode(hu.encode(x, "e5m2"), "e5m2")
            hu.exponents(x) + hu.exponents(x[::2])
            hu.gemm(square, square, "fmac:fp16")
            hash(hu.Key(1, "w")), hu.Format(exp=4, man=3).max
            with pytest.raises(hu.UnknownNameError):
                hu.Format("fp61")
            with pytest.raises(hu.DtypeError):
                hu.round(object(), "e5m2")

    assert grows(calls, 500, max(ALL_CALLS, 3000)) < 2048  # KiB


def test_texts_that_are_all_different_leave_nothing_behind():
    """What is kept by its text is kept of the last ones alone."""
    x = np.ones((2, 32), np.float32)

    def calls(count):
        for i in range(count):
            fmt = f"e5m{i % 9}:bias={i // 9 % 60 - 10}"
            hu.round(x, fmt)
            hu.gemm(x, x.T, f"fmac:{fmt}")
            hu.Quantization(f"{fmt}:scale=2^{i % 7}").pack(x).unpack()

    assert grows(calls, 1500, max(ALL_CALLS, 3000)) < 2048  # KiB


def test_trainings_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = np.ones((4, 8, 8, 1), np.float32), np.arange(4) % 2
    fields = [hu.Field("image", (8, 8, 1)), hu.Field("label", classes=2)]

    def network():
        net = hu.Net(input=(8, 8, 1), classes=2)
        net.head(net.linear(net.flatten(net.conv2d(net.input, 4, kernel=3)), 2, name="fc"))
        return net

    keys = {"precision": "hfp8", "batch": 4, "threads": 1, "steps": 8}
    rows = {"image": x, "label": y}
    kept = hu.Trainer(network(), hu.Dataset(fields, train=rows, test=rows), run_dir="run", **keys)
    for _ in range(4):
        kept.step(x, y)

    def calls(count):
        for i in range(count):
            data = hu.Dataset(fields, train=rows, test=rows)
            with hu.Trainer(network(), data, **keys) as trainer:
                trainer.watch("fc.out*")
                trainer.step()
                trainer.step(x, y)
                trainer.test(), trainer.weights(), trainer.counts(), trainer.tensor("fc.out.grad")
                with pytest.raises(hu.ShapeError):
                    trainer.step(x[:, :4], y)
                with pytest.raises(hu.UnknownNameError):
                    trainer.tensor("no such")
            with pytest.raises(hu.UnknownNameError):
                hu.Trainer(network(), data, **{**keys, "precision": "fp61"})
            hu.Trainer(network(), data, **keys)  # nobody closes it
            list(data.batches(2))
            next(data.batches(2))  # and nobody reads it to its end
            if i % 4 == 0:
                kept.why("fc.weight"), kept.run.plan.tensors
                with pytest.raises(hu.UnknownNameError):
                    kept.why("no such")

    assert grows(calls, 60, max(ALL_CALLS // 50, 120)) < 2048  # KiB
    kept.close()
