"""halfulp for PyTorch: modules that are rounded by plans, or captured and trained packed.

Import it by its name: `import halfulp.torch as ht`. It needs PyTorch 2.4 or newer, and safetensors.
"""

from .apply import Applied, apply
from .capture import Captured, capture, write_back
from .scaler import LossScaler
from .train import train
from .why import Why, why

__all__ = [
    "Applied",
    "Captured",
    "LossScaler",
    "Why",
    "apply",
    "capture",
    "train",
    "why",
    "write_back",
]
