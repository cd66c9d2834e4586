"""What DistributedDataParallel with narrow gradients refuses, and processes that are gone."""

import gc
import os
import re
import signal
import threading
import time

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
dist = pytest.importorskip("torch.distributed")
if not (dist.is_available() and dist.is_gloo_available()):
    pytest.skip("PyTorch has no gloo", allow_module_level=True)

from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import halfulp as hu  # noqa: E402
import halfulp.torch as ht  # noqa: E402
from needs import needs_hooks_errors  # noqa: E402
from processes import SECONDS, Lost, in_processes, results  # noqa: E402
from test_torch_ddp import SHAPES, Given, opened, random_gradients, reduced  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch


def differ(rank, plainly):
    settings = [dict(format="e5m2"), dict(format="e4m3fn", scaling="none"), dict(format="e5m2")]
    model = DistributedDataParallel(Given(SHAPES))
    hook = ht.ddp_hook(**settings[rank])
    if plainly:
        model.register_comm_hook(None, hook)
        reduced(model, hook, random_gradients(rank, 0))
    else:
        hook.register(model)


@needs_hooks_errors
@pytest.mark.parametrize("plainly", [False, True])
def test_processes_with_different_settings_are_refused(plainly):
    expected = (
        "ddp_hook: rank 1 has format=e4m3fn scaling=none, rank 0 has format=e5m2 scaling=aps, "
        "expected the same settings in all processes"
    )
    for name, text, _ in in_processes(3, differ, plainly):
        assert (name, text) == ("ArgumentError", expected)


def differ_in_steps(rank):
    """A state that only one process has loaded after the comparison."""
    model, hook = opened(Given(SHAPES), format="e5m2")
    if rank == 1:
        state = hook.state_dict()
        hook.load_state_dict({**state, "step": 7})
    reduced(model, hook, random_gradients(rank, 0))


@needs_hooks_errors
def test_processes_of_different_steps_are_refused():
    for rank, (name, text, _) in enumerate(in_processes(2, differ_in_steps)):
        assert name == "CorruptError"
        assert f"gradient of process {1 - rank} at process {rank}" in text
        assert text.startswith(f"rank {rank}, training step {7 * rank}, bucket 0 (")


def die(rank, how):
    seconds = 60 if how == "exit" else 15  # a busy machine must make the first steps in time
    model, hook = opened(Given(SHAPES), dict(bucket_cap_mb=0.004), format="e5m2", timeout=seconds)
    for step in range(3):
        if rank == 1 and step == 2:
            if how == "exit":
                os._exit(3)
            os.kill(os.getpid(), signal.SIGSTOP)
        reduced(model, hook, random_gradients(rank, step))


@needs_hooks_errors
@pytest.mark.parametrize("how", ["exit", "freeze"])
def test_processes_do_not_wait_for_one_that_is_gone(how):
    begin = time.monotonic()
    found = in_processes(3, die, how, frozen=[1] if how == "freeze" else [])
    assert found.pop(1) is Lost
    for name, text, _ in found:
        assert name == "PeerError"
        assert re.match(r"rank [02], training step 2, bucket 0 \(", text), text
    assert time.monotonic() - begin < SECONDS / 2


def meet_nobody(rank):
    if rank == 1:
        os._exit(3)
    hook = ht.ddp_hook(format="e5m2", timeout=3)
    # DDP itself would wait for all: the hook meets the others alone.
    hook._meet()


def test_a_process_that_never_comes_is_told():
    (name, text, _), lost = in_processes(2, meet_nobody)
    assert lost is Lost
    assert name == "PeerError" and text.startswith("ddp_hook: rank 0, comparing settings: ")


def reduce_what_is_refused(rank):
    said = []

    def refused(make):
        try:
            make()
        except hu.Error as error:
            said.append(f"{type(error).__name__}: {error}")

    def sparse():
        module = nn.Embedding(10, 4, sparse=True)
        model, _ = opened(module, format="e5m2")
        model(torch.tensor([1, 2])).sum().backward()

    def double():
        model, _ = opened(nn.Linear(3, 3).double(), format="e5m2")
        model(torch.ones(1, 3, dtype=torch.float64)).sum().backward()

    def exact_of_numbers():
        model = DistributedDataParallel(nn.Linear(3, 3))
        model.register_comm_hook(None, ht.ddp_hook(format="e5m2", exact=["parameter1", "bias"]))
        model(torch.ones(1, 3)).sum().backward()

    refused(sparse)
    refused(double)
    refused(lambda: opened(nn.Linear(3, 3), format="e5m2", exact=["wieght", "bias"]))
    refused(exact_of_numbers)
    refused(lambda: ht.ddp_hook(format="e5m2").register(nn.Linear(3, 3)))
    model, hook = opened(nn.Linear(3, 3), format="e5m2")
    refused(lambda: hook.register(DistributedDataParallel(nn.Linear(3, 3))))
    return said


@needs_hooks_errors
def test_what_cannot_travel_is_refused():
    (said,) = results(1, reduce_what_is_refused)
    assert said == [
        "UnsupportedError: ddp_hook: found sparse gradients, expected dense ones (sparse=False)",
        "DtypeError: ddp_hook: found gradients of torch.float64, expected float32, float16 or "
        "bfloat16",
        "UnknownNameError: exact: found no parameter wieght",
        "UnknownNameError: exact: found no parameter bias",
        "DtypeError: register: found Linear, expected DistributedDataParallel",
        "ArgumentError: register: found a hook of another module, expected a new one",
    ]


def test_settings_are_checked_at_once():
    for settings, kind, words in [
        (dict(format="e5m99"), hu.FormatError, "man"),
        (dict(format="e5m2", scaling="asp"), hu.UnknownNameError, "aps-tight"),
        (dict(format="e5m2", scaling="constant:x"), hu.ParseError, "2^K"),
        (dict(format="e5m2", scaling=3), hu.DtypeError, "int"),
        (dict(format="e5m2", scaling="aps2", kahan=True), hu.ArgumentError, "kahan"),
        (dict(format="e5m2", rounding="up"), hu.UnknownNameError, "rne"),
        (dict(format="e5m2", seed=-1), hu.ArgumentError, "seed"),
        (dict(format="e5m2", exact="head"), hu.DtypeError, "exact"),
        (dict(format="e5m2", exact=[1]), hu.DtypeError, "exact"),
        (dict(format="e5m2", timeout=0), hu.ArgumentError, "timeout"),
    ]:
        with pytest.raises(kind, match=re.escape(words)):
            ht.ddp_hook(**settings)


def test_a_hook_without_processes_is_told():
    hook = ht.ddp_hook(format="e5m2")
    assert hook.counts() == {} and hook.step == 0
    with pytest.raises(hu.ArgumentError, match="init_process_group"):
        hook._meet()


def test_states_that_are_none_are_refused():
    hook = ht.ddp_hook(format="e5m2")
    lost = {"gradients": {"w": [1.0]}}
    for state in (3, {**hook.state_dict(), "lost": lost}):
        with pytest.raises(hu.DtypeError, match="^state: "):
            hook.load_state_dict(state)


def count_threads(rank):
    begun = threading.active_count()
    for _ in range(3):
        model, hook = opened(nn.Linear(3, 3), format="e5m2")
        model(torch.ones(1, 3)).sum().backward()
    del model, hook
    gc.collect()
    end = time.monotonic() + 30
    while threading.active_count() > begun and time.monotonic() < end:
        time.sleep(0.01)
    return threading.active_count() - begun


def test_threads_end_with_their_hooks():
    assert results(1, count_threads) == [0]
