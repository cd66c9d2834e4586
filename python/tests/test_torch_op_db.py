"""Operations of a captured module beside PyTorch's own samples of them, `op_db`.

Every sample becomes a small module: its operands are read from the network's input, where each
sample of the batch has the entries in another order, or they are parameters. What the module makes,
and the gradient of its input, are those of PyTorch. `FOUND` says of each operation how many modules
are taken, how many are refused, and how many are left out because no batch can be made of them.

Usually some samples of each operation are tried; HALFULP_OP_DB=all tries all of them.
"""

import os
import random
import re
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
F = torch.nn.functional
try:
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError as missing:  # expecttest, which this part of PyTorch needs
    pytest.skip(f"torch.testing: {missing}", allow_module_level=True)

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from halfulp.torch._table import HANDLERS  # noqa: E402
from needs import needs_export  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_export]  # warnings are PyTorch's

MOST = None if os.environ.get("HALFULP_OP_DB") == "all" else 12
SAMPLES = 3

# Modules that are taken, refused and left out, of at most 12 samples, with torch 2.15.
FOUND = {
    "__getitem__": (11, 0, 1),
    "abs": (1, 0, 0),
    "add": (20, 0, 0),
    "addcdiv": (22, 0, 2),
    "addcmul": (22, 0, 2),
    "addmm": (2, 0, 2),
    "amax": (10, 0, 2),
    "baddbmm": (6, 0, 0),
    "bmm": (2, 0, 0),
    "cat": (11, 0, 0),
    "chunk": (3, 0, 0),
    "clamp": (13, 0, 0),
    "clamp_max": (16, 0, 0),
    "clamp_min": (16, 0, 0),
    "clone": (2, 0, 0),
    "constant_pad_nd": (8, 0, 4),
    "contiguous": (2, 0, 0),
    "div:no_rounding_mode": (16, 0, 0),
    "einsum": (4, 1, 6),
    "exp": (2, 0, 0),
    "expand": (5, 0, 4),
    "expand_as": (3, 0, 3),
    "flatten": (5, 0, 1),
    "index_select": (2, 0, 1),
    "linalg.vector_norm": (2, 9, 1),
    "log": (2, 0, 0),
    "log_softmax": (5, 0, 1),
    "matmul": (24, 0, 0),
    "maximum": (16, 0, 0),
    "mean": (10, 0, 2),
    "minimum": (16, 0, 0),
    "mm": (2, 0, 0),
    "movedim": (2, 0, 0),
    "mul": (16, 0, 0),
    "narrow": (3, 0, 7),
    "neg": (1, 0, 0),
    "nn.functional.adaptive_avg_pool1d": (1, 4, 0),
    "nn.functional.adaptive_avg_pool2d": (5, 5, 0),
    "nn.functional.avg_pool1d": (8, 0, 0),
    "nn.functional.avg_pool2d": (2, 5, 0),
    "nn.functional.batch_norm": (3, 7, 0),
    "nn.functional.conv1d": (4, 1, 5),
    "nn.functional.conv2d": (6, 1, 5),
    "nn.functional.conv_transpose1d": (5, 0, 5),
    "nn.functional.conv_transpose2d": (5, 1, 6),
    "nn.functional.dropout": (7, 3, 2),
    "nn.functional.embedding": (6, 3, 1),
    "nn.functional.gelu": (8, 0, 0),
    "nn.functional.group_norm": (9, 3, 0),
    "nn.functional.hardsigmoid": (2, 0, 0),
    "nn.functional.hardswish": (4, 0, 0),
    "nn.functional.hardtanh": (3, 1, 0),
    "nn.functional.interpolate:bilinear": (9, 3, 0),
    "nn.functional.interpolate:nearest": (5, 7, 0),
    "nn.functional.layer_norm": (1, 2, 2),
    "nn.functional.leaky_relu": (9, 0, 0),
    "nn.functional.linear": (10, 0, 2),
    "nn.functional.max_pool1d": (10, 2, 0),
    "nn.functional.max_pool2d": (5, 7, 0),
    "nn.functional.normalize": (4, 3, 1),
    "nn.functional.pad:constant": (8, 0, 4),
    "nn.functional.relu": (4, 0, 0),
    "nn.functional.relu6": (2, 0, 0),
    "nn.functional.rms_norm": (1, 2, 2),
    "nn.functional.scaled_dot_product_attention": (4, 0, 4),
    "nn.functional.silu": (2, 0, 0),
    "nn.functional.upsample_bilinear": (2, 2, 0),
    "nn.functional.upsample_nearest": (4, 8, 0),
    "permute": (4, 0, 0),
    "reciprocal": (2, 0, 0),
    "repeat": (4, 2, 6),
    "repeat_interleave": (1, 4, 0),
    "reshape": (7, 0, 0),
    "reshape_as": (4, 0, 4),
    "roll": (7, 1, 1),
    "rsqrt": (2, 0, 0),
    "rsub": (20, 0, 0),
    "select": (6, 0, 0),
    "sigmoid": (2, 0, 0),
    "slice": (4, 0, 0),
    "softmax": (5, 0, 1),
    "split": (2, 0, 0),
    "split:list_args": (3, 0, 0),
    "split_with_sizes": (3, 1, 0),
    "sqrt": (1, 0, 0),
    "square": (2, 0, 0),
    "squeeze": (7, 0, 1),
    "squeeze:multiple": (5, 0, 1),
    "stack": (10, 0, 0),
    "sub": (20, 0, 0),
    "sum": (10, 0, 2),
    "t": (3, 0, 0),
    "tanh": (1, 0, 0),
    "transpose": (7, 0, 1),
    "unbind": (5, 0, 0),
    "unflatten": (8, 0, 0),
    "unsqueeze": (9, 0, 0),
    "view": (7, 0, 0),
    "view_as": (4, 0, 4),
}

