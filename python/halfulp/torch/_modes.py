"""What a module does in evaluation, where its own code asks for the mode."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ._graph import Node
    from .capture import Captured

# Layers whose mode the captured network follows by itself.
_FOLLOWED = (torch.nn.modules.batchnorm._NormBase, torch.nn.modules.dropout._DropoutNd)
_NO_NODES = ("dropout", "drop_path")  # nothing in evaluation


def asks(module: Any) -> bool:
    """Whether a module's own code, and not PyTorch's, reads `training`."""
    if isinstance(module, _FOLLOWED):
        return False
    own = (kind for kind in type(module).__mro__ if not kind.__module__.startswith("torch."))
    functions = (value for kind in own for value in vars(kind).values())
    codes = (getattr(function, "__code__", None) for function in functions)
    return any("training" in code.co_names for top in codes for code in _nested(top))


def _nested(code: CodeType | None) -> Iterator[CodeType]:
    if code is not None:
        yield code
        for part in code.co_consts:
            if isinstance(part, CodeType):
                yield from _nested(part)


def set_modes(model: Any, evaluates: bool) -> None:
    """Training; with evaluates the modules that ask for it are told that it is evaluation."""
    model.train()
    if evaluates:
        for module in model.modules():
            module.training = not asks(module)


def is_same(one: Captured, other: Captured) -> bool:
    """Whether two networks do the same, but for what drops in training."""
    numbers: dict[Any, int] = {}  # the same for what is made in the same way
    return _made(one, numbers) == _made(other, numbers)


def _made(net: Captured, numbers: dict[Any, int]) -> int:
    made = {name: numbers.setdefault(name, len(numbers)) for name, _, _ in net.inputs}
    for node in net.nodes:
        inputs = [made[name] for name in node.inputs]
        told = _told(net, node, inputs)
        drops = node.op in _NO_NODES
        made[node.name] = inputs[0] if drops else numbers.setdefault(told, len(numbers))
    return made[net._head]


def _told(net: Captured, node: Node, inputs: list[int]) -> Any:
    own = sorted((kind, weight.torch_name) for kind, weight in node.parameters.items())
    constant = net.constants.get(node.name)
    numbers = b"" if constant is None else constant.tobytes()
    return node.op, repr(sorted(node.attributes.items())), repr(own), numbers, *inputs
