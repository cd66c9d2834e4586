"""Calls every public name of halfulp with whatever there is; test_every_name.py starts it.

    python every_name.py FIRST COUNT

makes COUNT calls that follow from the number FIRST alone, in the folder where it is started. Each
call is written to the file `calls` before it is made, so that the last line names the one at which
a process has died. `tally.json` tells what became of them.
"""

from __future__ import annotations

import collections
import copy
import decimal
import faulthandler
import fractions
import functools
import inspect
import io
import itertools
import json
import os
import pathlib
import pickle
import resource
import sys
import time
import traceback
import types
import warnings
from collections.abc import Sequence

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import halfulp as hu
from halfulp._sound import Made
from halfulp.networks import _OPERATIONS

PACKAGE = os.path.dirname(os.path.abspath(hu.__file__))
OF_OTHERS = "raised by an object of others"
SECONDS = 20  # of a call that cannot be waited for; tools that slow a process down get longer
MEMORY = 3 << 30  # bytes that a process may address beyond those that it has when it begins
USES = 60  # calls that may share one object
ALLOWED = (
    hu.Error,
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    OSError,
    MemoryError,
    OverflowError,
)
IS_SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")


class Thing:
    """A value and the words that make it."""

    def __init__(self, text, make):
        self.text, self.make = text, make

    def __repr__(self):
        return self.text


class Shared:
    """An object that several calls use, made anew now and then."""

    def __init__(self, make):
        self.make_new, self.value, self.uses = make, None, USES

    def __call__(self):
        if self.uses >= USES:
            self.value, self.uses = self.make_new(), 0
        self.uses += 1
        return self.value

    def forget(self):
        self.uses = USES


# ---- objects of others ----


class Raises:
    """Whatever it is asked, it raises."""

    def _raise(self, *args, **keys):
        raise ValueError(OF_OTHERS)

    __array__ = __len__ = __iter__ = __index__ = __float__ = __fspath__ = __getitem__ = _raise
    __bool__ = __str__ = __repr__ = __eq__ = __hash__ = __dlpack__ = __contains__ = _raise


class Says:
    """One method that answers this."""


def says(name, answer):
    kind = type("Says", (Says,), {name: lambda self, *args, **keys: answer})
    return kind()


class Short(Sequence):
    """A sequence with fewer items than it says."""

    def __len__(self):
        return 3

    def __getitem__(self, at):
        if at:
            raise IndexError(at)
        return 1.0


class Texts(str):
    __slots__ = ()


class Whole(int):
    pass


class Named(dict):
    pass


class Misshapen(np.ndarray):
    """An array of another shape, size and type than it says."""

    shape = property(lambda self: (1 << 20,))
    size = property(lambda self: 1 << 20)
    dtype = property(lambda self: np.dtype(np.float32))
    nbytes = property(lambda self: 1 << 22)


def recursive_list():
    made = [1.0]
    made.append(made)
    return made


def recursive_dict():
    made = {"a": 1}
    made["b"] = made
    return made


def deep(depth, outer=list):
    made = [1.0]
    for _ in range(depth):
        made = [made] if outer is list else {"a": made}
    return made


def released():
    made = memoryview(b"1234")
    made.release()
    return made


def closed_file():
    made = io.BytesIO(b"x")
    made.close()
    return made


def unmade(kind):
    """What is there of an object whose __init__ raised."""
    return kind.__new__(kind)


# ---- arrays ----

DTYPES = [
    *(np.dtype(c) for c in np.typecodes["All"] if c not in "USVMm"),
    *map(np.dtype, ("U3", "S3", "V3", "M8[s]", "m8[s]", ">f4", ">f8", ">i4")),
    np.dtype([("a", "f4"), ("b", "i2")]),
    np.dtype([]),
    np.dtype(("f4", (2,))),
    *(
        np.dtype(getattr(ml_dtypes, name))
        for name in ("bfloat16", "float8_e5m2", "float8_e4m3fn", "float4_e2m1fn", "float8_e8m0fnu")
    ),
    *(np.dtype(getattr(ml_dtypes, name)) for name in ("int4", "uint2")),
]
SHAPES = [(), (0,), (1,), (5,), (32,), (4, 8), (8, 4), (3, 0), (0, 3), (2, 3, 4), (1,) * 9]
TURNS = (
    *("plain", "transposed", "backwards", "every other", "broadcast", "locked", "unaligned"),
    *("fortran", "huge", "huge matrix", "huge and empty", "matrix", "masked", "misshapen"),
)
BITS = np.random.default_rng(1).integers(0, 256, 1 << 16, dtype=np.uint8)


def array(dtype, shape, turn, start=0):
    count = int(np.prod(shape))
    if dtype.hasobject:
        x = np.empty(shape, dtype)
        x.fill([None, 1.5, "a", 10**400][start % 4])
    elif dtype.kind in "UMm?b" or not dtype.itemsize or dtype.subdtype:
        x = np.zeros(shape, dtype)
    else:
        size = count * dtype.itemsize
        x = BITS[start : start + size].copy()[:size].view(dtype).reshape(shape)
    return turned(x, turn)


