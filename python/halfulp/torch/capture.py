"""A module of PyTorch as a network of halfulp: `capture`.

`torch.export` gives the operations, with the names of modules and parameters; the table of
`_table.py` says what each becomes. The result is a network file, which the program trains as well.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy
import torch

from ..errors import ArgumentError, DtypeError, Error, UnsupportedError, path_text
from ..networks import Net, Value
from ..program import write_whole
from . import (  # noqa: F401 - they enter their handlers
    _attention,
    _elements,
    _matmul,
    _norms,
    _places,
    _pools,
    _products,
    _recurrences,
    _shapes,
)
from ._graph import (
    Constant,
    Graph,
    Node,
    Noise,
    Output,
    Parameter,
    RefusalError,
    Tensor,
    Unknown,
    Weight,
)
from ._inputs import Calls, Inputs
from ._modes import asks, is_same, set_modes
from ._release import check_export, exported
from ._table import COPING, HANDLERS, axis_of, in_places
from ._views import Axis, View, ViewError, extent
from ._writes import is_in_place, memory_of, written

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH = 61  # samples while it is captured: no extent of usual networks


@dataclass
class Lowering:
    """What handlers work on.

    Attributes
    ----------
    computed : dict of str to Output
        Of parameters that are read as values.
    shared : set of str
        Parameters that several operations read.
    constants : dict of str to numpy.ndarray
        By the name of the node that gives them to every sample.
    """

    graph: Graph
    batch: Axis
    computed: dict[str, Output] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    constants: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    given: dict[Any, Output] = field(default_factory=dict)

    def constant(self, op: str, name: str, numbers: Any, shape: Sequence[int]) -> Output:
        """A value of numbers that do not learn; those that are there already once more."""
        if numbers.is_complex():
            raise RefusalError("complex numbers, which no network has")
        if not bool(torch.isfinite(numbers).all()):
            raise RefusalError("a constant with numbers that are not finite")
        array = np.ascontiguousarray(numbers.to("cpu", torch.float32).numpy()).reshape(shape)
        key = (op, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self.given:
            made = self.graph.one(op, f"{name}.{op}", [], shape="x".join(map(str, shape)))
            self.constants[made.name] = array
            self.given[key] = made
        return self.given[key]


class Captured(Net):
    """A network that was a module of PyTorch, with its weights.

    Attributes
    ----------
    weights : dict of str to Weight
        By name here: the parameter or statistic of PyTorch that it is.
    constants : dict of str to numpy.ndarray
        Numbers that the module works out without its input, by the name of their node.
    notes : list of str
        What was left out: further outputs, statistics that nothing reads.
    fixed : list of str
        Parameters without requires_grad, by PyTorch's names; they are trained.
    text : str
        The network file.
    task : str
        What the output is for.
    nodes : list of Node
        Its operations in turn, a recurrence as one.
    inputs : tuple
        Of each its name, the shape of a sample here, and whether it has ids.
    """

    weights: dict[str, Weight]
    constants: dict[str, NDArray[np.float32]]
    notes: list[str]
    fixed: list[str]
    text: str
    task: str
    nodes: list[Node]
    inputs: tuple[tuple[str, tuple[int, ...], bool], ...]  # name, shape of a sample, of ids
    _module: Any
    _calls: Calls
    _head: str
    _head_shape: tuple[int, ...]  # without the batch; of an image [H, W, C]

    def initial(self) -> dict[str, NDArray[np.float32]]:
        """The module's weights now, by the names and in the orders that a `Trainer` has.

        Returns
        -------
        dict of str to numpy.ndarray
            float32.
        """
        state = {**dict(self._module.named_parameters()), **dict(self._module.named_buffers())}
        found = {}
        for weight in self.weights.values():
            tensor = state[weight.torch_name].detach().to("cpu", torch.float32)
            found[weight.name] = np.ascontiguousarray(weight.ours(tensor).numpy())
        return {**found, **self.constants}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network as a file, and the module's weights as safetensors beside it.

        Parameters
        ----------
        path : path
            "mine.yaml": the weights are in mine.safetensors, which its key `weights` names.

        Raises
        ------
        StorageError
            It cannot be written.
        """
        target = path_text(path, "path")
        beside = os.path.splitext(target)[0] + ".safetensors"
        write_whole(beside, self._stored())
        write_whole(target, self._text_with(os.path.basename(beside)))

    def _file_in(self, folder: str) -> bytes:
        """The weights are in the folder, called by what they are."""
        weights = self._stored()
        beside = f"weights-{hashlib.sha256(weights).hexdigest()[:16]}.safetensors"
        write_whole(os.path.join(folder, beside), weights)
        return self._text_with(beside)

    def _text_with(self, weights: str) -> bytes:
        return f"{self.text}weights: {json.dumps(weights)}\n".encode()

    def _stored(self) -> bytes:
        """The weights as a safetensors file, in PyTorch's orders, which halfulp reads."""
        arrays = self.initial()
        for weight in self.weights.values():
            if weight.is_filter:
                turned = arrays[weight.name].transpose(weight.back)
                arrays[weight.name] = np.ascontiguousarray(turned)
        return bytes(safetensors.numpy.save(arrays))


