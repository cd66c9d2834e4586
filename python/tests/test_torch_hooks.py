"""What every release of PyTorch has: hooks around modules, loss scalers, products of tensors."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
nn, F = torch.nn, torch.nn.functional

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from halfulp.torch import _ops, _points, _release  # noqa: E402
from needs import needs_operations  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch

NOTHING = "halfulp_plan: 1\nmodel: {name: none}\ntensors: {}\n"


# ---- operations ----


@pytest.mark.parametrize(
    "text",
    [
        *("e4m3fn sr", "8p3se sr:bits=5:kind=b", "mxfp8", "nvfp4", "e4m3fn:scale=current", "fp16"),
        *("e4m3fn:tile=128x128:scale=f32", "e4m3fn:tile=3x5:scale=f32 sr", "nvfp4:tile=16x16"),
    ],
)
def test_threads_share_tensors_to_the_same_bits(text):
    torch.manual_seed(0)
    x = torch.randn(501, 33, 16) * torch.exp2(torch.randint(-12, 12, (501, 1, 1)).float())
    key = hu.Key(7, "x", 3) if " sr" in text else None
    wanted, counted = hu.Quantization(text).round(x.numpy(), key, counts=True)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            counts = _ops.no_counts()
            made = _ops.quantize(x, counts, hu.Quantization(text), key)
            np.testing.assert_array_equal(made.numpy(), wanted)
            point = _points.Point("x", text, _points.Clock(1))
            point.counts = counts
            assert point.told() == counted
    finally:
        torch.set_num_threads(before)


@needs_operations
def test_operations_are_sound():
    x = torch.randn(7, 5)
    counts = _ops.no_counts()
    torch.library.opcheck(
        torch.ops.halfulp.round_counted.default, (x, counts, "e4m3fn sr", -7, 1, torch.tensor(0))
    )
    for bias in (None, torch.randn(4, requires_grad=True)):
        given = (x.clone().requires_grad_(), torch.randn(5, 4, requires_grad=True), bias)
        torch.library.opcheck(torch.ops.halfulp.gemm.default, (*given, "fmacs", "exact"))


def test_gradients_of_products_are_right():
    """Whole numbers, so that sums are exact and differences of float32 are slopes."""
    torch.manual_seed(0)

    def whole(*shape):
        return torch.randint(-4, 5, shape).float().requires_grad_()

    def product(a, b, bias):
        return _ops.gemm(a, b, bias, "fmacs", "exact")

    given = (whole(6, 5), whole(5, 4), whole(4))
    assert torch.autograd.gradcheck(product, given, eps=1.0, atol=1e-5, rtol=0, nondet_tol=0.0)
    sums = ht._sums.Sums(hu.Plan(NOTHING))
    for kernel, stride, pad, dilation, groups in (
        (1, 1, 0, 1, 1),
        (3, 1, 1, 1, 1),
        (3, 2, 1, 1, 2),
        (2, 3, 4, 1, 1),
        (3, 1, 2, 2, 2),
        (5, 2, 0, 1, 1),
    ):
        x, w, bias = whole(2, 9, 10, 4), whole(6, 4 // groups, kernel, kernel), whole(6)
        grid = ((stride, stride), (pad, pad), (dilation, dilation), groups)
        made = sums.conv2d("conv", x, w, bias, *grid)
        image = x.permute(0, 3, 1, 2)
        wanted = F.conv2d(image, w, bias, stride, pad, dilation, groups).permute(0, 2, 3, 1)
        assert torch.equal(made, wanted)
        slope = torch.randint(-3, 4, made.shape).float()
        ours = torch.autograd.grad(made, (x, w, bias), slope)
        theirs = torch.autograd.grad(wanted, (x, w, bias), slope)
        assert all(map(torch.equal, ours, theirs))


def test_tensors_are_rounded_and_multiplied_as_arrays():
    torch.manual_seed(0)
    x, key = torch.randn(5, 7, requires_grad=True), hu.Key(2**64 - 1, "x", 3)
    for fmt, rounding in (("e4m3fn", "rne"), ("mxfp8", "rz"), ("e2m1", "sr")):
        made = ht.round(x.t(), fmt, rounding, key)
        wanted = hu.round(x.detach().numpy().T, fmt, rounding, key)
        np.testing.assert_array_equal(made.detach().numpy(), wanted)
        assert torch.equal(torch.autograd.grad(made.sum(), x)[0], torch.ones(5, 7))
    bias = torch.randn(4)
    b = torch.randn(7, 4, requires_grad=True)
    made = ht.gemm(x, b, "fmac8:1/6/9", bias=bias, semantics="f32fma")
    given = (x.detach().numpy(), b.detach().numpy())
    wanted = hu.gemm(*given, "fmac8:1/6/9", bias=bias.numpy(), semantics="f32fma")
    np.testing.assert_array_equal(made.detach().numpy(), wanted)
    slope = torch.randn(5, 4)
    ours = torch.autograd.grad(made, (x, b), slope)
    for found, (one, other) in zip(ours, ((slope, b.t()), (x.t(), slope))):
        factors = (t.detach().contiguous().numpy() for t in (one, other))
        theirs = hu.gemm(*factors, "fmac8:1/6/9", semantics="f32fma")
        np.testing.assert_array_equal(found.numpy(), theirs)


def test_tensors_that_are_not_taken():
    x = torch.randn(3, 4)
    for call, kind, text in (
        (lambda: ht.round(x, "e2m1", "sr"), hu.ArgumentError, "key: found none"),
        (lambda: ht.round(x, "e2m1", "sr:bits=4"), hu.ArgumentError, "key: found none"),
        (lambda: ht.round(x, "e2m1", "sr", hu.Key(1, 7)), hu.ArgumentError, "the stream 7"),
        (lambda: ht.round(x.double(), "e2m1"), hu.DtypeError, "found torch.float64"),
        (lambda: ht.round(x, "fp99x"), hu.UnknownNameError, "fp99x"),
        (lambda: ht.gemm(x, x), hu.ShapeError, r"found a \(3, 4\) and b \(3, 4\)"),
        (lambda: ht.gemm(x, x.t().double()), hu.DtypeError, "gemm: b: found torch.float64"),
        (lambda: ht.gemm(x, x.t(), "fmac:fp99x"), hu.UnknownNameError, "fp99x"),
    ):
        with pytest.raises(kind, match=text):
            call()


def test_functions_of_autograd_do_what_operations_do():
    """What releases without operations have, beside those that this one has."""
    torch.manual_seed(0)
    kept = (_ops._keep, _ops._gradients)
    for a, b, bias in (
        (torch.randn(5, 7), torch.randn(7, 4), None),
        (torch.randn(5, 7), torch.randn(7, 4), torch.randn(4)),
    ):
        results = []
        for product in (_release._function(_ops._product, *kept), _ops.gemm):
            given = [None if x is None else x.clone().requires_grad_() for x in (a, b, bias)]
            made = product(*given, "fmac:1/6/9", "exact")
            made.square().sum().backward()
            results.append([made.detach(), *(x.grad for x in given if x is not None)])
        assert all(map(torch.equal, *results))
    counts, x = _ops.no_counts(), torch.randn(6, 8)
    for number in range(2):
        call = _release._function(_ops._round_counted, None, None)
        made = call(x, counts, "e4m3fn", 0, 1, torch.tensor(0))
        assert torch.equal(made, ht.round(x, "e4m3fn")) and counts[0] == 48 * (number + 1)


# ---- releases of PyTorch ----


def test_a_release_that_cannot_follow_modules(monkeypatch):
    monkeypatch.setattr(_release, "HAS_EXPORT", False)
    text = r"found PyTorch .*, expected 2\.\d or newer.*pip install 'torch>=2"
    module, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.randn(5, 4)
    with pytest.raises(hu.UnsupportedError, match=f"ht.capture of Sequential: {text}"):
        ht.capture(module, (x,))
    data = torch.utils.data.TensorDataset(x, torch.zeros(5, dtype=torch.int64))
    with pytest.raises(hu.UnsupportedError, match=text):
        ht.train(module, data)
    with pytest.raises(hu.UnsupportedError, match=text):
        ht.apply(module, "hfp8", (x,), products="halfulp")
    with pytest.warns(UserWarning, match=f"(?s)rounded by hooks.*{text}"):
        net = ht.apply(module, "hfp8", (x,)).train()
    net.loss(net(x), torch.zeros(5, dtype=torch.int64)).backward()
    assert net.counts("0.out.grad").elements == net.counts("0.out").elements == 15


def test_a_release_beside_a_newer_numpy(monkeypatch):
    def none(array):
        raise RuntimeError("Numpy is not available")

    monkeypatch.setattr(torch, "from_numpy", none)
    with pytest.raises(hu.UnsupportedError, match=r"found NumPy .*pip install 'numpy<2'"):
        _release.check_release()
    monkeypatch.setattr(_release, "RELEASE", (1, 12))
    with pytest.raises(hu.UnsupportedError, match=r"expected 1\.13 or newer"):
        _release.check_release()


# ---- loss scalers ----


def test_a_scaler_of_two_optimizers_follows_once():
    """As GradScaler: both are unscaled by one factor, whichever of them overflows."""
    one, other = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    optimizers = [torch.optim.SGD([p], 0.1) for p in (one, other)]
    scalers = [ht.LossScaler(65536.0)]
    if hasattr(torch.amp, "GradScaler"):  # from 2.3 on, on the CPU too
        scalers.append(torch.amp.GradScaler("cpu", init_scale=65536.0))
    scaler, found = scalers[0], []
    for made in scalers:
        one.grad = other.grad = None
        made.scale((one * 1e38).sum() + other.sum()).backward()
        for optimizer in optimizers:
            made.step(optimizer)
        made.update()
        found.append((float(other.grad), made.get_scale()))
    assert set(found) == {(1.0, 32768.0)}
    scaler.scale(one.sum()).backward()
    scaler.unscale_(optimizers[0])  # and the script does not step
    scaler.update()
    one.grad = None
    scaler.scale(one.sum()).backward()
    assert scaler.step(optimizers[0]) and float(one.grad) == 1.0
    with pytest.raises(hu.ArgumentError, match="found a second one of this optimizer"):
        scaler.step(optimizers[0])


def test_a_scaler_that_never_steps_ends():
    parameter = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], 0.1)
    scaler = ht.LossScaler(init=4.0, stop_after=3)
    for number in range(3):
        scaler.scale((parameter * torch.inf).sum()).backward()
        if number == 2:
            with pytest.raises(hu.NonFiniteError, match="3 steps in a row"):
                scaler.step(optimizer)
        else:
            assert not scaler.step(optimizer)
    assert torch.equal(parameter, torch.ones(2))
    with pytest.raises(hu.ArgumentError, match="init: found 0"):
        ht.LossScaler(init=0)


def test_gradients_without_numbers_are_unscaled():
    none, one = nn.Parameter(torch.ones(0, 3)), nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([none, one], 0.5)
    scaler = ht.LossScaler(init=8.0)
    for factor, is_finite in ((1.0, True), (torch.inf, False)):
        optimizer.zero_grad()
        scaler.scale((none.sum() + one.sum()) * factor).backward()
        assert none.grad is not None and scaler.unscale_(optimizer) == is_finite
        assert scaler.step(optimizer) == is_finite
    assert one.tolist() == [0.5, 0.5] and none.grad.shape == (0, 3)


# ---- hooks ----


def rounded(x):
    return hu.round(x, "e4m3fn")


REFUSED = "PReLU|found PyTorch"  # where it cannot follow any module


class Odd(nn.Module):
    """What no network of halfulp can have, between modules that hooks see."""

    def __init__(self):
        super().__init__()
        self.one, self.act, self.two = nn.Linear(8, 6), nn.PReLU(), nn.Linear(6, 3)

    def forward(self, x):
        y = self.act(self.one(x))
        return self.two(torch.cumsum(y, 1))


class Halves(nn.Module):
    """A table that is used twice, and inputs with names; nothing that a network could have."""

    def __init__(self):
        super().__init__()
        self.table, self.act, self.out = nn.Linear(6, 4), nn.PReLU(), nn.Linear(6, 4)
        self.out.weight = self.table.weight

    def forward(self, x, factor=None, *, mask=None):
        y = torch.cumsum(self.act(self.table(x)), 1) @ self.out.weight
        y = y if mask is None else y * mask
        return self.out(y if factor is None else y * factor)


def test_hooks_round_tied_parameters_once_and_pass_names():
    torch.manual_seed(0)
    module, x, mask = Halves(), torch.randn(5, 6), torch.rand(5, 6)
    with pytest.warns(UserWarning, match="rounded by hooks"):
        net = ht.apply(module, "e4m3fn", {"x": x, "mask": mask}).train()
    made = net(x, mask=mask)
    assert net.counts("table.weight").elements == 24
    other, weight = copy.deepcopy(module), hu.round(module.out.weight.detach().numpy(), "e4m3fn")
    with torch.no_grad():
        other.out.weight.copy_(torch.from_numpy(weight))
        for name in ("table.bias", "out.bias", "act.weight"):
            own = other.get_parameter(name)
            own.copy_(torch.from_numpy(rounded(own.numpy())))
        y = [torch.from_numpy(rounded(F.linear(x, other.table.weight, other.table.bias).numpy()))]
        y.append(torch.from_numpy(rounded(F.prelu(y[0], other.act.weight).numpy())))
        y.append(torch.cumsum(y[1], 1) @ other.out.weight * mask)
        wanted = rounded(F.linear(y[2], other.out.weight, other.out.bias).numpy())
    np.testing.assert_array_equal(made.detach().numpy(), wanted)
    with pytest.warns(UserWarning, match="rounded by hooks"):
        assert torch.equal(copy.deepcopy(net)(x, mask=mask), made)
    assert net(x=x).shape == (5, 4)


def test_stochastic_rounding_by_hooks_goes_on_from_step_to_step():
    torch.manual_seed(0)
    module, x = Odd(), torch.randn(5, 8)
    with pytest.warns(UserWarning, match="rounded by hooks"):
        nets = [ht.apply(copy.deepcopy(module), "e4m3fn sr", (x,)).train() for _ in range(2)]
    once, again = ([net(x).detach() for _ in range(2)] for net in nets)
    assert all(map(torch.equal, once, again)) and not torch.equal(*once)
    nets[1].step = -1
    assert torch.equal(nets[1](x), once[0]) and nets[1].step == 0


def test_hooks_round_what_cannot_be_captured():
    torch.manual_seed(0)
    module, x, y = Odd(), torch.randn(5, 8), torch.tensor([0, 1, 2, 0, 1])
    with pytest.raises(hu.UnsupportedError, match=REFUSED):
        ht.apply(module, "hfp8", (x,), strict=True)
    with pytest.warns(UserWarning, match=rf"(?s)rounded by hooks.*({REFUSED})"):
        net = ht.apply(module, "e4m3fn", (x,)).train()
    assert net.net is None and "not rounded" in net.notes[0]
    loss = net.loss(net(x), y)
    loss.backward()
    assert list(net.state_dict()) == list(module.state_dict())
    weight = rounded(module.one.weight.detach().numpy())
    first = rounded(
        F.linear(
            x,
            torch.from_numpy(weight),
            torch.from_numpy(rounded(module.one.bias.detach().numpy())),
        ).numpy()
    )
    counts = net.counts("one.out")
    assert counts.elements == 30 and counts.zero == int((first == 0).sum())
    assert net.counts("one.weight.grad").elements == 48
    assert net.counts("two.out.grad").elements == 15
    for parameter in module.parameters():
        gradient = parameter.grad.numpy()
        np.testing.assert_array_equal(gradient, rounded(gradient))
    with pytest.warns(UserWarning, match="rounded by hooks"):
        other = copy.deepcopy(net)
    assert torch.equal(other(x), net(x)) and other.counts("one.out").elements == 30
    net.forget()
    net.eval()(x)
    net.train()(x)
    module(x)  # outside of the applied module nothing is rounded
    assert net.counts("one.out").elements == 30
    names = "halfulp_plan: 1\nmodel: {name: none}\ntensors:\n  one.outt: {value: e4m3fn}\n"
    with pytest.raises(hu.UnknownNameError, match=r"'one.outt' \(nearest: 'one.out'"):
        ht.apply(Odd(), hu.Plan(names), (x,))
