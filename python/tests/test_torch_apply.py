"""Modules that stay in PyTorch, rounded by plans: the engine's numbers, counts and losses."""

import copy
import pickle
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
nn, F = torch.nn, torch.nn.functional

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from halfulp.torch import _forward, _points  # noqa: E402
from halfulp.torch._edges import rounded_names  # noqa: E402
from halfulp.torch._plans import plan_by_roles, plan_of  # noqa: E402
from needs import needs_export  # noqa: E402
from test_torch import MODULES, Case  # noqa: E402
from test_torch_values import CASES, Work, windows  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_export]  # warnings are PyTorch's

NOTHING = "halfulp_plan: 1\nmodel: {name: none}\ntensors: {}\n"
COUNTED = ("elements", "overflow", "underflow", "subnormal", "zero", "nan")


def without_noise(module):
    """Dropout has random words of its own in each."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
        if hasattr(part, "dropout") and isinstance(part.dropout, float):
            part.dropout = 0.0
    return module


def scale_of(plan):
    return ht.LossScaler.from_plan(plan).value


# ---- what a plan does not name ----


@pytest.mark.parametrize("name", MODULES)
def test_without_formats_it_is_the_module(name):
    case = Case(name)
    net = ht.apply(copy.deepcopy(case.module), hu.Plan(NOTHING), (case.x,), task=case.task)
    made = []
    for module in (case.module.train(), net.train()):
        torch.manual_seed(0)  # of dropout
        y = module(case.x)
        y.square().sum().backward()
        made.append(y.detach())
    assert (made[0] - made[1]).abs().max() <= 1e-6 * made[0].abs().max()
    own, theirs = dict(net.named_parameters()), dict(case.module.named_parameters())
    assert list(own) == list(theirs)
    assert list(net.state_dict()) == list(case.module.state_dict())
    whole = torch.sqrt(sum(p.grad.square().sum() for p in theirs.values()))
    for key, parameter in theirs.items():
        assert (own[key].grad - parameter.grad).norm() <= 3e-6 * whole, key
    for a, b in zip(net.buffers(), case.module.buffers()):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
    with torch.no_grad():
        a, b = net.eval()(case.x), case.module.eval()(case.x)
    assert (a - b).abs().max() <= 1e-6 * b.abs().max()


@pytest.mark.parametrize("name", CASES)
def test_without_formats_values_are_the_modules(name):
    work, shape, parts = CASES[name]
    torch.manual_seed(5)
    module, x = Work(work, shape, parts).train(), torch.randn(4, *shape)
    net = ht.apply(module, hu.Plan(NOTHING), (x,)).train()
    wanted, made = module(x), net(x)
    assert (made - wanted).abs().max() <= 1e-5 * wanted.abs().max()
    theirs, ours = (
        torch.autograd.grad(y.square().sum(), list(module.parameters()), allow_unused=True)
        for y in (wanted, made)
    )
    whole = torch.sqrt(sum(g.square().sum() for g in theirs if g is not None))
    for a, b in zip(ours, theirs):
        assert (a is None) == (b is None)
        assert a is None or (a - b).norm() <= 1e-5 * whole


def test_windows_have_the_engines_bits(monkeypatch):
    module, x, y = windows()
    kept = {}
    rounds = _points.Point.round
    monkeypatch.setattr(
        _points.Point,
        "round",
        lambda p, x, i=False, now=None: kept.setdefault(p.name, rounds(p, x, i, now)),
    )
    net = ht.apply(module, "hfp8", (x,), products="halfulp").train()
    net(x)
    fields = [hu.Field("image", (8, 8, 8)), hu.Field("label", classes=10)]
    pixels = x.permute(0, 2, 3, 1).contiguous().numpy()
    keys = {"samples": 4, "batch": 4, "steps": 1, "precision": net.plan}
    with hu.Trainer(net.net, fields=fields, **keys) as trainer:
        trainer.watch("*.out")
        trainer.step(pixels, y.numpy())
        names = [n for n in kept if n.endswith(".out")]
        assert len(names) >= 15
        for name in names:
            theirs = trainer.tensor(name)
            np.testing.assert_array_equal(
                kept[name].detach().numpy().reshape(theirs.shape), theirs, name
            )


def test_what_capture_makes_can_be_done():
    """Every operation that a handler names has its function here, and attributes that it reads."""
    import re
    from pathlib import Path

    folder = Path(ht.__file__).parent
    sources = [p for p in folder.glob("_*.py") if p.name in HANDLER_FILES]
    assert len(sources) == len(HANDLER_FILES)
    text = "\n".join(p.read_text(encoding="utf-8") for p in sources)
    named = set(re.findall(r"graph\.one\(\s*\"([a-z_0-9]+)\"", text))
    named |= set(re.findall(r"elementwise\([^\"]*?\"([a-z_]+)\"[,)]", text))
    named |= set(re.findall(r"op=\"([a-z_]+)\"", text))
    assert len(named) > 30
    shaped = {"softmax", "log_softmax", "attention_weights", *_forward.BY_OUTPUT}
    plain = {"relu", "sigmoid", "tanh", "silu", "exp", "log", "sqrt", "abs", "neg", "square"}
    assert (named | plain) - set(_forward.FORWARD) - shaped == set()


HANDLER_FILES = (
    "_attention.py",
    "_elements.py",
    "_matmul.py",
    "_norms.py",
    "_places.py",
    "_pools.py",
    "_products.py",
    "_recurrences.py",
    "_shapes.py",
    "_table.py",
)


# ---- the engine's bits ----


class Beside:
    """A step of the engine, and the same of PyTorch with the sums of halfulp's definition."""

    def __init__(self, monkeypatch, name, precision, products="halfulp"):
        self.made = {}
        rounds = _points.Point.round

        def keep(point, x, in_place=False, now=None):
            y = rounds(point, x, in_place, now)
            self.made.setdefault(point.name, []).append(y.detach().clone())
            return y

        monkeypatch.setattr(_points.Point, "round", keep)
        case = self.case = Case(name)
        without_noise(case.module)
        self.captured = ht.capture(case.module, (case.x,), task=case.task)
        plan = plan_of(self.captured, precision)
        self.net = ht.apply(case.module, plan, (case.x,), task=case.task, products=products)
        rows = {f.name: a for f, a in zip(case.fields, case.arrays)}
        keys = {"optimizer": "sgd", "batch": len(case.x), "steps": 2, "lr_base": 0.1}
        self.trainer = hu.Trainer(
            self.captured, hu.Dataset(case.fields, train=rows, test=rows), precision=plan, **keys
        )
        self.trainer.watch("*")
        loss = self.net.train().loss(self.net(case.x), case.y)
        (loss * scale_of(plan)).backward()
        self.losses = float(loss.detach()), self.trainer.step(*case.arrays).loss

    def forward(self):
        """Of every value that is rounded forward, and of no parameter: its name, ours, theirs."""
        for point in self.net.points():
            if ".grad" in point.name or point.name in self.captured.weights:
                continue
            parts = [part.numpy() for part in self.made[point.name]]
            ours = parts[0] if len(parts) == 1 else np.stack(parts, 1)  # the steps of a loop
            theirs = self.trainer.tensor(point.name)
            yield point.name, ours.reshape(theirs.shape), theirs

    def close(self):
        self.trainer.close()


