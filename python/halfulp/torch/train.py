"""A module of PyTorch trained by halfulp's engine: `train`."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..data import Dataset, Field
from ..errors import ArgumentError, DtypeError, ShapeError, UnsupportedError
from ..training import Step, Trainer
from .capture import Captured, capture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..plans import Plan

_TASKS = {
    "classify": ("image", "label"),
    "classify_text": ("tokens", "label"),
    "segment": ("image", "mask"),
    "language": ("tokens", "targets"),
}
_LOSSES = (torch.nn.functional.cross_entropy, torch.nn.functional.nll_loss)


def train(
    model: Any,
    dataset: Any,
    *,
    precision: str | Plan = "hfp8",
    epochs: int = 1,
    batch: int = 128,
    loss: Any = "cross_entropy",
    task: str = "classify",
    test: Any = None,
    seed: int = 1,
    on_step: Callable[[Step], object] | None = None,
    **keys: Any,
) -> Any:
    """Train a module by halfulp, packed in any format, and give it back.

    Parameters
    ----------
    model : torch.nn.Module
        As `capture` takes it; its parameters are where the training begins.
    dataset : torch.utils.data.Dataset or DataLoader
        Of pairs (x, y): [C, H, W] and a class; tokens [T] and tokens; for `segment` a class for
        each pixel. Of a Dataset batches are drawn at random by `seed`, the last may be smaller; a
        DataLoader is asked once for each epoch.
    precision : str or Plan
        Also a plan of `hu.Plan.of(model=net)`.
    epochs : int
    batch : int
        Samples of a step, of a Dataset.
    loss : str or function
        "cross_entropy", `torch.nn.functional.cross_entropy`, `torch.nn.CrossEntropyLoss()`, also
        with label_smoothing; behind a log-softmax `nll_loss`.
    task : str
        "classify", "classify_text", "segment" or "language".
    test : Dataset, optional
        Samples that the run folder's metrics are of: `run_dir=` needs them; held in memory.
    seed : int
        Of the order of samples, and of the training.
    on_step : function of a Step, optional
        Called after every step.
    **keys
        As `hu.Trainer` takes them: `optimizer="adamw"`, `lr_base=0.001`, `run_dir="FOLDER"`, ...

    Returns
    -------
    torch.nn.Module
        The model, with the weights of the last step, also where an error or an interrupt ended it.

    Raises
    ------
    UnsupportedError
        As `capture`, with all reasons; another loss.
    ShapeError, DtypeError
        Samples of other shapes.
    NonFiniteError
        The training has diverged.

    Examples
    --------
    >>> import torch
    >>> import halfulp.torch as ht
    >>> x, y = torch.randn(64, 1, 8, 8), torch.randint(0, 2, (64,))
    >>> data = torch.utils.data.TensorDataset(x, y)
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
    >>> trained = ht.train(model, data, precision="hfp8", epochs=1, batch=32, lr_base=0.1)
    >>> trained is model
    True
    """
    if task not in _TASKS:
        raise ArgumentError(f"task: found {task!r}, expected one of {', '.join(_TASKS)}")
    smoothing = _smoothing(loss)
    loader = _loader(dataset, batch, seed)
    if keys.get("run_dir") is not None and test is None:
        raise ArgumentError("run_dir: found no test=, expected samples that the run's tests are of")
    batches = iter(loader)
    first = next(batches, None)
    if first is None:
        raise ShapeError("dataset: found no batch, expected one at least")
    x, _ = _pair(first)
    net = capture(model, (x,), task=task)
    _check(model, net, loss)
    steps = epochs * len(loader)
    fields = fields_of(net)
    sizes = (getattr(loader, "batch_size", None), getattr(loader.batch_sampler, "batch_size", None))
    most = max(int(x.shape[0]), *(int(size or 0) for size in sizes))
    if smoothing:
        keys = {"task_smoothing": smoothing, **keys}
    samples = len(loader.dataset) if hasattr(loader, "dataset") else len(loader) * most
    data = Dataset(fields, train=samples, **_held(test, fields, batch))
    with Trainer(
        net, data, precision=precision, batch=most, steps=steps, seed=seed, **keys
    ) as trainer:
        try:
            for epoch in range(epochs):
                for pair in loader if epoch else itertools.chain([first], batches):
                    made = trainer.step(*_arrays(_pair(pair), fields))
                    if on_step is not None:
                        on_step(made)
        finally:
            trainer.to_torch(model)
    return model


def _check(model: Any, net: Captured, loss: Any) -> None:
    if net.fixed:
        names = ", ".join(net.fixed)
        raise UnsupportedError(
            f"{type(model).__name__}: found parameters without requires_grad ({names}), expected "
            "none: the engine trains all that it reads; ht.apply leaves them as they are"
        )
    is_nll = loss is torch.nn.functional.nll_loss or isinstance(loss, torch.nn.NLLLoss)
    ends = [node.op for node in net.nodes if node.name == net._head]
    if is_nll and ends != ["log_softmax"]:
        raise ArgumentError(
            f"loss: found nll_loss behind {ends[0] if ends else 'the input'}, expected a module "
            "that ends with log_softmax, or cross_entropy"
        )
    for note in net.notes:
        warnings.warn(note, stacklevel=3)


def _loader(dataset: Any, batch: int, seed: int) -> Any:
    is_loader = isinstance(dataset, torch.utils.data.DataLoader)
    kept = dataset.dataset if is_loader else dataset
    if hasattr(kept, "__getitem__") and hasattr(kept, "__len__"):
        if is_loader:
            return dataset
        if not len(dataset):
            raise ShapeError("dataset: found no samples, expected some")
        if not isinstance(batch, int) or batch < 1:
            raise ArgumentError(f"batch: found {batch!r}, expected at least 1")
    else:
        raise DtypeError(
            f"dataset: found {type(dataset).__name__}, expected a Dataset with a length, or a "
            "DataLoader"
        )
    random = torch.Generator().manual_seed(seed)
    return torch.utils.data.DataLoader(dataset, batch, shuffle=True, generator=random)


def _pair(batch: Any) -> tuple[Any, Any]:
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    if not isinstance(batch, Sequence) or len(batch) != 2:
        found = f"{len(batch)} parts" if isinstance(batch, Sequence) else type(batch).__name__
        raise ShapeError(f"dataset: found samples of {found}, expected pairs (x, y)")
    return batch[0], batch[1]


def _smoothing(loss: Any) -> float:
    """Of labels; of a loss that is none of ours an error."""
    if loss in ("cross_entropy", *_LOSSES):
        return 0.0
    is_ours = isinstance(loss, (torch.nn.CrossEntropyLoss, torch.nn.NLLLoss))
    if is_ours and (loss.weight, loss.reduction, loss.ignore_index) == (None, "mean", -100):
        return float(getattr(loss, "label_smoothing", 0.0))
    raise ArgumentError(
        f"loss: found {loss!r}, expected 'cross_entropy', torch's cross_entropy or "
        "CrossEntropyLoss() without weights; other losses: a network file (net.save) with `losses`"
    )


def fields_of(net: Captured) -> list[Field]:
    """What a sample has: what goes in, and what the output is compared with."""
    first, second = _TASKS[net.task]
    name, shape, is_ids = net.inputs[0]
    classes = net._head_shape[-1]
    rest = {"segment": net._head_shape[:-1], "language": shape}.get(net.task, ())
    tables = (node for node in net.nodes if node.op == "embedding" and name in node.inputs)
    words = next((int(node.attributes["words"]) for node in tables), classes)
    taken = Field(first, shape, classes=words) if is_ids else Field(first, shape)
    label = Field(second, rest, classes=classes) if rest else Field(second, classes=classes)
    return [taken, label]


def _arrays(pair: tuple[Any, Any], fields: Sequence[Field]) -> list[NDArray[Any]]:
    x, y = pair
    if x.dim() == 4:
        x = x.permute(0, 2, 3, 1).contiguous()
    if bool((y == -1).any()):
        raise ArgumentError("labels: found -1, expected classes, or -100 for what is not labelled")
    y = torch.where(y == -100, -1, y)
    return [np.asarray(part.detach().cpu().numpy()) for part in (x, y)]


def _held(test: Any, fields: Sequence[Field], batch: int) -> dict[str, Any]:
    if test is None:
        return {}
    pairs: Iterable[Any] = torch.utils.data.DataLoader(test, batch)
    parts = [_arrays(_pair(pair), fields) for pair in pairs]
    return {"test": {f.name: np.concatenate([p[i] for p in parts]) for i, f in enumerate(fields)}}