def write_back(net: Captured, weights: Mapping[str, NDArray[np.float32]], module: Any) -> None:
    """Numbers of a `Trainer` into a module: the one that was captured, or one of its kind."""
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for name in (w.torch_name for w in net.weights.values()):
        if name not in state:
            raise ArgumentError(
                f"module: found none called {name}, expected a module as it was captured"
            )
    with torch.no_grad():
        for weight in net.weights.values():
            target = state[weight.torch_name]
            array = torch.from_numpy(np.array(weights[weight.name]))
            target.copy_(weight.theirs(array, target.shape))


def capture(
    model: Any,
    example_inputs: Sequence[Any] | Mapping[str, Any],
    *,
    task: str = "classify",
    name: str | None = None,
) -> Captured:
    """The module as a network that halfulp trains, with the module's weights.

    Parameters
    ----------
    model : torch.nn.Module
        In the mode of training, whatever mode it is in: norms use the batch, dropout drops.
    example_inputs : tuple of Tensor, or dict of str to Tensor
        One batch, whose numbers do not matter: its first dimension is of samples. By place, or by
        the names that `forward` has; the inputs of the network are in forward's order.
    task : str
        What the output is for, as in network files.
    name : str, optional
        Of the network; else the module's class.

    Returns
    -------
    Captured
        A `Net`: for `hu.Trainer`, `hu.train` and `save`.

    Raises
    ------
    UnsupportedError
        All operations that the network cannot have, each with its module and what would help.
    DtypeError
        No module, or inputs that are no tensors.
    """
    return captured(model, example_inputs, task, name or type(model).__name__)


def captured(
    model: Any, example_inputs: Any, task: str, name: str, evaluates: bool = False
) -> Captured:
    """As `capture`; evaluates: modules that ask for their mode are told that it is evaluation."""
    if not isinstance(model, torch.nn.Module):
        raise DtypeError(f"model: found {type(model).__name__}, expected a torch.nn.Module")
    inputs = Inputs(model, example_inputs)
    if not inputs.all or not all(isinstance(x, torch.Tensor) for x in inputs.all):
        raise DtypeError(
            "example_inputs: found what is no tensor, expected tensors in a tuple, or in a dict by "
            "the names of forward: one batch"
        )
    for number, example in enumerate(inputs.all):
        if example.ndim == 0 or example.shape[0] == 0 or example.is_complex():
            raise DtypeError(
                f"example_inputs[{number}]: found {example.dtype} of shape {tuple(example.shape)}, "
                "expected real numbers of at least one sample"
            )
    check_export(f"ht.capture of {type(model).__name__}")
    program = _exported(model, inputs, evaluates)
    net = _lowered(model, program, task, name)
    net._calls = Calls(model, inputs)
    return net