@pytest.mark.parametrize("precision", ["hfp8", "1/6/9", "fp16", "mxfp8", "nvfp4", "e4m3fn sr"])
@pytest.mark.parametrize("name", ["pictures", "edges", "patches", "sequential", "language"])
def test_the_forward_pass_has_the_engines_bits(monkeypatch, name, precision):
    beside = Beside(monkeypatch, name, precision)
    seen = 0
    for tensor, ours, theirs in beside.forward():
        np.testing.assert_array_equal(ours, theirs, tensor)
        seen += 1
    assert seen >= 6
    assert abs(beside.losses[0] - beside.losses[1]) <= 2e-7 * beside.losses[1]
    beside.close()


@pytest.mark.parametrize("precision", ["hfp8", "1/6/9", "mxfp8"])
@pytest.mark.parametrize("name", ["lstm", "lstm-both", "gru"])
def test_loops_have_the_engines_bits(monkeypatch, name, precision):
    beside = Beside(monkeypatch, name, precision)
    for tensor, ours, theirs in beside.forward():
        np.testing.assert_array_equal(ours, theirs, tensor)
    beside.close()


def test_tiles_of_several_lines_are_those_of_weights_alone():
    case = Case("gates")
    with pytest.raises(hu.UnsupportedError, match="tiles of several lines end with each sample"):
        ht.apply(case.module, "act=e4m3fn:tile=3x8:scale=f32", (case.x,), strict=True)
    ht.apply(case.module, "w=e4m3fn:tile=4x4:scale=f32", (case.x,), strict=True)


