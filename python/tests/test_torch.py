"""Modules of PyTorch, captured: the same numbers, gradients, names and losses."""

import copy
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
nn, F = torch.nn, torch.nn.functional

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from needs import needs_export  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_export]  # warnings are PyTorch's

# ---- modules ----


class Pictures(nn.Module):
    """Residuals, a loop over layers, functional calls, a module that is used twice."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, stride=2)
        self.layers = nn.ModuleList(nn.Conv2d(16, 16, 3, padding=1, groups=4) for _ in range(3))
        self.norm = nn.GroupNorm(4, 16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.gelu(self.stem(x))
        for layer in self.layers:
            x = x + torch.relu(layer(self.norm(x))) * 0.5
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Gates(nn.Module):
    """Squeeze and excitation, shuffled channels, a scale that is a parameter, concatenation."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 12, 3, bias=False), nn.BatchNorm2d(12)
        self.down, self.up = nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1)
        self.layer_scale = nn.Parameter(0.5 + torch.rand(12, 1, 1))
        self.fc = nn.Linear(24 * 4 * 4, 10)

    def forward(self, x):
        x = F.hardswish(self.bn(self.conv(x)))
        x = x * torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3), keepdim=True)))))
        n, c, h, w = x.shape
        y = x.view(n, 3, c // 3, h, w).transpose(1, 2).contiguous().view(n, c, h, w)
        one, other = y.chunk(2, 1)
        x = torch.cat([other, one * 2, x * self.layer_scale], 1)
        return self.fc(F.max_pool2d(x, 3, 3, 1)[:, :, :4, :4].flatten(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def double(a, b):
            return nn.Sequential(
                nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True)
            )

        self.d1, self.d2, self.mid = double(3, 8), double(8, 16), double(16, 32)
        self.u2, self.u1 = nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.e2, self.e1, self.out = double(32, 16), double(16, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        b = self.e2(torch.cat([self.u2(c), b], 1))
        return self.out(self.e1(torch.cat([self.u1(b), a], 1)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.proj, self.ln2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.fc, self.back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        n, t, c = x.shape
        three = self.qkv(self.ln1(x)).split(c, dim=2)
        q, k, v = (y.view(n, t, self.heads, c // self.heads).transpose(1, 2) for y in three)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(n, t, c))
        return x + self.back(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class Language(nn.Module):
    """The structure of nanoGPT, with a table that is the last layer's weight too."""

    def __init__(self, words=20, width=32, rows=12):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(rows, width)
        self.h = nn.ModuleList(Block(width, 4) for _ in range(2))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Tagger(nn.Module):
    def __init__(self, kind, both):
        super().__init__()
        self.table, self.rnn = (
            nn.Embedding(20, 8),
            kind(8, 12, 2, batch_first=True, bidirectional=both),
        )
        self.fc = nn.Linear(24 if both else 12, 20)

    def forward(self, ids):
        return self.fc(self.rnn(self.table(ids))[0])


class Patches(nn.Module):
    """PyTorch's own attention module, a class token, a table of positions."""

    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 24, 4, 4), nn.Parameter(torch.randn(1, 1, 24))
        self.position = nn.Parameter(0.02 * torch.randn(1, 17, 24))
        self.block = nn.TransformerEncoderLayer(24, 4, 48, 0.0, batch_first=True, norm_first=True)
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.fc(self.block(x)[:, 0])


class Edges(nn.Module):
    """Numbers around an image, places that go round, parameters as large as a sample or a row."""

    def __init__(self):
        super().__init__()
        self.place = nn.Parameter(0.1 * torch.randn(1, 3, 16, 16))
        self.row = nn.Parameter(1 + 0.1 * torch.randn(8, 1, 7))
        self.conv, self.fc = nn.Conv2d(3, 8, 3, 2), nn.Linear(8 * 7 * 7, 10)

    def forward(self, x):
        x = F.pad(torch.roll(x + self.place, (3, -2), (2, 3)), (0, 1, 1, 0), value=0.5)
        x = self.conv(x[:, :, 1:, :15])
        return self.fc((x * self.row).reshape_as(x).flatten(1))


PICTURE = (3, 16, 16)
MODULES = {
    "pictures": (Pictures, PICTURE, "classify"),
    "gates": (Gates, PICTURE, "classify"),
    "edges": (Edges, PICTURE, "classify"),
    "patches": (Patches, PICTURE, "classify"),
    "sequential": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(784, 10)),
        PICTURE,
        "classify",
    ),
    "unet": (UNet, PICTURE, "segment"),
    "language": (Language, (12,), "language"),
    "lstm": (lambda: Tagger(nn.LSTM, False), (12,), "language"),
    "lstm-both": (lambda: Tagger(nn.LSTM, True), (12,), "language"),
    "gru": (lambda: Tagger(nn.GRU, True), (12,), "language"),
}


class Case:
    """A module, what goes in and comes out, and the same for halfulp."""

    def __init__(self, name, samples=6):
        make, shape, self.task = MODULES[name]
        torch.manual_seed(sum(map(ord, name)))
        self.module = make()
        if self.task == "language":
            self.x, self.y = (torch.randint(0, 20, (samples, *shape)) for _ in range(2))
            names = ("tokens", "targets")
            self.fields = [hu.Field(n, shape, classes=20) for n in names]
            self.arrays = [self.x.numpy(), self.y.numpy()]
        else:
            self.x = torch.randn(samples, *shape)
            pixels = self.x.permute(0, 2, 3, 1).contiguous().numpy()
            self.fields = [hu.Field("image", pixels.shape[1:])]
            if self.task == "segment":
                self.y = torch.randint(0, 2, (samples, *shape[1:]))
                self.fields.append(hu.Field("mask", shape[1:], classes=2))
            else:
                self.y = torch.randint(0, 10, (samples,))
                self.fields.append(hu.Field("label", classes=10))
            self.arrays = [pixels, self.y.numpy()]
        self.net = ht.capture(self.module, (self.x,), task=self.task)

    def trainer(self, **keys):
        keys = {
            "optimizer": "sgd",
            "optimizer_momentum": 0.0,
            "optimizer_weight_decay": 0.0,
            "lr_schedule": "constant",
            "lr_warmup": 0,
            "task_smoothing": 0.0,
            **keys,
        }
        samples = len(self.x)
        return hu.Trainer(
            self.net, fields=self.fields, samples=samples, batch=samples, threads=2, **keys
        )

    def loss(self, module, x):
        made = module(x)
        if self.task == "language":
            made = made.transpose(1, 2)
        return F.cross_entropy(made, self.y)

    def gradients(self, kind):
        module = copy.deepcopy(self.module).to(kind).train()
        self.loss(module, self.x.to(kind) if self.x.is_floating_point() else self.x).backward()
        return {n: p.grad.double().numpy() for n, p in module.named_parameters()}


@pytest.mark.parametrize("name", MODULES)
def test_the_forward_pass_is_pytorchs(name):
    case = Case(name)
    with case.trainer(steps=1) as trainer:
        found = trainer.predict(case.arrays[0])
    with torch.no_grad():
        made = case.module.eval()(case.x)
    if case.task == "segment":
        made = made.permute(0, 2, 3, 1)
    if case.task == "classify":
        made = made.log_softmax(1)
    expected = made.numpy().reshape(found.shape)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("name", MODULES)
def test_gradients_are_as_near_to_float64_as_pytorchs(name):
    case = Case(name)
    exact, theirs = case.gradients(torch.float64), case.gradients(torch.float32)
    with case.trainer(steps=1, lr_base=0.0) as trainer:
        trainer.watch(
            *(f"{w.name}.grad" for w in case.net.weights.values() if w.torch_name in exact)
        )
        trainer.step(*case.arrays)
        ours = {}
        for weight in case.net.weights.values():
            if weight.torch_name in exact:
                made = trainer.tensor(f"{weight.name}.grad", rounded=False)
                is_shared = made.ndim > len(weight.shape)  # one for each use
                ours[weight.torch_name] = made.sum(0) if is_shared else made
    order = {w.torch_name: (w.order, w.shape) for w in case.net.weights.values()}
    assert sorted(ours) == sorted(exact)
    whole = np.sqrt(sum((g**2).sum() for g in exact.values()))
    ratios = []
    for key, right in exact.items():
        turned = right.transpose(order[key][0] or None) if order[key][0] else right
        mine = np.linalg.norm(ours[key] - turned.reshape(order[key][1])) / whole
        its = np.linalg.norm(theirs[key] - right) / whole
        assert mine < 3e-6, (key, mine)
        ratios.append((mine**2, its**2))
    mine, its = np.sqrt(np.sum(ratios, 0))
    assert mine < 3e-6 and its < 3e-6


@pytest.mark.parametrize("name", MODULES)
def test_ten_steps_have_pytorchs_losses(name):
    case = Case(name)
    module = copy.deepcopy(case.module).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    with case.trainer(steps=10, lr_base=0.05) as trainer:
        for _ in range(10):
            optimizer.zero_grad()
            loss = case.loss(module, case.x)
            loss.backward()
            optimizer.step()
            assert abs(trainer.step(*case.arrays).loss - float(loss)) < 1e-4 * max(1.0, float(loss))
        ht.write_back(case.net, trainer.weights(), case.module)
    for (key, mine), its in zip(case.module.state_dict().items(), module.state_dict().values()):
        if not key.endswith("num_batches_tracked"):
            assert torch.allclose(mine, its, rtol=1e-3, atol=2e-5), key


@pytest.mark.parametrize("name", MODULES)
def test_names_and_counts_are_pytorchs(name):
    case = Case(name)
    wanted = {n for n, _ in case.module.named_parameters()}
    wanted |= {n for n, _ in case.module.named_buffers() if not n.endswith("num_batches_tracked")}
    assert {w.torch_name for w in case.net.weights.values()} == wanted
    own = {w.name for w in case.net.weights.values() if w.name != w.torch_name}
    assert own == {"gates": {"layer_scale.weight"}, "edges": {"row.weight"}}.get(name, set())
    with case.trainer(steps=1) as trainer:
        count = sum(a.size for a in trainer.weights().values())
    assert count == sum(
        t.numel()
        for n, t in {
            **dict(case.module.named_parameters()),
            **dict(case.module.named_buffers()),
        }.items()
        if n in wanted
    )


def test_the_program_trains_what_was_saved(tmp_path):
    case = Case("pictures")
    data = hu.Dataset.open("glyphs", limit=64, test_limit=32)
    case.net.save(tmp_path / "mine.yaml")
    net = ht.capture(case.module, (torch.zeros(1, 3, 32, 32),))
    net.save(tmp_path / "mine.yaml")
    keys = dict(precision="hfp8", batch=16, steps=4, threads=1, optimizer="sgd", lr_base=0.05)
    run = hu.train(
        model=tmp_path / "mine.yaml",
        data="glyphs",
        data_limit=64,
        data_test_limit=32,
        run_dir=tmp_path / "run",
        progress=False,
        **keys,
    )
    with hu.Trainer(net, data, **keys) as trainer:
        for _ in range(4):
            trainer.step()
        assert trainer.hash == run.hash
    keys |= {"data": "glyphs", "data_limit": 64, "data_test_limit": 32, "progress": False}
    assert hu.train(model=net, run_dir=tmp_path / "other", **keys).hash == run.hash


class Residual(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.conv2, self.bn2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        self.shortcut = nn.Sequential()
        if a != b:
            self.shortcut.add_module("conv", nn.Conv2d(a, b, 1, stride, bias=False))
            self.shortcut.add_module("bn", nn.BatchNorm2d(b))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet20(nn.Module):
    """With the names of halfulp's model."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        for stage, (a, b) in enumerate(((16, 16), (16, 32), (32, 64))):
            blocks = [Residual(b if k else a, b, 2 if stage and not k else 1) for k in range(3)]
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


@pytest.mark.parametrize("precision", ["hfp8", "mxfp8"])
def test_a_captured_resnet_has_the_bits_of_the_model(precision):
    data = hu.Dataset.open("glyphs", limit=640, test_limit=64)
    keys = dict(
        precision=precision,
        batch=32,
        steps=20,
        threads=2,
        seed=1,
        optimizer="sgd",
        lr_base=0.05,
        optimizer_momentum=0.9,
        optimizer_weight_decay=1e-4,
        lr_schedule="constant",
        optimizer_nesterov=False,
    )
    module = ResNet20()
    with hu.Trainer("resnet20", data, **keys) as trainer:
        ht.write_back(ht.capture(module, (torch.zeros(1, 3, 32, 32),)), trainer.weights(), module)
        expected = [trainer.step() for _ in range(20)], trainer.hash
    net = ht.capture(module, (torch.zeros(1, 3, 32, 32),))
    with hu.Trainer(net, data, **keys) as trainer:
        assert ([trainer.step() for _ in range(20)], trainer.hash) == expected


# ---- operations, one by one ----


class Between(nn.Module):
    """An operation between pictures and a last layer."""

    def __init__(self, work, part=None):
        super().__init__()
        self.work, self.part, self.fc = work, part or nn.Identity(), nn.Linear(192, 10)

    def forward(self, x):
        return self.fc(self.work(self.part(x)).reshape(x.shape[0], -1))


def whole_batch(x):
    """Stochastic depth of all samples at once, as torchvision writes it."""
    return x * torch.empty([1, 1, 1, 1]).bernoulli_(0.5).div_(0.5)


def behind_a_view(x):
    made = x * 1.0
    made.flatten(1).add_(1.0)
    return made


def before_a_view(x):
    made = x * 1.0
    view = made.flatten(1)
    made.mul_(2.0)
    return view


EQUAL = {
    "clamp-low": lambda x: (3 * x).clamp(min=0),
    "clamp-high": lambda x: (3 * x).clamp(max=0.5),
    "clamp": lambda x: (3 * x).clamp(-0.5, 2.5),
    "hardtanh": lambda x: F.hardtanh(3 * x),
    "relu6": lambda x: F.relu6(9 * x),
    "rsub": lambda x: torch.rsub(x, 2.0, alpha=3),
    "add-alpha": lambda x: torch.add(x, 2.0, alpha=3),
    "sub-alpha": lambda x: torch.sub(x, torch.sigmoid(x), alpha=3),
    "mean-of-one": lambda x: x * x[:, :, :1, :1].mean((2, 3), keepdim=True),
    "max-of-one": lambda x: x * x[:, :, :1].amax(2, keepdim=True),
    "clamp-max": lambda x: (3 * x).clamp_max(0.5),
    "pow": lambda x: (x.square() + 0.5) ** 1.5,
    "in-place-view": lambda x: (x * 1.0).flatten(1).relu_(),
}
WRONG = {
    "whole numbers": (lambda x: (3 * x).long().float(), r"numbers cut to torch\.int64"),
    "behind a view": (behind_a_view, "it writes what mul shows afterwards"),
    "before a view": (before_a_view, "it writes what flatten shows afterwards"),
    "drawn": (lambda x: x * torch.rand(()), "numbers that are drawn"),
    "one draw": (whole_batch, r"one draw for \(1, 1, 1, 1\), expected one for each sample"),
}


@pytest.mark.parametrize("name", [*EQUAL, "rms_norm", "rms_norm-eps"])
def test_an_operation_is_pytorchs(name):
    parts = {"rms_norm": nn.RMSNorm(8), "rms_norm-eps": nn.RMSNorm([8, 8], eps=0.1)}
    torch.manual_seed(4)
    module = Between(EQUAL.get(name, lambda x: x), parts.get(name))
    x = torch.randn(4, 3, 8, 8)
    with hu.Trainer(ht.capture(module, (x,)), batch=4, steps=1, threads=1) as trainer:
        found = trainer.predict(x.permute(0, 2, 3, 1).contiguous().numpy())
    with torch.no_grad():
        expected = module.eval()(x).log_softmax(1).numpy()
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("name", WRONG)
def test_what_a_network_would_do_otherwise_is_refused(name):
    work, text = WRONG[name]
    with pytest.raises(hu.UnsupportedError, match=text):
        ht.capture(Between(work), (torch.zeros(2, 3, 8, 8),))


# ---- what is refused ----


class Wrong(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3), nn.ModuleList([nn.PReLU()])
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        x = torch.fft.rfft(self.first(x)).abs()
        return self.fc(self.second[0](x).flatten(2).mean(-1)).cumsum(1)


def test_all_that_is_refused_is_named_at_once():
    with pytest.raises(hu.UnsupportedError) as caught:
        ht.capture(Wrong(), (torch.zeros(1, 3, 8, 8),))
    assert "found 1 operations" in str(caught.value)  # what reads it is not refused once more
    assert "fft" in str(caught.value)

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.PReLU(), nn.PReLU()

        def forward(self, x):
            return self.one(x).flatten(1), self.other(x)

    with pytest.raises(hu.UnsupportedError) as caught:
        ht.capture(Two(), (torch.zeros(1, 3, 8, 8),))
    text = str(caught.value)
    assert "found 2 operations" in text and "one (PReLU): prelu" in text and "other (PReLU)" in text


def test_samples_do_not_meet():
    class Mixed(nn.Module):
        def forward(self, x):
            return (x - x.mean(0, keepdim=True)).flatten(1)

    with pytest.raises(hu.UnsupportedError, match="over samples"):
        ht.capture(Mixed(), (torch.zeros(2, 3, 8, 8),))


def test_control_flow_by_numbers():
    class Branch(nn.Module):
        def forward(self, x):
            return (x if x.sum() > 0 else -x).flatten(1)

    with pytest.raises(hu.UnsupportedError, match=r"Branch: torch\.export cannot follow it"):
        ht.capture(Branch(), (torch.zeros(2, 3, 8, 8),))


def test_writing_into_the_input():
    class Writes(nn.Module):
        def forward(self, x):
            x.mul_(2)
            return x.flatten(1)

    with pytest.raises(hu.UnsupportedError, match="writes into what the module was given"):
        ht.capture(Writes(), (torch.zeros(2, 3, 8, 8),))


@pytest.mark.parametrize("wrong", [7, nn.Linear, None, "resnet18"])
def test_what_is_no_module(wrong):
    with pytest.raises(hu.DtypeError, match=r"expected a torch\.nn\.Module"):
        ht.capture(wrong, (torch.zeros(1, 3, 8, 8),))


def test_what_is_no_input():
    for wrong in ((), (7,), [np.zeros(3)]):
        with pytest.raises(hu.DtypeError, match="example_inputs"):
            ht.capture(nn.Linear(2, 2), wrong)


def test_the_mode_of_the_module_stays():
    module = Pictures().eval()
    module.layers[1].train()
    ht.capture(module, (torch.zeros(1, *PICTURE),))
    assert not module.training and module.layers[1].training and not module.norm.training


def test_weights_go_back_to_their_module_alone():
    case = Case("pictures")
    with (
        case.trainer(steps=1) as trainer,
        pytest.raises(hu.ArgumentError, match="found none called"),
    ):
        ht.write_back(case.net, trainer.weights(), Gates())


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torchvision")
    page = Path(__file__).parents[2] / "docs" / "how-to" / "pytorch.md"
    applied, trained, captured = page.read_text().split("```python\n")[1:4]
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(1)
    made = {}
    for code in (applied, trained, captured):
        exec(code.split("```")[0], made)
    said = capsys.readouterr().out
    assert "Counts(elements=" in said and ("Nothing died" in said or "%" in said)
    assert made["net"].weights["fc.weight"].shape == (10, 512)
    assert made["step"].loss < 1.8 and (tmp_path / "mine.safetensors").exists()
    words = ["train", "model=mine.yaml", "data=glyphs", "data.limit=128", "steps=2", "batch=8"]
    done = subprocess.run([hu.program_path(), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
