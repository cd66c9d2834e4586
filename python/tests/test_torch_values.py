"""What a captured module may compute: products of two values, tables, constants, texts."""

import copy
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
nn, F = torch.nn, torch.nn.functional

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from needs import needs_export  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_export]  # warnings are PyTorch's

PLAIN = {
    "optimizer": "sgd",
    "lr_base": 0.05,
    "optimizer_momentum": 0.0,
    "optimizer_weight_decay": 0.0,
    "lr_schedule": "constant",
    "lr_warmup": 0,
    "task_smoothing": 0.0,
    "threads": 1,
}


class Work(nn.Module):
    """A function of values and parameters between the input and a last layer."""

    def __init__(self, work, shape, parts):
        super().__init__()
        self.work = work
        for name, part in parts.items():
            made = nn.Parameter(torch.randn(part)) if isinstance(part, tuple) else part()
            setattr(self, name, made)
        self.fc = nn.Linear(work(self, torch.zeros(2, *shape)).numel() // 2, 10)

    def forward(self, x):
        return self.fc(self.work(self, x).reshape(x.shape[0], -1))


def compare(module, x, y, fields, task="classify", steps=3):
    """Predictions and losses of three steps are PyTorch's; the captured network."""
    net = ht.capture(module, (x,), task=task)
    given = x.permute(0, 2, 3, 1).contiguous().numpy() if x.ndim == 4 else x.numpy()
    count = len(x)
    with hu.Trainer(
        net, fields=fields, samples=count, batch=count, steps=steps, **PLAIN
    ) as trainer:
        with torch.no_grad():
            expected = copy.deepcopy(module).eval()(x).log_softmax(-1).numpy()
        found = trainer.predict(given)
        assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
        theirs = copy.deepcopy(module).train()
        optimizer = torch.optim.SGD(theirs.parameters(), lr=PLAIN["lr_base"])
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(theirs(x), y)
            loss.backward()
            optimizer.step()
            ours = trainer.step(given, y.numpy()).loss
            assert abs(ours - float(loss)) <= 1e-5 * max(1.0, float(loss))
        weights = trainer.weights()
        assert all(np.array_equal(weights[name], was) for name, was in net.constants.items())
        ht.write_back(net, weights, module)
    for (key, mine), its in zip(module.state_dict().items(), theirs.state_dict().values()):
        if not key.endswith("num_batches_tracked"):
            assert torch.allclose(mine, its, rtol=1e-3, atol=2e-5), key
    return net


def places(rows, columns, count):
    return torch.arange(rows * columns).reshape(rows, columns) % count


def attention(**more):
    return lambda m, x: F.scaled_dot_product_attention(x, x.tanh(), x * 2, **more)


def written_places(_, x):
    made = x * 1.0
    made[:, 1:3, 2:] = 2 * x[:, 3:5, 2:]
    made[:, -1] += 1
    made[:, 0] = 0
    return made


def written_zeros(_, x):
    made = x.new_zeros(x.shape[0], 6, 10)
    made[:, :, 1:9] = x
    made[:, :, 9:] = x[:, :, :1].relu()
    return made


def written_bias(m, x):
    bias = m.w.clone()
    bias[2:5].zero_()
    return x + bias


def written_through_parts(_, x):
    made = x * 1.0
    rows = made[:, 1:3]
    rows[:, :, 0].relu_()
    rows.sub_(1)
    return torch.cat([made, rows], 1)


def written_whole(_, x):
    made = x.relu()
    made[:] = 2 * x
    return made


ROWS, HEADS = (6, 8), (3, 6, 8)
CASES = {
    # products
    "itself": (lambda m, x: x @ x.transpose(1, 2), ROWS, {}),
    "parameter-left": (lambda m, x: m.w @ x, ROWS, {"w": (5, 6)}),
    "parameter-left-turned": (lambda m, x: m.w.t() @ x, ROWS, {"w": (6, 5)}),
    "parameter-right": (lambda m, x: x @ m.w, ROWS, {"w": (8, 5)}),
    "parameter-right-turned": (lambda m, x: x @ m.w.t(), ROWS, {"w": (5, 8)}),
    "parameter-by-heads": (lambda m, x: x @ m.w, HEADS, {"w": (3, 8, 5)}),
    "parameter-of-one-head": (lambda m, x: x.unsqueeze(1) @ m.w, ROWS, {"w": (3, 8, 5)}),
    "vector": (lambda m, x: x @ m.w, ROWS, {"w": (8,)}),
    "baddbmm": (
        lambda m, x: torch.baddbmm(m.w, x, x.transpose(1, 2), alpha=0.5, beta=2),
        ROWS,
        {"w": (1, 6, 6)},
    ),
    "einsum-of-a-parameter": (
        lambda m, x: torch.einsum("nhtd,hdk->nthk", x, m.w),
        HEADS,
        {"w": (3, 8, 5)},
    ),
    "einsum": (lambda m, x: torch.einsum("nhtd,nhsd->ntsh", x, x * 0.5), HEADS, {}),
    "einsum-of-two-sums": (lambda m, x: torch.einsum("nhtd,nxtd->nhx", x, x.sigmoid()), HEADS, {}),
    "computed-weight": (
        lambda m, x: F.linear(x, m.w * m.g / m.w.norm(dim=1, keepdim=True)),
        ROWS,
        {"w": (5, 8), "g": (5, 1)},
    ),
    "computed-bias": (lambda m, x: F.linear(x, m.w, m.b * 2), ROWS, {"w": (5, 8), "b": (5,)}),
    "two-weights": (
        lambda m, x: F.linear(F.linear(x, m.v).relu(), m.w),
        ROWS,
        {"v": (5, 8), "w": (4, 5)},
    ),
    "bias-of-parts": (
        lambda m, x: F.linear(x, m.w, torch.cat([m.v, torch.zeros(2), m.u])),
        ROWS,
        {"w": (6, 8), "v": (2,), "u": (2,)},
    ),
    "rows-convolved": (
        lambda m, x: F.avg_pool1d(F.max_pool1d(m.b(m.a(x)).relu(), 2, 1), 2),
        ROWS,
        {
            "a": lambda: nn.Conv1d(6, 8, 3, padding=1, groups=2),
            "b": lambda: nn.ConvTranspose1d(8, 4, 2, 2, bias=False),
        },
    ),
    # attention
    "attention-without-heads": (attention(), ROWS, {}),
    "attention-with-a-mask": (attention(attn_mask=torch.ones(6, 6).triu().bool()), HEADS, {}),
    "attention-with-a-window": (
        attention(attn_mask=-100.0 * torch.eye(6).roll(1, 0)),
        HEADS,
        {},
    ),
    "attention-with-a-bias": (
        lambda m, x: F.scaled_dot_product_attention(x, x, x, attn_mask=m.w),
        HEADS,
        {"w": (3, 6, 6)},
    ),
    "attention-across": (
        lambda m, x: m.a(x, x * 2, x.relu(), need_weights=False)[0],
        ROWS,
        {"a": lambda: nn.MultiheadAttention(8, 2, batch_first=True)},
    ),
    "attention-with-weights": (
        lambda m, x: torch.cat([y.flatten(1) for y in m.a(x, x, x)], 1),
        ROWS,
        {"a": lambda: nn.MultiheadAttention(8, 2, batch_first=True)},
    ),
    "attention-hides-pairs": (
        lambda m, x: m.a(x, x, x, attn_mask=torch.eye(6).bool(), need_weights=False)[0],
        ROWS,
        {"a": lambda: nn.MultiheadAttention(8, 2, batch_first=True)},
    ),
    # parameters as values
    "exp": (lambda m, x: x * m.w.mul(0.1).exp(), ROWS, {"w": (8,)}),
    "two-parameters": (lambda m, x: x + m.w * m.v, ROWS, {"w": (8,), "v": (6, 1)}),
    "factor-twice": (lambda m, x: (x * m.w).relu() * m.w, ROWS, {"w": (8,)}),
    "term-twice": (lambda m, x: (x + m.w).relu() + m.w, ROWS, {"w": (1, 6, 8)}),
    "from-a-parameter": (lambda m, x: m.w - x, ROWS, {"w": (8,)}),
    "by-a-value": (lambda m, x: m.w / (x.square() + 1), ROWS, {"w": (8,)}),
    "larger-parameter": (lambda m, x: x.unsqueeze(-1) * m.w, ROWS, {"w": (8, 3)}),
    "columns-in-front": (
        lambda m, x: torch.cat([m.w.expand(len(x), -1, -1), x], 2),
        ROWS,
        {"w": (1, 6, 3)},
    ),
    "row-twice": (
        lambda m, x: torch.cat([m.w.expand(len(x), -1, -1), x], 1) + m.w.expand(len(x), -1, -1),
        ROWS,
        {"w": (1, 1, 8)},
    ),
    "factor-in-another-order": (
        lambda m, x: x.transpose(1, 2) * m.w.reshape(4, 2, 6).transpose(0, 1).reshape(8, 6),
        ROWS,
        {"w": (8, 6)},
    ),
    "rows-that-follow": (
        lambda m, x: torch.cat([x, m.w.expand(x.shape[0], -1, -1)], 1),
        ROWS,
        {"w": (1, 2, 8)},
    ),
    # constants
    "constant": (lambda m, x: x + torch.arange(8.0) - torch.arange(6.0)[:, None], ROWS, {}),
    "constant-for-all": (
        lambda m, x: x * torch.arange(8.0).expand(x.shape[0], 6, 8),
        ROWS,
        {},
    ),
    "constant-in-front": (
        lambda m, x: torch.cat([torch.ones(len(x), 1, 8), x, torch.zeros(len(x), 2, 8)], 1),
        ROWS,
        {},
    ),
    "zeros-like": (lambda m, x: torch.maximum(x, torch.zeros_like(x)), ROWS, {}),
    "layer-of-a-constant": (
        lambda m, x: x + m.l(torch.linspace(0, 1, 24).reshape(6, 4)),
        ROWS,
        {"l": lambda: nn.Linear(4, 8)},
    ),
    "convolved-constant": (
        lambda m, x: x + m.l(torch.linspace(0, 1, 96).reshape(1, 2, 6, 8)),
        HEADS,
        {"l": lambda: nn.Conv2d(2, 3, 1)},
    ),
    # places
    "rows-by-ids": (lambda m, x: x[:, [0, 3, 3, 5]], ROWS, {}),
    "columns-from-the-end": (lambda m, x: x[:, :, [-1, 2]], ROWS, {}),
    "places-of-two": (
        lambda m, x: x[:, torch.tensor([[0], [5]]), torch.tensor([1, 3, 7])],
        ROWS,
        {},
    ),
    "selected": (lambda m, x: x.index_select(2, torch.tensor([7, 0, 0])), ROWS, {}),
    "table": (
        lambda m, x: x + m.w[places(6, 8, 7)].permute(2, 0, 1),
        HEADS,
        {"w": (7, 3)},
    ),
    "table-by-heads": (lambda m, x: x + m.w[:, places(6, 8, 7)], HEADS, {"w": (3, 7)}),
    "table-of-two": (
        lambda m, x: x + m.w[torch.arange(6)[:, None] % 2, torch.arange(8) % 3],
        ROWS,
        {"w": (2, 3)},
    ),
    "fixed-ids": (
        lambda m, x: x + m.w(torch.tensor([3, 1, 4, 1, 5, 6])),
        ROWS,
        {"w": lambda: nn.Embedding(9, 8)},
    ),
    "first-rows": (
        lambda m, x: x * m.w(torch.arange(6)),
        ROWS,
        {"w": lambda: nn.Embedding(9, 8)},
    ),
    # writes
    "written-places": (written_places, ROWS, {}),
    "written-zeros": (written_zeros, ROWS, {}),
    "written-bias": (written_bias, ROWS, {"w": (8,)}),
    "written-through-parts": (written_through_parts, ROWS, {}),
    "written-whole": (written_whole, ROWS, {}),
    # shapes
    "stacked": (lambda m, x: torch.stack([x, x * 2, x.relu()], 2), ROWS, {}),
    "other-rows": (lambda m, x: x.reshape(-1, 3, 16).softmax(-1), ROWS, {}),
    "across-axes": (
        lambda m, x: x.view(-1, 2, 3, 8).transpose(1, 2).reshape(-1, 2, 24).softmax(-1),
        ROWS,
        {},
    ),
    "moved": (lambda m, x: x.movedim(1, 3).swapaxes(1, 2).narrow(1, 2, 4), HEADS, {}),
    "normalized": (lambda m, x: F.normalize(x, dim=-1), ROWS, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_pytorchs(name):
    work, shape, parts = CASES[name]
    torch.manual_seed(5)
    module = Work(work, shape, parts)
    x, y = torch.randn(4, *shape), torch.randint(0, 10, (4,))
    own = (*shape[1:], shape[0]) if len(shape) == 3 else shape
    compare(module, x, y, [hu.Field("image", own), hu.Field("label", classes=10)])


class Windows(nn.Module):
    """Attention in windows of an image, which are shifted, with a table of relative places."""

    def __init__(self, width=8, heads=2, side=4, shift=2):
        super().__init__()
        self.heads, self.side, self.shift = heads, side, shift
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn((2 * side - 1) ** 2, heads))
        place = torch.stack(torch.meshgrid(*[torch.arange(side)] * 2, indexing="ij")).flatten(1)
        apart = (place[:, :, None] - place[:, None]).permute(1, 2, 0) + side - 1
        self.register_buffer("index", apart[..., 0] * (2 * side - 1) + apart[..., 1])
        self.fc = nn.Linear(width, 10)

    def forward(self, x):
        n, h, w, c = x.permute(0, 2, 3, 1).shape
        side, shift = self.side, self.shift
        x = x.permute(0, 2, 3, 1).roll((-shift, -shift), (1, 2))
        x = x.view(n, h // side, side, w // side, side, c).permute(0, 1, 3, 2, 4, 5)
        x = x.reshape(-1, side * side, c)
        q, k, v = self.qkv(x).view(len(x), side * side, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        scores = scores + self.table[self.index.flatten()].view(*self.index.shape, -1).permute(
            2, 0, 1
        )
        region = x.new_zeros((h, w))
        for count, (a, b) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
            rows = slice(-shift, None) if a else slice(0, -shift)
            columns = slice(-shift, None) if b else slice(0, -shift)
            region[rows, columns] = count
        region = region.view(h // side, side, w // side, side).permute(0, 2, 1, 3).flatten(0, 1)
        region = region.flatten(1)
        mask = region[:, None] - region[:, :, None]
        mask = mask.masked_fill(mask != 0, -100.0)
        scores = scores.view(n, -1, self.heads, side**2, side**2) + mask[None, :, None]
        x = (scores.softmax(-1).flatten(0, 1) @ v).transpose(1, 2).flatten(2)
        x = self.out(x).view(n, h // side, w // side, side, side, c).permute(0, 1, 3, 2, 4, 5)
        return self.fc(x.reshape(n, h * w, c).mean(1))


def windows():
    torch.manual_seed(6)
    return Windows(), torch.randn(4, 8, 8, 8), torch.randint(0, 10, (4,))


def test_shifted_windows_with_relative_places():
    module, x, y = windows()
    net = compare(module, x, y, [hu.Field("image", (8, 8, 8)), hu.Field("label", classes=10)])
    assert {w.torch_name for w in net.weights.values()} == dict(module.named_parameters()).keys()
    assert sorted(a.shape for a in net.constants.values()) == [(4, 16, 16), (256,)]


def test_constants_go_with_the_file(tmp_path):
    module, x, _ = windows()
    net = ht.capture(module, (x,))
    net.save(tmp_path / "mine.yaml")
    fields = [hu.Field("image", (8, 8, 8)), hu.Field("label", classes=10)]
    with hu.Trainer(net, fields=fields, samples=4, batch=4, steps=1, **PLAIN) as trainer:
        expected = trainer.predict(x.permute(0, 2, 3, 1).contiguous().numpy())
    read = hu.Net.load(tmp_path / "mine.yaml")
    with hu.Trainer(read, fields=fields, samples=4, batch=4, steps=1, **PLAIN) as trainer:
        found = trainer.predict(x.permute(0, 2, 3, 1).contiguous().numpy())
    np.testing.assert_array_equal(found, expected)


def test_filters_of_rows_go_with_the_file(tmp_path):
    torch.manual_seed(6)
    module = nn.Sequential(nn.Conv1d(6, 8, 3), nn.ConvTranspose1d(8, 4, 2), nn.Flatten())
    module.append(nn.Linear(28, 10))
    net, x = ht.capture(module, (torch.zeros(1, *ROWS),)), torch.randn(4, *ROWS)
    net.save(tmp_path / "mine.yaml")
    fields = [hu.Field("image", ROWS), hu.Field("label", classes=10)]
    found = []
    for one in (net, hu.Net.load(tmp_path / "mine.yaml")):
        with hu.Trainer(one, fields=fields, samples=4, batch=4, steps=1, **PLAIN) as trainer:
            found.append(trainer.predict(x.numpy()))
    np.testing.assert_array_equal(*found)
    with torch.no_grad():
        np.testing.assert_allclose(found[0], module(x).log_softmax(1).numpy(), rtol=1e-5, atol=1e-5)


def test_the_program_trains_with_constants(tmp_path):
    torch.manual_seed(6)
    module = nn.Sequential(nn.Conv2d(3, 8, 4, 4), Windows())
    net = ht.capture(module, (torch.zeros(1, 3, 32, 32),))
    net.save(tmp_path / "mine.yaml")
    keys = dict(precision="hfp8", batch=16, steps=4, threads=1, optimizer="sgd", lr_base=0.05)
    data = {"data": "glyphs", "data_limit": 64, "data_test_limit": 32}
    made = hu.train(
        model=tmp_path / "mine.yaml", run_dir=tmp_path / "run", progress=False, **data, **keys
    )
    glyphs = hu.Dataset.open("glyphs", limit=64, test_limit=32)
    with hu.Trainer(net, glyphs, **keys) as trainer:
        for _ in range(4):
            trainer.step()
        assert trainer.hash == made.hash


def test_ids_are_not_rounded():
    module, x, y = windows()
    net = ht.capture(module, (x,))
    (ids,) = (name for name, array in net.constants.items() if array.ndim == 1)
    (mask,) = (name for name, array in net.constants.items() if array.ndim == 3)
    fields = [hu.Field("image", (8, 8, 8)), hu.Field("label", classes=10)]
    keys = {"samples": 4, "batch": 4, "steps": 1, "precision": "hfp8", **PLAIN}
    with hu.Trainer(net, fields=fields, **keys) as trainer:
        trainer.watch(f"{ids}.out", f"{mask}.out")
        trainer.step(x.permute(0, 2, 3, 1).contiguous().numpy(), y.numpy())
        np.testing.assert_array_equal(trainer.tensor(f"{ids}.out")[0], net.constants[ids])
        kept = trainer.tensor(f"{mask}.out")[0]
    np.testing.assert_array_equal(kept[net.constants[mask] == 0], 0)
    assert set(kept[net.constants[mask] != 0]) == {-30.0}  # the largest of hfp8's forward format


# ---- texts ----

WORDS, PLACES = 20, 12


class Text(nn.Module):
    """Tables of tokens, places and kinds, a layer of attention, a pooler with tanh."""

    def __init__(self):
        super().__init__()
        self.words, self.place, self.kind = (
            nn.Embedding(WORDS, 16),
            nn.Embedding(PLACES + 5, 16),
            nn.Embedding(2, 16),
        )
        self.register_buffer("ids", torch.arange(PLACES + 5).expand(1, -1), persistent=False)
        self.norm = nn.LayerNorm(16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True)
        self.pool, self.fc = nn.Linear(16, 16), nn.Linear(16, 3)

    def forward(self, ids):
        kinds, mask = torch.zeros_like(ids), torch.ones_like(ids)
        x = self.words(ids) + self.kind(kinds) + self.place(self.ids[:, : ids.shape[1]])
        hidden = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
        x = self.layer(self.norm(x) + hidden.mean())
        return self.fc(torch.tanh(self.pool(x[:, 0])))


def text_fields(classes=3):
    return [hu.Field("tokens", (PLACES,), classes=WORDS), hu.Field("label", classes=classes)]


def test_texts_with_a_class():
    torch.manual_seed(7)
    x, y = torch.randint(0, WORDS, (6, PLACES)), torch.randint(0, 3, (6,))
    net = compare(Text(), x, y, text_fields(), "classify_text", 10)
    assert "tokens: ids" in net.text and "task: classify_text" in net.text


def test_a_text_of_the_wrong_kind_is_told():
    net = ht.capture(Text(), (torch.zeros(1, PLACES, dtype=torch.long),), task="classify_text")
    fields = [hu.Field("image", (PLACES,)), hu.Field("label", classes=3)]
    with pytest.raises(hu.ArgumentError, match="classify_text needs a field 'tokens'"):
        hu.Trainer(net, fields=fields, samples=4, batch=4, steps=1)


# ---- tied parameters, fixed statistics, names ----


class Tied(nn.Module):
    """Two layers of which parts are the same; `twice` uses the second once more."""

    def __init__(self, *parts, bias=True, twice=False):
        super().__init__()
        self.a, self.b, self.twice = nn.Linear(8, 8), nn.Linear(8, 8, bias=bias), twice
        for part in parts:
            setattr(self.b, part, getattr(self.a, part))
        self.fc = nn.Linear(48, 10)

    def forward(self, x):
        x = self.b(self.a(x).relu())
        return self.fc((self.b(x) if self.twice else x).flatten(1))


class Norm(nn.Module):
    """A norm whose statistics are buffers that nothing changes."""

    def __init__(self):
        super().__init__()
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, 0.5 + torch.rand(8))
        self.fc = nn.Linear(48, 10)

    def forward(self, x):
        factor = self.weight * (self.running_var + 1e-5).rsqrt()
        return self.fc((x * factor + (self.bias - self.running_mean * factor)).flatten(1))


class Again(nn.Module):
    """A batch norm that is used twice, whose statistics go on twice."""

    def __init__(self):
        super().__init__()
        self.norm, self.fc = nn.BatchNorm1d(6), nn.Linear(48, 10)

    def forward(self, x):
        return self.fc(self.norm(self.norm(x).relu() * 3).flatten(1))


class Names(nn.Module):
    """Modules called by words of the network file, and by what no name there may have."""

    def __init__(self):
        super().__init__()
        self.input, self.head = nn.Linear(8, 8), nn.Linear(48, 10)
        self.parts = nn.ModuleDict({"a-b": nn.Linear(8, 8), "1": nn.Linear(8, 8)})
        self.parts["größe *"] = nn.Linear(8, 8)

    def forward(self, x):
        x = self.input(x)
        return self.head(sum(part(x) for part in self.parts.values()).flatten(1))


WHOLE = {
    "weight": lambda: Tied("weight"),
    "bias": lambda: Tied("bias"),
    "both": lambda: Tied("weight", "bias"),
    "weight-without-a-bias": lambda: Tied("weight", bias=False),
    "weight-twice": lambda: Tied("weight", twice=True),
    "fixed-statistics": Norm,
    "norm-twice": Again,
    "names": Names,
}


@pytest.mark.parametrize("name", WHOLE)
def test_each_parameter_is_there_once(name):
    torch.manual_seed(9)
    module, x, y = WHOLE[name](), torch.randn(4, *ROWS), torch.randint(0, 10, (4,))
    net = compare(module, x, y, [hu.Field("image", ROWS), hu.Field("label", classes=10)])
    torch_names = [w.torch_name for w in net.weights.values() if ".running_" not in w.torch_name]
    assert sorted(torch_names) == sorted(n for n, _ in module.named_parameters())


def test_what_a_capture_leaves_out_is_noted():
    module = Tied().half()
    module.a.weight.requires_grad_(False)
    module.more = nn.Linear(2, 2)
    net = ht.capture(module, (torch.zeros(2, *ROWS, dtype=torch.half),))
    assert net.notes == [
        "parameters that the first output does not read: more.weight, more.bias",
        "parameters without requires_grad, which are trained here: a.weight",
        "parameters of torch.float16, which are float32 here",
    ]


# ---- what is refused ----


def write_turned(_, x):
    made = x * 1.0
    made.transpose(1, 2)[:, 0] = 3
    return made


def write_steps(_, x):
    made = x * 1.0
    made[:, ::2] = 0
    return made


def write_given(_, x):
    x[:, 0] = 0
    return x


WRONG = {
    "samples": (lambda m, x: x.flatten(1).t() @ x.flatten(1), r"samples that meet|a sum over"),
    "pairs-of-samples": (
        lambda m, x: x[:, None] - x[None],
        "sub.Tensor: each sample beside each of the others",
    ),
    "products-of-pairs": (
        lambda m, x: x[:, None] @ x.transpose(1, 2)[None],
        "matmul.default: each sample beside each of the others",
    ),
    "samples-behind": (lambda m, x: x.flatten(1).t(), "its output: .*expected one row for each"),
    "computed-places": (
        lambda m, x: m.w[x[:, 0, 0].long()],
        r"numbers cut to torch\.int64",
    ),
    "sum-of-one": (
        lambda m, x: torch.einsum("ntd,nsk->nts", x, x),
        "which sums over one value alone",
    ),
    "places-apart": (
        lambda m, x: x.unsqueeze(2)[:, torch.tensor([0, 1]), :, torch.tensor([2, 3])],
        r"indices of the dimensions \[1, 3\], expected neighbours",
    ),
    "complex": (lambda m, x: torch.fft.rfft(x).abs(), "fft_rfft.default: complex numbers"),
    "complex-constant": (lambda m, x: (x * torch.tensor(1j)).real, "complex numbers"),
    "written-turned": (write_turned, r"it writes what mul shows afterwards; a copy, torch\.cat"),
    "written-steps": (write_steps, "it writes every so many places"),
    "written-input": (write_given, "it writes into what the module was given"),
    "written-buffer": (
        lambda m, x: x - m.mean.mul_(0.9).add_(1.0),
        "the buffer mean, which the module writes in every step",
    ),
    "kept-statistics": (
        lambda m, x: F.batch_norm(x, m.mean.expand(6), m.mean.expand(6), training=False),
        "no weight and bias|statistics that stay as they are",
    ),
    "number-of-samples": (
        lambda m, x: x * torch.arange(x.shape[0])[:, None, None],
        "of which one mixes samples",
    ),
    "shape-of-a-batch": (lambda m, x: x.reshape(2, 48), "it is tried with 61 samples"),
    "numbers-decide": (lambda m, x: x if x.sum() > 0 else -x, "control flow that depends"),
    "a-branch": (
        lambda m, x: torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y * 3, (x,)),
        "cond: control flow that depends on numbers",
    ),
    "leaves-pytorch": (
        lambda m, x: torch.from_numpy(x.numpy()),
        "operations of PyTorch in its place would help",
    ),
    "gradient-that-ends": (lambda m, x: x * m.w.detach().sum(), "a gradient that ends here"),
    "mask-without-keys": (
        lambda m, x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.eye(6) > 1),
        "a mask with rows that see no key",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_has_no_place(name):
    work, text = WRONG[name]

    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(2, 4))
            self.register_buffer("mean", torch.zeros(1))

        def forward(self, x):
            return work(self, x)

    with pytest.raises(hu.UnsupportedError, match=text):
        ht.capture(Wrong(), (torch.zeros(2, *ROWS),))


@pytest.mark.parametrize(
    ("example", "text"),
    [
        (torch.zeros(2, 6, 8, dtype=torch.complex64), "found torch.complex64"),
        (torch.zeros(0, 6, 8), r"of shape \(0, 6, 8\), expected real numbers of at least one"),
        (torch.tensor(1.0), r"of shape \(\), expected"),
    ],
)
def test_examples_that_are_no_batch(example, text):
    with pytest.raises(hu.DtypeError, match=text):
        ht.capture(Tied(), (example,))


def test_more_inputs_than_the_module_takes():
    with pytest.raises(hu.UnsupportedError, match="expected example_inputs as forward takes them"):
        ht.capture(Tied(), (torch.zeros(2, *ROWS), torch.zeros(2, *ROWS)))
