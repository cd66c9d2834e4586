"""Training step by step: `Trainer` takes batches of NumPy arrays and tells all of every tensor.

The bits are those of `halfulp train` with the same keys. Source: include/halfulp/train.h.
"""

from __future__ import annotations

import fnmatch
import json
import os
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._ffi import ffi, lib
from ._inputs import _in_line
from ._sound import Made, told
from .data import Dataset, Field, _all_rows, _c_rows, _declared
from .errors import (
    ArgumentError,
    DtypeError,
    ShapeError,
    char_text,
    check,
    fail,
    path_text,
    text_of,
)
from .formats import _flag
from .networks import Net, _shape_of
from .program import words
from .rounding import Counts, _counts_of
from .runs import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Step:
    """What a step did.

    Attributes
    ----------
    step, epoch : int
        From 0.
    samples : int
        Of the batch.
    loss : float
        Mean over the batch; NaN: nothing is labelled.
    metric : float
        The task's first metric over the batch; NaN: not known.
    lr : float
        Learning rate.
    gradient_norm : float
        L2, of the unscaled gradient, before clipping; NaN: not finite.
    low_ratio : float
        Share of the elements of all tensors in low precision.
    scale : float
        Loss scale used.
    skipped : bool
        A gradient was not finite: the weights stay; of a model that learns in turns those of the
        turn.
    promoted : int
        Tensors that went to a wider format so far.
    culprit : str
        The tensor in which a number that is not finite appeared first; "": none.
    """

    step: int
    epoch: int
    samples: int
    loss: float
    metric: float
    lr: float
    gradient_norm: float
    low_ratio: float
    scale: float
    skipped: bool
    promoted: int
    culprit: str


@dataclass(frozen=True)
class Tensor:
    """A tensor of a training.

    Attributes
    ----------
    name : str
        "conv1.out", "conv1.out.grad", "conv1.weight", ...
    role : str
        "input", "target", "activation", "parameter", "statistic", "gradient".
    format : str
        How it is rounded now, for `hu.Quantization`; "float32": it is not.
    shape : tuple of int
        Of one sample; of a parameter and its gradient of all of it.
    has_samples : bool
        There is one for each sample of a batch.
    parts : int
        Of a gradient one for each consumer of the value, else 1; 0: nobody makes it.
    """

    name: str
    role: str
    format: str
    shape: tuple[int, ...]
    has_samples: bool
    parts: int


def _settings(words: Iterable[str]) -> tuple[Any, int, list[Any]]:
    pairs = [word.partition("=") for word in words]
    made = ffi.new("hu_setting[]", max(len(pairs), 1))
    kept = []
    for c, (key, _, value) in zip(made, pairs):
        texts = [ffi.new("char[]", char_text(t, "setting")) for t in (key, value)]
        c.key, c.value = texts
        kept += texts
    return made, len(pairs), kept


def _close(c: Any, process: int) -> None:
    """A fork leaves the training, and the folder of its run, to the process that made it."""
    if os.getpid() == process:
        lib.hu_training_close(c)


