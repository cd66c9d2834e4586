"""The program of this package, started with --json: its words, its answers, its errors.

Keys are those of the program. The first underscore of a name stands for the point that Python's
names cannot have: `lr_schedule="cosine"` is lr.schedule=cosine. Ctrl-C asks the program to save its
state and to end.
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from .errors import (
    ArgumentError,
    DtypeError,
    Error,
    LimitError,
    MissingError,
    StorageError,
    char_text,
    of_program,
    path_text,
)

if TYPE_CHECKING:
    import subprocess

PathLike = Union[str, "os.PathLike[str]"]
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "halfulp")
_WITH_UNDERSCORE = ("error_feedback",)
_SECONDS_TO_SAVE = 600
_MOST_BYTES = 1 << 17  # of a word, with the zero behind it: what Linux takes
_DEPTH = 8  # of lists within lists


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


# ---- words ----


def _key(name: str) -> str:
    return name if "." in name or name in _WITH_UNDERSCORE else name.replace("_", ".", 1)


def _text(value: object, between: str, depth: int = 0) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        if depth == _DEPTH:
            raise ArgumentError(f"found lists {depth} deep, expected a list of words")
        parts = [_text(v, between, depth + 1) for v in value]
        return between.join(parts) if between else json.dumps(parts)
    if hasattr(value, "__index__") and not hasattr(value, "__array__"):
        return str(operator.index(value))
    return path_text(value, "path") if isinstance(value, os.PathLike) else str(value)


def _named(value: object, run: object, depth: int = 0) -> object:
    """Networks and plans as the files that hold them, in lists too."""
    if isinstance(value, (list, tuple)):
        return [_named(v, run, depth + 1) for v in value] if depth < _DEPTH else value
    return value.file_of_run(run) if hasattr(value, "file_of_run") else value


def words(
    keys: Mapping[str, object], lists: Mapping[str, str] | None = None, beside: object = None
) -> list[str]:
    """`key=value` words.

    lists: what stands between the parts of a key's list. beside: the path beside which networks
    and plans become files; usual: the folder of the run.
    """
    lists = lists or {}
    named = {_key(name): value for name, value in keys.items() if value is not None}
    run = named.get("run.dir") if beside is None else beside
    made = []
    for name, value in named.items():
        try:
            text = _text(_named(value, run), lists.get(name, ""))
        except Error:
            raise
        except Exception as error:  # of an object of others
            raise DtypeError(f"key {name!r}: found {type(value).__name__}: {error}") from None
        if "\0" in name + text or not name or "=" in name:
            raise ArgumentError(f"key {name!r}: found a character that no key has")
        made.append(f"{name}={text}")
    return made


def write_whole(path: str, data: bytes) -> None:
    """Write a file that is replaced at once; its folder is made."""
    import tempfile

    folder = os.path.dirname(path) or "."
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            made = os.path.join(place, "whole")
            with open(made, "wb") as file:
                file.write(data)
            os.replace(made, path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None


def content_file(data: bytes, name: str, run: object) -> str:
    """A file of these bytes beside the folder of a run, or in runs/: NAME-HASH.yaml.

    Equal ones have one name, so that a comparison finds its rows again.
    """
    import hashlib

    folder = os.path.dirname(str(run)) if run is not None else "runs"
    path = os.path.join(folder, f"{name}-{hashlib.sha256(data).hexdigest()[:16]}.yaml")
    write_whole(path, data)
    return path


def folder_of(run: object) -> str:
    """The folder of a run, or of whatever has one, as a word."""
    found = getattr(run, "path", run)
    if not isinstance(found, (str, os.PathLike)):
        raise DtypeError(f"run: found {type(run).__name__}, expected a run or its folder")
    path = path_text(found, "run")
    if not path or "\0" in path:
        raise ArgumentError(f"run: found {path!r}, expected a folder")
    return os.path.join(".", path) if path.startswith("-") else path


# ---- calls ----


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


def run_program(given: Sequence[str], *, progress: bool | None = False) -> tuple[int, str, str]:
    """Exit code, what it printed, and the messages.

    The program gets a session of its own, so that Ctrl-C reaches it once, from here.
    """
    import subprocess  # not before it is needed: `import halfulp` is to be quick

    from .progress import bar_class, follow

    bar = bar_class(progress)
    for word in given:
        if len(char_text(word, "word of the program")) >= _MOST_BYTES:
            raise LimitError(f"found a word of {_MOST_BYTES} bytes or more, expected a shorter one")
    with subprocess.Popen(
        [program_path(), *given],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            with follow(process.pid, bar):
                out, err = process.communicate()
        except KeyboardInterrupt:
            _interrupt(process)
            raise
    return process.returncode, out, err


def ask(
    given: Sequence[str], allowed: Sequence[int] = (0,), *, progress: bool | None = False
) -> dict[str, Any]:
    """What the program answers to these words and --json, or its error.

    allowed: exit codes that are no error.
    """
    code, out, err = run_program([*given, "--json"], progress=progress)
    try:
        found = json.loads(out)
    except ValueError:
        raise of_program(err) from None
    if code not in allowed or not isinstance(found, dict):
        raise of_program(err)
    return found
