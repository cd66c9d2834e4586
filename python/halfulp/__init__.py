"""Number formats that no hardware has, exact to the last bit, and networks trained in them.

Examples
--------
>>> import halfulp as hu
>>> hu.round([0.1, 3.3], "e5m2").tolist()
[0.09375, 3.5]
"""

from ._library import ffi as _ffi
from ._library import lib as _lib
from .answers import Answer, Stats, Why, stats, why
from .arrays import decode, encode, pack, round, unpack  # noqa: A004
from .data import Dataset, Field
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
from .histograms import Exponents, exponents
from .networks import Net, Value, operations
from .plans import Plan, ProductPlan, Summary, TensorPlan, summary
from .products import ProductCounts, gemm
from .program import program_path
from .rounding import Counts, Key
from .runs import Run, list_runs, report, resume, train
from .scaled import Packed, Quantization, Scale
from .studies import Assignment, Comparison, assign, compare
from .training import Step, Tensor, Trainer

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