def turned(x, turn):
    made = x
    if turn == "transposed":
        made = x.T
    elif turn == "backwards" and x.ndim:
        made = x[..., ::-1]
    elif turn == "every other" and x.ndim:
        made = x[::2]
    elif turn == "broadcast":
        made = np.broadcast_to(x, (2, *x.shape))
    elif turn == "locked":
        x.flags.writeable = False
    elif turn == "unaligned" and not x.dtype.hasobject and x.dtype.itemsize:
        whole = np.zeros(x.nbytes + 1, np.uint8)
        made = whole[1:].view(x.dtype).reshape(x.shape) if x.size else x
    elif turn == "fortran":
        made = np.asfortranarray(x)
    elif turn.startswith("huge") and x.size:
        extents = {"huge": (2**40,), "huge matrix": (2**20, 2**21), "huge and empty": (2**59, 0)}
        one = x.reshape(-1)[:1]
        made = np.broadcast_to(one[:0] if "empty" in turn else one, extents[turn])
    elif turn == "matrix" and x.ndim == 2:
        made = x.view(np.matrix)
    elif turn == "masked" and x.ndim:
        made = np.ma.masked_array(x, np.zeros(x.shape, bool))
    elif turn == "misshapen" and type(x) is np.ndarray:
        made = x.view(Misshapen)
    return made


def written_after():
    """A data set whose labels are written to when it is made already."""
    labels = np.zeros(8, np.float32)
    fields = [hu.Field("image", (8, 8, 1)), hu.Field("label", classes=2)]
    rows = {"image": np.ones((8, 8, 8, 1), np.float32), "label": labels}
    data = hu.Dataset(fields, train=rows, test=rows)
    labels[:] = [1e9, -7, np.nan, np.inf, 0.5, 2, -np.inf, 1e30]
    return data


# ---- objects of halfulp ----


def net():
    made = hu.Net(input=(8, 8, 1), classes=2)
    h = made.relu(made.conv2d(made.input, 2, kernel=3, pad=1, name="conv1"))
    made.head(made.linear(made.flatten(h), 2, name="fc"))
    return made


def values():
    made = hu.Net(input=(6, 6, 4))
    vector = made.flatten(made.input)
    odd = [
        hu.Value(made, "x", (6, 6, 4), 99),
        hu.Value(made, "x", (2, 3), 0),
        hu.Value(made, "x", (2**40, 2**40), 1),
        hu.Value(made, "x", (6, 6, 4), -1),
        hu.Value(made, None, None, 2**33),
    ]
    sound = [made.input, made.relu(made.input), vector, made.reshape(vector, shape=(9, 16))]
    return made, (sound * 2, odd)


def dataset():
    fields = [hu.Field("image", (8, 8, 1)), hu.Field("label", classes=2)]
    rows = {"image": np.ones((8, 8, 8, 1), np.float32), "label": np.arange(8) % 2}
    return hu.Dataset(fields, train=rows, test=rows)


STEPS = {"batch": 4, "steps": 500, "threads": 1}
TINY = {
    "model": "cnn-s",
    "data": "glyphs",
    "data_limit": 32,
    "data_test_limit": 8,
    "batch": 16,
    "steps": 1,
    "threads": 1,
}


def trainer(**more):
    return hu.Trainer(net(), precision="hfp8", samples=2000, **STEPS, **more)


def closed_trainer():
    made = trainer()
    made.close()
    return made


@functools.lru_cache
def run():
    """A run in the folder `run`, with everything that one has."""
    if os.path.exists("run/result.json"):
        return hu.Run("run")
    return hu.train(**{**TINY, "steps": 2}, precision="hfp8", run_dir="run")


DAMAGE = ["", "7", "[]", "[7]", "{}", "null", '{"tensors": 7}', '{"step": "a", "tensors": [7]}\n']
DAMAGE += ['{"step": 1, "tensors": [[]]}\n', '{"step":1,"tensors":[["a",1,2,3,"x",7]]}\n', "\0\xff"]
DAMAGE += ['{"nodes": 7, "values": {"a": 1}}', '{"metric": 7, "rows": 7, "kind": "compare"}']
DAMAGE += ['{"kind": "assign", "candidates": 7, "group_a": 7}', "a,b\n1\n", "[" * 9999, "1e999\n"]


def damaged(number):
    """A run whose files say something else."""
    run()
    folder = pathlib.Path(f"damaged{number}")
    folder.mkdir(exist_ok=True)
    for path in pathlib.Path("run").iterdir():
        if path.suffix in (".json", ".jsonl", ".csv", ".yaml"):
            text = DAMAGE[number % len(DAMAGE)]
            (folder / path.name).write_text(text, encoding="latin-1")
    for name in ("compare.json", "assign.json"):
        (folder / name).write_text(DAMAGE[number % len(DAMAGE)], encoding="latin-1")
    return hu.Run(str(folder))