# The first dimension of these is of samples already; of the others one is put in front.
OWN = {"addmm", "baddbmm", "einsum"} | {
    f"nn.functional.{name}"
    for name in (
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
        "avg_pool1d",
        "avg_pool2d",
        "batch_norm",
        "conv1d",
        "conv2d",
        "conv_transpose1d",
        "conv_transpose2d",
        "group_norm",
        "interpolate",
        "layer_norm",
        "linear",
        "max_pool1d",
        "max_pool2d",
        "rms_norm",
        "scaled_dot_product_attention",
        "upsample_bilinear",
        "upsample_nearest",
    )
}
OF_SAMPLES = {"baddbmm", "nn.functional.scaled_dot_product_attention"}  # all of their operands
# Handlers without samples in op_db whose results are known: test_torch.py, test_torch_values.py.
ELSEWHERE = {"bernoulli", "clamp", "clamp_max", "copy", "fill", "gru", "lstm", "pow", "t", "zero"}


class NoBatchError(Exception):
    """A sample that is no batch of a network."""


# ---- tensors among arguments ----


def tensors_of(value):
    """Tensors of arguments in turn."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return tensors_of(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [t for one in value for t in tensors_of(one)]
    return []


def put(value, tensors):
    """Arguments with other tensors in turn, of an iterator."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {k: put(v, tensors) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([put(v, tensors) for v in value])
    return value


class Call(torch.nn.Module):
    """An operation with the arguments of a sample; its tensors are given."""

    def __init__(self, op, sample):
        super().__init__()
        self.op, self.values = op, (sample.input, tuple(sample.args), dict(sample.kwargs))

    def forward(self, *tensors):
        first, args, keys = put(self.values, iter(tensors))
        return self.op(first, *args, **keys)


# ---- a dimension in front of all others ----

DIMS = {"dim", "dim0", "dim1", "dims", "start_dim", "end_dim", "axis0", "axis1"}
DIMS |= {"source", "destination"}
STRETCHED = {"self", "other", "min", "max", "exponent", "tensor1", "tensor2"}
REDUCED = ("sum", "mean", "amax", "linalg_vector_norm")


