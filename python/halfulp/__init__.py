"""Number formats that no hardware has, exact to the last bit, and networks trained in them.

Examples
--------
>>> import halfulp as hu
>>> hu.round([0.1, 3.3], "e5m2").tolist()
[0.09375, 3.5]
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ._library import ffi as _ffi
from ._library import lib as _lib
from .arrays import decode, encode, pack, round, unpack  # noqa: A004
from .errors import (
    ArgumentError,
    CorruptError,
    DtypeError,
    Error,
    FormatError,
    InternalError,
    InterruptedRunError,
    KindError,
    LimitError,
    MissingError,
    NonFiniteError,
    OutOfMemoryError,
    ParseError,
    PeerError,
    ShapeError,
    StorageError,
    UnknownNameError,
    UnsupportedError,
    VersionError,
)
from .formats import Format, named_formats
from .rounding import Counts, Key

if TYPE_CHECKING:
    from .answers import Answer, Stats, Why, stats, why
    from .data import Dataset, Field
    from .histograms import Exponents, exponents
    from .networks import Net, Value, operations
    from .plans import Plan, ProductPlan, Summary, TensorPlan, summary
    from .products import ProductCounts, gemm
    from .program import program_path
    from .runs import Run, list_runs, report, resume, train
    from .scaled import Packed, Quantization, Scale
    from .studies import Assignment, Comparison, assign, compare
    from .training import Step, Tensor, Trainer

# What is imported when it is first asked for: `import halfulp` takes half the time without it.
_LATER = {
    "answers": ("Answer", "Stats", "Why", "stats", "why"),
    "data": ("Dataset", "Field"),
    "histograms": ("Exponents", "exponents"),
    "networks": ("Net", "Value", "operations"),
    "plans": ("Plan", "ProductPlan", "Summary", "TensorPlan", "summary"),
    "products": ("ProductCounts", "gemm"),
    "program": ("program_path",),
    "runs": ("Run", "list_runs", "report", "resume", "train"),
    "scaled": ("Packed", "Quantization", "Scale"),
    "studies": ("Assignment", "Comparison", "assign", "compare"),
    "training": ("Step", "Tensor", "Trainer"),
}
_MODULES = {name: module for module, names in _LATER.items() for name in names}

__version__: str = _ffi.string(_lib.hu_version()).decode()

__all__ = [
    "Answer",
    "ArgumentError",
    "Assignment",
    "Comparison",
    "CorruptError",
    "Counts",
    "Dataset",
    "DtypeError",
    "Error",
    "Exponents",
    "Field",
    "Format",
    "FormatError",
    "InternalError",
    "InterruptedRunError",
    "Key",
    "KindError",
    "LimitError",
    "MissingError",
    "Net",
    "NonFiniteError",
    "OutOfMemoryError",
    "Packed",
    "ParseError",
    "PeerError",
    "Plan",
    "ProductCounts",
    "ProductPlan",
    "Quantization",
    "Run",
    "Scale",
    "ShapeError",
    "Stats",
    "Step",
    "StorageError",
    "Summary",
    "Tensor",
    "TensorPlan",
    "Trainer",
    "UnknownNameError",
    "UnsupportedError",
    "Value",
    "VersionError",
    "Why",
    "assign",
    "compare",
    "decode",
    "encode",
    "exponents",
    "gemm",
    "list_runs",
    "named_formats",
    "operations",
    "pack",
    "program_path",
    "report",
    "resume",
    "round",
    "stats",
    "summary",
    "train",
    "unpack",
    "why",
]


def __getattr__(name: str) -> object:
    """What is imported later, once."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _import_module(f".{_MODULES[name]}", __name__)
    for known in _LATER[_MODULES[name]]:
        globals()[known] = getattr(module, known)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
