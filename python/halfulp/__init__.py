"""Number formats that no hardware has, exact to the last bit, and networks trained in them.

Examples
--------
>>> import halfulp as hu
>>> hu.round([0.1, 3.3], "e5m2").tolist()
[0.09375, 3.5]
"""

from ._ffi import ffi as _ffi
from ._ffi import lib as _lib
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
from .histograms import Exponents, exponents
from .networks import Net, Value, operations
from .products import ProductCounts, gemm
from .rounding import Counts, Key
from .runs import Comparison, Run, compare, program_path, resume, stats, train, why
from .scaled import Packed, Quantization, Scale

__version__: str = _ffi.string(_lib.hu_version()).decode()

__all__ = [
    "ArgumentError",
    "Comparison",
    "CorruptError",
    "Counts",
    "DtypeError",
    "Error",
    "Exponents",
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
    "ProductCounts",
    "Quantization",
    "Run",
    "Scale",
    "ShapeError",
    "StorageError",
    "UnknownNameError",
    "UnsupportedError",
    "Value",
    "VersionError",
    "compare",
    "decode",
    "encode",
    "exponents",
    "gemm",
    "named_formats",
    "operations",
    "pack",
    "program_path",
    "resume",
    "round",
    "stats",
    "train",
    "unpack",
    "why",
]