ROW = {"run": "run", "state": "done", "precision": "fp32"}
COMPARED = {
    "kind": "compare",
    "run": "compared",
    "metric": {"name": "accuracy"},
    "model": "cnn-s",
    "rows": [ROW],
    "precisions": [{"precision": "fp32", "test_accuracy": 0.5, "memory_bytes": 7}],
}
ASSIGNED = {
    "kind": "assign",
    "chosen": "a",
    "group_saved": [1],
    "candidates": [{"rungs": [{}]}],
    "result": {"bytes": 1},
}


def packed():
    return hu.Quantization("mxfp8").pack(np.ones((2, 40), np.float32))


UNMADE = [
    *(hu.Format, hu.Key, hu.Quantization, hu.Net, hu.Dataset, hu.Plan, hu.Run, hu.Comparison),
    *(hu.Assignment, hu.Summary, hu.Answer, hu.Why, hu.Stats, hu.Trainer),
]
LIVE = {
    "Format": [lambda: hu.Format("e5m2"), lambda: hu.Format("fp32"), lambda: hu.Format("e2m1")],
    "Key": [lambda: hu.Key(1, "w", 2)],
    "Quantization": [lambda: hu.Quantization("mxfp8"), lambda: hu.Quantization("uniform8")],
    "Scale": [lambda: hu.Scale(1, 2.0, 0.5), lambda: hu.Scale("a", None, [])],
    "Packed": [
        packed,
        lambda: hu.Packed(np.zeros(3, np.uint8), hu.Scale(), (2**40,), "e5m2"),
        lambda: hu.Packed(np.zeros(3, np.uint8), hu.Scale(), 3, "e5m2"),
        lambda: hu.Packed(b"123", hu.Scale(2**40, "a"), (3,), "nvfp4"),
        lambda: hu.Packed(None, None, None, None),
        lambda: hu.Packed(b"123", 7, [3], "e5m2"),
    ],
    "Counts": [
        lambda: hu.Counts(1, 2, 3),
        lambda: hu.Counts("a", None, -1, 2**70),
        lambda: hu.Counts(max_exponent="a", min_exponent=2**40),
    ],
    "Exponents": [
        lambda: hu.exponents([1.0, 3.0, 0.0]),
        lambda: hu.Exponents({2**40: 1}, "a"),
        lambda: hu.Exponents({1: 2**70}),
        lambda: hu.Exponents({"a": 1}, largest="b"),
        lambda: hu.Exponents({-149: 2**62 - 1, 127: 1}),
        lambda: hu.Exponents(None, None, None),
        lambda: hu.Exponents({0: 1.5}),
        lambda: hu.Exponents({1: 2}, largest=float("nan")),
    ],
    "Field": [lambda: hu.Field("image", (8, 8, 1)), lambda: hu.Field(7, 8, "a")],
    "Net": [net, lambda: values()[0], lambda: hu.Net.load("net.yaml")],
    "Value": [
        lambda: values()[1][0][0],
        lambda: hu.Value(net(), "x", (8, 8, 1), 99),
        lambda: hu.Value(net(), None, None, -1),
        lambda: hu.Value(None, "x", "y", 2**40),
    ],
    "Dataset": [
        dataset,
        written_after,
        lambda: hu.Dataset.open("glyphs", limit=40, test_limit=8),
        lambda: hu.Dataset([hu.Field("image", (8, 8, 1))], train=7),
    ],
    "Plan": [lambda: hu.Plan.load("plan.yaml"), lambda: run().plan],
    "TensorPlan": [lambda: hu.TensorPlan("fc"), lambda: hu.TensorPlan(None, 7)],
    "ProductPlan": [lambda: hu.ProductPlan("fc")],
    "ProductCounts": [lambda: hu.ProductCounts(1)],
    "Run": [run, run, *(functools.partial(damaged, n) for n in range(len(DAMAGE)))],
    "Answer": [lambda: hu.Answer({"a": 1}, ["help"]), lambda: hu.Answer({}, [7])],
    "Why": [
        lambda: hu.why("run"),
        lambda: hu.Why({"verdict": 7, "losses": 7, "advice": 7}, []),
        lambda: hu.Why({"losses": [7], "advice": {"options": [7]}}, []),
    ],
    "Stats": [
        lambda: hu.stats("run"),
        lambda: hu.Stats({"formats": 7, "exponents": [7]}, []),
        lambda: hu.Stats({"formats": [7], "exponents": {"a": {"exponents": {"x": 1}}}}, []),
    ],
    "Summary": [
        lambda: hu.summary(model="cnn-s"),
        lambda: hu.Summary({"parameters": 1, "macs": 2, "layers": [7], "memory_bytes": {}}),
    ],
    "Comparison": [
        lambda: hu.Comparison(COMPARED),
        lambda: hu.Comparison({}),
        lambda: hu.Comparison({"rows": 7, "metric": 7, "precisions": 7}),
        lambda: hu.Comparison({"rows": [7], "metric": {}, "precisions": [7]}),
        lambda: hu.Comparison(recursive_dict()),
        lambda: hu.Comparison({**COMPARED, "rows": [recursive_dict()]}),
    ],
    "Assignment": [
        lambda: hu.Assignment("run", ASSIGNED),
        lambda: hu.Assignment("nothing", {"candidates": 7, "group_a": 7, "result": 7}),
        lambda: hu.Assignment("run", {"candidates": [7], "group_a": [1], "group_b": {"a": 1}}),
    ],
    "Step": [lambda: trainer().step(np.ones((4, 8, 8, 1), np.float32), [0, 1, 0, 1])],
    "Tensor": [lambda: trainer().tensors["fc.out"]],
    "Trainer": [
        trainer,
        trainer,
        closed_trainer,
        lambda: hu.Trainer(net(), dataset(), run_dir="trained", **STEPS),
        lambda: hu.Trainer(net(), dataset(), **STEPS),
        lambda: hu.Trainer(net(), written_after(), **STEPS),
        lambda: hu.Trainer(**{**TINY, "steps": 100}),
    ],
}


