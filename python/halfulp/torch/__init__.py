"""halfulp for PyTorch: modules rounded by plans, or captured and trained; gradients on the wire.

Import it by its name: `import halfulp.torch as ht`. It needs PyTorch 1.13 or newer and safetensors,
`capture` and `train` PyTorch 2.5.
"""

from .apply import Applied, apply
from .capture import Captured, capture, write_back
from .ddp import DdpHook, Traffic, WireCounts, ddp_hook
from .operations import gemm, round
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
    "gemm",
    "round",
    "train",
    "why",
    "write_back",
]
