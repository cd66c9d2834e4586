"""How far the program is, as a bar of tqdm: read from the files that it writes while it works.

Source: docs/reference/run-histories.md, progress.jsonl and metrics.csv.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from .errors import UnsupportedError

_SECONDS = 0.2


def _is_watched() -> bool:
    """Whether somebody sees what is written: a terminal, or a notebook."""
    shell = sys.modules.get("IPython")
    kernel = getattr(shell, "get_ipython", lambda: None)() if shell else None
    if kernel is not None and hasattr(kernel, "kernel"):
        return True
    return bool(sys.stderr is not None and sys.stderr.isatty())


def bar_class(progress: bool | None) -> Any:
    """The class tqdm, or None: no bar.

    progress: True: there must be one; False: none; None: one where somebody sees it, if tqdm is
    there.
    """
    if progress is False or (progress is None and not _is_watched()):
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        if progress:
            raise UnsupportedError(
                "progress: found no tqdm, expected it: pip install tqdm, or progress=False"
            ) from None
        return None
    return tqdm


class _Lines:
    """Whole lines that a file has got since the last time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def more(self) -> list[str]:
        try:
            with open(self._path, "rb") as file:
                file.seek(self._at)
                data = file.read()
        except OSError:
            return []
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]


class _Training:
    """Steps of one training, from its folder."""

    def __init__(self, folder: str, since: float) -> None:
        self.title, self.note = "", ""
        self.step, self.steps = 0, 0
        self._since = since
        self._events = _Lines(os.path.join(folder, "progress.jsonl"))
        self._rows = _Lines(os.path.join(folder, "metrics.csv"))
        self._columns: list[str] = []
        self._loss, self._metric = "", ""

    def look(self) -> None:
        for event in _events(self._events, self._since):
            if event["event"] == "start":
                self.title = f"{event.get('model', '')} {event.get('precision', '')}"
                self.step, self.steps = int(event["step"]), int(event["steps"])
            elif "step" in event and event["event"] in ("epoch", "step", "end"):
                self.step = int(event["step"])
            self._tell_metric(event.get("metric"))
        for row in self._rows.more():
            self._take_row(row.split(","))
        self.note = ", ".join(text for text in (self._loss, self._metric) if text)

    def _take_row(self, cells: list[str]) -> None:
        if cells[0] == "step":
            self._columns = cells
        row = dict(zip(self._columns, cells))
        with contextlib.suppress(KeyError, ValueError):
            self.step = min(max(self.step, int(row["step"]) + 1), self.steps)
            self._loss = f"loss {float(row['loss']):.4g}"

    def _tell_metric(self, metric: Any) -> None:
        if isinstance(metric, dict) and isinstance(metric.get("value"), float):
            self._metric = f"{metric.get('name', '')} {metric['value']:.4g}"


def _events(lines: _Lines, since: float) -> Iterator[dict[str, Any]]:
    for line in lines.more():
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and event.get("time", 0) >= since and "event" in event:
                yield event


class _Rows:
    """Trainings of a comparison or a search, and the one that works."""

    def __init__(self, folder: str, since: float) -> None:
        self.title, self.note = "", ""
        self.step, self.steps = 0, 0
        self._folder, self._since = folder, since
        self._events = _Lines(os.path.join(folder, "progress.jsonl"))
        self._now: _Training | None = None
        self._best: dict[str, float] = {}

    def look(self) -> None:
        for event in _events(self._events, self._since):
            if event["event"] == "start":
                self.title = str(event.get("verb", ""))
                self.step, self.steps = int(event["done"]), int(event.get("rows", 0))
            elif event["event"] == "row":
                self._take_row(event)
        self.note = ""
        if self._now is not None:
            self._now.look()
            if self._now.steps:
                self.note = f"step {self._now.step}/{self._now.steps}"

    def _take_row(self, event: dict[str, Any]) -> None:
        self.title, self.steps = str(event.get("label", "")), int(event["rows"])
        if event.get("state") == "begins":
            self.step = int(event["row"]) - 1
            run = os.path.join(self._folder, os.path.basename(str(event.get("run", ""))))
            self._now = _Training(run, self._since)
        else:
            self.step, self._now = int(event["row"]), None


def _is_of_rows(folder: str, since: float) -> bool | None:
    """Whether a folder is that of a comparison or a search; None: it does not say so yet."""
    for event in _events(_Lines(os.path.join(folder, "progress.jsonl")), since):
        if event["event"] == "start":
            return "verb" in event
    return None


def _folder_of_process(pid: int) -> str | None:
    """The folder whose progress.jsonl a process has open, by what Linux tells of it."""
    place = f"/proc/{pid}/fd"
    try:
        for name in os.listdir(place):
            with contextlib.suppress(OSError):
                target = os.readlink(os.path.join(place, name))
                if os.path.basename(target) == "progress.jsonl":
                    return os.path.dirname(target)
    except OSError:
        pass
    return None


class _Follower(threading.Thread):
    """Reads the files five times a second until it is told to stop."""

    def __init__(self, pid: int, tqdm: Any) -> None:
        super().__init__(name="halfulp progress", daemon=True)
        self._pid, self._tqdm = pid, tqdm
        self._begun = time.time() - _SECONDS
        self._is_done = threading.Event()
        self._work: _Training | _Rows | None = None
        self._folder: str | None = None
        self._bar: Any = None

    def run(self) -> None:
        while not self._is_done.wait(_SECONDS):
            self._look()

    def stop(self) -> None:
        """Show the end and close the bar."""
        self._is_done.set()
        self.join()
        self._look()
        if self._bar is not None:
            self._bar.close()

    def _look(self) -> None:
        if self._folder is None:
            self._folder = _folder_of_process(self._pid)
        if self._folder is not None and self._work is None:
            is_of_rows = _is_of_rows(self._folder, self._begun)
            if is_of_rows is not None:
                kind = _Rows if is_of_rows else _Training
                self._work = kind(self._folder, self._begun)
        if self._work is not None:
            self._work.look()
            self._show(self._work)

    def _show(self, work: _Training | _Rows) -> None:
        if work.steps == 0:
            return
        if self._bar is None:
            unit = "step" if isinstance(work, _Training) else "training"
            self._bar = self._tqdm(
                total=work.steps, initial=work.step, unit=unit, dynamic_ncols=True, file=sys.stderr
            )
        if self._bar.total != work.steps or work.step < self._bar.n:
            self._bar.reset(total=work.steps)
        self._bar.set_description(work.title, refresh=False)
        self._bar.set_postfix_str(work.note, refresh=False)
        self._bar.update(work.step - self._bar.n)
        self._bar.refresh()


@contextlib.contextmanager
def follow(pid: int, tqdm: Any) -> Iterator[None]:
    """A bar of this class for as long as a process of the program works; None: no bar."""
    if tqdm is None:
        yield
        return
    follower = _Follower(pid, tqdm)
    follower.start()
    try:
        yield
    finally:
        follower.stop()
