"""Gradients of DistributedDataParallel in a narrow format on the wire: `ddp_hook`.

The arithmetic is the library's (`_allreduce.py`); here are DDP's buckets, the collectives of
torch.distributed, and what is kept from step to step.
"""

from __future__ import annotations

import datetime
import inspect
import queue
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from .. import __version__
from ..errors import (
    ArgumentError,
    DtypeError,
    Error,
    PeerError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
)
from ..formats import FormatLike
from ..rounding import Counts
from ._allreduce import KINDS, Allreduce, Settings
from ._release import new_group

_NARROW = (torch.float32, torch.float16, torch.bfloat16)  # float32 holds their numbers
_SHOWN = 3  # names in a message
_MOST_SECONDS = 1e8  # three years


@dataclass(frozen=True)
class WireCounts:
    """What the wire did to a parameter's gradients, at this process.

    Attributes
    ----------
    gradients : Counts
        Of rounding the gradient into the format: all its elements in every step.
    sums : Counts
        Of the sums that this process makes: those of its piece.
    overflow, underflow : int
        Of both: numbers that were too large for the format, and numbers that became zero.
    """

    gradients: Counts = Counts()
    sums: Counts = Counts()

    @property
    def overflow(self) -> int:
        """Numbers too large for the format."""
        return self.gradients.overflow + self.sums.overflow

    @property
    def underflow(self) -> int:
        """Nonzero numbers that became zero."""
        return self.gradients.underflow + self.sums.underflow

    def __add__(self, other: WireCounts) -> WireCounts:
        if not isinstance(other, WireCounts):
            return NotImplemented
        return WireCounts(self.gradients + other.gradients, self.sums + other.sums)


@dataclass(frozen=True)
class Traffic:
    """Bytes that this process has sent to the others.

    Attributes
    ----------
    sent : int
        All messages, with their heads and what is agreed upon before.
    float32 : int
        What a ring all-reduce of float32 would have sent.
    """

    sent: int = 0
    float32: int = 0


class _Carrier:
    """A thread that does one job after the other, in the order in which they are given."""

    def __init__(self, owner: object) -> None:
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        thread = threading.Thread(
            target=self._serve, args=(self._jobs,), name="halfulp-wire", daemon=True
        )
        thread.start()
        weakref.finalize(owner, self._jobs.put, None)

    @staticmethod
    def _serve(jobs: queue.SimpleQueue[Any]) -> None:
        while True:
            job = jobs.get()
            if job is None:
                return
            job()
            del job  # what it holds is not kept until the next one

    def give(self, job: Any) -> None:
        self._jobs.put(job)

    def drain(self) -> None:
        """Wait until all that was given is done."""
        done = threading.Event()
        self._jobs.put(done.set)
        done.wait()


def _first_names(names: Iterable[str]) -> str:
    found = sorted(names)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def _told(words: Mapping[str, str], keys: Iterable[str]) -> str:
    return " ".join(f"{key}={words.get(key, '')}" for key in keys)