def moved(dims):
    """Dimensions of a sample as those of a batch."""
    if isinstance(dims, (list, tuple)):
        return [moved(d) for d in dims]
    return dims + 1 if isinstance(dims, int) and dims >= 0 else dims


def in_front(node, values, count):
    """What a node makes where some of its tensors have one more dimension, of `count` samples."""
    name = node.target.name().removeprefix("aten::").partition(".")[0]
    places = node.target._schema.arguments
    given = {a.name: v for a, v in zip(places, node.args)} | dict(node.kwargs)
    args = {a.name: given.get(a.name, a.default_value) for a in places}
    args = {k: torch.fx.node.map_arg(v, values.get) for k, v in args.items()}
    rank = {k: v.meta["val"].ndim for k, v in given.items() if isinstance(v, torch.fx.Node)}
    is_more = {k: args[k].ndim > r for k, r in rank.items()}
    if name in ("matmul", "mm", "bmm"):
        return product([args[k] for k in rank], list(rank.values()), list(is_more.values()))
    if name in ("cat", "stack"):
        tensors = [
            t if t.ndim > n.meta["val"].ndim else t.expand(count, *t.shape)
            for n, t in zip(given["tensors"], args["tensors"])
        ]
        return getattr(torch, name)(tensors, moved(args["dim"]))
    if not any(is_more.values()):
        raise NoBatchError("an operation of constants")
    own, every = next(iter(rank.values())), list(range(1, next(iter(rank.values())) + 1))
    if name in REDUCED and not args.get("dim"):
        if name in ("sum", "mean"):
            return getattr(torch, name)(args["self"], dim=every)
        args["dim"] = every
    elif name == "squeeze" and "dim" not in args:
        return args["self"].squeeze(tuple(every))
    elif name == "t":
        return args["self"].transpose(1, 2) if own == 2 else args["self"]
    else:
        most = max((r for k, r in rank.items() if k in STRETCHED), default=0)
        _move(name, args, rank, is_more, most, count)
    by_place = [args[a.name] for a in places if not a.kwarg_only]
    return node.target(*by_place, **{a.name: args[a.name] for a in places if a.kwarg_only})


def _move(name, args, rank, is_more, most, count):
    for key in args:
        if key in DIMS and args[key] is not None:
            args[key] = [0, *moved(args[key])] if name == "permute" else moved(args[key])
        elif key in ("size", "shape"):
            args[key] = [count, *args[key]]
        elif key == "repeats" and name == "repeat":
            args[key] = [1, *args[key]]
        elif key == "indices" and name == "index":
            args[key] = [None, *args[key]]
        elif key in STRETCHED and is_more.get(key) and rank[key] < most:
            args[key] = args[key][(slice(None), *[None] * (most - rank[key]))]


def product(tensors, rank, is_more):
    """`torch.matmul`, which takes a batch of rows for a matrix."""
    most = max(2, *rank)
    for i in range(2):
        if rank[i] == 1:
            tensors[i] = tensors[i].unsqueeze(-1 - (i == 0))
        if is_more[i]:
            front = [None] * (most - max(rank[i], 2))
            tensors[i] = tensors[i][(slice(None), *front)]
    made = torch.matmul(*tensors)
    made = made.squeeze(-1) if rank[1] == 1 else made
    return made.squeeze(-1 - (rank[1] != 1)) if rank[0] == 1 else made


# ---- modules ----


