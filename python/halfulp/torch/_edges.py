"""The rounding points of a network by a plan: which tensor is rounded where, by names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import UnknownNameError, UnsupportedError
from ._ops import draws, is_local, tile_lines
from ._points import ByOutput, Clock, Ordered, Point, Use, Value, point_of

if TYPE_CHECKING:
    from ..plans import Formats, Plan, TensorPlan
    from ._graph import Node, Weight

_PRODUCTS = ("conv1d", "conv2d", "linear")
_LOOPS: dict[str, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = {
    # node, what it reads, what it makes; {x} are the gates from outside
    "lstm": (
        ("hidden.previous", ("hidden.out",), ()),
        ("cell.previous", ("cell.out",), ()),
        ("hgates", (), ("hgates.out",)),
        ("gates", ("{x}", "hgates.out"), ("gates.out",)),
        ("gate", ("gates.out",), ("gate.i", "gate.f", "gate.g", "gate.o")),
        ("cell", ("gate.f", "", "gate.i", "gate.g"), ("cell.out",)),
        ("tanh", ("cell.out",), ("tanh.out",)),
        ("hidden", ("gate.o", "tanh.out"), ("hidden.out",)),
    ),
    "gru": (
        ("hidden.previous", ("hidden.out",), ()),
        ("hgates", (), ("hgates.out",)),
        ("gate", ("{x}", "hgates.out"), ("gate.r", "gate.z")),
        ("candidate", ("{x}", "hgates.out", "gate.r"), ("candidate.out",)),
        ("hidden", ("candidate.out", "", "gate.z"), ("hidden.out",)),
    ),
}


_NO_POINT = ("reshape", "flatten", "ids", "zeros")  # views, and what no format rounds


def rounded_names(
    nodes: Sequence[Node], inputs: Iterable[str]
) -> tuple[list[str], list[str], list[str]]:
    """Values, products before a bias, and parameters that a plan may round; no loops' insides.

    A parameter stands there as often as it is read.
    """
    values = [*inputs, *(f"{n.name}.out" for n in nodes if n.op not in _NO_POINT)]
    products = [
        f"{n.name}.product.out" for n in nodes if n.op in _PRODUCTS and "bias" in n.parameters
    ]
    found = (n.parameters.items() for n in nodes)
    parameters = [w.name for part in found for kind, w in part if not kind.startswith("running")]
    return values, products, parameters


def value_of(made: str, inputs: Iterable[str]) -> str:
    """What plans call a value: an input by its name, what a node makes with `.out`."""
    return made if made in inputs else f"{made}.out"


def edges_of(
    nodes: Sequence[Node],
    inputs: Sequence[str],
    head: str,
    splits: Iterable[str],
    has_logs: bool,
) -> tuple[list[str], list[tuple[str, str, int]]]:
    """All values, and who reads what: (value, node, number of its input).

    Parameters
    ----------
    splits : names of nodes
        Whose product is a value of its own, before the bias.
    has_logs : bool
        Whether the task makes logarithms of shares of the head, before its loss.
    """
    values, edges, apart = list(inputs), [], set(splits)
    for node in nodes:
        if node.op in _LOOPS:
            (gates,) = (value_of(i, inputs) for i in node.inputs)
            at = node.attributes["at"]
            if f"{at}.hgates" in apart:
                values.append(f"{at}.hgates.product.out")
                edges.append((f"{at}.hgates.product.out", f"{at}.hgates", 0))
            for name, reads, makes in _LOOPS[node.op]:
                for k, read in enumerate(reads):
                    if read:
                        source = gates if read == "{x}" else f"{at}.{read}"
                        edges.append((source, f"{at}.{name}", k))
                values += [f"{at}.{made}" for made in makes]
            continue
        reader = f"{node.name}.product" if node.name in apart else node.name
        edges += [(value_of(read, inputs), reader, k) for k, read in enumerate(node.inputs)]
        if node.name in apart:
            values.append(f"{node.name}.product.out")
            edges.append((f"{node.name}.product.out", node.name, 0))
        values.append(f"{node.name}.out")
    scores = value_of(head, inputs)
    if has_logs:
        values.append("log_softmax.out")
        edges.append((scores, "log_softmax", 0))
        scores = "log_softmax.out"
    edges.append((scores, "loss", 0))
    return [*values, "loss.out"], edges


def layer_of(node: Node) -> str:
    """The node that has the parameters: of a loop its product of the hidden row."""
    return f"{node.attributes['at']}.hgates" if node.op in _LOOPS else node.name


def product_of(node: Node) -> str:
    """What plans call a product: by its weight, without its last word, or by the node."""
    weight = node.parameters.get("weight")
    return layer_of(node) if weight is None else weight.name.removesuffix(".weight")


def parameter_uses(node: Node, is_apart: bool) -> Iterator[tuple[str, Weight, str, int]]:
    """Parameters of a node: what they are to it, whose, and who reads them as which input.

    Inputs are numbered first, as the engine has it; of a product that is a value of its own the
    bias is read by another node.
    """
    kinds = [k for k in ("weight", "bias") if k in node.parameters]
    reader = layer_of(node)
    for number, kind in enumerate(kinds):
        weight = node.parameters[kind]
        if is_apart and kind == "bias":
            yield kind, weight, reader, 1
        else:
            own = f"{reader}.product" if is_apart else reader
            yield kind, weight, own, len(node.inputs) + number


class Places:
    """Points by the names of tensors, and the functions that round there.

    Parameters
    ----------
    plan : Plan
    nodes, inputs, head, parameters, has_logs
        Of the network, as `edges_of` has them; names of its parameters.
    clock : Clock
    is_part : bool
        Whether the plan may have further names.

    Attributes
    ----------
    splits : set of str
        Nodes whose product is rounded before the bias.
    points : list of Point
        In the order of a step.

    Raises
    ------
    UnknownNameError
        The plan names tensors or layers that the network does not have.
    """

    def __init__(
        self,
        plan: Plan,
        nodes: Sequence[Node],
        inputs: Sequence[str],
        head: str,
        parameters: Iterable[str],
        has_logs: bool,
        clock: Clock,
        is_part: bool,
    ) -> None:
        self.clock = clock
        layers = [layer_of(n) for n in nodes if n.op in (*_PRODUCTS, *_LOOPS)]
        self.has_logs = has_logs
        self.splits = {name for name in layers if f"{name}.product.out" in plan}
        values, edges = edges_of(nodes, inputs, head, self.splits, self.has_logs)
        known = [*values, *parameters]
        if not is_part:
            check_names(plan, known, [product_of(n) for n in nodes])
        self._values: dict[str, tuple[Point | None, Point | None]] = {}
        self._uses: dict[tuple[str, int], tuple[Point | None, Point | None]] = {}
        self._copies: dict[str, Point | None] = {}
        self._sums: dict[str, Point | None] = {}
        self._gradients: dict[tuple[str, str], Point | None] = {}  # by node and what it is to it
        self.points: list[Point] = []
        readers: dict[str, list[tuple[str, int]]] = {name: [] for name in values}
        for value, node, number in edges:
            readers[value].append((node, number))
        _check_loops(plan, nodes)
        _check_tiles(plan, readers)
        for name in filter(set(known).__contains__, plan):  # in the order of the network
            found = plan[name]
            if name in readers:
                self._enter(name, found, readers[name], name in inputs)
            else:
                self._enter_parameter(name, found, nodes)

    def _enter_parameter(self, name: str, found: TensorPlan, nodes: Sequence[Node]) -> None:
        self._copies[name] = self._point(name, found.value)
        first, number = None, 0
        for node in nodes:
            is_apart = layer_of(node) in self.splits
            for kind, weight, reader, index in parameter_uses(node, is_apart):
                if weight.name != name:
                    continue
                text = found.grad[number] if isinstance(found.grad, tuple) else found.grad
                use = f"{name}>{reader}.{index}"
                point = self._point(f"{name}.grad", text, first, use)
                self._gradients[node.name, kind] = point
                first, number = first or point, number + 1
        if number > 1:
            self._sums[name] = point_of(f"{name}.grad.sum", found.sum, self.clock)  # not counted

    def _point(
        self, name: str, text: Formats, like: Point | None = None, use: str = ""
    ) -> Point | None:
        made = point_of(name, text, self.clock, like, use)
        if made is not None and like is None:
            self.points.append(made)
        return made

    def _enter(
        self, name: str, found: TensorPlan, readers: Sequence[tuple[str, int]], is_input: bool
    ) -> None:
        value = self._point(name, found.value)
        if is_input:  # no training needs its gradient
            found = replace(found, grad=None, sum=None)
        total = found.sum
        if len(readers) == 1 and found.grad == total:
            total = None  # the sum is the one contribution
        first: dict[str, Point | None] = {"use": None, "grad": None}
        for number, reader in enumerate(readers):
            made = []
            for part, texts in (("use", found.use), ("grad", found.grad)):
                text = texts[number] if isinstance(texts, tuple) else texts
                use = f"{name}>{reader[0]}.{reader[1]}"
                point = self._point(f"{name}.{part}", text, first[part], use)
                first[part] = first[part] or point
                made.append(point)
            self._uses[reader] = (made[0], made[1])
        self._values[name] = value, self._point(f"{name}.grad.sum", total)

    # ---- what rounds ----

    def use(self, node: str, number: int, x: Any, absent: int = 0) -> Any:
        """What a node reads as its input of that number."""
        use, gradient = self._uses.get((node, number), (None, None))
        if (use is None and gradient is None) or not x.is_floating_point():
            return x
        if gradient is not None and absent:
            gradient.absent = absent
        return Use.apply(x, use, gradient)

    def value(self, name: str, x: Any, own: bool = False, absent: int = 0) -> Any:
        """What a node has made; own: its memory is read by nobody else."""
        value, total = self._of(name, absent)
        if (value is None and total is None) or not x.is_floating_point():
            return x
        return Value.apply(x, value, total, own)

    def by_output(self, name: str, x: Any, does: Any, slope: Any, absent: int = 0) -> Any:
        """What an operation makes whose gradient hangs on its output."""
        return ByOutput.apply(x, does, slope, *self._of(name, absent))

    def _of(self, name: str, absent: int) -> tuple[Point | None, Point | None]:
        """Of a value and of the sum of its gradients, so many numbers of which are absent."""
        found = self._values.get(name, (None, None))
        for point in found:
            if point is not None:
                point.absent = absent
        return found

    def copy(self, weight: Weight, x: Any) -> Any:
        """The working copy of a parameter, which all its consumers share."""
        value, total = self._copies.get(weight.name), self._sums.get(weight.name)
        if value is None and total is None:
            return x
        return Ordered.apply(x, weight, value, total)

    def parameter(self, node: Node, kind: str, x: Any) -> Any:
        """That copy for one consumer, whose gradient of it is rounded alone."""
        gradient = self._gradients.get((node.name, kind))
        return x if gradient is None else Ordered.apply(x, node.parameters[kind], None, gradient)


def _texts(found: TensorPlan) -> list[str]:
    """What the parts of a tensor are rounded to."""
    parts = (found.value, found.sum, found.grad, found.use)
    every = (part if isinstance(part, tuple) else (part,) for part in parts)
    return [text for texts in every for text in texts if text]


def _check_tiles(plan: Plan, values: Iterable[str]) -> None:
    """Tiles of several lines end where a sample does."""
    for name in filter(set(values).__contains__, plan):
        for text in _texts(plan[name]):
            if ":tile=" in text and tile_lines(text) > 1:
                raise UnsupportedError(
                    f"{name}: {text}: tiles of several lines end with each sample, which is not "
                    "followed here, expected tiles of one line (:tile=1xC); ht.train has the others"
                )


def _check_loops(plan: Plan, nodes: Sequence[Node]) -> None:
    """A scale, a range or random words in a loop are those of one step of one sample."""
    for at in (f"{n.attributes['at']}." for n in nodes if n.op in _LOOPS):
        for name in (n for n in plan if n.startswith(at) and not n.startswith(f"{at}xgates")):
            for text in _texts(plan[name]):
                if draws(text) or not is_local(text):
                    raise UnsupportedError(
                        f"{name}: {text}: in a loop each step of a sample has a scale and random "
                        "words of its own, which are not followed here; ht.train has them"
                    )


def in_order(points: Sequence[Point]) -> list[Point]:
    """Points in the order of a step: forward, then back, contributions before their sum."""

    def base(point: Point) -> str:
        return point.name.removesuffix(".sum").removesuffix(".grad")

    is_back = {id(p): p.name.endswith((".grad", ".grad.sum")) for p in points}
    place = {base(p): i for i, p in enumerate(points)}
    back = [p for p in points if is_back[id(p)]]
    back.sort(key=lambda p: (-place[base(p)], p.name))
    return [p for p in points if not is_back[id(p)]] + back


def nearest(name: str, known: Iterable[str]) -> str:
    """What a message says of a name that nobody knows."""
    found = difflib.get_close_matches(name, sorted(known), 3, 0.0)
    return f"nearest: {', '.join(map(repr, found))}"


def check_names(plan: Plan, tensors: Sequence[str], layers: Sequence[str]) -> None:
    known, found = set(tensors), []
    for kind, names, expected in (
        ("tensor", list(plan), known),
        ("layer", list(plan.products), set(layers)),
    ):
        wrong = [name for name in names if name not in expected]
        if wrong:
            more = f" and {len(wrong) - 1} others" if len(wrong) > 1 else ""
            found.append(f"{kind} {wrong[0]!r}{more} ({nearest(wrong[0], expected)})")
    if found:
        model = plan.facts.get("model", {}).get("name", "another network")
        raise UnknownNameError(
            f"the plan of {model} names what the module does not have: {'; '.join(found)}; "
            'expected a plan of this module, as ht.apply(model, "hfp8", ...) makes one'
        )
