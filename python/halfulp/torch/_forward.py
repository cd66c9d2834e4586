"""The operations of captured networks by PyTorch, in halfulp's order of axes: one table, `FORWARD`.

A function gets what the node is (`_graph.Node`), a `Pass`, and the node's inputs [N, *shape]; it
gives [N, *node.shape]. Parameters come as working copies in PyTorch's order of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from ._edges import product_of
from ._table import pair_of

if TYPE_CHECKING:
    from ._graph import Node
    from ._sums import Sums

FORWARD: dict[str, Callable[..., Any]] = {}


@dataclass
class Pass:
    """What a node may read beside its inputs.

    Attributes
    ----------
    parameters : dict of str to Tensor
        By what they are to the node: "weight", "bias".
    buffers : dict of str to Tensor
        Running statistics, and "num_batches_tracked" where the module has it.
    training : bool
    batch : int
        Samples.
    constants : dict of str to ndarray
        Numbers of nodes that make the same for all samples, by the node's name.
    sums : Sums or None
        Who computes products; None: PyTorch.
    """

    parameters: Mapping[str, Any]
    buffers: Mapping[str, Any]
    training: bool
    batch: int
    constants: Mapping[str, Any]
    sums: Sums | None

    def with_parameters(self, parameters: Mapping[str, Any]) -> Pass:
        """The same with other working copies."""
        return replace(self, parameters=parameters)

    def ours(self, node: Node, name: str) -> Any:
        """A parameter in halfulp's order and shape."""
        return node.parameters[name].ours(self.parameters[name])

    def count_batch(self) -> None:
        """Of a norm in training whose module counts its batches."""
        if self.training and "num_batches_tracked" in self.buffers:
            self.buffers["num_batches_tracked"].add_(1)