def shared(name, makers):
    return [Thing(f"<{name} {i}>", Shared(make)) for i, make in enumerate(makers)]


OURS = {name: shared(name, makers) for name, makers in LIVE.items()}
for _kind in UNMADE:
    OURS.setdefault(_kind.__name__, []).append(
        Thing(f"<{_kind.__name__} not made>", functools.partial(unmade, _kind))
    )

# ---- whatever there is ----

PLAIN = {
    **{text: functools.partial(eval, text) for text in (
        "None", "True", "False", "0", "1", "-1", "3", "17", "2**31", "2**32", "2**63", "-2**63",
        "2**64", "2**70", "10**5000", "-0.0", "1.5", "1e308", "5e-324", "1j", "...",
        "NotImplemented", "''", "'a'", "'a\\0b'", "'\\ud800'", "'\\udc80'", "'x' * 100000",
        "'e5m2'", "'%s%n'", "'a b=c'", "'\\n'", "'[7]'", "'..'", "'-'", "'{}'", "'\\U0001f600'",
        "b''", "b'\\0\\xff'", "bytearray(9)", "memoryview(b'12345678')",
        "memoryview(b'12345678')[::2]", "[]", "[1.0, 2.0]", "[1, 2]", "['e5m2', 'fp16']",
        "[None]", "[[1.0], [2.0, 3.0]]", "['a', 1]", "()", "(3,)", "(2, 3)", "(-1,)",
        "(2**40,) * 3",
        "(1,) * 99", "{}", "{'a': 1}", "{1: 2}", "{None: None}", "set()", "frozenset('ab')",
        "range(3)", "range(2**62)", "iter([1, 2])", "float", "int", "object", "type", "len",
        "object()", "Exception('x')", "lambda: 1", "float('nan')", "float('inf')", "-float('inf')",
    )},
}  # fmt: skip
OTHERS = {
    "Decimal": lambda: decimal.Decimal("1.5"),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "released memoryview": released,
    "recursive list": recursive_list,
    "recursive dict": recursive_dict,
    "deep list": lambda: deep(3000),
    "deep dict": lambda: deep(3000, dict),
    "Raises": Raises,
    "Short": Short,
    "str of others": lambda: Texts("e5m2"),
    "int of others": lambda: Whole(3),
    "dict of others": lambda: Named(image=[1.0]),
    "float32": lambda: np.float32(1.5),
    "int64": lambda: np.int64(7),
    "bool_": lambda: np.bool_(True),
    "datetime64": lambda: np.datetime64("2020-01-01"),
    "str_": lambda: np.str_("e5m2"),
    "void": lambda: np.void(b"12"),
    "np.float16": lambda: np.float16,
    "np.floating": lambda: np.floating,
    "dtype f4": lambda: np.dtype("f4"),
    "dtype V3": lambda: np.dtype("V3"),
    "ml_dtypes": lambda: ml_dtypes.float8_e5m2,
    "module": lambda: np,
    "halfulp": lambda: hu,
    "generator": lambda: (x for x in [1.0]),
    "closed file": closed_file,
    "no path": lambda: pathlib.Path("nothing"),
    "path": lambda: pathlib.Path("text.txt"),
    "folder": lambda: pathlib.Path("folder"),
    "namespace": lambda: types.SimpleNamespace(path=7, net=None, shape=(3,)),
    "error of halfulp": lambda: hu.FormatError("x"),
    "class of halfulp": lambda: hu.Format,
    **{
        f"{name} says {answer!r}": functools.partial(says, name, answer)
        for name, answers in {
            "__index__": (7, 2**200, "a"),
            "__fspath__": ("a", b"a", 7, "a\0b"),
            "__array__": (7, None, np.ones(3, np.float32), np.ones(3, object)),
            "__dlpack__": (7, None),
            "__len__": (-1, 2**62),
            "__float__": ("a", 1.5),
            "__bool__": (7,),
            "__iter__": (7, iter(())),
            "__getitem__": (7,),
            "file_of_run": (7, None, "a\0b"),
        }.items()
        for answer in answers
    },
}
FIXED = [Thing(name, make) for made in (PLAIN, OTHERS) for name, make in made.items()]
MINE = list(itertools.chain.from_iterable(OURS.values()))