def evaluated(model: Any, example_inputs: Any, net: Captured) -> tuple[Captured | None, str]:
    """What a captured module does in evaluation, where its own code asks for the mode.

    Returns
    -------
    Captured or None
        None: the same as in training.
    str
        Why it could not be captured; else nothing.
    """
    if not any(map(asks, model.modules())):
        return None, ""
    try:
        found = captured(model, example_inputs, net.task, type(model).__name__, evaluates=True)
    except UnsupportedError as refusal:
        return None, f"in evaluation it does what it does in training, for: {refusal}"
    return (None, "") if is_same(net, found) else (found, "")


def fixed_note(names: Sequence[str]) -> str:
    """What a capture says of parameters that PyTorch would not train."""
    return f"parameters without requires_grad, which are trained here: {', '.join(names)}"


_CONTROL = "control flow that depends on numbers has no place in a network of fixed operations"
_EXPORT_HELP = (  # by words of PyTorch's errors
    ("data-dependent", _CONTROL),
    ("uninitialized parameter", "module(*example_inputs) before would help"),
    ("argument", "expected example_inputs as forward takes them, each a tensor"),
    (".numpy()", "operations of PyTorch in its place would help"),
)
_OF_BATCH = (
    f"it is tried with {BATCH} samples, whatever the example has: no shape or number in it may "
    "be that of one batch"
)


def _exported(model: Any, inputs: Inputs, evaluates: bool) -> Any:
    batch = inputs.each(lambda x: x.detach()[:1].expand(BATCH, *x.shape[1:]).clone())
    before = [(m, m.training) for m in model.modules()]
    set_modes(model, evaluates)
    try:
        return exported(model, batch.args, batch.keys)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = lines[0] if lines else repr(error)
        advice = next((advice for word, advice in _EXPORT_HELP if word in text), _OF_BATCH)
        raise UnsupportedError(
            f"{type(model).__name__}: torch.export cannot follow it: {text.rstrip('.')}; {advice}"
        ) from error
    finally:
        for module, mode in before:
            module.training = mode