def does(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter what does an operation."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            FORWARD[name] = function
        return function

    return enter


def sizes_of(value: Any) -> tuple[int, int]:
    """Of "3x5" or 3."""
    return pair_of([int(v) for v in value.split("x")] if isinstance(value, str) else value)


def to_image(x: Any) -> Any:
    """[N, H, W, C] as PyTorch's [N, C, H, W], whose memory stays."""
    return x.permute(0, 3, 1, 2)


def of_image(x: Any) -> Any:
    return x.permute(0, 2, 3, 1)


# ---- products ----


@does("conv2d")
def conv2d(node: Node, run: Pass, x: Any) -> Any:
    weight, bias = run.parameters["weight"], run.parameters.get("bias")
    sizes = [_pair(node, key, usual) for key, usual in _GRID]
    return _conv(node, run, x, weight, bias, *sizes)


@does("conv1d")
def conv1d(node: Node, run: Pass, x: Any) -> Any:
    """Rows as an image of one column."""
    weight, bias = run.parameters["weight"].unsqueeze(-1), run.parameters.get("bias")
    sizes = [(_pair(node, key, usual)[0], usual) for key, usual in _GRID]
    return _conv(node, run, x.unsqueeze(2), weight, bias, *sizes).squeeze(2)


_GRID = (("stride", 1), ("pad", 0), ("dilation", 1), ("extra", 0))
_Pair = tuple[int, int]


def _pair(node: Node, key: str, usual: int) -> _Pair:
    return sizes_of(node.attributes.get(key, usual))


def _conv(
    node: Node,
    run: Pass,
    x: Any,
    weight: Any,
    bias: Any,
    stride: _Pair,
    pad: _Pair,
    dilation: _Pair,
    extra: _Pair,
) -> Any:
    groups = int(node.attributes.get("groups", 1))
    if node.attributes.get("transposed"):
        grid = (stride, pad, extra, groups, dilation)
        return of_image(F.conv_transpose2d(to_image(x), weight, bias, *grid))
    if run.sums is not None:
        name = product_of(node)
        return run.sums.conv2d(name, x, weight, bias, stride, pad, dilation, groups)
    return of_image(F.conv2d(to_image(x), weight, bias, stride, pad, dilation, groups))


@does("linear")
def linear(node: Node, run: Pass, x: Any) -> Any:
    weight, bias = run.parameters["weight"], run.parameters.get("bias")
    if node.attributes.get("transposed"):
        weight = weight.t()
    rows = x if node.attributes.get("rows") else x.flatten(1)
    if run.sums is not None:
        return run.sums.linear(product_of(node), rows, weight, bias)
    return F.linear(rows, weight, bias)


def lower(scores: Any) -> Any:
    """Which pairs [rows, keys] a causal mask leaves."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()


@does("attention_scores")
def attention_scores(node: Node, run: Pass, q: Any, k: Any) -> Any:
    heads, factor = int(node.attributes.get("heads", 1)), float(node.attributes.get("factor", 1.0))
    q, k = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k))
    turned = k.transpose(-1, -2)
    made = q @ turned if run.sums is None else run.sums.matmul(node.name, q, turned)
    made = made * factor if factor != 1 else made
    return made.masked_fill(~lower(made), 0.0) if node.attributes.get("causal") else made


@does("attention_context")
def attention_context(node: Node, run: Pass, weights: Any, v: Any) -> Any:
    v = v.unflatten(-1, (weights.shape[1], -1)).transpose(1, 2)
    if node.attributes.get("causal"):
        weights = weights.masked_fill(~lower(weights), 0.0)  # and their gradients
    made = weights @ v if run.sums is None else run.sums.matmul(node.name, weights, v)
    return made.transpose(1, 2).flatten(2)


# ---- tables and parameters that are added ----


@does("embedding")
def embedding(node: Node, run: Pass, ids: Any) -> Any:
    padding = node.attributes.get("padding") if node.attributes.get("pads") else None
    made = F.embedding(ids.long(), run.ours(node, "weight"), padding)
    return made * float(node.attributes["factor"]) if "factor" in node.attributes else made


@does("zeros")
def zeros(node: Node, run: Pass) -> Any:
    return torch.zeros(run.batch, *node.shape)


@does("constant", "ids")
def constant(node: Node, run: Pass) -> Any:
    numbers = torch.from_numpy(run.constants[node.name]).reshape(1, *node.shape)
    return numbers.expand(run.batch, *node.shape)


@does("pick_rows")
def pick_rows(node: Node, run: Pass, x: Any, places: Any) -> Any:
    return x[torch.arange(run.batch).unsqueeze(1), places.long()]


@does("position")
def position(node: Node, run: Pass, x: Any) -> Any:
    added = run.ours(node, "weight")
    added = added[0] if node.attributes.get("batches") else added
    return x + added[: x.shape[1]]


@does("class_token")
def class_token(node: Node, run: Pass, x: Any) -> Any:
    row = run.ours(node, "weight").reshape(1, 1, -1).expand(run.batch, 1, -1)
    return torch.cat([row, x], 1)


# ---- norms ----


@does("batch_norm")
def batch_norm(node: Node, run: Pass, x: Any) -> Any:
    image = to_image(x) if x.dim() == 4 else x.reshape(-1, x.shape[-1])
    mean, var = run.buffers["running_mean"], run.buffers["running_var"]
    run.count_batch()
    made = F.batch_norm(
        image,
        mean,
        var,
        run.parameters["weight"],
        run.parameters["bias"],
        run.training,
        float(node.attributes.get("momentum", 0.1)),
        float(node.attributes.get("epsilon", 1e-5)),
    )
    return of_image(made) if x.dim() == 4 else made.reshape(x.shape)


@does("layer_norm")
def layer_norm(node: Node, run: Pass, x: Any) -> Any:
    weight, bias = (run.parameters[n].reshape(-1) for n in ("weight", "bias"))
    return F.layer_norm(x, x.shape[-1:], weight, bias, float(node.attributes["epsilon"]))


@does("rms_norm")
def rms_norm(node: Node, run: Pass, x: Any) -> Any:
    weight = run.parameters["weight"].reshape(-1)
    return F.rms_norm(x, x.shape[-1:], weight, float(node.attributes["epsilon"]))


@does("group_norm")
def group_norm(node: Node, run: Pass, x: Any) -> Any:
    turned = x.movedim(-1, 1)
    weight, bias = run.parameters.get("weight"), run.parameters.get("bias")
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    made = F.group_norm(turned, int(node.attributes["groups"]), weight, bias, epsilon)
    return made.movedim(1, -1)


# ---- element by element ----


def _plain(**functions: Callable[[Any], Any]) -> None:
    for name, function in functions.items():
        FORWARD[name] = lambda node, run, x, _do=function: _do(x)


_plain(
    relu=torch.relu,
    silu=F.silu,
    log=torch.log,
    abs=torch.abs,
    neg=torch.neg,
    square=torch.square,
    hard_sigmoid=F.hardsigmoid,
    hard_swish=F.hardswish,
)


@does("gelu")
def gelu(node: Node, run: Pass, x: Any) -> Any:
    return F.gelu(x, approximate="tanh" if node.attributes.get("tanh") else "none")


@does("leaky_relu")
def leaky_relu(node: Node, run: Pass, x: Any) -> Any:
    return F.leaky_relu(x, float(node.attributes.get("slope", 0.01)))


@does("clip")
def clip(node: Node, run: Pass, x: Any) -> Any:
    return torch.clamp(x, node.attributes.get("low"), node.attributes.get("high"))


@does("pow")
def power(node: Node, run: Pass, x: Any) -> Any:
    return torch.pow(x, float(node.attributes["exponent"]))


@does("scale")
def scale(node: Node, run: Pass, x: Any) -> Any:
    return x * float(node.attributes["factor"])


@does("dropout")
def dropout(node: Node, run: Pass, x: Any) -> Any:
    return F.dropout(x, float(node.attributes["probability"]), run.training)


@does("drop_path")
def drop_path(node: Node, run: Pass, x: Any) -> Any:
    if not run.training:
        return x
    survival = 1.0 - float(node.attributes["probability"])
    stays = torch.rand(run.batch, *(1,) * (x.dim() - 1)) < survival
    return x * (stays / survival)


# Operations whose gradient hangs on their output: what they do, and the gradient of (g, y).
ByOutputPair = tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]
BY_OUTPUT: dict[str, ByOutputPair] = {
    "sigmoid": (torch.sigmoid, torch.ops.aten.sigmoid_backward),
    "tanh": (torch.tanh, torch.ops.aten.tanh_backward),
    "exp": (torch.exp, lambda g, y: g * y),
    "sqrt": (torch.sqrt, lambda g, y: g / (2 * y)),
}


def log_shares(dim: int) -> ByOutputPair:
    """Logarithms of shares along a dimension."""
    return (
        lambda x: torch.log_softmax(x, dim),
        lambda g, y: g - y.exp() * g.sum(dim, keepdim=True),
    )


def by_output(node: Node) -> ByOutputPair | None:
    """What an operation does whose gradient hangs on its output; None: it does not."""
    if node.op in BY_OUTPUT:
        return BY_OUTPUT[node.op]
    if node.op not in ("softmax", "log_softmax", "attention_weights"):
        return None
    dim = int(node.attributes.get("axis", -1))
    dim += 1 if dim >= 0 else 0
    if node.op == "log_softmax":
        return log_shares(dim)

    def shares(x: Any) -> Any:
        if node.attributes.get("causal"):
            x = x.masked_fill(~lower(x), -torch.inf)
        return torch.softmax(x, dim)

    return shares, lambda g, y: y * (g - (g * y).sum(dim, keepdim=True))


# ---- of two values ----


def _beside(x: Any, rank: int) -> Any:
    """With extents of 1 behind the samples, so that it has as many as another."""
    return x.reshape(x.shape[0], *(1,) * (rank - x.dim()), *x.shape[1:])


def _joins(**functions: Callable[[Any, Any], Any]) -> None:
    for name, function in functions.items():

        def join(node: Node, run: Pass, *x: Any, _do: Callable[[Any, Any], Any] = function) -> Any:
            if "value" in node.attributes:
                return _do(x[0], torch.tensor(float(node.attributes["value"])))
            if "shape" in node.attributes:
                weight = run.ours(node, "weight")
                return _do(_beside(x[0], max(x[0].dim(), weight.dim() + 1)), weight)
            made, rank = x[0], max(one.dim() for one in x)
            for other in x[1:]:
                made = _do(_beside(made, rank), _beside(other, rank))
            return made

        FORWARD[name] = join


_joins(
    add=torch.add,
    sub=torch.sub,
    mul=torch.mul,
    div=torch.div,
    minimum=torch.minimum,
    maximum=torch.maximum,
)


# ---- shapes ----


@does("flatten", "reshape")
def reshape(node: Node, run: Pass, x: Any) -> Any:
    return x.reshape(run.batch, *node.shape)


@does("transpose")
def transpose(node: Node, run: Pass, x: Any) -> Any:
    axes = node.attributes.get("axes")
    return x.transpose(-1, -2) if axes is None else x.permute(0, *(a + 1 for a in axes))


@does("slice")
def slice_(node: Node, run: Pass, x: Any) -> Any:
    a = node.attributes
    places = range(x.shape[a["axis"] + 1])[a["start"] : a["end"] : a.get("step", 1)]
    whole = (slice(None),) * (a["axis"] + 1)
    return x[(*whole, slice(places.start, places.stop, places.step))]


@does("concat")
def concat(node: Node, run: Pass, *x: Any) -> Any:
    axis = node.attributes.get("axis", -1)
    return torch.cat(x, axis + 1 if axis >= 0 else axis)


@does("pad")
def pad(node: Node, run: Pass, x: Any) -> Any:
    before, after = node.attributes["before"], node.attributes["after"]
    places = [p for pair in zip(reversed(before), reversed(after)) for p in pair]
    return F.pad(x, places, value=float(node.attributes.get("value", 0.0)))


@does("reverse")
def reverse(node: Node, run: Pass, x: Any) -> Any:
    return x.flip(1)


# ---- pooling and reductions ----


@does("max_pool", "max_pool1d")
def max_pool(node: Node, run: Pass, x: Any) -> Any:
    sizes = _windows(node)
    made = F.max_pool2d(_as_image(node, x), *sizes, ceil_mode=bool(node.attributes.get("ceil")))
    return _from_image(node, made)


@does("avg_pool", "avg_pool1d")
def avg_pool(node: Node, run: Pass, x: Any) -> Any:
    a = node.attributes
    how = (bool(a.get("ceil")), bool(a.get("count_padding")))
    return _from_image(node, F.avg_pool2d(_as_image(node, x), *_windows(node), *how))


def _windows(node: Node) -> list[_Pair]:
    """Kernel, stride and padding; of rows along the first dimension of an image."""
    usual = (("kernel", 1), ("stride", 1), ("pad", 0))
    pairs = [_pair(node, key, value) for key, value in usual]
    if not node.op.endswith("1d"):
        return pairs
    return [(pair[0], value) for pair, (_, value) in zip(pairs, usual)]


def _as_image(node: Node, x: Any) -> Any:
    return to_image(x.unsqueeze(2) if node.op.endswith("1d") else x)


def _from_image(node: Node, x: Any) -> Any:
    made = of_image(x)
    return made.squeeze(2) if node.op.endswith("1d") else made


@does("global_avg_pool")
def global_avg_pool(node: Node, run: Pass, x: Any) -> Any:
    return x.mean(tuple(range(1, x.dim() - 1))).reshape(run.batch, *node.shape)


@does("adaptive_avg_pool")
def adaptive_avg_pool(node: Node, run: Pass, x: Any) -> Any:
    return of_image(F.adaptive_avg_pool2d(to_image(x), sizes_of(node.attributes["out"])))


def _axes(node: Node, x: Any) -> list[int]:
    return [a + 1 for a in node.attributes.get("axes", range(x.dim() - 1))]


@does("reduce_mean")
def reduce_mean(node: Node, run: Pass, x: Any) -> Any:
    return x.mean(_axes(node, x)).reshape(run.batch, *node.shape)


@does("reduce_sum")
def reduce_sum(node: Node, run: Pass, x: Any) -> Any:
    return x.sum(_axes(node, x)).reshape(run.batch, *node.shape)


@does("reduce_max")
def reduce_max(node: Node, run: Pass, x: Any) -> Any:
    """Of equal largest ones the first has the gradient."""
    axes = _axes(node, x)
    rest = [d for d in range(x.dim()) if d not in axes]
    lines = x.permute(*rest, *axes).flatten(len(rest))
    return lines.max(-1).values.reshape(run.batch, *node.shape)


@does("nearest")
def nearest(node: Node, run: Pass, x: Any) -> Any:
    factor = tuple(float(f) for f in sizes_of(node.attributes["factor"]))
    return of_image(F.interpolate(to_image(x), scale_factor=factor, mode="nearest"))


@does("bilinear")
def bilinear(node: Node, run: Pass, x: Any) -> Any:
    size, align = sizes_of(node.attributes["size"]), bool(node.attributes.get("align"))
    made = F.interpolate(to_image(x), size, mode="bilinear", align_corners=align)
    return of_image(made)
