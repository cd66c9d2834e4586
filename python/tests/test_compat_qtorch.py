"""QPyTorch's names on our rounding: its bits where it rounds right, and where it does not."""

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
nn, F = torch.nn, torch.nn.functional

import halfulp as hu  # noqa: E402
from halfulp.compat.qtorch import (  # noqa: E402
    BlockFloatingPoint,
    FixedPoint,
    FloatingPoint,
    Number,
    auto_low,
    optim,
    quant,
)
from halfulp.compat.qtorch._grids import text_of_number  # noqa: E402
from needs import needs_export, needs_operations  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch

FLOATS = [
    (5, 2),
    (4, 3),
    (6, 9),
    (5, 10),
    (8, 7),
    (8, 10),
    (8, 22),
    (3, 2),
    (2, 1),
    (1, 3),
    (7, 16),
]
FIXED = [(8, 4), (8, 7), (16, 8), (4, 2), (2, 1), (1, 1), (8, 12), (24, 12), (8, 0), (8, -3)]
BLOCKS = [2, 3, 4, 8, 12, 16, 22]
SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 2.0**-149, -(2.0**-126), 3.4e38], "f4")


@pytest.fixture(scope="module")
def peer():
    """QPyTorch, where it is installed and its extension compiles."""
    pytest.importorskip("qtorch")
    try:
        import qtorch.auto_low
        import qtorch.optim
        import qtorch.quant
    except Exception as error:  # of a compiler
        pytest.skip(f"qtorch: {error}")
    return qtorch