floats = st.builds(
    lambda shape, turn, start: Thing(
        f"array(f4, {shape}, {turn!r}, {start})",
        functools.partial(array, np.dtype("f4"), shape, turn, start),
    ),
    st.sampled_from(SHAPES),
    st.sampled_from(TURNS),
    st.integers(0, 999),
)
arrays = st.builds(
    lambda dtype, shape, turn, start: Thing(
        f"array({dtype}, {shape}, {turn!r}, {start})",
        functools.partial(array, dtype, shape, turn, start),
    ),
    st.sampled_from(DTYPES),
    st.sampled_from(SHAPES),
    st.sampled_from(TURNS),
    st.integers(0, 999),
)


def _drawn(value):
    return Thing(repr(value), lambda: value)


def _safe(text):
    """A text that, as a path, lies in this folder."""
    return text.replace("/", "_").replace("~", "_")


drawn = st.one_of(
    st.integers(),
    st.floats(),
    st.text(max_size=9).map(_safe),
    st.text(alphabet="0123456789emfpx():=,;.*/ ", max_size=12).map(_safe),
    st.binary(max_size=9),
    st.lists(st.floats(), max_size=4),
    st.lists(st.integers(-3, 2**33), max_size=4),
    st.lists(st.text(max_size=3).map(_safe), max_size=3),
    st.dictionaries(st.text(max_size=4).map(_safe), st.integers(), max_size=3),
).map(_drawn)
anything = st.one_of(st.sampled_from(FIXED), st.sampled_from(MINE), arrays, drawn)


# ---- what fits ----


def fixed(*texts):
    return st.sampled_from(
        [Thing(repr(text), functools.partial(lambda t: t, text)) for text in texts]
    )


def mine(*names):
    return st.sampled_from([thing for name in names for thing in OURS[name]])


def made(**makers):
    return st.sampled_from([Thing(f"<{name}>", make) for name, make in makers.items()])


