"""Networks that are declared in Python: one method for each operation of the library.

The methods are made from the library's own list of operations, with its words for attributes:
`help(hu.Net.conv2d)` tells of them.

Source: include/halfulp/train.h; docs/reference/network-file.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Union

from ._ffi import ffi, lib
from ._sound import Made, shown
from .errors import ArgumentError, DtypeError, ShapeError, char_text, check, path_text, text_of
from .formats import _integer

if TYPE_CHECKING:
    from .runs import Run

Attribute = Union[bool, int, float, str, Sequence[int]]
_MOST_RANK = 8
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Value:
    """A value of a network: an input, or what an operation makes.

    Attributes
    ----------
    net : Net
        The network.
    name : str
        What it is called: "conv1.out".
    shape : tuple of int
        Of one sample; images are (height, width, channels).
    """

    net: Net
    name: str
    shape: tuple[int, ...]
    _number: int

    def __repr__(self) -> str:
        return f"Value({self.name!r}, shape={self.shape})"


def _c_shape(shape: Sequence[int], what: str) -> Any:
    try:
        extents = [_integer(e, what, 1, 2**40) for e in shape]
    except TypeError:
        raise DtypeError(f"{what}: found {type(shape).__name__}, expected extents") from None
    if len(extents) > _MOST_RANK:
        raise ShapeError(f"{what}: found {len(extents)} extents, expected at most {_MOST_RANK}")
    made = ffi.new("hu_shape *")
    made.rank = len(extents)
    made.extent[0 : len(extents)] = extents
    check(lib.hu_shape_check(made))
    return made


def _shape_of(c: Any) -> tuple[int, ...]:
    return tuple(int(c.extent[i]) for i in range(c.rank))


def _word(value: object, form: str, depth: int = 0) -> str:
    """An attribute as network files have it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        if depth == _MOST_RANK:
            raise ArgumentError(f"attribute: found lists {depth} deep, expected a list of numbers")
        return ("," if "0,1" in form else "x").join(_word(v, form, depth + 1) for v in value)
    try:
        word = f"{value:.17g}" if isinstance(value, float) else str(value)
    except Exception as error:  # of an object of others
        raise DtypeError(f"attribute: found a {type(value).__name__}: {error}") from None
    if not word or any(c.isspace() for c in word):
        raise ArgumentError(f"attribute: found {shown(value)}, expected a word without blanks")
    return word


class _Operation:
    """An operation of the library: its inputs and attributes."""

    def __init__(self, index: int) -> None:
        c = ffi.new("hu_operation *", {"size": ffi.sizeof("hu_operation")})
        check(lib.hu_operation_at(index, c))
        self.name = text_of(c.name)
        self.least, self.most = int(c.least_inputs), int(c.most_inputs)
        self.count = int(c.attributes)
        self.is_loss = bool(c.is_loss)
        self._attributes: dict[str, tuple[str, bool, float]] | None = None

    @property
    def attributes(self) -> dict[str, tuple[str, bool, float]]:
        """Each attribute's form, whether it is needed, and what it is else."""
        if self._attributes is None:
            made: dict[str, tuple[str, bool, float]] = {}
            kind = "hu_operation_attribute"
            for index in range(self.count):
                c = ffi.new(f"{kind} *", {"size": ffi.sizeof(kind)})
                check(lib.hu_operation_attribute_at(self.name.encode(), index, c))
                made[text_of(c.name)] = (text_of(c.form), bool(c.is_needed), float(c.preset))
            self._attributes = made
        return self._attributes

    def documentation(self) -> str:
        """What `help` shows."""
        if self.most < 0:
            inputs = f"{self.least} or more"
        else:
            inputs = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        lines = [
            f"Declare the operation {self.name}.",
            "",
            "Parameters",
            "----------",
            "inputs : Value",
            f"    {inputs}; behind them attributes that are needed may stand without their names.",
        ]
        for name, (form, needed, preset) in self.attributes.items():
            more = "needed" if needed else f"usual: {preset:g}"
            lines += [f"{name} : {more}", f"    {form}"]
        lines += [
            "name : str, optional",
            "    Unique; parameters are called NAME.weight, ...",
            "",
            "Returns",
            "-------",
            "Value, or a tuple of them",
        ]
        return "\n".join(lines)


def _operations() -> dict[str, _Operation]:
    found = (_Operation(i) for i in range(lib.hu_operation_count()))
    return {op.name: op for op in found if not op.is_loss}


_OPERATIONS = _operations()


