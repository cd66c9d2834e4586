"""Every public name, called with whatever there is: no argument ends the process.

The calls are made in processes of their own (every_name.py), so that one that dies is seen and
named. HALFULP_CALLS=100000 makes the long form; HALFULP_FOUND=FILE writes what became of it.
"""

import collections
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import halfulp as hu
from every_name import UNMADE, Misshapen

CALLS = int(os.environ.get("HALFULP_CALLS", "700"))
FOUND = os.environ.get("HALFULP_FOUND")
PART = 2500  # calls of one process
SECONDS = 1800


def _how(code):
    """In words, how a process has ended."""
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _part(first, count, folder):
    """The tally of the calls that follow from a number."""
    folder.mkdir()
    script = Path(__file__).with_name("every_name.py")
    done = subprocess.run(
        [sys.executable, str(script), str(first), str(count)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path))),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        journal = folder / "calls"
        lines = journal.read_text(errors="replace").splitlines() if journal.exists() else []
        raise AssertionError(
            f"the process of part {first} ended {_how(done.returncode)} at call {len(lines)}, "
            f"{lines[-1] if lines else 'none'}\nafter {lines[-4:-1]}\n{done.stderr[-4000:]}"
        )
    return json.loads((folder / "tally.json").read_text())


def test_whatever_is_given(tmp_path):
    outcomes, names = collections.Counter(), collections.Counter()
    wrong, plain, slowest, seconds, made = [], [], [0.0, ""], 0.0, 0
    parts = [min(PART, CALLS - at) for at in range(0, CALLS, PART)]
    for first, count in enumerate(parts):
        tally = _part(first, count, tmp_path / f"part{first}")
        outcomes.update(tally["outcomes"])
        names.update(tally["names"])
        wrong += tally["wrong"]
        plain += tally["plain"]
        slowest = max(slowest, tally["slowest"])
        seconds, made = seconds + tally["seconds"], made + tally["calls"]
    if FOUND:
        found = {
            "calls": made,
            "processes": len(parts),
            "names": len(names),
            "outcomes": dict(outcomes.most_common()),
            "plain": plain,
            "wrong": wrong,
            "slowest": slowest,
            "seconds": seconds,
        }
        Path(FOUND).write_text(json.dumps(found, indent=1))
    assert not wrong, "\n\n".join("\n".join(one) for one in wrong[:9])
    seen = {name.partition(".")[0] for name in names} | {"train", "compare", "assign"}
    assert seen >= set(hu.__all__), set(hu.__all__) - seen
    assert made >= CALLS and slowest[0] < 20, slowest


# ---- what they found ----


@pytest.mark.parametrize("kind", UNMADE, ids=lambda kind: kind.__name__)
def test_objects_that_were_not_made(kind):
    """What is left where __init__ raised: it shows itself, and says what it is when it is used."""
    unmade = kind.__new__(kind)
    assert kind.__name__ in repr(unmade)
    assert not hasattr(unmade, "_repr_png_")
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        _ = unmade.x
    with pytest.raises(hu.ArgumentError, match=f"a {kind.__name__} that was not made"):
        getattr(unmade, kind._PARTS[0])


def test_a_trainer_that_was_not_made_closes():
    hu.Trainer.__new__(hu.Trainer).close()
    with pytest.raises(hu.ArgumentError, match="was not made"):
        hu.round([1.0], hu.Format.__new__(hu.Format))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