TILES = "w=e4m3fn:tile=1x4:scale=f32,act=e4m3fn:tile=1x8:scale=f32,grad=e5m2:tile=1x8:scale=ue8m0"


@pytest.mark.parametrize(
    "precision", ["hfp8", "1/6/9", "e4m3fn sr", "e5m2 sr:bits=6", "mxfp8", TILES]
)
@pytest.mark.parametrize("name", ["gates", "unet"])
def test_up_to_the_first_norm_over_the_batch_the_bits_are_the_engines(monkeypatch, name, precision):
    beside = Beside(monkeypatch, name, precision)
    norm = next(n.name for n in beside.captured.nodes if n.op == "batch_norm")
    before = [n.name for n in beside.captured.nodes]
    before = {f"{n}.out" for n in before[: before.index(norm)]} | {"input"}
    seen = 0
    for tensor, ours, theirs in beside.forward():
        if tensor in before:
            np.testing.assert_array_equal(ours, theirs, tensor)
            seen += 1
    assert seen >= 2
    beside.close()


@pytest.mark.parametrize("precision", ["hfp8", "1/6/9", "fp16", "mxfp8"])
@pytest.mark.parametrize("name", MODULES)
def test_counts_are_the_engines(monkeypatch, name, precision):
    """Of every tensor, gradients too, at most a thousandth of its numbers, or two, apart."""
    beside = Beside(monkeypatch, name, precision)
    seen = 0
    for point in beside.net.points():
        ours, theirs = beside.net.counts(point.name), beside.trainer.counts(point.name)
        assert ours.elements == theirs.elements, point.name
        for key in COUNTED:
            apart = abs(getattr(ours, key) - getattr(theirs, key))
            assert apart <= max(2, 0.001 * ours.elements), (point.name, key)
        seen += 1
    assert seen >= 15
    beside.close()


def test_the_plan_decides_the_accumulators(monkeypatch):
    """A chosen accumulator changes the products, as the engine has them."""
    made = {}
    for accumulator in ("fmacs", "fmac:e5m10", "fmac8:1/6/9", "tc:h100-fp8:promote=64"):
        monkeypatch.undo()
        case = Case("sequential")
        net = ht.capture(case.module, (case.x,))
        plan = hu.Plan.of(model=net, precision="hfp8", accumulator=accumulator)
        applied = ht.apply(case.module, plan, (case.x,), products="halfulp")
        rows = {f.name: a for f, a in zip(case.fields, case.arrays)}
        with hu.Trainer(
            net, hu.Dataset(case.fields, train=rows), precision=plan, batch=6, steps=1
        ) as trainer:
            trainer.watch("_0.out")
            trainer.step(*case.arrays)
            theirs = trainer.tensor("_0.out")
        kept = []
        rounds = _points.Point.round
        monkeypatch.setattr(
            _points.Point,
            "round",
            lambda p, x, i=False, now=None, r=rounds, k=kept: (
                k.append((p.name, y := r(p, x, i, now))) or y
            ),
        )
        applied.train()(case.x)
        (ours,) = [y.detach().numpy() for n, y in kept if n == "_0.out"]
        np.testing.assert_array_equal(ours.reshape(theirs.shape), theirs)
        made[accumulator] = ours
    assert not np.array_equal(made["fmac:e5m10"], made["fmacs"])


