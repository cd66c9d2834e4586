"""One process's part of a sum of gradients; its messages are bytes that the caller carries.

Source: include/halfulp/allreduce.h; docs/reference/numerics/workers.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .._ffi import ffi, lib
from ..errors import DtypeError, char_text, check, text_of
from ..formats import FormatLike, _flag, _integer, as_format
from ..rounding import _MOST_WORD, Counts, _counts_of, _mode

_TEXT_BYTES = 256
KINDS = ("gradients", "sums")  # of losses, in the order of the library's numbers


@dataclass(frozen=True)
class Settings:
    """How numbers travel; see `ddp_hook`."""

    format: str
    scaling: str
    rounding: int
    kahan: bool
    feedback: bool
    seed: int

    @classmethod
    def of(
        cls,
        format: FormatLike,
        scaling: str,
        rounding: str,
        kahan: bool,
        feedback: bool,
        seed: int,
    ) -> Settings:
        """The settings, checked by the library."""
        if not isinstance(scaling, str):
            raise DtypeError(f"scaling: found {type(scaling).__name__}, expected a text")
        made = cls(
            str(as_format(format)),
            scaling,
            _mode(rounding),
            _flag(kahan, "kahan"),
            _flag(feedback, "feedback"),
            _integer(seed, "seed", 0, _MOST_WORD),
        )
        made.words()
        return made

    def words(self) -> dict[str, str]:
        """By name, in the library's spelling: equal where the bits are."""
        handle = self.open(1, 0, [("w", 1, False)])
        out = ffi.new("char[]", _TEXT_BYTES)
        lib.hu_allreduce_print(handle, out, _TEXT_BYTES)
        found = dict(word.split("=", 1) for word in text_of(out).split())
        del found["workers"]
        return found

    def open(self, workers: int, rank: int, layers: list[tuple[str, int, bool]]) -> Any:
        """The library's handle; layers: (name, elements, whether it travels in float32)."""
        text = char_text(self.format, "format"), char_text(self.scaling, "scaling")
        kept = [ffi.new("char[]", t) for t in text]
        options = ffi.new("hu_allreduce_options *")
        options.size = ffi.sizeof("hu_allreduce_options")
        options.workers, options.rank = workers, rank
        options.format, options.scaling = kept
        options.rounding, options.kahan = self.rounding, self.kahan
        options.error_feedback, options.seed = self.feedback, self.seed
        names = [ffi.new("char[]", char_text(name, "parameter")) for name, _, _ in layers]
        rows = [(name, n, exact) for name, (_, n, exact) in zip(names, layers)]
        made = ffi.new("hu_allreduce **")
        layer = ffi.new("hu_allreduce_layer[]", rows)
        check(lib.hu_allreduce_open(options, layer, len(rows), made))
        return ffi.gc(made[0], lib.hu_allreduce_close)


def _bytes_at(tensor: torch.Tensor) -> Any:
    """Where the numbers of a tensor in memory lie; NULL where it has none."""
    return ffi.cast("void *", tensor.data_ptr()) if tensor.numel() else ffi.NULL


def _room(*extents: int) -> torch.Tensor:
    return torch.zeros(extents, dtype=torch.uint8)


class Allreduce:
    """Parameters that travel together, at one process of several.

    Parameters
    ----------
    settings : Settings
    workers, rank : int
        How many processes there are, and which of them this is.
    layers : list of (str, int, bool)
        Name and elements of each parameter, as they lie in the gradient, and whether it travels in
        float32.

    Attributes
    ----------
    part_bytes : list of int
        Of the message that each other process sends to owner i of a piece.
    told, told_by_all : Tensor of uint8, shapes (t,) and (workers, t)
        What each process tells before it sends numbers, t may be 0; room for that of all.
    parts, heard : Tensor of uint8, 1-D
        Messages to all others in the order of their ranks; room for those of all others.
    sum, sums : Tensor of uint8, shapes (s,) and (workers, s)
        The message of the own piece's sum; room for those of all.
    """

    def __init__(
        self, settings: Settings, workers: int, rank: int, layers: list[tuple[str, int, bool]]
    ) -> None:
        self.layers = layers
        self.workers, self.rank = workers, rank
        self._handle = settings.open(workers, rank, layers)
        self.part_bytes = [lib.hu_allreduce_part_bytes(self._handle, w) for w in range(workers)]
        others = [b for w, b in enumerate(self.part_bytes) if w != rank]
        told = lib.hu_allreduce_told_bytes(self._handle)
        most = max(lib.hu_allreduce_sum_bytes(self._handle, w) for w in range(workers))
        self.told, self.told_by_all = _room(told), _room(workers, told)
        self.parts, self.heard = _room(sum(others)), _room((workers - 1) * self.part_bytes[rank])
        self.sum, self.sums = _room(most), _room(workers, most)
        self._counts = ffi.new("hu_round_counts[]", 2 * len(layers))
        self.clear_counts()

    @property
    def elements(self) -> int:
        """Of the gradient."""
        return sum(n for _, n, _ in self.layers)

    def begin(self, step: int, x: torch.Tensor) -> None:
        """Begin a step with the gradient x, float32 in memory; it stays there until `end`.

        Fills `told`.
        """
        at = ffi.cast("float *", _bytes_at(x))
        check(lib.hu_allreduce_begin(self._handle, step, at, _bytes_at(self.told)))

    def round(self) -> None:
        """Round the gradient; reads `told_by_all`, fills `parts`."""
        told = _bytes_at(self.told_by_all)
        check(lib.hu_allreduce_round(self._handle, told, _bytes_at(self.parts)))

    def add(self) -> None:
        """Add the own piece; reads `heard`, fills `sum`."""
        check(lib.hu_allreduce_add(self._handle, _bytes_at(self.heard), _bytes_at(self.sum)))

    def end(self) -> None:
        """Make the gradient the sum over all; reads `sums`."""
        check(lib.hu_allreduce_end(self._handle, _bytes_at(self.sums), self.sums.shape[1]))
        of_step = ffi.new("hu_round_counts[2]")
        for i in range(len(self.layers)):
            check(lib.hu_allreduce_counts(self._handle, i, of_step, of_step + 1))
            lib.hu_round_counts_add(self._counts + 2 * i, of_step)
            lib.hu_round_counts_add(self._counts + 2 * i + 1, of_step + 1)

    def counts(self) -> list[tuple[Counts, Counts]]:
        """Of each layer, of all steps: roundings of gradients, and of sums of the own piece."""
        c = self._counts
        return [(_counts_of(c[2 * i]), _counts_of(c[2 * i + 1])) for i in range(len(self.layers))]

    def clear_counts(self) -> None:
        """Count from zero."""
        for i in range(2 * len(self.layers)):
            lib.hu_round_counts_clear(self._counts + i)

    def lost(self) -> dict[str, list[torch.Tensor]]:
        """What roundings lost, by kind and layer: views into the library's memory."""
        found = {}
        for number, kind in enumerate(KINDS):
            at = lib.hu_allreduce_lost(self._handle, number)
            if at == ffi.NULL or not self.elements:
                continue
            memory = ffi.buffer(at, 4 * self.elements)
            whole = torch.frombuffer(memory, dtype=torch.float32)
            found[kind] = list(whole.split([n for _, n, _ in self.layers]))
        return found
