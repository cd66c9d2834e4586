"""QPyTorch's functions that put a `Quantizer` behind layers of a model."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from torch import nn

from ...errors import ArgumentError
from .number import Number
from .quant import Quantizer

__all__ = ["lower", "sequential_lower"]

# What QPyTorch's names of layer types stand for; a layer counts by its own class, not by its bases.
_TYPES = {
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Unfold Fold",
    "linear": "Linear Bilinear",
    "pool": """MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d
        AvgPool2d AvgPool3d FractionalMaxPool2d LPPool1d LPPool2d AdaptiveMaxPool1d
        AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d
        AdaptiveAvgPool3d""",
    "pad": """ReflectionPad1d ReflectionPad2d ReplicationPad1d ReplicationPad2d ZeroPad2d
        ConstantPad1d ConstantPad2d ConstantPad3d""",
    "activation": """ELU Hardshrink Hardtanh LeakyReLU LogSigmoid PReLU ReLU ReLU6 RReLU SELU
        Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Threshold Softmin Softmax Softmax2d
        LogSoftmax""",
    "normalization": """BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d
        InstanceNorm2d InstanceNorm3d LayerNorm LocalResponseNorm""",
    "dropout": "Dropout Dropout2d Dropout3d AlphaDropout",
    "loss": """L1Loss MSELoss CrossEntropyLoss NLLLoss PoissonNLLLoss KLDivLoss BCELoss
        BCEWithLogitsLoss MarginRankingLoss HingeEmbeddingLoss MultiLabelMarginLoss SmoothL1Loss
        SoftMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss TripletMarginLoss""",
}


def _classes(layer_types: Sequence[str], who: str) -> frozenset[type[nn.Module]]:
    for name in layer_types:
        if name not in _TYPES:
            raise ArgumentError(
                f"{who}: layer_types: found {name!r}, expected some of: {' '.join(_TYPES)}"
            )
    names = [name for kind in layer_types for name in _TYPES[kind].split()]
    return frozenset(getattr(nn, name) for name in names)


def lower(
    model: nn.Module,
    layer_types: Sequence[str] = (),
    forward_number: Number | None = None,
    backward_number: Number | None = None,
    forward_rounding: str = "stochastic",
    backward_rounding: str = "stochastic",
) -> None:
    """Round what every layer of these types returns; the model is changed.

    Parameters
    ----------
    model : Module
    layer_types : list of str
        Of "conv", "linear", "pool", "pad", "activation", "normalization", "dropout", "loss".
    forward_number, backward_number, forward_rounding, backward_rounding
        As `quantizer` takes them.

    Raises
    ------
    ArgumentError
        No such layer type, number or rounding.
    """
    quant = Quantizer(forward_number, backward_number, forward_rounding, backward_rounding)
    kinds = _classes(layer_types, "lower")
    for module in model.modules():
        if type(module) in kinds:
            module.register_forward_hook(_Rounded(quant))


class _Rounded:
    """A hook, and not a function, so that modules with it are copied and pickled."""

    def __init__(self, quant: Quantizer) -> None:
        self.quant = quant

    def __call__(self, module: nn.Module, inputs: object, output: object) -> object:
        return self.quant(output)


def sequential_lower(
    model: nn.Module,
    layer_types: Sequence[str] = (),
    forward_number: Number | None = None,
    backward_number: Number | None = None,
    forward_rounding: str = "stochastic",
    backward_rounding: str = "stochastic",
) -> nn.Module:
    """A copy of a model in which each layer of these types is a Sequential of it and a Quantizer.

    Parameters
    ----------
    model, layer_types, forward_number, backward_number, forward_rounding, backward_rounding
        As `lower` takes them; the model stays as it is.

    Returns
    -------
    Module
        Names of parameters have ".0" behind those of the layers: `features.0.0.weight`.

    Raises
    ------
    ArgumentError
        No such layer type, number or rounding.

    Examples
    --------
    >>> from halfulp.compat.qtorch import FloatingPoint
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    >>> number = FloatingPoint(5, 2)
    >>> sequential_lower(model, ["linear"], forward_number=number)
    Sequential(
      (0): Sequential(
        (0): Linear(in_features=4, out_features=3, bias=True)
        (1): Quantizer()
      )
      (1): ReLU()
    )
    """
    quant = Quantizer(forward_number, backward_number, forward_rounding, backward_rounding)
    kinds = _classes(layer_types, "sequential_lower")
    copied = copy.deepcopy(model)
    if type(copied) in kinds:
        return nn.Sequential(copied, quant)
    wrapped: dict[nn.Module, nn.Module] = {}
    for module in list(copied.modules()):
        for name, child in list(module._modules.items()):
            if child is not None and type(child) in kinds:
                module._modules[name] = wrapped.setdefault(child, nn.Sequential(child, quant))
    return copied