def _infer(op: str, text: str, shapes: Sequence[tuple[str, Sequence[int]]]) -> Any:
    """What C makes of inputs, each named for messages, and of attributes."""
    given = ffi.new("hu_shape[]", max(len(shapes), 1))
    for i, (name, shape) in enumerate(shapes):
        given[i] = _c_shape(shape, name)[0]
    kind = "hu_operation_shapes"
    made = ffi.new(f"{kind} *", {"size": ffi.sizeof(kind)})
    check(lib.hu_operation_infer(op.encode(), char_text(text, op), len(shapes), given, made))
    return made


def inferred(op: str, text: str, shapes: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Shapes that an operation makes of shapes, with attributes as network files have them."""
    made = _infer(op, text, [(op, shape) for shape in shapes])
    return [_shape_of(made.output[i]) for i in range(made.outputs)]


class Net(Made):
    """A network that is declared operation by operation.

    Parameters
    ----------
    input : sequence of int
        Shape of one sample; images are (height, width, channels).
    classes : int, optional
        Numbers that the head must have; `head` checks them.

    Attributes
    ----------
    input : Value or None
        Of a network that was loaded: None, for nothing can be added to it.

    Examples
    --------
    >>> import halfulp as hu
    >>> net = hu.Net(input=(32, 32, 3), classes=10)
    >>> h = net.relu(net.batch_norm(net.conv2d(net.input, 16, kernel=3, pad=1, name="conv1")))
    >>> h.shape
    (32, 32, 16)
    >>> net.head(net.linear(net.global_avg_pool(h), 10, name="fc"))
    """

    _PARTS = ("_c", "_classes", "_names", "_counted", "_may_grow", "_values", "input")

    def __init__(self, input: Sequence[int], classes: int | None = None) -> None:  # noqa: A002
        made = ffi.new("hu_net **")
        shape = _c_shape(input, "input")
        self._classes = None if classes is None else _integer(classes, "classes", 1, 2**31 - 1)
        check(lib.hu_net_create(made))
        self._c = ffi.gc(made[0], lib.hu_net_free)
        self._names: set[str] = set()
        self._counted: dict[str, int] = {}
        self._may_grow = True
        value = ffi.new("hu_value *")
        check(lib.hu_net_input(self._c, b"input", shape, value))
        self._values: dict[int, tuple[str, tuple[int, ...]]] = {}
        self.input: Value | None = self._value("input", _shape_of(shape), int(value[0]))

    def _value(self, name: str, shape: tuple[int, ...], number: int) -> Value:
        """A value of the library, known as one of this network."""
        self._values[number] = (name, shape)
        return Value(self, name, shape, number)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Net:
        """A network of a file.

        Parameters
        ----------
        path : path
            docs/reference/network-file.md tells what it holds.

        Returns
        -------
        Net
            Nothing can be added to it.

        Raises
        ------
        MissingError, ParseError, VersionError, UnknownNameError
            With line and column.

        Examples
        --------
        >>> Net.load("/no/such/file.yaml")
        Traceback (most recent call last):
            ...
        halfulp.errors.MissingError: ...
        """
        made = ffi.new("hu_net **")
        check(lib.hu_net_load(char_text(path_text(path, "path"), "path"), made))
        net = cls.__new__(cls)
        net._c = ffi.gc(made[0], lib.hu_net_free)
        net._names, net._counted, net._may_grow = set(), {}, False
        net._classes, net.input, net._values = None, None, {}
        return net

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network as a file, which `halfulp train model=FILE` takes.

        Parameters
        ----------
        path : path
            Replaced at once.

        Raises
        ------
        ArgumentError
            There is no head.
        StorageError
            It cannot be written.
        """
        check(lib.hu_net_save(self._c, char_text(path_text(path, "path"), "path")))

    def initial(self) -> Mapping[str, object]:
        """Weights that a training of it begins with; none: drawn by its seed."""
        return {}

    def file_of_run(self, run: object) -> str:
        """The network beside the folder of its run, or in runs/ by what it holds, for `resume`."""
        from .program import content_file, write_whole

        data = self._file_in("runs" if run is None else os.path.dirname(str(run)))
        if run is None:
            return content_file(data, "network", None)
        write_whole(f"{run}.network.yaml", data)
        return f"{run}.network.yaml"

    def _file_in(self, folder: str) -> bytes:
        """What its file in a folder holds; files that it names are written there."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="halfulp-") as place:
            made = os.path.join(place, "network.yaml")
            self.save(made)
            with open(made, "rb") as file:
                return file.read()

    def head(self, value: Value) -> None:
        """Say which value predicts: for the task classify a score for each class.

        Parameters
        ----------
        value : Value

        Raises
        ------
        ShapeError
            It has not one number for each of the classes that the network was made for.
        """
        self._check_own(value)
        if self._classes is not None and value.shape[-1:] != (self._classes,):
            raise ShapeError(
                f"head: found {value.name} of shape {value.shape}, expected ({self._classes},)"
            )
        check(lib.hu_net_head(self._c, value._number))

    def train(self, *, progress: bool | None = None, **keys: object) -> Run:
        """Train the network by the program: `halfulp.train(model=net, ...)`."""
        from .runs import train

        if "model" in keys:
            raise ArgumentError("train: found model=, expected none: it is the network itself")
        return train(progress=progress, model=self, **keys)

    def _check_own(self, value: object) -> Value:
        if not isinstance(value, Value):
            raise DtypeError(f"network: found {type(value).__name__}, expected a value of it")
        if value.net is not self:
            raise ArgumentError(f"network: found {value.name} of another network")
        made = self._values.get(value._number) if isinstance(value._number, int) else None
        if made != (value.name, value.shape):
            raise ArgumentError(
                f"network: found {shown(value.name)}, a value that this network has not made"
            )
        return value

    def _free_name(self, op: str) -> str:
        while True:
            self._counted[op] = self._counted.get(op, 0) + 1
            name = f"{op}{self._counted[op]}"
            if name not in self._names:
                return name

    def _apply(self, op: _Operation, args: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        if not self._may_grow:
            raise ArgumentError("network: it was loaded from a file; nothing can be added to it")
        inputs = [v for v in args if isinstance(v, Value)]
        plain = args[len(inputs) :]
        needed = [name for name, facts in op.attributes.items() if facts[1]]
        if any(isinstance(v, Value) for v in plain) or len(plain) > len(needed):
            raise DtypeError(
                f"{op.name}: found {len(plain)} words behind {len(inputs)} values, expected values "
                f"and then at most: {' '.join(needed) or 'nothing'}"
            )
        name = attributes.pop("name", None)
        for word, value in zip(needed, plain):
            if word in attributes:
                raise DtypeError(f"{op.name}: found {word} twice")
            attributes[word] = value
        forms = op.attributes
        text = " ".join(
            f"{word}={_word(value, forms[word][0] if word in forms else '')}"
            for word, value in attributes.items()
        )
        return self._declare(op, name, text, [self._check_own(v) for v in inputs])

    def _declare(self, op: _Operation, name: str | None, text: str, inputs: list[Value]) -> Any:
        """Shapes are asked first: what fails leaves the network as it was."""
        numbers = ffi.new("hu_value[]", [value._number for value in inputs] or 1)
        words = char_text(text, op.name)
        made = _infer(op.name, text, [(value.name, value.shape) for value in inputs])
        if name is None:
            name = self._free_name(op.name)
        if not isinstance(name, str):
            raise DtypeError(f"{op.name}: found the name {shown(name)}, expected a text")
        if not _NAME.fullmatch(name):
            raise ArgumentError(
                f"{op.name}: found the name {shown(name)}, expected letters, digits, _ - and points"
            )
        if name in self._names or name == "input":
            raise ArgumentError(f"{op.name}: found the name {name!r} twice")
        outputs = ffi.new("hu_value[]", lib.HU_NET_OUTPUTS)
        check(
            lib.hu_net_apply(
                self._c,
                op.name.encode(),
                char_text(name, "name"),
                words,
                len(inputs),
                numbers,
                outputs,
            )
        )
        self._names.add(name)
        count = int(made.outputs)
        tails = [".out"] if count == 1 else [f".out{i}" for i in range(count)]
        values = tuple(
            self._value(name + tails[i], _shape_of(made.output[i]), int(outputs[i]))
            for i in range(count)
        )
        return values[0] if count == 1 else values

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """Operations of the library."""


class _Method:
    """A method of `Net` for one operation; its documentation is made when somebody reads it."""

    def __init__(self, op: _Operation) -> None:
        self._op = op
        self.__name__ = op.name

    def __get__(self, net: Net | None, owner: type[Net]) -> Callable[..., Any]:
        op = self._op

        def apply(*args: Any, **attributes: Any) -> Any:
            if net is None:
                return args[0]._apply(op, args[1:], attributes)
            return net._apply(op, args, attributes)

        apply.__name__ = op.name
        apply.__qualname__ = f"Net.{op.name}"
        apply.__doc__ = op.documentation()
        return apply


for _op in _OPERATIONS.values():
    if not hasattr(Net, _op.name):
        setattr(Net, _op.name, _Method(_op))


def operations() -> dict[str, str]:
    """All operations of networks, each with what `help(Net.OPERATION)` says.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> "conv2d" in operations()
    True
    """
    return {name: op.documentation() for name, op in _OPERATIONS.items()}
