"""Data sets: those that the program knows, arrays of your own, and batches in the program's order.

Source: include/halfulp/data.h.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._ffi import ffi, lib
from ._inputs import _as_floats
from ._sound import Made, told
from .errors import ArgumentError, DtypeError, ShapeError, char_text, check, path_text, text_of
from .formats import _flag, _integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Arrays = Mapping[str, object]
Extents = Union[int, Sequence[int]]
_MOST_WHOLE = 2**24  # whole numbers up to here are exact as float32


@dataclass(frozen=True)
class Field:
    """One named array that every sample has.

    Attributes
    ----------
    name : str
        As the task calls it: "image", "label", "tokens", ...
    shape : tuple of int
        Of one sample; () is one number.
    classes : int
        Above 0: whole numbers from 0 to classes - 1, or -1 where nobody knows; 0: quantities.

    Examples
    --------
    >>> import halfulp as hu
    >>> hu.Field("label", classes=10)
    Field(name='label', shape=(), classes=10)
    """

    name: str
    shape: tuple[int, ...] = ()
    classes: int = 0


def _c_fields(fields: Sequence[Field]) -> Any:
    if not isinstance(fields, Sequence) or isinstance(fields, str):
        raise DtypeError(f"fields: found {type(fields).__name__}, expected a sequence of Field")
    if len(fields) > lib.HU_FIELDS_MAX:
        raise ArgumentError(
            f"fields: found {len(fields)}, expected at most {int(lib.HU_FIELDS_MAX)}"
        )
    made = ffi.new("hu_field[]", max(len(fields), 1))
    for c, field in zip(made, fields):
        if not isinstance(field, Field):
            raise DtypeError(f"fields: found {type(field).__name__}, expected a Field")
        name = char_text(field.name, "name of a field")
        if len(name) >= lib.HU_FIELD_NAME_BYTES:
            raise ArgumentError(f"field {field.name!r}: found {len(name)} bytes of a name")
        if not isinstance(field.shape, (tuple, list)):
            raise DtypeError(
                f"field {field.name!r}: found {type(field.shape).__name__}, expected a shape"
            )
        if len(field.shape) > lib.HU_FIELD_RANK_MAX:
            raise ShapeError(
                f"field {field.name!r}: found {len(field.shape)} extents, expected at most "
                f"{lib.HU_FIELD_RANK_MAX}"
            )
        c.name = name
        c.rank = len(field.shape)
        extents = [_integer(e, f"field {field.name!r}", 1, 2**40) for e in field.shape]
        c.extent[0 : len(extents)] = extents
        c.classes = _integer(field.classes, f"classes of {field.name!r}", 0, 2**31 - 1)
    return made


def _field_of(c: Any) -> Field:
    shape = tuple(int(c.extent[i]) for i in range(c.rank))
    return Field(text_of(c.name), shape, int(c.classes))


def _rows(x: object, field: Field, count: int | None, who: str) -> Floats:
    """The numbers of a field, [count, extents], as contiguous float32."""
    array = x if isinstance(x, np.ndarray) else np.asarray(x)
    if array.dtype.kind in "iub":
        if array.size and (array.max() > _MOST_WHOLE or array.min() < -_MOST_WHOLE):
            raise ArgumentError(
                f"{who}: {field.name}: found a whole number beyond 2**24, which float32 has not"
            )
        array = array.astype(np.float32)
    if field.shape == () and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 0 or array.shape[1:] != field.shape:
        expected = ", ".join(["samples", *map(str, field.shape)])
        raise ShapeError(f"{who}: {field.name}: found shape {array.shape}, expected ({expected})")
    if count is not None and array.shape[0] != count:
        raise ShapeError(
            f"{who}: {field.name}: found {array.shape[0]} samples, expected {count} as of the "
            "others"
        )
    return _as_floats(array, field.name, None, who)


def _all_rows(
    arrays: Arrays | Sequence[object], fields: Sequence[Field], who: str, needed: bool = True
) -> tuple[int, list[Floats | None]]:
    """Rows by field, and how many samples they have."""
    if not isinstance(arrays, Mapping):
        if len(arrays) > len(fields):
            raise ShapeError(f"{who}: found {len(arrays)} arrays, expected {len(fields)}")
        arrays = dict(zip((f.name for f in fields), arrays))
    unknown = sorted(set(arrays) - {f.name for f in fields})
    if unknown:
        names = ", ".join(f.name for f in fields)
        raise ArgumentError(f"{who}: found the field {unknown[0]!r}, expected some of {names}")
    count: int | None = None
    rows: list[Floats | None] = []
    for field in fields:
        given = arrays.get(field.name)
        if given is None and needed:
            raise ArgumentError(f"{who}: found no field {field.name!r}, expected its numbers")
        rows.append(None if given is None else _rows(given, field, count, who))
        last = rows[-1]
        if last is not None:
            count = int(last.shape[0])
    if count is None:
        raise ArgumentError(f"{who}: found no numbers, expected those of {fields[0].name}")
    return count, rows


def _c_rows(rows: Sequence[Floats | None]) -> tuple[Any, list[Any]]:
    """Pointers for C, and what must live as long."""
    kept = [ffi.NULL if r is None else ffi.from_buffer("float[]", r) for r in rows]
    return ffi.new("float *[]", kept), kept


def _closer(data: Any) -> Callable[[Any], None]:
    """What closes a loader: the data set lives until then, whichever is let go first."""

    def close(loader: Any) -> None:
        lib.hu_loader_close(loader)  # its threads read from the data until it returns
        held.clear()

    held = [data]
    return close


class Dataset(Made):
    """Samples to train on, and samples to test with.

    Parameters
    ----------
    fields : sequence of Field
        What a sample has.
    train, test : mapping of str to array, or int
        Numbers by field, [samples, shape of the field], as the network reads them (pictures
        normalised already); they are not copied where they are contiguous float32. An int: so
        many samples are there, and `Trainer.step` gets them batch by batch.

    Attributes
    ----------
    fields : tuple of Field
    samples, test_samples : int

    Raises
    ------
    ShapeError, DtypeError, ArgumentError
        With the field, what was found, and what was expected.

    Examples
    --------
    >>> import numpy as np
    >>> import halfulp as hu
    >>> x, y = np.zeros((6, 8, 8, 1), np.float32), np.arange(6) % 2
    >>> fields = [hu.Field("image", (8, 8, 1)), hu.Field("label", classes=2)]
    >>> data = hu.Dataset(fields, train={"image": x, "label": y}, test={"image": x, "label": y})
    >>> data.samples
    6
    """

    _PARTS = ("_c", "_kept")

    def __init__(
        self, fields: Sequence[Field], train: Arrays | int, test: Arrays | int = 1
    ) -> None:
        if "_c" in self.__dict__:
            raise ArgumentError("found a Dataset that is made already, expected a new one")
        c_fields = _c_fields(fields)
        halves, self._kept = [], []
        for what, given in (("train", train), ("test", test)):
            half = ffi.new("hu_sample_rows *", {"size": ffi.sizeof("hu_sample_rows")})
            if isinstance(given, Mapping):
                count, rows = _all_rows(given, fields, what)
                pointers, kept = _c_rows(rows)
                half.samples, half.field = count, pointers
                self._kept += [pointers, kept, rows]
            else:
                half.samples = _integer(given, what, 1, 2**32 - 1)
            halves.append(half)
        made = ffi.new("hu_dataset **")
        check(lib.hu_dataset_of_rows(c_fields, len(fields), halves[0], halves[1], made))
        self._take(made[0])

    def _take(self, c: Any) -> None:
        self._c = ffi.gc(c, lib.hu_dataset_close)

    @classmethod
    def open(cls, spec: str | os.PathLike[str], limit: int = 0, test_limit: int = 0) -> Dataset:
        """A data set that the program knows.

        Parameters
        ----------
        spec : str
            "cifar10:DIR", "glyphs", ...: `halfulp help data`.
        limit, test_limit : int
            How many samples to use, from the front; 0: all.

        Returns
        -------
        Dataset

        Raises
        ------
        UnknownNameError, MissingError, CorruptError
            With the nearest names; with advice; with file, place, found and expected.

        Examples
        --------
        >>> import halfulp as hu
        >>> data = hu.Dataset.open("glyphs", limit=64, test_limit=32)
        >>> data.fields[0]
        Field(name='image', shape=(32, 32, 3), classes=0)
        """
        limits = ffi.new("hu_data_limits *")
        limits.train = _integer(limit, "limit", 0, 2**62)
        limits.test = _integer(test_limit, "test_limit", 0, 2**62)
        made = ffi.new("hu_dataset **")
        check(lib.hu_dataset_open(char_text(path_text(spec, "spec"), "spec"), limits, made))
        data = cls.__new__(cls)
        data._kept = []
        data._take(made[0])
        return data

    @property
    def fields(self) -> tuple[Field, ...]:
        """What a sample has."""
        return tuple(_field_of(self._c.field[f]) for f in range(self._c.field_count))

    @property
    def samples(self) -> int:
        """Training samples: an epoch."""
        return int(self._c.train.count)

    @property
    def test_samples(self) -> int:
        """Samples to test with."""
        return int(self._c.test.count)

    def batches(
        self, size: int, epoch: int = 0, seed: int = 1, test: bool = False, augment: bool = True
    ) -> Iterator[tuple[Floats, ...]]:
        """The batches of an epoch, in the order and with the numbers of `halfulp train`.

        Parameters
        ----------
        size : int
            Samples of a batch; the last one may have fewer.
        epoch, seed : int
            Order and augmentation are a function of them.
        test : bool
            The test samples, in their own order.
        augment : bool
            Training pictures are shifted and mirrored as is usual for the data; False: not.

        Yields
        ------
        tuple of numpy.ndarray
            float32 by field, [samples, shape of the field]; pictures normalised.

        Raises
        ------
        CorruptError, StorageError
            Of a sample that cannot be read.
        ArgumentError

        Examples
        --------
        >>> import halfulp as hu
        >>> data = hu.Dataset.open("glyphs", limit=40, test_limit=8)
        >>> [x.shape for x, y in data.batches(16)]
        [(16, 32, 32, 3), (16, 32, 32, 3), (8, 32, 32, 3)]
        """
        size = _integer(size, "size", 1, 2**31 - 1)
        epoch = _integer(epoch, "epoch", 0, 2**62)
        seed = _integer(seed, "seed", 0, 2**64 - 1)
        test, augment = _flag(test, "test"), _flag(augment, "augment")
        settings = ffi.new("hu_loader_settings *")
        settings.seed, settings.shuffle, settings.window = seed, not test, size
        settings.batch = size
        if augment and not test:
            settings.augment = self._c.augment
        made = ffi.new("hu_loader **")
        half = lib.HU_SPLIT_TEST if test else lib.HU_SPLIT_TRAIN
        check(lib.hu_loader_create(self._c, half, settings, made))
        loader = ffi.gc(made[0], _closer(self._c))
        check(lib.hu_loader_begin_epoch(loader, epoch))
        return self._walk(loader, size)

    def _walk(self, loader: Any, size: int) -> Iterator[tuple[Floats, ...]]:
        fields, total = self.fields, int(lib.hu_loader_count(loader))
        for first in range(0, total, size):
            count = min(size, total - first)
            check(lib.hu_loader_want(loader, first, count))
            batch = []
            for f, field in enumerate(fields):
                rows = np.empty((count, *field.shape), np.float32)
                reading = lib.HU_READ_PLAIN if field.classes else lib.HU_READ_NORMALISED
                c = ffi.from_buffer("float[]", rows)
                lib.hu_loader_fill(loader, f, reading, first, count, c)
                batch.append(rows)
            check(lib.hu_loader_status(loader))
            yield tuple(batch)

    @told
    def __repr__(self) -> str:
        names = ", ".join(f.name for f in self.fields)
        return f"Dataset({names}: {self.samples} samples, {self.test_samples} to test with)"


def _declared(
    model: object, fields: Iterable[Field] | None, samples: int | None, keys: Mapping[str, object]
) -> Dataset | None:
    """Shapes without samples; None: the recipe of a model of the program names its data."""
    from .networks import Net

    if fields is None and isinstance(model, Net) and model.input is not None and model._classes:
        fields = [Field("image", model.input.shape), Field("label", classes=model._classes)]
    if fields is None:
        return None
    if not isinstance(fields, Iterable):
        raise DtypeError(f"fields: found {type(fields).__name__}, expected some of Field")
    if samples is None:
        steps, batch = (keys.get(key) for key in ("steps", "batch"))
        if steps is None or batch is None:
            raise ArgumentError(
                "found a trainer without data, expected batch= and steps=, or samples= of an epoch"
            )
        samples = _integer(steps, "steps", 1, 2**40) * _integer(batch, "batch", 1, 2**31 - 1)
    epoch = _integer(samples, "samples", 1, 2**62)
    return Dataset(list(fields), train=min(epoch, 2**32 - 1))
