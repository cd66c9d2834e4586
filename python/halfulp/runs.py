"""Trainings by the program: `train`, `resume`, `compare`, `why`, and what a run's folder holds.

Each starts the program of this package with --json; keys are its keys, whose first underscore
stands for the point that Python's names cannot have: `lr_schedule="cosine"` is lr.schedule=cosine.
The bits are those of the program. Ctrl-C asks it to save its state and to end; `resume` goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from .errors import ArgumentError, DtypeError, MissingError, of_program
from .networks import Net

if TYPE_CHECKING:
    import subprocess

PathLike = Union[str, "os.PathLike[str]"]
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "halfulp")
_EXIT_DIVERGED = 4
_WITH_UNDERSCORE = ("error_feedback",)
_SECONDS_TO_SAVE = 600


def program_path() -> str:
    """Where the program of this package lies.

    Returns
    -------
    str

    Raises
    ------
    MissingError
        It is not there.

    Examples
    --------
    >>> os.path.basename(program_path())
    'halfulp'
    """
    if not os.access(_PROGRAM, os.X_OK):
        raise MissingError(f"{_PROGRAM}: the program of this package is not there")
    return _PROGRAM


# ---- keys ----


def _key(name: str) -> str:
    return name if "." in name or name in _WITH_UNDERSCORE else name.replace("_", ".", 1)


def _text(value: object, between: str) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        parts = [_text(v, between) for v in value]
        return between.join(parts) if between else json.dumps(parts)
    if hasattr(value, "__index__"):
        return str(int(value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _network_file(net: Net, run: object) -> str:
    """The network beside the folder of its run, or in runs/ by what it holds: `resume` reads it."""
    import hashlib
    import tempfile

    folder = os.path.dirname(str(run)) if run is not None else "runs"
    os.makedirs(folder or ".", exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder or ".") as place:
        made = os.path.join(place, "network.yaml")
        net.save(made)
        with open(made, "rb") as file:
            name = hashlib.sha256(file.read()).hexdigest()[:16]
        path = f"{run}.network.yaml" if run is not None else f"runs/network-{name}.yaml"
        os.replace(made, path)
    return path


def _words(keys: Mapping[str, object], lists: Mapping[str, str] | None = None) -> list[str]:
    """`key=value` words; lists: what stands between the parts of a key's list."""
    lists = lists or {}
    named = {_key(name): value for name, value in keys.items() if value is not None}
    model = named.get("model")
    if isinstance(model, Net):
        named["model"] = _network_file(model, named.get("run.dir"))
    words = []
    for name, value in named.items():
        text = _text(value, lists.get(name, ""))
        if "\0" in name + text or not name or "=" in name:
            raise ArgumentError(f"key {name!r}: found a character that no key has")
        words.append(f"{name}={text}")
    return words


# ---- the program ----


def _interrupt(process: subprocess.Popen[str]) -> None:
    """Let it save what it has; a second Ctrl-C ends it at once."""
    import signal
    import subprocess

    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=_SECONDS_TO_SAVE)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        process.kill()
        process.communicate()