def test_accumulators_that_are_not_followed_are_noted():
    case = Case("sequential")
    plan = hu.Plan.of(model=case.net, precision="hfp8", accumulator="fmac8:1/6/9")
    net = ht.apply(case.module, plan, (case.x,))
    assert any("accumulators" in note and "products='halfulp'" in note for note in net.notes)


@pytest.mark.parametrize("seed", [1, 2])
def test_losses_stay_together(seed):
    """Ten steps in 16 bits, by PyTorch's own sums: as near as the issue of it asks."""
    torch.manual_seed(seed)
    module = without_noise(MODULES["patches"][0]())
    x = torch.randn(10, 16, *MODULES["patches"][1])
    y = torch.randint(0, 10, (10, 16))
    net = ht.capture(module, (x[0],))
    applied = ht.apply(module, "fp16", (x[0],)).train()
    optimizer = torch.optim.SGD(applied.parameters(), 0.02)
    scaler = ht.LossScaler.from_plan(applied.plan)
    fields = [hu.Field("image", net.inputs[0][1]), hu.Field("label", classes=10)]
    keys = {"optimizer": "sgd", "optimizer_momentum": 0.0, "optimizer_weight_decay": 0.0}
    keys |= {"lr_base": 0.02, "lr_schedule": "constant", "batch": 16, "steps": 10}
    with hu.Trainer(net, hu.Dataset(fields, train=16), precision=applied.plan, **keys) as trainer:
        for batch, labels in zip(x, y):
            optimizer.zero_grad()
            loss = applied.loss(applied(batch), labels)
            scaler.scale(loss).backward()
            assert scaler.step(optimizer)
            pixels = batch.permute(0, 2, 3, 1).contiguous().numpy()
            assert abs(trainer.step(pixels, labels.numpy()).loss - float(loss.detach())) < 1e-3


# ---- PyTorch's own ways ----


@pytest.mark.parametrize("precision", ["hfp8", "e4m3fn sr", "mxfp8"])
def test_it_compiles_whole(precision):
    case = Case("gates")
    plain, compiled = (
        ht.apply(copy.deepcopy(case.module), precision, (case.x,)).train() for _ in range(2)
    )
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    run = torch.compile(compiled, backend="aot_eager", fullgraph=True)
    for _ in range(3):
        made = []
        for net, call in ((plain, plain), (compiled, run)):
            loss = net.loss(call(case.x), case.y)
            loss.backward()
            made.append(loss.detach())
        assert torch.equal(*made)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1  # for every step
    for a, b in zip(plain.parameters(), compiled.parameters()):
        assert torch.equal(a.grad, b.grad)
    for point in plain.points():
        assert plain.counts(point.name) == compiled.counts(point.name)


def test_it_is_the_module_to_optimizers_and_files(tmp_path):
    case = Case("gates")
    net = ht.apply(case.module, "hfp8", (case.x,))
    assert net.conv is case.module.conv
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    other = copy.deepcopy(case.module)
    other.load_state_dict(torch.load(tmp_path / "weights.pt"))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net.train().loss(net(case.x), case.y).backward()
    before = case.module.conv.weight.detach().clone()
    optimizer.step()
    assert not torch.equal(case.module.conv.weight, before)  # the module's own
    assert case.module.conv.training
    net.eval()
    assert not case.module.conv.training


def test_copies_and_pickles_are_applied_too():
    case = Case("gates")
    net = ht.apply(case.module, "e4m3fn sr", (case.x,)).train()
    net.loss(net(case.x), case.y).backward()
    made = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    wanted = net(case.x).detach()
    for other in made:
        assert other.training and other.conv is not net.conv and other.conv.training
        assert torch.equal(other(case.x), wanted)  # the same step, and its random words
        other.eval()
        assert not other.conv.training
    assert net.conv.training
    averaged = torch.optim.swa_utils.AveragedModel(net)
    averaged.update_parameters(net)
    assert averaged.eval()(case.x).shape == (6, 10)