WORDS = ("e5m2", "e4m3fn:ovf=sat", "fp16", "fp32", "mxfp8", "nvfp4", "uniform8", "e2m1", "e8m23")
WORDS += ("e5m2:scale=2^4", "e4m3fn:scale=current", "mxfp8 rz", "fp16 sr", "e1m1:specials=fin")
formats = st.one_of(fixed(*WORDS), mine("Format"))
paths = st.one_of(
    fixed("run", "folder", "text.txt", "nothing", "plan.yaml", "net.yaml", "a.html", "b.svg", ""),
    fixed(
        "x" * 300, "text.txt/x", "a\0b", "new/a.yaml", "new", "/dev/null/x", "/dev/full", "trained"
    ),
    mine("Run"),
)
integers = st.integers(-1, 40).map(_drawn)
names = fixed("fc.out", "fc.weight", "conv1.out.grad", "*.grad", "*", "[", "label", "", "input")
labels = fixed(
    [0, 1, 0, 1], [0], [7, -9, 2**24, 0], [0.5] * 4, [float("nan")] * 4, [-1] * 4, [1e30] * 4
)
images = made(
    images=lambda: np.ones((4, 8, 8, 1), np.float32),
    nans=lambda: np.full((4, 8, 8, 1), np.nan, np.float32),
    doubles=lambda: np.full((4, 8, 8, 1), 0.1),
    glyphs=lambda: np.zeros((16, 32, 32, 3), np.float32),
    many=lambda: np.zeros((5000, 8, 8, 1), np.float32),
    strided=lambda: np.zeros((8, 8, 8, 2), np.float32)[::2, ..., :1],
    empty=lambda: np.zeros((0, 8, 8, 1), np.float32),
)
rows = made(
    rows=lambda: {"image": np.ones((8, 8, 8, 1), np.float32), "label": np.arange(8) % 2},
    wrong=lambda: {"image": np.ones((8, 8, 8, 1), np.float32), "label": np.full(8, 1e9)},
    few=lambda: {"image": np.ones((8, 8, 8, 1), np.float32), "label": np.zeros(3)},
)
fields = made(
    fields=lambda: dataset().fields,
    wrong=lambda: [hu.Field("image", 7), hu.Field("label", (), "a")],
    twice=lambda: [hu.Field("a"), hu.Field("a")],
    many=lambda: [hu.Field(f"f{i}") for i in range(99)],
    huge=lambda: [hu.Field("image", (2**20, 2**20, 2**20))],
)
FITTING = {
    **dict.fromkeys(("x", "bias", "weights"), floats),
    **dict.fromkeys(("a", "b"), floats),
    **dict.fromkeys(("fmt", "formats", "text", "others"), formats),
    **dict.fromkeys(("path", "folder", "run", "runs", "out", "files", "fname"), paths),
    **dict.fromkeys(("threads", "limit", "test_limit", "size", "epoch", "seed", "step"), integers),
    **dict.fromkeys(("exp", "man", "shift", "samples", "classes", "first", "bits"), integers),
    **dict.fromkeys(("name", "names", "tensor", "tensors"), names),
    "codes": st.one_of(arrays, st.binary(max_size=9).map(_drawn)),
    "rounding": fixed("rne", "rna", "rz", "ru", "rd", "rodd", "sr"),
    "key": mine("Key"),
    "shape": st.one_of(integers, fixed((3,), (2, 2), (0, 3), (2**40, 0), (2**44,), (2**30, 3))),
    "accumulator": fixed("fmacs", "fmac:fp16", "fmac8:1/6/9", "kahan:e5m2", "macs:e5m2"),
    "semantics": fixed("exact", "f32fma", "cpd"),
    "spec": fixed(
        "glyphs", "glyphs:", "idx:folder", "cifar10:folder", "folder:folder", "text:text.txt"
    ),
    "data": st.one_of(mine("Dataset"), fixed("glyphs")),
    "model": st.one_of(mine("Net"), fixed("cnn-s")),
    "net": mine("Net"),
    "value": mine("Value"),
    "fields": fields,
    "train": rows,
    "test": rows,
    "input": fixed((8, 8, 1), (3,), (2**40,) * 3, (1,) * 9),
    "batch": st.one_of(images, labels, floats),
    "role": fixed("total", "masters", "arena"),
    "budget": fixed("memory:", "memory:nan", "saved:-1", "metric:x", "total:0"),
    "found": st.sampled_from([Thing("{}", dict)]),
    "result": made(compared=lambda: dict(COMPARED), assigned=lambda: dict(ASSIGNED)),
    "section": fixed("curves", "exponents:2", "no"),
    "other": mine("Format", "Key", "Counts", "Exponents", "Plan", "Packed"),
}
# Keys of trainings: those that say how much work it is are given and stay small.
AMOUNTS = fixed(2, "x", -1, float("nan"), [1], "1e99", b"1")
KEYS = (
    *("precision", "optimizer", "lr_base", "seed", "accumulator", "precision_rules", "loss_scale"),
    *(
        "run_name",
        "data",
        "model",
        "a",
        "no.such",
        "",
        "a=b",
        "lr_schedule",
        "format",
        "out",
        "top",
    ),
)
TRAINS = {"train", "compare", "assign", "Net.train", "summary", "Plan.of", "Trainer"}
GOES_ON = {"resume", "Run.resume", "Trainer.reopen", "Run.evaluate", "Plan.summary", "Plan.bytes"}
ALONE = {"train", "compare", "assign", "Net.train"}  # without arguments they train for long
ENDS = {"close", "__exit__", "__init__"}
NEEDS_SELF = ("__repr__", "__str__", "__hash__", "__copy__", "__reduce__", "_repr_html_")
SPECIAL = (
    *("__eq__", "__ne__", "__hash__", "__repr__", "__str__", "__add__", "__len__", "__iter__"),
    *("__getitem__", "__contains__", "__reduce__", "_repr_html_", "__enter__", "__exit__"),
    *("__init__", "copy", "deepcopy", "pickle"),
)
OWN = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickle.dumps}


class Target:
    """Something that can be called or read: a function, a class, a method or attribute of one."""

    def __init__(self, name, call, owner=None, member=None):
        self.name, self.call, self.owner, self.member = name, call, owner, member
        try:
            self.parameters = list(inspect.signature(call).parameters.values()) if call else []
        except (TypeError, ValueError):
            self.parameters = []
        if owner is not None and self.parameters:
            self.parameters = self.parameters[1:]


def members(kind):
    for name in sorted(dir(kind)):
        if (
            name in SPECIAL
            and getattr(kind, name, None) is not getattr(object, name, None)
            or not name.startswith("_")
        ):
            yield name
    yield from OWN


