"""Plans: how a training rounds every tensor and every product, by name; what it computes and holds.

Source: include/halfulp/plan.h; docs/reference/plan.schema.json.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Union

from ._ffi import ffi, lib
from ._sound import Made, reads, told
from .errors import (
    ArgumentError,
    DtypeError,
    Error,
    StorageError,
    char_text,
    check,
    path_text,
    text_of,
)
from .program import PathLike, ask, content_file, words, write_whole
from .tables import as_html, size, table

Formats = Union[None, str, "tuple[str, ...]"]
_PARTS = ("value", "use", "grad", "sum", "weights")
_PRODUCTS = ("forward", "input_grad", "weight_grad")
_OPERANDS = (
    "forward.x",
    "forward.w",
    "input_grad.dy",
    "input_grad.w",
    "weight_grad.dy",
    "weight_grad.x",
)
_TEXT_BYTES = int(lib.HU_PLAN_TEXT_BYTES)
_FACTS = {
    "model": ("name", "width", "parameters", "names"),
    "scaler": ("name", "init", "growth", "backoff", "interval", "min", "max", "stop_after"),
    "promotion": ("at", "to.act", "to.weight"),
}
_WORDS = ("scheme", "master", "eval", "low_bits", "scaling")


@dataclass(frozen=True)
class TensorPlan:
    """Where and to what a tensor is rounded: texts that `Quantization` takes; None: float32.

    Attributes
    ----------
    name : str
        "fc.weight", "conv1.out".
    value : str or None
        Forward; of a parameter its working copy.
    grad : str, tuple of str, or None
        The gradient of a parameter; of other tensors what each consumer gives to the gradient, a
        tuple where the consumers differ, in their order in the network ("fp32": not rounded).
    sum : str or None
        The sum of what the consumers give, where it is rounded again.
    use : str, tuple of str, or None
        What the consumers make of the value when they read it, on top of its own format.
    weights : str or None
        The same sum as the gradient of the layer's weights reads it, where that is apart.
    """

    name: str
    value: str | None = None
    grad: Formats = None
    sum: str | None = None
    use: Formats = None
    weights: str | None = None


@dataclass(frozen=True)
class ProductPlan:
    """Accumulators of the products of a layer: texts that `gemm` takes; None: float32 sums.

    Attributes
    ----------
    layer : str
    forward, input_grad, weight_grad : str or None
    operands : dict of str to str
        Formats of what the products multiply, those that are rounded: "forward.x", "forward.w",
        "input_grad.dy", "input_grad.w", "weight_grad.dy", "weight_grad.x".
    """

    layer: str
    forward: str | None = None
    input_grad: str | None = None
    weight_grad: str | None = None
    operands: dict[str, str] = field(default_factory=dict, hash=False)

    def _row(self, operands: Sequence[str]) -> dict[str, str | None]:
        sums = {word: getattr(self, word) for word in ("layer", *_PRODUCTS)}
        return {**sums, **{word: self.operands.get(word) for word in operands}}


class Summary(Made):
    """A network layer by layer, and what a training of it computes and holds in memory.

    Attributes
    ----------
    result : dict
        All that the program says.
    layers : pandas.DataFrame, or list of dict without pandas
        One row for each: operation, output, parameters, multiply-accumulates, formats.
    bytes : pandas.DataFrame, or list of dict without pandas
        One row for each role in memory: bytes as they are stored, and with float32 storage.
    parameters, macs : int
        Trained numbers; multiply-accumulates of one sample, forward.
    """

    _PARTS = ("result", "parameters", "macs")

    @reads
    def __init__(self, result: dict[str, Any]) -> None:
        self.parameters = int(result["parameters"])
        self.macs = int(result["macs"])
        self.result = result

    @property
    @reads
    def layers(self) -> Any:
        """One row for each layer."""
        return table(list(self.result["layers"]))

    @property
    @reads
    def bytes(self) -> Any:
        """One row for each role in memory."""
        found = self.result["memory_bytes"].items()
        return table([{"role": role, **stored} for role, stored in found])

    @reads
    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "layer": layer["name"],
                "op": layer["op"],
                "output": "x".join(map(str, layer["output"])) or "1",
                "parameters": layer["parameters"],
                "macs": layer["macs"],
                "activation": layer["activation"],
                "weight": layer["weight"],
                "gradient": layer["gradient"],
            }
            for layer in self.result["layers"]
        ]

    @reads
    def _title(self) -> str:
        held = self.result["memory_bytes"]["total"]
        return (
            f"{self.result['model']} in {self.result['precision']}: "
            f"{self.parameters:,} parameters, {self.macs:,} multiply-accumulates a sample, "
            f"{size(held['packed'])} in memory at batch {self.result['batch']} "
            f"({size(held['float32'])} in float32)"
        )

    def __str__(self) -> str:
        rows = self._rows()
        heads = list(rows[0]) if rows else []
        texts = [heads] + [["" if v is None else str(v) for v in row.values()] for row in rows]
        widths = [max(len(line[i]) for line in texts) for i in range(len(heads))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in texts]
        return "\n".join([*lines, self._title()])

    @told
    def __repr__(self) -> str:
        return f"Summary({self._title()!r})"

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._rows())


def _planned(keys: Mapping[str, object], out: str | None, place: str) -> dict[str, Any]:
    """`halfulp plan`: files of networks and plans go to a place that is removed soon."""
    return ask(["plan", *words({**keys, "out": out}, beside=os.path.join(place, "run"))])


def summary(**keys: object) -> Summary:
    """A network layer by layer, and what a training would compute and hold: `halfulp plan`.

    Parameters
    ----------
    **keys
        As `train` takes them: `model="resnet20"` or a `Net`, `precision="hfp8"`, `batch=128`.

    Returns
    -------
    Summary

    Examples
    --------
    >>> found = summary(model="cnn-s", precision="hfp8")
    >>> found.parameters, found.layers["name"][0]
    (24058, 'conv1')
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="halfulp-") as place:
        return Summary(_planned(keys, None, place))