def test_addresses_that_no_type_has(kind):
    """Numbers that lie at odd addresses are copied, not read there."""
    x = np.random.default_rng(3).standard_normal(99).astype(kind)
    odd = np.zeros(x.nbytes + 1, np.uint8)[1:].view(kind)
    odd[:] = x
    assert not odd.flags.aligned
    for call in (
        lambda a: hu.round(a, "e5m2"),
        lambda a: hu.Quantization("mxfp8").pack(np.float32(a)).data,
        lambda a: hu.encode(np.asarray(hu.round(a, "e5m2")), "e5m2"),
        lambda a: sorted(hu.exponents(a).counts.items()),
        lambda a: (
            hu.gemm(a.reshape(9, 11), a.reshape(11, 9), "fmac:fp16")
            if kind != np.float64
            else hu.round(a, "e4m3fn")
        ),
    ):
        np.testing.assert_array_equal(call(odd), call(x))
    codes = np.zeros(2 * 9 + 1, np.uint8)[1:].view(np.uint16)
    codes[:] = np.arange(9)
    np.testing.assert_array_equal(hu.decode(codes, "fp16"), hu.decode(np.arange(9), "fp16"))


def test_an_array_that_says_another_shape():
    out = np.zeros(4, np.float32).view(Misshapen)
    with pytest.raises(hu.ShapeError, match=r"found shape \(4,\)"):
        hu.round(np.ones(1 << 20, np.float32), "e5m2", out=out)
    with pytest.raises(hu.ShapeError, match=r"found shape \(4,\)"):
        hu.Quantization("mxfp8").round(np.ones(1 << 20, np.float32), out=out)


def test_more_numbers_than_there_is_memory():
    many = np.broadcast_to(np.uint8(1), (2**40,))
    with pytest.raises(MemoryError):
        hu.decode(many, "e5m2")  # before it looks at all of them
    packed = hu.Packed(np.zeros(3, np.uint8), hu.Scale(), (2**33,), "mxfp8")
    with pytest.raises(hu.ShapeError, match="data: found 3 bytes"):
        packed.unpack()


def test_a_dataset_is_made_once():
    rows = {"image": np.zeros((4, 2), np.float32)}
    data = hu.Dataset([hu.Field("image", (2,))], train=rows)
    with pytest.raises(hu.ArgumentError, match="made already"):
        data.__init__([hu.Field("image", (2,))], train={"image": np.zeros(3)})
    assert data.samples == 4 and len(list(data.batches(4))) == 1


def test_values_that_no_network_made():
    """They are refused before the library sees them: the network stays as it was."""
    net = hu.Net(input=(6, 6, 4))
    for name, shape, number in (
        ("x", (6, 6, 4), 99),
        ("input", (2, 3), 0),
        ("input", (6, 6, 4), -1),
        ("input", (6, 6, 4), 2**33),
        (None, None, None),
        ("input", (6, 6, 4), []),
    ):
        wrong = hu.Value(net, name, shape, number)
        for call in (net.relu, net.head):
            with pytest.raises(hu.ArgumentError, match="that this network has not made"):
                call(wrong)
    net.head(net.relu(hu.Value(net, "input", (6, 6, 4), 0)))


def test_lists_within_themselves():
    within = [1]
    within.append(within)
    with pytest.raises(hu.ArgumentError, match="lists 8 deep"):
        hu.train(model="cnn-s", precision=within)
    net = hu.Net(input=(8,))
    with pytest.raises(hu.ArgumentError, match="lists 8 deep"):
        net.reshape(net.input, shape=within)


def test_long_values_in_messages():
    for wrong in (10**5000, "x" * 10**6):
        with pytest.raises(hu.Error) as caught:
            hu.Format(exp=4, man=wrong) if isinstance(wrong, int) else hu.gemm(
                np.ones((1, 1)), np.ones((1, 1)), semantics=wrong
            )
        assert len(str(caught.value)) < 200


def test_results_of_another_shape():
    for made in (hu.Comparison({"rows": 7, "precisions": [7], "metric": 7}),):
        for name in ("rows", "metric"):
            with pytest.raises(hu.CorruptError, match=f"{name}: found what halfulp does not write"):
                getattr(made, name)
        assert repr(made).startswith("<Comparison: ")
    with pytest.raises(hu.DtypeError, match="result: found int"):
        hu.Comparison(7)
    assert (hu.Counts(1).__add__(7)) is NotImplemented
