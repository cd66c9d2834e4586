"""Modules of PyTorch trained by the engine: `ht.train`, `Trainer.to_torch`."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
nn, F = torch.nn, torch.nn.functional

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from needs import needs_export  # noqa: E402
from test_torch import Case  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_export]  # warnings are PyTorch's
KEYS = {"optimizer": "sgd", "lr_base": 0.1, "threads": 1}


class Samples(torch.utils.data.Dataset):
    """Samples of a case, several times over."""

    def __init__(self, case, times=4):
        self.x, self.y = case.x.repeat(times, *[1] * (case.x.dim() - 1)), case.y
        self.y = self.y.repeat(times, *[1] * (case.y.dim() - 1))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


@pytest.mark.parametrize("name", ["pictures", "unet", "language"])
def test_it_is_a_trainer_with_these_batches(name):
    case = Case(name)
    loader = torch.utils.data.DataLoader(Samples(case), batch_size=6)
    net = ht.capture(case.module, (case.x,), task=case.task)
    keys = {"precision": "hfp8", "batch": 6, "steps": 8, "seed": 3, **KEYS}
    with hu.Trainer(net, hu.Dataset(case.fields, train=24), **keys) as trainer:
        losses = [trainer.step(*case.arrays).loss for _ in range(8)]
        wanted = copy.deepcopy(case.module)
        trainer.to_torch(wanted)
    seen = []
    module = ht.train(
        case.module,
        loader,
        precision="hfp8",
        epochs=2,
        task=case.task,
        seed=3,
        on_step=lambda step: seen.append(step.loss),
        **KEYS,
    )
    assert module is case.module
    assert seen == losses and losses[-1] < losses[0]
    for (key, ours), theirs in zip(module.state_dict().items(), wanted.state_dict().values()):
        assert torch.equal(ours, theirs), key


def test_a_data_set_is_drawn_by_the_seed():
    made = []
    for seed in (1, 1, 2):
        case = Case("sequential")
        losses = []
        ht.train(
            case.module,
            Samples(case),
            batch=10,
            epochs=2,
            seed=seed,
            on_step=lambda step, kept=losses: kept.append((step.samples, step.loss)),
            **KEYS,
        )
        made.append(losses)
    assert [n for n, _ in made[0]] == [10, 10, 4] * 2
    assert made[0] == made[1] != made[2]


def test_a_plan_and_a_folder(tmp_path):
    case = Case("sequential")
    plan = hu.Plan.of(model=ht.capture(case.module, (case.x,)), precision="mxfp8")
    ht.train(
        case.module,
        Samples(case),
        precision=plan,
        batch=8,
        test=Samples(case, 1),
        run_dir=str(tmp_path / "run"),
        **KEYS,
    )
    run = hu.Run(tmp_path / "run")
    assert run.result["steps"] == 3


def test_losses_of_pytorch():
    def losses(**keys):
        case, found = Case("sequential"), []
        data = torch.utils.data.DataLoader(Samples(case, 1), batch_size=6)
        keep = {"on_step": lambda step: found.append(step.loss)}
        ht.train(case.module, data, precision="fp32", **keep, **KEYS, **keys)
        return found[0], case

    plain, case = losses()
    for loss in (F.cross_entropy, nn.CrossEntropyLoss()):
        assert losses(loss=loss)[0] == plain
    with pytest.raises(hu.ArgumentError, match=r"found nll_loss behind linear"):
        losses(loss=F.nll_loss)
    case, found = Case("sequential"), []
    module = nn.Sequential(case.module, nn.LogSoftmax(-1))
    data = torch.utils.data.DataLoader(Samples(case, 1), batch_size=6)
    ht.train(module, data, loss=nn.NLLLoss(), precision="fp32", on_step=found.append, **KEYS)
    assert abs(found[0].loss - plain) < 1e-6
    smooth, _ = losses(loss=nn.CrossEntropyLoss(label_smoothing=0.1))
    case = Case("sequential")
    wanted = F.cross_entropy(case.module(case.x), case.y, label_smoothing=0.1)
    assert abs(smooth - float(wanted.detach())) < 1e-5 and smooth != plain
    for loss in (F.mse_loss, "hinge", nn.CrossEntropyLoss(weight=torch.ones(10))):
        with pytest.raises(hu.ArgumentError, match=r"loss: found .*expected 'cross_entropy'"):
            losses(loss=loss)


def test_an_interrupt_leaves_the_weights_so_far():
    case = Case("sequential")
    before = copy.deepcopy(case.module.state_dict())

    def stop(step):
        if step.step == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ht.train(case.module, Samples(case), batch=8, on_step=stop, **KEYS)
    after = case.module.state_dict()
    assert any(not torch.equal(before[key], after[key]) for key in before)


def test_what_is_not_labelled_has_no_loss():
    case, found = Case("sequential"), []
    case.y[::2] = -100
    wanted = float(F.cross_entropy(case.module(case.x), case.y).detach())
    data = torch.utils.data.DataLoader(Samples(case, 1), batch_size=6)
    ht.train(case.module, data, precision="fp32", on_step=found.append, **KEYS)
    assert abs(found[0].loss - wanted) < 1e-6
    case.y[0] = -1
    with pytest.raises(hu.ArgumentError, match=r"labels: found -1, expected classes, or -100"):
        ht.train(case.module, Samples(case, 1), **KEYS)


def test_frozen_parameters_and_folders_without_tests_are_refused(tmp_path):
    case = Case("sequential")
    with pytest.raises(hu.ArgumentError, match="run_dir: found no test="):
        ht.train(case.module, Samples(case), run_dir=str(tmp_path / "run"), **KEYS)
    case.module[0].weight.requires_grad_(False)
    with pytest.raises(hu.UnsupportedError, match=r"without requires_grad \(0.weight\)"):
        ht.train(case.module, Samples(case), **KEYS)
    empty = torch.utils.data.DataLoader(Samples(case, 1), batch_size=7, drop_last=True)
    with pytest.raises(hu.ShapeError, match="found no batch"):
        ht.train(case.module, empty, **KEYS)


def test_what_is_no_data_is_refused():
    case = Case("sequential")
    with pytest.raises(hu.DtypeError, match="dataset: found list_iterator"):
        ht.train(case.module, iter([1]))
    with pytest.raises(hu.ShapeError, match=r"found samples of 3 parts, expected pairs"):
        ht.train(case.module, [(case.x[0], 1, 2)])
    with pytest.raises(hu.ArgumentError, match="task: found 'paint'"):
        ht.train(case.module, Samples(case), task="paint")
    net = hu.Net(input=(4,), classes=2)
    net.head(net.linear(net.input, 2))
    rows = {"precision": "fp32", "batch": 2, "steps": 1}
    with (
        hu.Trainer(net, **rows) as trainer,
        pytest.raises(hu.ArgumentError, match=r"expected one of ht.capture"),
    ):
        trainer.to_torch(nn.Linear(4, 2))
    trained = ht.capture(case.module, (case.x,))
    with (
        hu.Trainer(trained, hu.Dataset(case.fields, train=6), **rows) as trainer,
        pytest.raises(hu.ArgumentError, match=r"module: found none called '?0.weight"),
    ):
        trainer.to_torch(nn.Linear(4, 2))
    assert np.isfinite(case.x.numpy()).all()