class Inside(torch.nn.Module):
    """An operation of operands that stand in the rows of the input one after the other.

    Of one operand the input is that. What is no operand is a parameter; ids stay as they are.
    """

    def __init__(self, call, tensors, is_value, has_samples):
        super().__init__()
        self.call, self.tensors, self.is_value = call, tensors, is_value
        self.program = None if has_samples else torch.export.export(call, tuple(tensors))
        self.shapes = [t.shape[1:] if has_samples else t.shape for t in tensors]
        self.names = [f"part{i}" for i in range(len(tensors))]
        if getattr(call.op, "__name__", "") == "batch_norm":  # these are no parameters
            self.names[1:3] = ["running_mean", "running_var"][: len(tensors) - 1]
        for name, tensor, value in zip(self.names, tensors, is_value):
            if not value and tensor.is_floating_point():
                own = tensor.detach().clone()
                if name.startswith("running"):
                    self.register_buffer(name, own)
                else:
                    setattr(self, name, torch.nn.Parameter(own))

    def packed(self, rows):
        """What goes in, of the values of each operand for all samples."""
        rows = [r for r, v in zip(rows, self.is_value) if v]
        return rows[0] if len(rows) == 1 and rows[0].ndim > 1 else torch.cat(
            [r.reshape(len(r), -1) for r in rows], 1
        )  # fmt: skip

    def operands(self, x):
        place, found = 0, []
        for name, tensor, value, shape in zip(self.names, self.tensors, self.is_value, self.shapes):
            if not value:
                found.append(getattr(self, name, tensor))
            elif sum(self.is_value) == 1 and x.shape[1:] == shape:
                found.append(x)
            else:
                found.append(x[:, place : place + shape.numel()].reshape(x.shape[0], *shape))
                place += shape.numel()
        return found

    def forward(self, x):
        operands = self.operands(x)
        if not any(self.is_value):
            return self.call(*operands).reshape(1, -1) + x
        return self.interpreted(operands, x.shape[0]) if self.program else self.call(*operands)

    def interpreted(self, operands, count):
        values, given = {}, iter(operands)
        constants = self.program.graph_signature.inputs_to_lifted_tensor_constants
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                own = constants.get(node.name)
                values[node] = self.program.constants[own] if own else next(given)
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], values.get)
            elif not isinstance(node.target, torch._ops.OpOverload):
                values[node] = node.target(*torch.fx.node.map_arg(node.args, values.get))
            elif any(v.ndim > n.meta["val"].ndim for n, v in inputs_of(node, values)):
                values[node] = in_front(node, values, count)
            else:
                args = torch.fx.node.map_arg((node.args, dict(node.kwargs)), values.get)
                values[node] = node.target(*args[0], **args[1])
        raise AssertionError("a program without an output")


def inputs_of(node, values):
    return [(n, values[n]) for n in node.all_input_nodes if isinstance(values[n], torch.Tensor)]


class Network(torch.nn.Module):
    """An operation between a shift, whose gradient is that of the input, and the scores."""

    def __init__(self, inside, shape):
        super().__init__()
        self.inside, self.shift = inside, torch.nn.Parameter(torch.zeros(1, *shape))

    def forward(self, x):
        made = [t for t in tensors_of(self.inside(x + self.shift)) if t.is_floating_point()]
        flat = [t.reshape(x.shape[0], -1) for t in made]
        flat = torch.cat(flat, 1) if len(flat) > 1 else flat[0]
        return torch.cat([flat, 0.5 * flat], 1) if flat.shape[1] == 1 else flat


# ---- samples ----


def turned(tensor, number):
    """The same entries in another order."""
    law = torch.Generator().manual_seed(number)
    order = torch.randperm(tensor.numel(), generator=law) if number else slice(None)
    return tensor.reshape(-1)[order].reshape(tensor.shape)


def forms_of(op, sample):
    """Modules of a sample, what goes into each, and what PyTorch makes of it without a batch."""
    if sample.kwargs.get("dropout_p"):  # whose seed the sample sets
        return
    call = Call(op.op, sample)
    tensors = tensors_of(call.values)
    real = [t.is_floating_point() for t in tensors]
    if op.name in OWN:
        yield lambda: _own(call, tensors, operands_of(op, tensors))
        return
    if op.name == "nn.functional.embedding":  # of a table that is a parameter
        yield lambda: _front(call, tensors, [False] * len(tensors))
        return
    alone = [i == real.index(True) for i in range(len(tensors))]
    for values in [real, alone] if real != alone else [real]:
        yield lambda values=values: _front(call, tensors, values)