class Plan(Made):
    """How a training rounds every tensor and every product, by name.

    What it does not name is float32. `train(precision=plan)` and `compare(precision=[plan, ...])`
    take it; `plan["fc.weight"]` is a `TensorPlan`, and a loop goes over the names of tensors.

    Attributes
    ----------
    text : str
        The plan as its file has it.
    facts : dict
        What it says beside tensors and products: model, scheme, master, scaler, scaling, ...
    tensors : pandas.DataFrame, or list of dict without pandas
        One row for each tensor.
    products : dict of str to ProductPlan
        Layers whose products have accumulators or round what they multiply.
    semantics : str
        Of these accumulators, as `gemm` takes it.

    Raises
    ------
    MissingError, ParseError, UnknownNameError, VersionError
        With file and line.

    Examples
    --------
    >>> plan = Plan.of(model="cnn-s", precision="hfp8")
    >>> plan["fc.weight"].value, plan["fc.weight"].grad
    ('fp(4,3,4)', 'e6m9:specials=fin:ovf=inf')
    >>> plan.get("fc.weight.momentum") is None
    True
    """

    _PARTS = ("_c", "_names", "path")
    _net: object = None  # that `of` was asked with: the file that the plan names is removed

    def __init__(self, text: str, name: str = "plan") -> None:
        """Read the text of a file; name stands in errors."""
        made = ffi.new("hu_plan **")
        check(lib.hu_plan_parse(char_text(text, "plan"), char_text(name, "name"), made))
        self._take(made[0])

    def _take(self, c: Any) -> None:
        self._c = ffi.gc(c, lib.hu_plan_close)
        self.path: str | None = None
        self._names = {
            text_of(lib.hu_plan_tensor(c, i)): i for i in range(lib.hu_plan_tensor_count(c))
        }

    @classmethod
    def load(cls, path: PathLike) -> Plan:
        """A plan of a file: `halfulp plan out=FILE`, or plan.resolved.yaml of a run.

        Parameters
        ----------
        path : path

        Returns
        -------
        Plan

        Raises
        ------
        MissingError, ParseError, UnknownNameError, VersionError
            With line and column.

        Examples
        --------
        >>> Plan.load("/no/such/plan.yaml")
        Traceback (most recent call last):
            ...
        halfulp.errors.MissingError: ...
        """
        made = ffi.new("hu_plan **")
        where = path_text(path, "path")
        check(lib.hu_plan_load(char_text(where, "path"), made))
        plan = cls.__new__(cls)
        plan._take(made[0])
        plan.path = where
        return plan

    @classmethod
    def of(cls, **keys: object) -> Plan:
        """The plan of a training: `halfulp plan out=...`.

        Parameters
        ----------
        **keys
            As `train` takes them: `model="resnet20"` or a `Net`, `precision="hfp8"`,
            `precision_rules=["conv1.*: fp16"]`, `accumulator="fmac8:1/6/9"`. `precision` may be
            another plan, of which rules then change tensors.

        Returns
        -------
        Plan

        Raises
        ------
        UnknownNameError, ParseError, ArgumentError, ...
            With the program's words.
        """
        import tempfile  # not before it is needed: `import halfulp` is to be quick

        with tempfile.TemporaryDirectory(prefix="halfulp-") as place:
            out = os.path.join(place, "plan.yaml")
            _planned(keys, out, place)
            plan = cls.load(out)
        plan.path = None
        if hasattr(keys.get("model"), "file_of_run"):
            plan._net = keys["model"]
        return plan

    # ---- what it says ----

    @property
    def text(self) -> str:
        """The plan as its file has it, without comments."""
        return text_of(lib.hu_plan_text(self._c))

    def _fact(self, path: str) -> str | None:
        found = lib.hu_plan_fact(self._c, path.encode())
        return None if found == ffi.NULL else text_of(found)

    @property
    def facts(self) -> dict[str, Any]:
        """What it says beside tensors and products, as texts; what it does not say is left out."""
        made: dict[str, Any] = {w: self._fact(w) for w in _WORDS if self._fact(w) is not None}
        for part, names in _FACTS.items():
            found = {n: self._fact(f"{part}.{n}") for n in names}
            said = {n: text for n, text in found.items() if text is not None}
            if said:
                made[part] = said
        return made

    def _format(self, index: int, part: int, consumer: int) -> str:
        text = ffi.new("char[]", _TEXT_BYTES)
        check(lib.hu_plan_format(self._c, index, part, consumer, text, _TEXT_BYTES))
        return text_of(text)

    def _formats(self, index: int, part: int) -> Formats:
        count = int(lib.hu_plan_formats(self._c, index, part))
        if count <= 1:
            return self._format(index, part, 0) if count else None
        return tuple(self._format(index, part, k) for k in range(count))

    def __getitem__(self, name: str) -> TensorPlan:
        if not isinstance(name, str):
            raise DtypeError(f"tensor: found {type(name).__name__}, expected its name")
        index = ffi.new("size_t *")
        check(lib.hu_plan_find(self._c, char_text(name, "tensor"), index))
        found: dict[str, Any] = {p: self._formats(index[0], i) for i, p in enumerate(_PARTS)}
        return TensorPlan(name, **found)

    def get(self, name: str) -> TensorPlan | None:
        """A tensor's plan, or None: it is float32."""
        if name not in self:
            return None
        return self[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def tensors(self) -> Any:
        """One row for each tensor: name, value, grad, sum, use, weights."""
        return table([asdict(self[name]) for name in self])

    @property
    def products(self) -> dict[str, ProductPlan]:
        """Layers whose products have accumulators or round operands, in the order of the file."""
        made = {}
        for index in range(lib.hu_plan_layer_count(self._c)):
            name = text_of(lib.hu_plan_layer(self._c, index))
            texts = {word: self._accumulator(index, p) for p, word in enumerate(_PRODUCTS)}
            made[name] = ProductPlan(name, **texts, operands=self._operands(index))
        return made

    def _operands(self, index: int) -> dict[str, str]:
        made = {}
        for place, word in enumerate(_OPERANDS):
            text = ffi.new("char[]", _TEXT_BYTES)
            check(lib.hu_plan_operand_format(self._c, index, place, text, _TEXT_BYTES))
            if text_of(text) != "fp32":
                made[word] = text_of(text)
        return made

    def _accumulator(self, index: int, product: int) -> str | None:
        found = ffi.new("hu_accumulator *")
        is_chosen = ffi.new("int *")
        check(lib.hu_plan_accumulator(self._c, index, product, found, is_chosen))
        if not is_chosen[0]:
            return None
        text = ffi.new("char[]", _TEXT_BYTES)
        check(lib.hu_accumulator_print(found, text, _TEXT_BYTES))
        return text_of(text)

    @property
    def semantics(self) -> str:
        """Of all accumulators: "exact", "f32fma" or "cpd"."""
        return self._fact("semantics") or "exact"

    def summary(self, **keys: object) -> Summary:
        """What a training with the plan would compute and hold, see `halfulp.summary`.

        Parameters
        ----------
        **keys
            Usual: the model and the width that the plan was made for.
        """
        model = self.facts.get("model", {})
        usual: dict[str, object] = {"model": model.get("name"), "model_width": model.get("width")}
        if self._net is not None:
            usual = {"model": self._net}
        if "model" in keys:
            usual = {}
        return summary(**{**usual, "precision": self, **keys})

    def bytes(self, **keys: object) -> Any:
        """Bytes that a training with the plan holds, by role.

        Parameters
        ----------
        **keys
            `data="cifar10:DIR"`, `batch=128`, ..., as `train` takes them; without data, samples
            are those that the model is made for.

        Returns
        -------
        pandas.DataFrame, or list of dict without pandas
            One row for each role: as they are stored (packed), and with float32 storage.

        Examples
        --------
        >>> held = Plan.of(model="cnn-s", precision="hfp8").bytes(batch=64)
        >>> held.set_index("role").loc["masters"].tolist()
        [97128, 97128]
        """
        return self.summary(**keys).bytes

    # ---- files ----

    def save(self, path: PathLike) -> None:
        """Write the plan as a file, which `halfulp train precision=FILE.yaml` takes.

        Parameters
        ----------
        path : path
            It ends in .yaml or .yml; replaced at once.

        Raises
        ------
        StorageError
            It cannot be written.
        """
        where = path_text(path, "path")
        if not where.endswith((".yaml", ".yml")):
            raise ArgumentError(f"path: found {where!r}, expected one that ends in .yaml or .yml")
        try:
            write_whole(where, self.text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise StorageError(f"{where}: {error.strerror}") from None

    def file_of_run(self, run: object) -> str:
        """The file that it was read from, if that still says the same, else a new one."""
        if self.path is not None and self.path.endswith((".yaml", ".yml")):
            with contextlib.suppress(Error):
                if Plan.load(self.path).text == self.text:
                    return self.path
        return content_file(self.text.encode("utf-8", "surrogateescape"), "plan", run)

    def _meaning(self) -> str:
        """All but the evidence, which is for people."""
        return re.sub(r"^evidence:\n(?:  .*\n)*", "", self.text, flags=re.MULTILINE)

    def __eq__(self, other: object) -> bool:
        return self._meaning() == other._meaning() if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._meaning())

    def __reduce__(self) -> tuple[type[Plan], tuple[str]]:
        return (Plan, (self.text,))

    @told
    def __repr__(self) -> str:
        model = self.facts.get("model", {}).get("name", "a network")
        return f"Plan({model}, {len(self)} tensors, {self._layers()})"

    def _layers(self) -> str:
        made = self.products.values()
        sums = sum(any((p.forward, p.input_grad, p.weight_grad)) for p in made)
        rounded = sum(bool(p.operands) for p in made)
        text = f"{sums} layers with accumulators"
        return f"{text}, {rounded} with rounded operands" if rounded else text

    def _repr_html_(self) -> str:
        rows = [
            {key: " ".join(v) if isinstance(v, tuple) else v for key, v in asdict(self[n]).items()}
            for n in self
        ]
        used = [key for key in (rows[0] if rows else {}) if any(row[key] for row in rows)]
        shown = [{key: row[key] for key in used} for row in rows]
        made = as_html(repr(self)[5:-1], shown)
        if self.products:
            layers = self.products.values()
            operands = [word for word in _OPERANDS if any(word in p.operands for p in layers)]
            made += as_html("products", [p._row(operands) for p in layers])
        return made