def targets_of(name):
    what = getattr(hu, name)
    found = [Target(name, what)]
    if not inspect.isclass(what):
        return found
    for member in dict.fromkeys(members(what)):
        raw = inspect.getattr_static(what, member, None)
        if isinstance(raw, classmethod):
            found.append(Target(f"{name}.{member}", getattr(what, member)))
        elif issubclass(what, Exception) or (member in dir(dict) and issubclass(what, dict)):
            continue
        else:
            call = getattr(what, member, None) if callable(raw) or hasattr(raw, "_op") else None
            found.append(Target(f"{name}.{member}", call, name, member))
    for field in getattr(what, "__dataclass_fields__", ()):
        found.append(Target(f"{name}.{field}", None, name, field))
    return found


TARGETS = {name: targets_of(name) for name in hu.__all__}
OFTEN = ("Trainer", "Net", "Dataset", "Plan", "Packed", "Quantization", "Format", "Exponents")
OFTEN += ("round", "encode", "decode", "pack", "unpack", "gemm", "exponents")
FIGURES = ("Format.plot", "Exponents.plot", "Run.plot", "Run.plot_exponents", "Comparison.plot")
PROGRAM = (
    *("train", "resume", "compare", "assign", "report", "stats", "why", "summary", "list_runs"),
    *("Run.why", "Run.stats", "Run.resume", "Run.report", "Run.evaluate", "Run.predict"),
    *("Run.export", "Comparison.report", "Plan.of", "Plan.summary", "Plan.bytes", "Net.train"),
    *(f"{name}.{member}" for name in ("Answer", "Why", "Stats") for member in ("text", "__str__")),
    *(f"{name}._repr_html_" for name in ("Answer", "Why", "Stats")),
)
ERRORS = [
    n
    for n in hu.__all__
    if isinstance(getattr(hu, n), type) and issubclass(getattr(hu, n), hu.Error)
]
ALL = list(itertools.chain.from_iterable(TARGETS.values()))


def _of(name):
    return [t for t in TARGETS[name] if t.name not in FIGURES + PROGRAM]


GROUPS = [
    *(group for group in map(_of, [n for n in hu.__all__ if n not in ERRORS]) if group),
    *map(_of, OFTEN * 4),
    [target for target in ALL if target.name.partition(".")[0] in ERRORS],
    [target for target in ALL if target.name in FIGURES],  # these take long
    *[[target for target in ALL if target.name in PROGRAM]] * 2,
]


class Call:
    """One call, with all that is given."""

    def __init__(self, target, owner, args, keys):
        self.target, self.owner, self.args, self.keys = target, owner, args, keys

    def __repr__(self):
        given = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.keys.items()]
        before = f"{self.owner!r}.{self.target.member}" if self.owner else self.target.name
        return f"{before}({', '.join(given)})"

    def make(self):
        """The work of it, as a function without arguments."""
        owner = self.owner.make() if self.owner else None
        args = [a.make() for a in self.args]
        keys = {k: v.make() for k, v in self.keys.items()}
        target = self.target
        if target.owner is None:
            return lambda: target.call(*args, **keys)
        if target.member in OWN:
            return lambda: OWN[target.member](owner)
        if isinstance(self.owner.make, Shared) and target.member in ENDS:
            self.owner.make.forget()

        def work():
            found = getattr(owner, target.member)
            return found(*args, **keys) if callable(found) else found

        return work


def _operation_call(draw, target):
    """Values of one network, and the attributes that the operation has."""
    net, (sound, odd) = values()
    found = sound + odd
    op = _OPERATIONS.get(target.member)
    if op is None:  # the head
        value = draw(st.sampled_from(found))
        args = [Thing(repr(value), lambda: value)]
        return Call(target, Thing("<values>", lambda: net), args, {})
    few = draw(st.integers(max(op.least - 1, 0), max(op.least, min(op.most, 4)) + 1))
    picks = [draw(st.integers(0, len(found) - 1)) for _ in range(few)]
    args = [Thing(f"<value {i}>", functools.partial(lambda v: v, found[i])) for i in picks]
    if draw(st.integers(0, 9)) == 0:
        args.append(draw(anything))
    usual = st.one_of(integers, fixed(0.5, "same", (1, 2), "x"), anything)
    keys = {name: draw(usual) for name in op.attributes if draw(st.booleans())}
    return Call(target, Thing("<values>", lambda: net), args, keys)


@st.composite
def calls(draw):
    target = draw(st.sampled_from(draw(st.sampled_from(GROUPS))))
    if (
        target.owner == "Net"
        and target.member in (*_OPERATIONS, "head")
        and draw(st.integers(0, 4))
    ):
        return _operation_call(draw, target)
    owner = draw(st.sampled_from(OURS[target.owner])) if target.owner else None
    args, keys = [], {}
    odd = draw(st.integers(0, 3))  # 0: nothing has to fit
    for parameter in target.parameters:
        fitting = FITTING.get(parameter.name)
        one = anything if fitting is None or not odd or not draw(st.integers(0, 3)) else fitting
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += [draw(one) for _ in range(draw(st.integers(0, 3)))]
        elif parameter.kind is parameter.VAR_KEYWORD:
            for name in draw(st.lists(st.sampled_from(KEYS), max_size=2)):
                keys.setdefault(name, draw(st.one_of(formats, anything)))
        elif parameter.default is not parameter.empty and draw(st.booleans()):
            continue
        elif parameter.kind is parameter.KEYWORD_ONLY or len(args) < target.parameters.index(
            parameter
        ):
            keys[parameter.name] = draw(one)
        else:
            args.append(draw(one))
    extra = draw(st.integers(0, 39))
    if extra == 0:
        args.append(draw(anything))
    elif extra == 1:
        keys["no_such"] = draw(anything)
    elif extra == 2 and args:
        args.pop()
    _keep_small(draw, target, keys)
    return Call(target, owner, args, keys)


