"""What differs between releases of PyTorch, decided here alone.

From `OPERATIONS_FROM` on the library's kernels are operations that PyTorch knows by name, so that
`torch.compile` and `torch.export` go through them; before, they are functions of autograd with the
same bits and gradients. `EXPORT_FROM` is the first whose export keeps a training as it is: earlier
ones take norms apart and leave out what is written in place. docs/results/pytorch.md has the
releases that were run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..errors import UnsupportedError

LEAST, GROUPS_FROM, OPERATIONS_FROM, EXPORT_FROM = (1, 13), (2, 1), (2, 4), (2, 5)
_EXPORT_TRAINS = (2, 6)


def _release() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", torch.__version__)
    return (int(found[1]), int(found[2])) if found else LEAST


RELEASE = _release()
HAS_OPERATIONS = RELEASE >= OPERATIONS_FROM
HAS_EXPORT = RELEASE >= EXPORT_FROM


def _text(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))


def check_release() -> None:
    """Refuse a release that is too old, and one that cannot read the arrays of this NumPy."""
    if RELEASE < LEAST:
        raise UnsupportedError(
            f"halfulp.torch: found PyTorch {torch.__version__}, expected {_text(LEAST)} or newer"
        )
    try:
        torch.from_numpy(np.zeros(1, np.float32))
    except RuntimeError as error:
        raise UnsupportedError(
            f"halfulp.torch: found NumPy {np.__version__} beside PyTorch {torch.__version__}, "
            f"which cannot read its arrays ({error}), expected an older NumPy: "
            "pip install 'numpy<2' would help, or PyTorch 2.3 or newer"
        ) from None


def check_export(who: str) -> None:
    """Refuse what needs a network that is followed, where PyTorch cannot follow it."""
    if not HAS_EXPORT:
        needed = _text(EXPORT_FROM)
        raise UnsupportedError(
            f"{who}: found PyTorch {torch.__version__}, expected {needed} or newer, whose "
            f"torch.export can follow a module in training: pip install 'torch>={needed}' would "
            "help; ht.apply rounds modules by hooks here"
        )


def exported(model: Any, args: Sequence[Any], keys: Mapping[str, Any]) -> Any:
    """The module's operations, with what they do in training."""
    is_apart = RELEASE < _EXPORT_TRAINS  # there the usual one is as before EXPORT_FROM
    follow = torch.export.export_for_training if is_apart else torch.export.export
    return follow(model, tuple(args), dict(keys))


def new_group(**given: Any) -> Any:
    """A process group; of some processes it is made by those alone, from `GROUPS_FROM` on."""
    if "ranks" in given and RELEASE < GROUPS_FROM:
        raise UnsupportedError(
            f"ddp_hook: found a group of some processes and PyTorch {torch.__version__}, expected "
            f"all processes, or {_text(GROUPS_FROM)} or newer"
        )
    return torch.distributed.new_group(**given)


def is_compiling() -> bool:
    """Whether torch.compile follows this call."""
    return HAS_OPERATIONS and bool(torch.compiler.is_compiling())


def functional_call(
    module: Any, copies: Mapping[str, Any], inputs: Sequence[Any], keys: Mapping[str, Any]
) -> Any:
    """The module with other tensors in the place of parameters, tied ones too."""
    if hasattr(torch, "func"):
        return torch.func.functional_call(module, dict(copies), tuple(inputs), dict(keys))
    from torch.nn.utils import stateless

    own = dict(module.named_parameters())
    named = {
        f"{path}.{name}" if path else name: parameter
        for path, part in module.named_modules(remove_duplicate=False)
        for name, parameter in part._parameters.items()
    }
    made = {id(own[name]): copy for name, copy in copies.items()}
    every = {name: made[id(p)] for name, p in named.items() if id(p) in made}
    return stateless.functional_call(module, every, tuple(inputs), dict(keys))


def operation(
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    *,
    mutates: Sequence[str] = (),
    keep: Callable[[Any, Any, Any], None] | None = None,
    slope: Callable[..., Any] | None = None,
) -> Any:
    """A kernel as an operation of PyTorch.

    Parameters
    ----------
    schema : str
        "halfulp::NAME(ARGUMENTS) -> Tensor".
    kernel : function
        What it does to tensors.
    fake : function
        A tensor of the result's shape and strides.
    mutates : sequence of str
        Arguments that it writes into.
    keep, slope : function of a context, optional
        What is kept of (inputs, output) for the backward pass, and the gradients of the inputs for
        that of the output; without slope it has none.

    Returns
    -------
    function
        Of the arguments in turn: `torch.ops.halfulp.NAME` where PyTorch has such operations.
    """
    if not HAS_OPERATIONS:
        return _function(kernel, keep, slope)
    name, _, rest = schema.partition("(")
    made = torch.library.custom_op(name, kernel, mutates_args=tuple(mutates), schema=f"({rest}")
    made.register_fake(fake)
    if slope is not None:
        made.register_autograd(slope, setup_context=keep)
    return getattr(torch.ops.halfulp, name.partition("::")[2])


def _function(kernel: Any, keep: Any, slope: Any) -> Any:
    class Operation(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            made = kernel(*inputs)
            if keep is not None:
                keep(ctx, inputs, made)
            return made

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return slope(ctx, g)

    if slope is not None:
        return Operation.apply

    def without_gradient(*inputs: Any) -> Any:
        with torch.no_grad():
            return kernel(*inputs)

    return without_gradient
