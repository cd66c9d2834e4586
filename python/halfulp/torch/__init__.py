"""halfulp for PyTorch: modules rounded by plans, or captured and trained; gradients on the wire.

Import it by its name: `import halfulp.torch as ht`. It needs PyTorch 2.4 or newer, and safetensors.
"""

from .apply import Applied, apply
from .capture import Captured, capture, write_back
from .ddp import DdpHook, Traffic, WireCounts, ddp_hook
from .scaler import LossScaler
from .train import train
from .why import Why, why

__all__ = [
    "Applied",
    "Captured",
    "DdpHook",
    "LossScaler",
    "Traffic",
    "Why",
    "WireCounts",
    "apply",
    "capture",
    "ddp_hook",
    "train",
    "why",
    "write_back",
]