class Trainer(Made):
    """A training whose steps are made one by one.

    Parameters
    ----------
    model : str, path or Net
        A model of the program, a network file, or a network declared here.
    data : Dataset, str, path or None
        Samples for `step()` and `test()`. None: batches come by `step(x, y)` alone; then `model`
        is a `Net` with `classes`, or `fields` says what a sample has.
    fields : sequence of Field, optional
        Without `data`: what a sample has, in the order of the arrays of `step`.
    samples : int, optional
        Without `data`: how many make an epoch; else all steps are one.
    **keys
        Those of `halfulp train`: `precision="hfp8"`, `batch=128`, `steps=1000`, `seed=1`,
        `lr_base=0.1`, `optimizer="adamw"`, ... The first underscore of a name is a point.
        `run_dir="FOLDER"`, or `run_name="NAME"` for runs/NAME, keeps the run as the program does,
        for `hu.why` and the others; `data` must have test samples then, and the working directory
        must stay while it trains.

    Attributes
    ----------
    fields : tuple of Field
        What a sample has, in the order of the arrays of `step`.
    steps, steps_done : int
    hash : str
        Of the bits of all weights.

    Raises
    ------
    UnknownNameError, ParseError, ArgumentError, ShapeError, ...
        With the library's words.

    Notes
    -----
    One thread at a time may use a trainer, and only the process that made it: both are checked. The
    training has threads of its own (`threads=N`), and other threads of Python work on meanwhile.

    Examples
    --------
    >>> import numpy as np
    >>> import halfulp as hu
    >>> net = hu.Net(input=(8, 8, 1), classes=2)
    >>> net.head(net.linear(net.flatten(net.input), 2, name="fc"))
    >>> x = np.zeros((4, 8, 8, 1), np.float32)
    >>> with hu.Trainer(net, precision="hfp8", batch=4, steps=2, threads=1) as trainer:
    ...     steps = [trainer.step(x, [0, 1, 0, 1]) for _ in range(2)]
    >>> round(steps[0].loss, 4), steps[1].samples
    (0.6875, 4)
    """

    _PARTS = (
        *("_c", "_net", "_data", "_kept", "_process", "_lock", "_finalizer", "_step", "_folder"),
        *("_shapes", "fields"),
    )

    def __init__(
        self,
        model: str | os.PathLike[str] | Net,
        data: Dataset | str | os.PathLike[str] | None = None,
        *,
        fields: Iterable[Field] | None = None,
        samples: int | None = None,
        **keys: object,
    ) -> None:
        named = dict(keys)
        if not isinstance(model, Net):
            named["model"] = model
        if isinstance(data, (str, os.PathLike)):
            named["data"] = data
            data = None
        elif data is None:
            data = _declared(model, fields, samples, named)
        elif not isinstance(data, Dataset):
            raise DtypeError(f"data: found {type(data).__name__}, expected a Dataset or its name")
        self._open(model if isinstance(model, Net) else None, data, named, None)

    @classmethod
    def reopen(
        cls,
        folder: str | os.PathLike[str] | Run,
        *,
        net: Net | None = None,
        data: Dataset | None = None,
        **keys: object,
    ) -> Trainer:
        """Go on with a run in a folder, from its newest checkpoint, to the same bits.

        Parameters
        ----------
        folder : path or Run
            What `run_dir` named.
        net : Net, optional
            As it was declared before, where the run has one.
        data : Dataset, optional
            As then, where the run had one.
        **keys
            Those that win over the run's: `steps=200` trains on. The run stays in its folder,
            whatever `run_dir` and `run_name` say.

        Returns
        -------
        Trainer

        Raises
        ------
        MissingError, CorruptError, VersionError
            No run; a damaged one; one of another version, or on other data.
        """
        made = cls.__new__(cls)
        path = folder.path if isinstance(folder, Run) else path_text(folder, "folder")
        made._open(net, data, dict(keys), path)
        return made

    def _open(
        self, net: Net | None, data: Dataset | None, keys: Mapping[str, object], folder: str | None
    ) -> None:
        if net is not None and not isinstance(net, Net):
            raise DtypeError(f"net: found {type(net).__name__}, expected a Net")
        if data is not None and not isinstance(data, Dataset):
            raise DtypeError(f"data: found {type(data).__name__}, expected a Dataset")
        settings, count, kept = _settings(words(keys))
        made = ffi.new("hu_training **")
        c_net = ffi.NULL if net is None else net._c
        c_data = ffi.NULL if data is None else data._c
        if folder is None:
            check(lib.hu_training_open(c_net, settings, count, c_data, made))
        else:
            path = char_text(folder, "folder")
            check(lib.hu_training_reopen(c_net, settings, count, c_data, path, made))
        self._c = made[0]
        self._net, self._data, self._kept = net, data, kept
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _close, self._c, self._process)
        self._step = ffi.new("hu_step *", {"size": ffi.sizeof("hu_step")})
        found = lib.hu_training_folder(self._c)
        self._folder = "" if found == ffi.NULL else os.fsdecode(ffi.string(found))
        self._shapes: dict[str, Tensor] | None = None
        self.fields: tuple[Field, ...] = data.fields if data is not None else ()
        if net is not None and folder is None and (initial := net.initial()):
            self.set_weights(initial)

    # ---- who may ----

    def _begin(self) -> None:
        if os.getpid() != self._process:
            raise ArgumentError(
                f"found a trainer of process {self._process} in its fork {os.getpid()}, expected "
                "one that this process has made"
            )
        if not self._lock.acquire(blocking=False):
            raise ArgumentError(
                "found a trainer that is at work in another thread, expected one at a time"
            )
        if not self._finalizer.alive:
            self._lock.release()
            raise ArgumentError("found a trainer that is closed, expected an open one")

    def _call(self, function: Any, *args: Any) -> int:
        """The status of a C function of the training; the GIL is released within."""
        self._begin()
        try:
            return int(function(self._c, *args))
        finally:
            self._lock.release()

    def _ask(self, function: Any, *args: Any) -> Any:
        self._begin()
        try:
            return function(self._c, *args)
        finally:
            self._lock.release()

    def __reduce__(self) -> Any:
        raise DtypeError("a Trainer cannot be copied or pickled: save() and resume() its state")

    # ---- steps ----

    def step(self, *batch: object, **named: object) -> Step:
        """Update the weights once.

        Parameters
        ----------
        *batch : array
            Numbers by field of the data, [samples, shape of the field], as the network reads them;
            at most `batch` samples. None at all: the next samples of the data set.
        **named : array
            The same by name of the field: `step(image=x, label=y)`.

        Returns
        -------
        Step

        Raises
        ------
        NonFiniteError
            The training has diverged; the message names step and tensor. The step is counted. With
            a folder the training has ended; without one it may go on, with the weights as they were
            where a gradient was not finite ("first in ..."), else with those that the update has
            spoilt ("after the update").
        ShapeError, DtypeError, ArgumentError
            The batch does not fit, or all steps are done: nothing has changed.
        MissingError
            The data set has no samples of its own.
        """
        if batch or named:
            return self._push(batch, named)
        status = self._call(lib.hu_training_next, self._step)
        return self._made(status)

    def _push(self, batch: tuple[object, ...], named: Mapping[str, object]) -> Step:
        if not self.fields:
            raise ArgumentError(
                "step: found a batch for a training on a data set that only its name is known of, "
                "expected Trainer(model, Dataset.open(NAME))"
            )
        if len(batch) == 1 and not named and isinstance(batch[0], (tuple, list, Mapping)):
            given: Any = batch[0]
        else:
            given = dict(zip((f.name for f in self.fields), batch))
            if len(batch) > len(self.fields) or set(given) & set(named):
                raise ShapeError(
                    f"step: found {len(batch) + len(named)} arrays, expected {len(self.fields)}: "
                    + ", ".join(f.name for f in self.fields)
                )
            given.update(named)
        count, rows = _all_rows(given, self.fields, "step", needed=False)
        pointers, kept = _c_rows(rows)
        status = self._call(lib.hu_training_push, count, pointers, self._step)
        del kept
        return self._made(status)

    def _made(self, status: int) -> Step:
        if status:
            raise fail(status)
        c = self._step
        return Step(
            c.step,
            c.epoch,
            c.samples,
            c.loss,
            c.metric,
            c.lr,
            c.gradient_norm,
            c.low_ratio,
            c.scale,
            bool(c.skipped),
            c.promoted,
            text_of(c.culprit) if c.culprit else "",
        )

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return int(self._ask(lib.hu_training_steps))

    @property
    def steps_done(self) -> int:
        """Steps done; skipped ones count."""
        return int(self._ask(lib.hu_training_step))

    def test(self) -> tuple[float, float]:
        """Metric and mean loss over the test samples of the data set.

        With `lr_schedule="plateau"` each call is an evaluation that the learning rate follows; else
        the steps behind it have the bits that they have without it.

        Returns
        -------
        metric, loss : float
            The task's first metric, the accuracy of class numbers; NaN: nothing is labelled.

        Raises
        ------
        MissingError
            The data set has no test samples.
        """
        found = ffi.new("double[2]")
        check(self._call(lib.hu_training_test, found, found + 1))
        return float(found[0]), float(found[1])

    def predict(self, *batch: object, **named: object) -> Floats:
        """What the network makes of samples: class scores, ...

        Parameters
        ----------
        *batch, **named : array
            As of `step`, any number of samples; what is not known is left out.

        Returns
        -------
        numpy.ndarray
            float32 [samples, numbers of a prediction]; NaN where a format stopped the pass.
        """
        return self._predict(batch, named)[0]

    def loss(self, *batch: object, **named: object) -> float:
        """Mean loss over samples, with the weights that evaluation uses.

        Parameters
        ----------
        *batch, **named : array
            As of `step`, any number of samples.

        Returns
        -------
        float
        """
        return self._predict(batch, named)[1]

    def _predict(
        self, batch: tuple[object, ...], named: Mapping[str, object]
    ) -> tuple[Floats, float]:
        if not self.fields:
            raise ArgumentError(
                "predict: found a training on a data set that only its name is known of, expected "
                "Trainer(model, Dataset.open(NAME))"
            )
        given = dict(zip((f.name for f in self.fields), batch))
        if len(batch) > len(self.fields) or set(given) & set(named):
            raise ShapeError(
                f"predict: found {len(batch) + len(named)} arrays, expected at most "
                f"{len(self.fields)}"
            )
        given.update(named)
        count, rows = _all_rows(given, self.fields, "predict", needed=False)
        elements = int(self._ask(lib.hu_training_prediction_elements))
        made = np.empty((count, elements), np.float32)
        pointers, kept = _c_rows(rows)
        loss = ffi.new("double *")
        c = ffi.from_buffer("float[]", made) if made.size else ffi.NULL
        check(self._call(lib.hu_training_predict_rows, count, pointers, c, loss))
        del kept
        return made, float(loss[0])

    # ---- tensors ----

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name, in the order in which a step makes them."""
        kind, found = "hu_training_tensor", {}
        c = ffi.new(f"{kind} *", {"size": ffi.sizeof(kind)})
        for index in range(self._ask(lib.hu_training_tensor_count)):
            check(self._call(lib.hu_training_tensor_at, index, c))
            tensor = Tensor(
                text_of(c.name),
                text_of(c.role),
                text_of(c.format),
                _shape_of(c.shape),
                bool(c.has_samples),
                int(c.parts),
            )
            found[tensor.name] = tensor
        return found

    def _named(self, name: object) -> Tensor:
        if not isinstance(name, str):
            raise DtypeError(f"tensor: found {type(name).__name__}, expected a name")
        if self._shapes is None:
            self._shapes = self.tensors
        if name not in self._shapes:  # the library says what is near
            check(self._call(lib.hu_training_watch, char_text(name, "tensor")))
        return self._shapes[name]

    def _matching(self, names: Iterable[str]) -> list[str]:
        tensors, found = self.tensors, []
        for name in names:
            if not isinstance(name, str):
                raise DtypeError(f"tensor: found {type(name).__name__}, expected a name")
            if any(c in name for c in "*?["):
                found += [
                    t.name
                    for t in tensors.values()
                    if t.parts > 0 and fnmatch.fnmatchcase(t.name, name)
                ]
            else:
                found.append(name)
        return found

    def watch(self, *names: str) -> None:
        """Keep the numbers of tensors from the next step on.

        Parameters
        ----------
        *names : str
            Names, or patterns: "conv1.out", "*.grad". Parameters need no watch.

        Raises
        ------
        UnknownNameError
            With the nearest names.
        ArgumentError
            Nobody makes that tensor by itself.
        """
        for name in self._matching(names):
            check(self._call(lib.hu_training_watch, char_text(name, "tensor")))

    def unwatch(self) -> None:
        """Keep those of none any more."""
        self._ask(lib.hu_training_unwatch)

    def tensor(self, name: str, *, rounded: bool = True) -> Floats:
        """Numbers of a watched tensor in the latest step, or of a parameter.

        Parameters
        ----------
        name : str
            "conv1.out", "conv1.out.grad", "conv1.weight", ...
        rounded : bool
            As others read them; False: before they were rounded, of a parameter the master.

        Returns
        -------
        numpy.ndarray
            float32, a copy: [samples, shape], of parameters and their gradients [shape]; a
            gradient with several consumers has one such array for each, in front.

        Raises
        ------
        UnknownNameError
            With the nearest names.
        ArgumentError
            It is not watched, or no step was made since.
        """
        tensor = self._named(name)
        flag, c_name, count = (
            int(_flag(rounded, "rounded")),
            char_text(name, "tensor"),
            ffi.new("size_t *"),
        )
        check(self._call(lib.hu_training_numbers, c_name, flag, ffi.NULL, 0, count))
        made = np.empty(int(count[0]), np.float32)
        c = ffi.from_buffer("float[]", made) if made.size else ffi.NULL
        check(self._call(lib.hu_training_numbers, c_name, flag, c, made.size, count))
        parts = (tensor.parts,) if tensor.parts > 1 else ()
        samples = (-1,) if tensor.has_samples and made.size else ()
        return made.reshape(parts + samples + tensor.shape) if made.size else made

    def counts(self, name: str | None = None) -> Any:
        """What rounding did in the latest step.

        Parameters
        ----------
        name : str, optional
            Of a tensor; else of all.

        Returns
        -------
        Counts, or dict of str to Counts
        """
        if name is None:
            return {t: self.counts(t) for t in self.tensors}
        made = ffi.new("hu_round_counts *")
        check(self._call(lib.hu_training_counts, char_text(name, "tensor"), made))
        found: Counts = _counts_of(made)
        return found

    def weights(self) -> dict[str, Floats]:
        """Masters and running statistics by name, copies.

        Returns
        -------
        dict of str to numpy.ndarray
            In the order of halfulp: convolutions are (out, height, width, in).
        """
        stored = ("parameter", "statistic")
        names = [t.name for t in self.tensors.values() if t.role in stored]
        return {name: self.tensor(name, rounded=False) for name in names}

    def set_weights(self, weights: Mapping[str, object]) -> None:
        """Write masters and running statistics; the state of the optimizer and means stay.

        Parameters
        ----------
        weights : mapping of str to array
            Some or all, in the shapes that `weights` gives.

        Raises
        ------
        UnknownNameError, ShapeError
            Before anything is written.
        """
        if not isinstance(weights, Mapping):
            raise DtypeError(f"weights: found {type(weights).__name__}, expected arrays by name")
        arrays = {}
        for name, given in weights.items():
            tensor = self._named(name)
            array = _in_line(np.asarray(given), np.float32)
            if tensor.role not in ("parameter", "statistic"):
                raise ArgumentError(f"{name}: found a tensor that is no weight")
            if array.shape != tensor.shape:
                raise ShapeError(f"{name}: found shape {array.shape}, expected {tensor.shape}")
            arrays[name] = array
        for name, array in arrays.items():
            c = ffi.from_buffer("float[]", array) if array.size else ffi.NULL
            check(self._call(lib.hu_training_write, char_text(name, "tensor"), c, array.size))

    def to_torch(self, module: Any) -> None:
        """Write the weights into a module of PyTorch, of a network that `ht.capture` has made.

        Parameters
        ----------
        module : torch.nn.Module
            The one that was captured, or one of its kind.

        Raises
        ------
        ArgumentError
            The network was not captured, or the module has other names.
        """
        if not hasattr(self._net, "nodes"):
            raise ArgumentError("found a network of halfulp, expected one of ht.capture")
        from .torch import write_back

        write_back(self._net, self.weights(), module)  # type: ignore[arg-type]

    @property
    def hash(self) -> str:
        """XXH64 over the bits of the masters, in hexadecimal, as `Run.hash`."""
        return f"{int(self._ask(lib.hu_training_hash)):016x}"

    def bytes(self, role: str = "total") -> int:
        """Bytes that the training holds.

        Parameters
        ----------
        role : str
            "total", "masters", "optimizer", "workers", "arena", "activation", "gradient", ...

        Returns
        -------
        int
        """
        made = ffi.new("uint64_t *")
        check(self._call(lib.hu_training_bytes, char_text(role, "role"), made))
        return int(made[0])

    # ---- files ----

    @property
    def run(self) -> Run:
        """The run in its folder, of one with `run_dir` or `run_name`: `trainer.run.why()`, ..."""
        if not self._folder:
            raise ArgumentError(
                "found a trainer without a folder, expected one with run_dir= or run_name="
            )
        return Run(self._folder)

    def why(self, tensor: str | None = None, formats: Iterable[str] = ()) -> dict[str, Any]:
        """Where its numbers died so far, of one with `run_dir` or `run_name`; between steps too.

        Parameters
        ----------
        tensor : str, optional
            One to be told of beside it.
        formats : iterable of str
            That are tried; none: the usual ones.

        Returns
        -------
        dict
            What `halfulp why --json` prints: "verdict", "death", "advice", ...

        Raises
        ------
        ArgumentError
            There is no folder.
        UnknownNameError, FormatError
        """
        made = ffi.new("char **")
        folder = char_text(self.run.path, "run_dir")
        asked = ffi.NULL if tensor is None else char_text(tensor, "tensor")
        tried = char_text(_joined(formats), "formats")
        check(lib.hu_why_of_run(folder, asked, tried, made))
        try:
            found: dict[str, Any] = json.loads(ffi.string(made[0]))
        finally:
            lib.hu_why_text_free(made[0])
        return found

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the whole state as a checkpoint.

        Parameters
        ----------
        folder : path
            Made if it is missing; the newest two checkpoints are kept.

        Raises
        ------
        StorageError
        """
        check(self._call(lib.hu_training_save, char_text(path_text(folder, "folder"), "folder")))

    def resume(self, folder: str | os.PathLike[str]) -> None:
        """Take the newest sound checkpoint; training on gives the bits of one never interrupted.

        Parameters
        ----------
        folder : path
            Of `save`, of a trainer with the same settings.

        Raises
        ------
        MissingError, CorruptError, ShapeError, ArgumentError
            None there; damaged; of another network; of another seed or optimizer.
        """
        check(self._call(lib.hu_training_resume, char_text(path_text(folder, "folder"), "folder")))

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as safetensors, float32, with the layout and names of torch.

        Parameters
        ----------
        path : path

        Raises
        ------
        StorageError
        """
        check(self._call(lib.hu_training_export, char_text(path_text(path, "path"), "path")))

    def close(self) -> None:
        """Give the memory back; a run with steps left saves its state first. Twice is allowed."""
        if "fields" not in self.__dict__:  # it was not made
            return
        if os.getpid() != self._process or not self._finalizer.alive:
            return
        self._begin()
        try:
            self._finalizer()
        finally:
            self._lock.release()

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *what: object) -> None:
        self.close()

    @told
    def __repr__(self) -> str:
        if not self._finalizer.alive:
            return "Trainer(closed)"
        return f"Trainer({self.steps_done} of {self.steps} steps)"


def _joined(formats: object) -> str:
    """Texts of formats with commas between them; one text is one format."""
    several = [formats] if isinstance(formats, str) else formats
    if not isinstance(several, Iterable):
        raise DtypeError(f"formats: found {type(formats).__name__}, expected texts")
    texts = list(several)
    for text in texts:
        if not isinstance(text, str):
            raise DtypeError(f"formats: found {type(text).__name__}, expected a text")
    return ",".join(texts)
