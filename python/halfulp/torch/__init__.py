"""halfulp for PyTorch: modules that are captured and trained packed, gradients in narrow formats.

Import it by its name: `import halfulp.torch as ht`. It needs PyTorch 2.4 or newer, and safetensors.
"""

from .capture import Captured, capture, write_back
from .ddp import DdpHook, Traffic, WireCounts, ddp_hook

__all__ = ["Captured", "DdpHook", "Traffic", "WireCounts", "capture", "ddp_hook", "write_back"]
