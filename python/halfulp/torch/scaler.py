"""Scales of the loss, as plans name them: `LossScaler`.

Source: docs/reference/numerics/training.md, "Loss scaling"; Micikevicius et al., "Mixed Precision
Training", section 3.2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from ..errors import ArgumentError, NonFiniteError

if TYPE_CHECKING:
    from ..plans import Plan


class LossScaler:
    """The factor of the loss, halved where a gradient is not finite, doubled after good steps.

    As `torch.amp.GradScaler`, on the CPU and for any optimizer: `scale`, `unscale_`, `step`. The
    factor follows once for all optimizers of a backward pass, at `update`, or at the next `scale`
    of a script that does not call it.

    Parameters
    ----------
    init : float
        The first factor.
    growth, backoff : float
        What it is multiplied by after `interval` good steps in a row, and after a bad one.
    interval : int or None
        None: the factor is constant.
    least, most : float
        It stays between these.
    stop_after : int
        Skipped steps in a row that end the training; 0: never.

    Attributes
    ----------
    value : float
        The factor now.
    skipped : int
        Steps that changed no parameter.

    Examples
    --------
    >>> import torch
    >>> scaler = LossScaler(init=8.0)
    >>> w = torch.nn.Parameter(torch.ones(1))
    >>> scaler.scale((w * 2).sum()).backward()
    >>> scaler.step(torch.optim.SGD([w], lr=0.5)), w.item()
    (True, 0.0)
    """

    def __init__(
        self,
        init: float = 65536.0,
        growth: float = 2.0,
        backoff: float = 0.5,
        interval: int | None = 2000,
        least: float = 0.0,
        most: float = math.inf,
        stop_after: int = 20,
    ) -> None:
        if not (init > 0 and math.isfinite(init)):
            raise ArgumentError(f"init: found {init!r}, expected a finite number above 0")
        if not (growth >= 1 and 0 < backoff <= 1):
            raise ArgumentError(
                f"growth, backoff: found {growth!r}, {backoff!r}, expected >= 1, and above 0 to 1"
            )
        self.value, self.growth, self.backoff = float(init), float(growth), float(backoff)
        self.interval, self.least, self.most = interval, float(least), float(most)
        self.stop_after, self.skipped = int(stop_after), 0
        self._good, self._bad = 0, 0
        self._finite: dict[int, bool] = {}  # of optimizers whose gradients are unscaled
        self._stepped: set[int] = set()

    @classmethod
    def from_plan(cls, plan: Plan) -> LossScaler:
        """The one that a plan names; of none the factor is 1.

        Parameters
        ----------
        plan : Plan
            Its interval is in steps.

        Returns
        -------
        LossScaler
        """
        facts = plan.facts.get("scaler", {})
        kind = facts.get("name", "none")
        if kind == "none":
            return cls(init=1.0, interval=None, stop_after=1)
        keys = {k: float(facts[k]) for k in ("init", "growth", "backoff") if k in facts}
        interval = int(facts.get("interval", 2000)) if kind == "dynamic" else None
        keys |= {"least": float(facts.get("min", 0.0)), "most": float(facts.get("max", math.inf))}
        return cls(interval=interval, stop_after=int(facts.get("stop_after", 20)), **keys)

    def scale(self, loss: Any) -> Any:
        """The loss times the factor, for `backward()`."""
        if self._stepped:
            self.update()
        return loss if self.value == 1 else loss * self.value

    def unscale_(self, optimizer: Any) -> bool:
        """Divide the gradients of an optimizer's parameters; once a step, before clipping.

        Returns
        -------
        bool
            Whether all of them are finite.
        """
        if id(optimizer) in self._finite:
            return self._finite[id(optimizer)]
        gradients = [
            p.grad
            for group in optimizer.param_groups
            for p in group["params"]
            if p.grad is not None and p.grad.numel()  # there is no largest one of none
        ]
        inverse = torch.tensor(1.0 / self.value, dtype=torch.float32).item()
        with torch.no_grad():
            if gradients:
                if inverse != 1:
                    torch._foreach_mul_(gradients, inverse)
                sums = torch._foreach_norm(gradients, math.inf)
                is_finite = bool(torch.isfinite(torch.stack([s.cpu() for s in sums])).all())
            else:
                is_finite = True
        self._finite[id(optimizer)] = is_finite
        return is_finite

    def step(self, optimizer: Any, *args: Any, **keys: Any) -> bool:
        """Unscale, and step unless a gradient is not finite.

        Returns
        -------
        bool
            Whether it stepped.

        Raises
        ------
        NonFiniteError
            So many steps were skipped in a row.
        """
        is_finite = self.unscale_(optimizer)
        if id(optimizer) in self._stepped:
            raise ArgumentError("step: found a second one of this optimizer, expected update()")
        self._stepped.add(id(optimizer))
        if is_finite:
            optimizer.step(*args, **keys)
            return True
        self.skipped += 1
        if self.stop_after and self._bad + 1 >= self.stop_after:
            bad, value = self._bad + 1, self.value
            self.update()
            raise NonFiniteError(
                f"{bad} steps in a row with gradients that are not finite, the last with the scale "
                f"{value:g}; ht.why(net) tells where numbers died"
            )
        return False

    def update(self) -> None:
        """Let the factor follow the steps since the last one; what was unscaled is forgotten."""
        stepped = [self._finite[i] for i in self._stepped]
        self._finite.clear()
        self._stepped.clear()
        if stepped:
            self._follow(all(stepped))

    def get_scale(self) -> float:
        """The factor now."""
        return self.value

    def _follow(self, is_finite: bool) -> None:
        self._bad = 0 if is_finite else self._bad + 1
        if self.interval is None:
            return
        if not is_finite:
            fallen = max(self.value * self.backoff, self.least)
            self.value, self._good = fallen if fallen > 0 else self.value, 0
            return
        self._good += 1
        if self._good >= self.interval:
            grown = min(self.value * self.growth, self.most)
            self.value = grown if math.isfinite(grown) else self.value
            self._good = 0

    def state_dict(self) -> dict[str, float]:
        """What `load_state_dict` takes; steps that are done have been followed."""
        if self._stepped:
            self.update()
        return {"value": self.value, "good": self._good, "bad": self._bad, "skipped": self.skipped}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go on as when the state was taken."""
        self.value = float(state["value"])
        self._good, self._bad = int(state["good"]), int(state["bad"])
        self.skipped = int(state["skipped"])