def _keep_small(draw, target, keys):
    """Trainings of a moment: the keys of amounts are there, and never large."""
    if target.name in TRAINS:
        for name, value in TINY.items():
            if name in ("model", "data") and (
                target.name in ("Trainer", "Net.train") or name in keys
            ):
                continue
            keys[name] = _drawn(value)
        if not draw(st.integers(0, 9)):
            keys[draw(st.sampled_from(["steps", "batch"]))] = draw(AMOUNTS)
        if target.name == "compare":
            keys.setdefault("precision", _drawn(["fp32"]))
    elif target.name in GOES_ON and draw(st.booleans()):
        keys["steps"] = draw(AMOUNTS)


# ---- the work ----


class Tally:
    """What became of the calls."""

    def __init__(self, journal):
        self.journal = journal
        self.outcomes = collections.Counter()
        self.names = collections.Counter()
        self.wrong = []
        self.plain = []
        self.slowest = (0.0, "")

    def attempt(self, call):
        text = repr(call).encode("utf-8", "backslashreplace")[:2000]
        os.write(self.journal, text + b"\n")
        try:
            work = call.make()
        except ALLOWED:  # an object that cannot be made, as of a call that left no memory
            self.outcomes["not made"] += 1
            return
        begin = time.perf_counter()
        faulthandler.dump_traceback_later(10 * SECONDS if IS_SANITIZED else SECONDS, exit=True)
        try:
            found = work()
            if isinstance(found, (types.GeneratorType, map, zip)):
                found = list(itertools.islice(found, 3))
            if isinstance(found, Made):  # others show what they were given as that shows itself
                repr(found)
            outcome = "ok"
        except ALLOWED as error:
            outcome = type(error).__name__
            if isinstance(error, hu.InternalError) or not _told(error):
                self._tell(call, error)
            elif _is_plain(error):
                self.plain.append([repr(call)[:300], f"{type(error).__name__}: {error}"[:300]])
        except BaseException as error:
            outcome = type(error).__name__
            self._tell(call, error)
        finally:
            faulthandler.cancel_dump_traceback_later()
        took = time.perf_counter() - begin
        self.slowest = max(self.slowest, (took, text.decode()))
        self.outcomes[outcome] += 1
        self.names[call.target.name] += 1

    def _tell(self, call, error):
        told = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.wrong.append([repr(call)[:600], told[-2500:]])


def _told(error):
    """Errors of halfulp say something, in few words."""
    return not isinstance(error, hu.Error) or 0 < len(str(error)) < 4000


def _is_plain(error):
    """Whether an exception of Python's came out of the package; those of others may."""
    if isinstance(error, (hu.Error, MemoryError)) or OF_OTHERS in str(error):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return any(os.path.dirname(frame.filename) == PACKAGE for frame in frames)


def prepare():
    """The files that calls find in their folder."""
    os.makedirs("folder", exist_ok=True)
    pathlib.Path("text.txt").write_text("a text\n")
    net().save("net.yaml")
    if not os.path.exists("plan.yaml"):
        hu.Plan.of(model="cnn-s", precision="hfp8").save("plan.yaml")
    run()


def limit_memory():
    if not IS_SANITIZED:
        held = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))


def main(first, count):
    warnings.simplefilter("ignore")
    journal = os.open("calls", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    prepare()
    limit_memory()
    tally = Tally(journal)
    begin = time.perf_counter()
    if first == 0:  # every name once, and without arguments
        for target in ALL:
            if target.name not in FIGURES and target.name not in ALONE:
                tally.attempt(Call(target, OURS[target.owner][0] if target.owner else None, [], {}))

    @seed(first)
    @settings(
        max_examples=max(count - sum(tally.outcomes.values()), 1),
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(calls())
    def attempt(call):
        tally.attempt(call)

    attempt()
    found = {
        "calls": sum(tally.outcomes.values()),
        "outcomes": tally.outcomes,
        "names": tally.names,
        "wrong": tally.wrong,
        "plain": tally.plain,
        "slowest": tally.slowest,
        "seconds": time.perf_counter() - begin,
    }
    pathlib.Path("tally.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