def operands_of(op, tensors):
    """Which tensors are of samples."""
    fits = [t.is_floating_point() and t.ndim > 1 for t in tensors]
    if op.name in OF_SAMPLES:
        return fits
    first = 1 if op.name == "addmm" else fits.index(True) if any(fits) else -1
    return [i == first for i in range(len(tensors))]


def _own(call, tensors, is_value):
    counts = {len(t) for t, v in zip(tensors, is_value) if v and t.ndim > 1}
    if len(counts) != 1:
        raise NoBatchError("no dimension of samples")
    inside = Inside(call, tensors, is_value, has_samples=True)
    made = Inside(call, [t.clone() for t in tensors], is_value, has_samples=True)
    return inside, inside.packed(tensors), made.call(*made.tensors)


def _front(call, tensors, is_value):
    rows = [[turned(t, n) if v else t for t, v in zip(tensors, is_value)] for n in range(SAMPLES)]
    inside = Inside(call, tensors, is_value, has_samples=False)
    if not any(is_value):  # the same for all samples, beside one number of each
        x = torch.arange(1.0, SAMPLES + 1)[:, None]
        return inside, x, [t.reshape(1, -1) + x for t in tensors_of(call(*tensors))]
    made = [tensors_of(call(*row)) for row in rows]
    x = inside.packed([torch.stack(t) for t in zip(*rows)])
    return inside, x, [torch.stack(t) for t in zip(*made)]


def tolerance_of(op):
    """op_db's own: that of float32, and what it says of an operation in one of its tests."""
    rtol, atol = 1.3e-6, 1e-5
    for decorator in op.decorators:
        for inside in getattr(decorator, "decorators", [decorator]):
            own = getattr(inside, "d", {}).get(torch.float32)
            if own is not None:
                rtol, atol = max(rtol, own.rtol), max(atol, own.atol)
    return rtol, atol


def check(form, tolerance):
    """Whether a module makes what PyTorch makes; its errors are those of the capture."""
    try:
        inside, x, made = form()
        network = Network(inside, x.shape[1:]).train()
        scores = network(x)
        made = [t for t in tensors_of(made) if t.is_floating_point()]
        whole = torch.cat([t.reshape(len(x), -1) for t in made], 1)
        if any(not torch.equal(scores.nan_to_num(), network(x).nan_to_num()) for _ in range(3)):
            raise NoBatchError("numbers that are drawn")
        batches = scores[:, : whole.shape[1]]
        if scores.shape[1] < 2 or not torch.allclose(batches, whole, 1e-4, 1e-4, equal_nan=True):
            raise NoBatchError("other numbers with a batch")
    except (RuntimeError, IndexError, ValueError, TypeError, AttributeError) as error:
        raise NoBatchError(str(error)) from error
    if not bool(torch.isfinite(scores).all()):
        raise NoBatchError("results that are no finite numbers")
    if x.ndim > 5:
        raise NoBatchError("more dimensions than fields have")
    y = torch.arange(len(x)) % scores.shape[1]
    try:
        F.cross_entropy(scores, y).backward()
    except RuntimeError as error:  # of sparse gradients
        raise NoBatchError(str(error)) from error
    slopes = {n: p.grad for n, p in network.named_parameters() if p.grad is not None}
    slopes = {n: g.to_dense() if g.is_sparse else g for n, g in slopes.items()}
    compare(captured(network, x), x, y, scores.detach(), slopes, tolerance)


def captured(network, x):
    try:
        return ht.capture(network, (x,))
    except hu.UnsupportedError as error:
        if "torch.export cannot follow" in str(error):  # arguments that fit this batch alone
            raise NoBatchError(str(error)) from error
        raise