def test_evaluation_counts_nothing_and_reads_what_the_plan_says():
    case = Case("sequential")
    net = ht.apply(case.module, "hfp8", (case.x,)).eval()
    net(case.x)
    assert net.counts("_0.out").elements == 0
    assert net.plan.facts["eval"] == "master"
    assert net.counts("0.weight").elements == 0


def test_a_norm_that_is_frozen_stays():
    case = Case("gates")
    net = ht.apply(case.module, hu.Plan(NOTHING), (case.x,)).train()
    net.bn.eval()
    before = net.bn.running_mean.clone()
    made = net(case.x)
    assert torch.equal(net.bn.running_mean, before) and net.bn.num_batches_tracked == 0
    torch.testing.assert_close(made, case.module(case.x), rtol=1e-5, atol=1e-5)
    net.train()(case.x)
    assert not torch.equal(net.bn.running_mean, before)


def test_the_head_is_rounded_whatever_the_loss():
    case = Case("sequential")
    net = ht.apply(case.module, "e4m3fn", (case.x,)).train()
    F.cross_entropy(net(case.x), case.y).backward()
    assert net.counts("3.out.grad" if "3.out" in net.plan else "_3.out.grad").elements == 60
    net.forget()
    net.loss(net(case.x), case.y).backward()
    assert net.counts("_3.out.grad").elements == 60


@pytest.mark.parametrize("precision", ["e4m3fn", "1/6/9", "hfp8"])
def test_tied_parameters_step_as_the_engine(precision):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.out = nn.Embedding(20, 8), nn.Linear(8, 20, bias=False)
            self.out.weight = self.table.weight

        def forward(self, ids):
            return self.out(self.table(ids))

    torch.manual_seed(2)
    module, x, y = Tied(), torch.randint(0, 20, (4, 6)), torch.randint(0, 20, (4, 6))
    net = ht.apply(module, precision, (x,), task="language", products="halfulp").train()
    fields = [hu.Field(n, (6,), classes=20) for n in ("tokens", "targets")]
    keys = {"optimizer": "sgd", "optimizer_momentum": 0.0, "optimizer_weight_decay": 0.0}
    keys |= {"lr_base": 1.0, "lr_schedule": "constant", "batch": 4, "steps": 1, "samples": 4}
    scaler = ht.LossScaler.from_plan(net.plan)
    with hu.Trainer(net.net, fields=fields, precision=net.plan, **keys) as trainer:
        scaler.scale(net.loss(net(x), y)).backward()
        assert scaler.step(torch.optim.SGD(net.parameters(), 1.0))
        trainer.step(x.numpy(), y.numpy())
        (theirs,) = trainer.weights().values()
    np.testing.assert_allclose(module.table.weight.detach().numpy(), theirs, rtol=0, atol=1e-6)


def test_a_pass_between_changes_no_gradient():
    case = Case("sequential")
    net = ht.apply(case.module, "e4m3fn sr", (case.x,)).train()
    net.eval()(case.x)  # before any step
    net.train()
    loss = net.loss(net(case.x), case.y)
    with torch.no_grad():
        net.eval()(case.x)
        net.train()(case.x)
    loss.backward()
    kept = [p.grad.clone() for p in net.parameters()]
    assert net.counts("_0.out.grad").elements > 0
    other = ht.apply(copy.deepcopy(case.module), "e4m3fn sr", (case.x,)).train()
    other.zero_grad()
    other.loss(other(case.x), case.y).backward()
    assert all(map(torch.equal, kept, (p.grad for p in other.parameters())))


def test_gradients_of_gradients_are_refused():
    """They would be those of a part of the network."""
    case = Case("pictures")
    net = ht.apply(case.module, "e4m3fn", (case.x,)).train()
    slopes = torch.autograd.grad(net(case.x).sum(), list(net.parameters()), create_graph=True)
    with pytest.raises(RuntimeError, match=r"once_differentiable"):
        sum(slope.square().sum() for slope in slopes).backward()


def test_loops_with_scales_of_steps_are_refused():
    case = Case("lstm")
    for precision in ("e4m3fn sr", "uniform8", "nvfp4", "e4m3fn:scale=current"):
        with pytest.raises(hu.UnsupportedError, match=r"rnn_l0.*in a loop each step of a sample"):
            ht.apply(case.module, precision, (case.x,), task="language")


