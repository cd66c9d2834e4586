"""Many trainings by the program: `compare` precisions, and search an assignment, `assign`.

Source: docs/reference/run-folder.md, "The folder of a comparison"; docs/how-to/search.md.
"""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any

from ._sound import Made, reads, told
from .errors import CorruptError, DtypeError, MissingError, StorageError, VersionError, path_text
from .program import PathLike, ask, words
from .runs import report
from .tables import as_html, flat, table

if TYPE_CHECKING:
    from .figures import Figure
    from .plans import Plan

_EXIT_FAILED = 1  # of a row of a comparison, or nothing met the budget
_LISTS = {"precision": ";", "seeds": ","}


def _load(folder: PathLike, kind: str) -> dict[str, Any]:
    place = path_text(folder, "folder")
    path = os.path.join(place, f"{kind}.json")
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        raise MissingError(f"{place}: found no {kind}.json, expected the folder of one") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise CorruptError(f"{path}: {error}") from None
    if not isinstance(found, dict) or found.get("kind") != kind:
        raise VersionError(f"{path}: found no 'kind': '{kind}', expected it")
    return found


def _result(found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise DtypeError(f"result: found {type(found).__name__}, expected a dict of the program")
    return found


class Comparison(Made):
    """The same training in many precisions and seeds.

    Attributes
    ----------
    path : str
        Its folder.
    result : dict
        All that the program says.
    metric : str
        What is compared: "accuracy".
    rows, precisions : pandas.DataFrame, or list of dict without pandas
        One row for each run, and for each precision over its seeds.
    """

    _PARTS = ("result", "path")

    def __init__(self, result: dict[str, Any]) -> None:
        self.result = _result(result)
        self.path = str(result.get("run", ""))

    @classmethod
    def load(cls, folder: PathLike) -> Comparison:
        """A comparison of a folder.

        Parameters
        ----------
        folder : path

        Returns
        -------
        Comparison

        Raises
        ------
        MissingError, CorruptError, VersionError
            It is none, or it cannot be read.
        """
        found = _load(folder, "compare")
        return cls({**found, "run": path_text(folder, "folder")})

    @property
    @reads
    def metric(self) -> str:
        """What is compared."""
        return str(self.result["metric"]["name"])

    @property
    @reads
    def rows(self) -> Any:
        """One row for each run."""
        return table([flat(row) for row in self.result.get("rows", [])])

    @property
    @reads
    def precisions(self) -> Any:
        """One row for each precision, over its seeds."""
        return table(list(self.result.get("precisions", [])))

    @property
    @reads
    def failed(self) -> list[str]:
        """Folders of rows whose process failed; the same call tries them again."""
        return [r["run"] for r in self.result.get("rows", []) if r.get("state") == "failed"]

    def report(self, out: PathLike | None = None, section: str | None = None) -> str:
        """Draw its page, see `report`."""
        return report(self, out=out, section=section)

    @reads
    def plot(self) -> Figure:
        """The metric of each precision against its memory, with the front, one column wide.

        A point is the mean over the seeds that ended, the bar their range.

        Returns
        -------
        Figure
            A matplotlib figure; `.data` has its numbers, `.savefig("front.pdf")` writes it.

        Raises
        ------
        UnsupportedError
            matplotlib is not installed.
        """
        from .figures import front

        return front(self)

    @told
    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"Comparison({self.path!r}, {len(self.result.get('rows', []))} rows{failed})"

    @reads
    def _repr_html_(self) -> str:
        name = self.metric
        shown = [
            {
                "precision": row["precision"],
                name: row.get(f"test_{name}"),
                "deviation": row.get(f"test_{name}_deviation"),
                "memory": row.get("memory_bytes"),
                "diverged": row.get("diverged"),
                "front": "*" if row.get("pareto") else "",
            }
            for row in self.result.get("precisions", [])
        ]
        return as_html(f"{self.result.get('model')} on {self.result.get('data')}", shown)


class Assignment(Made):
    """An assignment of precisions to tensors that a search has found.

    Attributes
    ----------
    path : str
        Folder of the search.
    result : dict
        All that the program says.
    plan : Plan
        How every tensor is rounded: `train(precision=found.plan)`.
    meets_budget : bool
        False: nothing met it, the plan is the nearest.
    candidates : pandas.DataFrame, or list of dict without pandas
        One row for each candidate and rung: size, metric, steps.
    groups : pandas.DataFrame, or list of dict without pandas
        One row for each group of tensors: what it saves and what it would lose.
    """

    _PARTS = ("result", "path")

    def __init__(self, path: PathLike, result: dict[str, Any]) -> None:
        self.path = path_text(path, "path")
        self.result = _result(result)

    @classmethod
    def load(cls, folder: PathLike) -> Assignment:
        """A search of a folder.

        Parameters
        ----------
        folder : path

        Returns
        -------
        Assignment

        Raises
        ------
        MissingError, CorruptError, VersionError
            It is none, or it cannot be read.
        """
        return cls(folder, _load(folder, "assign"))

    @property
    def plan(self) -> Plan:
        """The assignment that was chosen, tensor by tensor."""
        from .plans import Plan

        return Plan.load(os.path.join(self.path, "plan.resolved.yaml"))

    @property
    def meets_budget(self) -> bool:
        """Whether it keeps the budget."""
        return bool(self.result.get("meets_budget"))

    @property
    @reads
    def candidates(self) -> Any:
        """One row for each candidate and rung."""
        return table(
            [
                {**{k: v for k, v in candidate.items() if k != "rungs"}, **rung}
                for candidate in self.result.get("candidates", [])
                for rung in candidate.get("rungs") or [{}]
            ]
        )

    @property
    @reads
    def groups(self) -> Any:
        """One row for each group of tensors."""
        names = [n for n, v in self.result.items() if n.startswith("group_") and v]
        count = max((len(self.result[n]) for n in names), default=0)
        rows = [{n[len("group_") :]: self.result[n][i] for n in names} for i in range(count)]
        return table([{"group": i, **row} for i, row in enumerate(rows)])

    @told
    def __repr__(self) -> str:
        missed = "" if self.meets_budget else ", misses its budget"
        return f"Assignment({self.path!r}, {self.result.get('chosen')!r}{missed})"

    @reads
    def _repr_html_(self) -> str:
        shown = []
        for name in ("result", "plain"):
            if self.result.get(name):
                label = "chosen" if name == "result" else "plain demotion"
                shown.append({"assignment": label, **self.result[name]})
        return as_html(f"{self.result.get('model')}, {self.result.get('budget')}", shown)


def compare(*, progress: bool | None = None, **keys: object) -> Comparison:
    """Train the same in many precisions and seeds: `precision=["fp32", "hfp8"]`, `seeds=[1, 2]`.

    Parameters
    ----------
    progress : bool, optional
        As of `train`.
    **keys
        As `train` takes them; precisions may be `Plan`s. Called again with the same keys, it goes
        on where it was stopped.

    Returns
    -------
    Comparison
        Also where a row failed, of which a RuntimeWarning tells: `comparison.failed`.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C: the rows' states are saved, the same call goes on.
    """
    found = ask(["compare", *words(keys, _LISTS)], (0, _EXIT_FAILED), progress=progress)
    made = Comparison(found)
    if made.failed:
        told = f"compare: {len(made.failed)} rows failed, see log.txt in: {' '.join(made.failed)}"
        warnings.warn(told, RuntimeWarning, stacklevel=2)
    return made


def assign(budget: str, *, progress: bool | None = None, **keys: object) -> Assignment:
    """Search the assignment that fits a memory or keeps a metric: `halfulp assign`.

    Parameters
    ----------
    budget : str
        "memory:0.35": the best at 35 % of float32's bits; "saved:S", "total:S"; "metric:-1": the
        smallest that loses at most one point.
    progress : bool, optional
        As of `train`.
    **keys
        As `train` takes them; `seeds=[1, 2]`. Called again with the same keys,
        it goes on where it was stopped.

    Returns
    -------
    Assignment

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C: the trainings' states are saved, the same call goes on.
    """
    given = words({"budget": budget, **keys}, _LISTS)
    found = ask(["assign", *given], (0, _EXIT_FAILED), progress=progress)
    return Assignment(os.path.dirname(found["plan"]) or ".", found)