def mixed(count, ends, seed=0):
    """Numbers of every size, others between 2**ends[0] and 2**ends[1], ties, and special ones."""
    random = np.random.default_rng(seed)
    words = random.integers(0, 2**32, count // 4, dtype=np.uint64).astype(np.uint32)
    near = np.exp2(random.uniform(*ends, count // 2)) * random.choice([-1, 1], count // 2)
    short = np.round(np.ldexp(near[: count // 4], 3 - int(ends[0]))) * 2.0 ** (int(ends[0]) - 3)
    parts = (words.view(np.float32), near, short, SPECIAL)
    return np.concatenate([part.astype(np.float32) for part in parts])


def float_numbers(exp, man, count=10**6):
    least = 2 - 2 ** (exp - 1) - man
    return mixed(count, (max(least - 3, -149), min(2 ** (exp - 1) + 2, 127.9)))


def fixed_numbers(wl, fl, count=10**5):
    return mixed(count, (-fl - 3, wl - fl + 1))


def block_numbers(seed=0, shape=(40, 50, 51)):
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape) * np.exp(3 * random.standard_normal((*shape[:2], 1)))
    x[0], x[1], x[2, 3] = np.round(x[0] * 4) / 4, 0, 1e-40
    return x.astype(np.float32)


def bits(x):
    """Bits, but for the sign of zero."""
    return (np.asarray(x, np.float32) + np.float32(0)).view(np.uint32)


def differs(ours, theirs):
    ours, theirs = ours.numpy(), theirs.numpy()
    return (bits(ours) != bits(theirs)) & ~(np.isnan(ours) & np.isnan(theirs))


# ---- our own meaning, in float64 ----


@pytest.mark.parametrize(("exp", "man"), FLOATS)
def test_floating_point_is_the_nearest_number_with_ties_away(exp, man):
    x = float_numbers(exp, man, 10**5)
    found = quant.float_quantize(torch.from_numpy(x), exp, man, "nearest").numpy()
    least, most = 2 - 2 ** (exp - 1), min(2 ** (exp - 1), 127)
    exact = np.abs(x.astype(np.float64))
    exponent = np.maximum(np.frexp(exact)[1] - 1, least)
    quantum = np.ldexp(1.0, exponent - man)
    with np.errstate(all="ignore"):
        near = np.floor(exact / quantum + 0.5) * quantum
    largest = np.ldexp(2 - 2.0**-man, most)
    near[near > largest] = np.inf if exp == 8 else largest
    np.testing.assert_array_equal(found, np.copysign(near, x).astype(np.float32))
    assert (np.signbit(found) == np.signbit(x))[~np.isnan(x)].all()


@pytest.mark.parametrize(("wl", "fl"), [*FIXED, (25, 12), (32, 16), (40, 149), (16, 200), (200, 3)])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("clamp", [False, True])
def test_fixed_point_is_the_nearest_multiple_with_ties_to_even(wl, fl, clamp, symmetric):
    x = fixed_numbers(wl, fl)
    found = quant.fixed_point_quantize(torch.from_numpy(x), wl, fl, clamp, symmetric, "nearest")
    step = np.ldexp(1.0, -fl)
    with np.errstate(all="ignore"):
        expected = np.where(np.isinf(x), x, np.rint(x.astype(np.float64) / step) * step)
    if clamp:
        top = np.ldexp(1.0, wl - fl - 1)
        high = top - step if wl <= 25 else min(np.nextafter(np.float32(top), np.float32(0)), np.inf)
        high = np.inf if wl - fl > 128 else high
        expected = np.clip(expected, -high if symmetric else -top, high)
    np.testing.assert_array_equal(found.numpy(), expected.astype(np.float32))


@pytest.mark.parametrize("wl", BLOCKS)
@pytest.mark.parametrize("dim", [-1, 0, 1, 2])
def test_block_floating_point_has_one_step_for_a_block_with_ties_up(wl, dim):
    x = block_numbers()
    found = quant.block_quantize(torch.from_numpy(x), wl, dim, "nearest").numpy()
    others = tuple(d for d in range(3) if d != dim) if dim >= 0 else None
    top = np.abs(x).max(axis=others, keepdims=True)
    step = np.ldexp(1.0, np.maximum(np.frexp(top)[1] - 1, -126) - wl + 2)
    most = 2 ** (wl - 1) - 1
    expected = np.clip(np.floor(x / step + 0.5), -most, most) * step
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("shape", [(50,), (1,), (7, 9), (2, 3, 1, 5)])
def test_a_block_is_what_has_the_same_index(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    for dim in range(len(shape)):
        whole = quant.block_quantize(x, 5, dim, "nearest")
        for part, found in zip(x.unbind(dim), whole.unbind(dim)):
            assert torch.equal(quant.block_quantize(part, 5, -1, "nearest"), found)


def test_a_block_of_eight_bits_has_the_numbers_of_mxint8():
    x = torch.randn(64, 32, generator=torch.Generator().manual_seed(3))
    ours = quant.block_quantize(x, 8, 0, "nearest")
    np.testing.assert_array_equal(ours.numpy(), hu.round(x.numpy(), "mxint8"))  # no ties are there


@pytest.mark.parametrize("wl", [8, 24])
def test_blocks_that_are_not_finite_are_nan_and_the_largest_are_not(wl):
    x = torch.ones(4, 3)
    x[0, 1], x[1, 2], x[2] = torch.inf, torch.nan, 3e38
    found = quant.block_quantize(x, wl, 0, "nearest")
    assert found[:2].isnan().all()
    assert torch.equal(found[3], x[3])
    assert (found[2] - 3e38).abs().max() < 2.0 ** (127 - wl + 2)
    assert quant.block_quantize(x, wl, -1, "nearest").isnan().all()


NUMBERS = [
    FloatingPoint(5, 2),
    FloatingPoint(8, 7),
    FixedPoint(8, 4),
    FixedPoint(6, 3, symmetric=True),
    FixedPoint(8, 4, clamp=False),
    BlockFloatingPoint(8),
    BlockFloatingPoint(6, 0),
]


@pytest.mark.parametrize("number", NUMBERS)
def test_stochastic_rounding_is_between_its_neighbours_and_right_on_average(number):
    at = torch.tensor([0.3, -1.7, 0.01, 2.9, -0.0004]).repeat_interleave(20000).reshape(5, -1)
    torch.manual_seed(1)
    round_once = quant.quantizer(number)
    found = round_once(at)
    assert torch.equal(found, torch.manual_seed(1) and round_once(at))
    assert not torch.equal(found, round_once(at))
    for x, row in zip(at[:, 0].tolist(), found.double()):
        values = row.unique()
        assert len(values) <= 2
        assert values.min() <= x <= values.max()
        if len(values) == 2:
            share = (x - values[0]) / (values[1] - values[0])
            sigma = (values[1] - values[0]) * (share * (1 - share) / len(row)) ** 0.5
            assert abs(row.mean() - x) < 5 * sigma


# ---- beside QPyTorch ----


@pytest.mark.parametrize(("exp", "man"), FLOATS)
def test_floating_point_has_qpytorchs_bits(peer, exp, man):
    x = float_numbers(exp, man)
    tensor = torch.from_numpy(x)
    ours = quant.float_quantize(tensor, exp, man, "nearest")
    theirs = peer.quant.float_quantize(tensor, exp, man, "nearest")
    # It adds the smallest normal number to smaller ones, in float32, and then rounds: what is just
    # below a tie is at it after the sum, and goes up.
    smallest = np.float32(2.0 ** max(2 - 2 ** (exp - 1), -126))
    with np.errstate(all="ignore"):
        total = np.abs(x) + smallest
        moved = total.astype(np.float64) - smallest > np.abs(x)
    below = 2 ** (23 - man)
    at_tie = (total.view(np.uint32) % below) == below // 2
    wrong = moved & at_tie & (np.abs(x) < smallest)
    differ = differs(ours, theirs)
    if exp < 8:
        assert (~np.isnan(theirs.numpy()))[np.isnan(x)].all()  # NaN is a number there
    np.testing.assert_array_equal(differ[~np.isnan(x)], wrong[~np.isnan(x)])
    assert wrong.mean() < 2.0 ** (man - 23)


def test_qpytorch_flips_signs_where_it_has_23_bits(peer):
    x = torch.tensor([1.5, 3.0, -2.0])
    assert torch.equal(peer.quant.float_quantize(x, 8, 23, "nearest"), -x)
    for rounding in ("nearest", "stochastic"):
        assert torch.equal(quant.float_quantize(x, 8, 23, rounding), x)


def theirs_fixed(x, fl):
    """What QPyTorch rounds to a whole number: the quotient, with 1/2 added in float32."""
    with np.errstate(all="ignore"):
        quotient = np.ldexp(x, fl)
        return np.ldexp(np.rint((quotient + np.float32(0.5)).astype(np.float64) - 0.5), -fl)


@pytest.mark.parametrize(("wl", "fl"), FIXED)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("clamp", [False, True])
def test_fixed_point_has_qpytorchs_bits(peer, wl, fl, clamp, symmetric):
    x = np.append(fixed_numbers(wl, fl, 10**6), np.ldexp(np.float32(0.5 + 2.0**-24), -fl))
    tensor = torch.from_numpy(x)
    ours = quant.fixed_point_quantize(tensor, wl, fl, clamp, symmetric, "nearest")
    theirs = peer.quant.fixed_point_quantize(tensor, wl, fl, clamp, symmetric, "nearest")
    inexact = theirs_fixed(x, fl) != np.ldexp(np.rint(np.ldexp(x.astype(np.float64), fl)), -fl)
    differ = differs(ours, theirs)
    assert not (differ & ~inexact).any()
    inside = np.abs(np.ldexp(x.astype(np.float64), fl)) < min(2.0 ** (wl - 1) - 1, 2.0**22)
    wrong = np.flatnonzero(differ & inside)
    assert np.isin(x[wrong], np.ldexp(np.float32(0.5 + 2.0**-24), -fl)).all()
    assert differ[-1] or wl < 3


@pytest.mark.parametrize("wl", BLOCKS)
@pytest.mark.parametrize("dim", [-1, 0, 1, 2])
def test_block_floating_point_has_qpytorchs_bits(peer, wl, dim):
    x = block_numbers(1, (80, 125, 100))
    tensor = torch.from_numpy(x)
    ours = quant.block_quantize(tensor, wl, dim, "nearest")
    theirs = peer.quant.block_quantize(tensor, wl, dim, "nearest")
    # It adds 6 * 2**E in float32 before it rounds.
    others = tuple(d for d in range(3) if d != dim) if dim >= 0 else None
    exponent = np.frexp(np.abs(x).max(axis=others, keepdims=True))[1] - 1
    with np.errstate(all="ignore"):
        base = np.ldexp(np.float32(6), exponent)
        step = np.ldexp(1.0, exponent - wl + 2)
        sum_is_off = (x + base).astype(np.float64) - base
        wrong = np.floor(sum_is_off / step + 0.5) != np.floor(x / step + 0.5)
    tiny = np.broadcast_to(exponent < -126, x.shape)  # it takes another step there
    differ = differs(ours, theirs).reshape(x.shape)
    assert not (differ & ~wrong & ~tiny).any()
    assert (differ & ~tiny).mean() < 2.0 ** (wl - 22)


@pytest.mark.parametrize("shape", [(1,), (50,), (7, 9), (9, 1), (3, 4, 5, 6), (2, 1, 3, 1, 4)])
def test_blocks_of_every_dimension_have_qpytorchs_bits(peer, shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))
    for dim in range(-1, len(shape)):
        ours = quant.block_quantize(x, 6, dim, "nearest")
        assert torch.equal(ours, peer.quant.block_quantize(x, 6, dim, "nearest")), dim


def test_qpytorch_loses_the_largest_blocks(peer):
    x = torch.tensor([1e38, 3e37])
    assert (peer.quant.block_quantize(x, 8, rounding="nearest") < -1e38).all()
    ours = quant.block_quantize(x, 8, rounding="nearest")
    assert ((ours - x).abs() <= 2.0 ** (126 - 7)).all()


@pytest.mark.parametrize("number", NUMBERS[:1] + NUMBERS[2:])
def test_stochastic_rounding_has_qpytorchs_distribution(peer, number):
    at = torch.tensor([0.3, -1.7, 0.01, 2.9]).repeat_interleave(20000).reshape(4, -1)
    theirs_number = getattr(peer, type(number).__name__)(*vars(number).values())
    torch.manual_seed(2)
    ours = quant.quantizer(number)(at).double()
    theirs = peer.quant.quantizer(theirs_number)(at).double()
    for one, other in zip(ours, theirs):
        assert torch.equal(one.unique(), other.unique())
        sigma = one.std() / len(one) ** 0.5
        assert abs(one.mean() - other.mean()) <= 6 * sigma


def test_names_and_signatures_are_qpytorchs(peer):
    import inspect

    for theirs, ours in ((peer.quant, quant), (peer.optim, optim), (peer.auto_low, auto_low)):
        assert set(theirs.__all__) <= set(ours.__all__)
        for name in theirs.__all__:
            found = inspect.signature(getattr(ours, name)).parameters
            expected = inspect.signature(getattr(theirs, name)).parameters
            assert list(found) == list(expected), name
            for word, parameter in expected.items():
                given = found[word].default
                same = given == parameter.default
                assert same or (list(given), list(parameter.default)) == ([], []), (name, word)
    for number in NUMBERS:
        theirs = getattr(peer, type(number).__name__)(*vars(number).values())
        assert (repr(theirs), str(theirs)) == (repr(number), str(number))
        assert isinstance(number, Number)
    assert set(peer.__all__) | {"Number"} == set(hu.compat.qtorch.__all__)


# ---- gradients ----


@pytest.mark.parametrize("backward", [None, FloatingPoint(2, 1), BlockFloatingPoint(4, 0)])
@pytest.mark.parametrize("forward", [None, FloatingPoint(4, 3), FixedPoint(6, 2)])
def test_gradients_are_rounded_on_the_way_back(forward, backward):
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(1)).requires_grad_()
    weight = torch.randn(5, 6, generator=torch.Generator().manual_seed(2))
    y = quant.Quantizer(forward, backward, "nearest", "nearest")(x)
    (y * weight).sum().backward()
    assert torch.equal(y, quant.quantizer(forward, forward_rounding="nearest")(x.detach()))
    assert torch.equal(x.grad, quant.quantizer(backward, forward_rounding="nearest")(weight))


@pytest.mark.parametrize("symmetric", [False, True])
def test_clamped_numbers_have_no_gradient(peer, symmetric):
    x = torch.tensor([0.3, 7.4, 7.9, -8.0, -8.2, -8.3, 20.0, -0.7])
    grad = torch.tensor([0.3, 0.7, 0.9, 1.1, 1.3, -0.4, 1.0, 2.2])
    found = []
    for of, to in (
        ((FixedPoint, FloatingPoint), quant),
        ((peer.FixedPoint, peer.FloatingPoint), peer.quant),
    ):
        leaf = x.clone().requires_grad_()
        numbers = of[0](5, 1, symmetric=symmetric), of[1](2, 1)
        y = to.quantizer(*numbers, "nearest", "nearest", clamping_grad_zero=True)(leaf)
        y.backward(grad)
        found.append((y.detach(), leaf.grad))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    assert (found[0][1] == 0).sum() >= 2


def test_a_gradient_has_random_numbers_of_its_own():
    x = torch.rand(200, generator=torch.Generator().manual_seed(1)).requires_grad_()
    number = FloatingPoint(4, 1)
    y = quant.quantizer(number, number)(x)
    y.backward(x.detach())
    assert not torch.equal(y, x.grad)
    leaf = x.detach().clone().requires_grad_()
    quant.quantizer(None, number, "nearest")(leaf).backward(x.detach())
    assert not torch.equal(leaf.grad, x.detach())
    assert torch.equal(quant.quantizer(number)(leaf.grad), leaf.grad)


def test_blocks_of_the_smallest_numbers_keep_their_step():
    x = torch.tensor([1.7 * 2.0**-125, 0.3 * 2.0**-125, -(2.0**-126)])
    step = 2.0 ** (-125 - 6)
    expected = np.floor(x.double().numpy() / step + 0.5) * step
    found = quant.block_quantize(x, 8, rounding="nearest").double().numpy()
    np.testing.assert_array_equal(found, expected)


def test_layers_count_by_their_own_class():
    model = nn.Sequential(nn.MultiheadAttention(4, 2), nn.Linear(4, 4))
    lowered = auto_low.sequential_lower(model, ["linear"], FloatingPoint(4, 3))
    assert type(lowered[0].out_proj) is type(model[0].out_proj)
    assert type(lowered[1]) is nn.Sequential


def test_gradients_of_clamped_numbers_are_zero_without_a_backward_number_too():
    leaf = torch.tensor([0.3, 9.0]).requires_grad_()
    quant.quantizer(FixedPoint(4, 1), clamping_grad_zero=True)(leaf).sum().backward()
    assert leaf.grad.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("clamping", [False, True])
def test_hooks_come_before_gradients_are_rounded(clamping):
    leaf = torch.tensor([0.25, 0.5]).requires_grad_()
    hooks = [lambda g: g * 3, lambda g: g + 0.1]
    numbers = FixedPoint(8, 4), FixedPoint(8, 1)
    call = quant.quantizer(*numbers, "nearest", "nearest", clamping, hooks)
    call(leaf).backward(torch.tensor([1.0, 0.4]))
    assert leaf.grad.tolist() == [3.0, 1.5]


def test_functions_cut_the_graph_as_in_qpytorch():
    x = torch.ones(3, requires_grad=True)
    for y in (
        quant.float_quantize(x, 5, 2),
        quant.fixed_point_quantize(x, 8, 4),
        quant.block_quantize(x, 8),
    ):
        assert not y.requires_grad


# ---- what PyTorch asks of an operation ----


@needs_operations
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@pytest.mark.parametrize("number", NUMBERS)
def test_pytorch_checks_the_operation(number, rounding):
    text = text_of_number(number, rounding, "test")
    seed = torch.tensor([1, 2])
    operation = torch.ops.halfulp.qtorch_quantize
    for x in (torch.randn(4, 6), torch.randn(4, 6).t(), torch.randn(4, 6, requires_grad=True)):
        torch.library.opcheck(operation, (x, seed, text, text))
        torch.library.opcheck(operation, (x, seed, "", text))
    torch.library.opcheck(operation, (torch.zeros(0, 3), seed, text, text))


@needs_operations
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_compiled_model_has_the_same_bits(number, rounding):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(6, 5), quant.Quantizer(number, number, rounding, rounding), nn.Linear(5, 3)
    )
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x = torch.randn(4, 6)
    for _ in range(2):
        results = []
        for call in (model, compiled):
            model.zero_grad()
            torch.manual_seed(7)
            y = call(x)
            y.square().sum().backward()
            results.append([y.detach(), *(p.grad.clone() for p in model.parameters())])
        assert all(map(torch.equal, *results))


@needs_export
def test_a_model_is_exported_with_its_quantizers():
    model = nn.Sequential(
        nn.Linear(6, 5), quant.Quantizer(FloatingPoint(4, 3), FloatingPoint(5, 2)), nn.Linear(5, 3)
    )
    x = torch.randn(4, 6)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert "halfulp.qtorch_quantize.default" in targets
    results = []
    for call in (model, program.module()):
        torch.manual_seed(3)
        results.append(call(x))
    assert torch.equal(*results)


@needs_operations
def test_hooks_clamping_and_functions_are_compiled():
    torch._dynamo.reset()
    call = quant.quantizer(
        FixedPoint(5, 2), FloatingPoint(4, 3), "nearest", "nearest", True, [lambda g: g * 2]
    )

    def loss(x):
        return (call(x) * quant.float_quantize(x, 5, 2, "nearest")).sum()

    results = []
    for made in (loss, torch.compile(loss, fullgraph=True, backend="aot_eager")):
        x = (3 * torch.randn(40, generator=torch.Generator().manual_seed(1))).requires_grad_()
        made(x).backward()
        results.append(x.grad)
    assert torch.equal(*results)
    assert (results[0] == 0).any()


def test_a_quantizer_is_copied_and_pickled():
    layer = quant.Quantizer(FloatingPoint(4, 3), forward_rounding="nearest")
    x = torch.randn(10)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(x), layer(x))


@pytest.mark.parametrize("dim", [0, 1])
def test_strides_and_shapes_do_not_matter(dim):
    x = torch.randn(6, 8, 4)
    for number in (FloatingPoint(4, 3), FixedPoint(6, 2), BlockFloatingPoint(6, dim)):
        call = quant.quantizer(number, forward_rounding="nearest")
        for view in (x.transpose(0, 2), x[::2, 1:5], x[:, :0]):
            assert torch.equal(call(view), call(view.contiguous()))
            assert call(view).shape == view.shape
    for number in (FloatingPoint(4, 3), BlockFloatingPoint(6)):
        assert quant.quantizer(number)(torch.tensor(0.5)).shape == ()


# ---- the optimizer ----

CHOICES = {
    "weights": ("weight",),
    "gradients": ("grad",),
    "all": ("weight", "grad", "momentum", "acc"),
    "accumulators": ("weight", "acc"),
}


def model_of(of, number, seed):
    torch.manual_seed(seed)

    def rounded():
        return of.quant.Quantizer(number, number, "nearest", "nearest")

    return nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), rounded(), nn.Flatten(), nn.Linear(64, 5),
        rounded(), nn.Linear(5, 3),
    )  # fmt: skip


