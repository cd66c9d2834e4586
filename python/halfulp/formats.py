"""Number formats: `Format`, its limits, its numbers, and how it shows itself.

Source: include/halfulp/format.h; docs/reference/numerics/formats.md.
"""

from __future__ import annotations

import functools
import html
import math
import operator
from typing import TYPE_CHECKING, Any, Union

from . import _drawing
from ._ffi import ffi, lib
from ._sound import Made, shown, told
from .errors import (
    ArgumentError,
    DtypeError,
    LimitError,
    UnsupportedError,
    char_text,
    check,
    text_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .figures import Figure

_SPECIALS = ("ieee", "fin", "fn", "fnuz")
_OVERFLOW = ("inf", "sat", "nan", "propagate", "none")
_UNDERFLOW = ("flush", "nearest")
_NAN = ("stays", "overflows")
# The types of NumPy and of ml_dtypes whose codes are those of a named format.
_DTYPES = {
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "e5m2": "float8_e5m2",
    "e4m3fn": "float8_e4m3fn",
    "e4m3": "float8_e4m3",
    "e3m4": "float8_e3m4",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e4m3b11fnuz": "float8_e4m3b11fnuz",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "e2m1": "float4_e2m1fn",
}
_TEXT_BYTES = int(lib.HU_FORMAT_TEXT_BYTES)
_ROUND_UP = 3
_LISTED_BITS = 16


def _integer(value: object, what: str, least: int, most: int) -> int:
    try:
        number = int(operator.index(value))  # type: ignore[arg-type] # True stays one in 3.9
    except TypeError:
        raise DtypeError(f"{what}: found {type(value).__name__}, expected a whole number") from None
    if not least <= number <= most:
        raise ArgumentError(f"{what}: found {shown(number)}, expected {least} to {most}")
    return number


def _one_of(value: object, what: str, names: tuple[str, ...]) -> int:
    if not isinstance(value, str) or value not in names:
        raise ArgumentError(f"{what}: found {shown(value)}, expected one of: {' '.join(names)}")
    return names.index(value)


def _is_same(value: object, usual: object) -> bool:
    """Without asking what may not tell: arrays do not."""
    return value is usual or (isinstance(value, str) and value == usual)


def _flag(value: object, what: str) -> bool:
    try:
        return bool(value)
    except Exception as error:
        raise DtypeError(f"{what}: {error}") from None


def _text_of_dtype(given: object) -> str:
    """The name of the format of a NumPy type: np.float16, ml_dtypes.float8_e5m2, np.dtype("f4")."""
    import numpy as np

    if not isinstance(given, np.dtype) and not (
        isinstance(given, type) and issubclass(given, np.generic)
    ):
        raise DtypeError(f"format: found {type(given).__name__}, expected a Format or its text")
    try:
        name = np.dtype(given).name
    except Exception as error:  # abstract types, as np.floating
        raise DtypeError(f"format: {error}") from None
    found = next((ours for ours, theirs in _DTYPES.items() if theirs == name), None)
    if found is None:
        raise UnsupportedError(
            f"format: found {name}, expected one of: {' '.join(_DTYPES.values())}"
        )
    return found


class Format(Made):
    """A binary floating-point format, or a format by table: posits, takums, code books.

    Parameters
    ----------
    text : str, optional
        A name ("fp16", "e4m3fn"), or exponent and fraction bits with options
        ("e5m2:bias=16:ovf=sat", "1/6/9/d", "fp(4,3,4)"), or a table ("posit8", "hif8", "nf4",
        "table:FILE"); `halfulp help formats` has them all.
        Or a type of NumPy or ml_dtypes: np.float16, ml_dtypes.float8_e4m3fn.
    exp, man : int, optional
        In place of a text: bits of the exponent (1 to 8) and of the stored fraction (0 to 23).
    bias : int, optional
        What is subtracted from the exponent field; usual is 2**(exp - 1) - 1.
    subnormals : bool
        Whether numbers below the smallest normal one are represented; else they become zero.
    overflow : {"inf", "sat", "nan", "propagate", "none"}
        What a number that is too large becomes; "sat" is the largest finite one, as "propagate",
        where infinities stay.
    specials : {"ieee", "fin", "fn", "fnuz"}
        Which codes are no finite numbers; "fin": none.
    underflow : {"flush", "nearest"}
        Without subnormals: rounded as if there were some, what is then below the smallest normal
        number becomes zero; or rounded to zero or that number, whichever is nearer.
    nan : {"stays", "overflows"}
        What a NaN becomes; "overflows", of "fin" alone: what an infinity does.

    Attributes
    ----------
    exp, man, bias, bits : int
        The fields above, and bits of a code: 1 + exp + man. A table has no fields: exp and man
        are 0, and 2**-bias is what its numbers are multiplied with.
    emin, emax : int
        Exponents of the smallest normal and of the largest finite number.
    dtype : numpy.dtype
        The type of NumPy or ml_dtypes with the same codes, where there is one.
    max, min_normal, min_subnormal, epsilon : float
        Limits, exact; without subnormals min_subnormal is min_normal. epsilon is the distance from
        1 to the next number, 2**-man; 0 where a table has none.
    codes : int
        How many codes there are.

    Raises
    ------
    ParseError, UnknownNameError, FormatError
        With the column, the nearest names, or the range of the field.

    Examples
    --------
    >>> f = Format("e5m2")
    >>> f.max, f.min_normal, f.bits
    (57344.0, 6.103515625e-05, 8)
    >>> f == Format(exp=5, man=2, bias=15, subnormals=True, overflow="inf")
    True
    """

    __slots__ = ("_c", "_limits", "_text")
    _PARTS = __slots__

    def __init__(
        self,
        text: str | np.dtype[Any] | type | None = None,
        *,
        exp: int | None = None,
        man: int | None = None,
        bias: int | None = None,
        subnormals: bool = True,
        overflow: str = "inf",
        specials: str = "ieee",
        underflow: str = "flush",
        nan: str = "stays",
    ) -> None:
        self._c = ffi.new("hu_format *")
        if text is not None:
            fields = (exp, man, bias, subnormals, overflow, specials, underflow, nan)
            if not all(map(_is_same, fields, _USUAL)):
                raise ArgumentError("Format: found a text and fields, expected one of them")
            name = text if isinstance(text, str) else _text_of_dtype(text)
            check(lib.hu_format_parse(char_text(name, "Format"), self._c))
        else:
            if exp is None or man is None:
                raise ArgumentError("Format: found neither a text nor exp= and man=")
            self._c.exp_bits = _integer(exp, "exp", 1, 8)
            self._c.man_bits = _integer(man, "man", 0, 23)
            usual = 2 ** (self._c.exp_bits - 1) - 1
            self._c.bias = usual if bias is None else _integer(bias, "bias", -(2**20), 2**20)
            self._c.subnormals = _flag(subnormals, "subnormals")
            self._c.overflow = _one_of(overflow, "overflow", _OVERFLOW)
            self._c.specials = _one_of(specials, "specials", _SPECIALS)
            self._c.underflow = _one_of(underflow, "underflow", _UNDERFLOW)
            self._c.nan = _one_of(nan, "nan", _NAN)
        check(lib.hu_format_check(self._c))
        self._limits = lib.hu_format_limits_of(self._c)
        out = ffi.new("char[]", _TEXT_BYTES)
        check(lib.hu_format_print(self._c, out, _TEXT_BYTES))
        self._text = text_of(out)

    @property
    def exp(self) -> int:
        """Bits of the exponent."""
        return int(self._c.exp_bits)

    @property
    def man(self) -> int:
        """Stored bits of the fraction."""
        return int(self._c.man_bits)

    @property
    def bias(self) -> int:
        """What is subtracted from the exponent field."""
        return int(self._c.bias)

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return int(lib.hu_format_bits(self._c))

    @property
    def subnormals(self) -> bool:
        """Whether numbers below `min_normal` are represented."""
        return bool(self._c.subnormals)

    @property
    def overflow(self) -> str:
        """What too large a number becomes: "inf", "sat", "nan", "propagate" or "none"."""
        return _OVERFLOW[self._c.overflow]

    @property
    def specials(self) -> str:
        """Which codes are no finite numbers: "ieee", "fin", "fn" or "fnuz"; "table": its own."""
        return "table" if self._c.table else _SPECIALS[self._c.specials]

    @property
    def underflow(self) -> str:
        """What too small a number becomes without subnormals: "flush" or "nearest"."""
        return _UNDERFLOW[self._c.underflow]

    @property
    def nan(self) -> str:
        """What becomes of a NaN: it "stays" or "overflows"."""
        return _NAN[self._c.nan]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of NumPy or ml_dtypes with the same codes: `encode(x, f).view(f.dtype)`.

        Raises
        ------
        UnsupportedError
            There is none, or ml_dtypes, or its version that has it, is not installed.

        Examples
        --------
        >>> import halfulp as hu
        >>> f = Format("fp16:ovf=sat")
        >>> hu.encode(hu.round([0.5, 1e9], f), f).view(f.dtype)
        array([5.00e-01, 6.55e+04], dtype=float16)
        """
        import numpy as np

        name = _DTYPES.get(_name_of_codes(self._codes()))
        if name is None:
            raise UnsupportedError(f"{self}: found no type of NumPy or ml_dtypes with these codes")
        if hasattr(np, name):
            return np.dtype(name)
        try:
            import ml_dtypes
        except ImportError:
            raise UnsupportedError(
                f"{self}: {name} is a type of ml_dtypes, not installed"
            ) from None
        kind: type = getattr(ml_dtypes, name, type(None))
        if kind is type(None):
            raise UnsupportedError(f"{self}: ml_dtypes {ml_dtypes.__version__} has no {name}")
        return np.dtype(kind)

    def _codes(self) -> tuple[object, ...]:
        """What says which number each code is."""
        return (self.exp, self.man, self.bias, self.specials, self.subnormals)

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal number."""
        return int(self._limits.emin)

    @property
    def emax(self) -> int:
        """Exponent of the largest finite number."""
        return int(self._limits.emax)

    @property
    def max(self) -> float:
        """Largest finite number."""
        return float(self._limits.max_finite)

    @property
    def min_normal(self) -> float:
        """Smallest normal number."""
        return float(self._limits.min_normal)

    @property
    def min_subnormal(self) -> float:
        """Smallest number above zero."""
        return float(self._limits.min_subnormal)

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next number."""
        if not self._c.table:
            return math.ldexp(1.0, -self.man)
        after = float(lib.hu_format_round(self._c, _ROUND_UP, 1.0 + 2.0**-23, 0))
        return after - 1.0 if self.max >= after > 1.0 else 0.0

    @property
    def codes(self) -> int:
        """How many codes there are."""
        return int(self._limits.codes)

    def values(self) -> NDArray[np.float32]:
        """All numbers of the format, in the order of their codes.

        Returns
        -------
        ndarray, shape (codes,), float32
            Codes with the sign bit, infinities and NaNs among them.

        Raises
        ------
        LimitError
            Above 16 bits: there are too many.

        Examples
        --------
        >>> Format("e2m1").values()[:8].tolist()
        [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
        """
        import numpy as np

        from .arrays import decode

        if self.bits > _LISTED_BITS:
            raise LimitError(
                f"values of {self}: found {self.bits} bits, expected at most {_LISTED_BITS}"
            )
        return decode(np.arange(self.codes, dtype=np.uint16), self)

    def plot(self, *others: FormatLike) -> Figure:
        """The numbers, and the relative error against the magnitude, one column wide.

        The error is half the distance of neighbouring numbers over the number, the most that
        rounding to nearest makes; it climbs to 100 % where numbers become zero, and jumps there
        where they overflow.

        Parameters
        ----------
        *others : Format or str
            Formats to put beside this one, at most three.

        Returns
        -------
        Figure
            A matplotlib figure; `.data` has the corners of its curves, `.numbers` the numbers,
            `.savefig("formats.pdf")` writes it.

        Raises
        ------
        UnsupportedError
            matplotlib is not installed.
        """
        from .figures import errors

        return errors([self, *others])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Format):
            return NotImplemented
        return bool(lib.hu_format_equal(self._c, other._c))

    def __hash__(self) -> int:
        return hash(bytes(ffi.buffer(self._c)))

    def __str__(self) -> str:
        return self._text

    @told
    def __repr__(self) -> str:
        return f"Format({self._text!r})"

    def __reduce__(self) -> tuple[type[Format], tuple[str]]:
        return (Format, (self._text,))

    def _repr_html_(self) -> str:
        rows = (
            (
                "bits",
                f"{self.bits}, {self.codes} codes by table"
                if self._c.table
                else f"{self.bits}: 1 sign, {self.exp} exponent, {self.man} fraction",
            ),
            ("bias", str(self.bias)),
            ("largest", f"{self.max:.9g}"),
            ("smallest normal", f"{self.min_normal:.9g}"),
            ("smallest", f"{self.min_subnormal:.9g}"),
            ("epsilon", f"{self.epsilon:.9g}"),
            (
                "too large becomes",
                {
                    "inf": "infinity",
                    "sat": "the largest",
                    "nan": "NaN",
                    "propagate": "the largest; infinities stay",
                    "none": "infinity, where it has one, or the largest",
                }[self.overflow],
            ),
        )
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
        title = html.escape(self._text)
        return f"<table><caption>{title}</caption>{cells}</table>{_drawing.number_line(self)}"


_USUAL = (None, None, None, True, "inf", "ieee", "flush", "stays")
FormatLike = Union[str, Format, "np.dtype[Any]", type]


@functools.lru_cache(maxsize=512)
def _of_text(text: str) -> Format:
    return Format(text)


def as_format(fmt: FormatLike) -> Format:
    """The format that a text names; formats stay."""
    if isinstance(fmt, Format):
        return fmt
    return _of_text(fmt if isinstance(fmt, str) else _text_of_dtype(fmt))


@functools.lru_cache(maxsize=64)
def _name_of_codes(codes: tuple[object, ...]) -> str:
    return next((name for name in _DTYPES if _of_text(name)._codes() == codes), "")


def named_formats() -> dict[str, str]:
    """All named formats, each with its description.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> "e4m3fn" in named_formats()
    True
    """
    found: dict[str, str] = {}
    description: Any = ffi.new("const char **")
    for index in range(lib.hu_format_named_count()):
        name = lib.hu_format_named(index, ffi.NULL, description)
        found[text_of(name)] = text_of(description[0])
    return found