class DdpHook:
    """A communication hook for DistributedDataParallel; made by `ddp_hook`.

    Attributes
    ----------
    step : int
        Backward passes that were reduced so far.
    traffic : Traffic
        Bytes sent so far.
    """

    def __init__(
        self,
        settings: Settings,
        exact: Iterable[str],
        process_group: Any,
        timeout: float | None,
    ) -> None:
        # DDP asks hooks for these, and compares annotations with objects.
        self.__name__ = self.__qualname__ = "halfulp.torch.ddp_hook"
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, kind) for name in ("state", "bucket")]
        )
        self.step = 0
        self.traffic = Traffic()
        self._settings = settings
        self._exact = frozenset(exact)
        self._given_group = process_group
        self._timeout = timeout
        self._group: Any = None  # of its own: no other collective comes between its messages
        self._workers, self._rank, self._ranks = 1, 0, [0]
        self._has_steps = False  # collectives are made of messages between two
        self._names: dict[int, str] = {}  # by id of a parameter, which _parameters keeps alive
        self._parameters: list[torch.Tensor] = []
        self._reductions: dict[tuple[str, ...], Allreduce] = {}
        self._waiting: dict[str, dict[str, torch.Tensor]] = {kind: {} for kind in KINDS}
        self._counted: dict[str, WireCounts] = {}  # of reductions that are no more
        self._saved_by: tuple[int, int] | None = None
        self._is_registered = False
        self._error: BaseException | None = None
        self._carrier = _Carrier(self)

    # ---- for users ----

    def register(self, model: torch.nn.parallel.DistributedDataParallel) -> None:
        """Register the hook with a DDP module, whose parameters' names the counts get.

        All processes call it. `model.register_comm_hook(None, hook)` does, too; parameters are then
        called parameter0, parameter1, ..., also where numbers are drawn by their names, and
        settings are compared in the first backward pass.

        Parameters
        ----------
        model : DistributedDataParallel

        Raises
        ------
        ArgumentError
            The processes have different settings: the message has both, and the ranks. Or the hook
            has a module already.
        UnknownNameError
            `exact` names a parameter that there is not.
        PeerError
            A process did not answer in time, or is gone.

        Examples
        --------
        See `ddp_hook`.
        """
        if not isinstance(model, torch.nn.parallel.DistributedDataParallel):
            raise DtypeError(
                f"register: found {type(model).__name__}, expected DistributedDataParallel"
            )
        if self._is_registered:
            raise ArgumentError("register: found a hook of another module, expected a new one")
        self._is_registered = True
        if self._given_group is None:
            self._given_group = model.process_group
        for name, parameter in model.module.named_parameters():
            self._name(parameter, name)
        self._check_exact()
        self._meet()
        model.register_comm_hook(None, self)

    def counts(self) -> dict[str, WireCounts]:
        """What the wire did to the gradients of each parameter, at this process.

        Returns
        -------
        dict of str to WireCounts
            By name, of all steps since the begin or `clear_counts`. Parameters in float32 have
            none.

        Examples
        --------
        >>> hook = ddp_hook(format="e5m2")
        >>> hook.counts()
        {}
        """
        found = dict(self._counted)
        for reduction in self._reductions.values():
            for (name, _, _), counts in zip(reduction.layers, reduction.counts()):
                found[name] = found.get(name, WireCounts()) + WireCounts(*counts)
        return {name: found[name] for name in self._names.values() if name in found}

    def total(self) -> WireCounts:
        """The counts of all parameters together.

        Returns
        -------
        WireCounts

        Examples
        --------
        >>> ddp_hook(format="e5m2").total().underflow
        0
        """
        return sum(self.counts().values(), WireCounts())

    def clear_counts(self) -> None:
        """Count from zero, bytes too.

        Examples
        --------
        >>> ddp_hook(format="e5m2").clear_counts()
        """
        self._counted.clear()
        self.traffic = Traffic()
        for reduction in self._reductions.values():
            reduction.clear_counts()

    def state_dict(self) -> dict[str, Any]:
        """What this process needs to go on with the same bits; each process has its own.

        Returns
        -------
        dict
            Of texts, whole numbers and tensors, as torch.load(weights_only=True) takes: settings,
            workers, rank, step, and what roundings have lost (float32, 1-D, by parameter, in the
            order of its memory).

        Examples
        --------
        >>> sorted(ddp_hook(format="e5m2").state_dict())
        ['lost', 'rank', 'settings', 'step', 'workers']
        """
        lost = {kind: dict(of_kind) for kind, of_kind in self._waiting.items()}
        for reduction in self._reductions.values():
            for kind, parts in reduction.lost().items():
                for (name, _, _), part in zip(reduction.layers, parts):
                    lost[kind][name] = part.clone()
        return {
            "settings": self._words(),
            "workers": self._workers,
            "rank": self._rank,
            "step": self.step,
            "lost": lost,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was called, in all processes.

        Parameters
        ----------
        state : dict
            Of the process of the same rank.

        Raises
        ------
        ArgumentError
            It is of other settings, or of another process.
        ShapeError
            It is of another model; that of parameters that there are not is told behind the next
            backward pass.

        Examples
        --------
        >>> hook = ddp_hook(format="e5m2")
        >>> hook.load_state_dict(ddp_hook(format="e5m2").state_dict())
        """
        if not isinstance(state, Mapping):
            raise DtypeError(f"state: found {type(state).__name__}, expected what state_dict gives")
        missing = {"settings", "workers", "rank", "step", "lost"} - set(state)
        if missing:
            raise ArgumentError(f"state: found no {_first_names(missing)}")
        waiting = {kind: dict(state["lost"].get(kind, {})) for kind in KINDS}
        for name, lost in (item for of_kind in waiting.values() for item in of_kind.items()):
            if not isinstance(lost, torch.Tensor):
                raise DtypeError(f"state: {name}: found {type(lost).__name__}, expected a tensor")
        words, theirs = self._words(), dict(state["settings"])
        other = [key for key in {**words, **theirs} if words.get(key) != theirs.get(key)]
        if other:
            raise ArgumentError(
                f"state: found {_told(theirs, other)}, expected {_told(words, other)}"
            )
        self._saved_by = (int(state["workers"]), int(state["rank"]))
        if self._group is not None:
            self._check_saved_by()
        self.step = int(state["step"])
        self._waiting = waiting
        for reduction in self._reductions.values():
            self._restore(reduction)

    # ---- the processes ----

    def _words(self) -> dict[str, str]:
        words = self._settings.words()
        if self._exact:
            words["exact"] = ",".join(sorted(self._exact))
        return words

    def _name(self, parameter: torch.Tensor, name: str) -> str:
        if id(parameter) not in self._names:
            self._names[id(parameter)] = name
            self._parameters.append(parameter)
        return self._names[id(parameter)]

    def _meet(self) -> None:
        """A group of its own, and the same settings in all of its processes."""
        if self._group is not None:
            return
        if not (dist.is_available() and dist.is_initialized()):
            raise ArgumentError(
                "ddp_hook: found no process group, expected "
                "torch.distributed.init_process_group before"
            )
        group = self._given_group
        given: dict[str, Any] = {}
        if self._timeout is not None:
            given["timeout"] = datetime.timedelta(seconds=self._timeout)
        if group is not None and group is not dist.group.WORLD:
            given["ranks"] = dist.get_process_group_ranks(group)
            given["backend"] = dist.get_backend(group)
            given["use_local_synchronization"] = True
        self._workers, self._rank = dist.get_world_size(group), dist.get_rank(group)
        self._check_saved_by()
        words = {"halfulp": __version__, **self._words(), "step": str(self.step)}
        heard: list[Any] = [None] * self._workers
        try:
            met = new_group(**given)
            dist.all_gather_object(heard, words, group=met)
        except (RuntimeError, ValueError) as error:
            self._error = PeerError(f"ddp_hook: rank {self._rank}, comparing settings: {error}")
            raise self._error from error
        for rank, other in enumerate(heard):
            keys = [key for key in {**heard[0], **other} if heard[0].get(key) != other.get(key)]
            if keys:
                self._error = ArgumentError(
                    f"ddp_hook: rank {rank} has {_told(other, keys)}, rank 0 has "
                    f"{_told(heard[0], keys)}, expected the same settings in all processes"
                )
                raise self._error
        self._group = met
        self._ranks = dist.get_process_group_ranks(met)
        self._has_steps = dist.get_backend(met) == "gloo"

    def _check_saved_by(self) -> None:
        if self._saved_by not in (None, (self._workers, self._rank)):
            workers, rank = self._saved_by or (0, 0)
            raise ArgumentError(
                f"state: found that of rank {rank} of {workers}, "
                f"expected that of rank {self._rank} of {self._workers}"
            )

    # ---- buckets ----

    def _retire(self, reduction: Allreduce) -> None:
        """What a reduction has waits for those that have its parameters now."""
        for kind, parts in reduction.lost().items():
            for (name, _, _), part in zip(reduction.layers, parts):
                self._waiting[kind][name] = part.clone()
        for (name, _, _), counts in zip(reduction.layers, reduction.counts()):
            self._counted[name] = self._counted.get(name, WireCounts()) + WireCounts(*counts)

    def _restore(self, reduction: Allreduce) -> None:
        """Give a reduction what waits for its parameters."""
        for kind, parts in reduction.lost().items():
            for (name, elements, _), part in zip(reduction.layers, parts):
                kept = self._waiting[kind].pop(name, None)
                if kept is None:
                    part.zero_()
                elif kept.numel() != elements:
                    raise ShapeError(
                        f"state: lost {kind} of {name}: found {kept.numel()} elements, "
                        f"expected {elements}"
                    )
                else:
                    part.copy_(kept.reshape(-1))

    def _reduction_of(self, parameters: list[torch.Tensor]) -> Allreduce:
        """That of a bucket; DDP makes other buckets after its first backward pass."""
        names = tuple(self._name(p, f"parameter{len(self._names)}") for p in parameters)
        if names in self._reductions:
            return self._reductions[names]
        for key in [key for key in self._reductions if not set(key).isdisjoint(names)]:
            self._retire(self._reductions.pop(key))
        layers = [(n, p.numel(), n in self._exact) for n, p in zip(names, parameters)]
        made = Allreduce(self._settings, self._workers, self._rank, layers)
        self._restore(made)
        self._reductions[names] = made
        return made

    def _check_exact(self) -> None:
        unknown = self._exact - set(self._names.values())
        if unknown:
            raise UnknownNameError(f"exact: found no parameter {_first_names(unknown)}")

    def _check_all_are_known(self) -> None:
        """Behind a step, that has seen all parameters."""
        self._check_exact()
        left = {name for of_kind in self._waiting.values() for name in of_kind}
        if left:
            raise ArgumentError(f"state: found losses of {_first_names(left)}, no parameter here")

    def __call__(self, state: object, bucket: dist.GradBucket) -> torch.futures.Future[Any]:
        """Reduce a bucket; DDP calls it."""
        if self._error is not None:
            raise self._error
        self._meet()
        x = bucket.buffer()
        if x.layout != torch.strided:
            raise UnsupportedError(
                "ddp_hook: found sparse gradients, expected dense ones (sparse=False)"
            )
        if x.dtype not in _NARROW:
            raise DtypeError(
                f"ddp_hook: found gradients of {x.dtype}, expected float32, float16 or bfloat16"
            )
        reduction = self._reduction_of(bucket.parameters())
        is_last, index = bucket.is_last(), bucket.index()
        x.div_(self._workers)
        ready = torch.cuda.current_stream(x.device).record_event() if x.is_cuda else None
        devices = [x.device] if x.is_cuda else None
        future: torch.futures.Future[Any] = torch.futures.Future(devices=devices)

        def job() -> None:
            try:
                if self._error is None:
                    self._reduce(reduction, x, ready, index)
            except Exception as error:
                self._error = error
            future.set_result(x)

        self._carrier.give(job)
        if is_last:
            # An error in a future would lose its class.
            self._carrier.drain()
            if self._error is not None:
                raise self._error
            self.step += 1
            self._check_all_are_known()
        return future

    # ---- in the thread ----

    def _reduce(self, reduction: Allreduce, x: torch.Tensor, ready: Any, index: int) -> None:
        if ready is not None:
            ready.synchronize()
        is_direct = x.device.type == "cpu" and x.dtype == torch.float32
        numbers = x if is_direct else x.to(device="cpu", dtype=torch.float32)
        try:
            self._exchange(reduction, numbers)
        except (Error, RuntimeError, ValueError) as error:
            names = [name for name, _, _ in reduction.layers]
            where = f"rank {self._rank}, training step {self.step}, bucket {index}"
            kind = type(error) if isinstance(error, Error) else PeerError
            raise kind(f"{where} ({_first_names(names)}): {error}") from error
        if not is_direct:
            x.copy_(numbers)
        if ready is not None:
            torch.cuda.current_stream(x.device).synchronize()

    def _exchange(self, r: Allreduce, x: torch.Tensor) -> None:
        """A step of docs/reference/numerics/workers.md, schedule pairwise."""
        others = self._workers - 1
        r.begin(self.step, x)
        if r.told.numel():
            self._gather(r.told, r.told_by_all)
        r.round()
        if others:
            self._scatter(r)
        r.add()
        if others:
            self._gather(r.sum, r.sums)
        r.end()
        sent = r.parts.numel() + others * (r.told.numel() + r.sum.numel())
        whole = 2 * 4 * r.elements * others // self._workers
        self.traffic = Traffic(self.traffic.sent + sent, self.traffic.float32 + whole)

    def _device(self) -> torch.device:
        """Where the group takes messages from."""
        is_nccl = dist.get_backend(self._group) == "nccl"
        return torch.device("cuda", torch.cuda.current_device()) if is_nccl else torch.device("cpu")

    def _gather(self, own: torch.Tensor, rows: torch.Tensor) -> None:
        """The bytes of all processes, as rows in the order of their ranks: an all-gather."""
        device = self._device()
        own, heard = own.to(device), rows.to(device)
        if self._has_steps:
            self._step_by_step([own] * self._workers, heard.unbind(0))
            heard[self._rank].copy_(own)
        else:
            dist.all_gather(list(heard.unbind(0)), own, group=self._group)
        if heard is not rows:
            rows.copy_(heard)

    def _scatter(self, r: Allreduce) -> None:
        """Each process's message reaches the owner of its piece: an all-to-all."""
        device, own = self._device(), r.part_bytes[self._rank]
        sent = [0 if w == self._rank else b for w, b in enumerate(r.part_bytes)]
        taken = [0 if w == self._rank else own for w in range(self._workers)]
        parts, heard = r.parts.to(device), r.heard.to(device)
        if self._has_steps:
            self._step_by_step(parts.split(sent), heard.split(taken))
        else:
            dist.all_to_all_single(heard, parts, taken, sent, group=self._group)
        if heard is not r.heard:
            r.heard.copy_(heard)

    def _step_by_step(self, parts: Sequence[torch.Tensor], heard: Sequence[torch.Tensor]) -> None:
        """A collective as the schedule has it: one peer to send to and one to hear at a time.

        Gloo's own use a link in one direction at a time (docs/results/pytorch.md).
        """
        for s in range(1, self._workers):
            to, of = (self._rank + s) % self._workers, (self._rank - s) % self._workers
            works: list[Any] = [
                dist.irecv(heard[of], self._ranks[of], group=self._group),
                dist.isend(parts[to], self._ranks[to], group=self._group),
            ]
            for work in works:
                work.wait()


def ddp_hook(
    format: FormatLike = "e5m2",
    scaling: str = "aps",
    feedback: bool = True,
    *,
    rounding: str = "rne",
    kahan: bool = False,
    seed: int = 0,
    exact: Iterable[str] = (),
    process_group: Any = None,
    timeout: float | None = None,
) -> DdpHook:
    """A communication hook for DistributedDataParallel: gradients travel in a format of few bits.

    Every process rounds its gradient, over the number of processes, to codes; each owns a piece of
    every parameter, gets its codes from all others by an all-to-all, adds them in the order of the
    ranks, and all sums are gathered. This is halfulp's schedule pairwise: the bits are those of
    `halfulp comm schedule=pairwise` and of trainings with workers=N (Han et al., "Auto-precision
    scaling for distributed deep learning"; docs/reference/numerics/workers.md). A thread of its own
    carries the buckets while the backward pass goes on. The order of buckets changes no bit.

    Run with: gloo, 1 to 4 processes without a GPU, torch 1.13 to 2.15. Gradients on a GPU are
    copied to memory and back, and messages to a GPU where the group is NCCL's; this was written
    after PyTorch's documentation and not run.

    Parameters
    ----------
    format : Format or str
        Of gradients and sums on the wire: "e5m2", "e4m3fn", "1/6/9", ...; "fp32": no rounding.
        Scalings with codes of their own (terngrad, qsgd, flex16+5) leave it unused.
    scaling : str
        As comm.scaling of the program, `halfulp comm --help`: "none", "constant:K", "aps" (a power
        of two for each parameter, with room for the sum), "aps-tight", "aps-wide", "aps2",
        "terngrad[:C]", "qsgd[:B[/D]]", "flex16+5".
    feedback : bool
        Whether what roundings of a step lost joins the gradient of the next one. What is sent for a
        parameter that no process used in a step is lost with it (find_unused_parameters).
    rounding : str
        Mode of all roundings, as in `halfulp.round`; "sr" draws by parameter, step and rank.
    kahan : bool
        Whether owners add with Kahan's compensation.
    seed : int
        Of what is drawn.
    exact : iterable of str
        Names of parameters whose gradients travel in float32.
    process_group : ProcessGroup, optional
        That of the DDP module, where it has one of its own and `register` is not used.
    timeout : float, optional
        Seconds until a process that does not answer is given up; usual is that of
        torch.distributed.new_group.

    Returns
    -------
    DdpHook

    Raises
    ------
    UnknownNameError, ParseError, FormatError
        No such format, scaling or rounding.
    ArgumentError
        Settings that do not fit each other.

    Examples
    --------
    >>> import torch, torch.distributed as dist
    >>> import halfulp.torch as ht
    >>> one = dict(store=dist.HashStore(), rank=0, world_size=1)   # elsewhere torchrun's
    >>> dist.init_process_group("gloo", **one)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    >>> hook = ht.ddp_hook(format="e5m2", scaling="none")
    >>> hook.register(model)
    >>> model(torch.full((1, 4), 1e-6)).sum().backward()
    >>> counts = hook.counts()["weight"].gradients
    >>> counts.elements, counts.underflow
    (8, 8)
    >>> dist.destroy_process_group()
    """
    names = [exact] if isinstance(exact, str) else list(exact)
    if isinstance(exact, str) or not all(isinstance(name, str) for name in names):
        raise DtypeError(f"exact: found {exact!r}, expected names in a list")
    if timeout is not None and not 0 < timeout < _MOST_SECONDS:
        raise ArgumentError(f"timeout: found {timeout!r}, expected seconds above 0, or None")
    settings = Settings.of(format, scaling, rounding, kahan, feedback, seed)
    return DdpHook(settings, names, process_group, timeout)