def optimizer_of(of, model, kind, choice):
    small, large = of.FloatingPoint(5, 2), of.FloatingPoint(6, 9)
    numbers = {"weight": small, "grad": small, "momentum": large, "acc": large}
    words = {
        f"{name}_quant": of.quant.quantizer(numbers[name], forward_rounding="nearest")
        for name in CHOICES[choice]
    }
    inner = {
        "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=5e-4),
        "plain": lambda p: torch.optim.SGD(p, lr=0.1),
        "adam": lambda p: torch.optim.Adam(p, lr=0.02),
    }[kind]
    return of.optim.OptimLP(inner(model.parameters()), grad_scaling=1 / 8, **words)


def steps(of, number, kind, choice):
    model = model_of(of, number, 3)
    optimizer = optimizer_of(of, model, kind, choice)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.95**epoch)
    random = torch.Generator().manual_seed(5)
    for _ in range(20):
        x = torch.randn(8, 2, 6, 6, generator=random)
        labels = torch.randint(3, (8,), generator=random)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        (loss * 8).backward()
        optimizer.step()
        scheduler.step()
        states = [v for s in optimizer.optim.state.values() for v in s.values()]
        found = [*model.parameters(), *states, *getattr(optimizer, "weight_acc", {}).values()]
        yield loss.item(), [t.detach().clone() for t in found if torch.is_tensor(t)]