class Two(nn.Module):
    """Two inputs, and one number for each sample."""

    def __init__(self):
        super().__init__()
        self.fc, self.last = nn.Linear(4, 6), nn.Linear(6, 1)

    def forward(self, a, b):
        return self.last(F.relu(self.fc(a + b)))


@pytest.mark.parametrize("precision", ["fp16", "hfp8", "1/6/9", "mxfp8", "e4m3fn sr", "fp32"])
def test_networks_of_no_task_are_planned_by_roles(precision):
    torch.manual_seed(0)
    given = (torch.randn(5, 4), torch.randn(5, 4))
    net = ht.apply(Two(), precision, given).train()
    assert any("planned by roles" in note for note in net.notes)
    scale = ht.LossScaler.from_plan(net.plan).value
    (net(*given).square().mean() * scale).backward()
    counted = {row["tensor"]: row["elements"] for row in hu.tables.rows_of(net.counts())}
    if precision == "fp32":
        assert not counted
        return
    assert counted["input"] == counted["input2"] == counted["add.out"] == 20
    assert counted["fc.out.grad"] == counted["relu.out"] == 30 and counted["last.weight.grad"] == 6
    assert ("fc.product.out" in counted) == (precision not in ("hfp8", "fp16"))


@pytest.mark.parametrize("precision", ["fp16", "hfp8", "1/6/9", "mxfp8", "e4m3fn sr"])
@pytest.mark.parametrize("name", ["patches", "gates", "pictures"])
def test_roles_plan_what_the_task_plans(name, precision):
    case = Case(name)
    named = rounded_names(case.net.nodes, ["input"])
    roles, task = plan_by_roles(precision, *named), plan_of(case.net, precision)
    for tensor in task:
        if tensor not in ("log_softmax.out", "loss.out"):
            assert roles[tensor] == task[tensor]
    assert set(roles) <= set(task)
    assert roles.facts["scaler"]["name"] == task.facts["scaler"]["name"]


def test_what_roles_do_not_say_is_refused():
    given = (torch.zeros(2, 4), torch.zeros(2, 4))
    with pytest.raises(hu.UnsupportedError, match=r"gives layers different formats"):
        ht.apply(Two(), "operator", given)
    with pytest.raises(hu.UnknownNameError, match="e99"):
        ht.apply(Two(), "e99", given)
    net = ht.apply(Two(), hu.Plan(NOTHING), given)
    assert net(torch.zeros(0, 4), torch.zeros(0, 4)).shape == (0, 1)
    with pytest.raises(hu.ShapeError, match=r"found inputs of \[4, 1\] samples"):
        net(torch.zeros(4, 4), torch.zeros(1, 4))


def test_batches_of_any_size():
    case = Case("patches")
    net = ht.apply(case.module, "hfp8", (case.x,)).train()
    assert net(case.x[:1]).shape == (1, 10)
    assert net(torch.cat([case.x] * 3)).shape == (18, 10)
    with pytest.raises(hu.ShapeError, match=r"\(3, 8, 8\).*expected those of the example"):
        net(torch.zeros(2, 3, 8, 8))
    with pytest.raises(hu.DtypeError, match=r"float64.*expected torch.float32"):
        net(case.x.double())
    with pytest.raises(hu.ShapeError, match="found 2 inputs, expected 1"):
        net(case.x, case.x)


class Masked(nn.Module):
    """Inputs with names and usual values, one of which goes by its name alone."""

    def __init__(self):
        super().__init__()
        self.fc, self.last = nn.Linear(8, 6), nn.Linear(6, 4)

    def forward(self, x, mask=None, *, factor=2.0, more=None):
        y = self.fc(x) if mask is None else self.fc(x) * mask
        return self.last((y if more is None else y + more) * factor)