def compare(net, x, y, scores, slopes, tolerance):
    given = x.permute(0, 2, 3, 1).contiguous() if x.ndim == 4 else x
    fields = [hu.Field("image", tuple(given.shape[1:])), hu.Field("label", classes=scores.shape[1])]
    head = re.search(r"^head: (.*)$", net.text, re.MULTILINE).group(1)
    weights = [w for w in net.weights.values() if w.torch_name in slopes]
    keys = {"samples": len(x), "batch": len(x), "steps": 1, "threads": 1, "task_smoothing": 0.0}
    with hu.Trainer(net, fields=fields, optimizer="sgd", lr_base=0.0, **keys) as trainer:
        trainer.watch(f"{head}.out", *(f"{w.name}.grad" for w in weights))
        trainer.step(given.numpy(), y.numpy())
        found = trainer.tensor(f"{head}.out", rounded=False)
        own = [trainer.tensor(f"{w.name}.grad", rounded=False) for w in weights]
    close = torch.testing.assert_close
    rtol, atol = tolerance
    most = max(atol, rtol * float(scores.abs().max()))  # where numbers cancel
    close(torch.from_numpy(np.array(found)), scores, rtol=rtol, atol=most)
    assert {w.torch_name for w in weights} == set(slopes)
    for weight, mine in zip(weights, own):
        mine = mine.sum(0) if mine.ndim > len(weight.shape) else mine  # one for each use
        slope = slopes[weight.torch_name]
        slope = (slope.permute(weight.order) if weight.is_turned else slope).reshape(weight.shape)
        if bool(torch.isfinite(slope).all()):
            most = max(1e-5, 1e-5 * float(slope.abs().max()))
            close(torch.from_numpy(np.array(mine)), slope, rtol=1e-5, atol=most)


def reason_of(error):
    lines = str(error).splitlines()
    return re.sub(r"^[^:]*: ", "", lines[1].strip()) if len(lines) > 1 else lines[0]


def samples_of(op, most=MOST):
    """Those with numbers, from all of them."""
    found = [
        s
        for s in op.sample_inputs("cpu", torch.float32)
        if all(t.numel() for t in tensors_of([s.input, s.args, s.kwargs]))
        and any(t.is_floating_point() for t in tensors_of([s.input, s.args, s.kwargs]))
    ]
    if most is None or len(found) <= most:
        return found
    return [found[i] for i in sorted(random.Random(most).sample(range(len(found)), most))]


def tried(op, most=MOST):
    """How many modules are taken; why others are refused, or left out."""
    taken, refused, left = 0, [], []
    for sample in samples_of(op, most):
        for form in forms_of(op, sample):
            try:
                check(form, tolerance_of(op))
                taken += 1
            except NoBatchError as why:
                left.append(str(why))
            except hu.UnsupportedError as error:
                refused.append(reason_of(error))
    return taken, refused, left


def name_of(op):
    return f"{op.name}:{op.variant_test_name}" if op.variant_test_name else op.name


REACHED, TRIED = set(), set()


class Noted(dict):
    """Handlers, of which those that are asked for are noted."""

    def get(self, name, default=None):
        if name in self:
            REACHED.add(name)
        return super().get(name, default)


@pytest.mark.parametrize("name", FOUND)
def test_samples_are_pytorchs(name, monkeypatch):
    monkeypatch.setattr(sys.modules["halfulp.torch.capture"], "HANDLERS", Noted(HANDLERS))
    found = [op for op in op_db if name_of(op) == name]
    if not found:
        pytest.skip("not in the op_db of this PyTorch")
    taken, refused, left = tried(found[0])
    TRIED.add(name)
    assert taken
    if MOST is not None and torch.__version__.startswith("2.15."):
        assert (taken, len(refused), len(left)) == FOUND[name], (refused, left)


def test_every_handler_is_reached():
    if set(FOUND) != TRIED:
        pytest.skip("some operations are not tried")
    left = {
        name
        for name, handler in HANDLERS.items()
        if not any(HANDLERS[other] is handler for other in REACHED)
    }
    assert {name.partition(".")[0].rstrip("_") for name in left} == ELSEWHERE