@pytest.mark.parametrize("kind", ["sgd", "plain", "adam"])
@pytest.mark.parametrize("choice", CHOICES)
def test_every_step_of_the_optimizer_has_qpytorchs_bits(peer, kind, choice):
    ours = steps(hu.compat.qtorch, FloatingPoint(4, 3), kind, choice)
    theirs = steps(peer, peer.FloatingPoint(4, 3), kind, choice)
    losses = []
    for (loss, tensors), (expected, others) in zip(ours, theirs):
        assert loss == expected
        assert len(tensors) == len(others)
        for one, other in zip(tensors, others):
            np.testing.assert_array_equal(bits(one), bits(other))
        losses.append(loss)
    assert len(set(losses)) == 20


def test_weights_are_members_of_their_format_after_a_step():
    model = model_of(hu.compat.qtorch, FloatingPoint(4, 3), 1)
    optimizer = optimizer_of(hu.compat.qtorch, model, "sgd", "all")
    model(torch.randn(4, 2, 6, 6)).square().sum().backward()
    optimizer.step()
    for parameter in model.parameters():
        array = parameter.detach().numpy()
        np.testing.assert_array_equal(hu.round(array, "fp(5,2,0)"), array)
        accumulator = optimizer.weight_acc[parameter].numpy()
        np.testing.assert_array_equal(hu.round(accumulator, "fp(6,9,0)"), accumulator)
        np.testing.assert_array_equal(hu.round(accumulator, "fp(5,2,0)", "rna"), array)