def test_inputs_go_by_their_names():
    torch.manual_seed(0)
    module, x, mask = Masked(), torch.randn(5, 8), torch.randn(5, 6)
    net = ht.apply(module, hu.Plan(NOTHING), (x, mask)).train()
    wanted = module(x, mask)
    for made in (
        net(x, mask),
        net(x, mask=mask),
        net(mask=mask, x=x, factor=2.0),
        net(x, mask, more=None),
    ):
        torch.testing.assert_close(made, wanted)
    for call, kind, text in (
        (lambda: net(x), hu.ShapeError, r"found no input mask, expected 2 \(x, mask\)"),
        (lambda: net(x, mask, x), hu.ShapeError, "found 3 inputs, expected 2"),
        (lambda: net(x, mask, mask=x), hu.ArgumentError, "by its place and by its name"),
        (lambda: net(x, masc=mask), hu.ArgumentError, r"'masc'.*nearest: mask"),
        (lambda: net(x, mask, factor=3.0), hu.ArgumentError, r"found 3.0, expected 2.0"),
        (lambda: net(x, mask, more=mask), hu.ArgumentError, r"of shape \(5, 6\), expected None"),
    ):
        with pytest.raises(kind, match=text):
            call()
    alone = ht.apply(module, hu.Plan(NOTHING), {"more": mask, "x": x}).train()
    assert [shape for _, shape, _ in alone.net.inputs] == [(8,), (6,)]
    for other in (alone, copy.deepcopy(alone)):
        torch.testing.assert_close(other(x, more=mask), module(x, more=mask))
    with pytest.raises(hu.ArgumentError, match="found z, x, expected what Masked.forward takes"):
        ht.capture(module, {"z": mask, "x": x})


class Twofold(nn.Module):
    """Something else in evaluation."""

    def __init__(self, work):
        super().__init__()
        self.fc, self.bn = nn.Linear(8, 6), nn.BatchNorm1d(6)
        self.last, self.other = nn.Linear(6, 4), nn.Linear(6, 4)
        self.work = work

    def forward(self, x):
        y = F.dropout(self.bn(self.fc(x)), 0.5, self.training)
        return self.last(y) + self.other(y) if self.training else self.work(self.last(y))


@pytest.mark.parametrize("products", ["torch", "halfulp"])
@pytest.mark.parametrize("precision", ["fp32", "e4m3fn sr"])
def test_evaluation_follows_a_branch_of_the_module(precision, products):
    torch.manual_seed(0)
    module, x = Twofold(torch.sigmoid), torch.randn(5, 8)
    net = ht.apply(module, precision, (x,), products=products).train()
    net(x)
    counted = net.counts() if precision == "fp32" else net.counts("last.out").elements
    made = net.eval()(x).detach()
    assert not module.training
    if precision == "fp32":
        torch.testing.assert_close(made, module(x))
    else:
        assert made.min() >= 0 and made.max() <= 1
        assert torch.equal(made, torch.from_numpy(hu.round(made.numpy(), "e4m3fn")))
        assert net.counts("last.out").elements == counted
    assert torch.equal(copy.deepcopy(net)(x), made)
    net.train()(x)
    assert module.bn.num_batches_tracked == 2


def test_what_a_plan_does_not_name_in_evaluation_is_noted():
    text = NOTHING.replace("{}", '\n  fc.out: {value: "e4m3fn"}\n  other.out: {value: "e5m2"}')
    x = torch.randn(5, 8)
    net = ht.apply(Twofold(torch.sigmoid), hu.Plan(text), (x,)).eval()
    assert any("not rounded in evaluation: sigmoid.out" in note for note in net.notes)
    net = ht.apply(Twofold(lambda y: torch.cumsum(y, 1)), "fp32", (x,)).eval()
    assert any(re.search(r"does in training, for: .*cumsum", n, re.DOTALL) for n in net.notes)
    assert net._evaluation is None and net(x).shape == (5, 4)