def _call(words: Sequence[str], cwd: PathLike | None = None) -> tuple[int, dict[str, Any], str]:
    """Exit code, the JSON object, and the messages.

    The program gets a session of its own, so that Ctrl-C reaches it once, from here.
    """
    import subprocess  # not before it is needed: `import halfulp` is to be quick

    with subprocess.Popen(
        [program_path(), *words, "--json"],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate()
        except KeyboardInterrupt:
            _interrupt(process)
            raise
    code = process.returncode
    if not out.strip():
        raise of_program(err)
    try:
        found = json.loads(out)
    except ValueError:
        raise of_program(err or out) from None
    return code, found, err


def _checked(words: Sequence[str], allowed: Sequence[int] = (0,)) -> dict[str, Any]:
    code, found, err = _call(words)
    if code not in allowed:
        raise of_program(err)
    return found


def _table(rows: list[dict[str, Any]]) -> Any:
    """A DataFrame where pandas is installed, else the rows."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _number(text: str) -> float | int | str | None:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


# ---- results ----


class Run:
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
    hash : str or None
        Of the bits of all weights.

    Raises
    ------
    MissingError
        There is no run.

    Examples
    --------
    >>> run = train(model="cnn-s", data="glyphs", data_limit=64, data_test_limit=16, batch=16,
    ...             steps=2, threads=1, run_dir=os.path.join(getfixture("tmp_path"), "run"))
    >>> run.result["steps"], len(run.metrics), run.why()["verdict"]
    (2, 2, 'fine')
    """

    def __init__(self, path: PathLike, result: dict[str, Any] | None = None) -> None:
        self.path = os.fspath(path)
        if not os.path.exists(os.path.join(self.path, "config.resolved.yaml")):
            raise MissingError(f"{self.path}: found no config.resolved.yaml, expected a run")
        self._result = result

    @property
    def result(self) -> dict[str, Any]:
        """What the run came to."""
        if self._result is None:
            path = os.path.join(self.path, "result.json")
            if not os.path.exists(path):
                return {}
            with open(path, encoding="utf-8") as file:
                self._result = json.load(file)
        return dict(self._result or {})

    @property
    def metrics(self) -> Any:
        """Rows of metrics.csv; cells without a number are None."""
        import csv

        path = os.path.join(self.path, "metrics.csv")
        if not os.path.exists(path):
            return _table([])
        with open(path, encoding="utf-8", newline="") as file:
            rows = [{k: _number(v or "") for k, v in row.items()} for row in csv.DictReader(file)]
        return _table(rows)

    @property
    def hash(self) -> str | None:
        """XXH64 over the bits of the weights, in hexadecimal."""
        found = self.result.get("weights_hash")
        return None if found is None else str(found)

    @property
    def diverged(self) -> bool:
        """Whether the numbers of the run became infinite or NaN."""
        return "diverged" in self.result and bool(self.result["diverged"])

    def why(self, *names: str, **keys: object) -> dict[str, Any]:
        """Where its numbers died, see `why`."""
        return why(self, *names, **keys)

    def stats(self, **keys: object) -> dict[str, Any]:
        """Which range its numbers needed, see `stats`."""
        return stats(self, **keys)

    def resume(self, **keys: object) -> Run:
        """Go on with it, see `resume`."""
        return resume(self, **keys)

    def __repr__(self) -> str:
        return f"Run({self.path!r})"


class Comparison:
    """The same training in many precisions and seeds.

    Attributes
    ----------
    result : dict
        All that the program says.
    rows, precisions : pandas.DataFrame, or list of dict without pandas
        One row for each run, and for each precision over its seeds.
    """

    def __init__(self, result: dict[str, Any]) -> None:
        self.result = result

    @property
    def rows(self) -> Any:
        """One row for each run."""
        return _table(list(self.result.get("rows", [])))

    @property
    def precisions(self) -> Any:
        """One row for each precision, over its seeds."""
        return _table(list(self.result.get("precisions", [])))

    def __repr__(self) -> str:
        return f"Comparison({self.result.get('run')!r}, {len(self.result.get('rows', []))} rows)"


def _path_of(run: Run | PathLike) -> str:
    if isinstance(run, Run):
        return run.path
    if not isinstance(run, (str, os.PathLike)):
        raise DtypeError(f"run: found {type(run).__name__}, expected a Run or its folder")
    path = os.fspath(run)
    if not path or "\0" in path:
        raise ArgumentError(f"run: found {path!r}, expected a folder")
    return os.path.join(".", path) if path.startswith("-") else path


# ---- verbs ----


def train(**keys: object) -> Run:
    """Train a model in a chosen precision, as `halfulp train` does.

    Parameters
    ----------
    **keys
        `model="resnet20"` or a `Net`, `data="cifar10:DIR"`, `precision="hfp8"`, `epochs=10`,
        `run_dir="FOLDER"`, ... (`halfulp help keys`). The first underscore of a name is a point;
        None leaves a key out; lists are lists.

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
    found = _checked(["train", *_words(keys)], (0, _EXIT_DIVERGED))
    return Run(found["run"], found)


def resume(run: Run | PathLike, **keys: object) -> Run:
    """Go on with an interrupted run, to the same bits; `steps=` or `epochs=` train on.

    Parameters
    ----------
    run : Run or path
    **keys
        Those that win over the run's.

    Returns
    -------
    Run
    """
    words = ["resume", _path_of(run), *_words(keys)]
    found = _checked(words, (0, _EXIT_DIVERGED))
    return Run(found["run"], found)


def compare(**keys: object) -> Comparison:
    """Train the same in many precisions and seeds: `precision=["fp32", "hfp8"]`, `seeds=[1, 2]`.

    Parameters
    ----------
    **keys
        As `train` takes them. Called again with the same keys, it goes on where it was stopped.

    Returns
    -------
    Comparison
    """
    lists = {"precision": ";", "seeds": ","}
    return Comparison(_checked(["compare", *_words(keys, lists)]))


def why(run: Run | PathLike, *names: str, **keys: object) -> dict[str, Any]:
    """Where the numbers of a run died, and what would have held them: `halfulp why`.

    Parameters
    ----------
    run : Run or path
    *names : str
        A tensor, or a pattern ("*.grad").
    **keys
        `format=["fp16", "e5m2"]`, ...

    Returns
    -------
    dict
    """
    return _checked(["why", _path_of(run), *names, *_words(keys, {"format": ","})])


def stats(run: Run | PathLike, **keys: object) -> dict[str, Any]:
    """Which range the numbers of a run needed: `halfulp stats`.

    Parameters
    ----------
    run : Run or path
    **keys
        `format=["fp16", "1/6/9"]`, ...

    Returns
    -------
    dict
    """
    return _checked(["stats", _path_of(run), *_words(keys, {"format": ","})])