class _Walk:
    """The nodes of an exported program in turn."""

    def __init__(self, model: Any, program: Any, task: str) -> None:
        self.program, self.task = program, task
        self.work = Lowering(Graph(), Axis(BATCH, "batch"))
        self.values: dict[Any, Any] = {}
        self.refused: list[str] = []
        self.given: set[Any] = set()  # nodes of the module's inputs
        self.memory = memory_of(program.graph)
        self.inputs: list[tuple[str, tuple[int, ...], bool]] = []
        first: dict[int, str] = {}  # of parameters that are tied: one name
        self.tied = {
            n: first.setdefault(id(p), n) for n, p in model.named_parameters(remove_duplicate=False)
        }
        self.placeholders()

    def placeholders(self) -> None:
        signature = self.program.graph_signature
        parameters = signature.inputs_to_parameters
        buffers = {
            **signature.inputs_to_buffers,
            **getattr(signature, "inputs_to_lifted_tensor_constants", {}),
        }
        seen: set[str] = set()
        stored = {**self.program.state_dict, **self.program.constants}
        for node in self.program.graph.nodes:
            if node.op != "placeholder":
                continue
            if node.name in parameters:
                name = self.tied[parameters[node.name]]
                if _readers(node) > 1 or name in seen:
                    self.work.shared.add(name)
                seen.add(name)
                self.values[node] = _parameter(name, node.meta["val"].shape)
            elif node.name in buffers:
                name = buffers[node.name]
                is_statistic = any(_op_of(user).startswith("batch_norm.") for user in node.users)
                self.values[node] = (
                    _parameter(name, node.meta["val"].shape)
                    if is_statistic
                    else Constant(
                        stored[name].detach().clone(), name if self.is_written(node) else ""
                    )
                )
            else:
                self.given.add(node)
                self.values[node] = self.input(node.meta["val"])

    def input(self, example: Any) -> Tensor:
        shape = tuple(int(s) for s in example.shape[1:])
        axes = [axis_of(s) for s in shape]
        is_image = len(shape) == 3
        order = (1, 2, 0) if is_image else tuple(range(len(shape)))
        own = tuple(shape[d] for d in order) or (1,)
        first = "tokens" if self.task in _OF_TOKENS else "input"
        name = first if not self.inputs else f"input{len(self.inputs) + 1}"
        self.work.graph.names.add(name)
        self.inputs.append((name, own, not example.is_floating_point()))
        storage = tuple(axis for d in order for axis in axes[d])
        return Tensor(Output(name, own), View(((self.work.batch,), *axes), storage))

    def run(self) -> Any:
        for node in self.program.graph.nodes:
            if node.op == "output":
                return node.args[0]
            if node.op == "call_function":
                self.values[node] = self.call(node)
            if node.op == "get_attr":
                self.values[node] = None  # a branch of control flow
        raise AssertionError("an exported graph without an output")

    def call(self, node: Any) -> Any:
        op = _op_of(node)
        args = torch.fx.node.map_arg(node.args, lambda n: self.values[n])
        keys = dict(torch.fx.node.map_arg(node.kwargs, lambda n: self.values[n]))
        if node.target is operator.getitem:
            return args[0] if isinstance(args[0], Unknown) else args[0][args[1]]
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            self.refused.append(f"{self.where(node)}: {op}: {_CONTROL}")
            return Unknown()
        if not isinstance(node.target, torch._ops.OpOverload):
            return None  # of extents that are worked out while it runs
        flat = [
            a
            for arg in (*args, *keys.values())
            for a in (arg if isinstance(arg, (list, tuple)) else [arg])
        ]
        try:
            if unknown := [a for a in flat if isinstance(a, Unknown)]:
                if unknown[0].reason:
                    raise RefusalError(unknown[0].reason)
                return Unknown()
            made = self.made(node, op, _filled(node, args, keys), keys, flat)
            if isinstance(made, Tensor) and made.view.axes.count(self.work.batch) > 1:
                raise RefusalError("each sample beside each of the others")
            if is_in_place(node):
                self.write(node, made)
        except (RefusalError, ViewError, Error) as refusal:
            self.refused.append(f"{self.where(node)}: {op}: {refusal}")
            return Unknown()
        return made

    def write(self, node: Any, made: Any) -> None:
        """Later readers see what was written."""
        memory = self.memory[node.args[0]]
        if memory[0] in self.given:
            raise RefusalError("it writes into what the module was given; a copy would help")
        owner = self.values[memory[0]]
        if isinstance(owner, Parameter) and memory[0].op == "placeholder":
            raise RefusalError("it writes into a parameter; a copy would help")
        if isinstance(owner, Constant) and isinstance(made, Constant):
            self.values[node.args[0]] = made  # PyTorch has written it
            return
        written(self.work, self.name(node), node, made, memory, self.values)

    def is_written(self, node: Any) -> bool:
        """Whether an operation writes into the memory of a node."""
        return any(is_in_place(other) for other in self.memory[node])

    def made(self, node: Any, op: str, args: Any, keys: Any, flat: Sequence[Any]) -> Any:
        if op.startswith(("_assert", "sym_")):
            return None
        if any(t.is_complex() for t in _tensors(node.meta.get("val"))):
            raise RefusalError("complex numbers, which no network has; two real values would help")
        if op.startswith("empty."):
            return Noise(tuple(node.meta["val"].shape))
        if op.startswith("div_.") and isinstance(args[0], Noise):
            return replace(args[0], divided=float(args[1]))
        if not any(isinstance(a, (Tensor, Parameter, Noise)) for a in flat):
            return self.constant(node, args, keys)
        if op.partition(".")[0] in _FILLED:  # which reads a shape alone
            return self.constant(node, (Constant(torch.zeros(args[0].view.shape)), *args[1:]), keys)
        if changing := [a.buffer for a in flat if isinstance(a, Constant) and a.buffer]:
            raise RefusalError(
                f"the buffer {changing[0]}, which the module writes in every step; of such numbers "
                "a network has the running statistics of batch norms"
            )
        if _is_cut(node):
            raise RefusalError(f"numbers cut to {node.meta['val'].dtype}, which no network has")
        handler = HANDLERS.get(op)
        if handler is None:
            near = ", ".join(sorted({n for n in HANDLERS if n.split(".")[0] == op.split(".")[0]}))
            raise RefusalError(f"no operation of halfulp is this{f' (but {near})' if near else ''}")
        if handler not in COPING:
            args = _each(args, lambda t: in_places(self.work, self.name(node), t))
        return handler(self.work, self.name(node), *args, **keys)

    def constant(self, node: Any, args: Any, keys: Any) -> Any:
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            raise RefusalError("numbers that are drawn; nn.Dropout would help")

        def plain(value: Any) -> Any:
            if isinstance(value, Constant):
                return value.tensor  # itself: what is written into a view is seen in all
            if isinstance(value, (list, tuple)):
                return type(value)(plain(v) for v in value)
            return value

        parts = [n for n in node.all_input_nodes if isinstance(self.values[n], Constant)]
        buffer = next((b for n in parts if (b := self.values[n].buffer)), "")

        def known(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return Constant(value, buffer)
            return [known(v) for v in value] if isinstance(value, (list, tuple)) else value

        return known(node.target(*plain(args), **{k: plain(v) for k, v in keys.items()}))

    def where(self, node: Any) -> str:
        """The module that calls the operation."""
        path, kind = _module_of(node)
        return f"{path or 'the module'} ({kind.rpartition('.')[2]})"

    def name(self, node: Any) -> str:
        """Of a node without parameters: its module's path where that is not all of the network."""
        path, kind = _module_of(node)
        op = _op_of(node).partition(".")[0].strip("_")
        is_leaf = kind.startswith("torch.nn.modules.")
        if path and is_leaf and path not in self.work.graph.names:
            return path
        return f"{path}.{op}" if path else op


def _readers(node: Any) -> int:
    """How many operations read a parameter, itself or through views of it."""
    return sum(
        _readers(user) if _op_of(user).partition(".")[0] in _VIEWS else 1 for user in node.users
    )


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def _each(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Arguments with tensors that are changed."""
    if isinstance(value, (list, tuple)):
        return type(value)(_each(v, change) for v in value)
    return change(value) if isinstance(value, Tensor) else value


def _filled(node: Any, args: Any, keys: dict[str, Any]) -> Any:
    """Arguments in the places of the operation's schema; `keys` keeps those by name alone."""
    places = [a for a in node.target._schema.arguments if not a.kwarg_only]
    count = max((n + 1 for n, a in enumerate(places) if a.name in keys), default=len(args))
    return (*args, *(keys.pop(a.name, a.default_value) for a in places[len(args) : count]))


def _is_cut(node: Any) -> bool:
    """Whether it makes whole numbers of others, which no network has."""
    if node.target.name().removeprefix("aten::").partition(".")[0] not in _CASTS:
        return False
    given, made = node.args[0].meta["val"], node.meta["val"]
    return bool(given.is_floating_point() and not made.is_floating_point())


_OF_TOKENS = ("language", "classify_text")  # tasks whose input has that name
_VIEWS = ("expand", "view", "reshape", "permute", "transpose", "t", "unsqueeze", "squeeze", "slice")
_FILLED = ("new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like")
_CASTS = ("to", "_to_copy", "type_as")


def _op_of(node: Any) -> str:
    return str(node.target).removeprefix("aten.")


def _module_of(node: Any) -> tuple[str, str]:
    """Path and class of the innermost module that calls the operation."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path, kind = stack[-1] if stack else ("", "")
    return str(path), kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def _parameter(name: str, shape: Sequence[int]) -> Parameter:
    axes = [axis_of(int(s)) for s in shape]
    return Parameter(name, View(axes, tuple(axis for dim in axes for axis in dim)))


def _lowered(model: Any, program: Any, task: str, name: str) -> Captured:
    walk = _Walk(model, program, task)
    outputs = walk.run()
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    mutated = set(program.graph_signature.buffers_to_mutate) | set(
        program.graph_signature.user_inputs_to_mutate
    )
    results = [
        walk.values[node]
        for node in outputs
        if isinstance(node, torch.fx.Node) and node.name not in mutated
    ]
    results = [r for r in results if isinstance(r, (Tensor, Unknown))]
    if walk.refused:
        raise UnsupportedError(
            f"{type(model).__name__}: found {len(walk.refused)} operations that have no place in a "
            "network of halfulp:\n  " + "\n  ".join(walk.refused)
        )
    if not results:
        raise UnsupportedError(
            f"{type(model).__name__}: it has no output that depends on its input"
        )
    head = results[0]
    notes = [f"{len(results) - 1} further outputs"] if len(results) > 1 else []
    try:
        return _net(model, walk, head, task, name, notes)
    except (RefusalError, ViewError) as refusal:
        raise UnsupportedError(
            f"{type(model).__name__}: its output: {refusal}; expected one row for each sample"
        ) from refusal


def _net(model: Any, walk: _Walk, head: Tensor, task: str, name: str, notes: list[str]) -> Captured:
    graph = walk.work.graph
    head = in_places(walk.work, "head", head)
    dims = head.view.dims[1:]
    if len(dims) == 3:  # an image: its channels are the last
        dims = (*dims[1:], dims[0])
    made = graph.lay(head, dims or [()], "head")
    lines = [
        "halfulp_network: 1",
        f"name: {''.join(c if c.isalnum() or c in '_-' else '_' for c in name)}",
        f"task: {task}",
        "inputs:",
    ]
    for value, shape, is_ids in walk.inputs:
        kind = "ids" if is_ids else f"[{', '.join(map(str, shape))}]"
        lines.append(f"  {value}: {kind}")
    lines += ["nodes:", *(f"  - {line}" for line in graph.lines), f"head: {made.name}", ""]
    text = "\n".join(lines)
    place = tempfile.mkdtemp(prefix="halfulp-")
    path = os.path.join(place, "network.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    net: Captured = Captured.load(path)  # type: ignore[assignment]
    # The library reads the file once more when a training is opened.
    weakref.finalize(net, shutil.rmtree, place, True)
    used = {w.torch_name for w in graph.weights.values()}
    left = [n for n, _ in model.named_parameters() if n not in used]
    if left:
        notes.append(f"parameters that the first output does not read: {', '.join(left)}")
    net.fixed = [n for n, p in model.named_parameters() if n in used and not p.requires_grad]
    if net.fixed:
        notes.append(fixed_note(net.fixed))
    kinds = {p.dtype for p in model.parameters()} - {torch.float32}
    if kinds:
        notes.append(f"parameters of {', '.join(sorted(map(str, kinds)))}, which are float32 here")
    net.weights, net.constants = graph.weights, walk.work.constants
    net.notes, net.text, net._module = notes, text, model
    net.nodes, net.inputs, net.task = list(graph.nodes.values()), tuple(walk.inputs), task
    net._head, net._head_shape = made.name, tuple(map(extent, dims))
    value, shape, is_ids = walk.inputs[0]
    if not is_ids:
        net.input = Value(net, value, shape, 0)
    net._classes = made.shape[-1] if task == "classify" else None
    return net