def test_evaluation_that_only_drops_nothing_is_the_same_network():
    class Drops(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.last = nn.Linear(8, 6), nn.Linear(6, 4)

        def forward(self, x):
            return self.last(F.dropout(F.relu(self.fc(x)), 0.5, self.training))

    module, x = Drops(), torch.randn(5, 8)
    net = ht.apply(module, "fp32", (x,)).eval()
    assert net._evaluation is None
    torch.testing.assert_close(net(x), module(x))


# ---- what it tells ----


def test_counts_and_histograms_begin_anew():
    case = Case("sequential")
    net = ht.apply(case.module, "hfp8", (case.x,)).train()
    net.record()
    net.loss(net(case.x), case.y).backward()
    once = net.counts("_0.out")
    assert net.histograms()["_0.out"].elements == once.elements > 0
    net(case.x)
    assert net.counts("_0.out").elements == 2 * once.elements
    net.forget()
    assert net.counts("_0.out") == hu.Counts()
    assert net.histograms()["_0.out"].elements == 0
    table = hu.tables.rows_of(net.counts())
    assert [row["tensor"] for row in table][:2] == ["input", "_0.out"]
    with pytest.raises(hu.UnknownNameError, match=r"nearest: '_0.out'"):
        net.counts("_0.outt")


def test_why_finds_the_tensor_that_died():
    case = Case("sequential")
    net = ht.apply(case.module, "w=e4m3fn,act=e4m3fn,grad=e4m3fn", (case.x,)).train()
    net.record()
    (net.loss(net(case.x), case.y) * 1e-6).backward()
    found = ht.why(net)
    assert (found.tensor, found.cause) == ("log_softmax.out.grad", "underflow")
    assert found.share == 1.0
    assert "_0.out.grad" in found.silent
    assert "bf16" in found.holds and "e4m3fn" not in found.holds
    assert found.verdict.startswith("log_softmax.out.grad: 100 % of its nonzero numbers")
    net.forget()
    with pytest.raises(hu.ArgumentError, match="found no counts"):
        ht.why(net)
    net.loss(net(case.x), case.y).backward()
    assert ht.why(net).tensor is None


def test_the_scaler_is_the_engines():
    """The same scales and skips as a Trainer whose gradients overflow now and then."""
    case = Case("sequential")
    net = ht.capture(case.module, (case.x,))
    plan = hu.Plan.of(
        model=net, precision="fp16", scaler_init=2.0**20, scaler_interval=2, scaler="dynamic"
    )
    applied = ht.apply(case.module, plan, (case.x,)).train()
    scaler = ht.LossScaler.from_plan(plan)
    optimizer = torch.optim.SGD(applied.parameters(), 0.01)
    keys = {"optimizer": "sgd", "optimizer_momentum": 0.0, "lr_base": 0.01, "steps": 12}
    keys["lr_schedule"] = "constant"
    rows = {f.name: a for f, a in zip(case.fields, case.arrays)}
    with hu.Trainer(
        net, hu.Dataset(case.fields, train=rows), precision=plan, batch=6, **keys
    ) as trainer:
        skips = []
        for _ in range(12):
            optimizer.zero_grad()
            before = scaler.value
            scaler.scale(applied.loss(applied(case.x), case.y)).backward()
            stepped = scaler.step(optimizer)
            scaler.update()
            step = trainer.step(*case.arrays)
            assert step.scale == before
            assert step.skipped == (not stepped)
            skips.append(step.skipped)
    assert True in skips and False in skips
    state = scaler.state_dict()
    other = ht.LossScaler()
    other.load_state_dict(state)
    assert other.value == scaler.value and other.skipped == sum(skips)


# ---- refusals ----


def test_a_plan_of_another_module_is_refused():
    one, other = Case("sequential"), Case("patches")
    plan = hu.Plan.of(model=one.net, precision="hfp8")
    with pytest.raises(
        hu.UnknownNameError, match=r"names what the module does not have: tensor '_0.out'"
    ):
        ht.apply(other.module, plan, (other.x,))
    with pytest.raises(hu.ArgumentError, match="products: found 'cuda'"):
        ht.apply(one.module, plan, (one.x,), products="cuda")
    with pytest.raises(hu.UnsupportedError, match=r"input: e4m3fn.*a delayed scale"):
        ht.apply(one.module, "e4m3fn:scale=delayed", (one.x,))
