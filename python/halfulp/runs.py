"""Trainings by the program: `train`, `resume`, `report`, and what a run's folder holds.

The bits are those of the program. Ctrl-C asks it to save its state and to end; `resume` goes on.

Source: docs/reference/run-folder.md, run-histories.md.
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._sound import Made, reads, told
from .answers import Answer, RunLike, Stats, Why, stats, why
from .errors import (
    CorruptError,
    DtypeError,
    MissingError,
    StorageError,
    UnknownNameError,
    VersionError,
    path_text,
)
from .formats import _integer
from .program import PathLike, ask, folder_of, words
from .tables import as_html, table

if TYPE_CHECKING:
    from .figures import Figure
    from .formats import FormatLike
    from .histograms import Exponents
    from .plans import Plan
    from .studies import Comparison

_EXIT_DIVERGED = 4
_COUNTED = ("overflow", "underflow", "subnormal", "zero", "nan")
_COLUMNS = (
    *("name", "format", "elements", *_COUNTED, "max_exponent", "min_exponent"),
    *("most_overflow", "most_underflow", "most_subnormal"),
)
_HISTOGRAM_COLUMNS = 6  # and, since 0.1, the largest magnitude


def _number(text: str) -> float | int | str | None:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _histogram(path: str, row: list[Any]) -> Exponents:
    """[name, elements, zero, nonfinite, first exponent, counts, largest]."""
    from .histograms import Exponents

    if not isinstance(row, list) or len(row) < _HISTOGRAM_COLUMNS:
        raise VersionError(
            f"{path}: found a tensor of {len(row)} columns, expected {_HISTOGRAM_COLUMNS} or more"
        )
    counts = {row[4] + i: n for i, n in enumerate(row[5]) if n}
    largest = row[6] if len(row) > _HISTOGRAM_COLUMNS else 0.0
    return Exponents(counts, zeros=row[2], infinite=row[3], largest=largest)


class Run(Made):
    """A training in its folder.

    Parameters
    ----------
    path : path
        The folder.

    Attributes
    ----------
    path : str
    result : dict
        What it came to, result.json; empty while it is not done.
    metrics : pandas.DataFrame, or list of dict without pandas
        Loss, rate, speed and metrics by step, metrics.csv.
    tensors : pandas.DataFrame, or list of dict without pandas
        What rounding did to every tensor, by step, numerics.jsonl.
    events : pandas.DataFrame, or list of dict without pandas
        What happened, progress.jsonl.
    plan : Plan
        How every tensor is rounded, plan.resolved.yaml.
    hash : str or None
        Of the bits of all weights.

    Raises
    ------
    MissingError
        There is no run, or a file of it is not there.
    CorruptError
        A line of a file cannot be read; the message has its number.
    VersionError
        A file of another version.

    Examples
    --------
    >>> run = train(model="cnn-s", data="glyphs", data_limit=64, data_test_limit=16, batch=16,
    ...             steps=2, threads=1, run_dir=os.path.join(getfixture("tmp_path"), "run"))
    >>> run.result["steps"], len(run.metrics), run.why()["verdict"]
    (2, 2, 'fine')
    """

    _PARTS = ("path", "_result")

    def __init__(self, path: PathLike, result: dict[str, Any] | None = None) -> None:
        self.path = path_text(path, "path")
        if not os.path.exists(self._file("config.resolved.yaml")):
            raise MissingError(f"{self.path}: found no config.resolved.yaml, expected a run")
        self._result = result

    # ---- files ----

    def _file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _read(self, name: str) -> str:
        path = self._file(name)
        if not os.path.exists(path):
            raise MissingError(f"{self.path}: found no {name}, expected one, as all runs have it")
        try:
            with open(path, encoding="utf-8", newline="") as file:
                return file.read()
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from None

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Objects of a file, one a line; a part of a line at its end, left by a crash, is none."""
        *whole, _ = self._read(name).split("\n")
        for number, line in enumerate(whole, 1):
            try:
                found = json.loads(line)
            except ValueError as error:
                place = f"{self._file(name)}:{number}"
                raise CorruptError(f"{place}: found {line[:40]!r}: {error}") from None
            if isinstance(found, dict):
                yield found

    @property
    @reads
    def result(self) -> dict[str, Any]:
        """What the run came to."""
        if self._result is None:
            if not os.path.exists(self._file("result.json")):
                return {}
            try:
                found = json.loads(self._read("result.json"))
            except ValueError as error:
                raise CorruptError(f"{self._file('result.json')}: {error}") from None
            self._result = found
        return dict(self._result or {})

    @property
    @reads
    def metrics(self) -> Any:
        """Rows of metrics.csv; cells without a number are None."""
        import csv

        whole = self._read("metrics.csv").rpartition("\n")[0]
        head, *rows = csv.reader(whole.splitlines() or [""])
        for number, row in enumerate(rows, 2):
            if len(row) != len(head):
                raise CorruptError(
                    f"{self._file('metrics.csv')}:{number}: found {len(row)} cells, "
                    f"expected {len(head)}"
                )
        return table([dict(zip(head, map(_number, row))) for row in rows], head)

    @property
    @reads
    def tensors(self) -> Any:
        """One row for each tensor of each row of numerics.jsonl: sums over `steps` up to `step`.

        most_overflow and its like are the largest shares of the elements in a single step.
        """
        rows = []
        for line in self._lines("numerics.jsonl"):
            for found in line.get("tensors", []):
                if len(found) != len(_COLUMNS):
                    raise VersionError(
                        f"{self._file('numerics.jsonl')}: found a tensor of {len(found)} columns, "
                        f"expected {len(_COLUMNS)}"
                    )
                steps = {"step": line["step"], "steps": line.get("steps", 1)}
                rows.append({**steps, **dict(zip(_COLUMNS, found))})
        return table(rows, ("step", "steps", *_COLUMNS))

    @property
    @reads
    def events(self) -> Any:
        """One row for each event of progress.jsonl."""
        return table(list(self._lines("progress.jsonl")), ("event", "time"))

    @reads
    def exponents(self, *names: str, step: int | None = None) -> dict[str, Exponents]:
        """Exponents of tensors before they were rounded, from histograms.jsonl.

        Gradients are those of the scaled loss. Infinities and NaN are recorded together, and
        counted as infinite here.

        Parameters
        ----------
        *names : str
            Tensors, or patterns ("*.grad"); none: all.
        step : int, optional
            That of a histogram, or the last before; usual: the last.

        Returns
        -------
        dict of str to Exponents
            In the order of the network; two added are those of both tensors.

        Raises
        ------
        UnknownNameError
            No tensor has such a name.
        """
        if step is not None:
            step = _integer(step, "step", -(2**63), 2**63 - 1)
        for name in names:
            if not isinstance(name, str):
                raise DtypeError(f"tensor: found {type(name).__name__}, expected a name")
        taken: list[Any] = []
        for line in self._lines("histograms.jsonl"):
            if step is None or line["step"] <= step:
                taken = line["tensors"]
        path = self._file("histograms.jsonl")
        found = {row[0]: _histogram(path, row) for row in taken}
        if not found:
            raise MissingError(f"{path}: found no histogram of a step up to {step}, expected one")
        for name in names:
            if not fnmatch.filter(found, name):
                raise UnknownNameError(
                    f"tensor {name!r}: found none in {path}, expected one of: "
                    f"{', '.join(list(found)[:5])}, ..."
                )
        wanted = names or ("*",)
        return {n: e for n, e in found.items() if any(fnmatch.fnmatchcase(n, w) for w in wanted)}

    @property
    @reads
    def graph(self) -> dict[str, Any]:
        """The network: values, nodes and how they are connected, graph.json."""
        try:
            return dict(json.loads(self._read("graph.json")))
        except ValueError as error:
            raise CorruptError(f"{self._file('graph.json')}: {error}") from None

    @property
    @reads
    def plan(self) -> Plan:
        """How every tensor is rounded; promotions up to the newest checkpoint are in it."""
        from .plans import Plan

        self._read("plan.resolved.yaml")
        return Plan.load(self._file("plan.resolved.yaml"))

    @property
    @reads
    def hash(self) -> str | None:
        """XXH64 over the bits of the weights, in hexadecimal."""
        found = self.result.get("weights_hash")
        return None if found is None else str(found)

    @property
    @reads
    def diverged(self) -> bool:
        """Whether the numbers of the run became infinite or NaN."""
        return bool(self.result.get("diverged"))

    # ---- verbs ----

    def why(self, *names: str, **keys: object) -> Why:
        """Where its numbers died, see `why`."""
        return why(self, *names, **keys)

    def stats(self, **keys: object) -> Stats:
        """Which range its numbers needed, see `stats`."""
        return stats(self, **keys)

    def resume(self, *, progress: bool | None = None, **keys: object) -> Run:
        """Go on with it, see `resume`."""
        return resume(self, progress=progress, **keys)

    def report(self, out: PathLike | None = None, section: str | None = None) -> str:
        """Draw its page, see `report`."""
        return report(self, out=out, section=section)

    def evaluate(self, **keys: object) -> Answer:
        """Metrics of the newest checkpoint on the test samples: `halfulp eval`."""
        asked = ["eval", folder_of(self), *words(keys)]
        return Answer(ask(asked), asked)

    def predict(self, *files: PathLike, **keys: object) -> Answer:
        """What the newest checkpoint says of test samples, or of files: `halfulp predict`."""
        asked = ["predict", folder_of(self), *map(folder_of, files), *words(keys)]
        return Answer(ask(asked), asked)

    def export(self, out: PathLike | None = None, **keys: object) -> str:
        """Write the weights, as safetensors or as C: `halfulp export`; returns the file's path."""
        return str(ask(["export", folder_of(self), *words({"out": out, **keys})])["file"])

    # ---- figures ----

    @reads
    def plot(self) -> Figure:
        """The loss by step, and below it the metric on test samples, one column wide.

        Returns
        -------
        Figure
            A matplotlib figure; `.data` has its numbers, `.savefig("curves.pdf")` writes it.

        Raises
        ------
        UnsupportedError
            matplotlib is not installed.
        """
        from .figures import curves

        return curves(self)

    @reads
    def plot_exponents(
        self,
        *tensors: str,
        formats: FormatLike | list[FormatLike] | None = None,
        step: int | None = None,
    ) -> Figure:
        """Where the numbers of tensors are, and what formats would lose of them, one column wide.

        Parameters
        ----------
        *tensors : str
            Names, or patterns ("*.weight"); usual: gradients of what products make.
        formats : Format, str, or several of them
            At most four; usual: fp16 and e5m2.
        step : int, optional
            That of a histogram, or the last before; usual: the last.

        Returns
        -------
        Figure
            `.data`: a row for each tensor and exponent; `.losses`: for each tensor and format.

        Raises
        ------
        UnsupportedError
            matplotlib is not installed.
        ArgumentError
            More tensors than a page has room for.
        """
        from .figures import ridges

        return ridges(self, tensors, formats, step)

    @told
    def __repr__(self) -> str:
        return f"Run({self.path!r})"

    @reads
    def _repr_html_(self) -> str:
        found = self.result
        metric = found.get("metric") or {}
        facts = {
            "run": self.path,
            "model": found.get("model"),
            "precision": found.get("precision"),
            "data": found.get("data"),
            "steps": found.get("steps"),
            "train_loss": found.get("train_loss"),
            str(metric.get("name", "metric")): metric.get("value"),
            "weights": found.get("weights_hash"),
        }
        return as_html("diverged" if self.diverged else "run", [facts])


