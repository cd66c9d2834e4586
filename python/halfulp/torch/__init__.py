"""halfulp for PyTorch: modules that are captured, and trained packed by halfulp.

Import it by its name: `import halfulp.torch as ht`. It needs PyTorch 2.4 or newer, and safetensors.
"""

from .capture import Captured, capture, write_back

__all__ = ["Captured", "capture", "write_back"]