def test_an_optimizer_goes_on_where_it_was_saved():
    def fresh():
        model = model_of(hu.compat.qtorch, FloatingPoint(4, 3), 1)
        return model, optimizer_of(hu.compat.qtorch, model, "sgd", "all")

    def train(model, optimizer, seeds):
        for seed in seeds:
            x = torch.randn(4, 2, 6, 6, generator=torch.Generator().manual_seed(seed))
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

    model, optimizer = fresh()
    train(model, optimizer, range(3))
    saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    train(model, optimizer, range(3, 6))
    other, again = fresh()
    other.load_state_dict(saved[0])
    again.load_state_dict(saved[1])
    assert again.state is again.optim.state
    assert again.param_groups is again.optim.param_groups
    train(other, again, range(3, 6))
    for one, two in zip(model.parameters(), other.parameters()):
        assert torch.equal(one, two)
        assert torch.equal(optimizer.weight_acc[one], again.weight_acc[two])
    del saved[1]["accumulators"]
    with pytest.raises(hu.ArgumentError, match="accumulators: found none"):
        again.load_state_dict(saved[1])


def test_all_states_of_adam_are_rounded():
    weight = nn.Parameter(torch.randn(20))
    adam = torch.optim.Adam([weight], lr=0.01, amsgrad=True)
    round_states = quant.quantizer(FloatingPoint(8, 3), forward_rounding="nearest")
    optimizer = optim.OptimLP(adam, momentum_quant=round_states)
    weight.square().sum().backward()
    optimizer.step()
    states = [adam.state[weight][name] for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")]
    assert all(torch.equal(round_states(state), state) for state in states)


def test_a_closure_is_called_and_groups_are_added():
    one, two = (nn.Parameter(torch.tensor([1.0])) for _ in range(2))
    round_all = quant.quantizer(FloatingPoint(4, 3), forward_rounding="nearest")
    optimizer = optim.OptimLP(torch.optim.SGD([one], lr=0.3), round_all, acc_quant=round_all)
    optimizer.add_param_group({"params": [two], "lr": 0.1})

    def closure():
        optimizer.zero_grad()
        loss = (one * two).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 1.0
    assert (one.item(), two.item()) == (0.6875, 0.875)
    assert len(optimizer.optim.param_groups) == 2


# ---- layers ----


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Sequential(nn.Conv2d(3, 3, 1)))
        self.parts = nn.ModuleDict({"a": nn.Linear(3, 4), "b": nn.Linear(3, 4)})
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        x = self.stem(x).mean((2, 3))
        return self.norm(self.parts["a"](x) + self.parts["b"](x))


