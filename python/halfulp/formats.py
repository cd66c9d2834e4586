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
from .errors import ArgumentError, DtypeError, LimitError, char_text, check, text_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SPECIALS = ("ieee", "fin", "fn", "fnuz")
_OVERFLOW = ("inf", "sat", "nan")
_TEXT_BYTES = 128
_LISTED_BITS = 16


def _integer(value: object, what: str, least: int, most: int) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise DtypeError(f"{what}: found {type(value).__name__}, expected a whole number") from None
    if not least <= number <= most:
        raise ArgumentError(f"{what}: found {number}, expected {least} to {most}")
    return number


def _one_of(value: object, what: str, names: tuple[str, ...]) -> int:
    if value not in names:
        raise ArgumentError(f"{what}: found {value!r}, expected one of: {' '.join(names)}")
    return names.index(str(value))


class Format:
    """A binary floating-point format.

    Parameters
    ----------
    text : str, optional
        A name ("fp16", "e4m3fn"), or exponent and fraction bits with options
        ("e5m2:bias=16:ovf=sat", "1/6/9/d", "fp(4,3,4)"); `halfulp help formats` has them all.
    exp, man : int, optional
        In place of a text: bits of the exponent (1 to 8) and of the stored fraction (0 to 23).
    bias : int, optional
        What is subtracted from the exponent field; usual is 2**(exp - 1) - 1.
    subnormals : bool
        Whether numbers below the smallest normal one are represented; else they become zero.
    overflow : {"inf", "sat", "nan"}
        What a number that is too large becomes; "sat" is the largest finite one.
    specials : {"ieee", "fin", "fn", "fnuz"}
        Which codes are no finite numbers; "fin": none.

    Attributes
    ----------
    exp, man, bias, bits : int
        The fields above, and bits of a code: 1 + exp + man.
    emin, emax : int
        Exponents of the smallest normal and of the largest finite number.
    max, min_normal, min_subnormal, epsilon : float
        Limits, exact; without subnormals min_subnormal is min_normal. epsilon is the distance from
        1 to the next number, 2**-man.
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

    def __init__(
        self,
        text: str | None = None,
        *,
        exp: int | None = None,
        man: int | None = None,
        bias: int | None = None,
        subnormals: bool = True,
        overflow: str = "inf",
        specials: str = "ieee",
    ) -> None:
        self._c = ffi.new("hu_format *")
        if text is not None:
            if (exp, man, bias, subnormals, overflow, specials) != (
                None,
                None,
                None,
                True,
                "inf",
                "ieee",
            ):
                raise ArgumentError("Format: found a text and fields, expected one of them")
            check(lib.hu_format_parse(char_text(text, "Format"), self._c))
        else:
            if exp is None or man is None:
                raise ArgumentError("Format: found neither a text nor exp= and man=")
            self._c.exp_bits = _integer(exp, "exp", 1, 8)
            self._c.man_bits = _integer(man, "man", 0, 23)
            usual = 2 ** (self._c.exp_bits - 1) - 1
            self._c.bias = usual if bias is None else _integer(bias, "bias", -(2**20), 2**20)
            self._c.subnormals = 1 if subnormals else 0
            self._c.overflow = _one_of(overflow, "overflow", _OVERFLOW)
            self._c.specials = _one_of(specials, "specials", _SPECIALS)
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
        """What too large a number becomes: "inf", "sat" or "nan"."""
        return _OVERFLOW[self._c.overflow]

    @property
    def specials(self) -> str:
        """Which codes are no finite numbers: "ieee", "fin", "fn" or "fnuz"."""
        return _SPECIALS[self._c.specials]

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
        return math.ldexp(1.0, -self.man)

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Format):
            return NotImplemented
        return bool(lib.hu_format_equal(self._c, other._c))

    def __hash__(self) -> int:
        return hash(bytes(ffi.buffer(self._c)))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Format({self._text!r})"

    def __reduce__(self) -> tuple[type[Format], tuple[str]]:
        return (Format, (self._text,))

    def _repr_html_(self) -> str:
        rows = (
            ("bits", f"{self.bits}: 1 sign, {self.exp} exponent, {self.man} fraction"),
            ("bias", str(self.bias)),
            ("largest", f"{self.max:.9g}"),
            ("smallest normal", f"{self.min_normal:.9g}"),
            ("smallest", f"{self.min_subnormal:.9g}"),
            ("epsilon", f"{self.epsilon:.9g}"),
            (
                "too large becomes",
                {"inf": "infinity", "sat": "the largest", "nan": "NaN"}[self.overflow],
            ),
        )
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
        title = html.escape(self._text)
        return f"<table><caption>{title}</caption>{cells}</table>{_drawing.number_line(self)}"


FormatLike = Union[str, Format]


@functools.lru_cache(maxsize=512)
def _of_text(text: str) -> Format:
    return Format(text)


def as_format(fmt: FormatLike) -> Format:
    """The format that a text names; formats stay."""
    if isinstance(fmt, Format):
        return fmt
    if not isinstance(fmt, str):
        raise DtypeError(f"format: found {type(fmt).__name__}, expected a Format or its text")
    return _of_text(fmt)


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
