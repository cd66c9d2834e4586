"""QPyTorch's `OptimLP`: an optimizer whose weights, gradients and states are rounded."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor
from torch.optim import SGD, Adam, Optimizer

from ...errors import ArgumentError

__all__ = ["OptimLP"]

Rounding = Callable[[Tensor], Tensor]
_STATES = {SGD: ("momentum_buffer",), Adam: ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")}
_ACCUMULATORS = "accumulators"


class OptimLP(Optimizer):
    """An optimizer of PyTorch with rounding around its step.

    A step rounds gradients, lets the optimizer work on the accumulators (or on the weights, where
    there are none), rounds accumulators, rounds weights from them, and rounds the states.

    Parameters
    ----------
    optim : SGD or Adam
        Does the steps; its groups and states are shared.
    weight_quant, grad_quant, momentum_quant, acc_quant : function of a Tensor, or None
        What rounds weights, gradients, the optimizer's states and accumulators, as `quantizer`
        makes them; None: nothing. With `acc_quant` there is an accumulator for each parameter.
    grad_scaling : float
        Gradients are multiplied by it before they are rounded; without `grad_quant` they are not.

    Raises
    ------
    ArgumentError
        An optimizer of another kind, a scaling that is not above 0.

    Examples
    --------
    >>> from halfulp.compat.qtorch import FloatingPoint
    >>> from halfulp.compat.qtorch.quant import quantizer
    >>> weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    >>> round_weights = quantizer(FloatingPoint(5, 2), forward_rounding="nearest")
    >>> optimizer = OptimLP(SGD([weight], lr=0.1), weight_quant=round_weights)
    >>> weight.square().sum().backward()
    >>> optimizer.step()
    >>> weight.tolist()
    [0.75, 1.5]
    """

    def __init__(
        self,
        optim: Optimizer,
        weight_quant: Rounding | None = None,
        grad_scaling: float = 1.0,
        grad_quant: Rounding | None = None,
        momentum_quant: Rounding | None = None,
        acc_quant: Rounding | None = None,
    ) -> None:
        states = next((names for kind, names in _STATES.items() if isinstance(optim, kind)), None)
        if states is None:
            raise ArgumentError(
                f"OptimLP: found {type(optim).__name__}, expected torch.optim.SGD or Adam"
            )
        if not grad_scaling > 0:
            raise ArgumentError(f"OptimLP: grad_scaling: found {grad_scaling!r}, expected above 0")
        self.optim: Any = optim
        self._names = states
        self.grad_scaling = grad_scaling
        self.weight_quant, self.grad_quant = weight_quant, grad_quant
        self.momentum_quant, self.acc_quant = momentum_quant, acc_quant
        self.weight_acc: dict[Tensor, Tensor] = {}
        super().__init__(optim.param_groups, optim.defaults)
        self._share()
        if acc_quant is not None:
            for parameter in self._parameters():
                self.weight_acc[parameter] = parameter.detach().clone()

    def _share(self) -> None:
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self.optim.param_groups for parameter in group["params"]]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, as to any optimizer.

        Parameters
        ----------
        param_group : dict
        """
        if any(param_group is group for group in self.optim.param_groups):
            super().add_param_group(param_group)  # while it is made: the optimizer has it
            return
        self.optim.add_param_group(param_group)
        if self.acc_quant is not None:
            for parameter in self.optim.param_groups[-1]["params"]:
                self.weight_acc[parameter] = parameter.detach().clone()

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step.

        Parameters
        ----------
        closure : function, optional
            Computes the loss and the gradients before the step.

        Returns
        -------
        What the closure returned, or None.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters = self._parameters()
        with_gradient = [p for p in parameters if p.grad is not None]
        if self.grad_quant is not None:
            for parameter in with_gradient:
                parameter.grad.data = self.grad_quant(parameter.grad * self.grad_scaling)
        if self.acc_quant is not None:
            for parameter in parameters:
                parameter.data = self.weight_acc[parameter]
        self.optim.step()
        if self.acc_quant is not None:
            for parameter in parameters:
                rounded = self.acc_quant(parameter.detach())
                parameter.data = self.weight_acc[parameter] = rounded
        if self.weight_quant is not None:
            for parameter in parameters:
                parameter.data = self.weight_quant(parameter.detach())
        if self.momentum_quant is not None:
            for parameter in with_gradient:
                self._round_states(self.optim.state[parameter], self.momentum_quant)
        return loss

    def _round_states(self, state: dict[str, Any], rounding: Rounding) -> None:
        for name in self._names:
            if state.get(name) is not None:
                state[name] = rounding(state[name])

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes: the optimizer's, and the accumulators.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = self.optim.state_dict()
        if self.acc_quant is not None:
            found[_ACCUMULATORS] = [self.weight_acc[p] for p in self._parameters()]
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken.

        Parameters
        ----------
        state_dict : dict

        Raises
        ------
        ArgumentError
            Accumulators that are missing, or of other shapes.
        """
        rest = {name: value for name, value in state_dict.items() if name != _ACCUMULATORS}
        if self.acc_quant is not None:
            parameters, given = self._parameters(), state_dict.get(_ACCUMULATORS)
            if given is None or [a.shape for a in given] != [p.shape for p in parameters]:
                shapes = "none" if given is None else [tuple(a.shape) for a in given]
                raise ArgumentError(
                    f"OptimLP: accumulators: found {shapes}, expected those of "
                    f"{[tuple(p.shape) for p in parameters]}"
                )
            self.weight_acc = {p: a.detach().clone() for p, a in zip(parameters, given)}
        self.optim.load_state_dict(rest)
        self._share()

    def __repr__(self) -> str:
        return f"LP Optimizer: {self.optim!r}"