# ---- verbs ----


def train(*, progress: bool | None = None, **keys: object) -> Run:
    """Train a model in a chosen precision, as `halfulp train` does.

    Parameters
    ----------
    progress : bool, optional
        Whether a bar of tqdm shows how far it is; usual: where somebody sees it, a terminal or a
        notebook, if tqdm is installed.
    **keys
        `model="resnet20"` or a `Net`, `data="cifar10:DIR"`, `precision="hfp8"` or a `Plan`,
        `epochs=10`, `run_dir="FOLDER"`, ... (`halfulp help keys`). The first underscore of a name
        is a point; None leaves a key out; lists are lists.

    Returns
    -------
    Run
        Also of a training that diverged: `run.diverged`.

    Raises
    ------
    UnknownNameError, ParseError, ArgumentError, MissingError, ...
        With the program's words.
    KeyboardInterrupt
        Ctrl-C: the state is saved, `resume` goes on.

    Examples
    --------
    >>> train(model="cnn-x")
    Traceback (most recent call last):
        ...
    halfulp.errors.UnknownNameError: model 'cnn-x' is not known, nearest: ...
    """
    found = ask(["train", *words(keys)], (0, _EXIT_DIVERGED), progress=progress)
    return Run(found["run"], found)


def resume(run: RunLike, *, progress: bool | None = None, **keys: object) -> Run:
    """Go on with an interrupted run, to the same bits; `steps=` or `epochs=` train on.

    Parameters
    ----------
    run : Run or path
    progress : bool, optional
        As of `train`.
    **keys
        Those that win over the run's.

    Returns
    -------
    Run

    Raises
    ------
    MissingError, CorruptError, VersionError
        There is no run, or what it holds cannot be gone on with.
    """
    asked = ["resume", folder_of(run), *words(keys)]
    found = ask(asked, (0, _EXIT_DIVERGED), progress=progress)
    return Run(found["run"], found)


def report(
    *runs: RunLike | Comparison, out: PathLike | None = None, section: str | None = None
) -> str:
    """One page of pictures and tables from runs: `halfulp report`.

    Parameters
    ----------
    *runs : Run, Comparison or path
    out : path, optional
        FILE.html; .svg, .pdf and .png are its pictures, .csv and .tex its table. Usual:
        report.html in the folder of a run, or here of several.
    section : str, optional
        One section of the page: "curves", "exponents:2", ...

    Returns
    -------
    str
        The file that was written.

    Raises
    ------
    MissingError, CorruptError, ArgumentError, ...
        With the program's words.
    """
    asked = ["report", *map(folder_of, runs), *words({"out": out, "section": section})]
    return str(ask(asked)["report"])


def list_runs(folder: PathLike = "runs") -> Any:
    """The runs of a folder: `halfulp list`.

    Parameters
    ----------
    folder : path

    Returns
    -------
    pandas.DataFrame, or list of dict without pandas
        One row for each: what was trained, how far, how good, and its state.
    """
    from .tables import flat

    return table([flat(run) for run in ask(["list", folder_of(folder)])["runs"]])