@pytest.mark.parametrize("types", [["conv"], ["linear", "activation"], ["conv", "normalization"]])
def test_lowered_models_are_qpytorchs(peer, types):
    torch.manual_seed(0)
    model, x = Branches(), torch.randn(5, 2, 6, 6)
    theirs_number = peer.FloatingPoint(3, 2)
    words = {"forward_rounding": "nearest", "backward_rounding": "nearest"}
    numbers = [FloatingPoint(3, 2)] * 2
    ours = auto_low.sequential_lower(model, types, *numbers, **words)
    theirs = peer.auto_low.sequential_lower(model, types, theirs_number, theirs_number, **words)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    lowered = copy.deepcopy(model)
    auto_low.lower(lowered, types, *numbers, **words)
    grads = []
    for made in (ours, theirs, lowered):
        y = made(x)
        y.square().sum().backward()
        grads.append([y, *(p.grad for p in made.parameters())])
    for one, other, third in zip(*grads):
        np.testing.assert_array_equal(bits(one.detach()), bits(other.detach()))
        np.testing.assert_array_equal(bits(one.detach()), bits(third.detach()))
    assert not torch.equal(grads[0][0], model(x))


def test_a_layer_that_is_used_twice_is_wrapped_once():
    layer = nn.Linear(4, 4)
    model = nn.Sequential(layer, nn.ReLU(), layer)
    lowered = auto_low.sequential_lower(model, ["linear"], FloatingPoint(4, 3))
    assert lowered[0] is lowered[2]
    assert len(list(lowered.parameters())) == 2
    assert type(auto_low.sequential_lower(layer, ["linear"], FloatingPoint(4, 3))) is nn.Sequential


