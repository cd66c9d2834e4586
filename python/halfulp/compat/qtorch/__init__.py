"""QPyTorch's names: `from halfulp.compat.qtorch import FloatingPoint` in place of `from qtorch`.

`halfulp.compat.qtorch.quant`, `.optim` and `.auto_low` are its modules. Nearest rounding has
QPyTorch's bits; where it is in error, docs/how-to/from-other-libraries.md says what differs.
Tensors are float32, on the CPU.
"""

from .number import BlockFloatingPoint, FixedPoint, FloatingPoint, Number

__all__ = ["BlockFloatingPoint", "FixedPoint", "FloatingPoint", "Number"]