# ---- the page ----

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "from-other-libraries.md"


@pytest.mark.skipif(not PAGE.exists(), reason="no pages beside these tests")
def test_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    weight = names["model"][0][0].weight
    assert torch.equal(quant.quantizer(FloatingPoint(5, 2))(weight), weight)
    limits = hu.Format(exp=4, man=3, specials="fin", overflow="sat")
    assert (limits.max, str(limits)) == (480.0, "fp(4,3,0)")


# ---- what is refused ----


def test_other_numbers_and_tensors_are_refused():
    with pytest.raises(hu.ArgumentError, match="FloatingPoint: exp: found 9, expected 1 to 8"):
        FloatingPoint(9, 3)
    with pytest.raises(hu.ArgumentError, match="FixedPoint: fl: found 0"):
        FixedPoint(8, 0)
    with pytest.raises(hu.ArgumentError, match="clamp: found 'yes', expected a bool"):
        FixedPoint(8, 4, "yes")
    with pytest.raises(hu.ArgumentError, match="dim: found -2"):
        BlockFloatingPoint(8, -2)
    with pytest.raises(hu.ArgumentError, match="wl: found 1, expected 2 to 24"):
        quant.block_quantize(torch.ones(3), 1)
    with pytest.raises(hu.ShapeError, match="found dim=2 and a tensor of 1 dimensions"):
        quant.block_quantize(torch.ones(3), 8, 2)
    with pytest.raises(hu.ArgumentError, match="rounding: found 'up', expected one of: stochastic"):
        quant.quantizer(FloatingPoint(4, 3), forward_rounding="up")
    with pytest.raises(hu.ArgumentError, match="clamping_grad_zero: found FloatingPoint"):
        quant.quantizer(FloatingPoint(4, 3), clamping_grad_zero=True)
    with pytest.raises(hu.ArgumentError, match="found builtins.str, expected FloatingPoint"):
        quant.quantizer("e4m3")
    with pytest.raises(hu.DtypeError, match="found torch.float64, expected torch.float32"):
        quant.float_quantize(torch.ones(3, dtype=torch.float64), 4, 3)
    with pytest.raises(hu.ArgumentError, match="found AdamW|found RMSprop"):
        optim.OptimLP(torch.optim.RMSprop([nn.Parameter(torch.ones(1))]))
    with pytest.raises(hu.ArgumentError, match="grad_scaling: found 0"):
        optim.OptimLP(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1), grad_scaling=0)
    with pytest.raises(hu.ArgumentError, match="layer_types: found 'cnn', expected some of: conv"):
        auto_low.lower(nn.Linear(1, 1), ["cnn"])


def test_numbers_of_qpytorch_itself_are_told_apart(peer):
    with pytest.raises(hu.ArgumentError, match="found qtorch.number.FloatingPoint, expected"):
        quant.quantizer(peer.FloatingPoint(4, 3))
